"""How a submission is read: which steps its letters mean, and which correct way it was worked."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import islice, product
from typing import Protocol, TypeAlias, TypeVar

from attncli.checking.answers import answers
from attncli.checking.answers.answers import read_submission
from attncli.checking.answers.step_names import in_row, is_one_number, with_all_steps
from attncli.checking.answers.written_cells import Matrices, ShapeMismatch, Written
from attncli.checking.judging import equivalent_forms
from attncli.checking.judging.agreement import CUT_OFF, agrees
from attncli.checking.judging.equivalent_forms import Forms
from attncli.checking.judging.judge import Judge
from attncli.checking.judging.judged_steps import WRONG, Finding, Judged, Misshapen
from attncli.checking.judging.operands import Reference
from attncli.core.calculation.trace import Trace
from attncli.core.errors import InputError
from attncli.core.problem.keys import KINDS
from attncli.core.records import EMPTY, Record, replace
from attncli.core.tape.operations import TOKEN_AXES
from attncli.core.tape.step_words import LETTERS, meant
from attncli.core.text.strings import plain_name, regex
from attncli.reading.document import Submission

MAX_READINGS = 64
"""Maximum number of readings of a submission that are judged: three letters with four steps each.
Chosen."""

FORWARD = ("scores", "scaled", "masked", "weights", "context", "output")
"""The steps that any letter may mean if its matrix has exactly their shape."""

WORD = regex(
    rf"((?:d_)?(?:{'|'.join(map(re.escape, LETTERS))})(?=[_^\[\d]|\Z)|\w+(?=\(\w+\)\Z)|[^\[]+)(.*)",
    re.DOTALL,
)
"""A letter or another word for steps, and the places behind it."""

SUBSCRIPTS = regex(r"[_^]?\{?(\d)(?:\s*[,;]\s*|(?=\d\}?\Z))(\d{1,3})\}?")
"""The places of a cell as formulas have them: _10, _{1,0}."""


class Judgment(Protocol):
    """The part of a `Report` by which a reading is chosen."""

    @property
    def steps(self) -> Mapping[str, Judged]: ...
    @property
    def findings(self) -> Mapping[str, Finding]: ...
    @property
    def verdict(self) -> str: ...
    @property
    def said(self) -> tuple[str, ...]: ...


ReportT = TypeVar("ReportT", bound=Judgment)


class Letter(Record):
    """A letter, or another word for several steps, in a submission."""

    base: str
    rests: Mapping[str, str]  # what is written behind it, by the keys of the submission
    meant: tuple[str, ...]  # the steps that people call so, the most usual first
    fitting: tuple[str, ...] = ()  # the steps, of any name, whose shape it fits; ("",) for none
    exact: frozenset[str] = frozenset()  # those of the same shape


def judged_as_read(
    submission: Submission, trace: Trace, judge: Callable[[Submission], ReportT]
) -> tuple[ReportT, tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Return the report on a submission in the reading of its letters that makes most of it right.

    `_score` decides between readings that make the same amount right. A letter that may still mean
    several steps is left out.

    Returns:
        The report, a sentence for each unusual reading, and the keys left out, with hints.
    """
    letters = [*_letters(submission, trace)]
    best = _best_readings(submission, letters, trace, judge) if letters else []
    if not best:
        return judge(submission), (), ()
    report = best[0][1]
    every = zip(*(steps for steps, _ in best), strict=True)
    may_be = [tuple(dict.fromkeys(names)) for names in every]
    clear = [names[0] if _is_clear(names, report) else "" for names in may_be]
    said, skipped = list[str](), list[tuple[str, str]]()
    for one, step, names in zip(letters, clear, may_be, strict=True):
        if not step:
            which = " or ".join(
                names if len(names) > 1 else [*filter(None, one.fitting)] or one.meant
            )
            skipped += [(word, f"may mean {which}; {answers.WHICH_STEP}") for word in one.rests]
        elif one.meant[:1] != (step,):
            said.append(f"{one.base} is read as {step}.")
    if skipped:
        try:
            report = judge(_read_as(submission, letters, clear, trace))
        except InputError:  # nothing else in it is a step
            report = judge(replace(submission, matrices={}))
    return report, tuple(said), tuple(skipped)


def _best_readings(
    submission: Submission,
    letters: Sequence[Letter],
    trace: Trace,
    judge: Callable[[Submission], ReportT],
) -> list[tuple[tuple[str, ...], ReportT]]:
    """Return the steps that letters may mean in the best readings, each with its report."""
    tried: list[tuple[tuple[int, ...], tuple[str, ...], ReportT]] = []
    every = filter(partial(_are_distinct, letters), product(*(one.fitting for one in letters)))
    for steps in islice(every, MAX_READINGS):
        read = _read_as(submission, letters, steps, trace)
        try:
            report = judge(read)
        except InputError:  # such as two words for the same cells
            continue
        pairs = [*zip(letters, steps, strict=True)]
        unusual = {step for one, step in pairs if step not in one.meant}
        exact = sum(step in one.exact for one, step in pairs)
        right, *others = _score(report, read, trace, unusual)
        early = sum(judged.counts["rounded_early"] for judged in report.steps.values())
        needed = early + len(report.said)  # which another reading may not need
        tried.append(((right, -needed, -len(unusual), exact, *others), steps, report))
        if report.verdict == "correct" and not needed:
            break
    best = max((score for score, _, _ in tried), default=None)
    likeliest = [(steps, report) for score, steps, report in tried if score == best]
    is_wrong = any(report.verdict == "wrong" for _, report in likeliest)
    return likeliest if is_wrong else likeliest[:1]  # of right ones, all are equal


def _are_distinct(letters: Sequence[Letter], steps: Sequence[str]) -> bool:
    """Return False if two letters mean the same whole step."""
    pairs = zip(letters, steps, strict=True)
    whole = [step for one, step in pairs if step and "" in one.rests.values()]
    return len({*whole}) == len(whole)


def _is_clear(names: Sequence[str], report: Judgment) -> bool:
    """Return True if a letter means one step, and does not hold the numbers of another one."""
    finding = report.findings.get(names[0])
    return len(names) == 1 and (finding is None or finding.id != "another_step")


def _letters(submission: Submission, trace: Trace) -> Iterator[Letter]:
    """Yield the words of a submission that may mean several steps, or a step by a letter alone."""
    rests: dict[str, dict[str, str]] = {}
    for key in submission.answers:
        if key not in trace and (match := WORD.fullmatch(plain_name(key))):
            rests.setdefault(match[1].strip(), {})[key] = match[2]
    known = {*trace.steps, *trace.inputs, *trace.problem.names}
    for base in [base for base in rests if base not in known]:
        wide, letter = with_all_steps(trace), base.removeprefix("d_")
        usual = LETTERS.get(letter, ())
        words = (*usual, *FORWARD) if usual else ()
        named = [f"{base.removesuffix(letter)}{name}" for name in words]
        of_networks = (one for one in trace if one.stem == base and isinstance(one.layer, str))
        gates = [*dict.fromkeys(one.name.removesuffix(one.suffix) for one in of_networks)]
        names = [*meant(base, wide.steps), *gates, *named[: len(usual)]]
        equal: dict[int, str] = {}  # of steps with the same numbers, one that is not handed in
        for name in [*sorted(names, key=lambda name: name not in trace), *named[len(usual) :]]:
            if name in wide and name not in submission.matrices:
                equal.setdefault(id(wide[name].array), name)
            elif any(step.startswith(f"{name}_") for step in trace.steps):
                equal[hash(name)] = name
        if letter not in LETTERS and len(equal) < 2:
            continue
        one = Letter(base, rests[base], tuple(name for name in equal.values() if name in names))
        fits = {name: _fits(submission, one, name, wide) for name in equal.values()}
        fits = {name: fit for name, fit in fits.items() if fit == 2 or name in names}
        if any(fit is not None for fit in fits.values()):
            fitting = sorted(filter(fits.get, fits), key=lambda name: fits[name] != 2)
            exact = frozenset(name for name in fits if fits[name] == 2)
            yield replace(one, fitting=tuple(fitting) or ("",), exact=exact)


def _fits(submission: Submission, letter: Letter, step: str, trace: Trace) -> int | None:
    """Return 2 if all matrices of a letter have the shape of a step, 1 if they can be given it.

    0 is returned if their shapes are wrong, None if they mean no cells of the step.
    """
    alone = {key: submission.matrices[key] for key in letter.rests}
    try:
        matrices, skipped = read_submission(
            _read_as(replace(submission, matrices=alone), [letter], [step], trace), trace
        )
    except InputError:
        return None
    if not matrices or skipped:
        return None
    shapes = {answers.shape_of(raw) for raw in alone.values()}
    is_same = step in trace and shapes == {trace[step].value.shape}
    wrong = [one for one in matrices.values() if isinstance(one, ShapeMismatch)]
    return 1 + is_same if all(one.transposed for one in wrong) else 0


def _read_as(
    submission: Submission, letters: Sequence[Letter], steps: Sequence[str], trace: Trace
) -> Submission:
    """Return a submission with steps for its letters; "" is none."""
    every = [rest for one in letters for rest in one.rests.values()]
    is_from_0 = any("0" in match.groups() for match in map(SUBSCRIPTS.fullmatch, every) if match)
    read = {}
    for one, step in zip(letters, steps, strict=True):
        for key, rest in one.rests.items():
            behind = f"[{rest[1:-1]}]" if rest[:1] == "(" else f"_{rest.strip('_^{}')}"
            places = rest if rest[:1] in ("", "[") else behind
            match = None if in_row(step + places, trace) else SUBSCRIPTS.fullmatch(rest)
            if match and is_one_number(submission.matrices[key]):
                row, column = (int(place) + is_from_0 for place in match.groups())
                places = f"[{row}, {column}]"  # a single number is no row
            read[key] = step and step + places
    return replace(submission, read_as=read)


def _score(
    report: Judgment, read: Submission, trace: Trace, unusual: Collection[str]
) -> tuple[int, ...]:
    """Return what makes a reading likely, the most important first.

    These are the counts of

    - right numbers in steps of which at least half is right, or three quarters in `unusual` steps,
      whose numbers may be right by accident;
    - wrong steps that a mistake explains;
    - those of the right numbers that do not follow from an error;
    - right numbers in other steps of which at least a quarter is right;
    - steps that are judged under the name that was read;

    and last, whether the steps are in the order of the calculation.
    """
    right = correct = few = 0
    for name, counts in ((name, judged.counts) for name, judged in report.steps.items()):
        wrong = counts["wrong"]
        of_step = sum(counts.values()) - counts["missing"] - wrong
        sure = counts["correct"] + counts["follows"]
        if sure >= 3 * wrong if name in unusual else of_step >= wrong:
            right += of_step
            correct += of_step - counts["follows"]
        elif 3 * of_step >= wrong:
            few += of_step
    explained = sum(one.gives_all and one.certain for one in report.findings.values())
    judged_so = sum(report.steps[n].status != "missing" for n in read.answers if n in report.steps)
    places = [[*trace.steps].index(name) for name in read.answers if name in trace]
    return right, explained, correct, few, judged_so, places == sorted(places)


class Way(Record, eq=False):
    """One way of working a problem, and a submission as it is read then."""

    reference: Reference
    matrices: Matrices
    submission: Submission
    said: tuple[str, ...] = ()  # a sentence for each thing that was done otherwise
    renamed: Mapping[str, str] = EMPTY  # the step that was written under the name of another one

    @cached_property
    def judge(self) -> Judge:
        return Judge(self.reference, self.matrices)

    @cached_property
    def wrong(self) -> set[str]:
        judged = self.judge.judged.items()
        return {name for name, one in judged if one.has(WRONG) or isinstance(one, Misshapen)}

    @cached_property
    def amount_wrong(self) -> tuple[int, int]:
        """The number of wrong steps, and of wrong numbers."""
        return len(self.wrong), sum(one.counts["wrong"] for one in self.judge.judged.values())


WaySearch: TypeAlias = Callable[[Way], Iterator[Way]]


def likeliest_way(way: Way) -> Way:
    """Return the way of working with the fewest wrong steps that makes no correct step wrong.

    Of as many wrong steps, that with the fewest wrong numbers.
    """
    for search in SEARCHES:
        for other in search(way) if way.wrong else ():
            possible = way.wrong | (other.matrices.keys() - way.matrices.keys())
            if other.amount_wrong < way.amount_wrong and _is_seen(other, possible, way):
                way = other if other.wrong <= possible else way
    return way


def _is_seen(way: Way, names: Collection[str], before: Way) -> bool:
    """Return True if a way explains half of the numbers that it changes in one of these steps.

    Numbers that fit as well without it do not count.
    """
    for name in names:
        one = way.matrices.get(name)
        if isinstance(one, Written):
            right = way.reference.trace[name].array
            changed, near = ~one.blank, ~way.judge.judged[name].wrong_numbers
            same = before.matrices.get(name)
            if isinstance(same, Written) and same.texts is one.texts:  # else it is read otherwise
                usual = before.reference.trace[name].array
                changed &= ~agrees(right, 0.0, usual)
                near &= ~agrees(one.values, one.unit, usual, CUT_OFF)
            if changed.any() and 2 * (near & changed).sum() >= changed.sum():
                return True
    return False


def _in_other_convention(way: Way) -> Iterator[Way]:
    """Yield tokens as columns throughout, or as rows where the problem has columns.

    No row or column may be left out, and where every shape fits both ways, every number must be
    right, as only the numbers tell then.
    """
    trace = way.reference.trace
    if "tokens_as" not in KINDS[trace.problem.kind].options or len(way.matrices) < 2:
        return
    fitting = [trace[name] for name, one in way.matrices.items() if isinstance(one, Written)]
    if fitting and all(step.backward and not TOKEN_AXES & {*step.trailing} for step in fitting):
        return  # the gradient of a weight matrix does not show whether tokens are rows
    change = partial(equivalent_forms.with_change, other_convention=True)
    right = way.reference.kept(("other convention",), partial(way.reference.changed, change))
    try:
        matrices = read_submission(way.submission, right.trace)[0]
    except InputError:  # a name of a cell, or a label, that fits the one way only
        return
    if not all(answers.is_whole(one) for one in matrices.values()):
        return
    tokens = "rows" if next(iter(trace)).columns else "columns"
    said = f"The tokens are in {tokens} throughout."
    other = replace(way, reference=right, matrices=matrices, said=(*way.said, said))
    if len(fitting) < len(way.matrices) or not other.wrong:
        yield other


def _scores_adjusted(way: Way) -> Iterator[Way]:
    trace, matrices = way.reference.trace, way.matrices
    for kind in ("scaled", "masked"):
        other = {
            name: name.replace("scores", kind) for name in matrices if name.startswith("scores")
        }
        if way.wrong & other.keys() and all(
            s in trace and s not in matrices for s in other.values()
        ):
            holds = "holds" if len(other) == 1 else "hold"
            said = f"{', '.join(other)} {holds} the {kind} scores."
            renamed = {other.get(name, name): one for name, one in matrices.items()}
            yield replace(way, matrices=renamed, said=(*way.said, said), renamed=other)


def _in_form(
    forms: Callable[[Trace, Collection[str]], Forms], way: Way, is_evident: bool = True
) -> Iterator[Way]:
    """Yield other forms of the calculation.

    An evident form gives half of the numbers that it changes in a wrong step. Numbers of any other
    form may also come from a mistake: it must change every wrong step, and the submission must
    show a step after them.
    """
    before, order = way.reference.trace, list(way.reference.trace.steps)
    later = order[max(map(order.index, way.wrong)) + 1 :]
    if not is_evident and way.matrices.keys().isdisjoint(later):
        return
    possible = forms(before, way.matrices)
    if not is_evident:
        possible = (form for form in possible if not way.wrong.isdisjoint(form[1]))
    for said, _, right in equivalent_forms.with_same_result(way.reference, possible):
        kept = {step.name for step in right.trace if step.array is before[step.name].array}
        matrices = {
            name: one.beside(right.trace[name]) if isinstance(one, Written) else one
            for name, one in way.matrices.items()
        }
        other = replace(way, reference=right, matrices=matrices, said=(*way.said, said))
        if _is_seen(other, way.wrong - kept, way) if is_evident else way.wrong.isdisjoint(kept):
            yield other


SEARCHES: tuple[WaySearch, ...] = (
    _in_other_convention,
    _scores_adjusted,
    partial(_in_form, equivalent_forms.masked_early),
    partial(_in_form, equivalent_forms.shifts),
    partial(_in_form, equivalent_forms.other_forms, is_evident=False),
)
"""Searches for another way; each is tried on the result of the one before it."""
