"""What `attn count` writes: a table of the steps, with totals, and the cache of keys and values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from attncli.core.calculation.counts import COLUMNS, Work
from attncli.core.numbers.written import shape_words
from attncli.core.text.strings import as_cell, cell_width, csv_text, visible
from attncli.printing import layout, markdown
from attncli.printing.layout import GAP, Line
from attncli.printing.record import json_lines
from attncli.printing.selection import Selection, pieces

HEADS = ("multiply–adds", "+ −", "×", "÷", "e^x", "√ tanh …", "parameters", "cache bytes")
"""The heads of `COLUMNS` in tables."""

CONVENTION = """A multiply–add, a product that is added to a sum, counts 1 (2 FLOPs). Cells that a
mask blocks are counted; comparisons are not.""".replace("\n", " ")


def _table(work: Work, selection: Selection) -> tuple[list[tuple[str, ...]], list[str]]:
    """Return the heads, a row per step and the totals, and the sentences below.

    The first cells are the formula, the name and the shape; a count that is 0 is left empty, and a
    column that has no other is left out.
    """
    steps = selection.steps(work.trace)
    total = work.total(steps)
    columns = [name for name in COLUMNS if total[name]]
    heads = (head for head, name in zip(HEADS, COLUMNS, strict=True) if total[name])
    rows = [("step", "step", "shape", *heads)]
    for step in steps:
        numbers = (work.counts[step.name].get(name) for name in columns)
        words = (step.formula, step.word, shape_words(step.value.shape))
        rows.append((*words, *(f"{number:,}" if number else "" for number in numbers)))
    rows.append(("total", "total", "", *(f"{total[name]:,}" for name in columns)))
    closing = [] if selection.quiet else [CONVENTION]
    if total["cache_bytes"]:
        parts = ", ".join(f"{number:,} of {name}" for name, number in work.per_token.items())
        size = f"{work.bytes_per_token:,} bytes, with {work.number_bytes} bytes a number (--bytes)"
        closing.append(f"For each token, a cache keeps numbers: {parts}; {size}.")
    return rows, closing


def lines(work: Work, selection: Selection, width: int | None = None) -> Iterator[Line]:
    """Yield the lines of a table; a narrow terminal has names in place of formulas."""
    rows, closing = _table(work, selection)
    # A column of numbers, which only such columns have at their end, is flush right.
    columns = [layout.padded(x, x[-1][:1].isdigit()) for x in zip(*rows, strict=True)]
    for first in ((0, 2), (1, 2), (1,)):
        chosen = *(columns[at] for at in first), *columns[3:]
        heads, *texts, totals = map(GAP.join, zip(*chosen, strict=True))
        if width is None or cell_width(heads) <= width:
            break
    if work.problem.title and not selection.quiet:
        yield [(visible(work.problem.title), "title")]
    yield [(heads, "faint")]
    yield from ([(text, "")] for text in texts)
    yield [(totals, "title")]
    yield from [[]] * bool(closing)
    for sentence in closing:
        yield from layout.wrapped([(sentence, "faint")], width)


def as_table(every: Iterable[Work], selection: Selection) -> Iterator[bytes]:
    return layout.plain((lines(work, selection) for work in every), follows=selection.follows)


def as_markdown(every: Iterable[Work], selection: Selection) -> Iterator[bytes]:
    """Yield a table for each problem; a rule separates them."""

    def page(work: Work) -> str:
        (heads, *rows), closing = _table(work, selection)
        title = "" if selection.quiet else markdown.escaped(visible(work.problem.title))
        cells = ([markdown.escaped(row[0]), *row[2:]] for row in rows)
        rules = ["---", "---", *["--:"] * (len(heads) - 3)]
        table = markdown.table([heads[0], *heads[2:]], rules, cells)
        return "\n\n".join([*[f"# {title}"] * bool(title), table, *closing]) + "\n"

    return pieces(map(page, every), "\n---\n\n", selection.follows)


def as_csv(every: Iterable[Work], selection: Selection) -> Iterator[bytes]:
    """Yield a header, then a row for each step, with every count."""
    yield csv_text([("problem", "title", "step", "formula", "shape", *COLUMNS)]).encode()

    def rows(work: Work) -> Iterator[Sequence[str]]:
        about = str(work.problem.number or 1), as_cell(work.problem.title)
        for name, row in _record(work, selection)["steps"].items():
            shape = " ".join(map(str, row["shape"]))
            yield (*about, name, as_cell(row["formula"]), shape, *(str(row[c]) for c in COLUMNS))

    yield from pieces((csv_text(rows(work)) for work in every), "")


def as_json(every: Iterable[Work], selection: Selection) -> Iterator[bytes]:
    """Yield one object per problem."""
    return json_lines(_record(work, selection) for work in every)


def _record(work: Work, selection: Selection) -> dict[str, Any]:
    steps, number = selection.steps(work.trace), work.problem.number
    cache = {
        "numbers_per_token": {**work.per_token},
        "bytes_per_number": work.number_bytes,
        "bytes_per_token": work.bytes_per_token,
    }
    return {
        **({} if number is None else {"problem": number}),
        "title": work.problem.title,
        "steps": {
            s.name: {"formula": s.formula, "shape": [*s.value.shape], **work.total([s])}
            for s in steps
        },
        "total": work.total(steps),
        "cache": cache,
    }
