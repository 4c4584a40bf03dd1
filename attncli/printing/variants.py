"""The summary of the variants of a problem: their work, and what they hide."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from attncli.classroom.variants import Variant
from attncli.core.drawing.hand_work import Work
from attncli.core.records import Record
from attncli.core.text.strings import all_of, count_of, visible
from attncli.printing.layout import Line


class Summary(Record, eq=False):
    """The variants of one problem that one seed gives, each with its file, if it has one."""

    seed: int
    variants: Sequence[Variant]
    files: Sequence[str]

    @property
    def unfair(self) -> dict[str, str]:
        """The variants that are not fair, by student or number, and what is wrong with each."""
        return {_name(one): _flaws(one) for one in self.variants if not one.is_fair}


def _name(variant: Variant) -> str:
    return visible(variant.problem.student) or str(variant.number)


def _flaws(variant: Variant) -> str:
    flaws = {
        "hides or hardly shows ": [f"{id_} in {at}" for id_, at in variant.hidden],
        "does not tell ": [f"{one} from {other}" for one, other in variant.alike],
        "has ": ["saturated weights, large numbers or warnings"] if variant.flaws else [],
    }
    return "; ".join(start + ", ".join(which) for start, which in flaws.items() if which)


def table(summary: Summary) -> Iterator[Line]:
    variants = summary.variants
    form, problem, count = variants[0].form, variants[0].problem, len(variants)
    asked = "every step" if form.asked == form.steps else all_of(form.asked)
    digits = count_of(form.decimals, "decimal")
    of = f"problem {problem.problem}, " if problem.problem else ""
    heading = f"{count_of(count, 'variant')} of {of}seed {summary.seed}"
    yield [(f"{heading}; asked: {asked}, in {digits}", "title")]
    yield []
    yield [("work          least  middle    most   given", "label")]
    for name in Work.fields[not form.work.projections :]:
        numbers = [getattr(variant.work, name) for variant in variants]
        ends = (min(numbers), round(median(numbers)), max(numbers), getattr(form.work, name))
        yield [(f"{name:<12}", "label"), ("".join(f"{n:>8}" for n in ends).removeprefix(" "), "")]
    yield []
    if not summary.unfair:
        yield [("Every variant is fair: it shows each mistake that the others show.", "right")]
    yield from _listed("Variants that are less fair than others:", "wrong", summary.unfair)
    usual = form.work.projections
    counts = {_name(v): f"{v.work.projections}, not about {usual}" for v in variants if v.excess}
    title = "Variants with over 20 % more or fewer products in their projections:"
    yield from _listed(title, "near", counts)
    yield from _listed("Mistakes that do not show, or not in every step:", "title", form.unseen)
    ids = dict.fromkeys(one for one, _ in form.never_apart)
    same = {id_: ", ".join(b for a, b in form.never_apart if a == id_) for id_ in ids}
    yield from _listed("Mistakes that always give the same numbers as others:", "title", same)
    if form.fewest:
        which = "saturated weights, large numbers or warnings"
        yield [(f"No numbers are without {which}; other --values may help.", "near")]


def _listed(title: str, style: str, pairs: Mapping[str, str]) -> Iterator[Line]:
    if pairs:
        yield [(title, style)]
    width = max(map(len, pairs), default=0)
    for name, words in pairs.items():
        yield [(f"  {name.ljust(width)}  ", "label"), (words, "")]


def _record(summary: Summary) -> dict[str, Any]:
    form = summary.variants[0].form
    return {
        "seed": summary.seed,
        "asked": form.asked,
        "decimals": form.decimals,
        "fair": not summary.unfair,
        "unseen": form.unseen,
        "never_apart": form.never_apart,
        "flaws_in_all": form.fewest,
        "given": vars(form.work),
        "variants": [
            {
                "number": variant.number,
                "student": variant.problem.student or None,
                "file": file or None,
                "hidden": [{"mistake": id_, "step": at} for id_, at in variant.hidden],
                "alike": variant.alike,
                "flaws": variant.flaws,
                "work": vars(variant.work),
            }
            for variant, file in zip(summary.variants, summary.files, strict=True)
        ],
    }


def as_json(summaries: Sequence[Summary]) -> bytes:
    """Return one line per problem, with its number if there are several."""
    records = [_record(one) for one in summaries]
    if len(records) > 1:
        records = [{"problem": number, **one} for number, one in enumerate(records, 1)]
    return "".join(f"{json.dumps(one, ensure_ascii=False)}\n" for one in records).encode()
