"""The regular expression of written numbers, for the JSON Schema.

It checks which signs may follow each other, not whether parentheses match or a value exists, as
for 1/0. Python and the JavaScript of editors read it alike.
"""

from __future__ import annotations

from collections.abc import Collection

from attncli.notation.parser import DIGITS, FUNCTIONS, INFINITE
from attncli.notation.written import ABOUT, DASHES, DAY


def in_any_case(word: str) -> str:
    """Return the pattern of a word in small or capital letters.

    >>> in_any_case("pi")
    '[pP][iI]'
    """
    return "".join(f"[{c}{c.upper()}]" if c != c.upper() else c for c in word)


def expression(names: Collection[str] = (), minus: str = "−") -> str:
    """Return the pattern of an expression with the given names.

    `minus` has the signs that are read as a hyphen.
    """
    functions = "|".join(FUNCTIONS)
    constants = "|".join(["e", "π", *map(in_any_case, ("pi", *INFINITE)), *names])
    before = rf"[-+{minus}(]|√(?!\s*[-+{minus}])|(?:{functions})\s*\(|(?:{DIGITS})\s*(?=√)"
    operand = rf"(?:(?:{before})\s*)*(?:{DIGITS}|{constants})\s*(?:\)\s*)*"
    return rf"{operand}(?:(?:\*\*|[-+{minus}*/^·×])\s*{operand})*"


def of_expression(names: Collection[str] = ()) -> str:
    """Return the pattern of a whole text that `parse` reads."""
    return rf"^\s*(?:{expression(names)}|{infinite()})\s*$"


def of_number() -> str:
    """Return the pattern of a whole text that `number` reads."""
    whole = rf"{expression(minus=DASHES)}%?|[-+{DASHES}]?oo|{infinite(DASHES)}"
    return rf"^(?!\s*(?:{DAY})\s*$)\s*(?:[{ABOUT}]\s*)?(?:{whole})\s*$"


def infinite(minus: str = "") -> str:
    """Return the pattern of YAML's `.inf`."""
    return rf"[-+{minus}]*\.{in_any_case('inf')}"
