"""Attention with plain loops in 50-digit arithmetic, written from the formulas of the papers.

Nothing here is shared with the program: what both get right was got right twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np

mp = mpmath.MPContext()
mp.dps = 50

Vector = list[Any]
Matrix = list[Vector]
BLOCKED = mp.ninf


def numbers(array: Any) -> Any:
    """Return nested lists of 50-digit numbers, each exactly the float that was given."""
    if isinstance(array, list | tuple | np.ndarray):
        return [numbers(item) for item in array]
    return mp.mpf(float(array))


def floats(matrix: Any) -> Any:
    """Return the nearest floats, as an array."""
    if isinstance(matrix, list):
        return np.array([floats(item) for item in matrix])
    return float(matrix)


def dot(a: Vector, b: Vector) -> Any:
    return mp.fsum(x * y for x, y in zip(a, b, strict=True))


def times(matrix: Matrix, vector: Vector) -> Vector:
    return [dot(row, vector) for row in matrix]


def product(a: Matrix, b: Matrix) -> Matrix:
    columns = [list(column) for column in zip(*b, strict=True)]
    return [[dot(row, column) for column in columns] for row in a]


def plus(a: Vector, b: Vector) -> Vector:
    return [x + y for x, y in zip(a, b, strict=True)]


def minus(a: Vector, b: Vector) -> Vector:
    return [x - y for x, y in zip(a, b, strict=True)]


def tanh(vector: Vector) -> Vector:
    return [mp.tanh(x) for x in vector]


def transposed(matrix: Matrix) -> Matrix:
    return [list(column) for column in zip(*matrix, strict=True)]


def mixed(weights: Vector, vectors: Matrix) -> Vector:
    return [dot(weights, column) for column in transposed(vectors)]


# α(q, k) of each score function, with its own parameters.


def cosine(q: Vector, k: Vector) -> Any:
    return dot(q, k) / (mp.sqrt(dot(q, q)) * mp.sqrt(dot(k, k)))


def general(q: Vector, k: Vector, W: Matrix) -> Any:
    return dot(q, times(W, k))


def additive(q: Vector, k: Vector, W: Matrix, U: Matrix, v: Vector, b: Vector | None = None) -> Any:
    inside = plus(times(W, q), times(U, k))
    return dot(v, tanh(plus(inside, b) if b else inside))


def concat(q: Vector, k: Vector, W: Matrix, v: Vector, b: Vector | None = None) -> Any:
    inside = times(W, q + k)
    return dot(v, tanh(plus(inside, b) if b else inside))


def distance(q: Vector, k: Vector, width: Any = 1) -> Any:
    return -dot(minus(q, k), minus(q, k)) / (2 * width * width)


ALIGN: dict[str, Callable[..., Any]] = {
    "dot": dot,
    "scaled_dot": dot,
    "cosine": cosine,
    "general": general,
    "additive": additive,
    "concat": concat,
    "distance": distance,
}


# The normalisers, of one row.


def softmax(row: Vector, base: Any = mp.e) -> Vector:
    real = [s for s in row if s != BLOCKED]
    if not real:
        return [mp.mpf(0)] * len(row)
    largest = max(real)
    powers = [mp.power(base, s - largest) if s != BLOCKED else mp.mpf(0) for s in row]
    return [p / mp.fsum(powers) for p in powers]


def hardmax(row: Vector) -> Vector:
    largest = max(row)
    chosen = row.index(largest) if largest != BLOCKED else -1
    return [mp.mpf(int(i == chosen)) for i in range(len(row))]


def sparsemax(row: Vector) -> Vector:
    """Project on the simplex: find the size of the support by trying every one."""
    real = sorted((s for s in row if s != BLOCKED), reverse=True)
    if not real:
        return [mp.mpf(0)] * len(row)
    for size in range(len(real), 0, -1):
        threshold = (mp.fsum(real[:size]) - 1) / size
        if real[size - 1] > threshold:
            break
    return [max(s - threshold, mp.mpf(0)) if s != BLOCKED else mp.mpf(0) for s in row]


def by_sum(row: Vector) -> Vector:
    real = [s if s != BLOCKED else mp.mpf(0) for s in row]
    total = mp.fsum(real)
    return [s / total if total else mp.mpf(0) for s in real]


def none(row: Vector) -> Vector:
    return [s if s != BLOCKED else mp.mpf(0) for s in row]


NORMALIZE: dict[str, Callable[..., Vector]] = {
    "softmax": softmax,
    "hardmax": hardmax,
    "sparsemax": sparsemax,
    "sum": by_sum,
    "none": none,
}


def normalized(
    scores: Matrix, name: str = "softmax", temperature: Any = 1, axis: str = "keys", **more: Any
) -> Matrix:
    tempered = [[s / temperature if s != BLOCKED else s for s in row] for row in scores]
    lines = tempered if axis == "keys" else transposed(tempered)
    result = [NORMALIZE[name](line, **more) for line in lines]
    return result if axis == "keys" else transposed(result)


def attention(
    q: Matrix,
    k: Matrix,
    v: Matrix,
    *,
    score: str = "dot",
    parameters: dict[str, Any] | None = None,
    scale: Any = 1,
    softcap: Any = None,
    bias: Matrix | None = None,
    keep: Callable[[int, int], bool] = lambda i, j: True,
    normalize: dict[str, Any] | None = None,
) -> tuple[Matrix, Matrix]:
    """Return the weights and weights · V of one head."""
    scores = []
    for i, query in enumerate(q):
        row = []
        for j, key in enumerate(k):
            s = ALIGN[score](query, key, **(parameters or {})) * scale
            if softcap is not None:
                s = softcap * mp.tanh(s / softcap)
            if bias is not None:
                s += bias[i][j]
            row.append(s if keep(i, j) else BLOCKED)
        scores.append(row)
    weights = normalized(scores, **(normalize or {}))
    return weights, [mixed(row, v) for row in weights]
