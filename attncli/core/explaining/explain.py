"""How one number was calculated: the operation that computed it, with the numbers filled in.

The same `apply` that computes a step runs on arrays of terms, which record the operations on them;
no operation or method has code of its own here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from operator import attrgetter
from typing import cast

import numpy as np

from attncli.core.arithmetic.elements import Array
from attncli.core.calculation.trace import Trace, find
from attncli.core.errors import fail
from attncli.core.explaining import terms
from attncli.core.explaining.patterns import Derivation, Patterns
from attncli.core.explaining.terms import Chosen, Leaf, Named, Term
from attncli.core.formulas import tree
from attncli.core.formulas.text import pieces, text
from attncli.core.records import Record
from attncli.core.tape.cell_names import Cells, Index, at_of, cell_name
from attncli.core.tape.step import Operation, Step
from attncli.core.text.numbers import DEFAULT_DECIMALS
from attncli.core.text.strings import visible

CHAIN_PARTS = ("name", "formula", "unfolded", "numbers", "exact", "unrounded", "result")


CellPlace = tuple[str, Index]
"""The name of a step or input, and an index into its `value`."""


class Source(Record):
    """A cell from which another one was calculated.

    Attributes:
        step: the name of a step or of an input.
        index: the cell, an index into the `value` of that step or input.
    """

    step: str
    index: tuple[int, ...]


class Explanation(Record):
    """How a cell was calculated: name = formula = unfolded = numbers = unrounded ≈ result.

    Attributes:
        nodes: the parts of that chain as formulas, by these names; a part may be missing.
        cells: those from which it was calculated, each once.
        reasons: what decided a choice, such as `mask[I, good] = 0`.
        given: whether the number is an input of the problem.
        value: the number itself.
    """

    nodes: Mapping[str, tree.Formula]
    cells: tuple[CellPlace, ...]
    reasons: tuple[tree.Formula, ...] = ()
    given: bool = False
    value: float = 0.0

    @property
    def sources(self) -> tuple[Source, ...]:
        """The cells from which it was calculated, each once."""
        return tuple(Source(*cell) for cell in self.cells)

    @property
    def name(self) -> str:
        """The cell, `scores[am, I]`."""
        return self.part("name")

    @property
    def formula(self) -> str:
        """The formula, `q_am · k_I`; "" where the problem gives the number."""
        return self.part("formula")

    @property
    def numbers(self) -> str:
        """The formula with numbers put in, `1·1 + 1·3 + 3·2`."""
        return self.part("numbers")

    @property
    def unfolded(self) -> str:
        """The numbers with short steps written out, `e^10 / (e^10 + e^11)`; or ""."""
        return self.part("unfolded")

    @property
    def exact(self) -> str:
        """Its closed form, such as `e^10/(e^6 + e^10 + e^11)`; or nothing."""
        return self.part("exact")

    @property
    def result(self) -> str:
        """Its number, `10`."""
        return self.part("result")

    @property
    def reason(self) -> str:
        """What decided a choice; or nothing."""
        return "; ".join(map(text, self.reasons))

    def part(self, name: str) -> str:
        """Return a part of the chain as text; nothing where it is missing."""
        return text(self.nodes[name]) if name in self.nodes else ""

    @property
    def chain(self) -> tree.Relation:
        """The parts between the signs of equality; repeated ones are left out."""
        return tree.Relation(tuple(self.kept.values()), "≈" if "unrounded" in self.nodes else "=")

    @property
    def kept(self) -> dict[str, tree.Formula]:
        """The parts of the chain by their names, without repeated ones."""
        kept: dict[str, tree.Formula] = {}
        before = None
        for name in CHAIN_PARTS:
            node = self.nodes.get(name)
            if node is not None and (before is None or not self._is_same(before, node)):
                kept[name] = before = node
        return kept

    def _is_same(self, one: tree.Formula, other: tree.Formula) -> bool:
        # Texts take long. Of several numbers in a formula only a closed form may have the same.
        is_long = isinstance(one, tree.Filled) or isinstance(other, tree.Filled)
        return ("exact" in self.nodes or not is_long) and text(one) == text(other)

    @property
    def line(self) -> str:
        """The whole as one line."""
        return " ".join(self.pieces)

    @property
    def pieces(self) -> list[str]:
        """The whole in pieces: a line that is too long may break before each but the first."""
        shown = pieces(self.chain)
        for number, reason in enumerate(self.reasons):
            shown[-1] += ";" if number else ","
            first, *rest = pieces(reason)
            shown += [first if number else f"as {first}", *rest]
        return [*shown, "(given)"] if self.given and not self.reasons else shown


def explain(
    trace: Trace,
    cell: str | Step,
    index: Index = (),
    decimals: int = DEFAULT_DECIMALS,
    full: bool = False,
) -> Explanation:
    """Explain one cell.

    Args:
        trace: what was calculated.
        cell: the name of a cell, such as "scores[am, I]", or a step.
        index: with a step, the cell as it is on paper, an index into `step.value`.
        decimals: the most digits after the point, where they are enough to get the result.
        full: whether long sums are written whole.

    Raises:
        InputError: for a name that is not that of one cell, and for a cell that is blank.

    >>> from attncli import Problem, compute
    >>> trace = compute(Problem(X=[[1, 3, 2], [1, 1, 3]], score="dot"))
    >>> explain(trace, "scores[2, 1]").line
    'scores[2, 1] = q_2 · k_1 = 1·1 + 1·3 + 3·2 = 10'
    """
    if isinstance(cell, str):
        name = cell
        trace, cells_meant = find(name, trace)
        if len(cells_meant.places) != 1:
            raise fail(f"{visible(name)} is not one cell", hint="explain_all takes steps and rows")
        cell, index = cells_meant.step, cells_meant.places[0]
    if is_blank(cell, index):
        raise fail(f"{cell_name(cell, index)} is blank: there is nothing yet")
    return Explainer(trace, decimals, full).explain(cell, index)


def explain_all(
    trace: Trace, step: str | Step, decimals: int = DEFAULT_DECIMALS, full: bool = False
) -> dict[Index, Explanation]:
    """Explain every cell that is not blank of a step or of what a name means, such as "z_am".

    A name may be that of a cell, a row, a column `weights[:, AI]`, a range `scores[1:2, 3]`, a head
    `weights[head 2]` or a step.

    Returns:
        The explanations by their index into `step.value`.

    Raises:
        InputError: for a name that means nothing in this calculation.
    """
    chosen = cells(step) if isinstance(step, Step) else []
    if isinstance(step, str):
        trace, cells_meant = find(step, trace)
        step, chosen = cells_meant.step, written(cells_meant)
    explainer = Explainer(trace, decimals, full)
    return {index: explainer.explain(step, index) for index in chosen}


def written(meant: Cells) -> list[Index]:
    """Return the places of those cells that are not blank, of which there must be one."""
    places = [place for place in meant.places if not is_blank(meant.step, place)]
    if not places:
        raise fail(f"{cell_name(meant.step, meant.places[0])} is blank: there is nothing yet")
    return places


def cells(step: Step) -> list[Index]:
    """Return the place of every cell on paper that is not blank."""
    return [place for place in np.ndindex(step.value.shape) if not is_blank(step, place)]


def is_blank(step: Step, index: tuple[int, ...]) -> bool:
    """Return whether a cell on paper is nothing, rather than 0."""
    node = step.operation
    return isinstance(node, Operation) and len(index) > 1 and node.is_blank(index[-2], index[-1])


class Explainer:
    """Explains cells of one trace, by its arrays or other numbers of the steps before them."""

    def __init__(
        self,
        trace: Trace,
        decimals: int = DEFAULT_DECIMALS,
        full: bool = False,
        numbers: Callable[[Step], Array] | None = None,
        patterns: Patterns | None = None,  # those that it shares with others
    ) -> None:
        self.rounds = trace.problem.round is not None
        self.of_trace = numbers is None
        self.worked = terms.StepTerms(numbers)
        self.patterns = patterns or Patterns(decimals, full, trace.problem.columns)
        self.unfolded = cache(self._unfolded)
        self.cell_of = cache(attrgetter("cell"))

    def explain(self, step: Step, place: Index) -> Explanation:
        """Explain the cell at a place on paper."""
        return self.written(self.derive(step, place))

    def derive(self, step: Step, place: Index) -> Derivation:
        """Return how the cell at a place on paper was made, not yet written as formulas."""
        at, patterns = at_of(step, place), self.patterns
        term = self.worked.term(step, at)
        value = terms.shortest(step.array[at]) if self.of_trace else term.value
        result, unrounded = patterns.result(value), ""
        if step.operation is None or step.is_given:
            return Derivation(step, place, value, result, "", (), [*terms.terms_in(term, Leaf)])
        if self.rounds and (
            term.value != value or (patterns.to_refill and any(terms.terms_in(term, terms.Made)))
        ):
            # One that is filled in later is no repetition of the result.
            unrounded = "…" if patterns.to_refill else patterns.result(term.value)
        numbers = patterns.form("numbers", term, unrounded or result)
        forms = [numbers]
        if any(map(_unfolds, numbers.leaves)):
            whole = terms.replaced(term, self.unfolded)
            if patterns.to_refill or patterns.prints(whole.value, unrounded or result):
                forms.append(patterns.form("unfolded", whole, unrounded or result))
        leaves = cast("Sequence[Leaf]", numbers.leaves)
        if numbers.others:
            leaves = [*terms.terms_in(term, Leaf, reasons=True)]
            for letter in terms.terms_in(term, Named):
                about = letter.operands[0], patterns.result(letter.value), letter.symbol
                forms.append(patterns.form("letter", *about))
            for chosen in terms.terms_in(term, Chosen):
                forms += patterns.choice(chosen) if chosen.words else ()
        return Derivation(step, place, value, result, unrounded, forms, leaves)

    def written(self, made: Derivation) -> Explanation:
        """Return the explanation of a cell by how it was made."""
        outline = self.patterns.outline(made)
        parts = tuple([self.patterns.filled(made, filling) for filling in outline.fillings])

        def filled(formula: tree.Formula) -> tree.Formula:
            if isinstance(formula, tree.Slot):
                return parts[formula.index]
            return tree.Filled(formula, parts) if made.forms[0].leaves else formula

        nodes = {name: filled(formula) for name, formula in outline.nodes.items()}
        nodes["name"] = self.patterns.cell(made.step, made.place)
        cells = dict.fromkeys(map(self.cell_of, made.leaves))
        sources = tuple([cell for cell in cells if cell[0] != made.step.name])
        reasons = tuple([tree.Filled(reason, parts) for reason in outline.reasons])
        return Explanation(nodes, sources, reasons, not made.forms, made.value)

    def _unfolded(self, part: Term) -> Term:
        if isinstance(part, Leaf) and _unfolds(part):
            return terms.replaced(self.worked.term(part.step, part.at), self.unfolded)
        return part


def _unfolds(part: Term) -> bool:
    node = part.step.operation if isinstance(part, Leaf) else None
    return isinstance(node, Operation) and node.unfolds
