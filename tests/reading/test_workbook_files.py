"""Workbooks of Excel: problems and answers are read from them as the same numbers in text are."""

from __future__ import annotations

import io
import json
import re
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

import openpyxl
import pytest
from openpyxl.utils.cell import coordinate_to_tuple

import attncli
from attncli.checking.check import AnswerKey
from attncli.classroom.submissions import load_answers, load_each_submission
from attncli.core.errors import InputError
from attncli.reading.document import KnownClass, Submission
from attncli.reading.sheets import documents_of
from attncli.reading.workbooks import class_table, number_text
from tests.checking.test_recorded_submissions import SURVEYS, cases_of, said
from tests.conftest import SAMPLE_FILES, SAMPLES, Attn
from tests.reading.test_zip_files import zipped
from tests.support import truth

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


def saved(workbook: Any, path: Path) -> Path:
    workbook.save(path)
    return path


# Layouts of students: each writes named matrices into a workbook.

Named: TypeAlias = Mapping[str, Cells]


def below_each_other(workbook: Any, matrices: Named) -> None:
    row = 2
    for name, cells in matrices.items():
        put(workbook.active, row, 2, [[name], *cells])
        row += len(cells) + 2


def side_by_side(workbook: Any, matrices: Named) -> None:
    column = 1
    for name, cells in matrices.items():
        put(workbook.active, 1, column, [[name], *cells])
        column += len(cells[0]) + 1


def names_beside(workbook: Any, matrices: Named) -> None:
    row = 1
    for name, cells in matrices.items():
        put(workbook.active, row, 1, [[name]])
        put(workbook.active, row, 2, cells)
        row += len(cells) + 1


def names_above(workbook: Any, matrices: Named) -> None:
    row = 1
    for name, cells in matrices.items():
        put(workbook.active, row, 1, [[f"{name} = see my notes"]])
        put(workbook.active, row + 2, 1, cells)
        row += len(cells) + 4


def with_operands(workbook: Any, matrices: Named) -> None:
    row = 1
    for name, cells in matrices.items():
        put(workbook.active, row, 1, [["A", None], [0.25, 0.5]])
        put(workbook.active, row + 1, 4, [["×"]])
        put(workbook.active, row, 6, [["B"], [4], [7]])
        put(workbook.active, row + 1, 8, [["="]])
        put(workbook.active, row, 10, [[name], *cells])
        row += max(len(cells), 3) + 2


def on_sheets(workbook: Any, matrices: Named) -> None:
    for name, cells in matrices.items():
        put(workbook.create_sheet(f"{len(workbook.sheetnames)}. step"), 3, 3, [[name], *cells])
    workbook.remove(workbook.active)


LAYOUTS = (below_each_other, side_by_side, names_beside, names_above, with_operands, on_sheets)


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


def test_workbooks_of_students_are_judged_as_their_numbers_are(tmp_path: Path) -> None:
    count = 0
    for case in chain(*map(cases_of, SURVEYS)):
        matrices = dict(named_matrices(case["answers"]))
        if (
            "dtype" in case
            or not matrices
            or not all(map(is_table, matrices.values()))
            or count == 204
        ):
            continue
        layout = LAYOUTS[count % len(LAYOUTS)]
        workbook = openpyxl.Workbook()
        layout(workbook, matrices)
        path = saved(workbook, tmp_path / "hw.xlsx")
        (answers,) = load_answers(path)
        report = AnswerKey(attncli.Problem(**case["problem"])).check(
            answers, case.get("strict", False)
        )
        beside = truth.judged({"truth": {"rounding": "any"}} | case)[0]
        assert said(report) == said(beside), (layout.__name__, case)
        count += 1
    print(count)
    assert count >= 200


# What a cell shows


@pytest.mark.parametrize(
    ("value", "code", "text"),
    [
        (1 / 3, "General", "0.3333333333333333"),
        (0.1 + 0.2, "General", "0.3"),
        (3, "General", "3"),
        (0.3333, "0.00", "0.33"),
        (2.5, "0", "3"),
        (0.125, "0.00", "0.13"),
        (12345.678, "#,##0.00", "12345.68"),
        (-12345.678, "#,##0.00_);[Red](#,##0.00)", "-12345.68"),
        (0.00012, "0.00E+00", "1.20e-04"),
        (0.3333, "0.0%", "33.3%"),
        (-0.5, "+0.00;-0.00", "-0.50"),
        (-0.5, "0.0;[Red]-0.000", "-0.500"),
        (0.5, "0.00_)", "0.50"),
        (0.5, '0.00" cm"', "0.50"),
        (0.5, "0.0##", "0.5"),
        (0.3333, "# ?/?", "0.3333"),
        (12345.678, "0.0,", "12345.678"),
        (12345.678, "##0.0E+0", "12345.678"),
        (0.25, ";;;", "0.25"),
        (-1e300, "General", "-inf"),
    ],
)
def test_a_number_is_read_as_it_is_shown(value: float, code: str, text: str) -> None:
    assert number_text(value, code) == text


def book(path: Path, *sheets: Mapping[str, Any], names: Sequence[str] = ()) -> Path:
    """Write sheets of cells by their names, such as {"B2": "X"}."""
    workbook = openpyxl.Workbook()
    for number, cells in enumerate(sheets):
        sheet = workbook.create_sheet(names[number] if names else None)
        for name, value in cells.items():
            put(sheet, *place(name), value if isinstance(value, list) else [[value]])
    workbook.remove(workbook.worksheets[0])
    return saved(workbook, path)


def place(name: str) -> tuple[int, int]:
    return coordinate_to_tuple(name)


WRITTEN = {
    "A1": [["title", "Two words"], ["score", "dot"], ["mask", "causal"]],
    "A5": [["X"], [None, "a", "b"], ["I", 1, 0], ["am", 0.5, 1 / 3]],
    "E5": [["W_q"], [1, 2], [0, 1]],
    "A10": "Q = X W_q",
    "A12": [["X"], [None, "a", "b"], ["I", 1, 0], ["am", 0.5, 1 / 3]],
    "D14": "×",
    "E12": [["W_q"], [1, 2], [0, 1]],
    "G14": "=",
    "H12": [["Q"], ["I", "1.00", "2.00"], ["am", "0.50", "1.33"]],
    "A18": "K = X",
    "A20": [["K"], ["I", 1, 0], ["am", "0.50", "0.33"]],
    "A24": "scores = Q Kᵀ",
    "A26": [["Q"], ["I", "1.00", "2.00"], ["am", "0.50", "1.33"]],
    "D27": "·",
    "E26": [["Kᵀ"], [1, "0.50"], [0, "0.33"]],
    "G27": "=",
    "H26": [["scores"], ["I", "1.00", "1.17"], ["am", "0.50", "0.69"]],
}
"""A workbook with the inputs of a problem, and below them its steps with their operands."""


def numbers(array: Any) -> Any:
    return array.tolist()


def test_a_workbook_with_steps_is_read_as_its_problem(tmp_path: Path) -> None:
    problem = attncli.load(book(tmp_path / "hw.xlsx", WRITTEN))
    assert (problem.title, problem.score, problem.mask) == (
        "Two words",
        {"name": "dot"},
        {"causal": True},
    )
    assert problem.tokens == ("I", "am")
    assert numbers(problem.X) == [[1, 0], [0.5, 1 / 3]]
    assert numbers(problem.W_q) == [[1, 2], [0, 1]]
    assert problem.Q is None
    assert problem.K is None
    assert problem.scores is None


def test_a_workbook_with_steps_is_read_as_answers(tmp_path: Path, attn: Attn) -> None:
    path = book(tmp_path / "hw.xlsx", WRITTEN)
    (answers,) = load_answers(path)
    assert list(answers.answers) == ["Q", "K", "scores"]
    assert answers.answers["scores"] == [["1.00", "1.17"], ["0.50", "0.69"]]
    assert attn("check", path, path).status == 0


def keys(path: Path) -> dict[str, Any]:
    (answers,) = load_answers(path)
    return dict(answers.answers)


@pytest.mark.parametrize(
    "cells",
    [
        {"C3": [["weights"], ["0.3", "0.7"]]},
        {"C3": [[None, "weights"], ["0.3", "0.7"]]},
        {"C3": [["weights", "0.3", "0.7"]]},
        {"C3": [["weights", "a", "b"], ["x", "0.3", "0.7"]]},
        {"C3": [["weights", "0.3", "0.7"]], "C1": "My homework"},
        {"C3": "Weights:", "C5": [["0.3", "0.7"]]},
        {"C3": "weights = softmax(scores)", "C5": [["a", "b"], ["0.3", "0.7"]]},
        {"C3": "weights", "D3": "=", "E3": [["0.3", "0.7"]]},
        {
            "C3": "weights",
            "D3": "=",
            "E3": [[2, 3]],
            "G3": "/",
            "H3": 7,
            "I3": "=",
            "J3": [["0.3", "0.7"]],
        },
        {"C3": [["Homework 3"], ["Step 5"], ["weights"], ["0.3", "0.7"]]},
    ],
)
def test_names_of_matrices(cells: Mapping[str, Any], tmp_path: Path) -> None:
    (only,) = keys(book(tmp_path / "hw.xlsx", cells)).items()
    assert only[0].casefold().rstrip(":") == "weights"
    assert only[1] == [["0.3", "0.7"]]


def test_texts_errors_and_truths(tmp_path: Path, attn: Attn) -> None:
    path = book(tmp_path / "hw.xlsx", {"A1": [["X"], ["1/3", "0,5"], ["√2", 1]]})
    assert numbers(attncli.load(path).X) == [[1 / 3, 0.5], [2**0.5, 1]]
    path = book(
        tmp_path / "m.xlsx",
        {"A1": [["X"], [1, 2], [3, 4]], "D1": [["mask"], [True, False], [True, True]]},
    )
    assert attn("compute", path, "--only", "weights", "-f", "csv").out.startswith("1,0\n")
    path = book(
        tmp_path / "b.xlsx", {"A1": [["X"], [1], [2]], "D1": [["bias"], [0, -1e300], [0, 0]]}
    )
    assert attn("compute", path, "--only", "weights", "-f", "csv").out.startswith("1,0\n")


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({"B2": [["X"], [1, "a1"]]}, "sheet S, cell C3: row 1, column 2 of X: a1 is not a number"),
        ({"B2": [["X"], [1, "#DIV/0!"]]}, "sheet S, cell C3: row 1, column 2 of X: #DIV/0! is not"),
        (
            {"B2": [["X"], ["#NUM!", "#N/A"]]},
            "sheet S, cell B3: row 1, column 1 of X: #NUM! is not",
        ),
        (
            {"B2": [["X"], [1, date(2024, 2, 1)]]},
            "cell C3: row 1, column 2 of X: 2024-02-01 is a date",
        ),
        (
            {"B2": [["X"], [1]], "E7": [["X"], [2]]},
            "cell E7: X is written twice, first in sheet S, cell B2",
        ),
        ({"B2": [["X"], [1]], "E7": [[5]]}, "sheet S, cell E7: these numbers belong to no matrix"),
        ({"B2": [["X"], [1]], "E7": [["foo"], [5]]}, "sheet S, cell E7: unknown key foo"),
        ({"B2": [["X"], [1, "=1+1"]]}, "the formula in cell C3 was never calculated\n  open it in"),
        ({"B2": "X"}, "the workbook holds no matrix under a name"),
    ],
)
def test_messages(cells: Mapping[str, Any], message: str, attn: Attn, tmp_path: Path) -> None:
    result = attn("compute", book(tmp_path / "hw.xlsx", cells, names=["S"]))
    assert (result.status, result.out) == (2, "")
    assert message in result.err
    assert "Traceback" not in result.err


def test_sheets(tmp_path: Path, attn: Attn) -> None:
    one, two = {"A1": [["X"], [1, 0]]}, {"A1": [["X"], [1, 0], [0, 1]]}
    several = book(tmp_path / "two.xlsx", one, two, names=["First", "Second"])
    assert [problem.title for problem in attncli.load_all(several)] == ["First", "Second"]
    together = book(tmp_path / "one.xlsx", two, {}, {"C4": [["W_q"], [1, 2], [3, 4]]})
    assert numbers(attncli.load(together).W_q) == [[1, 2], [3, 4]]
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


def test_wherever_a_file_is_read(tmp_path: Path, attn: Attn) -> None:
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
    path = book(tmp_path / "hw.xlsx", WRITTEN)
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
        (zipped({f"{n}.xml": "" for n in range(1001)}), "1,001 files, and at most 1,000"),
        (zipped({"a.xml": "x"}, zipfile.ZIP_LZMA), "packed by an uncommon method"),
    ],
)
def test_files_that_are_no_workbooks(data: bytes, message: str, attn: Attn, tmp_path: Path) -> None:
    (tmp_path / "hw.xlsx").write_bytes(data)
    result = attn("compute", tmp_path / "hw.xlsx")
    assert result.status == 2
    assert message in result.err
    assert "Traceback" not in result.err


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


@pytest.mark.parametrize("path", SAMPLE_FILES, ids=lambda path: path.stem)
def test_a_written_workbook_is_read_again(path: Path, attn: Attn, tmp_path: Path) -> None:
    workbook = tmp_path / "hw.xlsx"
    attn("compute", path, "-o", workbook)
    (again,), (before,) = (
        [json.loads(line) for line in attn("compute", one, "-f", "json").out.splitlines()]
        for one in (workbook, path)
    )
    assert [(name, step["value"]) for name, step in again["steps"].items()] == [
        (name, step["value"]) for name, step in before["steps"].items()
    ]
    result = attn("check", path, workbook)
    assert (result.status, "skipped" in result.out) == (0, False)


WORDS = [
    "X",
    "W_q",
    "Q",
    "scores",
    "weights",
    "a",
    "student",
    "Ann",
    "score",
    "dot",
    "=",
    "×",
    "(",
    ")",
    "+",
    "−∞",
    "0.5",
    "1",
    "1/2",
    "#NUM!",
    "?",
    "~",
    "steps",
]


@pytest.mark.parametrize("known", [None, KnownClass()])
def test_any_cells_are_read_or_refused(known: KnownClass | None) -> None:
    draw = Random(1)
    for _ in range(300):
        size = draw.randint(1, 12)
        cells = {
            (draw.randint(1, size), draw.randint(1, size)): draw.choice(WORDS)
            for _ in range(draw.randint(1, size * size))
        }
        with suppress(InputError):
            documents_of([("S", cells)], "hw.xlsx", {"student": False, "score": False}, known)
        table = class_table(("S", cells), "hw.xlsx")
        assert {text for row in table.rows for text in row.cells} - {""} == {*cells.values()}


# Mistakes of layout that a fair reader forgives

SCORE_ROWS = [["14", "10", "9"], ["10", "11", "6"], ["9", "6", "6"]]


@pytest.fixture
def judged(attn: Attn, tmp_path: Path) -> Callable[[Mapping[str, Cells]], str]:
    """Return what is said of cells from the corner of sheets with these names."""

    def judge(sheets: Mapping[str, Cells]) -> str:
        workbook: Any = openpyxl.Workbook()
        workbook.remove(workbook.active)
        for name, cells in sheets.items():
            put(workbook.create_sheet(name), 1, 1, cells)
        result = attn("check", SAMPLES / "i_am_good.yaml", saved(workbook, tmp_path / "ann.xlsx"))
        return result.out + result.err

    return judge


Judge: TypeAlias = Callable[[Mapping[str, Cells]], str]


def test_the_name_of_a_sheet_names_its_only_matrix(judged: Judge) -> None:
    said = judged(
        {"Step 1 - Scores": SCORE_ROWS, "Output": [["a remark"]], "notes": [["see above"]]}
    )
    assert "correct: 9 numbers" in said
    said = judged({"Scores": [*SCORE_ROWS, [], ["1", "2"]]})
    assert "sheet Scores, cell A1: these numbers belong to no matrix" in said


@pytest.mark.parametrize("title", ["1. Scores", "Schritt 1: scores", "a) S", "Step 1 – scores"])
def test_numbers_before_names(title: str, judged: Judge) -> None:
    assert "correct: 9 numbers" in judged({"Sheet1": [[title], *SCORE_ROWS]})


def test_a_note_below_numbers_is_no_row(judged: Judge) -> None:
    said = judged({"Sheet1": [["scores"], *SCORE_ROWS, ["all are whole"]]})
    assert "correct: 9 numbers" in said
    assert "“all are whole”" in said


def test_a_worksheet_with_nothing_written_is_empty(attn: Attn, tmp_path: Path) -> None:
    problem, sheet = tmp_path / "hw.yaml", tmp_path / "sheet.xlsx"
    problem.write_text("Q: [[1, 0]]\nK: [[1, 2]]\nV: [[3, 1]]\n")
    attn("worksheet", problem, "-o", sheet)
    result = attn("check", problem, sheet)
    assert (result.status, result.out.splitlines()[-1]) == (1, "empty: nothing was given")


def test_tokens_that_are_signs_or_formulas(attn: Attn, tmp_path: Path) -> None:
    problem = tmp_path / "hw.yaml"
    tokens = ["Hi", "!", "=1+1", "@SUM", "😀"]
    problem.write_text(json.dumps({"tokens": tokens, "X": [[n, 1] for n in range(5)]}))
    attn("compute", problem, "-o", tmp_path / "hw.xlsx")
    result = attn("compute", tmp_path / "hw.xlsx", "-f", "json")
    assert json.loads(result.out)["options"]["tokens"] == tokens
