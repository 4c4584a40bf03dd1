"""Conventions of what depends on the places of tokens: a cache, positions, and biases of scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import floor, log2
from typing import Any, TypeAlias

import numpy as np

from attncli.checking.mistakes import lines_of_numpy, of_choices, of_masks, of_positions
from attncli.checking.mistakes.convention import Convention, Keys, Search
from attncli.core.arithmetic.elements import Array
from attncli.core.attention.angles import Waves
from attncli.core.attention.masks import Mask, Masked
from attncli.core.attention.position_operations import (
    Angles,
    Frequencies,
    OfAngles,
    Rotated,
    Sinusoids,
    slopes_of,
)
from attncli.core.attention.scores import MergeHeads, SplitHeads
from attncli.core.attention.weights import ADJUSTED
from attncli.core.calculation.mistake import Changes, Ways, made_by, made_of, mistake, wrong
from attncli.core.calculation.trace import Trace
from attncli.core.problem.problem import Problem
from attncli.core.records import replace
from attncli.core.tape.evaluation import array_of, transform
from attncli.core.tape.operations import Below, Scale
from attncli.core.tape.step import Expression, Step

Turning: TypeAlias = Angles | Frequencies | Sinusoids | Rotated
"""The operations that have waves."""

# ---- a cache


def _without_the_first(array: Array, count: int) -> Array:
    """Return an array without some of the first keys, unless it is one number for all keys."""
    return array if array.shape[-1] == 1 else array[..., count:]


def _without_cache(problem: Problem) -> Iterator[Keys]:
    """Yield the problem of the new tokens alone, whose positions may still count the cache."""
    if not problem.past:
        return
    earlier, keys = problem.sizes["p"], dict[str, object](past=None)
    if mask := dict(problem.mask):
        for name in mask.keys() & {"keep", "block"}:
            mask[name] = _without_the_first(mask[name], earlier)
        if "lengths" in mask:
            mask["lengths"] = np.maximum(mask["lengths"] - earlier, 0)
        if "offset" in mask:
            mask["offset"] -= earlier
        keys["mask"] = mask
    if isinstance(problem.bias, np.ndarray):
        keys["bias"] = _without_the_first(problem.bias, earlier)
    yield keys
    if "rope" in problem.positions:
        rope = {"start": earlier, **problem.positions["rope"]}
        yield {**keys, "positions": {**problem.positions, "rope": rope}}


def _newest_alone(step: Step, trace: Trace) -> Ways:
    """Let each token see its own key and value alone, where tokens come one by one."""
    below = made_by(Below, step)
    if below and step.stem in ("K", "V"):
        yield {step.name: below.parts[-1]}, {}


def _sees_the_first(count: Callable[[int], int]) -> Search:
    """Return the search of a mask that shows so many of the first keys to the token of a time."""

    def masked(step: Step, trace: Trace) -> Ways:
        names = [f"{name}{step.suffix}" for name in ("scores", *ADJUSTED)]
        is_last = step.name in [name for name in names if name in trace][-1:]
        if is_last and len(step.trailing) == 1 and f"K{step.suffix}" in trace:
            keep = np.arange(step.array.shape[-1]) < count(int(step.suffix.lstrip("_")))
            mask = wrong(lambda _: keep.astype(float)[None, None, None], made_of(step))
            yield {step.name: Masked(made_of(step), mask)}, {}

    return masked


def _one_token_sees_the_first(step: Step, trace: Trace) -> Ways:
    """Show the first key alone to one new token, whose mask blocks nothing."""
    names = [name for name in ("scores", *ADJUSTED) if name in trace]
    if [step.name] == names[-1:] and "K_all" in trace and step.array.shape[-2] == 1:
        mask = wrong(lambda _: np.eye(1, step.array.shape[-1])[None, None], made_of(step))
        yield {step.name: Masked(made_of(step), mask)}, {}


def _turned(rows: Expression, like: Rotated, waves: Waves) -> Rotated:
    angles = Angles(rows, waves)
    cos, sin = (OfAngles(angles, name, waves) for name in ("cos", "sin"))
    return replace(like, operand=rows, cos=cos, sin=sin, waves=waves)


def _cache_turned(of_old: Callable[[Expression], Expression]) -> Search:
    """Return the search of keys that are turned again when they are read from the cache.

    `of_old` takes the right keys of the cache, and returns those that are turned again.
    """

    def turned(step: Step, trace: Trace) -> Ways:
        below = made_by(Below, step)
        rotated = made_by(Rotated, below.parts[-1]) if below else None
        if below and rotated:
            old, new = below.parts
            start = max(rotated.waves.start - array_of(old).shape[-2], 0)
            waves = replace(rotated.waves, start=start, ids=())
            yield {step.name: Below((_turned(of_old(old), rotated, waves), new))}, {}

    return turned


def _as_stored(old: Expression) -> Expression:
    return wrong(lambda _: array_of(old), old)


def causal(other: Callable[[Mask, Mask], Mask]) -> Search:
    """Return the search of another causal mask.

    It is made of the mask as it is written, and of the one that is placed behind a cache.
    """

    def masked(step: Step, trace: Trace) -> Ways:
        mask = trace.problem.rules.mask
        written = {key: value for key, value in mask.items() if key in trace.problem.mask}
        if mask.get("causal"):
            for one in of_masks.masked_by(other(written, mask), step):
                yield {step.name: one}, {}

    return masked


def _top_left(_: Mask, placed: Mask) -> Mask:
    return {**placed, "align": "top-left", "offset": 0}


# ---- rotations


def _before_heads(step: Step, trace: Trace) -> Ways:
    """Turn the features of all heads by one row of angles, from the first head to the last."""
    rotated = made_by(Rotated, step)
    heads = array_of(rotated.operand).shape[1] if rotated else 1
    if rotated and heads > 1:
        waves = replace(rotated.waves, size=heads * rotated.waves.size)
        whole = _turned(MergeHeads(rotated.operand), rotated, waves)
        yield {step.name: SplitHeads(whole, heads)}, {}


def _with_waves(field: str, other: Callable[[Any, Step, Trace], Any]) -> Search:
    """Return the search of another value of a field of all waves; `other` takes the right one."""

    def changed(step: Step, trace: Trace) -> Changes:
        def others(right: Any) -> list[Any]:
            return [other(right, step, trace)]

        return of_positions.with_waves(step, trace, Turning, field, others)

    return mistake("", "")(changed).changes


def _base(base: float) -> Callable[[Any, Step, Trace], float]:
    return lambda right, step, trace: base


def _cached(trace: Trace) -> int:
    return trace.problem.sizes.size("p") or 0


def _where_all_stand(first: Callable[[Trace], int]) -> Callable[[int, Step, Trace], int]:
    """Return the one position of all tokens, if they come one by one; else that of the first."""
    return lambda right, step, trace: first(trace) if len(step.trailing) == 1 else right


# ---- biases


def _slopes(*others: Callable[[int], list[float]]) -> Callable[[Problem], Iterator[Keys]]:
    """Return what yields the problem with other slopes of ALiBi, for its number of heads."""

    def keys(problem: Problem) -> Iterator[Keys]:
        if "alibi" in problem.positions and "slopes" not in problem.positions:
            for other in others:
                slopes = np.array(other(problem.heads))
                yield {"positions": {**problem.positions, "slopes": slopes}}

    return keys


def _one_series(heads: int) -> list[float]:
    return [2.0 ** (-8 * h / heads) for h in range(1, heads + 1)]


def _from_exponent_0(heads: int) -> list[float]:
    """Return the published slopes, and those between them, with exponents from 0."""
    published, power = slopes_of(heads), 2 ** floor(log2(heads))
    between = [slope * 2 ** (4 / power) for slope in published[power:]]
    return [*(slope * 2 ** (8 / power) for slope in published[:power]), *between]


def _before_scaling(step: Step, trace: Trace) -> Ways:
    scaled = trace.steps.get(step.name.replace("biased", "scaled"))
    scale = made_by(Scale, scaled) if scaled and step.stem == "biased" else None
    if scaled and scale:
        biased = transform(made_of(step), lambda x: scale.operand if x is scaled else x)
        if biased is not step.operation:
            yield {scaled.name: replace(scale, operand=biased), step.name: scaled}, {}


OF_PLACES: dict[str, Convention] = {
    "causal_top_left": Convention(
        "The causal mask is aligned at the top left: the first query sees the first key alone.",
        "Align it at the bottom right, as new tokens see those of the cache, too: SDPA's is_causal "
        "does not.",
        (
            causal(_top_left),
            _one_token_sees_the_first,
            _sees_the_first(lambda t: 1),
            _sees_the_first(lambda t: t),
        ),
    ),
    "cache_dropped": Convention(
        "The keys and values of the cache were not used: only the new ones were.",
        "Put the cache before them: concatenate (past.K, K) and (past.V, V) along the tokens.",
        (_newest_alone,),
        keys=_without_cache,
    ),
    "cache_turned_again": Convention(
        "The keys of the cache, which are turned already, were turned by RoPE once more.",
        "Turn only the new keys, then put them below those of the cache.",
        (_cache_turned(lambda old: old), _cache_turned(_as_stored)),
    ),
    "cache_upside_down": Convention(
        "The new keys and values were put before those of the cache.",
        "Put them after it: concatenate (cache, new), not (new, cache).",
        (of_choices.cache_upside_down.changes,),
    ),
    "rope_before_heads": Convention(
        "RoPE turned all features by one row of angles, before they were cut into heads.",
        "Cut them into {heads} heads first: the angles are t / base^(2j/{d_k}) in each of them.",
        (_before_heads,),
    ),
    "other_pairs": Convention(
        "The pairs of features were {pairs}, not {right_pairs}.",
        "Pair {right_pairs}, or write pairs: {pairs} in positions.",
        (of_positions.other_pairs.changes,),
        line=lines_of_numpy.pairs_as_in_the_problem,
    ),
    "angle_negative": Convention(
        "RoPE turned the pairs the other way.",
        "Calculate x cos θ − y sin θ and x sin θ + y cos θ: rotate_half has the minus in front.",
        (of_positions.angle_negative.changes,),
    ),
    "sine_and_cosine_exchanged": Convention(
        "Sines and cosines were exchanged.",
        "Calculate x cos θ − y sin θ and x sin θ + y cos θ: at position 0 nothing is turned.",
        (of_positions.sine_and_cosine_exchanged.changes,),
    ),
    "another_base": Convention(
        "The base of the angles was {base}, not {right_base}.",
        "Take {right_base}, or write base: {base} in positions (rope_theta in a config.json).",
        tuple(_with_waves("base", _base(base)) for base in of_positions.BASES),
    ),
    "positions_from_another_start": Convention(
        "The positions were counted from another number.",
        "New tokens go on from the number of keys in the cache; without one, count from 0.",
        (
            _with_waves("start", lambda right, step, trace: right - _cached(trace)),
            _with_waves("start", lambda right, step, trace: right + 1),
        ),
    ),
    "positions_stand_still": Convention(
        "Every token was turned by the same position.",
        "Add 1 for each token: the position is the number of keys in the cache.",
        (
            _with_waves("start", _where_all_stand(_cached)),
            _with_waves("start", _where_all_stand(lambda trace: 0)),
        ),
    ),
    "alibi_one_series": Convention(
        "The slopes of ALiBi were one geometric series, though heads is no power of two.",
        "Take those of the power of two below it, then every other one of the next series.",
        keys=_slopes(_one_series),
    ),
    "alibi_from_exponent_0": Convention(
        "The slopes of ALiBi start at 2^0 = 1: their exponents were counted from 0.",
        "Count them from 1: the first of 8 slopes is 2^−1.",
        keys=_slopes(lambda heads: [1.0, *_one_series(heads)[:-1]], _from_exponent_0),
    ),
    "bias_before_scaling": Convention(
        "The bias was added before the scores were scaled, so it was divided, too.",
        "Scale the scores first: Q Kᵀ / √d_k + bias.",
        (_before_scaling,),
    ),
}
