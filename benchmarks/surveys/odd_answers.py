"""Right answers in files that went wrong on the way, for tests/checking/test_damaged_answers.py.

`python -m benchmarks.surveys odd_answers --record` makes some of several samples and formats anew,
and `benchmarks/fuzzing.py` thousands. A file is `readable`, so that its numbers are right whoever
reads it with care; or some of its steps are `damaged`; or nothing can be said of it, as its bytes
were lost.
"""

from __future__ import annotations

import argparse
import json
import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import yaml

import attncli
from attncli.printing.formats import FORMATS, Selection
from tests.checking.test_damaged_answers import FILES
from tests.conftest import SAMPLES, table
from tests.reading.forms import npz

PROBLEMS = (
    *("i_am_good.yaml", "heads_cut.yaml", "mask_causal.yaml"),
    *("recurrent.yaml", "co_attention.yaml"),
)
CELLS = [*table("damaged_answers", "cells"), "9" * 400, "(" * 80]
KEYS = [*table("damaged_answers", "keys"), "w" * 5000]
VALUES = table("damaged_answers", "values")

Values = dict[str, Any]


def with_odd_cell(value: Any, rng: random.Random, cells: Sequence[Any] = CELLS) -> Any:
    """Return nested values of which one cell is odd."""
    if not isinstance(value, dict | list) or not value:
        return rng.choice(cells)
    if isinstance(value, dict):
        key = rng.choice([*value])
        return value | {key: with_odd_cell(value[key], rng, cells)}
    at = rng.randrange(len(value))
    return [with_odd_cell(item, rng, cells) if i == at else item for i, item in enumerate(value)]


def nested(levels: int) -> Any:
    return [nested(levels - 1)] if levels else 1


DAMAGES: tuple[Callable[[Any, random.Random], Any], ...] = (
    lambda rows, rng: rng.choice(VALUES),
    with_odd_cell,
    lambda rows, rng: nested(rng.choice([3, 10, 70])),
    lambda rows, rng: rows[::-1],
    lambda rows, rng: rows[: rng.randrange(3)],
)
"""What becomes of the rows of a matrix."""


def damaged(values: Values, rng: random.Random) -> tuple[Values, list[str]]:
    """Return answers of which some steps are damaged, and which."""
    values = dict(values)
    touched: list[str] = []
    for _ in range(rng.randint(1, 3)):
        key = rng.choice(list(values))
        rows = values[key] if isinstance(values[key], list) else [values[key]]
        if rng.random() < 0.2:  # what follows an odd name may be taken for any step
            key = rng.choice(KEYS)
            touched += values
        values[key] = rng.choice(DAMAGES)(rows, rng)
        touched.append(key)
    return values, touched


READABLE: dict[str, Callable[[bytes], bytes]] = {
    "as it was": lambda data: data,
    "with a byte-order mark": lambda data: b"\xef\xbb\xbf" + data,
    "with line ends of Windows": lambda data: data.replace(b"\n", b"\r\n"),
    "with line ends of old Macs": lambda data: data.replace(b"\n", b"\r"),
    "in UTF-16": lambda data: data.decode().encode("utf-16"),
}
"""What mail and editors do to the bytes of a text that leaves all of it readable."""

PIECES = (b"\x00", b"\xff\xfe", b"\xe9", b"\n", b"\t", b'"', b"[", b"]", b"{", b",", b";", b"---\n")


def lost(data: bytes, rng: random.Random) -> bytes:
    """Return the bytes of a file as bad mail and full disks leave them."""
    at = rng.randrange(len(data) + 1)
    ways = (data[:at], data[:at] + rng.choice(PIECES) + data[at:], data + data, b"")
    dropped = data[:at] + data[at + rng.randrange(1, 30) :]
    return rng.choice((*ways, dropped, rng.randbytes(60)))


def as_csv(values: Values) -> bytes:
    lines = []
    for key, value in values.items():
        rows = value if isinstance(value, list) else [[value]]
        has_heads = np.ndim(np.array(rows, object)) == 3
        heads = {f"{key}[head {h}]": head for h, head in enumerate(rows, 1)} if has_heads else {}
        for name, matrix in (heads or {key: rows}).items():
            cells = [row if isinstance(row, list) else [row] for row in matrix]
            lines += [str(name), *(",".join(map(str, row)) for row in cells)]
    return "\n".join(lines).encode()


def as_npz(values: Values) -> bytes:
    arrays: dict[str, Any] = {}
    for key, value in values.items():
        try:
            array = np.array(value, "f8")
        except (ValueError, TypeError, OverflowError, RuntimeError):
            array = np.array(str(value)[:99])
        if array.ndim < 32 and str(key).strip() and len(str(key)) < 200 and "\x1b" not in str(key):
            arrays[str(key).replace("/", "_")] = array
    return npz(**arrays)


WRITERS: dict[str, Callable[[Values], bytes]] = {
    "yaml": lambda values: yaml.safe_dump(values, allow_unicode=True, sort_keys=False).encode(),
    "json": lambda values: json.dumps(values).encode(),
    "csv": as_csv,
    "npz": as_npz,
}


def right_answers(trace: attncli.Trace, decimals: int) -> Values:
    return {step.name: np.round(step.value, decimals).tolist() for step in trace}


def odd_files() -> Iterator[dict[str, Any]]:
    """Yield files of right answers, of which something is odd, with what is true of them."""
    for name in PROBLEMS:
        trace = attncli.compute(attncli.load(SAMPLES / name))
        for form, write in WRITERS.items():
            rng, values = random.Random(f"{name} {form}"), right_answers(trace, 3)
            if form == "npz":
                values = {step.name: step.value.tolist() for step in trace}
            own = b"".join(FORMATS[form].traces([trace], Selection(only=("sum*", "weights*"))))
            file = {"sample": name, "suffix": form, "damaged": []}
            for data in (write(values), own):
                word = rng.choice([*READABLE]) if form != "npz" else "as it was"
                yield file | {"data": READABLE[word](data), "readable": word}
                yield file | {"data": lost(data, rng), "damaged": list(values)}
            for _ in range(2):
                changed, touched = damaged(values, rng)
                yield file | {"data": write(changed), "damaged": touched}


def main(given: argparse.Namespace) -> Iterator[str]:
    """Write the files of the test."""
    with warnings.catch_warnings(action="ignore"):
        files = [file | {"data": file["data"].decode("latin-1")} for file in odd_files()]
    if given.record:
        text = "".join(json.dumps(file) + "\n" for file in files)
        FILES.write_text(text, encoding="utf-8")
    yield f"{len(files)} files"
