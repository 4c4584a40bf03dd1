"""Formulas as trees, and the three printers of them: text, TeX, MathML."""

from __future__ import annotations

import re
from collections import Counter
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings

import attncli
from attncli.core.formulas import cells
from attncli.core.formulas.printers import mathml, tex
from attncli.core.formulas.text import Printer, text
from attncli.core.formulas.tree import (
    Call,
    Dots,
    Fence,
    Formula,
    Fraction,
    Listed,
    Minus,
    Norm,
    Number,
    Phrase,
    Power,
    Relation,
    Root,
    Squared,
    Stack,
    Times,
    Transpose,
    Words,
    minus,
    named,
    plus,
)
from tests.conftest import SAMPLE_FILES
from tests.reading.test_written_expressions import TREES

SCORES, MASK, Q, K = named("scores"), named("mask"), named("Q"), named("K")
D_K = named("d_k")


def step(name: str, right: Formula) -> Formula:
    return Relation((named(name), right))


# Written by hand, as the papers have these lines.
WRITTEN: dict[str, tuple[Formula, str]] = {
    "scores = Q Kᵀ": (
        step("scores", Times((Q, Transpose(K)), " ")),
        r"\mathrm{scores} = Q\,K^{\top}",
    ),
    "Q = X W_q + b_q": (
        step("Q", plus(Times((named("X"), named("W_q")), " "), named("b_q"))),
        r"Q = X\,W_{q} + b_{q}",
    ),
    "scaled = scores / √d_k": (
        step("scaled", Fraction(SCORES, Root(D_K))),
        r"\mathrm{scaled} = \frac{\mathrm{scores}}{\sqrt{d_{k}}}",
    ),
    "scaled = scores / √(d_k + 1)": (
        step("scaled", Fraction(SCORES, Root(plus(D_K, Number("1"))))),
        r"\mathrm{scaled} = \frac{\mathrm{scores}}{\sqrt{d_{k} + 1}}",
    ),
    "scaled = scores · 2/3": (
        step("scaled", Times((SCORES, Fraction(Number("2"), Number("3"), True)), " · ")),
        r"\mathrm{scaled} = \mathrm{scores} \cdot \frac{2}{3}",
    ),
    "scaled = scores · (−1)": (
        step("scaled", Times((SCORES, Minus(Number("1"))), " · ")),
        r"\mathrm{scaled} = \mathrm{scores} \cdot \left({-}1\right)",
    ),
    "scaled = scores · 1e-09": (
        step("scaled", Times((SCORES, Number("1e-09")), " · ")),
        r"\mathrm{scaled} = \mathrm{scores} \cdot 1 \cdot 10^{-9}",
    ),
    "exp = e^scores": (
        step("exp", Power(named("e"), SCORES)),
        r"\mathrm{exp} = e^{\mathrm{scores}}",
    ),
    "exp = 2^(scores / 2)": (
        step("exp", Power(Number("2"), Fraction(SCORES, Number("2")))),
        r"\mathrm{exp} = 2^{\mathrm{scores} / 2}",
    ),
    "exp = e^(scoresᵀ)": (
        step("exp", Power(named("e"), Transpose(SCORES))),
        r"\mathrm{exp} = e^{\mathrm{scores}^{\top}}",
    ),
    "sum = exp summed over keys": (
        step("sum", Phrase((named("exp"), Words("summed over keys")))),
        r"\mathrm{sum} = \mathrm{exp}\ \text{summed over keys}",
    ),
    "masked = scores, −∞ where mask = 0": (
        step(
            "masked",
            Listed(
                (
                    SCORES,
                    Phrase((Minus(Number("∞")), Words("where"), Relation((MASK, Number("0"))))),
                )
            ),
        ),
        r"\mathrm{masked} = \mathrm{scores},\ {-}\infty\ \text{where}\ \mathrm{mask} = 0",
    ),
    "hidden = tanh(X Wᵀ + b)": (
        step(
            "hidden",
            Call("tanh", (plus(Times((named("X"), Transpose(named("W"))), " "), named("b")),)),
        ),
        r"\mathrm{hidden} = \mathrm{tanh}\left(X\,W^{\top} + b\right)",
    ),
    "scores = Q Kᵀ / (‖Q‖ ‖K‖)": (
        step("scores", Fraction(Times((Q, Transpose(K)), " "), Times((Norm(Q), Norm(K)), " "))),
        r"\mathrm{scores} = \frac{Q\,K^{\top}}{\lVert Q \rVert\,\lVert K \rVert}",
    ),
    "scores = −‖q − k‖² / (2·3²)": (
        step(
            "scores",
            Fraction(
                Minus(Squared(Norm(minus(named("q"), named("k"))))),
                Times((Number("2"), Squared(Number("3")))),
            ),
        ),
        r"\mathrm{scores} = \frac{{-}\lVert q - k \rVert^{2}}{2 \cdot 3^{2}}",
    ),
    "h_1 [h_0; …; h_3]ᵀ": (
        Times((named("h_1"), Transpose(Stack((named("h_0"), Dots(), named("h_3"))))), " "),
        r"h_{1}\,\left[h_{0};\ \ldots;\ h_{3}\right]^{\top}",
    ),
    "(W_k h_1)ᵀ": (
        Transpose(Times((named("W_k"), named("h_1")), " ")),
        r"\left(W_{k}\,h_{1}\right)^{\top}",
    ),
    "max(scores − τ, 0)": (
        Call("max", (minus(SCORES, named("τ")), Number("0"))),
        r"\mathrm{max}\left(\mathrm{scores} - \tau,\ 0\right)",
    ),
    "K (given)": (Phrase((K, Fence(Words("given")))), r"K\ \left(\text{given}\right)"),
}


@pytest.mark.parametrize("shown", WRITTEN)
def test_text_and_tex(shown: str) -> None:
    formula, in_tex = WRITTEN[shown]
    assert text(formula) == shown
    assert tex(formula) == in_tex


def test_mathml_is_that_of_the_specification() -> None:
    """Fractions, roots, subscripts and exponents are the elements that MathML Core has for them."""
    assert mathml(Fraction(SCORES, Root(D_K))) == (
        "<math><mfrac><mi>scores</mi><msqrt><msub><mi>d</mi><mi>k</mi></msub></msqrt></mfrac></math>"
    )
    assert mathml(Transpose(K)) == "<math><msup><mi>K</mi><mo>⊤</mo></msup></math>"


def test_every_printer_prints_every_node() -> None:
    def of_notation(kinds: list[type]) -> list[type]:
        # Formulas of cells have nodes of their own, and no other node than those of arithmetic.
        return [kind for kind in kinds if kind.__module__ != cells.__name__]

    nodes = {node.__name__.lower() for node in of_notation(Formula.__subclasses__())}
    assert len(nodes) > 20
    for printer in of_notation(Printer.__subclasses__()):
        assert nodes <= {name for name in dir(printer) if not name.startswith("_")}, printer


@pytest.fixture(scope="module")
def notations() -> dict[str, Formula]:
    """Return every formula and note of every sample by its text."""
    found: dict[str, Formula] = {}
    for path in SAMPLE_FILES:
        for problem in attncli.load_all(path):
            trace = attncli.compute(problem)
            for made in trace:
                found[made.formula] = made.notation
                if made.note is not None:
                    found[text(made.note)] = made.note
    return found


def test_no_letter_or_digit_is_lost(notations: dict[str, Formula]) -> None:
    """What stands in the MathML of a formula, read element by element, is what it is made of."""
    assert len(notations) > 90
    for shown, formula in notations.items():
        tree = ElementTree.fromstring(mathml(formula))
        read = "".join(tree.itertext())
        # A derivative d_Q is ∂L/∂Q there; d_k is a size.
        written = re.sub(r"\bd_(?!(?:[kvq]|model)\b)", "L", shown).replace("delta", "δ")
        written = written.replace("alpha", "α").replace("beta", "β").replace("lambda", "λ")
        written = written.replace("²", "2").replace("_", "")
        letters = Counter(re.findall(r"[^\W_ᵀ]", written))
        assert Counter(re.findall(r"[^\W_ᵀ]", read)) == letters, shown
        assert read.count("⊤") == shown.count("ᵀ"), shown


@settings(deadline=None, max_examples=300, derandomize=True, database=None)
@given(TREES)
def test_all_printers_show_the_same_letters_and_digits(formula: Formula) -> None:
    """Of any tree; a root is a sign in text, a command in TeX and an element in MathML."""
    plain = Counter(re.findall(r"[^\W_]", text(formula)))
    read = "".join(ElementTree.fromstring(mathml(formula)).itertext())
    assert Counter(re.findall(r"[^\W_]", read)) == plain
    assert_braces_are_closed(tex(formula))


def test_every_brace_of_tex_is_closed(notations: dict[str, Formula]) -> None:
    for formula in notations.values():
        assert_braces_are_closed(tex(formula))


def assert_braces_are_closed(written: str) -> None:
    assert written.isascii()
    depth = 0
    for sign in re.findall(r"(?<!\\)[{}]", written):
        depth += 1 if sign == "{" else -1
        assert depth >= 0, written
    assert depth == 0, written
    assert written.count(r"\left") == written.count(r"\right")


@pytest.mark.parametrize(
    ("scale", "shown"),
    [
        ("1/(2*d_k)", r"\frac{\mathrm{scores}}{2 \cdot d_{k}}"),
        ("1/(d_k + 1)", r"\frac{\mathrm{scores}}{d_{k} + 1}"),
        ("1/d_k^2", r"\frac{\mathrm{scores}}{d_{k}^{2}}"),
    ],
)
def test_a_longer_divisor_stands_whole_under_the_line(scale: str, shown: str) -> None:
    trace = attncli.compute(attncli.Problem(X=[[1, 2, 3], [2, 3, 4]], scale=scale))
    assert tex(trace["scaled"].notation) == rf"\mathrm{{scaled}} = {shown}"
