"""One HTML page: formulas, matrices with weights shaded by size, and how each number was made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from attncli.explaining.explain import Explainer, Explanation
from attncli.mechanisms.trace import Trace
from attncli.notation.mathml import mathml
from attncli.notation.text import text as as_text
from attncli.records import Record
from attncli.rendering.documents.markup import Mark, matrix_table, page, text
from attncli.rendering.documents.origins import Cell
from attncli.rendering.documents.sheets import Entry, Figure, Panel, Sheet, sheet
from attncli.rendering.record import Selection
from attncli.rendering.views import WeightedSum
from attncli.tape.step import Operation, Step

LARGEST = 1500
"""A step is explained cell by cell where no matrix that takes part has more numbers than this."""

MOST = 400
"""And where no more of its cells than this are shown: with more, the page becomes slow."""

HINT = (
    "Point at a number, tap it, or go to it with Tab and the arrow keys, "
    "to see how it was made and from which others."
)


class Remarks(Record):
    """What somebody says of a problem beside its own numbers, as markup.

    Attributes:
        lead: stands under the title.
        after: what is said of a step, after its figures.
    """

    lead: str = ""
    after: Callable[[Step], str] = lambda step: ""


def html(traces: Sequence[Trace], selection: Selection, remarks: Sequence[Remarks] = ()) -> str:
    """Return the page of one or several problems.

    Args:
        traces: what was calculated.
        selection: which steps, and how many decimals.
        remarks: for each trace, or none.
    """
    numbers: dict[tuple[int, Cell], int] = {}
    made: dict[int, Sequence[object]] = {}
    articles = []
    title = ""
    for index, trace in enumerate(traces):
        shown = sheet(trace, selection)
        said = remarks[index] if remarks else Remarks()
        writer = _Writer(index, trace, shown, selection, numbers, said)
        articles.append(f"<article>\n{''.join(writer.parts())}</article>\n")
        made |= writer.explanations()
        title = title or shown.title
    return page(title, "".join(articles), made)


class _Writer:
    """Writes one problem; `numbers` are those of the cells of all problems of the page."""

    def __init__(
        self,
        index: int,
        trace: Trace,
        shown: Sheet,
        selection: Selection,
        numbers: dict[tuple[int, Cell], int],
        remarks: Remarks,
    ) -> None:
        self.index = index
        self.trace = trace
        self.sheet = shown
        self.full = selection.full
        self.numbers = numbers
        self.remarks = remarks
        self.shown: dict[Cell, int] = {}
        self.explainer = Explainer(trace, shown.decimals, selection.full)
        self.level = 3 if any(entry.group for entry in shown.entries) else 2

    def parts(self) -> Iterator[str]:
        """Yield the pieces of the article."""
        if self.sheet.title:
            yield f'<h1 dir="auto">{text(self.sheet.title)}</h1>\n'
        for line in self.sheet.notes.splitlines():
            yield f'<p class="notes" dir="auto">{text(line)}</p>\n'
        yield self.remarks.lead
        if not self.index:
            yield f'<p class="hint">{HINT}</p>\n'
        group = ""
        for entry in self.sheet.entries:
            if entry.group != group:
                group = entry.group
                if group:
                    yield f"<h2>{text(group)}</h2>\n"
            yield from self.entry(entry)
        for line in self.sheet.closing:
            yield f'<p class="notes">{text(line)}</p>\n'
        if self.sheet.warnings:
            lines = "".join(f"<p>{text(line)}</p>" for line in self.sheet.warnings)
            yield f'<section class="warnings"><h2>Warnings</h2>{lines}</section>\n'

    def entry(self, entry: Entry) -> Iterator[str]:
        name = ", ".join(text(step.name) for step in entry.steps)
        place = f"{entry.steps[0].name}-{self.index + 1}" if self.index else entry.steps[0].name
        yield f'<section class="step" id="{text(place)}"><h{self.level}>{name}</h{self.level}>\n'
        if entry.inputs:
            yield from self.row([self.panel(panel, caption=True) for panel in entry.inputs])
        yield f'<div class="formula">{"".join(map(self.formula, entry.steps))}</div>\n'
        for figure in entry.figures:
            yield from self.figure(figure)
        yield from map(self.remarks.after, entry.steps)
        yield "</section>\n"

    def formula(self, step: Step) -> str:
        words = f'<span class="aside">{mathml(step.note)}</span>' if step.note else ""
        return f"{mathml(step.notation, block=True)}{words}"

    def figure(self, figure: Figure) -> Iterator[str]:
        pieces: list[str] = []
        sign = ""
        for part in (*figure.operands, "=" if figure.operands else "", *figure.results):
            if isinstance(part, str):
                if part == ")":  # closes what stands before it
                    pieces[-1] = f'{pieces[-1]}<span class="sign">)</span>'
                else:
                    sign += f'<span class="sign">{text(part)}</span>' if part else ""
            else:
                alone = len(figure.results) == 1 and not figure.operands
                pieces.append(f"{sign}{self.panel(part, caption=not alone)}")
                sign = ""
        heads = any(p.matrix.column_labels for p in _panels(figure))
        yield from self.row(pieces, figure.name, tall=heads)
        if figure.mixture:
            lines = "".join(f"<li>{_mixture(mixture)}</li>" for mixture in figure.mixture)
            yield f'<ul class="mixture">{lines}</ul>\n'

    def row(self, pieces: Iterable[str], name: str = "", tall: bool = False) -> Iterator[str]:
        """Yield pieces side by side, as far as there is room."""
        title = f"<h4>{text(name)}</h4>" if name else ""
        parts = "".join(f'<div class="part">{piece}</div>' for piece in pieces)
        yield f'<div class="figure{" tall" if tall else ""}">{title}{parts}</div>\n'

    def panel(self, panel: Panel, caption: bool) -> str:
        name = mathml(panel.name)
        words = f", {text(panel.words)}" if panel.words else ""
        return matrix_table(
            panel.matrix,
            f"{name}{words}" if caption else "",
            self.full,
            lambda r, c: self.mark(panel, r, c),
        )

    def mark(self, panel: Panel, row: int, column: int) -> Mark:
        """Return which number of the page a cell is, so that it can be lit and explained."""
        cell = panel.origin(row, column)
        if cell is None:
            return Mark()
        number = self.numbers.setdefault((self.index, cell), len(self.numbers) + 1)
        self.shown[cell] = number
        return Mark(number)

    def explanations(self) -> dict[int, Sequence[object]]:
        """Return how each number that is shown was made."""
        made: dict[int, Sequence[object]] = {}
        counts = Counter(name for name, _ in self.shown)
        for (name, place), number in self.shown.items():
            step = self.trace.steps.get(name)
            if step is not None and counts[name] <= MOST and _is_small(step):
                made[number] = self._short(self.explainer.explain(step, place))
        return made

    def _short(self, found: Explanation) -> Sequence[object]:
        sources = sorted(
            self.shown[source.step, source.index]
            for source in found.sources
            if (source.step, source.index) in self.shown
        )
        is_rounded = found.chain.last == "≈"
        short: list[object] = [list(map(as_text, found.chain.parts)), _runs(sources)]
        if is_rounded or found.reason:
            short.append(1 if is_rounded else 0)
        return [*short, found.reason] if found.reason else short


def _panels(figure: Figure) -> Iterator[Panel]:
    yield from (part for part in figure.operands if isinstance(part, Panel))
    yield from figure.results


def _is_small(step: Step) -> bool:
    made = step.operation
    operands = made.operands if isinstance(made, Operation) else ()
    sizes = [o.array.size if isinstance(o, Step) else _size(o) for o in operands]
    return max([step.array.size, *sizes]) <= LARGEST


def _size(operation: Operation) -> int:
    return max(
        (o.array.size if isinstance(o, Step) else _size(o) for o in operation.operands), default=0
    )


def _runs(numbers: Sequence[int]) -> str:
    """Return rising numbers as runs.

    >>> _runs([1, 2, 3, 7])
    '1-3 7'
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return " ".join(f"{a}-{b}" if a < b else str(a) for a, b in runs)


def _mixture(mixture: WeightedSum) -> str:
    if not mixture.letter:
        return "⋮"
    right = ""
    for number, part in enumerate(mixture.parts):
        sign = f" {part.sign} " if number else part.sign.strip("+")
        right += sign + (f"{part.weight}·{_cell(part.letter, part.word)}" if part.weight else "…")
    return f"{_cell(mixture.letter, mixture.word)} = {right or '0'}"


def _cell(letter: str, word: str) -> str:
    if not letter or not word:  # a state by its own name, h_1
        letter, _, word = (letter or word).partition("_")
    below = f"<sub>{text(word)}</sub>" if word else ""
    return f"<i>{text(letter)}</i>{below}"
