"""The one error type: what is wrong with an input, where, and the way out.

Code that finds a fault states a short fact about a key of the problem; code that knows the file
adds the place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TypeAlias

from attncli.core.records import Record, replace
from attncli.core.text.strings import cell_width, visible

KeyPath = tuple[str | int, ...]
"""The path of a value in a problem: ("W_k",), ("X", 0, 2) for a cell, ("mask", "keep")."""

EXCERPT_WIDTH = 76
"""Maximum number of characters of a line that an error shows."""


class Place(Record):
    """A position in a file. Lines and columns count from 1; 0 means that there is none.

    Of a workbook, `cell` says which sheet and cell it is, and no `text` is shown. Of a flag, which
    is the `file`, `key` is what it sets.
    """

    file: str
    line: int = 0
    column: int = 0
    text: str = ""
    cell: str = ""
    key: str = ""

    def __str__(self) -> str:
        """`file:line:column`, as compilers write it."""
        if self.cell:
            return f"{visible(self.file)}, {visible(self.cell)}"
        position = [n for n in (self.line, self.line and self.column) if n]
        return ":".join([visible(self.file), *map(str, position)])

    def excerpt(self) -> str:
        """The line itself with a caret under the column; a window of it when it is long."""
        if not self.line or not self.text.strip():
            return ""
        column = max(self.column, 1) - 1
        start = 0 if len(self.text) <= EXCERPT_WIDTH else max(0, column - EXCERPT_WIDTH // 2)
        window = visible(self.text[start : start + EXCERPT_WIDTH].rstrip("\r\n"))
        lead = "…" if start else ""
        before = visible(self.text[start:column])
        caret = f"\n    {' ' * (len(lead) + cell_width(before))}^" if self.column else ""
        return f"    {lead}{window}{caret}"

    def error(self, message: str, hint: str = "") -> InputError:
        """Return an error of one fault at this place, to be raised by the caller."""
        return InputError(Fault(message, hint=hint, place=self))


Locate: TypeAlias = Callable[[KeyPath], Place]
"""A function that returns the place of a value in a file."""


def nowhere(_: KeyPath) -> Place:
    """Return the place of what is in no file."""
    return Place("")


def below(locate: Locate, *start: str | int) -> Locate:
    """Return the places of what is inside the value at a path, by paths from there."""
    return lambda path: locate((*start, *path))


MAX_MESSAGE = 1000
"""Maximum length of a message, in characters; a longer one quotes too much of the input."""


class Fault(Record):
    """One thing that is wrong.

    Attributes:
        message: the fact.
        path: the key that it is about.
        hint: a way out, or nothing.
        related: another key that the fact names.
        place: the place of `path`, once the file is known.
        related_place: the place of `related`.
        needs: what a check needs to find this fault, which a JSON Schema lacks: the "sizes" of
            matrices that must fit each other, the "values" of numbers, a "text" of several parts,
            the "names" of one key, the contents of "files". "" if a schema finds the fault.
        nearest: the name that was probably meant, as the hint says; "" if it lists what there is.
    """

    message: str
    path: KeyPath = ()
    hint: str = ""
    related: KeyPath = ()
    place: Place | None = None
    related_place: Place | None = None
    needs: str = ""
    nearest: str = ""

    def __str__(self) -> str:
        """The message as a person reads it: place, fact, the line with a caret, the hint."""
        message = visible(self.message)
        if len(message) > MAX_MESSAGE:
            message = f"{message[: MAX_MESSAGE // 2]} … {message[-MAX_MESSAGE // 2 :]}"
        lines = [_with_place(self.place, message) if self.place else message]
        if self.place and (excerpt := self.place.excerpt()):
            lines.append(excerpt)
        if self.related_place and self.related_place.line:
            names = (str(name + 1 if isinstance(name, int) else name) for name in self.related)
            lines.append(f"  {'.'.join(names)} is at {self.related_place}")
        if self.hint:
            lines.append(f"  {visible(self.hint)}")
        return "\n".join(lines)


def _with_place(place: Place, message: str) -> str:
    """Return a message with its place before it; a flag takes the place of its key there."""
    if place.key and message.startswith((f"{place.key} ", f"{place.key}:")):
        return f"{place}{message[len(place.key) :]}"
    return f"{place}: {message}"


class NotThere(Fault):
    """A name of something that there is not."""


MAX_SHOWN_FAULTS = 50
"""Maximum number of faults that are looked up in the file and printed; the others are counted."""


class InputError(Exception):
    """Raised for input that cannot be used; carries every fault that was known at once."""

    __module__ = "attncli"  # its public place, which tracebacks and pickles name

    def __init__(self, *faults: Fault) -> None:
        super().__init__(*faults)
        self.faults = faults

    def __str__(self) -> str:
        """The faults, one below the other; a hint that several share is below the last of them."""
        more = len(self.faults) - MAX_SHOWN_FAULTS
        others = [f"  and {more:,} more like these"] if more > 0 else []
        shown = self.faults[:MAX_SHOWN_FAULTS]
        last = {f.hint: f for f in shown}
        texts = [str(f if last[f.hint] is f else replace(f, hint="")) for f in shown]
        return "\n".join([*texts, *others])


def fail(message: str, *path: str | int, hint: str = "", needs: str = "") -> InputError:
    return InputError(Fault(message, path, hint, needs=needs))


def not_installed(what: str, packages: str, instead: str = "") -> InputError:
    """Return the error for what needs packages that are not there, with how to install them."""
    hint = f"pip install {packages}, or with pipx: pipx inject attncli {packages}"
    return fail(f"{what}, which is not installed", hint=f"{hint}{instead and f'; or {instead}'}")


def reason_of(error: Exception) -> str:
    """Return why the system or a library raised an error, as the end of a message."""
    return (getattr(error, "strerror", None) or str(error)).lower()


@contextmanager
def collected(faults: list[Fault]) -> Iterator[None]:
    """Add the faults of an `InputError` raised inside to a list, and go on."""
    try:
        yield
    except InputError as error:
        faults.extend(error.faults)


@contextmanager
def as_damage(message: str, hint: str) -> Iterator[None]:
    """Raise this error for what a library raises for a damaged file, which is nearly anything."""
    try:
        yield
    except (InputError, MemoryError, PermissionError):
        raise
    except Exception:
        raise fail(message, hint=hint) from None


@contextmanager
def changed(change: Callable[[Fault], Fault]) -> Iterator[None]:
    """Change every fault raised inside."""
    try:
        yield
    except InputError as error:
        raise InputError(*map(change, error.faults)) from None


def needing(what: str) -> AbstractContextManager[None]:
    """Set `Fault.needs` of every fault raised inside that has none."""
    return changed(lambda fault: fault if fault.needs else replace(fault, needs=what))


def refuse(faults: list[Fault]) -> None:
    """Raise an `InputError` of all faults, each once, if there are any."""
    if faults:
        raise InputError(*{(f.message, f.path, f.hint): f for f in faults}.values())


@contextmanager
def located(locate: Locate) -> Iterator[None]:
    """Add the place to every fault that is raised inside and has none yet."""
    try:
        yield
    except InputError as error:
        shown, others = error.faults[:MAX_SHOWN_FAULTS], error.faults[MAX_SHOWN_FAULTS:]
        raise InputError(*(placed(fault, locate) for fault in shown), *others) from None


def placed(fault: Fault, locate: Locate) -> Fault:
    """Return a fault with its place, which it may have already."""
    if fault.place:
        return fault
    place = locate(fault.path)
    if not fault.path:
        place = Place(place.file)  # it is about the whole file, and not about a line
    related = locate(fault.related) if fault.related else None
    return replace(fault, place=place if place.file else None, related_place=related)
