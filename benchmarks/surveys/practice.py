"""A survey of what is typed on the practice page: its scripts and `check` judge the same cells.

`benchmarks/practice.py` runs it with thousands, and records the sample of the suite.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from math import isfinite, log
from random import Random
from typing import Any

import numpy as np

import attncli
import attncli.checking.judging.judged_steps
import attncli.classroom.answer_table
import attncli.core.tape.step
import attncli.pages.practice
import attncli.printing.formats
import attncli.printing.worksheet
from attncli.core.explaining.explain import is_blank
from benchmarks.oracles.handwriting import written
from benchmarks.oracles.homework import draw
from benchmarks.surveys.test_correct_answers import WISHES
from tests.conftest import SAMPLES
from tests.support.practice_page import (
    MAY_SAY,
    WORKSHEET,
    Page,
    is_named,
    page_script,
    report_on,
    said_by_check,
)

JUNK = (
    *("abc", "1,5,2", "1.2.3", "1/2/2024", "-", "1/0", "sqrt(-1)", "1,234", "inf", "nan", "1.5.2"),
    *(
        "true",
        "2 3",
        "sqrt 4",
        "(1",
        "1)",
        "1e400",
        "1e-400",
        "1/2√3",
        "0x",
        "½",
        "1_000",
        "e",
        "--1",
    ),
)
"""What is hardly a number, or none."""

BLANK = ("", "~", "?", "_", "  ")
ASKED: tuple[dict[str, Any], ...] = ({}, {}, {}, {"decimals": 2}, {"tolerance": 0.01})


def problems(random: Random) -> Iterator[attncli.Problem]:
    """Yield problems of all kinds, with and without marking and rounded steps."""
    rng = np.random.default_rng(random.randrange(2**32))
    samples = [path for path in sorted(SAMPLES.glob("*.yaml")) if "large" not in path.name]
    for number in range(10**6):
        if number % 3 == 2:
            given = attncli.load(random.choice(samples)).written
        else:
            sort = random.choice(("integers", "decimals", "heads"))
            given = draw(rng, sort, **WISHES[number % len(WISHES)]).problem()
        more: dict[str, Any] = {"marking": ASKED[number % len(ASKED)]}
        if number % 7 == 3:
            more["round"] = {"decimals": random.choice((2, 3))}
        yield attncli.Problem(**{**given, **{k: v for k, v in more.items() if v}})


def typed(random: Random, number: float, others: list[float]) -> tuple[str, str]:
    """Return what somebody may type for a right number, and of what sort it is."""
    sort = random.choice(
        ("right", "right", "right", "last", "cut", "wrong", "blank", "fraction", "comma", "odd")
    )
    if sort == "blank":
        return sort, random.choice(BLANK)
    if sort == "odd":
        return sort, random.choice((*JUNK, "0", "1", "0.0", "-0", "100", "1.0"))
    if not isfinite(number):
        return "blocked", random.choice(("-inf", "-∞", "−∞", "-1e9", "-oo", "0", "-999"))
    count = random.choice((0, 1, 1, 2, 2, 2, 3, 4, 6))
    if sort == "wrong":
        near = (number + random.choice((0.3, -1, 10)), -number, random.choice(others), number * 2)
        chosen = random.choice([x for x in near if isfinite(x)])
        return sort, written(chosen, count, False)
    if sort == "last":
        text = written(number + random.choice((1, -1)) * 10.0**-count, count, False)
        return sort, text
    if sort == "cut":
        return sort, written(int(number * 10**count) / 10**count, count, False)
    if sort == "fraction" and (found := exact_form(random, number)):
        return sort, found
    text = written(number, random.choice((2, 3, 4)) if count == 0 else count, count == 6)
    if sort == "comma":
        return sort, text.replace(".", ",")
    ways = [text, text, f"≈{text}", f"{text}0", text.replace("-", "−"), f"+{text.lstrip('-')}"]
    ways += [f"about {text}", f"≈ {text}"]
    if abs(number) <= 1:
        ways.append(f"{written(100 * number, max(count - 2, 0), False)}%")
    return sort, random.choice(ways)


def exact_form(random: Random, number: float) -> str:
    """Return a number as a fraction, a root or a power, if it is one; or as one of decimals."""
    near = Fraction(number).limit_denominator(60)
    if abs(float(near) - number) < 1e-12:
        ways = [f"{near.numerator}/{near.denominator}", f"({near.numerator})/{near.denominator}"]
        if number >= 0:
            ways.append(f"sqrt({near.numerator**2}/{near.denominator**2})")
        return random.choice(ways)
    square = Fraction(number * number).limit_denominator(60)
    if abs(float(square) - number * number) < 1e-12:
        sign = "-" if number < 0 else ""
        return f"{sign}sqrt({square})" if square.denominator > 1 else f"{sign}√{square}"
    if number > 0:
        power = Fraction(log(number)).limit_denominator(60)
        if abs(float(power) - log(number)) < 1e-12:
            return random.choice((f"e^({power})", f"exp({power})"))
    divisor = random.choice((1.73, 1.41, 2.5))
    return f"{written(number * divisor, 2, False)}/{divisor}"


def survey(count: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Compare what the page and `check` say of typed numbers; return the counts, and what differs.

    Each step of a problem is filled in by itself, and all its numbers are judged.
    """
    random = Random(seed)
    tally: Counter[str] = Counter()
    wrong: list[str] = []
    script = page_script()
    source = problems(random)
    while sum(tally.values()) < count:
        problem = next(source)
        try:
            sheets = list(_sheets(random, problem))
        except attncli.InputError:  # a problem that cannot be calculated
            continue
        trace = attncli.compute(problem)
        page, key = Page(script, trace), attncli.AnswerKey(problem)
        for name, texts, sorts in sheets:
            codes, mistake = page.says(name, texts)
            expected = said_by_check(key, name, texts)
            if mistake and not is_named(key, name, texts, mistake):
                wrong.append(
                    f"only the page names {mistake!r}: {texts} in {name}; {problem.written}"
                )
            rows = zip(texts, sorts, codes, expected, strict=True)
            for place, (text, sort, one, other) in enumerate(rows):
                tally[f"{sort}: {other}" + (" (page: unsure)" if one == "unsure" else "")] += 1
                if one not in MAY_SAY.get(other, (other,)):
                    value = trace[name].value.ravel()[place]
                    told = f"{name}[{place}] = {value!r}, typed {text!r} among {texts}"
                    wrong.append(f"page {one}, check {other}: {told}; {problem.written}")
    return tally, wrong


def survey_of_mistakes(count: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Compare the mistakes that the page and `check` name; some cells of a step have been typed."""
    random = Random(seed)
    tally: Counter[str] = Counter()
    wrong: list[str] = []
    script = page_script()
    source = problems(random)
    while sum(tally.values()) < count:
        problem = next(source)
        try:
            trace = attncli.compute(problem)
        except attncli.InputError:  # a problem that cannot be calculated
            continue
        page, key = Page(script, trace), attncli.AnswerKey(problem)
        names = page.data["steps"].keys()
        every = attncli.classroom.answer_table.wrong_numbers(trace.unrounded or trace, names, 6)
        for name in names:
            found = [
                one
                for one in every
                if one.step == name and one.numbers.size <= 40 and is_writable(one.numbers)
            ]
            for mistake in random.sample(found, min(2, len(found))):
                right = trace[name].value.ravel().tolist()
                texts = _some_typed(random, mistake.numbers.ravel().tolist(), right)
                codes, says = page.says(name, texts)
                finding = report_on(key, name, texts)[0].findings.get(name)
                by_check = "one" if finding and finding.id not in LOCAL else "none"
                by_page = "one" if says else "none"
                if not says and codes.count("wrong") < 2:
                    by_page += " (fewer than two are surely wrong)"
                tally[f"{by_check} by check, {by_page} by the page"] += 1
                if says and not is_named(key, name, texts, says):
                    told = finding.sentence(solution=False) if finding else "nothing"
                    wrong.append(
                        f"page {says!r}, check {told!r}: {texts} in {name}; {problem.written}"
                    )
    return tally, wrong


def is_writable(numbers: Any) -> bool:
    """Return True if somebody may write the digits of numbers."""
    return bool((np.abs(numbers[np.isfinite(numbers)]) < 1e12).all())


LOCAL = ("single_cell_slip", "few_cells_slip", "row_slip", "column_slip")
"""Findings that only say where numbers are wrong."""


def _some_typed(random: Random, numbers: list[float], right: list[float]) -> list[str]:
    decimals = random.choice((1, 2, 2, 2, 3, 4))
    share = random.choice((0.3, 0.6, 1, 1))
    texts = []
    for number, other in zip(numbers, right, strict=True):
        chosen = other if random.random() < 0.02 else number
        text = "-inf" if not isfinite(chosen) else written(chosen, decimals, False)
        texts.append(text if random.random() < share else "")
    return texts


def _sheets(random: Random, problem: attncli.Problem) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield one or two of the steps that are open, with what is typed and of what sort it is."""
    trace = attncli.compute(problem)
    room = attncli.printing.worksheet.room_of(trace, WORKSHEET)
    steps = [*room.blank.values()]
    for step in random.sample(steps, min(2, len(steps))):
        right = step.value.ravel().tolist()
        if len(right) > 40:
            continue
        pairs = [typed(random, number, right) for number in right]
        other = _otherwise(random, trace, step)
        if other is not None and random.random() < 0.5:
            numbers = other.ravel().tolist()
            texts = [written(x, 3, False) if isfinite(x) else "-inf" for x in numbers]
            yield step.name, texts, ["another way"] * len(texts)
        if random.random() < 0.5:  # a sheet in one hand: as many decimals everywhere
            pairs = [
                ("right", written(x, 2, False)) if isfinite(x) else ("right", "-inf") for x in right
            ]
            place = random.randrange(len(right))
            pairs[place] = typed(random, right[place], right)
        if isinstance(step.operation, attncli.core.tape.step.Operation):
            for place, at in enumerate(np.ndindex(step.value.shape)):
                if is_blank(step, at):  # there is no field
                    pairs[place] = ("blank", "")
        yield step.name, [text for _, text in pairs], [sort for sort, _ in pairs]


def _otherwise(random: Random, trace: attncli.Trace, step: attncli.Step) -> Any:
    """Return the numbers of a step by another right way, such as a shifted exponent, or None."""
    kinds = [kind for kind in ("scaled", "masked") if step.name.replace("scores", kind) in trace]
    masked = next((one.value for one in trace if one.name == "masked"), None)
    if masked is not None and step.name in ("scores", "scaled") and random.random() < 0.5:
        return np.where(masked == -np.inf, masked, step.value)
    if masked is not None and step.name == "masked" and "scores" in trace:
        return np.where(masked == -np.inf, masked, trace["scores"].value)
    if step.name.startswith("scores") and kinds:
        return trace[step.name.replace("scores", random.choice(kinds))].value
    powers = step.name.replace("sum", "exp")
    if powers.startswith("exp") and powers in trace and trace[powers].value.ndim > 1:
        exp = trace[powers].value
        shifted = exp / np.maximum(exp.max(axis=-1, keepdims=True), 1e-300)
        found = shifted if powers == step.name else shifted.sum(axis=-1, keepdims=True)
        return found if found.shape == step.value.shape else None
    return None
