"""The names of cells: `scores[am, I]`, `weights[head 2][am, I]`, q_am; written and read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from attncli.errors import fail
from attncli.tape.step import LEADING, Step
from attncli.text.escapes import label_text, visible
from attncli.text.suggestions import near_words

Index = tuple[int, ...]

MOST_LISTED = 12


def place_of(step: Step, at: Index) -> Index:
    """Return where a cell of a step's array stands on paper, an index into `Step.value`."""
    lead = [i for name, i in zip(LEADING, at, strict=False) if name in step.leading]
    last = list(at[len(at) - len(step.trailing) :])
    if step.columns and len(last) >= 2:
        last[0], last[1] = last[1], last[0]
    return (*lead, *last)


def at_of(step: Step, place: Index) -> Index:
    """Return the place in a step's array of a cell on paper, the inverse of `place_of`."""
    count = len(step.leading)
    last = list(place[count:])
    if step.columns and len(last) >= 2:
        last[0], last[1] = last[1], last[0]
    leading = dict(zip(step.leading, place[:count], strict=True))
    lead = [leading.get(name, 0) for name in LEADING]
    return (*lead, *(0 for _ in range(step.array.ndim - 2 - len(last))), *last)


def cell_name(step: Step, place: Index) -> str:
    """Return the name of a cell on paper, such as `weights[head 2][am, I]`."""
    name, lead, words = cell_words(step, place)
    before = "".join(f"[{axis} {i + 1}]" for axis, i in zip(step.leading, lead, strict=False))
    return f"{name}{before}[{', '.join(words)}]" if words else f"{name}{before}"


def cell_words(step: Step, place: Index) -> tuple[str, Index, list[str]]:
    """Return the name of a cell's step, its place along batch and head, and its other words."""
    if step.name.isdigit():  # a start of zeros, which has no name of its own
        return step.name, (), []
    count = len(step.leading)
    # The axis of sums has one place, which says nothing.
    pairs = [p for p in zip(step.axes[count:], place[count:], strict=True) if p[0] != "sum"]
    return step.name, place[:count], [word(step, axis, i) for axis, i in pairs]


def word(step: Step, axis: str, place: int) -> str:
    """Return the label of a place along an axis; its number where there is none, or no clear one.

    A label that stands twice, or that holds a bracket or a comma, would not tell the place.
    """
    labels = step.labels.get(axis, ())
    if place < len(labels) and _is_clear(labels, place):
        return label_text(labels[place])
    return str(place + 1)


def row_words(step: Step, at: Index) -> tuple[str, list[str]]:
    """Return the letter of the vector that a cell is in, and the words of its place."""
    name = step.name.lower() if len(step.name) == 1 else step.name
    axes = step.trailing[:-1]
    if axes and len(axes) == 1 and step.array.shape[-2] == 1 and axes[0] not in step.labels:
        return name, []
    places = at[len(at) - len(step.trailing) : -1]
    return name, [word(step, axis, i) for axis, i in zip(axes, places, strict=True)]


def find_cell(steps: Mapping[str, Step], text: str) -> tuple[Step, Index | None]:
    """Return the step and the place on paper that `scores[am, I]` names; None for every cell.

    Raises:
        InputError: for a step or a cell that is not there; it lists what there is.
    """
    name, bracket, rest = text.strip().partition("[")
    name = name.strip()
    if name not in steps:
        message = f"there is no step {visible(name)}; there are {', '.join(steps)}"
        near = near_words(name, steps)
        raise fail(message, hint=f"did you mean {near[0]}?" if near else "")
    step = steps[name]
    if not bracket:
        return step, None
    groups = _groups(f"[{rest}", text)
    *lead, last = groups
    count = len(step.leading)
    shape = step.value.shape
    if len(lead) != count:
        sizes = "".join(f"[{axis} 1]" for axis in step.leading)
        has = " and ".join(f"an axis {axis}" for axis in step.leading) or "only one matrix"
        raise fail(f"{visible(text)}: {name} has {has}", hint=f"write {name}{sizes}[{last}]")
    place = [
        _lead_place(axis, group, size, text)
        for axis, group, size in zip(step.leading, lead, shape[:count], strict=True)
    ]
    axes_left = [(axis, size) for axis, size in zip(step.axes[count:], shape[count:], strict=True)]
    parts = _parts(last)
    named = [pair for pair in axes_left if pair[0] != "sum"]
    if len(parts) == len(named) < len(axes_left):
        places = {
            axis: _find(step, axis, size, p, text)
            for (axis, size), p in zip(named, parts, strict=True)
        }
        return step, (*place, *(places.get(axis, 0) for axis, _ in axes_left))
    if len(parts) != len(axes_left):
        words = ", ".join(axis for axis, _ in axes_left)
        raise fail(
            f"{visible(text)} gives {len(parts)} of the places of {name}, which are {words}",
            hint=f"such as {cell_name(step, (0,) * len(shape))}",
        )
    found = [
        _find(step, axis, size, p, text) for (axis, size), p in zip(axes_left, parts, strict=True)
    ]
    return step, (*place, *found)


def _is_clear(labels: Sequence[str], place: int) -> bool:
    label = labels[place]
    return (
        bool(label.strip())
        and label == label.strip()
        and not any(c in label for c in ',[]"')
        and labels.count(label) == 1
    )


def _groups(rest: str, text: str) -> list[str]:
    groups = re.findall(r'\[((?:"[^"]*"|[^\[\]"])*)\]', rest)
    if "".join(f"[{g}]" for g in groups) != rest.replace("] [", "][").strip():
        raise fail(
            f"{visible(text)} is not the name of a cell",
            hint="write it as scores[am, I] or scores[2, 1]",
        )
    return groups


def _parts(group: str) -> list[str]:
    """Return the words between commas; what stands in double quotes is one word."""
    return [part.strip() for part in re.findall(r'((?:"[^"]*"|[^,"])+)', group)]


def _lead_place(axis: str, group: str, size: int, text: str) -> int:
    number = group.strip().removeprefix(axis).strip()
    if number.isdecimal() and 1 <= int(number) <= size:
        return int(number) - 1
    raise fail(
        f"{visible(text)}: there is no {axis} {visible(number)}",
        hint=f"there are {axis} 1 to {size}",
    )


def _find(step: Step, axis: str, size: int, part: str, text: str) -> int:
    """Return the place along an axis that a label or a number from 1 names."""
    labels = step.labels.get(axis, ())
    label = part[1:-1] if len(part) > 1 and part[0] == part[-1] == '"' else part
    places = [i for i, known in enumerate(labels) if label in (known, label_text(known))]
    if len(places) == 1:
        return places[0]
    if len(places) > 1:
        numbers = " and ".join(str(i + 1) for i in places)
        raise fail(
            f"{visible(text)}: {visible(label)} stands at the places {numbers} of the {axis} axis",
            hint="give the number",
        )
    if part.isdecimal() and 1 <= int(part) <= size:
        return int(part) - 1
    if labels and len(labels) <= MOST_LISTED:
        known = ", ".join(visible(label) for label in labels)
        hint = f"there are {known}, or the numbers 1 to {size}"
    else:
        hint = f"there are the numbers 1 to {size}"
    raise fail(f"{visible(text)}: there is no {axis} {visible(label)}", hint=hint)
