"""`attn new` and `attn vary`: a problem file to start from, and problems like it for a class."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer
from typer import Option

from attncli.cli import options
from attncli.cli.options import prepare
from attncli.cli.output import counted, quoted, tell, tell_written, write_bytes
from attncli.cli.targets import Targets, is_many
from attncli.cli.terminal import DisplayFlags, write_lines
from attncli.core.errors import KeyPath, Place, fail, located
from attncli.core.records import replace
from attncli.core.text.strings import visible

if TYPE_CHECKING:
    from attncli.classroom.variants import Summary, Variant
    from attncli.core.calculation.trace import Trace
    from attncli.core.problem.problem import Problem
    from attncli.reading.load import Overrides


SUFFIXES_OF_NEW = (".yaml", ".yml", "")
QUESTION_MARKS_HELP = "Write ? in place of each number."
WIDTH_OPTIONS = ("d_model", "d_k", "d_v")
KEYS_OF_NEW = options.key_flags(
    "kind", "tokens", "memory_tokens", "heads", "kv_heads", "score", "mask"
)


def new(
    ctx: typer.Context,
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="A new YAML file; without it, print.")
    ] = None,
    *,
    keys: Annotated[options.TextsByKey, KEYS_OF_NEW],
    set_: options.SetFlag = None,
    d_model: Annotated[str | None, Option(metavar="N", help="How wide X is.")] = None,
    d_k: Annotated[str | None, Option(metavar="N", help="How wide a head's keys are.")] = None,
    d_v: Annotated[str | None, Option(metavar="N", help="How wide a head's values are.")] = None,
    blank: Annotated[bool, options.blanks("--blank", help=QUESTION_MARKS_HELP)] = False,
) -> None:
    file = None if str(file) == "-" else file
    if file is not None and file.suffix.lower() not in SUFFIXES_OF_NEW:
        message = f"a new problem is written in YAML, and {visible(str(file))} has another suffix"
        raise fail(message, hint=f"name it {visible(str(file.with_suffix('.yaml')))}")
    prepare([])
    from attncli.core.drawing.new_problem import start
    from attncli.printing.worksheet import problem_file
    from attncli.reading.load import flag_of, flag_value

    texts = options.with_settings(keys, set_)
    flags = {name: f"--{name.replace('_', '-')}" for name in WIDTH_OPTIONS}
    flags |= {key: flag_of(key) for key in texts}
    widths = {key: ctx.params[key] for key in WIDTH_OPTIONS if ctx.params[key] is not None}
    with located(partial(_flag_of, flags)):
        values = {key: flag_value(key, text) for key, text in texts.items()}
        problem = start(values, widths)
    write_bytes([problem_file(problem, blank).encode()], file, overwrite=False)
    if file is not None:
        fill = "write a number in the place of each ?, then run" if blank else "next"
        tell_written([file], f"{fill}: attn compute {quoted(file)}")
        if not blank:
            tell("its numbers are examples; attn new --blank writes a ? in the place of each")


Variants: TypeAlias = "Sequence[Variant]"
"""The variants of one student: one of each problem."""

UNFAIR = 1
"""The exit status if a variant hides what others show."""

FLAG_OF_ARGUMENT = {"count": "-n", "seed": "--seed", "values": "--values"}
"""The flags of the arguments of `classroom.variants.vary`."""

SEPARATOR = "---\n"

VALUES_HELP = """What numbers may be: -2..3, '-1..1 by 0.5' or 0,1,2; by default, for each matrix,
from its least to its largest number in the step that they share."""
ROSTER_HELP = "One variant for each student: a CSV with a column Name, or one name per line."
KEY_HELP = "Write the solutions, too, to the folder keys/ beside them."
FILES_HELP = """FOLDER/, or a pattern as in '{student}.yaml' or 'hw{number}.yaml': a file for each
variant. One file, or none, holds them all, separated by lines of ---."""
COUNT_HELP = "How many variants; by default 1."
SEED_HELP = "Of the random numbers; the same one gives the same files."
ASK_HELP = "The steps in which mistakes must show; by default all."
SHOWN_DIGITS = "Digits in which mistakes must show; by default 2."
ASKED_FLAGS = options.marking_flags(ask=ASK_HELP, decimals_asked=SHOWN_DIGITS)
SUMMARY_FORMATS = "Format of the summary at the end: table or json."


def vary(
    problem: Annotated[str, typer.Argument(metavar="INPUT", help="The given problem; - reads it.")],
    *,
    count: Annotated[
        str | None, options.variants("--count", "-n", metavar="N", help=COUNT_HELP)
    ] = None,
    seed: Annotated[str, options.variants(metavar="N", help=SEED_HELP)] = "0",
    values: Annotated[str | None, options.variants(metavar="VALUES", help=VALUES_HELP)] = None,
    roster: Annotated[
        str | None, options.variants("--for", metavar="FILE", help=ROSTER_HELP)
    ] = None,
    asked: Annotated[options.TextsByKey, ASKED_FLAGS],
    key: Annotated[bool, options.variants("--key", help=KEY_HELP)] = False,
    out: Annotated[str | None, options.out(help=FILES_HELP)] = None,
    format_: Annotated[str | None, options.format_(help=SUMMARY_FORMATS)] = None,
    settings: options.SettingFlags,
    display: DisplayFlags,
    workers: options.WorkerFlags,
) -> None:
    _refuse_conflicts(out, key, format_, roster, count)
    if problem == roster == "-":
        raise fail("standard input cannot be the problem and the roster", hint="name a file")
    options.prepare([problem] if roster is None else [problem, roster], out, jobs=workers.jobs)
    from attncli.classroom.name_index import read_roster
    from attncli.classroom.variants import Summary, summaries_as_json, summary_lines
    from attncli.core.numbers.written import to_count
    from attncli.printing.layout import plain

    people = [] if roster is None else read_roster(roster, options.standard_input()).people
    problems = read_problems(problem, settings.overrides(asked))
    with located(partial(_flag_of, FLAG_OF_ARGUMENT)):
        wanted = len(people) or to_count(1 if count is None else count, ("count",))
        start = to_count(seed, ("seed",), None)
    students = [person.name for person in people] or [""] * wanted
    paths = _paths(out, students, problems[0].title)
    sets = drawn(problems, students, start, values, workers, prints=out is None)
    written = _write(sets, paths, out, start, key)
    files = [str(path or "") for path in paths]
    summaries = [Summary(start, variants, files) for variants in zip(*written, strict=True)]
    if format_ == "json":
        write_bytes([summaries_as_json(summaries)], None)
    elif out is None:
        tell(b"".join(plain(map(summary_lines, summaries))).decode().rstrip("\n"))
    else:
        write_lines(map(summary_lines, summaries), display)
    if out is not None:
        written_to = [path or Path(out) for path in paths]
        tell_written(written_to, _next_step(written_to[0], is_many(out)))
    raise typer.Exit(tell_unfair(summaries))


def tell_unfair(summaries: Sequence["Summary"]) -> int:
    """Say how many variants are not fair, if any are; return the exit status."""
    unfair = sum(len(one.unfair) for one in summaries)
    if unfair:
        count = sum(len(one.variants) for one in summaries)
        few = f"{unfair} of {count} variants are not as fair as could be"
        tell(f"{few}: another --seed, or more --values, may help")
    return UNFAIR if unfair else 0


def _flag_of(flags: Mapping[str, str], path: KeyPath) -> Place:
    key = str((*path, "")[0])
    return Place(flags.get(key, ""), key=key)


def read_problems(source: str, overrides: "Overrides") -> list["Problem"]:
    from attncli.reading.load import load_all

    if source == "-":
        options.wait_for("a problem")
    problems = load_all(source, overrides, options.standard_input())
    if len(problems) < 2:
        return problems
    return [one.with_texts(problem=str(number)) for number, one in enumerate(problems, 1)]


def drawn(
    problems: Sequence["Problem"],
    students: Sequence[str],
    seed: int,
    values: str | None,
    workers: options.Workers,
    prints: bool = False,
) -> Iterator["Variants"]:
    """Return the variants of each student, whose name may be "", as they are drawn."""
    from attncli.classroom.variants import vary_all

    with located(partial(_flag_of, FLAG_OF_ARGUMENT)):
        every = vary_all(problems, len(students), seed, values, workers.pool())
    pairs = zip(counted(every, "variants", prints), students, strict=True)
    return ([_named(one, student) for one in variants] for variants, student in pairs)


def _named(variant: "Variant", student: str) -> "Variant":
    problem = variant.problem.with_texts(student=student)
    return replace(variant, problem=problem, trace=replace(variant.trace, problem=problem))


def _refuse_conflicts(
    out: str | None, key: bool, format_: str | None, roster: str | None, count: str | None
) -> None:
    if format_ not in (None, "table", "json"):
        raise fail("the summary of variants is a table or json", hint="use -f table or -f json")
    if out is None and (key or format_ == "json"):
        flag = "--key" if key else "-f json"
        raise fail(f"{flag} needs files: the variants go to standard output", hint="use -o FOLDER/")
    if roster is not None and count is not None:
        raise fail("-n and --for both say how many variants there are", hint="leave out -n")


def _paths(out: str | None, students: Sequence[str], title: str) -> list[Path | None]:
    """Return the file of each variant; None if they share a file, or standard output."""
    if out is None or not is_many(out):
        return [None] * len(students)
    digits = max(2, len(str(len(students))))
    name = "{student}" if any(students) else f"{{number:0{digits}}}"
    targets = Targets(out, "variants", ".yaml", name)
    numbered = enumerate(students, 1)
    return [targets.path(n, {"student": student, "title": title}) for n, student in numbered]


def problem_texts(variants: "Iterable[Variant]", seed: int) -> Iterator[str]:
    from attncli.printing.worksheet import problem_file

    return (problem_file(one.problem, above=f"seed {seed}") for one in variants)


def solutions(variants: "Iterable[Variant]", seed: int) -> Iterator[str]:
    from attncli.printing.worksheet import answer_sheet

    above = f"solutions, seed {seed}"
    return (answer_sheet(one.problem, one.trace, above) for one in variants)


def _write(
    sets: Iterable["Variants"], paths: Sequence[Path | None], out: str | None, seed: int, key: bool
) -> list["Variants"]:
    """Write each student's variants, and their solutions, to a file, or all to one; return them.

    Files of pages, by their suffix, such as `.xlsx`, are worksheets; others hold the problems.
    """
    from attncli.formats import FORMATS
    from attncli.printing.selection import WorksheetSelection, pieces
    from attncli.reading.folders import SOLUTIONS

    written = list["Variants"]()

    def problems(sets: Iterable["Variants"]) -> Iterator[str]:
        for variants in sets:
            written.append(variants)
            yield from problem_texts(variants, seed)

    def traces(sets: Iterable["Variants"]) -> Iterator["Trace"]:
        for variants in sets:
            written.append(variants)
            yield from (one.trace for one in variants)

    one_file = None if out is None else Path(out)
    groups = zip(paths, ([one] for one in sets), strict=True) if any(paths) else [(one_file, sets)]
    for path, group in groups:
        first = len(written)
        if page := _page_format(path):
            row = FORMATS[page]
            sheet = row.writer("worksheets")(traces(group), WorksheetSelection())
            write_bytes(sheet, path, row.binary)
        else:
            write_bytes(pieces(problems(group), SEPARATOR), path)
        if key and path is not None:
            sheets = solutions(chain.from_iterable(written[first:]), seed)
            name = path.with_suffix(".yaml").name if page else path.name
            write_bytes(pieces(sheets, SEPARATOR), path.parent / SOLUTIONS / name)
    return written


def _next_step(path: Path, is_folder: bool) -> str:
    place = quoted(path.parent) + "/" if is_folder else quoted(path)
    if _page_format(path):
        return f"fill {place} in for attn check"
    return f"next: attn worksheet {place} -f html -o pages/"


def _page_format(path: Path | None) -> str | None:
    """Return the format of worksheets that a file's suffix names, if it is one for reading."""
    from attncli.formats import FORMATS, format_of_file

    name = None if path is None else format_of_file(path.name, "worksheets")
    return name if name and FORMATS[name].is_page else None
