"""The pages of `attn check --feedback`: one for each student, and one for the class."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from attncli.cli.output import write_bytes
from attncli.text.filenames import alike, safe

if TYPE_CHECKING:
    from attncli.files.grading import Student
    from attncli.rendering.selection import ReportSelection

CLASS_PAGE = "index.html"


def with_pages(
    students: Iterable[Student], folder: Path, selection: ReportSelection
) -> Iterator[Student]:
    """Yield the students after the page of each is written; then write the page of the class.

    Until then, one line of that page is kept for each student.

    Raises:
        InputError: for a folder or a file that cannot be written.
    """
    from attncli.rendering import feedback
    from attncli.rendering.verdicts import Tally

    rows, tally, taken = [], Tally(), {alike(CLASS_PAGE)}
    for student in students:
        name = _free_name(safe(student[0].name), taken)
        write_bytes(feedback.student(student, selection), folder / name)
        rows.append(feedback.row(student, name))
        for one in student:
            tally.add(one)
        yield student
    write_bytes(feedback.of_class(rows, tally), folder / CLASS_PAGE)


def _free_name(stem: str, taken: set[str]) -> str:
    """Return the name of a student's page, with a number if another student has the name."""
    number, name = 1, f"{stem}.html"
    while alike(name) in taken:
        number += 1
        name = f"{stem}-{number}.html"
    taken.add(alike(name))
    return name
