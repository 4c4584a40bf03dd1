"""A course of messy files whose owners and points are true by its making.

`python -m benchmarks.surveys course --count 30` makes as many students and three problems, and for
each student answers, a third of them with a mistake; writes them in the layouts of
`course_layouts`, also zipped; and lets `attn check` tell whose each file is, as the test does that
has a course of eight, which `--record` writes.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.surveys.course_layouts import WRITERS, Layout
from benchmarks.surveys.course_students import make_course
from tests.classroom.test_owners_in_a_course import COURSE, FORMS, faults
from tests.conftest import in_process

RECORDED = 8
"""Number of students of the course that the tests have."""


def made(seed: int, students: int) -> dict[str, Any]:
    """Return a course as JSON holds it: files, names, points, and layouts with their owners."""
    course = make_course(seed, students)
    points = {
        person.name: [answers[n].points if n in answers else 0 for n in (1, 2, 3)]
        for person, answers in course.answers.items()
    }
    names = {p.name: [p.name, p.sortable, p.sid, p.email] for p in course.answers}
    titles = [problem["title"] for problem in course.problems]
    layouts = {}
    for name, write in WRITERS.items():
        layout = Layout(course, random.Random(f"{seed} {name}"))
        write(layout)
        own = {"roster": layout.roster, "files": layout.files, "pieces": layout.pieces}
        layouts[name] = own
    about = {"files": course.files, "titles": titles, "names": names, "points": points}
    return about | {"layouts": layouts}


def main(given: argparse.Namespace) -> Iterator[str]:
    """Yield a line for each layout, and what is not so in it; or write the course of the tests."""
    if given.record:
        text = json.dumps(made(1, RECORDED), ensure_ascii=False, indent=0)
        COURSE.write_text(text + "\n", encoding="utf-8")
        return
    course: dict[str, Any] = json.loads(json.dumps(made(given.seed, given.count)))
    for name in course["layouts"]:
        for form in FORMS:
            with tempfile.TemporaryDirectory() as folder:
                found = faults(course, name, form, Path(folder).resolve(), in_process)
            yield f"{name}, {form}: {len(found)} faults"
            yield from (f"    {fault}" for fault in found)
