"""Workbooks of Excel: problems and answers are read from them as the same numbers in text are."""

from __future__ import annotations

import io
import json
import re
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl.utils.cell import coordinate_to_tuple

import attncli
from attncli.checking.check import AnswerKey, Report
from attncli.core.errors import InputError
from attncli.reading.document import KnownClass, Submission, submission_of
from attncli.reading.sheets import documents_of
from attncli.reading.submissions import load_answers, load_each_submission
from attncli.reading.workbook import class_table, number_text
from tests.conftest import DATA, SAMPLE_FILES, SAMPLES, TYPICAL_SAMPLES, Attn, cases, table
from tests.reading.forms import plain, refusal_of
from tests.reading.test_zip_files import zipped

Cells: TypeAlias = Sequence[Sequence[Any]]


def put(sheet: Any, row: int, column: int, cells: Cells) -> None:
    """Write cells; a text that is a decimal number as a number that is shown with its digits."""
    for y, line in enumerate(cells, row):
        for x, value in enumerate(line, column):
            if value is None:
                continue
            cell = sheet.cell(y, x, value)
            if value == "=":
                cell.data_type = "s"
            if isinstance(value, str) and re.fullmatch(r"-?\d+(\.\d+)?", value):
                decimals = len(value.partition(".")[2])
                cell.value = float(value)
                cell.number_format = f"0.{'0' * decimals}" if decimals else "0"


def book(path: Path, *sheets: Mapping[str, Any], names: Sequence[str] = ()) -> Path:
    """Write sheets of cells by their names, such as {"B2": "X"}."""
    workbook = openpyxl.Workbook()
    for number, cells in enumerate(sheets):
        sheet = workbook.create_sheet(names[number] if names else None)
        for name, value in cells.items():
            put(sheet, *coordinate_to_tuple(name), value if isinstance(value, list) else [[value]])
    workbook.remove(workbook.worksheets[0])
    workbook.save(path)
    return path


@cases("workbooks", "shown")
def test_a_number_is_read_as_it_is_shown(value: float, code: str, text: str) -> None:
    assert number_text(value, code) == text


# Layouts of students.

BELOW_EACH_OTHER: dict[str, Callable[[str, Cells], list[tuple[int, int, Cells]]]] = {
    "names on top": lambda name, cells: [(0, 2, [[name], *cells])],
    "names beside": lambda name, cells: [(0, 1, [[name]]), (0, 2, cells)],
    "names above": lambda name, cells: [(0, 1, [[f"{name} = see my notes"]]), (2, 1, cells)],
    "with operands": lambda name, cells: [
        (0, 1, [["A", None], [0.25, 0.5]]),
        (1, 4, [["×"]]),
        (0, 6, [["B"], [4], [7]]),
        (1, 8, [["="]]),
        (0, 10, [[name], *cells]),
    ],
}
"""What is written for a matrix: each part with its row, counted from that matrix's first one, and
its column."""

LAYOUTS = (*BELOW_EACH_OTHER, "side by side", "on sheets")


def laid_out(layout: str, matrices: Mapping[str, Cells]) -> Any:
    """Return a workbook with named matrices."""
    workbook: Any = openpyxl.Workbook()
    row = column = 1
    for name, cells in matrices.items():
        if layout == "on sheets":
            put(workbook.create_sheet(f"{len(workbook.sheetnames)}. step"), 3, 3, [[name], *cells])
        elif layout == "side by side":
            put(workbook.active, 1, column, [[name], *cells])
            column += len(cells[0]) + 1
        else:
            parts = BELOW_EACH_OTHER[layout](name, cells)
            for below, at, part in parts:
                put(workbook.active, row + below, at, part)
            row += max(below + len(part) for below, _, part in parts) + 1
    if layout == "on sheets":
        workbook.remove(workbook.active)
    return workbook


def named_matrices(answers: Mapping[str, Any]) -> Iterator[tuple[str, Cells]]:
    """Yield the matrices of answers as they are written on paper; heads as `scores[1]`."""
    for name, rows in answers.items():
        if isinstance(rows, list) and rows and all(map(is_table, rows)):
            yield from ((f"{name}[{n}]", part) for n, part in enumerate(rows, 1))
        else:
            yield name, rows


def is_table(rows: Any) -> bool:
    """Whether rows are texts of equal number, as a table has them."""
    if not (isinstance(rows, list) and rows and all(isinstance(row, list) and row for row in rows)):
        return False
    return len({len(row) for row in rows}) == 1 and all(
        isinstance(cell, str) and cell.strip() for row in rows for cell in row
    )


def recorded_answers() -> Iterator[tuple[dict[str, Any], dict[str, Cells]]]:
    """Yield recorded submissions whose answers can be written into cells, with their matrices.

    Those with the step `gate` are left out: a block of that name is read as the key of a problem.
    """
    for path in sorted((DATA / "submissions").glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            case = json.loads(line)
            matrices = dict(named_matrices(case["answers"]))
            is_written = "dtype" not in case and "gate" not in case["answers"]
            if is_written and matrices and all(map(is_table, matrices.values())):
                yield case, matrices


def outcome(report: Report) -> object:
    steps = {name: (step.status, step.counts) for name, step in report.steps.items()}
    return report.verdict, steps, {name: one.message for name, one in report.findings.items()}


@pytest.mark.parametrize("number", [1, pytest.param(34, marks=pytest.mark.whole)])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_workbooks_of_students_are_judged_as_their_numbers_are(
    layout: str, number: int, tmp_path: Path
) -> None:
    own = islice(recorded_answers(), LAYOUTS.index(layout), None, len(LAYOUTS))
    judged = 0
    for case, matrices in islice(own, number):
        laid_out(layout, matrices).save(tmp_path / "hw.xlsx")
        (answers,) = load_answers(tmp_path / "hw.xlsx")
        key, strict = AnswerKey(attncli.Problem(**case["problem"])), case.get("strict", False)
        as_text = submission_of(case["answers"], "student")
        assert outcome(key.check(answers, strict)) == outcome(key.check(as_text, strict)), case
        judged += 1
    assert judged == number


# What is in a workbook.

WITH_STEPS = table("workbooks", "with_steps")


def answers_in(path: Path) -> dict[str, Any]:
    (answers,) = load_answers(path)
    return dict(answers.answers)


def test_a_workbook_with_steps_is_read_as_its_problem_and_as_answers(
    tmp_path: Path, attn: Attn
) -> None:
    path = book(tmp_path / "hw.xlsx", WITH_STEPS)
    problem = attncli.load(path)
    assert {*problem.given} == {"title", "tokens", "X", "W_q", "score", "mask"}
    assert (problem.title, problem.tokens) == ("Two words", ("I", "am"))
    assert (problem.score, problem.mask) == ({"name": "dot"}, {"causal": True})
    assert (plain(problem.X), plain(problem.W_q)) == ([[1, 0], [0.5, 1 / 3]], [[1, 2], [0, 1]])
    answers = answers_in(path)
    assert [*answers] == ["Q", "K", "scores"]
    assert answers["scores"] == [["1.00", "1.17"], ["0.50", "0.69"]]
    assert attn("check", path, path).status == 0


@pytest.mark.parametrize("cells", table("workbooks", "names"), ids=str)
def test_a_matrix_is_named_in_many_ways(cells: dict[str, Any], tmp_path: Path) -> None:
    ((name, rows),) = answers_in(book(tmp_path / "hw.xlsx", cells)).items()
    assert name.casefold().rstrip(":") == "weights"
    assert rows == [["0.3", "0.7"]]


@cases("workbooks", "means")
def test_texts_infinity_and_truths_are_read_as_in_other_files(
    cells: dict[str, Any], means: dict[str, Any], tmp_path: Path
) -> None:
    problem = attncli.load(book(tmp_path / "hw.xlsx", cells))
    assert {key: plain(getattr(problem, key)) for key in means} == means


@cases("workbooks", "refused")
def test_what_is_wrong_in_a_workbook_has_its_cell(
    cells: dict[str, Any], said: str, tmp_path: Path
) -> None:
    data = book(tmp_path / "hw.xlsx", cells, names=["S"]).read_bytes()
    assert said in str(refusal_of(tmp_path, data, ".xlsx"))


def test_sheets_are_problems_or_parts_of_one(tmp_path: Path) -> None:
    one, two = {"A1": [["X"], [1, 0]]}, {"A1": [["X"], [1, 0], [0, 1]]}
    several = book(tmp_path / "two.xlsx", one, two, names=["First", "Second"])
    assert [problem.title for problem in attncli.load_all(several)] == ["First", "Second"]
    together = book(tmp_path / "one.xlsx", two, {}, {"C4": [["W_q"], [1, 2], [3, 4]]})
    assert plain(attncli.load(together).W_q) == [[1, 2], [3, 4]]
    answers = book(
        tmp_path / "ann.xlsx",
        {"A1": [["scores"], [1, 0], [0, 1]]},
        {"A1": [["scores"], [2]], "D1": [["comment", "guessed"]]},
        names=["Second", "First"],
    )
    read = load_each_submission(answers, known=KnownClass(which={"First": 0, "Second": 1}.get))
    assert [(one.problem, one.comment) for _, one in read if isinstance(one, Submission)] == [
        ("Second", ""),
        ("First", "guessed"),
    ]


SCORES = {"A1": "Ann Lee", "A2": [["scores"], [1, 0], [0, 1]]}


def test_a_workbook_is_read_wherever_a_file_is(tmp_path: Path, attn: Attn) -> None:
    def out(*words: str, stdin: bytes = b"") -> str:
        return attn(*words, stdin=stdin, cwd=tmp_path).out

    (tmp_path / "hw.yaml").write_text("X: x.xlsx\nscore: dot\n")
    book(tmp_path / "x.xlsx", {"C3": [[1, 0], [0, 1]]})
    assert out("compute", "hw.yaml", "--only", "scores", "-f", "csv") == "1,0\n0,1\n"
    assert out("compute", "x.xlsx", "--only", "Q", "-f", "csv") == "1,0\n0,1\n"
    data = book(tmp_path / "ann.xlsx", SCORES).read_bytes()
    assert "Ann Lee" in out("check", "hw.yaml", "-", stdin=data)
    for student in ("Bo", "Cy"):
        (tmp_path / "class" / student).mkdir(parents=True)
    data = book(tmp_path / "class/Bo/hw.xlsx", {"A2": SCORES["A2"]}).read_bytes()
    (tmp_path / "class/Cy/hw.xlsm").write_bytes(data)
    assert "2 answers: 2 correct" in out("check", "hw.yaml", "class")
    (tmp_path / "class.zip").write_bytes(zipped({"class/Bo/hw.xlsx": data}))
    assert "correct: 4 numbers" in out("check", "hw.yaml", "class.zip")
    rows = [["Name", "scores[1,1]", "scores[1,2]"], ["Ann", 1, 0], ["Bo", 1, 2]]
    book(tmp_path / "table.xlsx", {"B2": rows})
    assert "2 answers: 1 correct, 1 wrong" in out("check", "hw.yaml", "table.xlsx")
    book(tmp_path / "roster.xlsx", {"A1": [["Name"], ["Ann"], ["Bo"], ["Cy"]]})
    assert "Cy" in out("check", "hw.yaml", "table.xlsx", "--for", "roster.xlsx")


def test_openpyxl_is_named_where_it_is_missing(
    tmp_path: Path, attn: Attn, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = book(tmp_path / "hw.xlsx", WITH_STEPS)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    result = attn("compute", path)
    assert result.status == 2
    assert "pip install openpyxl XlsxWriter, or with pipx" in result.err


# Hostile files


def changed(path: Path, sheet: bytes, styles: bytes = b"") -> Path:
    """Write a workbook whose only sheet has other rows in XML."""
    empty = io.BytesIO()
    openpyxl.Workbook().save(empty)
    space = b'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    with (
        zipfile.ZipFile(empty) as before,
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as after,
    ):
        for name in before.namelist():
            data = before.read(name)
            if name.endswith("sheet1.xml"):
                start, end = sheet.split(b"<>") if b"<>" in sheet else (b"", sheet)
                data = start + b"<worksheet %s><dimension ref='A1:XFD1048576'/>" % space
                data += b"<sheetData>%s</sheetData></worksheet>" % end
            if name.endswith("styles.xml"):
                data = data.replace(b"</cellXfs>", styles + b"</cellXfs>")
            after.writestr(name, data)
    return path


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "damaged, or is none"),
        (b"<html><table>", "damaged, or is none"),
        (b"PK\x03\x04", "damaged, or is none"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "is locked by a password, or an old .xls"),
        (zipped({"hw.yaml": "X: [[1]]"}), "damaged, or is none"),
        (zipped({"a.xml": "x"}, zipfile.ZIP_LZMA), "packed by an uncommon method"),
    ],
)
def test_files_that_are_no_workbooks_are_refused(data: bytes, message: str, tmp_path: Path) -> None:
    assert message in str(refusal_of(tmp_path, data, ".xlsx"))


def test_formulas_and_control_characters_are_texts(attn: Attn, tmp_path: Path) -> None:
    texts = [b"=cmd|'/c calc'!A1", b'=HYPERLINK("http://x")', b"_x001B_[31mred and blue"]
    rows = (
        b'<row r="%d"><c t="inlineStr"><is><t>%s</t></is></c></row>' % (2 * n, t)
        for n, t in enumerate(texts, 5)
    )
    matrix = b'<row><c t="inlineStr"><is><t>output</t></is></c></row><row><c><v>1</v></c></row>'
    (tmp_path / "hw.yaml").write_text("X: [[1]]")
    result = attn(
        "check", tmp_path / "hw.yaml", changed(tmp_path / "ann.xlsx", matrix + b"".join(rows))
    )
    assert result.status == 0
    assert "\x1b" not in result.out
    assert "red and blue" in result.out


# Workbooks that the program writes


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=() if path in TYPICAL_SAMPLES[:4] else pytest.mark.whole)
        for path in SAMPLE_FILES
    ],
    ids=lambda path: path.stem,
)
def test_a_written_workbook_is_read_again(path: Path, attn: Attn, tmp_path: Path) -> None:
    workbook = tmp_path / "hw.xlsx"
    attn("compute", path, "-o", workbook)
    again, before = (json.loads(attn("compute", one, "-f", "json").out) for one in (workbook, path))
    assert [(name, step["value"]) for name, step in again["steps"].items()] == [
        (name, step["value"]) for name, step in before["steps"].items()
    ]
    result = attn("check", path, workbook)
    assert (result.status, "skipped" in result.out) == (0, False)


def test_a_worksheet_with_nothing_written_is_empty(attn: Attn, tmp_path: Path) -> None:
    problem, sheet = tmp_path / "hw.yaml", tmp_path / "sheet.xlsx"
    problem.write_text("Q: [[1, 0]]\nK: [[1, 2]]\nV: [[3, 1]]\n")
    attn("worksheet", problem, "-o", sheet)
    result = attn("check", problem, sheet)
    assert (result.status, result.out.splitlines()[-1]) == (1, "empty: nothing was given")


def test_tokens_that_are_signs_or_formulas_are_read_again(attn: Attn, tmp_path: Path) -> None:
    problem = tmp_path / "hw.yaml"
    tokens = ["Hi", "!", "=1+1", "@SUM", "😀"]
    problem.write_text(json.dumps({"tokens": tokens, "X": [[n, 1] for n in range(5)]}))
    attn("compute", problem, "-o", tmp_path / "hw.xlsx")
    assert attncli.load(tmp_path / "hw.xlsx").tokens == tuple(tokens)


PLACES = st.tuples(st.integers(1, 9), st.integers(1, 9))
WORDS = st.sampled_from(table("workbooks", "words"))


@settings(max_examples=100)
@given(
    st.dictionaries(PLACES, WORDS, min_size=1, max_size=60), st.sampled_from([None, KnownClass()])
)
def test_any_cells_are_read_or_refused(
    cells: dict[tuple[int, int], str], known: KnownClass | None
) -> None:
    with suppress(InputError):
        documents_of([("S", cells)], "hw.xlsx", {"student": False, "score": False}, known)
    found = class_table(("S", cells), "hw.xlsx")
    assert {text for row in found.rows for text in row.cells} - {""} == {*cells.values()}


@cases("workbooks", "judged")
def test_mistakes_of_layout_are_forgiven(
    sheets: dict[str, Cells], said: str, attn: Attn, tmp_path: Path
) -> None:
    cells = ({"A1": rows} for rows in sheets.values())
    path = book(tmp_path / "ann.xlsx", *cells, names=[*sheets])
    result = attn("check", SAMPLES / "i_am_good.yaml", path)
    assert said in result.out + result.err
    assert ("correct: 9 numbers" in result.out) == ("belong to no matrix" not in said)
