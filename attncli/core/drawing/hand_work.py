"""How much work a calculation is by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from math import ceil, inf

import numpy as np

from attncli.core.arithmetic.elements import Array
from attncli.core.calculation.trace import Trace
from attncli.core.explaining.terms import Made, StepTerms, terms_in
from attncli.core.records import Record
from attncli.core.tape.evaluation import evaluate, walk
from attncli.core.tape.operations import TOKEN_AXES, MatMul, MatVec, Transposed
from attncli.core.tape.step import Expression, Operation, Step

PRODUCT_SIGNS = ("*", "/", "square")
POWERS = ("exp", "tanh", "sqrt", "^")
TRIVIAL = (-1.0, 0.0, 1.0)
"""Operands with which a product or a power counts as no work."""

COUNTED_DECIMALS = 9
"""Number of decimals by which a number is told from a whole one: later ones may be errors."""


MAX_PRODUCTS_DIFFERENCE = 0.2
"""Maximum difference in the products of the projections from the original problem, relative to it.
Chosen."""


class Work(Record):
    """The amount of work in a calculation by hand."""

    projections: int  # products with weight matrices in which neither factor is 0
    products: int  # multiplications and divisions, except by 0, 1 and −1
    exponentials: int  # powers, tangents and roots, except of 0, 1 and −∞
    digits: int  # of the numbers of all steps; whole numbers are written without decimals

    @classmethod
    def of(cls, trace: Trace, decimals: int) -> Work:
        """Return the amount of work in a calculation that is written with so many decimals.

        >>> from attncli import Problem, compute
        >>> Work.of(compute(Problem(X=[[1, 2], [3, 0]], score="dot")), 2)
        Work(projections=0, products=10, exponentials=4, digits=70)
        """
        worked, counts = StepTerms(), Counter[str]()
        for step in trace:
            if isinstance(step.operation, Operation):
                cells = (worked.term(step, at) for at in np.ndindex(step.array.shape))
                # What several numbers depend on, as the length of a row, is worked once.
                nodes = {id(node): node for cell in cells for node in terms_in(cell, Made)}
                counts.update(node.op for node in nodes.values() if not _is_trivial(node))
        products, powers = (sum(counts[op] for op in ops) for ops in (PRODUCT_SIGNS, POWERS))
        numbers = (x for step in trace for x in step.array.ravel().tolist() if abs(x) < inf)
        return cls(
            Projections(trace).count, products, powers, sum(_digits(x, decimals) for x in numbers)
        )


class Projections:
    """The products of tokens with weight matrices in a calculation."""

    count: int  # how many products of two numbers that are not 0 they have

    def __init__(self, trace: Trace) -> None:
        self._factors = [*_projections(trace)]
        self.count = self._counted(lambda step: step.array)

    def excess(self, trace: Trace) -> int:
        """Return how often the maximum difference is exceeded in a trace: 0 if it is not."""
        inputs, steps = trace.inputs, trace.steps
        return self.excess_with(lambda s: (steps if s.operation else inputs)[s.name].array)

    def excess_with(self, value_of: Callable[[Step], Array]) -> int:
        """Return the same for other arrays of inputs and steps."""
        if not self.count:
            return 0
        difference = abs(self._counted(value_of) / self.count - 1)
        return max(ceil(difference / MAX_PRODUCTS_DIFFERENCE - 1e-9) - 1, 0)

    def _counted(self, value_of: Callable[[Step], Array]) -> int:
        count = 0
        for left, right in self._factors:
            columns = (evaluate(left, value_of) != 0).sum(axis=-2)
            count += int((columns * (evaluate(right, value_of) != 0).sum(axis=-1)).sum())
        return count


def _projections(trace: Trace) -> Iterator[tuple[Expression, Expression]]:
    """Yield the two factors of each product with a matrix of the problem that sums over features.

    >>> from attncli import Problem, compute
    >>> [step.key for step, _ in _projections(compute(Problem(X=[[1, 2]], W_q=[[1, 0], [0, 1]])))]
    ['X']
    """
    for step in trace:
        for node in walk(step.operation) if isinstance(step.operation, Operation) else ():
            if isinstance(node, MatMul):
                left, right = node.left, node.right
            elif isinstance(node, MatVec):
                left, right = node.vectors, Transposed(node.matrix)
            else:
                continue
            is_over_tokens = TOKEN_AXES & {left.trailing[-1], right.trailing[-1]}
            if not step.backward and not is_over_tokens and any(map(_is_given, (left, right))):
                yield left, right


def _is_given(factor: Expression) -> bool:
    matrix = factor.operand if isinstance(factor, Transposed) else factor
    return isinstance(matrix, Step) and matrix.operation is None


def _is_trivial(node: Made) -> bool:
    sizes = [operand.value for operand in node.operands]
    return any(size in TRIVIAL or abs(size) == inf for size in sizes)


def _digits(number: float, decimals: int) -> int:
    size = round(abs(number), COUNTED_DECIMALS)
    return len(f"{size:.{decimals if size % 1 else 0}f}".replace(".", ""))
