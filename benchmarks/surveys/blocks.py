"""Random transformer problems: one to three layers, with every key that a block can have.

Numbers are eighths between −2 and 2, so that nothing is badly conditioned and no digit is lost when
they are written down. `python -m benchmarks.surveys.blocks 2000` compares so many with the loops of
`tests/oracles/transformer.py`, and prints how much of the bound of each step was used at most.
"""

from __future__ import annotations

import json
import sys
from random import Random
from typing import Any

from tests.mechanisms.test_transformer import LINES, reasons, wrong_derivatives

Keys = dict[str, Any]

WORDS = ("I", "love", "AI", "e", ".", "2")
"""Labels of a vocabulary, of which `e` and `2` are also numbers."""

ACTIVATIONS = ("relu", "gelu", "gelu_tanh", "silu", "swiglu", "geglu")


class Maker:
    """Makes one problem from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.n = self.random.randint(1, 4)
        self.d = self.random.randint(2, 6)

    def chance(self, share: float) -> bool:
        """Return True for this share of the calls."""
        return self.random.random() < share

    def numbers(self, *shape: int, most: int = 8) -> Any:
        """Return nested lists of eighths, none farther from 0 than `most` eighths."""
        if not shape:
            return self.random.randint(-most, most) / 8
        return [self.numbers(*shape[1:], most=most) for _ in range(shape[0])]

    def problem(self) -> Keys:
        keys: Keys = {"kind": "transformer"}
        count = self.random.choice([1, 1, 2, 2, 3])
        has_words = self.chance(0.5)
        if has_words:
            self.words(keys)
        else:
            keys["X"] = self.numbers(self.n, self.d, most=16)
        self.positions(keys)
        layers = [self.layer(keys) for _ in range(count)]
        if count == 1 and "positions" in keys:  # of which its own would leave nothing to be learned
            layers[0].pop("positions", None)
        if count > 1 or self.chance(0.5):
            keys["layers"] = layers
            self.share(keys)
        else:
            acting = layers[0].pop("positions", None)
            keys |= layers[0]
            if acting is not None:
                self.add_positions(keys, acting)
        if self.chance(0.5):
            self.final_norm(keys, layers[-1])
        if has_words:
            self.unembedding(keys)
        return keys

    def words(self, keys: Keys) -> None:
        """Add an embedding, and tokens that it has."""
        words = list(WORDS[: self.random.randint(2, len(WORDS))])
        table = self.numbers(len(words), self.d, most=16)
        keys["tokens"] = self.random.choices(words, k=self.n)
        keys["embedding"] = {"vocabulary": words, "table": table}

    def unembedding(self, keys: Keys) -> None:
        """Add an unembedding and, mostly, targets: labels, or their numbers from 1."""
        words = keys["embedding"]["vocabulary"]
        if self.chance(0.5):
            keys["unembedding"] = "tied"
        else:
            keys["W_u"] = self.numbers(self.d, len(words))
        target = self.random.choices(words, k=self.n)
        if self.chance(0.3) and "2" not in words:
            keys["target"] = [words.index(word) + 1 for word in target]
        elif self.chance(0.9):
            keys["target"] = target

    def positions(self, keys: Keys) -> None:
        """Add positions that are added to the tokens once, or that act in every layer."""
        if self.chance(0.25):
            self.add_positions(keys, self.added())
        if self.chance(0.25):
            self.add_positions(keys, self.acting())

    def add_positions(self, keys: Keys, one: Any) -> None:
        if "positions" not in keys:
            keys["positions"] = one
        else:
            known = keys["positions"]
            several = known if isinstance(known, list) else [known]
            names = [p if isinstance(p, str) else p["name"] for p in several]
            if (one if isinstance(one, str) else one["name"]) not in names:
                keys["positions"] = [*several, one]

    def added(self) -> Any:
        p = {"name": "sinusoidal", "base": 100, "start": 1, "pairs": "halves"}
        learned = {"name": "learned", "P": self.numbers(self.n, self.d)}
        return self.random.choice(["sinusoidal", p, learned])

    def acting(self) -> Any:
        k = self.random.randint(1, 3)
        rope = {"name": "rope", "base": 100, "pairs": "halves", "start": 2}
        relative = {"name": "relative", "table": self.numbers(2 * k + 1)}
        return self.random.choice(["rope", "alibi", rope, relative])

    def layer(self, keys: Keys) -> Keys:
        """Return the keys of one layer."""
        pick = self.random
        norm = pick.choice(["layer", "layer", "rms", "rms", "none"])
        layer: Keys = {"norm": norm, "place": pick.choice(["pre", "post"])}
        most = 3 if norm == "none" else 8  # without a norm, scores grow from layer to layer
        self.attention(layer, keys, most)
        if norm != "none":
            if self.chance(0.3):
                layer["eps"] = pick.choice([0.125, 1e-3, 1e-8])
            for key in ("gain_1", "gain_2", "shift_1", "shift_2"):
                if self.chance(0.5):
                    layer[key] = [(8 if "gain" in key else 0) / 8 + x for x in self.numbers(self.d)]
        if self.chance(0.85):
            self.feed_forward(layer, most)
        else:
            for key in ("gain_2", "shift_2"):
                layer.pop(key, None)
        return layer

    def attention(self, layer: Keys, keys: Keys, most: int) -> None:
        pick = self.random
        heads = pick.choice([1, 1, 2, 2, 3, 4])
        kv_heads = pick.choice([h for h in range(1, heads + 1) if heads % h == 0])
        d_k, d_v = pick.randint(1, 3), pick.randint(1, 3)
        if self.chance(0.15):  # a layer's own positions, in place of those of the problem
            layer["positions"] = self.acting()
        if "rope" in str((keys.get("positions"), layer.get("positions"))):
            d_k = pick.choice([2, 4])
        if self.chance(0.1) and "rope" not in str((keys, layer)) and self.d % heads == 0:
            kv_heads, d_v = heads, self.d // heads  # no projections: the identity
        else:
            layer["W_q"] = self.numbers(self.d, heads * d_k, most=most)
            layer["W_k"] = self.numbers(self.d, kv_heads * d_k, most=most)
            layer["W_v"] = self.numbers(self.d, kv_heads * d_v, most=most)
            for key, size in (("q", heads * d_k), ("k", kv_heads * d_k), ("v", kv_heads * d_v)):
                if self.chance(0.3):
                    layer[f"b_{key}"] = self.numbers(size)
        if heads > 1:
            layer["heads"] = heads
            layer |= {"kv_heads": kv_heads} if kv_heads < heads else {}
        if heads * d_v != self.d or self.chance(0.7):
            layer["W_o"] = self.numbers(heads * d_v, self.d, most=most)
            layer |= {"b_o": self.numbers(self.d)} if self.chance(0.5) else {}
        if self.chance(0.5):
            layer["mask"] = "causal"
        elif self.chance(0.2):
            layer["mask"] = [
                [int(i == j or self.chance(0.6)) for j in range(self.n)] for i in range(self.n)
            ]

    def feed_forward(self, layer: Keys, most: int) -> None:
        inner = self.random.randint(2, 6)
        layer["activation"] = self.random.choice(ACTIVATIONS)
        layer["W_1"] = self.numbers(self.d, inner, most=most)
        layer["W_2"] = self.numbers(inner, self.d, most=most)
        is_gated = layer["activation"] in ("swiglu", "geglu") or self.chance(0.1)
        layer |= {"W_3": self.numbers(self.d, inner, most=most)} if is_gated else {}
        for number, size in (("1", inner), ("2", self.d), ("3", inner)):
            if f"W_{number}" in layer and self.chance(0.5):
                layer[f"b_{number}"] = self.numbers(size)

    def share(self, keys: Keys) -> None:
        """Let some words that all layers say alike stand once, beside the layers."""
        first, *others = keys["layers"]
        for key in ("norm", "place", "mask", "heads", "activation"):
            alike = key in first and all(layer.get(key) == first[key] for layer in others)
            if alike and self.chance(0.5):
                keys[key] = first[key]
                for layer in keys["layers"]:
                    del layer[key]

    def final_norm(self, keys: Keys, layer: Keys) -> None:
        norm = layer.get("norm", keys.get("norm"))
        final: Keys = {}
        if norm == "none" or self.chance(0.3):
            final["norm"] = norm = self.random.choice(["layer", "rms"])
        for key in ("gain", "shift"):
            if self.chance(0.5):
                final[key] = self.numbers(self.d)
        if final:
            keys["final_norm"] = final


def problem_of(seed: int) -> Keys:
    """Return the keys of the problem of a seed."""
    return Maker(seed).problem()


def upstream_of(seed: int, keys: Keys) -> Any:
    """Return what to go backward from: the loss, the sum of the output, or a matrix ∂L/∂output."""
    if "target" in keys:
        return "loss"
    maker = Maker(seed)
    return "sum" if maker.chance(0.5) else maker.numbers(maker.n, maker.d)


RECORDED = (106, *range(35), 55, 72)
"""Seeds of the problems that tests compare, which together have every key."""


def compare(count: int) -> None:
    """Print what is wrong with so many problems, and how much of the bounds was used."""
    worst: dict[str, float] = {}
    for seed in range(count):
        keys = problem_of(seed)
        for reason in reasons(keys, worst) + wrong_derivatives(keys, upstream_of(seed, keys), seed):
            print(f"problem {seed}: {reason}")
    for name, share in worst.items():
        print(f"{name:15} {share:.2g} of what is allowed")


def record() -> None:
    """Write the problems of the tests."""
    problems = {seed: problem_of(seed) for seed in RECORDED}
    lines = [
        json.dumps({"problem": keys, "upstream": upstream_of(seed, keys)}, ensure_ascii=False)
        for seed, keys in problems.items()
    ]
    LINES.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] == ["--record"]:
        record()
    else:
        compare(int(sys.argv[1]))
