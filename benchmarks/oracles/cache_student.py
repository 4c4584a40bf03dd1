"""A student of norms, positive features and caches, who shares no line with the program.

Arrays are (head, row, column); with heads, features are cut into contiguous pieces.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Numbers = Any


def draw(rng: np.random.Generator, more: dict[str, Any], heads: int = 1) -> dict[str, Any]:
    """Draw the keys of a problem with 3 tokens and d_k = 2; `past` asks for 2 earlier ones."""
    more = dict(more)
    keys: dict[str, Any] = {"X": rng.integers(-2, 4, (3, 3)) / 2}
    if more.pop("past", False):
        keys["X"] = keys["X"][:1]
        past = {name: rng.integers(-2, 4, (2, 2 * heads)) / 2 for name in ("K", "V")}
        keys["past"] = past
    keys |= {f"W_{letter}": rng.integers(-1, 3, (3, 2 * heads)) / 2 for letter in "qkv"}
    return keys | ({"heads": heads} if heads > 1 else {}) | more


def cut(matrix: Numbers, heads: int) -> Numbers:
    return np.array(np.split(np.asarray(matrix, float), heads, axis=-1))


class Student:
    """Works a problem, and does one thing wrong.

    Attributes:
        goes_on: takes a step's name and its numbers, and returns what is used in later steps.
        way: 0 where a mistake with the cache is made in K alone, 1 in V alone; else in both.
    """

    def __init__(
        self,
        keys: dict[str, Any],
        wrong: str = "",
        goes_on: Callable[[str, Numbers], Numbers] = lambda _, numbers: numbers,
        way: int | None = None,
    ) -> None:
        self.keys, self.wrong, self.heads = keys, wrong, keys.get("heads", 1)
        self.goes_on, self.way = goes_on, way
        self.steps: dict[str, Numbers] = {}

    def note(self, name: str, numbers: Numbers) -> Numbers:
        """Write a step, and return what is used of it."""
        self.steps[name] = numbers
        return self.goes_on(name, numbers)

    def work(self) -> dict[str, Numbers]:
        """Return every step in order, (head, row, column)."""
        x = np.asarray(self.keys["X"], float)
        whole = {name: cut(x @ self.keys[f"W_{name.lower()}"], self.heads) for name in "QKV"}
        if self.keys.get("kind") == "decode":
            self.decode(whole)
            return self.steps
        q, k, v = (self.note(name, numbers) for name, numbers in whole.items())
        if "qk_norm" in self.keys:
            q = self.note("Q_normed", self.normed(q, "g_q"))
            k = self.note("K_normed", self.normed(k, "g_k"))
        blocked = 0
        if "past" in self.keys:
            past = self.keys["past"]
            k = self.note("K_all", self.appended(cut(past["K"], self.heads), k, 0))
            v = self.note("V_all", self.appended(cut(past["V"], self.heads), v, 1))
            blocked = 1
        self.finish(self.attend(q, k, v, "", blocked))
        return self.steps

    def finish(self, context: Numbers) -> None:
        """Put the heads side by side."""
        if self.heads > 1:
            context = self.note("context", context)
        self.note("output", np.concatenate(list(context), axis=-1)[None])

    def decode(self, whole: dict[str, Numbers]) -> None:
        """Go through the tokens one by one."""
        rows = []
        all_k, all_v = (whole[name][:, :0] for name in "KV")
        for t in range(whole["Q"].shape[1]):
            suffix = f"_{t + 1}"
            q, k, v = (
                self.note(f"{name.lower()}{suffix}", whole[name][:, t : t + 1]) for name in "QKV"
            )
            all_k = self.note(f"K{suffix}", self.appended(all_k, k, 0))
            all_v = self.note(f"V{suffix}", self.appended(all_v, v, 1))
            made = self.attend(q, all_k, all_v, suffix, 1 if t else 0)
            rows.append(self.note(f"z{suffix}", made))
        self.finish(np.concatenate(rows, axis=1))

    def appended(self, cache: Numbers, new: Numbers, way: int) -> Numbers:
        parts = [cache, new]
        if self.wrong == "cache_upside_down" and self.way in (way, None):
            parts.reverse()
        return np.concatenate(parts, axis=1)

    def attend(self, q: Numbers, k: Numbers, v: Numbers, suffix: str, new: int) -> Numbers:
        """Score, normalise and mix; `new` keys at the end are those of the new token."""
        if self.keys.get("score") == "linear":
            q = self.note(f"phi_q{suffix}", self.phi(q))
            k = self.note(f"phi_k{suffix}", self.phi(k))
        s = self.note(f"scores{suffix}", q @ k.transpose(0, 2, 1))
        if self.keys.get("score") == "linear":
            powers = s
        else:
            s = self.note(f"scaled{suffix}", s / np.sqrt(q.shape[-1]))
            powers = np.exp(s)
            if self.wrong == "cache_without_new_token" and new:
                powers[..., -new:] = 0
            powers = self.note(f"exp{suffix}", powers)
        total = self.note(f"sum{suffix}", powers.sum(axis=-1, keepdims=True))
        return self.note(f"weights{suffix}", powers / total) @ v

    def phi(self, x: Numbers) -> Numbers:
        return np.array([a + 1 if a > 0 else np.exp(a) for a in x.ravel()]).reshape(x.shape)

    def normed(self, x: Numbers, gain: str) -> Numbers:
        norm = self.keys["qk_norm"]
        norm = norm if isinstance(norm, dict) else {"name": norm}
        squares = (x**2).sum(axis=-1, keepdims=True)
        if norm["name"] == "rms":
            squares = squares / x.shape[-1] + norm.get("eps", 1e-6)
        made = x / np.sqrt(squares)
        return made * np.array(norm[gain]) if gain in norm else made


def written(steps: dict[str, Numbers], decimals: int = 4) -> dict[str, Any]:
    """Return what is handed in: rounded texts, without a head where there is one."""
    found: dict[str, Any] = {}
    for name, numbers in steps.items():
        rows = numbers if len(numbers) > 1 else numbers[0]
        is_vector = "_" in name and name[-1].isdigit() and name[:2] not in ("K_", "V_")
        rows = rows[..., 0, :] if is_vector else rows
        found[name] = _texts(rows, decimals)
    return found


def _texts(numbers: Numbers, decimals: int) -> Any:
    if np.ndim(numbers) == 0:
        return f"{numbers:.{decimals}f}"
    return [_texts(part, decimals) for part in numbers]
