"""Some rows of a calculation with other operations: a quick look at what these would give."""

from __future__ import annotations

from collections.abc import Mapping

from attncli.core.arithmetic.elements import Array
from attncli.core.calculation.trace import Trace
from attncli.core.explaining.terms import regions_of
from attncli.core.records import EMPTY
from attncli.core.tape.evaluation import ALL, Change, Region, apply_to, cut
from attncli.core.tape.step import Expression, Step


class SomeRows:
    """The numbers of some rows of a step, and of what they are made of, where operations change.

    Of each step on the way only the rows are worked out that are needed, as its operation says: of
    a product only those of its left matrix, but all of what a function rearranges.

    Args:
        trace: the calculation.
        last: the step of which some rows are needed.
        rows: which.
        instead: operations that replace those of some steps.
        products: known results of operations, such as those of large products.

    Raises:
        ShapeError: if an operation has no result for its operands.
    """

    def __init__(
        self,
        trace: Trace,
        last: Step,
        rows: slice,
        instead: Change,
        products: Mapping[Expression, Array] = EMPTY,
    ) -> None:
        self._instead, self._rows, self._products = instead, (rows, ALL), products
        names = [*trace.steps]
        first = min(map(names.index, instead))
        self._worked = {*names[:first]}
        self._needed: dict[str, Region] = {last.name: self._rows}
        self._values: dict[str, Array] = {}
        steps = [trace[name] for name in names[first : names.index(last.name) + 1]]
        for step in reversed(steps):
            if step.name in self._needed:
                self._need(self._operation(step), self._needed[step.name])
        for step in steps:
            if step.name in self._needed:
                self._value(step, self._needed[step.name])

    def __call__(self, step: Step) -> Array:
        """Return the rows of a step."""
        return self._value(step, self._rows)

    def _operation(self, step: Step) -> Expression:
        operation = self._instead.get(step.name, step.operation)
        assert operation is not None  # as it is no input
        return operation

    def _need(self, expression: Expression, region: Region) -> None:
        """Note which region of each step is needed; if several are, the whole is."""
        if not isinstance(expression, Step):
            regions, _ = regions_of(expression, region)
            for operand, inner in zip(expression.operands, regions, strict=True):
                self._need(operand, inner)
        elif self._needed.setdefault(expression.name, region) != region:
            self._needed[expression.name] = (ALL, ALL)

    def _value(self, step: Step, region: Region) -> Array:
        if step.operation is None or step.name in self._worked:
            return cut(step.array, region)
        needed = self._needed.setdefault(step.name, (ALL, ALL))  # of a later step, from which
        if step.name not in self._values:  # another operation goes on
            self._values[step.name] = self._evaluate(self._operation(step), needed)
        value = self._values[step.name]
        return value if needed == region else cut(value, region)

    def _evaluate(self, expression: Expression, region: Region) -> Array:
        if isinstance(expression, Step):
            return self._value(expression, region)
        if expression in self._products:
            return cut(self._products[expression], region)
        regions, rest = regions_of(expression, region)
        pairs = zip(expression.operands, regions, strict=True)
        result: Array = apply_to(expression, [self._evaluate(*pair) for pair in pairs])
        return cut(result[(None,) * (4 - result.ndim)], rest)  # a function may leave out axes
