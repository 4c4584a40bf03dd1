"""The catalogue of mistakes; docs/extending.md shows how to add one."""

from __future__ import annotations

from attncli.checking.mistakes import (
    of_blocks,
    of_caches,
    of_gradients,
    of_masks,
    of_normalizers,
    of_positions,
    of_recurrent,
    of_scores,
    of_sides,
    of_weights,
)
from attncli.checking.mistakes.mistake import Mistake

FILES = (
    *(of_scores, of_positions, of_masks, of_recurrent, of_weights, of_normalizers, of_sides),
    *(of_caches, of_blocks, of_gradients),
)
"""The modules of the mistakes, simple ones first: explanations are preferred in this order."""

MISTAKES: dict[str, Mistake] = {
    row.id: row for file in FILES for row in vars(file).values() if isinstance(row, Mistake)
}
"""Every mistake by its id."""
