"""The cause of arrays that differ: a convention, or else a mistake, or else two of them at once.

What a cause gives is looked at in a few rows first: most are far off there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from itertools import chain, islice, product
from typing import NamedTuple, TypeAlias

import numpy as np

from attncli.checking.answers.answers import LIKE_BLOCKED, Matrices, Written
from attncli.checking.answers.program_arrays import sizes_of
from attncli.checking.comparison import Comparison, most_of
from attncli.checking.errors_of_floats import distance
from attncli.checking.judging import equivalent_forms, judged_steps
from attncli.checking.judging.judged_steps import Difference, Finding
from attncli.checking.judging.operands import Reference
from attncli.checking.mistakes.conventions import by_conventions
from attncli.checking.naming.catalogued import is_like, mistakes_before
from attncli.checking.right_ways import right_ways
from attncli.checking.some_rows import SomeRows
from attncli.checking.some_times import of_all_times, some_times
from attncli.checking.two_causes import ChangedSteps, both
from attncli.core.arithmetic.elements import Array
from attncli.core.arithmetic.machine import free_memory, of_bytes
from attncli.core.attention.scores import SplitHeads
from attncli.core.calculation.compute import compute
from attncli.core.calculation.mistake import made_of, wrong
from attncli.core.calculation.trace import Trace
from attncli.core.problem.marking import Marking
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

MEMORY_OF_SEARCH = 5
"""Memory that the search takes, in multiples of that of all steps. Measured: 3.8 to 4.4."""

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


class WithCauses(NamedTuple):
    """Arrays as they are compared, sentences on that, and the causes of wrong ones."""

    comparison: Comparison
    said: tuple[str, ...]
    causes: Mapping[str, Finding]
    no_cause: str  # why none is known, where that is known; else nothing


def explained(
    reference: Reference, arrays: Matrices, marking: Marking, dtype: str, asked: Collection[str]
) -> WithCauses:
    """Compare arrays of a program, and search for what it calculated instead.

    Of a large calculation, every step is worked only if one of the arrays is wrong.

    Numbers of float64 may be no better than float32: that divided by `np.sqrt(d_k)` is float64. So
    the cause is sought within the error of float32, if anything is wrong by more than that.
    """
    steps = reference.trace
    if not (reference.has_numbers or steps.added):
        best, said = compared(compute(steps.problem, {*arrays, *asked}), arrays, marking, dtype)
        size = sum(step.array.nbytes for step in (*steps, *steps.inputs.values()))
        needed, room = MEMORY_OF_SEARCH * size, free_memory()
        if not best.wrong or needed > room:
            words = f"that takes about {of_bytes(needed)} of memory, and {of_bytes(room)} are free"
            return WithCauses(best, said, EMPTY, f"the cause is not sought: {words}")
    trace = reference.whole.trace.unrounded or reference.whole.trace
    best, said = compared(trace, arrays, marking, dtype)
    if not best.wrong:
        return WithCauses(best, said, EMPTY, "")
    searched, of_searched = best, said
    if may_be_coarse := dtype == "float64" and not marking.dtype:
        coarse, of_coarse = compared(trace, arrays, marking, "float32")
        if coarse.wrong:
            searched, of_searched = coarse, of_coarse
    masked = [(words, one, _causes(one)) for words, one in _masked_alike(searched)]
    if found := [way for way in masked if way[2]]:
        words, way, causes = min(found, key=lambda way: len(way[2]))
        return WithCauses(way, (*of_searched, words), causes, "")
    causes, why = _causes(searched), ""
    if causes and searched.wrong[0] != best.wrong[0]:
        best, said = searched, of_searched
    elif not causes and searched is best and may_be_coarse:
        why = "none by more than the error of float32: if it was used, add --dtype float32"
    return WithCauses(best, said, causes, why)


def _causes(comparison: Comparison) -> dict[str, Finding]:
    """Return the cause of the first wrong array, and those of later ones that it does not give.

    These are calculated from the wrong arrays before them as the program has them.
    """
    found: dict[str, Finding] = {}
    while comparison.wrong:
        search = CauseSearch(comparison)
        if not (cause := cause_of(search, is_first=not found)):
            break
        found[comparison.wrong[0]] = cause[0]
        rest = [name for name in comparison.wrong[1:] if search.misfit([name], cause[1]) > 1]
        trace, order = comparison.trace, [*comparison.trace.steps]
        before = order[: order.index(rest[0])] if rest else []
        arrays = {name: comparison.matrices[name] for name in before if search.is_off(name)}
        known = {
            name: replace(trace[name], operation=None, array=one.values)
            for name, one in arrays.items()
            if isinstance(one, Written) and not one.blank.any()
        }
        if not rest or known.keys() != arrays.keys():
            break
        trace = equivalent_forms.with_change(trace, known)
        trace = replace(trace, inputs={**trace.inputs, **known})
        about = comparison.marking, comparison.dtype
        comparison = Comparison(trace, comparison.matrices, *about)
    return found


def _masked_alike(comparison: Comparison) -> Iterator[tuple[str, Comparison]]:
    """Yield right ways by which scores are blocked where a mask shows in arrays."""
    trace, matrices = comparison.trace, comparison.matrices
    arrays = {name: one.values for name, one in matrices.items() if isinstance(one, Written)}
    blocked = {name: array <= LIKE_BLOCKED for name, array in arrays.items()}
    early = [
        n for n, cells in blocked.items() if cells.any() and not np.isinf(trace[n].array).any()
    ]
    for words, change in right_ways(trace, matrices) if early else ():
        other = equivalent_forms.with_change(trace, change)
        if all(np.array_equal(other[name].array == -np.inf, blocked[name]) for name in early):
            yield words, Comparison(other, matrices, comparison.marking, comparison.dtype)


def cause_of(search: CauseSearch, is_first: bool) -> Cause | None:
    """Return the cause of wrong arrays; of a long recurrence, one that gives a few times first."""
    if few := some_times(search.comparison):
        found = CauseSearch(few).cause(is_first)
        return found and search.confirmed(found[0])
    return search.cause(is_first)


def compared(
    trace: Trace, arrays: Matrices, marking: Marking, dtype: str
) -> tuple[Comparison, tuple[str, ...]]:
    """Return arrays compared with the right way of calculating that fits most of them.

    Also sentences on that way, and on numbers that are not compared.
    """
    best, said = Comparison(trace, arrays, marking, dtype), list[str]()
    search = CauseSearch(best) if best.wrong else None
    for words, change in right_ways(trace, arrays) if search else ():
        if search and search.gives_first(change):
            again = Comparison(equivalent_forms.with_change(trace, change), arrays, marking, dtype)
            if len(again.wrong) < len(best.wrong):
                best, search = again, CauseSearch(again) if again.wrong else None
                said.append(words)
    if count := sum(best.apart.values()):
        cells = f"{count} {'cell' if count == 1 else 'cells'} of queries that see no key"
        programs = "PyTorch's softmax gives nan there, a fill of −1e9 the mean, FlashAttention 0"
        said.append(f"{cells} {'is' if count == 1 else 'are'} not compared: {programs}.")
    return best, tuple(said)


def nearest(causes: Iterable[tuple[float, Finding, Change | Problem]]) -> Cause:
    """Return the nearest of causes, with another one that fits as well."""
    (_, first, change), *others = sorted(causes, key=lambda cause: cause[0])
    also = [one for _, one, _ in others if not (one.id == first.id or is_like(one.id, first.id))]
    return replace(first, certain=not also, also=tuple(also[:1])), change
