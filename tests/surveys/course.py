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
from tests.surveys.course_layouts import Layout, Piece, write_layout
from tests.surveys.course_students import Answer, Course, Person, make_course, write_course

Attn: TypeAlias = Callable[..., Any]
Points: TypeAlias = Mapping[Person, list[float | None]]


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
            words(text): person
            for person in self.course.answers
            for text in (person.name, person.sid, person.email, person.canvas_id)
        }

    def counts(self) -> list[int]:
        bad = self.open | self.wrong | self.lost
        counts = [len(self.open - self.wrong - self.lost), len(self.wrong), len(self.lost)]
        return [len(self.course.answers), len(self.course.answers) - len(bad), *counts]

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
        opened = self.tell(rows)
        points = self.points(self.check())
        for person, numbers in want.items():
            got = points.get(person)
            if got is None:
                self.note(self.lost, [person], f"{person.name} is not in the grade book")
            elif {n for n in (1, 2, 3) if got[n - 1] != numbers[n - 1]} - opened.get(person, set()):
                self.note(self.wrong, [person], f"{person.name} has {got}, not {numbers}")
        if self.open:
            with manifest.open("w", encoding="utf-8", newline="") as file:
                writer = csv.DictWriter(file, ["student", "problem", "file", "rule"])
                writer.writeheader()
                writer.writerows(filter(None, rows))
            points = self.points(self.check("--manifest", manifest.name))
            for person, numbers in want.items():
                if points.get(person) != numbers:
                    text = (
                        f"{person.name} has {points.get(person)}, not {numbers}, when all is told"
                    )
                    self.note(self.wrong, [person], text)

    def check(self, *more: str) -> Any:
        target = self.layout.target
        command = ["check", "course.yaml", target.name, "--for", self.layout.roster, "-f", "csv"]
        return self.attn(*command, *more, cwd=target.parent)

    def tell(self, rows: list[dict[str, str]]) -> dict[Person, set[int]]:
        """Return which problems of whom are open; write into the rows whose they are.

        A document that only a person can read, or an older file, may be an answer to any problem
        until the teacher takes its row out.
        """
        opened: dict[Person, set[int]] = {}
        listed = set()
        for row in rows:
            pieces = list(self.pieces(row))
            listed.update(pieces)
            if not row["rule"].startswith("open"):
                self.compare(row, pieces)
            elif counting := [piece for piece in pieces if piece.counts]:
                for piece in counting:
                    for owner in piece.owners:
                        opened.setdefault(owner, set()).update(piece.problems)
                    row["student"] = piece.owners[0].name
                    if len(pieces) == len(piece.problems) == 1:
                        row["problem"] = str(piece.problems[0])
            else:
                opened.update({owner: {1, 2, 3} for owner in self.owners(row, pieces)})
                row.clear()
        self.open.update(opened)
        for piece in self.layout.pieces:
            if piece.counts and piece not in listed:
                self.note(self.lost, piece.owners, f"{piece.path} is not in the manifest")
        return opened

    def compare(self, row: Mapping[str, str], pieces: Iterable[Piece]) -> None:
        """Note a file that the manifest says is of another student, or that nobody can tell."""
        for piece in pieces:
            if piece.open or self.people.get(words(row["student"])) not in piece.owners:
                text = f"{piece.path} is said to be of {row['student']} ({row['rule']})"
                self.note(self.wrong, piece.owners, text)

    def owners(self, row: Mapping[str, str], pieces: Iterable[Piece]) -> list[Person]:
        """Return who handed in a file that does not count, and whose the manifest says it is."""
        told = self.people.get(words(row["student"]))
        return [*(owner for piece in pieces for owner in piece.owners), *([told] if told else ())]

    def pieces(self, row: Mapping[str, str]) -> Iterator[Piece]:
        """Yield the pieces that a row of a manifest means: a file, a folder, a row of a table."""
        file = unicodedata.normalize("NFC", row["file"]).split(f"{self.layout.target.name}/")[-1]
        for piece in self.layout.pieces:
            path = unicodedata.normalize("NFC", piece.path)
            if piece.typed:
                means = path in file and piece.typed in " ".join(row.values())
            else:
                means = path == file or path.startswith(f"{file}/")
            if means:
                yield piece

    def points(self, run: Any) -> Points:
        """Return the points in a grade book, by person, for each problem."""
        titles = [problem["title"] for problem in self.course.problems]
        found: dict[Person, list[float | None]] = {}
        for row in csv.DictReader(io.StringIO(run.out)):
            person = self.people.get(words(row["name"]))
            if person is not None:
                points = found.setdefault(person, [None] * len(titles))
                number = float(row["points"]) if row["points"] else None  # where it is unreadable
                points[titles.index(row["problem"])] = number
            elif row["verdict"] != "unreadable":  # as a file is that tells no student
                text = f"the grade book has a student who is not in the roster: {row}"
                self.note(self.wrong, [], text)
        if not found:
            self.notes.append(f"no grade book: {run.err.strip()}")
        return found


def words(text: str) -> str:
    """Return the words of a name in one order."""
    return " ".join(sorted(re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", text).casefold())))


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
