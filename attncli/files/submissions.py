"""Submissions from files, with the matrix files that they name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, BinaryIO

from attncli.errors import Fault, InputError, KeyPath, Place, located, refuse
from attncli.files.document import Document, Headings, Source
from attncli.files.file_access import Folder
from attncli.files.load import flag_place, matrix_of, names_file
from attncli.files.read import read
from attncli.problem.faults import REPLACES
from attncli.problem.keys import KEYS
from attncli.records import EMPTY, replace

if TYPE_CHECKING:
    from attncli.checking.submission import Submission


def load_answers(
    source: Source, stdin: BinaryIO | None = None, *, allow_outside: bool = False
) -> list[Submission]:
    """Read every submission of a file of hand-worked answers.

    Args:
        source: a YAML, JSON, CSV or NPZ file of matrices by step name, also one that
            `attn compute` wrote; "-" for standard input.
        stdin: what to read for "-".
        allow_outside: whether they may name files outside the folder of the file and those below.

    Raises:
        InputError: for what cannot be read, with its place.
    """
    found = [one for _, one in load_each_submission(source, stdin, allow_outside)]
    refuse([fault for one in found if isinstance(one, InputError) for fault in one.faults])
    return [one for one in found if not isinstance(one, InputError)]


def load_each_submission(
    source: Source,
    stdin: BinaryIO | None = None,
    allow_outside: bool = False,
    headings: Headings = EMPTY,
) -> Iterator[tuple[str, Submission | InputError]]:
    """Yield the name of every submission of a file, and the submission or its error.

    `headings` are the meanings of the columns of a class table.

    Raises:
        InputError: for a file that cannot be read at all.
    """
    from attncli.checking.submission import ABOUT, submission_of

    documents = map(_named, read(source, stdin, dict.fromkeys(ABOUT, False), of_class=headings))
    first, second = next(documents, None), next(documents, None)
    several = second is not None
    for number, document in enumerate(chain(filter(None, (first, second)), documents), 1):
        name = f"{document.name}, {number}" if several else document.name
        try:
            with located(document.locate):
                labels = document.labels
                found = submission_of(
                    *(document.values, name, document.locate, bool(labels), labels),
                    heading=document.heading,
                    is_file=not several and source != "-",
                )
                name = found.name
                if document.error:
                    raise document.error
                found = _with_matrix_files(found, Folder(document.folder, allow_outside))
        except InputError as error:
            yield name, error
        else:
            yield name, found


def _named(document: Document) -> Document:
    """Return a document, with an error for numbers that have no name."""
    if not document.bare:
        return document
    message = "these numbers do not tell of which step they are"
    hint = "write them under its name, such as weights: [[0.5, 0.5]]"
    return replace(document, values={}, bare=False, error=InputError(Fault(message, hint=hint)))


def for_problem(matrices: Mapping[str, str]) -> dict[str, str]:
    """Return the matrices of the problem, of those that flags of `attn check` name.

    All others are answers; so are Q, K, V and scores, which may be either.
    """
    heads = {name: name.partition(".")[0] for name in matrices}
    return {n: f for n, f in matrices.items() if heads[n] in KEYS and heads[n] not in REPLACES}


def answer_files(matrices: Mapping[str, str]) -> dict[str, Document]:
    """Return what the files of answers hold that flags name, such as {"weights": "w.csv"}.

    Raises:
        InputError: for what cannot be read, with its place.
    """
    files = {}
    for name, file in matrices.items():
        with located(flag_place(f"-m {name}={file}")):
            files[name] = matrix_of(name, file, None)
    return files


def _with_matrix_files(answers: Submission, folder: Folder) -> Submission:
    """Return a submission with the contents of the matrix files that it names."""
    named = {word: raw for word, raw in answers.matrices.items() if names_file(raw)}
    files = {word: matrix_of(word, raw, folder) for word, raw in named.items()}
    return with_matrices(answers, files)


def with_matrices(answers: Submission, files: Mapping[str, Document]) -> Submission:
    """Return a submission with the matrices of files, which replace its own of the same name."""
    if not files:
        return answers

    def locate(path: KeyPath) -> Place:
        if path and path[0] in files:
            return files[str(path[0])].locate(("X", *path[1:]))
        return answers.locate(path)

    matrices = {word: file.values["X"] for word, file in files.items()}
    labels = {word: file.labels["X"] for word, file in files.items() if file.labels}
    return replace(
        answers,
        matrices={**answers.matrices, **matrices},
        locate=locate,
        ragged=True,
        labels={**answers.labels, **labels},
    )
