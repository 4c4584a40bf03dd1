"""A survey of names: the same submissions with the letters of courses in place of names of steps.

A letter may mean several steps, so a submission may be called incomplete, with what its letters may
mean; no other verdict changes, and no mistake is named in a step that the student did not mean.
With `names` in the problem, nothing changes. `benchmarks/names.py` runs it with thousands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import attncli
from attncli.checking.check import AnswerKey, Report
from attncli.core.errors import InputError
from benchmarks.oracles.honest import WAYS, Handed, draw_honest
from benchmarks.surveys.fairness import ALL_CASES, Tally, a_right_sheet, a_slip, a_task
from benchmarks.surveys.fairness import one_mistake as a_mistake
from benchmarks.surveys.test_slips import SLIPS

COURSES: dict[str, dict[str, str]] = {
    "a, b": {"scores": "a", "weights": "b", "context": "c", "output": "o"},
    "S, W": {"scores": "S", "weights": "W", "context": "c", "output": "Z"},
    "e, α": {"scores": "e", "weights": "α", "context": "Z", "output": "o"},
    "α, A": {"scores": "α", "weights": "A", "output": "O"},
    "S, P": {"scaled": "S", "weights": "P", "output": "O"},
    "e, a": {"scaled": "e", "weights": "a", "context": "c"},
    "s, w": {"masked": "s", "weights": "w", "output": "z"},
}
"""What courses call the steps."""

STEP = re.compile(r"(?P<name>[a-z]+)(?P<time>_\d+)?")

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "sample_inputs"


@dataclass(frozen=True)
class Sheet:
    """A submission by names of steps, and where it is from."""

    sort: str
    problem: Mapping[str, Any] | attncli.Problem
    answers: Mapping[str, Any]

    def named(self, names: Mapping[str, str]) -> attncli.Problem:
        """Return the problem, with names of a course."""
        values = self.problem
        if isinstance(values, attncli.Problem):
            values = {key: getattr(values, key) for key in values.given}
        return attncli.Problem(**{**values, "names": names})


def of_samples() -> Iterator[Sheet]:
    """Yield the answers that come with the program, and whatever of the corpus can be read so."""
    pairs = [("integers_scaled.yaml", path) for path in sorted((SAMPLES / "answers").iterdir())]
    pairs += [("i_am_good.yaml", path) for path in sorted((SAMPLES / "answers").iterdir())]
    pairs += [
        ("transformer_block.yaml", path) for path in sorted((SAMPLES / "block_answers").iterdir())
    ]
    corpus = sorted((ROOT / "tests" / "data" / "corpus").iterdir())
    for name, path in [*pairs, *(("i_am_good.yaml", path) for path in corpus)]:
        problem = attncli.load(SAMPLES / name)
        try:
            sheets = [*attncli.load_answers(path)]
        except InputError:
            continue
        for sheet in sheets:
            yield Sheet("sample", problem, sheet.answers)


def drawn(rng: np.random.Generator, count: int) -> Iterator[Sheet]:
    """Yield submissions of students who share no line of code with the program."""
    number = made = 0
    while made < count:
        number += 1
        sort = ("right", "honest", "mistake", "slip")[number % 4]
        handed: Handed | str | None = None
        if sort == "right":
            task, _ = a_task(rng)
            handed = a_right_sheet(rng, task, number % 8, task.work())
        elif sort == "honest":
            handed = draw_honest(rng, [*WAYS][number // 4 % len(WAYS)])
        elif sort == "mistake":
            spoilt = a_mistake(rng, *ALL_CASES[int(rng.integers(len(ALL_CASES)))])
        else:
            spoilt = a_slip(rng, list(SLIPS)[number // 4 % len(SLIPS)])
        if sort in ("mistake", "slip") and spoilt is not None:
            work = spoilt.work
            handed = Handed(spoilt.id, work.paper.problem(), work.sheet)
        if isinstance(handed, Handed) and not handed.via:
            made += 1
            yield Sheet(sort, handed.problem, handed.sheet)
            few = [str(x) for x in rng.permutation([*handed.sheet])[: rng.integers(1, 3)]]
            some = {name: cells for name, cells in handed.sheet.items() if name in few}
            yield Sheet(f"{sort}, few steps", handed.problem, some)


def lettered(sheet: Sheet, course: Mapping[str, str], key: AnswerKey) -> dict[str, str]:
    """Return the letters of a course by the steps of a submission, but for those of keys."""
    found = {}
    for name in sheet.answers:
        match = STEP.fullmatch(name)
        letter = course.get(match["name"], "") if match else ""
        word = f"{letter}{(match and match['time']) or ''}"
        own = {*key.problem.given, *key.trace.steps, *key.trace.inputs}
        if letter and not own & {letter, word}:
            found[name] = word
    return found


def survey(sheets: Iterator[Sheet]) -> Tally:
    """Judge submissions under the names of steps, in the letters of courses, and with `names`."""
    tally = Tally()
    for number, sheet in enumerate(sheets):
        plain = attncli.Problem(**sheet.problem) if isinstance(sheet.problem, dict) else None
        key = AnswerKey(plain or sheet.problem)  # type: ignore[arg-type]
        course = [*COURSES][number % len(COURSES)]
        letters = lettered(sheet, COURSES[course], key)
        if not letters:
            tally.counts["without a letter"] += 1
            continue
        answers = {letters.get(name, name): cells for name, cells in sheet.answers.items()}
        try:
            before = key.check(sheet.answers)
        except InputError:
            tally.counts["refused"] += 1
            continue
        after = key.check(answers)
        sort = f"{sheet.sort} ({before.verdict})"
        tally.counts[f"{sort}: {_change(before, after, [*letters.values()])}"] += 1
        names = {word.partition("_")[0]: STEP.fullmatch(n)["name"] for n, word in letters.items()}  # type: ignore[index]
        report = AnswerKey(sheet.named(names)).check(answers)
        if _said(report) != _said(before):
            tally.fail("names", _handed(sheet, names), before=_said(before), after=_said(report))
        why = _unfair(before, after, letters, key)
        if why:
            tally.counts[f"unfair: {why}"] += 1
            tally.fail(why, _handed(sheet, letters), before=_said(before), after=_said(after))
    return tally


def _handed(sheet: Sheet, names: Mapping[str, str]) -> Handed:
    values = sheet.problem
    if isinstance(values, attncli.Problem):
        values = {"title": values.title}
    return Handed(f"{sheet.sort}, {dict(names)}", values, dict(sheet.answers))


def _said(report: Report) -> dict[str, Any]:
    found = {name: finding.id for name, finding in report.findings.items()}
    return {"verdict": report.verdict, "wrong": report.wrong_steps, "findings": found}


def _change(before: Report, after: Report, words: list[str]) -> str:
    if before.verdict == after.verdict:
        return "the same"
    return f"{after.verdict}{', with readings' if _has_readings(after, words) else ''}"


def _has_readings(report: Report, words: list[str]) -> bool:
    hints = dict(report.skipped)
    return any(hints.get(word, "").startswith("may mean ") for word in words)


def _unfair(before: Report, after: Report, letters: Mapping[str, str], key: AnswerKey) -> str:
    """Return what is unfair in the report on letters; "" for nothing."""
    words = [*letters.values()]
    if after.verdict != before.verdict:
        if after.verdict != "incomplete":
            return f"{before.verdict} became {after.verdict}"
        if not _has_readings(after, words):
            return "incomplete without readings"
    given = [name for name, judged in before.steps.items() if judged.status != "missing"]
    for name, finding in after.findings.items():
        found = np.sort(after.trace[name].array, axis=None)  # output is context in another layout
        others = (np.sort(before.trace[one].array, axis=None) for one in given)
        if name not in given and not any(np.array_equal(found, other) for other in others):
            return f"{finding.id} named in {name}, which was not handed in"
    return ""
