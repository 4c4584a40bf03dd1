"""The judge: each cell of a student's answers is tested by hypotheses of how it was calculated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from itertools import chain, dropwhile
from typing import Any, TypeAlias

import numpy as np

from attncli.checking.answers.written_cells import Matrices, Written
from attncli.checking.judging import agreement, early_rounding, judged_steps
from attncli.checking.judging.agreement import largest
from attncli.checking.judging.early_rounding import ExplainedCells
from attncli.checking.judging.judged_steps import Compared, Given, Judged, Misshapen, NotGiven
from attncli.checking.judging.operands import Operands, Reference, axis_of_shares, bounded, middle
from attncli.core.arithmetic.elements import Array
from attncli.core.arithmetic.intervals import Interval, interval, is_equal, where
from attncli.core.attention.masks import Masked
from attncli.core.records import EMPTY, replace
from attncli.core.tape.evaluation import Replay, Values, evaluate
from attncli.core.tape.step import Step

Hypotheses: TypeAlias = tuple[
    tuple[int, Callable[[Operands, Given], Iterator[ExplainedCells]]], ...
]


class Judge:
    """Judges one student's answers, step by step in the order of computation.

    Another judge may have judged them before. Then the steps in which something was done wrong are
    judged again, and wrong steps after them: there, a number that this judge explains follows from
    what was done.
    """

    @np.errstate(all="ignore")  # of 1e308, infinities come that fit no right number
    def __init__(
        self,
        reference: Reference,
        matrices: Matrices,
        before: Judge | None = None,
        instead: Mapping[str, Judged | None] = EMPTY,
        hypotheses: Hypotheses = (),
    ) -> None:
        self.reference, self.trace, self.matrices = reference, reference.trace, matrices
        self.hypotheses = hypotheses or HYPOTHESES
        self.judged: dict[str, Judged] = {}
        # The names of steps in which it is known what was done wrong.
        self.mistaken: frozenset[str] = before.mistaken.union(instead) if before else frozenset()
        if before is None:
            for step in self.trace:
                self.judged[step.name] = self._judge(step)
        else:
            self._judge_again(before, instead)

    def _judge_again(self, before: Judge, instead: Mapping[str, Judged | None]) -> None:
        """Take over what another judge said, and judge again what something else may explain.

        Those are the steps in `instead`, in which it is known what was done, and the wrong numbers
        of steps that are made from other numbers since.
        """
        self.judged |= before.judged
        for mine, theirs in zip(self._replays, before._replays, strict=True):
            mine.start_from(theirs)
        changed: set[str] = set()  # the steps from which later ones go on with other numbers
        # The statuses up to a step, by this judge and by the other, on which later ones depend: if
        # a last digit is off, numbers may have been cut off; after a wrong one, others mean more.
        seen, seen_before = set[int](), set[int]()
        for step in dropwhile(lambda one: one.name not in instead, self.trace):
            name, first = step.name, before.judged[step.name]
            is_known = name in instead
            is_other = is_known or not self.reference.is_like(before.reference, name)
            is_made_anew = is_other or judged_steps.LAST_DIGIT in seen ^ seen_before
            # Wrong numbers may have been made from earlier steps with all their digits.
            is_wrong = first.has(judged_steps.WRONG)
            before_it = self.operands.ancestors if is_wrong else self.reference.sources
            is_made_anew |= any(source.name in changed for source in before_it(step))
            means_other = is_made_anew or (seen != seen_before and isinstance(first, Given))
            for replay in self._replays if means_other else ():
                replay.forget(step)
            if is_known:
                self.judged[name] = instead[name] or self._judge(step)
            elif is_made_anew and isinstance(first, Compared) and self._may_follow(first, is_other):
                self.judged[name] = first.followed(self._judge(step))
            if means_other and not self._goes_on_like(before, step):
                changed.add(name)
            for statuses, one in ((seen, self.judged[name]), (seen_before, first)):
                statuses.update(filter(one.has, (judged_steps.WRONG, judged_steps.LAST_DIGIT)))

    @cached_property
    def _replays(self) -> tuple[Replay[Any], ...]:
        one = self.operands
        return one.written, one.meant, one.ranges, early_rounding.reach(one)

    def _goes_on_like(self, before: Judge, step: Step) -> bool:
        """Return True if later steps are made from the same numbers of a shown step as before."""
        if self.judged[step.name] is not before.judged[step.name] or not self.operands.is_whole(
            step
        ):
            return False
        pairs = zip(self._replays, before._replays, strict=True)
        return all(is_equal(mine(step), theirs(step)) for mine, theirs in pairs)

    def _may_follow(self, answer: Given, is_other: bool) -> bool:
        """Return False if no wrong number follows from what came before, however rounded.

        A step that another operation makes may be right in itself.
        """
        wrong = answer.codes == judged_steps.WRONG
        if wrong.any() and not is_other and not self.trace.problem.marking.tolerance:
            wrong &= early_rounding.in_reach(self.operands, answer)
        return bool(wrong.any())

    def wrong_after(self, name: str) -> int:
        """Return the number of wrong cells in the steps after a step."""
        later = [*self.judged.values()][[*self.judged].index(name) + 1 :]
        return sum(one.counts["wrong"] for one in later)

    @cached_property
    def operands(self) -> Operands:
        return Operands(self.reference, self.matrices, self.judged)

    def _judge(self, step: Step) -> Judged:
        written = self.matrices.get(step.name)
        if not isinstance(written, Written):
            codes = np.full(step.array.shape, judged_steps.MISSING, np.int8)
            return Misshapen(step, codes, written) if written else NotGiven(step, codes)
        codes = np.full(step.array.shape, judged_steps.CORRECT, np.int8)
        codes[written.missing] = judged_steps.MISSING
        answer = self._answer(step, codes, written)
        near = answer.agrees(step.array, unit=answer.unit_if_correct) | written.missing
        codes[~near] = judged_steps.WRONG
        return answer if near.all() else self._compared(answer)

    def _answer(self, step: Step, codes: Array, written: Written) -> Given:
        return Given(step, codes, written, *self._units(step, written))

    def _explained(self, answer: Given) -> tuple[Array, str]:
        """Set the status of each cell to that of the first hypothesis that explains its number.

        Also return the numbers of these hypotheses, and the words of the one with most of them.
        """
        codes, expected, words, most = answer.codes, answer.step.array, "", 0
        rest = np.ones(codes.shape, bool)  # the rows that no hypothesis explains as a whole
        for code, explanations in self.hypotheses:
            if not (codes == judged_steps.WRONG).any():
                break
            for explained in explanations(self.operands, answer):
                codes[explained.cells] = code
                if explained.fits is not None:
                    row = (explained.fits | answer.written.blank).all(axis=-1, keepdims=True) & rest
                    expected, rest = np.where(row, explained.numbers, expected), rest & ~row
                expected = np.where(explained.cells & rest, explained.numbers, expected)
                if explained.words and (count := int(explained.cells.sum())) > most:
                    words, most = explained.words, count
        return expected, words

    def _compared(self, answer: Given) -> Judged:
        expected, words = self._explained(answer)
        codes = answer.codes
        if not ((codes != judged_steps.CORRECT) & (codes != judged_steps.MISSING)).any():
            return answer
        wrong = codes == judged_steps.WRONG
        yours, short = self.operands.written.result(answer.step), None
        follows = Interval(yours, yours)
        if wrong.any():
            ends = bounded(self.operands.ranges.result(answer.step))
            # By the errors of floats, the number itself may be just outside its interval.
            follows = Interval(np.fmin(ends.low, yours), np.fmax(ends.high, yours))
            short = self._too_few_digits(answer, yours)
        expected = np.where(wrong, yours, expected)
        return Compared(
            step=answer.step,
            codes=codes,
            written=answer.written,
            unit=answer.unit,
            unit_if_correct=answer.unit_if_correct,
            is_whole=answer.is_whole,
            explained=expected,
            yours=yours,
            follows=follows,
            rounding=words,
            short=short,
        )

    def _units(self, step: Step, written: Written) -> tuple[Array, Array, Array]:
        """Return the three arrays of `Given` about units; none exceeds that of wanted decimals."""
        unit, asked = written.unit, self.trace.problem.marking.decimals
        whole = np.zeros(unit.shape, bool)
        if asked and not written.dtype:
            finest = 10.0**-asked
            unit = np.where(unit > finest, finest, unit) if (unit > finest).any() else unit
            return unit, unit, whole
        if unit.max(initial=0.0) <= agreement.FINE_UNIT:
            return unit, unit, whole
        is_share = axis_of_shares(step) is not None
        most = 1.0 if is_share else max(largest(step.array), largest(written.values))
        values, texts, every = written.values, written.texts, self.operands.texts
        if self.operands.roundings:
            whole = unit == 1
        told = agreement.informative_units(values, unit, texts, most)
        of_whole = np.where(whole & (values != 0), np.maximum(unit, told), told)
        correct = told if is_share else of_whole
        return agreement.units_beside_decimals(told, texts, every), correct, whole

    def _too_few_digits(self, answer: Given, yours: Array) -> Array | None:
        """Return which wrong numbers would be right if fewer decimals were wanted."""
        written = answer.written
        if answer.unit is written.unit or not self.trace.problem.marking.decimals:
            return None
        short = np.zeros(answer.codes.shape, bool)
        for numbers in (answer.step.array, yours):
            short |= agreement.agrees(written.values, written.unit, numbers)
        short &= (answer.codes == judged_steps.WRONG) & (written.unit > answer.unit)
        return short if short.any() else None


def _correct_numbers(operands: Operands, answer: Given) -> Iterator[Values]:
    yield answer.step.array
    yield from (other[answer.step.name].array for other in operands.reference.others)


def _followed(operands: Operands, answer: Given) -> Iterator[Values]:
    """Yield what follows from earlier numbers as written, and as they were before rounding."""
    step = answer.step
    yours = operands.written.result(step)
    yield yours
    ends = _as_blocked(operands, answer, bounded(operands.meant.result(step)))
    known = agreement.is_informative(ends, max(largest(step.array), largest(yours)))
    yield Interval(np.where(known, ends.low, np.nan), np.where(known, ends.high, np.nan))


def _as_blocked(operands: Operands, answer: Given, ends: Interval) -> Interval:
    """Return intervals in which the student's own −∞ decides where a mask leaves open what it is.

    From −∞ to a score, any number would follow.
    """
    open_ = (ends.low == -np.inf) & (ends.high > -np.inf)
    if not isinstance(masked := answer.step.operation, Masked) or not open_.any():
        return ends
    scores = evaluate(masked.operand, operands.meant)
    kept = where(np.isneginf(answer.written.values), ends.low, scores)
    return where(open_, kept, ends)


def correct(operands: Operands, answer: Given) -> Iterator[ExplainedCells]:
    for numbers in _correct_numbers(operands, answer):
        yield _near(operands, answer, numbers, unit=answer.unit_if_correct)


def follows(operands: Operands, answer: Given) -> Iterator[ExplainedCells]:
    return (_near(operands, answer, numbers) for numbers in _followed(operands, answer))


def follows_as_written(operands: Operands, answer: Given) -> Iterator[ExplainedCells]:
    yield _near(operands, answer, operands.written.result(answer.step))


def last_digit(operands: Operands, answer: Given) -> Iterator[ExplainedCells]:
    """Yield the numbers that are `correct` or `follows` but for one unit in the last place."""
    unit, step = answer.unit, answer.step
    tolerated = agreement.are_decimals(unit) & ~answer.is_whole
    if axis_of_shares(step) is not None:
        values = answer.written.values
        tolerated &= forgives(step, answer.written.unit) & (values >= 0) & (values <= 1)
    else:
        tolerated &= forgives(step, unit, largest(operands.written.result(step)))
    for numbers in chain(_correct_numbers(operands, answer), _followed(operands, answer)):
        near = _near(operands, answer, numbers, agreement.CUT_OFF)
        exact = agreement.exact_cells(numbers, unit)
        yield replace(near, cells=near.cells & tolerated & ~exact, fits=None)


def forgives(step: Step, unit: Array, most: float = 0.0) -> Array:
    """Return for which units in the last place an error of one unit is tolerated.

    `most` is the largest number that follows from a student's own ones.
    """
    if axis_of_shares(step) is not None:
        return unit <= agreement.MAX_TOLERATED_UNIT
    most = max(most, largest(step.array))
    coarsest = max(most, agreement.TOLERATED_UNIT), agreement.MAX_TOLERATED_UNIT * most
    return unit <= np.where(unit < 1, *coarsest)


def _near(
    operands: Operands,
    answer: Given,
    numbers: Values,
    units: float = agreement.ROUNDED,
    unit: Array | None = None,
) -> ExplainedCells:
    """Return which wrong cells are within `units`, or the marking's tolerance, of `numbers`."""
    near = answer.agrees(numbers, units, unit)
    if more := operands.trace.problem.marking.tolerance:
        ends = interval(numbers)
        near |= answer.agrees(Interval(ends.low - more, ends.high + more), 0.0)
    return ExplainedCells(near & (answer.codes == judged_steps.WRONG), middle(numbers), fits=near)


HYPOTHESES: Hypotheses = (
    (judged_steps.CORRECT, correct),
    (judged_steps.FOLLOWS, follows),
    (judged_steps.LAST_DIGIT, last_digit),
    (judged_steps.FOLLOWS, early_rounding.by_shown_numbers),
    (judged_steps.ROUNDED_EARLY, early_rounding.by_a_schedule),
    (judged_steps.ROUNDED_EARLY, early_rounding.by_finer_steps),
    (judged_steps.ROUNDED_EARLY, early_rounding.by_own_decimals),
)
"""For each explanation of a number, its status and its search, in the order in which they run."""
