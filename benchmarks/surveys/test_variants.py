"""Mistakes in variants are named: a small version of `benchmarks/variants.py`."""

from __future__ import annotations

from benchmarks.surveys.variants import MISNAMED, MISSED, Tally, survey


def test_students_who_make_mistakes_in_variants_are_told() -> None:
    tally = Tally()
    for one in survey(3, range(6, 8)):
        tally.add(one)
    sheets = sum(tally.counts.values())
    assert sheets > 100
    assert [one for one in tally.failures if one["why"] == MISSED] == []
    unnamed = [one for one in tally.failures if one["why"] == MISNAMED]
    assert len(unnamed) <= 0.02 * sheets, [(one["made"], one["named"]) for one in unnamed]
