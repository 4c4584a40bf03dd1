"""What may have been done wrong in a step: the changes of the catalogue, and their sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import takewhile

from attncli.arithmetic.elements import Array
from attncli.checking.judged import CORRECT, FOLLOWS, ROUNDED_EARLY, WRONG, Finding
from attncli.checking.judging import Judge
from attncli.checking.mistakes.catalogue import MISTAKES
from attncli.checking.mistakes.mistake import Mistake
from attncli.mechanisms.trace import Trace
from attncli.records import Record, replace
from attncli.tape.replay import Change, Replay
from attncli.tape.step import Step
from attncli.text.sentences import small

SWAPPED = {"swapped_q_k": ("Q", "K"), "swapped_k_v": ("K", "V"), "swapped_q_v": ("Q", "V")}
"""The mistakes that two steps are taken for each other, and the steps."""

SKIPPED = "earlier_step_used"
"""Who skips a step takes the one before it."""

MOST_KEPT = 1_000
"""Of larger steps the numbers that mistakes give are not kept from sheet to sheet."""

ALIKE = (
    {"key_not_transposed", "step_transposed"},
    {"scores_transposed", "swapped_q_k"},
    *({"wrong_weight_matrix", swapped} for swapped in SWAPPED),
)
"""Two names of one mistake, where they give the very same numbers."""


class Candidate(Record, eq=False):
    """A mistake that may have been made, and what would have been calculated instead.

    Its place is the wrong step, or one left out before it; the words fill the blanks of its
    sentence.
    """

    mistake: Mistake
    place: Step
    change: Change
    words: Mapping[str, str]

    def finding(self, step: Step, where: str = "") -> Finding:
        """Return the finding in a step; where it was made, if that is not the whole step itself."""
        words = {"step": self.place.name, "formula": self.place.formula, **self.words}
        sentence = self.mistake.sentence.format(**words)
        is_named = "{step}" in self.mistake.sentence or self.place is step
        if places := ", ".join(filter(None, (where, "" if is_named else self.place.name))):
            sentence = f"In {places}: {small(sentence)}"
        return Finding(self.mistake.id, sentence, self.mistake.advice.format(**words))


def candidates(judge: Judge, step: Step, is_alone: bool = False) -> Iterator[Candidate]:
    """Yield what may have been done wrong in a step, or, unless alone, in those left out before it.

    What was done in the step itself comes first. The order is that of the catalogue, and for each
    mistake in a step before it the nearest step comes first.
    """
    before = [] if is_alone else judge.ranges.unknown_before(step)[::-1]
    for places in ([step], before):
        by_place = [_conceivable(judge.trace).at(place) for place in places]
        for id_ in MISTAKES:
            for found in by_place:
                yield from found.get(id_, ())


class Conceivable:
    """What may be done wrong in each step of a calculation, worked out when it is asked for."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._replay: Replay[Array] = Replay(trace)
        self._found: dict[str, dict[str, list[Candidate]]] = {}
        self._numbers: dict[tuple[Step, Candidate], Array | None] = {}

    def at(self, place: Step) -> Mapping[str, Sequence[Candidate]]:
        """Return what may be done wrong in one step, by mistake."""
        if place.name not in self._found:
            found = self._found[place.name] = {}
            for mistake in MISTAKES.values():
                for change, words in mistake.changes(place, self._trace):
                    candidate = Candidate(mistake, place, change, words)
                    found.setdefault(mistake.id, []).append(candidate)
        return self._found[place.name]

    def numbers(self, step: Step, candidate: Candidate) -> Array | None:
        """Return what a step becomes by a mistake if every number before it is the right one."""
        if (step, candidate) in self._numbers:
            return self._numbers[step, candidate]
        found = self._replay.changed(step, candidate.change)
        if step.array.size <= MOST_KEPT:
            self._numbers[step, candidate] = found
        return found


_conceivable = lru_cache(maxsize=4)(Conceivable)
"""The same for all sheets of one problem; a sheet may be worked in another right way."""


def by_mistake(judge: Judge, step: Step) -> Callable[[Candidate], Array | None]:
    """Return what tells the numbers that a step becomes by a mistake on the student's own.

    It gives None for a mistake that cannot be made.
    """
    if judge.operands.is_first(step):
        conceivable = _conceivable(judge.trace)
        return lambda candidate: conceivable.numbers(step, candidate)
    return lambda candidate: judge.midpoints.changed(step, candidate.change)


def without_rounding(judge: Judge, step: Step) -> Callable[[Candidate], Array | None]:
    """Return what tells the numbers that a step becomes by a mistake when nothing was rounded.

    It gives None for a mistake that cannot be made, and where a number before the step is not
    right: nobody knows of what it is a rounding.
    """
    before = takewhile(lambda judged: judged.step is not step, judge.judged.values())
    if any(other.has(code) for other in before for code in (ROUNDED_EARLY, FOLLOWS, WRONG)):
        return lambda candidate: None
    conceivable = _conceivable(judge.trace)
    return lambda candidate: conceivable.numbers(step, candidate)


def is_like(one: str, other: str) -> bool:
    """Return whether two ids may be names of one mistake, of which the first says it all."""
    return SKIPPED in (one, other) or {one, other} in ALIKE


def is_spoken_against(judge: Judge, candidate: Candidate) -> bool:
    """Return whether what is said to have changed places was given, and is right where it is."""
    steps = (judge.judged.get(name) for name in SWAPPED.get(candidate.mistake.id, ()))
    return any(known is not None and (known.codes == CORRECT).all() for known in steps)


def once_each(findings: Iterable[Finding]) -> list[Finding]:
    """Return the first finding of each mistake."""
    found: dict[str, Finding] = {}
    for finding in findings:
        found.setdefault(finding.id, finding)
    return list(found.values())


def with_others(finding: Finding, others: Sequence[Finding]) -> Finding:
    """Return a finding with the likeliest of the others: who reads a third learns nothing more."""
    return replace(finding, also=tuple(others[:1]))
