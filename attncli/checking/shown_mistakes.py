"""Which mistakes a calculation shows, compared with others of the same steps and other numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain, combinations, islice, product
from math import inf

from attncli.checking.answers.step_names import with_step_names
from attncli.checking.distractors import Distractor, Distractors, Key, Question, alike_pairs
from attncli.checking.mistakes.catalogue import MISTAKES
from attncli.checking.naming.catalogued import is_like
from attncli.checking.unseen_mistakes import without_effect
from attncli.core.calculation.trace import Trace, equal_steps

ASKED_DECIMALS = 2
"""Default number of decimals in which mistakes must show. Chosen."""

LIKELY_FAULTS = 40
"""Number of places in which most faults were, and which are looked at before the others. Chosen."""

MAX_REASON_STEPS = 4
"""Maximum number of steps that a reason names."""


class Faults:
    """The mistakes that a calculation hides, or does not tell apart.

    Mistakes are hidden if they are not seen, or in fewer numbers than they could be; they are alike
    if they give the same numbers, though other numbers tell them apart.
    """

    def __init__(self) -> None:
        self.seen: list[Distractor] = []
        self._hidden: list[Distractor] = []
        self._alike: set[frozenset[Key]] = set()
        self.count = inf  # before every mistake was looked at

    @property
    def shown(self) -> tuple[str, ...]:
        """The ids of the mistakes that are seen, in the order of the catalogue."""
        ids = {one.key[0] for one in self.seen}
        return tuple(id_ for id_ in MISTAKES if id_ in ids)

    @property
    def hidden(self) -> tuple[tuple[str, str], ...]:
        """The ids of hidden mistakes, and the steps in which they are."""
        return tuple(sorted({one.key[:2] for one in self._hidden}))

    @property
    def alike(self) -> tuple[tuple[str, str], ...]:
        """The pairs of ids of mistakes that give the same numbers."""
        pairs = {(min(one, other), max(one, other)) for (one, *_), (other, *_) in self._alike}
        return tuple(sorted(pairs))

    @property
    def places(self) -> list[tuple[str, str]]:
        """The mistakes that are hidden or alike, and the steps in which they are."""
        keys = (*[one.key for one in self._hidden], *chain(*self._alike))
        return [*dict.fromkeys(key[:2] for key in keys)]


class ShownMistakes:
    """The mistakes that sample calculations of one form show in what is asked.

    Attributes:
        marking: that of the original problem, with the names of steps.
        question: what is asked; all steps, in 2 decimals, if the marking says nothing else.
    """

    def __init__(self, original: Trace) -> None:
        self.marking, meant = with_step_names(original.problem.marking, original)
        same = equal_steps(original)
        names = [meant[name][0].name for name in self.marking.ask]
        asked = [same.get(name, name) for name in names] or [*original.steps]
        decimals = self.marking.decimals
        self.decimals = ASKED_DECIMALS if decimals is None else decimals
        self.question = Question(original, asked, self.decimals, self.marking.tolerance)
        self._known: dict[Key, None] = {}  # every mistake, in the order of the search
        self._shown: dict[Key, int] = {}  # the largest count of numbers that show one
        self._met: set[frozenset[Key]] = set()
        self._apart: set[frozenset[Key]] = set()
        self._faulty = Counter[tuple[str, str]]()  # how many calculations had a fault there

    def add(self, trace: Trace) -> None:
        """Learn which mistakes a calculation shows and tells apart."""
        distractors = Distractors(trace, self.question)
        every = distractors.at(product(MISTAKES, trace.steps))
        seen = [one for one in every if one.asked and one.seen]
        self._known |= dict.fromkeys(one.key for one in every)
        self._shown |= {one.key: max(one.seen, self._shown.get(one.key, 0)) for one in seen}
        pairs = set(map(frozenset, combinations([one.key for one in seen], 2)))
        self._met |= pairs
        self._apart |= pairs - alike_pairs(seen, distractors.right, self.question.unit)

    def faults_of(self, trace: Trace, other: Faults | None = None) -> Faults:
        """Return the faults of a calculation; they are not all counted if `other` has no more."""
        distractors, faults = Distractors(trace, self.question), Faults()
        faulty = other.places if other else []
        likely = (place for place, _ in self._faulty.most_common())
        every = (key[:2] for key in self._known)
        rest, most = iter(dict.fromkeys((*faulty, *likely, *every))), other.count if other else inf
        for count in (len(faulty), LIKELY_FAULTS, None):
            for one in distractors.at(islice(rest, count)):
                if one.key in self._shown and one.asked:
                    faults.seen += [one] if one.seen else []
                    faults._hidden += [one] if one.seen < self._shown[one.key] else []
            if len(faults._hidden) < most:
                faults._alike = self._not_told_apart(distractors, faults.seen)
            found = len(faults._hidden) + len(faults._alike)
            if found >= most:
                break
        else:
            faults.count = found
        self._faulty.update(faults.places)
        return faults

    def _not_told_apart(
        self, distractors: Distractors, seen: Sequence[Distractor]
    ) -> set[frozenset[Key]]:
        """Return the pairs of mistakes that one calculation does not tell apart, but others do."""
        pairs = alike_pairs(seen, distractors.right, self.question.unit) & self._apart
        return {pair for pair in pairs if not _may_be_one(*pair)}

    @property
    def never_apart(self) -> tuple[tuple[str, str], ...]:
        """The pairs of mistakes that give the same numbers in every step."""
        never = self._met - self._apart
        pairs = [pair for pair in combinations(self._shown, 2) if frozenset(pair) in never]
        return tuple(dict.fromkeys((a[0], b[0]) for a, b in pairs if not _may_be_one(a, b)))

    @property
    def unseen(self) -> dict[str, str]:
        """The mistakes that are not seen in some of their steps, each with the reason."""
        shown = {key[0] for key in self._shown}
        left_out = without_effect(self.question.original)
        reasons = {id_: reason for id_, reason in left_out.items() if id_ not in shown}
        hidden = [key[:2] for key in self._known if key not in self._shown]
        for id_ in dict(hidden):
            steps = list(dict.fromkeys(at for other, at in hidden if other == id_))
            reached = self.question.reached(steps)
            names = [name for name in self.question.asked if name in reached]
            more = ", …" if len(names) > MAX_REASON_STEPS else ""
            if id_ in shown:
                reasons[id_] = f"not always in {', '.join(steps)}"
            elif names:
                reasons[id_] = f"no difference in {', '.join(names[:MAX_REASON_STEPS])}{more}"
            else:
                reasons[id_] = f"{steps[0]} comes after what is asked"
        return {id_: reasons[id_] for id_ in MISTAKES if id_ in reasons}


def _may_be_one(one: Key, other: Key) -> bool:
    return one[0] == other[0] or is_like(one[0], other[0])
