"""Surveys of how fair `attn check` is, by students who share no line of code with it.

Each survey draws submissions at random, lets the program judge them and counts where it is unfair.
`benchmarks/fairness.py` runs them with thousands.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import attncli
from attncli.checking.check import AnswerKey, Report
from attncli.checking.mistakes.catalogue import MISTAKES
from attncli.classroom.submissions import load_answers
from attncli.core.errors import InputError
from attncli.reading.document import Submission, submission_of
from benchmarks.oracles.handwriting import HABITS, Habit, Numbers
from benchmarks.oracles.hollow import blank_sheets, empty_sheets, wrong_sheets
from benchmarks.oracles.homework import draw
from benchmarks.oracles.honest import WAYS, Handed, draw_honest
from benchmarks.oracles.right_work import (
    Task,
    UnworkableError,
    a_choice_flipped,
    a_manner,
    draw_task,
    some_steps,
    with_blanks,
)
from benchmarks.oracles.students import TOGETHER, ImpossibleError, Known, Paper, Wrong
from benchmarks.surveys.test_correct_answers import a_problem
from benchmarks.surveys.test_correct_answers import some_steps as some_of_paper
from benchmarks.surveys.test_mistakes import (
    CASES,
    WRONG,
    Case,
    Reading,
    Work,
    apart,
    codes_of,
    hand_in,
    spread,
)
from benchmarks.surveys.test_slips import (
    ONE_CELL,
    SAME,
    SLIPS,
    STEPS,
    explains,
    handed_in,
    named_by_rows,
)
from benchmarks.surveys.test_slips import WISHES as SLIP_WISHES


@dataclass
class Tally:
    """What a survey found.

    Attributes:
        counts: how often each thing was seen.
        failures: where the program was unfair, as JSON holds it.
    """

    counts: Counter[str] = field(default_factory=Counter)
    failures: list[dict[str, Any]] = field(default_factory=list)

    def fail(self, why: str, handed: Handed, **more: Any) -> None:
        """Note where the program was unfair."""
        line = {"why": why, "way": handed.way, "problem": dict(handed.problem)}
        line |= {"sheet": dict(handed.sheet)}
        if handed.via:
            line |= {"dtype": handed.dtype, "via": handed.via}
        self.failures.append(line | more)


def submission(handed: Handed) -> Submission:
    """Return what the program reads of a sheet, through a file where it is one."""
    if not handed.via or handed.via == "tolist":
        return submission_of(handed.sheet, "student")
    arrays = {s: np.array(x, handed.dtype) for s, x in handed.sheet.items()}
    if handed.via == "arrays":
        return submission_of(arrays, "student")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"student.{handed.via}"
        if handed.via == "npz":
            np.savez(path, **arrays)  # type: ignore[arg-type]
        else:  # JSON numbers, with the digits that they have
            path.write_text(json.dumps(dict(handed.sheet)).replace('"-inf"', '"-Infinity"'))
            text = json.dumps({s: json.loads(_bare(x)) for s, x in handed.sheet.items()})
            path.write_text(text)
        (found,) = load_answers(str(path))
        return found


def _bare(cells: Any) -> str:
    """Return written cells as JSON numbers."""
    if isinstance(cells, list):
        return "[" + ", ".join(_bare(cell) for cell in cells) + "]"
    return '"-Infinity"' if cells == "-inf" else str(cells)


def judged(handed: Handed, key: AnswerKey | None = None) -> Report:
    """Let the program judge a sheet."""
    key = key or AnswerKey(attncli.Problem(**handed.problem))
    return key.check(submission(handed))


def told(report: Report) -> dict[str, Any]:
    """Return what a report says, in short."""
    first = report.first_wrong_step
    finding = report.findings.get(first) if first else None
    return {
        "verdict": report.verdict,
        "wrong": report.wrong_steps,
        "finding": finding and f"{finding.id}: {finding.message}",
    }


# ---- right sheets


def right(rng: np.random.Generator, count: int, habits: Sequence[int] = range(8)) -> Tally:
    """Right sheets, in some of the eight habits: none may be wrong."""
    tally, made = Tally(), 0
    while made < count:
        task, key = a_task(rng)
        exact = task.work()
        for number in habits:
            handed = a_right_sheet(rng, task, number, exact)
            if isinstance(handed, str):
                tally.counts[f"skipped: {handed}"] += 1
                continue
            made += 1
            judge_right(tally, handed, key)
            if made == count:
                break
    return tally


def a_task(rng: np.random.Generator, **wish: Any) -> tuple[Task, AnswerKey]:
    """Draw a task that can be worked, and make sure that the students' numbers are right."""
    while True:
        task = draw_task(rng, **wish)
        try:
            mine = task.work()
        except UnworkableError:
            continue
        key = AnswerKey(attncli.Problem(**task.problem()))
        assert list(key.trace.steps) == list(mine), task.problem()
        for step in key.trace:
            paper = task.paper(step.name, mine[step.name])
            one, other = np.squeeze(step.value), np.squeeze(paper)
            same = np.isclose(one, other, rtol=1e-9, atol=1e-11)
            assert one.shape == other.shape, (step.name, task.problem())
            assert same.all(), (step.name, task.problem())
        return task, key


def a_right_sheet(
    rng: np.random.Generator, task: Task, number: int, exact: Mapping[str, Any]
) -> Handed | str:
    """Work a task in one of the eight habits; return why, where no hand can."""
    manner = a_manner(rng, number)
    try:
        known = dict(task.work(manner.hand()))
    except UnworkableError as error:
        return str(error)
    if a_choice_flipped(exact, known, task):
        return "a tie after rounding"
    share = 0.06 if rng.random() < 0.4 else 0.0
    steps = some_steps(rng, list(known))
    sheet = {s: with_blanks(rng, manner.cells(task, s, known[s]), share) for s in steps}
    if not re.search("[1-9]", json.dumps(sheet)) and any(exact[s].any() for s in steps):
        return "nothing but 0 is left of it"
    return Handed(str(manner), task.problem(), sheet)


def judge_right(tally: Tally, handed: Handed, key: AnswerKey | None = None) -> None:
    """Judge a sheet that is right, and note it where it is called wrong."""
    tally.counts[f"sheets: {handed.way}"] += 1
    try:
        report = judged(handed, key)
    except Exception as error:  # a refusal, or a crash: both are unfair
        tally.counts[f"refused: {handed.way}"] += 1
        tally.fail(f"refused: {error!r}", handed)
        return
    if report.verdict == "wrong":
        tally.counts[f"wrong: {handed.way}"] += 1
        tally.fail("wrong", handed, **told(report))
    tally.counts.update({f"cells: {k}": n for k, n in report.counts.items() if n})
    statuses = {judged.status for judged in report.steps.values()} - {"missing", "correct"}
    for status in statuses or {"correct"}:
        tally.counts[f"{handed.way}; {status}"] += 1


def honest(rng: np.random.Generator, count: int, ways: Sequence[str] = tuple(WAYS)) -> Tally:
    """Sheets worked in one honest way each: none may be wrong."""
    tally = Tally()
    for number in range(count):
        judge_right(tally, draw_honest(rng, ways[number % len(ways)]))
    return tally


# ---- mistakes


@dataclass(frozen=True)
class Spoilt:
    """A sheet with mistakes.

    Attributes:
        sort: "catalogue", "slip" or "pair".
        id: what was done.
        at: the first step in which it can be told.
        work: what was handed in.
        second: another mistake and its step; "" for none.
    """

    sort: str
    id: str
    at: str
    work: Work
    second: tuple[str, str] = ("", "")


TRIES = 40
"""How many problems are drawn for a mistake before it is given up."""

ALL_CASES = [
    (id_, case, sort) for id_, cases in CASES.items() for case in cases for sort in case.sorts
]


def mistakes(rng: np.random.Generator, count: int) -> Tally:
    """Sheets with a mistake of the catalogue, a slip, or two mistakes."""
    tally = Tally()
    for number in range(count):
        kind = number % 20  # 12 of the catalogue, 5 slips, 3 pairs
        turn = number // 20
        if kind < 12:
            spoilt = one_mistake(rng, *ALL_CASES[(12 * turn + kind) % len(ALL_CASES)])
        elif kind < 17:
            spoilt = a_slip(rng, list(SLIPS)[(5 * turn + kind - 12) % len(SLIPS)])
        else:
            spoilt = a_pair(rng)
        if spoilt is None:
            tally.counts["no problem shows it"] += 1
        else:
            judge_spoilt(tally, spoilt)
    return tally


def is_workable(work: Work) -> bool:
    """Whether no sum reads 0 but that of a blocked row, and no number is infinite but −∞."""
    own = work.own
    if any((numbers == np.inf).any() for numbers in own.values()):
        return False
    masked = own.get("masked", np.zeros((1, 1, 1)))
    blocked = (masked == -np.inf).all(axis=-1, keepdims=True)
    same = "sum" in own and own["sum"].shape == blocked.shape
    if same and ((own["sum"] == 0) & ~blocked).any():
        return False
    return all(x.all() for name, x in own.items() if name[:3] == "sum" and not same)


def one_mistake(rng: np.random.Generator, id_: str, case: Case, sort: str) -> Spoilt | None:
    """Draw problems until one shows a mistake of the catalogue."""
    for _ in range(TRIES):
        paper, habit = draw(rng, sort, **case.wish), HABITS[int(rng.integers(len(HABITS)))]
        try:
            work = hand_in(paper, habit, Wrong(id_, case.made or case.at, case.way), case.skip)
            right = paper.work()[case.at]
            same_shape = work.own[case.at].shape == right.shape
            if same_shape and is_workable(work) and work.clear(case.at)[0].any():
                return Spoilt("catalogue", id_, case.at, work)
        except (ImpossibleError, ArithmeticError, LookupError):
            continue
    return None


def a_slip(rng: np.random.Generator, id_: str) -> Spoilt | None:
    """Draw problems until one shows a slip."""
    makers = SLIPS[id_]
    for _ in range(TRIES):
        habit = HABITS[int(rng.integers(len(HABITS)))]
        sort = str(rng.choice(["integers", "decimals", "heads"]))
        paper = draw(rng, sort, **SLIP_WISHES[int(rng.integers(len(SLIP_WISHES)))])
        step = str(rng.choice([s for s in STEPS if s in paper.steps]))
        maker = makers[int(rng.integers(len(makers)))]
        try:
            work = handed_in(rng, paper, habit, maker, step)
            if work is None or not is_workable(work):
                continue
            clear, right = work.clear(step)
        except (ImpossibleError, ArithmeticError, LookupError):
            continue
        if clear.sum() < (1 if id_ in ONE_CELL else 2):
            continue
        if id_ == "sign_slip" or (clear | right).all():
            return Spoilt("slip", id_, step, work)
    return None


def a_pair(rng: np.random.Generator) -> Spoilt | None:
    """Draw two mistakes in one problem, the second in a later step."""
    for _ in range(5 * TRIES):
        id_, case, sort = ALL_CASES[int(rng.integers(len(ALL_CASES)))]
        paper, habit = draw(rng, sort, **case.wish), HABITS[int(rng.integers(len(HABITS)))]
        if case.at not in paper.steps:
            continue
        later = paper.steps[paper.steps.index(case.at) + 1 :]
        later = [s for s in later if s not in TOGETHER.get(id_, ()) and s not in case.skip]
        seconds = [
            (other, found)
            for other, cases in CASES.items()
            for found in cases
            if found.at in later and other not in (id_, *TOGETHER) and not found.skip
        ]
        if not seconds:
            continue
        other, second = seconds[int(rng.integers(len(seconds)))]
        first = Wrong(id_, case.made or case.at, case.way)
        try:
            known = worked(paper, habit, first, Wrong(other, second.at, second.way))
            right = paper.work()
        except (ImpossibleError, ArithmeticError, LookupError):
            continue
        if any(known[s].shape != right[s].shape for s in right):
            continue
        own = {name: habit.rounded(numbers) for name, numbers in known.items()}
        work = Work(paper, habit, own, [s for s in paper.steps if s not in case.skip])
        if not is_workable(work):
            continue
        if work.clear(case.at)[0].any() and work.clear(second.at)[0].any():
            return Spoilt("pair", id_, case.at, work, (other, second.at))
    return None


def worked(paper: Paper, habit: Habit, first: Wrong, second: Wrong) -> Known:
    """Work a problem with two mistakes."""
    known: dict[str, Numbers] = {}
    for name in paper.steps:
        numbers = paper.step(name, known, second if name == second.at else first)
        finite = numbers[np.isfinite(numbers)]
        if np.isnan(numbers).any() or np.abs(finite).max(initial=0) > 1e7:
            raise ImpossibleError
        known[name] = habit.rounded(numbers) if habit.early else numbers
    return known


def judge_spoilt(tally: Tally, spoilt: Spoilt) -> None:
    """Judge a sheet with mistakes, and note what is said of them."""
    work, at, group = spoilt.work, spoilt.at, f"{spoilt.sort} {spoilt.id}"
    key = AnswerKey(attncli.Problem(**work.paper.problem()))
    report = work.checked(key)
    seen = said_of(spoilt, spoilt.id, at, report)
    if spoilt.sort == "pair":
        group = "pair"
        later = said_of(spoilt, *spoilt.second, report)
        tally.counts[f"{group}: second {later}"] += 1
        if later in ("misnamed", "correct"):
            handed = Handed(f"second of {group}", work.paper.problem(), work.sheet)
            tally.fail(f"second {later}", handed, id=spoilt.second, **told(report))
    for one in (group, f"every {spoilt.sort}", "everything"):
        tally.counts[f"{one}: sheets"] += 1
        tally.counts[f"{one}: {seen}"] += 1
    if seen != "named":
        handed = Handed(group, work.paper.problem(), work.sheet)
        more = {"id": spoilt.id, "at": at, "habit": str(work.habit), "second": spoilt.second}
        tally.fail(seen, handed, **more, **told(report))


def said_of(spoilt: Spoilt, id_: str, at: str, report: Report) -> str:
    """Return what is said of a mistake in a step.

    "correct": it is not noticed; "elsewhere": another step comes first; "named"; "named, too": what
    is named gives the same numbers; "misnamed": what is named does not; "unnamed".
    """
    work = spoilt.work
    is_second = at == spoilt.second[1]
    if report.verdict != "wrong" or (is_second and at not in report.wrong_steps):
        return "correct"
    if not is_second and report.first_wrong_step != at:
        return "elsewhere"
    finding = report.findings.get(at)
    if finding is None:
        return "unnamed"
    names = [finding.id, *(other.id for other in finding.also)]
    turned = [named_by_rows(name) if work.paper.columns else name for name in names]
    wrong = codes_of(report, at) == WRONG
    others = [name for name in names if name in MISTAKES and name != id_]
    if not all(work.is_reproduced(name, at, wrong) for name in others):
        return "misnamed"
    if id_ in names or (spoilt.sort == "slip" and id_ in turned):
        return "named"
    if others:
        return "named, too"
    if finding.id in GENERAL or "perhaps" in finding.message:
        return "unnamed"
    if spoilt.sort == "slip":
        same = turned[0] in SAME.get(id_, ()) or explains(turned[0], work, at, wrong)
        return "named, too" if same else "misnamed"
    return "called a slip"


GENERAL = ("single_cell_slip", "row_slip", "column_slip", "wrong_step", "unexplained")
"""Findings that say where it is wrong, and hardly why."""

BOUNDS = {"correct": 0.001, "elsewhere": 0.001, "misnamed": 0.002}
"""The largest share of all sheets with a mistake that may be judged so."""

NAMED = 0.99
"""The least share of mistakes of the catalogue that must be named."""


def shares_of(counts: Counter[str]) -> Iterator[str]:
    """Yield the table of mistakes."""
    groups = sorted(name.removesuffix(": sheets") for name in counts if name.endswith(": sheets"))
    for group in groups:
        n = counts[f"{group}: sheets"]
        start = f"{group}: "
        said = {k.removeprefix(start): v for k, v in counts.items() if k.startswith(start)}
        del said["sheets"]
        parts = ", ".join(f"{word} {v} ({v / n:.2%})" for word, v in sorted(said.items()))
        yield f"  {group:44} {n:6} sheets: {parts}"
    yield f"  no problem was found that shows it: {counts['no problem shows it']}"
    n = counts["everything: sheets"]
    for word, most in BOUNDS.items():
        yield f"  bound: {word} {counts[f'everything: {word}'] / n:.3%}, less than {most:.1%}"
    named, n = counts["every catalogue: named"], counts["every catalogue: sheets"]
    yield f"  bound: mistakes of the catalogue named {named / n:.3%}, at least {NAMED:.0%}"


# ---- hollow sheets


HOLLOW: dict[str, tuple[str, ...]] = {
    "blank": ("empty",),
    "without cells": ("empty", "refused", "wrong"),
    "wrong": ("wrong",),
}
"""The sorts of hollow sheets, and the verdicts that they may have."""


def hollow(rng: np.random.Generator, count: int, sorts: Sequence[str] = tuple(HOLLOW)) -> Tally:
    """Sheets that say nothing, or nothing right; the count is that of the problems."""
    tally = Tally()
    for _ in range(count):
        task, key = a_task(rng)
        known = task.work()
        sheets = {
            "blank": blank_sheets(task, known),
            "without cells": empty_sheets(task, known),
            "wrong": wrong_sheets(rng, task, known),
        }
        for sort in sorts:
            for handed in sheets[sort]:
                judge_hollow(tally, handed, key, *HOLLOW[sort])
    return tally


def judge_hollow(tally: Tally, handed: Handed, key: AnswerKey, *allowed: str) -> None:
    """Judge a sheet that must have one of some verdicts."""
    tally.counts[f"sheets: {handed.way}"] += 1
    try:
        report = judged(handed, key)
        verdict, said = report.verdict, told(report)
    except InputError as error:
        verdict, said = "refused", {"refused": str(error)}
    except Exception as error:
        verdict, said = "crashed", {"crashed": repr(error)}
    tally.counts[f"{handed.way}; {verdict}"] += 1
    if verdict not in allowed:
        tally.counts[f"wrong: {handed.way}"] += 1
        tally.fail(f"{verdict}, not {' or '.join(allowed)}", handed, **said)


# ---- one wrong number


ALSO = "others called wrong, too"
"""A right number that follows from the right ones before it, where one of these was changed.

Who copied a number wrongly went on with the right one; that is told, and not counted as unfair.
"""


def one_wrong(rng: np.random.Generator, count: int) -> Tally:
    """Right sheets with one number changed at random: it is found, and no cause is made up."""
    tally, number = Tally(), 0
    while tally.counts["sheets"] < count:
        number += 1
        habit = HABITS[number % len(HABITS)]
        paper, _ = a_problem(rng, number)
        try:
            work = hand_in(paper, habit)._replace(steps=some_of_paper(rng, paper))
        except ImpossibleError:
            continue
        if not is_workable(work):
            continue
        at = str(rng.choice(work.steps))
        place = changed(rng, work, at)
        if place is None:
            continue
        judge_one_wrong(tally, work, at, place)
    return tally


def changed(rng: np.random.Generator, work: Work, at: str) -> tuple[int, ...] | None:
    """Change one number of a step by something from two units of its last digit to 30."""
    numbers = work.own[at].copy()
    places = np.argwhere(np.isfinite(numbers))
    if not len(places):
        return None
    place = tuple(int(i) for i in places[rng.integers(len(places))])
    least = 4 * float(work.habit.half_units(numbers)[place]) or 0.01
    by = float(np.exp(rng.uniform(np.log(least), np.log(max(30, 2 * least)))))
    numbers[place] += by if rng.random() < 0.5 else -by
    work.own[at] = work.habit.rounded(numbers)
    return place


def judge_one_wrong(tally: Tally, work: Work, at: str, place: tuple[int, ...]) -> None:
    """Judge a sheet with one wrong number, and note whether it is found and what is said of it."""
    may_be = within(work, at)
    own, exact = work.own[at][place], work.paper.work()[at][place]
    is_near = abs(own - exact) <= 2.1 * work.habit.half_units(work.own[at])[place]
    if is_near or not work.clear(at)[0][place]:
        tally.counts["not counted: within what rounding reaches"] += 1
        return
    tally.counts["sheets"] += 1
    report = work.checked(AnswerKey(attncli.Problem(**work.paper.problem())))
    handed = Handed(f"{at}{list(place)}", work.paper.problem(), work.sheet)
    more = {"at": at, "place": list(place), "habit": str(work.habit)} | told(report)
    if at not in report.wrong_steps or codes_of(report, at)[place] != WRONG:
        reach = "rounding more coarsely reaches it" if may_be[place] else "no rounding reaches it"
        tally.counts[f"missed, {reach}"] += 1
        tally.fail(f"missed, {reach}", handed, **more)
        return
    tally.counts["found"] += 1
    others = [name for name in report.wrong_steps if name != at]
    if others or (codes_of(report, at) == WRONG).sum() > 1:
        tally.counts[ALSO] += 1
        tally.fail(ALSO, handed, **more)
    claim = claimed(work, at, place, report)
    tally.counts[f"said: {claim}"] += 1
    if claim.startswith("false cause"):
        tally.counts["false causes"] += 1
        tally.fail(claim, handed, **more)


def within(work: Work, at: str) -> Numbers:
    """Return which cells of a step any rounding that people do would reach.

    What is shown may have been cut off, and so be off by a whole unit; what is not shown was
    rounded to two decimals or cut there, √d_k to one decimal, e to 2.7.
    """
    paper, habit, before = work.paper, work.habit, work.before(at)
    known: dict[str, Numbers] = {}
    unsure: dict[str, Numbers] = {}
    for name in paper.steps[: paper.steps.index(at) + 1]:
        if name in before and name != at:
            known[name], unsure[name] = before[name], habit.half_units(before[name])
            continue
        reading = Reading(known)
        middle = paper.step(name, reading)
        total = by_constants(paper, name, middle)
        with np.errstate(invalid="ignore"):
            for source in reading.read:
                for spot, by in np.ndenumerate(unsure[source]):
                    moved = known[source].copy()
                    moved[spot] += by
                    off = np.abs(paper.step(name, known | {source: moved}) - middle)
                    total = total + np.where(np.isnan(off), 0, off)
        known[name] = middle
        unsure[name] = total if name == at else total + np.maximum(habit.half_units(middle), 0.01)
    half = habit.half_units(work.own[at])
    near: Numbers = apart(work.own[at], known[at]) <= 2 * half + 2 * unsure[at] + 1e-9
    return near


def by_constants(paper: Paper, name: str, numbers: Numbers) -> Numbers:
    """Return how far a short √d_k or a short e takes the numbers of a step."""
    size = np.where(np.isfinite(numbers), np.abs(numbers), 0.0)
    if name == "scaled" and "scale" not in paper.keys:
        root = float(paper.d_k**0.5)
        short = float(np.floor(root * 10) / 10)
        return np.asarray(size * abs(short / root - 1), float)
    if name.startswith("exp"):
        power = np.abs(np.log(np.where(size > 0, size, 1.0)))
        return np.asarray(size * power * abs(np.log(2.7) - 1), float)
    return np.zeros(numbers.shape)


NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"
PRODUCT = re.compile(
    rf"\(?({NUMBER})\)?(?:·\(?({NUMBER})\)?)? was (left out|counted twice|taken as ({NUMBER}))"
)
"""What is said of one product of a sum, or of one of its terms."""


def claimed(work: Work, at: str, place: tuple[int, ...], report: Report) -> str:
    """Return which cause is claimed for a number that was changed at random."""
    finding = report.findings.get(at)
    if finding is None:
        return "nothing"
    if finding.id == "mask_slip":
        return "what the mask does"
    message = finding.message.replace("−", "-")
    if "perhaps" in message.lower():
        return "perhaps"
    plain = re.fullmatch(r"Only .* (is|are) wrong\.?", message)
    if plain or re.search(r"(too (large|small)|off by \S+)\.?$", message):
        return "only where it is wrong"
    wrong = codes_of(report, at) == WRONG
    if finding.id in MISTAKES:
        coincides = work.is_reproduced(finding.id, at, wrong)
    elif (match := PRODUCT.search(message)) is not None:
        coincides = product_explains(match, work, at, place)
    elif finding.id == "digits_swapped":
        coincides = swap_explains(work, at, place)
    else:
        coincides = explains(finding.id, work, at, wrong)
    return f"{'coincidence' if coincides else 'false cause'}: {finding.id}"


def product_explains(match: re.Match[str], work: Work, at: str, place: tuple[int, ...]) -> bool:
    """Whether the number is off by what is said of a product, but for rounding."""
    product = float(match[1]) * float(match[2] or 1)
    off = {"left out": -product, "counted twice": product}.get(match[3])
    if off is None:
        off = float(match[4]) - product
    right, unsure = spread(work.paper, at, work.before(at), work.habit)
    most = 2 * work.habit.half_units(work.own[at])[place] + 1.5 * unsure[place] + 1e-9
    return bool(abs(work.own[at][place] - right[place] - off) <= most)


def swap_explains(work: Work, at: str, place: tuple[int, ...]) -> bool:
    """Whether exchanging two digits of the number gives the right one, but for rounding."""
    text = work.habit.text(float(work.own[at][place]))
    right, unsure = spread(work.paper, at, work.before(at), work.habit)
    most = 2 * work.habit.half_units(work.own[at])[place] + 1.5 * unsure[place] + 1e-9
    digits = [i for i, letter in enumerate(text) if letter.isdigit()]
    for one in digits:
        for other in digits:
            letters = list(text)
            letters[one], letters[other] = letters[other], letters[one]
            if one < other and abs(float("".join(letters)) - right[place]) <= most:
                return True
    return False
