"""The house stays as small as `ceilings.toml` says: it can grow only on purpose."""

from __future__ import annotations

import tomllib

import pytest

from tests.conftest import ROOT

CEILINGS = tomllib.loads((ROOT / "tests" / "house" / "ceilings.toml").read_text())


def lines_of(folder: str) -> int:
    """Return how many lines of Python a folder has that are not blank."""
    files = (ROOT / folder).rglob("*.py")
    return sum(bool(line.strip()) for path in files for line in path.read_text().splitlines())


@pytest.mark.parametrize("folder", ["attncli", "tests", "benchmarks"])
def test_a_folder_has_as_many_lines_as_its_ceiling_or_a_hundredth_less(folder: str) -> None:
    """What was won is not lost again unseen."""
    assert 0.99 * CEILINGS[folder] <= lines_of(folder) <= CEILINGS[folder]
