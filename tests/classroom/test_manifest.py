"""The manifest: whose each file is, by which rule, and how a teacher corrects it."""

from __future__ import annotations

import csv
import io
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from attncli.classroom.answer_files import RULES
from tests.classroom.test_classes import BOTH, RIGHT, SMALL, WRONG, book, write
from tests.conftest import Attn, table
from tests.reading.test_zip_files import zipped

GOOD_ANSWERS, SMALL_ANSWERS = RIGHT["Good"], RIGHT["Small"]
BOTH_ANSWERS = f"{GOOD_ANSWERS}---\n{SMALL_ANSWERS}"
ONE = {"hw.yaml": SMALL}

ROSTER = """\
Last Name,First Name,SID,Email
Lovelace,Ada,4711,ada7@uni.edu
Blum,Zoë,4712,zb12@uni.edu
Kim,Bo,4713,
Vance,Eli,4714,
Kim,Min-jun,4715,
"""

Row = tuple[str, str, str, str]


class Case(NamedTuple):
    """Files in a folder, and the rows that the manifest should have."""

    files: Mapping[str, str | bytes]
    rows: list[Row]
    has_roster: bool = False
    problems: Mapping[str, str] = BOTH


def written(folder: Path, files: Mapping[str, str | bytes]) -> None:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("/"):
            path.mkdir(exist_ok=True)
        else:
            path.write_bytes(data if isinstance(data, bytes) else data.encode())


def rows_of(file: Path) -> list[Row]:
    """Return the rows for files, with the paths in the folder `in`."""
    rows = csv.DictReader(io.StringIO(file.read_text()))
    cells = [tuple(row[name] for name in ("student", "problem", "file", "rule")) for row in rows]
    return [(who, n, path.removeprefix("in/"), rule) for who, n, path, rule in cells if path]


def manifest(attn: Attn, folder: Path, case: Case) -> list[Row]:
    written(folder, {**case.problems, "roster.csv": ROSTER})
    written(folder / "in", case.files)
    flags = ("--for", "roster.csv") if case.has_roster else ()
    result = attn("check", "hw.yaml", "in", *flags, "--manifest", "m.csv", cwd=folder)
    assert (result.status, result.out) == (0, "")
    return rows_of(folder / "m.csv")


TEXTS = {
    "$both": BOTH_ANSWERS,
    "$good": GOOD_ANSWERS,
    "$small": SMALL_ANSWERS,
    "$wrong": WRONG["Good"],
}
"""What the table of cases calls some answers."""


def case_of(row: dict[str, Any]) -> Case:
    """Return a case of the table: its files, their rows, and whether there is a roster."""
    files: dict[str, str | bytes] = {}
    for name, text in row["files"].items():
        files[name] = re.sub(r"\$\w+", lambda word: TEXTS[word[0]], text)
    rows = [(who, numbers, path, rule) for who, numbers, path, rule in row["rows"]]
    return Case(files, rows, row.get("has_roster", False), ONE if "is_one" in row else BOTH)


WHOSE, PROBLEM, TROUBLE = (
    {name: case_of(row) for name, row in table("manifest", group).items()}
    for group in ("WHOSE", "PROBLEM", "TROUBLE")
)
ZIPS = {"Ada/up.zip": zipped({"hw.yaml": SMALL_ANSWERS}), "Bo.zip": zipped({"hw.yaml": ""})}
OF_ZIPS = [
    (who, "", f"{who}{path}", [*RULES][4])
    for who, path in (("Ada", "/up.zip/hw.yaml"), ("Bo", ".zip/hw.yaml"))
]
TROUBLE["zip files"] = Case(ZIPS, OF_ZIPS, problems=ONE)
CASES = WHOSE | PROBLEM | TROUBLE


@pytest.mark.parametrize("name", CASES)
def test_who_handed_in_what(name: str, attn: Attn, tmp_path: Path) -> None:
    assert manifest(attn, tmp_path, CASES[name]) == CASES[name].rows


@pytest.mark.parametrize("name", CASES)
def test_a_manifest_that_nobody_corrects_changes_nothing(
    name: str, attn: Attn, tmp_path: Path
) -> None:
    manifest(attn, tmp_path, CASES[name])
    flags = ("--for", "roster.csv", "-f", "csv") if CASES[name].has_roster else ("-f", "csv")
    marked = attn("check", "hw.yaml", "in", *flags, cwd=tmp_path)
    followed = attn("check", "hw.yaml", "in", *flags, "--manifest", "m.csv", cwd=tmp_path)
    assert (followed.status, followed.out) == (marked.status, marked.out)
    assert set(followed.err.splitlines()) <= set(marked.err.splitlines())


def test_every_rule_has_a_case() -> None:
    rules = {rule for case in CASES.values() for *_, rule in case.rows}
    for rule in RULES:
        assert any(rule in said for said in rules), rule


def correct(folder: Path, *changes: tuple[str, str]) -> None:
    """Change the manifest, as a teacher does."""
    text = (folder / "m.csv").read_text()
    for old, new in changes:
        assert text.count(old) == 1, (old, text)
        text = text.replace(old, new)
    (folder / "m.csv").write_text(text)


def test_a_corrected_manifest_is_followed_to_the_letter(attn: Attn, tmp_path: Path) -> None:
    files = {
        "Ada Lovlace.yaml": BOTH_ANSWERS,
        "Bo Kim draft.yaml": f"{WRONG['Good']}---\n{SMALL_ANSWERS}",
        "Bo Kim.yaml": GOOD_ANSWERS,
        "zb12.yaml": SMALL_ANSWERS,
        "guest.yaml": SMALL_ANSWERS,
    }
    manifest(attn, tmp_path, Case(files, [], has_roster=True))
    correct(
        tmp_path,
        (",1 2,in/Ada Lovlace", "lovelace ada,1 2,in/Ada Lovlace"),
        ("Bo Kim,1 2,in/Bo Kim draft", "Bo Kim,2,in/Bo Kim draft"),
        (",2,in/guest.yaml,open (the problem by its contents)\n", ""),
        ("Zoë Blum,2", "Zoë Blum,1"),
    )
    flags = ("hw.yaml", "--for", "roster.csv", "--manifest", "m.csv")
    assert book(attn, tmp_path, *flags) == [
        *[("Ada Lovelace", "Good", "correct"), ("Ada Lovelace", "Small", "correct")],
        *[("Bo Kim", "Good", "correct"), ("Bo Kim", "Small", "correct")],
        *[("Zoë Blum", "Good", "wrong"), ("Zoë Blum", "Small", "empty")],
        *[("Eli Vance", "Good", "empty"), ("Eli Vance", "Small", "empty")],
        *[("Min-jun Kim", "Good", "empty"), ("Min-jun Kim", "Small", "empty")],
    ]
    result = attn("check", *flags, cwd=tmp_path)
    assert (result.status, result.err) == (1, "")


def test_a_line_of_a_table_is_given_to_a_student(attn: Attn, tmp_path: Path) -> None:
    manifest(attn, tmp_path, TROUBLE["a table"])
    correct(tmp_path, (",1 2,in/form.csv:3", "Ada Lovelace,2,in/form.csv:3"))
    flags = ("hw.yaml", "--for", "roster.csv", "--manifest", "m.csv")
    assert book(attn, tmp_path, *flags)[:4] == [
        *[("Eli Vance", "Good", "correct"), ("Eli Vance", "Small", "correct")],
        *[("Ada Lovelace", "Good", "empty"), ("Ada Lovelace", "Small", "wrong")],
    ]


def test_what_is_passed_over_counts_if_the_teacher_says_so(attn: Attn, tmp_path: Path) -> None:
    manifest(attn, tmp_path, WHOSE["Canvas, handed in again"])
    correct(
        tmp_path,
        ("kimbo,1,in/kimbo_1_5_hw-10.yaml", ",1,in/kimbo_1_5_hw-10.yaml"),
        (",,in/kimbo_1_3", "kimbo,1,in/kimbo_1_3"),
    )
    rows = book(attn, tmp_path, "hw.yaml", "--manifest", "m.csv")
    assert rows[:2] == [("kimbo", "Good", "wrong"), ("kimbo", "Small", "correct")]
    assert {row[0] for row in rows[2:]} == {"in/kimbo_1_5_hw-10.yaml"}


def test_answers_that_may_be_in_an_open_file_are_unknown(attn: Attn, tmp_path: Path) -> None:
    """The student has not handed in nothing: 0 points would be unfair."""
    files = {"Ada Lovlace p1.yaml": GOOD_ANSWERS, "ada lovelace p2.yaml": SMALL_ANSWERS}
    written(tmp_path, {**BOTH, "roster.csv": ROSTER})
    written(tmp_path / "in", files)
    flags = ("hw.yaml", "in", "--for", "roster.csv")
    rows = [row for row in book(attn, tmp_path, *flags) if row[0] == "Ada Lovelace"]
    assert rows == [("Ada Lovelace", "Good", "unreadable"), ("Ada Lovelace", "Small", "correct")]
    points = ("--points", "scores: 5", "--totals", "-f", "csv")
    table = attn("check", *flags, *points, cwd=tmp_path)
    assert "Lovelace,Ada,4711,ada7@uni.edu,-,5,-\n" in table.out
    assert table.err.count("this does not tell whose answers it has, perhaps Ada Lovelace") == 1


def test_a_manifest_that_is_given_back_keeps_unknown_what_is_unknown(
    attn: Attn, tmp_path: Path
) -> None:
    """The file may be of either Ann Lee until the teacher says whose it is."""
    roster = "Name,SID\nAnn Lee,4711\nAnn Lee,4712\nBo Kim,4713\n"
    written(tmp_path, {**ONE, "roster.csv": roster, "in/Ann Lee.yaml": SMALL_ANSWERS})
    flags = ("hw.yaml", "--for", "roster.csv", "--points", "scores: 5", "--totals", "-f", "csv")
    attn("check", *flags[:3], "in", "--manifest", "m.csv", cwd=tmp_path)
    first = attn("check", *flags, "in", cwd=tmp_path)
    again = attn("check", *flags, "--manifest", "m.csv", cwd=tmp_path)
    assert first.out == again.out
    assert [line.split(",")[-1] for line in again.out.splitlines()[1:]] == ["-", "-", "0"]


def test_a_file_that_came_later_is_not_lost_in_silence(attn: Attn, tmp_path: Path) -> None:
    files = {"a.csv": "Name,2: scores[1,1]\nAda,1\n", "Bo.yaml": BOTH_ANSWERS, ".DS_Store": ""}
    manifest(attn, tmp_path, Case(files, []))
    written(tmp_path / "in", {"Cy.yaml": BOTH_ANSWERS, "Di.pdf": "%PDF", "a.log": ""})
    result = attn("check", "hw.yaml", "in", "--manifest", "m.csv", cwd=tmp_path)
    assert result.err == "m.csv: no row for in/Cy.yaml and in/Di.pdf, so not marked\n"
    assert "Cy" not in result.out


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("who,what\n", "m.csv:1: a column is missing: student, problem, file\n"),
        ("Ada Lovlace,1,in/a.yaml,\n", "m.csv:2: no student is called Ada Lovlace\n"),
        ("\nBo Kim,7,in/a.yaml,\n", "m.csv:3: there is no problem 7\n"),
        ("Bo Kim,1,in/b.yaml,\n", "m.csv:2: there is no such file: in/b.yaml\n"),
        ("Bo Kim,1,in/a.yaml:7,\n", "m.csv:2: there are no answers in line 7 of in/a.yaml\n"),
    ],
)
def test_a_bad_row_of_a_manifest_is_one_error_with_its_line(
    rows: str, message: str, attn: Attn, tmp_path: Path
) -> None:
    head = "" if rows.startswith("who") else "student,problem,file,rule\n"
    files = {"roster.csv": ROSTER, "in/a.yaml": BOTH_ANSWERS, "m.csv": head + rows}
    write(tmp_path, {**BOTH, **files})
    flags = ("hw.yaml", "--for", "roster.csv", "--manifest", "m.csv")
    result = attn("check", *flags, cwd=tmp_path)
    assert (result.status, result.out) == (2, "")
    assert result.err.startswith(message)


def test_the_command_says_what_to_do_with_a_manifest(attn: Attn, tmp_path: Path) -> None:
    written(tmp_path, {**ONE, "roster.csv": ROSTER})
    written(tmp_path / "in", {"Ada Lovlace.yaml": "", "bokim.yaml": ""})
    flags = ("hw.yaml", "in", "--for", "roster.csv", "--manifest", "m.csv")
    result = attn("check", *flags, cwd=tmp_path)
    assert (result.status, result.out) == (0, "")
    assert result.err == (
        "m.csv has 2 files of 1 student; 1 of them is open\n"
        "correct it, delete the rows that do not count, and run the same command again\n"
    )
    nothing = attn("check", "hw.yaml", "--manifest", "n.csv", cwd=tmp_path)
    assert nothing.status == 2
    assert nothing.err.startswith("a manifest is of answers\n")


def test_a_table_that_many_rows_name_is_read_once(attn: Attn, tmp_path: Path) -> None:
    rows = "".join(f"N{number},1\n" for number in range(600))
    manifest(attn, tmp_path, Case({"form.csv": f'Name,"scores[1,1]"\n{rows}'}, [], problems=ONE))
    started = time.perf_counter()
    assert len(book(attn, tmp_path, "hw.yaml", "--manifest", "m.csv")) == 600
    assert time.perf_counter() - started < 10  # and not 600 times as long as the table takes
