"""Surveys of how fair `attn check` is, by students who share no line of code with it.

A survey draws submissions, each of which carries what is true of it, lets the program judge them
and counts what ought not to be said. `python -m benchmarks.surveys NAME` prints its rates; tests
hold them within the bounds of `fairness.yaml`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
import yaml

import attncli
from attncli.checking.check import AnswerKey, Report
from attncli.core.errors import InputError
from attncli.reading.document import submission_of
from benchmarks.oracles.drawn import Random, one_of
from benchmarks.oracles.hollow import HOLLOW
from benchmarks.oracles.schedules import SCHEDULES, Draw, Setting
from benchmarks.oracles.submitted import (
    FORMS,
    PLANTS,
    SHOWN,
    Make,
    Submission,
    hand_in,
    shown_steps,
)
from benchmarks.oracles.workings import SORTS, UnworkableError, Working, draw
from benchmarks.surveys import judging
from tests.support.truth import Truth, faults

SHARED = 6
"""Number of submissions of a problem that are made before another one is drawn."""

TRIES = 40
"""Number of attempts at a problem before another one is drawn."""

SURE = 10.5
"""Minimum error of a number, in units in the last place, that must be found where it is."""

GROUPS = {"1": 1.5, "2 to 4": 4.5, "5 to 10": 10.5, "over 10": np.inf}
"""How many units a number is off, and the most of each group."""

WRONG = 4
"""The code of a wrong cell, by its place among the statuses of the contract."""


SURVEYS = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
"""The kinds of submissions of each survey, and the bounds within which they are judged."""


def rounded(schedule: Draw, at: Setting) -> Submission:
    """Return what is handed in by a student who rounds by a schedule."""
    return hand_in(at, schedule(at))


MAKERS: dict[str, Make] = {
    **{name: partial(rounded, schedule) for name, schedule in SCHEDULES.items()},
    **FORMS,
    **PLANTS,
    **HOLLOW,
}
"""What makes a submission of a kind, where the setting shows it."""


# ---- submissions


def submissions(rng: Random, name: str, way: str, sorts: Sequence[str]) -> Iterator[Submission]:
    """Yield submissions of a kind without end, some of each problem, with the sorts in turn."""
    kind = SURVEYS[name]["kinds"][way]
    for sort in cycle([s for s in sorts if s in kind.get("sorts", SORTS)] or kind["sorts"]):
        working, made = draw(rng, sort, **one_of(rng, kind.get("wishes", [{}]))), 0
        for _ in range(TRIES):
            shown, decimals = str(rng.choice(SHOWN)), int(rng.choice([2, 3, 4]))
            steps = shown_steps(rng, working.names, shown)
            if made == SHARED or not steps:
                continue
            with suppress(UnworkableError):
                submission = MAKERS[way](Setting(rng, working, steps, shown, decimals))
                made += 1
                yield submission


def key_of(working: Working) -> AnswerKey:
    """Return the program's answers to a problem, which must be those of the student."""
    key = AnswerKey(attncli.Problem(**working.problem))
    for name, numbers in working.exact.items():
        one, other = np.squeeze(key.trace[name].value), np.squeeze(working.paper(name, numbers))
        is_close = one.shape == other.shape and np.allclose(one, other, rtol=1e-9, atol=1e-11)
        # A tie of floats: 1 and 1 − 1e-16 are the same to a person, and not to a hardmax.
        assert is_close or "hardmax" in str(working.problem), (name, working.problem)
    return key


# ---- what the program makes of them


@dataclass
class Tally:
    """What was seen in a survey.

    Attributes:
        survey: which.
        rows: of each submission, how it was made, and what was seen that ought not to be.
        misjudged: such submissions as JSON holds them, with what was seen.
    """

    survey: str
    rows: list[tuple[Mapping[str, Any], Sequence[str]]] = field(default_factory=list)
    misjudged: list[dict[str, Any]] = field(default_factory=list)

    def count(self, where: Mapping[str, str], thing: str) -> tuple[int, int]:
        """Return how often a thing was seen in some submissions, and the number of these."""
        some = [seen for said, seen in self.rows if where.items() <= said.items()]
        return sum(thing in seen for seen in some), len(some)

    def beyond(self, spare: int = 0) -> list[str]:
        """Return a line for each bound that is passed by more than some submissions."""
        lines = []
        for bound in SURVEYS[self.survey]["bounds"]:
            seen, count = self.count(bound["of"], bound["seen"])
            if seen > bound["share"] * count + spare:
                lines.append(f"{seen} of {count} are beyond the bound {bound}")
        return lines

    def table(self, columns: Sequence[str]) -> Iterator[str]:
        """Yield a line for each group of submissions, with the share of each thing."""
        things = sorted({thing for _, seen in self.rows for thing in seen} | {"misjudged"})
        groups = {tuple(str(said.get(c, "")) for c in columns) for said, _ in self.rows}
        for group in sorted(groups):
            where = {c: word for c, word in zip(columns, group, strict=True) if word}
            counts = [(thing, *self.count(where, thing)) for thing in things]
            shares = [f"{thing} {n} ({n / whole:.1%})" for thing, n, whole in counts]
            yield f"{', '.join(filter(None, group)):60} {counts[0][2]:6}: {', '.join(shares)}"


def survey(
    name: str,
    rng: Random,
    count: int,
    ways: Sequence[str] = (),
    sorts: Sequence[str] = tuple(SORTS),
) -> Tally:
    """Judge so many submissions of each kind of a survey, or of some."""
    tally = Tally(name)
    for way in ways or SURVEYS[name]["kinds"]:
        key: AnswerKey | None = None
        working: Working | None = None
        for submission in islice(submissions(rng, name, way, sorts), count):
            if key is None or working is not submission.working:
                working = submission.working
                key = key_of(working)
            group = next(group for group, most in GROUPS.items() if submission.units <= most)
            said = {"way": way, "sort": working.sort, **submission.said}
            said |= {"units": group} if submission.amiss else {}
            seen, line = judged(submission, way, key)
            tally.rows.append(({name: str(word) for name, word in said.items()}, seen))
            if seen:
                tally.misjudged.append(line | {"seen": list(seen), "said": said})
    return tally


def truth_of(submission: Submission, way: str, key: AnswerKey) -> Truth:
    """Return what is true of a submission, with cells in the axes of the program's step."""
    if not submission.amiss:
        return Truth(rounding=way)
    step, mask = next(iter(submission.amiss.items()))
    is_sure = submission.units > SURE and mask.sum() == 1
    mask = mask.reshape(key.trace[step].value.shape)
    cells = tuple(tuple(map(int, place)) for place in np.argwhere(mask)) if is_sure else ()
    return Truth(mistake=submission.mistake, step=step, cells=cells)


def judged(
    submission: Submission, way: str, key: AnswerKey
) -> tuple[Sequence[str], dict[str, Any]]:
    """Let the program judge a submission; return what is seen that ought not, and its record."""
    answers = {
        step: x.tolist() if isinstance(x, np.ndarray) and x.dtype.kind in "OU" else x
        for step, x in submission.cells.items()
    }
    line: dict[str, Any] = {"problem": key.problem.written, "answers": answers}
    try:
        report = key.check(submission_of(answers, "student"))
    except InputError:
        return ["misjudged"] * ("refused" not in submission.verdicts), line
    amiss = submission.amiss
    right = submission.verdicts or (("wrong",) if amiss else ("correct",))
    seen = ["misjudged"] * (report.verdict not in right)
    if submission.verdicts and not amiss:
        return seen, line
    truth = truth_of(submission, way, key)
    line["truth"] = vars(truth)
    untrue = faults(report, truth)
    is_sure = not amiss or submission.verdicts or submission.units > SURE
    if is_sure and not untrue and judging.kept is not None:
        judging.check(key, answers, truth)
    if not amiss:
        return seen, line
    blamed = blamed_steps(submission, report)
    is_cause = any(report.findings[step].is_cause for step in amiss if step in report.findings)
    things = {
        "not where it is": bool(untrue) and not seen and submission.units > SURE,
        "later steps blamed": bool(blamed - {*amiss}),
        "right cells blamed": bool(blamed & {*amiss}),
        "paid": report.total > submission.most and not is_cause,
        "unpaid": bool(submission.mistake and report.unearned),
    }
    return seen + [thing for thing, is_so in things.items() if is_so], line


def blamed_steps(submission: Submission, report: Report) -> set[str]:
    """Return the steps with cells that are called wrong and are not."""
    blamed = set()
    for name, cells in submission.cells.items():
        codes = np.asarray(report.steps[name].on_paper).reshape(np.shape(cells))
        if ((codes == WRONG) & ~submission.amiss.get(name, np.zeros(codes.shape, bool))).any():
            blamed.add(name)
    return blamed
