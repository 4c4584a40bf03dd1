"""Names of students and problems as people write them: which known names are in a text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from itertools import combinations
from os import PathLike
from typing import BinaryIO, Generic, TypeAlias, TypeVar

from attncli.core.text.strings import regex
from attncli.reading.people import Person, read_people

Owner = TypeVar("Owner")
"""Who or what has a name: the full name of a student, the index of a problem."""

Span: TypeAlias = tuple[int, int]
"""The place of the first word of a match in a text, and that behind its last."""

PLAIN_LETTERS = str.maketrans({"ı": "i", "ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe"})
"""Letters without their strokes, which Unicode does not take apart as it does é."""

UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"})
"""How letters with marks are written where a keyboard has none."""

MIN_IDENTIFIER = 3
"""Minimum length of a number or word that means a student: shorter ones are in many names."""

MAX_WORDS = 50
"""Maximum number of words of a text that may name a student, or of a name. Chosen."""

MAX_COMPARED = 300_000
"""Maximum number of pairs of an unknown text and a student that are compared: 8 s. Chosen."""

MIN_LIKENESS = 0.5
"""Minimum likeness (of `difflib`) of a text to a name that may be meant."""

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

NO_NAME = regex(
    rf"(?<!\w)({HOMEWORK}( \d+)?|(v|version|rev|final|draft|attempt|try|copy)( \d+)?|answers?|"
    r"sol|solutions?|submission|results?|exercises?|problems?|questions?|tasks?|aufgaben?|"
    r"abgabe|lo(e)?sung(en)?|read ?me|instructions?)(?!\w)"
)
"""Words in the name of a file that are no part of a student's name."""

NUMBER_ALONE = regex(rf"(?:{'|'.join(NUMBER_WORDS[:2])})? ?0*(\d{{1,3}})")

OTHER_NUMBER = regex(
    rf".*\b({HOMEWORK}|v|version|rev|final|draft|attempt|try|copy|group|team|variant)"
)
"""The end of a name whose number is not that of a problem."""

COPY = regex(r"(?<!\s)\s*+\(\d++\)\s*+\Z")
"""The number that a browser adds to the name of a file that was there already."""


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a name in the form in which names are compared.

    >>> words_of("Zoë O'Brien-Groß"), words_of("LOVELACE, Ada_hw2")
    (('zoe', 'o', 'brien', 'gross'), ('lovelace', 'ada', 'hw2'))
    """
    from unicodedata import combining, normalize  # which few commands need

    folded = normalize("NFKD", text.casefold().translate(PLAIN_LETTERS))
    return tuple(re.findall(r"[^\W_]+", "".join(c for c in folded if not combining(c))))


class NameIndex(Generic[Owner]):
    """Known names, each with those who have it, and the rule by which a text means one.

    A name matches successive words of a text that have its letters and digits; the other words do
    not matter. Of two matches of which one is inside the other, the longer one counts.

    Args:
        owners: those who have a name, by the name's words in the form of `words_of`, joined.
    """

    def __init__(self, owners: Mapping[str, Set[Owner]]) -> None:
        self._owners = owners

    def matches(self, words: Sequence[str]) -> dict[Span, Set[Owner]]:
        """Return the matches in the words of a text: their places, and who have the names."""
        spans = combinations(range(len(words) + 1), 2) if len(words) <= MAX_WORDS else ()
        names = {span: "".join(words[slice(*span)]) for span in spans}
        known = [span for span, name in names.items() if name in self._owners]
        longest = [
            (start, end)
            for start, end in known
            if not any((a, b) != (start, end) and a <= start and end <= b for a, b in known)
        ]
        return {span: self._owners[names[span]] for span in longest}

    def meant(self, words: Sequence[str]) -> Owner | None:
        """Return the only owner whom all matches may mean; None if there is none, or are several.

        >>> index = NameIndex({"adalovelace": {"Ada"}, "bokim": {"Bo"}, "4711": {"Ada", "Bo"}})
        >>> [index.meant(text.split()) for text in ("ada lovelace 4711", "4711", "4711 bokim ada")]
        ['Ada', None, 'Bo']
        """
        owners = self.matches(words).values()
        common = set.intersection(*map(set, owners)) if owners else set()
        return common.pop() if len(common) == 1 else None


class Roster:
    """The students of a class; `heads` are the headings of the roster's columns."""

    def __init__(self, people: Sequence[Person], heads: Sequence[str] = ()) -> None:
        self.people, self.heads = tuple(people), tuple(heads)
        self._named = dict.fromkeys(person.name for person in self.people)
        owners: dict[str, set[str]] = {}
        for keys_of in (_parts_of_name, _whole_keys):  # a whole name replaces a part of others
            by_key: dict[str, set[str]] = {}
            for person in self.people:
                for key in keys_of(person):
                    by_key.setdefault(key, set()).add(person.name)
            owners |= by_key
        self._index = NameIndex(owners)
        self._sorted = {" ".join(sorted(words_of(one.name))): one.name for one in self.people}
        self._compared = 0

    def __bool__(self) -> bool:
        return bool(self.people)

    def find(self, text: str) -> str:
        """Return the name of the student whom a text names; "" for nobody, or for several.

        >>> roster = Roster([Person("Ada Lovelace"), Person("Zoe Blum", (), ("4711",))])
        >>> [roster.find(text) for text in ("lovelace_ada_hw2", "blumzoe_3_hw2", "4711-hw")]
        ['Ada Lovelace', 'Zoe Blum', 'Zoe Blum']
        """
        return text if text in self._named else self._index.meant(words_of(text)) or ""

    def nearest(self, text: str) -> Sequence[str]:
        """Return the names that share the most words with a text, or the one most like it.

        After `MAX_COMPARED` comparisons there are none.

        >>> roster = Roster([Person("Ada Lovelace"), Person("Bo Kim"), Person("Min-jun Kim")])
        >>> [roster.nearest(text) for text in ("Ada", "Lovlace", "kim_hw2", "Zoe")]
        [['Ada Lovelace'], ['Ada Lovelace'], ['Bo Kim', 'Min-jun Kim'], []]
        """
        from difflib import get_close_matches

        words, names = sorted(words_of(text)), self._sorted
        self._compared += len(names)
        if len(words) > MAX_WORDS or self._compared > max(MAX_COMPARED, len(names)):
            return ()
        shared = {name: len({*words}.intersection(name.split())) for name in names}
        most = max(shared.values(), default=0)
        if most:
            return [names[name] for name in names if shared[name] == most]
        return [names[name] for name in get_close_matches(" ".join(words), names, 1, MIN_LIKENESS)]

    def named_in(self, text: str) -> list[str]:
        """Return the students whom a sentence names, in the order of the class."""
        owners = self._index.matches(words_of(text)).values()
        return [name for name in self._named if {name} in owners]


def _spellings(person: Person) -> list[tuple[str, ...]]:
    """Return the words of a name, the first name first, also with umlauts as two letters."""
    name = " ".join(reversed(person.name.casefold().split(",", 1)))
    spellings = (words_of(text) for text in (name, name.translate(UMLAUTS)))
    return [words for words in spellings if len(words) <= MAX_WORDS]


def _whole_keys(person: Person) -> set[str]:
    """Return the texts that mean a student, without blanks: the name in any order, and numbers."""
    spellings = _spellings(person)
    texts = {"".join(words[i:] + words[:i]) for words in spellings for i in range(len(words))}
    for identifier in person.identifiers:
        local, at, _ = identifier.partition("@")
        names = {"".join(words_of(identifier)), "".join(words_of(local)) if at else ""}
        texts |= {key for key in names if len(key) >= MIN_IDENTIFIER}
    return texts


def _parts_of_name(person: Person) -> set[str]:
    """Return the first word of a longer name with one other, in both orders."""
    pairs = ((words[0], word) for words in _spellings(person) for word in words[1:])
    return {text for one, other in pairs for text in (one + other, other + one)}


class NameOfFile:
    """The words and numbers of a name, in lower case with blanks between them: hw 2 of HW2."""

    def __init__(self, said: str) -> None:
        self._said = said = COPY.sub("", said)
        self._parts = [*re.finditer(r"\d+|[^\W\d_]+", said)]
        self.words = ["".join(words_of(part[0])) or part[0] for part in self._parts]
        self.text = " ".join(self.words)

    def span(self, words: Span) -> Span:
        """Return the place in `text` of some successive words."""
        before, within = self.words[: words[0]], self.words[slice(*words)]
        start = sum(len(word) + 1 for word in before)
        return start, start + len(" ".join(within))

    def without(self, *spans: Span) -> str:
        """Return the name as written, but without parts of `text`, and words that are no names."""
        left_out = [*spans, *(match.span() for match in NO_NAME.finditer(self.text))]
        kept, at = self._said, len(self.text)
        for part, word in zip(self._parts[::-1], self.words[::-1], strict=True):
            at -= len(word)
            if any(start <= at < end for start, end in left_out):
                kept = f"{kept[: part.start()]} {kept[part.end() :]}"
            at -= 1
        return " ".join(re.sub(r"(?<!\S)[^\w\s]+(?!\S)|_", " ", kept).split()).strip(" -.,")


def _joined(name: str) -> str:
    return "".join(NameOfFile(name).words)


class ProblemNames:
    """How people may call the problems of a student: by number, title, or the name of its file.

    Args:
        names: the title and the name of the file of each problem, as far as it has them.
    """

    def __init__(self, names: Sequence[Sequence[str]]) -> None:
        self._by_number = {str(index + 1): index for index in range(len(names))}
        self._whole: dict[str, int] = {}
        for index, several in enumerate(names):
            for key in filter(None, map(_joined, several)):
                self._whole.setdefault(key, index)
        self._index = NameIndex({key: {index} for key, index in self._whole.items()})
        self._told: dict[str, tuple[int | None, str]] = {}

    def which(self, text: str) -> int | None:
        """Return the index of the problem whose number, title or file a text is."""
        if (index := self._whole.get(_joined(text))) is not None:
            return index
        match = NUMBER_ALONE.fullmatch(NameOfFile(text).text)
        return self._numbered(match[1]) if match else None

    def in_name(self, text: str) -> tuple[int | None, str]:
        """Return the index of the problem that a name tells, and the rest of the name as written.

        The index is None if the name tells no problem, or may tell several, or there is only one.

        >>> names = ProblemNames([[], ["masks"]])
        >>> [names.in_name(text) for text in ("HW2 Problem 1 - Ada", "hw2-2", "Bo masks")]
        [(0, 'Ada'), (1, ''), (1, 'Bo')]
        """
        if text not in self._told:
            self._told[text] = self._in_name(NameOfFile(text))
        index, rest = self._told[text]
        return index if len(self._by_number) > 1 else None, rest

    def _in_name(self, name: NameOfFile) -> tuple[int | None, str]:
        for words in NUMBER_WORDS:
            matches = [*re.finditer(rf"(?<!\w){words} 0*(\d+)(?!\w)", name.text)]
            indices = {self._numbered(match[1]) for match in matches} - {None}
            if len(indices) == 1:
                return indices.pop(), name.without(*(match.span() for match in matches))
        if (index := self._index.meant(name.words)) is not None:
            return index, name.without(*map(name.span, self._index.matches(name.words)))
        rest, _, number = name.text.rpartition(" ")
        last = self._numbered(number) if len(self._by_number) > 1 else None
        if last is None or OTHER_NUMBER.fullmatch(rest):
            return None, name.without()
        return last, name.without((len(name.text) - len(number), len(name.text)))

    def _numbered(self, number: str) -> int | None:
        return self._by_number.get(number.lstrip("0"))


def read_roster(source: str | PathLike[str], stdin: BinaryIO | None = None) -> Roster:
    """Return the students of a class, in their order.

    The first line of a CSV file heads a column Name or Student, or First name and Last name; any
    other file has one name per line. "-" is standard input.
    """
    return Roster(*read_people(source, stdin))
