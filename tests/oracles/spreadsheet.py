"""A small spreadsheet that calculates the formulas of a sheet, without the program."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

CELL = r"\$?([A-Z]{1,3})\$?([0-9]+)"
OF_EACH = np.vectorize(math.erf, otypes=[float])


def _of_all(function: Any) -> Any:
    return lambda *parts: function(np.concatenate([np.ravel(part) for part in parts]))


FUNCTIONS: Mapping[str, Any] = {
    "ABS": np.abs, "EXP": np.exp, "LN": np.log, "TANH": np.tanh, "SQRT": np.sqrt, "COS": np.cos,
    "SIN": np.sin, "SIGN": np.sign, "ERF": OF_EACH, "INT": np.floor, "LOG10": np.log10,
    "SUM": _of_all(np.sum), "MAX": _of_all(np.max), "MIN": _of_all(np.min),
    "AND": _of_all(np.all), "OR": _of_all(np.any), "NOT": np.logical_not,
    "SUMPRODUCT": lambda *parts: np.sum(math.prod(map(np.asarray, parts))),
    "MMULT": lambda left, right: left @ right,
    "SMALL": lambda line, place: np.sort(np.ravel(line))[int(place) - 1],
    "CHOOSE": lambda place, *items: items[int(place) - 1],
    "IF": lambda condition, chosen, other: chosen if condition else other,
    "IFERROR": lambda value, other: value,
    "NORMSDIST": lambda x: (1 + math.erf(x / math.sqrt(2))) / 2,
    "ROUND": lambda x, digits: np.sign(x) * math.floor(abs(x) * 10**digits + 0.5) / 10**digits,
}  # fmt: skip


def column_number(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number


class _Truths(ast.NodeTransformer):
    """Makes the truths of comparisons numbers, as they are in sums of a spreadsheet."""

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        return ast.BinOp(ast.Constant(1), ast.Mult(), node)


class Calculated:
    """The values of a sheet, given the content of its cells by row and column from 1."""

    def __init__(self, content: Mapping[tuple[int, int], Any]) -> None:
        self.content = content
        self.values: dict[tuple[int, int], Any] = {}

    def value(self, row: int, column: int) -> Any:
        at = row, column
        if at not in self.values:
            content = self.content[at]
            is_formula = isinstance(content, str) and len(content) > 1 and content[0] == "="
            self.values[at] = self._calculated(content[1:]) if is_formula else content
        return self.values[at]

    def _calculated(self, formula: str) -> Any:
        code = re.sub(rf"{CELL}:{CELL}", r"lines('\1', \2, '\3', \4)", formula)
        code = re.sub(rf"(?<![A-Z'\w]){CELL}(?![\w'(])", r"one('\1', \2)", code)
        code = re.sub(r"(?<![<>])=", "==", code).replace("<>", "!=").replace("^", "**")
        tree = ast.fix_missing_locations(_Truths().visit(ast.parse(code, mode="eval")))
        names = {"one": self._one, "lines": self._lines, **FUNCTIONS}
        with np.errstate(all="ignore"):
            return eval(compile(tree, formula, "eval"), {"__builtins__": {}}, names)

    def _one(self, letters: str, row: int) -> Any:
        return np.float64(self.value(row, column_number(letters)))

    def _lines(self, left: str, top: int, right: str, bottom: int) -> Any:
        columns = range(column_number(left), column_number(right) + 1)
        rows = range(top, bottom + 1)
        return np.array([[self.value(row, column) for column in columns] for row in rows], float)
