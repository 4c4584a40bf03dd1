"""The problem whose number, or title, is in the name of a file."""

from __future__ import annotations

import re
from collections.abc import Sequence

from attncli.files.roster import words_of

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
