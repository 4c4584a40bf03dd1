"""Mistakes of method in attention: what a student finds in a step who does one thing wrong there.

Most of them are the oracle again, with other keys, other numbers of an earlier step or another
function; `BY_STEPS` has each under the steps where it is made. Nothing here comes from the program.
Arrays have the axes (head, row, column[, hidden]).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from types import MappingProxyType
from typing import Any

import numpy as np

from benchmarks.oracles.workings import Finds, UnworkableError, Working, base, need
from tests.oracles.pens import Numbers

EMPTY: Mapping[str, Any] = MappingProxyType({})

CHAIN = ("scores", "scaled", "capped", "biased", "masked")
"""The steps before the weights, of which each goes on from the one before it."""


@dataclass(frozen=True)
class Wrong:
    """One thing that is done wrong.

    Attributes:
        id: which.
        at: in which step.
        way: which of several ways.
        head: in this head alone.
    """

    id: str = ""
    at: str = ""
    way: int = 0
    head: int | None = None

    def is_done_in(self, step: str) -> bool:
        return step == self.at or step in together(self)


def turned(numbers: Numbers) -> Numbers:
    """Return a matrix, or that of every head, transposed."""
    return np.swapaxes(numbers, -1, -2)


def cut(numbers: Numbers, heads: int) -> Numbers:
    """Return the columns of each head."""
    return np.stack(np.split(numbers, heads, axis=-1))


def beside(heads: Numbers) -> Numbers:
    """Return heads side by side."""
    return np.concatenate(heads, axis=-1)[None]


def summed(numbers: Numbers) -> Numbers:
    return np.asarray(numbers.sum(axis=-1, keepdims=True))


def divided(numbers: Numbers, by: Numbers) -> Numbers:
    """Return a quotient, 0 where the divisor is."""
    by = np.broadcast_to(by, numbers.shape)
    return np.divide(numbers, by, out=np.zeros(numbers.shape), where=by != 0)


@dataclass(frozen=True)
class At:
    """The step in which a student does something else.

    Attributes:
        working: the problem.
        name: the step.
        right: its right numbers.
        used: those of the steps before it.
        way: which of several ways.
    """

    working: Working
    name: str
    right: Numbers
    used: Mapping[str, Numbers]
    way: int

    # -- the problem

    @cached_property
    def keys(self) -> dict[str, Any]:
        """The keys, with arrays; the parts of a score function are keys like `score.W`."""
        keys = dict(self.working.keys)
        score = keys.get("score", "dot" if self.working.kind == "pooling" else "scaled_dot")
        score = score if isinstance(score, dict) else {"name": score}
        keys |= {f"score.{part}": value for part, value in score.items()}
        return {key: np.array(x, float) if isinstance(x, list) else x for key, x in keys.items()}

    @property
    def heads(self) -> int:
        return int(self.keys.get("heads", 1))

    @property
    def temperature(self) -> float:
        return float(self.keys.get("normalize", {}).get("temperature", 1))

    @property
    def base(self) -> float:
        """What is raised to the scores."""
        need(self.working.normalizer == "softmax")
        return float(self.keys.get("normalize", {}).get("base", np.e))

    @property
    def side(self) -> str:
        """The end of the step's name, where two sides attend to each other."""
        return "".join(end for end in ("_x", "_memory") if self.name.endswith(end))

    # -- what it is made from

    @property
    def q(self) -> Numbers:
        """The queries of every head."""
        if self.working.kind == "pooling":
            return np.reshape(self.keys["u"], (1, 1, -1))
        return self.keys["X"][None] if self.working.kind == "co_attention" else self.used["Q"]

    @property
    def k(self) -> Numbers:
        """The keys that each head reads."""
        if self.working.kind == "pooling":
            return self.used["hidden"] if "hidden" in self.used else self.keys["X"][None]
        return (
            self.keys["memory"][None] if self.working.kind == "co_attention" else self.shared("K")
        )

    def shared(self, name: str, is_in_turn: bool = False) -> Numbers:
        """Return K or V of the key/value head that each head reads, or takes in turn."""
        numbers, heads = self.used[name], np.arange(self.heads)
        per_head = self.heads // len(numbers)
        return numbers[heads % len(numbers) if is_in_turn else heads // per_head]

    @property
    def d_k(self) -> int:
        return int(self.k.shape[-1])

    def earlier(self, by: int = 1, until: str = "") -> str:
        """Return the name of the step of scores that is so many before this one, or another."""
        chain = [step for step in CHAIN if step in self.used]
        chain = chain[: chain.index(until)] if until else chain
        need(len(chain) >= by)
        return chain[-by]

    @property
    def before(self) -> Numbers:
        """The scores that the step goes on from, transposed for the other side."""
        numbers = self.used[self.earlier()]
        return turned(numbers) if self.side == "_memory" else numbers

    @property
    def exponents(self) -> Numbers:
        """What the base is raised to, with 0 for −∞."""
        need(self.working.normalizer == "softmax")
        return np.where(np.isneginf(self.before), 0, self.before / self.temperature)

    @property
    def exp(self) -> Numbers:
        return self.used[f"exp{self.side}"]

    @property
    def weights(self) -> Numbers:
        """The weights, where the step is what they mix."""
        need(self.name != "output" or "context" not in self.used)
        return self.used[f"weights{self.side}"]

    @property
    def is_blocked(self) -> Numbers:
        return np.isneginf(self.right)

    # -- what becomes of it

    def again(
        self,
        keys: Mapping[str, Any] = EMPTY,
        used: Mapping[str, Numbers] = EMPTY,
        tanh: Callable[[float], float] | None = None,
    ) -> Numbers:
        """Return the step with other keys, another function, or other numbers of earlier steps."""
        new = dict(self.working.keys)
        for key, value in keys.items():
            plain = value.tolist() if isinstance(value, np.ndarray) else value
            if key.startswith("score."):
                new["score"] = new["score"] | {key.removeprefix("score."): plain}
            else:
                new[key] = plain
        working = replace(self.working, keys=new)
        return working.step(self.name, {**self.used, **used}, tanh=tanh)

    def with_part(self, part: str, change: Callable[[Any], Any]) -> Numbers:
        """Return the step with a changed key, if the problem has that."""
        return self.again({part: change(self.keys[part])})

    def compared(self, q: Numbers, k: Numbers) -> Numbers:
        """Return scores, or the hidden layer, of other queries and keys."""
        need(
            (self.name == "hidden") == ("score.v" in self.keys)
            and self.working.kind in ("self", "cross")
        )
        return self.again(used={"Q": q, "K": k})

    def with_weights(self, weights: Numbers) -> Numbers:
        need(self.weights.shape == weights.shape)
        return self.again(used={f"weights{self.side}": weights})

    def with_values(self, values: Numbers) -> Numbers:
        return np.asarray(self.weights @ values)

    def with_mask(self, mask: Any) -> Numbers:
        """Return the scores with another mask, which must block others."""
        found = self.again({"mask": mask, "is_masked": True})
        need(not np.array_equal(found, self.right))
        return found

    def mask(self, part: str) -> Any:
        """Return a part of the mask, which must have it."""
        mask = self.working.keys["mask"]
        need(isinstance(mask, dict) and part in mask)
        return mask[part]

    @property
    def is_padding(self) -> Numbers:
        return np.asarray(np.arange(self.right.shape[-1]) >= self.mask("lengths"))

    @property
    def weight(self) -> str:
        """The key of the matrix that the step is multiplied by."""
        if self.name == "hidden":
            return "W" if self.working.kind == "pooling" else ("score.W", "score.U")[self.way % 2]
        names = {"Q": "W_q", "K": "W_k", "V": "W_v", "output": "W_o", "scores": "score.W"}
        return names[self.name]

    @property
    def bias(self) -> str:
        """The key of what is added to the step."""
        if self.name == "hidden":
            return "b" if self.working.kind == "pooling" else "score.b"
        return {"Q": "b_q", "K": "b_k", "V": "b_v", "output": "b_o", "biased": "bias"}[self.name]

    def multiplied(self, by: Callable[[Numbers, Numbers], Numbers]) -> Numbers:
        """Return the step with something else than the product of its two factors."""
        keys = self.keys
        if self.name in ("Q", "K", "V"):
            source = keys["memory" if self.working.kind == "cross" and self.name != "Q" else "X"]
            made = by(source, keys[self.weight]) + keys.get(self.bias, 0)
            return cut(made, len(self.right))
        if self.name == "scores":
            need(keys["score.name"] in ("dot", "scaled_dot"))
            return by(self.q, turned(self.k))
        if self.name == "output" and "W_o" in keys:
            joined = self.used["concat" if "concat" in self.used else "context"]
            return np.asarray(by(joined, keys["W_o"]) + keys.get("b_o", 0))
        values = keys["X"][None] if self.working.kind == "pooling" else self.shared("V")
        return by(self.weights, values)


def wrong_weight_matrix(at: At) -> Numbers:
    others = [key for key in ("W_q", "W_k", "W_v") if key != at.weight]
    return at.again({at.weight: at.keys[others[at.way % 2]]})


def bias_multiplied(at: At) -> Numbers:
    """(X W) · b is X times W whose columns are multiplied by b."""
    bias = at.keys[at.bias]
    if at.name == "biased":
        return np.asarray(at.before * bias)
    parts = ("score.W", "score.U") if "score.U" in at.keys else (at.weight,)
    by = bias[:, None] if at.name == "hidden" else bias
    return at.again({part: at.keys[part] * by for part in parts} | {at.bias: 0 * bias})


# ---- heads


def without_cutting(at: At) -> Numbers:
    """Return Q, K or V of all heads together."""
    return np.asarray(at.again({"heads": 1, "kv_heads": 1})[0])


def heads_reshaped(at: At) -> Numbers:
    """Cut the heads, or put them together, in the order of the memory."""
    made = without_cutting(at) if at.name in ("Q", "K", "V") else at.used["context"]
    return at.right if is_after_joining(at) else made.reshape(at.right.shape)


def heads_interleaved(at: At) -> Numbers:
    if at.name in ("Q", "K", "V"):
        made, heads = without_cutting(at), len(at.right)
        return np.stack([made[:, h::heads] for h in range(heads)])
    joined = np.moveaxis(at.used["context"], 0, -1)
    return at.right if is_after_joining(at) else joined.reshape(at.right.shape)


def taken_in_turns(numbers: Numbers) -> Numbers:
    """Return heads of every so-manieth feature of them side by side."""
    whole = np.concatenate([*numbers], axis=-1)
    return np.stack([whole[:, head :: len(numbers)] for head in range(len(numbers))])


def is_after_joining(at: At) -> bool:
    return at.name == "output" and "concat" in at.used


def head_missing(at: At) -> Numbers:
    """Leave out one head where they are put together, or what W_o multiplies."""
    is_lost = np.arange(at.heads) == at.way % at.heads
    if is_after_joining(at):
        width = at.used["concat"].shape[-1] // at.heads
        kept = np.where(np.repeat(is_lost, width), 0, at.used["concat"])
        return at.again(used={"concat": kept})
    return beside(np.where(is_lost[:, None, None], 0, at.used["context"]))


# ---- scores


def other_score_function(at: At) -> Numbers:
    others = {
        "dot": ("cosine", "distance"),
        "scaled_dot": ("cosine", "distance"),
        "cosine": ("distance",),
        "general": ("cosine", "distance"),
        "distance": ("dot", "cosine"),
    }.get(at.keys["score.name"], ("dot", "cosine", "distance"))
    need(at.way < len(others) and at.q.shape[-1] == at.k.shape[-1])
    return at.again({"score": {"name": others[at.way], "width": at.keys.get("score.width", 1)}})


def over_lengths(at: At, power_of_q: int, power_of_k: int) -> Numbers:
    """Return the dot products over powers of the lengths of both vectors."""
    need(at.keys["score.name"] == "cosine")
    of_q, of_k = (np.linalg.norm(side, axis=-1) for side in (at.q, at.k))
    over = of_q[:, :, None] ** power_of_q * of_k[:, None, :] ** power_of_k
    return np.asarray(at.q @ turned(at.k) / over)


def width_of(at: At) -> float:
    need(at.keys["score.name"] == "distance")
    return float(at.keys["score.width"])


def distance_not_squared(at: At) -> Numbers:
    over = 2 * width_of(at) ** 2
    return np.asarray(-np.sqrt(-at.right * over) / over)


def inputs_with_inputs(at: At) -> Numbers:
    """Compare the inputs, cut into heads or whole."""
    inputs = at.keys["X"], at.keys.get("memory", at.keys["X"])
    whole = at.way == 1
    return at.compared(*(np.stack([x] * at.heads) if whole else cut(x, at.heads) for x in inputs))


def root(at: At) -> float:
    """By what scores are divided."""
    return 1 / float(at.keys.get("scale", at.d_k**-0.5))


def width_of_model(at: At) -> int:
    """What may be called d_model: the width of the input, or of all heads together."""
    sizes = [at.d_k * at.heads]
    if at.working.kind != "pooling" and at.keys["X"].shape[-1] != sizes[0]:
        sizes.insert(0, at.keys["X"].shape[-1])
    return int(sizes[at.way % len(sizes)])


def earlier_step_used(at: At) -> Numbers:
    return at.again(used={at.earlier(): at.used[at.earlier(2 + at.way)]})


# ---- masks


def mask_off_by_one(at: At) -> Numbers:
    mask, by = at.working.keys["mask"], (1, -1)[at.way % 2]
    if isinstance(mask, list):
        need(np.array_equal(mask, np.tril(np.ones(np.shape(mask)))))
        mask = "causal"
    if isinstance(mask, str):
        return at.with_mask({"causal": True, "offset": by})
    if "window" in mask:
        left, right, later = np.eye(3, dtype=int)[at.way // 2] * by
        near = f"i - {mask['window'][0] + left} <= j <= i + {mask['window'][1] + right}"
        return at.with_mask({"when": near + f" and j <= i + {later}" * ("causal" in mask)})
    return at.with_mask({"lengths": mask["lengths"] + by}) if "lengths" in mask else from_0(at)


def from_0(at: At) -> Numbers:
    """Ask the condition of positions that are counted from 0."""
    return at.with_mask({"when": re.sub(r"\b([ij])\b", r"(\1 - 1)", at.mask("when"))})


def mask_transposed(at: At) -> Numbers:
    if isinstance(at.working.keys["mask"], str):
        return at.with_mask({"when": "j >= i"})
    return at.with_mask((~at.is_blocked[0]).T.astype(int).tolist())


def mask_part_forgotten(at: At) -> Numbers:
    """Forget the window, or that the mask is causal; or a part of a condition."""
    if "when" in at.working.keys["mask"]:
        return at.with_mask({"when": at.mask("when").split(" and ")[at.way % 2]})
    window = at.mask("window")
    return at.with_mask("causal" if at.way == 0 else {"window": window})


def wrong_key_blocked(at: At) -> Numbers:
    real, keys = at.mask("lengths"), np.arange(at.right.shape[-1])
    need(at.way < real)
    return np.where((keys > real) | (keys == at.way), -np.inf, at.before)


def padded_queries_blocked(at: At) -> Numbers:
    need(at.working.kind == "self")
    return np.where(at.is_padding[:, None], -np.inf if at.name == "masked" else 0, at.right)


def mask_after_softmax(at: At) -> Numbers:
    kept = ~np.isneginf(at.working.exact["masked"])
    return at.before if at.name == "masked" else np.asarray(at.right * kept)


# ---- normalisers


def raised(at: At, of: float, temperature: float) -> Numbers:
    """Return powers of another base, or with another temperature."""
    return np.asarray(of ** (at.before / temperature))


def over_total(at: At, total: Numbers) -> Numbers:
    """Return another sum, or the weights that are divided by it."""
    return total if at.name.startswith("sum") else divided(at.exp, total)


def softmax_over_queries(at: At) -> Numbers:
    total = at.exp.sum(axis=-2, keepdims=True)
    return turned(total) if at.name.startswith("sum") else divided(at.exp, total)


def softmax_over_all(at: At) -> Numbers:
    total = at.exp.sum(axis=(-1, -2), keepdims=True)
    return over_total(at, np.repeat(total, at.exp.shape[-2], axis=-2))


def divided_by_length(at: At) -> Numbers:
    """Divide by the length of the powers, or the exponents by theirs."""
    numbers = at.exp if at.way == 0 else at.exponents
    need(at.way == 0 or not at.name.startswith("sum"))
    length = np.linalg.norm(numbers, axis=-1, keepdims=True)
    return length if at.name.startswith("sum") else divided(numbers, length)


def softmax_twice(at: At) -> Numbers:
    again = np.exp(at.right) if at.way == 0 else at.base ** (at.right / at.temperature)
    return np.asarray(again / summed(again))


def not_exponentiated(at: At) -> Numbers:
    is_weights = at.name.startswith("weights")
    return divided(at.exponents, summed(at.exponents)) if is_weights else at.exponents


def other_normalizer(at: At) -> Numbers:
    own, several = at.working.normalizer, ("softmax", "hardmax", "sparsemax", "sum", "none")
    others = [name for name in several if name not in (own, "sum" * (own == "softmax"))]
    need(at.way < len(others))
    if others[at.way] == "none":
        return np.where(np.isneginf(at.before), 0, at.before)
    return at.again({"normalize": at.keys.get("normalize", {}) | {"name": others[at.way]}})


# ---- values


def input_instead_of_values(at: At) -> Numbers:
    sources = [key for key in ("X", "memory") if key in at.keys]
    return at.with_values(cut(at.keys[sources[at.way % len(sources)]], at.heads))


def weights_of_other_side(at: At) -> Numbers:
    if at.name == "aligned_memory":
        weights, values = at.used["weights_x"], at.keys["X"]
    else:
        powers = at.base ** (turned(at.used[at.earlier()]) / at.temperature)
        weights, values = powers / summed(powers), at.keys["memory"]
    return np.asarray((turned(weights) if at.way == 0 else weights) @ values)


MULTIPLIED = "Q K V hidden scores output"
JOINED = "concat output"
MIXED = "output context aligned"

BY_STEPS: dict[str, dict[str, Callable[[At], Any]]] = {
    MULTIPLIED: {
        "weights_matrix_transposed": lambda at: at.with_part(at.weight, turned),
        "projection_missing": lambda at: at.with_part(at.weight, lambda w: np.eye(len(w))),
        "factors_exchanged": lambda at: at.multiplied(lambda a, b: b @ a),
        "elementwise_product": lambda at: at.multiplied(
            lambda a, b: a * (turned(b) if at.name == "scores" and at.way == 0 else b)
        ),
        "bias_missing": lambda at: at.with_part(at.bias, lambda b: 0 * b),
    },
    "scores": {
        "key_not_transposed": lambda at: at.multiplied(lambda q, k: q @ turned(k)),
        "swapped_k_v": lambda at: at.compared(at.q, at.shared("V")),
        "swapped_q_v": lambda at: at.compared(at.shared("V"), at.k),
        "scores_transposed": lambda at: turned(at.right),
        "scaled_needlessly": lambda at: at.right / np.sqrt(at.d_k),
        "other_score_function": other_score_function,
        "lengths_forgotten": lambda at: over_lengths(at, 0, 0),
        "root_forgotten": lambda at: over_lengths(at, 2, 2),
        "one_length_forgotten": lambda at: over_lengths(at, 1 - at.way, at.way),
        "sign_of_distance": lambda at: -at.right,
        "half_forgotten": lambda at: at.right * 2 * width_of(at) ** (0 if at.way == 0 else 2),
        "distance_not_squared": distance_not_squared,
        "width_not_squared": lambda at: at.right * width_of(at),
        "v_forgotten": lambda at: at.used["hidden"].sum(axis=-1),
    },
    "Q K V": {
        "all_weight_matrices_transposed": lambda at: at.with_part(at.weight, turned),
        "wrong_weight_matrix": wrong_weight_matrix,
        "wrong_source": lambda at: at.again({"X": at.keys["memory"], "memory": at.keys["X"]}),
    },
    "output": {
        "w_o_missing": lambda at: at.multiplied(lambda joined, _: joined),
        "input_added": lambda at: at.right + at.keys["X"].reshape(at.right.shape),
    },
    f"{MULTIPLIED} biased": {
        "bias_subtracted": lambda at: at.with_part(at.bias, np.negative),
        "bias_multiplied": bias_multiplied,
    },
    "biased": {
        "bias_missing": lambda at: at.before,
        "bias_transposed": lambda at: at.with_part(at.bias, turned),
    },
    "Q": {
        "swapped_q_k": lambda at: at.working.exact["K"],
        "swapped_q_v": lambda at: at.working.exact["V"],
    },
    "K": {
        "swapped_q_k": lambda at: at.working.exact["Q"],
        "swapped_k_v": lambda at: at.working.exact["V"],
    },
    "scores hidden": {
        "swapped_q_k": lambda at: at.compared(at.k, at.q),
        "shared_heads_alternate": lambda at: at.again(used={"K": at.shared("K", True)}),
        "heads_interleaved": lambda at: at.again(
            used={name: taken_in_turns(at.used[name]) for name in "QK"}
        ),
        "queries_with_queries": lambda at: at.compared(at.q, at.q),
        "keys_with_keys": lambda at: at.compared(at.k, at.k),
        "inputs_with_inputs": inputs_with_inputs,
    },
    "V": {
        "swapped_k_v": lambda at: at.working.exact["K"],
        "swapped_q_v": lambda at: at.working.exact["Q"],
    },
    f"Q K V {JOINED}": {"heads_reshaped": heads_reshaped, "heads_interleaved": heads_interleaved},
    JOINED: {
        "heads_summed": lambda at: at.used["context"].sum(axis=0, keepdims=True),
        "heads_averaged": lambda at: at.used["context"].mean(axis=0, keepdims=True),
        "heads_in_wrong_order": lambda at: beside(at.used["context"][::-1]),
        "head_missing": head_missing,
    },
    MIXED: {
        "shared_heads_alternate": lambda at: at.with_values(at.shared("V", True)),
        "heads_interleaved": lambda at: at.with_values(taken_in_turns(at.used["V"])),
        "not_normalized": lambda at: at.with_weights(at.exp),
        "attention_transposed": lambda at: at.with_weights(turned(at.weights)),
        "scores_as_weights": lambda at: at.with_weights(at.exponents),
        "equal_weights": lambda at: at.with_weights(
            np.full(at.weights.shape, 1 / at.weights.shape[-1])
        ),
        "input_instead_of_values": input_instead_of_values,
    },
    "hidden capped output": {
        "tanh_missing": lambda at: at.again(tanh=float),
        "sigmoid_for_tanh": lambda at: at.again(tanh=lambda x: 1 / (1 + np.exp(-x))),
    },
    "capped": {
        "cap_not_restored": lambda at: at.right / at.keys["softcap"],
        "cap_clipped": lambda at: np.clip(at.before, -at.keys["softcap"], at.keys["softcap"]),
    },
    "hidden": {
        "w_and_u_exchanged": lambda at: at.again(
            {"score.W": at.keys["score.U"], "score.U": at.keys["score.W"]}
        ),
        "joined_in_wrong_order": lambda at: at.compared(at.k, at.q).swapaxes(1, 2),
    },
    "scaled": {
        "not_scaled": lambda at: at.before,
        "scaled_by_d_k": lambda at: at.before / at.d_k,
        "scaled_by_sqrt_d_model": lambda at: at.before / np.sqrt(width_of_model(at)),
        "scaled_by_sqrt_n": lambda at: at.before / np.sqrt(at.before.shape[2 - at.way % 2]),
        "scaled_twice": lambda at: at.before / root(at) ** 2,
        "scale_inverted": lambda at: at.before * root(at),
        "scaled_after_softmax": lambda at: at.before,
        "root_of_each_score": lambda at: np.sqrt(at.before / (1, at.d_k)[at.way]),
    },
    "weights": {
        "scaled_after_softmax": lambda at: at.right / np.sqrt(at.d_k),
        "temperature_on_weights": lambda at: at.right / at.temperature,
        "divided_by_others": lambda at: divided(at.exp, summed(at.exp) - at.exp),
        "not_normalized": lambda at: at.exp,
        "softmax_twice": softmax_twice,
        "other_normalizer": other_normalizer,
        "sigmoid_for_softmax": lambda at: 1 / (1 + at.base ** -(at.before / at.temperature)),
        "attention_transposed": lambda at: turned(at.right),
    },
    "scaled capped biased masked exp weights": {"earlier_step_used": earlier_step_used},
    "masked": {
        "mask_missing": lambda at: at.before,
        "mask_as_zero": lambda at: np.where(at.is_blocked, 0, at.before),
        "mask_as_minus_one": lambda at: np.where(at.is_blocked, -1, at.before),
        "mask_added": lambda at: at.before + ~at.is_blocked,
        "mask_inverted": lambda at: np.where(at.is_blocked, at.before, -np.inf),
        "mask_transposed": mask_transposed,
        "mask_off_by_one": mask_off_by_one,
        "mask_part_forgotten": mask_part_forgotten,
        "mask_counted_from_0": from_0,
        "mask_and_or": lambda at: at.with_mask({"when": at.mask("when").replace("and", "or")}),
        "padding_at_wrong_end": lambda at: np.where(at.is_padding[::-1], -np.inf, at.before),
        "wrong_key_blocked": wrong_key_blocked,
    },
    "masked weights": {
        "mask_after_softmax": mask_after_softmax,
        "padded_queries_blocked": padded_queries_blocked,
    },
    "exp": {
        "temperature_missing": lambda at: raised(at, at.base, 1),
        "temperature_inverted": lambda at: raised(at, at.base, 1 / at.temperature),
        "temperature_on_weights": lambda at: raised(at, at.base, 1),
        "wrong_base": lambda at: raised(
            at, [b for b in (2.0, 10.0, np.e) if b != at.base][at.way % 2], at.temperature
        ),
        "exponent_sign": lambda at: at.base**-at.exponents * ~np.isneginf(at.before),
        "mask_invented": lambda at: np.tril(at.right),
        "e_to_zero_is_zero": lambda at: np.where(at.before == 0, 0, at.right),
    },
    "exp weights": {"not_exponentiated": not_exponentiated},
    "sum": {
        "blocked_counted": lambda at: summed(
            at.base ** (at.used[at.earlier(until="masked")] / at.temperature)
        ),
        "sink_missing": lambda at: summed(at.exp),
    },
    "sum weights": {
        "softmax_over_queries": softmax_over_queries,
        "softmax_over_all": softmax_over_all,
        "divided_by_largest": lambda at: over_total(at, at.exp.max(-1, keepdims=True)),
        "divided_by_length": divided_by_length,
        "sum_in_the_exponent": lambda at: over_total(at, at.base ** summed(at.exponents)),
    },
    "output context": {
        "keys_instead_of_values": lambda at: at.with_values(at.k),
        "queries_instead_of_values": lambda at: at.with_values(at.used["Q"]),
    },
    "aligned": {"weights_of_other_side": weights_of_other_side},
}
"""What becomes of some steps, by the mistake; of any step, see `found`."""

METHODS = {
    (id_, step): make
    for steps, several in BY_STEPS.items()
    for step, (id_, make) in product(steps.split(), several.items())
}

SIDES = ("weights", "weights_x", "weights_memory")
TOGETHER: dict[str, tuple[str, ...]] = {
    "temperature_on_weights": ("exp", "weights"),
    "all_weight_matrices_transposed": ("Q", "K", "V", "output"),
    "mask_after_softmax": ("masked", *SIDES),
    "scaled_after_softmax": ("scaled", *SIDES),
    "swapped_q_k": ("Q", "K"),
    "swapped_k_v": ("K", "V"),
    "swapped_q_v": ("Q", "V"),
}
"""What is done in several steps at once."""

OF_HEADS = ("Q", "K", "V"), ("Q", "K", "V", "concat", "output")


def together(wrong: Wrong) -> tuple[str, ...]:
    """Return the steps in which something is done that is done in several at once."""
    if wrong.at == "scores":
        return ()
    if wrong.id in ("heads_interleaved", "heads_reshaped") and wrong.way in (1, 2):
        return OF_HEADS[wrong.way - 1]
    return TOGETHER.get(wrong.id, ())


def found_by(working: Working, *wrongs: Wrong) -> Finds:
    """Return what a student finds in each step who does some things wrong."""

    def finds(name: str, right: Numbers, used: Mapping[str, Numbers]) -> Numbers:
        for wrong in wrongs:
            if wrong.is_done_in(name):
                return found(At(working, name, right, used, wrong.way), wrong)
        return right

    return finds


def found(at: At, wrong: Wrong) -> Numbers:
    """Return what a student finds in a step who does something wrong there.

    Raises:
        UnworkableError: where nobody can make this mistake.
    """
    if wrong.id == "step_transposed":
        return turned(at.right)
    make = METHODS.get((wrong.id, base(at.name)))
    if make is None:
        return at.right
    try:
        numbers = np.asarray(make(at), float)
    except (LookupError, ValueError, TypeError) as error:  # no such matrix; shapes do not fit
        raise UnworkableError(repr(error)) from error
    if wrong.head is None:
        return numbers
    need(len(numbers) > 1 and numbers.shape == at.right.shape)
    is_here = np.arange(len(numbers)) == wrong.head
    return np.where(is_here.reshape(-1, *[1] * (numbers.ndim - 1)), numbers, at.right)
