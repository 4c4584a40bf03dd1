"""`attn check` is fair: samples of the surveys that `benchmarks/fairness.py` runs in full.

Right sheets are never wrong, however they were worked and written; hollow ones are never right;
one wrong number is always found, and no cause is made up for it. What follows from invented
numbers without work earns nothing, and no mistake of the catalogue is taken for them.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks.oracles.honest import WAYS
from benchmarks.oracles.right_work import MANNERS
from benchmarks.surveys.fairness import HOLLOW, Tally, hollow, honest, one_wrong, right
from benchmarks.surveys.follow_through import invented, mistaken
from benchmarks.surveys.roundings import MOST as BOUNDS
from benchmarks.surveys.roundings import beyond, survey

SHOWN = 3
"""How many failures a message shows."""

UNFAIR = ("missed, no rounding", "false cause")
"""What must not happen to one wrong number: what coarse rounding reaches may be passed over."""


def assert_fair(tally: Tally, *unfair: str) -> None:
    """Assert that there is no failure, or none of those that begin with some words."""
    found = [f for f in tally.failures if not unfair or str(f["why"]).startswith(unfair)]
    lines = [json.dumps(failure, ensure_ascii=False) for failure in found[:SHOWN]]
    assert not found, "\n".join([f"{len(found)} unfair, such as", *lines])


def name_of(manner: tuple[bool, bool, str]) -> str:
    significant, cut, carries = manner
    return f"{'cut' if cut else 'rounded'}-{'significant' if significant else 'decimals'}-{carries}"


@pytest.mark.parametrize("number", range(len(MANNERS)), ids=[name_of(m) for m in MANNERS])
def test_right_sheets_are_never_wrong(number: int) -> None:
    assert_fair(right(np.random.default_rng([1, number]), 30, [number]))


@pytest.mark.parametrize("way", WAYS)
def test_honest_ways_are_never_wrong(way: str) -> None:
    assert_fair(honest(np.random.default_rng([2, *map(ord, way)]), 9, [way]))


@pytest.mark.parametrize("sort", HOLLOW)
def test_hollow_sheets_are_never_right(sort: str) -> None:
    assert_fair(hollow(np.random.default_rng(3), 4, [sort]))


def test_one_wrong_number_is_found_and_no_cause_is_made_up() -> None:
    assert_fair(one_wrong(np.random.default_rng(4), 60), *UNFAIR)


def test_what_follows_from_invented_numbers_earns_next_to_nothing() -> None:
    tally = invented(np.random.default_rng(5), 18)
    assert_fair(tally)
    sheets = sum(n for name, n in tally.counts.items() if name.startswith("sheets: "))
    by_a_mistake = sum(n for name, n in tally.counts.items() if name.endswith("a mistake gives it"))
    assert sheets > 50
    assert by_a_mistake <= 0.1 * sheets  # small matrices of 0 and 1 may be what a mistake gives


def test_no_mistake_is_taken_for_invented_numbers() -> None:
    tally = mistaken(np.random.default_rng(6), 120)
    assert_fair(tally)
    assert tally.counts["later steps that hold only 0 and 1"] > 2


@pytest.mark.parametrize("kind", BOUNDS)
def test_students_of_a_kind_are_judged_within_their_bounds(kind: str) -> None:
    """Samples of what `benchmarks/roundings.py --kind` judges by the thousand."""
    tally = survey(np.random.default_rng([5, *map(ord, kind)]), kind, 30)
    assert not beyond(tally, spare=1), tally.amiss[:SHOWN]
