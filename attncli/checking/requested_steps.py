"""The steps that a teacher asks for, and which given steps count for them."""

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
"""The step, and its cells (() for all), that each name in a marking means."""


def with_step_names(marking: Marking, trace: Trace) -> tuple[Marking, Meant]:
    """Return a marking with names for its words for steps, such as `alpha`, and its meaning.

    Some of a step's cells are named by the first word for them. Points count only for cells that
    are asked for, where any are.

    Raises:
        InputError: for a word that means no step, and for points that a step, or the same cells,
            are given twice; for all of them at once.
    """
    faults: list[Fault] = []
    meant: Meant = {}
    asked: list[str] = []
    points: dict[str, float] = {}
    known: dict[tuple[str, bytes], str] = {}
    words: list[tuple[str, KeyPath, float | None]]
    words = [(word, ("ask", index), None) for index, word in enumerate(marking.ask)]
    words += [(word, ("points", word), value) for word, value in marking.points.items()]
    for word, place, value in words:
        path = ("marking", *place)
        with collected(faults):
            step, at = _cells_meant(word, trace, path)
            mask = mask_of(step, [at]).tobytes()
            name = known.setdefault((step.name, mask), visible(word)) if at else step.name
            if name in points:
                message = f"{visible(word)} is {name}, which has points twice"
                raise fail(message, *path, hint="leave one of them out")
            meant[name] = step, at
            if value is None:
                asked.append(name)
            else:
                points[name] = value
    refuse(faults)
    if asked:
        same = equal_steps(trace)
        base = {name: same.get(step.name, step.name) for name, (step, _) in meant.items()}
        for name in list(points):
            step, at = meant[name]
            cells = [meant[other][1] for other in asked if base[other] == base[name]]
            if not mask_of(step, cells)[at].all():
                del points[name]
    return replace(marking, ask=tuple(dict.fromkeys(asked)), points=points), meant


def mask_of(step: Step, cells: Iterable[At]) -> Array:
    """Return truth values, in the shape of a step on paper: the cells that any index names."""
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
    name: str, same: Mapping[str, str], given: Container[str], renamed: Mapping[str, str]
) -> str:
    """Return the step whose numbers count for a wanted one: itself, or one that equals it.

    Args:
        name: the wanted step.
        same: the steps that change nothing here, and the step that each equals.
        given: the names of the steps that were given.
        renamed: the step that was given under the name of another, such as scaled scores as
            `scores`.
    """
    base = same.get(name, name)
    group = [name, base, *(other for other, known in same.items() if known == base)]
    return next((one for one in (*group, renamed.get(base, base)) if one in given), base)


def behind(names: Collection[str], steps: Mapping[str, Judged]) -> Iterator[str]:
    """Yield the given steps from whose numbers the steps with some names follow.

    Of these steps the wrong ones count even if they are not asked for; else whatever follows from a
    mistake would pass. A step that is right by itself hides those before it.
    """
    seen: set[str] = set()
    todo = [steps[name].step for name in names]
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
    """Return True if all numbers of a step were given, and are right without earlier ones."""
    codes = (MISSING, FOLLOWS, WRONG)
    return not isinstance(judged, Misshapen) and not any(map(judged.has, codes))
