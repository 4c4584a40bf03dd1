"""What went wrong in a step: the catalogue's calculations, held against the student's numbers.

No mistake is named whose calculation, on the student's own operands, does not give the student's
numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.arithmetic.intervals import interval
from attncli.checking.agreement import agrees, largest
from attncli.checking.answers import Written
from attncli.checking.candidates import (
    Candidate,
    by_mistake,
    candidates,
    is_like,
    is_spoken_against,
    once_each,
    with_others,
    without_rounding,
)
from attncli.checking.judged import MISSING, WRONG, Compared, Finding, Judged, Misshapen
from attncli.checking.judging import Judge
from attncli.checking.other_shapes import of_mismatch
from attncli.checking.possible import is_possible
from attncli.checking.slips.certainty import TELLING, blur
from attncli.checking.slips.hollow import all_the_same
from attncli.checking.slips.search import copied_wrongly, slip
from attncli.checking.slips.worked import with_worked
from attncli.checking.slips.wrong_step import WrongStep
from attncli.checking.thresholds import CUT_OFF
from attncli.records import replace
from attncli.tape.cells import cell_name, place_word
from attncli.tape.replay import Change, fitted
from attncli.tape.step import Step
from attncli.tape.walk import evaluate
from attncli.text.escapes import label_text
from attncli.text.sentences import all_of, small

TELLING_CELLS = 2
"""So many wrong numbers, or more, are not given by chance with all their digits."""

NEAR = 1
"""By so many times what blurs the right numbers those of a mistake are off at most, as a rule."""


def diagnose(judge: Judge, judged: Judged) -> Finding | None:
    """Return the simplest mistake that gives the numbers of a step, None for one that is not wrong.

    The judge has judged every step up to this one. At most one other mistake is told beside it, and
    of the first wrong step how a number comes about that is wrong alone, or that a slip explains.
    """
    if isinstance(judged, Misshapen):
        return of_mismatch(judge, judged)
    if not isinstance(judged, Compared) or not judged.has(WRONG):
        return None
    few = too_few_digits(judged, judge.trace.problem.marking.decimals or 0)
    if few and (judged.short == (judged.codes == WRONG)).all():
        return few  # whoever made a mistake is told that first
    wrong = WrongStep(judge, judged)
    if hollow := all_the_same(wrong):
        return hollow
    if wrong.is_alone and (found_alone := copied_wrongly(wrong)):
        return found_alone
    if named := list(_named(judge, judged, wrong.is_alone)):
        found = once_each(one for one, _ in named)
        again = _named_again(judge, judged, named)
        others = [one for one in found[1:] if one.id not in again]
        first = with_others(_perhaps(judged, found[0]), others)
        return with_worked(first, wrong) if len(wrong.cells) == 1 else first
    return slip(wrong)


def too_few_digits(judged: Judged, decimals: int) -> Finding | None:
    """Return what is said of numbers with too few decimals, None where there are none."""
    if not isinstance(judged, Compared) or judged.short is None:
        return None
    step = judged.step
    at = [tuple(place) for place in np.argwhere(step.on_paper(judged.short)).tolist()]
    asked = f"the {decimals} decimals that are" if decimals > 1 else "the 1 decimal that is"
    if len(at) > 1:
        message = f"{len(at)} of the numbers have fewer than {asked} asked for."
    else:
        unit = float(step.on_paper(judged.written.unit)[at[0]])
        has = _decimals(max(0, round(-np.log10(unit))))
        verb = "are" if decimals > 1 else "is"
        message = f"{cell_name(step, at[0])} has {has}, but {decimals} {verb} asked for."
    advice = f"Write {_decimals(decimals)}; keep more of them until the last step."
    return Finding("too_few_digits", message, advice)


def _decimals(count: int) -> str:
    return f"{count or 'no'} decimal{'' if count == 1 else 's'}"


def _perhaps(judged: Compared, finding: Finding) -> Finding:
    """Return a finding as a guess where only one number shows it, and that with few digits."""
    wrong = judged.codes == WRONG
    off = np.abs(judged.written.values[wrong] - judged.yours[wrong])
    if wrong.sum() > 1 or (off >= TELLING * blur(judged)[wrong]).all():
        return finding
    place, colon, rest = finding.message.partition(": ")
    if not place.startswith("In "):  # the colon is one of the sentence itself
        place, colon, rest = "", "", finding.message
    guess = f"{place}{colon}perhaps {small(rest)}"
    return replace(finding, message=guess[0].upper() + guess[1:])


def _named(judge: Judge, judged: Compared, is_alone: bool) -> Iterator[tuple[Finding, Candidate]]:
    """Yield the mistakes that fit the whole step, then those that fit whole rows or heads of it.

    First of all comes what is also seen in another step that was given, and last what numbers that
    are right speak against. Of those that fit the whole step, the ones that give its very digits
    come before those that do so only if something on the way was rounded. One number that is wrong
    alone tells nothing of steps that were left out.
    """
    seen: list[tuple[Finding, Candidate]] = []
    whole: list[tuple[Finding, Candidate]] = []
    blurred: list[tuple[Finding, Candidate]] = []
    partly: list[tuple[Finding, Candidate]] = []
    for candidate, fits, is_exact in _fitting(judge, judged, is_alone):
        is_seen = _is_seen_elsewhere(judge, judged.step, candidate.change)
        if is_seen is False:
            continue
        if fits.all():
            kept = seen if is_seen else (whole if is_exact else blurred)
            kept.append((candidate.finding(judged.step), candidate))
        elif where := _whole_lines(judged, fits):
            partly.append((candidate.finding(judged.step, where), candidate))
    found = (*seen, *whole, *blurred, *partly)
    yield from sorted(found, key=lambda one: is_spoken_against(judge, one[1]))


def _named_again(
    judge: Judge, judged: Compared, named: Sequence[tuple[Finding, Candidate]]
) -> set[str]:
    """Return the ids that say no more than the first does, or what right numbers speak against."""
    (first, made), *others = named
    found = set()
    for finding, candidate in others:
        is_same = is_like(first.id, finding.id) and _is_same_work(
            judge, judged.step, made, candidate
        )
        if is_same or is_spoken_against(judge, candidate):
            found.add(finding.id)
    return found


def _is_same_work(judge: Judge, step: Step, one: Candidate, other: Candidate) -> bool:
    """Return whether two mistakes give the very same numbers."""
    numbers = by_mistake(judge, step)
    ways = (fitted(numbers(each), step) for each in (one, other))
    left, right = ways
    return left is not None and right is not None and bool(np.allclose(left, right, rtol=1e-9))


def _fitting(judge: Judge, judged: Compared, is_alone: bool) -> list[tuple[Candidate, Array, bool]]:
    """Return what gives every wrong cell, with the cells that it gives, and whether exactly.

    Only where nothing gives them nearly is it asked what does from afar, as ranges may be wide: it
    takes most of the time to work them out.
    """
    step, reach = judged.step, Reach(judged)
    numbers, unrounded = by_mistake(judge, step), without_rounding(judge, step)
    exact: list[Candidate] = []
    near: list[Candidate] = []
    far: list[Candidate] = []
    for candidate in candidates(judge, step, is_alone):
        made = numbers(candidate)
        midpoints = fitted(made, step)
        if made is None or midpoints is None:
            continue
        if _gives_the_digits(judged, (midpoints, fitted(unrounded(candidate), step))):
            kept = exact
        elif reach.may_hold(midpoints):
            kept = near if reach.is_near(midpoints) else far
        else:
            continue
        if is_possible(judge.trace, judge.midpoints, step, candidate.change, made):
            kept.append(candidate)
    wrong, everything = judged.codes == WRONG, np.ones(judged.codes.shape, bool)
    found = [(one, everything, True) for one in exact]
    for tried in (near, far):
        if tried is near or not found:
            fitting = ((one, _fits(judge, judged, one.change)) for one in tried)
            found += [(one, fits, False) for one, fits in fitting if fits[wrong].all()]
    return found


def _gives_the_digits(judged: Compared, ways: Iterable[Array | None]) -> bool:
    """Return whether a change gives every number of a step, in all digits that were written.

    Ranges, which allow for what was rounded in between, may be too wide to tell anything of these
    numbers; but no change gives the digits of several by chance.
    """
    if (judged.codes == WRONG).sum() < TELLING_CELLS:
        return False
    missing = judged.codes == MISSING
    return any(made is not None and (judged.agrees(made) | missing).all() for made in ways)


def _fits(judge: Judge, judged: Compared, change: Change) -> Array:
    """Return which cells a change gives, none where it explains too little; missing ones it does.

    What may be anything explains nothing: in half of the wrong cells, the interval must be narrower
    than the difference that it explains.
    """
    nothing = np.zeros(judged.codes.shape, bool)
    ranges = fitted(judge.ranges.changed(judged.step, change), judged.step)
    if ranges is None:
        return nothing
    found, wrong = interval(ranges), judged.codes == WRONG
    with np.errstate(invalid="ignore"):
        explained = np.abs(judged.written.values - judged.yours)
        is_telling = (found.low == found.high) | (found.high - found.low <= explained)
    if 2 * (is_telling & wrong).sum() < wrong.sum():
        return nothing
    fits: Array = judged.agrees(found) | (judged.codes == MISSING)
    return fits


class Reach:
    """How far the numbers of a mistake may be from the wrong ones that it explains.

    Ranges take most of the time, so numbers without them tell first what need not be tried.
    """

    def __init__(self, judged: Compared) -> None:
        self._wrong = judged.codes == WRONG
        self._given, self._unit = judged.written.values[self._wrong], judged.unit[self._wrong]
        with np.errstate(invalid="ignore"):  # −∞ − (−∞)
            explained = np.abs(self._given - judged.yours[self._wrong])
            self._blurred = largest(judged.follows.high - judged.follows.low)
            self._most = explained + self._unit + 1e-6 * np.abs(self._given)
        self._largest = largest(judged.yours) or 1.0

    def _off(self, midpoints: Array) -> Array:
        with np.errstate(invalid="ignore"):
            off: Array = np.abs(self._given - midpoints[self._wrong])
        return off

    def may_hold(self, midpoints: Array) -> bool:
        """Return whether a change may give half of the wrong cells.

        A range that holds the student's number and the change's, and is narrower than the
        difference that it explains, leaves those two no farther apart than the student's number
        and the right one. So this rejects nothing that fits.
        """
        return bool(2 * (self._off(midpoints) > self._most).sum() <= self._most.size)

    def is_near(self, midpoints: Array) -> bool:
        """Return whether numbers are those of the wrong cells, but for what blurs the right ones.

        Of larger numbers, more is blurred.
        """
        larger = max(1.0, largest(midpoints) / self._largest)
        return not (self._off(midpoints) > NEAR * (self._blurred * larger + self._unit)).any()


def _is_seen_elsewhere(judge: Judge, step: Step, change: Change) -> bool | None:
    """Return whether what is made otherwise in several steps at once is seen in the others.

    None where no other of them was given.
    """
    seen = None
    for name, expression in change.items():
        given = judge.given.get(name)
        if name == step.name or not isinstance(given, Written):
            continue
        try:
            found = evaluate(expression, judge.midpoints)
        except ValueError:  # NumPy's, for shapes that do not go together
            return False
        if found.shape != given.values.shape:
            return False
        near = agrees(given.values, given.unit, found, given.share, CUT_OFF)
        if not (near | given.missing).all():
            return False
        seen = True
    return seen


def _whole_lines(judged: Compared, fits: Array) -> str:
    """Return the name of the heads or rows that hold all wrong cells and fit as a whole, or "".

    A single cell may be a coincidence.
    """
    wrong, step = judged.codes == WRONG, judged.step
    if "head" in step.leading:
        heads = [h for h in range(wrong.shape[1]) if wrong[:, h].any()]
        if len(heads) < wrong.shape[1] and fits[:, heads].all() and wrong.sum() > 1:
            return _listed("head", [str(h + 1) for h in heads])
    if wrong.ndim != 4:
        return ""
    rows = [r for r in range(wrong.shape[2]) if wrong[:, :, r].any()]
    enough = all(wrong[:, :, r].sum() > 1 for r in rows)
    if wrong.shape[2] > len(rows) and enough and fits[:, :, rows].all():
        axis = step.trailing[-2] if len(step.trailing) > 1 else ""
        names = [label_text(place_word(step.labels, axis, r)) for r in rows]
        return _listed("column" if step.columns else "row", names)
    return ""


def _listed(noun: str, names: list[str]) -> str:
    return f"{noun}{'s' if len(names) > 1 else ''} {all_of(names)}"
