"""Formulas as MathML, which browsers set without a script or a font from elsewhere."""

from __future__ import annotations

from html import escape

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


class _MathML(Writing):
    """Writes formulas as elements of MathML Core."""

    def name(self, node: Name, small: bool) -> str:
        del small
        base = _letters(node.base)
        return f"<msub>{base}{_letters(node.below)}</msub>" if node.below else base

    def number(self, node: Number, small: bool) -> str:
        del small
        return f"<mn>{escape(node.text)}</mn>"

    def words(self, node: Words, small: bool) -> str:
        del small
        return f"<mtext>{escape(node.text)}</mtext>"

    def sign(self, node: Sign, small: bool) -> str:
        del small
        if node.text == "∞":
            return "<mi>∞</mi>"
        text = "⊤" if node.text == "ᵀ" else escape(node.text)
        form = ' form="prefix"' if node.prefix and node.text == "−" else ""
        return f"<mo{form}>{text}</mo>"

    def gap(self, node: Gap, small: bool) -> str:
        del small
        return f'<mspace width="{"0.3em" if node.wide else "0.17em"}"/>'

    def row(self, node: Row, small: bool) -> str:
        return f"<mrow>{''.join(self(part, small) for part in node.parts)}</mrow>"

    def fence(self, node: Fence, small: bool) -> str:
        inner = self(node.inner, small)
        opening = f'<mo form="prefix" stretchy="true" lspace="0" rspace="0">{node.opening}</mo>'
        closing = f'<mo form="postfix" stretchy="true" lspace="0" rspace="0">{node.closing}</mo>'
        return f"<mrow>{opening}{inner}{closing}</mrow>"

    def fraction(self, node: Fraction, small: bool) -> str:
        if small:
            return f"<mrow>{self(node.over, True)}<mo>/</mo>{self(node.under, True)}</mrow>"
        return f"<mfrac>{self(bare(node.over))}{self(bare(node.under))}</mfrac>"

    def power(self, node: Power, small: bool) -> str:
        return f"<msup>{self(node.base, small)}{self(node.exponent, True)}</msup>"

    def root(self, node: Root, small: bool) -> str:
        return f"<msqrt>{self(node.inner, small)}</msqrt>"


WRITER = _MathML()


def mathml(node: Formula, block: bool = False) -> str:
    """Return a formula as one `math` element; as a `block` fractions have their full size.

    >>> mathml(Name("W", "q"))
    '<math><msub><mi>W</mi><mi>q</mi></msub></math>'
    """
    style = ' display="block"' if block else ""
    return f"<math{style}>{WRITER(node)}</math>"


def _letters(name: str) -> str:
    return f"<mn>{name}</mn>" if name.isdigit() else f"<mi>{escape(name)}</mi>"
