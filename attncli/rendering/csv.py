"""A trace as CSV: the bare numbers of one step, or options, inputs and steps as blocks."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.mechanisms.trace import Trace
from attncli.rendering.selection import Selection
from attncli.rendering.views import axis_labels
from attncli.text.escapes import visible
from attncli.text.numbers import rounded


def as_csv(traces: Sequence[Trace], selection: Selection) -> bytes:
    """Return the bare numbers where one step is asked for; else a line of --- between problems."""
    write = rounded(selection.decimals)
    if len(selection.only) == 1:
        parts = []
        for trace in traces:
            slices = [m for _, m in _slices(trace[selection.only[0]].value)]
            parts += ["".join(_bare_rows(matrix, write)) for matrix in slices]
        return "\n".join(parts).encode()
    return "---\n".join(_csv_text(trace, selection, write) for trace in traces).encode()


def _csv_text(trace: Trace, selection: Selection, write: Callable[[float], str]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    if not selection.only:
        problem = trace.problem
        for key, text in (("title", problem.title), ("notes", problem.notes)):
            if text:
                writer.writerow([key, visible(text)])
        for row in _flat(problem.options()):
            writer.writerow(row)
        for key, array in problem.matrices().items():
            for index, matrix in _slices(array):
                writer.writerow([key + index])
                buffer.writelines(_bare_rows(matrix, rounded(None)))
        writer.writerow(["steps"])
    for step in selection.steps(trace):
        rows, columns = axis_labels(step)
        for index, matrix in _slices(step.value):
            writer.writerow([step.name + index])
            _labelled(writer, matrix, rows, columns, write)
    return buffer.getvalue()


def _flat(options: Mapping[str, object], prefix: str = "") -> Iterator[list[str]]:
    """Yield `key, value` lines; the parts of a mapping as `score.width`."""
    for key, value in options.items():
        if isinstance(value, Mapping):
            parts = dict(value)
            if "name" in parts:
                yield [prefix + key, str(parts.pop("name"))]
            yield from _flat(parts, f"{prefix}{key}.")
        elif isinstance(value, list | tuple):
            yield [prefix + key, *(visible(str(item)) for item in value)]
        else:
            yield [prefix + key, visible(str(value))]


def _slices(value: Array) -> Iterator[tuple[str, Array]]:
    """Yield each matrix of a stack with its place, such as `[2]`, from 1; a vector as a row."""
    value = np.atleast_2d(value)
    for place in np.ndindex(value.shape[:-2]):
        yield "".join(f"[{i + 1}]" for i in place), value[place]


def _labelled(
    writer: Any,
    matrix: Array,
    rows: Sequence[str],
    columns: Sequence[str],
    write: Callable[[float], str],
) -> None:
    if not rows and not columns:
        writer.writerows([write(x) for x in row] for row in matrix.tolist())
        return
    # An empty corner says that the first row and the first column are labels, even numbers.
    n, m = matrix.shape
    rows = [visible(word) for word in rows] or [str(i + 1) for i in range(n)]
    columns = [visible(word) for word in columns] or [str(j + 1) for j in range(m)]
    writer.writerow(["", *columns])
    for label, row in zip(rows, matrix.tolist(), strict=True):
        writer.writerow([label, *(write(x) for x in row)])


def _bare_rows(matrix: Array, write: Callable[[float], str]) -> Iterator[str]:
    for row in matrix.tolist():
        yield ",".join(map(write, row)) + "\n"
