"""The documents of a text in YAML or JSON; every scalar stays the text that was written.

The text is read in parts, each as soon as it is complete: lines of `---` separate YAML documents; a
JSON value ends with the line that closes its brackets; lines of JSON that come together are one
part. JSON is decoded without `yaml_values`, which is imported only to locate a value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from attncli.core.errors import KeyPath, Locate, Place, below, fail
from attncli.core.records import replace
from attncli.core.text.strings import lines_of, regex, visible
from attncli.reading import document
from attncli.reading.chunks import Chunk, blanked, line_ends
from attncli.reading.document import Document, Raw, unread

if TYPE_CHECKING:
    from attncli.reading.text_documents import TextDocument

MAX_CHARACTERS = 2**28
"""Maximum length of one problem: 14 million numbers of 17 digits."""

DOCUMENT_START = regex(r"---\s(?![ \t]*\|[ \t]*:?--)")  # which is a rule below heads in Markdown
LINE_OF_JSON = regex(r'\{\s*".*\}\s*$', re.MULTILINE)
"""A JSON mapping alone on a line."""
JSON_LINES = regex(r'(?:\{[ \t]*".*\}\s*\n)++')
"""JSON mappings, each alone on a line, and empty lines below them."""
JSON_LINE_START = "\n{"
LINE = regex(r"[^\n]*\n|[^\n]+")
LINE_ABOVE = regex(
    r"[\s#*%]*+(?:(?P<name>[^\W\d_][\w'’.-]*+(?:,? [^\W\d_][\w'’.-]*+){1,4})[* ]*\r?\n"
    r"|[^\W\d_][^\n:=\[\]{}|;]*+\n(?=[\w.\"']+\s?:\s))"
)
"""A line of two to five words alone, or of any words above a key of YAML, that begins a file."""
WITHOUT_COMMAS = regex(r"\s*\[\[?(?:,\d|\d+\][ \t]+[-.\d]|[ \t]*[-+.\d][-+.\deE]*[ \t]+[-+.\d])")
"""The beginning of rows as R or MATLAB prints them: [,1], or [1] 0.5, or [1 0]."""
JSON_STRING = regex(r'"(?:[^"\\]|\\.)*+"|("(?:[^"\\]|\\.)*+)')
"""A string, or as its group one that is not closed in its line."""
QUOTES = "\"'#"
"""Characters that JSON has only in strings; in YAML they may hide brackets."""

HEADING = regex(r"\s*#+[ \t]+\w+[ \t]*\r?\n\s*\[")
"""A heading of one word above a list."""
CONTINUED = (",", "[", ":")
"""Ends of a line after which a mapping on the next line belongs to the same value."""


def cut(texts: Iterator[str]) -> Iterator[str]:
    """Yield the parts of a text, which together are all of it; an empty one where a text ends."""
    part = _Part()
    after_json_line = False
    for whole_lines in _whole_lines(texts):
        lines = whole_lines
        if not lines:
            yield ""
            continue
        if not part.lines and JSON_LINES.fullmatch(lines):
            # The last line, if it is wrong, may go on in the next text.
            several, end, last = lines.rpartition(JSON_LINE_START)
            if end:
                after_json_line = True
                yield f"{several}\n"
                lines = f"{{{last}"
        for line in LINE.findall(lines):
            if part.lines and part.is_ended_by(line, after_json_line):
                yield "".join(part.lines)
                part = _Part()
            part.add(line)
            if part.is_complete_json():
                after_json_line |= part.first is part.last
                yield "".join(part.lines)
                part = _Part()
    if part.lines:
        yield "".join(part.lines)


def count_json_lines(text: str) -> int:
    """Return the number of lines of JSON if a text has nothing else, or else 0."""
    return 1 + text.count(JSON_LINE_START) if JSON_LINES.fullmatch(text) else 0


def json_lines(text: str) -> list[str]:
    """Return the lines of JSON, each with empty lines below it, if a text has nothing else."""
    return re.split(r"(?<=\n)(?=\{)", text) if JSON_LINES.fullmatch(text) else []


def _whole_lines(texts: Iterator[str]) -> Iterator[str]:
    """Yield the lines that each text completes; the last one may have no line end.

    There is an empty text after those of each text.
    """
    begun: list[str] = []
    length = 0
    for text in texts:
        ended, end, rest = text.rpartition("\n")
        if end:
            yield "".join([*begun, ended, end])
            begun, length = [], 0
        begun.append(rest)
        length += len(rest)
        check_length(length)
        yield ""
    if last := "".join(begun):
        yield last


def check_length(length: int) -> None:
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
        check_length(self.length)
        self.form = self.form or _form_of(line)
        if not self.form:
            return
        self.first = self.first or line
        self.last = line
        if self.form == "json":
            outside_and_in = line.split('"')
            if len(outside_and_in) % 2 and "\\" not in line:  # a twentieth of the time
                outside = "".join(outside_and_in[::2])
            else:
                outside = JSON_STRING.sub(r"\1", line)
            self.is_countable = self.is_countable and not any(sign in outside for sign in QUOTES)
            self.open_brackets += sum(map(outside.count, "{[")) - sum(map(outside.count, "}]"))

    def is_complete_json(self) -> bool:
        is_closed = self.form == "json" and self.is_countable and self.open_brackets == 0
        return is_closed and self.last.endswith("\n")

    def is_ended_by(self, line: str, after_json_line: bool) -> bool:
        """Return whether a line starts another part, even if the part before it was cut off.

        `after_json_line` is True if an earlier part was JSON on one line.
        """
        if DOCUMENT_START.match(line):
            return bool(self.form)
        if not self.form:  # the JSON reader knows no comments, so these are a part by themselves
            is_json = _form_of(line) == "json"
            return is_json and not HEADING.match("".join([*self.lines, line]))  # of Markdown
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
    return "json" if word[0] in "{[" and not WITHOUT_COMMAS.match(word) else "yaml"


def documents(chunk: Chunk, are_answers: bool = False) -> Iterator[Document]:
    """Yield each document; one that cannot be read holds its error, and ends the text."""
    text = chunk.text
    may_be_json = text.lstrip()[:1] in ("{", "[") and not chunk.extract  # where YAML does as well
    if may_be_json and not WITHOUT_COMMAS.match(text):
        values, at = _json_values(text)
        if at < len(text) and len(lines := json_lines(text)) > 1:
            before = chunk.before
            for line in lines:
                yield from documents(replace(chunk, text=line, before=before), are_answers)
                before += line_ends(line)
            return
        if at == len(text) or text[at] in "{[":
            for raw, start, end in values:
                yield from _of_value(raw, chunk.name, _places_in_json(chunk, start, end))
            if at == len(text):
                return
            chunk = replace(chunk, text=blanked(text, [(0, at)]))
    yield from _of_yaml(chunk, are_answers)


def _json_values(text: str) -> tuple[list[tuple[Raw, int, int]], int]:
    """Return JSON values with their start and end offsets, and the offset where reading stopped."""
    values = []
    at = 0
    with suppress(ValueError, RecursionError):
        while at < len(text):
            if text[at].isspace():
                at += 1
                continue
            value, end = JSON_DECODER.raw_decode(text, at)
            if document.has_decimal_pairs(text, at, end):
                break
            if text.find("\\u", at, end) >= 0:  # half of a large character raises a ValueError
                json.dumps(value, ensure_ascii=False).encode()
            values.append((_as_text(value), at, end))
            at = end
    return values, at


def _json_mapping(pairs: list[tuple[str, Any]]) -> dict[str, Raw]:
    result = {key: None if value is None else _as_text(value) for key, value in pairs}
    if len(dict(pairs)) < len(pairs) or len(pairs) > document.MAX_KEYS:
        raise ValueError
    return result


JSON_DECODER = json.JSONDecoder(
    object_pairs_hook=_json_mapping, parse_float=str, parse_int=str, parse_constant=str
)


def _as_text(value: Any, depth: int = 0) -> Raw:
    """Return a value with true, false and null as the words that YAML has for them."""
    if depth >= document.MAX_LEVELS:
        raise ValueError
    if isinstance(value, list):
        if set(map(type, value)) == {str}:  # rows of numbers, nearly all of every file
            return value
        return [_as_text(item, depth + 1) for item in value]
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return value  # text, or a mapping whose values are text already


def _of_yaml(
    chunk: Chunk, are_answers: bool = False, may_be_text: bool = True
) -> Iterator[Document]:
    """Yield the documents of YAML; rows that are not indented as YAML requires are indented."""
    from attncli.reading import yaml_values

    text = chunk.text.replace("\u00a0", " ")  # Word and web pages have no-break spaces for blanks
    if "?" in text:  # YAML takes it for the start of a key, people for a cell left out
        text = re.sub(r"(?<=[\[,])(\s*)\?(?=\s*[\],])", r"\1_", text)
    part = replace(chunk, text=text, original=chunk.original or chunk.text)
    values, error = yaml_values.documents_until(part)
    is_text = ";" in text and not any(isinstance(raw, dict) for raw in values)
    is_text = is_text or any(isinstance(raw, str) or _has_headings(raw, text) for raw in values)
    if may_be_text and (error is not None or is_text):
        from attncli.reading.text_documents import text_document
        from attncli.reading.texts import unwrapped

        if (inside := unwrapped(chunk)) is not None:
            yield from documents(inside, are_answers)
            return
        if (found := text_document(chunk, are_answers)) is not None:
            yield from _of_text(found)
            return
    if error is not None:
        part = replace(part, text=yaml_values.indented(text))
        values, error = yaml_values.documents_until(part)
    for number, raw in enumerate(values):
        is_empty = isinstance(raw, dict) and all(value is None for value in raw.values())
        if raw is not None and not is_empty:
            locate = yaml_values.places_in(part, number)
            yield from _of_value(raw, chunk.name, locate, are_answers)
    if error is not None:
        yield unread(error, chunk.name)


def _has_headings(raw: Raw, text: str) -> bool:
    """Return True for a mapping with a key of several words, or an open key before another one.

    Also for a matrix, or labelled rows, under a heading of Markdown, which is a comment in YAML.
    """
    if isinstance(raw, list):
        are_set = any(isinstance(one, str) and "=" in one for one in raw)
        return are_set or HEADING.match(text) is not None
    if not isinstance(raw, dict):
        return False
    are_open = [isinstance(value, document.Blank) for value in raw.values()]
    texts = [raw for raw in raw.values() if isinstance(raw, str) and "\n" not in raw]
    are_set = any(re.search(r"=\s*[\[(\d-]", one) for one in texts)
    has_heading = any(re.search(r"\S\s|(?:In|Out) ?\[\d", key) for key in raw)
    has_heading = has_heading or (text.lstrip().startswith("#") and _is_heading(text, raw))
    return any(are_open[:-1]) or has_heading or are_set


def _is_heading(text: str, raw: dict[str, Raw]) -> bool:
    """Return True for a comment that tells whose rows follow, or stands above no known key."""
    from attncli.core.problem.key_values import key_of  # few texts begin with a heading
    from attncli.core.problem.keys import KEYS
    from attncli.core.tape.step_words import may_mean_step
    from attncli.reading.text_names import ROW_HEADING

    are_names = any(may_mean_step(key, KEYS) or key_of(key) in KEYS for key in raw)
    return not are_names or ROW_HEADING.match(text.lstrip()) is not None


def _of_text(text: TextDocument) -> Iterator[Document]:
    """Yield the document of a text, together with the keys of YAML that are beside its matrices."""
    chunk = text.chunk
    by_text = Document(chunk.name, text.values, text.locate)
    beside = [*_of_yaml(replace(chunk, text=text.rest), may_be_text=False)]
    for one in beside or [replace(by_text, values={})]:

        def locate(path: KeyPath, one: Document = one) -> Place:
            return (by_text if path and path[0] in text.values else one).locate(path)

        error = one.error
        for key in one.values.keys() & text.values.keys():
            said = document.twice(key, by_text.locate((key,)).line)
            error = one.locate((key,)).error(said, "keep one of them")
        values = {**one.values, **text.values}
        in_order = sorted(values, key=lambda key: locate((key,)).line)
        values = {key: values[key] for key in in_order}
        yield replace(one, values=values, locate=locate, error=error)


def _places_in_json(chunk: Chunk, start: int, end: int) -> Locate:
    """Return the places in the JSON between two offsets of a text; JSON is YAML too."""

    @cache
    def as_yaml() -> tuple[Locate, Sequence[str], int]:
        from attncli.reading import yaml_values

        # YAML does not join the two halves of a large character, and ends lines at more
        # characters; any others will do for the place.
        first = chunk.text.rfind("\n", 0, start) + 1
        before = chunk.before + line_ends(chunk.text[:first])
        part = re.sub(r"\\u[dD]\w{3}\\u[dD]\w{3}", "------------", chunk.text[first:end])
        part = part if part.isascii() else re.sub("[\x85\u2028\u2029]", "-", part)
        text = blanked(part, [(0, start - first)])
        read = replace(chunk, text=text, before=before, original="")
        return yaml_values.places_in(read, 0), lines_of(chunk.text[first:]), before

    def locate(path: KeyPath) -> Place:
        locate_in_yaml, lines, before = as_yaml()
        place = locate_in_yaml(path)
        return replace(place, text=lines[place.line - before - 1])

    return locate


def _of_value(raw: Raw, name: str, locate: Locate, are_answers: bool = False) -> Iterator[Document]:
    are_several = isinstance(raw, list)
    if are_several and not any(isinstance(item, dict) for item in raw):
        yield Document(name, {"X": raw}, lambda path: locate(path[1:]), bare=True)
        return
    for number, item in enumerate(raw if are_several else [raw]):
        in_item = below(locate, number) if are_several else locate
        if isinstance(item, dict):
            open_keys: list[document.OpenKey] = []
            values = document.without_nulls(item, (), open_keys)
            yield Document(name, values, in_item, open_keys=tuple(open_keys))
        else:
            said = [f"item {number + 1} of the list must be a mapping of keys to values"]
            said = said if are_several else _no_mapping(str(item), are_answers)
            yield unread(in_item(()).error(*said), name)


def _no_mapping(text: str, are_answers: bool) -> list[str]:
    """Return the message and the hint for a text that is all of a document."""
    key = re.match(r"\w+:(?=\S)", text)
    if are_answers and not key:
        message = f"here is no matrix under the name of a step: {visible(text[:40])}"
        return [message, document.ANSWERS_HINT]
    example = f"{key[0]} …, with a blank after the colon" if key else "X: [[1, 0], [0, 1]]"
    message = f"a problem is a mapping of keys to values, not: {visible(text[:40])}"
    return [message, f"write such as {example}"]
