"""Reports for programs and teachers: JSON, and the grade book's CSV with a line a student."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from attncli.checking.judged import CORRECT, STATUSES, Compared, Finding, Given, Judged, Misshapen
from attncli.files.grading import Graded, Unread
from attncli.rendering.csv import csv_text
from attncli.rendering.record import json_lines
from attncli.rendering.report import label_at, places, written_texts
from attncli.rendering.selection import Selection
from attncli.text.escapes import visible
from attncli.text.numbers import every_digit

UNREADABLE = "unreadable"

COLUMNS = ("name", "verdict", "first_wrong_step", "mistake", "message", *STATUSES)


def as_json(graded: Sequence[Graded], selection: Selection) -> bytes:
    """Return one object a student, one a line."""
    del selection
    return json_lines(map(report_record, graded))


def as_csv(graded: Sequence[Graded], selection: Selection) -> bytes:
    """Return the grade book: a line a student."""
    del selection
    return csv_text([COLUMNS, *(map(_as_text, grade(one)) for one in graded)]).encode()


def grade(graded: Graded) -> list[str]:
    """Return a student's line: one word or number for each of `COLUMNS`."""
    if isinstance(graded, Unread):
        message = str(graded.error).partition("\n")[0]
        return [graded.name, UNREADABLE, "", "", message, *[""] * len(STATUSES)]
    first = graded.first_wrong_step or ""
    finding = graded.findings.get(first)
    words = (finding.id, finding.message) if finding else ("", "")
    return [graded.name, graded.verdict, first, *words, *map(str, graded.counts.values())]


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
    also = [{"id": other.id, "message": other.message} for other in finding.also]
    record = {"id": finding.id, "message": finding.message, "advice": finding.advice}
    worked = {"worked": list(finding.worked)} if finding.worked else {}
    return {**record, **worked, **({"also": also} if also else {})}


def _cell_records(judged: Given) -> Iterator[dict[str, Any]]:
    """Yield the cells that are not correct, by their place on paper, from 0."""
    step = judged.step
    codes, texts, right = step.on_paper(judged.codes), written_texts(judged), step.value
    yours = step.on_paper(judged.yours) if isinstance(judged, Compared) else None
    queries = ["query"] * (right.ndim - len(step.leading) - 2)
    names = [*step.leading, *queries, "row", "col"][-right.ndim :]
    for at in places(codes != CORRECT):
        last = zip(step.axes[-2:], at[-2:], strict=True)
        yield {
            **dict(zip(names, at, strict=True)),
            "label": [label_at(step, axis, i) for axis, i in last],
            "given": str(texts[at]),
            "expected": _json_number(float(right[at])),
            "expected_from_yours": None if yours is None else _json_number(float(yours[at])),
            "status": STATUSES[codes[at]],
        }


def _json_number(value: float) -> float | str | None:
    if np.isnan(value):
        return None
    return every_digit(value) if np.isinf(value) else value


def _as_text(cell: str) -> str:
    """Return a cell that a spreadsheet takes for text: a student may be called =1+1."""
    shown = visible(cell)
    return f"'{shown}" if shown.startswith(("=", "+", "-", "@")) else shown
