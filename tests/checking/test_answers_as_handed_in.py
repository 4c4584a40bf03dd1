"""Answers as people hand them in: labels, names, layouts, arrays, tables of a class."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.checking.answers.answers import Written, read_submission
from attncli.checking.check import AnswerKey, Report
from attncli.checking.judging.judged_steps import MISSING, Misshapen, NotGiven
from attncli.core.errors import InputError
from attncli.core.mechanisms.trace import with_named_steps
from attncli.core.numbers.last_place import number_of
from attncli.core.numbers.parser import NumberError
from attncli.reading.document import submission_of
from tests.conftest import SAMPLES, Attn, cases

GOOD = SAMPLES / "i_am_good.yaml"
WHOLE = [["0.98", "0.02", "0.01"], ["0.27", "0.73", "0.00"], ["0.91", "0.05", "0.05"]]
WEIGHTS = {
    ("I", "I"): "0.98", ("I", "am"): "0.02", ("I", "good"): "0.01",
    ("am", "I"): "0.27", ("am", "am"): "0.73", ("am", "good"): "0.00",
    ("good", "I"): "0.91", ("good", "am"): "0.05", ("good", "good"): "0.05",
}  # fmt: skip


def key(path: Path = GOOD) -> AnswerKey:
    return AnswerKey(attncli.load(path))


def cross(**more: Any) -> attncli.Problem:
    return attncli.Problem(
        kind="cross",
        X=[[1, 0], [0, 1]],
        memory=[[1, 2], [3, 1], [0, 2]],
        tokens=["I", "am"],
        memory_tokens=["Ich", "bin", "da"],
        score="dot",
        **more,
    )


def checked(
    text: str | bytes, tmp_path: Path, of: AnswerKey | None = None, to: str = ".csv"
) -> Report:
    (sheet,) = sheets(text, tmp_path, to)
    return (of or key()).check(sheet)


def sheets(text: str | bytes, tmp_path: Path, suffix: str = ".csv") -> list[attncli.Submission]:
    path = tmp_path / f"a{suffix}"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return attncli.load_answers(path)


def said(text: str | bytes, tmp_path: Path, of: AnswerKey | None = None, to: str = ".csv") -> str:
    with pytest.raises(InputError) as caught:
        checked(text, tmp_path, of, to)
    return str(caught.value).replace(f"{tmp_path}/", "")


def counts(report: Report, name: str) -> tuple[int, int]:
    """Return how many cells of a step are right, and how many are left out."""
    found = report.steps[name].counts
    return found["correct"], found["missing"]


def table(rows: list[str], columns: list[str], corner: str = "") -> str:
    lines = [[corner, *columns], *([row, *(WEIGHTS[row, c] for c in columns)] for row in rows)]
    return "weights\n" + "\n".join(",".join(line) for line in lines) + "\n"


# Labels.


@cases("reading_answers", "labels_put_cells_in_order")
@pytest.mark.parametrize("corner", ["", "token"])
def test_labels_put_cells_in_order(
    rows: list[str], columns: list[str], corner: str, tmp_path: Path
) -> None:
    assert counts(checked(table(rows, columns, corner), tmp_path), "weights") == (9, 0)


def test_rows_that_are_not_there_are_left_out(tmp_path: Path) -> None:
    assert counts(checked(table(["good", "am"], ["good", "I"]), tmp_path), "weights") == (4, 5)
    assert counts(checked(table(["am"], ["I", "am", "good"]), tmp_path), "weights") == (3, 6)


@cases("reading_answers", "a_row_that_is_not_there_is_left_out")
def test_a_row_that_is_not_there_is_left_out(text: str, attn: Attn, tmp_path: Path) -> None:
    found = checked(text, tmp_path).steps["weights"]
    assert found.codes[0, 0, 1].tolist() == [MISSING] * 3
    assert found.counts["correct"] == 6 - text.count("n/a")
    assert "3 of 9 cells of weights" in attn("check", GOOD, tmp_path / "a.csv").out


def test_an_empty_list_is_a_row_left_out(tmp_path: Path) -> None:
    for row in ("[]", "~"):
        text = f"scores: [[14, 10, 9], {row}, [1, 2, 3]]\n"
        assert counts(checked(text, tmp_path, to=".yaml"), "scores") == (3, 3)


def test_rows_that_do_not_tell_which_is_left_out(tmp_path: Path) -> None:
    for text in ("V\n5,5,5\n6,6,6\n", "V\n1,3,2\n"):
        assert isinstance(checked(text, tmp_path).steps["V"], Misshapen)
    of = AnswerKey(attncli.Problem(X=[[1, 2], [1, 2], [3, 4]]))
    assert isinstance(checked("V\n1,2\n3,4\n", tmp_path, of).steps["V"], Misshapen)
    assert counts(checked("V\n1,2\n1,2\n", tmp_path, of), "V") == (4, 2)
    column = "sum\n1232733.83\n8909.94\n"
    assert counts(checked(column, tmp_path), "sum") == (2, 1)


def test_labels_in_other_letters_and_numbers(tmp_path: Path) -> None:
    right = table(["good", "I", "am"], ["I", "am", "good"])
    assert checked(right.replace("good", " GOOD"), tmp_path).verdict == "correct"
    numbered = "weights\n,1,2,3\n3,0.91,0.05,0.05\n1,0.98,0.02,0.01\n2,0.27,0.73,0.00\n"
    assert counts(checked(numbered, tmp_path), "weights") == (9, 0)
    columns = "weights\n,3,1,2\n1,0.01,0.98,0.02\n2,0.00,0.27,0.73\n3,0.05,0.91,0.05\n"
    assert counts(checked(columns, tmp_path), "weights") == (9, 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            table(["I", "am", "good"], ["I", "am", "good"]).replace("good,0", "god,0"),
            "a.csv:5:5: weights has no query god\n    god,0.91,0.05,0.05\n        ^\n"
            "  did you mean good? there are I, am, good, or the numbers 1 to 3",
        ),
        (
            "weights\n,I,am,god\nI,1,0,0\nam,1,0,0\ngood,1,0,0\n",
            "a.csv:1:1: weights has no key god",
        ),
        ("weights\nI,1,0,0\nI,1,0,0\ngood,1,0,0\n", "a.csv:3:3: the query I is there twice"),
    ],
)
def test_labels_that_do_not_tell(text: str, message: str, tmp_path: Path) -> None:
    assert said(text, tmp_path).startswith(message)


def test_a_label_that_the_step_has_twice(tmp_path: Path) -> None:
    """In the order of the step nothing is in doubt."""
    of = AnswerKey(attncli.Problem(X=[[1, 0], [0, 1], [2, 1]], tokens=["the", "cat", "the"]))
    q = "Q\nthe,1,0\ncat,0,1\nthe,2,1\n"
    assert checked(q, tmp_path, of).verdict == "correct"
    assert counts(
        checked("Q\n3,2,1\n1,1,0\n2,0,1\n".replace("Q\n", "Q\n,1,2\n"), tmp_path, of), "Q"
    ) == (6, 0)
    message = said("Q\ncat,0,1\nthe,1,0\nthe,2,1\n", tmp_path, of)
    assert "the is the query at 1 and 3, so it does not tell which" in message


def test_words_over_features_are_not_looked_at(tmp_path: Path) -> None:
    text = "Q\ntoken,f2,f1,x\ngood,1,2,1\nI,1,3,2\nam,1,1,3\n"
    assert counts(checked(text, tmp_path), "Q") == (9, 0)


def test_words_tell_that_rows_and_columns_changed_places(tmp_path: Path) -> None:
    of = AnswerKey(cross())
    scores = of.trace["scores"].value
    lines = [
        f"{word},{','.join(f'{x:g}' for x in line)}"
        for word, line in zip(("Ich", "bin", "da"), scores.T, strict=True)
    ]
    text = "scores\n,I,am\n" + "\n".join(lines)
    assert counts(checked(text, tmp_path, of), "scores") == (6, 0)
    assert counts(checked("scores\n" + "\n".join(lines), tmp_path, of), "scores") == (6, 0)
    bad = text.replace("bin", "x")
    assert "scores has no query Ich" in said(bad, tmp_path, of)


def test_each_head_has_its_labels(tmp_path: Path) -> None:
    of = AnswerKey(attncli.Problem(X=[[1, 0], [0, 2]], tokens=["a", "b"], heads=2))
    q = of.trace["Q"].value
    text = f"Q[1]\na,{q[0, 0, 0]:g}\nb,{q[0, 1, 0]:g}\nQ[2]\nb,{q[1, 1, 0]:g}\na,{q[1, 0, 0]:g}\n"
    assert counts(checked(text, tmp_path, of), "Q") == (4, 0)
    side = f"Q\nb,{q[0, 1, 0]:g},{q[1, 1, 0]:g}\na,{q[0, 0, 0]:g},{q[1, 0, 0]:g}\n"
    assert counts(checked(side, tmp_path, of), "Q") == (4, 0)
    (tmp_path / "q.csv").write_text(f"b,{q[1, 1, 0]:g}\na,{q[1, 0, 0]:g}\n")
    report = checked("Q_2: q.csv\n", tmp_path, of, ".yaml")
    assert counts(report, "Q") == (2, 2)


def test_one_column_written_as_a_row_keeps_its_words(tmp_path: Path) -> None:
    of = key()
    sums = dict(zip(("I", "am", "good"), of.trace["sum"].value[:, 0], strict=True))
    text = "sum\n,good,I,am\n," + ",".join(f"{sums[word]:.2f}" for word in ("good", "I", "am"))
    assert counts(checked(text, tmp_path, of), "sum") == (3, 0)


# Names of steps that change nothing.


@pytest.mark.parametrize(
    ("name", "equal"),
    [
        *(("scaled", "scores"), ("masked", "scores"), ("biased", "scores"), ("capped", "scores")),
        *(("context", "output"), ("concat", "output"), ("QK^T/sqrt(d_k)", "scores")),
        *(("context vector", "output"), ("concatenated", "output"), ("scaled scores", "scores")),
    ],
)
def test_a_step_that_equals_another_has_either_name(name: str, equal: str) -> None:
    of = key()
    value = of.trace[equal].value
    for given in ({name: value}, {name: value, equal: value}):
        report = of.check(submission_of(given, "a"))
        assert report.verdict == "correct"
        assert sum(not isinstance(one, NotGiven) for one in report.steps.values()) == len(given)
    wrong = value.copy()
    wrong[0, 0] += 1
    assert of.check(submission_of({name: wrong}, "a")).verdict == "wrong"


def test_all_names_at_once_and_their_order() -> None:
    trace = with_named_steps(key().trace)
    assert list(trace.steps) == [
        *("Q", "K", "V", "scores", "scaled", "capped", "biased", "masked"),
        *("exp", "sum", "weights", "context", "concat", "output"),
    ]
    answers = {step.name: step.value.tolist() for step in trace}
    assert key().check(submission_of(answers, "a")).verdict == "correct"


def test_heads_and_a_projection_after_them() -> None:
    for name in ("heads_cut.yaml", "heads_list.yaml", "mask_causal.yaml", "pooling_words.yaml"):
        of = key(SAMPLES / name)
        wide = with_named_steps(of.trace)
        assert wide.added
        answers = {name: wide[name].value for name in wide.added}
        assert of.check(submission_of(answers, "a")).verdict == "correct"
        for step in wide:
            np.testing.assert_array_equal(step.array, wide[step.name].array)


def test_a_mistake_is_found_under_the_other_name() -> None:
    """Z stays the output where context is written, too; what follows from a slip follows."""
    of = key()
    scores = of.trace["scores"].value
    report = of.check(submission_of({"scores": scores, "scaled": scores / 3**0.5}, "a"))
    assert (report.steps["scores"].status, report.first_wrong_step) == ("correct", "scaled")
    output = of.trace["output"].value
    assert of.check(submission_of({"context": output, "Z": output}, "a")).verdict == "correct"
    assert "there is no step masked" not in str(of.trace)
    with pytest.raises(InputError, match="there is no step capped in this"):
        attncli.check(
            attncli.Problem(
                kind="recurrent", X=[[1, 0]], A=[[1, 0, 1, 0], [0, 1, 0, 1]], h_0=[0, 0]
            ),
            {"capped": [[1]]},
        )


# Layouts.


def test_as_many_heads_as_tokens() -> None:
    """One feature a head: of the two readings the one is taken that has more right numbers."""
    of = AnswerKey(attncli.Problem(X=[[1, 5], [3, 2]], heads=2, score="dot"))
    q = of.trace["Q"].value[..., 0]
    for given in (q, q.T):
        assert of.check(submission_of({"Q": given}, "a")).verdict == "correct"
    sums = of.trace["sum"].value[..., 0]
    for given in (sums, sums.T, sums.tolist(), sums[..., None]):
        assert of.check(submission_of({"sum": given}, "a")).verdict == "correct"
    # With all of its axes it is not in doubt, whatever the numbers.
    assert of.check(submission_of({"sum": sums.T[..., None]}, "a")).verdict == "wrong"


def test_heads_one_above_the_other() -> None:
    of = key(SAMPLES / "heads_cut.yaml")
    for name in ("Q", "weights", "context"):
        value = of.trace[name].value
        above = value.reshape(-1, value.shape[-1])
        side = np.concatenate(list(value), axis=1)
        for given in (above, side, value, list(value)):
            report = of.check(submission_of({name: given}, "a"))
            assert counts(report, name) == (value.size, 0)


def test_one_head_in_a_list_and_one_row_as_a_column() -> None:
    of = key()
    for given in ([of.trace["weights"].value.tolist()], of.trace["weights"].value[None]):
        assert of.check(submission_of({"weights": given}, "a")).verdict == "correct"
    sums = of.trace["sum"].value
    for given in (sums, sums.T, sums[:, 0], sums[:, 0].tolist()):
        assert of.check(submission_of({"sum": given}, "a")).verdict == "correct"


# What numbers came as.


def written(given: Any, name: str = "weights") -> Written:
    of = key()
    found = read_submission(submission_of({name: given}, "a"), of.trace)[0][name]
    assert isinstance(found, Written)
    return found


@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_arrays_keep_their_kind(kind: str, tmp_path: Path) -> None:
    array = key().trace["weights"].value.astype(kind)
    assert written(array).dtype == kind
    assert written(list(array)).dtype == kind
    assert written(array.tolist()).dtype == ("" if kind == "float64" else kind)
    np.savez(tmp_path / "a.npz", weights=array)
    (sheet,) = attncli.load_answers(tmp_path / "a.npz")
    (found,) = read_submission(sheet, key().trace)[0].values()
    assert isinstance(found, Written)
    assert found.dtype == kind
    text = "\n".join(" ".join(map(str, row)) for row in array)
    assert written(text).dtype == (kind if kind == "float32" else "")


def test_whole_numbers_of_an_array_are_exact() -> None:
    scores = key().trace["scores"].value.astype(int)
    assert (written(scores, "scores").unit == 0).all()
    assert (written(scores.tolist(), "scores").unit == 1).all()
    assert written([["0.9755588", "0.02", "0.01"]] * 3).dtype == ""


def test_percentages_and_signs_have_their_units(tmp_path: Path) -> None:
    cells = [["97.56%", "≈0.02", "~0,01"], ["27 %", "0,73", "–0"], ["91%", "1/20", "0.0453"]]
    texts = written(cells)
    np.testing.assert_allclose(
        texts.unit[0, 0], [[0.0001, 0.01, 0.01], [0.01, 0.01, 1], [0.01, 0, 0.0001]]
    )
    assert (
        key().check(submission_of({"weights": [*cells[:2], ["91%", "~", "~"]]}, "a")).verdict
        == "correct"
    )
    text = "weights: |\n  97,56% 1,79% 0,66%\n  26,76% 72,75% 0,49%\n  90,94% 4,53% 4,53%\n"
    assert checked(text, tmp_path, to=".yaml").counts["correct"] >= 9
    large = [["1,202,604.28", "22,026.47", "8.103,08"], ["~"] * 3, ["~"] * 3]
    assert key().check(submission_of({"exp": large}, "a")).counts["correct"] == 3


@cases("reading_answers", "cells_that_are_no_numbers")
def test_cells_that_are_no_numbers(cell: object, message: str) -> None:
    """Each costs itself, and nothing but them is no matrix."""
    with pytest.raises(InputError) as caught:
        key().check(submission_of({"weights": [[cell] * 3] * 3}, "a"))
    assert message in str(caught.value)
    right = key().trace["weights"].value.tolist()
    report = key().check(submission_of({"weights": [[cell, *right[0][1:]], *right[1:]]}, "a"))
    assert report.steps["weights"].counts["wrong"] == 1
    assert counts(report, "weights") == (8, 0)


@pytest.mark.parametrize(
    ("cell", "value", "unit"),
    [
        *(("about 7", 7, 1), ("ca. 7,5", 7.5, 0.1), ("~7", 7, 1), ("approx. 0.25", 0.25, 0.01)),
        *(("=7", 7, 1), ("=1*1+3*1", 4, 0), ("= 1/4", 0.25, 0), ("=SQRT(16)", 4, 0)),
    ],
)
def test_numbers_as_spreadsheets_and_people_have_them(cell: str, value: float, unit: float) -> None:
    texts = written([[cell, 0, 0]] * 3)
    assert (texts.values[0, 0, 0, 0], texts.unit[0, 0, 0, 0]) == (value, unit)
    assert texts.unreadable is None


@pytest.mark.parametrize("cell", ["=SUM(A1:B2)", "=A1+B2", "n/a", "idk", "12,,3"])
def test_an_unreadable_cell_is_wrong_and_not_missing(cell: str, attn: Attn, tmp_path: Path) -> None:
    texts = written([[cell, "0.02", "0.01"], ["~", "0.73", "0"], ["0.91", "0.05", "0.05"]])
    assert texts.unreadable is not None
    assert np.argwhere(texts.unreadable[0, 0]).tolist() == [[0, 0]]
    assert np.argwhere(texts.missing[0, 0]).tolist() == [[1, 0]]
    (tmp_path / "a.csv").write_text(
        f"weights\n0.98,0.02,0.01\n0.27,0.73,0.00\n0.91,0.05,{cell!r}\n".replace("'", '"')
    )
    result = attn("check", GOOD, tmp_path / "a.csv")
    assert (result.status, f"{cell} ✗" in result.out) == (1, True)
    with pytest.raises(NumberError, match="paste as values" if cell[0] == "=" else "not a number"):
        number_of(cell)


def test_keys_that_mean_no_step_cost_themselves_alone(attn: Attn, tmp_path: Path) -> None:
    keys = {
        **{"dk": "2", "date": "2026-01-01", "group": "3", "email": "ada@b.c", "weights": WHOLE},
        **{"wieghts": WHOLE, "X": [["1"]], "Q": "see page 2", "scores[9, 9]": "1"},
    }
    sheet = submission_of(keys, "a")
    matrices, skipped = read_submission(sheet, key().trace)
    assert list(matrices) == ["weights"]
    said = dict(skipped)
    assert list(said) == [word for word in keys if word != "weights"]
    assert (said["dk"], said["email"], said["wieghts"]) == ("", "", "did you mean weights?")
    assert said["X"].startswith("write the step's name over its numbers")
    assert said["Q"] == "row 1, column 1 of Q: see is not a number"
    assert key().check(sheet).verdict == "incomplete"
    (tmp_path / "a.yaml").write_text("dk: 2\ngroup: 3\n")
    result = attn("check", GOOD, tmp_path / "a.yaml")
    assert result.status == 1
    assert "skipped: dk, group (no steps of this problem)\n\nempty: nothing" in result.out


@pytest.mark.parametrize(
    "name", ["Weights:", "## weights", "**A**", "step 3: weights", "weights (softmax)", "$A$ ="]
)
def test_names_as_headings(name: str) -> None:
    assert key().check(submission_of({name: WHOLE}, "a")).counts["correct"] == 9


# Many sheets in one file.


def test_a_list_of_sheets(tmp_path: Path) -> None:
    given = [{"student": "Ada", "scores": [["14"]]}, {"weights": [[0.5]], "comment": ["a", "b"]}]
    for text, to in (
        (json.dumps(given), ".json"),
        ("- student: Ada\n  S: [[14]]\n- A: [[1]]\n", ".yaml"),
    ):
        first, second = sheets(text, tmp_path, to)
        assert (first.name, second.name) == ("Ada", f"{tmp_path / 'a'}{to}, 2")
    assert sheets(json.dumps(given), tmp_path, ".json")[1].comment == "a\nb"
    place = sheets('[\n {"scores": [[1,\n 2]]}]', tmp_path, ".json")[0].locate(("scores", 0, 1))
    assert (place.line, place.column) == (3, 2)
    message = said('[{"scores": [[1]]}, 5]', tmp_path, to=".json")
    assert message.startswith("a.json:1:21: item 2 of the list must be a mapping")


@pytest.mark.parametrize(
    ("text", "to"), [("[[1, 2]]", ".json"), ("- 1\n", ".yaml"), ("1,2\n", ".csv")]
)
def test_numbers_without_a_step(text: str, to: str, tmp_path: Path) -> None:
    message = said(text, tmp_path, to=to)
    assert message.startswith(f"a{to}: these numbers do not tell of which step they are")


def test_an_array_without_a_step(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    np.save(buffer, np.eye(2))
    assert "do not tell of which step" in said(buffer.getvalue(), tmp_path, to=".npy")


WIDE = (
    'Name,"weights[am, I]","scores[1,1]",Comment,"scores[good, good]"\nAda,0.27,14,fine,6\nBo,,15\n'
)


@pytest.mark.parametrize(
    "text",
    [
        WIDE,
        WIDE.replace('"', "").replace("[am, I]", "[am,I]"),  # not quoted, as some tables have it
        WIDE.replace("Name", "Time,STUDENT").replace("Ada", "10:31,Ada").replace("Bo", "10:32,Bo"),
        WIDE.replace('"', "")
        .replace("[am, I]", "[am; I]")
        .replace(",", ";")
        .replace("[am; I]", "[2,1]")
        .replace("[1;1]", "[1,1]")
        .replace("[good; good]", "[3,3]")
        .replace("0.27", "0,27"),
    ],
)
def test_a_row_a_student(text: str, tmp_path: Path) -> None:
    ada, bo = sheets(text, tmp_path)
    assert (ada.name, bo.name, ada.comment) == ("Ada", "Bo", "fine")
    report = key().check(ada)
    assert (report.verdict, report.counts["correct"]) == ("correct", 3)
    report = key().check(bo)
    assert (report.verdict, counts(report, "weights")) == ("wrong", (0, 9))


def test_a_row_a_student_with_heads_and_places(attn: Attn, tmp_path: Path) -> None:
    of = key(SAMPLES / "heads_cut.yaml")
    value = f"{of.trace['weights'].value[1, 0, 1]:.3f}"
    (sheet,) = sheets(f'name,"weights[head 2][1, 2]"\nAda,{value}\n', tmp_path)
    assert counts(of.check(sheet), "weights")[0] == 1
    (sheet,) = sheets('name,"scores[1,1]","scores[1,2]"\nAda,five,10\n', tmp_path)
    assert key().check(sheet).steps["scores"].counts["wrong"] == 1
    message = said('name,"scroes[1,1]"\nAda,5\n', tmp_path)
    assert message.startswith("a.csv:1:6: scroes[1,1] is not the name of one cell")
    assert "--map 'scroes[1,1]=scores[1,1]'" in message
    assert "scores[1,1] is there twice" in said(
        'name,"scores[1,1]","scores[1,1]"\nA,1,2\n', tmp_path
    )
    path = tmp_path / "class.csv"
    path.write_text(WIDE)
    result = attn("check", GOOD, path)
    assert result.status == 1
    assert "2 answers: 1 correct, 1 wrong" in result.out


LONG = """Student,Value,STEP,Row,Column
Ada,14,scores,I,I
Bo,15,scores,1,1
Ada,0.27,weights,am,I
Ada,8909.94,sum,good,
"""


def test_a_row_a_number(tmp_path: Path) -> None:
    ada, bo = sheets(LONG, tmp_path)
    assert key().check(ada).counts["correct"] == 3
    assert key().check(bo).first_wrong_step == "scores"
    alone = "step,row,column,value\nscores,I,am,10\nscores,I,I,14\n"
    (sheet,) = sheets(alone, tmp_path)
    assert key().check(sheet).counts["correct"] == 2
    message = said(alone + "scores,I,I,14\n", tmp_path)
    assert message.startswith("a.csv:4:12: scores[I, I] is written twice, first in line 3")
    message = said("step,row,column,value\nscores,I,bad,14\n", tmp_path)
    assert message.startswith("a.csv:2:14: scores[I, bad]: there is no key bad")
    assert "does not tell of which step" in said(alone + ",I,I,14\n", tmp_path)


def test_a_row_a_number_with_heads_and_hostile_labels(tmp_path: Path) -> None:
    problem = attncli.Problem(X=[[1, 5], [3, 2]], tokens=["a, b", "c"], heads=2, score="dot")
    of = AnswerKey(problem)
    scores = of.trace["scores"].value
    lines = ["head,step,row,column,value", f'2,scores,"a, b",c,{scores[1, 0, 1]:g}']
    lines += [f'head 1,scores,c,"a, b",{scores[0, 1, 0]:g}']
    assert counts(checked("\n".join(lines), tmp_path, of), "scores") == (2, 6)


# What stands beside, and files of other programs.


def test_remarks_are_kept(tmp_path: Path) -> None:
    for word in ("comment", "comments", "remark", "note", "notes"):
        (sheet,) = sheets(f"student: Ada\n{word}: it was late\nS[1,1]: 14\n", tmp_path, ".yaml")
        assert (sheet.comment, key().check(sheet).verdict) == ("it was late", "correct")
    (sheet,) = sheets("comment,late\nscores\n14,10,9\n10,11,6\n9,6,6\n", tmp_path)
    assert (sheet.comment, key().check(sheet).verdict) == ("late", "correct")
    inside = attncli.load(GOOD)
    sheet = submission_of({"answers": {"S[1,1]": 14, "remark": "r"}, "title": inside.title}, "a")
    assert (sheet.name, sheet.comment) == (inside.title, "r")


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("a.xls", b"x", "save it as .xlsx: in Excel by File, Save As, Excel Workbook"),
        ("a.ods", b"x", "save it as .xlsx: in LibreOffice"),
        ("a.numbers", b"x", "Export To, Excel"),
        ("a.docx", b"PK", "this is a text document, not a file of answers"),
        ("a", b"PK\x03\x04" + b"\0" * 40 + b"word/document.xml", "a text document"),
        ("a.csv", b"%PDF-1.4\n\xff", "this is a PDF, not a file of answers"),
        ("a.png", b"\x89PNG", "this is a picture"),
    ],
)
def test_files_of_other_programs(
    name: str, data: bytes, words: str, attn: Attn, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    result = attn("check", GOOD, path)
    assert result.status == 2
    assert words in result.err
    assert len(result.err.splitlines()) == 2


# ---- answers from bare files, -m NAME=FILE

BARE = "0.98,0.02,0.01\n0.27,0.73,0.00\n0.91,0.05,0.05\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a problem without answers, and bare matrices."""
    (tmp_path / "p.yaml").write_text(
        "{X: [[1, 3, 2], [1, 1, 3], [1, 2, 1]], score: dot, tokens: [I, am, good]}"
    )
    (tmp_path / "w.csv").write_text(BARE)
    (tmp_path / "labelled.csv").write_text(",I,am,good\ngood,0.91,0.05,0.05\nI,0.98,0.02,0.01\n")
    np.save(tmp_path / "v.npy", np.array([[1.0, 3, 2], [1, 1, 3], [1, 2, 1]]))
    (tmp_path / "x.csv").write_text("1 0 0\n0 1 0\n0 0 1\n")
    (tmp_path / "ada.yaml").write_text(
        "{student: Ada, scores: [[14, 10, 9], [10, 11, 6], [9, 6, 6]]}"
    )
    return tmp_path


@pytest.mark.parametrize("name", ["weights[am, I]", "A[2,1]"])
def test_a_single_cell_on_standard_input_is_yaml(name: str, attn: Attn) -> None:
    """A comma in its brackets does not make it a row of CSV."""
    result = attn("check", GOOD, "-", stdin=f"{name}: 0.27\n".encode())
    assert "correct: 1 number" in result.out


@cases("reading_answers", "an_answer_in_a_bare_file")
def test_an_answer_in_a_bare_file(
    arguments: list[str], said: str, folder: Path, attn: Attn
) -> None:
    result = attn("check", "p.yaml", *arguments, cwd=folder)
    assert said in result.out + result.err
    statuses = {"correct": 0, "wrong": 1, "incomplete": 1}
    assert result.status == statuses.get(re.split("[:,]", said)[0], 2)


def test_a_bare_file_replaces_an_answer(folder: Path, attn: Attn) -> None:
    (folder / "ada.yaml").write_text("{student: Ada, weights: [[1, 0, 0]]}")
    result = attn("check", "p.yaml", "ada.yaml", "-m", "weights=w.csv", cwd=folder)
    assert (result.status, result.out.splitlines()[-1]) == (0, "correct: 9 numbers")
    own = "answers: {weights: [[1, 0, 0]], V: [[1, 3, 2], [1, 1, 3], [1, 2, 1]]}"
    (folder / "own.yaml").write_text(f"X: v.npy\nscore: dot\n{own}\n")
    result = attn("check", "own.yaml", "-m", "weights=w.csv", cwd=folder)
    assert (result.status, result.out.splitlines()[-1]) == (0, "correct: 18 numbers")


def test_a_bare_file_is_of_one_sheet(folder: Path, attn: Attn) -> None:
    (folder / "class.yaml").write_text("student: Ada\n---\nstudent: Bo\n")
    result = attn("check", "p.yaml", "class.yaml", "-m", "weights=w.csv", cwd=folder)
    assert result.status == 2
    assert result.err == (
        "-m weights=w.csv is an answer of one submission, but there are 2 submissions\n"
        "  write weights: w.csv in its file\n"
    )
