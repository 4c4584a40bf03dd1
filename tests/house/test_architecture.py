"""ARCHITECTURE.md is true: imports go downwards only."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

TEXT = (ROOT / "ARCHITECTURE.md").read_text()
PACKAGE = ROOT / "attncli"

ROOMS: list[str] = re.findall(r"^\| `([\w/]+?)(?:/|\.py)` \|", TEXT, re.MULTILINE)
"""The wings and their rooms from the street inwards, each on a row of its own."""

MODULES = sorted(PACKAGE.rglob("*.py"))


def test_every_room_has_a_row_and_every_row_a_room() -> None:
    rooms = {room_of(module_of(path)) for path in MODULES if path.name != "__init__.py"}
    # At the street are the public names, and `python -m attncli`.
    assert rooms - {"__init__", "__main__"} == set(ROOMS)


def test_rooms_stand_in_the_order_of_the_wings() -> None:
    wings = "cli formats classroom pages printing checking reading mechanisms core"
    assert " ".join(dict.fromkeys(room.split("/")[0] for room in ROOMS)) == wings


def room_of(module: str) -> str:
    """Return the room that a module stands in: `core/tape` of `attncli.core.tape.step`."""
    names = module.split(".")[1:]
    inside = "/".join(names[:-1])
    alone = "/".join(names)
    if names[:1] == ["mechanisms"]:  # each folder of which is a mechanism
        return "mechanisms"
    return alone if alone in ROOMS or len(names) < 2 else inside


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@pytest.fixture(scope="module")
def imports() -> dict[str, set[str]]:
    """Return the modules of the package that each of them imports, wherever in it."""
    return {module_of(path): imported(path) for path in MODULES}


def imported(path: Path) -> set[str]:
    modules = set(map(module_of, MODULES))
    homes = {name if name in modules else name.rpartition(".")[0] for name in names_taken(path)}
    return homes - {"attncli"}


def names_taken(path: Path) -> Iterator[str]:
    """Yield the names of the package that a file imports, in whichever form."""
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
        yield from (name for name in names if name.startswith("attncli."))


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


def test_the_classroom_is_a_client() -> None:
    """Only wings above it import it, as its place among them says; it takes few names of others."""
    files = (p for p in MODULES if p.parent.name == "classroom")
    names = {name for path in files for name in names_taken(path)}
    assert sum(".classroom." not in name for name in names) <= 60


def test_the_tiles_have_one_door(imports: dict[str, set[str]]) -> None:
    # Mechanisms read like their textbooks: they know the operation, and no tiles or threads.
    tiles, threads = "attncli.core.attention.tile_loop", "attncli.core.arithmetic.machine"
    users = {module for module, names in imports.items() if tiles in names}
    assert users == {"attncli.core.attention.weights"}
    assert not any("mechanisms" in one and threads in names for one, names in imports.items())


def test_init_files_hold_a_docstring_only() -> None:
    for path in MODULES:
        is_declaration = path.parent.parent.name == "mechanisms"
        if path.name == "__init__.py" and path.parent != PACKAGE and not is_declaration:
            assert [type(node) for node in ast.parse(path.read_text()).body] == [ast.Expr], path


def test_no_circle_within_a_room(imports: dict[str, set[str]]) -> None:
    arrows = dict(imports)
    while ends := [module for module, targets in arrows.items() if not targets & set(arrows)]:
        for module in ends:
            del arrows[module]
    assert arrows == {}


def test_tests_import_no_benchmark_but_the_surveys_of_fairness() -> None:
    imports_it = re.compile(r"^\s*(?:from|import) benchmarks\b", re.MULTILINE)
    users = {p.name for p in (ROOT / "tests").rglob("*.py") if imports_it.search(p.read_text())}
    assert users == {"test_fairness.py"}


def test_every_module_that_the_page_names_is_there() -> None:
    for room, purpose in re.findall(r"^\| `([\w/]+)/` \| (.*) \|$", TEXT, re.MULTILINE):
        files = {path.stem for path in (PACKAGE / room).rglob("*")}
        names = set(re.findall(r"`(\w+)`", purpose)) - {"check", "candidates"}
        assert names <= files, (room, names - files)
