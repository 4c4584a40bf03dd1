"""`attn explain`: how one number comes about."""

# No postponed annotations here: typer would evaluate each of them at every start.

from typing import Annotated

import typer

from attncli.cli.shared import calculated, note_exact, prepare, read_problems, warn
from attncli.cli.terminal import BAD_INPUT, Color, write_bytes, write_lines
from attncli.errors import fail
from attncli.text.escapes import visible
from attncli.text.suggestions import did_you_mean


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
        int | None,
        typer.Option("--decimals", "-d", min=0, max=17, help="Digits after the point."),
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
    from attncli.rendering.explanations import FORMATS, Request, lines
    from attncli.tape.cells import find_cells
    from attncli.text.numbers import DEFAULT_DECIMALS

    if format_ not in FORMATS:
        raise fail(f"unknown format {visible(format_)}", hint=did_you_mean(format_, FORMATS))
    problems, failed = read_problems([input_])
    traces, failed_too = calculated(problems, ())
    digits = DEFAULT_DECIMALS if decimals is None else decimals
    requests = []
    for trace in traces:
        warn(trace, several=len(traces) > 1)
        step, places = find_cells(cell, trace.steps, trace.inputs)
        closed = Exact(trace) if exact else None
        requests.append(Request(trace, step, places, digits, full, deep, closed))
    if requests and format_ == "table":
        write_lines((lines(request) for request in requests), color)
    elif requests:
        write_bytes("".join(FORMATS[format_](request) for request in requests).encode(), None)
    for request in requests:
        if request.exact is not None:
            note_exact(request.exact)
    if failed or failed_too:
        raise typer.Exit(BAD_INPUT)
