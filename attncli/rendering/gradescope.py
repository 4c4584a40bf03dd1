"""The results.json of an autograder of Gradescope.

Its fields are those of https://gradescope-autograders.readthedocs.io/en/latest/specs/: a test for
each step that has points. Where none has, a test for each step that is asked, of one point; and
where none is asked, one for the whole problem.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from attncli.checking.check import Report
from attncli.checking.judged import MISSING
from attncli.errors import fail
from attncli.files.grading import Graded, Unread
from attncli.rendering.report import ReportPage, report_page
from attncli.rendering.selection import Selection
from attncli.rendering.verdicts import cells_of, skipped, verdict
from attncli.rendering.withheld import first_wrong, remarks
from attncli.text.escapes import visible

FINE = {"correct": "✓ right", "missing": "not given"}
"""The text for cells of a step in which nothing is wrong."""


def reports(graded: Iterable[Graded], selection: Selection) -> Iterator[bytes]:
    """Yield the results of one student, on any number of problems.

    Raises:
        InputError: for several students, as each has a file of results.
    """
    own: list[Graded] = []
    for one in graded:
        if own and one.name != own[0].name:
            hint = "write one for each: -o 'results/{student}.json'"
            raise fail(
                "results.json of Gradescope is of one student, but there are several", hint=hint
            )
        own.append(one)
    yield f"{json.dumps(results(own, selection), ensure_ascii=False, indent=1)}\n".encode()


def results(graded: Sequence[Graded], selection: Selection) -> dict[str, Any]:
    """Return the results of one student as a plain mapping."""
    tests = [
        test for number, one in enumerate(graded, 1) for test in _tests(one, str(number), selection)
    ]
    return {
        "score": round(sum(test["score"] for test in tests), 2),
        "output": "\n".join(line for one in graded for line in _lines(one)),
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": tests,
        "extra_data": {"student": visible(graded[0].name)} if graded else {},
    }


def _lines(one: Graded) -> Iterator[str]:
    title = f"{visible(one.title)}: " if one.title else ""
    yield f"{title}{_said(one)}"
    if isinstance(one, Report) and one.skipped:
        yield skipped(one.skipped)


def _said(one: Graded) -> str:
    if isinstance(one, Unread):
        return f"could not be read: {str(one.error).partition(chr(10))[0]}"
    return verdict(one)


def _tests(one: Graded, number: str, selection: Selection) -> Iterator[dict[str, Any]]:
    """Yield the tests of one problem."""
    title = visible(one.title) or f"problem {number}"
    if isinstance(one, Unread):
        yield _test(0.0, 1.0, title, number, _said(one), (), {"verdict": "unreadable"})
        return
    page = report_page(one, selection)
    marking = one.marking
    names = tuple(marking.points) or marking.ask
    if not names:
        tags = [one.findings[name].id for name in one.wrong_steps if name in one.findings]
        output = "\n".join(_whole(one, page, selection))
        score = float(one.verdict == "correct")
        yield _test(score, 1.0, title, number, output, tags, {"verdict": one.verdict})
        return
    for place, name in enumerate(names, 1):
        most = float(marking.points.get(name, 1.0))
        score = one.points[name] if marking.points else round(one.share(name) + 1e-9, 2)
        step, status = one.answers[name], one.status(name)
        finding = None if status in FINE else one.findings.get(step)
        is_said = one.cells[name] and status in FINE  # the rest of the step says nothing of it
        lines = [FINE[status]] if is_said else list(_of_step(page, step, selection))
        if status != "missing" and (missing := int((one.codes(name) == MISSING).sum())):
            lines.append(f"left out: {cells_of(name, missing, one.codes(name).size)}")
        yield _test(
            *(score, most, f"{title}: {name}", f"{number}.{place}", "\n".join(lines)),
            [finding.id] if finding else (),
            {"step": name, "status": status},
        )


def _whole(one: Report, page: ReportPage, selection: Selection) -> Iterator[str]:
    yield page.verdict
    yield from page.said
    for name in page.remarks:
        yield from (f"{name}: {line}" for line in _of_step(page, name, selection))


def _of_step(page: ReportPage, name: str, selection: Selection) -> Iterator[str]:
    remark = page.remarks.get(name)
    if remark is None:
        yield "not given"
        return
    if remark.sign == "✗" and (cell := first_wrong(remark)):
        yield f"the first wrong number is {cell}"
    yield from remarks(remark, selection.solution)


def _test(
    score: float,
    most: float,
    name: str,
    number: str,
    output: str,
    tags: Sequence[str],
    more: dict[str, str],
) -> dict[str, Any]:
    return {
        "score": score,
        "max_score": most,
        "status": "passed" if score >= most else "failed",
        "name": name,
        "name_format": "text",
        "number": number,
        "output": visible_lines(output),
        "output_format": "text",
        "tags": list(tags),
        "visibility": "visible",
        "extra_data": more,
    }


def visible_lines(text: str) -> str:
    """Return lines safe to show."""
    return "\n".join(visible(line) for line in text.splitlines())
