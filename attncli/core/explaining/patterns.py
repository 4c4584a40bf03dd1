"""How cells were made, as formulas that cells of a kind share, with numbers and names to fill in.

The objects here belong to one explainer and keep outlines, numbers and names for its cells.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from functools import cache, partial
from itertools import pairwise
from operator import attrgetter
from typing import Literal

from attncli.core.explaining import terms
from attncli.core.explaining.term_formulas import FormulaOf
from attncli.core.explaining.terms import Chosen, Constant, Leaf, Named, Term
from attncli.core.formulas import tree
from attncli.core.numbers.written import MAX_DIGITS_OF_FLOATS, NumberAsWritten
from attncli.core.records import Record
from attncli.core.tape.cell_names import Index, cell, row
from attncli.core.tape.step import Step
from attncli.core.text.numbers import number_text
from attncli.core.text.strings import LIMIT

MAX_NAMES_SHOWN = 4
"""Maximum number of names of cells in a sum; a longer one is shown with its middle left out."""

Role = Literal["numbers", "unfolded", "letter", "choice", "seen"]
"""What a form is for: a part of the chain, the formula of a letter, the numbers that a choice saw,
or the formula of one of these."""


class Form(Record, eq=False):
    """A term as its leaves, in a structure that it shares with others.

    Attributes:
        leaves: the cells and letters in the term; of a choice, the terms that it saw.
        others: its choices, and the terms that have a letter.
        digits: the number of digits of its numbers.
        letter: that of the term in other formulas.
    """

    role: Role
    term: Term
    structure: int
    leaves: Sequence[Term]
    others: Sequence[Term]
    digits: int
    letter: str = ""


class Derivation(Record, eq=False):
    """How a cell was made; what an explanation is written from.

    Attributes:
        value: the number that the step has, and `result` its text.
        unrounded: the text of the number before the step rounded it; "" if that changed nothing.
        forms: that of its numbers, then the others; none if the cell is given.
        leaves: the cells from which it was made, and those that choices saw.
    """

    step: Step
    place: Index
    value: float
    result: str
    unrounded: str
    forms: Sequence[Form]
    leaves: Sequence[Leaf]


Names = Literal["", "cell", "row"]

LARGEST, WHICH, VALUE = -1, -2, -3
"""Places beside those of the leaves of a form: of the largest one, of the words for this one, and
of the number that the form gives."""


class Filling(Record):
    """What fills a slot of an outline: a number, or the name of a cell or row.

    Attributes:
        form: the place of a form; -1 for the result.
        leaf: the place of one of its leaves, or another place.
        names: what it names; "" for a number.
        is_loose: whether a negative number needs parentheses.
    """

    form: int
    leaf: int
    names: Names = ""
    is_loose: bool = False


RESULT, UNROUNDED = Filling(-1, VALUE), Filling(0, VALUE)


class Outline(Record, eq=False):
    """What the explanations of a kind of cells share: formulas with slots, and what fills these."""

    nodes: Mapping[str, tree.Formula]
    reasons: Sequence[tree.Formula]
    fillings: Sequence[Filling]


class Patterns:
    """The outlines of the cells of one trace, and the numbers and names that fill them."""

    def __init__(self, decimals: int, full: bool, columns: bool, to_refill: bool = False) -> None:
        self.decimals = decimals
        self.full = full
        self.columns = columns
        self.to_refill = to_refill  # whether other numbers are filled in later
        self.outlines: dict[object, Outline] = {}
        self.structures: dict[object, int] = {}
        self.workers: dict[int, Callable[[Iterator[float]], float]] = {}
        # A number or a name is part of many cells, and made once.
        self.number_text = cache(number_text)
        self.shorter, self.cell, self.row = cache(self._shorter), cache(cell), cache(row)

    def result(self, value: float) -> str:
        """Return the text of a number that is not to give another one."""
        return self.number_text(value, self.decimals)

    def form(self, role: Role, term: Term, result: str = "", letter: str = "") -> Form:
        """Return a term as a form, whose numbers have digits enough to give a result."""
        leaves, others = list[Term](), list[Term]()
        structure = self._number_of(terms.structure(term, leaves, others))
        is_exact = self.to_refill or not result
        digits = self.decimals if is_exact else self._digits(term, structure, leaves, result)
        return Form(role, term, structure, leaves, others, digits, letter)

    def choice(self, chosen: Chosen) -> Iterator[Form]:
        """Yield the form of what a choice saw, and those of what was calculated of that."""
        seen = [self.form("seen", term) for term in chosen.seen]
        which = "" if self.to_refill else which_of(chosen.seen)
        structures = [one.structure for one in seen]
        about = chosen.words, which, *structures, None, *lines_of(seen[0].leaves)
        yield Form("choice", chosen, self._number_of(about), chosen.seen, (), self.decimals)
        yield from (one for one in seen if not isinstance(one.term, Leaf | Named))

    def _number_of(self, structure: object) -> int:  # whose hash takes longer than a number's
        return self.structures.setdefault(structure, len(self.structures))

    def _digits(self, term: Term, structure: int, leaves: Sequence[Term], result: str) -> int:
        for digits in range(self.decimals, MAX_DIGITS_OF_FLOATS + 1):
            shorter = [self.shorter(leaf, digits) for leaf in leaves]
            if all(is_whole for _, is_whole in shorter):
                break  # more digits would not change the numbers
            if structure not in self.workers:
                self.workers[structure] = terms.worker(term)
            if self.prints(self.workers[structure](iter([value for value, _ in shorter])), result):
                break
        return digits

    def prints(self, shown: float, result: str) -> bool:
        """Return True if a number would be printed as the result is."""
        _, _, exponent = result.partition("e")
        unit = 10.0 ** (int(exponent or 0) - self.decimals)
        wanted = _as_float(result)
        return shown == wanted or abs(shown - wanted) <= unit / 2

    def _shorter(self, term: Term, digits: int) -> tuple[float, bool]:
        """Return the value of a term's text, and whether more digits would not change it."""
        text = self.number_text(term.value, digits)
        value = _as_float(text)
        return value, value == term.value and "e" not in text

    def kind(self, made: Derivation) -> object:
        """Return what is equal for cells whose explanations differ only in what fills them."""
        if not made.forms:
            return None
        numbers = made.forms[0]
        part, ends = chosen_of(numbers.term), [made.unrounded, made.result]
        if isinstance(part, Leaf):  # parts of one number each may be repeated
            ends = [part.step.name, self.number_text(part.value, numbers.digits), *ends]
        elif isinstance(part, Named):
            ends = [self.number_text(part.value, numbers.digits), *ends]
        is_repeated = [one == other for one, other in pairwise(filter(None, ends))]
        texts = () if numbers.leaves else ends
        structures = [form.structure for form in made.forms]
        return *is_repeated, *texts, None, *structures, None, *lines_of(numbers.leaves)

    def outline(self, made: Derivation) -> Outline:
        """Return what the explanation of a cell shares with the others of its kind."""
        kind = self.kind(made)
        if kind not in self.outlines:
            self.outlines[kind] = _Outliner(self, made.forms).outline(made.unrounded != "")
        return self.outlines[kind]

    def filled(self, made: Derivation, filling: Filling) -> tree.Formula:
        """Return what fills a slot for a cell."""
        if filling.names:
            leaf = made.forms[filling.form].leaves[filling.leaf]
            return self.name(leaf, filling.names)
        if filling.leaf == WHICH:
            return tree.Words(which_of(made.forms[filling.form].leaves))
        return tree.Number(self.text(made, filling))

    def text(self, made: Derivation, filling: Filling) -> str:
        """Return the text of the number that fills a slot for a cell."""
        if filling.form < 0:
            return made.result
        form = made.forms[filling.form]
        if filling.leaf == VALUE:
            return made.unrounded if filling.form == 0 else self.result(form.term.value)
        leaf = form.leaves[filling.leaf] if filling.leaf >= 0 else largest_of(form.leaves)
        return self.number_text(leaf.value, form.digits)

    def name(self, leaf: Term, names: str) -> tree.Cell | tree.Vector:
        assert isinstance(leaf, Leaf)  # letters have no slots
        step, at = leaf.step, leaf.at
        return self.row(step, at) if names == "row" else self.cell(step, leaf.cell[1])


class _Outliner:
    """Writes the outline of cells of some forms."""

    def __init__(self, patterns: Patterns, forms: Sequence[Form]) -> None:
        self.patterns, self.forms = patterns, forms
        self.fillings: list[Filling] = []

    def outline(self, is_rounded: bool) -> Outline:
        nodes, reasons = dict[str, tree.Formula](), list[tree.Formula]()
        for place, form in enumerate(self.forms):
            if form.role == "choice":
                reasons.append(self.reason(place))
            elif form.role == "letter":
                parts = self.formula(form.term, place), self.slot(Filling(place, VALUE))
                reasons.append(tree.Relation((tree.Name(form.letter), *parts)))
            elif form.role != "seen":
                nodes[form.role] = self.formula(form.term, place)
        if self.forms and (names := self.names(self.forms[0].term, 0)):
            nodes["formula"] = names
        if not self.forms or (self.patterns.to_refill and is_result(self.forms[0])):
            nodes["numbers"] = self.slot(RESULT)
        if is_rounded:
            nodes["unrounded"] = self.slot(UNROUNDED)
        nodes["result"] = self.slot(RESULT)
        return Outline(nodes, reasons, self.fillings)

    def slot(self, filling: Filling) -> tree.Slot:
        self.fillings.append(filling)
        return tree.Slot(len(self.fillings) - 1)

    def reason(self, place: int) -> tree.Formula:
        """Return the words of a choice with slots in the places of its numbers."""
        chosen = self.forms[place].term
        assert isinstance(chosen, Chosen)  # by the role of its form
        seen = chosen.seen
        numbers = [self.slot(Filling(place, leaf)) for leaf in range(len(seen))]
        # What was calculated has a form of its own, which follows.
        name = self.names(seen[0], place if isinstance(seen[0], Leaf | Named) else place + 1)
        is_open = self.patterns.to_refill
        places: dict[str, tree.Formula] = {
            "{which}": self.slot(Filling(place, WHICH)) if is_open else tree.Words(which_of(seen)),
            "{seen}": tree.Relation((name, numbers[0])) if name is not None else numbers[0],
            "{all}": tree.Listed(tuple(numbers)),
            "{largest}": self.slot(Filling(place, LARGEST)),
        }
        pieces = [p.strip() for p in re.split(r"(\{\w+\})", chosen.words) if p.strip()]
        return tree.Phrase(tuple(places.get(piece, tree.Words(piece)) for piece in pieces))

    def names(self, term: Term, place: int) -> tree.Formula | None:
        """Return a formula with names of cells and rows; None if it is only a number."""
        if isinstance(term, Chosen | Constant) and not any(terms.terms_in(term, Leaf)):
            return None
        return self.formula(term, place, has_names=True)

    def formula(self, term: Term, place: int, has_names: bool = False) -> tree.Formula:
        """Return a formula with slots for the numbers, or names, of the leaves of a form."""
        leaves: list[Term] = []

        def alone(part: Term) -> Term:
            # A leaf that is there twice may be two of another cell, unless the kind has its name.
            leaves.append(part if has_names else copy(part))
            return leaves[-1]

        def leaf(part: Leaf | Named, names: Names = "cell" if has_names else "") -> tree.Formula:
            if has_names and isinstance(part, Named):
                return tree.Name(part.symbol)
            return self.slot(Filling(place, places[id(part)], names))

        copied = terms.replaced(term, alone)
        places = {id(one): at for at, one in enumerate(leaves)}
        patterns, of_row = self.patterns, partial(leaf, names="row") if has_names else None
        most = math.inf if patterns.full else MAX_NAMES_SHOWN if has_names else LIMIT
        return FormulaOf(leaf, of_row, most, 2 if has_names else 3, patterns.columns)(copied)


def chosen_of(term: Term) -> Term:
    """Return the term that a choice gave way to, if it is one."""
    while isinstance(term, Chosen):
        term = term.operands[0]
    return term


def is_result(form: Form) -> bool:
    """Return True if a formula is only a number of the operation, which is then the result."""
    part = chosen_of(form.term)
    return isinstance(part, Constant) and not isinstance(part.number, NumberAsWritten)


def largest_of(seen: Sequence[Term]) -> Term:
    return max(seen, key=attrgetter("value"))


def which_of(seen: Sequence[Term]) -> str:
    most = largest_of(seen).value
    several = sum(term.value == most for term in seen) > 1
    return "the first largest" if several else "the largest"


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
