"""The catalogue of mistakes; docs/extending.md shows how to add one."""

from __future__ import annotations

from attncli.checking.mistakes import of_choices, of_masks, of_positions, of_scores, of_weights
from attncli.core.calculation.mistake import Mistake
from attncli.core.declare import WHEN_ADDED, Declared, declared
from attncli.core.records import replace

FILES = (
    *map(vars, (of_scores, of_positions, of_masks)),
    *(one.mistakes() for one in declared().values()),
    *map(vars, (of_weights, of_choices)),
)
"""The names in the modules of mistakes, simple ones first: this order prefers explanations."""

MISTAKES: dict[str, Mistake] = {
    id_: replace(row, id=id_)
    for names in FILES
    for id_, row in names.items()
    if isinstance(row, Mistake) and not id_.startswith("_")
}
"""Every mistake by its id, the name by which its module knows it."""


@WHEN_ADDED.append
def _add(one: Declared) -> None:
    rows = (row for row in one.mistakes().values() if isinstance(row, Mistake))
    MISTAKES.update({row.id: row for row in rows})
