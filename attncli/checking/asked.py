"""Which steps a teacher asks for: the marking's names read as answers are, and what counts."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from typing import TypeAlias

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.checking.judged import FOLLOWS, MISSING, WRONG, Judged, Misshapen
from attncli.checking.names import At, find_answer, named_steps
from attncli.errors import Fault, InputError, KeyPath, collected, fail, refuse
from attncli.mechanisms.named import equal_steps, with_named_steps
from attncli.mechanisms.trace import Trace
from attncli.problem.marking import Marking
from attncli.records import replace
from attncli.tape.step import Step
from attncli.tape.walk import sources
from attncli.text.escapes import visible

Meant: TypeAlias = dict[str, tuple[Step, At]]
"""The step and the cells of it, () for all, that each name in a marking means."""


def with_step_names(marking: Marking, trace: Trace) -> tuple[Marking, Meant]:
    """Return a marking whose words for steps, such as `alpha`, are their names, and its meaning.

    The name of some of a step's cells is what was written first. Points count only for cells that
    are asked, where any are.

    Raises:
        InputError: for a word that means no step, and for points that a step, or the same cells,
            are given twice; of all of them at once.
    """
    faults: list[Fault] = []
    meant: Meant = {}
    known: dict[tuple[str, bytes], str] = {}

    def name_of(word: str, path: KeyPath) -> str:
        step, at = _cells_meant(word, trace, path)
        name = known.setdefault((step.name, mask_of(step, [at]).tobytes()), visible(word))
        name = name if at else step.name
        meant[name] = step, at
        return name

    asked: dict[str, None] = {}
    for index, word in enumerate(marking.ask):
        with collected(faults):
            asked[name_of(word, ("marking", "ask", index))] = None
    points: dict[str, float] = {}
    for word, value in marking.points.items():
        path = ("marking", "points", word)
        with collected(faults):
            name = name_of(word, path)
            if name in points:
                message = f"{visible(word)} is {name}, which has points twice"
                raise fail(message, *path, hint="leave one of them out")
            points[name] = value
    refuse(faults)
    if asked:
        same = equal_steps(trace)
        counting: dict[str, list[At]] = {}
        for name in asked:
            step, at = meant[name]
            counting.setdefault(same.get(step.name, step.name), []).append(at)
        for name in list(points):
            step, at = meant[name]
            if not mask_of(step, counting.get(same.get(step.name, step.name), ()))[at].all():
                del points[name]
    return replace(marking, ask=tuple(asked), points=points), meant


def mask_of(step: Step, cells: Iterable[At]) -> Array:
    """Return which cells of a step, as it stands on paper, are among some of them."""
    mask = np.zeros(step.value.shape, bool)
    for at in cells:
        mask[at] = True
    return mask


def _cells_meant(word: str, trace: Trace, path: KeyPath) -> tuple[Step, At]:
    wide = with_named_steps(trace, named_steps((word,), trace))
    try:
        step, at, _ = find_answer(word, wide)
    except InputError as error:
        fault = error.faults[0]
        is_told = fault.hint.startswith("did you mean") or ("[" in word and fault.hint)
        hint = fault.hint if is_told else f"the steps are {', '.join(wide.steps)}"
        raise InputError(replace(fault, path=path, hint=hint)) from None
    return step, at


def answered_by(
    wanted: Collection[str], trace: Trace, sheet: Container[str], renamed: Mapping[str, str]
) -> dict[str, str]:
    """Return the step whose numbers count for each wanted one: itself, or one that equals it.

    Args:
        wanted: names of steps, also of such as change nothing here.
        trace: the calculation without those.
        sheet: the names of the steps that were given.
        renamed: what was given under the name of another step, such as scaled scores as `scores`.
    """
    same = equal_steps(trace) if wanted else {}
    found = {}
    for name in wanted:
        base = same.get(name, name)
        group = [name, base, *(other for other, known in same.items() if known == base)]
        if base in renamed:
            group.append(renamed[base])
        found[name] = next((other for other in group if other in sheet), base)
    return found


def behind(names: Collection[str], steps: Mapping[str, Judged]) -> Iterator[str]:
    """Yield the given steps from whose numbers the steps of some names follow, where they do.

    A step that is right as it stands hides those before it. Of these steps the wrong ones count
    though nobody asks for them; else whatever follows from a mistake would pass.
    """
    seen: set[str] = set()
    todo = [steps[name].step for name in names if steps[name].has(FOLLOWS)]
    while todo:
        for source in sources(todo.pop()):
            judged = steps.get(source.name)
            if judged is None or source.name in seen:
                continue
            seen.add(source.name)
            yield source.name
            if not _is_right(judged):
                todo.append(judged.step)


def _is_right(judged: Judged) -> bool:
    """Whether all numbers of a step were given, and are right without those before it."""
    codes = (MISSING, FOLLOWS, WRONG)
    return not isinstance(judged, Misshapen) and not any(map(judged.has, codes))
