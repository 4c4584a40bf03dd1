"""The format of output, and its target: a file, a folder, or a pattern of names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from attncli.cli.output import tell_written, write_bytes
from attncli.core.errors import InputError, fail
from attncli.core.text.strings import alike, count_in, near_words, regex, safe, visible

if TYPE_CHECKING:
    from attncli.core.calculation.trace import Trace
    from attncli.formats import FormatKind, Write
    from attncli.printing.selection import PageSelection

PATTERN_FIELDS: Mapping[FormatKind | Literal["variants"], tuple[str, ...]] = {
    "traces": ("title", "number"),
    "worksheets": ("title", "number", "student", "variant"),
    "counts": ("title", "number"),
    "reports": ("student", "title", "number"),
    "variants": ("number", "student", "title"),
}
"""The fields of a pattern; the first is the name of the files of a folder."""

NEXT_STEPS: Mapping[str, str] = {
    **dict.fromkeys(("csv", "tsv", "tidy", "xlsx"), "open {} in a spreadsheet"),
    "png": "put {} into a document, or on a slide",
    "numpy": "run {} with python3",
    **dict.fromkeys(("html", "svg"), "open {} in a browser"),
    "moodle": "import {} into a question bank of Moodle",
    "latex": "\\input {} in a document",
    "document": "compile {} with pdflatex or xelatex",
    "worksheets": "fill {} in, then run attn check {problem} {files}",
}
"""What to do with files of a format, or else of a kind; `tell_written` fills the blanks."""

NUMBER_WIDTH = regex(r"\d{0,3}")
"""The width that may follow the colon of a field."""

TEXT_WIDTH = regex(r"\d{0,3}(\.\d{1,3})?")
"""A width and a maximum of characters, which may follow the colon of a field of text."""


def is_folder(out: str) -> bool:
    """Return whether output goes to a folder: one that exists, or a name that ends in a slash."""
    return out.endswith("/") or Path(out).is_dir()


def is_many(out: str | None) -> bool:
    """Return whether output goes to one file per problem, or per student."""
    return out is not None and (is_folder(out) or "{" in out or "}" in out)


def format_name(kind: FormatKind, name: str | None, out: str | None = None) -> str:
    """Return the name of a format: that of the flag, or of the output file's suffix."""
    from attncli.formats import FORMATS, format_named, format_of_file, formats_of

    if kind != "explanations" and (name or out or "").lower().endswith("pdf"):
        stem = Path(out or "page").with_suffix("")
        tex = "" if kind == "reports" else f"-o {stem}.tex --standalone, for LaTeX, or "
        hint = f"use {tex}-o {stem}.html, and print that page to a PDF in a browser"
        raise fail("attn writes no PDF", hint=hint)
    meant = None if out is None or is_folder(out) else format_of_file(out, kind)
    if name is not None:
        chosen = format_named(name, kind)
        suffixes = FORMATS[chosen].suffixes
        last = Path(out or "").suffix.lower()  # .csv of .tidy.csv
        fits = last == ".txt" or any(suffix.endswith(last) for suffix in suffixes)
        if out is not None and meant and not fits:
            other = visible(str(Path(out).with_suffix(suffixes[0])))
            message = f"{visible(out)} is the name of a {meant} file, and -f asks for {chosen}"
            raise fail(message, hint=f"name the file {other}, or leave out -f")
        return chosen
    if out is None:
        return "table"
    if is_folder(out):
        message = f"{visible(out)} is a folder, whose name does not tell a format"
        raise fail(message, hint="use -f, as in -f html; or name a file in it")
    if meant:
        return meant
    endings = ", ".join(suffix for row in formats_of(kind).values() for suffix in row.suffixes)
    message = f"the name {visible(out)} does not tell a format"
    raise fail(message, hint=f"use -f, or one of {endings}")


def refuse_flag_of(needed: str, flag: str, is_given: bool, format_: str) -> None:
    if is_given and format_ != needed:
        message = f"--{flag} is for the format {needed}, not {format_}"
        raise fail(message, hint=f"use it with -f {needed}")


def write_format(
    kind: FormatKind,
    name: str,
    shown: Iterable[Any],
    selection: PageSelection,
    out: str | None,
    write: Write | None = None,
    overwrite: bool = True,
    problem: str = "PROBLEM",
) -> None:
    """Write traces and the like, or the reports of each student, as they come; say which files.

    They go to standard output, to a file, or to one file for each problem or student; reports to
    one for each problem of a student if the pattern of file names has a title. Worksheets of one
    student go into one file where the pattern gives them one name. `problem` is the file that they
    belong to, for what is said.
    """
    from attncli.formats import FORMATS

    row = FORMATS[name]
    write = write or row.writer(kind)
    groups = iter(shown)
    if kind != "reports":
        first = next(groups, None)
        if first is None:
            return  # not even an empty file is written
        groups = ((one,) for one in chain([first], groups))
    paths = list[Path]()
    for path, group in _files(kind, out, row.suffixes[0], groups):
        write_bytes(write(group, selection), path, row.binary, overwrite)
        paths += [] if path is None else [path]
    if not selection.quiet:
        use = "document" if getattr(selection, "standalone", False) else name
        next_step = NEXT_STEPS.get(use) or NEXT_STEPS.get(kind, "")
        tell_written(paths, next_step.replace("{problem}", problem))


def _files(
    kind: FormatKind, out: str | None, suffix: str, groups: Iterator[Any]
) -> Iterator[tuple[Path | None, Iterable[Any]]]:
    if out is None or not is_many(out):
        yield None if out is None else Path(out), chain.from_iterable(groups)
    elif kind == "worksheets":
        yield from _sheets(out, suffix, [trace for group in groups for trace in group]).items()
    else:
        targets = Targets(out, kind, suffix)
        if kind == "reports" and "{title" in out:
            groups = ((one,) for student in groups for one in student)
        for count, group in enumerate(groups, 1):
            first = group[0]
            if kind == "reports":
                path = targets.path(count, {"student": first.name, "title": first.title})
            else:
                path = targets.path(first.problem.number or 1, {"title": first.problem.title})
            yield path, group


def _sheets(out: str, suffix: str, traces: Sequence[Trace]) -> dict[Path, list[Trace]]:
    first = traces[0].problem
    field = next((key for key in ("student", "variant") if getattr(first, key)), "title")
    targets = Targets(out, "worksheets", suffix, f"{{{field}}}")
    sheets: dict[Path, list[Trace]] = {}
    for trace in traces:
        problem = trace.problem
        values = {key: getattr(problem, key) for key in ("student", "title", "variant")}
        variant = f"variant {problem.variant}" if problem.variant else ""
        owner = visible(", ".join(filter(None, (problem.student, variant))))
        path = targets.path(problem.number or 1, values, owner)
        sheets.setdefault(path, []).append(trace)
    return sheets


class Targets:
    """The files of a folder, or of a pattern such as `pages/{title}.html`.

    Those of a folder have a suffix, and a name by a pattern, by default their first field.
    """

    def __init__(
        self, out: str, kind: FormatKind | Literal["variants"], suffix: str, name: str = ""
    ) -> None:
        from string import Formatter  # half a millisecond that few commands need

        self._fields = PATTERN_FIELDS[kind]
        self._noun = "variant" if kind == "variants" else "problem"
        if is_folder(out):
            folder = out.replace("{", "{{").replace("}", "}}") if Path(out).is_dir() else out
            folder = folder if folder.endswith("/") else f"{folder or '.'}/"
            out = f"{folder}{name or f'{{{self._fields[0]}}}'}{suffix}"
        self._pattern = out
        self._owners: dict[str, str] = {}
        try:
            parts = list(Formatter().parse(out))
        except ValueError:
            raise self._error("has a bracket that is not closed") from None
        for _, field, width, conversion in parts:
            if field is not None and field not in self._fields:
                message = f"there is no {{{visible(field)}}} for the name of a file"
                raise fail(message, hint=self._hint(field))
            allowed = NUMBER_WIDTH if field == "number" else TEXT_WIDTH
            if conversion or not allowed.fullmatch(width or ""):
                raise self._error("may have a width behind a field, as in {number:03}, no more")

    def path(self, number: int, values: Mapping[str, str], owner: str = "") -> Path:
        """Return the file of the next problem or student; no two owners have the same one.

        By default, the owner is the number.
        """
        parts: dict[str, str | int] = {"number": number}
        for field, value in values.items():
            count = count_in(value) if field == "variant" else -1
            parts[field] = count if count >= 0 else safe(value or f"{self._noun} {number}")
        path = Path(self._pattern.format(**parts))
        field = next(filter(values.get, values), next(iter(values)))
        said = f", {visible(values[field])}" if values[field] else ""
        owner = owner or f"number {number}{said}"
        other = self._owners.setdefault(alike(str(path)), owner)
        if other != owner:
            message = f"{visible(str(path))} is the file of {other}, and would be that of {owner}"
            name = f"{{number}}-{{{field}}}{path.suffix}"
            raise fail(message, hint=f"tell them apart by {{number}}, as in '{name}'")
        return path

    def _error(self, reason: str) -> InputError:
        return fail(f"the pattern {visible(self._pattern)} {reason}", hint=self._hint(""))

    def _hint(self, field: str) -> str:
        known = ", ".join(f"{{{name}}}" for name in self._fields)
        near = near_words(field, self._fields) if field else []
        return f"did you mean {near[0]}?" if near else f"there is {known}; write {{{{ for a bracket"
