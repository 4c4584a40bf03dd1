"""NPZ and NPY files: what their arrays become, and what is damaged or hostile."""

from __future__ import annotations

import io
import json
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.reading import arrays as numpy_files
from tests.conftest import SAMPLES, Attn, cases, table
from tests.reading.forms import npy, npz, plain, problem_in, refusal_of, safetensors, with_length
from tests.reading.test_zip_files import locked, with_heads_changed, zipped

NOT_NUMPY = "the file is damaged, or no file of NumPy or safetensors"
UNIT = np.eye(2)
HEADER = npy(UNIT)


@pytest.mark.parametrize("suffix", [".npz", "", ".NPZ"])
def test_arrays_words_and_numbers(suffix: str, tmp_path: Path) -> None:
    data = npz(
        X=np.array([[1, 2], [3, 4]]),
        tokens=np.array([b"I", "é".encode()]),
        title="Title",
        score=np.array(b"dot"),
        mask=np.eye(2, dtype=bool),
        b_q=np.array([1.0, 2.0]),
        heads=np.int8(1),
    )
    problem = problem_in(tmp_path, data, suffix)
    assert (plain(problem.X), plain(problem.b_q)) == ([[1, 2], [3, 4]], [1, 2])
    assert plain(problem.mask["keep"]) == [[1, 0], [0, 1]]
    assert problem.tokens == ("I", "é")
    assert (problem.title, problem.score) == ("Title", {"name": "dot"})


@cases("reading_numpy", "options")
def test_an_option_is_an_array_without_axes(
    key: str, value: Any, right: Any, tmp_path: Path
) -> None:
    """What `np.savez(file, X=X, heads=2)` writes."""
    assert getattr(problem_in(tmp_path, npz(X=UNIT, **{key: value}), ".npz"), key) == right


def test_keys_with_points_may_stand_in_any_order(tmp_path: Path) -> None:
    for keys in (
        {"X": UNIT, "score": "general", "score.W": UNIT},
        {"X": UNIT, "score.W": UNIT, "score": "general"},
        {"X": UNIT, "score.W": UNIT, "score.name": "general"},
        {"X": UNIT, "score": "general", "score.W": UNIT, "mask.keep": UNIT},
    ):
        problem = problem_in(tmp_path, npz(**keys), ".npz")
        assert plain(problem.score) == {"name": "general", "W": [[1, 0], [0, 1]]}
        assert "mask.keep" not in keys or plain(problem.mask["keep"]) == [[1, 0], [0, 1]]


@pytest.mark.parametrize("axes", [0, 1, 2, 3])
def test_an_array_alone_is_x_whatever_its_axes_and_its_order(axes: int, tmp_path: Path) -> None:
    right = np.arange(1.0, 1 + 2**axes).reshape((2,) * axes)
    packed = io.BytesIO()
    np.savez_compressed(packed, X=right)
    for data in (npy(right), npy(np.asfortranarray(right)), packed.getvalue()):
        found = np.asarray(problem_in(tmp_path, data, "").X)
        np.testing.assert_array_equal(found, right if axes > 1 else np.atleast_2d(right))


@pytest.mark.parametrize("suffix", [".npz", ".npy"])
def test_the_name_of_a_file_may_be_that_of_the_other_form(suffix: str, tmp_path: Path) -> None:
    data = npy(UNIT) if suffix == ".npz" else npz(X=UNIT)
    assert plain(problem_in(tmp_path, data, suffix).X) == [[1, 0], [0, 1]]


def test_a_file_of_python_2_is_read_in_silence(tmp_path: Path) -> None:
    old = HEADER.replace(b"(2, 2), }  ", b"(2L, 2L), }")
    assert plain(problem_in(tmp_path, old, ".npy").X) == [[1, 0], [0, 1]]


@pytest.mark.parametrize("suffix", [".safetensors", ""])
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u1", "?"])
def test_arrays_of_safetensors(dtype: str, suffix: str, tmp_path: Path) -> None:
    x = np.array([[1, 0], [1, 1]], dtype)
    problem = problem_in(tmp_path, safetensors(X=x, W_q=2 * UNIT, heads=np.array(1)), suffix)
    assert plain(problem.X) == [[1, 0], [1, 1]]
    assert plain(problem.W_q) == [[2, 0], [0, 2]]


def test_bfloat16_is_the_upper_half_of_float32(tmp_path: Path) -> None:
    numbers = np.array([[1.5, -2.0], [0.0, 2.0**-126]], "f4")
    half = (numbers.view("u4") >> 16).astype("u2")
    header = '{"X": {"dtype": "BF16", "shape": [2, 2], "data_offsets": [0, 8]}}'
    problem = problem_in(tmp_path, with_length(header) + half.tobytes())
    np.testing.assert_array_equal(problem.X, numbers, strict=True)


# What is refused.


@pytest.mark.parametrize("row", table("reading_numpy", "refused"), ids=str)
def test_arrays_that_hold_no_problem_are_refused(row: dict[str, Any], tmp_path: Path) -> None:
    dtype = row.get("dtype")
    if "npy" in row:
        suffix, data = ".npy", npy(np.array(row["npy"], dtype))
    else:
        arrays = {key: np.array(value, dtype) for key, value in row["npz"].items()}
        suffix, data = ".npz", npz(**arrays)
    fault, *_ = refusal_of(tmp_path, data, suffix).faults
    assert fault.place
    assert fault.place.file == f"f{suffix}"
    assert fault.message.startswith(row["said"])
    assert row.get("hint", "") in fault.hint


@cases("reading_numpy", "safetensors")
def test_claims_of_safetensors_that_are_not_true_are_refused(
    header: str, said: str, tmp_path: Path
) -> None:
    message = str(refusal_of(tmp_path, with_length(header) + UNIT.tobytes(), ".safetensors"))
    assert message.startswith(f"f.safetensors: {said}")


def member(content: bytes, method: int = zipfile.ZIP_STORED) -> bytes:
    """Return a zip file of one array's bytes."""
    return zipped({"X.npy": content}, method)


DAMAGED = {
    "nothing, as npz": (b"", ".npz"),
    "nothing, as npy": (b"", ".npy"),
    "a text, as npz": (b"X: [[1]]\n", ".npz"),
    "a text, as npy": (b"1,2\n", ".npy"),
    "the half of a header": (HEADER[:50], ".npy"),
    "a number too few": (HEADER[:-1], ".npy"),
    "a header that is no Python": (HEADER.replace(b"(2, 2), }", b"(2, 2(, }"), ".npy"),
    "the half of a zip file": (npz(X=np.eye(9))[:300], ".npz"),
    "a zip file without its end": (npz(X=np.eye(9))[:-30], ".npz"),
    "the start of a zip file": (b"PK\x03\x04 and no more", ""),
    "the start of a zip file, as npy": (b"PK\x03\x04 and no more", ".npy"),
    "the half of a header of safetensors": (safetensors(X=UNIT)[:50], ".safetensors"),
    "a header without its length": (safetensors(X=UNIT)[8:], ".safetensors"),
    "a header of any length": (b"\xff" * 8 + b"{}", ".safetensors"),
    "the start of an array": (b"\x93NUMPY", ""),
    "a member that is no array": (member(b"no array"), ".npz"),
    "the half of an array in it": (member(HEADER[:-9]), ".npz"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_files_are_called_so(name: str, tmp_path: Path) -> None:
    message = str(refusal_of(tmp_path, *DAMAGED[name]))
    assert message.startswith(f"f{DAMAGED[name][1]}: {NOT_NUMPY}")


def test_odd_members_of_a_zip_file_are_one_error(tmp_path: Path) -> None:
    for data in (
        zipped({"notes.txt": "words"}),
        member(HEADER, zipfile.ZIP_LZMA)[:-120] + b"\0" * 120,
        locked(member(HEADER)),
        with_heads_changed(member(HEADER), 8, 99),  # of an unknown method
    ):
        assert str(refusal_of(tmp_path, data, ".npz")).startswith("f.npz: ")


@pytest.mark.parametrize("second", ["W_q.npy", "W_q"])
def test_two_arrays_of_one_name_are_refused(second: str, tmp_path: Path) -> None:
    buffer = io.BytesIO(npz(X=UNIT, W_q=UNIT))
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "a") as archive:
        warnings.simplefilter("ignore")
        archive.writestr(second, archive.read("X.npy"))
    said = "f.npz: the file holds more than one array W_q\n  save it with one of them"
    assert str(refusal_of(tmp_path, buffer.getvalue(), ".npz")) == said


def test_a_large_file_is_read_on_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In any order, but the error is that of the first array that is wrong."""
    keys = {"X": np.eye(3), "W_v": np.ones((3, 2), order="F"), "heads": 1, "title": "many"}
    monkeypatch.setattr(numpy_files, "SMALL_FILE", 0)
    monkeypatch.setattr(numpy_files, "MAX_UNPACKED", 2)
    problem = problem_in(tmp_path, npz(**keys), ".npz")
    for key, value in keys.items():
        np.testing.assert_array_equal(getattr(problem, key), value)
    bad = npz(X=np.eye(2), W_q=np.array([{}], dtype=object), W_k=np.eye(2))
    damaged = bad.replace(np.eye(2).tobytes(), np.ones((2, 2)).tobytes())
    assert str(refusal_of(tmp_path, bad, ".npz")).startswith("f.npz: the file holds Python objects")
    assert str(refusal_of(tmp_path, damaged, ".npz")).startswith(f"f.npz: {NOT_NUMPY}")


# What attn wrote.


def test_results_are_the_problem_they_came_from(tmp_path: Path) -> None:
    about = {"title": "T", "notes": "", "options": {"score": "dot"}, "inputs": ["X"]}
    data = npz(X=UNIT, weights=np.ones((2, 2)), options=json.dumps(about))
    problem = problem_in(tmp_path, data, ".npz")
    assert (problem.title, problem.score["name"]) == ("T", "dot")
    assert plain(problem.X) == [[1, 0], [0, 1]]


@pytest.mark.parametrize("kind", ["f2", "f4", "f8"])
@pytest.mark.parametrize("suffix", [".npz", ".npy"])
def test_what_a_file_was_read_into_is_not_copied(suffix: str, kind: str, tmp_path: Path) -> None:
    """It cannot be changed."""
    array = np.eye(3, dtype=kind)
    path = tmp_path / f"x{suffix}"
    np.save(path, array) if suffix == ".npy" else np.savez(path, X=array)
    problem = attncli.load(path)
    assert problem.X is problem.written["X"]
    assert not problem.X.flags.writeable


# Arrays of Python, of which some made trouble once.

ONES = np.ones((3, 3))
PARTS = np.arange(9).reshape(3, 3) / 7


@pytest.mark.parametrize(
    ("sample", "answers", "first"),
    [
        ("differential", {"context": PARTS[:, :2]}, "context"),  # a step put back twice
        ("differential", {"concat": PARTS[:, :2]}, "concat"),
        ("mask_causal", {"weights": np.hstack([PARTS, PARTS])}, "weights"),  # twice as wide
    ],
)
def test_wrong_arrays_are_judged(sample: str, answers: Any, first: str) -> None:
    report = attncli.check(attncli.load(SAMPLES / f"{sample}.yaml"), answers)
    assert (report.verdict, report.first_wrong_step) == ("wrong", first)


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({"weights": ONES * 1j, "output": PARTS}, "weights holds no numbers"),
        ({"Q": np.ma.array(ONES, mask=np.eye(3, dtype=bool))}, "Q has masked cells"),
    ],
)
def test_arrays_that_hold_no_answers_are_refused(answers: Any, said: str) -> None:
    with pytest.raises(attncli.InputError, match=said):
        attncli.check(attncli.load(SAMPLES / "mask_causal.yaml"), answers)


def test_arrays_of_steps_that_change_nothing_are_judged_where_steps_are_rounded() -> None:
    trace = attncli.compute(attncli.Problem(X=PARTS, round=2))
    assert trace.unrounded is not None
    assert attncli.check(trace.problem, {"context": trace.unrounded.output}).verdict == "correct"


@pytest.mark.parametrize("layers", [ONES, np.array(2), 1j, object()])
def test_layers_that_are_no_list_are_refused(layers: Any) -> None:
    with pytest.raises(attncli.InputError, match="layers"):
        attncli.Problem(X=ONES, layers=layers)


def test_long_floats_are_shown_as_floats(attn: Attn, tmp_path: Path) -> None:
    np.savez(tmp_path / "p.npz", X=PARTS.astype(np.longdouble))
    assert attn("compute", tmp_path / "p.npz", "--live", "-o", tmp_path / "p.html").status == 0
