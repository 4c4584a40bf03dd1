"""NPZ and NPY files: NumPy arrays, with words as arrays of text."""

from __future__ import annotations

import io
import json
from typing import Any

from attncli.errors import fail
from attncli.files.document import Raw, assign

ABOUT = "options"
"""The array that tells, in a file that attn wrote, the problem's matrices from its results."""


def read(data: bytes) -> dict[str, Raw]:
    """Return the arrays of an NPZ file by key, or the one array of an NPY file as X.

    Raises:
        InputError: for a file that is damaged, or needs pickle.
    """
    arrays = _loaded(data)
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


def _loaded(data: bytes) -> Any:
    """Return what NumPy loads: one array, or the arrays of a zip file by name."""
    import warnings

    import numpy as np

    if not data.startswith((b"PK", b"\x93NUMPY")):
        raise fail(DAMAGED)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # how old the file's header is concerns nobody here
            found = np.load(io.BytesIO(data), allow_pickle=False)
            if isinstance(found, np.ndarray):
                return found
            with found:
                arrays = {key: found[key] for key in found.files}
    # A damaged file can make zipfile, zlib, tokenize and NumPy raise nearly anything.
    except Exception as error:
        if "allow_pickle" not in str(error):
            raise fail(DAMAGED) from None
        message = "the file holds Python objects, not numbers"
        raise fail(message, hint="save plain arrays") from None
    if not all(isinstance(array, np.ndarray) for array in arrays.values()):
        raise fail(DAMAGED)
    return arrays


DAMAGED = "the file is damaged, or no NumPy file"


def _plain(array: Any) -> Raw:
    """Return a matrix as it is, and a single value or words as a text file would give them."""
    if array.dtype.kind == "S":
        import numpy as np

        array = np.char.decode(array, "utf-8", "replace")
    if array.dtype.kind == "U" or array.ndim == 0:
        return array.tolist()
    return array
