"""What the surveys of `attn check` share: problems, steps, tables and files of submissions."""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

import attncli
from attncli.checking.check import AnswerKey, Report
from attncli.reading.document import submission_of
from benchmarks.oracles import honest
from benchmarks.oracles.handwriting import Numbers
from benchmarks.oracles.right_work import Task, UnworkableError
from benchmarks.oracles.workings import SORTS
from benchmarks.surveys import roundings

Random: TypeAlias = np.random.Generator

SHOWN = ("output", "weights and output", "Q, K, V and output", "all")
"""Which steps a submission holds."""


@dataclass(frozen=True)
class Sheet:
    """A submission.

    Attributes:
        way: how it was made.
        problem: what the program takes.
        cells: the written cells by step.
        more: what else a file of submissions says of it.
    """

    way: str
    problem: Mapping[str, Any]
    cells: Mapping[str, Any]
    more: Mapping[str, Any] = field(default_factory=dict)

    def line(self) -> str:
        """Return the submission as a line of JSON."""
        known = {"way": self.way, "problem": dict(self.problem), "sheet": dict(self.cells)}
        return json.dumps(known | dict(self.more), ensure_ascii=False)

    def report(self, key: AnswerKey | None = None) -> Report:
        """Let the program judge the submission."""
        key = key or AnswerKey(attncli.Problem(**self.problem))
        return key.check(submission_of(self.cells, "student"))


# ---- problems


@dataclass(frozen=True)
class Drawn:
    """A problem that was drawn, with its right numbers.

    Attributes:
        task: the problem.
        exact: the right numbers of every step, with all digits.
        key: the program's own right numbers.
    """

    task: Task
    exact: Mapping[str, Numbers]
    key: AnswerKey


def keyed(task: Task) -> Drawn:
    """Calculate the answers of a problem, and make sure that the program has the same ones."""
    exact = task.work()
    key = AnswerKey(attncli.Problem(**task.problem()))
    assert list(key.trace.steps) == list(exact), task.problem()
    for step in key.trace:
        one, other = np.squeeze(step.value), np.squeeze(task.paper(step.name, exact[step.name]))
        if not np.allclose(one, other, rtol=1e-9, atol=1e-11):
            # A tie of floats: 1 and 1 − 1e-16 are the same to a person, and not to a hardmax.
            assert "hardmax" in str(task.keys.get("normalize")), (step.name, task.problem())
            return keyed(draw(np.random.default_rng(len(str(task.problem())))))
    return Drawn(task, exact, key)


def draw(rng: Random, **wish: Any) -> Task:
    """Draw a problem that can be worked by hand."""
    while True:
        try:
            return honest.draw_task(rng, **wish)
        except UnworkableError:
            continue


def output_of(names: Sequence[str]) -> str:
    """Return the last step called `output`; where none is, the last step."""
    return [*names[-1:], *(name for name in names if name.startswith("output"))][-1]


def shown_steps(names: Sequence[str], shown: str) -> list[str]:
    """Return the steps that a submission shows; none where the problem lacks one of them."""
    if shown == "all":
        return list(names)
    output = output_of(names)
    weights = [name for name in names if name.startswith("weights")]
    letters = [name for name in names if name in ("Q", "K", "V")]
    if shown == "output":
        return [output]
    if shown == "weights and output":
        return [*(name for name in weights if name != output), output] if weights else []
    return [*letters, output] if len(letters) == 3 else []


def is_nothing_but_0(cells: Mapping[str, Any], exact: Mapping[str, Numbers]) -> bool:
    """Return whether only zeros are left of numbers that are not."""
    has_digit = re.search("[1-9]", json.dumps(dict(cells)))
    return not has_digit and any(exact[step].any() for step in cells)


# ---- what is printed


def percent(part: float, whole: float) -> str:
    """Return a share in percent."""
    return f"{100 * part / whole:.1f}" if whole else "-"


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table in plain text; all but the first column stand at the right."""
    lines = [[str(cell) for cell in row] for row in (head, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]

    def line(cells: Sequence[str]) -> str:
        first, *others = zip(cells, widths, strict=True)
        return "  ".join(
            [f"{first[0]:{first[1]}}", *(f"{cell:>{width}}" for cell, width in others)]
        )

    return "\n".join(line(cells).rstrip() for cells in lines)


class Progress:
    """Prints from time to time to stderr how far a survey has come.

    Args:
        every: after how many seconds a line is printed.
    """

    def __init__(self, every: float = 10) -> None:
        self.every = every
        self.start = self.last = time.perf_counter()

    def tell(self, words: str) -> None:
        """Print a line, unless one was printed a short time ago."""
        now = time.perf_counter()
        if now - self.last >= self.every:
            self.last = now
            print(f"{now - self.start:6.0f} s  {words}", file=sys.stderr, flush=True)


# ---- kinds of students


def add_kinds(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that ask for kinds of students."""
    known = ",".join(roundings.KINDS)
    parser.add_argument("--kind", default="", help=f"kinds of students instead, of {known}")
    parser.add_argument("--sorts", default=",".join(SORTS), help="of which problems")
    parser.add_argument("--examples", type=int, default=0, help="how many of each are printed")


def of_kinds(given: argparse.Namespace) -> Outcome:
    """Judge submissions of some kinds."""
    lines: list[str] = []
    sheets: list[Sheet] = []
    for kind in given.kind.split(","):
        if kind not in roundings.KINDS:
            raise SystemExit(f"the kinds are: {', '.join(roundings.KINDS)}")
        rng = np.random.default_rng([given.seed, *map(ord, kind)])
        start = time.perf_counter()
        tally = roundings.survey(rng, kind, given.count, given.sorts.split(","))
        seconds = time.perf_counter() - start
        said = (roundings.KINDS[kind].__doc__ or kind).partition("\n")[0]
        lines += [f"{said} ({seconds:.0f} s)", table_of_kind(tally)]
        lines += [*(f"beyond its bound: {line}" for line in roundings.beyond(tally)), ""]
        sheets += [
            Sheet(
                one["way"],
                one["problem"],
                one["sheet"],
                {k: v for k, v in one.items() if k not in ("way", "problem", "sheet")},
            )
            for one in tally.amiss
        ]
        for one in tally.amiss[: given.examples]:
            told = {k: v for k, v in one.items() if k not in ("problem", "sheet")}
            for part in (told, one["problem"], one["sheet"]):
                lines.append(json.dumps(part, ensure_ascii=False))
            lines.append("")
    return lines, f"{given.count} submissions of each kind", sheets


def table_of_kind(tally: roundings.Tally) -> str:
    """Return a row for each group of submissions: how many were judged, and what was seen."""
    places = list(dict.fromkeys(place for place, _ in tally.counts))
    bound = {thing for thing, *_ in roundings.MOST.get(tally.kind, ())}
    seen = sorted({thing for _, thing in tally.counts} - {"judged"} | bound)
    rows = []
    for place in sorted(places, key=lambda place: (place[0] != "all", place)):
        whole = tally.of("judged", *place)
        found = [tally.of(thing, *place) for thing in seen]
        rows.append([" ".join(place), whole, *(f"{n} ({percent(n, whole)} %)" for n in found)])
    return table(["group", "judged", *seen], rows)


# ---- from the command line

Outcome: TypeAlias = tuple[Iterable[str], str, Sequence[Sheet]]
"""The lines that a survey prints, what was counted, and the submissions that were judged amiss."""


def run(parser: argparse.ArgumentParser, survey: Callable[[argparse.Namespace], Outcome]) -> None:
    """Run a survey, or judge a file of submissions again.

    Args:
        parser: knows the arguments of this survey; those of all are added.
        survey: takes the arguments.
    """
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--failures", type=Path, help="where submissions judged amiss are written")
    parser.add_argument("--replay", type=Path, help="a file of submissions to judge again")
    given = parser.parse_args()
    if given.replay:
        replay(given.replay)
        return
    warnings.simplefilter("ignore")
    start = time.perf_counter()
    lines, counted, failures = survey(given)
    print("\n".join(lines))
    print(f"{counted} in {time.perf_counter() - start:.0f} s")
    if given.failures:
        given.failures.write_text("".join(f"{sheet.line()}\n" for sheet in failures))


def replay(path: Path) -> None:
    """Judge every submission of a file again, and print what is said of it."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        found = json.loads(line)
        more = {k: v for k, v in found.items() if k not in ("way", "problem", "sheet")}
        sheet = Sheet(found["way"], found["problem"], found["sheet"], more)
        if found["way"] in roundings.KINDS:
            seen = [thing for thing, is_so in roundings.again(found).items() if is_so]
            was = ", ".join(found["seen"])
            print(f"{number}: {', '.join(seen) or 'as it should be'}; was: {was}; {found['said']}")
            continue
        try:
            report = sheet.report()
        except Exception as error:  # a refusal is a result, too
            print(f"{number}: refused: {error!r}; {sheet.way} {more}")
            continue
        print(f"{number}: {report.verdict}; {sheet.way} {more}")
        for step in sheet.cells:
            judged = report.steps.get(step)
            if judged is not None:
                counts = {status: n for status, n in judged.counts.items() if n}
                words = getattr(judged, "rounding", "")  # only a step that was compared has them
                rounding = f"; rounding: {words}" if words else ""
                print(f"    {step}: {judged.status} {counts}{rounding}")
