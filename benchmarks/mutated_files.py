"""Samples and right answers with one to three changes, as thousands of careless people make them.

They begin as whole samples of every kind and so get far: into backward passes, pages, worksheets
and variants.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from functools import cache
from typing import Any, TypeAlias

import attncli
from attncli.core.problem.keys import KEYS
from attncli.reading.load import csv_options
from attncli.reading.read import read
from tests.conftest import SAMPLES

Call: TypeAlias = tuple[dict[str, bytes], tuple[str, ...]]
"""The files of a call by name, and its arguments; the files are in the current folder."""

NUMBERS = (
    "0", "-0", "-1", "2", "3", "1000001", "0.5", "1e308", "-1e308", "1e-320", "1e400", "-.inf",
    ".inf", ".nan", "1/3", "1/0", "sqrt(-1)", "9" * 400, "7" * 5000, "0." + "3" * 5000, "②", "½",
    "٣", "３", "1²", "50%", "1,5", "0x10", "1_000", "d_k", "2^9999", "1e999999999", "--1",
)  # fmt: skip
WORDS = (
    "", "~", "null", "true", "x", "causal", "dot", "layer", "output", "weights", "a: b", "[1]",
    "\x1b[31m", "\u202e", "1 2\n3 4", "zeros(2, 2)", "i - j", "I love AI", "loss", "sum", "2",
)  # fmt: skip
TOKENS = (
    b"[", b"]", b"{", b"}", b":", b": ", b"- ", b"\n", b"\n---\n", b"...\n", b"&a ", b"*a ",
    b"|", b">", b"#", b'"', b"'", b",", b"\t", b"\r", b"\x00", b"\xff", b"\xef\xbb\xbf", b"~",
    b"=", b"np.array(", b"\\begin{bmatrix}", b"&", b"$$", b"%", b"\xc2\xb2", b"\xe2\x91\xa1",
)  # fmt: skip
GENTLE = (
    "0", "1", "-1", "2", "3", "0.5", "1e9", "1e154", "-1e200", "1e308", "1e-200", "1e-320", "1/3",
    "sqrt(2)", "1e17",
)  # fmt: skip
RARELY = 0.2


class Bare(str):
    """A text that is written without quotation marks."""


def flow(value: Any) -> str:
    """Return a value as a line of YAML."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{flow(key)}: {flow(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    return str(value) if isinstance(value, Bare) else json.dumps(value)


def whole(values: dict[str, Any]) -> str:
    """Return a mapping as a file of YAML, one key per line; a key in a list of pairs may repeat."""
    return "".join(f"{flow(key)}: {flow(value)}\n" for key, value in values.items())


def bare(raw: Any) -> Any:
    """Return what was read, whose scalars are texts, as what is written without marks."""
    if isinstance(raw, dict):
        return {key: bare(part) for key, part in raw.items()}
    if isinstance(raw, list):
        return [bare(part) for part in raw]
    text = str(raw)
    return Bare(text) if text and all(c.isalnum() or c in "._-+/" for c in text) else text


@cache
def samples() -> dict[str, dict[str, Any]]:
    """The values of each sample, by name."""
    return {
        path.stem: bare(next(iter(read(path, None, csv_options()))).values)
        for path in sorted(SAMPLES.glob("*.yaml"))
    }


@cache
def right_answers(name: str) -> dict[str, Any]:
    """The right numbers of a sample, to two decimals."""
    trace = attncli.compute(attncli.load(SAMPLES / f"{name}.yaml"))
    found: dict[str, Any] = {}
    for step in trace:
        found[step.name] = _written(step.value.tolist())
    return found


def _written(value: Any) -> Any:
    return [*map(_written, value)] if isinstance(value, list) else Bare(f"{value:.2f}")


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every part of nested values."""
    if path:
        yield path
    if isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(part, (*path, key))


def at(value: Any, path: tuple[Any, ...]) -> Any:
    """Return the part of nested values at a path."""
    for key in path:
        value = value[key]
    return value


def put(value: Any, path: tuple[Any, ...], part: Any) -> None:
    """Replace the part at a path."""
    at(value, path[:-1])[path[-1]] = part


def some(chance: random.Random) -> Any:
    """Return a value of any kind."""
    match chance.randrange(9):
        case 0 | 1 | 2:
            return Bare(chance.choice(NUMBERS))
        case 3 | 4:
            return chance.choice(WORDS)
        case 5:
            return chance.choice(([], {}, [[]], [[[]]], [None], None, [{}], {"": []}))
        case 6:
            return {chance.choice([*KEYS, "name", "W", "v", "eps"]): some(chance)}
        case 7:
            return [some(chance) for _ in range(chance.randrange(4))]
        case _:
            rows, columns = chance.randint(1, 4), chance.randint(1, 4)
            return [[Bare(str(chance.randint(-3, 3))) for _ in range(columns)] for _ in range(rows)]


def change(  # noqa: C901, PLR0912 - a case for each kind of change
    values: dict[str, Any], chance: random.Random, names: list[str]
) -> None:
    """Change one part of a file's values."""
    everywhere = [*places(values)]
    if not everywhere:
        return
    # Cells are by far the most; a third of the changes are of whole keys.
    top = [path for path in everywhere if len(path) <= chance.randint(1, 4)]
    path = chance.choice(top or everywhere)
    part, above = at(values, path), at(values, path[:-1])
    match chance.randrange(14):
        case 0:
            del above[path[-1]]
        case 1:
            put(values, path, copy.deepcopy(at(values, chance.choice(everywhere))))
        case 2:
            put(values, path, some(chance))
        case 3:
            put(values, path, None)
        case 4:
            put(values, path, [part] if chance.random() < 0.7 else {chance.choice(names): part})
        case 5 if isinstance(above, list):
            above.insert(path[-1], copy.deepcopy(part))
        case 5 | 6:
            values[chance.choice(names)] = copy.deepcopy(part)
        case 7 if isinstance(part, list) and part:
            part.pop(chance.randrange(len(part)))
        case 7 | 8 if isinstance(part, list):
            part.append(copy.deepcopy(part[-1]) if part else some(chance))
        case 8 if isinstance(above, dict):
            above[chance.choice(names)] = above.pop(path[-1])
        case 9 if isinstance(part, list) and part:
            put(values, path, part[0])
        case 10 if isinstance(part, list):
            put(values, path, {str(i + 1): row for i, row in enumerate(part)})
        case 10 if isinstance(part, dict):
            put(values, path, [*part.values()])
        case 11:
            put(values, path, flow(part))
        case 12:
            numbers = [p for p in everywhere if isinstance(at(values, p), Bare)]
            if numbers:
                put(values, chance.choice(numbers), Bare(chance.choice(NUMBERS)))
        case _:
            values[chance.choice(names)] = some(chance)


def broken(data: bytes, chance: random.Random) -> bytes:
    """Change some bytes."""
    for _ in range(chance.randint(1, 3)):
        start = chance.randrange(len(data) + 1)
        match chance.randrange(5):
            case 0 if data:
                where = start % len(data)
                flipped = bytes([data[where] ^ (1 << chance.randrange(8))])
                data = data[:where] + flipped + data[where + 1 :]
            case 1:
                data = data[:start]
            case 2:
                data = data[:start] + data[start + chance.randint(1, 40) :]
            case 3:
                end = start + chance.randint(1, 60)
                data = data[:end] + data[start:]
            case _:
                data = data[:start] + chance.choice(TOKENS) + data[start:]
    return data


def change_gently(
    values: dict[str, Any], chance: random.Random, others: list[dict[str, Any]]
) -> None:
    """Change a number, or take a key from another file, so that the file may still be used."""
    other = chance.choice(others)
    if chance.random() < 0.6 and other:
        key = chance.choice([*other])
        values[key] = copy.deepcopy(other[key])
        return
    numbers = [p for p in places(values) if isinstance(at(values, p), Bare)]
    for path in chance.sample(numbers, min(len(numbers), chance.choice((1, 1, 2, 50)))):
        put(values, path, Bare(chance.choice(GENTLE)))


def mutated(
    values: dict[str, Any], chance: random.Random, names: list[str], others: list[dict[str, Any]]
) -> bytes:
    """Return a file of these values with a few changes."""
    values = copy.deepcopy(values)
    if chance.random() < 0.6:
        for _ in range(chance.choice((1, 1, 2))):
            change_gently(values, chance, others)
        return whole(values).encode("utf-8", "surrogatepass")
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        change(values, chance, names)
    data = whole(values).encode("utf-8", "surrogatepass")
    if chance.random() < RARELY / 4:
        data += data[: data.find(b"\n") + 1]  # a key twice
    return broken(data, chance) if chance.random() < RARELY else data


FORMATS = (
    "table",
    "json",
    "csv",
    "tidy",
    "yaml",
    "markdown",
    "latex",
    "html",
    "numpy",
    "npz",
    "svg",
)
PROBLEM_CALLS: tuple[tuple[str, ...], ...] = (
    *(("compute", "p.yaml", "-f", form, "-o", f"out.{form}") for form in FORMATS),
    ("compute", "p.yaml"),
    ("compute", "p.yaml", "--why", "--full"),
    ("compute", "p.yaml", "-f", "html", "--live", "-o", "live.html"),
    ("compute", "p.yaml", "--set", "round=2"),
    ("compute", "p.yaml", "--set", "round=3sf", "-f", "json"),
    ("compute", "p.yaml", "--exact"),
    ("compute", "p.yaml", "--set", "gradient=sum"),
    ("compute", "p.yaml", "--set", "gradient=sum", "--set", "learning_rate=0.1", "-f", "json"),
    ("compute", "p.yaml", "--set", "tokens_as=columns"),
    ("explain", "p.yaml"),
    ("explain", "p.yaml", "output[1, 1]", "--deep"),
    ("explain", "p.yaml", "weights", "-f", "json"),
    ("explain", "p.yaml", "output[1, 1]", "--exact"),
    ("count", "p.yaml"),
    ("count", "p.yaml", "-f", "json"),
    ("count", "p.yaml", "--set", "gradient=sum", "-f", "csv"),
    ("vary", "p.yaml", "--seed", "1"),
    ("worksheet", "p.yaml", "-f", "html"),
    ("worksheet", "p.yaml", "-f", "yaml"),
    ("worksheet", "p.yaml", "-f", "latex"),
    ("worksheet", "p.yaml", "-f", "moodle"),
    ("worksheet", "p.yaml", "-f", "markdown"),
    ("check", "p.yaml", "p.yaml"),
    ("check", "p.yaml", "--problem-only"),
)  # fmt: skip
ANSWER_CALLS: tuple[tuple[str, ...], ...] = (
    ("check", "p.yaml", "a.yaml"),
    ("check", "p.yaml", "a.yaml", "-f", "json"),
    ("check", "p.yaml", "a.yaml", "--solution"),
    ("check", "p.yaml", "a.yaml", "--strict", "-f", "markdown"),
    ("check", "p.yaml", "a.yaml", "--set", "round=2"),
    ("check", "p.yaml", "class", "-f", "csv"),
    ("check", "p.yaml", "class", "-f", "json"),
    ("check", "p.yaml", "a.yaml", "-f", "html"),
)


def problem_call(chance: random.Random) -> Call:
    """A changed sample, and a command on it."""
    values = samples()[chance.choice([*samples()])]
    data = mutated(values, chance, [*KEYS], [*samples().values()])
    return {"p.yaml": data}, chance.choice(PROBLEM_CALLS)


def answer_call(chance: random.Random) -> Call:
    """Changed answers to a sample, and a command on them."""
    name = chance.choice([*samples()])
    right = right_answers(name)
    keep = chance.sample([*right], min(len(right), chance.randint(1, 6)))
    values = {step: right[step] for step in right if step in keep}
    data = mutated(
        values, chance, [*right, "X", "student", "answers", "z_1", "weights[1]", "A"], [right]
    )
    arguments = chance.choice(ANSWER_CALLS)
    files = {"p.yaml": (SAMPLES / f"{name}.yaml").read_bytes(), "a.yaml": data}
    if "class" in arguments:
        files["class/anna/a.yaml"] = data
        files["class/ben.yaml"] = whole(right).encode()
    return files, arguments
