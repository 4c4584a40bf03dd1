"""Every mistake of the catalogue is made by a student of `benchmarks/oracles`, and found.

Which cells must be found wrong is decided without the program. A student's numbers stand for what
they may be a rounding of, so the right number of a cell is known to within its uncertainty: how
far it moves when each number that it is made from moves by half a unit of its last digit. A cell
must be wrong where the student's number is farther from the right one than one unit of its own
last digit and one and a half times that uncertainty; it must not be wrong where it is within half
a unit. Cells between the two may be called either.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import yaml

from attncli.checking.check import Report
from attncli.checking.mistakes.catalogue import MISTAKES
from attncli.reading.document import submission_of
from benchmarks.oracles.drawn import Random
from benchmarks.oracles.methods import Wrong, found_by, together
from benchmarks.oracles.workings import (
    Finds,
    Known,
    UnworkableError,
    Working,
    draw,
    finds_right,
    need,
)
from benchmarks.surveys.fairness import key_of
from benchmarks.surveys.judging import check
from tests.oracles.pens import HABITS, Habit, Numbers
from tests.support.truth import WRONG, Truth, faults

DRAWS = 60
"""Number of problems of which one must show a mistake."""

UNLIKE = 4
"""Number of problems of which one must tell a mistake from all others."""

NAMED = 0.5
"""Minimum share of cases in which a mistake is named, and no other that comes to the same."""

OF_SORTS: dict[str, dict[str, Any]] = {
    "integers": {"numbers": "integers"},
    "decimals": {"numbers": "decimals"},
    "heads": {"numbers": "halves", "heads": 2},
}
SORTS = [*OF_SORTS]
TABLES = yaml.safe_load(Path(__file__).with_name("mistakes.yaml").read_text(encoding="utf-8"))

WRITTEN: dict[str, list[Habit]] = {
    "in any way": HABITS,
    # Where 0 is written as 0.00: a lone 0 may be the rounding of 0.4.
    "decimals": [habit for habit in HABITS if not habit.significant],
    "4 decimals": [habit for habit in HABITS if not habit.significant and habit.count == 4],
    "round last": [habit for habit in HABITS if not habit.early],
}


class Case(NamedTuple):
    """Where a mistake is made: a row of `mistakes.yaml`, which tells of its keys."""

    at: str
    wish: dict[str, Any] = {}  # noqa: RUF012 - never changed
    ways: Sequence[int] = (0,)
    way: int = 0
    skip: Sequence[str] = ()
    only: Sequence[str] = ()
    sorts: Sequence[str] = SORTS
    made: str = ""
    habits: str = "in any way"
    head: int | None = None
    least: int = 1
    times: int = 1

    def wrong(self, id_: str) -> Wrong:
        """Return what is done wrong here."""
        return Wrong(id_, self.made or self.at, self.way, self.head)


def cases_in(table: str) -> dict[str, list[Case]]:
    """Return the cases of a table of `mistakes.yaml`, by the id of the mistake."""
    several = {id_: [Case(**row) for row in rows] for id_, rows in TABLES[table].items()}
    return {
        id_: [case._replace(way=way) for case in cases for way in case.ways]
        for id_, cases in several.items()
    }


CASES = cases_in("cases")
OTHER_SHAPES = cases_in("other_shapes")


# ---- what must be called wrong


def spread(
    working: Working, at: str, given: Known, habit: Habit, finds: Finds = finds_right
) -> tuple[Numbers, Numbers]:
    """Return the numbers of a step, and how uncertain the numbers given before it leave them.

    These are of the steps that were handed in, as they were rounded by a habit.
    """
    known: Known = {}
    unsure: Known = {}
    for name in [*working.before(at), at]:
        if name in given and name != at:
            known[name], unsure[name] = given[name], habit.half_units(given[name])
            continue
        middle = working.step(name, known, finds)
        total = np.zeros(middle.shape)
        for source, by in unsure.items():
            unlike = np.linspace(0.5, 1, by.size).reshape(by.shape)
            other = working.step(name, known | {source: known[source] + unlike * by}, finds)
            is_read = apart(other, middle).any()
            for place in zip(*by.nonzero(), strict=True) if is_read else ():
                moved = known[source].copy()
                moved[place] += by[place]
                total += apart(working.step(name, known | {source: moved}, finds), middle)
        known[name], unsure[name] = middle, total
        if name != at:  # it may have been rounded in the head
            unsure[name] = total + habit.half_units(middle)
    return known[at], unsure[at]


def apart(one: Numbers, other: Numbers) -> Numbers:
    """Return how far numbers are apart; equal infinities are not at all."""
    with np.errstate(invalid="ignore"):
        off = np.abs(one - other)
    return np.where((one == other) | np.isnan(off), 0.0, off)


class Work(NamedTuple):
    """What a student handed in.

    Attributes:
        working: the problem.
        habit: how the student writes.
        own: the numbers as they read when written.
        steps: the steps that were handed in.
    """

    working: Working
    habit: Habit
    own: Known
    steps: list[str]

    def __str__(self) -> str:
        return f"{self.habit}: {self.working.problem} {self.sheet}"

    def before(self, at: str) -> Known:
        """Return what was handed in before a step."""
        return {name: self.own[name] for name in self.working.before(at) if name in self.steps}

    @property
    def sheet(self) -> dict[str, Any]:
        """What the program reads."""
        return self.working.sheet(self.own, self.habit, self.steps)

    def clear(self, at: str) -> tuple[Numbers, Numbers]:
        """Return which cells of a step must be wrong, and which must not be.

        Raises:
            UnworkableError: where the step has another shape.
        """
        right, unsure = spread(self.working, at, self.before(at), self.habit)
        need(right.shape == self.own[at].shape)
        off, half = apart(self.own[at], right), self.habit.half_units(self.own[at])
        # A 0 without decimals may stand for nothing, or for what rounds to it in few decimals.
        least = np.where(self.own[at] == 0, max(0.1, half.max(initial=0.0)), 0.0) * (half == 0)
        return off > np.maximum(2 * half + 1.5 * unsure + 1e-9, least), off <= half

    def is_reproduced(self, id_: str, at: str, wrong: Numbers) -> bool:
        """Whether a mistake gives the numbers of the lines of a step that have a wrong cell.

        Whole heads or whole rows are compared: a mistake may have been made in one of them. The
        numbers before may stand for any of which they are a rounding.
        """
        mine, before = self.own[at], self.before(at)
        heads = wrong.any(axis=tuple(range(1, wrong.ndim)), keepdims=True)
        rows = wrong.any(axis=(0, *range(2, wrong.ndim)), keepdims=True)
        chosen, half = np.broadcast_to(heads & rows, wrong.shape), self.habit.half_units(mine)
        hidden = [name for name in self.working.names if name not in self.steps]
        several = [Wrong(id_, step, way) for step, way in product((at, *hidden), range(6))]
        finds = [found_by(self.working, done) for done in several]

        def is_given_by(found: Numbers, unsure: Any = 0.0) -> bool:
            is_near = apart(mine, found) <= half + 1.5 * unsure + 1e-9
            return found.shape == mine.shape and bool(is_near[chosen].all())

        for is_rounding, one in product((False, True), finds):
            with suppress(UnworkableError, ValueError):  # another shape is another mistake
                if is_rounding and is_given_by(*spread(self.working, at, before, self.habit, one)):
                    return True
                if not is_rounding and is_given_by(self.working.step(at, before, one)):
                    return True
        return False


# ---- what is handed in, and judged


def hand_in(working: Working, habit: Habit, *wrongs: Wrong, skip: Sequence[str] = ()) -> Work:
    """Work a problem, with some mistakes, and write it down."""
    known = working.work(habit.goes_on, found_by(working, *wrongs))
    own = {name: habit.rounded(numbers) for name, numbers in known.items()}
    return Work(working, habit, own, [name for name in working.names if name not in skip])


def exercise(random: Random, sort: str, wish: dict[str, Any]) -> Working:
    """Draw a problem of a sort that has what is wished, and nothing else."""
    wish = {"columns": False, "simple": True, **OF_SORTS[sort], **wish}
    working = draw(random, "plain", **wish)
    while not np.ptp(working.exact["scores"], axis=-1).any():  # of which any softmax is the same
        working = draw(random, "plain", **wish)
    return working


def exercises(wish: dict[str, Any], sort: str, seed: int) -> Iterator[Working]:
    random = np.random.default_rng([seed, SORTS.index(sort)])
    while True:
        yield exercise(random, sort, wish)


def shown(id_: str, case: Case, habit: Habit, drawn: Iterator[Working]) -> Iterator[Work]:
    """Make a mistake in some problems; yield those in which enough numbers are clearly wrong."""
    for working in islice(drawn, DRAWS):
        skip = [s for s in working.names if s not in case.only] if case.only else case.skip
        with suppress(UnworkableError):
            work = hand_in(working, habit, wrong := case.wrong(id_), skip=skip)
            whole = hand_in(working, habit, replace(wrong, head=None)).own[case.at]
            need(wrong.head is None or not np.array_equal(whole, work.own[case.at]))
            is_telling = work.clear(case.at)[0].sum() >= case.least
            if is_telling and not is_all_the_same(working.exact[case.at], np.zeros(1)):
                yield work


def codes_of(report: Report, at: str) -> Numbers:
    """Return the statuses of a step's cells in the student's layout."""
    return np.array(report.steps[at].codes[0])


def named_in(report: Report, at: str) -> list[str]:
    """Return what is named in a step, first and as other mistakes."""
    finding = report.findings.get(at)
    return [finding.id, *(other.id for other in finding.also)] if finding else []


def judged(
    work: Work, at: str, must: Numbers, mistake: str = "", may_be: Sequence[str] = ()
) -> Report:
    """Let the program judge a submission of which a step has the first wrong cells.

    Another mistake that comes to the same numbers may be named instead, or one that it `may_be`.
    """
    key = key_of(work.working)
    layout = work.working.paper(at, must).reshape(key.trace[at].value.shape)
    cells = tuple(map(tuple, np.argwhere(layout).tolist()))
    first = key.check(submission_of(work.sheet, "student"))
    only_reproduced(work, first, at)
    also = [*may_be, *(name for name in named_in(first, at) if name in MISTAKES)]
    if is_all_the_same(work.own[at], work.habit.half_units(work.own[at])):
        also.append("all_the_same")  # whoever wrote one number everywhere may not have calculated
    truth = Truth(mistake=mistake, step=at, cells=cells, also=tuple(also) if mistake else ())
    report = check(key, work.sheet, truth)
    assert faults(report, truth) == [], f"{truth}, {report.findings}: {work}"
    return report


def only_reproduced(work: Work, report: Report, at: str) -> None:
    """Assert that each mistake that is named in a step gives its numbers."""
    is_wrong = codes_of(report, at) == WRONG
    for name in named_in(report, at):
        assert name not in MISTAKES or work.is_reproduced(name, at, is_wrong), f"{name}: {work}"


def examined(work: Work, id_: str, at: str, may_be: Sequence[str] = ()) -> Report:
    """Check what is said of a submission with one mistake, of which a step shows the first wrong.

    At most two mistakes are named in it, and each gives the numbers.
    """
    clear, must_not = work.clear(at)
    own, half = work.own[at], work.habit.half_units(work.own[at])
    # A right number is right by chance, too, and one that was rounded in steps that are not shown.
    least = 4 if len(work.steps) == len(work.working.names) else 10
    must = clear & (apart(own, work.working.exact[at]) > least * half)
    report = judged(work, at, must, id_, may_be)
    assert not (codes_of(report, at) == WRONG)[must_not].any(), (id_, at, str(work))
    assert 0 < len(named_in(report, at)) <= 2, (report.findings, str(work))
    return report


def is_all_the_same(numbers: Numbers, half: Numbers) -> bool:
    return bool((apart(numbers, numbers.flat[0]) <= 2 * half.max()).all())


def told(named: Counter[str], id_: str) -> str:
    """Return how often a mistake was named, and what was named instead."""
    others = [f", {n} as {other}" for other, n in named.items() if other != id_]
    return f"{named[id_]} named" + "".join(others)


# ---- the surveys


@pytest.mark.parametrize("id_", CASES)
def test_mistake_is_named(id_: str, record_property: Callable[[str, object], None]) -> None:
    """With each sort of problem; numbers are written in turn in each way."""
    named: Counter[str] = Counter()
    for place, case in enumerate(CASES[id_]):
        habits = WRITTEN[case.habits]
        for sort in case.sorts:
            drawn = exercises(case.wish, sort, place)
            for time in range(case.times):
                turn = list(CASES).index(id_) + place + SORTS.index(sort) + time
                found = ""
                for work in islice(shown(id_, case, habits[turn % len(habits)], drawn), UNLIKE):
                    findings = examined(work, id_, case.at).findings
                    ids = [finding.id for finding in findings.values()]
                    found = id_ if id_ in ids else findings[case.at].id
                    for one in (findings[case.at], *findings[case.at].also):
                        is_in_head = one.id == id_ and case.head is not None
                        assert not is_in_head or one.place == f"In head {(case.head or 0) + 1}"
                    if found == id_:  # else another mistake comes to the same in this problem
                        break
                assert found, f"no problem shows {id_} ({case}, {sort}, {turn})"
                named[found] += 1
    assert named[id_] >= NAMED * named.total(), named
    record_property(id_, told(named, id_))


@pytest.mark.parametrize("id_", OTHER_SHAPES)
def test_mistake_that_gives_another_shape_is_named(id_: str) -> None:
    """The shape is told, too; where rows and columns are as if exchanged, that comes first."""
    for case in OTHER_SHAPES[id_]:
        drawn = {sort: exercises(case.wish, sort, 0) for sort in case.sorts}
        for sort, habit in product(case.sorts, HABITS):
            for working in islice(drawn[sort], DRAWS):
                with suppress(UnworkableError):
                    finds = found_by(working, case.wrong(id_))
                    own, right = working.work(habit.goes_on, finds, until=case.at), working.exact
                    shapes = {np.squeeze(numbers[case.at]).shape for numbers in (own, right)}
                    if len(shapes) == 2 and np.ptp(own[case.at]) >= 2:
                        break
            else:
                pytest.fail(f"no problem shows {id_} ({case}, {habit})")
            truth = Truth(mistake=id_, step=case.at)
            report = check(key_of(working), working.sheet(own, habit, [*own]), truth)
            assert faults(report, truth) == [], (case, habit, working.problem)
            assert {"wrong_shape", "transposed"} & {*named_in(report, case.at)}


PAIRS = 50
"""How many pairs of mistakes are tried, of which each shows."""

MOST_UNNAMED = 0.08
"""Maximum share of pairs in which the second mistake is called wrong, and not named."""

AT_HAND = [
    (id_, case)
    for id_, cases in CASES.items()
    for case in cases
    if not (case.skip or case.made or together(case.wrong(id_))) and case.head is None
]
"""Mistakes in one step that is handed in, with all others."""


def shows(work: Work, wrong: Wrong) -> bool:
    """Whether a mistake makes numbers clearly wrong: two mistakes may come to what is right."""
    at, own = wrong.at, work.own[wrong.at]
    is_other = apart(own, work.working.exact[at]) > 4 * work.habit.half_units(own)
    return bool((work.clear(at)[0] & is_other).sum() > 0.6 * own.size)


def test_two_mistakes_in_two_steps_are_both_named() -> None:
    """Each is judged by the student's own numbers before it; every step is handed in."""
    random = np.random.default_rng(23)
    pairs: set[tuple[str, str]] = set()
    unnamed: list[Wrong] = []
    for _ in range(40 * PAIRS):
        (id_, one), (other_id, other) = (AT_HAND[i] for i in random.integers(0, len(AT_HAND), 2))
        sorts = [sort for sort in one.sorts if sort in other.sorts]
        habits = [habit for habit in WRITTEN[one.habits] if habit in WRITTEN[other.habits]]
        wish, kinds = one.wish | other.wish, {case.wish.get("kind") for case in (one, other)}
        if one.at == other.at or wish != other.wish | one.wish or len(kinds) > 1 or not sorts:
            continue
        with suppress(UnworkableError):
            working = exercise(random, str(random.choice(sorts)), wish)
            wrongs = one.wrong(id_), other.wrong(other_id)
            need({wrong.at for wrong in wrongs} <= {*working.names})
            first, second = sorted(wrongs, key=lambda wrong: working.names.index(wrong.at))
            work = hand_in(working, habits[random.integers(len(habits))], first, second)
            if shows(work, first) and shows(work, second):
                report = examined(work, first.id, first.at)
                assert (codes_of(report, second.at) == WRONG).any(), (second, work)
                is_wrong = codes_of(report, second.at) == WRONG
                names = named_in(report, second.at)
                is_named = any(work.is_reproduced(name, second.at, is_wrong) for name in names)
                unnamed += [] if is_named else [second]
                pairs.add((id_, other_id))
        if len(pairs) == PAIRS:
            break
    assert len(pairs) == PAIRS
    # Nobody knows which of the scores 0.00 and 0.01 is larger, and 0.00 / 0.00 is anything.
    assert len(unnamed) <= MOST_UNNAMED * PAIRS, unnamed
