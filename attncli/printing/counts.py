"""What `attn count` writes: a table of the steps, with totals, and the cache of keys and values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from attncli.core.calculation.counts import COLUMNS, Work
from attncli.core.numbers.written import shape_words
from attncli.core.text.strings import as_cell, csv_text, visible
from attncli.printing.blocks import Group, Heading, Sentence, Table
from attncli.printing.record import json_lines
from attncli.printing.selection import Selection, pieces

HEADS = ("multiply–adds", "+ −", "×", "÷", "e^x", "√ tanh …", "parameters", "cache bytes")
"""The heads of `COLUMNS` in tables."""

CONVENTION = """A multiply–add, a product that is added to a sum, counts 1 (2 FLOPs). Cells that a
mask blocks are counted; comparisons are not.""".replace("\n", " ")


def page(work: Work, selection: Selection) -> Iterator[Group]:
    """Yield a table with a row per step and the totals, then sentences.

    A count that is 0 is left empty, and a column that has no other is left out. A table that is too
    wide has names in place of formulas, then no shapes.
    """
    steps = selection.steps(work.trace)
    total = work.total(steps)
    columns = [name for name in COLUMNS if total[name]]
    heads = [head for head, name in zip(HEADS, COLUMNS, strict=True) if total[name]]
    rows = list[tuple[tuple[str, ...], list[str]]]()
    for step in steps:
        numbers = (work.counts[step.name].get(name) for name in columns)
        words = (step.word, shape_words(step.value.shape), step.formula)
        rows.append((words, [f"{number:,}" if number else "" for number in numbers]))
    rows.append((("total", "", "total"), [f"{total[name]:,}" for name in columns]))
    table = None
    for first in ((0,), (0, 1), (2, 1)):
        texts = [[*(words[at] for at in first), *numbers] for words, numbers in rows]
        cells = [[(text, "" if row is not texts[-1] else "title") for text in row] for row in texts]
        sides = "l" * len(first) + "r" * len(columns)
        table = Table([("step", "shape", "step")[at] for at in first] + heads, cells, sides, table)
    assert table
    title = visible(work.problem.title)
    yield [*[Heading(title)] * bool(title and not selection.quiet), table]
    closing = [] if selection.quiet else [CONVENTION]
    if total["cache_bytes"]:
        parts = ", ".join(f"{number:,} of {name}" for name, number in work.per_token.items())
        size = f"{work.bytes_per_token:,} bytes, with {work.number_bytes} bytes a number (--bytes)"
        closing.append(f"For each token, a cache keeps numbers: {parts}; {size}.")
    if closing:
        yield [Sentence(sentence, "faint") for sentence in closing]


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
