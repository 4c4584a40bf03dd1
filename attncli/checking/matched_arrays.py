"""Arrays of two programs that belong together: by names, meanings, numbers, shapes, and layouts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import permutations
from typing import TypeAlias

import numpy as np

from attncli.checking.answers.program_arrays import sizes_of
from attncli.checking.answers.written_cells import LIKE_BLOCKED
from attncli.core.arithmetic.elements import Array
from attncli.core.problem.key_values import key_of
from attncli.core.problem.keys import KEYS
from attncli.core.records import Record
from attncli.core.tape.step_words import ALIASES, meant
from attncli.core.text.strings import regex, visible
from attncli.reading.dumps import DumpedArray

Dump: TypeAlias = Mapping[str, DumpedArray]
"""The arrays of a program by their names."""

MAX_SAMPLED = 1_000
"""Maximum number of numbers by which arrays of one shape are told apart. Chosen."""

MAX_UNLIKE = 0.1
"""Maximum distance of an array from one of another name that is taken for the same step, relative
to its length. Chosen."""

MAX_ORDERED_AXES = 4
"""Maximum number of axes of an array that is tried with them in every order. Chosen."""

OF_LAYER = regex(r"(?:^|.*?[._])(\d+)\.(.+)")
"""A name with the number of a layer: model.layers.3.self_attn.q_proj."""


class ArrayName(Record):
    """The name of an array in its parts: the number of the layer, or -1, and what comes after."""

    layer: int
    tail: str

    @property
    def last(self) -> str:
        """The last word; of a weight or a bias also the module that has it, as q_proj.weight."""
        *modules, last = self.tail.split(".")
        return ".".join([*modules[-1:], last]) if last in ("weight", "bias") else last

    @property
    def meaning(self) -> str:
        """The step, or the key of a problem, that it means; "" for none, or for several."""
        steps = meant(self.last, ALIASES)
        if len(steps) == 1:
            return steps[0]
        key = key_of(self.last)
        # What a module q_proj gives is no weight.
        is_output = key[:2] in ("W_", "b_") and key[0].lower() != self.last[:1].lower()
        return key if key in KEYS and (not is_output or "." in self.last) else ""


def parts_of(name: str) -> ArrayName:
    """Return the parts of a name.

    >>> parts_of("blocks.3.attn.hook_pattern").meaning, parts_of("h.0.mlp").layer
    ('weights', 0)
    """
    match = OF_LAYER.fullmatch(name)
    return ArrayName(int(match[1]), match[2]) if match else ArrayName(-1, name)


class NamePair(Record):
    """An array of the reference, and the one that is compared with it."""

    name: str
    other: str
    how: str  # such as "numbers"; "" for the same name


def pairs_of(reference: Dump, mine: Dump) -> list[NamePair]:
    """Return the arrays that belong together: by names, by meanings, then by numbers, by shapes."""
    pairs: dict[str, NamePair] = {}
    left, right = dict(reference), dict(mine)

    def pair(name: str, other: str, how: str) -> None:
        pairs[name] = NamePair(name, other, how)
        del left[name], right[other]

    def by_key(how: str, key: Callable[[str, DumpedArray], Hashable]) -> None:
        keys, others = _by_key(left, key), _by_key(right, key)
        for value in keys.keys() & others.keys():
            pair(keys[value], others[value], how)

    by_key("", lambda name, _: name)
    by_key("names", lambda name, _: parts_of(name))
    by_key("names", lambda name, _: (parts_of(name).layer, parts_of(name).last))
    by_key("meanings", lambda name, _: (parts_of(name).layer, parts_of(name).meaning or name))
    by_key("meanings", lambda name, _: parts_of(name).meaning or name)
    by_key("shapes", lambda name, one: (parts_of(name).layer, _sizes(one)))
    for sizes in {_sizes(one) for one in left.values()} & {_sizes(one) for one in right.values()}:
        names = [name for name, one in left.items() if _sizes(one) == sizes]
        others = [name for name, one in right.items() if _sizes(one) == sizes]
        every = in_same_places(*(left[name] for name in names), *(right[name] for name in others))
        distances = unlikeness(every[: len(names)], every[len(names) :])
        for name, row in zip(names, distances, strict=True):
            if row.min() <= MAX_UNLIKE:
                pair(name, others[row.argmin()], "numbers")
                distances[:, row.argmin()] = np.inf
    by_key("shapes", lambda _, one: _sizes(one))
    return _in_order([pairs[name] for name in reference if name in pairs])


def _sizes(array: DumpedArray) -> tuple[int, ...]:
    return tuple(sizes_of(array.shape))


def _by_key(dump: Dump, key: Callable[[str, DumpedArray], Hashable]) -> dict[Hashable, str]:
    """Return the names of arrays by a key, without those that share it."""
    keys = {name: key(name, one) for name, one in dump.items()}
    counts = Counter(keys.values())
    return {value: name for name, value in keys.items() if counts[value] == 1}


def _in_order(pairs: list[NamePair]) -> list[NamePair]:
    """Return pairs in the order of computation, if each is a known step; else as they are."""
    order = {meaning: rank for rank, meaning in enumerate((*KEYS, *ALIASES))}
    every = {pair: parts_of(pair.name) for pair in pairs}
    if not all(parts.meaning for parts in every.values()):
        return pairs
    return sorted(pairs, key=lambda pair: (every[pair].layer, order[every[pair].meaning]))


def in_same_places(*every: DumpedArray) -> list[Array]:
    """Return the numbers of arrays, at the places that all have, if their sizes are the same."""
    if len({*map(_sizes, every)}) > 1:
        return [one.numbers for one in every]
    cut = next((one for one in every if one.places), every[0])
    return [
        one.numbers
        if one.places
        else one.numbers.reshape(cut.shape)[np.ix_(*cut.places) if cut.places else ...]
        for one in every
    ]


def unlikeness(every: Sequence[Array], others: Sequence[Array]) -> Array:
    """Return the distance of each of some arrays from each of others, relative to its length.

    All have the same sizes: a thousand are compared with as many by one product. Infinities, and
    what stands for them, do not count.
    """
    samples = [_sample(one) for one in (*every, *others)]
    a, b = np.array(samples[: len(every)]), np.array(samples[len(every) :])
    lengths = (a * a).sum(axis=-1)[:, None]
    lengths[lengths == 0] = np.nan  # what is 0 everywhere is like nothing
    squares = lengths + (b * b).sum(axis=-1) - 2 * a @ b.T
    distances: Array = np.sqrt(np.maximum(squares, 0) / lengths)
    return distances


def _sample(numbers: Array) -> Array:
    some = numbers.flat[:: max(1, numbers.size // MAX_SAMPLED)].astype(float)
    sample: Array = np.where(np.isfinite(some) & (some > LIKE_BLOCKED), some, 0.0)
    return sample


def layouts(pair: NamePair, right: Array, numbers: Array) -> Iterator[tuple[Array, str]]:
    """Yield numbers with axes cut, joined and in other orders, each with the line that does it."""
    if right.size != numbers.size or max(right.ndim, numbers.ndim) > MAX_ORDERED_AXES:
        return
    name = f'mine["{visible(pair.other)}"]'
    for order in permutations(range(right.ndim)) if right.ndim >= numbers.ndim else ():
        cut, back = tuple(right.shape[axis] for axis in order), tuple(np.argsort(order).tolist())
        line = name if cut == numbers.shape else f"{name}.reshape{cut}"
        line += f".transpose{back}" if back != tuple(range(right.ndim)) else ""
        yield numbers.reshape(cut).transpose(back), line
    for order in permutations(range(numbers.ndim)) if right.ndim < numbers.ndim else ():
        joined = numbers.transpose(order).reshape(right.shape)
        yield joined, f"{name}.transpose{order}.reshape{right.shape}"
