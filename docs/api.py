"""Write `api.md`, the public names of `attncli` by their docstrings: `python docs/api.py`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType

import attncli
from attncli.core.records import Record

PAGE = Path(__file__).with_suffix(".md")

START = """# The Python interface, name by name

[python.md](python.md) shows how the names work together; here is each, with its arguments, what it
returns and what it raises, as `help(attncli.compute)` has it. The examples are tested. This page is
written by `docs/api.py` from the docstrings.
"""

FEW = 92
"""Maximum number of characters of a signature in one line."""

SECTION = re.compile(r"(Args|Attributes|Returns|Yields|Raises):\n")
"""The heading of a section of a docstring, as Google's style has them."""

MEMBER = re.compile(r"    (\*{0,2}[\w.]+): ((?:.+\n?)(?:        .+\n?)*)")
"""A line about an argument, an attribute or an error, with the lines that go on from it."""


def text() -> str:
    """Return the whole page: functions first, then classes."""
    functions = [name for name in attncli.__all__ if inspect.isfunction(getattr(attncli, name))]
    classes = [name for name in attncli.__all__ if name not in functions]
    parts = [START]
    for title, names in (("Functions", functions), ("Classes", classes)):
        parts += [f"## {title}\n", ", ".join(f"[{one}](#{one.lower()})" for one in names) + "\n"]
        parts += ["\n".join(entry(name)) for name in names]
    return "\n".join(parts)


def entry(name: str) -> Iterator[str]:
    """Yield the blocks of one name: its signature, its docstring, and its members."""
    value = getattr(attncli, name)
    yield f"### {name}\n"
    if inspect.isfunction(value) or "__init__" in vars(value):
        yield f"```python\n{signature(name, value)}\n```\n"
    yield from described(inspect.getdoc(value) or "")
    members = list(members_of(value)) if inspect.isclass(value) else []
    if members:
        yield "*Methods and properties:*\n"
        yield "".join(f"- {line}\n" for line in members)


def signature(name: str, function: FunctionType) -> str:
    """Return a call with all arguments and their types, in several lines if it is long."""
    found = inspect.signature(function)
    given = [one for one in found.parameters.values() if one.name != "self"]
    plain = [str(one).replace(f"'{one.annotation}'", one.annotation) for one in given]
    kinds = [one.kind for one in given]
    if inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        plain.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    gives = found.return_annotation
    end = "" if gives == "None" else f" -> {gives}"
    short = f"{name}({', '.join(plain)}){end}"
    lines = "".join(f"    {one},\n" for one in plain)
    return short if len(short) <= FEW else f"{name}(\n{lines}){end}"


def described(doc: str) -> Iterator[str]:
    """Yield the paragraphs of a docstring: sections as lists, examples as blocks of code."""
    for part in re.split(r"\n{2,}", doc):
        section = SECTION.match(part)
        if part.startswith(">>>"):
            yield f"```pycon\n{part}\n```\n"
        elif section and section[1] in ("Returns", "Yields"):
            yield f"*{section[1]}:* {' '.join(part[section.end() :].split())}\n"
        elif section:
            rows = MEMBER.findall(part[section.end() :])
            lines = (f"- `{key}`: {' '.join(words.split())}\n" for key, words in rows)
            yield f"*{section[1]}:*\n\n{''.join(lines)}"
        else:
            yield f"{' '.join(part.split())}\n"


def members_of(kind: type) -> Iterator[str]:
    """Yield a line for each public method and property that has a docstring."""
    own = [
        one for one in kind.__mro__ if one.__module__.startswith("attncli") and one is not Record
    ]
    members = {name: value for one in reversed(own) for name, value in vars(one).items()}
    for name, value in members.items():
        function = getattr(value, "fget", None) or getattr(value, "func", None)
        is_method = inspect.isfunction(value) or isinstance(value, classmethod)
        doc = inspect.getdoc(value) if function or is_method else ""
        if doc and not name.startswith("_"):
            call = "" if function else f"({', '.join(arguments(value))})"
            yield f"`{name}{call}`: {' '.join(doc.partition(chr(10) * 2)[0].split())}"


def arguments(method: object) -> Iterator[str]:
    """Yield the names of the arguments of a method."""
    function = getattr(method, "__func__", method)
    for one in list(inspect.signature(function).parameters.values())[1:]:
        default = ... if callable(one.default) and one.default is not one.empty else one.default
        yield str(one.replace(annotation=one.empty, default=default)).replace("Ellipsis", "…")


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
