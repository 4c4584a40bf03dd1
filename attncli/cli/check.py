"""`attn check`: hand-worked answers against the right ones."""

# No postponed annotations here: typer would evaluate each of them at every start.

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from attncli.cli import options, shared
from attncli.cli.options import Color, Theme, Words, marking, showing, writing
from attncli.cli.output import BAD_INPUT, WRONG_ANSWER
from attncli.cli.progress import counted, tell
from attncli.cli.run import Run
from attncli.cli.terminal import Display, terminal_width, write_lines
from attncli.errors import InputError, fail
from attncli.records import replace

if TYPE_CHECKING:
    from attncli.files.assignment import Assignment
    from attncli.files.grading import Student
    from attncli.files.load import Overrides
    from attncli.problem.problem import Problem
    from attncli.rendering.selection import Selection

PROBLEM_HELP = "The problem, or several; - reads it. A folder: a variant for each student."
ANSWERS_HELP = """Hand-worked matrices by step name: files, tables of a class, folders; by default
INPUT's key answers."""
MATRIX_HELP = """A step's name gives its answer (Q, K, V and scores too), any other key a matrix of
the problem."""
FORMAT_HELP = "table, json, csv, tsv, markdown, html or gradescope."

Problems = Annotated[str, Argument(metavar="INPUT", help=PROBLEM_HELP)]
Answers = Annotated[Words, Argument(metavar="[ANSWERS]...", help=ANSWERS_HELP)]
Matrix = Annotated[Words, Option("--matrix", "-m", metavar="NAME=FILE", help=MATRIX_HELP)]
Strict = Annotated[
    bool, marking("--strict", help="Off in the last digit, or rounded early, is wrong.")
]
Ask = Annotated[
    Words,
    marking(metavar=options.STEP_NAMES, help="The steps, or cells, that count; by default all."),
]
Points = Annotated[
    str | None, marking(metavar="'STEP: N, …'", help="What each right step, or cell, earns.")
]
DecimalsAsked = Annotated[str | None, marking(metavar="N", help="Fewer written digits are wrong.")]
Tolerance = Annotated[str | None, marking(metavar="X", help="How far a right number may be off.")]
Follow = Annotated[
    str | None,
    marking(metavar="X", help="The share of its points that what follows from a slip earns."),
]
FewDigits = Annotated[
    str | None,
    marking(metavar="X", help="The share of its points that a number with too few digits earns."),
]
MapHeadings = Annotated[
    Words,
    marking(
        "--map",
        metavar="HEADING=CELL",
        help="What a column of a class's table holds, or a file of such pairs.",
    ),
]
ProblemOnly = Annotated[
    bool,
    showing(
        "--problem-only", help="List the mistakes, and the slips, that this problem cannot show."
    ),
]
Format = Annotated[str | None, writing("--format", "-f", help=FORMAT_HELP)]
Feedback = Annotated[
    str | None,
    writing(metavar="FOLDER", help="Write a page for each student, and one of the class."),
]
Solution = Annotated[bool, showing("--solution", help="Tell students the right numbers, too.")]
Decimals = Annotated[
    int | None, showing("--decimals", "-d", min=0, max=17, help="Digits of the right numbers.")
]
Quiet = Annotated[bool, showing("--quiet", "-q", help="Only the verdict.")]


def check(
    ctx: typer.Context,
    problem: Problems,
    answers: Answers = None,
    matrix: Matrix = None,
    strict: Strict = False,
    ask: Ask = None,
    points: Points = None,
    decimals_asked: DecimalsAsked = None,
    tolerance: Tolerance = None,
    follow: Follow = None,
    few_digits: FewDigits = None,
    map_: MapHeadings = None,
    problem_only: ProblemOnly = False,
    format_: Format = None,
    out: options.OutOfStudents = None,
    feedback: Feedback = None,
    solution: Solution = False,
    decimals: Decimals = None,
    full: options.Full = False,
    allow_outside: options.AllowOutside = False,
    quiet: Quiet = False,
    color: options.ColorOption = Color.auto,
    theme: options.ThemeOption = Theme.auto,
    no_pager: options.NoPager = False,
) -> None:
    """Find the first wrong number in hand-worked answers."""
    out = None if out == "-" else out
    sources = list(answers or ())
    matrices = shared.matrix_flags(matrix or (), "weights=w.csv")
    shared.prepare([problem, *sources, *matrices.values()], out, feedback)
    from attncli.files.grading import Grading, silent
    from attncli.files.load import Overrides
    from attncli.files.sheets import for_problem
    from attncli.rendering.selection import Selection

    of_problem = for_problem(matrices)
    of_answers = {name: file for name, file in matrices.items() if name not in of_problem}
    overrides = Overrides(shared.marking_options(ctx), of_problem, allow_outside)
    format_ = shared.format_name("reports", format_, out)
    selection = Selection(decimals=decimals, full=full, quiet=quiet, solution=solution)
    display = Display(color, theme, not no_pager)
    if problem_only:
        if format_ != "table" or out is not None or sources or of_answers:
            raise fail("--problem-only prints a list: it takes no answers, format or file")
        _print_weaknesses(_problems(problem, overrides), selection, display)
        return
    assignment = _assignment(problem, overrides)
    selection = replace(selection, points=assignment.points)
    if "-" in sources:
        shared.wait_for("answers")
    grading = Grading(
        *(assignment, strict, shared.standard_input(), of_answers, allow_outside),
        headings=_headings(map_ or []),
        tell=silent if quiet else tell,
        with_absent=format_ != "gradescope",  # whose file has the results of one student
    )
    # A table of several students is printed at the end, so the progress line may be shown.
    is_table = format_ == "table" and out is None
    students = counted(grading.students(sources), "students", prints=quiet or not is_table)
    outcome = Outcome()
    graded = outcome.watched(students)
    if feedback is not None:
        from attncli.cli.feedback import with_pages

        graded = with_pages(graded, Path(feedback), selection)
    if is_table:
        from attncli.rendering.report_table import pages

        write_lines(pages(chain.from_iterable(graded), selection, terminal_width()), display)
    else:
        shared.write_reports(format_, graded, selection, out)
    raise typer.Exit(outcome.status)


def _print_weaknesses(
    problems: "Iterable[Problem]", selection: "Selection", display: Display
) -> None:
    from attncli.rendering.weaknesses import weaknesses

    write_lines([weaknesses(problem, selection.digits) for problem in problems], display)


def _assignment(source: str, overrides: "Overrides") -> "Assignment":
    """Return the problems of a file, or the variants of a folder."""
    from attncli.files.assignment import Assignment, load_assignment

    if source != "-" and Path(source).is_dir():
        return load_assignment(source, overrides)
    return Assignment(_problems(source, overrides))


def _problems(source: str, overrides: "Overrides") -> "list[Problem]":
    """Return the problems of a file; if one is wrong, print why and end the command."""
    run = Run([source], overrides, keep_going=True)
    problems = list(run.problems())
    if run.failed:
        raise typer.Exit(BAD_INPUT)
    return problems


def _headings(flags: list[str]) -> dict[str, str]:
    if not flags:
        return {}
    from attncli.files.headings import read_headings

    return dict(read_headings(flags))


class Outcome:
    """The exit status of a command that checks answers."""

    def __init__(self) -> None:
        self.status = 0
        self._printed: set[str] = set()

    def watched(self, students: Iterable["Student"]) -> Iterator["Student"]:
        """Yield the students, set the status, and print why a submission could not be read.

        What is wrong with the heading of a table is printed once, not for each student.
        """
        from attncli.files.grading import Unread

        for student in students:
            for one in student:
                if isinstance(one, Unread):
                    self.status = BAD_INPUT
                    faults = [f for f in one.error.faults if str(f) not in self._printed]
                    self._printed.update(map(str, faults))
                    if faults:
                        shared.complain(InputError(*faults))
                elif one.verdict != "correct":
                    self.status = self.status or WRONG_ANSWER
            yield student
