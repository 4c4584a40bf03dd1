"""Tables of classes: exports of forms, quizzes and spreadsheets, with a row per student."""

from __future__ import annotations

import csv
import io
import shlex
import time
import tracemalloc
from collections.abc import Mapping
from pathlib import Path

import pytest

import attncli
from attncli.classroom.assignment import Assignment
from attncli.classroom.name_index import Person, Roster
from attncli.classroom.submissions import load_each_submission
from attncli.reading.csv_blocks import likely_cell, named_cell
from attncli.reading.document import KnownClass, Submission
from tests.conftest import Attn, cases, table

GOOD = "title: Good\nX: [[1, 3, 2], [1, 1, 3], [1, 2, 1]]\nscore: dot\n"
"""Its scores are [[14, 10, 9], [10, 11, 6], [9, 6, 6]]."""

SMALL = "title: Small\nX: [[1, 0], [0, 2]]\nscore: dot\n"
"""Its scores are [[1, 0], [0, 4]]."""

BOTH = f"{GOOD}---\n{SMALL}"

ROSTER = Roster(
    [
        Person("Ada Lovelace", (), ("ada@x.org", "4711")),
        Person("Bo Kent", (), ("bo@x.org", "4712")),
        Person("Zoë Groß", (), ("zg@x.org", "4713")),
    ]
)


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (folder / name).write_text(text)


def book(attn: Attn, folder: Path, *arguments: str) -> list[tuple[str, str, str]]:
    """Return the name, the problem and the verdict of each row of the grade book."""
    out = attn("check", *arguments, "-f", "csv", cwd=folder).out
    rows = csv.DictReader(io.StringIO(out))
    return [(row["name"], row["problem"], row["verdict"]) for row in rows]


def read(
    text: str | bytes,
    folder: Path,
    roster: Roster | None = None,
    headings: Mapping[str, str] | None = None,
) -> list[tuple[str, dict[str, str] | str]]:
    """Return the students of a table, each with the answers or with why there are none."""
    path = folder / "form.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    both = Assignment([attncli.Problem(X=[[1, 0], [0, 2]], title=t) for t in ("Good", "Small")])
    known = KnownClass(headings or {}, roster, lambda said: both.first.names.in_name(said)[0])
    found: list[tuple[str, dict[str, str] | str]] = []
    for said, one in load_each_submission(path, known=known):
        person = roster.find(said) if roster else None
        name = person.name if person else said
        if isinstance(one, Submission):
            own = {key: raw for key, raw in one.matrices.items() if key != "student"}
            found.append((name, own))
        else:
            found.append((name, str(one).replace(str(path), "form.csv")))
    return found


@cases("class_tables", "a_heading_that_is_a_cell")
def test_a_heading_that_is_a_cell(heading: str, cell: str) -> None:
    found = named_cell(heading)
    assert found is not None
    assert found[1] == cell


@pytest.mark.parametrize(
    "heading",
    [
        *("Response 1", "Timestamp", "Score", "Group [A]", "Group [1-4]", "Points", "Value [EUR]"),
        *("How hard, on a scale [1-5]", "Age in [years]", "Comments [optional]", "sum", "Q1_1"),
    ],
)
def test_another_heading_is_skipped(heading: str) -> None:
    assert named_cell(heading) is None
    assert likely_cell(heading) == ""


@cases("class_tables", "a_heading_that_is_nearly_a_cell_is_not_lost")
def test_a_heading_that_is_nearly_a_cell_is_not_lost(
    heading: str, cell: str, attn: Attn, tmp_path: Path
) -> None:
    write(tmp_path, {"hw.yaml": SMALL, "form.csv": f'Name,"scores[1,1]","{heading}"\nAda,1,0\n'})
    assert book(attn, tmp_path, "hw.yaml", "form.csv") == [("Ada", "Small", "unreadable")]
    result = attn("check", "hw.yaml", "form.csv", cwd=tmp_path)
    assert result.err.startswith(f"form.csv:1:20: {heading} is not the name of one cell\n")
    assert result.err.endswith(f"write that, or add --map '{heading}={cell}'\n")
    assert result.status == 2
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
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_exports_need_no_map(export: str, encoding: str, tmp_path: Path) -> None:
    found = read(EXPORTS[export].encode(encoding), tmp_path, ROSTER)
    assert found == [("Ada Lovelace", {"scores[1,1]": "1"})]


def test_the_problem_is_in_front_of_the_cell(tmp_path: Path) -> None:
    heads = [
        "Problem 2: what is scores[1,1]?",
        "P1 scores[1,1]",
        "Small: scores[2,2]",
        "1: weights",
    ]
    table = "Name," + ",".join(f'"{head}"' for head in heads) + "\nAda,1,2,3,4\n"
    ((_, answers),) = read(table, tmp_path)
    keys = ["2: scores[1,1]", "1: scores[1,1]", "2: scores[2,2]", "1: weights"]
    assert answers == dict(zip(keys, "1234", strict=True))


def test_the_number_of_the_homework_is_not_that_of_the_problem(tmp_path: Path) -> None:
    table = 'Name,"HW 2, problem 1: scores[1,1]","Homework 1 - Problem 2 - scores[1,1]"\nAda,1,2\n'
    assert read(table, tmp_path) == [("Ada", {"1: scores[1,1]": "1", "2: scores[1,1]": "2"})]


def test_the_responses_of_a_quiz_of_moodle(tmp_path: Path) -> None:
    """`data_col` of mod/quiz/report/responses writes - for what was not answered."""
    table = (
        'Surname,"First name","Email address",State,"Started on",Completed,Grade/2.00,'
        '"Response 1","Response 2"\n'
        'Lovelace,Ada,a@x.org,Finished,"2 January 2024  8:14 PM","2 January 2024  8:20 PM",1,1,-\n'
        'Lovelace,Ada,a@x.org,"In progress","2 January 2024  9:14 PM",-,-,-,2\n'
        '"Overall average",,,,,,1.00,,\n'
    )
    meanings = {"Response 1": "scores[1,1]", "Response 2": "scores[1,2]"}
    ((name, answers),) = read(table, tmp_path, ROSTER, meanings)
    assert (name, answers) == ("Ada Lovelace", {"scores[1,1]": "", "scores[1,2]": "2"})


def test_with_several_problems_the_way_out_names_the_problem(attn: Attn, tmp_path: Path) -> None:
    files = {
        "hw.yaml": BOTH,
        "form.csv": "Timestamp,Name,Response 1\n20:15,Ada,1\n20:16,Bo,\n",
        "who.csv": 'Timestamp,Wer,"1: scores[1,1]"\n20:15,Ada,1\n20:16,Bo,\n',
    }
    write(tmp_path, files)
    err = attn("check", "hw.yaml", "form.csv", cwd=tmp_path).err
    assert "add --map 'Response 1=1: weights[1,1]' for each, or a file of pairs" in err
    err = attn("check", "hw.yaml", "who.csv", cwd=tmp_path).err
    assert "head it by Name, or add --map Wer=name" in err
    for file, meaning in (("form.csv", "Response 1=1: scores[1,1]"), ("who.csv", "Wer=name")):
        (first, *_) = book(attn, tmp_path, "hw.yaml", file, "--map", meaning)
        assert first == ("Ada", "Good", "wrong")


def test_a_column_may_hold_the_problem(attn: Attn, tmp_path: Path) -> None:
    table = 'Name,Problem,"scores[1,1]"\nAda,1,14\nAda,Small,1\nBo,2,2\n'
    write(tmp_path, {"hw.yaml": BOTH, "form.csv": table})
    rows = book(attn, tmp_path, "hw.yaml", "form.csv")
    assert [verdict for _, _, verdict in rows] == ["correct", "correct", "empty", "wrong"]


def test_rows_of_nobody_in_the_class_are_listed(attn: Attn, tmp_path: Path) -> None:
    roster = "Name,Email\nAda Lovelace,ada@x.org\nBo Kent,bo@x.org\nCy Young,cy@x.org\n"
    table = 'Wer?,"scores[1,1]"\n"Lovelace, Ada",1\nBo Cant,1\n,\n,2\nTotal,2\n'
    long = "name,step,row,column,value\nlovelace ada,scores,1,1,1\nBo Cant,scores,1,1,1\n"
    write(tmp_path, {"hw.yaml": SMALL, "class.csv": roster, "form.csv": table, "long.csv": long})
    flags = ("hw.yaml", "form.csv", "--for", "class.csv")
    result = attn("check", *flags, cwd=tmp_path)
    assert "form.csv:3: this does not tell whose answers it has, perhaps Bo Kent\n" in result.err
    assert "form.csv:5: this does not tell whose answers it has\n" in result.err
    assert [(name, verdict) for name, _, verdict in book(attn, tmp_path, *flags)] == [
        ("Ada Lovelace", "correct"),
        ("form.csv:3", "unreadable"),
        ("form.csv:5", "unreadable"),
        ("Bo Kent", "unreadable"),  # the open row may be that student's
        ("Cy Young", "empty"),
    ]
    attn("check", *flags, "--manifest", "whose.csv", cwd=tmp_path)
    whose = (tmp_path / "whose.csv").read_text()
    whose = whose.replace(",,form.csv:3", "Bo Kent,,form.csv:3")
    (tmp_path / "whose.csv").write_text(whose.replace(",,form.csv:5", "Cy Young,,form.csv:5"))
    rows = book(attn, tmp_path, *flags, "--manifest", "whose.csv")
    assert [verdict for _, _, verdict in rows] == ["correct", "correct", "wrong"]
    rows = book(attn, tmp_path, "hw.yaml", "long.csv", "--for", "class.csv")
    assert rows[:2] == [("Ada Lovelace", "Small", "correct"), ("long.csv:3", "Small", "unreadable")]


def test_of_a_name_and_an_address_one_may_be_wrong(tmp_path: Path) -> None:
    table = (
        'Email,Your name,"scores[1,1]"\nada@x.org,Lovelace Ada,1\nsunny@mail.example,KentBo,2\n'
        "4713,zoe,3\nbo@x.org,Ada Lovelace,4\n"
    )
    found = read(table, tmp_path, ROSTER)
    names = ["Ada Lovelace", "Bo Kent", "Zoë Groß"]
    assert found[:3] == [(n, {"scores[1,1]": f"{i}"}) for i, n in enumerate(names, 1)]
    assert ROSTER.find(found[3][0]) is None  # so that it is listed as open


def test_columns_that_name_different_students(tmp_path: Path) -> None:
    table = 'Wer,"Wer noch","scores[1,1]"\nAda Lovelace,Bo Kent,1\nBo Kent,Ada Lovelace,2\n'
    with pytest.raises(attncli.InputError, match="Wer and Wer noch name different students"):
        read(table, tmp_path, ROSTER)
    names = [name for name, _ in read(table, tmp_path, ROSTER, {"Wer noch": "name"})]
    assert names == ["Bo Kent", "Ada Lovelace"]


@cases("class_tables", "of_a_form_that_was_sent_twice_the_later_counts")
def test_of_a_form_that_was_sent_twice_the_later_counts(
    first: str, second: str, counts: str, tmp_path: Path
) -> None:
    table = f'Gesendet um,Name,"scores[1,1]"\n{first},Ada Lovelace,1\n{second},"Lovelace, Ada",2\n'
    ((name, found),) = read(table, tmp_path, ROSTER)
    assert name == "Ada Lovelace"
    if counts:
        assert found == {"scores[1,1]": counts}
    else:
        assert "Ada Lovelace has answers in lines 2 and 3, and no time tells the latest" in found
    same = table.replace(",2\n", ",1\n")
    assert read(same, tmp_path, ROSTER) == [("Ada Lovelace", {"scores[1,1]": "1"})]


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
    ((_, answers),) = read(text, tmp_path, ROSTER)
    assert isinstance(answers, dict)
    assert [len(row) for row in answers["scores"]] == [2, 2]


def test_one_row_without_a_name_is_one_submission(attn: Attn, tmp_path: Path) -> None:
    write(tmp_path, {"hw.yaml": SMALL, "ada.csv": '"scores[1,1]","scores[1,2]"\n1,0\n'})
    ((_, _, verdict),) = book(attn, tmp_path, "hw.yaml", "ada.csv")
    assert verdict == "correct"


def test_numbers_as_spreadsheets_have_them(attn: Attn, tmp_path: Path) -> None:
    cells = {"'0,73": "correct", "73%": "correct", "0.5": "wrong", "1,234.5": "unreadable"}
    rows = "".join(f'S{n},"{cell}"\n' for n, cell in enumerate(cells))
    write(tmp_path, {"hw.yaml": SMALL, "form.csv": f'Name,"weights[1,1]"\n{rows}'})
    verdicts = [verdict for _, _, verdict in book(attn, tmp_path, "hw.yaml", "form.csv")]
    assert verdicts == [*cells.values()]
    result = attn("check", "hw.yaml", "form.csv", cwd=tmp_path)
    assert "form.csv:5:4: weights[1,1]: 1,234.5 may mean several numbers" in result.err


def test_a_large_class_takes_little_time_and_memory(tmp_path: Path) -> None:
    heads = [f"Question {n} - scores[{n},{n}] (1 point)" for n in range(1, 61)]
    table = "Timestamp,Name," + ",".join(f'"{head}"' for head in heads) + "\n"
    people = [Person(f"Ada{n} Lovelace{n}") for n in range(3000)]
    table += "".join(f"10:31,{one.name}{',1' * 60}\n" for one in people)
    path = tmp_path / "form.csv"
    path.write_text(table)
    known = KnownClass(roster=Roster(people))
    start = time.process_time()
    tracemalloc.start()
    count = sum(isinstance(one, Submission) for _, one in load_each_submission(path, known=known))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 3000
    assert peak < 60 * 2**20
    assert time.process_time() - start < 30


FORM = """\
\ufeffTimestamp;First name;Surname;Question 1;"Question\n2";Question 3
22.11.2026 20:14:07;Ada;Lovelace;1,00;0,0;4
22.11.2026 20:15:00;Bo;;1;;5
;Cy;Young;;;
"""
MEANINGS = {"question 1": "scores[1,1]", "Question 2": "scores[1,2]", "Question 3": "scores[2,2]"}


def test_the_export_of_a_form_is_read_with_its_own_headings(attn: Attn, tmp_path: Path) -> None:
    pairs = "".join(f'{heading},"{cell}"\n' for heading, cell in MEANINGS.items())
    mapping = "".join(f"{heading}: {cell}\n" for heading, cell in MEANINGS.items())
    write(tmp_path, {"hw.yaml": SMALL, "form.csv": FORM, "map.csv": pairs, "map.yaml": mapping})
    flags = [text for pair in MEANINGS.items() for text in ("--map", "=".join(pair))]
    expected = [("Ada Lovelace", "correct"), ("Bo", "wrong"), ("Cy Young", "empty")]
    for said in (flags, ["--map", "map.csv"], ["--map", "map.yaml"]):
        rows = book(attn, tmp_path, "hw.yaml", "form.csv", *said)
        assert rows == [(name, "Small", verdict) for name, verdict in expected]
    result = attn("check", "hw.yaml", "form.csv", "--map", "Question 4=scores[1,1]", cwd=tmp_path)
    assert result.status == 2
    assert "form.csv:1: no column is headed Question 4" in result.err
    for wrong in (
        ["--map", "scores"],
        [*flags, "--map", "Question 1=V[1,1]", "--map", "Question 1=K"],
    ):
        result = attn("check", "hw.yaml", "form.csv", *wrong, cwd=tmp_path)
        assert (result.status, result.out) == (2, "")
        assert result.err.startswith("--map ")


def test_a_comma_in_a_column_of_one_cell_is_a_decimal_comma(attn: Attn, tmp_path: Path) -> None:
    form = (
        'Timestamp,Name,"weights[1,1]","weights[1,2]","sum[2]"\n'
        '"01.02.2024 20:14:11",Ada,"0,73","0,27","55,60"\n'
        '"01.02.2024 20:15:30",Bo,"0,27","0,73","55,60"\n'
    )
    long = 'name,step,row,column,value\nAda,weights,1,1,"0,73"\nBo,weights,1,1,"0,37"\n'
    write(tmp_path, {"hw.yaml": SMALL, "form.csv": form, "long.csv": long})
    for name in ("form.csv", "long.csv"):
        rows = book(attn, tmp_path, "hw.yaml", name)
        assert rows == [("Ada", "Small", "correct"), ("Bo", "Small", "wrong")]
    doubtful = 'Name,"exp[2,2]","weights[1]"\nAda,"1,202",\nBo,,"0,73"\n'
    write(tmp_path, {"doubtful.csv": doubtful})
    told = attn("check", "hw.yaml", "doubtful.csv", cwd=tmp_path).err
    assert "0,73 may mean several numbers; write 0.73 or 0, 73 with a blank" in told


def test_a_table_of_several_problems(attn: Attn, tmp_path: Path) -> None:
    wide = 'Name,"1: scores[1,1]","Small: scores[2,2]"\nAda,14,4\nBo,,5\n"=Cy",15,\n'
    long = "student,problem,step,row,column,value\nAda,1,scores,1,1,14\nAda,2,scores,2,2,4\n"
    long += "Bo,Small,scores,2,2,5\n=Cy,1,scores,1,1,15\n"
    write(tmp_path, {"hw.yaml": BOTH, "wide.csv": wide, "long.csv": long})
    expected = [
        *[("Ada", "Good", "correct"), ("Ada", "Small", "correct")],
        *[("Bo", "Good", "empty"), ("Bo", "Small", "wrong")],
        *[("'=Cy", "Good", "wrong"), ("'=Cy", "Small", "empty")],
    ]
    assert book(attn, tmp_path, "hw.yaml", "wide.csv") == expected
    assert book(attn, tmp_path, "hw.yaml", "long.csv") == expected
    (tmp_path / "wide.csv").write_text('Name,"1: scores[1,1]","scores[2,2]"\nAda,14,4\n')
    result = attn("check", "hw.yaml", "wide.csv", cwd=tmp_path)
    assert result.status == 2
    said = "wide.csv:1:23: scores[2,2] does not tell of which of the 2 problems it is"
    assert said in result.err
    (tmp_path / "wide.csv").write_text('Name,"1: scores[1,1]","3: scores[2,2]"\nAda,14,4\n')
    result = attn("check", "hw.yaml", "wide.csv", cwd=tmp_path)
    assert (result.status, said in result.err) == (2, True)
