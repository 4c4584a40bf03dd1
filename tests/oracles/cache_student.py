"""A student of norms, positive features and caches, who shares no line with the program.

Arrays are (head, row, column); with heads, features are cut into contiguous pieces.
"""

from __future__ import annotations

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
    """Works a problem, and does one thing wrong; with a way, only in K or only in V."""

    def __init__(self, keys: dict[str, Any], wrong: str = "", way: int | None = None) -> None:
        self.keys, self.wrong, self.way, self.heads = keys, wrong, way, keys.get("heads", 1)

    def work(self) -> dict[str, Numbers]:
        """Return every step in order, (head, row, column)."""
        x, steps = np.asarray(self.keys["X"], float), {}
        for name in "QKV":
            steps[name] = cut(x @ self.keys[f"W_{name.lower()}"], self.heads)
        if self.keys.get("kind") == "decode":
            return self.decode(steps)
        q, k, v = (steps[name] for name in "QKV")
        if "qk_norm" in self.keys:
            q = steps["Q_normed"] = self.normed(q, "g_q")
            k = steps["K_normed"] = self.normed(k, "g_k")
        blocked = 0
        if "past" in self.keys:
            past = self.keys["past"]
            k = steps["K_all"] = self.appended(cut(past["K"], self.heads), k, 0)
            v = steps["V_all"] = self.appended(cut(past["V"], self.heads), v, 1)
            blocked = 1
        context = self.attend(q, k, v, steps, "", blocked)
        steps["context"] = context
        steps["output"] = np.concatenate(list(context), axis=-1)[None]
        if self.heads == 1:
            del steps["context"]
        return steps

    def decode(self, whole: dict[str, Numbers]) -> dict[str, Numbers]:
        """Go through the tokens one by one."""
        steps: dict[str, Numbers] = {}
        rows = []
        for t in range(whole["Q"].shape[1]):
            suffix = f"_{t + 1}"
            q, k, v = (whole[name][:, t : t + 1] for name in "QKV")
            steps |= {f"q{suffix}": q, f"k{suffix}": k, f"v{suffix}": v}
            if t:
                k = self.appended(steps[f"K_{t}"], k, 0)
                v = self.appended(steps[f"V_{t}"], v, 1)
            steps[f"K{suffix}"], steps[f"V{suffix}"] = k, v
            found = self.attend(q, k, v, steps, suffix, 1 if t else 0)
            steps[f"z{suffix}"] = found
            rows.append(found)
        steps["context"] = np.concatenate(rows, axis=1)
        steps["output"] = np.concatenate(list(steps["context"]), axis=-1)[None]
        if self.heads == 1:
            del steps["context"]
        return steps

    def appended(self, cache: Numbers, new: Numbers, way: int) -> Numbers:
        parts = [cache, new]
        if self.wrong == "cache_upside_down" and self.way in (way, None):
            parts.reverse()
        return np.concatenate(parts, axis=1)

    def attend(
        self, q: Numbers, k: Numbers, v: Numbers, steps: dict[str, Numbers], suffix: str, new: int
    ) -> Numbers:
        """Score, normalise and mix; `new` keys at the end are those of the new token."""
        if self.keys.get("score") == "linear":
            q = steps[f"phi_q{suffix}"] = self.phi(q)
            k = steps[f"phi_k{suffix}"] = self.phi(k)
        s = steps[f"scores{suffix}"] = q @ k.transpose(0, 2, 1)
        if self.keys.get("score") == "linear":
            total = steps[f"sum{suffix}"] = s.sum(axis=-1, keepdims=True)
            weights = s / total
        else:
            s = steps[f"scaled{suffix}"] = s / np.sqrt(q.shape[-1])
            powers = np.exp(s)
            if self.wrong == "cache_without_new_token" and new:
                powers[..., -new:] = 0
            steps[f"exp{suffix}"] = powers
            total = steps[f"sum{suffix}"] = powers.sum(axis=-1, keepdims=True)
            weights = powers / total
        steps[f"weights{suffix}"] = weights
        return weights @ v

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
