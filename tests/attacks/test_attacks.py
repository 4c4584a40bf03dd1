"""SECURITY.md promises what `tests/attacks` tries, row by row, with the bounds of the program."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

import tests.attacks
from tests.conftest import ROOT, Attn

ATTACKS = {
    name: import_module(f"tests.attacks.{name}")
    for _, name, _ in iter_modules(tests.attacks.__path__)
    if not name.startswith("test_")
}
BOUNDS = {
    f"{sentence[0].lower()}{sentence[1:-1]}": one.BOUND
    for one in ATTACKS.values()
    if (sentence := one.__doc__)
}
"""The last cell of each row by the first one, as the modules say."""


def rows() -> dict[str, str]:
    """Return the same, as the page says."""
    lines = (ROOT / "SECURITY.md").read_text(encoding="utf-8").splitlines()
    cells = [line.strip("|").split("|") for line in lines if line.startswith("|")][2:]
    return {first.strip(): last.strip() for first, _, last in cells}


SLOW = {"many_keys", "workbooks"}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.whole if name in SLOW else ()) for name in ATTACKS],
)
def test_the_promise_is_kept(
    name: str, attn: Attn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ATTACKS[name].attack(attn, tmp_path, monkeypatch)


@pytest.mark.parametrize("row", sorted({*rows(), *BOUNDS}))
def test_every_row_has_an_attack_and_every_attack_a_row(row: str) -> None:
    assert row in BOUNDS, f"SECURITY.md: write tests/attacks/NAME.py for the row {row!r}"
    assert row in rows(), f"SECURITY.md: write the row {row!r}, which tests/attacks tries"
    assert rows()[row] == BOUNDS[row], f"SECURITY.md: the bound of the row {row!r} is another one"
