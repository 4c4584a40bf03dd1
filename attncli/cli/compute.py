"""`attn compute`: every step of a calculation."""

# No postponed annotations here: typer would evaluate each of them at every start.

import sys
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from attncli.cli import shared
from attncli.cli.progress import tell
from attncli.cli.run import Run
from attncli.cli.sizes import Foretold
from attncli.cli.terminal import (
    BAD_INPUT,
    Color,
    Display,
    Theme,
    is_coloured,
    terminal_width,
    write_lines,
)
from attncli.errors import fail

if TYPE_CHECKING:
    from attncli.mechanisms.trace import Trace
    from attncli.rendering.layout import Line
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
            "--format", "-f", help="table, json, csv, tsv, tidy, yaml, npz, markdown, html, latex."
        ),
    ] = None,
    out: shared.Out = None,
    only: Annotated[shared.Words, Option(metavar="STEP[,STEP]", help="Only these steps.")] = None,
    head: Annotated[shared.Words, Option(metavar="N[,N-N]", help="Only these heads.")] = None,
    rows: Annotated[
        shared.Words, Option(metavar="ROW[,ROW]", help="Only these rows of queries.")
    ] = None,
    decimals: shared.Decimals = None,
    full: shared.Full = False,
    why: shared.Why = False,
    standalone: Annotated[bool, Option("--standalone", help="A complete LaTeX document.")] = False,
    keep_going: shared.KeepGoing = False,
    allow_outside: shared.AllowOutside = False,
    reveal: Annotated[
        bool, Option("--reveal", help="An HTML page whose steps are folded until asked for.")
    ] = False,
    quiet: Annotated[
        bool, Option("--quiet", "-q", help="Only the steps: no title, no warnings.")
    ] = False,
    verbose: Annotated[
        bool, Option("--verbose", help="Say how many rows at a time were calculated, and how.")
    ] = False,
    color: shared.Colour = Color.auto,
    theme: shared.Background = Theme.auto,
    no_pager: shared.NoPager = False,
    matrix: Annotated[
        list[str] | None,
        Option("--matrix", "-m", metavar="NAME=FILE", help="Add or replace a matrix."),
    ] = None,
    title: Annotated[str | None, Option(help="Shown at the top.")] = None,
    notes: Annotated[str | None, Option(help="Shown under the title.")] = None,
    kind: Annotated[str | None, Option(help="self, cross, pooling, …")] = None,
    tokens: Annotated[str | None, Option(help="Words of the rows of X: I,am,good.")] = None,
    memory_tokens: Annotated[str | None, Option(help="Words of the rows of memory.")] = None,
    heads: Annotated[str | None, Option(help="How many heads.")] = None,
    kv_heads: Annotated[str | None, Option(help="How many key/value heads.")] = None,
    score: Annotated[str | None, Option(help="The score function: see attn scores.")] = None,
    scale: Annotated[str | None, Option(help="Such as 1/sqrt(d_k).")] = None,
    softcap: Annotated[str | None, Option(help="c of c·tanh(s/c).")] = None,
    mask: Annotated[str | None, Option(help="causal, or {window: [2, 0]}.")] = None,
    normalize: Annotated[str | None, Option(help="softmax, hardmax, sparsemax, …")] = None,
    tokens_as: Annotated[str | None, Option(help="rows or columns.")] = None,
    update: Annotated[str | None, Option(help="Of kind recurrent: input_context, …")] = None,
    activation: Annotated[str | None, Option(help="Of kind pooling: tanh or none.")] = None,
    output_activation: Annotated[str | None, Option(help="Of kind pooling.")] = None,
    enhance: Annotated[str | None, Option(help="Of kind co_attention: true.")] = None,
    gradient: Annotated[
        str | None, Option(help="The backward pass: sum, or {loss: …, target: …}.")
    ] = None,
    learning_rate: Annotated[str | None, Option(help="Of one step of gradient descent.")] = None,
    round_: Annotated[
        str | None, Option("--round-steps", "--round", help="Round every step: 2 decimals, or 3sf.")
    ] = None,
    heat: Annotated[bool, Option("--heat", help="Draw the weights, without numbers.")] = False,
    exact: Annotated[
        bool, Option("--exact", help="Closed forms, such as 4√3/3; needs sympy.")
    ] = False,
) -> None:
    """Show every step of a calculation."""
    sources = list(inputs or ())
    matrices = shared.matrix_flags(matrix or (), "W_q=wq.csv")
    out = None if out == "-" else out
    if not sources and not matrices:
        if sys.stdin is not None and sys.stdin.isatty():
            typer.echo(ctx.get_help())
            raise typer.Exit
        sources = ["-"]
    shared.prepare([*sources, *matrices.values()], out)
    from attncli.files.load import Overrides
    from attncli.problem.aliases import key_of
    from attncli.rendering.formats import FORMATS
    from attncli.rendering.selection import Selection

    chosen_format = shared.format_name("traces", format_, out)
    for flag, asked, needed in (("standalone", standalone, "latex"), ("reveal", reveal, "html")):
        if asked and chosen_format != needed:
            message = f"--{flag} is for the format {needed}, not {chosen_format}"
            raise fail(message, hint=f"use it with -f {needed}")
    if only is not None and not shared.listed(only):
        raise fail("--only names no step", hint="write such as --only weights, or leave it out")
    names = tuple(map(key_of, shared.listed(only)))
    overrides = Overrides(shared.problem_options(ctx), matrices, allow_outside)
    selection = Selection(
        *(decimals, full, names, quiet, why, exact, standalone, reveal),
        heads=",".join(head or ()),
        rows=",".join(rows or ()),
    )
    display = Display(color, theme, not no_pager)
    # A page shows what steps are made from, and parts of large ones; a file of numbers does not.
    row = FORMATS[chosen_format]
    run = Run(sources, overrides, keep_going, quiet)
    if row.binary:
        from attncli.cli.targets import is_many

        run.single = out is None or not is_many(out)
    asked = bool(names) or out is not None or row.binary or (row.is_page and not full)
    foretold = None if asked else Foretold(chosen_format, selection)
    traces = run.traces(names, not (row.is_page or exact), foretold)
    if verbose:
        traces = map(_with_path, traces)
    _write(traces, chosen_format, selection, out, display, heat)
    if run.failed:
        raise typer.Exit(BAD_INPUT)


def _with_path(trace: "Trace") -> "Trace":
    """Say how the steps of n × m numbers were calculated."""
    tell(f"{trace.last.name}: {trace.path}")
    return trace


def _write(
    traces: Iterator["Trace"],
    format_: str,
    selection: "Selection",
    out: str | None,
    display: Display,
    heat: bool,
) -> None:
    """Write traces as they were asked for.

    Raises:
        InputError: for a format that has no closed forms, or no pictures.
    """
    on_screen = format_ == "table" and out is None
    if selection.exact and not (on_screen or format_ in ("json", "yaml")):
        raise fail(f"--exact is not for {format_} files", hint="use -f json or -f yaml")
    if heat and not on_screen:
        raise fail("--heat is for a terminal, not for files", hint="html pages shade the weights")
    if selection.heads or selection.rows:
        from attncli.rendering.formats import FORMATS

        if selection.exact or not FORMATS[format_].is_page:
            what = "--exact" if selection.exact else f"{format_} files, which are whole"
            raise fail(f"--head and --rows are not for {what}", hint="use --only, or a page")
    first = next(traces, None)
    if first is None:
        return  # nothing is written, not even an empty file
    every = chain([first], traces)
    width = terminal_width()
    if not on_screen:
        shared.write_format("traces", format_, every, selection, out)
    elif heat:
        from attncli.rendering import heat as pictures

        shaded = is_coloured(display.color)
        write_lines((pictures.lines(one, selection, width, shaded) for one in every), display)
    elif selection.exact:
        write_lines((_exact(trace, selection) for trace in every), display)
    else:
        from attncli.rendering.table import lines

        write_lines((lines(trace, selection, width) for trace in every), display)


def _exact(trace: "Trace", selection: "Selection") -> Iterator["Line"]:
    from attncli.explaining.exact import Exact
    from attncli.rendering.explanations import exact_lines

    exact = Exact(trace)
    yield from exact_lines(exact, selection)
    shared.warn(exact.warnings())
