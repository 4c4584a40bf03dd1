"""Formulas as TeX, as MathML, and as formulas of a spreadsheet's cells: `=SUM(B3:D3)/SQRT(2)`.

The commands of TeX are those that LaTeX with amsmath, MathJax and KaTeX all know; MathML is what
browsers show without a script.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from attncli.core.formulas import tree
from attncli.core.formulas.text import ATOM, POWER, PRODUCT, SUM, Printer
from attncli.core.text.strings import regex, visible

TEX_SIGNS = {
    "−": "-", "·": r"\cdot", "×": r"\times", "⊙": r"\odot", "≈": r"\approx",
    "≤": r"\le", "≥": r"\ge", "≠": r"\ne", "mod": r"\bmod",
    "and": r"\;\text{and}\;", "or": r"\;\text{or}\;",
}  # fmt: skip
FENCES = {
    "()": (r"\left(", r"\right)"),
    "[]": (r"\left[", r"\right]"),
    "‖‖": (r"\lVert ", r" \rVert"),
    "||": (r"\lvert ", r" \rvert"),
    "⌊⌋": (r"\left\lfloor ", r" \right\rfloor"),
}
GREEK = {
    "τ": r"\tau",
    "π": r"\pi",
    "α": r"\alpha",
    "β": r"\beta",
    "γ": r"\gamma",
    "σ": r"\sigma",
    "φ": r"\phi",
    "φ′": r"\phi'",
    "Φ": r"\Phi",
    "gate′": r"\mathrm{gate}'",
    "Σ": r"\Sigma",
} | {name: f"\\{name}" for name in ("alpha", "beta", "delta", "lambda", "phi")}
SPECIAL = {"-∞": r"-\infty", "∞": r"\infty", "": "", "…": r"\cdots", "⋮": r"\vdots", "⋱": r"\ddots"}

ESCAPES = {sign: f"\\{sign}" for sign in "{}$&#%_"} | {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
}
LIGATURE = regex(r"([-,])(?=\1)")
"""Pairs that TeX joins to a dash or a low quotation mark."""


def ascii_text(text: str) -> str:
    r"""Return text with TeX's special characters escaped and control characters made visible.

    >>> ascii_text("50% of $x_1$")
    '50\\% of \\$x\\_1\\$'
    """
    text = "".join(ESCAPES.get(c, c) for c in visible(text))
    return LIGATURE.sub(r"\1{}", text)


def number(text: str) -> str:
    """Return a number, ∞ or an ellipsis in TeX's mathematics."""
    if text in SPECIAL:
        return SPECIAL[text]
    mantissa, sign, exponent = text.partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if sign else mantissa


def letters(name: str) -> str:
    """Return a name without its subscript in TeX's mathematics."""
    if name in GREEK:
        return GREEK[name]
    if len(name) == 1 or name.isdigit():
        return name
    escaped = name.replace("_", "\\_")
    return rf"\mathrm{{{escaped}}}"


class _TeX(Printer):
    """TeX; in an exponent (`small`) a fraction is written without a line."""

    def __init__(self, escape: Callable[[str], str], small: bool = False) -> None:
        self.escape = escape
        self.small = small
        self.fraction_is_atom = not small

    def sign(self, sign: str, prefix: bool = False) -> str:
        return "{-}" if prefix else f" {TEX_SIGNS.get(sign, sign)} "

    def pause(self, sign: str) -> str:
        return f"{sign}\\ "

    def fenced(self, pair: str, text: str) -> str:
        left, right = FENCES[pair]
        return f"{left}{text}{right}"

    derivative_is_atom = False

    def name(self, node: tree.Name, first: bool) -> str:
        if (by := tree.derived(node)) is not None:
            return rf"\frac{{\partial L}}{{\partial {self(by)}}}"
        if node.base == "new":
            return rf"{self(tree.named(node.below))}^{{\mathrm{{new}}}}"
        base = letters(node.base)
        return f"{base}_{{{letters(node.below)}}}" if node.below else base

    def number(self, node: tree.Number, first: bool) -> str:
        return number(node.text)

    def words(self, node: tree.Words, first: bool) -> str:
        return rf"\text{{{self.escape(node.text)}}}"

    def dots(self, node: tree.Dots, first: bool) -> str:
        return r"\ldots"

    def omitted(self, node: tree.Omitted, first: bool) -> str:
        return rf"\dots\ \text{{{node.words}}}\ \dots"

    def cell(self, node: tree.Cell, first: bool) -> str:
        name = tree.named(node.name)
        base = self(name)
        if name.below and node.places:  # a name with a subscript takes no second one
            base = self.fenced("[]", base)
        lead = ", ".join(str(number) for _, number in node.lead)
        places = ", ".join(map(self.place, node.places))
        return base + (f"^{{({lead})}}" if lead else "") + (f"_{{{places}}}" if places else "")

    def times(self, node: tree.Times, first: bool) -> str:
        sign = node.sign.strip()
        between = self.sign(sign) if sign else "\\," if node.sign else " "
        return between.join(self.factors(node, first))

    def fraction(self, node: tree.Fraction, first: bool) -> str:
        if self.small:
            return f"{self.inside(node.over, PRODUCT, first)} / {self.inside(node.under, ATOM)}"
        return rf"\frac{{{self(node.over)}}}{{{self(node.under)}}}"

    def power(self, node: tree.Power, first: bool) -> str:
        return f"{self.inside(node.base, ATOM)}^{{{_TeX(self.escape, small=True)(node.exponent)}}}"

    def transpose(self, node: tree.Transpose, first: bool) -> str:
        return rf"{self.inside(node.operand, ATOM)}^{{\top}}"

    def root(self, node: tree.Root, first: bool) -> str:
        return rf"\sqrt{{{self(node.operand)}}}"


def tex(formula: tree.Formula, escape: Callable[[str], str] = ascii_text) -> str:
    r"""Return a formula in TeX's mathematics; `escape` writes the words in it.

    >>> from attncli.core.formulas.tree import Fraction, Root, named
    >>> tex(Fraction(named("scores"), Root(named("d_k"))))
    '\\frac{\\mathrm{scores}}{\\sqrt{d_{k}}}'
    """
    return _TeX(escape)(formula)


class MathML(Printer):
    """Elements of MathML Core; in an exponent (`small`) a fraction is written in one line."""

    def __init__(self, small: bool = False) -> None:
        self.small = small
        self.fraction_is_atom = not small

    def sign(self, sign: str, prefix: bool = False) -> str:
        if sign.isalpha():
            return f'<mspace width="0.3em"/><mtext>{sign}</mtext><mspace width="0.3em"/>'
        return f'<mo form="prefix">{sign}</mo>' if prefix else f"<mo>{_escaped(sign)}</mo>"

    def pause(self, sign: str) -> str:
        return self.sign(sign) if sign else '<mspace width="0.3em"/>'

    def fenced(self, pair: str, text: str) -> str:
        left = f'<mo form="prefix" stretchy="true" lspace="0" rspace="0">{pair[0]}</mo>'
        right = f'<mo form="postfix" stretchy="true" lspace="0" rspace="0">{pair[1]}</mo>'
        return f"<mrow>{left}{text}{right}</mrow>"

    def joined(self, parts: Iterable[str], between: str = "") -> str:
        first, *rest = parts
        return f"<mrow>{between.join((first, *rest))}</mrow>" if rest else first

    derivative_is_atom = False

    def name(self, node: tree.Name, first: bool) -> str:
        if (by := tree.derived(node)) is not None:
            over, under = "<mi>∂</mi><mi>L</mi>", f"<mi>∂</mi>{self(by)}"
            if self.small:
                return f"<mrow>{over}<mo>/</mo>{under}</mrow>"
            return f"<mfrac><mrow>{over}</mrow><mrow>{under}</mrow></mfrac>"
        if node.base == "new":
            return f"<msup>{self(tree.named(node.below))}<mtext>new</mtext></msup>"
        base = _letters(node.base)
        return f"<msub>{base}{_letters(node.below)}</msub>" if node.below else base

    def number(self, node: tree.Number, first: bool) -> str:
        if node.text == "-∞":
            return self(tree.Minus(tree.Number("∞")))
        return "<mi>∞</mi>" if node.text == "∞" else f"<mn>{digits(node)}</mn>"

    def own(self, node: tree.Own, first: bool) -> str:
        return f'<mrow data-own="{_escaped(node.key)}">{self(node.inner, first)}</mrow>'

    def words(self, node: tree.Words, first: bool) -> str:
        return f"<mtext>{_escaped(node.text)}</mtext>"

    def dots(self, node: tree.Dots, first: bool) -> str:
        return "<mo>…</mo>"

    def cell(self, node: tree.Cell, first: bool) -> str:
        name = tree.named(node.name)
        base, numbers = self(name), [tree.Number(str(number)) for _, number in node.lead]
        if numbers and (name.below or not node.places):  # written in the order of the markup
            base, numbers = f"<msup>{base}{self.group(''.join(map(self, numbers)))}</msup>", []
        below = "<mo>,</mo>".join(map(self.place, node.places))
        if numbers:
            above = self.group("".join(map(self, numbers)))
            return f"<msubsup>{base}<mrow>{below}</mrow>{above}</msubsup>"
        if name.below and below:  # a name with a subscript takes no second one: W_q[1, 1]
            left, right = (f'<mo stretchy="false">{sign}</mo>' for sign in "[]")
            return f"<mrow>{base}{left}{below}{right}</mrow>"
        return f"<msub>{base}<mrow>{below}</mrow></msub>" if below else base

    def times(self, node: tree.Times, first: bool) -> str:
        sign = node.sign.strip()
        return self.joined(self.factors(node, first), self.sign(sign) if sign else NARROW)

    def fraction(self, node: tree.Fraction, first: bool) -> str:
        if self.small:
            over, under = self.inside(node.over, PRODUCT, first), self.inside(node.under, ATOM)
            return self.joined([over, "<mo>/</mo>", under])
        return f"<mfrac>{self(node.over)}{self(node.under)}</mfrac>"

    def power(self, node: tree.Power, first: bool) -> str:
        return f"<msup>{self.inside(node.base, ATOM)}{self.smaller()(node.exponent)}</msup>"

    def smaller(self) -> MathML:
        return MathML(small=True)

    def transpose(self, node: tree.Transpose, first: bool) -> str:
        return f"<msup>{self.inside(node.operand, ATOM)}<mo>⊤</mo></msup>"

    def root(self, node: tree.Root, first: bool) -> str:
        return f"<msqrt>{self(node.operand)}</msqrt>"


NARROW = '<mspace width="0.17em"/>'
"""The space between factors without a sign."""


def mathml(formula: tree.Formula, block: bool = False, small: bool = False) -> str:
    """Return a formula as one `math` element.

    In a `block` fractions have their full size; in a `small` formula they are in one line.

    >>> mathml(tree.Name("W", "q"))
    '<math><msub><mi>W</mi><mi>q</mi></msub></math>'
    """
    style = ' display="block"' if block else ""
    return f"<math{style}>{MathML(small)(formula)}</math>"


def _escaped(text: str) -> str:
    from html import escape  # its table of names takes a millisecond that TeX does not need

    return escape(text)


def digits(number: tree.Number) -> str:
    """Return the digits of a number, with − for a hyphen."""
    return _escaped(number.text).replace("-", "−")


def _letters(name: str) -> str:
    shown = {"alpha": "α", "beta": "β", "delta": "δ", "lambda": "λ"}.get(name) or _escaped(name)
    return f"<mn>{name}</mn>" if name.isdigit() else f"<mi>{shown}</mi>"


BLOCKED = -1e300
"""The number that stands for −∞, which spreadsheets do not have; its power is 0, too."""

NEARLY_BLOCKED = -1e290
"""Numbers below this one are −∞, also after a division by a temperature. Chosen."""


class Reference(tree.Formula):
    """A cell, by its row and its column from 0."""

    row: int
    column: int

    @property
    def text(self) -> str:
        from xlsxwriter.utility import xl_rowcol_to_cell

        return str(xl_rowcol_to_cell(self.row, self.column))


class Range(tree.Formula):
    """The cells of a row, or of a column, from the first to the last."""

    first: Reference
    last: Reference

    @property
    def is_row(self) -> bool:
        return self.first.row == self.last.row


class _Spreadsheet(Printer):
    """Prints formulas as spreadsheets read them."""

    def sign(self, sign: str, prefix: bool = False) -> str:
        return sign.replace("−", "-")

    def fenced(self, pair: str, text: str) -> str:
        return f"({text})"

    def reference(self, node: Reference, first: bool) -> str:
        return node.text

    def range(self, node: Range, first: bool) -> str:
        return f"{node.first.text}:{node.last.text}"

    def number(self, node: tree.Number, first: bool) -> str:
        return node.text

    def times(self, node: tree.Times, first: bool) -> str:
        return "*".join(self.factors(node, first))

    def fraction(self, node: tree.Fraction, first: bool) -> str:
        return f"{self.inside(node.over, PRODUCT, first)}/{self.inside(node.under, POWER)}"

    def power(self, node: tree.Power, first: bool) -> str:
        return f"{self.inside(node.base, ATOM)}^{self.inside(node.exponent, ATOM)}"

    def relation(self, node: tree.Relation, first: bool) -> str:
        return node.last.join(self.inside(part, SUM) for part in node.parts)

    def root(self, node: tree.Root, first: bool) -> str:
        return f"SQRT({self(node.operand)})"

    def call(self, node: tree.Call, first: bool) -> str:
        return f"{node.function}({','.join(map(self, node.arguments))})"


def spreadsheet_text(formula: tree.Formula) -> str:
    """Return what is written into a cell for a formula.

    >>> spreadsheet_text(tree.Power(Reference(4, 2), tree.Number("2")))
    '=C5^2'
    """
    return f"={_Spreadsheet()(formula)}"
