"""Names of steps in answers and in markings, and the step and the cells that each means."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from attncli.core.arithmetic.elements import Array
from attncli.core.calculation.trace import Trace, equal_steps, with_named_steps
from attncli.core.errors import Fault, InputError, KeyPath, collected, fail, placed, refuse
from attncli.core.problem.key_values import key_of, with_key
from attncli.core.problem.keys import KEYS
from attncli.core.problem.marking import Marking
from attncli.core.records import replace
from attncli.core.tape.cell_names import MOST_LISTED
from attncli.core.tape.find_cells import find_cells, several_meant
from attncli.core.tape.step import Step
from attncli.core.tape.step_words import LETTERS, ROW_IN_WORDS, meant
from attncli.core.text.strings import MIN_OF_SHORT, near_words, plain_name, regex, visible

MAX_UNKNOWN = 1_000
"""Maximum number of keys of a submission that mean no step; each takes 3 ms to look up. Chosen."""
MAX_KEY_LENGTH = 500
"""Maximum length of a key with a meaning, in characters; no message quotes a longer one."""

PLACE = regex(r"_(\w{1,200})\Z|\[([^,\[\]:]{1,200})\]\Z")
"""One place behind a name: alpha_3, weights[great]."""

NUMBERED = regex(r"([^\W\d_](?:_*[^\W\d_])*+)[_{]*+(\d{1,4})\}?")
"""A word and the number of a row: z_0."""

ONE_NUMBER = regex(r"[^\s,;]+(,\d+)?")
"""The text of one number, perhaps with a decimal comma."""

FEW_STEPS = 4
"""Maximum number of steps that a hint lists where the problem has many. Chosen."""


class InputNamed(Fault):
    """The name of an input of the problem where one of a step is wanted."""


At: TypeAlias = tuple[Any, ...]
"""An index of a step's value: () for all cells, or a head, row or cell."""

Meaning: TypeAlias = tuple[Step, At, bool]
"""The step that a key means, its cells, and whether they are transposed."""


def find_answer(word: str, trace: Trace, raw: Any = None) -> Meaning:
    """Return which step the key of an answer means, which of its cells, and whether transposed.

    A key is whatever `attn explain` reads; also as a heading, such as `weights (softmax)`.
    """
    meaning = (is_one_number(raw) and in_row(word, trace)) or _meaning(word, trace)
    if isinstance(meaning, InputError):
        raise InputError(*meaning.faults)
    return meaning


def means_step(word: str, trace: Trace, raw: Any) -> bool:
    with suppress(InputError):
        return bool(find_answer(word, trace, raw))
    return False


def rows_from_zero(words: Iterable[str], trace: Trace) -> dict[str, str]:
    """Return the words for rows that are numbered from 0, each with the name of the row from 1.

    Raises:
        InputError: for two words for one row, z1 and z_1.
    """
    rows = dict[tuple[str, int], str]()
    for word in words:
        in_words = ROW_IN_WORDS.fullmatch(word)
        plain = in_words.expand(r"\g<step>_\g<row>").replace(" ", "_") if in_words else word
        if (match := NUMBERED.fullmatch(plain_name(plain))) and word not in trace:
            first = rows.setdefault((match[1], int(match[2])), word)
            if first != word:
                message = f"{visible(first)} and {visible(word)} are the same row"
                raise fail(message, word, hint="leave one of them out")
    letters = {letter for letter, number in rows if number == 0}
    letters = {letter for letter in letters if not means_step(f"{letter}_0", trace, None)}
    names = {rows[a, n]: f"{a}_{n + 1}" for a, n in rows if a in letters}
    return {word: name for word, name in names.items() if is_row(name, trace)}


def is_row(word: str, trace: Trace) -> bool:
    """Return True for the name of a row with its number, such as z_1, and not of a whole step."""
    meaning = _meaning(word, trace) if NUMBERED.fullmatch(plain_name(word)) else None
    return isinstance(meaning, tuple) and meaning[1] != ()


def is_slip(fault: Fault) -> bool:
    """Return True for a name that is so like one of a step that no other word is likely."""
    near = fault.nearest
    return bool(near and near_words(str(fault.path[0]), [near], MIN_OF_SHORT))


def is_one_number(raw: Any) -> bool:
    for _ in range(2):  # a row, or a matrix of one
        raw = raw[0] if isinstance(raw, list) and len(raw) == 1 else raw
    if isinstance(raw, str):
        return ONE_NUMBER.fullmatch(raw.strip()) is not None
    return isinstance(raw, int | float)


def in_row(word: str, trace: Trace) -> Meaning | None:
    """Return the cell of a step of one row that a place behind its name means, as in alpha_3."""
    if word not in trace and PLACE.search(word):
        meaning = _meaning(PLACE.sub(r"[1, \1\2]", word), trace)
        if not isinstance(meaning, InputError) and meaning[0].value.shape[:-1] == (1,):
            return meaning
    return None


def named_steps(words: Iterable[str], trace: Trace) -> tuple[str, ...]:
    """Return the names of steps that keys mean and that change nothing, so the trace has none."""
    unknown = [word for word in words if isinstance(_meaning(word, trace), InputError)]
    wide = with_all_steps(trace) if unknown else trace
    meanings = [_meaning(word, wide) for word in unknown]
    names = dict.fromkeys(one[0].name for one in meanings if not isinstance(one, InputError))
    return tuple(name for name in names if name in wide.added)


def refuse_many_unknown(words: Iterable[str], trace: Trace) -> None:
    """Raise an InputError for more than `MAX_UNKNOWN` keys that mean no step."""
    unknown = 0
    for word in words:
        unknown += isinstance(_meaning(word, trace), InputError)
        if unknown > MAX_UNKNOWN:
            hint = "leave out what is no answer to this problem"
            raise fail(f"more than {MAX_UNKNOWN:,} keys mean no step", word, hint=hint)


def with_all_steps(trace: Trace) -> Trace:
    """Return a trace with all steps that change nothing; many submissions name what is none."""
    return trace.kept("wide", partial(with_named_steps, trace))


def _meaning(word: str, trace: Trace) -> Meaning | InputError:
    """Return what a key means; the rows of a class's table have the same headings."""
    return trace.kept(("meaning", word), partial(_read, word, trace))


def _read(word: str, trace: Trace) -> Meaning | InputError:
    if word in trace:
        return trace[word], (), False
    if len(word) > MAX_KEY_LENGTH:
        return fail(f"a key of {len(word)} characters is no name of a step or of a cell", word)
    try:
        return _cells(word, trace)
    except InputError as error:
        from attncli.core.numbers.grid import undecorated  # few submissions have headings for keys

        name, unknown = undecorated(word), InputError(*error.faults)  # without what raised it
        meaning = unknown if name in ("", word) else _meaning(name, trace)
        return unknown if isinstance(meaning, InputError) else meaning


def _cells(word: str, trace: Trace) -> Meaning:
    name = with_key(word, trace.called)
    base = name.partition("[")[0].strip()
    try:
        _refuse_several(base, trace)
        cells = find_cells(name, trace.steps, trace.inputs, trace.added)
    except InputError as error:
        key = key_of(base)
        if key in trace.inputs or (key in KEYS and not meant(base, trace.steps)):
            raise _input(key, word, trace) from None
        raise InputError(*(replace(fault, path=(word,)) for fault in error.faults)) from None
    if cells.step.name not in trace:
        raise _input(cells.step.name, word, trace)
    lead, rest = cells.along[: len(cells.step.leading)], cells.along[len(cells.step.leading) :]
    is_one = [isinstance(places, int) for places in rest]
    if all(is_one) or (any(is_one) and any(isinstance(places, range) for places in lead)):
        return cells.step, tuple(np.transpose(cells.places)), False  # one after the other
    return cells.step, cells.at, cells.is_transposed


def _refuse_several(base: str, trace: Trace) -> None:
    if base in trace or base in trace.inputs or base in trace.problem.names:
        return
    called = [step.name for step in trace if step.symbol.lower() == base.lower()]
    names = meant(base, trace.steps, trace.added) or [n for n in called if n not in trace.added]
    if len(names) > 1:
        raise several_meant(base, names)


def _input(name: str, word: str, trace: Trace) -> InputError:
    way_out = "write the step's name over its numbers" if name == "X" else "leave it out"
    steps, are = [*trace.steps], "the steps are"
    if len(steps) > MOST_LISTED:
        starts = tuple(LETTERS.get(name, [name]))
        near = [step for step in steps if step.startswith(starts)] or steps[::-1]
        steps, are = near[:FEW_STEPS], "steps are"
    message = f"{visible(name)} is an input of the problem, not a step"
    return InputError(InputNamed(message, (word,), f"{way_out}; {are} {', '.join(steps)}"))


Meant: TypeAlias = dict[str, tuple[Step, At]]
"""The step, and its cells (() for all), that each name in a marking means."""


def with_step_names(trace: Trace) -> tuple[Marking, Meant]:
    """Return a problem's marking with names for its words for steps, such as `alpha`; its cells.

    If the marking asks for some cells, points count for those only.
    """
    marking = trace.problem.marking
    faults, asked = list[Fault](), list[str]()
    meant, points = Meant(), dict[str, float]()
    known: dict[tuple[str, bytes], str] = {}
    paths: list[KeyPath] = [("marking", "ask", index) for index in range(len(marking.ask))]
    paths += [("marking", "points", word) for word in marking.points]
    for word, path in zip((*marking.ask, *marking.points), paths, strict=True):
        with collected(faults):
            step, at = _cells_meant(word, trace, path)
            mask = mask_of(step, [at]).tobytes()
            name = known.setdefault((step.name, mask), visible(word)) if at else step.name
            if name in points:
                message = f"{visible(word)} is {name}, which has points twice"
                raise fail(message, *path, hint="leave one of them out")
            meant[name] = step, at
            if path[1] == "ask":
                asked.append(name)
            else:
                points[name] = marking.points[word]
    refuse([placed(fault, trace.problem.source) for fault in faults])
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
        is_told = fault.nearest or ("[" in word and fault.hint)
        hint = fault.hint if is_told else f"the steps are {', '.join(wide.steps)}"
        raise InputError(replace(fault, path=path, hint=hint)) from None
    return step, at
