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

from attncli.core.arithmetic.elements import Array, Call, PlainCall, filled
from attncli.core.calculation.trace import Trace
from attncli.core.errors import InputError
from attncli.core.formulas import tree
from attncli.core.formulas.printers import BLOCKED, NEARLY_BLOCKED, Range, Reference
from attncli.core.formulas.tree import Formula
from attncli.core.tape.evaluation import array_of, evaluate
from attncli.core.tape.step import Expression, Step

MAX_WHOLE = 1e15
"""Whole numbers below are written with all their digits, others with an exponent. Chosen."""

MIN_TERMS_OF_RANGE = 3
"""Number of terms from which a sum of cells in a line is a function of their range. Chosen."""

MAX_WRITTEN_PRODUCTS = 8
"""Maximum number of products of a row and a column that are written out. Chosen."""


Item: TypeAlias = Formula | float
"""A formula, or a number that no cell changes."""


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


def _compared(sign: str, left: Item, right: Item) -> Item:
    if right == -np.inf:
        right, sign = NEARLY_BLOCKED, ">" if sign == "<>" else "<"
    return tree.Relation((_formula(left), _formula(right)), sign)


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

SHEET_SIGNS = {
    "equal": "=", "not_equal": "<>", "less": "<", "less_equal": "<=", "greater": ">",
    "greater_equal": ">=",
}  # fmt: skip
SHEET_FUNCTIONS = {
    "maximum": "MAX", "minimum": "MIN", "absolute": "ABS", "log": "LN", "floor": "INT",
    "bitwise_and": "AND", "bitwise_or": "OR", "invert": "NOT", "exp": "EXP", "tanh": "TANH",
    "sqrt": "SQRT", "cos": "COS", "sin": "SIN", "cosh": "COSH", "sinh": "SINH", "tan": "TAN",
    "sign": "SIGN",
}  # fmt: skip
"""Signs and functions of spreadsheets by the names of those of NumPy."""

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
    "isfinite": lambda x: _compared("<>", x, -np.inf),
    **{name: partial(_compared, sign) for name, sign in SHEET_SIGNS.items()},
    **{name: partial(_call, word) for name, word in SHEET_FUNCTIONS.items()},
    # Floats need numbers moved by a power of 2 so that no square of them is too large.
    "exponent": lambda x: 0.0,
    "ldexp": lambda x, exponent: x,
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


def _of_line(function: str, items: Sequence[Item]) -> list[Item]:
    line = _line(items)
    return [_call(function, *([line] if line else items))]


def _added(items: Sequence[Item]) -> Item:
    """Return the sum of items; that of cells in a line, or of what is made of them, by ranges."""
    terms = [item for item in items if not (isinstance(item, float) and item == 0)]
    if len(terms) >= MIN_TERMS_OF_RANGE:
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
    is_function = isinstance(part, tree.Call) and part.function not in WITH_ARRAYS
    return is_function or isinstance(part, Reference | Range | tree.Relation)


OF_LINES: Mapping[str, Callable[..., list[Item]]] = {
    "sum": lambda items: [_added(items)],
    "total": lambda items: [_added(items)],
    "max": partial(_of_line, "MAX"),
    "min": partial(_of_line, "MIN"),
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


class SheetFormulas:
    """The formulas of one trace, whose numbers stand in cells of a sheet.

    Attributes:
        cells: by a step or an operand, what formulas write for its numbers: references, if the
            numbers stand in cells, or else what makes them.
        settings: by a key of one number, that number and its cell.
        read: the keys whose cells a formula reads.
        fixed: the names of steps that no formula makes.
    """

    def __init__(self, trace: Trace) -> None:
        self.rounding = trace.problem.round
        keys = {step.key for step in trace.inputs.values()}
        # Only where scores may be −∞ is a sum of powers 0.
        self.may_block = not keys.isdisjoint(("mask", "bias", "scores"))
        self.cells: dict[Expression, Array] = {}
        self.settings: dict[str, tuple[float, Reference]] = {}
        self.read: dict[str, None] = {}
        self.fixed: dict[str, None] = {}

    def of(self, part: Expression) -> Array:
        """Return the items of a step, or of an operand; floats if no cell changes them."""
        if part in self.cells:
            return self.cells[part]
        expression, array = part.operation if isinstance(part, Step) else part, array_of(part)
        if expression is None:
            return array.astype(object)
        try:
            call = evaluate(expression, lambda s: PlainCall(s.array, source=s), self._number)
            items = np.broadcast_to(self._known(call, {}), array.shape)
            if isinstance(part, Step) and self.rounding:
                items = rounded(items, **self.rounding)
        except (InputError, NotImplementedError):
            items = array.astype(object)
            self.fixed[part.word if isinstance(part, Step) else "a part of a step"] = None
        self.cells[part] = items
        return items

    def place(self, step: Step, places: Array, cells: Array) -> None:
        """Note that the numbers at some places of a step's array stand in cells."""
        items = self.of(step).copy()
        items.flat[places] = cells
        self.cells[step] = items

    def _number(self, number: float) -> Any:
        """Return a number of an operation, recorded if it is a root, or that of a key."""
        written, value = getattr(number, "formula", None), float(number)
        if isinstance(written, tree.Own):
            if self.settings.get(written.key, ("",))[0] == value:
                return PlainCall(np.asarray(value), source=written.key)
            written = written.inner
        is_root = isinstance(written, tree.Root) and isinstance(written.operand, tree.Number)
        return PlainCall(np.asarray(value), source=written) if is_root else value

    def _known(self, part: Any, done: dict[int, Array]) -> Array:
        """Return the items of a call or a number; `done` has those of calls, by their identity."""
        if not isinstance(part, Call):
            return np.asarray(part, float).astype(object)
        if id(part) not in done:
            operands = [self._known(operand, done) for operand in part.operands]
            items = _made(part, operands) if part.source is None else self._of_source(part.source)
            done[id(part)] = items if self.may_block else _each(_unguarded, items)
        return done[id(part)]

    def _of_source(self, source: Step | Formula | str) -> Array:
        if isinstance(source, str):
            self.read[source] = None
            return np.array(self.settings[source][1], object)
        return np.array(source, object) if isinstance(source, Formula) else self.of(source)


def _made(call: Call, operands: Sequence[Array]) -> Array:
    """Return the items of a call.

    Raises:
        NotImplementedError: for a function that spreadsheets do not have.
    """
    if not any(isinstance(item, Formula) for one in operands for item in one.flat):
        return call.array.astype(float).astype(object)
    if call.name == "move":
        moved: Array = np.concatenate([one.ravel() for one in operands])[call.options[0]]
        return moved
    if call.name == "matmul":
        return _product(*operands)
    if call.name in OF_LINES:
        return _along(OF_LINES[call.name], call.options[0], *operands)
    if call.name in OF_NUMBERS:
        return _each(OF_NUMBERS[call.name], *operands)
    raise NotImplementedError(call.name)


def _each(rule: Callable[..., Item], *arrays: Array) -> Array:
    return np.asarray(np.frompyfunc(rule, len(arrays), 1)(*arrays), object)


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
        left, right = list(rows[at[:-1]]), list(turned[(*at[:-2], at[-1])])
        row, column = _line(left), _line(right)
        if len(left) > MAX_WRITTEN_PRODUCTS and row and column and row.is_row > column.is_row:
            return _call("SUMPRODUCT", _call("MMULT", row, column))
        return _added([*map(_times, left, right)])

    return filled(shape, item)


def _along(rule: Callable[..., list[Item]], axis: int, *arrays: Array) -> Array:
    lines = [np.moveaxis(array, axis, -1) for array in arrays]
    made = [rule(*(array[at] for array in lines)) for at in np.ndindex(lines[0].shape[:-1])]
    result = np.empty((len(made), len(made[0])), object)
    for place, line in enumerate(made):
        result[place] = line
    return np.moveaxis(result.reshape(*lines[0].shape[:-1], -1), -1, axis)
