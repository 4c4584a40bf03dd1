"""The names of courses: letters in submissions, and the key `names`."""

from __future__ import annotations

import csv
import gc
import io
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
WIDE = [[1, 0, 2, 1], [0, 1, 1, 1], [1, 2, 1, 0]]
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


def test_a_letter_is_read_as_the_step_that_its_numbers_are(attn: Attn, tmp_path: Path) -> None:
    """The numbers of `a` are scores; as weights they would be blamed on another normaliser."""
    path = tmp_path / "a.yaml"
    path.write_text("a: [[14, 10, 9], [10, 11, 6], [9, 6, 6]]\n")
    result = attn("check", SAMPLES / "i_am_good.yaml", path)
    assert result.status == 0
    assert "a is read as scores." in result.out


@pytest.mark.parametrize(
    ("answers", "word", "readings"),
    [
        ({"a": [[1, 2, 3]] * 3}, "a", "weights or scores or scaled"),
        ({"a": [[1, 2, 3]] * 3, "Q": X}, "a", "weights or scores or scaled"),
        ({"S": [["0.33"] * 3] * 3}, "S", "scores or scaled or weights"),
        ({"alpha_12": "0.5", "Q": X}, "alpha_12", "weights or scores or scaled"),
        ({"b": [[1, 2]], "Q": X}, "b", "weights or output"),
    ],
)
def test_two_readings_are_both_said_and_no_mistake_is_named(
    answers: dict[str, Any], word: str, readings: str
) -> None:
    report = attncli.check(problem(), answers)
    assert (report.verdict, dict(report.findings)) == ("incomplete", {})
    assert dict(report.skipped)[word] == f"may mean {readings}; write the name of the step"


SCALED = [["1.41", "0.00", "2.83"], ["7.07", "5.66", "9.90"], ["5.66", "5.66", "7.07"]]
SLIP = [["1.41", "0.00", "3.83"], *SCALED[1:]]
BEHIND_SLIP = [["0.08", "0.02", "0.90"], ["0.06", "0.01", "0.93"], ["0.16", "0.16", "0.67"]]
OUT_OF_SLIP = [["1.80", "2.86"], ["1.86", "2.90"], ["1.35", "2.84"]]
WEIGHTS = [["0.19", "0.05", "0.77"], *BEHIND_SLIP[1:]]
OUTPUT = [["1.54", "2.67"], *OUT_OF_SLIP[1:]]
SCORES = [[2, 0, 4], [10, 8, 14], [8, 8, 10]]
FROM_SCORES = {"b": "weights", "z": "output"}
HOMEWORK = {
    "X": [[0, 1, 0, 2], [2, 2, 0, 0], [0, 1, 2, 2]],
    "W_q": [[0, 1], [1, 0], [0, 1], [0, 0]],
    "W_k": [[0, 1], [0, 1], [1, 0], [1, 1]],
    "W_v": [[0, 1], [0, 1], [1, 1], [0, 0]],
}


def test_any_letter_may_mean_a_step_whose_numbers_it_holds() -> None:
    given = problem()
    report = attncli.check(given, written(given, Z="weights"))
    assert (report.verdict, read(report)) == ("correct", ["weights"])
    assert "Z is read as weights." in report.said
    report = attncli.check(given, written(given, Z="exp"))
    assert (report.verdict, dict(report.findings)) == ("incomplete", {})


@pytest.mark.parametrize(
    ("answers", "findings", "steps"),
    [
        ({"b": SCALED, "a": WEIGHTS, "o": OUTPUT}, {}, "scaled weights output"),
        ({"a": SCORES, "b": SCALED, "w": WEIGHTS, "o": OUTPUT}, {}, "scores scaled weights output"),
        ({"S": SCORES, "Z": SCALED, "A": WEIGHTS, "O": OUTPUT}, {}, "scores scaled weights output"),
        (
            {"a": SLIP, "b": BEHIND_SLIP, "z": OUT_OF_SLIP},
            {"scaled": "single_cell_slip"},
            "scaled weights output",
        ),
        (
            {"S": SCORES, "Z": SLIP, "A": BEHIND_SLIP, "O": OUT_OF_SLIP},
            {"scaled": "single_cell_slip"},
            "scores scaled weights output",
        ),
        (
            {"a": SCORES, **written(problem(**HOMEWORK, score="dot"), **FROM_SCORES)},
            {"weights": "not_scaled"},
            "scores weights output",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else value,
)
def test_letters_of_homework(answers: dict[str, Any], findings: dict[str, str], steps: str) -> None:
    report = attncli.check(problem(**HOMEWORK), answers)
    assert {name: one.id for name, one in report.findings.items()} == findings
    assert (report.skipped, " ".join(read(report))) == ((), steps)
    assert report.verdict == ("wrong" if findings else "correct")


def test_a_mistake_is_named_where_the_numbers_tell_the_step() -> None:
    given = problem()
    right = written(given, a="scores", b="weights", o="output")
    right["a"][0][1] = "9.00"
    report = attncli.check(given, right)
    assert (report.verdict, report.wrong_steps) == ("wrong", ["scores"])
    not_scaled = written(problem(score="dot"), b="weights", o="output")
    report = attncli.check(given, not_scaled)
    assert report.findings["weights"].id == "not_scaled"


def test_heads_tell_what_z_is(attn: Attn, tmp_path: Path) -> None:
    given = attncli.Problem(X=WIDE, heads=2)
    for step in ("context", "output"):
        report = attncli.check(given, written(given, Z=step))
        assert (report.verdict, read(report)) == ("correct", [step])
    answers = {"Q": WIDE, "Z": [[9, 8, 7, 6]] * 3}
    assert attncli.check(given, answers).wrong_steps == ["output"]
    turned = [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0]]
    report = attncli.check(attncli.Problem(X=WIDE, heads=2, W_o=turned), answers)
    assert (report.verdict, dict(report.findings)) == ("incomplete", {})
    assert dict(report.skipped)["Z"].startswith("may mean concat or output")


def test_keys_of_the_problem_are_no_letters() -> None:
    given = attncli.load(SAMPLES / "pooling_words.yaml")
    assert {"W", "b"} <= {*given.given}
    trace = attncli.compute(given)
    assert given.W is not None
    answers = {"W": given.W.tolist(), "weights": trace["weights"].value.round(4).tolist()}
    report = attncli.check(given, answers)
    assert (report.verdict, read(report)) == ("correct", ["weights"])


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


def test_the_shape_of_a_row_is_said() -> None:
    report = attncli.check(problem(), {"weights_1": "0.19", "Q": X})
    message = "weights_1: the shape is (1, 1), but the cells that it names are (3) here"
    assert message in report.findings["weights"].message


# Names that are none


@pytest.mark.parametrize(
    ("word", "raw", "verdict"),
    [
        ("ouput", [[9, 9]], "incomplete"),
        ("wieghts", "1 0\n0 1", "incomplete"),
        ("scratch", [[1, 2], [3, 4]], "incomplete"),
        ("scores[9, 9]", "1", "incomplete"),
        ("weights", [["idk", "idk"]], "incomplete"),
        ("date", "2026-11-24", "correct"),
        ("a line of work", [["2"]], "correct"),
        ("group", "7", "correct"),
        ("group", ["Ada", "Bo"], "correct"),
        ("dk", "2", "correct"),
        ("remarks on this", "I used\nmy calculator", "correct"),
        ("X", X, "correct"),
    ],
)
def test_only_what_is_clearly_no_answer_is_skipped(word: str, raw: Any, verdict: str) -> None:
    report = attncli.check(problem(), {"Q": X, word: raw})
    assert report.verdict == verdict
    assert [key for key, _ in report.skipped] == [word]


@pytest.mark.parametrize(
    ("answers", "verdict", "hint"),
    [
        ({"group": "B", "dk": 2, "ouput": [[9, 9]]}, "incomplete", "did you mean output?"),
        ({"group": "B", "date": "2026-11-24"}, "empty", ""),
    ],
)
def test_sheets_without_any_step(answers: dict[str, Any], verdict: str, hint: str) -> None:
    report = attncli.check(problem(), answers)
    assert (report.verdict, [*report.skipped][-1][1]) == (verdict, hint)


def test_a_file_of_one_slip_is_incomplete(attn: Attn, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(f"X: {X}\n")
    (tmp_path / "a.yaml").write_text("ouput: [[9, 9]]\n")
    result = attn("check", tmp_path / "p.yaml", tmp_path / "a.yaml")
    assert result.status == 1
    assert "incomplete: 0 numbers; skipped: ouput (did you mean output?)" in result.out


def test_a_slip_of_a_name_is_said_in_the_verdict(attn: Attn, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(f"X: {X}\n")
    (tmp_path / "a.yaml").write_text(f"Q: {X}\nouput: [[9, 9]]\ndate: 2026-11-24\n")
    result = attn("check", tmp_path / "p.yaml", tmp_path / "a.yaml")
    assert result.status == 1
    assert result.out.endswith("\nincomplete: 9 numbers; skipped: ouput (did you mean output?)\n")


def test_few_steps_are_listed_for_a_skipped_key(attn: Attn, tmp_path: Path) -> None:
    keys = {"kind": "decode", "X": [[1, 0], [0, 1], [1, 1]], "W_q": [[1, 0], [0, 1]]}
    (tmp_path / "p.json").write_text(json.dumps({**keys, "W_k": [[0, 1], [1, 0]]}))
    (tmp_path / "a.yaml").write_text("q_1: [1, 0]\nW_q[9]: 1\nX[9, 9]: 1\n")
    lines = attn("check", tmp_path / "p.json", tmp_path / "a.yaml").out.splitlines()
    assert lines[-1].startswith("incomplete: 2 numbers; skipped: W_q[9] (leave it out; steps are ")
    assert "X[9, 9] (write the step's name over its numbers" in lines[-1]
    assert len(lines[-1]) < 280
    assert not [line for line in lines[:-1] if "skipped" in line]


def test_a_row_that_is_missing_is_said_in_the_verdict(attn: Attn, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("scores,I,am,good\nI,14,10,9\ngood,9,6,6\n")
    result = attn("check", SAMPLES / "i_am_good.yaml", tmp_path / "a.csv")
    assert result.out.endswith("\ncorrect: 6 numbers; left out: 3 of 9 cells of scores\n")


# The key


def test_names_hold_in_what_is_shown(attn: Attn, tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(f"X: {X}\nnames: {NAMES}\ngradient: sum\n")
    for form in ("table", "markdown", "latex"):
        out = attn("compute", path, "-f", form).out
        assert not re.search(r"\b(scores|weights|output)\b", out), form
    page = attn("compute", path, "-f", "html").out
    assert re.findall(r'<a href="#part-\d+">(.*?)</a>', page) == ["forward pass", "backward pass"]
    assert {*re.findall(r'aria-label="(\w+) = (?:Q K|exp / sum|b V)', page)} >= {"a", "b", "z"}
    assert "a = Q Kᵀ" in attn("compute", path, "--only", "a").out
    assert attn("compute", path, "--only", "d_b").out.count("d_b") == 2
    assert attn("explain", path, "a[1, 2]").out.startswith("a = Q Kᵀ\na[1, 2] = ")
    assert "z = b V" in attn("explain", path, "z").out
    assert re.search(r"(?m)^#+ b$", attn("worksheet", path, "-f", "markdown").out)


@pytest.mark.parametrize("form", ["json", "yaml", "csv", "npz"])
def test_programs_read_the_public_names(form: str, attn: Attn, tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(f"X: {X}\nnames: {NAMES}\n")
    out = tmp_path / f"out.{form}"
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


def test_names_settle_what_letters_mean(attn: Attn, tmp_path: Path) -> None:
    given = problem(names=NAMES, marking={"points": {"b": 2}, "ask": ["b", "z[1, 2]"]})
    report = attncli.check(given, {"a": [[1, 2, 3]] * 3, **written(given, b="weights", z="output")})
    assert (report.verdict, report.points) == ("correct", {"weights": 2})
    report = attncli.check(problem(names=NAMES), {"a": [[1, 2, 3]] * 3})
    assert report.wrong_steps == ["scores"]
    (tmp_path / "p.yaml").write_text(f"X: {X}\n")
    (tmp_path / "a.yaml").write_text("a: [[1, 2, 3], [1, 2, 3], [1, 2, 3]]\n")
    result = attn("check", tmp_path / "p.yaml", tmp_path / "a.yaml", "--names", "a: scores")
    assert "✗ a = Q Kᵀ" in result.out
    assert "wrong, first at a" in result.out


def test_names_of_layers_and_of_steps_that_change_nothing() -> None:
    layer = {"W_1": [[1, 0, 1], [0, 1, 0], [1, 1, 0]], "W_2": [[1, 0, 0], [0, 1, 0], [0, 0, 1]]}
    given = problem(kind="transformer", layers=[layer, layer], names={"a": "scores"})
    trace = attncli.compute(given)
    assert trace["layers.2.scores"].word == "layers.2.a"
    assert trace["layers.2.scaled"].formula == "layers.2.scaled = a / √d_k"
    answers = {"layers.2.a": trace["layers.2.scores"].value.round(3).tolist()}
    assert attncli.check(given, answers).verdict == "correct"
    report = attncli.check(
        problem(names={"c": "context"}), {"c": attncli.compute(problem()).output.round(3).tolist()}
    )
    assert report.verdict == "correct"


def test_a_key_of_the_problem_wins() -> None:
    given = attncli.load(SAMPLES / "pooling_words.yaml")
    values = {key: getattr(given, key) for key in given.given}
    trace = attncli.compute(attncli.Problem(**{**values, "names": {"b": "weights"}}))
    assert trace["weights"].word == "weights"
    assert trace.warnings == ("names: b is a key of this problem, so it does not mean weights",)


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


# All of it


def test_nothing_keeps_a_problem() -> None:
    """What names mean is kept by the trace itself, and not by a module."""
    kept: list[weakref.ref[Any]] = []
    for number in range(3):
        given = problem(X=[[1, 3, 2], [1, 1, 3], [1, 2, number]], gradient="sum")
        key = AnswerKey(given)
        key.check({"wieghts": [[1, 2]], "Q": X, "context": X, "a": X})
        attncli.explain(key.trace, "weights[1, 1]")
        for form in ("table", "html", "json", "numpy"):
            attncli.render(key.trace, form)
        kept += [weakref.ref(given), weakref.ref(key.trace), weakref.ref(key)]
        del given, key
    gc.collect()
    assert [one() for one in kept if one() is not None] == []


def test_a_grade_book_says_why_a_submission_is_incomplete(attn: Attn, tmp_path: Path) -> None:
    for name, text in (("a", "Q: [[1]]\nouput: [[1, 2]]\n"), ("b", "Q: [[1]]\n")):
        (tmp_path / f"{name}.yaml").write_text(text)
    (tmp_path / "p.yaml").write_text("X: [[1]]\n")
    files = [tmp_path / "a.yaml", tmp_path / "b.yaml"]
    out = attn("check", tmp_path / "p.yaml", *files, "-f", "csv").out
    first, second = csv.DictReader(io.StringIO(out))
    assert (first["verdict"], second["verdict"]) == ("incomplete", "correct")
    assert first["message"] == "skipped: ouput (did you mean output?)"
