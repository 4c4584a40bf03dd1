"""The text of a notebook: its cells, each with its outputs below it, as in a console.

https://nbformat.readthedocs.io/en/latest/format_description.html
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache

from attncli.core.errors import fail
from attncli.core.text.strings import regex
from attncli.reading.document import error_at
from attncli.reading.extracts import Extract, Pieces

TOKEN = regex(r'"(?P<inside>(?:[^"\\]|\\.)*+)"(?P<colon>\s*+:)?|(?P<opening>[\[{])|[\]}]')
ESCAPE = regex(r"(\\(?:u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w|u\w{4}|.))")
"""A character of JSON that is written as others; one of 32 bits is written as two halves."""

OUTPUT_TEXTS = ("cells/outputs/text", "cells/outputs/data/text/plain")

SHOWN = regex(
    r"(?:(?:print|display)\()?(?:np\.round\()?(?P<name>[^\W\d]\w*)"
    r"(?:\.round\(\d*\)|, *\d+\))?\)?;?\s*"
)
"""The last line of a cell, if its output is what a name holds, perhaps rounded."""

HINT = "save it anew, or write its cells into a .txt file"


def extract_of(written: str, name: str) -> Extract:
    """Return the text of a notebook's cells and outputs.

    Raises:
        InputError: if the notebook is damaged, or has no text.
    """
    result = Extract(name, written)
    _refuse_damage(result)
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
        raise fail("the notebook has no text in its cells", hint=HINT)
    return result


def _refuse_damage(extract: Extract) -> None:
    try:
        json.loads(extract.written)
    except json.JSONDecodeError as error:
        message = "the notebook is cut off or damaged here"
        raise error_at(extract.place_at(error.pos), message, HINT) from None
    except (ValueError, RecursionError):  # a number of many digits, lists inside each other
        raise fail("the notebook is damaged", hint=HINT) from None


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
