"""A student of differential attention, who shares no line with the program.

Arrays are (head, row, column). Each head has contiguous features, of which the first half makes the
first attention and the second half the second one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.oracles.gate_student import beside, cut

Numbers = Any

VECTORS = ("lambda_q1", "lambda_k1", "lambda_q2", "lambda_k2")


def draw(
    rng: np.random.Generator, heads: int, learned: bool = False, normed: bool = False
) -> dict[str, Any]:
    """Draw a problem of 3 tokens, whose halves have 3 features; λ is given, or learned."""
    keys: dict[str, Any] = {"X": rng.integers(-2, 4, (3, 4)) / 2}
    keys |= {f"W_{letter}": rng.integers(-2, 4, (4, 6 * heads)) / 4 for letter in "qk"}
    keys |= {"W_v": rng.integers(-2, 4, (4, 2 * heads)) / 2}
    keys |= {"W_o": rng.integers(-1, 3, (2 * heads, 3)) / 2, "heads": heads}
    numbers: dict[str, Any] = {"lambda": [0.25 + rng.integers(1, 5) / 10]}
    if learned:
        numbers = {name: rng.integers(-3, 4, 3) / 5 for name in VECTORS}
        for name in ("lambda_q1", "lambda_k1"):
            numbers[name][0] = 1.0
    if learned or normed:
        numbers["lambda_init"] = [0.8]
    return keys | {"differential": numbers | ({"norm": "rms", "eps": 0.5} if normed else {})}


def half_up(numbers: Numbers, decimals: int) -> Numbers:
    """Round as people do: a half goes away from 0, also one that floats have as 0.4999999."""
    places = np.round(numbers * 10**decimals, 6)
    return np.trunc(places + np.copysign(0.5, places)) / 10**decimals


class Student:
    """Works a problem, and does one thing wrong; `goes_on` rounds what is used in later steps."""

    def __init__(
        self,
        keys: dict[str, Any],
        wrong: str = "",
        goes_on: Callable[[Numbers], Numbers] = lambda numbers: numbers,
    ) -> None:
        self.keys, self.wrong, self.goes_on = keys, wrong, goes_on
        self.heads, self.given = keys["heads"], keys["differential"]
        self.steps: dict[str, Numbers] = {}

    def note(self, name: str, numbers: Numbers) -> Numbers:
        """Write a step, and return what is used of it."""
        used = self.steps[name] = self.goes_on(numbers)
        return used

    def work(self) -> dict[str, Numbers]:
        """Return every step in order."""
        x = np.asarray(self.keys["X"], float)
        q, k, v = (
            self.note(name, cut(x @ self.keys[f"W_{name.lower()}"], self.heads)) for name in "QKV"
        )
        scores, both = [], []
        for end in (1, 2):
            of_q, of_k = self.half(q, end, "Q"), self.half(k, end, "K")
            of_q, of_k = self.note(f"Q_{end}", of_q), self.note(f"K_{end}", of_k)
            raw = self.note(f"scores_{end}", of_q @ of_k.swapaxes(1, 2))
            d = of_q.shape[-1] * (2 if self.wrong == "scaled_by_whole_head" else 1)
            scaled = self.note(f"scaled_{end}", raw / np.sqrt(d))
            exp = self.note(f"exp_{end}", np.exp(scaled))
            total = self.note(f"sum_{end}", exp.sum(axis=-1, keepdims=True))
            scores.append(scaled)
            both.append(self.note(f"weights_{end}", exp / total))
        factor = self.given["lambda"][0] if "lambda" in self.given else self.learned()
        weights = self.note("weights", self.difference(both, scores, factor))
        found = self.note("context", weights @ v)
        if "norm" in self.given:
            found = self.normed(found, factor)
        whole = beside(found)
        if self.heads > 1:
            whole = self.note("concat", whole[None])[0]
        self.note("output", (whole @ self.keys["W_o"])[None])
        return self.steps

    def half(self, features: Numbers, end: int, name: str) -> Numbers:
        if self.wrong == "halves_interleaved":
            return features[..., end - 1 :: 2]
        first, second = np.split(features, 2, axis=-1)
        if self.wrong == "other_half_taken" and name == "Q":
            first, second = second, first
        return first if end == 1 else second

    def learned(self) -> Numbers:
        q1, k1, q2, k2 = (np.asarray(self.given[name]) for name in VECTORS)
        first, second = np.exp(np.dot(q1, k1)), np.exp(np.dot(q2, k2))
        start = self.given["lambda_init"][0]
        number = {
            "lambda_init_left_out": first - second,
            "powers_of_lambda_added": first + second + start,
            "powers_of_lambda_exchanged": second - first + start,
            "lambda_without_powers": np.dot(q1, k1) - np.dot(q2, k2) + start,
        }.get(self.wrong, first - second + start)
        return self.note("lambda", np.array([[[number]]]))[0, 0, 0]

    def difference(self, both: Numbers, scores: Numbers, factor: Numbers) -> Numbers:
        a, b = both
        if self.wrong == "softmax_of_the_difference":
            powers = np.exp(scores[0] - factor * scores[1])
            return powers / powers.sum(axis=-1, keepdims=True)
        right = a - factor * b
        return {
            "second_weights_added": a + factor * b,
            "lambda_left_out": a - b,
            "second_weights_left_out": a,
            "halves_exchanged": b - factor * a,
            "lambda_on_the_difference": factor * (a - b),
            "lambda_on_the_first_weights": factor * a - b,
            "difference_normalized": right / right.sum(axis=-1, keepdims=True),
        }.get(self.wrong, right)

    def normed(self, context: Numbers, factor: Numbers) -> Numbers:
        square = (context**2).mean(axis=-1, keepdims=True)
        if self.wrong == "norm_of_all_heads":
            square = np.repeat(square.mean(axis=0, keepdims=True), self.heads, axis=0)
        square = self.note("mean_square_context", square)
        norm = self.note("normed_context", context / np.sqrt(square + self.given["eps"]))
        start = self.given["lambda_init"][0]
        rest = {
            "lambda_init_not_its_rest": start,
            "rest_of_lambda_left_out": 1,
            "rest_of_lambda_itself": 1 - factor,
        }.get(self.wrong, 1 - start)
        return self.note("rescaled_context", rest * norm)
