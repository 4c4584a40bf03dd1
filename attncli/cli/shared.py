"""What several commands do: read problems, calculate them, tell errors, find the format."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from attncli.arithmetic.memory import of_bytes, room_within_limit
from attncli.cli.progress import tell
from attncli.cli.terminal import BAD_INPUT, Color, Theme, write_bytes
from attncli.errors import InputError, fail
from attncli.files import opened
from attncli.text.escapes import visible

if TYPE_CHECKING:
    from attncli.files.grading import Student
    from attncli.rendering.formats import Kind, Write
    from attncli.rendering.selection import PageSelection, ReportSelection


def _out(pattern: str, what: str) -> Any:
    told = "Write to a file; its suffix tells the format; missing folders are made. FOLDER/, or a"
    told += f" pattern as in pages/{pattern}: a file for each {what}."
    return typer.Option("--out", "-o", metavar="FILE", help=told)


Out = Annotated[str | None, _out("{number}-{title}.html", "problem")]
Sheets = Annotated[str | None, _out("{student}.html", "student")]
Decimals = Annotated[
    int | None, typer.Option("--decimals", "-d", min=0, max=17, help="Digits after the point.")
]
Words = list[str] | None
"""What a flag holds that may be repeated, and adds each time."""
Full = Annotated[bool, typer.Option("--full", help="Show large matrices whole.")]
KeepGoing = Annotated[
    bool, typer.Option("--keep-going", help="Go on where a problem is wrong; exit status 2.")
]
AllowOutside = Annotated[
    bool,
    typer.Option("--allow-outside", help="Files may name matrix files outside their own folder."),
]
Why = Annotated[bool, typer.Option("--why", help="Say in a sentence why each step is done.")]
Colour = Annotated[Color, typer.Option("--color", help="When to colour.")]
Background = Annotated[Theme, typer.Option("--theme", help="The terminal's background.")]
NoPager = Annotated[bool, typer.Option("--no-pager", help="Print long output at once.")]

LARGE_FILES = 2**20
"""From this many bytes of input on, NumPy may start threads."""


NUMPY_TAKES = 120_000_000
"""How many bytes of address space NumPy reserves, most of it OpenBLAS."""


def prepare(sources: Sequence[str], *written: str | None) -> None:
    """Before anything is read: note what will be, and keep NumPy's threads off small problems.

    There they only cost time; NumPy is imported later.

    Args:
        sources: the files that will be read, "-" for standard input.
        written: the files or folders that will be written, None for standard output.

    Raises:
        InputError: for an empty name; where there is no room for NumPy, which would end the
            process itself.
    """
    if "" in (*sources, *written):
        raise fail("the name of a file is empty", hint="write its name, or leave it out")
    if (room := room_within_limit()) < NUMPY_TAKES:
        message = f"{of_bytes(max(room, 0))} of memory are left, and NumPy takes more"
        raise fail(message, hint="raise the limit, such as by ulimit -v 1000000")
    opened.begin("/dev/stdin" if name == "-" else name for name in sources)
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


def format_name(kind: Kind, name: str | None, out: str | None = None) -> str:
    """Return the format that was asked for by name, or that the output file's name implies.

    Raises:
        InputError: for a name or a suffix that is no format of this kind, or two that disagree.
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
    """Raise an InputError where the suffix of a file means another format than the chosen one."""
    from attncli.cli.targets import is_folder
    from attncli.rendering.formats import FORMATS, format_of_file

    meant, suffixes = format_of_file(out, kind), FORMATS[name].suffixes
    last = Path(out).suffix.lower()  # .csv of .tidy.csv, which is a suffix of both formats
    fits = last == ".txt" or any(suffix.endswith(last) for suffix in suffixes)  # any text is .txt
    if meant and not is_folder(out) and not fits:
        other = visible(str(Path(out).with_suffix(suffixes[0])))
        message = f"{visible(out)} is the name of a {meant} file, and -f asks for {name}"
        raise fail(message, hint=f"name the file {other}, or leave out -f")


def write_format(
    kind: Kind, name: str, shown: Iterable[Any], selection: PageSelection, out: str | None
) -> None:
    """Write what is shown in a format, as it comes.

    It goes to a file, to standard output, or to a file for each, in a folder or by a pattern.

    Raises:
        InputError: for a file that cannot be written, or two of one name.
    """
    from attncli.cli.targets import Targets, is_many
    from attncli.rendering.formats import FORMATS

    row = FORMATS[name]
    write: Write = getattr(row, kind)
    if out is None or not is_many(out):
        write_bytes(write(shown, selection), None if out is None else Path(out), row.binary)
        return
    targets = Targets(out, kind, row.suffixes[0])
    for one in shown:
        path = targets.path(one.problem.number or 1, {"title": one.problem.title})
        write_bytes(write([one], selection), path, row.binary)


def write_reports(
    name: str, students: Iterable[Student], selection: ReportSelection, out: str | None
) -> None:
    """Write what was found in answers, as `write_format` does; in many files, one a student.

    Where the pattern of their names has a title, it is one a problem of a student.

    Raises:
        InputError: for a file that cannot be written, or two of one name.
    """
    from attncli.cli.targets import Targets, is_many
    from attncli.rendering.formats import FORMATS

    if out is None or not is_many(out):
        write_format("reports", name, chain.from_iterable(students), selection, out)
        return
    row = FORMATS[name]
    assert row.reports is not None
    targets = Targets(out, "reports", row.suffixes[0])
    parts = ((one,) for student in students for one in student) if "{title" in out else students
    for number, some in enumerate(parts, 1):
        path = targets.path(number, {"student": some[0].name, "title": some[0].title})
        write_bytes(row.reports(some, selection), path, row.binary)


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


def listed(texts: Sequence[str] | None) -> tuple[str, ...]:
    """Return the words of a flag that may be repeated, each time with commas between words."""
    words = (word.strip() for text in texts or () for word in text.split(","))
    return tuple(filter(None, words))


def standard_input() -> BinaryIO | None:
    """Return what is read for `-`; None where standard input is closed."""
    return sys.stdin.buffer if sys.stdin is not None else None


def wait_for(what: str) -> None:
    """Say what is waited for, where standard input is a person at a terminal."""
    if sys.stdin is not None and sys.stdin.isatty():
        tell(f"type or paste {what}, as YAML, JSON or CSV; end with Ctrl-D on a line of its own")


def complain(error: InputError) -> int:
    """Print an error's message; return the exit status that tells of it."""
    tell(str(error))
    return BAD_INPUT


def warn(warnings: Iterable[str], title: str = "") -> None:
    """Print warnings, after a title where there is one."""
    name = f"{visible(title)}: " if title else ""
    for warning in warnings:
        tell(f"warning: {name}{visible(warning)}")
