"""Read written numbers into formulas by recursive descent, without `eval`."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from attncli.core.formulas import tree
from attncli.core.text.strings import did_you_mean, visible

MAX_LENGTH = 500  # of an expression, in characters
MAX_DEPTH = 50  # of parentheses, functions and signs inside each other
DIGITS = r"0[xX][0-9a-fA-F]+|0o[0-7]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
TOKEN = (
    rf"(?P<number>{DIGITS})"
    r"|(?P<name>[^\W\d]\w*|∞|π)|(?P<op>\*\*|[-+*/^()√·×−])|(?P<blank>\s+)|(?P<strange>.)"
)
# Compiled at its first use: most files have plain numbers only.
SAME = {"**": "^", "·": "*", "×": "*", "−": "-"}
FUNCTIONS = ("sqrt", "exp", "abs")
NOT_A_NUMBER = "nan is not a number that a calculation can go on with"
SEPARATED = (  # digits with separators, or with a decimal comma
    r"[+-]?(?:\d+(?:_\d+)+(?:\.\d+)?|\d+,\d+|\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:,\d{3})+\.\d+)"
)
MISREAD = {ord("l"): "1", ord("I"): "1", ord("O"): "0", ord("o"): "0"}  # letters like digits
NUMBER_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
SMALL_SIGNS = str.maketrans({"½": "1/2", "⅓": "1/3", "⅔": "2/3", "¼": "1/4", "¾": "3/4", "²": "^2"})
INFINITE = ("inf", "infinity", "∞")


class NumberError(ValueError):
    """Raised for a text that is not a number, at an offset `at`; `needs` is that of a `Fault`."""

    def __init__(self, message: str, needs: str = "", at: int | None = None) -> None:
        super().__init__(message)
        self.needs, self.at = needs, at


def parse(text: str, names: Collection[str] = ()) -> tree.Formula:
    """Return the tree of an expression, in which the given names are allowed.

    >>> from attncli.core.formulas.text import text as as_text
    >>> as_text(parse("1/sqrt(2*n)", ["n"]))
    '1/√(2·n)'
    """
    if len(text) > MAX_LENGTH:
        raise NumberError(f"a number of {len(text)} characters is too long", "text")
    if text.isdecimal() and text.isascii():
        return tree.Number(text)
    return _Parser(text, names).whole()


class _Parser:
    def __init__(self, text: str, names: Collection[str]) -> None:
        self.text = text
        self.names = names
        self.depth = 0
        self.tokens: list[tuple[str, str, int]] = []
        self.at = 0
        if text.strip().lower().lstrip("+-") == ".inf":  # YAML's way
            text = text.replace(".", "", 1)
        for match in re.finditer(TOKEN, text):
            kind = match.lastgroup or ""
            if kind == "strange":
                raise self._no_number()
            if kind != "blank":
                self.tokens.append((kind, SAME.get(match[0], match[0]), match.start()))
        self.tokens.append(("end", "", len(text)))

    def whole(self) -> tree.Formula:
        if len(self.tokens) == 1:
            raise NumberError("there is no number")
        formula = self._sum()
        kind, text, column = self.tokens[self.at]
        if kind != "end":
            if text == ")":
                raise NumberError(f"{self._shown()} has a ) without a (", "text")
            before = self.tokens[self.at - 1][1]
            if kind == "name" and self.text[column - 1 : column].isdigit():
                raise self._no_number()
            message = f"{self._shown()}: there is no sign between {before} and {text}"
            # In 1/2√3 the root is ambiguous because of the sign before the 2.
            raise NumberError(message, "text" if text == "√" else "")
        return formula

    def _sum(self) -> tree.Formula:
        terms = [self._product()]
        while sign := self._taken("+", "-"):
            term = self._product()
            terms.append(tree.Minus(term) if sign == "-" else term)
        return tree.Plus(tuple(terms)) if len(terms) > 1 else terms[0]

    def _product(self) -> tree.Formula:
        if self._taken("-"):  # −a·b is −(a·b)
            return tree.Minus(self._deeper(self._product))
        left = self._signed()
        factors, before = [left], ""
        while sign := self._taken("*", "/") or self._before_root(before):
            before = sign
            if sign == "*":
                factors.append(self._signed())
                left = tree.Times(tuple(factors))
            else:
                left = tree.Fraction(left, self._signed(), tight=True)
                factors = [left]
        return left

    def _before_root(self, before: str) -> str:
        """Return the sign that is omitted in 2√3; 1/2√3 would be ambiguous."""
        (kind, *_), (_, sign, _) = self.tokens[self.at - 1 : self.at + 1]
        return "*" if kind == "number" and sign == "√" and before != "/" else ""

    def _signed(self) -> tree.Formula:
        if sign := self._taken("+", "-"):
            operand = self._deeper(self._signed)
            return operand if sign == "+" else tree.Minus(operand)
        base = self._atom()
        return tree.Power(base, self._deeper(self._signed)) if self._taken("^") else base

    def _atom(self) -> tree.Formula:
        kind, text, _ = self.tokens[self.at]
        self.at += 1
        if kind == "number":
            return tree.Number(text)
        if text == "(":
            return self._group()
        if text == "√":
            return tree.Root(self._deeper(self._atom))
        if kind == "name":
            return self._named(text)
        if kind == "end":
            raise NumberError(f"{self._shown()} ends too early")
        raise self._no_number()

    def _named(self, text: str) -> tree.Formula:
        if text in FUNCTIONS:
            if not self._taken("("):
                raise NumberError(f"{text} needs a number in parentheses: {text}(2)")
            argument = self._group()
            return tree.Root(argument) if text == "sqrt" else tree.Call(text, (argument,))
        if text in self.names or text == "e":
            return tree.named(text)
        if text.lower() in ("pi", "π"):
            return tree.Name("π")
        if text.lower() in INFINITE:
            return tree.Number("∞")
        if text.lower() == "nan":
            raise NumberError(NOT_A_NUMBER)
        if self.names:
            hint = did_you_mean(text, [*self.names, *FUNCTIONS, "e", "pi"])
            raise NumberError(f"unknown name {visible(text)}; {hint}")
        raise self._no_number()

    def _group(self) -> tree.Formula:
        inside = self._deeper(self._sum)
        if not self._taken(")"):
            raise NumberError(f"{self._shown()} has a ( without a )", "text")
        return inside

    def _deeper(self, part: Callable[[], tree.Formula]) -> tree.Formula:
        """Return the result of a method that reads a nested part."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            message = f"more than {MAX_DEPTH} levels of parentheses, powers or signs"
            raise NumberError(message, "text")
        formula = part()
        self.depth -= 1
        return formula

    def _taken(self, *signs: str) -> str:
        """Return the next token and skip it if it is one of some signs; else return ""."""
        kind, text, _ = self.tokens[self.at]
        if kind != "op" or text not in signs:
            return ""
        self.at += 1
        return text

    def _shown(self) -> str:
        text = self.text.strip()
        return visible(text if len(text) <= 40 else text[:40] + "…")

    def _no_number(self) -> NumberError:
        text = self.text.strip()
        message = f"{self._shown()} is not a number"
        if text.lower() in (".nan", "nan"):
            return NumberError(NOT_A_NUMBER)
        if re.fullmatch(SEPARATED, text):
            *whole, last = re.split("[.,]", text.replace("_", ""))
            message += f"; write {''.join(whole)}{'.' if whole else ''}{last}"
        elif text.lower() in NUMBER_WORDS:
            message += f"; write {NUMBER_WORDS.index(text.lower())}"
        elif re.fullmatch(r"[+-]?\d+(?:\.\d+)?", digits := text.translate(MISREAD)):
            message += f"; write {digits} if its letters are digits"
        elif (plain := re.sub(r"(\d+)([½⅓⅔¼¾])", r"(\1+\2)", text).translate(SMALL_SIGNS)) != text:
            message += f"; write {visible(plain[:40])}"
        return NumberError(message)
