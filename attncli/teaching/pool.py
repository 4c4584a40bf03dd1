"""What some calculations of one form show together, and a variant therefore can show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.checking.catalogued import is_like
from attncli.checking.mistakes.catalogue import MISTAKES
from attncli.teaching.distractors import Distractor, Distractors, Key, Question, close

MAX_NAMES = 4
"""Maximum number of steps that a reason names."""


def may_be_one(one: Key, other: Key) -> bool:
    """Return whether two keys are one mistake under two names."""
    return one[0] == other[0] or is_like(one[0], other[0])


class Pool:
    """What some calculations of one form show together.

    Attributes:
        places: the mistakes, each with a step in which it can be made.
        made: what can be made before, or in, a step that is asked.
        shown: what is seen in at least one calculation.
        best: in how many numbers it is seen there at most, as `Distractor.seen` counts them.
        unasked: what can be made where no asked step is made from it.
    """

    def __init__(self, question: Question) -> None:
        self.question = question
        self.places: dict[tuple[str, str], None] = {}
        self.made: dict[Key, None] = {}
        self.shown: dict[Key, int] = {}
        self.best: dict[Key, int] = {}
        self.unasked: dict[Key, None] = {}
        self._met: list[tuple[Array, Array]] = []

    def add(self, effects: Distractors) -> None:
        """Look at one more calculation."""
        seen: list[Distractor] = []
        for place in ((id_, name) for id_ in MISTAKES for name in effects.trace.steps):
            for effect in effects.at(*place).values():
                self.places[place] = None
                group = self.made if effect.is_asked else self.unasked
                group[effect.key] = None
                if effect.is_asked and effect.is_seen:
                    self.shown.setdefault(effect.key, len(self.shown))
                    self.best[effect.key] = max(effect.seen, self.best.get(effect.key, 0))
                    seen.append(effect)
        self._met.append((self.indexes(seen), close(seen, effects.right, self.question.unit)))

    def is_hidden(self, effect: Distractor | None) -> bool:
        """Return whether a mistake is seen in fewer numbers than it could be."""
        return effect is not None and effect.seen < self.best.get(effect.key, 0)

    def indexes(self, distractors: Sequence[Distractor]) -> Array:
        """Return the indexes of distractors among all that are shown."""
        return np.array([self.shown[distractor.key] for distractor in distractors], int)

    @cached_property
    def apart(self) -> Array:
        """Which pairs of the mistakes that are shown some calculation tells apart."""
        count, keys = len(self.shown), list(self.shown)
        found = np.zeros((count, count), bool)
        for places, close_ in self._met:
            found[np.ix_(places, places)] |= ~close_
        one = [[may_be_one(a, b) for b in keys] for a in keys]
        found &= ~np.array(one, bool).reshape(count, count)
        return found

    def alike(self, effects: Distractors, seen: Sequence[Distractor]) -> list[tuple[Key, Key]]:
        """Return the pairs of mistakes that one calculation does not tell apart, but others do."""
        places = self.indexes(seen)
        both = close(seen, effects.right, self.question.unit) & self.apart[np.ix_(places, places)]
        pairs = np.argwhere(np.triu(both))
        return [(seen[i].key, seen[j].key) for i, j in pairs.tolist()]

    @property
    def never_apart(self) -> list[tuple[str, str]]:
        """The mistakes that give the same numbers wherever they are made, two by two."""
        count, keys = len(self.shown), list(self.shown)
        met = np.zeros((count, count), bool)
        for places, _ in self._met:
            met[np.ix_(places, places)] = True
        pairs = np.argwhere(np.triu(met & ~self.apart)).tolist()
        by_id = [(keys[i], keys[j]) for i, j in pairs if not may_be_one(keys[i], keys[j])]
        return list(dict.fromkeys((one[0], other[0]) for one, other in by_id))

    def unseen(self, because: Mapping[str, str]) -> dict[str, str]:
        """Return the mistakes that no calculation shows, and why.

        Args:
            because: mistakes in steps that are left out, as they change nothing here, and why.
        """
        shown = {key[0] for key in self.shown}
        found, places = dict(because), dict[str, list[str]]()
        for id_, at, _ in self.unasked:
            found[id_] = f"{at} comes after what is asked"
        for id_, at, _ in self.made:
            places.setdefault(id_, []).append(at)
        for id_, steps in places.items():
            reached = self.question.reached(steps)
            names = [name for name in self.question.asked if name in reached]
            more = ", …" if len(names) > MAX_NAMES else ""
            found[id_] = f"no difference in {', '.join(names[:MAX_NAMES])}{more}"
        return {id_: found[id_] for id_ in MISTAKES if id_ in found and id_ not in shown}

    @property
    def partly(self) -> dict[str, tuple[str, ...]]:
        """The mistakes that no calculation shows in some step in which, or way as, they are made.

        With them stand these steps.
        """
        ids = {key[0] for key in self.shown}
        found: dict[str, dict[str, None]] = {}
        for key in (*self.made, *self.unasked):
            if key[0] in ids and key not in self.shown:
                found.setdefault(key[0], {})[key[1]] = None
        return {id_: tuple(found[id_]) for id_ in MISTAKES if id_ in found}
