"""The size of the text of all steps, estimated before they are calculated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attncli.arithmetic.memory import of_bytes
from attncli.cli.progress import tell
from attncli.errors import fail, located

if TYPE_CHECKING:
    from attncli.problem.problem import Problem
    from attncli.rendering.selection import Selection

LARGE_TEXT = 100e6
"""Size in bytes from which text that was not asked for by name or file is warned of."""

MAX_KEPT = 2**25
"""Maximum number of numbers, 256 MiB, that are calculated where only the terminal shows them."""

CHARACTERS = 23
"""Length of a number with every digit in a file, with what separates it from the next."""

PLACE_CHARACTERS = 35
"""Length of the columns that name the place of a number in tidy data."""


def warn_of_size(problem: Problem, format_: str, selection: Selection) -> None:
    """Warn on standard error if all steps of a problem are much text.

    Raises:
        InputError: if they have more numbers than are kept.
    """
    characters = CHARACTERS if selection.decimals is None else selection.decimals + 4
    characters += PLACE_CHARACTERS if format_ == "tidy" else 0
    count = numbers_of_steps(problem)
    if count * characters <= LARGE_TEXT:
        return
    message = f"all steps are about {of_bytes(count * characters)} of {format_}"
    hint = f"--only STEP writes some of them; -o FILE.npz holds all in {of_bytes(count * 8)}"
    if count > MAX_KEPT:
        message += ", more than is calculated unasked"
        with located(problem.source):
            raise fail(message, hint=f"{hint}; -o FILE writes them all the same")
    tell(f"warning: {message}; {hint}")


def numbers_of_steps(problem: Problem) -> int:
    """Return about how many numbers the steps up to the weights have."""
    from attncli.attention.weights import steps_of_scores

    sizes = problem.sizes
    n, m, batch = (sizes.size(letter) or 1 for letter in ("n", "m", "batch"))
    widths = ("heads*d_q", "kv_heads*d_k", "kv_heads*d_v", "hidden")
    q, k, v, hidden = (sizes.size(letter) or 0 for letter in widths)
    of_each_pair = steps_of_scores(problem.rules) + hidden
    return batch * (n * q + m * (k + v) + problem.heads * n * m * of_each_pair)
