"""A student who works transformer blocks with NumPy, and does one thing wrong on purpose.

Nothing here comes from the program. A step is a matrix with one row per token; the loss is one
number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Keys = dict[str, Any]
Numbers = NDArray[np.float64]

WORDS = ("I", "love", "AI", "too", ".")
SMALLEST = 0.02
"""Minimum of weights, probabilities and variances: four decimals leave three digits of each."""


def gelu(x: Numbers) -> Numbers:
    return np.array([c * (1 + math.erf(c / math.sqrt(2))) / 2 for c in x.flat]).reshape(x.shape)


def gelu_tanh(x: Numbers) -> Numbers:
    return np.asarray(x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2)


ACTIVATIONS: dict[str, Callable[[Numbers], Numbers]] = {
    "relu": lambda x: np.maximum(x, 0),
    "gelu": gelu,
    "gelu_tanh": gelu_tanh,
    "silu": lambda x: x / (1 + np.exp(-x)),
}
GATED = {"swiglu": "silu", "geglu": "gelu"}


class Student:
    """One who makes the mistake `wrong`.

    Attributes:
        at: the layer and the half in which it is made, such as (2, 1); by default everywhere.
        decimals: to how many decimals each step is rounded before the next; by default none is.
        way: which of several ways, where there are several.
    """

    def __init__(
        self,
        keys: Keys,
        wrong: str = "",
        at: tuple[int, int] | None = None,
        decimals: int | None = None,
        way: int = 0,
    ) -> None:
        self.keys, self.wrong, self.at, self.decimals, self.way = keys, wrong, at, decimals, way
        self.steps: dict[str, Numbers] = {}
        self.prefix, self.here = "", (0, 0)
        self.first: Numbers = np.zeros(0)

    def does(self, wrong: str) -> bool:
        return self.wrong == wrong and self.at in (None, self.here)

    def write(self, name: str, value: Numbers) -> Numbers:
        if self.decimals is not None:
            value = np.vectorize(lambda c: float(text(c, self.decimals or 0)))(value)
        self.steps[self.prefix + name] = value
        return value

    def work(self) -> dict[str, Numbers]:
        """Return every step."""
        table = np.array(self.keys["embedding"]["table"], float)
        x = self.write("X", table[self.rows("tokens")])
        layers, self.first = self.keys["layers"], x
        for number, layer in enumerate(layers, 1):
            self.prefix = f"layers.{number}." if len(layers) > 1 else ""
            for half, function in ((1, self.attention), (2, self.feed_forward)):
                self.here = number, half
                x = self.half(layer, x, function)
        self.prefix = ""
        logits = self.write("logits", x @ table.T)
        powers = self.write("exp_logits", np.exp(logits))
        axis = 0 if self.does("softmax_over_queries") else 1
        sums = powers.sum(axis=axis, keepdims=True)
        if axis:
            self.write("sum_logits", sums)
        self.loss(self.write("probabilities", powers / sums))
        return self.steps

    def rows(self, key: str) -> list[int]:
        return [self.keys["embedding"]["vocabulary"].index(word) for word in self.keys[key]]

    def loss(self, probabilities: Numbers) -> None:
        right = self.rows("tokens" if self.does("target_not_shifted") else "target")
        logarithms = -np.log(probabilities[range(len(right)), right])
        if self.does("logarithm_to_base_10"):
            logarithms /= math.log(10)
        sum_ = logarithms.sum()
        self.write("loss", np.array(sum_ if self.does("loss_not_averaged") else sum_ / len(right)))

    def half(self, layer: Keys, x: Numbers, function: Callable[..., Numbers]) -> Numbers:
        is_pre = layer.get("place", "pre") == "pre"
        read = self.norm(layer, x) if is_pre else x
        made = function(layer, x if self.does("norm_skipped") else read)
        if self.does("residual_forgotten"):
            x = np.zeros_like(x)
        elif self.does("residual_of_normed"):
            x = read
        elif self.does("residual_of_another_step"):
            x = self.first
        sum_ = self.write(f"residual_{self.here[1]}", x + made)
        return sum_ if is_pre else self.norm(layer, sum_)

    def norm(self, layer: Keys, x: Numbers) -> Numbers:
        number, is_rms = self.here[1], layer.get("norm") == "rms"
        axis = 0 if self.does("norm_over_tokens") else 1
        eps, size = 0.0 if self.does("eps_forgotten") else layer["eps"], x.shape[axis]
        mean = x.mean(axis=axis, keepdims=True)
        if is_rms:
            centred, spread = x, self.spread("mean_square", (x * x).mean(axis, keepdims=True))
        else:
            mean = self.spread("mean", mean)
            squares = x * x if self.does("squares_not_centred") else (x - mean) ** 2
            over = size - 1 if self.does("variance_of_a_sample") else size
            spread = self.spread("variance", squares.sum(axis, keepdims=True) / over)
            centred = x if self.does("mean_not_subtracted") else x - mean
        root = np.sqrt(spread + eps)
        if self.does("eps_outside_the_root"):
            root = np.sqrt(spread) + eps
        if self.does("root_of_variance_forgotten"):
            root = spread + eps
        normed = centred / root
        if not (self.does("gain_forgotten") or self.does("gain_and_shift_forgotten")):
            normed = normed * np.array(layer[f"gain_{number}"])
        if not (self.does("bias_missing") or self.does("gain_and_shift_forgotten")):
            normed = normed + np.array(layer[f"shift_{number}"])
        return self.write(f"normed_{number}", normed)

    def spread(self, name: str, numbers: Numbers) -> Numbers:
        """Write the mean or the variance of each token; over the tokens, it is kept to itself."""
        if self.does("deviation_for_variance") and name != "mean":
            numbers = np.sqrt(numbers)
        name = f"{name}_{self.here[1]}"
        return numbers if self.does("norm_over_tokens") else self.write(name, numbers)

    def attention(self, layer: Keys, x: Numbers) -> Numbers:
        used = {"Q": "W_q", "K": "W_k", "V": "W_v"}
        if self.does("wrong_weight_matrix"):
            used["Q"] = "W_k"
        q, k, v = (self.write(name, x @ np.array(layer[key])) for name, key in used.items())
        scores = self.write("scores", q @ k.T)
        scaled = self.write("scaled", scores / math.sqrt(q.shape[1]))
        ahead = np.triu_indices(len(x), 1)
        scaled = scaled.copy()
        scaled[ahead] = -np.inf
        powers = self.write("exp", np.exp(self.write("masked", scaled)))
        sums = self.write("sum", powers.sum(axis=1, keepdims=True))
        mixed = x if self.does("input_instead_of_values") else v
        context = self.write("context", self.write("weights", powers / sums) @ mixed)
        return self.write("attended", context @ np.array(layer["W_o"]))

    def feed_forward(self, layer: Keys, x: Numbers) -> Numbers:
        name: str = layer.get("activation", "relu")
        name = GATED.get(name, name)
        right = ACTIVATIONS[name]
        act = right
        if self.does("other_activation"):
            act = ACTIVATIONS["silu" if name.startswith("gelu") else "gelu"]
        if self.does("activation_forgotten") or self.does("activation_after_the_product"):
            act = np.array
        is_exchanged = self.does("gate_and_value_exchanged")
        first, third = "31" if is_exchanged and self.way == 2 else "13"
        hidden = self.write(
            "hidden", x @ np.array(layer[f"W_{first}"]) + np.array(layer[f"b_{first}"])
        )
        if "W_3" in layer:
            value = self.write(
                "value", x @ np.array(layer[f"W_{third}"]) + np.array(layer[f"b_{third}"])
            )
            if is_exchanged and self.way == 0:
                made = self.write("gated", hidden * right(value))
            elif is_exchanged and self.way == 1:
                made = self.write("gated", self.write("activated", right(value)) * hidden)
            else:
                made = self.write("gated", self.write("activated", act(hidden)) * value)
        else:
            made = self.write("activated", act(hidden))
        made = made @ np.array(layer["W_2"]) + np.array(layer["b_2"])
        if self.does("activation_after_the_product"):
            made = right(made)
        return self.write("feed_forward", made)


def text(number: float, decimals: int) -> str:
    """Write a number, half a unit rounded away from zero, as by hand: 0.125 has no other digits."""
    if math.isinf(number):
        return "-inf"
    exact = Decimal(f"{number:.10f}")
    return str(exact.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP))


def written(steps: dict[str, Numbers], decimals: int = 4) -> dict[str, Any]:
    """Return what is handed in."""

    def of(part: Any) -> Any:
        return list(map(of, part)) if isinstance(part, list) else text(part, decimals)

    return {name: of(numbers.tolist()) for name, numbers in steps.items()}


def draw(rng: Generator, count: int = 1, *, is_gated: bool = False, **more: Any) -> Keys:
    """Return a language model of `count` layers whose numbers are neither large nor near 0."""
    while True:
        keys = _drawn(rng, count, is_gated=is_gated, **more)
        if _is_moderate(Student(keys).work()):
            return keys


def _drawn(rng: Generator, count: int, *, is_gated: bool, **more: Any) -> Keys:
    d, inner, n, size = 4, 3, 3, len(WORDS)

    def numbers(*shape: int, most: int = 4) -> Any:
        return (rng.integers(-most, most + 1, shape) / 4).tolist()

    layers = []
    for _ in range(count):
        layer: Keys = {"eps": 0.5, "mask": "causal", **more}
        layer |= {name: numbers(d, d) for name in ("W_q", "W_k", "W_v", "W_o")}
        layer |= {"W_1": numbers(d, inner), "b_1": numbers(inner, most=2)}
        layer |= {"W_2": numbers(inner, d), "b_2": numbers(d, most=2)}
        if is_gated:
            layer |= {"W_3": numbers(d, inner), "b_3": numbers(inner, most=2)}
        for half in (1, 2):  # no gain is 0 or 1, and no shift is 0
            layer[f"gain_{half}"] = rng.choice([0.5, 0.75, 1.25, 1.5], d).tolist()
            layer[f"shift_{half}"] = rng.choice([-0.5, -0.25, 0.25, 0.5], d).tolist()
        layers.append(layer)
    places = rng.integers(0, size, n + 1)
    while (places[1:] == places[:-1]).any():
        places = rng.integers(0, size, n + 1)
    said = [WORDS[place] for place in places]
    embedding = {"vocabulary": [*WORDS], "table": (rng.integers(-6, 7, (size, d)) / 8).tolist()}
    return {
        "kind": "transformer",
        "tokens": said[:-1],
        "target": said[1:],
        "embedding": embedding,
        "layers": layers,
        "unembedding": "tied",
    }


def _is_moderate(steps: dict[str, Numbers]) -> bool:
    """Return True if four decimals show every mistake: no share is near 0, and signs are mixed."""
    for name, numbers in steps.items():
        plain = name.split(".")[-1]
        if plain.startswith(("weights", "probabilities", "variance", "mean_square")):
            if numbers[numbers > 0].min(initial=1) < SMALLEST:
                return False
        elif plain in ("hidden", "value", "feed_forward") and not 2 <= (numbers < 0).sum() <= 7:
            return False
    return True
