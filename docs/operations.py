"""Write `operations.md`, the list of all operations: `python docs/operations.py`."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from pathlib import Path

import attncli
from attncli.core.tape.step import Operation

METHODS = ("attncli.core", "attncli.mechanisms")
"""The wings whose operations are those of methods."""

PAGE = Path(__file__).with_suffix(".md")

START = """# The operations

What the lines of a method are made of, and where each operation is, below `attncli/`. The axes are
those of the operands and of the result, as `Operation.shape` has them; without them, they are those
of the first operand. Ranges follow from `apply` where an operation has no `bounds` of its own; what
only a backward pass needs has no derivative. [How to add one](extending.md#an-operation) is shown
with an example. This page is written by `docs/operations.py`.

| operation | what it gives | axes | has its own |
|---|---|---|---|
"""


OWN = ("bounds", "derivative")
"""Methods of which the page says whether an operation has its own."""


def operations() -> list[type[Operation]]:
    """Return the operations of methods, not those of judging and pages, in the order of modules."""
    for module in pkgutil.walk_packages(attncli.__path__, "attncli."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    found = (one for one in below(Operation) if one.__module__.startswith(METHODS))
    found = (one for one in found if not one.__module__.endswith((".mistake", ".mistakes")))
    return sorted(found, key=lambda one: (one.__module__, inspect.getsourcelines(one)[1]))


def below(base: type[Operation]) -> set[type[Operation]]:
    """Return the classes below one, but for those from which others only take something."""
    found = {one for kind in base.__subclasses__() for one in below(kind)}
    is_base = base.apply is Operation.apply or base.__name__ == "Loss"
    return found if is_base else found | {base}


def row(one: type[Operation]) -> str:
    """Return the line of the table for an operation."""
    what = (one.__doc__ or "").partition("\n")[0].replace("|", "\\|")
    axes = f"`{one.shape}`" if isinstance(one.shape, str) and one.shape else ""
    own = [name for name in OWN if getattr(one, name) is not getattr(Operation, name)]
    return f"| `{one.__name__}` | {what} | {axes} | {', '.join(own)} |\n"


def text() -> str:
    """Return the page: a line for each module, and below it those of its operations."""
    modules: dict[str, list[str]] = {}
    for one in operations():
        path = one.__module__.removeprefix("attncli.").replace(".", "/")
        modules.setdefault(path, []).append(row(one))
    blocks = (f"| **`{path}.py`** | | | |\n{''.join(rows)}" for path, rows in modules.items())
    return START + "".join(blocks)


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
