"""More students of `students.py`: each does one thing wrong that replaces a whole step.

As there, nothing comes from the program. A student is a function that takes a paper, the step, the
numbers of earlier steps and what is done wrong, and returns other numbers for the step; None where
it is not the step in which that is done.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import TypeAlias

import numpy as np

from benchmarks.oracles.handwriting import Numbers
from benchmarks.oracles.students import RIGHT, ImpossibleError, Known, Paper, Wrong

Student: TypeAlias = Callable[[Paper, str, Known, Wrong], Numbers | None]

MORE: dict[str, Student] = {}
"""The students by what they do wrong."""


def student(work: Student) -> Student:
    """Put a student into the table."""
    MORE[work.__name__] = work
    return work


# ---- what some share


def scores_before(paper: Paper, name: str, known: Known) -> Numbers:
    """Return the scores that a step goes on from, turned round for the other side."""
    s = paper.chain(name, RIGHT, known)
    return np.swapaxes(s, 1, 2) if name.endswith("_memory") else s


def exponentials(paper: Paper, name: str, known: Known) -> Numbers:
    """Return the powers that a sum or weights are made from."""
    return known["exp" + name.removeprefix("weights").removeprefix("sum")]


def exponents(paper: Paper, name: str, known: Known) -> Numbers:
    """Return what e, or another base, is raised to."""
    return scores_before(paper, name, known) / paper.temperature


def divided(numbers: Numbers, by: Numbers) -> Numbers:
    """Return a quotient, 0 where the divisor is."""
    by = np.broadcast_to(by, numbers.shape)
    return np.divide(numbers, by, out=np.zeros(numbers.shape), where=by != 0)


def is_weights(paper: Paper, name: str) -> bool:
    """Whether a step is the weights of a softmax."""
    return name.startswith("weights") and paper.normalizer == "softmax"


def sigmoid(x: Numbers) -> Numbers:
    """1 / (1 + e^−x)."""
    found: Numbers = 1 / (1 + np.exp(-x))
    return found


def normalized(paper: Paper, normalizer: str, s: Numbers) -> Numbers:
    """Return weights of a normaliser, line by line."""
    lines = [line_of(normalizer, line, paper) for line in s.reshape(-1, s.shape[-1])]
    return np.array(lines).reshape(s.shape)


def line_of(normalizer: str, line: Numbers, paper: Paper) -> Numbers:
    """Return the weights of one query."""
    free = line > -np.inf
    found = np.zeros(len(line))
    if not free.any():
        return found
    s = line[free]
    if normalizer == "hardmax":
        found[int(np.argmax(line))] = 1
    elif normalizer == "softmax":
        powers = paper.base ** (s / paper.temperature)
        found[free] = powers / powers.sum()
    elif normalizer == "sigmoid":
        found[free] = 1 / (1 + np.exp(-s / paper.temperature))
    elif normalizer == "sparsemax":
        found[free] = sparsemax(s / paper.temperature)
    else:
        found[free] = s / s.sum() if normalizer == "sum" else s
    return found


def sparsemax(s: Numbers) -> Numbers:
    """Return max(s − τ, 0), with τ found by halving."""
    low, high = s.min() - 1, s.max()
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(s - middle, 0).sum() > 1 else (low, middle)
    found: Numbers = np.maximum(s - low, 0)
    return found


# ---- scale, cap and score functions


@student
def root_of_each_score(paper: Paper, name: str, known: Known, wrong: Wrong) -> Numbers | None:
    if name != "scaled":
        return None
    if "scale" in paper.keys:
        raise ImpossibleError
    s = scores_before(paper, name, known)
    found: Numbers = np.sqrt(s if wrong.way == 0 else s / paper.d_k)
    return found


@student
def sigmoid_for_tanh(paper: Paper, name: str, known: Known, wrong: Wrong) -> Numbers | None:
    if name == "capped":
        cap = float(paper.keys["softcap"])
        return cap * sigmoid(scores_before(paper, name, known) / cap)
    if name == "hidden" or (name == "output" and "output_activation" in paper.keys):
        return sigmoid(paper.made(name, known, Wrong("tanh_missing")))
    return None


@student
def cap_clipped(paper: Paper, name: str, known: Known, wrong: Wrong) -> Numbers | None:
    if name != "capped":
        return None
    cap, s = float(paper.keys["softcap"]), scores_before(paper, name, known)
    return np.where(s > cap, cap, np.where(s < -cap, -cap, s))


@student
def v_forgotten(paper: Paper, name: str, known: Known, wrong: Wrong) -> Numbers | None:
    if name != "scores" or "v" not in paper.score:
        return None
    found: Numbers = known["hidden"].sum(axis=-1)
    return found


@student
def w_and_u_exchanged(paper: Paper, name: str, known: Known, wrong: Wrong) -> Numbers | None:
    if name != "hidden" or "U" not in paper.score:
        return None
    other = copy(paper)
    other.score = paper.score | {"W": paper.score["U"], "U": paper.score["W"]}
    return other.made(name, known)


@student
def width_not_squared(paper: Paper, name: str, known: Known, wrong: Wrong) -> Numbers | None:
    if name != "scores" or paper.score["name"] != "distance":
        return None
    width = float(paper.score["width"])
    return paper.made(name, known) * width**2 / width


@student
def other_score_function(paper: Paper, name: str, known: Known, wrong: Wrong) -> Numbers | None:
    if name != "scores":
        return None
    right = paper.score["name"]
    others = {
        "dot": ("cosine", "distance"),
        "scaled_dot": ("cosine", "distance"),
        "cosine": ("distance",),
        "general": ("cosine", "distance"),
        "distance": ("dot", "cosine"),
    }.get(right, ("dot", "cosine", "distance"))
    if wrong.way >= len(others):
        raise ImpossibleError
    q, k = paper.sides(known)
    used = others[wrong.way]
    if q.shape[-1] != k.shape[-1]:
        raise ImpossibleError
    if used == "distance":
        over = 2 * float(paper.score.get("width", 1)) ** 2
        far = [[[-((a - b) ** 2).sum() / over for b in y] for a in x] for x, y in zip_heads(q, k)]
        return np.array(far)
    made: Numbers = q @ np.swapaxes(k, 1, 2)
    if used == "cosine":
        lengths = [np.linalg.norm(side, axis=-1) for side in (q, k)]
        made = made / lengths[0][:, :, None] / lengths[1][:, None, :]
    return made


def zip_heads(q: Numbers, k: Numbers) -> list[tuple[Numbers, Numbers]]:
    """Return the queries and keys of each head."""
    return list(zip(q, k, strict=True))


# ---- what is compared


@student
def queries_with_queries(paper: Paper, name: str, known: Known, wrong: Wrong) -> Numbers | None:
    return compared(paper, name, lambda: (known["Q"], known["Q"]), paper.n == paper.m)


@student
def keys_with_keys(paper: Paper, name: str, known: Known, wrong: Wrong) -> Numbers | None:
    def keys() -> tuple[Numbers, Numbers]:
        k = paper.shared(known["K"], RIGHT)
        return k, k

    return compared(paper, name, keys, paper.n == paper.m)


@student
def inputs_with_inputs(paper: Paper, name: str, known: Known, wrong: Wrong) -> Numbers | None:
    def inputs() -> tuple[Numbers, Numbers]:
        found = []
        for a in (paper.keys["X"], paper.keys.get("memory", paper.keys["X"])):
            width = a.shape[-1] // paper.heads
            pieces = [a[:, h * width : (h + 1) * width] for h in range(paper.heads)]
            found.append(np.array(pieces if wrong.way == 0 else [a] * paper.heads))
        return found[0], found[1]

    return compared(paper, name, inputs, True)


def compared(
    paper: Paper, name: str, sides: Callable[[], tuple[Numbers, Numbers]], is_possible: bool
) -> Numbers | None:
    """Return scores, or the hidden layer, of other matrices than queries and keys."""
    begins = "hidden" if "v" in paper.score else "scores"
    if name != begins or paper.kind not in ("self", "cross"):
        return None
    if not is_possible:
        raise ImpossibleError
    other = copy(paper)
    other.kv_heads = paper.heads
    q, k = sides()
    return other.made(name, {"Q": q, "K": k})


@student
def all_weight_matrices_transposed(
    paper: Paper, name: str, known: Known, wrong: Wrong
) -> Numbers | None:
    is_product = name in ("Q", "K", "V") or (
        name == "output" and "W_o" in paper.keys and wrong.way == 0
    )
    return paper.made(name, known, Wrong("weights_matrix_transposed")) if is_product else None


# ---- masks


def bounds(paper: Paper, name: str) -> int | None:
    """Return how many keys are real, if a step is masked by that."""
    mask = paper.keys.get("mask")
    if name != "masked" or not isinstance(mask, dict) or "lengths" not in mask:
        return None
    return int(mask["lengths"])


@student
def mask_added(paper: Paper, name: str, known: Known, wrong: Wrong) -> Numbers | None:
    return scores_before(paper, name, known) + paper.keep if name == "masked" else None


@student
def mask_as_minus_one(paper: Paper, name: str, known: Known, wrong: Wrong) -> Numbers | None:
    if name != "masked":
        return None
    return np.where(paper.keep == 0, -1.0, scores_before(paper, name, known))


@student
def mask_part_forgotten(paper: Paper, name: str, known: Known, wrong: Wrong) -> Numbers | None:
    """Way 0 forgets the window, way 1 that the mask is causal."""
    if name != "masked":
        return None
    places = [(i, j) for i in range(paper.n) for j in range(paper.m)]
    kept = [j <= i if wrong.way == 0 else i - 1 <= j <= i + 2 for i, j in places]
    keep = np.array(kept).reshape(paper.n, paper.m)
    if keep.all():  # nothing is left of the mask
        raise ImpossibleError
    return np.where(keep, scores_before(paper, name, known), -np.inf)


@student
def mask_counted_from_0(paper: Paper, name: str, known: Known, wrong: Wrong) -> Numbers | None:
    return _masked_by(paper.counted_from_0(), paper, name, known)


@student
def mask_and_or(paper: Paper, name: str, known: Known, wrong: Wrong) -> Numbers | None:
    """Asks for one part of a condition, of which both are needed."""
    if "when" not in paper.keys["mask"]:
        raise ImpossibleError
    kept = [j < 2 or j <= i for i in range(paper.n) for j in range(paper.m)]
    return _masked_by(np.array(kept).reshape(paper.n, paper.m), paper, name, known)


def _masked_by(keep: Numbers, paper: Paper, name: str, known: Known) -> Numbers | None:
    if name != "masked":
        return None
    if np.array_equal(keep, paper.keep != 0) or keep.all():
        raise ImpossibleError
    return np.where(keep, scores_before(paper, name, known), -np.inf)


@student
def padding_at_wrong_end(paper: Paper, name: str, known: Known, wrong: Wrong) -> Numbers | None:
    if (real := bounds(paper, name)) is None:
        return None
    s = scores_before(paper, name, known).copy()
    s[..., : paper.m - real] = -np.inf
    return s


@student
def wrong_key_blocked(paper: Paper, name: str, known: Known, wrong: Wrong) -> Numbers | None:
    if (real := bounds(paper, name)) is None:
        return None
    if wrong.way >= real:
        raise ImpossibleError
    s = scores_before(paper, name, known).copy()
    s[..., real + 1 :] = -np.inf
    s[..., wrong.way] = -np.inf
    return s


@student
def padded_queries_blocked(paper: Paper, name: str, known: Known, wrong: Wrong) -> Numbers | None:
    if name not in ("masked", "weights"):
        return None
    if (real := bounds(paper, "masked")) is None or paper.kind != "self":
        raise ImpossibleError
    is_real = np.arange(paper.n)[:, None] < real
    return np.where(is_real, paper.made(name, known), -np.inf if name == "masked" else 0)


# ---- normalisers


@student
def other_normalizer(paper: Paper, name: str, known: Known, wrong: Wrong) -> Numbers | None:
    if not name.startswith("weights"):
        return None
    others = {
        "softmax": ("hardmax", "sparsemax", "none"),
        "hardmax": ("softmax", "sparsemax", "sum", "none"),
        "sparsemax": ("softmax", "hardmax", "sum", "none"),
        "sigmoid": ("softmax", "hardmax", "sparsemax", "sum", "none"),
    }[paper.normalizer]
    if wrong.way >= len(others):
        raise ImpossibleError
    return normalized(paper, others[wrong.way], scores_before(paper, name, known))


@student
def sigmoid_for_softmax(paper: Paper, name: str, known: Known, wrong: Wrong) -> Numbers | None:
    if not is_weights(paper, name):
        return None
    found: Numbers = 1 / (1 + paper.base ** -exponents(paper, name, known))
    return found


@student
def divided_by_largest(paper: Paper, name: str, known: Known, wrong: Wrong) -> Numbers | None:
    if not is_weights(paper, name) and not name.startswith("sum"):
        return None
    e = exponentials(paper, name, known)
    largest: Numbers = e.max(axis=-1, keepdims=True)
    return largest if name.startswith("sum") else divided(e, largest)


@student
def divided_by_others(paper: Paper, name: str, known: Known, wrong: Wrong) -> Numbers | None:
    if not is_weights(paper, name):
        return None
    e = exponentials(paper, name, known)
    others = [np.delete(e, j, axis=-1).sum(axis=-1) for j in range(e.shape[-1])]
    return divided(e, np.stack(others, axis=-1))


@student
def divided_by_length(paper: Paper, name: str, known: Known, wrong: Wrong) -> Numbers | None:
    if name.startswith("sum") and wrong.way == 0:
        length: Numbers = np.linalg.norm(exponentials(paper, name, known), axis=-1, keepdims=True)
        return length
    if not is_weights(paper, name):
        return None
    if wrong.way == 0:
        numbers = exponentials(paper, name, known)
    else:
        x = exponents(paper, name, known)
        numbers = np.where(x == -np.inf, 0, x)
    return divided(numbers, np.linalg.norm(numbers, axis=-1, keepdims=True))


@student
def sum_in_the_exponent(paper: Paper, name: str, known: Known, wrong: Wrong) -> Numbers | None:
    if not name.startswith("sum") and not is_weights(paper, name):
        return None
    x = exponents(paper, name, known)
    total: Numbers = paper.base ** np.where(x == -np.inf, 0, x).sum(axis=-1, keepdims=True)
    return total if name.startswith("sum") else exponentials(paper, name, known) / total


@student
def e_to_zero_is_zero(paper: Paper, name: str, known: Known, wrong: Wrong) -> Numbers | None:
    if not name.startswith("exp"):
        return None
    return np.where(exponents(paper, name, known) == 0, 0, paper.made(name, known))


@student
def temperature_on_weights(paper: Paper, name: str, known: Known, wrong: Wrong) -> Numbers | None:
    if name == "exp":
        found: Numbers = paper.base ** scores_before(paper, name, known)
        return found
    return paper.made(name, known) / paper.temperature if name == "weights" else None


# ---- two sentences that attend to each other


@student
def weights_of_other_side(paper: Paper, name: str, known: Known, wrong: Wrong) -> Numbers | None:
    if not name.startswith("aligned"):
        return None
    if name == "aligned_memory":
        weights, values = known["weights_x"], paper.keys["X"]
    else:
        s = scores_before(paper, "exp_memory", known)
        weights, values = normalized(paper, "softmax", s), paper.keys["memory"]
    found: Numbers = (np.swapaxes(weights, 1, 2) if wrong.way == 0 else weights) @ values
    return found
