"""`attn explain`: how one number is calculated."""

from typing import Annotated

import typer

from attncli.cli import options, targets
from attncli.cli.output import BAD_INPUT, complain, warn
from attncli.cli.run import Run, prepare
from attncli.cli.terminal import Display, terminal_width, write_lines
from attncli.core.errors import InputError
from attncli.core.text.sentences import whole_names

CELLS_HELP = """STEP[ROW, COLUMN] by labels or numbers from 1; STEP[ROW], STEP[:, COLUMN],
STEP[1:2, 3], STEP[head 2], z_ROW; STEP is every cell."""
INPUT_HELP = "A YAML, JSON, CSV or NPZ file; - is stdin."
DEEP_HELP = "Go on to the operands, down to the input."
EXPLANATION_FORMATS = "table, json, latex or markdown."
CLOSED_FORMS_HELP = "Closed forms too, such as 4√3/3; needs sympy."


def explain(
    input_: Annotated[str, typer.Argument(metavar="INPUT", help=INPUT_HELP)],
    cells: Annotated[list[str], typer.Argument(metavar="CELL...", help=CELLS_HELP)],
    deep: Annotated[bool, options.content("--deep", help=DEEP_HELP)] = False,
    format_: Annotated[str, options.format_(help=EXPLANATION_FORMATS)] = "table",
    decimals: options.Decimals = None,
    full: Annotated[bool, options.content("--full", help="Write long sums whole.")] = False,
    why: options.Why = False,
    allow_outside: options.AllowOutside = False,
    exact: Annotated[bool, options.content("--exact", help=CLOSED_FORMS_HELP)] = False,
    color: options.ColorOption = "auto",
    theme: options.ThemeOption = "auto",
    no_pager: options.NoPager = False,
) -> None:
    prepare([input_])
    from attncli.core.mechanisms.trace import find
    from attncli.printing.explanations import Request, lines, requests_of
    from attncli.printing.selection import ExplanationSelection
    from attncli.reading.load import Overrides

    if exact:
        from attncli.core.explaining.exact import Exact

    format_ = targets.format_name("explanations", format_)
    selection = ExplanationSelection(decimals, full, why)
    run = Run([input_], Overrides(allow_outside=allow_outside))
    requests: list[Request] = []
    for trace in run.traces():
        closed = Exact(trace) if exact else None
        known: list[str] = []
        for name in map(" ".join, whole_names(cells)):  # a shell splits them at blanks
            try:
                find(name, trace)
                known.append(name)
            except InputError as error:
                complain(error)
                run.failed = True
        requests += requests_of(trace, known, deep, closed)
    if format_ == "table":
        pages = (lines(request, selection, terminal_width()) for request in requests)
        write_lines(pages, Display(color, theme, not no_pager))
    else:
        targets.write_format("explanations", format_, requests, selection, None)
    for closed in dict.fromkeys(request.exact for request in requests):
        if closed is not None:
            warn(closed.warnings())
    raise typer.Exit(BAD_INPUT if run.failed else 0)
