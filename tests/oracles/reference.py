"""Attention a second time: plain loops over lists in 50-digit arithmetic, from the formulas alone.

`solve` takes the keys of a problem in row convention and returns every step that is to be shown,
each as nested lists [batch][head][row][column] (a further [hidden] for `hidden`); an axis that a
step lacks has one place. It shares nothing with the program but the names of keys and steps.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import mpmath
import numpy as np

mp = mpmath.MPContext()
mp.dps = 50

Number = Any  # an mpmath number; mpmath carries no types
Vector = list[Number]
Matrix = list[Vector]
Heads = list[Matrix]
Keys = dict[str, Any]

BLOCKED = mp.mpf("-inf")


def exact(given: Any) -> Any:
    """Return nested lists of exact numbers from nested lists or an array of doubles."""
    if isinstance(given, list | tuple | np.ndarray):
        return [exact(item) for item in given]
    return given if isinstance(given, mp.mpf) else mp.mpf(float(given))


def floats(nested: Any) -> Any:
    """Return an array of the doubles nearest to nested lists of exact numbers."""
    if isinstance(nested, list):
        return np.array([floats(item) for item in nested])
    return float(nested)


def depth(nested: Any) -> int:
    """Return how many axes nested lists have."""
    return 1 + depth(nested[0]) if isinstance(nested, list) else 0


# Vectors and matrices.


def dot(a: Vector, b: Vector) -> Number:
    """Σ a_i b_i."""
    return mp.fsum(x * y for x, y in zip(a, b, strict=True))


def transpose(matrix: Matrix) -> Matrix:
    """Rows become columns."""
    return [list(column) for column in zip(*matrix, strict=True)]


def product(left: Matrix, right: Matrix) -> Matrix:
    """Rows of left times columns of right."""
    columns = transpose(right)
    return [[dot(row, column) for column in columns] for row in left]


def times(matrix: Matrix, vector: Vector) -> Vector:
    """A matrix times a column vector."""
    return [dot(row, vector) for row in matrix]


def plus(a: Vector, b: Vector) -> Vector:
    """Number by number."""
    return [x + y for x, y in zip(a, b, strict=True)]


def tanh(vector: Vector) -> Vector:
    """Of every number."""
    return [mp.tanh(x) for x in vector]


def pieces(vector: Vector, count: int) -> list[Vector]:
    """A vector cut into contiguous pieces of one size."""
    size = len(vector) // count
    assert size * count == len(vector)
    return [vector[i * size : (i + 1) * size] for i in range(count)]


def cut(matrix: Matrix, count: int) -> Heads:
    """The features of a matrix cut into contiguous pieces, one a head."""
    rows = [pieces(row, count) for row in matrix]
    return [[row[head] for row in rows] for head in range(count)]


# Score functions: one query and one key.


def cosine(q: Vector, k: Vector) -> Number:
    """q·k / (‖q‖ ‖k‖)."""
    return dot(q, k) / (mp.sqrt(dot(q, q)) * mp.sqrt(dot(k, k)))


def general(q: Vector, k: Vector, W: Matrix) -> Number:
    """qᵀ W k."""
    return dot(q, times(W, k))


def additive_hidden(q: Vector, k: Vector, W: Matrix, U: Matrix, b: Vector | None = None) -> Vector:
    """tanh(W q + U k + b)."""
    inner = plus(times(W, q), times(U, k))
    return tanh(inner if b is None else plus(inner, b))


def concat_hidden(q: Vector, k: Vector, W: Matrix, b: Vector | None = None) -> Vector:
    """tanh(W [q; k] + b)."""
    inner = times(W, q + k)
    return tanh(inner if b is None else plus(inner, b))


def phi(x: Vector) -> Vector:
    """Return x + 1 where x is positive, else e^x."""
    return [a + 1 if a > 0 else mp.exp(a) for a in x]


def distance(q: Vector, k: Vector, width: Number = 1) -> Number:
    """−‖q − k‖² / (2·width²)."""
    return -mp.fsum((x - y) ** 2 for x, y in zip(q, k, strict=True)) / (2 * width**2)


SCORES: dict[str, Callable[..., Number]] = {
    "dot": dot,
    "scaled_dot": dot,
    "cosine": cosine,
    "general": general,
    "distance": distance,
}
HIDDEN: dict[str, Callable[..., Vector]] = {"additive": additive_hidden, "concat": concat_hidden}


# Masks: may query i attend to key j?


def position(i: int, n: int, m: int, mask: Keys) -> int:
    """The place of query i among the keys."""
    start = m - n if mask.get("align") == "bottom-right" else 0
    return i + start + int(mask.get("offset", 0))


def in_window(p: int, j: int, left: int, right: int) -> bool:
    """Whether p − left ≤ j ≤ p + right, where −1 is no bound."""
    return (left == -1 or p - left <= j) and (right == -1 or j <= p + right)


FORMS = {"causal", "keep", "block", "lengths", "window", "when", "align", "offset"}
"""The keys of a mask that `may_attend` knows."""


def may_attend(i: int, j: int, n: int, m: int, mask: Keys) -> bool:
    """Whether all forms of the mask let query i see key j; matrices are of one head here."""
    assert set(mask) <= FORMS, "this oracle has no line for a form of the mask"
    p = position(i, n, m, mask)
    if mask.get("causal") and j > p:
        return False
    if "keep" in mask and broadcast(mask["keep"], i, j) == 0:
        return False
    if "block" in mask and broadcast(mask["block"], i, j) == 1:
        return False
    if "lengths" in mask and j >= mask["lengths"]:
        return False
    if "when" in mask:
        places = {"i": i + 1, "j": j + 1, "p": p + 1, "n": n, "m": m}
        if not eval(mask["when"], places):
            return False
    return "window" not in mask or in_window(p, j, *mask["window"])


def broadcast(matrix: Matrix, i: int, j: int) -> Number:
    """A cell of a matrix of which one row or one column may stand for all."""
    row = matrix[i if len(matrix) > 1 else 0]
    return row[j if len(row) > 1 else 0]


# Normalisers: one row, with −∞ where it is blocked.


def powers(row: Vector, temperature: Number, base: Number) -> Vector:
    """base^(s / temperature), 0 where blocked."""
    return [mp.mpf(0) if s == BLOCKED else power(base, s / temperature) for s in row]


@lru_cache(maxsize=10_000)
def power(base: Number, exponent: Number) -> Number:
    """base^exponent, e^exponent where there is no base; slow where the exponent is enormous."""
    return mp.exp(exponent) if base is None else mp.power(base, exponent)


def shares(row: Vector) -> Vector:
    """Each number divided by the sum of all; zeros stay zeros."""
    total = mp.fsum(row)
    return [x / total if total else mp.mpf(0) for x in row]


def softmax(row: Vector, temperature: Number, base: Number = None) -> Vector:
    """base^(s/T) / Σ base^(s/T), e where there is no base."""
    known = [s for s in row if s != BLOCKED]
    if not known:
        return [mp.mpf(0) for _ in row]
    largest = max(known)
    return shares(powers([s - largest for s in row], temperature, base))


def hardmax(row: Vector, temperature: Number, base: Number) -> Vector:
    """1 at the first of the largest, else 0."""
    del temperature, base
    best = max(row)
    first = None if best == BLOCKED else row.index(best)
    return [mp.mpf(1 if place == first else 0) for place in range(len(row))]


def sparsemax(row: Vector, temperature: Number, base: Number) -> Vector:
    """max(s − τ, 0): the τ with which exactly the numbers above it sum to 1 above it."""
    del base
    z = [s if s == BLOCKED else s / temperature for s in row]
    ordered = sorted((s for s in z if s != BLOCKED), reverse=True)
    for count in range(1, len(ordered) + 1):
        tau = (mp.fsum(ordered[:count]) - 1) / count
        if ordered[count - 1] > tau and all(s <= tau for s in ordered[count:]):
            return [mp.mpf(0) if s == BLOCKED else max(s - tau, mp.mpf(0)) for s in z]
    return [mp.mpf(0) for _ in row]


def unblocked(row: Vector) -> Vector:
    """0 where blocked."""
    return [mp.mpf(0) if s == BLOCKED else s for s in row]


def divided_by_sum(row: Vector, temperature: Number, base: Number) -> Vector:
    """Each s / Σ s."""
    del temperature, base
    return shares(unblocked(row))


def sigmoid(row: Vector, temperature: Number, base: Number) -> Vector:
    """1 / (1 + e^−s/T) of each."""
    del base
    return [mp.mpf(0) if s == BLOCKED else 1 / (1 + mp.exp(-s / temperature)) for s in row]


def nothing(row: Vector, temperature: Number, base: Number) -> Vector:
    """Each s itself, at its temperature."""
    del base
    return [s / temperature for s in unblocked(row)]


NORMALIZERS: dict[str, Callable[[Vector, Number, Number], Vector]] = {
    "softmax": softmax,
    "hardmax": hardmax,
    "sparsemax": sparsemax,
    "sum": divided_by_sum,
    "sigmoid": sigmoid,
    "none": nothing,
}


# The whole calculation.


def solve(**given: Any) -> dict[str, Any]:
    """Return the steps of a problem, in their order: [batch][head][row][column]."""
    keys = read(given)
    steps: dict[str, list[Any]] = {}
    for b in range(batches(keys)):
        for name, heads in solver(keys)(keys, b).items():
            steps.setdefault(name, []).append(heads)
    if keys["kind"] == "delta":
        return steps
    before = list(steps)[list(steps).index("weights") - 1]
    if keys["normalize"]["name"] == "none" and steps["weights"] == steps[before]:
        del steps["weights"]
    return steps


def solver(keys: Keys) -> Callable[[Keys, int], dict[str, Any]]:
    """Return what solves one batch element of a problem of this kind."""
    if keys["kind"] == "delta":
        from tests.oracles import delta

        return delta.solve
    return solve_one


def read(given: Keys) -> Keys:
    """Return the keys with numbers made exact, and words spelled out."""
    words = {"kind", "score", "scale", "mask", "normalize", "heads", "kv_heads", "qk_norm", "past"}
    words |= {"gate", "differential", "update"}
    keys: Keys = {key: value if key in words else exact(value) for key, value in given.items()}
    keys.setdefault("kind", "self")
    keys.setdefault("heads", 1)
    keys.setdefault("kv_heads", keys["heads"])
    is_linear = keys.get("score") in ("linear", {"name": "linear"})
    for key, default in (("score", "scaled_dot"), ("normalize", "sum" if is_linear else "softmax")):
        value = keys.get(key, default)
        keys[key] = {"name": value} if isinstance(value, str) else {"name": default} | value
    parts = keys["score"].items()
    keys["score"] = {key: value if key == "name" else exact(value) for key, value in parts}
    if "gate" in given:
        keys["gate"] = {name: exact(part) for name, part in given["gate"].items()}
    if "differential" in given:
        parts = given["differential"].items()
        keys["differential"] = {name: x if name == "norm" else exact(x) for name, x in parts}
    mask = keys.get("mask", {})
    if isinstance(mask, str):
        mask = {mask: True}
    mask = dict(mask) if isinstance(mask, dict) else {"keep": mask}
    for key in ("keep", "block"):
        if key in mask:
            mask[key] = exact(mask[key])
    if "past" in keys:
        keys["past"] = {name: exact(part) for name, part in keys["past"].items()}
        if mask.get("align") != "bottom-right":
            mask.setdefault("offset", len(keys["past"]["K"]))
    keys["mask"] = mask
    return keys


def batches(keys: Keys) -> int:
    """Return how many batch elements there are."""
    found = {1}
    for key in ("X", "memory"):
        if key in keys and depth(keys[key]) == 3:
            found.add(len(keys[key]))
    several = ["Q", "K", "V", "scores", "bias"]
    matrices = {key: keys[key] for key in several if key in keys}
    matrices |= {key: part for key, part in keys["mask"].items() if key in ("keep", "block")}
    for matrix in matrices.values():
        if depth(matrix) == 4 or (depth(matrix) == 3 and keys["heads"] == 1):
            found.add(len(matrix))
    found -= {1}
    assert len(found) <= 1
    return found.pop() if found else 1


def of_head(stack: Any, b: int, h: int, keys: Keys) -> Matrix:
    """Return the matrix of one batch element and head; a single one stands for all."""
    if depth(stack) == 4:
        stack = stack[b if len(stack) > 1 else 0]
    elif depth(stack) == 3 and keys["heads"] == 1:
        return list(stack[b if len(stack) > 1 else 0])
    if depth(stack) == 3:
        stack = stack[h if len(stack) > 1 else 0]
    return list(stack)


def project(keys: Keys, name: str, b: int) -> Heads:
    """Return Q, K or V of one batch element, a matrix a head."""
    count = keys["heads"] if name == "Q" else keys["kv_heads"]
    if name in keys:
        given = keys[name]
        if depth(given) == 2:
            return cut(given, count)
        return [of_head(given, b, h, keys) for h in range(count)]
    source = keys["memory" if keys["kind"] == "cross" and name != "Q" else "X"]
    x = source[b] if depth(source) == 3 else source
    weight, bias = keys.get(f"W_{name.lower()}"), keys.get(f"b_{name.lower()}")
    if weight is None:
        heads = cut(x, count)
    elif depth(weight) == 3:
        heads = [product(x, matrix) for matrix in weight]
    else:
        heads = cut(product(x, weight), count)
    if bias is None:
        return heads
    parts = bias if depth(bias) == 2 else pieces(bias, count)
    return [[plus(row, part) for row in head] for head, part in zip(heads, parts, strict=True)]


def value_of_scale(text: object, sizes: dict[str, int]) -> Number:
    """Return a scale expression with sizes put in."""
    known = {name: mp.mpf(size) for name, size in sizes.items()} | {"sqrt": mp.sqrt, "mpf": mp.mpf}
    code = re.sub(r"(?<![\w.])(\d+\.?\d*)", r"mpf('\1')", str(text)).replace("^", "**")
    return eval(code, known)


def solve_one(keys: Keys, b: int) -> dict[str, list[Any]]:
    """Return the steps of one batch element, each a list of heads; with `weights` always."""
    steps: dict[str, list[Any]] = {}
    group = keys["heads"] // keys["kv_heads"]
    if "scores" not in keys:
        steps["Q"], steps["K"] = project(keys, "Q", b), project(keys, "K", b)
    steps["V"] = project(keys, "V", b)
    sizes = sizes_of(keys, steps)
    used = dict(steps)
    for name in ("Q", "K") if "qk_norm" in keys and "differential" not in keys else ():
        used[name] = steps[f"{name}_normed"] = normed(steps[name], name, keys["qk_norm"])
    for name in ("K", "V") if "past" in keys else ():
        given = keys["past"][name]
        past = cut(given, keys["kv_heads"]) if depth(given) == 2 else given
        joined = [old + new for old, new in zip(past, used[name], strict=True)]
        used[name] = steps[f"{name}_all"] = joined
    if "differential" in keys:
        steps |= differential(used["Q"], used["K"], keys, b)
        pairs = enumerate(steps["weights"])
        return steps | finish([product(a, steps["V"][h // group]) for h, a in pairs], keys, b)
    contexts: Heads = []
    for h in range(keys["heads"]):
        if "scores" in keys:
            found: dict[str, Any] = {"scores": of_head(keys["scores"], b, h, keys)}
        else:
            found = scores(used["Q"][h], used["K"][h // group], keys["score"])
        found |= weigh(found["scores"], keys, b, h, sizes)
        for name, matrix in found.items():
            if name == "phi_k" and h % group:
                continue  # one for each head of the keys
            steps.setdefault(name, []).append(matrix)
        contexts.append(product(found["weights"], used["V"][h // group]))
    return steps | finish(contexts, keys, b)


def differential(q: Heads, k: Heads, keys: Keys, b: int) -> dict[str, Heads]:
    """Return what two halves of the features give, and the first weights − λ · the second."""
    p, steps = keys["differential"], dict[str, Heads]()
    d, group = len(k[0][0]) // 2, keys["heads"] // keys["kv_heads"]
    for end, part in (("_1", slice(d)), ("_2", slice(d, 2 * d))):
        halves = {f"{name}{end}": [[row[part] for row in head] for head in heads]
                  for name, heads in (("Q", q), ("K", k))}  # fmt: skip
        steps |= halves
        if "qk_norm" in keys:
            halves = {
                f"{name[0]}_normed{end}": normed(half, name[0], keys["qk_norm"])
                for name, half in halves.items()
            }
            steps |= halves
        of_q, of_k = halves.values()
        for h in range(keys["heads"]):
            found = scores(of_q[h], of_k[h // group], keys["score"])
            found |= weigh(found["scores"], keys, b, h, {"d_k": d})
            for name, matrix in found.items():
                steps.setdefault(f"{name}{end}", []).append(matrix)
    if "lambda" in p:
        factors = p["lambda"]
    else:
        first, second = (mp.exp(dot(p[f"lambda_q{i}"], p[f"lambda_k{i}"])) for i in (1, 2))
        given = p["lambda_init"] if isinstance(p["lambda_init"], list) else [p["lambda_init"]]
        factors = [first - second + x for x in given]
        steps["lambda"] = [[[x]] for x in factors]
    pairs = zip(steps["weights_1"], steps["weights_2"], of_heads(factors, keys), strict=True)
    steps["weights"] = [
        [[x - factor * y for x, y in zip(*rows, strict=True)] for rows in zip(a, c, strict=True)]
        for a, c, factor in pairs
    ]
    return steps


def of_heads(given: Any, keys: Keys) -> Vector:
    """Return a number for each head, of one for all or of a list of them."""
    numbers = given if isinstance(given, list) else [given]
    return numbers if len(numbers) > 1 else numbers * int(keys["heads"])


def rescaled(contexts: Heads, keys: Keys) -> dict[str, Heads]:
    """Return the norm of the features of each head, and that times 1 − λ_init."""
    p = keys["differential"]
    eps = p.get("eps", mp.mpf(1e-6))
    gain = p.get("gain", [mp.mpf(1)] * len(contexts[0][0]))
    squares = [[[dot(row, row) / len(row)] for row in head] for head in contexts]
    norm = [
        [
            [x / mp.sqrt(square + eps) * g for x, g in zip(row, gain, strict=True)]
            for row, (square,) in zip(*pair, strict=True)
        ]
        for pair in zip(contexts, squares, strict=True)
    ]
    rest = [1 - x for x in of_heads(p["lambda_init"], keys)]
    scaled = [[[x * y for x in row] for row in head] for head, y in zip(norm, rest, strict=True)]
    return {"mean_square_context": squares, "normed_context": norm, "rescaled_context": scaled}


def normed(heads: Heads, name: str, norm: Any) -> Heads:
    """Each vector divided by its length, or by √(mean x² + eps) and times g."""
    norm = norm if isinstance(norm, dict) else {"name": norm}
    if norm["name"] == "l2":
        return [[[x / mp.sqrt(dot(row, row)) for x in row] for row in head] for head in heads]
    eps, gain = exact(norm.get("eps", 1e-6)), norm.get(f"g_{name.lower()}")
    found = [
        [[x / mp.sqrt(dot(row, row) / len(row) + eps) for x in row] for row in head]
        for head in heads
    ]
    if gain is None:
        return found
    gain = exact(gain)
    return [[[x * g for x, g in zip(row, gain, strict=True)] for row in head] for head in found]


def sizes_of(keys: Keys, steps: dict[str, list[Any]]) -> dict[str, int]:
    """Return the sizes that a scale expression may name, for one head."""
    sizes = {"d_v": len(steps["V"][0][0])}
    if "K" in steps:
        sizes["d_k"] = len(steps["K"][0][0])
    if "X" in keys:
        sizes["d_model"] = len(keys["X"][0][0] if depth(keys["X"]) == 3 else keys["X"][0])
    return sizes


def scores(q: Matrix, k: Matrix, score: Keys) -> dict[str, Any]:
    """Return `scores`, and `hidden` where there is a hidden layer."""
    parameters = {key: value for key, value in score.items() if key != "name"}
    if score["name"] in HIDDEN:
        v = parameters.pop("v")
        layer = HIDDEN[score["name"]]
        hidden = [[layer(a, b, **parameters) for b in k] for a in q]
        return {"hidden": hidden, "scores": [times(row, v) for row in hidden]}
    if score["name"] == "linear":
        phi_q, phi_k = [phi(a) for a in q], [phi(b) for b in k]
        return {"phi_q": phi_q, "phi_k": phi_k, "scores": product(phi_q, transpose(phi_k))}
    function = SCORES[score["name"]]
    return {"scores": [[function(a, b, **parameters) for b in k] for a in q]}


def weigh(s: Matrix, keys: Keys, b: int, h: int, sizes: dict[str, int]) -> dict[str, Matrix]:
    """Return what comes after `scores`, up to `weights`."""
    n, m = len(s), len(s[0])
    sizes = sizes | {"n": n, "m": m}
    steps: dict[str, Matrix] = {}
    default = "1/sqrt(d_k)" if keys["score"]["name"] == "scaled_dot" else "1"
    factor = value_of_scale(keys.get("scale", "1" if "scores" in keys else default), sizes)
    if factor != 1:
        s = steps["scaled"] = [[x * factor for x in row] for row in s]
    if "softcap" in keys:
        cap = keys["softcap"]
        s = steps["capped"] = [[cap * mp.tanh(x / cap) for x in row] for row in s]
    if "bias" in keys and np.any(floats(keys["bias"])):
        bias = of_head(keys["bias"], b, h, keys)
        s = [[s[i][j] + broadcast(bias, i, j) for j in range(m)] for i in range(n)]
        steps["biased"] = s
    if any_blocked(n, m, keys):
        mask = mask_of(keys, b, h)
        s = [
            [s[i][j] if may_attend(i, j, n, m, mask) else BLOCKED for j in range(m)]
            for i in range(n)
        ]
        steps["masked"] = s
    return steps | normalize(s, keys["normalize"], h)


def mask_of(keys: Keys, b: int, h: int) -> Keys:
    """Return the mask of one batch element and head."""
    mask = dict(keys["mask"])
    for key in ("keep", "block"):
        if key in mask:
            mask[key] = of_head(mask[key], b, h, keys)
    if isinstance(mask.get("lengths"), list):
        mask["lengths"] = mask["lengths"][b if len(mask["lengths"]) > 1 else 0]
    return mask


def any_blocked(n: int, m: int, keys: Keys) -> bool:
    """Whether the mask changes anything for any batch element or head."""
    return not all(
        may_attend(i, j, n, m, mask_of(keys, b, h))
        for b in range(batches(keys))
        for h in range(keys["heads"])
        for i in range(n)
        for j in range(m)
    )


def with_sink(exponentials: Vector, z: Number) -> tuple[Number, Vector]:
    """Return the sum of a row of powers and e^z, and the weights: those of one key more."""
    total = mp.fsum([*exponentials, mp.exp(z)])
    return total, [x / total if total else mp.mpf(0) for x in exponentials]


def normalize(s: Matrix, settings: Keys, head: int = 0) -> dict[str, Matrix]:
    """Return `weights`, and `exp` and `sum` before them where the normaliser has them."""
    name = settings["name"]
    temperature = mp.mpf(settings.get("temperature", 1))
    base = settings.get("base", "e")
    base = None if base == "e" else mp.mpf(base)
    turn: Callable[[Matrix], Matrix] = (
        transpose if settings.get("axis") == "queries" else lambda matrix: matrix
    )
    rows = turn(s)
    steps: dict[str, Matrix] = {}
    if name == "softmax":
        exponentials = [powers(row, temperature, base) for row in rows]
        steps["exp"] = turn(exponentials)
        steps["sum"] = turn([[mp.fsum(row)] for row in exponentials])
    if name == "sum":
        steps["sum"] = turn([[mp.fsum(unblocked(row))] for row in rows])
    if "sink" in settings:
        given = settings["sink"]
        z = mp.mpf(given[head % len(given)] if isinstance(given, list) else given)
        found = [with_sink(powers_of_row, z) for powers_of_row in exponentials]
        steps["sum"] = turn([[total] for total, _ in found])
        return steps | {"weights": turn([weights for _, weights in found])}
    steps["weights"] = turn([NORMALIZERS[name](row, temperature, base) for row in rows])
    return steps


def gate(keys: Keys, b: int) -> Heads:
    """1 / (1 + e^−x) of X W + b, a column or a piece of the columns for each head."""
    rows = product(keys["X"][b] if depth(keys["X"]) == 3 else keys["X"], keys["gate"]["W"])
    rows = [plus(row, keys["gate"]["b"]) for row in rows] if "b" in keys["gate"] else rows
    return cut([[1 / (1 + mp.exp(-x)) for x in row] for row in rows], keys["heads"])


def gated(context: Matrix, gates: Matrix) -> Matrix:
    """Each number times its own gate, or the only one of its row."""
    pairs = zip(context, gates, strict=True)
    return [[x * row[j % len(row)] for j, x in enumerate(numbers)] for numbers, row in pairs]


def finish(contexts: Heads, keys: Keys, b: int) -> dict[str, list[Any]]:
    """Return what comes after the heads; the last of context, concat and output is `output`."""
    steps = {"context": contexts}
    last = "context"
    if "norm" in keys.get("differential", {}):
        steps |= rescaled(contexts, keys)
        contexts = steps["rescaled_context"]
    if "gate" in keys:
        steps["gate"] = gate(keys, b)
        contexts = [gated(*pair) for pair in zip(contexts, steps["gate"], strict=True)]
        steps["gated"] = contexts
    output = contexts[0]
    if keys["heads"] > 1:
        output = [[x for head in contexts for x in head[i]] for i in range(len(contexts[0]))]
        steps["concat"] = [output]
        last = "concat"
    if "W_o" in keys or "b_o" in keys:
        output = product(output, keys["W_o"]) if "W_o" in keys else output
        output = [plus(row, keys["b_o"]) for row in output] if "b_o" in keys else output
        steps["output"] = [output]
    elif len(steps) > 1 and keys["heads"] == 1:
        steps["output"] = contexts
    else:
        steps["output"] = steps.pop(last)
    if "W_c" in keys:
        x = keys["X"][b] if depth(keys["X"]) == 3 else keys["X"]
        joined = [c + h for c, h in zip(output, x, strict=True)]
        steps["attentional"] = [[tanh(times(keys["W_c"], row)) for row in joined]]
    return steps


def check(trace: Any, expected: dict[str, Any], relative: float = 1e-12) -> None:
    """Assert that a trace has exactly the expected steps, in order, with the expected numbers.

    A step without a batch or head axis must hold the numbers of all batch elements or heads. Where
    a sum cancels, it may be off by a hundredth of `relative` of the step's largest number: 1e-14,
    which is 45 ε, for sums of fewer than 20 products.
    """
    assert list(trace.steps) == list(expected)
    for step in trace:
        want = floats(expected[step.name])
        value = step.value
        assert value.ndim == len(step.axes)
        value = value[..., None, :] if len(step.trailing) == 1 else value
        places = tuple(slice(None) if axis in step.axes else None for axis in ("batch", "head"))
        found = np.broadcast_to(value[places], want.shape)
        is_of_powers = step.name.startswith(("exp", "sum", "weights"))  # of which no sum cancels
        is_positive = is_of_powers and want.min(initial=0.0) >= 0
        largest = 0.0 if is_positive else float(np.abs(want[np.isfinite(want)]).max(initial=0.0))
        allowed = relative, relative / 100 * largest
        np.testing.assert_allclose(found, want, *allowed, err_msg=step.name)
