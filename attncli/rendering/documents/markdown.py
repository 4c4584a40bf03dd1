"""Markdown with mathematics, as GitHub and GitLab show it.

A matrix with labels is a table, any other one is mathematics. Formulas stand in fences of the
language `math`, as there no character of them is taken for Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from attncli.notation.tex import number as tex_number
from attncli.notation.tex import tex as as_tex
from attncli.notation.text import text as as_text
from attncli.rendering.blocks import Matrix, cell_text
from attncli.rendering.documents import tex
from attncli.rendering.documents.sheets import (
    Entry,
    Figure,
    Panel,
    Sheet,
    shown_width,
    weighted_sum_text,
)
from attncli.tape.step import Step
from attncli.text.elision import kept
from attncli.text.escapes import label_text

WIDEST = 90
"""Operands and result of more characters than this stand below each other."""

SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&])")
AT_START = re.compile(r"^(\s*)([-+=]|\d+(?=[.)]))", re.MULTILINE)
SHORTCODE = re.compile(r":(?=[\w+-]+:)")


def markdown(sheet: Sheet, full: bool) -> str:
    """Return a document in Markdown; with `full` large matrices are whole."""
    return "\n\n".join(_Writer(sheet, full).parts()) + "\n"


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


class _Writer:
    def __init__(self, sheet: Sheet, full: bool) -> None:
        self.sheet = sheet
        self.full = full
        self.level = "###" if any(entry.group for entry in sheet.entries) else "##"

    def parts(self) -> Iterator[str]:
        if self.sheet.title:
            yield f"# {escaped(self.sheet.title)}"
        for paragraph in re.split(r"\n\s*\n", self.sheet.notes):
            if paragraph.strip():
                yield "\\\n".join(map(escaped, paragraph.strip().splitlines()))
        group = ""
        for entry in self.sheet.entries:
            if entry.group != group:
                group = entry.group
                if group:
                    yield f"## {escaped(group)}"
            yield from self.entry(entry)
        yield from map(escaped, self.sheet.closing)
        if self.sheet.warnings:
            yield f"{self.level} Warnings"
            yield "\n".join(f"- {escaped(warning)}" for warning in self.sheet.warnings)

    def entry(self, entry: Entry) -> Iterator[str]:
        yield f"{self.level} {', '.join(escaped(step.name) for step in entry.steps)}"
        for panel in entry.inputs:
            yield from self.named(panel)
        yield _block([line for step in entry.steps for line in self.formula(step)])
        for figure in entry.figures:
            yield from self.figure(figure)

    def formula(self, step: Step) -> Iterator[str]:
        text = as_tex(step.notation)
        yield rf"{text} \qquad {as_tex(step.note)}" if step.note else text

    def figure(self, figure: Figure) -> Iterator[str]:
        if figure.name:
            yield f"**{escaped(figure.name)}**"
        panels = [part for part in figure.operands if isinstance(part, Panel)]
        (result, *others) = figure.results
        as_table = _has_labels(result.matrix)
        if figure.operands and shown_width(panels, self.full) <= WIDEST:
            line = "".join(self.part(part) for part in figure.operands)
            yield _block([f"{line} =" if as_table else f"{line} = {self.array(result.matrix)}"])
            if as_table:
                yield self.table(result.matrix)
        else:
            for panel in panels:
                yield from self.named(panel)
            if others and len(others[0].matrix.values) == len(result.matrix.values) and as_table:
                yield self.table(result.matrix, others[0])
                others = []
            elif others:
                yield from self.named(result)
            else:
                yield from self.bare(result)
        for panel in others:
            yield from self.named(panel)
        if figure.mixture:
            yield "\\\n".join(escaped(weighted_sum_text(line)) for line in figure.mixture)

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

    def bare(self, panel: Panel) -> Iterator[str]:
        yield (
            self.table(panel.matrix)
            if _has_labels(panel.matrix)
            else _block([self.array(panel.matrix)])
        )

    def part(self, part: Panel | str) -> str:
        if isinstance(part, Panel):
            return self.array(part.matrix)
        return tex.sign(part)

    def array(self, matrix: Matrix) -> str:
        """Return a matrix as mathematics, without its labels."""
        columns = kept(matrix.values.shape[1], self.full)
        rows = kept(matrix.values.shape[0], self.full)
        lines = [" & ".join(tex_number(cell_text(matrix, r, c)) for c in columns) for r in rows]
        return tex.bracketed(tex.column_style(matrix, columns), lines)

    def table(self, matrix: Matrix, beside: Panel | None = None) -> str:
        """Return a matrix as a table with its labels; with a column of another one beside it."""
        columns = kept(matrix.values.shape[1], self.full)
        rows = kept(matrix.values.shape[0], self.full)
        heads = [_label(matrix.column_labels, c, "…") for c in columns]
        lines = [
            [_label(matrix.row_labels, r, "⋮"), *(cell_text(matrix, r, c) for c in columns)]
            for r in rows
        ]
        if beside is not None:
            heads.append(escaped(as_text(beside.name)))
            for line, row in zip(lines, rows, strict=True):
                line.append(cell_text(beside.matrix, row, 0))
        if not matrix.row_labels:
            lines = [line[1:] for line in lines]
        else:
            heads.insert(0, "")
        rule = [":--" if i == 0 and matrix.row_labels else "--:" for i in range(len(heads))]
        return "\n".join(f"| {' | '.join(cells)} |" for cells in [heads, rule, *lines])


def _has_labels(matrix: Matrix) -> bool:
    return bool(matrix.row_labels or matrix.column_labels)


def _label(labels: Sequence[str], place: int | None, left_out: str) -> str:
    if place is None:
        return left_out
    return escaped(label_text(labels[place])) if labels else str(place + 1)


def _block(lines: Collection[str]) -> str:
    if len(lines) > 1:
        body = " \\\\\n".join(lines)
        return f"```math\n\\begin{{gathered}}\n{body}\n\\end{{gathered}}\n```"
    return f"```math\n{''.join(lines)}\n```"
