"""A student of FlashAttention's online softmax, who shares no line with the program.

Worked query by query in plain lists, as algorithm 1 of Dao 2023 is written: m, l and O of each
query, tile by tile. Blocked keys have a score of None. `draw` makes problems for the survey.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

Row = list[Any]


def draw(rng: np.random.Generator, tiles: int = 2, tile: int = 2, blocked: bool = False) -> Any:
    """Draw 3 queries with small whole scores, whose last tile may be shorter by one key."""
    m = tiles * tile - int(rng.integers(0, 2))
    keys: dict[str, Any] = {"scores": rng.integers(-2, 4, (3, m)).tolist()}
    keys |= {"V": rng.integers(-2, 5, (m, 2)).tolist(), "online": {"tile": tile}}
    if blocked:  # the whole first tile of the last query, and one key of the first query
        mask = np.ones((3, m), int)
        mask[2, :tile] = mask[0, tile] = 0
        keys["mask"] = mask.tolist()
    return keys


class Student:
    """Works a problem, and does one thing wrong; `goes_on` rounds what is used in later steps."""

    def __init__(
        self, keys: dict[str, Any], wrong: str = "", goes_on: Callable[[float], float] = float
    ) -> None:
        self.keys, self.wrong, self.goes_on = keys, wrong, goes_on
        self.steps: dict[str, list[Row]] = {}

    def note(self, name: str, row: Row) -> Row:
        """Write a row of a step, and return what is used of it."""
        self.steps.setdefault(name, []).append(row)
        return [x if x is None else self.goes_on(x) for x in row]

    def work(self) -> dict[str, list[Row]]:
        """Return every step; None is −∞."""
        for i, scores in enumerate(self.keys["scores"]):
            mask = self.keys.get("mask")
            seen = [s if mask is None or mask[i][j] else None for j, s in enumerate(scores)]
            self.query(seen)
        return self.steps

    def query(self, scores: Row) -> None:
        tile = self.keys["online"]["tile"]
        before: tuple[Any, Any, Any] = (None, 0.0, [0.0, 0.0])
        own = []
        starts = range(0, len(scores), tile)
        for number, start in enumerate(starts, 1):
            values = self.keys["V"][start : start + tile]
            is_last = start == starts[-1]
            before, last = self.tile(scores[start : start + tile], values, before, number, is_last)
            own.append(last)
        _, total, output = before
        by = own[-1][0] if self.wrong == "tile_divided_by_last_sum" else total
        result = [o / by if by else 0.0 for o in output]
        if self.wrong == "tile_not_divided":
            result = output
        if self.wrong == "tile_softmax_of_its_own":
            shares = [[x / l_ for x in o] if l_ else [0.0, 0.0] for l_, o in own]
            result = [sum(column) for column in zip(*shares, strict=True)]
        self.note("output", result)

    def tile(self, scores: Row, values: Any, before: Any, number: int, is_last: bool) -> Any:
        """Work a tile; return m, l, O so far, and the sum and the output of the tile alone."""
        old, total, output = before
        own = max((s for s in scores if s is not None), default=None)
        known = [x for x in (old, own) if x is not None]
        m = max(known) if known else None
        if self.wrong == "tile_maximum_alone" and number > 1:
            m = own  # None where the tile is blocked
        (m,) = self.note(f"m_{number}", [m])
        p = self.note(f"P_{number}", [self.power(s, m, old, number) for s in scores])
        here = [sum(x * v[c] for x, v in zip(p, values, strict=True)) for c in (0, 1)]
        l_new, o_new = sum(p), here
        if number > 1:
            by = self.factor(old, m, own)
            if self.wrong != "tile_not_rescaled":  # or there is no factor to write
                (by,) = self.note(f"rescale_{number}", [by])
            if self.wrong != "tile_earlier_left_out":
                l_new = sum(p) + total * (1 if self.wrong == "tile_sum_not_rescaled" else by)
                of_o = 1 if self.wrong == "tile_output_not_rescaled" else by
                if self.wrong == "inverse_in_output" and by:
                    of_o = 1 / by
                o_new = [x + of_o * y for x, y in zip(here, output, strict=True)]
        (l_new,) = self.note(f"l_{number}", [l_new])
        if self.wrong == "tile_divided_each" and l_new and not is_last:
            o_new = [x / l_new for x in o_new]
        o_new = self.note(f"O_{number}", o_new)
        return (m, l_new, o_new), (sum(p), here)

    def power(self, score: Any, m: Any, old: Any, number: int) -> float:
        if score is None:
            return 0.0
        if self.wrong == "tile_maximum_not_subtracted":
            return math.exp(score)
        if self.wrong == "tile_earlier_maximum" and number > 1:
            return math.exp(score - (0 if old is None else old))
        return math.exp(score - m)

    def factor(self, old: Any, m: Any, own: Any) -> float:
        """Return e^(m_before − m), 0 while every key was blocked."""
        if self.wrong == "tile_not_rescaled":
            return 1.0
        if old is None or m is None:
            return 0.0
        if self.wrong == "tile_rescaled_by_inverse":
            return math.exp(m - old)
        if self.wrong == "tile_rescaled_to_own_maximum" and own is not None:
            return math.exp(old - own)
        return math.exp(old - m)


def written(steps: dict[str, list[Row]], decimals: int = 4) -> dict[str, Any]:
    """Return steps as a student hands them in."""
    return {
        name: [["-inf" if x is None else f"{x:.{decimals}f}" for x in row] for row in rows]
        for name, rows in steps.items()
    }
