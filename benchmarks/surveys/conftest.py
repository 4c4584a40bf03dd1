"""`--record` keeps a sample of the submissions that each survey judges, for the suite.

A survey is a test function of this folder; what it judges by `judging.check` becomes
`tests/data/submissions/NAME.jsonl`, by the function's name without `test_`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks.surveys import judging
from tests.conftest import DATA, attn, attn_process  # noqa: F401 - fixtures

FOLDER = DATA / "submissions"
RECORDED = "recorded in tests/data/submissions"
"""Name of the property of a test under which its lines go to the process that writes them."""

recorded: dict[str, list[str]] = {}
"""Lines of JSON by the name of the survey."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--record", action="store_true", help="write a sample for the suite")


@pytest.fixture(autouse=True)
def _recording(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if not request.config.getoption("--record"):
        yield
        return
    kept: dict[tuple[str, ...], judging.Kept] = {}
    monkeypatch.setattr(judging, "kept", kept)
    yield
    monkeypatch.setattr(judging, "kept", None)
    if kept:
        survey = request.node.originalname.removeprefix("test_")
        lines = [*judging.replayed(kept.values())]
        request.node.user_properties.append((RECORDED, (survey, lines)))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    about: dict[str, Any] = dict(report.user_properties)
    if report.when == "teardown" and RECORDED in about:
        survey, lines = about[RECORDED]
        recorded.setdefault(survey, []).extend(lines)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workerinput"):
        return  # the process that started this one has the lines of all
    for survey, lines in recorded.items():
        text = "\n".join(judging.thinned(lines)) + "\n"
        (FOLDER / f"{survey}.jsonl").write_text(text, encoding="utf-8")
