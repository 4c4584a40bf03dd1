"""A grade book of twelve students whose points were calculated by hand.

The problem is small enough for a pencil. Every cell of scores, weights and output earns one point:

    scores = Q Kᵀ        1·1 + 0·1 = 1   1·3 + 0·1 = 3        weights = scores / row sum  1/4  3/4
                         1·1 + 1·1 = 2   1·3 + 1·1 = 4                                    2/6  4/6
    output = weights V   4·1/4 = 1       8·3/4 = 6
                         4·1/3 = 1.333   8·2/3 = 5.333
"""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from tests.conftest import ROOT, Attn, table

PROBLEM = """\
title: Twelve points
Q: [[1, 0], [1, 1]]
K: [[1, 1], [3, 1]]
V: [[4, 0], [0, 8]]
score: dot
normalize: sum
marking: {points: {scores: 4, weights: 4, output: 4}}
"""
SCORES = "scores: [[1, 3], [2, 4]]\n"
WEIGHTS = "weights: [[0.25, 0.75], [0.333, 0.667]]\n"
OUTPUT = "output: [[1, 6], [1.333, 5.333]]\n"

SHEETS = {
    "ann": SCORES + WEIGHTS + OUTPUT,
    # One slip, 3 for 2. What follows: 3/7 = 0.429, 4/7 = 0.571; 4·3/7 = 1.714, 8·4/7 = 4.571.
    "ben": "scores: [[1, 3], [3, 4]]\nweights: [[0.25, 0.75], [0.429, 0.571]]\n"
    "output: [[1, 6], [1.714, 4.571]]\n",
    "cem": SCORES + WEIGHTS,
    "dan": "",
    # 2/3 = 0.6667 cut off.
    "eve": SCORES + "weights: [[0.25, 0.75], [0.333, 0.666]]\n" + OUTPUT,
    # 8·3/4 = 6, and not 7.
    "fay": SCORES + WEIGHTS + "output: [[1, 7], [1.333, 5.333]]\n",
    # K Qᵀ: two of four cells change. What follows: 1/3, 2/3; 3/7, 4/7; 4/3, 16/3; 12/7, 32/7.
    "gus": "scores: [[1, 2], [3, 4]]\nweights: [[0.333, 0.667], [0.429, 0.571]]\n"
    "output: [[1.333, 5.333], [1.714, 4.571]]\n",
    "hal": "weights: [[0.25, 0.75], [~, ~]]\n",
    # Three columns where there are two keys; later steps are judged from the right scores.
    "ida": "scores: [[1, 3, 2], [2, 4, 2]]\n" + WEIGHTS + OUTPUT,
    "jo": SCORES + "weights: [[1/4, 3/4], [1/3, 2/3]]\noutput: [[1, 6], [4/3, 16/3]]\n",
    # 3/4 is 0.75, and not 0.5. What follows from it: 8·0.5 = 4; 4·0.25 = 1 is right.
    "kim": SCORES + "weights: [[0.25, 0.5], [0.333, 0.667]]\noutput: [[1, 4], [1.333, 5.333]]\n",
    "leo": "scores: [[1, 3\n",
}

POINTS: dict[str, tuple[str, str, str, str]] = table("points_by_hand", "POINTS")
VERDICTS = {
    **dict.fromkeys(("ann", "eve", "jo"), "correct"),
    **dict.fromkeys(("cem", "hal"), "incomplete"),
    **dict.fromkeys(("ben", "fay", "gus", "ida", "kim"), "wrong"),
    **{"dan": "empty", "leo": "unreadable"},
}
FLAGS = ((), ("--follow", "0.5"), ("--follow", "0"), ("--strict",))


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("course")
    (folder / "hw.yaml").write_text(PROBLEM)
    (folder / "sheets").mkdir()
    for name, sheet in SHEETS.items():
        (folder / "sheets" / f"{name}.yaml").write_text(sheet)
    return folder


@pytest.mark.parametrize("way", range(len(FLAGS)), ids=lambda way: " ".join(FLAGS[way]) or "as is")
def test_the_grade_book_is_the_table_worked_by_hand(course: Path, attn: Attn, way: int) -> None:
    result = attn("check", "hw.yaml", "sheets", "-f", "csv", *FLAGS[way], cwd=course)
    assert result.status == 2  # one could not be read, which costs nobody else
    rows = list(csv.DictReader(io.StringIO(result.out)))
    assert [row["name"] for row in rows] == list(SHEETS)
    columns = ("points_scores", "points_weights", "points_output", "points")
    found = {row["name"]: " ".join(row[column] for column in columns) for row in rows}
    assert found == {name: points[way] for name, points in POINTS.items()}
    if way != 3:
        assert {row["name"]: row["verdict"] for row in rows} == VERDICTS
    assert {row["of"] for row in rows} == {"12", ""}
    assert {row["problem"] for row in rows} == {"Twelve points"}


def test_the_reason_stands_in_one_sentence(course: Path, attn: Attn) -> None:
    out = attn("check", "hw.yaml", "sheets", "-f", "csv", cwd=course).out
    rows = {row["name"]: row for row in csv.DictReader(io.StringIO(out))}
    reasons = {name: (row["mistake"], row["message"]) for name, row in rows.items()}
    assert reasons["ann"] == ("", "")
    assert reasons["ben"][1].startswith("scores[2, 1] is wrong")
    assert reasons["cem"] == ("", "not given: output")
    assert reasons["dan"] == ("", "nothing was given")
    assert reasons["gus"] == ("scores_transposed", SWAPPED)
    assert reasons["ida"][0] == "wrong_shape"
    assert reasons["leo"][1].startswith("sheets/leo.yaml:")
    assert all("\n" not in message for _, message in reasons.values())


SWAPPED = "Perhaps the scores are transposed: queries and keys have changed places."


def test_what_follows_from_rounding_alone_is_no_slip(attn: Attn) -> None:
    """Ben rounded every step and went on, so that his output is not the right one rounded.

    Two of the weights of Dora, who did not scale, are right all the same.
    """
    folder = ROOT / "docs" / "teaching"
    flags = ("--follow", "0", "-f", "csv")
    for sheet, points in (("02-ben.csv", "10"), ("04-dora.yaml", "2.67")):
        out = attn("check", folder / "variants", folder / "sheets" / sheet, *flags).out
        (row,) = csv.DictReader(io.StringIO(out))
        assert (int(row["follows"]) > 0, row["points"]) == (True, points)


def test_the_share_is_refused_where_it_is_none(course: Path, attn: Attn) -> None:
    for wrong, why in (("1.5", "must be from 0 to 1"), ("-1", "must be from 0 to 1"), ("x", "x")):
        result = attn("check", "hw.yaml", "sheets", f"--follow={wrong}", cwd=course)
        assert (result.status, result.out) == (2, "")
        assert result.err.startswith("--follow: ")
        assert why in result.err
