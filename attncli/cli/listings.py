"""The commands that print what there is: `attn scores`, `schema`, `samples` and `manual`."""

import textwrap
from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import typer

from attncli.cli import options
from attncli.cli.commands import SUMMARIES, build, groups_of
from attncli.cli.output import BAD_INPUT, READER_WENT_AWAY, WRONG_ANSWER, print_lines, write_bytes
from attncli.cli.terminal import Display, write_lines

EXIT_STATUSES = {
    0: "Nothing went wrong.",
    WRONG_ANSWER: "attn check found a wrong number, or a submission with nothing to compare.",
    BAD_INPUT: "Bad usage, or something that cannot be read, calculated or written.",
    130: "Interrupted.",
    READER_WENT_AWAY: "The reader of the pipe went away.",
}
"""The exit statuses."""

VARIABLES = {
    "NO_COLOR": "Where it is set and not empty, --color auto colours nothing.",
    "FORCE_COLOR": "Where it is set and not empty, and NO_COLOR is not, --color auto colours files "
    "and pipes, too.",
    "TERM": "With dumb, --color auto colours nothing, and nothing is paged.",
    "COLORTERM": "With truecolor or 24bit, shades are of 24 bits, else of 256 colours.",
    "COLORFGBG": "Such as 15;0: the second number tells whether the terminal is light or dark; "
    "without it, it is dark.",
    "PAGER": "The command that shows long output on a terminal, less by default; none if it is "
    "empty or cat.",
    "LESS, LV": "The options of these pagers; FRX and -c where they are not set.",
}
"""The environment variables that the program reads."""


def scores(
    color: options.ColorOption = "auto",
    theme: options.ThemeOption = "auto",
    no_pager: options.NoPager = False,
) -> None:
    from attncli.printing.score_tables import score_tables

    write_lines([score_tables()], Display(color, theme, not no_pager))


def schema() -> None:
    from attncli.core.problem.schema import schema as problem_schema
    from attncli.core.text.escapes import indented

    print_lines([indented(problem_schema())])


def samples(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Print this one; without it, list all.")
    ] = None,
) -> None:
    from attncli.reading.sample_files import sample, sample_files, title

    if name is not None:
        write_bytes([sample(name)], None)
        return
    files = sample_files()
    width = max(map(len, files))
    print_lines(f"{name:{width}}  {title(path)}".rstrip() for name, path in files.items())


def manual(ctx: typer.Context) -> None:
    print_lines(_page(ctx.find_root()))


def _page(root: Any) -> Iterator[str]:
    """Yield the lines of the manual page, in the macros of man(7)."""
    from attncli import __version__
    from attncli.core.problem.keys import KEYS
    from attncli.printing.formats import FORMATS

    yield f'.TH ATTN 1 "" "attn {__version__}"'
    about = str(root.command.help)
    yield from (".SH NAME", "attn \\-", *_text(about[0].lower() + about[1:].rstrip(".")))
    yield from (".SH SYNOPSIS", ".B attn", "COMMAND [OPTIONS] [ARGUMENTS]")
    yield from (".SH DESCRIPTION", *_text(about), ".PP", *_text(str(root.command.epilog)))
    yield ".SH COMMANDS"
    for name in SUMMARIES:
        yield from _of_command(build(name), root)
    yield from (".SH PROBLEM FILE", "A mapping in YAML, JSON, CSV or NPZ, with these keys:")
    yield from _rows((key, f"{row.meaning}.") for key, row in KEYS.items())
    yield ".SH FORMATS"
    yield from _rows((n, f"{r.meaning} ({', '.join(r.suffixes)}).") for n, r in FORMATS.items())
    yield ".SH ENVIRONMENT"
    yield from _rows(VARIABLES.items())
    yield ".SH EXIT STATUS"
    yield from _rows((str(status), meaning) for status, meaning in EXIT_STATUSES.items())


def _of_command(command: Any, root: Any) -> Iterator[str]:
    ctx = typer.Context(command, info_name=command.name, parent=root)
    usage = " ".join(["attn", command.name, *command.collect_usage_pieces(ctx)])
    yield from (f".SS {_roff(usage)}", *_text(command.help))
    for name, rows in groups_of(command, ctx).items():
        yield from (".PP", f"{name}:", ".RS", *_rows(rows), ".RE")
    for paragraph in command.epilog.split("\n\n"):
        lines = paragraph.strip("\n").splitlines()
        if lines[0] == "\b":  # click's sign for lines that are not wrapped
            yield from (".PP", _roff(lines[1]), ".PP", ".nf", *map(_roff, lines[2:]), ".fi")
        else:
            yield from (".PP", *_text(paragraph))


def _rows(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield a list of terms, each with what it means."""
    for term, meaning in rows:
        yield from (".TP", rf"\fB{_roff(term)}\fR", *_text(meaning))


def _text(text: str) -> list[str]:
    return [_roff(line) for line in textwrap.wrap(text, 60)]


def _roff(text: str) -> str:
    """Return text as roff, in ASCII: other characters, and those with a meaning, are escaped."""
    signs = {"\\": r"\e", "-": r"\-", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti"}
    plain = "".join(signs.get(c) or (c if c.isascii() else rf"\[u{ord(c):04X}]") for c in text)
    return rf"\&{plain}" if plain.startswith(".") else plain
