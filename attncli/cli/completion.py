"""`attn completion`: completion for shells.

The scripts in `shells/` call the command again with the line up to the cursor. The answer is a line
`files`, or a line `words` and a line for each word. bash tells which part of a word it replaces.
"""

# No postponed annotations here: typer would evaluate each of them at every start.

from enum import StrEnum
from typing import Annotated

import typer
from typer import Argument, Option

from attncli.cli import shared
from attncli.cli.terminal import write_bytes
from attncli.errors import InputError


class Shell(StrEnum):
    """A shell that completes what is typed."""

    bash = "bash"
    zsh = "zsh"
    fish = "fish"


def completion(
    ctx: typer.Context,
    shell: Annotated[Shell, Argument(metavar="SHELL", help="bash, zsh or fish.")],
    line: Annotated[str | None, Option(hidden=True)] = None,
    word: Annotated[str, Option(hidden=True)] = "",
) -> None:
    """Print a script for a shell, which completes commands of attn."""
    if line is None:
        from importlib.resources import files

        script = files("attncli.cli") / "shells" / f"completion.{shell}"
        write_bytes([script.read_bytes()], None)
        return
    from attncli.cli import candidates

    shared.prepare([])
    written = candidates.words_of(line)
    try:
        found = candidates.after(written, ctx.find_root())
    except (InputError, OSError):  # a problem that cannot be read has no steps
        found = {}
    lines = candidates.answer(found, written, shell, word)
    write_bytes(["".join(f"{text}\n" for text in lines).encode(errors="replace")], None)
