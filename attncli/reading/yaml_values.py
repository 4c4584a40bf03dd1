"""YAML without YAML 1.1's surprises: every scalar stays the text that was written.

Values are built from the parser's events rather than by a loader: that keeps the written digits,
finds duplicate keys, bounds depth and aliases, and takes a third of the time. The builder also
tells where each value was written, if there is an error to show.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache, partial
from itertools import islice, takewhile
from typing import Any, TypeAlias

import yaml

from attncli.core.errors import InputError, KeyPath, Locate, Place
from attncli.core.numbers.parser import NumberError
from attncli.core.records import replace
from attncli.core.text.strings import regex, visible
from attncli.reading import document
from attncli.reading.chunks import Chunk, yaml_lines
from attncli.reading.document import MAX_LEVELS, TOO_DEEP, Raw

MAX_EXPANSION = 5_000_000
"""Maximum number of values that aliases may repeat."""

Places: TypeAlias = dict[KeyPath, tuple[Any, Any]]
"""The events at which values begin by their paths: that of the key, or the index, and the value."""
MAX_PLACES = 100_000
"""Maximum number of values of a document whose places are told one by one, as an event takes 400
bytes. Later values have the place of what is around them."""

LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
CORE_TAGS = tuple(f"tag:yaml.org,2002:{t}" for t in ("str", "int", "float", "seq", "map"))

NUMBER_LISTS = regex(
    r"^(?P<before>[ ]*+(?:-[ ]++)*+(?:[A-Za-z_][\w.]*+:[ ]++)?+)"
    r"(?P<numbers>\[[0-9.eE+\-\[\], ]*+(?:\n[ ]++[0-9.eE+\-\[\], ]++)*+)(?=$|(?<= )#)",
    re.MULTILINE,
)
"""Lists of plain numbers behind a key or the sign of an item, up to the end of a line."""
LIST_SIGN = "\ue000"
"""A character without a meaning, which begins the word for a list of numbers."""
LEFT_TO_BUILDER = (LIST_SIGN, "&", "[[[[[[")
"""Signs of texts without such words: the builder limits aliases and the depth of lists."""
DECODE = json.JSONDecoder(parse_float=str, parse_int=str).decode

ROW_CHARACTERS = frozenset("-+−≈~0123456789.,;%/eE√ \t")
"""The characters of a row of a matrix without brackets."""

KEY_START = r"(?!Parameter containing)(?:[^\W\d]|[\"'∂∇$])"  # of a key; the words are PyTorch's
NEXT_ENTRY = rf"(?:(?:- +)*{KEY_START}.*?:(?!\S)|(?:-|---|\.\.\.)(?!\S))"
ROWS_BELOW_KEY = regex(
    rf"^(?P<before> *(?:- +)*)(?P<key>{KEY_START}[^:#\n]*:)[ \t]*+"
    r"(?:(?P<first>[-+−.\d(][^:#\n]*+)|[|>]\S*|"  # a first row, a text block, or
    rf"(?!(?:\s|#.*+)*+(?:[\"'{{&*!%@`]|{NEXT_ENTRY})))[ \t]*(?:#.*)?\r?\n"  # nothing
    rf"(?P<rows>(?:(?!(?!(?P=before) ) *{NEXT_ENTRY})(?:.*\n|.+\Z))++)",
    re.MULTILINE,
)
"""A key and the lines below it, up to one that starts something else and is as far to the left."""


def documents_until(chunk: Chunk) -> tuple[list[Raw], InputError | None]:
    """Return the values of the documents before the first error, None for an empty one; and it."""
    text, lists = _without_lists(chunk.text)
    if lists:
        with suppress(InputError, yaml.YAMLError):
            whole = [*_Builder(replace(chunk, text=text), lists).documents()]
            if not lists:
                return whole, None
    values: list[Raw] = []
    try:
        for value in _Builder(chunk, {}).documents():
            values.append(value)
    except InputError as error:
        return values, error
    except yaml.YAMLError as error:
        from attncli.reading.faults import explained

        return values, explained(error, chunk)
    return values, None


def _without_lists(text: str) -> tuple[str, dict[str, Raw]]:
    r"""Return a text with a word in place of each list of numbers, and the lists by these words.

    JSON is decoded in a tenth of the time that the events of the parser take.

    >>> _without_lists("X: [[1, 0],\n    [0, 1]]\n")
    ('X: \ue0000 \n', {'\ue0000': [['1', '0'], ['0', '1']]})
    """
    lists: dict[str, Raw] = {}

    def word_for(match: re.Match[str]) -> str:
        word = f"{LIST_SIGN}{len(lists)}"
        try:
            lists[word] = DECODE(match["numbers"])
        except (ValueError, RecursionError):
            return match[0]
        return f"{match['before']}{word} "

    if any(sign in text for sign in LEFT_TO_BUILDER) or document.has_decimal_pairs(text):
        return text, lists
    return NUMBER_LISTS.sub(word_for, text), lists


def indented(text: str) -> str:
    r"""Return a text in which rows pasted below a key, without blanks, are a text block.

    >>> indented("X:\n1 0\n0 1\nscore: dot\n")
    'X: |1\n 1 0\n 0 1\nscore: dot\n'
    """
    return ROWS_BELOW_KEY.sub(_as_block, text)


def _as_block(match: re.Match[str]) -> str:
    rows = re.sub(r"(?m)(?:^|(?<=\s))#(?!\S)[^|\n]*", "", match["rows"])  # without comments
    depth = len(match["before"])
    starts = [len(blanks) for blanks in re.findall(r"(?m)^( *)[^ \r\n]", rows)]
    if not starts or min(starts) >= max(depth + 1, starts[0]):
        return match[0]
    rows = re.sub("(?m)^(?=.)", " " * (depth + 1), re.sub(r"(?m)^\t", " ", rows))
    return f"{match['before']}{match['key']} {match['first'] or '|1'}\n{rows}"


class _Builder:
    """Builds the values of documents from the parser's events.

    The words in `lists` are those for lists of numbers in the text. Those that are values are
    removed from `lists`; the others are in comments or other text.
    """

    def __init__(self, chunk: Chunk, lists: dict[str, Raw]) -> None:
        self.chunk, self.lists = chunk, lists
        self.events = iter(LOADER(chunk.text).get_event, None)
        self.anchors: dict[str, tuple[Raw, int, int]] = {}  # value, values and levels in it
        self.count = 0  # of scalars and collections, those of aliases included
        self.expanded = 0  # of those of aliases
        self.deepest = 0  # level reached in the collection that is being built
        self.has_pairs = document.has_decimal_pairs(chunk.text)

    def documents(self) -> Iterator[Raw]:
        for event in self.events:
            if isinstance(event, yaml.DocumentStartEvent):
                self.anchors = {}
            elif isinstance(event, yaml.NodeEvent):
                yield self._value(event, 0, is_item=False) or None

    def _value(self, event: Any, depth: int, is_item: bool) -> Raw:
        """Return the value that begins with an event, inside `depth` collections."""
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, depth)
        self._check_tag(event)
        before = self.count
        self.count += 1
        if isinstance(event, yaml.ScalarEvent):
            if event.value in self.lists:
                return self.lists.pop(event.value)
            value: Raw = self._text(event)
            if not is_item and event.implicit[0]:
                value = None if value in document.NULL_WORDS else value or document.BLANK
            height = 0
        else:
            if depth >= MAX_LEVELS:
                raise self._error(event, *TOO_DEEP)
            outer, self.deepest = self.deepest, depth + 1
            is_list = isinstance(event, yaml.SequenceStartEvent)
            value = self._list(event, depth, is_item) if is_list else self._mapping(depth)
            height = self.deepest - depth
            self.deepest = max(outer, self.deepest)
        if event.anchor:
            self.anchors[event.anchor] = value, self.count - before, height
        return value

    def _list(self, start: Any, depth: int, is_item: bool) -> list[Raw]:
        items: list[Raw] = []
        for event in self.events:
            if isinstance(event, yaml.SequenceEndEvent):
                break
            value = self._value(event, depth + 1, is_item=True)
            items.append("~" if value is None else value)  # an alias may be that of a null
        if self.has_pairs and not is_item:  # a comma without a blank may be a decimal one
            from attncli.core.numbers.grid import ambiguous, decimal_comma

            at = start.start_mark.index
            if pair := decimal_comma(self.chunk.text[at : event.end_mark.index]):
                message = str(ambiguous(pair[1], ("decimal", "separated")))
                raise self.chunk.place_at(at + pair[0]).error(message)
        return items

    def _mapping(self, depth: int) -> dict[str, Raw]:
        values: dict[str, Raw] = {}
        lines: dict[str, int] = {}
        for event in self.events:
            if isinstance(event, yaml.MappingEndEvent):
                break
            key = self._key(event, lines)
            values[key] = self._value(next(self.events), depth + 1, is_item=False)
        return values

    def _key(self, event: Any, lines: dict[str, int]) -> str:
        """Return a key, and note its line; `lines` are those of the mapping's other keys."""
        if isinstance(event, yaml.AliasEvent):
            raise self._no_anchor(event)
        self._check_tag(event)
        if isinstance(event, yaml.CollectionStartEvent):
            hint = "put the list or mapping after a key"
            raise self._error(event, "a key must be a word", hint)
        self.count += 1
        key: str = event.value
        if key in lines:
            raise self._error(event, document.twice(key, lines[key]), "keep one of them")
        if len(lines) == document.MAX_KEYS:
            message = f"a mapping has more than {document.MAX_KEYS:,} keys"
            raise self._error(event, message, "write several problems, or lists")
        lines[key] = self.chunk.before + event.start_mark.line + 1
        return key

    def _text(self, event: Any) -> str:
        """Return the text of a scalar; lines of numbers without a | before them stay lines.

        YAML joins such lines to one, as is right for a sentence.
        """
        value: str = event.value
        if event.style or event.start_mark.line == event.end_mark.line or not event.implicit[0]:
            return value
        written = self.chunk.text[event.start_mark.index : event.end_mark.index]
        rows = [row.strip() for row in written.splitlines() if row.strip()]
        are_rows = all(ROW_CHARACTERS.issuperset(r) and any(map(str.isdigit, r)) for r in rows)
        return "\n".join(rows) if are_rows else value

    def _alias(self, event: Any, depth: int) -> Raw:
        if event.anchor not in self.anchors:
            raise self._no_anchor(event)
        value, size, height = self.anchors[event.anchor]
        if depth + height > MAX_LEVELS:
            raise self._error(event, *TOO_DEEP)
        self.deepest = max(self.deepest, depth + height)
        self.count += size
        self.expanded += size
        if self.expanded > MAX_EXPANSION:
            message = f"aliases expand to more than {MAX_EXPANSION:,} values"
            raise self._error(event, message, "write the numbers out, or put them into a file")
        return value

    def _check_tag(self, event: Any) -> None:
        if event.tag and event.tag != "!" and event.tag not in CORE_TAGS:
            raise self._error(event, f"the tag {visible(event.tag)} is not allowed", "leave it out")

    def _no_anchor(self, event: Any) -> InputError:
        name = visible(event.anchor)
        quoted = "put text that starts with * between quotes"
        hint = f"{quoted}, or write &{name} before the value it names"
        return self._error(event, f"*{name} refers to nothing before it", hint)

    def _error(self, event: Any, message: str, hint: str) -> InputError:
        return self.chunk.place_at(event.start_mark.index).error(message, hint)


def places_in(chunk: Chunk, number: int) -> Locate:
    """Return the places in the document of an index, whose text is read again at the first use."""
    places = cache(partial(_places, chunk, number))
    return lambda path: _place(path, places(), chunk)


def _places(chunk: Chunk, number: int) -> Places:
    """Return the events at which values begin; nothing for JSON that is no YAML."""
    places: Places = {}
    path: list[Any] = []  # of the value that comes next; its end is None where a key comes next
    key: Any = None
    events = iter(LOADER(chunk.text).get_event, None)
    try:
        starts = (event for event in events if isinstance(event, yaml.DocumentStartEvent))
        next(islice(starts, number, None), None)
        for event in takewhile(lambda event: not isinstance(event, yaml.DocumentEndEvent), events):
            if path and path[-1] is None and isinstance(event, yaml.ScalarEvent):
                path[-1], key = event.value, event
                continue
            if isinstance(event, yaml.CollectionEndEvent):
                path.pop()
            elif len(places) < MAX_PLACES or len(path) < 2:
                places[tuple(path)] = key or event, event
            key = None
            if isinstance(event, yaml.CollectionStartEvent):
                path.append(0 if isinstance(event, yaml.SequenceStartEvent) else None)
            elif path:
                path[-1] = path[-1] + 1 if isinstance(path[-1], int) else None
    except yaml.YAMLError:
        return {}
    return places


def _place(path: KeyPath, places: Places, chunk: Chunk) -> Place:
    """Return the place of a value, or of the nearest one around it.

    Inside a text block the path goes on with the row and the column.
    """
    if not places:
        return chunk.place(0, 0)
    length = next(length for length in range(len(path), -1, -1) if path[:length] in places)
    start, event = places[path[:length]]
    rest: list[Any] = [*path[length:]]
    is_block = isinstance(event, yaml.ScalarEvent) and all(isinstance(n, int) for n in rest)
    if rest and is_block and (offset := _in_block(chunk.text, event, rest)) is not None:
        return chunk.place_at(offset)
    return chunk.place(start.start_mark.line, start.start_mark.column)


def _in_block(text: str, event: Any, rest: list[Any]) -> int | None:
    """Return the offset of the word in a row and column of a text block; None for no such word."""
    from attncli.core.numbers.pasted import grid_of

    start, end = event.start_mark.index, event.end_mark.index
    literal = event.style in ("|", ">")
    try:
        if literal:  # its rows are below the sign, and comments may come after them
            start += len(yaml_lines(text[start:end])[0]) + 1
            lines = re.finditer(r"[^\r\n]+", text[start:end])
            ends = [line.end() for line in lines if line[0].strip()]
            end = start + ends[len([*filter(str.strip, event.value.splitlines())]) - 1]
        elif event.style:  # in quotes
            start, end = start + 1, end - 1
        return int(start + grid_of(text[start:end]).offset(rest))
    except (NumberError, IndexError):  # such as an ambiguous comma: a fault of the whole block
        return None
