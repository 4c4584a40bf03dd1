"""Linear attention with a state and the delta rule: Katharopoulos et al. 2020, Yang et al. 2024.

The state of a head is kept as the papers do, with a row for each feature of values: S ∈ R^{d_v×d_k}
and S k for what it holds; it is written transposed, as the program does.
"""

from __future__ import annotations

from typing import Any

from tests.oracles.arithmetic import Hand, Heads, Keys, Matrix, Vector
from tests.oracles.attention import finished, normed, project, read
from tests.oracles.lists import cut, depth, each, plus, shared, transposed
from tests.oracles.weights import value_of_scale


def delta(hand: Hand, given: Keys) -> Matrix:
    """Write the steps of each token, one after the other, and return the output."""
    keys = read(given)
    x = hand.numbers(keys.get("X", []))
    whole = {name: project(hand, keys, name, x) for name in "QKV"}
    states = [transposed(state) for state in hand.write("S_0", started(hand, keys, whole))]
    rates = {name: rates_of(hand, keys, name, x) for name in ("alpha", "beta")}
    outputs: list[Heads] = []
    for t in range(len(whole["V"][0])):
        hand.here, hand.suffix = t + 1, f"_{t + 1}"
        q, k, v = (hand.write(n.lower(), [[head[t]] for head in whole[n]]) for n in "QKV")
        if "qk_norm" in keys:
            q, units = (normed(hand, y, n, keys["qk_norm"]) for n, y in (("q", q), ("k", k)))
            q = hand.write("q_normed", q)
            k = hand.write("k_normed", hand.either(units, keys_not_normed=lambda k=k: k))
        of_token = {name: [rows[t] for rows in heads] for name, heads in rates.items() if heads}
        new = learned(hand, keys, states, k, v, of_token)
        seen = shared(hand.either(new, old_state_read=lambda old=states: old), len(q))
        scale = keys.get("scale", 1)
        by = value_of_scale(hand.own, scale, {"d_k": len(k[0][0]), "d_v": len(v[0][0])})
        said = [hand.applied(state, row) for state, (row,) in zip(seen, q, strict=True)]
        outputs.append(hand.write("o", [[[y * by for y in row]] for row in said]))
        states = new
    hand.suffix = ""
    contexts = [[heads[h][0] for heads in outputs] for h in range(keys["heads"])]
    return finished(hand, contexts, keys, x)


def learned(
    hand: Hand, keys: Keys, before: Heads, k: Heads, v: Heads, rates: dict[str, list[Vector]]
) -> Heads:
    """Return the state of each head after a token: α S + β (v − S k) kᵀ, or without one of these."""
    states, written = before, [row for (row,) in v]
    keys_of = [row for (row,) in k]
    alphas = [row * (len(k[0][0]) // len(row)) for row in rates.get("alpha", [])]

    def faded(heads: Heads) -> Heads:
        pairs = zip(heads, alphas, strict=True)
        return [
            [[a * x for a, x in zip(fade, row, strict=True)] for row in rows]
            for rows, fade in pairs
        ]

    def write(name: str, heads: Heads) -> Heads:
        return [*map(transposed, hand.write(name, [*map(transposed, heads)]))]

    if alphas:
        states = hand.either(
            faded(before), alpha_left_out=lambda: before, faded_after_writing=lambda: before
        )
        states = write("decayed", states)
    if "delta" in keys.get("update", "delta"):
        asked = hand.either(states, read_before_fading=lambda: before)
        held = [[hand.applied(*pair)] for pair in zip(asked, keys_of, strict=True)]
        held = hand.write("read", held)
        error = hand.either(
            each(lambda x, y: x - y, v, held),
            held_value_not_subtracted=lambda: v,
            held_value_added=lambda: plus(v, held),
        )
        written = [row for (row,) in hand.write("error", error)]
    products = hand.either(
        [*map(outer, written, keys_of)],
        key_and_value_exchanged=lambda: [*map(outer, keys_of, written)],
    )
    if "beta" in rates and not hand.does("beta_left_out"):
        products = [
            each(lambda x, b=b: b * x, m) for m, (b,) in zip(products, rates["beta"], strict=True)
        ]
    new = hand.either(plus(states, products), old_state_dropped=lambda: products)
    return write("S", hand.either(new, faded_after_writing=lambda: faded(new)))


def outer(a: Vector, b: Vector) -> Matrix:
    return [[x * y for y in b] for x in a]


def rates_of(hand: Hand, keys: Keys, name: str, x: Matrix) -> Heads:
    """Return α or β of each head and token, a list of one number, or of one per feature."""
    count = keys["kv_heads"]
    if name in keys:
        given = hand.numbers(keys[name])
        return shared(given, count) if depth(given) == 3 else cut(given, count)
    if f"W_{name}" not in keys:
        return []
    found: Heads = each(hand.own.sigmoid, cut(hand.linear(x, keys, name), count))
    return hand.write(name, found)


def started(hand: Hand, keys: Keys, whole: dict[str, Heads]) -> Heads:
    """Return the first state of each head, as it is written."""
    count = keys["kv_heads"]
    d_k, d_v = (len(whole[name][0][0]) for name in "KV")
    zeros = [[0] * (d_v * count) for _ in range(d_k)]
    given: Any = hand.numbers(keys.get("S_0", zeros))
    return cut(given, count) if depth(given) == 2 else shared(given, count)
