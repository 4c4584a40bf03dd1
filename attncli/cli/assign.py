"""`attn assign`: a problem, worksheet and solution for each student of a class, and a quiz."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attncli.cli import options, problems
from attncli.cli.output import quoted, tell, tell_written, write_bytes
from attncli.cli.targets import Targets, format_name
from attncli.cli.terminal import DisplayFlags, write_lines
from attncli.core.errors import Place, fail, located
from attncli.core.text.strings import visible

if TYPE_CHECKING:
    from attncli.cli.problems import Variants

VARIANTS, WORKSHEETS, ANSWERS_FOLDER, QUIZ = "variants", "worksheets", "answers", "quiz.xml"
"""The files and folders of an assignment, beside that of the solutions."""

ASSIGNED_TO_HELP = "The class: a CSV with a column Name, or one name per line."
FOLDER_HELP = "The folder to write to; what is in it stays, and is completed for new students."
WORKSHEET_FORMATS = "Format of the worksheets; markdown has the problem and room for its numbers."


def assign(
    problem: Annotated[
        str, typer.Argument(metavar="INPUT", help="The given problem, or several; - reads it.")
    ],
    *,
    roster: Annotated[
        str | None, options.variants("--for", metavar="FILE", help=ASSIGNED_TO_HELP)
    ] = None,
    seed: Annotated[str, options.variants(metavar="N", help=problems.SEED_HELP)] = "0",
    values: Annotated[
        str | None, options.variants(metavar="VALUES", help=problems.VALUES_HELP)
    ] = None,
    asked: Annotated[options.TextsByKey, problems.ASKED_FLAGS],
    out: Annotated[str | None, options.out(metavar="FOLDER/", help=FOLDER_HELP)] = None,
    format_: Annotated[str, options.format_(help=WORKSHEET_FORMATS)] = "markdown",
    settings: options.SettingFlags,
    display: DisplayFlags,
    workers: options.WorkerFlags,
) -> None:
    if roster is None or out is None:
        flag = "--for roster.csv" if roster is None else "-o FOLDER/"
        raise fail("an assignment is for a class, in a folder", hint=f"add {flag}")
    if problem == roster:
        raise fail("the problem cannot be the roster, too", hint="name two files")
    options.prepare([problem, roster], out, jobs=workers.jobs)
    from attncli.classroom.name_index import read_roster
    from attncli.classroom.variants import Summary, summary_lines
    from attncli.core.numbers.written import to_count

    sheets = format_name("worksheets", format_)
    students = [person.name for person in read_roster(roster, options.standard_input()).people]
    given = problems.read_problems(problem, settings.overrides(asked))
    with located(lambda _: Place("--seed", key="seed")):
        start = to_count(seed, ("seed",), None)
    sets = [*problems.drawn(given, students, start, values, workers)]
    folder = Path(out)
    files = dict(_files(folder, sets, start, sheets))
    _refuse_other_variants(files, folder / VARIANTS)
    written = [path for path in files if path.name == QUIZ or not path.exists()]
    for path in written:
        write_bytes([files[path]], path)
    (folder / ANSWERS_FOLDER).mkdir(exist_ok=True)
    summaries = [Summary(start, variants, ()) for variants in zip(*sets, strict=True)]
    write_lines(map(summary_lines, summaries), display)
    status = problems.tell_unfair(summaries)
    if len(written) < len(files):
        tell(f"{len(files) - len(written)} files were there already, and stay as they are")
    sheets_folder, quiz = quoted(f"{folder / WORKSHEETS}/"), quoted(folder / QUIZ)
    tell_written(written, f"hand out {sheets_folder}, or import {quiz} into Moodle")
    command = ["attn", "check", *(f"{folder / name}/" for name in (VARIANTS, ANSWERS_FOLDER))]
    command += [] if roster == "-" else ["--for", roster]
    command += ["-o", str(folder / "grades.csv"), "--feedback", f"{folder / 'feedback'}/"]
    tell(f"put what comes back into {quoted(command[3])}, then: {' '.join(map(quoted, command))}")
    raise typer.Exit(status)


def _files(
    folder: Path, sets: Sequence["Variants"], seed: int, sheets: str
) -> Iterator[tuple[Path, bytes]]:
    """Yield each file of an assignment, with what is written into it."""
    from attncli.formats import FORMATS
    from attncli.printing.selection import WorksheetSelection, pieces
    from attncli.reading.folders import SOLUTIONS

    selection = WorksheetSelection(full=True, standalone=sheets == "latex")
    row, separator = FORMATS[sheets], problems.SEPARATOR
    targets = Targets("./", "variants", "", "{student}")
    for number, variants in enumerate(sets, 1):
        name = targets.path(number, {"student": variants[0].problem.student}).name
        traces = [one.trace for one in variants]
        texts = pieces(problems.problem_texts(variants, seed), separator)
        keys = pieces(problems.solutions(variants, seed), separator)
        sheet = row.writer("worksheets")(traces, selection)
        yield folder / VARIANTS / f"{name}.yaml", b"".join(texts)
        yield folder / SOLUTIONS / f"{name}.yaml", b"".join(keys)
        yield folder / WORKSHEETS / f"{name}{row.suffixes[0]}", b"".join(sheet)
    every = (one.trace for variants in sets for one in variants)
    yield folder / QUIZ, b"".join(FORMATS["moodle"].writer("worksheets")(every, selection))


def _refuse_other_variants(files: Mapping[Path, bytes], folder: Path) -> None:
    """Refuse to complete an assignment with variants that are not those of its other files."""
    for path, data in files.items():
        if path.parent == folder and path.is_file() and path.read_bytes() != data:
            message = f"{visible(str(path))} is there already, and is another variant"
            hint = "name another folder; or add new students at the end of the roster"
            raise fail(message, hint=hint)
