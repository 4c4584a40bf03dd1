"""The table of answers: what the judge accepts for each number of a worksheet; what mistakes give.

Practice pages and quizzes cannot run the judge; they look answers up here. For each right way to
calculate a step, the table holds its numbers, those beside them that the judge accepts with some
number of decimals, and how far rounding on the way may lead. Wrong numbers that mistakes give come
with the words of a report.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property, partial

import numpy as np

from attncli.checking.answers.answers import Written
from attncli.checking.judging import agreement, schedules
from attncli.checking.judging.agreement import ROUNDED, RoundingRule
from attncli.checking.judging.equivalent_forms import other_readings
from attncli.checking.judging.judge import HYPOTHESES, Judge, forgives
from attncli.checking.judging.judged_steps import CORRECT, LAST_DIGIT
from attncli.checking.judging.operands import Operands, Reference, axis_of_shares, together
from attncli.checking.judging.trial import Reading, Trial
from attncli.checking.naming.catalogued import in_order, is_possible, mistakes_in
from attncli.core.arithmetic.elements import Array
from attncli.core.arithmetic.intervals import Interval, interval
from attncli.core.calculation.trace import Trace
from attncli.core.records import Record
from attncli.core.tape.evaluation import Replay, Values, broadcast_to_step
from attncli.core.tape.step import Step

ALMOST = 1 - 1e-6
"""Share of half a unit that makes a number round down or up, unless it has no more digits."""

LOCAL_HYPOTHESES = tuple(one for one in HYPOTHESES if one[0] in (CORRECT, LAST_DIGIT))
"""The hypotheses about numbers beside the right ones; the others work with several steps."""

FORGIVEN_UNITS = np.array([1, 0.1, 0.01])
"""Units in the last place that the judge may forgive; it forgives finer ones always."""


class RightNumbers(Record, eq=False):
    """The numbers of a step by one right calculation, and by others beside it."""

    step: Step  # in this calculation; for scores, it may be the scaled scores
    reference: Reference
    unless: str = ""  # the numbers are not right if the step of this name is shown, too

    @property
    def exact(self) -> list[Array]:
        """The numbers of each calculation, with every digit."""
        traces = (self.reference.trace, *self.reference.others)
        return [trace[self.step.name].array for trace in traces]

    def beside(self, exact: Array, decimals: int) -> Iterator[tuple[Array, Array]]:
        """Yield the numbers with these decimals below and above exact ones; which are accepted."""
        unit = 10.0**-decimals
        for sign in (-1, 1):
            numbers = RoundingRule(decimals)(exact + sign * ALMOST * ROUNDED * unit)
            units, texts = np.where(np.isfinite(numbers), unit, 0.0), f"%.{decimals}f"
            written = Written(numbers, units, np.char.mod(texts, numbers))
            judge = Judge(self.reference, {self.step.name: written}, hypotheses=LOCAL_HYPOTHESES)
            yield numbers, np.isin(judge.judged[self.step.name].codes, (CORRECT, LAST_DIGIT))

    @property
    def forgiven_unit(self) -> float:
        """The coarsest unit in the last place of which the judge forgives one."""
        return float(FORGIVEN_UNITS[forgives(self.step, FORGIVEN_UNITS)][0])


class Reach(Record, eq=False):
    """How far rounding on the way may lead from the right numbers of a step that is shown alone.

    Attributes:
        below, above: the distances to the least and the largest number that a schedule gives.
        units: how far rounding at the end may lead beyond, in units in the last place: one, and
            more where a share may be adjusted, so that the shares of a line sum to 1.
        finer: how far hidden steps that are rounded one digit finer lead, in such units.
    """

    below: Array
    above: Array
    units: Array
    finer: Array


class WrongNumbers(Record, eq=False):
    """The wrong numbers of a step by one mistake, with the words of a report on them."""

    id: str
    step: str
    numbers: Array  # as on paper, with every digit
    sentence: str
    advice: str


class AnswerTable:
    """The right and the wrong answers to the open steps of a worksheet.

    Attributes:
        seen: the names of the steps whose numbers a student writes or is shown.
        wrong: the wrong numbers of these steps, those of the likeliest mistake of a step first.
    """

    @np.errstate(all="ignore")  # a mistake may divide by 0
    def __init__(
        self, trace: Trace, seen: Collection[str], decimals: int, every_digit: bool = False
    ) -> None:
        """Work out the wrong numbers that differ from others in these decimals.

        With `every_digit`, they come from steps with every digit where the problem rounds them.
        """
        self.seen = seen
        self.wrong = wrong_numbers((every_digit and trace.unrounded) or trace, seen, decimals)
        self.tolerance = trace.problem.marking.tolerance
        self._reference = Reference(trace, () if trace.unrounded is None else (trace.unrounded,))

    def right(self, step: Step) -> list[RightNumbers]:
        """Return the right numbers of a step: first those of the calculation of the problem."""
        others = other_readings(self._reference, step)
        return [RightNumbers(step, self._reference), *(RightNumbers(*other) for other in others)]

    @np.errstate(all="ignore")
    def reaches(self, steps: Sequence[Step]) -> dict[str, Reach]:
        """Return the reach of each step; `steps` are in the order of computation."""
        trace, finer = self._reference.trace, RoundingRule(2)
        ends = _ends_of_schedules(self._reference, steps)
        around: Replay[Values] = Replay(
            trace, settle=lambda _, numbers: finer.interval(numbers), instead=together(trace, ())
        )
        reached = {}
        for step in steps:
            low, high, along = ends[step.name].low, ends[step.name].high, axis_of_shares(step)
            units = np.ones(step.array.shape)
            if along is not None:
                units += max(step.array.shape) * (high >= low.max(axis=along, keepdims=True))
            hidden = interval(around.result(step))
            # In units of 0.1, whose hidden steps have two decimals.
            sizes = step.array - low, high - step.array, (hidden.high - hidden.low) / 0.1
            below, above, width = map(np.nan_to_num, sizes)
            most = np.minimum(1 + width, agreement.MAX_FINER)
            reached[step.name] = Reach(below, above, units, most)
        return reached


class _AnyDigits(Operands):
    """The numbers of students who show one step alone; those of few digits lead farthest."""

    @cached_property
    def roundings(self) -> tuple[RoundingRule, ...]:
        return agreement.COARSEST_ROUNDINGS


def _ends_of_schedules(reference: Reference, steps: Sequence[Step]) -> dict[str, Interval]:
    """Return intervals that hold what any schedule gives for a step that is shown alone.

    The schedules of a step are among those of a later one that depends on it.
    """
    operands = _AnyDigits(reference, {}, {})
    ends = {step.name: Interval(step.array, step.array) for step in steps}
    done: set[str] = set()

    def widen(step: Step, numbers: Array) -> None:
        if step.name in ends and len(numbers):
            low, high = ends[step.name].low, ends[step.name].high
            ends[step.name] = Interval(
                np.fmin(low, numbers.min(axis=0)), np.fmax(high, numbers.max(axis=0))
            )

    for step in reversed(steps):
        worked = operands.ancestors(step)
        if step.name not in done:
            size = sum(one.array.size for one in (step, *worked))
            for tried in schedules.schedules_for(operands, step, worked):
                for part in tried.chunks(agreement.MAX_TRIED_NUMBERS // size or 1):
                    Trial(operands, part, step, Reading(worked), widen)
        if len(worked) <= schedules.MAX_SINGLE and not step.backward:
            done.update(one.name for one in worked)
    return ends


def wrong_numbers(trace: Trace, names: Collection[str], decimals: int) -> list[WrongNumbers]:
    """Return the wrong numbers of steps that a student writes, by each mistake that shows.

    A mistake is made in the step itself, or in one before it that the student does not write. It
    shows if the rounded numbers differ from the right ones and from those of mistakes before it.
    """
    wrong, rounded = [], RoundingRule(decimals)
    right: Replay[Array] = Replay(trace, lambda step: step.array if step.name in names else None)
    for step in (step for step in trace if step.name in names):
        seen = {(rounded(step.array) + 0.0).tobytes()}
        for mistake in in_order(step, right.unknown_before(step), partial(mistakes_in, trace)):
            changed = right.changed(step, mistake.change)
            numbers = broadcast_to_step(changed, step)
            if changed is None or numbers is None or not (numbers < np.inf).all():
                continue  # of another shape, or no numbers that a student writes
            key = (rounded(numbers) + 0.0).tobytes()
            if key not in seen and is_possible(trace, right, step, mistake.change, changed):
                seen.add(key)
                said = mistake.finding(step)
                about = step.on_paper(numbers), said.sentence(solution=False), said.advice
                wrong.append(WrongNumbers(said.id, step.name, *about))
    return wrong
