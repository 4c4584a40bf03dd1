"""Output to more than one file: a folder, or names made by a pattern."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Literal

from attncli.errors import InputError, fail
from attncli.text.escapes import visible
from attncli.text.filenames import alike, safe
from attncli.text.suggestions import did_you_mean

if TYPE_CHECKING:
    from attncli.rendering.formats import Kind

PATTERN_FIELDS: Mapping[Kind | Literal["variants"], tuple[str, ...]] = {
    "traces": ("title", "number"),
    "worksheets": ("title", "number"),
    "reports": ("student", "title", "number"),
    "variants": ("number", "student", "title"),
}
"""The fields of a pattern; the first is the name of the files of a folder."""

NUMBER_WIDTH = re.compile(r"\d{0,3}")
TEXT_WIDTH = re.compile(r"\d{0,3}(\.\d{1,3})?")
"""What may follow the colon of a field: a width, and for texts the maximum of characters."""


def is_folder(out: str) -> bool:
    """Return whether output goes to a folder: one that exists, or a name that ends in a slash."""
    return out.endswith("/") or Path(out).is_dir()


def is_many(out: str) -> bool:
    """Return whether output goes to one file per problem, or per student."""
    return is_folder(out) or "{" in out or "}" in out


class Targets:
    """The files of a folder or a pattern, one for each problem or student.

    Args:
        out: a folder, or a pattern such as `pages/{title}.html`.
        kind: what is written.
        suffix: the suffix of the files of a folder.
        name: the pattern of the files of a folder; by default their first field.

    Raises:
        InputError: for an unknown field, or a bracket that is not closed.
    """

    def __init__(
        self, out: str, kind: Kind | Literal["variants"], suffix: str, name: str = ""
    ) -> None:
        self._fields = PATTERN_FIELDS[kind]
        if is_folder(out):
            folder = out.replace("{", "{{").replace("}", "}}") if Path(out).is_dir() else out
            folder = folder if folder.endswith("/") else f"{folder or '.'}/"
            out = f"{folder}{name or f'{{{self._fields[0]}}}'}{suffix}"
        self._pattern = out
        self._owners: dict[str, str] = {}
        try:
            parts = list(Formatter().parse(out))
        except ValueError:
            raise self._error("has a bracket that is not closed") from None
        for _, field, width, conversion in parts:
            if field is not None and field not in self._fields:
                message = f"there is no {{{visible(field)}}} for the name of a file"
                raise fail(message, hint=self._hint(field))
            allowed = NUMBER_WIDTH if field == "number" else TEXT_WIDTH
            if conversion or not allowed.fullmatch(width or ""):
                raise self._error("may have a width behind a field, as in {number:03}, no more")

    def path(self, number: int, values: Mapping[str, str]) -> Path:
        """Return the file of the next problem or student.

        Raises:
            InputError: if the file of an earlier one has this name.
        """
        texts = {field: safe(value or f"problem {number}") for field, value in values.items()}
        path = Path(self._pattern.format(number=number, **texts))
        field = next(filter(values.get, values), next(iter(values)))
        owner = f"number {number}{f', {visible(values[field])}' if values[field] else ''}"
        other = self._owners.setdefault(alike(str(path)), owner)
        if other is not owner:
            message = f"{visible(str(path))} is the file of {other}, and would be that of {owner}"
            name = f"{{number}}-{{{field}}}{path.suffix}"
            raise fail(message, hint=f"tell them apart by {{number}}, as in '{name}'")
        return path

    def _error(self, reason: str) -> InputError:
        return fail(f"the pattern {visible(self._pattern)} {reason}", hint=self._hint(""))

    def _hint(self, field: str) -> str:
        known = ", ".join(f"{{{name}}}" for name in self._fields)
        near = did_you_mean(field, self._fields) if field else ""
        return near if near.startswith("did") else f"there is {known}; write {{{{ for a bracket"
