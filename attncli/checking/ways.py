"""Other right ways of working: whoever takes one is right, and is told so once.

A way is another calculation, or another reading of the sheet, that gives the right result. It is
taken where it leaves fewer wrong steps than the calculation of the problem.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import TypeAlias

from attncli.arithmetic.elements import Array
from attncli.arithmetic.rounding import Rounding
from attncli.attention.normalizers import Exp
from attncli.checking import early_mask
from attncli.checking.agreement import agrees, is_same
from attncli.checking.answers import ShapeMismatch, Written, read_submission
from attncli.checking.judged import WRONG, Misshapen
from attncli.checking.judging import Judge
from attncli.checking.other_forms import other_forms
from attncli.checking.right import Right
from attncli.checking.submission import Submission
from attncli.checking.thresholds import CUT_OFF
from attncli.errors import InputError
from attncli.mechanisms.trace import Trace
from attncli.problem.kinds import KINDS
from attncli.records import Record, replace
from attncli.tape.operations import TOKENS
from attncli.tape.replay import Change, Replay
from attncli.tape.step import Expression, Step
from attncli.tape.walk import transform

Sheet: TypeAlias = Mapping[str, Written | ShapeMismatch]


SHIFTED = ("exp", "sum")
"""How the names of the steps begin that are otherwise where a largest score was subtracted."""


class Way(Record):
    """One way of working a problem, and a sheet as it is read then.

    Attributes:
        right: the calculations that are right, the first of which is shown.
        given: the student's matrices by step.
        said: a sentence for each thing that was done otherwise than the problem has it.
    """

    right: Right
    given: Sheet
    said: tuple[str, ...] = ()


def likeliest(way: Way, sheet: Submission) -> tuple[Way, Judge]:
    """Return the way of working that leaves the fewest steps wrong, and its judge.

    Args:
        way: as the problem has it, which is taken where no other leaves fewer, and makes no step
            wrong that was right.
        sheet: what was handed in.
    """
    judge = judge_of(way)
    wrong = wrong_steps(judge)
    for search in SEARCHES:
        for other in search(way, sheet, wrong) if wrong else ():
            if not _is_seen(other, wrong | (other.given.keys() - way.given.keys())):
                continue
            another = judge_of(other)
            fewer, renamed = wrong_steps(another), other.given.keys() - way.given.keys()
            if len(fewer) < len(wrong) and fewer <= wrong | renamed:
                way, judge, wrong = other, another, fewer
    return way, judge


def _is_seen(way: Way, names: Collection[str]) -> bool:
    """Return True if a way gives half of the numbers of one of some steps."""
    for name in names:
        one = way.given.get(name)
        if isinstance(one, Written):
            right = way.right.trace[name].array
            near = agrees(one.values, one.unit, right, one.share, CUT_OFF)
            if 2 * near.sum() >= (~one.blank).sum():
                return True
    return False


def judge_of(way: Way) -> Judge:
    """Return a judge who has judged every step of a sheet."""
    return Judge(way.right, way.given)


def wrong_steps(judge: Judge) -> set[str]:
    """Return the names of the steps that have a wrong number, or the wrong shape."""
    judged = judge.judged.items()
    return {name for name, one in judged if one.has(WRONG) or isinstance(one, Misshapen)}


def _turned_round(way: Way, sheet: Submission, wrong: set[str]) -> Iterator[Way]:
    """Tokens as columns throughout, or as rows where the problem has columns."""
    trace = way.right.trace
    if "tokens_as" not in KINDS[trace.problem.kind].options or len(way.given) < 2:
        return
    fitting = [trace[name] for name, one in way.given.items() if isinstance(one, Written)]
    if fitting and all(step.backward and not TOKENS & {*step.trailing} for step in fitting):
        return  # the gradient of a weight matrix does not show how tokens stand
    sizes = (step.array.shape[2:4] for step in fitting if len(step.trailing) > 1)
    if any(rows != columns and min(rows, columns) > 1 for rows, columns in sizes):
        return  # it could not have been read
    right = way.right.changed(_columns_as_rows)
    try:
        given = read_submission(sheet, right.trace).matrices
    except InputError:  # a name of a cell, or a label, that fits the one way only
        return
    said = "rows" if trace.steps and next(iter(trace)).columns else "columns"
    yield Way(right, given, (*way.said, f"The tokens stand in {said} throughout."))


def _columns_as_rows(trace: Trace) -> Trace:
    """Return a calculation that stands on paper the other way round."""
    made: dict[str, Step] = {}
    for step in trace:
        operation = step.operation
        if operation is not None:
            operation = transform(operation, lambda part: made.get(part.name, part))
        made[step.name] = replace(step, columns=not step.columns, operation=operation)
    return replace(trace, steps=made)


def _scores_adjusted(way: Way, sheet: Submission, wrong: set[str]) -> Iterator[Way]:
    """The scaled or masked scores under the name of the scores, where none are given as such."""
    del sheet
    trace, given = way.right.trace, way.given
    for kind in ("scaled", "masked"):
        other = {name: name.replace("scores", kind) for name in given if name.startswith("scores")}
        if wrong & other.keys() and all(s in trace and s not in given for s in other.values()):
            holds = "holds" if len(other) == 1 else "hold"
            said = f"{', '.join(other)} {holds} the {kind} scores."
            renamed = {other.get(name, name): one for name, one in given.items()}
            yield replace(way, given=renamed, said=(*way.said, said))


def _masked_early(way: Way, sheet: Submission, wrong: set[str]) -> Iterator[Way]:
    """The mask before the scores are scaled or a bias is added, or −∞ already in such a step."""
    del sheet
    if any(name.startswith((*early_mask.KINDS, early_mask.MASKED)) for name in wrong):
        for right, said in early_mask.masked_early(way.right, way.given):
            yield replace(way, right=right, said=(*way.said, said))


def _shifted(way: Way, sheet: Submission, wrong: set[str]) -> Iterator[Way]:
    """Softmax after subtracting the largest score, of each row or of all."""
    del sheet
    if not any(name.startswith(SHIFTED) for name in wrong):
        return
    for whose, change in _shifts(way.right.trace):
        said = f"The largest score of {whose} was subtracted before the e^."
        right = way.right.changed(partial(_remade, change=change))
        yield replace(way, right=right, said=(*way.said, said))


def _in_other_form(way: Way, sheet: Submission, wrong: set[str]) -> Iterator[Way]:
    """A factor or a shift in another step, powers of 2, softmax in logarithms."""
    del sheet
    before, order = way.right.trace, list(way.right.trace.steps)
    last = max(map(order.index, wrong & {*order}), default=len(order))
    if not any(order.index(name) > last for name in way.given if name in before):
        return  # a form that leads to nothing is not told from a mistake
    for said, change in other_forms(before):
        if wrong & change.keys():
            right = way.right.changed(partial(_remade, change=change))
            made = {step.name: step.array for step in right.trace}
            if not any(is_same(made[name], before[name].array).all() for name in wrong):
                yield replace(way, right=right, said=(*way.said, said))


def shifted(right: Right) -> Iterator[Right]:
    """Yield the right calculations of whoever subtracts the largest score before the e^.

    Other numbers than theirs have only the steps whose names begin as `SHIFTED` tells.
    """
    for _, change in _shifts(right.trace):
        yield right.changed(partial(_remade, change=change))


def _shifts(trace: Trace) -> Iterator[tuple[str, Change]]:
    """Yield of what the largest score is subtracted, and the operations that do it."""
    along = trace.problem.rules.normalize.along
    for axis, whose in ((along, "each row"), ((-2, -1), "the whole matrix")):
        change: dict[str, Expression] = {
            step.name: replace(step.operation, shift_along=axis)
            for step in trace
            if isinstance(step.operation, Exp) and step.operation.shift_along is None
        }
        if change:
            yield whose, change


def _remade(trace: Trace, change: Change) -> Trace:
    """Return a calculation with other operations in some of its steps."""
    rounding = Rounding(**trace.problem.round) if trace.unrounded and trace.problem.round else None
    replay: Replay[Array] = Replay(
        trace,
        settle=lambda step, value: rounding(step.name, value) if rounding else value,
        instead=change,
    )
    steps = {
        step.name: replace(
            step, operation=change.get(step.name, step.operation), array=replay(step)
        )
        for step in trace
    }
    return replace(trace, steps=steps)


SEARCHES: tuple[Callable[[Way, Submission, set[str]], Iterator[Way]], ...] = (
    _turned_round,
    _scores_adjusted,
    _masked_early,
    _shifted,
    _in_other_form,
)
"""Each is tried on what the one before it left."""
