"""ARCHITECTURE.md is true: its recipes work to the letter, and imports go downwards only."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.attention import scores
from attncli.tape import operations
from tests.conftest import ROOT

TEXT = (ROOT / "ARCHITECTURE.md").read_text()
PACKAGE = ROOT / "attncli"


def test_recipe_for_a_score_function(monkeypatch: pytest.MonkeyPatch) -> None:
    """The two pieces of code, put where they are said to go, give a working score function."""
    function, row = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    names: dict[str, Any] = vars(scores) | {"Scale": operations.Scale}
    exec(textwrap.dedent(function), names)
    table = eval("{" + textwrap.dedent(row) + "}", names)
    monkeypatch.setitem(scores.SCORES, "sharp_cosine", table["sharp_cosine"])
    problem = attncli.Problem(X=[[3, 4], [4, 3]], score={"name": "sharp_cosine", "sharpness": 5})
    trace = attncli.compute(problem)
    # (3·4 + 4·3) / (5·5) = 24/25, times 5
    np.testing.assert_allclose(trace["scores"].value, [[5, 4.8], [4.8, 5]], rtol=1e-15)
    assert trace["scores"].formula == "scores = Q Kᵀ / (‖Q‖ ‖K‖) · 5"


ROOMS: list[str] = re.findall(r"^\| `(\w+)(?:/|\.py)` \|", TEXT, re.MULTILINE)
"""The rooms from the street inwards, each on a row of its own."""

ENTRANCES = {"__init__", "__main__"}
"""What stands at the street: the public names, and `python -m attncli`."""

MODULES = sorted(PACKAGE.rglob("*.py"))


def test_every_room_has_a_row_and_every_row_a_room() -> None:
    found = {p.stem if p.is_file() else p.name for p in PACKAGE.iterdir() if p.suffix != ".typed"}
    assert sorted(found - ENTRANCES - {"__pycache__"}) == sorted(ROOMS)


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_go_downwards(path: Path) -> None:
    """Imports for type checking count too: they are arrows for whoever reads."""
    own = path.relative_to(PACKAGE).with_suffix("").parts[0]
    if own in ENTRANCES:
        return
    below = ROOMS[ROOMS.index(own) :]
    upwards = [name for name in imported(path) if name.split(".")[1] not in below]
    assert upwards == []


@pytest.mark.parametrize("path", [p for p in MODULES if p.name == "__init__.py"], ids=str)
def test_init_files_hold_a_docstring_only(path: Path) -> None:
    if path.parent != PACKAGE:  # the package itself has the public names
        assert [type(node) for node in ast.parse(path.read_text()).body] == [ast.Expr]


def test_no_circle_within_a_room() -> None:
    arrows = {module_of(path): set(imported(path)) for path in MODULES}
    while ends := [module for module, targets in arrows.items() if not targets & set(arrows)]:
        for module in ends:
            del arrows[module]
    assert arrows == {}


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imported(path: Path) -> Iterator[str]:
    """Yield the modules of the package that a file imports, wherever in it."""
    modules = {module_of(p) for p in MODULES}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "attncli":
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            found = {name if name in modules else str(node.module) for name in names}
            yield from sorted(found - {"attncli"})


@pytest.mark.parametrize("path", sorted((ROOT / "tests" / "oracles").glob("*.py")), ids=str)
def test_oracles_import_nothing_of_the_package(path: Path) -> None:
    assert "attncli" not in re.findall(r"^\s*(?:from|import) (\w+)", path.read_text(), re.MULTILINE)
