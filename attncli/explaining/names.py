"""How cells, rows of cells and their products are called in formulas."""

from __future__ import annotations

from collections.abc import Sequence

from attncli.explaining.scripts import ATOM, PRODUCT, Piece
from attncli.explaining.terms import Binary, Function, Leaf, Named, Term, summands
from attncli.tape.cells import Index, cell_name, place_of, row_words
from attncli.tape.step import Step


class Names:
    """How cells, rows of cells and their products are called in formulas.

    Args:
        turned: whether factors change places, as where a token is a column.
    """

    def __init__(self, turned: bool = False) -> None:
        self.turned = turned

    def part(self, part: Leaf | Named) -> str:
        """Return the name of the cell that a leaf is, or the letter of a term."""
        if isinstance(part, Named):
            return self.letter(part.symbol)
        return self.cell(part.step, place_of(part.step, part.at))

    def cell(self, step: Step, place: Index) -> str:
        """Return the name of a cell on paper."""
        return cell_name(step, place)

    def row(self, step: Step, at: Index) -> str:
        """Return the name of the vector that a cell is in, such as q_am."""
        name, words = row_words(step, at)
        return f"{name}[{', '.join(words)}]" if len(words) > 1 else "_".join((name, *words))

    def letter(self, symbol: str) -> str:
        """Return a letter."""
        return symbol

    def dot(self, left: str, right: str) -> str:
        """Return the product of two vectors."""
        return f"{left} · {right}"

    def length(self, vector: str) -> str:
        """Return the length of a vector."""
        return f"‖{vector}‖"

    def squared(self, length: str) -> str:
        """Return the square of a length."""
        return f"{length}²"

    def __call__(self, parts: Sequence[tuple[bool, Term]]) -> Piece | None:
        """Return q_am · k_I for a sum of the products of two whole rows, ‖q_am‖ for a length."""
        terms = [term for minus, term in parts if not minus]
        if len(terms) != len(parts):
            return None
        if len(terms) == 1:
            root = terms[0]
            if not isinstance(root, Function) or root.name != "sqrt":
                return None
            row = self._row(_squared([term for _, term in summands(root.operand)]))
            return (self.length(row), ATOM) if row else None
        if differences := [d for d in _squared(terms) if isinstance(d, Binary) and d.op == "-"]:
            left = self._row([d.left for d in differences])
            right = self._row([d.right for d in differences])
            whole = left and right and len(differences) == len(terms)
            return (self.squared(self.length(f"{left} − {right}")), ATOM) if whole else None
        if row := self._row(_squared(terms)):
            return self.squared(self.length(row)), ATOM
        products = [t for t in terms if isinstance(t, Binary) and t.op == "*"]
        if len(products) != len(terms):
            return None
        left, right = self._row([p.left for p in products]), self._row([p.right for p in products])
        left, right = (right, left) if self.turned else (left, right)
        return (self.dot(left, right), PRODUCT) if left and right else None

    def _row(self, terms: Sequence[Term]) -> str:
        """Return the name of the row that the terms are, cell by cell; or nothing."""
        cells = [t for t in terms if isinstance(t, Leaf)]
        if not cells or len(cells) != len(terms):
            return ""
        step, at = cells[0].step, cells[0].at[:-1]
        if any(c.step is not step or c.at[:-1] != at for c in cells):
            return ""
        places = [c.at[-1] for c in cells]
        return self.row(step, cells[0].at) if places == list(range(step.array.shape[-1])) else ""


def _squared(terms: Sequence[Term]) -> list[Term]:
    """Return what the terms are squares of; nothing where one is no square."""
    inner = [t.operand for t in terms if isinstance(t, Function) and t.name == "square"]
    return inner if len(inner) == len(terms) else []
