"""Arrays of NPZ, NPY and safetensors files, and large tables of plain numbers in CSV and blocks."""

from __future__ import annotations

import json
import os
import re
import sys
from itertools import compress
from math import prod
from typing import IO, TYPE_CHECKING, Any, BinaryIO

from attncli.core.arithmetic.machine import of_bytes
from attncli.core.errors import InputError, as_damage, fail
from attncli.core.numbers.written import vanishes
from attncli.core.problem.key_values import MAX_KEPT_AS_WRITTEN
from attncli.core.problem.keys import KEYS, TEXT_KEYS
from attncli.core.problem.shapes import may_be_outline
from attncli.core.text.strings import visible
from attncli.reading.document import Raw, assign
from attncli.reading.files import PACKED_BY

if TYPE_CHECKING:
    from attncli.core.arithmetic.elements import Array

NPY = b"\x93NUMPY"
"""How an NPY file begins."""

OPTIONS_ARRAY = "options"
"""Name of the array of text that attn adds: the options, and which arrays are inputs."""

MAX_ARRAYS = 1000  # in one file

MAX_HEADER = 100_000_000
"""Maximum number of bytes of the header of a safetensors file, as in the library of that name."""

MAX_AXES = 32  # of an array of NumPy

TENSOR_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "BOOL": "?"} | {
    f"{sign}{8 * size}": f"<{sign.lower()}{size}" for sign in "IU" for size in (1, 2, 4, 8)
}
"""Data types of NumPy by their names in safetensors; of BF16 the bits, the upper half of F32."""

MAX_UNPACKED = 100
"""Maximum ratio of unpacked to packed size; numbers shrink to a half, masks to a hundredth."""

SMALL_FILE = 2**26
"""Number of unpacked bytes up to which the ratio does not matter."""

MIN_CHARACTERS = 20_000
"""Shorter texts are read cell by cell, which takes little time and keeps the written digits."""


def table_of(text: str) -> Array | None:
    """Return the numbers of a large matrix of CSV as an array that cannot be changed.

    None is returned for a small matrix, whose digits are kept as written, and for one with labels,
    blank lines, rows of several lengths, decimal commas, or cells other than finite numbers.
    """
    if len(text) < MIN_CHARACTERS or not re.fullmatch(r"[0-9.eE+\-, ;\t\r\n]*", text):
        return None
    import numpy as np

    lines = text.strip("\r\n").splitlines()
    separator = next((sign for sign in "\t;," if sign in lines[0]), None)
    may_be_decimal = separator in ("\t", ";") and "," in text
    if may_be_decimal or not all(map(str.strip, lines)):
        return None
    try:
        array = np.loadtxt(lines, delimiter=separator, comments=None, ndmin=2)
    except ValueError:
        return None
    # 1e-400 is too small for a float.
    is_lost = vanishes("\n".join(compress(lines, (array == 0).any(axis=1))))
    if is_lost or array.size <= MAX_KEPT_AS_WRITTEN or not np.isfinite(array).all():
        return None
    array.flags.writeable = False
    return array


def read(file: BinaryIO, only_shapes: bool = False) -> dict[str, Raw]:
    """Return the arrays of NPZ or safetensors by key, or the one array of an NPY file as X.

    With `only_shapes`, large ones are outlines, whose numbers are not read.
    """
    arrays = _loaded(file, only_shapes)
    if not isinstance(arrays, dict):
        return {"X": arrays}
    about = arrays.pop(OPTIONS_ARRAY, None)
    values: dict[str, Raw] = {}
    if about is None:
        for key, array in arrays.items():
            if key.partition(".")[0] in (*KEYS, "steps"):
                assign(values, key, _plain(array))
            else:  # a program's name, such as blocks.0.attn.hook_q
                values[key] = _plain(array)
        return values
    try:
        known = json.loads(str(about), parse_float=str, parse_int=str)
        inputs = {str(key) for key in known["inputs"]}
        values = {key: known[key] for key in (*TEXT_KEYS, "options") if key in known}
    except (ValueError, KeyError, TypeError, RecursionError):
        raise fail(f"the array {OPTIONS_ARRAY} was not written by attn") from None
    values["inputs"] = {key: _plain(array) for key, array in arrays.items() if key in inputs}
    values["steps"] = {key: array for key, array in arrays.items() if key not in inputs}
    return values


def names(file: BinaryIO) -> list[str]:
    """Return the names of the arrays of an NPZ or safetensors file; none of a damaged one."""
    from zipfile import BadZipFile, ZipFile

    file.seek(0)
    start = file.read(8)
    length = int.from_bytes(start, "little")
    try:
        if start.startswith(b"PK"):
            with ZipFile(file) as archive:
                every = archive.namelist()
            return [name.removesuffix(".npy") for name in every if name.endswith(".npy")]
        return [*json.loads(file.read(length))] if length <= MAX_HEADER else []
    except (ValueError, RecursionError, OSError, BadZipFile):  # its reader says what is wrong
        return []


def _loaded(file: BinaryIO, only_shapes: bool) -> Any:
    import warnings

    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    start = file.read(len(NPY))
    file.seek(0)
    damage = "the file is damaged, or no file of NumPy or safetensors", "save it anew"
    with as_damage(*damage), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy warns of headers that old versions wrote
        if start == NPY:
            return _array(file, size, "X", only_shapes)
        read = _arrays if start.startswith(b"PK") else _tensors
        return read(file, size, only_shapes)


def _arrays(file: BinaryIO, size: int, only_shapes: bool) -> dict[str, Any]:
    """Return the arrays of a zip file of `size` bytes, unless it is a zip bomb."""
    from zipfile import ZipFile, ZipInfo

    with ZipFile(file) as archive:
        members = archive.infolist()
        keys = [member.filename.removesuffix(".npy") for member in members]
        _refuse_names(keys)
        unpacked = sum(member.file_size for member in members)
        if unpacked > max(SMALL_FILE, MAX_UNPACKED * size):
            message = f"the file of {of_bytes(size)} unpacks to {of_bytes(unpacked)}"
            raise fail(message, hint="save it with numpy.savez, which does not compress")
        if any(member.compress_type not in PACKED_BY for member in members):
            raise ValueError

        def read_member(key: str, member: ZipInfo) -> Any:
            with archive.open(member) as inside:
                return _array(inside, member.file_size, key, only_shapes)

        if unpacked <= SMALL_FILE or only_shapes:
            return dict(zip(keys, map(read_member, keys, members), strict=True))
        from concurrent.futures import ThreadPoolExecutor  # few files need it

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return dict(zip(keys, pool.map(read_member, keys, members), strict=True))


def _refuse_names(keys: list[str]) -> None:
    """Refuse names of arrays in a file that are too many, or not different."""
    if len(keys) > MAX_ARRAYS:
        raise fail(f"the file holds {len(keys):,} arrays", hint=f"{MAX_ARRAYS:,} is the most")
    if twice := [key for key in keys if keys.count(key) > 1]:
        message = f"the file holds more than one array {visible(twice[0])}"
        raise fail(message, hint="save it with one of them")


def _tensors(file: BinaryIO, size: int, only_shapes: bool) -> dict[str, Any]:
    """Return the arrays of a safetensors file: https://github.com/huggingface/safetensors#format.

    It begins with the length of a header in JSON, which says what the bytes after it are.
    """
    length = int.from_bytes(file.read(8), "little")
    first = 8 + length
    if length > MAX_HEADER or first > size:
        raise ValueError
    header = json.loads(file.read(length), object_pairs_hook=list)
    about = [(key, dict(pairs)) for key, pairs in header if key != "__metadata__"]
    _refuse_names([key for key, _ in about])
    import numpy as np

    from attncli.core.arithmetic.floats import outline

    arrays, left = dict[str, Any](), size - first
    for key, claims in about:
        kind, shape, (start, end) = (claims[k] for k in ("dtype", "shape", "data_offsets"))
        if kind not in TENSOR_DTYPES:
            message = f"{visible(key)} holds numbers of the type {visible(kind)}"
            raise fail(message, hint=f"save it as one of {', '.join(TENSOR_DTYPES)}")
        if len(shape) > MAX_AXES or any(type(n) is not int or n < 0 for n in (*shape, start, end)):
            raise ValueError
        dtype = np.dtype(TENSOR_DTYPES[kind])
        left -= end - start
        if end - start != prod(shape) * dtype.itemsize or end > size - first or left < 0:
            raise _claimed(key, prod(shape))
        is_half = kind == "BF16"
        if only_shapes and _is_outlined(key, prod(shape), "f" if is_half else dtype.kind):
            arrays[key] = outline(shape, "<f4" if is_half else dtype)
            continue
        file.seek(first + start)
        array = np.ndarray(shape, dtype, file.read(end - start))
        arrays[key] = (array.astype("<u4") << 16).view("<f4") if is_half else array
    return arrays


def _claimed(key: str, count: int) -> InputError:
    message = f"{visible(key)} claims {count:,} numbers, which the file does not hold"
    return fail(message, hint="the file was cut off, or was made to take memory")


def _is_outlined(key: str, count: int, kind: str) -> bool:
    """Return whether the numbers of an array are not read; a small one may be an option."""
    return count > MAX_KEPT_AS_WRITTEN and kind == "f" and may_be_outline(key)


def _array(file: IO[bytes], size: int, key: str, only_shapes: bool) -> Any:
    """Return the array of a file of `size` bytes, unless its header claims more numbers."""
    from numpy.lib import format as npy

    version = npy.read_magic(file)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read(file)
    count = prod(shape)
    if any(length < 0 for length in shape):
        raise ValueError
    if dtype.hasobject:
        raise fail("the file holds Python objects, not numbers", hint="save plain arrays")
    # Texts without a character take no bytes in the file, but some in memory.
    if count * max(dtype.itemsize, 1) > size:
        raise _claimed(key, count)
    if only_shapes and _is_outlined(key, count, dtype.kind):
        from attncli.core.arithmetic.floats import outline

        return outline(shape, dtype)
    file.seek(0)
    array = npy.read_array(file, allow_pickle=False)
    if array.dtype.kind == "U":  # NumPy reads any 32 bits as a character, on which Python fails
        import numpy as np

        codes = np.frombuffer(array.tobytes(), f"{array.dtype.byteorder}u4")
        if (codes > sys.maxunicode).any():
            raise ValueError
    return array


def _plain(array: Any) -> Raw:
    if array.dtype.kind == "S":
        import numpy as np

        array = np.char.decode(array, "utf-8", "replace")
    return array.tolist() if array.dtype.kind == "U" or array.ndim == 0 else array
