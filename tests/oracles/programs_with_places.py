"""Layers with a cache, positions and biases as programs write them, with one thing wrong or none.

A layer works all its tokens at once, or one by one as a decoder. No line is of attncli.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Keys = dict[str, Any]


def bfloat16(array: Array) -> Array:
    """Return numbers rounded to the 8 bits of bfloat16, in float32."""
    bits = np.ascontiguousarray(array, "f4").view("u4")
    return np.asarray(((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype("u4").view("f4"))


HELD: dict[str, Callable[[Array], Array]] = {
    "float64": lambda array: array,
    "float32": lambda array: array.astype("f4"),
    "bfloat16": bfloat16,
}
"""What a program holds of the numbers of a step, by their type."""


def cut(rows: Array, heads: int) -> Array:
    """(…, n, heads · d) gives (…, heads, n, d)."""
    return np.swapaxes(rows.reshape(*rows.shape[:-1], heads, -1), -2, -3)


def joined(heads: Array) -> Array:
    rows = np.swapaxes(heads, -2, -3)
    return rows.reshape(*rows.shape[:-2], -1)


def turned(rows: Array, places: Array, p: Keys, wrong: str = "") -> Array:
    """Return rows with each pair of features turned by the angle of its place."""
    d = rows.shape[-1]
    angles = places[:, None] / p["base"] ** (np.arange(0, d, 2) / d)
    cos, sin = np.cos(angles).astype(rows.dtype), np.sin(angles).astype(rows.dtype)
    if wrong == "sine_and_cosine_exchanged":
        cos, sin = sin, cos
    sin = -sin if wrong == "angle_negative" else sin
    first, second = slice(0, d, 2), slice(1, d, 2)
    if p["pairs"] == "halves":
        first, second = slice(0, d // 2), slice(d // 2, d)
    x, y = rows[..., first], rows[..., second]
    result = np.empty_like(rows)
    result[..., first], result[..., second] = x * cos - y * sin, x * sin + y * cos
    return result


def slopes(heads: int, wrong: str = "") -> Array:
    """Return the slopes of ALiBi, as its authors' program has them."""
    first = wrong != "alibi_from_exponent_0"

    def series(count: int) -> list[float]:
        return [2.0 ** (-8 / count * (h + first)) for h in range(count)]

    power = 2 ** int(np.log2(heads))
    if wrong == "alibi_one_series" or power == heads:
        return np.array(series(heads))
    return np.array([*series(power), *slopes(2 * power, wrong)[::2][: heads - power]])


def softmax(scores: Array) -> Array:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


class Layer:
    """One layer, with at most one thing wrong; some things can be wrong in two ways.

    Attributes:
        cache: the keys and values that are stored, (kv_heads, tokens, d).
        steps: what the layer calculated, by the names of attn; a decoder's with _1, _2, ….
    """

    def __init__(self, keys: Keys, wrong: str, way: int, hold: Callable[[Array], Array]) -> None:
        self.keys, self.wrong, self.way, self.hold = keys, wrong, way, hold
        self.heads, self.kv_heads = keys["heads"], keys["kv_heads"]
        self.rope, self.steps = keys.get("positions", {}), dict[str, Array]()
        self.past = len(keys["past"]["K"]) if "past" in keys else 0
        none = np.zeros((self.kv_heads, 0, keys["W_k"].shape[1] // self.kv_heads), "f4")
        is_used = self.past and not self.does("cache_dropped", 0)
        self.cache = {a: cut(keys["past"][a], self.kv_heads) if is_used else none for a in "KV"}

    def does(self, wrong: str, way: int | None = None) -> bool:
        return self.wrong == wrong and way in (None, self.way)

    def work(self) -> dict[str, Array]:
        """Return the steps of all tokens at once, or one by one."""
        x = self.keys["X"]
        memory, rows = self.keys.get("memory", x), dict[str, Array]()
        for name, source in (("Q", x), ("K", memory), ("V", memory)):
            heads = self.heads if name == "Q" else self.kv_heads
            rows[name] = cut(self.hold(source @ self.keys[f"W_{name.lower()}"]), heads)
        if self.keys["kind"] == "decode":
            context = []
            for t in range(len(x)):
                q, k, v = (part[:, t : t + 1] for part in rows.values())
                context.append(self.attend(q, k, v, t, f"_{t + 1}"))
            together = np.concatenate(context, axis=1)
        else:
            self.steps |= rows
            together = self.attend(rows["Q"], rows["K"], rows["V"])
        self.steps["output"] = self.hold(joined(self.hold(together)) @ self.keys["W_o"])
        return self.steps

    def attend(self, q: Array, k: Array, v: Array, t: int = 0, suffix: str = "") -> Array:
        """Return what some tokens read, of which the first is token t."""
        new, old = {"K": k, "V": v}, self.cache
        if self.rope.get("name") == "rope":
            q, new["K"] = self.rotated(q, k, t)
            old = {**old, "K": self.old_keys()}
            if not suffix:
                self.steps |= {"Q_rotated": q, "K_rotated": new["K"]}
        read = {name: self.put_together(old[name], new[name]) for name in "KV"}
        stored = np.concatenate([self.cache["K"], new["K"]], axis=1)
        self.cache = {**read, "K": stored} if self.does("cache_turned_again", 1) else read
        keys, values = (np.repeat(part, self.heads // self.kv_heads, 0) for part in read.values())
        weights = self.weights(q, keys, t)
        self.steps[f"weights{suffix}"] = weights[:, 0] if suffix else weights
        return weights @ values

    def rotated(self, q: Array, k: Array, t: int) -> tuple[Array, Array]:
        """Return queries and keys turned by their places, of which the first is that of token t."""
        first = self.past + t
        if self.does("positions_from_another_start"):
            first = first - self.past if self.way == 0 else first + 1
        if self.does("positions_stand_still"):
            first = self.past if self.way == 0 else 0
        places, both = np.arange(q.shape[1]) + first, []
        for rows in (q, k):
            if self.does("rope_before_heads"):
                whole = turned(joined(rows), places, self.rope)
                both.append(self.hold(cut(whole, len(rows))))
            else:
                both.append(self.hold(turned(rows, places, self.rope, self.wrong)))
        return both[0], both[1]

    def old_keys(self) -> Array:
        """Return the keys of the cache as they are read."""
        old = self.cache["K"]
        if not self.does("cache_turned_again"):
            return old
        return self.hold(turned(old, np.arange(old.shape[1]), self.rope))

    def put_together(self, old: Array, new: Array) -> Array:
        """Return the rows of the cache and new ones, as they are read."""
        if self.does("cache_dropped", 1):
            return new
        return np.concatenate([new, old] if self.does("cache_upside_down") else [old, new], axis=1)

    def weights(self, q: Array, k: Array, t: int) -> Array:
        """Return the weights (heads, n, m) of some queries, whose own keys are the last ones."""
        n, m, d = q.shape[1], k.shape[1], q.shape[2]
        i, j, scores = np.arange(n)[:, None], np.arange(m), self.hold(q @ np.swapaxes(k, 1, 2))
        bias = np.asarray(self.keys.get("bias", np.zeros(1)))[..., -m:]
        if self.rope.get("name") == "alibi":
            bias = -slopes(self.heads, self.wrong)[:, None, None] * np.abs(i + m - n - j)
        bias = bias.astype(scores.dtype)
        if self.does("bias_before_scaling"):
            scores = self.hold(self.hold(scores + bias) / np.asarray(d**0.5, scores.dtype))
        else:
            scores = self.hold(self.hold(scores / np.asarray(d**0.5, scores.dtype)) + bias)
        is_top_left = self.does("causal_top_left")
        if "mask" in self.keys or is_top_left:
            place = i + (t * self.way if is_top_left else m - n)
            scores = np.where(j <= place, scores, np.asarray(-np.inf, scores.dtype))
        return self.hold(softmax(scores))
