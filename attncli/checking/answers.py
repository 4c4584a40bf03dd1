"""A student's matrices as written: of which step each is, and how exact its digits are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.checking.agreement import SHARE
from attncli.checking.digits import LIKE_BLOCKED, decimal_of, share_of_floats
from attncli.checking.names import At, find_answer
from attncli.checking.texts import sizes, texts_of
from attncli.errors import Fault, KeyPath, Place, collected, fail, refuse
from attncli.forms.matrices import cell_words, written_number
from attncli.mechanisms.trace import Trace
from attncli.records import Record
from attncli.tape.step import Step
from attncli.text.escapes import visible

MISSING = frozenset(("", "~", "_", "?", "null", "None"))
"""How a cell is left out."""

SUCH_AS = "write such as weights: [[0.5, 0.5]]"

ABOUT = ("student", "name", "title", "notes")
"""Keys beside the matrices, the first of them that is given names the student."""


Locate: TypeAlias = Callable[[KeyPath], Place]


def nowhere(_: KeyPath) -> Place:
    """Return no place, as of what stands in no file."""
    return Place("")


class Submission(Record):
    """One student's answers, as they were read: raw matrices by what people call the steps.

    Attributes:
        locate: gives the place of a step, a row or a cell.
        ragged: whether a row may be shorter than others, as CSV drops empty cells at the end.
    """

    name: str
    matrices: Mapping[str, Any]
    locate: Locate = nowhere
    ragged: bool = False


class Written(Record):
    """The numbers of one step as a student wrote them, in the layout of the step's array.

    Attributes:
        values: the numbers, nan where a cell was left out.
        unit: one unit of the last written digit; 0 for what is exact, such as 1/3.
        texts: what was written.
        share: which share of itself a number may be off because a computer worked it out.
    """

    values: Array
    unit: Array
    texts: Array
    share: float = SHARE

    @property
    def missing(self) -> Array:
        """Where a cell was left out."""
        return np.isnan(self.values)


class ShapeMismatch(Record):
    """A matrix of the wrong shape: what was written, and what is wrong with it."""

    texts: Array
    fault: Fault
    transposed: bool

    def numbers(self) -> tuple[Array, Array]:
        """Return the numbers, nan for what is no decimal, and the units of their last digits."""
        numbers, units = np.empty(self.texts.shape), np.empty(self.texts.shape)
        for place, text in np.ndenumerate(self.texts):
            numbers[place], units[place] = decimal_of(text) or (np.nan, 0.0)
        return numbers, units


class Piece(Record):
    """What stands under one key, a word: the cells of a whole step, or those at an index of it."""

    word: str
    at: At
    texts: Array


def read_submission(sheet: Submission, trace: Trace) -> dict[str, Written | ShapeMismatch]:
    """Return the matrices of a sheet by the step of the trace that each of them is.

    Cells that are not mentioned are missing.

    Raises:
        InputError: for an unknown step, a cell that stands twice or is no number, a sheet without
            any step. A matrix of the wrong shape raises nothing.
    """
    faults: list[Fault] = []
    pieces: dict[str, list[Piece]] = {}
    for word, raw in sheet.matrices.items():
        with collected(faults):
            if word not in ABOUT or word in trace:
                step, at = find_answer(word, trace)
                piece = Piece(word, at, texts_of(raw, (word,), sheet.ragged))
                pieces.setdefault(step.name, []).append(piece)
    found: dict[str, Written | ShapeMismatch] = {}
    for name in (step.name for step in trace if step.name in pieces):
        with collected(faults):
            found[name] = _of_pieces(trace[name], pieces[name], sheet)
    refuse(faults)
    if not found:
        hint = f"{SUCH_AS}; the steps are {', '.join(trace.steps)}"
        raise fail("there are no answers", hint=hint)
    return found


def _of_pieces(step: Step, pieces: Sequence[Piece], sheet: Submission) -> Written | ShapeMismatch:
    """Return the cells in the step's layout, or the mismatch that the shape of a piece is."""
    shape = step.value.shape
    values, units = np.full(shape, np.nan), np.zeros(shape)
    texts, taken = np.full(shape, "", object), np.zeros(shape, bool)
    for piece in pieces:
        if taken[piece.at].any():
            message = f"{visible(piece.word)} is {step.name}, which stands twice"
            raise fail(message, piece.word, hint="leave one of them out")
        taken[piece.at] = True
    for piece in pieces:
        wanted = texts[piece.at].shape
        fitted = _reshaped(piece.texts, wanted) if piece.at else _fitted(step, piece.texts, shape)
        if fitted is None:
            return _mismatch(step, piece, wanted, sheet)
        texts[piece.at] = fitted
        values[piece.at], units[piece.at] = _numbers(fitted, piece.word)
    own, unit, right = step.from_paper(values), step.from_paper(units), step.array
    share = share_of_floats(own, unit, right)
    own = np.where((right == -np.inf) & (own <= LIKE_BLOCKED), -np.inf, own)
    return Written(own, unit, step.from_paper(texts), share)


def _numbers(texts: Array, word: str) -> tuple[Array, Array]:
    """Return the numbers of cells, nan for those left out, and the units of their last digits."""
    numbers, units = np.full(texts.shape, np.nan), np.zeros(texts.shape)
    faults: list[Fault] = []
    for place, text in np.ndenumerate(texts):
        if text in MISSING:
            continue
        if decimal := decimal_of(text):
            numbers[place], units[place] = decimal
            continue
        with collected(faults):
            numbers[place] = written_number(text, (word,), place)
            if numbers[place] == np.inf:
                hint = "only −inf is a number here, in a cell that is blocked"
                raise fail(f"{cell_words((word,), place)} is infinite", word, *place, hint=hint)
    refuse(faults)
    return numbers, units


def _fitted(step: Step, texts: Array, shape: tuple[int, ...]) -> Array | None:
    """Return the cells with the step's shape, where they have it but for axes of size 1.

    Heads may stand side by side (one above the other where a token is a column), as tables and
    books show them.
    """
    fitted = _reshaped(texts, shape)
    if fitted is not None or "head" not in step.leading:
        return fitted
    axis = step.leading.index("head")
    heads, rows, columns = shape[axis], shape[-2], shape[-1]
    lead = (*shape[:axis], *shape[axis + 1 : -2])
    if step.columns:
        side = _reshaped(texts, (*lead, heads * rows, columns))
        return None if side is None else side.reshape(*lead, heads, rows, columns)
    side = _reshaped(texts, (*lead, rows, heads * columns))
    if side is None:
        return None
    return np.moveaxis(side.reshape(*lead, rows, heads, columns), -2, axis)


def _reshaped(texts: Array, shape: tuple[int, ...]) -> Array | None:
    """Return the cells in a shape that differs from theirs by axes of size 1 alone, if it does."""
    if [n for n in texts.shape if n > 1] != [n for n in shape if n > 1]:
        return None
    return texts.reshape(shape)


def _mismatch(
    step: Step, piece: Piece, wanted: tuple[int, ...], sheet: Submission
) -> ShapeMismatch:
    shape, word = piece.texts.shape, piece.word
    name = word if piece.at and len(wanted) == 1 else step.name
    is_transposed = shape[-2:] == wanted[-2:][::-1] and len(shape) == len(wanted)
    message = f"the shape is {sizes(shape)}, but {visible(name)} is {sizes(wanted)} here"
    if word != name:
        message = f"{visible(word)}: {message}"
    hint = f"{step.name} has the axes {' × '.join(step.axes[-len(wanted) :])}"
    if name != step.name:
        hint = "the shape must be that of the cells that it names"
    elif is_transposed:
        hint = "rows and columns have changed places"
    fault = Fault(message, (word,), hint, place=sheet.locate((word,)))
    return ShapeMismatch(piece.texts, fault, is_transposed)


def submission_of(
    values: Mapping[str, Any], name: str, locate: Locate = nowhere, ragged: bool = False
) -> Submission:
    """Return the sheet that plain values hold: answers, a file with the key `answers`, or results.

    Args:
        values: matrices by step name, beside `student` or `title`.
        name: what to call the student where the values do not.
        locate: gives the place of a key path of the values.
        ragged: as of `Submission`.

    Raises:
        InputError: for results or answers that are no mapping.
    """
    words = (values[key].strip() for key in ABOUT[:3] if isinstance(values.get(key), str))
    matrices: Any = values
    prefix = tuple(key for key in ("steps", "answers") if key in values)[:1]
    if prefix:
        matrices = values[prefix[0]]
        if not isinstance(matrices, Mapping):
            message = f"{prefix[0]} must be a mapping of step names to matrices"
            raise fail(message, *prefix, hint=SUCH_AS)
    inner = {key for key, raw in matrices.items() if isinstance(raw, Mapping) and "value" in raw}
    plain = {key: raw["value"] if key in inner else raw for key, raw in matrices.items()}

    def place(path: KeyPath) -> Place:
        value = ("value",) if path and path[0] in inner else ()
        return locate((*prefix, *path[:1], *value, *path[1:]))

    return Submission(next(filter(None, words), name), plain, place, ragged)
