"""Attention of the kinds self, cross and decode, from the tokens to the output.

Vaswani et al. 2017 (heads), Shazeer 2019 (shared keys), Henry et al. 2020 (norms of queries and
keys), Ye et al. 2024 (differential), Qiu et al. 2025 (gates), Luong et al. 2015 (W_c).
"""

from __future__ import annotations

from typing import Any

from tests.oracles.arithmetic import Hand, Heads, Keys, Matrix, Number, Vector
from tests.oracles.lists import beside, cut, depth, each, every, is_list, plus, shared, times
from tests.oracles.positions import embedded, listed, rotated, turn, wave_factor
from tests.oracles.weights import Tiles, adjusted, normalized, read_by, scores, weigh


def read(given: Keys) -> Keys:
    """Return the keys of a problem with every short form spelled out."""
    keys = {"kind": "self", "heads": 1, "score": "scaled_dot", "positions": [], **given}
    keys.setdefault("kv_heads", keys["heads"])
    score, mask, how = keys["score"], keys.get("mask", {}), keys.get("normalize", {})
    keys["score"] = score = {"name": score} if isinstance(score, str) else score
    usual = {"name": "sum" if score["name"] == "linear" else "softmax"}
    keys["normalize"] = usual | ({"name": how} if isinstance(how, str) else how)
    if isinstance(mask, str):
        mask = {mask: True}
    keys["mask"] = dict(mask) if isinstance(mask, dict) else {"keep": mask}
    keys["positions"] = listed(keys["positions"])
    if "past" in keys:
        earlier = len(keys["past"]["K"][0] if depth(keys["past"]["K"]) == 3 else keys["past"]["K"])
        if keys["mask"].get("align") != "bottom-right":
            keys["mask"].setdefault("offset", earlier)
        keys["positions"] = [{"start": earlier} | p for p in keys["positions"]]
    return keys


def project(hand: Hand, keys: Keys, name: str, x: Matrix) -> Heads:
    """Return Q, K or V, a matrix per head."""
    count, letter = keys["heads" if name == "Q" else "kv_heads"], name.lower()
    if name in keys:
        given = hand.numbers(keys[name])
        return (
            cut(given, count)
            if depth(given) == 2
            else [given[h % len(given)] for h in range(count)]
        )
    if name == "Q" and hand.does("wrong_weight_matrix"):
        letter = "k"
    return cut(hand.linear(x, keys, letter), count)


def attention(hand: Hand, given: Keys) -> Matrix:
    """Write every step of a problem, and return its output."""
    keys = read(given)
    x = hand.numbers(keys["X"]) if "X" in keys else []
    if keys["kind"] == "decode":
        return finished(hand, decoded(hand, keys, x), keys, x)
    return attended(hand, keys, x, hand.numbers(keys.get("memory", [])))


def attended(hand: Hand, keys: Keys, x: Matrix, memory: Matrix, end: str = "output") -> Matrix:
    """Write the steps from the tokens on; the last one is called `end`."""
    made, is_cross = {}, keys["kind"] == "cross"
    tokens = embedded(hand, x, keys["positions"])
    others = tokens
    for name in "QKV":
        if name == "K" and is_cross:
            others = embedded(hand, memory, keys["positions"], "_memory")
        if name == "V" or "scores" not in keys:
            found = project(hand, keys, name, tokens if name == "Q" else others)
            if name == "Q" and hand.does("positions_after_projection"):
                found = plus(
                    project(hand, keys, name, x), cut(hand.steps["positions"][0], len(found))
                )
            made[name] = hand.write(name, found)
    v = made["V"]
    sizes = {"d_v": len(v[0][0]), "d_model": len(x[0]) if x else 0}
    if "differential" in keys:
        weights = differential(hand, keys, made["Q"], made["K"], sizes)
        return finished(hand, read_by(hand, weights, v), keys, x, end)
    if "scores" in keys:
        given = hand.numbers(keys["scores"])
        given = given if depth(given) == 3 else [given]
        s = hand.write("scores", [given[h % len(given)] for h in range(keys["heads"])])
    else:
        q, k, v = prepared(hand, keys, made)
        sizes["d_k"] = len(k[0][0])
        s = scores(hand, q, k, keys["score"])
    if "online" in keys:
        s = adjusted(hand, s, keys, sizes)
        contexts = Tiles(hand, s, v, keys["normalize"]).worked(keys["online"]["tile"])
        return finished(hand, contexts, keys, x, end)
    weights = weigh(hand, s, keys, sizes)
    if hand.does("input_instead_of_values"):
        v = [x]
    if hand.does("gate_on_values"):
        v = through_gates(hand, v, gates(hand, keys, x))
    return finished(hand, read_by(hand, weights, v), keys, x, end)


def prepared(hand: Hand, keys: Keys, made: dict[str, Heads]) -> tuple[Heads, Heads, Heads]:
    """Return queries, keys and values after norms, rotations, and a cache."""
    q, k, v = made["Q"], made["K"], made.get("V", [])
    if "qk_norm" in keys:
        q, k = (
            hand.write(f"{name}_normed", normed(hand, x, name, keys["qk_norm"]))
            for name, x in (("Q", q), ("K", k))
        )
    for p in keys["positions"]:
        if p["name"] == "rope":
            ends = is_list(p.get("start", 0)) or isinstance(p.get("ids"), dict)
            is_same = not (ends or keys["kind"] == "cross" or "differential" in keys)
            q, k, waves = rotated(hand, q, k, p, is_same)
            if hand.does("values_rotated"):
                v = [turn(hand, rows, *waves, p) for rows in v]
            if hand.does("attention_factor_of_scores"):
                by = wave_factor(hand, p)
                q = [[[x * by for x in row] for row in rows] for rows in q]
    if "past" in keys:
        k, v = (with_earlier(hand, keys["past"][name], x, name) for name, x in (("K", k), ("V", v)))
        k, v = hand.write("K_all", k), hand.write("V_all", v)
    return q, k, v


def with_earlier(hand: Hand, past: Any, new: Heads, name: str) -> Heads:
    """Return earlier keys or values, and new ones below them."""
    past = hand.numbers(past)
    past = cut(past, len(new)) if depth(past) == 2 else past
    if hand.does("cache_upside_down", "KV".index(name)):
        past, new = new, past
    return [old + more for old, more in zip(past, new, strict=True)]


def normed(hand: Hand, heads: Heads, name: str, norm: Any) -> Heads:
    """Each vector divided by its length, or by √(mean x² + eps) and times g."""
    norm = norm if isinstance(norm, dict) else {"name": norm}
    gain = hand.numbers(norm.get(f"g_{name.lower()}", []))
    if norm["name"] == "rms":
        return [root_mean_square(hand, rows, norm.get("eps", 1e-6), gain) for rows in heads]
    lengths = [[hand.own.sqrt(hand.own.dot(row, row)) for row in rows] for rows in heads]
    pairs = zip(heads, lengths, strict=True)
    return [[[x / y for x in row] for row, y in zip(*pair, strict=True)] for pair in pairs]


def root_mean_square(
    hand: Hand, rows: Matrix, eps: Any, gain: Vector, squares: Matrix | None = None
) -> Matrix:
    """X / √(mean x² + eps) · g, of each row."""
    found = []
    for row, (square,) in zip(rows, squares or mean_squares(hand, rows), strict=True):
        root = hand.own.sqrt(square + hand.own.number(eps))
        found.append([x / root for x in row])
    return [times(row, gain) for row in found] if gain else found


def mean_squares(hand: Hand, rows: Matrix) -> Matrix:
    return [[hand.own.dot(row, row) / len(row)] for row in rows]


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
        own = keys | {
            "positions": [{**p, "start": p.get("start", 0) + t} for p in keys["positions"]]
        }
        q, k, v = prepared(hand, own, made)
        hand.names = {}
        for name, new in (("K", k), ("V", v)):
            joined = with_earlier(hand, cache[name], new, name) if t else new
            cache[name] = hand.write(name, joined)
        s = scores(hand, q, cache["K"], keys["score"])
        weights = weigh(
            hand, s, keys, {"d_k": len(k[0][0]), "d_v": len(v[0][0]), "d_model": len(row)}
        )
        read.append(hand.write("z", read_by(hand, weights, cache["V"])))
    hand.suffix = ""
    return [[heads[h][0] for heads in read] for h in range(keys["heads"])]


# What two halves of the features give.


def differential(hand: Hand, keys: Keys, q: Heads, k: Heads, sizes: dict[str, int]) -> Heads:
    """Write the weights of two halves of the features, and the first − λ · the second."""
    p, both, before = keys["differential"], [], []
    for end in (1, 2):
        hand.suffix = f"_{end}"
        sides = {
            name: hand.write(name, half(hand, heads, end, name))
            for name, heads in (("Q", q), ("K", k))
        }
        of_q, of_k, _ = prepared(hand, keys, sides)
        s = scores(hand, of_q, of_k, keys["score"])
        before.append(adjusted(hand, s, keys, sizes | {"d_k": len(of_k[0][0])}))
        both.append(normalized(hand, before[-1], keys["normalize"]))
    hand.suffix = ""
    factors = hand.numbers(every(p["lambda"])) if "lambda" in p else learned(hand, p)
    factors = shared(factors, len(both[0]))
    right = less(hand, factors, *both)
    found = hand.either(
        right,
        softmax_of_the_difference=lambda: of_sums(
            hand, each(hand.own.exp, less(hand, factors, *before))
        ),
        difference_normalized=lambda: of_sums(hand, right),
    )
    return hand.write("weights", found)


def less(hand: Hand, factors: Vector, first: Heads, second: Heads) -> Heads:
    """The first − λ · the second, of each head with its λ."""

    def number(a: Number, b: Number, by: Number) -> Number:
        return hand.either(
            a - by * b,
            second_weights_added=lambda: a + by * b,
            lambda_left_out=lambda: a - b,
            second_weights_left_out=lambda: a,
            halves_exchanged=lambda: b - by * a,
            lambda_on_the_difference=lambda: by * (a - b),
            lambda_on_the_first_weights=lambda: by * a - b,
        )

    heads = zip(first, second, factors, strict=True)
    return [each(lambda x, y, by=by: number(x, y, by), a, b) for a, b, by in heads]


def of_sums(hand: Hand, heads: Heads) -> Heads:
    """Return each number divided by the sum of its row."""
    return [[[x / hand.own.total(row) for x in row] for row in rows] for rows in heads]


def half(hand: Hand, heads: Heads, end: int, name: str) -> Heads:
    """Return one half of the features of each head."""
    if hand.does("halves_interleaved"):
        return [[row[end - 1 :: 2] for row in rows] for rows in heads]
    if hand.does("other_half_taken") and name == "Q":
        end = 3 - end
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
    own, p = hand.own, keys["differential"]
    squares = [mean_squares(hand, rows) for rows in contexts]
    if hand.does("norm_of_all_heads"):
        groups = zip(*squares, strict=True)
        squares = [[[own.total([x for (x,) in group]) / len(group)] for group in groups]]
    squares = hand.write("mean_square_context", shared(squares, len(contexts)))
    gain, eps = hand.numbers(p.get("gain", [])), p.get("eps", 1e-6)
    pairs = zip(contexts, squares, strict=True)
    norm = hand.write("normed_context", [root_mean_square(hand, a, eps, gain, b) for a, b in pairs])
    starts = hand.numbers(every(p["lambda_init"]))
    rest = hand.either(
        [1 - x for x in starts],
        lambda_init_not_its_rest=lambda: starts,
        rest_of_lambda_left_out=lambda: [own.number(1)],
        rest_of_lambda_itself=lambda: [
            1 - x for x in every(p["lambda"] if "lambda" in p else hand.steps["lambda"])
        ],
    )
    pairs = zip(norm, shared(rest, len(norm)), strict=True)
    return hand.write("rescaled_context", [each(lambda x, by=by: by * x, a) for a, by in pairs])


def gates(hand: Hand, keys: Keys, rows: Matrix) -> Heads:
    """1 / (1 + e^−x) of X W + b, a column or a piece of the columns for each head."""
    net = hand.linear(rows, {f"{name}_gate": part for name, part in keys["gate"].items()}, "gate")
    heads = cut(net, keys["heads"])
    return hand.either(
        each(hand.own.sigmoid, heads),
        gate_heads_exchanged=lambda: each(hand.own.sigmoid, heads[::-1]),
        gate_without_sigmoid=lambda: heads,
        gate_by_tanh=lambda: each(hand.own.tanh, heads),
    )


def through_gates(hand: Hand, heads: Heads, gate: Heads) -> Heads:
    """Each number times its own gate, or times the only one of its row."""
    pairs = zip(heads, gate, strict=True)
    gate = [[row * (len(x[0]) // len(row)) for row in rows] for x, rows in pairs]
    return hand.either(
        times(heads, gate),
        gate_added=lambda: plus(heads, gate),
        gate_inverted=lambda: times(heads, each(lambda x: 1 - x, gate)),
    )


def finished(hand: Hand, contexts: Heads, keys: Keys, x: Matrix, end: str = "output") -> Matrix:
    """Write what comes after the heads; the last step is called `end`."""
    does, is_several = hand.does, len(contexts) > 1
    is_last = not {"W_o", "b_o"} & keys.keys()
    is_changed = "gate" in keys or "norm" in keys.get("differential", {})
    contexts = hand.write("context" if is_several or is_changed or not is_last else end, contexts)
    if "norm" in keys.get("differential", {}):
        contexts = rescaled(hand, contexts, keys)
    if "gate" in keys:
        source = beside(contexts) if does("gate_from_context") else x
        gate = hand.write("gate", gates(hand, keys, source))
        is_open = does("gate_forgotten") or does("gate_after_w_o") or does("gate_on_values")
        contexts = contexts if is_open else through_gates(hand, contexts, gate)
        contexts = hand.write("gated", contexts)
    output = contexts[0]
    if is_several:
        (output,) = hand.write(end if is_last else "concat", [beside(contexts)])
    if not is_last:
        output = hand.linear(output, keys, "o")
        output = times(output, beside(gate)) if does("gate_after_w_o") else output
        (output,) = hand.write(end, [output])
    elif is_changed and not is_several:
        (output,) = hand.write(end, [output])
    if "W_c" in keys:
        joined, matrix = beside([output, x]), hand.numbers(keys["W_c"])
        found = [each(hand.own.tanh, hand.applied(matrix, row)) for row in joined]
        (output,) = hand.write("attentional", [found])
    return output
