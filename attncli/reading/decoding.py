"""Bytes to text: UTF-8, UTF-16, or else Windows-1252, which is said."""

from __future__ import annotations

import codecs
import re
import warnings
from collections.abc import Iterator
from itertools import chain

from attncli.core.errors import fail
from attncli.core.text.strings import visible
from attncli.reading.yaml_documents import check_length

AS_TEXT = "write its numbers into a .txt, CSV or YAML file"

UNSEEN = dict.fromkeys((0x200B, 0x2060, 0xFEFF))  # without a width or a meaning: left out


def decoded(data: Iterator[bytes], name: str) -> Iterator[str]:
    """Yield the text of UTF-8, or of UTF-16 with a byte order mark, as Excel writes it.

    Other text is read as Windows-1252; a UnicodeWarning says so, with the name of the file.
    """
    block = next(data, b"")
    if len(block) == 1:  # a half of a byte order mark
        block += next(data, b"")
    encoding = encoding_of(block)
    wide = encoding != "utf-8-sig"
    if b"\0\0" in block and not wide:
        raise fail("this is neither text nor any other form of file that is read", hint=AS_TEXT)
    decoder: codecs.IncrementalDecoder = codecs.getincrementaldecoder(encoding)()
    line, is_ascii = 1, not block.startswith(codecs.BOM_UTF8)
    for some in chain([block], data, [b""]):
        try:
            text = decoder.decode(some, final=not some)
        except UnicodeDecodeError as error:
            if wide:
                raise fail("the file is broken UTF-16", hint="save it as UTF-8") from None
            text = _of_windows(error, name) if is_ascii else ""
            if not text:
                line += error.object.count(b"\n", 0, error.start)
                message = f"line {line} is not in UTF-8 (byte 0x{error.object[error.start]:02x})"
                raise fail(message, hint="save the file as UTF-8") from None
            decoder = codecs.getincrementaldecoder("cp1252")()
        line, is_ascii = line + text.count("\n"), is_ascii and text.isascii()
        yield text if text.isascii() else text.translate(UNSEEN)


def encoding_of(start: bytes) -> str:
    """Return the encoding of a text, by its mark or by zeros in every second byte."""
    if start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return "utf-16"
    even, odd = start[::2].count(0), start[1::2].count(0)
    if 4 * max(even, odd) <= len(start) or min(even, odd):
        return "utf-8-sig"
    return "utf-16-le" if odd else "utf-16-be"


def _of_windows(error: UnicodeDecodeError, name: str) -> str:
    """Return what is no UTF-8 as Windows-1252, with a warning; "" for bytes that this has not."""
    data, at = error.object, error.start
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:
        return ""
    if not data[:at].isascii() or re.search(r"[\1-\b\x0e-\x1f]", text):
        return ""  # there is UTF-8 before it, or it is no text
    before, after = text[max(at - 20, 0) : at], text[at : at + 20]
    word = re.split(r"\s", before)[-1] + re.split(r"\s", after)[0]
    said = f"{visible(name)} is not in UTF-8; it is read as Windows-1252"
    hint = f"save it as UTF-8 if {visible(word)} is wrong"
    warnings.warn(f"{said}; {hint}", UnicodeWarning, stacklevel=2)
    return text


def whole(texts: Iterator[str]) -> str:
    parts, length = [], 0
    for text in texts:
        length += len(text)
        check_length(length)
        parts.append(text)
    return "".join(parts)
