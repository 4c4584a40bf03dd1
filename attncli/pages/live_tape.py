"""The tape of a page that recalculates, as data: inputs, programs, and where cells stand."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import reduce
from math import log
from operator import mul
from typing import Any

import numpy as np

from attncli.core.arithmetic.elements import Array, Call
from attncli.core.arithmetic.floats import largest_exponent
from attncli.core.attention.softmax import (
    Exp,
    Largest,
    ShiftedExp,
    ShiftedSinkPower,
    SinkPower,
    Sum,
    WithSink,
)
from attncli.core.calculation.trace import Trace
from attncli.core.errors import InputError, fail
from attncli.core.formulas import tree
from attncli.core.formulas.text import text
from attncli.core.numbers.written import NumberAsWritten
from attncli.core.problem.keys import KINDS
from attncli.core.problem.shapes import is_transposed
from attncli.core.problem.tour import Stop
from attncli.core.tape.cell_names import at_of
from attncli.core.tape.evaluation import array_of, evaluate, mapped, sources, walk
from attncli.core.tape.step import LEADING, Expression, Operation, Step, notation_of
from attncli.core.text.strings import label_text, visible
from attncli.pages.cell_formulas import PageCells, key_of
from attncli.pages.markup import file_text


class LargestIfNeeded(Largest):
    """The largest score of each line, where floats cannot hold the powers without it; else 0."""

    def apply(self, scores: Any, *sinks: Any) -> Any:
        size = np.abs(np.where(np.isfinite(scores), scores, 0.0)).max(keepdims=True)
        size = size / self.temperature * log(self.base)
        for sink in sinks:
            size = np.maximum(size, sink.max(keepdims=True))
        is_large = size > largest_exponent(scores.dtype)
        return np.where(is_large, super().apply(scores, *sinks), 0.0)


class Programs:
    """The calls of NumPy that make the steps of a trace; what steps have in common is kept once.

    A program is a list of calls, `[name, operands, option…]`, of which the last gives the step. An
    operand from 0 on is one of those that the program is called with, −1 is the result of the first
    call, −2 that of the second; a text is a number.
    """

    def __init__(self) -> None:
        self.functions = functions()
        self.known: dict[str, tuple[int, list[Any]]] = {}  # by their texts, each with its place
        self.of_outlines: dict[object, list[Any] | None] = {}  # by what `practice` compares
        self.shift_of: dict[Expression, LargestIfNeeded] = {}  # by the powers of scores and sinks

    def begin(self, trace: Trace) -> None:
        """Prepare the programs of a problem, after those of others."""
        self.shift_of.clear()
        for step in trace:
            whole, total, of_sink = step.operation, step.operation, None
            if isinstance(whole, WithSink):
                total, of_sink = whole.left, whole.right
            power = sources(step)[0].operation if isinstance(total, Sum) else None
            is_of_step = isinstance(power, ShiftedExp) and not isinstance(power.shift, Largest)
            if isinstance(total, Sum) and isinstance(power, Exp) and not is_of_step:
                sinks = (of_sink.sink,) if isinstance(of_sink, SinkPower) else ()
                of_line = power.operand, total.along, sinks, power.base, power.temperature
                self.shift_of[power] = LargestIfNeeded(*of_line)
                if of_sink is not None:
                    self.shift_of[of_sink] = self.shift_of[power]

    def recorded(self, expression: Expression) -> Call | Array:
        """Return what makes a step, recorded; an array if no number of the problem changes it.

        Raises:
            InputError: if it makes calls that a page cannot make, or looks at the numbers.
        """
        try:
            general = mapped(expression, self._for_any_number)
            call: Call | Array = evaluate(general, _of_step, _of_number)
        except (InputError, NotImplementedError, TypeError, ValueError) as error:
            cause = error.__cause__ if isinstance(error, InputError) else error
            why = f": {cause}" if isinstance(cause, NotImplementedError) else ""
            raise _refused(f"{type(expression).__name__}{why}") from error
        return call

    def _for_any_number(self, part: Operation) -> Operation:
        """Return an operation that is right also where other numbers would lead to another one."""
        if (shift := self.shift_of.get(part)) is None:
            return part
        numbers = shift.base, shift.temperature
        if isinstance(part, SinkPower):
            return ShiftedSinkPower(part.sink, shift, (shift.base, _of_number(shift.temperature)))
        return ShiftedExp(shift.operand, *numbers, shift)

    def shifts(self) -> list[Call]:
        """Return what is subtracted from the scores of each softmax; 0 where nothing is."""
        shifts = (shift for power, shift in self.shift_of.items() if isinstance(power, Exp))
        return [evaluate(shift, _of_step, _of_number) for shift in shifts]

    def add(self, result: Call | Array, known: Mapping[object, int]) -> list[Any]:
        """Return the place of a program, then its operands: places on the tape, or keys.

        Raises:
            InputError: if it calls a function that the page does not have.
        """
        operands: dict[object, int] = {}
        calls: dict[str, tuple[int, list[Any]]] = {}
        seen: dict[int, Any] = {}

        def operand(part: Any) -> Any:
            if id(part) not in seen:
                if not isinstance(part, Call) and np.ndim(part) == 0:
                    return str(float(part)).replace("inf", "Infinity")
                seen[id(part)] = place(part if isinstance(part, Call) else Call(part))
            return seen[id(part)]

        def place(call: Call) -> int:
            if call.source is not None:
                is_step = isinstance(call.source, Step)
                source = known[key_of(call.source)] if is_step else call.source
                return operands.setdefault(source, len(operands))
            if call.name and call.name not in self.functions:
                raise _refused(call.name)
            own = [call.name or "constant", [*map(operand, call.operands)], *_options(call)]
            return -1 - calls.setdefault(str(own), (len(calls), own))[0]

        operand(result)
        program = [call for _, call in calls.values()]
        return [self.known.setdefault(str(program), (len(self.known), program))[0], *operands]

    @property
    def all(self) -> list[list[Any]]:
        return [program for _, program in self.known.values()]


def _options(call: Call) -> list[Any]:
    """Return the options of a call; those of a move are its shape, and the places, or one of them.

    After one place stands for each axis how far the next one along it is.
    """
    if call.name != "move":
        return [*call.options] if call.name else [call.shape, plain(call.array.ravel())]
    (places,) = call.options
    if not places.size:
        return [places.shape, [], None]
    line = places.ravel().tolist()
    after = np.cumprod((1, *places.shape[:0:-1]))[::-1].tolist()
    spans = zip(places.shape, after, strict=False)
    steps = [line[by] - line[0] if size > 1 else 0 for size, by in spans]
    regular = reduce(np.add.outer, map(mul, steps, map(np.arange, places.shape)), line[0])
    is_regular = np.array_equal(regular, places)
    return [places.shape, *((line[0], steps) if is_regular else (line, None))]


def _refused(name: str) -> InputError:
    hint = "leave out --live, or take a problem with fewer tokens"
    return fail(f"a live page cannot calculate {name}", hint=hint)


def _of_step(step: Step) -> Call:
    return Call(step.array, source=step)


def _of_number(number: float) -> Any:
    if isinstance(number, NumberAsWritten) and isinstance(number.formula, tree.Own):
        return Call(np.asarray(float(number)), source=number.formula.key)
    return float(number)


class LiveCells(PageCells):
    """The cells of a trace in the order of its tape, then those that a page calculates beside."""

    def __init__(self, trace: Trace, before: int, programs: Programs) -> None:
        super().__init__(before)
        self.trace, self.programs = trace, programs
        programs.begin(trace)
        self.fixed: set[Step] = set()  # steps that no number of the problem changes
        self.calls: dict[Step, Call | Array] = {}  # those that make the steps
        for step in (*trace.inputs.values(), *trace):
            self.register(step)
            if step.operation is not None:
                self.calls[step] = call = programs.recorded(step.operation)
                if not isinstance(call, Call) or self.fixed.issuperset(sources(step)):
                    self.fixed.add(step)

    def chooses(self, step: Step) -> bool:
        """Return whether numbers may decide how a step, or one written out in it, is made."""
        call = self.calls.get(step)
        unfolded = (one for one in sources(step) if getattr(one.operation, "unfolds", False))
        return getattr(call, "chooses", False) or any(map(self.chooses, unfolded))

    def of_calculated(self, part: Expression) -> Array:
        array = array_of(part)
        name = f"{text(notation_of(part))} {len(self.steps)}"  # which no other has
        step = Step(name, "", part.leading, part.trailing, {}, part, array)
        self.calls[step] = self.programs.recorded(part)
        return self.ids_of(step)

    def tape(self, decimals: int) -> Mapping[str, Any]:
        """Return the inputs and steps with their operations, and where the page shows them."""
        trace, problem = self.trace, self.trace.problem
        known = {key: i for i, key in enumerate(self.starts)}
        written = {k: x for k, x in problem.written.items() if k not in ("answers", "marking")}
        kind = KINDS[problem.kind]
        by_position = kind.by_position and kind.source != "memory"
        return {
            "steps": [self._entry(step, known) for step in self.steps],
            "cells": [self.before + 1, *self.numbers],
            "decimals": decimals,
            "settings": _numbers_of_keys(trace),
            "round": problem.round,
            "problem": plain(written),
            "shifts": [self.programs.add(shift, known) for shift in self.programs.shifts()],
            "tour": [self._stop(stop, known) for stop in problem.tour],
            "offset": problem.sizes.size("p") or 0 if by_position else None,
            **self._views(known),
        }

    def _stop(self, stop: Stop, known: Mapping[Any, int]) -> list[Any]:
        """Return the place of a step on the tape, the ids of its cells ([] for all), and a text."""
        cells = stop.cells(self.trace.steps, self.trace.inputs)
        ids = self.ids_of(cells.step)
        at = [] if cells.is_whole else [at_of(cells.step, place) for place in cells.places]
        return [known[key_of(cells.step)], [int(ids[one]) for one in at], visible(stop.text)]

    def _views(self, known: Mapping[Any, int]) -> Mapping[str, Any]:
        """Return the steps of the small map, and how it and the stage show a matrix.

        The map has the weights and what comes of them. For each of these, and for each input of the
        problem, a view has the labels of rows and columns, and whether they change places on paper.
        """
        kind = KINDS[self.trace.problem.kind]
        forward = [step for step in self.trace if not step.backward]
        results = [step for step in forward if step.plain in kind.results]
        shown = [*self.trace.weights, results[-1] if results else forward[-1]]
        inputs = [step for step in self.steps if step.key and step.array.ndim == len(LEADING) + 2]
        views = {}
        for step in (*inputs, *shown):
            axes = ("",) * (2 - len(step.trailing)) + step.trailing
            labels = [[label_text(one) for one in step.labels.get(axis, ())] for axis in axes]
            views[known[key_of(step)]] = [*labels, step.columns]
        return {"views": views, "map": [known[key_of(step)] for step in shown]}

    def _entry(self, step: Step, known: Mapping[Any, int]) -> list[Any]:
        """Return the name and shape of a step with its operation, or of an input with its numbers.

        A step tells whether it is of the backward pass, and 1 if it makes −∞ on purpose.
        An input has its key, its shape in the file, whether it is transposed there, whether −∞ may
        be in it, and whether it is also a step.
        """
        entry = [step.name, list(step.array.shape)]
        if step.operation is not None and not step.is_given:
            blocks = any(isinstance(p, Operation) and p.blocks for p in walk(step.operation))
            program = self.programs.add(self.calls[step], known)
            return [*entry, program, step.backward, int(blocks)]
        problem = self.trace.problem
        source = step.operation if isinstance(step.operation, Step) else step
        key = f"{source.key}.keep" if source.key.endswith("mask") else source.key
        matrix = problem.matrices().get(key)
        shape = step.array.shape[0 if step.leading else 2 :]
        if matrix is not None and matrix.size == step.array.size:  # a mask may be of one row
            shape = matrix.shape
        flips = bool(key) and is_transposed(key, problem.tokens_as, problem.weights_as)
        is_step = step.name in self.trace and self.trace[step.name].is_given
        about = [source.key, list(shape), flips, source.plain in ("bias", "scores"), is_step]
        return [*entry, about, plain(step.array.ravel())]


def functions() -> set[str]:
    """Return the names of the functions of NumPy that the script has."""
    table = file_text("numpy.js").partition("const functions")[2]
    of_math = re.search('"([a-z0-9 ]+)".split', table)
    assert of_math  # they are in the table
    return {*re.findall(r"^    (\w+)[,:]", table, re.M), *of_math[1].split()}


def plain(value: Any) -> Any:
    """Return a value as JSON has it: arrays as lists, −∞ as null, a number by its key."""
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, NumberAsWritten) and isinstance(value.formula, tree.Own):
        return {"setting": value.formula.key}
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, float):
        return (int(value) if value == int(value) else float(value)) if np.isfinite(value) else None
    return value if isinstance(value, int | str) or value is None else text(value)


def _numbers_of_keys(trace: Trace) -> dict[str, Any]:
    """Return the numbers of operations that keys give: their values, and formulas of the symbol."""
    numbers: dict[str, Any] = {}
    for step in trace:
        for part in walk(step.operation) if step.operation is not None else ():
            for name in part.float_fields if isinstance(part, Operation) else ():
                number = getattr(part, name)
                if isinstance(number, NumberAsWritten) and isinstance(number.formula, tree.Own):
                    divides = name == "over" and number.formula.key.endswith("scale")
                    symbol = text(getattr(part, "symbol", None) or number.formula)
                    numbers.setdefault(number.formula.key, [float(number), divides, symbol])
    return numbers
