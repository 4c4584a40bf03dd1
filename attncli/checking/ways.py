"""Other correct ways of working; whoever takes one is right, and a report says so once.

A way is another form of the calculation, or another reading of the submission, that gives the
correct result. It is taken where it leaves fewer wrong steps than the calculation of the problem.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cached_property, partial
from typing import TypeAlias

from attncli.arithmetic.rounding import Rounding
from attncli.checking import other_forms
from attncli.checking.agreement import agrees, is_same
from attncli.checking.answers import ShapeMismatch, Written, read_submission
from attncli.checking.judged import WRONG, Misshapen
from attncli.checking.judging import Judge
from attncli.checking.reference import Reference
from attncli.checking.submission import Submission
from attncli.checking.thresholds import CUT_OFF
from attncli.errors import InputError
from attncli.mechanisms.trace import Trace
from attncli.problem.kinds import KINDS
from attncli.records import EMPTY, Record, replace
from attncli.tape.operations import TOKENS
from attncli.tape.replay import Change
from attncli.tape.step import Expression, Step
from attncli.tape.walk import evaluate, walk

SHIFTED = ("exp", "sum")
"""First parts of the names of steps with other numbers where a largest score is subtracted."""


class Way(Record, eq=False):
    """One way of working a problem, and a submission as it is read then.

    Attributes:
        reference: the correct calculations, of which the first is shown.
        given: the student's matrices by step.
        sheet: what was handed in.
        said: a sentence for each thing that was done otherwise than in the problem.
        renamed: the step that was given under the name of another one, by that name.
    """

    reference: Reference
    given: Mapping[str, Written | ShapeMismatch]
    sheet: Submission
    said: tuple[str, ...] = ()
    renamed: Mapping[str, str] = EMPTY

    @cached_property
    def judge(self) -> Judge:
        return Judge(self.reference, self.given)

    @cached_property
    def wrong(self) -> set[str]:
        """The names of the steps that have a wrong number, or the wrong shape."""
        judged = self.judge.judged.items()
        return {name for name, one in judged if one.has(WRONG) or isinstance(one, Misshapen)}


WaySearch: TypeAlias = Callable[[Way], Iterator[Way]]


def likeliest(way: Way) -> Way:
    """Return the way of working that leaves the fewest steps wrong.

    It makes no correct step wrong, and the problem's own way wins a tie.
    """
    for search in SEARCHES:
        for other in search(way) if way.wrong else ():
            possible = way.wrong | (other.given.keys() - way.given.keys())
            if _is_seen(other, possible) and len(other.wrong) < len(way.wrong):
                way = other if other.wrong <= possible else way
    return way


def _is_seen(way: Way, names: Collection[str]) -> bool:
    """Return True if a way gives half of the numbers of one of some steps."""
    for name in names:
        one = way.given.get(name)
        if isinstance(one, Written):
            right = way.reference.trace[name].array
            near = agrees(one.values, one.unit, right, one.share, CUT_OFF)
            if 2 * near.sum() >= (~one.blank).sum():
                return True
    return False


# ---- another reading of the submission


def _turned_round(way: Way) -> Iterator[Way]:
    """Yield tokens as columns throughout, or as rows where the problem has columns."""
    trace = way.reference.trace
    if "tokens_as" not in KINDS[trace.problem.kind].options or len(way.given) < 2:
        return
    fitting = [trace[name] for name, one in way.given.items() if isinstance(one, Written)]
    if fitting and all(step.backward and not TOKENS & {*step.trailing} for step in fitting):
        return  # the gradient of a weight matrix does not show how tokens stand
    sizes = (step.array.shape[2:4] for step in fitting if len(step.trailing) > 1)
    if any(rows != columns and min(rows, columns) > 1 for rows, columns in sizes):
        return  # it could not have been read
    right = way.reference.changed(partial(remade, turned=True))
    try:
        given = read_submission(way.sheet, right.trace).matrices
    except InputError:  # a name of a cell, or a label, that fits the one way only
        return
    tokens = "rows" if next(iter(trace)).columns else "columns"
    said = f"The tokens are in {tokens} throughout."
    yield replace(way, reference=right, given=given, said=(*way.said, said))


def _scores_adjusted(way: Way) -> Iterator[Way]:
    """Yield scaled or masked scores that were given under the name of the scores."""
    trace, given = way.reference.trace, way.given
    for kind in ("scaled", "masked"):
        other = {name: name.replace("scores", kind) for name in given if name.startswith("scores")}
        if way.wrong & other.keys() and all(s in trace and s not in given for s in other.values()):
            holds = "holds" if len(other) == 1 else "hold"
            said = f"{', '.join(other)} {holds} the {kind} scores."
            renamed = {other.get(name, name): one for name, one in given.items()}
            yield replace(way, given=renamed, said=(*way.said, said), renamed=other)


# ---- another form of the calculation


def _in_form(
    forms: Callable[..., other_forms.Forms], way: Way, is_evident: bool = True
) -> Iterator[Way]:
    """Yield another form of the calculation.

    Args:
        forms: yields the forms of a calculation.
        way: the calculation, and what was given.
        is_evident: False where the numbers of a form may as well be mistakes. Such a form is tried
            only where it changes every wrong step, and a later step was given.
    """
    before, order = way.reference.trace, list(way.reference.trace.steps)
    later = order[max(map(order.index, way.wrong)) + 1 :]
    if not is_evident and way.given.keys().isdisjoint(later):
        return
    for said, change in forms(before, way.given):
        if is_evident or not way.wrong.isdisjoint(change):
            remake = partial(way.reference.changed, partial(remade, change=change))
            right = way.reference.kept((said, frozenset(change)), remake)
            kept = {step.name for step in right.trace if step.array is before[step.name].array}
            if not way.wrong <= kept if is_evident else way.wrong.isdisjoint(kept):
                yield replace(way, reference=right, said=(*way.said, said))


def shifted(right: Reference) -> Iterator[Reference]:
    """Yield the correct calculations in which the largest score is subtracted before the e^.

    Only the steps whose names begin as in `SHIFTED` have other numbers then.
    """
    for _, change in other_forms.shifts(right.trace):
        yield right.changed(partial(remade, change=change))


def remade(trace: Trace, change: Change = EMPTY, turned: bool = False) -> Trace:
    """Return a calculation with other operations in some of its steps.

    A step with unchanged numbers keeps its array.

    Args:
        trace: the calculation.
        change: the operations.
        turned: True to exchange the convention of rows and that of columns.
    """
    rounding = Rounding(**trace.problem.round) if trace.unrounded and trace.problem.round else None
    made: dict[str, Step] = {}
    others: set[str] = set()  # the names of the steps with other numbers
    for step, operation in _in_order(trace, change):
        linked, array = other_forms.with_steps(operation, made), step.array
        if step.name in change or not others.isdisjoint(_names_in(operation)):
            found = evaluate(linked, lambda part: part.array)
            found = rounding(step.name, found) if rounding else found
            if not is_same(found, array).all():
                array = found
                others.add(step.name)
        columns = step.columns is not turned
        made[step.name] = replace(step, operation=linked, array=array, columns=columns)
    return replace(trace, steps=made)


def _in_order(trace: Trace, change: Change) -> Iterator[tuple[Step, Expression]]:
    """Yield each step and its operation, after the steps of which it is made."""
    rest = {step.name: change.get(step.name, other_forms.made_by(step)) for step in trace}
    while rest:
        name = next(name for name, made in rest.items() if rest.keys().isdisjoint(_names_in(made)))
        yield trace[name], rest.pop(name)


def _names_in(made: Expression) -> list[str]:
    """Return the names of the steps, not of the inputs, in an expression."""
    parts = (part for part in walk(made) if isinstance(part, Step))
    return [part.name for part in parts if part.operation is not None]


SEARCHES: tuple[WaySearch, ...] = (
    _turned_round,
    _scores_adjusted,
    partial(_in_form, other_forms.masked_early),
    partial(_in_form, other_forms.shifts),
    partial(_in_form, other_forms.other_forms, is_evident=False),
)
"""Searches for another way; each is tried on the result of the one before it."""
