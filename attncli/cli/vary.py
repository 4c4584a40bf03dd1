"""`attn vary`: problems like a given one, for a class."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from attncli.cli import options, run
from attncli.cli.options import WordList
from attncli.cli.output import counted, tell, write_bytes
from attncli.cli.targets import Targets, is_many
from attncli.cli.terminal import Display, write_lines
from attncli.errors import Place, fail, located
from attncli.text.escapes import visible
from attncli.text.numbers import DEFAULT_DECIMALS

if TYPE_CHECKING:
    from attncli.files.load import Overrides
    from attncli.problem.problem import Problem
    from attncli.rendering.variants import VariantRow
    from attncli.teaching.variants import Variant

Contents: TypeAlias = "tuple[Variant, str, bytes, bytes]"
"""A variant, its student or an empty text, its problem file, and its solutions if asked for."""

UNFAIR = 1
"""The exit status if a variant hides what others show."""

FLAG_OF_ARGUMENT = {"count": "-n", "seed": "--seed", "values": "--values"}
"""The flags of the arguments of `teaching.variants.vary`."""

SOLUTION_FOLDER = "keys"
"""The folder of the solutions, beside the variants."""

VALUES_HELP = """What numbers may be: -2..3, '-1..1 by 0.5' or 0,1,2; by default, for each matrix,
from its least to its largest number in the step that they share."""
ROSTER_HELP = "One variant for each student: a CSV with a column Name, or one name per line."
KEY_HELP = f"Write the solutions, too, to the folder {SOLUTION_FOLDER}/ beside them."
FILES_HELP = """FOLDER/, or a pattern as in '{student}.yaml' or 'hw{number}.yaml': a file for each
variant. One file, or none, holds them all, separated by lines of ---."""
COUNT_HELP = "How many variants; by default 1."
SEED_HELP = "Of the random numbers; the same one gives the same files."
ASK_HELP = "The steps in which mistakes must show; by default all."
SHOWN_DIGITS = "Digits in which mistakes must show; by default 2."
SUMMARY_FORMATS = "Format of the summary at the end: table or json."


def vary(
    ctx: typer.Context,
    problem: Annotated[str, typer.Argument(metavar="INPUT", help="The given problem; - reads it.")],
    count: Annotated[
        str | None, options.variants("--count", "-n", metavar="N", help=COUNT_HELP)
    ] = None,
    seed: Annotated[str, options.variants(metavar="N", help=SEED_HELP)] = "0",
    values: Annotated[str | None, options.variants(metavar="VALUES", help=VALUES_HELP)] = None,
    roster: Annotated[
        str | None, options.variants("--for", metavar="FILE", help=ROSTER_HELP)
    ] = None,
    ask: Annotated[WordList, options.marking(metavar="STEP[,STEP]", help=ASK_HELP)] = None,
    decimals_asked: Annotated[str | None, options.marking(metavar="N", help=SHOWN_DIGITS)] = None,
    key: Annotated[bool, options.variants("--key", help=KEY_HELP)] = False,
    out: Annotated[str | None, options.out(help=FILES_HELP)] = None,
    format_: Annotated[str | None, options.format_(help=SUMMARY_FORMATS)] = None,
    allow_outside: options.AllowOutside = False,
    color: options.ColorOption = "auto",
    theme: options.ThemeOption = "auto",
) -> None:
    _refuse_conflicts(out, key, format_, roster, count)
    if problem == roster == "-":
        raise fail("standard input cannot be the problem and the roster", hint="name a file")
    run.prepare([name for name in (problem, roster) if name is not None], out)
    from attncli.files.load import Overrides
    from attncli.files.roster import read_roster
    from attncli.forms.scalars import to_count
    from attncli.rendering.layout import plain_text
    from attncli.rendering.variants import Summary, record, table
    from attncli.teaching.variants import vary as variants_of

    people = [] if roster is None else read_roster(roster, run.standard_input()).people
    students = [person.name for person in people]
    given = _problem(problem, Overrides(run.marking_options(ctx), {}, allow_outside))
    with located(lambda path: Place(FLAG_OF_ARGUMENT.get(str((*path, "")[0]), ""))):
        wanted = len(students) or to_count(1 if count is None else count, ("count",))
        start = to_count(seed, ("seed",), None)
        variants = variants_of(given, wanted, start, values)
    students = students or [""] * wanted
    paths = _paths(out, students, given.title)
    found = counted(variants, "variants", prints=out is None)
    contents = _contents(found, students, start, key)
    summary = Summary(start, _write(contents, paths, out))
    if format_ == "json":
        write_bytes([record(summary)], None)
    elif out is None:
        tell("\n".join(map(plain_text, table(summary))))
    else:
        write_lines([table(summary)], Display(color, theme, pager=False))
    if summary.unfair:
        few = f"{len(summary.unfair)} of {wanted} variants are not as fair as could be"
        tell(f"{few}: another --seed, or more --values, may help")
        raise typer.Exit(UNFAIR)


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


def _problem(source: str, overrides: "Overrides") -> "Problem":
    from attncli.files.load import load_all

    if source == "-":
        run.wait_for("a problem")
    found = load_all(source, overrides, run.standard_input())
    if len(found) > 1:
        message = f"{visible(source)} holds {len(found)} problems, and variants are made of one"
        raise fail(message, hint="give a file with one of them")
    return found[0]


def _paths(out: str | None, students: Sequence[str], title: str) -> list[Path]:
    """Return the file of each variant; none if they share a file, or standard output."""
    if out is None or not is_many(out):
        return []
    digits = max(2, len(str(len(students))))
    name = "{student}" if any(students) else f"{{number:0{digits}}}"
    targets = Targets(out, "variants", ".yaml", name)
    numbered = enumerate(students, 1)
    return [targets.path(n, {"student": student, "title": title}) for n, student in numbered]


def _contents(
    variants: Iterable["Variant"], students: Sequence[str], seed: int, key: bool
) -> Iterator[Contents]:
    from attncli.rendering.problem_file import problem_file
    from attncli.rendering.worksheet import answer_sheet

    for variant, student in zip(variants, students, strict=True):
        name = f"{visible(student)}: " if student else ""
        comment = f"{name}variant {variant.number}, seed {seed}"
        problem = problem_file(variant.problem, above=comment)
        decimals = variant.problem.marking.decimals
        digits = DEFAULT_DECIMALS if decimals is None else decimals
        solution = answer_sheet(variant.trace, digits, f"solutions: {comment}") if key else b""
        yield variant, student, problem, solution


def _write(
    contents: Iterable[Contents], paths: Sequence[Path], out: str | None
) -> list["VariantRow"]:
    """Write each variant to its path, or all to one file; return the rows of the summary."""
    rows: list[VariantRow] = []
    one_file = None if out is None else Path(out)
    of_each = zip(paths, ([one] for one in contents), strict=True)
    for path, variants in of_each if paths else [(one_file, contents)]:
        solutions: list[bytes] = []
        file = str(path) if paths else ""
        write_bytes(_problems(variants, file, rows, solutions), path)
        if path is not None and any(solutions):
            write_bytes(solutions, path.parent / SOLUTION_FOLDER / path.name)
    return rows


def _problems(
    contents: Iterable[Contents], file: str, rows: list["VariantRow"], solutions: list[bytes]
) -> Iterator[bytes]:
    """Yield the problems of a file; add rows of the summary and solutions to lists."""
    from attncli.rendering.variants import VariantRow

    for number, (variant, student, problem, solution) in enumerate(contents):
        separator = b"---\n" if number else b""
        rows.append(VariantRow(variant, student, file))
        solutions.append(separator + solution if solution else b"")
        yield separator + problem
