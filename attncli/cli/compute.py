"""`attn compute`: every step of a calculation."""

# No postponed annotations here: typer would evaluate each of them at every start.

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attncli.cli.shared import calculated, format_name, note_exact, prepare, read_problems, warn
from attncli.cli.terminal import BAD_INPUT, Color, terminal_width, write_bytes, write_lines
from attncli.errors import fail
from attncli.text.escapes import visible

if TYPE_CHECKING:
    from attncli.mechanisms.trace import Trace


def compute(
    ctx: typer.Context,
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[INPUT]...", help="YAML, JSON, CSV or NPZ files; - is standard input."
        ),
    ] = None,
    format_: Annotated[
        str | None,
        typer.Option("--format", "-f", help="table, json, csv, yaml, npz, markdown, latex, html."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write to a file; its suffix tells the format."),
    ] = None,
    only: Annotated[
        str | None, typer.Option("--only", metavar="STEP[,STEP]", help="Show only these steps.")
    ] = None,
    decimals: Annotated[
        int | None,
        typer.Option("--decimals", "-d", min=0, max=17, help="Digits after the point."),
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Show large matrices whole.")] = False,
    standalone: Annotated[
        bool, typer.Option("--standalone", help="A complete LaTeX document.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Only the steps: no title, no warnings.")
    ] = False,
    color: Annotated[Color, typer.Option("--color", help="When to colour tables.")] = Color.auto,
    matrix: Annotated[
        list[str] | None,
        typer.Option("--matrix", "-m", metavar="NAME=FILE", help="Add or replace a matrix."),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Shown at the top.")] = None,
    notes: Annotated[str | None, typer.Option(help="Shown under the title.")] = None,
    kind: Annotated[str | None, typer.Option(help="self, cross, pooling, …")] = None,
    tokens: Annotated[str | None, typer.Option(help="Words of the rows of X: I,am,good.")] = None,
    memory_tokens: Annotated[str | None, typer.Option(help="Words of the rows of memory.")] = None,
    heads: Annotated[str | None, typer.Option(help="How many heads.")] = None,
    kv_heads: Annotated[str | None, typer.Option(help="How many key/value heads.")] = None,
    score: Annotated[str | None, typer.Option(help="The score function: see attn scores.")] = None,
    scale: Annotated[str | None, typer.Option(help="Such as 1/sqrt(d_k).")] = None,
    softcap: Annotated[str | None, typer.Option(help="c of c·tanh(s/c).")] = None,
    mask: Annotated[str | None, typer.Option(help="causal, or {window: [2, 0]}.")] = None,
    normalize: Annotated[str | None, typer.Option(help="softmax, hardmax, sparsemax, …")] = None,
    tokens_as: Annotated[str | None, typer.Option(help="rows or columns.")] = None,
    update: Annotated[str | None, typer.Option(help="Of kind recurrent: input_context, …")] = None,
    activation: Annotated[str | None, typer.Option(help="Of kind pooling: tanh or none.")] = None,
    output_activation: Annotated[str | None, typer.Option(help="Of kind pooling.")] = None,
    enhance: Annotated[str | None, typer.Option(help="Of kind co_attention: true.")] = None,
    round_: Annotated[
        str | None,
        typer.Option("--round-steps", "--round", help="Round every step: 2 decimals, or 3sf."),
    ] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Closed forms, such as 4√3/3; needs sympy.")
    ] = False,
) -> None:
    """Show every step of a calculation."""
    options = {
        "title": title,
        "notes": notes,
        "kind": kind,
        "tokens": tokens,
        "memory_tokens": memory_tokens,
        "heads": heads,
        "kv_heads": kv_heads,
        "score": score,
        "scale": scale,
        "softcap": softcap,
        "mask": mask,
        "normalize": normalize,
        "tokens_as": tokens_as,
        "update": update,
        "activation": activation,
        "output_activation": output_activation,
        "enhance": enhance,
        "round": round_,
    }
    sources = list(inputs or ())
    out = None if str(out) == "-" else out
    if not sources and not matrix:
        if sys.stdin is not None and sys.stdin.isatty():
            typer.echo(ctx.get_help())
            raise typer.Exit
        sources = ["-"]
    prepare([*sources, *matrix_flags(matrix or ()).values()])
    from attncli.rendering.formats import FORMATS

    chosen_format = format_name(format_, out, FORMATS)
    if standalone and chosen_format != "latex":
        raise fail(
            f"--standalone is for the format latex, not {chosen_format}",
            hint="use it with -f latex",
        )
    names = tuple(name.strip() for name in only.split(",") if name.strip()) if only else ()
    from attncli.files.load import Overrides

    given = {key: value for key, value in options.items() if value is not None}
    problems, failed = read_problems(sources, Overrides(given, matrix_flags(matrix or ())))
    traces, failed_too = calculated(problems, names)
    if not quiet:
        for trace in traces:
            warn(trace, several=len(traces) > 1)
    if exact:
        _write_exact(traces, chosen_format, out, names, decimals, color)
    elif traces and (chosen_format != "table" or out is not None):
        from attncli.rendering.record import Selection

        row = FORMATS[chosen_format]
        selection = Selection(names, decimals, full, quiet, standalone=standalone)
        write_bytes(row.write(traces, selection), out, row.binary)
    elif traces:
        from attncli.rendering.table import Table
        from attncli.text.numbers import DEFAULT_DECIMALS

        digits = DEFAULT_DECIMALS if decimals is None else decimals
        table = Table(digits, full, terminal_width(), names, quiet)
        write_lines((table.lines(trace) for trace in traces), color)
    if failed or failed_too:
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


def _write_exact(
    traces: Sequence["Trace"],
    format_: str,
    out: Path | None,
    only: tuple[str, ...],
    decimals: int | None,
    color: Color,
) -> None:
    """Write closed forms: as lines, or in files that have a place for them."""
    from attncli.explaining.exact import Exact
    from attncli.rendering.explanations import exact_lines
    from attncli.rendering.formats import FORMATS
    from attncli.rendering.record import Selection
    from attncli.text.numbers import DEFAULT_DECIMALS

    selection = Selection(only, decimals, exact=True)
    if format_ in ("json", "yaml"):
        write_bytes(FORMATS[format_].write(traces, selection), out)
        return
    if format_ != "table" or out is not None:
        raise fail(f"--exact is not for {format_} files", hint="use -f json or -f yaml")
    digits = DEFAULT_DECIMALS if decimals is None else decimals
    exacts = [Exact(trace) for trace in traces]
    pages = [
        list(exact_lines(trace, selection.steps(trace), exact, digits))
        for trace, exact in zip(traces, exacts, strict=True)
    ]
    write_lines(pages, color)
    for exact in exacts:
        note_exact(exact)
