"""Derivatives without a rule for any: differences of the loss in 50-digit arithmetic.

`loss` evaluates a problem by plain loops, from the formulas alone; `difference` moves one number up
and down by 10^-15 and divides, which is right to about 30 digits. `slope` does the same along a
direction.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.oracles import networks, reference
from tests.oracles.reference import (
    BLOCKED,
    Keys,
    Matrix,
    Number,
    Vector,
    dot,
    exact,
    mp,
    plus,
    times,
)

STEP = mp.mpf(10) ** -15


def loss(gradient: Any, **keys: Any) -> Number:
    """Return the loss of a problem in row convention."""
    output = RESULTS[keys.get("kind", "self")](keys)
    if isinstance(gradient, str):
        return mp.fsum(every(output))
    if not isinstance(gradient, dict):  # the derivative of Σ g z with regard to z is g
        return weighted(output, exact(gradient))
    pairs = [*zip(every(output), every(exact(gradient["target"])), strict=True)]
    squares = mp.fsum((z - t) ** 2 for z, t in pairs)
    over = {"squared_error": 1, "half_squared_error": 2, "mean_squared_error": len(pairs)}
    return squares / over[gradient["loss"]]


def weighted(output: Any, gradient: Any) -> Number:
    """Σ g z, with one matrix for every element of a batch, or one for all."""
    if reference.depth(output) > reference.depth(gradient):
        return mp.fsum(weighted(part, gradient) for part in output)
    return mp.fsum(z * g for z, g in zip(every(output), every(gradient), strict=True))


def every(nested: Any) -> list[Number]:
    """Return all numbers of nested lists."""
    return [x for item in nested for x in every(item)] if isinstance(nested, list) else [nested]


def attention(keys: Keys) -> Any:
    """The last step of `self` and `cross`, [batch][row][column] or [row][column]."""
    steps = reference.solve(**keys)
    found = steps["attentional" if "W_c" in keys else "output"]
    batches = [heads[0] for heads in found]
    return batches if len(batches) > 1 else batches[0]


def weights_of(q: Vector, keys_: Matrix, keys: Keys, d_v: int) -> Vector:
    """Return the weights of one query, by the score function and normaliser of a problem."""
    score = keys.get("score", "scaled_dot" if keys["kind"] == "recurrent" else "dot")
    score = {"name": score} if isinstance(score, str) else score
    names = ("kind", "scale", "softcap", "bias", "mask", "normalize")
    known = {name: keys[name] for name in names if name in keys}
    read = reference.read(known | {"score": score})
    scores = reference.scores([q], keys_, read["score"])["scores"]
    sizes = {"d_k": len(keys_[0]), "d_v": d_v}
    weights: Matrix = reference.weigh(scores, read, 0, 0, sizes)["weights"]
    return weights[0]


def mixed(weights: Vector, vectors: Matrix) -> Vector:
    """Σ α_i h_i."""
    return [dot(weights, list(column)) for column in zip(*vectors, strict=True)]


def pooling(keys: Keys) -> Matrix:
    """u_t = tanh(W h_t + b); Σ α_t h_t."""
    x, u = exact(keys["X"]), exact(keys["u"])
    hidden = x
    if "W" in keys:
        hidden = [times(exact(keys["W"]), row) for row in hidden]
    if "b" in keys:
        hidden = [plus(row, exact(keys["b"])) for row in hidden]
    is_plain = "W" not in keys and "b" not in keys
    if keys.get("activation", "none" if is_plain else "tanh") == "tanh":
        hidden = [reference.tanh(row) for row in hidden]
    result = mixed(weights_of(u, hidden, keys, len(x[0])), x)
    return [reference.tanh(result) if keys.get("output_activation") == "tanh" else result]


def recurrent(keys: Keys) -> Matrix:
    """h_t = tanh(A [x_t; c] + b); c_t = Σ α_i h_i over the states so far."""
    a = exact(keys["A"])
    zeros = [mp.mpf(0) for _ in a]
    state, context = (exact(keys.get(name, zeros)) for name in ("h_0", "c_0"))
    update = keys.get("update", "input_context")
    states = [state]
    for x in exact(keys["X"]):
        joined = {
            "input_context": x + context,
            "state_input_context": states[-1] + x + context,
            "plain": states[-1] + x,
        }[update]
        net = times(a, joined)
        states.append(reference.tanh(plus(net, exact(keys["b"])) if "b" in keys else net))
        if update != "plain":
            q, k = states[-1], states
            if "W_q" in keys:
                q = times(exact(keys["W_q"]), q)
            if "W_k" in keys:
                k = [times(exact(keys["W_k"]), h) for h in states]
            context = mixed(weights_of(q, k, keys, len(state)), states)
    return states[1:]


RESULTS: dict[str, Callable[[Keys], Any]] = {
    "self": attention,
    "cross": attention,
    "pooling": pooling,
    "recurrent": recurrent,
    "encoder_decoder": lambda keys: networks.solve(**keys)["output"][0][0],
}


def with_number(keys: Keys, name: str, array: Any) -> Keys:
    """Return the keys with another array for one, also for a part such as score.W."""
    head, _, part = name.partition(".")
    return keys | {head: keys[head] | {part: array} if part else array}


def array_of(keys: Keys, name: str) -> Any:
    """Return the exact numbers of a key, or of a part such as score.W, in an array."""
    head, _, part = name.partition(".")
    return np.array(exact(keys[head][part] if part else keys[head]), object)


def difference(keys: Keys, name: str) -> Any:
    """Return the derivative of the loss with regard to every number of a key."""
    array = array_of(keys, name)
    found = np.empty(array.shape, object)
    for place in np.ndindex(array.shape):
        direction = np.zeros(array.shape, object)
        direction[place] = mp.mpf(1)
        found[place] = mp.mpf(0) if array[place] == BLOCKED else slope(keys, name, direction)
    return found


def slope(keys: Keys, name: str, direction: Any) -> Number:
    """Return how the loss grows as a key moves along a direction."""
    array = array_of(keys, name)
    ends = []
    for sign in (1, -1):
        moved = array + direction * (sign * STEP)
        ends.append(loss(**with_number(keys, name, moved.tolist())))
    return (ends[0] - ends[1]) / (2 * STEP)
