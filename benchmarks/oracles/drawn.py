"""Problems that people work by hand, drawn at random with small numbers: their keys, in rows.

`draw` takes what is wished: words for what is chosen (`kind`, `score`, `mask`, `normalize`,
`heads`), True or False for what may be there (`softcap`, `scale`, `bias`, `axis`, `bare` without
projections), the size `d`, and the temperature of `warm`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import yaml

Random: TypeAlias = np.random.Generator
Keys: TypeAlias = dict[str, Any]

DATA = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))


def one_of(rng: Random, words: Sequence[Any]) -> Any:
    return words[int(rng.integers(len(words)))]


class Drawing:
    """Draws keys whose numbers are of one sort."""

    def __init__(self, rng: Random, **wish: Any) -> None:
        self.rng, self.wish, self.keys = rng, wish, Keys()
        self.sort = self.word("numbers")

    def chance(self, share: float, name: str = "") -> bool:
        """Decide, unless it is wished."""
        return bool(self.wish.get(name, self.rng.random() < share))

    def size(self, least: int, most: int, name: str = "") -> int:
        return int(self.wish.get(name, self.rng.integers(least, most + 1)))

    def word(self, name: str) -> str:
        """Choose a word, unless one is wished."""
        shares: Mapping[str, int] = DATA["shares"][name]
        drawn = self.rng.choice([*shares], p=np.array([*shares.values()]) / sum(shares.values()))
        return str(self.wish.get(name, drawn))

    def matrix(self, *shape: int, most: int = 2) -> Any:
        if self.sort == "decimals":
            return np.round(self.rng.uniform(-1.5, 1.5, shape), 1).tolist()
        made = self.rng.integers(-most, most + 1, shape)
        return (made if self.sort == "integers" else made / 2).tolist()

    def draw(self) -> Keys:
        kind = self.word("kind")
        if kind != "self":
            self.keys["kind"] = kind
        of_kind = {"pooling": self.pooling, "co_attention": self.both, "recurrent": self.recurrent}
        of_kind.get(kind, self.attention)()
        if self.keys.get("update") != "plain":  # nothing is scored there
            if self.chance(0.1, "softcap"):
                self.keys["softcap"] = float(one_of(self.rng, [2, 3, 5]))
            if self.chance(0.08, "scale"):
                scales = [0.5] if "scores" in self.keys else [0.5, 0.3, "1/d_k", 2]
                self.keys["scale"] = one_of(self.rng, scales)
        return self.keys

    def attention(self) -> None:
        keys, form = self.keys, self.word("heads")
        heads = {"one": 1, "grouped": 4}.get(form, self.size(2, 3))
        kv_heads = self.size(1, 2) if form == "grouped" else heads
        d, d_v = self.size(1 if form == "cut" else 2, 3, "d"), self.size(2, 3)
        n, m, width = self.size(2, 4), self.size(2, 4), self.size(2, 4)
        keys["X"] = self.matrix(n, width)
        m = m if "kind" in keys else n
        keys |= {"memory": self.matrix(m, width)} if "kind" in keys else {}
        keys |= {"heads": heads} if heads > 1 else {}
        keys |= {"kv_heads": kv_heads} if kv_heads != heads else {}
        is_bare = heads == 1 and self.chance(0.15, "bare")
        d, d_v = (width, width) if is_bare else (d, d_v)
        sizes = {"q": (heads, d), "k": (kv_heads, d), "v": (kv_heads, d_v)}
        is_biased = self.chance(0.2)
        for letter, (many, size) in {} if is_bare else sizes.items():
            shape: tuple[int, ...] = (width, many * size)
            keys[f"W_{letter}"] = self.matrix(*shape, most=1)
            if form == "list":
                keys[f"W_{letter}"] = self.matrix(many, width, size, most=1)
            if is_biased:
                keys[f"b_{letter}"] = self.matrix(*((many, size) if form == "list" else shape[1:]))
        out = heads * d_v
        if self.chance(0.3):
            keys["W_o"] = self.matrix(out, out := self.size(2, 3))
            keys |= {"b_o": self.matrix(out)} if self.chance(0.3) else {}
        if self.chance(0.06):
            keys["W_c"] = self.matrix(2, out + width)
        self.scoring(d, n, m, by_position=True)
        if heads == 1 and not is_bare and self.chance(0.12):
            self.given(n, m, d, d_v)

    def given(self, n: int, m: int, d: int, d_v: int) -> None:
        """Give Q, K, V or the scores in place of projections."""
        for key in ("X", "memory", "W_q", "W_k", "W_v", "b_q", "b_k", "b_v", "W_c", "kind"):
            self.keys.pop(key, None)
        self.keys["V"] = self.matrix(m, d_v)
        if self.chance(0.3):
            self.keys["scores"] = self.matrix(n, m)
            self.keys.pop("score", None)
        else:
            self.keys |= {"Q": self.matrix(n, d), "K": self.matrix(m, d)}

    def pooling(self) -> None:
        keys, m, width = self.keys, self.size(2, 5), self.size(2, 4)
        keys["X"], d_k = self.matrix(m, width), width
        if self.chance(0.6):
            d_k = self.size(2, 3)
            keys["W"] = self.matrix(d_k, width)
            keys |= {"b": self.matrix(d_k)} if self.chance(0.5) else {}
        if self.chance(0.5):
            keys["activation"] = "tanh" if self.chance(0.8) else "none"
        if self.chance(0.3):
            keys["output_activation"] = "tanh"
        keys["u"] = self.matrix(d_k)
        self.scoring(d_k, 1, m)

    def both(self) -> None:
        """Draw co-attention."""
        n, m, width = self.size(2, 4), self.size(2, 4), self.size(2, 3)
        self.keys |= {"X": self.matrix(n, width), "memory": self.matrix(m, width)}
        self.scoring(width, n, m)

    def recurrent(self) -> None:
        keys, times, width, d = self.keys, self.size(2, 3), self.size(1, 3), self.size(2, 3)
        update = self.word("update")
        keys |= {"X": self.matrix(times, width), "update": update}
        keys["A"] = self.matrix(d, width + d + d * (update == "state_input_context"), most=1)
        for key in ("b", "h_0") if update == "plain" else ("b", "h_0", "c_0"):
            keys |= {key: self.matrix(d, most=1)} if self.chance(0.3) else {}
        if update != "plain":
            d_k = self.size(2, 3)
            if self.chance(0.3):
                keys["W_q"], keys["W_k"] = self.matrix(d_k, d), self.matrix(d_k, d)
            self.scoring(d_k if "W_q" in keys else d, 0, 0)

    def scoring(self, d_k: int, n: int, m: int, by_position: bool = False) -> None:
        """Draw how scores come about and become weights; without sizes nothing of their shape."""
        keys, name, hidden = self.keys, self.word("score"), self.size(1, 2)
        bias = {"b": self.matrix(hidden)} if self.chance(0.3) else {}
        v = {"v": self.matrix(hidden)} | bias
        u = {"U": self.matrix(hidden, d_k, most=1)}
        parameters: dict[str, Keys] = {
            "general": {"W": self.matrix(d_k, d_k, most=1)},
            "additive": {"W": self.matrix(hidden, d_k, most=1)} | u | v,
            "concat": {"W": self.matrix(hidden, 2 * d_k)} | v,
            "distance": {"width": float(one_of(self.rng, [1, 2, 0.5]))},
        }
        if name in parameters:
            keys["score"] = {"name": name, **parameters[name]}
        elif name != ("dot" if keys.get("kind") == "pooling" else "scaled_dot"):
            keys["score"] = name
        if normalize := self.normalizer(by_position):
            keys["normalize"] = normalize
        if m and self.chance(0.1, "bias"):
            keys["bias"] = self.matrix(n, m)
        form = self.word("mask")
        if m and form != "nothing" and (by_position or form in ("keep", "block", "lengths")):
            keys["mask"] = self.mask(form, n, m)

    def normalizer(self, by_position: bool) -> Keys:
        name = self.word("normalize")
        made: Keys = {} if name in ("softmax", "warm") else {"name": name}
        if name == "warm" or (name in ("sparsemax", "none") and self.chance(0.4)):
            warmth = float(one_of(self.rng, [2, 0.5, 3]))
            made["temperature"] = self.wish.get("temperature", warmth)
        if name == "warm" and self.chance(0.6):
            made["base"] = one_of(self.rng, [2, 3, 10])
            if "temperature" not in self.wish and self.chance(0.5):
                del made["temperature"]
        if by_position and self.chance(0.08, "axis"):
            made["axis"] = "queries"
        return made

    def mask(self, form: str, n: int, m: int) -> Any:
        free = (self.rng.random((n, m)) < 0.65).astype(int)
        free[np.arange(n), self.rng.integers(0, m, n)] = 1
        forms: Keys = {
            "causal": "causal",
            "keep": free.tolist(),
            "block": {"block": (1 - free).tolist()},
            "window": {"window": [self.size(0, 2), self.size(-1, 1)]},
            "lengths": {"lengths": self.size(1, m)},
            "bottom-right": {"causal": True, "align": "bottom-right"},
        }
        return forms[form]


def draw_tokens(rng: Random, n: int, width: int, d: int) -> Keys:
    """Draw tokens and projections in halves and quarters."""
    keys: Keys = {"X": (rng.integers(-2, 4, (n, width)) / 2).tolist()}
    return keys | {f"W_{x}": (rng.integers(-4, 5, (width, d)) / 4).tolist() for x in "qkv"}


def draw_positions(rng: Random) -> Keys:
    """Draw attention with positions."""
    heads = int(rng.integers(1, 3))
    keys = draw_tokens(rng, 3, 4 * heads, 4 * heads) | {"positions": one_of(rng, DATA["positions"])}
    return keys | ({"heads": heads} if heads > 1 else {})


def draw_cache(rng: Random) -> Keys:
    """Draw attention with a cache, norms or positive features."""
    more, heads = dict(one_of(rng, DATA["caches"])), int(rng.integers(1, 3))
    keys = draw_tokens(rng, 1 if "past" in more else 3, 3, 2 * heads)
    if more.pop("past", False):
        past = {name: (rng.integers(-2, 4, (2, 2 * heads)) / 2).tolist() for name in "KV"}
        keys["past"] = past
    return keys | more | ({"heads": heads} if heads > 1 else {})


def draw_block(rng: Random) -> Keys:
    """Draw a language model of one layer."""
    d, inner, more = 4, 3, one_of(rng, DATA["blocks"])

    def numbers(*shape: int, most: int = 4) -> Any:
        return (rng.integers(-most, most + 1, shape) / 4).tolist()

    layer: Keys = {"eps": 0.5, "mask": "causal", **more}
    layer |= {name: numbers(d, d) for name in ("W_q", "W_k", "W_v", "W_o")}
    for end in "13" if more.get("activation") == "swiglu" else "1":
        layer |= {f"W_{end}": numbers(d, inner), f"b_{end}": numbers(inner, most=2)}
    layer |= {"W_2": numbers(inner, d), "b_2": numbers(d, most=2)}
    for half in (1, 2):
        layer[f"gain_{half}"] = rng.choice([0.5, 0.75, 1.25, 1.5], d).tolist()
        layer[f"shift_{half}"] = rng.choice([-0.5, -0.25, 0.25, 0.5], d).tolist()
    said = rng.choice(DATA["vocabulary"], 4).tolist()
    table = (rng.integers(-6, 7, (5, d)) / 8).tolist()
    keys: Keys = {"kind": "transformer", "tokens": said[:-1], "target": said[1:]}
    keys["embedding"] = {"vocabulary": DATA["vocabulary"], "table": table}
    return keys | {"layers": [layer], "unembedding": "tied"}
