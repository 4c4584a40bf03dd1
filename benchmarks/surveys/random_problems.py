"""Random problems of every kind, of ordinary and of extreme size, and what is right for them."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import numpy as np

import attncli
from attncli.core.attention.scores import SCORES
from attncli.core.errors import InputError
from benchmarks.oracles import balls, bounded

Keys = dict[str, Any]
KINDS = ("self", "self", "cross", "pooling", "co_attention", "recurrent", "given")


class Maker:
    """Makes one problem from a seed; `extreme` ones hold numbers from 1e-300 to 1e300.

    In float32, numbers of extreme size are from 1e-37 to 1e37.
    """

    def __init__(self, seed: int, extreme: bool) -> None:
        self.random, self.extreme = random.Random(seed), extreme
        self.numbers = np.random.default_rng(seed)
        self.dtype = self.random.choice([np.float64, np.float64, np.float32])
        self.most = 300 if self.dtype is np.float64 else 37
        # One size for all numbers of a matrix, or another one for each.
        self.mixed = self.random.random() < 0.4

    def chance(self, share: float) -> bool:
        """Return True for this share of the calls."""
        return self.random.random() < share

    def size(self) -> float:
        """Return a power of ten, near the largest or smallest float in half of the cases."""
        if not self.extreme or self.chance(0.3):
            return 1.0
        most = self.most if self.chance(0.5) else self.most // 2
        return float(10.0 ** (self.random.choice([-1, 1]) * self.random.randint(most // 2, most)))

    def matrix(self, *shape: int) -> Any:
        """Return normal numbers, or small whole ones, times a size."""
        found = self.numbers.normal(size=shape)
        if self.chance(0.3):
            found = self.numbers.integers(-3, 4, shape).astype(float)
        sizes: Any = self.size()
        if self.extreme and self.mixed:
            sizes = np.array([self.size() for _ in range(found.size)]).reshape(shape)
        with np.errstate(all="ignore"):
            return (found * sizes).astype(self.dtype)

    def problem(self) -> Keys:
        """Return the keys of a problem, as `bounded.solve` takes them."""
        pick, kind = self.random, self.random.choice(KINDS)
        n, m, d, d_v = (pick.randint(1, 4) for _ in range(4))
        keys: Keys = {"kind": "self" if kind == "given" else kind}
        if kind in ("self", "cross", "given"):
            keys |= self.attention(kind, n, m, d, d_v)
            m = n if kind == "self" else m
        elif kind == "pooling":
            keys |= {"X": self.matrix(m, d), "u": self.matrix(1, d)}
            if self.chance(0.7):
                hidden = pick.randint(1, 3)
                keys |= {"W": self.matrix(hidden, d), "u": self.matrix(1, hidden)}
                keys |= {"b": self.matrix(hidden)} if self.chance(0.5) else {}
                d = hidden
            n = 1
        elif kind == "co_attention":
            keys |= {"X": self.matrix(n, d), "memory": self.matrix(m, d)}
        else:
            keys |= {"X": self.matrix(n, d), "A": self.matrix(2, d + 2)}
            keys |= {"b": self.matrix(2)} if self.chance(0.5) else {}
            d = 2
        heads = keys.get("heads", 1)
        keys["score"] = self.score(d // heads, d // heads)
        self.rules(keys, n, m, kind)
        return keys

    def attention(self, kind: str, n: int, m: int, d: int, d_v: int) -> Keys:
        """Return the keys of self-attention, cross-attention, or Q, K, V or scores given."""
        heads = self.random.choice([1, 1, 2])
        kv_heads = self.random.choice([1, heads])
        d_model, keys = self.random.randint(1, 4), Keys()
        if heads > 1:
            keys |= {"heads": heads, "kv_heads": kv_heads}
        if kind == "given" and heads == 1 and self.chance(0.3):
            return {"scores": self.matrix(n, m), "V": self.matrix(m, d_v)}
        if d % heads:
            raise _UnfitError
        of_q, of_k, of_v = d, d // heads * kv_heads, d_v * kv_heads
        if kind == "given":
            keys |= {"Q": self.matrix(n, of_q), "K": self.matrix(m, of_k)}
            return keys | {"V": self.matrix(m, of_v)}
        source = d_model
        keys["X"] = self.matrix(n, d_model)
        if kind == "cross":
            source = self.random.randint(1, 4)
            keys["memory"] = self.matrix(m, source)
        keys["W_q"] = self.matrix(d_model, of_q)
        keys |= {"W_k": self.matrix(source, of_k), "W_v": self.matrix(source, of_v)}
        if self.chance(0.3):
            keys["b_q"] = self.matrix(of_q)
        d_out = d_v * heads
        if self.chance(0.4):
            d_out = self.random.randint(1, 3)
            keys["W_o"] = self.matrix(d_v * heads, d_out)
            keys |= {"b_o": self.matrix(d_out)} if self.chance(0.5) else {}
        if self.chance(0.2):
            keys["W_c"] = self.matrix(2, d_out + d_model)
        return keys

    def score(self, d_q: int, d_k: int) -> Keys:
        """Return a score function with its parameters."""
        name = self.random.choice([name for name in SCORES if name != "linear"])
        hidden, found = self.random.randint(1, 3), Keys(name=name)
        if name == "general":
            found["W"] = self.matrix(d_q, d_k)
        elif name in ("additive", "concat"):
            found["W"] = self.matrix(hidden, d_q if name == "additive" else d_q + d_k)
            found |= {"U": self.matrix(hidden, d_k)} if name == "additive" else {}
            found["v"] = self.matrix(hidden)
            found |= {"b": self.matrix(hidden)} if self.chance(0.5) else {}
        elif name == "distance":
            found["width"] = self.random.uniform(0.5, 2) * self.size()
        return found

    def rules(self, keys: Keys, n: int, m: int, kind: str) -> None:
        """Add scale, soft cap, bias, mask and normaliser."""
        if self.chance(0.4):
            number = self.random.uniform(0.1, 3) * self.size()
            keys["factor"] = self.random.choice([(number, 1.0), (1.0, number)])
        if self.chance(0.25):
            keys["softcap"] = self.random.uniform(0.5, 30) * self.size()
        if kind != "recurrent" and self.chance(0.25):
            keys["bias"] = self.matrix(n, m)
        if kind != "recurrent" and self.chance(0.4):
            keys["mask"] = {"keep": (self.numbers.random((n, m)) < 0.7).astype(int)}
        name = self.random.choice(["softmax"] * 6 + ["hardmax", "sparsemax", "sum", "none"])
        keys["normalize"] = {"name": name}
        if name not in ("hardmax", "sum") and self.chance(0.3):
            keys["normalize"]["temperature"] = self.random.uniform(0.1, 5) * self.size()
        if name == "softmax" and self.chance(0.2):
            keys["normalize"]["base"] = self.random.choice([2, 3, 10])


class _UnfitError(Exception):
    """A draw whose sizes do not go together."""


def problem_of(seed: int, extreme: bool) -> tuple[Keys, Any]:
    """Return the keys of the problem of a seed, and its type of numbers."""
    maker = Maker(seed, extreme)
    while True:
        try:
            return maker.problem(), maker.dtype
        except _UnfitError:
            continue


def keys_of(keys: Keys) -> Keys:
    """Return the keys as the program takes them, which has a scale for the factor."""
    own = {key: value for key, value in keys.items() if key != "factor"}
    if "scores" in keys:
        del own["score"]
    times, over = keys.get("factor", (1, 1))
    return own | {"scale": f"{times!r}" if over == 1 else f"{times!r}/{over!r}"}


def compute(keys: Keys) -> attncli.Trace | str:
    """Calculate with the program; an error is its message."""
    try:
        return attncli.compute(attncli.Problem(**keys_of(keys)))
    except InputError as error:
        return str(error)


class Outcome(NamedTuple):
    """How the program does on a problem.

    Attributes:
        word: "near", where every number is within `NEAR` of its step's largest; "conditioning",
            where the others are within the bound of their sums; "unknown", where a bound is
            infinite; "refused", for a number beyond a float, a vector without a direction, a sum
            of 0; "wrong" for anything else.
        reason: the first step that is not near, or the message.
    """

    word: str
    reason: str = ""


NEAR = {np.float64: 1e-12, np.float32: 1e-4}
"""Distance from the right number, relative to the largest of its step, that needs no reason."""


def outcome(seed: int, extreme: bool) -> Outcome:
    """Calculate the problem of a seed, and compare every step with the reference."""
    keys, dtype = problem_of(seed, extreme)
    floats = balls.Floats(dtype)
    expected = bounded.solve(keys, floats)
    trace = compute(keys)
    if isinstance(trace, str):
        return Outcome(
            "refused" if _is_right_to_refuse(trace, expected, floats) else "wrong", trace
        )
    found = Outcome("near")
    for step in (step for step in trace if step.name in expected):
        if step.array.dtype != dtype:
            return Outcome("wrong", f"{step.name} is {step.array.dtype}")
        for head, ball in enumerate(expected[step.name]):
            array = step.array[0, min(head, step.array.shape[1] - 1)].reshape(ball.middle.shape)
            if not (np.isfinite(array).all() and ball.within(array).all()):
                right = ball.middle.astype(float).tolist()
                return Outcome("wrong", f"{step.name} is {array.tolist()}, not {right}")
            if found.word == "near":
                found = Outcome(_how_near(ball, array, dtype), step.name)
    return found


def _is_right_to_refuse(message: str, expected: bounded.Steps, floats: balls.Floats) -> bool:
    if "beyond what a float can hold" in message:
        return floats.overflows
    every = [ball for heads in expected.values() for ball in heads]
    may_be_zero = any((~(ball.radius < np.abs(ball.middle))).any() for ball in every)
    return ("sum to 0" in message or "all zeros" in message) and may_be_zero


def _how_near(ball: balls.Ball, array: Any, dtype: Any) -> str:
    if not (ball.radius < balls.INFINITE).all():
        return "unknown"
    allowed = NEAR[dtype] * np.abs(ball.middle).max(initial=0) + ball.floats.smallest
    return "near" if (np.abs(balls.exact(array) - ball.middle) <= allowed).all() else "conditioning"


def recorded(seed: int, extreme: bool) -> Keys:
    """Return the problem of a seed as JSON holds it, with its right numbers and their bounds.

    There are none for a problem that is refused; a bound that is infinite is None.
    """
    assert outcome(seed, extreme).word != "wrong"
    keys, dtype = problem_of(seed, extreme)
    line: Keys = {"keys": plain(keys_of(keys)), "dtype": np.dtype(dtype).name, "extreme": extreme}
    trace = compute(keys)
    if isinstance(trace, str):
        return line | {"refused": trace}
    expected = bounded.solve(keys, balls.Floats(dtype))
    steps = {name: heads for name, heads in expected.items() if name in trace}
    numbers = {
        name: [
            [[float(x) for x in ball.middle.ravel()], [_bound(x) for x in ball.radius.ravel()]]
            for ball in heads
        ]
        for name, heads in steps.items()
    }
    return line | {"steps": numbers}


def _bound(radius: Any) -> float | None:
    return float(radius) if radius < balls.INFINITE else None


def plain(value: Any) -> Any:
    """Return a value with lists for arrays."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value
