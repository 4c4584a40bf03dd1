"""A course as platforms and students name its files: a small version of `benchmarks/course.py`."""

from __future__ import annotations

import csv
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.surveys.course import Attn, Audit, Points, earned
from benchmarks.surveys.course_layouts import WRITERS, Layout, write_layout
from benchmarks.surveys.course_students import Course, make_course, write_course
from tests.conftest import in_process

SEED, STUDENTS = 1, 8
Row = dict[str, str]


def manifest_of(layout: Layout) -> list[Row]:
    """Return the manifest of a program that knows all that can be known."""
    rows = []
    for piece in layout.pieces:
        problem = str(piece.problems[0]) if len(piece.problems) == 1 else ""
        for owner in piece.owners:
            student, rule = ("", "open") if piece.open else (owner.name, "name")
            rows.append({"student": student, "problem": problem, "file": piece.path, "rule": rule})
    return rows


def program(course: Course, rows: list[Row], points: Points) -> Attn:
    """Return a program that writes this manifest and these points."""
    titles = [problem["title"] for problem in course.problems]

    def attn(*arguments: str, cwd: Path) -> Namespace:
        manifest = cwd / arguments[-1]
        if "--manifest" in arguments and not manifest.exists():
            with manifest.open("w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, ["student", "problem", "file", "rule"])
                writer.writeheader()
                writer.writerows(rows)
        lines = [
            f'"{person.name}",{title},{number}'
            for person, numbers in points.items()
            for title, number in zip(titles, numbers, strict=True)
        ]
        return Namespace(out="\n".join(["name,problem,points", *lines]), err="")

    return attn


def swap(rows: list[Row]) -> None:
    one, *_, other = [row for row in rows if row["student"]]
    one["student"], other["student"] = other["student"], one["student"]


def guess(rows: list[Row]) -> None:
    row = next(row for row in rows if row["rule"] == "open")
    row["student"], row["rule"] = "Sofia Rossi", "name"


def forget(rows: list[Row]) -> None:
    del rows[0]


@pytest.fixture(scope="module")
def course() -> Course:
    return make_course(SEED, STUDENTS)


@pytest.fixture(scope="module")
def points(course: Course) -> Points:
    return earned(course)


@pytest.mark.parametrize("name", ["gradescope", "google", "folders_mac.zip", "moodle_nested.zip"])
def test_a_perfect_program_passes_and_one_that_mixes_up_points_does_not(
    tmp_path: Path, course: Course, points: Points, name: str
) -> None:
    layout = write_layout(name, course, tmp_path, SEED)
    rows = manifest_of(layout)
    audit = Audit(course, layout, program(course, rows, points))
    audit.run(points)
    assert not audit.notes
    mixed = dict(zip(points, [*points.values()][::-1], strict=True))
    audit = Audit(course, layout, program(course, rows, mixed))
    audit.run(points)
    assert audit.wrong


@pytest.mark.parametrize(
    ("change", "wrong", "lost"), [(list, 0, 0), (swap, 2, 0), (guess, 1, 0), (forget, 0, 1)]
)
def test_a_program_that_gets_a_file_wrong_is_found_out(
    tmp_path: Path,
    course: Course,
    points: Points,
    change: Callable[[list[Row]], object],
    wrong: int,
    lost: int,
) -> None:
    layout = write_layout("files", course, tmp_path, SEED)
    rows = manifest_of(layout)
    change(rows)
    audit = Audit(course, layout, program(course, rows, points))
    audit.run(points)
    assert (len(audit.wrong), len(audit.lost)) == (wrong, lost), audit.notes
    assert audit.open


@pytest.mark.parametrize("name", [*WRITERS, "folders_mac.zip", "moodle_nested.zip"])
def test_whose_each_file_is_is_told_or_listed_as_open(
    tmp_path: Path, course: Course, points: Points, name: str
) -> None:
    write_course(course, tmp_path)
    audit = Audit(course, write_layout(name, course, tmp_path, SEED), in_process)
    audit.run(points)
    assert not audit.notes
