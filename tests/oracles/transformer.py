"""Transformer blocks by plain loops over lists, from the formulas of the papers alone.

`solve` takes the keys of a problem of kind `transformer` and returns every step by its name. The
same loops work with floats, with numbers of 50 digits, and with floats that carry a bound on their
rounding errors (`tests.oracles.rounded`): an `Arithmetic` holds the functions of its numbers.
`difference` gives the derivative of the loss by differences in 50 digits.

Sources: Vaswani et al. 2017 (post-norm, sinusoidal positions), Ba et al. 2016 (layer norm), Xiong
et al. 2020 (pre-norm), Zhang and Sennrich 2019 (RMS norm), Hendrycks and Gimpel 2016 (GELU and its
tanh form), Shazeer 2020 (SwiGLU, GEGLU), Su et al. 2021 (RoPE), Press et al. 2022 (ALiBi).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeVar

from tests.oracles.reference import mp

Keys = dict[str, Any]
Number = Any
Vector = list[Number]
Matrix = list[Vector]
T = TypeVar("T")

BLOCKED = -math.inf
"""A score that the mask blocks."""


class Arithmetic(NamedTuple):
    """The functions of one kind of numbers."""

    number: Callable[[Any], Number]  # from a number of the problem
    total: Callable[[Iterable[Number]], Number]  # the sum of several
    exp: Callable[[Number], Number]
    log: Callable[[Number], Number]
    sqrt: Callable[[Number], Number]
    tanh: Callable[[Number], Number]
    erf: Callable[[Number], Number]
    cos: Callable[[Number], Number]
    sin: Callable[[Number], Number]
    pi: Number


def arithmetic(functions: Any, number: Callable[[Any], Number], total: Any) -> Arithmetic:
    """Return the arithmetic of a module, or of anything else with these functions."""
    names = Arithmetic._fields[2:]
    return Arithmetic(number, total, *(getattr(functions, name) for name in names))


FLOATS = arithmetic(math, float, math.fsum)
EXACT = arithmetic(mp, mp.mpf, mp.fsum)
"""The arithmetic of 50 digits."""

ACTIVATIONS = ("relu", "gelu", "gelu_tanh", "silu")
GATED = {"swiglu": "silu", "geglu": "gelu"}
"""Names of an activation that is used with W_3."""

EPS = {"layer": 1e-5, "rms": 1e-6}
OF_SCORES = ("rope", "alibi", "relative")
"""Positions that act in every layer; the others are added to the tokens once."""

OF_PROBLEM = ("kind", "tokens", "X", "embedding", "layers", "final_norm", "unembedding", "W_u")
"""Keys that are no layer's, beside `target`, `gradient` and `learning_rate`."""


def layers_of(keys: Keys) -> list[Keys]:
    """Return the keys of each layer; one that it lacks is that of the whole problem."""
    others = (*OF_PROBLEM, "target", "gradient", "learning_rate", "positions")
    shared = {key: value for key, value in keys.items() if key not in others}
    acting = [p for p in listed(keys.get("positions", [])) if p["name"] in OF_SCORES]
    return [shared | {"positions": acting} | layer for layer in keys.get("layers", [{}])]


def listed(positions: Any) -> list[Keys]:
    several = positions if isinstance(positions, list) else [positions]
    return [{"name": one} if isinstance(one, str) else one for one in several]


class Work:
    """The steps of one problem, worked one after the other.

    Attributes:
        steps: what was worked so far, by name; numbers with several heads are nested lists
            [head][row][column], others [row][column].
        last: the name that the last step would have if it were not called `output`; empty where
            the problem has an unembedding.
        next: the index of the largest logit at the last position, from 0.
    """

    def __init__(self, keys: Keys, own: Arithmetic) -> None:
        self.keys, self.own = keys, own
        self.steps: dict[str, Any] = {}
        self.prefix = self.last = ""
        self.next: int | None = None

    def work(self) -> Work:
        x = self.start()
        layers = layers_of(self.keys)
        for number, layer in enumerate(layers, 1):
            self.prefix = f"layers.{number}." if len(layers) > 1 else ""
            x = self.layer(layer, x)
        self.last, self.prefix = [*self.steps][-1], ""
        self.end(x, layers[-1])
        return self

    def record(self, name: str, value: T) -> T:
        self.steps[self.prefix + name] = value
        return value

    def numbers(self, value: Any) -> Any:
        """Return nested lists in this arithmetic."""
        if isinstance(value, list):
            return [self.numbers(item) for item in value]
        return self.own.number(value)

    # Vectors and matrices.

    def dot(self, a: Vector, b: Vector) -> Number:
        return self.own.total([x * y for x, y in zip(a, b, strict=True)])

    def product(self, a: Matrix, b: Matrix) -> Matrix:
        columns = transposed(b)
        return [[self.dot(row, column) for column in columns] for row in a]

    def linear(self, x: Matrix, keys: Keys, name: str) -> Matrix:
        """X W + b, by what the names of W and b end with; without W, X."""
        weight, bias = keys.get(f"W_{name}"), keys.get(f"b_{name}")
        if weight is not None:
            weight = self.numbers(weight)
            if isinstance(weight[0][0], list):  # one matrix per head, side by side
                weight = [[c for row in rows for c in row] for rows in zip(*weight, strict=True)]
            x = self.product(x, weight)
        return x if bias is None else [plus(row, self.numbers(bias)) for row in x]

    # What comes before the layers.

    def start(self) -> Matrix:
        """Return the tokens, looked up in the table, with positions that are added."""
        if "X" in self.keys:
            x: Matrix = self.numbers(self.keys["X"])
        else:
            table = self.numbers(self.keys["embedding"]["table"])
            x = self.record("X", [table[place] for place in places(self.keys, "tokens")])
        for p in listed(self.keys.get("positions", [])):
            if p["name"] in OF_SCORES:
                continue
            if p["name"] == "sinusoidal":
                added = self.record("positions", self.sinusoids(len(x), len(x[0]), p))
            else:
                added = self.numbers(p["P"])
            x = self.record("embedded", [plus(a, b) for a, b in zip(x, added, strict=True)])
        return x

    def angle(self, t: int, j: int, size: int, p: Keys) -> Number:
        """T / base^(2j/size)."""
        base = self.own.log(self.own.number(p.get("base", 10000)))
        return self.own.number(t) / self.own.exp(base * 2 * j / size)

    def sinusoids(self, n: int, d: int, p: Keys) -> Matrix:
        rows = []
        for i in range(n):
            row: dict[int, Number] = {}
            for j, (first, second) in enumerate(pairs(d, p)):
                theta = self.angle(p.get("start", 0) + i, j, d, p)
                row[first], row[second] = self.own.sin(theta), self.own.cos(theta)
            rows.append([row[column] for column in range(d)])
        return rows

    # A layer.

    def layer(self, keys: Keys, x: Matrix) -> Matrix:
        is_pre = keys.get("place", "pre") == "pre"
        for half, function in (("1", self.attention), ("2", self.feed_forward)):
            if half == "2" and "W_1" not in keys:
                break
            read = self.normed(x, keys, half) if is_pre else x
            made = function(keys, read)
            x = self.record(f"residual_{half}", [plus(a, b) for a, b in zip(x, made, strict=True)])
            x = x if is_pre else self.normed(x, keys, half)
        return x

    def normed(self, x: Matrix, keys: Keys, half: str) -> Matrix:
        if keys.get("norm", "layer") == "none":
            return x
        steps, result = self.norm(x, keys, keys.get(f"gain_{half}"), keys.get(f"shift_{half}"))
        for name, value in steps.items():
            self.record(f"{name}_{half}", value)
        return self.record(f"normed_{half}", result)

    def norm(self, x: Matrix, keys: Keys, gain: Any, shift: Any) -> tuple[Keys, Matrix]:
        """(x − mean) / √(variance + eps), or x / √(mean square + eps); times gain, plus shift."""
        name = keys.get("norm", "layer")
        eps = self.own.number(keys.get("eps", EPS[name]))
        steps: dict[str, Matrix] = {}
        if name == "layer":
            means = [self.own.total(row) / len(row) for row in x]
            steps["mean"] = [[mean] for mean in means]
            x = [[c - mean for c in row] for row, mean in zip(x, means, strict=True)]
        squares = [self.own.total([c * c for c in row]) / len(row) for row in x]
        steps["variance" if name == "layer" else "mean_square"] = [[s] for s in squares]
        roots = [self.own.sqrt(s + eps) for s in squares]
        x = [[c / root for c in row] for row, root in zip(x, roots, strict=True)]
        if gain is not None:
            x = [times(row, self.numbers(gain)) for row in x]
        if shift is not None:
            x = [plus(row, self.numbers(shift)) for row in x]
        return steps, x

    def attention(self, keys: Keys, x: Matrix) -> Matrix:
        heads = int(keys.get("heads", 1))
        kv_heads = int(keys.get("kv_heads", heads))
        made = {}
        for name, count in (("Q", heads), ("K", kv_heads), ("V", kv_heads)):
            made[name] = cut(self.linear(x, keys, name.lower()), count)
            self.record(name, together(made[name]))
        positions = listed(keys.get("positions", []))
        for p in (p for p in positions if p["name"] == "rope"):
            self.record_angles(len(x), len(made["Q"][0][0]), p)
            for name in "QK":
                made[name] = [self.turned(rows, p) for rows in made[name]]
                self.record(f"{name}_rotated", together(made[name]))
        found: dict[str, list[Matrix]] = {}
        for h in range(heads):
            q, k, v = made["Q"][h], *(made[name][h * kv_heads // heads] for name in "KV")
            for name, rows in self.head(keys, q, k, v, (h, heads)).items():
                found.setdefault(name, []).append(rows)
        joined = [
            [c for part in rows for c in part] for rows in zip(*found["context"], strict=True)
        ]
        if heads > 1:
            found["concat"] = [joined]
        if "W_o" not in keys and "b_o" not in keys:
            del found["concat" if heads > 1 else "context"]  # it is the last, and called attended
        for name, several in found.items():
            self.record(name, together(several))
        return self.record("attended", self.linear(joined, keys, "o"))

    def head(self, keys: Keys, q: Matrix, k: Matrix, v: Matrix, head: Any) -> dict[str, Matrix]:
        """Return the steps of one head, from its scores to its context."""
        steps = {"scores": self.product(q, transposed(k))}
        s = steps["scores"]
        scale = keys.get("scale")
        if scale is not None:
            factor = self.own.number(scale)
        else:
            factor = 1 / self.own.sqrt(self.own.number(len(k[0])))
        if scale != 1 and (scale is not None or len(k[0]) > 1):
            s = steps["scaled"] = [[c * factor for c in row] for row in s]
        positions = [p for p in listed(keys.get("positions", [])) if p["name"] != "rope"]
        for p in positions:
            s = [[c + self.bias(p, i, j, *head) for j, c in enumerate(r)] for i, r in enumerate(s)]
            steps["biased"] = s
        keep = mask_of(keys.get("mask"), len(q))
        if not all(map(all, keep)):
            s = [
                [c if seen else BLOCKED for c, seen in zip(row, kept, strict=True)]
                for row, kept in zip(s, keep, strict=True)
            ]
            steps["masked"] = s
        return steps | self.softmax(s) | {"context": self.product(self.softmax(s)["weights"], v)}

    def softmax(self, rows: Matrix, suffix: str = "") -> dict[str, Matrix]:
        """Return the powers of e, their sums, and the shares of each power in its sum."""
        zero = self.own.number(0)
        powers = [[zero if c is BLOCKED else self.own.exp(c) for c in row] for row in rows]
        sums = [self.own.total(row) for row in powers]
        shares = [
            [c / total if c is not zero else zero for c in row]
            for row, total in zip(powers, sums, strict=True)
        ]
        return {f"exp{suffix}": powers, f"sum{suffix}": [[s] for s in sums], "weights": shares}

    def bias(self, p: Keys, i: int, j: int, head: int, heads: int) -> Number:
        """Return what positions add to a score."""
        if p["name"] == "alibi":
            own = p["slopes"][head] if "slopes" in p else slope(head, heads)
            return -self.own.number(own) * abs(i - j)
        table = p["table"][head] if isinstance(p["table"][0], list) else p["table"]
        k = len(table) // 2
        return self.own.number(table[min(max(j - i, -k), k) + k])

    def record_angles(self, n: int, size: int, p: Keys) -> None:
        start = p.get("start", 0)
        angles = [
            [self.angle(start + i, j, size, p) for j in range(len(pairs(size, p)))]
            for i in range(n)
        ]
        self.record("angles", angles)
        self.record("cos", [[self.own.cos(c) for c in row] for row in angles])
        self.record("sin", [[self.own.sin(c) for c in row] for row in angles])

    def turned(self, rows: Matrix, p: Keys) -> Matrix:
        """Return the rows with each pair (x, y) of features turned by its angle."""
        found = []
        for i, row in enumerate(rows):
            new = list(row)
            for j, (a, b) in enumerate(pairs(len(row), p)):
                theta = self.angle(p.get("start", 0) + i, j, len(row), p)
                c, s = self.own.cos(theta), self.own.sin(theta)
                new[a], new[b] = row[a] * c - row[b] * s, row[a] * s + row[b] * c
            found.append(new)
        return found

    def feed_forward(self, keys: Keys, x: Matrix) -> Matrix:
        hidden = self.record("hidden", self.linear(x, keys, "1"))
        name: str = keys.get("activation", "relu")
        function = self.activation(GATED.get(name, name))
        made = self.record("activated", [[function(c) for c in row] for row in hidden])
        if "W_3" in keys:
            value = self.record("value", self.linear(x, keys, "3"))
            gated = [times(a, b) for a, b in zip(made, value, strict=True)]
            made = self.record("gated", gated)
        return self.record("feed_forward", self.linear(made, keys, "2"))

    def activation(self, name: str) -> Callable[[Number], Number]:
        own = self.own

        def relu(x: Number) -> Number:
            return x if x > 0 else own.number(0)

        def gelu(x: Number) -> Number:
            return x * (1 + own.erf(x / own.sqrt(own.number(2)))) / 2

        def gelu_tanh(x: Number) -> Number:
            inner = x + own.number("0.044715") * x * x * x
            return x * (1 + own.tanh(own.sqrt(2 / own.number(own.pi)) * inner)) / 2

        def silu(x: Number) -> Number:
            return x / (1 + own.exp(-x))

        return {"relu": relu, "gelu": gelu, "gelu_tanh": gelu_tanh, "silu": silu}[name]

    # What comes after the layers.

    def end(self, x: Matrix, layer: Keys) -> None:
        final = self.keys.get("final_norm")
        if final is not None:
            of_norm = {"norm": layer.get("norm", "layer")} | final
            x = self.norm(x, of_norm, final.get("gain"), final.get("shift"))[1]
            self.steps["final"] = x
            self.last = "final"
        matrix = self.unembedding()
        if matrix is None:
            self.steps["output"] = self.steps.pop(self.last)
            return
        self.last = ""
        logits = self.record("logits", self.product(x, matrix))
        steps = self.softmax(logits, "_logits")
        shares = steps.pop("weights")
        self.steps |= steps | {"probabilities": shares}
        self.next = max(range(len(logits[-1])), key=lambda place: logits[-1][place])
        if "target" in self.keys:
            right = zip(shares, places(self.keys, "target"), strict=True)
            losses = [-self.own.log(row[place]) for row, place in right]
            self.steps["loss"] = self.own.total(losses) / len(losses)

    def unembedding(self) -> Matrix | None:
        """Return what logits are the product of tokens with, (features, words)."""
        given = self.keys.get("unembedding", self.keys.get("W_u"))
        if given is None:
            return None
        if given == "tied":
            return transposed(self.numbers(self.keys["embedding"]["table"]))
        found: Matrix = self.numbers(given["W_u"] if isinstance(given, dict) else given)
        return found


def plus(a: Vector, b: Vector) -> Vector:
    return [x + y for x, y in zip(a, b, strict=True)]


def times(a: Vector, b: Vector) -> Vector:
    return [x * y for x, y in zip(a, b, strict=True)]


def transposed(matrix: Matrix) -> Matrix:
    return [list(column) for column in zip(*matrix, strict=True)]


def cut(matrix: Matrix, count: int) -> list[Matrix]:
    """Return the features cut into contiguous pieces, one per head."""
    size = len(matrix[0]) // count
    return [[row[h * size : (h + 1) * size] for row in matrix] for h in range(count)]


def together(heads: list[Matrix]) -> Any:
    """Return one head as a matrix, several as a list of matrices."""
    return heads if len(heads) > 1 else heads[0]


def pairs(size: int, p: Keys) -> list[tuple[int, int]]:
    """Return the two features of each pair; an odd size has one feature more, which is dropped."""
    half = (size + 1) // 2
    if p.get("pairs") == "halves":
        return [(j, j + half) for j in range(half)]
    return [(2 * j, 2 * j + 1) for j in range(half)]


def slope(head: int, heads: int) -> float:
    """Press et al. 2022, section 3, and their code for other numbers of heads."""
    power = 1
    while 2 * power <= heads:
        power *= 2
    if head < power:
        return float(2 ** (-8 * (head + 1) / power))
    return float(2 ** (-8 * (2 * (head - power) + 1) / (2 * power)))


def mask_of(mask: Any, n: int) -> list[list[bool]]:
    """Return which keys each query may attend to."""
    if isinstance(mask, list):
        return [[bool(c) for c in row] for row in mask]
    return [[mask != "causal" or j <= i for j in range(n)] for i in range(n)]


def places(keys: Keys, name: str) -> list[int]:
    """Return the rows of the table that tokens or targets name, from 0; a label wins."""
    known = list(keys.get("embedding", {}).get("vocabulary", ()))
    return [known.index(word) if word in known else int(word) - 1 for word in keys[name]]


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
    if "X" in keys:
        yield Parameter("X", ("X",))
    if "embedding" in keys:
        yield Parameter("embedding.table", ("embedding", "table"))
    layers = keys.get("layers", [])
    if len(layers) < 2:
        yield from (Parameter(key, (key,)) for key in OF_LAYER if key in keys)
        yield from _of_positions(keys, "", ())
    elif all(p["name"] == "learned" for p in listed(keys.get("positions", []))):
        yield from _of_positions(keys, "", ())
    for number, layer in enumerate(layers):
        prefix = f"layers.{number + 1}." if len(layers) > 1 else ""
        path = ("layers", number)
        yield from (Parameter(prefix + key, (*path, key)) for key in OF_LAYER if key in layer)
        yield from _of_positions(layer, prefix, path)
    final = keys.get("final_norm", {})
    for key in ("gain", "shift"):
        if key in final:
            yield Parameter(f"final_norm.{key}", ("final_norm", key))
    if "W_u" in keys:
        yield Parameter("W_u", ("W_u",))


def _of_positions(keys: Keys, prefix: str, path: tuple[str | int, ...]) -> Iterator[Parameter]:
    given = keys.get("positions", [])
    for place, p in enumerate(listed(given)):
        at = ("positions", place) if isinstance(given, list) else ("positions",)
        for part in ("P", "table"):
            if part in p:
                yield Parameter(f"{prefix}positions.{part}", (*path, *at, part))


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


STEP = mp.mpf(10) ** -15
"""How far `difference` moves a number: its error is then below 10^-28 for moderate numbers."""


def loss(keys: Keys, gradient: Any, own: Arithmetic = EXACT) -> Number:
    """Return what the gradient `loss`, `sum`, or a matrix ∂L/∂output is the derivative of."""
    steps = solve(keys, own)
    if gradient == "loss":
        return steps["loss"]
    output = [c for row in steps["output"] for c in row]
    if gradient == "sum":
        return own.total(output)
    upstream = [own.number(c) for row in gradient for c in row]
    return own.total([a * b for a, b in zip(output, upstream, strict=True)])


def difference(keys: Keys, parameter: Parameter, place: tuple[int, ...], gradient: Any) -> Number:
    """Return the derivative of the loss with respect to one number, in 50 digits."""
    path = (*parameter.path, *place)
    middle = mp.mpf(numbers_at(keys, path))
    ends = [loss(replaced(keys, path, middle + sign * STEP), gradient) for sign in (1, -1)]
    return (ends[0] - ends[1]) / (2 * STEP)


def distance_to_kink(keys: Keys) -> Number:
    """Return how near the hidden layer comes to 0, where relu has no derivative."""
    steps, near = solve(keys, FLOATS), math.inf
    for number, layer in enumerate(layers_of(keys), 1):
        prefix = f"layers.{number}." if len(layers_of(keys)) > 1 else ""
        if layer.get("activation", "relu") == "relu" and "W_1" in layer:
            near = min(near, *(abs(c) for row in steps[f"{prefix}hidden"] for c in row))
    return near
