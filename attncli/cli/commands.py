"""The commands of `attn`; each is imported and built only where it is asked for."""

# No postponed annotations here: typer would evaluate each of them at every start.

import os
import shlex
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from attncli.cli.help import Command, epilog
from attncli.errors import fail
from attncli.text.escapes import visible

SUMMARIES = {
    "compute": "Show every step of a calculation.",
    "check": "Find the first wrong number in hand-worked answers.",
    "explain": "Show how one number comes about, with the numbers put in.",
    "scores": "List score functions, masks and normalisers.",
    "schema": "Print a JSON Schema of the problem file.",
    "new": "Write a small problem file to start from.",
    "vary": "Write problems like a given one, in which mistakes show.",
    "worksheet": "Write a page with room for the numbers, or a sheet to fill in.",
    "samples": "List the samples, or print one.",
    "completion": "Print a script for a shell, which completes commands of attn.",
    "manual": "Print the manual page, attn(1).",
}
"""The names of the commands, in the order of the help, and what each does.

A command is the function of that name in the module of that name.
"""


class Commands(Mapping[str, Command]):
    """The commands by name."""

    def __init__(self) -> None:
        self._built: dict[str, Command] = {}

    def __getitem__(self, name: str) -> Command:
        if name not in SUMMARIES:
            raise KeyError(name)
        if name not in self._built:
            self._built[name] = _built(name)
        return self._built[name]

    def __iter__(self) -> Iterator[str]:
        return iter(SUMMARIES)

    def __len__(self) -> int:
        return len(SUMMARIES)


def _built(name: str) -> Command:
    function = getattr(import_module(f"attncli.cli.{name}"), name)
    app = typer.Typer(add_completion=False, rich_markup_mode=None, context_settings=SETTINGS)
    app.command(name, cls=Command, help=SUMMARIES[name], epilog=epilog(name))(function)
    command = typer.main.get_command(app)
    assert isinstance(command, Command)
    return command


SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"]}


class Group(TyperGroup):
    """`attn` itself."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = Commands()  # type: ignore[assignment]  # nothing is added to it

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that is called; a file in its place is refused."""
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
