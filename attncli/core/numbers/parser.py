"""Read written numbers into formulas by recursive descent, without `eval`."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import partial

from attncli.core.formulas import tree
from attncli.core.text.strings import did_you_mean, visible

MAX_LENGTH = 500  # of an expression, in characters
MAX_DEPTH = 50  # of parentheses, functions and signs inside each other
DIGITS = r"0[xX][0-9a-fA-F]+|0o[0-7]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
SIGNS = r"\*\*|[-+*/^()√·×−]"
# Compiled at its first use: most files have plain numbers only.
TOKEN = (
    rf"(?P<number>{DIGITS})"
    r"|(?P<name>[^\W\d]\w*|∞|π)|(?P<op>{})|(?P<blank>\s+)|(?P<strange>.)"
)
SAME = {"**": "^", "·": "*", "×": "*", "−": "-"}
FUNCTIONS = ("sqrt", "exp", "abs")
NOT_A_NUMBER = "nan is not a number that a calculation can go on with"
SEPARATED = (  # digits with separators, or with a decimal comma
    r"[+-]?(?:\d+(?:_\d+)+(?:\.\d+)?|\d+,\d+|\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:,\d{3})+\.\d+)"
)
MISREAD = {ord("l"): "1", ord("I"): "1", ord("O"): "0", ord("o"): "0"}  # letters like digits
NUMBER_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
INFINITE = ("inf", "infty", "infinity", "∞")


REMAINDERS: dict[str, Callable[..., tree.Formula]] = {
    "//": lambda over, under: tree.Call("//", (over, under)),
    "%": lambda over, under: tree.Infix((over, under), "mod"),
}
"""Signs of products that only some parsers read, and the nodes that they make."""


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
    if text.isdecimal() and text.isascii():  # to compile the pattern takes 0.5 ms
        return tree.Number(text)
    return Parser(text, names).whole()


class Parser:
    """Reads one text from left to right; a method reads what its name says, into a node."""

    signs = SIGNS
    words: tuple[str, ...] = ()  # names that are signs, too

    def __init__(self, text: str, names: Collection[str]) -> None:
        self.text = text
        self.names = names
        self.depth = 0
        self.tokens: list[tuple[str, str, int]] = []
        self.at = 0
        if text.strip().lower().lstrip("+-") == ".inf":  # YAML's way
            text = text.replace(".", "", 1)
        for match in re.finditer(TOKEN.replace("{}", self.signs), text):
            kind = "op" if match[0] in self.words else match.lastgroup or ""
            if kind == "strange":
                raise self.strange(match[0], match.start())
            if kind != "blank":
                self.tokens.append((kind, SAME.get(match[0], match[0]), match.start()))
        self.tokens.append(("end", "", len(text)))

    def whole(self) -> tree.Formula:
        if len(self.tokens) == 1:
            raise NumberError("there is no number")
        formula = self.expression()
        kind, text, column = self.tokens[self.at]
        if kind != "end":
            if text == ")":
                raise NumberError(f"{self.shown()} has a ) without a (", "text")
            before = self.tokens[self.at - 1][1]
            if kind == "name" and self.text[column - 1 : column].isdigit():
                raise self.strange(text, column)
            message = f"{self.shown()}: there is no sign between {before} and {text}"
            # In 1/2√3 the root is ambiguous because of the sign before the 2.
            raise NumberError(message, "text" if text == "√" else "")
        return formula

    def expression(self) -> tree.Formula:
        """Read a whole expression, or what is in parentheses."""
        return self.sum()

    def sum(self) -> tree.Formula:
        terms = [self.product()]
        while sign := self.taken("+", "-"):
            term = self.product()
            terms.append(tree.Minus(term) if sign == "-" else term)
        return tree.Plus(tuple(terms)) if len(terms) > 1 else terms[0]

    def product(self, minus: int = 0) -> tree.Formula:
        """Read factors after so many minus signs, which are those of the whole: −a·b is −(a·b)."""
        if self.taken("-"):
            return self.deeper(partial(self.product, minus + 1))
        left = self.signed()
        factors, before = [left], ""
        while sign := self.taken("*", "/", *REMAINDERS) or self._before_root(before):
            before = sign
            if sign == "*":
                factors.append(self.signed())
                left = tree.Times(tuple(factors))
                continue
            if sign == "/":
                left = tree.Fraction(left, self.signed(), tight=True)
            else:  # −a // b is (−a) // b
                left, minus = REMAINDERS[sign](_negative(left, minus), self.signed()), 0
            factors = [left]
        return _negative(left, minus)

    def _before_root(self, before: str) -> str:
        (kind, *_), (_, sign, _) = self.tokens[self.at - 1 : self.at + 1]
        return "*" if kind == "number" and sign == "√" and before != "/" else ""

    def signed(self) -> tree.Formula:
        if sign := self.taken("+", "-"):
            operand = self.deeper(self.signed)
            return operand if sign == "+" else tree.Minus(operand)
        base = self.atom()
        return tree.Power(base, self.deeper(self.signed)) if self.taken("^") else base

    def atom(self) -> tree.Formula:
        kind, text, column = self.tokens[self.at]
        self.at += 1
        if kind == "number":
            return tree.Number(text)
        if text == "(":
            return self.group()
        if text == "√":
            return tree.Root(self.deeper(self.atom))
        if kind == "name":
            return self.named(text, column)
        if kind == "end":
            raise NumberError(f"{self.shown()} ends too early", at=column)
        raise self.strange(text, column)

    def named(self, text: str, at: int) -> tree.Formula:
        if text in FUNCTIONS:
            if not self.taken("("):
                raise NumberError(f"{text} needs a number in parentheses: {text}(2)")
            argument = self.group()
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
        raise self.strange(text, at)

    def group(self) -> tree.Formula:
        inside = self.deeper(self.expression)
        if not self.taken(")"):
            raise NumberError(f"{self.shown()} has a ( without a )", "text")
        return inside

    def deeper(self, part: Callable[[], tree.Formula]) -> tree.Formula:
        """Return the result of a method that reads a nested part."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            message = f"more than {MAX_DEPTH} levels of parentheses, powers or signs"
            raise NumberError(message, "text")
        formula = part()
        self.depth -= 1
        return formula

    def taken(self, *signs: str) -> str:
        """Return the next token and skip it if it is one of some signs; else return ""."""
        text = self.tokens[self.at][1]
        if text not in signs:
            return ""
        self.at += 1
        return text

    def shown(self) -> str:
        text = self.text.strip()
        return visible(text if len(text) <= 40 else text[:40] + "…")

    def strange(self, sign: str, at: int) -> NumberError:
        """Return the error of a sign or a name that has no meaning at a place."""
        text = self.text.strip()
        message = f"{self.shown()} is not a number"
        if text.lower() in (".nan", "nan"):
            return NumberError(NOT_A_NUMBER)
        if re.fullmatch(SEPARATED, text):
            *whole, last = re.split("[.,]", text.replace("_", ""))
            message += f"; write {''.join(whole)}{'.' if whole else ''}{last}"
        elif text.startswith("="):
            message += f"; write {visible(text[1:].strip())}"
        elif text.lower() in NUMBER_WORDS:
            message += f"; write {NUMBER_WORDS.index(text.lower())}"
        elif text == "I":
            message += "; write 1, or eye(3) for an identity matrix"
        elif re.fullmatch(r"[+-]?\d+(?:\.\d+)?", digits := text.translate(MISREAD)):
            message += f"; write {digits} if its letters are digits"
        elif "²" in text:
            message += f"; write {visible(text.replace('²', '^2')[:40])}"
        return NumberError(message)


def _negative(formula: tree.Formula, times: int) -> tree.Formula:
    return _negative(tree.Minus(formula), times - 1) if times else formula
