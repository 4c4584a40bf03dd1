"""Every reader takes linear time, also for what no reader can read; long numbers are refused.

By default the lines of Python are counted that a reader runs, which are the same on every machine.
What its regular expressions and other functions in C do shows only in the time, which the whole
check compares: processor time, of one input and of one that is eight times as long.
"""

from __future__ import annotations

import gc
import sys
import time
import tracemalloc
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.checking.answers import step_names
from attncli.classroom import name_index
from attncli.core.errors import InputError
from attncli.core.numbers.last_place import number_of
from attncli.core.numbers.parser import NumberError
from attncli.core.numbers.pasted import grid_of
from attncli.core.numbers.written import value_of
from attncli.reading import files
from tests.conftest import Attn, in_process, table
from tests.reading.forms import documents_in, saved
from tests.reading.test_zip_files import zipped

pytestmark = pytest.mark.filterwarnings("ignore::UnicodeWarning")  # lines of texts are not read

Reader = Callable[[str, Path], object]

FEW = 70
"""Repetitions in the shorter of two texts whose lines are counted; more than levels may be."""
MAX_LINES = 2.1
"""Of the lines that are run for a text and for one twice as long; what is linear runs twice."""
COUNT = 500
"""How often something is repeated in the shorter of two texts whose times are compared."""
DOUBLINGS = 3
MAX_RATIO = 2.6**DOUBLINGS
"""Of the times for an input and one 8 times as long; what is quadratic takes 64 times as long."""
SHORTEST = 0.003
"""Time in seconds below which times are not compared: a clock and a collector disturb them."""


def documents(suffix: str) -> Reader:
    return lambda text, _: documents_in(text, suffix)


def problems(suffix: str) -> Reader:
    return lambda text, folder: attncli.load_all(saved(folder, text, suffix))


def answers(suffix: str) -> Reader:
    return lambda text, folder: attncli.load_answers(saved(folder, text, suffix))


READERS: dict[str, Reader] = {
    "expression": lambda text, _: value_of(text),
    "answer": lambda text, _: number_of(text),
    "pasted": lambda text, _: grid_of(text),
    "yaml": documents(".yaml"),
    "unknown": documents(""),
    "json": documents(".json"),
    "csv": documents(".csv"),
    "problem": problems(".yaml"),
    "csv problem": problems(".csv"),
    "json problem": problems(".json"),
    "csv answers": answers(".csv"),
    "yaml answers": answers(".yaml"),
    "worksheet": answers(".md"),
    "text answers": answers(".txt"),
    "tex answers": answers(".tex"),
    "notebook": documents(".ipynb"),
    "page": documents(".html"),
}


def text_of(before: str, repeated: str, after: str, count: int) -> str:
    """Return a text with something repeated in it, whose `#` is the number of each."""
    many = (repeated.replace("#", str(n)) for n in range(1, count + 1))
    return before + "".join(many if "#" in repeated else [repeated * count]) + after


def nested_text(opening: str, closing: str, after: str, count: int) -> str:
    return f"{opening * count}1{closing * count}{after}"


TEXTS: Mapping[str, tuple[str, Callable[[int], str]]] = {
    f"{reader}: {before}({repeated})…{after}": (reader, partial(text_of, before, repeated, after))
    for reader, rows in table("linear_time", "texts").items()
    for before, repeated, after in rows
} | {
    f"{reader}: ({opening})…1{after}": (reader, partial(nested_text, opening, closing, after))
    for reader in ("expression", "answer", "pasted", "yaml", "json", "csv")
    for opening, closing in table("linear_time", "nested")
    for after in ("", " & 1")
}
"""A reader, and a function that returns a text in which something is repeated so often."""


def lines_run(reader: Reader, text: str, folder: Path) -> int:
    """Return how many lines of Python a reader runs for a text."""
    count = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        with suppress(InputError, NumberError):
            reader(text, folder)
    finally:
        sys.settrace(before)
    return count


def assert_linear_work(
    reader: Reader, made: Callable[[int], str], folder: Path, count: int = FEW
) -> None:
    """Compare the lines that are run for two texts, each read before, which imports modules."""
    few, many = made(count), made(2 * count)
    for text in (few, many):
        with suppress(InputError, NumberError):
            reader(text, folder)
    assert lines_run(reader, many, folder) <= MAX_LINES * lines_run(reader, few, folder)


def seconds(reader: Reader, text: str, folder: Path) -> float:
    """Return the processor time that a reader takes for a text."""
    start = time.thread_time()
    with suppress(InputError, NumberError):
        reader(text, folder)
    return time.thread_time() - start


def assert_linear_time(reader: Reader, texts: list[str], folder: Path) -> None:
    """Compare the times for two texts; a time that something disturbed is taken again."""
    short, long = texts
    gc.disable()  # its work is that of all objects of the process
    try:
        most = MAX_RATIO * max(seconds(reader, short, folder), SHORTEST)
        assert any(seconds(reader, long, folder) <= most for _ in range(3))
    finally:
        gc.enable()


@pytest.mark.parametrize("name", TEXTS)
def test_a_reader_does_linear_work(name: str, tmp_path: Path) -> None:
    reader, made = TEXTS[name]
    assert_linear_work(READERS[reader], made, tmp_path)


@pytest.mark.whole
@pytest.mark.parametrize("name", TEXTS)
def test_a_reader_takes_linear_time(name: str, tmp_path: Path) -> None:
    reader, made = TEXTS[name]
    assert_linear_time(READERS[reader], [made(COUNT), made(COUNT * 2**DOUBLINGS)], tmp_path)


# Commands.


def command(arguments: list[str], text: str, folder: Path) -> object:
    """Run a command on a text, as one of a class."""
    (folder / "hw.yaml").write_text("X: [[1]]\n")
    (folder / "class.txt").write_text("Ada Lovelace\nBo Kim\n")
    known = () if "--for" in arguments or "compute" in arguments else ("--for", "class.txt")
    path = folder / ("given.csv" if "," in text[:20] else "given.yaml")
    path.write_text(text)
    return in_process(*arguments, path, *known, cwd=folder)


def files_in_a_zip_file(text: str, folder: Path) -> object:
    """List a zip file with as many files as a text has characters."""
    path = folder / f"{len(text)}.zip"
    if not path.exists():
        path.write_bytes(zipped({f"{number}/hw.yaml": "" for number in range(len(text))}))
    files._opened.cache_clear()
    return [*files.entries_in(str(path))]


def files_of_students_of_one_name(text: str, folder: Path) -> object:
    """Mark as many files as a text has characters, each with ten students at most to explain it."""
    count = len(text)
    (folder / "hw.yaml").write_text("X: [[1]]\n")
    rows = (f"Same Name,{number}\n" for number in range(count))
    (folder / f"{count}.csv").write_text("".join(["Name,ID\n", *rows]))
    (folder / f"{count}/Same Name").mkdir(parents=True, exist_ok=True)
    for number in range(count):
        (folder / f"{count}/Same Name/hw{number}.yaml").write_text("weights: [[1]]\n")
    flags = ("--for", f"{count}.csv", "-f", "csv")
    said = in_process("check", "hw.yaml", f"{count}", *flags, cwd=folder).out
    assert "perhaps Same Name (0) or Same Name (1)" in said
    assert "Same Name (9) or another one" in said
    return said


COMMANDS: Mapping[str, tuple[Reader, Callable[[int], str], int]] = {
    f"{' '.join(row['arguments'])}: ({row['repeated'].strip()})…": (
        partial(command, row["arguments"]),
        partial(text_of, row["before"], row["repeated"], row["after"]),
        1_500,
    )
    for row in table("linear_time", "classes")
} | {
    "files in a zip file": (files_in_a_zip_file, lambda count: "x" * count, 250),
    "files of students of one name": (files_of_students_of_one_name, lambda count: "x" * count, 20),
}
"""A command, a function that returns its text, and a count of what is repeated for the time."""


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_does_linear_work(name: str, tmp_path: Path) -> None:
    reader, made, _ = COMMANDS[name]
    # That each file is compared with each student of its name shows where there are hundreds.
    assert_linear_work(reader, made, tmp_path, 30)


@pytest.mark.whole
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_takes_linear_time(name: str, tmp_path: Path) -> None:
    reader, made, count = COMMANDS[name]
    assert_linear_time(reader, [made(count), made(count * 2**DOUBLINGS)], tmp_path)


def test_a_hint_is_looked_up_for_some_unknown_students(
    attn: Attn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(name_index, "MAX_COMPARED", 20 * 10)
    (tmp_path / "hw.yaml").write_text("X: [[1]]\n")
    (tmp_path / "class.csv").write_text("Name\n" + text_of("", "Ann# Lee\n", "", 20))
    (tmp_path / "a.csv").write_text(text_of('Name,"weights[1,1]"\n', "Anx# Lea,1\n", "", 20))
    found = attn("check", "hw.yaml", "a.csv", "--for", "class.csv", "-f", "jsonl", cwd=tmp_path)
    assert "a.csv:11: this does not tell whose answers it has, perhaps Ann10 Lee" in found.out
    assert "a.csv:12: this does not tell whose answers it has\\n" in found.out


# What is too long or too much.


@pytest.mark.parametrize("text", ["abs(" * 10_000, "abs(" * 10_000 + "1" + ")" * 10_000])
def test_a_long_expression_is_refused_at_once(text: str) -> None:
    """`tests/attacks/expressions.py` has more of them, in files."""
    said = f"a number of {len(text)} characters is too long"
    with pytest.raises(InputError, match=said):
        attncli.Problem(X=np.eye(2), bias=text)
    report = attncli.check(attncli.Problem(X=np.eye(2)), {"output": [[text, 0], [0, 1]]})
    assert f"output[1, 1]: {said}" in attncli.render(report, "table")


BOUNDED = pytest.mark.parametrize(
    "row", table("linear_time", "bounded"), ids=lambda row: f"{row['reader']}: {row['said']}"
)


def bounded_text(row: dict[str, Any], times: int = 1) -> str:
    return text_of(row["before"], row["repeated"], row["after"], times * row["count"])


@BOUNDED
def test_much_of_anything_is_refused_by_a_bound_that_is_named(
    row: dict[str, Any], tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=row["said"]):
        READERS[row["reader"]](bounded_text(row), tmp_path)


@pytest.mark.whole
@BOUNDED
def test_much_of_anything_takes_linear_time_and_memory(row: dict[str, Any], tmp_path: Path) -> None:
    """Twice as much takes at most 2.6 times the time and memory."""
    reader, short, long = READERS[row["reader"]], bounded_text(row), bounded_text(row, 2)
    least = max(seconds(reader, short, tmp_path), 0.02)
    assert any(seconds(reader, long, tmp_path) <= 2.6 * least for _ in range(3))
    peaks = []
    for text in (short, long):
        tracemalloc.start()
        with suppress(InputError):
            reader(text, tmp_path)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] <= 2.6 * max(peaks[0], 100_000)
    assert peaks[0] <= 200 * max(len(short), 20_000)


def test_keys_that_mean_no_step_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_names, "MAX_UNKNOWN", 20)
    problem, answers = attncli.Problem(X=[[1, 0]]), {f"key{n}": 1 for n in range(21)}
    with pytest.raises(InputError, match="more than 20 keys mean no step"):
        attncli.check(problem, answers)
    report = attncli.check(problem, {f"weights[1,{n}]": 1 for n in range(1, 21)})
    assert "7 more that may be steps" in attncli.render(report, "table")
