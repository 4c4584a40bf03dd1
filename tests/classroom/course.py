"""The small course of `tests/data/course`: two problems, its rosters, and what was handed in.

Ada hands in what is right, and Zoë makes a mistake in each problem. The second half of Eli's file
breaks off, Bo and Min-jun Kim hand in nothing, and a file is of somebody whom nobody knows. Each
session of `tests/data/sessions` that names it has a copy of its own.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path

from tests.conftest import DATA, Attn

COURSE = DATA / "course"

GOOD, SMALL, HOMEWORK = (
    (COURSE / name).read_text(encoding="utf-8") for name in ("good.yaml", "small.yaml", "hw.yaml")
)
"""The scores of Good are [[14, 10, 9], [10, 11, 6], [9, 6, 6]], and of Small [[1, 0], [0, 4]]."""

RIGHT, WRONG = (
    {
        problem: (COURSE / "answers" / f"{problem.lower()}{which}.yaml").read_text(encoding="utf-8")
        for problem in ("Good", "Small")
    }
    for which in ("", "_wrong")
)
"""The scores of each problem; the last one is too large by 1 where they are wrong."""

POINTS = {
    "Good": (1.5, 1.33, 0.0, 1.5, 0.0),
    "Small": (5.35, 2.68, 0.0, None, 0.0),
    "total": (6.85, 4.01, 0.0, None, 0.0),
}
"""Points of the students in the order of the rosters, by hand; None where a file cannot be read.

In Good, scores[1, 1] earns 1 point and each cell of row 3 a third of 0.5: Zoë has 1 + 0.333. In
Small all four scores earn 5.35, and she has two of them: 2.675, which is rounded half up.
"""


def write(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files into a folder, and return it; a name that ends in a slash is an empty folder."""
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("/"):
            path.mkdir(exist_ok=True)
        else:
            path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return folder


def rows_of(text: str, delimiter: str = ",") -> list[list[str]]:
    return list(csv.reader(io.StringIO(text), delimiter=delimiter))


def graded(attn: Attn, folder: Path, *arguments: str | Path) -> list[dict[str, str]]:
    """Return the rows of a grade book."""
    out = attn("check", *arguments, "-f", "csv", cwd=folder).out
    return [*csv.DictReader(io.StringIO(out))]


def book(attn: Attn, folder: Path, *arguments: str) -> list[tuple[str, str, str]]:
    """Return the name, the problem and the verdict of each row of a grade book."""
    return [
        (row["name"], row["problem"], row["verdict"]) for row in graded(attn, folder, *arguments)
    ]
