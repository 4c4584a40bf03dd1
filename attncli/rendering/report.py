"""The page of a report: what is said of each step that a student gave, and in which order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.checking.check import Report
from attncli.checking.findings import Finding
from attncli.checking.judged import (
    CORRECT,
    LAST_DIGIT,
    MISSING,
    ROUNDED_EARLY,
    WRONG,
    Compared,
    Given,
    Judged,
)
from attncli.records import Record, replace
from attncli.rendering.layout import Span
from attncli.rendering.matrix import Matrix
from attncli.rendering.remarks import early_words, last_digits, places, unexplained, written_texts
from attncli.rendering.selection import Selection
from attncli.rendering.verdicts import cells_of, points_by_step, skipped, verdict
from attncli.rendering.views import axis_labels
from attncli.tape.cells import cell_name, told_apart
from attncli.tape.step import Step
from attncli.text.escapes import label_text, lines_of, visible
from attncli.text.numbers import style_of

MARKS = {
    LAST_DIGIT: ("≈", "near"),
    ROUNDED_EARLY: ("≈", "near"),
    WRONG: ("✗", "wrong"),
    MISSING: (" ", "faint"),
}
"""The sign and the style of a written number that is not right."""

SIGNS = {"last_digit": "≈", "rounded_early": "≈", "follows": "→"}
VERDICTS = {"correct": "✓", "incomplete": "…", "wrong": "✗", "empty": "–"}


class Comparison(Record):
    """One of a step's matrices that has a number which is not right.

    Attributes:
        words: which head or batch it is, or nothing.
        yours: what the student wrote, with a mark at each number that is not right.
        others: what the student's earlier numbers give, where that differs; the right numbers.
        is_wrong: whether a number is wrong, rather than carried on, or rounded otherwise.
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
        report: what was found in all steps.
        judged: the step and the status of its cells.
        sign: ✗ for a wrong step, ≈ for one that is right but for a rounding, → for one that
            follows, or ✓.
        aside: that a wrong step does not count, or nothing.
        follows: from what the numbers follow: slips, or only rounding.
        finding: the mistake, where one is known.
        unexplained: the sentences for wrong numbers that no known mistake explains.
        early: with what rounding numbers are right, or that it is what is wrong; or nothing.
        last_digits: sentences on the numbers that are off in their last digit.
    """

    report: Report
    judged: Judged
    sign: str
    aside: str
    follows: str
    comparisons: tuple[Comparison, ...]
    cells: tuple[WrongCell, ...]
    finding: Finding | None
    unexplained: tuple[str, ...]
    early: str
    last_digits: tuple[str, ...]


class ReportPage(Record):
    """What is shown of the report on a student, `name`, who worked the problem `title`.

    Attributes:
        verdict: the one line that says it all, to stand after the sign, of `VERDICTS`.
        points: what the steps earn, or nothing.
        comment: the lines of what the student said.
        said: a sentence for each thing that was done otherwise, and right.
        remarks: by the name of the step, for each that has a number.
        missing: sentences on the cells and the steps that were left out, and on skipped keys.
    """

    name: str
    title: str
    sign: str
    verdict: str
    points: str
    comment: tuple[str, ...]
    said: tuple[str, ...]
    remarks: Mapping[str, Remark]
    missing: tuple[str, ...]


def report_page(report: Report, selection: Selection) -> ReportPage:
    """Return what of a report is shown."""
    given = [judged for judged in report.steps.values() if judged.status != "missing"]
    return ReportPage(
        visible(report.name),
        visible(report.title),
        VERDICTS[report.verdict],
        verdict(report),
        points_by_step(report),
        comment_lines(report),
        report.said,
        {judged.step.name: _remark(report, judged, selection) for judged in given},
        tuple(_missing(report)),
    )


def comment_lines(report: Report) -> tuple[str, ...]:
    """Return the lines of what the student said, safe to show."""
    return tuple(visible(line) for line in lines_of(report.comment) if line.strip())


def _remark(report: Report, judged: Judged, selection: Selection) -> Remark:
    finding = report.findings.get(judged.step.name)
    names = list(report.steps)
    is_after = report.first_wrong_step in names[: names.index(judged.step.name)]
    counts = judged.step.name in report.wrong_steps
    # Beside what went wrong in a step its last digits are nothing to speak of.
    tells_digits = judged.has(LAST_DIGIT) and not (finding and judged.has(WRONG))
    return Remark(
        report,
        judged,
        "✗" if report.is_wrong(judged) else SIGNS.get(judged.status, "✓"),
        "not asked" if report.is_wrong(judged) and not counts else "",
        "your numbers" if is_after else "your rounded numbers",
        tuple(_comparisons(judged, selection, report.strict)),
        tuple(_wrong_cells(judged, selection.digits)) if isinstance(judged, Given) else (),
        finding,
        tuple(unexplained(report, judged)),
        # What a mistake gives is not praised for its rounding.
        early_words(judged, report.strict)
        if isinstance(judged, Compared) and not (finding and finding.gives_all)
        else "",
        tuple(last_digits(judged)) if tells_digits and isinstance(judged, Given) else (),
    )


def _comparisons(judged: Judged, selection: Selection, strict: bool) -> Iterator[Comparison]:
    """Yield the student's matrix and the right one for each head or batch."""
    if not isinstance(judged, Compared):
        return
    step, digits = judged.step, selection.digits
    rows, columns = map(told_apart, axis_labels(step))
    like = Matrix(np.zeros((0, 0)), "", rows, columns, selection.full)
    codes, texts, right = step.on_paper(judged.codes), written_texts(judged), step.value
    from_yours = step.on_paper(judged.yours)
    differs = step.on_paper(_differs(judged, judged.step.array, digits))
    goes_on = step.on_paper(_differs(judged, judged.written.values, digits))
    for place in np.ndindex(codes.shape[:-2]):
        part = codes[place]
        if np.isin(part, (CORRECT, MISSING)).all():
            continue
        # A matrix that looks like another one when it is written need not be shown.
        kept = part == WRONG if (part == WRONG).any() else part != MISSING
        shown = {"right": right}
        if (differs[place] & kept).any() and (goes_on[place] & (part != MISSING)).any():
            shown = {"from your numbers": from_yours, "right": right}
        others = (
            replace(like, name=name, values=np.atleast_2d(v[place]), write=style_of(v, digits))
            for name, v in shown.items()
        )
        marked = _marked(np.atleast_2d(texts[place]), np.atleast_2d(part))
        yours = replace(like, name="yours", values=np.zeros_like(np.atleast_2d(part)), cells=marked)
        words = _slice_words(step, place)
        is_wrong = (part == WRONG) | ((part == ROUNDED_EARLY) & strict)
        yield Comparison(words, yours, tuple(others), bool(is_wrong.any()))


def _differs(judged: Compared, numbers: Array, digits: int) -> Array:
    """Return where what follows from the student's numbers looks unlike others when written."""
    unit = np.maximum(judged.unit, 10.0**-digits)
    with np.errstate(invalid="ignore", over="ignore"):  # −∞ / unit, 1e308 / unit
        yours, others = (np.round(x / unit) for x in (judged.yours, numbers))
    found: Array = yours != others
    return found


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


def _wrong_cells(judged: Given, decimals: int) -> Iterator[WrongCell]:
    step = judged.step
    texts, right = written_texts(judged), step.value
    write = style_of(right, decimals)
    for at in places(step.on_paper(judged.codes) == WRONG):
        yield WrongCell(cell_name(step, at), str(texts[at]), write(float(right[at])))


def _missing(report: Report) -> Iterator[str]:
    """Yield how many cells were left out of the steps that were given, and which steps were."""
    given = [judged for judged in report.steps.values() if isinstance(judged, Given)]
    counts = {one.step.name: (one.counts["missing"], one.codes.size) for one in given}
    cells = [cells_of(name, *count) for name, count in counts.items() if count[0]]
    if cells:
        yield f"_ left out: {', '.join(cells)}"
    if report.not_given:
        yield f"not given: {', '.join(report.not_given)}"
    if report.skipped:
        yield skipped(report.skipped)
