"""What a problem cannot show: mistakes that change no number, slips that look like rounding."""

from __future__ import annotations

from attncli.checking.answers.step_names import with_step_names
from attncli.checking.shown_mistakes import MAX_SLIP_NUMBERS, better_step, largest_slips, unseen
from attncli.core.calculation.compute import compute
from attncli.core.calculation.trace import Trace
from attncli.core.problem.problem import Problem
from attncli.core.text.strings import all_of, count_of
from attncli.printing.blocks import Group, Heading, Sentence, Table


def weaknesses(problem: Problem, digits: int) -> Group:
    """Yield a line for each mistake that changes no number, and how large a slip can pass."""
    trace = compute(problem)
    digits = digits if problem.marking.decimals is None else problem.marking.decimals
    if hidden := unseen(trace, digits):
        title = f"Mistakes that change no number of this problem in {digits} decimals:"
        yield Heading(title, level=2)
        yield Table((), [((name, "label"), (words, "")) for name, words in hidden.items()], "ls")
    else:
        yield Sentence(f"Every mistake of the catalogue shows in {digits} decimals.", "right")
    if sum(step.array.size for step in trace) <= MAX_SLIP_NUMBERS:
        yield from _slips(problem, trace, digits)


def _slips(problem: Problem, trace: Trace, decimals: int) -> Group:
    """Yield how large a slip in one number can pass as rounding, and what to ask for instead."""
    marking, parts = with_step_names(trace)
    named = (parts[word][0].name if word in parts else word for word in marking.ask)
    asked = tuple(dict.fromkeys(n for n in named if n in trace)) or (trace.last.name,)
    slips = largest_slips(problem, asked, decimals)
    largest = max(slips.values())
    names = all_of(list(asked))
    verb = "is" if len(asked) == 1 else "are"
    yield Heading(f"Where {names} {verb} handed in, in {decimals} decimals:", level=2)
    slip = "a slip of {} in the last place can pass".format
    rows = [((n, "label"), (slip(count_of(size, "unit")), "")) for n, size in slips.items()]
    yield Table((), rows, "ls")
    better = better_step(problem, asked, decimals, largest) if largest > 1 else None
    if better is not None:
        yield Sentence(f"ask for {better}, too, and only smaller ones can")
