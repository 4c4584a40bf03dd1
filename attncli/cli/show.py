"""`attn compute` and `worksheet`: the steps of a calculation, and a page with room for numbers."""

import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from attncli.cli import options, targets
from attncli.cli.options import WordList
from attncli.cli.output import BAD_INPUT, print_bytes, quoted, tell, warn
from attncli.cli.run import Run
from attncli.cli.terminal import Display, DisplayFlags, as_bytes, terminal_width, write_pages
from attncli.core.errors import fail
from attncli.core.records import replace

if TYPE_CHECKING:
    from attncli.core.calculation.trace import Trace
    from attncli.core.problem.problem import Problem
    from attncli.formats import Write
    from attncli.printing.layout import Line
    from attncli.printing.selection import Selection


LARGE_TEXT = 100e6
"""Size in bytes from which text that was not asked for by name or file is warned of."""

MAX_KEPT = 2**25
"""Maximum number of numbers, 256 MiB, that are calculated where only the terminal shows them."""

CHARACTERS = 23
"""Length of a number with every digit in a file, with what separates it from the next."""

PLACE_CHARACTERS = 35
"""Length of the columns that name the place of a number in tidy data."""

TRACE_FORMATS = """table, html, markdown, latex, json, csv, tsv, tidy, yaml, npz, numpy; svg or
png of weights."""
MATRIX_HELP = "Add or replace a matrix: -m W_q=wq.csv."
ROWS_HELP = "Only these rows of queries."
LIVE_HELP = "An HTML page whose numbers can be changed."
WATCH_HELP = "Calculate again when a file is saved; a page follows."
REVEAL_HELP = "An HTML page whose steps are folded until they are opened."
QUIET_HELP = "Only the steps: no title, no warnings."
VERBOSE_HELP = "Say how many rows at a time were calculated, and how."
EXACT_HELP = "Closed forms, such as 4√3/3; needs sympy."


def compute(
    ctx: typer.Context,
    inputs: Annotated[
        WordList, typer.Argument(metavar="[INPUT]...", help=options.INPUTS_HELP)
    ] = None,
    *,
    format_: Annotated[str | None, options.format_(help=TRACE_FORMATS)] = None,
    out: options.Out = None,
    only: options.Only = None,
    head: Annotated[WordList, options.more(metavar="N[,N-N]", help="Only these heads.")] = None,
    rows: Annotated[WordList, options.more(metavar="ROW[,ROW]", help=ROWS_HELP)] = None,
    decimals: options.Decimals = None,
    full: options.Full = False,
    why: options.Why = False,
    standalone: options.Standalone = False,
    keep_going: options.KeepGoing = False,
    reveal: Annotated[bool, options.more("--reveal", help=REVEAL_HELP)] = False,
    live: Annotated[bool, options.output("--live", help=LIVE_HELP)] = False,
    watch: Annotated[bool, options.output("--watch", help=WATCH_HELP)] = False,
    quiet: Annotated[bool, options.quiet(help=QUIET_HELP)] = False,
    verbose: Annotated[bool, options.more("--verbose", help=VERBOSE_HELP)] = False,
    display: DisplayFlags,
    matrix: Annotated[WordList, options.matrix(help=MATRIX_HELP)] = None,
    settings: Annotated[options.Settings, options.setting_flags("score", "mask", "heads")],
    exact: Annotated[bool, options.more("--exact", help=EXACT_HELP)] = False,
    workers: options.WorkerFlags,
) -> None:
    matrices = options.matrix_flags(matrix, "W_q=wq.csv")
    sources = inputs or _sources_without_names(ctx, bool(matrices))
    options.prepare([*sources, *(file for _, file in matrices)], out, jobs=workers.jobs)
    overrides = settings.overrides(files=options.by_key(matrices))
    from attncli.printing.selection import Selection

    format_ = targets.format_name("traces", format_, out)
    reloads = watch and format_ == "html" and out is not None and not targets.is_many(out)
    selection = Selection(
        decimals=decimals,
        full=full,
        only=options.step_names(only),
        quiet=quiet,
        why=why,
        exact=exact,
        standalone=standalone,
        reveal=reveal,
        heads=",".join(head or ()),
        rows=",".join(rows or ()),
        live=live,
        reloads=reloads,
    )
    _refuse_parts(selection, format_, format_ == "table" and out is None)
    display = replace(display, no_pager=display.no_pager or watch)
    new_run = partial(Run, sources, overrides, keep_going, quiet)
    work = partial(_write, new_run, selection, format_, out, verbose, display, workers)
    if watch:
        from attncli.cli.watch import repeat

        repeat(work, sources, out is None, Path(out) if out and reloads else None)
    raise typer.Exit(work())


def _write(
    new_run: Callable[..., Run],
    selection: "Selection",
    format_: str,
    out: str | None,
    verbose: bool,
    display: Display,
    workers: options.Workers,
) -> int:
    """Write what a run calculates, or the processes of a pool; return the exit status."""
    from attncli.formats import FORMATS

    run, row, is_many = new_run(), FORMATS[format_], targets.is_many(out)
    on_screen = format_ == "table" and out is None
    on_pages = partial(_as_pages, width=terminal_width(), display=display)
    write: Write = on_pages if on_screen else row.traces
    traces = partial(_traces, selection=selection, format_=format_, out=out, verbose=verbose)
    is_document = row.is_document or selection.standalone
    shown: Iterator[Any] | None = None
    pool = workers.pool()
    if pool is not None and (is_many or not is_document):
        from attncli.cli import shared

        work = partial(shared.part_of, new_run, traces, write, selection, is_many)
        shown = shared.in_parts(run, work, pool)
        write = write if shown is None else shared.data_of
    shown = traces(run) if shown is None else shown
    if on_screen:
        write_pages(write(shown, selection), display)
    else:
        targets.write_format("traces", format_, shown, selection, out, write)
    return BAD_INPUT if run.failed else 0


def _sources_without_names(ctx: typer.Context, has_matrices: bool) -> list[str]:
    """Return standard input, unless flags hold the problem; show the help if it is a terminal."""
    if has_matrices:
        return []
    if sys.stdin is not None and sys.stdin.isatty():
        typer.echo(ctx.get_help())
        raise typer.Exit
    return ["-"]


def _traces(
    problems: Run, selection: "Selection", format_: str, out: str | None, verbose: bool
) -> Iterator["Trace"]:
    """Return the calculations of a run, as far as the format needs them."""
    from attncli.formats import FORMATS

    # A page shows the operands of steps, and parts of large ones, and a program makes them; a file
    # of numbers does not.
    row = FORMATS[format_]
    problems.is_one_file = out is not None and not targets.is_many(out)
    problems.single = format_ == "npz" and not targets.is_many(out)
    is_chosen = bool(selection.only) or out is not None
    is_small = row.binary or (row.is_page and not selection.full)
    foresee: Callable[[Problem], object] | None = None
    if row.foresee is not None:
        foresee = partial(row.foresee, selection)
    elif not (is_chosen or is_small):
        foresee = partial(_warn_of_size, format_=format_, selection=selection)
    alone = not (row.is_page or selection.exact or format_ == "numpy")
    if out is not None or selection.only != ("weights",) or format_ not in ("csv", "tsv"):
        traces = problems.traces(selection.only, alone, foresee)
        return map(_with_path, traces) if verbose else traces
    from attncli.printing.csv import TAB, row_writer

    write = row_writer(print_bytes, selection, TAB if format_ == "tsv" else ",")
    traces = problems.traces(selection.only, alone, foresee, take_rows=write)
    traces = map(_with_path, traces) if verbose else traces
    return (trace for trace in traces if "weights" in trace)  # the others have been written


def _warn_of_size(problem: "Problem", format_: str, selection: "Selection") -> None:
    """Warn if all steps of a problem are much text; refuse more numbers than are kept."""
    from attncli.core.arithmetic.machine import of_bytes
    from attncli.core.calculation.compute import numbers_of_steps

    characters = CHARACTERS if selection.decimals is None else selection.decimals + 4
    characters += PLACE_CHARACTERS if format_ == "tidy" else 0
    count = numbers_of_steps(problem)
    if count * characters <= LARGE_TEXT:
        return
    message = f"all steps are about {of_bytes(count * characters)} of {format_}"
    hint = f"--only STEP writes some of them; -o FILE.npz holds all in {of_bytes(count * 8)}"
    if count > MAX_KEPT:
        message += ", more than is calculated unasked"
        raise problem.error(message, hint=f"{hint}; -o FILE writes them all the same")
    tell(f"warning: {message}; {hint}")


def _with_path(trace: "Trace") -> "Trace":
    tell(f"{trace.last.name}: {trace.path}")
    return trace


def _refuse_parts(selection: "Selection", format_: str, on_screen: bool) -> None:
    """Refuse what a format does not have."""
    targets.refuse_flag_of("latex", "standalone", selection.standalone, format_)
    targets.refuse_flag_of("html", "reveal", selection.reveal, format_)
    targets.refuse_flag_of("html", "live", selection.live, format_)
    if selection.exact and not (on_screen or format_ in ("json", "yaml")):
        raise fail(f"--exact is not for {format_} files", hint="use -f json or -f yaml")
    if selection.heads or selection.rows:
        from attncli.formats import FORMATS

        if selection.exact or not FORMATS[format_].is_page:
            what = "--exact" if selection.exact else f"{format_} files, which are whole"
            raise fail(f"--head and --rows are not for {what}", hint="use --only, or a page")


def _as_pages(
    traces: Iterable["Trace"], selection: "Selection", width: int | None, display: Display
) -> Iterator[bytes]:
    if selection.exact:
        return as_bytes(_exact(traces, selection, width), display, selection.follows)
    from attncli.printing.table import lines

    return as_bytes(
        (lines(trace, selection, width) for trace in traces), display, selection.follows
    )


def _exact(
    traces: Iterable["Trace"], selection: "Selection", width: int | None
) -> Iterator[Iterator["Line"]]:
    from attncli.core.explaining.exact import Exact
    from attncli.printing.explanations import exact_page
    from attncli.printing.prose import pages

    for exact in map(Exact, traces):
        yield from pages(exact_page, [exact], selection, width)
        warn(exact.warnings())


SHEET_FORMATS = """yaml, the answer sheet, by default, or csv; html, a page to practise on, which
checks what is typed; latex or markdown, to print; moodle, a quiz to import."""
FILLED_IN = ("yaml", "csv", "tsv", "xlsx")
"""The formats of worksheets that people fill in, so that one is never written over."""

PROBLEMS_HELP = "YAML, JSON, CSV, XLSX or NPZ files, or folders of them; - is standard input."
BLANK_HELP = "The steps to leave open; by default all that are written by hand."
GIVE_HELP = "Steps to show solved nevertheless."
ASK_HELP = "The steps, or cells, that are asked; other numbers are left out."


def worksheet(
    inputs: Annotated[list[str], typer.Argument(metavar="INPUT...", help=PROBLEMS_HELP)],
    *,
    blank: Annotated[WordList, options.blanks(metavar="STEP[,STEP]", help=BLANK_HELP)] = None,
    give: Annotated[WordList, options.blanks(metavar="STEP[,STEP]", help=GIVE_HELP)] = None,
    asked: Annotated[options.TextsByKey, options.marking_flags(ask=ASK_HELP)],
    format_: Annotated[str | None, options.format_(help=SHEET_FORMATS)] = None,
    out: options.Out = None,
    decimals: options.Decimals = None,
    standalone: options.Standalone = False,
    keep_going: options.KeepGoing = False,
    settings: options.SettingFlags,
    quiet: Annotated[bool, options.quiet(help="No title, no warnings.")] = False,
) -> None:
    if blank and asked:
        raise fail("--ask and --blank both say which steps are open", hint="leave out one of them")
    files = [file for source in inputs for file in _problem_files(source, settings.allow_outside)]
    options.prepare(files, out)
    from attncli.printing.selection import WorksheetSelection
    from attncli.printing.worksheet import room_of

    format_ = targets.format_name("worksheets", format_ or (None if out else "yaml"), out)
    targets.refuse_flag_of("latex", "standalone", standalone, format_)
    selection = WorksheetSelection(
        decimals=decimals,
        full=True,
        quiet=quiet,
        standalone=standalone,
        blank=options.listed(blank),
        give=options.listed(give),
    )
    problems = Run(files, settings.overrides(asked), keep_going, quiet)
    problems.is_one_file = out is not None and not targets.is_many(out)
    traces = problems.traces(accept=partial(room_of, selection=selection))
    overwrite = format_ not in FILLED_IN or targets.is_many(out)
    problem = quoted(inputs[0]) if len(inputs) == 1 else "PROBLEM"
    targets.write_format("worksheets", format_, traces, selection, out, None, overwrite, problem)
    raise typer.Exit(BAD_INPUT if problems.failed else 0)


def _problem_files(source: str, allow_outside: bool) -> list[str]:
    """Return a file itself; of a folder, the problems in it and below, without solutions."""
    from attncli.reading.files import is_folder

    if not source or not is_folder(source):
        return [source]
    from attncli.reading.folders import problem_files

    return [*problem_files(source, allow_outside)]
