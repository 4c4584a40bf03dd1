"""Pages that recalculate show after changes what the program does, of all samples and at random."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

import attncli
from benchmarks.surveys.test_mistakes import SORTS, TABLES, papers
from tests.support.live_page import Tried, sample_cases, survey, tried
from tests.support.tools import is_here

MORE: tuple[dict[str, Any], ...] = ({}, {"gradient": "sum"}, {"round": {"decimals": 2}})
"""What a problem has beside what is drawn, in turn."""


def random_cases() -> Iterator[Tried]:
    for number, wish in enumerate(TABLES["wishes"]):
        paper = next(papers(wish, SORTS[number % len(SORTS)], 5))
        for more in MORE:
            if "gradient" in more and wish.get("kind") == "co_attention":
                continue  # that has none
            problem = attncli.Problem(**paper.problem(), **more)
            if case := tried(f"{wish} {more}", problem, Random(number)):
                yield case


@pytest.mark.skipif(not is_here("chromium"), reason="there is no Chromium")
def test_changed_pages_show_what_the_program_does(tmp_path: Path) -> None:
    cases = [*sample_cases(), *random_cases()]
    assert len(cases) > 100
    assert survey(cases, tmp_path) == []
