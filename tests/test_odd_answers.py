"""Answer files that went wrong on the way: each is judged or refused, in a sentence or two."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import attncli
from attncli.core.mechanisms import trace
from attncli.printing.formats import FORMATS, Selection
from tests.conftest import SAMPLES, Attn

SEEDS = 4
"""Number of files of each kind that are made of every sample; `benchmarks/fuzzing.py` makes
thousands."""

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


@pytest.mark.filterwarnings("ignore:.*:DeprecationWarning")
@pytest.mark.parametrize("form", ["yaml", "json", "csv", "npz", "table"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_every_odd_file_is_judged_or_refused(
    name: str, form: str, attn: Attn, tmp_path: Path
) -> None:
    trace = attncli.compute(attncli.load(SAMPLES / name))
    values = {step.name: np.round(step.value, 3).tolist() for step in trace}
    rng = random.Random(f"{name} {form}")
    path = tmp_path / f"answers.{'csv' if form == 'table' else form}"
    for _ in range(SEEDS):
        data = odd_file(values, form, rng)
        path.write_bytes(data)
        assert_judged_or_refused(attn, SAMPLES / name, path, data)


@pytest.mark.parametrize("form", ["json", "yaml", "csv", "npz"])
def test_results_that_were_spoilt(form: str, attn: Attn, tmp_path: Path) -> None:
    """Results of the program itself, and the sheets of the samples."""
    rng = random.Random(form)
    path = tmp_path / f"answers.{form}"
    problem = SAMPLES / "integers_scaled.yaml"
    trace = attncli.compute(attncli.load(problem))
    data = b"".join(FORMATS[form].traces([trace], Selection()))
    for sheet in [data, *(p.read_bytes() for p in sorted((SAMPLES / "answers").iterdir()))]:
        for _ in range(SEEDS // 2):
            path.write_bytes(spoilt(sheet, rng))
            assert_judged_or_refused(attn, problem, path, path.read_bytes())


def assert_judged_or_refused(attn: Attn, problem: Path, path: Path, data: bytes) -> None:
    shown = data[:400]
    for more in ((), ("-f", "json")):
        result = attn("check", problem, path, *more)
        assert result.status in (0, 1, 2), shown
        lines = result.err.splitlines()
        if result.status < 2:
            assert lines == [], shown
            continue
        assert lines, shown
        assert lines[0].startswith((str(path), "nothing.csv", "a.csv")), (lines, shown)
        assert all(line.startswith((str(path), "  ", str(path.parent))) for line in lines), (
            lines,
            shown,
        )
        assert all(len(line) < 1000 for line in lines), (max(lines, key=len)[:300], shown)
        assert "\x1b" not in result.err + result.out


@pytest.mark.parametrize("odd", ["0.1*e^2", "1.0e^10", "-1.heads: 00", "0.5e5."])
def test_a_number_with_a_point_and_an_e_may_be_an_expression_or_nothing(odd: str) -> None:
    problem = attncli.load(SAMPLES / "i_am_good.yaml")
    rows = [[odd, "0.10", "0.3"], ["0.4", "0.5", "0.6"], ["0.1", "0.2", "0.3"]]
    assert attncli.check(problem, {"exp": rows}).verdict == "wrong"


def test_one_key_judges_any_number_of_submissions_as_a_key_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What a key keeps is bounded, and changes nothing in a report."""
    monkeypatch.setattr(trace, "MAX_KEPT_RESULTS", 8)
    problem = attncli.load(SAMPLES / "heads_cut.yaml")
    key, numbers = attncli.AnswerKey(problem), random.Random(5)
    output = key.trace.output
    for _ in range(10):
        digits, factor = numbers.randint(1, 4), 1 + numbers.choice([0, 0.004, -0.02])
        answers = {"output": [[f"{x * factor:.{digits}f}" for x in row] for row in output]}
        ours, alone = key.check(answers), attncli.check(problem, answers)
        assert attncli.render(ours, "json") == attncli.render(alone, "json")
        assert len(key.trace._kept) <= 8
