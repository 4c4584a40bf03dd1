"""What Moodle says of numbers in a quiz of ours, beside what `attn check` says."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np

import attncli
from attncli.checking.check import AnswerKey
from attncli.checking.judging.judged_steps import (
    CORRECT,
    FOLLOWS,
    LAST_DIGIT,
    ROUNDED_EARLY,
    Compared,
)
from tests.conftest import SAMPLES, table
from tests.support.moodle_reader import Field, Question, read_quiz

TEXT_ERROR = 2e-4
"""Share of the tolerance within which a number may be on either side of its end: the middle of an
interval is written with four decimals more than are asked for."""

PROBLEMS: list[tuple[str, dict[str, Any]]] = table("moodle", "quizzes")
"""Samples, each with a marking."""


class Cell(NamedTuple):
    """A number that a quiz asks for: its step, its place on paper, and its field."""

    step: attncli.Step
    at: tuple[int, ...]
    field: Field

    @property
    def right(self) -> float:
        return float(self.step.value[self.at])


class Outcome(NamedTuple):
    """What was said of one response.

    `expected` is the share that `attn check` gives; None for a number that follows from others, or
    from earlier rounding, which Moodle cannot tell. `padded` is that of the same number in the
    asked decimals: to Moodle, 1, 1.00 and 1.000 are one number.
    """

    cell: Cell
    response: str
    share: float
    expected: float | None
    padded: float | None

    @property
    def is_same(self) -> bool:
        known = (self.expected, self.padded)
        return any(one is None or abs(self.share - one) < 1e-6 for one in known)


def quiz_of(problems: list[attncli.Problem], **options: Any) -> list[Question]:
    return read_quiz(attncli.worksheet(problems, "moodle", **options).encode())


def cells_of(trace: attncli.Trace, question: Question) -> Iterator[Cell]:
    """Yield the cells of a question; each of its tables is a matrix of the step that it names."""
    for name, step in trace.steps.items():
        tables = [table.numbers for table in question.tables if table.name == name]
        if not tables:
            continue
        shape = step.value.shape
        places = np.arange(step.value.size).reshape(shape)
        is_wide = len(shape) == 3 and len(tables[0][0]) == shape[0] * shape[2]
        if len(tables) == 1 and is_wide:
            places = np.concatenate(places, axis=1)  # the heads are side by side
        numbers = np.array(tables).reshape(places.shape)
        for number, place in zip(numbers.ravel(), places.ravel(), strict=True):
            if number:
                at = tuple(int(i) for i in np.unravel_index(place, shape))
                yield Cell(step, at, question.fields[number - 1])


class Judges:
    """Moodle and `attn check`, for the cells of one problem."""

    def __init__(self, problem: attncli.Problem) -> None:
        (question,) = quiz_of([problem])
        marking = problem.marking
        self.digits = 2 if marking.decimals is None else marking.decimals
        self.tolerance = max(marking.tolerance, 10**-self.digits / 2)
        asked = {"decimals": self.digits, "tolerance": self.tolerance}
        self.key = AnswerKey(problem.marked(asked))
        self.few_digits = marking.few_digits
        self.cells = [*cells_of(self.key.trace, question)]
        assert len(self.cells) == len(question.fields)

    def judge(self, cell: Cell, response: str) -> Outcome | None:
        """Return what both say; None for a number too near to an end of the tolerance."""
        number = float(response.replace("−", "-").replace("∞", "inf").replace("oo", "inf"))
        decimals = len(response.partition(".")[2])
        is_near = abs(abs(number - cell.right) - self.tolerance) < TEXT_ERROR * self.tolerance
        if is_near and decimals > self.digits:
            return None
        expected = padded = self.expected(cell, response)
        in_digits = f"{number:.{self.digits}f}"
        if (decimals < self.digits and np.isfinite(number)) or float(in_digits) == number:
            padded = self.expected(cell, in_digits)
        return Outcome(cell, response, cell.field.judge(response)[0], expected, padded)

    def expected(self, cell: Cell, response: str) -> float | None:
        """Return the share of its points that a number earns, the rest of its step being right."""
        step = cell.step
        value = np.char.mod(f"%.{self.digits}f", step.value).astype(object)
        value[cell.at] = response
        judged = self.key.check({step.name: value.tolist()}).steps[step.name]
        short = judged.short if isinstance(judged, Compared) else None
        if short is not None and step.on_paper(short)[cell.at]:
            return self.few_digits
        code = int(step.on_paper(judged.codes)[cell.at])
        return None if code in (FOLLOWS, ROUNDED_EARLY) else float(code in (CORRECT, LAST_DIGIT))


@cache
def judges_of(which: int) -> Judges:
    name, marking = PROBLEMS[which]
    return Judges(attncli.load(SAMPLES / f"{name}.yaml").marked(marking))
