"""ARCHITECTURE.md is true: imports go downwards only. The recipes of docs/extending.md work."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.checking.mistakes import catalogue, of_weights
from attncli.core.attention import masks, normalizers, scores
from attncli.core.mechanisms import attention
from attncli.core.problem import kinds
from attncli.core.tape import operations
from attncli.printing import formats
from attncli.printing import table as table_format
from tests.conftest import ROOT

TEXT = (ROOT / "ARCHITECTURE.md").read_text()
EXTENDING = (ROOT / "docs" / "extending.md").read_text()
PACKAGE = ROOT / "attncli"


RECIPES = re.findall(
    r"^\*\*An? ([\w ]+?)\*\*.*?```python\n(.*?)```", EXTENDING, re.DOTALL | re.MULTILINE
)
"""What can be added, with the code that adds it: a function, then the rows of tables."""


def recipe(thing: str, module: ModuleType, *more: ModuleType) -> tuple[dict[str, Any], list[Any]]:
    """Put the code of a recipe where it is said to go; return the names there and the rows."""
    (code,) = [code for name, code in RECIPES if name == thing]
    function, *rows = re.split(r"\n\n(?=\")", code)
    names = {name: value for one in (*more, module) for name, value in vars(one).items()}
    exec(function, names)
    return names, [eval(f"{{{row}}}", names) for row in rows]


def test_there_is_a_recipe_for_each_table() -> None:
    things = ["score function", "mask form", "normaliser", "mechanism", "mistake", "format"]
    assert [name for name, _ in RECIPES] == things


def test_recipe_for_a_score_function(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe("score function", scores, operations)
    monkeypatch.setitem(scores.SCORES, "sharp_cosine", scores.SCORES.pop("sharp_cosine"))
    problem = attncli.Problem(X=[[3, 4], [4, 3]], score={"name": "sharp_cosine", "sharpness": 5})
    trace = attncli.compute(problem)
    # (3·4 + 4·3) / (5·5) = 24/25, times 5
    np.testing.assert_allclose(trace["scores"].value, [[5, 4.8], [4.8, 5]], rtol=1e-15)
    assert trace["scores"].formula == "scores = Q Kᵀ / (‖Q‖ ‖K‖) · 5"


def test_recipe_for_a_mask_form(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe("mask form", masks)
    monkeypatch.setitem(masks.MASKS, "diagonal", masks.MASKS.pop("diagonal"))
    trace = attncli.compute(attncli.Problem(X=[[1, 0], [0, 1], [1, 1]], mask={"diagonal": False}))
    assert trace["weights"].value.diagonal().tolist() == [0, 0, 0]
    assert trace["weights"].value[2].tolist() == [0.5, 0.5, 0]


def test_recipe_for_a_normaliser(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe("normaliser", normalizers, operations)
    known = normalizers.NORMALIZERS
    monkeypatch.setitem(known, "tanh", known.pop("tanh"))
    problem = attncli.Problem(scores=[[0, 1]], V=[[4], [8]], normalize="tanh")
    # tanh 0 = 0, tanh 1 = 0.761594…
    np.testing.assert_allclose(attncli.compute(problem).output, [[8 * 0.7615941559557649]])


def test_recipe_for_a_mechanism(monkeypatch: pytest.MonkeyPatch) -> None:
    """The numbers are the published ones of "I am good", MECHANISMS 1."""
    names, (kind,) = recipe("mechanism", attention, kinds)
    module = ModuleType("attncli.core.mechanisms.similarity")
    vars(module).update(similarity=names["similarity"])
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(kinds.KINDS, "similarity", kind["similarity"])
    problem = attncli.Problem(kind="similarity", X=[[1, 3, 2], [1, 1, 3], [1, 2, 1]])
    published = [[1, 2.957691, 2.011295], [1, 1.540148, 2.722573], [1, 2.864164, 2.0]]
    np.testing.assert_allclose(attncli.compute(problem).output, published, atol=5e-7)


def test_recipe_for_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    names, _ = recipe("mistake", of_weights, operations)
    row = names["weights_halved"]
    monkeypatch.setitem(catalogue.MISTAKES, row.id, row)
    problem = attncli.Problem(scores=[[0, 0], [0, 0]], V=[[1, 0], [0, 1]])
    report = attncli.check(problem, {"weights": [["0.25", "0.25"], ["0.25", "0.25"]]})
    finding = report.findings["weights"]
    assert "weights_halved" in [finding.id, *(other.id for other in finding.also)]


def test_recipe_for_a_format(monkeypatch: pytest.MonkeyPatch) -> None:
    names, (row,) = recipe("format", formats, table_format)
    module = ModuleType("attncli.printing.sizes")
    vars(module).update(traces=names["traces"])
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(formats.FORMATS, "sizes", row["sizes"])
    trace = attncli.compute(attncli.Problem(X=[[1, 0], [0, 1]], score="dot"))
    assert attncli.render(trace, "sizes", only=("Q", "sum")) == "Q 4\nsum 2\n"


ROOMS: list[str] = re.findall(r"^\| `([\w/]+?)(?:/|\.py)` \|", TEXT, re.MULTILINE)
"""The wings and their rooms from the street inwards, each on a row of its own."""

WINGS = ["cli", "pages", "printing", "classroom", "checking", "reading", "core"]
"""The wings from the street inwards."""

ENTRANCES = {"__init__", "__main__"}
"""What stands at the street: the public names, and `python -m attncli`."""

MODULES = sorted(PACKAGE.rglob("*.py"))


def test_every_room_has_a_row_and_every_row_a_room() -> None:
    rooms = {room_of(module_of(path)) for path in MODULES if path.name != "__init__.py"}
    assert rooms - ENTRANCES == set(ROOMS)


def test_rooms_stand_in_the_order_of_the_wings() -> None:
    assert list(dict.fromkeys(room.split("/")[0] for room in ROOMS)) == WINGS


def room_of(module: str) -> str:
    """Return the room that a module stands in: `core/tape` of `attncli.core.tape.step`."""
    names = module.split(".")[1:]
    inside = "/".join(names[:-1])
    alone = "/".join(names)
    return alone if alone in ROOMS or len(names) < 2 else inside


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@pytest.fixture(scope="module")
def imports() -> dict[str, set[str]]:
    """Return the modules of the package that each of them imports, wherever in it."""
    return {module_of(path): set(imported(path)) for path in MODULES}


def imported(path: Path) -> Iterator[str]:
    """Yield the modules of the package that a file imports, in whichever form."""
    modules = set(map(module_of, MODULES))
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Import():
                names = [alias.name for alias in node.names]
            case ast.ImportFrom(module=module, level=level):
                up = module_of(path).split(".")[: -level or None] if level else []
                home = ".".join([*up, *filter(None, [module])])
                names = [f"{home}.{alias.name}" for alias in node.names]
            case _:
                continue
        inside = [name for name in names if name.startswith("attncli.")]
        yield from {name if name in modules else name.rpartition(".")[0] for name in inside} - {
            "attncli"
        }


@pytest.mark.parametrize(
    "line",
    [
        "from attncli.core.tape import step",
        "from attncli.core.tape.step import Step",
        "import attncli.core.tape.step",
        "import attncli.core.tape.step as one",
        "def later():\n    import attncli.core.tape.step",
        "from ..core.tape.step import Step",
    ],
)
def test_an_import_is_seen_in_every_form(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "read_text", lambda _: line)
    assert [*imported(PACKAGE / "printing" / "page.py")] == ["attncli.core.tape.step"]


def test_imports_go_downwards(imports: dict[str, set[str]]) -> None:
    """Imports for type checking count too: they are arrows for whoever reads."""
    for module, names in imports.items():
        if (room := room_of(module)) in ROOMS and module.count(".") > 1:
            below = ROOMS[ROOMS.index(room) :]
            assert [name for name in names if room_of(name) not in below] == [], module


def test_core_knows_no_wing(imports: dict[str, set[str]]) -> None:
    core = {module: names for module, names in imports.items() if ".core." in module}
    assert {name for names in core.values() for name in names if ".core." not in name} == set()


def test_the_tiles_have_one_door(imports: dict[str, set[str]]) -> None:
    behind = {f"attncli.core.attention.{name}" for name in ("tile_loop", "threads")}
    users = {module for module, names in imports.items() if names & behind} - behind
    # Mechanisms read like their textbooks: they know the operation, and no tiles or threads.
    assert users == {"attncli.core.attention.weights"}


def test_init_files_hold_a_docstring_only() -> None:
    for path in MODULES:
        if path.name == "__init__.py" and path.parent != PACKAGE:  # which has the public names
            assert [type(node) for node in ast.parse(path.read_text()).body] == [ast.Expr], path


def test_no_circle_within_a_room(imports: dict[str, set[str]]) -> None:
    arrows = dict(imports)
    while ends := [module for module, targets in arrows.items() if not targets & set(arrows)]:
        for module in ends:
            del arrows[module]
    assert arrows == {}


def test_oracles_share_no_line() -> None:
    for path in (ROOT / "tests" / "oracles").rglob("*.py"):
        assert "attncli" not in imported_words(path), path


def test_tests_import_no_benchmark_but_the_surveys_of_fairness() -> None:
    users = {
        path.name for path in (ROOT / "tests").rglob("*.py") if "benchmarks" in imported_words(path)
    }
    assert users == {"test_fairness.py"}


def imported_words(path: Path) -> list[str]:
    return re.findall(r"^\s*(?:from|import) (\w+)", path.read_text(), re.MULTILINE)


def test_every_module_that_the_page_names_is_there() -> None:
    for room, purpose in re.findall(r"^\| `([\w/]+)/` \| (.*) \|$", TEXT, re.MULTILINE):
        files = {path.stem for path in (PACKAGE / room).rglob("*")}
        names = set(re.findall(r"`(\w+)`", purpose)) - {"check", "candidates"}
        assert names <= files, (room, names - files)
