"""Findings on matrices that do not have the shape of their step."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from attncli.arithmetic.intervals import interval
from attncli.checking.agreement import agrees
from attncli.checking.catalogued import mistakes_before
from attncli.checking.findings import Finding
from attncli.checking.judged import Misshapen
from attncli.checking.judging import Judge
from attncli.checking.thresholds import CUT_OFF
from attncli.records import replace
from attncli.tape.step import Step
from attncli.text.escapes import label_text
from attncli.text.sentences import all_of

MAX_LISTED_LABELS = 6
"""Maximum number of labels that a sentence lists."""


def of_mismatch(judge: Judge, judged: Misshapen) -> Finding:
    """Return the fault of a shape, or the mistake that gives numbers of that shape."""
    fault, step = judged.mismatch.fault, judged.step
    what, advice = _sentence(fault.message), _sentence(fault.hint)
    shape = Finding("wrong_shape", what, advice)
    if judged.mismatch.transposed:
        if _is_turned(judge, judged):
            what = f"Rows and columns of {step.name} have changed places: {fault.message}."
            return Finding("transposed", what, _line_for_each(step))
        place, what = what.removesuffix("."), "Rows and columns have changed places."
        shape = Finding("transposed", what, _line_for_each(step), place, certain=False)
    made = next(_of_other_shape(judge, judged), None)
    return replace(made, also=(shape,)) if made else shape


def _is_turned(judge: Judge, judged: Misshapen) -> bool:
    """Return True if most numbers are those of the step with rows and columns exchanged."""
    numbers, unit = judged.mismatch.numbers()
    right = judged.step.on_paper(judge.midpoints.result(judged.step)).swapaxes(-1, -2)
    if right.shape != numbers.shape:
        return False
    found = agrees(numbers, unit, right, units=CUT_OFF)
    return bool(2 * found.sum() >= found.size)


def _line_for_each(step: Step) -> str:
    """Return the advice that says whose rows, or columns, a step has on paper."""
    for axis, noun in zip(step.axes[-2:], ("row", "column"), strict=False):
        if axis in ("query", "key", "time"):
            labels = step.labels.get(axis, ())
            names = f": {all_of(list(map(label_text, labels)))}" if labels else ""
            names = "" if len(labels) > MAX_LISTED_LABELS else names
            return f"Write a {noun} for each {axis}{names}."
    return "Let rows and columns change places."


def _of_other_shape(judge: Judge, judged: Misshapen) -> Iterator[Finding]:
    """Yield the mistakes that give the numbers of a matrix whose shape is not the step's.

    They must be evident: several numbers, each known to a tenth of the range of all.
    """
    step = judged.step
    numbers, unit = (array.squeeze() for array in judged.mismatch.numbers())
    for made in mistakes_before(judge, step):
        found = judge.ranges.changed(step, made.change)
        if found is None or found.shape == step.array.shape:
            continue
        if step.columns and found.ndim == 4:
            found = np.swapaxes(found, -1, -2)  # type: ignore[type-var]  # of intervals, too
        found = interval(found.reshape([size for size in found.shape if size > 1]))
        if found.shape != numbers.shape or numbers.size < 2:
            continue
        with np.errstate(invalid="ignore"):
            is_evident = (found.high - found.low <= 0.1 * np.ptp(numbers)).all()
        if is_evident and agrees(numbers, unit, found).all():
            yield made.finding(step)


def _sentence(text: str) -> str:
    """Return a message as a sentence; names of steps keep their first letter."""
    is_word = text.startswith(("the ", "a ", "row ", "matrix "))
    return f"{text[0].upper()}{text[1:]}." if is_word else f"{text}."
