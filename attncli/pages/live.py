"""Pages that recalculate: their trace, and explanations without numbers that a script fills in.

The script `web/live.js` repeats the calls of NumPy that the program made, with the functions of
`web/numpy.js`, and puts the numbers where they belong; `web/controls.js` lets the reader change
them.
"""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import cache, partial
from hashlib import sha256
from typing import Any

import numpy as np

from attncli.core.arithmetic.elements import Array
from attncli.core.attention.parameters import Factor, Rules
from attncli.core.calculation.compute import compute
from attncli.core.calculation.trace import Trace
from attncli.core.errors import InputError
from attncli.core.explaining import terms
from attncli.core.explaining.explain import CellPlace, Derivation, Explainer, Explanation
from attncli.core.explaining.terms import Chosen, Leaf, Named, Term
from attncli.core.formulas import tree
from attncli.core.formulas.text import text as as_text
from attncli.core.numbers.written import NumberAsWritten
from attncli.core.problem.keys import KINDS
from attncli.core.problem.problem import Problem
from attncli.core.records import replace
from attncli.core.tape.cell_names import Index
from attncli.core.tape.operations import constant
from attncli.core.tape.step import Step
from attncli.pages.cell_formulas import (
    CellFormulas,
    Chain,
    PageCells,
    Shape,
    Templates,
    WriteBody,
    lines,
)
from attncli.pages.live_tape import LiveCells, Programs, plain
from attncli.pages.markup import Script, as_json

SCRIPT = Script(
    (
        *("boot.js", "numbers.js", "shapes.js", "tables.js", "numpy.js"),
        *("live.js", "editing.js", "controls.js", "script.js", "stage.js"),
    ),
    ("style.css", "live.css", "stage.css"),
)


def live_trace(problem: Problem) -> Trace:
    """Return the trace of a problem as a live page shows it.

    Its operations know which of their numbers come from keys of the problem, such as a soft cap. A
    scale that layers share, but that is a different number in each (√d_k), cannot be changed. The
    step `masked` is there even if nothing is blocked, so that cells can be blocked on the page.
    """
    tagged = with_tagged_numbers(problem)
    trace = compute(tagged)
    m, is_softmax = problem.keys, problem.rules.normalize.name == "softmax"
    is_masked = any(step.plain == "mask" for step in trace.inputs.values())
    if is_masked or problem.round or problem.gradient or not is_softmax:
        return trace
    kind = KINDS[problem.kind]
    if "mask" not in kind.shapes or not kind.by_position or m == 1:
        return trace
    masked = tagged.with_rules(lambda rules, named: replace(rules, mask={"shown": True}))
    return replace(compute(masked), problem=tagged)


def with_tagged_numbers(problem: Problem) -> Problem:
    """Return a problem whose operations know which of their numbers come from its keys."""
    scales = {one.rules.scale and float(one.rules.scale.over) for one in problem.layers}
    return problem.with_rules(partial(_with_tagged_numbers, is_one_scale=len(scales) < 2))


def _with_tagged_numbers(rules: Rules, named: Callable[[str], str], is_one_scale: bool) -> Rules:
    """Return rules whose numbers know which key of the problem gives them."""

    def tag(key: str, number: Any) -> NumberAsWritten:
        return NumberAsWritten(float(number), tree.Own(named(key), constant(number)))

    scale, softcap, normalize = rules.scale, rules.softcap, rules.normalize
    if scale is not None and (is_one_scale or named("scale") != "scale"):
        number = scale.over if scale.times == 1 else scale.times / scale.over
        tagged = tag("scale", NumberAsWritten(number, getattr(number, "formula", scale.symbol)))
        factors = (1.0, tagged) if scale.times == 1 else (tagged, 1.0)
        symbols = (one and tree.Own(named("scale"), one) for one in (scale.symbol, scale.value))
        scale = Factor(*factors, *symbols)
    if normalize.temperature != 1:
        temperature = tag("normalize.temperature", normalize.temperature)
        normalize = replace(normalize, temperature=temperature)
    parts = rules.parameters.items()
    parameters = {k: tag(f"score.{k}", x) if isinstance(x, float) else x for k, x in parts}
    capped = None if softcap is None else tag("softcap", softcap)
    about: dict[str, Any] = {"scale": scale, "softcap": capped, "parameters": parameters}
    if "when" in rules.mask:  # its cells can be changed, and then have other reasons
        about["mask"] = {**rules.mask, "shown": True}
    return replace(rules, normalize=normalize, **about)


WORLDS = (0.0, 1.0, -np.inf)
"""Numbers with which every cell is filled, so that choices, such as that of a mask, differ."""


class LiveFormulas(CellFormulas):
    """The explanations of cells for each outcome of their choices, to be filled in from the tape.

    Attributes:
        tapes: of each problem of the page.
        programs: of all steps.
    """

    def __init__(self) -> None:
        super().__init__()
        self.tapes: list[Mapping[str, Any]] = []
        self.programs = Programs()

    def begin(self, trace: Trace, before: int, decimals: int, full: bool) -> PageCells:
        self.page_cells = LiveCells(trace, before, self.programs)
        self.worlds = Worlds(trace, decimals, full, self.page_cells.fixed)
        self.explainer = self.worlds.real
        self.begin_cells()
        self.which: dict[tuple[Chain, str], int] = {}
        self.id_of = cache(self.page_cells.id_of)
        return self.page_cells

    def add(self, number: int, step: Step, place: Index, shown: Mapping[CellPlace, int]) -> None:
        """Add the explanations of a cell in several worlds, of which the first is the real one."""
        self.shown = shown
        variants: dict[int, list[Any]] = {}
        name = as_text(self.patterns.cell(step, place))
        for explainer, made in self.worlds.derive(step, place):
            chain, conditions = self.chain_of(explainer, made), list[Any]()
            if chain is None:
                printer = LiveShape(explainer.written(made), self.page_cells, self.templates)
                shape = ["".join(lines(printer, printer.explanation)), *printer.about]
                which = self.shapes.setdefault(as_json(shape), len(self.shapes))
                conditions, texts, leaves = printer.conditions, printer.texts, printer.leaves
            else:
                markup, texts = self.filled(chain, made)
                if (key := (chain, markup)) not in self.which:
                    shape = [markup, *self._about(chain, made)]
                    self.which[key] = self.shapes.setdefault(as_json(shape), len(self.shapes))
                which = self.which[key]
                leaves = [[*map(self.id_of, form.leaves)] for form in made.forms.values()]
            about = [conditions, which, self.lit(made), name, texts]
            variants.setdefault(which, [*about, *leaves])
        self.cells[number] = list(variants.values())

    def _about(self, chain: Chain, made: Derivation) -> list[Any]:
        """Return what the cells of a kind share beside their markup, as `LiveShape.about`."""
        slots, places = list[Any](), {part: place for place, part in enumerate(made.forms)}
        for part, place, is_so in chain.slots:
            if part == "formula":
                leaf = made.forms["numbers"].leaves[place]
                slots += [0 for _ in self.name_of(leaf, is_so)[1]]
            elif part in places:
                slots.append([places[part], place, *[1] * is_so])
            elif part == "unrounded":
                slots.append([places["numbers"], LiveShape.VALUE])
            else:
                slots += [1] if part else [0 for _ in place]
        worked = [_worked(form.term) for form in made.forms.values()]
        return [slots, worked, [*places.values()], None]

    def end(self) -> None:
        self.tapes.append(self.page_cells.tape(self.worlds.real.decimals))

    @property
    def data(self) -> Mapping[str, object]:
        """The programs and explanations."""
        shapes, programs = ([*map(json.loads, texts)] for texts in (self.shapes, self.programs.all))
        return {"shapes": shapes, "cells": self.cells, "programs": programs}

    def page_data(self, traces: Sequence[Trace], body: WriteBody) -> Mapping[str, object]:
        """Return the tapes with a key of all; what else the script reads, compressed.

        With them is what the page shows, and what its script reads, for each other size.
        """
        others = {}
        for name, keys in _other_sizes(traces[0].problem) if len(traces) == 1 else ():
            formulas = LiveFormulas()
            try:
                markup = "".join(body([live_trace(Problem(**keys))], formulas))
            except InputError:  # the sizes do not fit
                continue
            others[name] = packed({"body": markup, "tapes": formulas.tapes, **formulas.data})
        key = sha256(as_json(self.tapes).encode()).hexdigest()[:8]
        return {"tapes": self.tapes, "packed": packed(self.data), "others": others, "key": key}


LARGEST_WITH_OTHERS = 32
"""Maximum count of numbers of X for which a page has other sizes: each is a page more. Chosen."""


def _other_sizes(problem: Problem) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield names and keys of a problem with a token less, or more, and with one head, or two."""
    if problem.kind != "self" or problem.X is None or problem.X.ndim != 2 or problem.columns:
        return
    if problem.X.size > LARGEST_WITH_OTHERS:
        return
    keys = [key for key in problem.given if key not in ("answers", "marking", "tour")]
    given = {key: problem.written.get(key, getattr(problem, key)) for key in keys}
    rows, words, zeros = list(given["X"]), given.get("tokens"), ["0"] * problem.X.shape[1]
    for count in (len(rows) - 1, len(rows) + 1):
        tokens = {"tokens": [*words, "new"][:count]} if isinstance(words, list) else {}
        yield f"tokens-{count}", {**given, **tokens, "X": [*rows, zeros][:count]}
    for heads in {1, 2} - {problem.heads}:
        yield f"heads-{heads}", {**given, "heads": heads}


def packed(values: object) -> str:
    return base64.b64encode(zlib.compress(as_json(values).encode(), 9)).decode()


class Worlds:
    """Explains cells in the real world, and in others, in which choices turn out differently."""

    def __init__(self, trace: Trace, decimals: int, full: bool, fixed: Container[Step]) -> None:
        self.fixed = fixed
        self.rounds = trace.problem.round is not None
        self.real = Explainer(trace, decimals, full, to_refill=True)
        worlds = (partial(self._numbers, number) for number in WORLDS)
        about = trace, decimals, full
        self.others = [Explainer(*about, one, True, self.real.patterns) for one in worlds]
        self.choosing: dict[Step, Sequence[Explainer]] = {}

    def _numbers(self, number: float, step: Step) -> Array:
        return step.array if step in self.fixed else np.full(step.array.shape, number)

    def derive(self, step: Step, place: Index) -> list[tuple[Explainer, Derivation]]:
        """Return how a cell was made, then the same for other outcomes of choices."""
        real = self.real.derive(step, place)
        if step not in self.choosing:
            keys = [self._key(one.derive(step, place)) for one in self.others]
            is_choosing = any(key != self._key(real) for key in keys)
            self.choosing[step] = self.others if is_choosing else []
        others = [(one, one.derive(step, place)) for one in self.choosing[step]]
        if self.rounds and "unfolded" in real.forms:  # which may not give the rounded result
            others.append((self.real, replace(real, forms={"numbers": real.forms["numbers"]})))
        if not others:
            return [(self.real, real)]
        found = {self._reasons(real): (self.real, real)}
        for one, made in others:
            if not _has_nan(made):
                found.setdefault(self._reasons(made), (one, made))
        return [*found.values()]

    def _key(self, made: Derivation) -> tuple[int, ...]:
        """Return what is equal for formulas that differ only in their numbers."""
        letters = (letter.operands[0] for letter in terms.terms_in(made.term, Named))
        forms = [*made.forms.values(), *map(self.real.patterns.form, letters)]
        return tuple([form.structure for form in forms])

    def _reasons(self, made: Derivation) -> object:
        """Return what is equal for formulas of the same cells for the same reasons."""
        choices = [one for one in terms.terms_in(made.term, Chosen) if one.words]
        form, seen = self.real.patterns.form, [part for one in choices for part in one.seen]
        said = (*[one.words for one in choices], *[form(part).structure for part in seen])
        return self._key(made), said, tuple([(leaf.step, leaf.at) for leaf in made.leaves])


def _has_nan(made: Derivation) -> bool:
    choices = (choice for choice in terms.terms_in(made.term, Chosen) if choice.words)
    values = [part.value for choice in choices for part in choice.seen]
    return any(map(math.isnan, [made.value, *values]))


class LiveShape(Shape):
    """Prints an explanation without its numbers, and keeps where each comes from.

    Attributes:
        worked: how each formula with numbers is worked; None for the numbers that a choice saw.
        leaves: the leaves of each of these: an id, or a list with the place of a formula.
        slots: for each number or text to fill in, in order: 0 for a text, 1 for the result, or the
            places of a formula and of its leaf (with a third number if it has parentheses); in
            place of that of a leaf, one of `LARGEST`, `WHICH` and `VALUE`.
        conditions: what each choice saw, with the largest number of it.
        about: what cells of the same shape share: the slots, how formulas are worked, which of
            these give the result, and which is that of a letter (or None).
    """

    LARGEST, WHICH, VALUE = -1, -2, -3

    def __init__(self, explanation: Explanation, cells: PageCells, templates: Templates) -> None:
        super().__init__({}, templates)
        self.explanation, self.cells, self.texts = explanation, cells, self.fills
        self.letters = [name for name in explanation.worked if name not in ("numbers", "unfolded")]
        self.places = {name: place for place, name in enumerate(explanation.worked)}
        self.patterns = {
            node.pattern: name
            for name, node in explanation.nodes.items()
            if name in explanation.worked and isinstance(node, tree.Filled)
        }
        self.worked: list[Any] = [None for _ in explanation.worked]
        self.leaves: list[list[Any]] = [[] for _ in explanation.worked]
        for name, place in self.places.items():
            worked = explanation.worked[name]
            self.worked[place] = _worked(worked.term)
            self.leaves[place] = list(map(self.leaf, worked.leaves))
        self.conditions = [
            [self.added(None, choice.seen), plain(max(part.value for part in choice.seen))]
            for choice in explanation.chosen
        ]
        # A formula that is only a number is the result itself.
        is_constant = "numbers" in self.places and not self.leaves[self.places["numbers"]]
        self.is_number = is_constant and isinstance(explanation.nodes["numbers"], tree.Number)
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
            return self.cells.id_of(term)
        if isinstance(term, Named):
            return [self.places[term.symbol]]
        leaves: list[Term] = []
        terms.structure(term, leaves, [])
        return [self.added(_worked(term), leaves)]

    def added(self, worked: Any, leaves: Sequence[Term]) -> int:
        self.worked.append(worked)
        self.leaves.append([])
        place = len(self.worked) - 1
        self.leaves[place] = list(map(self.leaf, leaves))
        return place

    def begin(self, part: str | int) -> None:
        explanation, count = self.explanation, len(self.letters)
        self.meant = {id(explanation.nodes["result"]): 1}
        if self.is_number:
            self.meant[id(explanation.nodes["numbers"])] = 1
        if isinstance(part, int) and part >= count:
            self.meant |= self._of_choice(
                explanation.reasons[part], self.conditions[part - count][0]
            )
            return
        name = self.letters[part] if isinstance(part, int) else part
        if name == "unrounded":
            self.meant[id(explanation.nodes[name])] = [self.places["numbers"], self.VALUE]
        if name in self.places:
            place = self.places[name]
            numbers = enumerate(explanation.worked[name].numbers)
            self.meant |= {id(node): [place, leaf] for leaf, node in numbers}
            if isinstance(part, int):
                self.meant[id(tree.parts(explanation.reasons[part])[-1])] = [place, self.VALUE]

    def _of_choice(self, reason: tree.Formula, place: int) -> dict[int, Any]:
        """Return what the numbers and words of the reason of a choice mean, by their nodes."""
        meant: dict[int, Any] = {}
        for part in tree.parts(reason):
            inner = tree.parts(part)
            if isinstance(part, tree.Listed):
                meant |= {id(node): [place, leaf] for leaf, node in enumerate(inner)}
            elif isinstance(part, tree.Relation):
                meant[id(inner[-1])] = [place, 0]
            elif isinstance(part, tree.Number):
                meant[id(part)] = [place, self.LARGEST]
            elif isinstance(part, tree.Words) and part.text.endswith("largest"):
                meant[id(part)] = [place, self.WHICH]
        return meant

    def fill_part(self, formula: tree.Filled, part: tree.Formula, is_loose: bool) -> str:
        if not isinstance(part, tree.Slot) or formula.pattern not in self.patterns:
            return super().fill_part(formula, part, is_loose)
        name = self.patterns[formula.pattern]
        at = self.explanation.worked[name].slots[part.index]
        self.slots.append([self.places[name], at, *[1] * is_loose])
        return '<mn class="s"></mn>'

    def fill(self, node: tree.Formula, is_loose: bool) -> str:
        if (slot := self.meant.get(id(node))) is None:
            return super().fill(node, is_loose)
        self.slots.append([*slot, 1] if slot != 1 and is_loose else slot)
        return '<mn class="s"></mn>'

    def keep(self, words: object) -> None:
        super().keep(words)
        self.slots.append(0)

    def words(self, node: tree.Words, first: bool) -> str:
        if (slot := self.meant.get(id(node))) is None:
            return super().words(node, first)
        self.slots.append(slot)
        return '<mtext class="s"></mtext>'


CHECKED_DIGITS = 12
"""Significant digits of numbers in formulas; those that check a result need 9."""


def _worked(term: Term) -> Any:
    """Return how a term is worked, as [operation, operands…]; "x" for each leaf in order."""
    if isinstance(term, Leaf | Named):
        return "x"
    if isinstance(term, terms.Constant):
        number = term.number
        is_tagged = isinstance(number, NumberAsWritten) and isinstance(number.formula, tree.Own)
        return plain(number if is_tagged else float(f"{term.value:.{CHECKED_DIGITS}g}"))
    if isinstance(term, terms.Chosen):
        return _worked(term.operands[0])
    if terms.is_sum(term):
        return ["+", *([int(minus), _worked(part)] for minus, part in terms.summands(term))]
    assert isinstance(term, terms.Made)  # there is no other kind
    return [term.op, *map(_worked, term.operands)]
