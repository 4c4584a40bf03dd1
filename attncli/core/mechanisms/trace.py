"""A finished calculation: the problem and its steps."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from attncli.core.arithmetic.elements import Array
from attncli.core.attention.tiled import Tiled
from attncli.core.problem.problem import Problem
from attncli.core.records import Record, replace
from attncli.core.tape.step import Step
from attncli.core.text.notebook import Shown

T = TypeVar("T")

MAX_KEPT_RESULTS = 1_000
"""Maximum number of results that are kept in memory; then all are dropped. One submission needs at
most 220 of those of a sample, and 1,000 take about 16 MB (measured). Chosen."""


class Trace(Record, Shown, eq=False):
    """A finished calculation.

    `trace["weights"]` is a step, `trace.output` the numbers of the last one; iterating gives the
    steps in the order of computation. Where steps were rounded by hand, `unrounded` is what they
    would be without; `added` are names of steps that change nothing (`core/mechanisms/named.py`).
    """

    problem: Problem
    inputs: Mapping[str, Step]
    steps: Mapping[str, Step]
    labels: Mapping[str, tuple[str, ...]]
    warnings: tuple[str, ...] = ()
    unrounded: Trace | None = None
    added: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Step:
        """Return the step of that name; a KeyError tells which there are."""
        try:
            return self.steps[name]
        except KeyError:
            raise KeyError(f"no step {name}; there are {', '.join(self.steps)}") from None

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps.values())

    def __len__(self) -> int:
        return len(self.steps)

    def __contains__(self, name: object) -> bool:
        return name in self.steps

    @cached_property
    def _kept(self) -> dict[Hashable, Any]:
        return {}

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.fields}  # copies keep no results

    def kept(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return a result that depends on this trace and a key alone; work it out only once."""
        with suppress(KeyError):  # another thread may clear them
            found: T = self._kept[key]
            return found
        found = make()
        if len(self._kept) >= MAX_KEPT_RESULTS:
            self._kept.clear()
        self._kept[key] = found
        return found

    def around(self, step: Step) -> Trace:
        """Return the layer of a step as a trace, by the plain names of its steps and inputs.

        If there are not several layers, or it is not in one, that is the whole trace.
        """
        if not step.layer:
            return self
        inputs = {one.plain: one for one in self.inputs.values() if one.layer in (0, step.layer)}
        steps = {one.plain: one for one in self if one.layer == step.layer}
        problem = self.problem.layers[step.layer - 1]
        return replace(self, problem=problem, inputs=inputs, steps=steps)

    @property
    def last(self) -> Step:
        """The step `output`; where there is no such step, the last one."""
        return self.steps["output" if "output" in self.steps else list(self.steps)[-1]]

    @property
    def called(self) -> list[str]:
        """What the course of the problem calls some of the steps."""
        return [step.called for step in self if step.called] if self.problem.names else []

    @property
    def path(self) -> str:
        """How the steps of n × m numbers were calculated, in words."""
        tiled = (step.operation for step in self if isinstance(step.operation, Tiled))
        return next((made.path for made in tiled), "every step is calculated and kept")

    @property
    def output(self) -> Array:
        return self["output"].value


def furthest(trace: Trace) -> tuple[float, tuple[int, ...]]:
    """Return how far the last step is from the unrounded one at most, and at which cell."""
    assert trace.unrounded is not None  # or there is nothing to compare
    # Not as on paper: tokens may be rows in one calculation and columns in the other.
    rounded, unrounded = trace.last.array, trace.unrounded[trace.last.name].array
    equal = rounded == unrounded  # −∞ too, of which no difference can be taken
    between = np.abs(np.where(equal, 0.0, rounded) - np.where(equal, 0.0, unrounded))
    distance = trace.last.on_paper(between)
    place = np.unravel_index(int(distance.argmax()), distance.shape)
    return float(distance[place]), tuple(int(i) for i in place)
