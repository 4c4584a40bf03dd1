"""No table, no recorded file and no name of a script stays behind when what it belongs to goes."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import DATA, ROOT, tables

SUBJECTS = sorted(path.stem for path in (DATA / "cases").glob("*.yaml"))
RECORDS = [
    path
    for folder in ("recorded", "corpus", "errors")
    for path in sorted((DATA / folder).iterdir())
]


@cache
def texts() -> dict[Path, str]:
    """Return the text of every module that may read them, and of every session and table."""
    here = ROOT / "tests"
    found = [
        *here.rglob("*.py"),
        *(ROOT / "benchmarks").rglob("*.py"),  # which makes what is recorded
        *(DATA / "sessions").glob("*.txt"),
        *(DATA / "cases").glob("*.yaml"),
    ]
    counted = here / "docs" / "test_testing_page.py"  # which counts records, and tries none
    return {path: path.read_text(encoding="utf-8") for path in found if path != counted}


@cache
def words_of(path: Path) -> frozenset[str]:
    """Return the texts between quotes in a module."""
    tree = ast.walk(ast.parse(texts()[path]))
    return frozenset(
        node.value for node in tree if isinstance(node, ast.Constant) if isinstance(node.value, str)
    )


@pytest.mark.parametrize("subject", SUBJECTS)
def test_every_table_is_used(subject: str) -> None:
    modules = [path for path in texts() if path.suffix == ".py"]
    users = [path for path in modules if subject in words_of(path)]
    users += [path for path in modules if "table(subject, " in texts()[path]]  # of any subject
    if not any(f'tables("{subject}")' in texts()[path] for path in users):
        named = frozenset[str]().union(*map(words_of, users))
        assert tables(subject).keys() - named == set()


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_recorded_file_is_named_or_all_of_its_folder_are_read(path: Path) -> None:
    name = rf"\b({re.escape(path.stem)}|{re.escape(path.name)})\b"
    whole = rf'"{path.parent.name}"\)?\.(glob|iterdir)\('
    assert any(re.search(f"{name}|{whole}", text) for text in texts().values())


SUFFIXES = (".py", ".md")
SCRIPT = re.compile(r"\bbenchmarks(?:(?:/\w+)+\.(?:py|yaml)|(?:\.\w+)+)")
"""A script of benchmarks, as a path, or as a module that Python runs or a name that it imports."""


def is_there(script: str) -> bool:
    if "/" in script:
        return (ROOT / script).exists()
    place = ROOT / script.replace(".", "/")
    return any(one.exists() or one.with_suffix(".py").exists() for one in (place, place.parent))


def test_every_script_that_a_text_names_is_there() -> None:
    folders = ("attncli", "tests", "benchmarks", "docs")
    texts = [
        path for name in folders for path in (ROOT / name).rglob("*") if path.suffix in SUFFIXES
    ]
    named = {
        (path.name, script)
        for path in (*texts, *ROOT.glob("*.md"))
        for script in SCRIPT.findall(path.read_text(encoding="utf-8"))
    }
    assert len(named) > 20
    assert [name for name in named if not is_there(name[1])] == []
