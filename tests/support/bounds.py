"""How far two right calculations in floats may be apart, derived from the sums that they do.

A sum of n products, in any order, with or without fused multiply-add, is within n·u·Σ|aᵢ bᵢ| of the
exact one (Higham 2002, section 3.1), to first order; u is half of ε, the distance from 1 to the
next float. OpenBLAS orders its sums differently on each kind of processor, so a smaller tolerance
that holds on one of them says nothing of the others.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import attncli

Numbers = np.ndarray[Any, Any]

SCORES = ("scores", "scaled", "capped", "biased", "masked")


def mixed(trace: attncli.Trace) -> str:
    """Return the name of the step weights · V."""
    return "context" if "context" in trace else "output"


def of_mixed(plain: attncli.Trace) -> Numbers:
    """Return how far weights · V may be from the same done in tiles, number by number.

    Each of the two ways is off by at most, with m keys and d features,

    - (d + 4)·u·|q||k| in a score, which is as much, relatively, in its e^s;
    - 2 (1 + |s − largest|)·u, relatively, in e^s, for the exponent and for exp itself;
    - m·u·Σ|weight · value| in the sum of the products, and as much again for the sum of e^s;
    - 6·u for every tile that a row is rescaled for, of which there are at most m.
    """
    values = np.abs(plain["V"].array)
    weights = plain[next(s for s in ("weights", *SCORES[::-1]) if s in plain)].array
    weights = np.abs(np.where(np.isinf(weights), 0, weights))
    values = np.repeat(values, max(weights.shape[1] // values.shape[1], 1), axis=1)
    counted = (8 * weights.shape[-1] + 12) * weights
    if "exp" in plain:
        largest = weights.max(axis=-1, keepdims=True)
        with np.errstate(all="ignore"):
            below = np.where(weights > 0, np.abs(np.log(weights / largest)), 0)
        counted = counted + (4 * below + _of_scores(plain)) * weights
    return np.asarray(np.finfo(values.dtype).eps * (counted @ values))


def _of_scores(plain: attncli.Trace) -> Numbers | float:
    """Return by how many ε the exponents of e may be apart, for scores that are dot products."""
    is_product = plain.problem.rules.score in ("dot", "scaled_dot", "general")
    if not is_product or "scores" in plain.problem.given:
        return 0.0
    q, k = (np.abs(plain[name].array) for name in "QK")
    if "W" in plain.inputs:
        q = q @ np.abs(plain.inputs["W"].array)
    products = q @ np.swapaxes(np.repeat(k, q.shape[1] // k.shape[1], axis=1), -1, -2)
    factor, how = plain.problem.rules.scale, plain.problem.rules.normalize
    scale = abs(factor.times / factor.over) if factor is not None else 1.0
    return np.asarray((q.shape[-1] + 4) * products * (scale * math.log(how.base) / how.temperature))


def share_of_bound(found: attncli.Trace, plain: attncli.Trace) -> float:
    """Return the largest distance of two outputs, as a share of what is allowed; at most 1."""
    name = mixed(plain)
    apart = np.abs(found[name].array - plain[name].array)
    allowed = np.maximum(of_mixed(plain), np.finfo(apart.dtype).tiny)
    return float((apart / allowed).max())
