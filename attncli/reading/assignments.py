"""Lines that set a name, as in programs: `X = np.array(…)`, `X <- matrix(…)`, `X = [1 0; 0 1];`.

Headings above a matrix, `> X` of a console and `## X` of Markdown, set a name, too, as does a key
before a matrix without commas, which YAML takes for a fault. A matrix without a name is that of X.
What mails and chats put around a problem is removed by `unwrapped`.
"""

from __future__ import annotations

import re
from contextlib import suppress
from itertools import pairwise

from attncli.core.errors import InputError, KeyPath, Place
from attncli.core.numbers.matrices import to_array
from attncli.core.numbers.parser import NumberError
from attncli.core.numbers.pasted import grid_of
from attncli.core.problem.key_values import key_of
from attncli.core.problem.keys import KEYS
from attncli.core.problem.rows import row_name
from attncli.core.records import Record, replace
from attncli.core.tape.cell_names import ALIASES
from attncli.core.text.strings import plain_name, regex
from attncli.reading.document import Chunk, Raw, blanked, error_at, twice

PROMPT = r"(?:>{1,3}|In \[\d+\]:|octave:\d+>|julia>)[ \t]+"
NAME = r"(?:\\\w+\{\w+\}|[^\W\d])[\w.^{}]*(?:\[[^\]\n]{1,20}\])*"
SECOND = regex(rf"[^\[\](){{}}=\n]*[,;][ \t]*(?P<name>{NAME})[ \t]*=(?!=)")
"""A number, and on its line another name that is set."""
NO_COMMA = r"\[(?:\s*\[)?\s*[-+.\d][^\s,]*[ \t]+[-+.\d]"  # between the first two numbers
LINE_STARTS = regex(
    rf"^(?:{PROMPT})?(?:(?:const|let|var)[ \t]+|\$+[ \t]*|\\\[[ \t]*)?"
    rf"(?P<set>{NAME})[ \t]*(?:(?:<-|:?=)(?!=)[ \t]*|:[ \t]+(?={NO_COMMA}|\{{\{{[-\d]))"
    rf"|^(?:{PROMPT}|##+[ \t]+)(?P<heading>{NAME})[ \t]*$"
    rf"|^(?:{PROMPT})?(?P<code>(?:import|from|library|using|print|disp|clear|clc|close)\b[^\n=]*)$"
    r"|^(?P<key>[^\W\d][\w^{}]*)[ \t]*:(?=\s|\Z)",
    re.MULTILINE,
)
"""The beginning of a line that sets a name, is a heading or code without numbers, or has a key."""
BARE_MATRIX = regex(r"\s*(?:Parameter containing:\s*)?(?:[\w.]+\(\s*)?(?:[\[({|⎡⎛┌$\\]|\+-|c\()")
"""The beginning of a pasted matrix without a name."""
NO_CONTENT = regex(
    r"(?:^|(?<=[\s;]))(?:#(?!\S)|//|%[ \t]*(?=[^\W\d]))[^\n|]*"
    r"|^(?:\.\.\.|\+)(?=[ \t])|^Out\[\d+\]:",
    re.MULTILINE,
)
"""Comments, and what a console writes before further lines of a command and before its result."""
QUOTED = regex(r"(?:c?[\[({]\s*)?([\"'])")
"""The beginning of a word between quotes, or of a list of such words."""

FENCE_LINE = regex(r"^(?:```|~~~).*$", re.MULTILINE)
"""The line before or after a problem in a chat or a README file."""


class Assignments(Record):
    """What the lines of a text set: values, and for each the offsets of its name and of itself.

    `rest` is the text with blanks in place of these lines.
    """

    chunk: Chunk
    values: dict[str, Raw]
    offsets: dict[str, tuple[int, int]]
    rest: str = ""

    def locate(self, path: KeyPath) -> Place:
        """Return the place of a name, or of a cell of its matrix."""
        name, rest = [*path, ""][0], [part for part in path if isinstance(part, int)]
        at, start = self.offsets.get(str(name), (0, 0))
        try:
            rows = grid_of(self.values[str(name)]).rows
            row, column = (0, *rest) if len(rows) == len(rest) == 1 else (*rest, 0, 0)[:2]
            at = start + rows[row][column][0] if rest else at
        except NumberError as error:
            at = at if error.at is None else start + error.at
        except (TypeError, LookupError):  # words, or a cell that is not there
            pass
        return self.chunk.place_at(at)


def is_assigned(text: str) -> bool:
    """Return True if a text is one of which `assignments_in` may return something."""
    return BARE_MATRIX.match(text) is not None or any(
        not one["key"] for one in LINE_STARTS.finditer(text)
    )


def assignments_in(chunk: Chunk) -> Assignments | None:
    """Return what the lines of a text set, or its matrix as X; None for another text.

    Raises:
        InputError: if a name is set twice, and not to the same numbers, which a console shows.
    """
    text = chunk.text
    starts = [one for one in LINE_STARTS.finditer(text) if not one["key"] or _is_known(one["key"])]
    result = Assignments(chunk, {}, {})
    if not any(one["set"] or one["heading"] for one in starts):
        if not BARE_MATRIX.match(text) or (text.lstrip()[:1] in "[{" and not _has_rows(text)):
            return None
        starts = []
        result.values["X"], result.offsets["X"] = text, (0, 0)
    ends = [*(one.start() for one in starts), len(text)]
    rest = [text[: ends[0]]] if starts else []
    for one, (start, end) in zip(starts, pairwise(ends), strict=True):
        name = re.sub(r"\\\w+|[{}]", "", one["set"] or one["heading"] or "")
        at, value = one.start("set" if one["set"] else "heading"), _value(text[one.end() : end])
        if second := SECOND.match(text, one.end()):
            message = f"{second['name']} is on the line of {name}"
            raise error_at(chunk.place_at(second.start("name")), message, "write each on a line")
        before = result.values.get(name, value)
        if before != value and not _hold_same_numbers(before, value):
            first = chunk.place_at(result.offsets[name][0]).line
            raise error_at(chunk.place_at(at), twice(name, first), "keep one of them")
        if name:
            result.values[name] = before
            result.offsets.setdefault(name, (at, one.end()))
        is_kept = one["key"] is not None
        rest.append(text[start:end] if is_kept else re.sub(r"[^\n]", " ", text[start:end]))
    whole = re.sub(r"(?m)^[ \t]*%.*$", lambda comment: " " * len(comment[0]), "".join(rest))
    return Assignments(chunk, result.values, result.offsets, whole)


def _has_rows(text: str) -> bool:
    """Return True if a text in brackets is a matrix, and not JSON or YAML with a fault."""
    with suppress(NumberError):
        return not any(set("[]{}\"':") & {*word} for row in grid_of(text).rows for _, word in row)
    return False


def _hold_same_numbers(first: Raw, second: Raw) -> bool:
    with suppress(InputError):
        first, second = (to_array(text, (), infinite=True) for text in (first, second))
        return bool(first.tolist() == second.tolist())
    return False


def _is_known(key: str) -> bool:
    """Return True for the key of a value, and not for a label before a row of a matrix."""
    return (
        key_of(key) in KEYS
        or row_name(plain_name(key)) != ""
        or key in ALIASES
        or key in ("name", "student")
    )


def _value(text: str) -> Raw:
    """Return a list of words between quotes; else the text, with blanks in place of comments."""
    text = NO_CONTENT.sub(lambda comment: " " * len(comment[0]), text).rstrip("; \t\r\n")
    if (quoted := QUOTED.match(text)) and ":" not in text:
        words = re.findall(rf"{quoted[1]}([^{quoted[1]}\n]*){quoted[1]}", text)
        return words if quoted[0] != quoted[1] else " ".join(words)
    return text


def unwrapped(chunk: Chunk) -> Chunk | None:
    """Return a chunk without the `>` before each line, or of what is between two fences alone.

    None if there is neither.

    Raises:
        InputError: if there are more fences, or a known key is outside.
    """
    text = chunk.text
    lines = [*filter(str.strip, text.splitlines())]
    if lines and all(line.lstrip().startswith(">") for line in lines):
        inside = re.sub(r"(?m)^[ \t]*+(?:> ?)++", "", text)
        return replace(chunk, text=inside, original=chunk.original or text)
    fences = [*FENCE_LINE.finditer(text)]
    if not fences:
        return None
    if len(fences) > 2:
        place = chunk.place_at(fences[2].start())
        raise error_at(place, "a second text is between ``` marks", "keep one of them")
    start, end = [*(fence.start() for fence in fences), len(text)][:2]
    for line in LINE_STARTS.finditer(text):
        name = line["set"] or line["key"] or ""
        if not start < line.start() < end and _is_known(name):
            message = f"{name} is written outside of the ``` marks"
            raise error_at(chunk.place_at(line.start()), message, "write it between them")
    return replace(chunk, text=blanked(text[:end], fences[0].end()))
