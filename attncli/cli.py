"""The command line: reads flags, prints, colours and exits. Nothing else in the package does."""

# No postponed annotations here: typer would evaluate each of them at every start.

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attncli.errors import InputError, did_you_mean, fail, visible
from attncli.terminal import (
    BAD_INPUT,
    READER_WENT_AWAY,
    WRONG_ANSWER,
    Color,
    leave,
    terminal_width,
    write_bytes,
    write_lines,
)

if TYPE_CHECKING:
    from attncli.explaining.exact import Exact
    from attncli.loading import Overrides
    from attncli.problem import Problem
    from attncli.rendering.formats import Format
    from attncli.rendering.grades import CheckFormat
    from attncli.trace import Trace

    Formats = Mapping[str, Format] | Mapping[str, CheckFormat]

LARGE_FILES = 2**20
"""From this many bytes of input on, NumPy may start threads."""

app = typer.Typer(
    name="attn",
    help="Show every number of an attention calculation, the way a careful hand would write it.",
    epilog="Start with: attn compute homework.yaml",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(value: bool) -> None:
    if value:
        from attncli import __version__

        typer.echo(f"attn {__version__}")
        raise typer.Exit


@app.callback()
def attn(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Show every number of an attention calculation, the way a careful hand would write it."""


@app.command(epilog="Matrices: -m W_q=wq.csv. Options: --score '{name: distance, width: 2}'.")
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
    _prepare([*sources, *_pairs(matrix or ()).values()])
    from attncli.rendering.formats import FORMATS

    chosen_format = _format_name(format_, out, FORMATS)
    if standalone and chosen_format != "latex":
        raise fail(
            f"--standalone is for the format latex, not {chosen_format}",
            hint="use it with -f latex",
        )
    names = tuple(name.strip() for name in only.split(",") if name.strip()) if only else ()
    from attncli.loading import Overrides

    given = {key: value for key, value in options.items() if value is not None}
    problems, failed = _read(sources, Overrides(given, _pairs(matrix or ())))
    traces, failed_too = _computed(problems, names)
    if not quiet:
        for trace in traces:
            _warn(trace, several=len(traces) > 1)
    if exact:
        _write_exact(traces, chosen_format, out, names, decimals, color)
    elif traces and (chosen_format != "table" or out is not None):
        from attncli.rendering.record import Selection

        row = FORMATS[chosen_format]
        selection = Selection(names, decimals, full, quiet, standalone=standalone)
        write_bytes(row.write(traces, selection), out, row.binary)
    elif traces:
        from attncli.rendering.digits import DEFAULT_DECIMALS
        from attncli.rendering.table import Table

        digits = DEFAULT_DECIMALS if decimals is None else decimals
        table = Table(digits, full, terminal_width(), names, quiet)
        write_lines((table.lines(trace) for trace in traces), color)
    if failed or failed_too:
        raise typer.Exit(BAD_INPUT)


@app.command(epilog="Exit status: 0 right, 1 a wrong number, 2 something could not be read.")
def check(
    problem: Annotated[str, typer.Argument(metavar="INPUT", help="The problem; - reads it.")],
    answers: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ANSWERS]...",
            help="Hand-worked matrices by step name; by default INPUT's key answers.",
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="A number off in its last digit is wrong, too.")
    ] = False,
    problem_only: Annotated[
        bool,
        typer.Option("--problem-only", help="List the mistakes that this problem cannot show."),
    ] = False,
    format_: Annotated[
        str | None, typer.Option("--format", "-f", help="table, json, csv or markdown.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write to a file; its suffix tells the format."),
    ] = None,
    decimals: Annotated[
        int | None,
        typer.Option("--decimals", "-d", min=0, max=17, help="Digits of the right numbers."),
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Show large matrices whole.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only the verdict.")] = False,
    color: Annotated[Color, typer.Option("--color", help="When to colour.")] = Color.auto,
) -> None:
    """Find the first wrong number in hand-worked answers."""
    out = None if str(out) == "-" else out
    _prepare([problem, *(answers or ())])
    from attncli.checking import Report
    from attncli.grading import errors_in, grade_all
    from attncli.rendering.grades import FORMATS, pages
    from attncli.rendering.record import Selection
    from attncli.rendering.weaknesses import weaknesses

    problems, failed = _read([problem], None)
    if failed:
        raise typer.Exit(BAD_INPUT)
    chosen_format = _format_name(format_, out, FORMATS)
    selection = Selection((), decimals, full, quiet)
    if problem_only:
        write_lines([weaknesses(one, decimals) for one in problems], color)
        return
    graded = []
    stdin = sys.stdin.buffer if sys.stdin is not None else None
    for one in grade_all(problems, answers or (), strict, stdin):
        graded.append(one)
        for error in errors_in(one):
            _complain(error)
    if chosen_format != "table" or out is not None:
        write_bytes(FORMATS[chosen_format].write(graded, selection).encode(), out)
    else:
        write_lines(pages(graded, selection, terminal_width()), color)
    if any(errors_in(one) for one in graded):
        raise typer.Exit(BAD_INPUT)
    if any(isinstance(one, Report) and one.verdict == "wrong" for one in graded):
        raise typer.Exit(WRONG_ANSWER)


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
    from attncli.rendering.digits import DEFAULT_DECIMALS
    from attncli.rendering.explanations import exact_lines
    from attncli.rendering.formats import FORMATS
    from attncli.rendering.record import Selection

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
        _note(exact)


def _note(exact: "Exact") -> None:
    for warning in exact.warnings():
        typer.echo(f"warning: {visible(warning)}", err=True)


def _format_name(name: str | None, out: Path | None, formats: "Formats") -> str:
    """Return the format that was asked for, or that the output file's name implies."""
    if name is not None:
        if name not in formats:
            raise fail(f"unknown format {visible(name)}", hint=did_you_mean(name, formats))
        return name
    if out is None:
        return "table"
    for known, row in formats.items():
        if out.suffix.lower() in row.suffixes:
            return known
    endings = ", ".join(suffix for row in formats.values() for suffix in row.suffixes)
    raise fail(
        f"the name {visible(str(out))} does not tell a format", hint=f"use -f, or one of {endings}"
    )


def _pairs(matrices: Sequence[str]) -> dict[str, str]:
    """Return NAME=FILE flags as a mapping."""
    pairs = {}
    for text in matrices:
        name, sign, file = text.partition("=")
        if not (name and sign and file):
            raise fail(f"-m {visible(text)} is not of the form NAME=FILE", hint="-m W_q=wq.csv")
        pairs[name.strip()] = file
    return pairs


def _read(sources: Sequence[str], overrides: "Overrides | None") -> tuple[list["Problem"], bool]:
    """Return the problems of all files, and whether some could not be read."""
    from attncli.loading import Overrides, from_flags, load_each

    problems: list[Problem] = []
    failed = False
    if not sources:
        return [from_flags(overrides or Overrides())], False
    stdin = sys.stdin.buffer if sys.stdin is not None else None
    for source in sources:
        try:
            found = load_each(source, overrides, stdin)
        except InputError as error:
            found = [error]
        for problem in found:
            if isinstance(problem, InputError):
                _complain(problem)
                failed = True
            else:
                problems.append(problem)
    return problems, failed


def _computed(problems: Sequence["Problem"], only: tuple[str, ...]) -> tuple[list["Trace"], bool]:
    """Return the traces of all problems, and whether some could not be calculated."""
    from attncli.calculation import compute as calculate

    traces: list[Trace] = []
    failed = False
    for problem in problems:
        try:
            traces.append(calculate(problem, only or None))
        except InputError as error:
            _complain(error)
            failed = True
    return traces, failed


def _complain(error: InputError) -> None:
    typer.echo(str(error), err=True)


def _warn(trace: "Trace", several: bool) -> None:
    name = f"{visible(trace.problem.title)}: " if several and trace.problem.title else ""
    for warning in trace.warnings:
        typer.echo(f"warning: {name}{visible(warning)}", err=True)


@app.command(epilog="Such as: attn explain homework.yaml 'weights[head 2][am, I]'")
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
    _prepare([input_])
    from attncli.explaining.cells import find_cell
    from attncli.explaining.exact import Exact
    from attncli.loading import Overrides
    from attncli.rendering.digits import DEFAULT_DECIMALS
    from attncli.rendering.explanations import FORMATS, Request, lines

    if format_ not in FORMATS:
        raise fail(f"unknown format {visible(format_)}", hint=did_you_mean(format_, FORMATS))
    problems, failed = _read([input_], Overrides())
    traces, failed_too = _computed(problems, ())
    digits = DEFAULT_DECIMALS if decimals is None else decimals
    requests = []
    for trace in traces:
        _warn(trace, several=len(traces) > 1)
        step, place = find_cell(trace, cell)
        closed = Exact(trace) if exact else None
        requests.append(Request(trace, step, place, digits, full, deep, closed))
    if requests and format_ == "table":
        write_lines((lines(request) for request in requests), color)
    elif requests:
        write_bytes("".join(FORMATS[format_](request) for request in requests).encode(), None)
    for request in requests:
        if request.exact is not None:
            _note(request.exact)
    if failed or failed_too:
        raise typer.Exit(BAD_INPUT)


@app.command()
def scores(
    color: Annotated[Color, typer.Option("--color", help="When to colour.")] = Color.auto,
) -> None:
    """List score functions, masks and normalisers."""
    from attncli.rendering.catalogue import catalogue

    write_lines([catalogue()], color)


@app.command()
def schema() -> None:
    """Print a JSON Schema of the problem file."""
    import json

    from attncli.schema import problem_schema

    write_bytes((json.dumps(problem_schema(), indent=2) + "\n").encode(), None)


def _prepare(sources: Sequence[str]) -> None:
    """Before NumPy is imported: keep its threads off small problems, where they only cost time."""
    try:
        size = sum(Path(name).stat().st_size for name in sources if name != "-")
    except OSError:  # whoever reads the file will tell what is wrong with it
        size = 0
    if size < LARGE_FILES:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def main() -> None:
    """Run the command line; every error ends in one message and an exit status."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    stdout = sys.stdout
    try:
        status = app(prog_name="attn")
    except SystemExit as end:
        # typer puts another stream in its place when the reader of its help went away.
        status = end.code if sys.stdout is stdout else READER_WENT_AWAY
    except OSError as error:
        _complain(fail(f"standard output cannot be written: {error.strerror}"))
        status = BAD_INPUT
    except InputError as error:
        _complain(error)
        status = BAD_INPUT
    except MemoryError:
        typer.echo("the calculation does not fit into memory", err=True)
        status = BAD_INPUT
    leave(status if isinstance(status, int) else 0)
