"""Linear attention with a state and the delta rule: Katharopoulos et al. 2020, Yang et al. 2024.

The state of a head is kept as the papers do, with a row for each feature of values: S ∈ R^{d_v×d_k}
and S k for what it holds; it is written transposed, as the program does.
"""

from __future__ import annotations

from tests.oracles.arithmetic import Hand, Heads, Keys, Matrix, Vector
from tests.oracles.attention import by_head, finished, normed, project, read
from tests.oracles.lists import each, plus, shared, times, transposed
from tests.oracles.weights import value_of_scale


def delta(hand: Hand, given: Keys) -> Matrix:
    """Write the steps of each token, one after the other, and return the output."""
    keys, outputs = read(given), list[Heads]()
    x, count = hand.numbers(keys.get("X", [])), keys["kv_heads"]
    whole = {name: project(hand, keys, name, x) for name in "QKV"}
    sizes = {"d_k": len(whole["K"][0][0]), "d_v": len(whole["V"][0][0])}
    start = keys.get("S_0", [[0] * (sizes["d_v"] * count)] * sizes["d_k"])
    states = [*map(transposed, hand.write("S_0", by_head(hand.numbers(start), count)))]
    rates = {name: rates_of(hand, keys, name, x) for name in ("alpha", "beta")}
    by = value_of_scale(hand.own, keys.get("scale", 1), sizes)
    for t in range(len(whole["V"][0])):
        hand.here, hand.suffix = t + 1, f"_{t + 1}"
        q, k, v = (hand.write(n.lower(), [[head[t]] for head in whole[n]]) for n in "QKV")
        if "qk_norm" in keys:
            q = hand.write("q_normed", normed(hand, q, "q", keys["qk_norm"]))
            units = k if hand.does("keys_not_normed") else normed(hand, k, "k", keys["qk_norm"])
            k = hand.write("k_normed", units)
        now = {name: [rows[t] for rows in heads] for name, heads in rates.items() if heads}
        new = learned(hand, keys, states, k, v, now)
        seen = shared(states if hand.does("old_state_read") else new, len(q))
        said = [[hand.applied(state, row)] for state, (row,) in zip(seen, q, strict=True)]
        outputs.append(hand.write("o", each(lambda y: y * by, said)))
        states = new
    hand.suffix = ""
    contexts = [[heads[h][0] for heads in outputs] for h in range(keys["heads"])]
    return finished(hand, contexts, keys, x)


def learned(
    hand: Hand, keys: Keys, before: Heads, k: Heads, v: Heads, rates: dict[str, list[Vector]]
) -> Heads:
    """Return the state of each head after a token: α S + β (v − α S k) kᵀ."""
    alphas = [row * (len(k[0][0]) // len(row)) for row in rates.get("alpha", [])]
    betas = [b for (b,) in rates.get("beta", [])]

    def faded(heads: Heads) -> Heads:
        pairs = zip(heads, alphas, strict=True)
        return [[times(row, alpha) for row in rows] for rows, alpha in pairs]

    def write(name: str, heads: Heads) -> Heads:
        return [*map(transposed, hand.write(name, [*map(transposed, heads)]))]

    states, error = before, v
    if alphas:
        is_unfaded = hand.does("alpha_left_out") or hand.does("faded_after_writing")
        states = write("decayed", before if is_unfaded else faded(before))
    if "delta" in keys.get("update", "delta"):
        asked = hand.either(states, read_before_fading=lambda: before)
        held = [[hand.applied(state, row)] for state, (row,) in zip(asked, k, strict=True)]
        held = hand.write("read", held)
        error = hand.either(
            each(lambda x, y: x - y, v, held),
            held_value_not_subtracted=lambda: v,
            held_value_added=lambda: plus(v, held),
        )
        error = hand.write("error", error)
    pairs = [*zip(error, k, strict=True)]
    products = hand.either(
        [hand.product(transposed(e), row) for e, row in pairs],
        key_and_value_exchanged=lambda: [hand.product(transposed(row), e) for e, row in pairs],
    )
    if betas and not hand.does("beta_left_out"):
        braked = zip(products, betas, strict=True)
        products = [each(lambda x, b=b: b * x, matrix) for matrix, b in braked]
    new = hand.either(plus(states, products), old_state_dropped=lambda: products)
    return write("S", hand.either(new, faded_after_writing=lambda: faded(new)))


def rates_of(hand: Hand, keys: Keys, name: str, x: Matrix) -> Heads:
    """Return α or β of each head and token, a list of one number, or of one per feature."""
    if name in keys:
        return by_head(hand.numbers(keys[name]), keys["kv_heads"])
    if f"W_{name}" not in keys:
        return []
    rates = each(hand.own.sigmoid, hand.linear(x, keys, name))
    return hand.write(name, by_head(rates, keys["kv_heads"]))
