"""Attention by plain loops over lists that counts each operation where it is carried out.

`worked` takes the keys of a problem and returns its output, and for each step how often the loops
multiplied and added, added, multiplied, divided, took a power, or another function. A sum of n
numbers takes n − 1 additions. It shares nothing with the program but the names of keys and steps.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

Matrix = list[list[float]]
Keys = dict[str, Any]


class Hand:
    """Does arithmetic, and counts it under the name of the step that is being worked."""

    def __init__(self) -> None:
        self.step = ""
        self.names: dict[str, str] = {}  # other names of some steps
        self.counts: dict[str, Counter[str]] = {}

    def begin(self, step: str) -> None:
        self.step = self.names.get(step, step)
        self.counts.setdefault(self.step, Counter())

    def did(self, what: str, result: float) -> float:
        self.counts[self.step][what] += 1
        return result

    def add(self, a: float, b: float) -> float:
        return self.did("additions", a + b)

    def times(self, a: float, b: float) -> float:
        return self.did("multiplications", a * b)

    def over(self, a: float, b: float) -> float:
        return self.did("divisions", a / b)

    def exp(self, a: float) -> float:
        return self.did("exponentials", math.exp(a))

    def function(self, rule: Callable[[float], float], a: float) -> float:
        return self.did("functions", rule(a))

    def dot(self, a: list[float], b: list[float]) -> float:
        total = 0.0
        for x, y in zip(a, b, strict=True):
            total = self.did("multiply_adds", total + x * y)
        return total

    def total(self, numbers: list[float]) -> float:
        result, *others = numbers
        for number in others:
            result = self.add(result, number)
        return result

    def product(self, left: Matrix, right: Matrix) -> Matrix:
        columns = [list(column) for column in zip(*right, strict=True)]
        return [[self.dot(row, column) for column in columns] for row in left]

    def linear(self, x: Matrix, keys: Keys, letter: str) -> Matrix:
        """Return x W + b, without W the rows as they are."""
        if f"W_{letter}" in keys:
            x = self.product(x, keys[f"W_{letter}"])
        if f"b_{letter}" in keys:
            bias = keys[f"b_{letter}"]
            x = [[self.add(a, b) for a, b in zip(row, bias, strict=True)] for row in x]
        return x


def each(rule: Callable[[float], float], matrix: Matrix) -> Matrix:
    return [[rule(number) for number in row] for row in matrix]


def cut(matrix: Matrix, heads: int) -> list[Matrix]:
    size = len(matrix[0]) // heads
    return [[row[h * size : (h + 1) * size] for row in matrix] for h in range(heads)]


def attention(hand: Hand, keys: Keys, x: Matrix, memory: Matrix) -> Matrix:
    """Return softmax(Q Kᵀ / √d) V, or what the keys make of it, before W_o: heads side by side."""
    heads: int = keys.get("heads", 1)
    of_head: dict[str, list[Matrix]] = {}
    for name, source in (("Q", x), ("K", memory), ("V", memory)):
        hand.begin(name)
        whole = hand.linear(source, keys, name.lower())
        of_head[name] = cut(whole, heads if name == "Q" else keys["kv_heads"])
    if keys.get("qk_norm"):
        for name in ("Q", "K"):
            hand.begin(f"{name}_normed")
            of_head[name] = [[normed(hand, row) for row in head] for head in of_head[name]]
    gates: list[Matrix] = []
    if "gate" in keys:
        hand.begin("gate")
        gates = cut(sigmoid(hand, hand.linear(x, {"W_g": keys["gate"]["W"]}, "g")), heads)
    joined: Matrix = [[] for _ in x]
    if keys["score"] == "additive":  # the values of W and U times rows are worked once for a head
        of_head["K"] = repeated(of_head["K"], heads)
    of_head = {name: repeated(matrices, heads) for name, matrices in of_head.items()}
    for h in range(heads):
        z = mixed(hand, keys, of_head["Q"][h], of_head["K"][h], of_head["V"][h])
        if gates:
            hand.begin("gated")
            wide = [row * (len(z[0]) // len(row)) for row in gates[h]]
            pairs = zip(z, wide, strict=True)
            z = [[hand.times(a, b) for a, b in zip(*pair, strict=True)] for pair in pairs]
        joined = [[*row, *more] for row, more in zip(joined, z, strict=True)]
    return joined


def repeated(matrices: list[Matrix], heads: int) -> list[Matrix]:
    """Return a matrix for each head of queries; several may read the same."""
    times = heads // len(matrices)
    return [matrix for matrix in matrices for _ in range(times)]


def normed(hand: Hand, row: list[float]) -> list[float]:
    length = hand.function(math.sqrt, hand.dot(row, row))
    return [hand.over(x, length) for x in row]


def sigmoid(hand: Hand, matrix: Matrix) -> Matrix:
    return each(lambda x: hand.over(1, hand.add(1, hand.exp(-x))), matrix)


def mixed(hand: Hand, keys: Keys, q: Matrix, k: Matrix, v: Matrix) -> Matrix:
    """Return the weighted values of one head."""
    scores = scored(hand, keys, q, k)
    if keys["score"] == "scaled_dot" and len(q[0]) > 1:
        hand.begin("scaled")
        scores = each(lambda x: hand.over(x, math.sqrt(len(q[0]))), scores)
    if cap := keys.get("softcap"):
        hand.begin("capped")
        scores = each(
            lambda x: hand.times(cap, hand.function(math.tanh, hand.over(x, cap))), scores
        )
    if "bias" in keys:
        hand.begin("biased")
        pairs = zip(scores, keys["bias"], strict=True)
        scores = [[hand.add(a, b) for a, b in zip(*pair, strict=True)] for pair in pairs]
    if keys.get("mask") == "causal":
        scores = [
            [x if j <= i else -math.inf for j, x in enumerate(r)] for i, r in enumerate(scores)
        ]
    if keys.get("normalize") == "sigmoid":
        hand.begin("weights")
        weights = sigmoid(hand, scores)
    else:
        temperature = keys.get("normalize", {}).get("temperature", 1)
        hand.begin("exp")
        if temperature != 1:
            scores = each(lambda x: hand.over(x, temperature), scores)
        powers = each(hand.exp, scores)
        hand.begin("sum")
        sums = [hand.total(row) for row in powers]
        hand.begin("weights")
        rows = zip(powers, sums, strict=True)
        weights = [[hand.over(x, total) for x in row] for row, total in rows]
    hand.begin("context")
    return hand.product(weights, v)


def scored(hand: Hand, keys: Keys, q: Matrix, k: Matrix) -> Matrix:
    if keys["score"] != "additive":
        hand.begin("scores")
        return [[hand.dot(row, other) for other in k] for row in q]
    parameters = keys["parameters"]
    hand.begin("hidden")
    of_q = [[hand.dot(row, w) for w in parameters["W"]] for row in q]
    of_k = [[hand.dot(row, u) for u in parameters["U"]] for row in k]
    hidden = [
        [
            [hand.function(math.tanh, hand.add(a, b)) for a, b in zip(x, y, strict=True)]
            for y in of_k
        ]
        for x in of_q
    ]
    hand.begin("scores")
    return [[hand.dot(pair, parameters["v"]) for pair in row] for row in hidden]


def layer(hand: Hand, keys: Keys, x: Matrix) -> Matrix:
    """Return a layer of a transformer with the norm before each half."""
    attended = attention(hand, keys, norm(hand, keys, x, 1), norm(hand, keys, x, 1, again=True))
    hand.names = {}
    hand.begin("attended")
    residual = plus(hand, "residual_1", x, hand.linear(attended, keys, "o"))
    normed_2 = norm(hand, keys, residual, 2)
    hand.begin("hidden")
    hidden = hand.linear(normed_2, keys, "1")
    hand.begin("activated")
    active = each(lambda a: max(a, 0.0), hidden)
    if keys["activation"] == "silu":
        gates = sigmoid(hand, hidden)
        pairs = zip(hidden, gates, strict=True)
        active = [[hand.times(a, b) for a, b in zip(*pair, strict=True)] for pair in pairs]
    hand.begin("feed_forward")
    return plus(hand, "residual_2", residual, hand.linear(active, keys, "2"))


def plus(hand: Hand, step: str, left: Matrix, right: Matrix) -> Matrix:
    hand.begin(step)
    pairs = zip(left, right, strict=True)
    return [[hand.add(a, b) for a, b in zip(*pair, strict=True)] for pair in pairs]


def norm(hand: Hand, keys: Keys, x: Matrix, number: int, again: bool = False) -> Matrix:
    """Return rows with mean 0 and variance 1, or with mean square 1, times a gain."""
    hand = Hand() if again else hand  # the same numbers, which are not worked twice
    d, eps = len(x[0]), keys["eps"]
    result = x
    if keys["norm"] == "layer":
        hand.begin(f"mean_{number}")
        means = [hand.over(hand.total(row), d) for row in x]
        hand.begin(f"variance_{number}")
        squares = []
        for row, mean in zip(x, means, strict=True):
            distances = [hand.add(a, -mean) for a in row]
            squares.append(hand.over(hand.dot(distances, distances), d))
        hand.begin(f"normed_{number}")
        result = [[hand.add(a, -m) for a in row] for row, m in zip(x, means, strict=True)]
    else:
        hand.begin(f"mean_square_{number}")
        squares = [hand.over(hand.dot(row, row), d) for row in x]
        hand.begin(f"normed_{number}")
    roots = [hand.function(math.sqrt, hand.add(square, eps)) for square in squares]
    result = [[hand.over(a, root) for a in row] for row, root in zip(result, roots, strict=True)]
    gain = keys[f"gain_{number}"]
    return [[hand.times(a, g) for a, g in zip(row, gain, strict=True)] for row in result]


def worked(keys: Keys) -> tuple[Matrix, dict[str, Counter[str]]]:
    """Return the output of a problem, and the counts of each step that has any."""
    hand = Hand()
    x: Matrix = keys["X"]
    if keys["kind"] == "transformer":
        hand.names = {"hidden": "score_hidden", "gated": "gated_context"}
        output = layer(hand, keys, x)
    else:
        if keys.get("heads", 1) == 1 and not {"W_o", "gate"} & keys.keys():
            hand.names = {"context": "output"}  # the last step
        memory: Matrix = keys.get("memory", x)
        joined = attention(hand, keys, x, memory)
        hand.begin("output")
        output = hand.linear(joined, keys, "o")
    return output, {name: counts for name, counts in hand.counts.items() if counts.total()}
