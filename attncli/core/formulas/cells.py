"""Formulas of the cells of a spreadsheet, and their printer: `=SUM(B3:D3)/SQRT(2)`."""

from __future__ import annotations

from attncli.core.formulas import tree
from attncli.core.formulas.text import ATOM, POWER, PRODUCT, SUM, Printer
from attncli.core.formulas.tree import Formula

BLOCKED = -1e300
"""The number that stands for −∞, which spreadsheets do not have; its power is 0, too."""

NEARLY_BLOCKED = -1e290
"""Numbers below this one are −∞, also after a division by a temperature. Chosen."""


class Reference(Formula):
    """A cell, by its row and its column from 0."""

    row: int
    column: int

    @property
    def text(self) -> str:
        from xlsxwriter.utility import xl_rowcol_to_cell

        return str(xl_rowcol_to_cell(self.row, self.column))


class Range(Formula):
    """The cells of a row, or of a column, from the first to the last."""

    first: Reference
    last: Reference

    @property
    def is_row(self) -> bool:
        return self.first.row == self.last.row


class _Spreadsheet(Printer):
    """Prints formulas as spreadsheets read them."""

    def sign(self, sign: str, prefix: bool = False) -> str:
        return sign.replace("−", "-")

    def fenced(self, pair: str, text: str) -> str:
        return f"({text})"

    def reference(self, node: Reference, first: bool) -> str:
        return node.text

    def range(self, node: Range, first: bool) -> str:
        return f"{node.first.text}:{node.last.text}"

    def number(self, node: tree.Number, first: bool) -> str:
        return node.text

    def fence(self, node: tree.Fence, first: bool) -> str:
        return self.group(self(node.inner))

    def times(self, node: tree.Times, first: bool) -> str:
        return "*".join(self.factors(node, first))

    def fraction(self, node: tree.Fraction, first: bool) -> str:
        return f"{self.inside(node.over, PRODUCT, first)}/{self.inside(node.under, POWER)}"

    def power(self, node: tree.Power, first: bool) -> str:
        return f"{self.inside(node.base, ATOM)}^{self.inside(node.exponent, ATOM)}"

    def relation(self, node: tree.Relation, first: bool) -> str:
        return node.last.join(self.inside(part, SUM) for part in node.parts)

    def root(self, node: tree.Root, first: bool) -> str:
        return f"SQRT({self(node.operand)})"

    def call(self, node: tree.Call, first: bool) -> str:
        return f"{node.function}({','.join(map(self, node.arguments))})"


def spreadsheet_text(formula: Formula) -> str:
    """Return what is written into a cell for a formula.

    >>> spreadsheet_text(tree.Power(Reference(4, 2), tree.Number("2")))
    '=C5^2'
    """
    return f"={_Spreadsheet()(formula)}"
