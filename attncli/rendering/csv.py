"""A trace as CSV: the bare numbers of one step, or options, inputs and steps as blocks."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.mechanisms.trace import Trace
from attncli.rendering.pieces import pieces
from attncli.rendering.selection import Selection
from attncli.rendering.views import axis_labels
from attncli.text.escapes import visible
from attncli.text.numbers import every_digit, rounded


def as_csv(traces: Iterable[Trace], selection: Selection) -> Iterator[bytes]:
    """Yield the bare numbers where one step is asked for; else a line of --- between problems."""
    write = rounded(selection.decimals)
    if len(selection.only) == 1:
        found = (_slices(s.value) for trace in traces for s in selection.steps(trace))
        matrices = (matrix for slices in found for _, matrix in slices)
        return pieces((csv_text(_bare(matrix, write)) for matrix in matrices), "\n")
    return pieces((csv_text(_rows(trace, selection, write)) for trace in traces), "---\n")


def csv_text(rows: Iterable[Iterable[str]]) -> str:
    """Return rows of cells as CSV."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    return buffer.getvalue()


def _rows(trace: Trace, selection: Selection, write: Callable[[float], str]) -> Iterator[list[str]]:
    if not selection.only:
        problem = trace.problem
        texts = {"title": problem.title, "notes": problem.notes}
        yield from ([key, visible(text)] for key, text in texts.items() if text)
        yield from _flat(problem.options())
        for key, array in problem.matrices().items():
            for index, matrix in _slices(array):
                yield [key + index]
                yield from _bare(matrix, every_digit)
        yield ["steps"]
    for step in selection.steps(trace):
        for index, matrix in _slices(step.value):
            yield [step.name + index]
            yield from _labelled(matrix, *axis_labels(step), write)


def _flat(options: Mapping[str, object], prefix: str = "") -> Iterator[list[str]]:
    """Yield `key, value` lines; the parts of a mapping as `score.width`."""
    for key, value in options.items():
        if isinstance(value, Mapping):
            parts = dict(value)
            if "name" in parts:
                yield [prefix + key, str(parts.pop("name"))]
            yield from _flat(parts, f"{prefix}{key}.")
        else:
            items = value if isinstance(value, list | tuple) else [value]
            yield [prefix + key, *(visible(str(item)) for item in items)]


def _slices(value: Array) -> Iterator[tuple[str, Array]]:
    """Yield each matrix of a stack with its place, such as `[2]`, from 1; a vector as a row."""
    value = np.atleast_2d(value)
    for place in np.ndindex(value.shape[:-2]):
        yield "".join(f"[{i + 1}]" for i in place), value[place]


def _labelled(
    matrix: Array, rows: Sequence[str], columns: Sequence[str], write: Callable[[float], str]
) -> Iterator[list[str]]:
    if not rows and not columns:
        yield from _bare(matrix, write)
        return
    # An empty corner says that the first row and the first column are labels, even numbers.
    n, m = matrix.shape
    yield ["", *([visible(word) for word in columns] or map(str, range(1, m + 1)))]
    labels = [visible(word) for word in rows] or map(str, range(1, n + 1))
    yield from ([label, *row] for label, row in zip(labels, _bare(matrix, write), strict=True))


def _bare(matrix: Array, write: Callable[[float], str]) -> Iterator[list[str]]:
    return ([write(x) for x in row] for row in matrix.tolist())
