"""Submissions from files, with the matrix files that they name.

`read_headings` says what the columns of a class's table hold, where its headings do not (`--map`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from itertools import chain, combinations
from pathlib import Path
from typing import BinaryIO

from attncli.core.errors import InputError, fail, located, refuse
from attncli.core.problem.keys import KEYS, REPLACES
from attncli.core.tape.step_words import may_mean_step
from attncli.core.text.strings import visible
from attncli.reading.document import (
    KEYS_BESIDE_STEPS,
    Document,
    FileName,
    Headings,
    KnownClass,
    Submission,
    submission_of,
)
from attncli.reading.files import Folder, is_file
from attncli.reading.load import flag_place, matrix_of, names_file
from attncli.reading.read import TABLE_SUFFIXES, read, read_table

UNKNOWN_CLASS = KnownClass()

MAP_HINT = "write such as 'Question 1=weights[1,1]', or name a file of such pairs"


def load_answers(
    source: FileName, stdin: BinaryIO | None = None, *, allow_outside: bool = False
) -> list[Submission]:
    """Read every submission of a file of hand-worked answers.

    Args:
        source: a YAML, JSON, CSV, XLSX or NPZ file of matrices by step name, also one that
            `attn compute` wrote; "-" for standard input.
        stdin: what to read for "-".
        allow_outside: whether they may name files outside the folder of the file and those below.

    Raises:
        InputError: for what cannot be read, with its place.
    """
    submissions = [one for _, one in load_each_submission(source, stdin, allow_outside)]
    refuse([fault for one in submissions if isinstance(one, InputError) for fault in one.faults])
    return [one for one in submissions if not isinstance(one, InputError)]


def load_each_submission(
    source: FileName,
    stdin: BinaryIO | None = None,
    allow_outside: bool = False,
    known: KnownClass = UNKNOWN_CLASS,
) -> Iterator[tuple[str, Submission | InputError]]:
    """Yield the name of every submission of a file, and the submission or its error."""
    found_in = read(source, stdin, dict.fromkeys(KEYS_BESIDE_STEPS, False), of_class=known)
    documents = map(_with_step, found_in)
    first, second = next(documents, None), next(documents, None)
    several = second is not None
    for number, document in enumerate(chain(filter(None, (first, second)), documents), 1):
        name = f"{document.name}, {number}" if several else document.name
        try:
            with located(document.locate):
                values = {} if document.bare else document.values
                is_file = not several and source != "-"
                submission = submission_of(
                    values, name, document.locate, document.labels, document.heading, is_file
                )
                name = submission.name
                if document.bare:
                    hint = "write them under its name, such as weights: [[0.5, 0.5]]"
                    raise fail("these numbers do not tell of which step they are", hint=hint)
                if document.error:
                    raise document.error
                folder = Folder(document.folder, allow_outside)
                files = {word: raw for word, raw in submission.matrices.items() if names_file(raw)}
                if files:
                    submission = submission.joined(answers_in_files(files, folder))
        except InputError as error:
            yield name, error
        else:
            yield name, submission


def _with_step(document: Document) -> Document:
    step = step_in(Path(document.name).stem) if document.bare else ""
    return document.renamed("X", step) if step else document


def step_in(stem: str) -> str:
    """Return the step that is part of a file's name, such as weights of `hw2_weights`; or "".

    Of the names of one or two letters, perhaps with a number, which may be a student's, only Q, K
    and V alone count.
    """
    if stem in ("Q", "K", "V"):
        return stem
    words = re.split(r"[\s_.-]+", stem)
    runs = ["_".join(words[i:j]) for i, j in combinations(range(len(words) + 1), 2)]
    steps = (run for run in runs if len(run.rstrip("0123456789")) > 2 and may_mean_step(run, ()))
    return max(steps, key=len, default="")


def for_problem_or_answers(matrices: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Divide the matrices that flags of `attn check` name into those of the problem and answers.

    Q, K, V and scores, which may be either, are answers.
    """
    of_problem, of_answers = dict[str, str](), dict[str, str]()
    for name, file in matrices.items():
        head = name.partition(".")[0]
        (of_problem if head in KEYS and head not in REPLACES else of_answers)[name] = file
    return of_problem, of_answers


def answers_in_files(files: Mapping[str, str], folder: Folder | None = None) -> Submission:
    """Return the answers in matrix files by the names of steps, such as {"weights": "w.csv"}.

    They are in a folder, or else flags name them.
    """
    read = dict[str, Document]()
    for name, file in files.items():
        flag = flag_place(f"-m {name}={file}", f"{name}: {file}")
        with nullcontext() if folder else located(flag):
            read[name] = matrix_of(name, file, folder)
    return Submission(
        "",
        {word: file.values["X"] for word, file in read.items()},
        lambda path: read[str(path[0])].locate(("X", *path[1:])),
        labels={word: file.labels.get("X", (None, None)) for word, file in read.items()},
    )


def read_headings(flags: Sequence[str]) -> Headings:
    """Return the meaning of each heading: the name of a cell or a step, `name` or `comment`.

    A flag is a pair `HEADING=CELL`, or a file: a mapping in YAML or JSON, or CSV with two columns.
    """
    meanings: dict[str, str] = {}
    for flag in flags:
        heading, sign, cell = flag.rpartition("=")
        is_pair = bool(sign and heading.strip() and cell.strip())
        pairs = [(heading, cell)] if is_pair and not is_file(flag) else _pairs_in(flag)
        for word, meaning in ((one.strip(), other.strip()) for one, other in pairs):
            if meanings.setdefault(word, meaning) != meaning:
                message = f"--map gives {visible(word)} two meanings"
                raise fail(message, hint="leave one of them out")
    return meanings


def _pairs_in(name: str) -> Sequence[tuple[str, str]]:
    suffix = Path(name).suffix.lower()
    if not suffix:
        raise fail(f"--map {visible(name)} is not of the form HEADING=CELL", hint=MAP_HINT)
    if suffix in TABLE_SUFFIXES:
        table = read_table(name)
        for row in table.rows:
            if len(row.cells) != 2:
                message = "a line of a map has two cells: the heading and what it means"
                raise table.place(row).error(message, 'quote a comma: "weights[1,1]"')
        return [(row.cells[0], row.cells[1]) for row in table.rows]
    pairs: list[tuple[str, str]] = []
    for document in read(name):
        if document.error:
            raise document.error
        for heading, cell in document.values.items():
            if not isinstance(cell, str) or not cell:
                message = f"{visible(heading)} must mean a cell"
                raise document.locate((heading,)).error(message, MAP_HINT)
            pairs.append((heading, cell))
    return pairs
