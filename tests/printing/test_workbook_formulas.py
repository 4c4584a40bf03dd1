"""Workbooks: formulas as on paper, inputs that can be changed, labels that run nothing."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import openpyxl
import pytest

import attncli
from attncli.printing.selection import Selection, WorksheetSelection
from tests.conftest import SAMPLES, Attn
from tests.oracles.hostile import HOSTILE
from tests.support.workbooks import formulas, opened, workbook


def sheet_of(problem: attncli.Problem, selection: Selection | None = None) -> Any:
    return opened(workbook([attncli.compute(problem)], selection)).active


def cells_of(sheet: Any) -> list[Any]:
    return [cell for row in sheet.iter_rows() for cell in row]


def test_formulas_are_those_of_paper() -> None:
    W = [[1, 0], [1, 0], [0, 1]]
    X = [[1, 0, 2], [2, 1, 3], [0, 1, 0]]
    sheet = sheet_of(attncli.Problem(X=X, W_q=W, W_k=W, softcap=2))
    texts = [cell.value for cell in formulas(sheet)]
    top = next(row[0].row for row in sheet.iter_rows() if row[0].value == "X")
    n, m, d = top + 1, top + 2, top + 3  # of W_q as of X
    assert f"=A{n}*E{n}+B{n}*E{m}+C{n}*E{d}" in texts  # a row of X times a column of W_q
    for pattern in (r".*\*TANH\(", r"=EXP\(.*\)$", r"=SUM\(.*\)$", r"=.*/SQRT\(2\)$"):
        assert any(re.match(pattern, text) for text in texts), pattern


def test_long_products_use_ranges() -> None:
    row = [float(number) for number in range(12)]
    W = [[x, 1.0] for x in row]
    sheet = sheet_of(attncli.Problem(X=[row], W_q=W, W_k=W))
    assert any(cell.value.startswith("=SUMPRODUCT(MMULT(") for cell in formulas(sheet))


def test_the_numbers_of_keys_are_inputs() -> None:
    sheet = sheet_of(attncli.load(SAMPLES / "sentence.yaml"))
    (cell,) = (row[1] for row in sheet.iter_rows() if row[0].value == "normalize.temperature")
    assert (cell.protection.locked, cell.value) == (False, 1.5)
    assert (sheet.protection.sheet, sheet.protection.password) == (True, None)


def test_labels_are_texts_and_run_nothing() -> None:
    words = ['=HYPERLINK("http://example.org")', "=CMD|'/c calc'!A1"]
    problem = attncli.Problem(X=[[1, 0], [0, 1]], tokens=words, title="=1+1", score="dot")
    cells = cells_of(sheet_of(problem))
    assert {cell.data_type for cell in cells if cell.value in (*words, "=1+1")} == {"s"}
    for text in HOSTILE:
        assert sheet_of(attncli.Problem(X=[[1.0]], tokens=[text], title=text, score="dot"))


def test_a_worksheet_has_room_and_no_formulas() -> None:
    problem = attncli.load(SAMPLES / "mask_causal.yaml")
    sheet = sheet_of(problem, WorksheetSelection(blank=("weights",)))
    rooms = [cell for cell in cells_of(sheet) if cell.value == "?"]
    assert len(rooms) == 9
    assert not any(cell.protection.locked for cell in rooms)
    assert not [*formulas(sheet)]


def test_problems_are_sheets_with_names_that_differ(attn: Attn, tmp_path: Path) -> None:
    one = "{title: 'Masks: a/b', X: [[1, 0], [0, 1]], score: dot}\n"
    source, target = tmp_path / "two.yaml", tmp_path / "two.xlsx"
    source.write_text(f"{one}---\n{one}")
    assert attn("compute", source, "-o", target).status == 0
    first = target.read_bytes()
    assert openpyxl.load_workbook(target).sheetnames == ["Masks  a b", "Masks  a b 2"]
    attn("compute", source, "-o", target)
    assert target.read_bytes() == first


@pytest.mark.parametrize(
    ("library", "suffix", "said"),
    [
        ("xlsxwriter", "xlsx", "pip install openpyxl XlsxWriter, or with pipx"),
        ("resvg_py", "png", "pip install resvg_py, or with pipx: pipx inject attncli resvg_py"),
    ],
)
def test_without_its_library_a_format_says_what_to_install(
    library: str,
    suffix: str,
    said: str,
    attn: Attn,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    target = tmp_path / f"x.{suffix}"
    result = attn("compute", SAMPLES / "i_am_good.yaml", "-o", target)
    assert (result.status, result.out) == (2, "")
    assert said in result.err
    assert not target.exists()


@pytest.mark.usefixtures("small_pool")
def test_variants_are_worksheets_in_workbooks(attn: Attn, tmp_path: Path) -> None:
    pattern = tmp_path / "{number}.xlsx"
    result = attn("vary", SAMPLES / "integers.yaml", "-n", "2", "--key", "-o", pattern)
    assert "in for attn check" in result.err
    for number in (1, 2):
        sheet = opened((tmp_path / f"{number}.xlsx").read_bytes()).worksheets[0]
        assert any(cell.value == "?" for cell in cells_of(sheet))
    assert "weights: [[" in (tmp_path / "keys" / "1.yaml").read_text()
