"""The arithmetic operators, and functions of angles, as functions."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any


def _of_angle(name: str) -> Callable[[Any], Any]:
    """Return a function of a float, or of an exact number of sympy."""

    def work(angle: Any) -> Any:
        if isinstance(angle, int | float):
            return getattr(math, name)(angle)
        import sympy  # which made the number

        return getattr(sympy, name)(angle)

    return work


OPERATORS: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "^": operator.pow,
    "abs": abs,
    "cos": _of_angle("cos"),
    "sin": _of_angle("sin"),
}
