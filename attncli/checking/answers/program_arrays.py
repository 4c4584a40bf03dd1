"""The arrays of a submission that a program calculated: their steps, and their type."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np

from attncli.checking.answers.answers import Skipped, written_or_mismatch
from attncli.checking.answers.cell_positions import KeyedMatrix
from attncli.checking.answers.step_names import InputNamed, find_answer, is_slip, means_step
from attncli.checking.answers.written_cells import Matrices, Written
from attncli.core.arithmetic.elements import Array
from attncli.core.calculation.trace import Trace
from attncli.core.errors import Fault, InputError, NotThere, fail
from attncli.core.numbers.last_place import PRECISIONS, TYPED_DIGITS
from attncli.core.numbers.matrices import as_raw
from attncli.core.problem.marking import Marking
from attncli.core.tape.step_words import HEADS_AFTER_TOKENS
from attncli.core.text.strings import visible
from attncli.reading.document import Submission, number_type

ROUNDOFF = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
"""Maximum relative error of one rounding, by the type of the numbers. Derived."""

MAX_HAND_DECIMALS = 6
"""Maximum number of decimals of a number that was worked by hand. Chosen."""

COMMON_STEPS = ("Q", "K", "V", "scores", "weights", "output")
"""Names of steps by which a program means an answer, also where the problem has no such step."""

MAX_TYPED = 1_000
"""Maximum number of numbers of an array that people type."""


def dtype_of(every: Mapping[str, Any], trace: Trace, marking: Marking) -> str:
    """Return the type of the floats of arrays from a program; "" for other answers.

    Numbers beside such arrays may be lists of them. Keys that mean no step do not count.
    """
    if not any(map(_kind, every.values())):
        return ""
    answers = {word: raw for word, raw in every.items() if means_step(word, trace, raw)} or every
    arrays = {key: _plain(key, raw) for key, raw in answers.items() if _kind(raw)}
    kinds = {_kind(answers[key]) for key in arrays}
    if not arrays or any(_is_handwork(raw) for key, raw in answers.items() if key not in arrays):
        return ""
    return marking.dtype or type_of_floats(arrays.values(), kinds)


def type_of_floats(arrays: Iterable[Array], kinds: Collection[str] = ()) -> str:
    """Return the coarsest type of floats; float32 for arrays of float64 with such numbers alone.

    `kinds` are the types in which the arrays were written; by default those that they have.
    """
    finite = [array[np.isfinite(array)] for array in arrays]
    kinds = set(kinds or map(_kind, finite))
    is_short = all((a.astype("f4") == a).all() for a in finite)
    if kinds == {"float64"} and is_short and any((a != np.round(a)).any() for a in finite):
        return "float32"  # whole numbers do not tell
    return max(kinds, key=ROUNDOFF.__getitem__)


def _kind(raw: Any) -> str:
    """Return the type of an array's numbers, float64 for whole and longer ones; "" for no array."""
    kind = number_type(raw) if hasattr(raw, "dtype") else ""
    is_other = "int" in kind or kind in ("bool", np.dtype("g").name)
    return kind if kind in ROUNDOFF else "float64" if is_other else ""


def _is_handwork(raw: Any) -> bool:
    """Return True for a text, a matrix with gaps, or lists of numbers that people type."""
    try:
        array = np.asarray(raw)
        is_plain = array.dtype.kind != "c"  # NumPy would drop the imaginary parts
        return not (is_plain and array.ndim) or _may_be_typed(array.astype(float))
    except (TypeError, ValueError):
        return True


def _plain(key: str, raw: Any) -> Array:
    array: Array = np.asarray(as_raw(raw, (key,)) if _kind(raw) else raw)
    return array if array.dtype.name in (*TYPED_DIGITS, "bool") else array.astype(float)


def _may_be_typed(array: Array) -> bool:
    """Return True if no number has more digits than people type; −∞ is a blocked cell."""
    digits, dtype = TYPED_DIGITS[array.dtype.name], array.dtype.type
    if array.size > MAX_TYPED or not (array < np.inf).all():  # nor is nan
        return False
    numbers = array[array > -np.inf].tolist()
    is_cut = array.dtype == float and all(round(x, MAX_HAND_DECIMALS) == x for x in numbers)
    return is_cut or all(dtype(f"{number:.{digits}g}") == number for number in numbers)


def read_arrays(submission: Submission, trace: Trace) -> tuple[Matrices, Skipped]:
    """Return the arrays by the names of their steps, and the keys that mean no step.

    Their numbers have no unit: how far they may be off is known when they are judged.

    Raises:
        InputError: if no key means a step, or two the same cells.
    """
    parts, unknown = dict[str, list[KeyedMatrix]](), dict[str, InputError]()
    for word, raw in submission.answers.items():
        try:
            step, at, is_transposed = find_answer(word, trace, raw)
        except InputError as error:
            unknown[word] = error
            continue
        array = _plain(word, raw)
        if array.dtype == bool:
            raise fail(
                f"{visible(word)} holds true and false, not numbers", word, hint="write 1 and 0"
            )
        if array.ndim > 2 and HEADS_AFTER_TOKENS.fullmatch(word):
            array = array.swapaxes(-2, -3)
        matrix = KeyedMatrix(word, at, array, is_transposed=is_transposed)
        parts.setdefault(step.name, []).append(matrix)
    if unknown and not parts:
        raise next(iter(unknown.values()))
    arrays: Matrices = {
        name: written_or_mismatch(trace[name], every, submission, is_program=True)
        for name, every in parts.items()
    }
    return arrays, tuple((word, _hint(error.faults[0])) for word, error in unknown.items())


def _hint(fault: Fault) -> str:
    """Return the hint for the name of an array; "" for a name that a program has beside steps."""
    is_answer = fault.path[0] in COMMON_STEPS or is_slip(fault)
    is_other = isinstance(fault, NotThere) and not is_answer
    return "" if is_other or isinstance(fault, InputNamed) else fault.hint


def type_of_printed(matrices: Matrices) -> str:
    """Return the type of written numbers, if all are printed short floats; or "".

    Numbers beside them may have few digits, if that type holds them exactly: 0.625, or 14.
    """
    written = [one for one in matrices.values() if isinstance(one, Written)]
    kinds = {one.dtype for one in written} & PRECISIONS.keys()
    if not kinds or len(written) < len(matrices):
        return ""
    dtype = max(kinds, key=ROUNDOFF.__getitem__)
    others = (one.values for one in written if one.dtype not in kinds)
    is_held = all((x.astype(dtype) == x)[np.isfinite(x)].all() for x in others)
    return dtype if is_held else ""


def sizes_of(shape: tuple[int, ...]) -> list[int]:
    """Return the sizes of the axes that tell shapes apart; programs leave out those of size 1."""
    return [size for size in shape if size > 1]
