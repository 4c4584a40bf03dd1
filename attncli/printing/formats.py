"""The output formats of all commands, the selections of what is written, and writing in pieces.

To add a format, write its functions and give it a row in `FORMATS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from attncli.core.errors import fail
from attncli.core.records import EMPTY, Record
from attncli.core.text.strings import did_you_mean, visible

if TYPE_CHECKING:
    from attncli.checking.check import Graded, Report
    from attncli.classroom.name_index import Roster
    from attncli.core.arithmetic.elements import Array
    from attncli.core.calculation.trace import Trace
    from attncli.core.tape.step import Step


class PageSelection(Record):
    """The settings that every kind of page has."""

    decimals: int | None = None  # digits after the point; None for the default of the format
    full: bool = False  # whether pages show large matrices whole
    quiet: bool = False  # whether there is no title and no warning, and of reports only the verdict

    @property
    def digits(self) -> int:
        """The maximum number of digits after the point on a page."""
        from attncli.core.text.numbers import DEFAULT_DECIMALS  # with NumPy

        return DEFAULT_DECIMALS if self.decimals is None else self.decimals


class Selection(PageSelection):
    """The parts of a trace, or of explanations, that are written."""

    only: tuple[str, ...] = ()  # names or symbols of steps, or patterns such as `d_*`; () for all
    why: bool = False  # whether each step says why it is done; pages of HTML always do
    exact: bool = False  # whether closed forms are written beside the numbers
    standalone: bool = False  # whether LaTeX is a complete document
    reveal: bool = False  # whether the steps of an HTML page are folded until they are opened
    heads: str = ""  # the heads that pages show, such as `1,3-5`; "" for all
    rows: str = ""  # the rows of queries that pages show, by labels or numbers; "" for all
    live: bool = False  # whether the numbers of an HTML page can be changed
    reloads: bool = False  # whether such a page loads itself anew when it was written again
    follows: bool = False  # whether other traces are written before these, with the heading

    is_worksheet = False

    def steps(self, trace: Trace) -> list[Step]:
        """Return the steps in the order of computation."""
        return steps_named(self.only, trace) if self.only else [*trace]


class WorksheetSelection(Selection):
    """A selection with room in place of the numbers of some steps."""

    blank: tuple[str, ...] = ()  # names or symbols of these steps; () for all that are worked out
    give: tuple[str, ...] = ()  # those that are shown solved nevertheless

    is_worksheet = True


class Room(Record, eq=False):
    """What a page leaves to its reader: nothing, unless it is a worksheet."""

    blank: Mapping[str, Step] = EMPTY  # the steps whose numbers are not printed, by name
    asked: Mapping[str, Array] = EMPTY  # which of their numbers, as on paper, are to be written

    def shows(self, name: str) -> bool:
        """Return whether the numbers of a step are printed, or are to be written."""
        return name in self.asked or name not in self.blank


NO_ROOM = Room()


class ReportSelection(PageSelection):
    """The parts of reports that are written."""

    solution: bool = False  # whether what students read may hold the right numbers
    verbose: bool = False  # whether wrong cells of arrays from programs are shown
    points: tuple[str, ...] = ()  # the steps that have points, each a column of a grade book
    only: tuple[str, ...] = ()  # the steps that a page of HTML shows; () for all
    totals: bool = False  # whether a grade book has one row per student
    roster: Roster | None = None  # the class, whose columns the grade book keeps
    follows: bool = False  # whether other reports are written before these, with the heading


def steps_named(words: Sequence[str], trace: Trace) -> list[Step]:
    """Return the steps and inputs that words mean, in the order of computation.

    Words are names, symbols, headings of pages, or patterns.

    Raises:
        InputError: for a word that people use for several of the steps.
    """
    names = set(words)
    if others := [word for word in words if word not in trace]:
        from attncli.core.tape.find_cells import find_steps

        meant = (find_steps(word, trace.steps, trace.inputs, trace.added) for word in others)
        names |= {step.name for steps in meant for step in steps}
    inputs = (one for one in trace.inputs.values() if one.name not in trace)
    return [step for step in (*inputs, *trace) if step.name in names]


Write: TypeAlias = Callable[..., Iterator[bytes]]
"""Yields the bytes of a file, from what is shown (such as traces) and the record that selects.

Traces or reports may come one by one: each is written as soon as it is known, and not kept.
"""

FormatKind: TypeAlias = Literal["traces", "reports", "explanations", "worksheets", "counts"]


def _in(place: str) -> Write:
    """Return `wing.module.function`; the module is imported when it is called first."""
    return partial(_written, place)


def _written(place: str, *arguments: object) -> Iterator[bytes]:
    module, _, name = place.rpartition(".")
    write: Write = getattr(import_module(f"attncli.{module}"), name)
    return write(*arguments)


def nothing(*_: object) -> Iterator[bytes]:
    """The writer of traces for a format that has none."""
    return iter(())


class Format(Record):
    """A format with a writer for each `Kind`: None, or for traces `nothing`, if it has none."""

    suffixes: tuple[str, ...]  # of file names
    meaning: str
    traces: Write  # for `attn compute`
    reports: Write | None = None  # for `attn check`
    explanations: Write | None = None  # for `attn explain`
    worksheets: Write | None = None  # for `attn worksheet`
    counts: Write | None = None  # for `attn count`
    binary: bool = False
    is_document: bool = False  # whether problems are one whole, of which no process writes a part
    is_page: bool = True  # whether it is for reading, and may show a part of each step
    foresee: Callable[..., object] | None = None  # refuses a problem, before it is calculated

    def writer(self, kind: FormatKind) -> Write:
        write: Write = getattr(self, kind)
        return write


FORMATS: dict[str, Format] = {
    "table": Format(
        (".txt",), "every step, for reading", _in("printing.table.traces"),
        _in("printing.table.reports"), _in("printing.explanations.as_table"),
        counts=_in("printing.counts.as_table"),
    ),
    "json": Format(
        (".json", ".jsonl"), "one object per problem", _in("printing.record.as_json"),
        _in("printing.grades.as_json"), _in("printing.record.explanations"),
        counts=_in("printing.counts.as_json"), is_page=False,
    ),
    "csv": Format(
        (".csv",), "blocks; with --only STEP the bare numbers", _in("printing.csv.as_csv"),
        _in("printing.grades.as_csv"), worksheets=_in("printing.worksheet.as_csv"),
        counts=_in("printing.counts.as_csv"), is_page=False,
    ),
    "tsv": Format(
        (".tsv", ".tab"), "the same with tabs", _in("printing.csv.as_tsv"),
        _in("printing.grades.as_tsv"), is_page=False,
    ),
    "tidy": Format(
        (".tidy.csv",), "CSV with one number per row", _in("printing.csv.as_tidy"), is_page=False
    ),
    "yaml": Format(
        (".yaml", ".yml"), "one document per problem", _in("printing.record.as_yaml"),
        worksheets=_in("printing.worksheet.as_yaml"), is_page=False,
    ),
    "npz": Format(
        (".npz",), "NumPy arrays by step name", _in("printing.record.as_npz"), binary=True,
        is_document=True, is_page=False,
    ),
    "numpy": Format(
        (".py",), "a NumPy program that makes every step", _in("printing.numpy_program.as_numpy"),
        is_page=False, foresee=_in("printing.numpy_program.refuse_large"),
    ),
    "markdown": Format(
        (".md", ".markdown"), "a document with formulas", _in("printing.markdown.traces"),
        _in("printing.markdown.reports"), _in("printing.markdown.explanations"),
        _in("printing.markdown.traces"), _in("printing.counts.as_markdown"),
    ),
    "gradescope": Format(
        (".results.json",), "results.json of an autograder, of one student", nothing,
        _in("printing.grades.as_gradescope"), is_page=False,
    ),
    "html": Format(
        (".html", ".htm"), "one page that explains each number", _in("pages.html.traces"),
        _in("pages.report_html.reports"), worksheets=_in("pages.html.traces"), is_document=True,
    ),
    "svg": Format(
        (".svg",), "a picture of the weights, or of steps", _in("pages.picture.as_svg"),
        is_document=True, foresee=_in("pages.picture.refuse_large"),
    ),
    "png": Format(
        (".png",), "the same picture as pixels", _in("pages.picture.as_png"), binary=True,
        is_document=True, foresee=_in("pages.picture.refuse_png"),
    ),
    "xlsx": Format(
        (".xlsx",), "a workbook, each number a formula", _in("pages.workbook.traces"),
        worksheets=_in("pages.workbook.traces"), binary=True, is_document=True,
        foresee=_in("pages.workbook.workbook_class"),
    ),
    "moodle": Format(
        (".xml",), "a quiz in Moodle XML, a Cloze question per problem", nothing,
        worksheets=_in("pages.moodle.worksheets"), is_page=False,
    ),
    "latex": Format(
        (".tex",), "a fragment, or a document with --standalone", _in("printing.latex.traces"),
        explanations=_in("printing.latex.explanations"), worksheets=_in("printing.latex.traces"),
    ),
}  # fmt: skip


def formats_of(kind: FormatKind) -> Mapping[str, Format]:
    return {name: row for name, row in FORMATS.items() if getattr(row, kind) not in (None, nothing)}


def format_named(name: str, kind: FormatKind, binary: bool = True) -> str:
    """Return the format of a name or of a suffix without its dot, such as md.

    Raises:
        InputError: for a name that is no format of this kind, or no text where `binary` is not set.
    """
    known = {key: row for key, row in formats_of(kind).items() if binary or not row.binary}
    chosen = name if name in known else format_of_file(f"*.{name}", kind)
    if chosen not in known:
        raise fail(f"unknown format {visible(name)}", hint=did_you_mean(name, known))
    return chosen


def format_of_file(name: str, kind: FormatKind) -> str | None:
    """Return the format that the name of a file ends with; None where it ends with none."""
    rows = formats_of(kind).items()
    suffixes = {suffix: known for known, row in rows for suffix in row.suffixes}
    fitting = [suffix for suffix in suffixes if name.lower().endswith(suffix)]
    return suffixes[max(fitting, key=len)] if fitting else None


def render(
    shown: Trace | Report | Sequence[Trace] | Sequence[Graded],
    format: str = "table",  # noqa: A002 - the name of the flag
    only: str | Sequence[str] = (),
    decimals: int | None = None,
    full: bool = False,
    quiet: bool = False,
    standalone: bool = False,
    why: bool = False,
    reveal: bool = False,
    solution: bool = False,
    live: bool = False,
    verbose: bool = False,
) -> str:
    """Return traces or reports as a page or a file's text.

    Args:
        shown: one or several traces (`compute`), or reports (`check`).
        format: a row of `FORMATS` that is text, such as "table", "json" or "html", or a suffix
            of one, such as "md".
        only: the name of the step to show, or names; all by default.
        decimals: digits after the point; by default 4 on pages and every digit in files.
        full: whether large matrices are shown whole.
        quiet: whether title and warnings are left out.
        standalone: whether LaTeX is a complete document.
        why: whether each step says in a sentence why it is done.
        reveal: whether the steps of an HTML page of traces are folded until they are opened.
        live: whether the numbers of such a page can be changed.
        solution: whether results for Gradescope tell the right numbers.
        verbose: whether reports show five wrong numbers of each array from a program.

    Raises:
        InputError: for a format that is not there, or is no text; for anything else to show.

    >>> import attncli
    >>> trace = attncli.compute(attncli.Problem(X=[[1, 0], [0, 1]], score="dot"))
    >>> print(attncli.render(trace, only=["scores"]), end="")
    scores = Q Kᵀ   (2, 2) × (2, 2) → (2, 2)
      Q        Kᵀ     scores
    ⎡1  0⎤ × ⎡1  0⎤ = ⎡1  0⎤
    ⎣0  1⎦   ⎣0  1⎦   ⎣0  1⎦
    """
    from attncli.checking.check import Report
    from attncli.core.problem.key_values import keys_of

    several = [*shown] if isinstance(shown, Sequence) else [shown]
    for one in several:
        if not any(hasattr(one, name) for name in ("trace", "steps", "error")):
            hint = "render a trace: render(compute(problem)); or a report: render(check(problem))"
            raise fail(f"there is nothing to render in a {type(one).__name__}", hint=hint)
    reports = [one for one in several if isinstance(one, Report)]
    kind: FormatKind = "reports" if reports else "traces"
    row = FORMATS[format_named(format, kind, binary=False)]
    about: dict[str, Any] = {"decimals": decimals, "full": full, "quiet": quiet}
    about["only"] = keys_of(only)
    if reports:
        points = dict.fromkeys(name for one in reports for name in one.marking.points)
        about |= {"solution": solution, "points": tuple(points), "verbose": verbose}
        selection: PageSelection = ReportSelection(**about)
    else:
        about |= {"why": why, "standalone": standalone, "reveal": reveal, "live": live}
        selection = Selection(**about)
    return b"".join(getattr(row, kind)(several, selection)).decode()


WRITE_SIZE = 2**16
"""Number of characters, or of numbers, that are written at a time: about what a pipe holds."""


def pieces(texts: Iterable[str], between: str, follows: bool = False) -> Iterator[bytes]:
    """Yield texts as they come, with `between` before each but the first, or if it follows one."""
    return in_parts(([text] for text in texts), between, follows)


def in_parts(
    texts: Iterable[Iterable[str]], between: str, follows: bool = False
) -> Iterator[bytes]:
    """Yield texts as `pieces` does; each comes in parts, and small parts are joined.

    Halves of characters, as in names of files that are not in UTF-8, become question marks.
    """
    for number, parts in enumerate(texts):
        waiting = [between] if number or follows else []
        size = 0
        for part in parts:
            waiting.append(part)
            size += len(part)
            if size >= WRITE_SIZE:
                yield "".join(waiting).encode(errors="replace")
                waiting, size = [], 0
        if waiting:
            yield "".join(waiting).encode(errors="replace")


def some_rows(matrix: Array) -> Iterator[Array]:
    """Yield a matrix (rows, columns) in parts of some rows."""
    count = max(1, WRITE_SIZE // max(1, matrix.shape[1]))
    for start in range(0, len(matrix), count):
        yield matrix[start : start + count]
