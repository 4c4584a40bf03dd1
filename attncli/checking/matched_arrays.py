"""Arrays of two programs that belong together: by names, meanings, numbers, shapes, and layouts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from itertools import permutations
from typing import TypeAlias

import numpy as np

from attncli.checking.answers.program_arrays import sizes_of
from attncli.core.arithmetic.elements import Array
from attncli.core.problem.key_values import key_of
from attncli.core.problem.keys import KEYS
from attncli.core.records import Record
from attncli.core.tape.cell_names import ALIASES, meant
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
    by_key("shapes", lambda name, one: (parts_of(name).layer, *sizes_of(one.shape)))
    for name in [*left]:
        same = {other: in_same_places(left[name], one) for other, one in right.items()}
        distances = {other: unlikeness(*numbers) for other, numbers in same.items()}
        nearest = min(distances, key=distances.__getitem__, default="")
        if nearest and distances[nearest] <= MAX_UNLIKE:
            pair(name, nearest, "numbers")
    by_key("shapes", lambda _, one: tuple(sizes_of(one.shape)))
    return _in_order([pairs[name] for name in reference if name in pairs])


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


def in_same_places(right: DumpedArray, other: DumpedArray) -> tuple[Array, Array]:
    """Return the numbers of two arrays, at the places that both have, if the shapes allow it."""
    if sizes_of(right.shape) != sizes_of(other.shape):
        return right.numbers, other.numbers
    a, b = (
        one.numbers if one.places else one.numbers.reshape(right.shape) for one in (right, other)
    )
    places = right.places or other.places
    if places and not right.places:
        a = a[np.ix_(*places)]
    if places and not other.places:
        b = b[np.ix_(*places)]
    return a, b


def unlikeness(right: Array, numbers: Array) -> float:
    """Return the distance of some numbers, relative to their length; ∞ for another shape."""
    if sizes_of(right.shape) != sizes_of(numbers.shape):
        return np.inf
    some = slice(None, None, max(1, right.size // MAX_SAMPLED))
    a, b = (np.nan_to_num(one.flat[some].astype(float)) for one in (right, numbers))
    length = float(np.linalg.norm(a))
    return float(np.linalg.norm(a - b)) / length if length else np.inf


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
