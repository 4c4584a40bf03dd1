"""Derivatives of random problems beside differences in 50-digit arithmetic.

`python -m benchmarks.surveys.gradients 500` tries so many, every number of every input, and prints
the worst error by case; with `--record` it writes the problems of
tests/mechanisms/test_gradients.py.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.mechanisms.table import Keys
from tests.mechanisms.test_gradients import ALLOWED, PROBLEMS, derivatives
from tests.oracles import gradients as oracle
from tests.oracles.reference import mp


class Draw(random.Random):
    """Random problems, small enough for plain loops."""

    def matrix(self, *shape: int, positive: bool = False) -> Any:
        """Return nested lists of numbers with two decimals."""
        if not shape:
            return round(self.uniform(0.2 if positive else -1.2, 1.2), 2) or 0.5
        return [self.matrix(*shape[1:], positive=positive) for _ in range(shape[0])]

    def score(self, d_q: int, d_k: int, which: str | None = None) -> Any:
        """Return a score function with its parameters."""
        names = ["general", "additive", "concat"]
        if d_q == d_k:
            names += ["dot", "scaled_dot", "cosine", "distance"]
        name = which or self.choice(names)
        if name == "general":
            return {"name": name, "W": self.matrix(d_q, d_k)}
        if name in ("additive", "concat"):
            h = self.randint(1, 3)
            own = {"v": self.matrix(h)} | ({"b": self.matrix(h)} if self.random() < 0.5 else {})
            if name == "concat":
                return {"name": name, "W": self.matrix(h, d_q + d_k)} | own
            return {"name": name, "W": self.matrix(h, d_q), "U": self.matrix(h, d_k)} | own
        if name == "distance":
            return {"name": name, "width": self.choice([1, 2, 0.5])}
        return name

    def mask(self, n: int, m: int, by_position: bool) -> Any:
        """Return a mask, which may block every cell of a row."""
        forms: list[Any] = [{"lengths": self.randint(1, m)}]
        forms.append({"keep": [[self.choice([0, 1, 1]) for _ in range(m)] for _ in range(n)]})
        forms.append({"block": [[self.choice([0, 0, 1]) for _ in range(m)] for _ in range(n)]})
        if by_position:
            forms += ["causal", {"causal": True, "align": "bottom-right"}, {"window": [1, 0]}]
        return self.choice(forms)

    def normalize(self, axes: bool) -> Any:
        """Return a normaliser that has a derivative."""
        name = self.choice(["softmax"] * 4 + ["sparsemax", "sparsemax", "sum", "none"])
        found: Keys = {"name": name}
        if name != "sum" and self.random() < 0.3:
            found["temperature"] = self.choice([2, 0.5])
        if name == "softmax" and self.random() < 0.2:
            found["base"] = self.choice([2, 10])
        if axes and self.random() < 0.2:
            found["axis"] = "queries"
        return found

    def gradient(self, *shape: int) -> Any:
        """Return what the derivatives are of."""
        losses = ["squared_error", "half_squared_error", "mean_squared_error"]
        kind = self.choice(["sum", "matrix", *losses])
        if kind == "matrix":
            return self.matrix(*shape)
        return kind if kind == "sum" else {"loss": kind, "target": self.matrix(*shape)}

    def after_scores(self, n: int, m: int, by_position: bool, axes: bool = True) -> Keys:
        """Return what stands between the scores and the weights."""
        keys: Keys = {}
        if self.random() < 0.3:
            keys["scale"] = self.choice(["1/2", "2", "1/sqrt(d_v)"])
        if self.random() < 0.2:
            keys["softcap"] = self.choice([1, 2])
        if self.random() < 0.3:
            keys["bias"] = self.matrix(n, m)
        if self.random() < 0.4:
            keys["mask"] = self.mask(n, m, by_position)
        keys["normalize"] = self.normalize(axes)
        return keys

    def problem(self) -> Keys:
        """Return the keys of a problem of any kind that has a gradient."""
        kind = self.choice(["self"] * 5 + ["cross"] * 2 + ["pooling", "recurrent", "given"])
        made: Callable[[], Keys] = getattr(self, f"of_{kind}")
        keys = made()
        if keys.get("normalize", {}).get("name") == "sum":  # sums of scores must not be near 0
            for key in ("X", "memory", "W_q", "W_k", "Q", "K", "scores", "W", "u"):
                if key in keys:
                    keys[key] = self.matrix(*np.shape(keys[key]), positive=True)
            keys["score"] = "dot"
            for key in ("bias", "b_q", "b_k", "b"):
                keys.pop(key, None)
            if kind == "given":
                del keys["score"]
        return keys

    def of_self(self, kind: str = "self") -> Keys:
        """Self-attention or cross-attention, with any layout of heads."""
        n, d_model = self.randint(2, 3), self.choice([2, 4])
        m = n if kind == "self" else self.randint(2, 3)
        d_memory = d_model if kind == "self" else self.choice([2, 3])
        heads = self.choice([1, 1, 1, 2, 2, 4])
        kv_heads = self.choice([x for x in (1, 2, 4) if heads % x == 0 and x <= heads])
        d = self.choice([1, 2]) if heads > 1 else self.choice([2, 3])
        batch = [2] if heads == 1 and self.random() < 0.2 else []
        keys: Keys = {"kind": kind, "X": self.matrix(*batch, n, d_model)}
        if kind == "cross":
            keys["memory"] = self.matrix(*batch, m, d_memory)
        if heads > 1:
            keys |= {"heads": heads, "kv_heads": kv_heads}
        is_list = heads > 1 and self.random() < 0.3
        for letter, width, count in (
            ("q", d_model, heads),
            ("k", d_memory, kv_heads),
            ("v", d_memory, kv_heads),
        ):
            is_stack = is_list and count > 1
            shape = (count, width, d) if is_stack else (width, count * d)
            keys[f"W_{letter}"] = self.matrix(*shape)
            if self.random() < 0.3:
                keys[f"b_{letter}"] = self.matrix(count, d) if is_stack else self.matrix(count * d)
        keys["score"] = self.score(d, d)
        if heads == 1 and kind == "self" and not batch and self.random() < 0.3:
            del keys["W_q"], keys["W_k"]
            keys.pop("b_q", None), keys.pop("b_k", None)
            keys["score"] = self.score(d_model, d_model)
        keys |= self.after_scores(n, m, by_position=True)
        width = heads * d
        if self.random() < 0.4:
            width = self.choice([2, 3])
            keys["W_o"] = self.matrix(heads * d, width)
            if self.random() < 0.5:
                keys["b_o"] = self.matrix(width)
        if self.random() < 0.15:
            keys["W_c"] = self.matrix(2, width + d_model)
            width = 2
        keys["gradient"] = self.gradient(*batch, n, width)
        return keys

    def of_cross(self) -> Keys:
        """Queries from X, keys and values from memory."""
        return self.of_self("cross")

    def of_given(self) -> Keys:
        """Q, K and V, or the scores, given."""
        n, m, d_q = self.randint(2, 3), self.randint(2, 3), self.choice([2, 3])
        keys: Keys = {"V": self.matrix(m, 2), "gradient": self.gradient(n, 2)}
        if self.random() < 0.4:
            keys["scores"] = self.matrix(n, m)
        else:
            d_k = self.choice([d_q, 2])
            keys |= {"Q": self.matrix(n, d_q), "K": self.matrix(m, d_k)}
            keys["score"] = self.score(d_q, d_k)
        keys |= self.after_scores(n, m, by_position=True)
        if "scores" in keys and keys["normalize"]["name"] == "sum":
            keys["score"] = "dot"
        if keys["normalize"]["name"] == "sum" and "K" in keys:
            keys["K"] = self.matrix(m, d_q)
        return keys

    def of_pooling(self) -> Keys:
        """One context vector and the states."""
        m, d, width = self.randint(2, 4), self.choice([2, 3]), 2
        keys: Keys = {"kind": "pooling", "X": self.matrix(m, d)}
        if self.random() < 0.7:
            keys["W"], width = self.matrix(2, d), 2
        else:
            width = d
        if self.random() < 0.5:
            keys["b"] = self.matrix(width)
        keys["u"] = self.matrix(width)
        keys["score"] = self.score(width, width)
        keys |= self.after_scores(1, m, by_position=False, axes=False)
        if self.random() < 0.5:
            keys["output_activation"] = "tanh"
        keys["gradient"] = self.gradient(1, d)
        return keys

    def of_recurrent(self) -> Keys:
        """Through two or three times."""
        times, d_x, d_h = self.randint(2, 3), 2, 2
        update = self.choice(["input_context", "state_input_context", "plain"])
        joined = {"input_context": d_x + d_h, "state_input_context": d_h + d_x + d_h}
        keys: Keys = {"kind": "recurrent", "X": self.matrix(times, d_x), "update": update}
        keys["A"] = self.matrix(d_h, joined.get(update, d_h + d_x))
        keys["h_0"] = self.matrix(d_h)
        if self.random() < 0.5:
            keys["b"] = self.matrix(d_h)
        if update != "plain":
            if self.random() < 0.5:
                keys["c_0"] = self.matrix(d_h)
            if self.random() < 0.5:
                keys |= {"W_q": self.matrix(2, d_h), "W_k": self.matrix(2, d_h)}
            keys["score"] = self.score(2, 2)
            if self.random() < 0.3:
                keys["softcap"] = 2
        keys["gradient"] = self.gradient(times, d_h)
        return keys


def cases_of(keys: Keys) -> Iterator[str]:
    """Yield what a problem is a case of."""
    yield f"kind {keys.get('kind', 'given')}"
    if "score" in keys:
        score = keys["score"]
        yield f"score {score if isinstance(score, str) else score['name']}"
    mask = keys.get("mask", {})
    yield from (f"mask {name}" for name in ([mask] if isinstance(mask, str) else mask))
    if "normalize" in keys:
        yield f"normalize {keys['normalize']['name']}"
        yield from (f"normalize.{key}" for key in keys["normalize"] if key != "name")
    yield f"heads {keys.get('heads', 1)} of {keys.get('kv_heads', 1)}"
    yield from (key for key in ("softcap", "bias", "W_o", "W_c", "b_q", "update") if key in keys)
    if np.ndim(keys.get("X", ())) == 3:
        yield "batch"
    loss = keys["gradient"]
    yield f"loss {loss['loss'] if isinstance(loss, dict) else loss if loss == 'sum' else 'given'}"


def error(found: Any, wanted: Any) -> float:
    """Return the largest difference over the largest of the exact numbers; 0 for zeros."""
    exact = [mp.mpf(x) for x in np.ravel(wanted)]
    given = [mp.mpf(float(x)) for x in np.ravel(found)]
    most = max(map(abs, exact))
    # What is 0 in exact arithmetic is a difference of floats that are about 1.
    largest = max(abs(a - b) for a, b in zip(given, exact, strict=True))
    return float(largest / (most if most > 1e-12 else 1))


def worst_of(keys: Keys) -> tuple[float, str]:
    """Return the largest error of any input's derivative, and whose it is."""
    found = derivatives(keys)
    assert found
    exact = {key: oracle.difference(keys, key) for key in found}
    return max((error(found[key], exact[key]), key) for key in found)


def survey(count: int) -> None:
    """Print the worst error by case of so many random problems."""
    worst: dict[str, float] = {}
    counts: dict[str, int] = {}
    for seed in range(count):
        keys = Draw(seed).problem()
        try:
            found, key = worst_of(keys)
        except Exception:
            print(f"seed {seed}: {keys}")
            raise
        if found > ALLOWED:
            print(f"seed {seed}: {found:.2g} in {key} of {keys}")
        for case in cases_of(keys):
            worst[case] = max(worst.get(case, 0), found)
            counts[case] = counts.get(case, 0) + 1
    for case in sorted(worst):
        print(f"{case:32} {counts[case]:5} problems   {worst[case]:.1e}")
    print(f"worst of {count}: {max(worst.values()):.2g}")


def record(count: int = 25) -> None:
    """Write problems with a random direction of each input, for the tests."""
    lines = []
    for seed in range(count):
        draw = Draw(seed)
        keys = draw.problem()
        found = derivatives(keys)
        directions = {key: draw.matrix(*np.shape(numbers)) for key, numbers in found.items()}
        lines.append(json.dumps({"keys": keys, "directions": directions}))
    PROBLEMS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] == ["--record"]:
        record()
    else:
        survey(int(sys.argv[1]) if sys.argv[1:] else 100)
