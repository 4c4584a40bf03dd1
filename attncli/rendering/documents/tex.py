r"""Formulas, matrices and text as TeX, for LaTeX itself and for the mathematics in Markdown.

Only what LaTeX with amsmath, MathJax and KaTeX all know is written for a formula.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from attncli.rendering.blocks import Matrix
from attncli.rendering.documents.formulas import (
    Fence,
    Formula,
    Fraction,
    Gap,
    Name,
    Number,
    Power,
    Root,
    Row,
    Sign,
    Words,
    Writing,
    bare,
)

SIGNS = {
    "−": "-",
    "·": r"\cdot",
    "×": r"\times",
    "⊙": r"\odot",
    "∞": r"\infty",
    "…": r"\ldots",
    "≤": r"\le",
    "≥": r"\ge",
    "≈": r"\approx",
    "<": "<",
    ">": ">",
    "=": "=",
    "+": "+",
    ",": ",",
    ";": ";",
    "ᵀ": r"\top",
}
GREEK = {"τ": r"\tau", "π": r"\pi", "α": r"\alpha", "β": r"\beta", "σ": r"\sigma", "Σ": r"\Sigma"}
FENCES = {"(": ("\\left(", "\\right)"), "[": ("\\left[", "\\right]"), "‖": ("\\lVert ", " \\rVert")}
SPECIAL = {"-∞": r"-\infty", "∞": r"\infty", "": "", "…": r"\cdots", "⋮": r"\vdots", "⋱": r"\ddots"}

ESCAPES = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
}
LIGATURE = re.compile(r"([-,])(?=\1)")
"""Two of these would join to a dash or a low quotation mark."""


class _TeX(Writing):
    """Writes formulas for TeX, and the words in them with `text`."""

    def __init__(self, text: Callable[[str], str]) -> None:
        self.text = text

    def name(self, node: Name, small: bool) -> str:
        del small
        base = _letters(node.base)
        return f"{base}_{{{_letters(node.below)}}}" if node.below else base

    def number(self, node: Number, small: bool) -> str:
        del small
        return number(node.text)

    def words(self, node: Words, small: bool) -> str:
        del small
        return rf"\text{{{self.text(node.text)}}}"

    def sign(self, node: Sign, small: bool) -> str:
        del small
        sign = SIGNS.get(node.text, node.text)
        if node.prefix:
            return f"{{{sign}}}" if node.text == "−" else sign
        return f"{sign}\\ " if node.text in (",", ";") else f" {sign} "

    def gap(self, node: Gap, small: bool) -> str:
        del small
        return "\\ " if node.wide else "\\,"

    def row(self, node: Row, small: bool) -> str:
        return "".join(self(part, small) for part in node.parts)

    def fence(self, node: Fence, small: bool) -> str:
        return f"{FENCES[node.opening][0]}{self(node.inner, small)}{FENCES[node.opening][1]}"

    def fraction(self, node: Fraction, small: bool) -> str:
        if small:
            return f"{self(node.over, True)} / {self(node.under, True)}"
        return rf"\frac{{{self(bare(node.over))}}}{{{self(bare(node.under))}}}"

    def power(self, node: Power, small: bool) -> str:
        base = self(node.base, small)
        if isinstance(node.base, Power):
            base = f"{{{base}}}"  # TeX refuses two exponents in a row
        return f"{base}^{{{self(node.exponent, True)}}}"

    def root(self, node: Root, small: bool) -> str:
        return rf"\sqrt{{{self(node.inner, small)}}}"


def ascii_text(text: str) -> str:
    r"""Return text with what TeX takes as commands escaped; other scripts are kept.

    >>> ascii_text("50% of $x_1$")
    '50\\% of \\$x\\_1\\$'
    """
    text = "".join(ESCAPES.get(c, c) for c in text)
    return LIGATURE.sub(r"\1{}", text)


def maths(node: Formula, text: Callable[[str], str] = ascii_text) -> str:
    r"""Return a formula in TeX's mathematics; `text` escapes the words in it.

    >>> from attncli.rendering.documents.formulas import formula
    >>> maths(formula("scaled = scores / √d_k", {"scaled", "scores"}))
    '\\mathrm{scaled} = \\frac{\\mathrm{scores}}{\\sqrt{d_{k}}}'
    """
    return _TeX(text)(node)


def number(text: str) -> str:
    """Return a number, or what stands in the place of one, in TeX's mathematics."""
    if text in SPECIAL:
        return SPECIAL[text]
    mantissa, sign, exponent = text.partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if sign else mantissa


def sign(text: str) -> str:
    """Return a sign between the matrices of a layout, such as × or tanh(."""
    name = text.removesuffix("(")
    if name != text:
        return rf"{_letters(name)}\Bigl("
    return r"\Bigr)" if text == ")" else f" {SIGNS[text]} "


def column_style(matrix: Matrix, columns: Sequence[int | None]) -> str:
    """Return how the columns of an array are set: numbers flush right, bars between heads."""
    return "".join("c" if c is None else "|r" if c in matrix.bars else "r" for c in columns)


def bracketed(style: str, lines: Sequence[str]) -> str:
    """Return rows of cells as a matrix in brackets."""
    body = r" \\ ".join(lines)
    return rf"\left[\begin{{array}}{{{style}}} {body} \end{{array}}\right]"


def _letters(name: str) -> str:
    if name in GREEK:
        return GREEK[name]
    if len(name) == 1 or name.isdigit():
        return name
    escaped = name.replace("_", "\\_")
    return rf"\mathrm{{{escaped}}}"
