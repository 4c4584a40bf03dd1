"""The page of a problem with a student's numbers under each step, the wrong ones marked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from attncli.checking.check import Report
from attncli.checking.judged import CORRECT, LAST_DIGIT, MISSING, WRONG, Given, Judged
from attncli.files.grading import Graded, Unread
from attncli.rendering.documents.html import Remarks
from attncli.rendering.documents.html import html as page_of
from attncli.rendering.documents.markup import Mark, matrix_table, page, text
from attncli.rendering.record import Selection
from attncli.rendering.report import (
    following_words,
    last_digits,
    marked_matrix,
    slice_words,
    unexplained,
    verdict,
    written_texts,
)
from attncli.tape.step import Step

CLASSES = {WRONG: ("wrong",), LAST_DIGIT: ("near",)}


def html(graded: Sequence[Graded], selection: Selection) -> str:
    """Return one page: the calculation with a student's answers, for each student in turn."""
    reports = [one for one in graded if isinstance(one, Report)]
    unread = "".join(_unread(one) for one in graded if isinstance(one, Unread))
    if not reports:
        return page("Answers", unread, {})
    remarks = [
        Remarks(_lead(report) + (unread if index == 0 else ""), _after(report, selection.full))
        for index, report in enumerate(reports)
    ]
    return page_of([report.trace for report in reports], selection, remarks)


def _unread(one: Unread) -> str:
    first = str(one.error).partition("\n")[0]
    return f'<p class="verdict">? {text(one.name)}: {text(first)}</p>\n'


def _lead(report: Report) -> str:
    sign = "✓" if report.verdict == "correct" else "✗"
    return (
        f'<p class="verdict" dir="auto">{sign} {text(report.name)}: {text(verdict(report))}</p>\n'
    )


def _after(report: Report, full: bool) -> Callable[[Step], str]:
    def after(step: Step) -> str:
        judged = report.steps[step.name]
        return "".join(_remark(report, judged, full))

    return after


def _remark(report: Report, judged: Judged, full: bool) -> Iterator[str]:
    """Yield what is said of a step that the student gave."""
    status = judged.status
    if status == "missing":
        return
    wrong = report.is_wrong(judged)
    kind = "wrong" if wrong else "near" if status == "last_digit" else "right"
    yield f'<div class="remark {kind}">'
    if status == "correct":
        yield "<p>✓ your numbers are right</p>"
    elif status == "follows":
        before = following_words(report, judged.step.name)
        yield f"<p>→ not the right numbers, but worked out correctly from {before}</p>"
    if isinstance(judged, Given) and status != "correct":
        yield from _matrices(judged, full)
    finding = report.findings.get(judged.step.name)
    if finding is not None:
        yield f"<p>✗ <b>{text(finding.message)}</b> {text(finding.advice)}</p>"
        if finding.also:
            others = "; or ".join(other.message.rstrip(".") for other in finding.also)
            yield f"<p>These numbers cannot tell it from: {text(others)}.</p>"
    elif judged.has(WRONG):
        yield f"<p>✗ {text(unexplained(judged))}</p>"
    if isinstance(judged, Given) and judged.has(LAST_DIGIT):
        yield from (f"<p>≈ {text(line)}</p>" for line in last_digits(judged))
    yield "</div>\n"


def _matrices(judged: Given, full: bool) -> Iterator[str]:
    """Yield the student's matrix for each head or batch that has a number that is not right."""
    step = judged.step
    codes, texts = step.on_paper(judged.codes), written_texts(judged)
    shape = (1, *codes.shape) if codes.ndim == 1 else codes.shape
    codes, texts = codes.reshape(shape), texts.reshape(shape)
    for place in np.ndindex(shape[:-2]):
        part = codes[place]
        if np.isin(part, (CORRECT, MISSING)).all():
            continue
        words = slice_words(step, place)
        caption = f"yours, {text(words)}" if words else "yours"
        matrix = marked_matrix(step, texts[place], part)
        table = matrix_table(
            matrix,
            caption,
            full,
            lambda r, c, part=part: Mark(classes=CLASSES.get(int(part[r, c]), ())),  # type: ignore[misc]
        )
        yield f'<div class="figure"><div class="part">{table}</div></div>'
