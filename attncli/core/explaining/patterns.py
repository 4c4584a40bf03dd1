"""Terms to formulas: those of cells, with their numbers or the names of their operands filled in.

Cells that are made in the same way share a pattern: a formula with slots, which is made once. The
objects here belong to one explainer and keep patterns, numbers and names for its cells.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from functools import cache, partial

from attncli.core.explaining import terms
from attncli.core.explaining.terms import Chosen, Constant, Leaf, Made, Named, Term
from attncli.core.formulas import tree
from attncli.core.numbers.written import MAX_DIGITS_OF_FLOATS, NumberAsWritten
from attncli.core.records import Record
from attncli.core.tape.cell_names import Index, cell, row
from attncli.core.tape.step import Step
from attncli.core.text.numbers import every_digit, number_text
from attncli.core.text.strings import LIMIT

MAX_NAMES_SHOWN = 4
"""Maximum number of names of cells in a sum; a longer one is shown with its middle left out."""


class Form(Record, eq=False):
    """A term as its leaves, in a structure that it shares with others.

    `others` are its choices, and the terms that have a letter.
    """

    term: Term
    structure: int
    leaves: list[Term]
    others: list[Term]


class FilledFormula(Record, eq=False):
    """A formula with numbers filled in: its term, the leaves of that, and the number of each.

    `slots` has the place of the leaf in each slot of its pattern.
    """

    term: Term
    leaves: Sequence[Term]
    numbers: Sequence[tree.Number]
    slots: Sequence[int]


class Patterns:
    """Fills in the formulas of the cells of one trace."""

    def __init__(self, decimals: int, full: bool, columns: bool, to_refill: bool) -> None:
        self.decimals = decimals
        self.full = full
        self.columns = columns
        self.to_refill = to_refill  # whether other numbers are filled in later
        self.patterns: dict[object, tuple[tree.Pattern, list[tuple[int, bool]]]] = {}
        self.structures: dict[object, int] = {}
        self.workers: dict[int, Callable[[Iterator[float]], float]] = {}
        # A number or a name is part of many cells, and made once.
        self.number_text = cache(number_text)
        self.shorter, self.number = cache(self._shorter), cache(self._number)
        self.cell, self.row = cache(cell), cache(row)

    def form(self, term: Term) -> Form:
        leaves, others = list[Term](), list[Term]()
        structure = terms.structure(term, leaves, others)  # whose hash takes longer than a number's
        number = self.structures.setdefault(structure, len(self.structures))
        return Form(term, number, leaves, others)

    def names(self, form: Form) -> tree.Formula | None:
        """Return the formula with names of cells and rows; None if it is only a number."""
        if isinstance(form.term, Chosen | Constant) and not any(terms.terms_in(form.term, Leaf)):
            return None
        pattern, shown = self.pattern(form, has_names=True)
        return _filled(pattern, [self.name(form.leaves[place], is_row) for place, is_row in shown])

    def name(self, leaf: Term, is_row: bool) -> tree.Cell | tree.Vector:
        assert isinstance(leaf, Leaf)  # letters have no slots
        return self.row(leaf.step, leaf.at) if is_row else self.cell(leaf.step, leaf.cell[1])

    def numbers(self, form: Form, result: str) -> tuple[tree.Formula, FilledFormula]:
        """Return the formula with numbers, with digits enough to give the result; and its parts."""
        digits = self.digits(form, result)
        numbers = [self.number(leaf, digits) for leaf in form.leaves]
        pattern, shown = self.pattern(form, has_names=False)
        slots = [place for place, _ in shown]
        filled = _filled(pattern, [numbers[place] for place in slots])
        return filled, FilledFormula(form.term, form.leaves, numbers, slots)

    def digits(self, form: Form, result: str) -> int:
        """Return how many digits of its numbers a formula needs to give the result."""
        key = form.structure
        for digits in range(self.decimals, MAX_DIGITS_OF_FLOATS + 1):
            if self.to_refill:
                break
            shorter = [self.shorter(leaf, digits) for leaf in form.leaves]
            if all(is_whole for _, is_whole in shorter):
                break  # more digits would not change the numbers
            if key not in self.workers:
                self.workers[key] = terms.worker(form.term)
            if self.prints(self.workers[key](iter([value for value, _ in shorter])), result):
                break
        return digits

    def prints(self, shown: float, result: str) -> bool:
        """Return True if a number would be printed as the result is."""
        _, _, exponent = result.partition("e")
        unit = 10.0 ** (int(exponent or 0) - self.decimals)
        wanted = _as_float(result)
        return shown == wanted or abs(shown - wanted) <= unit / 2

    def _number(self, term: Term, digits: int) -> tree.Number:
        source = term.cell if isinstance(term, Leaf) else None
        return tree.Number(self.number_text(term.value, digits), source)

    def _shorter(self, term: Term, digits: int) -> tuple[float, bool]:
        """Return the value of a term's text, and whether more digits would not change it."""
        text = self.number_text(term.value, digits)
        value = _as_float(text)
        return value, value == term.value and "e" not in text

    def pattern(self, form: Form, has_names: bool) -> tuple[tree.Pattern, list[tuple[int, bool]]]:
        """Return a formula with slots, and for each the place of its leaf and whether it is a row.

        Terms that differ only in what fills the slots have the same one.
        """
        key = ("names", form.structure, *lines_of(form.leaves)) if has_names else form.structure
        if key in self.patterns:
            return self.patterns[key]
        leaves: list[Term] = []
        shown: list[tuple[int, bool]] = []

        def alone(part: Term) -> Term:
            # A leaf that is there twice may be two of another cell, unless the key has their names.
            leaves.append(part if has_names else copy(part))
            return leaves[-1]

        def slot(part: Leaf | Named, is_row: bool = False) -> tree.Formula:
            if has_names and isinstance(part, Named):
                return tree.Name(part.symbol)
            shown.append((places[id(part)], is_row))
            return tree.Slot(len(shown) - 1)

        copied = terms.replaced(form.term, alone)
        places = {id(leaf): place for place, leaf in enumerate(leaves)}
        of_row, most = (partial(slot, is_row=True), MAX_NAMES_SHOWN) if has_names else (None, LIMIT)
        ends = 2 if has_names else 3
        formula_of = FormulaOf(slot, of_row, math.inf if self.full else most, ends, self.columns)
        self.patterns[key] = tree.Pattern(formula_of(copied)), shown
        return self.patterns[key]


def _filled(
    pattern: tree.Pattern, parts: Sequence[tree.Number | tree.Cell | tree.Vector]
) -> tree.Formula:
    """Return a pattern with its parts; the formula itself where it is only one of them, or none."""
    filled = tree.Filled(pattern, tuple(parts))
    is_one = not parts or isinstance(pattern.formula, tree.Slot)
    return filled.formula if is_one else filled


def lines_of(leaves: Sequence[Term]) -> list[object]:
    """Return what is equal for the leaves of cells of which the same are whole rows, in order."""
    lines: dict[tuple[Step, Index], list[int]] = {}  # its number, first place, and count of leaves
    same: list[object] = []
    for leaf in leaves:
        if isinstance(leaf, Leaf):
            place = leaf.at[-1]
            line = lines.setdefault((leaf.step, leaf.at[:-1]), [len(lines), place, 0])
            line[2] += 1
            same += line[0], place - line[1]
        else:
            assert isinstance(leaf, Named)  # `structure` adds no others
            same.append(leaf.symbol)
    for (step, _), (_, first, count) in lines.items():
        same.append(first == 0 and count >= step.array.shape[-1])  # it may be whole
    return same


def _as_float(text: str) -> float:
    return float(text.replace("∞", "inf"))


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
