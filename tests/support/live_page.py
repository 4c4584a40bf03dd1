"""Pages that recalculate, in a browser: what they show after changes, and what the program does.

The page gives the changed problem as a file; the program calculates that.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import attncli
from attncli.core.errors import InputError
from attncli.pages.html import traces
from attncli.printing.selection import Selection
from tests.conftest import DATA, SAMPLES
from tests.support.told_in_pages import told_in

CHANGES = 5
NEAR = 1e-12  # of the largest number of a step
TEXTS = ("1", "-2", "0.5", "-0.25", "1/3", "0", "3.125", "-1.5")
OWN_TEXTS = ("2", "0.5", "1.25")

ADJUSTED = re.compile("masked|biased|capped|scaled|scores|inputs")
"""Steps that the page calls by another name, as it has a mask that may block nothing."""

SCRIPT = (DATA / "scripts" / "see_changed_pages.js").read_text(encoding="utf-8")


class Tried(NamedTuple):
    """A problem, the states that its page was put in, and the page's markup."""

    name: str
    states: list[dict[str, str]]
    page: str


def tried(
    name: str, problem: attncli.Problem, rng: random.Random, changes: int = CHANGES
) -> Tried | None:
    """Return the page of a problem, and the changes to try; None if there is no such problem."""
    try:
        page = b"".join(traces([attncli.compute(problem)], Selection(live=True))).decode()
    except InputError as error:
        if "a live page cannot" in str(error):
            raise
        return None
    (made,) = re.findall(r'<script id="made"[^>]*>(.*?)</script>', page, re.DOTALL)
    tape = json.loads(made)["tapes"][0]
    inputs = [
        (step, about[0], numbers)
        for step, _, about, numbers, *_ in tape["steps"]
        if isinstance(numbers, list) and about[0] and numbers
    ]
    states: list[dict[str, str]] = [{}]
    for _ in range(changes):
        state = dict(states[-1])
        if tape["settings"] and rng.random() < 0.2:
            state[rng.choice(list(tape["settings"]))] = rng.choice(OWN_TEXTS)
        else:
            step, key, numbers = rng.choice(inputs)
            place = rng.randrange(len(numbers))
            cell = f"{step}.{place}"
            if key.endswith("mask"):
                state[cell] = str(1 - int(state.get(cell) or numbers[place] or 0))
            else:
                state[cell] = rng.choice(TEXTS)
        states.append(state)
    return Tried(name, states, page)


def shown_by_program(trace: attncli.Trace) -> tuple[dict[str, str], list[str]]:
    """Return the explanations of a page that stands still, by cell, and its weighted sums."""
    page = b"".join(traces([trace], Selection())).decode()
    told = {one.name: one.words for one in told_in(page).values()}
    lists = re.findall(r'<ul class="mixture">(.*?)</ul>', page, re.DOTALL)
    lines = [line for one in lists for line in re.findall("<li>(.*?)</li>", one)]
    return told, [" ".join(unescape(re.sub("<[^>]*>", "", line)).split()) for line in lines]


def differences(case: Tried, found: Sequence[Mapping[str, Any]], folder: Path) -> Iterator[str]:
    """Yield each way in which a page differs from the program, in words."""
    for state, shown in zip(case.states, found, strict=True):
        where = f"{case.name} {state}"
        if "error" in shown:
            yield f"{where}: the page refuses it: {shown['error']}"
            continue
        file = folder / "changed.yaml"
        file.write_text(shown["yaml"], encoding="utf-8")
        try:
            trace = attncli.compute(attncli.load(file))
        except InputError as error:
            yield f"{where}: the program refuses it: {error}"
            continue
        for step in trace:
            yield from _of_step(step, shown["steps"].get(step.name), where)
        told, sums = shown_by_program(trace)
        for name, text in told.items():
            own = shown["told"].get(name, text)
            is_masked = any("masked" in one for one in (text, *trace.steps))
            if "masked" in own and not is_masked:
                continue  # the program leaves the step out when nothing is blocked any more
            # Which numbers go into a formula may depend on numbers: it is then left out.
            short = re.fullmatch(r"(.*) = (\S+)", own)
            result = re.sub(" as .*", "", text).rpartition(" ")[2]
            is_short = short is not None and short[1] == name and is_same_text(short[2], result)
            if not (is_short or is_same_text(text, own)):
                yield f"{where}: {text} is shown as {own}"
        if not all(map(is_same_text, sums, shown["sums"])):
            yield f"{where}: {sums} are shown as {shown['sums']}"


def _of_step(step: attncli.Step, numbers: list[float | None] | None, where: str) -> Iterator[str]:
    if numbers is None or len(numbers) != step.array.size:
        yield f"{where}: the page has no {step.name}"
        return
    wanted = step.array.ravel()
    own = np.array([-np.inf if x is None else x for x in numbers], float)
    largest = np.abs(wanted[np.isfinite(wanted)]).max(initial=1.0)
    near = np.isclose(own, wanted, rtol=0, atol=NEAR * largest)
    if not near.all():
        yield f"{where}: {step.name} is {own[~near]}, not {wanted[~near]}"


NUMBER = re.compile(r"−?\d+(?:\.\d+)?(?:e[+−]?\d+)?")


def is_same_text(one: str, other: str) -> bool:
    """Return whether two texts are the same but for the last digit of a number that is a tie."""
    # What is not rounded is always told, also where it is the same.
    one, other = (re.sub(r"= (\S+) ≈ \1(?=$| as)", r"= \1", text) for text in (one, other))
    texts = [" ".join(re.sub("[()]", " ", ADJUSTED.sub("scores", t)).split()) for t in (one, other)]
    if texts[0] == texts[1]:
        return True
    rests = [NUMBER.sub("#", text) for text in texts]
    if rests[0] != rests[1]:
        return False
    numbers = [NUMBER.findall(text) for text in texts]
    if "τ" in one:  # the scores in τ stand in the order of their sizes when the page was written
        numbers = [sorted(found) for found in numbers]
    pairs = zip(*numbers, strict=True)
    return all(_is_same_number(*pair) for pair in pairs)


def _is_same_number(one: str, other: str) -> bool:
    values = [float(text.replace("−", "-")) for text in (one, other)]
    places = [len(text.partition("e")[0].partition(".")[2]) for text in (one, other)]
    power = max(int(text.partition("e")[2].replace("−", "-") or 0) for text in (one, other))
    noise = NEAR * max(1.0, *map(abs, values))
    return abs(values[0] - values[1]) <= max(1.01 * 10.0 ** (power - max(min(places), 4)), noise)


def survey(cases: Sequence[Tried], folder: Path, at_once: int = 20) -> list[str]:
    """Return how the pages of all cases differ from the program."""
    from tests.whole.test_page_in_browser import seen_in_frames

    found: list[str] = []
    for start in range(0, len(cases), at_once):
        some = cases[start : start + at_once]
        states = json.dumps([case.states for case in some])
        pages = [(case.page, 1000) for case in some]
        seen = seen_in_frames(pages, f"var states = {states};{SCRIPT}", folder)
        for case, shown in zip(some, seen, strict=True):
            found += differences(case, shown, folder)
    return found


def sample_cases(names: Sequence[str] = (), changes: int = CHANGES) -> Iterator[Tried]:
    for path in sorted(SAMPLES.glob("*.yaml")):
        if not names or path.stem in names:
            case = tried(path.stem, attncli.load(path), random.Random(path.stem), changes)
            assert case is not None
            yield case
