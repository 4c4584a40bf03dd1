"""The catalogue of mistakes, in the order in which explanations are preferred: simple ones first.

To add a mistake: write a function with its sentence and advice in the file of its subject, before
the first one of lower preference; add a student who makes it to the tests; run
`python docs/mistakes.py`.
"""

from __future__ import annotations

from attncli.checking.mistakes import (
    of_gradients,
    of_masks,
    of_normalizers,
    of_recurrent,
    of_scores,
    of_sides,
    of_weights,
)
from attncli.checking.mistakes.mistake import Mistake

FILES = (of_scores, of_masks, of_recurrent, of_weights, of_normalizers, of_sides, of_gradients)
"""The modules of the mistakes, in the order of preference, as is the order in each module."""

MISTAKES: dict[str, Mistake] = {
    row.id: row for file in FILES for row in vars(file).values() if isinstance(row, Mistake)
}
"""Every mistake by its id."""
