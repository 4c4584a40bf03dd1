"""Which steps a teacher asks for: the marking's names read as answers are, and what counts."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Mapping

from attncli.checking.judged import FOLLOWS, MISSING, WRONG, Judged, Misshapen
from attncli.checking.names import find_answer, named_steps
from attncli.errors import Fault, InputError, KeyPath, collected, fail, refuse
from attncli.mechanisms.named import equal_steps, with_named_steps
from attncli.mechanisms.trace import Trace
from attncli.problem.marking import Marking
from attncli.records import replace
from attncli.tape.walk import sources
from attncli.text.escapes import visible


def with_step_names(marking: Marking, trace: Trace) -> Marking:
    """Return a marking whose words for steps, such as `alpha`, are the names of the steps.

    Where some steps are asked, only their points count.

    Raises:
        InputError: for a word that means no step, or only a part of one, and for points that a
            step is given twice; of all of them at once.
    """
    faults: list[Fault] = []
    asked: dict[str, None] = {}
    for index, word in enumerate(marking.ask):
        with collected(faults):
            asked[_step_meant(word, trace, ("marking", "ask", index))] = None
    points: dict[str, float] = {}
    for word, value in marking.points.items():
        path = ("marking", "points", word)
        with collected(faults):
            name = _step_meant(word, trace, path)
            if name in points:
                message = f"{visible(word)} is {name}, which has points twice"
                raise fail(message, *path, hint="leave one of them out")
            points[name] = value
    refuse(faults)
    if asked:
        same = equal_steps(trace)
        counting = {same.get(name, name) for name in asked}
        points = {name: n for name, n in points.items() if same.get(name, name) in counting}
    return replace(marking, ask=tuple(asked), points=points)


def _step_meant(word: str, trace: Trace, path: KeyPath) -> str:
    wide = with_named_steps(trace, named_steps((word,), trace))
    steps = f"the steps are {', '.join(wide.steps)}"
    try:
        step, at, _ = find_answer(word, wide)
    except InputError as error:
        fault = error.faults[0]
        hint = fault.hint if fault.hint.startswith("did you mean") else steps
        raise InputError(replace(fault, path=path, hint=hint)) from None
    if at:
        raise fail(f"{visible(word)} is only a part of the step {step.name}", *path, hint=steps)
    return step.name


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
