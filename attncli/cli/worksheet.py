"""`attn worksheet`: the page of a problem with room in the place of numbers."""

# No postponed annotations here: typer would evaluate each of them at every start.

from functools import partial
from itertools import chain
from typing import Annotated

import typer
from typer import Argument, Option

from attncli.cli import shared
from attncli.cli.run import Run
from attncli.cli.terminal import BAD_INPUT
from attncli.errors import fail

STEPS = "STEP[,STEP]"


def worksheet(
    inputs: Annotated[
        list[str],
        Argument(metavar="INPUT...", help="YAML, JSON, CSV or NPZ files; - is standard input."),
    ],
    blank: Annotated[
        shared.Words, Option(metavar=STEPS, help="The open steps; else all that a hand writes.")
    ] = None,
    give: Annotated[
        shared.Words, Option(metavar=STEPS, help="Steps that are shown solved nevertheless.")
    ] = None,
    format_: Annotated[
        str | None,
        Option(
            "--format",
            "-f",
            help="html, a page to practise on, which judges what is typed; latex or markdown, to "
            "print; yaml or csv, the answer sheet.",
        ),
    ] = None,
    out: shared.Out = None,
    decimals: shared.Decimals = None,
    standalone: Annotated[bool, Option("--standalone", help="A complete LaTeX document.")] = False,
    keep_going: shared.KeepGoing = False,
    allow_outside: shared.AllowOutside = False,
    quiet: Annotated[bool, Option("--quiet", "-q", help="No title, no warnings.")] = False,
) -> None:
    """Write a page with room for the numbers, or a sheet to fill in."""
    out = None if out == "-" else out
    if format_ is None and out is None:
        raise fail("a worksheet has no format of its own", hint="use -f, as in -f html, or -o FILE")
    shared.prepare(inputs, out)
    from attncli.files.load import Overrides
    from attncli.rendering.selection import WorksheetSelection
    from attncli.rendering.worksheet import open_steps

    chosen = shared.format_name("worksheets", format_, out)
    if standalone and chosen != "latex":
        message = f"--standalone is for the format latex, not {chosen}"
        raise fail(message, hint="use it with -f latex")
    selection = WorksheetSelection(
        *(decimals, True),
        quiet=quiet,
        standalone=standalone,
        blank=shared.listed(blank),
        give=shared.listed(give),
    )
    run = Run(inputs, Overrides(allow_outside=allow_outside), keep_going, quiet)
    traces = run.traces(accept=partial(open_steps, selection=selection))
    first = next(traces, None)
    if first is not None:  # else nothing is written, not even an empty file
        shared.write_format("worksheets", chosen, chain([first], traces), selection, out)
    if run.failed:
        raise typer.Exit(BAD_INPUT)
