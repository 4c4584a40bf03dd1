"""Faults of a text in plain words: syntax errors of YAML, and keys without a value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attncli.core.errors import Fault, InputError, KeyPath, Place
from attncli.core.numbers.forms import TRUTH, Form
from attncli.core.problem.key_values import hint_for, key_of
from attncli.core.problem.keys import KEYS
from attncli.core.problem.rows import row_name
from attncli.core.records import replace
from attncli.core.tape.step_words import ALIASES, may_mean_step
from attncli.core.text.strings import did_you_mean, near_words, regex, visible
from attncli.reading.chunks import Chunk
from attncli.reading.document import TOO_DEEP, Document, OpenKey, Raw, without_nulls

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


def explained(error: yaml.YAMLError, chunk: Chunk) -> InputError:
    """Return an error of the parser in plain words, with its place and, where known, a way out."""
    mark: Any = getattr(error, "problem_mark", None)
    if mark is None:  # as for a character that the parser refuses without its place
        match = re.search(CONTROL, chunk.text)
        place = chunk.place_at(match.start() if match else 0)
        character = f" ({visible(match[0])})" if match else ""
        message = f"a control character{character} cannot stand in YAML"
        return place.error(message, 'delete it; in a text in double quotes, write "\\x1b"')
    opening = getattr(error, "context_mark", None) or mark
    end = chunk.place_at(len(chunk.text.rstrip()))  # no fault is in a line below it
    both = [chunk.place(one.line, one.column) for one in (mark, opening)]
    place, start = (min(one, end, key=lambda place: place.line) for one in both)
    context = str(getattr(error, "context", None) or "")
    said = f"{context}: {getattr(error, 'problem', None)}"
    if "nesting depth" in said:  # libyaml's own limit, from PyYAML 6.0.4 on, may come first
        return place.error(*TOO_DEEP)
    read = place.text[: place.column]
    if "\t" in read and not read.strip():
        said = "tab character"
    elif "flow" in context:
        return place.error(*_in_brackets(place, start, context))
    elif "document start" in said and re.search(r"^\.\.\.", chunk.text[: mark.index], re.M):
        said = "behind the end"
    elif "block mapping" in context and read[:-1].strip():
        said = "end of a value"
    elif "scanning" in context:  # the parser notices it only after the place that is wrong
        place = start
    message, hint = next(words for pattern, *words in SENTENCES if re.search(pattern, said))
    sign = place.text[place.column - 1 : place.column]
    return place.error(message.format(sign=visible(sign)), hint)


def _in_brackets(place: Place, opening: Place, context: str) -> tuple[str, str]:
    if re.search(r"[\[,]\s*,", place.text[: place.column]):
        return "a cell is empty", "an empty cell is written ~"
    if re.match(r"-\s*[,\]]", place.text[place.column - 1 :]):
        return "- is not a number", "write -inf, or ~ for a cell that is left out"
    hint = "rows that a program prints are read below X: |"
    if opening != place:
        hint = f"it opens in line {opening.line}, column {opening.column}; {hint}"
    signs = "a comma or a colon" if "mapping" in context else "a comma"
    return f"a bracket is not closed, or {signs} is missing before this", hint


KEY_AND_VALUE = regex(r"(\S+?)(?:\s*+[=:]\s*+|\s++)(\S(?s:.*))")
"""A key and a value without a colon and a blank between them, such as width 2."""

START_OF_VALUE = regex(r"[-+.\d\[({\"']|true\b|false\b")


def faults_of(document: Document) -> list[Fault]:
    """Return a fault for each key of a problem that must have a value.

    Answers may be open, and null leaves a key out, both under names that exist.
    """
    course_names = str(document.values.get("names"))
    is_result = "steps" in document.values  # which has nulls for what is not there
    faults = []
    for key in document.open_keys:
        is_answer = len(key.path) > 1 and key.path[0] == "answers"
        is_of_course = is_answer and str(key.path[-1]) in course_names
        may_be_open = (is_answer or key.is_null) and (is_result or _is_known(key.path))
        if not is_of_course and not may_be_open:
            faults.append(_fault(key))
    return faults


def faults_of_answer(key: str, raw: Raw) -> list[Fault]:
    """Return a fault for each key without a value in an answer that means no step."""
    open_keys: list[OpenKey] = []
    without_nulls({key: raw}, (), open_keys)
    faults = []
    for one in open_keys:
        if not one.is_null:
            is_whole = len(one.path) == 1
            fault = _fault(replace(one, path=("answers", key)) if is_whole else one)
            faults.append(replace(fault, path=one.path))
    return faults


def _word_and_parents(path: KeyPath) -> tuple[str, list[str]]:
    """Return the last key of a path, and those around it; a layer has the keys of a problem."""
    words = [part for part in path if isinstance(part, str)]
    if words[0] == "layers":
        words = [word for word in words[1:] if not word.isdecimal()] or words
    return words[-1], [key_of(part) for part in words[:-1]]


def _known_forms(parents: list[str]) -> Mapping[str, Form]:
    if not parents:
        return {key: row.form for key, row in KEYS.items()}
    return KEYS[parents[0]].form.parts() if len(parents) == 1 and parents[0] in KEYS else {}


def _is_known(path: KeyPath) -> bool:
    """Return False for an unknown key, and for a slip of the name of a step in answers."""
    word, parents = _word_and_parents(path)
    if parents == ["answers"]:
        return may_mean_step(word, KEYS) or not near_words(word, ALIASES)
    forms = _known_forms(parents)
    return not forms or (word if parents else key_of(word)) in forms


def _fault(key: OpenKey) -> Fault:
    word, parents = _word_and_parents(key.path)
    inside = f" in {visible('.'.join(parents))}" if parents else ""
    message = f"{visible(word) or 'an empty key'}{inside} has no value"
    return Fault(message, key.path, _likely_form(word, parents, key.is_only))


def _likely_form(word: str, parents: list[str], is_only: bool) -> str:
    """Return a hint that shows how a key and its value are written."""
    outer = KEYS[parents[0]].form if len(parents) == 1 and parents[0] in KEYS else None
    known = _known_forms(parents)
    form = known.get(word if parents else key_of(word))
    pair = KEY_AND_VALUE.fullmatch(word)
    if pair and not form and (pair[1] in known or START_OF_VALUE.match(pair[2])):
        return f"write {pair[1]}: {pair[2]}"
    if outer and is_only and word in outer.words():
        return f"write {parents[0]}: {word}"
    if parents == ["answers"] and near_words(word, ALIASES):
        return did_you_mean(word, ALIASES)
    if not form and not parents and not row_name(word):
        return hint_for(word)
    words = ["true"] if form is TRUTH else form.words() if form else []
    return f"write such as {word}: {words[0] if words else '…'}, or leave the key out"
