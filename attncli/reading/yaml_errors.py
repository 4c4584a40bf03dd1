"""Syntax errors of YAML in plain words, each with its place and, where known, a way out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from attncli.core.errors import InputError, Place
from attncli.core.text.strings import visible
from attncli.reading.document import TOO_DEEP, Chunk, error_at

if TYPE_CHECKING:
    import yaml

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
    (
        "behind the end",
        "the line ... ends a problem, and no line of --- begins another one",
        "write --- between two problems",
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
"""Patterns of what the parser says, with a message and a hint. The first that matches counts."""


def _control_character(chunk: Chunk) -> InputError:
    """Return the error for a character that the parser refuses without its place."""
    match = re.search(CONTROL, chunk.text)
    place = chunk.place_at(match.start() if match else 0)
    character = f" ({visible(match[0])})" if match else ""
    message = f"a control character{character} cannot stand in YAML"
    return error_at(place, message, 'write it as "\\x1b" in double quotes')


def explained(error: yaml.YAMLError, chunk: Chunk) -> InputError:
    """Return an error of the parser in plain words, with its place and, where known, a way out."""
    mark: Any = getattr(error, "problem_mark", None)
    if mark is None:
        return _control_character(chunk)
    place = chunk.place(mark.line, mark.column)
    opening = getattr(error, "context_mark", None)
    start = chunk.place(opening.line, opening.column) if opening else place
    context = str(getattr(error, "context", None) or "")
    said = f"{context}: {getattr(error, 'problem', None)}"
    if "nesting depth" in said:  # libyaml's own limit, from PyYAML 6.0.4 on, may come first
        return error_at(place, *TOO_DEEP)
    read = place.text[: place.column]
    if "\t" in read and not read.strip():
        said = "tab character"
    elif "flow" in context:
        return error_at(place, *_in_brackets(place, start, context))
    elif "document start" in said and re.search(r"^\.\.\.", chunk.text[: mark.index], re.M):
        said = "behind the end"
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
