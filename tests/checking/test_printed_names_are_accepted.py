"""Whatever the program prints as the name of a step or of cells, `attn explain` takes.

The names are read out of what is printed, by readers of their own.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from html import unescape
from pathlib import Path

import numpy as np
import pytest

import attncli
from attncli.core.calculation.trace import Trace, find, with_meant_steps, with_named_steps
from attncli.core.explaining.explain import explain_all
from attncli.core.formulas.text import text
from attncli.printing.page import page_of
from attncli.printing.selection import Selection
from tests.conftest import SAMPLES, TYPICAL_SAMPLES, Attn
from tests.support.told_in_pages import told_in

CELL = re.compile(r"[^\W\d][\w.]*\u0303?(?:\[[^\[\]]+\])+")
"""`weights[head 2][am, I]`; a letter may have a tilde over it."""

PRODUCT = re.compile(r"(?:^|= |\()([^=()‖·]+?) · ([^=/()‖·]+?)(?= =| /|\)|,|$)")
"""q_am · k_I; a label may have blanks."""

LENGTH = re.compile(r"‖([^‖−]+?)(?: − ([^‖]+))?‖")
"""‖q_am‖ and ‖q_am − k_I‖."""

SUM = re.compile(r"([^=]+) = -?[\d.e+-]+·[^·()]+(?: [+−] [^()]*)?")
"""z_I = 0.9·v_I + 0.1·v_am, alone on its line."""


SOME_SAMPLES = TYPICAL_SAMPLES[1::2]

PASSES = ("forward pass", "backward pass", "update")
"""What stands over the steps of a gradient."""


@cache
def traces(path: Path) -> list[Trace]:
    return [attncli.compute(problem) for problem in attncli.load_all(path)]


def names_in(text: str) -> Iterator[str]:
    """Yield the names of cells and rows in a line of a formula."""
    yield from CELL.findall(text)
    for rows in (*PRODUCT.findall(text), *LENGTH.findall(text)):
        yield from filter(None, rows)


def names_of_sum(line: str) -> Iterator[str]:
    """Yield z_I, v_I and v_am of z_I = 0.9·v_I + 0.1·v_am; nothing of another line."""
    if match := SUM.fullmatch(line.strip()):
        yield match[1]
        yield from re.findall(r"·(.+?)(?= [+−] |$)", line.strip())


def names_in_table(page: str) -> Iterator[str]:
    for line in page.splitlines():
        beside = re.split(r" {3,}", line.strip())  # of heads that stand side by side
        if found := [name for part in beside for name in names_of_sum(part)]:
            yield from found
        elif match := re.match(r"([^\W\d][\w.]*) (?:= |\(given\))", line):  # the heading of a step
            yield match[1]
            yield from re.findall(r",  (\w+) = ", line)


def names_in_html(page: str) -> Iterator[str]:
    yield from re.findall(r'<section class="step" id="([^"]*)">', page)
    for heading in re.findall(r'<h[23] class="formula"[^>]*>(.*?)</h[23]>', page):
        yield from re.findall(r'<span id="([^"]*)">', heading)
    yield from (told.name for told in told_in(page).values())
    for item in re.findall(r"<li>(.*?)</li>", page):
        text = item.replace("<sub>", "_")
        yield from names_of_sum(unescape(re.sub("<[^>]*>", "", text)))


def names_in_markdown(page: str) -> Iterator[str]:
    for heading in re.findall(r"^#{2,} (.*)$", page, re.MULTILINE):
        if not heading.startswith(("t = ", "Warnings", *PASSES)):  # a time step, or no step
            yield from heading.replace("\\_", "_").split(", ")
    for formula in re.findall(r"\$`(.*?)`\$", page):
        yield from names_of_sum(from_tex(formula))


def names_in_latex(page: str) -> Iterator[str]:
    for heading in re.findall(
        r"^\\attn(?:head|line)\{((?!\\begin|\\left)[^&\n]*?)(?: = |\\ \\left)", page, re.MULTILINE
    ):
        if not re.search(r"\\,| - ", heading):  # a product or a difference has no name
            yield from_tex(heading)
    for formula in re.findall(r"^\$(.*)\$\\par", page, re.MULTILINE):
        yield from names_of_sum(from_tex(formula))


def from_tex(formula: str) -> str:
    """Return a formula of one line in TeX as text."""
    formula = re.sub(r"\\frac\{\\partial L\}\{\\partial (.*)\}", r"d_\1", formula)
    formula = re.sub(r"(.*)\^\{\\mathrm\{new\}\}", r"new_\1", formula)
    formula = formula.replace("\\delta", "delta")
    text = re.sub(r"\\attnscript\{\w+\}\{(.)\}\{U\+\w+\}", r"\1", formula)
    text = re.sub(r"\\(?:mathrm|text|operatorname)\{([^{}]*)\}", r"\1", text)
    text = re.sub(r"_\{([^{}]*)\}", r"_\1", text).replace("\\_", "_")
    return unicodedata.normalize("NFC", text.replace("\\,", "·"))


READERS = {
    "table": names_in_table,
    "html": names_in_html,
    "markdown": names_in_markdown,
    "latex": names_in_latex,
}


def assert_taken(names: set[str], trace: Trace) -> None:
    for name in sorted(names):
        found = explain_all(trace, name)
        assert found, name


@pytest.mark.parametrize("number", range(len(TYPICAL_SAMPLES)))
def test_names_that_pages_print(number: int) -> None:
    path, form = TYPICAL_SAMPLES[number], [*READERS][number % len(READERS)]
    for trace in traces(path):
        names = set(READERS[form](attncli.render(trace, form, full=True, quiet=True)))
        assert names >= {step.name for step in trace}
        assert_taken(names, trace)


@pytest.mark.parametrize("path", SOME_SAMPLES, ids=lambda p: p.name)
def test_headings_that_pages_print(path: Path) -> None:
    """Formulas, inputs, and what is laid out beside results; `--only` takes them, too."""
    for trace in traces(path):
        headings: set[str] = set()
        for entry in page_of(trace, Selection()).entries:
            panels = [*entry.inputs, *(p for f in entry.figures for p in (*f.panels, *f.results))]
            headings |= {step.formula for step in entry.steps} | {text(p.name) for p in panels}
        assert_taken(headings, trace)
        for heading in headings:
            wide = with_meant_steps(trace, [heading])
            assert Selection(only=(heading,)).steps(wide), heading


@pytest.mark.parametrize("path", SOME_SAMPLES, ids=lambda p: p.name)
def test_names_and_symbols_that_files_hold(path: Path) -> None:
    for trace in traces(path):
        steps = json.loads(attncli.render(trace, "json"))["steps"]
        for name, step in steps.items():
            assert_taken({name, step["symbol"]}, trace)
            if step["symbol"] not in trace.inputs:  # A is a matrix of a network, too
                assert find(step["symbol"], trace)[1].step.symbol == step["symbol"]


@pytest.mark.parametrize("path", SOME_SAMPLES, ids=lambda p: p.name)
def test_names_that_explanations_print(path: Path) -> None:
    for trace in traces(path):
        lines = [one.line for step in trace for one in explain_all(trace, step, full=True).values()]
        names = {name for line in lines for name in names_in(line)}
        assert len(names) > 4
        assert_taken(names, trace)


@pytest.mark.parametrize(
    "path",
    [
        *(SAMPLES / f"{name}.yaml" for name in ("co_attention_padded", "mask_padding")),
        pytest.param(SAMPLES / "gradient_heads.yaml", marks=pytest.mark.whole),
        pytest.param(SAMPLES / "recurrent_state.yaml", marks=pytest.mark.whole),
        pytest.param(SAMPLES / "transformer_training.yaml", marks=pytest.mark.whole),
    ],
    ids=lambda p: p.name,
)
def test_names_that_reports_print(path: Path) -> None:
    """Of 40 steps, also of those that are left out, a sheet with its first number wrong."""
    for trace in traces(path):
        names, key = set(), attncli.AnswerKey(trace.problem)
        steps = [*with_named_steps(trace)]
        for step in steps[:: 1 + len(steps) // 40]:
            numbers = step.value.copy()
            place = np.unravel_index(np.isfinite(numbers).argmax(), numbers.shape)
            numbers[place] += 3
            report = key.check({step.name: numbers})
            record = json.loads(attncli.render(report, "json"))
            names |= set(record["steps"])
            page = attncli.render(report)
            names |= {name for line in page.splitlines() for name in names_in(line)}
        assert any("[" in name for name in names)
        assert_taken(names, trace)


def test_the_command_takes_every_name_at_once(attn: Attn) -> None:
    path = SAMPLES / "heads_cut.yaml"
    (trace,) = traces(path)
    names = sorted(names_in_table(attncli.render(trace)))
    result = attn("explain", path, *names)
    assert (result.status, result.err) == (0, "")
    assert all(f"{step.name} = " in result.out for step in trace)
