"""`attn check`: hand-worked answers against the right ones."""

# No postponed annotations here: typer would evaluate each of them at every start.

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from attncli.cli import shared
from attncli.cli.progress import counted
from attncli.cli.run import Run
from attncli.cli.terminal import (
    BAD_INPUT,
    WRONG_ANSWER,
    Color,
    Display,
    Theme,
    terminal_width,
    write_lines,
)
from attncli.errors import InputError, fail

if TYPE_CHECKING:
    from attncli.files.grading import Graded


def check(
    problem: Annotated[str, Argument(metavar="INPUT", help="The problem; - reads it.")],
    answers: Annotated[
        list[str] | None,
        Argument(
            metavar="[ANSWERS]...",
            help="Hand-worked matrices by step name; by default INPUT's key answers.",
        ),
    ] = None,
    matrix: Annotated[
        list[str] | None,
        Option(
            "--matrix",
            "-m",
            metavar="NAME=FILE",
            help="A step's name gives its answer (Q, K, V and scores too), any other key a "
            "matrix of the problem.",
        ),
    ] = None,
    strict: Annotated[
        bool, Option("--strict", help="Off in the last digit, or rounded early, is wrong.")
    ] = False,
    ask: Annotated[
        str | None, Option(metavar="STEP[,STEP]", help="The steps that count; by default all.")
    ] = None,
    points: Annotated[
        str | None, Option(metavar="'STEP: N, …'", help="What each right step earns.")
    ] = None,
    decimals_asked: Annotated[
        str | None, Option(metavar="N", help="Fewer written digits are wrong.")
    ] = None,
    tolerance: Annotated[
        str | None, Option(metavar="X", help="How far a right number may be off.")
    ] = None,
    problem_only: Annotated[
        bool, Option("--problem-only", help="List the mistakes that this problem cannot show.")
    ] = False,
    format_: Annotated[
        str | None, Option("--format", "-f", help="table, json, csv, tsv, markdown or html.")
    ] = None,
    out: shared.Sheets = None,
    decimals: Annotated[
        int | None, Option("--decimals", "-d", min=0, max=17, help="Digits of the right numbers.")
    ] = None,
    full: shared.Full = False,
    allow_outside: shared.AllowOutside = False,
    quiet: Annotated[bool, Option("--quiet", "-q", help="Only the verdict.")] = False,
    color: shared.Colour = Color.auto,
    theme: shared.Background = Theme.auto,
    no_pager: shared.NoPager = False,
) -> None:
    """Find the first wrong number in hand-worked answers."""
    out = None if out == "-" else out
    display = Display(color, theme, not no_pager)
    matrices = shared.matrix_flags(matrix or (), "weights=w.csv")
    shared.prepare([problem, *(answers or ()), *matrices.values()])
    from attncli.files.grading import grade_all
    from attncli.files.load import Overrides, for_problem
    from attncli.rendering.selection import Selection

    flags = {"ask": ask, "points": points, "decimals": decimals_asked, "tolerance": tolerance}
    marking = {f"marking.{key}": text for key, text in flags.items() if text is not None}
    own = for_problem(matrices)
    given = {name: file for name, file in matrices.items() if name not in own}
    run = Run([problem], Overrides(marking, own, allow_outside), keep_going=True)
    problems = list(run.problems())
    if run.failed:
        raise typer.Exit(BAD_INPUT)
    chosen_format = shared.format_name("reports", format_, out)
    has_points = any(one.marking.points for one in problems)
    selection = Selection((), decimals, full, quiet, points=has_points)
    if problem_only:
        if chosen_format != "table" or out is not None or answers or given:
            raise fail("--problem-only prints a list: it takes no answers, format or file")
        from attncli.rendering.weaknesses import weaknesses

        write_lines([weaknesses(one, selection.digits) for one in problems], display)
        return
    found = Outcome()
    if "-" in (answers or ()):
        shared.wait_for("answers")
    stdin = shared.standard_input()
    every = grade_all(problems, answers or (), strict, stdin, given, allow_outside)
    graded = found.told(counted(every, "sheets"))
    if chosen_format == "table" and out is None:
        from attncli.rendering.report_table import pages

        write_lines(pages(graded, selection, terminal_width()), display)
    else:
        shared.write_format("reports", chosen_format, graded, selection, out)
    if found.status:
        raise typer.Exit(found.status)


class Outcome:
    """What came of all sheets: the exit status, and what was told of those that are unreadable."""

    def __init__(self) -> None:
        self.status = 0
        self._told: set[str] = set()

    def told(self, graded: Iterable["Graded"]) -> Iterator["Graded"]:
        """Yield the same, and tell why a sheet could not be read.

        A wrong heading is told once, not for each student below it.
        """
        from attncli.files.grading import Unread

        for one in graded:
            if isinstance(one, Unread):
                self.status = BAD_INPUT
                faults = [fault for fault in one.error.faults if str(fault) not in self._told]
                self._told.update(map(str, faults))
                if faults:
                    shared.complain(InputError(*faults))
            elif one.verdict != "correct":
                self.status = self.status or WRONG_ANSWER
            yield one
