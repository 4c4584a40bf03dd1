"""Explanations on a page: lines for a terminal, JSON, and formulas in LaTeX and Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

from attncli.explaining.exact import Exact
from attncli.explaining.explain import Explainer, Explanation, cells, number_text
from attncli.mechanisms.trace import Trace
from attncli.notation.tex import ascii_text, tex
from attncli.notation.text import text as as_text
from attncli.records import Record, replace
from attncli.rendering.blocks import Line
from attncli.rendering.documents import latex, markdown
from attncli.tape.cells import cell_name
from attncli.tape.step import Step
from attncli.text.elision import kept
from attncli.text.escapes import visible
from attncli.text.numbers import DEFAULT_DECIMALS

Index = tuple[int, ...]


class Request(Record):
    """What is to be explained, and how.

    Attributes:
        trace: what was calculated.
        step: the step.
        places: the cells on paper; None for every cell.
        decimals: the most digits after the point.
        full: whether long sums and large matrices are written whole.
        deep: whether to go on to the operands, down to the input.
        exact: the exact numbers of the trace, where closed forms are wanted.
    """

    trace: Trace
    step: Step
    places: Sequence[Index] | None = None
    decimals: int = DEFAULT_DECIMALS
    full: bool = False
    deep: bool = False
    exact: Exact | None = None

    def found(self, full: bool = False) -> Iterator[tuple[int, Explanation]]:
        """Yield each explanation with how deep it lies below what was asked for.

        What is part of several cells is explained once.
        """
        explainer = Explainer(self.trace, self.decimals, self.full or full)
        seen: set[tuple[str, Index]] = set()
        for place in self._shown(full):
            yield from self._below(explainer, self.step, place, 0, seen)

    def _below(
        self, explainer: Explainer, step: Step, place: Index, depth: int, seen: set[Any]
    ) -> Iterator[tuple[int, Explanation]]:
        if (step.name, place) in seen:
            return
        seen.add((step.name, place))
        found = explainer.explain(step, place)
        if self.exact is not None:
            closed = self.exact.formula(self.exact.value(step)[place])
            more = {} if closed is None else {"exact": closed}
            found = replace(found, nodes={**found.nodes, **more})
        yield depth, found
        if not self.deep:
            return
        for index in kept(len(found.sources), explainer.full):
            if index is not None and (source := found.sources[index]).step in self.trace:
                below = self.trace[source.step]
                yield from self._below(explainer, below, source.index, depth + 1, seen)

    def _shown(self, full: bool) -> Iterator[Index]:
        if self.places is not None:
            yield from self.places
            return
        sizes = self.step.value.shape
        shown = [{i for i in kept(size, self.full or full) if i is not None} for size in sizes]
        whole = set(product(*shown))
        yield from (place for place in cells(self.step) if place in whole)

    @property
    def left_out(self) -> bool:
        """Whether cells of the step are left out of a page."""
        return self.places is None and any(
            None in kept(n, self.full) for n in self.step.value.shape
        )


def lines(request: Request) -> Iterator[Line]:
    """Yield the lines for a terminal."""
    step = request.step
    line: Line = [(step.formula, "title")]
    if step.note is not None:
        line.append((f"   {as_text(step.note)}", "faint"))
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
    rows = [_aligned(found, "&", latex.escaped) for _, found in request.found()]
    body = " \\\\\n".join(rows)
    return latex.with_scripts(f"\\begin{{align*}}\n{body}\n\\end{{align*}}\n")


def as_markdown(request: Request) -> str:
    """Return the title and the lines as formulas between dollar signs, items of a list."""
    title = markdown.escaped(visible(request.trace.problem.title))
    head = f"**{title}**\n\n" if title else ""
    rows = [
        f"{'  ' * depth}- $`{_aligned(found, '', ascii_text)}`$\n"
        for depth, found in request.found()
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
    names = ("name", "formula", "unfolded", "numbers", "exact", "unrounded", "result")
    texts = {name: found.part(name) for name in names} | {"reason": found.reason}
    return {
        **{name: text for name, text in texts.items() if text},
        "value": value,
        "sources": [{"step": source.step, "index": list(source.index)} for source in found.sources],
    }


def _aligned(found: Explanation, sign: str, escape: Callable[[str], str]) -> str:
    """Return an explanation in TeX's mathematics, with a sign where lines may be aligned."""
    chain = found.chain
    name, *parts = (tex(part, escape) for part in chain.parts)
    signs = [" = "] * (len(parts) - 1) + [r" \approx " if chain.last == "≈" else " = "]
    text = "".join(sign + part for sign, part in zip(signs, parts, strict=True))
    if found.reasons:
        reasons = r";\ ".join(tex(reason, escape) for reason in found.reasons)
        text += rf"\text{{, as }}{reasons}"
    elif found.given:
        text += r"\ \text{(given)}"
    return f"{name} {sign}{text.lstrip()}"
