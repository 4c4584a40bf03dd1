"""Places of values in the text of YAML, and syntax errors in plain words.

It is loaded only if there is an error to show.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import yaml

from attncli.core.errors import InputError, KeyPath, Place
from attncli.core.numbers.parser import NumberError
from attncli.core.numbers.pasted import grid_of
from attncli.core.text.escapes import visible
from attncli.reading.document import Chunk, error_at, yaml_lines
from attncli.reading.yaml_text import NotAllowedError, events_of

CONTROL = r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
"""The characters that the parser refuses."""

QUOTE = "put it between quotes"

SENTENCES = (
    (r"\\t|tab character", "a tab where YAML takes only blanks", "indent with blanks"),
    (
        "expected ':'",
        "this line has no key, or no colon and blank behind its key",
        "write it as key: value; indent a line that belongs to the one above it",
    ),
    ("quoted scalar: found unexpected", "a quotation mark is not closed", "close it"),
    (
        "quoted scalar",
        "\\ between double quotes begins an escape code, and this is none",
        r"write \\, or put the text between single quotes",
    ),
    ("alias|anchor|tag|mapping keys|token", "a value cannot start with {sign}", QUOTE),
    ("mapping values", "a second colon in this line", 'put text with ": " in it between quotes'),
    ("sequence entries", "a list of - cannot begin behind a colon", "begin each - on a line below"),
    (
        "block scalar",
        "nothing but a comment may follow a | or > on its line",
        "write the text below it, or put text that starts with this sign between quotes",
    ),
    ("directive|incompatible", "a line cannot start with %", "begin a comment with #"),
    (
        "end of a value",
        "{sign} follows a value that is complete",
        "leave it out, put several lists between [ and ], or put the text between quotes",
    ),
    (
        "block mapping|block collection|document start",
        "this line is indented otherwise than those it belongs to",
        "indent the keys of a mapping, or the - of a list, alike",
    ),
    ("", "{sign} cannot stand here", f"leave it out, or {QUOTE}"),
)
"""Patterns of what the parser says, with a message and a hint. The first that is found counts."""


def locate(chunk: Chunk, number: int, path: KeyPath) -> Place:
    """Return the place of a path in the document of an index, or of the nearest value around it.

    Inside a text block the path goes on with the row and the column.
    """
    best, depth, block = (0, -1), 0, None
    with suppress(yaml.YAMLError):  # JSON that is no YAML: what is found before the error will do
        for found, event, is_key in _nodes(chunk.text, number):
            if not found:
                best = event.start_mark.line, -1
            if path[: len(found)] != found or len(found) < depth:
                continue
            if len(found) > depth:  # of a key and its value, people look for the key
                depth = len(found)
                best = event.start_mark.line, event.start_mark.column
            if isinstance(event, yaml.ScalarEvent) and not is_key:
                block = event
            if depth == len(path):
                break
    rest = path[depth:]
    if block is not None and rest and all(isinstance(part, int) for part in rest):
        best = _in_block(chunk.text, block, rest) or best
    return _place(chunk, *best)


def _nodes(text: str, number: int) -> Iterator[tuple[KeyPath, Any, bool]]:
    """Yield the path and the event of each key and value of a document, and whether it is a key."""
    path: list[Any] = []  # for each open collection an index or a key, or None before a key
    document = -1
    for event in events_of(text):
        is_complete = False  # whether a value inside a collection ends here
        if isinstance(event, yaml.DocumentStartEvent):
            document += 1
            if document > number:
                return
        elif isinstance(event, yaml.CollectionEndEvent):
            path.pop()
            is_complete = bool(path)
        elif isinstance(event, yaml.NodeEvent):
            is_key = bool(path) and path[-1] is None
            if is_key:
                path[-1] = getattr(event, "value", None)
            if document == number:
                yield tuple(path), event, is_key
            if isinstance(event, yaml.CollectionStartEvent):
                path.append(0 if isinstance(event, yaml.SequenceStartEvent) else None)
            else:
                is_complete = bool(path) and not is_key
        if is_complete:  # the next is the item after it, or another key
            path[-1] = path[-1] + 1 if isinstance(path[-1], int) else None


def _in_block(text: str, event: Any, rest: tuple[Any, ...]) -> tuple[int, int] | None:
    """Return the line and column, from 0, of the word in a row and column of a text block."""
    start, end = event.start_mark.index, event.end_mark.index
    literal = event.style in ("|", ">")
    row, column = (0, *rest) if len(rest) == 1 and not literal else (*rest, 0)[:2]
    try:
        if literal:  # its rows are below the sign, and comments may come after them
            start += len(yaml_lines(text[start:end])[0]) + 1
            ends = [line.end() for line in re.finditer(r"[^\r\n]*\S[^\r\n]*", text[start:end])]
            end = start + ends[len([*filter(str.strip, event.value.splitlines())]) - 1]
        elif event.style:  # in quotes
            start, end = start + 1, end - 1
        at, _ = grid_of(text[start:end]).rows[row][column]
    except (NumberError, IndexError):  # such as an ambiguous comma: a fault of the whole block
        return None
    above = yaml_lines(text[: start + at])
    return len(above) - 1, len(above[-1])


def _place(chunk: Chunk, line: int, column: int) -> Place:
    """Return a place in the file, from 1, of one in a part of it, from 0; −1 is no column."""
    lines = yaml_lines(chunk.text)
    shown = lines[line] if line < len(lines) else ""
    if shown and chunk.original:  # which may have fewer blanks before the line
        read, shown = shown, yaml_lines(chunk.original)[line]
        added = len(read) - len(read.lstrip(" ")) - len(shown) + len(shown.lstrip(" "))
        column -= min(added, max(column, 0))
    return Place(chunk.name, chunk.before + line + 1, column + 1, shown)


def _control_character(chunk: Chunk) -> InputError:
    """Return the error for a character that the parser refuses without its place."""
    found = re.search(CONTROL, chunk.text)
    above = yaml_lines(chunk.text[: found.start() if found else 0])
    place = _place(chunk, len(above) - 1, len(above[-1]))
    character = f" ({visible(found[0])})" if found else ""
    message = f"a control character{character} cannot stand in YAML"
    return error_at(place, message, 'write it as "\\x1b" in double quotes')


def explained(error: yaml.YAMLError, chunk: Chunk) -> InputError:
    """Return an error of the parser in plain words, with its place and, where known, a way out."""
    mark: Any = getattr(error, "problem_mark", None)
    if mark is None:
        return _control_character(chunk)
    place = _place(chunk, mark.line, mark.column)
    if isinstance(error, NotAllowedError):
        return error_at(place, error.message, error.hint)
    opening = getattr(error, "context_mark", None)
    start = _place(chunk, opening.line, opening.column) if opening else place
    context = str(getattr(error, "context", None) or "")
    said = f"{context}: {getattr(error, 'problem', None)}"
    read = place.text[: place.column]
    if "\t" in read and not read.strip():
        said = "tab character"
    elif "flow" in context:
        return error_at(place, *_in_brackets(place, start, context))
    elif "block mapping" in context and read[:-1].strip():
        said = "end of a value"
    elif "scanning" in context:  # the parser notices it only after the place that is wrong
        place = start
    message, hint = next(words for pattern, *words in SENTENCES if re.search(pattern, said))
    sign = place.text[place.column - 1 : place.column]
    return error_at(place, message.format(sign=visible(sign)), hint)


def _in_brackets(place: Place, opening: Place, context: str) -> tuple[str, str]:
    if re.search(r"[\[,]\s*,", place.text[: place.column]):
        return "a cell is empty", "an empty cell is written ~"
    if re.match(r"-\s*[,\]]", place.text[place.column - 1 :]):
        return "- is not a number", "write -inf, or ~ for a cell that is left out"
    hint = f"it opens in line {opening.line}, column {opening.column}"
    hint += "; rows that a program prints are read below X: |"
    signs = "a comma or a colon" if "mapping" in context else "a comma"
    return f"a bracket is not closed, or {signs} is missing before this", hint
