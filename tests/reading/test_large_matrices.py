"""Large matrices: read as arrays at once, exactly as small ones are, and shown in little memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attncli.core.arithmetic import floats
from attncli.core.errors import InputError
from attncli.core.text.numbers import style_of
from attncli.reading import arrays, files, load
from attncli.reading.submissions import load_answers
from tests.conftest import table
from tests.reading.forms import saved

FEW = 6


@pytest.fixture(autouse=True, scope="module")
def _small_is_large() -> Iterator[None]:
    """Let matrices of a few numbers be large, and files come a few bytes at a time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "MAX_KEPT_AS_WRITTEN", FEW)
        patch.setattr(arrays, "MIN_CHARACTERS", 2 * FEW)
        patch.setattr(files, "BYTES_AT_ONCE", 7)
        yield


def told(path: Path, as_arrays: bool) -> list[object]:
    """Return everything that is read from a file, or what is said of it."""
    found: list[object] = []
    with pytest.MonkeyPatch.context() as patch:
        if not as_arrays:
            patch.setattr(arrays, "MIN_CHARACTERS", 10**9)
        try:
            for one in load.load_each(path):
                if isinstance(one, InputError):
                    found.append(str(one))
                    continue
                matrices = {key: (a.shape, a.tobytes()) for key, a in one.matrices().items()}
                places = [str(one.source(path)) for path in PATHS]
                found.append((matrices, one.options(), one.title, one.given, places))
        except InputError as error:
            found.append(str(error))
    return found


PATHS = ((), ("X",), ("W_q",), ("X", 1), ("X", 2, 1), ("W_q", 0, 1), ("scale",))

number = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-3, 3).map(str),
    st.sampled_from(["1e400", "1e-400", "0E-400", "+.5", "2.", "1E5", "-0", "00.10"]),
)
decimal_commas = st.sampled_from(["0,5", "1,25", "10,5"])
odd = st.sampled_from(
    ["1/2", "~", "", "0,5", "nan", "inf", "e", "1 2", "- 1", "--", "[", "]", "a", "1_0", "0x1", "#"]
)


@st.composite
def matrices(draw: st.DrawFn) -> list[list[str]]:
    """Rows of written numbers; seldom with an odd cell, or ragged."""
    height, width = draw(st.sampled_from([(3, 3), (3, 3), (1, 9), (9, 1), (2, 4), (4, 2)]))
    cells = draw(st.sampled_from([number, number, number, number | odd, decimal_commas]))
    ragged = draw(st.sampled_from([False] * 9 + [True]))
    widths = [width + (ragged and draw(st.integers(0, 3)) == 0) for _ in range(height)]
    return [[draw(cells) for _ in range(count)] for count in widths]


PLACES_OF_MATRICES = [
    *((suffix, "", sign) for suffix in (".csv", "") for sign in (",", ";", "\t", " ", ", ")),
    *((".csv", start, ",") for start in ("X\n", "scale,1\n", "title,T\n\n", "---\n", "steps\n")),
    *((".yaml", start, " ") for start in ("X: |\n  ", "X: |-\n  ", "X: |2\n  ", "X: >\n  ")),
    *((".yaml", "score: dot\nX:\n  ", sign) for sign in (", ", ",", "\t", " ,")),
]
"""The suffix of a file, what is before a matrix, and the sign between its numbers."""


@st.composite
def texts(draw: st.DrawFn) -> tuple[str, str]:
    """A file that holds a matrix, seldom with a line between or behind its rows."""
    suffix, start, sign = draw(st.sampled_from(PLACES_OF_MATRICES))
    lines = [sign.join(row) for row in draw(matrices())]
    if draw(st.integers(0, 3)) == 0:
        other = ["", "---", "steps", "W_q", "a b", "1 2", sign, f"scale{sign}1", f"{sign}1{sign}2"]
        lines.insert(draw(st.integers(0, len(lines))), draw(st.sampled_from(other)))
    end = draw(st.sampled_from(["\n", "\n", "\r\n", "\r"]))
    return suffix, start + (f"{end}  " if suffix == ".yaml" else end).join([*lines, ""])


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
@given(texts())
def test_large_matrices_are_read_as_small_ones_are(
    tmp_path_factory: pytest.TempPathFactory, case: tuple[str, str]
) -> None:
    path = saved(tmp_path_factory.getbasetemp(), case[1], case[0])
    assert told(path, as_arrays=True) == told(path, as_arrays=False)


@pytest.mark.parametrize("subject", ["reading_csv", "reading_yaml", "pasted"])
def test_what_people_write_is_read_as_if_it_were_large(subject: str, tmp_path: Path) -> None:
    for row in (*table(subject, "means"), *table(subject, "refused")):
        path = saved(tmp_path, row["text"], row.get("suffix", table(subject, "defaults")["suffix"]))
        assert told(path, as_arrays=True) == told(path, as_arrays=False)


ROWS = "0.5 -1 2e3\n1 0 7\n-0 .5 1.\n"
X = [[0.5, -1, 2000], [1, 0, 7], [0, 0.5, 1]]


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("p.csv", ROWS.replace(" ", ","), X),
        ("p.csv", ROWS.replace(" ", ";"), X),
        ("p.tsv", ROWS.replace(" ", "\t"), X),
        ("p.csv", ROWS.rstrip(), X),
        ("p.csv", "1\n2\n3\n4\n5\n6\n7\n8", [[1], [2], [3], [4], [5], [6], [7], [8]]),
        ("p.yaml", "title: a\nX: |\n  " + ROWS.replace("\n", "\n  ") + "\nscore: dot\n", X),
        ("p.yaml", "X: |-\n  " + ROWS.replace(" ", ", ").replace("\n", "\n  "), X),
    ],
)
def test_which_matrices_are_arrays_at_once(
    name: str, text: str, value: object, tmp_path: Path
) -> None:
    """No cell of them is an object."""
    path = tmp_path / name
    path.write_text(text)
    problem = load.load(path)
    assert isinstance(problem.written["X"], np.ndarray)
    assert problem.matrices()["X"].tolist() == value


def test_a_matrix_file_of_a_problem_is_an_array_and_one_of_answers_is_not(tmp_path: Path) -> None:
    """Of an answer each digit counts."""
    (tmp_path / "x.csv").write_text(ROWS.replace(" ", ","))
    (tmp_path / "p.yaml").write_text("X: x.csv\nscore: dot\n")
    assert isinstance(load.load(tmp_path / "p.yaml").written["X"], np.ndarray)
    (tmp_path / "a.yaml").write_text("scores: x.csv\n")
    (sheet,) = load_answers(tmp_path / "a.yaml")
    assert sheet.matrices["scores"][0] == ["0.5", "-1", "2e3"]


def test_looking_at_a_large_table_takes_no_memory_of_its_size() -> None:
    """Its rows are summed, and its style is found, some at a time, with the same result."""
    array = np.exp(np.random.default_rng(0).normal(0, 9, (1, 2, 1500, 700)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(floats, "MANY", array.size)
        whole = [floats.total(array, along) for along in (-1, -2)]
    some = [floats.total(array, along) for along in (-1, -2)]
    assert [a.tobytes() for a in some] == [a.tobytes() for a in whole]
    array[..., -1] = 0.5
    assert style_of(array[..., -1:])(0.5) == "0.5"
    array[0, 1, -1, -1] = 0.125
    assert style_of(array[..., -1:])(0.5) == "0.500"
    for work in (lambda: floats.total(array, -1), lambda: style_of(array)):
        tracemalloc.start()
        work()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < array.nbytes / 2
