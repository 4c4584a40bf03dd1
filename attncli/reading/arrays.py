"""NPZ and NPY files: NumPy arrays, with words as arrays of text."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

from attncli.errors import fail
from attncli.reading.document import Raw, assign

ABOUT = "options"
"""The array that tells, in a file that attn wrote, the problem's matrices from its results."""


def read_npz(data: bytes) -> dict[str, Raw]:
    """Return the arrays of an NPZ file by key.

    Raises:
        InputError: for a file that is damaged, or needs pickle.
    """
    import numpy as np

    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            arrays = {key: file[key] for key in file.files}
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile, zipfile.zlib.error) as e:  # type: ignore[attr-defined]
        raise _damaged(e) from None
    about = arrays.pop(ABOUT, None)
    values: dict[str, Raw] = {}
    if about is None:
        for key, array in arrays.items():
            assign(values, key, _plain(array))
        return values
    try:
        known = json.loads(str(about), parse_float=str, parse_int=str)
        inputs = known["inputs"]
        values = {"title": known["title"], "notes": known["notes"], "options": known["options"]}
    except (ValueError, KeyError, TypeError) as error:
        raise fail(f"the array {ABOUT} was not written by attn: {error}") from None
    values["inputs"] = {key: _plain(arrays[key]) for key in inputs if key in arrays}
    values["steps"] = {key: array for key, array in arrays.items() if key not in inputs}
    return values


def read_npy(data: bytes) -> dict[str, Raw]:
    """Return the one array of an NPY file as X.

    Raises:
        InputError: for a file that is damaged, or needs pickle.
    """
    import numpy as np

    try:
        return {"X": np.load(io.BytesIO(data), allow_pickle=False)}
    except (ValueError, OSError, EOFError) as error:
        raise _damaged(error) from None


def _plain(array: Any) -> Raw:
    if array.dtype.kind not in "US":
        return array
    words: Raw = array.astype(str).tolist()
    return words


def _damaged(error: Exception) -> Exception:
    if "allow_pickle" in str(error):
        return fail("the file holds Python objects, not numbers", hint="save plain arrays")
    return fail("the file is damaged, or no NumPy file")
