"""Reports for programs and teachers: JSON, the grade book's CSV, Markdown, a line a student."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from attncli.checking.check import Report
from attncli.checking.judged import (
    CORRECT,
    LAST_DIGIT,
    STATUSES,
    WRONG,
    Compared,
    Finding,
    Given,
    Judged,
    Misshapen,
)
from attncli.files.grading import Graded, Unread
from attncli.records import Record
from attncli.rendering.blocks import Line
from attncli.rendering.formats import plain_text
from attncli.rendering.record import Selection
from attncli.rendering.report import (
    ReportTable,
    last_digits,
    unexplained,
    verdict,
    written_texts,
)
from attncli.tape.cells import cell_name
from attncli.text.escapes import visible
from attncli.text.numbers import DEFAULT_DECIMALS, every_digit, style_of
from attncli.text.widths import cell_width

UNREADABLE = "unreadable"


class CheckFormat(Record):
    """One row of the table: how reports are written, and which file names mean it."""

    write: Callable[[Sequence[Graded], Selection], str]
    suffixes: tuple[str, ...]


def as_table(graded: Sequence[Graded], selection: Selection) -> str:
    """As on a terminal of any width."""
    texts = ["\n".join(map(plain_text, page)) for page in pages(graded, selection, None)]
    return "\n\n".join(texts) + "\n"


def pages(
    graded: Sequence[Graded], selection: Selection, width: int | None
) -> Iterator[Iterator[Line]]:
    """Yield the pages of a terminal: a report for one student, a line each for several."""
    if selection.quiet:
        yield (_verdict_line(one, len(graded) > 1) for one in graded)
    elif len(graded) > 1:
        yield grade_lines(graded)
    else:
        decimals = DEFAULT_DECIMALS if selection.decimals is None else selection.decimals
        table = ReportTable(decimals, selection.full, width)
        for one in graded:
            if isinstance(one, Report):
                yield table.lines(one)


def as_json(graded: Sequence[Graded], selection: Selection) -> str:
    """One object a student, one a line."""
    del selection
    return "".join(
        json.dumps(report_record(one), ensure_ascii=False, allow_nan=False) + "\n" for one in graded
    )


def report_record(graded: Graded) -> dict[str, Any]:
    """Return a report as a plain mapping."""
    if isinstance(graded, Unread):
        return {"name": graded.name, "verdict": UNREADABLE, "message": str(graded.error)}
    return {
        "name": graded.name,
        "verdict": graded.verdict,
        "strict": graded.strict,
        "first_wrong_step": graded.first_wrong_step,
        "counts": graded.counts,
        "steps": {
            name: _step_record(judged, graded.findings.get(name))
            for name, judged in graded.steps.items()
        },
    }


def _step_record(judged: Judged, finding: Finding | None) -> dict[str, Any]:
    given = None
    if isinstance(judged, Misshapen):
        given = judged.mismatch.texts.tolist()
    elif isinstance(judged, Given):
        given = written_texts(judged).tolist()
    return {
        "status": judged.status,
        "mistake": None if finding is None else _finding_record(finding),
        "cells": list(_cell_records(judged)) if isinstance(judged, Given) else [],
        "given": given,
        "counts": judged.counts,
    }


def _finding_record(finding: Finding) -> dict[str, Any]:
    record: dict[str, Any] = {
        "id": finding.id,
        "message": finding.message,
        "advice": finding.advice,
    }
    if finding.also:
        record["also"] = [{"id": other.id, "message": other.message} for other in finding.also]
    return record


def _cell_records(judged: Given) -> Iterator[dict[str, Any]]:
    """Yield the cells that are not correct, by their place on paper, from 0."""
    step = judged.step
    codes, texts, right = step.on_paper(judged.codes), written_texts(judged), step.value
    yours = step.on_paper(judged.yours) if isinstance(judged, Compared) else None
    for place in np.argwhere(codes != CORRECT):
        at = tuple(int(i) for i in place)
        names = [*step.leading, *("query",) * (len(at) - len(step.leading) - 2), "row", "col"]
        labels = [step.labels.get(axis, ()) for axis in step.axes]
        words = [
            known[i] if i < len(known) else str(i + 1)
            for known, i in zip(labels[-2:], at[-2:], strict=True)
        ]
        yield {
            **dict(zip(names[-len(at) :], at, strict=True)),
            "label": words,
            "given": str(texts[at]),
            "expected": _json_number(float(right[at])),
            "expected_from_yours": None if yours is None else _json_number(float(yours[at])),
            "status": STATUSES[codes[at]],
        }


def _json_number(value: float) -> float | str | None:
    if np.isnan(value):
        return None
    return every_digit(value) if np.isinf(value) else value


COLUMNS = ("name", "verdict", "first_wrong_step", "mistake", "message", *STATUSES)


def as_csv(graded: Sequence[Graded], selection: Selection) -> str:
    """The grade book: a line a student."""
    del selection
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(COLUMNS)
    for one in graded:
        writer.writerow(map(_as_text, grade(one)))
    return buffer.getvalue()


def grade(graded: Graded) -> list[str]:
    """Return a student's line: one word or number for each of `COLUMNS`."""
    if isinstance(graded, Unread):
        message = str(graded.error).partition("\n")[0]
        return [graded.name, UNREADABLE, "", "", message, *[""] * len(STATUSES)]
    first = graded.first_wrong_step or ""
    finding = graded.findings.get(first)
    counts = [str(count) for count in graded.counts.values()]
    words = (finding.id, finding.message) if finding else ("", "")
    return [graded.name, graded.verdict, first, *words, *counts]


def _as_text(cell: str) -> str:
    """Return a cell that a spreadsheet takes for text: a student may be called =1+1."""
    shown = visible(cell)
    return f"'{shown}" if shown.startswith(("=", "+", "-", "@")) else shown


def as_markdown(graded: Sequence[Graded], selection: Selection) -> str:
    """A report with a table a wrong step, or a table with a line a student."""
    if len(graded) == 1 and isinstance(graded[0], Report):
        return "\n".join(_markdown_report(graded[0], selection.decimals)) + "\n"
    lines = ["| student | verdict | first wrong step | mistake |", "|---|---|---|---|"]
    for one in graded:
        name, said, first, id_, message, *_ = map(visible, grade(one))
        told = f"{message} (`{id_}`)" if id_ else message
        lines.append(f"| {' | '.join(_escaped(part) for part in (name, said, first))} | {told} |")
    lines += ["", *(f"- {text}" for text in summary(graded))]
    return "\n".join(lines) + "\n"


def _markdown_report(report: Report, decimals: int | None) -> Iterator[str]:
    yield f"# {_escaped(visible(report.name))}"
    yield ""
    yield f"**{verdict(report)}**"
    for name, judged in report.steps.items():
        status = judged.status
        if status == "missing":
            continue
        wrong = report.is_wrong(judged)
        sign = "✗" if wrong else {"last_digit": "≈", "follows": "→"}.get(status, "✓")
        yield ""
        yield f"## {sign} {_escaped(name)}"
        finding = report.findings.get(name)
        if finding is not None:
            yield ""
            yield f"{_escaped(visible(finding.message))} {finding.advice} (`{finding.id}`)"
        elif judged.has(WRONG):
            yield ""
            yield unexplained(judged)
        if isinstance(judged, Given) and judged.has(WRONG):
            yield ""
            yield from _markdown_cells(judged, decimals)
        if isinstance(judged, Given) and judged.has(LAST_DIGIT):
            yield ""
            first, *cells = last_digits(judged)
            yield _escaped(first)
            yield ""
            yield from (f"- {_escaped(text)}" for text in cells)


def _markdown_cells(judged: Given, decimals: int | None) -> Iterator[str]:
    step = judged.step
    codes, texts, right = step.on_paper(judged.codes), written_texts(judged), step.value
    yield "| cell | yours | right |"
    yield "|---|---:|---:|"
    write = style_of(right, DEFAULT_DECIMALS if decimals is None else decimals)
    for place in np.argwhere(codes == WRONG):
        at = tuple(int(i) for i in place)
        cells = (cell_name(step, at), f"{texts[at]} ✗", write(float(right[at])))
        yield f"| {' | '.join(_escaped(visible(cell)) for cell in cells)} |"


def _escaped(text: str) -> str:
    """Return text that Markdown shows as it is."""
    for sign in "\\`*_{}[]<>#|$~":
        text = text.replace(sign, "&lt;" if sign == "<" else f"\\{sign}")
    return text


def as_html(graded: Sequence[Graded], selection: Selection) -> str:
    """The page of the problem, with what a student wrote under each step."""
    from attncli.rendering.documents.answers import html

    return html(graded, selection)


FORMATS: dict[str, CheckFormat] = {
    "table": CheckFormat(as_table, (".txt",)),
    "json": CheckFormat(as_json, (".json", ".jsonl")),
    "csv": CheckFormat(as_csv, (".csv",)),
    "markdown": CheckFormat(as_markdown, (".md",)),
    "html": CheckFormat(as_html, (".html", ".htm")),
}
"""How reports are written."""


def grade_lines(graded: Sequence[Graded]) -> Iterator[Line]:
    """Yield a line a student, then the summary."""
    width = max(cell_width(visible(one.name)) for one in graded)
    for one in graded:
        name = visible(one.name)
        padded = name + " " * (width - cell_width(name))
        if isinstance(one, Unread):
            yield [("? ", "near"), (padded, ""), ("  could not be read", "near")]
            continue
        if one.verdict == "correct":
            yield [("✓ ", "right"), (padded, ""), (f"  {verdict(one)}", "")]
            continue
        finding = one.findings.get(one.first_wrong_step or "")
        line: Line = [("✗ ", "wrong"), (padded, ""), (f"  {verdict(one)}", "wrong")]
        if finding is not None:
            line.append((f"  {visible(finding.message)}", ""))
        yield line
    yield []
    for text in summary(graded):
        yield [(text, "")]


def _verdict_line(graded: Graded, several: bool) -> Line:
    """Return only what is said of a student, after the name where there are several."""
    said = "could not be read" if isinstance(graded, Unread) else verdict(graded)
    return [(f"{visible(graded.name)}: {said}" if several else said, "")]


def summary(graded: Sequence[Graded]) -> Iterator[str]:
    """Yield how many were right, and the commonest mistakes."""
    reports = [one for one in graded if isinstance(one, Report)]
    wrong = [report for report in reports if report.verdict == "wrong"]
    unread = len(graded) - len(reports)
    parts = [f"{len(reports) - len(wrong)} correct", f"{len(wrong)} wrong"]
    if unread:
        parts.append(f"{unread} could not be read")
    yield f"{len(graded)} answers: {', '.join(parts)}"
    ids = [report.findings.get(report.first_wrong_step or "") for report in wrong]
    common = Counter(finding.id for finding in ids if finding is not None)
    if common:
        told = ", ".join(f"{count} × {id_}" for id_, count in common.most_common(5))
        yield f"commonest mistakes: {told}"
    steps = Counter(report.first_wrong_step for report in wrong)
    if steps:
        told = ", ".join(f"{count} × {name}" for name, count in steps.most_common(5))
        yield f"first wrong step: {told}"
