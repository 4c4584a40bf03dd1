"""From queries and keys to weights, and to what is read by them: every score, mask and normaliser.

Bahdanau et al. 2015 (additive), Luong et al. 2015 (dot, general, concat), Vaswani et al. 2017
(scaled), Katharopoulos et al. 2020 (linear), Martins and Astudillo 2016 (sparsemax), Press et al.
2022 (ALiBi), Shaw et al. 2018 (relative), Dao 2023, algorithm 1 (tiles).
"""

from __future__ import annotations

import re
from typing import Any

from tests.oracles.arithmetic import BLOCKED, Arithmetic, Hand, Heads, Keys, Matrix, Number, Vector
from tests.oracles.lists import depth, each, every, is_list, plus, shared, times, transposed
from tests.oracles.positions import added_to_score

# Scores.


def scores(hand: Hand, q: Heads, k: Heads, score: Keys) -> Heads:
    """Write what the score function gives for every query and key, of every head of queries."""
    own, name = hand.own, score["name"]
    parts = {key: hand.numbers(part) for key, part in score.items() if key != "name"}
    if name == "linear":
        q, k = (hand.write(f"phi_{side}", each(phi(own), x)) for side, x in (("q", q), ("k", k)))
    pairs = [*zip(q, shared(k, len(q)), strict=True)]
    if name in ("additive", "concat"):
        hidden = hand.write("hidden", [layer(hand, parts, *pair) for pair in pairs])
        found = [[hand.applied(row, parts["v"]) for row in head] for head in hidden]
        return hand.write("scores", found)
    if name == "general":
        pairs = [(a, [hand.applied(parts["W"], y) for y in b]) for a, b in pairs]

    def cosine(x: Vector, y: Vector) -> Number:
        return own.dot(x, y) / (own.sqrt(own.dot(x, x)) * own.sqrt(own.dot(y, y)))

    def distance(x: Vector, y: Vector) -> Number:
        width = parts.get("width", own.number(1))
        return -own.total([(a - b) * (a - b) for a, b in zip(x, y, strict=True)]) / (
            2 * width * width
        )

    function = {"cosine": cosine, "distance": distance}.get(name, own.dot)
    return hand.write("scores", [[[function(x, y) for y in b] for x in a] for a, b in pairs])


def phi(own: Arithmetic) -> Any:
    """Return x + 1 where x is positive, else e^x."""
    return lambda x: x + 1 if x > 0 else own.exp(x)


def layer(hand: Hand, parts: Keys, q: Matrix, k: Matrix) -> list[Matrix]:
    """tanh(W q + U k + b), or tanh(W [q; k] + b)."""
    w, b = parts["W"], parts.get("b")
    of_q, of_k = (
        [row[: len(q[0])] for row in w],
        parts.get("U") or [row[len(q[0]) :] for row in w],
    )
    sides = [[hand.applied(matrix, row) for row in rows] for matrix, rows in ((of_q, q), (of_k, k))]
    inner = [[plus(x, y) for y in sides[1]] for x in sides[0]]
    inner = [[plus(x, b) for x in row] for row in inner] if b else inner
    return each(hand.own.tanh, inner)


# What is done to scores before they are normalised.


def value_of_scale(own: Arithmetic, given: Any, sizes: dict[str, int]) -> Number:
    """Return a scale, which may be an expression of sizes."""
    if not isinstance(given, str):
        return own.number(given)
    known = {name: own.number(size) for name, size in sizes.items()}
    code = re.sub(r"(?<![\w.])(\d+\.?\d*)", r"number('\1')", given).replace("^", "**")
    return eval(code, {"number": own.number, "sqrt": own.sqrt, **known})


def scaled(hand: Hand, s: Heads, keys: Keys, sizes: dict[str, int]) -> Heads:
    """Divide by √d_k, or multiply by the scale of the problem."""
    if "scale" in keys:
        factor = value_of_scale(hand.own, keys["scale"], sizes)
        return s if factor == 1 else hand.write("scaled", each(lambda x: x * factor, s))
    d_k = sizes.get("d_k", 1)
    if "scores" in keys or keys["score"]["name"] != "scaled_dot" or d_k == 1:
        return s
    root = hand.own.sqrt(
        hand.either(
            d_k, scaled_by_whole_head=lambda: 2 * d_k, scaled_by_content_part=lambda: sizes["d_h"]
        )
    )
    return hand.write("scaled", each(lambda x: x / root, s))


def biased(hand: Hand, s: Heads, keys: Keys) -> Heads:
    """Add the bias of the problem, and what positions add to scores."""
    found = s
    if "bias" in keys and any(map(float, every(keys["bias"]))):
        found = []
        for h, matrix in enumerate(s):
            bias = hand.numbers(keys["bias"])
            bias = bias[h % len(bias)] if depth(bias) == 3 else bias
            found.append(
                [[x + cell(bias, i, j) for j, x in enumerate(r)] for i, r in enumerate(matrix)]
            )
    for p in keys["positions"]:
        if p["name"] in ("alibi", "relative"):
            found = [
                [
                    [x + added_to_score(hand, p, i, j, h, len(s)) for j, x in enumerate(row)]
                    for i, row in enumerate(matrix)
                ]
                for h, matrix in enumerate(found)
            ]
    return s if found is s else hand.write("biased", found)


def cell(matrix: Matrix, i: int, j: int) -> Number:
    """Return a cell of a matrix of which one row or one column may be that of all."""
    row = matrix[i if len(matrix) > 1 else 0]
    return row[j if len(row) > 1 else 0]


FORMS = {"causal", "keep", "block", "lengths", "window", "when", "align", "offset"}
"""The keys of a mask that `may_attend` knows."""


def may_attend(i: int, j: int, n: int, m: int, mask: Keys) -> bool:
    """Return whether all forms of a mask let query i see key j; matrices are of one head."""
    assert set(mask) <= FORMS, "the oracle has no line for a form of the mask"
    p = i + (m - n if mask.get("align") == "bottom-right" else 0) + int(mask.get("offset", 0))
    left, right = mask.get("window", (-1, -1))
    places = {"i": i + 1, "j": j + 1, "p": p + 1, "n": n, "m": m}
    return (
        not (mask.get("causal") and j > p)
        and not ("keep" in mask and cell(mask["keep"], i, j) == 0)
        and not ("block" in mask and cell(mask["block"], i, j) == 1)
        and j < mask.get("lengths", m)
        and (left == -1 or p - left <= j)
        and (right == -1 or j <= p + right)
        and bool(eval(mask.get("when", "True"), places))
    )


def masked(hand: Hand, s: Heads, keys: Keys) -> Heads:
    """Write −∞ where a query may not see a key, if that is so anywhere."""
    n, m, mask = len(s[0]), len(s[0][0]), keys["mask"]
    found, is_any = [], bool(keys.get("is_masked"))
    for h, matrix in enumerate(s):
        several = {k: part for k, part in mask.items() if is_list(part) and depth(part) == 3}
        own = mask | {key: part[h % len(part)] for key, part in several.items()}
        seen = [[may_attend(i, j, n, m, own) for j in range(m)] for i in range(n)]
        is_any = is_any or not all(map(all, seen))
        blocked = hand.own.number(BLOCKED)
        found.append(each(lambda x, is_seen, b=blocked: x if is_seen else b, matrix, seen))
    return hand.write("masked", found) if is_any else s


# Normalisers.


def weigh(hand: Hand, s: Heads, keys: Keys, sizes: dict[str, int]) -> Heads:
    """Write what comes after the scores, up to the weights."""
    return normalized(hand, adjusted(hand, s, keys, sizes), keys["normalize"])


def adjusted(hand: Hand, s: Heads, keys: Keys, sizes: dict[str, int]) -> Heads:
    """Write what is done to scores before they are normalised."""
    s = scaled(hand, s, keys, sizes | {"n": len(s[0]), "m": len(s[0][0])})
    if "softcap" in keys:
        cap = hand.own.number(keys["softcap"])
        s = hand.write("capped", each(lambda x: cap * hand.own.tanh(x / cap), s))
    s = masked(hand, biased(hand, s, keys), keys)
    if hand.does("cache_without_new_token") and len(s[0][0]) > 1:
        s = [[[*row[:-1], hand.own.number(BLOCKED)] for row in matrix] for matrix in s]
    return s


def normalized(hand: Hand, s: Heads, how: Keys) -> Heads:
    """Write the weights, and what a normaliser has before them; −∞ weighs nothing."""
    own, name, temperature = hand.own, how["name"], how.get("temperature", 1)
    is_blocked = f"masked{hand.suffix}" in hand.steps or BLOCKED in every(s)
    if name == "none" and temperature == 1 and not is_blocked:
        return s

    def turn(heads: Heads) -> Heads:
        return [*map(transposed, heads)] if how.get("axis") == "queries" else heads

    def write(step: str, heads: Heads) -> Heads:
        return turn(hand.write(step, turn(heads)))

    rows = turn(s)
    if temperature != 1:
        rows = each(lambda x: x / own.number(temperature), rows)
    if name == "softmax":
        rows = write("exp", each(lambda x: power(own, x, how.get("base", "e")), rows))
    elif name in ("sum", "none"):
        rows = each(lambda x: own.number(0) if x == BLOCKED else x, rows)
    if name in ("softmax", "sum"):
        sinks = shared([own.number(z) for z in every(how.get("sink", BLOCKED))], len(s))
        more = [[own.exp(z)] if "sink" in how else [] for z in sinks]
        sums = [[[own.total(row + e)] for row in m] for m, e in zip(rows, more, strict=True)]
        rows = shares(rows, write("sum", sums))
    elif name != "none":
        rows = [[OF_ROW[name](own, row) for row in matrix] for matrix in rows]
    return turn(write("weights", rows))


def power(own: Arithmetic, x: Number, base: Any) -> Number:
    """Return e^x, or base^x."""
    return own.exp(x if base == "e" else x * own.log(own.number(base)))


def shares(rows: Heads, sums: Heads) -> Heads:
    """Return each number divided by the sum of its row; zeros without a sum stay zeros."""
    return [
        [[x / total if total else x for x in row] for row, (total,) in zip(*pair, strict=True)]
        for pair in zip(rows, sums, strict=True)
    ]


def hardmax(own: Arithmetic, row: Vector) -> Vector:
    """1 at the first of the largest, else 0."""
    first = None if max(row) == BLOCKED else row.index(max(row))
    return [own.number(int(place == first)) for place in range(len(row))]


def sparsemax(own: Arithmetic, row: Vector) -> Vector:
    """max(s − τ, 0): the τ with which exactly the numbers above it sum to 1 above it."""
    ordered = sorted((s for s in row if s != BLOCKED), reverse=True)
    for count in range(1, len(ordered) + 1):
        tau = (own.total(ordered[:count]) - 1) / count
        if ordered[count - 1] > tau and all(s <= tau for s in ordered[count:]):
            return [max(s - tau, own.number(0)) for s in row]
    return [own.number(0) for _ in row]


def sigmoid(own: Arithmetic, row: Vector) -> Vector:
    return [*map(own.sigmoid, row)]


OF_ROW = {"hardmax": hardmax, "sparsemax": sparsemax, "sigmoid": sigmoid}
"""Normalisers whose weights come from a row of scores at once."""


# What weights read.


def read_by(hand: Hand, weights: Heads, v: Heads) -> Heads:
    """Weights · V of every head."""
    pairs = zip(weights, shared(v, len(weights)), strict=True)
    return [hand.product(*pair) for pair in pairs]


class Tiles:
    """Softmax by tiles of the keys, for the queries of all heads below each other.

    Attributes:
        m, l, o: of each query, the largest score so far, and what the powers of e below it sum to
            and read.
        alone: the sum of what a softmax of each tile by itself reads.
    """

    def __init__(self, hand: Hand, s: Heads, v: Heads, how: Keys) -> None:
        self.hand, self.v, self.heads, self.n = hand, v, len(s), len(s[0])
        self.temperature = hand.own.number(how.get("temperature", 1))
        self.base = how.get("base", "e")
        self.rows = [row for matrix in s for row in matrix]
        self.m = [hand.own.number(BLOCKED) for _ in self.rows]
        self.zeros = self.l = [hand.own.number(0) for _ in self.rows]
        self.o = self.alone = [[hand.own.number(0) for _ in v[0][0]] for _ in self.rows]

    def by_head(self, rows: Matrix) -> Heads:
        return [rows[h * self.n : (h + 1) * self.n] for h in range(self.heads)]

    def write(self, name: str, rows: Matrix) -> Matrix:
        return [row for matrix in self.hand.write(name, self.by_head(rows)) for row in matrix]

    def column(self, name: str, numbers: Vector) -> Vector:
        return [x for (x,) in self.write(name, [[x] for x in numbers])]

    def below(self, x: Number, most: Number) -> Number:
        """e^(x − most), 0 while every key was blocked."""
        if BLOCKED in (x, most):
            return self.zeros[0]
        return power(self.hand.own, (x - most) / self.temperature, self.base)

    def worked(self, size: int) -> Heads:
        """Return what is read at last, O / l."""
        hand, last = self.hand, self.zeros
        for number, start in enumerate(range(0, len(self.rows[0]), size), 1):
            hand.suffix = f"_{number}"
            part, is_last = slice(start, start + size), start + size >= len(self.rows[0])
            last = self.tile(self.write("S", [row[part] for row in self.rows]), part, is_last)
        hand.suffix = ""
        return self.by_head(
            hand.either(
                divided(self.o, self.l),
                tile_softmax_of_its_own=lambda: self.alone,
                tile_not_divided=lambda: self.o,
                tile_divided_by_last_sum=lambda: divided(self.o, last),
            )
        )

    def tile(self, s: Matrix, part: slice, is_last: bool) -> Vector:
        """Go on with a tile, and return the sum of its powers."""
        hand, own, is_first = self.hand, self.hand.own, not part.start
        values = shared(hand.write("V", [matrix[part] for matrix in self.v]), self.heads)
        old, largest = self.m, [max(row) for row in s]
        m = hand.either([*map(max, old, largest)], tile_maximum_alone=lambda: largest)
        m = self.m = self.column("m", m)
        earlier = m if is_first else [self.zeros[0] if x == BLOCKED else x for x in old]
        most = hand.either(
            m, tile_maximum_not_subtracted=lambda: self.zeros, tile_earlier_maximum=lambda: earlier
        )
        powers = [[self.below(x, top) for x in row] for row, top in zip(s, most, strict=True)]
        powers = self.write("P", powers)
        sums, columns = [own.total(row) for row in powers], [*map(transposed, values)]
        read = [[own.dot(row, c) for c in columns[i // self.n]] for i, row in enumerate(powers)]
        self.alone = plus(self.alone, divided(read, sums))
        total, output = sums, read
        if not (is_first or hand.does("tile_earlier_left_out")):
            total, output = self.with_earlier(sums, read, self.factors(old, largest))
        self.l = self.column("l", total)
        if hand.does("tile_divided_each") and not is_last:
            output = divided(output, self.l)
        self.o = self.write("O", output)
        return sums

    def factors(self, old: Vector, largest: Vector) -> Vector:
        """Return by what l and O so far are rescaled: e^(m of before − m)."""
        ones = [self.hand.own.number(1) for _ in old]
        if self.hand.does("tile_not_rescaled"):
            return ones  # which nobody writes
        known = [m if x == BLOCKED else x for m, x in zip(self.m, largest, strict=True)]
        found = self.hand.either(
            [*map(self.below, old, self.m)],
            tile_rescaled_by_inverse=lambda: [*map(self.below, self.m, old)],
            tile_rescaled_to_own_maximum=lambda: [*map(self.below, old, known)],
        )
        return self.column("rescale", found)

    def with_earlier(self, sums: Vector, read: Matrix, factors: Vector) -> tuple[Vector, Matrix]:
        hand = self.hand
        kept = hand.either(times(factors, self.l), tile_sum_not_rescaled=lambda: self.l)
        by = hand.either(
            factors,
            tile_output_not_rescaled=lambda: [hand.own.number(1) for _ in factors],
            inverse_in_output=lambda: [1 / x if x else x for x in factors],
        )
        pairs = zip(read, self.o, by, strict=True)
        return plus(sums, kept), [plus(row, [x * y for y in o]) for row, o, x in pairs]


def divided(rows: Matrix, sums: Vector) -> Matrix:
    """Return each row divided by its sum; rows without a sum stay zeros."""
    return shares([rows], [[[x] for x in sums]])[0]
