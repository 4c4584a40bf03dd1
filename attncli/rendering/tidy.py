"""Traces as tidy CSV: one number per row, in the same columns for every problem and step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.mechanisms.trace import Trace
from attncli.rendering.csv import csv_text
from attncli.rendering.pieces import in_parts
from attncli.rendering.selection import Selection
from attncli.tape.step import LEADING, Step
from attncli.text.escapes import as_cell
from attncli.text.numbers import floats, texts

PLACES = (*LEADING, "row", "column", "hidden")
"""The columns that tell a place, counted from 1; empty where a step has no such axis."""

COLUMNS = ("problem", "title", "step", *PLACES, "row_label", "column_label", "value")


def as_tidy(traces: Iterable[Trace], selection: Selection) -> Iterator[bytes]:
    """Yield a header, then a row for each number; a problem is called by its own number."""
    yield csv_text([COLUMNS]).encode()
    yield from in_parts((_problem(trace, selection) for trace in traces), "")


def _problem(trace: Trace, selection: Selection) -> Iterator[str]:
    number, title = str(trace.problem.number or 1), as_cell(trace.problem.title)
    for step in selection.steps(trace):
        start = csv_text([[number, title, step.name, ""]]).removesuffix("\n")
        yield from _step(start, step, selection.decimals)


def _step(start: str, step: Step, decimals: int | None) -> Iterator[str]:
    """Yield the rows of a step, whose first cells are `start`, in the order of its axes."""
    value: Array = step.value
    trailing = step.axes[len(step.leading) :]
    # A vector stands in a row, whose number would be of no axis.
    names = ("column",) if len(trailing) == 1 else PLACES[len(LEADING) :][: len(trailing)]
    axes = dict(zip((*step.leading, *names), step.axes, strict=True))
    labels = {name: _label_cells(step.labels.get(axis, ())) for name, axis in axes.items()}
    *_, last = axes
    inner = [str(i + 1) for i in range(value.shape[-1])]
    for place in np.ndindex(value.shape[:-1]):
        known = dict(zip(axes, place, strict=False))
        cells = [f"{known[name] + 1}," if name in known else "," for name in PLACES]
        at = PLACES.index(last)
        before, after = start + "".join(cells[:at]), "".join(["", *cells[at + 1 :]])
        words = [_word(labels, name, known) for name in ("row", "column")]
        if last == "hidden":
            ends = [f",{after}{words[0]},{words[1]},"] * len(inner)
        else:
            row = f",{after}{words[0]},"
            own = labels["column"] or [""] * len(inner)
            ends = [f"{row}{label}," for label in own]
        part = value[place]
        numbers = texts(floats(part) if decimals is None else part.tolist(), decimals)
        yield "".join(
            f"{before}{i}{end}{number}\n"
            for i, end, number in zip(inner, ends, numbers, strict=True)
        )


def _word(labels: dict[str, list[str]], name: str, known: dict[str, int]) -> str:
    words = labels.get(name, [])
    return words[known[name]] if name in known and known[name] < len(words) else ""


def _label_cells(words: tuple[str, ...]) -> list[str]:
    return csv_text([as_cell(word), ""] for word in words).replace(",\n", "\n").splitlines()
