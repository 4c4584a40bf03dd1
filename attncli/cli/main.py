"""The command line: its commands, each imported and built when it is called, and their help pages.

The modules of this wing read flags, print, colour and exit; nothing else in the package does.
"""

import os
import re
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from textwrap import indent
from typing import Annotated, Any

import typer
from typer import Option
from typer.core import TyperCommand, TyperGroup

from attncli.cli.output import READER_WENT_AWAY, leave, status_of
from attncli.core.arithmetic.machine import keep_within_memory
from attncli.core.errors import fail
from attncli.core.text.strings import visible

SUMMARIES = {
    "new": "Write a small problem file to start from.",
    "compute": "Show every step of a calculation.",
    "explain": "Show how one number is calculated, with the numbers put in.",
    "count": "Count operations, parameters and bytes of a cache.",
    "demo": "Open a sample as a page that recalculates.",
    "samples": "List the samples, or print one.",
    "scores": "List score functions, masks and normalisers.",
    "worksheet": "Write a page with room for the numbers, or a file to fill in.",
    "check": "Find the first wrong number in hand-worked answers.",
    "vary": "Write problems like a given one, in which mistakes show.",
    "assign": "Write an assignment: variants, worksheets, keys and a quiz.",
    "schema": "Print a JSON Schema of the problem file.",
    "manual": "Print the manual page, attn(1).",
    "completion": "Print a script that completes commands of attn in a shell.",
}
"""The names of the commands, and what each does.

A command is the function of that name, in the module that `MODULES` tells, or in that of its name.
"""

FIRST_OF_GROUPS = {"new": "Calculate", "worksheet": "Practise and check", "schema": "Set up"}
"""The commands that begin a group, in the order in which people meet them."""

SET_UP = ("schema", "manual", "completion")
"""The commands that only `HELP_ALL` shows."""

MODULES: Mapping[str, str] = {
    **dict.fromkeys(("compute", "worksheet"), "show"),
    **dict.fromkeys(("new", "vary"), "problems"),
    **dict.fromkeys(("scores", "schema", "samples", "demo", "manual"), "listings"),
}
"""The modules of commands that share one."""

OPTION_GROUPS = (
    "Arguments",
    "Marking",
    "Variants",
    "Blanks",
    "Content",
    "Output",
    "Calculation",
    "Keys of the problem",
    "More",
    "Options",
)
"""The groups of a help page. Options without one are of the group `Calculation`."""

KEY_GROUP = "Keys of the problem"
"""The group of the flags of keys, which every command with a problem has."""

ONLY_IN_ALL = (KEY_GROUP, "More")
"""The groups that only `HELP_ALL` shows."""

HELP_ALL = "--help-all"
"""The option that shows the help page with all groups."""

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
        "attn explain hw.yaml 0.1191",
    ),
    "count": ("attn count hw.yaml --full", "attn count config.json --length 8192"),
    "check": ("attn check hw.yaml answers.yaml", "attn check hw.yaml answers.yaml -f json"),
    "worksheet": (
        "attn worksheet hw.yaml -f html -o practice.html",
        "attn worksheet hw.yaml --give scores -f latex --standalone -o sheet.tex",
    ),
    "vary": (
        "attn vary hw.yaml -n 3 --values -2..3 --ask weights,output -o sheets/ --key",
        "attn vary hw.yaml -n 2 --values -2..3 > two.yaml",
    ),
    "assign": (
        "attn assign hw.yaml --for roster.csv --values -2..3 -o hw3/",
        "attn assign hw.yaml --for roster.csv --values -2..3 -f latex -o hw4/",
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
    "explain": "With several heads: 'weights[head 2][am, I]'; 'weights[am, I]' is that of each.",
    "check": "Exit status: 0 right, 1 wrong, incomplete or empty, 2 something could not be read.",
    "worksheet": "A filled-in worksheet, or what the page saves, is a submission for attn check.",
    "vary": "Exit status: 0 all are fair, 1 some hide mistakes that others show, 2 there are none.",
    "assign": "Its last line is the command that grades what comes back.",
    "completion": "To have it always: in ~/.bashrc, ~/.zshrc or ~/.config/fish/config.fish.",
}
"""What a help page says between its options and its examples."""


TAGLINE = "Show every number of an attention calculation, as a careful person writes it."
START_WITH = "Start with: attn new hw.yaml, then attn compute hw.yaml"

HELP_OPTIONS = ["-h", "--help", HELP_ALL]
"""The names of the help option; the second one names its parameter."""


USAGE_ERROR: Any = typer.BadParameter.__base__
"""The class of what typer raises for words that it cannot read."""


class WithHelp:
    """What a command and `attn` itself share: their help option, and the style of errors."""

    help_on_help = f"Show this message; {HELP_ALL} shows all options."

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Read arguments; what is wrong with them is an error as those of files are."""
        ctx.meta[HELP_ALL] = HELP_ALL in args
        words = [*args]  # as they are taken one by one
        try:
            return super().parse_args(ctx, args)  # type: ignore[misc]  # that of typer's class
        except USAGE_ERROR as error:
            if not words and ctx.parent is None:
                raise  # then it is the help page
            from attncli.cli.usage import usage_fault

            raise usage_fault(error, ctx) from None

    def get_help_option_names(self, _: Any) -> list[str]:
        return [*HELP_OPTIONS]

    def get_help_option(self, ctx: Any) -> Any:
        option: Any = super().get_help_option(ctx)  # type: ignore[misc]  # that of typer's class
        option.help = self.help_on_help
        return option


class Group(WithHelp, TyperGroup):
    """`attn` itself."""

    help_on_help = f"Show this message; {HELP_ALL} shows all commands."

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: Any = dict.fromkeys(SUMMARIES)  # their names; get_command builds them

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return build(cmd_name) if cmd_name in SUMMARIES else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that is called; refuse the name of a file."""
        word = args[0]
        if word in SUMMARIES:
            return word, build(word, args[1:]), args[1:]
        if word == "-" or "." in word or os.path.isfile(word):  # noqa: PTH113
            from shlex import join

            hint = f"to calculate it, write attn compute {join(args)}"
            raise fail(f"{visible(word)} is no command of attn", hint=hint)
        from attncli.cli.usage import unknown_command

        raise unknown_command(word, SUMMARIES)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the commands in groups, then the options, on lines that need not be wrapped."""
        width = max(map(len, SUMMARIES))
        for name, said in SUMMARIES.items():
            if name in SET_UP and not ctx.meta[HELP_ALL]:
                continue
            if name in FIRST_OF_GROUPS:
                formatter.write(f"\n{FIRST_OF_GROUPS[name]}:\n")
            formatter.write(f"  {name:{width}}  {said}\n")
        rows: Any = [option.get_help_record(ctx) for option in self.get_params(ctx)]
        width = max(len(names) for names, _ in rows)
        formatter.write("\nOptions:\n")
        for names, said in rows:
            formatter.write(f"  {names:{width}}  {said}\n")


def build(name: str, words: Sequence[str] = ("--help",)) -> Any:
    """Return the command of this name; of groups, it has the flags that these words need."""
    from attncli.cli.options import with_flags

    command = getattr(import_module(f"attncli.cli.{MODULES.get(name, name)}"), name)
    command = with_flags(command, words)
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(name, cls=Command, help=SUMMARIES[name], epilog=epilog(name))(command)
    return typer.main.get_command(app)


class Command(WithHelp, TyperCommand):
    """A command whose help page lists its options in groups."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Read arguments; the negative number of a cell is no option."""
        if self.name == "explain":
            args = [re.sub(r"^-(?=\.?\d)", "−", word) for word in args]
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the same words whichever version of typer there is."""
        names = [str(x.metavar) for x in self.params if x.param_type_name == "argument"]
        return ["[OPTIONS]", *(x if x.startswith("[") else f"{{{x}}}" for x in names)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, then each group of options."""
        for name, rows in groups_of(self, ctx).items():
            if ctx.meta.get(HELP_ALL) or name not in ONLY_IN_ALL:
                with formatter.section(name):
                    formatter.write_dl(rows)


def groups_of(command: Any, ctx: Any) -> dict[str, list[tuple[str, str]]]:
    """Return the arguments, then each group of options: how each is written, and its help."""
    groups: dict[str, list[tuple[str, str]]] = {name: [] for name in OPTION_GROUPS}
    for param in command.get_params(ctx):
        row = param.get_help_record(ctx)
        if param.param_type_name == "argument":
            groups["Arguments"].append((param.metavar, row[1]))
        elif row is not None:
            kind = "Options" if param.name == "help" else param.rich_help_panel
            groups[kind or "Calculation"].append(row)
    return {name: rows for name, rows in groups.items() if rows}


def epilog(command: str) -> str:
    r"""Return what a help page ends with; `\b` keeps the lines of a paragraph as they are."""
    paragraphs = [HELP_NOTES[command]] if command in HELP_NOTES else []
    if command == "compute":
        paragraphs.append("\b\nA problem file, such as hw.yaml:\n" + indent(EXAMPLE_PROBLEM, "  "))
    examples = indent("\n".join(EXAMPLES[command]), "  ")
    return "\n\n".join([*paragraphs, f"\b\nExamples:\n{examples}"])


def _version(value: bool) -> None:
    if value:
        from attncli import __version__

        typer.echo(f"attn {__version__}")
        raise typer.Exit


app = typer.Typer(
    cls=Group,
    help=f"\b\n{TAGLINE}\n{START_WITH}",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": HELP_OPTIONS},
)


@app.callback()
def attn(
    version: Annotated[
        bool, Option("--version", is_eager=True, callback=_version, help="Show the version.")
    ] = False,
) -> None:
    """Take the options of `attn` itself."""


def main() -> None:
    """Run the command line and end the process with its exit status."""
    keep_within_memory()
    leave(run())


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit status. Every error ends in one message."""
    stdout = sys.stdout

    def work() -> object:
        try:
            return typer.main.get_command(app)(arguments, prog_name="attn")
        except SystemExit as end:
            # typer replaces the stream if the reader of its help went away.
            return end.code if sys.stdout is stdout else READER_WENT_AWAY

    return status_of(work)
