"""Attention with positions in 50 digits, by loops over the formulas of the papers.

Nothing here comes from the program. Problems have tokens in rows; `solve` gives every step as
nested lists of one head after the other, and for some steps the largest term that was added.
"""

from __future__ import annotations

from typing import Any

import mpmath

Keys = dict[str, Any]
Number = Any
Matrix = list[list[Number]]


def exact(value: Any) -> Any:
    return list(map(exact, value)) if isinstance(value, list) else mpmath.mpf(value)


def listed(positions: Any) -> list[dict[str, Any]]:
    several = positions if isinstance(positions, list) else [positions]
    return [{"name": one} if isinstance(one, str) else dict(one) for one in several]


def angle(t: Number, j: int, size: int, p: dict[str, Any]) -> Number:
    theta = 1 / mpmath.mpf(p.get("base", 10000)) ** (mpmath.mpf(2 * j) / size)
    return t * scaled(theta, j, size, p)


def scaled(theta: Number, j: int, size: int, p: dict[str, Any]) -> Number:
    """Return the frequency of a pair, by cases as the papers and transformers have them."""
    scaling = p.get("scaling", {})
    kind, s = scaling.get("kind"), mpmath.mpf(scaling.get("factor", 1))
    length = mpmath.mpf(scaling.get("original_max_position_embeddings", 1))
    if kind == "linear":
        return theta / s
    if kind == "llama3":
        low, high = (mpmath.mpf(scaling.get(f"{x}_freq_factor", y)) for x, y in LOW_HIGH)
        wavelength = 2 * mpmath.pi / theta
        if wavelength < length / high:
            return theta
        if wavelength > length / low:
            return theta / s
        smooth = (length / wavelength - low) / (high - low)
        return (1 - smooth) * theta / s + smooth * theta
    if kind == "yarn":
        ends = []
        fast, slow = scaling.get("beta_fast", 32), scaling.get("beta_slow", 1)
        for turns, whole in ((fast, mpmath.floor), (slow, mpmath.ceil)):
            base = mpmath.mpf(p.get("base", 10000))
            pair = size * mpmath.log(length / (2 * mpmath.pi * turns)) / (2 * mpmath.log(base))
            ends.append(whole(pair) if scaling.get("truncate", True) else pair)
        low, high = max(ends[0], 0), min(ends[1], size - 1)
        high += mpmath.mpf("0.001") if low == high else 0
        ramp = min(max((j - low) / (high - low), 0), 1)
        return theta / s * ramp + theta * (1 - ramp)
    return theta


LOW_HIGH = (("low", 1), ("high", 4))


def attention_factor(p: dict[str, Any]) -> Number:
    scaling = p.get("scaling", {})
    if scaling.get("kind") != "yarn":
        return 1
    if "attention_factor" in scaling:
        return mpmath.mpf(scaling["attention_factor"])
    logarithm = mpmath.log(max(mpmath.mpf(scaling["factor"]), 1)) / 10
    of_keys, of_all = (mpmath.mpf(scaling.get(x, 0)) for x in ("mscale", "mscale_all_dim"))
    if of_keys and of_all:
        return (of_keys * logarithm + 1) / (of_all * logarithm + 1)
    return logarithm + 1


def place(i: int, j: int, start: int, side: str, p: dict[str, Any]) -> Number:
    """Return the position of a token for a pair, by which row of ids the pair takes."""
    ids = p.get("ids")
    ids = ids[side] if isinstance(ids, dict) else ids
    if ids is None:
        return start + i
    if isinstance(ids[0], list):
        row = 0
        while j >= sum(p["sections"][: row + 1]):
            row += 1
        ids = ids[row]
    return mpmath.mpf(ids[i])


def partners(size: int, p: dict[str, Any]) -> list[tuple[int, int]]:
    half = (size + 1) // 2
    if p.get("pairs") == "halves":
        return [(j, j + half) for j in range(half)]
    return [(2 * j, 2 * j + 1) for j in range(half)]


def sinusoids(n: int, d: int, p: dict[str, Any]) -> Matrix:
    rows = []
    for i in range(n):
        row = {}
        for j, (first, second) in enumerate(partners(d, p)):
            theta = angle(place(i, j, p.get("start", 0), "queries", p), j, d, p)
            row[first], row[second] = mpmath.sin(theta), mpmath.cos(theta)
        rows.append([row[c] for c in range(d)])
    return rows


def turned(rows: Matrix, start: int, p: dict[str, Any], side: str) -> Matrix:
    found = []
    for i, row in enumerate(rows):
        new, size = list(row), p.get("features", "all")
        size = len(row) if size == "all" else size
        for j, (a, b) in enumerate(partners(size, p)):
            theta = angle(place(i, j, start, side, p), j, size, p)
            c, s = (attention_factor(p) * f(theta) for f in (mpmath.cos, mpmath.sin))
            new[a], new[b] = row[a] * c - row[b] * s, row[a] * s + row[b] * c
        found.append(new)
    return found


def slope(head: int, heads: int) -> Number:
    """Press et al. 2022, section 3, and their code for other numbers of heads."""
    power = 1
    while 2 * power <= heads:
        power *= 2
    if head < power:
        return mpmath.mpf(2) ** (-mpmath.mpf(8) * (head + 1) / power)
    return mpmath.mpf(2) ** (-mpmath.mpf(8) * (2 * (head - power) + 1) / (2 * power))


def product(a: Matrix, b: Matrix) -> Matrix:
    columns = [*zip(*b, strict=True)]
    return [[mpmath.fdot(zip(row, col, strict=True)) for col in columns] for row in a]


def bias(i: int, j: int, head: int, heads: int, keys: Keys) -> Number:
    """Return what is added to one score."""
    total = mpmath.mpf(0)
    for p in listed(keys.get("positions", [])):
        if p["name"] == "alibi":
            own = mpmath.mpf(p["slopes"][head]) if "slopes" in p else slope(head, heads)
            total -= own * abs(i - j)
        elif p["name"] == "relative":
            table = p["table"][head] if isinstance(p["table"][0], list) else p["table"]
            k = len(table) // 2
            total += mpmath.mpf(table[min(max(j - i, -k), k) + k])
    if "bias" in keys:
        total += keys["bias"](i + 1, j + 1, head + 1)
    return total


def embedded(keys: Keys, given: list[dict[str, Any]], steps: dict[str, Any]) -> dict[str, Matrix]:
    """Return X and memory with what is added to them."""
    sources = {"X": keys["X"]} | ({"memory": keys["memory"]} if "memory" in keys else {})
    for name in sources:
        suffix = "_memory" if name == "memory" else ""
        for p in given:
            rows = sources[name]
            if p["name"] == "sinusoidal":
                start = p if name == "X" else p | {"start": 0}
                added = steps[f"positions{suffix}"] = sinusoids(len(rows), len(rows[0]), start)
            elif p["name"] == "learned":
                if name == "memory":
                    continue
                added = p["P"]
            else:
                continue
            pairs = zip(rows, added, strict=True)
            sources[name] = [
                [mpmath.mpf(x) + y for x, y in zip(a, b, strict=True)] for a, b in pairs
            ]
            steps[f"embedded{suffix}"] = sources[name]
    return sources


def solve(keys: Keys) -> dict[str, Any]:
    """Return every step of one problem without a batch; numbers are those of mpmath."""
    given: list[dict[str, Any]] = listed(keys.get("positions", []))
    steps: dict[str, Any] = {}
    heads = int(keys.get("heads", 1))
    kv_heads = int(keys.get("kv_heads", heads))
    sources = embedded(keys, given, steps)
    made = {}
    for name, count in (("Q", heads), ("K", kv_heads), ("V", kv_heads)):
        source = sources.get("memory", sources["X"]) if name != "Q" else sources["X"]
        whole = product(source, keys[f"W_{name.lower()}"])
        d = len(whole[0]) // count
        made[name] = [[row[h * d : (h + 1) * d] for row in whole] for h in range(count)]
        steps[name] = made[name]
    for p in (p for p in given if p["name"] == "rope"):
        starts = p.get("start", 0)
        starts = starts if isinstance(starts, list) else [starts, starts]
        for name, start in zip("QK", starts, strict=True):
            side = "queries" if name == "Q" else "keys"
            made[name] = [turned(rows, start, p, side) for rows in made[name]]
            steps[f"{name}_rotated"] = made[name]
    outputs: list[Matrix] = []
    found: dict[str, Any] = {name: [] for name in ("scores", "biased", "weights")}
    for h in range(heads):
        q, k, v = made["Q"][h], *(made[n][h * kv_heads // heads] for n in "KV")
        scores = product(q, [list(column) for column in zip(*k, strict=True)])
        root = mpmath.sqrt(len(q[0]))
        biased = [
            [s / root + bias(i, j, h, heads, keys) for j, s in enumerate(row)]
            for i, row in enumerate(scores)
        ]
        weights = []
        for i, row in enumerate(biased):
            powers = [
                mpmath.exp(s) if j <= i or keys.get("mask") != "causal" else mpmath.mpf(0)
                for j, s in enumerate(row)
            ]
            weights.append([e / mpmath.fsum(powers) for e in powers])
        for name, part in (("scores", scores), ("biased", biased), ("weights", weights)):
            found[name].append(part)
        outputs.append(product(weights, v))
    steps |= found
    steps["output"] = [[[x for row in rows for x in row] for rows in zip(*outputs, strict=True)]]
    return steps
