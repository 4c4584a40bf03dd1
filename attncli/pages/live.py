"""Pages that recalculate: what they are made of beside the page of a trace that stands still.

The script `web/live.js` makes the calls of NumPy that the program made, by the functions of
`web/numpy.js`, and puts the numbers where they belong; `web/controls.js` lets the reader change
them.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Container, Mapping, Sequence
from functools import partial
from hashlib import sha256
from typing import Any

import numpy as np

from attncli.core.arithmetic.elements import Array
from attncli.core.attention.parameters import Factor, Rules
from attncli.core.explaining.explain import Explainer, Explanation
from attncli.core.explaining.terms import structure
from attncli.core.formulas import tree
from attncli.core.mechanisms.compute import compute
from attncli.core.mechanisms.trace import Trace
from attncli.core.numbers.written import NumberAsWritten
from attncli.core.problem.problem import Problem
from attncli.core.records import replace
from attncli.core.tape.cells import Index
from attncli.core.tape.operations import constant
from attncli.core.tape.step import Step
from attncli.core.tape.walk import array_of, transform
from attncli.pages.cell_formulas import CellFormulas, CellPlace, PageCells, lines, runs
from attncli.pages.live_shapes import LiveShape
from attncli.pages.live_tape import LiveCells, Programs
from attncli.pages.markup import Script, as_json

SCRIPT = Script(
    (
        *("boot.js", "numbers.js", "shapes.js", "tables.js", "numpy.js"),
        *("live.js", "controls.js", "script.js"),
    ),
    ("style.css", "live.css"),
)

WITH_A_MASK = ("self", "cross", "transformer")
"""The kinds whose page has a mask to click on, also if the problem blocks nothing."""


def live_trace(problem: Problem) -> Trace:
    """Return the trace of a problem as a live page shows it.

    A scale that layers share and that is another number in each, √d_k, stays what it is.

    Its operations know which of their numbers the problem gives, such as a soft cap. It has the
    step `masked` even if nothing is blocked, so that cells can be.
    """
    scales = {one.rules.scale and float(one.rules.scale.over) for one in problem.layers}
    own = problem.with_rules(partial(_with_own_numbers, is_one_scale=len(scales) < 2))
    trace = compute(own)
    m, is_softmax = problem.keys, problem.rules.normalize.name == "softmax"
    is_masked = any(step.plain == "mask" for step in trace.inputs.values())
    if is_masked or problem.round or problem.gradient or not is_softmax:
        return trace
    if problem.kind not in WITH_A_MASK or m == 1:
        return trace
    keep = np.ones((1, 1, problem.sizes.size("n") or 1, m))
    keep[..., 0, -1] = 0
    blocked = own.with_rules(lambda rules, named: replace(rules, mask={"keep": keep}))
    return replace(_unblocked(compute(blocked)), problem=own, warnings=trace.warnings)


def _with_own_numbers(rules: Rules, named: Callable[[str], str], is_one_scale: bool) -> Rules:
    """Return rules whose numbers know which key of the problem gives them."""

    def own(key: str, number: Any) -> NumberAsWritten:
        return NumberAsWritten(float(number), tree.Own(named(key), constant(number)))

    scale, softcap, normalize = rules.scale, rules.softcap, rules.normalize
    if scale is not None and (is_one_scale or named("scale") != "scale"):
        number = scale.over if scale.times == 1 else scale.times / scale.over
        tagged = own("scale", NumberAsWritten(number, getattr(number, "formula", scale.symbol)))
        factors = (1.0, tagged) if scale.times == 1 else (tagged, 1.0)
        symbols = (one and tree.Own(named("scale"), one) for one in (scale.symbol, scale.value))
        scale = Factor(*factors, *symbols)
    if normalize.temperature != 1:
        temperature = own("normalize.temperature", normalize.temperature)
        normalize = replace(normalize, temperature=temperature)
    parts = rules.parameters.items()
    parameters = {k: own(f"score.{k}", x) if isinstance(x, float) else x for k, x in parts}
    capped = None if softcap is None else own("softcap", softcap)
    about = {"scale": scale, "softcap": capped, "normalize": normalize, "parameters": parameters}
    return replace(rules, **about)


def _unblocked(trace: Trace) -> Trace:
    """Return a trace with the mask 1 everywhere, and every step after it calculated again."""
    known: dict[Step, Step] = {}
    for step in (*trace.inputs.values(), *trace):
        made = None if step.operation is None else transform(step.operation, known.__getitem__)
        array = step.array if made is None else array_of(made)
        if step is trace.inputs["mask"]:
            array = np.ones_like(array)
        known[step] = replace(step, operation=made, array=array)
    inputs, steps = ({k: known[x] for k, x in one.items()} for one in (trace.inputs, trace.steps))
    return replace(trace, inputs=inputs, steps=steps)


WORLDS = (0.0, 1.0, -np.inf)
"""Numbers that all cells may have: with them choices, such as that of a mask, fall otherwise."""


class LiveFormulas(CellFormulas):
    """The explanations of cells, to be filled in from the tape, as each choice would have them.

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
        return self.page_cells

    def add(self, number: int, step: Step, place: Index, shown: Mapping[CellPlace, int]) -> None:
        """Add the explanations of a cell in several worlds, of which the first is the real one."""
        variants: dict[int, list[Any]] = {}
        for found in self.worlds.explain(step, place):
            printer = LiveShape(found, self.page_cells)
            markup = "".join(lines(printer, found))
            shape = as_json([markup, *printer.about])
            which = self.shapes.setdefault(shape, len(self.shapes))
            lit = sorted({shown[c] for s in found.sources if (c := (s.step, s.index)) in shown})
            about = [printer.conditions, which, runs(lit), found.name, printer.texts]
            variants.setdefault(which, [*about, *printer.leaves])
        self.cells[number] = list(variants.values())

    def end(self) -> None:
        self.tapes.append(self.page_cells.tape(self.worlds.real.decimals))

    @property
    def data(self) -> Mapping[str, object]:
        """The tapes with a key of all; the programs and explanations, compressed."""
        shapes, programs = ([*map(json.loads, texts)] for texts in (self.shapes, self.programs.all))
        packed = _packed(as_json({"shapes": shapes, "cells": self.cells, "programs": programs}))
        key = sha256(as_json(self.tapes).encode()).hexdigest()[:8]
        return {"tapes": self.tapes, "packed": packed, "key": key}


def _packed(text: str) -> str:
    """Return a text compressed, in the letters of base64."""
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


class Worlds:
    """Explains cells in the real world, and in others in which choices fall otherwise."""

    def __init__(self, trace: Trace, decimals: int, full: bool, fixed: Container[Step]) -> None:
        self.fixed = fixed
        self.rounds = trace.problem.round is not None
        self.real = Explainer(trace, decimals, full, to_refill=True)
        worlds = (partial(self._numbers, number) for number in WORLDS)
        self.others = [Explainer(trace, decimals, full, numbers, True) for numbers in worlds]
        self.choosing: dict[Step, Sequence[Explainer]] = {}

    def _numbers(self, number: float, step: Step) -> Array:
        return step.array if step in self.fixed else np.full(step.array.shape, number)

    def explain(self, step: Step, place: Index) -> list[Explanation]:
        """Return the explanation of a cell, then how it would be if choices fell otherwise."""
        found = self.real.explain(step, place)
        if step not in self.choosing:
            keys = [_key(one.explain(step, place)) for one in self.others]
            self.choosing[step] = self.others if any(key != _key(found) for key in keys) else []
        others = [one.explain(step, place) for one in self.choosing[step]]
        if self.rounds and "unfolded" in found.nodes:  # which rounded steps may not follow from
            nodes, worked = (
                {name: part for name, part in parts.items() if name != "unfolded"}
                for parts in (found.nodes, found.worked)
            )
            others.append(replace(found, nodes=nodes, worked=worked))
        return [found, *(other for other in others if not _has_nan(other))]


def _has_nan(found: Explanation) -> bool:
    seen = [part.value for choice in found.chosen for part in choice.seen]
    return bool(np.isnan([found.value, *seen]).any())


def _key(found: Explanation) -> object:
    """Return what is equal for explanations that were worked in the same way."""
    return [structure(one.term, []) for one in found.worked.values()]
