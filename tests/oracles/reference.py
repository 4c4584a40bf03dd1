"""A problem of any kind in 50 digits, with its batch, and a trace beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.oracles.arithmetic import BLOCKED, EXACT, Hand, Keys, Matrix, Number, Vector, mp
from tests.oracles.attention import attention, read
from tests.oracles.delta import delta
from tests.oracles.latent import latent
from tests.oracles.lists import depth, each, is_list, transposed
from tests.oracles.networks import co_attention, encoder_decoder, pooling, recurrent
from tests.oracles.transformer import transformer
from tests.oracles.weights import over_sums

__all__ = ["BLOCKED", "check", "depth", "mp", "read", "solve"]

KINDS: dict[str, Callable[[Hand, Keys], Matrix]] = {
    **dict.fromkeys(("self", "cross", "decode"), attention),
    "co_attention": co_attention,
    "delta": delta,
    "encoder_decoder": encoder_decoder,
    "latent": latent,
    "pooling": pooling,
    "recurrent": recurrent,
    "transformer": transformer,
}

dot, transpose, tanh = EXACT.dot, transposed, EXACT.tanh
product = Hand().product


def exact(given: Any) -> Any:
    """Return nested lists of exact numbers."""
    return each(EXACT.number, given)


def floats(nested: Any) -> Any:
    """Return an array of the doubles nearest to nested lists of exact numbers."""
    return np.array(each(float, nested))


def softmax(row: Vector, temperature: Number, base: Number = None) -> Vector:
    """base^(s/T) / Σ base^(s/T), e where there is no base."""
    largest, base = max(row), mp.e if base is None else base
    powers = [mp.mpf(0) if s == BLOCKED else base ** ((s - largest) / temperature) for s in row]
    return over_sums([[powers]], [[[mp.fsum(powers)]]])[0][0]


def worked_by(hand: Hand, keys: Keys) -> Matrix:
    """Let a hand write every step of a problem without a batch, and return what comes out."""
    return KINDS[keys.get("kind", "self")](hand, keys)


IN_BATCH = ("X", "memory")
OF_HEADS = ("Q", "K", "V", "scores", "bias", "alpha", "beta", "S_0")
"""Keys with a matrix per batch element, and those that may have one per head, too."""


def is_batch(keys: Keys, name: str, given: Any) -> bool:
    axes = depth(given)
    return axes == 4 or (axes == 3 and (name in IN_BATCH or keys.get("heads", 1) == 1))


def with_batch(keys: Keys) -> dict[str, Any]:
    """Return what there is one of for each batch element, by its key; in a mask as `mask.keep`."""
    mask = read(keys)["mask"]
    known = {name: keys[name] for name in (*IN_BATCH, *OF_HEADS) if name in keys}
    known |= {f"mask.{name}": mask[name] for name in ("keep", "block") if name in mask}
    found = {name: given for name, given in known.items() if is_batch(keys, name, given)}
    return found | ({"mask.lengths": mask["lengths"]} if is_list(mask.get("lengths")) else {})


def batches(keys: Keys) -> int:
    """Return how many batch elements there are."""
    several = {len(part) for name, part in with_batch(keys).items() if name != "mask.lengths"}
    return max(several, default=1)


def element(keys: Keys, b: int) -> Keys:
    """Return a problem of one batch element; a single one is that of all."""
    new = keys | {"mask": dict(read(keys)["mask"])} if "mask" in keys else dict(keys)
    for name, several in with_batch(keys).items():
        head, _, part = name.rpartition(".")
        (new[head] if head else new)[part] = several[b % len(several)]
    return new


def solve(**keys: Any) -> dict[str, Any]:
    """Return the steps of a problem, in their order: [batch][head][row][column]."""
    elements = [element(keys, b) for b in range(batches(keys))]
    found = [steps_of(one) for one in elements]
    if any("masked" in steps for steps in found):  # of one, so of all
        found = [steps_of(one | {"is_masked": True}) for one in elements]
    return {name: [steps[name] for steps in found] for name in found[0]}


def steps_of(keys: Keys) -> dict[str, Any]:
    hand = Hand()
    worked_by(hand, keys)
    return hand.steps


def check(trace: Any, expected: dict[str, Any], relative: float = 1e-12) -> None:
    """Assert that a trace has exactly the expected steps, in order, with the expected numbers.

    A step without a batch or head axis must hold the numbers of all batch elements or heads. Where
    a sum cancels, it may be off by a hundredth of `relative` of the step's largest number: 1e-14,
    which is 45 ε, for sums of fewer than 20 products.
    """
    assert list(trace.steps) == list(expected)
    for step in trace:
        want = floats(expected[step.name])
        value = step.value
        assert value.ndim == len(step.axes)
        value = value[..., None, :] if len(step.trailing) == 1 else value
        places = tuple(slice(None) if axis in step.axes else None for axis in ("batch", "head"))
        found = np.broadcast_to(value[places], want.shape)
        is_of_powers = step.name.startswith(("exp", "sum", "weights"))  # of which no sum cancels
        is_positive = is_of_powers and want.min(initial=0.0) >= 0
        largest = 0.0 if is_positive else float(np.abs(want[np.isfinite(want)]).max(initial=0.0))
        allowed = relative, relative / 100 * largest
        np.testing.assert_allclose(found, want, *allowed, err_msg=step.name)
