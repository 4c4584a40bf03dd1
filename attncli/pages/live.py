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
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from typing import Any

import numpy as np

from attncli.core.arithmetic.elements import Array
from attncli.core.attention.parameters import Factor, Rules
from attncli.core.calculation.compute import compute
from attncli.core.calculation.trace import Trace
from attncli.core.errors import InputError
from attncli.core.explaining import terms
from attncli.core.explaining.explain import CellPlace, Explainer
from attncli.core.explaining.patterns import Derivation, Form, Patterns, is_result, largest_of
from attncli.core.explaining.terms import Leaf, Named, Term
from attncli.core.formulas import tree
from attncli.core.formulas.text import text as as_text
from attncli.core.numbers.written import NumberAsWritten
from attncli.core.problem.keys import KINDS
from attncli.core.problem.problem import Problem
from attncli.core.records import replace
from attncli.core.tape.cell_names import Index
from attncli.core.tape.operations import constant
from attncli.core.tape.step import Step
from attncli.pages.cell_formulas import CellFormulas, Chain, PageCells, WriteBody
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
    tagged, kind = with_tagged_numbers(problem), KINDS[problem.kind]
    can_block = "mask" in kind.shapes and kind.by_position and problem.keys != 1
    is_softmax = problem.rules.normalize.name == "softmax"
    if problem.round or problem.gradient or not (can_block and is_softmax):
        return compute(tagged)
    masked = tagged.with_rules(
        lambda rules, named: replace(rules, mask={**rules.mask, "shown": True})
    )
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
        given: those of the problem as it is given, if these are of another size.
    """

    def __init__(self, given: LiveFormulas | None = None) -> None:
        super().__init__()
        self.tapes: list[Mapping[str, Any]] = []
        self.programs = Programs()
        self.given = given

    def begin(self, trace: Trace, before: int, decimals: int, full: bool) -> PageCells:
        self.page_cells = LiveCells(trace, before, self.programs)
        given, columns = self.given, trace.problem.columns
        patterns = given.patterns if given else Patterns(decimals, full, columns, to_refill=True)
        self.worlds = Worlds(trace, patterns, self.page_cells)
        self.begin_cells(self.worlds.real)
        if given:  # cells of other sizes are of the same kinds
            self.chains = given.chains
        self.which: dict[tuple[Chain, str], int] = {}
        return self.page_cells

    def add(self, number: int, step: Step, place: Index, shown: Mapping[CellPlace, int]) -> None:
        """Add the explanations of a cell in several worlds, of which the first is the real one."""
        self.shown = shown
        variants: dict[int, list[Any]] = {}
        name, id_of = as_text(self.patterns.cell(step, place)), self.page_cells.id_of
        for made in self.worlds.derive(step, place):
            chain, forms = self.chain_of(made), made.forms
            markup, texts = self.filled(chain, chain.words, made)  # the script fills numbers in
            if (key := (chain, markup)) not in self.which:
                shape = as_json([markup, *self._about(chain, made)])
                self.which[key] = self.shapes.setdefault(shape, len(self.shapes))
            which = self.which[key]
            conditions = [
                [place, plain(largest_of(form.leaves).value)]
                for place, form in enumerate(forms)
                if form.role == "choice"
            ]
            leaves = [
                [id_of(x) if isinstance(x, Leaf) else _form_of(x, forms) for x in form.leaves]
                for form in forms
            ]
            variants.setdefault(which, [conditions, which, self.lit(made), name, texts, *leaves])
        self.cells[number] = list(variants.values())

    def _about(self, chain: Chain, made: Derivation) -> tuple[object, ...]:
        """Return what the cells of a kind share beside their markup.

        It is what is filled in, in order: 0 for a text, 1 for the result, or the places of a form
        and of its leaf, with a third number if a negative one has parentheses; how each form is
        worked, or None for what a choice saw; which of these give the result; and which is that of
        a letter, or None.
        """
        forms, slots = made.forms, list[object]()
        for fill in chain.fills:
            if isinstance(fill, str):
                slots.append(0)
            elif fill.names:
                leaf = forms[fill.form].leaves[fill.leaf]
                slots += [0 for _ in self.name_of(leaf, fill.names)[1]]
            else:
                number = [fill.form, fill.leaf, *[1] * fill.is_loose]
                slots.append(1 if fill.form < 0 else number)
        worked, whole, letters = list[object](), list[int](), list[int]()
        for place, form in enumerate(forms):
            is_number = form.role == "numbers" and is_result(form)
            worked.append(None if is_number or form.role == "choice" else _worked(form.term))
            if form.role in ("numbers", "unfolded") and not is_number:
                whole.append(place)
            elif form.letter:
                letters.append(place)
        return slots, worked, whole, letters[0] if letters else None

    def end(self) -> None:
        self.tapes.append(self.page_cells.tape(self.patterns.decimals))

    @property
    def data(self) -> Mapping[str, object]:
        """The programs and explanations."""
        shapes = [*map(json.loads, self.shapes)]
        return {"shapes": shapes, "cells": self.cells, "programs": self.programs.all}

    def page_data(self, traces: Sequence[Trace], body: WriteBody) -> Mapping[str, object]:
        """Return the tapes with a key of all; what else the script reads, compressed.

        With them is what the page shows, and what its script reads, for each other size.
        """
        others = {}
        for name, keys in _other_sizes(traces[0].problem) if len(traces) == 1 else ():
            formulas = LiveFormulas(self)
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

    def __init__(self, trace: Trace, patterns: Patterns, cells: LiveCells) -> None:
        self.cells = cells
        self.real = Explainer(trace, patterns=patterns)
        worlds = (partial(self._numbers, number) for number in WORLDS)
        self.others = [Explainer(trace, numbers=one, patterns=patterns) for one in worlds]
        self.choosing: dict[Step, Sequence[Explainer]] = {}

    def _numbers(self, number: float, step: Step) -> Array:
        return step.array if step in self.cells.fixed else np.full(step.array.shape, number)

    def derive(self, step: Step, place: Index) -> list[Derivation]:
        """Return how a cell was made, then the same for other outcomes of choices."""
        real = self.real.derive(step, place)
        if step not in self.choosing:
            is_choosing = self.cells.chooses(step) and any(
                _worked_by(one.derive(step, place)) != _worked_by(real) for one in self.others
            )
            self.choosing[step] = self.others if is_choosing else []
        others = [one.derive(step, place) for one in self.choosing[step]]
        if self.real.rounds and any(form.role == "unfolded" for form in real.forms):
            # It may not give the rounded result.
            forms = [form for form in real.forms if form.role != "unfolded"]
            others.append(replace(real, forms=forms))
        if not others:
            return [real]
        found = {_reasons(real): real}
        for made in others:
            seen = (form.leaves for form in made.forms if form.role == "choice")
            values = [made.value, *[part.value for leaves in seen for part in leaves]]
            if not any(map(math.isnan, values)):
                found.setdefault(_reasons(made), made)
        return [*found.values()]


def _form_of(term: Term, forms: Sequence[Form]) -> list[int]:
    """Return the place of the form that gives a letter, or a number that a choice saw."""
    given = term.operands[0] if isinstance(term, Named) else term
    return [next(place for place, form in enumerate(forms) if form.term is given)]


def _reasons(made: Derivation) -> object:
    """Return what is equal for formulas of the same cells for the same reasons."""
    structures = tuple([form.structure for form in made.forms])
    return structures, tuple([(leaf.step, leaf.at) for leaf in made.leaves])


def _worked_by(made: Derivation) -> list[int]:
    """Return what is equal for formulas that differ only in their numbers and reasons."""
    return [form.structure for form in made.forms if form.role not in ("choice", "seen")]


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
