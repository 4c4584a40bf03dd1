"""The names of courses: letters in submissions, and the key `names`.

What the command says of them is in the session `course_names`.
"""

from __future__ import annotations

import gc
import json
import re
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.checking.check import AnswerKey, Report
from attncli.core.errors import InputError
from tests.conftest import SAMPLES, Attn, cases

X = [[1, 3, 2], [1, 1, 3], [1, 2, 1]]
NAMES = {"a": "scores", "b": "weights", "z": "output"}


def problem(**given: Any) -> attncli.Problem:
    return attncli.Problem(**{"X": X, **given})


def written(given: attncli.Problem, **words: str) -> dict[str, Any]:
    """Return right answers with two decimals under other words; `d[1, 2]` is a cell."""
    trace = attncli.compute(given)
    found: dict[str, Any] = {}
    for word, name in words.items():
        step = name.partition("[")[0]
        value: Any = trace[step].value
        if places := re.findall(r"\d+", name[len(step) :]):
            value = value[tuple(int(place) - 1 for place in places)]
        texts = np.vectorize(lambda x: f"{x:.2f}")(value)
        found[word] = texts.tolist()
    return found


def read(report: Report) -> list[str]:
    """Return the steps of which something was handed in."""
    return [name for name, judged in report.steps.items() if judged.status != "missing"]


# Letters


@cases("course_names", "letters_are_read_by_the_whole_submission", ids=str)
def test_letters_are_read_by_the_whole_submission(words: dict[str, str]) -> None:
    given = problem(gradient="sum" if "d_b" in words else None)
    report = attncli.check(given, written(given, **words))
    steps = {name.partition("[")[0] for name in words.values()}
    assert (report.verdict, {*read(report)}) == ("correct", steps), report.skipped


def test_keys_of_the_problem_are_no_letters() -> None:
    given = attncli.load(SAMPLES / "pooling_words.yaml")
    assert {"W", "b"} <= {*given.given}
    trace = attncli.compute(given)
    assert given.W is not None
    answers = {"W": given.W.tolist(), "weights": trace["weights"].value.round(4).tolist()}
    report = attncli.check(given, answers)
    assert (report.verdict, read(report)) == ("correct", ["weights"])
    keys = {key: getattr(given, key) for key in given.given}
    trace = attncli.compute(attncli.Problem(**{**keys, "names": {"b": "weights"}}))
    assert trace["weights"].word == "weights"
    assert trace.warnings == ("names: b is a key of this problem, so it does not mean weights",)


ROW = {"1": "0.197", "2": "0.534", "3": "0.072", "4": "0.197"}


@pytest.mark.parametrize("word", ["alpha_", "α_", "a", "weights_", "attn[", "w_"])
def test_a_place_behind_a_step_of_one_row_is_a_cell(word: str) -> None:
    names = {"w": "weights"} if word == "w_" else {}
    given = attncli.Problem(scores=[[1, 2, 0, 1]], V=[3, 2, 1.5, 1], names=names)
    close = "]" if "[" in word else ""
    answers = {f"{word}{place}{close}": text for place, text in ROW.items()}
    report = attncli.check(given, {**answers, "c": 1.964})
    assert (report.verdict, report.skipped) == ("correct", ())
    assert read(report) == ["weights", "output"]
    slip = {**answers, f"{word}3{close}": "0.272", "c": "1.964"}
    assert attncli.check(given, slip).wrong_steps == ["weights"]


def test_cells_of_a_row_by_labels_and_with_two_digits() -> None:
    given = attncli.load(SAMPLES / "pooling_words.yaml")
    weights = attncli.compute(given)["weights"]
    labels = weights.labels["key"]
    pairs = zip(labels, weights.value[0], strict=True)
    report = attncli.check(given, {f"weights[{label}]": f"{x:.3f}" for label, x in pairs})
    assert report.verdict == "correct"
    given = attncli.Problem(scores=[[x / 10 for x in range(11)]], V=[*range(11)])
    row = attncli.compute(given)["weights"].value[0]
    report = attncli.check(given, {f"alpha_{j}": f"{x:.3f}" for j, x in enumerate(row, 1)})
    assert (report.verdict, read(report)) == ("correct", ["weights"])


# The key `names`


@pytest.mark.parametrize("form", ["table", "markdown", "latex", "html"])
def test_names_hold_in_what_people_read(form: str) -> None:
    page = attncli.render(attncli.compute(problem(names=NAMES, gradient="sum")), form)
    if form == "html":
        parts = re.findall(r'<a href="#part-\d+">(.*?)</a>', page)
        assert parts == ["forward pass", "backward pass"]
        assert {*re.findall(r'aria-label="(\w+) = (?:Q K|exp / sum|b V)', page)} >= {*NAMES}
    else:
        assert not re.search(r"\b(scores|weights|output)\b", page)


@pytest.mark.parametrize("form", ["json", "yaml", "csv", "npz"])
def test_programs_read_the_public_names(form: str, attn: Attn, tmp_path: Path) -> None:
    path, out = tmp_path / "p.yaml", tmp_path / f"out.{form}"
    path.write_text(f"X: {X}\nnames: {NAMES}\n")
    assert attn("compute", path, "-o", out).status == 0
    if form == "npz":
        assert {"scores", "weights"} <= {*np.load(out)}
    elif form == "json":
        steps = json.loads(out.read_text())["steps"]
        assert (steps["scores"]["formula"], list(steps)[-1]) == ("scores = Q Kᵀ", "output")
    else:
        assert re.search(r"(?m)^ *weights:?$", out.read_text())
    again = attn("compute", out, "--only", "output", "-f", "csv")
    assert again.out == attn("compute", path, "--only", "z", "-f", "csv").out
    assert attn("check", path, out).status == 0


def test_names_settle_what_letters_mean() -> None:
    given = problem(names=NAMES, marking={"points": {"b": 2}, "ask": ["b", "z[1, 2]"]})
    report = attncli.check(given, {"a": [[1, 2, 3]] * 3, **written(given, b="weights", z="output")})
    assert (report.verdict, report.points) == ("correct", {"weights": 2})
    report = attncli.check(problem(names=NAMES), {"a": [[1, 2, 3]] * 3})
    assert report.wrong_steps == ["scores"]


def test_names_of_layers_and_of_steps_that_change_nothing() -> None:
    layer = {"W_1": [[1, 0, 1], [0, 1, 0], [1, 1, 0]], "W_2": [[1, 0, 0], [0, 1, 0], [0, 0, 1]]}
    given = problem(kind="transformer", layers=[layer, layer], names={"a": "scores"})
    trace = attncli.compute(given)
    assert trace["layers.2.scores"].word == "layers.2.a"
    assert trace["layers.2.scaled"].formula == "layers.2.scaled = a / √d_k"
    answers = {"layers.2.a": trace["layers.2.scores"].value.round(3).tolist()}
    assert attncli.check(given, answers).verdict == "correct"
    named = problem(names={"c": "context"})
    answers = {"c": attncli.compute(problem()).output.round(3).tolist()}
    assert attncli.check(named, answers).verdict == "correct"


@pytest.mark.parametrize("names", [{"scores": "a", "b": "weights"}, "scores: a, weights: b"])
def test_names_in_either_direction(names: Any) -> None:
    given = problem(names=names)
    assert dict(given.names) == {"a": "scores", "b": "weights"}
    report = attncli.check(given, written(given, a="scores", b="weights"))
    assert (report.verdict, read(report)) == ("correct", ["scores", "weights"])


@cases("course_names", "names_that_are_refused")
def test_names_that_are_refused(names: Any, said: str) -> None:
    with pytest.raises(InputError) as caught:
        attncli.compute(problem(names=names))
    assert said in str(caught.value)


def test_nothing_keeps_a_problem() -> None:
    """What names mean is kept by the trace itself, and not by a module."""
    kept: list[weakref.ref[Any]] = []
    for number in range(2):
        given = problem(X=[[1, 3], [1, number]], gradient="sum")
        key = AnswerKey(given)
        key.check({"wieghts": [[1, 2]], "Q": [[1, 3]], "context": [[1, 3]], "a": [[1, 3]]})
        attncli.explain(key.trace, "weights[1, 1]")
        for form in ("table", "html", "json", "numpy"):
            attncli.render(key.trace, form)
        kept += [weakref.ref(given), weakref.ref(key.trace), weakref.ref(key)]
        del given, key
    gc.collect()
    assert [one() for one in kept if one() is not None] == []
