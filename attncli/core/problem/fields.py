"""The keys of a problem as type checkers see them.

They cannot read tables: `python docs/types_of_keys.py` writes `fields.pyi` for them.
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    """Return `ProblemKeys`, the keys as keyword arguments; it is made when it is asked for.

    A matrix may be nested lists of numbers or of written numbers, a text block, or anything that
    NumPy can read as an array: tensors, tables of pandas, the steps of a trace. None leaves a key
    out.
    """
    if name != "ProblemKeys":
        raise AttributeError(f"module fields has no attribute {name}")
    from typing import TypedDict

    from attncli.core.problem.keys import KEYS

    types = {key: row.form.types[1] for key, row in KEYS.items()}
    keys = TypedDict("ProblemKeys", types, total=False)  # type: ignore[misc]  # from a table
    keys.__doc__ = __getattr__.__doc__
    return keys
