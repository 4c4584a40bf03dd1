"""`attn completion`: completion for shells.

The scripts in `shells/` call the command again with the line up to the cursor. The answer is a line
`files`, or a line `words` and one line for each word: for bash the part of it that replaces what
was typed, for the others the word, a tab, and its meaning.
"""

# No postponed annotations here: typer would evaluate each of them at every start.

from enum import StrEnum
from typing import Annotated

import typer
from typer import Argument, Option

from attncli.cli import shared
from attncli.cli.output import write_bytes
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
    """Print a script that completes commands of attn in a shell."""
    if line is None:
        from importlib.resources import files

        script = files("attncli.cli") / "shells" / f"completion.{shell}"
        write_bytes([script.read_bytes()], None)
        return
    from attncli.cli.candidates import candidates, split

    shared.prepare([])
    typed = split(line)
    try:
        found = candidates(typed, ctx.find_root())
    except (InputError, OSError):  # a problem that cannot be read has no steps
        found = {}
    if found is None:
        lines = ["files"]
    else:
        words = {text: help_ for text, help_ in found.items() if text.isprintable()}
        if shell is Shell.bash:
            # bash replaces `word` only, the end of the word after a sign such as "=".
            kept = len(typed.last) - len(split(typed.quote + word).last)
            shown = [text[kept:] for text in words]
        else:
            shown = [f"{text}\t{words[text]}".rstrip("\t") for text in words]
        lines = ["words", *shown]
    write_bytes(["".join(f"{text}\n" for text in lines).encode(errors="replace")], None)
