"""Problems from files, with the matrix files that they name; results are read back as problems."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from attncli.errors import Fault, InputError, KeyPath, Place, fail, located, refuse
from attncli.files.arrays import table_of
from attncli.files.document import Document, Raw, Source, assign, error_at
from attncli.files.file_access import Folder
from attncli.files.read import matrix_file, read, read_bytes
from attncli.forms.form import LABELS, MATRIX_SUFFIXES, TEXT, ArrayForm
from attncli.forms.matrices import grid_in
from attncli.problem.key_names import key_of, names_of, with_keys
from attncli.problem.keys import KEYS
from attncli.problem.marking import FLAGS
from attncli.problem.problem import Problem
from attncli.records import EMPTY, Record, replace
from attncli.text.escapes import visible

if TYPE_CHECKING:
    from attncli.notation.grid import Labels

LABELLED = {
    **dict.fromkeys(("X", "Q"), ("tokens", "")),
    **dict.fromkeys(("memory", "K", "V"), ("memory_tokens", "")),
    **dict.fromkeys(("scores", "bias", "mask"), ("tokens", "memory_tokens")),
}
"""The keys that hold the labels of a matrix's rows and of its columns."""
LABELLED_TEXTS = ("X", "memory")
"""Matrices whose text blocks may have a word beside each row, which names its token."""


class Overrides(Record):
    """What the command line sets in a problem: options such as "marking.points", files by key."""

    options: Mapping[str, str] = EMPTY
    matrices: Mapping[str, str] = EMPTY
    allow_outside: bool = False


def load(source: Source, stdin: BinaryIO | None = None, *, allow_outside: bool = False) -> Problem:
    """Read the one problem of a file.

    Args:
        source: a YAML, JSON, CSV, NPZ or NPY file; "-" for standard input.
        stdin: what to read for "-".
        allow_outside: whether it may name matrix files outside its own folder and those below.

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
    source: Source, overrides: Overrides | None = None, stdin: BinaryIO | None = None
) -> list[Problem]:
    """Read every problem of a file.

    Args:
        source: as for `load`.
        overrides: options and matrices that replace those of the file.
        stdin: what to read for "-".

    Raises:
        InputError: for what cannot be read, with its place.
    """
    found = list(load_each(source, overrides, stdin))
    refuse([fault for one in found if isinstance(one, InputError) for fault in one.faults])
    problems = [one for one in found if not isinstance(one, InputError)]
    if len(problems) < 2:
        return problems
    return [one.numbered(number) for number, one in enumerate(problems, 1)]


def load_each(
    source: Source, overrides: Overrides | None = None, stdin: BinaryIO | None = None
) -> Iterator[Problem | InputError]:
    """Yield every problem of a file as it comes, or the error of one that is wrong."""
    for document in read(source, stdin, csv_options(), as_arrays=True):
        try:
            if document.error:
                raise document.error
            problem = _problem(document, overrides or Overrides())
        except InputError as error:
            yield error
        else:
            yield problem


def csv_options() -> dict[str, bool]:
    """Return the words that make a line of CSV an option, each with whether its value is a list."""
    return {
        name: row.form is LABELS and name != "sentence"
        for key, row in KEYS.items()
        if not isinstance(row.form, ArrayForm)
        for name in names_of(key)
    }


def from_flags(overrides: Overrides) -> Problem:
    """Make a problem of the command line's options and matrices alone."""
    return _problem(Document("", Path(), {}, lambda path: Place("")), overrides)


def _problem(document: Document, overrides: Overrides) -> Problem:
    values, places = _as_problem(document)
    for key, text in overrides.options.items():
        head, _, part = key.partition(".")
        flag = FLAGS[part] if part else f"--{key.replace('_', '-')}"
        if part:
            with located(places.of):
                assign(values, key, text)
        else:
            values[head] = flag_value(key, text, flag)
        places.origins[key] = flag_place(flag)
    for word, name in overrides.matrices.items():
        key = key_of(word)
        places.origins[key] = flag_place(f"-m {key}={name}")
        with located(places.of):
            _set_matrix(values, places, key, name, None)
    with located(places.of):
        _fetch_files(values, places, Folder(document.folder, overrides.allow_outside))
        for key, value in places.labels.items():
            values.setdefault(key, list(value))
        return Problem.from_file(values, places.of)


class Places:
    """The places that the keys of a problem come from, and the words beside its matrices."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.paths: dict[str, tuple[str, ...]] = {}  # of keys under other names in the document
        self.origins: dict[str, Callable[[KeyPath], Place]] = {}  # of flags and other files
        self.labels: dict[str, list[str]] = {}  # by the key whose value they are

    def of(self, path: KeyPath) -> Place:
        words = [part for part in path if isinstance(part, str)]
        for count in range(len(words), 0, -1):
            if origin := self.origins.get(".".join(words[:count])):
                return origin(path[count:])
        in_document = self.paths.get(words[0], path[:1]) if words else path[:1]
        return self.document.locate((*in_document, *path[1:]))

    def take_labels(self, key: str, labels: Labels) -> None:
        names = LABELLED.get(key.partition(".")[0], ("", ""))
        for name, words in zip(names, labels, strict=True):
            if name and words:
                self.labels.setdefault(name, words)


def _as_problem(document: Document) -> tuple[dict[str, Raw], Places]:
    """Return the keys of a problem; of results, those of the problem that they came from."""
    values, places = dict(document.values), Places(document)
    bare = values.get("X") if document.bare else None
    if isinstance(bare, list) and not any(isinstance(row, list) for row in bare):
        message = "a problem is a mapping of keys to values, not a list"
        hint = "write such as X: [1, 2], and a line of --- between problems"
        raise error_at(document.locate(()), message, hint)
    if values.pop("steps", None) is not None:
        _take_results(values, places)
    with located(places.of):
        named = with_keys(values)
    for key, word in zip(named, values, strict=True):
        if key != word:
            places.paths[key] = places.paths.get(word, (word,))
    for key, labels in document.labels.items():
        places.take_labels(key_of(key), labels)
    for key, raw in named.items():
        if isinstance(raw, str) and key in KEYS and not names_file(raw):
            named[key] = _text_block(key, raw, named, places)
    return named, places


def _take_results(values: dict[str, Raw], places: Places) -> None:
    """Replace the keys of results by those of the problem that they came from."""
    for part in ("problem", "warnings", "rounding"):
        values.pop(part, None)
    for part in ("options", "inputs"):
        inner = values.pop(part, {})
        for key, value in inner.items() if isinstance(inner, dict) else ():
            assign(values, key, value)
            head = key.split(".")[0]
            places.paths[head] = (part, head)
    if not any(isinstance(KEYS[key].form, ArrayForm) for key in values if key in KEYS):
        message = "this holds results, but not the problem that they came from"
        hint = "write it without --only, or give the problem file itself"
        raise error_at(places.document.locate(("steps",)), message, hint)


def _text_block(key: str, text: str, named: Mapping[str, Raw], places: Places) -> Raw:
    """Return a text, or the array of a large text block; note the labels beside its rows."""
    is_plain = isinstance(KEYS[key].form, ArrayForm) and text.count(",") == text.count(", ")
    if is_plain and (array := table_of(text)) is not None:  # no comma may be a decimal one
        return array
    if key in LABELLED_TEXTS:
        try:
            words, columns = grid_in(text, (key,)).labels
        except InputError:  # it is raised again when the matrix is read
            words = columns = None
        if named.get("tokens_as") == "columns":
            words = columns
        if words and all(map(str.isdecimal, words)):  # a count of the rows
            words = None
        with located(places.of):
            _compare(key, words or [], named.get(LABELLED[key][0]))
        places.take_labels(key, (words, None))
    return text


def _compare(key: str, labels: list[str], tokens: Raw) -> None:
    """Raise an InputError if the labels beside a matrix are the tokens in another order."""
    words = tokens.replace(",", " ").split() if isinstance(tokens, str) else tokens or []
    if words != labels and sorted(map(str, words)) == sorted(labels):
        name = LABELLED[key][0]
        message = f"the rows of {key} are {', '.join(labels)}, but {name} are {', '.join(words)}"
        hint = "write both in one order"
        raise InputError(Fault(message, (key,), hint, related=(name,), needs="text"))


def _fetch_files(values: dict[str, Raw], places: Places, folder: Folder) -> None:
    """Replace the names of matrix files by what they hold."""
    for key, value in list(values.items()):
        if isinstance(value, dict) and key in ("score", "mask"):
            for part, inner in list(value.items()):
                if names_file(inner):
                    _set_matrix(values, places, f"{key}.{part}", inner, folder)
        elif names_file(value) and key in KEYS and KEYS[key].form.names_file:
            _set_matrix(values, places, key, value, folder)


def names_file(value: Raw) -> bool:
    return isinstance(value, str) and value.strip().lower().endswith(MATRIX_SUFFIXES)


def matrix_of(key: str, name: str, folder: Folder | None, as_array: bool = False) -> Document:
    """Read the matrix file that a key names, in the folder of its file, or a flag without folder.

    With `as_array`, a large matrix does not keep its digits as they were written.

    Raises:
        InputError: for what cannot be read; about the file as a whole it is one of the key.
    """
    name = name.strip()
    try:
        return matrix_file(folder.file(name) if folder else Path(name), name, as_array)
    except InputError as error:
        faults, path = [], tuple(key.split("."))
        for fault in error.faults:
            has_line = fault.place and fault.place.line
            whole = Fault(f"{key}: {name}: {fault.message}", path, fault.hint)
            faults.append(replace(fault if has_line else whole, needs="files"))
        raise InputError(*faults) from None


def _set_matrix(
    values: dict[str, Raw], places: Places, key: str, name: str, folder: Folder | None
) -> None:
    found = matrix_of(key, name, folder, as_array=True)
    assign(values, key, found.values["X"])
    places.origins[key] = lambda rest: found.locate(("X", *rest))
    places.take_labels(key, found.labels.get("X", (None, None)))


def flag_place(flag: str) -> Callable[[KeyPath], Place]:
    """Return a function that gives the place of any part of a flag's value: the flag."""
    return lambda path: Place(flag)


def flag_value(key: str, text: str, flag: str) -> Raw:
    """Return a flag's value; a mapping or list is written as in YAML."""
    if not text.isascii() and text != text.encode(errors="replace").decode():
        raise fail(f"{flag}: {visible(text)} is no text in UTF-8", hint="write it in UTF-8")
    if KEYS[key].form is TEXT or not text.lstrip().startswith(("{", "[")):
        return text
    (document,) = read_bytes(f"{key}: {text}".encode(), flag, Path(), ".yaml")
    if document.error:
        raise document.error
    return document.values[key]
