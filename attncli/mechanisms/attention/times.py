"""Lines that a method repeats for each time, as a recurrence does.

Where no step of a time will be read, only the first few times are recorded. The last two of them
give a *program*: their operations in order, with the places of the arrays that these take. It
calculates the other times as the lines would, bit by bit, without a record of each number.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from operator import is_
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from attncli.core.arithmetic.elements import Array
from attncli.core.arithmetic.floats import Outline, all_finite, outline
from attncli.core.attention.normalizers import are_out_of_range
from attncli.core.attention.parameters import Rules
from attncli.core.attention.softmax import Exp, ShiftedExp
from attncli.core.problem.problem import Problem
from attncli.core.records import replace
from attncli.core.tape.evaluation import array_of, with_plain_floats
from attncli.core.tape.operations import Below, Divide, Row, growing, joined
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
                if tape.skips_times:
                    tape.has_skipped_times = True
                else:
                    later = count - RECORDED  # each is as much larger as the last one was
                    growth = (last.size - before_last.size) * (later + 1) // 2
                    tape.reserved.append(outline([(last.size + growth) * later], np.int8))
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
        first = below([*map(array_of, parts)])
        array[..., :RECORDED, : first.shape[-1]] = first
        last = at_end(parts[-1], array) if isinstance(parts[-1], Step) else parts[-1]
        rows.append(AllTimes(Below((*parts, last)), array))
    last_state = [replace(at_end(x, a), array=a) for x, a in zip(state, arrays, strict=False)]
    return (*last_state,), rows


def below(arrays: Sequence[Array]) -> Array:
    """Return rows below each other, with zeros behind those that are shorter than the last."""
    width = arrays[-1].shape[-1]
    padded = [
        np.concatenate([a, np.zeros((*a.shape[:-1], width - a.shape[-1]), a.dtype)], axis=-1)
        if a.shape[-1] < width
        else a
        for a in arrays
    ]
    return joined(padded, -2)


class Program:
    """The operations of one time, in order.

    Attributes:
        arrays: the arrays of the state before; those of other steps that are not of this time; and
            None for each result of an operation.
        lines: each operation, with the places in that list of its operands and of its result. Of
            rows put below each other, as of all states so far, only the last is an operand.
        after: the places of the next state, and of what the time gives beside it.
        recorded: their arrays.
        states: the number of the steps of a state.
        numbers, size: the number of elements, and of bytes, of the steps.
    """

    def __init__(
        self, before: State, steps: Sequence[Step], after: tuple[Expression, ...], size: int
    ) -> None:
        self.arrays: list[Array | None] = []
        self.lines: list[tuple[Operation, list[int], int]] = []
        self.places: dict[Expression, int] = {}
        self.states, self.size = len(before), size
        self.numbers = sum(step.array.size for step in steps)
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
                first = -1 if isinstance(part, Below) else 0
                operands = [self._place(operand) for operand in part.operands[first:]]
                self.lines.append((part, operands, len(self.arrays)))
                self.arrays.append(None)
            self.places[part] = len(self.arrays) - 1
        return self.places[part]

    def is_followed_by(self, other: Program) -> bool:
        """Return True if the next time is made by the same operations of the same other arrays.

        Only the number of a row may go on with time, and rows may get one more below them.
        """
        if self.after != other.after or len(self.lines) != len(other.lines):
            return False
        if not _are_same(self.arrays[self.states :], other.arrays[self.states :]):
            return False
        for (one, *places), (same, *others) in zip(self.lines, other.lines, strict=True):
            if type(one) is not type(same) or places != others:
                return False
            if isinstance(one, Below) and not _are_same(one.operands, same.operands[:-1]):
                return False
            for field in type(one).annotated.keys() - {*type(one).operand_fields}:
                old, new = getattr(one, field), getattr(same, field)
                is_next = _is_moving(one, same) and field == "place"
                if not (is_next or old is new or (isinstance(old, PLAIN) and old == new)):
                    return False
        return True


PLAIN = (str, int, float)
"""Types of fields that are the same if they are equal; others must be one object."""


def _are_same(ones: Sequence[object], others: Sequence[object]) -> bool:
    return len(ones) == len(others) and all(map(is_, ones, others))


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
    make = outline if any(isinstance(array, Outline) for array in recorded) else np.zeros
    found = []
    for earlier, array in zip(before.recorded[states:], recorded[states:], strict=True):
        grown = (array.shape[-1] - earlier.shape[-1]) * (count - RECORDED)
        found.append(make((*array.shape[:-2], count, array.shape[-1] + grown), array.dtype))
    if make is outline:
        return [*recorded[:states], *found]
    try:
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            return [*_run(before, program, rules, found), *found]
    except FloatingPointError:
        return None


NUMBERS_AT_ONCE = 2**17
"""Maximum number of elements, 1 MiB, of the steps of the times for which lines that take no state
are calculated at once, along the axis of the batch, and results and scores checked. Chosen."""

Line: TypeAlias = tuple[Callable[..., Any], list[int], int]
"""A function of arrays, the places of those that it takes, and the place of its result."""


def _run(before: Program, program: Program, rules: Rules, found: Sequence[Array]) -> list[Array]:
    """Fill in the later rows of the results that are found; return the state at the last time.

    Raises:
        FloatingPointError: for a number beyond floats, or one of which a line would warn.
    """
    states, later = program.states, found[0].shape[-2] - RECORDED
    values: list[Any] = [*program.recorded[:states], *program.arrays[states:]]
    batch = max(len(array) for array in values if array is not None)
    numbers = program.numbers + (program.numbers - before.numbers) * later  # of the last time
    at_once = max(NUMBERS_AT_ONCE // numbers, 1) if batch == 1 else 1
    of_tokens, of_states = _split(before, program, at_once, later)
    exponents = [places[0] for operation, places, _ in program.lines if isinstance(operation, Exp)]
    after = program.after[:states], program.after[states:], exponents
    used = {*program.after, *exponents}.union(*(operands for _, operands, _ in of_states))
    moving = used.intersection(place for *_, place in of_tokens)
    for start in range(0, later, at_once):
        _apply(of_tokens, values)
        differing = [(at, [*a[:, None]]) for at in moving if len(a := values[at]) > batch]
        results, scores = [], list[Array]()
        for t in range(min(at_once, later - start)):
            for place, elements in differing:
                values[place] = elements[t]
            _apply(of_states, values)
            state, result, powered = [[values[at] for at in places] for places in after]
            results.append(result)
            scores += powered
            values[:states] = state
        parts = [*map(below, zip(*results, strict=True))]
        if not all(map(all_finite, (*values[:states], *parts))):
            raise FloatingPointError  # an infinity in an earlier state has raised it, or is here
        if scores and are_out_of_range(np.concatenate(scores, axis=None), rules.normalize):
            raise FloatingPointError  # as a line would warn of them, or choose another power
        for rows, part in zip(found, parts, strict=True):
            first = RECORDED + start
            rows[..., first : first + at_once, : part.shape[-1]] = part
    if len({array.dtype for array in values}) > 1:
        raise FloatingPointError
    return values[:states]


def _split(
    before: Program, program: Program, at_once: int, later: int
) -> tuple[list[Line], list[Line]]:
    """Return the lines that take no state, for some times at once, and the others."""
    of_tokens, of_states = list[Line](), list[Line]()
    changed = {*range(program.states)}  # the places of arrays that are made of a state
    for (one, *_), (operation, operands, place) in zip(before.lines, program.lines, strict=True):
        apply: Callable[..., Any] = with_plain_floats(operation).apply
        is_of_state = isinstance(operation, Below) or not changed.isdisjoint(operands)
        if isinstance(operation, Below):
            apply = growing(array_of(operation), later)
        elif isinstance(operation, Row) and _is_moving(one, operation):
            apply = _next_rows(operation.place + 1, 1 if is_of_state else at_once)
        elif isinstance(operation, Divide):
            apply = np.divide  # which raises an error where a divisor is 0
        elif isinstance(operation, ShiftedExp):
            raise FloatingPointError  # as a line warns of it
        if is_of_state:
            changed.add(place)
        (of_states if is_of_state else of_tokens).append((apply, operands, place))
    return of_tokens, of_states


def _apply(lines: Iterable[Line], values: list[Any]) -> None:
    for apply, operands, place in lines:
        match operands:  # most take one or two, of which a list would take longer
            case [one]:
                values[place] = apply(values[one])
            case [one, other]:
                values[place] = apply(values[one], values[other])
            case _:
                values[place] = apply(*map(values.__getitem__, operands))


def _next_rows(first: int, at_once: int) -> Callable[[Array], Array]:
    """Return a function that takes the next rows of a matrix, along the axis of the batch."""
    starts = itertools.count(first, at_once)

    def apply(matrix: Array) -> Array:
        start = next(starts)
        rows = matrix[..., start : start + at_once, :]
        return rows if at_once == 1 else np.swapaxes(rows, 0, -2)

    return apply
