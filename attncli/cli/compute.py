"""`attn compute`: every step of a calculation."""

# No postponed annotations here: typer would evaluate each of them at every start.

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from attncli.cli import shared
from attncli.cli.help import CALCULATED, SHOWN, WHERE
from attncli.cli.terminal import BAD_INPUT, Color, terminal_width, write_lines
from attncli.errors import fail
from attncli.text.escapes import visible

if TYPE_CHECKING:
    from attncli.mechanisms.trace import Trace
    from attncli.rendering.selection import Selection


def compute(
    ctx: typer.Context,
    inputs: Annotated[
        list[str] | None,
        Argument(metavar="[INPUT]...", help="YAML, JSON, CSV or NPZ files; - is standard input."),
    ] = None,
    format_: Annotated[
        str | None,
        Option(
            "--format",
            "-f",
            help="table, json, csv, yaml, npz, markdown, latex, html.",
            rich_help_panel=WHERE,
        ),
    ] = None,
    out: shared.Out = None,
    only: Annotated[
        str | None,
        Option(metavar="STEP[,STEP]", help="Show only these steps.", rich_help_panel=SHOWN),
    ] = None,
    decimals: shared.Decimals = None,
    full: shared.Full = False,
    standalone: Annotated[
        bool, Option("--standalone", help="A complete LaTeX document.", rich_help_panel=WHERE)
    ] = False,
    quiet: Annotated[
        bool,
        Option(
            "--quiet", "-q", help="Only the steps: no title, no warnings.", rich_help_panel=SHOWN
        ),
    ] = False,
    color: Annotated[
        Color, Option("--color", help="When to colour tables.", rich_help_panel=WHERE)
    ] = Color.auto,
    matrix: Annotated[
        list[str] | None,
        Option(
            "--matrix",
            "-m",
            metavar="NAME=FILE",
            help="Add or replace a matrix.",
            rich_help_panel=CALCULATED,
        ),
    ] = None,
    title: Annotated[
        str | None, Option(help="Shown at the top.", rich_help_panel=CALCULATED)
    ] = None,
    notes: Annotated[
        str | None, Option(help="Shown under the title.", rich_help_panel=CALCULATED)
    ] = None,
    kind: Annotated[
        str | None, Option(help="self, cross, pooling, …", rich_help_panel=CALCULATED)
    ] = None,
    tokens: Annotated[
        str | None, Option(help="Words of the rows of X: I,am,good.", rich_help_panel=CALCULATED)
    ] = None,
    memory_tokens: Annotated[
        str | None, Option(help="Words of the rows of memory.", rich_help_panel=CALCULATED)
    ] = None,
    heads: Annotated[str | None, Option(help="How many heads.", rich_help_panel=CALCULATED)] = None,
    kv_heads: Annotated[
        str | None, Option(help="How many key/value heads.", rich_help_panel=CALCULATED)
    ] = None,
    score: Annotated[
        str | None, Option(help="The score function: see attn scores.", rich_help_panel=CALCULATED)
    ] = None,
    scale: Annotated[
        str | None, Option(help="Such as 1/sqrt(d_k).", rich_help_panel=CALCULATED)
    ] = None,
    softcap: Annotated[
        str | None, Option(help="c of c·tanh(s/c).", rich_help_panel=CALCULATED)
    ] = None,
    mask: Annotated[
        str | None, Option(help="causal, or {window: [2, 0]}.", rich_help_panel=CALCULATED)
    ] = None,
    normalize: Annotated[
        str | None, Option(help="softmax, hardmax, sparsemax, …", rich_help_panel=CALCULATED)
    ] = None,
    tokens_as: Annotated[
        str | None, Option(help="rows or columns.", rich_help_panel=CALCULATED)
    ] = None,
    update: Annotated[
        str | None, Option(help="Of kind recurrent: input_context, …", rich_help_panel=CALCULATED)
    ] = None,
    activation: Annotated[
        str | None, Option(help="Of kind pooling: tanh or none.", rich_help_panel=CALCULATED)
    ] = None,
    output_activation: Annotated[
        str | None, Option(help="Of kind pooling.", rich_help_panel=CALCULATED)
    ] = None,
    enhance: Annotated[
        str | None, Option(help="Of kind co_attention: true.", rich_help_panel=CALCULATED)
    ] = None,
    round_: Annotated[
        str | None,
        Option(
            "--round-steps",
            "--round",
            help="Round every step: 2 decimals, or 3sf.",
            rich_help_panel=CALCULATED,
        ),
    ] = None,
    exact: Annotated[
        bool,
        Option("--exact", help="Closed forms, such as 4√3/3; needs sympy.", rich_help_panel=SHOWN),
    ] = False,
) -> None:
    """Show every step of a calculation."""
    sources = list(inputs or ())
    matrices = matrix_flags(matrix or ())
    out = None if str(out) == "-" else out
    if not sources and not matrices:
        if sys.stdin is not None and sys.stdin.isatty():
            typer.echo(ctx.get_help())
            raise typer.Exit
        sources = ["-"]
    shared.prepare([*sources, *matrices.values()])
    from attncli.files.load import Overrides
    from attncli.rendering.selection import Selection

    chosen_format = shared.format_name("traces", format_, out)
    if standalone and chosen_format != "latex":
        message = f"--standalone is for the format latex, not {chosen_format}"
        raise fail(message, hint="use it with -f latex")
    names = tuple(name.strip() for name in only.split(",") if name.strip()) if only else ()
    traces, failed = shared.calculated(
        sources, names, Overrides(shared.problem_options(ctx), matrices)
    )
    if not quiet:
        for trace in traces:
            shared.warn_of(trace, several=len(traces) > 1)
    selection = Selection(names, decimals, full, quiet, exact, standalone)
    _write(traces, chosen_format, selection, out, color)
    if failed:
        raise typer.Exit(BAD_INPUT)


def matrix_flags(matrices: Sequence[str]) -> dict[str, str]:
    """Return NAME=FILE flags as a mapping."""
    pairs = {}
    for text in matrices:
        name, sign, file = text.partition("=")
        if not (name and sign and file):
            raise fail(f"-m {visible(text)} is not of the form NAME=FILE", hint="-m W_q=wq.csv")
        pairs[name.strip()] = file
    return pairs


def _write(
    traces: Sequence["Trace"], format_: str, selection: "Selection", out: Path | None, color: Color
) -> None:
    on_screen = format_ == "table" and out is None
    if selection.exact and not (on_screen or format_ in ("json", "yaml")):
        raise fail(f"--exact is not for {format_} files", hint="use -f json or -f yaml")
    if not traces:
        return
    if not on_screen:
        shared.write_format("traces", format_, traces, selection, out)
    elif selection.exact:
        from attncli.explaining.exact import Exact
        from attncli.rendering.explanations import exact_lines

        exacts = [Exact(trace) for trace in traces]
        write_lines((exact_lines(exact, selection) for exact in exacts), color)
        for exact in exacts:
            shared.warn(exact.warnings())
    else:
        from attncli.rendering.table import lines

        write_lines((lines(trace, selection, terminal_width()) for trace in traces), color)
