"""`--record` keeps a sample of the submissions that each survey judges, for the suite."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest

from attncli.checking.check import AnswerKey, Report
from attncli.core.errors import InputError
from attncli.reading.document import Submission
from tests.checking.test_recorded_submissions import FOLDER, judged, said
from tests.conftest import attn, attn_process  # noqa: F401 - fixtures

SAMPLE = 4
"""Number of submissions of each test that are recorded, spread evenly over those it judged."""

SAME = 6
"""Maximum number of lines of a survey that name no mistake, with the same statuses of cells."""

recorded: dict[str, list[str]] = {}
"""Lines of JSON by the name of the file."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--record", action="store_true", help="write a sample for the suite")


@pytest.fixture(autouse=True)
def _recording(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if not request.config.getoption("--record"):
        yield
        return
    lines: dict[str, None] = {}
    check = AnswerKey.check

    def kept(key: AnswerKey, submission: Submission | Mapping[str, Any], *more: Any) -> Report:
        report = check(key, submission, *more)
        lines[line_of(key, submission, report, *more)] = None
        return report

    monkeypatch.setattr(AnswerKey, "check", kept)
    yield
    some = [*lines]
    chosen = {round(i) for i in np.linspace(0, len(some) - 1, min(SAMPLE, len(some)))}
    survey = request.node.originalname.removeprefix("test_")
    recorded.setdefault(survey, []).extend(some[i] for i in sorted(chosen))


def line_of(
    key: AnswerKey, submission: Submission | Mapping[str, Any], report: Report, strict: bool = False
) -> str:
    """Return what is recorded of a submission that was judged."""
    answers = submission.answers if isinstance(submission, Submission) else submission
    line: dict[str, Any] = {"problem": key.problem.written, "answers": dict(answers)}
    arrays = {str(x.dtype) for x in answers.values() if isinstance(x, np.ndarray)} - {"object"}
    line |= {"dtype": arrays.pop()} if arrays else {}
    line |= {"strict": True} if strict else {}
    return json.dumps(line | {"said": said(report)}, ensure_ascii=False, default=_plain)


def is_same_again(line: str) -> bool:
    """Return False for a submission that the line does not hold whole, such as a large one."""
    case = json.loads(line)
    try:
        return bool(said(judged(case)) == case["said"])
    except InputError:
        return False


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else dict(value)


def thinned(lines: list[str]) -> Iterator[str]:
    """Yield the shortest line that names each mistake, and some lines that name none."""
    named: set[str] = set()
    unnamed: Counter[str] = Counter()
    for line in sorted(dict.fromkeys(lines), key=len):
        said_of = json.loads(line)["said"]
        ids = {text.split(" | ")[1] for text in said_of["findings"].values()}
        verdict = (
            f"{said_of['verdict']} {sorted(set(re.findall('[a-z_]+', str(said_of['steps']))))}"
        )
        unnamed[verdict] += not ids
        is_new = not ids <= named if ids else unnamed[verdict] <= SAME
        if is_new and is_same_again(line):
            named |= ids
            yield line


def pytest_sessionfinish() -> None:
    for survey, lines in recorded.items():
        if chosen := [*thinned(lines)]:
            FOLDER.mkdir(exist_ok=True)
            text = "\n".join(chosen) + "\n"
            (FOLDER / f"{survey}.jsonl").write_text(text, encoding="utf-8")
