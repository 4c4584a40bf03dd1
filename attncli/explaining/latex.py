"""Worked formulas for pages that are set: the lines of an explanation in LaTeX's mathematics."""

from __future__ import annotations

import re

from attncli.explaining.names import Names
from attncli.explaining.scripts import POWER, PRODUCT, Piece, Script
from attncli.explaining.terms import Binary, Function, Term
from attncli.tape.cells import Index, cell_words, row_words
from attncli.tape.step import Step
from attncli.text.escapes import visible

SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",  # nothing that a browser could take for a tag
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}
LETTERS = {"τ": r"\tau"}


class Latex(Script):
    """Writes terms in LaTeX."""

    times = r" \cdot "
    also = r";\ "

    def function(self, term: Function) -> Piece:
        """Return a function of one term."""
        if term.name == "tanh":
            return rf"\tanh\left({self(term.operand)}\right)", POWER
        if term.name == "at_least_zero":
            return rf"\max\left({self(term.operand)}, 0\right)", POWER
        if term.name == "square":
            text, _ = self.piece(term.operand)
            plain = re.fullmatch(r"[\w.]+", text)
            return (f"{text}^2" if plain else f"{self.group(text)}^2"), POWER
        if term.name == "sqrt":
            if self.whole and (piece := self.whole([(False, term)])):
                return piece
            return rf"\sqrt{{{self(term.operand)}}}", POWER
        text, binds = super().function(term)
        return text.replace("−", "-"), binds

    def sum(self, parts: list[tuple[bool, Term]]) -> Piece:  # type: ignore[override]
        """Return a sum."""
        text, binds = super().sum(parts)
        return text.replace("−", "-"), binds

    def quotient(self, term: Binary, first: bool) -> Piece:
        """Return a fraction."""
        del first
        return rf"\frac{{{self(term.left)}}}{{{self(term.right)}}}", PRODUCT

    def factor(self, term: Term, first: bool = False) -> str:
        """Return a factor; a fraction needs no parentheses."""
        return self.inside(term, PRODUCT, first)

    def raised(self, base: str, exponent: Term) -> Piece:
        """Return a power."""
        return f"{base}^{{{self(exponent)}}}", POWER

    def group(self, text: str) -> str:
        """Return a text in parentheses."""
        return rf"\left({text}\right)"

    def left_out(self, count: int) -> str:
        """Return what stands for terms that are left out."""
        return rf" + \dots\ \text{{{count} more terms}}\ \dots"

    @staticmethod
    def number(text: str) -> str:
        """Return a number as it is set: 6.0337e-06 as 6.0337 · 10^-6."""
        mantissa, _, exponent = text.replace("∞", r"\infty").partition("e")
        return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent else mantissa

    @staticmethod
    def words(text: str) -> str:
        """Return a sentence with places for numbers, as `str.format` takes it."""
        parts = re.split(r"(\{\w+\})", text)
        return "".join(p if p.startswith("{") else rf"\text{{{{{p}}}}}" for p in parts if p)

    @staticmethod
    def phrase(text: str) -> str:
        """Return some words."""
        return rf"\text{{{text}}}"

    def written(self, text: str) -> str:
        """Return a number of the operation."""
        text = re.sub(r"√\(?(\w+)\)?", r"\\sqrt{\1}", text)
        return text.replace("·", r" \cdot ").replace("π", r"\pi")


class LatexNames(Names):
    """Names of cells in LaTeX; labels are text, whatever they hold."""

    def cell(self, step: Step, place: Index) -> str:
        r"""Return such as `\mathit{weights}^{(2)}_{\text{am}, \text{I}}`."""
        name, lead, words = cell_words(step, place)
        above = f"^{{({', '.join(str(i + 1) for i in lead)})}}" if lead else ""
        return f"{_letters(name)}{above}{_below(words)}"

    def row(self, step: Step, at: Index) -> str:
        """Return such as q_am."""
        name, words = row_words(step, at)
        return f"{_letters(name)}{_below(words)}"

    def letter(self, symbol: str) -> str:
        """Return a Greek letter by its name."""
        return LETTERS.get(symbol, symbol)

    def dot(self, left: str, right: str) -> str:
        """Return the product of two vectors."""
        return rf"{left} \cdot {right}"

    def length(self, vector: str) -> str:
        """Return the length of a vector."""
        return rf"\lVert {vector.replace('−', '-')} \rVert"

    def squared(self, length: str) -> str:
        """Return the square of a length."""
        return f"{length}^2"


def escaped(text: str) -> str:
    r"""Return a text that LaTeX sets as it is.

    >>> print(escaped("50%_{x}"))
    50\%\_\{x\}
    """
    return "".join(SPECIAL.get(character, character) for character in visible(text))


def _letters(name: str) -> str:
    return name if len(name) == 1 else rf"\mathit{{{escaped(name)}}}"


def _below(words: list[str]) -> str:
    texts = [w if w.isdecimal() else rf"\text{{{escaped(w)}}}" for w in words]
    return f"_{{{', '.join(texts)}}}" if texts else ""
