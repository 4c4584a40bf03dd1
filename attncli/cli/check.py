"""`attn check`: hand-worked answers against the right ones."""

# No postponed annotations here: typer would evaluate each of them at every start.

from typing import Annotated

import typer
from typer import Argument, Option

from attncli.cli import shared
from attncli.cli.help import ASKED, SHOWN, WHERE
from attncli.cli.terminal import BAD_INPUT, WRONG_ANSWER, Color, terminal_width, write_lines
from attncli.errors import InputError, fail


def check(
    problem: Annotated[str, Argument(metavar="INPUT", help="The problem; - reads it.")],
    answers: Annotated[
        list[str] | None,
        Argument(
            metavar="[ANSWERS]...",
            help="Hand-worked matrices by step name; by default INPUT's key answers.",
        ),
    ] = None,
    strict: Annotated[
        bool,
        Option(
            "--strict",
            help="Off in the last digit, or rounded early, is wrong.",
            rich_help_panel=ASKED,
        ),
    ] = False,
    ask: Annotated[
        str | None,
        Option(
            metavar="STEP[,STEP]",
            help="The steps that count; by default all.",
            rich_help_panel=ASKED,
        ),
    ] = None,
    points: Annotated[
        str | None,
        Option(metavar="'STEP: N, …'", help="What each right step earns.", rich_help_panel=ASKED),
    ] = None,
    decimals_asked: Annotated[
        str | None,
        Option(metavar="N", help="Fewer written digits are wrong.", rich_help_panel=ASKED),
    ] = None,
    tolerance: Annotated[
        str | None,
        Option(metavar="X", help="How far a right number may be off.", rich_help_panel=ASKED),
    ] = None,
    problem_only: Annotated[
        bool,
        Option(
            "--problem-only",
            help="List the mistakes that this problem cannot show.",
            rich_help_panel=SHOWN,
        ),
    ] = False,
    format_: Annotated[
        str | None,
        Option("--format", "-f", help="table, json, csv, markdown or html.", rich_help_panel=WHERE),
    ] = None,
    out: shared.Out = None,
    decimals: Annotated[
        int | None,
        Option(
            "--decimals",
            "-d",
            min=0,
            max=17,
            help="Digits of the right numbers.",
            rich_help_panel=SHOWN,
        ),
    ] = None,
    full: shared.Full = False,
    quiet: Annotated[
        bool, Option("--quiet", "-q", help="Only the verdict.", rich_help_panel=SHOWN)
    ] = False,
    color: shared.Colour = Color.auto,
) -> None:
    """Find the first wrong number in hand-worked answers."""
    out = None if str(out) == "-" else out
    shared.prepare([problem, *(answers or ())])
    from attncli.files.grading import Unread, grade_all
    from attncli.files.load import Overrides
    from attncli.rendering.selection import Selection

    flags = {"ask": ask, "points": points, "decimals": decimals_asked, "tolerance": tolerance}
    marking = {f"marking.{key}": text for key, text in flags.items() if text is not None}
    problems, failed = shared.read_problems([problem], Overrides(marking))
    if failed:
        raise typer.Exit(BAD_INPUT)
    chosen_format = shared.format_name("reports", format_, out)
    selection = Selection((), decimals, full, quiet)
    if problem_only:
        if chosen_format != "table" or out is not None or answers:
            raise fail("--problem-only prints a list: it takes no answers, format or file")
        from attncli.rendering.weaknesses import weaknesses

        write_lines([weaknesses(one, selection.digits) for one in problems], color)
        return
    graded, told = [], set[str]()
    for one in grade_all(problems, answers or (), strict, shared.standard_input()):
        graded.append(one)
        if isinstance(one, Unread):
            # A wrong heading is told once, not for each student below it.
            faults = [fault for fault in one.error.faults if str(fault) not in told]
            told.update(map(str, faults))
            if faults:
                shared.complain(InputError(*faults))
    if chosen_format == "table" and out is None:
        from attncli.rendering.report_table import pages

        write_lines(pages(graded, selection, terminal_width()), color)
    else:
        shared.write_format("reports", chosen_format, graded, selection, out)
    if any(isinstance(one, Unread) for one in graded):
        raise typer.Exit(BAD_INPUT)
    if any(not isinstance(one, Unread) and one.verdict != "correct" for one in graded):
        raise typer.Exit(WRONG_ANSWER)
