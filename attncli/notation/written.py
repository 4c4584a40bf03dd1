"""Numbers as people write them: 0.5, 1e3, 1/3, 4/sqrt(3), e^2/(e^2 + 1).

Text is parsed to a small tree and evaluated; nothing is ever handed to `eval`. The tree keeps
the written digits, so that it can be evaluated exactly too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias

from attncli.records import Record
from attncli.text.escapes import visible
from attncli.text.suggestions import did_you_mean

MAX_LENGTH = 500
MAX_DEPTH = 50

PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
TOKEN = (
    r"(?P<number>0[xX][0-9a-fA-F]+|0o[0-7]+|(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)"
    r"|(?P<name>[^\W\d]\w*|∞|π)|(?P<op>\*\*|[-+*/^()√·×−])|(?P<blank>\s+)"
)
"""Compiled when there is more than a plain number to read; most files hold nothing else."""
SAME = {"**": "^", "·": "*", "×": "*", "−": "-", "π": "pi", "∞": "inf"}
FUNCTIONS: dict[str, Callable[[float], float]] = {"sqrt": math.sqrt, "exp": math.exp}
CONSTANTS = {"e": math.e, "pi": math.pi, "inf": math.inf}
INFINITE = ("inf", "infinity")


class NumberError(ValueError):
    """What is wrong with a written number, and at which character of it (from 0)."""

    def __init__(self, message: str, column: int = 0) -> None:
        super().__init__(message)
        self.column = column


class Number(Record):
    """A number with its digits as written."""

    text: str

    def __str__(self) -> str:
        return self.text


class Name(Record):
    """A constant or a variable."""

    name: str

    def __str__(self) -> str:
        return {"pi": "π", "inf": "∞"}.get(self.name, self.name)


class Negative(Record):
    """Minus something."""

    operand: Expression

    def __str__(self) -> str:
        return f"-{_grouped(self.operand, 2)}"


class Binary(Record):
    """Two operands and one of + - * / ^."""

    op: str
    left: Expression
    right: Expression

    def __str__(self) -> str:
        if self.op == "^":
            return f"{_grouped(self.left, 4)}^{_grouped(self.right, 3)}"
        binds = BINDS[self.op]
        sign = {"+": " + ", "-": " - ", "*": "·", "/": "/"}[self.op]
        return f"{_grouped(self.left, binds)}{sign}{_grouped(self.right, binds + 1)}"


class Call(Record):
    """A function of one argument."""

    function: str
    argument: Expression

    def __str__(self) -> str:
        if self.function == "sqrt":
            return f"√{_grouped(self.argument, 4)}"
        return f"{self.function}({self.argument})"


Expression: TypeAlias = Number | Name | Negative | Binary | Call

BINDS = {"+": 1, "-": 1, "*": 2, "/": 2, "^": 3}


def number(text: str) -> float:
    """Return the value of a written number.

    Raises:
        NumberError: if it is none.

    >>> number("1/4"), number("012"), number("-2^2"), number("sqrt(16)")
    (0.25, 12.0, -4.0, 4.0)
    """
    stripped = text.strip()
    if PLAIN.fullmatch(stripped):
        value = float(stripped)
        if math.isfinite(value):
            return value
    return evaluate(parse(text))


def parse(text: str, names: Collection[str] = ()) -> Expression:
    """Return the tree of an expression, in which the given names may stand for numbers.

    Raises:
        NumberError: for what is no expression, or is longer or deeper than a person writes.

    >>> str(parse("1/sqrt(2*n)", ["n"]))
    '1/√(2·n)'
    """
    if len(text) > MAX_LENGTH:
        raise NumberError(f"a number of {len(text)} characters is too long")
    if text.isdecimal() and text.isascii():
        return Number(text)
    return _Parser(text, names).whole()


def words_of(line: str) -> list[tuple[int, str]]:
    """Return the numbers of a line, parted by blanks or commas, each with where it starts.

    Inside parentheses nothing parts: `sqrt( 4 )` is one number. Where they do not match, they
    hold nothing together, so that each piece is judged, and refused, by itself.

    >>> words_of("1, sqrt( 4 ) 1/2")
    [(0, '1'), (3, 'sqrt( 4 )'), (13, '1/2')]
    """
    whole = line.count("(") == line.count(")")
    words, depth, start = [], 0, 0
    for index, character in enumerate(line + " "):
        if whole and character in "()":
            depth += 1 if character == "(" else -1
        elif depth <= 0 and (character.isspace() or character == ","):
            if index > start:
                words.append((start, line[start:index]))
            start = index + 1
    return words


def evaluate(expression: Expression, names: Mapping[str, float] | None = None) -> float:
    """Return the value of an expression.

    Raises:
        NumberError: for a division by 0, a root of a negative number, a name without a value, or
            a result that a float cannot hold.
    """
    try:
        value = _value(expression, names or {})
    except ZeroDivisionError:
        raise NumberError(f"{expression} divides by 0") from None
    except OverflowError:
        raise NumberError(f"{expression} is too large") from None
    except ValueError as error:
        if isinstance(error, NumberError):
            raise
        raise NumberError(f"{expression} has no real value") from None
    if math.isnan(value):
        raise NumberError(f"{expression} has no value")
    return value


def with_numbers(expression: Expression, names: Mapping[str, float]) -> Expression:
    """Return an expression with whole numbers put in for names."""
    if isinstance(expression, Name) and expression.name in names:
        return Number(f"{names[expression.name]:.0f}")
    if isinstance(expression, Negative):
        return Negative(with_numbers(expression.operand, names))
    if isinstance(expression, Call):
        return Call(expression.function, with_numbers(expression.argument, names))
    if isinstance(expression, Binary):
        sides = (with_numbers(side, names) for side in (expression.left, expression.right))
        return Binary(expression.op, *sides)
    return expression


def _value(expression: Expression, names: Mapping[str, float]) -> float:
    if isinstance(expression, Number):
        text = expression.text
        if text[:2].lower() in ("0x", "0o"):
            return float(int(text, 0))
        value = float(text)
        if math.isinf(value):
            raise OverflowError
        return value
    if isinstance(expression, Name):
        if expression.name in names:
            return names[expression.name]
        if expression.name in CONSTANTS:
            return CONSTANTS[expression.name]
        raise NumberError(f"{expression.name} has no value here")
    if isinstance(expression, Negative):
        return -_value(expression.operand, names)
    if isinstance(expression, Call):
        return FUNCTIONS[expression.function](_value(expression.argument, names))
    left, right = _value(expression.left, names), _value(expression.right, names)
    result = OPERATIONS[expression.op](left, right)
    if math.isinf(result) and not (math.isinf(left) or math.isinf(right)):
        raise OverflowError
    return result


def _power(base: float, exponent: float) -> float:
    result = base**exponent
    if isinstance(result, complex):
        raise ValueError
    return float(result)


OPERATIONS: dict[str, Callable[[float, float], float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "^": _power,
}


def _grouped(expression: Expression, binds: int) -> str:
    """Return the text of an operand, in parentheses where it binds less tightly."""
    own = 4
    if isinstance(expression, Binary):
        own = BINDS[expression.op]
    elif isinstance(expression, Negative):
        own = 2
    return str(expression) if own >= binds else f"({expression})"


class _Parser:
    """Recursive descent over the tokens of one text."""

    def __init__(self, text: str, names: Collection[str]) -> None:
        self.text = text
        self.names = names
        self.depth = 0
        self.tokens: list[tuple[str, str, int]] = []
        token = re.compile(TOKEN)
        lowered = text.strip().lower()
        if lowered.lstrip("+-") == ".inf":  # YAML's way
            text = text.replace(".", "", 1)
        at = 0
        while at < len(text):
            match = token.match(text, at)
            if match is None:
                raise self._no_number(at)
            kind = match.lastgroup or ""
            if kind != "blank":
                self.tokens.append((kind, SAME.get(match[0], match[0]), at))
            at = match.end()
        self.tokens.append(("end", "", len(text)))
        self.at = 0

    def whole(self) -> Expression:
        """Return the tree of the whole text."""
        if len(self.tokens) == 1:
            raise NumberError("there is no number")
        result = self._sum()
        kind, text, column = self.tokens[self.at]
        if kind != "end":
            if text in (")",):
                raise NumberError(f"{self._shown()} has a ) without a (", column)
            before = self.tokens[self.at - 1][1]
            if kind == "name" and self.text[column - 1 : column].isdigit():
                raise self._no_number(column)
            raise NumberError(
                f"{self._shown()}: there is no sign between {before} and {text}", column
            )
        return result

    def _sum(self) -> Expression:
        left = self._product()
        while self._next_is("+", "-"):
            left = Binary(self._take(), left, self._product())
        return left

    def _product(self) -> Expression:
        left = self._signed()
        while self._next_is("*", "/"):
            left = Binary(self._take(), left, self._signed())
        return left

    def _signed(self) -> Expression:
        if self._next_is("+", "-"):
            self._deeper()
            sign = self._take()
            operand = self._signed()
            self.depth -= 1
            return operand if sign == "+" else Negative(operand)
        return self._raised()

    def _raised(self) -> Expression:
        base = self._atom()
        if self._next_is("^"):
            self._deeper()
            self._take()
            result = Binary("^", base, self._signed())
            self.depth -= 1
            return result
        return base

    def _atom(self) -> Expression:
        kind, text, column = self.tokens[self.at]
        self.at += 1
        if kind == "number":
            return Number(text)
        if text == "(":
            return self._group()
        if text == "√":
            self._deeper()
            argument = self._atom()
            self.depth -= 1
            return Call("sqrt", argument)
        if kind == "name":
            return self._named(text, column)
        if kind == "end":
            raise NumberError(f"{self._shown()} ends too early", column)
        raise self._no_number(column)

    def _named(self, text: str, column: int) -> Expression:
        if text in FUNCTIONS:
            if not self._next_is("("):
                raise NumberError(f"{text} needs a number in parentheses: {text}(2)", column)
            self.at += 1
            return Call(text, self._group())
        if text in self.names:
            return Name(text)
        if text in CONSTANTS or text.lower() == "pi":
            return Name(text.lower() if text.lower() in CONSTANTS else text)
        if text.lower() in INFINITE:
            return Name("inf")
        if text.lower() == "nan":
            raise NumberError("nan is not a number that a calculation can go on with", column)
        if self.names:
            hint = did_you_mean(text, [*self.names, *FUNCTIONS, "e", "pi"])
            raise NumberError(f"unknown name {visible(text)}; {hint}", column)
        raise self._no_number(column)

    def _group(self) -> Expression:
        self._deeper()
        inside = self._sum()
        if not self._next_is(")"):
            raise NumberError(f"{self._shown()} has a ( without a )", self.tokens[self.at][2])
        self.at += 1
        self.depth -= 1
        return inside

    def _deeper(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise NumberError(f"more than {MAX_DEPTH} levels of parentheses, powers or signs")

    def _next_is(self, *signs: str) -> bool:
        kind, text, _ = self.tokens[self.at]
        return kind == "op" and text in signs

    def _take(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1][1]

    def _shown(self) -> str:
        text = self.text.strip()
        return visible(text if len(text) <= 40 else text[:40] + "…")

    def _no_number(self, column: int) -> NumberError:
        text = self.text.strip()
        message = f"{self._shown()} is not a number"
        if text.lower() in (".nan", "nan"):
            return NumberError("nan is not a number that a calculation can go on with", column)
        if re.fullmatch(r"[+-]?\d+(_\d+)+(\.\d+)?", text):
            return NumberError(f"{message}; write {text.replace('_', '')}", column)
        if re.fullmatch(r"[+-]?\d+,\d+", text):
            return NumberError(f"{message}; write {text.replace(',', '.')}", column)
        return NumberError(message, column)
