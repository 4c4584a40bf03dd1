"""A student of gated attention, who shares no line with the program.

Arrays are (head, row, column). Heads are contiguous pieces of the features; a gate has a column per
head or per feature. `random_problem` draws problems of every form of gate for the survey.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Numbers = Any


def draw(rng: np.random.Generator, heads: int, by_head: bool, d_v: int = 2) -> dict[str, Any]:
    """Draw a problem of 3 tokens whose X, context and output have as many features."""
    size = heads * d_v
    keys: dict[str, Any] = {"X": rng.integers(-2, 4, (3, size)) / 2}
    keys |= {f"W_{letter}": rng.integers(-1, 3, (size, size)) / 2 for letter in "qkvo"}
    width = heads if by_head else size
    gate = {"W": rng.integers(-2, 3, (size, width)) / 2, "b": rng.integers(-1, 3, width) / 2}
    return keys | {"gate": gate} | ({"heads": heads} if heads > 1 else {})


def cut(matrix: Numbers, heads: int) -> Numbers:
    return np.array(np.split(matrix, heads, axis=-1))


def beside(heads: Numbers) -> Numbers:
    return np.concatenate([*heads], axis=-1)


class Student:
    """Works a problem, and does one thing wrong; `goes_on` rounds what is used in later steps."""

    def __init__(
        self,
        keys: dict[str, Any],
        wrong: str = "",
        goes_on: Callable[[Numbers], Numbers] = lambda numbers: numbers,
    ) -> None:
        self.keys, self.wrong, self.heads = keys, wrong, keys.get("heads", 1)
        self.goes_on = goes_on
        self.steps: dict[str, Numbers] = {}

    def note(self, name: str, numbers: Numbers) -> Numbers:
        """Write a step, and return what is used of it."""
        self.steps[name] = numbers
        return self.goes_on(numbers)

    def work(self) -> dict[str, Numbers]:
        """Return every step in order."""
        x = np.asarray(self.keys["X"], float)
        q, k, v = (
            self.note(name, cut(x @ self.keys[f"W_{name.lower()}"], self.heads)) for name in "QKV"
        )
        scores = self.note("scores", q @ k.swapaxes(1, 2))
        scaled = self.note("scaled", scores / np.sqrt(q.shape[-1]))
        exp = self.note("exp", np.exp(scaled))
        total = self.note("sum", exp.sum(axis=-1, keepdims=True))
        weights = self.note("weights", exp / total)
        if self.wrong == "gate_on_values":
            context = self.note("context", weights @ (v * self.gate(x)))
            gate = self.note("gate", self.gate(x))
            gated = self.note("gated", context)
        else:
            context = self.note("context", weights @ v)
            source = beside(context) if self.wrong == "gate_from_context" else x
            gate = self.note("gate", self.gate(source))
            gated = self.note("gated", self.gated(context, gate))
        whole = beside(gated)
        if self.heads > 1:
            whole = self.note("concat", whole[None])[0]
        output = whole @ self.keys["W_o"]
        if self.wrong == "gate_after_w_o":
            output = output * beside(gate)
        self.note("output", output[None])
        return self.steps

    def gate(self, x: Numbers) -> Numbers:
        net = cut(x @ self.keys["gate"]["W"] + self.keys["gate"]["b"], self.heads)
        if self.wrong == "gate_without_sigmoid":
            return net
        if self.wrong == "gate_by_tanh":
            return np.tanh(net)
        gate = np.exp(net) / (np.exp(net) + 1)
        return gate[::-1] if self.wrong == "gate_heads_exchanged" else gate

    def gated(self, context: Numbers, gate: Numbers) -> Numbers:
        if self.wrong in ("gate_forgotten", "gate_after_w_o"):
            return context
        if self.wrong == "gate_added":
            return context + gate
        return context * (1 - gate if self.wrong == "gate_inverted" else gate)


def half_up(numbers: Numbers, decimals: int) -> Numbers:
    """Round as people do: a half goes away from 0."""
    return np.trunc(numbers * 10**decimals + np.copysign(0.5, numbers)) / 10**decimals


def written(steps: dict[str, Numbers], decimals: int = 4) -> dict[str, Any]:
    """Return steps as a student hands them in: one matrix per head, or the only one."""
    return {
        name: [[[f"{x:.{decimals}f}" for x in row] for row in head] for head in numbers]
        if len(numbers) > 1
        else [[f"{x:.{decimals}f}" for x in row] for row in numbers[0]]
        for name, numbers in steps.items()
    }
