"""Multi-head latent attention in 50 digits, by loops over equations 9 to 19 of DeepSeek-V2.

Nothing here comes from the program. Tokens are rows, and there is no batch; `solve` gives every
step as nested lists [batch][head][row][column], as `reference` does, from which it takes what
follows the queries, keys and values of a head.
"""

from __future__ import annotations

from typing import Any

from tests.oracles import reference
from tests.oracles.reference import Heads, Keys, Matrix, mp, product, transpose

WORDS = {"kind", "form", "latent_norm", "positions"}
"""The keys that are no numbers, beside those that `reference.read` knows."""


def turned(rows: Matrix, positions: Keys) -> Matrix:
    """Each pair (x, y) of token t turned by t / base^(2j/d)."""
    found = []
    for i, row in enumerate(rows):
        d, new = len(row), list(row)
        for j in range(d // 2):
            is_halves = positions.get("pairs") == "halves"
            a, b = (j, j + d // 2) if is_halves else (2 * j, 2 * j + 1)
            base = mp.mpf(positions.get("base", 10000))
            theta = (positions.get("start", 0) + i) / base ** (mp.mpf(2 * j) / d)
            new[a] = row[a] * mp.cos(theta) - row[b] * mp.sin(theta)
            new[b] = row[a] * mp.sin(theta) + row[b] * mp.cos(theta)
        found.append(new)
    return found


def normed(rows: Matrix, gain: Any, eps: Any) -> Matrix:
    """X / √(mean x² + eps) · g."""
    found = []
    for row in rows:
        root = mp.sqrt(mp.fsum(x * x for x in row) / len(row) + eps)
        found.append([x / root * g for x, g in zip(row, gain or [1] * len(row), strict=True)])
    return found


def by_head(weight: Any, heads: int) -> Heads:
    """The columns of each head, or the matrices of all."""
    is_list = reference.depth(weight) == 3
    return [*weight] if is_list else reference.cut(weight, heads)


def latents(keys: Keys, side: str, steps: dict[str, Any]) -> Matrix:
    """c_q or c_kv, after its norm if there is one."""
    c = product(keys["X"], keys[f"W_d{side}"])
    steps[f"c_{side}"] = [c]
    if "latent_norm" not in keys:
        return c
    eps = keys.get("eps", mp.mpf(1e-6))
    steps[f"mean_square_{side}"] = [[[mp.fsum(x * x for x in row) / len(row)] for row in c]]
    c = normed(c, keys.get(f"gain_{side}"), eps)
    steps[f"normed_{side}"] = [c]
    return c


def solve(**given: Any) -> dict[str, Any]:
    """Return the steps of a problem, but for the angles and their cosines and sines."""
    keys = reference.read({key: part for key, part in given.items() if key not in WORDS})
    keys |= {key: part for key, part in given.items() if key in WORDS}
    heads, is_absorbed = keys["heads"], keys.get("form") == "absorbed"
    is_rotary = "W_kr" in keys
    rope = keys.get("positions", {})
    steps: dict[str, Any] = {}
    below, weight = (latents(keys, "q", steps), "W_uq") if "W_dq" in keys else (keys["X"], "W_q")
    c = latents(keys, "kv", steps)
    q = [product(below, one) for one in by_head(keys[weight], heads)]
    steps["Q_C" if is_rotary or is_absorbed else "Q"] = q
    w_uk, w_uv = (by_head(keys[key], heads) for key in ("W_uk", "W_uv"))
    d_h = len(w_uk[0][0])
    if is_absorbed:
        q = [product(rows, transpose(one)) for rows, one in zip(q, w_uk, strict=True)]
        steps["Q_absorbed" if is_rotary else "Q"] = q
        k, v = [c], [c]
    else:
        k, v = ([product(c, one) for one in several] for several in (w_uk, w_uv))
    if not is_rotary or not is_absorbed:
        steps["K_C" if is_rotary else "K"] = k
    steps["V"] = v
    d_r = 0
    if is_rotary:
        steps["Q_rotary"] = [product(below, one) for one in by_head(keys["W_qr"], heads)]
        steps["K_rotary"] = [product(keys["X"], keys["W_kr"])]
        d_r = len(steps["K_rotary"][0][0])
        for name in "QK":
            steps[f"{name}_rotated"] = [turned(rows, rope) for rows in steps[f"{name}_rotary"]]
        q = [beside(*pair) for pair in zip(q, steps["Q_rotated"], strict=True)]
        k = [beside(rows, steps["K_rotated"][0]) for rows in k]
        steps |= {"Q": q, "K": k}
    sizes = {"d_k": d_h + d_r, "d_v": len(w_uv[0][0]), "d_model": len(keys["X"][0])}
    read: Heads = []
    for h in range(heads):
        found = {"scores": product(q[h], transpose(k[h % len(k)]))}
        found |= reference.weigh(found["scores"], keys, 0, h, sizes)
        for name, matrix in found.items():
            steps.setdefault(name, []).append(matrix)
        read.append(product(found["weights"], v[h % len(v)]))
    if is_absorbed:
        steps["context_c"] = read
        read = [product(rows, one) for rows, one in zip(read, w_uv, strict=True)]
    return {name: [step] for name, step in (steps | reference.finish(read, keys, 0)).items()}


def beside(left: Matrix, right: Matrix) -> Matrix:
    return [a + b for a, b in zip(left, right, strict=True)]
