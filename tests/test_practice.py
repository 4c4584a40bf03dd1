"""The practice page: its script judges as `check` does; in a real browser, its hints and keys.

`python -m tests.test_practice 2000` compares 2,000 typed numbers with what `check` says of them.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from math import isfinite, log
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from py_mini_racer import MiniRacer

import attncli
import attncli.checking.judged
import attncli.rendering.practice
import attncli.rendering.selection
import attncli.rendering.worksheet
import attncli.tape.step
from attncli.explaining.explain import is_blank
from attncli.notation.last_place import number_of
from attncli.notation.parser import NumberError
from attncli.notation.written import BLANK_CELLS
from docs.pictures import BROWSER
from tests.conftest import SAMPLES
from tests.oracles.handwriting import written
from tests.oracles.homework import draw
from tests.test_correct_answers import WISHES
from tests.test_page_in_browser import seen_in_frames

TYPE = """
  function type(field, text) {
    field.focus();
    field.value = text;
    field.dispatchEvent(new w.Event("input", {bubbles: true}));
    field.dispatchEvent(new w.Event("change", {bubbles: true}));
  }
  function fields(step) {
    var every = Array.from(d.querySelectorAll("input.n"));
    return Array.from(every.find((field) => field.attnGroup.name === step).attnGroup.fields);
  }
  function status(field) { return field ? field.parentNode.dataset.status || "" : "missing"; }
"""

JUDGE = """
  function numbers(values) { return values.map((value) => value === null ? -Infinity : value); }
  function judgeSheet(sheet) {
    sheet.step.readings.forEach(function (reading) {
      reading.right = numbers(reading.right);
      reading.others = reading.others.map(numbers);
    });
    var unreadable = sheet.texts.map(() => false);
    var given = sheet.texts.map(function (text, place) {
      try {
        return attnNumbers.read(text, sheet.rules.missing);
      } catch (error) {
        if (!(error instanceof attnNumbers.NotANumber)) throw error;
        unreadable[place] = true;
        return null;
      }
    });
    var codes = attnJudging.judge(sheet.step, given, sheet.rules, sheet.marking, () => false);
    return JSON.stringify(codes.map((code, place) => unreadable[place] ? "unreadable" : code));
  }
"""
"""Judges the texts of the fields of one step, as practice.js does."""

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
EARLY_OTHERWISE = "rounded_early_in_another_way"
OUT_OF_REACH = {
    "follows": ("wrong",),
    "rounded_early": ("wrong", "last_digit", "short"),
    EARLY_OTHERWISE: ("correct", "wrong", "last_digit", "short"),
}
"""What `check` says of numbers by others before them, and what the page may say in its place."""

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


def said_by_check(problem: attncli.Problem, name: str, texts: list[str]) -> list[str]:
    """Return the status of each cell of a sheet that holds one step, what cannot be read apart."""
    step = attncli.compute(problem)[name]
    kept, unread = [], []
    for text in texts:
        try:
            if text.strip() not in BLANK_CELLS:
                number_of(text.strip())
        except NumberError:
            unread.append(True)
        else:
            unread.append(False)
        kept.append("~" if unread[-1] else text)
    cells = np.array(kept, object).reshape(step.value.shape).tolist()
    report = attncli.check(problem, {name: cells})
    judged = report.steps[name]
    if judged.status == "missing":  # the scores that are the scaled scores
        judged = next((one for one in report.steps.values() if one.status != "missing"), judged)
    names = attncli.checking.judged.STATUSES
    found = [names[code] for code in judged.step.on_paper(judged.codes).ravel().tolist()]
    if report.said and any(one in OUT_OF_REACH for one in found):
        # It is another right way of working only if what was rounded early is right.
        found = [one if one == "missing" else EARLY_OTHERWISE for one in found]
    short = getattr(judged, "short", None)
    if short is not None:
        marks = judged.step.on_paper(short).ravel().tolist()
        plain = attncli.Problem(**{k: v for k, v in problem.written.items() if k != "marking"})
        kept = said_by_check(plain, name, texts)  # what is right by others, and has few digits
        kept = ["short" if one not in OUT_OF_REACH else one for one in kept]
        found = [kept[i] if mark else found[i] for i, mark in enumerate(marks)]
    return ["unreadable" if bad else one for one, bad in zip(found, unread, strict=True)]


def page_script() -> MiniRacer:
    """Return an interpreter that has read the scripts by which the page judges."""
    web = Path(attncli.rendering.practice.__file__).parent / "web"
    interpreter = MiniRacer()
    for script in ("numbers.js", "judging.js"):
        interpreter.eval((web / script).read_text())
    interpreter.eval(JUDGE)
    return interpreter


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
        for name, texts, sorts in sheets:
            data = attncli.rendering.practice.judged_by(trace, {name: trace[name]})
            sheet = {
                "step": data["steps"][name],
                "texts": texts,
                "rules": attncli.rendering.practice.CONSTANTS,
                "marking": data,
            }
            page = json.loads(str(script.eval(f"judgeSheet({json.dumps(sheet)})")))
            expected = said_by_check(problem, name, texts)
            rows = zip(texts, sorts, page, expected, strict=True)
            for place, (text, sort, one, other) in enumerate(rows):
                tally[f"{sort}: {other}"] += 1
                if one not in OUT_OF_REACH.get(other, (other,)):
                    value = trace[name].value.ravel()[place]
                    told = f"{name}[{place}] = {value!r}, typed {text!r} among {texts}"
                    wrong.append(f"page {one}, check {other}: {told}; {problem.written}")
    return tally, wrong


def _sheets(random: Random, problem: attncli.Problem) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield one or two of the steps that are open, with what is typed and of what sort it is."""
    trace = attncli.compute(problem)
    steps = [*attncli.rendering.worksheet.open_steps(trace, WORKSHEET).values()]
    for step in random.sample(steps, min(2, len(steps))):
        right = step.value.ravel().tolist()
        if len(right) > 40:
            continue
        pairs = [typed(random, number, right) for number in right]
        other = _otherwise(trace, step)
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
        if isinstance(step.operation, attncli.tape.step.Operation):
            for place, at in enumerate(np.ndindex(step.value.shape)):
                if is_blank(step, at):  # there is no field
                    pairs[place] = ("blank", "")
        yield step.name, [text for _, text in pairs], [sort for sort, _ in pairs]


def _otherwise(trace: attncli.Trace, step: attncli.Step) -> Any:
    """Return the numbers of a step by another right way, such as a shifted exponent, or None."""
    scaled = step.name.replace("scores", "scaled")
    if scaled != step.name and scaled in trace:
        return trace[scaled].value
    powers = step.name.replace("sum", "exp")
    if powers.startswith("exp") and powers in trace and trace[powers].value.ndim > 1:
        exp = trace[powers].value
        shifted = exp / np.maximum(exp.max(axis=-1, keepdims=True), 1e-300)
        found = shifted if powers == step.name else shifted.sum(axis=-1, keepdims=True)
        return found if found.shape == step.value.shape else None
    return None


WORKSHEET = attncli.rendering.selection.WorksheetSelection()


def test_the_page_agrees_with_check_on_typed_numbers() -> None:
    tally, wrong = survey(400, 5)
    assert wrong == []
    assert len({name.rpartition(" ")[2] for name in tally}) >= 5  # of the statuses


USE = """
  var found = {};
  var all = Array.from(d.querySelectorAll("input.n"));
  function box() { return d.querySelector("#why"); }
  function said() { return d.querySelector("#why .about span").textContent; }
  function hints() {
    return Array.from(d.querySelectorAll(".hints p"))
      .filter((p) => !p.hidden).map((p) => p.textContent);
  }
  function name() { return d.activeElement.getAttribute("aria-label"); }
  function press(key, more) {
    var init = Object.assign({key, bubbles: true, cancelable: true}, more);
    return d.activeElement.dispatchEvent(new w.KeyboardEvent("keydown", init));
  }
  found.hidden = box().hidden;
  var scores = fields("scores");
  scores[0].focus();
  found.hints = [[hints(), d.querySelector("#why button").textContent]];
  for (var i = 0; i < 3; i += 1) {
    press("h", {altKey: true, code: "KeyH"});
    found.hints.push([hints(), d.querySelector("#why button").textContent]);
  }
  found.noMore = d.querySelector("#why button").hidden;
  found.trail = [name()];
  ["ArrowDown", "ArrowRight", "ArrowUp", "Enter", "ArrowLeft"].forEach(function (key) {
    press(key);
    found.trail.push(name());
  });
  type(scores[1], "1,5");
  type(scores[2], "9");
  scores[2].focus();
  found.said = [said(), scores[2].getAttribute("aria-invalid")];
  type(scores[2], "nine");
  found.said.push(said());
  type(scores[2], "2");
  found.signs = scores.slice(0, 4).map((f) => f.parentNode.querySelector(".mark").textContent);
  found.tally = d.querySelector("#scores .tally").textContent;
  d.querySelector(".student").value = 'Ada "L." <b>';
  found.sheet = d.querySelector("article").attnSheet();
  w.URL.createObjectURL = function (blob) { found.size = blob.size; return "blob:"; };
  w.HTMLAnchorElement.prototype.click = function () { found.file = this.download; };
  d.querySelector(".save").click();
  found.requests = w.performance.getEntriesByType("resource").length;
  found.wide = d.documentElement.scrollWidth <= d.documentElement.clientWidth;
  found.stored = [w.localStorage.length, d.cookie];
  var rule = w.getComputedStyle(scores[0]);
  found.large = [parseFloat(rule.fontSize) >= 16, scores[0].getBoundingClientRect().height >= 28];
  return found;
"""


@pytest.mark.skipif(BROWSER is None, reason="Chromium is not installed")
def test_hints_keys_and_the_saved_sheet(tmp_path: Path) -> None:
    problem = attncli.load(SAMPLES / "integers_scaled.yaml")
    page = attncli.worksheet(problem)
    found, phone = seen_in_frames([(page, 1200), (page, 360)], TYPE + USE, tmp_path)
    assert found["hidden"] is True
    formula, numbers, last = "scores[a1, a1] =qa1·ka1", "=1·0 +0·1 +2·1", "=2"
    assert found["hints"] == [
        [[], "Hint"],
        [[formula], "Show the step"],
        [[formula, numbers], "Show the number"],
        [[formula, numbers, last], "Show the number"],
    ]
    assert found["noMore"] is True
    assert found["trail"] == [
        *("scores[a1, a1]", "scores[a2, a1]", "scores[a2, a2]", "scores[a1, a2]"),
        *("scores[a1, a3]", "scores[a1, a2]"),
    ]
    assert found["said"][0].startswith("Not the right number in the digits that you typed.")
    assert "attn check can tell" in found["said"][0]
    assert found["said"][1] == "true"
    assert found["said"][2] == "This cannot be read: nine is not a number."
    assert found["signs"] == ["", "✗", "✗", ""]
    assert found["tally"] == "scores: 0 of 9 right, 2 wrong"
    assert found["file"] == "Ada _L._ _b_.yaml"
    assert found["size"] == len(found["sheet"].encode())
    assert found["requests"] == 0
    assert found["stored"] == [0, ""]
    assert found["wide"] is phone["wide"] is True
    assert phone["large"] == [True, True]  # a phone zooms in on what is smaller
    path = tmp_path / "answers.yaml"
    path.write_text(found["sheet"])
    (sheet,) = attncli.load_answers(path)
    report = attncli.check(problem, sheet)
    assert report.name == 'Ada "L." <b>'
    assert report.steps["scores"].counts["missing"] == 7
    assert report.steps["scores"].counts["wrong"] == 2
    assert report.steps["Q"].status == "missing"


def main(count: int, seed: int = 1) -> None:
    """Print the counts of a survey; fail where anything differs."""
    tally, wrong = survey(count, seed)
    for name, number in sorted(tally.items()):
        print(f"{number:6} {name}")
    print(f"{sum(tally.values()):6} numbers typed, {len(wrong)} judged otherwise than by check")
    reach = sum(n for name, n in tally.items() if name.rpartition(" ")[2] in OUT_OF_REACH)
    print(f"{reach:6} of them wrong on the page, and for check of an earlier number or rounding")
    for line in wrong[:20]:
        print(line[:600])
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
