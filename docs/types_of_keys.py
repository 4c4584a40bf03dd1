"""Write the types of a problem's keys, for type checkers: `python docs/types_of_keys.py`."""

from __future__ import annotations

from pathlib import Path

from attncli.core.problem import fields
from attncli.core.problem.keys import KEYS

STUB = Path(fields.__file__).with_suffix(".pyi")

HEAD = '''"""Written by `python docs/types_of_keys.py`, from the declarations of the keys."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias, TypedDict

from numpy.typing import ArrayLike

from attncli.core.arithmetic.elements import Array
from attncli.core.formulas.tree import Formula
from attncli.core.problem.marking import Marking
from attncli.core.problem.tour import Stop

NumberLike: TypeAlias = str | float | Fraction | Decimal | None
MatrixLike: TypeAlias = ArrayLike | Sequence[object] | NumberLike
Words: TypeAlias = str | Sequence[str] | None
NameLike: TypeAlias = str | Mapping[str, object] | None
'''


def stub() -> str:
    """Return the types of all keys: of their values, and of what may be written."""
    lines = [HEAD, "class ProblemFields:"]
    for key, row in KEYS.items():
        value, _ = row.form.types
        is_optional = row.default is None and not row.follows and value != "Any"
        lines.append(f"    {key}: {value}{' | None' if is_optional else ''}")
    lines += ["", "class ProblemKeys(TypedDict, total=False):"]
    lines += [f"    {key}: {row.form.types[1]}" for key, row in KEYS.items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    STUB.write_text(stub())
