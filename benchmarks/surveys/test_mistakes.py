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
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import yaml

import attncli
from attncli.checking.check import AnswerKey, Report
from attncli.checking.mistakes.catalogue import MISTAKES
from benchmarks.oracles.handwriting import HABITS, Habit, Numbers
from benchmarks.oracles.homework import draw
from benchmarks.oracles.recurrent_student import draw_network
from benchmarks.oracles.recurrent_student import work as work_network
from benchmarks.oracles.students import RIGHT, ImpossibleError, Known, Paper, Wrong, need, together
from benchmarks.surveys.judging import check
from tests.support.truth import WRONG, Truth, faults

DRAWS = 60
SORTS = ("integers", "decimals", "heads")
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
NETWORKS = TABLES["networks"]


# ---- what must be called wrong


class Reading(dict[str, Numbers]):
    """Numbers of steps that remember which were read."""

    def __init__(self, known: Known) -> None:
        super().__init__(known)
        self.read: list[str] = []

    def __getitem__(self, name: str) -> Numbers:
        if name not in self.read:
            self.read.append(name)
        return super().__getitem__(name)


def spread(
    paper: Paper, at: str, given: Known, habit: Habit, wrong: Wrong = RIGHT
) -> tuple[Numbers, Numbers]:
    """Return the numbers of a step, and how uncertain the numbers given before it leave them.

    These are of the steps that were handed in, as they were rounded by a habit.
    """
    known: dict[str, Numbers] = {}
    unsure: dict[str, Numbers] = {}
    for name in paper.steps[: paper.steps.index(at) + 1]:
        if name in given and name != at:
            known[name], unsure[name] = given[name], habit.half_units(given[name])
            continue
        reading = Reading(known)
        middle = paper.step(name, reading, wrong)
        total = np.zeros(middle.shape)
        with np.errstate(invalid="ignore"):  # ∞ − ∞
            for source in reading.read:
                for place, by in np.ndenumerate(unsure[source]):
                    moved = known[source].copy()
                    moved[place] += by
                    off = np.abs(paper.step(name, known | {source: moved}, wrong) - middle)
                    total += np.where(np.isnan(off), 0, off)
        known[name], unsure[name] = middle, total
        if name != at:  # it may have been rounded in the head
            unsure[name] = total + habit.half_units(middle)
    return known[at], unsure[at]


def apart(one: Numbers, other: Numbers) -> Numbers:
    """Return how far numbers are apart; equal infinities are not at all."""
    with np.errstate(invalid="ignore"):
        return np.where(one == other, 0.0, np.abs(one - other))


class Work(NamedTuple):
    """What a student handed in.

    Attributes:
        paper: the problem.
        habit: how the student writes.
        own: the numbers as they read when written.
        steps: the steps that were handed in.
    """

    paper: Paper
    habit: Habit
    own: dict[str, Numbers]
    steps: list[str]

    def __str__(self) -> str:
        return f"{self.habit}: {self.paper.problem()} {self.sheet}"

    def before(self, at: str) -> dict[str, Numbers]:
        """Return what was handed in before a step."""
        earlier = self.paper.steps[: self.paper.steps.index(at)]
        return {name: self.own[name] for name in earlier if name in self.steps}

    @property
    def sheet(self) -> dict[str, Any]:
        """What the program reads."""
        return self.paper.sheet(self.own, self.habit, self.steps)

    def clear(self, at: str) -> tuple[Numbers, Numbers]:
        """Return which cells of a step must be wrong, and which must not be.

        Raises:
            ImpossibleError: where the step has another shape.
        """
        right, unsure = spread(self.paper, at, self.before(at), self.habit)
        if right.shape != self.own[at].shape:
            raise ImpossibleError
        off, half = apart(self.own[at], right), self.habit.half_units(self.own[at])
        # A 0 without decimals may stand for nothing, or for what rounds to it in few decimals.
        least = np.where(self.own[at] == 0, max(0.1, half.max(initial=0.0)), 0.0) * (half == 0)
        return off > np.maximum(2 * half + 1.5 * unsure + 1e-9, least), off <= half

    def is_reproduced(self, id_: str, at: str, wrong: Numbers) -> bool:
        """Whether a mistake gives the numbers of the lines of a step that have a wrong cell.

        Whole heads or whole rows are compared: a mistake may have been made in one of them.
        """
        mine, before = self.own[at], self.before(at)
        heads = wrong.any(axis=tuple(range(1, wrong.ndim)), keepdims=True)
        rows = wrong.any(axis=(0, *range(2, wrong.ndim)), keepdims=True)
        chosen, half = np.broadcast_to(heads & rows, wrong.shape), self.habit.half_units(mine)
        hidden = [name for name in self.paper.steps if name not in self.steps]
        others: list[Wrong] = []
        for done in (Wrong(id_, step, way) for step, way in product((at, *hidden), range(6))):
            with suppress(ImpossibleError):
                found = self.paper.work(done, given=before, until=at, any_size=True)[at]
                if found.shape == mine.shape:
                    if (apart(mine, found) <= half)[chosen].all():
                        return True
                    others.append(done)
        for done in others:
            with suppress(ImpossibleError):  # of numbers that these may be a rounding of
                found, unsure = spread(self.paper, at, before, self.habit, done)
                if (apart(mine, found) <= half + 1.5 * unsure + 1e-9)[chosen].all():
                    return True
        return False


# ---- what is handed in, and judged


def hand_in(
    paper: Paper,
    habit: Habit,
    wrong: Wrong = RIGHT,
    skip: Sequence[str] = (),
    second: Wrong = RIGHT,
) -> Work:
    """Work a problem, with one or two mistakes, and write it down."""
    known = paper.work(wrong, habit, second=second)
    own = {name: habit.rounded(numbers) for name, numbers in known.items()}
    return Work(paper, habit, own, [name for name in paper.steps if name not in skip])


def papers(wish: dict[str, Any], sort: str, seed: int) -> Iterator[Paper]:
    """Draw problems that can be worked by hand."""
    rng = np.random.default_rng([seed, SORTS.index(sort)])
    while True:
        paper = draw(rng, sort, **wish)
        with suppress(ImpossibleError):  # numbers that nobody writes out, or a cosine with nothing
            paper.work()
            yield paper


def key_of(paper: Paper) -> AnswerKey:
    """Return the program's key; as the two share no line of code, what they agree on is right."""
    key = AnswerKey(attncli.Problem(**paper.problem()))
    assert list(key.trace.steps) == paper.steps
    for name, numbers in paper.work(any_size=True).items():
        np.testing.assert_allclose(key.trace[name].array[0], numbers, rtol=1e-9, atol=1e-12)
    return key


def shown(id_: str, case: Case, habit: Habit, drawn: Iterator[Paper]) -> Iterator[Work]:
    """Make a mistake in some problems; yield those in which enough numbers are clearly wrong."""
    for paper in islice(drawn, DRAWS):
        skip = [s for s in paper.steps if s not in case.only] if case.only else case.skip
        with suppress(ImpossibleError):
            work = hand_in(paper, habit, case.wrong(id_), skip)
            if work.clear(case.at)[0].sum() >= case.least:
                yield work


def codes_of(report: Report, at: str) -> Numbers:
    """Return the statuses of a step's cells in the student's layout."""
    return np.array(report.steps[at].codes[0])


def named_in(report: Report, at: str) -> list[str]:
    """Return what is named in a step, first and as other mistakes."""
    finding = report.findings.get(at)
    return [finding.id, *(other.id for other in finding.also)] if finding else []


def judged(work: Work, at: str, must: Numbers, mistake: str = "", *also: str) -> Report:
    """Let the program judge a submission of which a step has the first wrong cells."""
    key = key_of(work.paper)
    layout = work.paper.on_paper(must).reshape(key.trace[at].value.shape)
    cells = tuple(map(tuple, np.argwhere(layout).tolist()))
    truth = Truth(mistake=mistake, step=at, cells=cells, also=also)
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

    At most two mistakes are named in it, and each gives the numbers. It `may_be` another one.
    """
    clear, must_not = work.clear(at)
    own, half = work.own[at], work.habit.half_units(work.own[at])
    also = [n for n in may_be if n not in MISTAKES or work.is_reproduced(n, at, clear)]
    if (apart(own, own.flat[0]) <= 2 * half.max()).all():
        also.append("all_the_same")  # whoever wrote one number everywhere may not have calculated
    # A right number is right by chance, too, and one that was rounded in steps that are not shown.
    least = 4 if len(work.steps) == len(work.paper.steps) else 10
    must = clear & (apart(own, work.paper.work()[at]) > least * half)
    report = judged(work, at, must, id_, *also)
    assert not (codes_of(report, at) == WRONG)[must_not].any(), (id_, at, str(work))
    assert 0 < len(named_in(report, at)) <= 2, (report.findings, str(work))
    only_reproduced(work, report, at)
    return report


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
        habits, may_be = WRITTEN[case.habits], TABLES["same_weights"] if case.only else {}
        for sort in case.sorts:
            drawn = papers(case.wish, sort, place)
            for time in range(case.times):
                turn = list(CASES).index(id_) + place + SORTS.index(sort) + time
                work = next(shown(id_, case, habits[turn % len(habits)], drawn), None)
                assert work is not None, f"no problem shows {id_} ({case}, {sort}, {turn})"
                findings = examined(work, id_, case.at, may_be.get(id_, ())).findings
                is_first = id_ in {finding.id for finding in findings.values()}
                named[id_ if is_first else findings[case.at].id] += 1
                for one in (findings[case.at], *findings[case.at].also):
                    is_in_head = one.id == id_ and case.head is not None
                    assert not is_in_head or one.place == f"In head {(case.head or 0) + 1}"
    record_property(id_, told(named, id_))


@pytest.mark.parametrize("id_", OTHER_SHAPES)
def test_mistake_that_gives_another_shape_is_named(id_: str) -> None:
    """The shape is told, too; where rows and columns are as if exchanged, that comes first."""
    for case in OTHER_SHAPES[id_]:
        drawn = {sort: papers(case.wish, sort, 0) for sort in case.sorts}
        for sort, habit in product(case.sorts, HABITS):
            for paper in islice(drawn[sort], DRAWS):
                with suppress(ImpossibleError):
                    own, right = paper.work(case.wrong(id_), habit, until=case.at), paper.work()
                    shapes = {np.squeeze(numbers[case.at]).shape for numbers in (own, right)}
                    if len(shapes) == 2 and np.ptp(own[case.at]) >= 2:
                        break
            else:
                pytest.fail(f"no problem shows {id_} ({case}, {habit})")
            truth = Truth(mistake=id_, step=case.at)
            report = check(key_of(paper), paper.sheet(own, habit), truth)
            assert faults(report, truth) == [], (case, habit, paper.problem())
            assert {"wrong_shape", "transposed"} & {*named_in(report, case.at)}


def first_other(own: Known, right: Known, steps: Iterable[str]) -> str:
    """Return the first step with other numbers than the right ones; "" for none."""
    return next((name for name in steps if not np.array_equal(own[name], right[name])), "")


@pytest.mark.parametrize("id_", NETWORKS["mistakes"])
def test_mistake_in_a_recurrent_network_is_named(id_: str) -> None:
    """Where contexts or weights alone are given, too, and numbers are telling."""
    rng = np.random.default_rng(5)
    seen = 0
    for turn, drawn in enumerate(NETWORKS["drawn"]):
        problem, habit = draw_network(rng, *drawn), HABITS[turn % len(HABITS)]
        key, right = AnswerKey(attncli.Problem(**problem)), work_network(problem, "", (), habit)
        for number, times in enumerate([(), (2,), (3,), (1, 2, 3)]):
            own = work_network(problem, id_, times, habit)
            left_out = tuple(NETWORKS["left_out"][(turn + number) % 3])
            sheet = {n: habit.texts(a) for n, a in own.items() if not n.startswith(left_out)}
            first = first_other(own, right, sheet)
            same_shape = first != "" and own[first].shape == right[first].shape
            if same_shape and np.abs(own[first] - right[first]).max() < 0.05:
                continue  # numbers that are nearly the right ones are not telling
            truth = Truth(mistake=id_, step=first) if first else Truth(rounding=str(habit))
            report = check(key, sheet, truth)
            assert faults(report, truth) == [], (habit, problem, sheet)
            seen += bool(first)
    assert seen >= 12


PAIRS = 50
"""How many pairs of mistakes are tried, of which each shows."""

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
    is_other = apart(own, work.paper.work()[at]) > 4 * work.habit.half_units(own)
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
        with suppress(ImpossibleError):
            paper = draw(random, str(random.choice(sorts)), **wish)
            paper.work()
            wrongs = one.wrong(id_), other.wrong(other_id)
            need({wrong.at for wrong in wrongs} <= {*paper.steps})
            first, second = sorted(wrongs, key=lambda wrong: paper.steps.index(wrong.at))
            work = hand_in(paper, habits[random.integers(len(habits))], first, second=second)
            if shows(work, first) and shows(work, second):
                report = examined(work, first.id, first.at)
                assert (codes_of(report, second.at) == WRONG).any(), (second, work)
                unnamed += [] if second.id in named_in(report, second.at) else [second]
                pairs.add((id_, other_id))
        if len(pairs) == PAIRS:
            break
    assert len(pairs) == PAIRS
    # Nobody knows which of the scores 0.00 and 0.01 is larger, and 0.00 / 0.00 is anything.
    assert len(unnamed) <= 0.02 * PAIRS, unnamed
