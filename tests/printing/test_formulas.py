"""Formulas as trees, and the three printers of them: text, TeX, MathML."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any
from xml.etree import ElementTree

from hypothesis import given, settings

import attncli
from attncli.core.formulas import printers
from attncli.core.formulas.text import Printer
from attncli.core.formulas.text import text as as_text
from attncli.core.formulas.tree import Formula
from tests.conftest import SAMPLES, cases, table
from tests.reading.test_written_expressions import TREES


@cases("formulas", "written", ids=[row["text"] for row in table("formulas", "written")])
def test_formulas_are_written_as_in_papers(
    source: str | dict[str, Any], step: str, text: str, tex: str
) -> None:
    if isinstance(source, str):
        problem = attncli.load(SAMPLES / f"{source}.yaml")
    else:
        problem = attncli.Problem(**source)
    made = attncli.compute(problem)[step]
    assert made.formula == text
    assert printers.tex(made.notation) == tex


def test_mathml_is_that_of_the_specification() -> None:
    """Fractions, roots, subscripts and exponents are the elements that MathML Core has for them."""
    trace = attncli.compute(attncli.Problem(X=[[1, 2]]))
    of_scores, of_scaled = (printers.mathml(trace[name].notation) for name in ("scores", "scaled"))
    assert "<msup><mi>K</mi><mo>⊤</mo></msup>" in of_scores
    root = "<msqrt><msub><mi>d</mi><mi>k</mi></msub></msqrt>"
    assert f"<mfrac><mi>scores</mi>{root}</mfrac>" in of_scaled


def test_every_printer_prints_every_node() -> None:
    # Formulas of cells have nodes of their own, and no other node than those of arithmetic.
    of_cells = (printers.Reference, printers.Range, printers._Spreadsheet)
    nodes = {node.__name__.lower() for node in Formula.__subclasses__() if node not in of_cells}
    assert len(nodes) > 20
    for printer in (one for one in Printer.__subclasses__() if one not in of_cells):
        assert nodes <= {name for name in dir(printer) if not name.startswith("_")}, printer


@settings(deadline=None, max_examples=100, derandomize=True, database=None)
@given(TREES)
def test_all_printers_show_the_same_letters_and_digits(formula: Formula) -> None:
    """Of any tree; a root is a sign in text, a command in TeX and an element in MathML."""
    plain = Counter(re.findall(r"[^\W_]", as_text(formula)))
    read = "".join(ElementTree.fromstring(printers.mathml(formula)).itertext())
    assert Counter(re.findall(r"[^\W_]", read)) == plain
    assert_braces_are_closed(printers.tex(formula))


def assert_braces_are_closed(written: str) -> None:
    assert written.isascii()
    depth = 0
    for sign in re.findall(r"(?<!\\)[{}]", written):
        depth += 1 if sign == "{" else -1
        assert depth >= 0, written
    assert depth == 0, written
    assert written.count(r"\left") == written.count(r"\right")
