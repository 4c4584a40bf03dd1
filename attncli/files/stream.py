"""A stream of text in parts, each of which is read by itself as soon as it is there.

Lines of `---` part documents of YAML, ends of lines those of JSON. A part may hold several
documents where only their reader can tell them apart.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import BinaryIO

from attncli.errors import fail
from attncli.files.document import LARGE, NUMBERS, Chunk

BLOCK = 2**16
"""So many bytes are read at a time: what a pipe holds."""

MOST_TEXT = 2**28
"""So many characters one problem may have: 17 digits each, 14 million numbers."""

PLAIN = re.compile(f"[{NUMBERS}]*")

DASHES = re.compile(r"^---(?=\s)", re.MULTILINE)
LINE_OF_JSON = re.compile(r'^\{\s*".*\}\s*$', re.MULTILINE)
"""A mapping on a line of its own."""
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
QUOTES = "\"'#"
"""Signs that JSON has in no other place; in YAML they may hide brackets."""

GOES_ON = (",", "[", ":")
"""What a line of JSON ends with where a mapping on the next one belongs to it."""


def blocks(file: BinaryIO) -> Iterator[bytes]:
    """Yield the bytes of a file as they come."""
    read = getattr(file, "read1", file.read)  # which waits only while there is nothing at all
    while block := read(BLOCK):
        yield block


def decoded(data: Iterator[bytes]) -> Iterator[str]:
    """Yield the text of UTF-8, or of UTF-16 with a byte order mark, as Excel writes it.

    Raises:
        InputError: for bytes that are neither, with their line.
    """
    start = b""
    for block in data:
        start += block
        if len(start) > 1:  # a byte order mark
            break
    wide = start[:2] in (b"\xff\xfe", b"\xfe\xff")
    decoder = codecs.getincrementaldecoder("utf-16" if wide else "utf-8-sig")()
    line = 1
    block = start
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


def chunks(texts: Iterator[str], name: str, lift: bool = False) -> Iterator[Chunk]:
    """Yield the parts of a text, which are all of it, as soon as each is whole.

    With `lift`, large matrices of plain numbers are taken out of them (`lifted`).
    """

    def chunk(pieces: list[str]) -> Chunk:
        if lift and sum(map(len, pieces)) >= LARGE:
            from attncli.files.lifted import shortened

            return shortened(Chunk(name, "", before), pieces)
        return Chunk(name, "".join(pieces), before, ())

    before = 0
    parts = _Parts()
    for lines in _whole_lines(texts):
        for pieces in parts.take(lines):
            count = sum(map(_count, pieces))
            yield chunk(pieces)
            before += count
        check_length(parts.length)
    if pieces := parts.rest():
        yield chunk(pieces)


def _whole_lines(texts: Iterator[str]) -> Iterator[str]:
    """Yield the same text in pieces that end where a line does, but for the last one.

    A long line comes in more pieces: where there are nothing but numbers, it is told apart nowhere.
    """
    begun: list[str] = []
    length = 0
    for text in texts:
        end = text.rfind("\n") + 1
        if end:
            yield "".join([*begun, text[:end]])
            begun, length = [], 0
        elif length >= BLOCK and text[:1] != "-" and PLAIN.fullmatch(text):
            yield "".join(begun)
            begun, length = [], 0
        begun.append(text[end:])
        length += len(text) - end
        check_length(length)
    yield "".join(begun)


def check_length(length: int) -> None:
    """Refuse more text than a problem may have; a stream of problems may be of any length."""
    if length > MOST_TEXT:
        message = f"one problem of more than {MOST_TEXT:,} characters"
        raise fail(message, hint="save large matrices as NPZ or NPY")


def _count(text: str) -> int:
    """Return how many lines a text ends, as the reader of YAML counts them."""
    if text.isascii() and "\r" not in text:
        return text.count("\n")
    return len(re.findall("\r\n|[\r\n\x85\u2028\u2029]", text))


class _Parts:
    """Gathers lines until a part is whole."""

    def __init__(self) -> None:
        self.is_json_lines = False  # whether a line was a whole part of JSON
        self._begin()

    def _begin(self) -> None:
        self.pieces: list[str] = []
        self.length = 0  # of all that was taken since
        self.form = ""  # "json" or "yaml", as soon as a line tells
        self.depth = 0  # of brackets that are open, in JSON
        self.is_plain = True  # whether the brackets can be counted without reading
        self.first = self.last = ""  # lines

    def rest(self) -> list[str]:
        """Return the pieces of the part that has begun, and begin another."""
        pieces = self.pieces
        self._begin()
        return pieces

    def take(self, text: str) -> Iterator[list[str]]:
        """Take whole lines, and yield the pieces of the parts that they end."""
        at = start = 0  # what stands between belongs to the part that has begun
        self.length += len(text)

        def ended() -> list[str]:
            nonlocal start
            pieces = [*self.rest(), text[start:at]]
            start = at
            return pieces

        while at < len(text):
            if self.form == "yaml":
                at = self._next_part(text, at)
                if at < len(text):
                    yield ended()
                continue
            end = text.find("\n", at) + 1 or len(text)
            line = text[at:end]
            if not self.form:
                self.form = _form(line)
                # The reader of JSON knows neither dashes nor comments.
                if self.form == "json" and (self.pieces or start < at):
                    yield ended()
                    continue
            elif self._starts_another(line):
                yield ended()
                continue
            self.first = self.first or line
            self.last = line
            at = end
            if self.form == "json" and self._is_whole(line):
                self.is_json_lines |= line is self.first
                yield ended()
        if start < at:
            self.pieces.append(text[start:])

    def _next_part(self, text: str, at: int) -> int:
        """Return where the next part of a text starts, from a place in YAML on; else its length."""
        dashes = DASHES.search(text, at) if "---" in text else None
        end = dashes.start() if dashes else len(text)
        for line in LINE_OF_JSON.finditer(text, at, end) if "{" in text else ():
            before = text[max(0, line.start() - 3) : line.start()] or "".join(self.pieces[-1:])[-3:]
            if self.is_json_lines or not before.rstrip().endswith(GOES_ON):
                return line.start()
        return end

    def _is_whole(self, line: str) -> bool:
        """Whether a line of JSON, which was just taken, closes all brackets."""
        signs = STRING.sub("", line)
        self.is_plain = self.is_plain and not any(sign in signs for sign in QUOTES)
        self.depth += sum(map(signs.count, "{[")) - sum(map(signs.count, "}]"))
        return self.is_plain and self.depth == 0 and line.endswith("\n")

    def _starts_another(self, line: str) -> bool:
        """Whether a line starts another part, though brackets are open, or may be."""
        if not line.startswith("{"):
            return DASHES.match(line) is not None
        # Where a mapping has content on its first line, it is one line, which was cut off.
        first, last = self.first.strip(), self.last.rstrip()
        is_cut = first.startswith("{") and len(first) > 1
        is_value = last.endswith(":") and not self.is_json_lines
        return not last.endswith(GOES_ON) or (is_cut and not is_value)


def _form(line: str) -> str:
    """Return the form of a part that a line tells, if it has any content."""
    word = line.strip()
    if not word or word == "---" or word[0] in "#%":
        return ""
    return "json" if word[0] in "{[" else "yaml"
