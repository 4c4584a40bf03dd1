"""Worked formulas read back: a second way from text to numbers, sharing nothing with the program.

Reads what a person could type into a calculator: `(1·1 + 3·2) / √3`, `e^10 / (e^10 + e^11)`,
`max(1 − 0.25, 0)`, `5·tanh(9 / 5)`, `(2.5 − 1)²`; and names of cells, given what they stand for.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

TOKEN = re.compile(
    r"(?P<number>\d+(?:\.\d+)?(?:e[+-]\d+)?|∞)"
    r"|(?P<function>tanh|erf|max|ln(?=\()|(?:cos|sin)(?=[ (])|√)|(?P<constant>π)"
    r"|(?P<cell>[A-Za-z]\w*(?:\.\w+)?(?:\[[^\]]*\])+|[A-Za-z]\w+|(?!e\b)[A-Za-z])"
    r"|(?P<e>e)|(?P<sign>[-−+·/^²(),|])"
)

OF_A_SUM = {"ln": math.log, "tanh": math.tanh, "erf": math.erf}
OF_ONE_PART = {"√": math.sqrt, "cos": math.cos, "sin": math.sin}
"""Functions of a number, or of parentheses."""


class Reader:
    """Reads one formula from left to right; each method reads one kind of part."""

    def __init__(self, text: str, cell: Callable[[str], float] | None = None) -> None:
        self.tokens: list[tuple[str, str]] = []
        self.cell = cell
        at = 0
        while at < len(text):
            if text[at] == " ":
                at += 1
                continue
            match = TOKEN.match(text, at)
            if match is None:
                raise ValueError(f"{text!r} at {text[at:]!r}")
            self.tokens.append((str(match.lastgroup), match[0]))
            at = match.end()
        self.tokens.append(("end", ""))
        self.text = text

    def whole(self) -> float:
        """The value of all of it."""
        value = self.sum()
        if self.tokens[0][0] != "end":
            raise ValueError(f"{self.text!r} goes on with {self.tokens}")
        return value

    def next(self, *texts: str) -> str:
        """Take the next token if it is one of these."""
        if self.tokens[0][1] in texts:
            return self.tokens.pop(0)[1]
        return ""

    def must(self, text: str) -> None:
        """Take the next token, which is this one."""
        if not self.next(text):
            raise ValueError(f"{self.text!r} lacks {text} before {self.tokens}")

    def sum(self) -> float:
        """Products with + and − between."""
        parts = [self.product()]
        while sign := self.next("+", "-", "−"):
            parts.append(self.product() if sign == "+" else -self.product())
        if math.inf in parts or -math.inf in parts:
            return sum(parts)
        return math.fsum(parts)

    def product(self) -> float:
        """Factors with · and / between."""
        value = self.signed()
        while self.tokens[0][1] in ("·", "/", "√", "π"):
            sign = self.next("·", "/")  # 4√3 has none
            other = self.signed()
            value = value / other if sign == "/" else value * other
        return value

    def signed(self) -> float:
        """A power, or minus one."""
        if self.next("-", "−"):
            return -self.signed()
        return self.power()

    def power(self) -> float:
        """A number, squared or raised."""
        base = self.atom()
        if self.next("²"):
            return base * base
        if self.next("^"):
            return float(base ** self.signed())
        return base

    def atom(self) -> float:
        """A number, a function, parentheses or a cell."""
        kind, text = self.tokens.pop(0)
        if kind == "number":
            return math.inf if text == "∞" else float(text)
        if kind in ("e", "constant"):
            return math.e if kind == "e" else math.pi
        if text in OF_ONE_PART:
            return OF_ONE_PART[text](self.atom())
        if text in ("(", "|"):
            value = self.sum()
            self.must(")" if text == "(" else "|")
            return value if text == "(" else abs(value)
        if kind == "function":
            self.must("(")
            value = self.sum()
            if text == "max":
                while self.next(","):
                    value = max(value, self.sum())
            else:
                value = OF_A_SUM[text](value)
            self.must(")")
            return value
        if kind == "cell" and self.cell is not None:
            return self.cell(text)
        raise ValueError(f"{self.text!r} has {text!r}")


def value_of(text: str, cell: Callable[[str], float] | None = None) -> float:
    """Return the value of a worked formula.

    >>> value_of("(1·1 + 3·2) / √49"), value_of("2 − (-3)² / 9"), value_of("e^(-∞) + 2^(6 / 2)")
    (1.0, 1.0, 8.0)
    """
    return Reader(text, cell).whole()
