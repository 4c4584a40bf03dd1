"""Surveys of what follow-through is worth: numbers that were invented, and mistakes.

Whoever invents numbers that leave no work to do earns nothing by what follows from them; whoever
makes a mistake that the catalogue knows loses nothing, however trivial it makes later steps.
`benchmarks/fairness.py` runs both with thousands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np

import attncli
from attncli.checking.check import AnswerKey, Report
from attncli.reading.document import submission_of
from benchmarks.oracles import block_student, cache_student, gradient_student, position_student
from benchmarks.oracles.handwriting import HABITS, Numbers
from benchmarks.oracles.homework import draw
from benchmarks.oracles.honest import Handed
from benchmarks.oracles.students import ImpossibleError, Paper, Wrong
from benchmarks.surveys import test_block_mistakes, test_position_mistakes
from benchmarks.surveys.fairness import ALL_CASES, Tally, is_workable, told
from benchmarks.surveys.test_cache_mistakes import DECODE, PAST
from benchmarks.surveys.test_gradient_mistakes import CASES as OF_GRADIENTS
from benchmarks.surveys.test_gradient_mistakes import sheet
from benchmarks.surveys.test_mistakes import hand_in

MOST = 2.0
"""The most points, of 10, that invented numbers may earn."""

WISHES: tuple[dict[str, Any], ...] = (
    *({}, {"square": True}, {"kind": "cross"}, {"w_o": True}, {"columns": True}, {"scale": 0.3}),
    *({"score": "general"}, {"score": "cosine"}, {"score": "dot"}, {"score": "distance"}),
    *({"heads": 4, "kv_heads": 2}, {"kind": "co_attention"}),
)
"""What the problems have in which numbers are invented."""


def one_hot(rng: np.random.Generator, n: int, m: int) -> Iterator[tuple[str, Numbers]]:
    """Yield matrices with one 1 in each row."""
    for name, columns in (
        ("diagonal", np.arange(n)),
        ("a permutation", rng.permutation(max(n, m))[:n]),
        ("the first column", np.zeros(n, int)),
    ):
        yield name, np.eye(m)[columns % m]


def inventions(rng: np.random.Generator, right: Mapping[str, Numbers]) -> Iterator[Any]:
    """Yield a name, invented numbers by step, and points; they leave no work to do."""
    weights = next(name for name in right if name.startswith("weights"))
    mixed = [*right][[*right].index(weights) + 1]
    n, m = right["scores"].shape[-2:]
    of_scores = {"scores": 2, weights: 4, mixed: 4}

    def filled(step: str, matrix: Numbers) -> dict[str, Numbers]:
        return {step: np.broadcast_to(matrix, right[step].shape).copy()}

    for name, matrix in one_hot(rng, n, m):
        rising = 60.0 + 10 * np.arange(n)[:, None]
        yield f"scores 100 at {name}", filled("scores", 100 * matrix), of_scores
        yield f"scores 60, 70, … at {name}", filled("scores", rising * matrix), of_scores
        yield f"weights 1 at {name}", filled(weights, matrix), {weights: 5, mixed: 5}
    for number in (0.0, 1.0, float(rng.integers(2, 9))):
        same = np.full((n, m), number)
        yield f"scores all {number:g}", filled("scores", same), of_scores
        yield f"weights all {number:g}", filled(weights, same), {weights: 5, mixed: 5}
        if "Q" in right:
            qkv = {s: np.full(right[s].shape, number) for s in ("Q", "K", "V")}
            points = {"Q": 1, "K": 1, "V": 1, "scores": 2, weights: 3, mixed: 2}
            yield f"Q, K and V all {number:g}", qkv, points


def is_telling(right: Mapping[str, Numbers], invented: Mapping[str, Numbers]) -> bool:
    """Whether the right numbers need work, and most of the invented ones are far from them."""
    names = [*right]
    for name in names:
        if name.startswith("weights"):
            weights, mixed = right[name], right[names[names.index(name) + 1]]
            if weights.max() > 0.9 or np.ptp(weights, axis=-1).min() < 0.1:
                return False
            if np.ptp(mixed, axis=-2).max(axis=-1).min() < 0.1:  # in a head, all rows are alike
                return False
    least = 0.1 if any(name.startswith("weights") for name in invented) else 0.51  # 0 is 0.4, too
    return all(2 * (np.abs(x - right[s]) > least).sum() > x.size for s, x in invented.items())


def invented(rng: np.random.Generator, count: int) -> Tally:
    """Sheets with invented numbers, and what follows from them; the count is that of problems."""
    tally = Tally()
    for number in range(count):
        wish = WISHES[number % len(WISHES)]
        is_plain = wish.get("kind") == "co_attention" or "kv_heads" in wish
        sort = str(rng.choice(["integers", "decimals", "heads"][: 2 if is_plain else 3]))
        paper = draw(rng, sort, **wish)
        try:
            right = paper.work()
        except ImpossibleError:
            continue
        for name, numbers, points in inventions(rng, right):
            if is_telling(right, numbers):
                judge_invented(tally, rng, paper, name, numbers, points)
    return tally


def judge_invented(
    tally: Tally,
    rng: np.random.Generator,
    paper: Paper,
    name: str,
    numbers: Mapping[str, Numbers],
    points: Mapping[str, float],
) -> None:
    """Judge what follows from invented numbers, and note what earns too much."""
    habit = HABITS[int(rng.integers(len(HABITS)))]
    with np.errstate(all="ignore"):
        try:
            known = paper.work(given=numbers, any_size=True)
        except ImpossibleError:
            return
    start = paper.steps.index(next(iter(numbers)))
    names = [
        s
        for s in paper.steps[start:]
        if s in points or (rng.random() < 0.5 and np.abs(known[s]).max() < 1e7)
    ]
    if not all(np.isfinite(known[s]).all() for s in names if not s.startswith("masked")):
        return
    shown = paper.sheet({s: habit.rounded(known[s]) for s in names}, habit, names)
    handed = Handed(name, paper.problem() | {"marking": {"points": dict(points)}}, shown)
    report = attncli.check(attncli.Problem(**handed.problem), shown)
    tally.counts[f"sheets: {name}"] += 1
    causes = [report.findings[s].is_cause for s in numbers if s in report.findings]
    if report.total > MOST and any(causes):
        tally.counts[f"{name}; a mistake gives it"] += 1
    elif report.total > MOST:
        tally.counts[f"wrong: {name}"] += 1
        tally.fail(f"earns {report.total}", handed, points=report.points, **told(report))


# ---- mistakes


SPREAD = (1, 1, 2, 4, 10)
"""Factors of the input, so that some weights are 0 and 1."""


def mistaken(rng: np.random.Generator, count: int) -> Tally:
    """Sheets with a mistake of the catalogue, of all kinds of problems: none loses a point."""
    tally = Tally()
    for number in range(count):
        made = elsewhere(rng, number // 4) if number % 4 == 3 else of_attention(rng, number)
        if made is None:
            tally.counts["no problem shows it"] += 1
            continue
        id_, problem, handed = made
        group = f"sheets: {id_}"
        tally.counts[group] += 1
        report = AnswerKey(attncli.Problem(**problem)).check(submission_of(handed, "student"))
        tally.counts["later steps that hold only 0 and 1"] += saturates(report)
        if report.unearned:
            tally.counts[f"wrong: {id_}"] += 1
            lost = {name: report.steps[name].status for name in report.unearned}
            tally.fail("loses points", Handed(id_, problem, handed), lost=lost, **told(report))
    return tally


def saturates(report: Report) -> bool:
    """Whether weights that follow hold only 0 and 1."""
    return any(
        name.startswith("weights")
        and judged.status == "follows"
        and bool(np.isin(judged.step.on_paper(judged.values), (0, 1)).all())  # type: ignore[attr-defined]
        for name, judged in report.steps.items()
    )


Made = tuple[str, dict[str, Any], Mapping[str, Any]]


def of_attention(rng: np.random.Generator, number: int) -> Made | None:
    """Return a mistake, a problem of attention, and the sheet or some of its steps."""
    id_, case, sort = ALL_CASES[number * 7 % len(ALL_CASES)]
    for _ in range(10):
        paper, habit = draw(rng, sort, **case.wish), HABITS[int(rng.integers(len(HABITS)))]
        paper = Paper(paper.keys | {"X": paper.keys["X"] * rng.choice(SPREAD)}, paper.columns)
        try:
            work = hand_in(paper, habit, Wrong(id_, case.made or case.at, case.way), case.skip)
            right = paper.work()
        except (ImpossibleError, ArithmeticError, LookupError):
            continue
        if any(work.own[s].shape != right[s].shape for s in right) or not is_workable(work):
            continue
        share = rng.choice([1.0, 0.6])
        steps = [s for s in work.steps if rng.random() < share] or work.steps
        return id_, paper.problem(), work._replace(steps=steps).sheet
    return None


def elsewhere(rng: np.random.Generator, number: int) -> Made | None:
    """Return a mistake with a block, a cache, positions or gradients."""
    turn, kind = divmod(number, 4)
    heads, decimals = int(rng.integers(1, 3)), int(rng.integers(2, 5))
    if kind == 0:
        cases = [(i, *case) for i, cases in test_position_mistakes.CASES.items() for case in cases]
        id_, positions, _, way = cases[turn % len(cases)]
        problem = position_student.draw(rng, positions, heads)
        steps = position_student.Student(problem, id_, way).work()
        return id_, problem, position_student.written(steps, decimals)
    if kind == 1:
        places = [(i, *case) for i, cases in OF_GRADIENTS.items() for case in cases]
        id_, of_kind, at, way = places[turn % len(places)]
        problem = gradient_student.draw_gradient(rng, of_kind)
        habit = HABITS[int(rng.integers(len(HABITS)))]
        own = gradient_student.Student(problem, habit, id_, at, way).work()
        return id_, problem, sheet(own, habit)
    if kind == 2:
        id_, more = "cache_without_new_token", (PAST, DECODE)[turn % 2]
        problem = cache_student.draw(rng, more, heads)
        own = cache_student.Student(problem, id_).work()
        return id_, problem, cache_student.written(own, decimals)
    blocks = [*product(test_block_mistakes.EVERY_CASE, range(len(test_block_mistakes.BLOCKS)))]
    id_, place = blocks[turn * 5 % len(blocks)]
    block = test_block_mistakes.BLOCKS[place]
    if not test_block_mistakes.can_make(id_, block):
        return None
    problem = block_student.draw(rng, **block)
    steps = block_student.Student(problem, id_).work()
    shown = test_block_mistakes.shown(steps, bool(rng.random() < 0.5))
    return id_, problem, block_student.written(shown, decimals)
