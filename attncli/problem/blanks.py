"""Cells that are left open in a problem: one message tells all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from attncli.errors import Fault, InputError, KeyPath
from attncli.forms.matrices import block_rows
from attncli.forms.numbers import dotted, is_open, name_of

NAMED = 6
"""As many open cells are named one by one; of more, it is told how many each matrix has."""


def told_together(faults: list[Fault], raw: Mapping[str, Any]) -> list[Fault]:
    """Return faults with one in the place of those that tell of open cells.

    Args:
        faults: what is wrong with the values; of each matrix, it tells its first open cell.
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
    if len(every) <= NAMED:
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
    """Yield the paths of the open cells of a value, in the order in which they stand."""
    if isinstance(raw, Mapping):
        for key, part in raw.items():
            yield from _open_cells(part, (*path, key))
        return
    if isinstance(raw, str):
        with suppress(InputError):  # which is told by another fault
            raw = block_rows(raw, path)
    if isinstance(raw, list | tuple):
        for index, part in enumerate(raw):
            if isinstance(part, str) and is_open(part):
                yield (*path, index)
            elif not isinstance(part, str):
                yield from _open_cells(part, (*path, index))
