"""The output formats. Each turns traces into the bytes of a file; `FORMATS` lists them.

To add one: write a function that takes the traces and a selection, and give it a row.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.errors import fail
from attncli.mechanisms.trace import Trace
from attncli.records import Record
from attncli.rendering.record import Selection, record
from attncli.tape.step import Step
from attncli.text.escapes import visible
from attncli.text.numbers import DEFAULT_DECIMALS, rounded


class Format(Record):
    """One row of the table: how to write, which file names mean it, and what it is for."""

    write: Callable[[Sequence[Trace], Selection], bytes]
    suffixes: tuple[str, ...]
    meaning: str
    binary: bool = False


def as_table(traces: Sequence[Trace], selection: Selection) -> bytes:
    """Plain tables, as on a terminal of any width."""
    from attncli.rendering.table import Table

    decimals = DEFAULT_DECIMALS if selection.decimals is None else selection.decimals
    table = Table(decimals, selection.full, None, selection.only, selection.quiet)
    texts = ["\n".join(plain_text(line) for line in table.lines(trace)) for trace in traces]
    return ("\n\n".join(texts) + "\n").encode()


def as_json(traces: Sequence[Trace], selection: Selection) -> bytes:
    """One object a problem, one a line."""
    import json

    lines = [
        json.dumps(record(trace, selection), ensure_ascii=False, allow_nan=False)
        for trace in traces
    ]
    return ("\n".join(lines) + "\n").encode()


def as_yaml(traces: Sequence[Trace], selection: Selection) -> bytes:
    """One document a problem; each row of a matrix on its own line."""
    import yaml

    text: str = yaml.dump_all(
        [record(trace, selection, np.inf) for trace in traces],
        Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper),
        default_flow_style=None,
        sort_keys=False,
        allow_unicode=True,
        width=10**9,
    )
    return text.encode()


def as_csv(traces: Sequence[Trace], selection: Selection) -> bytes:
    """The bare numbers of one step; else options, inputs and steps as blocks."""
    write = rounded(selection.decimals)
    if len(selection.only) == 1:
        parts = []
        for trace in traces:
            slices = [m for _, m in _slices(trace[selection.only[0]].value)]
            parts += ["".join(_bare_rows(matrix, write)) for matrix in slices]
        return "\n".join(parts).encode()
    return "---\n".join(_csv_text(trace, selection, write) for trace in traces).encode()


def as_npz(traces: Sequence[Trace], selection: Selection) -> bytes:
    """One array a step and a matrix, and `options`, which tells the matrices from the steps."""
    if len(traces) > 1:
        raise fail("an npz file holds one problem", hint="use json, yaml or csv for several")
    trace = traces[0]
    arrays: dict[str, Any] = {}
    for step in selection.steps(trace):
        value = step.value
        digits = selection.decimals
        arrays[step.name] = value if digits is None else np.round(value, digits)
    if not selection.only:
        import json

        problem = trace.problem
        about = {
            "title": problem.title,
            "notes": problem.notes,
            "options": problem.options(),
            "inputs": list(problem.matrices()),
        }
        arrays |= problem.matrices()
        arrays["options"] = np.array(json.dumps(about, ensure_ascii=False))
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def as_markdown(traces: Sequence[Trace], selection: Selection) -> bytes:
    """A document with mathematics; a rule between problems."""
    from attncli.rendering.documents.markdown import markdown
    from attncli.rendering.documents.sheets import sheet

    texts = [markdown(sheet(trace, selection), selection.full) for trace in traces]
    return "\n---\n\n".join(texts).encode()


def as_latex(traces: Sequence[Trace], selection: Selection) -> bytes:
    """What one's own document takes in, or a document that stands alone."""
    from attncli.rendering.documents.latex import fragment, standalone
    from attncli.rendering.documents.sheets import sheet

    sheets = [sheet(trace, selection) for trace in traces]
    if selection.standalone:
        return standalone(sheets, selection.full).encode()
    return "\n".join(fragment(one, selection.full) for one in sheets).encode()


def as_html(traces: Sequence[Trace], selection: Selection) -> bytes:
    """One page that needs nothing else."""
    from attncli.rendering.documents.html import html

    return html(traces, selection).encode()


FORMATS: dict[str, Format] = {
    "table": Format(as_table, (".txt",), "every step, for reading"),
    "json": Format(as_json, (".json", ".jsonl"), "one object a problem"),
    "csv": Format(as_csv, (".csv",), "blocks; with --only STEP the bare numbers"),
    "yaml": Format(as_yaml, (".yaml", ".yml"), "one document a problem"),
    "npz": Format(as_npz, (".npz",), "NumPy arrays by step name", binary=True),
    "markdown": Format(as_markdown, (".md", ".markdown"), "a document with formulas"),
    "html": Format(as_html, (".html", ".htm"), "one page that explains each number"),
    "latex": Format(as_latex, (".tex",), "a fragment, or a document with --standalone"),
}


def plain_text(line: Sequence[tuple[str, str]]) -> str:
    """Return a line of spans without its styles."""
    return "".join(text for text, _ in line).rstrip()


def _csv_text(trace: Trace, selection: Selection, write: Callable[[float], str]) -> str:
    import csv

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
        rows, columns = _labels(step)
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


def _labels(step: Step) -> tuple[Sequence[str], Sequence[str]]:
    row, column = ("", *step.axes)[-2:]
    return step.labels.get(row, ()), step.labels.get(column, ())


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
