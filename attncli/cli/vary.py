"""`attn vary`: problems like a given one, for a class."""

# No postponed annotations here: typer would evaluate each of them at every start.

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer
from typer import Argument

from attncli.cli import options, shared
from attncli.cli.options import Words
from attncli.cli.output import write_bytes
from attncli.cli.progress import counted, tell
from attncli.cli.targets import Targets, is_many
from attncli.cli.terminal import Display, write_lines
from attncli.errors import Place, fail, located
from attncli.text.escapes import visible
from attncli.text.numbers import DEFAULT_DECIMALS

if TYPE_CHECKING:
    from attncli.files.load import Overrides
    from attncli.problem.problem import Problem
    from attncli.rendering.variants import Summary, VariantRow
    from attncli.teaching.variants import Variant

Contents: TypeAlias = "tuple[Variant, str, bytes, bytes]"
"""A variant, its student or an empty text, its problem file, and its solutions if asked for."""

UNFAIR = 1
"""The exit status if a variant hides what others show."""

FLAGS = {"count": "-n", "seed": "--seed", "values": "--values"}
"""The flags of the arguments of `teaching.variants.vary`."""

SOLUTION_FOLDER = "keys"
"""The folder of the solutions, beside the variants."""

VALUES_HELP = """What numbers may be: -2..3, '-1..1 by 0.5' or 0,1,2; by default, for each matrix,
from its least to its largest number in the step that they share."""
ROSTER_HELP = "One variant for each student: a CSV with a column Name, or one name per line."
KEY_HELP = f"Write the solutions, too, to the folder {SOLUTION_FOLDER}/ beside them."
OUT_HELP = """FOLDER/, or a pattern as in '{student}.yaml' or 'hw{number}.yaml': a file for each
variant. One file, or none, holds them all, separated by lines of ---."""
COUNT_HELP = "How many variants; by default 1."
SEED_HELP = "Of the random numbers; the same one gives the same files."
ASK_HELP = "The steps in which mistakes must show; by default all."
DIGITS_HELP = "Digits in which mistakes must show; by default 2."
FORMAT_HELP = "Format of the summary at the end: table or json."


def vary(
    ctx: typer.Context,
    problem: Annotated[str, Argument(metavar="INPUT", help="The given problem; - reads it.")],
    count: Annotated[
        str | None, options.variants("--count", "-n", metavar="N", help=COUNT_HELP)
    ] = None,
    seed: Annotated[str, options.variants(metavar="N", help=SEED_HELP)] = "0",
    values: Annotated[str | None, options.variants(metavar="VALUES", help=VALUES_HELP)] = None,
    roster: Annotated[
        str | None, options.variants("--for", metavar="FILE", help=ROSTER_HELP)
    ] = None,
    ask: Annotated[Words, options.marking(metavar="STEP[,STEP]", help=ASK_HELP)] = None,
    decimals_asked: Annotated[str | None, options.marking(metavar="N", help=DIGITS_HELP)] = None,
    key: Annotated[bool, options.variants("--key", help=KEY_HELP)] = False,
    out: Annotated[str | None, options.out(help=OUT_HELP)] = None,
    format_: Annotated[str | None, options.format_(help=FORMAT_HELP)] = None,
    allow_outside: options.AllowOutside = False,
    color: options.ColorOption = options.Color.auto,
    theme: options.ThemeOption = options.Theme.auto,
) -> None:
    """Write problems like a given one, in which mistakes show."""
    out = None if out == "-" else out
    _refuse_conflicts(out, key, format_, roster, count)
    if problem == roster == "-":
        raise fail("standard input cannot be the problem and the roster", hint="name a file")
    shared.prepare([name for name in (problem, roster) if name is not None], out)
    from attncli.files.class_lists import read_roster
    from attncli.files.load import Overrides
    from attncli.forms.scalars import to_count
    from attncli.rendering.variants import Summary
    from attncli.teaching.variants import vary as variants_of

    students = [] if roster is None else read_roster(roster, shared.standard_input())
    given = _problem(problem, Overrides(shared.marking_options(ctx), {}, allow_outside))
    with located(lambda path: Place(FLAGS.get(str((*path, "")[0]), ""))):
        wanted = len(students) or to_count(1 if count is None else count, ("count",))
        start = to_count(seed, ("seed",), None)
        variants = variants_of(given, wanted, start, values)
    students = students or [""] * wanted
    paths = _paths(out, students, given.title)
    found = counted(variants, "variants", prints=out is None)
    contents = _contents(found, students, start, key)
    rows = _one_file_each(contents, paths) if paths else _one_file(contents, out)
    summary = Summary(start, rows)
    _print_summary(summary, format_, out, Display(color, theme, pager=False))
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
    """Return the one problem of a file."""
    from attncli.files.load import load_all

    if source == "-":
        shared.wait_for("a problem")
    found = load_all(source, overrides, shared.standard_input())
    if len(found) > 1:
        message = f"{visible(source)} holds {len(found)} problems, and variants are made of one"
        raise fail(message, hint="give a file with one of them")
    return found[0]


def _paths(out: str | None, students: Sequence[str], title: str) -> list[Path]:
    """Return the file of each variant; none if they share a file, or standard output."""
    if out is None or not is_many(out):
        return []
    digits = max(2, len(str(len(students))))
    targets = Targets(
        out, "variants", ".yaml", "{student}" if any(students) else f"{{number:0{digits}}}"
    )
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


def _one_file_each(contents: Iterable[Contents], paths: Sequence[Path]) -> list["VariantRow"]:
    """Write each variant to its own file; return the rows of the summary."""
    from attncli.rendering.variants import VariantRow

    rows: list[VariantRow] = []
    for (variant, student, problem, solution), path in zip(contents, paths, strict=True):
        write_bytes([problem], path)
        if solution:
            write_bytes([solution], path.parent / SOLUTION_FOLDER / path.name)
        rows.append(VariantRow(variant, student, str(path)))
    return rows


def _one_file(contents: Iterable[Contents], out: str | None) -> list["VariantRow"]:
    """Write all variants to one file, or to standard output; return the rows of the summary."""
    from attncli.rendering.variants import VariantRow

    rows: list[VariantRow] = []
    solutions: list[bytes] = []

    def problems() -> Iterator[bytes]:
        for variant, student, problem, solution in contents:
            separator = b"---\n" if rows else b""
            rows.append(VariantRow(variant, student, ""))
            if solution:
                solutions.append(separator + solution)
            yield separator + problem

    path = None if out is None else Path(out)
    write_bytes(problems(), path)
    if path is not None and solutions:
        write_bytes(solutions, path.parent / SOLUTION_FOLDER / path.name)
    return rows


def _print_summary(
    summary: "Summary", format_: str | None, out: str | None, display: Display
) -> None:
    """Print the table of the variants, on standard error if standard output has the variants."""
    from attncli.rendering.layout import plain_text
    from attncli.rendering.variants import record, table

    if format_ == "json":
        write_bytes([record(summary)], None)
    elif out is None:
        tell("\n".join(map(plain_text, table(summary))))
    else:
        write_lines([table(summary)], display)
