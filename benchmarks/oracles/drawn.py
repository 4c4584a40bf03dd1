"""Problems that people work by hand, drawn at random with small numbers: their keys, in rows.

`Drawing` takes what is wished: words for what is chosen (`kind`, `score`, `mask`, `normalize`,
`heads`), or a mask, a normaliser and a number of heads themselves; True or False for what may be
there (`bias`, `biases`, `W_o`, `output_activation`, `axis`, `bare` for no projections), or its
value (`softcap`, `scale`); sizes (`d`, `kv_heads`), `square` for n = d_k, and "all" for an input
that is as wide, too; the temperature of `warm`. In a `simple` problem is nothing else than what is
wished; `positive` asks for no number below 0.
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
        self.is_simple = bool(wish.get("simple"))
        self.sort, self.most = self.word("numbers"), 3 if self.is_simple else 2

    def chance(self, share: float, name: str = "") -> bool:
        """Decide, unless it is wished."""
        return bool(self.wish.get(name, self.rng.random() < share and not self.is_simple))

    def value(self, name: str, share: float, several: Sequence[Any]) -> None:
        """Put one of several values into the keys, or the wished one, or none."""
        if self.chance(share, name):
            wished = self.wish.get(name, True)
            self.keys[name] = one_of(self.rng, several) if wished is True else wished

    def size(self, least: int, most: int, name: str = "") -> int:
        return int(self.wish.get(name, self.rng.integers(least, most + 1)))

    def word(self, name: str) -> str:
        """Choose a word, unless one is wished."""
        shares: Mapping[str, int] = DATA["shares"][name]
        drawn = self.rng.choice([*shares], p=np.array([*shares.values()]) / sum(shares.values()))
        return str(self.wish.get(name, DATA["simple"][name] if self.is_simple else drawn))

    def matrix(self, *shape: int, most: int = 0) -> Any:
        most = most or self.most
        if self.sort == "decimals":
            made = np.round(self.rng.uniform(-1.5, 1.5, shape), 1)
        else:
            made = self.rng.integers(-most, most + 1, shape) / (1 if self.sort == "integers" else 2)
        return (np.abs(made) if self.wish.get("positive") else made).tolist()

    def draw(self) -> Keys:
        kind = self.word("kind")
        if kind != "self":
            self.keys["kind"] = kind
        of_kind = {"pooling": self.pooling, "co_attention": self.both, "recurrent": self.recurrent}
        of_kind.get(kind, self.attention)()
        if self.keys.get("update") != "plain":  # nothing is scored there
            self.value("softcap", 0.1, [2.0, 3.0, 5.0])
            self.value("scale", 0.08, [0.5] if "scores" in self.keys else [0.5, 0.3, "1/d_k", 2])
        return self.keys

    def attention(self) -> None:
        keys, form = self.keys, self.word("heads")
        heads = int(form) if form.isdigit() else {"one": 1, "grouped": 4}.get(form, self.size(2, 3))
        is_shared = form == "grouped" or "kv_heads" in self.wish
        kv_heads = self.size(1, 2, "kv_heads") if is_shared else heads
        is_bare = heads == 1 and self.chance(0.15, "bare")
        d, d_v = self.size(1 if form == "cut" else 2, 3, "d"), self.size(2, 3)
        n, m, width = self.sizes(d, heads)
        d_v = d if self.is_simple else d_v
        d, d_v = (width, width) if is_bare else (d, d_v)
        keys["X"] = self.matrix(n, width, most=2)
        m = m if "kind" in keys else n
        keys |= {"memory": self.matrix(m, width)} if "kind" in keys else {}
        keys |= {"heads": heads} if heads > 1 else {}
        keys |= {"kv_heads": kv_heads} if kv_heads != heads else {}
        sizes = {"q": (heads, d), "k": (kv_heads, d), "v": (kv_heads, d_v)}
        is_biased = self.chance(0.2, "biases")
        for letter, (many, size) in {} if is_bare else sizes.items():
            most = self.most if letter == "v" and self.is_simple else 1
            shape = (many, width, size) if form == "list" else (width, many * size)
            keys[f"W_{letter}"] = self.matrix(*shape, most=most)
            if is_biased:
                keys[f"b_{letter}"] = self.matrix(*((many, size) if form == "list" else shape[1:]))
        out = heads * d_v
        if self.chance(0.3, "W_o"):
            keys["W_o"] = self.matrix(out, out := out if "square" in self.wish else self.size(2, 3))
            keys |= {"b_o": self.matrix(out)} if self.chance(0.3, "biases") else {}
        if self.chance(0.06):
            keys["W_c"] = self.matrix(2, out + width)
        self.scoring(d, n, m, by_position=True)
        if heads == 1 and not is_bare and self.chance(0.12):
            self.given(n, m, d, d_v)

    def sizes(self, d: int, heads: int = 1) -> tuple[int, int, int]:
        """Return how many tokens there are on either side, and how wide these are."""
        n, m, width, square = *(self.size(2, 4) for _ in range(3)), self.wish.get("square")
        if square or self.wish.get("width_as_keys") or (self.is_simple and heads > 1):
            width = heads * d
        n = (width if square == "all" else d) if square else n
        return n, n if square else m, width

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
        if not self.chance(0.4, "bare"):
            d_k = width if "square" in self.wish else self.size(2, 3)
            keys["W"] = self.matrix(d_k, width)
            keys |= {"b": self.matrix(d_k)} if self.chance(0.5, "biases") else {}
        if self.chance(0.5):
            keys["activation"] = "tanh" if self.chance(0.8) else "none"
        if self.chance(0.3, "output_activation"):
            keys["output_activation"] = "tanh"
        keys["u"] = self.matrix(d_k)
        self.scoring(d_k, 1, m)

    def both(self) -> None:
        """Draw co-attention."""
        n, m, width = self.sizes(self.size(2, 3))
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
        keys, name = self.keys, self.word("score")
        hidden = d_k if "square" in self.wish else self.size(1, 2)
        bias = {"b": self.matrix(hidden)} if self.chance(0.3, "biases") else {}
        v = {"v": self.matrix(hidden)} | bias
        u = {"U": self.matrix(hidden, d_k, most=self.most - 1)}
        parameters: dict[str, Keys] = {
            "general": {"W": self.matrix(d_k, d_k, most=1)},
            "additive": {"W": self.matrix(hidden, d_k, most=self.most - 1)} | u | v,
            "concat": {"W": self.matrix(hidden, 2 * d_k)} | v,
            "distance": {"width": one_of(self.rng, DATA["widths"][self.is_simple])},
        }
        if name in parameters:
            keys["score"] = {"name": name, **parameters[name]}
        elif name != ("dot" if keys.get("kind") == "pooling" else "scaled_dot"):
            keys["score"] = name
        if normalize := self.normalizer(by_position):
            keys["normalize"] = normalize
        if m and self.chance(0.1, "bias"):
            keys["bias"] = self.matrix(n, m)
        form, wished = self.word("mask"), self.wish.get("mask")
        if m and form != "nothing" and (by_position or form in ("keep", "block", "lengths")):
            keys["mask"] = wished if isinstance(wished, dict) else self.mask(form, n, m)

    def normalizer(self, by_position: bool) -> Keys:
        if isinstance(wished := self.wish.get("normalize"), dict):
            return dict(wished)
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
            "lengths": {"lengths": m - 1 if self.is_simple else self.size(1, m)},
            "bottom-right": {"causal": True, "align": "bottom-right"},
        }
        return forms[form]
