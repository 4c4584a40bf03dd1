"""Every sample input computes, and its tables are those that somebody has read and found good."""

from __future__ import annotations

from pathlib import Path

import pytest

import attncli
from attncli.core.attention.masks import MASKS
from attncli.core.attention.normalizers import NORMALIZERS
from attncli.core.attention.scores import SCORES
from tests.conftest import SAMPLE_FILES, SAMPLES, Attn
from tests.support.snapshots import FOLDER, assert_same


@pytest.mark.parametrize("path", SAMPLE_FILES, ids=lambda p: p.name)
def test_tables_are_as_read(path: Path, attn: Attn) -> None:
    result = attn("compute", path.relative_to(SAMPLES.parent))
    assert result.status == 0, result.err
    assert_same(result.out + result.err, f"samples/{path.name}.txt")


def test_no_snapshot_is_left_over() -> None:
    kept = {p.name for p in (FOLDER / "samples").iterdir()}
    assert kept == {f"{p.name}.txt" for p in SAMPLE_FILES}


def test_every_row_of_the_tables_has_a_sample() -> None:
    """A score function, a mask form or a normaliser that nobody can look at is not done."""
    used = set()
    for path in SAMPLE_FILES:
        for problem in attncli.load_all(path):
            used |= {problem.score["name"], problem.normalize["name"], *(problem.mask or ())}
    assert {*SCORES, *MASKS, *NORMALIZERS} <= used
