"""Files that went wrong on the way: right answers and samples with damage, drawn at random.

A call is such files with a command on them. Every second one is a sample with a few changes, as
careless people make them, with a command that reads a problem; it begins whole, and so gets far,
into backward passes, pages, worksheets and variants. The others are right answers with some damage,
with a command that checks them.
"""

from __future__ import annotations

import json
import random
import re
import shlex
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from html import escape
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import yaml

import attncli
from attncli.core.problem.keys import KEYS as KEYS_OF_PROBLEMS
from attncli.formats import FORMATS
from attncli.printing.selection import Selection
from tests.conftest import SAMPLES, table
from tests.reading.forms import npz

Call: TypeAlias = tuple[dict[str, bytes], list[str]]
"""The files of a command by name, and its arguments; the files are in the current folder."""

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


def cells_of(values: Values) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield the name and the cells of each matrix, of which a head is one by itself."""
    for key, value in values.items():
        rows = value if isinstance(value, list) else [[value]]
        has_heads = np.ndim(np.array(rows, object)) == 3
        heads = {f"{key}[head {h}]": head for h, head in enumerate(rows, 1)} if has_heads else {}
        for name, matrix in (heads or {key: rows}).items():
            cells = [row if isinstance(row, list) else [row] for row in matrix]
            yield str(name), [[str(cell) for cell in row] for row in cells]


def as_csv(values: Values) -> bytes:
    lines = ([name, *map(",".join, cells)] for name, cells in cells_of(values))
    return "\n".join(chain.from_iterable(lines)).encode()


def as_page(values: Values) -> bytes:
    page = "<!DOCTYPE html>"
    for name, cells in cells_of(values):
        rows = (f"<tr><td>{'</td><td>'.join(map(escape, row))}</td></tr>\n" for row in cells)
        page += f"<h2>{escape(name)}</h2>\n<table>{''.join(rows)}</table>\n"
    return page.encode()


def as_notebook(values: Values) -> bytes:
    cells = []
    for name, rows in cells_of(values):
        lines = ",\n".join(f"  [{', '.join(row)}]" for row in rows)
        cells.append({"source": f"{name} = np.array([\n{lines}])".splitlines(True)})
    return json.dumps({"cells": cells, "nbformat": 4}, indent=1).encode()


def as_npz(values: Values, write: Callable[..., bytes] = npz) -> bytes:
    arrays: dict[str, Any] = {}
    for key, value in values.items():
        try:
            array = np.array(value, "f8")
        except (ValueError, TypeError, OverflowError, RuntimeError):
            array = np.array(str(value)[:99])
        if array.ndim < 32 and str(key).strip() and len(str(key)) < 200 and "\x1b" not in str(key):
            arrays[str(key).replace("/", "_")] = array
    return write(**arrays)


WRITERS: dict[str, Callable[[Values], bytes]] = {
    "yaml": lambda values: yaml.safe_dump(values, allow_unicode=True, sort_keys=False).encode(),
    "json": lambda values: json.dumps(values).encode(),
    "csv": as_csv,
    "npz": as_npz,
    "ipynb": as_notebook,
    "html": as_page,
}


def right_answers(trace: attncli.Trace, decimals: int) -> Values:
    return {step.name: np.round(step.value, decimals).tolist() for step in trace}


def odd_files(form: str) -> Iterator[dict[str, Any]]:
    """Yield files of a format with right answers, of which something is odd, and what is true.

    A file is `readable` if only its bytes are written otherwise; else some steps are `damaged`, all
    of them where bytes were lost.
    """
    for name in PROBLEMS:
        trace = attncli.compute(attncli.load(SAMPLES / name))
        rng, values, write = random.Random(f"{name} {form}"), right_answers(trace, 3), WRITERS[form]
        if form == "npz":
            values = {step.name: step.value.tolist() for step in trace}
        own = write(values)
        if form in ("yaml", "json", "csv", "npz"):
            own = b"".join(FORMATS[form].traces([trace], Selection(only=("sum*", "weights*"))))
        file = {"sample": name, "damaged": []}
        for data in (write(values), own):
            word = rng.choice([*READABLE]) if form != "npz" else "as it was"
            yield file | {"data": READABLE[word](data), "readable": word}
            yield file | {"data": lost(data, rng), "damaged": list(values)}
        for _ in range(2):
            changed, touched = damaged(values, rng)
            yield file | {"data": write(changed), "damaged": touched}


# ---- commands on changed files

PROBLEM_CALLS = (
    *(f"compute p.yaml -f {form} -o out.{form}" for form in FORMATS),
    "compute p.yaml",
    "compute p.yaml --why --full",
    "compute p.yaml -f html --live -o live.html",
    "compute p.yaml --set round=2",
    "compute p.yaml --set round=3sf -f json",
    "compute p.yaml --exact",
    "compute p.yaml --set gradient=sum",
    "compute p.yaml --set gradient=sum --set learning_rate=0.1 -f json",
    "compute p.yaml --set tokens_as=columns",
    "explain p.yaml",
    "explain p.yaml 'output[1, 1]' --deep",
    "explain p.yaml weights -f json",
    "explain p.yaml 'output[1, 1]' --exact",
    "count p.yaml",
    "count p.yaml -f json",
    "count p.yaml --set gradient=sum -f csv",
    "vary p.yaml --seed 1",
    *(f"worksheet p.yaml -f {form}" for form in ("html", "yaml", "latex", "moodle", "markdown")),
    "check p.yaml p.yaml",
    "check p.yaml --problem-only",
)
ANSWER_CALLS = (
    "check p.yaml FILE",
    "check p.yaml FILE -f json",
    "check p.yaml FILE --solution",
    "check p.yaml FILE --strict -f markdown",
    "check p.yaml FILE --set round=2",
    "check p.yaml class -f csv",
    "check p.yaml class -f json",
    "check p.yaml FILE -f html",
)

GENTLE = (
    *("0", "1", "-1", "2", "3", "0.5", "1e9", "1e154", "-1e200", "1e308", "1e-200", "1e-320"),
    *("1/3", "sqrt(2)", "1e17"),
)
"""Numbers with which a file may still be used."""

ODD = (
    *("1000001", "sqrt(-1)", "7" * 5000, "0." + "3" * 5000, "②", "٣", "３", "1²", "50%", "0x10"),
    *("1_000", "d_k", "2^9999", "1e999999999", "--1", "causal", "dot", "layer", "output", "loss"),
    *("a: b", "\u202e", "1 2\n3 4", "zeros(2, 2)", "i - j", "I love AI", "sum"),
)


@cache
def samples() -> dict[str, dict[str, Any]]:
    """Return the values of each sample, whose scalars are texts."""
    texts = {path.stem: path.read_text("utf-8") for path in sorted(SAMPLES.glob("*.yaml"))}
    return {name: next(yaml.load_all(text, yaml.BaseLoader)) for name, text in texts.items()}


@cache
def answers(name: str) -> dict[str, Any]:
    """Return the right numbers of a sample, to two decimals."""
    return right_answers(attncli.compute(attncli.load(SAMPLES / f"{name}.yaml")), 2)


def flow(value: Any) -> str:
    """Return a value as a line of YAML, where it can be without quotation marks."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{flow(key)}: {flow(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    is_plain = isinstance(value, str) and re.fullmatch(r"[\w.+/()^-]+", value)
    return str(value) if is_plain else json.dumps(value)


def changed(values: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """Return a file with a key less, a key by another name, an odd number or word, or damage."""
    key, other = rng.choice([*values]), rng.choice([*KEYS_OF_PROBLEMS, *values])
    part = values[key]
    match rng.randrange(8):
        case 0 if len(values) > 1:
            return {name: value for name, value in values.items() if name != key}
        case 1:
            return values | {other: part}
        case 2:
            return values | {key: rng.choice(([part], {other: part}, [part, part], flow(part)))}
        case 3 if isinstance(part, dict):
            return values | {key: [*part.values()]}
        case 3 if isinstance(part, list):
            return values | {key: {str(number): row for number, row in enumerate(part, 1)}}
        case 4 | 5:
            return values | {rng.choice((key, other)): with_odd_cell(part, rng, ODD)}
        case _:
            return damaged(values, rng)[0]


def with_other_numbers(value: Any, rng: random.Random, chance: float) -> Any:
    if isinstance(value, dict):
        return {key: with_other_numbers(part, rng, chance) for key, part in value.items()}
    if isinstance(value, list):
        return [with_other_numbers(part, rng, chance) for part in value]
    is_number = re.fullmatch(r"-?[\d./]+", value)
    return rng.choice(GENTLE) if is_number and rng.random() < chance else value


def changed_gently(values: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """Return a file with other numbers, or a key of another sample, that may still be used."""
    other = rng.choice([*samples().values()])
    if rng.random() < 0.4:
        return dict(with_other_numbers(values, rng, 0.2))
    key = rng.choice([*other])
    return values | {key: other[key]}


def problem_call(rng: random.Random) -> Call:
    """Draw a changed sample, and a command on it."""
    values, is_gentle = rng.choice([*samples().values()]), rng.random() < 0.6
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        values = (changed_gently if is_gentle else changed)(values, rng)
    text = "".join(f"{flow(key)}: {flow(value)}\n" for key, value in values.items())
    data = text.encode("utf-8", "surrogatepass")
    data = lost(data, rng) if not is_gentle and rng.random() < 0.2 else data
    return {"p.yaml": data}, shlex.split(rng.choice(PROBLEM_CALLS))


def answer_call(rng: random.Random) -> Call:
    """Draw damaged answers to a sample, and a command on them."""
    name, form = rng.choice([*samples()]), rng.choice([*WRITERS])
    right = answers(name)
    some = rng.sample([*right], min(len(right), rng.randint(1, 6)))
    values, _ = damaged({step: right[step] for step in right if step in some}, rng)
    data = WRITERS[form](values)
    data = lost(data, rng) if rng.random() < 0.2 else data
    files = {"p.yaml": (SAMPLES / f"{name}.yaml").read_bytes(), f"a.{form}": data}
    arguments = shlex.split(rng.choice(ANSWER_CALLS).replace("FILE", f"a.{form}"))
    if "class" in arguments:
        files |= {f"class/anna/a.{form}": data, "class/ben.json": WRITERS["json"](right)}
    return files, arguments


def drawn_call(number: int) -> Call:
    """Draw the call of a number: a problem, or answers to one."""
    with warnings.catch_warnings(action="ignore"):
        return (problem_call, answer_call)[number % 2](random.Random(number))
