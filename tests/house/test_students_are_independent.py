"""Those who work problems beside the program share nothing with it: to agree is a proof."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

STUDENTS = [path for name in ("benchmarks", "tests") for path in (ROOT / name).glob("oracles/*.py")]
LOADERS = {"importlib", "runpy", "pkgutil", "__import__"}
"""What could import the program without saying so."""

MOST_COMMON = 3
"""Maximum number of statements of a function that may be the same as one of the program's."""

UNSEEN = {
    "annotation", "returns", "decorator_list", "name", "ctx", "simple", "type_comment", "kind",
}  # fmt: skip
"""What makes no difference between two functions."""


@pytest.mark.parametrize("path", STUDENTS, ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def test_a_student_does_not_import_the_program(path: Path) -> None:
    for name in imported(ast.parse(path.read_text(encoding="utf-8"))):
        assert name.split(".")[0] not in {"attncli", *LOADERS}
        is_beside = name.startswith((".", "benchmarks", "tests"))
        assert not is_beside or ".oracles" in name or name == "tests.conftest"  # for its tables


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield the modules that a module imports, and what could import others."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")
        elif isinstance(node, ast.Name) and node.id in LOADERS:
            yield node.id


@pytest.mark.whole
def test_no_function_of_a_student_is_one_of_the_program() -> None:
    own = functions_of(STUDENTS)
    program = functions_of((ROOT / "attncli").rglob("*.py"))
    assert len(own) > 100
    assert len(program) > 1000
    assert {own[body]: program[body] for body in own.keys() & program.keys()} == {}


def functions_of(paths: Iterable[Path]) -> dict[tuple[str, ...], str]:
    """Return the longer functions of modules by their syntax trees, whatever names they use."""
    found = {}
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                if ast.get_docstring(node):
                    del node.body[0]
                count = sum(isinstance(one, ast.stmt) for one in ast.walk(node)) - 1
                if count > MOST_COMMON:
                    found[tuple(outline(node, {}))] = f"{node.name} of {path.name}"
    return found


def outline(node: ast.AST, names: dict[str, str]) -> Iterator[str]:
    """Yield a syntax tree with numbers for names; annotations are left out."""
    for field, value in ast.iter_fields(node):
        if field not in UNSEEN:
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, ast.AST):
                    yield type(one).__name__.removeprefix("Ann")
                    yield from outline(one, names)
                elif field in ("id", "arg"):
                    yield names.setdefault(str(one), str(len(names)))
                else:
                    yield repr(one)


def test_functions_are_compared_without_their_names(tmp_path: Path) -> None:
    one, other, third = (tmp_path / f"{name}.py" for name in ("one", "other", "third"))
    text = (
        "def f(a: int) -> int:\n    'Say.'\n    b: int = a\n    c = b + 1\n    c += 2\n    return c"
    )
    one.write_text(text)
    other.write_text("def g(x):\n    y = x\n    z = y + 1\n    z += 2\n    return z")
    third.write_text(text.replace("b + 1", "a + 1"))
    assert (
        functions_of([one]).keys() == functions_of([other]).keys() != functions_of([third]).keys()
    )
