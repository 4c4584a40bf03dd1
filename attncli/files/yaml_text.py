"""YAML without YAML 1.1's surprises: every scalar stays the text that was written.

Values are built from the parser's events rather than by a loader: that keeps the written digits,
finds duplicate keys, bounds depth and aliases, and takes a third of the time. Places are looked up
in the text only when there is an error to show.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

from attncli.files.document import DECIMAL_PAIR, DECIMAL_PAIRS, DECIMAL_ROW, Chunk, Raw
from attncli.text.escapes import visible

MAX_LEVELS = 64
TOO_DEEP = f"more than {MAX_LEVELS} brackets or levels inside each other"
MAX_EXPANSION = 5_000_000
"""Maximum number of values that aliases may repeat."""

LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
CORE_TAGS = tuple(f"tag:yaml.org,2002:{t}" for t in ("str", "int", "float", "seq", "map"))
NULL_WORDS = ("", "~", "null", "Null", "NULL")
ONLY_DECIMAL_PAIRS = rf"{DECIMAL_ROW}|\[\s*{DECIMAL_ROW}(?:\s*,\s*{DECIMAL_ROW})*\s*\]"
"""A list of rows such as [0,5, 1,25] alone."""

KEY_HINT = "put the list or mapping after a key"

ROW_CHARACTERS = frozenset("-+−≈~0123456789.,;%/eE√ \t")
"""The characters of a row of a matrix without brackets."""


class NotAllowedError(yaml.MarkedYAMLError):
    """Raised for YAML that is valid, but not allowed here."""

    def __init__(self, event: Any, message: str, hint: str = "") -> None:
        super().__init__(problem_mark=event.start_mark)
        self.message, self.hint = message, hint


def documents_until(chunk: Chunk) -> tuple[list[Raw], yaml.YAMLError | None]:
    """Return the values of the documents before the first error, and that error.

    An empty document is None. `yaml_places.explained` gives the error its place.
    """
    found: list[Raw] = []
    try:
        for value in _Builder(chunk).documents():
            found.append(value)
    except yaml.YAMLError as error:
        return found, error
    return found, None


def events_of(text: str) -> Iterator[Any]:
    """Return the events of the parser.

    Raises:
        yaml.YAMLError: for what is no YAML.
    """
    return iter(LOADER(text).get_event, None)


def _is_null(event: Any) -> bool:
    return isinstance(event, yaml.ScalarEvent) and event.implicit[0] and event.value in NULL_WORDS


class _Builder:
    """Builds the values of documents from the parser's events."""

    def __init__(self, chunk: Chunk) -> None:
        self.chunk = chunk
        self.events = events_of(chunk.text)
        self.anchors: dict[str, tuple[Raw, int, int]] = {}  # value, values and levels in it
        self.count = 0  # of scalars and collections, those of aliases included
        self.expanded = 0  # of those of aliases
        self.deepest = 0  # level reached in the collection that is being built
        self.has_pairs = bool(DECIMAL_PAIRS.search(chunk.text))

    def documents(self) -> Iterator[Raw]:
        """Yield the value of each document.

        Raises:
            yaml.YAMLError: for what is no YAML.
            NotAllowedError: for duplicate keys, other tags, too many levels or aliases.
        """
        for event in self.events:
            if isinstance(event, yaml.DocumentStartEvent):
                self.anchors = {}
            elif isinstance(event, yaml.NodeEvent):
                yield self._value(event, 0, is_item=False)

    def _value(self, event: Any, depth: int, is_item: bool) -> Raw:
        """Return the value that begins with an event, inside so many collections."""
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, depth)
        _check_tag(event)
        before = self.count
        self.count += 1
        if isinstance(event, yaml.ScalarEvent):
            value: Raw = None if not is_item and _is_null(event) else self._text(event)
            height = 0
        else:
            if depth >= MAX_LEVELS:
                raise NotAllowedError(event, TOO_DEEP)
            outer, self.deepest = self.deepest, depth + 1
            is_list = isinstance(event, yaml.SequenceStartEvent)
            value = self._list(event, depth, is_item) if is_list else self._mapping(depth)
            height = self.deepest - depth
            self.deepest = max(outer, self.deepest)
        if event.anchor:
            self.anchors[event.anchor] = value, self.count - before, height
        return value

    def _list(self, start: Any, depth: int, is_item: bool) -> list[Raw]:
        found: list[Raw] = []
        for event in self.events:
            if isinstance(event, yaml.SequenceEndEvent):
                break
            value = self._value(event, depth + 1, is_item=True)
            found.append("~" if value is None else value)
        if self.has_pairs and not is_item:
            self._check_commas(start, event)
        return found

    def _mapping(self, depth: int) -> dict[str, Raw]:
        found: dict[str, Raw] = {}
        lines: dict[str, int] = {}
        for event in self.events:
            if isinstance(event, yaml.MappingEndEvent):
                break
            key = self._key(event, lines)
            value = self._value(next(self.events), depth + 1, is_item=False)
            if value is not None:
                found[key] = value
        return found

    def _key(self, event: Any, lines: dict[str, int]) -> str:
        """Return a key, and note its line; `lines` are those of the mapping's other keys."""
        if isinstance(event, yaml.AliasEvent):
            raise _no_anchor(event)
        _check_tag(event)
        if isinstance(event, yaml.CollectionStartEvent):
            raise NotAllowedError(event, "a key must be a word", KEY_HINT)
        self.count += 1
        key: str = event.value
        if key in lines:
            message = f"{visible(key)} stands twice; it stood in line {lines[key]} already"
            raise NotAllowedError(event, message, "keep one of them")
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
        return "\n".join(rows) if all(map(_is_row, rows)) else value

    def _check_commas(self, start: Any, end: Any) -> None:
        """Refuse a matrix in which every comma without a blank may be a decimal one."""
        text = self.chunk.text[start.start_mark.index : end.end_mark.index]
        if re.fullmatch(ONLY_DECIMAL_PAIRS, text):
            from attncli.notation.grid import ambiguous

            (word,) = re.findall(rf"^[\[\s]*({DECIMAL_PAIR})", text)
            raise NotAllowedError(start, str(ambiguous(word, ("decimal", "separated"))))

    def _alias(self, event: Any, depth: int) -> Raw:
        if event.anchor not in self.anchors:
            raise _no_anchor(event)
        value, size, height = self.anchors[event.anchor]
        if depth + height > MAX_LEVELS:
            raise NotAllowedError(event, TOO_DEEP)
        self.deepest = max(self.deepest, depth + height)
        self.count += size
        self.expanded += size
        if self.expanded > MAX_EXPANSION:
            message = f"aliases expand to more than {MAX_EXPANSION:,} values"
            raise NotAllowedError(event, message, "write the numbers out, or put them into a file")
        return value


def _is_row(line: str) -> bool:
    return ROW_CHARACTERS.issuperset(line) and any(map(str.isdigit, line))


def _check_tag(event: Any) -> None:
    if event.tag and event.tag != "!" and event.tag not in CORE_TAGS:
        raise NotAllowedError(event, f"the tag {visible(event.tag)} is not allowed", "leave it out")


def _no_anchor(event: Any) -> NotAllowedError:
    return NotAllowedError(event, f"*{visible(event.anchor)} stands for nothing here")
