"""Formulas for the cells of a spreadsheet, from the calls of NumPy that an operation makes.

The calls that `apply` records are made again with arrays of items in place of numbers: an item is
the formula of a cell, or a float if no cell changes it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from attncli.core.arithmetic.calls import Call
from attncli.core.arithmetic.elements import Array, filled
from attncli.core.formulas import tree
from attncli.core.formulas.text import ATOM, POWER, PRODUCT, SUM, Printer
from attncli.core.formulas.tree import Formula

BLOCKED = -1e300
"""The number that stands for −∞, which spreadsheets do not have; its power is 0, too."""

NEARLY_BLOCKED = -1e290
"""Numbers below this one are −∞, also after a division by a temperature. Chosen."""

MAX_WHOLE = 1e15
"""Whole numbers below are written with all their digits, others with an exponent. Chosen."""

FEW = 3
"""Number of terms from which a sum of cells in a line is a function of their range. Chosen."""

MAX_PRODUCTS = 8
"""Maximum number of products of a row and a column that are written out. Chosen."""


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


Item: TypeAlias = Formula | float
"""A formula, or a number that no cell changes."""


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


def spreadsheet_text(item: Item) -> str:
    """Return what is written into a cell for an item.

    >>> spreadsheet_text(tree.Power(Reference(4, 2), tree.Number("2")))
    '=C5^2'
    """
    return f"={_Spreadsheet()(_formula(item))}"


def _formula(item: Item) -> Formula:
    if isinstance(item, Formula):
        return item
    number = max(item, BLOCKED)
    is_whole = number == int(number) and abs(number) < MAX_WHOLE
    return tree.Number(str(int(number)) if is_whole else repr(number).upper())


def _call(function: str, *items: Item) -> Formula:
    return tree.Call(function, tuple(map(_formula, items)))


def _plus(left: Item, right: Item) -> Item:
    if left == 0 or right == 0:
        return left if right == 0 else right
    return tree.plus(_formula(left), _formula(right))


def _minus(left: Item, right: Item) -> Item:
    if left == 0 or right == 0:
        return left if right == 0 else _negative(right)
    return tree.minus(_formula(left), _fenced(right, tree.Plus))


def _negative(item: Item) -> Item:
    return tree.Minus(_fenced(item, tree.Power))  # -2^2 is 4 in spreadsheets


def _fenced(item: Item, kind: type[Formula]) -> Formula:
    formula = _formula(item)
    return tree.Fence(formula) if isinstance(formula, kind) else formula


def _times(left: Item, right: Item) -> Item:
    if left == 0 or right == 0:
        return 0.0
    if left == 1 or right == 1:
        return left if right == 1 else right
    return tree.Times((_formula(left), _formula(right)))


def _over(left: Item, right: Item) -> Item:
    if left == 0 or right == 1:
        return left
    return tree.Fraction(_formula(left), _formula(right))


def _power(base: Item, exponent: Item) -> Item:
    return base if exponent == 1 else tree.Power(_formula(base), _formula(exponent))


def _compared(sign: str) -> Callable[[Item, Item], Item]:
    def compared(left: Item, right: Item) -> Item:
        if right == -np.inf:
            sides = (left, NEARLY_BLOCKED)
            return tree.Relation(tuple(map(_formula, sides)), ">" if sign == "<>" else "<")
        return tree.Relation((_formula(left), _formula(right)), sign)

    return compared


def _where(condition: Item, chosen: Item, other: Item) -> Item:
    """Return a choice; if the condition is asked again where it is known not to hold, once."""
    if not isinstance(condition, Formula):
        return chosen if condition else other

    def known(part: Formula) -> Formula | None:
        if isinstance(part, tree.Call) and part.function == "IF" and part.arguments[0] == condition:
            return part.arguments[2]
        return None

    return _call("IF", condition, chosen, tree.substituted(_formula(other), known))


def _unguarded(item: Item) -> Item:
    """Return the quotient of IF(x=0,0,y/x), or the item if it is anything else."""
    if not isinstance(item, tree.Call) or item.function != "IF":
        return item
    condition, chosen, other = item.arguments
    if not isinstance(condition, tree.Relation) or not isinstance(other, tree.Fraction):
        return item
    zero = tree.Number("0")
    is_guard = condition == tree.Relation((other.under, zero)) and chosen == zero
    return other if is_guard else item


def _erf(item: Item) -> Item:
    # Some spreadsheets lack ERF, or have it for positive numbers alone.
    of_normal = _minus(_times(2.0, _call("NORMSDIST", _times(item, math.sqrt(2)))), 1.0)
    return _call("IFERROR", _call("ERF", item), of_normal)


Rule: TypeAlias = Callable[..., Item]

OF_NUMBERS: Mapping[str, Rule] = {
    "add": _plus,
    "subtract": _minus,
    "multiply": _times,
    "divide": _over,
    "power": _power,
    "negative": _negative,
    "square": lambda x: _power(x, 2.0),
    "erf": _erf,
    "where": _where,
    "isfinite": lambda x: _compared("<>")(x, -np.inf),
    "maximum": partial(_call, "MAX"),
    "minimum": partial(_call, "MIN"),
    "absolute": partial(_call, "ABS"),
    "log": partial(_call, "LN"),
    "floor": partial(_call, "INT"),
    "bitwise_and": partial(_call, "AND"),
    "bitwise_or": partial(_call, "OR"),
    "invert": partial(_call, "NOT"),
    "equal": _compared("="),
    "not_equal": _compared("<>"),
    "less": _compared("<"),
    "less_equal": _compared("<="),
    "greater": _compared(">"),
    "greater_equal": _compared(">="),
    # Floats need numbers moved by a power of 2 so that no square of them is too large.
    "exponent": lambda x: 0.0,
    "ldexp": lambda x, exponent: x,
    **{
        name: partial(_call, name.upper())
        for name in ("exp", "tanh", "sqrt", "cos", "sin", "cosh", "sinh", "tan", "sign")
    },
}
"""Functions of each number, by the names that NumPy has for them."""


def _line(items: Sequence[Item]) -> Range | None:
    """Return the part of a row or of a column that the items are, in order; else None."""
    first, last = items[0], items[-1]
    if not isinstance(first, Reference) or not isinstance(last, Reference) or first == last:
        return None
    down, right = int(last.row > first.row), int(last.column > first.column)
    if down + right != 1:
        return None
    for place, item in enumerate(items):
        if item != Reference(first.row + down * place, first.column + right * place):
            return None
    return Range(first, last)


def _of_line(function: str) -> Callable[[Sequence[Item]], list[Item]]:
    def all_of(items: Sequence[Item]) -> list[Item]:
        line = _line(items)
        return [_call(function, *([line] if line else items))]

    return all_of


def _added(items: Sequence[Item]) -> Item:
    """Return the sum of items; that of cells in a line, or of what is made of them, by ranges."""
    terms = [item for item in items if not (isinstance(item, float) and item == 0)]
    if len(terms) >= FEW:
        if line := _line(terms):
            return _call("SUM", line)
        if folded := _folded(terms):
            return _call("SUMPRODUCT", *folded)
    total: Item = 0.0
    for term in terms:
        total = _plus(total, term)
    return total


WITH_ARRAYS = ("EXP", "TANH", "SQRT", "ABS", "LN", "COS", "SIN")
"""Functions that give an array for a range inside SUMPRODUCT; IF and MAX do not."""


def _folded(terms: Sequence[Any]) -> tuple[Formula, ...]:
    """Return a formula, or factors, of ranges for terms that differ in the place along a line.

    It is () if the terms differ in anything else.
    """
    if not all(isinstance(term, Formula) for term in terms):
        return ()
    parts: list[list[Formula]] = []
    shapes = {_replaced(term, parts) for term in terms}
    if len(shapes) != 1:
        return ()
    lines = [same[0] if len({*same}) == 1 else _line(same) for same in zip(*parts, strict=True)]
    ranges = [line for line in lines if isinstance(line, Range)]
    if None in lines or len({one.is_row for one in ranges}) != 1:
        return ()
    filled_in = iter(lines)
    whole = tree.substituted(terms[0], lambda part: next(filled_in) if _is_atom(part) else None)
    return (
        whole.factors if isinstance(whole, tree.Times) and whole.factors == (*ranges,) else (whole,)
    )


def _replaced(term: Formula, parts: list[list[Formula]]) -> Formula:
    """Return a term without the parts that may differ, which are added to a list."""
    parts.append([])

    def rule(part: Formula) -> Formula | None:
        if not _is_atom(part):
            return None
        parts[-1].append(part)
        return tree.Dots()

    return tree.substituted(term, rule)


def _is_atom(part: Formula) -> bool:
    """Return whether a part of terms is a cell, or must be the same in all."""
    is_function = isinstance(part, tree.Call) and part.function not in WITH_ARRAYS
    return is_function or isinstance(part, Reference | Range | tree.Relation)


OF_LINES: Mapping[str, Callable[..., list[Item]]] = {
    "sum": lambda items: [_added(items)],
    "total": lambda items: [_added(items)],
    "max": _of_line("MAX"),
    "min": _of_line("MIN"),
    "cumsum": lambda items: [_added(items[: place + 1]) for place in range(len(items))],
    "sort": lambda items: [_smallest(items, place + 1) for place in range(len(items))],
    "take_along_axis": lambda items, places: [
        _call("CHOOSE", _plus(place, 1.0), *items) for place in places
    ],
}
"""Functions of the items along an axis."""


def _smallest(items: Sequence[Item], place: int) -> Item:
    if line := _line(items):
        return _call("SMALL", line, float(place))
    folded = _folded(items)
    if len(folded) != 1:
        raise NotImplementedError("sort")
    return _call("SUMPRODUCT", _call("SMALL", *folded, float(place)))


def _dot(left: Sequence[Item], right: Sequence[Item]) -> Item:
    """Return the sum of the products of two lines of items."""
    row, column = _line(left), _line(right)
    if len(left) > MAX_PRODUCTS and row and column and row.is_row > column.is_row:
        return _call("SUMPRODUCT", _call("MMULT", row, column))
    return _added([*map(_times, left, right)])


def items_of(
    call: Any, items_of_source: Callable[[Any], Array], may_be_blocked: bool = True
) -> Array:
    """Return the items of recorded calls, in their shape; they are floats if no cell changes them.

    `items_of_source` returns those of a source, such as a step. If no line of scores
    `may_be_blocked`, no quotient has the case of a sum that is 0.

    Raises:
        NotImplementedError: for a function that spreadsheets do not have.
    """
    done: dict[int, Array] = {}

    def known(part: Any) -> Array:
        if not isinstance(part, Call):
            return np.asarray(part, float).astype(object)
        if id(part) not in done:
            if part.source is not None:
                items = items_of_source(part.source)
            else:
                items = _made(part, [known(operand) for operand in part.operands])
            done[id(part)] = items if may_be_blocked else _each(_unguarded, items)
        return done[id(part)]

    return known(call)


def _each(rule: Callable[..., Item], *arrays: Array) -> Array:
    """Return the items that a rule makes of those at the same place."""
    made: Any = np.frompyfunc(rule, len(arrays), 1)(*arrays)
    return np.asarray(made, object)


def _made(call: Call, operands: Sequence[Array]) -> Array:
    """Return the items of a call."""
    if not any(isinstance(item, Formula) for one in operands for item in one.flat):
        return call.array.astype(float).astype(object)
    result: Array
    if call.name == "move":
        result = np.concatenate([one.ravel() for one in operands])[call.options[0]]
    elif call.name in OF_LINES:
        result = _along(OF_LINES[call.name], call.options[0], *operands)
    elif call.name == "matmul":
        result = _product(*operands)
    elif call.name in OF_NUMBERS:
        result = _each(OF_NUMBERS[call.name], *operands)
    else:
        raise NotImplementedError(call.name)
    return result


def rounded(
    items: Array, decimals: int | None = None, significant: int | None = None, half: str = "up"
) -> Array:
    """Return items that are rounded as `Rounding` in `core/tape/by_hand` rounds numbers.

    Raises:
        NotImplementedError: for halves that are rounded to even digits.
    """
    if half != "up":
        raise NotImplementedError("half")

    def rule(item: Item) -> Item:
        if isinstance(item, Reference | float):
            return item
        if significant is None:
            return _call("ROUND", item, float(decimals or 0))
        digits = _call("INT", _call("LOG10", _call("ABS", item)))
        shown = _call("ROUND", item, _minus(float(significant - 1), digits))
        return _call("IF", tree.Relation((_formula(item), tree.Number("0")), "="), 0.0, shown)

    return _each(rule, items)


def _product(left: Array, right: Array) -> Array:
    """Return the items of a product of matrices, (…, n, d) and (…, d, m)."""
    lead = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    rows = np.broadcast_to(left, (*lead, *left.shape[-2:]))
    columns = np.broadcast_to(right, (*lead, *right.shape[-2:]))
    shape = (*lead, left.shape[-2], right.shape[-1])
    turned = columns.swapaxes(-1, -2)

    def item(at: tuple[int, ...]) -> Item:
        return _dot(list(rows[at[:-1]]), list(turned[(*at[:-2], at[-1])]))

    return filled(shape, item)


def _along(rule: Callable[..., list[Item]], axis: int, *arrays: Array) -> Array:
    """Return what a rule makes of each line along an axis."""
    lines = [np.moveaxis(array, axis, -1) for array in arrays]
    made = [rule(*(array[at] for array in lines)) for at in np.ndindex(lines[0].shape[:-1])]
    result = np.empty((len(made), len(made[0])), object)
    for place, line in enumerate(made):
        result[place] = line
    return np.moveaxis(result.reshape(*lines[0].shape[:-1], -1), -1, axis)
