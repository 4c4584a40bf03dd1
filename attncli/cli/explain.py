"""`attn explain`: how one number comes about."""

# No postponed annotations here: typer would evaluate each of them at every start.

from typing import Annotated

import typer

from attncli.cli.shared import (
    calculated,
    format_name,
    note_exact,
    prepare,
    read_problems,
    warn,
    write_format,
)
from attncli.cli.terminal import BAD_INPUT, Color, write_lines


def explain(
    input_: Annotated[
        str, typer.Argument(metavar="INPUT", help="A YAML, JSON, CSV or NPZ file; - is stdin.")
    ],
    cell: Annotated[
        str,
        typer.Argument(
            metavar="STEP[ROW, COLUMN]", help="Labels or numbers from 1; STEP is every cell."
        ),
    ],
    deep: Annotated[
        bool, typer.Option("--deep", help="Go on to the operands, down to the input.")
    ] = False,
    format_: Annotated[
        str, typer.Option("--format", "-f", help="table, json, latex or markdown.")
    ] = "table",
    decimals: Annotated[
        int | None, typer.Option("--decimals", "-d", min=0, max=17, help="Digits after the point.")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Write long sums whole.")] = False,
    exact: Annotated[
        bool, typer.Option("--exact", help="Closed forms too, such as 4√3/3; needs sympy.")
    ] = False,
    color: Annotated[Color, typer.Option("--color", help="When to colour.")] = Color.auto,
) -> None:
    """Show how one number comes about, with the numbers put in."""
    prepare([input_])
    from attncli.explaining.exact import Exact
    from attncli.rendering.explanations import Request, lines
    from attncli.rendering.selection import Selection
    from attncli.tape.cells import find_cells

    chosen_format = format_name("explanations", format_)
    selection = Selection(decimals=decimals, full=full)
    problems, failed = read_problems([input_])
    traces, failed_too = calculated(problems, ())
    requests = []
    for trace in traces:
        warn(trace, several=len(traces) > 1)
        step, places = find_cells(cell, trace.steps, trace.inputs)
        closed = Exact(trace) if exact else None
        requests.append(Request(trace, step, places, deep, closed))
    if requests and chosen_format == "table":
        write_lines((lines(request, selection) for request in requests), color)
    elif requests:
        write_format("explanations", chosen_format, requests, selection, None)
    for request in requests:
        if request.exact is not None:
            note_exact(request.exact)
    if failed or failed_too:
        raise typer.Exit(BAD_INPUT)
