"""What several commands do: prepare, choose a format, write, print messages."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import typer

from attncli.arithmetic.memory import of_bytes, room_within_limit
from attncli.cli.output import BAD_INPUT, write_bytes
from attncli.cli.progress import tell
from attncli.errors import InputError, fail
from attncli.files import file_access
from attncli.text.escapes import visible

if TYPE_CHECKING:
    from attncli.rendering.formats import Kind, Write
    from attncli.rendering.selection import PageSelection

LARGE_FILES = 2**20
"""Size of the input, in bytes, from which on NumPy may start threads."""

NUMPY_BYTES = 120_000_000
"""Address space that NumPy reserves when it is imported, most of it for OpenBLAS."""

MARKING_OPTIONS = ("ask", "points", "decimals_asked", "tolerance", "follow", "few_digits")


def prepare(sources: Sequence[str], *written: str | None) -> None:
    """Note which files will be read, and keep NumPy's threads off small problems.

    There they only cost time. NumPy reads the setting when it is imported, later.

    Args:
        sources: the files that will be read, "-" for standard input.
        written: the files or folders that will be written, None for standard output.

    Raises:
        InputError: if a name is empty, or if there is no room for NumPy, which would otherwise
            end the process itself.
    """
    if "" in (*sources, *written):
        raise fail("the name of a file is empty", hint="write its name, or leave it out")
    if (room := room_within_limit()) < NUMPY_BYTES:
        message = f"{of_bytes(max(room, 0))} of memory are left, and NumPy takes more"
        raise fail(message, hint="raise the limit, such as by ulimit -v 1000000")
    file_access.begin_run("/dev/stdin" if name == "-" else name for name in sources)
    try:
        size = sum(Path(name).stat().st_size for name in sources if name != "-")
    except OSError:  # the reader of the file will say what is wrong with it
        size = 0
    if size < LARGE_FILES:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def marking_options(ctx: typer.Context) -> dict[str, str]:
    """Return the given options that are keys of `marking`: `--decimals-asked` is `decimals`."""
    values = {name.removesuffix("_asked"): ctx.params.get(name) for name in MARKING_OPTIONS}
    given = ((key, value) for key, value in values.items() if value not in (None, (), []))
    return {f"marking.{k}": v if isinstance(v, str) else ",".join(v) for k, v in given}


def format_name(kind: Kind, name: str | None, out: str | None = None) -> str:
    """Return the name of a format: the given one, or that of the output file's suffix.

    Raises:
        InputError: if a name or a suffix is no format of this kind, or if they disagree.
    """
    from attncli.rendering.formats import format_named, format_of_file, formats_of

    if kind != "explanations" and (name or out or "").lower().endswith("pdf"):
        stem = Path(out or "page").with_suffix("")
        tex = "" if kind == "reports" else f"-o {stem}.tex --standalone, for LaTeX, or "
        hint = f"use {tex}-o {stem}.html, and print that page to a PDF in a browser"
        raise fail("attn writes no PDF", hint=hint)
    if name is not None:
        chosen = format_named(name, kind)
        if out is not None:
            _refuse_other_suffix(chosen, kind, out)
        return chosen
    if out is None:
        return "table"
    from attncli.cli.targets import is_folder

    if is_folder(out):
        message = f"{visible(out)} is a folder, whose name does not tell a format"
        raise fail(message, hint="use -f, as in -f html; or name a file in it")
    if found := format_of_file(out, kind):
        return found
    endings = ", ".join(suffix for row in formats_of(kind).values() for suffix in row.suffixes)
    message = f"the name {visible(out)} does not tell a format"
    raise fail(message, hint=f"use -f, or one of {endings}")


def _refuse_other_suffix(name: str, kind: Kind, out: str) -> None:
    from attncli.cli.targets import is_folder
    from attncli.rendering.formats import FORMATS, format_of_file

    meant, suffixes = format_of_file(out, kind), FORMATS[name].suffixes
    last = Path(out).suffix.lower()  # .csv of .tidy.csv
    fits = last == ".txt" or any(suffix.endswith(last) for suffix in suffixes)
    if meant and not is_folder(out) and not fits:
        other = visible(str(Path(out).with_suffix(suffixes[0])))
        message = f"{visible(out)} is the name of a {meant} file, and -f asks for {name}"
        raise fail(message, hint=f"name the file {other}, or leave out -f")


def refuse_flag_of(needed: str, flag: str, is_given: bool, format_: str) -> None:
    """Raise an InputError if a flag of one format is given for another."""
    if is_given and format_ != needed:
        message = f"--{flag} is for the format {needed}, not {format_}"
        raise fail(message, hint=f"use it with -f {needed}")


def write_format(
    kind: Kind, name: str, shown: Iterable[Any], selection: PageSelection, out: str | None
) -> None:
    """Write a format to standard output, to a file, or to one file for each problem or student.

    What is `shown` is written as it comes: traces and the like, or the reports of each student.
    If the pattern of file names has a title, a student has one file for each problem.

    Raises:
        InputError: for a file that cannot be written, or two of one name.
    """
    from attncli.cli.targets import Targets, is_many
    from attncli.rendering.formats import FORMATS

    row = FORMATS[name]
    write: Write = getattr(row, kind)
    groups = shown if kind == "reports" else ((one,) for one in shown)
    if out is None or not is_many(out):
        every = chain.from_iterable(groups)
        write_bytes(write(every, selection), None if out is None else Path(out), row.binary)
        return
    targets = Targets(out, kind, row.suffixes[0])
    if kind == "reports" and "{title" in out:
        groups = ((one,) for student in groups for one in student)
    for count, group in enumerate(groups, 1):
        first = group[0]
        if kind == "reports":
            path = targets.path(count, {"student": first.name, "title": first.title})
        else:
            path = targets.path(first.problem.number or 1, {"title": first.problem.title})
        write_bytes(write(group, selection), path, row.binary)


def matrix_flags(matrices: Sequence[str], such_as: str) -> dict[str, str]:
    """Return the files of NAME=FILE flags by name."""
    from attncli.problem.key_names import key_of

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


def listed(texts: Sequence[str] | None) -> tuple[str, ...]:
    """Return the words of an option that may be repeated, with commas between them."""
    words = (word.strip() for text in texts or () for word in text.split(","))
    return tuple(filter(None, words))


def standard_input() -> BinaryIO | None:
    """Return what `-` reads; None if standard input is closed."""
    return sys.stdin.buffer if sys.stdin is not None else None


def wait_for(what: str) -> None:
    """Say what to type, if standard input is a terminal."""
    if sys.stdin is not None and sys.stdin.isatty():
        tell(f"type or paste {what}, as YAML, JSON or CSV; end with Ctrl-D on a line of its own")


def complain(error: InputError) -> int:
    """Print an error's message; return the exit status of bad input."""
    tell(str(error))
    return BAD_INPUT


def warn(warnings: Iterable[str], title: str = "") -> None:
    """Print warnings, after the title of their problem if it has one."""
    name = f"{visible(title)}: " if title else ""
    for warning in warnings:
        tell(f"warning: {name}{visible(warning)}")
