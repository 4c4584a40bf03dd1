"""Cells that are left open in a problem, all in one message."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from attncli.errors import Fault, InputError, KeyPath
from attncli.forms.matrices import block_rows
from attncli.forms.scalars import dotted, is_open, name_of

MAX_NAMED_CELLS = 6
"""Maximum number of open cells that are named one by one; of more, each matrix is counted."""


def with_open_cells_together(faults: list[Fault], raw: Mapping[str, Any]) -> list[Fault]:
    """Return faults with a single one for all open cells.

    Args:
        faults: the faults of single keys; each matrix has one for its first open cell.
        raw: the values as they were written.
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
    if len(every) <= MAX_NAMED_CELLS:
        words = ", ".join(map(name_of, every))
    else:
        words = ", ".join(f"{len(paths)} of {name}" for name, paths in matrices.items())
    count, there = f"{len(every)} cells are open", "in the place of each"
    if len(every) == 1:
        count, there = "1 cell is open", "there"
    needs = min(fault.needs for fault in faults if fault.path in every)  # none, if one has none
    together = Fault(f"{count}: {words}", every[0], f"write a number {there}", needs=needs)
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
