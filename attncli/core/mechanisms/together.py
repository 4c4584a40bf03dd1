"""Many small problems: those that differ in numbers alone are calculated together.

Their arrays are stacked along the axis of the batch, and the same lines of the method run once for
all. What depends on shapes alone, such as names, axes, formulas and operations, is that of one
problem that was calculated by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain
from typing import TypeAlias

import numpy as np

from attncli.core.arithmetic.elements import Array
from attncli.core.arithmetic.floats import all_finite
from attncli.core.errors import InputError
from attncli.core.mechanisms.compute import compute, numbers_of_steps
from attncli.core.mechanisms.trace import Trace
from attncli.core.problem.problem import Problem
from attncli.core.records import Record, replace
from attncli.core.tape.evaluation import transform
from attncli.core.tape.step import Expression, Step

MAX_TOGETHER = 128
"""Maximum number of problems that are calculated together. More are hardly faster. Chosen."""

MAX_KINDS = 64
"""Maximum number of kinds of problems that are remembered; then all are forgotten. Chosen."""

MAX_NUMBERS = 2**16
"""Maximum of `numbers_of_steps` of problems that are calculated together, half a MiB: larger
matrices gain nothing, and stay below the size from which attention is calculated in tiles."""

Result: TypeAlias = Trace | InputError
Calculate: TypeAlias = Callable[[Problem], Trace]


class Group(Record, eq=False):
    """Problems that differ in numbers alone, and their arrays along the axis of the batch."""

    sample: Trace  # of a problem like them
    count: int
    matrices: Mapping[str, Array]  # of all, by key, as they are in the input
    inputs: Mapping[str, Step]  # of all
    steps: Mapping[str, Step]

    def trace(self, place: int, problem: Problem) -> Trace:
        """Return the calculation of one of the problems; its steps are made when they are read."""
        inputs = StepsOfOne(self, place)
        steps = StepsOfOne(self, place, inputs)
        return replace(self.sample, problem=problem, inputs=inputs, steps=steps)


class StepsOfOne(Mapping[str, Step]):
    """The steps of one of the problems of a group, or without `inputs` its inputs."""

    def __init__(self, group: Group, place: int, inputs: StepsOfOne | None = None) -> None:
        self.group, self.place, self.inputs = group, place, inputs

    @cached_property
    def _made(self) -> dict[str, Step]:
        of_inputs, group = self.inputs or self, self.group
        made: dict[str, Step] = {}

        def rule(step: Step) -> Expression:
            return of_inputs[step.name] if step.operation is None else made[step.name]

        sample, together = group.sample.inputs, group.inputs
        if self.inputs is not None:
            sample, together = group.sample.steps, group.steps
        for name, step in sample.items():
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
        return dict, (self._made,)  # a copy keeps no other problem


def compute_each(
    problems: Iterable[Problem | InputError | None],
    only: Collection[str] | None = None,
    alone: bool = False,
    calculate: Calculate | None = None,
) -> Iterator[Result]:
    """Yield the calculation of each problem, or the error of one that is wrong, in order.

    The traces are those of `compute`, number by number. A few problems at a time are calculated
    together, if they were read from text, where the reader sees which are alike (`Problem.like`).

    Args:
        problems: problems, and errors instead of those that cannot be read, which are yielded as
            they are; None where the next one may take a while, so that no other waits for it.
        only: as for `compute`.
        alone: as for `compute`.
        calculate: calculates a problem by itself, `compute` by default.
    """
    of_many = partial(compute, only=only, alone=alone)
    kinds: dict[Problem, _Kind] = {}
    window: list[Problem | InputError] = []
    numbers = 0
    for problem in chain(problems, [None]):
        if problem is not None:
            window.append(problem)
        is_last = problem is None
        if isinstance(problem, Problem):
            if (like := problem.like) is not None and like not in kinds:
                if len(kinds) >= MAX_KINDS and not numbers:
                    kinds.clear()
                kinds[like] = _Kind(like, calculate or of_many, of_many)
            numbers += MAX_NUMBERS if like is None else kinds[like].numbers
            is_last = numbers >= MAX_NUMBERS or len(window) >= MAX_TOGETHER
        if is_last:
            yield from _results(window, kinds, calculate or of_many)
            window, numbers = [], 0


def _results(
    window: Sequence[Problem | InputError], kinds: Mapping[Problem, _Kind], calculate: Calculate
) -> Iterator[Result]:
    """Yield the results of some problems in order; those that are like others are calculated first.

    The others are calculated one after the other, as each is asked for.
    """
    alike: dict[Problem, list[Problem]] = {}
    for one in window:
        if isinstance(one, Problem) and one.like is not None:
            alike.setdefault(one.like, []).append(one)
    results = {like: iter(kinds[like].results(problems)) for like, problems in alike.items()}
    for one in window:
        if isinstance(one, InputError):
            yield one
        else:
            known = None if one.like is None else next(results[one.like])
            yield _result(calculate, one) if known is None else known


def _result(calculate: Calculate, problem: Problem) -> Result:
    try:
        return calculate(problem)
    except InputError as error:
        return error


class _Kind:
    """Problems that are like one, and how they are calculated together.

    The first of them that has no warnings of its numbers is the sample. If it has other numbers,
    formulas or axes where it is calculated twice together than by itself, because the method looks
    across the batch, no problems like it are calculated together.
    """

    def __init__(self, like: Problem, of_one: Calculate, of_many: Calculate) -> None:
        self.like, self.of_one, self.of_many = like, of_one, of_many
        self.numbers = numbers_of_steps(like)
        # A formula of the backward pass says where all numbers are 0.
        self.is_joinable = self.numbers <= MAX_NUMBERS // 2 and not like.gradient
        self.keys = [k for k, a in like.__dict__.items() if isinstance(a, np.ndarray)]
        self.keys = [key for key in self.keys if key != "bias"]  # which is part of the rules
        self.sample: Trace | None = None

    def results(self, problems: Sequence[Problem]) -> list[Result | None]:
        """Return the results of problems; None for each that is to be calculated by itself."""
        results: list[Result | None] = []
        while self.is_joinable and self.sample is None and len(results) < len(problems):
            first = problems[len(results)]
            result = _result(self.of_one, first)
            results.append(result)
            if isinstance(result, Trace) and _is_plain(result):
                group = self._group(result, [first, first])
                self.is_joinable = group is not None and _is_same(result, group)
                self.sample = result if self.is_joinable else None
        rest = problems[len(results) :]
        if self.sample is None:
            return [*results, *[None] * len(rest)]
        return [*results, *self._traces(self.sample, rest)]

    def _traces(self, sample: Trace, problems: Sequence[Problem]) -> list[Trace | None]:
        """Return the traces of problems; where not all can be calculated together, of each half."""
        if len(problems) < 2:
            return [None] * len(problems)
        if (group := self._group(sample, problems)) is not None:
            return [group.trace(*pair) for pair in enumerate(problems)]
        halves = problems[: len(problems) // 2], problems[len(problems) // 2 :]
        return [trace for half in halves for trace in self._traces(sample, half)]

    def _group(self, sample: Trace, problems: Sequence[Problem]) -> Group | None:
        """Return problems calculated together; None if numbers of one make it another calculation.

        Errors, warnings, and cells that are blocked by a number come out otherwise for each.
        """
        matrices = {key: np.stack([p.__dict__[key] for p in problems]) for key in self.keys}
        if not all(map(all_finite, matrices.values())):
            return None
        try:
            trace = self.of_many(self.like.together(matrices))
        except (InputError, ValueError, IndexError):  # of a method that knows no batch, too
            return None
        if not _is_plain(trace) or not _is_alike(sample, trace, len(problems)):
            return None
        return Group(sample, len(problems), matrices, trace.inputs, trace.steps)


def _is_plain(trace: Trace) -> bool:
    """Return whether a trace has no warnings of its numbers, and none that are rounded."""
    return trace.unrounded is None and trace.warnings == trace.problem.warnings


def _steps(trace: Trace | Group) -> list[Step]:
    return [*trace.inputs.values(), *trace.steps.values()]


def _is_alike(sample: Trace, together: Trace, count: int) -> bool:
    """Return whether steps are the same but for the axis of the batch."""
    sides = [
        [(s.name, s.formula, s.trailing, s.labels, s.array.dtype, s.array.shape[1:]) for s in steps]
        for steps in (_steps(sample), _steps(together))
    ]
    return sides[0] == sides[1] and all(len(s.array) in (1, count) for s in _steps(together))


def _is_same(sample: Trace, group: Group) -> bool:
    """Return whether the first problem of a group has the numbers of the sample, bit by bit."""
    pairs = zip(_steps(sample), _steps(group), strict=True)
    return all(one.array.tobytes() == both.array[:1].tobytes() for one, both in pairs)
