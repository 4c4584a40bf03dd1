"""How the cells of a page were made, as formulas whose numbers are links.

What the formulas of a matrix's cells share, their shape, is kept once, as markup with empty
elements of the class `s`; for each cell only the texts that fill these elements are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from functools import cache, cached_property
from typing import Any

import numpy as np

from attncli.core.arithmetic.elements import Array, Call
from attncli.core.calculation.trace import Trace
from attncli.core.errors import InputError
from attncli.core.explaining.explain import CellPlace, Derivation, Explainer, Explanation
from attncli.core.explaining.patterns import Form, Patterns
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
            np.zeros(one.shape, int) if one.source is None else self._ids_of(one.source)
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
        flat = np.ravel_multi_index(leaf.at, leaf.step.array.shape)
        return self.register(leaf.step) + 1 + int(flat)

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
    """What the explanations of cells of a kind share: a live page explains in half of the time.

    Attributes:
        markup: what is around the names of other cells and rows.
        slots: what fills the names and the elements, in order: a part of the chain, the place of a
            leaf of its formula, and whether a name is that of a row, or whether a negative number
            needs parentheses; "" with texts that are always the same.
    """

    markup: list[str]
    slots: list[tuple[str, Any, bool]]

    @cached_property
    def words(self) -> list[tuple[str, Any, bool]]:
        """The slots without those of numbers."""
        return [slot for slot in self.slots if slot[0] in ("formula", "")]


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
        self.templates = Templates()

    def begin(self, trace: Trace, before: int, decimals: int, full: bool) -> PageCells:
        """Begin a problem, and return its cells; `before` is the count of others on the page."""
        self.explainer = Explainer(trace, decimals, full)
        self.begin_cells()
        return PageCells(before)

    def begin_cells(self) -> None:
        """Forget what the cells of another problem share."""
        self.patterns = self.explainer.patterns
        self.chains: dict[object, Chain | None] = {}
        self.name_of, self.number_texts = cache(self._name_of), cache(self._number_texts)
        self.number_of = cache(lambda leaf: self.shown.get(leaf.cell, 0))

    def end(self) -> None:
        """End a problem."""

    def add(self, number: int, step: Step, place: Index, shown: Mapping[CellPlace, int]) -> None:
        """Add how a cell was made; `shown` gives the numbers of the page's cells."""
        self.shown = shown
        made = self.explainer.derive(step, place)
        chain = self.chain_of(self.explainer, made)
        if chain is None:
            printer = Shape(shown, self.templates)
            shape = "".join(lines(printer, self.explainer.written(made)))
            fills = printer.fills
        else:
            shape, fills = self.filled(chain, made, self._digits(made))
        which = self.shapes.setdefault(shape, len(self.shapes))
        name = as_text(self.patterns.cell(step, place))
        self.cells[number] = [self.lit(made), which, name, *fills]

    def _digits(self, made: Derivation) -> dict[str, int]:
        digits = self.patterns.digits
        return {part: digits(form, made.wanted) for part, form in made.forms.items()}

    def _number_texts(self, leaf: Term, digits: int, is_loose: bool) -> list[object]:
        fills: list[object] = [number_fill(self.patterns.number_text(leaf.value, digits), is_loose)]
        number = self.number_of(leaf) if isinstance(leaf, Leaf) else 0
        return [*fills, number] if number else fills

    def _name_of(self, leaf: Term, is_row: bool) -> tuple[str, list[object]]:
        printer = Shape({}, self.templates)
        return printer.named(self.patterns.name(leaf, is_row)), printer.fills

    def lit(self, made: Derivation) -> str:
        """Return the cells from which one was made, as runs of their numbers."""
        name = made.step.name
        numbers = {self.number_of(leaf) for leaf in made.leaves if leaf.step.name != name}
        return runs(sorted(numbers - {0}))

    def chain_of(self, explainer: Explainer, made: Derivation) -> Chain | None:
        """Return what the explanations of a kind of cells share; None if the cell has no kind."""
        if (kind := made.kind()) is None:
            return None
        if kind not in self.chains:
            printer = _Chain(self.templates, self.patterns, made.forms)
            markup = "".join(lines(printer, explainer.written(made))).split(SPLIT)
            self.chains[kind] = Chain(markup, printer.slots) if printer.has_patterns else None
        return self.chains[kind]

    def filled(
        self, chain: Chain, made: Derivation, digits: Mapping[str, int] | None = None
    ) -> tuple[str, list[object]]:
        """Return the markup of an explanation, and what fills its elements.

        Numbers have their count of digits, by the part of the chain; without it, they are left out.
        """
        fills, shape, rest = list[object](), list[str](), iter(chain.markup)
        shape.append(next(rest))
        for part, place, is_so in chain.words if digits is None else chain.slots:
            if part == "formula":
                markup, words = self.name_of(made.forms["numbers"].leaves[place], is_so)
                shape += markup, next(rest)
                fills += words
            elif not part:
                fills += place
            elif part in made.forms:
                assert digits is not None  # `words` has no numbers
                fills += self.number_texts(made.forms[part].leaves[place], digits[part], is_so)
            else:
                number = made.unrounded if part == "unrounded" else made.result
                fills.append(number_fill(number, is_loose=False))
        return "".join(shape), fills

    @property
    def data(self) -> Mapping[str, object]:
        return {"shapes": list(self.shapes), "cells": self.cells}

    def page_data(self, traces: Sequence[Trace], body: WriteBody) -> Mapping[str, object]:
        """Return what the script of a page reads, whose body `body` writes for some traces."""
        return self.data


def lines(printer: Shape, explanation: Explanation) -> Iterator[str]:
    """Yield the name with the first formula, then each other part of the chain, and the reason."""
    name = '<span class="name s"></span> '
    parts = [(part, node) for part, node in explanation.kept.items() if part != "name"]
    last = "≈" if "unrounded" in explanation.nodes else "="
    for place, (part, node) in enumerate(parts):
        sign = last if place == len(parts) - 1 else "="
        printer.begin(part)
        given = " (given)" if explanation.given and not explanation.reasons else ""
        yield f"<p>{'' if place else name}{printer.formulas(sign, node)}{given}</p>"
    if explanation.reasons:
        told = []
        for place, reason in enumerate(explanation.reasons):
            printer.begin(place)
            told.append(f"<math>{printer(reason)}</math>")
        yield f'<p class="reason">as {"; ".join(told)}</p>'


class Templates:
    """Markup that many cells share, and the texts that fill it; each is printed once.

    Attributes:
        patterns: by a formula and the sign before it, its markup, split at each number and name,
            and these numbers and names, each with whether a negative one needs parentheses.
        names: by what names of cells or rows of a matrix share, their markup, and what fills it: a
            text, or the place of a word in the name.
    """

    def __init__(self) -> None:
        self.patterns: dict[
            tuple[tree.Pattern, str], tuple[list[str], list[tuple[tree.Formula, bool]]]
        ] = {}
        self.names: dict[object, tuple[str, list[str | int]]] = {}


BILLION = 10**9
"""Number of a place that no matrix has."""

NEGATIVE = tree.Number("-1")

ONE_PART = tree.Pattern(tree.Slot(0))


class Shape(MathML):
    """Prints formulas without their numbers and labels, which are kept in `fills`."""

    def __init__(self, shown: Mapping[CellPlace, int], templates: Templates) -> None:
        super().__init__()
        self.shown = shown
        self.templates = templates
        self.fills: list[object] = []

    def begin(self, part: str | int) -> None:
        """Tell which part of the chain is printed next, or the number of a reason."""

    def smaller(self) -> Shape:
        smaller = copy(self)
        smaller.small, smaller.fraction_is_atom = True, False
        return smaller

    def formulas(self, sign: str, formula: tree.Formula) -> str:
        """Return a formula after a sign, in pieces: a line may break before each term of a sum."""
        if isinstance(formula, tree.Number):
            formula = tree.Filled(ONE_PART, (formula,))
        if not isinstance(formula, tree.Filled):
            return " ".join(f"<math>{piece}</math>" for piece in self.pieces(sign, formula))
        key = formula.pattern, sign
        if key not in self.templates.patterns:
            template = _Template()
            markup = template.formulas(sign, formula.pattern.formula)
            self.templates.patterns[key] = markup.split(SPLIT), template.parts
        chunks, parts = self.templates.patterns[key]
        filled = [chunks[0]]
        for (part, is_loose), chunk in zip(parts, chunks[1:], strict=True):
            filled += (self.fill_part(formula, part, is_loose), chunk)
        return "".join(filled)

    def fill_part(self, formula: tree.Filled, part: tree.Formula, is_loose: bool) -> str:
        """Return the markup of a part of a pattern, or of what is in its slot."""
        node = formula.parts[part.index] if isinstance(part, tree.Slot) else part
        return self.fill(node, is_loose)

    def pieces(self, sign: str, formula: tree.Formula) -> Iterator[str]:
        before = self.sign(sign)
        signed = self.signed(formula) if isinstance(formula, tree.Plus) else [("", self(formula))]
        for place, (shown, term) in enumerate(signed):
            # Without this, MathML takes a sign that comes first for that of a negative number.
            between = shown.replace("<mo>", '<mo form="infix">') if place else before + shown
            yield self.joined([between, term])

    def inside(self, formula: tree.Formula, binds: int, first: bool = False) -> str:
        if isinstance(formula, tree.Number | tree.Slot):
            return self.fill(formula, not binds_enough(NEGATIVE, binds, first))
        return super().inside(formula, binds, first)

    def fill(self, node: tree.Formula, is_loose: bool) -> str:
        """Return the markup of a number, in parentheses if it is `is_loose` and negative."""
        if not isinstance(node, tree.Number):
            return self.named(node)
        self.keep(number_fill(node.text, is_loose))
        if node.source is not None and (number := self.shown.get(node.source)):
            self.fills.append(number)
        return '<mn class="s"></mn>'

    def keep(self, words: object) -> None:
        """Keep what fills an element."""
        self.fills.append(words)

    def number(self, node: tree.Number, first: bool) -> str:
        return self.fill(node, is_loose=False)

    def words(self, node: tree.Words, first: bool) -> str:
        return f"<mtext>{text(node.text)}</mtext>"

    def omitted(self, node: tree.Omitted, first: bool) -> str:
        self.keep(f"… {node.words} …")
        return '<mtext class="s"></mtext>'

    def vector(self, node: tree.Vector, first: bool) -> str:
        return self.cell(tree.Cell(node.name, (), node.places), first)

    def named(self, node: tree.Formula) -> str:
        """Return the markup of a name, which is printed once for all cells of a matrix."""
        if not isinstance(node, tree.Cell | tree.Vector):
            return self(node)
        lead = node.lead if isinstance(node, tree.Cell) else None
        key = node.name, lead, self.small, *map(str.isdecimal, node.places)
        if key not in self.templates.names:
            pairs = enumerate(map(str.isdecimal, node.places))
            words = tuple(
                [f"{BILLION + i}" if is_number else f"place {i}" for i, is_number in pairs]
            )
            printer = Shape({}, self.templates)
            markup = (printer.smaller() if self.small else printer)(replace(node, places=words))
            fills = [words.index(one) if one in words else str(one) for one in printer.fills]
            self.templates.names[key] = markup, fills
        markup, fills = self.templates.names[key]
        for one in fills:
            self.keep(one if isinstance(one, str) else label_text(node.places[one]))
        return markup

    def place(self, word: str) -> str:
        self.keep(label_text(word))
        kind = "mn" if word.isdecimal() else "mtext"
        return f'<{kind} class="s"></{kind}>'


def number_fill(words: str, is_loose: bool) -> str:
    """Return the text of a number, in parentheses if it is `is_loose` and negative."""
    shown = words.replace("-", "−")
    return f"({shown})" if is_loose and shown[0] == "−" else shown


SPLIT = "\0"
"""Placeholder for a part of a pattern that is filled in; it occurs in no text."""


class _Template(Shape):
    """Prints a pattern, and keeps its parts."""

    def __init__(self) -> None:
        super().__init__({}, Templates())
        self.parts: list[tuple[tree.Formula, bool]] = []

    def fill(self, node: tree.Formula, is_loose: bool) -> str:
        self.parts.append((node, is_loose))
        return SPLIT

    def slot(self, node: tree.Slot, first: bool) -> str:
        return self.fill(node, is_loose=False)

    def omitted(self, node: tree.Omitted, first: bool) -> str:
        return self.fill(node, is_loose=False)


class _Chain(Shape):
    """Prints an explanation as that of any cell of its kind.

    Attributes:
        slots: those of the chain.
        has_patterns: whether each part of the chain is a pattern, or one name or number.
    """

    def __init__(self, templates: Templates, patterns: Patterns, forms: Mapping[str, Form]) -> None:
        super().__init__({}, templates)
        self.patterns, self.forms = patterns, forms
        self.slots: list[tuple[str, Any, bool]] = []
        self.has_patterns = True

    def begin(self, part: str | int) -> None:
        self.part = str(part)

    def formulas(self, sign: str, formula: tree.Formula) -> str:
        if isinstance(formula, tree.Cell):
            formula = tree.Filled(ONE_PART, (formula,))
        self.has_patterns &= isinstance(formula, tree.Filled | tree.Number)
        return super().formulas(sign, formula)

    def fill_part(self, formula: tree.Filled, part: tree.Formula, is_loose: bool) -> str:
        if not isinstance(part, tree.Slot):
            before = len(self.fills)
            markup = self.fill(part, is_loose)
            self.slots.append(("", self.fills[before:], False))
            return markup
        has_names, place, is_row = self.part == "formula", 0, False
        if formula.pattern is not ONE_PART:
            form = self.forms["numbers" if has_names else self.part]
            place, is_row = self.patterns.pattern(form, has_names)[1][part.index]
        self.slots.append((self.part, place, is_row if has_names else is_loose))
        return SPLIT if has_names else '<mn class="s"></mn>'


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
