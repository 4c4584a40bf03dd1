"""The mistakes of the catalogue, and mutations, as hypotheses of what went wrong in a step."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, takewhile

import numpy as np

from attncli.checking.answers.written_cells import Written
from attncli.checking.judging.agreement import CUT_OFF, MAX_COINCIDENCE, agrees
from attncli.checking.judging.judge import Judge
from attncli.checking.judging.judged_steps import CORRECT, Finding
from attncli.checking.mistakes.catalogue import MISTAKES
from attncli.checking.naming.hypotheses import Hypothesis, WrongStep
from attncli.core.arithmetic.elements import Array
from attncli.core.attention.softmax import Sum
from attncli.core.calculation.mistake import Blanks, Mistake, Ways, Words, in_words, possible
from attncli.core.calculation.mutations import MUTATIONS
from attncli.core.calculation.trace import Trace
from attncli.core.records import Record, replace
from attncli.core.tape.evaluation import Change, Values, broadcast_to_step, evaluate, sources, walk
from attncli.core.tape.operations import Transposed
from attncli.core.tape.step import Expression, Step
from attncli.core.text.strings import all_of, small

SWAPPED = {"swapped_q_k": ("Q", "K"), "swapped_k_v": ("K", "V"), "swapped_q_v": ("Q", "V")}
"""The two steps that each of these mistakes exchanges."""

ALIKE = (
    {"key_not_transposed", "step_transposed"},
    {"scores_transposed", "swapped_q_k"},
    {"key_and_value_exchanged", "step_transposed"},
    {"padding_zeroed", "padded_queries_blocked"},
    {"fused_per_head", "fused_in_three"},
    {"heads_reshaped", "attention_over_heads"},
    *({"wrong_weight_matrix", swapped} for swapped in SWAPPED),
)
"""Pairs of mistakes that are one and the same if they give the same numbers."""


MIN_EXACT = 2
"""Minimum count of wrong numbers that a mistake does not give by chance with all digits. Chosen."""


MAX_HIDDEN_STEPS = 12
"""Maximum number of hidden steps in which a general mutation is looked for: the nearest. Chosen."""

NUMBER_OF_TIME = re.compile(r"_(\d+)")
"""What ends the name of a step at a time."""


class MistakeInStep(Record, eq=False):
    """A mistake that may have been made in a step, and what would have been calculated instead."""

    mistake: Mistake
    place: Step
    change: Change
    words: Blanks

    def finding(self, step: Step, where: str = "") -> Finding:
        blanks = {"step": self.place.name, "formula": self.place.formula, **self._words}
        names, words = (
            {key: word if isinstance(word, str) else word[i] for key, word in blanks.items()}
            for i in (0, 1)
        )
        sentence, advice = self.mistake.sentence, self.mistake.advice.format(**words)
        # What changes several steps was not done in the first of them alone.
        is_named = "{step}" in sentence or self.place is step or len(self.change) > 1
        places = ", ".join(filter(None, (where, "" if is_named else self.place.name)))
        what, hint = sentence.format(**words), sentence.format(**names)
        place = f"In {places}" if places else ""
        other = None if hint == what else hint
        return Finding(self.mistake.id, what, advice, place, hint=other, change=self.change)

    @property
    def _words(self) -> dict[str, Words]:
        """The words; if it was made at each time, with `h_t` for the `h_3` of the last."""
        said = self.mistake.sentence + self.mistake.advice
        blanks = [blank for blank in self.words if f"{{{blank}}}" in said]
        words = {blank: in_words(self.words[blank], self.place) for blank in blanks}
        of_all = self.place.name.removesuffix(self.place.suffix)
        if len(self.change) == 1 or not all(name.startswith(of_all) for name in self.change):
            return words
        relative = partial(_relative, self.place.suffix.removeprefix("_"))
        texts = ((blank, word) for blank, word in words.items() if isinstance(word, str))
        return words | {blank: NUMBER_OF_TIME.sub(relative, word) for blank, word in texts}


def mistakes_in(
    trace: Trace, place: Step, rows: Mapping[str, Mistake] = MISTAKES
) -> list[MistakeInStep]:
    """Return the mistakes in a step, and those in all steps like it, with the last of these."""
    layer = trace.around(place)
    alike = [one for one in layer if one.suffix and one.stem == place.stem]
    alike = alike if alike[1:] and alike[-1] is place else []
    mistakes = []
    for mistake in possible(rows.values(), place):
        for change, words in chain(mistake.changes(place, layer), _in_all(mistake, alike, layer)):
            mistakes.append(MistakeInStep(mistake, place, change, words))
    return mistakes


def _in_all(mistake: Mistake, alike: Sequence[Step], layer: Trace) -> Ways:
    """Yield a mistake made in all of some steps, unless its rule changes them all itself."""
    in_each = [_by_sentences(mistake, one, layer) for one in alike]
    known = {frozenset(change) for ways in in_each for change, _ in ways.values()}
    for way, (_, words) in in_each[-1].items() if in_each else ():
        if all(way in ways for ways in in_each):
            change = dict(chain.from_iterable(ways[way][0].items() for ways in in_each))
            if frozenset(change) not in known:
                yield change, words


def _by_sentences(
    mistake: Mistake, step: Step, layer: Trace
) -> dict[tuple[str, int], tuple[Change, Blanks]]:
    """Return the changes of a step by their sentences, with times counted from that of the step."""
    time, ways = step.suffix.removeprefix("_"), dict[tuple[str, int], tuple[Change, Blanks]]()
    for change, words in mistake.changes(step, layer):
        blanks = [blank for blank in words if f"{{{blank}}}" in mistake.sentence]
        said = [in_words(words[blank], step) for blank in blanks]
        text = NUMBER_OF_TIME.sub(partial(_relative, time), str(said))
        count = sum(key == text for key, _ in ways)
        ways[text, count] = change, words
    return ways


def _relative(time: str, number: re.Match[str]) -> str:
    if not time.isdecimal():
        return number[0]
    before = int(time) - int(number[1])
    return f"_{{t{-before:+d}}}".replace("-", "−") if before else "_t"


def in_order(
    step: Step,
    before: Sequence[Step],
    find: Callable[[Step], Iterable[MistakeInStep]],
    rows: Iterable[str] = MISTAKES,
) -> Iterator[MistakeInStep]:
    """Yield the mistakes of a step, then those of hidden steps before it, each as in the catalogue.

    The nearest step comes first; `find` returns the mistakes that may be made in a step.
    """
    order = {id_: place for place, id_ in enumerate(rows)}
    for places in ([step], before[::-1]):
        every = [mistake for place in places for mistake in find(place)]
        yield from sorted(every, key=lambda one: order[one.mistake.id])


def mistakes_before(
    judge: Judge, step: Step, is_alone: bool = False, rows: Mapping[str, Mistake] = MISTAKES
) -> Iterator[MistakeInStep]:
    """Yield the mistakes that may be made in a step, then those in hidden steps before it.

    One wrong number is no evidence of mistakes in hidden steps, and a hidden step in which a
    mistake is known has no second one. A student who passed over a hidden step made the mistake of
    that step, such as `not_scaled`.
    """

    def find(place: Step) -> list[MistakeInStep]:
        key = "mistakes", place, rows is MUTATIONS
        return judge.reference.kept(key, partial(mistakes_in, judge.trace, place, rows))

    # A student hits on one word among a few by chance, too.
    hidden = [] if is_alone or step.marks_label else judge.operands.hidden_before(step)
    hidden = hidden[-MAX_HIDDEN_STEPS:] if rows is MUTATIONS else hidden
    passed_over = {(one.name, source.name) for one in hidden for source in sources(one)}
    open_ = [one for one in hidden if one.name not in judge.mistaken]
    for one in in_order(step, open_, find, rows):
        words = one.words if one.mistake.id == "earlier_step_used" else {}
        if (words.get("right"), words.get("used")) not in passed_over:
            yield one


class Explained(Record, eq=False):
    """A mistake that gives wrong numbers, and what the step becomes by it."""

    mistake: MistakeInStep
    numbers: Array
    finding: Finding
    hypothesis: Hypothesis
    rank: tuple[bool, ...]
    is_worked: bool  # True if it gives them with hidden steps unrounded, or rounded as shown ones


def by_a_mistake(wrong: WrongStep, is_alone: bool) -> Finding | None:
    """Return the likeliest mistake that gives the numbers of a step, with at most one other."""
    before = [*mistakes_before(wrong.judge, wrong.step, is_alone)]

    def is_certain(one: Explained) -> bool:
        return wrong.chance(one.hypothesis, len(before)) <= MAX_COINCIDENCE

    explanations = [one for one in _explanations(wrong, before) if one.is_worked or is_certain(one)]
    if not explanations:
        return None
    first, *others = explanations
    also = (other.finding for other in others if _says_more(wrong.judge, wrong.step, other, first))
    return replace(first.finding, certain=is_certain(first), also=tuple(also)[:1])


def _explanations(wrong: WrongStep, before: Iterable[MistakeInStep]) -> list[Explained]:
    explanations = filter(None, (_explained(wrong, mistake) for mistake in before))
    return sorted(explanations, key=lambda one: one.rank)


def by_a_mutation(wrong: WrongStep) -> Finding | None:
    """Return the general mutation that gives the numbers of a step, with at most one other.

    There is none where three or more give them, as then nobody knows which was made.
    """
    before = [*mistakes_before(wrong.judge, wrong.step, rows=MUTATIONS)]
    tried = len(before) + len([*mistakes_before(wrong.judge, wrong.step)])
    explanations = [
        one
        for one in _explanations(wrong, before)
        if one.is_worked and wrong.chance(one.hypothesis, tried) <= MAX_COINCIDENCE
    ]
    if not explanations:
        return None
    first, *others = explanations
    also = {
        one.finding.message: one.finding
        for one in others
        if one.finding.message != first.finding.message
        and not _is_contradicted(wrong.judge, wrong.step, one.mistake)
    }
    return replace(first.finding, also=tuple(also.values())) if len(also) < 2 else None


def by_mistakes_in_rows(wrong: WrongStep) -> Finding | None:
    """Return which of two mistakes gives each wrong row of a step, if that is no coincidence."""
    rows = [*dict.fromkeys(place[2] for place in wrong.cells)] if wrong.wrong.ndim == 4 else []
    before = [*mistakes_before(wrong.judge, wrong.step)] if rows[1:] else []
    for mistake in (one.mistake for one in _explanations(wrong.within(rows[:1]), before)):
        mine = [row for row in rows if _explained(wrong.within([row]), mistake)]
        parts = wrong.within(mine), wrong.within([row for row in rows if row not in mine])
        tried = [one for one in zip(parts, ([mistake], before), strict=True) if one[0].cells]
        both = [(part, one) for part, every in tried for one in _explanations(part, every)[:1]]
        chances = [min(1.0, part.chance(one.hypothesis, len(before))) for part, one in both]
        if len(both) == 2 and np.prod(chances) <= MAX_COINCIDENCE:
            one, two = (one.mistake.finding(wrong.step, _rows(part)) for part, one in both)
            what, hint = (
                f"{one.sentence(is_whole)[:-1]}; {small(two.sentence(is_whole))}"
                for is_whole in (True, False)
            )
            advice = " ".join(dict.fromkeys((one.advice, two.advice)))
            is_certain = max(chances) <= MAX_COINCIDENCE
            return Finding(one.id, what, advice, certain=is_certain, hint=hint)
    return None


def _says_more(judge: Judge, step: Step, other: Explained, first: Explained) -> bool:
    """Return True if a mistake differs from the first one, and no correct number contradicts it."""
    ids = other.finding.id, first.finding.id
    is_same = is_like(*ids) and np.allclose(other.numbers, first.numbers, rtol=1e-9)
    return not (is_same or ids[0] == ids[1] or _is_contradicted(judge, step, other.mistake))


def is_like(one: str, other: str) -> bool:
    """Return True if two ids may be names of one mistake."""
    return "earlier_step_used" in (one, other) or {one, other} in ALIKE


def _is_contradicted(judge: Judge, step: Step, mistake: MistakeInStep) -> bool:
    """Return True if an earlier step is correct that a mistake would have changed."""

    def is_correct(name: str) -> bool:
        known = judge.judged.get(name)
        return known is not None and bool((known.codes == CORRECT).all())

    def is_changed(other: Step) -> bool:
        hidden = {one.name for one in judge.operands.hidden_before(other)}
        return not hidden.isdisjoint(change) and not _is_seen_in(judge, other, change)

    change = mistake.change
    earlier = takewhile(lambda one: one.name != step.name, judge.trace)
    return any(map(is_correct, SWAPPED.get(mistake.mistake.id, ()))) or any(
        is_correct(one.name) and is_changed(one) for one in earlier
    )


def _explained(wrong: WrongStep, mistake: MistakeInStep) -> Explained | None:
    """Return a mistake with its rank if it gives the wrong cells, None otherwise.

    Intervals may be too wide to be evidence, but no mistake gives several digits by chance.
    """
    judge, step, change = wrong.judge, wrong.step, mistake.change
    operands = judge.operands
    result = operands.kept(
        ("numbers", mistake), step, lambda: operands.written.changed(step, change)
    )
    numbers = broadcast_to_step(result, step)
    if result is None or numbers is None or not _is_in_reach(wrong, numbers):
        return None
    if not is_possible(judge.trace, operands.written, step, change, result):
        return None
    is_worked = bool(wrong.fits(numbers).all())
    if not is_worked and wrong.is_first and not operands.is_first(step):
        unrounded = broadcast_to_step(operands.meant.changed(step, change), step)
        is_worked = unrounded is not None and bool(wrong.fits(unrounded).all())
    is_exact = is_worked and len(wrong.cells) >= MIN_EXACT
    where = ""
    expected: Values = numbers
    if not is_exact:
        make = partial(operands.ranges.changed, step, change)
        ranges = broadcast_to_step(operands.kept(("intervals", mistake), step, make), step)
        fits = wrong.fits(ranges)
        where = "" if fits.all() else _whole_lines(wrong, fits)
        if ranges is None or not (fits.all() or where):
            return None
        expected = ranges
    if not is_worked:
        ways = (broadcast_to_step(one.changed(step, change), step) for one in operands.rounded)
        tried = (wrong.fits(one) for one in (numbers, *ways) if one is not None)
        is_worked = any(bool(fits[wrong.wrong].all()) for fits in tried)
    is_seen = _is_seen_elsewhere(judge, step, change)
    if is_seen is False:
        return None
    rank = (_is_contradicted(judge, step, mistake), bool(where), is_seen is None, not is_exact)
    finding = replace(mistake.finding(step, where), gives_all=not where)
    hypothesis = Hypothesis(finding, expected, is_fact=bool(is_seen))
    return Explained(mistake, numbers, finding, hypothesis, rank, is_worked)


def _is_in_reach(wrong: WrongStep, numbers: Array) -> bool:
    """Return True if a mistake may give half of the wrong cells; it saves most of the intervals.

    It rejects nothing that fits: an interval that holds the student's number and the mistake's, and
    is narrower than what it explains, has them no farther apart than the student's and the right.
    """
    off = np.abs(wrong.values - numbers)
    most = wrong.off + wrong.judged.unit + 1e-6 * np.abs(wrong.values)
    return bool(2 * (off > most)[wrong.wrong].sum() <= len(wrong.cells))


def _is_seen_elsewhere(judge: Judge, step: Step, change: Change) -> bool | None:
    """Return True if other steps show a mistake, too; None if it changes no other shown step."""
    others = [judge.trace[name] for name in change if name != step.name and name in judge.trace]
    shown = [one for one in others if isinstance(judge.matrices.get(one.name), Written)]
    seen = all(_is_seen_in(judge, one, {one.name: change[one.name]}) for one in shown)
    return seen if shown else None


def _is_seen_in(judge: Judge, step: Step, change: Change) -> bool:
    """Return True if a mistake gives the numbers of a shown step, or may give them."""
    written = judge.matrices[step.name]
    assert isinstance(written, Written)  # as the step is shown
    for replay in (judge.operands.written, judge.operands.ranges):
        result = broadcast_to_step(replay.changed(step, change), step)
        if result is not None:
            near = agrees(written.values, written.unit, result, CUT_OFF)
            if (near | written.missing).all():
                return True
    return False


def _whole_lines(wrong: WrongStep, fits: Array) -> str:
    """Return the name of the heads or rows that hold all wrong cells and fit as a whole, or ""."""
    cells, step = wrong.wrong, wrong.step
    if "head" in step.leading:
        heads = [h for h in range(cells.shape[1]) if cells[:, h].any()]
        if len(heads) < cells.shape[1] and fits[:, heads].all() and cells.sum() > 1:
            return _listed("head", [str(h + 1) for h in heads])
    rows = [r for r in range(cells.shape[2]) if cells[:, :, r].any()]
    enough = cells.ndim == 4 and all(cells[:, :, r].sum() > 1 for r in rows)
    is_whole = enough and cells.shape[2] > len(rows) and fits[:, :, rows].all()
    return _rows(wrong) if is_whole else ""


def _rows(wrong: WrongStep) -> str:
    rows = dict.fromkeys(place[2] for place in wrong.cells)
    return _listed(wrong.noun(-2), [wrong.line(-2, row) for row in rows])


def _listed(noun: str, names: list[str]) -> str:
    return f"{noun}{'s' if len(names) > 1 else ''} {all_of(names)}"


def is_possible(
    trace: Trace, value: Callable[[Step], Array], step: Step, change: Change, result: Array
) -> bool:
    """Return True if a person may have calculated a step, which became `result`, so.

    No student writes one row again for all others, but heads may share what they are made from, and
    a sum is written beside its terms. Weights do not sum to 1 over the only query.
    """
    expression = change.get(step.name, step.operation)
    for axis in range(-1, 1 - result.ndim, -1):
        if result.shape[axis] != step.array.shape[axis] and not _is_summed(expression, axis):
            return False
    right = trace.problem.rules.normalize.along
    sums = (node for one in change.values() for node in walk(one) if isinstance(node, Sum))
    others = (node for node in sums if node.along != right)
    return all(evaluate(node.operand, value).shape[node.along] != 1 for node in others)


def _is_summed(expression: Expression | None, axis: int) -> bool:
    if isinstance(expression, Transposed):
        return _is_summed(expression.operand, -3 - axis)
    return isinstance(expression, Sum) and (
        expression.along == axis or _is_summed(expression.operand, axis)
    )
