"""The idea of attn in one file: a method writes each of its lines on a tape, and features read it.

`python examples/tiny_tape.py` shows three: a page of formulas, the explanation of a number, and the
check of an answer. The package has more operations, and more elements that they run on.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np


class Operation:
    """A frozen record of its operands. `apply` assumes no dtype, so it runs on more than floats."""

    apply: Any

    def values(self) -> dict[str, Any]:
        return {one.name: one.value for one in vars(self).values() if isinstance(one, Step)}


@dataclass(frozen=True)
class Step:
    """A named line of the calculation, its numbers, and what made it: None for an input."""

    name: str
    value: Any
    operation: Any = None


@dataclass(frozen=True)
class MatMul(Operation):
    left: Step
    right: Step
    mark: str = ""

    def apply(self, a: Any, b: Any) -> Any:
        return a @ (b.T if self.mark else b)

    def __str__(self) -> str:
        return f"{self.left.name} {self.right.name}{self.mark}"


@dataclass(frozen=True)
class Scale(Operation):
    operand: Step
    over: float

    def apply(self, a: Any) -> Any:
        return a / self.over

    def __str__(self) -> str:
        return f"{self.operand.name} / {self.over:.4g}"


@dataclass(frozen=True)
class Softmax(Operation):
    operand: Step

    def apply(self, a: Any) -> Any:
        powers = np.exp(a)  # which calls the method `exp` of elements that are no floats
        return powers / powers.sum(axis=1, keepdims=True)

    def __str__(self) -> str:
        return f"softmax of each row of {self.operand.name}"


class Tape(dict[str, Step]):
    """The steps by name, in the order of calculation."""

    def record(self, name: str, operation: Operation) -> Step:
        self[name] = Step(name, operation.apply(*operation.values().values()), operation)
        return self[name]


def attention(x: Any, w_q: Any, w_k: Any) -> Tape:
    """Write the method as the textbook has it, line by line."""
    tape, x = Tape(), Step("X", np.array(x))
    q = tape.record("Q", MatMul(x, Step("W_q", np.array(w_q))))
    k = tape.record("K", MatMul(x, Step("W_k", np.array(w_k))))
    scores = tape.record("scores", MatMul(q, k, "ᵀ"))
    scaled = tape.record("scaled", Scale(scores, over=math.sqrt(k.value.shape[1])))
    weights = tape.record("weights", Softmax(scaled))
    tape.record("output", MatMul(weights, x))
    return tape


class Term(str):
    """An element that remembers what was done with it: arrays of terms explain themselves."""

    def __add__(self, other: str) -> Term:
        return Term(f"{self} + {other}")

    def __mul__(self, other: Any) -> Term:
        return Term(f"{self}·{other}")

    def __truediv__(self, other: Any) -> Term:
        return Term(f"{self} / ({other})" if "+" in str(other) else f"{self} / {other:.4g}")

    def exp(self) -> Term:
        return Term(f"e^{self}")


def explain(step: Step, row: int, column: int) -> str:
    """Return how a number came about: the same `apply`, on terms."""
    as_terms = np.vectorize(lambda number: Term(f"{number:.4g}"), [object])
    terms = [as_terms(numbers) for numbers in step.operation.values().values()]
    text, number = step.operation.apply(*terms)[row, column], step.value[row, column]
    return f"{step.name}[{row + 1}, {column + 1}] = {text} = {number:.4g}"


def check(tape: Tape, answers: dict[str, Any]) -> Iterator[str]:
    """Yield what is to be said of each answer: the same `apply`, on the student's own numbers."""
    for name, written in answers.items():
        made = tape[name].operation
        own = [np.array(answers.get(key, value)) for key, value in made.values().items()]
        found = {"right": tape[name].value, "follows from your numbers": made.apply(*own)}
        if isinstance(made, Scale):  # a mistake is the operation with one thing wrong
            mistaken = replace(made, over=made.over**2)
            found[f"wrong: {mistaken} was calculated, not {made}"] = mistaken.apply(*own)
        fits = (say for say, numbers in found.items() if np.abs(numbers - written).max() < 0.006)
        yield f"{name}: {next(fits, 'wrong')}"


if __name__ == "__main__":
    tape = attention(x=[[1, 0], [0, 1], [1, 1]], w_q=[[1, 2], [0, 1]], w_k=[[2, 0], [1, 1]])
    print(*(f"{name} = {step.operation}" for name, step in tape.items()), sep="\n")
    print(explain(tape["scores"], 2, 1), explain(tape["weights"], 2, 1), sep="\n")
    scores, scaled = [[2, 3, 5], [0, 1, 1], [2, 4, 6]], [[1, 1.5, 2.5], [0, 0.5, 0.5], [1, 2, 3]]
    weights = [[0.14, 0.23, 0.63], [0.23, 0.38, 0.38], [0.09, 0.24, 0.67]]
    print(*check(tape, {"scores": scores, "scaled": scaled, "weights": weights}), sep="\n")
