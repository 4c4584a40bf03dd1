"""The keys of a problem as type checkers see them.

They cannot read tables. `python docs/types_of_keys.py` writes `fields.pyi` for them from `KEYS`.
"""

from __future__ import annotations

from typing import TypedDict

from attncli.core.problem.keys import KEYS


class ProblemFields:
    """The values of a problem's keys, as attributes."""


ProblemKeys = TypedDict(  # type checkers read the stub
    "ProblemKeys", {key: row.form.types[1] for key, row in KEYS.items()}, total=False
)
ProblemKeys.__doc__ = """The keys of a problem as keyword arguments; `KEYS` gives their meanings.

A matrix may be nested lists of numbers or of written numbers, a text block, or anything that
NumPy can read as an array: tensors, tables of pandas, the steps of a trace. None leaves a key out.
"""
