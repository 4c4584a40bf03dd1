"""A student's matrices as written: of which step each is, and how exact its digits are."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any, TypeAlias

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.checking.digits import LIKE_BLOCKED, only_unit
from attncli.checking.labels import Labels, beside
from attncli.checking.names import At, find_answer
from attncli.checking.numerals import (
    FLOATS,
    MISSING,
    dtype_of,
    dtype_of_texts,
    is_rounded,
    numbers_of,
)
from attncli.checking.pieces import Cells, Piece, cells_of
from attncli.checking.texts import sizes, texts_of, with_zeros
from attncli.checking.thresholds import FLOAT_ERROR, SHORT_FLOAT_ERRORS
from attncli.errors import Fault, KeyPath, Place, collected, fail, located, refuse
from attncli.forms.matrices import block_labels
from attncli.mechanisms.trace import Trace
from attncli.notation.blocks import DECIMAL
from attncli.problem.keys import KEYS
from attncli.records import EMPTY, Record, replace
from attncli.tape.step import Step
from attncli.text.escapes import visible

SUCH_AS = "write such as weights: [[0.5, 0.5]]"

NAMES = ("student", "name")
"""Keys beside the matrices, the first of them that is given names the student."""

TITLE = "title"
"""The problem's; it names a sheet that nothing else does, such as one on standard input."""

NOTES = "notes"
"""What a student has to say, or in a copy of a problem what the problem says."""

COMMENTS = ("comment", "comments", "remark", "remarks", "note", NOTES)
"""Keys beside the matrices for what a student, or whoever read the sheet, has to say."""

PROBLEM = "problem"
"""A key beside the matrices that tells which of several problems was worked."""

ABOUT = (*NAMES, TITLE, *COMMENTS, PROBLEM)


PLAIN = re.compile(r"-?\d{1,12}(\.\d{1,12})?")
"""A number of one cell that can be read without asking what else it might be."""

Locate: TypeAlias = Callable[[KeyPath], Place]


def nowhere(_: KeyPath) -> Place:
    """Return no place, as of what stands in no file."""
    return Place("")


class Submission(Record, eq=False):
    """One student's answers, as they were read: raw matrices by what people call the steps.

    Attributes:
        locate: gives the place of a step, a row or a cell.
        ragged: whether a row may be shorter than others, as CSV drops empty cells at the end.
        labels: the words beside a matrix by its key; `weights[2]` is the second of a stack.
        comment: what was said beside the matrices.
        heading: gives the place of a step's name, where that is the heading of a column.
        problem: the number or the title of the problem, where the sheet tells it; or nothing.
        is_named: whether the sheet itself says whose it is.
    """

    name: str
    matrices: Mapping[str, Any]
    locate: Locate = nowhere
    ragged: bool = False
    labels: Mapping[str, Labels] = EMPTY
    comment: str = ""
    heading: Locate = nowhere
    problem: str = ""
    is_named: bool = False


class Written(Record, eq=False):
    """The numbers of one step as a student wrote them, in the layout of the step's array.

    Attributes:
        values: the numbers, nan where a cell was left out.
        unit: one unit of the last written digit; 0 for what is exact, such as 1/3.
        texts: what was written; a percentage, or a decimal comma, as the decimal that it is.
        share: which share of itself a number may be off because a computer worked it out.
        dtype: float16, float32 or float64 where a computer worked them out: they came as such an
            array, or with the digits that a program prints of one; "" for what a hand writes.
        unreadable: where something is written that is no number; None for nowhere.
    """

    values: Array
    unit: Array
    texts: Array
    share: float = FLOAT_ERROR
    dtype: str = ""
    unreadable: Array | None = None

    @cached_property
    def blank(self) -> Array:
        """Where there is no number: a cell was left out, or cannot be read."""
        return np.isnan(self.values)

    @cached_property
    def missing(self) -> Array:
        """Where a cell was left out."""
        return self.blank if self.unreadable is None else self.blank & ~self.unreadable

    @cached_property
    def only_unit(self) -> float | None:
        """The unit that all numbers have; None where they have several."""
        return only_unit(self.unit)


class ShapeMismatch(Record, eq=False):
    """A matrix of the wrong shape: what was written, and what is wrong with it."""

    texts: Array
    fault: Fault
    transposed: bool

    def numbers(self) -> tuple[Array, Array]:
        """Return the numbers, nan for what is no decimal, and the units of their last digits."""
        return numbers_of(self.texts, "", self.texts.size)[:2]


def read_submission(sheet: Submission, trace: Trace) -> dict[str, Written | ShapeMismatch]:
    """Return the matrices of a sheet by the step of the trace that each of them is.

    Cells that are not mentioned are missing. Where words stand beside rows and columns, they tell
    the order. Keys that mean no step, or hold no numbers, are skipped.

    Raises:
        InputError: for an unknown label, a cell that stands twice, a sheet without any key that
            means a step or without any number. A matrix of the wrong shape raises nothing.
    """
    return dict(_read(sheet, trace)[0])


def skipped_keys(sheet: Submission, trace: Trace) -> tuple[tuple[str, str], ...]:
    """Return the keys that `read_submission` skips, each with a hint or "".

    It raises what `read_submission` does.
    """
    return _read(sheet, trace)[1]


@lru_cache(maxsize=1)  # what was skipped is asked for right after the matrices
def _read(
    sheet: Submission, trace: Trace
) -> tuple[dict[str, Written | ShapeMismatch], tuple[tuple[str, str], ...]]:
    faults, unknown = list[Fault](), list[Fault]()
    pieces: dict[str, list[Piece]] = {}
    single: dict[str, list[tuple[str, At, str]]] = {}
    is_known = False
    for word, raw in sheet.matrices.items():
        if word in ABOUT and word not in trace:
            continue
        with collected(unknown if raw is not None else []), located(sheet.heading):
            step, at, is_turned = find_answer(word, trace)
            piece = None
            if at and type(raw) is str and PLAIN.fullmatch(raw):
                single.setdefault(step.name, []).append((word, at, raw))
            elif raw is not None:
                with collected(faults):
                    piece = _piece(sheet, word, at, _in_one_cell(raw, step, at), is_turned)
            if piece:
                _refuse_words(step, piece)
                pieces.setdefault(step.name, []).append(piece)
            is_known = True
    for name, cells in single.items():
        whole = None if name in pieces else _of_cells(trace[name], cells)
        if whole is None:
            pieces.setdefault(name, []).extend(_piece(sheet, *cell) for cell in cells)
        else:
            pieces[name] = [whole]
    found: dict[str, Written | ShapeMismatch] = {}
    for name in (step.name for step in trace if step.name in pieces):
        with collected(faults):
            found[name] = _of_pieces(trace[name], pieces[name], sheet)
    refuse([*faults, *([] if is_known else unknown)])
    skipped = {str(one.path[0]): one for one in unknown}
    return _of_one_computer(found), tuple(
        (word, _hint(skipped[word], raw)) for word, raw in sheet.matrices.items() if word in skipped
    )


def _refuse_words(step: Step, piece: Piece) -> None:
    """Raise an InputError for words in the place of a matrix."""
    size = piece.texts.size
    if size and not piece.at and not PLAIN.fullmatch(piece.texts.flat[0]):
        numbers_of(piece.texts, piece.word, size - 1 if size == step.value.size else size // 2)


def _hint(fault: Fault, raw: Any) -> str:
    """Return the hint for a key that was skipped, if it may be a slip; or why it has no numbers."""
    if len(fault.path) > 1:
        return fault.message
    is_number = isinstance(raw, str | int | float) and "\n" not in str(raw)
    is_slip = "[" in str(fault.path[0]) or not is_number
    return fault.hint if is_slip and not fault.hint.startswith("there are") else ""


def _in_one_cell(raw: Any, step: Step, at: At) -> Any:
    """Return a text with a comma as a matrix of one cell, where it can be nothing else.

    `weights[1,1]` has one number, so that 0,94 has a decimal comma and does not mean 0 and 94.
    """
    is_one = at and type(raw) is str and DECIMAL.fullmatch(raw.strip())
    return [[raw]] if is_one and step.value[at].size == 1 else raw


def _of_one_computer(
    found: dict[str, Written | ShapeMismatch],
) -> dict[str, Written | ShapeMismatch]:
    """Return matrices of which few numbers tell little as floats, too, where the sheet tells it."""
    rest = {n: x for n, x in found.items() if isinstance(x, Written) and not x.dtype}
    written = [x for x in found.values() if isinstance(x, Written)]
    kinds = {x.dtype for x in written} & SHORT_FLOAT_ERRORS.keys()
    if not kinds:
        kinds = {dtype_of_texts(chain.from_iterable(x.texts.ravel().tolist() for x in written))}
    for name, one in rest.items() if kinds & SHORT_FLOAT_ERRORS.keys() else ():
        dtype = dtype_of_texts(one.texts.ravel().tolist(), 1)
        if dtype in kinds:
            found[name] = replace(one, dtype=dtype, share=SHORT_FLOAT_ERRORS[dtype])
    return found


def _of_cells(step: Step, cells: Sequence[tuple[str, At, str]]) -> Piece | None:
    """Return plain numbers of single cells as one matrix, in which the others are left out.

    So a table with a column a cell is read faster than cell by cell. None where one is no single
    cell, or stands twice.
    """
    texts = np.full(step.value.shape, "", object)
    for _, at, raw in cells:
        is_one = len(at) == texts.ndim and all(np.size(i) == 1 for i in at)
        if not is_one or any(isinstance(i, slice) for i in at) or texts[at] != "":
            return None
        texts[at] = raw
    return Piece(step.name, (), texts)


def _piece(sheet: Submission, word: str, at: At, raw: Any, is_turned: bool = False) -> Piece:
    texts = texts_of(raw, (word,), sheet.ragged)
    labels = {
        tuple(int(number) - 1 for number in re.findall(r"\d+", key.removeprefix(word))): words
        for key, words in sheet.labels.items()
        if key == word or re.fullmatch(r"(\[\d+\])+", key.removeprefix(word))
    }
    if isinstance(raw, str):
        labels = {(): block_labels(raw, (word,))}
    if len(labels) > 1:  # each matrix of a stack has its own
        labels.pop((), None)
    dtype = dtype_of(raw)
    dtype = "" if is_rounded(texts.flat, dtype) else dtype
    return Piece(word, at, texts, beside(texts.shape, labels), dtype, is_turned)


def _of_pieces(step: Step, pieces: Sequence[Piece], sheet: Submission) -> Written | ShapeMismatch:
    """Return the cells in the step's layout, or the mismatch that the shape of a piece is."""
    found = _on_paper(step, pieces, sheet)
    if isinstance(found, ShapeMismatch):
        return found
    own, unit, texts = map(step.from_paper, (found.values, found.unit, found.texts))
    if (own <= LIKE_BLOCKED).any():
        own = np.where((step.array == -np.inf) & (own <= LIKE_BLOCKED), -np.inf, own)
    kinds = {piece.dtype for piece in pieces}
    dtype = next(filter(kinds.__contains__, FLOATS), "") or dtype_of_texts(
        found.texts.ravel().tolist()
    )
    kind = dtype if dtype in SHORT_FLOAT_ERRORS else step.array.dtype.name
    share = SHORT_FLOAT_ERRORS.get(kind, FLOAT_ERROR)
    unreadable = np.isnan(own)
    if unreadable.any():
        unreadable[unreadable] = [text not in MISSING for text in texts[unreadable]]
    return Written(own, unit, texts, share, dtype, unreadable if unreadable.any() else None)


def _on_paper(step: Step, pieces: Sequence[Piece], sheet: Submission) -> Cells | ShapeMismatch:
    """Return the cells of a step as it stands on paper, or the mismatch."""
    shape = step.value.shape
    if len(pieces) == 1 and not pieces[0].at:  # as nearly all are
        return cells_of(step, pieces[0], shape) or _mismatch(step, pieces[0], shape, sheet)
    taken, found = np.zeros(shape, bool), Cells.blank(shape)
    for piece in pieces:
        if taken[piece.at].any():
            if not piece.at and not pieces[0].at:
                words = f"{visible(pieces[0].word)} and {visible(piece.word)}"
                hint = "leave one of them out"
                raise fail(f"{words} are the same step, {step.name}", piece.word, hint=hint)
            message = f"{visible(piece.word)} is {step.name}, which stands twice"
            raise fail(message, piece.word, hint="leave one of them out")
        taken[piece.at] = True
    for piece in pieces:
        wanted = taken[piece.at].shape
        cells = cells_of(step, piece, wanted)
        if cells is None:
            return _mismatch(step, piece, wanted, sheet)
        found.put(piece.at, cells)
    return found


def _mismatch(
    step: Step, piece: Piece, wanted: tuple[int, ...], sheet: Submission
) -> ShapeMismatch:
    shape, word = piece.texts.shape, piece.word
    name = word if piece.is_turned or (piece.at and len(wanted) == 1) else step.name
    wanted = (*wanted[:-2], *wanted[-2:][::-1]) if piece.is_turned else wanted
    is_transposed = shape == (*wanted[:-2], *wanted[-2:][::-1]) and not piece.is_turned
    message = f"the shape is {sizes(shape)}, but {visible(name)} is {sizes(wanted)} here"
    if word != name:
        message = f"{visible(word)}: {message}"
    hint = f"{step.name} has the axes {' × '.join(step.axes[-len(wanted) :])}"
    if name != step.name:
        hint = "the shape must be that of the cells that it names"
    elif is_transposed:
        hint = "rows and columns have changed places"
    elif _may_have_commas(piece.texts, wanted):
        first, second = piece.texts.ravel()[:2]
        hint = f"are these decimal commas? write {first}.{second}"
    fault = Fault(message, (word,), hint, place=sheet.locate((word,)))
    return ShapeMismatch(piece.texts, fault, is_transposed)


def _may_have_commas(texts: Array, wanted: tuple[int, ...]) -> bool:
    """Whether a matrix is twice as wide as its step because 0,27 was read as two numbers."""
    if texts.shape[:-1] != wanted[:-1] or texts.shape[-1] != 2 * wanted[-1]:
        return False
    whole, decimals = texts[..., ::2].ravel(), texts[..., 1::2].ravel()
    is_whole = all(re.fullmatch(r"[-+−]?\d+", text) for text in whole)
    return is_whole and all(re.fullmatch(r"\d+", text) for text in decimals)


def submission_of(
    values: Mapping[str, Any],
    name: str,
    locate: Locate = nowhere,
    ragged: bool = False,
    labels: Mapping[str, Labels] = EMPTY,
    heading: Locate | None = None,
    is_file: bool = False,
) -> Submission:
    """Return the sheet that plain values hold: answers, a file with the key `answers`, or results.

    Args:
        values: matrices by step name, beside `student`; or a copy of the problem with `answers`.
        name: what to call the student where the values do not.
        locate: gives the place of a key path of the values.
        ragged: as of `Submission`.
        labels: the words beside matrices, by the key in a file: `steps.weights` in one of results.
        heading: gives the place of a key that is the heading of a column.
        is_file: whether `name` is that of a file with this one sheet, which no title replaces.

    Raises:
        InputError: for results or answers that are no mapping, or none of names.
    """
    if not isinstance(values, Mapping):
        message = "answers must be a mapping of step names to matrices"
        is_file = isinstance(values, str | os.PathLike)
        hint = "load_answers reads a file, and check takes each sheet of it"
        raise fail(message, hint=hint if is_file else SUCH_AS)
    matrices: Any = values
    prefix = tuple(key for key in ("steps", "answers") if key in values)[:1]
    if prefix:
        matrices = values[prefix[0]]
        if not isinstance(matrices, Mapping):
            message = f"{prefix[0]} must be a mapping of step names to matrices"
            raise fail(message, *prefix, hint=SUCH_AS)
    for key in matrices:
        if not isinstance(key, str):
            message = f"a key of answers must be the name of a step, not {visible(repr(key))[:40]}"
            raise fail(message, hint=SUCH_AS)
    inner = {key for key, raw in matrices.items() if isinstance(raw, Mapping) and "value" in raw}
    plain = {
        key: with_zeros(raw["value"]) if key in inner else raw for key, raw in matrices.items()
    }

    def place(path: KeyPath) -> Place:
        value = ("value",) if path and path[0] in inner else ()
        return locate((*prefix, *path[:1], *value, *path[1:]))

    start = f"{prefix[0]}." if prefix else ""
    own = {key.removeprefix(start): words for key, words in labels.items() if key.startswith(start)}
    left_out = NOTES if _tells_problem(values) else ""
    said = {**{key: raw for key, raw in values.items() if key != left_out}, **matrices}
    comment = "\n".join(filter(None, (_said(said.get(key)) for key in COMMENTS)))
    names = (_said(values.get(key)) for key in NAMES)
    student = next(filter(None, names), "")
    title = "" if is_file else _said(values.get(TITLE))
    return Submission(
        *(student or title or name, plain, place, ragged, own, comment, heading or nowhere),
        problem=_said(values.get(PROBLEM)),
        is_named=bool(student),
    )


def _tells_problem(values: Mapping[str, Any]) -> bool:
    """Whether notes are the problem's: in results, and where answers stand in a copy of it."""
    copied = KEYS.keys() & values.keys() - {"answers", TITLE, NOTES}
    return "steps" in values or ("answers" in values and bool(copied))


def _said(raw: object) -> str:
    """Return text, also of several lines in a list; nothing where it is something else."""
    if isinstance(raw, list | tuple):
        lines = [_said(line) for line in raw if not isinstance(line, list | tuple)]
        return "\n".join(filter(None, lines))
    return str(raw).strip() if isinstance(raw, str | int | float) else ""
