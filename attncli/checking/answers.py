"""A student's matrices as written: of which step each is, and how exact its digits are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.checking.agreement import SHARE
from attncli.checking.digits import DECIMAL, LIKE_BLOCKED, share_of_floats, unit_of
from attncli.checking.names import step_named
from attncli.errors import Fault, InputError, KeyPath, Place, collected, refuse
from attncli.mechanisms.trace import Trace
from attncli.problem.matrices import cell_words, written_number
from attncli.records import Record, replace
from attncli.tape.step import Step
from attncli.text.escapes import visible

MISSING = frozenset(("", "~", "_", "?", "null", "None"))
"""How a cell is left out."""

ABOUT = ("student", "name", "title", "notes")
"""Keys beside the matrices, the first of them that is given names the student."""


class Submission(Record):
    """One student's answers, as they were read.

    Attributes:
        name: the student, or the file.
        matrices: raw matrices by step name, or by a name that people use for the step.
        locate: gives the place of a step, a row or a cell.
        ragged: whether a row may be shorter than others, as CSV drops empty cells at the end.
    """

    name: str
    matrices: Mapping[str, Any]
    locate: Callable[[KeyPath], Place] = lambda path: Place("")
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
        """Return the numbers, nan for what is none, and the units of their last digits."""
        numbers, units = np.full(self.texts.shape, np.nan), np.zeros(self.texts.shape)
        for place, text in np.ndenumerate(self.texts):
            if DECIMAL.fullmatch(text) and any(letter.isdigit() for letter in text):
                numbers[place], units[place] = float(text), unit_of(text)
        return numbers, units


def read_submission(sheet: Submission, trace: Trace) -> dict[str, Written | ShapeMismatch]:
    """Return the matrices of a sheet by the step of the trace that each of them is.

    Raises:
        InputError: for an unknown step, one that stands twice, a cell that is no number, a sheet
            without any step. A matrix of the wrong shape raises nothing.
    """
    faults: list[Fault] = []
    found: dict[str, Written | ShapeMismatch] = {}
    stacks: dict[str, dict[int, tuple[Array, KeyPath]]] = {}
    for word, raw in sheet.matrices.items():
        path: KeyPath = (word,)
        with collected(faults):
            if word in ABOUT and word not in trace:
                continue
            name, head = step_named(word, trace)
            texts = _texts(raw, path, sheet.ragged)
            if name in found or head in stacks.get(name, {}) or (head is None and name in stacks):
                message = f"{visible(word)} is {name}, which stands twice"
                raise InputError(Fault(message, path, "leave one of them out"))
            if head is not None:
                stacks.setdefault(name, {})[head] = (texts, path)
            else:
                found[name] = _of_step(trace[name], texts, path)
    for name, pieces in stacks.items():
        with collected(faults):
            found[name] = _of_heads(trace[name], pieces)
    refuse(faults)
    if not found:
        hint = f"write such as weights: [[0.5, 0.5]]; the steps are {', '.join(trace.steps)}"
        raise InputError(Fault("there are no answers", (), hint))
    return {step.name: _placed(found[step.name], sheet) for step in trace if step.name in found}


def _placed(given: Written | ShapeMismatch, sheet: Submission) -> Written | ShapeMismatch:
    """Return a misfit with its place in the file."""
    if isinstance(given, Written):
        return given
    return replace(given, fault=replace(given.fault, place=sheet.locate(given.fault.path)))


def _of_step(step: Step, texts: Array, path: KeyPath) -> Written | ShapeMismatch:
    """Return the cells in the step's layout, or the misfit that their shape is."""
    shape = step.value.shape
    fitted = _fitted(step, texts, shape)
    if fitted is None:
        return _mismatch(step, texts, shape, path)
    return _written(step, fitted, path)


def _written(step: Step, texts: Array, path: KeyPath) -> Written:
    """Return the numbers of cells that have the shape of the step's value."""
    flat = texts.ravel().tolist()
    numbers, units = np.empty(len(flat)), np.empty(len(flat))
    faults: list[Fault] = []
    for index, text in enumerate(flat):
        try:
            match = DECIMAL.fullmatch(text)
            if match is not None and text not in MISSING:
                decimals, power = match.groups()
                numbers[index] = float(text)
                units[index] = 10.0 ** (int(power or 0) - len(decimals or ""))
                continue
        except (ValueError, OverflowError):  # a lone sign or point is no number
            pass
        if text in MISSING:
            numbers[index], units[index] = np.nan, 0.0
            continue
        with collected(faults):
            place = tuple(int(i) for i in np.unravel_index(index, texts.shape))
            numbers[index] = written_number(text, path, place)
            units[index] = unit_of(text)
            if numbers[index] == np.inf:
                message = f"{cell_words(path, place)} is infinite"
                hint = "only −inf is a number here, in a cell that is blocked"
                raise InputError(Fault(message, (*path, *place), hint))
    refuse(faults)
    values, unit = (step.from_paper(x.reshape(texts.shape)) for x in (numbers, units))
    right = step.array
    share = share_of_floats(values, unit, right)
    values = np.where((right == -np.inf) & (values <= LIKE_BLOCKED), -np.inf, values)
    return Written(values, unit, step.from_paper(texts), share)


def _of_heads(step: Step, pieces: Mapping[int, tuple[Array, KeyPath]]) -> Written | ShapeMismatch:
    """Return a step whose heads were written one by one, such as `weights_2`."""
    shape = step.value.shape
    axis = step.leading.index("head")
    texts = np.full(shape, "", object)
    for head, (piece, path) in pieces.items():
        at: tuple[slice | int, ...] = (*[slice(None)] * axis, head)
        fitted = _squeezed(piece, texts[at].shape)
        if fitted is None:
            return _mismatch(step, piece, texts[at].shape, path)
        texts[at] = fitted
    return _written(step, texts, next(iter(pieces.values()))[1][:0])


def _fitted(step: Step, texts: Array, shape: tuple[int, ...]) -> Array | None:
    """Return the cells with the step's shape, where they have it but for axes of size 1.

    Heads may stand side by side (one above the other where a token is a column), as tables and
    books show them.
    """
    fitted = _squeezed(texts, shape)
    if fitted is not None or "head" not in step.leading:
        return fitted
    axis = step.leading.index("head")
    heads, rows, columns = shape[axis], shape[-2], shape[-1]
    lead = tuple(size for place, size in enumerate(shape[:-2]) if place != axis)
    if step.columns:
        side = _squeezed(texts, (*lead, heads * rows, columns))
        return None if side is None else side.reshape(*lead, heads, rows, columns)
    side = _squeezed(texts, (*lead, rows, heads * columns))
    if side is None:
        return None
    return np.moveaxis(side.reshape(*lead, rows, heads, columns), -2, axis)


def _squeezed(texts: Array, shape: tuple[int, ...]) -> Array | None:
    """Return the cells in a shape that differs from theirs by axes of size 1 alone, if it does."""
    if [n for n in texts.shape if n > 1] != [n for n in shape if n > 1]:
        return None
    return texts.reshape(shape)


def _mismatch(step: Step, texts: Array, shape: tuple[int, ...], path: KeyPath) -> ShapeMismatch:
    transposed = texts.shape[-2:] == shape[-2:][::-1] and texts.ndim == len(shape)
    message = f"the shape is {_times(texts.shape)}, but {step.name} is {_times(shape)} here"
    if path[0] != step.name:
        message = f"{visible(str(path[0]))}: {message}"
    hint = "rows and columns have changed places" if transposed else ""
    hint = hint or f"{step.name} has the axes {' × '.join(step.axes[-len(shape) :])}"
    return ShapeMismatch(texts, Fault(message, path, hint), transposed)


def _times(shape: Sequence[int]) -> str:
    return f"({', '.join(map(str, shape))})"


def _texts(raw: Any, path: KeyPath, ragged: bool) -> Array:
    """Return the cells of a matrix as an array of texts.

    Raises:
        InputError: for what is no matrix, or has rows of several lengths.
    """
    if hasattr(raw, "dtype"):
        return _of_array(np.asarray(raw), path)
    if isinstance(raw, str):
        from attncli.notation.written import words_of

        raw = [[word for _, word in words_of(line)] for line in raw.splitlines() if line.strip()]
    if not isinstance(raw, list | tuple):
        raise InputError(Fault(f"{visible(str(path[0]))} must be a matrix", path, EXAMPLE))
    if ragged and raw and all(isinstance(row, list) for row in raw):
        raw = _padded(list(raw))
    shape, rows = _shape(raw, path)
    texts = np.empty(shape, object)
    texts.ravel()[:] = list(chain.from_iterable(rows)) if rows else []
    return texts


EXAMPLE = "write it as [[0.5, 0.5]]"


def _of_array(array: Array, path: KeyPath) -> Array:
    if array.dtype.kind not in "fiubOU":
        raise InputError(Fault(f"{visible(str(path[0]))} holds no numbers", path, EXAMPLE))
    texts = np.empty(array.shape, object)
    texts.ravel()[:] = [_text(cell) for cell in array.ravel().tolist()]
    return np.atleast_1d(texts)


def _text(cell: object) -> str:
    """Return a cell as text; of a float that is whole, the whole number."""
    if isinstance(cell, float):
        return repr(cell).removesuffix(".0") if not np.isnan(cell) else ""
    return "" if cell is None else str(cell).strip()


def _padded(raw: list[Any]) -> list[Any]:
    if raw and all(isinstance(cell, str) for row in raw for cell in row):
        width = max(len(row) for row in raw)
        return [[*row, *[""] * (width - len(row))] for row in raw]
    return [_padded(part) if isinstance(part, list) else part for part in raw]


def _shape(raw: Any, path: KeyPath) -> tuple[tuple[int, ...], list[list[str]]]:
    """Return the shape of nested lists, and their innermost rows.

    Raises:
        InputError: where lists that stand side by side have different lengths.
    """
    if not any(isinstance(item, list | tuple) for item in raw):
        return (len(raw),), [[_text(item) for item in raw]]
    shape: tuple[int, ...] = ()
    rows: list[list[str]] = []
    for index, item in enumerate(raw):
        inside = (*path, index)
        if not isinstance(item, list | tuple):
            message = f"{visible(str(path[0]))} mixes rows and numbers: place {index + 1} is no row"
            raise InputError(Fault(message, inside, "put each row into [ ]"))
        inner, found = _shape(item, inside)
        if index and inner != shape:
            sizes = f"{_many(inner)}, but {'row' if len(inner) == 1 else 'matrix'} 1 has"
            name = visible(str(path[0]))
            which = "row" if len(inner) == 1 else "matrix"
            message = f"{which} {index + 1} of {name} has {sizes} {_many(shape)}"
            raise InputError(Fault(message, inside, "a cell that is left out is written ~"))
        shape = inner
        rows += found
    return (len(raw), *shape), rows


def _many(shape: tuple[int, ...]) -> str:
    if len(shape) > 1:
        return f"the shape {_times(shape)}"
    return f"{shape[0]} number" + ("s" if shape[0] != 1 else "")


def submission_of(
    values: Mapping[str, Any],
    name: str,
    locate: Callable[[KeyPath], Place] = lambda path: Place(""),
    ragged: bool = False,
) -> Submission:
    """Return the sheet that plain values hold: answers, a file with the key `answers`, or results.

    Args:
        values: matrices by step name, beside `student` or `title`.
        name: what to call the student where the values do not.
        locate: gives the place of a key path of the values.
        ragged: as of `Sheet`.

    Raises:
        InputError: for results or answers that are no mapping.
    """
    prefix: KeyPath = ()
    for key in ABOUT[:3]:
        if isinstance(values.get(key), str) and values[key].strip():
            name = values[key].strip()
            break
    matrices: Any = values
    if "steps" in values or "answers" in values:
        prefix = ("steps",) if "steps" in values else ("answers",)
        matrices = values[prefix[0]]
        if not isinstance(matrices, Mapping):
            message = f"{prefix[0]} must be a mapping of step names to matrices"
            raise InputError(Fault(message, prefix, "write such as weights: [[0.5, 0.5]]"))
    inner = {key for key, raw in matrices.items() if isinstance(raw, Mapping) and "value" in raw}
    plain = {key: raw["value"] if key in inner else raw for key, raw in matrices.items()}

    def place(path: KeyPath) -> Place:
        if path and path[0] in inner:
            return locate((*prefix, path[0], "value", *path[1:]))
        return locate((*prefix, *path))

    return Submission(name, plain, place, ragged)
