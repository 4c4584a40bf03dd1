"""The commands of `attn`; each is imported and built only when it is called."""

# No postponed annotations here: typer would evaluate each of them at every start.

import os
import shlex
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from attncli.cli.help import Command, epilog
from attncli.errors import fail
from attncli.text.escapes import visible

SUMMARIES = {
    "new": "Write a small problem file to start from.",
    "compute": "Show every step of a calculation.",
    "explain": "Show how one number is calculated, with the numbers put in.",
    "check": "Find the first wrong number in hand-worked answers.",
    "worksheet": "Write a page with room for the numbers, or a sheet to fill in.",
    "vary": "Write problems like a given one, in which mistakes show.",
    "scores": "List score functions, masks and normalisers.",
    "schema": "Print a JSON Schema of the problem file.",
    "samples": "List the samples, or print one.",
    "completion": "Print a script that completes commands of attn in a shell.",
    "manual": "Print the manual page, attn(1).",
}
"""The names of the commands, in the order in which they are used, and what each does.

A command is the function of that name in the module of that name.
"""

HELP_OPTIONS: dict[str, Any] = {"help_option_names": ["-h", "--help"]}


class Group(TyperGroup):
    """`attn` itself."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: Any = dict.fromkeys(SUMMARIES)  # their names; get_command builds them

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import and build a command; return None if there is none of this name."""
        return build(cmd_name) if cmd_name in SUMMARIES else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that is called; refuse the name of a file."""
        word = args[0]
        is_file = word == "-" or "." in word or os.path.isfile(word)  # noqa: PTH113
        if is_file and word not in SUMMARIES:
            hint = f"to calculate it, write attn compute {shlex.join(args)}"
            raise fail(f"{visible(word)} is no command of attn", hint=hint)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands and what they do, without building them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(SUMMARIES.items()))


def build(name: str) -> Any:
    """Return the click command of this name."""
    function = getattr(import_module(f"attncli.cli.{name}"), name)
    app = typer.Typer(add_completion=False, rich_markup_mode=None, context_settings=HELP_OPTIONS)
    app.command(name, cls=Command, help=SUMMARIES[name], epilog=epilog(name))(function)
    return typer.main.get_command(app)
