"""Surveys of students who round, cut off, adjust or copy wrongly, and of numbers that are wrong.

The students share no line with the program: `benchmarks/oracles/submitted.py`. A test judges some
of each kind, and `benchmarks/roundings.py --kind H1,D3` thousands.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import attncli
from attncli.checking.check import AnswerKey, Report
from attncli.checking.judging.judged_steps import WRONG
from attncli.reading.document import submission_of
from benchmarks.oracles import homework
from benchmarks.oracles.right_work import GoesOn, UnworkableError
from benchmarks.oracles.students import ImpossibleError, Wrong
from benchmarks.oracles.submitted import DISHONEST, HONEST, Make, Submitted
from benchmarks.oracles.workings import (
    OF_BLOCKS,
    SKEWED,
    SORTS,
    Known,
    Random,
    Working,
    a_block,
    a_gradient,
    draw,
    of_paper,
    one_with_a_cache,
    one_with_positions,
)

KINDS: dict[str, Make] = HONEST | DISHONEST
"""Every kind, by its short name."""

SHARED = 6
"""So many submissions of a problem are made before another one is drawn."""

TRIES = 40
"""So often a problem is tried before another one is drawn."""

GROUPS = (("1", 1.5), ("2 to 4", 4.5), ("5 to 10", 10.5), ("over 10", np.inf))
"""How many units a number is off, and the most of each group."""

Place = tuple[str, str]
"""The name of a group of submissions and its value, such as sort and block."""


@dataclass
class Tally:
    """What was seen of one kind.

    Attributes:
        kind: which.
        counts: how many submissions were judged, and how often each thing was seen, by group.
        amiss: submissions that are judged amiss, with what was seen, as JSON holds them.
    """

    kind: str
    counts: Counter[tuple[Place, str]] = field(default_factory=Counter)
    amiss: list[dict[str, Any]] = field(default_factory=list)

    def note(self, made: Submitted, seen: Mapping[str, Any]) -> None:
        """Count a submission in all its groups."""
        groups = [("all", ""), ("sort", made.working.sort)]
        groups += [(name, str(value)) for name, value in made.said.items() if name in SAID]
        if made.units and made.kind in DISHONEST:
            units = next(n for n, most in GROUPS if made.units <= most)
            groups.append(("units", units))
            groups.append(("units and sort", f"{units}, {made.working.sort}"))
            if "base" in made.said:
                groups.append(("units and base", f"{units}, {made.said['base']}"))
        for place in groups:
            self.counts.update({(place, "judged"): 1})
            self.counts.update({(place, thing): 1 for thing, is_so in seen.items() if is_so})

    def of(self, thing: str, group: str = "all", value: str = "") -> int:
        """Return how often a thing was seen in a group."""
        return self.counts[(group, value), thing]

    def share(self, thing: str, group: str = "all", value: str = "") -> float:
        """Return in which share of the submissions of a group a thing was seen."""
        return self.of(thing, group, value) / max(self.of("judged", group, value), 1)


SAID = ("shown", "decimals", "carries", "plain", "adjusted", "how", "base", "used", "cut")
"""What is said of a submission by which it is counted."""

AMISS = ("called wrong", "later steps blamed", "right cells blamed", "passed")
"""What ought not to be seen."""


MOST: dict[str, tuple[tuple[str, str, str, float], ...]] = {
    **dict.fromkeys(("H1", "H2", "H3"), (("called wrong", "all", "", 0.005),)),
    **dict.fromkeys(
        ("H4", "H5", "H6"),
        (
            ("called wrong", "all", "", 0.005),
            ("later steps blamed", "all", "", 0.005),
            ("right cells blamed", "all", "", 0.005),
        ),
    ),
    **dict.fromkeys(("D1", "D2"), (("passed", "all", "", 0.01),)),
    "D3": (("passed", "units", "over 10", 0.0), ("passed", "units", "5 to 10", 0.015)),
}
"""What may be seen in which share of the submissions of a kind, at most: thing, group, value."""


def beyond(tally: Tally, spare: int = 0) -> list[str]:
    """Return a line for each bound that a kind is beyond by more than some submissions."""
    lines = []
    for thing, group, value, most in MOST.get(tally.kind, ()):
        seen, count = tally.of(thing, group, value), tally.of("judged", group, value)
        if seen > most * count + spare:
            of = f"{seen} of {count}"
            lines.append(f"{tally.kind}: {thing} {value or group}: {of}, at most {most:.1%}")
    return lines


def judged(made: Submitted, key: AnswerKey) -> dict[str, bool]:
    """Let the program judge a submission, and return what is seen."""
    try:
        report = key.check(submission_of(made.sheet, "student"))
    except Exception as error:  # a refusal is as unfair
        return {"called wrong": made.kind in HONEST, f"refused: {type(error).__name__}": True}
    if made.kind in DISHONEST:
        return {"passed": report.verdict == "correct"}
    if not made.amiss:
        return {"called wrong": report.verdict != "correct"}
    blamed = blamed_cells(made, report)
    later = [name for name in blamed if name not in made.amiss]
    return {
        "later steps blamed": bool(later),
        "right cells blamed": len(blamed) > len(later),
        "not noticed": report.verdict == "correct",
    }


def blamed_cells(made: Submitted, report: Report) -> dict[str, list[list[int]]]:
    """Return the cells that are called wrong and are not, by step."""
    blamed = {}
    for name, cells in made.cells.items():
        step = report.steps.get(name)
        if step is None:
            continue
        codes = np.asarray(step.on_paper).reshape(cells.shape)
        wrong = (codes == WRONG) & ~made.amiss.get(name, np.zeros(cells.shape, bool))
        if wrong.any():
            blamed[name] = np.argwhere(wrong).tolist()
    return blamed


def submissions(rng: Random, kind: str, count: int, sorts: Sequence[str] = SORTS) -> Iterator[Any]:
    """Yield submissions of a kind, in equal shares over the sorts, each with its answer key."""
    number = dict.fromkeys(sorts, 0)
    while sum(number.values()) < count:
        sort = min(sorts, key=lambda one: number[one])
        working = problem_of(rng, kind, sort)
        key = AnswerKey(attncli.Problem(**working.problem))
        assert_same(working, key)
        left, tries = min(SHARED, count - sum(number.values())), 0
        while left and tries < TRIES:
            tries += 1
            made = attempt(rng, kind, working)
            if made is not None:
                left -= 1
                number[sort] += 1
                yield made, key


def problem_of(rng: Random, kind: str, sort: str) -> Working:
    """Draw a problem for a kind; for a mistake of method, with a mistake."""
    while kind == "H5":
        try:
            return with_a_mistake(rng, sort)
        except (UnworkableError, ImpossibleError):
            continue
    return draw(rng, sort)


def with_a_mistake(rng: Random, sort: str) -> Working:
    """Draw a problem in which a student makes a mistake of the catalogue.

    Raises:
        UnworkableError: where no hand works it.
        ImpossibleError: where nobody can make the mistake.
    """
    from benchmarks.surveys.test_gradient_mistakes import CASES as OF_GRADIENTS
    from benchmarks.surveys.test_mistakes import CASES
    from benchmarks.surveys.test_position_mistakes import CASES as OF_POSITIONS

    def one_of(cases: Mapping[str, Sequence[Any]]) -> tuple[str, Any]:
        found = [(id_, case) for id_, several in cases.items() for case in several]
        return found[int(rng.integers(len(found)))]

    if sort == "block":
        return a_block(rng, str(rng.choice([*OF_BLOCKS])))
    if sort == "position":
        id_, (positions, _, way) = one_of(OF_POSITIONS)
        return one_with_positions(rng, id_, positions, way)
    if sort == "cache":
        return one_with_a_cache(rng, str(rng.choice([*SKEWED, "cache_without_new_token"])))
    if sort == "gradient":
        id_, (of, at, way) = one_of(OF_GRADIENTS)
        return a_gradient(rng, of, id_, at, way)
    while True:
        id_, case = one_of(CASES)
        if not case.skip:
            paper = homework.draw(rng, str(rng.choice(case.sorts)), **case.wish)
            return of_paper(paper, Wrong(id_, case.made or case.at, case.way))


def attempt(rng: Random, kind: str, working: Working) -> Submitted | None:
    """Make a submission of a kind, where the problem shows it."""
    try:
        return KINDS[kind](rng, working)
    except UnworkableError:
        return None


def assert_same(working: Working, key: AnswerKey) -> None:
    """Make sure that the student's right numbers are the program's."""
    for name, numbers in working.exact.items():
        one, other = np.squeeze(key.trace[name].value), np.squeeze(working.paper(name, numbers))
        is_close = np.allclose(one, other, rtol=1e-9, atol=1e-11)
        # A tie of floats: 1 and 1 − 1e-16 are the same to a person, and not to a hardmax.
        assert is_close or "hardmax" in str(working.problem), (name, working.problem)


def survey(rng: Random, kind: str, count: int, sorts: Sequence[str] = SORTS) -> Tally:
    """Judge submissions of a kind."""
    tally = Tally(kind)
    for made, key in submissions(rng, kind, count, sorts):
        seen = judged(made, key)
        tally.note(made, seen)
        if any(seen.get(thing) for thing in AMISS):
            tally.amiss.append(told(made, seen))
    return tally


def told(made: Submitted, seen: Mapping[str, Any]) -> dict[str, Any]:
    """Return a submission as JSON holds it, so that it can be judged again."""
    known = {"way": made.kind, "problem": made.working.problem, "sheet": made.sheet}
    amiss = {name: np.argwhere(cells).tolist() for name, cells in made.amiss.items()}
    more = {"sort": made.working.sort, "units": made.units, "amiss": amiss}
    things = [thing for thing, is_so in seen.items() if is_so]
    found = known | more | {"said": dict(made.said), "seen": things}
    plain: dict[str, Any] = json.loads(json.dumps(found, default=float))
    return plain


def again(line: Mapping[str, Any]) -> dict[str, bool]:
    """Judge a submission again, as it was told, and return what is seen."""
    key = AnswerKey(attncli.Problem(**line["problem"]))
    cells = {name: np.array(texts, object) for name, texts in line["sheet"].items()}
    amiss = {name: np.zeros(cells[name].shape, bool) for name in line["amiss"]}
    for name, places in line["amiss"].items():
        for place in places:
            amiss[name][tuple(place)] = True
    working = Working(line["sort"], line["problem"], no_work)
    return judged(Submitted(line["way"], working, cells, amiss, line["units"]), key)


def no_work(goes_on: GoesOn) -> Known:
    """Return nothing: what is judged again was worked before."""
    del goes_on
    return {}
