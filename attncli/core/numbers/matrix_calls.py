"""Matrices as calls of R make them, and calls for zeros, ones and ones on a diagonal."""

from __future__ import annotations

import re

from attncli.core.numbers.grid import Words, cells_in
from attncli.core.numbers.parser import NumberError
from attncli.core.text.strings import regex

FACTORS = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)"
FILLED = regex(
    rf"\s*+(?:(?P<factor>{FACTORS})\s*\*\s*)?(?P<module>(?:np|numpy|torch|jnp)\.)?"
    r"(?:(?P<half>tri[lu])\(\s*(?:\w+\.)?)?(?:(?P<unit>eye|identity|diag)|(?P<zero>zeros)|ones)"
    r"\(\s*+(?:[(\[]\s*+)?(?P<first>\d{1,3})(?:\s*+,\s*+(?P<second>\d{1,3}))?[\s,]*+"
    rf"(?:[)\]]\s*+)?\)(?(half)\s*\))(?:\s*\*\s*(?P<times>{FACTORS}))?[\s;]*+"
)
"""A call for a matrix of zeros, of ones, or with ones on its diagonal, its sizes and a factor."""
R_CALL = regex(r"\s*(matrix|[rc]bind|c)\s*\((.*)\)[\s;]*", re.DOTALL)
R_VECTOR = regex(r"\bc\s*\(((?:[^()]|\([^()]*\))*+)\)")
R_SIZES = ("nrow", "ncol", "byrow")
"""The arguments of matrix(c(1, 2, 3, 4), nrow = 2, byrow = TRUE), in their order."""


def rows_of_call(text: str) -> list[Words] | None:
    """Return the rows of the matrix that a call makes; None for a text that is no such call."""
    if call := R_CALL.fullmatch(text):
        return _of_r(call)
    filled = FILLED.fullmatch(text)
    return _filled(filled) if filled and any(filled.group("module", "unit", "second")) else None


def _of_r(call: re.Match[str]) -> list[Words]:
    """Return the rows of a call of matrix (by columns, unless byrow), rbind, cbind or c."""
    name, inside, start = call[1], call[2], call.start(2)
    if name == "c":
        return [cells_in((start, inside), ",")]
    vectors = [cells_in((start + one.start(1), one[1]), ",") for one in R_VECTOR.finditer(inside)]
    rest = [*filter(None, re.sub(r"\s", "", R_VECTOR.sub("", inside)).split(","))]
    if name != "matrix":
        if rest or len({*map(len, vectors)}) != 1:
            raise NumberError(f"{name} is read of vectors such as c(1, 0) alone, of one length")
        return vectors if name == "rbind" else [[*row] for row in zip(*vectors, strict=True)]
    pairs = (one.rpartition("=") for one in rest[: len(R_SIZES)])
    sizes = {key or other: value for (key, _, value), other in zip(pairs, R_SIZES, strict=False)}
    by_row = {"TRUE": True, "T": True, "FALSE": False, "F": False}.get(sizes.pop("byrow", "F"))
    are_known = by_row is not None and all(
        key in R_SIZES and re.fullmatch(r"[1-9]\d{0,5}", n) for key, n in sizes.items()
    )
    if len(vectors) != 1 or len(rest) > len(R_SIZES) or not are_known:
        raise NumberError("matrix is read as matrix(c(1, 0, 0, 1), nrow = 2, byrow = TRUE)")
    numbers, count = vectors[0], len(vectors[0])
    rows = int(sizes.get("nrow", 0)) or count // max(int(sizes.get("ncol", 1)), 1)
    columns = int(sizes.get("ncol", 0)) or count // max(rows, 1)
    if rows * columns != count:
        raise NumberError(f"{count} numbers do not fill {rows} rows and {columns} columns")
    if by_row:
        return [numbers[at : at + columns] for at in range(0, count, columns)]
    return [numbers[row::rows] for row in range(rows)]


def _filled(call: re.Match[str]) -> list[Words]:
    """Return the rows of a call such as `eye(2)` or `zeros((2, 3))`; of `np.zeros(3)` one row."""
    height, width = int(call["first"]), int(call["second"] or call["first"])
    if not (call["unit"] or call["second"]):
        height = 1
    number = "0" if call["zero"] else call["factor"] or call["times"] or "1"
    at = call.start("first")

    def is_there(row: int, column: int) -> bool:
        is_in_half = {"tril": column <= row, "triu": row <= column}.get(call["half"], True)
        return is_in_half and (row == column or not call["unit"])

    return [
        [(at, number if is_there(row, column) else "0") for column in range(width)]
        for row in range(height)
    ]
