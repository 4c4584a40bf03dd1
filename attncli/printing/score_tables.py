"""The score functions, positions, masks and so on as a page, from the tables that compute."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attncli.core.attention.activations import ACTIVATIONS
from attncli.core.attention.masks import MASKS
from attncli.core.attention.normalizers import NORMALIZERS
from attncli.core.attention.norms import LAYER_NORMS, NORMS
from attncli.core.attention.parameters import Parameter
from attncli.core.attention.positions import POSITIONS
from attncli.core.attention.scores import SCORES
from attncli.core.text.escapes import cell_width
from attncli.printing.layout import Line


def score_tables() -> Iterator[Line]:
    """Yield a table for each key whose value is a row of one, and how they are written."""
    rows = [(name, row.formula, row.source, row.parameters) for name, row in SCORES.items()]
    yield from _table("score: how alike a query q and a key k are", rows)
    rows = [(name, row.formula, row.source, row.parameters) for name, row in POSITIONS.items()]
    yield from _table("positions: how tokens know their places; t = start + i − 1", rows)
    rows = [(name, row.formula, "", row.parameters) for name, row in NORMS.items()]
    yield from _table("qk_norm: the norm of each query and key x", rows)
    rows = [(name, row.formula, row.summary, ()) for name, row in MASKS.items()]
    yield from _table("mask: which keys j a query i may attend to; p = i + offset", rows)
    rows = [(name, row.formula, row.summary, row.parameters) for name, row in NORMALIZERS.items()]
    yield from _table("normalize: how scores s become weights", rows)
    rows = [(name, row.formula, row.source, ()) for name, row in LAYER_NORMS.items()]
    yield from _table("norm: of the features x of a token, in a layer of a transformer", rows)
    rows = [(name, row.formula, row.source, ()) for name, row in ACTIVATIONS.items()]
    yield from _table("activation: of a number x, in a layer of a transformer", rows)
    yield [("In a file:  score: {name: distance, width: 2}", "faint")]
    yield [("            positions: [sinusoidal, {name: rope, pairs: halves}]", "faint")]
    yield [("            mask: {causal: true, align: bottom-right, window: [2, 0]}", "faint")]
    yield [("            normalize: {name: softmax, temperature: 2, base: 3, axis: keys}", "faint")]


def _table(
    title: str, rows: Sequence[tuple[str, str, str, tuple[Parameter, ...]]]
) -> Iterator[Line]:
    """Yield a title, a line for each row, and under it the row's own parameters."""
    yield [(title, "title")]
    for line, (*_, parameters) in zip(_columns([row[:3] for row in rows]), rows, strict=True):
        yield line
        if parameters:
            yield [(f"      with {', '.join(map(_words, parameters))}", "faint")]
    yield []


def _words(parameter: Parameter) -> str:
    shape = f" ({', '.join(parameter.shape)})" if parameter.shape else ""
    value = parameter.default
    default = "" if value is None else f" = {value if isinstance(value, str) else f'{value:g}'}"
    optional = "" if parameter.required or default else "optional "
    return f"{optional}{parameter.name}{shape}{default}"


def _columns(rows: Sequence[Sequence[str]]) -> Iterator[Line]:
    widths = [max(cell_width(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        line: Line = [("  ", "")]
        for index, (text, width) in enumerate(zip(row, widths, strict=True)):
            style = "label" if index == 0 else "faint" if index == len(row) - 1 else ""
            line += [(text, style), (" " * (width - cell_width(text) + 2), "")]
        yield line
