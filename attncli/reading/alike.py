"""Problems that are written alike: those after the first differ from it in numbers alone.

What keys mean, sizes, shapes and rules depend on the form of a document: its keys, the shapes of
its matrices, and all that is no number of a matrix. They are worked out once for each form.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from math import prod
from typing import Any, TypeAlias

import numpy as np

from attncli.core.errors import InputError, Locate
from attncli.core.numbers.forms import ArrayForm
from attncli.core.numbers.matrices import flattened, plain_decimals
from attncli.core.problem.key_values import is_small, key_of
from attncli.core.problem.keys import KEYS
from attncli.core.problem.kinds import TEXT_KEYS
from attncli.core.problem.problem import Problem
from attncli.core.records import Record
from attncli.reading.document import Document

MAX_FORMS = 64
"""Maximum number of forms that are remembered; then all are forgotten. Chosen."""


Shapes: TypeAlias = dict[str, tuple[int, ...]]


class Known(Record, eq=False):
    """The first problem of a form, and how its document was read."""

    problem: Problem
    keys: dict[str, str]  # by the words that mean them, without those that flags replace
    locate: Callable[[Document], Locate]  # the places in a document of this form


class Alike:
    """The problems of a run, by the form of their documents."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Known] = {}
        self._keys: dict[str, str] = {}  # by word, of matrices that no rule depends on

    def problem(
        self, document: Document, read: Callable[[Document], tuple[Problem, Known | None]]
    ) -> Problem:
        """Return the problem of a document; `read` reads one whose form is not known."""
        form, shapes, cells = self._form_of(document)
        numbers = plain_decimals(cells) if form else None
        if numbers is None:
            return read(document)[0]
        if (known := self._known.get(form)) is not None:
            return _other_numbers(known, document, shapes, numbers)
        problem, new = read(document)
        if new is not None:
            if len(self._known) >= MAX_FORMS:
                self._known.clear()
            self._known[form] = new
        return problem

    def _form_of(self, document: Document) -> tuple[Hashable, Shapes, list[Any]]:
        """Return the form of a document, and the shapes and the cells of its matrices of numbers.

        The form is empty if it can have no other document.
        """
        form: list[Hashable] = []
        shapes: Shapes = {}
        cells: list[Any] = []
        is_plain = not (document.labels or document.bare or document.heading or document.open_keys)
        for word, raw in document.values.items() if is_plain else ():
            if not is_small(raw):
                return (), {}, []
            if type(raw) is list and self._key(word):
                try:
                    shapes[word], items = flattened(raw, (word,), lambda items, *_: [*items])
                except InputError:
                    return (), {}, []
                cells += items
                form.append((word, shapes[word]))
            elif type(raw) is str and word in TEXT_KEYS:
                form.append((word, not raw))
            else:
                form.append((word, text := repr(raw)))
                if "array(" in text:  # of NumPy, which does not show all its numbers
                    return (), {}, []
        return tuple(form), shapes, cells

    def _key(self, word: str) -> str:
        """Return the key of a matrix that no rule depends on; "" for any other word."""
        if word not in self._keys:
            key = key_of(word)
            is_matrix = key in KEYS and isinstance(KEYS[key].form, ArrayForm) and key != "bias"
            self._keys[word] = key if is_matrix else ""
        return self._keys[word]


def _other_numbers(
    known: Known, document: Document, shapes: Shapes, numbers: list[float]
) -> Problem:
    """Return the problem of a document whose form is known."""
    every, end = np.array(numbers), 0
    every.flags.writeable = False
    values: dict[str, Any] = {}
    for word, shape in shapes.items():
        start, end = end, end + prod(shape)
        if key := known.keys.get(word):
            # A flat list may be a column.
            values[key] = every[start:end].reshape(known.problem.__dict__[key].shape)
    of_texts = (word for word in TEXT_KEYS if type(document.values.get(word)) is str)
    changed = {known.keys[word]: word for word in (*shapes, *of_texts) if word in known.keys}
    written = {key: document.values[word] for key, word in changed.items()}
    texts = {key: text for key, text in written.items() if key in TEXT_KEYS}
    return known.problem.with_numbers(values | texts, written, known.locate(document))
