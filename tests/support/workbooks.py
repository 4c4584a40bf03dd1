"""Workbooks of calculations, whose formulas other programs calculate anew."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import openpyxl

import attncli
from attncli.pages.workbook import traces
from attncli.printing.selection import Selection
from tests.oracles.spreadsheet import Calculated

CLOSE = 1e-12
"""How far two programs may differ, relative to the largest number of a sheet's step (SPEC §17)."""

BLOCKED = -1e290
"""Numbers below stand for −∞."""


def workbook(shown: Iterable[attncli.Trace], selection: Selection | None = None) -> bytes:
    return b"".join(traces(shown, selection or Selection()))


def opened(data: bytes, values: bool = False) -> Any:
    return openpyxl.load_workbook(io.BytesIO(data), data_only=values)


def formulas(sheet: Any) -> Iterator[Any]:
    for row in sheet.iter_rows():
        yield from (cell for cell in row if cell.data_type == "f" and cell.value != "=")


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


def differences(formulas_of: Any, wanted: Any, value_of: Callable[[Any, Any], Any]) -> list[object]:
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


def own_values() -> Callable[[Any, Any], Any]:
    """Return a function that calculates a cell of a sheet with the formulas of the sheet alone."""
    sheets: dict[str, Calculated] = {}

    def value_of(sheet: Any, cell: Any) -> Any:
        if sheet.title not in sheets:
            cells = (one for row in sheet.iter_rows() for one in row)
            sheets[sheet.title] = Calculated({(c.row, c.column): c.value for c in cells})
        return sheets[sheet.title].value(cell.row, cell.column)

    return value_of
