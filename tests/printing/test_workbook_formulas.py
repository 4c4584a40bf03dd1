"""Workbooks: every calculated number is a formula that gives it, also of other inputs."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import openpyxl
import pytest

import attncli
from attncli.pages.workbook import traces
from attncli.printing.formats import Selection, WorksheetSelection
from tests.conftest import DATA, SAMPLE_FILES, SAMPLES, Attn
from tests.oracles.hostile import HOSTILE
from tests.oracles.spreadsheet import Calculated

CLOSE = 1e-12
"""How far two programs may differ, relative to the largest number of a sheet's step (SPEC §17)."""

BLOCKED = -1e290
"""Numbers below stand for −∞."""

RANDOM = ("differential_problems", "position_problems", "gradient_problems", "typed_on_the_page")
"""Recorded problems that were drawn at random, but for those of extreme size."""


def workbook(problems: Iterable[attncli.Problem], selection: Selection | None = None) -> bytes:
    computed = (attncli.compute(problem) for problem in problems)
    return b"".join(traces(computed, selection or Selection()))


def opened(data: bytes, values: bool = False) -> Any:
    return openpyxl.load_workbook(io.BytesIO(data), data_only=values)


def formulas(sheet: Any) -> Iterator[Any]:
    for row in sheet.iter_rows():
        yield from (cell for cell in row if cell.data_type == "f" and cell.value != "=")


@cache
def random_problems() -> list[attncli.Problem]:
    problems = []
    for name in RANDOM:
        for line in (DATA / "recorded" / f"{name}.jsonl").read_text().splitlines():
            about = json.loads(line)
            problems.append(attncli.Problem(**about.get("keys", about.get("problem", about))))
    return problems


def samples() -> list[attncli.Problem]:
    return [problem for path in SAMPLE_FILES for problem in attncli.load_all(path)]


def changed(problem: attncli.Problem) -> attncli.Problem | None:
    """Return a problem with another last number in the first row of its first plain matrix."""
    keys = (key for key in problem.matrices() if "." not in key and key != "mask")
    if (key := next(keys, None)) is None:
        return None
    matrix = problem.matrices()[key].astype(float).copy()
    matrix[(*[0] * (matrix.ndim - 1), -1)] += 0.37
    other = attncli.Problem(**{**problem.written, key: matrix.tolist()})
    before, after = (
        [(step.name, step.vanishes) for step in attncli.compute(one)] for one in (problem, other)
    )
    return other if before == after else None  # a step that is 0 everywhere is not shown


def with_inputs_of(data: bytes, other: bytes) -> bytes:
    """Return a workbook with the inputs of another one, and without any calculated number."""
    book, source = opened(data), opened(other)
    for sheet in book:
        for row in sheet.iter_rows():
            for cell in row:
                if isinstance(cell.value, float | int) and not cell.protection.locked:
                    cell.value = source[sheet.title][cell.coordinate].value
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def differences(formulas_of: Any, wanted: Any, value_of: Any) -> list[object]:
    """Return the cells with a formula whose value is not the wanted one."""
    wrong: list[object] = []
    for sheet in formulas_of:
        for cell in formulas(sheet):
            want, got = wanted[sheet.title][cell.coordinate].value, value_of(sheet, cell)
            try:
                both_blocked = want < BLOCKED and got < BLOCKED
                is_right = both_blocked or abs(want - got) <= CLOSE * max(1.0, abs(want))
            except TypeError:  # an error of the spreadsheet
                is_right = False
            if not is_right:
                wrong.append((sheet.title, cell.coordinate, cell.value, want, got))
    return wrong


def own_values() -> Any:
    """Return a function that calculates a cell of a sheet with the formulas of the sheet alone."""
    sheets: dict[str, Calculated] = {}

    def value_of(sheet: Any, cell: Any) -> Any:
        if sheet.title not in sheets:
            cells = (one for row in sheet.iter_rows() for one in row)
            sheets[sheet.title] = Calculated({(c.row, c.column): c.value for c in cells})
        return sheets[sheet.title].value(cell.row, cell.column)

    return value_of


@pytest.mark.parametrize("path", SAMPLE_FILES, ids=lambda path: path.stem)
def test_formulas_give_the_numbers_of_samples_before_and_after_a_change(path: Path) -> None:
    for problem in attncli.load_all(path):
        data = workbook([problem])
        book = opened(data)
        assert not differences(book, opened(data, values=True), own_values())
        if (other := changed(problem)) is not None:
            wanted = workbook([other])
            book = opened(with_inputs_of(data, wanted))
            assert not differences(book, opened(wanted, values=True), own_values())


def test_libreoffice_calculates_the_same(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    problems = [*random_problems(), *samples()]
    office = shutil.which("soffice")
    if office is None:
        pytest.skip(f"LibreOffice is not installed: {len(problems)} problems are not recalculated")
    pairs = [(p, changed(p)) for p in problems]
    before, after = workbook(problems), workbook(q or p for p, q in pairs)
    (tmp_path / "before.xlsx").write_bytes(with_inputs_of(before, before))
    (tmp_path / "after.xlsx").write_bytes(with_inputs_of(before, after))
    out = tmp_path / "out"
    command = [office, f"-env:UserInstallation={(tmp_path / 'profile').as_uri()}", "--headless"]
    files = [str(tmp_path / name) for name in ("before.xlsx", "after.xlsx")]
    options = ["--convert-to", "xlsx", "--outdir", str(out)]
    subprocess.run([*command, *options, *files], check=True, capture_output=True)
    for name, data in (("before.xlsx", before), ("after.xlsx", after)):
        got = openpyxl.load_workbook(out / name, data_only=True)
        wrong = differences(
            opened((tmp_path / name).read_bytes()),
            opened(data, values=True),
            lambda sheet, cell, got=got: got[sheet.title][cell.coordinate].value,
        )
        assert not wrong
    assert len(problems) >= 100 + len(SAMPLE_FILES)
    record_property("problems recalculated by LibreOffice", len(problems))
    record_property("of these also after a change", sum(q is not None for _, q in pairs))


def test_formulas_are_those_of_paper() -> None:
    W = [[1, 0], [1, 0], [0, 1]]
    problem = attncli.Problem(X=[[1, 0, 2], [2, 1, 3], [0, 1, 0]], W_q=W, W_k=W, softcap=2)
    sheet = opened(workbook([problem])).active
    texts = [cell.value for cell in formulas(sheet)]
    top = next(row[0].row for row in sheet.iter_rows() if row[0].value == "X")
    n, m, d = top + 1, top + 2, top + 3  # of W_q as of X
    assert f"=A{n}*E{n}+B{n}*E{m}+C{n}*E{d}" in texts  # a row of X times a column of W_q
    assert any("*TANH(" in text for text in texts)
    for start, end in (("=EXP(", ")"), ("=SUM(", ")"), ("=", "/SQRT(2)")):
        assert any(text.startswith(start) and text.endswith(end) for text in texts), start


def test_long_products_use_ranges() -> None:
    row = [float(number) for number in range(12)]
    W = [[x, 1.0] for x in row]
    texts = [
        cell.value
        for cell in formulas(opened(workbook([attncli.Problem(X=[row], W_q=W, W_k=W)])).active)
    ]
    assert any(text.startswith("=SUMPRODUCT(MMULT(") for text in texts)


def test_the_numbers_of_keys_are_inputs() -> None:
    problem = attncli.load(SAMPLES / "sentence.yaml")
    sheet = opened(workbook([problem])).active
    (cell,) = (row[1] for row in sheet.iter_rows() if row[0].value == "normalize.temperature")
    assert (cell.protection.locked, cell.value) == (False, 1.5)
    assert (sheet.protection.sheet, sheet.protection.password) == (True, None)


def test_labels_are_texts_and_run_nothing() -> None:
    words = ['=HYPERLINK("http://example.org")', "=CMD|'/c calc'!A1"]
    problem = attncli.Problem(X=[[1, 0], [0, 1]], tokens=words, title="=1+1", score="dot")
    cells = [cell for row in opened(workbook([problem])).active.iter_rows() for cell in row]
    assert {cell.data_type for cell in cells if cell.value in (*words, "=1+1")} == {"s"}
    for text in HOSTILE:
        assert workbook([attncli.Problem(X=[[1.0]], tokens=[text], title=text, score="dot")])


def test_a_worksheet_has_room_and_no_formulas() -> None:
    problem = attncli.load(SAMPLES / "mask_causal.yaml")
    data = workbook([problem], WorksheetSelection(blank=("weights",)))
    cells = [cell for row in opened(data).active.iter_rows() for cell in row]
    rooms = [cell for cell in cells if cell.value == "?"]
    assert len(rooms) == 9
    assert not any(cell.protection.locked for cell in rooms)
    assert not [*formulas(opened(data).active)]


def test_problems_are_sheets_with_names_that_differ(attn: Attn, tmp_path: Path) -> None:
    one = "{title: 'Masks: a/b', X: [[1, 0], [0, 1]], score: dot}\n"
    source, target = tmp_path / "two.yaml", tmp_path / "two.xlsx"
    source.write_text(f"{one}---\n{one}")
    result = attn("compute", source, "-o", target)
    assert result.status == 0
    first = target.read_bytes()
    assert openpyxl.load_workbook(target).sheetnames == ["Masks  a b", "Masks  a b 2"]
    attn("compute", source, "-o", target)
    assert target.read_bytes() == first


def test_without_xlsxwriter_one_sentence_says_what_to_install(
    attn: Attn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    target = tmp_path / "x.xlsx"
    result = attn("compute", SAMPLES / "i_am_good.yaml", "-o", target)
    assert result.status == 2
    assert "pip install openpyxl XlsxWriter, or with pipx" in result.err
    assert not target.exists()


def test_variants_are_worksheets_in_workbooks(attn: Attn, tmp_path: Path) -> None:
    pattern = tmp_path / "{number}.xlsx"
    result = attn("vary", SAMPLES / "integers.yaml", "-n", "2", "--key", "-o", pattern)
    assert "in for attn check" in result.err
    for number in (1, 2):
        sheet = opened((tmp_path / f"{number}.xlsx").read_bytes()).worksheets[0]
        assert any(cell.value == "?" for row in sheet.iter_rows() for cell in row)
    assert "weights: [[" in (tmp_path / "keys" / "1.yaml").read_text()
