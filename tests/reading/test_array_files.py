"""NPZ and NPY files; and, for every reader: whatever the bytes, an answer or an `InputError`."""

from __future__ import annotations

import io
import json
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import attncli
from attncli.core.errors import InputError
from attncli.reading import arrays as numpy_files
from tests.conftest import ROOT, SAMPLE_FILES

SUFFIXES = (".yaml", ".yml", ".json", ".jsonl", ".csv", ".tsv", ".npz", ".npy", ".txt", "")
NOT_NUMPY = "the file is damaged, or no NumPy file"


def npz(**arrays: Any) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def npy(array: Any, **more: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, **more)
    return buffer.getvalue()


def load(data: bytes, suffix: str, tmp_path: Path) -> attncli.Problem:
    path = tmp_path / f"f{suffix}"
    path.write_bytes(data)
    (problem,) = attncli.load_all(path)
    return problem


def message(data: bytes, suffix: str, tmp_path: Path) -> str:
    """Return what is said of a file, without the name of its folder."""
    with pytest.raises(InputError) as caught:
        load(data, suffix, tmp_path)
    return str(caught.value).replace(f"{tmp_path}/", "")


@pytest.mark.parametrize("suffix", [".npz", "", ".NPZ"])
def test_arrays_words_and_numbers(suffix: str, tmp_path: Path) -> None:
    data = npz(
        X=np.array([[1, 2], [3, 4]]),
        tokens=np.array(["I", "am"]),
        title="Title",
        score=np.array(b"dot"),
        mask=np.eye(2, dtype=bool),
        b_q=np.array([1.0, 2.0]),
    )
    problem = load(data, suffix, tmp_path)
    np.testing.assert_array_equal(np.asarray(problem.X), [[1, 2], [3, 4]])
    np.testing.assert_array_equal(problem.mask["keep"], np.eye(2))
    np.testing.assert_array_equal(problem.b_q, [1, 2])
    assert problem.tokens == ("I", "am")
    assert (problem.title, problem.score) == ("Title", {"name": "dot"})


@pytest.mark.parametrize(
    ("key", "value", "right"),
    [
        ("heads", 2, 2),
        ("heads", np.int8(2), 2),
        ("heads", "2", 2),
        ("softcap", 2.5, 2.5),
        ("scale", 0.5, "0.5"),
        ("scale", "1/d_k", "1/d_k"),
        ("round", 2, {"decimals": 2}),
        ("mask", "causal", {"causal": True}),
        ("tokens_as", "columns", "columns"),
    ],
)
def test_option_of_no_axis(key: str, value: object, right: object, tmp_path: Path) -> None:
    """What `np.savez(file, X=X, heads=2)` writes."""
    assert getattr(load(npz(X=np.eye(2), **{key: value}), ".npz", tmp_path), key) == right


def test_dotted_keys_in_any_order(tmp_path: Path) -> None:
    for data in (
        npz(**{"X": np.eye(2), "score": "general", "score.W": np.eye(2)}),
        npz(**{"X": np.eye(2), "score.W": np.eye(2), "score": "general"}),
        npz(**{"X": np.eye(2), "score.W": np.eye(2), "score.name": "general"}),
    ):
        problem = load(data, ".npz", tmp_path)
        assert problem.score["name"] == "general"
        np.testing.assert_array_equal(problem.score["W"], np.eye(2))


@pytest.mark.parametrize("kind", ["f4", "f8", "f2", "i4", "u1", "?", ">f8"])
@pytest.mark.parametrize("suffix", [".npz", ".npy"])
def test_only_short_floats_keep_their_kind(kind: str, suffix: str, tmp_path: Path) -> None:
    array = np.ones((2, 2), kind)
    problem = load(npz(X=array) if suffix == ".npz" else npy(array), suffix, tmp_path)
    assert np.asarray(problem.X).dtype == (kind if kind in ("f2", "f4") else np.float64)


def test_fortran_order_and_compressed(tmp_path: Path) -> None:
    right = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(load(npy(np.asfortranarray(right)), ".npy", tmp_path).X, right)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, X=right)
    np.testing.assert_array_equal(load(buffer.getvalue(), ".npz", tmp_path).X, right)


@pytest.mark.parametrize("array", [np.array([1.0, 2.0]), np.array(1.0), np.ones((2, 2, 2))])
def test_axes(array: Any, tmp_path: Path) -> None:
    numbers = np.asarray(load(npy(array), "", tmp_path).X)
    assert numbers.shape == {0: (1, 1), 1: (1, 2), 3: (2, 2, 2)}[array.ndim]


OBJECTS = npy(np.array([{}], dtype=object), allow_pickle=True)
HEADER = npy(np.eye(2))


@pytest.mark.parametrize(
    ("data", "suffix", "said"),
    [
        (OBJECTS, ".npy", "f.npy: the file holds Python objects, not numbers\n  save plain arrays"),
        (npz(X=np.array([{}], dtype=object)), ".npz", "f.npz: the file holds Python objects"),
        (npy(np.eye(2) * 1j), ".npy", "f.npy: X holds complex numbers"),
        (npz(X=np.eye(2) * 1j), ".npz", "f.npz: X holds complex numbers"),
        (npz(X=np.array([["a", "1"]])), ".npz", "f.npz: row 1, column 1 of X: a is not a number"),
        (npy(np.array([["a"]])), ".npy", "f.npy: row 1, column 1 of X: a is not a number"),
        (npy(np.zeros(2, [("a", "f8")])), ".npy", "f.npy: X holds no numbers"),
        (npy(np.array(["2020-01-01"], "M8[D]")), ".npy", "f.npy: X holds no numbers"),
        (npy(np.zeros((0, 3))), ".npy", "f.npy: X is empty"),
        (npy(np.ones((1,) * 5)), ".npy", "f.npy: X has 5 axes; 4 is the most"),
        (npy(np.array([[1, np.nan]])), ".npy", "f.npy: row 1, column 2 of X is nan"),
        (npy(np.array([[1, np.inf]])), ".npy", "f.npy: row 1, column 2 of X is infinite"),
        (npy(np.array([[1], [np.nan]], "f4")), ".npy", "f.npy: row 2, column 1 of X is nan"),
        (npy(np.float32(np.nan)), ".npy", "f.npy: row 1, column 1 of X is nan"),
        (npy(np.float64(np.nan)), ".npy", "f.npy: row 1, column 1 of X is nan"),
        (npz(Y=np.eye(2)), ".npz", "f.npz: unknown key Y"),
        (npz(X=np.eye(2), heads=[1, 2]), ".npz", "f.npz: heads must be a number"),
        (npz(X=np.eye(2), title=np.eye(2)), ".npz", "f.npz: title must be text"),
        (npz(**{"X": np.eye(2), "X.a": 1}), ".npz", "f.npz: X.a cannot be set, as X is a matrix"),
        (npz(source=1, X=np.eye(2)), ".npz", "f.npz: unknown key source"),
        (npz(**{"self": 1, "X": np.eye(2)}), ".npz", "f.npz: unknown key self"),
        (b"", ".npz", f"f.npz: {NOT_NUMPY}"),
        (b"", ".npy", f"f.npy: {NOT_NUMPY}"),
        (b"X: [[1]]\n", ".npz", f"f.npz: {NOT_NUMPY}"),
        (b"1,2\n", ".npy", f"f.npy: {NOT_NUMPY}"),
        (HEADER[:50], ".npy", f"f.npy: {NOT_NUMPY}"),
        (HEADER[:-1], ".npy", f"f.npy: {NOT_NUMPY}"),
        (HEADER.replace(b"(2, 2), }", b"(2, 2(, }"), ".npy", f"f.npy: {NOT_NUMPY}"),
        (
            HEADER.replace(b"(2, 2), }   ", b"(2, 9999), }"),
            ".npy",
            "f.npy: X claims 19,998 numbers",
        ),
        (npz(X=np.eye(9))[:300], ".npz", f"f.npz: {NOT_NUMPY}"),
        (npz(X=np.eye(9))[:-30], ".npz", f"f.npz: {NOT_NUMPY}"),
        (b"PK\x03\x04 and no more", "", f"f: {NOT_NUMPY}"),
        (b"PK\x03\x04 and no more", ".npy", f"f.npy: {NOT_NUMPY}"),
        (b"\x93NUMPY", "", f"f: {NOT_NUMPY}"),
        (npz(), ".npz", "f.npz: "),
    ],
)
def test_refused(data: bytes, suffix: str, said: str, tmp_path: Path) -> None:
    assert message(data, suffix, tmp_path).startswith(said)


def test_a_large_file_is_read_on_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In any order, but the error is that of the first array that is wrong."""
    keys = {"X": np.eye(3), "W_v": np.ones((3, 2), order="F"), "heads": 1, "title": "many"}
    monkeypatch.setattr(numpy_files, "SMALL_FILE", 0)
    monkeypatch.setattr(numpy_files, "MAX_UNPACKED", 2)
    problem = load(npz(**keys), ".npz", tmp_path)
    for key, value in keys.items():
        np.testing.assert_array_equal(getattr(problem, key), value)
    bad = npz(X=np.eye(2), W_q=np.array([{}], dtype=object), W_k=np.eye(2))
    damaged = bad.replace(np.eye(2).tobytes(), np.ones((2, 2)).tobytes())
    assert message(bad, ".npz", tmp_path).startswith("f.npz: the file holds Python objects")
    assert message(damaged, ".npz", tmp_path).startswith(f"f.npz: {NOT_NUMPY}")


@pytest.mark.parametrize("suffix", [".npz", ".npy"])
def test_the_other_suffix(suffix: str, tmp_path: Path) -> None:
    """An array is an array; the name of the file may be wrong."""
    data = npy(np.eye(2)) if suffix == ".npz" else npz(X=np.eye(2))
    np.testing.assert_array_equal(np.asarray(load(data, suffix, tmp_path).X), np.eye(2))


@pytest.mark.parametrize("second", ["W_q.npy", "W_q"])
def test_two_arrays_of_one_name_are_refused(second: str, tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    np.savez(path, X=np.eye(2), W_q=np.eye(2))
    with warnings.catch_warnings(), zipfile.ZipFile(path, "a") as archive:
        warnings.simplefilter("ignore")
        archive.writestr(second, archive.read("X.npy"))
    with pytest.raises(InputError) as caught:
        attncli.load(path)
    told = f"{path}: the file holds more than one array W_q\n  save it with one of them"
    assert str(caught.value) == told


MASKED = np.ma.array([[1.0, 2.0], [3.0, 4.0]], mask=[[False, True], [False, False]])


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"X": MASKED}, "X"),
        ({"X": [MASKED, MASKED], "heads": 1}, "X"),
        ({"X": [MASKED[0], MASKED[1]]}, "X"),
        ({"X": [[1.0, np.ma.masked]]}, "X"),
        ({"X": np.eye(2), "score": {"name": "general", "W": MASKED}}, "score.W"),
        ({"X": np.eye(2), "answers": {"Q": MASKED}}, "answers.Q"),
    ],
)
def test_a_masked_cell_is_no_number(given: dict[str, Any], name: str) -> None:
    with pytest.raises(InputError) as caught:
        attncli.compute(attncli.Problem(**given))
    assert str(caught.value) == f"{name} has masked cells\n  fill them, as by X.filled(0)"


def test_a_masked_cell_is_no_answer() -> None:
    problem = attncli.Problem(X=[[1, 2], [3, 4]])
    with pytest.raises(InputError, match="Q has masked cells"):
        attncli.check(problem, {"Q": MASKED})


def test_a_masked_array_with_nothing_masked_is_like_any_other() -> None:
    given = np.ma.array(np.eye(2), mask=False)
    assert attncli.compute(attncli.Problem(X=given))["Q"].value.tolist() == [[1, 0], [0, 1]]


def test_header_of_python_2_is_read_in_silence(tmp_path: Path) -> None:
    old = HEADER.replace(b"(2, 2), }  ", b"(2L, 2L), }")
    np.testing.assert_array_equal(np.asarray(load(old, ".npy", tmp_path).X), np.eye(2))


def test_strange_zip_members(tmp_path: Path) -> None:
    def zipped(name: str, content: bytes, kind: int = zipfile.ZIP_STORED) -> bytes:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", kind) as archive:
            archive.writestr(name, content)
        return buffer.getvalue()

    for data in (
        zipped("X.npy", b"no array"),
        zipped("notes.txt", b"words"),
        zipped("X.npy", HEADER[:-9]),
        zipped("X.npy", HEADER, zipfile.ZIP_LZMA)[:-120] + b"\0" * 120,
    ):
        assert message(data, ".npz", tmp_path).startswith("f.npz: ")
    encrypted = bytearray(zipped("X.npy", HEADER))
    encrypted[6] |= 1
    encrypted[encrypted.rindex(b"PK\x01\x02") + 8] |= 1
    assert message(bytes(encrypted), ".npz", tmp_path).startswith("f.npz: ")
    unknown = bytearray(zipped("X.npy", HEADER))
    unknown[8] = 99
    unknown[unknown.rindex(b"PK\x01\x02") + 10] = 99
    assert message(bytes(unknown), ".npz", tmp_path).startswith("f.npz: ")


def test_bytes_that_are_no_text_are_no_crash(tmp_path: Path) -> None:
    assert_read_or_refused(npz(X=np.eye(2), tokens=np.array([b"\xff", b"a"])), tmp_path / "f.npz")
    problem = load(npz(X=np.eye(1), tokens=np.array(["é".encode()])), ".npz", tmp_path)
    assert problem.tokens == ("é",)


# What attn wrote.


def written(**changes: Any) -> str:
    about = {"title": "T", "notes": "", "options": {"score": "dot"}, "inputs": ["X"]}
    return json.dumps(about | changes)


def test_results_are_the_problem_they_came_from(tmp_path: Path) -> None:
    data = npz(X=np.eye(2), weights=np.ones((2, 2)), options=written())
    problem = load(data, ".npz", tmp_path)
    assert (problem.title, problem.score["name"]) == ("T", "dot")
    np.testing.assert_array_equal(np.asarray(problem.X), np.eye(2))


@pytest.mark.parametrize(
    "about",
    [
        *("", "words", "[]", "{}", "5", "null", "[" * 100_000),
        *(written(inputs=5), written(inputs=[[]]), written(inputs=None), written(inputs="X")),
        *(written(options=5), written(title={}), written(notes=[1]), written(inputs={"X": {}})),
        np.eye(2),
    ],
)
def test_damaged_results(about: Any, tmp_path: Path) -> None:
    """They may be read where the matrices are there; they never end in another exception."""
    assert_read_or_refused(npz(X=np.eye(2), options=about), tmp_path / "f.npz")


# Whatever the bytes.


def _seeds() -> list[bytes]:
    found = [p.read_bytes() for p in SAMPLE_FILES]
    found += [p.read_bytes() for p in sorted((ROOT / "tests" / "data" / "errors").iterdir())]
    found.append(npz(X=np.eye(2), tokens=np.array(["a", "b"]), score="dot"))
    found.append(npz(X=np.eye(2), weights=np.eye(2), options=written()))
    found.append(npy(np.ones((2, 2), "f4")))
    found.append(b'{"X": [[1, 2], [3, 4]], "mask": "causal"}\n{"X": [[0.50]], "tokens": ["a"]}\n')
    found.append(b"title,T\ntokens,a,b\nX[1]\n1,2\nX[2]\n3,4\nsteps\nQ\n,f\n1,2\n---\nX\n1\n")
    found.append("sep=;\r\n;f1;f2\r\nI;1,5;2\r\nam;1;0,5\r\n".encode("utf-16"))
    found.append(b"X: &a [[1, 2], [3, 4]]\nW_q: *a\n---\nX: |\n  1 2\n  3 4\nheads: 2\n")
    return found


SEEDS = _seeds()
PIECES = [
    *(b"\n", b"\r", b"\t", b" ", b",", b";", b":", b"- ", b"[", b"]", b"{", b"}", b'"', b"'"),
    *(b"&a ", b"*a", b"!!x ", b"| ", b"> ", b"#", b"---\n", b"...\n", b"? ", b"~", b"_", b"<<: "),
    *(b"1e999", b"-inf", b"nan", b"0x", b"sqrt(", b"(", b")", b"^", b"1/0", b"9" * 30, b"1e18"),
    *(b"\x00", b"\x1b[31m", b"\xff", b"\xef\xbb\xbf", b"\xff\xfe", b"\xe2\x80\xa8", b"\xc2\x85"),
    *(b"\x0c", b"\\ud800", b"\xe2\x80\xae", b"steps\n", b"steps: {}\n", b"sep=;\n", b"sep="),
    *(b"[0]", b"[2]", b"[1]\n", b".csv", b".W", b"source: 1\n", b"self: 1\n", b"X\n", b"mask"),
]


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """Return a file that is nearly one of the samples."""
    data = bytearray(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        cut = draw(st.sampled_from([0, 0, 1, 5, 50]))
        data[at : at + cut] = draw(st.sampled_from(PIECES) | st.binary(max_size=3))
    return bytes(data)


HARMLESS = "\n\u200c\u200d\u3000\xa0\u202f"  # joiners and blanks, which `visible` leaves


def assert_read_or_refused(data: bytes, path: Path) -> None:
    path.write_bytes(data)
    problems: list[attncli.Problem] = []
    said = ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", UnicodeWarning)  # of Windows-1252
            problems = attncli.load_all(path)
    except InputError as error:
        said = str(error)
    assert problems or said
    assert all(c.isprintable() or c in HARMLESS for c in said), said
    assert all(isinstance(problem, attncli.Problem) for problem in problems)


FUZZ = settings(
    deadline=None,
    max_examples=40,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_mutated_samples(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"f{suffix}"

    @FUZZ
    @given(mutated())
    def run(data: bytes) -> None:
        assert_read_or_refused(data, path)

    run()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_random_bytes(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"f{suffix}"

    @settings(FUZZ, max_examples=25)
    @given(st.binary(max_size=60) | st.text(max_size=40).map(lambda text: text.encode()))
    def run(data: bytes) -> None:
        assert_read_or_refused(data, path)

    run()


@pytest.mark.parametrize("suffix", [".yaml", ".csv", ".npz", ".npy", ""])
def test_cut_samples(suffix: str, tmp_path: Path) -> None:
    """A file that was not written to its end, under its own and under every other name."""
    for data in SEEDS:
        for length in range(0, len(data), max(1, len(data) // 3)):
            assert_read_or_refused(data[:length], tmp_path / f"f{suffix}")


@pytest.mark.parametrize("kind", ["f2", "f4", "f8"])
@pytest.mark.parametrize("suffix", [".npz", ".npy"])
def test_what_a_file_was_read_into_is_not_copied(suffix: str, kind: str, tmp_path: Path) -> None:
    """It cannot be changed; what a caller may change is copied."""
    array = np.eye(3, dtype=kind)
    path = tmp_path / f"x{suffix}"
    np.save(path, array) if suffix == ".npy" else np.savez(path, X=array)
    problem = attncli.load(path)
    assert problem.X is problem.written["X"]
    assert not problem.X.flags.writeable
    made = attncli.Problem(X=array, score={"name": "general", "W": array})
    array[0] = 7
    np.testing.assert_array_equal(made.X, np.eye(3))
    np.testing.assert_array_equal(made.score["W"], np.eye(3))
    np.testing.assert_array_equal(attncli.compute(made)["scores"].value, np.eye(3))
