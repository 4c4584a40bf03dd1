"""Linear attention with a state and the delta rule, by plain loops in 50 digits.

The state of a head is kept as the papers do, with a row for each feature of values: S ∈ R^{d_v×d_k}
and column vectors, S k for what it holds; `solve` gives its transpose, as the program writes it.
"""

from __future__ import annotations

from typing import Any

from tests.oracles import reference as ref

mp = ref.mp

ORDER = (
    "q",
    "k",
    "v",
    "q_normed",
    "k_normed",
    "alpha",
    "beta",
    "decayed",
    "read",
    "error",
    "S",
    "o",
)
"""The steps of a token as the program lists them."""


def solve(keys: ref.Keys, b: int) -> dict[str, Any]:
    """Return every step of one batch element, each a list of heads of rows."""
    shared, tokens = keys["kv_heads"], len(ref.project(keys, "V", b)[0])
    whole = {name: ref.project(keys, name, b) for name in "QKV"}
    rates = {name: rates_of(keys, name, b) for name in ("alpha", "beta")}
    states = [start(keys, h, b, whole) for h in range(shared)]
    steps: dict[str, Any] = {"S_0": [ref.transpose(state) for state in states]}
    steps |= {name: rows for name, rows in rates.items() if f"W_{name}" in keys}
    outputs: list[list[Any]] = []
    for t in range(tokens):
        found: dict[str, list[Any]] = {}
        for h in range(shared):
            parts = {name: whole[name][h][t] for name in "KV"}
            mine = {name: rows[h][t] for name, rows in rates.items() if rows is not None}
            states[h] = one_token(keys, states[h], parts, mine, found)
        for h in range(keys["heads"]):
            q = whole["Q"][h][t]
            found.setdefault("q", []).append([q])
            if "qk_norm" in keys:
                q = ref.normed([[q]], "q", keys["qk_norm"])[0][0]
                found.setdefault("q_normed", []).append([q])
            o = ref.times(states[h // (keys["heads"] // shared)], q)
            sizes = {"d_k": len(q), "d_v": len(o)}
            scale = ref.value_of_scale(keys.get("scale", "1"), sizes)
            found.setdefault("o", []).append([[x * scale for x in o]])
        steps |= {f"{name}_{t + 1}": found[name] for name in ORDER if name in found}
        outputs.append([head[0] for head in found["o"]])
    contexts = [[row[h] for row in outputs] for h in range(keys["heads"])]
    return steps | ref.finish(contexts, keys, b)


def one_token(
    keys: ref.Keys, state: Any, parts: dict[str, Any], rates: dict[str, Any], found: dict[str, Any]
) -> Any:
    """Return the state after a token, and put its steps into `found`."""

    def note(name: str, rows: Any) -> None:
        found.setdefault(name, []).append(rows)

    k, v = parts["K"], parts["V"]
    note("k", [k])
    note("v", [v])
    if "qk_norm" in keys:
        k = ref.normed([[k]], "k", keys["qk_norm"])[0][0]
        note("k_normed", [k])
    if "alpha" in rates:
        fade = rates["alpha"] * (len(k) // len(rates["alpha"]))
        state = [[a * x for a, x in zip(fade, row, strict=True)] for row in state]
        note("decayed", ref.transpose(state))
    if "delta" in keys.get("update", "delta"):
        read = ref.times(state, k)
        v = [x - y for x, y in zip(v, read, strict=True)]
        note("read", [read])
        note("error", [v])
    beta = rates.get("beta", [mp.mpf(1)])[0]
    state = [
        [s + beta * e * x for s, x in zip(row, k, strict=True)]
        for row, e in zip(state, v, strict=True)
    ]
    note("S", ref.transpose(state))
    return state


def rates_of(keys: ref.Keys, name: str, b: int) -> Any:
    """Return α or β of each head and token, a list of one number, or of one per feature."""
    count = keys["kv_heads"]
    if name in keys:
        given = keys[name]
        by_head = ref.depth(given) == 4 or (ref.depth(given) == 3 and keys["heads"] > 1)
        if by_head:
            return [ref.of_head(given, b, h, keys) for h in range(count)]
        return ref.cut(given[b] if ref.depth(given) == 3 else given, count)
    if f"W_{name}" not in keys:
        return None
    x = keys["X"][b] if ref.depth(keys["X"]) == 3 else keys["X"]
    rows = ref.product(x, keys[f"W_{name}"])
    rows = [ref.plus(row, keys[f"b_{name}"]) for row in rows] if f"b_{name}" in keys else rows
    return ref.cut([[1 / (1 + mp.exp(-a)) for a in row] for row in rows], count)


def start(keys: ref.Keys, h: int, b: int, whole: dict[str, Any]) -> Any:
    """Return the first state of a head, a row for each feature of values."""
    d_k, d_v = (len(whole[name][0][0]) for name in "KV")
    if "S_0" not in keys:
        return [[mp.mpf(0)] * d_k for _ in range(d_v)]
    given = keys["S_0"]
    if ref.depth(given) == 2:
        return ref.transpose(ref.cut(given, keys["kv_heads"])[h])
    return ref.transpose(ref.of_head(given, b, h, keys))
