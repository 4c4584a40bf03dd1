"""What several commands do: read problems, calculate them, tell errors, find the format."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from attncli.cli.terminal import BAD_INPUT, Color, Theme, write_bytes
from attncli.errors import InputError, fail
from attncli.text.escapes import visible
from attncli.text.suggestions import did_you_mean

if TYPE_CHECKING:
    from attncli.files.load import Overrides
    from attncli.mechanisms.trace import Trace
    from attncli.problem.problem import Problem
    from attncli.rendering.formats import Kind
    from attncli.rendering.selection import Selection

Out = Annotated[
    Path | None, typer.Option("--out", "-o", help="Write to a file; its suffix tells the format.")
]
Decimals = Annotated[
    int | None, typer.Option("--decimals", "-d", min=0, max=17, help="Digits after the point.")
]
Full = Annotated[bool, typer.Option("--full", help="Show large matrices whole.")]
Colour = Annotated[Color, typer.Option("--color", help="When to colour.")]
Background = Annotated[Theme, typer.Option("--theme", help="The terminal's background.")]
NoPager = Annotated[bool, typer.Option("--no-pager", help="Print long output at once.")]

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


def problem_options(ctx: typer.Context) -> dict[str, str]:
    """Return the given options that are keys of a problem: `--round` is the key `round`."""
    from attncli.problem.keys import KEYS

    options = ((str(p.name), ctx.params[str(p.name)]) for p in ctx.command.params)
    given = {name.rstrip("_"): value for name, value in options if value is not None}
    return {key: value for key, value in given.items() if key in KEYS}


def format_name(kind: Kind, name: str | None, out: Path | None = None) -> str:
    """Return the format that was asked for by name, or that the output file's name implies.

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
    message = f"the name {visible(str(out))} does not tell a format"
    raise fail(message, hint=f"use -f, or one of {endings}")


def write_format(
    kind: Kind, name: str, shown: Sequence[object], selection: Selection, out: Path | None
) -> None:
    """Write traces or reports in a format to a file, or to standard output."""
    from attncli.rendering.formats import FORMATS

    row = FORMATS[name]
    write_bytes(getattr(row, kind)(shown, selection), out, row.binary)


def matrix_flags(matrices: Sequence[str], such_as: str) -> dict[str, str]:
    """Return NAME=FILE flags as a mapping.

    Raises:
        InputError: for another form, standard input, or a name that is given twice.
    """
    from attncli.problem.aliases import key_of

    pairs: dict[str, str] = {}
    for text in matrices:
        name, sign, file = text.partition("=")
        if not (name and sign and file):
            raise fail(f"-m {visible(text)} is not of the form NAME=FILE", hint=f"-m {such_as}")
        if file == "-":
            message = f"-m {visible(text)}: a matrix is read from a file, not from standard input"
            raise fail(message, hint=f"-m {such_as}")
        key = key_of(name.strip())
        if key in pairs:
            raise fail(f"-m gives {visible(key)} twice", hint="leave one of them out")
        pairs[key] = file
    return pairs


def read_problems(
    sources: Sequence[str], overrides: Overrides | None = None
) -> tuple[list[Problem], bool]:
    """Return the problems of all files, and whether some could not be read."""
    from attncli.files.load import Overrides, from_flags, load_each

    if not sources:
        return [from_flags(overrides or Overrides())], False
    problems: list[Problem] = []
    failed = False
    for source in sources:
        try:
            found = load_each(source, overrides, standard_input())
        except InputError as error:
            found = [error]
        for problem in found:
            if isinstance(problem, InputError):
                complain(problem)
                failed = True
            else:
                problems.append(problem)
    return problems, failed


def standard_input() -> BinaryIO | None:
    """Return what is read for `-`; None where standard input is closed."""
    return sys.stdin.buffer if sys.stdin is not None else None


def calculated(
    sources: Sequence[str], only: tuple[str, ...] = (), overrides: Overrides | None = None
) -> tuple[list[Trace], bool]:
    """Return the traces of all problems, and whether some could not be read or calculated."""
    from attncli.mechanisms.compute import compute as calculate

    problems, failed = read_problems(sources, overrides)
    traces: list[Trace] = []
    for problem in problems:
        try:
            traces.append(calculate(problem, only or None))
        except InputError as error:
            complain(error)
            failed = True
    return traces, failed


def complain(error: InputError) -> int:
    """Print an error's message; return the exit status that tells of it."""
    typer.echo(str(error), err=True)
    return BAD_INPUT


def warn(warnings: Iterable[str], title: str = "") -> None:
    """Print warnings, after a title where there is one."""
    name = f"{visible(title)}: " if title else ""
    for warning in warnings:
        typer.echo(f"warning: {name}{visible(warning)}", err=True)


def warn_of(trace: Trace, several: bool) -> None:
    """Print the warnings of a trace, with its title where there are several."""
    warn(trace.warnings, trace.problem.title if several else "")
