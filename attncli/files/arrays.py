"""NPZ and NPY files: NumPy arrays, with words as arrays of text."""

from __future__ import annotations

import json
import os
import sys
from math import prod
from typing import Any, BinaryIO

from attncli.arithmetic.memory import of_bytes
from attncli.errors import InputError, fail
from attncli.files.document import Raw, assign
from attncli.text.escapes import visible

NPY = b"\x93NUMPY"
"""How an NPY file begins."""

ABOUT = "options"
"""The array that tells, in a file that attn wrote, the problem's matrices from its results."""


def read(file: BinaryIO) -> dict[str, Raw]:
    """Return the arrays of an NPZ file by key, or the one array of an NPY file as X.

    Raises:
        InputError: for a file that is damaged, or needs pickle.
    """
    arrays = _loaded(file)
    if not isinstance(arrays, dict):
        return {"X": arrays}
    about = arrays.pop(ABOUT, None)
    values: dict[str, Raw] = {}
    if about is None:
        for key, array in arrays.items():
            assign(values, key, _plain(array))
        return values
    try:
        known = json.loads(str(about), parse_float=str, parse_int=str)
        inputs = {str(key) for key in known["inputs"]}
        values = {key: known[key] for key in ("title", "notes", "options")}
    except (ValueError, KeyError, TypeError, RecursionError):
        raise fail(f"the array {ABOUT} was not written by attn") from None
    values["inputs"] = {key: _plain(array) for key, array in arrays.items() if key in inputs}
    values["steps"] = {key: array for key, array in arrays.items() if key not in inputs}
    return values


def _loaded(file: BinaryIO) -> Any:
    """Return what NumPy loads: one array, or the arrays of a zip file by name."""
    import warnings

    import numpy as np

    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    start = file.read(len(NPY))
    if not start.startswith((b"PK", NPY)):
        raise fail(DAMAGED)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # how old the file's header is concerns nobody here
            file.seek(0)
            _check_size(file, size, is_zip=start != NPY)
            file.seek(0)
            found = np.load(file, allow_pickle=False)
            if isinstance(found, np.ndarray):
                arrays = {"X": found}
            else:
                with found:
                    arrays = {key: found[key] for key in found.files}
    except (InputError, MemoryError):
        raise
    # A damaged file can make zipfile, zlib, tokenize and NumPy raise nearly anything.
    except Exception as error:
        if "allow_pickle" not in str(error):
            raise fail(DAMAGED) from None
        message = "the file holds Python objects, not numbers"
        raise fail(message, hint="save plain arrays") from None
    if not all(isinstance(a, np.ndarray) and _is_whole(a) for a in arrays.values()):
        raise fail(DAMAGED)
    return found if isinstance(found, np.ndarray) else arrays


def _is_whole(array: Any) -> bool:
    """Return whether an array holds no text of characters that there are not.

    NumPy makes strings of any 32 bits, on which Python's own operations then fail.
    """
    import numpy as np

    if array.dtype.kind != "U":
        return True
    codes = np.frombuffer(array.tobytes(), f"{array.dtype.byteorder}u4")
    return bool((codes <= sys.maxunicode).all())


def _check_size(file: BinaryIO, size: int, is_zip: bool) -> None:
    """Refuse, before any of it is there, what would take more memory than the file can mean.

    Raises:
        InputError: for a zip bomb, for more arrays than a problem has, for two of the same name,
            and for an array that claims more numbers than stand in its file.
    """
    from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

    if not is_zip:
        _check_header(file, size, "X")
        return
    with ZipFile(file) as archive:
        members = archive.infolist()
        if len(members) > MOST_ARRAYS:
            message = f"the file holds {len(members):,} arrays"
            raise fail(message, hint=f"{MOST_ARRAYS:,} is the most")
        keys = [member.filename.removesuffix(".npy") for member in members]
        if twice := [key for key in keys if keys.count(key) > 1]:
            message = f"the file holds more than one array {visible(twice[0])}"
            raise fail(message, hint="save it with one of them")
        whole = sum(member.file_size for member in members)
        if whole > max(SURELY_SMALL, MOST_UNPACKED * size):
            message = f"the file of {of_bytes(size)} unpacks to {of_bytes(whole)}"
            raise fail(message, hint="save it with numpy.savez, which does not compress")
        for member in members:
            # NumPy writes no others, and of these alone zipfile bounds what is unpacked at once.
            if member.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
                raise fail(DAMAGED)
            with archive.open(member) as inside:
                _check_header(inside, member.file_size, member.filename.removesuffix(".npy"))


def _check_header(file: Any, size: int, key: str) -> None:
    """Refuse an array whose header claims more numbers than a file of so many bytes can hold."""
    from numpy.lib import format as npy

    version = npy.read_magic(file)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read(file)
    count = prod(shape)
    if any(length < 0 for length in shape):
        raise fail(DAMAGED)
    # Texts without a character take no bytes in the file, but some where they are read to.
    if not dtype.hasobject and count * max(dtype.itemsize, 1) > size:
        message = f"{visible(key)} claims {count:,} numbers, which the file does not hold"
        raise fail(message, hint="the file was cut off, or was made to take memory")


DAMAGED = "the file is damaged, or no NumPy file"

MOST_ARRAYS = 1000

MOST_UNPACKED = 100
"""How many times its size a file may unpack to; numbers shrink to a half, masks to a hundredth."""

SURELY_SMALL = 2**26
"""Up to so many bytes it does not matter how much smaller a file is."""


def _plain(array: Any) -> Raw:
    """Return a matrix as it is, and a single value or words as a text file would give them."""
    if array.dtype.kind == "S":
        import numpy as np

        array = np.char.decode(array, "utf-8", "replace")
    return array.tolist() if array.dtype.kind == "U" or array.ndim == 0 else array
