"""Answers as people hand them in: labels, rows left out, layouts, arrays, tables of a class.

What the command line says of such files is in `tests/data/sessions/answer_files.txt`.
"""

from __future__ import annotations

import io
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.checking.check import AnswerKey
from attncli.core.calculation.trace import with_named_steps
from attncli.core.errors import InputError
from attncli.core.numbers.last_place import number_of, numbers_of
from attncli.core.numbers.parser import NumberError
from attncli.reading.document import submission_of
from tests.checking.judged_cases import assert_refused, judged_cases, marks, problem_of
from tests.conftest import SAMPLES, Attn, cases, table

GOOD = SAMPLES / "i_am_good.yaml"


def key(name: str = "i_am_good.yaml") -> AnswerKey:
    return AnswerKey(problem_of(name))


def sheets(text: str | bytes, tmp_path: Path, suffix: str = ".csv") -> list[attncli.Submission]:
    path = tmp_path / f"a{suffix}"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return attncli.load_answers(path)


# ---- layouts


def test_all_names_at_once_and_their_order() -> None:
    trace = with_named_steps(key().trace)
    assert list(trace.steps) == [
        *("Q", "K", "V", "scores", "scaled", "capped", "biased", "masked"),
        *("exp", "sum", "weights", "context", "concat", "output"),
    ]
    answers = {step.name: step.value.tolist() for step in trace}
    assert key().check(answers).verdict == "correct"


@pytest.mark.parametrize(
    "name", ["heads_cut.yaml", "heads_list.yaml", "mask_causal.yaml", "pooling_words.yaml"]
)
def test_every_name_of_a_step_that_changes_nothing_is_right(name: str) -> None:
    of = key(name)
    wide = with_named_steps(of.trace)
    assert wide.added
    answers = {added: wide[added].value for added in wide.added}
    assert of.check(answers).verdict == "correct"
    for added, value in answers.items():
        other = np.where(np.isfinite(value), value + 1, value)
        assert of.check(answers | {added: other}).verdict == "wrong"
    for step in wide:
        np.testing.assert_array_equal(step.array, wide[step.name].array)


def test_as_many_heads_as_tokens() -> None:
    """One feature a head: of the two readings the one is taken that has more right numbers."""
    of = AnswerKey(attncli.Problem(X=[[1, 5], [3, 2]], heads=2, score="dot"))
    q, sums = (of.trace[name].value[..., 0] for name in ("Q", "sum"))
    for name, given in (
        *(("Q", one) for one in (q, q.T)),
        *(("sum", one) for one in (sums, sums.T, sums.tolist(), sums[..., None])),
    ):
        assert of.check({name: given}).verdict == "correct"
    # With all of its axes it is not in doubt, whatever the numbers.
    assert of.check({"sum": sums.T[..., None]}).verdict == "wrong"


@pytest.mark.parametrize("step", ["Q", "weights", "context"])
def test_heads_one_above_the_other_or_side_by_side(step: str) -> None:
    of = key("heads_cut.yaml")
    value = of.trace[step].value
    above = value.reshape(-1, value.shape[-1])
    for given in (above, np.concatenate(list(value), axis=1), value, list(value)):
        report = of.check({step: given})
        assert set(marks(report.steps[step])) == {"✓", " "}
    wrong = above + 9 * (np.arange(above.size).reshape(above.shape) == 0)
    assert marks(of.check({step: wrong}).steps[step]).count("✗") == 1


def test_one_head_in_a_list_and_one_row_as_a_column() -> None:
    of = key()
    weights, sums = of.trace["weights"].value, of.trace["sum"].value
    for given in ([weights.tolist()], weights[None]):
        assert of.check({"weights": given}).verdict == "correct"
    for given in (sums, sums.T, sums[:, 0], sums[:, 0].tolist()):
        assert of.check({"sum": given}).verdict == "correct"
    assert of.check({"sum": sums[::-1]}).verdict == "wrong"


# ---- what numbers came as


@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_arrays_keep_their_kind(kind: str, tmp_path: Path) -> None:
    array = key().trace["weights"].value.astype(kind)
    np.savez(tmp_path / "a.npz", weights=array)
    (sheet,) = attncli.load_answers(tmp_path / "a.npz")
    printed = "\n".join(" ".join(map(str, row)) for row in array)
    kinds = {
        key().check(sheet).dtype: kind,
        key().check({"weights": list(array)}).dtype: kind,
        key().check({"weights": array.tolist()}).dtype: "" if kind == "float64" else kind,
        key().check({"weights": printed}).dtype: kind if kind == "float32" else "",
    }
    assert all(found == wanted for found, wanted in kinds.items())


@pytest.mark.parametrize(("kind", "decimals"), [("f2", 2), ("f4", 2), ("f4", 4)])
def test_short_floats_that_were_rounded_are_decimals(kind: str, decimals: int) -> None:
    """Of a list of NumPy's numbers, as `np.round` gives them."""
    weights = key().trace["weights"].value
    rounded = np.round(weights.astype(kind), decimals)
    for given in (list(rounded), [list(row) for row in rounded]):
        report = key().check({"weights": given})
        assert (report.dtype, marks(report.steps["weights"])) == ("", "✓✓✓ ✓✓✓ ✓✓✓")
        texts = report.steps["weights"].texts  # type: ignore[attr-defined]  # of a step given
        assert texts[0, 1] == f"{weights[0, 1]:.{decimals}f}".rstrip("0")
    rounded[0, 0] -= 0.05
    assert key().check({"weights": rounded}).first_wrong_step == "weights"


def test_whole_numbers_of_an_array_are_exact() -> None:
    """0.97 as 1 is the rounding of a hand, and of no program."""
    for row, found in (([1, 0, 0], "✓✓✓"), (np.array([1, 0, 0]), "✗✗✗")):
        report = key().check({"weights[1]": row})
        assert marks(report.steps["weights"]) == f"{found} ___ ___"


@cases("written_numbers", "written_numbers")
def test_a_written_number_is_as_exact_as_its_decimals(
    written: str, value: float, unit: float
) -> None:
    """`unit` is that of the last place, by which the number may be off."""
    values, units, _ = numbers_of(np.array([[written]], object))
    assert values[0, 0] == pytest.approx(value, rel=1e-12)
    assert units[0, 0] == pytest.approx(unit, rel=1e-6)


@pytest.mark.parametrize("cell", ["=SUM(A1:B2)", "=A1+B2", "n/a", "idk", "12,,3"])
def test_a_cell_that_is_no_number_says_what_to_do(cell: str) -> None:
    with pytest.raises(NumberError, match="paste as values" if cell[0] == "=" else "not a number"):
        number_of(cell)


@judged_cases("reading_answers", "a_matrix_in_a_text")
def test_a_matrix_in_a_text(case: dict[str, Any]) -> None:
    report = attncli.check(problem_of("good"), {"scores": case["text"]})
    assert marks(report.steps["scores"]) == "✓✓✓ ✓✓✓ ✓✓✓"
    x = attncli.Problem(X=case["text"]).X
    assert isinstance(x, np.ndarray)
    assert x.tolist() == [[14, 10, 9], [10, 11, 6], [9, 6, 6]]


# ---- many sheets in one file


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


def test_an_array_without_a_step(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    np.save(buffer, np.eye(2))
    with pytest.raises(InputError, match="do not tell of which step"):
        sheets(buffer.getvalue(), tmp_path, ".npy")


WIDE = table("reading_answers", "a_row_per_student")


@pytest.mark.parametrize("text", WIDE.values(), ids=WIDE)
def test_a_table_may_have_a_row_per_student(text: str, tmp_path: Path) -> None:
    ada, bo = sheets(text, tmp_path)
    assert (ada.name, bo.name, ada.comment) == ("Ada", "Bo", "fine")
    report = key().check(ada)
    assert marks(report.steps["weights"]) == "___ ✓__ ___"
    assert marks(report.steps["scores"]) == "✓__ ___ __✓"
    report = key().check(bo)
    assert marks(report.steps["weights"]) == "___ ___ ___"
    assert marks(report.steps["scores"]) == "✗__ ___ ___"


def test_a_table_may_have_a_row_per_number_of_each_student(tmp_path: Path) -> None:
    ada, bo = sheets(table("reading_answers", "a_row_per_number_of_a_class"), tmp_path)
    assert key().check(ada).counts["correct"] == 3
    assert key().check(bo).first_wrong_step == "scores"


@pytest.mark.parametrize("word", ["comment", "comments", "remark", "note", "notes"])
def test_remarks_are_kept(word: str, tmp_path: Path) -> None:
    (sheet,) = sheets(f"student: Ada\n{word}: it was late\nS[1,1]: 14\n", tmp_path, ".yaml")
    assert (sheet.comment, key().check(sheet).verdict) == ("it was late", "correct")


def test_answers_inside_a_mapping_have_its_title_and_remark() -> None:
    sheet = submission_of({"answers": {"S[1,1]": 14, "remark": "r"}, "title": "Homework"}, "a")
    assert (sheet.name, sheet.comment) == ("Homework", "r")


@judged_cases("reading_answers", "titles_and_comments")
def test_titles_and_comments_of_a_table_are_kept(case: dict[str, Any], tmp_path: Path) -> None:
    for sign in (",", " ") if "," not in case["text"] else (",",):
        rows = "".join(sign.join(row) + "\n" for row in (("14", "10", "9"), ("10", "11", "6")))
        (sheet,) = sheets(f"{case['text']}{rows}9{sign}6{sign}6\n", tmp_path)
        report = AnswerKey(problem_of("good")).check(sheet)
        assert (report.comment, report.skipped) == (case["comment"], ())
        is_blank = case["text"].startswith("Q\n")  # the name of a step without numbers
        assert report.verdict == ("incomplete" if is_blank else "correct")
        assert report.name == ("Ada" if "student" in case["text"] else f"{tmp_path}/a.csv")


def test_an_empty_field_for_the_name_is_no_title(tmp_path: Path) -> None:
    (sheet,) = sheets("student,\nscores,,\n14,10,9\n10,11,6\n9,6,6\n", tmp_path)
    assert (sheet.comment, sheet.name) == ("", f"{tmp_path}/a.csv")


@judged_cases("reading_answers", "a_sheet_that_gives_nothing")
def test_a_sheet_that_gives_nothing_is_empty(
    case: dict[str, Any], attn: Attn, tmp_path: Path
) -> None:
    path = tmp_path / case["file"]
    path.write_text(case["text"])
    result = attn("check", GOOD, path)
    assert (result.status, result.err) == (1, "")
    assert "empty: nothing was given" in result.out
    for form in ("json", "csv", "markdown", "html"):
        assert "empty" in attn("check", GOOD, path, "-f", form).out


@judged_cases("reading_answers", "a_bad_sheet_costs_only_itself")
def test_a_bad_sheet_costs_only_itself(case: dict[str, Any], attn: Attn, tmp_path: Path) -> None:
    path = tmp_path / case["file"]
    path.write_text(case["text"])
    result = attn("check", GOOD, path, "-f", "json")
    verdicts = [json.loads(line)["verdict"] for line in result.out.splitlines()]
    assert (result.status, verdicts) == (2, case["verdicts"])
    assert result.err.count(case["said"]) == 1  # each fault is told once
    if case["file"].endswith(".yaml"):
        with pytest.raises(attncli.InputError):
            attncli.load_answers(path)


# ---- files of other programs


@cases("reading_answers", "programs")
def test_files_of_other_programs_say_what_to_save(
    name: str, data: str, words: str, attn: Attn, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(data.encode("latin-1"))
    for command in (["check", GOOD, path], ["compute", path]):
        result = attn(*command)
        assert (result.status, len(result.err.splitlines())) == (2, 2)
        assert words in result.err
        assert "\\x" not in result.err


def test_an_answer_in_a_bare_file_of_numpy(attn: Attn, tmp_path: Path) -> None:
    path = tmp_path / "v.npy"
    for factor, status in ((1, 0), (2, 1)):
        np.save(path, factor * key().trace["V"].value)
        assert attn("check", GOOD, "-m", f"V={path}", "--allow-outside", "-q").status == status


def test_a_file_name_that_is_not_utf_8(attn: Attn, tmp_path: Path) -> None:
    sheet = tmp_path / "Zo\udceb.yaml"
    sheet.write_text("scores: [[14, 10, 9], [10, 11, 6], [9, 6, 6]]\n")
    record = json.loads(attn("check", GOOD, sheet, "-f", "json").out)
    assert record["name"].endswith("Zo\\udceb.yaml")


# ---- what cannot be read


@judged_cases("reading_answers", "refused")
def test_what_cannot_be_read_is_refused(case: dict[str, Any]) -> None:
    with pytest.raises(InputError) as caught:
        attncli.check(problem_of(case["problem"]), case["answers"])
    assert_refused(case, str(caught.value))


@pytest.mark.parametrize("kind", ["bmatrix", "array", "tabular"])
def test_beginnings_of_matrices_alone_take_time_in_proportion(kind: str, tmp_path: Path) -> None:
    def seconds(count: int) -> float:
        start = time.process_time()
        with pytest.raises(InputError):
            sheets(f"\\begin{{{kind}}}" * count, tmp_path, ".tex")
        return time.process_time() - start

    few, many = (min(seconds(count) for _ in range(3)) for count in (5_000, 40_000))
    assert many < 24 * few  # 8 times as many; one within the other would take 64 times as long


ENDLESS: list[Any] = []
ENDLESS.append(ENDLESS)


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({1: 2}, "must be the name of a step, not 1"),
        ({None: [[1]]}, "must be the name of a step, not None"),
        ({("a",): [[1]]}, "must be the name of a step, not ('a',)"),
        ({b"scores": [[1]]}, "must be the name of a step, not b'scores'"),
        ({"answers": {1: [[1]]}}, "must be the name of a step, not 1"),
        ([], "answers must be a mapping of step names to matrices"),
        (5, "answers must be a mapping of step names to matrices"),
        (np.ones((3, 3)), "answers must be a mapping of step names to matrices"),
        ("sheet.yaml", "load_answers reads a file"),
        (Path("sheet.yaml"), "load_answers reads a file"),
        ({"scores": ENDLESS}, "a list may not contain itself"),
        ({"scores": [[1, 2, 3], [1, 2, 3], ENDLESS]}, "a list may not contain itself"),
        ({"scores": np.ones((3, 3), bool)}, "scores holds true and false, not numbers"),
        (None, "the problem has no answers"),
    ],
    ids=str,
)
def test_what_python_may_hand_over(answers: Any, said: str) -> None:
    with pytest.raises(InputError) as caught:
        attncli.check(problem_of("good"), answers)
    assert said in str(caught.value)
    assert len(str(caught.value).splitlines()) <= 2


@pytest.mark.parametrize("given", [None, 5, "x", {"X": [[1]]}], ids=str)
def test_a_problem_must_be_one(given: Any) -> None:
    for marking in (None, {"ask": ["weights"]}):
        with pytest.raises(InputError, match="a problem is taken here"):
            attncli.check(given, {"scores": [[1]]}, marking=marking)


def test_an_answer_key_takes_plain_matrices() -> None:
    scores = [[14, 10, 9], [10, 11, 6], [9, 6, 6]]
    assert key().check({"scores": scores, "comment": ENDLESS}).verdict == "correct"
    with pytest.raises(InputError, match="must be a mapping"):
        key().check(scores)  # type: ignore[arg-type]  # on purpose
    with pytest.raises(InputError, match="may not contain itself"):
        attncli.Problem(X=ENDLESS)
    for nothing in ({}, {"student": "Eve"}, {"scores": None}):
        assert key().check(nothing).verdict == "empty"
