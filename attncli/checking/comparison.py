"""Arrays that a program calculated: the first that differs, and by which convention or mistake.

No number of an array was rounded by hand; all carry the error of a calculation in floats.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable
from functools import cached_property
from itertools import combinations, dropwhile, islice

import numpy as np

from attncli.checking.answers.answers import Matrices, Written
from attncli.checking.answers.program_arrays import sizes_of
from attncli.checking.causes import both, nearest, said_of
from attncli.checking.errors_of_floats import MAX_ERRORS, distance, errors_of
from attncli.checking.judging import equivalent_forms, judged_steps
from attncli.checking.judging.agreement import FLOAT_ERROR, ROUNDED, largest
from attncli.checking.judging.judge import Hypotheses, Judge, follows_as_written
from attncli.checking.judging.judged_steps import Difference, Finding, Given, Judged, Misshapen
from attncli.checking.judging.operands import Reference, middle
from attncli.checking.mistakes.conventions import by_conventions
from attncli.checking.naming.catalogued import mistakes_before
from attncli.checking.right_ways import right_ways
from attncli.checking.some_rows import Common, SomeRows
from attncli.core.arithmetic.elements import Array
from attncli.core.attention.scores import SplitHeads
from attncli.core.calculation.compute import compute
from attncli.core.calculation.trace import Trace
from attncli.core.problem.marking import Marking
from attncli.core.problem.problem import Problem
from attncli.core.tape.evaluation import ALL, Change, Replay, Values, array_of, cut
from attncli.core.tape.step import LEADING, Step

TINY = float(np.finfo(float).tiny)
"""Minimum difference that is granted where every number of a step is 0. Derived."""

FEW_WRONG = 5
"""Maximum number of wrong numbers, among a hundred times as many, for which no cause is sought:
every convention and mistake changes more. Chosen."""


FEW_ROWS = 2
"""Number of rows of a wrong array that are compared with a cause before the whole is. Chosen."""

MARGIN = 2.0
"""Factor by which these may be farther off, as products of few rows are rounded in another way.
Chosen."""

MAX_PAIRS = 600
"""Maximum number of pairs of causes that are tried, each in a third of a millisecond. Chosen."""

MAX_OF_PAIR = 100_000
"""Maximum number of numbers that are worked out to look at a few rows of a pair. Chosen."""

ROUNDED_OFF = 9
"""Number of decimals in which the rows of two causes that give the same are alike. Chosen."""

OF_FLOATS: Hypotheses = ((judged_steps.FOLLOWS, follows_as_written),)
"""The explanations of wrong numbers that nobody rounded."""


def _most(off: Array) -> float:
    return float(np.fmax.reduce(off, axis=None, initial=0.0))


class _Calculated(Given, eq=False):
    """An array that a program calculated: its unit is the error of its floats.

    Attributes:
        is_right: which numbers are near enough to the right ones.
        largest: the largest difference from the right numbers, of those that are not nan.
    """

    comparison: Comparison
    is_right: Array
    largest: float

    def agrees(self, expected: Values, units: float = ROUNDED, unit: Array | None = None) -> Array:
        """Return which numbers are near enough; the error grows with the largest number."""
        numbers = middle(expected)
        if numbers is self.step.array:
            return self.is_right  # an array may be large, and is compared with this twice
        limit = units / ROUNDED * self.comparison.limit(self.step, numbers)
        return self.step.from_paper(~(self.comparison.off(self.step, numbers) > limit))

    @property
    def values(self) -> Array:
        return self.written.values  # no copy, as arrays may be large


class Comparison(Judge):
    """The arrays of one submission, compared with one way of calculating the problem.

    Attributes:
        steps: each step of the calculation, judged, with a `Difference` for each array.
        apart: how many numbers of a step differ where a query sees no key, and are not compared.
        wrong: the names of those with a wrong number, in the order of computation.
    """

    def __init__(self, trace: Trace, arrays: Matrices, marking: Marking, dtype: str) -> None:
        self.marking, self.dtype = marking, dtype
        self.errors = errors_of(trace, arrays, dtype)
        self._tried: dict[bytes, tuple[float, Change]] = {}
        self.apart: dict[str, int] = {}
        super().__init__(Reference(trace), arrays, hypotheses=OF_FLOATS)
        vars(self.operands).pop("written", None)  # a whole calculation, which takes much memory
        self.steps = {name: self._difference(judged) for name, judged in self.judged.items()}
        self.wrong = [name for name, one in self.steps.items() if one.has(judged_steps.WRONG)]

    def _answer(self, step: Step, codes: Array, written: Written) -> Given:
        limit, off = self.limit(step, step.array), self.off(step, step.array)
        unit = np.broadcast_to(limit / ROUNDED, codes.shape)
        is_whole = np.broadcast_to(np.False_, codes.shape)
        if (blind := self._blind(step, array_of)).any():
            all_off = distance(step.on_paper(written.values), step.on_paper(step.array))
            self.apart[step.name] = int((np.isnan(off) & blind & ~(all_off <= limit)).sum())
        is_right = step.from_paper(~(off > limit))
        if (most := _most(off)) == np.inf:
            numbers = step.on_paper(written.values).reshape(off.shape)
            most = _most(np.where(np.isnan(numbers), np.nan, off))
        return _Calculated(step, codes, written, unit, unit, is_whole, self, is_right, most)

    def _compared(self, answer: Given) -> Judged:
        self._explained(answer)
        # Later steps are not expected to follow from an array that holds nan.
        return self._difference(answer) if answer.written.blank.any() else answer

    def _difference(self, judged: Judged) -> Judged:
        step, codes = judged.step, judged.codes
        if isinstance(judged, Misshapen):
            codes = np.full_like(codes, judged_steps.WRONG)
            message = judged.mismatch.fault.message.rpartition(": ")[2]  # without the key
            values = np.full(step.value.shape, np.nan)
            return Difference(step, codes, values, np.inf, np.inf, f"T{message[1:]}.")
        if not isinstance(judged, _Calculated):
            return judged
        values, errors = step.on_paper(judged.values), self.errors[step.name] or 1.0
        return Difference(step, codes, values, judged.largest, judged.largest / errors)

    def limit(self, step: Step, numbers: Array) -> float:
        """Return the maximum difference from numbers of a step, or from what others give for it."""
        right = largest(step.array)
        most = max(right, largest(numbers))
        if self.marking.rtol is not None:
            return max(self.marking.rtol * most, TINY) + self.marking.tolerance
        larger = most / right if right else 1.0
        carried = MAX_ERRORS[self.dtype] * self.errors[step.name] * larger
        return max(carried, FLOAT_ERROR * most, TINY) + self.marking.tolerance

    def off(
        self, step: Step, numbers: Array, value_of: Callable[[Step], Array] = array_of
    ) -> Array:
        """Return how far an array is from numbers of its step, on paper.

        It is nan in empty cells, and where a query sees no key in some head and the array holds
        nan, or what a finite fill gives, the mean. `value_of` gives the numbers of `masked`.

        Raises:
            ValueError: if the array has another shape.
        """
        right, matrix = step.on_paper(numbers), self.matrices[step.name]
        array, missing = matrix.texts, np.zeros(right.shape, bool)
        # If it has the shape of the step, it was written for some cells alone.
        is_misplaced = sizes_of(array.shape) == sizes_of(step.value.shape)
        if isinstance(matrix, Written):
            array, is_misplaced = step.on_paper(matrix.values), False
            missing = step.on_paper(matrix.missing)
        if is_misplaced or sizes_of(array.shape) != sizes_of(right.shape):
            raise ValueError(array.shape)
        array = array.reshape(right.shape)
        off, blind = distance(array, right), self._blind(step, value_of)
        missing = missing | (blind & np.isnan(array))
        if (blind & ~missing & (off > 0)).any():
            filled = self._filled.result(step)
            missing |= blind & (distance(array, step.on_paper(filled)) <= self.limit(step, filled))
        return np.where(missing, np.nan, off)

    @cached_property
    def _filled(self) -> Replay[Array]:
        """The calculation with equal scores, as a finite fill leaves them where no key is seen."""
        masked = self.trace["masked"]
        equal = np.zeros_like(masked.array)
        return Replay(self.trace, lambda step: equal if step is masked else None)

    def explained(self) -> Finding | None:
        """Return the convention, or else the mistake, that gives the first wrong array.

        Of several the nearest; another that gives the same within the error is named, too.
        """
        first = self._first
        if first.counts["wrong"] <= FEW_WRONG < first.codes.size / 100:
            return None
        steps = [*self.trace.steps]
        earlier = steps[: steps.index(first.step.name)]
        before = [first.step.name, *(name for name in earlier if name in self.matrices)]
        every = [*before, *(name for name in self.matrices if name not in before)]
        written = self.matrices.items()
        arrays = {name: one.values for name, one in written if isinstance(one, Written)}
        conventions = [*by_conventions(self.trace, arrays)]
        fitting = [(self.misfit(every, instead), finding) for finding, instead in conventions]
        if min((misfit for misfit, _ in fitting), default=np.inf) <= 1:
            return nearest(fitting)
        if first.fault:
            axes = " × ".join(first.step.axes)
            return Finding("wrong_shape", first.fault, f"The axes are {axes}.")
        every_mistake, mistakes = [*mistakes_before(self, first.step)], []
        for mistake in every_mistake:
            misfit = self.misfit(before, mistake.change)
            if misfit <= 1:
                is_all = self.misfit(every, mistake.change) <= 1
                mistakes.append((misfit - is_all, mistake.finding(first.step)))
        if mistakes:
            return nearest(mistakes)
        of_mistakes = ((mistake.finding(first.step), mistake.change) for mistake in every_mistake)
        return self._two_causes(every, conventions, of_mistakes)

    def _two_causes(
        self,
        names: Collection[str],
        conventions: Iterable[tuple[Finding, Change | Problem]],
        mistakes: Iterable[tuple[Finding, Change]],
    ) -> Finding | None:
        """Return a convention and another cause that give the arrays together.

        It is another convention, or a mistake in a step that the first changes, too. Those are
        tried first that are nearest alone.
        """
        of_all = {id(change): finding for finding, change in conventions}
        first = {*of_all}
        of_all |= {id(change): finding for finding, change in mistakes}
        tried = sorted(self._tried.values(), key=lambda one: (id(one[1]) not in first, one[0]))
        changes = [change for _, change in tried]
        places = sorted(combinations(range(len(changes)), 2), key=sum)
        pairs = ((changes[i], changes[j]) for i, j in places)
        likely = (
            (one, other)
            for one, other in pairs
            if id(one) in first and (id(other) in first or one.keys() & other.keys())
        )
        for one, other in islice(likely, MAX_PAIRS):
            change = both(self.trace, one, other)
            is_near = change is not None and self._gives_few_rows(change, is_pair=True)
            if change is not None and is_near and self.misfit(names, change) <= 1:
                return said_of(of_all[id(one)], of_all[id(other)])
        return None

    def misfit(self, names: Iterable[str], instead: Change | Problem) -> float:
        """Return how far arrays are from what is calculated instead, in the maximum difference.

        It is ∞, and not all arrays are looked at, where one is farther than that, or where no
        wrong number is compared.
        """
        if isinstance(instead, Problem):
            same, other = self._calculated(instead)
        elif not self._gives_few_rows(instead):
            return np.inf
        else:
            same, other = self._replayed(instead)
        farthest, is_seen, not_right = 0.0, False, (judged_steps.WRONG, judged_steps.FOLLOWS)
        for name in names:
            judged = self.steps[name]
            if name in same:
                if any(map(judged.has, not_right)):
                    return np.inf
                continue
            try:
                numbers = other(judged.step)
                off = self.off(judged.step, numbers, other)
            except ValueError:  # NumPy's, for shapes that do not go together
                return np.inf
            misfit = _most(off) / self.limit(judged.step, numbers)
            if not misfit <= 1:
                return np.inf
            farthest = max(farthest, misfit)
            is_seen = is_seen or any(map(judged.has, not_right))
        return farthest if is_seen else np.inf

    @cached_property
    def _first(self) -> Difference:
        first = self.steps[self.wrong[0]]
        assert isinstance(first, Difference)  # as the others hold nothing wrong
        return first

    @cached_property
    def _few_rows(self) -> slice:
        """A few rows of the first wrong array, from that of the largest difference on."""
        step, place = self._first.step, self._first.farthest
        row = place[step.axes.index(step.trailing[0])] if place else 0
        start = max(min(row, step.array.shape[2] - FEW_ROWS), 0)
        return slice(start, start + FEW_ROWS)

    @cached_property
    def _limit_of_rows(self) -> float:
        return MARGIN * self.limit(self._first.step, self._first.values)

    @cached_property
    def _common(self) -> Common:
        return Common(self.trace)

    def _gives_few_rows(self, change: Change, is_pair: bool = False) -> bool:
        """Return False if a change does not give a few rows of the first wrong array.

        An array of another shape has the sizes of these rows, beside the number of all rows.
        """
        step, rows, most = self._first.step, self._few_rows, MAX_OF_PAIR if is_pair else np.inf
        try:
            some = SomeRows(self.trace, step, rows, change, self._common, not is_pair, most)
            numbers = step.on_paper(some(step))
            if self._first.fault:
                of_row = sizes_of(some(step)[:, :, :1].shape)
                of_array = sizes_of(self.matrices[step.name].texts.shape)
                others = (of_array[:i] + of_array[i + 1 :] for i in range(len(of_array)))
                return of_row in (of_array, *others)
            values = step.from_paper(self._first.values)
            array = step.on_paper(cut(values, (rows, ALL))).reshape(numbers.shape)
            off, right = distance(array, numbers), step.on_paper(cut(step.array, (rows, ALL)))
            if (distance(right, numbers) > self._limit_of_rows).any():
                tried = float(np.nansum(off)), change
                self._tried.setdefault(numbers.round(ROUNDED_OFF).tobytes(), tried)
            is_off = off > self._limit_of_rows
            return not (is_off & ~(np.isnan(array) | self._blind(step, some))).any()
        except ValueError:  # NumPy's, for shapes that do not go together
            return False

    def _replayed(self, change: Change) -> tuple[Container[str], Callable[[Step], Array]]:
        """Return the steps that stay as they are, and what gives the numbers of the others."""
        steps = [*self.trace.steps]
        same = {n: self.trace[n].array for n in steps[: min(map(steps.index, change))]}
        return same, Replay(self.trace, worked=same, instead=change)

    def _calculated(self, problem: Problem) -> tuple[Container[str], Callable[[Step], Array]]:
        """Return the same for another problem; a step that it lacks has no shape."""
        other = compute(problem)
        of_one_head = {"concat": "context", "context": "output"}

        def numbers(step: Step) -> Array:
            name = step.name if step.name in other else of_one_head.get(step.name, "")
            array = other[name].array if name in other else np.empty(0)
            is_cut = array.size != step.array.size or array.shape == step.array.shape
            return array if is_cut else array_of(SplitHeads(other[name], step.array.shape[1]))

        same = {step.name for step in self.trace if np.array_equal(step.array, numbers(step))}
        return same, numbers

    def _blind(self, step: Step, numbers: Callable[[Step], Array]) -> Array:
        """Return which cells of a step, on paper, are of queries that see no key in some head."""
        masked = self.trace.steps.get("masked")
        later = dropwhile(lambda name: name != "masked", self.trace.steps)
        is_row = step.trailing[:1] == ("query",) and step is not masked
        if masked is None or not is_row or step.name not in later:
            return np.zeros((1,) * len(step.axes), bool)
        blind = (numbers(masked) == -np.inf).all(axis=-1, keepdims=True)
        for axis, name in enumerate(LEADING):
            blind = blind if name in step.leading else blind.any(axis=axis, keepdims=True)
        cells: Array = step.on_paper(blind)
        return cells


def compared(
    trace: Trace, arrays: Matrices, marking: Marking, dtype: str
) -> tuple[Comparison, tuple[str, ...]]:
    """Return arrays compared with the right way of calculating that fits most of them.

    Also sentences on that way, and on numbers that are not compared.
    """
    best, said = Comparison(trace, arrays, marking, dtype), list[str]()
    for words, change in right_ways(trace, arrays) if best.wrong else ():
        if best.wrong and best.misfit(best.wrong[:1], change) <= 1:
            again = Comparison(equivalent_forms.with_change(trace, change), arrays, marking, dtype)
            if len(again.wrong) < len(best.wrong):
                best = again
                said.append(words)
    if count := sum(best.apart.values()):
        cells = f"{count} {'cell' if count == 1 else 'cells'} of queries that see no key"
        programs = "PyTorch's softmax gives nan there, a fill of −1e9 the mean, FlashAttention 0"
        said.append(f"{cells} {'is' if count == 1 else 'are'} not compared: {programs}.")
    return best, tuple(said)
