"""Samples of the surveys that `python -m benchmarks.surveys` runs with thousands, and of a course.

No work is called wrong that is right, however it was worked and written; no number is called right
that is wrong beyond what rounding explains. Invented numbers earn nothing, and mistakes lose no
more than their own points.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.surveys import course
from benchmarks.surveys.course_layouts import WRITERS
from benchmarks.surveys.fairness import SURVEYS, survey
from tests.classroom.test_owners_in_a_course import FORMS, faults
from tests.conftest import in_process

COUNT = 30
"""Number of submissions of each kind."""


def assert_fair(name: str, way: str) -> None:
    tally = survey(name, np.random.default_rng([COUNT, *map(ord, way)]), COUNT, [way])
    assert not tally.beyond(spare=1), tally.misjudged[:3]


@pytest.mark.parametrize("way", SURVEYS["roundings"]["kinds"])
def test_honest_roundings_are_right(way: str) -> None:
    assert_fair("roundings", way)


@pytest.mark.parametrize("way", SURVEYS["forms"]["kinds"])
def test_other_forms_of_right_work_are_right(way: str) -> None:
    assert_fair("forms", way)


@pytest.mark.parametrize("way", SURVEYS["one_wrong_cell"]["kinds"])
def test_wrong_numbers_are_found_and_nothing_else(way: str) -> None:
    assert_fair("one_wrong_cell", way)


@pytest.mark.parametrize("way", SURVEYS["hollow"]["kinds"])
def test_hollow_submissions_are_never_right(way: str) -> None:
    assert_fair("hollow", way)


@pytest.mark.parametrize("way", SURVEYS["follow_through"]["kinds"])
def test_what_follows_earns_points_for_work(way: str) -> None:
    assert_fair("follow_through", way)


@pytest.mark.parametrize("name", WRITERS)
def test_whose_each_file_of_another_course_is(name: str, tmp_path: Path) -> None:
    made = course.made(seed=2, students=10)
    form = FORMS[[*WRITERS].index(name) % len(FORMS)]
    assert faults(made, name, form, tmp_path, in_process) == []
