"""Keys without a value in a problem, which are errors, and what was probably meant."""

from __future__ import annotations

import re
from collections.abc import Iterator

from attncli.errors import Fault, KeyPath, located, refuse
from attncli.files.document import Blank, Document, Raw
from attncli.forms.form import TRUTH
from attncli.problem.key_names import hint_for, key_of
from attncli.problem.keys import KEYS
from attncli.text.escapes import visible

KEY_AND_VALUE = re.compile(r"(\S+?)(?:\s*[=:]\s*|\s+)(\S.*)")
"""A key and a value without a colon and a blank between them, such as width 2."""

START_OF_VALUE = re.compile(r"[-+.\d\[({\"']|true\b|false\b")


def refuse_blank_keys(document: Document) -> None:
    """Raise an InputError for all keys of a problem without a value; answers may be open."""
    with located(document.locate):
        refuse([_fault(*found) for found in _blank(document.values, ())])


def _blank(raw: Raw, path: KeyPath) -> Iterator[tuple[KeyPath, bool]]:
    """Yield the path of each key without a value, and True if its mapping has no other key."""
    if isinstance(raw, dict) and path != ("answers",):
        for key, value in raw.items():
            if isinstance(value, Blank):
                yield (*path, key), len(raw) == 1
            else:
                yield from _blank(value, (*path, key))
    elif isinstance(raw, list) and any(isinstance(item, dict) for item in raw):
        for index, item in enumerate(raw):
            yield from _blank(item, (*path, index))


def _fault(path: KeyPath, is_only: bool) -> Fault:
    words = [part for part in path if isinstance(part, str)]
    if words[0] == "layers":  # a layer has the keys of a problem
        words = [word for word in words[1:] if not word.isdecimal()] or words
    word = words[-1]
    parents = [key_of(part) for part in words[:-1]]
    inside = f" in {visible('.'.join(parents))}" if parents else ""
    message = f"{visible(word) or 'an empty key'}{inside} has no value"
    return Fault(message, path, _likely_form(word, parents, is_only))


def _likely_form(word: str, parents: list[str], is_only: bool) -> str:
    """Return a hint that shows how a key and its value are written."""
    outer = KEYS[parents[0]].form if len(parents) == 1 and parents[0] in KEYS else None
    known = {key: row.form for key, row in KEYS.items()} if not parents else {}
    known = dict(outer.parts()) if outer else known
    form = known.get(word if parents else key_of(word))
    pair = KEY_AND_VALUE.fullmatch(word)
    if pair and not form and (pair[1] in known or START_OF_VALUE.match(pair[2])):
        return f"write {pair[1]}: {pair[2]}"
    if outer and is_only and word in outer.words():
        return f"write {parents[0]}: {word}"
    if not form and not parents:
        return hint_for(word)
    words = ["true"] if form is TRUTH else form.words() if form else []
    return f"write such as {word}: {words[0] if words else '…'}, or leave the key out"
