"""Pages that recalculate show after changes what the program does, of all samples and at random."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

import attncli
from benchmarks.surveys.test_mistakes import SORTS, TABLES, exercises
from tests.support.live_page import Tried, sample_cases, survey, tried
from tests.support.tools import is_here


def random_cases() -> Iterator[Tried]:
    for number, wish in enumerate(TABLES["wishes"]):
        problem = next(exercises(wish, SORTS[number % len(SORTS)], 5)).problem
        if case := tried(str(wish), attncli.Problem(**problem), Random(number)):
            yield case


@pytest.mark.skipif(not is_here("chromium"), reason="there is no Chromium")
def test_changed_pages_show_what_the_program_does(tmp_path: Path) -> None:
    cases = [*sample_cases(), *random_cases()]
    assert len(cases) > 80
    assert survey(cases, tmp_path) == []
