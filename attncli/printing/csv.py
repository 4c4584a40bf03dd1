"""Traces as CSV or TSV: bare numbers of one step, or blocks; or tidy, with one number per row."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain

import numpy as np

from attncli.core.arithmetic.elements import Array
from attncli.core.calculation.trace import Trace
from attncli.core.problem.problem import Problem
from attncli.core.tape.step import LEADING, Step
from attncli.core.tape.tape import TakeRows
from attncli.core.text.numbers import floats, joined, texts
from attncli.core.text.strings import as_cell, csv_text, regex
from attncli.printing.blocks import axis_labels
from attncli.printing.selection import WRITE_SIZE, Selection, in_parts, some_rows

TAB = "\t"

PLAIN_NUMBER = regex(r"[+-]?(\d++(?:\.\d*+)?|\.\d++)([eE][+-]?\d++)?", re.ASCII)

PLACES = (*LEADING, "row", "column", "hidden")
"""The tidy columns that tell a place, counted from 1; empty where a step has no such axis."""

TIDY_COLUMNS = ("problem", "title", "step", *PLACES, "row_label", "column_label", "value")


def as_csv(traces: Iterable[Trace], selection: Selection, delimiter: str = ",") -> Iterator[bytes]:
    """Yield problems as blocks, with a line of --- between them; of one step the bare numbers."""
    problems = enumerate(traces, selection.follows)
    return in_parts((_problem(trace, at > 0, selection, delimiter) for at, trace in problems), "")


def _problem(trace: Trace, follows: bool, selection: Selection, delimiter: str) -> Iterator[str]:
    """Yield a problem; before one that `follows` another there is a line between."""
    steps = selection.steps(trace)
    if selection.only and len(steps) == 1:
        for number, (_, matrix) in enumerate(slices(steps[0].value)):
            yield "\n" if follows or number else ""
            yield from _bare(matrix, selection.decimals, delimiter)
        return
    yield "---\n" if follows else ""
    if not selection.only:
        problem = trace.problem
        yield csv_text(option_rows(problem), delimiter)
        for key, array in problem.matrices().items():
            for index, matrix in slices(array):
                yield f"{key}{index}\n"
                yield from _bare(matrix, None, delimiter)
        yield "steps\n"
    for step in steps:
        for index, matrix in slices(step.value):
            yield f"{step.name}{index}\n"
            numbers = _bare(matrix, selection.decimals, delimiter)
            yield from _labelled(numbers, step, matrix.shape, delimiter)


def option_rows(problem: Problem) -> Iterator[list[str]]:
    """Yield a row for each key of a problem that holds no matrix, and for each part of one."""
    yield from ([key, as_cell(text)] for key, text in problem.texts.items())
    yield from _flat(problem.options())


def _flat(options: Mapping[str, object], prefix: str = "") -> Iterator[list[str]]:
    for key, value in options.items():
        if isinstance(value, Mapping):
            parts = dict(value)
            if "name" in parts:
                yield [prefix + key, str(parts.pop("name"))]
            yield from _flat(parts, f"{prefix}{key}.")
        else:
            items = map(str, value if isinstance(value, list | tuple) else [value])
            yield [prefix + key, *(x if PLAIN_NUMBER.fullmatch(x) else as_cell(x) for x in items)]


def slices(value: Array) -> Iterator[tuple[str, Array]]:
    """Yield each matrix of a stack with its place, such as `[2]`, from 1; a vector as a row."""
    value = np.atleast_2d(value)
    for place in np.ndindex(value.shape[:-2]):
        yield "".join(f"[{i + 1}]" for i in place), value[place]


def _labelled(
    numbers: Iterator[str], step: Step, shape: tuple[int, ...], delimiter: str
) -> Iterator[str]:
    rows, columns = axis_labels(step)
    if not rows and not columns:
        yield from numbers
        return
    n, m = (tuple(str(i + 1) for i in range(size)) for size in shape)
    # An empty corner says that the first row and the first column are labels, even numbers.
    yield csv_text([["", *map(as_cell, columns or m)]], delimiter)
    starts = csv_text(([as_cell(word), ""] for word in rows or n), delimiter).splitlines()
    yield from (start + line for start, line in zip(starts, numbers, strict=True))


def _bare(matrix: Array, decimals: int | None, delimiter: str) -> Iterator[str]:
    for rows in some_rows(matrix):
        for row in floats(rows) if decimals is None else rows.tolist():
            yield joined(row, decimals, delimiter) + "\n"


def _parts_of_rows(matrix: Array, decimals: int | None, delimiter: str) -> Iterator[str]:
    """Yield the rows as `_bare` does; one that is very long, in several parts."""
    if matrix.shape[1] <= WRITE_SIZE:
        yield from _bare(matrix, decimals, delimiter)
        return
    ends = range(WRITE_SIZE, matrix.shape[1], WRITE_SIZE)
    for row in matrix:
        *parts, last = np.split(row[None], ends, axis=1)
        for part in parts:
            (text,) = _bare(part, decimals, delimiter)
            yield text[:-1] + delimiter
        yield from _bare(last, decimals, delimiter)


def row_writer(write: Callable[[bytes], None], selection: Selection, delimiter: str) -> TakeRows:
    """Return what writes the weights of one problem as `as_csv` does, some rows at a time."""

    def write_rows(batch: int, head: int, rows: slice, weights: Array) -> None:
        between = "\n" if rows.start == 0 and batch + head > 0 else ""
        parts = _parts_of_rows(weights, selection.decimals, delimiter)
        for data in in_parts([chain([between], parts)], ""):
            write(data)

    return write_rows


def as_tidy(traces: Iterable[Trace], selection: Selection) -> Iterator[bytes]:
    """Yield a header, then a row for each number; a problem is called by its number."""
    if not selection.follows:
        yield csv_text([TIDY_COLUMNS]).encode()
    yield from in_parts((_tidy_problem(trace, selection) for trace in traces), "")


def _tidy_problem(trace: Trace, selection: Selection) -> Iterator[str]:
    number, title = str(trace.problem.number or 1), as_cell(trace.problem.title)
    for step in selection.steps(trace):
        start = csv_text([[number, title, step.name, ""]]).removesuffix("\n")
        yield from _tidy_step(start, step, selection.decimals)


def _tidy_step(start: str, step: Step, decimals: int | None) -> Iterator[str]:
    """Yield the rows of a step, whose first cells are `start`, in the order of its axes."""
    value = step.value
    trailing = step.axes[len(step.leading) :]
    # A vector is a row; its numbers have a column only.
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
            ends = [f"{row}{label}," for label in labels["column"] or [""] * len(inner)]
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
