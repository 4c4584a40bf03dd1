"""Problems of mechanisms that people work by hand, drawn at random with small numbers.

Each function takes a generator and the options of a form, and returns what the program takes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.oracles.arithmetic import FLOATS, Hand, Keys
from tests.oracles.pens import Numbers
from tests.oracles.reference import worked_by

Random = np.random.Generator


def part(rng: Random, *shape: int, low: int = -2, high: int = 3, over: int = 2) -> Any:
    """Draw small numbers: whole ones from `low` to `high`, over a number."""
    return (rng.integers(low, high + 1, shape) / over).tolist()


def projections(rng: Random, d: int, wide: int, letters: str, over: int = 2) -> Keys:
    return {f"W_{letter}": part(rng, d, wide, low=-1, high=2, over=over) for letter in letters}


def of_heads(heads: int) -> Keys:
    return {"heads": heads} if heads > 1 else {}


def gate(rng: Random, heads: int, by_head: bool) -> Keys:
    size = 2 * heads
    keys = {"X": part(rng, 3, size), **projections(rng, size, size, "qkvo"), **of_heads(heads)}
    wide = heads if by_head else size
    return keys | {
        "gate": {"W": part(rng, size, wide, high=2), "b": part(rng, wide, low=-1, high=1)}
    }


def differential(rng: Random, heads: int, learned: bool, normed: bool) -> Keys:
    """Halves have 3 features; λ is given, or learned."""
    keys: Keys = {"X": part(rng, 3, 4), "heads": heads, "W_v": part(rng, 4, 2 * heads)}
    keys |= {f"W_{letter}": part(rng, 4, 6 * heads, over=4) for letter in "qk"}
    keys |= {"W_o": part(rng, 2 * heads, 3, low=-1, high=2)}
    own: Keys = {"lambda": [0.25 + rng.integers(1, 5) / 10]}
    if learned:
        own = {f"lambda_{name}": part(rng, 3, low=-3, over=5) for name in ("q1", "k1", "q2", "k2")}
        own |= {name: [1.0, *own[name][1:]] for name in ("lambda_q1", "lambda_k1")}
    own |= {"lambda_init": [0.8]} if learned or normed else {}
    return keys | {"differential": own | ({"norm": "rms", "eps": 0.5} if normed else {})}


def tiles(rng: Random, tiles: int, blocked: bool) -> Keys:
    """3 queries, of whose keys the last tile may have one less, or have some blocked."""
    m = 2 * tiles - int(rng.integers(0, 2))
    keys: Keys = {"scores": rng.integers(-2, 4, (3, m)).tolist(), "online": {"tile": 2}}
    keys |= {"V": rng.integers(-2, 5, (m, 2)).tolist()}
    mask = np.ones((3, m), int)
    mask[2, :2] = mask[0, 2:3] = 0
    return keys | ({"mask": mask.tolist()} if blocked else {})


def delta(rng: Random, heads: int, rule: str, **more: Any) -> Keys:
    """3 tokens with d_k = d_v = 2, of which no query, key or value is 0."""
    while True:
        keys: Keys = {"kind": "delta", "update": rule, "X": part(rng, 3, 3)}
        keys |= projections(rng, 3, 2 * heads, "qkv") | of_heads(heads) | more
        if "gated" in rule:
            keys["alpha"] = part(rng, 3, heads, low=3, high=9, over=10)
        if "delta" in rule:
            keys["beta"] = part(rng, 3, heads, low=2, high=9, over=10)
        if has_no_zeros(keys):
            return keys


def has_no_zeros(keys: Keys) -> bool:
    """Return whether each head of each projection is a vector with a direction."""
    heads = [np.split(np.array(keys["X"]) @ keys[f"W_{x}"], keys.get("heads", 1), 1) for x in "qkv"]
    return bool(np.abs(heads).sum(axis=-1).all())


def cache(rng: Random, heads: int, past: bool = False, **more: Any) -> Keys:
    """3 tokens with d_k = 2; `past` asks for 2 earlier ones."""
    while True:
        keys: Keys = {"X": part(rng, 1 if past else 3, 3), **of_heads(heads), **more}
        keys |= projections(rng, 3, 2 * heads, "qkv")
        if past:
            keys["past"] = {name: part(rng, 2, 2 * heads) for name in "KV"}
        if has_no_zeros(keys):
            return keys


def latent(rng: Random, heads: int, form: str, norm: bool) -> Keys:
    """4 features everywhere, of which a head has 2, so that any mix-up fits."""
    wide = 2 * heads
    keys: Keys = {"kind": "latent", "form": form, "X": part(rng, 3, 4), **of_heads(heads)}
    for name, *shape in (
        *(("dq", 4, 4), ("dkv", 4, 4), ("uq", 4, wide), ("qr", 4, wide)),
        *(("uk", 4, wide), ("uv", 4, wide), ("kr", 4, 2), ("o", wide, 3)),
    ):
        keys[f"W_{name}"] = part(rng, *shape, low=-1, high=2)
    keys |= {"positions": {"name": "rope", "base": 100}}
    return keys | ({"latent_norm": "rms", "gain_kv": [1, 2, 0.5, 1]} if norm else {})


GATES = {"lstm": ("_f", "_i", "_g", "_o"), "gru": ("_r", "_z", "_n"), "rnn": ("",)}


def network(rng: Random, cell: str, attends: str, reset: str = "") -> Keys:
    """Two words that are read, and two that are written, as long as the states."""
    keys: Keys = {"kind": "encoder_decoder", "cell": cell, "attends": attends}
    keys |= {"reset": reset or str(rng.choice(["before", "after"]))} if cell == "gru" else {}
    sizes = {"memory": (2, 2), "X": (2, 2), "W_c": (2, 4)}
    keys |= {name: part(rng, *shape, low=-8, high=8, over=8) for name, shape in sizes.items()}
    for name in ("encoder", "decoder"):
        letters = "WUC" if (name, attends) == ("decoder", "before") else "WU"
        shapes: list[tuple[str, tuple[int, ...]]] = [
            (f"{x}{gate}", (2, 2)) for gate in GATES[cell] for x in letters
        ]
        shapes += [(f"b{gate}", (2,)) for gate in GATES[cell]]
        keys[name] = {x: part(rng, *shape, low=-8, high=8, over=8) for x, shape in shapes}
    return keys


def positions(rng: Random, heads: int, **p: Any) -> Keys:
    d = 4 * heads
    keys = {"X": part(rng, 3, d, high=2, over=1), "positions": p, **of_heads(heads)}
    return keys | {f"W_{letter}": part(rng, d, d, low=-4, high=4, over=4) for letter in "qkv"}


WORDS = ["I", "love", "AI", "too", "."]
SMALLEST = 0.02
"""Minimum of weights, probabilities and variances: four decimals leave three digits of each."""


def blocks(rng: Random, count: int, is_gated: bool = False, **more: Any) -> Keys:
    """A language model whose numbers are neither large nor near 0."""
    d, inner, layers = 4, 3, list[Keys]()
    for _ in range(count):
        shapes: dict[str, tuple[int, ...]] = {f"W_{letter}": (d, d) for letter in "qkvo"}
        shapes |= {"W_1": (d, inner), "W_2": (inner, d), "b_1": (inner,), "b_2": (d,)}
        shapes |= {"W_3": (d, inner), "b_3": (inner,)} if is_gated else {}
        most = {name: 2 if name[0] == "b" else 4 for name in shapes}
        layer = {x: part(rng, *y, low=-most[x], high=most[x], over=4) for x, y in shapes.items()}
        for half in (1, 2):  # no gain is 0 or 1, and no shift is 0
            layer[f"gain_{half}"] = rng.choice([0.5, 0.75, 1.25, 1.5], d).tolist()
            layer[f"shift_{half}"] = rng.choice([-0.5, -0.25, 0.25, 0.5], d).tolist()
        layers.append({"eps": 0.5, "mask": "causal", **more, **layer})
    first = int(rng.integers(len(WORDS)))
    said = [WORDS[(first + 2 * i) % len(WORDS)] for i in range(4)]
    table = part(rng, len(WORDS), d, low=-6, high=6, over=8)
    keys: Keys = {"kind": "transformer", "tokens": said[:-1], "target": said[1:], "layers": layers}
    keys |= {"embedding": {"vocabulary": WORDS, "table": table}, "unembedding": "tied"}
    worked_by(hand := Hand(FLOATS), keys)
    steps = hand.steps.items()
    is_moderate = all(is_telling(name.split(".")[-1], np.array(x)) for name, x in steps)
    return keys if is_moderate else blocks(rng, count, is_gated, **more)


def is_telling(name: str, numbers: Numbers) -> bool:
    """Return whether four decimals show every mistake: no share near 0, and mixed signs."""
    if name.startswith(("weights", "probabilities", "variance", "mean_square")):
        return bool(numbers[numbers > 0].min() >= SMALLEST)
    is_mixed = name in ("hidden", "value", "feed_forward")
    return not is_mixed or 2 <= int((numbers < 0).sum()) <= 7


def gradients(rng: Random, kind: str) -> Keys:
    """Square matrices, so that a factor that is not transposed fits."""
    size = 1 if kind == "pooling" else 3
    before = f"{kind}_" if kind in ("half", "mean") else ""
    loss = {"loss": f"{before}squared_error", "target": part(rng, size, 3, high=2, over=1)}
    keys: Keys = {"X": part(rng, 3, 3, high=2), "gradient": loss, "learning_rate": 0.1}
    if kind == "pooling":
        own = {"W": part(rng, 3, 3, high=2), "b": part(rng, 3, high=2), "u": part(rng, 3, high=2)}
        return keys | own | {"kind": "pooling", "output_activation": "tanh"}
    keys |= {f"W_{letter}": part(rng, 3, 3, high=2) for letter in "qkvo"}
    return keys | ({"mask": "causal"} if kind == "masked" else {})


def recurrent(rng: Random, update: str, projected: bool, started: bool) -> Keys:
    """Three times, and states of two numbers."""
    wide = 6 if update == "state_input_context" else 4
    keys: Keys = {"kind": "recurrent", "update": update, "score": "dot"}
    keys |= {
        "X": part(rng, 3, 2, high=2, over=1),
        "A": np.round(rng.uniform(-1, 1, (2, wide)), 1).tolist(),
    }
    if projected:
        keys |= {name: part(rng, 2, 2, high=2, over=1) for name in ("W_q", "W_k")}
    if started:
        keys |= {name: np.round(rng.uniform(-1, 1, 2), 1).tolist() for name in ("h_0", "c_0")}
    return keys
