"""Worked terms as formulas: with the names of cells, or with their numbers put in."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from attncli.explaining.terms import Binary, Chosen, Constant, Function, Leaf, Named, Term, summands
from attncli.notation import tree
from attncli.notation.written import NumberAsWritten
from attncli.tape.cells import cell, place_of, row
from attncli.text.numbers import every_digit


class FormulaOf:
    """Turns terms into formulas.

    Args:
        leaf: the formula of a leaf, and of a term that is called by a letter.
        most: how many terms of a sum are written; the middle of a longer one is left out.
        ends: how many terms are left at either end then.
        rows: whether a sum of products of two whole rows is written as q_am · k_I.
        columns: whether factors change places, as where a token is a column.
    """

    def __init__(
        self,
        leaf: Callable[[Leaf | Named], tree.Formula],
        most: float = math.inf,
        ends: int = 3,
        rows: bool = False,
        columns: bool = False,
    ) -> None:
        self.leaf = leaf
        self.most = most
        self.ends = ends
        self.rows = rows
        self.columns = columns

    def __call__(self, term: Term) -> tree.Formula:
        """Return the formula of a term."""
        if isinstance(term, Chosen):
            return self(term.operand)
        if isinstance(term, Leaf | Named):
            return self.leaf(term)
        if isinstance(term, Constant):
            return _constant(term.number)
        if isinstance(term, Function):
            return self._function(term)
        assert isinstance(term, Binary)  # there is no other kind
        if term.op in "+-":
            return self._sum(summands(term))
        left, right = term.left, term.right
        if term.op == "*":
            plain = isinstance(left, Constant) or isinstance(right, Constant)
            left, right = (right, left) if self.columns and not plain else (left, right)
            return tree.Times((self(left), self(right)))
        return (tree.Fraction if term.op == "/" else tree.Power)(self(left), self(right))

    def _function(self, term: Function) -> tree.Formula:
        if term.name == "sqrt" and self.rows and (length := _length(term)):
            return length
        inner = self(term.operand)
        if term.name == "negative":
            return tree.Minus(inner)
        if term.name == "square":
            return tree.Squared(inner)
        if term.name == "sqrt":
            return tree.Root(inner)
        if term.name == "exp":
            return tree.Power(tree.Name("e"), inner)
        arguments = (inner, tree.Number("0")) if term.name == "at_least_zero" else (inner,)
        return tree.Call({"at_least_zero": "max"}.get(term.name, term.name), arguments)

    def _sum(self, parts: Sequence[tuple[bool, Term]]) -> tree.Formula:
        """Return a sum, with the middle left out where it is long."""
        if self.rows and (product := self._of_rows(parts)):
            return product
        shown = list(parts)
        if len(parts) > self.most:
            shown = [*parts[: self.ends], *parts[-self.ends :]]
        terms = [tree.Minus(self(part)) if taken else self(part) for taken, part in shown]
        if len(parts) > self.most:
            terms.insert(self.ends, tree.Omitted(len(parts) - 2 * self.ends))
        return tree.Plus(tuple(terms))

    def _of_rows(self, parts: Sequence[tuple[bool, Term]]) -> tree.Formula | None:
        """Return q_am · k_I for a sum of the products of two whole rows, ‖q_am − k_I‖² and such."""
        terms = [term for taken, term in parts if not taken]
        if len(terms) != len(parts):
            return None
        squared = _under(terms, "square")
        if differences := [d for d in squared if isinstance(d, Binary) and d.op == "-"]:
            left = _row([d.left for d in differences])
            right = _row([d.right for d in differences])
            if not left or not right or len(differences) < len(terms):
                return None
            return tree.Squared(tree.Norm(tree.minus(left, right)))
        if vector := _row(squared):
            return tree.Squared(tree.Norm(vector))
        products = [t for t in terms if isinstance(t, Binary) and t.op == "*"]
        if len(products) != len(terms):
            return None
        left, right = _row([p.left for p in products]), _row([p.right for p in products])
        if not left or not right:
            return None
        return tree.Times((right, left) if self.columns else (left, right), " · ")


def name_of(part: Leaf | Named) -> tree.Formula:
    """Return the name of the cell that a leaf is, or the letter of a term."""
    if isinstance(part, Named):
        return tree.Name(part.symbol)
    return cell(part.step, place_of(part.step, part.at))


def _constant(number: float) -> tree.Formula:
    """Return a number that belongs to the operation itself, as it was written."""
    if isinstance(number, NumberAsWritten):
        return tree.Value(number.formula)
    return tree.Number(every_digit(float(number)).replace("Infinity", "∞"))


def _length(root: Function) -> tree.Formula | None:
    """Return ‖q_am‖ for the root of the squares of a whole row."""
    vector = _row(_under([term for _, term in summands(root.operand)], "square"))
    return tree.Norm(vector) if vector else None


def _under(terms: Sequence[Term], function: str) -> list[Term]:
    """Return what the terms are a function of; nothing where one is not."""
    inner = [t.operand for t in terms if isinstance(t, Function) and t.name == function]
    return inner if len(inner) == len(terms) else []


def _row(terms: Sequence[Term]) -> tree.Formula | None:
    """Return the name of the row that the terms are, cell by cell."""
    cells = [t for t in terms if isinstance(t, Leaf)]
    if not cells or len(cells) != len(terms):
        return None
    step, at = cells[0].step, cells[0].at[:-1]
    if any(c.step is not step or c.at[:-1] != at for c in cells):
        return None
    places = [c.at[-1] for c in cells]
    return row(step, cells[0].at) if places == list(range(step.array.shape[-1])) else None
