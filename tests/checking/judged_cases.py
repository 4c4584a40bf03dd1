"""Cases of judging: a problem, what somebody handed in, and what the report says of it.

A row of a table in `tests/data/cases` has

- `id`, which says what the case shows;
- `problem`: the name of one in `judging.yaml`, the file of a sample, or the keys of a problem;
  `with` are more keys of it;
- `answers`, as somebody wrote them; `floats: float32` makes arrays of its lists;
- or a `file` and its `text`, instead of them;
- `marking` and `strict`, as `attncli.check` takes them;

and of the report, where it matters:

- `cells`: the status of each cell of a step, row by row, by the marks of `MARKS`;
- `findings`: attributes of what is said of a step, such as its `message`; `ids` are those of all
  mistakes that it names. Nothing is said of a step that has none;
- `read`: the steps of which something was handed in;
- `rounding`: by which schedule the numbers of a step were rounded early;
- any attribute of the report: `verdict`, `first_wrong_step`, `said`, `skipped`, `points` …;
- `page` and `not_on_page`: texts that stand on the printed report, or do not;

or `refused`, the message for who cannot be judged.

Where a submission is correct, it must not be with other numbers in any of its matrices.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.checking.check import AnswerKey, Report
from attncli.checking.judging.judged_steps import STATUSES, Finding, Judged
from tests.conftest import SAMPLES, table
from tests.support.console import is_as_written

MARKS = dict(zip("✓±≈→✗_", STATUSES, strict=True))
"""A mark for each status: ± for one that is off in the last digit, ≈ for one rounded early."""

INPUT = {"id", "problem", "with", "answers", "floats", "marking", "strict", "file", "text"}
"""The keys of a row that say what is judged; all others say what is demanded."""

OTHER = "77.7"
"""A number that is right in no case."""


def judged_cases(subject: str, name: str) -> pytest.MarkDecorator:
    """Run a test with each row of a table, as its argument `case`."""
    rows = table(subject, name)
    return pytest.mark.parametrize("case", [pytest.param(row, id=row["id"]) for row in rows])


def problem_of(given: Any, more: Mapping[str, Any] | None = None) -> attncli.Problem:
    """Return the problem of a row, with more keys."""
    if isinstance(given, str) and given.endswith(".yaml"):
        problem = attncli.load(SAMPLES / given)
        return attncli.Problem(**problem.written, **more) if more else problem
    keys = table("judging", "problems")[given] if isinstance(given, str) else given
    return attncli.Problem(**{**keys, **(more or {})})


def marks(judged: Judged) -> str:
    """Return the statuses of a step as on paper, such as `✓✗✓ ✓✓✓`."""
    codes = np.atleast_2d(judged.on_paper)
    rows = codes.reshape(-1, codes.shape[-1]).tolist()
    return " ".join("".join([*MARKS][code] for code in row) for row in rows)


def assert_judged(case: Mapping[str, Any], folder: Path) -> None:
    """Judge the submission of a row, and assert that the report says what the row demands."""
    problem = problem_of(case["problem"], case.get("with"))
    if "text" in case:
        _assert_file_is_judged(case, AnswerKey(problem), folder)
        return
    answers = case["answers"]
    key = AnswerKey(problem.marked(case["marking"]) if "marking" in case else problem)

    def report_on(matrices: Mapping[str, Any]) -> Report:
        if dtype := case.get("floats"):
            matrices = {name: np.array(rows, dtype) for name, rows in matrices.items()}
        return key.check(matrices, case.get("strict", False))

    report = report_on(answers)
    assert_says(report, case)
    if report.verdict == "correct":
        for name in answers.keys() - dict(report.skipped):
            other = answers | {name: _with_other_numbers(answers[name])}
            assert report_on(other).verdict != "correct", f"correct as well: {other}"


def _assert_file_is_judged(case: Mapping[str, Any], key: AnswerKey, folder: Path) -> None:
    path = folder / case.get("file", "a.csv")
    path.write_text(case["text"])
    if "refused" in case:
        with pytest.raises(attncli.InputError) as caught:
            key.check(attncli.load_answers(path)[0])
        assert_refused(case, str(caught.value).replace(f"{folder}/", ""))
    else:
        (sheet,) = attncli.load_answers(path)
        assert_says(key.check(sheet), case)


def assert_says(report: Report, case: Mapping[str, Any]) -> None:
    """Assert that a report says what a row demands, by steps that all have a formula."""
    assert all(step.formula for step in report.trace)
    wanted = {key: case[key] for key in case if key not in INPUT}
    found = {key: _found(report, key, written) for key, written in wanted.items()}
    assert _as_written(found, wanted) == wanted


def assert_refused(case: Mapping[str, Any], message: str) -> None:
    """Assert that a message is that of a row."""
    assert _as_written(message, case["refused"]) == case["refused"]


def _found(report: Report, key: str, wanted: Any) -> Any:
    """Return what a report has where a row demands something."""
    match key:
        case "cells":
            return {name: marks(report.steps[name]) for name in wanted}
        case "read":
            return [name for name, judged in report.steps.items() if judged.status != "missing"]
        case "rounding":
            return {name: getattr(report.steps[name], key) for name in wanted}
        case "findings":
            return {name: _attributes(report.findings.get(name), wanted[name]) for name in wanted}
        case "page" | "not_on_page":
            page = " ".join(attncli.render(report).split())
            return [text for text in wanted if (text in page) == (key == "page")]
        case _:
            return _plain(getattr(report, key))


def _attributes(finding: Finding | None, wanted: Mapping[str, Any] | None) -> Any:
    if finding is None or wanted is None:
        return finding
    ids = [finding.id, *(other.id for other in finding.also)]
    return {key: ids if key == "ids" else _plain(getattr(finding, key)) for key in wanted}


def _plain(value: Any) -> Any:
    """Return a value as YAML has it; of a finding its id."""
    if isinstance(value, Finding):
        return value.id
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    return [*map(_plain, value)] if isinstance(value, list | tuple) else value


def _as_written(found: Any, wanted: Any) -> Any:
    """Return what was found, with the words of what was wanted where `...` leaves them open."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        return {key: _as_written(found[key], wanted.get(key)) for key in found}
    if isinstance(found, list) and isinstance(wanted, list) and len(found) == len(wanted):
        return [*map(_as_written, found, wanted)]
    if isinstance(found, str) and isinstance(wanted, str):
        return wanted if is_as_written(found, wanted) else found
    return found


def _with_other_numbers(written: Any) -> Any:
    """Return an answer in which every number is `OTHER`."""
    if isinstance(written, Mapping):
        return {key: _with_other_numbers(part) for key, part in written.items()}
    if isinstance(written, list):
        return [*map(_with_other_numbers, written)]
    if isinstance(written, str):
        return re.sub(r"\d[\d.]*(e-?\d+)?", OTHER, written)
    return written if written is None else float(OTHER)
