"""Write `reference.md`, which lists commands, keys, steps, formats: `python docs/reference.py`."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from unittest import mock

from attncli.cli.listings import EXIT_STATUSES, VARIABLES
from attncli.cli.main import SUMMARIES, run
from attncli.core.problem.keys import KEYS, KINDS
from attncli.formats import FORMATS, FormatKind, formats_of

PAGE = Path(__file__).with_suffix(".md")

START = """# Reference

Every command with its flags, every key of a problem file and every format.
[glossary.md](glossary.md) has the names of the steps. This page is written by `docs/reference.py`
from the tables of the program.
"""

SAMPLE = "i_am_good"

COLOURS = """\
On a colour terminal, weights have a blue background: the stronger, the larger. Labels are cyan, or
blue on a light background. `attn check` prints what is right green, what is wrong red and what is
off by a rounding yellow. `--theme light` or `dark` fits a terminal that does not tell its
background; `--color never`, or `NO_COLOR=1`, leaves colours out."""

WRITERS: dict[FormatKind, str] = {
    "traces": "compute",
    "reports": "check",
    "explanations": "explain",
    "worksheets": "worksheet",
}
"""The command that shows what each writer of a format writes."""


def text() -> str:
    """Return the whole page."""
    parts = (commands, printed_steps, keys, scores, formats, statuses)
    return START + "".join(f"\n{line}\n" for part in parts for line in part())


def commands() -> Iterator[str]:
    """Yield the help of each command."""
    yield "## Commands"
    for name in SUMMARIES:
        yield f"### attn {name}"
        page = printed(name, "--help-all").rstrip()
        if name != "compute":  # which alone lists them
            page = re.sub(
                r"(?m)^(Keys of the problem:)(\n  .*)+", r"\1 as those of attn compute.", page
            )
        yield f"```text\n{page}\n```"


def printed_steps() -> Iterator[str]:
    """Yield a problem, what is printed of it, and in which colours."""
    yield "## What is printed"
    yield f"```text\n$ attn samples {SAMPLE}\n{printed('samples', SAMPLE).rstrip()}\n```"
    path = f"sample_inputs/{SAMPLE}.yaml"
    page = printed("compute", str(PAGE.parent.parent / path)).rstrip()
    yield f"```text\n$ attn compute {path}\n{page}\n```"
    yield COLOURS


def keys() -> Iterator[str]:
    """Yield a row for each key: its meaning, the kinds that have it, its shape and its default."""
    yield "## Keys of a problem file"
    rows = []
    for name, key in KEYS.items():
        shapes = {kind: row.shapes.get(name) for kind, row in KINDS.items() if name in row.keys}
        shape = next((f"({', '.join(shape)})" for shape in shapes.values() if shape), "")
        kinds = "every kind" if len(shapes) == len(KINDS) else ", ".join(shapes)
        default = key.default if isinstance(key.default, str | int) and key.default != "" else ""
        rows.append(
            (
                f"`{name}`",
                key.about,
                shape.replace("halves*", "").replace("*1", "").replace("*", "·"),
                kinds,
                str(default),
            )
        )
    yield table(("key", "meaning", "shape", "kinds", "default"), rows)
    yield table(("kind", "meaning"), [(f"`{name}`", row.meaning) for name, row in KINDS.items()])


def scores() -> Iterator[str]:
    """Yield the score functions, masks and normalisers."""
    yield "## Score functions, masks, normalisers"
    yield f"```text\n{printed('scores').rstrip()}\n```"


def formats() -> Iterator[str]:
    """Yield a row for each format: the suffixes that mean it, and the commands that write it."""
    yield "## Formats"
    rows = []
    for name, row in FORMATS.items():
        written = [command for column, command in WRITERS.items() if name in formats_of(column)]
        suffixes = ", ".join(f"`{suffix}`" for suffix in row.suffixes)
        rows.append((f"`{name}`", row.meaning, suffixes, ", ".join(written)))
    yield table(("format", "what is written", "suffixes", "commands"), rows)
    yield (
        'JSON has every digit, and −∞ as `"-Infinity"` (YAML: `-.inf`). Tidy CSV has the same\n'
        "columns for every problem: places count from 1, and an axis that a step does not have is\n"
        "empty. [Recipes](pipelines.md) show what other programs make of each."
    )


def statuses() -> Iterator[str]:
    """Yield the exit statuses and the environment variables."""
    yield "## Exit statuses"
    yield table(("status", "meaning"), [(str(n), text) for n, text in EXIT_STATUSES.items()])
    yield "## Environment variables"
    yield table(("variable", "meaning"), [(f"`{n}`", text) for n, text in VARIABLES.items()])


def table(heading: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Return a table of Markdown."""
    lines = [heading, ("---",) * len(heading), *rows]
    return "\n".join(f"| {' | '.join(c.replace('|', chr(92) + '|') for c in x)} |" for x in lines)


def printed(*arguments: str) -> str:
    """Return what a command prints."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with contextlib.redirect_stdout(out), mock.patch.dict("os.environ", {"COLUMNS": "80"}):
        run(arguments)
    out.seek(0)
    return out.read()


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
