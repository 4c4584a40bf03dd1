"""Some rows of a calculation with other operations: a quick look at what these would give."""

from __future__ import annotations

from math import inf

from attncli.core.arithmetic.elements import Array
from attncli.core.calculation.mistake import is_input
from attncli.core.calculation.trace import Trace
from attncli.core.explaining.terms import regions_of
from attncli.core.tape.evaluation import ALL, Change, Region, apply_to, array_of, cut, sources, walk
from attncli.core.tape.operations import MatMul
from attncli.core.tape.step import Expression, Step

MAX_KEPT = 2**17
"""Maximum number of numbers of an array that is kept for other changes. Chosen."""


class Common:
    """What changes of one calculation have in common.

    Attributes:
        sources: the steps and inputs of which each step is made, by its name.
        products: the products of inputs, which many changes only rearrange.
        worked: regions of steps, by where they begin, and by the changes on which they depend.
    """

    def __init__(self, trace: Trace) -> None:
        self.sources = {step.name: sources(step) for step in trace}
        nodes = (node for step in trace if step.operation for node in walk(step.operation))
        self.products: dict[Expression, Array] = {
            node: array_of(node)
            for node in nodes
            if isinstance(node, MatMul) and all(map(is_input, node.operands))
        }
        self.worked: dict[tuple[object, ...], Array] = {}


class SomeRows:
    """The numbers of some rows of a step, and of what they are made of, where operations change.

    Of each step on the way only the rows are worked out that are needed, as its operation says: of
    a product only those of its left matrix, but all of what a function rearranges.

    Args:
        trace: the calculation.
        last: the step of which some rows are needed.
        rows: which.
        instead: operations that replace those of some steps.
        common: what was worked out for other changes, of which this may be made.
        is_kept: whether what is worked out is kept there.
        most: the maximum number of numbers of steps that are worked out as a whole.

    Raises:
        ShapeError: if an operation has no result for its operands.
        ValueError: if more numbers than `most` are needed.
    """

    def __init__(
        self,
        trace: Trace,
        last: Step,
        rows: slice,
        instead: Change,
        common: Common | None = None,
        is_kept: bool = False,
        most: float = inf,
    ) -> None:
        self._instead, self._rows = instead, (rows, ALL)
        self._common, self._is_kept = common or Common(trace), is_kept
        self._changes = self._changes_before(trace)
        self._needed: dict[str, Region] = {last.name: self._rows}
        self._values: dict[str, Array] = {}
        names = [*trace.steps]
        before = names[: names.index(last.name) + 1]
        steps = [trace[name] for name in before if name in self._changes]
        for step in reversed(steps):
            if step.name in self._needed:
                self._need(self._operation(step), self._needed[step.name])
        needed = [step for step in steps if step.name in self._needed]
        if sum(step.array.size for step in needed if self._is_whole(step)) > most:
            raise ValueError(most)
        for step in needed:
            self._value(step, self._needed[step.name])

    def __call__(self, step: Step) -> Array:
        """Return the rows of a step."""
        return self._value(step, self._rows)

    def _changes_before(self, trace: Trace) -> dict[str, tuple[Expression, ...]]:
        """Return the other operations on which each step depends; none for one that stays."""
        changes: dict[str, tuple[Expression, ...]] = {}
        for name, right in self._common.sources.items():
            own = self._instead.get(name)
            nodes = right if own is None else walk(own)
            parts = [part for part in nodes if isinstance(part, Step)]
            every = [changes.get(part.name, ()) for part in parts if part.operation is not None]
            if own is not None or any(every):
                mine = () if own is None else (own,)
                changes[name] = tuple(dict.fromkeys(sum(every, mine)))
        return changes

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
        if step.operation is None or step.name not in self._changes:
            return cut(step.array, region)
        needed = self._needed.setdefault(step.name, (ALL, ALL))  # of a later step, from which
        if step.name not in self._values:  # another operation goes on
            self._values[step.name] = self._result(step, needed)
        value = self._values[step.name]
        return value if needed == region else cut(value, region)

    def _is_whole(self, step: Step) -> bool:
        """Return True if a step has to be worked out as a whole."""
        region = self._needed[step.name]
        return region == (ALL, ALL) and self._key(step, region) not in self._common.worked

    def _key(self, step: Step, region: Region) -> tuple[object, ...]:
        return step.name, *[part.start for part in region], self._changes[step.name]

    def _result(self, step: Step, region: Region) -> Array:
        key, worked = self._key(step, region), self._common.worked
        if key in worked:
            return worked[key]
        result = self._evaluate(self._operation(step), region)
        if self._is_kept and result.size <= MAX_KEPT:
            worked[key] = result
        return result

    def _evaluate(self, expression: Expression, region: Region) -> Array:
        if isinstance(expression, Step):
            return self._value(expression, region)
        if expression in self._common.products:
            return cut(self._common.products[expression], region)
        regions, rest = regions_of(expression, region)
        pairs = zip(expression.operands, regions, strict=True)
        result: Array = apply_to(expression, [self._evaluate(*pair) for pair in pairs])
        return cut(result[(None,) * (4 - result.ndim)], rest)  # a function may leave out axes
