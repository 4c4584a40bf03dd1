"""Whole classes: folders of sheets, variants, tables of forms, pages for students, Gradescope."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
from collections.abc import Mapping
from html import unescape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import attncli
from attncli.classroom import submissions
from attncli.printing.formats import ReportSelection
from attncli.printing.report import report_page
from attncli.printing.verdicts import verdict
from attncli.reading import read as reading
from tests.conftest import SAMPLES, Attn
from tests.support.gradescope_fields import faults

GOOD = "title: Good\nX: [[1, 3, 2], [1, 1, 3], [1, 2, 1]]\nscore: dot\n"
"""Its scores are [[14, 10, 9], [10, 11, 6], [9, 6, 6]]."""

SMALL = "title: Small\nX: [[1, 0], [0, 2]]\nscore: dot\n"
"""Its scores are [[1, 0], [0, 4]]."""

RIGHT = {
    "Good": "scores: [[14, 10, 9], [10, 11, 6], [9, 6, 6]]\n",
    "Small": "scores: [[1, 0], [0, 4]]\n",
}
WRONG = {
    "Good": "scores: [[14, 10, 9], [10, 11, 6], [9, 6, 7]]\n",
    "Small": "scores: [[1, 0], [0, 5]]\n",
}


def write(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def book(attn: Attn, folder: Path, *arguments: str) -> list[tuple[str, str, str]]:
    """Return the name, the problem and the verdict of each row of the grade book."""
    out = attn("check", *arguments, "-f", "csv", cwd=folder).out
    rows = csv.DictReader(io.StringIO(out))
    return [(row["name"], row["problem"], row["verdict"]) for row in rows]


BOTH = {"hw.yaml": f"{GOOD}---\n{SMALL}"}

LAYOUTS = {
    "a folder a student": {"ada/p1.yaml": "Good", "ada/p2.yaml": "Small", "bo/2.yaml": "Small!"},
    "a folder a problem": {"p1/ada.yaml": "Good", "2/ada.yaml": "Small", "small/bo.yaml": "Small!"},
    "groups": {
        "mon/ada/good.yaml": "Good",
        "mon/ada/small.yaml": "Small",
        "tue/bo/q2.yaml": "Small!",
    },
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_files_are_those_of_the_student_and_the_problem_that_they_are_called_by(
    layout: str, attn: Attn, tmp_path: Path
) -> None:
    texts = {"Small!": WRONG["Small"], **RIGHT}
    files = {f"in/{name}": texts[what] for name, what in LAYOUTS[layout].items()}
    write(tmp_path, {**BOTH, **files})
    ada = [("ada", "Good", "correct"), ("ada", "Small", "correct")]
    bo = [("bo", "Good", "empty"), ("bo", "Small", "wrong")]
    assert book(attn, tmp_path, "hw.yaml", "in") == [*ada, *bo]


def test_a_file_a_student_with_a_sheet_a_problem(attn: Attn, tmp_path: Path) -> None:
    told = f"problem: Small\n{WRONG['Small']}"
    sheets = {
        "in/ada.yaml": f"student: Ada L.\n{RIGHT['Good']}---\n{RIGHT['Small']}",
        "in/bo.yaml": told,
        "in/cy.yaml": f"{told}---\n{told}",
        "in/di.yaml": RIGHT["Small"],
        "in/ed.yaml": f"problem: 7\n{RIGHT['Good']}",
    }
    write(tmp_path, {**BOTH, **sheets})
    rows = book(attn, tmp_path, "hw.yaml", "in")
    assert rows == [
        *[("Ada L.", "Good", "correct"), ("Ada L.", "Small", "correct")],
        *[("bo", "Good", "empty"), ("bo", "Small", "wrong")],
        *[("cy", "Good", "empty"), ("cy", "Small", "unreadable")],
        *[("di", "Good", "empty"), ("di", "Small", "correct")],
        *[("ed", "Good", "unreadable"), ("ed", "Small", "unreadable")],
    ]
    err = attn("check", "hw.yaml", "in", "-q", cwd=tmp_path).err
    assert "problem 2 is answered twice" in err
    assert "in/ed.yaml:1:1: there is no problem 7" in err


def test_shapes_tell_the_problem_of_a_file_that_does_not(attn: Attn, tmp_path: Path) -> None:
    """If they do not, the file may answer each problem that no other one does."""
    own = {"in/Ben/1.yaml": RIGHT["Good"], "in/Ben/two.yaml": RIGHT["Small"]}
    unclear = {"in/Cy/1.yaml": RIGHT["Good"], "in/Cy/draft.yaml": "sum: [7]\n"}
    write(tmp_path, {**BOTH, **own, **unclear})
    assert book(attn, tmp_path, "hw.yaml", "in") == [
        *[("Ben", "Good", "correct"), ("Ben", "Small", "correct")],
        *[("Cy", "Good", "correct"), ("Cy", "Small", "unreadable")],
    ]
    result = attn("check", "hw.yaml", "in", cwd=tmp_path)
    assert result.status == 2
    assert result.err.count("in/Cy/draft.yaml: there is 1 set of answers, but 2 problems") == 1
    (tmp_path / "in" / "Cy" / "2.yaml").write_text(RIGHT["Small"])
    result = attn("check", "hw.yaml", "in", cwd=tmp_path)
    assert result.status == 0
    assert result.err == "in: passed over Cy/draft.yaml\n"


def test_what_is_no_sheet_is_passed_over_with_a_word(attn: Attn, tmp_path: Path) -> None:
    files = dict.fromkeys(
        ("in/.DS_Store", "in/._ada.yaml", "in/task.pdf", "in/a.log", "in/b.log"), "x"
    )
    own = {"in/ada.yaml": RIGHT["Small"], "in/bo/sheet.pdf": "%PDF-", "in/cy/hw.yaml": ""}
    write(tmp_path, {"hw.yaml": SMALL, **files, **own})
    assert book(attn, tmp_path, "hw.yaml", "in") == [
        *[("ada", "Small", "correct"), ("cy", "Small", "empty"), ("bo", "Small", "unreadable")]
    ]
    result = attn("check", "hw.yaml", "in", cwd=tmp_path)
    assert result.status == 2
    assert result.err.startswith("in: passed over a.log, b.log, task.pdf and 2 hidden files\n")
    assert "in/bo/sheet.pdf: this is a PDF" in result.err
    (tmp_path / "none").mkdir()
    result = attn("check", "hw.yaml", "none", cwd=tmp_path)
    assert (result.status, result.out) == (2, "")
    assert result.err == "none: there are no answers in this folder\n"


def test_worksheets_are_read_in_folders_where_answers_are_marked(
    attn: Attn, tmp_path: Path
) -> None:
    cells = "| | a | b |\n|---|---|---|\n| a | 1 | 0 |\n| b | 0 | 4 |\n"
    filled = f"Name: ____\n\n<!-- answer: scores -->\n\n{cells}"
    tex = "\\attnanswer{scores}{\\begin{array}{cc}1&0\\\\0&4\\end{array}}\n"
    own = {"in/Tom.md": filled, "in/Uma.tex": tex, "in/Vic/sheet.md": filled, "in/Wim/a.tex": "x"}
    others = {f"in/{name}": "Hand in a file.\n" for name in ("README.md", "Xu.log", "a.aux")}
    write(tmp_path, {"hw.yaml": SMALL, **own, **others})
    assert book(attn, tmp_path, "hw.yaml", "in") == [
        *[(name, "Small", "correct") for name in ("Tom", "Uma", "Vic")],
        ("Wim", "Small", "unreadable"),
    ]
    err = attn("check", "hw.yaml", "in", cwd=tmp_path).err
    assert err.startswith("in: passed over a.aux, README.md, Xu.log and Wim/a.tex\n")
    assert "in/Wim: there are no answers in this folder" in err


def test_a_file_of_another_program_is_unread_for_its_student(attn: Attn, tmp_path: Path) -> None:
    names = ("Tom.docx", "Uma.xls", "Vic.pdf", "Wim.zip", "Ada.pdf", "hw 1.pdf", "Bo/a/scan.jpg")
    own = {"in/Ada.yaml": RIGHT["Small"], **{f"in/{name}": "x" for name in names}}
    write(tmp_path, {"hw.yaml": SMALL, **own, **{f"in/{n:02}.log": "x" for n in range(7)}})
    assert book(attn, tmp_path, "hw.yaml", "in") == [
        ("Ada", "Small", "correct"),
        *[(name, "Small", "unreadable") for name in ("Tom", "Uma", "Vic", "Wim", "Bo")],
    ]
    result = attn("check", "hw.yaml", "in", cwd=tmp_path)
    assert result.status == 2
    logs = ", ".join(f"{n:02}.log" for n in range(7))
    assert result.err.startswith(f"in: passed over {logs}, Ada.pdf and hw 1.pdf\n")
    assert "in/Wim.zip: the zip file is damaged" in result.err
    write(tmp_path, {"submission/answers.yaml": RIGHT["Small"], "submission/scan.pdf": "x"})
    assert [name for name, *_ in book(attn, tmp_path, "hw.yaml", "submission")] == ["submission"]


def test_a_student_with_an_empty_folder_stops_no_other(attn: Attn, tmp_path: Path) -> None:
    write(tmp_path, {"hw.yaml": SMALL, "in/Ada/hw.yaml": RIGHT["Small"]})
    (tmp_path / "in" / "Bo" / "drafts").mkdir(parents=True)
    (tmp_path / "in" / "Ada" / "drafts").mkdir()
    expected = [("Ada", "Small", "correct"), ("Bo", "Small", "unreadable")]
    assert book(attn, tmp_path, "hw.yaml", "in") == expected
    result = attn("check", "hw.yaml", "in/Bo", "in/Ada", cwd=tmp_path)
    assert result.status == 2
    assert result.err == "in/Bo: there are no answers in this folder\n"
    assert "2 answers: 1 correct, 0 wrong, 1 could not be read" in result.out
    write(tmp_path, {"in/Bo/scan.pdf": "x", "in/Ada/scan.pdf": "x"})
    assert book(attn, tmp_path, "hw.yaml", "in") == expected
    rows = book(attn, tmp_path, "hw.yaml", "in/Ada", "in/Bo")
    assert rows == [("Ada", "Small", "correct"), ("Bo", "Small", "unreadable")]
    groups = {"g/mon/Ada/hw.yaml": RIGHT["Small"], "g/tue/Cy/scan.pdf": "x"}
    write(tmp_path, groups)
    (tmp_path / "g" / "tue" / "Bo").mkdir()
    rows = book(attn, tmp_path, "hw.yaml", "g")
    assert [name for name, *_ in rows] == ["Ada", "Cy", "Bo"]


def test_a_link_out_of_the_folder_is_not_read(attn: Attn, tmp_path: Path) -> None:
    write(tmp_path, {"hw.yaml": SMALL, "in/ada.yaml": RIGHT["Small"], "bo.yaml": RIGHT["Small"]})
    (tmp_path / "in" / "bo.yaml").symlink_to(tmp_path / "bo.yaml")
    assert [name for name, *_ in book(attn, tmp_path, "hw.yaml", "in")] == ["ada"]


def test_a_variant_is_told_by_the_name_of_the_file(attn: Attn, tmp_path: Path) -> None:
    """The files are called as `attn vary --for` calls them, and as learning platforms do."""
    own = {name: SMALL.replace("2", str(n)) for n, name in enumerate(("Ada Lovelace", "Bo"), 3)}
    variants = {f"variants/{name}.yaml": text for name, text in own.items()}
    sheets = {
        "in/ada_lovelace_4711_assignment.yaml": "scores: [[1, 0], [0, 9]]\n",
        "in/s2.yaml": "student: Bo\nscores: [[1, 0], [0, 16]]\n",
        "in/Ada Lovlace.yaml": "scores: [[1, 0], [0, 9]]\n",
    }
    write(tmp_path, {**variants, "variants/keys/Bo.yaml": "scores: [[0]]\n", **sheets})
    assert book(attn, tmp_path, "variants", "in") == [
        ("in/Ada Lovlace.yaml", "Small", "unreadable"),
        ("Ada Lovelace", "Small", "correct"),
        ("Bo", "Small", "correct"),
    ]
    result = attn("check", "variants", "in", cwd=tmp_path)
    assert result.status == 2
    assert result.err == (
        "in/Ada Lovlace.yaml: this does not tell whose answers it has, perhaps Ada Lovelace\n"
        "  write student: NAME into it, or the name into its row of --manifest FILE.csv\n"
    )


def test_a_problem_with_answers_in_it_is_called_by_its_file(attn: Attn, tmp_path: Path) -> None:
    """Its title and its notes are the problem's; so are those of results."""
    problem = f"notes: By hand.\n{SMALL}"
    answers = f"answers:\n  {RIGHT['Small']}"
    sheets = {
        "in/Ada.yaml": problem + answers,
        "in/Bo/hw.yaml": problem + answers,
        "in/s3.yaml": f"student: Cy\ncomment: late\n{problem}{answers}",
        "in/s4.yaml": f"title: Di\nnotes: tired\n{answers}",
    }
    write(tmp_path, {"hw.yaml": problem, **sheets})
    for form in ("yaml", "json", "csv"):
        attn("compute", "hw.yaml", "-o", f"in/Ed {form}.{form}", cwd=tmp_path)
    names = ["Ada", "Ed csv", "Ed json", "Ed yaml", "Cy", "s4", "Bo"]
    assert book(attn, tmp_path, "hw.yaml", "in") == [(name, "Small", "correct") for name in names]
    out = attn("check", "hw.yaml", "in", "-f", "json", cwd=tmp_path).out
    comments = [json.loads(line)["comment"] for line in out.splitlines()]
    assert comments == ["", "", "", "", "late", "tired", ""]
    both = f"{GOOD}answers:\n  {RIGHT['Good']}---\n{SMALL}{answers}"
    write(tmp_path, {**BOTH, "set/Flo.yaml": both})
    expected = [("Flo", "Good", "correct"), ("Flo", "Small", "correct")]
    assert book(attn, tmp_path, "hw.yaml", "set") == expected


def test_whoever_has_a_variant_and_hands_in_nothing_is_empty(attn: Attn, tmp_path: Path) -> None:
    names = ("Ada Lovelace", "Bo", "Cy", "Di")
    right, wrong = RIGHT["Small"], "scores: [[1,\n"
    sheets = {"in/ada_lovelace_47.yaml": right, "in/x.yaml": f"student: Cy\n{right}"}
    sheets |= {"in/Di.yaml": wrong, "one/Bo/bo.yaml": right, "one/Bo/scan.pdf": "x"}
    write(tmp_path, {**{f"variants/{name}.yaml": SMALL for name in names}, **sheets})
    assert book(attn, tmp_path, "variants", "in") == [
        ("Ada Lovelace", "Small", "correct"),
        *[("Di", "Small", "unreadable"), ("Cy", "Small", "correct"), ("Bo", "Small", "empty")],
    ]
    for answers in (["one/Bo"], ["one/Bo/bo.yaml"]):
        out = book(attn, tmp_path, "variants", *answers)
        assert [verdict for _, _, verdict in out] == ["correct"]
    result = attn("check", "variants", "one", "-f", "gradescope", cwd=tmp_path)
    assert json.loads(result.out)["extra_data"] == {"student": "Bo"}
    write(tmp_path, {"numbered/01.yaml": SMALL, "numbered/02.yaml": SMALL, "s/01-Flo.yaml": right})
    assert book(attn, tmp_path, "numbered", "s") == [("01-Flo", "Small", "correct")]
    write(tmp_path, {"ids/4711.yaml": SMALL, "ids/4712.yaml": SMALL, "i/4712.yaml": right})
    expected = [("4712", "Small", "correct"), ("4711", "Small", "empty")]
    assert book(attn, tmp_path, "ids", "i") == expected


def test_problems_with_titles_of_their_own_are_a_set(attn: Attn, tmp_path: Path) -> None:
    write(tmp_path, {"set/10.yaml": SMALL, "set/9.yaml": GOOD, "in/ada/10.yaml": RIGHT["Small"]})
    rows = [("ada", "Good", "empty"), ("ada", "Small", "correct")]
    assert book(attn, tmp_path, "set", "in") == rows
    (tmp_path / "empty").mkdir()
    result = attn("check", "empty", "in", cwd=tmp_path)
    assert (result.status, result.out) == (2, "")
    assert "empty: there are no problems in this folder" in result.err


def test_whoever_writes_the_same_numbers_has_the_same_report() -> None:
    """It is found once; the name, the comment and strictness are each sheet's own."""
    key = attncli.AnswerKey(attncli.Problem(X=[[1, 3, 2], [1, 1, 3], [1, 2, 1]], score="dot"))
    weights = [["0.97", "0.02", "0.01"], ["0.27", "0.73", "0.00"], ["0.91", "0.05", "0.05"]]
    one = key.check({"student": "Ada", "weights": weights, "comment": "mine"})
    two = key.check({"student": "Bo", "weights": weights}, strict=True)
    assert one.steps is two.steps
    assert [(r.name, r.comment, r.verdict) for r in (one, two)] == [
        *[("Ada", "mine", "correct"), ("Bo", "", "wrong")]
    ]
    other = key.check({"student": "Cy", "weights": [["0.98", *weights[0][1:]], *weights[1:]]})
    assert other.counts["correct"] == one.counts["correct"] + 1


# Pages for students


NUMBER = re.compile(r"\d+\.\d+|\d+")


@pytest.mark.parametrize("name", ["bo.yaml", "cleo.csv", "dora.yaml", "published.yaml"])
def test_a_page_holds_no_number_but_the_students_own(name: str, attn: Attn, tmp_path: Path) -> None:
    """Neither what is shown nor the source; with --solution, the right ones stand in it."""
    sheet = SAMPLES / "answers" / name
    problem = SAMPLES / ("i_am_good.yaml" if name == "published.yaml" else "integers_scaled.yaml")
    # A sheet without a name in it is called by its path, which may hold any digit.
    attn("check", problem, f"answers/{name}", "--feedback", tmp_path / "pages", cwd=SAMPLES)
    (page,) = (path for path in (tmp_path / "pages").iterdir() if path.name != "index.html")
    text = page.read_text()
    ElementTree.fromstring(text.partition("\n")[2])  # it is well-formed
    report = attncli.check(attncli.load(problem), attncli.load_answers(sheet)[0])
    counted = set(NUMBER.findall(" ".join(report_page(report, ReportSelection()).said)))
    counted |= set(
        NUMBER.findall(verdict(report) + "".join(report_page(report, ReportSelection()).missing))
    )
    own = set(NUMBER.findall(sheet.read_text())) | set("0123")  # labels, and the 3 of √3
    source = re.sub(r'(?s)<style>.*?</style>|<meta [^>]*>|</?h\d[^>]*>|width="[^"]*"', " ", text)
    shown = set(NUMBER.findall(source))
    for sentence in (r"[≈✗] \d+ numbers", r"\d+ of \d+ numbers? right(, \d+ worked)?"):
        for found in re.finditer(sentence, source):
            counted |= set(NUMBER.findall(found[0]))
    assert shown <= own | counted, shown - own - counted
    right = {
        f"{value:.{decimals}f}"
        for step in report.trace.steps.values()
        for value in step.array.ravel().tolist()
        for decimals in (1, 2, 3, 4)
    }
    assert not (right - own) & shown
    solved = ("--feedback", tmp_path / "all", "--solution")
    assert attn("check", problem, f"answers/{name}", *solved, cwd=SAMPLES).status in (0, 1)
    whole = (tmp_path / "all" / page.name).read_text()
    assert f"{report.trace['output'].array.flat[1]:.4f}".rstrip("0") in whole


def test_a_page_tells_where_it_went_wrong_and_what_kind_of_mistake_it_is(
    attn: Attn, tmp_path: Path
) -> None:
    answers = SAMPLES / "answers"
    sheets = [answers / name for name in ("ada.json", "bo.yaml", "cleo.csv")]
    points = ("--points", "scores: 2, weights: 3")
    attn("check", SAMPLES / "integers_scaled.yaml", *sheets, *points, "--feedback", tmp_path)
    bo, cleo = (
        re.sub("</?b>", "", (tmp_path / f"{name}.html").read_text()) for name in ("Bo", "Cleo")
    )
    assert "The first wrong number is scaled[a1, a1]." in bo
    assert "✗ The scores were divided by d_k, not by √d_k." in bo
    assert "→ not the right numbers, but worked out correctly from your numbers" in bo
    assert "points: 5 of 5 (scores 2 of 2, weights 3 of 3)" in bo
    assert "scores[a2, a3] is wrong. Calculate it again." in cleo
    index = (tmp_path / "index.html").read_text()
    page = ElementTree.fromstring(index.partition("\n")[2])
    links = [link.get("href") for link in page.iter("a")]
    assert links == ["Ada.html", "Bo.html", "Cleo.html"]
    rows = ["".join(row.itertext()) for row in page.iter("tr")]
    assert rows[0] == "studentpointsQKVscoresscaledweightsoutput"
    assert rows[2].startswith(
        "Bo5 of 5–not given–not given–not given✓right✗wrong scaled by d k→follows"
    )
    assert "3 answers: 0 correct, 2 wrong, 1 incomplete" in index


def test_students_of_one_name_and_strange_ones_have_a_page_each(attn: Attn, tmp_path: Path) -> None:
    names = ["Ada", "ADA", "index", "../x", "<b>&"]
    rows = "".join(f'"{name}",1\n' for name in names)
    write(tmp_path, {"hw.yaml": SMALL, "in.csv": f'Name,"scores[1,1]"\n{rows}'})
    attn("check", "hw.yaml", "in.csv", "--feedback", "out", cwd=tmp_path)
    found = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert found == ["ADA-2.html", "Ada.html", "_b_&.html", "_x.html", "index-2.html", "index.html"]
    index = (tmp_path / "out" / "index.html").read_text()
    page = ElementTree.fromstring(index.partition("\n")[2])
    assert [link.text for link in page.iter("a")] == names
    assert [link.get("href") for link in page.iter("a")][-1] == "_b_%26.html"


def test_pages_of_several_problems_and_of_what_could_not_be_read(
    attn: Attn, tmp_path: Path
) -> None:
    write(tmp_path, {**BOTH, "in/ada/1.yaml": RIGHT["Good"], "in/ada/2.yaml": "scores: [[1\n"})
    attn("check", "hw.yaml", "in", "--feedback", "out", cwd=tmp_path)
    ada = (tmp_path / "out" / "ada.html").read_text()
    assert ada.count("<article>") == 2
    assert "? could not be read: a bracket is not closed" in ada
    index = (tmp_path / "out" / "index.html").read_text()
    assert index.index('<th scope="colgroup" colspan="1">Good</th>') < index.index(">Small</th>")
    said = "? could not be read: in/ada/2.yaml:2:1: a bracket is not closed"
    assert said in index


SELF: dict[str, Any] = {"X": [[1, 0, 2], [3, 1, 1], [2, 2, 0]], "score": "dot"}
ONE_QUERY: dict[str, Any] = {
    "kind": "cross",
    "X": [[1, 2]],
    "memory": [[1, 0], [2, 1], [0, 3]],
    "score": "dot",
}
DIVIDED = {"exp": [["2.718", "54.598", "403.429"]], "sum": [["460.745"]]}


@pytest.mark.parametrize(
    ("problem", "answers", "told"),
    [
        (SELF, {"scores": [[5, 15, 2], [5, 11, 8], [2, 8, 8]]}, "Only scores[1, 2] is wrong."),
        (SELF, {"scores": [[5, 5, 2], [5, -7, 8], [2, 8, 8]]}, "scores[2, 2] is wrong."),
        (
            SELF,
            {"scores": [[5, 5, 2], [5, 11, 8], [5, 5, 2]]},
            "Only row 3 is wrong: it holds the numbers of row 1.",
        ),
        (
            SELF,
            {"scores": [[6, 8, 4], [5, 11, 8], [2, 8, 8]]},
            "Only row 1 is wrong: perhaps Q[1, 1] was misread.",
        ),
        (
            ONE_QUERY,
            {**DIVIDED, "weights": [["0.00737", "0.14812", "1.09450"]]},
            "The numbers were divided by a wrong one.",
        ),
        (ONE_QUERY, {"scores": [[-1, -4, -6]]}, "All 3 numbers have the wrong sign."),
        (ONE_QUERY, {"scores": [[3, 12, 18]]}, "All numbers are off by the same factor."),
        (
            SELF,
            {"scores": [[5, 41, 2], [5, 11, 8], [77, 8, 8]]},
            "Only scores[1, 2] and scores[3, 1] are wrong.",
        ),
        (
            SELF | {"marking": {"decimals": 2}},
            {
                "weights": [
                    ["0.5", "0.49", "0.02"],
                    ["0.00", "0.95", "0.05"],
                    ["0.00", "0.5", "0.50"],
                ]
            },
            "weights[1, 1] has 1 decimal, but 2 are asked for.",
        ),
        (
            SELF | {"score": "scaled_dot"},
            {
                "scaled": [
                    ["1.67", "1.67", "0.67"],
                    ["1.67", "3.67", "2.67"],
                    ["0.67", "2.67", "2.67"],
                ]
            },
            "The scores were divided by d_k, not by √d_k.",
        ),
        (
            SELF | {"mask": "causal"},
            {"masked": [[5, 0, 0], [5, 11, 0], [2, 8, 8]]},
            "Blocked scores were set to 0, but e^0 = 1 still counts.",
        ),
        (
            SELF | {"mask": "causal"},
            {"weights": [[1, 0, 0], ["0.0025", "0.9975", "0.3"], ["0.0012", "0.4994", "0.4994"]]},
            "weights[2, 3] is wrong: the mask blocks it.",
        ),
        (SELF, {"weights": [["0.50"] * 3] * 3}, "Every number of weights is 0.50."),
    ],
)
def test_a_sentence_is_told_without_the_numbers_that_tell_right_ones(
    problem: dict[str, Any], answers: dict[str, Any], told: str
) -> None:
    report = attncli.check(attncli.Problem(**problem), answers)
    assert report.first_wrong_step is not None
    assert report.findings[report.first_wrong_step].sentence(solution=False) == told


# Gradescope


def test_results_for_gradescope_have_its_documented_fields(attn: Attn, tmp_path: Path) -> None:
    scaled, points = SAMPLES / "integers_scaled.yaml", ("--points", "scores: 2, weights: 3")
    runs = [
        *[(points, 5.0, 2), (("--ask", "scaled,output"), 1.0, 2), ((), 0.0, 1)],
        ((*points, "--follow", "0.5"), 3.5, 2),
    ]
    for flags, score, tests in runs:
        out = attn("check", scaled, SAMPLES / "answers" / "bo.yaml", *flags, "-f", "gradescope").out
        results = json.loads(out)
        assert list(faults(results)) == []
        assert (results["score"], len(results["tests"])) == (score, tests)
        assert results["score"] == sum(test["score"] for test in results["tests"])
        assert "1.7321" not in out
    (tmp_path / "eva.yaml").write_text("scores: [[\n")
    files = [SAMPLES / "answers" / "cleo.csv", tmp_path / "eva.yaml"]
    refused = attn("check", scaled, *files, "-f", "gradescope")
    assert (refused.status, refused.out) == (2, "")
    assert f"of one student, but here are Cleo and {tmp_path / 'eva.yaml'}" in refused.err
    assert "-o 'results/{student}.json'" in refused.err
    folder = tmp_path / "results"
    attn("check", scaled, *files, "-f", "gradescope", "-o", f"{folder}/{{number}}/results.json")
    found = [json.loads((folder / str(n) / "results.json").read_text()) for n in (1, 2)]
    assert [list(faults(one)) for one in found] == [[], []]
    assert found[1]["score"] == 0
    assert "could not be read" in found[1]["output"]
    assert found[0]["tests"][0]["tags"] == ["single_cell_slip"]


def test_the_results_of_a_student_hold_all_problems(attn: Attn, tmp_path: Path) -> None:
    write(
        tmp_path,
        {**BOTH, "submission/p1.yaml": RIGHT["Good"], "submission/p2.yaml": WRONG["Small"]},
    )
    flags = ("--points", "scores: 4", "-f", "gradescope", "-o", "results.json")
    assert attn("check", "hw.yaml", "submission", *flags, cwd=tmp_path).status == 1
    results = json.loads((tmp_path / "results.json").read_text())
    assert list(faults(results)) == []
    assert [test["name"] for test in results["tests"]] == ["Good: scores", "Small: scores"]
    assert [test["status"] for test in results["tests"]] == ["passed", "failed"]
    assert results["score"] == 7
    assert results["extra_data"] == {"student": "submission"}


def test_the_validator_finds_what_the_documentation_does_not_have() -> None:
    test = {"score": 1, "status": "ok", "tags": [1], "visible": True}
    wrong = {"score": "1", "visibility": "never", "points": 3, "tests": [test]}
    assert len(list(faults(wrong))) == 6
    assert list(faults({"tests": [{"name": "a"}]})) == [
        "score is required, of the whole or of each test"
    ]
    assert list(faults({"score": 44.0, "tests": []})) == []


# A spreadsheet


HOSTILE = ["=1+1", "+1+1", "-1+1", "@SUM(1;1)", "\t=1+1", "\r=1+1", "  =1+1", "＝1+1", "Ada"]


@pytest.mark.needs("soffice")
def test_no_name_is_a_formula_in_libreoffice(attn: Attn, tmp_path: Path) -> None:
    rows = "".join(f'"{name}","1"\n' for name in HOSTILE)
    write(tmp_path, {"hw.yaml": SMALL, "in.csv": f'Name,"scores[1,1]"\n{rows}'})
    attn("check", "hw.yaml", "in.csv", "-o", "grades.csv", cwd=tmp_path)
    names = [
        row["name"] for row in csv.DictReader(io.StringIO((tmp_path / "grades.csv").read_text()))
    ]
    home = f"-env:UserInstallation=file://{tmp_path}/office"
    read = "--infilter=CSV:44,34,76,1"  # commas, quotation marks, UTF-8, from the first line
    convert = ["soffice", home, "--headless", read, "--convert-to", "fods", "grades.csv"]
    subprocess.run(convert, cwd=tmp_path, check=True, capture_output=True, timeout=120)
    sheet = (tmp_path / "grades.fods").read_text()
    assert "table:formula" not in sheet
    cells = [
        unescape(re.sub("<[^>]*>", " ", x)) for x in re.findall(r"<text:p>.*?</text:p>", sheet)
    ]
    shown = [" ".join(cell.split()) for cell in cells]
    assert [name for name in names if " ".join(name.split()) not in shown] == []


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
