"""Transformer blocks, and the numbers of a problem that a loss has a derivative with respect to.

Vaswani et al. 2017 (post-norm), Ba et al. 2016 (layer norm), Xiong et al. 2020 (pre-norm), Zhang
and Sennrich 2019 (RMS norm), Hendrycks and Gimpel 2016 (GELU and its tanh form), Shazeer 2020
(SwiGLU, GEGLU).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tests.oracles.arithmetic import (
    EXACT,
    FLOATS,
    Arithmetic,
    Hand,
    Heads,
    Keys,
    Matrix,
    Number,
    mp,
    slope_of,
)
from tests.oracles.attention import attended, read
from tests.oracles.lists import by_rows, each, every, plus, times, transposed
from tests.oracles.positions import embedded, listed
from tests.oracles.weights import over_sums

__all__ = ["FLOATS", "listed"]  # for tests, which take them from here

ACTIVATIONS = ("relu", "gelu", "gelu_tanh", "silu")
GATED = {"swiglu": "silu", "geglu": "gelu"}
"""Names of an activation that is used with W_3."""

OF_SCORES = ("rope", "alibi", "relative")
"""Positions that act in every layer; the others are added to the tokens once."""

OF_PROBLEM = ("kind", "tokens", "X", "embedding", "layers", "final_norm", "unembedding", "W_u")
"""Keys that are no layer's, beside `target`, `gradient` and `learning_rate`."""


def layers_of(keys: Keys) -> list[Keys]:
    """Return the keys of each layer; one that it lacks is that of the whole problem."""
    others = (*OF_PROBLEM, "target", "gradient", "learning_rate", "positions")
    common = {key: value for key, value in keys.items() if key not in others}
    acting = [p for p in listed(keys.get("positions", [])) if p["name"] in OF_SCORES]
    return [common | {"positions": acting} | layer for layer in keys.get("layers", [{}])]


def transformer(hand: Hand, keys: Keys) -> Matrix:
    """Write every step, and return the last tokens, or the probabilities of words."""
    x = started(hand, keys)
    layers = layers_of(keys)
    for number, layer in enumerate(layers, 1):
        hand.prefix = f"layers.{number}." if len(layers) > 1 else ""
        for half in (1, 2) if "W_1" in layer else (1,):
            hand.here = number, half
            x = halved(hand, layer, x, half)
    hand.prefix = ""
    return ended(hand, keys, x, layers[-1])


def started(hand: Hand, keys: Keys) -> Matrix:
    """Return the tokens, looked up in the table, with positions that are added."""
    if "X" in keys:
        x = hand.numbers(keys["X"])
    else:
        table = hand.numbers(keys["embedding"]["table"])
        (x,) = hand.write("X", [[table[place] for place in places(keys, "tokens")]])
    hand.first = x
    return embedded(hand, x, listed(keys.get("positions", [])))


def halved(hand: Hand, keys: Keys, x: Matrix, half: int) -> Matrix:
    """Return the tokens after a half of a layer: attention, or the feed-forward network."""
    is_pre = keys.get("place", "pre") == "pre"
    given = normed(hand, keys, x, half) if is_pre else x
    used = hand.either(given, norm_skipped=lambda: x)
    if half == 1:
        hand.names = {"hidden": "score_hidden", "gated": "gated_context"}
        made = attended(hand, read(keys | {"kind": "self"}), used, [], "attended")
        hand.names = {}
    else:
        made = feed_forward(hand, keys, used)
    kept = hand.either(
        x,
        residual_forgotten=lambda: each(lambda _: hand.own.number(0), x),
        residual_of_normed=lambda: given,
        residual_of_another_step=lambda: hand.first,
    )
    (x,) = hand.write(f"residual_{half}", [plus(kept, made)])
    return x if is_pre else normed(hand, keys, x, half)


def normed(hand: Hand, keys: Keys, x: Matrix, half: int) -> Matrix:
    if keys.get("norm") == "none":
        return x
    return hand.write(f"normed_{half}", [norm(hand, keys, x, f"_{half}")])[0]


def norm(hand: Hand, keys: Keys, x: Matrix, end: str) -> Matrix:
    """(x − mean) / √(variance + eps), or x / √(mean square + eps); times gain, plus shift."""
    own, does, is_layer = hand.own, hand.does, keys.get("norm", "layer") == "layer"
    eps = own.number(0 if does("eps_forgotten") else keys.get("eps", 1e-5 if is_layer else 1e-6))
    is_aside = does("norm_over_tokens") or not end  # of which nothing but the result is written
    heads = [transposed(x) if does("norm_over_tokens") else x]

    def written(name: str, numbers: Heads) -> Heads:
        return numbers if is_aside else hand.write(f"{name}{end}", numbers)

    means = by_rows(lambda row: [own.number(0)], heads)
    if is_layer:
        means = written("mean", by_rows(lambda row: [own.total(row) / len(row)], heads))

    def centred(wrong: str) -> Heads:
        if not is_layer or does(wrong):
            return heads
        return by_rows(lambda row, mean: [y - mean[0] for y in row], heads, means)

    size = len(heads[0][0]) - does("variance_of_a_sample")
    squares = by_rows(lambda row: [own.dot(row, row) / size], centred("squares_not_centred"))
    squares = hand.either(squares, deviation_for_variance=lambda: each(own.sqrt, squares))
    squares = written("variance" if is_layer else "mean_square", squares)
    roots = hand.either(
        each(lambda square: own.sqrt(square + eps), squares),
        eps_outside_the_root=lambda: each(lambda square: own.sqrt(square) + eps, squares),
        root_of_variance_forgotten=lambda: each(lambda square: square + eps, squares),
    )
    (x,) = over_sums(centred("mean_not_subtracted"), roots)
    x = transposed(x) if does("norm_over_tokens") else x
    is_bare = does("gain_and_shift_forgotten")
    if f"gain{end}" in keys and not (is_bare or does("gain_forgotten")):
        x = [times(row, hand.numbers(keys[f"gain{end}"])) for row in x]
    if f"shift{end}" in keys and not (is_bare or does("bias_missing")):
        x = [plus(row, hand.numbers(keys[f"shift{end}"])) for row in x]
    return x


def feed_forward(hand: Hand, keys: Keys, x: Matrix) -> Matrix:
    name: str = keys.get("activation", "relu")
    right = activation(hand.own, GATED.get(name, name))
    other = activation(hand.own, "silu" if GATED.get(name, name).startswith("gelu") else "gelu")
    function = hand.either(
        right,
        other_activation=lambda: other,
        activation_forgotten=lambda: lambda number: number,
        activation_after_the_product=lambda: lambda number: number,
    )
    wrong = "gate_and_value_exchanged"
    first, third = "31" if hand.does(wrong, 2) else "13"
    (hidden,) = hand.write("hidden", [hand.linear(x, keys, first)])
    value = hand.write("value", [hand.linear(x, keys, third)])[0] if "W_3" in keys else []
    if hand.does(wrong, 1):
        hidden, value = value, hidden
    made = each(right, value)
    if not hand.does(wrong, 0):
        (made,) = hand.write("activated", [each(function, hidden)])
    else:
        value = hidden
    if value:
        (made,) = hand.write("gated", [times(made, value)])
    made = hand.linear(made, keys, "2")
    if hand.does("activation_after_the_product"):
        made = each(right, made)
    return hand.write("feed_forward", [made])[0]


def activation(own: Arithmetic, name: str) -> Callable[[Number], Number]:
    def gelu(x: Number) -> Number:
        return x * (1 + own.erf(x / own.sqrt(own.number(2)))) / 2

    def gelu_tanh(x: Number) -> Number:
        inner = x + own.number("0.044715") * x * x * x
        return x * (1 + own.tanh(own.sqrt(2 / own.number(own.pi)) * inner)) / 2

    return {
        "relu": lambda x: x if x > 0 else own.number(0),
        "gelu": gelu,
        "gelu_tanh": gelu_tanh,
        "silu": lambda x: x * own.sigmoid(x),
    }[name]


def ended(hand: Hand, keys: Keys, x: Matrix, layer: Keys) -> Matrix:
    """Write what comes after the layers: logits, probabilities, loss."""
    own, final = hand.own, keys.get("final_norm")
    if final is not None:
        of_norm = {"norm": layer.get("norm", "layer")} | final
        (x,) = hand.write("final", [norm(hand, of_norm, x, "")])
    matrix = unembedding(keys)
    if matrix is None:
        return x
    (logits,) = hand.write("logits", [hand.product(x, hand.numbers(matrix))])
    powers = hand.write("exp_logits", [each(own.exp, logits)])
    if hand.does("softmax_over_queries"):
        columns = [transposed(powers[0])]
        shares = over_sums(columns, by_rows(lambda row: [own.total(row)], columns))
        shares = [transposed(shares[0])]
    else:
        sums = hand.write("sum_logits", by_rows(lambda row: [own.total(row)], powers))
        shares = over_sums(powers, sums)
    (shares,) = hand.write("probabilities", shares)
    if "target" in keys:
        words = places(keys, hand.either("target", target_not_shifted=lambda: "tokens"))
        losses = [-own.log(row[place]) for row, place in zip(shares, words, strict=True)]
        loss, ten = own.total(losses), own.log(own.number(10))
        loss = hand.either(loss, logarithm_to_base_10=lambda: loss / ten)
        loss = hand.either(loss / len(losses), loss_not_averaged=lambda: loss)
        hand.write("loss", [[[loss]]])
    return shares


def unembedding(keys: Keys) -> Any:
    """Return what logits are the product of tokens with, (features, words)."""
    given = keys.get("unembedding", keys.get("W_u"))
    if given == "tied":
        return transposed(keys["embedding"]["table"])
    return given["W_u"] if isinstance(given, dict) else given


def places(keys: Keys, name: str) -> list[int]:
    """Return the rows of the table that tokens or targets name, from 0; a label wins."""
    known = list(keys.get("embedding", {}).get("vocabulary", ()))
    return [known.index(word) if word in known else int(word) - 1 for word in keys[name]]


class Work:
    """The steps of one problem by name, without a list around what all heads share.

    Attributes:
        last: the name that the last step would have if it were not called `output`; empty where
            the problem has an unembedding.
    """

    def __init__(self, keys: Keys, own: Arithmetic) -> None:
        self.keys, self.hand, self.last = keys, Hand(own), ""
        self.steps: dict[str, Any] = {}

    def work(self) -> Work:
        transformer(self.hand, self.keys)
        several = self.hand.steps.items()
        self.steps = {name: step[0] if len(step) == 1 else step for name, step in several}
        if "loss" in self.steps:
            ((self.steps["loss"],),) = self.steps["loss"]
        if unembedding(self.keys) is None:
            self.last = [*self.steps][-1]
            self.steps["output"] = self.steps.pop(self.last)
        return self


def solve(keys: Keys, own: Arithmetic = EXACT) -> dict[str, Any]:
    """Return every step of a problem by its name, as nested lists."""
    return Work(keys, own).work().steps


# Derivatives.


class Parameter(NamedTuple):
    """Numbers of a problem that the loss has a derivative with respect to.

    Attributes:
        name: what the derivative is called after `d_`, such as `layers.2.W_1`.
        path: the keys under which the numbers stand in the problem.
    """

    name: str
    path: tuple[str | int, ...]


MATRICES = ("W_q", "W_k", "W_v", "W_o", "b_q", "b_k", "b_v", "b_o", "W_1", "b_1", "W_2", "b_2")
OF_LAYER = (*MATRICES, "W_3", "b_3", "gain_1", "shift_1", "gain_2", "shift_2")


def parameters(keys: Keys) -> Iterator[Parameter]:
    """Yield the numbers of a problem, but for those that several layers share."""
    layers = keys.get("layers", [])
    places: list[tuple[str, tuple[Any, ...], Keys]] = [("", (), keys)]
    for number, layer in enumerate(layers):
        prefix = f"layers.{number + 1}." if len(layers) > 1 else ""
        places.append((prefix, ("layers", number), layer))
    added = [p["name"] not in OF_SCORES for p in listed(keys.get("positions", []))]
    for prefix, path, part in places:
        is_shared = part is keys and len(layers) > 1
        names = () if is_shared else OF_LAYER
        yield from (Parameter(prefix + key, (*path, key)) for key in names if key in part)
        given = part.get("positions", [])
        for place, p in enumerate(listed(given) if not is_shared or all(added) else []):
            at = ("positions", place) if isinstance(given, list) else ("positions",)
            for part_of in {"P", "table"} & p.keys():
                yield Parameter(f"{prefix}positions.{part_of}", (*path, *at, part_of))
    for others in (
        ("X",),
        ("embedding", "table"),
        ("final_norm", "gain"),
        ("final_norm", "shift"),
        ("W_u",),
    ):
        if others[0] in keys and (len(others) == 1 or others[1] in keys[others[0]]):
            yield Parameter(".".join(others), others)


def numbers_at(keys: Keys, path: tuple[str | int, ...]) -> Any:
    found: Any = keys
    for key in path:
        found = found[key]
    return found


def replaced(old: Any, path: tuple[Any, ...], value: Any) -> Any:
    """Return nested dicts and lists with another value at one place."""
    if not path:
        return value
    new = dict(old) if isinstance(old, dict) else list(old)
    new[path[0]] = replaced(old[path[0]], path[1:], value)
    return new


def loss(keys: Keys, gradient: Any) -> Number:
    """Return what the gradient `loss`, `sum`, or a matrix ∂L/∂output is the derivative of."""
    hand = Hand()
    output = transformer(hand, keys)
    if gradient == "loss":
        return hand.steps["loss"][0][0][0]
    upstream = each(lambda _: 1, output) if gradient == "sum" else gradient
    return hand.own.dot(every(output), every(hand.numbers(upstream)))


def difference(keys: Keys, parameter: Parameter, place: tuple[int, ...], gradient: Any) -> Number:
    """Return the derivative of the loss with respect to one number."""
    path = (*parameter.path, *place)
    middle = mp.mpf(numbers_at(keys, path))
    return slope_of(lambda by: loss(replaced(keys, path, middle + by), gradient))


def distance_to_kink(keys: Keys) -> Number:
    """Return how near the hidden layer comes to 0, where relu has no derivative."""
    steps, layers, near = solve(keys, FLOATS), layers_of(keys), math.inf
    for number, layer in enumerate(layers, 1):
        if layer.get("activation", "relu") == "relu" and "W_1" in layer:
            prefix = f"layers.{number}." if len(layers) > 1 else ""
            near = min(near, *map(abs, every(steps[f"{prefix}hidden"])))
    return near
