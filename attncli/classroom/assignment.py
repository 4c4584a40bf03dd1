"""The problems of a class: the same ones for all, or for each student a variant of them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from attncli.checking.check import AnswerKey
from attncli.classroom.roster import Person, Roster, words_of
from attncli.core.errors import Fault, InputError, Place, fail, refuse
from attncli.core.problem.marking import Marking
from attncli.core.problem.problem import Problem
from attncli.core.records import Record
from attncli.core.text.escapes import visible
from attncli.reading.document import FileName, Submission, error_at
from attncli.reading.files import files_in, is_folder, is_hidden
from attncli.reading.load import Overrides, load_each

PROBLEM_SUFFIXES = (".yaml", ".yml", ".json", ".jsonl", ".csv", ".tsv", ".npz")
"""Suffixes of the files in a folder that are read."""

SOLUTIONS = "keys"
"""The folder in which `attn vary` writes the solutions, beside the variants."""

VARIANTS_KEPT = 32
"""Number of variants whose right numbers are kept: 200 students with 4 variants then take 0.1 s to
grade and not 1.9 s, and a variant per student takes little memory."""

HOMEWORK = (
    r"(?:hw|home ?work|assignment|assign|ha|ps|problem ?set|work ?sheet|sheet|blatt|week|lab)"
)
NUMBER_WORDS = (
    r"(?:problem|prob|pb|p|question|quest|q)",
    r"(?:exercise|ex|task|aufgabe|part|nr|no|number)",
    rf"{HOMEWORK} \d+",
)
"""Words before the number of a problem in the name of a file, the most reliable ones first; the
number after that of the homework is one, too."""

NO_NAME = re.compile(
    rf"(?<!\w)({HOMEWORK}( \d+)?|(v|version|rev|final|draft|attempt|try|copy)( \d+)?|answers?|"
    r"sol|solutions?|submission|results?|exercises?|problems?|questions?|tasks?|aufgaben?|"
    r"abgabe|lo(e)?sung(en)?|read ?me|instructions?)(?!\w)"
)
"""Words in the name of a file that are no part of a student's name."""

NUMBER_ALONE = re.compile(rf"(?:{'|'.join(NUMBER_WORDS[:2])})? ?0*(\d{{1,3}})")

OTHER_NUMBER = re.compile(
    rf".*\b({HOMEWORK}|v|version|rev|final|draft|attempt|try|copy|group|team|variant)"
)
"""The end of a name whose number is not that of a problem."""

COPY = re.compile(r"\s*\(\d+\)\s*\Z")
"""The number that a browser adds to the name of a file that was there already."""


class ProblemSet(Record):
    """The answer keys of a student, and the names of each problem: its title and its file."""

    keys: Sequence[AnswerKey]
    words: Sequence[Sequence[str]]

    def which(self, said: str) -> int | None:
        """Return the index of the problem whose number, title or file a text is."""
        text = spaced(said)
        if text and (own := [index for index, words in enumerate(self.words) if text in words]):
            return own[0]
        match = NUMBER_ALONE.fullmatch(text)
        index = int(match[1]) - 1 if match else -1
        return index if 0 <= index < len(self.keys) else None

    def in_name(self, said: str) -> tuple[int | None, str]:
        """Return the index of the problem that a name tells, of several, and the rest of it."""
        index, rest = problem_in(said, self.words)
        return index if len(self.keys) > 1 else None, rest

    def fitting(self, submission: Submission) -> int | None:
        """Return the index of the only problem whose steps a submission has, in their shapes."""
        misfits = [key.misfits(submission) for key in self.keys]
        least = min(misfits)
        return misfits.index(least) if misfits.count(least) == 1 and least[0] == 0 else None

    def title(self, index: int) -> str:
        """Return the title of a problem for a report, or its number among several."""
        several = len(self.keys) > 1
        return self.keys[index].problem.title or (f"problem {index + 1}" if several else "")


class Assignment:
    """The problems of a class.

    Args:
        problems: those that everybody works; none if there are variants.
        variants: the problems of each variant, by its name: the student's, or its number.
        stems: the names of the problems' files without suffixes, if each has its own.

    Raises:
        InputError: for problems that cannot be calculated, and a marking that names no step.
    """

    def __init__(
        self,
        problems: Sequence[Problem],
        variants: Mapping[str, Sequence[Problem]] | None = None,
        stems: Sequence[str] = (),
    ) -> None:
        self._variants = dict(variants or {})
        self._keys_of = lru_cache(VARIANTS_KEPT)(self._read)
        self._stems = stems
        self._shared = None if self._variants else problem_set(problems, stems)
        self.first = self._shared or self._keys_of(next(iter(self._variants)))
        self.are_numbered = all(re.fullmatch(r"\D*\d{1,3}", name) for name in self._variants)
        people = () if self.are_numbered else [Person(name) for name in self._variants]
        self.roster = Roster(people)
        """The class that the names of the variants tell; empty if they are numbers."""
        self.points = tuple(dict.fromkeys(name for m in self._markings() for name in m.points))
        """Names of the steps that have points in some problem."""

    @property
    def names(self) -> list[str]:
        """The names of the variants; none if everybody works the same problems."""
        return list(self._variants)

    def variant_of(self, *names: str) -> str:
        """Return the name of a student's variant; "" if everybody works the same problems.

        Args:
            names: what the student or the variant is called, the most reliable name first.

        Raises:
            InputError: if no variant has such a name.
        """
        if self._shared is not None:
            return ""
        for said in filter(None, names):
            if (person := self.roster.find(said)) is not None:
                return person.name
            if (numbered := self._numbered(said)) is not None:
                return numbered
        known = ", ".join(map(visible, self.names[:5])) + (", …" if len(self.names) > 5 else "")
        who = visible(next(iter(filter(None, names)), ""))
        raise fail(f"no variant is called {who}", hint=f"the variants are {known}")

    def _numbered(self, said: str) -> str | None:
        """Return the variant whose number a text begins with, such as 07 of `07-Flo`."""
        number = re.match(r"\D*?0*(\d+)(?!\d)", said)
        if number is None or not self.are_numbered:
            return None
        return next(
            (own for own in self._variants if re.fullmatch(rf"\D*0*{number[1]}", own)), None
        )

    def given_to(self, *names: str) -> ProblemSet:
        """Return the problems of a student; names and errors are those of `variant_of`."""
        return self._shared or self._keys_of(self.variant_of(*names))

    def _read(self, name: str) -> ProblemSet:
        return problem_set(self._variants[name], self._stems)

    def _markings(self) -> Iterator[Marking]:
        """Yield the markings, each with the names of steps; equal ones of variants only once."""
        if self._shared is not None:
            yield from (key.marking for key in self._shared.keys)
        seen: set[str] = set()
        for name, problems in self._variants.items():
            said = repr([(one.marking.ask, one.marking.points) for one in problems])
            if said not in seen:
                seen.add(said)
                yield from (key.marking for key in self._keys_of(name).keys)


def problem_set(problems: Sequence[Problem], stems: Sequence[str] = ()) -> ProblemSet:
    keys = [AnswerKey(problem) for problem in problems]
    own = stems if len(stems) == len(keys) else [""] * len(keys)
    pairs = [(spaced(key.problem.title), spaced(stem)) for key, stem in zip(keys, own, strict=True)]
    return ProblemSet(keys, [[word for word in pair if word] for pair in pairs])


def load_assignment(source: FileName, overrides: Overrides | None = None) -> Assignment:
    """Return the assignment of a class: the problems of a file, or of a folder.

    Problems with the key `student` or `variant` are those of that variant. In a folder of others,
    if all have different titles, everybody works all of them, in the order of the files' names;
    else each file is the variant of the student whose name it has, and so is each folder inside,
    with any number of problems. The solutions that `attn vary` writes are left out.

    Raises:
        InputError: for a folder without problems, and for those of an `Assignment`.
    """
    name = os.fspath(source)
    folders = problem_files(name) if is_folder(name) else None
    problems: dict[str, list[Problem]] = {}
    faults = list[Fault]()
    for file in folders or [name]:
        for found in load_each(file, overrides or Overrides()):
            if isinstance(found, InputError):
                faults += found.faults
            else:
                problems.setdefault(file, []).append(found)
    refuse(faults)
    return assigned(problems, folders)


def assigned(
    problems: Mapping[str, Sequence[Problem]], folders: Mapping[str, tuple[str, ...]] | None = None
) -> Assignment:
    """Return the assignment that problems are, by their files; `folders` are those around each."""
    pairs = [(file, one) for file, some in problems.items() for one in some]
    names = [one.student or one.variant for _, one in pairs]
    if not all(names) or (folders is None and len(set(names)) < 2):
        titles = {one.title for _, one in pairs} - {""}
        is_flat = not any((folders or {}).values())
        if folders is None or (is_flat and len(titles) == len(pairs)):
            every = _numbered([one for _, one in pairs])
            return Assignment(every, stems=[Path(file).stem for file in problems])
        names = [[Path(file).stem, *folders[file]][-1] for file, _ in pairs]
    variants: dict[str, list[Problem]] = {}
    for name, (_, one) in zip(names, pairs, strict=True):
        variants.setdefault(name, []).append(one)
    return Assignment((), {name: _numbered(some) for name, some in variants.items()})


def _numbered(problems: Sequence[Problem]) -> list[Problem]:
    return [one.numbered(number) for number, one in enumerate(problems, 1)]


def problem_files(folder: str) -> dict[str, tuple[str, ...]]:
    """Return the problem files in a folder and below, each with the folders around it.

    The solutions that `attn vary` writes are left out.

    Raises:
        InputError: if there are none.
    """
    found = {
        path: parts[:-1]
        for path, parts in files_in(folder)
        if Path(path).suffix.lower() in PROBLEM_SUFFIXES
        and SOLUTIONS not in parts[:-1]
        and not is_hidden(Path(path).name)
    }
    if not found:
        hint = f"name a file, or put problems into it as {', '.join(PROBLEM_SUFFIXES)}"
        raise error_at(Place(folder), "there are no problems in this folder", hint)
    return found


class NameOfFile:
    """The words and numbers of a name, in lower case with blanks between them: hw 2 of HW2."""

    def __init__(self, said: str) -> None:
        self._said = said = COPY.sub("", said)
        self._parts = [*re.finditer(r"\d+|[^\W\d_]+", said)]
        self._words = ["".join(words_of(part[0])) or part[0] for part in self._parts]
        self.text = " ".join(self._words)

    def without(self, *spans: tuple[int, int]) -> str:
        """Return the name as written, but without parts of `text`, and words that are no names."""
        left_out = [*spans, *(match.span() for match in NO_NAME.finditer(self.text))]
        kept, at = self._said, len(self.text)
        for part, word in zip(self._parts[::-1], self._words[::-1], strict=True):
            at -= len(word)
            if any(start <= at < end for start, end in left_out):
                kept = f"{kept[: part.start()]} {kept[part.end() :]}"
            at -= 1
        return " ".join(re.sub(r"(?<!\S)[^\w\s]+(?!\S)|_", " ", kept).split()).strip(" -.,")


def spaced(text: str) -> str:
    """Return the words and numbers of a text, in lower case with blanks between them."""
    return NameOfFile(text).text


def problem_in(said: str, problems: Sequence[Sequence[str]]) -> tuple[int | None, str]:
    """Return the index of the problem that a name tells, and the rest of the name as written.

    The index is None if the name tells no problem, or may tell several. `problems` has the names of
    each one, as `spaced` writes them.

    >>> [problem_in(name, [[], ["masks"]]) for name in ("HW2 Problem 1 - Ada", "hw2-2", "Bo masks")]
    [(0, 'Ada'), (1, ''), (1, 'Bo')]
    """
    name = NameOfFile(said)
    numbers = {str(number): number - 1 for number in range(1, len(problems) + 1)}
    for words in NUMBER_WORDS:
        found = [*re.finditer(rf"(?<!\w){words} 0*(\d+)(?!\w)", name.text)]
        indices = {numbers.get(match[1]) for match in found} - {None}
        if len(indices) == 1:
            return indices.pop(), name.without(*(match.span() for match in found))
    for index, own in enumerate(problems):
        for word in sorted(own, key=len, reverse=True):
            if match := re.search(rf"(?<!\w){re.escape(word)}(?!\w)", name.text):
                return index, name.without(match.span())
    rest, _, number = name.text.rpartition(" ")
    last = numbers.get(number.lstrip("0"))
    if last is None or OTHER_NUMBER.fullmatch(rest):
        return None, name.without()
    return last, name.without((len(name.text) - len(number), len(name.text)))
