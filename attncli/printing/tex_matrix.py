"""Matrices and the signs between them in TeX's mathematics."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attncli.core.formulas.printers import TEX_SIGNS, letters, tex
from attncli.core.tape.step import Step
from attncli.printing.matrix import Matrix


def heading(step: Step, escape: Callable[[str], str]) -> str:
    """Return a step's formula and what its letters mean; `escape` writes the words."""
    note = rf" \qquad {tex(step.note, escape)}" if step.note else ""
    return f"{tex(step.notation, escape)}{note}"


def sign(text: str) -> str:
    """Return a sign between the matrices of a layout, such as × or tanh(."""
    name = text.removesuffix("(")
    if name != text:
        return rf"{letters(name)}\Bigl("
    return r"\Bigr)" if text == ")" else f" {TEX_SIGNS.get(text, text)} "


def column_style(matrix: Matrix) -> str:
    """Return how the columns of an array are set: numbers flush right, bars between heads."""
    number = "c" if matrix.is_open else "r"  # room has no end to be flush with
    styles = ("c" if c is None else number for c in matrix.columns)
    places = zip(matrix.columns, styles, strict=True)
    return "".join(f"|{style}" if c in matrix.bars else style for c, style in places)


def bracketed(matrix: Matrix, lines: Sequence[str]) -> str:
    body = r" \\ ".join(lines)
    return rf"\left[\begin{{array}}{{{column_style(matrix)}}} {body} \end{{array}}\right]"
