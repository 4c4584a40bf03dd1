"""Problems that a program may have calculated, by the arrays of a layer that it saved."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import product
from typing import Any, TypeAlias

from attncli.checking.matched_arrays import Dump
from attncli.core.arithmetic.elements import Array
from attncli.core.errors import InputError
from attncli.core.problem.problem import Problem
from attncli.core.tape.step_words import HEADS_AFTER_TOKENS
from attncli.reading.dumps import DumpedArray

OF_PROJECTIONS = {"X", "W_q", "W_k"}
"""The inputs of a layer by which queries and keys are known."""

OF_HEADS = {"Q", "K", "V", "mask", "bias", "W_o", "b_o"}
"""The inputs of a layer that are used where its projections are not known."""

TURNED = {"Q_normed": "Q", "K_normed": "K", "Q_rotated": "Q", "K_rotated": "K"}
"""Steps in whose place scores would be made of queries and keys."""

Positions: TypeAlias = Sequence[dict[str, str] | None]

POSITIONS: Positions = (
    None,
    {"name": "rope", "pairs": "halves"},
    {"name": "rope", "pairs": "neighbours"},
)
"""The positions with which the reference may have calculated."""


def inputs_of(
    keys: Mapping[str, Array], known: Mapping[str, str], reference: Dump
) -> Iterator[tuple[dict[str, Array], Collection[str], Positions]]:
    """Yield what a layer may be calculated from, steps that it then has not, and positions.

    These are tokens and weights, or queries and keys, or those that are turned already. `keys` has
    arrays by their keys, and `known` the names of arrays in the reference by what they mean.
    """
    if keys.keys() >= OF_PROJECTIONS:
        made_of_them = {"Q", "K", "V", "scores"}
        yield {key: one for key, one in keys.items() if key not in made_of_them}, (), POSITIONS
    turned = {
        TURNED[step]: heads_first(known[step], reference[known[step]].numbers)
        for step in TURNED
        if step in known
    }
    weights = reference.get(known.get("weights", ""))
    for more, left_out, positions in (({}, (), POSITIONS), (turned, TURNED, (None,))):
        given = {key: one for key, one in {**keys, **more}.items() if key in OF_HEADS}
        if given.keys() >= {"Q", "K"} and (more or not left_out):
            yield given | _cut(given, weights), left_out, positions


def heads_first(name: str, array: Array) -> Array:
    """Return an array with heads before tokens; its name tells whether they come after them."""
    is_after = array.ndim > 2 and HEADS_AFTER_TOKENS.fullmatch(name)
    return array.swapaxes(-2, -3) if is_after else array


def _cut(keys: Mapping[str, Array], weights: DumpedArray | None) -> dict[str, Array]:
    """Return queries, keys and values in heads, where those are side by side beside a batch."""
    if weights is None or weights.numbers.ndim != 4 or keys["Q"].ndim != 3:
        return {}
    heads = weights.numbers.shape[1]
    width = max(keys["Q"].shape[-1] // heads, 1)
    groups = max(keys["K"].shape[-1] // width, 1)
    counts = {"Q": heads, "K": groups, "V": groups}
    return {
        key: keys[key].reshape(*keys[key].shape[:-1], count, -1).swapaxes(1, 2)
        for key, count in counts.items()
        if key in keys and keys[key].ndim == 3 and keys[key].shape[-1] % count == 0
    }


def problems_of(
    keys: Mapping[str, Array], head_counts: Mapping[str, int], positions: Positions
) -> Iterator[Problem]:
    """Yield problems with some inputs that a program may have calculated, the usual ones first."""
    given: dict[str, Any] = dict(keys)
    heads = next(iter(head_counts.values()), 1)
    if "Q" in keys:
        given = {"V": keys["K"], **given}  # if V is left out, weights are compared alone
    else:
        given["kv_heads"] = head_counts.get("K")
    if "Q" not in keys or ("W_o" in keys and heads > 1):
        given["heads"] = heads
    masks = ["causal", None] if "mask" not in keys else [keys["mask"]]
    layouts_of_weights = ("in_out",) if "Q" in keys else ("in_out", "out_in")
    for place, stored, mask, scale in product(positions, layouts_of_weights, masks, (None, 1)):
        given |= {"positions": place, "weights_as": stored, "mask": mask, "scale": scale}
        with suppress(InputError):
            yield Problem(**{key: one for key, one in given.items() if one is not None})
