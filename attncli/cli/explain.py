"""`attn explain`: how one number comes about."""

# No postponed annotations here: typer would evaluate each of them at every start.

from typing import Annotated

import typer
from typer import Argument, Option

from attncli.cli import shared
from attncli.cli.help import SHOWN, WHERE
from attncli.cli.terminal import BAD_INPUT, Color, write_lines


def explain(
    input_: Annotated[
        str, Argument(metavar="INPUT", help="A YAML, JSON, CSV or NPZ file; - is stdin.")
    ],
    cell: Annotated[
        str,
        Argument(metavar="STEP[ROW, COLUMN]", help="Labels or numbers from 1; STEP is every cell."),
    ],
    deep: Annotated[
        bool,
        Option("--deep", help="Go on to the operands, down to the input.", rich_help_panel=SHOWN),
    ] = False,
    format_: Annotated[
        str, Option("--format", "-f", help="table, json, latex or markdown.", rich_help_panel=WHERE)
    ] = "table",
    decimals: shared.Decimals = None,
    full: Annotated[
        bool, Option("--full", help="Write long sums whole.", rich_help_panel=SHOWN)
    ] = False,
    exact: Annotated[
        bool,
        Option(
            "--exact", help="Closed forms too, such as 4√3/3; needs sympy.", rich_help_panel=SHOWN
        ),
    ] = False,
    color: shared.Colour = Color.auto,
) -> None:
    """Show how one number comes about, with the numbers put in."""
    shared.prepare([input_])
    from attncli.rendering.explanations import Request, lines
    from attncli.rendering.selection import Selection
    from attncli.tape.cells import find_cells

    if exact:
        from attncli.explaining.exact import Exact

    chosen_format = shared.format_name("explanations", format_)
    selection = Selection(decimals=decimals, full=full)
    traces, failed = shared.calculated([input_])
    requests = []
    for trace in traces:
        shared.warn_of(trace, several=len(traces) > 1)
        step, places = find_cells(cell, trace.steps, trace.inputs)
        closed = Exact(trace) if exact else None
        requests.append(Request(trace, step, places, deep, closed))
    if requests and chosen_format == "table":
        write_lines((lines(request, selection) for request in requests), color)
    elif requests:
        shared.write_format("explanations", chosen_format, requests, selection, None)
    for request in requests:
        if request.exact is not None:
            shared.warn(request.exact.warnings())
    if failed:
        raise typer.Exit(BAD_INPUT)
