"""Texts taken out of notebooks and web pages, with the place of each piece there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from html import unescape
from typing import NamedTuple

from attncli.core.errors import InputError, fail
from attncli.core.text.strings import regex
from attncli.reading.chunks import Extract, Pieces

TOKEN = regex(r'"(?P<inside>(?:[^"\\]|\\.)*+)"(?P<colon>\s*+:)?|(?P<opening>[\[{])|[\]}]')
ESCAPE = regex(r"(\\(?:u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w|u\w{4}|.))")
"""A character of JSON that is written as others; one of 32 bits is written as two halves."""

OUTPUT_TEXTS = ("cells/outputs/text", "cells/outputs/data/text/plain")

SHOWN = regex(
    r"(?:(?:print|display)\()?(?:np\.round\()?(?P<name>[^\W\d]\w*)"
    r"(?:\.round\(\d*\)|, *\d+\))?\)?;?\s*"
)
"""The last line of a cell, if its output is what a name holds, perhaps rounded."""

AS_CELLS = "save it anew, or write its cells into a .txt file"


def of_notebook(written: str, name: str) -> Extract:
    """Return the text of a notebook: its cells, each with its outputs below it, as in a console.

    https://nbformat.readthedocs.io/en/latest/format_description.html

    Raises:
        InputError: if the notebook is damaged, or has no text.
    """
    result = Extract(name, written)
    try:
        json.loads(written)
    except (ValueError, RecursionError) as error:  # also a number of many digits, too many lists
        message = "the notebook is cut off or damaged here"
        raise result.place_at(getattr(error, "pos", 0)).error(message, AS_CELLS) from None
    source, outputs = Pieces(), [Pieces()]
    for keys, string in _strings_and_ends(written):
        if string:
            if keys == "cells/source":
                source += _unescaped(string)
            elif keys in OUTPUT_TEXTS:
                outputs[-1] += _unescaped(string)
        elif keys == "cells/outputs":
            outputs.append([])
        elif keys == "cells":
            result.pieces += _with_heading(source, outputs)
            source, outputs = [], [[]]
    if not result.text.strip():
        raise fail("the notebook has no text in its cells", hint=AS_CELLS)
    return result


def _strings_and_ends(written: str) -> Iterator[tuple[str, re.Match[str] | None]]:
    """Yield each string that is a value in JSON, or None for each end of an object or a list.

    Before it are the keys around it.
    """
    path: list[str] = []  # the keys; "" for a list
    for token in TOKEN.finditer(written):
        if token["opening"]:
            path.append("")
        elif token["colon"]:
            path[-1] = token["inside"]
        else:
            string = token if token["inside"] is not None else None
            if string is None:
                path.pop()
            yield "/".join(filter(None, path)), string


def _unescaped(string: re.Match[str]) -> Pieces:
    """Return a string of JSON in pieces, each as long as in the file or one character."""
    pieces, at = Pieces(), string.start("inside")
    for number, part in enumerate(ESCAPE.split(string["inside"])):
        if part:
            pieces.append((_character(part) if number % 2 else part, at))
        at += len(part)
    return pieces


@lru_cache
def _character(escape: str) -> str:
    """Return the character of an escape; a question mark for a half of one."""
    written: str = json.loads(f'"{escape}"')
    return written.encode("utf-8", "replace").decode()


def _with_heading(source: Pieces, outputs: list[Pieces]) -> Iterator[tuple[str, int]]:
    """Yield a cell with its outputs; a last line that shows a name is the heading of the output."""
    last = max((at for at, (piece, _) in enumerate(source) if piece == "\n"), default=-1) + 1
    above = "".join(piece for piece, _ in source[:last])
    shown = SHOWN.fullmatch("".join(piece for piece, _ in source[last:]))
    outputs = [pieces for pieces in outputs if pieces]
    if shown and len(outputs) == 1 and "print" not in above:
        source[last:] = [("> ", source[last][1]), (shown["name"], source[last][1] + shown.start(1))]
    for pieces in (source, *outputs):
        yield from pieces
        yield "\n\n", pieces[-1][1] if pieces else 0


TAG = regex(
    r"<!--(?s:.*?)(?:-->|(?P<endless>\Z))|<[!?][^<>]*+>"
    r"|<(?P<end>/?)(?P<name>[a-zA-Z][\w:-]*+)(?:[^<>\"']|\"[^\"<]*+\"|'[^'<]*+')*+>"
)
"""A comment, a declaration or a tag. A tag that is not closed is text; a comment in a comment means
that the first has no end."""

WORD = regex(
    r"(?P<blank>\s++)|(?P<sign>&(?:#\d{1,7}|#[xX][\da-fA-F]{1,6}|\w{1,31});)"
    r"|[^\s&]++(?: [^\s&]++)*+|&"
)
"""Blanks, a sign by its name or number, or words with a blank between them."""

HIDDEN = ("script", "style", "title", "template", "del", "s", "strike")
HEADINGS = ("caption", "h1", "h2", "h3", "h4", "h5", "h6")
CELLS = ("td", "th")
ROW_PARTS = ("tr", "thead", "tbody", "tfoot", "colgroup", "col")
TAGS_IN_LINE = """a abbr b bdi big code em font i ins kbd label mark o:p q samp small span strong tt
u var wbr"""
IN_LINE = frozenset(TAGS_IN_LINE.split())
"""Elements within a line. Any other tag ends the line, or is a blank in a cell."""

SCRIPTS = {"sub": "_", "sup": "^"}

AS_TABLE = "save the page anew, or copy its table into a .txt, CSV or YAML file"


class _Cell(NamedTuple):
    at: int
    is_head: bool
    pieces: Pieces

    @property
    def number(self) -> str:
        """The text of the cell, if it is a number; else ""."""
        text = "".join(piece for piece, _ in self.pieces).strip()
        return text if re.fullmatch(r"[\d.−-]+", text) else ""


def of_web_page(written: str, name: str) -> Extract:
    """Return the text of a web page: each row of a table as a line with `|` between its cells.

    Headings and captions are those of Markdown, too; paragraphs are lines. What a browser does not
    show, and what is struck out, is left out.

    Raises:
        InputError: if an element or a comment has no end, or a table has text outside its cells.
    """
    page, at = _Page(Extract(name, written)), 0
    hidden: re.Match[str] | None = None  # the tag of an element that is not shown
    for tag in TAG.finditer(written):
        kind = (tag["name"] or "").lower()
        if hidden is None:
            page.add_text(at, tag.start())
            if kind in HIDDEN or tag["endless"] is not None or "<!--" in tag[0][4:]:
                page.gap = True
                hidden = None if tag["end"] else tag
            elif kind:
                page.add_tag(kind, tag)
        elif tag["end"] and kind == (hidden["name"] or "").lower():
            hidden = None
        at = tag.end()
    if hidden:
        raise page.error(f"{hidden[0][:10]} begins here what has no end", hidden.start())
    page.add_text(at, len(written))
    if page.is_in_table:
        raise page.error("this table has no end", page.table_at)
    page.end_line()
    return page.extract


class _Page:
    """The part of a page that was read: what is extracted, and what is open."""

    def __init__(self, extract: Extract) -> None:
        self.extract = extract
        self.rows: list[list[_Cell]] = []  # of the table that is open, the last row is, too
        self.pieces: Pieces = []  # of the line or the cell that is open
        self.is_in_cell = False
        self.heading = ""  # the mark of the heading that is open
        self.is_in_table = self.is_as_written = False
        self.table_at = 0
        self.script = ""  # the index or the power that is open
        self.gap = False  # whether a paragraph has ended since the last text

    def add_text(self, start: int, end: int) -> None:
        for word in WORD.finditer(self.extract.written, start, end):
            text, at = unescape(word[0]) if word["sign"] else word[0], word.start()
            if word["blank"] or text.isspace():
                self.add_blank(text, at)
                continue
            if self.is_in_table and not self.is_in_cell and not self.heading:
                raise self.error("this is in a table, but in none of its cells", at)
            if self.is_in_cell and re.search("<[/a-zA-Z]", text):
                raise self.error("a tag is damaged", at)
            self._add_gap(text, at)
            self.pieces.append((text.replace("|", "\\|") if self.is_in_cell else text, at))

    def _add_gap(self, text: str, at: int) -> None:
        """Part a text from what is before it in a cell or a line, if a paragraph ends between.

        Two numbers are refused, as they may become another one: 10⁻¹ 0 is not 10⁻¹⁰.
        """
        if self.gap and (text[0] in "-+−." or text[0].isalnum()):
            before = "".join(piece for piece, _ in self.pieces[-2:]).rstrip()[-1:]
            if self.is_in_cell and re.match(r"[\d)%]", before) and not text[0].isalpha():
                raise self.error("there are two numbers in this cell", at)
            self.add_blank(" ", at)
        self.gap = False

    def error(self, message: str, at: int) -> InputError:
        return self.extract.place_at(at).error(message, AS_TABLE)

    def add_blank(self, blank: str, at: int) -> None:
        if self.is_as_written and not self.is_in_cell:
            *ended, blank = re.split("\r\n?|\n", blank)
            if ended:
                self.end_line()
            self.pieces += [(blank, at)] if blank else []
        elif self.pieces and self.pieces[-1][0] != " ":
            self.pieces.append((" ", at))

    def add_tag(self, kind: str, tag: re.Match[str]) -> None:
        is_start = not tag["end"]
        is_kept = kind in IN_LINE or (kind == self.script and not is_start)
        if not is_kept and (self.script or (kind in SCRIPTS and not is_start)):
            raise self.error("a tag is damaged", tag.start())
        if kind in CELLS or kind in ROW_PARTS:
            self._end_cell()
            self.is_in_table = True
            if kind in ROW_PARTS or not self.rows:
                self.rows.append([])
            if kind in CELLS and is_start:
                self.rows[-1].append(_Cell(tag.end(), kind == "th", self.pieces))
                self.is_in_cell = True
        elif kind == "table":
            if self.is_in_cell and is_start:
                raise self.error("this table is in a cell of another one", tag.start())
            self._end_table()
            self.is_in_table, self.table_at = is_start, tag.start()
        elif kind in SCRIPTS:
            self.gap, self.script = not is_start, kind if is_start else ""
            self.pieces += [(SCRIPTS[kind], tag.start())] if is_start and self.pieces else []
        elif self.is_in_cell:
            self.gap |= kind not in IN_LINE
        elif kind not in IN_LINE:
            self.end_line()
            self.heading = "## " if is_start and kind in HEADINGS else ""
            self.is_as_written = is_start and kind == "pre"

    def end_line(self) -> None:
        if any(not piece.isspace() for piece, _ in self.pieces):
            line = [(self.heading, self.pieces[0][1]), *self.pieces, ("\n", self.pieces[-1][1])]
            self.extract.pieces += line
        self.pieces = []

    def _end_cell(self) -> None:
        if self.is_in_cell:
            self.is_in_cell, self.pieces = False, []
        else:  # a caption may be open
            self.end_line()
            self.heading = ""

    def _end_table(self) -> None:
        """Write the rows of a table, without heads that only number its rows and columns."""
        self._end_cell()
        rows = [row for row in self.rows if row]
        if any(not cell.is_head for row in rows for cell in row):
            rows = _without_numbering(self.extract, rows)
        written = self.extract.pieces
        for row in rows:
            for cell in row:
                written += [("| " if cell is row[0] else " | ", cell.at), *cell.pieces]
            written.append((" |\n", row[-1].at))
        if rows:
            written.append(("\n", rows[-1][-1].at))
        self.rows = []


def _without_numbering(extract: Extract, rows: list[list[_Cell]]) -> list[list[_Cell]]:
    """Return the rows of a table without heads that only count its rows and columns."""
    sides, without = list[_Cell](), list[list[_Cell]]()
    for row in rows:
        is_top = all(cell.is_head for cell in row)
        heads = row if is_top else row[: row[0].is_head]
        if is_top:
            _refuse_numbers(extract, row)
        sides += [] if is_top else heads
        inside = [cell._replace(pieces=[]) if cell.number else cell for cell in heads]
        if not is_top or any(cell.pieces for cell in inside):
            without.append([*inside, *row[len(heads) :]])
    _refuse_numbers(extract, [*sides, _Cell(0, True, [])])  # all of these may be numbers
    start = int(all(row[0].is_head and not row[0].pieces for row in without))
    return [row[start:] for row in without]


def _refuse_numbers(extract: Extract, heads: list[_Cell]) -> None:
    """Refuse heads that are all numbers, or do not count from 0 or 1: Markdown has such first rows.

    Raises:
        InputError: where the first of them is.
    """
    numbers = [cell.number for cell in heads if cell.number]
    first = int(numbers[:1] == ["1"])
    are_counting = numbers == [str(number) for number in range(first, first + len(numbers))]
    if not are_counting or len(numbers) == len(heads):
        message = "these heads may be numbers of the matrix, or count its rows or columns"
        hint = "write words in them, or copy the table into a .txt, CSV or YAML file"
        raise extract.place_at(heads[0].at).error(message, hint)
