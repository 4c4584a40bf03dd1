"""`attn worksheet`: the page of a problem with room in the place of numbers."""

from functools import partial
from typing import Annotated

import typer

from attncli.cli import options, run, targets
from attncli.cli.options import WordList
from attncli.cli.output import BAD_INPUT
from attncli.core.errors import fail

SHEET_FORMATS = """html, a page to practise on, which checks what is typed; latex or markdown, to
print; yaml or csv, the answer sheet; moodle, a quiz to import."""
PROBLEMS_HELP = "YAML, JSON, CSV or NPZ files, or folders of them; - is standard input."
BLANK_HELP = "The steps to leave open; by default all that are written by hand."
GIVE_HELP = "Steps to show solved nevertheless."


def worksheet(
    inputs: Annotated[list[str], typer.Argument(metavar="INPUT...", help=PROBLEMS_HELP)],
    blank: Annotated[WordList, options.blanks(metavar="STEP[,STEP]", help=BLANK_HELP)] = None,
    give: Annotated[WordList, options.blanks(metavar="STEP[,STEP]", help=GIVE_HELP)] = None,
    format_: Annotated[str | None, options.format_(help=SHEET_FORMATS)] = None,
    out: options.Out = None,
    decimals: options.Decimals = None,
    standalone: options.Standalone = False,
    keep_going: options.KeepGoing = False,
    allow_outside: options.AllowOutside = False,
    quiet: Annotated[bool, options.quiet(help="No title, no warnings.")] = False,
) -> None:
    if format_ is None and out is None:
        raise fail("a worksheet has no format of its own", hint="use -f, as in -f html, or -o FILE")
    inputs = [file for source in inputs for file in _problem_files(source)]
    run.prepare(inputs, out)
    from attncli.printing.selection import WorksheetSelection
    from attncli.printing.worksheet import open_steps
    from attncli.reading.load import Overrides

    format_ = targets.format_name("worksheets", format_, out)
    targets.refuse_flag_of("latex", "standalone", standalone, format_)
    opened, solved = run.listed(blank), run.listed(give)
    selection = WorksheetSelection(
        *(decimals, True), quiet=quiet, standalone=standalone, blank=opened, give=solved
    )
    problems = run.Run(inputs, Overrides(allow_outside=allow_outside), keep_going, quiet)
    problems.is_one_file = out is not None and not targets.is_many(out)
    traces = problems.traces(accept=partial(open_steps, selection=selection))
    targets.write_format("worksheets", format_, traces, selection, out)
    raise typer.Exit(BAD_INPUT if problems.failed else 0)


def _problem_files(source: str) -> list[str]:
    """Return a file itself; of a folder, the problems in it and below, without solutions."""
    from attncli.reading.files import is_folder

    if not source or not is_folder(source):
        return [source]
    from attncli.classroom.assignment import problem_files

    return [*problem_files(source)]
