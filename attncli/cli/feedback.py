"""The pages of `attn check --feedback`: one for each student, written as they come, and the class.

The class page is written at the end. Until then no more is kept of a student than a line of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from attncli.cli.terminal import write_bytes
from attncli.text.filenames import alike, safe

if TYPE_CHECKING:
    from attncli.files.grading import Student
    from attncli.rendering.selection import ReportSelection

INDEX = "index.html"
"""The class page."""


def written(
    students: Iterable[Student], folder: str, selection: ReportSelection
) -> Iterator[Student]:
    """Yield the same, after the page of each was written; then write the class page.

    Raises:
        InputError: for a folder or a file that cannot be written.
    """
    from attncli.rendering import feedback
    from attncli.rendering.verdicts import Tally

    at = Path(folder)
    rows, tally, taken = [], Tally(), {alike(INDEX)}
    for student in students:
        name = _free(safe(student[0].name), taken)
        write_bytes(feedback.student(student, selection), at / name)
        rows.append(feedback.row(student, name))
        for one in student:
            tally.add(one)
        yield student
    write_bytes(feedback.of_class(rows, tally), at / INDEX)


def _free(stem: str, taken: set[str]) -> str:
    """Return the name of a student's page; one that is taken gets a number behind it."""
    number, name = 1, f"{stem}.html"
    while alike(name) in taken:
        number += 1
        name = f"{stem}-{number}.html"
    taken.add(alike(name))
    return name
