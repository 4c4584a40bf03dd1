"""Explanations without their numbers, and where these come from when they are filled in."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np

from attncli.core.explaining import terms
from attncli.core.explaining.explain import Explanation
from attncli.core.explaining.terms import Leaf, Named, Term
from attncli.core.formulas import tree
from attncli.core.formulas.text import binds_enough
from attncli.core.numbers.written import NumberAsWritten
from attncli.pages.cell_formulas import PageCells, Shape
from attncli.pages.live_tape import plain


class LiveShape(Shape):
    """Prints an explanation without its numbers, and keeps where each comes from.

    Attributes:
        worked: how each formula with numbers is worked; None for the numbers that a choice saw.
        leaves: the leaves of each of these: an id, or the place of a formula in a list of its own.
        slots: for each number or text to fill in, in order: 0 for a text, 1 for the result, or the
            places of a formula and of its leaf (with a third number if it has parentheses); in
            place of that of a leaf, one of `LARGEST`, `WHICH` and `VALUE`.
        conditions: what each choice saw, with the largest number of it.
        about: what cells of the same shape share: the slots, how formulas are worked, which of
            these give the result, and which is that of a letter (or None).
    """

    LARGEST, WHICH, VALUE = -1, -2, -3

    def __init__(self, found: Explanation, cells: PageCells) -> None:
        super().__init__({})
        self.found, self.cells, self.texts = found, cells, self.fills
        self.letters = [name for name in found.worked if name not in ("numbers", "unfolded")]
        self.places = {name: place for place, name in enumerate(found.worked)}
        self.worked: list[Any] = [None for _ in found.worked]
        self.leaves: list[list[Any]] = [[] for _ in found.worked]
        for name, place in self.places.items():
            own = found.worked[name]
            self.worked[place] = _worked(own.term)
            self.leaves[place] = list(map(self.leaf, own.leaves))
        self.conditions = [
            [self.added(None, choice.seen), plain(max(part.value for part in choice.seen))]
            for choice in found.chosen
        ]
        # A formula that is only a number is the result itself.
        is_constant = "numbers" in self.places and not self.leaves[self.places["numbers"]]
        self.is_number = is_constant and isinstance(found.nodes["numbers"], tree.Number)
        others = [name for name in self.places if name not in self.letters]
        whole = [self.places[name] for name in others if not self.is_number]
        letter = self.places[self.letters[0]] if self.letters else None
        if self.is_number:
            self.worked[self.places["numbers"]] = None
        self.slots: list[Any] = []
        self.about = self.slots, self.worked, whole, letter
        self.meant: dict[int, Any] = {}

    def leaf(self, term: Term) -> Any:
        """Return the id of a cell, or the place of the formula of any other term in a list."""
        if isinstance(term, Leaf):
            flat = np.ravel_multi_index(term.at, term.step.array.shape)
            return self.cells.register(term.step) + 1 + int(flat)
        if isinstance(term, Named):
            return [self.places[term.symbol]]
        leaves: list[Term] = []
        terms.structure(term, leaves)
        return [self.added(_worked(term), leaves)]

    def added(self, worked: Any, leaves: Sequence[Term]) -> int:
        self.worked.append(worked)
        self.leaves.append([])
        place = len(self.worked) - 1
        self.leaves[place] = list(map(self.leaf, leaves))
        return place

    def begin(self, part: str | int) -> None:
        found, count = self.found, len(self.letters)
        self.meant = {id(found.nodes["result"]): 1}
        if self.is_number:
            self.meant[id(found.nodes["numbers"])] = 1
        if isinstance(part, int) and part >= count:
            self.meant |= self._of_choice(found.reasons[part], self.conditions[part - count][0])
            return
        name = self.letters[part] if isinstance(part, int) else part
        if name == "unrounded":
            self.meant[id(found.nodes[name])] = [self.places["numbers"], self.VALUE]
        if name in self.places:
            place = self.places[name]
            numbers = enumerate(found.worked[name].numbers)
            self.meant |= {id(node): [place, leaf] for leaf, node in numbers}
            if isinstance(part, int):
                self.meant[id(tree.parts(found.reasons[part])[-1])] = [place, self.VALUE]

    def _of_choice(self, reason: tree.Formula, place: int) -> dict[int, Any]:
        """Return what the numbers and words of the reason of a choice mean, by their nodes."""
        found: dict[int, Any] = {}
        for part in tree.parts(reason):
            inner = tree.parts(part)
            if isinstance(part, tree.Listed):
                found |= {id(node): [place, leaf] for leaf, node in enumerate(inner)}
            elif isinstance(part, tree.Relation):
                found[id(inner[-1])] = [place, 0]
            elif isinstance(part, tree.Number):
                found[id(part)] = [place, self.LARGEST]
            elif isinstance(part, tree.Words) and part.text.endswith("largest"):
                found[id(part)] = [place, self.WHICH]
        return found

    def smaller(self) -> LiveShape:
        smaller = copy(self)
        smaller.small, smaller.fraction_is_atom = True, False
        return smaller

    def inside(self, formula: tree.Formula, binds: int, first: bool = False) -> str:
        if isinstance(formula, tree.Number) and id(formula) in self.meant:
            is_loose = not binds_enough(tree.Number("-1"), binds, first)
            return self._number(formula, "({})" if is_loose else "{}")
        return super().inside(formula, binds, first)

    def _number(self, node: tree.Number, form: str) -> str:
        slot = self.meant.get(id(node), 0)
        if not slot:
            self.texts.append(form.format(node.text.replace("-", "−")))
        self.slots.append([*slot, 1] if slot and slot != 1 and form != "{}" else slot)
        return '<mn class="s"></mn>'

    def words(self, node: tree.Words, first: bool) -> str:
        if (slot := self.meant.get(id(node))) is None:
            return super().words(node, first)
        self.slots.append(slot)
        return '<mtext class="s"></mtext>'

    def omitted(self, node: tree.Omitted, first: bool) -> str:
        self.slots.append(0)
        return super().omitted(node, first)

    def place(self, word: str) -> str:
        self.slots.append(0)
        return super().place(word)


CHECKED_DIGITS = 12
"""Significant digits of numbers in formulas; those that check a result need 9."""


def _worked(term: Term) -> Any:
    """Return how a term is worked, as [operation, operands…]; "x" for each leaf in order."""
    if isinstance(term, Leaf | Named):
        return "x"
    if isinstance(term, terms.Constant):
        number = term.number
        own = isinstance(number, NumberAsWritten) and isinstance(number.formula, tree.Own)
        return plain(number if own else float(f"{term.value:.{CHECKED_DIGITS}g}"))
    if isinstance(term, terms.Chosen):
        return _worked(term.operands[0])
    if terms.is_sum(term):
        return ["+", *([int(minus), _worked(part)] for minus, part in terms.summands(term))]
    assert isinstance(term, terms.Made)  # there is no other kind
    return [term.op, *map(_worked, term.operands)]
