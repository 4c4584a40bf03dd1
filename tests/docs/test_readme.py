"""The README does what it says: every command block is run and its output compared."""

from __future__ import annotations

import doctest
import re
import runpy
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from attncli.core.tape.find_cells import find_steps
from attncli.core.tape.step_words import ALIASES, LETTERS, meant
from tests.conftest import ROOT, Attn, run_command
from tests.support.page_blocks import assert_prints_what_is_shown, blocks, session

TEXT = (ROOT / "README.md").read_text()
BLOCKS = blocks(TEXT)
OWN_TESTS = {"from-pytorch", "many-machines", "pipelines", "teaching"}
"""Pages whose blocks need a cluster, other programs, or files of their own."""

FOUND = sorted({*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")})
PAGES = [path.relative_to(ROOT).as_posix() for path in FOUND]
"""Every page, whose blocks are run in a folder with the samples."""


def sessions_of(page: str) -> list[str]:
    """Return the console sessions of a page, each of which is run in a folder of its own."""
    bodies = [body for language, body in blocks((ROOT / page).read_text()) if language == "console"]
    goes_on = page in ("docs/counting.md", "docs/five-minutes.md")  # from each block to the next
    return ["".join(bodies)] if goes_on else bodies


SESSIONS = [
    pytest.param(
        body,
        id=f"{page}: {body.splitlines()[0][2:50]}",
        marks=pytest.mark.whole if "attn vary" in body else (),
    )
    for page in PAGES
    if Path(page).stem not in OWN_TESTS
    for body in sessions_of(page)
]


@pytest.mark.parametrize("block", SESSIONS)
def test_commands_print_what_is_shown(block: str, tmp_path: Path) -> None:
    for folder in ("sample_inputs", "tests/data/errors", "examples"):
        if folder in block:
            shutil.copytree(ROOT / folder, tmp_path / folder)
    assert session(block)
    assert_prints_what_is_shown(block, tmp_path)


def test_every_page_can_be_reached_from_the_readme() -> None:
    """Links lead to files and headings that exist, and from page to page to every page."""
    found, new = set(), {ROOT / "README.md"}
    while new:
        page = new.pop()
        found.add(page)
        for link, anchor in re.findall(r"\]\(([^)#:]*)(?:#([\w-]+))?\)", page.read_text()):
            target = (page.parent / link).resolve() if link else page
            assert target.exists(), (page, link)
            heading = r"(?im)^#+ \W*" + anchor.replace("-", r"\W+") + r"\W*$"
            assert not anchor or re.search(heading, target.read_text()), (page, link, anchor)
            new |= {target} - found if target.suffix == ".md" else set()
    assert {*FOUND} <= found


def test_the_tiny_tape_is_short_and_needs_no_package() -> None:
    text = (ROOT / "examples" / "tiny_tape.py").read_text()
    assert len(re.findall(r"^.+$", text, re.MULTILINE)) <= 120
    assert "attncli" not in text


@pytest.mark.parametrize("page", ["reference", "operations", "glossary", "api", "mistakes"])
def test_a_page_is_what_its_script_writes(page: str) -> None:
    script = runpy.run_path(str(ROOT / "docs" / f"{page}.py"))
    assert script["PAGE"].read_text() == script["text"](), f"run python docs/{page}.py"


def test_every_name_of_the_glossary_means_its_step() -> None:
    script = runpy.run_path(str(ROOT / "docs" / "glossary.py"))
    found = [row for steps in script["rows"]().values() for row in steps.values()]
    for step, trace in found:
        for word in (step.name, *script["words"](step, trace)):
            is_alias = step.name in meant(word, trace.steps)
            assert is_alias or step in find_steps(word, trace.steps, {}, ()), word
    names = {*ALIASES, *(name for steps in LETTERS.values() for name in steps)}
    assert names <= {step.stem for step, _ in found}


def test_python_block_prints_what_is_shown() -> None:
    code, shown = [body for language, body in BLOCKS if language in ("python", "text")]
    assert run_command(sys.executable, "-c", code).out == shown


def test_set_up_commands_are_those_that_the_whole_check_runs() -> None:
    """`.ci/run` takes the `sh` blocks from the README and runs them to the letter."""
    assert [block.count("\n") for language, block in BLOCKS if language == "sh"] == [1, 1, 1, 4]
    for marker in ("compute", "test", "path", "loop"):
        assert TEXT.count(f"<!-- {marker} -->\n```sh\n") == 1
    assert {language for language, _ in BLOCKS} == {"sh", "console", "python", "text"}
    first_page = blocks((ROOT / "docs" / "five-minutes.md").read_text())
    assert {("sh", body) for name, body in first_page if name == "sh"} < {*BLOCKS}


def test_the_loop_of_homework_runs_when_its_files_are_filled_in(attn: Attn, tmp_path: Path) -> None:
    """Each ? becomes another number, which is right in the problem and wrong in the answers."""
    *_, loop = (body for language, body in BLOCKS if language == "sh")
    statuses = []
    for line in loop.splitlines():
        statuses.append(attn(*shlex.split(line, comments=True)[1:], cwd=tmp_path).status)
        for file in tmp_path.iterdir():
            pieces = file.read_text().split("?")
            file.write_text("".join(f"{x}{n}" for n, x in enumerate(pieces[:-1], 1)) + pieces[-1])
    assert statuses == [0, 0, 0, 1]
    assert len(TEXT.splitlines()) <= 160


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
