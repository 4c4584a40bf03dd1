"""Tables of classes: exports of forms, quizzes and spreadsheets, with a row per student.

What the command says of them is in the session `class_tables`.
"""

from __future__ import annotations

import shlex
import time
import tracemalloc
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

import pytest

import attncli
from attncli.classroom.assignment import Assignment
from attncli.classroom.name_index import Roster
from attncli.reading.document import KnownClass, Submission
from attncli.reading.headings import likely_cell, named_cell
from attncli.reading.people import Person
from attncli.reading.submissions import load_each_submission
from tests.classroom.course import SMALL, book, write
from tests.conftest import Attn, cases, table

ROSTER = Roster(
    [
        Person("Ada Lovelace", (), ("ada@x.org", "4711")),
        Person("Bo Kent", (), ("bo@x.org", "4712")),
        Person("Zoë Groß", (), ("zg@x.org", "4713")),
    ]
)

Found: TypeAlias = list[tuple[str, dict[str, str] | str]]


def read(text: str | bytes, folder: Path, headings: Mapping[str, str] | None = None) -> Found:
    """Return the students of a table, each with the answers or with why there are none."""
    path = folder / "form.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    both = Assignment([attncli.Problem(X=[[1, 0], [0, 2]], title=t) for t in ("Good", "Small")])
    known = KnownClass(headings or {}, ROSTER.find, lambda said: both.first.names.in_name(said)[0])
    found: Found = []
    for said, one in load_each_submission(path, known=known):
        name = ROSTER.find(said) or said
        if isinstance(one, Submission):
            own = {key: raw for key, raw in one.matrices.items() if key != "student"}
            found.append((name, own))
        else:
            found.append((name, str(one)))
    return found


@cases("class_tables", "headings", ids=str)
def test_a_heading_that_is_a_cell_is_found_and_others_are_skipped(heading: str, cell: str) -> None:
    found = named_cell(heading)
    assert (found[1] if found else "") == cell
    if not cell:
        assert likely_cell(heading) == ""


@cases("class_tables", "headings_that_are_nearly_a_cell")
def test_a_heading_that_is_nearly_a_cell_is_not_lost(
    heading: str, cell: str, attn: Attn, tmp_path: Path
) -> None:
    write(tmp_path, {"hw.yaml": SMALL, "form.csv": f'Name,"scores[1,1]","{heading}"\nAda,1,0\n'})
    assert book(attn, tmp_path, "hw.yaml", "form.csv") == [("Ada", "Small", "unreadable")]
    result = attn("check", "hw.yaml", "form.csv", cwd=tmp_path)
    assert result.status == 2
    assert result.err.startswith(f"form.csv:1:20: {heading} is not the name of one cell\n")
    assert result.err.endswith(f"write that, or add --map '{heading}={cell}'\n")
    mapped = ("--map", f"{heading}=scores[1,2]")
    assert book(attn, tmp_path, "hw.yaml", "form.csv", *mapped) == [("Ada", "Small", "correct")]


EXPORTS = table("class_tables", "EXPORTS")
"""The first rows of exports, each with the one answer of Ada Lovelace.

Canvas: app/models/quizzes/quiz_statistics/student_analysis.rb of instructure/canvas-lms writes a
question as "{id}: {text}", and after it the points. Qualtrics: "Understanding Your Data Set" on
qualtrics.com/support; the row of ImportIds is in many published data sets. For the forms of Google
and Microsoft we found no documentation; the columns of points are as users describe them.
"""


@pytest.mark.parametrize("export", EXPORTS)
def test_exports_need_no_map(export: str, tmp_path: Path) -> None:
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        found = read(EXPORTS[export].encode(encoding), tmp_path)
        assert found == [("Ada Lovelace", {"scores[1,1]": "1"})], encoding


@cases("class_tables", "what_is_read_of_a_table")
def test_the_answers_of_a_table_are_those_of_its_columns(
    table: str, headings: dict[str, str], found: list[dict[str, dict[str, str]]], tmp_path: Path
) -> None:
    expected = [(name, answers) for row in found for name, answers in row.items()]
    assert read(table, tmp_path, headings) == expected


def test_columns_that_name_different_students(tmp_path: Path) -> None:
    table = 'Wer,"Wer noch","scores[1,1]"\nAda Lovelace,Bo Kent,1\nBo Kent,Ada Lovelace,2\n'
    with pytest.raises(attncli.InputError, match="Wer and Wer noch name different students"):
        read(table, tmp_path)
    names = [name for name, _ in read(table, tmp_path, {"Wer noch": "name"})]
    assert names == ["Bo Kent", "Ada Lovelace"]


@cases("class_tables", "of_a_form_that_was_sent_twice_the_later_counts")
def test_of_a_form_that_was_sent_twice_the_later_counts(
    first: str, second: str, counts: str, tmp_path: Path
) -> None:
    table = f'Gesendet um,Name,"scores[1,1]"\n{first},Ada Lovelace,1\n{second},"Lovelace, Ada",2\n'
    ((name, found),) = read(table, tmp_path)
    assert name == "Ada Lovelace"
    if counts:
        assert found == {"scores[1,1]": counts}
    else:
        assert "Ada Lovelace has answers in lines 2 and 3, and no time tells the latest" in found
    same = table.replace(",2\n", ",1\n")
    assert read(same, tmp_path) == [("Ada Lovelace", {"scores[1,1]": "1"})]


@cases("class_tables", "a_table_without_cells_or_names_says_how")
def test_a_table_without_cells_or_names_says_how(
    table: str, message: str, hint: str, attn: Attn, tmp_path: Path
) -> None:
    write(tmp_path, {"hw.yaml": SMALL, "form.csv": table})
    result = attn("check", "hw.yaml", "form.csv", cwd=tmp_path)
    assert result.status == 2
    assert result.err.startswith(message)
    assert result.err.endswith(f"{hint}\n")
    if flags := shlex.split(hint.partition("add --map ")[2].replace(" for each", " |"))[:1]:
        mapped = attn("check", "hw.yaml", "form.csv", "--map", *flags, cwd=tmp_path)
        assert (mapped.status, mapped.err) == (1, "")


@cases("class_tables", "matrices_under_their_keys_are_no_table_of_a_class")
def test_matrices_under_their_keys_are_no_table_of_a_class(text: str, tmp_path: Path) -> None:
    ((_, answers),) = read(text, tmp_path)
    assert isinstance(answers, dict)
    assert [len(row) for row in answers["scores"]] == [2, 2]


def cost_of(people: list[Person], path: Path) -> tuple[float, int]:
    """Return the processor time and the memory that the table of a class with 60 cells takes."""
    heads = [f"Question {n} - scores[{n},{n}] (1 point)" for n in range(1, 61)]
    rows = [",".join(["Timestamp", "Name", *(f'"{head}"' for head in heads)])]
    rows += [f"10:31,{one.name}{',1' * 60}" for one in people]
    path.write_text("\n".join(rows))
    known = KnownClass(who=Roster(people).find)
    start = time.process_time()
    tracemalloc.start()
    found = [isinstance(one, Submission) for _, one in load_each_submission(path, known=known)]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found == [True] * len(people)
    return time.process_time() - start, peak


def test_a_class_takes_time_and_memory_in_proportion_to_its_size(tmp_path: Path) -> None:
    people = [Person(f"Ada{n} Lovelace{n}") for n in range(600)]
    (short, little), (long, much) = (cost_of(people[:n], tmp_path / "form.csv") for n in (150, 600))
    assert long < 10 * short  # 4 times where it is in proportion, 16 times where it is squared
    assert much < 5 * little
