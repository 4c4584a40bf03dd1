r"""LaTeX: a fragment for another document, or a complete one, for pdfLaTeX and XeLaTeX.

pdfLaTeX lacks the letters of most scripts: it shows words in them as code points.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from attncli.core.calculation.trace import Trace
from attncli.core.formulas.printers import ascii_text, number, tex
from attncli.core.text.strings import visible
from attncli.printing.blocks import Entry, Figure, Matrix, Page, Panel
from attncli.printing.markdown import bracketed, explained, formula_of, sign
from attncli.printing.page import page_of
from attncli.printing.selection import Selection, pieces

if TYPE_CHECKING:
    from attncli.printing.explanations import Request

MAX_TEX_WIDTH = 70
"""Maximum width, in characters, of operands and result that are written side by side."""

ISOLATES = dict.fromkeys(map(ord, "\u2066\u2067\u2068\u2069\u200e\u200f"))

FONTS = {
    "cjk": ("Noto Serif CJK SC", "Noto Sans CJK SC", "Source Han Serif SC", "Microsoft YaHei"),
    "arabic": ("Noto Naskh Arabic", "Scheherazade New", "DejaVu Sans", "Times New Roman"),
    "hebrew": ("Noto Serif Hebrew", "DejaVu Sans", "Times New Roman"),
    "other": ("DejaVu Sans", "Noto Sans", "Segoe UI Symbol", "Arial Unicode MS"),
}
"""For each script, fonts that have it, the best first. Each name has a blank: XeTeX would take a
name without one for a file's and try to make that font."""

FONT_OPTIONS = {"arabic": "Script=Arabic", "hebrew": "Script=Hebrew"}
"""Options of fonts, by script, for letters that join or run from right to left."""

MATHS = {"−": "-", "√": r"\surd", "∞": r"\infty", "≤": r"\le", "≥": r"\ge", "≈": r"\approx"}
MATHS |= {"→": r"\to", "Σ": r"\Sigma", "τ": r"\tau", "π": r"\pi", "⊙": r"\odot", "‖": r"\Vert"}
SYMBOLS = {sign: rf"\ensuremath{{{name}}}" for sign, name in MATHS.items()}
SYMBOLS |= {"ᵀ": r"\textsuperscript{T}", "…": r"\ldots{}", "–": "--", "—": "---"}
SYMBOLS |= {"’": "'", "‘": "`", "“": "``", "”": "''"}
"""Characters of mathematics and print that every TeX has under another name."""

CJK = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO", "IDEOGRAPHIC", "FULLWIDTH")
RIGHT_TO_LEFT = ("arabic", "hebrew")

MACROS = Path(__file__).parent / "macros"
"""Folder of TeX files: `macros` for every document, `worksheet` for one to fill in, `scripts` for
one with words in other scripts (for XeLaTeX the words in their fonts, for pdfLaTeX code points),
`preamble` and `fonts` for a complete one."""


def traces(shown: Iterable[Trace], selection: Selection) -> Iterator[bytes]:
    pages = (_parts(page_of(trace, selection)) for trace in shown)
    bodies = ("".join(f"{part}\n" for part in parts) for parts in pages)
    if selection.standalone:  # its head names the fonts that all of it needs
        yield _standalone("\\newpage\n".join(bodies)).encode()
        return
    yield from pieces(map(_fragment, bodies), "\n", selection.follows)


def explanations(requests: Iterable[Request], selection: Selection) -> Iterator[bytes]:
    """Yield the explanations of each step as equations that are aligned at their signs."""
    texts = []
    for request in requests:
        cells = request.found(selection.digits, selection.full)
        body = " \\\\\n".join(explained(cell, escaped, "&") for _, cell in cells)
        texts.append(f"\\begin{{align*}}\n{body}\n\\end{{align*}}\n")
    yield with_scripts("".join(texts)).encode()


def _fragment(body: str) -> str:
    packages = r"\usepackage{amsmath,graphicx,xcolor}"
    head = f"% Needs {packages}; compile with pdflatex or xelatex.\n"
    if scripts := _scripts_in(body):
        head += (
            f"% Some text is in another script ({', '.join(scripts)}): with xelatex it shows\n"
            "% in the fonts of your document, with pdflatex as code points.\n"
        )
    return f"{head}{_macros_for(body)}{with_scripts(body)}"


def with_scripts(body: str) -> str:
    """Return mathematics with the macro for other scripts, if any occur in it."""
    return f"{_macros('scripts')}{body}" if _scripts_in(body) else body


def _macros(name: str) -> str:
    return (MACROS / f"{name}.tex").read_text(encoding="utf-8")


def _macros_for(body: str) -> str:
    return _macros("macros") + (_macros("worksheet") if r"\attnname" in body else "")


def _standalone(body: str) -> str:
    head = "% Compile with pdflatex or xelatex.\n"
    fonts = ""
    if scripts := _scripts_in(body):
        head = (
            f"% Some text is in another script ({', '.join(scripts)}): compile with xelatex.\n"
            "% pdflatex has no letters for it and shows code points in its place.\n"
        )
        wanted = [(script, font) for script in scripts for font in FONTS[script]]
        lines = [
            rf"  \attnfont{{{s}}}{{{FONT_OPTIONS.get(s, '')}}}{{{font}}}" for s, font in wanted
        ]
        fonts = "\n".join([rf"{_macros('fonts')}\ifPDFTeX\else", *lines, "\\fi\n"])
    begin = with_scripts(f"\\begin{{document}}\n{body}\\end{{document}}\n")
    return f"{head}{_macros('preamble')}{fonts}{_macros_for(body)}{begin}"


def escaped(text: str) -> str:
    r"""Return text that LaTeX shows as it is written.

    >>> escaped("50% é"), escaped("你好")
    ('50\\% é', '\\attnscript{cjk}{你好}{U+4F60 U+597D}')
    """
    parts = []
    text = unicodedata.normalize("NFC", visible(text.translate(ISOLATES)))
    for script, run in groupby(text, _script):
        word = "".join(run)
        if not script:
            parts.append("".join(SYMBOLS.get(c, c) for c in ascii_text(word)))
            continue
        shown = rf"\attnleftward{{{word}}}" if script in RIGHT_TO_LEFT else word
        points = " ".join(f"U+{ord(c):04X}" for c in word)
        parts.append(rf"\attnscript{{{script}}}{{{shown}}}{{{points}}}")
    return "".join(parts)


def _script(character: str) -> str:
    """Return the key in `FONTS` for a character; "" if every TeX has its letter."""
    is_latin = "\u00c0" <= character <= "\u017e" and character not in "ĦħĿŀŉŦŧĸĬĭĢ"  # as T1 has it
    if character.isascii() or character in "·×÷±°§µ" or character in SYMBOLS or is_latin:
        return ""
    name = unicodedata.name(character, "")
    if name.startswith(CJK) or unicodedata.east_asian_width(character) == "F":
        return "cjk"
    first = name.split(" ", 1)[0].lower()
    return first if first in FONTS else "other"


def _scripts_in(body: str) -> list[str]:
    return sorted(set(re.findall(r"\\attnscript\{(\w+)\}", body)))


def _parts(page: Page) -> Iterator[str]:
    if page.title:
        yield rf"\section*{{{escaped(page.title)}}}"
    if page.asked:
        yield rf"\attnname{{{escaped(page.student)}}}"
    if page.notes:
        yield _paragraphs(page.notes.splitlines())
    if page.asked:
        yield _paragraphs([page.asked])
    for entry in page.entries:
        if entry.group:
            yield rf"\subsection*{{{escaped(entry.group)}}}"
        yield from _entry(entry)
    if page.closing:
        yield _paragraphs(page.closing)
    if page.warnings:
        yield _paragraphs([f"Warning: {text}" for text in page.warnings])


def _entry(entry: Entry) -> Iterator[str]:
    for panel in entry.inputs:
        yield from _named(panel)
    line = "attnhead" if entry.figures else "attnline"
    for step in entry.steps:
        yield rf"\{line}{{{formula_of(step, escaped)}}}"
    if entry.reasons:
        yield _paragraphs(entry.reasons)
    for figure in entry.figures:
        yield from _figure(figure)


def _figure(figure: Figure) -> Iterator[str]:
    if figure.name:
        yield rf"\par\textit{{{escaped(figure.name)}}}\par\nopagebreak"
    panels = [*figure.panels, *figure.results]
    together = sum(panel.matrix.width for panel in panels) <= MAX_TEX_WIDTH
    if figure.operands and together:
        yield _line("".join(_beside([*figure.operands, "=", *figure.results])))
    elif together:
        shown = list(_beside(figure.results))
        if len(shown) > 1 and figure.results[0].answer:  # empty brackets need their names
            names = (tex(panel.name, escaped) for panel in figure.results)
            shown = [f"{name} = {one}" for name, one in zip(names, shown, strict=True)]
        yield _line(r" \quad ".join(shown))
    else:
        for panel in panels:
            yield from _named(panel)
    if sums := figure.sums():
        # A line may break at every sign.
        dots = r"\vdots", SYMBOLS["…"]
        lines = (x.texts(_cell, lambda w, v: rf"{number(w)}\,{v}", "-", dots) for x in sums)
        yield _ragged([f"${' '.join(texts)}$" for texts in lines])


def _beside(parts: Sequence[Panel | str]) -> Iterator[str]:
    return (_matrix(part) if isinstance(part, Panel) else sign(part) for part in parts)


def _named(panel: Panel) -> Iterator[str]:
    if panel.words:
        yield rf"\par\textit{{{escaped(panel.words)}}}\par\nopagebreak"
    yield _line(f"{tex(panel.name, escaped)} = {_matrix(panel)}")


def _matrix(panel: Panel) -> str:
    array = _array(panel.matrix)
    return rf"\attnanswer{{{mark_of(panel.answer)}}}{{{array}}}" if panel.answer else array


def mark_of(name: str) -> str:
    """Return the name of an answer for TeX; ASCII that is special, and other characters, as codes.

    >>> mark_of("weights[head 2]"), mark_of("hidden[50%]")
    ('weights[head 2]', 'hidden[50!25!]')
    """
    return re.sub(r"[^\w \[\],.:-]|[^\x00-\x7f]", lambda m: f"!{ord(m[0]):X}!", name)


def _array(matrix: Matrix) -> str:
    """Return a matrix with labels over it, and before it, in an array of their own."""
    lines = [" & ".join(_number(matrix, r, c) for c in matrix.columns) for r in matrix.rows]
    if matrix.column_labels:
        heads = (_label(matrix.column_labels, c, r"\cdots") for c in matrix.columns)
        tops = " & ".join(rf"\attntop{{{head}}}" for head in heads)
        lines[0] = f"{tops} \\\\[-\\normalbaselineskip]\n{lines[0]}"
        array = rf"\attnover{{{bracketed(matrix, lines)}}}"
    else:
        array = bracketed(matrix, lines)
    labels = [_label(matrix.row_labels, r, r"\vdots") for r in matrix.rows]
    strut = r"\attnstrut" if matrix.is_open else ""  # as high as the room beside it
    column = r" \\ ".join(f"{strut}{label}" for label in labels)
    return rf"\begin{{array}}{{r}} {column} \end{{array}}{array}" if any(labels) else array


def _label(labels: Sequence[str], place: int | None, left_out: str) -> str:
    if not labels:
        return ""
    return left_out if place is None else rf"\text{{{escaped(labels[place])}}}"


def _number(matrix: Matrix, row: int | None, column: int | None) -> str:
    if matrix.has_room(row, column):
        return r"\attnroom"
    shown = number(matrix.text(row, column))
    shade = None if row is None or column is None else matrix.shade(row, column)
    percent = round(100 * shade) if shade else 0
    return rf"\attnshade{{{percent}}}{{{shown}}}" if percent else shown


def _cell(letter: str, word: str) -> str:
    base = letter if letter.isascii() and len(letter) == 1 else rf"\text{{{escaped(letter)}}}"
    below = rf"\text{{{escaped(word)}}}"
    return f"{base}_{{{below}}}" if letter and word else below if word else base


def _paragraphs(lines: Sequence[str]) -> str:
    return _ragged([escaped(line) if line.strip() else r"\medskip" for line in lines])


def _ragged(lines: Sequence[str]) -> str:
    return "{\\raggedright\\sloppy\n" + "\\par\n".join(lines) + "\\par}\n"


def _line(text: str) -> str:
    return rf"\attnline{{{text}}}"
