"""One HTML page: formulas, matrices with shaded weights, and how each number was calculated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from attncli.core.arithmetic.elements import Array
from attncli.core.calculation.trace import Trace
from attncli.core.explaining.explain import CellPlace
from attncli.core.formulas.printers import mathml
from attncli.core.formulas.text import text as as_text
from attncli.core.records import Record, replace
from attncli.core.tape.cell_names import cell_name
from attncli.core.tape.evaluation import sources
from attncli.core.tape.operations import MatMul
from attncli.core.tape.step import Step
from attncli.pages.cell_formulas import CellFormulas
from attncli.pages.markup import (
    PRACTICE_HINT,
    PRACTICE_SCRIPT,
    RELOAD,
    Script,
    field,
    matrix_table,
    page_parts,
    text,
    tools,
)
from attncli.printing.blocks import Entry, Figure, Panel, WeightedSum
from attncli.printing.page import page_of, title_of
from attncli.printing.selection import Selection, in_parts

LARGEST_EXPLAINED = 1500
"""Maximum size of a step, and of its operands, whose cells are explained. Chosen."""

MOST_EXPLAINED = 400
"""Maximum number of cells of a step that are explained: with more, the page becomes slow."""

HINT = (
    "Point at a number, tap it, or go to it with Tab and the arrow keys, to see how it was made. "
    "Tap a number of its formula, or press Enter, to go to where that one was made, and Backspace "
    "to go back."
)


class Answers(Record):
    """What a report adds to the page of a problem, as markup."""

    name: str  # the student, as text
    above: str  # on the answers as a whole
    remarks: Mapping[str, str]  # on steps, by their names


def traces(
    every: Iterable[Trace],
    selection: Selection,
    answers: Sequence[Answers] = (),
    between: Sequence[str] = (),
) -> Iterator[bytes]:
    """Yield one page of all problems, which needs nothing else.

    `answers` are those of a student to each problem; `between` is markup before each problem, and
    after the last.
    """
    shown = list(every)
    titles = [title_of(trace, selection) for trace in shown]
    names = [one.name for one in answers] or titles
    links = [(f"problem-{n}", name or f"Problem {n}") for n, name in enumerate(names, 1)]
    formulas, script = CellFormulas(), Script()
    if selection.live:
        from attncli.pages import live

        shown = [live.live_trace(trace.problem) for trace in shown]
        formulas, script = live.LiveFormulas(), live.SCRIPT
    if selection.reloads:
        script = replace(script, files=(*script.files, RELOAD))
    numbered: list[tuple[Trace, Mapping[CellPlace, int]]] = []

    def body(shown: Sequence[Trace], formulas: CellFormulas) -> Iterator[str]:
        if not any(titles):  # a page has a heading for those who cannot see it, too
            yield '<h1 class="unseen">Attention</h1>\n'
        yield between[0] if between else ""
        if selection.is_worksheet:
            yield tools(next((trace.problem.student for trace in shown), ""))
        yield _jump(links, "Answers" if answers else "Problems")
        count = 0
        for index, trace in enumerate(shown):
            of_student = answers[index] if answers else None
            writer = _Writer(trace, selection, index, count, of_student, formulas)
            yield f'<article id="problem-{index + 1}">\n'
            yield from writer.parts()
            yield f"</article>\n{between[index + 1] if between else ''}"
            writer.explain()
            count += len(writer.shown.numbers)
            if selection.is_worksheet:
                numbered.append((trace, writer.shown.by_source()))

    def data() -> Mapping[str, object]:
        if not selection.is_worksheet:
            return formulas.page_data(shown, body)
        from attncli.pages import practice

        return practice.page_data(numbered, formulas, selection)

    script = PRACTICE_SCRIPT if selection.is_worksheet else script
    title = next(filter(None, titles), "")
    yield from in_parts([page_parts(title, body(shown, formulas), script, data)], "")


class _Writer:
    """Writes one problem of a document, which has `index` others and `count` cells before it."""

    def __init__(
        self,
        trace: Trace,
        selection: Selection,
        index: int,
        count: int,
        answers: Answers | None,
        formulas: CellFormulas,
    ) -> None:
        self.trace = trace
        self.page = page_of(trace, replace(selection, why=True))
        self.index = index
        self.answers = answers
        self.formulas = formulas
        self.shown = formulas.begin(trace, count, self.page.decimals, selection.full)
        self.reveal, self.is_live = selection.reveal, selection.live
        self.level = 2

    def parts(self) -> Iterator[str]:
        yield from self.top()
        if not self.index:
            yield f'<p class="hint">{PRACTICE_HINT if self.page.asked else HINT}</p>\n'
        yield _jump(self.links(), f"Steps of problem {self.index + 1}" if self.index else "Steps")
        folds = bool(self.trace.problem.layers) and not self.reveal  # the parts of each layer
        if self.reveal or folds:  # the script shows the button
            yield '<p class="folds"><button type="button" hidden="hidden"></button></p>\n'
        for number, entry in enumerate(self.page.entries):
            if entry.group:
                is_first = self.level == 2
                self.level = 3
                heading = f'<h2 id="{self.place(f"part-{number}")}">{text(entry.group)}</h2>'
                is_open = ' open="open"' * (is_first or bool(self.page.asked))
                fold = f"<details{is_open}><summary>{heading}</summary>"
                after = "</details>\n" * (folds and not is_first)
                yield f"{after}{fold}\n" if folds else f"{heading}\n"
            yield from self.entry(entry)
        yield "</details>\n" * (folds and self.level == 3)
        for line in self.page.closing:
            yield f'<p class="notes">{text(line)}</p>\n'
        if self.page.warnings:
            lines = "".join(f"<p>{text(line)}</p>" for line in self.page.warnings)
            yield f'<section class="warnings"><h2>Warnings</h2>{lines}</section>\n'

    def top(self) -> Iterator[str]:
        page = self.page
        if page.title:
            yield f'<h1 dir="auto">{text(page.title)}</h1>\n'
        for line in page.notes.splitlines():
            yield f'<p class="notes" dir="auto">{text(line)}</p>\n'
        if page.asked:
            yield f'<p class="asked" dir="auto">{text(page.asked)}</p>\n'
        if self.answers:
            yield self.answers.above

    def place(self, name: str) -> str:
        return f"{name}-{self.index + 1}" if self.index else name

    def links(self) -> list[tuple[str, str]]:
        """Return the places to go to, each with its name: groups where there are any, or steps."""
        entries = list(enumerate(self.page.entries))
        groups = [(self.place(f"part-{n}"), entry.group) for n, entry in entries if entry.group]
        steps = (entry.steps[0] for _, entry in entries)
        return groups or [(self.place(step.name), step.word) for step in steps]

    def entry(self, entry: Entry) -> Iterator[str]:
        names = [step.name for step in entry.steps]
        first, *others = (text(self.place(name)) for name in names)
        formula, *more = map(_heading, entry.steps)
        marked = zip(others, more, strict=True)
        formula += "".join(f'<span id="{place}">{one}</span>' for place, one in marked)
        words = "; ".join(map(_heading_text, entry.steps))
        heading = f'<h{self.level} class="formula" aria-label="{text(words)}">'
        heading += f"{formula}</h{self.level}>\n"
        yield f'<section class="step" id="{first}">\n'
        yield f"<details>\n<summary>{heading}</summary>\n" if self.reveal else heading
        if entry.reasons:
            yield f'<p class="reasons">{text(" ".join(entry.reasons))}</p>\n'
        if entry.inputs:
            yield _row([self.panel(panel, caption=True) for panel in entry.inputs])
        several = len(entry.figures) > 1  # heads, which are side by side where there is room
        yield '<div class="heads">\n' if several else ""
        for figure in entry.figures:
            yield "<div>\n" if several else ""
            yield from self.figure(figure, entry)
            yield "</div>\n" if several else ""
        yield "</div>\n" if several else ""
        for name in names:
            if self.answers:
                yield self.answers.remarks.get(name, "")
        yield "</details>\n</section>\n" if self.reveal else "</section>\n"

    def figure(self, figure: Figure, entry: Entry) -> Iterator[str]:
        pieces: list[str] = []
        sign = ""
        is_alone = len(figure.results) == 1 and not figure.operands
        for part in (*figure.operands, *("=" for _ in figure.operands[:1]), *figure.results):
            if isinstance(part, Panel):
                pieces.append(f"{sign}{self.panel(part, caption=not is_alone)}")
                sign = ""
            elif part == ")":  # belongs to the piece before it
                pieces[-1] = f'{pieces[-1]}<span class="sign">)</span>'
            else:
                sign += f'<span class="sign">{text(part)}</span>'
        panels = (*figure.panels, *figure.results)
        yield _row(pieces, figure.name, any(panel.matrix.column_labels for panel in panels))
        if sums := figure.sums():
            operation = entry.steps[0].operation
            ids = None
            if self.is_live and isinstance(operation, MatMul):
                ids = self.shown.whole(operation.left)
            texts = (" ".join(_texts(weighted, ids)) for weighted in sums)
            lines = "".join(f"<li>{line}</li>" for line in texts)
            yield f'<ul class="mixture">{lines}</ul>\n'

    def panel(self, panel: Panel, caption: bool) -> str:
        matrix, part = panel.matrix, panel.part
        words = f", {text(panel.words)}" if panel.words else ""
        title = f"{mathml(panel.name, small=True)}{words}" if caption else ""
        name = ", ".join(filter(None, (as_text(panel.name), panel.words)))
        ids = self.shown.ids(panel)
        if self.page.asked and not panel.answer:  # on a worksheet, only what is open has numbers
            ids[:] = 0
        if matrix.cells:
            ids[[[matrix.is_empty(row, c) for c in matrix.columns] for row in matrix.rows]] = 0
        numbers = self.shown.numbered(ids)
        names = {}
        if matrix.is_open and isinstance(part, Step):
            pairs = zip((n for row in numbers for n in row), ids.ravel().tolist(), strict=True)
            names = {n: cell_name(part, self.shown.place(part, one)) for n, one in pairs if n}
        return matrix_table(matrix, title, name, numbers, lambda n: field(n, names[n]))

    def explain(self) -> None:
        """Add to each number on the page how it was calculated, or that it is an input."""
        known = {**self.trace.inputs, **self.trace.steps}
        shown = self.shown.by_source(LARGEST_EXPLAINED)
        counts = Counter(name for name, _ in shown)
        few = [known[name] for name in counts if name in known and counts[name] <= MOST_EXPLAINED]
        size_of = {s: max(part.array.size for part in (s, *sources(s))) for s in few}
        small = {s.name: s for s in few if size_of[s] <= LARGEST_EXPLAINED}
        links = {} if self.page.asked else shown  # a field says nothing of a number
        for (name, place), number in shown.items():
            if name in small:
                self.formulas.add(number, small[name], place, links)
        self.formulas.end()


def _heading(step: Step) -> str:
    note = f'<span class="aside">{mathml(step.note)}</span>' if step.note else ""
    return f"{mathml(step.notation, block=True)}{note}"


def _heading_text(step: Step) -> str:
    return ", ".join(as_text(part) for part in (step.notation, step.note) if part)


def _jump(links: Sequence[tuple[str, str]], label: str) -> str:
    if len(links) < 2:
        return ""
    items = "".join(f'<li><a href="#{text(place)}">{text(name)}</a></li>' for place, name in links)
    return f'<nav class="jump" aria-label="{label}"><ul>{items}</ul></nav>\n'


def _row(pieces: Iterable[str], name: str = "", tall: bool = False) -> str:
    title = f'<p class="head">{text(name)}</p>' if name else ""
    parts = "".join(f'<div class="part">{piece}</div>' for piece in pieces)
    return f'<div class="figure{" tall" if tall else ""}">{title}{parts}</div>\n'


def _cell(letter: str, word: str) -> str:
    if not letter or not word:  # a state by its name, h_1
        letter, _, word = (letter or word).partition("_")
    below = f"<sub>{text(word)}</sub>" if word else ""
    return f"<i>{text(letter)}</i>{below}"


def _texts(weighted: WeightedSum, ids: Array | None) -> Iterator[str]:
    """Yield the markup of a weighted sum; on a live page each term with the id of its weight."""
    texts = weighted.texts(_cell)
    if ids is None or not weighted.parts:
        yield from texts
        return
    yield texts[0]
    for shown, part in zip(texts[1:], weighted.parts, strict=True):
        if not part.at:
            yield shown
            continue
        number, value = shown.split("·", 1)
        yield f'<span data-z="{ids[part.at]}"><span>{number}</span>·{value}</span>'
    yield '<span class="none" hidden="hidden">= 0</span>'
