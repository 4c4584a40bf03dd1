"""Grade books with the columns of a roster, totals for learning platforms, doubts about the key."""

from __future__ import annotations

import csv
import io
import json
import pickle
import re
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import attncli
from attncli.checking.check import AnswerKey
from attncli.core.problem.marking import as_points
from attncli.printing.class_report import Tally
from attncli.printing.verdicts import numbers_right
from attncli.reading.document import submission_of
from tests.conftest import Attn
from tests.whole.test_page_in_browser import seen_in_frames

ONE = """title: Scores
Q: [[1, 0], [1, 1]]
K: [[1, 1], [3, 1]]
V: [[4, 0], [0, 8]]
score: dot
normalize: sum
marking: {points: {scores: 5.35}}
"""
"""Its scores are [[1, 3], [2, 4]]; half of them are worth 2.675."""

TWO = """title: Weights
Q: [[1, 0], [1, 1]]
K: [[1, 1], [3, 1]]
V: [[4, 0], [0, 8]]
score: dot
normalize: sum
marking: {points: {'weights[1, 1]': 1, 'weights[2]': 0.5}}
"""
"""Its weights are [[1/4, 3/4], [1/3, 2/3]]."""

RIGHT = "scores: [[1, 3], [2, 4]]\n---\nweights: [[1/4, 3/4], [1/3, 2/3]]\n"
HALF = "scores: [[1, 3], [5, 5]]\n---\nweights: [[1/4, 3/4], [1/3, 1/2]]\n"

CANVAS = """Student,ID,SIS User ID,SIS Login ID,Section,Quiz 1 (87568)
    Points Possible,,,,,10
"Lovelace, Ada",101,0042,ada@x.edu,"Maths, Monday",7.5
"Blum, Zoë",102,0043,=zoe@x.edu,-1,
"Vance, Eli",103,0044,eli@x.edu,+1,8
"Kay, Bo",104,0045,bo@x.edu,@all,9
"""
"""A gradebook of Canvas, with cells that a spreadsheet would take for formulas."""

FILES = {
    "hw.yaml": f"{ONE}---\n{TWO}",
    "roster.csv": CANVAS,
    "in/lovelace_ada.yaml": RIGHT,
    "in/zoe-blum.yaml": HALF,
    "in/eli_vance.yaml": "scores: [[1, 3], [2, 4]]\n---\nweights: [[1/4\n",
    "in/someone.yaml": f"student: Nobody Else\n{RIGHT}",
}


@pytest.fixture
def course(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def rows_of(text: str, delimiter: str = ",") -> list[list[str]]:
    return list(csv.reader(io.StringIO(text), delimiter=delimiter))


CLASS = ("check", "hw.yaml", "in", "--for", "roster.csv")


# The columns of the roster


def test_the_grade_book_keeps_the_columns_of_the_roster(course: Path, attn: Attn) -> None:
    heads, *rows = rows_of(attn(*CLASS, "-f", "csv", cwd=course).out)
    roster = CANVAS.splitlines()[0].split(",")
    assert heads[:7] == [*roster, "name"]
    found = {row[6]: row[:6] for row in rows}
    # Numbers, also with leading zeros and signs, come back as they were; formulas are none.
    assert found == {
        "Lovelace, Ada": ["Lovelace, Ada", "101", "0042", "ada@x.edu", "Maths, Monday", "7.5"],
        "Blum, Zoë": ["Blum, Zoë", "102", "0043", "'=zoe@x.edu", "-1", ""],
        "Vance, Eli": ["Vance, Eli", "103", "0044", "eli@x.edu", "+1", "8"],
        "Kay, Bo": ["Kay, Bo", "104", "0045", "bo@x.edu", "'@all", "9"],
        next(name for name in found if "," not in name): [""] * 6,
    }
    tsv = rows_of(attn(*CLASS, "-f", "tsv", cwd=course).out, "\t")
    assert [row[:7] for row in tsv] == [row[:7] for row in (heads, *rows)]


# Totals, as learning platforms read them


def canvas_scores(text: str) -> dict[str, dict[str, float | None]]:
    """Return the scores by assignment and student that Canvas takes from a file.

    Written after lib/gradebook_importer.rb of instructure/canvas-lms: `row_has_student_headers?`,
    `update_column_count`, `last_student_info_column`, `check_for_non_student_row`, `no_score?`.
    """
    heads, *rows = rows_of(text)
    assert len(heads) > 3
    assert "Student" in heads[0]
    assert "ID" in heads[1]
    count = 3
    if re.search(r"SIS\s+Login\s+ID", heads[2]):
        count += 1
    elif re.search(r"SIS\s+User\s+ID", heads[2]) and re.search(r"SIS\s+Login\s+ID", heads[3]):
        count += 2 + bool(re.search(r"Integration\s+ID", heads[4]))
    assert "Section" in heads[count - 1]
    ours = [head for head in heads[count:] if not re.search("Current|Final|Override", head)]
    return {
        head: {
            row[0]: None
            if row[heads.index(head)].strip() in ("", "-")
            else float(row[heads.index(head)])
            for row in rows
            if "Points Possible" not in row[0] and any(row)
        }
        for head in ours
    }


def moodle_grades(text: str, mapped_from: str) -> dict[str, dict[str, float | None]]:
    """Return the grades by new column and user that Moodle takes from a file.

    Written after grade/import/csv/classes/load_data.php (`import_new_grade_item`: all but `-` is a
    grade) and `normalise_value` in lib/dml (the text "" becomes 0 in a column of numbers) of
    moodle/moodle. A row without the mapped cell would get the grades of the row before.
    """
    heads, *rows = rows_of(text)
    user = heads.index(mapped_from)
    assert all(row[user] for row in rows)
    new = range(heads.index("Section") + 2, len(heads))
    return {
        heads[at]: {
            row[user]: None if row[at].strip() == "-" else float(row[at].strip() or 0)
            for row in rows
        }
        for at in new
    }


TOTALS = {
    "Scores": (5.35, 2.68, 5.35, 0.0),
    "Weights": (1.5, 1.25, None, 0.0),
    "total": (6.85, 3.93, None, 0.0),
}
"""The points of the roster's students, in its order; None where a file could not be read."""


def test_canvas_and_moodle_take_the_totals(course: Path, attn: Attn) -> None:
    result = attn(*CLASS, "--totals", "-o", "totals.csv", cwd=course)
    assert (result.status, result.out) == (2, "")  # a file could not be read
    text = (course / "totals.csv").read_text()
    heads, *rows = rows_of(text)
    assert heads == [*CANVAS.splitlines()[0].split(","), *TOTALS]
    assert [row[0] for row in rows] == ["Lovelace, Ada", "Blum, Zoë", "Vance, Eli", "Kay, Bo"]
    scores = canvas_scores(text)
    assert list(scores) == ["Quiz 1 (87568)", *TOTALS]
    grades = moodle_grades(text, "SIS User ID")
    for column, points in TOTALS.items():
        assert tuple(scores[column].values()) == points
        assert tuple(grades[column].values()) == points
        assert list(grades[column]) == ["0042", "0043", "0044", "0045"]
    assert "warning: no grade (-) for Vance, Eli: " in result.err
    assert "warning: no row for in/someone.yaml: not in the roster" in result.err
    tsv = attn(*CLASS, "--totals", "-f", "tsv", cwd=course).out
    assert rows_of(tsv, "\t") == [heads, *rows]


def test_who_has_0_points_while_answers_have_no_row_is_named(course: Path, attn: Attn) -> None:
    """Kay's answers may be those under another name; Moodle would take the 0 in silence."""
    (course / "in" / "eli_vance.yaml").write_text("scores: _\n---\nweights: _\n")
    err = attn(*CLASS, "--totals", "-f", "csv", cwd=course).err
    said = "no answers are theirs, unless some above are"
    assert f"warning: 0 points for Vance, Eli; Kay, Bo: {said}\n" in err
    (course / "in" / "someone.yaml").unlink()
    assert "warning" not in attn(*CLASS, "--totals", "-f", "csv", cwd=course).err


def test_points_of_cells_reach_the_variants_and_their_totals(attn: Attn, tmp_path: Path) -> None:
    (tmp_path / "hw.yaml").write_text(TWO)
    (tmp_path / "roster.txt").write_text("Ada Lovelace\nBo Kay\n")
    attn("vary", "hw.yaml", "--for", "roster.txt", "-o", "variants/", cwd=tmp_path)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "someone.yaml").write_text("weights: [[1, 1], [1, 1]]\n")
    (tmp_path / "in" / "Ada Lovelace.yaml").write_text("weights: [[1, 1], [1, 1]]\n")
    result = attn("check", "variants", "in", "--totals", "-f", "csv", cwd=tmp_path)
    heads, *rows = rows_of(result.out)
    assert heads == ["name", "Weights", "total"]
    unknown = ["in/someone.yaml", "-", "-"]
    assert rows == [["Ada Lovelace", "0", "0"], unknown, ["Bo Kay", "0", "0"]]
    assert "warning: 0 points for Bo Kay: no answers are theirs, unless some above" in result.err


def test_the_grades_of_moodle_that_are_not_given_stay_so(course: Path, attn: Attn) -> None:
    """Moodle exports a grade that is not given as -, and imports it as none."""
    (course / "roster.csv").write_text("First name,Last name,Quiz 1\nAda,Lovelace,-\nBo,Kay,-1\n")
    rows = rows_of(attn(*CLASS, "--totals", "-f", "csv", cwd=course).out)
    assert [row[:3] for row in rows[1:]] == [["Ada", "Lovelace", "-"], ["Bo", "Kay", "-1"]]


def test_without_a_roster_a_row_begins_with_the_name(course: Path, attn: Attn) -> None:
    (course / "in" / "someone.yaml").unlink()
    problem = (course / "hw.yaml").read_text().replace("title: Weights\n", "")
    (course / "hw.yaml").write_text(problem)
    out = attn("check", "hw.yaml", "in", "--totals", "-f", "csv", cwd=course).out
    heads, *rows = rows_of(out)
    assert heads == ["name", "Scores", "problem 2", "total"]
    assert sorted(row[1:] for row in rows) == [
        ["2.68", "1.25", "3.93"],
        ["5.35", "-", "-"],
        ["5.35", "1.5", "6.85"],
    ]
    assert all(row[0] for row in rows)


def test_of_students_of_one_name_neither_gets_the_points(course: Path, attn: Attn) -> None:
    twins = "Name,SID\nAda Lovelace,7\nZoe Blum,8\nAda Lovelace,9\n"
    (course / "roster.csv").write_text(twins)
    result = attn(*CLASS, "--totals", "-f", "csv", cwd=course)
    rows = {row[1]: row[2:] for row in rows_of(result.out)[1:]}
    assert rows == {"7": ["-", "-", "-"], "8": ["2.68", "1.25", "3.93"], "9": ["-", "-", "-"]}
    both = "Ada Lovelace (7) or Ada Lovelace (9)"
    assert f"this does not tell whose answers it has, perhaps {both}\n" in result.err
    book = rows_of(attn(*CLASS, "-f", "csv", cwd=course).out)
    found = {tuple(row[1:3]) for row in book if row[0] == "Ada Lovelace"}
    assert found == {("7", "Ada Lovelace (7)"), ("9", "Ada Lovelace (9)")}


@pytest.mark.parametrize(
    ("flags", "message", "hint"),
    [
        ((), "--totals writes one table of the class", "-f csv"),
        (("-f", "json"), "--totals writes one table of the class", "-f csv"),
        (("-f", "csv", "-o", "{student}.csv"), "--totals writes one table of the class", "-f csv"),
        (("-o", "x.html"), "--totals writes one table of the class", "-o grades.csv"),
    ],
)
def test_totals_are_refused_where_there_is_no_table_of_the_class(
    course: Path, attn: Attn, flags: Sequence[str], message: str, hint: str
) -> None:
    result = attn(*CLASS, "--totals", *flags, cwd=course)
    assert (result.status, result.out) == (2, "")
    assert message in result.err
    assert hint in result.err


def test_totals_need_points_in_every_problem(course: Path, attn: Attn) -> None:
    text = (course / "hw.yaml").read_text().partition("marking: {points: {'weights")
    (course / "hw.yaml").write_text(text[0])
    result = attn(*CLASS, "--totals", "-f", "csv", cwd=course)
    assert (result.status, result.out) == (2, "")
    assert result.err == (
        "--totals adds up points, but Weights has none\n"
        "  write such as --points 'weights: 4, output: 3', or the key marking\n"
    )


# Points


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 100_000), st.integers(1, 60), st.data())
def test_points_are_rounded_half_up_in_decimals(
    hundredths: int, cells: int, data: st.DataObject
) -> None:
    """Any share of any points, compared with fractions."""
    right = data.draw(st.integers(0, cells))
    exact = Fraction(hundredths * right, cells)
    half_up = (2 * exact + 1) // 2
    found = as_points(hundredths / 100 * (right / cells))
    assert found == float(Fraction(int(half_up), 100))
    assert len(str(found).partition(".")[2]) <= 2


def test_points_are_the_same_in_every_output(course: Path, attn: Attn) -> None:
    """Half of 5.35 is 2.68; a cell has points, and a row; a total is the sum of what is shown."""
    zoe = ("check", "hw.yaml", "in/zoe-blum.yaml")
    scores, weights = map(json.loads, attn(*zoe, "-f", "json", cwd=course).out.splitlines())
    assert (scores["points"], scores["of"]) == (2.68, 5.35)
    assert scores["steps"]["scores"]["points"] == 2.68
    assert (weights["points"], weights["of"]) == (1.25, 1.5)
    assert weights["parts"] == {
        "weights[1, 1]": {"points": 1, "of": 1},
        "weights[2]": {"points": 0.25, "of": 0.5},
    }
    rows = list(csv.DictReader(io.StringIO(attn(*zoe, "-f", "csv", cwd=course).out)))
    assert [(row["points"], row["of"]) for row in rows] == [("2.68", "5.35"), ("1.25", "1.5")]
    assert [row["points_weights[2]"] for row in rows] == ["", "0.25"]
    table = attn(*zoe, cwd=course).out
    assert "2.68 of 5.35" in table
    assert "1.25 of 1.5" in table
    results = json.loads(attn(*zoe, "-f", "gradescope", cwd=course).out)
    assert results["score"] == 3.93
    assert [test["score"] for test in results["tests"]] == [2.68, 1, 0.25]
    attn(*zoe, "--feedback", "pages", cwd=course)
    (path,) = (one for one in (course / "pages").iterdir() if one.name != "index.html")
    page = path.read_text()
    assert "<p>2 of 4 numbers right, 2.68 of 5.35 points</p>" in page
    assert "<p>2 of 3 numbers right, 1.25 of 1.5 points</p>" in page
    assert "<p>points: 1.25 of 1.5 (weights[1, 1] 1 of 1, weights[2] 0.25 of 0.5)</p>" in page
    assert "<td>3.93 of 6.85</td>" in (course / "pages" / "index.html").read_text()
    (course / "one.yaml").write_text(ONE)
    (course / "bo.yaml").write_text("scores: [[1, 3], [2, 4]]\n")
    (course / "cy.yaml").write_text("scores: [[1, 3], [5, 5]]\n")
    several = attn("check", "one.yaml", "bo.yaml", "cy.yaml", cwd=course).out
    assert "points: 4.02 of 5.35 on average" in several  # (5.35 + 2.68) / 2 = 4.015


def test_a_cell_with_points_of_its_own_is_counted_once() -> None:
    marking = {"points": {"scores": 3, "scores[1, 1]": 1}}
    problem = attncli.Problem(X=[[1, 0], [0, 2]], score="dot", marking=marking)
    report = attncli.check(problem, {"scores": [[1, 0], [0, 3]]})
    assert numbers_right(report, report.wanted.values()) == "3 of 4 numbers right"
    assert (report.points, report.total) == ({"scores": 2.25, "scores[1, 1]": 1}, 3.25)


def test_points_in_thirds_are_those_that_are_shown() -> None:
    key = {"points": {"scores": "1/3", "weights": "1/3", "output": "1/3"}}
    problem = attncli.Problem(X=[[1, 0], [0, 2]], score="dot", marking=key)
    trace = attncli.compute(problem)
    report = attncli.check(problem, {name: trace[name].value for name in key["points"]})
    assert report.points == {"scores": 0.33, "weights": 0.33, "output": 0.33}
    assert (report.total, report.marking.possible) == (0.99, 0.99)


# The key may be wrong


def tally_of(answers: Sequence[str], problem: str = ONE) -> list[str]:
    """Return the doubts about the key of a problem, from the scores that a class wrote."""
    key = AnswerKey(attncli.Problem(**yaml.safe_load(problem)))
    tally = Tally(doubts_key=True)
    for number, text in enumerate(answers):
        sheet = submission_of({"scores": json.loads(text)}, f"student {number}")
        tally.add(key.check(sheet))
    return list(tally.doubts())


WRONG = '[["1", "3"], ["2", "5"]]'
OTHER = '[["1", "3"], ["2", "7"]]'
CORRECT = '[["1", "3"], ["2", "4"]]'

SAID = (
    "Scores: the key may be wrong: "
    "3 of 3 wrong answers have 5 in scores[2, 2], where the key has 4."
)
COMPARE = "Compare the problem with the one that was handed out."


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ([WRONG] * 3, [f"{SAID} {COMPARE}"]),
        ([WRONG] * 2, []),  # two may have worked together
        (
            [WRONG] * 3 + [CORRECT] * 6,
            [f"{SAID} {COMPARE}".replace("key has", "key and 6 others have")],
        ),
        ([WRONG] * 3 + [CORRECT] * 7, []),  # a common mistake in a class that agrees with the key
        ([WRONG] * 3 + [OTHER] * 2, [f"{SAID} {COMPARE}".replace("3 of 3", "3 of 5")]),
        ([WRONG] * 3 + [OTHER] * 3, []),
        (
            [WRONG, '[["1", "3"], ["2", "5.0"]]', '[["1", "3"], ["2", "10/2"]]'],
            [f"{SAID} {COMPARE}"],
        ),
        (['[["1", "3"], ["2", "idk"]]'] * 3, []),
    ],
)
def test_the_key_may_be_wrong_where_most_wrong_numbers_agree(
    answers: Sequence[str], said: list[str]
) -> None:
    found = tally_of(answers)
    assert [re.sub(r"They make one mistake: .*", COMPARE, one) for one in found] == said


SELF: dict[str, Any] = {
    "X": [[1, 0, 2], [3, 1, 1], [2, 2, 0]],
    "score": "scaled_dot",
    "title": "Self",
}
"""Its scores are [[5, 5, 2], [5, 11, 8], [2, 8, 8]], and d_k is 3."""

BY_D_K = {
    2: "[[1.67, 1.67, 0.67], [1.67, 3.67, 2.67], [0.67, 2.67, 2.67]]",
    3: "[[1.667, 1.667, 0.667], [1.667, 3.667, 2.667], [0.667, 2.667, 2.667]]",
    1: "[[1.7, 1.7, 0.7], [1.7, 3.7, 2.7], [0.7, 2.7, 2.7]]",
}
"""The scores divided by 3 and not by its root, with so many decimals."""

WEIGHTS = {
    2: "[[0.42, 0.42, 0.15], [0.09, 0.67, 0.24], [0.06, 0.47, 0.47]]",
    3: "[[0.423, 0.423, 0.156], [0.090, 0.665, 0.245], [0.063, 0.468, 0.468]]",
}


def write_class(folder: Path, sheets: Sequence[str]) -> None:
    (folder / "hw.yaml").write_text(json.dumps(SELF))
    (folder / "in").mkdir()
    for number, sheet in enumerate(sheets):
        (folder / "in" / f"Student {chr(65 + number)}.yaml").write_text(sheet)


def test_a_doubt_names_the_mistake_that_all_make(attn: Attn, tmp_path: Path) -> None:
    """Numbers are equal in the digits that were written; what follows from them is not counted."""
    sheets = [f"scaled: {BY_D_K[decimals]}\n" for decimals in (2, 3, 1)]
    write_class(tmp_path, [*sheets, f"{sheets[0]}weights: {WEIGHTS[2]}\n"])
    result = attn("check", "hw.yaml", "in", "--feedback", "out", "-f", "csv", cwd=tmp_path)
    (warning,) = (line for line in result.err.splitlines() if line.startswith("warning: "))
    assert warning.startswith(
        "warning: Self: the key may be wrong: "
        "4 of 4 wrong answers have 1.67 in scaled[1, 1], where the key has 2.89; "
        "4 of 4 have 1.67 in scaled[1, 2], not 2.89; "
    )
    assert warning.endswith(
        "They make one mistake: the scores were divided by d_k = 3, not by √d_k = √3 = 1.7321."
    )
    page = (tmp_path / "out" / "index.html").read_text()
    assert f'<div class="warnings"><p>{warning.removeprefix("warning: ")}</p>' in page
    quiet = attn("check", "hw.yaml", "in", "-q", "-f", "csv", cwd=tmp_path)
    assert quiet.err == ""


def test_variants_with_other_numbers_put_no_key_in_doubt() -> None:
    tally = Tally(doubts_key=True)
    for number in range(5):
        problem = attncli.Problem(X=[[1, number], [2, 1]], score="dot", title="A variant")
        right = attncli.compute(problem)["scores"].value
        sheet = {"scores": [[5, right[0, 1] + 1], right[1].tolist()]}
        tally.add(AnswerKey(problem).check(submission_of(sheet, f"student {number}")))
    assert tally.verdicts["wrong"] == 5
    assert list(tally.doubts()) == []


def test_a_tally_does_not_grow_with_the_class() -> None:
    key = AnswerKey(attncli.Problem(**SELF))
    report = key.check(submission_of({"scaled": json.loads(BY_D_K[2])}, "Ada"))
    sizes = []
    for count in (10, 1000):
        tally = Tally([report] * count, doubts_key=True)
        sizes.append(len(pickle.dumps(tally.__dict__)))
    assert sizes[1] < sizes[0] + 100


# The page of the class, and those of students


def test_pages_say_how_many_numbers_are_right_and_no_id(attn: Attn, tmp_path: Path) -> None:
    write_class(tmp_path, [f"scores: {SCORES}\nscaled: {BY_D_K[2]}\nweights: {WEIGHTS[2]}\n"])
    for flags in ((), ("--solution",), ("--ask", "scores,scaled")):
        attn("check", "hw.yaml", "in", "--feedback", "out", *flags, cwd=tmp_path)
        page = (tmp_path / "out" / "Student A.html").read_text()
        assert "✗" in page
        assert "scaled_by_d_k" not in page
        results = attn("check", "hw.yaml", "in", *flags, "-f", "gradescope", cwd=tmp_path).out
        shown = {name: found for name, found in json.loads(results).items() if name != "tests"}
        assert "scaled_by_d_k" not in json.dumps(shown)
        tests = [{**test, "tags": []} for test in json.loads(results)["tests"]]
        assert "scaled_by_d_k" not in json.dumps(tests)
        if flags == ():
            assert "<p>9 of 27 numbers right, 9 worked out correctly from earlier ones</p>" in page
            lines = re.findall(r"<p>(\d of 9 numbers.*?)</p>", page)
            assert lines == [
                "9 of 9 numbers right",
                "0 of 9 numbers right",
                "0 of 9 numbers right, 9 worked out correctly from earlier ones",
            ]
    assert "<p>9 of 18 numbers right</p>" in page
    index = (tmp_path / "out" / "index.html").read_text()
    assert '<span class="id" title="scaled_by_d_k">scaled by d k</span>' in index


def test_numbers_are_counted_in_the_cells_that_have_points(attn: Attn, tmp_path: Path) -> None:
    points = {"points": {"scores": 1, "weights[1, 1]": 1, "weights[1, 3]": 1}}
    (tmp_path / "hw.yaml").write_text(json.dumps({**SELF, "marking": points}))
    answers = f"student: Ada\nscores: {SCORES}\nweights: {WEIGHTS[2]}\n"
    (tmp_path / "Ada.yaml").write_text(answers)
    attn("check", "hw.yaml", "Ada.yaml", "--feedback", "out", cwd=tmp_path)
    page = (tmp_path / "out" / "Ada.html").read_text()
    assert "<p>9 of 11 numbers right</p>" in page
    assert "<p>9 of 9 numbers right, 1 of 1 point</p>" in page
    assert "<p>0 of 2 numbers right, 0 of 2 points</p>" in page
    scores = "[[5, 5, _], [_, _, _], [_, _, _]]"
    answers = f"student: Ada\nscores: {scores}\n'weights[1, 3]': 1\n"
    (tmp_path / "Ada.yaml").write_text(answers)
    attn("check", "hw.yaml", "Ada.yaml", "--feedback", "out", cwd=tmp_path)
    page = (tmp_path / "out" / "Ada.html").read_text()
    assert "<p>_ left out: 7 of 9 cells of scores</p>\n<p>not given: weights[1, 1]</p>" in page


def test_a_reason_that_problems_share_is_in_the_class_page_once(course: Path, attn: Attn) -> None:
    attn(*CLASS, "--feedback", "out", "-f", "csv", cwd=course)
    page = (course / "out" / "index.html").read_text()
    assert page.count("someone.yaml: this does not tell whose answers it has") == 1
    assert re.search(r'colspan="2">\? could not be read: in/someone.yaml', page)


SCORES = "[[5, 5, 2], [5, 11, 8], [2, 8, 8]]"

LAYOUT = """
  var box = d.querySelector(".scroll"), name = d.querySelector("tbody th");
  box.scrollLeft = 200;
  var moved = box.scrollLeft, left = name.getBoundingClientRect().left;
  return {
    page: d.documentElement.scrollWidth - w.innerWidth,
    table: box.scrollWidth - box.clientWidth,
    moved: moved,
    name: left - box.getBoundingClientRect().left,
    names: name.getBoundingClientRect().width,
  };
"""


@pytest.mark.needs("chromium")
def test_the_class_page_fits_its_window(attn: Attn, tmp_path: Path) -> None:
    """30 students and 3 problems: a wide window shows all, in a narrow one the table scrolls."""
    problems = [{**SELF, "title": f"{title} attention by hand"} for title in ("Self", "Dot", "My")]
    steps = f"scores: {SCORES}\nscaled: {BY_D_K[2]}\nweights: {WEIGHTS[2]}\noutput: {SCORES}\n"
    (tmp_path / "hw.yaml").write_text("\n---\n".join(map(json.dumps, problems)))
    (tmp_path / "in").mkdir()
    for number in range(30):
        name = f"Bartholomew{number} Schmidt-Rottluff of Königsberg"
        sheet = "scores: [[1\n" if number == 7 else steps
        text = "---\n".join([f"student: {name}\n{steps}", sheet, steps])
        (tmp_path / "in" / f"{name}.yaml").write_text(text)
    attn("check", "hw.yaml", "in", "--feedback", "out", "-f", "csv", cwd=tmp_path)
    page = (tmp_path / "out" / "index.html").read_text()
    assert "a bracket is not closed" in page
    narrow, wide = seen_in_frames([(page, 400), (page, 1400)], LAYOUT, tmp_path)
    assert (narrow["page"], wide["page"]) == (0, 0)
    assert wide["table"] == 0
    assert narrow["moved"] == 200
    assert abs(narrow["name"]) <= 2  # the column of the names stays
    assert narrow["names"] < 200
