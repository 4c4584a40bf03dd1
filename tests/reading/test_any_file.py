"""Whatever a file holds, and whatever made it: it is worked, or refused in sentences, and soon.

`HYPOTHESIS_PROFILE=random pytest -m '' tests/reading/test_any_file.py` tries other files each time.
A small file that fails belongs into `tests/data/corpus/`.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import attncli
from attncli.core.errors import InputError
from tests.conftest import DATA, SAMPLE_FILES, SAMPLES, in_process, made_files, table
from tests.reading.damaged_files import Call, drawn_call
from tests.reading.forms import is_harmless, npy, npz, safetensors

SOON = 20.0
"""Maximum seconds of processor time. Damaged answers to two layers took 5 on a slow machine."""


FORMS = ("table", "json", "csv", "yaml", "markdown", "latex", "html", "npz")
GOOD = str(SAMPLES / "i_am_good.yaml")


def calls_on_made_up_files() -> Iterator[Call]:
    """Yield commands on made-up problems and on made-up answers."""
    for number, (suffix, data) in enumerate(made_files("problem")):
        form = FORMS[number % (len(FORMS) - 1)]  # NPZ is not for a terminal
        yield {f"made{suffix}": data}, ["compute", f"made{suffix}", "-f", form]
    for suffix, data in made_files("answers"):
        yield {f"made{suffix}": data}, ["check", GOOD, f"made{suffix}"]


def calls_of_what_broke_once() -> Iterator[Call]:
    """Yield several commands on each file that led to a traceback once."""
    for path in sorted((DATA / "corpus").iterdir()):
        files = {path.name: path.read_bytes()}
        for form in FORMS:
            yield files, ["compute", path.name, "-f", form, "-o", f"out.{form}"]
        yield files, ["compute", path.name]
        yield files, ["check", GOOD, path.name]
        yield files, ["check", path.name]
        yield files, ["explain", path.name, "output[1, 1]"]


PARTS = 12
CALLS = [*calls_of_what_broke_once(), *calls_on_made_up_files()]


@pytest.mark.parametrize(
    "part", [0, 1, 2, *(pytest.param(n, marks=pytest.mark.whole) for n in range(3, PARTS))]
)
def test_any_file_is_worked_or_refused_by_every_command(part: int, tmp_path: Path) -> None:
    for number, call in enumerate(CALLS[part::PARTS]):
        assert_ends_well(call, tmp_path / str(number))


def assert_ends_well(call: Call, folder: Path) -> None:
    """Assert that a command on some files ends soon, and with a message where it refuses."""
    files, arguments = call
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    start = time.process_time()
    result = in_process(*arguments, cwd=folder)
    assert time.process_time() - start < SOON, arguments
    assert result.status in ((0, 1, 2) if arguments[0] in ("check", "vary") else (0, 2))
    assert result.status != 2 or result.err
    assert "\x1b" not in result.out + result.err


@pytest.mark.parametrize("examples", [40, pytest.param(700, marks=pytest.mark.whole)])
def test_a_changed_file_is_worked_or_refused(examples: int, tmp_path: Path) -> None:
    """A sample with a few changes, or right answers with some damage, by any command."""

    @settings(max_examples=examples, deadline=None)
    @given(st.integers(0, 2**32))
    def run(number: int) -> None:
        assert_ends_well(drawn_call(number), tmp_path / str(number))

    run()


# What is nearly one of the samples, what was not written to its end, and any bytes.

SEEDS: list[bytes] = [
    *(path.read_bytes() for path in SAMPLE_FILES),
    *(path.read_bytes() for path in sorted((DATA / "errors").iterdir())),
    npz(X=np.eye(2), tokens=np.array(["a", "b"]), score="dot"),
    npz(X=np.eye(2), weights=np.eye(2), options='{"title": "T", "inputs": ["X"], "options": {}}'),
    npz(X=np.eye(2), tokens=np.array([b"\xff", b"a"])),
    npy(np.ones((2, 2), "f4")),
    safetensors(X=np.eye(2), W_q=np.ones((2, 2), "f4")),
    *(row["text"].encode() for row in table("notebooks_and_pages", "means")),
    b'{"X": [[1, 2], [3, 4]], "mask": "causal"}\n{"X": [[0.50]], "tokens": ["a"]}\n',
    b"title,T\ntokens,a,b\nX[1]\n1,2\nX[2]\n3,4\nsteps\nQ\n,f\n1,2\n---\nX\n1\n",
    "sep=;\r\n;f1;f2\r\nI;1,5;2\r\nam;1;0,5\r\n".encode("utf-16"),
    b"X: &a [[1, 2], [3, 4]]\nW_q: *a\n---\nX: |\n  1 2\n  3 4\nheads: 2\n",
]
PIECES = [piece.encode("latin-1") for piece in table("made_up", "pieces")]
SUFFIXES = (".yaml", ".yml", ".json", ".jsonl", ".csv", ".tsv", ".npz", ".npy", ".txt", "", ".html")


@st.composite
def changed_samples(draw: st.DrawFn) -> bytes:
    """Return a file that is nearly one of the samples."""
    data = bytearray(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        cut = draw(st.sampled_from([0, 0, 1, 5, 50]))
        data[at : at + cut] = draw(st.sampled_from(PIECES) | st.binary(max_size=3))
    return bytes(data)


@st.composite
def cut_samples(draw: st.DrawFn) -> bytes:
    """Return a file that was not written to its end."""
    data = draw(st.sampled_from(SEEDS))
    return data[: draw(st.integers(0, len(data)))]


def assert_read_or_refused(data: bytes, path: Path) -> None:
    path.write_bytes(data)
    said = ""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UnicodeWarning)  # of Windows-1252
        try:
            assert attncli.load_all(path)
        except InputError as error:
            said = str(error) or "\0"
    assert is_harmless(said), said


@pytest.mark.parametrize("examples", [80, pytest.param(2000, marks=pytest.mark.whole)])
def test_any_bytes_under_any_name_are_read_or_refused(examples: int, tmp_path: Path) -> None:
    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(
        changed_samples()
        | cut_samples()
        | st.binary(max_size=60)
        | st.text(max_size=40).map(str.encode),
        st.sampled_from(SUFFIXES),
    )
    def read(data: bytes, suffix: str) -> None:
        assert_read_or_refused(data, tmp_path / f"f{suffix}")

    read()


@pytest.mark.parametrize("about", table("made_up", "damaged_results"))
def test_damaged_results_are_read_or_refused(about: str, tmp_path: Path) -> None:
    for options in (about, "[" * 100_000, np.eye(2)):
        assert_read_or_refused(npz(X=np.eye(2), options=options), tmp_path / "f.npz")
