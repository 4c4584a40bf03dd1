"""A grade book of twelve students whose points were calculated by hand, with a pencil.

Every cell of scores, weights and output earns one point.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.classroom.course import graded, write
from tests.conftest import ROOT, Attn, table

STUDENTS: dict[str, dict[str, Any]] = table("points_by_hand", "STUDENTS")
FLAGS = ((), ("--follow", "0.5"), ("--follow", "0"), ("--strict",))


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sheets = {f"sheets/{name}.yaml": one["sheet"] for name, one in STUDENTS.items()}
    files = {"hw.yaml": table("points_by_hand", "PROBLEM"), **sheets}
    return write(tmp_path_factory.mktemp("course"), files)


@pytest.mark.parametrize("way", range(len(FLAGS)), ids=lambda way: " ".join(FLAGS[way]) or "as is")
def test_the_grade_book_is_the_table_worked_by_hand(course: Path, attn: Attn, way: int) -> None:
    rows = graded(attn, course, "hw.yaml", "sheets", *FLAGS[way])
    assert [row["name"] for row in rows] == list(STUDENTS)
    columns = ("points_scores", "points_weights", "points_output", "points")
    found = {row["name"]: " ".join(row[column] for column in columns) for row in rows}
    assert found == {name: one["points"][way] for name, one in STUDENTS.items()}
    assert {row["of"] for row in rows} == {"12", ""}
    assert {row["problem"] for row in rows} == {"Twelve points"}


def test_the_verdict_and_the_reason_are_those_found_by_hand(course: Path, attn: Attn) -> None:
    for row in graded(attn, course, "hw.yaml", "sheets"):
        verdict, mistake, reason = STUDENTS[row["name"]]["told"]
        assert (row["verdict"], row["mistake"]) == (verdict, mistake), row
        assert row["message"].startswith(reason), row
        assert verdict != "correct" or not row["message"]
        assert "\n" not in row["message"]


def test_what_follows_from_rounding_alone_is_no_slip(attn: Attn) -> None:
    """Ben rounded every step and went on, so that his output is not the right one rounded.

    Two of the weights of Dora, who did not scale, are right all the same.
    """
    folder = ROOT / "docs" / "teaching"
    for sheet, points in (("02-ben.csv", "10"), ("04-dora.yaml", "2.67")):
        (row,) = graded(attn, folder, "variants", folder / "sheets" / sheet, "--follow", "0")
        assert (int(row["follows"]) > 0, row["points"]) == (True, points)
