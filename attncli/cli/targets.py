"""Where output goes that is more than one file: a folder, or names made by a pattern."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Any, Literal

from attncli.errors import InputError, fail
from attncli.text.escapes import visible
from attncli.text.filenames import alike, safe
from attncli.text.suggestions import did_you_mean

if TYPE_CHECKING:
    from attncli.rendering.formats import Kind

FIELDS: Mapping[Kind | Literal["variants"], tuple[str, ...]] = {
    "traces": ("title", "number"),
    "worksheets": ("title", "number"),
    "reports": ("student", "title", "number"),
    "variants": ("number", "student", "title"),
}
"""What a pattern may hold; the first names the files of a folder."""

SPEC = re.compile(r"\d{0,3}(\.\d{1,3})?")
"""What may stand behind a colon: a width, or the most characters."""


def is_folder(out: str) -> bool:
    """Whether output goes to a folder: one that is there, or a name that ends in a slash."""
    return out.endswith("/") or Path(out).is_dir()


def is_many(out: str) -> bool:
    """Whether output goes to a file a problem, or a student."""
    return is_folder(out) or "{" in out or "}" in out


class Targets:
    """The files of a folder or a pattern, one for each problem or student.

    Args:
        out: a folder, or a pattern such as `pages/{title}.html`.
        kind: what is written.
        suffix: what the names of files in a folder end with.
        name: what a file in a folder is called, as a pattern; by default by the first field.

    Raises:
        InputError: for a field that there is not, or brackets that are not closed.
    """

    def __init__(
        self, out: str, kind: Kind | Literal["variants"], suffix: str, name: str = ""
    ) -> None:
        if is_folder(out):
            folder = out.replace("{", "{{").replace("}", "}}") if Path(out).is_dir() else out
            folder = folder if folder.endswith("/") else f"{folder or '.'}/"
            out = f"{folder}{name or f'{{{FIELDS[kind][0]}}}'}{suffix}"
        self._pattern = out
        self._fields = FIELDS[kind]
        self._taken: dict[str, str] = {}
        try:
            self._parts = list(Formatter().parse(out))
        except ValueError:
            raise self._unclear("has a bracket that is not closed") from None
        for _, field, spec, conversion in self._parts:
            if field is not None and field not in self._fields:
                message = f"there is no {{{visible(field)}}} for the name of a file"
                raise fail(message, hint=self._hint(field))
            if conversion or not SPEC.fullmatch(spec or ""):
                raise self._unclear("may have a width behind a field, as in {number:03}, no more")

    def path(self, number: int, values: Mapping[str, str]) -> Path:
        """Return the file of the next problem or student.

        Raises:
            InputError: if the file of an earlier one has this name.
        """
        field = next(filter(values.get, values), next(iter(values)))
        own = values[field]
        named = f"number {number}{f', {visible(own)}' if own else ''}"
        found = Path("".join(self._texts(number, values)))
        if (known := self._taken.setdefault(alike(str(found)), named)) is not named:
            message = f"{visible(str(found))} is the file of {known}, and would be that of {named}"
            name = f"{{number}}-{{{field}}}{found.suffix}"
            raise fail(message, hint=f"tell them apart by {{number}}, as in '{name}'")
        return found

    def _texts(self, number: int, values: Mapping[str, str]) -> list[str]:
        texts: list[str] = []
        for literal, field, spec, _ in self._parts:
            value: Any = number
            if field not in (None, "number"):
                value = safe(values[str(field)] or f"problem {number}")
            texts += [literal, "" if field is None else format(value, spec or "")]
        return texts

    def _unclear(self, why: str) -> InputError:
        return fail(f"the pattern {visible(self._pattern)} {why}", hint=self._hint(""))

    def _hint(self, field: str) -> str:
        known = ", ".join(f"{{{name}}}" for name in self._fields)
        near = did_you_mean(field, self._fields) if field else ""
        return near if near.startswith("did") else f"there is {known}; write {{{{ for a bracket"
