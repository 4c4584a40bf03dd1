"""What went wrong in a step: the catalogue's calculations, held against the student's numbers.

No mistake is named whose calculation, on the student's own operands, does not give the student's
numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.arithmetic.intervals import interval
from attncli.attention.normalizers import Sum
from attncli.checking.agreement import CUT_OFF, agrees
from attncli.checking.answers import Written
from attncli.checking.judged import MISSING, WRONG, Compared, Finding, Judged, Misshapen
from attncli.checking.judging import Judge
from attncli.checking.mistakes.catalogue import MISTAKES
from attncli.checking.mistakes.mistake import Mistake
from attncli.checking.slips.certainty import TELLING, blur
from attncli.checking.slips.search import slip
from attncli.records import Record, replace
from attncli.tape.cells import place_word
from attncli.tape.operations import Transposed
from attncli.tape.replay import Change, fitted
from attncli.tape.step import Expression, Step
from attncli.tape.walk import evaluate, walk
from attncli.text.escapes import label_text
from attncli.text.lists import all_of


def diagnose(judge: Judge, judged: Judged) -> Finding | None:
    """Return the simplest mistake that gives the numbers of a step, None for one that is not wrong.

    The judge has judged every step up to this one. At most one other mistake is told beside it, and
    of the first wrong step how a number comes about that only a slip explains.
    """
    if isinstance(judged, Misshapen):
        return _of_mismatch(judge, judged)
    if not isinstance(judged, Compared) or not judged.has(WRONG):
        return None
    if found := _once_each(_findings(judge, judged)):
        return _with_others(_perhaps(judged, found[0]), found[1:])
    return slip(judge, judged)


def _once_each(findings: Iterator[Finding]) -> list[Finding]:
    found: dict[str, Finding] = {}
    for finding in findings:
        found.setdefault(finding.id, finding)
    return list(found.values())


def _with_others(finding: Finding, others: Sequence[Finding]) -> Finding:
    """Return a finding with the likeliest of the others: who reads a third learns nothing more."""
    return replace(finding, also=tuple(others[:1]))


def _perhaps(judged: Compared, finding: Finding) -> Finding:
    """Return a finding as a guess where only one number shows it, and that with few digits."""
    wrong = judged.codes == WRONG
    off = np.abs(judged.written.values[wrong] - judged.yours[wrong])
    if wrong.sum() > 1 or (off >= TELLING * blur(judged)[wrong]).all():
        return finding
    place, colon, rest = finding.message.rpartition(": ")
    if not place.startswith("In "):  # the colon is one of the sentence itself
        place, colon, rest = "", "", finding.message
    guess = f"{place}{colon}perhaps {_small(rest)}"
    return replace(finding, message=guess[0].upper() + guess[1:])


class Candidate(Record):
    """A mistake that may have been made, and what would have been calculated instead.

    Its place is the wrong step, or one left out before it; the words fill the blanks of its
    sentence.
    """

    mistake: Mistake
    place: Step
    change: Change
    words: Mapping[str, str]

    def finding(self, step: Step, where: str = "") -> Finding:
        """Return the finding in a step; where it was made, if that is not the whole step itself."""
        words = {"step": self.place.name, "formula": self.place.formula, **self.words}
        sentence = self.mistake.sentence.format(**words)
        is_named = "{step}" in self.mistake.sentence or self.place is step
        if places := ", ".join(filter(None, (where, "" if is_named else self.place.name))):
            sentence = f"In {places}: {_small(sentence)}"
        return Finding(self.mistake.id, sentence, self.mistake.advice.format(**words))


def _candidates(judge: Judge, step: Step) -> Iterator[Candidate]:
    """Yield what may have been done wrong in a step, or in those left out before it.

    What was done in the step itself comes first. The order is that of the catalogue, and for each
    mistake in a step before it the nearest step comes first.
    """
    for places in ([step], judge.ranges.unknown_before(step)[::-1]):
        for mistake in MISTAKES.values():
            for place in places:
                for change, words in mistake.changes(place, judge.trace):
                    yield Candidate(mistake, place, change, words)


def _of_mismatch(judge: Judge, judged: Misshapen) -> Finding:
    """Return what is wrong with a shape, and first the mistake that gives numbers of that shape."""
    fault = judged.mismatch.fault
    others = tuple(_once_each(_of_other_shape(judge, judged)))
    message = _sentence(fault.message)
    if judged.mismatch.transposed:
        advice = "Let rows and columns change places."
        return _with_others(Finding("transposed", message, advice), others)
    shape = Finding("wrong_shape", message, _sentence(fault.hint))
    return _with_others(others[0], [shape]) if others else shape


def _of_other_shape(judge: Judge, judged: Misshapen) -> Iterator[Finding]:
    """Yield the mistakes that give the numbers of a matrix whose shape is not the step's.

    They must be telling: more than one number, known to a tenth of how far the numbers lie apart.
    """
    step = judged.step
    numbers, unit = (array.squeeze() for array in judged.mismatch.numbers())
    for candidate in _candidates(judge, step):
        found = judge.ranges.changed(step, candidate.change)
        if found is None or found.shape == step.array.shape:
            continue
        if step.columns and found.ndim == 4:
            found = np.swapaxes(found, -1, -2)  # type: ignore[type-var]  # of intervals, too
        found = interval(found.reshape([size for size in found.shape if size > 1]))
        if found.shape != numbers.shape or numbers.size < 2:
            continue
        with np.errstate(invalid="ignore"):
            is_telling = (found.high - found.low <= 0.1 * np.ptp(numbers)).all()
        if is_telling and agrees(numbers, unit, found).all():
            yield candidate.finding(step)


def _findings(judge: Judge, judged: Compared) -> Iterator[Finding]:
    """Yield the mistakes that fit the whole step, then those that fit whole rows or heads of it.

    First of all comes what is also seen in another step that was given.
    """
    seen: list[Finding] = []
    whole: list[Finding] = []
    partly: list[Finding] = []
    for candidate in _candidates(judge, judged.step):
        fits = _fits(judge, judged, candidate.change)
        if not fits[judged.codes == WRONG].all():
            continue
        is_seen = _is_seen_elsewhere(judge, judged.step, candidate.change)
        if is_seen is False:
            continue
        if fits.all():
            (seen if is_seen else whole).append(candidate.finding(judged.step))
        elif where := _whole_lines(judged, fits):
            partly.append(candidate.finding(judged.step, where))
    yield from (*seen, *whole, *partly)


def _fits(judge: Judge, judged: Compared, change: Change) -> Array:
    """Return which cells a change gives, none where it explains too little; missing ones it does.

    What may be anything explains nothing: in half of the wrong cells, the interval must be narrower
    than the difference that it explains.
    """
    step, nothing = judged.step, np.zeros(judged.codes.shape, bool)
    found_midpoints = judge.midpoints.changed(step, change)
    midpoints = fitted(found_midpoints, step)
    if found_midpoints is None or midpoints is None or not _is_near(judged, midpoints):
        return nothing
    made = change.get(step.name, step.operation)
    if _repeats_lines(found_midpoints, step, made) or _sums_single_numbers(judge, made):
        return nothing
    ranges = fitted(judge.ranges.changed(step, change), step)
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


def _repeats_lines(found: Array, step: Step, made: Expression | None) -> bool:
    """Return whether numbers of another shape fit a step only because rows or columns repeat.

    Nobody writes a row again and again for the other rows; heads, though, may share what all of
    them are made from, and a sum stands beside everything that it is the sum of.
    """
    return any(
        found.shape[axis] != step.array.shape[axis] and not _is_summed(made, axis)
        for axis in range(-1, 1 - found.ndim, -1)
    )


def _is_summed(made: Expression | None, axis: int) -> bool:
    """Return whether an axis has the size 1 because what stood along it was added up."""
    if isinstance(made, Transposed):
        return _is_summed(made.operand, -3 - axis)
    return isinstance(made, Sum) and (made.along == axis or _is_summed(made.operand, axis))


def _sums_single_numbers(judge: Judge, made: Expression | None) -> bool:
    """Return whether a change sums over the other axis than it should where that has one place.

    Weights cannot sum to 1 over the queries where there is only one query.
    """
    right = judge.trace.problem.rules.normalize.along
    sums = (node for node in walk(made) if isinstance(node, Sum)) if made is not None else ()
    return any(
        node.along != right and evaluate(node.operand, judge.midpoints).shape[node.along] == 1
        for node in sums
    )


def _is_near(judged: Compared, midpoints: Array) -> bool:
    """Return whether a change may give half of the wrong cells, by its numbers without intervals.

    An interval that holds the student's number and the change's, and is narrower than the
    difference that it explains, leaves those two no farther apart than the student's number and
    the right one. So this rejects nothing that fits, and leaves little of the catalogue to be
    calculated with intervals, which takes most of the time.
    """
    wrong = judged.codes == WRONG
    given, yours = judged.written.values[wrong], judged.yours[wrong]
    with np.errstate(invalid="ignore"):
        off = np.abs(given - midpoints[wrong])
        most = np.abs(given - yours) + judged.unit[wrong] + 1e-6 * np.abs(given)
    return bool(2 * (off > most).sum() <= wrong.sum())


def _is_seen_elsewhere(judge: Judge, step: Step, change: Change) -> bool | None:
    """Return whether what is made otherwise in several steps at once is seen in the others.

    None where no other of them was given.
    """
    seen = None
    for name, expression in change.items():
        given = judge.given.get(name)
        if name == step.name or not isinstance(given, Written):
            continue
        found = evaluate(expression, judge.midpoints)
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


def _sentence(text: str) -> str:
    """Return the words of a message as a sentence; names of steps stay as they are."""
    return f"{text[0].upper()}{text[1:]}." if text.startswith("the ") else f"{text}."


def _small(sentence: str) -> str:
    """Return a sentence that goes on after a colon; K and Q stay capitals."""
    return sentence[0].lower() + sentence[1:] if sentence[1:2].islower() else sentence
