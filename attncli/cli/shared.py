"""What several commands do: read problems, calculate them, tell errors, find the format."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from attncli.cli.terminal import write_bytes
from attncli.errors import InputError, fail
from attncli.text.escapes import visible
from attncli.text.suggestions import did_you_mean

if TYPE_CHECKING:
    from attncli.explaining.exact import Exact
    from attncli.files.load import Overrides
    from attncli.mechanisms.trace import Trace
    from attncli.problem.problem import Problem
    from attncli.rendering.selection import Selection

LARGE_FILES = 2**20
"""From this many bytes of input on, NumPy may start threads."""


def prepare(sources: Sequence[str]) -> None:
    """Before NumPy is imported: keep its threads off small problems, where they only cost time."""
    try:
        size = sum(Path(name).stat().st_size for name in sources if name != "-")
    except OSError:  # whoever reads the file will tell what is wrong with it
        size = 0
    if size < LARGE_FILES:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def format_name(kind: str, name: str | None, out: Path | None = None) -> str:
    """Return the format that was asked for, or that the output file's name implies.

    Args:
        kind: what is written: `traces`, `reports` or `explanations`.
        name: the format's name, if it was given.
        out: the file, if one was named.

    Raises:
        InputError: for a name or a suffix that is no format for this kind.
    """
    from attncli.rendering.formats import formats_of

    formats = formats_of(kind)
    if name is not None:
        if name not in formats:
            raise fail(f"unknown format {visible(name)}", hint=did_you_mean(name, formats))
        return name
    if out is None:
        return "table"
    for known, row in formats.items():
        if out.suffix.lower() in row.suffixes:
            return known
    endings = ", ".join(suffix for row in formats.values() for suffix in row.suffixes)
    raise fail(
        f"the name {visible(str(out))} does not tell a format", hint=f"use -f, or one of {endings}"
    )


def write_format(
    kind: str, name: str, shown: Sequence[object], selection: Selection, out: Path | None
) -> None:
    """Write traces or reports in a format to a file, or to standard output."""
    from attncli.rendering.formats import FORMATS

    row = FORMATS[name]
    write_bytes(getattr(row, kind)(shown, selection), out, row.binary)


def read_problems(
    sources: Sequence[str], overrides: Overrides | None = None
) -> tuple[list[Problem], bool]:
    """Return the problems of all files, and whether some could not be read."""
    from attncli.files.load import Overrides, from_flags, load_each

    problems: list[Problem] = []
    failed = False
    if not sources:
        return [from_flags(overrides or Overrides())], False
    stdin = sys.stdin.buffer if sys.stdin is not None else None
    for source in sources:
        try:
            found = load_each(source, overrides, stdin)
        except InputError as error:
            found = [error]
        for problem in found:
            if isinstance(problem, InputError):
                complain(problem)
                failed = True
            else:
                problems.append(problem)
    return problems, failed


def calculated(problems: Sequence[Problem], only: tuple[str, ...]) -> tuple[list[Trace], bool]:
    """Return the traces of all problems, and whether some could not be calculated."""
    from attncli.mechanisms.compute import compute as calculate

    traces: list[Trace] = []
    failed = False
    for problem in problems:
        try:
            traces.append(calculate(problem, only or None))
        except InputError as error:
            complain(error)
            failed = True
    return traces, failed


def complain(error: InputError) -> None:
    """Print an error's message."""
    typer.echo(str(error), err=True)


def warn(trace: Trace, several: bool) -> None:
    """Print the warnings of a trace, with its title where there are several."""
    name = f"{visible(trace.problem.title)}: " if several and trace.problem.title else ""
    for warning in trace.warnings:
        typer.echo(f"warning: {name}{visible(warning)}", err=True)


def note_exact(exact: Exact) -> None:
    """Print what there is to say of closed forms."""
    for warning in exact.warnings():
        typer.echo(f"warning: {visible(warning)}", err=True)
