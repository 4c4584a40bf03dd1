"""Problems that are drawn at random for students."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.oracles.handwriting import Numbers
from benchmarks.oracles.students import Paper


def draw(rng: np.random.Generator, sort: str, **wish: Any) -> Paper:
    """Draw a problem.

    Args:
        rng: where numbers come from.
        sort: "integers", "decimals" or "heads".
        wish: what it must have: square (n = d_k, or "all": the input is as wide, too), score, mask
            (as the program takes it, or "matrix", "lengths"), kind, bias, biases, w_o, scale,
            softcap, normalize, heads, kv_heads, columns, width_as_keys, no_projections,
            output_activation, positive (no number below 0).
    """
    return Paper(Drawing(rng, sort, wish).keys(), bool(wish.get("columns")))


class Drawing:
    """Sizes, and numbers of a sort."""

    def __init__(self, rng: np.random.Generator, sort: str, wish: dict[str, Any]) -> None:
        self.rng, self.sort, self.wish = rng, sort, wish
        self.kind, square = wish.get("kind", "self"), wish.get("square")
        self.heads = int(wish.get("heads", 2 if sort == "heads" else 1))
        self.kv_heads = int(wish.get("kv_heads", self.heads))
        self.d, self.n = self._size(2, 3), self._size(2, 4)
        self.width = self._size(2, 4) if self.heads == 1 else self.heads * self.d
        if square:
            self.n = self.heads * self.d if square == "all" else self.d
        if square or wish.get("width_as_keys") or wish.get("no_projections"):
            self.width = self.heads * self.d
        has_other = self.kind in ("cross", "co_attention") and not square
        self.m = self._size(2, 4) if has_other else self.n

    def _size(self, least: int, most: int) -> int:
        return int(self.rng.integers(least, most + 1))

    def matrix(self, *shape: int, spread: int = 3) -> Numbers:
        """Draw small numbers."""
        if self.sort == "decimals":
            found = np.round(self.rng.uniform(-1.5, 1.5, shape), 1)
        else:
            found = self.rng.integers(-spread, spread + 1, shape).astype(float)
            found /= self._size(1, 2) if self.sort == "heads" else 1
        return np.abs(found) if self.wish.get("positive") else found

    def keys(self) -> dict[str, Any]:
        """Draw what the program takes."""
        keys: dict[str, Any] = {"X": self.matrix(self.n, self.width, spread=2)}
        if self.kind != "self":
            keys["kind"] = self.kind
        if self.kind in ("cross", "co_attention"):
            keys["memory"] = self.matrix(self.m, self.width, spread=2)
        if self.kind == "pooling":
            keys |= self._pooling()
        elif self.kind == "co_attention":
            self.d = self.width
        else:
            keys |= self._projections()
        return keys | self._scoring()

    def _projections(self) -> dict[str, Any]:
        wish, queries, values = self.wish, self.heads * self.d, self.kv_heads * self.d
        keys: dict[str, Any] = {}
        if self.heads > 1:
            keys["heads"] = self.heads
        if self.kv_heads != self.heads:
            keys["kv_heads"] = self.kv_heads
        widths = {"q": queries, "k": values, "v": values}
        if not wish.get("no_projections"):
            for letter, width in widths.items():
                keys[f"W_{letter}"] = self.matrix(
                    self.width, width, spread=3 if letter == "v" else 1
                )
        if wish.get("biases"):
            keys |= {f"b_{letter}": self.matrix(width) for letter, width in widths.items()}
        if wish.get("w_o"):
            keys["W_o"] = self.matrix(queries, queries if wish.get("square") else self.d + 1)
            if wish.get("biases"):
                keys["b_o"] = self.matrix(keys["W_o"].shape[-1])
        return keys

    def _pooling(self) -> dict[str, Any]:
        keys: dict[str, Any] = {"activation": "tanh"}
        self.d = self.width if self.wish.get("square") or self.wish.get("no_projections") else 2
        if not self.wish.get("no_projections"):
            keys |= {"W": self.matrix(self.d, self.width, spread=1), "b": self.matrix(self.d)}
        keys["u"] = self.matrix(self.d)
        if self.wish.get("output_activation"):
            keys["output_activation"] = "tanh"
        self.m, self.n = self.n, 1
        return keys

    def _scoring(self) -> dict[str, Any]:
        """Draw how scores come about and become weights."""
        keys: dict[str, Any] = {
            k: self.wish[k] for k in ("scale", "softcap", "normalize") if k in self.wish
        }
        if score := self.wish.get("score"):
            keys["score"] = self._score(score)
        if form := self.wish.get("mask"):
            keys["mask"] = self._mask(form)
        if self.wish.get("bias"):
            keys["bias"] = self.matrix(self.n, self.m)
        return keys

    def _score(self, name: str) -> Any:
        hidden = self.d if self.wish.get("square") else 2
        parameters: dict[str, dict[str, Any]] = {
            "general": {"W": self.matrix(self.d, self.d, spread=1)},
            "additive": {
                "W": self.matrix(hidden, self.d),
                "U": self.matrix(hidden, self.d),
                "v": self.matrix(hidden),
            },
            "concat": {"W": self.matrix(hidden, 2 * self.d), "v": self.matrix(hidden)},
            "distance": {"width": float(self.rng.choice([1, 2, 0.5, 1.5, 3]))},
        }
        if name not in parameters:
            return name
        bias = self.wish.get("biases") and "v" in parameters[name]
        return {"name": name, **parameters[name]} | ({"b": self.matrix(hidden)} if bias else {})

    def _mask(self, form: Any) -> Any:
        keep = (self.rng.random((self.n, self.m)) < 0.6).astype(float)
        keep[:, 0], keep[0, -1] = 1, 0
        if form == "matrix":
            return keep
        return {"lengths": self.m - 1} if form == "lengths" else form
