"""Reports as JSON, for programs: what was judged, cell by cell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import isinf, isnan
from typing import Any

from attncli.checking.check import Graded
from attncli.checking.judging import judged_steps
from attncli.checking.judging.judged_steps import Compared, Difference, Finding, Given, Judged
from attncli.core.tape.cell_names import cell_name
from attncli.core.text.numbers import every_digit
from attncli.printing import verdicts
from attncli.printing.class_report import UNREADABLE
from attncli.printing.record import json_lines
from attncli.printing.report import label_at, some_places
from attncli.printing.selection import ReportSelection
from attncli.reading.document import Unread


def as_json(graded: Iterable[Graded], selection: ReportSelection) -> Iterator[bytes]:
    del selection
    return json_lines(map(report_record, graded))


def report_record(graded: Graded) -> dict[str, Any]:
    if isinstance(graded, Unread):
        named = {"name": graded.name, "problem": graded.title}
        return named | {"verdict": UNREADABLE, "message": str(graded.error)}
    marking = graded.marking
    points: dict[str, dict[str, float]] = {}  # of whole steps
    parts: dict[str, dict[str, float]] = {}  # by the names of cells
    for name, earned in graded.points.items():
        records, key = (parts, name) if graded.cells[name] else (points, graded.answers[name])
        records[key] = {"points": earned, "of": marking.points[name]}
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
    steps = {
        name: _step_record(judged, graded.findings.get(name)) | points.get(name, {})
        for name, judged in graded.steps.items()
    }
    convention = graded.convention
    other = None if convention is None else {"id": convention.id, "message": convention.message}
    record["counts"] = graded.counts
    return record | {"dtype": graded.dtype or None, "convention": other, "steps": steps}


def _step_record(judged: Judged, finding: Finding | None) -> dict[str, Any]:
    written = None
    if isinstance(judged, judged_steps.Misshapen):
        written = judged.mismatch.texts.tolist()
    elif isinstance(judged, Given):
        written = judged.texts.tolist()
    record = {
        "status": judged.status,
        "mistake": None if finding is None else _finding_record(finding),
        "cells": [*_cell_records(judged)] if isinstance(judged, Given | Difference) else [],
        "given": written,
        "counts": judged.counts,
    }
    if isinstance(judged, Compared) and judged.rounding:
        record["rounding"] = judged.rounding
    if isinstance(judged, Difference):
        record["max_difference"] = _json_number(judged.largest)
        record["at"] = None if judged.farthest is None else cell_name(judged.step, judged.farthest)
        record["errors"] = _json_number(judged.errors)
        record["nan"] = judged.nan_count
    return record


def _finding_record(finding: Finding) -> dict[str, Any]:
    record: dict[str, Any] = {name: getattr(finding, name) for name in ("id", "message", "advice")}
    also, together = (
        [{"id": other.id, "message": other.message} for other in others]
        for others in (finding.also, finding.together)
    )
    more = {"worked": list(finding.worked), "also": also, "together": together}
    return record | {name: texts for name, texts in more.items() if texts}


def _cell_records(judged: Given | Difference) -> Iterator[dict[str, Any]]:
    step = judged.step
    texts = judged.values if isinstance(judged, Difference) else judged.texts
    codes, right = step.on_paper(judged.codes), step.value
    yours = step.on_paper(judged.yours) if isinstance(judged, Compared) else None
    no_numbers = verdicts.unreadable_cells(judged) if isinstance(judged, Given) else {}
    others = step.axes[len(step.leading) : -2]
    queries = ["query"] if len(others) == 1 else others  # of an unknown calculation many
    names = [*step.leading, *queries, "row", "col"][-right.ndim :]
    places = verdicts.places if isinstance(judged, Given) else some_places
    for at in places(codes != judged_steps.CORRECT):
        last = zip(step.axes[-2:], at[-2:], strict=True)
        yield {
            **dict(zip(names, at, strict=True)),
            "label": [label_at(step, axis, i) for axis, i in last],
            "given": str(texts[at]),
            "expected": _json_number(float(right[at])),
            "expected_from_yours": None if yours is None else _json_number(float(yours[at])),
            "status": judged_steps.STATUSES[codes[at]],
            **({"message": no_numbers[at]} if at in no_numbers else {}),
        }


def _json_number(value: float) -> float | str | None:
    if isnan(value):
        return None
    return every_digit(value) if isinf(value) else value
