"""Attention of the kinds self, cross and decode, from the tokens to the output.

Vaswani et al. 2017 (heads), Shazeer 2019 (shared keys), Henry et al. 2020 (norms of queries and
keys), Ye et al. 2024 (differential), Qiu et al. 2025 (gates), Luong et al. 2015 (W_c).
"""

from __future__ import annotations

from typing import Any

from tests.oracles.arithmetic import Hand, Heads, Keys, Matrix, Number, Vector
from tests.oracles.lists import (
    beside,
    by_rows,
    cut,
    depth,
    each,
    every,
    is_list,
    plus,
    shared,
    times,
)
from tests.oracles.positions import embedded, listed, rotated, turn, wave_factor
from tests.oracles.weights import adjusted, by_tiles, normalized, over_sums, read_by, scores, weigh


def read(given: Keys) -> Keys:
    """Return the keys of a problem with every short form spelled out."""
    keys = {"kind": "self", "heads": 1, "score": "scaled_dot", "positions": [], **given}
    keys.setdefault("kv_heads", keys["heads"])
    score, mask, how = keys["score"], keys.get("mask", {}), keys.get("normalize", {})
    keys["score"] = score = {"name": score} if isinstance(score, str) else score
    usual = {"name": "sum" if score["name"] == "linear" else "softmax"}
    keys["normalize"] = usual | ({"name": how} if isinstance(how, str) else how)
    mask = {mask: True} if isinstance(mask, str) else mask
    keys["mask"] = dict(mask) if isinstance(mask, dict) else {"keep": mask}
    keys["positions"] = listed(keys["positions"])
    if "past" in keys:
        earlier = keys["past"]["K"]
        count = len(earlier[0] if depth(earlier) == 3 else earlier)
        if keys["mask"].get("align") != "bottom-right":
            keys["mask"].setdefault("offset", count)
        keys["positions"] = [{"start": count} | p for p in keys["positions"]]
    return keys


def by_head(given: Any, count: int) -> Heads:
    """Return a matrix per head, of a matrix or of several; one may be that of all."""
    if depth(given) == 2:
        return cut(given, count)
    return shared(given, count)


def project(hand: Hand, keys: Keys, name: str, x: Matrix) -> Heads:
    """Return Q, K or V, a matrix per head."""
    count = keys["heads" if name == "Q" else "kv_heads"]
    if name in keys:
        return by_head(hand.numbers(keys[name]), count)
    is_other = name == "Q" and hand.does("wrong_weight_matrix")
    return cut(hand.linear(x, keys, "k" if is_other else name.lower()), count)


def attention(hand: Hand, given: Keys) -> Matrix:
    """Write every step of a problem, and return its output."""
    keys = read(given)
    x = hand.numbers(keys.get("X", []))
    if keys["kind"] == "decode":
        return finished(hand, decoded(hand, keys, x), keys, x)
    return attended(hand, keys, x, hand.numbers(keys.get("memory", [])))


def attended(hand: Hand, keys: Keys, x: Matrix, memory: Matrix, end: str = "output") -> Matrix:
    """Write the steps from the tokens on; the last one is called `end`."""
    made, tokens = {}, embedded(hand, x, keys["positions"])
    sources = {"Q": tokens, "K": tokens, "V": tokens}
    if "scores" not in keys:
        q = project(hand, keys, "Q", tokens)
        if hand.does("positions_after_projection"):
            added = cut(hand.steps["positions"][0], len(q))
            q = plus(project(hand, keys, "Q", x), added)
        made["Q"] = hand.write("Q", q)
    if keys["kind"] == "cross":
        sources["K"] = sources["V"] = embedded(hand, memory, keys["positions"], "_memory")
    for name in "V" if "scores" in keys else "KV":
        made[name] = hand.write(name, project(hand, keys, name, sources[name]))
    contexts = mixed(hand, keys, made, x)
    return finished(hand, contexts, keys, x, end)


def mixed(hand: Hand, keys: Keys, made: dict[str, Heads], x: Matrix) -> Heads:
    """Write scores and weights, and return what every head reads."""
    v = made["V"]
    sizes = {"d_v": len(v[0][0]), "d_model": len(x[0]) if x else 0}
    if "differential" in keys:
        return read_by(hand, differential(hand, keys, made["Q"], made["K"], sizes), v)
    if "scores" in keys:
        given = hand.numbers(keys["scores"])
        s = hand.write("scores", shared(given if depth(given) == 3 else [given], keys["heads"]))
    else:
        q, k, v = prepared(hand, keys, made)
        sizes["d_k"] = len(k[0][0])
        s = scores(hand, q, k, keys["score"])
    s = adjusted(hand, s, keys, sizes)
    if "online" in keys:
        return by_tiles(hand, s, v, keys["online"]["tile"], keys["normalize"])
    v = hand.either(
        v,
        input_instead_of_values=lambda: [x],
        gate_on_values=lambda: through_gates(hand, v, gates(hand, keys, x)),
    )
    return read_by(hand, normalized(hand, s, keys["normalize"]), v)


def prepared(hand: Hand, keys: Keys, made: dict[str, Heads]) -> tuple[Heads, Heads, Heads]:
    """Return queries, keys and values after norms, rotations, and a cache."""
    q, k, v = made["Q"], made["K"], made.get("V", [])
    if "qk_norm" in keys:
        q = hand.write("Q_normed", normed(hand, q, "q", keys["qk_norm"]))
        k = hand.write("K_normed", normed(hand, k, "k", keys["qk_norm"]))
    for p in keys["positions"]:
        if p["name"] == "rope":
            ends = is_list(p.get("start", 0)) or isinstance(p.get("ids"), dict)
            is_same = not (ends or keys["kind"] == "cross" or "differential" in keys)
            q, k, waves = rotated(hand, q, k, p, is_same)
            if hand.does("values_rotated"):
                v = [turn(hand, rows, waves[0], waves[1], p) for rows in v]
            if hand.does("attention_factor_of_scores"):
                by = wave_factor(hand, p)
                q = by_rows(lambda row, by=by: [x * by for x in row], q)
    if "past" in keys:
        k = hand.write("K_all", with_earlier(hand, keys["past"]["K"], k, 0))
        v = hand.write("V_all", with_earlier(hand, keys["past"]["V"], v, 1))
    return q, k, v


def with_earlier(hand: Hand, past: Any, new: Heads, way: int) -> Heads:
    """Return earlier keys or values, and new ones below them."""
    past = by_head(hand.numbers(past), len(new))
    if hand.does("cache_upside_down", way):
        past, new = new, past
    return [old + more for old, more in zip(past, new, strict=True)]


def normed(hand: Hand, heads: Heads, side: str, norm: Any) -> Heads:
    """Each vector divided by its length, or by √(mean x² + eps) and times g."""
    own, norm = hand.own, norm if isinstance(norm, dict) else {"name": norm}
    gain = hand.numbers(norm.get(f"g_{side}", []))
    if norm["name"] == "rms":
        squares = mean_squares(hand, heads)
        return root_mean_square(hand, heads, squares, norm.get("eps", 1e-6), gain)
    lengths = by_rows(lambda row: [own.sqrt(own.dot(row, row))], heads)
    return over_sums(heads, lengths)


def mean_squares(hand: Hand, heads: Heads) -> Heads:
    return by_rows(lambda row: [hand.own.dot(row, row) / len(row)], heads)


def root_mean_square(hand: Hand, heads: Heads, squares: Heads, eps: Any, gain: Vector) -> Heads:
    """X / √(mean x² + eps) · g, of each row."""
    roots = each(lambda square: hand.own.sqrt(square + hand.own.number(eps)), squares)
    found = over_sums(heads, roots)
    return by_rows(lambda row: times(row, gain), found) if gain else found


def decoded(hand: Hand, keys: Keys, x: Matrix) -> Heads:
    """Write the steps of each token, one after the other, and return what each reads."""
    cache: dict[str, Heads] = {}
    read: list[Heads] = []
    for t, row in enumerate(x):
        hand.suffix = f"_{t + 1}"
        made = {name: hand.write(name.lower(), project(hand, keys, name, [row])) for name in "QKV"}
        hand.names = {
            f"{name}_{how}": f"{name.lower()}_{how}"
            for name in "QK"
            for how in ("normed", "rotated")
        }
        several = [p | {"start": p.get("start", 0) + t} for p in keys["positions"]]
        q, *new = prepared(hand, keys | {"positions": several}, made)
        hand.names = {}
        for way, name in enumerate("KV"):
            joined = with_earlier(hand, cache[name], new[way], way) if t else new[way]
            cache[name] = hand.write(name, joined)
        s = scores(hand, q, cache["K"], keys["score"])
        sizes = {"d_k": len(new[0][0][0]), "d_v": len(new[1][0][0]), "d_model": len(row)}
        read.append(hand.write("z", read_by(hand, weigh(hand, s, keys, sizes), cache["V"])))
    hand.suffix = ""
    return [[heads[h][0] for heads in read] for h in range(keys["heads"])]


# What two halves of the features give.


def differential(hand: Hand, keys: Keys, q: Heads, k: Heads, sizes: dict[str, int]) -> Heads:
    """Write the weights of two halves of the features, and the first − λ · the second."""
    own, p, both, before = hand.own, keys["differential"], [], []
    for end in (1, 2):
        hand.suffix = f"_{end}"
        sides = {"Q": half(hand, q, end, "Q"), "K": half(hand, k, end, "K")}
        sides = {name: hand.write(name, heads) for name, heads in sides.items()}
        of_q, of_k, _ = prepared(hand, keys, sides)
        s = scores(hand, of_q, of_k, keys["score"])
        before.append(adjusted(hand, s, keys, sizes | {"d_k": len(of_k[0][0])}))
        both.append(normalized(hand, before[-1], keys["normalize"]))
    hand.suffix = ""
    factors = hand.numbers(every(p["lambda"])) if "lambda" in p else learned(hand, p)

    def less(a: Number, b: Number, by: Number) -> Number:
        return hand.either(
            a - by * b,
            second_weights_added=lambda: a + by * b,
            lambda_left_out=lambda: a - b,
            second_weights_left_out=lambda: a,
            halves_exchanged=lambda: b - by * a,
            lambda_on_the_difference=lambda: by * (a - b),
            lambda_on_the_first_weights=lambda: by * a - b,
        )

    def of_heads(first: Heads, second: Heads) -> Heads:
        heads = zip(first, second, shared(factors, len(first)), strict=True)
        return [each(lambda x, y, by=by: less(x, y, by), a, b) for a, b, by in heads]

    def of_sum(row: Vector) -> Vector:
        return [x / own.total(row) for x in row]

    right = of_heads(*both)
    found = hand.either(
        right,
        softmax_of_the_difference=lambda: by_rows(of_sum, each(own.exp, of_heads(*before))),
        difference_normalized=lambda: by_rows(of_sum, right),
    )
    return hand.write("weights", found)


def half(hand: Hand, heads: Heads, end: int, name: str) -> Heads:
    """Return one half of the features of each head."""
    if hand.does("halves_interleaved"):
        return by_rows(lambda row: row[end - 1 :: 2], heads)
    end = 3 - end if name == "Q" and hand.does("other_half_taken") else end
    return [cut(rows, 2)[end - 1] for rows in heads]


def learned(hand: Hand, p: Keys) -> Vector:
    """Write λ = e^(q_1 · k_1) − e^(q_2 · k_2) + λ_init."""
    own = hand.own
    products = [own.dot(*(hand.numbers(p[f"lambda_{side}{i}"]) for side in "qk")) for i in (1, 2)]
    a, b = map(own.exp, products)
    apart = hand.either(
        a - b,
        powers_of_lambda_added=lambda: a + b,
        powers_of_lambda_exchanged=lambda: b - a,
        lambda_without_powers=lambda: products[0] - products[1],
    )
    starts = every(0 if hand.does("lambda_init_left_out") else p["lambda_init"])
    return every(hand.write("lambda", [[[apart + own.number(start)]] for start in starts]))


# What comes after the heads.


def rescaled(hand: Hand, contexts: Heads, keys: Keys) -> Heads:
    """Write the norm of the features of each head, and that times 1 − λ_init."""
    own, p, squares = hand.own, keys["differential"], mean_squares(hand, contexts)
    if hand.does("norm_of_all_heads"):
        sums = by_rows(lambda *rows: [own.total(every(rows)) / len(rows)], *([m] for m in squares))
        squares = sums * len(squares)
    squares = hand.write("mean_square_context", squares)
    gain, starts = hand.numbers(p.get("gain", [])), hand.numbers(every(p["lambda_init"]))
    norm = root_mean_square(hand, contexts, squares, p.get("eps", 1e-6), gain)
    norm = hand.write("normed_context", norm)
    known = every(p["lambda"] if "lambda" in p else hand.steps["lambda"])
    rest = hand.either(
        [1 - x for x in starts],
        lambda_init_not_its_rest=lambda: starts,
        rest_of_lambda_left_out=lambda: [own.number(1)],
        rest_of_lambda_itself=lambda: [1 - x for x in known],
    )
    pairs = zip(norm, shared(rest, len(norm)), strict=True)
    return hand.write("rescaled_context", [each(lambda x, by=by: by * x, a) for a, by in pairs])


def gates(hand: Hand, keys: Keys, rows: Matrix) -> Heads:
    """1 / (1 + e^−x) of X W + b, a column or a piece of the columns for each head."""
    parts = {f"{name}_gate": part for name, part in keys["gate"].items()}
    heads = cut(hand.linear(rows, parts, "gate"), keys["heads"])
    heads = hand.either(heads, gate_heads_exchanged=lambda: heads[::-1])
    return hand.either(
        each(hand.own.sigmoid, heads),
        gate_without_sigmoid=lambda: heads,
        gate_by_tanh=lambda: each(hand.own.tanh, heads),
    )


def through_gates(hand: Hand, heads: Heads, gate: Heads) -> Heads:
    """Each number times its own gate, or times the only one of its row."""
    gate = by_rows(lambda row, of_row: of_row * (len(row) // len(of_row)), heads, gate)
    return hand.either(
        times(heads, gate),
        gate_added=lambda: plus(heads, gate),
        gate_inverted=lambda: times(heads, each(lambda x: 1 - x, gate)),
    )


def finished(hand: Hand, contexts: Heads, keys: Keys, x: Matrix, end: str = "output") -> Matrix:
    """Write what comes after the heads; the last step is called `end`."""
    does, is_several = hand.does, len(contexts) > 1
    is_last = not {"W_o", "b_o"} & keys.keys()
    is_normed = "norm" in keys.get("differential", {})
    is_changed = is_normed or "gate" in keys
    contexts = hand.write("context" if is_several or is_changed or not is_last else end, contexts)
    contexts = rescaled(hand, contexts, keys) if is_normed else contexts
    if "gate" in keys:
        gate = hand.write(
            "gate", gates(hand, keys, beside(contexts) if does("gate_from_context") else x)
        )
        is_open = any(map(does, ("gate_forgotten", "gate_after_w_o", "gate_on_values")))
        contexts = contexts if is_open else through_gates(hand, contexts, gate)
        contexts = hand.write("gated", contexts)
    output = contexts[0]
    if is_several:
        (output,) = hand.write(end if is_last else "concat", [beside(contexts)])
    if not is_last:
        output = hand.linear(output, keys, "o")
        output = times(output, beside(gate)) if does("gate_after_w_o") else output
    if not is_last or (is_changed and not is_several):
        (output,) = hand.write(end, [output])
    if "W_c" in keys:
        matrix = hand.numbers(keys["W_c"])
        joined = by_rows(lambda row: hand.applied(matrix, row), [beside([output, x])])
        (output,) = hand.write("attentional", each(hand.own.tanh, joined))
    return output
