"""Softmax by tiles of keys a second time: algorithm 1 of Dao 2023 by plain loops in 50 digits.

A query goes through the tiles by itself, with the m, l and O of the paper. `solve` puts the tiles
of all queries in the place of softmax among the steps of `reference.solve`, and asserts that both
lead to the same.
"""

from __future__ import annotations

from typing import Any

from tests.oracles import reference
from tests.oracles.reference import BLOCKED, Matrix, Number, Vector, mp, power

SAME = mp.mpf(10) ** -40

Tile = dict[str, Any]


def tiles_of(
    scores: Vector, values: Matrix, size: int, temperature: Number, base: Number
) -> list[Tile]:
    """Return what one query keeps after each tile, and its P and the factor on the way."""
    m, total, output = BLOCKED, mp.mpf(0), [mp.mpf(0)] * len(values[0])
    found: list[Tile] = []
    for start in range(0, len(scores), size):
        s, v = scores[start : start + size], values[start : start + size]
        new = max([m, *s])

        def power_below(x: Number, most: Number = new) -> Number:
            return mp.mpf(0) if x == BLOCKED else power(base, (x - most) / temperature)

        factor, p = power_below(m), [power_below(x) for x in s]
        total = factor * total + mp.fsum(p)
        output = [
            factor * old + reference.dot(p, [row[c] for row in v]) for c, old in enumerate(output)
        ]
        found.append({"S": s, "m": [new], "P": p, "rescale": [factor], "l": [total], "O": output})
        m = new
    return found


ORDER = ("S", "V", "m", "P", "rescale", "l", "O")


def solve(online: dict[str, int], **keys: Any) -> dict[str, Any]:
    """Return every step as `reference.solve` does."""
    steps = reference.solve(**keys)
    read, names = reference.read(keys), list(steps)
    at = names.index("exp")
    scored, values = steps[names[at - 1]], steps.get("V_all", steps["V"])
    settings, size = read["normalize"], online["tile"]
    temperature, base = mp.mpf(settings.get("temperature", 1)), settings.get("base", "e")
    base = None if base == "e" else mp.mpf(base)
    result = {name: steps[name] for name in names[:at]}
    found = [
        [
            [tiles_of(row, v[h * len(v) // len(heads)], size, temperature, base) for row in matrix]
            for h, matrix in enumerate(heads)
        ]
        for heads, v in zip(scored, values, strict=True)
    ]
    count = len(found[0][0][0])
    for number, name in ((j, name) for j in range(count) for name in ORDER):
        if name == "V":
            rows = slice(number * size, (number + 1) * size)
            result[f"V_{number + 1}"] = [[matrix[rows] for matrix in heads] for heads in values]
        elif name != "rescale" or number:
            result[f"{name}_{number + 1}"] = [
                [[tiles[number][name] for tiles in rows] for rows in heads] for heads in found
            ]
    after = names[names.index("weights") + 1 :]
    same = zip(found, steps[after[0]], strict=True)
    assert all(
        abs(o / last["l"][0] - z if last["l"][0] else z) < SAME
        for heads, contexts in same
        for rows, context in zip(heads, contexts, strict=False)
        for tiles, numbers in zip(rows, context, strict=True)
        for last in tiles[-1:]
        for o, z in zip(last["O"], numbers, strict=False)
    )
    return result | {name: steps[name] for name in after}
