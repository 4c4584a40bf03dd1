"""Written numbers as one regular expression, of which a JSON Schema is made.

It knows the signs, and which may follow which: not whether every bracket is closed, nor whether
there is a value, such as of 1/0. It is read alike by Python and by the JavaScript of editors.
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
    """Return the pattern of what `parse` reads, in which the given names stand for numbers.

    `minus` is what may stand for a minus beside the hyphen.
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
    """Return the pattern of YAML's own way to write ∞."""
    return rf"[-+{minus}]*\.{in_any_case('inf')}"
