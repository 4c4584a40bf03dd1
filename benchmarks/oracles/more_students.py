"""More students of `students.py`: each does one thing wrong that replaces a whole step.

As there, nothing comes from the program. A student is a function that takes the step and returns
other numbers for it.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from benchmarks.oracles.handwriting import Numbers
from benchmarks.oracles.students import (
    RIGHT,
    Known,
    Paper,
    Wrong,
    cut,
    divided,
    need,
    normalized,
    of_attention,
    turned,
)


class Step(NamedTuple):
    """The step that a student does otherwise, in one of several ways, from the earlier ones."""

    paper: Paper
    name: str
    known: Known
    way: int

    def made(self, id_: str = "") -> Numbers:
        """Return the right numbers, or those of another mistake."""
        return self.paper.made(self.name, self.known, Wrong(id_))

    @property
    def scores(self) -> Numbers:
        """The scores that it goes on from, transposed for the other side."""
        s = self.paper.chain(self.name, RIGHT, self.known)
        return turned(s) if self.name.endswith("_memory") else s

    @property
    def exponents(self) -> Numbers:
        """What e, or another base, is raised to."""
        need(self.paper.normalizer == "softmax")
        return self.scores / self.paper.temperature

    @property
    def finite_exponents(self) -> Numbers:
        """The exponents, with 0 for −∞."""
        return np.where(self.exponents == -np.inf, 0, self.exponents)

    @property
    def powers(self) -> Numbers:
        """What a sum or weights are made from."""
        need(self.paper.normalizer == "softmax")
        return self.known["exp" + self.name.removeprefix("weights").removeprefix("sum")]


Student: TypeAlias = Callable[[Step], Any]

MORE: dict[str, tuple[tuple[str, ...], Student]] = {}
"""The students by what they do wrong, each with the steps that it replaces."""


def student(*steps: str) -> Callable[[Student], Student]:
    """Put a student into the table."""

    def put(work: Student) -> Student:
        MORE[work.__name__] = steps, work
        return work

    return put


def instead(paper: Paper, name: str, known: Known, wrong: Wrong) -> Any:
    """Return what a student writes for a whole step; None who does not replace it."""
    if wrong.id not in MORE:
        return None
    steps, work = MORE[wrong.id]
    is_replaced = name.partition("_")[0] in steps
    return work(Step(paper, name, known, wrong.way)) if is_replaced else None


# ---- scale, cap and score functions


@student("scaled")
def root_of_each_score(at: Step) -> Any:
    need("scale" not in at.paper.keys)
    return np.sqrt(at.scores if at.way == 0 else at.scores / at.paper.d_k)


@student("capped", "hidden", "output")
def sigmoid_for_tanh(at: Step) -> Any:
    if at.name == "capped":
        cap = float(at.paper.keys["softcap"])
        return cap / (1 + np.exp(-at.scores / cap))
    need(at.name == "hidden" or "output_activation" in at.paper.keys)
    return 1 / (1 + np.exp(-at.made("tanh_missing")))


@student("capped")
def cap_clipped(at: Step) -> Any:
    cap = float(at.paper.keys["softcap"])
    return np.clip(at.scores, -cap, cap)


@student("scores")
def v_forgotten(at: Step) -> Any:
    need("v" in at.paper.score)
    return at.known["hidden"].sum(axis=-1)


@student("hidden")
def w_and_u_exchanged(at: Step) -> Any:
    score = at.paper.score
    need("U" in score)
    other = copy(at.paper)
    other.score = score | {"W": score["U"], "U": score["W"]}
    return other.made(at.name, at.known)


@student("scores")
def width_not_squared(at: Step) -> Any:
    need(at.paper.score["name"] == "distance")
    return at.made() * float(at.paper.score["width"])


@student("scores")
def other_score_function(at: Step) -> Any:
    right = at.paper.score["name"]
    others = {
        "dot": ("cosine", "distance"),
        "scaled_dot": ("cosine", "distance"),
        "cosine": ("distance",),
        "general": ("cosine", "distance"),
        "distance": ("dot", "cosine"),
    }.get(right, ("dot", "cosine", "distance"))
    need(at.way < len(others))
    q, k = at.paper.queries(at.known), at.paper.keys_of(at.known)
    need(q.shape[-1] == k.shape[-1] and len(q) == len(k))
    if others[at.way] == "distance":
        over = 2 * float(at.paper.score.get("width", 1)) ** 2
        return -((q[:, :, None, :] - k[:, None, :, :]) ** 2).sum(axis=-1) / over
    lengths = [np.linalg.norm(side, axis=-1) for side in (q, k)]
    is_cosine = others[at.way] == "cosine"
    return q @ turned(k) / (lengths[0][:, :, None] * lengths[1][:, None, :] if is_cosine else 1)


# ---- what is compared


@student("scores", "hidden")
def queries_with_queries(at: Step) -> Any:
    need(at.paper.n == at.paper.m)
    q = of_attention(at.known, "Q")
    return compared(at, q, q)


@student("scores", "hidden")
def keys_with_keys(at: Step) -> Any:
    need(at.paper.n == at.paper.m)
    k = at.paper.shared(of_attention(at.known, "K"))
    return compared(at, k, k)


@student("scores", "hidden")
def inputs_with_inputs(at: Step) -> Any:
    keys, heads = at.paper.keys, at.paper.heads
    inputs = keys["X"], keys.get("memory", keys["X"])
    q, k = (cut(a, heads) if at.way == 0 else np.stack([a] * heads) for a in inputs)
    return compared(at, q, k)


def compared(at: Step, q: Numbers, k: Numbers) -> Numbers:
    """Return scores, or the hidden layer, of other matrices than queries and keys."""
    need(at.name == ("hidden" if "v" in at.paper.score else "scores"))
    need(at.paper.kind in ("self", "cross"))
    other = copy(at.paper)
    other.kv_heads = at.paper.heads
    return other.made(at.name, {"Q": q, "K": k})


@student("Q", "K", "V", "output")
def all_weight_matrices_transposed(at: Step) -> Any:
    is_product = at.name != "output" or ("W_o" in at.paper.keys and at.way == 0)
    return at.made("weights_matrix_transposed" if is_product else "")


# ---- masks


@student("masked")
def mask_added(at: Step) -> Any:
    return at.scores + at.paper.keep


@student("masked")
def mask_as_minus_one(at: Step) -> Any:
    return np.where(at.paper.keep == 0, -1.0, at.scores)


@student("masked")
def mask_part_forgotten(at: Step) -> Any:
    """Way 0 forgets the window, way 1 that the mask is causal."""
    if at.way == 0:
        return masked_by(at, at.paper.grid(lambda i, j: j <= i))
    return masked_by(at, at.paper.grid(lambda i, j: i - 1 <= j <= i + 2))


@student("masked")
def mask_counted_from_0(at: Step) -> Any:
    return masked_by(at, at.paper.counted_from_0())


@student("masked")
def mask_and_or(at: Step) -> Any:
    """Asks for one part of a condition, of which both are needed."""
    need("when" in at.paper.keys["mask"])
    return masked_by(at, at.paper.grid(lambda i, j: j < 2 or j <= i))


def masked_by(at: Step, keep: Numbers) -> Numbers:
    """Return the scores with another mask, of which something is left."""
    need(not np.array_equal(keep, at.paper.keep != 0) and not keep.all())
    return np.where(keep != 0, at.scores, -np.inf)


def real_keys(at: Step) -> int:
    """Return how many keys are real, if a step is masked by that."""
    mask: Any = at.paper.keys.get("mask")
    need(isinstance(mask, dict) and "lengths" in mask)
    return int(mask["lengths"])


@student("masked")
def padding_at_wrong_end(at: Step) -> Any:
    padding = at.paper.m - real_keys(at)
    return np.where(np.arange(at.paper.m) < padding, -np.inf, at.scores)


@student("masked")
def wrong_key_blocked(at: Step) -> Any:
    real, keys = real_keys(at), np.arange(at.paper.m)
    need(at.way < real)
    return np.where((keys > real) | (keys == at.way), -np.inf, at.scores)


@student("masked", "weights")
def padded_queries_blocked(at: Step) -> Any:
    need(at.paper.kind == "self")
    is_real = np.arange(at.paper.n)[:, None] < real_keys(at)
    return np.where(is_real, at.made(), -np.inf if at.name == "masked" else 0)


# ---- normalisers


@student("weights")
def other_normalizer(at: Step) -> Any:
    others = {
        "softmax": ("hardmax", "sparsemax", "none"),
        "hardmax": ("softmax", "sparsemax", "sum", "none"),
        "sparsemax": ("softmax", "hardmax", "sum", "none"),
        "sigmoid": ("softmax", "hardmax", "sparsemax", "sum", "none"),
    }[at.paper.normalizer]
    need(at.way < len(others))
    return normalized(at.paper, others[at.way], at.scores)


@student("weights")
def sigmoid_for_softmax(at: Step) -> Any:
    return 1 / (1 + at.paper.base**-at.exponents)


@student("weights", "sum")
def divided_by_largest(at: Step) -> Any:
    largest = at.powers.max(axis=-1, keepdims=True)
    return largest if at.name.startswith("sum") else divided(at.powers, largest)


@student("weights")
def divided_by_others(at: Step) -> Any:
    e = at.powers
    others = [np.delete(e, j, axis=-1).sum(axis=-1) for j in range(e.shape[-1])]
    return divided(e, np.stack(others, axis=-1))


@student("weights", "sum")
def divided_by_length(at: Step) -> Any:
    """Way 0 takes the length of the powers, way 1 that of the exponents."""
    numbers = at.powers if at.way == 0 else at.finite_exponents
    length = np.linalg.norm(numbers, axis=-1, keepdims=True)
    if at.name.startswith("sum"):
        need(at.way == 0)
        return length
    return divided(numbers, length)


@student("weights", "sum")
def sum_in_the_exponent(at: Step) -> Any:
    total = at.paper.base ** at.finite_exponents.sum(axis=-1, keepdims=True)
    return total if at.name.startswith("sum") else at.powers / total


@student("exp")
def e_to_zero_is_zero(at: Step) -> Any:
    return np.where(at.exponents == 0, 0, at.made())


@student("weights", "exp")
def temperature_on_weights(at: Step) -> Any:
    is_exp = at.name.startswith("exp")
    return at.paper.base**at.scores if is_exp else at.made() / at.paper.temperature


# ---- two sentences that attend to each other


@student("aligned")
def weights_of_other_side(at: Step) -> Any:
    if at.name == "aligned_memory":
        weights, values = at.known["weights_x"], at.paper.keys["X"]
    else:
        weights = normalized(at.paper, "softmax", turned(at.scores))
        values = at.paper.keys["memory"]
    return (turned(weights) if at.way == 0 else weights) @ values
