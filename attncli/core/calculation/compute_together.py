"""From many problems to their traces.

Small problems that differ in numbers alone are calculated together: their arrays are stacked along
the axis of the batch, and the lines of the method run once for all. What depends on shapes alone,
such as names, axes, formulas and operations, is that of the first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain
from typing import Any, TypeAlias

import numpy as np

from attncli.core.arithmetic.elements import Array
from attncli.core.arithmetic.floats import all_finite
from attncli.core.calculation.compute import compute, numbers_of_steps
from attncli.core.calculation.trace import Trace
from attncli.core.errors import InputError
from attncli.core.problem.problem import Problem
from attncli.core.problem.rules_and_layers import may_differ
from attncli.core.records import EMPTY, Record, replace
from attncli.core.tape.evaluation import transform
from attncli.core.tape.step import Expression, Step

MAX_PROBLEMS = 128
"""Maximum number of problems that are calculated together; more are hardly faster. Chosen."""

MAX_NUMBERS_OF_EACH = 2**12
"""Maximum of `numbers_of_steps` of each of them, so that all take at most 4 MiB: to larger ones
it makes no difference."""

Calculate: TypeAlias = Callable[[Problem], Trace]


class Group(Record, eq=False):
    """Problems that were calculated together; each array is theirs along the first axis."""

    sample: Trace  # of the first by itself
    problems: Sequence[Problem]
    matrices: Mapping[str, Array]  # by key, as they are in the input
    inputs: Mapping[str, Step]
    steps: Mapping[str, Step]

    def trace(self, place: int) -> Trace:
        """Return the trace of one of the problems."""
        inputs = StepsOfOne(self, place)
        steps = StepsOfOne(self, place, inputs)
        return replace(self.sample, problem=self.problems[place], inputs=inputs, steps=steps)

    def vanishing(self, place: int) -> tuple[str, ...]:
        """Return the names of the steps whose formulas say that all numbers of a problem are 0."""
        return tuple(name for name, zeros in self._vanishing.items() if zeros[place % len(zeros)])

    @cached_property
    def _vanishing(self) -> dict[str, list[bool]]:
        """Whether all numbers of a step of the backward pass are 0, for each problem."""
        backward = (step for step in self.steps.values() if step.backward)
        lines = {step.name: step.array.reshape(len(step.array), -1) for step in backward}
        return {name: [not line.any() for line in array] for name, array in lines.items()}


class StepsOfOne(Mapping[str, Step]):
    """The steps of one problem of a group, or without `inputs` its inputs, made when first read."""

    def __init__(self, group: Group, place: int, inputs: Mapping[str, Step] = EMPTY) -> None:
        self.group, self.place, self.inputs = group, place, inputs

    @cached_property
    def _made(self) -> dict[str, Step]:
        made: dict[str, Step] = {}

        def rule(step: Step) -> Expression:
            return (self.inputs if step.operation is None else made)[step.name]

        kind = "steps" if self.inputs else "inputs"
        together: Mapping[str, Step] = getattr(self.group, kind)
        for name, step in getattr(self.group.sample, kind).items():
            array = together[name].array
            array = array[self.place :][:1] if len(array) > 1 else array
            operation = step.operation and transform(step.operation, rule)
            made[name] = replace(step, array=array, operation=operation)
        return made

    def __getitem__(self, name: str) -> Step:
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)

    def __reduce__(self) -> tuple[type, tuple[dict[str, Step]]]:
        return dict, (self._made,)  # a copy in another process has no other problem


def compute_each(
    problems: Iterable[Problem | InputError | None],
    only: Collection[str] | None = None,
    alone: bool = False,
    calculate: Calculate | None = None,
) -> Iterator[Trace | InputError]:
    """Yield the calculation of each problem, or the error of one that is wrong, in order.

    The traces are those of `compute`, bit by bit. Small problems whose reader saw that they are
    alike (`Problem.like`) are calculated together, some at a time.

    Args:
        problems: problems, and errors instead of those that cannot be read, which are yielded as
            they are; None where the next one may take a while, so that no other waits for it.
        only: as for `compute`.
        alone: as for `compute`.
        calculate: calculates a problem by itself, `compute` by default.
    """
    of_many = partial(compute, only=only, alone=alone)
    window: list[Problem | InputError] = []
    like, is_small = None, False
    for problem in chain(problems, [None]):
        if isinstance(problem, Problem) and problem.like is not like:
            like = problem.like
            is_small = like is not None and numbers_of_steps(like) <= MAX_NUMBERS_OF_EACH
        if problem is not None:
            window.append(problem)
        waits = problem is not None and (is_small or isinstance(problem, InputError))
        if not waits or len(window) == MAX_PROBLEMS:
            yield from _results(window, of_many, calculate or of_many)
            window = []


def _results(
    window: Sequence[Problem | InputError], of_many: Calculate, of_one: Calculate
) -> Iterator[Trace | InputError]:
    """Yield the results of some problems; those that are alike are calculated at the first one."""
    tried: set[Any] = set()
    traces: dict[Problem, Trace] = {}
    for at, problem in enumerate(window):
        try:
            if isinstance(problem, InputError):
                raise problem
            if problem not in traces:
                traces[problem] = of_one(problem)
                kind = _kind(problem)
                if problem.like is not None and kind not in tried:
                    tried.add(kind)
                    same = [p for p in window[at:] if isinstance(p, Problem) and _kind(p) == kind]
                    traces |= _together(same, traces[problem], of_many)
            yield traces.pop(problem)
        except InputError as error:
            yield error


def _kind(problem: Problem) -> Any:
    """Return what is the same for problems that differ in numbers, and texts about them, alone."""
    return problem.like, problem.number is None


def _together(
    problems: Sequence[Problem], sample: Trace, of_many: Calculate
) -> dict[Problem, Trace]:
    """Return the traces of problems like the first, whose trace is the sample; {} if that fails.

    An error or a warning is of one of them, and comes with it if each is calculated by itself; so
    is what a method does otherwise because of numbers, such as of a cell of −∞. Where it looks
    across the batch, it gives the first another trace than the sample.
    """
    like = sample.problem
    looks_across = "batch" in like.sizes or sample.unrounded is not None
    if len(problems) < 2 or looks_across:
        return {}
    keys = [key for key in like.matrices() if may_differ(key)]
    every = [problem.matrices() for problem in problems]
    matrices = {key: np.stack([one[key] for one in every]) for key in keys}
    if not all(map(all_finite, matrices.values())):
        return {}
    try:
        trace = of_many(like.with_arrays(matrices, stacked=True))
    except (InputError, ValueError, IndexError):  # also of a method that knows no batch
        return {}
    if trace.warnings != like.warnings or _facts(trace) != _facts(sample):
        return {}
    group = Group(sample, problems, matrices, trace.inputs, trace.steps)
    return {problem: group.trace(place) for place, problem in enumerate(problems[1:], 1)}


def _facts(trace: Trace) -> list[Any]:
    return [
        (s.name, s.formula, s.axes, s.labels, s.array.shape, s.array.tobytes())
        for every in (*trace.inputs.values(), *trace)
        for s in [replace(every, array=every.array[:1])]
    ]
