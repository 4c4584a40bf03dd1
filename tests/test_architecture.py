"""ARCHITECTURE.md is true: its recipe works to the letter, and imports go downwards only."""

from __future__ import annotations

import ast
import re
import textwrap
from typing import Any

import numpy as np
import pytest

import attncli
from attncli import operations, scores
from tests.conftest import ROOT

TEXT = (ROOT / "ARCHITECTURE.md").read_text()


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


def rooms() -> list[list[str]]:
    """Return the rows of the table of rooms, each a list of module names."""
    rows = re.findall(r"^\| (`.*?) \|", TEXT, re.MULTILINE)
    return [
        [name.removesuffix(".py").removesuffix("/") for name in re.findall(r"`([\w/.]+)`", row)]
        for row in rows
    ]


def room_of(module: str) -> int:
    top = module.removeprefix("attncli.").split(".", maxsplit=1)[0]
    found = [i for i, row in enumerate(rooms()) if top in row]
    assert len(found) == 1, f"{module} stands in {len(found)} rooms"
    return found[0]


def test_every_module_has_a_room_and_imports_downwards() -> None:
    upwards = []
    for path in sorted((ROOT / "attncli").rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if path.name == "__main__.py" or parts == ("attncli", "__init__"):
            continue
        module = ".".join(parts)
        own = room_of(module)
        for name in imported(ast.parse(path.read_text())):
            if room_of(name) < own:
                upwards.append(f"{module} imports {name}")
    assert upwards == []


def imported(tree: ast.AST) -> list[str]:
    """Return the modules of the package that are imported, but for those of type checking."""
    names = []
    skipped = {
        id(node)
        for test in ast.walk(tree)
        if isinstance(test, ast.If) and getattr(test.test, "id", "") == "TYPE_CHECKING"
        for node in ast.walk(test)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and id(node) not in skipped:
            module = node.module or ""
            if module == "attncli":
                names += [f"attncli.{alias.name}" for alias in node.names]
            elif module.startswith("attncli."):
                names.append(module)
    return [name for name in names if name != "attncli.__version__"]
