"""The names of cells: `scores[am, I]`, `weights[head 2][am, I]`, q_am; written and read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product

import numpy as np

from attncli.errors import fail
from attncli.notation.text import text
from attncli.notation.tree import Cell, Vector
from attncli.tape.step import LEADING, Step
from attncli.text.escapes import label_text, visible
from attncli.text.suggestions import near_words

Index = tuple[int, ...]

NO_STEPS: Mapping[str, Step] = {}

MOST_LISTED = 12


def place_of(step: Step, at: Index) -> Index:
    """Return where a cell of a step's array stands on paper, an index into `Step.value`."""
    lead = [i for name, i in zip(LEADING, at, strict=False) if name in step.leading]
    return (*lead, *step.swapped(at[len(at) - len(step.trailing) :]))


def at_of(step: Step, place: Index) -> Index:
    """Return the place in a step's array of a cell on paper, the inverse of `place_of`."""
    leading = dict(zip(step.leading, place, strict=False))
    lead = [leading.get(name, 0) for name in LEADING]
    last = step.swapped(place[len(leading) :])
    return (*lead, *[0] * (step.array.ndim - 2 - len(last)), *last)


def cell(step: Step, place: Index) -> Cell:
    """Return the name of a cell on paper as a formula; every name of a cell is made here."""
    if step.name.isdigit():  # a start of zeros, which has no name of its own
        return Cell(step.name, (), ())
    count = len(step.leading)
    lead = tuple((axis, i + 1) for axis, i in zip(step.leading, place, strict=False))
    # The axis of sums has one place, which says nothing.
    pairs = [p for p in zip(step.axes[count:], place[count:], strict=True) if p[0] != "sum"]
    return Cell(step.name, lead, tuple(place_word(step.labels, axis, i) for axis, i in pairs))


def cell_name(step: Step, place: Index) -> str:
    """Return the name of a cell on paper, such as `weights[head 2][am, I]`."""
    return text(cell(step, place))


def row(step: Step, at: Index) -> Vector:
    """Return the name of the row of a step's array that a cell is in, such as q_am."""
    axes = step.trailing[:-1]
    if len(axes) == 1 and step.array.shape[-2] == 1 and axes[0] not in step.labels:
        return Vector(_row_letter(step), ())
    places = at[len(at) - len(step.trailing) : -1]
    alone = len(axes) == 1
    words = (place_word(step.labels, axis, i, alone) for axis, i in zip(axes, places, strict=True))
    return Vector(_row_letter(step), tuple(words))


def place_word(
    labels: Mapping[str, tuple[str, ...]], axis: str, place: int, alone: bool = False
) -> str:
    """Return the label of a place along an axis; its number where there is none, or no clear one.

    A label that stands twice, or that holds a bracket or a comma, would not tell the place; where
    no other place is named, as in z_am, a comma does no harm.
    """
    words = labels.get(axis, ())
    if place < len(words):
        label = words[place]
        tells = alone and _is_plain(label, '["') and words.count(label) == 1
        if _are_clear(words)[place] or (tells and not label.isdecimal()):
            return label
    return str(place + 1)


def find_cells(
    name: str, steps: Mapping[str, Step], inputs: Mapping[str, Step] = NO_STEPS
) -> tuple[Step, list[Index] | None]:
    """Return the step and the places on paper that a name means; None for every place.

    Args:
        name: a step (`scores`), a cell (`scores[am, I]`, `weights[head 2][am, I]`) or a row
            (`output[am]`, `q_am`, `z_am`), by labels or by numbers from 1.
        steps: the steps of a calculation.
        inputs: what else has cells: the problem's matrices.

    Raises:
        InputError: for a step or a cell that is not there; it lists what there is.
    """
    base, bracket, rest = name.strip().partition("[")
    base = base.strip()
    step = {**inputs, **steps}.get(base)
    if step is not None and not bracket:
        return step, None
    if step is not None:
        *groups, last = _groups(f"[{rest}", name)
        return step, _places(step, _lead(step, groups, last, name), _parts(last), name)
    for letter, words in _row_names(base, rest):
        if (step := _step_of(letter, steps, inputs)) is not None:
            leads = np.ndindex(step.value.shape[: len(step.leading)])
            return step, [at for lead in leads for at in _places(step, lead, words, name)]
    message = f"there is no step {visible(base)}; there are {', '.join(steps)}"
    near = near_words(base, steps)
    raise fail(message, hint=f"did you mean {near[0]}?" if near else "")


def _row_names(base: str, rest: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the letter and the words that the name of a row may be made of: q and am for q_am."""
    if rest:
        yield base, _parts(rest.rstrip().removesuffix("]"))
        return
    pieces = base.split("_")
    for count in range(len(pieces) - 1, 0, -1):
        yield "_".join(pieces[:count]), ["_".join(pieces[count:])]
    yield base, []


def _row_letter(step: Step) -> str:
    return step.name.lower() if len(step.name) == 1 else step.name


def _step_of(letter: str, steps: Mapping[str, Step], inputs: Mapping[str, Step]) -> Step | None:
    """Return the step whose rows are called by a letter: q for Q, z for what has the symbol Z.

    Values that weights mix are v, also where they are an input itself.
    """
    named = [s for s in (*steps.values(), *inputs.values()) if _row_letter(s) == letter]
    called = [s for s in steps.values() if s.symbol[0].lower() + s.symbol[1:] == letter]
    if named or called:
        return named[0] if named else called[-1]
    return inputs.get("memory", inputs.get("X")) if letter == "v" else None


def _lead(step: Step, groups: Sequence[str], last: str, name: str) -> Index:
    """Return the places along batch and head that groups such as `head 2` name."""
    if len(groups) != len(step.leading):
        sizes = "".join(f"[{axis} 1]" for axis in step.leading)
        has = " and ".join(f"an axis {axis}" for axis in step.leading) or "only one matrix"
        hint = f"write {step.name}{sizes}[{last}]"
        raise fail(f"{visible(name)}: {step.name} has {has}", hint=hint)
    sizes_of = zip(step.leading, groups, step.value.shape, strict=False)
    return tuple(_lead_place(axis, group, size, name) for axis, group, size in sizes_of)


def _places(step: Step, lead: Index, words: Sequence[str], name: str) -> list[Index]:
    """Return the places of a cell that words name, or of a row where the last word is left out."""
    count = len(step.leading)
    sizes = dict(zip(step.axes[count:], step.value.shape[count:], strict=True))
    named = [axis for axis in sizes if axis != "sum"]
    if len(words) < len(named):  # a row is a token's, whatever way the matrix stands
        named = [axis for axis in step.trailing if axis != "sum"][: len(words)]
    elif len(words) == len(sizes):
        named = list(sizes)
    if len(words) > len(named):
        places = f"of the places of {step.name}, which are {', '.join(sizes)}"
        example = cell_name(step, (0,) * step.value.ndim)
        raise fail(f"{visible(name)} gives {len(words)} {places}", hint=f"such as {example}")
    pairs = zip(named, words, strict=True)
    found = {axis: [_find(step, axis, sizes[axis], word, name)] for axis, word in pairs}
    rest = product(*(found.get(axis, range(size)) for axis, size in sizes.items()))
    return [(*lead, *places) for places in rest]


def _is_plain(label: str, signs: str) -> bool:
    return label == label.strip() != "" and not set(label) & set(signs)


@lru_cache
def _are_clear(labels: tuple[str, ...]) -> list[bool]:
    """Whether each label tells its place: where one gives way to a number, so does every number."""
    counts = Counter(labels)
    clear = [_is_plain(x, ',[]"') and counts[x] == 1 for x in labels]
    return [c and (all(clear) or not x.isdecimal()) for c, x in zip(clear, labels, strict=True)]


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
    if part.isdecimal() and not all(_are_clear(labels)[i] for i in places):
        places = []  # the number of a place
    if len(places) == 1:
        return places[0]
    if len(places) > 1:
        at = f"the places {' and '.join(str(i + 1) for i in places)} of the {axis} axis"
        raise fail(f"{visible(text)}: {visible(label)} stands at {at}", hint="give the number")
    if part.isdecimal() and 1 <= int(part) <= size:
        return int(part) - 1
    known = f"the numbers 1 to {size}"
    if labels and len(labels) <= MOST_LISTED:
        known = f"{', '.join(map(visible, labels))}, or {known}"
    message = f"{visible(text)}: there is no {axis} {visible(label)}"
    raise fail(message, hint=f"there are {known}")
