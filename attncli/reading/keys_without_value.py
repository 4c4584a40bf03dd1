"""Keys without a value: which are refused, and how each was probably meant."""

from __future__ import annotations

from collections.abc import Mapping

from attncli.core.errors import Fault, KeyPath
from attncli.core.numbers.forms import TRUTH, Form
from attncli.core.problem.key_values import hint_for, key_of
from attncli.core.problem.keys import KEYS
from attncli.core.problem.rows import row_name
from attncli.core.records import replace
from attncli.core.tape.cell_names import ALIASES, may_mean_step
from attncli.core.text.strings import did_you_mean, near_words, regex, visible
from attncli.reading.document import Document, OpenKey, Raw, without_nulls

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
