"""Multi-head latent attention, by equations 9 to 19 of DeepSeek-V2."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.oracles.arithmetic import Hand, Heads, Keys, Matrix
from tests.oracles.attention import finished, mean_squares, read, root_mean_square
from tests.oracles.lists import beside, cut, depth, plus, shared, transposed
from tests.oracles.positions import rotated
from tests.oracles.weights import read_by, weigh


def by_head(hand: Hand, keys: Keys, name: str) -> Heads:
    """Return the columns of each head, or the matrices of all."""
    weight = hand.numbers(keys[name])
    return weight if depth(weight) == 3 else cut(weight, keys["heads"])


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
    x, is_absorbed, is_rotary = (
        hand.numbers(keys["X"]),
        keys.get("form") == "absorbed",
        "W_kr" in keys,
    )
    below, name = (squeezed(hand, keys, x, "q"), "W_uq") if "W_dq" in keys else (x, "W_q")
    c = squeezed(hand, keys, x, "kv")
    w_uk, w_uv = (by_head(hand, keys, f"W_u{letter}") for letter in "kv")
    w_uv = hand.either(w_uv, other_up_matrix=lambda: w_uk)
    source = hand.either(below, queries_from_x=lambda: x)
    q = [hand.product(source, one) for one in by_head(hand, keys, name)]
    q = hand.write("Q_C" if is_rotary or is_absorbed else "Q", q)
    k = v = [c]
    if is_absorbed:
        q = [hand.product(rows, transposed(one)) for rows, one in zip(q, w_uk, strict=True)]
        q = hand.write("Q_absorbed" if is_rotary else "Q", q)
    else:
        source = hand.either(c, keys_from_x=lambda: x)
        k = [hand.product(source, one) for one in w_uk]
        v = [hand.product(c, one) for one in w_uv]
    if not is_rotary:
        k = hand.write("K", k)
    elif not is_absorbed:
        k = hand.write("K_C", k)
    v = hand.write("V", v)
    d_r = 0
    if is_rotary:
        q_rotary = [hand.product(below, one) for one in by_head(hand, keys, "W_qr")]
        q_rotary = hand.write("Q_rotary", q_rotary)
        source = hand.either(x, rotary_key_from_c=lambda: c)
        k_rotary = hand.write("K_rotary", [hand.product(source, hand.numbers(keys["W_kr"]))])
        q, k, d_r = *with_rotary(hand, keys, (q, q_rotary), (k, k_rotary)), len(k_rotary[0][0])
    sizes = {"d_h": len(w_uk[0][0]), "d_v": len(w_uv[0][0]), "d_model": len(x[0])}
    s = hand.write("scores", read_by(hand, q, [*map(transposed, k)]))
    found = read_by(hand, weigh(hand, s, keys, sizes | {"d_k": sizes["d_h"] + d_r}), v)
    if is_absorbed:
        found = hand.write("context_c", found)
        found = [hand.product(*pair) for pair in zip(found, w_uv, strict=True)]
    return finished(hand, found, keys, x)


def with_rotary(hand: Hand, keys: Keys, *sides: tuple[Heads, Heads]) -> list[Heads]:
    """Write the rotary parts turned, and return queries and keys with both parts beside each other."""
    (_, q), (_, k) = sides
    q = hand.either(q, rotary_queries_shared=lambda: [q[0]] * len(q))
    p = keys["positions"][0] if keys["positions"] else {"name": "rope"}
    *turned, _ = rotated(hand, q, k, p, True)

    def turned_again(heads: Heads) -> Heads:
        aside = Hand(hand.own)  # which writes nothing of this
        return rotated(aside, heads, heads, p, True)[0]

    found = []
    for name, (content, rotary), turned_part in zip("QK", sides, turned, strict=True):
        count = max(len(content), len(rotary))
        parts = [shared(part, count) for part in (content, turned_part, rotary)]
        found.append(hand.write(name, together(hand, name, parts, turned_again)))
    return found


def together(
    hand: Hand, name: str, parts: list[Heads], turned_again: Callable[[Heads], Heads]
) -> Heads:
    """Return the content part and the turned part of queries or keys beside each other."""
    content, turned, rotary = parts

    def joined(left: Heads, right: Heads) -> Heads:
        return [beside([*pair]) for pair in zip(left, right, strict=True)]

    right = joined(content, turned)
    return hand.either(
        right,
        rotary_part_left_out=lambda: content,
        parts_added=lambda: plus(content, turned),
        whole_turned=lambda: turned_again(joined(content, rotary)),
        content_turned=lambda: joined(turned_again(content), turned),
        key_turned=lambda: joined(turned_again(content), turned) if name == "K" else right,
    )


def solve(**keys: Any) -> dict[str, Any]:
    """Return the steps but for the angles and their cosines and sines."""
    from tests.oracles import reference

    steps = reference.solve(**keys)
    return {name: step for name, step in steps.items() if name not in ("angles", "cos", "sin")}
