"""YAML without YAML 1.1's surprises: every scalar stays the text that was written.

Built on the parser's events rather than on a loader: that keeps written digits and positions,
finds duplicate keys, bounds depth and aliases, and takes a third of the time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

from attncli.errors import Fault, InputError, KeyPath, Place
from attncli.files.document import Raw
from attncli.notation.written import words_of
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


class Missing:
    """Stands for a key without a value."""


def documents(text: str, name: str) -> list[Raw]:
    """Return the value of each document of a stream that is not empty.

    Raises:
        InputError: with its place, for whatever is no YAML, or more of it than a person writes.
    """
    builder = _Builder(text, name)
    try:
        for event in yaml.parse(text, Loader=LOADER):
            builder.take(event)
    except yaml.YAMLError as error:
        raise _syntax_error(error, text, name) from None
    return [d for d in builder.documents if not isinstance(d, Missing)]


def locate(text: str, name: str, number: int, path: KeyPath) -> Place:
    """Return the place of a path in the document of that number, or of what is nearest around it.

    Inside a text block the path goes on with the row and the column.
    """
    best, depth, block = (1, 0), 0, None
    rooted = False
    try:
        for found, event, is_key in _walk(text, number):
            if not rooted:
                rooted, best = True, (event.start_mark.line + 1, 0)
            if path[: len(found)] != found or len(found) < depth:
                continue
            if len(found) > depth:  # of a key and its value, the key is where a person looks
                depth = len(found)
                best = (event.start_mark.line + 1, event.start_mark.column + 1)
            if isinstance(event, yaml.ScalarEvent) and not is_key:
                block = event
            if depth == len(path) > 0:
                break
    except yaml.YAMLError:
        pass  # the text was read before; if not as YAML, what was found so far must do
    rest = path[depth:]
    if block is not None and rest and all(isinstance(part, int) for part in rest):
        best = _in_block(text, block, rest) or best
    lines = _lines(text)
    line, column = best
    return Place(name, line, column, lines[line - 1] if line <= len(lines) else "")


class _Builder:
    """Turns events into lists, mappings and text."""

    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.name = name
        self.documents: list[Any] = []
        self.stack: list[Any] = []  # open lists and mappings
        self.keys: list[str | None] = []  # for each: the key that waits for its value
        self.lines: list[dict[str, int]] = []  # for each: where its keys stand
        self.anchors: dict[str, tuple[Any, int, int]] = {}  # value, scalars, levels in it
        self.opened: list[tuple[str | None, int]] = []
        self.heights = [0]  # for the document and each open collection: levels in it so far
        self.count = 0  # of scalars and collections: a tree of empty lists is large too
        self.expanded = 0

    def take(self, event: Any) -> None:
        """Take the next event."""
        if isinstance(event, yaml.ScalarEvent):
            self._check_tag(event)
            self.count += 1
            if self._awaits_key():
                self._take_key(event)
                return
            is_null = event.implicit[0] and event.value in NULLS
            in_list = bool(self.stack) and isinstance(self.stack[-1], list)
            value: Any = Missing() if is_null and not in_list else event.value
            if event.anchor:
                self.anchors[event.anchor] = (value, 1, 0)
            self._add(value)
        elif isinstance(event, yaml.CollectionStartEvent):
            self._open(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            value = self.stack.pop()
            self.keys.pop()
            self.lines.pop()
            anchor, before = self.opened.pop()
            height = self.heights.pop() + 1
            self.heights[-1] = max(self.heights[-1], height)
            if anchor:
                self.anchors[anchor] = (value, self.count + self.expanded - before, height)
            self._add(value)
        elif isinstance(event, yaml.AliasEvent):
            self._alias(event)
        elif isinstance(event, yaml.DocumentStartEvent):
            self.anchors = {}

    def _open(self, event: Any) -> None:
        self._check_tag(event)
        if self._awaits_key():
            raise self._error(event, "a key must be a word", "put the list or mapping after a key")
        if len(self.stack) >= MAX_DEPTH:
            raise self._error(event, TOO_DEEP)
        self.stack.append([] if isinstance(event, yaml.SequenceStartEvent) else {})
        self.keys.append(None)
        self.lines.append({})
        self.opened.append((event.anchor, self.count + self.expanded))
        self.count += 1
        self.heights.append(0)

    def _alias(self, event: Any) -> None:
        if self._awaits_key() or event.anchor not in self.anchors:
            raise self._error(event, f"*{visible(event.anchor)} stands for nothing here")
        value, size, height = self.anchors[event.anchor]
        if len(self.stack) + height > MAX_DEPTH:
            raise self._error(event, TOO_DEEP)
        self.heights[-1] = max(self.heights[-1], height)
        self.expanded += size
        if self.expanded > MAX_EXPANSION:
            message = f"aliases expand to more than {MAX_EXPANSION:,} values"
            raise self._error(event, message, "write the numbers out, or put them into a file")
        self._add(value)

    def _awaits_key(self) -> bool:
        return bool(self.stack) and isinstance(self.stack[-1], dict) and self.keys[-1] is None

    def _take_key(self, event: Any) -> None:
        key = event.value
        seen = self.lines[-1]
        if key in seen:
            message = f"{visible(key)} stands twice; it stood in line {seen[key]} already"
            raise self._error(event, message, "keep one of them")
        seen[key] = event.start_mark.line + 1
        self.keys[-1] = key

    def _add(self, value: Any) -> None:
        if not self.stack:
            self.documents.append(value)
        elif isinstance(self.stack[-1], list):
            self.stack[-1].append("~" if isinstance(value, Missing) else value)
        else:
            if not isinstance(value, Missing):
                self.stack[-1][self.keys[-1]] = value
            self.keys[-1] = None

    def _check_tag(self, event: Any) -> None:
        if event.tag and event.tag != "!" and event.tag not in CORE_TAGS:
            raise self._error(event, f"the tag {visible(event.tag)} is not allowed", "leave it out")

    def _error(self, event: Any, message: str, hint: str = "") -> InputError:
        mark = event.start_mark
        place = _place(self.text, self.name, mark.line, mark.column)
        return InputError(Fault(message, (), hint, place=place))


def _walk(text: str, number: int) -> Iterator[tuple[KeyPath, Any, bool]]:
    """Yield each key and value of a document with its path, and whether it is a key."""
    document, walker = -1, _Walker()
    for event in yaml.parse(text, Loader=LOADER):
        if isinstance(event, yaml.DocumentStartEvent):
            walker = _Walker()
        elif isinstance(event, yaml.CollectionEndEvent):
            walker.close()
        elif isinstance(event, yaml.NodeEvent):
            # An empty document was skipped when it was read, so it has no number.
            if not walker.levels:
                document += not (isinstance(event, yaml.ScalarEvent) and event.value in NULLS)
            found = walker.enter(event)
            if document == number:
                yield found


class _Walker:
    """Follows the events of a document and knows the path of each."""

    def __init__(self) -> None:
        self.path: list[str | int] = []
        self.levels: list[str] = []  # of each open collection: "list", "key" or "value" is next

    def enter(self, event: Any) -> tuple[KeyPath, Any, bool]:
        """Return the path of a key or value, and whether it is a key."""
        level = self.levels[-1] if self.levels else ""
        if level == "key":
            self.path[-1] = getattr(event, "value", "")
            self.levels[-1] = "value"
            return tuple(self.path), event, True
        if level == "list":
            last = self.path[-1]
            assert isinstance(last, int)  # a list counts
            self.path[-1] = last + 1
        found = tuple(self.path), event, False
        if isinstance(event, yaml.CollectionStartEvent):
            is_list = isinstance(event, yaml.SequenceStartEvent)
            self.levels.append("list" if is_list else "key")
            self.path.append(-1 if is_list else "")
        elif level == "value":
            self.levels[-1] = "key"
        return found

    def close(self) -> None:
        """Leave a list or mapping."""
        self.levels.pop()
        self.path.pop()
        if self.levels and self.levels[-1] == "value":
            self.levels[-1] = "key"


def _in_block(text: str, event: Any, rest: KeyPath) -> tuple[int, int] | None:
    """Return the line and column of a word of a text block, by row and column from 0."""
    lines = _lines(text)
    start, end = event.start_mark.line, event.end_mark.line
    literal = event.style in ("|", ">")
    numbers = [i for i in range(start + literal, min(end + 1, len(lines))) if lines[i].strip()]
    row, column = (0, rest[0]) if len(rest) == 1 and not literal else (rest[0], (*rest, 0)[1])
    assert isinstance(row, int)
    assert isinstance(column, int)
    if row >= len(numbers):
        return None
    line = lines[numbers[row]]
    first = numbers[row] == start and not literal
    offset = event.start_mark.column + (event.style in ("'", '"')) if first else 0
    starts = [at for at, _ in words_of(line[offset:])]
    return (numbers[row] + 1, offset + starts[column] + 1) if column < len(starts) else None


def _lines(text: str) -> list[str]:
    """Return the lines as the parser counts them."""
    return re.split("\r\n|[\r\n\x85\u2028\u2029]", text)


def _place(text: str, name: str, line: int, column: int) -> Place:
    lines = _lines(text)
    return Place(name, line + 1, column + 1, lines[line] if line < len(lines) else "")


def _syntax_error(error: yaml.YAMLError, text: str, name: str) -> InputError:
    """Return the parser's complaint with a place, and a way out where one is known."""
    mark = getattr(error, "problem_mark", None)
    if mark is None:
        found = re.search(CONTROL, text)
        above = _lines(text[: found.start() if found else 0])
        place = _place(text, name, len(above) - 1, len(above[-1]))
        character = f" ({visible(found[0])})" if found else ""
        message = f"a control character{character} cannot stand in YAML"
        return InputError(Fault(message, (), 'write it as "\\x1b" in double quotes', place=place))
    problem = str(getattr(error, "problem", "") or "this is no YAML")
    context = getattr(error, "context", None)
    context_mark = getattr(error, "context_mark", None)
    place = _place(text, name, mark.line, mark.column)
    hint = ""
    before = place.text[: place.column]
    if "\\t" in problem or ("\t" in before and not before.strip()):
        problem = "a tab where YAML takes only blanks"
        hint = "indent with blanks"
    elif context and "quoted" in str(context) and "end of stream" in problem and context_mark:
        place = _place(text, name, context_mark.line, context_mark.column)
        problem = "a quotation mark is not closed"
    elif "cannot start any token" in problem:
        problem = f"a value cannot start with {place.text[place.column - 1 : place.column]}"
        hint = "put it between quotes"
    elif context and "flow" in str(context) and context_mark is not None:
        problem = "a bracket is not closed"
        hint = f"it opens in line {context_mark.line + 1}, column {context_mark.column + 1}"
    elif "mapping values are not allowed" in problem:
        problem = "a second colon in this line"
        hint = 'put text that has ": " in it between quotes'
    return InputError(Fault(f"{visible(problem)}", (), hint, place=place))
