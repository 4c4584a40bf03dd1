"""What a student is told of a step, also without the solution: no number that is not the student's.

A mistake of the catalogue is told by its sentence without the numbers that were filled in; a slip
only as far as its sentence has no number, as that of 2·1 that was left out tells the right one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from attncli.checking.judged import LAST_DIGIT, SHAPES, WRONG, Finding, Given
from attncli.checking.mistakes.catalogue import MISTAKES
from attncli.rendering.remarks import places
from attncli.rendering.report import Remark
from attncli.tape.cells import cell_name

ABOUT_THE_SHEET = (*SHAPES, "too_few_digits")
"""What is said of these counts rows, columns or digits of what was written."""

IN_GENERAL = {
    "constant_factor": "All numbers are off by the same factor.",
    "wrong_divisor": "The numbers were divided by a wrong one.",
}
"""What is said of slips whose sentence is nothing without its numbers."""

FILLED = re.compile(r" = [^;:]*?(?=, (?:not|when|as|but)|\.$|$)")
"""Of `d_k = 3, not by √d_k = √3 = 1.7321.` what follows from what is named."""

NAMES = re.compile(
    r"[^\W\d]\w*\u0303?(?:\[[^\[\]]+\])+|\b(?:row|column|head|batch|key|time)s? [^\s,.:]+"
)
"""The names of cells, rows and columns."""


def remarks(remark: Remark, solution: bool) -> Iterator[str]:
    """Yield sentences on a step that was given.

    Args:
        remark: what is said of it where nothing is kept back.
        solution: whether right numbers may stand in it.
    """
    judged, finding = remark.judged, remark.finding
    if judged.status == "correct":
        yield "✓ right"
    elif judged.status == "follows":
        yield f"→ not the right numbers, but worked out correctly from {remark.follows}"
    if finding:
        told = finding.message if solution else sentence(finding)
        yield f"✗ {told} {finding.advice}"
        yield from finding.worked if solution else ()
    yield from (f"✗ {line}" for line in remark.unexplained)
    if remark.early:
        yield f"≈ {remark.early}"
    if remark.last_digits:
        first, *others = remark.last_digits
        yield f"≈ {first}"
        yield from others if solution else [", ".join(_last_digits(remark))]


def sentence(finding: Finding) -> str:
    """Return what explains a wrong step, without a number that tells a right one.

    >>> sentence(Finding("single_cell_slip", "Q[2, 3] is wrong: perhaps 2·1 was left out.", ""))
    'Q[2, 3] is wrong.'
    """
    if finding.id in ABOUT_THE_SHEET:
        return finding.message
    if finding.id in MISTAKES:
        pattern = MISTAKES[finding.id].sentence
        return finding.message if " = " in pattern else FILLED.sub("", finding.message)
    if not _has_number(finding.message):
        return finding.message
    start, colon, _ = finding.message.partition(": ")
    if colon and not _has_number(start):
        return f"{start}."
    return IN_GENERAL.get(finding.id, "Some of the numbers are wrong.")


def first_wrong(remark: Remark) -> str:
    """Return the name of the first wrong cell of a step; nothing where the shape is wrong."""
    judged = remark.judged
    if not isinstance(judged, Given):
        return ""
    found = places(judged.step.on_paper(judged.codes) == WRONG)
    return cell_name(judged.step, found[0]) if found else ""


def _last_digits(remark: Remark) -> Iterator[str]:
    judged = remark.judged
    for at in places(judged.step.on_paper(judged.codes) == LAST_DIGIT):
        yield cell_name(judged.step, at)


def _has_number(text: str) -> bool:
    return any(sign.isdecimal() for sign in NAMES.sub("", text))
