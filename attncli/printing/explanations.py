"""Explanations: the cells that are explained together, and their pages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby, product
from typing import TYPE_CHECKING

import numpy as np

from attncli.core.calculation.trace import Trace, find
from attncli.core.errors import fail
from attncli.core.explaining.explain import Explainer, Explanation, cells, is_blank, written
from attncli.core.problem.key_values import key_of
from attncli.core.problem.keys import meaning_in
from attncli.core.records import Record, replace
from attncli.core.tape.cell_names import Cells, Index, cell_name
from attncli.core.tape.step import Step
from attncli.core.text.numbers import DEFAULT_DECIMALS, fixed, number_text
from attncli.core.text.strings import kept, regex, visible
from attncli.printing.blocks import Block, Formulas, Group, Heading, Sentence, Table
from attncli.printing.layout import heading_line, plain_text
from attncli.printing.selection import Selection

if TYPE_CHECKING:
    from attncli.core.explaining.exact import Exact


NUMBER = regex(r"-?(?:\d{1,15}(?:\.\d{0,17})?|\.\d{1,17})")
"""A number as pages print it."""

SIZE_OR_ROOT = regex(r"(?:√|sqrt)?\(?(\w+)\)?")
"""The name of a size, or its root, as in √d_k and sqrt(d_k)."""


class Request(Record):
    """Some cells of one step of a trace, which are explained together."""

    trace: Trace
    cells: tuple[Cells, ...]
    deep: bool = False  # whether to go on to the operands, down to the input
    exact: Exact | None = None  # the exact numbers of the trace, where closed forms are wanted

    @property
    def step(self) -> Step:
        return self.cells[0].step

    def found(self, decimals: int, full: bool) -> Iterator[tuple[int, Explanation]]:
        """Yield each explanation with its depth below the requested cell, each cell once.

        With `full`, long sums are written whole and all cells of a large matrix are explained.
        """
        explainer = Explainer(self.trace, decimals, full)
        seen: set[tuple[str, Index]] = set()
        ends = set(product(*(kept(size, full) for size in self.step.value.shape)))
        chosen = (p for some in self.cells for p in written(some) if p in ends or not some.is_whole)
        waiting = [(0, self.step, place) for place in chosen][::-1]  # the next one is the last
        while waiting:
            depth, step, place = waiting.pop()
            if (step.name, place) in seen:
                continue
            seen.add((step.name, place))
            explanation = explainer.explain(step, place)
            if self.exact and (closed := self.exact.formula(self.exact.value(step)[place])):
                explanation = replace(explanation, nodes={**explanation.nodes, "exact": closed})
            yield depth, explanation
            for index in reversed(kept(len(explanation.sources), full)) if self.deep else ():
                if index is not None and (source := explanation.sources[index]).step in self.trace:
                    waiting.append((depth + 1, self.trace[source.step], source.index))


def names_of(text: str, trace: Trace, limit: int) -> list[str]:
    """Return the names of the cells that a text means: itself; of a number, those that show it.

    A cell shows a number if it is the same with the decimals that are written. There are at most
    `limit` of a step.

    Raises:
        InputError: for what means nothing in this calculation.
    """
    written = text.replace("−", "-").replace(",", ".")
    if not NUMBER.fullmatch(written):
        find(text, trace)
        return [text]
    number, decimals = float(written), len(written.partition(".")[2])
    names, nearest = list[str](), list[tuple[float, str]]()
    for step in trace:
        away = np.abs(step.value - number)
        for place in map(tuple, np.argwhere(away <= 0.51 * 10.0**-decimals)[:limit].tolist()):
            is_same = fixed(float(step.value[place]), decimals) == fixed(number, decimals)
            if is_same and (decimals or away[place] == 0) and not is_blank(step, place):
                names.append(cell_name(step, place))
        place = tuple(map(int, np.unravel_index(away.argmin(), away.shape)))
        value = number_text(step.value[place], max(decimals, DEFAULT_DECIMALS))
        nearest.append((away[place], f"{cell_name(step, place)} = {value}"))
    if not names:
        raise fail(f"no cell shows {visible(text)}", hint=f"the nearest is {min(nearest)[1]}")
    return names


def facts_of(word: str, trace: Trace) -> Iterator[Block]:
    """Yield what a size such as d_k is, or an option such as scale, then the formulas with it.

    √d_k is read as d_k, and d as every size whose name begins with it. Other words have no facts.
    """
    match = SIZE_OR_ROOT.fullmatch(word.strip())
    name = match[1] if match else ""
    key, options, sizes = key_of(name), trace.problem.options(), trace.problem.sizes.bound
    if key in options:
        value = options[key]
        shown = value.get("name") or value if isinstance(value, dict) else value
        meaning = meaning_in(trace.problem.kind, key)
        yield Sentence(f"{key} is {shown} here: {meaning.split(':')[0]}")
        letters = [letter for letter in sizes if letter in str(shown) and "_" in letter]
    else:
        letters = [one for one in sizes if one == name or (name == "d" and one.startswith("d_"))]
        yield from (Sentence(f"{x} is {sizes[x].size} here: {sizes[x].words}") for x in letters)
    for step in trace if letters else ():
        formula = plain_text(heading_line(step))
        if any(re.search(rf"(?<!\w){letter}(?!\w)", formula) for letter in letters):
            yield Heading(step.word, step=step)


def names_to_ask(trace: Trace) -> Iterator[Block]:
    """Yield the name of the first cell of each step that may be asked for, and its formula."""
    yield Sentence("Name a cell such as these, a step, or a number that a page shows:", "faint")
    names = (cell_name(step, (0,) * step.value.ndim) for step in trace)
    pairs = zip(names, trace, strict=True)
    yield Table((), [((name, "label"), (step.formula, "")) for name, step in pairs], "ls")


def requests_of(
    trace: Trace, names: Sequence[str], deep: bool = False, exact: Exact | None = None
) -> list[Request]:
    """Return a request for each name of cells; successive names of one step make one."""
    cells_named = [find(name, trace) for name in names]
    groups = (list(group) for _, group in groupby(cells_named, key=lambda one: one[1].step))
    return [Request(group[-1][0], tuple(c for _, c in group), deep, exact) for group in groups]


def page(request: Request, selection: Selection) -> Iterator[Group]:
    step, is_whole = request.step, any(some.is_whole for some in request.cells)
    why = [Sentence(step.why, "faint")] * bool(selection.why and step.why)
    formulas = Formulas(request.found(selection.digits, selection.full))
    note = Sentence("Cells in the middle are left out; --full shows all.", "faint")
    is_cut = is_whole and None in kept(max(step.value.shape), selection.full)
    yield [Heading(step.word, step=step), *why, formulas, *[note] * is_cut]


def exact_page(exact: Exact, selection: Selection) -> Iterator[Group]:
    """Yield every cell of the selected steps with its closed form and its decimals."""
    for step in selection.steps(exact.trace):
        values, rows = exact.value(step), list[tuple[tuple[str, str], tuple[str, str]]]()
        for place in cells(step):
            closed = exact.text(values[place])
            value = step.value[place] if closed is None else values[place]
            texts = dict.fromkeys((closed, number_text(float(value), selection.digits)))
            said = " ".join(f"= {text}" for text in texts if text is not None)
            rows.append(((cell_name(step, place), "label"), (said, "")))
        yield [Heading(step.word, step=step), Table((), rows, "ls")]
