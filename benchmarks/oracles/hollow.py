"""Submissions that say nothing, or nothing right, and numbers that are invented.

Every one here is wrong, or empty, whatever rounding is granted: those that would happen to be
right are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from benchmarks.oracles.drawn import Random
from benchmarks.oracles.schedules import Schedule, Setting
from benchmarks.oracles.submitted import (
    Make,
    Submission,
    a_mistake_of_method,
    found_in,
    hand_in,
    plainly,
    planted,
    simply,
)
from benchmarks.oracles.workings import Known, Working, base, need
from tests.oracles.pens import UNWRITABLE, Numbers, Pen

WHOLE, TENTHS, HUNDREDTHS, FINE = Pen(0), Pen(1), Pen(2), Pen(4)

Change: TypeAlias = Callable[[Random, Numbers], Numbers]


def ones_at(places: Numbers, m: int) -> Numbers:
    """Return rows of 0 with a 1 at one place each."""
    return np.asarray(np.arange(m) == places[..., None], float)


def moved(rng: Random, right: Numbers) -> Numbers:
    """Return a 1 in each row, but not at the largest weight."""
    m = right.shape[-1]
    return ones_at((right.argmax(axis=-1) + rng.integers(1, m)) % m, m)


def smallest_in_a_row(rng: Random, right: Numbers) -> Numbers:
    """Return a 1 at the largest weight of each row but one, where it is at the smallest."""
    place, row = right.argmax(axis=-1), int(rng.integers(right.shape[-2]))
    place[..., row] = right.argmin(axis=-1)[..., row]
    return ones_at(place, right.shape[-1])


def beyond(rng: Random, right: Numbers) -> Numbers:
    """Return weights outside 0 to 1."""
    by = np.zeros(right.shape[-1])
    by[:2] = np.array([1, -1]) * rng.uniform(1.1, 2)
    return right + by


WEIGHTS: dict[str, tuple[Pen, Change]] = {
    "1 not at the largest": (WHOLE, moved),
    "1 at the smallest": (WHOLE, lambda _, x: ones_at(x.argmin(axis=-1), x.shape[-1])),
    "1 at the smallest in one row": (WHOLE, smallest_in_a_row),
    "all 0": (WHOLE, lambda _, x: np.zeros(x.shape)),
    "all 1": (WHOLE, lambda _, x: np.ones(x.shape)),
    "all 0.5": (TENTHS, lambda _, x: np.full(x.shape, 0.5)),
    "weights outside 0 to 1": (HUNDREDTHS, beyond),
    "rows that sum to less than 1": (HUNDREDTHS, lambda rng, x: x * rng.uniform(0.4, 0.85)),
    "rows that sum to more than 1": (HUNDREDTHS, lambda rng, x: x * rng.uniform(1.2, 2)),
}
"""Weights that are wrong, with the pen that writes them."""


def values_of(working: Working) -> dict[str, Numbers]:
    """Return the steps that are mixtures of values, with these."""
    keys, exact = working.keys, working.exact
    tokens = {key: np.array([keys[key]], float) for key in ("X", "memory") if key in keys}
    name = "context" if "context" in exact else "output"
    if working.kind == "co_attention":
        return {"aligned_x": tokens["memory"], "aligned_memory": tokens["X"]}
    if working.kind == "pooling":
        return {name: tokens["X"]}
    is_shared = "kv_heads" in keys or working.kind == "recurrent"
    return {} if is_shared else {name: exact["V"]}


def outside(values: Numbers) -> tuple[Pen, Change]:
    """Return mixtures of which all numbers are above all values, or one is below them."""

    def change(rng: Random, right: Numbers) -> Numbers:
        far, numbers = float(rng.choice([0.07, 0.31, 2.01])), right.copy()
        if rng.random() < 0.5:
            return np.broadcast_to(values.max(axis=-2, keepdims=True) + far, right.shape)
        place = tuple(int(rng.integers(n)) for n in right.shape)
        low = np.broadcast_to(values.min(axis=-2, keepdims=True), right.shape)
        numbers[place] = low[place] - far
        return numbers

    return HUNDREDTHS, change


def wrong_numbers(at: Setting) -> Submission:
    """A step is wrong, alone or after right steps before it."""
    working, exact = at.working, at.working.exact
    need(working.normalizer == "softmax" and working.along == -1)
    weights = [name for name in exact if name.replace("weights", "exp", 1) in {*exact} - {name}]
    ways = {(way, step): made for step in weights for way, made in WEIGHTS.items()}
    ways |= {("outside", step): outside(values) for step, values in values_of(working).items()}
    ways = {place: made for place, made in ways.items() if exact[place[1]].shape[-1] > 1}
    (way, step), (pen, change) = at.one_of(ways.items())
    before = [name for name in at.names[: at.names.index(step)] if name in at.steps]
    schedule = Schedule(lambda name: pen if name == step else FINE)
    shown = replace(at, steps=[*before, step])
    made = planted(shown, schedule, found_in(step, lambda right: change(at.rng, right)))
    # A whole number must be the right one, rounded; others may be off by one in the last digit.
    need(made.units > (0.5 if pen == WHOLE else 1) + 1e-9)
    return made.but(way, verdicts=("wrong",))


def blank(at: Setting) -> Submission:
    """Every cell is left blank."""
    made, word = hand_in(at, plainly(at)), at.one_of(["~", "_", "?", ""])
    cells = {step: np.full(x.shape, word) for step, x in made.cells.items()}
    return made.but(word, cells=cells, verdicts=("empty",))


def without_cells(at: Setting) -> Submission:
    """A step is an empty matrix, which may be refused; or there is none."""
    empty: list[Any] = [[], [[]], [[], []], ""]
    cells = at.one_of([{}, *({at.steps[-1]: cells} for cells in empty)])
    return Submission(at.working, cells, verdicts=("empty", "refused", "wrong"))


# ---- numbers that are invented, and leave no work to do

MAX_POINTS = 2.0
"""Maximum points, of 10, that invented numbers may earn."""


def invented(at: Setting) -> Submission:
    """Numbers are invented, and what follows from them without work is right."""
    exact, rng = at.working.exact, at.rng
    weights = next((name for name in exact if base(name) == "weights"), "")
    need(weights != "" and "scores" in exact)
    mixed, (n, m) = at.names[at.names.index(weights) + 1], exact["scores"].shape[-2:]
    permutation = rng.permutation(max(n, m))[:n] % m
    hot = ones_at(at.one_of([np.arange(n) % m, permutation, np.zeros(n, int)]), m)
    number = float(at.one_of([0, 1, rng.integers(2, 9)]))
    of_scores, of_weights = {"scores": 2, weights: 4, mixed: 4}, {weights: 5, mixed: 5}
    of_all = {"Q": 1, "K": 1, "V": 1, "scores": 2, weights: 3, mixed: 2}
    ways: dict[str, tuple[dict[str, Any], dict[str, int]]] = {
        "scores 100 in each row": ({"scores": 100 * hot}, of_scores),
        "scores 60, 70, …": ({"scores": (60.0 + 10 * np.arange(n)[:, None]) * hot}, of_scores),
        "scores all alike": ({"scores": number}, of_scores),
        "weights 1 in each row": ({weights: hot}, of_weights),
        "weights all alike": ({weights: number}, of_weights),
        "Q, K and V all alike": (dict.fromkeys("QKV", number), of_all),
    }
    way = at.one_of(way for way, (numbers, _) in ways.items() if {*numbers} <= {*exact})
    made_up = {s: np.broadcast_to(x, exact[s].shape).astype(float) for s, x in ways[way][0].items()}
    need(is_telling(exact, weights, mixed, made_up))
    points, schedule = ways[way][1], simply(at)

    def finds(step: str, numbers: Numbers, _used: Mapping[str, Numbers]) -> Numbers:
        return made_up.get(step, numbers)

    known = at.working.work(schedule.goes_on, finds, np.inf)
    able = [n for n in at.steps if np.abs(known[n]).max() < UNWRITABLE or base(n) == "masked"]
    later = at.names[at.names.index(next(iter(made_up))) :]
    working = replace(at.working, keys={**at.working.keys, "marking": {"points": points}})
    steps = [name for name in later if name in points or name in able]
    made = planted(replace(at, steps=steps, working=working), schedule, finds, most=np.inf)
    return made.but(way, most=MAX_POINTS)


def is_telling(exact: Known, weights: str, mixed: str, made_up: Mapping[str, Numbers]) -> bool:
    """Return True if the right numbers need work, and most of the invented ones are far off."""
    right, after = exact[weights], exact[mixed]
    is_plain = right.max() > 0.9 or np.ptp(right, axis=-1).min() < 0.1
    if is_plain or np.ptp(after, axis=-2).max(axis=-1).min() < 0.1:  # all rows of a head are alike
        return False
    least = 0.1 if weights in made_up else 0.51  # 0 is 0.4, too
    return all(2 * (np.abs(x - exact[s]) > least).sum() > x.size for s, x in made_up.items())


def mistake_in_large_numbers(at: Setting) -> Submission:
    """A mistake of method is made where weights are 0 and 1; it costs no further points."""
    keys = at.working.keys
    need("X" in keys)
    numbers = (np.array(keys["X"]) * int(at.rng.choice([2, 4, 10]))).tolist()
    large = replace(at.working, keys={**keys, "X": numbers})
    scores = [np.abs(x).max() for name, x in large.exact.items() if base(name) == "scores"]
    # The program subtracts the largest of large scores.
    need(max(scores, default=0) < 100)
    return a_mistake_of_method(replace(at, working=large))


HOLLOW: dict[str, Make] = {
    make.__name__.replace("_", " "): make
    for make in (wrong_numbers, blank, without_cells, invented, mistake_in_large_numbers)
}
