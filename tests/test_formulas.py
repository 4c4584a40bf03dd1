"""The notation of operations, read as a tree and written for TeX and for browsers."""

from __future__ import annotations

import re
from collections import Counter
from xml.etree import ElementTree

import pytest

import attncli
from attncli.rendering.documents.formulas import Words, formula
from attncli.rendering.documents.mathml import mathml
from attncli.rendering.documents.tex import maths
from attncli.tape.step import Operation
from tests.conftest import SAMPLE_FILES

NAMES = {"scores", "scaled", "exp", "sum", "weights", "mask", "output", "hidden"}

# Written by hand, as the papers have these lines.
IN_TEX = {
    "scores = Q Kᵀ": r"\mathrm{scores} = Q\,K^{\top}",
    "Q = X W_q + b_q": r"Q = X\,W_{q} + b_{q}",
    "scaled = scores / √d_k": r"\mathrm{scaled} = \frac{\mathrm{scores}}{\sqrt{d_{k}}}",
    "scaled = scores / √(d_k + 1)": r"\mathrm{scaled} = \frac{\mathrm{scores}}{\sqrt{d_{k} + 1}}",
    "scaled = scores · 2/3": r"\mathrm{scaled} = \mathrm{scores} \cdot \frac{2}{3}",
    "scaled = scores · -1": r"\mathrm{scaled} = \mathrm{scores} \cdot {-}1",
    "scaled = scores · 1e-09": r"\mathrm{scaled} = \mathrm{scores} \cdot 1 \cdot 10^{-9}",
    "exp = e^scores": r"\mathrm{exp} = e^{\mathrm{scores}}",
    "exp = 2^(scores / 2)": r"\mathrm{exp} = 2^{\mathrm{scores} / 2}",
    "exp = e^(scoresᵀ)": r"\mathrm{exp} = e^{\mathrm{scores}^{\top}}",
    "sum = exp summed over keys": r"\mathrm{sum} = \mathrm{exp}\ \text{summed over keys}",
    "scores = −∞ where mask = 0": r"\mathrm{scores} = {-}\infty\ \text{where}\ \mathrm{mask} = 0",
    "hidden = tanh(X Wᵀ + b)": r"\mathrm{hidden} = \mathrm{tanh}\left(X\,W^{\top} + b\right)",
    "scores = Q Kᵀ / (‖Q‖ ‖K‖)": (
        r"\mathrm{scores} = \frac{Q\,K^{\top}}{\lVert Q \rVert\,\lVert K \rVert}"
    ),
    "scores = −‖q − k‖² / (2·3²)": (
        r"\mathrm{scores} = \frac{{-}\lVert q - k \rVert^{2}}{2 \cdot 3^{2}}"
    ),
    "h_1 [h_0; …; h_3]ᵀ": r"h_{1}\,\left[h_{0};\ \ldots;\ h_{3}\right]^{\top}",
    "(W_k h_1)ᵀ": r"\left(W_{k}\,h_{1}\right)^{\top}",
    "max(scores − τ, 0)": r"\mathrm{max}\left(\mathrm{scores} - \tau,\ 0\right)",
}


@pytest.mark.parametrize("text", IN_TEX)
def test_tex(text: str) -> None:
    assert maths(formula(text, NAMES)) == IN_TEX[text]


def test_mathml_is_that_of_the_specification() -> None:
    """Fractions, roots, subscripts and exponents are the elements that MathML Core has for them."""
    assert mathml(formula("scores / √d_k", NAMES)) == (
        "<math><mfrac><mi>scores</mi><msqrt><msub><mi>d</mi><mi>k</mi></msub></msqrt></mfrac></math>"
    )
    assert mathml(formula("Kᵀ")) == "<math><msup><mi>K</mi><mo>⊤</mo></msup></math>"


def notations() -> dict[str, set[str]]:
    """Return every formula and note of every sample with the names that it may use."""
    found: dict[str, set[str]] = {}
    for path in SAMPLE_FILES:
        for problem in attncli.load_all(path):
            trace = attncli.compute(problem)
            names = {*trace.steps, *trace.inputs}
            for step in trace:
                found[step.formula] = names
                if isinstance(step.operation, Operation) and step.operation.note:
                    found[step.operation.note] = names
    return found


NOTATIONS = notations()


def test_there_are_many_notations() -> None:
    assert len(NOTATIONS) > 90


@pytest.mark.parametrize("text", NOTATIONS)
def test_no_letter_or_digit_is_lost(text: str) -> None:
    """What stands in the MathML of a formula, read element by element, is what it is made of."""
    tree = ElementTree.fromstring(mathml(formula(text, NOTATIONS[text])))
    shown = "".join(tree.itertext())
    written = text.replace("²", "2").replace("_", "")
    assert Counter(re.findall(r"[^\W_ᵀ]", shown)) == Counter(re.findall(r"[^\W_ᵀ]", written))
    assert shown.count("⊤") == text.count("ᵀ")
    assert not isinstance(formula(text, NOTATIONS[text]), Words), "it was read, not only copied"


@pytest.mark.parametrize("text", NOTATIONS)
def test_every_brace_of_tex_is_closed(text: str) -> None:
    tex = maths(formula(text, NOTATIONS[text]))
    assert tex.isascii()
    depth = 0
    for sign in re.findall(r"(?<!\\)[{}]", tex):
        depth += 1 if sign == "{" else -1
        assert depth >= 0
    assert depth == 0
    assert tex.count(r"\left") == tex.count(r"\right")


@pytest.mark.parametrize("text", ["", "a $ b", "(a", "a)", "a +", "√", "^2", "[a; b", "‖q"])
def test_what_is_not_in_the_notation_stands_as_text(text: str) -> None:
    assert formula(text) == formula(text) or isinstance(formula(text), Words)
    node = formula(text)
    assert isinstance(node, Words)
    assert node.text == text


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
    text = maths(formula(trace["scaled"].formula, NAMES))
    assert text == rf"\mathrm{{scaled}} = {shown}"
