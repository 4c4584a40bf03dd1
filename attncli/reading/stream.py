"""A text split into parts that are read one by one, each as soon as it is complete.

Lines of `---` separate YAML documents; a JSON value ends with the line that closes its brackets.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

from attncli.core.errors import fail
from attncli.reading.document import Chunk, yaml_lines

MAX_CHARACTERS = 2**28
"""Maximum length of one problem: 14 million numbers of 17 digits."""

DOCUMENT_START = re.compile(r"---\s")
LINE_OF_JSON = re.compile(r'\{\s*".*\}\s*$', re.MULTILINE)
"""A JSON mapping on a line of its own."""
JSON_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"|("(?:[^"\\]|\\.)*+)')
"""A string, or as its group one that is not closed in its line."""
QUOTES = "\"'#"
"""Characters that JSON has only in strings; in YAML they may hide brackets."""

CONTINUED = (",", "[", ":")
"""Ends of a line after which a mapping on the next line belongs to the same value."""


def decoded(data: Iterator[bytes]) -> Iterator[str]:
    """Yield the text of UTF-8, or of UTF-16 with a byte order mark, as Excel writes it."""
    block = next(data, b"")
    if len(block) == 1:  # a half of a byte order mark
        block += next(data, b"")
    wide = block[:2] in (b"\xff\xfe", b"\xfe\xff")
    decoder = codecs.getincrementaldecoder("utf-16" if wide else "utf-8-sig")()
    line = 1
    while True:
        try:
            text = decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            if wide:
                raise fail("the file is broken UTF-16", hint="save it as UTF-8") from None
            line += error.object.count(b"\n", 0, error.start)
            message = f"line {line} is not in UTF-8 (byte 0x{error.object[error.start]:02x})"
            raise fail(message, hint="save the file as UTF-8") from None
        line += text.count("\n")
        yield text
        if not block:
            return
        block = next(data, b"")


def whole(texts: Iterator[str]) -> str:
    found, length = [], 0
    for text in texts:
        length += len(text)
        _check_length(length)
        found.append(text)
    return "".join(found)


def chunks(texts: Iterator[str], name: str) -> Iterator[Chunk]:
    """Yield the parts of a text, which together are all of it."""
    before = 0
    for lines in _parts(_lines(texts)):
        text = "".join(lines)
        yield Chunk(name, text, before)
        before += len(yaml_lines(text)) - 1


def _parts(lines: Iterator[str]) -> Iterator[list[str]]:
    part = _Part()
    after_json_line = False
    for line in lines:
        if part.lines and part.is_ended_by(line, after_json_line):
            yield part.lines
            part = _Part()
        part.add(line)
        if part.is_complete_json():
            after_json_line |= part.first is part.last
            yield part.lines
            part = _Part()
    if part.lines:
        yield part.lines


def _lines(texts: Iterator[str]) -> Iterator[str]:
    """Yield lines, each as soon as it is complete; the last one may have no line end."""
    begun: list[str] = []
    length = 0
    for text in texts:
        *ended, rest = text.split("\n")
        for line in ended:
            yield "".join([*begun, line, "\n"])
            begun, length = [], 0
        begun.append(rest)
        length += len(rest)
        _check_length(length)
    if last := "".join(begun):
        yield last


def _check_length(length: int) -> None:
    if length > MAX_CHARACTERS:
        message = f"one problem of more than {MAX_CHARACTERS:,} characters"
        raise fail(message, hint="save large matrices as NPZ or NPY")


class _Part:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.length = 0
        self.form = ""  # "json" or "yaml", as soon as a line shows which
        self.first = self.last = ""  # lines with content
        self.open_brackets = 0  # in JSON
        self.is_countable = True  # whether brackets can be counted without parsing

    def add(self, line: str) -> None:
        self.lines.append(line)
        self.length += len(line)
        _check_length(self.length)
        self.form = self.form or _form_of(line)
        if not self.form:
            return
        self.first = self.first or line
        self.last = line
        if self.form == "json":
            outside = JSON_STRING.sub(r"\1", line)
            self.is_countable = self.is_countable and not any(sign in outside for sign in QUOTES)
            self.open_brackets += sum(map(outside.count, "{[")) - sum(map(outside.count, "}]"))

    def is_complete_json(self) -> bool:
        is_closed = self.form == "json" and self.is_countable and self.open_brackets == 0
        return is_closed and self.last.endswith("\n")

    def is_ended_by(self, line: str, after_json_line: bool) -> bool:
        """Return whether a line starts another part; a line that was cut off leaves brackets open.

        `after_json_line` is True if an earlier part was JSON on one line.
        """
        if DOCUMENT_START.match(line):
            return bool(self.form)
        if not self.form:  # the JSON reader knows no comments, so these are a part of their own
            return _form_of(line) == "json"
        if not (line.startswith("{") if self.form == "json" else LINE_OF_JSON.match(line)):
            return False
        last = self.last.rstrip()
        if not last.endswith(CONTINUED):
            return True
        if self.form == "yaml":
            return after_json_line
        first = self.first.strip()
        is_one_line = first.startswith("{") and len(first) > 1  # pretty printers break it after {
        return is_one_line and (after_json_line or not last.endswith(":"))


def _form_of(line: str) -> str:
    """Return "json" or "yaml"; "" for a line that may begin either."""
    word = line.strip()
    if not word or word == "---" or word[0] in "#%":
        return ""
    return "json" if word[0] in "{[" else "yaml"
