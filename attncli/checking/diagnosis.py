"""What went wrong in a step: the catalogue's calculations, held against the student's numbers.

No mistake is named whose calculation, on the student's own operands, does not give the student's
numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.arithmetic.intervals import Interval, interval
from attncli.checking.answers import ShapeMismatch, Written
from attncli.checking.judged import MISSING, WRONG, Compared, Judged, Misshapen
from attncli.checking.judging import Judge, slack_of
from attncli.checking.mistakes.catalogue import MISTAKES
from attncli.checking.mistakes.changes import Change
from attncli.checking.slips import slip
from attncli.records import Record, replace
from attncli.tape.step import Step
from attncli.tape.walk import evaluate, sources
from attncli.text.escapes import visible


class Finding(Record):
    """A mistake that explains a step.

    Attributes:
        id: its name in the catalogue.
        message: what was done, in one sentence.
        advice: what to do.
        also: other mistakes that give the same numbers.
    """

    id: str
    message: str
    advice: str
    also: tuple[Finding, ...] = ()


def diagnose(judge: Judge, judged: Judged) -> Finding | None:
    """Return the simplest mistake that gives the numbers of a wrong step, if there is one.

    Args:
        judge: with every step up to this one judged.
        judged: the step; None is returned for one that is not wrong.
    """
    if isinstance(judged, Misshapen):
        return _of_mismatch(judge, judged.step, judged.mismatch)
    if not isinstance(judged, Compared) or not judged.has(WRONG):
        return None
    found = _once_each(_findings(judge, judged))
    if found:
        first, *others = found
        return replace(first, also=tuple(others))
    small = slip(judge, judged)
    return Finding(*small) if small else None


def _once_each(findings: Iterator[Finding]) -> list[Finding]:
    """Return the first finding of each id."""
    found: dict[str, Finding] = {}
    for finding in findings:
        found.setdefault(finding.id, finding)
    return list(found.values())


def _of_mismatch(judge: Judge, step: Step, mismatch: ShapeMismatch) -> Finding:
    """Return what is wrong with a shape, and first the mistake that gives numbers of that shape."""
    fault = mismatch.fault
    others = tuple(_once_each(_of_other_shape(judge, step, mismatch)))
    if mismatch.transposed:
        advice = "Let rows and columns change places."
        return Finding("transposed", _sentence(fault.message), advice, others)
    shape = Finding("wrong_shape", _sentence(fault.message), _sentence(fault.hint))
    return replace(others[0], also=(*others[1:], shape)) if others else shape


def _of_other_shape(judge: Judge, step: Step, mismatch: ShapeMismatch) -> Iterator[Finding]:
    """Yield the mistakes that give the numbers of a matrix whose shape is not the step's."""
    numbers, half = (array.squeeze() for array in mismatch.numbers())
    open_ = judge.left_out_before(step)
    for id_, row in MISTAKES.items():
        for source in (step, *reversed(open_)):
            for change, words in row.changes(source, judge.trace):
                found = changed(step, change, open_, judge.own, judge.perhaps_rounded)
                if found is None or found.shape == step.array.shape:
                    continue
                turned = step.columns and found.ndim == 4
                low, high = (
                    (np.swapaxes(end, -1, -2) if turned else end).squeeze()
                    for end in (interval(found).low, interval(found).high)
                )
                if low.shape != numbers.shape or numbers.size < 2:
                    continue
                with np.errstate(invalid="ignore"):
                    fits = (numbers >= low - half) & (numbers <= high + half)
                    narrow = high - low <= 0.1 * np.ptp(numbers)
                if fits.all() and narrow.all():
                    yield Explanation(id_, source, words).finding(step)


def _findings(judge: Judge, judged: Compared) -> Iterator[Finding]:
    """Yield the mistakes that fit the whole step, then those that fit whole rows or heads of it.

    First of all comes what is also seen in another step that was given.
    """
    whole: dict[bool, list[Finding]] = {True: [], False: []}
    partly: list[Finding] = []
    for explanation, fits in _fitting(judge, judged):
        if fits.all():
            whole[explanation.is_seen_elsewhere].append(explanation.finding(judged.step))
        elif where := _whole_lines(judged, fits):
            partly.append(explanation.finding(judged.step, where))
    yield from (*whole[True], *whole[False], *partly)


class Explanation(Record):
    """A mistake made in a step, with the words for its sentence."""

    id: str
    source: Step
    words: Mapping[str, str]
    is_seen_elsewhere: bool = False

    def finding(self, step: Step, where: str = "") -> Finding:
        """Return the finding in a step; where it was made, if that is not the whole step itself."""
        row = MISTAKES[self.id]
        words = {"step": self.source.name, "formula": self.source.formula, **self.words}
        message, advice = row.sentence.format(**words), row.advice.format(**words)
        is_named = "{step}" in row.sentence or self.source is step
        places = [where, "" if is_named else self.source.name]
        if any(places):
            message = f"In {', '.join(filter(None, places))}: {_small(message)}"
        return Finding(self.id, message, advice)


def _sentence(text: str) -> str:
    """Return the words of a message as a sentence; names of steps stay as they are."""
    return f"{text[0].upper()}{text[1:]}." if text.startswith("the ") else f"{text}."


def _small(sentence: str) -> str:
    """Return a sentence that goes on after a colon; K and Q stay capitals."""
    starts_with_word = sentence[1:2].islower()
    return sentence[0].lower() + sentence[1:] if starts_with_word else sentence


def _fitting(judge: Judge, judged: Compared) -> Iterator[tuple[Explanation, Array]]:
    """Yield each mistake that gives every wrong cell, and which cells it gives."""
    wrong = judged.codes == WRONG
    open_ = judge.left_out_before(judged.step)
    for id_, row in MISTAKES.items():
        for step in (judged.step, *reversed(open_)):
            for change, words in row.changes(step, judge.trace):
                middle = with_change(judged.step, change, open_, judge.middle)
                if middle is None or not _may_fit(judged, interval(middle).low):
                    continue
                elsewhere = _seen_elsewhere(judge, judged.step, change)
                if elsewhere is False:
                    continue
                found = with_change(judged.step, change, open_, judge.own, judge.perhaps_rounded)
                if found is None:
                    continue
                fits = _fits(judged, interval(found))
                if fits[wrong].all():
                    explanation = Explanation(id_, step, words, bool(elsewhere))
                    yield explanation, fits | (judged.codes == MISSING)


def with_change(
    step: Step,
    change: Change,
    between: Sequence[Step],
    known: Callable[[Step], Array | Interval],
    settle: Callable[[Array | Interval], Array | Interval] = lambda found: found,
) -> Array | Interval | None:
    """Return what `changed` does, where it has the step's shape or is repeated to have it."""
    found = changed(step, change, between, known, settle)
    if found is None or found.shape == step.array.shape:
        return found
    if found.ndim != step.array.ndim:
        return None
    try:
        wide: Array = np.broadcast_to(found, step.array.shape)  # type: ignore[arg-type]  # ranges too
    except ValueError:
        return None
    return wide


def changed(
    step: Step,
    change: Change,
    between: Sequence[Step],
    known: Callable[[Step], Array | Interval],
    settle: Callable[[Array | Interval], Array | Interval] = lambda found: found,
) -> Array | Interval | None:
    """Return what a step becomes when it, or steps before it, are made otherwise.

    Args:
        step: the step that is asked for.
        change: what is made otherwise.
        between: the steps that are made anew, in the order of computation, where the change
            touches them; all others are known.
        known: the value of a step.
        settle: what becomes of a step that is made anew before the next one uses it.

    Returns:
        An array, or ranges; None where the shapes do not go together, or nothing changes.
    """
    made: dict[str, Array | Interval] = {}

    def value(source: Step) -> Array | Interval:
        return made[source.name] if source.name in made else known(source)

    try:
        for source in (*between, step):
            expression = change.get(source.name)
            if expression is None and made and any(o.name in made for o in sources(source)):
                expression = source.operation
            if expression is not None:
                found = evaluate(expression, value)
                made[source.name] = found if source is step else settle(found)
    except ValueError:  # shapes that do not go together
        return None
    return made.get(step.name)


def _may_fit(judged: Compared, numbers: Array) -> bool:
    """Whether a calculation may give the wrong cells, by its plain numbers without ranges.

    A range that holds the student's number and the plain one, and is narrower than what it
    explains, leaves the two no farther apart than the student's and the right one: in half of the
    wrong cells. This leaves little of the catalogue to be calculated with ranges.
    """
    wrong = judged.codes == WRONG
    given, yours = judged.written.values[wrong], judged.yours[wrong]
    with np.errstate(invalid="ignore"):
        off = np.abs(given - numbers[wrong])
        most = np.abs(given - yours) + judged.unit[wrong] + 1e-6 * np.abs(given)
    return bool(2 * (off > most).sum() <= wrong.sum())


def _seen_elsewhere(judge: Judge, step: Step, change: Change) -> bool | None:
    """Whether what is done wrong in several steps at once is seen in the others; None for none."""
    seen = None
    for name, expression in change.items():
        given = judge.given.get(name)
        if name == step.name or not isinstance(given, Written):
            continue
        found = evaluate(expression, judge.middle)
        if found.shape != given.values.shape:
            return False
        with np.errstate(invalid="ignore"):
            near = np.abs(found - given.values) <= given.unit + slack_of(found, given.slack)
        if not (near | given.missing | (found == given.values)).all():
            return False
        seen = True
    return seen


def _fits(judged: Compared, found: Interval) -> Array:
    """Return which cells a calculation gives; none where it explains too little.

    What may be anything explains nothing: in half of the wrong cells, the range must be narrower
    than the difference that it explains.
    """
    values = judged.written.values
    wrong = judged.codes == WRONG
    more = judged.unit / 2 + slack_of(found.low, judged.written.slack)
    with np.errstate(invalid="ignore"):
        fits: Array = (values >= found.low - more) & (values <= found.high + more)
        fits |= np.isinf(values) & (values == found.low) & (values == found.high)
        narrow = (found.low == found.high) | (
            found.high - found.low <= np.abs(values - judged.yours)
        )
    telling = (narrow & wrong).sum()
    return fits if 2 * telling >= wrong.sum() else np.zeros_like(fits)


def _whole_lines(judged: Judged, fits: Array) -> str:
    """Return the name of the heads or rows that hold all wrong cells and fit as a whole, or "".

    A single cell may be a coincidence.
    """
    wrong = judged.codes == WRONG
    step = judged.step
    if "head" in step.leading:
        heads = [h for h in range(wrong.shape[1]) if wrong[:, h].any()]
        if len(heads) < wrong.shape[1] and fits[:, heads].all() and wrong.sum() > 1:
            return _listed("head", [str(h + 1) for h in heads])
    if wrong.ndim != 4:
        return ""
    rows = [r for r in range(wrong.shape[2]) if wrong[:, :, r].any()]
    enough = all(wrong[:, :, r].sum() > 1 for r in rows)
    if wrong.shape[2] > len(rows) and enough and fits[:, :, rows].all():
        labels = step.labels.get(step.trailing[-2], ()) if len(step.trailing) > 1 else ()
        names = [visible(labels[r]) if r < len(labels) else str(r + 1) for r in rows]
        return _listed("column" if step.columns else "row", names)
    return ""


def _listed(noun: str, names: list[str]) -> str:
    if len(names) == 1:
        return f"{noun} {names[0]}"
    return f"{noun}s {', '.join(names[:-1])} and {names[-1]}"
