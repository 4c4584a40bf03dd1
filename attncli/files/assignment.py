"""The problems of a class: the same ones for all, or for each student a variant of them."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from attncli.checking.check import AnswerKey
from attncli.errors import Fault, InputError, Place, fail, refuse
from attncli.files import archives
from attncli.files.document import FileName, error_at
from attncli.files.load import Overrides, load_each
from attncli.problem.marking import Marking
from attncli.problem.problem import Problem
from attncli.records import Record
from attncli.text.escapes import visible
from attncli.text.filenames import safe

PROBLEM_SUFFIXES = (".yaml", ".yml", ".json", ".jsonl", ".csv", ".tsv", ".npz")
"""Suffixes of the files in a folder that are read."""

SOLUTIONS = "keys"
"""The folder in which `attn vary` writes the solutions, beside the variants."""

VARIANTS_KEPT = 32
"""Number of variants whose right numbers are kept: 200 students with 4 variants then take 0.1 s to
grade and not 1.9 s, and a variant per student takes little memory."""

NUMBERED = re.compile(
    r"(?:problem|prob|p|question|q|exercise|ex|task|aufgabe|no|nr|part)? ?0*(\d+)"
)
"""The number of a problem, and words that people write before it."""


def folded_name(name: str) -> str:
    """Return a name in the form in which names of files and students are compared.

    >>> folded_name("Ada_Lovelace"), folded_name("ada  lovelace")
    ('ada lovelace', 'ada lovelace')
    """
    words = unicodedata.normalize("NFC", safe(name)).casefold()
    return " ".join(re.sub(r"[\s_.-]+", " ", words).split())


class ProblemSet(Record):
    """The answer keys of a student, and the names of each problem: its title and its file."""

    keys: Sequence[AnswerKey]
    words: Sequence[Sequence[str]]

    def which(self, word: str) -> int | None:
        """Return the index of the problem whose number, title or file a word is."""
        said = folded_name(word)
        for index, words in enumerate(self.words):
            if said and said in words:
                return index
        match = NUMBERED.fullmatch(said)
        number = int(match[1]) if match else 0
        return number - 1 if 1 <= number <= len(self.keys) else None

    def title(self, index: int) -> str:
        """Return the title of a problem for a report, or its number among several."""
        several = len(self.keys) > 1
        return self.keys[index].problem.title or (f"problem {index + 1}" if several else "")


class Assignment:
    """The problems of a class.

    Args:
        problems: those that everybody works; none if there are variants.
        variants: the files of each variant, by its name, which is that of a student.
        overrides: what flags set in each problem of the variants.
        stems: the names of the problems' files without suffixes, if each has its own.

    Raises:
        InputError: for problems that cannot be calculated, a marking that names no step, and
            files of variants that cannot be read.
    """

    def __init__(
        self,
        problems: Sequence[Problem],
        variants: Mapping[str, Sequence[str]] | None = None,
        overrides: Overrides | None = None,
        stems: Sequence[str] = (),
    ) -> None:
        self._overrides = overrides or Overrides()
        self._variants = {
            folded_name(name): tuple(files) for name, files in (variants or {}).items()
        }
        self._names = {folded_name(name): name for name in variants or {}}
        self._of_variant = lru_cache(VARIANTS_KEPT)(self._read)
        markings: list[Marking] = []
        if self._variants:
            self._shared = None
            self.first = self._of_variant(next(iter(self._variants)))
            markings += self._markings()
        else:
            self._shared = self.first = problem_set([AnswerKey(one) for one in problems], stems)
        markings += [key.marking for key in self.first.keys]
        steps = dict.fromkeys(name for marking in markings for name in marking.points)
        self.points = tuple(steps)
        """Names of the steps that have points in some problem."""

    @property
    def names(self) -> list[str]:
        """The names of the variants; none if everybody works the same problems."""
        return list(self._names.values())

    def has(self, name: str) -> bool:
        return folded_name(name) in self._variants

    @property
    def are_numbered(self) -> bool:
        """True if the variants have the numbers from 1, and not the names of students."""
        said = [re.split(r"(\d+)", name, maxsplit=1) for name in self._variants]
        numbers = sorted(int(parts[1]) for parts in said if len(parts) > 1)
        is_alike = len({re.sub(r"\d+", "", name) for name in self._variants}) == 1
        return is_alike and numbers == [*range(1, len(said) + 1)]

    def variant_of(self, *names: str) -> str:
        """Return the name of a student's variant; "" if everybody works the same problems.

        Args:
            names: what the student is called, the most reliable name first. A variant has exactly
                one of them, or its start, as learning platforms make names longer.

        Raises:
            InputError: if no variant has such a name.
        """
        if self._shared is not None:
            return ""
        said = [folded_name(name) for name in names if name]
        for name in said:
            if name in self._variants:
                return self._names[name]
        for name in said:
            if starts := [known for known in self._variants if name.startswith(f"{known} ")]:
                return self._names[max(starts, key=len)]
        known = ", ".join(map(visible, self.names[:5])) + (", …" if len(self.names) > 5 else "")
        who = visible(next(iter(filter(None, names)), ""))
        raise fail(f"no variant is called {who}", hint=f"the variants are {known}")

    def given_to(self, *names: str) -> ProblemSet:
        """Return the problems of a student; names and errors are those of `variant_of`."""
        name = self.variant_of(*names)
        return self._shared or self._of_variant(folded_name(name))

    def _read(self, name: str) -> ProblemSet:
        problems = list(_problems(self._variants[name], self._overrides))
        stems = [Path(file).stem for file in self._variants[name]]
        have_own = len(stems) == len(problems) > 1
        return problem_set([AnswerKey(one) for one in problems], stems if have_own else ())

    def _markings(self) -> Iterator[Marking]:
        seen: set[str] = set()
        for name, files in self._variants.items():
            found = list(_problems(files, self._overrides))
            said = repr([(one.marking.ask, one.marking.points) for one in found])
            if said not in seen:
                seen.add(said)
                yield from (key.marking for key in self._of_variant(name).keys)


def problem_set(keys: Sequence[AnswerKey], stems: Sequence[str] = ()) -> ProblemSet:
    titles = [key.problem.title for key in keys]
    stems = stems or [""] * len(keys)
    pairs = zip(titles, stems, strict=True)
    return ProblemSet(keys, [[folded_name(word) for word in pair if word] for pair in pairs])


def _problems(files: Sequence[str], overrides: Overrides) -> Iterator[Problem]:
    number = 0
    for file in files:
        for found in load_each(file, overrides):
            if isinstance(found, InputError):
                raise found
            number += 1
            yield found.numbered(number)


def load_assignment(source: FileName, overrides: Overrides | None = None) -> Assignment:
    """Return the assignment of a class: the problems of a file, or of a folder.

    In a folder, if all problems have different titles, everybody works all of them, in the order of
    the files' names. Otherwise each file is the variant of the student whose name it has; so is
    each folder inside, with any number of problems. The solutions that `attn vary` writes are left
    out.

    Raises:
        InputError: for a folder without problems, and for those of an `Assignment`.
    """
    overrides, folder = overrides or Overrides(), os.fspath(source)
    if not archives.is_folder(folder):
        return Assignment([*_problems([folder], overrides)])
    flat, nested = list[str](), dict[str, list[str]]()
    for path, parts in files_in(folder):
        is_problem = Path(path).suffix.lower() in PROBLEM_SUFFIXES and SOLUTIONS not in parts[:-1]
        if not is_problem or is_hidden(Path(path).name):
            continue
        if len(parts) == 1:
            flat.append(path)
        else:
            nested.setdefault("/".join(parts[:-1]), []).append(path)
    if not flat and not nested:
        hint = f"name a file, or put problems into it as {', '.join(PROBLEM_SUFFIXES)}"
        raise error_at(Place(folder), "there are no problems in this folder", hint)
    variants = {Path(path).stem: [path] for path in flat}
    variants |= {Path(name).name: files for name, files in nested.items()}
    if not nested:
        problems, faults = list[Problem](), list[Fault]()
        for path in flat:
            try:
                problems += _problems([path], overrides)
            except InputError as error:
                faults += error.faults
        refuse(faults)
        titles = {problem.title for problem in problems} - {""}
        if len(titles) == len(problems):
            numbered = [one.numbered(place) for place, one in enumerate(problems, 1)]
            stems = [Path(path).stem for path in flat]
            return Assignment(numbered, stems=stems if len(stems) == len(problems) else ())
    return Assignment((), variants, overrides)


def files_in(folder: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the path of every file in a folder and below, and its parts without the suffix.

    Files come in the order of their names. A hidden folder is yielded, but not what is in it.
    """
    for at, hidden, names in _walked(folder):
        parts = _parts(at, folder)
        for name in sorted([*names, *hidden], key=natural):
            yield str(Path(at) / name), (*parts, Path(name).stem)


def folders_in(folder: str) -> Iterator[tuple[str, ...]]:
    for at, _, _ in _walked(folder):
        if parts := _parts(at, folder):
            yield parts


def _parts(path: str, folder: str) -> tuple[str, ...]:
    return tuple(map(without_zip, Path(path).relative_to(folder).parts))


def without_zip(name: str) -> str:
    """Return the name of a folder; that of a zip file is without its suffix."""
    return name[: -len(archives.SUFFIX)] if name.lower().endswith(archives.SUFFIX) else name


def _walked(folder: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield a folder and each one below it, with the names of its hidden folders and its files."""
    for at, folders, names in archives.walk(folder):
        hidden = [name for name in folders if is_hidden(name)]
        folders[:] = sorted(set(folders) - set(hidden), key=natural)
        yield at, hidden, names


def is_hidden(name: str) -> bool:
    """Return True for a file that operating systems make, and not people."""
    others = ("__MACOSX", "Thumbs.db", "desktop.ini")
    return name.startswith((".", "~$")) or name in others


def natural(name: str) -> list[tuple[int, str]]:
    """Return a key that sorts names as people do: hw2 before hw10.

    >>> sorted(["hw10", "hw2"], key=natural)
    ['hw2', 'hw10']
    """
    parts = re.split(r"(\d+)", unicodedata.normalize("NFC", name).casefold())
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]
