"""Three problems, and students with difficult names: their rosters, answers and true points.

The rosters are as Moodle's grade export has them, and Canvas's grade book, in which the second row
is `Points Possible`.
"""

from __future__ import annotations

import csv
import io
import json
import random
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml

from benchmarks.oracles.workings import Working
from tests.oracles.pens import Pen

DATA = yaml.safe_load(Path(__file__).with_name("course.yaml").read_text(encoding="utf-8"))
PLAIN = str.maketrans({"ß": "ss", "ø": "o", "Ø": "O", "æ": "ae", "ł": "l", "Ł": "L", "ı": "i"})
MISTAKES = (*[""] * 6, "scaled by d_k", "slip", "rows exchanged")
NEVER_LAST_FIRST = ("alee", "lahart")
"""The logins of those whose last name may be a first name."""


class Person(NamedTuple):
    """A student as the roster has them, and what else they write as their name."""

    first: str
    last: str
    login: str
    also: tuple[str, ...]
    name: str
    sortable: str
    email: str
    sid: str
    moodle_id: str
    canvas_id: str

    def spelled(self, rng: random.Random) -> str:
        """Return the name as the person writes it today."""
        first, last = self.first, self.last.strip(".")
        ways = [f"{first}_{last}", f"{first}.{last}".lower(), first + last]
        if last and self.login not in NEVER_LAST_FIRST:
            ways += [f"{last} {first}", f"{last}, {first}", f"{last}_{first}".lower(), last + first]
        ways = ways if last else [first]
        way = rng.choice([self.name, *ways, *self.also, self.login, self.sid])
        plain = unicodedata.normalize("NFKD", way.translate(PLAIN))
        plain = "".join(c for c in plain if not unicodedata.combining(c))
        return plain if rng.random() < 0.3 and plain.isascii() else way


class Answer(NamedTuple):
    """The written steps of a problem, and the points that they are worth."""

    steps: dict[str, list[list[str]]]
    points: float


@dataclass
class Course:
    """The problems, and for each person in the roster the answers by number of the problem."""

    problems: list[dict[str, Any]]
    answers: dict[Person, dict[int, Answer]]
    pair: tuple[Person, Person]

    def present(self) -> list[Person]:
        return [person for person, answers in self.answers.items() if answers]

    @property
    def files(self) -> dict[str, str]:
        """The problems and the rosters, by name of the file."""
        people = list(self.answers)
        moodle = [["First name", "Last name", "ID number", "Email address"]]
        moodle += [[p.first, p.last, p.sid, p.email] for p in people]
        canvas = [["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "HW 2 (20144)"]]
        canvas += [["    Points Possible", "", "", "", "", "30.00"]]
        canvas += [[p.sortable, p.canvas_id, p.sid, p.login, "NLP-01", ""] for p in people]
        problems = "\n---\n".join(map(json.dumps, self.problems)) + "\n"
        rosters = {"moodle.csv": "\ufeff" + table(moodle), "canvas.csv": table(canvas)}
        return {"course.yaml": problems, **rosters}


def table(rows: Iterable[Sequence[str]], delimiter: str = ",") -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return text.getvalue()


def worked(problem: dict[str, Any], rng: random.Random, mistake: str) -> Answer:
    """Return the steps that have points, to two decimals, with a mistake if it is not ""."""
    worth: dict[str, int] = problem["marking"]["points"]
    changed = {"scale": "1/d_k"} if mistake == "scaled by d_k" else {}
    right, steps = (
        {name: Pen(2).rounded(Working("plain", keys).exact[name][0]) for name in worth}
        for keys in (problem, problem | changed)
    )
    wrong = "output"
    if mistake == "scaled by d_k":
        wrong = "scaled" if "scaled" in worth else "weights"
    elif mistake == "slip":
        wrong = rng.choice(list(worth))
        row = rng.choice(steps[wrong])
        row[rng.randrange(len(row))] += rng.choice([-1, -0.5, 0.3, 1])
    elif mistake == "rows exchanged":
        steps["output"] = steps["output"][::-1]
    off = np.abs(steps[wrong] - right[wrong])
    if ((off > 1e-6) & (off < 0.06)).any():  # rounding may explain it
        return worked(problem, rng, "")
    lost = worth[wrong] * float((off > 0.01).mean())
    written = {name: Pen(2).texts(x).tolist() for name, x in steps.items()}
    return Answer(written, sum(worth.values()) - lost)


def make_course(seed: int, students: int) -> Course:
    rng = random.Random(seed)

    def drawn(rows: int, columns: int) -> list[list[float]]:
        return [[rng.randint(-2, 4) / 2 for _ in range(columns)] for _ in range(rows)]

    people = []
    for number, (first, last, login, *also) in enumerate(DATA["people"][:students]):
        sortable = first if last == "." else f"{last}, {first}"
        ids = (
            str(start + step * number) for start, step in ((4711003, 17), (51205, 31), (4700, 1))
        )
        names = (f"{first} {last}", sortable, f"{login}@uni.example")
        people.append(Person(first, last, login, tuple(also), *names, *ids))
    problems: list[dict[str, Any]] = [
        {"title": "Self-attention", "X": drawn(3, 2), "W_v": drawn(2, 2)},
        {"title": "Cross-attention", "kind": "cross", "X": drawn(2, 3), "memory": drawn(4, 3)},
        {"title": "Causal attention", "X": drawn(4, 2), "mask": "causal"},
    ]
    for problem, first in zip(problems, ("scores", "scores", "scaled"), strict=True):
        problem["marking"] = {"decimals": 2, "points": {first: 2, "weights": 4, "output": 4}}
    answers: dict[Person, dict[int, Answer]] = {}
    for person in people:
        given = [n for n in (1, 2, 3) if rng.random() > 0.1] or [2]
        answers[person] = {n: worked(problems[n - 1], rng, rng.choice(MISTAKES)) for n in given}
    one, other, *absent = rng.sample(people, 4)
    answers[other] = answers[one]  # a pair that hands in together
    answers |= {person: {} for person in absent}
    return Course(problems, answers, (one, other))
