"""The tape of a page that recalculates, as data: inputs, operations, and where cells stand."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from attncli.core.arithmetic.elements import Array
from attncli.core.attention.places import AddedByPlace, AtDistances, Rotated, SumOfDistances
from attncli.core.attention.softmax import SinkPower
from attncli.core.errors import fail
from attncli.core.formulas import tree
from attncli.core.formulas.text import text
from attncli.core.mechanisms.trace import Trace
from attncli.core.numbers.written import NumberAsWritten
from attncli.core.problem.kinds import KINDS
from attncli.core.problem.problem import Problem
from attncli.core.problem.shapes import is_transposed
from attncli.core.tape.step import Expression, Operation, Step, notation_of
from attncli.core.tape.walk import array_of, walk
from attncli.pages.cell_formulas import PageCells, key_of
from attncli.pages.markup import file_text

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


class LiveCells(PageCells):
    """The cells of a trace in the order of its tape, then those that a page calculates beside."""

    def __init__(self, trace: Trace, before: int) -> None:
        super().__init__(before)
        self.trace = trace
        for step in (*trace.inputs.values(), *trace):
            self.register(step)

    def of_calculated(self, part: Expression) -> Array:
        array = array_of(part)
        name = f"{text(notation_of(part))} {len(self.steps)}"  # which no other has
        step = Step(name, "", part.leading, part.trailing, {}, part, array)
        return self._as_bytes(step).view(np.int64)

    def of_weights(self, part: Expression) -> Array:
        return self.whole(part)

    def tape(self, decimals: int) -> Mapping[str, Any]:
        """Return the inputs and steps with their operations, and where the page shows them."""
        trace, problem = self.trace, self.trace.problem
        known = {key: i for i, key in enumerate(self.starts)}
        written = {k: x for k, x in problem.written.items() if k not in ("answers", "marking")}
        given = {step.name for step in trace if step.is_given}
        entries = [_entry(step, problem, known, step.name in given) for step in self.steps]
        ids = sorted((number, one) for one, number in self.numbers.items())
        found = {"steps": entries, "cells": list(_in_runs(ids)), "decimals": decimals}
        found |= {"own": _own_numbers(trace), "round": problem.round, "problem": plain(written)}
        by_position = KINDS[problem.kind].by_position and problem.kind != "cross"
        return found | {"offset": problem.sizes.size("p") or 0 if by_position else None}


def _entry(step: Step, problem: Problem, known: Mapping[Any, int], is_given: bool) -> list[Any]:
    """Return the name and shape of a step with its operation, or of an input with its numbers.

    An input has its key, its shape in the file, whether it is transposed there, whether −∞ may be
    in it, and whether it is also a step.
    """
    entry = [step.name, list(step.array.shape)]
    if step.operation is not None and not step.is_given:
        return [*entry, _expression(step.operation, known), step.backward]
    source = step.operation if isinstance(step.operation, Step) else step
    key = f"{source.key}.keep" if source.key.endswith("mask") else source.key
    own = problem.matrices().get(key)
    shape = step.array.shape[0 if step.leading else 2 :]
    if own is not None and own.size == step.array.size:  # a mask may be of one row
        shape = own.shape
    flips = bool(key) and is_transposed(key, problem.tokens_as, problem.weights_as)
    about = [source.key, list(shape), flips, source.plain in ("bias", "scores"), is_given]
    return [*entry, about, plain(step.array.ravel())]


def _expression(part: Expression, known: Mapping[Any, int]) -> Any:
    """Return an operation as [name, fields, operands…]; a step as its place on the tape."""
    if isinstance(part, Step):
        return known[key_of(part)]
    name = next(c.__name__ for c in type(part).__mro__ if "apply" in c.__dict__)
    if name in WITHOUT_FUNCTION and name != "Tiled":
        return ["", {"shape": array_of(part).shape, "data": plain(array_of(part).ravel())}]
    if name not in functions():
        message = f"a live page cannot calculate {name}"
        raise fail(message, hint="leave out --live, or take a problem with fewer tokens")
    return [name, plain(_fields(part)), *(_expression(one, known) for one in part.operands)]


def _fields(part: Operation) -> dict[str, Any]:
    """Return the fields of an operation that are numbers and the like."""
    values = {name: getattr(part, name) for name in part.fields if name not in part.operand_fields}
    fields = {name: x for name, x in values.items() if _isplain(x)}
    made = next((of for kind, of in OWN_FIELDS.items() if isinstance(part, kind)), None)
    return fields | dict(made(part) if made else {})


def _isplain(value: object) -> bool:
    items = value if isinstance(value, tuple) else (value,)
    return all(isinstance(x, int | float | str | None) for x in items)


def functions() -> list[str]:
    """Return the names of the operations that have a function in the script, in its order."""
    return re.findall(r"^    ([A-Z]\w*): \(o", file_text("operations.js"), re.M)


def _pairs(part: Rotated) -> list[tuple[int, int]]:
    first, second = (range(2 * part.waves.size)[own] for own in part.waves.columns())
    return list(zip(first, second, strict=False))


def plain(value: Any) -> Any:
    """Return a value as JSON has it: arrays as lists, −∞ as null, a number by its key."""
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, NumberAsWritten) and isinstance(value.formula, tree.Own):
        return {"own": value.formula.key}
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, float):
        return (int(value) if value == int(value) else float(value)) if np.isfinite(value) else None
    return value if isinstance(value, int | str) or value is None else text(value)


def _own_numbers(trace: Trace) -> dict[str, Any]:
    """Return the numbers of operations that keys give: their values, and formulas of the symbol."""
    found: dict[str, Any] = {}
    for step in trace:
        for part in walk(step.operation) if step.operation is not None else ():
            for name in part.float_fields if isinstance(part, Operation) else ():
                number = getattr(part, name)
                if isinstance(number, NumberAsWritten) and isinstance(number.formula, tree.Own):
                    divides = name == "over" and number.formula.key.endswith("scale")
                    symbol = text(getattr(part, "symbol", None) or number.formula)
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
