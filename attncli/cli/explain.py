"""`attn explain`: how one number comes about."""

# No postponed annotations here: typer would evaluate each of them at every start.

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from attncli.cli import shared
from attncli.cli.run import Run
from attncli.cli.terminal import BAD_INPUT, Color, Display, Theme, terminal_width, write_lines
from attncli.errors import InputError

if TYPE_CHECKING:
    from attncli.mechanisms.trace import Trace


def explain(
    input_: Annotated[
        str, Argument(metavar="INPUT", help="A YAML, JSON, CSV or NPZ file; - is stdin.")
    ],
    cells: Annotated[
        list[str],
        Argument(
            metavar="CELL...",
            help="STEP[ROW, COLUMN] by labels or numbers from 1; STEP[ROW], STEP[:, COLUMN], "
            "STEP[1:2, 3], STEP[head 2], z_ROW; STEP is every cell.",
        ),
    ],
    deep: Annotated[
        bool, Option("--deep", help="Go on to the operands, down to the input.")
    ] = False,
    format_: Annotated[
        str, Option("--format", "-f", help="table, json, latex or markdown.")
    ] = "table",
    decimals: shared.Decimals = None,
    full: Annotated[bool, Option("--full", help="Write long sums whole.")] = False,
    why: shared.Why = False,
    allow_outside: shared.AllowOutside = False,
    exact: Annotated[
        bool, Option("--exact", help="Closed forms too, such as 4√3/3; needs sympy.")
    ] = False,
    color: shared.Colour = Color.auto,
    theme: shared.Background = Theme.auto,
    no_pager: shared.NoPager = False,
) -> None:
    """Show how one number comes about, with the numbers put in."""
    shared.prepare([input_])
    display = Display(color, theme, not no_pager)
    from attncli.files.load import Overrides
    from attncli.rendering.explanations import Request, lines, requests_of
    from attncli.rendering.selection import ExplanationSelection

    if exact:
        from attncli.explaining.exact import Exact

    chosen_format = shared.format_name("explanations", format_)
    selection = ExplanationSelection(decimals, full, why)
    run = Run([input_], Overrides(allow_outside=allow_outside))
    requests: list[Request] = []
    for trace in run.traces():
        closed = Exact(trace) if exact else None
        names = whole_names(cells)
        known = [name for name in names if is_known(name, trace)]
        run.failed |= len(known) < len(names)
        requests += requests_of(trace, known, deep, closed)
    if requests and chosen_format == "table":
        width = terminal_width()
        write_lines((lines(request, selection, width) for request in requests), display)
    elif requests:
        shared.write_format("explanations", chosen_format, requests, selection, None)
    for closed in dict.fromkeys(request.exact for request in requests):
        if closed is not None:
            shared.warn(closed.warnings())
    if run.failed:
        raise typer.Exit(BAD_INPUT)


def is_known(name: str, trace: "Trace") -> bool:
    """Return whether a name means cells of a calculation; where it does not, print why."""
    from attncli.mechanisms.named import find

    try:
        find(name, trace)
    except InputError as error:
        shared.complain(error)
        return False
    return True


def whole_names(words: Sequence[str]) -> list[str]:
    """Return the names of cells, put together again where a shell parted one without quotes.

    >>> whole_names(["Q", "scores[am,", "I]", "z_am"])
    ['Q', 'scores[am, I]', 'z_am']
    """
    names: list[str] = []
    for word in words:
        if names and names[-1].count("[") > names[-1].count("]"):
            names[-1] += f" {word}"
        else:
            names.append(word)
    return names
