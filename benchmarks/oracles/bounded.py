"""Every mechanism in exact arithmetic, with a bound on the error of the same lines in floats.

`solve` takes the keys of a problem as arrays, in row convention and without a batch, and returns
its steps as lists of matrices, one per head. It shares nothing with the program but the names of
keys and steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.oracles import balls
from benchmarks.oracles.balls import Ball, Floats, Numbers, below, beside

Keys = dict[str, Any]
Steps = dict[str, list[Ball]]


def solve(keys: Keys, floats: Floats) -> Steps:
    """Return the steps from the projections to the output; `exp` and `sum` are left out."""
    given = {k: floats.given(v) for k, v in keys.items() if isinstance(v, np.ndarray)}
    given |= {k: b[None, :] for k, b in given.items() if b.middle.ndim == 1}
    parameters = {k: floats.given(v) for k, v in keys["score"].items() if isinstance(v, np.ndarray)}
    work = _Work(keys, floats, given, parameters)
    return {
        "pooling": work.pooling,
        "co_attention": work.co_attention,
        "recurrent": work.recurrent,
    }.get(keys["kind"], work.attention)()


class _Work:
    def __init__(self, keys: Keys, floats: Floats, given: dict[str, Ball], own: dict[str, Ball]):
        self.keys, self.floats, self.given, self.own = keys, floats, given, own
        self.steps: Steps = {}

    def keep(self, name: str, found: Ball) -> Ball:
        """Keep one head's matrix of a step."""
        self.steps.setdefault(name, []).append(found)
        return found

    def attention(self) -> Steps:
        keys, given, heads = self.keys, self.given, int(self.keys.get("heads", 1))
        q, k, v = (self.project(letter) for letter in "qkv")
        goes_on = "W_o" in given or "b_o" in given
        contexts = []
        for head in range(heads):
            shared = head * int(keys.get("kv_heads", heads)) // heads
            if "scores" in given:
                scores = self.keep("scores", given["scores"])
            else:
                assert q is not None
                assert k is not None
                scores = self.score(q[head], k[shared])
            name = "context" if heads > 1 or goes_on else "output"
            assert v is not None
            contexts.append(self.keep(name, self.weigh(scores) @ v[shared]))
        output = beside(*contexts)
        if heads > 1:
            self.keep("concat" if goes_on else "output", output)
        if goes_on:
            output = output @ given["W_o"] if "W_o" in given else output
            output = output + given["b_o"] if "b_o" in given else output
            self.keep("output", output)
        if "W_c" in given:
            self.keep("attentional", (beside(output, given["X"]) @ given["W_c"].T).tanh())
        return self.steps

    def project(self, letter: str) -> list[Ball] | None:
        keys, given, name = self.keys, self.given, letter.upper()
        if letter != "v" and "scores" in given:
            return None
        made = given.get(name)
        if made is None:
            made = given["memory" if letter != "q" and keys["kind"] == "cross" else "X"]
            made = made @ given[f"W_{letter}"] if f"W_{letter}" in given else made
            made = made + given[f"b_{letter}"] if f"b_{letter}" in given else made
        heads = int(keys.get("heads", 1))
        count = heads if letter == "q" else int(keys.get("kv_heads", heads))
        width = made.middle.shape[-1] // count
        cut = [made[:, head * width : (head + 1) * width] for head in range(count)]
        self.steps[name] = cut
        return cut

    def score(self, q: Ball, k: Ball, suffix: str = "") -> Ball:
        """Return α(q, k) of each row of q with each row of k."""
        name, own = self.keys["score"]["name"], self.own
        n, m = len(q.middle), len(k.middle)
        pairs = [(i, j) for i in range(n) for j in range(m)]
        if name in ("dot", "scaled_dot"):
            found = q @ k.T
        elif name == "general":
            found = (q @ own["W"]) @ k.T
        elif name == "cosine":
            found = balls.cosine(q, k)
        elif name == "distance":
            width = float(self.keys["score"]["width"])
            apart = below(*(q[[i]] - k[[j]] for i, j in pairs)).scaled(1, width)
            found = (apart * apart).sum().scaled(-1, 2)
            found = _reshaped(found, (n, m))
        else:
            joined = name == "concat"
            weighed = (
                [beside(q[[i]], k[[j]]) @ own["W"].T for i, j in pairs]
                if joined
                else [q[[i]] @ own["W"].T + k[[j]] @ own["U"].T for i, j in pairs]
            )
            inner = below(*weighed)
            if "b" in own:
                inner = inner + own["b"][None, :]
            second = "_2" if self.keys["kind"] == "pooling" and "hidden" in self.steps else suffix
            hidden = self.keep(f"hidden{second}", inner.tanh())
            found = _reshaped(hidden @ own["v"][:, None], (n, m))
        return self.keep(f"scores{suffix}", found)

    def weigh(self, scores: Ball, suffix: str = "", name: str = "weights") -> Ball:
        return self.normalize(*self.adjust(scores, suffix), f"{name}{suffix}")

    def adjust(self, scores: Ball, suffix: str = "") -> tuple[Ball, Numbers]:
        """Return scores after scale, soft cap and bias, and which cells are not blocked."""
        keys, s = self.keys, scores
        times, over = keys.get("factor", (1, 1))
        if times != 1 or over != 1:
            s = self.keep(f"scaled{suffix}", s.scaled(times, over))
        if "softcap" in keys:
            cap = keys["softcap"]
            s = self.keep(f"capped{suffix}", s.scaled(1, cap).tanh().scaled(cap, 1))
        if "bias" in keys:
            s = self.keep(f"biased{suffix}", s + self.given["bias"])
        keep = np.ones(s.middle.shape, bool)
        if isinstance(keys.get("mask"), dict):
            keep = np.broadcast_to(np.asarray(keys["mask"]["keep"]) != 0, keep.shape)
        return s, keep

    def normalize(self, s: Ball, keep: Numbers, name: str) -> Ball:
        how = self.keys["normalize"]
        temperature = how.get("temperature", 1)
        if how["name"] == "softmax":
            weights = balls.softmax(s, keep, how.get("base", "e"), temperature)
        elif how["name"] == "hardmax":
            weights = balls.hardmax(s, keep)
        elif how["name"] == "sparsemax":
            weights = balls.sparsemax(s, keep, temperature)
        else:
            kept = s.like(np.where(keep, s.middle, 0), np.where(keep, s.radius, 0))
            if how["name"] == "none":
                return kept if temperature == 1 else self.keep(name, kept.scaled(1, temperature))
            some: Numbers = np.any(keep, axis=-1, keepdims=True)
            total = kept.sum()
            safe = total.like(np.where(some, total.middle, 1), total.radius)
            weights = kept / safe
        return self.keep(name, weights)

    def pooling(self) -> Steps:
        given, x = self.given, self.given["X"]
        hidden = x @ given["W"].T if "W" in given else x
        hidden = hidden + given["b"] if "b" in given else hidden
        if "W" in given or "b" in given:
            hidden = self.keep("hidden", hidden.tanh())
        self.keep("output", self.weigh(self.score(given["u"], hidden)) @ x)
        return self.steps

    def co_attention(self) -> Steps:
        a, b = self.given["X"], self.given["memory"]
        scores, keep = self.adjust(self.score(a, b))
        self.keep("aligned_x", self.normalize(scores, keep, "weights_x") @ b)
        self.keep("aligned_memory", self.normalize(scores.T, keep.T, "weights_memory") @ a)
        return self.steps

    def recurrent(self) -> Steps:
        given = self.given
        state = context = self.floats.given(np.zeros((1, len(self.keys["A"]))))
        states = [state]
        for t in range(1, len(self.keys["X"]) + 1):
            inner = beside(given["X"][[t - 1]], context) @ given["A"].T
            inner = inner + given["b"] if "b" in given else inner
            state = self.keep(f"h_{t}", inner.tanh())
            states.append(state)
            scores = self.score(state, below(*states), f"_{t}")
            context = self.keep(f"c_{t}", self.weigh(scores, f"_{t}") @ below(*states))
        return self.steps


def _reshaped(found: Ball, shape: tuple[int, int]) -> Ball:
    return found.like(found.middle.reshape(shape), found.radius.reshape(shape))
