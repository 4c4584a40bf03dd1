"""Formulas as MathML, which browsers set without a script or a font from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from attncli.notation import tree
from attncli.notation.printer import ATOM, PRODUCT, Printer


class _MathML(Printer):
    """Elements of MathML Core; in an exponent (`small`) a fraction stands in one line."""

    def __init__(self, small: bool = False) -> None:
        self.small = small
        self.fraction_is_atom = not small

    def name(self, node: tree.Name, first: bool) -> str:
        base = _letters(node.base)
        return f"<msub>{base}{_letters(node.below)}</msub>" if node.below else base

    def number(self, node: tree.Number, first: bool) -> str:
        if node.text == "-∞":
            return self.minus(tree.Minus(tree.Number("∞")), first)
        return "<mi>∞</mi>" if node.text == "∞" else f"<mn>{escape(node.text)}</mn>"

    def words(self, node: tree.Words, first: bool) -> str:
        return f"<mtext>{escape(node.text)}</mtext>"

    def dots(self, node: tree.Dots, first: bool) -> str:
        return "<mo>…</mo>"

    def omitted(self, node: tree.Omitted, first: bool) -> str:
        return f"<mtext>… {node.count} more terms …</mtext>"

    def cell(self, node: tree.Cell, first: bool) -> str:
        lead = [f"<mn>{number}</mn>" for _, number in node.lead]
        return self._indexed(tree.named(node.name), node.places, lead)

    def vector(self, node: tree.Vector, first: bool) -> str:
        return self._indexed(tree.named(node.name), node.places, [])

    def _indexed(self, name: tree.Name, places: tuple[str, ...], lead: list[str]) -> str:
        base = self.name(name, True)
        if lead:
            base = f"<msup>{base}{self.group(''.join(lead))}</msup>"
        below = [
            f"<mn>{p}</mn>" if p.isdecimal() else f"<mtext>{escape(p)}</mtext>" for p in places
        ]
        return f"<msub>{base}<mrow>{'<mo>,</mo>'.join(below)}</mrow></msub>" if below else base

    def minus(self, node: tree.Minus, first: bool) -> str:
        return _row(['<mo form="prefix">−</mo>', self.inside(node.operand, PRODUCT)])

    def plus(self, node: tree.Plus, first: bool) -> str:
        parts: list[str] = []
        for term in node.terms:
            minus = isinstance(term, tree.Minus)
            inner = term.operand if isinstance(term, tree.Minus) else term
            if parts:
                parts.append(f"<mo>{'−' if minus else '+'}</mo>")
            elif minus:
                parts.append('<mo form="prefix">−</mo>')
            parts.append(self.inside(inner, PRODUCT, first=not parts))
        return _row(parts)

    def times(self, node: tree.Times, first: bool) -> str:
        sign = node.sign.strip()
        factors = [
            self.factor(factor, node.sign, first and not place, not place)
            for place, factor in enumerate(node.factors)
        ]
        return _row(_between(factors, f"<mo>{sign}</mo>" if sign else NARROW))

    def fraction(self, node: tree.Fraction, first: bool) -> str:
        if self.small:
            over, under = self.inside(node.over, PRODUCT, first), self.inside(node.under, ATOM)
            return _row([over, "<mo>/</mo>", under])
        return f"<mfrac>{self(node.over)}{self(node.under)}</mfrac>"

    def power(self, node: tree.Power, first: bool) -> str:
        return f"<msup>{self.inside(node.base, ATOM)}{_MathML(small=True)(node.exponent)}</msup>"

    def squared(self, node: tree.Squared, first: bool) -> str:
        return f"<msup>{self.inside(node.operand, ATOM)}<mn>2</mn></msup>"

    def transpose(self, node: tree.Transpose, first: bool) -> str:
        return f"<msup>{self.inside(node.operand, ATOM)}<mo>⊤</mo></msup>"

    def root(self, node: tree.Root, first: bool) -> str:
        return f"<msqrt>{self(node.operand)}</msqrt>"

    def call(self, node: tree.Call, first: bool) -> str:
        arguments = _between(map(self, node.arguments), "<mo>,</mo>")
        return _row([_letters(node.function), self.group(_row(arguments))])

    def norm(self, node: tree.Norm, first: bool) -> str:
        return _fenced("‖", self(node.operand), "‖")

    def stack(self, node: tree.Stack, first: bool) -> str:
        return _fenced("[", _row(_between(map(self, node.parts), "<mo>;</mo>")), "]")

    def value(self, node: tree.Value, first: bool) -> str:
        return self(node.inner, first)

    def fence(self, node: tree.Fence, first: bool) -> str:
        return self.group(self(node.inner))

    def relation(self, node: tree.Relation, first: bool) -> str:
        signs = ["="] * (len(node.parts) - 2) + [node.last]
        first_part, *rest = map(self, node.parts)
        pairs = zip(signs, rest, strict=False)
        return _row([first_part, *(p for sign, part in pairs for p in (f"<mo>{sign}</mo>", part))])

    def listed(self, node: tree.Listed, first: bool) -> str:
        return _row(_between(map(self, node.parts), f"<mo>{node.sign}</mo>"))

    def phrase(self, node: tree.Phrase, first: bool) -> str:
        return _row(_between(map(self, node.parts), '<mspace width="0.3em"/>'))

    def group(self, text: str) -> str:
        return _fenced("(", text, ")")


NARROW = '<mspace width="0.17em"/>'
"""Between factors that no sign parts."""


def mathml(formula: tree.Formula, block: bool = False) -> str:
    """Return a formula as one `math` element; as a `block` fractions have their full size.

    >>> mathml(tree.Name("W", "q"))
    '<math><msub><mi>W</mi><mi>q</mi></msub></math>'
    """
    style = ' display="block"' if block else ""
    return f"<math{style}>{_MathML()(formula)}</math>"


def _letters(name: str) -> str:
    return f"<mn>{name}</mn>" if name.isdigit() else f"<mi>{escape(name)}</mi>"


def _row(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"<mrow>{''.join(parts)}</mrow>"


def _between(parts: Iterable[str], sign: str) -> list[str]:
    first, *rest = parts
    return [first, *(piece for part in rest for piece in (sign, part))]


def _fenced(opening: str, inner: str, closing: str) -> str:
    left = f'<mo form="prefix" stretchy="true" lspace="0" rspace="0">{opening}</mo>'
    right = f'<mo form="postfix" stretchy="true" lspace="0" rspace="0">{closing}</mo>'
    return f"<mrow>{left}{inner}{right}</mrow>"
