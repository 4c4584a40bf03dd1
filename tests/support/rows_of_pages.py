"""The rows of numbers that pages show, read out of each format by a reader of its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from xml.etree import ElementTree

from attncli.printing.blocks import Figure, Page, Panel

Row = tuple[str, ...]


def element_of(page: str) -> ElementTree.Element:
    """Return an HTML page read as strict XML, which is all that stands after the doctype."""
    assert page.startswith("<!DOCTYPE html>\n")
    return ElementTree.fromstring(page.removeprefix("<!DOCTYPE html>\n"))


def text_of(element: ElementTree.Element) -> str:
    return "".join(element.itertext())


def as_python_writes_it(number: str) -> str:
    """Return a number of any format as Python writes it; nothing for an empty cell."""
    number = number.strip().replace("−", "-").replace(r"-\infty", "-∞").replace("∞", "inf")
    number = re.sub(r" \\cdot 10\^\{(-?\d+)\}", r"e\1", number)
    return repr(float(number)) if number else ""


def row_of(texts: list[str]) -> Row:
    return tuple(filter(None, map(as_python_writes_it, texts)))


def in_table(text: str) -> Iterator[Row]:
    """Yield the rows between brackets of any height."""
    for inside in re.findall(r"[⎡⎢⎣\[]([-−\d.e+∞│ ]*)[⎤⎥⎦\]]", text):
        yield row_of(re.split(r"[ │]+", inside))


def in_mathematics(text: str) -> Iterator[Row]:
    """Yield the rows of arrays with brackets; labels stand outside, or in text of their own."""
    inner = r"\[\\begin\{array\}\{[cr|]+\} (?:\\attntop[^\n]*)?(.*?) \\end\{array\}"
    for array in re.findall(inner, text, re.DOTALL):
        for line in re.split(r" \\\\\s", array):
            yield row_of(re.split(r" ?& ?", re.sub(r"\\attnshade\{\d+\}\{(.*?)\}", r"\1", line)))


def in_markdown(text: str) -> Iterator[Row]:
    """Yield the rows of arrays and of tables."""
    yield from in_mathematics(text)
    for rule, body in re.findall(r"^\| (:?-)-.*\n((?:\|.*\n)+)", text, re.MULTILINE):
        for line in body.splitlines():
            cells = re.split(r"(?<!\\)\|", line)[1:-1]
            yield row_of(cells[1:] if rule == ":-" else cells)


def in_html(text: str) -> Iterator[Row]:
    for row in element_of(text).iter("tr"):
        if cells := [text_of(cell) for cell in row.iter("td")]:
            yield row_of(cells)


READERS: dict[str, Callable[[str], Iterator[Row]]] = {
    "table": in_table,
    "markdown": in_markdown,
    "latex": in_mathematics,
    "html": in_html,
}


def rows(panel: Panel) -> list[Row]:
    n, m = panel.matrix.values.shape
    return [row_of([panel.matrix.text(i, j) for j in range(m)]) for i in range(n)]


def results(figure: Figure) -> list[list[Row]]:
    """Return the rows of results, alone and, where there are sums, with the sums beside them."""
    alone = [rows(panel) for panel in figure.results]
    ways = [[row for part in alone for row in part]]
    if len({len(part) for part in alone}) == 1:
        ways.append([sum(parts, ()) for parts in zip(*alone, strict=True)])
    return ways


def known_rows(page: Page) -> set[Row]:
    """Return every row that a page may show."""
    found: set[Row] = set()
    for entry in page.entries:
        for panel in (*entry.inputs, *(p for figure in entry.figures for p in figure.panels)):
            found |= set(rows(panel))
        for figure in entry.figures:
            found |= {row for way in results(figure) for row in way}
    return found
