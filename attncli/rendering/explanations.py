"""Explanations on a page: lines for a terminal, JSON, and formulas in LaTeX and Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

from attncli.explaining.exact import Exact
from attncli.explaining.explain import Explainer, Explanation, cells, number_text
from attncli.explaining.latex import escaped
from attncli.mechanisms.trace import Trace
from attncli.records import Record, replace
from attncli.rendering.blocks import Line
from attncli.tape.cells import cell_name
from attncli.tape.step import Operation, Step
from attncli.text.elision import kept
from attncli.text.escapes import visible
from attncli.text.numbers import DEFAULT_DECIMALS

Index = tuple[int, ...]


class Request(Record):
    """What is to be explained, and how.

    Attributes:
        trace: what was calculated.
        step: the step.
        place: the cell on paper; None for every cell.
        decimals: the most digits after the point.
        full: whether long sums and large matrices are written whole.
        deep: whether to go on to the operands, down to the input.
        exact: the exact numbers of the trace, where closed forms are wanted.
    """

    trace: Trace
    step: Step
    place: Index | None = None
    decimals: int = DEFAULT_DECIMALS
    full: bool = False
    deep: bool = False
    exact: Exact | None = None

    def found(self, latex: bool = False, full: bool = False) -> Iterator[tuple[int, Explanation]]:
        """Yield each explanation with how deep it lies below what was asked for.

        What is part of several cells is explained once.
        """
        explainer = Explainer(self.trace, self.decimals, self.full or full, latex)
        seen: set[tuple[str, Index]] = set()
        for place in self._places(full):
            yield from self._below(explainer, self.step, place, 0, seen)

    def _below(
        self, explainer: Explainer, step: Step, place: Index, depth: int, seen: set[Any]
    ) -> Iterator[tuple[int, Explanation]]:
        if (step.name, place) in seen:
            return
        seen.add((step.name, place))
        found = explainer.explain(step, place)
        if self.exact is not None:
            closed = self.exact.text(self.exact.value(step)[place], explainer.latex)
            found = replace(found, exact=closed or "")
        yield depth, found
        if not self.deep:
            return
        for index in kept(len(found.sources), explainer.full):
            if index is not None and (source := found.sources[index]).step in self.trace:
                below = self.trace[source.step]
                yield from self._below(explainer, below, source.index, depth + 1, seen)

    def _places(self, full: bool) -> Iterator[Index]:
        if self.place is not None:
            yield self.place
            return
        sizes = self.step.value.shape
        shown = [{i for i in kept(size, self.full or full) if i is not None} for size in sizes]
        whole = set(product(*shown))
        yield from (place for place in cells(self.step) if place in whole)

    @property
    def left_out(self) -> bool:
        """Whether cells of the step are left out of a page."""
        return self.place is None and any(None in kept(n, self.full) for n in self.step.value.shape)


def lines(request: Request) -> Iterator[Line]:
    """Yield the lines for a terminal."""
    step = request.step
    line: Line = [(step.formula, "title")]
    if isinstance(step.operation, Operation) and step.operation.note:
        line.append((f"   {step.operation.note}", "faint"))
    yield line
    for depth, found in request.found():
        name, *rest = found.line.split(" = ", 1)
        indent = [("  " * depth, "")] if depth else []
        yield [*indent, (name, "label"), *((f" = {text}", "") for text in rest)]
    if request.left_out:
        yield [("Cells in the middle are left out; --full shows all.", "faint")]


def as_table(request: Request) -> str:
    """Return the lines as plain text."""
    return "".join("".join(text for text, _ in line).rstrip() + "\n" for line in lines(request))


def as_json(request: Request) -> str:
    """Return one object: the step, and each cell with its parts and sources."""
    import json

    step = request.step
    record: dict[str, Any] = {"title": request.trace.problem.title, "step": step.name}
    record |= {"formula": step.formula, "axes": list(step.axes)}
    record["cells"] = [_cell(found) for _, found in request.found(full=True)]
    return json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"


def as_latex(request: Request) -> str:
    """Return the lines as a displayed formula each, one below the other."""
    rows = [_aligned(found) for _, found in request.found(latex=True)]
    body = " \\\\\n".join(rows)
    return f"\\begin{{align*}}\n{body}\n\\end{{align*}}\n"


def as_markdown(request: Request) -> str:
    """Return the title and the lines as formulas between dollar signs, items of a list."""
    title = visible(request.trace.problem.title)
    for character in "\\`*_[]<>#&|$~":
        title = title.replace(character, f"\\{character}")
    head = f"**{title}**\n\n" if title else ""
    rows = [
        f"{'  ' * depth}- ${_aligned(found, '')}$\n" for depth, found in request.found(latex=True)
    ]
    return head + "".join(rows)


def exact_lines(trace: Trace, steps: list[Step], exact: Exact, decimals: int) -> Iterator[Line]:
    """Yield every cell of some steps with its closed form and its decimals."""
    for number, step in enumerate(steps):
        if number:
            yield []
        yield [(step.formula, "title")]
        values = exact.value(step)
        for place in cells(step):
            closed = exact.text(values[place])
            value = step.value[place] if closed is None else values[place]
            texts = dict.fromkeys((closed, number_text(float(value), decimals)))
            rest = "".join(f" = {text}" for text in texts if text is not None)
            yield [(cell_name(step, place), "label"), (rest, "")]


FORMATS: dict[str, Callable[[Request], str]] = {
    "table": as_table,
    "json": as_json,
    "latex": as_latex,
    "markdown": as_markdown,
}


def _cell(found: Explanation) -> dict[str, Any]:
    value: float | str = found.value
    if value in (float("inf"), float("-inf")):
        value = "Infinity" if found.value > 0 else "-Infinity"
    parts = {name: getattr(found, name) for name in ("name", "formula", "unfolded", "numbers")}
    more = {name: getattr(found, name) for name in ("exact", "unrounded", "result", "reason")}
    return {
        **{name: text for name, text in (parts | more).items() if text},
        "value": value,
        "sources": [{"step": source.step, "index": list(source.index)} for source in found.sources],
    }


def _aligned(found: Explanation, sign: str = "&") -> str:
    name, *parts = found.parts
    signs = [" = "] * len(parts)
    if found.unrounded and signs:
        signs[-1] = r" \approx "
    text = "".join(sign + part for sign, part in zip(signs, parts, strict=True))
    if found.reason:
        text += rf"\text{{, as }}{found.reason}"
    elif found.given:
        text += rf"\ \text{{({escaped('given')})}}"
    return f"{name} {sign}{text.lstrip()}"
