"""`attn compute`: every step of a calculation."""

import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from attncli.cli import options, run, targets
from attncli.cli.options import WordList
from attncli.cli.output import BAD_INPUT, print_bytes, tell, warn
from attncli.cli.terminal import Display, terminal_width, write_lines
from attncli.core.errors import fail
from attncli.core.records import EMPTY

if TYPE_CHECKING:
    from attncli.core.mechanisms.trace import Trace
    from attncli.core.problem.problem import Problem
    from attncli.printing.layout import Line
    from attncli.printing.selection import Selection

TRACE_FORMATS = "table, json, csv, tsv, tidy, yaml, npz, numpy, markdown, html, latex."
ROWS_HELP = "Only these rows of queries."
LIVE_HELP = "An HTML page whose numbers can be changed."
REVEAL_HELP = "An HTML page whose steps are folded until they are opened."
QUIET_HELP = "Only the steps: no title, no warnings."
VERBOSE_HELP = "Say how many rows at a time were calculated, and how."
EXACT_HELP = "Closed forms, such as 4√3/3; needs sympy."


@options.key_flags()
def compute(
    ctx: typer.Context,
    inputs: Annotated[
        WordList, typer.Argument(metavar="[INPUT]...", help=options.INPUTS_HELP)
    ] = None,
    format_: Annotated[str | None, options.format_(help=TRACE_FORMATS)] = None,
    out: options.Out = None,
    only: Annotated[
        WordList, options.content(metavar="STEP[,STEP]", help="Only these steps.")
    ] = None,
    head: Annotated[WordList, options.content(metavar="N[,N-N]", help="Only these heads.")] = None,
    rows: Annotated[WordList, options.content(metavar="ROW[,ROW]", help=ROWS_HELP)] = None,
    decimals: options.Decimals = None,
    full: options.Full = False,
    why: options.Why = False,
    standalone: options.Standalone = False,
    keep_going: options.KeepGoing = False,
    allow_outside: options.AllowOutside = False,
    reveal: Annotated[bool, options.output("--reveal", help=REVEAL_HELP)] = False,
    live: Annotated[bool, options.output("--live", help=LIVE_HELP)] = False,
    quiet: Annotated[bool, options.quiet(help=QUIET_HELP)] = False,
    verbose: Annotated[bool, options.content("--verbose", help=VERBOSE_HELP)] = False,
    color: options.ColorOption = "auto",
    theme: options.ThemeOption = "auto",
    no_pager: options.NoPager = False,
    matrix: Annotated[WordList, options.matrix(help="Add or replace a matrix.")] = None,
    keys: Mapping[str, str] = EMPTY,
    exact: Annotated[bool, options.content("--exact", help=EXACT_HELP)] = False,
) -> None:
    sources = list(inputs or ())
    matrices = run.matrix_flags(matrix or (), "W_q=wq.csv")
    if not sources and not matrices:
        if sys.stdin is not None and sys.stdin.isatty():
            typer.echo(ctx.get_help())
            raise typer.Exit
        sources = ["-"]
    run.prepare([*sources, *matrices.values()], out)
    from attncli.printing.selection import Selection
    from attncli.reading.load import Overrides

    format_ = targets.format_name("traces", format_, out)
    targets.refuse_flag_of("latex", "standalone", standalone, format_)
    targets.refuse_flag_of("html", "reveal", reveal, format_)
    targets.refuse_flag_of("html", "live", live, format_)
    selection = Selection(
        *(decimals, full, _step_names(only), quiet, why, exact, standalone, reveal),
        *(",".join(head or ()), ",".join(rows or ()), live),
    )
    problems = run.Run(sources, Overrides(keys, matrices, allow_outside), keep_going, quiet)
    traces = _traces(problems, selection, format_, out)
    if verbose:
        traces = map(_with_path, traces)
    _write(traces, format_, selection, out, Display(color, theme, not no_pager))
    raise typer.Exit(BAD_INPUT if problems.failed else 0)


def _step_names(only: WordList) -> tuple[str, ...]:
    from attncli.core.problem.key_values import key_of

    names = run.listed(only)
    if only is not None and not names:
        raise fail("--only names no step", hint="write such as --only weights, or leave it out")
    return tuple(map(key_of, names))


def _traces(
    problems: run.Run, selection: "Selection", format_: str, out: str | None
) -> Iterator["Trace"]:
    """Return the calculations of a run, as far as the format needs them."""
    from attncli.printing.formats import FORMATS

    # A page shows what steps are made from, and parts of large ones; a file of numbers does not.
    row = FORMATS[format_]
    problems.is_one_file = out is not None and not targets.is_many(out)
    problems.single = row.binary and not targets.is_many(out)
    is_chosen = bool(selection.only) or out is not None
    is_small = row.binary or (row.is_page and not selection.full)
    foresee: Callable[[Problem], None] | None = None
    if format_ == "numpy":
        from attncli.printing.numpy_program import refuse_large

        foresee = refuse_large
    elif not (is_chosen or is_small):
        foresee = partial(run.warn_of_size, format_=format_, selection=selection)
    alone = not (row.is_page or selection.exact)
    if out is not None or selection.only != ("weights",) or format_ not in ("csv", "tsv"):
        return problems.traces(selection.only, alone, foresee)
    from attncli.printing.csv import TAB, row_writer

    write = row_writer(print_bytes, selection, TAB if format_ == "tsv" else ",")
    traces = problems.traces(selection.only, alone, foresee, take_rows=write)
    return (trace for trace in traces if "weights" in trace)  # the others have been written


def _with_path(trace: "Trace") -> "Trace":
    tell(f"{trace.last.name}: {trace.path}")
    return trace


def _write(
    traces: Iterator["Trace"],
    format_: str,
    selection: "Selection",
    out: str | None,
    display: Display,
) -> None:
    """Write traces in a format, if it has closed forms or parts of steps."""
    on_screen = format_ == "table" and out is None
    if selection.exact and not (on_screen or format_ in ("json", "yaml")):
        raise fail(f"--exact is not for {format_} files", hint="use -f json or -f yaml")
    if selection.heads or selection.rows:
        from attncli.printing.formats import FORMATS

        if selection.exact or not FORMATS[format_].is_page:
            what = "--exact" if selection.exact else f"{format_} files, which are whole"
            raise fail(f"--head and --rows are not for {what}", hint="use --only, or a page")
    width = terminal_width()
    if not on_screen:
        targets.write_format("traces", format_, traces, selection, out)
    elif selection.exact:
        write_lines((_exact(trace, selection) for trace in traces), display)
    else:
        from attncli.printing.table import lines

        write_lines((lines(trace, selection, width) for trace in traces), display)


def _exact(trace: "Trace", selection: "Selection") -> Iterator["Line"]:
    from attncli.core.explaining.exact import Exact
    from attncli.printing.explanations import exact_lines

    exact = Exact(trace)
    yield from exact_lines(exact, selection)
    warn(exact.warnings())
