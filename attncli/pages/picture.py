"""Heat maps of the weights, or of other steps, as one picture: an SVG, or a PNG drawn from it."""

from __future__ import annotations

import colorsys
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from itertools import chain

import numpy as np

from attncli.core.calculation.compute import outlined
from attncli.core.calculation.trace import Trace
from attncli.core.errors import fail, located, not_installed
from attncli.core.problem.problem import Problem
from attncli.core.records import replace
from attncli.core.tape.step import Step
from attncli.core.text.numbers import number_text
from attncli.core.text.strings import LIMIT, cell_width, shortened, visible
from attncli.pages.markup import ISOLATED, file_text
from attncli.printing.blocks import Matrix
from attncli.printing.page import title_of
from attncli.printing.selection import Selection
from attncli.printing.views import Views

MAX_DRAWN_CELLS = 40_000
"""Maximum number of cells of a picture, 200 × 200: an SVG of 3 MB, a PNG in 6 seconds. Chosen."""

CELL, FONT = 32, 14
"""Heights in pixels, as all sizes here, of a cell with a number and of its text. Chosen."""

SMALL_CELL, SMALL_FONT = 12, 10
"""Heights of a cell and of its text where cells have no numbers, as in large matrices."""

LETTER, MAX_LABEL = 0.62, 16
"""About how wide a letter is, relative to its size, and maximum number of letters of a label."""

BESIDE, GAP, MARGIN = 4, 28, 16
"""Number of heads side by side, the distance between them, and that around the picture."""

FAMILY = "system-ui,'Segoe UI','Noto Sans','DejaVu Sans',sans-serif"

START = ' text-anchor="start"'
"""The attribute of a text that begins at its place, where others have their middle there."""


def as_svg(shown: Iterable[Trace], selection: Selection) -> Iterator[bytes]:
    """Yield a picture of all problems, below each other: of the weights, unless others are named.

    Raises:
        InputError: for more than `MAX_DRAWN_CELLS` cells.
    """
    picture = _Picture()
    count = 0
    for trace in shown:
        views = Views(trace, replace(selection, full=True), 0)
        if title := title_of(trace, selection):
            picture.line(title, 20)
        for step in _steps(trace, selection):
            maps = [(words, views.of_step(step, at).matrix) for at, words in views.slices(step)]
            count += sum(len(matrix.rows) * len(matrix.columns) for _, matrix in maps)
            _refuse_cells(count)
            picture.step(step, maps)
    yield picture.svg().encode(errors="replace")


def _refuse_cells(count: int) -> None:
    if count > MAX_DRAWN_CELLS:
        message = f"a picture of more than {MAX_DRAWN_CELLS:,} cells shows nothing"
        hint = "choose with --only, --head and --rows; -o FILE.npz holds every number"
        raise fail(message, hint=hint)


def refuse_large(selection: Selection, problem: Problem) -> None:
    """Raise an InputError for a problem whose picture would have more than `MAX_DRAWN_CELLS`."""
    if not (selection.heads or selection.rows):
        with located(problem.source):
            _refuse_cells(sum(step.array.size for step in _steps(outlined(problem), selection)))


def _steps(trace: Trace, selection: Selection) -> list[Step]:
    return selection.steps(trace) if selection.only else trace.weights or [trace.last]


def as_png(shown: Iterable[Trace], selection: Selection) -> Iterator[bytes]:
    """Yield the same picture in pixels, two for each of the SVG, so that it is sharp on a slide."""
    draw = _svg_to_bytes()
    yield bytes(draw(b"".join(as_svg(shown, selection)).decode(), zoom=2))


def refuse_png(selection: Selection, problem: Problem) -> None:
    """Raise an InputError where there is no library for PNG, and as `refuse_large` does."""
    _svg_to_bytes()
    refuse_large(selection, problem)


def _svg_to_bytes() -> Callable[..., Iterable[int]]:
    try:
        from resvg_py import svg_to_bytes
    except ImportError:
        raise not_installed("a PNG needs resvg_py", "resvg_py", "write an SVG") from None
    return svg_to_bytes


def _labels(labels: Sequence[str], places: Sequence[int]) -> list[str]:
    return [shortened(labels[place], MAX_LABEL) if labels else str(place + 1) for place in places]


def _width(words: Iterable[str], font: float) -> float:
    return LETTER * font * (1 + max(cell_width(visible(one)) for one in words))


class _Picture:
    """The markup of cells and texts, and how far it reaches to the right and down."""

    def __init__(self) -> None:
        style = file_text("style.css")  # which begins with the light colours of pages
        self.colours = dict(re.findall(r"--(\w++): ([^;]{1,99});", style.partition("}")[0]))
        hue, colourful, light = (float(n.strip("%")) for n in self.colours["heat"].split())
        rgb = colorsys.hls_to_rgb(hue / 360, light / 100, colourful / 100)
        self.heat = "#" + "".join(f"{round(part * 255):02x}" for part in rgb)
        self.opacity = float(
            re.findall(r"td\.w \{.{1,300} (\.\d{1,9})\)\);", style)[0]
        )  # of a weight of 1
        self.lines, self.cells, self.texts = list[str](), list[str](), list[str]()
        self.right = self.bottom = 0.0

    def svg(self) -> str:
        paper, edge, title = self.colours["paper"], -MARGIN, escape("; ".join(self.lines))
        width, height = round(self.right) + 2 * MARGIN, round(self.bottom) + 2 * MARGIN
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width}" height="{height}"'
            f' viewBox="{edge} {edge} {width} {height}">\n<title>{title}</title>\n'
            f'<rect x="{edge}" y="{edge}" width="100%" height="100%" fill="{paper}"/>\n'
            f'<g fill="{self.heat}" stroke="{paper}">\n{"".join(self.cells)}</g>\n'
            f'<g fill="{self.colours["ink"]}" font-family="{FAMILY}" text-anchor="middle">\n'
            f"{''.join(self.texts)}</g>\n</svg>\n"
        )

    def text(self, words: str, x: float, middle: float, font: float, more: str = "") -> None:
        place = f'x="{x:g}" y="{middle + 0.35 * font:g}" font-size="{font:g}"'
        shown = visible(ISOLATED.sub(r"\1", words))
        self.texts.append(f"<text {place}{more}>{escape(shown)}</text>\n")

    def rect(self, x: float, y: float, width: float, height: float, more: str) -> None:
        size = f'width="{width:g}" height="{height:g}"'
        self.cells.append(f'<rect x="{x:g}" y="{y:g}" {size} {more}/>\n')

    def line(self, words: str, font: float, colour: str = "ink") -> None:
        self.lines.append(visible(words))
        self.text(words, 0, self.bottom + font, font, f'{START} fill="{self.colours[colour]}"')
        self.right = max(self.right, _width([words], font))
        self.bottom += 2 * font

    def step(self, step: Step, maps: Sequence[tuple[str, Matrix]]) -> None:
        """Draw the heat maps of a step, in which shades mean the same, below its formula."""
        low, high = 0.0, 1.0
        if not maps[0][1].shaded:
            finite = step.array[np.isfinite(step.array)]
            low, high = float(finite.min()), float(finite.max())
        self.line(step.formula, 16)
        for number, (words, matrix) in enumerate(maps):
            if number % BESIDE == 0:
                left, top = 0.0, self.bottom + 2 * FONT * bool(words)
            if words:
                self.text(words, left, top - FONT, FONT, START)
            # By halves, as their whole difference may be too large for a float.
            shares = (matrix.values / 2 - low / 2) / (high / 2 - low / 2 or 1)
            shades = replace(matrix, values=shares, shaded=True)
            left = GAP + self.heat_map(matrix, shades, left, top)
        ends = (number_text(end, maps[0][1].write.decimals) for end in (low, high))
        self.line(f"shades from {' to '.join(ends)}".replace("-", "−"), 12, "faint")

    def heat_map(self, matrix: Matrix, shades: Matrix, left: float, top: float) -> float:
        """Draw a matrix with its labels; return where it ends at the right."""
        rows, columns = matrix.shown
        names, heads = _labels(matrix.row_labels, rows), _labels(matrix.column_labels, columns)
        has_numbers = max(len(rows), len(columns)) <= LIMIT
        texts = [matrix.texts(row, columns) for row in rows]
        if has_numbers:
            height, font, above, anchor, turn = CELL, FONT, 2.0 * FONT, "", ""
            width = max(height, _width([*heads, *chain(*texts)], font) + font / 2)
        else:
            width = height = SMALL_CELL
            font, above, anchor, turn = SMALL_FONT, _width(heads, SMALL_FONT), START, " rotate(-90)"
        left, top = left + _width(names, font), top + above
        for x, head in enumerate(heads):
            place = f"translate({left + (x + 0.5) * width:g} {top - 0.75 * font:g}){turn}"
            self.text(head, 0, 0, font, f'{anchor} transform="{place}"')
        for y, row in enumerate(rows):
            middle = top + (y + 0.5) * height
            self.text(names[y], left - font / 2, middle, font, ' text-anchor="end"')
            for x, column in enumerate(columns):
                at = left + x * width
                if shade := shades.shade(row, column):
                    opacity = f'fill-opacity="{shade * self.opacity:.3f}"'
                    self.rect(at, middle - height / 2, width, height, opacity)
                if has_numbers:
                    number = texts[y][x].replace("-", "−")
                    faint = f' fill="{self.colours["faint"]}"' * number.endswith("∞")
                    self.text(number, at + width / 2, middle, font, faint)
        right, bottom = left + width * len(columns), top + height * len(rows)
        frame = f'fill="none" stroke="{self.colours["line"]}"'
        self.rect(left, top, right - left, bottom - top, frame)
        self.right, self.bottom = max(self.right, right), max(self.bottom, bottom)
        return right
