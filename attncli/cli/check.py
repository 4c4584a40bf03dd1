"""`attn check`: hand-worked answers against the right ones."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from attncli.cli import dumps, options, output, targets
from attncli.cli.options import WordList
from attncli.cli.run import Run
from attncli.cli.terminal import Display, DisplayFlags, terminal_width, write_lines
from attncli.core.errors import InputError, fail
from attncli.core.records import Record, replace
from attncli.core.text.strings import alike, safe, visible

if TYPE_CHECKING:
    from attncli.classroom.assignment import Assignment
    from attncli.classroom.class_page import StudentRow
    from attncli.classroom.grading import Grading, Student
    from attncli.classroom.name_index import Roster
    from attncli.core.jobs import Pool
    from attncli.core.problem.problem import Problem
    from attncli.formats import Write
    from attncli.printing.class_report import Tally
    from attncli.printing.selection import ReportSelection
    from attncli.reading.load import Overrides

PROBLEM_HELP = """The problem, or several; - reads it. A folder: a variant for each student. Arrays
of steps alone: a reference."""
ANSWERS_HELP = """Hand-worked matrices by step name: files, tables of a class, folders, zip files;
by default INPUT's key answers."""
MATRIX_HELP = """A step's name gives its answer (Q, K, V and scores too), any other key a matrix of
the problem."""
STRICT_HELP = "Count numbers off in the last digit, or rounded early, as wrong."
MAP_HELP = "What a column of a class's table holds, or a file of such pairs."
CLASS_HELP = "The class: a CSV with names, numbers, addresses, or one name per line."
MANIFEST_HELP = """Whose each file is: written where FILE does not exist, without marking; followed
where it does."""
UNSEEN_HELP = "List mistakes and slips that this problem cannot show."
REPORT_FORMATS = "table, json, csv, tsv, markdown, html or gradescope."
REPORTS_HELP = options.OUT_HELP.format("{student}.html", "student")
FEEDBACK_HELP = "Write a page for each student, and one of the class."
TOTALS_HELP = "One row per student with the points of each problem: CSV or TSV."
SOLUTION_HELP = "Show students the right numbers, too."
REFERENCE_HELP = "Arrays of a program, with which those of INPUT and ANSWERS are compared."
VERBOSE_HELP = "Show five wrong numbers of each array from a program."

CLASS_PAGE = "index.html"

ANSWER_SHEET = "answers.yaml"
"""The name of a file of answers in messages."""

MapFlag = Annotated[WordList, options.more("--map", metavar="HEADING=CELL", help=MAP_HELP)]


class Destination(Record):
    """Files that reports are written to, with their format."""

    format: str
    selection: "ReportSelection"
    out: str | None  # a file, or a folder or pattern of files
    feedback: str | None  # the folder of a page for each student
    display: Display


class ClassFiles(Record):
    """The flags of a class: headings of its table, its roster, and the manifest of its files."""

    map_: MapFlag = None
    roster: Annotated[str | None, options.marking("--for", metavar="FILE", help=CLASS_HELP)] = None
    manifest: Annotated[str | None, options.more(metavar="FILE", help=MANIFEST_HELP)] = None

    @property
    def people(self) -> "Roster | None":
        from attncli.classroom.name_index import read_roster

        return None if self.roster is None else read_roster(self.roster, options.standard_input())


def _selection(
    solution: Annotated[bool, options.content("--solution", help=SOLUTION_HELP)] = False,
    full: options.Full = False,
    verbose: Annotated[bool, options.more("--verbose", help=VERBOSE_HELP)] = False,
) -> "ReportSelection":
    from attncli.printing.selection import ReportSelection

    return ReportSelection(full=full, solution=solution, verbose=verbose)


def check(
    problem: Annotated[str, typer.Argument(metavar="INPUT", help=PROBLEM_HELP)],
    answers: Annotated[WordList, typer.Argument(metavar="[ANSWERS]...", help=ANSWERS_HELP)] = None,
    *,
    matrix: Annotated[WordList, options.matrix(help=MATRIX_HELP)] = None,
    strict: Annotated[bool, options.marking("--strict", help=STRICT_HELP)] = False,
    asked: Annotated[options.TextsByKey, options.marking_flags()],
    reference: Annotated[str | None, options.more(metavar="FILE", help=REFERENCE_HELP)] = None,
    of_class: Annotated[ClassFiles, options.FlagGroup(ClassFiles)],
    problem_only: Annotated[bool, options.content("--problem-only", help=UNSEEN_HELP)] = False,
    format_: Annotated[str | None, options.format_(help=REPORT_FORMATS)] = None,
    out: Annotated[str | None, options.out(help=REPORTS_HELP)] = None,
    feedback: Annotated[str | None, options.output(metavar="FOLDER", help=FEEDBACK_HELP)] = None,
    selection: Annotated[Any, options.FlagGroup(_selection)],
    decimals: Annotated[int | None, options.decimals(help="Digits of the right numbers.")] = None,
    settings: options.SettingFlags,
    totals: Annotated[bool, options.output("--totals", help=TOTALS_HELP)] = False,
    quiet: Annotated[bool, options.quiet(help="Only the verdict.")] = False,
    display: DisplayFlags,
    workers: options.WorkerFlags,
) -> None:
    sources = list(answers or ())
    matrices = options.matrix_flags(matrix, "weights=w.csv")
    files = [problem, *sources, *filter(None, [reference]), *(file for _, file in matrices)]
    options.prepare(files, out, feedback, of_class.manifest, jobs=workers.jobs)
    from attncli.classroom.grading import Grading, silent
    from attncli.reading.submissions import for_problem_or_answers, read_headings

    of_problem, of_answers = for_problem_or_answers(options.by_key(matrices))
    overrides = settings.overrides(asked, of_problem)
    format_ = targets.format_name("reports", format_, out)
    selection = replace(selection, decimals=decimals, quiet=quiet)
    if problem_only:
        is_more = format_ != "table" or out is not None or sources or of_answers
        return _print_weaknesses(problem, overrides, selection.digits, display, bool(is_more))
    if reference is not None or dumps.is_dump(problem, sources):
        others = {"matrix": matrix, "strict": strict, "totals": totals, "feedback": feedback}
        dumps.refuse_flags_of_answers({**settings.keys, **asked}, others | vars(of_class), format_)
        each = dumps.each_dump(reference, [problem, *sources], asked, settings.allow_outside)
        raise typer.Exit(_report(each, False, Destination(format_, selection, out, None, display)))
    assignment = _assignment(problem, overrides)
    _refuse_without_answers(problem, assignment, [*sources, *of_answers, of_class.manifest or ""])
    people = of_class.people
    selection = replace(selection, points=assignment.points, totals=totals)
    if people is not None:
        selection = replace(selection, people=people.people, heads=people.heads)
    grading = Grading(
        assignment=assignment,
        strict=strict,
        stdin=options.standard_input(),
        matrices=of_answers,
        allow_outside=settings.allow_outside,
        headings=read_headings(of_class.map_ or ()),
        tell=silent if quiet else output.tell,
        with_absent=format_ != "gradescope",  # whose file has the results of one student
        roster=people,
        manifest=of_class.manifest or "",
    )
    target = Destination(format_, selection, out, feedback, display)
    raise typer.Exit(_mark(grading, workers.pool(), sources, target))


def _refuse_without_answers(source: str, assignment: "Assignment", given: list[str]) -> None:
    """End the command, with the ways on, if no file with answers is given, nor any in a problem."""
    if any(given) or source == "-":
        return
    problems = [key.problem for key in assignment.first.keys]
    if len(assignment.names) > 1 or any(one.answers is not None for one in problems):
        return
    file = output.quoted(source)
    output.tell(f"{visible(source)} has no answers to check")
    if Path(ANSWER_SHEET).is_file():
        output.tell(f"  to check those in {ANSWER_SHEET}: attn check {file} {ANSWER_SHEET}")
    else:
        output.tell(f"  to write them down: attn worksheet {file} -o {ANSWER_SHEET}")
        output.tell(f"  to practise in a browser: attn worksheet {file} -o practice.html")
    raise typer.Exit(output.BAD_INPUT)


def _mark(grading: "Grading", pool: "Pool | None", sources: list[str], target: Destination) -> int:
    """Write the reports of all students, or the manifest; return the exit status."""
    if grading.manifest and not Path(grading.manifest).exists():
        _write_manifest(grading, sources, Path(grading.manifest))
        return 0
    if target.selection.totals:
        _refuse_totals(grading.assignment, target)
    if "-" in sources:
        options.wait_for("answers")

    def every(mark: "Mark") -> Iterable[Marked]:
        if pool:
            return grading.parts(sources, pool, mark)
        return map(mark, grading.students(sources))

    return _report(every, pool is not None, target)


def _report(
    every: "Callable[[Mark], Iterable[Marked]]", has_pool: bool, target: Destination
) -> int:
    """Write the reports of all students; return the exit status."""
    from attncli.formats import FORMATS
    from attncli.printing.class_report import Tally

    selection, format_, out = target.selection, target.format, target.out
    prints = not selection.quiet and format_ == "table" and out is None
    has_rows = format_ in ("csv", "tsv", "json") and not (selection.totals or targets.is_many(out))
    # Then the processes of the pool write.
    rows = FORMATS[format_].reports if has_pool and has_rows else None
    marked = every(partial(_marked, selection, rows, target.feedback is not None))
    statuses, tally = {0}, Tally(doubts_key=True)
    graded = _watched(output.counted(marked, "students", prints=prints), statuses, tally)
    if target.feedback is not None:
        graded = _with_pages(graded, Path(target.feedback), tally)
    students: Iterator[Any] = (one.student for one in graded)
    if selection.totals:
        _write_totals(students, target)
    elif format_ == "table" and out is None:
        from attncli.printing.prose import pages
        from attncli.printing.report import groups

        every_one = chain.from_iterable(students)
        write_lines(pages(groups, [every_one], selection, terminal_width()), target.display)
    else:
        write = None if rows is None else lambda parts, selected: chain(rows((), selected), parts)
        targets.write_format("reports", format_, students, selection, out, write)
    if not selection.quiet:
        if target.feedback is not None:
            output.tell_written([Path(target.feedback, CLASS_PAGE)], targets.NEXT_STEPS["html"])
        output.warn(tally.doubts())
    return max(statuses)


def _refuse_totals(assignment: "Assignment", target: Destination) -> None:
    if target.format not in ("csv", "tsv") or targets.is_many(target.out):
        message = "--totals writes one table of the class, as CSV or TSV"
        raise fail(message, hint="use it with -f csv, or -o grades.csv")
    first = assignment.first
    for number, key in enumerate(first.keys):
        if not key.marking.points:
            name = visible(first.title(number)) or "the problem"
            hint = "write such as --points 'weights: 4, output: 3', or the key marking"
            raise fail(f"--totals adds up points, but {name} has none", hint=hint)


def _write_totals(students: Iterable["Student"], target: Destination) -> None:
    from attncli.classroom.grades import totals
    from attncli.printing.csv import TAB

    table, notes = totals(students, target.selection, TAB if target.format == "tsv" else ",")
    output.write_bytes([table.encode()], None if target.out is None else Path(target.out))
    output.warn(notes)


Mark: TypeAlias = "Callable[[Student], Marked]"


class Marked(Record):
    """The reports on a student, and what follows from them; a worker makes all of it."""

    student: "Student | tuple[bytes]"  # or what is written of it
    tally: "Tally"
    errors: tuple[InputError, ...]  # why answers could not be read
    status: int
    page: "tuple[bytes, StudentRow] | None"  # of the student, and its row in that of the class


def _marked(
    selection: "ReportSelection", rows: "Write | None", has_page: bool, student: "Student"
) -> Marked:
    from attncli.printing.class_report import Tally
    from attncli.reading.document import Unread

    page = None
    if has_page:
        from attncli.classroom.class_page import row
        from attncli.pages.report_html import student_page

        page = b"".join(student_page(student, selection)), row(student, "")
    errors = tuple(one.error for one in student if isinstance(one, Unread))
    is_right = all(isinstance(one, Unread) or one.verdict == "correct" for one in student)
    status = output.BAD_INPUT if errors else 0 if is_right else output.WRONG_ANSWER
    tally = Tally(student, doubts_key=True)
    of_student: Student | tuple[bytes] = student
    if rows is not None:
        of_student = (b"".join(rows(student, replace(selection, follows=True))),)
    return Marked(of_student, tally, errors, status, page)


def _watched(students: Iterable[Marked], statuses: set[int], tally: "Tally") -> Iterator[Marked]:
    printed: set[str] = set()  # such as a fault of a table's heading, which all rows share
    for student in students:
        tally.merge(student.tally)
        statuses.add(student.status)
        for error in student.errors:
            faults = [fault for fault in error.faults if str(fault) not in printed]
            printed.update(map(str, faults))
            if faults:
                output.complain(InputError(*faults))
        yield student


def _with_pages(students: Iterable[Marked], folder: Path, tally: "Tally") -> Iterator[Marked]:
    """Yield the students after the page of each is written; then write the page of the class."""
    from attncli.classroom.class_page import class_page

    rows, used = [], {alike(CLASS_PAGE)}
    for student in students:
        assert student.page is not None  # as `_marked` was told to make it
        page, row = student.page
        stem = safe(row.name)
        names = (f"{stem}{number}.html" for number in chain([""], map("-{}".format, count(2))))
        name = next(name for name in names if alike(name) not in used)
        used.add(alike(name))
        output.write_bytes([page], folder / name)
        rows.append(replace(row, page=name))
        yield student
    output.write_bytes(class_page(rows, tally), folder / CLASS_PAGE)


def _assignment(source: str, overrides: "Overrides") -> "Assignment":
    """Return the problems of a file, or of a folder, or the variants in them."""
    from attncli.classroom.assignment import assigned, load_assignment
    from attncli.reading.files import is_folder

    if is_folder(source):
        return load_assignment(source, overrides)
    return assigned({source: _problems(source, overrides)})


def _write_manifest(grading: "Grading", sources: list[str], path: Path) -> None:
    """Write whose each file is; say how many files tell nobody."""
    from attncli.classroom.manifest import OPEN, manifest_text
    from attncli.core.text.strings import count_of

    if not sources:
        raise fail("a manifest is of answers", hint="name the files of answers, or their folder")
    entries = grading.entries(sources)
    output.write_bytes([manifest_text(entries)], path)
    files = [one for one in entries if one.file]
    students = {one.student for one in files} - {""}
    still_open = sum(one.rule.startswith(OPEN) for one in files)
    counts = f"{count_of(len(files), 'file')} of {count_of(len(students), 'student')}"
    said = f"{visible(str(path))} has {counts}"
    if still_open:
        said += f"; {still_open} of them {'is' if still_open == 1 else 'are'} open"
    output.tell(said)
    output.tell("correct it, delete the rows that do not count, and run the same command again")


def _print_weaknesses(
    problem: str, overrides: "Overrides", digits: int, display: Display, is_more: bool
) -> None:
    """Print what a problem cannot show; refuse it beside what is of answers."""
    from attncli.printing.prose import lines
    from attncli.printing.weaknesses import weaknesses

    if is_more:
        raise fail("--problem-only prints a list: it takes no answers, format or file")
    groups = [weaknesses(one, digits) for one in _problems(problem, overrides)]
    write_lines((lines(group, terminal_width()) for group in groups), display)


def _problems(source: str, overrides: "Overrides") -> "list[Problem]":
    """Return the problems of a file; if one is wrong, print why and end the command."""
    run = Run([source], overrides, keep_going=True)
    problems = list(run.problems())
    if run.failed:
        raise typer.Exit(output.BAD_INPUT)
    return problems
