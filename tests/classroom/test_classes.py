"""Whole classes: whose a folder is, the pages for students, Gradescope, spreadsheets.

What the command says of folders is in the sessions `classes` and `feedback_pages`.
"""

from __future__ import annotations

import json
import re
import subprocess
from html import unescape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import attncli
from attncli.printing.verdicts import missing, verdict
from attncli.reading import read as reading
from attncli.reading import submissions
from tests.classroom.course import COURSE, RIGHT, SMALL, book, graded, write
from tests.conftest import SAMPLES, Attn, cases
from tests.support.gradescope_fields import faults


def test_an_empty_folder_of_a_student_is_unreadable_and_stops_no_other(
    attn: Attn, tmp_path: Path
) -> None:
    files = {
        **{"in/Ada/hw.yaml": RIGHT["Small"], "in/Ada/drafts/": "", "in/Bo/drafts/": ""},
        **{"groups/mon/Ada/hw.yaml": RIGHT["Small"], "groups/tue/Cy/scan.pdf": "x"},
        **{"groups/tue/Bo/": "", "nothing/": ""},
    }
    write(tmp_path, {"hw.yaml": SMALL, **files})
    expected = [("Ada", "Small", "correct"), ("Bo", "Small", "unreadable")]
    assert book(attn, tmp_path, "hw.yaml", "in") == expected
    assert book(attn, tmp_path, "hw.yaml", "in/Ada", "in/Bo") == expected
    result = attn("check", "hw.yaml", "in/Bo", "in/Ada", cwd=tmp_path)
    assert (result.status, result.err) == (2, "in/Bo: there are no answers in this folder\n")
    assert "1 answer: 1 correct, 0 wrong; 1 could not be read" in result.out
    assert [name for name, *_ in book(attn, tmp_path, "hw.yaml", "groups")] == ["Ada", "Cy", "Bo"]
    result = attn("check", "hw.yaml", "nothing", cwd=tmp_path)
    assert (result.status, result.out) == (2, "")
    assert result.err == "nothing: there are no answers in this folder\n"
    result = attn("check", "nothing", "in", cwd=tmp_path)
    assert (result.status, result.out) == (2, "")
    assert "nothing: there are no problems in this folder" in result.err


def test_a_link_out_of_the_folder_is_not_read(attn: Attn, tmp_path: Path) -> None:
    write(tmp_path, {"hw.yaml": SMALL, "in/ada.yaml": RIGHT["Small"], "bo.yaml": RIGHT["Small"]})
    (tmp_path / "in" / "bo.yaml").symlink_to(tmp_path / "bo.yaml")
    assert [name for name, *_ in book(attn, tmp_path, "hw.yaml", "in")] == ["ada"]


def test_a_file_too_large_for_memory_stops_no_other(
    attn: Attn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(file: Any, *arguments: Any, **named: Any) -> Any:
        if "Bo" in str(file):
            raise MemoryError
        return reading.read(file, *arguments, **named)

    monkeypatch.setattr(submissions, "read", read)
    answers = {"in/Ada.yaml": RIGHT["Small"], "in/Bo.yaml": RIGHT["Small"]}
    rows = book(attn, write(tmp_path, {"hw.yaml": SMALL, **answers}), "hw.yaml", "in")
    assert rows == [("Ada", "Small", "correct"), ("Bo", "Small", "unreadable")]


def test_whoever_writes_the_same_numbers_has_the_same_report() -> None:
    """It is found once; the name, the comment and strictness are each submission's own."""
    key = attncli.AnswerKey(attncli.Problem(X=[[1, 3, 2], [1, 1, 3], [1, 2, 1]], score="dot"))
    weights = [["0.97", "0.02", "0.01"], ["0.27", "0.73", "0.00"], ["0.91", "0.05", "0.05"]]
    one = key.check({"student": "Ada", "weights": weights, "comment": "mine"})
    two = key.check({"student": "Bo", "weights": weights}, strict=True)
    assert one.steps is two.steps
    assert (one.name, one.comment, one.verdict) == ("Ada", "mine", "correct")
    assert (two.name, two.comment, two.verdict) == ("Bo", "", "wrong")
    other = key.check({"student": "Cy", "weights": [["0.98", *weights[0][1:]], *weights[1:]]})
    assert other.counts["correct"] == one.counts["correct"] + 1


# Pages for students

NUMBER = re.compile(r"\d+\.\d+|\d+")


def numbers_in(*texts: str) -> set[str]:
    return set(NUMBER.findall(" ".join(texts)))


@pytest.mark.parametrize(
    ("answers", "problem"),
    [
        *(("bo.yaml", "integers_scaled"), ("cleo.csv", "integers_scaled")),
        *(("dora.yaml", "integers_scaled"), ("published.yaml", "i_am_good")),
    ],
)
def test_a_page_holds_no_number_but_the_students_own(
    answers: str, problem: str, attn: Attn, tmp_path: Path
) -> None:
    """Neither what is shown nor the source; with --solution, the right ones are in it."""
    source, sheet = SAMPLES / f"{problem}.yaml", SAMPLES / "answers" / answers
    # A submission without a name in it is called by its path, which may hold any digit.
    command = ("check", source, f"answers/{answers}", "--feedback")
    attn(*command, tmp_path / "pages", cwd=SAMPLES)
    (path,) = (one for one in (tmp_path / "pages").iterdir() if one.name != "index.html")
    page = path.read_text()
    ElementTree.fromstring(page.partition("\n")[2])  # it is well-formed
    report = attncli.check(attncli.load(source), attncli.load_answers(sheet)[0])
    counted = numbers_in(verdict(report), *report.said, *missing(report))
    own = numbers_in(sheet.read_text()) | set("0123")  # labels, and the 3 of √3
    markup = r'(?s)<style>.*?</style>|<meta [^>]*>|</?h\d[^>]*>|width="[^"]*"'
    text = re.sub(markup, " ", page)
    counts = r"[≈✗] \d+ numbers|\d+ of \d+ numbers? right(?:, \d+ worked)?"
    counted |= numbers_in(*re.findall(counts, text))
    shown = numbers_in(text)
    assert shown <= own | counted, shown - own - counted
    right = {
        f"{value:.{decimals}f}"
        for step in report.trace.steps.values()
        for value in step.array.ravel().tolist()
        for decimals in (1, 2, 3, 4)
    }
    assert not (right - own) & shown
    assert attn(*command, tmp_path / "all", "--solution", cwd=SAMPLES).status in (0, 1)
    solution = (tmp_path / "all" / path.name).read_text()
    assert f"{report.trace['output'].array.flat[1]:.4f}".rstrip("0") in solution


@pytest.mark.parametrize("flags", [(), ("--solution",), ("--ask", "scores,scaled")], ids=str)
def test_pages_and_results_have_no_id_of_a_mistake_for_students(
    flags: tuple[str, ...], attn: Attn, tmp_path: Path
) -> None:
    """Only the page of the class has it, and the tags of Gradescope, which teachers see."""
    source = SAMPLES / "integers_scaled.yaml"
    command = ("check", source, SAMPLES / "answers" / "bo.yaml", *flags)
    attn(*command, "--feedback", tmp_path)
    page = (tmp_path / "Bo.html").read_text()
    assert "✗" in page
    assert "scaled_by_d_k" not in page
    assert "scaled_by_d_k" in (tmp_path / "index.html").read_text()
    results = json.loads(attn(*command, "-f", "gradescope").out)
    for test in results["tests"]:
        test["tags"] = []
    assert "scaled_by_d_k" not in json.dumps(results)


SELF: dict[str, Any] = {"X": [[1, 0, 2], [3, 1, 1], [2, 2, 0]], "score": "dot"}
"""Its scores are [[5, 5, 2], [5, 11, 8], [2, 8, 8]]."""


@cases("classes", "sentences_without_numbers_that_tell_right_ones", ids=str)
def test_a_sentence_is_told_without_the_numbers_that_tell_right_ones(
    keys: dict[str, Any], answers: dict[str, Any], sentence: str
) -> None:
    problem = keys if "X" in keys else SELF | keys
    report = attncli.check(attncli.Problem(**problem), answers)
    assert report.first_wrong_step is not None
    assert report.findings[report.first_wrong_step].sentence(solution=False) == sentence


# Gradescope


@pytest.mark.parametrize(
    ("flags", "score", "tests"),
    [
        (("--points", "scores: 2, weights: 3"), 5.0, 2),
        (("--ask", "scaled,output"), 1.0, 2),
        ((), 0.0, 1),
        (("--points", "scores: 2, weights: 3", "--follow", "0.5"), 3.5, 2),
    ],
    ids=str,
)
def test_results_for_gradescope_have_the_points_of_each_step_and_its_documented_fields(
    flags: tuple[str, ...], score: float, tests: int, attn: Attn
) -> None:
    bo = ("check", SAMPLES / "integers_scaled.yaml", SAMPLES / "answers" / "bo.yaml")
    out = attn(*bo, *flags, "-f", "gradescope").out
    results = json.loads(out)
    assert list(faults(results)) == []
    assert (results["score"], len(results["tests"])) == (score, tests)
    assert results["score"] == sum(test["score"] for test in results["tests"])
    assert "1.7321" not in out


def test_results_of_a_class_are_a_file_per_student_with_the_documented_fields(
    attn: Attn, tmp_path: Path
) -> None:
    """That of Eli has the points of what can be read; whoever hands in nothing has no file."""
    command = ("check", "hw.yaml", "in", "--for", "roster.csv", "-f", "gradescope")
    attn(*command, "-o", tmp_path / "{number}.json", cwd=COURSE)
    found = [json.loads(path.read_text()) for path in tmp_path.iterdir()]
    assert [fault for results in found for fault in faults(results)] == []
    scores = {results["extra_data"]["student"]: results["score"] for results in found}
    assert scores == {
        **{"Ada Lovelace": 6.85, "Zoë Blum": 4.01, "Eli Vance": 1.5, "in/someone.yaml": 0}
    }


def test_the_validator_finds_what_the_documentation_does_not_have() -> None:
    test = {"score": 1, "status": "ok", "tags": [1], "visible": True}
    wrong = {"score": "1", "visibility": "never", "points": 3, "tests": [test]}
    assert len(list(faults(wrong))) == 6
    unscored = {"tests": [{"name": "a"}]}
    assert list(faults(unscored)) == ["score is required, of the whole or of each test"]
    assert list(faults({"score": 44.0, "tests": []})) == []


# A spreadsheet

HOSTILE = ["=1+1", "+1+1", "-1+1", "@SUM(1;1)", "\t=1+1", "\r=1+1", "  =1+1", "＝1+1", "Ada"]


@pytest.mark.needs("soffice")
def test_no_name_is_a_formula_in_libreoffice(attn: Attn, tmp_path: Path) -> None:
    rows = "".join(f'"{name}","1"\n' for name in HOSTILE)
    write(tmp_path, {"hw.yaml": SMALL, "in.csv": f'Name,"scores[1,1]"\n{rows}'})
    attn("check", "hw.yaml", "in.csv", "-o", "grades.csv", cwd=tmp_path)
    names = [row["name"] for row in graded(attn, tmp_path, "hw.yaml", "in.csv")]
    home = f"-env:UserInstallation=file://{tmp_path}/office"
    read = "--infilter=CSV:44,34,76,1"  # commas, quotation marks, UTF-8, from the first line
    convert = ["soffice", home, "--headless", read, "--convert-to", "fods", "grades.csv"]
    subprocess.run(convert, cwd=tmp_path, check=True, capture_output=True, timeout=120)
    sheet = (tmp_path / "grades.fods").read_text()
    assert "table:formula" not in sheet
    cells = re.findall(r"<text:p>.*?</text:p>", sheet)
    shown = [" ".join(unescape(re.sub("<[^>]*>", " ", cell)).split()) for cell in cells]
    assert [name for name in names if " ".join(name.split()) not in shown] == []
