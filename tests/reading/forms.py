"""The forms of a file in which a matrix can be written, and how tests read a file."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import openpyxl
import pytest

import attncli
from attncli.core.errors import InputError, refuse
from attncli.reading.document import Document
from attncli.reading.load import csv_options
from attncli.reading.read import read_bytes
from tests.conftest import table

Cells = list[list[str]]
"""A matrix as it is written."""


class Form(NamedTuple):
    """A form of a file.

    Attributes:
        suffix: of the file's name.
        write: returns the file whose `X` are some cells.
        cell: a pattern of the cells that can be written so, and mean the same there.
    """

    suffix: str
    write: Callable[[Cells], str | bytes]
    cell: str = r"[^\0-\x1f]*"

    def holds(self, written: str) -> bool:
        """Return whether a cell can be written so, and means the same."""
        return re.fullmatch(self.cell, written) is not None


def saved(folder: Path, data: str | bytes, suffix: str) -> Path:
    """Write a file, with no other name than its suffix needs."""
    path = folder / f"f{suffix}"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def problem_in(folder: Path, data: str | bytes, suffix: str = ".yaml") -> attncli.Problem:
    """Return the only problem of a file."""
    (problem,) = attncli.load_all(saved(folder, data, suffix))
    return problem


def refusal_of(folder: Path, data: str | bytes, suffix: str = ".yaml") -> InputError:
    """Return why a file is refused, without the name of its folder."""
    name = saved(folder, data, suffix).name
    with contextlib.chdir(folder), pytest.raises(InputError) as caught:
        attncli.load_all(name)
    return caught.value


def documents_in(data: str | bytes, suffix: str = ".yaml") -> list[Document]:
    """Return what a file holds, each scalar as it was written."""
    data = data if isinstance(data, bytes) else data.encode()
    found = list(read_bytes(data, f"f{suffix}", suffix, csv_options()))
    refuse([fault for one in found if one.error for fault in one.error.faults])
    return found


def rows_of(name: str, *subjects: str) -> pytest.MarkDecorator:
    """Run a test with each row of a table that several subjects have, by its name or its text."""
    rows = [
        table(subject, "defaults") | row for subject in subjects for row in table(subject, name)
    ]
    return pytest.mark.parametrize(
        "row", rows, ids=[row.get("name", row["text"][:60]) for row in rows]
    )


def plain(value: Any) -> Any:
    """Return what a key of a problem holds as lists and mappings."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [plain(part) for part in value] if isinstance(value, tuple) else value


def is_harmless(said: str) -> bool:
    """Return whether a message has no control characters; joiners and blanks may stay in it."""
    return all(sign.isprintable() or sign in "\n\u200c\u200d\u3000\xa0\u202f" for sign in said)


def _csv(cells: Cells, delimiter: str) -> str:
    file = io.StringIO()
    csv.writer(file, delimiter=delimiter, lineterminator="\n").writerows(cells)
    return file.getvalue()


def _workbook(cells: Cells) -> bytes:
    workbook: Any = openpyxl.Workbook()
    for row in [["X"], *cells]:
        workbook.active.append(row)
    for row in workbook.active.iter_rows():
        for cell in row:
            cell.data_type = "s"
    file = io.BytesIO()
    workbook.save(file)
    return file.getvalue()


def npz(**arrays: Any) -> bytes:
    """Return an NPZ file of some arrays."""
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def npy(array: Any, **more: Any) -> bytes:
    """Return an NPY file of an array."""
    file = io.BytesIO()
    np.save(file, array, **more)
    return file.getvalue()


def safetensors(**arrays: Any) -> bytes:
    """Return a safetensors file of some arrays of numbers."""
    about, data = {}, b""
    for name, array in arrays.items():
        kind = f"{array.dtype.kind.upper()}{8 * array.itemsize}".replace("B8", "BOOL")
        ends = [len(data), len(data) + array.nbytes]
        about[name] = {"dtype": kind, "shape": array.shape, "data_offsets": ends}
        data += array.tobytes()
    return with_length(json.dumps({"__metadata__": {"format": "pt"}} | about)) + data


def with_length(header: str) -> bytes:
    return len(header.encode()).to_bytes(8, "little") + header.encode()


FORMS = {
    "yaml": Form(
        ".yaml",
        lambda cells: "X:\n" + "".join(f"- [{', '.join(row)}]\n" for row in cells),
        r"(?!\*)[\w.+*/^()√π·×−∞-]+",
    ),
    "text block": Form(
        ".yaml",
        lambda cells: "X: |\n" + "".join(f"  {' '.join(row)}\n" for row in cells),
        r"(?!%$)[^\s,;|\x1b]+",
    ),
    "json": Form(".json", lambda cells: json.dumps({"X": cells}, ensure_ascii=False)),
    "csv": Form(".csv", lambda cells: _csv(cells, ",")),
    "tsv": Form(".tsv", lambda cells: _csv(cells, "\t"), r"(?!\d,\d$)[^\0-\x1f]*"),
    "markdown": Form(
        ".md",
        lambda cells: "## X\n\n" + "".join(f"| {' | '.join(row)} |\n" for row in cells),
        r"(?!.*\*$|\*|.*\d,\d)[^\s|]+",
    ),
    "npz": Form(".npz", lambda cells: npz(X=np.array(cells))),
    "xlsx": Form(".xlsx", _workbook, r"(?!\d,\d$)[^\0-\x1f]*"),
}
