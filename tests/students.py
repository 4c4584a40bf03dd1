"""Students: attention worked in plain NumPy, with one thing done wrong on purpose.

Nothing here uses the engine. `work` gives the steps of a problem as a student writes them, and
takes the id of a mistake; a `Habit` rounds every step before the next uses it, or not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Problem = dict[str, Any]
Draw = np.random.Generator


@dataclass(frozen=True)
class Habit:
    """How a student rounds: so many decimals or significant digits, at every step or at the end."""

    decimals: int | None = 2
    significant: int | None = None
    early: bool = False

    def text(self, value: float) -> str:
        """Return a number as it is written."""
        if not np.isfinite(value):
            return "-inf" if value < 0 else "inf"
        if self.decimals is not None:
            place = Decimal(1).scaleb(-self.decimals)
            with localcontext(prec=400):  # of large exponentials too
                written = Decimal(repr(float(value))).quantize(place, rounding=ROUND_HALF_UP)
            return f"{written:f}"
        assert self.significant is not None
        return f"{value:#.{self.significant}g}".removesuffix(".")

    def texts(self, value: Array) -> Any:
        """Return a matrix as it is written, in nested lists."""
        written = np.empty(value.shape, object)
        written.ravel()[:] = [self.text(float(x)) for x in value.ravel()]
        return written.tolist()

    def kept(self, value: Array) -> Array:
        """Return the numbers that the student goes on with."""
        if not self.early:
            return value
        return np.array([float(self.text(float(x))) for x in value.ravel()]).reshape(value.shape)


HABITS = [
    Habit(decimals, significant, early)
    for decimals, significant in ((2, None), (4, None), (None, 3))
    for early in (False, True)
]


def cut(matrix: Array, heads: int, interleaved: bool) -> Array:
    """Return (n, h·d) as (h, n, d)."""
    if interleaved:
        return np.stack([matrix[:, head::heads] for head in range(heads)])
    return np.stack(np.split(matrix, heads, axis=1))


class Desk:
    """Where a student works: every step is written down, rounded if that is the habit."""

    def __init__(self, habit: Habit) -> None:
        self.habit = habit
        self.steps: dict[str, Array] = {}

    def __call__(self, name: str, value: Array) -> Array:
        """Write a step down and return what to go on with."""
        self.steps[name] = value
        return self.habit.kept(value)


def work(p: Problem, mistake: str = "", habit: Habit | None = None) -> dict[str, Array]:
    """Return the steps of a problem in their order, with one mistake."""
    desk = Desk(habit or Habit())
    with np.errstate(all="ignore"):
        q, k, v = project(p, mistake, desk)
        scores = compare(p, mistake, desk, q, k)
        adjusted = adjust(p, mistake, desk, scores)
        mixed = weigh(p, mistake, desk, adjusted, scores)
        finish(p, mistake, desk, mixed, {"Q": q, "K": k, "V": v})
    return desk.steps


def projected(x: Array, w: Array, m: str) -> Array:
    """Return X W, or what it is mistaken for."""
    if m == "weights_matrix_transposed":
        return x @ w.T
    if m == "factors_exchanged":
        return w @ x
    if m == "elementwise_product":
        return x * w
    return x if m == "projection_missing" else x @ w


def project(p: Problem, m: str, desk: Desk) -> tuple[Array, Array, Array]:
    """Return Q, K and V."""
    heads = p.get("heads", 1)
    found = {}
    sources = {"Q": "q", "K": "k", "V": "v"}
    for one, other in (("Q", "K"), ("K", "V"), ("Q", "V")):
        if m == f"swapped_{one.lower()}_{other.lower()}":
            sources[one], sources[other] = sources[other], sources[one]
    for name, letter in sources.items():
        made = projected(p["X"], p[f"W_{letter}"], m if name == "Q" else "")
        if f"b_{letter}" in p and not (m == "bias_missing" and name == "Q"):
            made = made + p[f"b_{letter}"]
        if heads > 1:
            count = heads if name == "Q" else int(p.get("kv_heads") or heads)
            made = cut(made, count, m == "heads_interleaved")
        if m == "step_transposed" and name == "V":
            made = np.swapaxes(made, -1, -2)
        found[name] = desk(name, made)
    q, k, v = found["Q"], found["K"], found["V"]
    times = heads // p.get("kv_heads", heads)
    if times > 1 and m == "shared_heads_alternate":
        k, v = np.concatenate([k] * times), np.concatenate([v] * times)
    elif times > 1:
        k, v = np.repeat(k, times, axis=0), np.repeat(v, times, axis=0)
    return q, k, v


def compare(p: Problem, m: str, desk: Desk, q: Array, k: Array) -> Array:
    """Return the scores."""
    kt = k if m == "key_not_transposed" else np.swapaxes(k, -1, -2)
    name = p.get("score", "scaled_dot")
    if isinstance(name, dict):
        n, size = q.shape[-2], k.shape[-2]
        pair = [
            np.repeat(q[..., :, None, :], size, axis=-2),
            np.repeat(k[..., None, :, :], n, axis=-3),
        ]
        pair = pair[::-1] if m == "joined_in_wrong_order" else pair
        joined = np.concatenate(pair, axis=-1)
        inside = joined @ name["W"].T
        hidden = desk("hidden", inside if m == "tanh_missing" else np.tanh(inside))
        made = hidden @ name["v"]
    elif name == "cosine":
        lengths = (
            np.linalg.norm(q, axis=-1)[..., :, None] * np.linalg.norm(k, axis=-1)[..., None, :]
        )
        made = q @ kt if m == "lengths_forgotten" else q @ kt / lengths
    elif name == "distance":
        squares = ((q[..., :, None, :] - k[..., None, :, :]) ** 2).sum(-1)
        made = squares / 2 if m == "sign_of_distance" else -squares / 2
        made = -squares if m == "half_forgotten" else made
    else:
        made = q @ kt
    if m == "scores_transposed":
        made = np.swapaxes(made, -1, -2)
    if m == "scaled_needlessly":
        made = made / np.sqrt(q.shape[-1])
    return desk("scores", made)


def adjust(p: Problem, m: str, desk: Desk, s: Array) -> Array:
    """Return the scores scaled and masked."""
    d_k = p["W_k"].shape[1] / p.get("kv_heads", p.get("heads", 1))
    if p.get("score", "scaled_dot") == "scaled_dot":
        root = np.sqrt(d_k)
        by = {
            "not_scaled": 1.0,
            "scaled_by_d_k": d_k,
            "scaled_by_sqrt_d_model": np.sqrt(p["X"].shape[1]),
            "scaled_by_sqrt_n": np.sqrt(len(p["X"])),
            "scale_inverted": 1 / root,
        }.get(m, root)
        if "scale" in p:
            by = {"scaled_twice": p["over"] ** 2}.get(m, p["over"])
        s = desk("scaled", s / by)
    if "mask" not in p:
        return s
    mask = np.array(p["mask"])
    if m in ("mask_missing", "mask_after_softmax"):
        return s
    mask = {
        "mask_inverted": 1 - mask,
        "mask_transposed": mask.T,
        "mask_off_by_one": np.tri(len(mask), k=1),
    }.get(m, mask)
    return desk("masked", np.where(mask == 1, s, 0.0 if m == "mask_as_zero" else -np.inf))


def weigh(p: Problem, m: str, desk: Desk, s: Array, scores: Array) -> Array:
    """Return the weights, or what the student mixes the values by."""
    temperature = p.get("temperature", 1.0)
    by = {"temperature_missing": 1.0, "temperature_inverted": 1 / temperature}.get(m, temperature)
    signed = -s if m == "exponent_sign" else s
    e = (2.0 if m == "wrong_base" else np.e) ** (signed / by)
    if m == "not_exponentiated":
        e = s / by
    e = desk("exp", e)
    if m == "softmax_over_queries":
        total = e.sum(axis=-2, keepdims=True)
    elif m == "softmax_over_all":
        total = e.sum(axis=(-2, -1), keepdims=True)
    else:
        total = desk("sum", e.sum(axis=-1, keepdims=True))
    weights = e if m == "not_normalized" else e / total
    if m == "mask_after_softmax":
        weights = weights * p["mask"]
    if m == "weights_transposed":
        weights = np.swapaxes(weights, -1, -2)
    weights = desk("weights", weights)
    if m == "scores_as_weights":
        return s
    return np.swapaxes(weights, -1, -2) if m == "attention_transposed" else weights


def finish(p: Problem, m: str, desk: Desk, weights: Array, parts: dict[str, Array]) -> None:
    """Write down what the weights mix, and what comes after."""
    heads = p.get("heads", 1)
    values = parts["V"]
    if m == "input_instead_of_values":
        values = p["X"] if heads == 1 else cut(p["X"], heads, False)
    elif m == "keys_instead_of_values":
        values = parts["K"]
    elif m == "queries_instead_of_values":
        values = parts["Q"]
    mixed = weights @ values
    if heads > 1:
        context = desk("context", mixed)
        mixed = np.concatenate(list(context), axis=1)
        mixed = desk("concat", mixed) if "W_o" in p else mixed
    if "W_o" in p:
        mixed = desk("context", mixed) if heads == 1 else mixed
        mixed = mixed if m == "w_o_missing" else mixed @ p["W_o"]
    desk("output", mixed)


# ---- problems that can show a mistake


def matrices(draw: Draw, sort: str, n: int = 3, wide: int = 4, d: int = 4) -> Problem:
    """Return random X and projections: small integers, decimals, or those of two heads."""

    def numbers(*shape: int) -> Array:
        if sort == "integers":
            return draw.integers(-2, 3, shape).astype(float)
        return np.round(draw.normal(0, 0.8, shape), 1)

    problem: Problem = {"X": numbers(n, wide)}
    problem |= {name: numbers(wide, d) for name in ("W_q", "W_k", "W_v")}
    if sort == "heads":
        problem["heads"] = 2
    return problem


def numbers(draw: Draw, *shape: int) -> Array:
    """Return a random matrix of one decimal."""
    return np.round(draw.normal(0, 1, shape), 1)


@dataclass(frozen=True)
class Case:
    """One mistake: which problems can show it, and in which step it is first seen."""

    step: str
    more: Callable[[Draw, str], Problem] = lambda draw, sort: {}
    shape: Callable[[str], dict[str, int]] = lambda sort: {}
    hidden: tuple[str, ...] = ()
    sorts: tuple[str, ...] = ("integers", "decimals", "heads")


def square(sort: str) -> dict[str, int]:
    """As many tokens as a head's features."""
    return {"n": 2 if sort == "heads" else 4}


def causal(draw: Draw, sort: str) -> Problem:
    """A decoder's mask."""
    del draw, sort
    return {"mask": np.tri(3)}


def dotted(draw: Draw, sort: str) -> Problem:
    """The dot product without a scale."""
    del draw, sort
    return {"score": "dot"}


def joined(draw: Draw, sort: str) -> Problem:
    """The score function concat."""
    size = 4 if sort == "heads" else 8
    return {"score": {"name": "concat", "W": numbers(draw, 3, size), "v": numbers(draw, 3)}}


SOFTMAX = ("exp", "sum")

CASES: dict[str, Case] = {
    "not_scaled": Case("scaled"),
    "scaled_by_d_k": Case("scaled"),
    "scaled_by_sqrt_d_model": Case("scaled", shape=lambda sort: {"wide": 6}),
    "scaled_by_sqrt_n": Case("scaled", shape=lambda sort: {"n": 3}),
    "scaled_twice": Case("scaled", lambda draw, sort: {"scale": "1/3", "over": 3.0}),
    "scale_inverted": Case("scaled"),
    "scaled_needlessly": Case("scores", dotted),
    "scores_transposed": Case("scores"),
    "key_not_transposed": Case("scores", shape=square),
    "weights_matrix_transposed": Case("Q"),
    "factors_exchanged": Case("Q", shape=lambda sort: {"n": 4}),
    "elementwise_product": Case("Q", shape=lambda sort: {"n": 4}),
    "projection_missing": Case("Q"),
    "swapped_q_k": Case("Q"),
    "swapped_k_v": Case("K"),
    "swapped_q_v": Case("Q"),
    "bias_missing": Case("Q", lambda draw, sort: {"b_q": numbers(draw, 4)}),
    "tanh_missing": Case("hidden", joined),
    "joined_in_wrong_order": Case("hidden", joined),
    "lengths_forgotten": Case("scores", lambda draw, sort: {"score": "cosine"}),
    "sign_of_distance": Case("scores", lambda draw, sort: {"score": "distance"}),
    "half_forgotten": Case("scores", lambda draw, sort: {"score": "distance"}),
    "mask_missing": Case("exp", causal),
    "mask_inverted": Case(
        "masked", lambda draw, sort: {"mask": np.array([[1, 0, 1], [0, 1, 1], [1, 1, 0]])}
    ),
    "mask_as_zero": Case("masked", causal),
    "mask_transposed": Case("masked", causal),
    "mask_off_by_one": Case("masked", causal),
    "mask_after_softmax": Case("weights", causal, hidden=SOFTMAX),
    "softmax_over_queries": Case("weights", hidden=SOFTMAX),
    "softmax_over_all": Case("weights", hidden=SOFTMAX),
    "not_normalized": Case("weights"),
    "not_exponentiated": Case("exp"),
    "scores_as_weights": Case("output"),
    "temperature_missing": Case("exp", lambda draw, sort: {"temperature": 2.0}),
    "temperature_inverted": Case("exp", lambda draw, sort: {"temperature": 2.0}),
    "wrong_base": Case("exp"),
    "exponent_sign": Case("exp"),
    "attention_transposed": Case("output"),
    "input_instead_of_values": Case("output"),
    "keys_instead_of_values": Case("output"),
    "queries_instead_of_values": Case("output"),
    "heads_interleaved": Case("Q", sorts=("heads",)),
    "shared_heads_alternate": Case(
        "scores",
        lambda draw, sort: {
            "heads": 4,
            "kv_heads": 2,
            "W_q": numbers(draw, 4, 8),
        },
        sorts=("heads",),
    ),
    "w_o_missing": Case("output", lambda draw, sort: {"W_o": numbers(draw, 4, 4)}),
    "step_transposed": Case("V", shape=square),
}
"""A student for every mistake of the catalogue."""


def first_step(case: Case, problem: Problem) -> str:
    """Return where a mistake is first seen: with several heads, weights · V is the context."""
    if case.step == "output" and "heads" in problem and "W_o" not in problem:
        return "context"
    return case.step


def draws(case: Case, sort: str, draw: Draw) -> Problem:
    """Return a random problem that may show a mistake."""
    return matrices(draw, sort, **case.shape(sort)) | case.more(draw, sort)


def as_given(problem: Problem) -> dict[str, Any]:
    """Return the problem as the calculator takes it."""
    given = {key: value for key, value in problem.items() if key not in ("over", "temperature")}
    if "temperature" in problem:
        given["normalize"] = {"name": "softmax", "temperature": problem["temperature"]}
    return given
