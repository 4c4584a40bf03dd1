"""Run changed files through the commands for as long as wanted, and count what comes of them.

    python -m benchmarks.fuzzing [--minutes N] [--examples N] [--seed N] [--out FOLDER]

Every second file is a sample with a few changes, as careless people make them, with a command that
reads a problem; it begins whole, and so gets far, into backward passes, pages, worksheets and
variants. The others are right answers with some damage, with a command that checks them. The files
of a command that ends in a traceback, in an exit status other than 0, 1 and 2, after more than two
seconds or with more than 500 MB are kept in FOLDER; small, they belong into `tests/data/corpus/`.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import resource
import shlex
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import yaml

import attncli
from attncli.core.problem.keys import KEYS
from attncli.printing.formats import FORMATS
from benchmarks.surveys.odd_answers import WRITERS, damaged, lost, right_answers, with_odd_cell
from tests.conftest import ROOT, SAMPLES, in_process

Call: TypeAlias = tuple[dict[str, bytes], list[str]]
"""The files of a call by name, and its arguments; the files are in the current folder."""

SECONDS = 2.0
MEGABYTES = 500
RECORDED = 50
ENDINGS = ("status 0", "status 1", "status 2")

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
    key, other = rng.choice([*values]), rng.choice([*KEYS, *values])
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


def call(number: int) -> Call:
    """Draw the call of a number: a problem, or answers to one."""
    with warnings.catch_warnings(action="ignore"):
        return (problem_call, answer_call)[number % 2](random.Random(number))


def record() -> None:
    """Write some calls for the tests, in a text whose characters are the bytes."""
    lines = [
        json.dumps([{name: data.decode("latin-1") for name, data in files.items()}, arguments])
        for files, arguments in map(call, range(RECORDED))
    ]
    path = ROOT / "tests" / "data" / "recorded" / "mutated_files.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def peak() -> float:
    """Return the most megabytes that this process has had in memory."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def write(files: dict[str, bytes], folder: Path) -> None:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def ending(files: dict[str, bytes], arguments: list[str], folder: Path) -> tuple[str, float]:
    """Return how a command on some files ended, and how many seconds it took.

    An ending that is none of `ENDINGS` must not be.
    """
    write(files, folder)
    start, had = time.process_time(), peak()
    try:
        result = in_process(*arguments, cwd=folder)
        found = f"status {result.status}"
        if result.status == 1 and arguments[0] not in ("check", "vary"):
            found = f"status 1 of {arguments[0]}"
        elif result.status == 2 and not result.err:
            found = "status 2 without a message"
    except (Exception, SystemExit):
        found = traceback.format_exc()
    seconds = time.process_time() - start
    if found in ENDINGS and seconds > SECONDS:
        found = f"{seconds:.1f} seconds"
    elif found in ENDINGS and had <= MEGABYTES < peak():
        found = "too much memory"
    return found, seconds


def main() -> None:
    """Fuzz, then print the counts."""
    parser = argparse.ArgumentParser(description="Fuzz the commands with made-up files.")
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--examples", type=int, default=10**9)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("fuzzing"))
    parser.add_argument("--record", action="store_true", help="write the files of the tests")
    asked = parser.parse_args()
    if asked.record:
        return record()
    counts: Counter[str] = Counter()
    slowest, done, end = 0.0, 0, time.monotonic() + 60 * asked.minutes
    while done < asked.examples and time.monotonic() < end:
        files, arguments = call(asked.seed + done)
        with tempfile.TemporaryDirectory() as folder:
            found, seconds = ending(files, arguments, Path(folder))
        kind = found.strip().splitlines()[-1][:80]
        counts[kind] += 1
        if kind not in ENDINGS and counts[kind] == 1:
            kept = asked.out / str(asked.seed + done)
            write(files, kept)
            (kept / "told.txt").write_text(f"{shlex.join(arguments)}\n{found}\n")
        slowest, done = max(slowest, seconds), done + 1
        print(f"\r{done:,}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    for kind, number in sorted(counts.items()):
        print(f"{number:8,}  {kind}")
    print(f"slowest {slowest:.2f} s, at most {peak():.0f} MB")
    sys.exit(not {*counts} <= {*ENDINGS})


if __name__ == "__main__":
    main()
