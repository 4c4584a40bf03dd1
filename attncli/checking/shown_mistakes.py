"""Which mistakes a calculation shows, compared with others of the same steps and other numbers.

And what a problem cannot show: mistakes that change no number, slips that look like rounding.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain, islice
from math import inf
from typing import Any

import numpy as np

from attncli.checking.answers.step_names import with_step_names
from attncli.checking.check import AnswerKey
from attncli.checking.distractors import Distractor, Distractors, Key, Question, alike_pairs
from attncli.checking.judging.agreement import agrees
from attncli.checking.mistakes.catalogue import MISTAKES
from attncli.checking.naming.catalogued import is_like
from attncli.core.arithmetic.elements import Array
from attncli.core.attention.masks import Masked
from attncli.core.calculation.mistake import possible
from attncli.core.calculation.trace import Trace, equal_steps
from attncli.core.problem.marking import Marking
from attncli.core.problem.problem import Problem
from attncli.core.tape.evaluation import Change, Replay, broadcast_to_step
from attncli.core.tape.step import Step

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
        self.marking, meant = with_step_names(original)
        same = equal_steps(original)
        names = [meant[name][0].name for name in self.marking.expected]
        asked = [same.get(name, name) for name in names] or [*original.steps]
        decimals = self.marking.decimals
        self.decimals = ASKED_DECIMALS if decimals is None else decimals
        self.question = Question(original, asked, self.decimals, self.marking.tolerance)
        self._known: dict[Key, None] = {}  # every mistake, in the order of the search
        self._shown: dict[Key, int] = {}  # the largest count of numbers that show one
        self._sampled: list[tuple[set[Key], set[frozenset[Key]]]] = []  # those seen, those alike
        self._faulty = Counter[tuple[str, str]]()  # how many calculations had a fault there

    def add(self, trace: Trace) -> None:
        """Learn which mistakes a calculation shows and tells apart."""
        distractors = Distractors(trace, self.question)
        made = {step.name: {row.id for row in possible(MISTAKES.values(), step)} for step in trace}
        places = ((id_, name) for id_ in MISTAKES for name, ids in made.items() if id_ in ids)
        every = distractors.at(places)
        seen = [one for one in every if one.asked and one.seen]
        self._known |= dict.fromkeys(one.key for one in every)
        self._shown |= {one.key: max(one.seen, self._shown.get(one.key, 0)) for one in seen}
        alike = alike_pairs(seen, distractors.right, self.question.unit)
        self._sampled.append(({one.key for one in seen}, alike))

    def _is_told_apart(self, pair: frozenset[Key]) -> bool:
        """Return whether a calculation shows both mistakes, with different numbers."""
        return any(pair <= seen and pair not in alike for seen, alike in self._sampled)

    def faults_of(self, trace: Trace, other: Faults | None = None) -> Faults:
        """Return the faults of a calculation; they are not all counted if `other` has no more."""
        distractors, faults = Distractors(trace, self.question), Faults()
        faulty = other.places if other else []
        likely = (place for place, _ in self._faulty.most_common())
        every = (key[:2] for key in self._known)
        rest, most = iter(dict.fromkeys((*faulty, *likely, *every))), other.count if other else inf
        for count in (len(faulty), LIKELY_FAULTS, None) if other else (None,):
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
        pairs = alike_pairs(seen, distractors.right, self.question.unit)
        return {one for one in pairs if not _may_be_one(*one) and self._is_told_apart(one)}

    @property
    def never_apart(self) -> tuple[tuple[str, str], ...]:
        """The pairs of mistakes that give the same numbers in every step."""
        order = {key: place for place, key in enumerate(self._shown)}
        alike = {pair for _, pairs in self._sampled for pair in pairs}
        never = (
            sorted(pair, key=order.__getitem__) for pair in alike if not self._is_told_apart(pair)
        )
        pairs = sorted(never, key=lambda pair: [order[key] for key in pair])
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


# What a problem cannot show

MAX_LISTED_NAMES = 4  # in one line, then how many others there are

OF_SCALE = ("not_scaled", "scaled_by_d_k", "scaled_twice", "scale_inverted")
OF_MASK = ("mask_missing", "mask_inverted", "mask_as_zero", "mask_transposed", "mask_after_softmax")


def unseen(trace: Trace, decimals: int) -> dict[str, str]:
    """Return the mistakes that change no number, in answers with some decimals, and why."""
    hidden = without_effect(trace)
    replay = Replay(trace, worked={step.name: step.array for step in trace})
    made: dict[str, list[tuple[Step, Change]]] = {id_: [] for id_ in MISTAKES}
    for step in trace:
        for row in possible(MISTAKES.values(), step):
            made[row.id] += [(step, one) for one, _ in row.changes(step, trace.around(step))]
    for id_, changes in made.items():
        shown = [(step.name, _shows(replay, step, one, decimals)) for step, one in changes]
        names = list(dict.fromkeys(name for name, is_seen in shown if is_seen is False))
        if names and not any(is_seen for _, is_seen in shown):
            more = ", …" if len(names) > MAX_LISTED_NAMES else ""
            hidden[id_] = f"no difference in {', '.join(names[:MAX_LISTED_NAMES])}{more}"
    return {id_: hidden[id_] for id_ in MISTAKES if id_ in hidden}


def without_effect(trace: Trace) -> dict[str, str]:
    """Return the mistakes in a step that is left out because it changes nothing, and why."""
    problem, hidden = trace.problem, dict[str, str]()
    scales = problem.score["name"] == "scaled_dot" and "scores" not in problem.given
    if scales and problem.rules.scale is None and "d_k" in problem.sizes:
        reason = f"d_k = {problem.sizes['d_k']}, so the scale is 1"
        hidden.update(dict.fromkeys(OF_SCALE, reason))
    if problem.mask and not any(isinstance(step.operation, Masked) for step in trace):
        hidden.update(dict.fromkeys(OF_MASK, "the mask blocks nothing"))
    return hidden


def _shows(replay: Replay[Array], step: Step, change: Change, decimals: int) -> bool | None:
    changed = broadcast_to_step(replay.changed(step, change), step)
    return None if changed is None else not agrees(changed, 10.0**-decimals, step.array).all()


SLIPS = (100, 30, 10, 5, 3, 2)
"""Sizes of the slips that are tried, in units of the last decimal."""

MAX_CELLS = 4
"""Maximum number of cells of a step in which a slip is tried."""

MAX_SLIP_NUMBERS = 1_000
"""Maximum number of cells of a problem in which slips are tried; each takes a whole judgement."""


def largest_slips(
    problem: Problem, names: Sequence[str], decimals: int, sizes: Sequence[int] = SLIPS
) -> dict[str, int]:
    """Return the largest slip in one cell of each step that passes as rounding, in units.

    All steps with these names are handed in, correct but for the slip. The sizes that are tried, to
    either side, are the largest first; 1 is returned if none of them passes.
    """
    key = AnswerKey(problem.marked(Marking(tolerance=problem.marking.tolerance)))
    right = {name: _as_texts(key.trace[name].value, decimals) for name in names}

    def passes(name: str, place: int, slip: int) -> bool:
        changed = key.trace[name].value.copy()
        number = round(float(changed.flat[place]), decimals)
        changed.flat[place] = number + slip * 10.0**-decimals
        return key.check(right | {name: _as_texts(changed, decimals)}).verdict == "correct"

    largest = {}
    for name in names:
        finite = np.flatnonzero(np.isfinite(key.trace[name].value))
        places = finite[:: max(1, -(-len(finite) // MAX_CELLS))].tolist()
        tried = [(place, sign) for place in places for sign in (1, -1)]
        passed = (size for size in sizes if any(passes(name, at, n * size) for at, n in tried))
        largest[name] = next(passed, 1)
    return largest


def better_step(problem: Problem, names: Sequence[str], decimals: int, slips: int) -> str | None:
    """Return the step that, handed in too, lets only smaller slips pass; None if none does."""
    trace = AnswerKey(problem.marked(Marking())).trace
    last = max(list(trace.steps).index(name) for name in names)
    others = [step.name for step in list(trace)[:last][::-1] if step.name not in names]

    def is_better(name: str) -> bool:
        passing = largest_slips(problem, (*names, name), decimals, (slips,))
        return max(passing[one] for one in names) < slips

    return next(filter(is_better, others), None)


def _as_texts(value: Array, decimals: int) -> list[Any]:
    if value.ndim > 1:
        return [_as_texts(part, decimals) for part in value]
    return [f"{x:.{decimals}f}" if np.isfinite(x) else "-inf" for x in value.tolist()]
