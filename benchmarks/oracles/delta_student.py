"""A student of linear attention with a state, who shares no line with the program.

Heads are worked one after the other, with vectors as lists and the state as a matrix (d_k, d_v).
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np

Numbers = Any


def draw(
    rng: np.random.Generator, rule: str, more: dict[str, Any], heads: int = 1
) -> dict[str, Any]:
    """Draw the keys of a problem with 3 tokens and d_k = d_v = 2, of which no key is 0."""
    while True:
        keys: dict[str, Any] = {
            "kind": "delta",
            "update": rule,
            "X": rng.integers(-2, 4, (3, 3)) / 2,
        }
        keys |= {f"W_{letter}": rng.integers(-1, 3, (3, 2 * heads)) / 2 for letter in "qkv"}
        if "gated" in rule:
            keys["alpha"] = rng.integers(3, 10, (3, heads)) / 10
        if "delta" in rule:
            keys["beta"] = rng.integers(2, 10, (3, heads)) / 10
        made = [cut(keys["X"] @ keys[f"W_{letter}"], heads) for letter in "qkv"]
        if all(np.abs(one).sum(axis=-1).all() for one in made):
            return keys | ({"heads": heads} if heads > 1 else {}) | more


def cut(matrix: Numbers, heads: int) -> Numbers:
    return np.array(np.split(np.asarray(matrix, float), heads, axis=-1))


class Student:
    """Works a problem, and does one thing wrong at every time, or at the times `wrong_at` only.

    `goes_on` takes a step's name and its numbers, and returns what is used in later steps.
    """

    def __init__(
        self,
        keys: dict[str, Any],
        wrong: str = "",
        goes_on: Callable[[Numbers], Numbers] = lambda numbers: numbers,
        wrong_at: tuple[int, ...] = (1, 2, 3),
    ) -> None:
        self.keys, self.mistake, self.heads = keys, wrong, keys.get("heads", 1)
        self.goes_on, self.wrong_at = goes_on, wrong_at
        self.wrong, self.t = "", 0
        self.steps: dict[str, Numbers] = {}

    def note(self, name: str, numbers: Numbers) -> Numbers:
        """Write a step of this time, and return what is used of it."""
        self.steps[f"{name}_{self.t}"] = numbers
        return self.goes_on(numbers)

    def work(self) -> dict[str, Numbers]:
        """Return every step in order, the head first where there are several."""
        x = np.asarray(self.keys["X"], float)
        whole = {letter: cut(x @ self.keys[f"W_{letter}"], self.heads) for letter in "qkv"}
        state = np.zeros((self.heads, 2, 2))
        rows = []
        for t in range(3):
            self.t = t + 1
            self.wrong = self.mistake if self.t in self.wrong_at else ""
            q, k, v = (self.note(letter, whole[letter][:, t]) for letter in "qkv")
            if "qk_norm" in self.keys:
                q, k = self.normed("q", q), self.normed("k", k)
            new = self.learned(state, k, v)
            seen = state if self.wrong == "old_state_read" else new
            scale = np.sqrt(2) if "scale" in self.keys else 1
            rows.append(self.note("o", self.asked(seen, q) / scale))
            state = new
        output = np.stack(rows, axis=1)
        self.steps["output"] = np.concatenate(list(output), axis=-1)
        return self.steps

    def normed(self, letter: str, vectors: Numbers) -> Numbers:
        lengths = np.array([[np.hypot(*vector)] for vector in vectors])
        is_forgotten = letter == "k" and self.wrong == "keys_not_normed"
        return self.note(f"{letter}_normed", vectors if is_forgotten else vectors / lengths)

    def asked(self, state: Numbers, vectors: Numbers) -> Numbers:
        """What each head's state says to a vector: its numbers times the rows."""
        pairs = zip(state, vectors, strict=True)
        return np.array([a * rows[0] + b * rows[1] for rows, (a, b) in pairs])

    def learned(self, state: Numbers, k: Numbers, v: Numbers) -> Numbers:
        """The state after a token."""
        wrong, before = self.wrong, state
        alpha = np.ones((self.heads, 1, 1))
        if "alpha" in self.keys:
            alpha = np.asarray(self.keys["alpha"], float)[self.t - 1][:, None, None]
            if wrong in ("alpha_left_out", "faded_after_writing"):
                state = self.note("decayed", state)
            else:
                state = self.note("decayed", alpha * state)
        written = v
        if "beta" in self.keys:
            read = self.note(
                "read", self.asked(before if wrong == "read_before_fading" else state, k)
            )
            written = v - read
            if wrong == "held_value_not_subtracted":
                written = v
            if wrong == "held_value_added":
                written = v + read
            written = self.note("error", written)
        product = np.array([np.outer(a, b) for a, b in zip(k, written, strict=True)])
        if wrong == "key_and_value_exchanged":
            product = np.array([np.outer(b, a) for a, b in zip(k, written, strict=True)])
        if "beta" in self.keys and wrong != "beta_left_out":
            product = np.asarray(self.keys["beta"], float)[self.t - 1][:, None, None] * product
        new = product if wrong == "old_state_dropped" else state + product
        return self.note("S", alpha * new if wrong == "faded_after_writing" else new)


def half_up(numbers: Numbers, decimals: int) -> Numbers:
    """Round as people do: a half goes away from 0, also one that floats miss by a hair."""
    return np.vectorize(lambda x: float(text(x, decimals)))(numbers)


def text(number: float, decimals: int) -> str:
    exact = Decimal(repr(round(float(number), 14)))
    return f"{exact.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP):f}"


def written(steps: dict[str, Numbers], decimals: int = 4) -> dict[str, Any]:
    """Return steps as a student hands them in: one matrix or vector per head, or the only one."""

    def texts(numbers: Numbers) -> Any:
        return [texts(x) for x in numbers] if np.ndim(numbers) else text(numbers, decimals)

    alone = {name: len(numbers) == 1 and name != "output" for name, numbers in steps.items()}
    return {name: texts(x[0] if alone[name] else x) for name, x in steps.items()}
