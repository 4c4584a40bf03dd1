"""The manifest: whose each file is, by which rule.

How a teacher corrects it is in the session `manifests`.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from attncli.classroom import manifest
from attncli.classroom.answer_files import RULES, read_answer_file
from tests.classroom.course import COURSE, HOMEWORK, RIGHT, SMALL, WRONG, book, write
from tests.conftest import Attn, table
from tests.reading.test_zip_files import zipped

TEXTS = {
    "$both": f"{RIGHT['Good']}---\n{RIGHT['Small']}",
    "$good": RIGHT["Good"],
    "$small": RIGHT["Small"],
    "$wrong": WRONG["Good"],
}
"""What the table of cases calls some answers."""

Row = tuple[str, str, str, str]


class Case(NamedTuple):
    """Files in a folder, and the rows that the manifest should have."""

    files: Mapping[str, str | bytes]
    rows: list[Row]
    has_roster: bool = False
    problems: str = HOMEWORK

    @property
    def flags(self) -> tuple[str, ...]:
        return ("--for", "roster.csv") if self.has_roster else ()


def case_of(row: dict[str, Any]) -> Case:
    """Return a case of the table: its files, their rows, and whether there is a roster."""
    files = {
        name: re.sub(r"\$\w+", lambda word: TEXTS[word[0]], text)
        for name, text in row["files"].items()
    }
    rows = [(who, numbers, path, rule) for who, numbers, path, rule in row["rows"]]
    return Case(files, rows, row.get("has_roster", False), SMALL if "is_one" in row else HOMEWORK)


CASES = {
    name: case_of(row)
    for group in ("WHOSE", "PROBLEM", "TROUBLE")
    for name, row in table("manifest", group).items()
}
CASES["zip files"] = Case(
    {"Ada/up.zip": zipped({"hw.yaml": RIGHT["Small"]}), "Bo.zip": zipped({"hw.yaml": ""})},
    [("Ada", "", "Ada/up.zip/hw.yaml", "its folder"), ("Bo", "", "Bo.zip/hw.yaml", "its folder")],
    problems=SMALL,
)


@pytest.mark.parametrize("name", CASES)
def test_whose_each_file_is_and_that_an_uncorrected_manifest_changes_nothing(
    name: str, attn: Attn, tmp_path: Path
) -> None:
    case = CASES[name]
    roster = (COURSE / "roster.csv").read_bytes()
    write(tmp_path, {"hw.yaml": case.problems, "roster.csv": roster})
    write(tmp_path / "in", case.files)
    command = ("check", "hw.yaml", "in", *case.flags)
    result = attn(*command, "--manifest", "m.csv", cwd=tmp_path)
    assert (result.status, result.out) == (0, "")
    rows = csv.DictReader(io.StringIO((tmp_path / "m.csv").read_text()))
    assert [
        (row["student"], row["problem"], row["file"].removeprefix("in/"), row["rule"])
        for row in rows
        if row["file"]
    ] == case.rows
    marked = attn(*command, "-f", "csv", cwd=tmp_path)
    followed = attn(*command, "-f", "csv", "--manifest", "m.csv", cwd=tmp_path)
    assert (followed.status, followed.out) == (marked.status, marked.out)
    assert set(followed.err.splitlines()) <= set(marked.err.splitlines())


def test_every_rule_has_a_case() -> None:
    rules = {rule for case in CASES.values() for *_, rule in case.rows}
    assert [rule for rule in RULES if not any(rule in said for said in rules)] == []


def test_a_table_that_many_rows_name_is_read_once(
    attn: Attn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = "".join(f"N{number},1\n" for number in range(50))
    write(tmp_path, {"hw.yaml": SMALL, "form.csv": f'Name,"scores[1,1]"\n{rows}'})
    attn("check", "hw.yaml", "form.csv", "--manifest", "m.csv", cwd=tmp_path)
    read: list[str] = []

    def counted(file: str, *arguments: Any) -> Any:
        read.append(file)
        return read_answer_file(file, *arguments)

    monkeypatch.setattr(manifest, "read_answer_file", counted)
    assert len(book(attn, tmp_path, "hw.yaml", "--manifest", "m.csv")) == 50
    assert read == ["form.csv"]
