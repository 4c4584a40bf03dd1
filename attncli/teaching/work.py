"""The work of a calculation by hand: products, exponentials, digits to write.

They are counted in what every number remembers of how it was made, the terms that explain it.
"""

from __future__ import annotations

from collections import Counter
from math import inf

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.explaining.terms import Made, Worked, found
from attncli.mechanisms.trace import Trace
from attncli.records import Record
from attncli.tape.step import Operation, Step

PRODUCTS = ("*", "/", "square")
EXPONENTIALS = ("exp", "tanh", "sqrt", "^")
TRIVIAL = (-1.0, 0.0, 1.0)
"""Operands with which a product or a power is no work."""

FLOAT_ERROR = 1e-9
"""Distance within which a number is the one with fewer digits, but for the errors of floats."""


class Work(Record):
    """How much work a calculation is.

    Attributes:
        products: multiplications and divisions, but those by 0, 1 and −1.
        exponentials: powers, tangents and roots, but those of 0, 1 and −∞.
        digits: those of all numbers of all steps; whole numbers are written without decimals.
    """

    products: int
    exponentials: int
    digits: int


def work_of(trace: Trace, decimals: int) -> Work:
    """Return how much work a calculation is that is written with so many decimals.

    >>> from attncli import Problem, compute
    >>> work_of(compute(Problem(X=[[1, 2], [3, 0]], score="dot")), 2)
    Work(products=10, exponentials=4, digits=70)
    """
    tally, worked = Counter[str](), Worked()
    for step in trace:
        if isinstance(step.operation, Operation):
            _count(step, worked, tally)
    digits = sum(_digits(step.array, decimals) for step in trace)
    return Work(tally["products"], tally["exponentials"], digits)


def rough_work(trace: Trace) -> int:
    """Return how many numbers of a calculation and its inputs are work: all but 0, 1, −1 and −∞.

    It goes up and down with the products and digits, and costs next to nothing.
    """
    steps = (*trace.inputs.values(), *trace)
    sizes = np.concatenate([np.abs(step.array).ravel() for step in steps])
    return int(((sizes != 1) & (sizes != 0) & (sizes < inf)).sum())


def _count(step: Step, worked: Worked, tally: Counter[str]) -> None:
    cells = (worked.term(step, at) for at in np.ndindex(step.array.shape))
    # What several numbers of a step are made from, as the length of a row, is worked once.
    nodes = {id(node): node for cell in cells for node in found(cell, Made)}
    for node in nodes.values():
        sizes = [operand.value for operand in node.operands]
        is_work = not any(size in TRIVIAL or abs(size) == inf for size in sizes)
        tally["products"] += is_work and node.op in PRODUCTS
        tally["exponentials"] += is_work and node.op in EXPONENTIALS


def _digits(array: Array, decimals: int) -> int:
    return sum(_written(x, decimals) for x in array.ravel().tolist() if abs(x) < inf)


def _written(number: float, decimals: int) -> int:
    """Return how many digits a number has when it is written."""
    size = abs(number) + FLOAT_ERROR
    is_whole = size % 1 <= 2 * FLOAT_ERROR
    return len(f"{size:.{0 if is_whole else decimals}f}".replace(".", ""))
