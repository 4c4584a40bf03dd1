"""Expressions in the places of queries and keys: a bias, and the condition of a mask.

`i` is the query and `j` the key, counted from 1; `document[i]` is the entry of a list at a query.
True is 1 and false 0. What has no value, as 1/0, is nan, and so is all that depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import reduce
from typing import Any

import numpy as np

from attncli.core.arithmetic.elements import Array
from attncli.core.errors import KeyPath, fail
from attncli.core.formulas import tree
from attncli.core.formulas.text import text
from attncli.core.numbers.parser import FUNCTIONS, INFINITE, MAX_LENGTH, SIGNS, NumberError, Parser
from attncli.core.numbers.written import TRUTHS, WORK, decimal_of, dotted, operation_of
from attncli.core.numbers.written import evaluate as number_of
from attncli.core.text.strings import did_you_mean, visible

CONDITION_NAMES = ("i", "j", "p", "n", "m")
"""The query, the key, the query's place among the keys, and how many queries and keys there are."""

COMPARISONS: dict[str, Callable[..., Any]] = {
    "=": np.equal, "≠": np.not_equal, "<": np.less, "≤": np.less_equal,
    ">": np.greater, "≥": np.greater_equal,
}  # fmt: skip
AS_SHOWN = {"==": "=", "!=": "≠", "<=": "≤", ">=": "≥"}
OF_SEVERAL = ("min", "max")
INSTEAD = {
    "&": "write and", "|": "write or", "!": "write not", "~": "write not", "=": "write ==",
    "q_idx": "write (i - 1), as i counts from 1",
    "kv_idx": "write (j - 1), as j counts from 1",
}  # fmt: skip
"""What to write instead of signs and names of other languages, such as those of FlexAttention."""


class _Expressions(Parser):
    """Reads an expression that may have comparisons, remainders and entries of some lists."""

    signs = rf"//|[<>=!]=|[%<>≤≥≠\[\],]|{SIGNS}"
    words = ("and", "or", "not")
    lists: Collection[str] = ()

    def expression(self) -> tree.Formula:
        return self._joined("or", lambda: self._joined("and", self._denial))

    def _joined(self, word: str, part: Callable[[], tree.Formula]) -> tree.Formula:
        parts = [part()]
        while self.taken(word):
            parts.append(part())
        return tree.Infix(tuple(parts), word) if len(parts) > 1 else parts[0]

    def _denial(self) -> tree.Formula:
        if self.taken("not"):
            return tree.Call("not", (self.deeper(self._denial),))
        sides, pairs = [self.sum()], list[tree.Formula]()  # a < b < c is a < b and b < c
        while sign := self.taken(*COMPARISONS, *AS_SHOWN):
            sides.append(self.sum())
            pairs.append(tree.Infix(tuple(sides[-2:]), AS_SHOWN.get(sign, sign)))
        return tree.Infix(tuple(pairs), "and") if len(pairs) > 1 else [*pairs, sides[0]][0]

    def atom(self) -> tree.Formula:
        node = super().atom()
        if isinstance(node, tree.Number):
            number_of(node)  # refuse one that floats cannot hold
        return node

    def named(self, text: str, at: int) -> tree.Formula:
        if text in OF_SEVERAL and self.taken("("):
            parts = [self.deeper(self.expression)]
            while self.taken(","):
                parts.append(self.deeper(self.expression))
            if not self.taken(")"):
                raise NumberError(f"{self.shown()} has a ( without a )", "text")
            return tree.Call(text, tuple(parts))
        if text in self.lists and self.taken("["):
            if (place := self.taken("i", "j", "p")) and self.taken("]"):
                return tree.Cell(text, (), (place,))
            way = f"{text}[i] is the query's entry, {text}[j] the key's"
            raise NumberError(f"{text} takes i, j or p: {way}", at=at)
        if text in TRUTHS:
            return tree.Number(f"{TRUTHS[text]:g}")
        entries = [f"{name}[{place}]" for name in self.lists for place in "ij"]
        known = [*self.names, *entries, *FUNCTIONS, *OF_SEVERAL, "e", "pi"]
        is_constant = text.lower() in ("pi", "π", "nan", *INFINITE)
        if is_constant or (text in known and text not in OF_SEVERAL):
            return super().named(text, at)
        way = INSTEAD.get(text) or did_you_mean(text, known)
        if self.taken("["):
            way = f"write {text}: […] beside it" if not self.lists else way
        raise NumberError(f"unknown name {visible(text)}; {way}", at=at)

    def strange(self, sign: str, at: int) -> NumberError:
        hint = f"; {INSTEAD[sign]}" if sign in INSTEAD else ""
        return NumberError(f"{visible(sign)} has no meaning here{hint}", at=at)


def expression(
    written: str, path: KeyPath, names: Collection[str], lists: Collection[str] = ()
) -> tree.Formula:
    """Return the formula of an expression, in which some names and entries of lists are allowed.

    Raises:
        InputError: for one that cannot be read, with the column in it.
    """
    if not written.strip():
        raise fail(f"{dotted(path)} is empty", *path, hint="write such as j <= i")
    parser = None
    try:
        if len(written) > MAX_LENGTH:
            raise NumberError(f"an expression has at most {MAX_LENGTH} characters", "text", 0)
        parser = _Expressions(written, names)
        parser.lists = lists
        return parser.whole()
    except NumberError as error:
        at = parser.tokens[parser.at][2] if parser and error.at is None else error.at or 0
        message = f"{dotted(path)}: {error} (column {at + 1} of the expression)"
        raise fail(message, *path, needs=error.needs) from None


def _by(work: Callable[..., Any]) -> Callable[..., Any]:
    return lambda over, under: work(over, np.where(np.equal(under, 0), np.nan, under))


def _compared(work: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, b: np.where(np.isnan(a) | np.isnan(b), np.nan, work(a, b))


def _truth(a: Any) -> Any:
    return np.where(np.equal(a, 0) | np.equal(a, 1), a, np.nan)


ON_ARRAYS: dict[str, Callable[..., Any]] = {
    **WORK,
    "^": np.power, "sqrt": np.sqrt, "exp": np.exp, "min": np.minimum, "max": np.maximum,
    "/": _by(np.true_divide), "//": _by(np.floor_divide), "mod": _by(np.mod),
    **{sign: _compared(work) for sign, work in COMPARISONS.items()},
    "not": lambda a: 1 - _truth(a),
    "and": lambda a, b: np.where(np.equal(a, 0), 0.0, _truth(a) * _truth(b)),  # 0 decides alone
    "or": lambda a, b: np.where(np.equal(a, 1), 1.0, _truth(a) + _truth(b)),
}  # fmt: skip


def on_arrays(formula: tree.Formula, names: Mapping[str, Any]) -> Any:
    """Return the values of an expression in which names, and other texts, are arrays."""
    if (word := text(formula)) in names:
        return names[word]
    parts = [on_arrays(part, names) for part in tree.parts(formula)]
    if not parts:
        return number_of(formula)
    work = ON_ARRAYS[operation_of(formula)]
    return work(*parts) if len(parts) == 1 else reduce(work, parts)


Lists = Mapping[str, tuple[str, ...]]
"""The entries of lists as they were written, a number or a word each, by the name of the list."""

OF_TOKENS = "document"
"""The list that a key of the problem gives, as all expressions of it may use it."""


def entries_of(formula: tree.Formula) -> list[tree.Cell]:
    """Return the entries of lists in an expression, such as document[i]."""
    return [node for node in tree.nodes(formula) if isinstance(node, tree.Cell)]


def check_lists(
    formula: tree.Formula,
    lists: Lists,
    n: int,
    m: int,
    path: KeyPath = (),
    outer: Collection[str] = (),
) -> None:
    """Raise an InputError unless the lists have an entry for each of n queries, or m keys.

    `path` is the key that holds the lists, but for the `outer` ones, which are keys themselves.
    """
    for entry in entries_of(formula):
        if entry.name not in lists:
            message = f"{text(formula)} has {text(entry)}, but there is no {entry.name}"
            hint = f"write {entry.name}: [1, 1, 2], an entry for each token"
            raise fail(message, *path, hint=hint, needs="values")
        of, count = ("queries", n) if entry.places == ("i",) else ("keys", m)
        if (size := len(lists[entry.name])) != count:
            needs = f"{text(entry)} needs one for each of {count} {of}"
            at = (entry.name,) if entry.name in outer else (*path, entry.name)
            message = f"{dotted(at)} has {size} entries, but {needs}"
            hint = "write a number or a word for each token"
            raise fail(message, *at, hint=hint, needs="sizes")


def of_entries(formula: tree.Formula, lists: Lists, places: Mapping[str, Array]) -> dict[str, Any]:
    """Return the numbers of the entries in an expression, and of equalities, as for words, too.

    `places` are i, j and p, counted from 1.
    """
    values_by_text: dict[str, Any] = {}
    codes: dict[float | str, float] = {}
    same: dict[str, Array] = {}
    for entry in entries_of(formula):
        decimals = [(decimal_of(word), word) for word in lists[entry.name]]
        values = [word if decimal is None else decimal[0] for decimal, word in decimals]
        numbers = [np.nan if isinstance(value, str) else value for value in values]
        of_values = [codes.setdefault(value, float(len(codes))) for value in values]
        at = places[entry.places[0]].astype(int) - 1
        at = np.where((at >= 0) & (at < len(values)), at, len(values))
        values_by_text[text(entry)] = np.array([*numbers, np.nan])[at]
        same[text(entry)] = np.array([*of_values, np.nan])[at]
    for node in tree.nodes(formula):
        sides = [*map(text, tree.parts(node))]
        if isinstance(node, tree.Infix) and node.word in "=≠" and same.keys() >= {*sides}:
            values_by_text[text(node)] = ON_ARRAYS[node.word](*(same[side] for side in sides))
    return values_by_text


def with_values(formula: tree.Formula, values: Mapping[str, float], lists: Lists) -> tree.Formula:
    """Return an expression with numbers for its names, and words for its entries of lists."""

    def rule(node: tree.Formula) -> tree.Formula | None:
        if isinstance(node, tree.Cell):
            return tree.Words(lists[node.name][int(values[node.places[0]]) - 1])
        word = text(node) if isinstance(node, tree.Name) else ""
        return tree.Number(f"{values[word]:.17g}") if word in values else None

    return tree.substituted(formula, rule)


class Condition(str):
    """The text of a condition that keeps a key for a query, with its formula and lists.

    A grid is a `masks.Grid`, the queries and keys for which it is evaluated.
    """

    formula: tree.Formula
    lists: Lists
    outer: Collection[str]  # the names of lists that stand beside the mask, not in it

    @classmethod
    def of(
        cls, formula: tree.Formula, lists: Lists, written: str = "", outer: Collection[str] = ()
    ) -> Condition:
        condition = cls(written or text(formula))
        condition.formula, condition.lists, condition.outer = formula, lists, outer
        return condition

    def beside(self, lists: Lists) -> Condition:
        """Return the same condition, which may also use these lists."""
        outer = {*lists} - {*self.lists}
        return Condition.of(self.formula, {**lists, **self.lists}, str(self), outer)

    def check(self, n: int, m: int) -> None:
        """Raise an InputError unless the lists have an entry for each query, or key."""
        check_lists(self.formula, self.lists, n, m, ("mask",), self.outer)

    def names(self, grid: Any) -> dict[str, Any]:
        """Return the arrays of the names and entries in it."""
        i, j, p = grid.query + 1.0, grid.key + 1.0, grid.position + 1.0
        names: dict[str, Any] = {"i": i, "j": j, "p": p, "n": grid.n, "m": grid.m}
        return names | of_entries(self.formula, self.lists, names)

    def values(self, grid: Any) -> Array:
        """Return 1 where a key is kept, 0 where it is not and else nan, (rows, keys)."""
        with np.errstate(all="ignore"):
            values = _truth(on_arrays(self.formula, self.names(grid)))
        return np.broadcast_to(values, (len(grid.query), grid.key.shape[1]))

    def failing(self, grid: Any) -> str:
        """Return what is false for the only query and key of a grid: `3 ≤ 2 is false`; or ""."""
        names = self.names(grid)
        is_and = isinstance(self.formula, tree.Infix) and self.formula.word == "and"
        for part in tree.parts(self.formula) if is_and else [self.formula]:
            if not np.all(on_arrays(part, names)):
                values = {name: np.ravel(numbers)[0] for name, numbers in names.items()}
                return f"{text(with_values(part, values, self.lists))} is false"
        return ""
