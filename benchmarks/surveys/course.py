"""A course of messy files, and what the program makes of them; `benchmarks/course.py` runs it."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import attncli
from benchmarks.surveys.course_layouts import Layout, Piece, write_layout
from benchmarks.surveys.course_students import Answer, Course, Person, make_course, write_course

Attn: TypeAlias = Callable[..., Any]
Points: TypeAlias = Mapping[Person, list[float | None]]
Opened: TypeAlias = dict[Person, set[int]]
Row: TypeAlias = dict[str, str]


@dataclass
class Audit:
    """What the program makes of a layout, and a note on each student who is WRONG or lost."""

    course: Course
    layout: Layout
    attn: Attn
    open: set[Person] = field(default_factory=set)
    wrong: set[Person] = field(default_factory=set)
    lost: set[Person] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.people = {
            text: person
            for person in self.course.answers
            for text in (person.name, person.sortable, person.sid, person.email)
        }

    def counts(self) -> list[int]:
        """Return how many students there are; equal, open, not even for a person, WRONG, lost."""
        students = len(self.course.answers)
        bad = self.wrong | self.lost
        unclear = {owner for piece in self.layout.pieces if piece.open for owner in piece.owners}
        found = (self.open - bad, unclear, self.wrong, self.lost)
        return [students, students - len(bad | self.open), *map(len, found)]

    def note(self, kind: set[Person], people: Iterable[Person], text: str) -> None:
        kind.update(people)
        self.notes.append(f"{'WRONG' if kind is self.wrong else 'lost'}: {text}")

    def run(self, want: Points) -> None:
        """Compare the manifest and the grade book with what is true."""
        manifest = self.layout.target.with_name(f"{self.layout.target.name}.manifest.csv")
        made = self.check("--manifest", manifest.name)
        if not manifest.exists():
            self.note(self.lost, self.course.answers, f"no manifest: {made.err.strip()}")
            return
        with manifest.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
        opened, corrected = self.tell(rows)
        self.compare(self.points(self.check()), want, opened)
        if corrected != rows:
            with manifest.open("w", encoding="utf-8", newline="") as file:
                writer = csv.DictWriter(file, list(rows[0]))
                writer.writeheader()
                writer.writerows(corrected)
            told = self.points(self.check("--manifest", manifest.name))
            self.compare(told, want, {}, ", when all is told")

    def compare(self, points: Points, want: Points, opened: Opened, when: str = "") -> None:
        """Note who has other points in a problem that is not open."""
        for person, numbers in want.items():
            got = points.get(person)
            if got is None:
                self.note(self.lost, [person], f"{person.name} is not in the grade book{when}")
            elif {n for n in (1, 2, 3) if got[n - 1] != numbers[n - 1]} - opened.get(person, set()):
                self.note(self.wrong, [person], f"{person.name} has {got}, not {numbers}{when}")

    def check(self, *more: str) -> Any:
        target = self.layout.target
        command = ["check", "course.yaml", target.name, "--for", self.layout.roster, "-f", "csv"]
        return self.attn(*command, *more, cwd=target.parent)

    def tell(self, rows: list[Row]) -> tuple[Opened, list[Row]]:
        """Return which problems of whom are open, and the rows as a teacher corrects them."""
        opened: Opened = {}
        corrected: list[Row] = []
        listed = set()
        for row in rows:
            pieces = list(self.pieces(row))
            listed.update(pieces)
            counting = [piece for piece in pieces if piece.counts]
            is_open = row["rule"].startswith("open")
            for person in self.meant(row) if is_open else ():
                opened.setdefault(person, set()).update((1, 2, 3))
            if row["student"] or not is_open:
                self.judge(row, pieces)
            if is_open and counting:
                for owner in counting[0].owners:
                    self.open.add(owner)
                    opened.setdefault(owner, set()).update(*(p.problems for p in counting))
                    told = row | {"student": owner.name}
                    if len(counting) == 1:
                        told["problem"] = " ".join(map(str, counting[0].problems))
                    corrected.append(told)
            elif counting or not pieces:
                corrected.append(row)
        for piece in self.layout.pieces:
            if piece.counts and piece not in listed:
                self.note(self.lost, piece.owners, f"{piece.path} is not in the manifest")
        return opened, corrected

    def meant(self, row: Mapping[str, str]) -> Iterator[Person]:
        """Yield who may have written an open file, as the manifest says."""
        perhaps = re.search(r"perhaps (.+?)(?: \(|\Z)", row["rule"])
        for name in perhaps[1].split(" or ") if perhaps else ():
            if person := self.people.get(name):
                yield person

    def judge(self, row: Row, pieces: list[Piece]) -> None:
        """Note the pieces whose student a row does not name, or guesses."""
        who = self.people.get(row["student"])
        for piece in pieces:
            is_true = who in piece.owners and not piece.open
            if not is_true and (piece.counts or (who and who not in piece.owners)):
                text = f"{piece.path} is said to be of {row['student']} ({row['rule']})"
                self.note(self.wrong, piece.owners, text)

    def pieces(self, row: Mapping[str, str]) -> Iterator[Piece]:
        """Yield the pieces that a row of a manifest means: a file, a folder, the line of a row."""
        file = unicodedata.normalize("NFC", row["file"]).split(f"{self.layout.target.name}/")[-1]
        for piece in self.layout.pieces:
            path = unicodedata.normalize("NFC", piece.path)
            if path == file or path.startswith(f"{file}/"):
                yield piece

    def points(self, run: Any) -> Points:
        """Return the points in a grade book, by person, for each problem."""
        titles = [problem["title"] for problem in self.course.problems]
        found: dict[Person, list[float | None]] = {}
        for row in csv.DictReader(io.StringIO(run.out)):
            person = self.people.get(row["name"])
            if person is not None:
                points = found.setdefault(person, [None] * len(titles))
                points[titles.index(row["problem"])] = float(row["points"] or 0)
            elif row["points"]:  # without points are the files that tell no student
                text = f"the grade book has a student who is not in the roster: {row}"
                self.note(self.wrong, [], text)
        if not found:
            self.notes.append(f"no grade book: {run.err.strip()}")
        return found


def earned(course: Course) -> Points:
    """Return the points of every person, without any file."""
    keys = [attncli.Problem(**problem) for problem in course.problems]
    nothing: Answer = {}
    return {
        person: [attncli.check(key, own.get(n, nothing)).total for n, key in enumerate(keys, 1)]
        for person, own in course.answers.items()
    }


def survey(
    folder: Path, seed: int, students: int, names: Iterable[str], attn: Attn
) -> Iterator[tuple[str, Audit]]:
    """Write a course and its layouts, and yield what the program makes of each."""
    course = make_course(seed, students)
    write_course(course, folder)
    want = earned(course)
    for name in names:
        audit = Audit(course, write_layout(name, course, folder, seed), attn)
        audit.run(want)
        yield name, audit
