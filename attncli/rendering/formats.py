"""The output formats of all commands. To add one, write its functions and give it a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Literal, TypeAlias

from attncli.records import Record

Write: TypeAlias = Callable[..., bytes]
"""Turns what is shown (traces, graded answers) and a `Selection` into the bytes of a file."""


Kind: TypeAlias = Literal["traces", "reports", "explanations"]
"""What is written: the column of `Format` that writes it."""


def _in(place: str) -> Write:
    """Return `module.function` of this room; the module is imported when it is called first."""
    module, _, name = place.partition(".")

    def write(*arguments: object) -> bytes:
        found: bytes = getattr(import_module(f"attncli.rendering.{module}"), name)(*arguments)
        return found

    return write


class Format(Record):
    """One row of the table.

    Attributes:
        suffixes: which file names mean the format.
        meaning: what it is for.
        traces: writes what `attn compute` shows.
        reports: writes what `attn check` shows, or None.
        explanations: writes what `attn explain` shows, or None.
        binary: whether the bytes are no text.
    """

    suffixes: tuple[str, ...]
    meaning: str
    traces: Write
    reports: Write | None = None
    explanations: Write | None = None
    binary: bool = False


FORMATS: dict[str, Format] = {
    "table": Format(
        (".txt",),
        "every step, for reading",
        _in("table.traces"),
        _in("report_table.reports"),
        _in("explanations.as_table"),
    ),
    "json": Format(
        (".json", ".jsonl"),
        "one object a problem",
        _in("record.as_json"),
        _in("grades.as_json"),
        _in("explanations.as_json"),
    ),
    "csv": Format(
        (".csv",),
        "blocks; with --only STEP the bare numbers",
        _in("csv.as_csv"),
        _in("grades.as_csv"),
    ),
    "yaml": Format((".yaml", ".yml"), "one document a problem", _in("record.as_yaml")),
    "npz": Format((".npz",), "NumPy arrays by step name", _in("record.as_npz"), binary=True),
    "markdown": Format(
        (".md", ".markdown"),
        "a document with formulas",
        _in("markdown.traces"),
        _in("report_markdown.reports"),
        _in("explanations.as_markdown"),
    ),
    "html": Format(
        (".html", ".htm"),
        "one page that explains each number",
        _in("html.traces"),
        _in("html.reports"),
    ),
    "latex": Format(
        (".tex",),
        "a fragment, or a document with --standalone",
        _in("latex.traces"),
        explanations=_in("explanations.as_latex"),
    ),
}


def formats_of(kind: Kind) -> Mapping[str, Format]:
    """Return the formats that have a writer of a kind."""
    return {name: row for name, row in FORMATS.items() if getattr(row, kind) is not None}
