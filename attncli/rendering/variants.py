"""A summary of the variants of a problem: what they hide, and how alike they are."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from attncli.records import Record
from attncli.rendering.layout import Line
from attncli.teaching.variants import Variant, VariantForm, Work
from attncli.text.escapes import visible
from attncli.text.sentences import all_of


class VariantRow(Record, eq=False):
    """A variant with its student and its file, if any."""

    variant: Variant
    student: str
    file: str

    @property
    def name(self) -> str:
        return visible(self.student) if self.student else str(self.variant.number)

    @property
    def words(self) -> str:
        """The reasons why the variant is not fair; "" if it is."""
        variant = self.variant
        found = [f"hides {id_} in {at}" for id_, at in variant.hidden]
        found += [f"shows {id_} in {at} by one number alone" for id_, at in variant.faint]
        found += [f"does not tell {one} from {other}" for one, other in variant.alike]
        if variant.flaws:
            found.append("has saturated weights, large numbers or warnings")
        return "; ".join(found)


class Summary(Record, eq=False):
    """The variants that one seed gives."""

    seed: int
    rows: Sequence[VariantRow]

    @property
    def form(self) -> VariantForm:
        return self.rows[0].variant.form

    @property
    def unfair(self) -> list[VariantRow]:
        """The variants that hide what others show."""
        return [row for row in self.rows if not row.variant.is_fair]

    @property
    def made_in_some(self) -> dict[str, int]:
        """The count of variants that show each mistake that cannot be made in the others."""
        variants = [row.variant for row in self.rows]
        hidden = {id_ for one in variants for id_, _ in one.hidden}
        counts = Counter(id_ for one in variants for id_ in one.shown)
        known = {id_: counts[id_] for id_ in self.form.shown if id_ not in hidden}
        return {id_: count for id_, count in known.items() if count < len(variants)}


def table(summary: Summary) -> Iterator[Line]:
    form, rows = summary.form, summary.rows
    count, decimals = len(rows), form.decimals
    variants = f"{count} variant{'s'[: count != 1]} of seed {summary.seed}"
    digits = f"{decimals} decimal{'s'[: decimals != 1]}"
    asked = "every step" if form.asked == form.steps else all_of(form.asked)
    yield [(f"{variants}; asked: {asked}, in {digits}", "title")]
    yield []
    yield [("work          least  middle    most   given", "label")]
    works = [row.variant.work for row in rows]
    for name in Work.fields:
        numbers = [getattr(work, name) for work in works]
        given = getattr(form.work, name)
        ends = (min(numbers), round(median(numbers)), max(numbers), given)
        yield [(f"{name:<12}", "label"), ("".join(f"{n:>8}" for n in ends).removeprefix(" "), "")]
    yield []
    if summary.unfair:
        yield [("Not as fair as others; another seed, or more values, may help:", "wrong")]
        yield from _listed({row.name: row.words for row in summary.unfair})
    else:
        few = "Every mistake that can be shown is seen in every variant in which it can be made"
        yield [(f"{few}.", "right")]
    same: dict[str, list[str]] = {}
    for one, other in form.never_apart:
        same.setdefault(one, []).append(other)
    some = {id_: f"in {made} of {count}" for id_, made in summary.made_in_some.items()}
    partly = {id_: all_of(steps) for id_, steps in form.partly.items()}
    never_apart = {id_: ", ".join(others) for id_, others in same.items()}
    lists = {
        "cannot be made in every variant": some,
        "no variant could be made to show": form.unseen,
        "show, but not wherever, or however, they are made in these steps": partly,
        "give the same numbers wherever they are made, in some step": never_apart,
    }
    for which, found in lists.items():
        if found:
            yield [(f"Mistakes that {which}:", "title")]
            yield from _listed(found)
    if form.fewest:
        flaws = f"{form.fewest} flaw{'s'[: form.fewest != 1]} at least"
        which = "saturated weights, large numbers or warnings"
        yield [(f"Every draw has {flaws}, {which}; other --values may help.", "near")]


def _listed(pairs: Mapping[str, str]) -> Iterator[Line]:
    width = max(map(len, pairs))
    for name, words in pairs.items():
        yield [(f"  {name.ljust(width)}  ", "label"), (words, "")]


def record(summary: Summary) -> bytes:
    form = summary.form
    found: dict[str, Any] = {
        "seed": summary.seed,
        "asked": form.asked,
        "decimals": form.decimals,
        "fair": not summary.unfair,
        "made_in_some": summary.made_in_some,
        "unseen": form.unseen,
        "partly": form.partly,
        "never_apart": form.never_apart,
        "flaws_in_all": form.fewest,
        "given": vars(form.work),
        "variants": [_variant_record(row) for row in summary.rows],
    }
    return f"{json.dumps(found, ensure_ascii=False)}\n".encode()


def _variant_record(row: VariantRow) -> dict[str, Any]:
    variant = row.variant
    return {
        "number": variant.number,
        "student": row.student or None,
        "file": row.file or None,
        "hidden": [{"mistake": id_, "step": at} for id_, at in variant.hidden],
        "faint": [{"mistake": id_, "step": at} for id_, at in variant.faint],
        "alike": variant.alike,
        "flaws": variant.flaws,
        "work": vars(variant.work),
    }
