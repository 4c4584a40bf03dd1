"""Multi-head latent attention, by equations 9 to 19 of DeepSeek-V2."""

from __future__ import annotations

from tests.oracles.arithmetic import Hand, Heads, Keys, Matrix
from tests.oracles.attention import by_head, finished, mean_squares, read, root_mean_square
from tests.oracles.lists import beside, plus, shared, transposed
from tests.oracles.positions import rotated
from tests.oracles.weights import read_by, weigh


def squeezed(hand: Hand, keys: Keys, x: Matrix, side: str) -> Matrix:
    """Write c_q or c_kv, and its norm if there is one."""
    weight = keys[hand.either(f"W_d{side}", other_down_matrix=lambda: "W_dq")]
    (c,) = hand.write(f"c_{side}", [hand.product(x, hand.numbers(weight))])
    if "latent_norm" not in keys:
        return c
    squares = hand.write(f"mean_square_{side}", mean_squares(hand, [c]))
    gain = hand.either(hand.numbers(keys.get(f"gain_{side}", [])), gain_forgotten=list)
    normed = root_mean_square(hand, [c], squares, keys.get("eps", 1e-6), gain)
    (normed,) = hand.write(f"normed_{side}", normed)
    return hand.either(normed, norm_skipped=lambda: c)


def latent(hand: Hand, given: Keys) -> Matrix:
    """Write every step of a problem, and return its output."""
    keys = read(given)
    is_absorbed, is_rotary = keys.get("form") == "absorbed", "W_kr" in keys
    x = hand.numbers(keys["X"])
    below, name = (squeezed(hand, keys, x, "q"), "W_uq") if "W_dq" in keys else (x, "W_q")
    c = squeezed(hand, keys, x, "kv")

    def made(rows: Matrix, key: str) -> Heads:
        return [hand.product(rows, one) for one in weights(key)]

    def weights(key: str) -> Heads:
        return by_head(hand.numbers(keys[key]), keys["heads"])

    w_uk, w_uv = weights("W_uk"), weights(hand.either("W_uv", other_up_matrix=lambda: "W_uk"))
    q = made(hand.either(below, queries_from_x=lambda: x), name)
    q = hand.write("Q_C" if is_rotary or is_absorbed else "Q", q)
    k = v = [c]
    if is_absorbed:
        q = [hand.product(rows, transposed(one)) for rows, one in zip(q, w_uk, strict=True)]
        q = hand.write("Q_absorbed" if is_rotary else "Q", q)
    else:
        k = made(hand.either(c, keys_from_x=lambda: x), "W_uk")
        v = [hand.product(c, one) for one in w_uv]
    if not (is_rotary and is_absorbed):
        k = hand.write("K_C" if is_rotary else "K", k)
    v = hand.write("V", v)
    if is_rotary:
        q_rotary = hand.write("Q_rotary", made(below, "W_qr"))
        source = hand.either(x, rotary_key_from_c=lambda: c)
        k_rotary = [hand.product(source, hand.numbers(keys["W_kr"]))]
        q, k = with_rotary(hand, keys, (q, k), (q_rotary, hand.write("K_rotary", k_rotary)))
    d_h, d_r = len(w_uk[0][0]), len(k_rotary[0][0]) if is_rotary else 0
    sizes = {"d_h": d_h, "d_k": d_h + d_r, "d_v": len(w_uv[0][0]), "d_model": len(x[0])}
    s = hand.write("scores", read_by(hand, q, [*map(transposed, k)]))
    found = read_by(hand, weigh(hand, s, keys, sizes), v)
    if is_absorbed:
        found = read_by(hand, hand.write("context_c", found), w_uv)
    return finished(hand, found, keys, x)


Sides = tuple[Heads, Heads]
"""Of queries, and of keys."""


def with_rotary(hand: Hand, keys: Keys, contents: Sides, rotary: Sides) -> list[Heads]:
    """Write the rotary parts turned, and queries and keys with both parts beside each other."""
    p = keys["positions"][0] if keys["positions"] else {"name": "rope"}
    q, k = rotary
    q = hand.either(q, rotary_queries_shared=lambda: q[:1] * len(q))
    *turned, _ = rotated(hand, q, k, p, True)

    def again(heads: Heads) -> Heads:
        return rotated(Hand(hand.own), heads, heads, p, True)[0]  # by a hand that shows nothing

    def joined(left: Heads, right: Heads) -> Heads:
        return [beside([*pair]) for pair in zip(left, right, strict=True)]

    def side(name: str, *parts: Heads) -> Heads:
        a, b, c = (shared(part, max(map(len, parts))) for part in parts)
        right = joined(a, b)
        whole = hand.either(
            right,
            rotary_part_left_out=lambda: a,
            parts_added=lambda: plus(a, b),
            whole_turned=lambda: again(joined(a, c)),
            content_turned=lambda: joined(again(a), b),
            key_turned=lambda: joined(again(a), b) if name == "K" else right,
        )
        return hand.write(name, whole)

    return [*map(side, "QK", contents, turned, rotary)]
