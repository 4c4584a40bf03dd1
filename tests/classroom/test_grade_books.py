"""Totals for learning platforms, points, and doubts about the key.

The columns of grade books and totals, as the command writes them, are in the session `grade_books`.
"""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import attncli
from attncli.checking.check import AnswerKey
from attncli.core.problem.marking import as_points
from attncli.printing.class_report import Tally
from attncli.printing.verdicts import numbers_right
from attncli.reading.document import submission_of
from tests.classroom.course import COURSE, POINTS, rows_of, write
from tests.conftest import DATA, Attn, cases
from tests.whole.test_page_in_browser import seen_in_frames

Grades = dict[str, dict[str, float | None]]


def canvas_scores(text: str) -> Grades:
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
    students = [row for row in rows if "Points Possible" not in row[0] and any(row)]
    return {
        head: {row[0]: None if row[at].strip() in ("", "-") else float(row[at]) for row in students}
        for at, head in enumerate(heads)
        if at >= count and not re.search("Current|Final|Override", head)
    }


def moodle_grades(text: str, mapped_from: str) -> Grades:
    """Return the grades by new column and user that Moodle takes from a file.

    Written after grade/import/csv/classes/load_data.php (`import_new_grade_item`: all but `-` is a
    grade) and `normalise_value` in lib/dml (the text "" becomes 0 in a column of numbers) of
    moodle/moodle. A row without the mapped cell would get the grades of the row before.
    """
    heads, *rows = rows_of(text)
    user = heads.index(mapped_from)
    assert all(row[user] for row in rows)
    return {
        heads[at]: {
            row[user]: None if row[at].strip() == "-" else float(row[at].strip() or 0)
            for row in rows
        }
        for at in range(heads.index("Section") + 2, len(heads))
    }


def test_canvas_and_moodle_take_the_totals(attn: Attn, tmp_path: Path) -> None:
    command = ("check", "hw.yaml", "in", "--for", "canvas.csv", "--totals")
    result = attn(*command, "-o", tmp_path / "totals.csv", cwd=COURSE)
    assert (result.status, result.out) == (2, "")  # a file could not be read
    text = (tmp_path / "totals.csv").read_text()
    scores, grades = canvas_scores(text), moodle_grades(text, "SIS User ID")
    assert [*scores] == ["Quiz 1 (87568)", *POINTS]
    assert [*scores["total"]][:2] == ["Lovelace, Ada", "Blum, Zoë"]
    assert [*grades["total"]] == [f"0471{number}" for number in range(1, 6)]
    for column, points in POINTS.items():
        assert tuple(scores[column].values()) == points
        assert tuple(grades[column].values()) == points


# Points


@settings(deadline=None)
@given(st.integers(0, 100_000), st.integers(1, 60), st.data())
def test_any_share_of_points_is_rounded_half_up_in_decimals(
    hundredths: int, cells: int, data: st.DataObject
) -> None:
    right = data.draw(st.integers(0, cells))
    exact = Fraction(hundredths * right, cells)
    half_up = (2 * exact + 1) // 2
    found = as_points(hundredths / 100 * (right / cells))
    assert found == float(Fraction(int(half_up), 100))
    assert len(str(found).partition(".")[2]) <= 2


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


SUM: dict[str, Any] = {
    **{"Q": [[1, 0], [1, 1]], "K": [[1, 1], [3, 1]], "V": [[4, 0], [0, 8]]},
    **{"title": "Scores", "score": "dot", "normalize": "sum"},
}
"""Its scores are [[1, 3], [2, 4]]."""


@cases("classes", "what_a_class_writes_for_the_last_score", ids=str)
def test_the_key_may_be_wrong_where_most_wrong_numbers_agree(
    answers: Sequence[str], doubt: str
) -> None:
    key, tally = AnswerKey(attncli.Problem(**SUM)), Tally(doubts_key=True)
    for number, text in enumerate(answers):
        scores = {"scores": [["1", "3"], ["2", text]]}
        tally.add(key.check(submission_of(scores, f"student {number}")))
    advice = "Compare the problem with the one that was handed out."
    found = [re.sub(r"They make one mistake: .*", advice, one) for one in tally.doubts()]
    assert found == ([f"Scores: the key may be wrong: {doubt}. {advice}"] if doubt else [])


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
    report = AnswerKey(attncli.Problem(**SUM)).check({"scores": [[1, 3], [2, 5]]})
    sizes = []
    for count in (10, 1000):
        tally = Tally([report] * count, doubts_key=True)
        sizes.append(len(pickle.dumps(tally.__dict__)))
    assert sizes[1] < sizes[0] + 100


# The page of the class


@pytest.mark.needs("chromium")
def test_the_class_page_fits_its_window(attn: Attn, tmp_path: Path) -> None:
    """30 students and 3 problems: a wide window shows all, in a narrow one the table scrolls."""
    keys = {"X": [[1, 0, 2], [3, 1, 1], [2, 2, 0]], "score": "scaled_dot"}
    titles = [f"{title} attention by hand" for title in ("Self", "Dot", "My")]
    problems = "\n---\n".join(json.dumps({**keys, "title": title}) for title in titles)
    scores = "[[5, 5, 2], [5, 11, 8], [2, 8, 8]]"
    divided = "[[1.67, 1.67, 0.67], [1.67, 3.67, 2.67], [0.67, 2.67, 2.67]]"  # by d_k, not its root
    weights = "[[0.42, 0.42, 0.15], [0.09, 0.67, 0.24], [0.06, 0.47, 0.47]]"
    steps = f"scores: {scores}\nscaled: {divided}\nweights: {weights}\noutput: {scores}\n"
    write(tmp_path, {"hw.yaml": problems})
    for number in range(30):
        name = f"Bartholomew{number} Schmidt-Rottluff of Königsberg"
        second = "scores: [[1\n" if number == 7 else steps
        text = "---\n".join([f"student: {name}\n{steps}", second, steps])
        write(tmp_path, {f"in/{name}.yaml": text})
    attn("check", "hw.yaml", "in", "--feedback", "out", "-f", "csv", cwd=tmp_path)
    page = (tmp_path / "out" / "index.html").read_text()
    assert "a bracket is not closed" in page
    script = (DATA / "scripts" / "measure_class_page.js").read_text(encoding="utf-8")
    narrow, wide = seen_in_frames([(page, 400), (page, 1400)], script, tmp_path)
    assert (narrow["page"], wide["page"]) == (0, 0)
    assert wide["table"] == 0
    assert narrow["moved"] == 200
    assert abs(narrow["name"]) <= 2  # the column of the names stays
    assert narrow["names"] < 200
