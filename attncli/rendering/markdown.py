"""Markdown with mathematics, as GitHub and GitLab show it.

A matrix with labels is a table, any other one is mathematics. Formulas stand in fences of the
language `math`, as there no character of them is taken for Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from attncli.mechanisms.trace import Trace
from attncli.notation.tex import ascii_text, number
from attncli.notation.tex import tex as as_tex
from attncli.notation.text import text
from attncli.rendering import tex
from attncli.rendering.blocks import Matrix, cell_text
from attncli.rendering.page import Entry, Figure, Page, page_of
from attncli.rendering.selection import Selection
from attncli.rendering.views import Panel
from attncli.text.elision import kept
from attncli.text.escapes import label_text

WIDEST = 90
"""Operands and result of more characters than this stand below each other."""

SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&])")
SHORTCODE = re.compile(r":(?=[\w+-]+:)")
AT_START = re.compile(r"^(\s*)([-+](?=\s|$)|[-=](?=[-=]*\s*$)|\d+(?=[.)](?:\s|$)))", re.MULTILINE)
"""What makes a list, a rule or a heading of the line that begins with it."""


def traces(shown: Sequence[Trace], selection: Selection) -> bytes:
    """Return a document with mathematics; a rule stands between problems."""
    pages = (_PageWriter(page_of(trace, selection), selection.full) for trace in shown)
    texts = ("\n\n".join(page.parts()) + "\n" for page in pages)
    return "\n---\n\n".join(texts).encode()


def escaped(text: str) -> str:
    r"""Return text of one line that Markdown shows as it is written.

    >>> escaped("*a* [b](c) <i> $1$")
    '\\*a\\* \\[b\\](c) \\<i\\> <span>$</span>1<span>$</span>'
    """
    text = SPECIAL.sub(r"\\\1", text)
    # Where there is mathematics and emoji in Markdown, neither minds a backslash.
    text = SHORTCODE.sub("<span>:</span>", text.replace("$", "<span>$</span>"))
    return AT_START.sub(_harmless, text.strip())


def _harmless(match: re.Match[str]) -> str:
    sign = match[2]
    return f"&#{ord(sign[0])};{sign[1:]}" if sign.isdigit() else f"\\{sign}"


def table(heads: Sequence[str], rules: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table from its heads, the rules below them and its rows, all escaped."""
    lines = [f"| {' | '.join(heads)} |", f"|{'|'.join(rules)}|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


class _PageWriter:
    """Writes the page of a trace."""

    def __init__(self, page: Page, full: bool) -> None:
        self.page = page
        self.full = full
        self.level = "###" if any(entry.group for entry in page.entries) else "##"

    def parts(self) -> Iterator[str]:
        if self.page.title:
            yield f"# {escaped(self.page.title)}"
        for paragraph in re.split(r"\n\s*\n", self.page.notes):
            if paragraph.strip():
                yield "\\\n".join(map(escaped, paragraph.strip().splitlines()))
        for entry in self.page.entries:
            if entry.group:
                yield f"## {escaped(entry.group)}"
            yield from self.entry(entry)
        yield from map(escaped, self.page.closing)
        if self.page.warnings:
            yield f"{self.level} Warnings"
            yield "\n".join(f"- {escaped(warning)}" for warning in self.page.warnings)

    def entry(self, entry: Entry) -> Iterator[str]:
        yield f"{self.level} {', '.join(escaped(step.name) for step in entry.steps)}"
        for panel in entry.inputs:
            yield from self.named(panel)
        yield _block([tex.heading(step, ascii_text) for step in entry.steps])
        for figure in entry.figures:
            yield from self.figure(figure)

    def figure(self, figure: Figure) -> Iterator[str]:
        if figure.name:
            yield f"**{escaped(figure.name)}**"
        (result, *sums) = figure.results
        as_table = _has_labels(result.matrix)
        width = sum(panel.matrix.shown_width(self.full) for panel in figure.panels)
        if figure.operands and width <= WIDEST:
            line = "".join(self.part(part) for part in figure.operands)
            yield _block([f"{line} =" if as_table else f"{line} = {self.array(result.matrix)}"])
            if as_table:
                yield self.table(result.matrix)
        elif not sums:
            for panel in figure.panels:
                yield from self.named(panel)
            yield self.table(result.matrix) if as_table else _block([self.array(result.matrix)])
        elif as_table and len(sums[0].matrix.values) == len(result.matrix.values):
            yield self.table(result.matrix, sums[0])
        else:
            for panel in figure.results:
                yield from self.named(panel)
        if figure.sums:
            yield "\\\n".join(escaped(" ".join(weighted.texts())) for weighted in figure.sums)

    def named(self, panel: Panel) -> Iterator[str]:
        """Yield a matrix with its name."""
        name = as_tex(panel.name)
        if panel.words:
            yield f"**{escaped(panel.words)}**"
        if _has_labels(panel.matrix):
            yield f"$`{name}`$"
            yield self.table(panel.matrix)
        else:
            yield _block([f"{name} = {self.array(panel.matrix)}"])

    def part(self, part: Panel | str) -> str:
        return self.array(part.matrix) if isinstance(part, Panel) else tex.sign(part)

    def array(self, matrix: Matrix) -> str:
        """Return a matrix as mathematics, without its labels."""
        rows, columns = (kept(size, self.full) for size in matrix.values.shape)
        lines = [" & ".join(number(cell_text(matrix, r, c)) for c in columns) for r in rows]
        return tex.bracketed(tex.column_style(matrix, columns), lines)

    def table(self, matrix: Matrix, beside: Panel | None = None) -> str:
        """Return a matrix as a table with its labels; with a column of another one beside it."""
        rows, columns = (kept(size, self.full) for size in matrix.values.shape)
        heads = [_label(matrix.column_labels, c, "…") for c in columns]
        lines = [[cell_text(matrix, r, c) for c in columns] for r in rows]
        if beside is not None:
            heads.append(escaped(text(beside.name)))
            for line, row in zip(lines, rows, strict=True):
                line.append(cell_text(beside.matrix, row, 0))
        rules = [" --: "] * len(heads)
        if matrix.row_labels:
            heads.insert(0, "")
            rules.insert(0, " :-- ")
            for line, row in zip(lines, rows, strict=True):
                line.insert(0, _label(matrix.row_labels, row, "⋮"))
        return table(heads, rules, lines)


def _has_labels(matrix: Matrix) -> bool:
    return bool(matrix.row_labels or matrix.column_labels)


def _label(labels: Sequence[str], place: int | None, left_out: str) -> str:
    if place is None:
        return left_out
    return escaped(label_text(labels[place])) if labels else str(place + 1)


def _block(lines: Sequence[str]) -> str:
    if len(lines) > 1:
        body = " \\\\\n".join(lines)
        return f"```math\n\\begin{{gathered}}\n{body}\n\\end{{gathered}}\n```"
    return f"```math\n{''.join(lines)}\n```"
