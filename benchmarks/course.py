"""Ask of each answer file of a messy course whether `attn check` knows whose it is.

Run `python benchmarks/course.py` in an environment where attncli is installed. It makes 30 students
and three problems, and for each student answers, a third of them with a mistake; writes them in the
layouts of `course_layouts.py`; and compares the points of every student with those that the answers
earn when they are judged without any file.

A student is WRONG if the points differ, or a file is said to be another's, and the manifest does
not list the file as open; and lost if the student is not in the grade book, or the file not in the
manifest. What not even a person could tell has to be open. Then whose the open files are is written
into the manifest, as a teacher does, and all points have to be equal.
"""

from __future__ import annotations

import argparse
import csv
import io
import re
import subprocess
import sys
import tempfile
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

sys.path.insert(0, str(Path(__file__).parent.parent))

import attncli
from benchmarks.course_layouts import LAYOUTS, Layout, Piece, write_layout
from benchmarks.course_students import Answer, Course, Person, make_course, write_course

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
                writer = csv.DictWriter(file, list(rows[0]))
                writer.writeheader()
                writer.writerows(rows)
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
        """Return which problems of whom are open; write into the rows whose they are."""
        opened: dict[Person, set[int]] = {}
        listed = set()
        for row in rows:
            pieces = list(self.pieces(row))
            for piece in pieces:
                listed.add(piece)
                if not row["rule"].startswith("open"):
                    if piece.open or self.people.get(words(row["student"])) not in piece.owners:
                        text = f"{piece.path} is said to be of {row['student']} ({row['rule']})"
                        self.note(self.wrong, piece.owners, text)
                elif piece.counts:
                    self.open.update(piece.owners)
                    for owner in piece.owners:
                        opened.setdefault(owner, set()).update(piece.problems)
                    row["student"] = piece.owners[0].name
                    if len(pieces) == len(piece.problems) == 1:
                        row["problem"] = str(piece.problems[0])
        for piece in self.layout.pieces:
            if piece.counts and piece not in listed:
                self.note(self.lost, piece.owners, f"{piece.path} is not in the manifest")
        return opened

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
            known = [self.people[words(x)] for x in row.values() if words(x) in self.people]
            if known:
                points = found.setdefault(known[0], [None] * len(titles))
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


def process(*arguments: str, cwd: Path) -> Any:
    """Run `attn` as a process."""
    done = subprocess.run(
        [sys.executable, "-m", "attncli", *arguments],
        capture_output=True,
        cwd=cwd,
        check=False,
        encoding="utf-8",
    )
    return argparse.Namespace(status=done.returncode, out=done.stdout, err=done.stderr)


def main() -> None:
    """Print a row for each layout, and why anybody is WRONG or lost."""
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--students", type=int, default=30)
    options.add_argument("--layouts", default=",".join(LAYOUTS), help="by default all")
    options.add_argument("--keep", type=Path, help="an empty folder to write to, which stays")
    given = options.parse_args()
    print(f"{'layout':20}{'students':>9}{'equal':>7}{'open':>6}{'WRONG':>7}{'lost':>6}")
    is_bad = False
    with tempfile.TemporaryDirectory() as temporary:
        folder = (given.keep or Path(temporary)).resolve()
        names = given.layouts.split(",")
        for name, audit in survey(folder, given.seed, given.students, names, process):
            print("{:20}{:9}{:7}{:6}{:7}{:6}".format(name, *audit.counts()), flush=True)
            for note in audit.notes:
                print(f"    {note}")
            is_bad |= bool(audit.notes)
    sys.exit(is_bad)


if __name__ == "__main__":
    main()
