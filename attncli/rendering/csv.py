"""A trace as CSV or TSV: the bare numbers of one step, or options, inputs and steps as blocks."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.mechanisms.trace import Trace
from attncli.notation.written import PLAIN_NUMBER
from attncli.rendering.matrix import axis_labels
from attncli.rendering.pieces import in_parts, lists
from attncli.rendering.selection import Selection
from attncli.text.escapes import as_cell
from attncli.text.numbers import joined

TAB = "\t"


def as_csv(traces: Iterable[Trace], selection: Selection, delimiter: str = ",") -> Iterator[bytes]:
    """Yield problems as blocks, with a line of --- between them; of one step the bare numbers."""
    problems = enumerate(traces)
    return in_parts((_problem(trace, at > 0, selection, delimiter) for at, trace in problems), "")


def as_tsv(traces: Iterable[Trace], selection: Selection) -> Iterator[bytes]:
    """Yield the same with tabs between the cells; no cell holds a tab or the end of a line."""
    return as_csv(traces, selection, TAB)


def csv_text(rows: Iterable[Iterable[str]], delimiter: str = ",") -> str:
    """Return rows of cells as CSV."""
    buffer = io.StringIO()
    csv.writer(buffer, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return buffer.getvalue()


def _problem(trace: Trace, follows: bool, selection: Selection, delimiter: str) -> Iterator[str]:
    """Yield a problem, with a line before it that parts it from the one that it follows."""
    steps = selection.steps(trace)
    if selection.only and len(steps) == 1:
        for number, (_, matrix) in enumerate(_slices(steps[0].value)):
            yield "\n" if follows or number else ""
            yield from _bare(matrix, selection.decimals, delimiter)
        return
    yield "---\n" if follows else ""
    if not selection.only:
        problem = trace.problem
        about = {"title": problem.title, "notes": problem.notes}
        options = [[key, as_cell(text)] for key, text in about.items() if text]
        yield csv_text([*options, *_flat(problem.options())], delimiter)
        for key, array in problem.matrices().items():
            for index, matrix in _slices(array):
                yield f"{key}{index}\n"
                yield from _bare(matrix, None, delimiter)
        yield "steps\n"
    for step in steps:
        rows, columns = axis_labels(step)
        for index, matrix in _slices(step.value):
            yield f"{step.name}{index}\n"
            numbers = _bare(matrix, selection.decimals, delimiter)
            yield from _labelled(numbers, rows, columns, matrix.shape, delimiter)


def _flat(options: Mapping[str, object], prefix: str = "") -> Iterator[list[str]]:
    """Yield `key, value` lines; the parts of a mapping as `score.width`."""
    for key, value in options.items():
        if isinstance(value, Mapping):
            parts = dict(value)
            if "name" in parts:
                yield [prefix + key, str(parts.pop("name"))]
            yield from _flat(parts, f"{prefix}{key}.")
        else:
            items = map(str, value if isinstance(value, list | tuple) else [value])
            yield [prefix + key, *(x if PLAIN_NUMBER.fullmatch(x) else as_cell(x) for x in items)]


def _slices(value: Array) -> Iterator[tuple[str, Array]]:
    """Yield each matrix of a stack with its place, such as `[2]`, from 1; a vector as a row."""
    value = np.atleast_2d(value)
    for place in np.ndindex(value.shape[:-2]):
        yield "".join(f"[{i + 1}]" for i in place), value[place]


def _labelled(
    numbers: Iterator[str],
    rows: tuple[str, ...],
    columns: tuple[str, ...],
    shape: tuple[int, ...],
    delimiter: str,
) -> Iterator[str]:
    """Yield lines of numbers with their labels, where a matrix has any."""
    if not rows and not columns:
        yield from numbers
        return
    n, m = (tuple(str(i + 1) for i in range(size)) for size in shape)
    # An empty corner says that the first row and the first column are labels, even numbers.
    yield csv_text([["", *map(as_cell, columns or m)]], delimiter)
    starts = csv_text(([as_cell(word), ""] for word in rows or n), delimiter).splitlines()
    yield from (start + line for start, line in zip(starts, numbers, strict=True))


def _bare(matrix: Array, decimals: int | None, delimiter: str) -> Iterator[str]:
    """Yield a line for each row of a matrix."""
    for rows in lists(matrix, decimals):
        for row in rows:
            yield joined(row, decimals, delimiter) + "\n"
