"""Right numbers of a step, for quizzes, which cannot judge; and wrong ones that mistakes give.

For each right way to calculate a step there are its numbers, and those beside them that the judge
accepts with some number of decimals. Wrong numbers come with the words of a report.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial

import numpy as np

from attncli.checking.answers.written_cells import Written
from attncli.checking.judging.agreement import ROUNDED, RoundingRule
from attncli.checking.judging.equivalent_forms import other_readings
from attncli.checking.judging.judge import HYPOTHESES, Judge
from attncli.checking.judging.judged_steps import CORRECT, LAST_DIGIT
from attncli.checking.judging.operands import Reference
from attncli.checking.naming.catalogued import in_order, is_possible, mistakes_in
from attncli.core.arithmetic.elements import Array
from attncli.core.calculation.trace import Trace
from attncli.core.records import Record
from attncli.core.tape.evaluation import Change, Replay, broadcast_to_step
from attncli.core.tape.step import Step

ALMOST = 1 - 1e-6
"""Share of half a unit that makes a number round down or up, unless it has no more digits."""

LOCAL_HYPOTHESES = tuple(one for one in HYPOTHESES if one[0] in (CORRECT, LAST_DIGIT))
"""The hypotheses about numbers beside the right ones; the others work with several steps."""


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


class WrongNumbers(Record, eq=False):
    """The wrong numbers of a step by one mistake, with the words of a report on them."""

    id: str
    step: str
    numbers: Array  # as on paper, with every digit
    sentence: str
    advice: str
    change: Change


def right_numbers(trace: Trace, step: Step) -> Iterator[RightNumbers]:
    """Yield the right numbers of a step: first those of the calculation of the problem."""
    right = Reference(trace, () if trace.unrounded is None else (trace.unrounded,))
    yield RightNumbers(step, right)
    yield from (RightNumbers(*other) for other in other_readings(right, step))


@np.errstate(all="ignore")  # a mistake may divide by 0
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
                wrong.append(WrongNumbers(said.id, step.name, *about, mistake.change))
    return wrong
