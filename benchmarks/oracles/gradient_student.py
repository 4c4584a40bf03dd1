"""A student who works a backward pass with plain NumPy, and does one thing wrong.

Nothing here comes from the program: the derivatives are those of a textbook, written out for
self-attention with a mask and W_o, and for pooling with tanh before and after it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.oracles.handwriting import Habit, Numbers

OVER = {"half": 2, "mean": 9}
"""By what the squared error of nine numbers is divided."""


def draw_gradient(rng: np.random.Generator, kind: str) -> dict[str, Any]:
    """Draw a problem of three tokens with a loss; with `masked`, no token looks ahead.

    With `half` and `mean` that is how the squared error is divided.
    """
    d, n = 3, 3  # square, so that a factor that is not transposed fits

    def small(*shape: int, spread: int = 2) -> Any:
        return (rng.integers(-spread, spread + 1, shape) / 2).tolist()

    target = rng.integers(-2, 3, (1 if kind == "pooling" else n, d)).astype(float).tolist()
    before = f"{kind}_" if kind in OVER else ""
    gradient = {"loss": f"{before}squared_error", "target": target}
    problem: dict[str, Any] = {"X": small(n, d), "gradient": gradient, "learning_rate": 0.1}
    if kind == "pooling":
        own = {"W": small(d, d), "b": small(d), "u": small(d), "output_activation": "tanh"}
        return problem | {"kind": "pooling"} | own
    weights = {f"W_{letter}": small(d, d) for letter in "qkvo"}
    return problem | weights | ({"mask": "causal"} if kind == "masked" else {})


class Student:
    """Works one problem.

    Args:
        problem: what the program takes.
        habit: how each number is rounded before the next step uses it.
        wrong: the mistake's id; "" for none.
        at: the step in which it is made.
        way: which of several ways.
    """

    def __init__(
        self, problem: Mapping[str, Any], habit: Habit, wrong: str = "", at: str = "", way: int = 0
    ) -> None:
        self.problem = problem
        self.habit = habit
        self.wrong = wrong
        self.at = at
        self.way = way
        self.steps: dict[str, Numbers] = {}

    def given(self, key: str) -> Numbers:
        """Return a matrix of the problem."""
        return np.array(self.problem[key], float)

    def does(self, wrong: str, name: str) -> bool:
        """Whether this is the student who makes a mistake in a step."""
        return (wrong, name) == (self.wrong, self.at)

    def write(self, name: str, numbers: Numbers) -> Numbers:
        """Write a step down; whoever rounds early goes on from what stands there."""
        self.steps[name] = self.habit.rounded(numbers) if self.habit.early else numbers
        return self.steps[name]

    def aside(self, name: str, numbers: Numbers) -> Numbers:
        """Return what is used of a step that is not written down."""
        del name
        return numbers

    def softmax(self, scores: Numbers) -> Numbers:
        """Return e^s over the sum of its row."""
        powers = self.aside("exp", np.exp(scores))
        return np.asarray(powers / self.aside("sum", powers.sum(axis=1, keepdims=True)))

    def product(self, name: str, left: Numbers, right: Numbers) -> Numbers:
        """Left · right, or one of them transposed that should not be."""
        if self.does("factor_not_transposed", name):
            left, right = (left.T, right) if self.way == 0 else (left, right.T)
        return self.write(name, left @ right)

    def total(self, name: str, *parts: Numbers) -> Numbers:
        """The sum of what comes back along every path, or all but one of them."""
        if self.does("path_forgotten", name):
            parts = tuple(p for i, p in enumerate(parts) if i != self.way % len(parts))
        return self.write(name, np.sum(parts, axis=0))

    def factor(self, name: str, numbers: Numbers, by: float) -> Numbers:
        """The numbers times a factor, or without it, or divided by it."""
        if self.does("factor_forgotten_backward", name):
            by = 1.0
        if self.does("factor_inverted_backward", name):
            by = 1 / by
        return self.write(name, numbers * by)

    def work(self) -> dict[str, Numbers]:
        """Return the numbers of every step."""
        if self.problem.get("kind") == "pooling":
            self.pooling()
        else:
            self.attention()
        return self.steps

    def attention(self) -> None:
        """softmax(Q Kᵀ / √d_k) V W_o, and back."""
        x, w_q, w_k, w_v, w_o = map(self.given, ("X", "W_q", "W_k", "W_v", "W_o"))
        q, k, v = (self.write(n, x @ w) for n, w in (("Q", w_q), ("K", w_k), ("V", w_v)))
        root = np.sqrt(k.shape[1])
        scores = self.write("scores", q @ k.T)
        last = self.write("scaled", scores / root)
        unmasked = last
        if is_masked := "mask" in self.problem:
            keep = np.tril(np.ones(last.shape)) > 0
            last = self.write("masked", np.where(keep, last, -np.inf))
        weights = self.write("weights", self.softmax(last))
        context = self.write("context", weights @ v)
        output = self.write("output", context @ w_o)
        d_output = self.loss(output)
        d_w_o = self.product("d_W_o", context.T, d_output)
        d_context = self.product("d_context", d_output, w_o.T)
        d_weights = self.product("d_weights", d_context, v.T)
        name = "d_masked" if is_masked else "d_scaled"
        d_scaled = self.softmax_back(name, weights, d_weights, unmasked)
        if is_masked:
            d_scaled = self.write("d_scaled", d_scaled)
        d_scores = self.factor("d_scores", d_scaled, 1 / root)
        d_v = self.product("d_V", weights.T, d_context)
        d_k = self.product("d_K", d_scores.T, q)
        d_q = self.product("d_Q", d_scores, k)
        found = {
            "W_v": self.product("d_W_v", x.T, d_v),
            "W_k": self.product("d_W_k", x.T, d_k),
            "W_q": self.product("d_W_q", x.T, d_q),
            "W_o": d_w_o,
        }
        self.total("d_X", d_q @ w_q.T, d_k @ w_k.T, d_v @ w_v.T)
        self.update(found)

    def pooling(self) -> None:
        """tanh(Σ α_t h_t) with α = softmax(tanh(W h_t + b) · u), and back."""
        x, w, b, u = map(self.given, ("X", "W", "b", "u"))
        hidden = self.write("hidden", np.tanh(x @ w.T + b))
        scores = self.write("scores", u[None] @ hidden.T)
        weights = self.write("weights", self.softmax(scores))
        context = self.write("context", weights @ x)
        output = self.write("output", np.tanh(context))
        d_output = self.loss(output)
        d_context = self.through_tanh("d_context", d_output, output)
        d_weights = self.product("d_weights", d_context, x.T)
        d_scores = self.softmax_back("d_scores", weights, d_weights, scores)
        d_hidden = self.product("d_hidden", d_scores.T, u[None])
        d_net = self.through_tanh("d_net_hidden", d_hidden, hidden)
        d_b = self.write("d_b", d_net.sum(axis=0))
        d_w = self.product("d_W", d_net.T, x)
        d_u = self.product("d_u", d_scores, hidden)
        self.total("d_X", d_net @ w, weights.T @ d_context)
        self.update({"W": d_w, "b": d_b, "u": d_u})

    def loss(self, output: Numbers) -> Numbers:
        """Σ (output − target)², perhaps divided, and its derivative."""
        off = output - np.array(self.problem["gradient"]["target"])
        over = OVER.get(self.problem["gradient"]["loss"].partition("_")[0], 1)
        total = (off**2).sum(keepdims=True).ravel()
        self.write("loss", total if self.does("loss_factor_missing", "loss") else total / over)
        if self.does("difference_turned_round", "d_output"):
            off = -off
        return self.factor("d_output", off, 2 / over)

    def softmax_back(
        self, name: str, weights: Numbers, d_weights: Numbers, unmasked: Numbers
    ) -> Numbers:
        """Weights ⊙ (d_weights − delta), or what becomes of it."""
        axis = 0 if self.does("delta_over_wrong_axis", "delta") else 1
        delta = self.write("delta", (weights * d_weights).sum(axis=axis)[:, None])
        off = d_weights - delta
        if self.does("difference_turned_round", name):
            off = -off
        if self.does("mask_forgotten_backward", name):
            weights = softmax(unmasked)
            off = d_weights - (weights * d_weights).sum(axis=1, keepdims=True)
        ways = {
            "jacobian_left_out": weights * d_weights,
            "diagonal_alone": weights * (1 - weights) * d_weights,
            "softmax_passed_over": d_weights,
            "weights_left_out_backward": d_weights - delta,
        }
        is_wrong = self.wrong in ways and name == self.at
        return self.write(name, ways[self.wrong] if is_wrong else weights * off)

    def through_tanh(self, name: str, upstream: Numbers, result: Numbers) -> Numbers:
        """Upstream ⊙ (1 − result²), or what becomes of it."""
        slope = 1 - result**2
        if self.does("tanh_slope_missing", name):
            slope = np.ones(result.shape)
        if self.does("tanh_slope_not_squared", name):
            slope = 1 - result
        return self.write(name, upstream * slope)

    def update(self, derivatives: Mapping[str, Numbers]) -> None:
        """W − rate · d_W of every weight."""
        for key, derivative in derivatives.items():
            name, rate = f"new_{key}", float(self.problem["learning_rate"])
            if self.does("update_sign", name):
                rate = -rate
            if self.does("learning_rate_missing", name):
                rate = 1.0
            before = self.given(key).reshape(derivative.shape)
            self.write(name, before - rate * derivative)


def softmax(scores: Numbers) -> Numbers:
    """e^s over the sum of its row."""
    powers = np.exp(scores)
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))
