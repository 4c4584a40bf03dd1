"""`attn worksheet`: the page of a problem with room in the place of numbers."""

# No postponed annotations here: typer would evaluate each of them at every start.

from functools import partial
from itertools import chain
from typing import Annotated

import typer
from typer import Argument

from attncli.cli import options, shared
from attncli.cli.options import Words
from attncli.cli.output import BAD_INPUT
from attncli.cli.run import Run
from attncli.errors import fail

FORMAT_HELP = """html, a page to practise on, which checks what is typed; latex or markdown, to
print; yaml or csv, the answer sheet."""
INPUTS_HELP = "YAML, JSON, CSV or NPZ files; - is standard input."
BLANK_HELP = "The steps to leave open; by default all that are written by hand."
GIVE_HELP = "Steps to show solved nevertheless."


def worksheet(
    inputs: Annotated[list[str], Argument(metavar="INPUT...", help=INPUTS_HELP)],
    blank: Annotated[Words, options.blanks(metavar="STEP[,STEP]", help=BLANK_HELP)] = None,
    give: Annotated[Words, options.blanks(metavar="STEP[,STEP]", help=GIVE_HELP)] = None,
    format_: Annotated[str | None, options.format_(help=FORMAT_HELP)] = None,
    out: options.Out = None,
    decimals: options.Decimals = None,
    standalone: options.Standalone = False,
    keep_going: options.KeepGoing = False,
    allow_outside: options.AllowOutside = False,
    quiet: Annotated[bool, options.quiet(help="No title, no warnings.")] = False,
) -> None:
    """Write a page with room for the numbers, or a sheet to fill in."""
    out = None if out == "-" else out
    if format_ is None and out is None:
        raise fail("a worksheet has no format of its own", hint="use -f, as in -f html, or -o FILE")
    shared.prepare(inputs, out)
    from attncli.files.load import Overrides
    from attncli.rendering.selection import WorksheetSelection
    from attncli.rendering.worksheet import open_steps

    format_ = shared.format_name("worksheets", format_, out)
    shared.refuse_flag_of("latex", "standalone", standalone, format_)
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
    if first is not None:  # otherwise not even an empty file is written
        shared.write_format("worksheets", format_, chain([first], traces), selection, out)
    raise typer.Exit(BAD_INPUT if run.failed else 0)
