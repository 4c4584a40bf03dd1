"""Lines that a method repeats for each time, as a recurrence does.

Where no step of a time will be read, only the first few times are recorded. The last two of them
give a *program*: their operations in order, with the places of the arrays that these take. It
calculates the other times as the lines would, bit by bit, without a record of each number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from attncli.core.arithmetic.elements import Array
from attncli.core.arithmetic.floats import Outline, all_finite, outline
from attncli.core.attention.normalizers import are_out_of_range
from attncli.core.attention.parameters import Rules
from attncli.core.attention.softmax import Exp
from attncli.core.problem.problem import Problem
from attncli.core.records import replace
from attncli.core.tape.evaluation import array_of, with_plain_floats
from attncli.core.tape.operations import Below, Divide, Row
from attncli.core.tape.step import Expression, Operation, Step
from attncli.core.tape.tape import Tape

RECORDED = 3
"""Number of times that are recorded: from the second on, each is made of the one before."""

DECIDED_BY_NUMBERS = {"hardmax", "sum", "cosine"}
"""Normalisers and scores whose lines warn of numbers, or refuse them."""

State: TypeAlias = tuple[Step, ...]
"""What a time takes from the one before."""

Lines: TypeAlias = Callable[[int, State], tuple[State, tuple[Expression, ...]]]
"""Records the steps of a time, from 1 on, after a state; returns its state and other results."""


class AllTimes(NamedTuple):
    """A result of all times, a row each; and its array, where not all of them are recorded."""

    below: Below
    array: Array | None = None


def repeated(
    tape: Tape, problem: Problem, count: int, lines: Lines, state: State
) -> tuple[State, list[AllTimes]]:
    """Record so many times after a first state; return the last state, and all of each result."""
    results: list[tuple[Expression, ...]] = []
    programs: list[Program] = []
    rules, kept = problem.rules, tape.kept
    is_decided = {rules.normalize.name, rules.score} & DECIDED_BY_NUMBERS
    skips = count > RECORDED and ((tape.skips_times and not is_decided) or tape.is_estimate)
    if skips and tape.skips_times:
        tape.kept = None  # so that the recorded times have their numbers
    for t in range(1, count + 1):
        if skips and t == RECORDED + 1:
            tape.kept = kept
            before_last, last = programs[-2:]
            if (arrays := _later(before_last, last, rules, count)) is not None:
                if not tape.skips_times:
                    tape.reserved.append(outline([last.size * (count - RECORDED)], np.int8))
                return _of_all(state, results, arrays, count)
        before, recorded, in_use = state, len(tape.steps), Outline.in_use
        state, result = lines(t, before)
        results.append(result)
        if skips and t <= RECORDED:
            steps = [*tape.steps.values()][recorded:]
            programs.append(Program(before, steps, (*state, *result), Outline.in_use - in_use))
    return state, [AllTimes(Below(parts)) for parts in zip(*results, strict=True)]


def _of_all(
    state: State, results: Sequence[tuple[Expression, ...]], arrays: Sequence[Array], count: int
) -> tuple[State, list[AllTimes]]:
    """Return the last state and each result, of which the arrays have a row for each time."""

    def at_end(step: Step, array: Array) -> Step:
        name, numbers = step.name.removesuffix(step.suffix), array[..., -1:, :]
        about = {"name": f"{name}_{count}", "symbol": f"{name}_{count}", "suffix": f"_{count}"}
        return replace(step, **about, array=numbers)

    rows = []
    for parts, array in zip(zip(*results, strict=True), arrays[len(state) :], strict=True):
        array[..., :RECORDED, :] = np.concatenate([*map(array_of, parts)], axis=-2)
        last = at_end(parts[-1], array) if isinstance(parts[-1], Step) else parts[-1]
        rows.append(AllTimes(Below((*parts, last)), array))
    last_state = [replace(at_end(x, a), array=a) for x, a in zip(state, arrays, strict=False)]
    return (*last_state,), rows


class Program:
    """The operations of one time, in order.

    Attributes:
        arrays: the arrays of the state before; those of other steps that are not of this time; and
            None for each result of an operation.
        lines: each operation, with the places in that list of its operands and of its result.
        after: the places of the next state, and of what the time gives beside it.
        recorded: their arrays.
        states: the number of the steps of a state.
        size: the number of bytes of the steps.
    """

    def __init__(
        self, before: State, steps: Sequence[Step], after: tuple[Expression, ...], size: int
    ) -> None:
        self.arrays: list[Array | None] = []
        self.lines: list[tuple[Operation, list[int], int]] = []
        self.places: dict[Expression, int] = {}
        self.states, self.size = len(before), size
        for step in before:
            self._place(step)
        for step in steps:
            assert step.operation is not None  # as none of them is an input
            self.places[step] = self._place(step.operation)
        self.after = [self._place(part) for part in after]
        self.recorded = [array_of(part) for part in after]

    def _place(self, part: Expression) -> int:
        """Return the place of a step's array, or of an operation's result."""
        if part not in self.places:
            if isinstance(part, Step):
                self.arrays.append(part.array)
            else:
                operands = [self._place(operand) for operand in part.operands]
                self.lines.append((part, operands, len(self.arrays)))
                self.arrays.append(None)
            self.places[part] = len(self.arrays) - 1
        return self.places[part]

    def is_followed_by(self, other: Program) -> bool:
        """Return True if the next time is made by the same operations of the same other arrays.

        Only the number of a row may go on with time.
        """
        arrays = zip(self.arrays[self.states :], other.arrays[self.states :], strict=False)
        if self.after != other.after or any(one is not same for one, same in arrays):
            return False
        if len(self.lines) != len(other.lines):
            return False
        for (one, *places), (same, *others) in zip(self.lines, other.lines, strict=True):
            if type(one) is not type(same) or places != others:
                return False
            for field in type(one).annotated.keys() - {*type(one).operand_fields}:
                old, new = getattr(one, field), getattr(same, field)
                is_next = _is_moving(one, same) and field == "place"
                if not (is_next or old is new or (isinstance(old, PLAIN) and old == new)):
                    return False
        return True


PLAIN = (str, int, float)
"""Types of fields that are the same if they are equal; others must be one object."""


def _is_moving(one: Operation, later: Operation) -> bool:
    return isinstance(one, Row) and isinstance(later, Row) and later.place == one.place + 1


def _later(before: Program, program: Program, rules: Rules, count: int) -> list[Array] | None:
    """Return the arrays of a state at the last time, and of the other results at all times.

    The first times are not in them. None is returned if the times differ in more than their
    numbers, or if a line would say or do something else because of a number.
    """
    states, recorded = program.states, program.recorded
    if not before.is_followed_by(program):
        return None
    make = outline if any(isinstance(array, Outline) for array in recorded) else np.empty
    shapes = [(*array.shape[:-2], count, array.shape[-1]) for array in recorded]
    found = [make(s, a.dtype) for s, a in zip(shapes, recorded, strict=True)][states:]
    if make is outline:
        return [*recorded[:states], *found]
    try:
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            last = _run(before, program, rules, found)
    except FloatingPointError:
        return None
    return None if last is None else [*last, *found]


def _run(
    before: Program, program: Program, rules: Rules, found: Sequence[Array]
) -> list[Array] | None:
    """Fill in the later rows of the results that are found; return the state at the last time.

    Raises:
        FloatingPointError: for a number beyond floats.
    """
    states = program.states
    values: list[Any] = [*program.recorded[:states], *program.arrays[states:]]
    lines = []
    for (one, *_), (operation, operands, place) in zip(before.lines, program.lines, strict=True):
        row = None
        if isinstance(operation, Row) and _is_moving(one, operation):
            row = operation.place - RECORDED
        lines.append((with_plain_floats(operation), operands, place, row))
    for t in range(RECORDED + 1, found[0].shape[-2] + 1):
        for operation, operands, place, row in lines:
            arrays = [values[at] for at in operands]
            if row is not None:
                values[place] = arrays[0][..., row + t : row + t + 1, :]
            elif isinstance(operation, LOOKED_AT) and _is_odd(operation, arrays, rules):
                return None
            else:
                values[place] = operation.apply(*arrays)
        results = [values[place] for place in program.after]
        if not all(map(all_finite, results)):
            return None
        values[:states] = results[:states]
        for rows, result in zip(found, results[states:], strict=True):
            rows[..., t - 1, :] = result[..., 0, :]
    is_of_one_type = len({array.dtype for array in values}) == 1
    return values[:states] if is_of_one_type else None


LOOKED_AT = (Exp, Divide)
"""The operations of whose operands a line may warn."""


def _is_odd(operation: Operation, arrays: Sequence[Array], rules: Rules) -> bool:
    """Return whether a line would warn of these operands, or choose another operation."""
    if isinstance(operation, Divide):  # one of its own kind has no warning
        return type(operation) is Divide and not arrays[1].all()
    return type(operation) is not Exp or are_out_of_range(arrays[0], rules.normalize)
