"""Submissions in tables of `tests/data/cases`, each with what its report must say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.checking.judged_cases import assert_judged
from tests.conftest import table

TABLES = {
    "each number has its status": ("judging", "what_a_number_is_worth"),
    "cells, rows and heads are found": ("judging", "which_cells_are_given"),
    "the printed report says no more than it should": ("judging", "on_paper"),
    "thresholds": ("thresholds", "through_check"),
    "labels put cells in order": ("reading_answers", "labels"),
    "rows that are not there are left out": ("reading_answers", "rows_that_are_left_out"),
    "a table may have a row per number": ("reading_answers", "a_row_per_number"),
    "a file is judged, or refused with its place": ("reading_answers", "files"),
    "keys that mean no step": ("reading_answers", "keys_that_mean_no_step"),
    "a letter means the step whose number it is": ("reading_answers", "letters_of_papers"),
    "letters with two readings are said, and no mistake is named": ("course_names", "two_readings"),
    "a letter means what its numbers tell": ("course_names", "letters_by_their_numbers"),
    "letters of a course are those of its steps": ("course_names", "letters_of_homework"),
    "only what is clearly no answer is skipped": ("course_names", "what_is_skipped"),
    "no array is passed over whose name is nearly a step": ("course_names", "arrays_beside_steps"),
    "sheets without any step": ("course_names", "without_a_step"),
    "cells of words and signs": ("reading_answers", "cells"),
    "another form is right, and said once": ("other_forms", "another_form"),
    "a schedule gives every number of the step": ("roundings", "schedules"),
    "one weight may be adjusted so that the row sums to 1": ("roundings", "adjusted_weights"),
    "a whole number beside decimals is exact": ("roundings", "whole_numbers_beside_decimals"),
    "who cuts off keeps further digits": ("roundings", "cut_off"),
    "what follows from a mistake follows": ("roundings", "after_a_mistake"),
    "the mistake is named that somebody can have made": ("naming", "which_mistake"),
    "the factor that was not transposed is named": ("naming", "transposed_factors"),
    "a guess gives the numbers without a margin": ("naming", "guesses"),
    "a blocked cell is a matter of the mask": ("naming", "blocked_cells"),
    "a factor holds for every number": ("naming", "factors"),
    "the cause of one number is certain where digits say so": ("naming", "one_number"),
    "several wrong numbers are told by what they share": ("naming", "several_numbers"),
    "weights tell which hidden score was another one": ("naming", "a_hidden_score"),
    "wrong numbers are worked from the student's own": ("naming", "worked_lines"),
    "where no mistake is known, the next step is said": ("naming", "what_comes_next"),
    "numbers have the digits that are asked": ("marking", "digits"),
    "numbers may be off by the tolerance": ("marking", "tolerance"),
    "only what is asked counts": ("marking", "what_is_asked"),
    "points are shares of the cells that are right": ("marking", "points"),
    "few digits may earn a share, and are wrong": ("marking", "points_for_few_digits"),
    "what follows from invented numbers earns nothing": ("marking", "points_without_work"),
}
"""What each table proves, with its subject and its name."""


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(row, id=f"{promise}: {row['id']}")
        for promise, place in TABLES.items()
        for row in table(*place)
    ],
)
def test_a_report_says_what_is_demanded(case: dict[str, Any], tmp_path: Path) -> None:
    assert_judged(case, tmp_path)
