"""The data of a page that recalculates: the tape, and how explanations are filled in again.

The script `web/live.js` evaluates the tape by the functions of `web/operations.js`, one for each
operation, and puts the numbers where they belong.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from functools import partial
from typing import Any

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.attention.biases import AddedByPlace, AtDistances, SumOfDistances
from attncli.attention.softmax import SinkPower
from attncli.attention.waves import Rotated
from attncli.attention.weights import Factor, Rules
from attncli.errors import InputError, fail
from attncli.explaining.explain import Explainer, Explanation
from attncli.explaining.terms import (
    Chosen,
    Constant,
    Leaf,
    Named,
    Term,
    is_sum,
    structure,
    summands,
)
from attncli.mechanisms.compute import compute
from attncli.mechanisms.trace import Trace
from attncli.notation import tree
from attncli.notation.text import binds_enough
from attncli.notation.text import text as as_text
from attncli.notation.written import NumberAsWritten
from attncli.problem.key_forms import is_transposed
from attncli.problem.kinds import KINDS
from attncli.problem.problem import Problem
from attncli.records import replace
from attncli.rendering.cell_formulas import CellFormulas, CellPlace, PageCells, Shape, key_of, lines, runs
from attncli.rendering.markup import Script, as_json, file_text
from attncli.tape.cells import Index
from attncli.tape.operations import constant
from attncli.tape.step import Expression, Operation, Step
from attncli.tape.walk import array_of, sources, transform, walk

SCRIPT = Script(
    ("boot.js", "numbers.js", "shapes.js", "tables.js", "operations.js", "live.js", "controls.js")
    + ("script.js",),
    ("style.css", "live.css"),
    is_closed=True,
)

WITHOUT_FUNCTION = {
    "Angles": "follows from the places of tokens; its numbers are on the tape",
    "Sinusoids": "follows from the places of tokens; its numbers are on the tape",
    "Ones": "is 1 everywhere; its numbers are on the tape",
    "Targets": "follows from the targets, which are no numbers; its numbers are on the tape",
    "Tiled": "keeps no step to recalculate, and is refused",
}
"""The operations for which `operations.js` has no function, with the reason of each."""

OWN_FIELDS: Mapping[type[Operation], Callable[[Any], Mapping[str, Any]]] = {
    AddedByPlace: lambda op: {"numbers": op.numbers(*array_of(op.operand).shape[1:]).ravel()},
    AtDistances: lambda op: {"which": op.which.ravel()},
    SumOfDistances: lambda op: {
        "which": op.added.which.ravel(), "count": array_of(op.added.table).shape[-1]
    },
    Rotated: lambda op: {"pairs": _pairs(op)},
    SinkPower: lambda op: {} if op.power is None else _fields(op.power),
}  # fmt: skip
"""What the functions of some operations need that is not in their fields as a number."""

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


def with_other_heads(problem: Problem) -> Problem | None:
    """Return a problem with two heads in place of one, or one in place of two, if its shapes allow."""
    if problem.kind not in ("self", "cross") or problem.heads > 2:
        return None
    left_out = ("heads", "kv_heads", "answers", "marking")
    kept = (key for key in problem.given if key not in left_out)
    given = {key: problem.written.get(key, getattr(problem, key)) for key in kept}
    try:
        other = Problem(**given, heads=3 - problem.heads)
        compute(other)
    except InputError:
        return None
    return other


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


class LiveCells(PageCells):
    """The cells of a trace, in the order of its tape, and those that a page calculates beside it."""

    def __init__(self, trace: Trace, before: int) -> None:
        super().__init__(before)
        for step in (*trace.inputs.values(), *trace):
            self.register(step)

    def of_calculated(self, part: Expression) -> Array:
        array = array_of(part)
        name = f"{as_text(part.notation(False))} {len(self.steps)}"  # which no other has
        step = Step(name, "", part.leading, part.trailing, {}, part, array)
        return self._as_bytes(step).view(np.int64)

    def tape(self, trace: Trace, decimals: int) -> Mapping[str, Any]:
        """Return the inputs and steps with their operations, and where the page shows them."""
        problem, known = trace.problem, {key: i for i, key in enumerate(self.starts)}
        written = {k: x for k, x in problem.written.items() if k not in ("answers", "marking")}
        given = {step.name for step in trace if step.is_given}
        entries = [_entry(step, problem, known, step.name in given) for step in self.steps]
        ids = sorted((number, one) for one, number in self.numbers.items())
        found = {"steps": entries, "cells": list(_in_runs(ids)), "decimals": decimals}
        found |= {"own": _own_numbers(trace), "round": problem.round, "problem": _plain(written)}
        by_position = KINDS[problem.kind].by_position and problem.kind != "cross"
        return found | {"offset": problem.sizes.size("p") or 0 if by_position else None}


def _entry(
    step: Step, problem: Problem, known: Mapping[Any, int], is_given: bool
) -> list[Any]:
    """Return the name and shape of a step with its operation, or of an input with its numbers.

    An input has its key, its shape in the file, whether it is transposed there, whether −∞ may be
    in it, and whether it is also a step.
    """
    entry = [step.name, list(step.array.shape)]
    if step.operation is not None and not step.is_given:
        return [*entry, _expression(step.operation, known), step.backward]
    source = step if step.operation is None else step.operation
    key = f"{source.key}.keep" if source.key.endswith("mask") else source.key
    own = problem.matrices().get(key)
    shape = step.array.shape[0 if step.leading else 2 :] if own is None else own.shape
    flips = bool(key) and is_transposed(key, problem.tokens_as, problem.weights_as)
    about = [source.key, list(shape), flips, source.plain in ("bias", "scores"), is_given]
    return [*entry, about, _plain(step.array.ravel())]


def _expression(part: Expression, known: Mapping[Any, int]) -> Any:
    """Return an operation as [name, fields, operands…]; a step as its place on the tape."""
    if isinstance(part, Step):
        return known[key_of(part)]
    name = next(c.__name__ for c in type(part).__mro__ if "apply" in c.__dict__)
    if name in WITHOUT_FUNCTION and name != "Tiled":
        return ["", {"shape": array_of(part).shape, "data": _plain(array_of(part).ravel())}]
    if name not in functions():
        message = f"a live page cannot calculate {name}"
        raise fail(message, hint="leave out --live, or take a problem with fewer tokens")
    return [name, _plain(_fields(part)), *(_expression(one, known) for one in part.operands)]


def _fields(part: Operation) -> dict[str, Any]:
    """Return the fields of an operation that are numbers and the like."""
    values = {name: getattr(part, name) for name in part.fields if name not in part.operand_fields}
    fields = {name: x for name, x in values.items() if _is_plain(x)}
    made = next((of for kind, of in OWN_FIELDS.items() if isinstance(part, kind)), None)
    return fields | dict(made(part) if made else {})


def _is_plain(value: object) -> bool:
    items = value if isinstance(value, tuple) else (value,)
    return all(isinstance(x, int | float | str | None) for x in items)


def functions() -> list[str]:
    """Return the names of the operations that have a function in the script, in its order."""
    return re.findall(r"^    ([A-Z]\w*): \(o", file_text("operations.js"), re.M)


def _pairs(part: Rotated) -> list[tuple[int, int]]:
    first, second = (range(2 * part.waves.size)[own] for own in part.waves.columns())
    return list(zip(first, second, strict=False))


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: arrays as lists, −∞ as null, a number by its key."""
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, NumberAsWritten) and isinstance(value.formula, tree.Own):
        return {"own": value.formula.key}
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float):
        return (int(value) if value == int(value) else float(value)) if np.isfinite(value) else None
    return value if isinstance(value, int | str) or value is None else as_text(value)


def _own_numbers(trace: Trace) -> dict[str, Any]:
    """Return the numbers of operations that keys give: their values, and formulas of the symbol."""
    found: dict[str, Any] = {}
    for step in trace:
        for part in walk(step.operation) if step.operation is not None else ():
            for name in part.float_fields if isinstance(part, Operation) else ():
                number = getattr(part, name)
                if isinstance(number, NumberAsWritten) and isinstance(number.formula, tree.Own):
                    divides = name == "over" and number.formula.key.endswith("scale")
                    symbol = as_text(getattr(part, "symbol", None) or number.formula)
                    found.setdefault(number.formula.key, [float(number), divides, symbol])
    return found


def _in_runs(pairs: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Return runs of page numbers and ids: the first of both, the step between ids, the count."""
    found: list[list[int]] = []
    for number, one in pairs:
        first, start, step, count = found[-1] if found else (0, 0, 0, 0)
        if first + count == number and (count == 1 or start + step * count == one):
            found[-1][2:] = one - start if count == 1 else step, count + 1
        else:
            found.append([number, one, 0, 1])
    return found


WORLDS = (0.0, 1.0, -np.inf)
"""Numbers that all cells may have: with them choices, such as that of a mask, fall otherwise."""


class LiveFormulas(CellFormulas):
    """The explanations of cells, to be filled in from the tape, as each choice would have them.

    Attributes:
        tapes: of each problem of the page.
        about: what the script needs beside them.
    """

    def __init__(self) -> None:
        super().__init__()
        self.tapes: list[Mapping[str, Any]] = []
        self.about: dict[str, Any] = {}

    @property
    def data(self) -> Mapping[str, object]:
        """What stands on the page: the tapes as they are, and the explanations packed."""
        return {"tapes": self.tapes, "packed": packed(as_json(self.explanations)), **self.about}

    @property
    def explanations(self) -> Mapping[str, object]:
        return {"shapes": [*map(json.loads, self.shapes)], "cells": self.cells}

    def add_all(
        self, number: int, every: Sequence[Explanation], cells: LiveCells, shown: Mapping[CellPlace, int]
    ) -> None:
        """Add the explanations of a cell in several worlds, of which the first is the real one."""
        variants: dict[int, list[Any]] = {}
        for found in every:
            printer = LiveShape(found, cells)
            markup = "".join(lines(printer, found))
            shape = json.dumps([markup, printer.slots, printer.worked, printer.whole, printer.letter])
            which = self.shapes.setdefault(shape, len(self.shapes))
            lit = sorted({shown[c] for s in found.sources if (c := (s.step, s.index)) in shown})
            about = [printer.conditions, which, runs(lit), found.name, printer.texts]
            variants.setdefault(which, [*about, *printer.leaves])
        self.cells[number] = list(variants.values())


def packed(text: str) -> str:
    """Return a text compressed, in the letters of base64."""
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


class LiveShape(Shape):
    """Prints an explanation without its numbers, and keeps where each comes from.

    Attributes:
        worked: how each formula with numbers is worked; None for the numbers that a choice saw.
        leaves: the leaves of each of these: an id, or the place of a formula in a list of its own.
        slots: for each number or text to fill in, in order: 0 for a text, 1 for the result, or the
            places of a formula and of its leaf (with a third number if it has parentheses); in
            place of that of a leaf, one of `LARGEST`, `WHICH` and `VALUE`.
        conditions: what each choice saw, with the largest number of it.
    """

    LARGEST, WHICH, VALUE = -1, -2, -3

    def __init__(self, found: Explanation, cells: LiveCells) -> None:
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
            [self.added(None, choice.seen), _plain(max(part.value for part in choice.seen))]
            for choice in found.chosen
        ]
        # A formula that is only a number is the result itself.
        is_constant = "numbers" in self.places and not self.leaves[self.places["numbers"]]
        self.is_number = is_constant and isinstance(found.nodes["numbers"], tree.Number)
        own = [name for name in self.places if name not in self.letters]
        self.whole = [self.places[name] for name in own if not self.is_number]
        self.letter = self.places[self.letters[0]] if self.letters else None
        if self.is_number:
            self.worked[self.places["numbers"]] = None
        self.slots: list[Any] = []
        self.meant: dict[int, Any] = {}

    def leaf(self, term: Term) -> Any:
        """Return the id of a cell, or the place of the formula of any other term in a list."""
        if isinstance(term, Leaf):
            flat = np.ravel_multi_index(term.at, term.step.array.shape)
            return self.cells.register(term.step) + 1 + int(flat)
        if isinstance(term, Named):
            return [self.places[term.symbol]]
        leaves: list[Term] = []
        structure(term, leaves)
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


DIGITS = 12
"""Significant digits of numbers in formulas; those that check a result need 9."""


def _worked(term: Term) -> Any:
    """Return how a term is worked, as [operation, operands…]; "x" for each leaf in order."""
    if isinstance(term, Leaf | Named):
        return "x"
    if isinstance(term, Constant):
        number = term.number
        own = isinstance(number, NumberAsWritten) and isinstance(number.formula, tree.Own)
        return _plain(number if own else float(f"{term.value:.{DIGITS}g}"))
    if isinstance(term, Chosen):
        return _worked(term.operands[0])
    if is_sum(term):
        return ["+", *([int(minus), _worked(part)] for minus, part in summands(term))]
    return [term.op, *map(_worked, term.operands)]


class Explainers:
    """Explains cells in the real world, and in others in which choices fall otherwise."""

    def __init__(self, trace: Trace, decimals: int, full: bool) -> None:
        rounds = trace.problem.round is not None
        self.real = Explainer(trace, decimals, full, unrounded=rounds)
        self.others = [
            Explainer(trace, decimals, full, partial(self._numbers, x), rounds) for x in WORLDS
        ]
        self.fixed: set[Step] = set()  # no number of the problem changes them
        for step in trace:
            made = walk(step.operation) if step.operation is not None else ()
            kinds = {type(part).__name__ for part in made if isinstance(part, Operation)}
            is_fixed = step.operation is not None and self.fixed.issuperset(sources(step))
            if is_fixed or kinds & WITHOUT_FUNCTION.keys():
                self.fixed.add(step)
        self.choosing: dict[Step, Sequence[Explainer]] = {}

    def _numbers(self, number: float, step: Step) -> Array:
        return step.array if step in self.fixed else np.full(step.array.shape, number)

    def explain(self, step: Step, place: Index) -> list[Explanation]:
        found = self.real.explain(step, place)
        if step not in self.choosing:
            keys = [_key(one.explain(step, place)) for one in self.others]
            self.choosing[step] = self.others if any(key != _key(found) for key in keys) else []
        others = [one.explain(step, place) for one in self.choosing[step]]
        if self.real.unrounded and "unfolded" in found.nodes:  # rounded steps may not follow from it
            kept = ({k: x for k, x in p.items() if k != "unfolded"} for p in (found.nodes, found.worked))
            others.append(replace(found, **dict(zip(("nodes", "worked"), kept, strict=True))))
        return [found, *(other for other in others if not _has_nan(other))]


def _has_nan(found: Explanation) -> bool:
    seen = [part.value for choice in found.chosen for part in choice.seen]
    return bool(np.isnan([found.value, *seen]).any())


def _key(found: Explanation) -> object:
    """Return what is equal for explanations that were worked in the same way."""
    return [structure(one.term, []) for one in found.worked.values()]
