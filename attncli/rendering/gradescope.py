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
from attncli.rendering.selection import ReportSelection
from attncli.rendering.verdicts import cells_of, skipped, verdict
from attncli.text.escapes import visible

SHORT = {"correct": "✓ right", "missing": "not given"}
"""The text for a step, or for its cells that have points, by a status that says all of it."""


def reports(graded: Iterable[Graded], selection: ReportSelection) -> Iterator[bytes]:
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
    yield f"{json.dumps(_results(own, selection), ensure_ascii=False, indent=1)}\n".encode()


def _results(graded: Sequence[Graded], selection: ReportSelection) -> dict[str, Any]:
    tests = [test for n, one in enumerate(graded, 1) for test in _tests(one, str(n), selection)]
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
    yield f"{title}{_verdict(one)}"
    if isinstance(one, Report) and one.skipped:
        yield skipped(one.skipped)


def _verdict(one: Graded) -> str:
    if isinstance(one, Unread):
        return f"could not be read: {str(one.error).partition(chr(10))[0]}"
    return verdict(one)


def _tests(one: Graded, number: str, selection: ReportSelection) -> Iterator[dict[str, Any]]:
    title = visible(one.title) or f"problem {number}"
    if isinstance(one, Unread):
        yield _test(0.0, 1.0, title, number, [_verdict(one)], [], verdict="unreadable")
        return
    page, marking = report_page(one, selection, selection.solution), one.marking
    names = tuple(marking.points) or marking.ask
    if not names:
        mistakes = [one.findings[name].id for name in one.wrong_steps if name in one.findings]
        score = float(one.verdict == "correct")
        yield _test(score, 1.0, title, number, _whole(page), mistakes, verdict=one.verdict)
    for place, name in enumerate(names, 1):
        possible = float(marking.points.get(name, 1.0))
        score = one.points[name] if marking.points else round(one.share(name) + 1e-9, 2)
        step, status = one.answers[name], one.status(name)
        lines = [SHORT[status]] if status in SHORT else list(_of_step(page, step))
        missing = int((one.codes(name) == MISSING).sum())
        if missing and status != "missing":
            lines.append(f"left out: {cells_of(name, missing, one.codes(name).size)}")
        found = one.findings.get(step) if status not in SHORT else None
        about, where = f"{title}: {name}", f"{number}.{place}"
        mistakes = [found.id] if found else []
        yield _test(score, possible, about, where, lines, mistakes, step=name, status=status)


def _whole(page: ReportPage) -> Iterator[str]:
    yield page.verdict
    yield from page.said
    for name in page.remarks:
        yield from (f"{name}: {line}" for line in _of_step(page, name))


def _of_step(page: ReportPage, name: str) -> Iterator[str]:
    remark = page.remarks[name]
    if remark.sign == "✗" and remark.first_wrong:
        yield f"the first wrong number is {remark.first_wrong}"
    if outcome := SHORT.get(remark.status, remark.outcome):
        yield outcome
    for one in remark.sentences:
        yield " ".join(filter(None, one))


def _test(
    score: float,
    possible: float,
    name: str,
    number: str,
    lines: Iterable[str],
    mistakes: Sequence[str],
    **more: str,
) -> dict[str, Any]:
    return {
        "score": score,
        "max_score": possible,
        "status": "passed" if score >= possible else "failed",
        "name": name,
        "name_format": "text",
        "number": number,
        "output": "\n".join(visible(part) for line in lines for part in line.splitlines()),
        "output_format": "text",
        "tags": mistakes,
        "visibility": "visible",
        "extra_data": more,
    }
