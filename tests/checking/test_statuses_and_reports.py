"""`attn check`: statuses by the written digits, forms of answers, reports, exit statuses."""

from __future__ import annotations

import csv
import io
import json
import pickle
import re
import runpy
from itertools import product
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from markdown_it import MarkdownIt

import attncli
from attncli.checking.check import AnswerKey, Report
from attncli.checking.judging.judged_steps import STATUSES, WRONG, NotGiven
from attncli.checking.mistakes.catalogue import CONVENTIONS, MISTAKES
from attncli.core.tape.cell_names import ALIASES
from attncli.printing.formats import FORMATS, Selection
from attncli.printing.grades import HEADS, SAID_COLUMNS, report_record
from attncli.reading.document import submission_of
from tests.conftest import ROOT, SAMPLES, TYPICAL_SAMPLES, Attn, cases
from tests.support.snapshots import assert_same

GOOD = "sample_inputs/i_am_good.yaml"
SCALED = "sample_inputs/integers_scaled.yaml"
ANSWERS = Path("sample_inputs/answers")
PUBLISHED = [["0.97", "0.02", "0.01"], ["0.27", "0.73", "0.00"], ["0.90", "0.05", "0.05"]]


def problem(**given: Any) -> attncli.Problem:
    words = {"X": [[1, 3, 2], [1, 1, 3], [1, 2, 1]], "score": "dot"}
    return attncli.Problem(**(words | given))


def statuses(report: Report, name: str) -> list[str]:
    """Return the status of each cell of a step, row by row on paper."""
    judged = report.steps[name]
    return [STATUSES[code] for code in judged.step.on_paper(judged.codes).ravel()]


def one_weight(written: str) -> str:
    """Return the status of one written number, where 0.975559 is right."""
    cells = [[written, "~", "~"], ["~"] * 3, ["~"] * 3]
    return statuses(attncli.check(problem(), {"weights": cells}), "weights")[0]


def test_published_weights_have_two_that_are_off_in_the_last_digit(attn: Attn) -> None:
    """Exact arithmetic gives 0.975559 and 0.909443; 0.97 and 0.90 were published."""
    report = attncli.check(attncli.load(SAMPLES / "i_am_good.yaml"), {"weights": PUBLISHED})
    assert [i for i, s in enumerate(statuses(report, "weights")) if s == "last_digit"] == [0, 6]
    assert report.counts["correct"] == 7
    assert attn("check", GOOD, ANSWERS / "published.yaml").status == 0
    strict = attn("check", GOOD, ANSWERS / "published.yaml", "--strict")
    assert strict.status == 1
    assert "weights[I, I] is 0.97, should be 0.98" in strict.out
    assert "weights[good, I] is 0.90, should be 0.91" in strict.out


@cases("check", "written_digits_are_respected")
def test_written_digits_are_respected(written: str, status: str) -> None:
    assert one_weight(written) == status


def test_half_may_be_rounded_either_way() -> None:
    """0.25 in one decimal is 0.3 as people round and 0.2 as floats are rounded."""
    for written in ("0.3", "0.2"):  # for 0.25
        report = attncli.check(problem(X=[[0.5]]), {"scores": [[written]]})
        assert statuses(report, "scores") == ["correct"]


def test_whole_numbers_are_not_off_in_the_last_digit() -> None:
    """Nothing was rounded to get 14, so 15 is a slip; 13.9 of a step with decimals is not."""
    report = attncli.check(problem(), {"scores": [[15, 10, 9], [10, 11, 6], [9, 6, 6]]})
    assert statuses(report, "scores")[0] == "wrong"
    assert report.findings["scores"].id == "single_cell_slip"


def test_significant_digits_of_large_numbers() -> None:
    """1200000 is 1202604 in three significant digits; beside 1202604.3 it would be wrong."""
    three = [["1200000", "22000", "8100"], ["22000", "59900", "403"], ["8100", "403", "403"]]
    assert attncli.check(problem(), {"exp": three}).verdict == "correct"
    three[0] = ["1200000", "22026.47", "8103.08"]
    assert statuses(attncli.check(problem(), {"exp": three}), "exp")[0] == "wrong"


def test_floats_of_32_bits_are_correct() -> None:
    trace = attncli.compute(problem())
    weights = trace["weights"].value.astype(np.float32)
    assert attncli.check(problem(), {"weights": weights}).verdict == "correct"
    assert (
        attncli.check(problem(), {"weights": weights.astype(float).tolist()}).verdict == "correct"
    )
    wrong = weights.astype(float)
    wrong[0, 0] += 1e-4
    assert attncli.check(problem(), {"weights": wrong.tolist()}).verdict == "wrong"


@pytest.mark.parametrize("blocked", ["-inf", "-∞", "−inf", "-1e9", "-10000", "-Infinity"])
def test_a_blocked_cell_may_hold_a_very_low_number(blocked: str) -> None:
    causal = problem(mask="causal")
    masked = [[14, blocked, blocked], [10, 11, blocked], [9, 6, 6]]
    assert attncli.check(causal, {"masked": masked}).verdict == "correct"
    report = attncli.check(causal, {"masked": [[14, "0", blocked], [10, 11, blocked], [9, 6, 6]]})
    assert statuses(report, "masked")[1] == "wrong"


def test_what_follows_from_a_slip_is_not_wrong() -> None:
    """scores[1, 1] = 12 for 14; the weights of that row are worked from it, correctly."""
    e = np.exp([12.0, 10, 9])
    row = [f"{x:.4f}" for x in e / e.sum()]
    cells = [row, ["0.2676", "0.7275", "0.0049"], ["0.9094", "0.0453", "0.0453"]]
    keys = {"scores": [[12, 10, 9], [10, 11, 6], [9, 6, 6]], "weights": cells}
    report = attncli.check(problem(), keys)
    assert (report.verdict, report.first_wrong_step) == ("wrong", "scores")
    assert statuses(report, "weights") == ["follows"] * 3 + ["correct"] * 6
    assert list(report.findings) == ["scores"]


def test_rounding_early_or_late_is_not_wrong() -> None:
    """Of rounded exponentials the sum is 1232733.84, of unrounded ones ….83: neither is wrong."""
    for total in ("1232733.84", "1232733.83"):
        keys = {
            "exp": [["1202604.28", "22026.47", "8103.08"], ["~"] * 3, ["~"] * 3],
            "sum": [[total], ["~"], ["~"]],
            "weights": [["0.98", "0.02", "0.01"], ["~"] * 3, ["~"] * 3],
        }
        assert attncli.check(problem(), keys).verdict == "correct"


def test_a_problem_with_rounded_steps_accepts_every_digit_too() -> None:
    rounding = attncli.load(SAMPLES / "integers_scaled.yaml")
    rounded = attncli.Problem(
        **{key: getattr(rounding, key) for key in ("X", "W_q", "W_k", "W_v")}, round=1
    )
    for trace in (attncli.compute(rounded), attncli.compute(rounding)):
        answers = {step.name: step.value.tolist() for step in trace}
        assert attncli.check(rounded, answers).verdict == "correct"


@pytest.mark.parametrize("path", TYPICAL_SAMPLES, ids=lambda p: p.name)
def test_what_compute_writes_is_correct(path: Path, tmp_path: Path) -> None:
    """Of every mechanism, in every format, with every digit or with two decimals."""
    key = AnswerKey(attncli.load(path))
    for form, decimals in product(("json", "yaml", "csv", "npz"), (None, 2)):
        if form == "npz" and decimals:
            continue  # an array of floats is judged by its type, not by its digits
        written = tmp_path / f"answers.{form}"
        pieces = FORMATS[form].traces([key.trace], Selection(decimals=decimals))
        written.write_bytes(b"".join(pieces))
        (sheet,) = attncli.load_answers(written)
        report = key.check(sheet)
        assert report.verdict == "correct"
        missing = [name for name, judged in report.steps.items() if isinstance(judged, NotGiven)]
        # An npz file has one array a name, so a matrix that was given is no step in it.
        assert all(form == "npz" and name in key.trace.inputs for name in missing)


def test_heads_may_stand_side_by_side_or_one_by_one() -> None:
    heads = attncli.load(SAMPLES / "heads_cut.yaml")
    trace = attncli.compute(heads)
    q = trace["Q"].value
    side_by_side = np.concatenate(list(q), axis=1)
    for given in ({"Q": side_by_side}, {"Q": q}, {"Q_1": q[0], "Q[2]": q[1]}, {"q head 2": q[1]}):
        report = attncli.check(heads, given)
        assert report.verdict == "correct"
    assert statuses(report, "Q")[: q[0].size] == ["missing"] * q[0].size


CELLS: list[tuple[dict[str, Any], str, list[int]]] = [
    ({"scores[I, am]": 10}, "scores", [1]),
    ({"scores[1, 2]": "10", "S[good, good]": 6.0}, "scores", [1, 8]),
    ({"QK^T[am, I]": [10]}, "scores", [3]),
    ({"weights[am, good]": "0.00"}, "weights", [5]),
    ({"sum[good]": "8909.94"}, "sum", [2]),
]


@pytest.mark.parametrize(("given", "name", "places"), CELLS)
def test_a_cell_may_be_given_by_its_name(
    given: dict[str, Any], name: str, places: list[int]
) -> None:
    """Every other cell of the step is missing."""
    report = attncli.check(attncli.load(SAMPLES / "i_am_good.yaml"), given)
    found = statuses(report, name)
    assert [i for i, status in enumerate(found) if status != "missing"] == places
    assert report.verdict == "correct"


def test_the_cells_that_a_report_names_are_keys_of_answers_and_of_explain(attn: Attn) -> None:
    heads = attncli.load(SAMPLES / "heads_cut.yaml")
    scores = attncli.compute(heads)["scores"].value.copy()
    scores[1, 0, 1] += 3
    report = attncli.check(heads, {"scores": scores.tolist()})
    (name,) = re.findall(r"scores\[head 2\]\[.*?\]", report.findings["scores"].message)
    again = attncli.check(heads, {name: float(scores[1, 0, 1])})
    assert report.steps["scores"].counts["wrong"] == again.steps["scores"].counts["wrong"] == 1
    assert again.findings["scores"].message.count(name) == 1
    assert attn("explain", SAMPLES / "heads_cut.yaml", name).status == 0


def test_a_cell_cannot_be_given_twice_or_where_there_is_none() -> None:
    good = attncli.load(SAMPLES / "i_am_good.yaml")
    twice = "numbers of scores are given twice, by"
    both = misread({"QK^T[I, am]": 10, "QK^T[I, I]": 14, "scores[1, 2]": 10}, good)
    assert f"{twice} QK^T[I, am] and scores[1, 2]" in both
    step = misread({"scores": [[14, 10, 9]] * 3, "scores[1, 2]": 10}, good)
    assert f"{twice} scores and scores[1, 2]" in step
    assert "there is no key bad" in misread({"weights[am, bad]": 1}, good)
    assert "did you mean weights[am, I]?" in misread({"wieghts[am, I]": 1}, good)
    report = attncli.check(good, {"weights[am, I]": [[1, 2]]})
    assert report.steps["weights"].status == "wrong"
    assert report.findings["weights"].advice.startswith("The shape must be that of the cells")


def test_columns_stand_as_on_paper() -> None:
    columns = attncli.load(SAMPLES / "integers_columns.yaml")
    trace = attncli.compute(columns)
    scores = trace["scores"].value.copy()
    scores[0, 1] += 3
    report = attncli.check(columns, {"scores": scores.tolist()})
    at = np.argwhere(report.steps["scores"].step.on_paper(report.steps["scores"].codes) == WRONG)
    assert at.tolist() == [[0, 1]]
    assert "scores[a1, a2]" in report.findings["scores"].message


@pytest.mark.parametrize(
    ("word", "step"),
    [
        *(("A", "weights"), ("attention", "weights"), ("alpha", "weights"), ("α", "weights")),
        *(("softmax", "weights"), ("Attention weights", "weights"), ("Z", "output")),
        *(("Y", "output"), ("O", "output"), ("out", "output"), ("S", "scores")),
        *(("QK^T", "scores"), ("Q Kᵀ", "scores"), ("QK^T/sqrt(d_k)", "scaled")),
        *(("queries", "Q"), ("keys", "K"), ("values", "V"), ("scaled scores", "scaled")),
    ],
)
def test_names_that_people_write(word: str, step: str) -> None:
    scaled = attncli.load(SAMPLES / "integers_scaled.yaml")
    value = attncli.compute(scaled)[step].value
    report = attncli.check(scaled, {word: value})
    given = [n for n, one in report.steps.items() if not isinstance(one, NotGiven)]
    assert given == [step]


def test_no_alias_is_the_name_of_another_step() -> None:
    for name, words in ALIASES.items():
        assert not set(words) & (set(ALIASES) - {name})


def misread(answers: object, given: attncli.Problem | None = None) -> str:
    with pytest.raises(attncli.InputError) as caught:
        attncli.check(given or problem(), answers)  # type: ignore[arg-type]  # on purpose
    return str(caught.value)


def test_answers_that_cannot_be_read() -> None:
    assert "did you mean weights?" in misread({"wieghts": PUBLISHED})
    assert "there is no step Frobnicate" in misread({"Frobnicate": PUBLISHED})
    assert "X is an input of the problem, not a step" in misread({"X": PUBLISHED})
    assert "row 1, column 1 of scores: ten is not a number" in misread({"scores": [["ten"]]})
    uneven = attncli.check(problem(), {"scores": [[14, 10, 9], [10, 11], [9, 6, 6]]})
    assert uneven.findings["scores"].message.startswith("Row 2 of scores has 2 numbers")
    assert attncli.check(problem(), {}).verdict == "empty"
    assert "row 1, column 1 of weights: inf is infinite" in misread({"weights": "inf"})
    assert "1e400 is too large" in misread({"weights": "1e400"})
    assert "nan is not a number" in misread({"weights": "nan"})
    assert "alphas and weights are the same step" in misread(
        {"alphas": PUBLISHED, "weights": PUBLISHED}
    )
    assert "scores must be a matrix" in misread({"scores": {"a": 1}})
    assert "the problem has no answers" in misread(None)
    heads = attncli.load(SAMPLES / "heads_cut.yaml")
    assert "Z may mean context, concat or output here" in misread({"Z": [[1]]}, heads)
    assert "Q_3: there is no head 3" in misread({"Q_3": [[1]]}, heads)


def test_a_wrong_shape_is_told_and_later_steps_go_on(attn: Attn, tmp_path: Path) -> None:
    answers = tmp_path / "answers.yaml"
    answers.write_text(
        "Q: [[1, 3], [1, 1]]\nscores: [[14, 10, 9], [10, 11, 6], [9, 6, 6]]\n"
        "sum: [[1232733.83], [82304.04], [8909.94]]\n"
    )
    result = attn("check", GOOD, answers)
    assert (result.status, result.err) == (1, "")
    assert "✗ Q = X\n  The shape is (2, 2), but Q is (3, 3) here.\n" in result.out
    assert "  Q has the axes query × feature.\n" in result.out
    assert "✓ scores, sum" in result.out
    assert result.out.endswith("\nwrong, first at Q\n")
    report = json.loads(attn("check", GOOD, answers, "-f", "json").out)
    assert report["steps"]["Q"]["mistake"]["id"] == "wrong_shape"
    assert report["steps"]["scores"]["status"] == "correct"
    copy = answers.with_name("copy.yaml")
    copy.write_text(answers.read_text())
    both = attn("check", GOOD, answers, copy)
    assert (both.status, both.err) == (1, "")
    assert "2 answers: 0 correct, 2 wrong\n" in both.out


def test_a_transposed_matrix_is_said_to_be_one() -> None:
    integers = attncli.load(SAMPLES / "cross_decoder_step.yaml")
    weights = attncli.compute(integers)["scores"].value
    assert weights.shape[0] != weights.shape[1]
    if weights.shape[0] == 1:
        weights = np.concatenate([weights, weights])
        integers = attncli.Problem(scores=weights, V=np.eye(weights.shape[1]))
    report = attncli.check(integers, {"scores": weights.T.tolist()})
    assert report.findings["scores"].id == "transposed"


def test_answers_inside_the_problem(attn: Attn, tmp_path: Path) -> None:
    inside = tmp_path / "homework.yaml"
    text = (SAMPLES / "i_am_good.yaml").read_text()
    inside.write_text(f"{text}\nanswers:\n  S: |\n    14 10 9\n    10 11 6\n    9 _ 7\n")
    result = attn("check", inside)
    assert result.status == 1
    assert "scores[good, good]" in result.out
    inside.write_text(f"{text}\nanswers:\n  S: eleven\n")
    result = attn("check", inside)
    assert result.status == 2
    assert "homework.yaml" in result.err
    assert "eleven is not a number" in result.err


def test_a_matrix_file_and_a_question_mark(attn: Attn, tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_text("0.98,0.02,0.01\n0.27,,0.00\n0.91,0.05,\n")
    answers = tmp_path / "a.yaml"
    answers.write_text("weights: w.csv\nscores: [[14, ?, 9], [?, 11, 6], [9, 6, ?]]\n")
    result = attn("check", GOOD, answers, "-f", "json")
    assert result.status == 0, result.err
    counts = {name: step["counts"] for name, step in json.loads(result.out)["steps"].items()}
    assert (counts["weights"]["missing"], counts["scores"]["missing"]) == (2, 3)


def test_json_has_what_the_contract_names(attn: Attn) -> None:
    result = attn("check", SCALED, ANSWERS / "bo.yaml", "-f", "json")
    report = json.loads(result.out)
    assert (report["verdict"], report["first_wrong_step"]) == ("wrong", "scaled")
    scaled = report["steps"]["scaled"]
    assert (scaled["status"], scaled["mistake"]["id"]) == ("wrong", "scaled_by_d_k")
    cell = scaled["cells"][1]
    assert {"row": 0, "col": 1, "label": ["a1", "a2"], "given": "1.33"}.items() <= cell.items()
    assert cell["status"] == "wrong"
    np.testing.assert_allclose(cell["expected"], 4 / 3**0.5)
    assert report["steps"]["output"]["status"] == "follows"
    assert report["steps"]["Q"]["status"] == "missing"
    assert sum(scaled["counts"].values()) == 9


@pytest.mark.parametrize("form", ["table", "json", "csv", "markdown"])
@pytest.mark.parametrize(
    "names",
    [["bo.yaml"], ["cleo.csv"], ["dora.yaml"], ["ada.json", "bo.yaml", "cleo.csv", "dora.yaml"]],
)
def test_reports_are_as_read(form: str, names: list[str], attn: Attn) -> None:
    result = attn("check", SCALED, *(ANSWERS / name for name in names), "-f", form)
    assert result.status == (0 if names == ["dora.yaml"] else 1)
    assert_same(result.out + result.err, f"check/{'_'.join(names)}.{form}.txt")


def test_many_files_in_one_process(attn: Attn, tmp_path: Path) -> None:
    """A bad file gives its error, the others go on, and 2 tells that one could not be read."""
    bad = tmp_path / "bad.yaml"
    bad.write_text("weights: [[1, 2\n")
    files = [ANSWERS / "ada.json", bad, ANSWERS / "bo.yaml"]
    result = attn("check", SCALED, *files)
    assert result.status == 2
    assert "a bracket is not closed" in result.err
    assert "3 answers: 1 correct, 1 wrong, 1 could not be read" in result.out
    assert "commonest mistakes: 1 × scaled_by_d_k" in result.out
    book = list(csv.DictReader(io.StringIO(attn("check", SCALED, *files, "-f", "csv").out)))
    assert tuple(book[0]) == (*HEADS, *SAID_COLUMNS)
    assert [row["verdict"] for row in book] == ["correct", "unreadable", "wrong"]
    assert [row["mistake"] for row in book] == ["", "", "scaled_by_d_k"]
    lines = attn("check", SCALED, *files, "-f", "json").out.splitlines()
    assert [json.loads(line)["verdict"] for line in lines] == ["correct", "unreadable", "wrong"]
    assert attn("check", SCALED, *files[::2]).status == 1
    assert attn("check", SCALED, files[0]).status == 0


def test_quiet_is_the_verdict_alone(attn: Attn) -> None:
    quiet = attn("check", SCALED, ANSWERS / "bo.yaml", "-q")
    assert (quiet.out, quiet.err) == ("wrong, first at scaled\n", "")
    both = attn("check", SCALED, ANSWERS / "ada.json", ANSWERS / "bo.yaml", "--quiet")
    assert both.out == "Ada: correct: 18 numbers\nBo: wrong, first at scaled\n"


def test_a_report_is_written_whole(attn: Attn, tmp_path: Path) -> None:
    for suffix in ("csv", "json", "md", "txt", "html"):
        out = tmp_path / f"report.{suffix}"
        result = attn("check", SCALED, ANSWERS / "bo.yaml", "-o", out)
        assert (result.status, result.out) == (1, "")
        text = out.read_text().replace("\\", "")
        assert "The scores were divided by d_k = 3" in text
        # Programs read the mistake's id; students do not.
        assert ("scaled_by_d_k" in text) == (suffix in ("csv", "json"))
    assert attn("check", SCALED, ANSWERS / "bo.yaml", "-o", tmp_path / "x.doc").status == 2


def test_several_problems_and_their_answers(attn: Attn, tmp_path: Path) -> None:
    both = tmp_path / "both.yaml"
    both.write_text("X: [[1, 0], [0, 2]]\nscore: dot\n---\nX: [[3]]\nscore: dot\n")
    answers = tmp_path / "answers.yaml"
    answers.write_text("scores: [[1, 0], [0, 4]]\n---\nscores: [[6]]\n")
    result = attn("check", both, answers, "-q")
    assert result.status == 1
    assert "answers.yaml, problem 1: correct: 4 numbers" in result.out
    answers.write_text("scores: [[1, 0], [0, 4]]\n")
    assert "problem 2  empty" in attn("check", both, answers).out
    answers.write_text("scores: [[1, 0, 4]]\n")  # the shape of neither
    result = attn("check", both, answers)
    assert result.status == 2
    assert "there is 1 set of answers, but 2 problems" in result.err


def test_one_name_in_a_file_is_that_of_all_its_documents(attn: Attn, tmp_path: Path) -> None:
    problem, answers = "X: [[1, 1], [1, 2]]\nscore: dot\n", "scores: [[2, 3], [3, 5]]\n"
    (tmp_path / "both.yaml").write_text(f"{problem}---\n{problem}")
    (tmp_path / "ada.yaml").write_text(f"student: Ada\n{answers}---\n{answers}")
    out = attn("check", "both.yaml", "ada.yaml", "-q", cwd=tmp_path).out
    lines = [f"Ada, problem {number}: correct: 4 numbers" for number in (1, 2)]
    assert out.splitlines() == lines


def test_answers_from_standard_input(attn: Attn) -> None:
    result = attn("check", SCALED, "-", stdin=(SAMPLES / "answers" / "bo.yaml").read_bytes())
    assert result.status == 1
    assert "The scores were divided by d_k = 3" in result.out


def test_weak_homework_is_told(attn: Attn, tmp_path: Path) -> None:
    """Symmetric scores hide a transposition, and d_k = 1 hides the scale."""
    result = attn("check", GOOD, "--problem-only")
    assert result.status == 0
    assert "scores_transposed" in result.out
    assert "keys_instead_of_values" in result.out
    narrow = tmp_path / "narrow.yaml"
    narrow.write_text("Q: [[1], [2]]\nK: [[3], [1]]\nV: [[1, 0], [0, 2]]\n")
    result = attn("check", narrow, "--problem-only")
    assert "not_scaled" in result.out
    assert attn("check", narrow, "--problem-only", "-f", "json").status == 2
    assert "d_k = 1" in result.out
    assert "scores_transposed" not in result.out


def test_weakness_is_told_for_the_digits_and_the_tolerance_that_are_asked(
    attn: Attn, tmp_path: Path
) -> None:
    problem = tmp_path / "problem.yaml"
    text = "X: [[1, 3, 2], [1, 1, 3], [1, 2, 1]]\nscore: dot\n"
    problem.write_text(f"{text}marking: {{decimals: 2, ask: scores}}\n")
    lines = attn("check", problem, "--problem-only").out.splitlines()
    assert lines[0] == "Mistakes that change no number of this problem in 2 decimals:"
    assert lines[-1] == "  scores: a slip of 1 unit in the last place can pass"
    lines = attn("check", problem, "--problem-only", "--tolerance", 0.05).out.splitlines()
    assert "  scores: a slip of 5 units in the last place can pass" in lines


def test_control_characters_of_a_student_are_shown(attn: Attn, tmp_path: Path) -> None:
    answers = tmp_path / "a.yaml"
    answers.write_text('student: "\\e[31m[red]"\nscores: [[14, 10, 9], [10, 11, 6], [9, 6, 7]]\n')
    for form in ("table", "csv", "markdown"):
        result = attn("check", GOOD, answers, "-f", form)
        assert "\x1b" not in result.out
        assert "[red]" in result.out.replace("\\[", "[").replace("\\]", "]")


def test_a_name_with_a_bar_breaks_no_table(attn: Attn, tmp_path: Path) -> None:
    """Neither in the table of a class nor in that of a report, whoever brought the bar."""
    problem = tmp_path / "problem.yaml"
    problem.write_text('tokens: ["a|b", c, d]\nX: [[1, 3, 2], [1, 1, 3], [1, 2, 1]]\nscore: dot\n')
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text('student: "x | $y$ <i>"\nscores: [[14, 10, 9], [10, 11, 6], [9, 6, 60]]\n')
    unread = tmp_path / "un|read.yaml"
    unread.write_text("scores: [[1\n")
    for sheets in ([wrong], [wrong, unread, wrong]):
        text = attn("check", problem, *sheets, "-f", "markdown").out
        page = str(MarkdownIt("commonmark").enable("table").render(text))
        rows = re.findall("<tr>.*?</tr>", page, re.DOTALL)
        widths = {len(re.findall("<t[dh]", row)) for row in rows}
        assert widths == {4 if len(sheets) > 1 else 3}
        assert "x | <span>$</span>y<span>$</span> &lt;i&gt;" in page
    assert "un|read.yaml" in page


def test_the_page_shows_what_the_student_wrote(attn: Attn, tmp_path: Path) -> None:
    """One page, well-formed, that asks for nothing, with each student's numbers and the mistake."""
    bad = tmp_path / "bad.yaml"
    bad.write_text("weights: [[1, 2\n")
    script = tmp_path / "script.yaml"
    script.write_text(
        "student: <script>alert(1)</script>\nscores: [[2, 4, 4], [4, 16, 12], [4, 12, 10]]\n"
    )
    page = attn("check", SCALED, ANSWERS / "bo.yaml", script, bad, "-f", "html").out
    root = ElementTree.fromstring(page.partition("\n")[2])
    assert len(root.findall(".//article")) == 2
    said = ["".join(p.itertext()) for p in root.findall(".//p[@class='verdict']")]
    assert said[0] == "✗ Bo: wrong, first at scaled"
    assert said[1] == "✓ <script>alert(1)</script>: correct: 9 numbers"
    assert "a bracket is not closed" in said[2]
    wrong = ["".join(td.itertext()) for td in root.iter("td") if "wrong" in td.get("class", "")]
    assert wrong == [
        f"{x} ✗" for x in ["0.67", "1.33", "1.33", "1.33", "5.33", "4.00", "1.33", "4.00", "3.33"]
    ]
    remarks = [
        "".join(div.itertext()) for div in root.iter("div") if "remark" in div.get("class", "")
    ]
    assert any("The scores were divided by d_k = 3" in remark for remark in remarks)
    assert any("worked out correctly from your numbers" in remark for remark in remarks)
    assert not re.search(r"""src=|href="[^#]|@import|url\(""", page)


def test_no_name_is_a_formula_to_a_spreadsheet(attn: Attn, tmp_path: Path) -> None:
    answers = tmp_path / "a.yaml"
    answers.write_text("student: =1+1\nscores: [[14, 10, 9], [10, 11, 6], [9, 6, 6]]\n")
    (row,) = csv.DictReader(io.StringIO(attn("check", GOOD, answers, "-f", "csv").out))
    assert row["name"] == "'=1+1"


def test_the_page_of_mistakes_is_what_its_script_writes() -> None:
    """Its rows stand in the order of preference, which is part of the behaviour."""
    script = runpy.run_path(str(ROOT / "docs" / "mistakes.py"))
    assert (ROOT / "docs" / "mistakes.md").read_text() == script["text"]()
    ids = re.findall(r"^\| `(\w+)`", script["text"](), re.MULTILINE)
    assert ids == [*MISTAKES, *CONVENTIONS]
    order = ("not_scaled", "scaled_needlessly", "cap_not_restored", "earlier_step_used")
    assert ids[0] == order[0]
    assert sorted(order, key=ids.index) == list(order)


def test_an_answer_key_is_used_many_times() -> None:
    key = AnswerKey(problem())
    right = key.check(submission_of({"scores": [[14, 10, 9], [10, 11, 6], [9, 6, 6]]}, "one"))
    wrong = key.check(submission_of({"scores": [[14, 10, 9], [10, 11, 6], [9, 6, 5]]}, "two"))
    assert (right.verdict, wrong.verdict) == ("correct", "wrong")
    again = pickle.loads(pickle.dumps(key))
    assert again.check({"scores": [[14, 10, 9], [10, 11, 6], [9, 6, 6]]}).verdict == "correct"


def test_a_sheet_is_judged_alike_whatever_was_judged_before() -> None:
    """What an answer key keeps of one sheet says nothing of the next one.

    The scores have two decimals, so a unit too much is forgiven in one decimal and not in more.
    """
    given = problem(X=[[1, 3, 0.8], [1, 1.1, 3], [1, 2, 1]])
    trace = attncli.compute(given)
    equal = ("scaled", "capped", "biased", "masked")
    sheets: list[dict[str, Any]] = []
    for count in range(32):
        more = 10.0**-count if count % 3 else 0.0
        scores = [[f"{x + 0.6 * more:.{count}f}" for x in row] for row in trace["scores"].value]
        named = [name for place, name in enumerate(equal) if count // 3 >> place & 1]
        sheets.append({"scores": scores} | dict.fromkeys(named, scores))
    alone = [report_record(AnswerKey(given).check(sheet)) for sheet in sheets]
    key = AnswerKey(given)
    for number in (*range(len(sheets)), *reversed(range(len(sheets)))):
        assert report_record(key.check(sheets[number])) == alone[number]
    assert [record["verdict"] for record in alone[1:3]] == ["correct", "wrong"]


def test_thirds_among_the_parameters_of_every_pair() -> None:
    """A wrong score is judged, whatever rounding of W and v may have come before it."""
    score = {"name": "concat", "W": [[0.5, 1, 1, 1], [1, 0, 1, "1/3"]], "v": ["1/3", 0.5]}
    problem = attncli.Problem(X=[[1, 0], [0, 1], [1, 1]], score=score)
    right = attncli.compute(problem)["scores"].value
    for factor, verdict in ((1, "correct"), (1.004, "wrong")):
        written = [[f"{x * factor:.3f}" for x in row] for row in right]
        assert attncli.check(problem, {"scores": written}).verdict == verdict


def test_a_wrong_shape_in_a_batch() -> None:
    """The right matrix takes its place in both parts of the batch, and the rest is judged."""
    tokens = [[[1, 0.5], [0.3, 1]], [[0.2, 1], [1, 0.7]]]
    problem = attncli.Problem(X=tokens, W_q=[[0.3, 0.1], [0.7, 1]], W_k=[[1, 0.5], [0.2, 1]])
    right = attncli.compute(problem)
    weights = [
        [[f"{x * 1.01:.3f}" for x in row] for row in part] for part in right["weights"].value
    ]
    answers = {"Q": right["Q"].value.tolist(), "K": [[1, 2, 3]], "weights": weights}
    report = attncli.check(problem, answers)
    assert report.steps["K"].status == report.steps["weights"].status == "wrong"


def test_the_square_of_a_huge_width() -> None:
    """Mistakes are tried with it, though no float holds it."""
    problem = attncli.Problem(X=[[1, 0], [0, 1]], score={"name": "distance", "width": 1e200})
    report = attncli.check(problem, {"scores": [[1, 2], [3, 4]]})
    assert report.verdict == "wrong"
