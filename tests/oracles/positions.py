"""Positions of tokens: sinusoids, rotations, and what is added to scores.

Vaswani et al. 2017 (sinusoidal), Su et al. 2021 (RoPE), Press et al. 2022 (ALiBi), Shaw et al. 2018
(relative), Peng et al. 2023 (YaRN), Grattafiori et al. 2024 and transformers (the scaling of
Llama 3), Wang et al. 2024 (positions in a plane, Qwen2-VL).
"""

from __future__ import annotations

import math
from typing import Any

from tests.oracles.arithmetic import Hand, Heads, Keys, Matrix, Number
from tests.oracles.lists import each, is_list, plus


def listed(positions: Any) -> list[Keys]:
    several = positions if isinstance(positions, list) else [positions]
    return [{"name": one} if isinstance(one, str) else dict(one) for one in several]


def pairs(hand: Hand, size: int, p: Keys) -> list[tuple[int, int]]:
    """Return the two features of each pair; an odd size has one feature more, which is dropped."""
    half = (size + 1) // 2
    if (p.get("pairs") == "halves") != hand.does("other_pairs"):
        return [(j, j + half) for j in range(half)]
    return [(2 * j, 2 * j + 1) for j in range(half)]


def place(hand: Hand, i: int, j: int, p: Keys, side: str) -> Number:
    """Return the position of a token for a pair, by which row of ids the pair takes."""

    def shift(wrong: str) -> int:
        return hand.does(wrong, 0) - hand.does(wrong, 1)

    ids: Any = p.get("ids")
    start = p.get("start", 0)
    if ids is None or hand.does("ids_left_out"):
        start = start[side == "K"] if is_list(start) else start
        start += hand.does("ids_left_out", 1)
        return hand.own.number(start + i + shift("positions_from_another_start"))
    ids = ids["queries" if side == "Q" else "keys"] if isinstance(ids, dict) else ids
    if is_list(ids[0]):
        rows = [row for row, count in enumerate(p["sections"]) for _ in range(int(count))]
        ids = ids[-1 - rows[j] if hand.does("sections_exchanged") else rows[j]]
    at = -1 - i if hand.does("ids_reversed") else i
    return hand.own.number(ids[at]) + shift("ids_shifted")


def frequency(hand: Hand, j: int, size: int, p: Keys) -> Number:
    """1 / base^(2j/size), scaled by cases as the papers and transformers have them."""
    own, base = hand.own, p.get("base", 10000)
    if hand.does("another_base"):
        base = 1000 if hand.does("another_base", 1) else 100000
    base = own.log(own.number(base))
    theta = 1 / own.exp(base * 2 * j / size)
    scaling = p.get("scaling", {})
    if not scaling or hand.does("scaling_left_out"):
        return theta
    kept, factor = own.number(0), own.number(scaling["factor"])
    length = scaling.get("original_max_position_embeddings")
    if hand.does("multiplied_by_scaling_factor"):
        factor = 1 / factor
    if scaling["kind"] == "llama3":
        low, high = (scaling.get(f"{end}_freq_factor", x) for end, x in (("low", 1), ("high", 4)))
        kept = (own.number(length) * theta / (2 * own.pi) - low) / (high - low)
    elif scaling["kind"] == "yarn" and not hand.does("pairs_scaled_alike"):
        ends = []
        for beta, usual, whole in (("fast", 32, math.floor), ("slow", 1, math.ceil)):
            turns = scaling.get(f"beta_{beta}", usual)
            end = size * own.log(own.number(length / (2 * own.pi * turns))) / (2 * base)
            ends.append(own.number(whole(end)) if scaling.get("truncate", True) else end)
        first, last = max(ends[0], own.number(0)), min(ends[1], own.number(size - 1))
        last += own.number("0.001") if first == last else 0
        kept = 1 - (j - first) / (last - first)
    kept = min(max(kept, own.number(0)), own.number(1))
    return theta * kept + theta / factor * (1 - kept)


def wave_factor(hand: Hand, p: Keys) -> Number:
    """What YaRN multiplies cosines and sines with."""
    own, scaling = hand.own, p.get("scaling", {})
    if scaling.get("kind") != "yarn":
        return own.number(1)
    if "attention_factor" in scaling:
        return own.number(scaling["attention_factor"])
    logarithm = own.log(max(own.number(scaling["factor"]), own.number(1))) / 10
    ends = [own.number(scaling.get(name, 0)) for name in ("mscale", "mscale_all_dim")]
    if all(ends):
        return (ends[0] * logarithm + 1) / (ends[1] * logarithm + 1)
    return logarithm + 1


def in_radians(hand: Hand, theta: Number) -> Number:
    """Return an angle as the calculator reads it."""
    return theta * hand.own.pi / 180 if hand.does("degrees_for_radians") else theta


def angles_of(hand: Hand, n: int, size: int, p: Keys, side: str) -> Matrix:
    """Write the frequencies if they are scaled, and return the angle of each token and pair."""
    count = range((size + 1) // 2)
    speeds = [frequency(hand, j, size, p) for j in count]
    if "scaling" in p:
        ((speeds,),) = hand.write("frequencies", [[speeds]])
    return [[place(hand, i, j, p, side) * speeds[j] for j in count] for i in range(n)]


def embedded(hand: Hand, x: Matrix, several: list[Keys], suffix: str = "") -> Matrix:
    """Write tokens with what is added to them; a memory is counted from 0."""
    hand.suffix, d = suffix, len(x[0]) if x else 0
    for p in several:
        if p["name"] == "sinusoidal":
            angles = angles_of(hand, len(x), d, p | ({"start": 0} if suffix else {}), "Q")
            angles = each(lambda theta: in_radians(hand, theta), angles)
            sines, cosines = each(hand.own.sin, angles), each(hand.own.cos, angles)
            if hand.does("sine_and_cosine_exchanged"):
                sines, cosines = cosines, sines
            places = [feature for pair in pairs(hand, d, p) for feature in pair]
            added = []
            for waves in zip(sines, cosines, strict=True):
                row = [wave for pair in zip(*waves, strict=True) for wave in pair]
                added.append([row[places.index(feature)] for feature in range(d)])
            (added,) = hand.write("positions", [added])
        elif p["name"] == "learned" and not suffix:
            added = hand.numbers(p["P"])
        else:
            continue
        is_left_out = hand.does("positions_left_out")
        (x,) = hand.write("embedded", [x if is_left_out else plus(x, added)])
    hand.suffix = ""
    return x


def rotated(hand: Hand, q: Heads, k: Heads, p: Keys, is_same: bool) -> tuple[Heads, Heads, Any]:
    """Write queries and keys with each pair (x, y) of their features turned by its angle.

    Return them, and the cosines and sines of the last ones.
    """
    usual, size, factor = hand.suffix, p.get("features", "all"), wave_factor(hand, p)
    size = len(q[0][0]) if size == "all" else size
    if hand.does("attention_factor_left_out") or hand.does("attention_factor_of_scores"):
        factor = hand.own.number(1)
    turned, waves = list[Heads](), list[Matrix]()
    for way, (name, heads) in enumerate((("Q", q), ("K", k))):
        if not (is_same and waves):
            hand.suffix = usual if is_same else f"_{name.lower()}{usual}"
            (angles,) = hand.write("angles", [angles_of(hand, len(heads[0]), size, p, name)])
            angles = each(lambda theta: in_radians(hand, theta), angles)
            both = [
                each(lambda x, f=f: factor * f(x), angles) for f in (hand.own.cos, hand.own.sin)
            ]
            waves = [hand.write(wave, [x])[0] for wave, x in zip(("cos", "sin"), both, strict=True)]
            hand.suffix = usual
        is_left_out = hand.does("positions_left_out") or hand.does("one_side_turned", way)
        found = (
            heads if is_left_out else [turn(hand, rows, waves[0], waves[1], p) for rows in heads]
        )
        turned.append(hand.write(f"{name}_rotated", found))
    return turned[0], turned[1], waves


def turn(hand: Hand, rows: Matrix, cosines: Matrix, sines: Matrix, p: Keys) -> Matrix:
    def turned(x: Number, y: Number, c: Number, s: Number) -> tuple[Number, Number]:
        return hand.either(
            (x * c - y * s, x * s + y * c),
            sine_and_cosine_exchanged=lambda: (x * s - y * c, x * c + y * s),
            angle_negative=lambda: (x * c + y * s, y * c - x * s),
        )

    found = []
    for row, *waves in zip(rows, cosines, sines, strict=True):
        new = list(row)
        for (a, b), c, s in zip(pairs(hand, 2 * len(waves[0]), p), *waves, strict=True):
            new[a], new[b] = turned(row[a], row[b], c, s)
        found.append(new)
    return found


def added_to_score(hand: Hand, p: Keys, heads: int, head: int, i: int, j: int) -> Number:
    """Return what positions add to one score: −slope · |i − j|, or a number of a table."""
    own, sign = hand.own, -1 if hand.does("sign_of_position_bias") else 1
    if hand.does("positions_left_out"):
        return own.number(0)
    if p["name"] == "alibi":
        if hand.does("slopes_exchanged"):
            head = heads - 1 - head
        number = own.number(p["slopes"][head]) if "slopes" in p else slope(hand, head, heads)
        if hand.does("slope_forgotten"):
            number = own.number(1)
        return number * -sign * abs(i - j)
    table = p["table"][head % len(p["table"])] if is_list(p["table"][0]) else p["table"]
    k, apart = len(table) // 2, i - j if hand.does("table_reversed") else j - i
    return own.number(table[min(max(apart, -k), k) + k]) * sign


def slope(hand: Hand, head: int, heads: int) -> Number:
    """Press et al. 2022, section 3, and their code for other numbers of heads."""
    most = 2 ** (heads.bit_length() - 1)
    power = 8 * (head + 1) / most if head < most else 8 * (2 * (head - most) + 1) / (2 * most)
    return hand.own.exp(-hand.own.log(hand.own.number(2)) * power)
