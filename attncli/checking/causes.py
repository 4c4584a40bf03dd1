"""The cause of arrays that differ: a convention, or else a mistake, or else two of them at once.

What a cause gives is looked at in a few rows first: most are far off there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator
from itertools import chain, islice, product
from typing import TypeAlias

import numpy as np

from attncli.checking.answers.program_arrays import sizes_of
from attncli.checking.answers.written_cells import Written
from attncli.checking.comparison import Comparison, most_of
from attncli.checking.errors_of_floats import distance
from attncli.checking.judging import judged_steps
from attncli.checking.judging.judged_steps import Difference, Finding
from attncli.checking.mistakes.conventions import by_conventions
from attncli.checking.naming.catalogued import is_like, mistakes_before
from attncli.checking.some_rows import SomeRows
from attncli.checking.some_times import of_all_times
from attncli.checking.two_causes import ChangedSteps, both
from attncli.core.arithmetic.elements import Array
from attncli.core.attention.scores import SplitHeads
from attncli.core.calculation.compute import compute
from attncli.core.calculation.mistake import made_of, wrong
from attncli.core.problem.problem import Problem
from attncli.core.records import EMPTY, replace
from attncli.core.tape.evaluation import ALL, Change, Replay, array_of, cut
from attncli.core.tape.operations import TOKEN_AXES
from attncli.core.tape.step import Step

FEW_WRONG = 5
"""Maximum number of wrong numbers, among a hundred times as many, for which no cause is sought:
every convention and mistake changes more. Chosen."""

FEW_ROWS, FEW_FEATURES = 2, 32
"""Number of rows of a wrong array, and of the features in them, that are compared with a cause
before the whole is. Chosen."""

MARGIN = 2.0
"""Factor by which these may be farther off, as products of few rows are rounded in another way.
Chosen."""

ROUNDED_OFF = 9
"""Number of decimals in which the rows of two causes that give the same are alike. Chosen."""

MAX_PAIRS = (100, 100, 50)
"""Maximum number of pairs that are tried of two conventions, of a convention and a mistake, and of
two mistakes. Measured: of 113 pairs of conventions that were found among 200, none came later."""

MAX_EFFECTS = 500
"""Maximum number of causes of which pairs are made, those that are tried first. Chosen."""

BLOCKING_EFFECT = 1.0
"""What counts as the effect of a change where it blocks a score, or no longer does. Chosen."""

MIN_APART = 1e-6
"""Minimum share of one effect that is no multiple of another: below it they are one. Chosen."""

NOT_RIGHT = (judged_steps.WRONG, judged_steps.FOLLOWS)
"""Statuses of numbers that differ from the right ones."""

Cause: TypeAlias = tuple[Finding, Change | Problem]
"""A possible cause; it may also be that another problem was calculated."""


class CauseSearch:
    """The search for what was calculated instead of the right numbers."""

    def __init__(self, comparison: Comparison) -> None:
        self.comparison, self._trace = comparison, comparison.trace
        first = comparison.steps[comparison.wrong[0]]
        assert isinstance(first, Difference)  # as the others hold nothing wrong
        self._first, step = first, first.step
        farthest = dict(zip(step.axes, first.farthest or (), strict=False))

        def few(axis: int, count: int, size: int) -> slice:
            start = max(min(farthest.get(step.trailing[axis], 0), size - count), 0)
            return slice(start, start + count)

        n, m = step.array.shape[2:4]
        is_long = step.trailing[-1] not in TOKEN_AXES and not first.fault
        region = few(0, FEW_ROWS, n), few(-1, FEW_FEATURES, m) if is_long else ALL
        self._limit = MARGIN * comparison.limit(step, first.values)
        self._some_rows = SomeRows(self._trace, step, region)
        self._right, self._wrong = (
            step.on_paper(cut(array, region))
            for array in (step.array, step.from_paper(first.values))
        )
        self._ignored = np.isnan(self._wrong)
        if comparison.is_masked(step):  # what a finite fill gives where a query sees no key
            equal = wrong(np.zeros_like, made_of(self._trace["masked"]))
            filled = step.on_paper(self._some_rows({"masked": equal}))
            self._ignored |= distance(self._wrong, filled) <= self._limit
        self._effects: dict[bytes, tuple[Array, list[ChangedSteps]]] = {}

    def cause(self, is_first: bool = True) -> Cause | None:
        """Return the convention, or else the mistake, that gives the first wrong array.

        Of several the nearest; another that gives the same within the error is named, too. After
        another cause a mistake is likelier, as a convention would show before.
        """
        first, matrices = self._first, self.comparison.matrices
        if first.counts["wrong"] <= FEW_WRONG < first.codes.size / 100:
            return None
        steps = [*self._trace.steps]
        earlier = steps[: steps.index(first.step.name)]
        before = [first.step.name, *(name for name in earlier if name in matrices)]
        every = [*before, *(name for name in matrices if name not in before)]
        arrays = {name: one.values for name, one in matrices.items() if isinstance(one, Written)}
        conventions = self._near(by_conventions(self._trace, arrays))
        is_wide = is_first or first.fault  # what has another shape was made by a convention
        if is_wide and (fitting := self._fitting(conventions, every)):
            return nearest(fitting)
        convention_count = len(self._effects)
        possible = () if first.fault else mistakes_before(self.comparison, first.step)
        mistakes = self._near((one.finding(first.step), one.change) for one in possible)
        if fitting := self._fitting(mistakes, before):
            of_all = [one for one in fitting if self.misfit(every, one[2]) <= 1]
            return nearest(of_all or fitting)
        # A convention may give the first wrong arrays alone, if it contradicts no later one.
        alone = [name for name in every if name in before or not self.is_off(name)]
        if not (is_wide and alone == every) and (fitting := self._fitting(conventions, alone)):
            return nearest(fitting)
        if first.fault:
            axes = " × ".join(first.step.axes)
            return Finding("wrong_shape", first.fault, f"The axes are {axes}."), EMPTY
        for pair in self._pairs(convention_count):
            alike = filter(None, (both(self._trace, *causes) for causes in product(*pair)))
            first_of_them = next(alike, None)
            if first_of_them and self._few_rows(first_of_them[1], is_pair=True)[0]:
                for pair_of_causes in (first_of_them, *alike):
                    if self.misfit(every, pair_of_causes[1]) <= 1:
                        return pair_of_causes
        return None

    def confirmed(self, found: Finding) -> Cause | None:
        """Return the cause of a few times as it is said of all, if it gives the arrays."""
        trace, step, matrices = self._trace, self._first.step, self.comparison.matrices
        each = [[*of_all_times(trace, step, one)] for one in found.together or (found, *found.also)]
        pairs = (both(trace, *pair) for pair in (product(*each) if found.together else ()))
        causes = [*filter(None, pairs)] if found.together else [*chain.from_iterable(each)]
        steps = [*trace.steps]
        before = [name for name in steps[: steps.index(step.name) + 1] if name in matrices]
        fitting = self._fitting(causes, matrices) or self._fitting(causes, before)
        return nearest(fitting) if fitting else None

    def _near(self, causes: Iterable[Cause]) -> list[Cause]:
        """Return the causes that give a few rows of the first wrong array; note their effects."""
        near: list[Cause] = []
        for finding, change in causes:
            if isinstance(change, Problem):
                near.append((finding, change))
                continue
            is_near, effect = self._few_rows(change)
            near += [(finding, change)] if is_near else []
            if effect is not None and (np.abs(effect) > self._limit).any():
                key = effect.round(ROUNDED_OFF).tobytes()
                self._effects.setdefault(key, (effect, []))[1].append((finding, change))
        return near

    def _fitting(
        self, causes: Iterable[Cause], names: Collection[str]
    ) -> list[tuple[float, Finding, Change | Problem]]:
        """Return the causes that give some arrays, each with its misfit."""
        every = [(self.misfit(names, change), finding, change) for finding, change in causes]
        return [one for one in every if one[0] <= 1]

    def gives_first(self, change: Change) -> bool:
        """Return True if the first wrong array is what is calculated instead."""
        return self._few_rows(change)[0] and self.misfit(self.comparison.wrong[:1], change) <= 1

    def is_off(self, name: str) -> bool:
        return any(map(self.comparison.steps[name].has, NOT_RIGHT))

    def _pairs(self, convention_count: int) -> Iterator[tuple[list[ChangedSteps], ...]]:
        """Yield pairs of causes, each with those that give the same rows: two conventions first.

        The first causes that were tried are conventions. Of each kind the likeliest pairs come
        first. Effects of two causes do not just add up, but most of what is wrong is the sum of
        some multiples of them, as least squares find it.
        """
        if not self._effects:
            return
        rows, causes = zip(*islice(self._effects.values(), MAX_EFFECTS), strict=True)
        effects = np.array([self._wrong - self._right, *rows]).reshape(len(rows) + 1, -1)
        effects = np.nan_to_num(effects, posinf=BLOCKING_EFFECT, neginf=-BLOCKING_EFFECT)
        wanted, products = effects[1:] @ effects[0], effects[1:] @ effects[1:].T
        i, j = np.triu_indices(len(rows), 1)
        a, b, c = products[i, i], products[i, j], products[j, j]
        x, y, apart = wanted[i], wanted[j], a * c - b * b
        explained = (c * x * x - 2 * b * x * y + a * y * y) / apart
        explained[~(apart > MIN_APART * a * c)] = 0
        is_convention = np.arange(len(rows)) < convention_count
        kinds = 2 - is_convention[i].astype(int) - is_convention[j]
        for kind, most in enumerate(MAX_PAIRS):
            places = np.flatnonzero(kinds == kind)
            likely = places[np.argsort(-explained[places])]
            yield from ((causes[i[at]], causes[j[at]]) for at in likely[:most])

    def misfit(self, names: Iterable[str], instead: Change | Problem) -> float:
        """Return how far arrays are from what is calculated instead, in the maximum difference.

        It is ∞, and not all arrays are looked at, where one is farther than that, or where no
        wrong number is compared.
        """
        if isinstance(instead, Problem):
            same, other = self._calculated(instead)
        else:
            same, other = self._replayed(instead)
        comparison = self.comparison
        farthest, is_seen = 0.0, False
        for name in names:
            if name in same:
                if self.is_off(name):
                    return np.inf
                continue
            step = comparison.steps[name].step
            try:
                numbers = other(step)
                off = comparison.off(step, numbers, other)
            except ValueError:  # NumPy's, for shapes that do not go together
                return np.inf
            misfit = most_of(off) / comparison.limit(step, numbers)
            if not misfit <= 1:
                return np.inf
            farthest = max(farthest, misfit)
            is_seen = is_seen or self.is_off(name)
        return farthest if is_seen else np.inf

    def _few_rows(self, change: Change, is_pair: bool = False) -> tuple[bool, Array | None]:
        """Return whether a few rows of the first wrong array may be what is calculated instead.

        Also how this differs from the right rows, if it has their shape. An array of another shape
        has the sizes of these rows, beside the number of all rows.
        """
        step = self._first.step
        try:
            array = self._some_rows(change, is_pair)
            numbers = step.on_paper(array)
            if self._first.fault:
                of_row = sizes_of(array[:, :, :1].shape)
                of_array = sizes_of(self.comparison.matrices[step.name].texts.shape)
                others = (of_array[:i] + of_array[i + 1 :] for i in range(len(of_array)))
                return of_row in (of_array, *others), None
            is_off = distance(self._wrong.reshape(numbers.shape), numbers) > self._limit
        except ValueError:  # NumPy's, for shapes that do not go together
            return False, None
        is_near = not (is_off & ~self._ignored.reshape(numbers.shape)).any()
        return is_near, numbers - self._right if numbers.shape == self._right.shape else None

    def _replayed(self, change: Change) -> tuple[Container[str], Callable[[Step], Array]]:
        """Return the steps that stay as they are, and what gives the numbers of the others."""
        steps = [*self._trace.steps]
        same = {
            n: self._trace[n].array for n in steps[: min(map(steps.index, change), default=None)]
        }
        return same, Replay(self._trace, worked=same, instead=change)

    def _calculated(self, problem: Problem) -> tuple[Container[str], Callable[[Step], Array]]:
        """Return the same for another problem; a step that it lacks has no shape."""
        other = compute(problem)
        of_one_head = {"concat": "context", "context": "output"}

        def numbers(step: Step) -> Array:
            name = step.name if step.name in other else of_one_head.get(step.name, "")
            array = other[name].array if name in other else np.empty(0)
            is_cut = array.size != step.array.size or array.shape == step.array.shape
            return array if is_cut else array_of(SplitHeads(other[name], step.array.shape[1]))

        same = {step.name for step in self._trace if np.array_equal(step.array, numbers(step))}
        return same, numbers


def nearest(causes: Iterable[tuple[float, Finding, Change | Problem]]) -> Cause:
    """Return the nearest of causes, with another one that fits as well."""
    (_, first, change), *others = sorted(causes, key=lambda cause: cause[0])
    also = [one for _, one, _ in others if not (one.id == first.id or is_like(one.id, first.id))]
    return replace(first, certain=not also, also=tuple(also[:1])), change
