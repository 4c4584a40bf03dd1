"""What there is to say of the variants of a problem: what they hide, and how alike they are."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from attncli.records import Record
from attncli.rendering.layout import Line
from attncli.teaching.variants import Form, Variant
from attncli.teaching.work import Work
from attncli.text.escapes import visible
from attncli.text.sentences import all_of


class Row(Record):
    """What is said of one variant: its number, its student, its file and what it hides."""

    number: int
    student: str
    file: str
    hidden: tuple[tuple[str, str], ...]
    faint: tuple[tuple[str, str], ...]
    alike: tuple[tuple[str, str], ...]
    flaws: int
    shown: tuple[str, ...]
    work: Work
    form: Form

    @property
    def words(self) -> str:
        """What it hides, in words; nothing where it is fair."""
        found = [f"hides {id_} in {at}" for id_, at in self.hidden]
        found += [f"shows {id_} in {at} by one number alone" for id_, at in self.faint]
        found += [f"does not tell {one} from {other}" for one, other in self.alike]
        if self.flaws:
            found.append("has saturated weights, large numbers or warnings")
        return "; ".join(found)


class Summary(Record):
    """What is said of all variants.

    Attributes:
        seed: from which they were drawn.
        rows: one a variant, of one problem.
    """

    seed: int
    rows: Sequence[Row]

    @property
    def form(self) -> Form:
        """What all variants have in common."""
        return self.rows[0].form

    @property
    def unfair(self) -> list[Row]:
        """The variants that hide what others show."""
        return [row for row in self.rows if row.words]


def row_of(variant: Variant, student: str, file: str) -> Row:
    """Return what is said of a variant."""
    about = (variant.hidden, variant.faint, variant.alike, variant.flaws, variant.shown)
    return Row(variant.number, student, file, *about, variant.work, variant.form)


def table(summary: Summary) -> Iterator[Line]:
    """Yield the lines of a table for a terminal."""
    form, rows = summary.form, summary.rows
    count, decimals = len(rows), form.decimals
    variants = f"{count} variant{'s'[: count != 1]} of seed {summary.seed}"
    digits = f"{decimals} decimal{'s'[: decimals != 1]}"
    asked = "every step" if form.asked == form.steps else all_of(form.asked)
    yield [(f"{variants}; asked: {asked}, in {digits}", "title")]
    yield []
    yield [("work          least  middle    most   given", "label")]
    for name in Work.fields:
        ends = (f"{number:>8}" for number in (*spread(rows, name), getattr(form.work, name)))
        yield [(f"{name:<12}", "label"), ("".join(ends).removeprefix(" "), "")]
    yield []
    if summary.unfair:
        yield [("Not as fair as others; another seed, or more values, may help:", "wrong")]
        yield from _listed({_name(row): row.words for row in summary.unfair})
    else:
        few = "Every mistake that can be shown is seen in every variant in which it can be made"
        yield [(f"{few}.", "right")]
    if some := _made_in_some(summary):
        yield [("Mistakes that cannot be made in every variant:", "title")]
        yield from _listed({id_: f"in {made} of {count}" for id_, made in some.items()})
    if form.unseen:
        yield [("Mistakes that no variant could be made to show:", "title")]
        yield from _listed(form.unseen)
    if form.partly:
        yield [
            (
                "Mistakes that show, but not wherever, or however, they are made in these steps:",
                "title",
            )
        ]
        yield from _listed({id_: all_of(steps) for id_, steps in form.partly.items()})
    if form.never_apart:
        yield [
            ("Mistakes that give the same numbers wherever they are made, in some step:", "title")
        ]
        yield from _listed({one: ", ".join(others) for one, others in _beside(form).items()})
    if form.fewest:
        flaws = f"{form.fewest} flaw{'s'[: form.fewest != 1]} at least"
        which = "saturated weights, large numbers or warnings"
        yield [(f"Every draw has {flaws}, {which}; other --values may help.", "near")]


def record(summary: Summary) -> bytes:
    """Return the same as JSON."""
    form = summary.form
    rows = [
        {
            "number": row.number,
            "student": row.student or None,
            "file": row.file or None,
            "hidden": [{"mistake": id_, "step": at} for id_, at in row.hidden],
            "faint": [{"mistake": id_, "step": at} for id_, at in row.faint],
            "alike": row.alike,
            "flaws": row.flaws,
            "work": _as_dict(row.work),
        }
        for row in summary.rows
    ]
    found: dict[str, Any] = {
        "seed": summary.seed,
        "asked": form.asked,
        "decimals": form.decimals,
        "fair": not summary.unfair,
        "made_in_some": _made_in_some(summary),
        "unseen": form.unseen,
        "partly": form.partly,
        "never_apart": form.never_apart,
        "flaws_in_all": form.fewest,
        "given": _as_dict(form.work),
        "variants": rows,
    }
    return f"{json.dumps(found, ensure_ascii=False)}\n".encode()


def spread(rows: Sequence[Row], name: str) -> tuple[int, int, int]:
    """Return the least, the middle and the most of a part of the work."""
    numbers = [getattr(row.work, name) for row in rows]
    return min(numbers), round(median(numbers)), max(numbers)


def _as_dict(work: Work) -> dict[str, int]:
    return {name: getattr(work, name) for name in Work.fields}


def _made_in_some(summary: Summary) -> dict[str, int]:
    """Return the mistakes that some variants show and in others cannot be made, and in how many."""
    hidden = {id_ for row in summary.rows for id_, _ in row.hidden}
    counts = Counter(id_ for row in summary.rows for id_ in row.shown)
    counts.update(dict.fromkeys(summary.form.shown, 0))
    less = {id_: n for id_, n in counts.items() if n < len(summary.rows) and id_ not in hidden}
    return {id_: less[id_] for id_ in summary.form.shown if id_ in less}


def _beside(form: Form) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one, other in form.never_apart:
        found.setdefault(one, []).append(other)
    return found


def _name(row: Row) -> str:
    return visible(row.student) if row.student else str(row.number)


def _listed(pairs: Mapping[str, str]) -> Iterator[Line]:
    width = max(map(len, pairs))
    for name, words in pairs.items():
        yield [(f"  {name.ljust(width)}  ", "label"), (words, "")]
