"""Which files a problem or a sheet of answers may name: a file that somebody sent reads no others.

What stands on the command line is the user's own word, and not held to this.
"""

from __future__ import annotations

from pathlib import Path

from attncli.errors import InputError, fail, reason_of
from attncli.records import Record


class Folder(Record):
    """The folder of a file that names others; that of standard input is the current one.

    Attributes:
        path: the folder.
        allow_outside: whether files outside it and the folders below it may be named, too.
    """

    path: Path
    allow_outside: bool = False

    def file(self, name: str) -> Path:
        """Return the path of a file of that name.

        Raises:
            InputError: if it lies outside, also by a link, or is a device or a named pipe.
        """
        path = self.path / name
        try:
            found = path.resolve()
            is_inside = found.is_relative_to(self.path.resolve())
            is_file = not found.exists() or found.is_file() or found.is_dir()
        except (OSError, RuntimeError, ValueError) as error:  # links in a circle, a name too long
            raise unreadable(error) from None
        if not (is_inside or self.allow_outside):
            hint = "name it with -m, move it there, or allow it by --allow-outside"
            raise fail("this lies outside the folder of the file that names it", hint=hint)
        if not is_file:
            raise fail("this is a device or a named pipe, not a file", hint="name it with -m")
        return path


def unreadable(error: Exception) -> InputError:
    """Return why a file cannot be read, to be raised by the caller."""
    return fail(f"cannot be read: {reason_of(error)}")
