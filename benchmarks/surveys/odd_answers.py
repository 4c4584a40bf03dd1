"""Answer files that went wrong on the way, for tests/checking/test_damaged_answers.py.

`python -m benchmarks.surveys.odd_answers` makes some of every sample and format anew.
"""

from __future__ import annotations

import io
import json
import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import yaml

import attncli
from attncli.printing.formats import FORMATS, Selection
from tests.checking.test_damaged_answers import FILES
from tests.conftest import SAMPLES

SEEDS = 3
"""Number of files of each kind that are made of every sample."""

PROBLEMS = (
    "integers_scaled.yaml",
    "i_am_good.yaml",
    "heads_cut.yaml",
    "mask_causal.yaml",
    "recurrent.yaml",
    "co_attention.yaml",
)

ODD_CELLS: list[Any] = [
    *(
        "",
        "~",
        "?",
        "x",
        "1,5",
        "1,202",
        "13%",
        "≈0.1",
        "1e400",
        "1e-400",
        "-inf",
        "inf",
        "nan",
        "NaN",
        "1/0",
    ),
    *(
        "true",
        "2024-01-01",
        "0..5",
        "9" * 400,
        "(" * 80,
        "\x1b[31m",
        "½",
        "＃",
        "−1",
        "1 2",
        "=1+1",
    ),
    *(0, -1, 1e300, float("nan"), float("-inf"), True, None, [], [1], {}, {"a": 1}, [[[[[1]]]]]),
]
ODD_KEYS = [
    *("", " ", "weights", "Weights", "wieghts", "A", "Z", "scaled", "context", "scores[1, 1]", "X"),
    *(
        "scores[",
        "scores]",
        "scores[9, 9]",
        "Q_2",
        "Q[head 3]",
        "z_am",
        "_",
        "a\x1b[1mb",
        "w" * 5000,
    ),
    *("answers", "steps", "value", "student", "comment", "__class__", "名", "S[1][1][1][1]"),
]
ODD_VALUES: list[Any] = [
    *(
        "",
        "1",
        "words",
        "1 2\n3",
        "1,0",
        "a.csv",
        "nothing.csv",
        "../x.npy",
        "[1 2; 3 4]",
        "| 1 | 2 |",
    ),
    *(
        [],
        [[]],
        [[], []],
        [1, [2]],
        {},
        {"value": 3},
        {"value": {}},
        5,
        None,
        True,
        [["1", "2"], ["3"]],
    ),
    *([[[[[[1]]]]]], [{"a": 1}], [[1, 2, 3]] * 50),
]


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def mutated(values: dict[str, Any], rng: random.Random) -> Any:
    """Return answers of which something is odd."""
    values = dict(values)
    for _ in range(rng.randint(1, 3)):
        key = rng.choice(list(values) or ["scores"])
        action = rng.randrange(10)
        if action == 0:
            values.pop(key, None)
        elif action == 1:
            values[rng.choice(ODD_KEYS)] = values.get(key)
        elif action < 7:
            values[key] = odd_value(values.get(key), rng)
        elif action == 7:
            values = {rng.choice(["answers", "steps", "x"]): values}
        elif action == 8:
            values = {k: values[k] for k in rng.sample(list(values), len(values))}
        else:
            values[rng.choice(["student", "comment", "title", "notes"])] = rng.choice(ODD_VALUES)
    return [values, *rng.choices(ODD_VALUES, k=2)] if rng.random() < 0.1 else values


def odd_value(value: Any, rng: random.Random) -> Any:
    """Return a matrix with something odd in it, in other rows, or something else."""
    rows = value if isinstance(value, list) else [value]
    ways: list[Callable[[], Any]] = [
        lambda: rng.choice(ODD_VALUES),
        lambda: with_odd_cell(value, rng),
        lambda: nested(rng.choice([3, 10, 70])),
        lambda: rows[::-1],
        lambda: rows[: rng.randrange(3)],
    ]
    return rng.choice(ways)()


def with_odd_cell(value: Any, rng: random.Random) -> Any:
    if not isinstance(value, list) or not value:
        return rng.choice(ODD_CELLS)
    at = rng.randrange(len(value))
    return [with_odd_cell(item, rng) if i == at else item for i, item in enumerate(value)]


def spoilt(data: bytes, rng: random.Random) -> bytes:
    """Return the bytes of a file as mail, editors and full disks leave them."""
    at = rng.randrange(len(data) + 1)
    pieces = [
        b"\x00",
        b"\xff\xfe",
        b"\xe9",
        b"\n",
        b"\t",
        b'"',
        b"[",
        b"]",
        b"{",
        b",",
        b";",
        b"---\n",
    ]
    ways: list[Callable[[], bytes]] = [
        lambda: data,
        lambda: data,
        lambda: data[:at],
        lambda: b"\xef\xbb\xbf" + data,
        lambda: data.replace(b"\n", b"\r\n"),
        lambda: data.replace(b"\n", b"\r"),
        lambda: data[:at] + rng.choice(pieces) + data[at:],
        lambda: data[:at] + data[at + rng.randrange(1, 30) :],
        lambda: data.decode("utf-8", "replace").encode("utf-16"),
        lambda: data + data,
        lambda: bytes(rng.randrange(256) for _ in range(60)),
        lambda: b"",
    ]
    return rng.choice(ways)()


def as_yaml(values: Any) -> bytes:
    return yaml.safe_dump(values, allow_unicode=True, sort_keys=False).encode()


def as_json(values: Any) -> bytes:
    return json.dumps(values).encode()


def as_csv(values: Any, rng: random.Random) -> bytes:
    """Return blocks, with labels that may be of other words or in another order."""
    lines = []
    for key, value in values.items() if isinstance(values, dict) else ():
        lines.append([str(key)])
        rows = value if isinstance(value, list) else [[value]]
        words = [*("I", "am", "good", "a1", "a2", "a3", "1", "2", "the", ""), "x,y", "am "]
        labels = rng.choice([None, None, rng.sample(words, min(len(rows), len(words)))])
        if labels and rng.random() < 0.5:
            lines.append(["", *rng.sample(words, 3)])
        for i, row in enumerate(rows):
            cells = [str(cell) for cell in (row if isinstance(row, list) else [row])]
            lines.append([labels[i], *cells] if labels and i < len(labels) else cells)
    sign = rng.choice([",", ",", ";", "\t"])
    return "\n".join(sign.join(line) for line in lines).encode("utf-8", "replace")


def as_npz(values: Any, rng: random.Random) -> bytes:
    arrays: dict[str, Any] = {}
    for key, value in values.items() if isinstance(values, dict) else ():
        kinds = ["f2", "f4", "f8", "i4", "c8", "U9", "O", "?", "M8[s]"]
        try:
            array = np.array(value, rng.choice([*kinds, "f8", "f8"]))
        except (ValueError, TypeError, OverflowError, RuntimeError):
            array = np.array(str(value)[:99])
        # NumPy cannot save so many axes of objects itself.
        if array.ndim < 32 and str(key).strip() and len(str(key)) < 200 and "\x1b" not in str(key):
            arrays[str(key).replace("/", "_")] = array
    buffer = io.BytesIO()
    with np.errstate(all="ignore"):
        np.savez(buffer, **arrays)
    return buffer.getvalue()


def as_table(values: Any, rng: random.Random) -> bytes:
    """Return a table of a class, a row a student or a row a number."""
    cells = []
    for key, value in values.items() if isinstance(values, dict) else ():
        rows = value if isinstance(value, list) else [value]
        for i, row in enumerate(rows):
            for j, cell in enumerate(row if isinstance(row, list) else [row]):
                cells.append((str(key).replace('"', ""), i + 1, j + 1, str(cell)[:50]))
    cells = rng.sample(cells, min(len(cells), 12))
    if rng.random() < 0.5:
        header = ",".join(f'"{key}[{i},{j}]"' for key, i, j, _ in cells)
        return f"name,{header}\nAda,{','.join(cell for *_, cell in cells)}\nBo\n".encode()
    lines = [f'Ada,"{key}",{i},{j},"{cell}"' for key, i, j, cell in cells]
    return "\n".join(["student,step,row,column,value", *lines]).encode("utf-8", "replace")


def odd_file(values: dict[str, Any], form: str, rng: random.Random) -> bytes:
    changed = mutated(values, rng)
    with np.errstate(all="ignore"):
        if form in ("yaml", "json"):
            data = as_yaml(changed) if form == "yaml" else as_json(changed)
        else:
            data = {"csv": as_csv, "npz": as_npz, "table": as_table}[form](changed, rng)
    return spoilt(data, rng) if rng.random() < 0.5 else data


def odd_files() -> Iterator[tuple[str, str, bytes]]:
    """Yield the names of a sample and of a format, with a file of odd answers to it."""
    for name in PROBLEMS:
        trace = attncli.compute(attncli.load(SAMPLES / name))
        values = {step.name: np.round(step.value, 3).tolist() for step in trace}
        for form in ("yaml", "json", "csv", "npz", "table"):
            rng = random.Random(f"{name} {form}")
            suffix = "csv" if form == "table" else form
            yield from ((name, suffix, odd_file(values, form, rng)) for _ in range(SEEDS))


def spoilt_results() -> Iterator[tuple[str, str, bytes]]:
    """Yield results of the program itself, and the sheets of the samples, as mail leaves them."""
    problem = "integers_scaled.yaml"
    trace = attncli.compute(attncli.load(SAMPLES / problem))
    for form in ("json", "yaml", "csv", "npz"):
        rng = random.Random(form)
        data = b"".join(FORMATS[form].traces([trace], Selection()))
        for sheet in [data, *(p.read_bytes() for p in sorted((SAMPLES / "answers").iterdir()))]:
            yield problem, form, spoilt(sheet, rng)


if __name__ == "__main__":
    with warnings.catch_warnings(action="ignore"):
        made = [*odd_files(), *spoilt_results()]
    lines = [json.dumps([name, suffix, data.decode("latin-1")]) for name, suffix, data in made]
    FILES.write_text("\n".join(lines) + "\n", encoding="utf-8")
