"""How the cells of a page were made, as formulas whose numbers are links.

What the formulas of a matrix's cells share, their shape, is kept once, as markup with empty
elements of the class `s`; for each cell only the texts that fill these elements are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from functools import cache, cached_property

import numpy as np

from attncli.core.arithmetic.elements import Array, Call
from attncli.core.calculation.trace import Trace
from attncli.core.errors import InputError
from attncli.core.explaining.explain import CellPlace, Explainer, Explanation
from attncli.core.explaining.patterns import (
    VALUE,
    WHICH,
    Derivation,
    Filling,
    Names,
    Outline,
    largest_of,
)
from attncli.core.explaining.terms import Leaf, Term
from attncli.core.formulas import tree
from attncli.core.formulas.printers import MathML
from attncli.core.formulas.text import binds_enough
from attncli.core.formulas.text import text as as_text
from attncli.core.records import Record, replace
from attncli.core.tape.cell_names import Index, place_of
from attncli.core.tape.evaluation import array_of, evaluate
from attncli.core.tape.step import Expression, Step
from attncli.core.text.strings import label_text
from attncli.pages.markup import text
from attncli.printing.blocks import Panel


def key_of(step: Step) -> object:
    """Return what is equal for a step and the input that gives it, but not if heads are cut."""
    return step.name, step.array.shape, step.leading


WriteBody = Callable[[Sequence[Trace], "CellFormulas"], Iterator[str]]
"""Yields the body of a page of some problems, and adds their explanations."""


class PageCells:
    """The cells of one trace that a page shows, numbered in the order in which they are shown.

    Every cell of a step has an id, counted from 1 over all steps of the page. To see whose number
    is where in an operand, such as Kᵀ, the calls of its operation are recorded: if they only move
    numbers (transpose, cut, repeat, put side by side), the ids are moved in the same way.
    """

    def __init__(self, before: int = 0) -> None:
        self.before = before  # the count of cells of other traces on the page
        self.starts: dict[object, int] = {}  # the id before a step's first, by `key_of`
        self.steps: list[Step] = []
        self.count = 0  # of ids so far
        self.numbers: dict[int, int] = {}  # by id
        self.ids_of = cache(self._ids_of)

    def ids(self, panel: Panel) -> Array:
        """Return the ids of what a panel shows, for its `rows` and `columns`.

        An id is 0 if the number is not one of a step, as in a product, or is left out.
        """
        rows, columns = panel.matrix.rows, panel.matrix.columns
        places = np.ix_([row or 0 for row in rows], [column or 0 for column in columns])
        ids: Array = panel.on_page(self.whole(panel.part))[places]
        ids[[row is None for row in rows]] = 0
        ids[:, [column is None for column in columns]] = 0
        return ids

    def whole(self, part: Expression) -> Array:
        """Return the ids of all numbers of a part, in its layout; 0 if they are not of a step."""
        try:
            call = evaluate(part, lambda step: Call(step.array, source=step))
        except InputError:  # it is no program of calls
            return self.of_calculated(part)
        operands, places = call.origin() if isinstance(call, Call) else ((), call)
        if not operands or any(operand.name for operand in operands):
            return self.of_calculated(part)
        ids = [
            np.zeros(one.shape, int) if one.source is None else self.ids_of(one.source)
            for one in operands
        ]
        moved: Array = np.concatenate([one.ravel() for one in ids])[places]
        return moved

    def of_calculated(self, part: Expression) -> Array:
        return np.zeros(array_of(part).shape, np.int64)

    def register(self, step: Step) -> int:
        """Return the id before the first of a step."""
        key = key_of(step)
        if key not in self.starts:
            self.starts[key] = self.count
            self.steps.append(step)
            self.count += step.array.size
        return self.starts[key]

    def _ids_of(self, step: Step) -> Array:
        first, size = self.register(step) + 1, step.array.size
        return np.arange(first, first + size).reshape(step.array.shape)

    def id_of(self, leaf: Leaf) -> int:
        return int(self.ids_of(leaf.step).item(leaf.at))

    def numbered(self, ids: Array) -> list[list[int]]:
        """Return the numbers of cells by their ids; those that have none get the next ones."""
        for one in ids.ravel().tolist():
            if one and one not in self.numbers:
                self.numbers[one] = self.before + len(self.numbers) + 1
        return [[self.numbers.get(one, 0) for one in row] for row in ids.tolist()]

    def place(self, step: Step, one: int) -> Index:
        """Return the index of the cell of an id in the `value` of its step."""
        offset = one - self.starts[key_of(step)] - 1
        at = np.unravel_index(offset, step.array.shape)
        return place_of(step, tuple(int(i) for i in at))

    def by_source(self, most: float = np.inf) -> dict[CellPlace, int]:
        """Return the numbers of the cells that are shown, of steps of at most `most` cells."""
        cells = []
        for step in self.steps:
            if step.array.size <= most:
                first = self.starts[key_of(step)] + 1
                some = [self.numbers.get(one, 0) for one in range(first, first + step.array.size)]
                numbers = step.on_paper(np.reshape(some, step.array.shape))
                for place in map(tuple, np.argwhere(numbers).tolist()):
                    cells.append((int(numbers[place]), (step.name, place)))
        return {source: number for number, source in sorted(cells)}


class Chain(Record, eq=False):
    """The markup that the explanations of a kind of cells share.

    Attributes:
        markup: what is around the names of other cells and rows.
        fills: what fills these names and the empty elements, in order; a text is always the same.
    """

    markup: Sequence[str]
    fills: Sequence[str | Filling]

    @cached_property
    def words(self) -> Sequence[str | Filling]:
        """The fills that are no numbers of cells."""
        return [fill for fill in self.fills if isinstance(fill, str) or fill.names]


class CellFormulas:
    """The explanations of a page's cells.

    Attributes:
        shapes: the markup of explanations, each with its place in the list.
        cells: by the number of the cell in the page: its sources as runs of numbers, the place of
            its shape, its name, and the texts that fill the rest; after the text of a number the
            number of its cell follows, if the page shows that.
    """

    def __init__(self) -> None:
        self.shapes: dict[str, int] = {}
        self.cells: dict[int, Sequence[object]] = {}
        self.names: dict[object, tuple[str, Sequence[str | int]]] = {}

    def begin(self, trace: Trace, before: int, decimals: int, full: bool) -> PageCells:
        """Begin a problem, and return its cells; `before` is the count of others on the page."""
        self.begin_cells(Explainer(trace, decimals, full))
        return PageCells(before)

    def begin_cells(self, explainer: Explainer) -> None:
        """Forget what the cells of another problem share."""
        self.explainer, self.patterns = explainer, explainer.patterns
        self.chains: dict[Outline, Chain] = {}
        self.name_of, self.number_texts = cache(self._name_of), cache(self._number_texts)
        self.number_of = cache(lambda leaf: self.shown.get(leaf.cell, 0))

    def end(self) -> None:
        """End a problem."""

    def add(self, number: int, step: Step, place: Index, shown: Mapping[CellPlace, int]) -> None:
        """Add how a cell was made; `shown` gives the numbers of the page's cells."""
        self.shown = shown
        made = self.explainer.derive(step, place)
        chain = self.chain_of(made)
        shape, fills = self.filled(chain, chain.fills, made)
        which = self.shapes.setdefault(shape, len(self.shapes))
        name = as_text(self.patterns.cell(step, place))
        self.cells[number] = [self.lit(made), which, name, *fills]

    def lit(self, made: Derivation) -> str:
        """Return the cells from which one was made, as runs of their numbers."""
        name = made.step.name
        numbers = {self.number_of(leaf) for leaf in made.leaves if leaf.step.name != name}
        return runs(sorted(numbers - {0}))

    def chain_of(self, made: Derivation) -> Chain:
        """Return the markup that a cell shares with the others of its kind."""
        outline = self.patterns.outline(made)
        if outline not in self.chains:
            printer = Shape(outline.fillings)
            markup = "".join(lines(printer, outline, self.explainer.written(made)))
            self.chains[outline] = Chain(markup.split(NAME_MARK), printer.fills)
        return self.chains[outline]

    def filled(
        self, chain: Chain, chosen: Sequence[str | Filling], made: Derivation
    ) -> tuple[str, list[object]]:
        """Return the markup of an explanation, and those of its fills that are chosen."""
        fills, rest = list[object](), iter(chain.markup)
        shape = [next(rest)]
        for fill in chosen:
            if isinstance(fill, str):
                fills.append(fill)
            elif fill.leaf == VALUE:
                fills.append(number_fill(self.patterns.text(made, fill), fill.is_loose))
            else:
                form = made.forms[fill.form]
                leaf = form.leaves[fill.leaf] if fill.leaf >= 0 else largest_of(form.leaves)
                if fill.names:
                    markup, words = self.name_of(leaf, fill.names)
                    shape += markup, next(rest)
                    fills += words
                else:  # its text, and the number of its cell if the page shows that
                    fills += self.number_texts(leaf, form.digits, fill.is_loose)
        return "".join(shape), fills

    def _number_texts(self, leaf: Term, digits: int, is_loose: bool) -> list[object]:
        fills: list[object] = [number_fill(self.patterns.number_text(leaf.value, digits), is_loose)]
        number = self.number_of(leaf) if isinstance(leaf, Leaf) else 0
        return [*fills, number] if number else fills

    def _name_of(self, leaf: Term, names: Names) -> tuple[str, list[str]]:
        """Return the markup of a name, which cells of a matrix share, and what fills it."""
        node = self.patterns.name(leaf, names)
        lead = node.lead if isinstance(node, tree.Cell) else None
        key = node.name, lead, *map(str.isdecimal, node.places)
        if key not in self.names:
            printer = _NameShape()
            self.names[key] = printer(node), printer.fills
        markup, fills = self.names[key]
        return markup, [f if isinstance(f, str) else label_text(node.places[f]) for f in fills]

    @property
    def data(self) -> Mapping[str, object]:
        return {"shapes": list(self.shapes), "cells": self.cells}

    def page_data(self, traces: Sequence[Trace], body: WriteBody) -> Mapping[str, object]:
        """Return what the script of a page reads, whose body `body` writes for some traces."""
        return self.data


def lines(printer: Shape, outline: Outline, explanation: Explanation) -> Iterator[str]:
    """Yield the name with the first formula, then each other part of the chain, and the reason."""
    name = '<span class="name s"></span> '
    parts = [part for part in explanation.kept if part != "name"]
    last = "≈" if "unrounded" in outline.nodes else "="
    for place, part in enumerate(parts):
        sign = last if place == len(parts) - 1 else "="
        pieces = printer.pieces(sign, outline.nodes[part])
        formula = " ".join(f"<math>{piece}</math>" for piece in pieces)
        given = " (given)" if explanation.given else ""
        yield f"<p>{'' if place else name}{formula}{given}</p>"
    if outline.reasons:
        told = (f"<math>{printer(reason)}</math>" for reason in outline.reasons)
        yield f'<p class="reason">as {"; ".join(told)}</p>'


NAME_MARK = "\0"
"""What is printed where the name of a cell or row is to be filled in; it occurs in no text."""

NEGATIVE = tree.Number("-1")


class Shape(MathML):
    """Prints formulas without their numbers and names: what fills these is kept in `fills`."""

    def __init__(self, fillings: Sequence[Filling]) -> None:
        super().__init__()
        self.fillings = fillings
        self.fills: list[str | Filling] = []

    def smaller(self) -> Shape:
        smaller = copy(self)
        smaller.small, smaller.fraction_is_atom = True, False
        return smaller

    def pieces(self, sign: str, formula: tree.Formula) -> Iterator[str]:
        """Yield a formula after a sign in pieces: a line may break before each term of a sum."""
        before = self.sign(sign)
        signed = self.signed(formula) if isinstance(formula, tree.Plus) else [("", self(formula))]
        for place, (shown, term) in enumerate(signed):
            # Without this, MathML takes a sign that comes first for that of a negative number.
            between = shown.replace("<mo>", '<mo form="infix">') if place else before + shown
            yield self.joined([between, term])

    def inside(self, formula: tree.Formula, binds: int, first: bool = False) -> str:
        is_loose = not binds_enough(NEGATIVE, binds, first)
        if isinstance(formula, tree.Number):
            return self.number(formula, first, is_loose)
        if isinstance(formula, tree.Slot):
            return self.slot(formula, first, is_loose)
        return super().inside(formula, binds, first)

    def number(self, node: tree.Number, first: bool, is_loose: bool = False) -> str:
        self.fills.append(number_fill(node.text, is_loose))
        return '<mn class="s"></mn>'

    def slot(self, node: tree.Slot, first: bool, is_loose: bool = False) -> str:
        filling = replace(self.fillings[node.index], is_loose=is_loose)
        self.fills.append(filling)
        if filling.names:
            return NAME_MARK
        return '<mtext class="s"></mtext>' if filling.leaf == WHICH else '<mn class="s"></mn>'

    def words(self, node: tree.Words, first: bool) -> str:
        return f"<mtext>{text(node.text)}</mtext>"

    def omitted(self, node: tree.Omitted, first: bool) -> str:
        self.fills.append(f"… {node.words} …")
        return '<mtext class="s"></mtext>'


class _NameShape(MathML):
    """Prints the name of a cell or row; of what fills it, an index is that of a place."""

    def __init__(self) -> None:
        super().__init__()
        self.fills: list[str | int] = []

    def number(self, node: tree.Number, first: bool) -> str:
        self.fills.append(node.text)
        return '<mn class="s"></mn>'

    def place(self, word: str) -> str:  # once for each place, in order
        self.fills.append(sum(isinstance(fill, int) for fill in self.fills))
        kind = "mn" if word.isdecimal() else "mtext"
        return f'<{kind} class="s"></{kind}>'


def number_fill(words: str, is_loose: bool) -> str:
    """Return the text of a number, in parentheses if it is `is_loose` and negative."""
    shown = words.replace("-", "−")
    return f"({shown})" if is_loose and shown[0] == "−" else shown


def runs(numbers: Sequence[int]) -> str:
    """Return increasing numbers as runs.

    >>> runs([1, 2, 3, 7])
    '1-3 7'
    """
    pairs: list[list[int]] = []
    for number in numbers:
        if pairs and number == pairs[-1][1] + 1:
            pairs[-1][1] = number
        else:
            pairs.append([number, number])
    return " ".join(f"{a}-{b}" if a < b else str(a) for a, b in pairs)
