"""Findings on wrong steps: sentences with and without the numbers of the solution."""

from __future__ import annotations

from collections.abc import Iterator

from attncli.records import Record
from attncli.text.sentences import small

SHAPES = ("wrong_shape", "transposed")
"""Ids of findings about the shape of a matrix."""


class Finding(Record):
    """What explains a wrong step: a mistake of the catalogue, a slip, or a wrong shape.

    Attributes:
        id: the public name of the mistake.
        what: a sentence that says what was done; "" where only the place is known.
        advice: a sentence that says what to do.
        place: the words before the colon, such as "In scaled" or "Only row 2 is wrong"; or "".
        certain: False if the numbers may be so by chance.
        hint: the sentence in the place of `what` for readers who must not see a correct number;
            None where `what` holds none.
        gives_all: True if it gives every number of the step, the correct ones, too.
        also: another mistake that gives the same numbers, if there is one.
        worked: lines that work wrong numbers out from the student's own earlier ones.
    """

    id: str
    what: str
    advice: str
    place: str = ""
    certain: bool = True
    hint: str | None = None
    gives_all: bool = False
    also: tuple[Finding, ...] = ()
    worked: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        return self.sentence()

    def sentence(self, solution: bool = True) -> str:
        """Return where and what was done; without the solution, no number that tells a correct one.

        >>> slip = Finding("row_slip", "It was divided by 2, not by 3.", "", "Only row 1 is wrong",
        ...     certain=False, hint="")
        >>> slip.sentence(), slip.sentence(solution=False)
        ('Only row 1 is wrong: perhaps it was divided by 2, not by 3.', 'Only row 1 is wrong.')
        """
        what = self.what if solution or self.hint is None else self.hint
        if what and not self.certain:
            what = f"Perhaps {small(what)}"
        if not what:
            return f"{self.place}."
        return f"{self.place}: {small(what)}" if self.place else what

    @property
    def others(self) -> Iterator[tuple[str, str]]:
        """The sentences, with their ids, of other findings that give the same numbers."""
        for other in self.also:
            place = f", {small(other.place)}," if other.place else ""
            said = f"Another mistake{place} gives the same numbers: {small(other.what)}"
            # A wrong shape is no other mistake, but what one led to.
            yield other.message if other.id in SHAPES else said, other.id
