"""`attn check`: the status of each number by its written digits, and reports as pages and files.

What reports say on paper is in `tests/data/sessions/checking.txt`.
"""

from __future__ import annotations

import pickle
import re
from itertools import product
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import attncli
from attncli.checking.check import AnswerKey
from attncli.checking.judging.judged_steps import NotGiven
from attncli.checking.mistakes.catalogue import MISTAKES
from attncli.checking.mistakes.conventions import CONVENTIONS
from attncli.core.calculation.mistake import possible
from attncli.core.calculation.mutations import MUTATIONS
from attncli.formats import FORMATS, formats_of
from attncli.printing.report_record import report_record
from attncli.printing.selection import Selection
from tests.checking.judged_cases import MARKS, marks, problem_of
from tests.conftest import ROOT, SAMPLE_FILES, TYPICAL_SAMPLES, Attn, cases
from tests.support.snapshots import assert_same

GOOD = "sample_inputs/i_am_good.yaml"
SCALED = "sample_inputs/integers_scaled.yaml"
ANSWERS = Path("sample_inputs/answers")


@cases("judging", "written_digits")
def test_a_number_is_right_to_the_digits_that_were_written(written: str, status: str) -> None:
    """0.975559 is the first weight."""
    report = attncli.check(problem_of("good"), {"weights": [[written, "~", "~"], *[["~"] * 3] * 2]})
    (mark,) = (mark for mark in MARKS if MARKS[mark] == status)
    assert marks(report.steps["weights"]) == f"{mark}__ ___ ___"


@pytest.mark.parametrize("blocked", ["-inf", "-∞", "−inf", "-1e9", "-10000", "-Infinity"])
def test_a_blocked_cell_may_hold_a_very_low_number(blocked: str) -> None:
    causal = problem_of("good", {"mask": "causal"})
    masked = [[14, blocked, blocked], [10, 11, blocked], [9, 6, 6]]
    for step in ("masked", "scores"):  # the scores with what is blocked in them
        assert attncli.check(causal, {step: masked}).verdict == "correct"
    report = attncli.check(causal, {"masked": [[14, "0", blocked], *masked[1:]]})
    assert marks(report.steps["masked"]) == "✓✗✓ ✓✓✓ ✓✓✓"


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


@pytest.mark.parametrize("form", ["%.17g", "%.18e", "%.40f"])
def test_every_digit_of_a_float_that_was_rounded_by_hand(form: str) -> None:
    problem = attncli.Problem(X=[[0.95, -2.24], [0.3, 0.7]], round={"significant": 3})
    trace = attncli.compute(problem)
    answers = {step.name: [[form % x for x in row] for row in step.value] for step in trace}
    report = attncli.check(problem, answers)
    assert {judged.status for judged in report.steps.values()} == {"correct"}
    answers["scores"][0][0] = form % 5.93
    assert attncli.check(problem, answers).first_wrong_step == "scores"


# ---- huge and tiny numbers, which spoil no page


@pytest.mark.parametrize(
    "number",
    ["95" + "1" * 306, "1.62e-309", "-inf", "1e308", "-1e308", "1e-320", "0." + "3" * 400],
    ids=lambda number: number[:10],
)
@pytest.mark.parametrize("step", ["K", "exp", "sum", "weights"])
def test_numbers_at_the_ends_of_what_floats_hold(step: str, number: str) -> None:
    """NumPy's warnings are errors here."""
    key = AnswerKey(problem_of("good", {"W_k": [[1, 0, 0], [0, 1, 0], [0, 0, 1]]}))
    cells = [[f"{x:.3f}" for x in row] for row in key.trace[step].value]
    cells[0][-1] = number
    report = key.check({step: cells})
    if abs(float(number)) > 1:
        assert marks(report.steps[step]).count("✗") == 1
        assert report.findings[step].id not in ("decimal_point_slip", "digits_swapped")
    elif step != "weights":  # 0.0066 is 0.00
        assert report.first_wrong_step == step
    assert all(attncli.render(report, form) for form in formats_of("reports"))


# ---- reports as pages and files


@pytest.mark.parametrize("form", ["table", "json", "csv", "markdown"])
@pytest.mark.parametrize(
    "names",
    [["bo.yaml"], ["cleo.csv"], ["dora.yaml"], ["ada.json", "bo.yaml", "cleo.csv", "dora.yaml"]],
    ids=" ".join,
)
def test_reports_are_as_read(form: str, names: list[str], attn: Attn) -> None:
    result = attn("check", SCALED, *(ANSWERS / name for name in names), "-f", form)
    assert result.status == (0 if names == ["dora.yaml"] else 1)
    assert_same(result.out + result.err, f"check/{'_'.join(names)}.{form}.txt")


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
    assert said[:2] == [
        "✗ Bo: wrong: 9 of 36 numbers, first at scaled",
        "✓ <script>alert(1)</script>: correct: 9 numbers",
    ]
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


def test_a_page_says_how_far_rounding_by_hand_is_off() -> None:
    problem = attncli.Problem(X=[[1, 0, 2], [0, 1, 1]], round={"decimals": 2})
    report = attncli.check(problem, {"output": attncli.compute(problem).output.tolist()})
    page = attncli.render(report, "html").replace("&nbsp;", " ")
    assert "rounded steps: the output is off by at most" in page


def test_the_page_of_mistakes_has_them_in_the_order_of_preference() -> None:
    page = (ROOT / "docs" / "mistakes.md").read_text()
    ids = re.findall(r"^\| `(\w+)`", page, re.MULTILINE)
    assert ids == [*MISTAKES, *MUTATIONS, *CONVENTIONS]
    assert not re.search(r"\{\w+\}", page)  # a blank that no example fills
    order = ("not_scaled", "scaled_needlessly", "cap_not_restored", "earlier_step_used")
    assert [ids[0], *sorted(order[1:], key=ids.index)] == list(order)


def test_rows_that_are_not_asked_change_nothing() -> None:
    """By the stem of a step, and the types of its operations, a third of all rows is asked."""
    every, asked = 0, 0
    for trace in (attncli.compute(attncli.load(path)) for path in SAMPLE_FILES):
        for step, rows in product(trace, (MISTAKES.values(), MUTATIONS.values())):
            ids = {row.id for row in possible(rows, step)}
            others = [row for row in rows if row.id not in ids]
            assert not [r.id for r in others if any(r.changes(step, trace.around(step)))], step.name
            every, asked = every + len(rows), asked + len(ids)
    assert 3 * asked < every


# ---- one key for many submissions


def test_a_copy_of_an_answer_key_judges_as_well() -> None:
    key = AnswerKey(problem_of("good"))
    for one in (key, pickle.loads(pickle.dumps(key)), key):
        assert one.check({"scores": "14 10 9; 10 11 6; 9 6 6"}).verdict == "correct"
        assert one.check({"scores": "14 10 9; 10 11 6; 9 6 5"}).verdict == "wrong"


def test_a_sheet_is_judged_alike_whatever_was_judged_before() -> None:
    """What an answer key keeps of one sheet says nothing of the next one.

    The scores have two decimals, so a unit too much is forgiven in one decimal and not in more.
    """
    given = problem_of("good", {"X": [[1, 3, 0.8], [1, 1.1, 3], [1, 2, 1]]})
    scores = attncli.compute(given)["scores"].value
    sheets: list[dict[str, Any]] = []
    for count, others in product((0, 1, 2, 4), ([], ["scaled"], ["capped", "masked"])):
        more = 0.6 * 10.0**-count if count in (1, 2) else 0.0
        written = [[f"{x + more:.{count}f}" for x in row] for row in scores]
        sheets.append(dict.fromkeys(["scores", *others], written))
    alone = [report_record(AnswerKey(given).check(sheet)) for sheet in sheets]
    key = AnswerKey(given)
    for number in (*range(len(sheets)), *reversed(range(len(sheets)))):
        assert report_record(key.check(sheets[number])) == alone[number]
    assert [record["verdict"] for record in alone[3:9]] == ["correct"] * 3 + ["wrong"] * 3
