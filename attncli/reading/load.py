"""Problems from files, with the matrix files that they name; results are read back as problems."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from attncli.core import errors
from attncli.core.errors import Fault, InputError, Place, below, fail, located, refuse
from attncli.core.numbers.forms import LABELS, MATRIX_SUFFIXES, TEXT, ArrayForm
from attncli.core.numbers.matrices import as_block, grid_in
from attncli.core.problem.key_values import key_of, with_keys
from attncli.core.problem.keys import KEYS, KINDS, OF_TOKENS, WITH_PARTS, kind_of_config
from attncli.core.problem.marking import FLAGS
from attncli.core.problem.problem import Forms, Problem
from attncli.core.problem.rows import (
    LABELLED,
    refuse_columns_of_several,
    refuse_other_order,
    row_name,
    with_rows,
)
from attncli.core.problem.rules_and_layers import with_only_layer
from attncli.core.problem.shapes import may_be_outline
from attncli.core.records import EMPTY, Record, replace
from attncli.core.text.strings import visible
from attncli.reading.document import PAUSE, Document, FileName, Raw, assign
from attncli.reading.files import Folder
from attncli.reading.read import matrix_file, read, read_bytes

if TYPE_CHECKING:
    from attncli.core.numbers.grid import Labels

LABELLED_TEXTS = ("X", "memory")
"""Matrices whose text blocks may have a word beside each row, which names its token."""


class Overrides(Record):
    """What the command line sets in a problem: options such as "marking.points", files by key."""

    options: Mapping[str, str] = EMPTY
    matrices: Mapping[str, str] = EMPTY
    allow_outside: bool = False
    only_shapes: bool = False  # whether the numbers of large arrays are not read
    length: int | None = None  # the number of tokens of a model, by default 1


def load(
    source: FileName, stdin: BinaryIO | None = None, *, allow_outside: bool = False
) -> Problem:
    """Read the one problem of a file.

    Args:
        source: a file of any form that is read, such as YAML, CSV or NPZ; "-" for standard input.
        stdin: what to read for "-".
        allow_outside: whether it may name matrix files outside its folder and those below.

    Raises:
        InputError: for what cannot be read, with its place; for a file of several problems.

    >>> load("sample_inputs/i_am_good.yaml").tokens
    ('I', 'am', 'good')
    """
    problems = load_all(source, Overrides(allow_outside=allow_outside), stdin)
    if len(problems) > 1:
        raise fail(f"{source} holds {len(problems)} problems", hint="use load_all for them")
    return problems[0]


def load_all(
    source: FileName, overrides: Overrides | None = None, stdin: BinaryIO | None = None
) -> list[Problem]:
    """Read every problem of a file.

    Args:
        source: as for `load`.
        overrides: options and matrices that replace those of the file.
        stdin: what to read for "-".

    Raises:
        InputError: for what cannot be read, with its place.
    """
    results = list(load_each(source, overrides, stdin))
    refuse([fault for one in results if isinstance(one, InputError) for fault in one.faults])
    problems = [one for one in results if not isinstance(one, InputError)]
    if len(problems) < 2:
        return problems
    return [one.numbered(number) for number, one in enumerate(problems, 1)]


def load_each(
    source: FileName, overrides: Overrides | None = None, stdin: BinaryIO | None = None
) -> Iterator[Problem | InputError]:
    """Yield every problem of a file as it comes, or the error of one that is wrong."""
    overrides = overrides or Overrides()
    shapes = overrides.only_shapes
    documents = read(source, stdin, csv_options(), as_arrays=True, only_shapes=shapes)
    stream = load_stream(documents, overrides, {})
    return (problem for problem in stream if problem is not None)


def load_stream(
    documents: Iterable[Document], overrides: Overrides, forms: Forms
) -> Iterator[Problem | InputError | None]:
    """Yield the same; None where there is a pause. `forms` are those of the whole run."""
    for document in documents:
        try:
            if document.error:
                raise document.error
            yield None if document is PAUSE else _problem(document, overrides, forms)
        except InputError as error:
            yield error


def csv_options() -> dict[str, bool]:
    """Return the words that make a line of CSV an option, each with whether its value is a list."""
    return {
        name: row.form is LABELS and name != "sentence"
        for key, row in KEYS.items()
        if not isinstance(row.form, ArrayForm)
        for name in (key, *row.aliases)
    }


def from_flags(overrides: Overrides) -> Problem:
    return _problem(Document("", {}, lambda path: Place("")), overrides)


def _problem(document: Document, overrides: Overrides, forms: Forms | None = None) -> Problem:
    options = {k: x if "." in k else flag_value(k, x) for k, x in overrides.options.items()}
    if of_config := kind_of_config(document.values):
        with located(document.locate):
            keys = of_config.problem_of(document.values, overrides.length or 1)
        document = replace(document, values=keys, open_keys=())
    elif overrides.length is not None:
        hint = "the tokens of a problem are the rows of its X"
        raise document.locate(()).error("--length is for the config.json of a model", hint)
    _refuse_open_keys(document)
    source = ProblemSource(document, overrides.only_shapes)
    with located(source.locate):
        source.read_keys()
        if overrides.matrices or any("." not in key for key in options):
            source.values.pop("tour", None)  # whose sentences are about the numbers of the file
        for key, value in options.items():
            source.places[key] = flag_place(flag_of(key), key)
            if "." in key:
                assign(source.values, key, value)
            else:
                source.values[key] = value
                source.drop_from_layers(key)
        for word, name in overrides.matrices.items():
            key = key_of(word)
            key = key if source.layers() else key.removeprefix("layers.1.")
            source.places[key] = flag_place(f"-m {key}={name}", f"{key}: {name}")
            if any(key in layer for layer in source.layers()):
                hint = f"write -m layers.1.{key}={visible(name)}"
                raise fail(f"the layers have a {key} of their own", key, hint=hint)
            source.set_matrix(key, name, None)
        source.values, source.rows = with_rows(source.values)
        source.fetch_files(Folder(document.folder, overrides.allow_outside))
        kind = KINDS.get(str(source.values.get("kind", "self")))
        for key, labels in source.labels.items():
            if kind is None or key in kind.keys:  # a mask of a transformer has labels, too
                source.values.setdefault(key, list(labels))
        return Problem.of_values(source.values, source.locate, forms=forms)


def flag_of(key: str) -> str:
    """Return the option that sets a key, or a part of one such as `marking.ask`."""
    if part := key.partition(".")[2]:
        return FLAGS[part]
    flags = KEYS[key].flags_of(key)
    return flags[-1] if flags else f"--set {key}"


class ProblemSource:
    """The values of the keys of a problem, and their places."""

    def __init__(self, document: Document, only_shapes: bool = False) -> None:
        self.document = document
        self.only_shapes = only_shapes
        self.values = dict(document.values)
        self.rows: dict[str, list[errors.KeyPath]] = {}  # of matrices, each written by itself
        self.places: dict[str, errors.Locate] = {}  # of flags, other files, keys under other names
        self.labels: dict[str, list[str]] = {}  # beside matrices, by the key whose value they are

    def locate(self, path: errors.KeyPath) -> Place:
        if path and (rows := self.rows.get(str(path[0]))):
            is_columns = self.values.get("tokens_as") == "columns"
            row, *rest = ([*path[:0:-1]] if is_columns else path[1:]) or [0]
            path = (*rows[int(row) % len(rows)], *rest)
        words = [part for part in path if isinstance(part, str)]
        for count in range(len(words), 0, -1):
            if place := self.places.get(".".join(words[:count])):
                return place(path[count:])
        return self.document.locate(path)

    def read_keys(self) -> None:
        """Give each key its name; of results, take the keys of the problem they came from."""
        bare = self.values.get("X") if self.document.bare else None
        if isinstance(bare, list) and not any(isinstance(row, list) for row in bare):
            message = "a problem is a mapping of keys to values, not a list"
            hint = "write such as X: [1, 2], and a line of --- between problems"
            if len(bare) == 1 and as_block(bare):
                hint = "write X: [1, 0] for a row, with a comma between its numbers"
            raise self.document.locate(()).error(message, hint)
        if self.values.pop("steps", None) is not None:
            self._take_results()
        self._take_vectors()
        named = with_keys(self.values)
        for key, word in zip(named, self.values, strict=True):
            if key != word:
                self.places[key] = self.places.get(word, below(self.document.locate, word))
        if "layers" in named:
            named, paths = with_only_layer(named)
            at = self.document.locate
            self.places |= {key: below(at, *path) for key, path in paths.items()}
        self.values = named
        for key, labels in self.document.labels.items():
            self._take_labels(key_of(key), labels)
        for key, raw in named.items():
            if isinstance(raw, str) and key in KEYS and not names_file(raw):
                named[key] = self._text_block(key, raw)

    def _take_vectors(self) -> None:
        """Of a table of queries and keys under their names, q and k1, take each row by itself."""
        words, _ = self.document.labels.get("X", (None, None))
        if not words or not self.document.bare or not {"q", "k"} <= {word[:1] for word in words}:
            return
        if all(row_name(word) or word in ("q", "k", "v") for word in words):
            for row, (word, vector) in enumerate(zip(words, self.values.pop("X"), strict=True)):
                self.places[word] = below(self.document.locate, "X", row)
                if word in self.values:
                    message = f"{word} is written twice"
                    raise self.locate((word,)).error(message, "keep one of them")
                self.values[word] = vector

    def layers(self) -> list[dict[str, Raw]]:
        """Return the layers of a transformer that are mappings, if it has several."""
        every = self.values.get("layers")
        rows = [*every.values()] if isinstance(every, dict) else every
        return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []

    def drop_from_layers(self, key: str) -> None:
        """Leave the value of a key that a flag gives as that of every layer."""
        for layer in self.layers():
            for word in [word for word in layer if key_of(word) == key]:
                del layer[word]

    def _take_results(self) -> None:
        values = self.values
        for part in ("problem", "warnings", "rounding"):
            values.pop(part, None)
        for part in ("options", "inputs"):
            inner = values.pop(part, {})
            for key, value in inner.items() if isinstance(inner, dict) else ():
                assign(values, key, value)
                head = key.split(".")[0]
                self.places[head] = below(self.document.locate, part, head)
        if values.keys().isdisjoint(OF_TOKENS):
            message = "this holds results, but not the problem that they came from"
            hint = "write it without --only, or give the problem file itself"
            raise self.document.locate(("steps",)).error(message, hint)

    def _take_labels(self, key: str, labels: Labels) -> None:
        with located(self.locate):
            refuse_columns_of_several(key, labels[1] or ())
        head = key.partition(".")[0]
        names = LABELLED.get(head, ("", "")) if head in self.values else ("", "")
        for name, words in zip(names, labels, strict=True):
            if name and words:
                self.labels.setdefault(name, words)

    def _text_block(self, key: str, text: str) -> Raw:
        """Return a text, or the array of a large text block; note the labels beside its rows."""
        if isinstance(KEYS[key].form, ArrayForm) and text.count(",") == text.count(", "):
            from attncli.reading.arrays import table_of  # which most problems do not need

            if (array := table_of(text)) is not None:  # no comma may be a decimal one
                return array
        if key in LABELLED_TEXTS:
            try:
                words, columns = grid_in(text, (key,)).labels
            except InputError:  # it is raised again when the matrix is read
                words = columns = None
            if self.values.get("tokens_as") == "columns":
                words = columns
            if words and all(map(str.isdecimal, words)):  # a count of the rows
                words = None
            refuse_other_order(key, words or [], self.values.get(LABELLED[key][0]))
            self._take_labels(key, (words, None))
        return text

    def fetch_files(self, folder: Folder) -> None:
        named: list[tuple[str, Raw]] = []
        for key, value in self.values.items():
            if key == "layers":
                for number, row in enumerate(self.layers(), 1):
                    named += ((f"layers.{number}.{part}", inner) for part, inner in row.items())
            elif key in WITH_PARTS and isinstance(value, dict | list):
                for row in value if isinstance(value, list) else [value]:
                    inside = row.items() if isinstance(row, dict) else ()
                    named += ((f"{key}.{part}", inner) for part, inner in inside)
            elif key in KEYS and KEYS[key].form.names_file:
                named.append((key, value))
        for key, value in named:
            if names_file(value):
                self.set_matrix(key, value, folder)

    def set_matrix(self, key: str, name: str, folder: Folder | None) -> None:
        shapes = self.only_shapes and may_be_outline(key)
        document = matrix_of(key, name, folder, as_array=True, only_shapes=shapes)
        assign(self.values, key, document.values["X"])
        self.places[key] = below(document.locate, "X")
        self._take_labels(key, document.labels.get("X", (None, None)))


def names_file(value: Raw) -> bool:
    return isinstance(value, str) and value.strip().lower().endswith(MATRIX_SUFFIXES)


def matrix_of(
    key: str, name: str, folder: Folder | None, as_array: bool = False, only_shapes: bool = False
) -> Document:
    """Read the matrix file that a key names, in the folder of its file, or a flag without folder.

    An error about the file as a whole is one of the key. With `as_array`, a large matrix does not
    keep its digits as they were written; with `only_shapes`, its numbers are not read.
    """
    name = name.strip()

    def of_key(fault: Fault) -> Fault:
        has_line = fault.place and fault.place.line
        whole = Fault(f"{key}: {name}: {fault.message}", tuple(key.split(".")), fault.hint)
        return replace(fault if has_line else whole, needs="files")

    with errors.changed(of_key):
        path = folder.file(name) if folder else Path(name)
        return matrix_file(path, name, as_array, only_shapes)


def flag_place(flag: str, key: str = "") -> errors.Locate:
    return lambda path: Place(flag, key=key)


def flag_value(key: str, text: str) -> Raw:
    """Return the value of a key's flag; a mapping or list is written as in YAML."""
    flag = flag_of(key)
    if not text.isascii() and text != text.encode(errors="replace").decode():
        raise fail(f"{flag}: {visible(text)} is no text in UTF-8", hint="write it in UTF-8")
    if KEYS[key].form is TEXT or not text.lstrip().startswith(("{", "[")):
        return text
    (document,) = read_bytes(f"{key}: {text}".encode(), flag, ".yaml")
    if document.error:
        raise document.error
    _refuse_open_keys(document)
    return document.values[key]


def _refuse_open_keys(document: Document) -> None:
    if document.open_keys:
        from attncli.reading.faults import faults_of

        with located(document.locate):
            refuse(faults_of(document))
