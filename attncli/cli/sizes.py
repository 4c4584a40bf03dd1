"""How large output will be, told before it is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attncli.arithmetic.memory import of_bytes
from attncli.cli.progress import tell
from attncli.errors import fail

if TYPE_CHECKING:
    from attncli.rendering.selection import Selection

LARGE_TEXT = 100e6
"""From so many bytes on, text that nobody asked for is told of."""

MOST_HELD = 2**25
"""So many numbers of steps, 256 MiB of them, are kept where nobody asked for all."""

SIGNS = 23
"""What a number takes in a file with every digit, with what parts it from the next."""

PLACE_SIGNS = 35
"""What tells the place of a number in a row of its own."""


class Foretold:
    """Tells how large the steps will be in a format; they are refused where they are not kept."""

    def __init__(self, format_: str, selection: Selection) -> None:
        self._format = format_
        signs = SIGNS if selection.decimals is None else selection.decimals + 4
        self._signs = signs + (PLACE_SIGNS if format_ == "tidy" else 0)

    def __call__(self, count: int) -> None:
        """Tell of so many numbers, if they are much text.

        Raises:
            InputError: for more of them than are kept.
        """
        size = count * self._signs
        if size <= LARGE_TEXT:
            return
        message = f"all steps are about {of_bytes(size)} of {self._format}"
        hint = f"--only STEP writes some of them; -o FILE.npz holds all in {of_bytes(count * 8)}"
        if count > MOST_HELD:
            message += ", more than is calculated unasked"
            raise fail(message, hint=f"{hint}; -o FILE writes them all the same")
        tell(f"warning: {message}; {hint}")
