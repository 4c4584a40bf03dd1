"""The page of a report: what is said of each step that a student gave, and in which order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.checking.check import Report
from attncli.checking.judged import (
    CORRECT,
    LAST_DIGIT,
    MISSING,
    WRONG,
    Compared,
    Finding,
    Given,
    Judged,
)
from attncli.files.grading import Graded
from attncli.records import Record, replace
from attncli.rendering.blocks import Matrix, Span
from attncli.rendering.selection import Selection
from attncli.rendering.views import axis_labels
from attncli.tape.cells import Index, cell_name
from attncli.tape.step import Step
from attncli.text.escapes import label_text, visible
from attncli.text.numbers import style_of

MARKS = {LAST_DIGIT: ("≈", "near"), WRONG: ("✗", "wrong"), MISSING: (" ", "faint")}
"""The sign and the style of a written number that is not right."""

SIGNS = {"last_digit": "≈", "follows": "→"}
MOST_CELLS = 12
"""How many cells are told one by one before the rest is only counted."""


class Comparison(Record):
    """One of a step's matrices that has a number which is not right.

    Attributes:
        words: which head or batch it is, or nothing.
        yours: what the student wrote, with a mark at each number that is not right.
        others: what the student's earlier numbers give, where that differs; the right numbers.
        is_wrong: whether a number is wrong, rather than rounded or carried on.
    """

    words: str
    yours: Matrix
    others: tuple[Matrix, ...]
    is_wrong: bool


class WrongCell(Record):
    """One wrong number: the name of its cell, what was written, what is right."""

    name: str
    given: str
    right: str


class Remark(Record):
    """What is said of a step that the student gave.

    Attributes:
        judged: the step and the status of its cells.
        sign: ✗ for a wrong step, ≈ for one off in a last digit, → for one that follows, or ✓.
        follows: from what the numbers follow: slips, or only rounding.
        finding: the mistake, where one is known.
        unexplained: the sentence for wrong numbers that no known mistake explains, or nothing.
        last_digits: sentences on the numbers that are off in their last digit.
    """

    judged: Judged
    sign: str
    follows: str
    comparisons: tuple[Comparison, ...]
    cells: tuple[WrongCell, ...]
    finding: Finding | None
    unexplained: str
    last_digits: tuple[str, ...]


class ReportPage(Record):
    """What is shown of the report on a student, `name`, who worked the problem `title`.

    Attributes:
        verdict: the one line that says it all, to stand after the sign ✓ or ✗.
        remarks: by the name of the step, for each that has a number.
        missing: how many cells were left out of the steps that were given, or nothing.
    """

    name: str
    title: str
    sign: str
    verdict: str
    remarks: Mapping[str, Remark]
    missing: str


def report_page(report: Report, selection: Selection) -> ReportPage:
    """Return what of a report is shown."""
    given = [judged for judged in report.steps.values() if judged.status != "missing"]
    remarks = {judged.step.name: _remark(report, judged, selection) for judged in given}
    title = visible(report.trace.problem.title)
    sign = "✓" if report.verdict == "correct" else "✗"
    missing = _missing_cells(report)
    return ReportPage(visible(report.name), title, sign, verdict(report), remarks, missing)


def _remark(report: Report, judged: Judged, selection: Selection) -> Remark:
    finding = report.findings.get(judged.step.name)
    names = list(report.steps)
    is_after = report.first_wrong_step in names[: names.index(judged.step.name)]
    unexplained = f"{_count(judged, WRONG)} wrong; no usual mistake gives them."
    return Remark(
        judged,
        "✗" if report.is_wrong(judged) else SIGNS.get(judged.status, "✓"),
        "your numbers" if is_after else "your rounded numbers",
        tuple(_comparisons(judged, selection)) if isinstance(judged, Compared) else (),
        tuple(_wrong_cells(judged, selection.digits)) if isinstance(judged, Given) else (),
        finding,
        unexplained if finding is None and judged.has(WRONG) else "",
        tuple(_last_digits(judged)) if isinstance(judged, Given) and judged.has(LAST_DIGIT) else (),
    )


def _count(judged: Judged, code: int) -> str:
    count = int((judged.codes == code).sum())
    return "1 number is" if count == 1 else f"{count} numbers are"


def _comparisons(judged: Compared, selection: Selection) -> Iterator[Comparison]:
    """Yield the student's matrix and the right one for each head or batch."""
    step, digits = judged.step, selection.digits
    like = Matrix(np.zeros((0, 0)), "", *axis_labels(step), selection.full)
    codes, texts, right = step.on_paper(judged.codes), written_texts(judged), step.value
    shown = {"right": right}
    from_yours = step.on_paper(judged.yours)
    # Numbers that look the same when they are written need not be shown twice.
    if not np.allclose(from_yours, right, rtol=0, atol=0.5 * 10.0**-digits):
        shown = {"from your numbers": from_yours, "right": right}
    for place in np.ndindex(codes.shape[:-2]):
        part = codes[place]
        if np.isin(part, (CORRECT, MISSING)).all():
            continue
        others = (
            replace(like, name=name, values=np.atleast_2d(v[place]), write=style_of(v, digits))
            for name, v in shown.items()
        )
        marked = _marked(np.atleast_2d(texts[place]), np.atleast_2d(part))
        yours = replace(like, name="yours", values=np.zeros_like(np.atleast_2d(part)), cells=marked)
        words = _slice_words(step, place)
        yield Comparison(words, yours, tuple(others), bool((part == WRONG).any()))


def _marked(texts: Array, codes: Array) -> dict[tuple[int, int], Span]:
    """Return what a student wrote, with a mark at each number that is not right."""
    marked = {}
    for i, j in np.ndindex(codes.shape):
        mark, style = MARKS.get(int(codes[i, j]), (" ", ""))
        marked[i, j] = (f"{label_text(str(texts[i, j]))} {mark}", style)
    return marked


def _slice_words(step: Step, place: Sequence[int]) -> str:
    """Return which matrix of a stack this is, such as `head 2`; "" where there is one."""
    pairs = zip(step.axes, place, strict=False)
    return ", ".join(f"{axis} {label_text(label_at(step, axis, i))}" for axis, i in pairs)


def label_at(step: Step, axis: str, place: int) -> str:
    """Return the label of a place along an axis; its number from 1 where there is none."""
    labels = step.labels.get(axis, ())
    return labels[place] if place < len(labels) else str(place + 1)


def places(chosen: Array) -> list[Index]:
    """Return where an array of truth values is true."""
    return [tuple(place) for place in np.argwhere(chosen).tolist()]


def _wrong_cells(judged: Given, decimals: int) -> Iterator[WrongCell]:
    step = judged.step
    texts, right = written_texts(judged), step.value
    write = style_of(right, decimals)
    for at in places(step.on_paper(judged.codes) == WRONG):
        yield WrongCell(cell_name(step, at), str(texts[at]), write(float(right[at])))


def _last_digits(judged: Given) -> Iterator[str]:
    """Yield the cells that are off in their last digit, and how they came about."""
    step = judged.step
    codes, texts, right = step.on_paper(judged.codes), written_texts(judged), step.value
    units, values = step.on_paper(judged.written.unit), step.on_paper(judged.written.values)
    found = places(codes == LAST_DIGIT)
    cut_off = all(
        np.trunc(right[at] / units[at]) * units[at] - values[at] < 1e-9
        and abs(values[at]) <= abs(right[at])
        for at in found
    )
    note = " (cut off, not rounded)" if cut_off else ""
    yield f"{_count(judged, LAST_DIGIT)} off in the last digit{note}:"
    for at in found[:MOST_CELLS]:
        should_be = rounded_like(float(right[at]), float(units[at]))
        yield f"{cell_name(step, at)} is {label_text(texts[at])}, should be {should_be}"
    if len(found) > MOST_CELLS:
        yield f"… and {len(found) - MOST_CELLS} more"


def rounded_like(value: float, unit: float) -> str:
    """Return a number rounded to a unit as people round.

    >>> rounded_like(0.975559, 0.01)
    '0.98'
    """
    if not np.isfinite(value):
        return str(value)
    exponent = Decimal(1).scaleb(round(float(np.log10(unit))))
    rounded = Decimal(repr(value)).quantize(exponent, rounding=ROUND_HALF_UP)
    return f"{rounded:f}"


def written_texts(judged: Given) -> Array:
    """Return what was written, as it stands on paper; `_` for a cell that was left out."""
    return judged.step.on_paper(np.where(judged.written.missing, "_", judged.written.texts))


def _missing_cells(report: Report) -> str:
    given = [judged for judged in report.steps.values() if isinstance(judged, Given)]
    counts = {one.step.name: (one.counts["missing"], one.codes.size) for one in given}
    return ", ".join(f"{n} of {size} cells of {name}" for name, (n, size) in counts.items() if n)


def verdict(report: Report) -> str:
    """Return the one line that says it all."""
    counts = report.counts
    if first := report.first_wrong_step:
        finding = report.findings.get(first)
        what = f" ({finding.id})" if finding else ""
        if not report.steps[first].has(WRONG) and finding is None:
            what = " (off in the last digit)"
        return f"wrong, first at {first}{what}"
    given = sum(counts[status] for status in ("correct", "last_digit", "follows"))
    near = counts["last_digit"]
    note = f", {near} of them off in the last digit" if near else ""
    return f"correct: {given} number{'s' if given != 1 else ''}{note}"


def summary(graded: Sequence[Graded]) -> Iterator[str]:
    """Yield how many of a class were right, and the commonest mistakes."""
    reports = [one for one in graded if isinstance(one, Report)]
    wrong = {one: one.first_wrong_step for one in reports if one.first_wrong_step}
    parts = [f"{len(reports) - len(wrong)} correct", f"{len(wrong)} wrong"]
    if unread := len(graded) - len(reports):
        parts.append(f"{unread} could not be read")
    yield f"{len(graded)} answer{'' if len(graded) == 1 else 's'}: {', '.join(parts)}"
    mistakes = Counter(one.findings[s].id for one, s in wrong.items() if s in one.findings)
    steps = Counter(wrong.values())
    for name, counted in (("commonest mistakes", mistakes), ("first wrong step", steps)):
        if counted:
            told = ", ".join(f"{count} × {what}" for what, count in counted.most_common(5))
            yield f"{name}: {told}"
