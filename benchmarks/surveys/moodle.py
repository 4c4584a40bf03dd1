"""A survey of what Moodle says of numbers in a quiz of ours, beside what `attn check` says.

`benchmarks/moodle.py` runs it with a thousand and more.
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from random import Random

import numpy as np

from attncli.classroom.answer_table import wrong_numbers
from attncli.printing.formats import WorksheetSelection
from attncli.printing.worksheet import room_of
from tests.support.moodle_quiz import Cell, Judges, Outcome, judges_of_all


def responses(judges: Judges, cell: Cell, random: Random) -> Iterator[str]:
    """Yield numbers that students may write: right, nearly right, by mistakes, and others."""
    digits, unit = judges.digits, 10**-judges.digits
    wrong = [a.answer for a in cell.field.answers if a.share < 1]
    yield from random.sample(wrong, min(2, len(wrong)))
    yield f"{random.uniform(-3, 3):.{random.choice([digits, digits + 1])}f}"
    if not np.isfinite(cell.right):
        yield from ("-inf", "−∞", "-oo", "-INF")
        return
    for more in (0, unit, -unit, random.uniform(-2, 2) * unit):
        yield f"{cell.right + more:.{digits}f}"
    for edge in (judges.tolerance, unit / 2):
        near = random.choice([-1, 1]) * edge * random.choice([0.9, 0.99, 1.01, 1.1])
        yield f"{cell.right + near:.{digits + 4}f}"
    yield f"{cell.right:.{digits + 2}f}"
    for fewer in range(digits):
        yield f"{cell.right:.{fewer}f}"


def survey(count: int, seed: int) -> Iterator[Outcome]:
    """Yield what is said of that many responses to cells of the problems, chosen at random."""
    random = Random(seed)
    while count > 0:
        judges = random.choice(judges_of_all())
        cell = random.choice(judges.cells)
        for response in responses(judges, cell, random):
            outcome = judges.judge(cell, response)
            if outcome is not None and count > 0:
                count -= 1
                yield outcome


def told_of_mistakes(judges: Judges) -> Iterator[str]:
    """Yield for each mistake whether the feedback on its numbers says what the report says."""
    trace, digits = judges.key.trace, judges.digits
    asked = {cell.step.name for cell in judges.cells}
    given = trace.steps.keys() - room_of(trace, WorksheetSelection()).blank
    for one in wrong_numbers(trace, asked | given, digits):
        cells = [cell for cell in judges.cells if cell.step.name == one.step]
        if cells:
            texts = np.char.mod(f"%.{digits}f", one.numbers).astype(object)
            report = judges.key.check({one.step: texts.tolist()})
            found = report.findings.get(one.step)
            said = [cell.field.judge(texts[cell.at]) for cell in cells]
            if all(share == 1 or not words for share, words in said):
                yield "no number that Moodle can tell"
            elif not any(one.sentence in html.unescape(words) for _, words in said):
                yield "not told"
            elif found is None or found.id != one.id:
                yield f"told, where the report says {found.id if found else 'nothing'}"
            else:
                yield "told as in the report"
