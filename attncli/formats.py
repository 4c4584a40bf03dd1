"""The output formats of all commands: for each what is shown, the function that writes it.

To add a format, write its functions and give it a row in `FORMATS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from attncli.core.errors import fail
from attncli.core.records import Record, replace
from attncli.core.text.strings import did_you_mean, visible
from attncli.printing.selection import ReportSelection, Selection, WorksheetSelection

if TYPE_CHECKING:
    from attncli.checking.check import Graded, Report
    from attncli.core.calculation.trace import Trace
    from attncli.core.problem.problem import Problem

Write: TypeAlias = Callable[..., Iterator[bytes]]
"""Yields the bytes of a file, from what is shown (such as traces) and the record that selects.

Traces or reports may come one by one: each is written as soon as it is known, and not kept.
"""

FormatKind: TypeAlias = Literal["traces", "reports", "explanations", "worksheets", "counts"]


def _in(place: str, *more: str) -> Write:
    """Return `wing.module.function`, called with more arguments; its module is imported then."""
    return partial(_written, place, more)


def _written(place: str, more: Sequence[str], *arguments: object) -> Iterator[bytes]:
    return _named(place)(*arguments, *more)


def _named(place: str) -> Write:
    module, _, name = place.rpartition(".")
    function: Write = getattr(import_module(f"attncli.{module}"), name)
    return function


def _built(writer: str, page: str) -> Write:
    """Return the writer of pages of blocks, which the function `page` builds."""
    return partial(_write_built, f"printing.{writer}.written", f"printing.{page}.page")


def _write_built(writer: str, page: str, *arguments: object) -> Iterator[bytes]:
    return _named(writer)(_named(page), *arguments)


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
        _in("printing.report.as_table"), _built("prose", "explanations"),
        counts=_built("prose", "counts"),
    ),
    "json": Format(
        (".json", ".jsonl"), "one object per problem", _in("printing.record.as_json"),
        _in("printing.report_record.as_json"), _in("printing.record.explanations"),
        counts=_in("printing.counts.as_json"), is_page=False,
    ),
    "csv": Format(
        (".csv",), "blocks; with --only STEP the bare numbers", _in("printing.csv.as_csv"),
        _in("classroom.grades.as_csv"), worksheets=_in("printing.worksheet.as_csv"),
        counts=_in("printing.counts.as_csv"), is_page=False,
    ),
    "tsv": Format(
        (".tsv", ".tab"), "the same with tabs", _in("printing.csv.as_csv", "\t"),
        _in("classroom.grades.as_csv", "\t"), is_page=False,
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
        _in("printing.report.as_markdown"), _built("markdown", "explanations"),
        _in("printing.markdown.traces"), _built("markdown", "counts"),
    ),
    "gradescope": Format(
        (".results.json",), "results.json of an autograder, of one student", nothing,
        _in("classroom.grades.as_gradescope"), is_page=False,
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


TO_RENDER = "render a trace: render(compute(problem)); or a report: render(check(problem))"


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
        format: a row of `FORMATS` that is text, such as "table", or a suffix of one, as "md".
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
    from attncli.checking.check import Graded, Report
    from attncli.core.calculation.trace import Trace
    from attncli.core.problem.key_values import keys_of

    several = [*shown] if isinstance(shown, Sequence) else [shown]
    for one in several:
        if not isinstance(one, Trace | Graded):
            raise fail(f"there is nothing to render in a {type(one).__name__}", hint=TO_RENDER)
    reports = [one for one in several if isinstance(one, Report)]
    kind: FormatKind = "reports" if reports else "traces"
    row = FORMATS[format_named(format, kind, binary=False)]
    about: dict[str, Any] = {"decimals": decimals, "full": full, "quiet": quiet}
    if reports:
        points = dict.fromkeys(name for one in reports for name in one.marking.points)
        about |= {"solution": solution, "points": tuple(points), "verbose": verbose}
    else:
        about |= {"why": why, "standalone": standalone, "reveal": reveal, "live": live}
    selection = (ReportSelection if reports else Selection)(only=keys_of(only), **about)
    return b"".join(getattr(row, kind)(several, selection)).decode()


def worksheet(
    problem: Problem | Trace | Sequence[Problem],
    format: str = "html",  # noqa: A002 - the name of the flag
    blank: str | Sequence[str] = (),
    give: str | Sequence[str] = (),
    decimals: int | None = None,
    standalone: bool = False,
    ask: str | Sequence[str] | None = None,
) -> str:
    """Return the page of a problem with room in the place of numbers, or the sheet to fill in.

    Args:
        problem: one problem, or several, which are written one after the other.
        format: "html", the practice page, which judges what is typed; "latex" or "markdown", to
            print; "yaml" or "csv", the answer sheet for `check`; "moodle", a quiz to import.
        blank: the name of the step that is open, or names; by default all that are worked out.
        give: the name or names of those that are shown solved nevertheless.
        decimals: digits after the point of the numbers that are shown.
        standalone: whether LaTeX is a complete document.
        ask: without `blank`, the steps or cells that have room; by default those of the problem's
            marking, or all. The numbers of other steps are left out, unless they are in `give`.

    Raises:
        InputError: for a format or a step that is not there, or where nothing is open.

    >>> import attncli
    >>> problem = attncli.Problem(X=[[1, 0], [0, 1]], score="dot")
    >>> print(worksheet(problem, "yaml", blank=["scores"]), end="")
    # Write the numbers that are missing. Each ? is one.
    student:
    # scores = Q Kᵀ   (2, 2)
    scores: |
      ? ?
      ? ?
    """
    from attncli.core.calculation.compute import compute
    from attncli.core.calculation.trace import Trace
    from attncli.core.problem.key_values import keys_of
    from attncli.core.problem.problem import Problem

    several = [problem] if isinstance(problem, Problem | Trace) else [*problem]
    traces = [one if isinstance(one, Trace) else compute(one) for one in several]
    traces = [replace(one, problem=one.problem.marked({"ask": ask})) for one in traces]
    write = FORMATS[format_named(format, "worksheets", binary=False)].writer("worksheets")
    selection = WorksheetSelection(
        decimals, full=True, standalone=standalone, blank=keys_of(blank), give=keys_of(give)
    )
    return b"".join(write(traces, selection)).decode()
