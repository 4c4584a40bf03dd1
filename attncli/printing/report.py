"""The page of a report: each step that a student gave, in order; and a report as JSON.

Writers print the page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isinf, isnan
from typing import Any

import numpy as np

from attncli.checking.check import Graded, Report
from attncli.checking.judging import judged_steps
from attncli.checking.judging.judged_steps import Compared, Difference, Finding, Given, Judged
from attncli.core.arithmetic.elements import Array
from attncli.core.records import Record, replace
from attncli.core.tape.cell_names import cell_name, told_apart
from attncli.core.tape.step import Step
from attncli.core.text.numbers import every_digit, style_of
from attncli.core.text.strings import count_of, kept, label_text, visible
from attncli.printing import verdicts
from attncli.printing.blocks import Matrix, axis_labels
from attncli.printing.class_report import UNREADABLE
from attncli.printing.selection import ReportSelection
from attncli.reading.document import Unread

MARK_OF_CELL = {
    judged_steps.LAST_DIGIT: ("≈", "near"),
    judged_steps.ROUNDED_EARLY: ("≈", "near"),
    judged_steps.WRONG: ("✗", "wrong"),
    judged_steps.MISSING: (" ", "faint"),
}
"""The mark after a written number that is not right, and its style, by the number's status."""

MOST_OF_ARRAY = 5
"""Maximum number of wrong cells of an array from a program that are shown. Chosen."""

MOST_ARRAYS, ARRAYS_BEFORE = 12, 4
"""Maximum number of arrays of a program that are shown, and of those before a wrong one. Chosen."""

SIGN_OF_STATUS = {"last_digit": "≈", "rounded_early": "≈", "follows": "→"}
"""The sign of a step by its status: ✓ for a right one, and ✗ for a wrong one."""


class Comparison(Record):
    """A student's matrix with a number that is not right, beside the matrices it should equal."""

    words: str  # which head or batch it is, or ""
    yours: Matrix  # what the student wrote, with a mark at each number that is not right
    others: tuple[Matrix, ...]  # what follows from the student's, if it differs; the right one
    is_wrong: bool  # whether a number is wrong, and not only carried forward or rounded early


class WrongCell(Record):
    """A wrong number: its cell, what was written, and the right number."""

    name: str
    given: str
    right: str


Sentence = tuple[str, str, str]
"""The sign before a sentence on a step, the sentence, and advice; "" for those there are not."""


class Remark(Record):
    """The part of a report on a step that the student gave; a text is "" where there is none."""

    step: Step
    sign: str  # ✗ wrong, ≈ right but for rounding, → follows from earlier numbers, ✓ right
    status: str  # of the worst cell
    aside: str  # "not asked" for a wrong step that does not count; how far an array is off, where
    follows: str  # what the numbers follow from: "your numbers" or "your rounded numbers"
    comparisons: tuple[Comparison, ...]
    cells: tuple[WrongCell, ...]  # of an array from a program none, unless they are asked for
    finding: Finding | None  # the mistake, where one is known
    unexplained: tuple[str, ...]  # sentences on wrong numbers that no known mistake explains
    early: str  # a sentence on numbers that are right, or wrong if strict, by rounded early steps
    last_digits: tuple[str, ...]  # sentences on numbers that are off in their last digit

    @property
    def first_wrong(self) -> str:
        """The name of the first wrong cell; "" where none is, or the shape is wrong."""
        return self.cells[0].name if self.cells else ""

    @property
    def wrong_numbers(self) -> Iterator[str]:
        """Sentences on the first wrong cells, and how many others there are."""
        known = {x: f", should be {x.right}" if x.right else "" for x in self.cells}
        cells = [f"{x.name} is {label_text(x.given)}{right}" for x, right in known.items()]
        return verdicts.some_of(cells, "; --full shows all")

    @property
    def outcome(self) -> str:
        """Whether the numbers are right, or follow from earlier ones, with a sign; or ""."""
        return {
            "correct": "✓ your numbers are right",
            "follows": f"→ not the right numbers, but worked out correctly from {self.follows}",
        }.get(self.status, "")

    @property
    def sentences(self) -> Iterator[Sentence]:
        """Sentences on the step, for pages without its matrices."""
        if finding := self.finding:
            yield "✗", finding.message, finding.advice
            yield from (("", line, "") for line in finding.worked)
            yield from (("", said, "") for said in finding.others)
        yield from (("✗", line, "") for line in self.unexplained)
        if self.early:  # in a wrong step, ✗ belongs to other numbers
            yield "≈" if self.status == "wrong" else self.sign, self.early, ""
        yield from (("≈", line, "") for line in self.last_digits)


class ReportPage(Record):
    """The page of the report on a student; a text is "" where there is none."""

    name: str  # of the student
    title: str  # of the problem
    sign: str
    verdict: str  # the whole report in one line, which is written after its sign
    points: str
    comment: tuple[str, ...]  # the lines of what the student said
    said: tuple[str, ...]  # a sentence on each correct way of working that is not the problem's
    remarks: Mapping[str, Remark]  # by the name of the step, for each that has a number
    missing: tuple[str, ...]  # sentences on what was left out, and on skipped keys

    @property
    def summary(self) -> list[str]:
        """The lines below the verdict."""
        return [*filter(None, [self.points]), *self.said, *self.missing]


def report_page(report: Report, selection: ReportSelection, solution: bool = True) -> ReportPage:
    """Return the page of a report; without the solution, no number that reveals it."""
    every = [judged for judged in report.steps.values() if judged.status != "missing"]
    shown = _near_first_wrong(report, every) if report.dtype and not selection.full else every
    remarks = {one.step.name: _remark(report, one, selection, solution) for one in shown}
    hidden = [one for one in every if one.step.name not in remarks]
    wrong = sum(map(report.is_wrong, hidden))
    others = f"… and {count_of(len(hidden), 'array')} more, {wrong} of them wrong; --full shows all"
    return ReportPage(
        name=visible(report.name),
        title=visible(report.title),
        sign=verdicts.VERDICT_SIGNS[report.verdict],
        verdict=verdicts.verdict(report),
        points=verdicts.points_by_step(report),
        comment=verdicts.comment_lines(report),
        said=report.said,
        remarks=remarks,
        missing=(*verdicts.missing(report), *[others] * bool(hidden)),
    )


def _near_first_wrong(report: Report, every: Sequence[Judged]) -> Sequence[Judged]:
    """Return the arrays of a program that are shown: the first wrong one, and those around it."""
    names = [judged.step.name for judged in every]
    first = report.first_wrong_step
    start = max(names.index(first) - ARRAYS_BEFORE, 0) if first in names else 0
    return every[start : start + MOST_ARRAYS]


def sign_of(report: Report, judged: Judged) -> str:
    return "✗" if report.is_wrong(judged) else SIGN_OF_STATUS.get(judged.status, "✓")


def _remark(report: Report, judged: Judged, selection: ReportSelection, solution: bool) -> Remark:
    name, sign = judged.step.name, sign_of(report, judged)
    finding = report.findings.get(name)
    names = list(report.steps)
    is_after = report.first_wrong_step in names[: names.index(name)]
    early, near = "", list[str]()
    # Numbers that a mistake gives are not praised for their rounding.
    if isinstance(judged, Compared) and not (finding and finding.gives_all):
        early = verdicts.early_words(judged, report.strict)
    # Where a mistake is named, last digits do not matter.
    is_named = finding is not None and judged.has(judged_steps.WRONG)
    if isinstance(judged, Given) and judged.has(judged_steps.LAST_DIGIT) and not is_named:
        near += verdicts.last_digits(judged, solution)
    if finding and not solution:
        hint = finding.what if finding.hint is None else finding.hint
        finding = replace(finding, what=hint, worked=(), also=())
    return Remark(
        step=judged.step,
        sign=sign,
        status=judged.status,
        aside=_aside(report, judged, sign),
        follows="your numbers" if is_after else "your rounded numbers",
        comparisons=tuple(_comparisons(judged, selection, report.strict, solution)),
        cells=tuple(_wrong_cells(judged, selection, solution)),
        finding=finding,
        unexplained=tuple(verdicts.unexplained(report, judged, solution)),
        early=early,
        last_digits=tuple(near),
    )


def _aside(report: Report, judged: Judged, sign: str) -> str:
    said = ["not asked"] if sign == "✗" and judged.step.name not in report.wrong_steps else []
    if isinstance(judged, Difference) and not judged.fault:
        if judged.nan_count:
            said.append(f"{judged.nan_count:,} of {count_of(judged.codes.size, 'cell')} are nan")
        if judged.nan_count < judged.codes.size:
            at = f" at {cell_name(judged.step, judged.farthest)}" if judged.farthest else ""
            said.append(f"max |Δ| {judged.largest:.2g}{at}".replace("inf", "∞"))
        if 0 < judged.errors < np.inf:
            said.append(f"{judged.errors:.2g} × the error of {report.dtype}")
    return ", ".join(said)


def _comparisons(
    judged: Judged, selection: ReportSelection, strict: bool, solution: bool
) -> Iterator[Comparison]:
    """Yield the student's matrix and the right one for each head or batch."""
    if not isinstance(judged, Compared):
        return
    step, digits = judged.step, selection.digits
    codes, texts = step.on_paper(judged.codes), judged.texts
    differs = step.on_paper(_differs(judged, judged.step.array, digits))
    goes_on = step.on_paper(_differs(judged, judged.written.values, digits))
    numbers = {"from your numbers": step.on_paper(judged.yours), "right": step.value}
    rows, columns = (kept(size, selection.full) for size in np.atleast_2d(codes).shape[-2:])
    row_labels, column_labels = map(told_apart, axis_labels(step))
    like = Matrix(np.zeros((0, 0)), rows, columns, "", row_labels, column_labels)
    for place in np.ndindex(codes.shape[:-2]):
        part = np.atleast_2d(codes[place])
        if np.isin(part, (judged_steps.CORRECT, judged_steps.MISSING)).all():
            continue
        is_wrong, is_given = part == judged_steps.WRONG, part != judged_steps.MISSING
        # A matrix that is written like the right one, or like the student's, is not shown.
        compared = is_wrong if is_wrong.any() else is_given
        is_other = (differs[place] & compared).any() and (goes_on[place] & is_given).any()
        others = []
        for name, of_all in numbers.items():
            if solution and (is_other or name == "right"):
                values, write = np.atleast_2d(of_all[place]), style_of(of_all, digits)
                others.append(replace(like, name=name, values=values, write=write))
        cells = {}
        for at, text in np.ndenumerate(np.atleast_2d(texts[place])):
            mark, style = MARK_OF_CELL.get(int(part[at]), (" ", ""))
            cells[at] = f"{label_text(str(text))} {mark}", style
        yours = replace(like, name="yours", values=np.zeros_like(part), cells=cells)
        counts = is_wrong | ((part == judged_steps.ROUNDED_EARLY) & strict)
        words = [
            f"{axis} {label_text(label_at(step, axis, i))}"
            for axis, i in zip(step.axes, place, strict=False)
        ]
        yield Comparison(", ".join(words), yours, tuple(others), bool(counts.any()))


def _differs(judged: Compared, numbers: Array, digits: int) -> Array:
    """Return where what follows from the student's numbers is written unlike other numbers."""
    unit = np.maximum(judged.unit, 10.0**-digits)
    with np.errstate(invalid="ignore", over="ignore"):  # −∞ / unit, 1e308 / unit
        differs: Array = np.round(judged.yours / unit) != np.round(numbers / unit)
    return differs


def label_at(step: Step, axis: str, place: int) -> str:
    """Return the label of a place along an axis; its number from 1 where there is none."""
    labels = step.labels.get(axis, ())
    return labels[place] if place < len(labels) else str(place + 1)


def _wrong_cells(judged: Judged, selection: ReportSelection, solution: bool) -> Iterator[WrongCell]:
    step = judged.step
    right = step.value
    write = style_of(right, selection.digits)
    is_wrong = step.on_paper(judged.codes) == judged_steps.WRONG
    if isinstance(judged, Difference):
        for at in some_places(is_wrong) if selection.verbose and not judged.fault else ():
            yours, shown = f"{judged.values[at]:.9g}", f"{right[at]:.9g}"
            yield WrongCell(cell_name(step, at), yours, shown if solution else "")
    elif isinstance(judged, Given):
        for at in verdicts.places(is_wrong):
            shown = write(float(right[at])) if solution else ""
            yield WrongCell(cell_name(step, at), str(judged.texts[at]), shown)


def some_places(chosen: Array) -> Iterator[tuple[int, ...]]:
    """Yield the places of the first chosen cells of an array from a program."""
    for flat in np.flatnonzero(chosen)[:MOST_OF_ARRAY]:
        yield tuple(int(i) for i in np.unravel_index(flat, chosen.shape))


def as_json(graded: Iterable[Graded], selection: ReportSelection) -> Iterator[bytes]:
    from attncli.printing.record import json_lines  # which pages of reports do not need

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
