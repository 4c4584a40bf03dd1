"""Terms to formulas."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

from attncli.core.explaining import terms
from attncli.core.explaining.terms import Chosen, Constant, Leaf, Made, Named, Term
from attncli.core.formulas import tree
from attncli.core.numbers.written import NumberAsWritten
from attncli.core.records import Record
from attncli.core.text.numbers import every_digit


class FormulaOf(Record):
    """Turns terms into formulas."""

    leaf: Callable[[Leaf | Named], tree.Formula]  # writes a leaf, or a term that has a symbol
    row: Callable[[Leaf], tree.Formula] | None = None  # writes the row of a leaf: q_am · k_I
    most: float = math.inf  # maximum number of terms of a sum; of a longer one, only the ends
    ends: int = 3  # number of terms that are written at either end of a longer sum
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
        if terms.is_sum(term):
            return self._sum(terms.summands(term))
        if term.op == "sqrt" and self.row:
            squares = _arguments([part for _, part in terms.summands(term.operands[0])], "square")
            if vector := self._row(squares):
                return tree.Norm(vector)
        operands = [self(operand) for operand in term.operands]
        plain = any(isinstance(operand, Constant) for operand in term.operands)
        if term.op == "*" and self.columns and not plain:
            operands.reverse()
        if len(operands) > max(self.most, 2 * self.ends):
            operands[self.ends : -self.ends] = [tree.Omitted(len(operands) - 2 * self.ends)]
        return NODES[term.op](*operands)

    def _sum(self, parts: Sequence[tuple[bool, Term]]) -> tree.Formula:
        if self.row and (product := self._of_rows(parts)):
            return product
        shown = list(parts)
        if len(parts) > self.most:
            shown = [*parts[: self.ends], *parts[-self.ends :]]
        addends = [tree.Minus(self(part)) if minus else self(part) for minus, part in shown]
        if len(parts) > self.most:
            addends.insert(self.ends, tree.Omitted(len(parts) - 2 * self.ends))
        return tree.Plus(tuple(addends))

    def _of_rows(self, parts: Sequence[tuple[bool, Term]]) -> tree.Formula | None:
        """Return q_am · k_I for a sum of the products of two whole rows, ‖q_am − k_I‖² and such."""
        if any(minus for minus, _ in parts):
            return None
        addends = [term for _, term in parts]
        squared = _arguments(addends, "square")
        if differences := _operands(squared, "-"):
            left, right = map(self._row, zip(*differences, strict=True))
            return tree.Squared(tree.Norm(tree.minus(left, right))) if left and right else None
        if vector := self._row(squared):
            return tree.Squared(tree.Norm(vector))
        if products := _operands(addends, "*"):
            left, right = map(self._row, zip(*products, strict=True))
            if left and right:
                return tree.Times((right, left) if self.columns else (left, right), " · ")
        return None

    def _row(self, addends: Sequence[Term]) -> tree.Formula | None:
        """Return the name of the row whose cells the addends are, in order; else None."""
        cells = [t for t in addends if isinstance(t, Leaf)]
        if self.row is None or not cells or len(cells) != len(addends):
            return None
        step, at = cells[0].step, cells[0].at[:-1]
        if any(c.step is not step or c.at[:-1] != at for c in cells):
            return None
        places = [c.at[-1] for c in cells]
        return self.row(cells[0]) if places == list(range(step.array.shape[-1])) else None


def _operands(addends: Sequence[Term], op: str) -> list[tuple[Term, ...]]:
    operands = [t.operands for t in addends if isinstance(t, Made) and t.op == op]
    return operands if len(operands) == len(addends) else []


def _arguments(addends: Sequence[Term], function: str) -> list[Term]:
    return [argument for (argument,) in _operands(addends, function)]


def _call(function: str, argument: tree.Formula) -> tree.Formula:
    return tree.Call(function, (argument,))


NODES: dict[str, Callable[..., tree.Formula]] = {
    "*": lambda *factors: tree.Times(factors),
    "/": tree.Fraction,
    "^": tree.Power,
    "negative": tree.Minus,
    "square": tree.Squared,
    "sqrt": tree.Root,
    "exp": lambda x: tree.Power(tree.Name("e"), x),
    **{word: partial(_call, word) for word in ("ln", "abs", "tanh", "erf")},
    "at_least_zero": lambda x: tree.Call("max", (x, tree.Number("0"))),
    "max": lambda *x: tree.Call("max", x),
}
