"""What a mechanism declares, and the words of it, stand in its folder alone."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from attncli.core.declare import Declared, Mechanism, Option, declared
from attncli.core.numbers.forms import ArrayForm, Choice
from tests.conftest import ROOT

PACKAGE = ROOT / "attncli"
FOLDERS = PACKAGE / "mechanisms"

SHARED = ("core", "mechanisms/attention")
"""What the others build on, whose words may be said everywhere."""

ENGLISH = """
cell error final form gate read value norm update place next
"""
"""Names that are also English words, or single letters, which other files say for themselves."""


def folder_of(one: Declared) -> str:
    return type(one).__module__.rpartition(".")[2]


def words_of(one: Declared) -> set[str]:
    """Return its name, its keys, the parts of these, and its steps; letters may be any."""
    parts = (part for row in one.own.values() for part in row.form.parts())
    steps = (*one.step_names.split(), *one.step_words)
    return {word for word in (one.name, *one.own, *parts, *steps) if len(word) > 1}


def strings(path: Path) -> Iterator[tuple[str, int]]:
    """Yield the texts in a file, and the names of attributes that no other thing has."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value, node.lineno
        elif isinstance(node, ast.Attribute) and "_" in node.attr:
            yield node.attr, node.lineno


def test_no_word_of_a_folder_is_said_elsewhere() -> None:
    homes: dict[str, set[str]] = defaultdict(set)
    for one in declared().values():
        forms = (row.form for row in one.own.values())
        chosen = (word for form in forms if isinstance(form, Choice) for word in form.words())
        for word in (*words_of(one), *chosen):
            homes[word].add(folder_of(one))
    every = set().union(*map(words_of, declared().values())) - {*ENGLISH.split()}
    alone = {word for word in every if len(homes[word]) == 1}
    alone -= {word for word in alone if homes[word] & {"attention", "keys"}}
    said = []
    for path in sorted(PACKAGE.rglob("*.py")):
        inside = path.relative_to(PACKAGE).as_posix()
        if not inside.startswith(SHARED):
            for text, line in strings(path):
                if text in alone and not inside.startswith(f"mechanisms/{min(homes[text])}/"):
                    said.append(f"{inside}:{line} {text}")
    assert said == [], "words that one folder alone declares; call a step or a key otherwise"


@pytest.mark.parametrize("name", [n for n, x in declared().items() if isinstance(x, Mechanism)])
def test_a_new_problem_has_all_that_a_mechanism_needs(name: str) -> None:
    """A matrix is drawn; another key has a default, or a value to suggest."""
    kind = declared()[name]
    assert isinstance(kind, Mechanism)
    others = (
        kind.rows[key] for key in kind.needs if not isinstance(kind.rows[key].form, ArrayForm)
    )
    assert all(row.suggests or row.form.parts() for row in others)


def test_every_folder_declares_something_and_has_steps() -> None:
    folders = {path.parent.name for path in FOLDERS.glob("*/__init__.py")}
    every = [one for one in declared().values() if ".mechanisms." in type(one).__module__]
    assert folders == {folder_of(one) for one in every}
    assert all(callable(one.steps().steps) for one in every if isinstance(one, Mechanism))
    assert all(one.steps() for one in every if isinstance(one, Option))
