"""Sheets of answers: filled in with the numbers of a calculation, or to be filled in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import isinf
from typing import Any

import numpy as np

from attncli.arithmetic.rounding import Rounding
from attncli.mechanisms.trace import Trace
from attncli.rendering.csv import csv_text
from attncli.rendering.matrix import axis_labels, shape_text
from attncli.rendering.pieces import pieces
from attncli.rendering.problem_file import entry
from attncli.rendering.selection import Selection
from attncli.rendering.worksheet import instruction, open_steps
from attncli.tape.cells import matrix_name, place_of
from attncli.tape.step import Operation, Step
from attncli.text.escapes import label_text, visible

SAME_DIGITS = 12
"""Number of significant digits in which floats agree between machines. Chosen."""

OPEN = "?"
"""The text for a number that is to be written; it is read as one that was left out."""

NOTHING = "~"
"""The text for a cell that has no number."""


def answer_sheet(trace: Trace, decimals: int, above: str = "") -> bytes:
    """Return every step with so many decimals, rounded half up; whole numbers have none.

    `above` is a comment in the first line.
    """
    rounding = Rounding(decimals=decimals)

    def written(numbers: Any) -> Any:
        if isinstance(numbers, list):
            return [written(part) for part in numbers]
        number = float(f"{numbers:.{SAME_DIGITS}g}")
        if isinf(number):
            return f"{number}"
        is_whole = number == int(number)
        return f"{rounding.number(number) + 0.0:.{0 if is_whole else decimals}f}"

    lines = [f"# {above}"] if above else []
    lines += [entry(step.name, written(step.value.tolist())) for step in trace]
    return "".join(f"{line}\n" for line in lines).encode()


def as_yaml(traces: Iterable[Trace], selection: Selection) -> Iterator[bytes]:
    """Yield sheets to fill in, with a `?` for each number of the open steps, as YAML documents."""
    return pieces((_yaml(trace, selection) for trace in traces), "---\n")


def as_csv(traces: Iterable[Trace], selection: Selection) -> Iterator[bytes]:
    """Yield the same as blocks of CSV, with a line of --- between problems."""
    return pieces((_csv(trace, selection) for trace in traces), "---\n")


def _yaml(trace: Trace, selection: Selection) -> str:
    title = trace.problem.title
    lines = [f"# {visible(title)}"] if title else []
    lines += [f"# {instruction(trace)} Each ? is one.", "student:"]
    for step in open_steps(trace, selection).values():
        lines.append(f"# {_about(step)}")
        for name, rows in _open_matrices(step):
            key = name if name == step.name else "'{}'".format(name.replace("'", "''"))
            lines += [f"{key}: |", *(f"  {' '.join(row)}" for row in rows)]
    return "".join(f"{line}\n" for line in lines)


def _csv(trace: Trace, selection: Selection) -> str:
    rows = [["student", ""]]
    for step in open_steps(trace, selection).values():
        for name, cells in _open_matrices(step):
            rows += [[name], *cells]
    return csv_text(rows)


def _open_matrices(step: Step) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield the matrices of a step, each with its name as a key of answers, to be filled in."""
    value = step.value if step.value.ndim > 1 else step.value[np.newaxis]
    cells = np.full(value.shape, OPEN, object)
    if isinstance(step.operation, Operation):
        for at in np.ndindex(step.array.shape):
            if step.operation.is_blank(*at[-2:]):
                cells[place_of(step, at)] = NOTHING
    for place in np.ndindex(value.shape[:-2]):
        yield matrix_name(step, place), cells[place].tolist()


def _about(step: Step) -> str:
    """Return the formula of a step, its shape, and the words of its rows and columns."""
    labels = zip(("rows", "columns"), axis_labels(step), strict=True)
    words = [f"{name}: {', '.join(map(label_text, found))}" for name, found in labels if found]
    return "   ".join([step.formula, shape_text(step.value.shape), "; ".join(words)]).rstrip()
