"""The README does what it says: every command block is run and its output compared."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from collections.abc import Iterable

import pytest

import attncli
from attncli.attention.masks import MASKS
from attncli.attention.normalizers import NORMALIZERS
from attncli.attention.scores import SCORES
from attncli.rendering.formats import FORMATS
from tests.conftest import ROOT
from tests.sessions import blocks, in_shell

TEXT = (ROOT / "README.md").read_text()
BLOCKS = blocks(TEXT)
GRADIENTS = (ROOT / "docs" / "gradients.md").read_text()
SESSIONS = [body for text in (TEXT, GRADIENTS) for kind, body in blocks(text) if kind == "console"]


@pytest.mark.parametrize("session", SESSIONS, ids=lambda s: s.splitlines()[0][2:60])
def test_command_prints_what_is_shown(session: str) -> None:
    command, _, output = session.partition("\n")
    assert command.startswith("$ ")
    assert in_shell(command[2:]) == output


def test_python_block_prints_what_is_shown() -> None:
    (code,) = [body for language, body in BLOCKS if language == "python"]
    (shown,) = [body for language, body in BLOCKS if language == "text"]
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, cwd=ROOT, check=True, text=True
    )
    assert done.stdout == shown


def test_set_up_commands_are_those_that_the_whole_check_runs() -> None:
    """`.ci/run` takes the `sh` blocks from the README and runs them to the letter."""
    assert [block.count("\n") for language, block in BLOCKS if language == "sh"] == [1, 1, 1]
    for marker in ("compute", "test", "path"):
        assert TEXT.count(f"<!-- {marker} -->\n```sh\n") == 1
    assert {language for language, _ in BLOCKS} == {"sh", "console", "python", "text"}


WANTED: dict[str, Iterable[str]] = {
    "score": SCORES,
    "mask": MASKS,
    "normalize": NORMALIZERS,
    "format": FORMATS,
    "status": attncli.check(attncli.Problem(X=[[1]]), {"Q": [[1]]}).counts,
}
"""The names that the README has a row for, by the table in which it stands."""

ROWS = [(table, name) for table, names in WANTED.items() for name in names]


def reference(text: str) -> dict[str, list[str]]:
    """Return the names that the reference tables of a README have a row for.

    Scores, masks and normalisers are listed by `attn scores`, a paragraph each; statuses are rows
    of a table; formats stand in the row of the flag `-f`.
    """
    (listing,) = re.findall(r"^\$ attn scores\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    paragraphs = dict(part.split(":", maxsplit=1) for part in listing.split("\n\n"))
    found = {
        table: re.findall(r"^  (\w+) ", paragraphs[table], re.MULTILINE)
        for table in ("score", "mask", "normalize")
    }
    (statuses,) = re.findall(r"^\| status \|.*\n\|[-|]+\n((?:\|.*\n)+)", text, re.MULTILINE)
    (formats,) = re.findall(r"^\| `-f, --format` \|(.*)\|$", text, re.MULTILINE)
    return found | {
        "status": re.findall(r"^\| `(\w+)` \|", statuses, re.MULTILINE),
        "format": re.findall(r"`(\w+)`", formats),
    }


@pytest.mark.parametrize(("table", "name"), ROWS)
def test_every_row_of_every_table_is_in_the_docs(table: str, name: str) -> None:
    assert reference(TEXT)[table].count(name) == 1


@pytest.mark.parametrize(("table", "name"), ROWS)
def test_a_row_that_is_deleted_is_missed(table: str, name: str) -> None:
    """That the word stands elsewhere, as `sum` and `none` do, does not hide it."""
    row = {"format": rf"`{name}`", "status": rf"^\| `{name}` \|.*\n"}.get(table, rf"^  {name} .*\n")
    shorter = re.sub(row, "", TEXT, flags=re.MULTILINE)
    assert shorter != TEXT
    assert name not in reference(shorter)[table]
    others = [other for other in ROWS if other != (table, name)]
    assert all(reference(shorter)[there].count(other) == 1 for there, other in others)


def test_every_block_of_the_python_page_prints_what_is_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The blocks are a session: each goes on from the names of those before it."""
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs" / "python.md").read_text()
    session = [body for language, body in blocks(page) if language == "python"]
    names: dict[str, object] = {}
    runner = doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF)
    for number, block in enumerate(session):
        test = doctest.DocTestParser().get_doctest(block, names, f"block {number + 1}", None, 0)
        runner.run(test, clear_globs=False)
        names.update(test.globs)
    assert runner.tries > 20
    assert runner.failures == 0
