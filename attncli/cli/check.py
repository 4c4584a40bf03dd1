"""`attn check`: hand-worked answers against the right ones."""

# No postponed annotations here: typer would evaluate each of them at every start.

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from attncli.cli import shared
from attncli.cli.progress import counted, tell
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
from attncli.records import replace

if TYPE_CHECKING:
    from attncli.files.grading import Student
    from attncli.files.load import Overrides
    from attncli.problem.problem import Problem


def check(
    problem: Annotated[
        str,
        Argument(
            metavar="INPUT",
            help="The problem, or several; - reads it. A folder: a variant for each student.",
        ),
    ],
    answers: Annotated[
        list[str] | None,
        Argument(
            metavar="[ANSWERS]...",
            help="Hand-worked matrices by step name: files, tables of a class, folders; by default "
            "INPUT's key answers.",
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
        shared.Words,
        Option(metavar="STEP[,STEP]", help="The steps, or cells, that count; by default all."),
    ] = None,
    points: Annotated[
        str | None, Option(metavar="'STEP: N, …'", help="What each right step, or cell, earns.")
    ] = None,
    decimals_asked: Annotated[
        str | None, Option(metavar="N", help="Fewer written digits are wrong.")
    ] = None,
    tolerance: Annotated[
        str | None, Option(metavar="X", help="How far a right number may be off.")
    ] = None,
    follow: Annotated[
        str | None,
        Option(metavar="X", help="The share of its points that what follows from a slip earns."),
    ] = None,
    few_digits: Annotated[
        str | None,
        Option(
            metavar="X", help="The share of its points that a number with too few digits earns."
        ),
    ] = None,
    map_: Annotated[
        list[str] | None,
        Option(
            "--map",
            metavar="HEADING=CELL",
            help="What a column of a class's table holds, or a file of such pairs.",
        ),
    ] = None,
    problem_only: Annotated[
        bool,
        Option(
            "--problem-only",
            help="List the mistakes, and the slips, that this problem cannot show.",
        ),
    ] = False,
    format_: Annotated[
        str | None,
        Option("--format", "-f", help="table, json, csv, tsv, markdown, html or gradescope."),
    ] = None,
    out: shared.Sheets = None,
    feedback: Annotated[
        str | None,
        Option(metavar="FOLDER", help="Write a page for each student, and one of the class."),
    ] = None,
    solution: Annotated[
        bool, Option("--solution", help="Tell students the right numbers, too.")
    ] = False,
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
    shared.prepare([problem, *(answers or ()), *matrices.values()], out, feedback)
    from attncli.files.assignment import Assignment, load_assignment
    from attncli.files.grading import Grading, silent
    from attncli.files.load import Overrides
    from attncli.files.sheets import for_problem
    from attncli.rendering.selection import ReportSelection

    asked = ",".join(ask) if ask else None
    flags = {"ask": asked, "points": points, "decimals": decimals_asked, "tolerance": tolerance}
    flags |= {"follow": follow, "few_digits": few_digits}
    marking = {f"marking.{key}": text for key, text in flags.items() if text is not None}
    own = for_problem(matrices)
    given = {name: file for name, file in matrices.items() if name not in own}
    overrides = Overrides(marking, own, allow_outside)
    chosen_format = shared.format_name("reports", format_, out)
    selection = ReportSelection(decimals, full, quiet, solution)
    if problem_only:
        if chosen_format != "table" or out is not None or answers or given:
            raise fail("--problem-only prints a list: it takes no answers, format or file")
        from attncli.rendering.weaknesses import weaknesses

        problems = _problems(problem, overrides)
        write_lines([weaknesses(one, selection.digits) for one in problems], display)
        return
    if problem != "-" and Path(problem).is_dir():
        assignment = load_assignment(problem, overrides)
    else:
        assignment = Assignment(_problems(problem, overrides))
    selection = replace(selection, points=assignment.points)
    found = Outcome()
    if "-" in (answers or ()):
        shared.wait_for("answers")
    grading = Grading(
        *(assignment, strict, shared.standard_input(), given, allow_outside),
        headings=_headings(map_ or ()),
        tell=silent if quiet else tell,
        with_absent=chosen_format != "gradescope",  # whose results are of one student
    )
    is_table = chosen_format == "table" and out is None
    # A table of several students is printed when the last one is known.
    students = counted(grading.students(answers or ()), "students", prints=quiet or not is_table)
    graded = found.told(students)
    if feedback is not None:
        from attncli.cli.feedback import written

        graded = written(graded, feedback, selection)
    if is_table:
        from attncli.rendering.report_table import pages

        write_lines(pages(chain.from_iterable(graded), selection, terminal_width()), display)
    else:
        shared.write_reports(chosen_format, graded, selection, out)
    if found.status:
        raise typer.Exit(found.status)


def _problems(source: str, overrides: "Overrides") -> "list[Problem]":
    """Return the problems of a file; what is wrong with them is told, and ends the command."""
    run = Run([source], overrides, keep_going=True)
    problems = list(run.problems())
    if run.failed:
        raise typer.Exit(BAD_INPUT)
    return problems


def _headings(flags: Sequence[str]) -> Mapping[str, str]:
    """Return what the headings of a table mean."""
    if not flags:
        return {}
    from attncli.files.headings import read_headings

    return read_headings(flags)


class Outcome:
    """What came of all sheets: the exit status, and what was told of those that are unreadable."""

    def __init__(self) -> None:
        self.status = 0
        self._told: set[str] = set()

    def told(self, students: Iterable["Student"]) -> Iterator["Student"]:
        """Yield the same, and tell why a sheet could not be read.

        A wrong heading is told once, not for each student below it.
        """
        from attncli.files.grading import Unread

        for student in students:
            for one in student:
                if isinstance(one, Unread):
                    self.status = BAD_INPUT
                    faults = [fault for fault in one.error.faults if str(fault) not in self._told]
                    self._told.update(map(str, faults))
                    if faults:
                        shared.complain(InputError(*faults))
                elif one.verdict != "correct":
                    self.status = self.status or WRONG_ANSWER
            yield student
