"""The scale of the scores: an expression such as 1/sqrt(d_k), with sizes put in."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from attncli.attention.weights import Factor
from attncli.errors import Fault, InputError
from attncli.notation import written as expressions
from attncli.problem.mappings import SCALE_NAMES


def factor(text: str, names: Mapping[str, float]) -> Factor | None:
    """Return a scale expression with sizes put in; None where it is 1.

    A quotient is kept as one, so that 1/sqrt(d_k) divides by √d_k with a single rounding.

    Raises:
        InputError: for what cannot be read or calculated.
    """
    try:
        parsed = expressions.parse(text, SCALE_NAMES)
        value = expressions.evaluate(parsed, names)
        times, over = value, 1.0
        shown = str(parsed)
        words = f"· {shown}"
        if isinstance(parsed, expressions.Binary) and parsed.op == "/":
            top = expressions.evaluate(parsed.left, names)
            bottom = expressions.evaluate(parsed.right, names)
            if np.isfinite(bottom):
                times, over = top, bottom
                if top == 1:
                    shown = str(parsed.right)
                    # What is longer than one factor needs its parentheses under the line.
                    longer = isinstance(parsed.right, expressions.Binary) and parsed.right.op != "^"
                    words, value = f"/ ({shown})" if longer else f"/ {shown}", bottom
    except expressions.NumberError as error:
        raise InputError(Fault(f"scale: {error}", ("scale",))) from None
    if not np.isfinite(times / over):
        raise InputError(Fault("scale must be finite", ("scale",)))
    if times == over:
        return None
    rounded = f"{value:.4f}".rstrip("0").rstrip(".") if 1e-4 < abs(value) < 1e9 else f"{value:.4g}"
    # √d_k = √3 = 1.7321: the names, the numbers, the value.
    numbers = shown
    for name in names:
        numbers = re.sub(rf"\b{name}\b|(?<=√){name}", f"{names[name]:g}", numbers)
    chain = dict.fromkeys((shown, numbers, rounded))
    note = " = ".join(chain) if len(chain) > 1 else ""
    return Factor(times, over, words, note)


def numbers_of(text: str, names: Mapping[str, float]) -> dict[float, expressions.Expression]:
    """Return the numbers of a scale that `factor` found good, and how each is written: √3."""
    tree = expressions.with_numbers(expressions.parse(text, SCALE_NAMES), names)
    sides = [tree]
    if isinstance(tree, expressions.Binary) and tree.op == "/":
        sides += [tree.left, tree.right]
    return {expressions.evaluate(side): side for side in sides}
