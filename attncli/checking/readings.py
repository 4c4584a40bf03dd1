"""The letters of courses in a submission: which steps they mean, decided over all of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice, pairwise, product
from typing import Any, Protocol, TypeVar

from attncli.checking.answers import ShapeMismatch, read_submission, shape_of
from attncli.checking.judged import WRONG, Finding, Judged, Misshapen
from attncli.checking.names import find_answer, with_all_steps
from attncli.checking.submission import KEYS_BESIDE_STEPS, Submission
from attncli.errors import InputError, KeyPath
from attncli.mechanisms.trace import Trace
from attncli.records import Record, replace
from attncli.tape.words import LETTERS, meant

MAX_READINGS = 64
"""Maximum number of readings of a submission that are judged: three letters with four steps each.
Chosen."""

WORD = re.compile(
    rf"((?:d_)?(?:{'|'.join(map(re.escape, LETTERS))})(?=[_^\[\d]|\Z)|[^\[]+)(.*)", re.DOTALL
)
"""A letter or another word for steps, and the places behind it."""

CELL = re.compile(r"[_^]?\{?(\d)(?:\s*[,;]\s*|(?=\d\}?\Z))(\d{1,3})\}?")
"""The places of a cell as formulas have them: _10, _{1,0}."""


class Judgment(Protocol):
    """What a report says that helps to choose a reading; see `Report`."""

    @property
    def trace(self) -> Trace: ...
    @property
    def steps(self) -> Mapping[str, Judged]: ...
    @property
    def findings(self) -> Mapping[str, Finding]: ...
    @property
    def verdict(self) -> str: ...


R = TypeVar("R", bound=Judgment)


class Letter(Record):
    """A letter, or another word for several steps, in a submission."""

    base: str
    rests: Mapping[str, str]  # what is behind it, by the keys of the submission
    meant: tuple[str, ...]  # the steps that people call so, the most usual first
    fitting: tuple[str, ...] = ()  # those that have the shape of the matrices; or "" alone


def judged_as_read(
    submission: Submission, trace: Trace, judge: Callable[[Submission], R]
) -> tuple[R, tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Return the report on a submission in the reading of its letters that makes most of it right.

    Of readings that make as much right, one counts whose wrong steps a mistake explains, then one
    that has the steps in order. A letter that may still mean several steps is left out. Beside the
    report come a sentence for each unusual reading, and the keys that are left out, with hints.
    """
    letters = [*_letters(submission, trace)]
    tried: list[tuple[tuple[int, int, bool], tuple[str, ...], R]] = []
    every = product(*(one.fitting for one in letters)) if letters else ()
    for steps in islice(every, MAX_READINGS):
        with suppress(InputError):  # such as two words for the same cells
            read = _read_as(submission, letters, steps)
            report = judge(read)
            tried.append((_score(report, read), steps, report))
            if report.verdict == "correct":
                break
    if not letters or not tried:
        return judge(submission), (), ()
    best = max(score for score, _, _ in tried)
    likeliest = [(steps, report) for score, steps, report in tried if score == best]
    first, report = likeliest[0]
    if not _is_wrong(report):
        likeliest = likeliest[:1]  # the others hold the same numbers
    may_be = [tuple(dict.fromkeys(names)) for names in zip(*(s for s, _ in likeliest), strict=True)]
    clear = tuple(names[0] if _is_clear(names, report) else "" for names in may_be)
    if clear != first:
        report = _judged_without(submission, letters, clear, judge)
    said, skipped = list[str](), list[tuple[str, str]]()
    for one, step, names in zip(letters, clear, may_be, strict=True):
        if not step:
            hint = _may_mean(names if len(names) > 1 else one.meant)
            skipped += [(word, f"{hint}; write the name of the step") for word in one.rests]
        elif step != one.meant[0]:
            said.append(f"{one.base} is read as {step}.")
    return report, tuple(said), tuple(skipped)


def _is_clear(names: Sequence[str], report: Judgment) -> bool:
    """Return True if a letter means one step, and does not hold the numbers of another one."""
    finding = report.findings.get(names[0])
    return len(names) == 1 and (finding is None or finding.id != "another_step")


def _may_mean(names: Sequence[str]) -> str:
    *others, last = names
    return f"may mean {', '.join(others)} or {last}" if others else f"may mean {last}"


def _judged_without(
    submission: Submission,
    letters: Sequence[Letter],
    steps: Sequence[str],
    judge: Callable[[Submission], R],
) -> R:
    """Return the report on a submission without the letters of which no step is known."""
    try:
        return judge(_read_as(submission, letters, steps))
    except InputError:  # nothing else in it is a step
        return judge(replace(submission, matrices={}))


def _letters(submission: Submission, trace: Trace) -> Iterator[Letter]:
    """Yield the words of a submission that may mean several steps, or a step by a letter alone."""
    rests: dict[str, dict[str, str]] = {}
    for key in submission.matrices:
        if key not in KEYS_BESIDE_STEPS and key not in trace and (match := WORD.fullmatch(key)):
            rests.setdefault(match[1].strip(), {})[key] = match[2]
    taken = set[str]()
    for base, of_base in rests.items():
        if base in trace or base in trace.inputs or base in trace.problem.names:
            continue
        wide = with_all_steps(trace)
        letter = base.removeprefix("d_")
        named = (f"{base.removesuffix(letter)}{name}" for name in LETTERS.get(letter, ()))
        usual = [*meant(base, wide.steps, wide.added), *named]
        names = [n for n in usual if n in wide or any(x.startswith(f"{n}_") for x in wide.steps)]
        names = [*dict.fromkeys(names)]
        if not names or (len(names) == 1 and all(_is_known(key, trace) for key in of_base)):
            continue
        one = Letter(base, of_base, tuple(names))
        fits = {name: _fits(submission, one, name, wide) for name in names}
        fitting = [name for name in names if fits[name]]
        fitting.sort(key=lambda name: (-(fits[name] or 0), name not in trace))
        if {*fits.values()} == {None}:
            continue
        # Of steps that equal each other, one that no other letter means.
        equal: dict[int, list[str]] = {}
        for name in fitting:
            equal.setdefault(id(wide[name].array) if name in wide else id(name), []).append(name)
        chosen = [next((x for x in same if x not in taken), same[0]) for same in equal.values()]
        taken.update(chosen if len(chosen) == 1 else ())
        yield replace(one, fitting=tuple(chosen) or ("",))


def _is_known(word: str, trace: Trace) -> bool:
    try:
        find_answer(word, trace)
    except InputError:
        return False
    return True


def _fits(submission: Submission, letter: Letter, step: str, wide: Trace) -> int | None:
    """Return 2 if all matrices of a letter have the shape of a step, 1 if they can be laid out so.

    0 is returned if their shapes are wrong, None if they mean no cells of the step.
    """
    alone = {key: submission.matrices[key] for key in letter.rests}
    read = _read_as(replace(submission, matrices=alone), [letter], [step])
    try:
        matrices, skipped = read_submission(read, wide)
    except InputError:
        return None
    wrong = [one for one in matrices.values() if isinstance(one, ShapeMismatch)]
    if not matrices or skipped:
        return None
    shapes = {shape_of(raw) for raw in alone.values()}
    is_same = step in wide and shapes == {wide[step].value.shape}
    return 1 + is_same if all(one.transposed for one in wrong) else 0


def _read_as(submission: Submission, letters: Sequence[Letter], steps: Sequence[str]) -> Submission:
    """Return a submission with names of steps for its letters; without those that mean none."""
    rests = [rest for one in letters for rest in one.rests.values()]
    first = 0 if any("0" in match.groups() for match in map(CELL.fullmatch, rests) if match) else 1
    new: dict[str, str] = {}
    for one, step in zip(letters, steps, strict=True):
        for key, rest in one.rests.items():
            new[key] = step and step + _places(rest, submission.matrices[key], 1 - first)
    old = {name: key for key, name in new.items() if name}
    matrices = {new.get(key, key): raw for key, raw in submission.matrices.items()}
    matrices.pop("", None)
    if len(matrices) < len(submission.matrices) - [*new.values()].count(""):
        raise InputError  # two words for one step

    def back(path: KeyPath) -> KeyPath:
        return (old.get(str(path[0]), path[0]), *path[1:]) if path else path

    labels = {
        next((new[key] + word[len(key) :] for key in new if word.startswith(key)), word): beside
        for word, beside in submission.labels.items()
    }
    is_row = submission.is_row
    return replace(
        submission,
        matrices=matrices,
        labels=labels,
        locate=lambda path: submission.locate(back(path)),
        heading=(lambda path: submission.heading(back(path))) if is_row else submission.heading,
    )


def _places(rest: str, raw: Any, added: int) -> str:
    """Return places in brackets, or of a row as `_2`; a single number is that of a cell."""
    if (match := CELL.fullmatch(rest)) and isinstance(raw, str | int | float):
        return f"[{int(match[1]) + added}, {int(match[2]) + added}]"
    return rest if rest[:1] in ("", "[") else re.sub(r"[_^]?\{?(.*?)\}?", r"_\1", rest, count=1)


def _score(report: Judgment, read: Submission) -> tuple[int, int, bool]:
    """Return how many numbers are right, how many wrong steps a mistake explains, and the order.

    Numbers count in steps of which half is right; a few of others may be right by accident.
    """
    right = 0
    for counts in (judged.counts for judged in report.steps.values()):
        of_step = sum(counts.values()) - counts["missing"] - counts["wrong"]
        right += of_step if of_step >= counts["wrong"] else 0
    explained = sum(one.gives_all and one.certain for one in report.findings.values())
    order = [*report.trace.steps]
    places = [order.index(name) for name in read.matrices if name in report.trace]
    return right, explained, all(a <= b for a, b in pairwise(places))


def _is_wrong(report: Judgment) -> bool:
    return any(one.has(WRONG) or isinstance(one, Misshapen) for one in report.steps.values())
