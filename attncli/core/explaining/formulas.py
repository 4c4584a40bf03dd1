"""Worked terms as formulas: with the names of cells, or with their numbers put in."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from attncli.core.explaining.terms import (
    Chosen,
    Constant,
    Leaf,
    Made,
    Named,
    Term,
    is_sum,
    summands,
)
from attncli.core.formulas import tree
from attncli.core.numbers.written import NumberAsWritten
from attncli.core.records import Record
from attncli.core.tape.cells import cell, row
from attncli.core.text.numbers import every_digit


class FormulaOf(Record):
    """Turns terms into formulas."""

    leaf: Callable[[Leaf | Named], tree.Formula]  # writes a leaf, or a term that has a symbol
    most: float = math.inf  # maximum number of terms of a sum; of a longer one, only the ends
    ends: int = 3  # number of terms that are written at either end of a longer sum
    rows: bool = False  # whether a sum of products of two whole rows is written as q_am · k_I
    columns: bool = False  # whether tokens are columns, so that factors change places

    def __call__(self, term: Term) -> tree.Formula:
        if isinstance(term, Leaf | Named):
            return self.leaf(term)
        if isinstance(term, Constant):
            if isinstance(term.number, NumberAsWritten):
                return tree.Value(term.number.formula)
            return tree.Number(every_digit(term.value).replace("Infinity", "∞"))
        if isinstance(term, Chosen):
            return self(term.operands[0])
        assert isinstance(term, Made)  # there is no other kind
        if is_sum(term):
            return self._sum(summands(term))
        if term.op == "sqrt" and self.rows:
            squares = _arguments([part for _, part in summands(term.operands[0])], "square")
            if vector := _row(squares):
                return tree.Norm(vector)
        operands = [self(operand) for operand in term.operands]
        plain = any(isinstance(operand, Constant) for operand in term.operands)
        if term.op == "*" and self.columns and not plain:
            operands.reverse()
        return NODES[term.op](*operands)

    def _sum(self, parts: Sequence[tuple[bool, Term]]) -> tree.Formula:
        if self.rows and (product := self._of_rows(parts)):
            return product
        shown = list(parts)
        if len(parts) > self.most:
            shown = [*parts[: self.ends], *parts[-self.ends :]]
        terms = [tree.Minus(self(part)) if minus else self(part) for minus, part in shown]
        if len(parts) > self.most:
            terms.insert(self.ends, tree.Omitted(len(parts) - 2 * self.ends))
        return tree.Plus(tuple(terms))

    def _of_rows(self, parts: Sequence[tuple[bool, Term]]) -> tree.Formula | None:
        """Return q_am · k_I for a sum of the products of two whole rows, ‖q_am − k_I‖² and such."""
        if any(minus for minus, _ in parts):
            return None
        terms = [term for _, term in parts]
        squared = _arguments(terms, "square")
        if differences := _operands(squared, "-"):
            left, right = map(_row, zip(*differences, strict=True))
            return tree.Squared(tree.Norm(tree.minus(left, right))) if left and right else None
        if vector := _row(squared):
            return tree.Squared(tree.Norm(vector))
        if products := _operands(terms, "*"):
            left, right = map(_row, zip(*products, strict=True))
            if left and right:
                return tree.Times((right, left) if self.columns else (left, right), " · ")
        return None


def name_of(part: Leaf | Named) -> tree.Formula:
    if isinstance(part, Named):
        return tree.Name(part.symbol)
    return cell(part.step, part.cell[1])


def _operands(terms: Sequence[Term], op: str) -> list[tuple[Term, ...]]:
    """Return the operands of each term; [] if another operation made any of them."""
    operands = [t.operands for t in terms if isinstance(t, Made) and t.op == op]
    return operands if len(operands) == len(terms) else []


def _arguments(terms: Sequence[Term], function: str) -> list[Term]:
    return [argument for (argument,) in _operands(terms, function)]


def _row(terms: Sequence[Term]) -> tree.Formula | None:
    """Return the name of the row whose cells the terms are, in order; else None."""
    cells = [t for t in terms if isinstance(t, Leaf)]
    if not cells or len(cells) != len(terms):
        return None
    step, at = cells[0].step, cells[0].at[:-1]
    if any(c.step is not step or c.at[:-1] != at for c in cells):
        return None
    places = [c.at[-1] for c in cells]
    return row(step, cells[0].at) if places == list(range(step.array.shape[-1])) else None


NODES: dict[str, Callable[..., tree.Formula]] = {
    "*": lambda *factors: tree.Times(factors),
    "/": tree.Fraction,
    "^": tree.Power,
    "negative": tree.Minus,
    "square": tree.Squared,
    "sqrt": tree.Root,
    "exp": lambda x: tree.Power(tree.Name("e"), x),
    "ln": lambda x: tree.Call("ln", (x,)),
    "tanh": lambda x: tree.Call("tanh", (x,)),
    "erf": lambda x: tree.Call("erf", (x,)),
    "at_least_zero": lambda x: tree.Call("max", (x, tree.Number("0"))),
}
