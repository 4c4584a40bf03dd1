"""What a problem cannot show: mistakes that change no number, slips that look like rounding."""

from __future__ import annotations

from collections.abc import Iterator

from attncli.checking.answers.step_names import with_step_names
from attncli.checking.shown_mistakes import MAX_SLIP_NUMBERS, better_step, largest_slips, unseen
from attncli.core.calculation.compute import compute
from attncli.core.calculation.trace import Trace
from attncli.core.problem.problem import Problem
from attncli.core.text.strings import all_of, count_of
from attncli.printing.layout import Line


def weaknesses(problem: Problem, digits: int) -> Iterator[Line]:
    """Yield a line for each mistake that changes no number, and how large a slip can pass."""
    trace = compute(problem)
    digits = digits if problem.marking.decimals is None else problem.marking.decimals
    hidden = unseen(trace, digits)
    if hidden:
        yield [(f"Mistakes that change no number of this problem in {digits} decimals:", "title")]
    else:
        yield [(f"Every mistake of the catalogue shows in {digits} decimals.", "right")]
    width = max(map(len, hidden), default=0)
    for name, words in hidden.items():
        yield [(f"  {name.ljust(width)}  ", "label"), (words, "")]
    if sum(step.array.size for step in trace) <= MAX_SLIP_NUMBERS:
        yield from _slips(problem, trace, digits)


def _slips(problem: Problem, trace: Trace, decimals: int) -> Iterator[Line]:
    """Yield how large a slip in one number can pass as rounding, and what to ask for instead."""
    marking, parts = with_step_names(trace)
    named = (parts[word][0].name if word in parts else word for word in marking.ask)
    asked = tuple(dict.fromkeys(n for n in named if n in trace)) or (trace.last.name,)
    slips = largest_slips(problem, asked, decimals)
    largest = max(slips.values())
    names = all_of(list(asked))
    verb = "is" if len(asked) == 1 else "are"
    yield [(f"Where {names} {verb} handed in, in {decimals} decimals:", "title")]
    for name, slip in slips.items():
        units = count_of(slip, "unit")
        yield [(f"  {name}: ", "label"), (f"a slip of {units} in the last place can pass", "")]
    better = better_step(problem, asked, decimals, largest) if largest > 1 else None
    if better is not None:
        yield [(f"  ask for {better}, too, and only smaller ones can", "")]
