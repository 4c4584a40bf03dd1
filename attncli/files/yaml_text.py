"""YAML without YAML 1.1's surprises: every scalar stays the text that was written.

Built on the parser's events rather than on a loader: that keeps written digits and positions,
finds duplicate keys, bounds depth and aliases, and takes a third of the time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import yaml

from attncli.errors import InputError, KeyPath, Place
from attncli.files.document import PAIR, PAIRS, ROW, Chunk, Raw, error_at
from attncli.notation.commas import ambiguous
from attncli.notation.parser import NumberError
from attncli.notation.pasted import grid_of
from attncli.text import escapes
from attncli.text.escapes import visible

MAX_DEPTH = 64
TOO_DEEP = f"more than {MAX_DEPTH} brackets or levels inside each other"
MAX_EXPANSION = 5_000_000
"""How many values aliases may stand for beyond what is written."""

LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
CORE_TAGS = tuple(f"tag:yaml.org,2002:{t}" for t in ("str", "int", "float", "seq", "map"))
NULLS = ("", "~", "null", "Null", "NULL")
CONTROL = r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
"""What the parser refuses; compiling it takes as long as parsing, so it waits for an error."""


ALL_PAIRS = re.compile(rf"{ROW}|\[\s*{ROW}(?:\s*,\s*{ROW})*\s*\]")
"""A list of such rows alone."""


MISSING: Any = object()
"""Stands for a key without a value."""

NUMBERS = frozenset("-+−≈~0123456789.,;%/eE√ \t")
"""What a row of a matrix without brackets is written with."""


def documents_until(chunk: Chunk) -> tuple[list[Raw], InputError | None]:
    """Return the value of each document of a text that is not empty, up to an error, and that.

    It tells, with its place, of whatever is no YAML, or more of it than a person writes.
    """
    builder = _Builder(chunk)
    error: InputError | None = None
    try:
        for event in yaml.parse(chunk.text, Loader=LOADER):
            builder.take(event)
    except yaml.YAMLError as refused:
        error = _syntax_error(refused, chunk)
    except InputError as refused:
        error = refused
    return builder.documents, error


def locate(chunk: Chunk, number: int, path: KeyPath) -> Place:
    """Return the place of a path in the document of that number, or of what is nearest around it.

    Inside a text block the path goes on with the row and the column.
    """
    best, depth, block = None, 0, None
    # The text was read before; if not as YAML, what is found up to an error must do.
    with suppress(yaml.YAMLError, InputError):
        for found, event, is_key in _walk(chunk, number):
            best = best or (event.start_mark.line, -1)
            if path[: len(found)] != found or len(found) < depth:
                continue
            if len(found) > depth:  # of a key and its value, the key is where a person looks
                depth = len(found)
                best = (event.start_mark.line, event.start_mark.column)
            if isinstance(event, yaml.ScalarEvent) and not is_key:
                block = event
            if depth == len(path) > 0:
                break
    rest = path[depth:]
    if block is not None and rest and all(isinstance(part, int) for part in rest):
        best = _in_block(chunk.text, block, rest) or best
    return _place(chunk, *(best or (0, -1)))


def _walk(chunk: Chunk, number: int) -> Iterator[tuple[KeyPath, Any, bool]]:
    """Yield each key and value of a document with its path, and whether it is a key."""
    builder = _Builder(chunk)
    for event in yaml.parse(chunk.text, Loader=LOADER):
        is_key = builder.awaits_key()
        path = builder.path()
        builder.take(event)
        is_done = not builder.open  # the document, which is a single word
        if isinstance(event, yaml.NodeEvent) and len(builder.documents) - is_done == number:
            yield builder.path() if is_key else path, event, is_key


class Open:
    """A list or mapping whose end is still to come.

    Args:
        value: what it holds so far.
        anchor: the name under which aliases repeat it.
        before: how many values stand before it.
        awaits_key: whether a key comes next.
        start: the event that opened it.
    """

    def __init__(
        self, value: Any, anchor: str | None, before: int, awaits_key: bool, start: Any = None
    ) -> None:
        self.value = value
        self.start = start
        self.anchor = anchor
        self.before = before
        self.awaits_key = awaits_key
        self.height = 0  # levels in it so far
        self.key = ""  # of a mapping: the last one
        self.lines: dict[str, int] = {}  # where its keys stand


class _Builder:
    """Turns events into lists, mappings and text, and knows the path of what is next."""

    def __init__(self, chunk: Chunk) -> None:
        self.chunk = chunk
        self.documents: list[Any] = []
        self.open: list[Open] = []
        self.anchors: dict[str, tuple[Any, int, int]] = {}  # value, values and levels in it
        self.count = 0  # of scalars and collections, also those that aliases stand for
        self.expanded = 0  # of the latter alone
        self.has_pairs = bool(PAIRS.search(chunk.text))

    def path(self) -> KeyPath:
        """Return where the next value stands."""
        return tuple(len(o.value) if isinstance(o.value, list) else o.key for o in self.open)

    def awaits_key(self) -> bool:
        """Return whether the next value is a key."""
        return bool(self.open) and self.open[-1].awaits_key

    def take(self, event: Any) -> None:
        """Take the next event."""
        if isinstance(event, yaml.ScalarEvent):
            self._check_tag(event)
            self.count += 1
            if self.awaits_key():
                self._take_key(event)
                return
            in_list = bool(self.open) and isinstance(self.open[-1].value, list)
            is_null = event.implicit[0] and event.value in NULLS and not in_list
            self._add(MISSING if is_null else self._rows(event), 1, 0, event.anchor)
        elif isinstance(event, yaml.CollectionStartEvent):
            self._open(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            done = self.open.pop()
            if self.has_pairs and isinstance(done.value, list):
                self._check_commas(done, event)
            self._add(done.value, self.count - done.before, done.height + 1, done.anchor)
        elif isinstance(event, yaml.AliasEvent):
            self._alias(event)
        elif isinstance(event, yaml.DocumentStartEvent):
            self.anchors = {}

    def _rows(self, event: Any) -> str:
        """Return the text of an event; rows of numbers without a | before them stay rows.

        YAML joins such lines to one, as is right for a sentence.
        """
        value: str = event.value
        if event.start_mark.line == event.end_mark.line or not event.implicit[0] or event.style:
            return value
        written = self.chunk.text[event.start_mark.index : event.end_mark.index]
        rows = [row.strip() for row in written.splitlines() if row.strip()]
        is_matrix = all(NUMBERS.issuperset(row) and any(map(str.isdigit, row)) for row in rows)
        return "\n".join(rows) if is_matrix else value

    def _open(self, event: Any) -> None:
        self._check_tag(event)
        if self.awaits_key():
            raise self._error(event, "a key must be a word", "put the list or mapping after a key")
        if len(self.open) >= MAX_DEPTH:
            raise self._error(event, TOO_DEEP)
        is_list = isinstance(event, yaml.SequenceStartEvent)
        value: Any = [] if is_list else {}
        self.open.append(Open(value, event.anchor, self.count, awaits_key=not is_list, start=event))
        self.count += 1

    def _check_commas(self, done: Open, end: Any) -> None:
        """Refuse a matrix in which every comma without a blank may be a decimal one."""
        is_outer = not self.open or not isinstance(self.open[-1].value, list)
        text = self.chunk.text[done.start.start_mark.index : end.end_mark.index]
        if is_outer and ALL_PAIRS.fullmatch(text):
            (word,) = re.findall(rf"^[\[\s]*({PAIR})", text)
            raise self._error(done.start, str(ambiguous(word, ("decimal", "separated"))))

    def _alias(self, event: Any) -> None:
        if self.awaits_key() or event.anchor not in self.anchors:
            raise self._error(event, f"*{visible(event.anchor)} stands for nothing here")
        value, size, height = self.anchors[event.anchor]
        if len(self.open) + height > MAX_DEPTH:
            raise self._error(event, TOO_DEEP)
        self.count += size
        self.expanded += size
        if self.expanded > MAX_EXPANSION:
            message = f"aliases expand to more than {MAX_EXPANSION:,} values"
            raise self._error(event, message, "write the numbers out, or put them into a file")
        self._add(value, size, height)

    def _take_key(self, event: Any) -> None:
        key, inside = event.value, self.open[-1]
        if key in inside.lines:
            message = f"{visible(key)} stands twice; it stood in line {inside.lines[key]} already"
            raise self._error(event, message, "keep one of them")
        inside.lines[key] = event.start_mark.line + 1 + self.chunk.before
        inside.key, inside.awaits_key = key, False

    def _add(self, value: Any, size: int, height: int, anchor: str | None = None) -> None:
        """Put a value, with how many values and levels it has, where it stands."""
        if anchor:
            self.anchors[anchor] = (value, size, height)
        inside = self.open[-1] if self.open else Open(self.documents, None, 0, False)
        inside.height = max(inside.height, height)
        if isinstance(inside.value, dict):
            inside.awaits_key = True
            if value is not MISSING:
                inside.value[inside.key] = value
        elif self.open or value is not MISSING:
            inside.value.append("~" if value is MISSING else value)

    def _check_tag(self, event: Any) -> None:
        if event.tag and event.tag != "!" and event.tag not in CORE_TAGS:
            raise self._error(event, f"the tag {visible(event.tag)} is not allowed", "leave it out")

    def _error(self, event: Any, message: str, hint: str = "") -> InputError:
        mark = event.start_mark
        return error_at(_place(self.chunk, mark.line, mark.column), message, hint)


def _in_block(text: str, event: Any, rest: tuple[Any, ...]) -> tuple[int, int] | None:
    """Return the line and column, from 0, of a word of a text block, by row and column."""
    start, end = event.start_mark.index, event.end_mark.index
    literal = event.style in ("|", ">")
    row, column = (0, *rest) if len(rest) == 1 and not literal else (*rest, 0)[:2]
    try:
        if literal:  # its rows are below the sign, and comments may come after them
            start += len(lines_of(text[start:end])[0]) + 1
            ends = [line.end() for line in re.finditer(r"[^\r\n]*\S[^\r\n]*", text[start:end])]
            end = start + ends[len([*filter(str.strip, event.value.splitlines())]) - 1]
        elif event.style:  # in quotes
            start, end = start + 1, end - 1
        at, _ = grid_of(text[start:end]).rows[row][column]
    except (NumberError, IndexError):  # a comma that may be either is told of the block as a whole
        return None
    above = lines_of(text[: start + at])
    return len(above) - 1, len(above[-1])


def lines_of(text: str) -> list[str]:
    """Return the lines as the parser counts them."""
    if text.isascii():
        return escapes.lines_of(text)
    return re.split("\r\n|[\r\n\x85\u2028\u2029]", text)


def _place(chunk: Chunk, line: int, column: int) -> Place:
    """Return a place in the file, from 1, of one in a part of it, from 0; the column −1 is none."""
    lines = lines_of(chunk.text)
    shown = lines[line] if line < len(lines) else ""
    if shown and chunk.written:  # which may have fewer blanks before the line
        read, shown = shown, lines_of(chunk.written)[line]
        added = len(read) - len(read.lstrip(" ")) - len(shown) + len(shown.lstrip(" "))
        column -= min(added, max(column, 0))
    return Place(chunk.name, chunk.before + line + 1, column + 1, shown)


def _syntax_error(error: yaml.YAMLError, chunk: Chunk) -> InputError:
    """Return the parser's complaint with a place, and a way out where one is known."""
    mark = getattr(error, "problem_mark", None)
    if mark is None:
        found = re.search(CONTROL, chunk.text)
        above = lines_of(chunk.text[: found.start() if found else 0])
        place = _place(chunk, len(above) - 1, len(above[-1]))
        character = f" ({visible(found[0])})" if found else ""
        message = f"a control character{character} cannot stand in YAML"
        return error_at(place, message, 'write it as "\\x1b" in double quotes')
    problem = str(getattr(error, "problem", None) or "this is no YAML")
    context, hint = str(getattr(error, "context", None) or ""), ""
    opening = getattr(error, "context_mark", None)
    place = _place(chunk, mark.line, mark.column)
    before = place.text[: place.column]
    if "\\t" in problem or ("\t" in before and not before.strip()):
        problem, hint = "a tab where YAML takes only blanks", "indent with blanks"
    elif opening and "quoted" in context and "end of stream" in problem:
        place = _place(chunk, opening.line, opening.column)
        problem = "a quotation mark is not closed"
    elif "flow" in context and re.search(r"[\[,]\s*,", place.text[: place.column]):
        problem, hint = "a cell is empty", "an empty cell is written ~"
    elif "flow" in context and re.match(r"-\s*[,\]]", place.text[place.column - 1 :]):
        problem, hint = "- is not a number", "write -inf, or ~ for a cell that is left out"
    elif opening and "expected ':'" in problem:
        place = _place(chunk, opening.line, opening.column)
        problem = "this line has no key, or no colon and blank behind its key"
        hint = "write it as key: value; indent a line that belongs to the one above it"
    elif "cannot start any token" in problem:
        problem = f"a value cannot start with {place.text[place.column - 1 : place.column]}"
        hint = "put it between quotes"
    elif opening and "flow" in context:
        problem = "a bracket is not closed, or a comma is missing before this"
        hint = f"it opens in line {chunk.before + opening.line + 1}, column {opening.column + 1}"
        hint += "; rows that a program prints are read below X: |"
    elif "mapping values are not allowed" in problem:
        problem = "a second colon in this line"
        hint = 'put text that has ": " in it between quotes'
    return error_at(place, visible(problem), hint)
