"""Some rows of a calculation with other operations: a quick look at what these would give."""

from __future__ import annotations

from attncli.core.arithmetic.elements import Array
from attncli.core.calculation.mistake import is_input
from attncli.core.calculation.trace import Trace
from attncli.core.explaining.terms import regions_of
from attncli.core.records import EMPTY
from attncli.core.tape.evaluation import ALL, Change, Region, apply_to, cut, walk
from attncli.core.tape.operations import MatMul, Transposed
from attncli.core.tape.step import Expression, Operation, Step

MAX_KEPT = 2**17
"""Maximum number of numbers of an array that is kept for other changes. Chosen."""

MAX_PAIR_NUMBERS = 100_000
"""Maximum number of numbers of steps that are worked out as a whole for two changes. Chosen."""


class SomeRows:
    """The numbers of some rows of a step, where operations before it change.

    Of each step on the way only the rows are worked out that are needed, as its operation says: of
    a product only those of its left matrix, but all of what a function rearranges. What changes
    have in common is kept: a trial takes a third of the time by it.

    Args:
        trace: the right calculation.
        last: the step that is looked at.
        region: which of its rows, and columns, are needed.
    """

    def __init__(self, trace: Trace, last: Step, region: Region) -> None:
        names = [*trace.steps]
        self._steps = [trace[name] for name in names[: names.index(last.name) + 1]]
        self._last, self._region = last, region
        # The steps, with an operation, in an expression.
        self._sources: dict[Expression, list[str]] = {}
        # What a region of the result of an operation needs. It is known by its slices, which are
        # those of `region`, or `ALL`: a slice is no key of a dictionary.
        self._regions: dict[tuple[object, ...], tuple[list[Region], Region]] = {}
        # Arrays of regions: of steps by the changes on which they depend, and of products of
        # inputs, which many changes only rearrange.
        self._kept: dict[tuple[object, ...], Array] = {}
        # Of one trial: the operations, those on which each step depends, regions, numbers.
        self._instead: Change = EMPTY
        self._changes: dict[str, tuple[tuple[str, Expression], ...]] = {}
        self._needed: dict[str, Region] = {}
        self._values: dict[str, Array] = {}

    def __call__(self, instead: Change, is_pair: bool = False) -> Array:
        """Return the numbers with other operations in the place of those of some steps.

        Of two changes at once, of which there are many, no step of many numbers is worked out as a
        whole, and only products are kept for others.

        Raises:
            ShapeError: if an operation has no result for its operands.
            ValueError: if two changes need too many numbers.
        """
        self._instead, self._changes = instead, {}
        for step in self._steps:
            own = ((step.name, instead[step.name]),) if step.name in instead else ()
            sources = self._sources_of(self._operation(step))
            every = [self._changes[name] for name in sources if name in self._changes]
            if own or every:
                self._changes[step.name] = tuple(dict.fromkeys(sum(every, own)))
        self._needed, self._values = {self._last.name: self._region}, {}
        steps = [step for step in self._steps if step.name in self._changes]
        for step in reversed(steps):
            if step.name in self._needed:
                self._need(self._operation(step), self._needed[step.name])
        needed = [step for step in steps if step.name in self._needed]
        whole = [step for step in needed if is_pair and self._is_whole(step)]
        if sum(step.array.size for step in whole) > MAX_PAIR_NUMBERS:
            raise ValueError(MAX_PAIR_NUMBERS)
        for step in needed:
            region, operation = self._needed[step.name], self._operation(step)
            key = self._key(step, region)
            self._values[step.name] = self._once(key, operation, region, not is_pair)
        return self._value(self._last, self._region)

    def _sources_of(self, operation: Expression) -> list[str]:
        if operation not in self._sources:
            parts = (part for part in walk(operation) if isinstance(part, Step))
            names = [part.name for part in parts if part.operation is not None]
            self._sources[operation] = names
        return self._sources[operation]

    def _operation(self, step: Step) -> Expression:
        operation = self._instead.get(step.name, step.operation)
        assert operation is not None  # as it is no input
        return operation

    def _regions_of(self, operation: Operation, region: Region) -> tuple[list[Region], Region]:
        key = operation, *map(id, region)
        if key not in self._regions:
            self._regions[key] = regions_of(operation, region)
        return self._regions[key]

    def _need(self, expression: Expression, region: Region) -> None:
        """Note which region of each step is needed; if several are, all rows or columns are."""
        if not isinstance(expression, Step):
            regions, _ = self._regions_of(expression, region)
            for operand, inner in zip(expression.operands, regions, strict=True):
                self._need(operand, inner)
        elif (needed := self._needed.setdefault(expression.name, region)) != region:
            rows, columns = (a if a == b else ALL for a, b in zip(needed, region, strict=True))
            self._needed[expression.name] = rows, columns

    def _value(self, step: Step, region: Region) -> Array:
        if step.operation is None or step.name not in self._changes:
            return cut(step.array, region)
        if step.name not in self._values:  # a later step, from which another operation goes on
            self._needed[step.name] = ALL, ALL
            self._values[step.name] = self._result(self._operation(step), (ALL, ALL))
        value, needed = self._values[step.name], self._needed[step.name]
        if needed == region:
            return value
        rows, columns = (ALL if a == b else b for a, b in zip(needed, region, strict=True))
        return cut(value, (rows, columns))

    def _is_whole(self, step: Step) -> bool:
        """Return True if a step has to be worked out as a whole."""
        region = self._needed[step.name]
        return region == (ALL, ALL) and self._key(step, region) not in self._kept

    def _key(self, step: Step, region: Region) -> tuple[object, ...]:
        return step.name, *map(id, region), self._changes[step.name]

    def _once(
        self, key: tuple[object, ...], expression: Expression, region: Region, is_kept: bool = True
    ) -> Array:
        """Return what is kept under a key, or else is worked out."""
        if key in self._kept:
            return self._kept[key]
        result = self._result(expression, region)
        if is_kept and result.size <= MAX_KEPT:
            self._kept[key] = result
        return result

    def _evaluate(self, expression: Expression, region: Region) -> Array:
        if isinstance(expression, MatMul):
            factors = [f.operand if isinstance(f, Transposed) else f for f in expression.operands]
            if all(map(is_input, factors)):
                types = map(type, expression.operands)
                key = *factors, *types, *map(id, region)
                return self._once(key, expression, region)
        return self._result(expression, region)

    def _result(self, expression: Expression, region: Region) -> Array:
        if isinstance(expression, Step):
            return self._value(expression, region)
        regions, rest = self._regions_of(expression, region)
        pairs = zip(expression.operands, regions, strict=True)
        result: Array = apply_to(expression, [self._evaluate(*pair) for pair in pairs])
        return cut(result[(None,) * (4 - result.ndim)], rest)  # a function may leave out axes
