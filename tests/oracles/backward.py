"""A backward pass by loops, as a textbook writes it out: the derivatives of a squared error.

It goes on from the steps of self-attention with a mask and W_o, or of pooling with tanh before and
after it. Nothing here comes from the program.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import neg
from typing import Any

from tests.oracles.arithmetic import Hand, Keys, Matrix
from tests.oracles.gradients import OVER
from tests.oracles.lists import each, every, times, transposed


def moved_by(rate: Any, x: Any, derivative: Any) -> Any:
    return x - rate * derivative


def worked_by(hand: Hand, keys: Keys) -> None:
    """Write every step from the loss to the new weights."""
    of_output = pooling if keys.get("kind") == "pooling" else attention
    steps = {name: heads[0] for name, heads in hand.steps.items()}
    given = {name: matrix_of(hand, part) for name, part in keys.items() if name[0] in "WXub"}
    for name, derivative in of_output(hand, keys, steps, given).items():
        rate = hand.own.number(keys["learning_rate"])
        hand.here = f"new_{name}"
        ways: dict[str, Any] = {"update_sign": partial(neg, rate)}
        rate = hand.either(rate, **ways, learning_rate_missing=lambda: 1)
        moved = each(partial(moved_by, rate), given[name], derivative)
        hand.write(hand.here, [moved])


def matrix_of(hand: Hand, given: object) -> Matrix:
    numbers = hand.numbers(given)
    return numbers if isinstance(numbers[0], list) else [numbers]


def written(hand: Hand, name: str, made: Callable[[], Matrix]) -> Matrix:
    """Write a step, and let the hand know where it is."""
    hand.here = name
    return hand.write(name, [made()])[0]


def product(hand: Hand, name: str, left: Matrix, right: Matrix) -> Matrix:
    """Left · right, or one of them transposed that should not be."""

    def made() -> Matrix:
        if hand.does("factor_not_transposed", 0):
            return hand.product(transposed(left), right)
        if hand.does("factor_not_transposed", 1):
            return hand.product(left, transposed(right))
        return hand.product(left, right)

    return written(hand, name, made)


def total(hand: Hand, name: str, *parts: Matrix) -> Matrix:
    """The sum of what comes back along every path, or along all but one of them."""

    def made() -> Matrix:
        kept = [p for way, p in enumerate(parts) if not hand.does("path_forgotten", way)]
        added: Matrix = each(lambda *numbers: hand.own.total(numbers), *kept)
        return added

    return written(hand, name, made)


def scaled(hand: Hand, name: str, numbers: Matrix, by: float) -> Matrix:
    """The numbers times a factor, or without it, or divided by it."""

    def made() -> Matrix:
        return hand.either(
            each(lambda x: x * by, numbers),
            factor_forgotten_backward=lambda: numbers,
            factor_inverted_backward=lambda: each(lambda x: x / by, numbers),
            difference_turned_round=lambda: each(lambda x: -x * by, numbers),
        )

    return written(hand, name, made)


def loss(hand: Hand, keys: Keys, output: Matrix) -> Matrix:
    """Σ (output − target)², perhaps divided, and its derivative."""
    off = each(lambda z, t: z - t, output, hand.numbers(keys["gradient"]["target"]))
    over = OVER.get(keys["gradient"]["loss"], len(every(off)))
    squares = hand.own.total([x * x for x in every(off)])

    def made() -> Matrix:
        return [[squares if hand.does("loss_factor_missing") else squares / over]]

    written(hand, "loss", made)
    return scaled(hand, "d_output", off, 2 / over)


def through_softmax(
    hand: Hand, name: str, weights: Matrix, upstream: Matrix, unmasked: Matrix
) -> Matrix:
    """Weights ⊙ (upstream − delta), with delta = Σ weights ⊙ upstream of each row."""
    own = hand.own

    def delta(shares: Matrix) -> Matrix:
        return [[own.dot(*rows)] for rows in zip(shares, upstream, strict=True)]

    def by_columns() -> Matrix:
        return [[x] for x in map(own.dot, transposed(weights), transposed(upstream))]

    def of(shares: Matrix, deltas: Matrix) -> Matrix:
        rows = zip(shares, upstream, deltas, strict=True)
        return [[w * (d - mean) for w, d in zip(*pair, strict=True)] for *pair, (mean,) in rows]

    def softmax() -> Matrix:
        powers = each(own.exp, unmasked)
        return [[x / own.total(row) for x in row] for row in powers]

    deltas = written(
        hand, "delta", lambda: hand.either(delta(weights), delta_over_wrong_axis=by_columns)
    )
    ones, right = each(lambda _: own.number(1), weights), of(weights, deltas)
    return written(
        hand,
        name,
        lambda: hand.either(
            right,
            difference_turned_round=lambda: each(lambda x: -x, right),
            mask_forgotten_backward=lambda: of(softmax(), delta(softmax())),
            jacobian_left_out=lambda: times(weights, upstream),
            diagonal_alone=lambda: each(lambda w, d: w * (1 - w) * d, weights, upstream),
            softmax_passed_over=lambda: upstream,
            weights_left_out_backward=lambda: of(ones, deltas),
        ),
    )


def through_tanh(hand: Hand, name: str, upstream: Matrix, result: Matrix) -> Matrix:
    """Upstream ⊙ (1 − result²)."""

    def made() -> Matrix:
        return hand.either(
            each(lambda d, y: d * (1 - y * y), upstream, result),
            tanh_slope_missing=lambda: upstream,
            tanh_slope_not_squared=lambda: each(lambda d, y: d * (1 - y), upstream, result),
        )

    return written(hand, name, made)


def attention(hand: Hand, keys: Keys, s: dict[str, Matrix], given: dict[str, Matrix]) -> Keys:
    """Write the way back through softmax(Q Kᵀ / √d_k) V W_o."""
    x = given["X"]
    d_output = loss(hand, keys, s["output"])
    d_w_o = product(hand, "d_W_o", transposed(s["context"]), d_output)
    d_context = product(hand, "d_context", d_output, transposed(given["W_o"]))
    d_weights = product(hand, "d_weights", d_context, transposed(s["V"]))
    name = "d_masked" if "masked" in s else "d_scaled"
    d_scaled = through_softmax(hand, name, s["weights"], d_weights, s["scaled"])
    if "masked" in s:
        d_scaled = written(hand, "d_scaled", lambda: d_scaled)
    d_scores = scaled(hand, "d_scores", d_scaled, 1 / hand.own.sqrt(len(s["K"][0])))
    d_v = product(hand, "d_V", transposed(s["weights"]), d_context)
    d_k = product(hand, "d_K", transposed(d_scores), s["Q"])
    d_q = product(hand, "d_Q", d_scores, s["K"])
    sides = {"W_v": d_v, "W_k": d_k, "W_q": d_q}
    found = {key: product(hand, f"d_{key}", transposed(x), side) for key, side in sides.items()}
    paths = ((d_q, "W_q"), (d_k, "W_k"), (d_v, "W_v"))
    total(hand, "d_X", *(hand.product(side, transposed(given[key])) for side, key in paths))
    return found | {"W_o": d_w_o}


def pooling(hand: Hand, keys: Keys, s: dict[str, Matrix], given: dict[str, Matrix]) -> Keys:
    """Write the way back through tanh(Σ α_t h_t), α = softmax(tanh(W h_t + b) · u)."""
    x = given["X"]
    d_output = loss(hand, keys, s["output"])
    d_context = through_tanh(hand, "d_context", d_output, s["output"])
    d_weights = product(hand, "d_weights", d_context, transposed(x))
    d_scores = through_softmax(hand, "d_scores", s["weights"], d_weights, s["scores"])
    d_hidden = product(hand, "d_hidden", transposed(d_scores), given["u"])
    d_net = through_tanh(hand, "d_net_hidden", d_hidden, s["hidden"])
    d_b = written(hand, "d_b", lambda: [[hand.own.total(c) for c in transposed(d_net)]])
    d_w = product(hand, "d_W", transposed(d_net), x)
    d_u = product(hand, "d_u", d_scores, s["hidden"])
    paths = hand.product(d_net, given["W"]), hand.product(transposed(s["weights"]), d_context)
    total(hand, "d_X", *paths)
    return {"W": d_w, "b": d_b, "u": d_u}
