"""Some rows of a calculation with other operations: a quick look at what these would give."""

from __future__ import annotations

from attncli.core.arithmetic.elements import Array
from attncli.core.calculation.mistake import is_input
from attncli.core.calculation.trace import Trace
from attncli.core.explaining.terms import regions_of
from attncli.core.tape.evaluation import ALL, Change, Region, apply_to, cut, walk
from attncli.core.tape.operations import MatMul, Transposed
from attncli.core.tape.step import Expression, Operation, Step

MAX_KEPT = 2**17
"""Maximum number of numbers of an array that is kept for other changes. Chosen."""

MAX_PAIR_NUMBERS = 100_000
"""Maximum number of numbers of steps that are worked out as a whole for two changes. Chosen."""


class Common:
    """What changes of one calculation have in common: a trial takes a third of the time by it.

    Attributes:
        steps: the steps up to the last one that is looked at.
        sources: the steps, with an operation, in an expression.
        regions: what a region of the result of an operation needs, as `regions_of` gives it. It is
            known by where it begins, as it is either all of an axis or the rows.
        worked: arrays of regions: of steps by the changes on which they depend, and of products of
            inputs, which many changes only rearrange.
    """

    def __init__(self, trace: Trace, last: Step) -> None:
        names = [*trace.steps]
        self.steps = [trace[name] for name in names[: names.index(last.name) + 1]]
        self.sources: dict[Expression, list[str]] = {}
        self.regions: dict[tuple[object, ...], tuple[list[Region], Region]] = {}
        self.worked: dict[tuple[object, ...], Array] = {}


class SomeRows:
    """The numbers of some rows of a step, and of what they are made of, where operations change.

    Of each step on the way only the rows are worked out that are needed, as its operation says: of
    a product only those of its left matrix, but all of what a function rearranges.

    Args:
        common: what was worked out for other changes, of which this may be made.
        rows: which rows of the last of its steps are needed.
        instead: operations that replace those of some steps.
        is_pair: whether these are two changes at once, of which there are many. Then no step of
            many numbers is worked out as a whole, and only products are kept for others.

    Raises:
        ShapeError: if an operation has no result for its operands.
        ValueError: if two changes need too many numbers.
    """

    def __init__(self, common: Common, rows: slice, instead: Change, is_pair: bool = False) -> None:
        self._common, self._instead, self._rows = common, instead, (rows, ALL)
        self._is_pair = is_pair
        self._changes = self._changes_before()
        self._needed: dict[str, Region] = {common.steps[-1].name: self._rows}
        self._values: dict[str, Array] = {}
        steps = [step for step in common.steps if step.name in self._changes]
        for step in reversed(steps):
            if step.name in self._needed:
                self._need(self._operation(step), self._needed[step.name])
        needed = [step for step in steps if step.name in self._needed]
        if (
            is_pair
            and sum(step.array.size for step in needed if self._is_whole(step)) > MAX_PAIR_NUMBERS
        ):
            raise ValueError(MAX_PAIR_NUMBERS)
        for step in needed:
            self._value(step, self._needed[step.name])

    def __call__(self, step: Step) -> Array:
        """Return the rows of a step."""
        return self._value(step, self._rows)

    def _changes_before(self) -> dict[str, tuple[Expression, ...]]:
        """Return the other operations on which each step depends; none for one that stays."""
        changes: dict[str, tuple[Expression, ...]] = {}
        for step in self._common.steps:
            own = self._instead.get(step.name)
            mine = () if own is None else (own,)
            every = [changes[name] for name in self._sources(step) if name in changes]
            if mine or every:
                changes[step.name] = tuple(dict.fromkeys(sum(every, mine)))
        return changes

    def _sources(self, step: Step) -> list[str]:
        operation, known = self._operation(step), self._common.sources
        if operation not in known:
            parts = (part for part in walk(operation) if isinstance(part, Step))
            known[operation] = [part.name for part in parts if part.operation is not None]
        return known[operation]

    def _operation(self, step: Step) -> Expression:
        operation = self._instead.get(step.name, step.operation)
        assert operation is not None  # as it is no input
        return operation

    def _regions_of(self, operation: Operation, region: Region) -> tuple[list[Region], Region]:
        (rows, columns), known = region, self._common.regions
        key = operation, rows.start, columns.start
        if key not in known:
            known[key] = regions_of(operation, region)
        return known[key]

    def _need(self, expression: Expression, region: Region) -> None:
        """Note which region of each step is needed; if several are, the whole is."""
        if not isinstance(expression, Step):
            regions, _ = self._regions_of(expression, region)
            for operand, inner in zip(expression.operands, regions, strict=True):
                self._need(operand, inner)
        elif self._needed.setdefault(expression.name, region) != region:
            self._needed[expression.name] = (ALL, ALL)

    def _value(self, step: Step, region: Region) -> Array:
        if step.operation is None or step.name not in self._changes:
            return cut(step.array, region)
        needed = self._needed.setdefault(step.name, (ALL, ALL))  # of a later step, from which
        if step.name not in self._values:  # another operation goes on
            key, operation = self._key(step, needed), self._operation(step)
            self._values[step.name] = self._once(key, operation, needed, not self._is_pair)
        value = self._values[step.name]
        return value if needed == region else cut(value, region)

    def _is_whole(self, step: Step) -> bool:
        """Return True if a step has to be worked out as a whole."""
        region = self._needed[step.name]
        return region == (ALL, ALL) and self._key(step, region) not in self._common.worked

    def _key(self, step: Step, region: Region) -> tuple[object, ...]:
        rows, columns = region
        return step.name, rows.start, columns.start, self._changes[step.name]

    def _once(
        self, key: tuple[object, ...], expression: Expression, region: Region, is_kept: bool = True
    ) -> Array:
        """Return what is kept under a key, or else is worked out."""
        worked = self._common.worked
        if key in worked:
            return worked[key]
        result = self._result(expression, region)
        if is_kept and result.size <= MAX_KEPT:
            worked[key] = result
        return result

    def _evaluate(self, expression: Expression, region: Region) -> Array:
        if isinstance(expression, Step):
            return self._value(expression, region)
        if isinstance(expression, MatMul):
            factors = [f.operand if isinstance(f, Transposed) else f for f in expression.operands]
            if all(map(is_input, factors)):
                types = map(type, expression.operands)
                key = *factors, *types, *(part.start for part in region)
                return self._once(key, expression, region)
        return self._result(expression, region)

    def _result(self, expression: Expression, region: Region) -> Array:
        if isinstance(expression, Step):
            return self._value(expression, region)
        regions, rest = self._regions_of(expression, region)
        pairs = zip(expression.operands, regions, strict=True)
        result: Array = apply_to(expression, [self._evaluate(*pair) for pair in pairs])
        return cut(result[(None,) * (4 - result.ndim)], rest)  # a function may leave out axes
