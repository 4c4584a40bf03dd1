"""The values of all keys of a problem together: read, with their defaults, and fit for each other.

Faults are of keys that cannot be read, that have no use or are missing, and of open cells.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from typing import Any

from attncli.core.attention.masks import MASKS
from attncli.core.attention.scores import SCORES
from attncli.core.errors import MAX_SHOWN_FAULTS, Fault, InputError, KeyPath, collected, refuse
from attncli.core.numbers.matrices import as_raw, block_rows
from attncli.core.numbers.scalars import dotted, is_open, name_of
from attncli.core.problem.key_names import hint_for
from attncli.core.problem.keys import KEYS
from attncli.core.problem.kinds import KINDS, Kind
from attncli.core.problem.shapes import heads_of
from attncli.core.problem.values import RECIPROCALS
from attncli.core.text.escapes import visible

DEFAULTS: Mapping[str, Any] = {key: row.default for key, row in KEYS.items()}
MAPPINGS = [key for key, default in DEFAULTS.items() if isinstance(default, dict)]
"""Keys whose defaults are copied, so that changing those of one problem changes no other."""

MAX_KEPT_AS_WRITTEN = 10_000
"""Maximum number of numbers, or characters of a text block, of a key that is kept as written.

People calculate with less; to keep more would only take memory."""


def read_keys(named: Mapping[str, Any], copy: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return every key as it was given, and its value; refuse what is wrong with single keys."""
    raw: dict[str, Any] = {}
    values: dict[str, Any] = {}
    faults: list[Fault] = []
    for key, given in named.items():
        if key not in KEYS:
            hint = hint_for(key) if len(faults) < MAX_SHOWN_FAULTS else ""
            faults.append(Fault(f"unknown key {visible(key)}", (key,), hint))
            continue
        with collected(faults):
            raw[key] = as_raw(given, (key,), copy)
            values[key] = KEYS[key].form.read(raw[key], (key,))
    if faults:
        refuse(with_open_cells_together(faults, raw))
    return raw, values


def with_defaults(read: dict[str, Any]) -> dict[str, Any]:
    """Return the values of all keys; the defaults of some depend on other keys."""
    values = {**DEFAULTS, **{key: dict(DEFAULTS[key]) for key in MAPPINGS}, **read}
    values["heads"], values["kv_heads"] = heads_of(values, read)
    values["score"] = values["score"] or {"name": KINDS[values["kind"]].score}
    usual = "1" if "scores" in read else SCORES[values["score"]["name"]].scale
    values["scale"] = values["scale"] or usual
    if "normalize" not in read and "scores" not in read:
        values["normalize"] = {"name": SCORES[values["score"]["name"]].normalize}
    return values


def is_small(raw: object) -> bool:
    rows = raw if isinstance(raw, list | tuple) else ()
    count = sum(len(row) if isinstance(row, list | tuple) else 1 for row in rows)
    size = len(raw) if isinstance(raw, str) else getattr(raw, "size", count)
    return size <= MAX_KEPT_AS_WRITTEN


REPLACES = {
    "Q": ("W_q", "b_q"),
    "K": ("W_k", "b_k"),
    "V": ("W_v", "b_v"),
    "scores": ("Q", "K", "W_q", "b_q", "W_k", "b_k", "score", "qk_norm", "past"),
}
"""Keys of results that a problem may set directly, each with the keys that it makes useless."""

PRODUCTS = ("dot", "scaled_dot", "general")
"""Score functions whose scores grow with d_k: a scale that multiplies by √d_k is a slip."""

MAX_NAMED_CELLS = 6
"""Maximum number of open cells that are named one by one; of more, each matrix is counted."""


def misused(given: Collection[str], values: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield a fault for each key that has no use in this kind, excludes another, or is missing."""
    name = values["kind"]
    kind = KINDS[name]
    for key in given:
        if key not in kind.keys:
            fitting = [name for name, other in KINDS.items() if key in other.keys]
            hint = f"it is for kind: {' or '.join(fitting)}" if fitting else ""
            yield Fault(f"{key} has no use in kind {name}", (key,), hint)
    for direct in [direct for direct in REPLACES if direct in given]:
        for key in filter(given.__contains__, REPLACES[direct]):
            message = f"{direct} is given, so {key} has no use"
            yield Fault(message, (key,), f"leave out {key} or {direct}", (direct,))
    yield from _misfits(given, name, values)
    for key in kind.needs:
        if key not in given:
            yield Fault(f"kind {name} needs {key}", ("kind",), KEYS[key].meaning)
    if "learning_rate" in given and "gradient" not in given:
        message = "learning_rate has no use without gradient"
        yield Fault(message, ("learning_rate",), "write gradient: sum", needs="values")
    for key, origin, *others in source_groups(kind):
        if not any(one in given for one in (key, origin, *others)):
            hint = f"{key} is made from {origin}; write {origin}: [[1, 0], [0, 1]]"
            yield Fault(f"there is neither {origin} nor {key}", (), hint)
            return


def _misfits(given: Collection[str], name: str, values: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield a fault for each part of an option without use, and a slip in `scale`."""
    if name == "transformer":
        from attncli.core.problem import layers  # most problems have none

        yield from layers.misfits(given, values)
    kind = KINDS[name]
    fitting = [form for form, row in MASKS.items() if kind.by_position or not row.by_position]
    for form in values["mask"]:
        if form in MASKS and form not in fitting:
            message = f"the mask {form} has no use in kind {name}"
            yield Fault(message, ("mask", form), f"{', '.join(fitting)} have")
    if values["normalize"].get("axis", kind.axes[0]) not in kind.axes:
        message = f"normalize.axis has no use in kind {name}"
        yield Fault(message, ("normalize", "axis"), "leave it out")
    if values["weights_as"] == "out_in" and values["tokens_as"] == "columns":
        message = "tokens_as: columns has weights of (out, in), so weights_as: out_in has no use"
        yield Fault(message, ("weights_as",), "leave one of them out", ("tokens_as",))
    scale = values["scale"]
    right = RECIPROCALS.get(scale.replace(" ", ""))
    if right and values["score"]["name"] in PRODUCTS:
        message = f"scale is what scores are multiplied by, and {scale} makes products larger"
        hint = f"write scale: {right}; to multiply all the same, write 1*{scale}"
        yield Fault(message, ("scale",), hint, needs="values")


def source_groups(kind: Kind) -> tuple[tuple[str, ...], ...]:
    """Return groups of keys of which a problem needs one: a matrix, its source, or its product."""
    if "Q" not in kind.shapes:
        return ()
    return ("Q", "X", "scores"), ("K", kind.source, "scores"), ("V", kind.source)


def with_open_cells_together(faults: list[Fault], raw: Mapping[str, Any]) -> list[Fault]:
    """Return faults with a single one for all open cells.

    Each matrix of the values as they were written, `raw`, has a fault for its first open cell.
    """
    first = {fault.path for fault in faults}
    cells = [path for key, part in raw.items() for path in _open_cells(part, (key,))]
    matrices: dict[str, list[KeyPath]] = {}
    for path in cells:
        matrices.setdefault(dotted(path), []).append(path)
    matrices = {name: paths for name, paths in matrices.items() if paths[0] in first}
    if not matrices:
        return faults
    every = [path for paths in matrices.values() for path in paths]
    words = [*map(name_of, every)]
    if len(every) > MAX_NAMED_CELLS:
        words = [f"{len(paths)} of {name}" for name, paths in matrices.items()]
    count, there = f"{len(every)} cells are open", "in the place of each"
    if len(every) == 1:
        count, there = "1 cell is open", "there"
    needs = min(fault.needs for fault in faults if fault.path in every)  # none, if one has none
    message, hint = f"{count}: {', '.join(words)}", f"write a number {there}"
    together = Fault(message, every[0], hint, needs=needs)
    others = [fault for fault in faults if fault.path not in every]
    return [together, *others]


def _open_cells(raw: Any, path: KeyPath) -> Iterator[KeyPath]:
    """Yield the paths of the open cells of a value, in the order in which they are written."""
    if isinstance(raw, Mapping):
        for key, part in raw.items():
            yield from _open_cells(part, (*path, key))
        return
    if isinstance(raw, str):
        with suppress(InputError):  # another fault tells of it
            raw = block_rows(raw, path)
    if isinstance(raw, list | tuple):
        for index, part in enumerate(raw):
            if isinstance(part, str) and is_open(part):
                yield (*path, index)
            elif not isinstance(part, str):
                yield from _open_cells(part, (*path, index))
