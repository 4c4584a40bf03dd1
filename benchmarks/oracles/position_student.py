"""A student who works attention with positions by loops, and does one thing wrong on purpose.

Nothing here comes from the program. Numbers are lists of rows, one per token; a step of several
heads is a list of such lists.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, cos, exp, floor, log, pi, radians, sin, sqrt
from typing import Any

from numpy.random import Generator

Rows = list[list[float]]

ASIDE = ("cos", "sin", "exp", "sum", "context")
"""Steps that only a student writes of whom it is told with which numbers she goes on."""


def times(a: Rows, b: Rows) -> Rows:
    """Return the product of two matrices."""
    return [
        [sum(x * y for x, y in zip(row, col, strict=True)) for col in zip(*b, strict=True)]
        for row in a
    ]


def plus(a: Rows, b: Rows) -> Rows:
    return [
        [x + y for x, y in zip(one, other, strict=True)] for one, other in zip(a, b, strict=True)
    ]


class Student:
    """One who makes the mistake `wrong`, in one of several ways.

    Attributes:
        goes_on: takes a step's name and its numbers, and returns what is used in later steps; by
            default, every digit is.
    """

    def __init__(
        self,
        problem: dict[str, Any],
        wrong: str = "",
        way: int = 0,
        goes_on: Callable[[str, Any], Any] | None = None,
    ) -> None:
        self.problem, self.wrong, self.way, self.goes_on = problem, wrong, way, goes_on
        self.steps: dict[str, Any] = {}
        given = problem["positions"]
        self.p: dict[str, Any] = {"name": given} if isinstance(given, str) else dict(given)

    def does(self, wrong: str, way: int | None = None) -> bool:
        return self.wrong == wrong and way in (None, self.way)

    def angle(self, t: int, pair: int, size: int) -> float:
        return self.position(t, pair) * self.frequency(pair, size)

    def position(self, t: int, pair: int) -> float:
        rows: list[Any] = self.p.get("ids", [])
        if not rows or self.does("ids_left_out"):
            shift = (1, -1)[self.way] if self.does("positions_from_another_start") else 0
            shift += self.way if self.does("ids_left_out") else 0
            return float(t + int(self.p.get("start", 0)) + shift)
        rows = rows if isinstance(rows[0], list) else [rows]
        which = [row for row, count in enumerate(self.p.get("sections", [9])) for _ in range(count)]
        row = rows[-1 - which[pair] if self.does("sections_exchanged") else which[pair]]
        shift = (1, -1)[self.way] if self.does("ids_shifted") else 0
        return float(row[-1 - t if self.does("ids_reversed") else t] + shift)

    def frequency(self, pair: int, size: int) -> float:
        base = float(self.p.get("base", 10000))
        if self.does("another_base"):
            base = (100000.0, 1000.0)[self.way]
        frequency: float = 1 / base ** (2 * pair / size)
        if "scaling" not in self.p or self.does("scaling_left_out"):
            return frequency
        factor = self.p["scaling"]["factor"]
        if self.does("multiplied_by_scaling_factor"):
            factor = 1 / factor
        share = 0.0 if self.does("pairs_scaled_alike") else self.share(pair, size)
        return float(frequency * share + frequency / factor * (1 - share))

    def share(self, pair: int, size: int) -> float:
        """Return which share of the frequency of a pair stays: nothing of linear scaling."""
        p = self.p["scaling"]
        if p["kind"] == "linear":
            return 0.0
        length, base = p["original_max_position_embeddings"], float(self.p.get("base", 10000))
        slow, fast = (
            size * log(length / (2 * pi * p[name])) / (2 * log(base))
            for name in ("beta_slow", "beta_fast")
        )
        ramp: float = (pair - floor(fast)) / (ceil(slow) - floor(fast))
        return 1 - min(1.0, max(0.0, ramp))

    def attention_factor(self) -> float:
        p = self.p.get("scaling", {"kind": "none"})
        return 0.1 * log(p["factor"]) + 1 if p["kind"] == "yarn" else 1.0

    def read(self, angle: float) -> float:
        """Return an angle as the calculator reads it."""
        return radians(angle) if self.does("degrees_for_radians") else angle

    def partners(self, size: int) -> list[tuple[int, int]]:
        """Return the features of each pair; the last one may have no partner."""
        halves = self.p.get("pairs", "neighbours") == "halves"
        if halves != self.does("other_pairs"):
            half = (size + 1) // 2
            return [(j, half + j) for j in range(half)]
        return [(j, j + 1) for j in range(0, size, 2)]

    def sinusoids(self, n: int, d: int) -> Rows:
        rows = [[0.0] * (d + 1) for _ in range(n)]
        functions = (cos, sin) if self.does("sine_and_cosine_exchanged") else (sin, cos)
        for t, row in enumerate(rows):
            for pair, (first, second) in enumerate(self.partners(d)):
                row[first] = functions[0](self.read(self.angle(t, pair, d)))
                row[second] = functions[1](self.read(self.angle(t, pair, d)))
        return [row[:d] for row in rows]

    def note(self, name: str, numbers: Any) -> Any:
        """Write a step, and return what is used of it."""
        if self.goes_on is not None or name not in ASIDE:
            self.steps[name] = numbers
        return numbers if self.goes_on is None else self.goes_on(name, numbers)

    def turned(self, rows: Rows, cosines: Rows, sines: Rows) -> Rows:
        size = int(self.p.get("features", len(rows[0])))
        found = [list(row) for row in rows]
        for t, row in enumerate(rows):
            for pair, (first, second) in enumerate(self.partners(size)):
                c, s = cosines[t][pair], sines[t][pair]
                if self.does("positions_left_out"):
                    c, s = 1.0, 0.0
                if self.does("sine_and_cosine_exchanged"):
                    c, s = s, c
                if self.does("angle_negative"):
                    s = -s
                x, y = row[first], row[second]
                found[t][first], found[t][second] = x * c - y * s, x * s + y * c
        return found

    def added(self, i: int, j: int, head: int, heads: int) -> float:
        """Return what is added to a score; the number of heads is a power of two."""
        if self.does("positions_left_out"):
            return 0.0
        sign = -1 if self.does("sign_of_position_bias") else 1
        if self.p["name"] == "alibi":
            place = heads - head if self.does("slopes_exchanged") else head + 1
            slope = 1.0 if self.does("slope_forgotten") else 2.0 ** (-8 * place / heads)
            return float(-sign * abs(i - j) * slope)
        k = len(self.p["table"]) // 2
        distance = i - j if self.does("table_reversed") else j - i
        return float(sign * self.p["table"][max(-k, min(k, distance)) + k])

    def work(self) -> dict[str, Any]:
        """Return every step that the student writes."""
        keys = self.problem
        x, heads = keys["X"], int(keys.get("heads", 1))
        embedded = x
        if self.p["name"] == "sinusoidal":
            positions = self.note("positions", self.sinusoids(len(x), len(x[0])))
            is_left_out = self.does("positions_left_out")
            embedded = self.note("embedded", x if is_left_out else plus(x, positions))
        made: dict[str, list[Rows]] = {}
        for name in "QKV":
            rows = times(embedded, keys[f"W_{name.lower()}"])
            if name == "Q" and self.does("positions_after_projection"):
                rows = plus(times(x, keys["W_q"]), positions)
            width = len(rows[0]) // heads
            pieces = [[row[h * width : (h + 1) * width] for row in rows] for h in range(heads)]
            made[name] = self.note(name, pieces)
        q, k, v = made.values()
        if self.p["name"] == "rope":
            size = int(self.p.get("features", len(q[0][0])))
            tokens, pairs = range(len(x)), range(size // 2)
            if "scaling" in self.p:
                self.note("frequencies", [[self.frequency(pair, size) for pair in pairs]])
            angles = [[self.angle(t, pair, size) for pair in pairs] for t in tokens]
            angles = self.note("angles", angles)
            forgets = self.does("attention_factor_left_out") or self.does(
                "attention_factor_of_scores"
            )
            factor = 1.0 if forgets else self.attention_factor()
            waves = [
                self.note(
                    name, [[factor * function(self.read(angle)) for angle in row] for row in angles]
                )
                for name, function in (("cos", cos), ("sin", sin))
            ]
            turned = [[self.turned(rows, *waves) for rows in side] for side in (q, k)]
            q = self.note("Q_rotated", q if self.does("one_side_turned", 0) else turned[0])
            k = self.note("K_rotated", k if self.does("one_side_turned", 1) else turned[1])
            if self.does("values_rotated"):
                v = [self.turned(rows, *waves) for rows in v]
        results = [times(w, rows) for w, rows in zip(self.weights(q, k), v, strict=True)]
        if heads > 1:
            results = self.note("context", results)
        self.note(
            "output", [[x for row in rows for x in row] for rows in zip(*results, strict=True)]
        )
        steps = self.steps
        one = heads == 1
        return {k: v[0] if one and isinstance(v[0][0], list) else v for k, v in steps.items()}

    def weights(self, q: list[Rows], k: list[Rows]) -> list[Rows]:
        """Return the weights of every head."""
        over, heads = sqrt(len(q[0][0])), range(len(q))
        scores = [times(q[h], [list(column) for column in zip(*k[h], strict=True)]) for h in heads]
        if self.does("attention_factor_of_scores"):
            scores = [[[s * self.attention_factor() for s in row] for row in h] for h in scores]
        scores = self.note("scores", scores)
        scaled = self.note("scaled", [[[s / over for s in row] for row in rows] for rows in scores])
        if self.p["name"] in ("alibi", "relative"):
            added = [
                [
                    [s + self.added(i, j, h, len(q)) for j, s in enumerate(row)]
                    for i, row in enumerate(scaled[h])
                ]
                for h in heads
            ]
            scaled = self.note("biased", added)
        powers = self.note("exp", [[[exp(s) for s in row] for row in rows] for rows in scaled])
        sums = self.note("sum", [[[sum(row)] for row in rows] for rows in powers])
        shares = [
            [[p / total for p in row] for row, (total,) in zip(powers[h], sums[h], strict=True)]
            for h in heads
        ]
        return list(self.note("weights", shares))


def draw(rng: Generator, positions: Any, heads: int = 1, n: int = 3) -> dict[str, Any]:
    """Return a problem of small whole numbers, with four features per head."""
    d = 4 * heads
    keys: dict[str, Any] = {"X": rng.integers(-2, 3, (n, d)).tolist(), "positions": positions}
    for name in ("W_q", "W_k", "W_v"):
        keys[name] = (rng.integers(-4, 5, (d, d)) / 4).tolist()
    return keys | ({"heads": heads} if heads > 1 else {})


def written(steps: dict[str, Any], decimals: int = 4) -> dict[str, Any]:
    """Return what is handed in."""

    def rounded(part: Any) -> Any:
        return list(map(rounded, part)) if isinstance(part, list) else f"{part:.{decimals}f}"

    return {name: rounded(numbers) for name, numbers in steps.items()}
