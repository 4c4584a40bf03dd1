"""What is true of a submission because its maker planted it, and what a report says otherwise.

A survey draws a problem, lets a student of `tests.oracles` work it, and knows what the student did.
`tests/data/submissions` holds such submissions with their truth, a line of JSON each; nothing in it
was said by the program. SPEC 5.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

import attncli
from attncli.checking.check import AnswerKey, Report
from attncli.reading.document import submission_of

WRONG = 4
"""The code of a wrong cell, by its place among the statuses of the contract."""


@dataclass(frozen=True)
class Truth:
    """What was planted.

    Attributes:
        rounding: how a right submission was rounded, such as `2 decimals`; empty for a wrong one.
        mistake: the id of the mistake, empty where a number is wrong that no mistake gives.
        step: the step of the first number that is shown and wrong.
        cells: the places in that step, as it stands on paper and counted from 0, that must be
            called wrong; none where roundings leave open which of them are.
        also: other ids that give the same numbers, any of which may be named.
    """

    rounding: str = ""
    mistake: str = ""
    step: str = ""
    cells: tuple[tuple[int, ...], ...] = ()
    also: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        assert bool(self.rounding) != bool(self.step), "a submission is right, or wrong in a step"


def faults(report: Report, truth: Truth) -> list[str]:
    """Return what a report says that is not so."""
    if truth.rounding:
        return [] if report.verdict == "correct" else [f"right work is called {report.verdict}"]
    if report.verdict != "wrong":
        return [f"wrong work is called {report.verdict}"]
    found = []
    if report.first_wrong_step != truth.step:
        found.append(f"first wrong at {report.first_wrong_step}, not {truth.step}")
    else:
        codes = report.steps[truth.step].on_paper
        found += [f"{cell} is not called wrong" for cell in truth.cells if codes[cell] != WRONG]
    named = {
        id_
        for finding in report.findings.values()
        for id_ in (finding.id, *(other.id for other in finding.also))
    }
    if truth.mistake and not named & {truth.mistake, *truth.also}:
        found.append(f"not named {truth.mistake}, but {sorted(named)}")
    return found


def line_of(
    problem: attncli.Problem, answers: dict[str, Any], truth: Truth, **options: Any
) -> dict[str, Any]:
    """Return what is recorded of a submission: a mapping that JSON can hold."""
    arrays = {str(x.dtype) for x in answers.values() if isinstance(x, np.ndarray)} - {"object"}
    line: dict[str, Any] = {"problem": problem.written, "answers": answers}
    line |= {"dtype": arrays.pop()} if arrays else {}
    return line | options | {"truth": {key: x for key, x in asdict(truth).items() if x}}


def judged(line: dict[str, Any]) -> tuple[Report, Truth]:
    """Judge a recorded submission, and return what is true of it beside."""
    answers = line["answers"]
    if "dtype" in line:
        answers = {name: np.array(rows, line["dtype"]) for name, rows in answers.items()}
    key = AnswerKey(attncli.Problem(**line["problem"]))
    report = key.check(submission_of(answers, "student"), line.get("strict", False))
    truth = dict(line["truth"])
    truth["cells"] = tuple(map(tuple, truth.get("cells", ())))
    truth["also"] = tuple(truth.get("also", ()))
    return report, Truth(**truth)
