"""What NumPy reads: NPZ and NPY files, and large tables of plain numbers in CSV and text blocks."""

from __future__ import annotations

import json
import os
import re
import sys
from itertools import compress
from math import prod
from typing import IO, TYPE_CHECKING, Any, BinaryIO

from attncli.core.arithmetic.memory import of_bytes
from attncli.core.errors import InputError, fail
from attncli.core.numbers.written import vanishes
from attncli.core.problem.key_values import MAX_KEPT_AS_WRITTEN
from attncli.core.problem.keys import KEYS
from attncli.core.problem.kinds import TEXT_KEYS
from attncli.core.text.strings import visible
from attncli.reading.document import Raw, assign

if TYPE_CHECKING:
    from attncli.core.arithmetic.elements import Array

NPY = b"\x93NUMPY"
"""How an NPY file begins."""

OPTIONS_ARRAY = "options"
"""Name of the array of text that attn adds: the options, and which arrays are inputs."""

DAMAGED = "the file is damaged, or no NumPy file"

MAX_ARRAYS = 1000  # in one NPZ file

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


def read(file: BinaryIO) -> dict[str, Raw]:
    """Return the arrays of an NPZ file by key, or the one array of an NPY file as X."""
    arrays = _loaded(file)
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


def _loaded(file: BinaryIO) -> Any:
    import warnings

    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    start = file.read(len(NPY))
    file.seek(0)
    if not start.startswith((b"PK", NPY)):
        raise fail(DAMAGED)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy warns of headers that old versions wrote
            return _array(file, size, "X") if start == NPY else _arrays(file, size)
    except (InputError, MemoryError):
        raise
    # A damaged file can make zipfile, zlib, tokenize and NumPy raise nearly anything.
    except Exception as error:
        if "allow_pickle" not in str(error):
            raise fail(DAMAGED) from None
        message = "the file holds Python objects, not numbers"
        raise fail(message, hint="save plain arrays") from None


def _arrays(file: BinaryIO, size: int) -> dict[str, Any]:
    """Return the arrays of a zip file of `size` bytes, unless it is a zip bomb."""
    from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

    with ZipFile(file) as archive:
        members = archive.infolist()
        if len(members) > MAX_ARRAYS:
            hint = f"{MAX_ARRAYS:,} is the most"
            raise fail(f"the file holds {len(members):,} arrays", hint=hint)
        keys = [member.filename.removesuffix(".npy") for member in members]
        if twice := [key for key in keys if keys.count(key) > 1]:
            message = f"the file holds more than one array {visible(twice[0])}"
            raise fail(message, hint="save it with one of them")
        unpacked = sum(member.file_size for member in members)
        if unpacked > max(SMALL_FILE, MAX_UNPACKED * size):
            message = f"the file of {of_bytes(size)} unpacks to {of_bytes(unpacked)}"
            raise fail(message, hint="save it with numpy.savez, which does not compress")
        # NumPy writes no other compression, and zipfile bounds what it unpacks at once in these.
        if any(member.compress_type not in (ZIP_STORED, ZIP_DEFLATED) for member in members):
            raise fail(DAMAGED)

        def read_member(member: ZipInfo) -> Any:
            with archive.open(member) as inside:
                return _array(inside, member.file_size, member.filename.removesuffix(".npy"))

        if unpacked <= SMALL_FILE:
            return dict(zip(keys, map(read_member, members), strict=True))
        from concurrent.futures import ThreadPoolExecutor  # few files need it

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return dict(zip(keys, pool.map(read_member, members), strict=True))


def _array(file: IO[bytes], size: int, key: str) -> Any:
    """Return the array of a file of `size` bytes, unless its header claims more numbers."""
    from numpy.lib import format as npy

    version = npy.read_magic(file)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read(file)
    count = prod(shape)
    if any(length < 0 for length in shape):
        raise fail(DAMAGED)
    # Texts without a character take no bytes in the file, but some in memory.
    if not dtype.hasobject and count * max(dtype.itemsize, 1) > size:
        message = f"{visible(key)} claims {count:,} numbers, which the file does not hold"
        raise fail(message, hint="the file was cut off, or was made to take memory")
    file.seek(0)
    array = npy.read_array(file, allow_pickle=False)
    if array.dtype.kind == "U":  # NumPy reads any 32 bits as a character, on which Python fails
        import numpy as np

        codes = np.frombuffer(array.tobytes(), f"{array.dtype.byteorder}u4")
        if (codes > sys.maxunicode).any():
            raise fail(DAMAGED)
    return array


def _plain(array: Any) -> Raw:
    if array.dtype.kind == "S":
        import numpy as np

        array = np.char.decode(array, "utf-8", "replace")
    return array.tolist() if array.dtype.kind == "U" or array.ndim == 0 else array
