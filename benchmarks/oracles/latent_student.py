"""A student of latent attention, who shares no line with the program.

Arrays are (head, row, column), with one head for what all heads share. `wrong` is the mistake that
is made, `goes_on` rounds what is used in later steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Numbers = Any


def draw(
    rng: np.random.Generator, heads: int = 2, form: str = "naive", norm: bool = False
) -> dict[str, Any]:
    """Draw a problem of 4 features everywhere, of which a head has 2, so that any mix-up fits."""
    d = 4
    keys: dict[str, Any] = {"kind": "latent", "form": form, "X": rng.integers(-2, 4, (3, d)) / 2}
    keys |= {f"W_{name}": rng.integers(-1, 3, (d, d)) / 2 for name in ("dq", "dkv")}
    sizes = {"uq": 2 * heads, "qr": 2 * heads, "uk": 2 * heads, "uv": 2 * heads, "kr": 2, "o": 3}
    rows = {"o": 2 * heads}
    for name, columns in sizes.items():
        keys[f"W_{name}"] = rng.integers(-1, 3, (rows.get(name, d), columns)) / 2
    keys |= {"heads": heads} if heads > 1 else {}
    keys |= {"positions": {"name": "rope", "base": 100}}
    if norm:
        keys |= {"latent_norm": "rms", "gain_kv": [1, 2, 0.5, 1]}
    return keys


class Student:
    """Works a problem, and does one thing wrong."""

    def __init__(
        self,
        keys: dict[str, Any],
        wrong: str = "",
        goes_on: Callable[[Numbers], Numbers] = lambda numbers: numbers,
    ) -> None:
        self.keys, self.wrong, self.heads = keys, wrong, keys.get("heads", 1)
        self.goes_on = goes_on
        self.steps: dict[str, Numbers] = {}

    def note(self, name: str, numbers: Numbers) -> Numbers:
        """Write a step, and return what is used of it."""
        self.steps[name] = numbers
        return self.goes_on(numbers)

    def cut(self, matrix: Numbers) -> Numbers:
        return np.array(np.split(matrix, self.heads, axis=-1))

    def squeezed(self, side: str) -> Numbers:
        """Return c_q or c_kv, after its norm."""
        weight = self.keys["W_dq" if self.wrong == "other_down_matrix" else f"W_d{side}"]
        c = self.note(f"c_{side}", np.asarray(self.keys["X"])[None] @ weight)
        if "latent_norm" not in self.keys:
            return c
        size = self.note(f"mean_square_{side}", (c * c).mean(axis=-1, keepdims=True))
        gain = np.asarray(self.keys.get(f"gain_{side}", 1.0))
        divided = c / np.sqrt(size + 1e-6)
        scaled = divided * (1.0 if self.wrong == "gain_forgotten" else gain)
        normed = self.note(f"normed_{side}", scaled)
        return c if self.wrong == "norm_skipped" else normed

    def turned(self, rows: Numbers, back: bool = False, name: str = "") -> Numbers:
        """Return pairs of neighbours, each turned by t / 100^(2j/d).

        With a name, the angles, cosines and sines are written, too.
        """
        d, t = rows.shape[-1], np.arange(rows.shape[-2])[:, None]
        theta = (t / 100.0 ** (np.arange(0, d, 2) / d))[None]
        if name:
            theta = self.note("angles", theta)
        cos, sin = np.cos(theta), np.sin(theta)
        if name:
            cos, sin = self.note("cos", cos), self.note("sin", sin)
        x, y, sin = rows[..., ::2], rows[..., 1::2], -sin if back else sin
        pairs = np.stack([x * cos - y * sin, x * sin + y * cos], axis=-1).reshape(rows.shape)
        return self.note(name, pairs) if name else pairs

    def side(self, letter: str, content: Numbers, rotary: Numbers) -> Numbers:
        """Return the two parts of queries or keys, put together."""
        if self.wrong == "rotary_queries_shared" and letter == "Q":
            rotary = np.repeat(rotary[:1], self.heads, axis=0)
        turned = self.turned(rotary, self.wrong == "angle_negative", f"{letter}_rotated")
        if self.wrong == "one_side_turned" and letter == "K":
            turned = self.note("K_rotated", rotary)
        heads = max(len(content), len(turned))
        content, turned, rotary = (
            np.broadcast_to(part, (heads, *part.shape[1:])) for part in (content, turned, rotary)
        )
        if self.wrong == "rotary_part_left_out":
            return content
        if self.wrong == "parts_added":
            return content + turned
        if self.wrong == "whole_turned":
            return self.turned(np.concatenate([content, rotary], axis=-1))
        if self.wrong == "content_turned" or (self.wrong == "key_turned" and letter == "K"):
            content = self.turned(content)
        return np.concatenate([content, turned], axis=-1)

    def work(self) -> dict[str, Numbers]:
        """Return every step in order."""
        keys, x = self.keys, np.asarray(self.keys["X"])[None]
        of_queries, c = self.squeezed("q"), None
        below = x if self.wrong == "queries_from_x" else of_queries
        q = self.note("Q_C", self.cut(below[0] @ keys["W_uq"]))
        c = self.squeezed("kv")
        w_uk, w_uv = self.cut(keys["W_uk"]), self.cut(keys["W_uv"])
        if self.wrong == "other_up_matrix":
            w_uv = w_uk
        if keys["form"] == "absorbed":
            q = self.note("Q_absorbed", q @ w_uk.swapaxes(1, 2))
            k = v = c
        else:
            k = self.note("K_C", (x if self.wrong == "keys_from_x" else c) @ w_uk)
            v = self.note("V", c @ w_uv)
        q_r = self.note("Q_rotary", self.cut(of_queries[0] @ keys["W_qr"]))
        k_r = self.note("K_rotary", (c if self.wrong == "rotary_key_from_c" else x) @ keys["W_kr"])
        q = self.note("Q", self.side("Q", q, q_r))
        k = self.note("K", self.side("K", k, k_r))
        scores = self.note("scores", q @ k.swapaxes(1, 2))
        d_k = 2 if self.wrong == "scaled_by_content_part" else 4
        scaled = self.note("scaled", scores / np.sqrt(d_k))
        exp = self.note("exp", np.exp(scaled))
        total = self.note("sum", exp.sum(axis=-1, keepdims=True))
        weights = self.note("weights", exp / total)
        if keys["form"] == "absorbed":
            context = self.note("context", self.note("context_c", weights @ v) @ w_uv)
        else:
            context = self.note("context", weights @ v)
        whole = np.concatenate([*context], axis=-1)
        if self.heads > 1:
            whole = self.note("concat", whole[None])[0]
        self.note("output", (whole @ keys["W_o"])[None])
        return self.steps


def rounded(numbers: Numbers, decimals: int) -> Numbers:
    """Round as people do: a half goes away from 0, though floats may hold a little less than it."""
    return np.trunc(numbers * 10**decimals + np.copysign(0.5 + 1e-6, numbers)) / 10**decimals
