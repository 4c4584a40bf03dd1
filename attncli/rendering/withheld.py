"""What a student is told of a step, also without the solution: no number that tells a right one."""

from __future__ import annotations

from collections.abc import Iterator

from attncli.checking.judged import WRONG, Given
from attncli.rendering.remarks import last_digits, places, unexplained
from attncli.rendering.report import Remark
from attncli.tape.cells import cell_name


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
        yield f"✗ {finding.sentence(solution)} {finding.advice}"
        yield from finding.worked if solution else ()
    yield from (f"✗ {line}" for line in unexplained(remark.report, judged, solution))
    if remark.early:
        yield f"≈ {remark.early}"
    if remark.last_digits and isinstance(judged, Given):
        first, *others = last_digits(judged, solution)
        yield f"≈ {first}"
        yield from others


def first_wrong(remark: Remark) -> str:
    """Return the name of the first wrong cell of a step; nothing where the shape is wrong."""
    judged = remark.judged
    if not isinstance(judged, Given):
        return ""
    found = places(judged.step.on_paper(judged.codes) == WRONG)
    return cell_name(judged.step, found[0]) if found else ""
