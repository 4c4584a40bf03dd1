"""Submissions from files, with the matrix files that they name, and the problems they answer.

`read_headings` says what the columns of a class's table hold, where its headings do not (`--map`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations
from pathlib import Path
from typing import BinaryIO, TypeAlias

from attncli.checking.answers.answers import contents_of
from attncli.classroom.assignment import ProblemSet
from attncli.core.errors import Fault, InputError, KeyPath, Place, error_at, fail, located, refuse
from attncli.core.problem.keys import KEYS, REPLACES
from attncli.core.records import Record, replace
from attncli.core.tape.cell_names import may_mean_step
from attncli.core.text.strings import visible
from attncli.reading.document import (
    KEYS_BESIDE_STEPS,
    PROBLEM,
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

ReadAnswers: TypeAlias = Submission | InputError
"""The answers to a problem, or why they could not be read."""

ReadSubmission: TypeAlias = tuple[str, ReadAnswers]
"""The name of a submission, and what was read."""


class StudentsAnswers(Record, eq=False):
    """The answers of a student in a file, by the index of the problem."""

    student: str
    by_problem: Mapping[int, ReadAnswers]

    @property
    def line(self) -> int:
        """The line in which the student is named; 0 if the file has no lines."""
        one = next(iter(self.by_problem.values()))
        if isinstance(one, InputError):
            return next((fault.place.line for fault in one.faults if fault.place), 0)
        return one.locate(("student",)).line


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
) -> Iterator[ReadSubmission]:
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
                named = {word: raw for word, raw in submission.matrices.items() if names_file(raw)}
                files = {word: matrix_of(word, raw, folder) for word, raw in named.items()}
                submission = with_matrices(submission, files)
        except InputError as error:
            yield name, error
        else:
            yield name, submission


def _with_step(document: Document) -> Document:
    step = step_in(Path(document.name).stem) if document.bare else ""
    return document.renamed("X", step) if step else document


def step_in(stem: str) -> str:
    """Return the step that is part of a file's name, such as weights of `hw2_weights`; or "".

    Of the names of one or two letters, which may be a student's, only Q, K and V alone count.
    """
    if stem in ("Q", "K", "V"):
        return stem
    words = re.split(r"[\s_.-]+", stem)
    runs = ["_".join(words[i:j]) for i, j in combinations(range(len(words) + 1), 2)]
    steps = (run for run in runs if len(run) > 2 and may_mean_step(run, ()))
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


def files_of_flags(matrices: Mapping[str, str]) -> dict[str, Document]:
    """Return the contents of the files of answers that flags name, such as {"weights": "w.csv"}."""
    files = {}
    for name, file in matrices.items():
        with located(flag_place(f"-m {name}={file}")):
            files[name] = matrix_of(name, file, None)
    return files


def with_matrices(answers: Submission, files: Mapping[str, Document]) -> Submission:
    if not files:
        return answers
    added = Submission(
        answers.name,
        {word: file.values["X"] for word, file in files.items()},
        lambda path: files[str(path[0])].locate(("X", *path[1:])),
        labels={word: file.labels.get("X", (None, None)) for word, file in files.items()},
    )
    return _joined(answers, added)


def by_student(
    problems: ProblemSet, submissions: Iterable[ReadSubmission], place: Place
) -> Iterator[StudentsAnswers]:
    """Yield the answers of each student in a file.

    The problem of an answer is known, in this order, from a key such as `2: weights[1,1]`, as in a
    table with one row per student; from the key `problem`; from the order, if there are as many
    submissions as problems; from the shapes, if only one problem has them. Answers whose problem
    is unknown may be to any problem that is not answered otherwise, so each of these gets an error.
    """
    rest: list[tuple[str, ReadSubmission]] = []
    for name, one in submissions:
        parts = {0: one} if len(problems.keys) == 1 else _parts(problems, one)
        if parts:
            yield StudentsAnswers(name, parts)
        else:
            rest.append((_student(name, one, place.file), (name, one)))
    names = {student for student, _ in rest} - {""}
    only = names.pop() if len(names) == 1 else ""  # which is that of all documents
    groups: dict[str, list[ReadSubmission]] = {}
    for student, named in rest:
        groups.setdefault(student or only, []).append(named)
    for student, some in groups.items():
        by_problem = _by_problem(problems, [one for _, one in some], place)
        yield StudentsAnswers(student or some[0][0], by_problem)


def _student(name: str, one: ReadAnswers, file: str) -> str:
    if isinstance(one, Submission):
        return name if one.is_named or one.is_row else ""
    return "" if name == file or re.fullmatch(rf"{re.escape(file)}, \d+", name) else name


def _by_problem(
    problems: ProblemSet, submissions: Sequence[ReadAnswers], place: Place
) -> dict[int, ReadAnswers]:
    told: dict[int, ReadAnswers] = {}
    rest: list[ReadAnswers] = []
    for one in submissions:
        index = problems.names.which(one.problem) if isinstance(one, Submission) else None
        if isinstance(one, InputError) or index is None:
            rest.append(one)
        elif index in told:
            message = f"problem {index + 1} is answered twice"
            told[index] = error_at(one.locate((PROBLEM,)), message, "keep one of them")
        else:
            told[index] = one
    if not told and len(rest) == len(problems.keys):
        return dict(enumerate(rest))
    faults: list[Fault] = []
    for one in rest:
        fits = None if isinstance(one, InputError) or one.problem else problems.fitting(one)
        if fits is not None and fits not in told:
            told[fits] = one
        else:
            faults += _untold(problems, one, place, len(rest)).faults
    if faults:
        error = InputError(*dict.fromkeys(faults))
        return {**dict.fromkeys(range(len(problems.keys)), error), **told}
    return told


def _untold(problems: ProblemSet, one: ReadAnswers, place: Place, count: int) -> InputError:
    """Return the error for answers whose problem is unknown; `count` sets of answers have none."""
    if isinstance(one, InputError):
        return one
    if one.problem:
        hint = f"there are {len(problems.keys)}: write their numbers or titles"
        message = f"there is no problem {visible(one.problem)}"
        return error_at(one.locate((PROBLEM,)), message, hint)
    sets = "is 1 set" if count == 1 else f"are {count} sets"
    hint = "separate the answers to each problem by a line of ---, or write problem: 2"
    message = f"there {sets} of answers, but {len(problems.keys)} problems"
    return error_at(place, message, hint)


def _parts(problems: ProblemSet, whole: ReadAnswers) -> dict[int, ReadAnswers]:
    """Return the parts of a submission by problem, if any of its keys name one, as `2: Q[1,1]`.

    If other keys name none, each part is an error.
    """
    keys: dict[int, dict[str, str]] = {}
    others: list[str] = []
    for key in whole.matrices if isinstance(whole, Submission) else ():
        word, colon, name = key.partition(":")
        index = problems.names.which(word) if colon and name.strip() else None
        if index is not None:
            keys.setdefault(index, {})[name.strip()] = key
        elif key not in KEYS_BESIDE_STEPS:
            others.append(key)
    if not keys or isinstance(whole, InputError):
        return {}
    if others:
        key, count = visible(others[0]), len(problems.keys)
        message = f"{key} does not tell of which of the {count} problems it is"
        hint = f"write the number of its problem before it, such as 1: {key}"
        error = error_at(whole.heading((others[0],)), message, hint)
        return dict.fromkeys(range(count), error)
    return {index: _part(whole, names) for index, names in keys.items()}


def _part(whole: Submission, keys: Mapping[str, str]) -> Submission:
    def in_whole(path: KeyPath) -> KeyPath:
        return (keys.get(str(path[0]), path[0]), *path[1:]) if path else path

    return replace(
        whole,
        matrices={name: whole.matrices[key] for name, key in keys.items()},
        locate=lambda path: whole.locate(in_whole(path)),
        heading=lambda path: whole.heading(in_whole(path)),
    )


def tells_problem(problems: ProblemSet, one: ReadAnswers) -> bool:
    """Return True if a submission itself names the problem that it answers."""
    return isinstance(one, Submission) and bool(one.problem or _parts(problems, one))


def merged(files_read: Sequence[tuple[str, Submission]], index: int) -> ReadAnswers:
    """Return the submissions of several files to one problem as one; equal ones count once.

    If two files answer the same step with other numbers, the result is an error.
    """
    (file, whole), *others = files_read
    files = dict.fromkeys(whole.matrices, file)
    for other_file, other in others:
        if contents_of(other) and contents_of(other) == contents_of(whole):
            continue
        steps = [key for key in other.matrices if key not in KEYS_BESIDE_STEPS]
        if both := [key for key in steps if key in files]:
            message = (
                f"{visible(files[both[0]])} and this file answer {both[0]} of problem {index + 1}"
            )
            hint = "keep one of them; or choose in a manifest: attn check … --manifest FILE.csv"
            return error_at(Place(other_file), message, hint)
        whole = _joined(whole, other)
        files |= dict.fromkeys(steps, other_file)
    return whole


def _joined(one: Submission, other: Submission) -> Submission:
    def locate(path: KeyPath) -> Place:
        is_others = path and str(path[0]) in other.matrices
        return other.locate(path) if is_others else one.locate(path)

    return replace(
        one,
        matrices={**one.matrices, **other.matrices},
        labels={**one.labels, **other.labels},
        comment="\n".join(filter(None, (one.comment, other.comment))),
        locate=locate,
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
                raise error_at(table.place(row), message, 'quote a comma: "weights[1,1]"')
        return [(row.cells[0], row.cells[1]) for row in table.rows]
    pairs: list[tuple[str, str]] = []
    for document in read(name):
        if document.error:
            raise document.error
        for heading, cell in document.values.items():
            if not isinstance(cell, str) or not cell:
                message = f"{visible(heading)} must mean a cell"
                raise error_at(document.locate((heading,)), message, MAP_HINT)
            pairs.append((heading, cell))
    return pairs
