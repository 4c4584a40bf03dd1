"""What `attn count` writes: a table of the steps, with totals, and the cache of keys and values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from attncli.core.calculation.counts import COLUMNS, Work
from attncli.core.numbers.written import shape_words
from attncli.core.tape.step import Step
from attncli.core.text.strings import as_cell, cell_width, count_of, csv_text, visible
from attncli.printing.blocks import Group, Heading, Sentence, Table
from attncli.printing.layout import GAP
from attncli.printing.record import json_lines
from attncli.printing.selection import Selection, pieces

HEADS = {
    "multiply_adds": "multiply–adds",
    "additions": "+ −",
    "multiplications": "×",
    "divisions": "÷",
    "exponentials": "e^x",
    "functions": "√ tanh …",
    "parameters": "parameters",
    "cache_bytes": "cache bytes",
}
"""The heads of `COLUMNS` in tables."""

MAIN_COLUMNS = ("multiply_adds", "parameters", "cache_bytes")
"""The columns of a table that is not whole."""

MAX_TABLE_WIDTH = 80
"""Maximum width of such a table, in columns of a terminal."""

CONVENTION = """A multiply–add, a product that is added to a sum, counts 1 (2 FLOPs). Cells that a
mask blocks are counted; comparisons are not.""".replace("\n", " ")

CONVENTION_OF_SOME = """A multiply–add, a product that is added to a sum, counts 1 (2 FLOPs).
--full shows the other operations, and each layer by itself.""".replace("\n", " ")


def page(work: Work, selection: Selection) -> Iterator[Group]:
    """Yield a table with a row per step and the totals, then sentences.

    A count that is 0 is left empty, and a column that has no other is left out. A table that is too
    wide has names in place of formulas, then no shapes. With `full`, or for steps that were chosen,
    all columns and rows are there.
    """
    steps, full = selection.steps(work.trace), selection.full or bool(selection.only)
    total = work.total(steps)
    columns = [name for name in (COLUMNS if full else MAIN_COLUMNS) if total[name]]
    rows = list[tuple[tuple[str, ...], list[str]]]()
    for layers in _alike(work, steps, full):
        first, last = layers[0][0], layers[-1][0]
        is_one = first is last
        if not is_one:
            heading = f"layers {first.layer} to {last.layer}"
            rows.append(((heading, "", heading), [""] * len(columns)))
        for same in zip(*layers, strict=True):
            counts = work.total(same)
            numbers = [f"{counts[name]:,}" if counts[name] else "" for name in columns]
            step = same[0]
            name = step.word if is_one else f"  {step.plain}"
            formula = step.formula if is_one else name
            if full or any(numbers):
                rows.append(((name, shape_words(step.value.shape), formula), numbers))
    rows.append((("total", "", "total"), [f"{total[name]:,}" for name in columns]))
    title = visible(work.problem.title)
    table = _table(rows, columns, full)
    yield [*[Heading(title)] * bool(title and not selection.quiet), table]
    closing = [] if selection.quiet else [CONVENTION if full else CONVENTION_OF_SOME]
    if total["cache_bytes"]:
        parts = ", ".join(f"{number:,} of {name}" for name, number in work.per_token.items())
        each = count_of(work.number_bytes, "byte")
        size = f"{work.bytes_per_token:,} bytes, with {each} a number (--bytes)"
        closing.append(f"For each token, a cache keeps numbers: {parts}; {size}.")
    if closing:
        yield [Sentence(sentence, "faint") for sentence in closing]


def _alike(work: Work, steps: Sequence[Step], full: bool) -> Iterator[list[list[Step]]]:
    """Yield the steps of layers that are alike, layer by layer; of other steps those of one."""
    layers = list[list[Step]]()
    before: object = None
    for layer, group in groupby(steps, lambda step: step.layer):
        here = [*group]
        form = [(step.plain, step.value.shape, work.counts[step.name]) for step in here]
        if layers and (full or not layer or form != before):
            yield layers
            layers = []
        layers, before = [*layers, here], form
    if layers:
        yield layers


def _table(
    rows: Sequence[tuple[Sequence[str], list[str]]], columns: list[str], full: bool
) -> Table:
    """Return the widest table that is no wider than it may be, with those for narrower places."""
    table: Table | None = None
    for first in ((0,), (0, 1), (2, 1)):
        texts = [[*(words[at] for at in first), *numbers] for words, numbers in rows]
        heads = [("step", "shape", "step")[at] for at in first] + [HEADS[name] for name in columns]
        lines = zip(heads, *texts, strict=True)
        width = sum(max(map(cell_width, column)) + len(GAP) for column in lines) - len(GAP)
        if table and width > MAX_TABLE_WIDTH and not full:
            break
        cells = [[(text, "" if row is not texts[-1] else "title") for text in row] for row in texts]
        table = Table(heads, cells, "l" * len(first) + "r" * len(columns), table)
    assert table
    return table


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
