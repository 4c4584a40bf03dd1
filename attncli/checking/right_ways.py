"""Right ways of calculating by which arrays of a program may have other numbers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import product

from attncli.checking.judging import equivalent_forms
from attncli.checking.judging.equivalent_forms import operation_or_input
from attncli.core.attention.weights import ADJUSTED
from attncli.core.calculation.trace import Trace
from attncli.core.tape import evaluation
from attncli.core.tape.evaluation import Change
from attncli.core.tape.step import Expression, Step
from attncli.core.text.strings import all_of


def right_ways(trace: Trace, shown: Mapping[str, object]) -> Iterator[tuple[str, Change]]:
    """Yield the right ways of calculating that give arrays of the same names, and what is said."""
    yield from equivalent_forms.masked_early(trace, shown)
    yield from equivalent_forms.shifts(trace)
    yield from equivalent_forms.other_forms(trace)
    for kind in ("scaled", "masked"):
        if "scores" in shown and kind in trace and kind not in shown:
            later = {n: _from_the_start(trace[n], ADJUSTED) for n in ADJUSTED if n in trace}
            yield f"scores holds the {kind} scores.", {**later, "scores": later[kind]}
    words = {"Q": "queries", "K": "keys"}
    for letters, kind in product(("QK", "Q", "K"), ("rotated", "normed")):
        change: dict[str, Expression] = {}
        for letter in letters:
            turned = (f"{letter}_normed", f"{letter}_rotated")
            later = {n: _from_the_start(trace[n], trace.steps) for n in turned if n in trace}
            if letter in shown and f"{letter}_{kind}" in later:
                change |= {**later, letter: later[f"{letter}_{kind}"]}
        if all(letter in change for letter in letters):
            hold = "hold" if len(letters) > 1 else "holds"
            what = all_of([words[letter] for letter in letters])
            yield f"{all_of([*letters])} {hold} the {kind} {what}.", change


def _from_the_start(step: Step, names: Collection[str]) -> Expression:
    """Return how a step is made, with the operations of the named steps, and scores, inside it."""

    def inner(part: Step) -> Expression:
        is_inside = part.operation is not None and part.plain in ("scores", *names)
        return _from_the_start(part, names) if is_inside else part

    return evaluation.transform(operation_or_input(step), inner)
