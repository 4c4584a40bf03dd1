"""The matrices of a submission: the step that each answers, its numbers and their precision."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain, pairwise
from typing import Any, TypeAlias

import numpy as np

from attncli.checking.answers import cell_positions
from attncli.checking.answers.cell_positions import KeyedMatrix, Shape
from attncli.checking.answers.step_names import (
    At,
    InputNamed,
    Meaning,
    find_answer,
    is_one_number,
    is_row,
    is_slip,
    rows_from_zero,
)
from attncli.checking.answers.written_cells import Matrices, ShapeMismatch, Written, blocked_in
from attncli.core.arithmetic.elements import Array
from attncli.core.calculation.trace import Trace
from attncli.core.errors import (
    Fault,
    InputError,
    NotThere,
    changed,
    collected,
    fail,
    located,
    refuse,
)
from attncli.core.numbers import last_place
from attncli.core.numbers.grid import DECIMAL_COMMA
from attncli.core.numbers.last_place import dtype_of_texts, number_of, numbers_of
from attncli.core.numbers.matrices import labelled_texts
from attncli.core.numbers.parser import NumberError
from attncli.core.numbers.written import BLANK_CELLS, cell_words, decimal_of, shape_words
from attncli.core.records import replace
from attncli.core.tape.step import Step
from attncli.core.tape.step_words import HEADS_AFTER_TOKENS
from attncli.core.text.strings import regex, visible
from attncli.reading.document import KEYS_BESIDE_STEPS, Submission, number_type

FLOATS = ("float16", "float32", "float64")
"""Types of numbers that a program calculated, the coarsest first."""

UNNAMED = regex(r"line \d+, column \d+")  # what texts call a table without a name: its place

ONE_DECIMAL = regex(r"-?\d{1,12}(\.\d{1,12})?")
"""A matrix of one plain decimal, which needs no further parsing."""

IN_LINES = regex(r"(?s:.*\n|[\[({\\]|\w++(?:\.\w++)*+\()")
"""The beginning of a matrix as a text: several lines, brackets, or a call."""


WHICH_STEP = "write the name of the step"


Skipped: TypeAlias = tuple[tuple[str, str], ...]
"""The keys that mean no step, or hold no numbers, each with a hint; "" if it is not an answer."""


def read_submission(submission: Submission, trace: Trace) -> tuple[Matrices, Skipped]:
    """Return the matrices of a submission by the step of the trace that they answer.

    Labels beside rows and columns give their order. A matrix of the wrong shape raises no error.

    Raises:
        InputError: for an unknown label, and for a cell that is written twice. Also for a
            submission without any step, unless it has remarks such as a date, or is a file with a
            slip in a step's name.
    """
    faults, refused = list[Fault](), list[Fault]()
    parts: dict[str, list[KeyedMatrix]] = {}
    uneven: Matrices = {}
    is_known = False
    names = {word: submission.read_as.get(word, word) for word in submission.matrices}
    from_zero = rows_from_zero(names.values(), trace)
    for word, raw in submission.matrices.items():
        name = from_zero.get(names[word], names[word])
        if name in KEYS_BESIDE_STEPS and word not in trace:
            continue
        with (
            collected(refused if raw is not None else []),
            located(submission.heading),
            changed(partial(_of_key, word)),
        ):
            step, at, is_transposed = _meant(name, trace, raw)
            matrix = None
            try:
                if raw is not None:
                    blocked = trace.kept(("blocked", step.name), partial(blocked_in, step))
                    some = None if blocked is None or is_transposed else blocked[at]
                    matrix = _keyed_matrix(submission, word, raw, step, at, is_transposed, some)
            except InputError as error:
                if at or error.faults[0].needs != "sizes":
                    faults += error.faults
                else:
                    uneven[step.name] = _uneven(submission, word, raw, error.faults[0])
            if matrix is not None:
                _refuse_words(step, matrix)
                parts.setdefault(step.name, []).append(matrix)
            is_known = True
    matrices: Matrices = {}
    for step in trace:
        if step.name in uneven:
            matrices[step.name] = uneven[step.name]
        elif step.name in parts:
            with collected(faults):
                matrices[step.name] = written_or_mismatch(step, parts[step.name], submission)
    unknown = {str(fault.path[0]): fault for fault in refused}
    without_step = {word: submission.matrices[word] for word in unknown}
    faults += _without_value(without_step)
    hints = {word: _hint(unknown[word], raw, trace) for word, raw in without_step.items()}
    is_known |= any(
        submission.locate((word,)).file and unknown[word].nearest
        if hint
        else not shape_of(without_step[word]) and not isinstance(unknown[word], InputNamed)
        for word, hint in hints.items()
    )
    cut = [one.word for name in parts for one in parts[name] if not is_whole(matrices.get(name))]
    faults += _without_name(submission.matrices, {*cut, *uneven})
    refuse([*faults, *([] if is_known else refused)])
    return _of_one_computer(matrices), tuple(hints.items())


def _meant(name: str, trace: Trace, raw: Any) -> Meaning:
    if UNNAMED.fullmatch(name):
        raise fail("these numbers do not tell of which step they are", hint=WHICH_STEP)
    return find_answer(name, trace, raw)


def _of_key(word: str, fault: Fault) -> Fault:
    return replace(fault, path=(word, *fault.path[1:]))


def is_whole(one: Written | ShapeMismatch | None) -> bool:
    return isinstance(one, Written) and not any(one.missing.all(axis).any() for axis in (-2, -1))


def _without_name(words: Iterable[str], cut: Collection[str]) -> Iterator[Fault]:
    """Yield a fault for each table that may be the rest of the matrix before it, which is cut."""
    for before, word in pairwise(words):
        if before in cut and UNNAMED.fullmatch(word):
            hint = "write the name of the step, such as weights, before them"
            yield Fault("these numbers belong to no step", (word,), hint)


def _without_value(answers: Mapping[str, Any]) -> Iterator[Fault]:
    if answers:
        from attncli.reading.faults import faults_of_answer  # few have such keys

        for key, raw in answers.items():
            yield from faults_of_answer(key, raw)


def _uneven(submission: Submission, word: str, raw: Any, fault: Fault) -> ShapeMismatch:
    texts, _ = labelled_texts(_rows(raw), (word,), ragged=True)
    return ShapeMismatch(texts, replace(fault, place=submission.locate(fault.path)), False)


def _of_a_word(step: Step, raw: Any) -> Any:
    """Return the row of 0 and 1 that the word means which a step marks; others as they are."""
    word = raw
    for _ in range(2):  # a row, or a matrix of one
        word = word[0] if isinstance(word, list) and len(word) == 1 else word
    labels = step.labels.get(step.trailing[-1], ()) if step.marks_label else ()
    is_word = isinstance(word, str) and word in labels
    return [int(label == word) for label in labels] if is_word else raw


def _keyed_matrix(
    submission: Submission,
    word: str,
    raw: Any,
    step: Step,
    at: At,
    is_transposed: bool,
    blocked: Array | None,
) -> KeyedMatrix:
    raw = _of_a_word(step, raw)
    rows = _rows(raw)
    is_one = type(raw) is str and ONE_DECIMAL.fullmatch(raw) is not None
    if type(raw) is str and at and DECIMAL_COMMA.fullmatch(raw.strip()):
        is_one = step.value[at].size == 1  # so that 0,94 is not two numbers, 0 and 94
    if is_one:
        return KeyedMatrix(word, at, np.full((1, 1), raw.strip(), object), None, "", is_transposed)
    texts, beside = labelled_texts(rows, (word,), bool(submission.labels), blocked)
    if texts.ndim > 2 and HEADS_AFTER_TOKENS.fullmatch(word):
        texts = texts.swapaxes(-2, -3)
    labels = submission.labels
    if isinstance(raw, Mapping):
        labels = {word: ([*map(str, raw)], None)}
    elif isinstance(raw, str) or any(beside):
        labels = {word: beside}
    of_cells = cell_positions.labels_of_cells(texts.shape, word, labels)
    dtype = number_type(rows)
    dtype = "" if last_place.is_rounded(texts.flat, dtype) else dtype
    return KeyedMatrix(word, at, texts, of_cells, dtype, is_transposed)


def _rows(raw: Any) -> Any:
    """Return the rows under their labels as a list; other answers as they are."""
    if not isinstance(raw, Mapping):
        return raw
    return [[row] if is_one_number(row) else row for row in raw.values()]


def _refuse_words(step: Step, matrix: KeyedMatrix) -> None:
    texts = matrix.texts
    if not texts.size or matrix.at:
        return
    if decimal_of(texts.flat[0]):
        if texts.size == 1 < step.value.size and matrix.word != step.name:
            raise fail(f"{visible(matrix.word)} holds one number, not {step.name}", matrix.word)
        return
    errors = []
    for place, text in np.ndenumerate(texts):
        try:
            if text not in BLANK_CELLS:
                number_of(text)
        except NumberError as error:
            errors.append((place, error))
    if len(errors) > (texts.size - 1 if texts.size == step.value.size else texts.size // 2):
        place, why = errors[0]
        message = f"{cell_words((matrix.word,), place)}: {why}"
        raise fail(message, matrix.word, *place)


def _hint(fault: Fault, raw: Any, trace: Trace) -> str:
    """Return the hint for a skipped key that may be a step's; "" if it is clearly no answer.

    A copy of an input of the problem is no answer; nor is anything but a matrix, unless its name is
    that of a cell.
    """
    if len(fault.path) > 1:
        return fault.message
    word, shape = str(fault.path[0]), shape_of(raw)
    is_cell = "[" in word or is_row(re.sub(r"(?<!\d)\d++(?=\}?\Z)", "1", word), trace)
    inputs = [x.value.shape for x in trace.inputs.values()]
    is_like = is_cell or (is_one_number(raw) and is_slip(fault))
    if (isinstance(fault, InputNamed) and shape in inputs) or not (is_like or shape):
        return ""
    if is_like or not isinstance(fault, NotThere) or fault.nearest:
        return fault.hint
    is_prose = np.prod(shape) == 1 and len(str(fault.path[0]).split()) > 1
    return WHICH_STEP if len(shape) > 1 and not is_prose else ""


def shape_of(raw: Any) -> Shape:
    """Return the shape of a matrix; () for anything else, such as a date, a remark, or names."""
    if isinstance(raw, str | int | float) and not IN_LINES.match(str(raw).strip()):
        return ()
    try:
        texts, _ = labelled_texts(raw, (), ragged=True)
    except InputError:
        return ()
    return texts.shape if 2 * np.isnan(numbers_of(texts)[0]).sum() < texts.size else ()


def _of_one_computer(matrices: Matrices) -> Matrices:
    written = [one for one in matrices.values() if isinstance(one, Written)]
    kinds = {one.dtype for one in written} & last_place.PRECISIONS.keys()
    if not kinds:
        every = chain.from_iterable(one.texts.flat for one in written)
        kinds = {dtype_of_texts(every)} - {""}
    for name, one in matrices.items() if kinds else ():
        if isinstance(one, Written) and not one.dtype:
            dtype = dtype_of_texts(one.texts.flat, 1)
            matrices[name] = replace(one, dtype=dtype) if dtype in kinds else one
    return matrices


def written_or_mismatch(
    step: Step, matrices: list[KeyedMatrix], submission: Submission, is_program: bool = False
) -> Written | ShapeMismatch:
    """Return the numbers of a step that are written under some keys, in the layout of its array."""
    cells = _on_paper(step, matrices, submission)
    if isinstance(cells, ShapeMismatch):
        return cells
    values, unit, texts = numbers_of(cells)
    for one in matrices:
        if one.is_exact:
            unit[one.at] = 0
    values, unit, texts = map(step.from_paper, (values, unit, texts))
    no_number = np.isnan(values)
    if no_number.any():
        no_number[no_number] = [text not in BLANK_CELLS for text in texts[no_number].tolist()]
    unreadable = no_number if no_number.any() else None
    if is_program:
        return Written(values, unit, values, unreadable=unreadable)
    kinds = {one.dtype for one in matrices}
    dtype = next(filter(kinds.__contains__, FLOATS), "") or dtype_of_texts(texts.flat)
    return Written(values, unit, texts, dtype, unreadable).beside(step)


def _are_same(first: Array, second: Array) -> bool:
    """Return True for cells that somebody wrote twice with the same numbers, as Output and Z."""
    if second.dtype.kind != "O":
        return False
    (one, unit, _), (other, its_unit, _) = numbers_of(first), numbers_of(second)
    are_near = np.abs(one - other) <= np.maximum(unit, its_unit) / 2
    return bool((are_near | (first == "")).all())


def _on_paper(
    step: Step, matrices: list[KeyedMatrix], submission: Submission
) -> Array | ShapeMismatch:
    """Return the cells of a step that are written under some keys; "" for the others."""
    shape = step.value.shape
    if len(matrices) == 1 and not matrices[0].at:  # as nearly always
        placed = cell_positions.texts_in_place(step, matrices[0], shape)
        return _mismatch(step, matrices[0], shape, submission) if placed is None else placed
    givers, texts = np.full(shape, -1), np.full(shape, "", object)
    for number, one in enumerate(matrices):
        placed = cell_positions.texts_in_place(step, one, givers[one.at].shape)
        if placed is None:
            return _mismatch(step, one, givers[one.at].shape, submission)
        giver = givers[one.at].max()
        if giver >= 0 and not _are_same(texts[one.at], placed):
            words = f"{visible(matrices[giver].word)} and {visible(one.word)}"
            message = f"{words} are the same step, {step.name}"
            if one.at or matrices[giver].at:
                message = f"numbers of {step.name} are given twice, by {words}"
            raise fail(message, one.word, hint="leave one of them out")
        givers[one.at], texts[one.at] = number, placed
    return texts


def _mismatch(
    step: Step, matrix: KeyedMatrix, wanted: Shape, submission: Submission
) -> ShapeMismatch:
    shape, word = matrix.texts.shape, matrix.word
    name = word if matrix.is_transposed else step.name
    wanted = (*wanted[:-2], *wanted[-2:][::-1]) if matrix.is_transposed else wanted
    is_swapped = shape == (*wanted[:-2], *wanted[-2:][::-1]) and not matrix.is_transposed
    here = "the cells that it names are" if matrix.at else f"{visible(name)} is"
    message = f"the shape is {shape_words(shape)}, but {here} {shape_words(wanted)} here"
    if word != name:
        message = f"{visible(word)}: {message}"
    hint = f"{step.name} has the axes {' × '.join(step.axes[-len(wanted) :])}"
    if name != step.name or matrix.at:
        hint = "the shape must be that of the cells that it names"
    elif is_swapped:
        hint = "rows and columns have changed places"
    elif _may_have_commas(matrix.texts, wanted):
        first, second = matrix.texts.ravel()[:2]
        hint = f"are these decimal commas? write {first}.{second}"
    fault = Fault(message, (word,), hint, place=submission.locate((word,)))
    return ShapeMismatch(matrix.texts, fault, is_swapped)


def _may_have_commas(texts: Array, wanted: Shape) -> bool:
    """Return True if a matrix is twice as wide as its step because 0,27 was read as two numbers."""
    if texts.shape != (*wanted[:-1], 2 * wanted[-1]) or texts.dtype.kind != "O":
        return False
    pairs = texts.reshape(-1, 2).tolist()
    return all(re.fullmatch(r"[-+−]?\d+,\d+", f"{whole},{decimals}") for whole, decimals in pairs)
