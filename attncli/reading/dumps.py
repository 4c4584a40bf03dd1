"""Arrays that a program saved by the names of its steps: NPZ, safetensors, or a tree of calls.

Such a tree is what `model_addition_debugger_context` of transformers writes: JSON with the inputs
and outputs of each module, as PyTorch prints them, or in files of safetensors beside it.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from attncli.core.errors import as_damage, fail
from attncli.core.problem.key_values import key_of
from attncli.core.problem.keys import KEYS
from attncli.core.problem.marking import FLOAT_TYPES
from attncli.core.records import Record
from attncli.core.tape.step_words import may_mean_step
from attncli.core.text.strings import regex
from attncli.reading import arrays, file_forms
from attncli.reading.document import FileName
from attncli.reading.files import Folder, is_file
from attncli.reading.read import opened

if TYPE_CHECKING:
    from attncli.core.arithmetic.elements import Array

TREE = regex(r'\s*\{\s*"module_path"')
"""How a tree of calls begins."""

PRINTED_ERROR = 5e-5
"""Maximum relative error of a number that PyTorch prints, such as 1.2346e-01. Derived."""

ELLIPSIS = regex(r"\.\.\.,?")
BARE_POINT = regex(r"(?<=\d)\.(?!\d)")
"""The point of a number of PyTorch without digits behind it, as in 1.e-01, which JSON lacks."""


class DumpedArray(Record, eq=False):
    """An array of a dump.

    Attributes:
        numbers: those that the file has.
        shape: that of the whole array.
        places: which of them the file has along each axis; () for all.
        dtype: the type of the program's numbers, if they are written in another one; or "".
        error: the maximum relative error with which they are written; 0 for every bit.
    """

    numbers: Array
    shape: tuple[int, ...]
    places: tuple[range | tuple[int, ...], ...] = ()
    dtype: str = ""
    error: float = 0.0


def is_dump(source: str) -> bool:
    """Return True for arrays of steps, or of a program's modules, and not of a problem.

    Of NPZ and safetensors, only the names are read.
    """
    if not is_file(source):  # a pipe can be read once
        return False
    with opened(source) as begun:
        if _is_tree(begun.start):
            return True
        are_arrays = file_forms.are_arrays(begun.start, begun.suffix)
        names = arrays.names(begun.file) if are_arrays else []
    if arrays.OPTIONS_ARRAY in names:
        return False
    has_inputs = "X" in map(key_of, names)  # beside them, parameters of modules are of a problem
    return any(_is_of_program(name) for name in names if not has_inputs or "." not in name)


def _is_of_program(name: str) -> bool:
    """Return True for the name of a step that is no key, or of a module, such as layers.3.mlp."""
    last = name.rpartition(".")[2]
    if last in ("weight", "bias") or key_of(last) in KEYS:
        return False
    return name != last or last.startswith("hook_") or (len(last) > 2 and may_mean_step(last, ()))


def _is_tree(start: bytes) -> bool:
    return TREE.match(start.decode("utf-8", "replace")) is not None


def read_dump(
    source: FileName, stdin: BinaryIO | None = None, allow_outside: bool = False
) -> dict[str, DumpedArray]:
    """Return the arrays of a dump by their names, in the order of the file.

    Raises:
        InputError: for a file of another form, or without arrays that have names.
    """
    with opened(source, stdin) as begun:
        if _is_tree(begun.start):
            with as_damage("this tree of calls is damaged", "write it anew"):
                tree = json.loads(b"".join(begun.data))
                found = _numbered(_of_calls(tree, Folder(Path(begun.name).parent, allow_outside)))
            hint = "name the file that ends with _FULL_TENSORS.json"
        elif file_forms.are_arrays(begun.start, begun.suffix):
            can_seek = begun.file.seekable()  # a pipe is not
            values = arrays.read(begun.file if can_seek else io.BytesIO(b"".join(begun.data)))
            if begun.start.startswith(arrays.NPY):  # the name of the file is that of its array
                values = {Path(begun.name).stem: values["X"]}
            found = dict(_flat(values))
            hint = "save them by numpy.savez(file, weights=…, output=…)"
        else:
            hint = "save NPZ or safetensors, or the JSON of model_addition_debugger_context"
            raise fail("this is no file of arrays that a program wrote", hint=hint)
        if not found:
            raise fail("this holds no arrays under names", hint=hint)
    return found


def _flat(values: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, DumpedArray]]:
    """Yield arrays of numbers; those of a file that attn wrote are by the names of their steps."""
    for key, raw in values.items():
        if isinstance(raw, Mapping):
            is_part = not before and key in ("inputs", "steps", "options")
            yield from _flat(raw, "" if is_part else f"{before}{key}.")
        elif getattr(raw, "ndim", 0) and raw.dtype.kind in "fiub":
            yield f"{before}{key}", DumpedArray(raw, raw.shape)


def _numbered(items: Iterator[tuple[str, DumpedArray]]) -> dict[str, DumpedArray]:
    """Return a mapping of items; a name that comes again, as of a second call, ends with #2."""
    found: dict[str, DumpedArray] = {}
    for name, array in items:
        names = (name if number == 1 else f"{name}#{number}" for number in count(1))
        found[next(one for one in names if one not in found)] = array
    return found


def _of_calls(call: Any, folder: Folder) -> Iterator[tuple[str, DumpedArray]]:
    """Yield the inputs of a module, the arrays of those inside it, and its outputs."""
    module = call["module_path"].partition(".")[2]  # without the class of the model
    yield from _tensors(f"{module}.input" if module else "input", call.get("inputs"), folder)
    for inner in call.get("children") or ():
        yield from _of_calls(inner, folder)
    yield from _tensors(module or "output", call.get("outputs"), folder)


def _tensors(name: str, value: Any, folder: Folder) -> Iterator[tuple[str, DumpedArray]]:
    """Yield the tensors in lists and mappings; one that is alone has no number."""
    if isinstance(value, dict) and {"shape", "dtype"} <= value.keys():
        if (array := _tensor(name, value, folder)) is not None:
            yield name, array
        return
    items = value.items() if isinstance(value, dict) else enumerate(value or ())
    parts = [(key, one) for key, one in items if isinstance(one, dict | list)]
    for key, one in parts:
        is_told = key not in ("args", "kwargs") and (isinstance(key, str) or parts[1:])
        yield from _tensors(f"{name}.{key}" if is_told else name, one, folder)


def _tensor(name: str, about: Mapping[str, Any], folder: Folder) -> DumpedArray | None:
    """Return a tensor of numbers; None where the file has only its mean."""
    import numpy as np

    written = about.get("value")
    if isinstance(written, str):
        with opened(folder.file(written)) as begun:
            (array,) = arrays.read(begun.file).values()
        return DumpedArray(array, array.shape)
    text = " ".join(written or ())
    body = text[text.find("[") : text.rfind("]") + 1]
    if not body or about["dtype"] == "torch.bool":
        return None
    words = BARE_POINT.sub(".0", ELLIPSIS.sub("", body))
    shown = np.array(json.loads(words.replace("nan", "NaN").replace("inf", "Infinity")), float)
    shape = tuple(map(int, re.findall(r"\d+", about["shape"])))
    # PyTorch prints the first and the last places along each axis of a large tensor.
    halves = [(size, shown.shape[axis] // 2) for axis, size in enumerate(shape)]
    places = tuple(
        (*range(half), *range(size - half, size)) if size > shown.shape[axis] else range(size)
        for axis, (size, half) in enumerate(halves)
    )
    if tuple(map(len, places)) != shown.shape:
        raise ValueError
    dtype = about["dtype"].removeprefix("torch.")
    told = (dtype, PRINTED_ERROR) if dtype in FLOAT_TYPES else ("", 0.0)
    return DumpedArray(shown, shape, places if shown.shape != shape else (), *told)
