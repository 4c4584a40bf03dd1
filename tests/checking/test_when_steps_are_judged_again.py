"""Steps are judged again, and roundings tried, only where that may explain a wrong number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attncli import Problem
from attncli.checking.check import AnswerKey, Report
from attncli.checking.judging import early_rounding
from attncli.checking.judging.judge import Judge
from attncli.checking.judging.operands import Reference
from attncli.core.tape.evaluation import evaluate


def texts(value: np.ndarray) -> Any:
    return [texts(x) for x in value] if value.ndim else f"{float(value):.2f}"


def submission(key: AnswerKey, draw: np.random.Generator) -> dict[str, Any]:
    """Return work in which every third step is wrong, and carried on or not; some are left out."""
    values: dict[str, np.ndarray] = {}
    written = {}
    for step in key.trace:
        assert step.operation is not None
        right = evaluate(step.operation, lambda part: values.get(part.name, part.array))
        wrong = right + draw.normal(size=right.shape) * (draw.random(right.shape) < draw.random())
        shown = wrong if draw.random() < 1 / 3 else right
        values[step.name] = [right, shown, np.round(shown, 2)][draw.integers(3)]
        if draw.random() < 0.8:
            written[step.name] = texts(step.on_paper(shown))
    return written


def verdict(report: Report) -> Any:
    steps = report.steps.items()
    return {name: one.codes.tolist() for name, one in steps}, {
        name: finding.sentence() for name, finding in report.findings.items()
    }


@pytest.mark.parametrize("count", [2, pytest.param(16, marks=pytest.mark.whole)])
def test_what_is_left_out_would_change_no_verdict(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = np.random.default_rng(3)
    matrices = {
        name: (draw.integers(-4, 5, shape) / 4).tolist()
        for name, shape in {"X": (3, 2), "W_q": (2, 2), "W_k": (2, 2), "W_v": (2, 2)}.items()
    }
    problem = Problem(**matrices)
    work = [submission(AnswerKey(problem), draw) for _ in range(count)]
    quick = [verdict(AnswerKey(problem).check(one)) for one in work]

    monkeypatch.setattr(Reference, "is_like", lambda *_: False)  # every wrong step is judged again
    monkeypatch.setattr(Judge, "_goes_on_like", lambda *_: False)
    monkeypatch.setattr(
        early_rounding, "in_reach", lambda _, answer: np.ones(answer.codes.shape, bool)
    )
    assert [verdict(AnswerKey(problem).check(one)) for one in work] == quick
