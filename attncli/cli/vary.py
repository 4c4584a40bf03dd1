"""`attn vary`: problems like a given one, for a class."""

# No postponed annotations here: typer would evaluate each of them at every start.

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from attncli.cli import shared
from attncli.cli.progress import counted, tell
from attncli.cli.targets import Targets, is_many
from attncli.cli.terminal import Color, Display, Theme, write_bytes, write_lines
from attncli.errors import Place, fail, located
from attncli.text.escapes import visible

if TYPE_CHECKING:
    from attncli.problem.problem import Problem
    from attncli.rendering.variants import VariantRow
    from attncli.teaching.variants import Variant

UNFAIR = 1
"""The exit status where a variant hides what others show."""

FLAGS = {"count": "-n", "seed": "--seed", "values": "--values"}
"""The flags by what they set."""

DEFAULT_DECIMALS = 4
"""The digits of the solutions where none are asked for."""

KEYS = "keys"
"""The folder of the solutions, beside the variants."""


def vary(
    problem: Annotated[str, Argument(metavar="INPUT", help="The given problem; - reads it.")],
    count: Annotated[
        str | None, Option("--count", "-n", metavar="N", help="How many variants; by default 1.")
    ] = None,
    seed: Annotated[str, Option(metavar="N", help="The same one gives the same files.")] = "0",
    values: Annotated[
        str | None,
        Option(
            metavar="VALUES",
            help="What numbers may be: -2..3, '-1..1 by 0.5' or 0,1,2; by default, for each "
            "matrix, from its least to its largest number in the step that they share.",
        ),
    ] = None,
    roster: Annotated[
        str | None,
        Option(
            "--for",
            metavar="FILE",
            help="One variant for each student: a CSV with a column Name, or one name a line.",
        ),
    ] = None,
    ask: Annotated[
        shared.Words,
        Option(metavar="STEP[,STEP]", help="The steps in which mistakes must show; else all."),
    ] = None,
    decimals_asked: Annotated[
        str | None, Option(metavar="N", help="The digits in which they must; by default 2.")
    ] = None,
    key: Annotated[
        bool, Option("--key", help=f"Write the solutions, too, to the folder {KEYS}/ beside them.")
    ] = False,
    out: Annotated[
        str | None,
        Option(
            "--out",
            "-o",
            metavar="FILE",
            help="FOLDER/, or a pattern as in '{student}.yaml' or 'hw{number}.yaml': a file for "
            "each variant. One file, or none, holds them all, parted by lines of ---.",
        ),
    ] = None,
    format_: Annotated[
        str | None, Option("--format", "-f", help="Of what is said at the end: table or json.")
    ] = None,
    allow_outside: shared.AllowOutside = False,
    color: shared.Colour = Color.auto,
    theme: shared.Background = Theme.auto,
) -> None:
    """Write problems like a given one, in which mistakes show."""
    out = None if out == "-" else out
    if format_ not in (None, "table", "json"):
        raise fail("what is said of variants is a table or json", hint="use -f table or -f json")
    if out is None and (key or format_ == "json"):
        flag = "--key" if key else "-f json"
        raise fail(f"{flag} needs files: the variants go to standard output", hint="use -o FOLDER/")
    if roster is not None and count is not None:
        raise fail("-n and --for both say how many variants there are", hint="leave out -n")
    if problem == roster == "-":
        raise fail("standard input cannot be the problem and the roster", hint="name a file")
    shared.prepare([name for name in (problem, roster) if name is not None], out)
    from attncli.files.roster import read_roster
    from attncli.forms.matrices import to_count
    from attncli.rendering.layout import plain_text
    from attncli.rendering.variants import Summary, record, table
    from attncli.teaching.variants import vary as variants_of

    students = [] if roster is None else read_roster(roster, shared.standard_input())
    asked = ",".join(ask) if ask else None
    given = _problem(problem, asked, decimals_asked, allow_outside)
    with located(lambda path: Place(FLAGS.get(str((*path, "")[0]), ""))):
        wanted = len(students) or to_count(1 if count is None else count, ("count",))
        start = to_count(seed, ("seed",), None)
        found = variants_of(given, wanted, start, values)
    files = Files(out, key, start, students or [""] * wanted, given.title)
    rows = [*files.write(counted(found, "variants", prints=out is None))]
    summary = Summary(start, rows)
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


def _problem(source: str, ask: str | None, decimals: str | None, outside: bool) -> "Problem":
    """Return the one problem of a file, with what is asked."""
    from attncli.files.load import Overrides, load_all

    asked = {"marking.ask": ask, "marking.decimals": decimals}
    flags = {name: text for name, text in asked.items() if text is not None}
    if source == "-":
        shared.wait_for("a problem")
    found = load_all(source, Overrides(flags, {}, outside), shared.standard_input())
    if len(found) > 1:
        message = f"{visible(source)} holds {len(found)} problems, and variants are made of one"
        raise fail(message, hint="give a file with one of them")
    return found[0]


class Files:
    """Where variants and their solutions are written.

    Args:
        out: a folder or a pattern, for a file each; a file for all; None for standard output.
        key: whether solutions are written, to a folder beside the variants.
        seed: of the variants.
        students: the student of each, or nothing.
        title: of the given problem.
    """

    def __init__(
        self, out: str | None, key: bool, seed: int, students: Sequence[str], title: str
    ) -> None:
        self._out = None if out is None else Path(out)
        self._key = key
        self._seed = seed
        self._students = students
        self._paths: list[Path] = []
        if out is not None and is_many(out):
            named = (
                "{student}" if any(students) else f"{{number:0{max(2, len(str(len(students))))}}}"
            )
            targets = Targets(out, "variants", ".yaml", named)
            self._paths = [
                targets.path(number, {"student": student, "title": title})
                for number, student in enumerate(students, 1)
            ]

    def write(self, variants: Iterable["Variant"]) -> Iterator["VariantRow"]:
        """Write every variant, and yield what is said of it."""
        from attncli.rendering.variants import row_of

        if self._paths:
            for variant, student, path in zip(variants, self._students, self._paths, strict=True):
                self._write(
                    path, [self._problem(variant, student)], [self._sheet(variant, student)]
                )
                yield row_of(variant, student, str(path))
            return
        rows: list[VariantRow] = []
        sheets: list[bytes] = []

        def problems() -> Iterator[bytes]:
            for variant, student in zip(variants, self._students, strict=True):
                parted = b"---\n" if rows else b""
                rows.append(row_of(variant, student, ""))
                sheets.append(parted + self._sheet(variant, student))
                yield parted + self._problem(variant, student)

        self._write(self._out, problems(), sheets)
        yield from rows

    def _write(self, path: Path | None, problems: Iterable[bytes], sheets: Iterable[bytes]) -> None:
        write_bytes(problems, path)
        if self._key and path is not None:
            write_bytes(sheets, path.parent / KEYS / path.name)

    def _problem(self, variant: "Variant", student: str) -> bytes:
        from attncli.rendering.problem_file import problem_file

        above = self._above(variant, student)
        return problem_file(variant.problem, above=above)

    def _sheet(self, variant: "Variant", student: str) -> bytes:
        from attncli.rendering.answer_sheet import answer_sheet

        if not self._key:
            return b""
        asked = variant.problem.marking.decimals
        digits = DEFAULT_DECIMALS if asked is None else asked
        return answer_sheet(variant.trace, digits, f"solutions: {self._above(variant, student)}")

    def _above(self, variant: "Variant", student: str) -> str:
        named = f"{visible(student)}: " if student else ""
        return f"{named}variant {variant.number}, seed {self._seed}"
