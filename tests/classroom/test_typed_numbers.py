"""Whatever is typed on the practice page, its scripts and `attn check` judge it alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from math import inf, isfinite
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import attncli
from attncli.core.explaining.explain import is_blank
from attncli.core.tape.evaluation import Replay
from attncli.core.tape.step import Operation
from attncli.pages.answer_table import wrong_numbers
from tests.conftest import SAMPLES, TYPICAL_SAMPLES
from tests.support.practice_page import Page, Typed, is_named, page_script, said_by_check

PROBLEMS = [path.stem for path in TYPICAL_SAMPLES if path.suffix == ".yaml"]
ASKED: list[dict[str, Any]] = [
    {},
    {"marking": {"decimals": 2}},
    {"marking": {"tolerance": 0.01}},
    {"round": {"decimals": 2}},
]
LARGEST_STEP = 40
"""Maximum number of cells of a step that is filled in."""

ODD = (
    *("", "~", "?", "_", "  ", "0.0", "1.0", "abc", "1,5,2", "1.2.3"),
    *("1/2/2024", "-", "1/0", "sqrt(-1)", "1,234", "inf", "nan", "true", "2 3", "sqrt 4", "(1"),
    *("1)", "1e400", "1e-400", "1/2√3", "0x", "½", "-1⅓", "2.5·10⁻²", "10²", "1_000", "e", "--1"),
)
"""What is blank, hardly a number, or none."""


script = cache(page_script)


@cache
def sheet_of(name: str, asked: int) -> tuple[Page, attncli.AnswerKey]:
    """Return the practice page of a sample, and its key."""
    written = attncli.load(SAMPLES / f"{name}.yaml").written
    problem = attncli.Problem(**{**written, **ASKED[asked]})
    return Page(script(), attncli.compute(problem)), attncli.AnswerKey(problem)


sheets = st.builds(sheet_of, st.sampled_from(PROBLEMS), st.integers(0, len(ASKED) - 1))


def steps_of(page: Page) -> list[str]:
    """Return the steps that may be filled in and are not too large."""
    return [name for name in page.asked if page.trace[name].value.size <= LARGEST_STEP]


@st.composite
def typed(draw: st.DrawFn, number: float) -> str:
    """Type the right number, one near it, another way to write it, or anything."""
    sort = draw(st.sampled_from(("right",) * 3 + ("last", "cut", "wrong", "exact", "odd")))
    if sort == "odd":
        return draw(st.sampled_from(ODD))
    if not isfinite(number):
        return draw(st.sampled_from(("-inf", "-∞", "−∞", "-1e9", "-oo", "0", "-999")))
    decimals = draw(st.sampled_from((1, 2, 2, 2, 3, 4, 6)))
    if sort == "exact":
        near = Fraction(number).limit_denominator(60)
        square = Fraction(number * number).limit_denominator(60)
        if abs(near - Fraction(number)) < 1e-12:
            return draw(st.sampled_from((str(near), f"({near.numerator})/{near.denominator}")))
        if abs(float(square) - number * number) < 1e-12:
            return f"{'-' * (number < 0)}sqrt({square})"
        return f"{number * 1.41:.2f}/1.41"
    unit = 10.0**-decimals
    number = {
        "right": number,
        "last": number + draw(st.sampled_from((unit, -unit))),
        "cut": int(number / unit) * unit,
        "wrong": number * draw(st.sampled_from((2, -1))) + draw(st.sampled_from((0, 0.3, -1, 10))),
    }[sort]
    text = f"{number:.{decimals}f}"
    ways = [text, text, f"≈{text}", f"about {text}", text.replace(".", ","), text.replace("-", "−")]
    ways += [f"{text}0" if decimals else text, f"{number * 100:.1f}%"]
    ways.append(f"+{text}".replace("+-", "-"))
    return draw(st.sampled_from(ways))


def other_ways(trace: attncli.Trace, step: attncli.Step) -> Iterator[Any]:
    """Yield a step by other right ways: masked earlier, or with shifted exponents."""
    name, right = step.name, step.value
    if trace.unrounded is not None:  # these are right for numbers that were not rounded
        return
    if "masked" in trace and name in ("scores", "scaled"):
        yield np.where(trace["masked"].value == -inf, -inf, right)
    if "masked" in trace and name == "masked":
        yield np.where(right == -inf, -inf, trace["scores"].value)
    if name == "scores" and "scaled" in trace:
        yield trace["scaled"].value
    if name in ("exp", "sum") and "exp" in trace:
        shifted = trace["exp"].value / trace["exp"].value.max(axis=-1, keepdims=True)
        yield shifted if name == "exp" else shifted.sum(axis=-1, keepdims=True)


@given(st.data())
@settings(max_examples=12, deadline=None)
def test_the_page_judges_what_is_typed_as_check_does(data: st.DataObject) -> None:
    page, key = data.draw(sheets)
    step = page.trace[data.draw(st.sampled_from(steps_of(page)))]
    others = [x for x in other_ways(page.trace, step) if x.shape == step.value.shape]
    numbers = data.draw(st.sampled_from([step.value, *others]))
    texts = [f"{x:.3f}" if isfinite(x) else "-inf" for x in numbers.ravel().tolist()]
    for place, at in enumerate(np.ndindex(step.value.shape)):
        if isinstance(step.operation, Operation) and is_blank(step, at):
            texts[place] = ""  # there is no field
        elif numbers is step.value and data.draw(st.booleans()):
            texts[place] = data.draw(typed(float(numbers[at])))
    codes, mistake = page.says(step.name, texts)
    expected = said_by_check(key, {step.name: texts})[step.name]
    for text, by_page, by_check in zip(texts, codes, expected, strict=True):
        assert by_page in ("unsure", by_check), f"{text} among {texts} in {step.name}"
    assert not mistake or is_named(key, {step.name: texts}, step.name, mistake), (step.name, texts)


def typed_by_a_student(trace: attncli.Trace, random: Random) -> Typed:
    """Return what a student types who rounds, skips steps, makes errors and goes on with them."""
    decimals, share = random.choice((1, 2, 2, 2, 3, 4)), random.choice((0.3, 0.8, 1.0))
    unit, errors = 10.0**-decimals, random.choice((0.0, 0.03, 0.1))
    own, typed = dict[str, Any](), dict[str, list[str]]()
    work: Replay[Any] = Replay(trace, lambda step: own.get(step.name))

    def write(x: float) -> str:
        if random.random() < errors:
            x = random.choice((-x, 2 * x, x + 1, x - 0.5, x + unit, x - 2 * unit))
        places = 0 if isfinite(x) and abs(x - round(x)) < 1e-9 else decimals
        return f"{x:.{places}f}"

    for step in (step for step in trace if random.random() < share):
        texts = [*map(write, np.broadcast_to(work.result(step), step.array.shape).flat)]
        own[step.name] = np.reshape([*map(float, texts)], step.array.shape)
        cells = np.reshape(np.array(texts, object), step.array.shape)
        typed[step.name] = step.on_paper(cells).ravel().tolist()
    return typed


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_page_judges_whole_submissions_as_check_does(name: str) -> None:
    """It says the same of each number, or that it cannot tell, which it says of few."""
    counts: Counter[bool] = Counter()
    for seed in range(4):
        page, key = sheet_of(name, seed % 2)  # 1: with decimals; it often cannot tell
        typed = typed_by_a_student(page.trace, Random(f"{name} {seed}"))
        by_page, by_check = page.judges(typed), said_by_check(key, typed)
        for step, texts in typed.items():
            for text, mine, theirs in zip(texts, by_page[step][0], by_check[step], strict=True):
                assert mine in ("unsure", theirs), (text, step, mine, theirs, typed)
                counts[mine == "unsure"] += 1 - seed % 2
            assert not by_page[step][1] or is_named(key, typed, step, by_page[step][1]), typed
    assert counts[True] <= 0.15 * counts.total(), counts


@cache
def mistakes_of(page: Page) -> list[Any]:
    """Return the numbers that mistakes give, in steps that are not too large."""
    every = wrong_numbers(page.trace.unrounded or page.trace, steps_of(page), 6)
    return [one for one in every if np.abs(one.numbers[np.isfinite(one.numbers)]).max() < 1e12]


@given(st.data())
@settings(max_examples=12, deadline=None)
def test_the_page_names_no_other_mistake_than_check(data: st.DataObject) -> None:
    """Of the numbers of a mistake some have been typed, and some of these are right."""
    page, key = data.draw(sheets)
    one = data.draw(st.sampled_from(mistakes_of(page)))
    right = page.trace[one.step].value.ravel().tolist()
    decimals = data.draw(st.integers(1, 4))
    kinds = st.sampled_from(("wrong",) * 6 + ("right", "blank"))
    texts = []
    for number, other in zip(one.numbers.ravel().tolist(), right, strict=True):
        kind = data.draw(kinds)
        chosen = other if kind == "right" else number
        text = f"{chosen:.{decimals}f}" if isfinite(chosen) else "-inf"
        texts.append("" if kind == "blank" else text)
    _, mistake = page.says(one.step, texts)
    assert not mistake or is_named(key, {one.step: texts}, one.step, mistake), (one.step, texts)
