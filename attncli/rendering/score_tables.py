"""The score functions, masks and normalisers as a page, from the tables that compute."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attncli.attention.masks import MASKS
from attncli.attention.normalizers import NORMALIZERS
from attncli.attention.scores import SCORES, ScoreFunction
from attncli.rendering.layout import Line
from attncli.text.widths import cell_width


def score_tables() -> Iterator[Line]:
    yield [("score: how alike a query q and a key k are", "title")]
    lines = _columns([(name, row.formula, row.source) for name, row in SCORES.items()])
    for line, row in zip(lines, SCORES.values(), strict=True):
        yield line
        if row.parameters:
            yield [(f"      with {_parameters(row)}", "faint")]
    yield []
    yield [("mask: which keys j a query i may attend to; p = i + offset", "title")]
    yield from _columns([(name, row.formula, row.summary) for name, row in MASKS.items()])
    yield []
    yield [("normalize: how scores s become weights", "title")]
    yield from _columns([(name, row.formula, row.summary) for name, row in NORMALIZERS.items()])
    yield []
    yield [("In a file:  score: {name: distance, width: 2}", "faint")]
    yield [("            mask: {causal: true, align: bottom-right, window: [2, 0]}", "faint")]
    yield [("            normalize: {name: softmax, temperature: 2, base: 3, axis: keys}", "faint")]


def _parameters(function: ScoreFunction) -> str:
    words = []
    for parameter in function.parameters:
        shape = f" ({', '.join(parameter.shape)})" if parameter.shape else ""
        default = "" if parameter.default is None else f" = {parameter.default:g}"
        optional = "" if parameter.required or default else "optional "
        words.append(f"{optional}{parameter.name}{shape}{default}")
    return ", ".join(words)


def _columns(rows: Sequence[Sequence[str]]) -> Iterator[Line]:
    widths = [max(cell_width(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        line: Line = [("  ", "")]
        for index, (text, width) in enumerate(zip(row, widths, strict=True)):
            style = "label" if index == 0 else "faint" if index == len(row) - 1 else ""
            line += [(text, style), (" " * (width - cell_width(text) + 2), "")]
        yield line
