"""From files to sheets of hand-worked answers, with the matrix files that they name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, BinaryIO

from attncli.errors import Fault, InputError, KeyPath, Place, located, refuse
from attncli.files.document import Document, Headings, Source
from attncli.files.file_access import Folder
from attncli.files.load import flag_place, matrix_of, names_file
from attncli.files.read import read
from attncli.problem.keys import KEYS
from attncli.problem.uses import REPLACES
from attncli.records import EMPTY, replace

if TYPE_CHECKING:
    from attncli.checking.submission import Submission


def load_answers(
    source: Source, stdin: BinaryIO | None = None, *, allow_outside: bool = False
) -> list[Submission]:
    """Read every sheet of hand-worked answers of a file.

    Args:
        source: a YAML, JSON, CSV or NPZ file of matrices by step name, also one that
            `attn compute` wrote; "-" for standard input.
        stdin: what to read for "-".
        allow_outside: whether they may name files outside their own folder and those below.

    Raises:
        InputError: for what cannot be read, with its place.
    """
    sheets = [sheet for _, sheet in load_each_sheet(source, stdin, allow_outside)]
    refuse([fault for one in sheets if isinstance(one, InputError) for fault in one.faults])
    return [sheet for sheet in sheets if not isinstance(sheet, InputError)]


def load_each_sheet(
    source: Source,
    stdin: BinaryIO | None = None,
    allow_outside: bool = False,
    headings: Headings = EMPTY,
) -> Iterator[tuple[str, Submission | InputError]]:
    """Yield every sheet of a file with its name: one that is wrong stands for its error.

    `headings` tell what columns of a table of a class hold.

    Raises:
        InputError: for a file that cannot be read at all.
    """
    from attncli.checking.submission import ABOUT, submission_of

    found = read(source, stdin, dict.fromkeys(ABOUT, False), of_class=headings)
    documents = map(_named, found)
    first, second = next(documents, None), next(documents, None)
    several = second is not None
    for number, document in enumerate(chain(filter(None, (first, second)), documents), 1):
        name = f"{document.name}, {number}" if several else document.name
        try:
            with located(document.locate):
                labels = document.labels
                sheet = submission_of(
                    *(document.values, name, document.locate, bool(labels), labels),
                    heading=document.heading,
                    is_file=not several and source != "-",
                )
                name = sheet.name
                if document.error:
                    raise document.error
                sheet = _with_matrix_files(sheet, Folder(document.folder, allow_outside))
        except InputError as error:
            yield name, error
        else:
            yield name, sheet


def _named(document: Document) -> Document:
    """Return a document, or the error that its numbers have no name."""
    if not document.bare:
        return document
    message = "these numbers do not tell of which step they are"
    hint = "write them under its name, such as weights: [[0.5, 0.5]]"
    return replace(document, values={}, bare=False, error=InputError(Fault(message, hint=hint)))


def for_problem(matrices: Mapping[str, str]) -> dict[str, str]:
    """Return those files that are of the problem, of matrices which a flag names for `attn check`.

    All others are answers; so are Q, K, V and scores, which may be either.
    """
    heads = {name: name.partition(".")[0] for name in matrices}
    return {n: f for n, f in matrices.items() if heads[n] in KEYS and heads[n] not in REPLACES}


def answer_files(matrices: Mapping[str, str]) -> dict[str, Document]:
    """Return what the files of answers hold which a flag names, such as {"weights": "w.csv"}.

    Raises:
        InputError: for what cannot be read, with its place.
    """
    files = {}
    for name, file in matrices.items():
        with located(flag_place(f"-m {name}={file}")):
            files[name] = matrix_of(name, file, None)
    return files


def _with_matrix_files(sheet: Submission, folder: Folder) -> Submission:
    """Return a sheet with the names of matrix files replaced by what they hold."""
    named = {word: raw for word, raw in sheet.matrices.items() if names_file(raw)}
    return with_matrices(sheet, {word: matrix_of(word, raw, folder) for word, raw in named.items()})


def with_matrices(sheet: Submission, files: Mapping[str, Document]) -> Submission:
    """Return a sheet with the matrices of files added, or put in place of its own."""
    matrices = {**sheet.matrices, **{word: file.values["X"] for word, file in files.items()}}
    labels = {**sheet.labels, **{w: file.labels["X"] for w, file in files.items() if file.labels}}

    def locate(path: KeyPath) -> Place:
        if path and path[0] in files:
            return files[str(path[0])].locate(("X", *path[1:]))
        return sheet.locate(path)

    if not files:
        return sheet
    return replace(sheet, matrices=matrices, locate=locate, ragged=True, labels=labels)
