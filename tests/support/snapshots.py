"""Outputs kept in files. `UPDATE_SNAPSHOTS=1 pytest` writes them anew; read the difference."""

from __future__ import annotations

import os

from tests.conftest import ROOT

FOLDER = ROOT / "tests" / "snapshots"


def assert_same(text: str, name: str) -> None:
    """Compare a text with the file of that name."""
    path = FOLDER / name
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return
    assert path.exists(), f"no snapshot {name}; write it with UPDATE_SNAPSHOTS=1 and read it"
    assert text == path.read_text()
