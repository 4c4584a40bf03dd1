"""Steps after a mistake, judged again by what the student may have gone on with."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from attncli.checking.judging.judged import WRONG, Compared, Finding, Given, Judged
from attncli.checking.judging.judging import Judge
from attncli.checking.judging.ways import with_change
from attncli.checking.naming.diagnosis import diagnose
from attncli.core.records import EMPTY, replace
from attncli.core.tape.replay import Change


def carried_forward(judge: Judge) -> tuple[dict[str, Judged], dict[str, Finding]]:
    """Return all steps, judged, and what explains the wrong ones.

    A student goes on from the wrong numbers as they are written, which the judge knows; or from
    those that the same mistake gives with every digit; or from the right ones, if a number was only
    copied wrongly. The one that leaves the fewest later numbers wrong holds for all later steps.
    """
    steps, findings = dict[str, Judged](), dict[str, Finding]()
    first: dict[str, Judge] = {}  # by which steps are judged in which a known mistake is made, too
    for name in judge.trace.steps:
        known = first.get(name, judge)
        judged = steps[name] = known.judged[name]
        if finding := None if _only_unreadable(judged) else diagnose(known, judged):
            findings[name] = finding
        if not isinstance(judged, Compared) or name in first:
            continue
        if judged.has(WRONG) and judge.wrong_after(name):
            change = finding.change if finding else EMPTY
            others = _after(judge, judged, change)
            first |= dict.fromkeys(change, judge)
            judge = min((judge, *others), key=lambda other: other.wrong_after(name))
    return steps, findings


def _after(judge: Judge, judged: Compared, change: Change) -> Iterator[Judge]:
    """Yield judges by whom the steps after a wrong one follow from other numbers than written."""
    name, written = judged.step.name, judged.written
    values = np.where(judged.codes == WRONG, np.nan, written.values)
    copied = {**judge.given, name: replace(written, values=values)}
    yield Judge(judge.reference, copied, judge, {name})
    if change:
        try:
            mistaken = judge.reference.changed(partial(with_change, change=change))
        except ValueError:  # NumPy's, for shapes that do not go together
            return
        if all(mistaken.trace[step.name].array.shape == step.array.shape for step in judge.trace):
            yield Judge(mistaken, judge.given, judge, {name, *change})


def _only_unreadable(judged: Judged) -> bool:
    """Return True if all wrong cells of a step are no numbers, which no mistake explains."""
    no_number = judged.written.unreadable if isinstance(judged, Given) else None
    return no_number is not None and not ((judged.codes == WRONG) & ~no_number).any()
