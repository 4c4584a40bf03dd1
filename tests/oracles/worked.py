"""Worked formulas read back: a second way from text to numbers, sharing nothing with the program.

Reads what a person could type into a calculator: `(1·1 + 3·2) / √3`, `e^10 / (e^10 + e^11)`,
`max(1 − 0.25, 0)`, `5·tanh(9 / 5)`, `(2.5 − 1)²`; and names of cells, given what they stand for.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

TOKEN = re.compile(
    r"(?P<name>(?:tanh|max|ln)(?=\()|e(?![\w\[]))"
    r"|(?P<root>√)?(?:(?P<number>\d+(?:\.\d+)?(?:e[+-]\d+)?)"
    r"|(?P<cell>[A-Za-z]\w*(?:\.\w+)?(?:\[[^\]]*\])+|[A-Za-z]\w*))"
    r"|(?P<sign>√(?=\()|[-−+·/^²∞(),])"
)
PYTHON = {"−": "-", "·": "*", "^": "**", "²": "**2", "∞": "inf", "√": "sqrt"}
NAMES = {"tanh": math.tanh, "max": max, "ln": math.log, "inf": math.inf, "e": math.e}


def value_of(text: str, cell: Callable[[str], float] | None = None) -> float:
    """Return the value of a worked formula.

    >>> value_of("(1·1 + 3·2) / √49"), value_of("2 − (-3)² / 9"), value_of("e^(-∞) + 2^(6 / 2)")
    (1.0, 1.0, 8.0)
    """

    def code(match: re.Match[str]) -> str:
        if match["name"] or match["sign"]:
            return PYTHON.get(match[0], match[0])
        kind, root = "number" if match["number"] else "cell", match["root"] or ""
        return f"{PYTHON.get(root, '')}({kind}({match[kind]!r}))"

    if unread := TOKEN.sub("", text).strip():
        raise ValueError(f"{text!r} has {unread!r}")
    found = TOKEN.sub(code, re.sub(r"(?<=[\d)])√", "·√", text))  # 4√3
    return float(eval(found, {"number": float, "cell": cell, "sqrt": math.sqrt, **NAMES}))
