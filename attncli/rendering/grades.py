"""Reports for programs and teachers: JSON, and a grade book with a line per student and problem."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import isinf, isnan
from typing import Any

from attncli.checking.judged import CORRECT, STATUSES, Compared, Finding, Given, Judged, Misshapen
from attncli.files.grading import Graded, Unread
from attncli.rendering.csv import TAB, csv_text
from attncli.rendering.record import json_lines
from attncli.rendering.remarks import places, unreadable, written_texts
from attncli.rendering.report import label_at
from attncli.rendering.selection import ReportSelection
from attncli.rendering.verdicts import short, why
from attncli.text.escapes import as_cell, lines_of
from attncli.text.numbers import every_digit

UNREADABLE = "unreadable"

COLUMNS = ("name", "problem", "verdict", "first_wrong_step", "mistake", "message", *STATUSES)
POINT_COLUMNS = ("points", "of")
SAID_COLUMNS = ("said", "comment")


def as_json(graded: Iterable[Graded], selection: ReportSelection) -> Iterator[bytes]:
    """Yield one object per student and problem, one a line."""
    del selection
    return json_lines(map(report_record, graded))


def as_tsv(graded: Iterable[Graded], selection: ReportSelection) -> Iterator[bytes]:
    """Yield the grade book with tabs between the cells, none of which holds a tab."""
    return as_csv(graded, selection, TAB)


def as_csv(
    graded: Iterable[Graded], selection: ReportSelection, delimiter: str = ","
) -> Iterator[bytes]:
    """Yield the grade book, with points where there are any."""
    steps = [f"points_{name}" for name in selection.points]
    yield csv_text(
        [[*COLUMNS, *steps, *(POINT_COLUMNS if steps else ()), *SAID_COLUMNS]], delimiter
    ).encode()
    for one in graded:
        row = [*grade(one), *_points(one, selection.points)]
        row += (
            ["", ""]
            if isinstance(one, Unread)
            else [" ".join(one.said), " ".join(lines_of(one.comment))]
        )
        yield csv_text([map(as_cell, row)], delimiter).encode()


def _points(graded: Graded, steps: Sequence[str]) -> list[str]:
    """Return the points of each step, of all together, and how many there might be."""
    if not steps:
        return []
    if isinstance(graded, Unread) or not graded.marking.points:
        return [""] * (len(steps) + len(POINT_COLUMNS))
    earned = graded.points
    by_step = [short(earned[name]) if name in earned else "" for name in steps]
    return [*by_step, short(graded.total), short(graded.marking.possible)]


def grade(graded: Graded) -> list[str]:
    """Return one word or number for each of `COLUMNS`."""
    if isinstance(graded, Unread):
        message = str(graded.error).partition("\n")[0]
        return [graded.name, graded.title, UNREADABLE, "", "", message, *[""] * len(STATUSES)]
    first = graded.first_wrong_step or ""
    finding = graded.findings.get(first)
    words = (finding.id, finding.message) if finding else ("", why(graded))
    counts = map(str, graded.counts.values())
    return [graded.name, graded.title, graded.verdict, first, *words, *counts]


def report_record(graded: Graded) -> dict[str, Any]:
    if isinstance(graded, Unread):
        named = {"name": graded.name, "problem": graded.title}
        return named | {"verdict": UNREADABLE, "message": str(graded.error)}
    marking = graded.marking
    points: dict[str, dict[str, float]] = {}  # of whole steps
    parts: dict[str, dict[str, float]] = {}  # by the names of cells
    for name, earned in graded.points.items():
        found, key = (parts, name) if graded.cells[name] else (points, graded.answers[name])
        found[key] = {"points": earned, "of": marking.points[name]}
    record: dict[str, Any] = {
        "name": graded.name,
        "problem": graded.title,
        "verdict": graded.verdict,
        "strict": graded.strict,
        "first_wrong_step": graded.first_wrong_step,
        "said": list(graded.said),
        "comment": graded.comment,
        "skipped": [{"key": key, "hint": hint} for key, hint in graded.skipped],
    }
    if marking.points:
        record |= {"points": graded.total, "of": marking.possible}
    if marking.ask:
        record["asked"] = list(marking.ask)
    if marking.expected:
        record["not_given"] = graded.not_given
    if parts:
        record["parts"] = parts
    record["counts"] = graded.counts
    record["steps"] = {
        name: _step_record(judged, graded.findings.get(name)) | points.get(name, {})
        for name, judged in graded.steps.items()
    }
    return record


def _step_record(judged: Judged, finding: Finding | None) -> dict[str, Any]:
    given = None
    if isinstance(judged, Misshapen):
        given = judged.mismatch.texts.tolist()
    elif isinstance(judged, Given):
        given = written_texts(judged).tolist()
    rounding = judged.rounding if isinstance(judged, Compared) else ""
    return {
        "status": judged.status,
        "mistake": None if finding is None else _finding_record(finding),
        "cells": list(_cell_records(judged)) if isinstance(judged, Given) else [],
        "given": given,
        "counts": judged.counts,
        **({"rounding": rounding} if rounding else {}),
    }


def _finding_record(finding: Finding) -> dict[str, Any]:
    record: dict[str, Any] = {name: getattr(finding, name) for name in ("id", "message", "advice")}
    if finding.worked:
        record["worked"] = list(finding.worked)
    if finding.also:
        record["also"] = [{"id": other.id, "message": other.message} for other in finding.also]
    return record


def _cell_records(judged: Given) -> Iterator[dict[str, Any]]:
    """Yield the cells that are not correct, by their place on paper, from 0."""
    step = judged.step
    codes, texts, right = step.on_paper(judged.codes), written_texts(judged), step.value
    yours = step.on_paper(judged.yours) if isinstance(judged, Compared) else None
    no_numbers = unreadable(judged)
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
            **({"message": no_numbers[at]} if at in no_numbers else {}),
        }


def _json_number(value: float) -> float | str | None:
    if isnan(value):
        return None
    return every_digit(value) if isinf(value) else value
