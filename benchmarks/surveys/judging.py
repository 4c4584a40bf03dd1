"""The one function by which every survey lets the program judge a submission.

`check` asserts nothing: a survey asserts that `faults(report, truth)` is empty. With `--record` it
keeps what was handed in and what was planted, and `conftest.py` writes a thinned sample of that to
`tests/data/submissions`, which the suite judges.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

import attncli
from attncli.checking.check import AnswerKey, Report
from attncli.reading.document import submission_of
from tests.support.truth import Truth, judged, line_of

MOST_RIGHT = 6
"""Maximum number of recorded right submissions of a survey per kind of rounding."""


class Kept(NamedTuple):
    """A submission that may be recorded: its line of JSON, and what the program said of it."""

    line: str
    said: str


kept: dict[tuple[str, ...], Kept] | None = None
"""The shortest submission per planted mistake and step, and per rounding and form of a problem;
None unless a survey is recorded."""


def check(
    problem: attncli.Problem | AnswerKey,
    answers: Mapping[str, Any],
    truth: Truth,
    *,
    strict: bool = False,
) -> Report:
    """Judge a submission of which the truth is known."""
    key = problem if isinstance(problem, AnswerKey) else AnswerKey(problem)
    report = key.check(submission_of(answers, "student"), strict)
    if kept is not None:
        options = {"strict": True} if strict else {}
        line = line_of(key.problem, dict(answers), truth, **options)
        text = json.dumps(line, ensure_ascii=False, default=_plain)
        form = (*map(str, line["problem"]), *answers) if truth.rounding else ()
        place = truth.rounding, truth.mistake, truth.step, *form
        if place not in kept or len(text) < len(kept[place].line):
            kept[place] = Kept(text, _said(report))
    return report


def replayed(several: Iterable[Kept]) -> Iterator[str]:
    """Yield the lines to record.

    Raises:
        AssertionError: where a line is not judged as what was handed in: it would hold another
            submission.
    """
    for one in several:
        report, _ = judged(json.loads(one.line))
        assert _said(report) == one.said, f"judged otherwise on replay: {one.line}"
        yield one.line


def thinned(lines: Iterable[str]) -> list[str]:
    """Return the shortest line per planted mistake and step, and some right ones per rounding."""
    wrong: dict[tuple[str, str], str] = {}
    right: dict[str, list[str]] = {}
    for line in sorted(dict.fromkeys(lines), key=len):
        truth = json.loads(line)["truth"]
        if rounding := truth.get("rounding"):
            right.setdefault(rounding, []).append(line)
        else:
            wrong.setdefault((truth.get("mistake", ""), truth["step"]), line)
    return [*wrong.values(), *(line for several in right.values() for line in _spread(several))]


def _spread(lines: list[str]) -> list[str]:
    """Return some of the lines, of all lengths."""
    places = np.linspace(0, len(lines) - 1, min(MOST_RIGHT, len(lines)))
    return [lines[round(place)] for place in places]


def _said(report: Report) -> str:
    steps = {name: step.counts for name, step in report.steps.items()}
    named = {name: finding.id for name, finding in report.findings.items()}
    return f"{report.verdict} {report.first_wrong_step} {steps} {named}"


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else dict(value)
