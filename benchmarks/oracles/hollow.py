"""Sheets that say nothing, or nothing right, in the few digits of a careless hand.

Every sheet here is wrong, or empty, whatever rounding is granted: those that would happen to be
right are left out. Nothing here comes from the program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np

from benchmarks.oracles.handwriting import Numbers
from benchmarks.oracles.honest import Handed
from benchmarks.oracles.right_work import Pen, Task

Random: TypeAlias = np.random.Generator

WHOLE, TENTHS, HUNDREDTHS, FINE = Pen(0), Pen(1), Pen(2), Pen(4)

LEFT_OUT = ("~", "_", "?", "")
"""How a cell is left out."""


def blank_sheets(task: Task, known: Mapping[str, Numbers]) -> Iterator[Handed]:
    """Yield sheets without any number, whose verdict must be `empty`."""
    for word in LEFT_OUT:
        blank = {s: filled(task.cells(s, x, FINE), word) for s, x in known.items()}
        yield Handed("every cell blank", task.problem(), blank)
        last = list(known)[-1]
        yield Handed("one step, blank", task.problem(), {last: blank[last]})


def filled(cells: Any, word: str) -> Any:
    """Return cells with a word in every one."""
    return [filled(cell, word) for cell in cells] if isinstance(cells, list) else word


def empty_sheets(task: Task, known: Mapping[str, Numbers]) -> Iterator[Handed]:
    """Yield sheets without any cell, which may be refused."""
    last = list(known)[-1]
    empty: tuple[Any, ...] = ([], [[]], [[], []], "")
    for cells in empty:
        yield Handed("an empty matrix", task.problem(), {last: cells})
    yield Handed("no step", task.problem(), {})


def wrong_sheets(rng: Random, task: Task, known: Mapping[str, Numbers]) -> Iterator[Handed]:
    """Yield sheets of one wrong step, alone and after the right steps before it."""
    names = list(known)
    for way, name, numbers, pen in wrong_steps(rng, task, known):
        cells = task.cells(name, numbers, pen)
        yield Handed(f"{way}, alone", task.problem(), {name: cells})
        before = names[: names.index(name)]
        if before:
            sheet = {s: task.cells(s, known[s], FINE) for s in before}
            yield Handed(f"{way}, after right steps", task.problem(), sheet | {name: cells})
            other = {s: sheet[s] for s in before if rng.random() < 0.5}
            yield Handed(f"{way}, after some right steps", task.problem(), other | {name: cells})


def wrong_steps(
    rng: Random, task: Task, known: Mapping[str, Numbers]
) -> Iterator[tuple[str, str, Numbers, Pen]]:
    """Yield a way, a step, its wrong numbers and the pen that writes them."""
    if task.normalize["name"] != "softmax" or task.normalize["axis"] != "keys":
        return
    for name, right in known.items():
        if name.startswith("weights") and f"exp{name[7:]}" in known and right.shape[-1] > 1:
            for way, numbers, pen in wrong_weights(rng, right):
                if is_beyond(numbers, right, pen):
                    yield way, name, numbers, pen
    yield from outside(rng, task, known)


def is_beyond(numbers: Numbers, right: Numbers, pen: Pen) -> bool:
    """Whether a number is farther from the right one than rounding takes it.

    A whole number must be the right one, rounded: one unit of it says nothing. Of others, that may
    be off by one in their last digit.
    """
    units = 0.5 if pen.count == 0 else 1.0
    return bool((np.abs(numbers - right) > units * 10.0**-pen.count + 1e-9).any())


def wrong_weights(rng: Random, right: Numbers) -> Iterator[tuple[str, Numbers, Pen]]:
    """Yield weights that are wrong."""
    m = right.shape[-1]
    largest, smallest = right.argmax(axis=-1), right.argmin(axis=-1)
    for shift in range(1, m):
        yield f"1 not at the largest, moved by {shift}", ones_at((largest + shift) % m, m), WHOLE
    yield "1 at the smallest", ones_at(smallest, m), WHOLE
    if right.shape[2] > 1:
        one = largest.copy()
        row = int(rng.integers(right.shape[2]))
        one[..., row] = smallest[..., row]
        yield "1 at the smallest in one row", ones_at(one, m), WHOLE
    yield "all 0", np.zeros(right.shape), WHOLE
    yield "all 1", np.ones(right.shape), WHOLE
    yield "all 0.5", np.full(right.shape, 0.5), TENTHS
    beyond = right.copy()
    beyond[..., 0] += float(rng.uniform(1.1, 2))
    beyond[..., 1] -= beyond[..., 0] - right[..., 0]
    yield "weights outside 0 to 1", beyond, HUNDREDTHS
    for factor in (float(rng.uniform(0.4, 0.85)), float(rng.uniform(1.2, 2))):
        way = f"rows that sum to {'less' if factor < 1 else 'more'} than 1"
        yield way, HUNDREDTHS.rounded(right * factor), HUNDREDTHS


def ones_at(places: Numbers, m: int) -> Numbers:
    """Return rows of 0 with a 1 at one place each."""
    made: Numbers = (np.arange(m) == places[..., None]).astype(float)
    return made


def outside(
    rng: Random, task: Task, known: Mapping[str, Numbers]
) -> Iterator[tuple[str, str, Numbers, Pen]]:
    """Yield mixtures of values that lie outside all values."""
    for name, values in mixtures(task, known):
        right = known[name]
        far = float(rng.choice([0.06, 0.3, 2])) + 0.01
        above = values.max(axis=-2, keepdims=True) + far
        below = values.min(axis=-2, keepdims=True) - far
        yield f"{name} above all values", name, np.broadcast_to(above, right.shape), HUNDREDTHS
        one = right.copy()
        place = tuple(int(rng.integers(n)) for n in right.shape)
        one[place] = np.broadcast_to(below, right.shape)[place]
        yield f"one number of {name} below all values", name, one, HUNDREDTHS


def mixtures(task: Task, known: Mapping[str, Numbers]) -> Iterator[tuple[str, Numbers]]:
    """Yield the steps that are mixtures of values, with these."""
    if task.kind in ("self", "cross"):
        name = "context" if "context" in known else "output"
        if task.heads == task.kv_heads and known[name].shape[1] == known["V"].shape[1]:
            yield name, known["V"]
    elif task.kind == "pooling":
        yield "context" if "context" in known else "output", task.tokens("X").astype(float)
    elif task.kind == "co_attention":
        yield "aligned_x", task.tokens("memory")
        yield "aligned_memory", task.tokens("X")
