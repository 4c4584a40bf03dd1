"""A calculation worked again, with other numbers or other operations in some of its steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeAlias, TypeVar, cast

import numpy as np

from attncli.core.arithmetic.elements import Array
from attncli.core.arithmetic.intervals import Interval
from attncli.core.records import EMPTY
from attncli.core.tape.step import Expression, Step
from attncli.core.tape.walk import evaluate, sources

Values: TypeAlias = Array | Interval
"""The values of a step in a replay, in the layout of its array."""

V = TypeVar("V", bound=Values)

Change: TypeAlias = Mapping[str, Expression]
"""Other operations for some steps, by the name of the step."""


class Replay(Generic[V]):
    """A calculation worked again on other numbers, such as those of a student.

    The value of a step, `replay(step)`, is the known one, or else the result of its operation on
    the replay's values of the steps before it. Values may be numbers or intervals. Each is worked
    out once, when it is first needed, in the order of computation (recursion could not reach
    through a thousand time steps).

    Args:
        steps: the calculation, in the order of computation.
        known: gives the value of a step whose numbers are known, None for any other.
        settle: takes a step and its result, and returns the value that later steps use.
        worked: values of steps that are not known, if they have been worked out before.
        instead: operations that replace those of some steps.
        of_input: gives the value of an input, by default its array.
    """

    def __init__(
        self,
        steps: Iterable[Step],
        known: Callable[[Step], V | None] = lambda step: None,
        settle: Callable[[Step, V], V] = lambda step, value: value,
        worked: Mapping[str, V] | None = None,
        instead: Change = EMPTY,
        of_input: Callable[[Step], V] | None = None,
    ) -> None:
        self._steps = list(steps)
        self._rest = iter(self._steps)
        self._known = known
        self._settle = settle
        self._instead = instead
        self._of_input = of_input
        self._values: dict[str, V] = dict(worked or {})
        self._inputs: dict[str, V] = {}  # an input may have the name of a step
        self._results: dict[str, V] = {}
        self._used: dict[str, list[Step]] = {}
        self._unknown: dict[str, list[Step]] = {}

    def __call__(self, step: Step) -> V:
        """Return the value of a step, or of an input."""
        if step.operation is None:
            return self._input(step)
        while step.name not in self._values:
            following = next(self._rest)
            if following.name not in self._values:
                value = self._known(following)
                if value is None:
                    value = self._settle(following, self.result(following))
                self._values[following.name] = value
        return self._values[step.name]

    def _input(self, step: Step) -> V:
        if self._of_input is None:
            return cast(V, step.array)  # operations take arrays and intervals together
        if step.name not in self._inputs:
            self._inputs[step.name] = self._of_input(step)
        return self._inputs[step.name]

    def result(self, step: Step) -> V:
        """Return the result of a step's operation on the values before it, even if it is known."""
        if step.name not in self._results:
            made = self._instead.get(step.name, step.operation)
            self._results[step.name] = self(step) if made is None else evaluate(made, self)
        return self._results[step.name]

    def changed(self, step: Step, change: Change) -> V | None:
        """Return the result of a step if it, or steps before it, are made by other operations.

        The steps that the change names and those that depend on them are worked again, but no step
        before this one whose numbers are known. The result itself is not settled. It is None if
        nothing changes, or if the shapes of the operands do not go together.
        """
        before = self.unknown_before(step) if change.keys() - {step.name} else []
        made: dict[str, V] = {}

        def is_made(source: Step) -> bool:
            return source.operation is not None and source.name in made

        def value(source: Step) -> V:
            return made[source.name] if is_made(source) else self(source)

        try:
            for source in (*before, step):
                expression = change.get(source.name)
                if expression is None and any(map(is_made, self._sources(source))):
                    expression = source.operation
                if expression is not None:
                    found = evaluate(expression, value)
                    made[source.name] = found if source is step else self._settle(source, found)
        except ValueError:  # NumPy's, for shapes that do not go together
            return None
        return made.get(step.name)

    def unknown_before(self, step: Step) -> list[Step]:
        """Return the steps between a step and those that are known, in the order of computation."""
        if step.name not in self._unknown:
            wanted = {source.name for source in self._sources(step)}
            found: list[Step] = []
            places = [other.name for other in self._steps]
            for other in reversed(self._steps[: places.index(step.name)]):
                if other.name in wanted and self._known(other) is None:
                    found.append(other)
                    wanted.update(source.name for source in self._sources(other))
            self._unknown[step.name] = found[::-1]
        return self._unknown[step.name]

    def _sources(self, step: Step) -> list[Step]:
        """Return the sources of a step, looked up once: mistakes are tried by the hundred."""
        if step.name not in self._used:
            self._used[step.name] = sources(step)
        return self._used[step.name]


def broadcast_to_step(values: V | None, step: Step) -> V | None:
    """Return values in the shape of a step's array, repeated along axes of size 1.

    None is returned for None, and for values of another shape or number of axes.
    """
    if values is None or values.shape == step.array.shape:
        return values
    if values.ndim != step.array.ndim:
        return None
    try:
        return np.broadcast_to(values, step.array.shape)  # type: ignore[arg-type, return-value]
    except ValueError:
        return None
