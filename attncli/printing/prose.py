"""Lines of a terminal for the blocks of pages other than a trace's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from attncli.printing import blocks, layout
from attncli.printing.blocks import SIGN_STYLES, Group
from attncli.printing.layout import GAP, Line, Span, wrapped
from attncli.printing.selection import PageSelection

INDENT = 2
"""Number of blanks before what is below the heading of a part of a page."""


def written(
    build: Callable[..., Iterable[Group]], every: Iterable[object], selection: PageSelection
) -> Iterator[bytes]:
    """Yield the pages that a function builds, each as soon as what it shows is known."""
    return layout.plain(pages(build, every, selection), follows=selection.follows)


def pages(
    build: Callable[..., Iterable[Group]],
    every: Iterable[object],
    selection: PageSelection,
    width: int | None = None,
) -> Iterator[Iterator[Line]]:
    return (lines(group, width) for one in every for group in build(one, selection))


def lines(group: Group, width: int | None = None) -> Iterator[Line]:
    """Yield the lines of blocks that belong together; without a width, no line is broken."""
    indent = 0
    for block in group:
        if isinstance(block, blocks.Heading):
            indent = 0
        room = None if width is None else width - indent
        for line in PROSE_WRITERS[type(block)](block, room):
            yield [(" " * indent, ""), *line] if indent else line
        if isinstance(block, blocks.Heading) and block.level > 1:
            indent = INDENT


def _heading(heading: blocks.Heading, width: int | None) -> list[Line]:
    words = layout.heading_line(heading.step) if heading.step else [(heading.text, "title")]
    aside = [(f"   {heading.aside}", "faint")] if heading.aside else []
    return wrapped([*_sign(heading.sign), *words, *aside], width, hanging="  ")


def _sign(sign: str) -> Line:
    return [(f"{sign} ", SIGN_STYLES[sign])] if sign else []


def _sentence(said: blocks.Sentence, width: int | None) -> list[Line]:
    return wrapped([*_sign(said.sign), (said.text, said.style)], width)


def _formulas(formulas: blocks.Formulas, width: int | None) -> Iterator[Line]:
    for depth, explanation in formulas.every:
        name, *pieces = explanation.pieces
        start = [("  " * depth, ""), (name, "label")]
        yield from layout.broken(start, pieces, width, 2 * depth + 3)


def _table(table: blocks.Table, width: int | None) -> Iterator[Line]:
    """Yield a table; one with sentences is a list, over which heads would be in no column."""
    heads = [[(head, "faint") for head in table.heads]] * ("s" not in table.sides)
    columns = list[list[Span]]()
    for side, column in zip(table.sides, zip(*heads, *table.rows, strict=True), strict=True):
        texts: Sequence[str] = [text for text, _ in column]
        texts = texts if side == "s" else layout.padded(texts, side == "r")
        gap = layout.BETWEEN if side == "m" else GAP
        spans = zip(texts, column, strict=True)
        columns.append([(f"{text}{gap}", style) for text, (_, style) in spans])
    lines = [[*row] for row in zip(*columns, strict=True)]
    is_wide = width is not None and max(map(layout.line_width, lines), default=0) - len(GAP) > width
    if is_wide and table.narrower:
        yield from _table(table.narrower, width)
    else:
        for line in lines:
            yield from wrapped(line, width, hanging="    ")


def _comparison(comparison: blocks.ComparedMatrices, width: int | None) -> Iterator[Line]:
    """Yield wrong matrices whole, or else the names of their wrong cells."""
    wrong = [one for one in comparison.matrices if one.is_wrong]
    if comparison.cells and (not wrong or any(one.yours.is_cut for one in wrong)):
        yield from _table(comparison.cells, width)
        return
    for one in wrong:
        if one.name:
            yield [(one.name, "name")]
        yield from layout.Layout(width).together([one.yours, *one.others])


PROSE_WRITERS: Mapping[type, Callable[[Any, int | None], Iterable[Line]]] = {
    blocks.Heading: _heading,
    blocks.Sentence: _sentence,
    blocks.Formulas: _formulas,
    blocks.Table: _table,
    blocks.ComparedMatrices: _comparison,
}
"""The writer of each block, which has `width` columns of the terminal."""
