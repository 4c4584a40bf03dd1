"""The arithmetic operators, and functions of angles, as functions."""

from __future__ import annotations

import operator
from collections.abc import Callable
from importlib import import_module
from typing import Any


def _of_angle(name: str) -> Callable[[Any], Any]:
    """Return a function of floats, and of the exact numbers of sympy."""
    return lambda x: getattr(import_module("math" if isinstance(x, float) else "sympy"), name)(x)


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
