"""Large matrices: read as arrays at once, exactly as small ones are, and shown in little memory."""

from __future__ import annotations

import re
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attncli.arithmetic import floats
from attncli.errors import InputError
from attncli.files import lifted, load, stream
from attncli.files.document import Chunk
from attncli.files.sheets import load_answers
from attncli.text.numbers import style_of

FEW = 6


@pytest.fixture(autouse=True, scope="module")
def _small_is_large() -> Iterator[None]:
    """Let matrices of a few numbers be large, and files come a few bytes at a time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lifted, "MAX_KEPT_AS_WRITTEN", FEW)
        patch.setattr(lifted, "LARGE", 2 * FEW)
        pattern = lifted.STRETCH.pattern.replace("20000", str(2 * FEW))
        assert pattern != lifted.STRETCH.pattern
        patch.setattr(lifted, "STRETCH", re.compile(pattern))
        patch.setattr(lifted, "SMALLEST", 2)
        patch.setattr(stream, "LARGE", 2 * FEW)
        patch.setattr(stream, "BLOCK", 7)
        yield


def told(path: Path, lift: bool) -> list[object]:
    """Return everything that is read from a file, or what is said of it."""
    found: list[object] = []
    with pytest.MonkeyPatch.context() as patch:
        if not lift:
            patch.setattr(stream, "LARGE", 10**9)
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


PATHS = (
    (),
    ("X",),
    ("W_q",),
    ("X", 1),
    ("X", 2, 1),
    ("W_q", 0, 1),
    ("scale",),
    ("score", "W", 2, 0),
)

number = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-3, 3).map(str),
    st.sampled_from(["1e400", "1e-400", "0E-400", "+.5", "2.", "1E5", "-0", "00.10"]),
)
odd = st.sampled_from(
    ["1/2", "~", "", "0,5", "nan", "inf", "e", "1 2", "- 1", "--", "[", "]", "a", "1_0", "0x1", "#"]
)


@st.composite
def matrices(draw: st.DrawFn, depth: int = 2) -> list[object]:
    """Nested lists of written numbers; seldom with an odd cell, or ragged."""
    sizes = [draw(st.sampled_from([3, 3, 3, 3, 2, 1, 4])) for _ in range(depth)]
    cells = draw(st.sampled_from([number, number, number, number | odd]))
    ragged = draw(st.sampled_from([False] * 9 + [True]))

    def build(sizes: list[int]) -> list[object]:
        size = sizes[0] + (ragged and draw(st.integers(0, 3)) == 0)
        return [build(sizes[1:]) if sizes[1:] else draw(cells) for _ in range(size)]

    return build(sizes)


def lists(matrix: object, comma: str, between: str) -> str:
    """Return nested lists as YAML and JSON write them."""
    if not isinstance(matrix, list):
        return str(matrix)
    is_row = not any(isinstance(item, list) for item in matrix)
    return f"[{(comma if is_row else between).join(lists(m, comma, between) for m in matrix)}]"


@st.composite
def yaml_values(draw: st.DrawFn, indent: str) -> str:
    """A matrix after a key of YAML, in one of all notations."""
    notation = draw(st.sampled_from(["flow", "items", "block", "folded", "rows", "quoted"]))
    comma = draw(st.sampled_from([", ", ",", " , ", ",\n" + indent]))
    if notation == "flow":
        between = draw(st.sampled_from([", ", ",", f",\n{indent}", f" ,\n\n{indent}  "]))
        return (
            " "
            + lists(draw(matrices(draw(st.sampled_from([2, 2, 2, 3, 1, 4])))), comma, between)
            + "\n"
        )
    rows = draw(matrices())
    if notation == "items":
        return "\n" + "".join(f"{indent}- {lists(row, comma, comma)}\n" for row in rows)
    sign = draw(st.sampled_from([" ", "  ", ", ", ",", "\t", " ,"]))
    head = {"block": draw(st.sampled_from([" |", " |-", " |2"])), "folded": " >"}.get(notation, "")
    lines = [sign.join(map(str, row)) for row in rows if isinstance(row, list)]
    if draw(st.sampled_from([False] * 9 + [True])):
        lines.insert(draw(st.integers(0, len(lines))), draw(st.sampled_from(["", "a b", "1 2"])))
    if notation == "quoted":
        return ' "' + f"\n{indent}".join(lines) + '"\n'
    return f"{head}\n" + "".join(f"{indent}{line}\n" for line in lines)


@st.composite
def yaml_texts(draw: st.DrawFn) -> str:
    """A problem, or several, in YAML."""
    text = ""
    for number in range(draw(st.integers(1, 2))):
        text += "---\n" if number else draw(st.sampled_from(["", "# 1 2 3\n", "---\n"]))
        keys = ["X", *draw(st.lists(st.sampled_from(["W_q", "scale", "enhance"]), unique=True))]
        for key in keys:
            is_matrix = key in ("X", "W_q") or draw(st.sampled_from([False] * 9 + [True]))
            indent = draw(st.sampled_from(["  ", "  ", ""]))
            value = draw(yaml_values(indent)) if is_matrix else " 1\n"
            text += f"{key}:{value}" + draw(st.sampled_from(["", "\n", "# e\n"]))
        if draw(st.integers(0, 3)) == 0:
            text += f"score:\n  W:{draw(yaml_values(draw(st.sampled_from(['    ', '']))))}"
    return text


@st.composite
def json_texts(draw: st.DrawFn) -> str:
    """Problems in JSON, on one line or on more."""
    comma, between = draw(
        st.sampled_from([(", ", ", "), (",", ","), (",\n 1, ", ",\n"), (",\n", ",")])
    )
    text = ""
    for _ in range(draw(st.integers(1, 3))):
        keys = ["X", *draw(st.sampled_from([[], [], ["W_q"], ["W_q", "title"], ["X"]]))]
        depth = st.sampled_from([2, 2, 2, 2, 3, 1, 4])
        parts = [f'"{key}": {lists(draw(matrices(draw(depth))), comma, between)}' for key in keys]
        bare = lists(draw(matrices()), comma, between)
        text += draw(st.sampled_from(["{" + ", ".join(parts) + "}", bare])) + "\n"
        text += draw(st.sampled_from(["", "", "", "\n", "x\n", "---\n"]))
    return text


@st.composite
def csv_texts(draw: st.DrawFn) -> str:
    """CSV: a matrix, or blocks under their keys; with options and with labels."""
    sign = draw(st.sampled_from([",", ",", ";", "\t", " ", ", "]))
    end = draw(st.sampled_from(["\n", "\n", "\r\n", "\r"]))
    keys = draw(st.sampled_from([[""], ["X"], ["X", "W_q"], ["X[1]", "X[2]"], ["X", "e"]]))
    heads: list[list[str]] = [[]] * 6 + [[sign.join(["", "1", "2"])], ["a" + sign + "b"]]
    ends: list[list[str]] = [[]] * 6 + [[""], [sign], ["---"], ["steps"], ["scale" + sign + "1"]]
    lines: list[str] = draw(st.sampled_from(ends)) if draw(st.booleans()) else []
    for key in keys:
        lines += [key] if key else []
        lines += draw(st.sampled_from(heads))
        lines += [sign.join(map(str, row)) for row in draw(matrices()) if isinstance(row, list)]
        lines += draw(st.sampled_from(ends))
    return end.join(lines) + draw(st.sampled_from(["", end]))


@settings(
    max_examples=300,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(
    st.one_of(
        yaml_texts().map(lambda t: (".yaml", t)),
        json_texts().map(lambda t: (".json", t)),
        csv_texts().map(lambda t: (".csv", t)),
        st.one_of(yaml_texts(), json_texts(), csv_texts()).map(lambda t: ("", t)),
    )
)
def test_large_matrices_are_read_as_small_ones_are(
    tmp_path_factory: pytest.TempPathFactory, case: tuple[str, str]
) -> None:
    suffix, text = case
    path = tmp_path_factory.getbasetemp() / f"problem{suffix}"
    path.write_text(text, newline="")
    assert told(path, lift=True) == told(path, lift=False)


ROWS = "0.5 -1 2e3\n1 0 7\n-0 .5 1.\n"
X = [[0.5, -1, 2000], [1, 0, 7], [0, 0.5, 1]]


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("p.csv", ROWS.replace(" ", ","), X),
        ("p.csv", "X\n" + ROWS.replace(" ", ", ") + "steps\nscores\n1,2\n", X),
        ("p.csv", "kind;self\nX\n\n" + ROWS.replace(" ", ";"), X),
        ("p.tsv", ROWS.replace(" ", "\t"), X),
        ("p.csv", ROWS.rstrip(), X),
        ("p.csv", "1\n2\n3\n4\n5\n6\n7\n8", [[1], [2], [3], [4], [5], [6], [7], [8]]),
        ("p.csv", f"X[1]\n{ROWS}X[2]\n{ROWS}", [X, X]),
        ("p.yaml", "title: a\nX: |\n  " + ROWS.replace("\n", "\n  ") + "\nscore: dot\n", X),
        ("p.yaml", "X: |-\n  " + ROWS.replace(" ", ", ").replace("\n", "\n  "), X),
        ("p.yaml", f"X: {X}\nscore: dot\n", X),
        ("p.yaml", f"X: [{X},\n\n  {X}]\n", [X, X]),
        ("p.yaml", f"X: [{X}, {X}, {X}]", [X, X, X]),
        ("p.yaml", "score: dot\nX:\n" + "".join(f"- {row}\n" for row in X), X),
        ("p.yaml", "X:\n" + "".join(f"  - {row}\n" for row in X).replace(", ", ",\n     "), X),
        ("p.json", f'{{"title": "a", "X": {X}, "score": "dot"}}', X),
        ("p.json", f"{X}\n", X),
        ("p.json", f'{{"X":\n{X}}}'.replace(",", "\n,\n").replace("[", "[\n"), X),
        ("p.json", f'{{"options": {{}}, "inputs": {{"X": {X}}}, "steps": {{}}}}', X),
        ("p", f"[{X}]", [X]),
    ],
)
def test_which_matrices_are_arrays_at_once(
    name: str, text: str, value: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No cell of them is an object, in whatever pieces the file comes."""

    def never(*_: object) -> None:
        raise AssertionError("the text was read again")

    found: list[Chunk] = []
    shortened = lifted.shortened

    def noted(chunk: Chunk, pieces: list[str]) -> Chunk:
        found.append(shortened(chunk, pieces))
        return found[-1]

    monkeypatch.setattr(lifted, "restored", never)
    monkeypatch.setattr(lifted, "shortened", noted)
    path = tmp_path / name
    path.write_text(text)
    for size in (1, 20, 10**6):
        monkeypatch.setattr(stream, "BLOCK", size)
        monkeypatch.setattr(lifted, "SMALLEST", max(size, 10))
        assert load.load(path).matrices()["X"].tolist() == value
        assert any(one.lifted for one in found)
        found.clear()


def test_a_matrix_file_of_a_problem_is_an_array_and_one_of_answers_is_not(tmp_path: Path) -> None:
    """Of an answer each digit counts."""
    (tmp_path / "x.csv").write_text(ROWS.replace(" ", ","))
    (tmp_path / "p.yaml").write_text("X: x.csv\nscore: dot\n")
    assert isinstance(load.load(tmp_path / "p.yaml").written["X"], np.ndarray)
    (tmp_path / "a.yaml").write_text("scores: x.csv\n")
    (sheet,) = load_answers(tmp_path / "a.yaml")
    assert sheet.matrices["scores"][0] == ["0.5", "-1", "2e3"]


def held(work: Callable[[], object]) -> int:
    """Return how many bytes some work takes at most beyond what is there before."""
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


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
        assert held(work) < array.nbytes / 2
