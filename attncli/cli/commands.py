"""The commands of `attn`, each imported and built when it is called, and their help pages."""

import os
import shlex
from importlib import import_module
from textwrap import indent
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from attncli.core.errors import fail
from attncli.core.text.escapes import visible

SUMMARIES = {
    "new": "Write a small problem file to start from.",
    "compute": "Show every step of a calculation.",
    "explain": "Show how one number is calculated, with the numbers put in.",
    "check": "Find the first wrong number in hand-worked answers.",
    "worksheet": "Write a page with room for the numbers, or a file to fill in.",
    "vary": "Write problems like a given one, in which mistakes show.",
    "scores": "List score functions, masks and normalisers.",
    "schema": "Print a JSON Schema of the problem file.",
    "samples": "List the samples, or print one.",
    "demo": "Open a sample as a page that recalculates.",
    "completion": "Print a script that completes commands of attn in a shell.",
    "manual": "Print the manual page, attn(1).",
}
"""The names of the commands, in the order in which they are used, and what each does.

A command is the function of that name in the module of that name, or in `listings`.
"""

LISTINGS = ("scores", "schema", "samples", "manual")
"""The commands that only print what there is; they share the module `listings`."""

OPTION_GROUPS = (
    "Arguments",
    "Marking",
    "Variants",
    "Blanks",
    "Content",
    "Output",
    "Calculation",
    "Options",
)
"""The groups of a help page. Options without one are keys of a problem, and matrices."""

EXAMPLE_PROBLEM = """\
tokens: [I, am, good]
X: [[1, 3, 2],
    [1, 1, 3],
    [1, 2, 1]]
W_k: [[1, 0, 0],
      [0, 1, 0],
      [0, 0, 2]]
score: dot
"""
"""A whole problem file, hw.yaml in the examples."""

EXAMPLES = {
    "new": (
        "attn new my.yaml --tokens 'I love AI' --heads 2",
        "attn new --kind pooling --score additive --blank > exercise.yaml",
    ),
    "compute": ("attn compute hw.yaml", "attn compute hw.yaml --mask causal --only weights -d 2"),
    "explain": (
        "attn explain hw.yaml 'scores[am, I]'",
        "attn explain hw.yaml 'weights[am, I]' --deep",
    ),
    "check": ("attn check hw.yaml answers.yaml", "attn check hw.yaml answers.yaml -f json"),
    "worksheet": (
        "attn worksheet hw.yaml -f html -o practice.html",
        "attn worksheet hw.yaml --give scores -f latex --standalone -o sheet.tex",
    ),
    "vary": (
        "attn vary hw.yaml -n 3 --seed 7 --ask weights,output -o variants/ --key",
        "attn vary hw.yaml -n 2 --values -2..3 > two.yaml",
    ),
    "scores": ("attn scores", "attn compute hw.yaml --score '{name: distance, width: 2}'"),
    "schema": ("attn schema", "attn schema > attn.schema.json"),
    "samples": ("attn samples", "attn samples mask_causal > causal.yaml"),
    "demo": ("attn demo", "attn demo positions_rope --no-open"),
    "completion": ('eval "$(attn completion bash)"', "attn completion fish | source"),
    "manual": ("attn manual > attn.1", "attn manual | man -l -"),
}
"""Examples of each command; answers.yaml holds answers to hw.yaml."""

HELP_NOTES = {
    "new": "The same call writes the same numbers. A file that is there is not overwritten.",
    "compute": "Matrices: -m W_q=wq.csv. Options: --score '{name: distance, width: 2}'.",
    "explain": "With several heads: 'weights[head 2][am, I]'.",
    "check": "Exit status: 0 right, 1 wrong, incomplete or empty, 2 something could not be read.",
    "worksheet": "A filled-in worksheet, or what the page saves, is a submission for attn check.",
    "vary": "Exit status: 0 all are fair, 1 some hide mistakes that others show, 2 there are none.",
    "completion": "To have it always: in ~/.bashrc, ~/.zshrc or ~/.config/fish/config.fish.",
}
"""What a help page says between its options and its examples."""


HELP_OPTIONS: dict[str, Any] = {"help_option_names": ["-h", "--help"]}


class Group(TyperGroup):
    """`attn` itself."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: Any = dict.fromkeys(SUMMARIES)  # their names; get_command builds them

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
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
        with formatter.section("Commands"):
            formatter.write_dl(list(SUMMARIES.items()))


def build(name: str) -> Any:
    """Return the click command of this name."""
    module = "listings" if name in LISTINGS else name
    function = getattr(import_module(f"attncli.cli.{module}"), name)
    app = typer.Typer(add_completion=False, rich_markup_mode=None, context_settings=HELP_OPTIONS)
    app.command(name, cls=Command, help=SUMMARIES[name], epilog=epilog(name))(function)
    return typer.main.get_command(app)


class Command(TyperCommand):
    """A command whose help page lists its options in groups."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, then each group of options."""
        for name, rows in groups_of(self, ctx).items():
            with formatter.section(name):
                formatter.write_dl(rows)


def groups_of(command: Any, ctx: Any) -> dict[str, list[tuple[str, str]]]:
    """Return the arguments, then each group of options: how each is written, and its help."""
    groups: dict[str, list[tuple[str, str]]] = {name: [] for name in OPTION_GROUPS}
    special = {"argument": "Arguments", "help": "Options"}
    for param in command.get_params(ctx):
        row = param.get_help_record(ctx)
        if row is not None:
            kind = special.get(param.param_type_name) or special.get(param.name)
            groups[kind or param.rich_help_panel or "Calculation"].append(row)
    return {name: rows for name, rows in groups.items() if rows}


def epilog(command: str) -> str:
    r"""Return what a help page ends with; `\b` keeps the lines of a paragraph as they are."""
    paragraphs = [HELP_NOTES[command]] if command in HELP_NOTES else []
    if command == "compute":
        paragraphs.append("\b\nA problem file, such as hw.yaml:\n" + indent(EXAMPLE_PROBLEM, "  "))
    examples = indent("\n".join(EXAMPLES[command]), "  ")
    return "\n\n".join([*paragraphs, f"\b\nExamples:\n{examples}"])
