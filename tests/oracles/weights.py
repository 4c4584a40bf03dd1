"""From queries and keys to weights, and to what is read by them: every score, mask and normaliser.

Bahdanau et al. 2015 (additive), Luong et al. 2015 (dot, general, concat), Vaswani et al. 2017
(scaled), Katharopoulos et al. 2020 (linear), Martins and Astudillo 2016 (sparsemax), Dao 2023,
algorithm 1 (tiles).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.oracles.arithmetic import BLOCKED, Arithmetic, Hand, Heads, Keys, Matrix, Number, Vector
from tests.oracles.lists import by_rows, depth, each, every, plus, shared, times, transposed
from tests.oracles.positions import added_to_score


def scores(hand: Hand, q: Heads, k: Heads, score: Keys) -> Heads:
    """Write what the score function gives for every query and key, of every head of queries."""
    own, name = hand.own, score["name"]
    parts = {key: hand.numbers(part) for key, part in score.items() if key != "name"}

    def phi(x: Number) -> Number:
        return x + 1 if x > 0 else own.exp(x)

    def of_pair(x: Vector, y: Vector) -> Number:
        if name == "general":
            return own.dot(x, hand.applied(parts["W"], y))
        if name == "cosine":
            return own.dot(x, y) / (own.sqrt(own.dot(x, x)) * own.sqrt(own.dot(y, y)))
        if name == "distance":
            apart, width = each(lambda a, b: a - b, x, y), parts.get("width", 1)
            return -own.dot(apart, apart) / (2 * width * width)
        return own.dot(x, y)

    if name == "linear":
        q, k = hand.write("phi_q", each(phi, q)), hand.write("phi_k", each(phi, k))
    pairs = [*zip(q, shared(k, len(q)), strict=True)]
    if name in ("additive", "concat"):
        hidden = hand.write("hidden", [layer(hand, parts, *pair) for pair in pairs])
        return hand.write("scores", by_rows(lambda row: hand.applied(row, parts["v"]), hidden))
    return hand.write("scores", [[[of_pair(x, y) for y in b] for x in a] for a, b in pairs])


def layer(hand: Hand, parts: Keys, q: Matrix, k: Matrix) -> list[Matrix]:
    """tanh(W q + U k + b), or tanh(W [q; k] + b)."""
    size, b = len(q[0]), parts.get("b")
    u = parts.get("U") or [row[size:] for row in parts["W"]]
    of_q = [hand.applied([row[:size] for row in parts["W"]], x) for x in q]
    of_k = [hand.applied(u, y) for y in k]
    inner = [[plus(x, y) for y in of_k] for x in of_q]
    return each(hand.own.tanh, [[plus(x, b) for x in row] for row in inner] if b else inner)


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
    d_k = hand.either(d_k, scaled_by_whole_head=lambda: 2 * d_k)
    root = hand.own.sqrt(hand.either(d_k, scaled_by_content_part=lambda: sizes["d_h"]))
    return hand.write("scaled", each(lambda x: x / root, s))


def cell(stack: Any, *place: int) -> Any:
    """Return a cell of nested lists, in which one part may be that of all."""
    for at in place[-depth(stack) :]:
        stack = stack[at if len(stack) > 1 else 0]
    return stack


def placed(function: Callable[..., Any], s: Heads) -> Heads:
    """Return function(x, head, i, j) of every score."""
    return [
        [[function(x, h, i, j) for j, x in enumerate(row)] for i, row in enumerate(matrix)]
        for h, matrix in enumerate(s)
    ]


def biased(hand: Hand, s: Heads, keys: Keys) -> Heads:
    """Add the bias of the problem, and what positions add to scores."""
    found, bias = s, hand.numbers(keys.get("bias", []))
    if any(map(float, every(bias))):
        found = placed(lambda x, *place: x + cell(bias, *place), s)
    for p in keys["positions"]:
        if p["name"] in ("alibi", "relative"):
            found = placed(lambda x, *at, p=p: x + added_to_score(hand, p, len(s), *at), found)
    return s if found is s else hand.write("biased", found)


FORMS = {"causal", "keep", "block", "lengths", "window", "when", "align", "offset"}
"""The keys of a mask that `may_attend` knows."""


def may_attend(h: int, i: int, j: int, n: int, m: int, mask: Keys) -> bool:
    """Return whether all forms of a mask let query i see key j."""
    assert set(mask) <= FORMS, "the oracle has no line for a form of the mask"
    p = i + (m - n if mask.get("align") == "bottom-right" else 0) + int(mask.get("offset", 0))
    left, right = mask.get("window", (-1, -1))
    places = {"i": i + 1, "j": j + 1, "p": p + 1, "n": n, "m": m}
    return (
        not (mask.get("causal") and j > p)
        and not ("keep" in mask and cell(mask["keep"], h, i, j) == 0)
        and not ("block" in mask and cell(mask["block"], h, i, j) == 1)
        and j < mask.get("lengths", m)
        and (left == -1 or p - left <= j)
        and (right == -1 or j <= p + right)
        and bool(eval(mask.get("when", "True"), places))
    )


def masked(hand: Hand, s: Heads, keys: Keys) -> Heads:
    """Write −∞ where a query may not see a key, if that is so anywhere."""
    n, m, blocked = len(s[0]), len(s[0][0]), hand.own.number(BLOCKED)
    seen = placed(lambda _, h, i, j: may_attend(h, i, j, n, m, keys["mask"]), s)
    if all(every(seen)) and not keys.get("is_masked"):
        return s
    return hand.write("masked", each(lambda x, is_seen: x if is_seen else blocked, s, seen))


def adjusted(hand: Hand, s: Heads, keys: Keys, sizes: dict[str, int]) -> Heads:
    """Write what is done to scores before they are normalised."""
    s = scaled(hand, s, keys, sizes | {"n": len(s[0]), "m": len(s[0][0])})
    if "softcap" in keys:
        cap = hand.own.number(keys["softcap"])
        s = hand.write("capped", each(lambda x: cap * hand.own.tanh(x / cap), s))
    s = masked(hand, biased(hand, s, keys), keys)
    if hand.does("cache_without_new_token") and len(s[0][0]) > 1:
        s = by_rows(lambda row: [*row[:-1], hand.own.number(BLOCKED)], s)
    return s


# Normalisers.


def weigh(hand: Hand, s: Heads, keys: Keys, sizes: dict[str, int]) -> Heads:
    """Write what comes after the scores, up to the weights."""
    return normalized(hand, adjusted(hand, s, keys, sizes), keys["normalize"])


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
    elif name == "sigmoid":
        rows = each(own.sigmoid, rows)
    else:
        rows = by_rows({"hardmax": hardmax, "sparsemax": sparsemax}[name], rows)
        rows = each(own.number, rows)
    if name in ("softmax", "sum"):
        sinks = shared([own.number(z) for z in every(how.get("sink", BLOCKED))], len(s))
        more = [[own.exp(z)] if "sink" in how else [] for z in sinks]
        sums = [[[own.total(row + e)] for row in m] for m, e in zip(rows, more, strict=True)]
        rows = over_sums(rows, write("sum", sums))
    return turn(write("weights", rows))


def power(own: Arithmetic, x: Number, base: Any) -> Number:
    """Return e^x, or base^x."""
    return own.exp(x if base == "e" else x * own.log(own.number(base)))


def over_sums(rows: Heads, sums: Heads) -> Heads:
    """Return each number divided by the sum of its row; zeros without a sum stay zeros."""
    return by_rows(lambda row, total: [x / total[0] if total[0] else x for x in row], rows, sums)


def hardmax(row: Vector) -> list[Any]:
    """1 at the first of the largest, else 0."""
    first = None if max(row) == BLOCKED else row.index(max(row))
    return [int(place == first) for place in range(len(row))]


def sparsemax(row: Vector) -> list[Any]:
    """max(s − τ, 0): the τ with which exactly the numbers above it sum to 1 above it."""
    ordered = sorted((s for s in row if s != BLOCKED), reverse=True)
    for count in range(1, len(ordered) + 1):
        tau = (sum(ordered[:count]) - 1) / count
        if ordered[count - 1] > tau and all(s <= tau for s in ordered[count:]):
            return [max(s - tau, 0) for s in row]
    return [0] * len(row)


# What weights read.


def read_by(hand: Hand, weights: Heads, v: Heads) -> Heads:
    """Weights · V of every head."""
    return [hand.product(*pair) for pair in zip(weights, shared(v, len(weights)), strict=True)]


class Tiles(NamedTuple):
    """What queries keep from tile to tile: algorithm 1 of Dao 2023.

    Attributes:
        m: the largest score so far.
        sums, read: what the powers of e below m sum to, and what they read.
        last: the sum of the last tile alone.
        alone: the sum of what the softmax of each tile by itself reads.
    """

    m: Heads
    sums: Heads
    read: Heads
    last: Heads
    alone: Heads


def by_tiles(hand: Hand, s: Heads, v: Heads, size: int, how: Keys) -> Heads:
    """Return what softmax reads of the values, tile by tile of the keys."""
    own, nothing = hand.own, by_rows(lambda _: [hand.own.number(0) for _ in v[0][0]], s)
    zero, lowest = (
        by_rows(lambda _: [own.number(0)], s),
        by_rows(lambda _: [own.number(BLOCKED)], s),
    )
    temperature, base = own.number(how.get("temperature", 1)), how.get("base", "e")

    def below(x: Number, most: Number) -> Number:
        """e^(x − most), 0 while every key was blocked."""
        if BLOCKED in (x, most):
            return own.number(0)
        return power(own, (x - most) / temperature, base)

    tiles = Tiles(lowest, zero, nothing, zero, nothing)
    for number, start in enumerate(range(0, len(s[0][0]), size), 1):
        hand.suffix, part = f"_{number}", slice(start, start + size)
        scored = hand.write("S", [[row[part] for row in matrix] for matrix in s])
        values = hand.write("V", [matrix[part] for matrix in v])
        is_last = start + size >= len(s[0][0])
        tiles = with_tile(hand, below, tiles, scored, values, not start, is_last)
    hand.suffix = ""
    return hand.either(
        over_sums(tiles.read, tiles.sums),
        tile_softmax_of_its_own=lambda: tiles.alone,
        tile_not_divided=lambda: tiles.read,
        tile_divided_by_last_sum=lambda: by_rows(
            lambda row, by: [x / by[0] if by[0] else by[0] for x in row], tiles.read, tiles.last
        ),
    )


def with_tile(
    hand: Hand, below: Any, before: Tiles, s: Heads, v: Heads, is_first: bool, is_last: bool
) -> Tiles:
    """Go on with the scores and the values of a tile."""
    own, largest = hand.own, by_rows(lambda row: [max(row)], s)
    m = hand.either(each(max, before.m, largest), tile_maximum_alone=lambda: largest)
    m = hand.write("m", m)
    most = hand.either(m, tile_maximum_not_subtracted=lambda: each(lambda _: own.number(0), m))
    if hand.does("tile_earlier_maximum") and not is_first:
        most = each(lambda x: own.number(0) if x == BLOCKED else x, before.m)
    powers = by_rows(lambda row, top: [below(x, *top) for x in row], s, most)
    powers = hand.write("P", powers)
    total = last = by_rows(lambda row: [own.total(row)], powers)
    output = read_by(hand, powers, v)
    alone = plus(before.alone, over_sums(output, last))
    if not (is_first or hand.does("tile_earlier_left_out")):
        factor = rescaled_by(hand, below, before.m, m, largest)
        kept = hand.either(times(factor, before.sums), tile_sum_not_rescaled=lambda: before.sums)
        total = plus(last, kept)
        factor = hand.either(
            factor,
            tile_output_not_rescaled=lambda: each(lambda _: own.number(1), factor),
            inverse_in_output=lambda: each(lambda x: 1 / x if x else x, factor),
        )
        output = plus(
            output, by_rows(lambda row, by: [by[0] * x for x in row], before.read, factor)
        )
    total = hand.write("l", total)
    if hand.does("tile_divided_each") and not is_last:
        output = over_sums(output, total)
    return Tiles(m, total, hand.write("O", output), last, alone)


def rescaled_by(hand: Hand, below: Any, old: Heads, m: Heads, largest: Heads) -> Heads:
    """Return by what l and O so far are rescaled: e^(m of before − m)."""
    if hand.does("tile_not_rescaled"):
        return each(lambda _: hand.own.number(1), m)  # which nobody writes
    known = each(lambda x, y: y if x == BLOCKED else x, largest, m)
    found = hand.either(
        each(below, old, m),
        tile_rescaled_by_inverse=lambda: each(below, m, old),
        tile_rescaled_to_own_maximum=lambda: each(below, old, known),
    )
    return hand.write("rescale", found)
