"""Matrices as people paste them: every form with the matrix that its author meant."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import attncli
from attncli.core.errors import InputError
from attncli.core.explaining.exact import Exact
from attncli.core.numbers.matrices import grid_in, labelled_texts, to_array
from attncli.core.numbers.parser import NumberError
from attncli.core.numbers.pasted import grid_of
from attncli.core.numbers.written import value_of
from tests.conftest import SAMPLES, Attn, cases, table

INF = float("inf")
UNIT = [[1, 0], [0, 1]]
FOUR = [[1, 2], [3, 4]]
HALF = [[0.5, -1], [2, 1.5]]

MEANT: dict[str, tuple[str, Any]] = {
    # MATLAB
    "matlab": ("[1 0; 0 1]", UNIT),
    "matlab_commas": ("[1, 0; 0, 1]", UNIT),
    "matlab_assignment": ("W_q = [1 0; 0 1];", UNIT),
    "matlab_lines": ("[1 2\n 3 4]", FOUR),
    "matlab_print": ("A =\n\n     1     2\n     3     4\n", FOUR),
    "matlab_decimal_commas": ("[0,5 -1,0; 2,0 1,5]", HALF),
    "semicolons": ("1 2; 3 4", FOUR),
    "semicolons_at_ends": ("1 2;\n3 4;", FOUR),
    "semicolons_of_excel": ("0,5;-1,0\n2,0;1,5", HALF),
    # R
    "r": ("     [,1] [,2]\n[1,]    1    2\n[2,]    3    4\n", FOUR),
    "r_signs": ("     [,1] [,2]\n[1,]  0.5 -1.0\n[2,]  2.0  1.5", HALF),
    "r_names_of_columns": ("      d1  d2\n[1,] 0.5 -1.0\n[2,] 2.0  1.5", HALF),
    "r_names_of_rows": ("   [,1] [,2]\nI     1    2\nam    3    4", FOUR),
    "r_assignment": ("W_q =\n     [,1] [,2]\n[1,]    1    2\n[2,]    3    4\n", FOUR),
    "r_vector": ("[1] 1 2 3", [[1, 2, 3]]),
    "r_long_vector": (" [1] 1 2 3\n [4] 4 5", [[1, 2, 3, 4, 5]]),
    # NumPy and PyTorch
    "numpy": ("[[1. 0.]\n [0. 1.]]", UNIT),
    "numpy_signs": ("[[ 0.5 -1. ]\n [ 2.   1.5]]", HALF),
    "numpy_repr": ("array([[1, 2],\n       [3, 4]])", FOUR),
    "numpy_dtype": ("array([[1., 2.],\n       [3., 4.]], dtype=float32)", FOUR),
    "numpy_code": ("W_q = np.array([[1, 0], [0, 1]])", UNIT),
    "numpy_long_rows": ("[[1. 2.\n  3.]\n [4. 5.\n  6.]]", [[1, 2, 3], [4, 5, 6]]),
    "numpy_exponents": ("[[1.0e+00 2.0e-01]]", [[1, 0.2]]),
    "numpy_truths": ("array([[ True, False],\n       [ True,  True]])", [[1, 0], [1, 1]]),
    "torch": ("tensor([[1., 0.],\n        [0., 1.]])", UNIT),
    "torch_grad": ("tensor([[1., 0.],\n        [0., 1.]], grad_fn=<MmBackward0>)", UNIT),
    "torch_device": ("tensor([[1., 0.]], device='cuda:0', dtype=torch.float64)", [[1, 0]]),
    "torch_parameter": ("Parameter containing:\ntensor([[1,2],[3,4]], requires_grad=True)", FOUR),
    "torch_infinite": ("tensor([[0., -inf],\n        [0., 0.]])", [[0, -INF], [0, 0]]),
    "jax": ("Array([[1., 0.],\n       [0., 1.]], dtype=float32)", UNIT),
    "lists": ("[[1,2],[3,4]]", FOUR),
    "lists_trailing_commas": ("[[1, 2,], [3, 4,],]", FOUR),
    "rows_of_lists": ("[1, 2]\n[3, 4]", FOUR),
    "numpy_unit": ("np.eye(2)", UNIT),
    "numpy_zeros": ("np.zeros((2, 3))", [[0] * 3] * 2),
    "numpy_vector": ("np.ones(3)", [[1] * 3]),
    "torch_zeros": ("torch.zeros(2, 3)", [[0] * 3] * 2),
    "matlab_unit": ("W_q = eye(2);", UNIT),
    "tensorflow": ("tf.Tensor(\n[[1. 2.]\n [3. 4.]], shape=(2, 2), dtype=float32)", FOUR),
    "sympy_code": ("sp.Matrix([[1, 2], [3, 4]])", FOUR),
    "matlab_factor": ("A =\n\n   1.0e-01 *\n\n    5.0000  -10.0000\n   20.0000   15.0000\n", HALF),
    "mathematica": ("{{1, 2}, {3, 4}}", FOUR),
    # Markdown and drawn tables
    "markdown": ("| 1 | 2 |\n|---|---|\n| 3 | 4 |", FOUR),
    "markdown_no_line": ("| 1 | 2 |\n| 3 | 4 |", FOUR),
    "markdown_no_outer": ("1 | 2\n--|--\n3 | 4", FOUR),
    "markdown_empty_heads": ("|   |   |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |", FOUR),
    "markdown_heads": ("| d1 | d2 |\n|:--|--:|\n| 1 | 2 |\n| 3 | 4 |", FOUR),
    "markdown_labels": ("|  | d1 | d2 |\n|--|--|--|\n| I | 1 | 2 |\n| am | 3 | 4 |", FOUR),
    "markdown_numbers_as_heads": ("|  | 1 | 2 |\n|--|--|--|\n| I | 1 | 2 |\n| am | 3 | 4 |", FOUR),
    "markdown_counted": ("| token | a | b |\n|--|--|--|\n| 1 | 1 | 2 |\n| 2 | 3 | 4 |", FOUR),
    "markdown_labels_alone": ("| I | 1 | 2 |\n| am | 3 | 4 |", FOUR),
    "markdown_bold": ("| **1** | `2` |\n|---|---|\n| $3$ | *4* |", FOUR),
    "markdown_commas": ("| 0,5 | −1 |\n|---|---|\n| 2 | 1,5 |", HALF),
    "markdown_one_row": ("| love | 1 | 0 |", [[1, 0]]),
    "org": ("| 1 | 2 |\n|---+---|\n| 3 | 4 |", FOUR),
    "box": ("┌───┬───┐\n│ 1 │ 2 │\n├───┼───┤\n│ 3 │ 4 │\n└───┴───┘", FOUR),
    "sql": ("+---+---+\n| 1 | 2 |\n+---+---+\n| 3 | 4 |\n+---+---+", FOUR),
    "bars": ("| 1 2 |\n| 3 4 |", FOUR),
    # LaTeX
    "bmatrix": (r"\begin{bmatrix} 1 & 0 \\ 0 & 1 \end{bmatrix}", UNIT),
    "pmatrix_lines": ("\\begin{pmatrix}\n  1 & 2 \\\\\n  3 & 4 \\\\\n\\end{pmatrix}", FOUR),
    "matrix_in_brackets": (r"\left[ \begin{matrix} 1 & 2 \\ 3 & 4 \end{matrix} \right]", FOUR),
    "array": (r"$$\left(\begin{array}{r|r} 1 & 2 \\[2pt] \hline 3 & 4 \end{array}\right)$$", FOUR),
    "tex_name": (r"\[ W^Q = \begin{bmatrix} 1 & 2 \\ 3 & 4 \end{bmatrix} \]", FOUR),
    "tex_fractions": (r"\begin{bmatrix} \frac{1}{2} & -1 \\ 2 & \dfrac32 \end{bmatrix}", HALF),
    "tex_roots": (r"\begin{bmatrix} \sqrt3 & \frac{\sqrt{9}}{2} \end{bmatrix}", [[3**0.5, 1.5]]),
    "tex_infinite": (r"\begin{bmatrix} 0 & -\infty \\ 0 & 0 \end{bmatrix}", [[0, -INF], [0, 0]]),
    "tex_powers": (r"\begin{bmatrix} e^{2} & 3 \cdot 10^{-1} \end{bmatrix}", [[np.e**2, 0.3]]),
    "tex_commas": (r"\begin{bmatrix} 0{,}5 & -1 \\ 2 & 1{,}5 \end{bmatrix}", HALF),
    "tex_percent": (r"\begin{bmatrix} 50\% & \approx 0.25 \end{bmatrix}", [[0.5, 0.25]]),
    "tex_labels": (r"\begin{matrix} \text{I} & 1 & 2 \\ \text{am} & 3 & 4 \end{matrix}", FOUR),
    "tex_one_column": (r"\begin{pmatrix} 1 \\ 2 \\ 3 \end{pmatrix}", [[1], [2], [3]]),
    "tex_bare_rows": (r"1 & 2 \\ 3 & 4", FOUR),
    "tex_numbers_in_a_block": ("\\frac{1}{2} -1\n2 \\frac32", HALF),
    "tex_full_stop": (r"\[ \begin{bmatrix} 1 & 2 \\ 3 & 4 \end{bmatrix}. \]", FOUR),
    "tex_comma": (r"$W_Q=\begin{bmatrix}1&2\\3&4\end{bmatrix},$", FOUR),
    "tex_bold_name": (r"\mathbf{W}_q = \begin{bmatrix}1&2\\3&4\end{bmatrix}", FOUR),
    "tabular": (
        r"\begin{tabular}{c|cc} & a & b \\ \hline I & 1 & 2 \\ am & 3 & 4 \end{tabular}",
        FOUR,
    ),
    "tex_phantom": (r"\begin{bmatrix} \phantom{-}0.5 & -1 \\ 2 & 1.5 \end{bmatrix}", HALF),
    # labels
    "colons": ("I: 1 2\nam: 3 4", FOUR),
    "colons_one_row": ("I: 1 0 1", [[1, 0, 1]]),
    "colons_of_two_words": ("New York: 1 2\nRome : 3 4", FOUR),
    "numbered": ("1: 1 2\n2: 3 4", FOUR),
    "words": ("I 1 2\nam 3 4", FOUR),
    "words_and_commas": ("I, 1, 2\nam, 3, 4", FOUR),
    "words_and_decimal_commas": ("I 0,5 -1,0\nam 2,0 1,5", HALF),
    "word_and_bar": ("love | 1 2\nI    | 3 4", FOUR),
    "subword": ("##ing 1 2\n[CLS] 3 4", FOUR),
    "word_like_a_number": ("e 1 2\nx 3 4", FOUR),
    "pandas": ("      I  am\nI     1   2\nam    3   4", FOUR),
    "heads_only": ("d1 d2\n1 2\n3 4", FOUR),
    # spreadsheets
    "tabs": ("1\t2\n3\t4", FOUR),
    "tabs_commas": ("0,5\t-1\n2\t1,5", HALF),
    "tabs_labels": ("\td1\td2\nI\t1\t2\nam\t3\t4", FOUR),
    "tabs_two_words": ("New York\t1\t2\nRome\t3\t4", FOUR),
    "tabs_and_blanks": ("1\t2\n 3   4", FOUR),
    # what this program prints
    "own": ("⎡1  2⎤\n⎣3  4⎦", FOUR),
    "own_labels": ("   I ⎡0.5   -1⎤\n  am ⎣  2  1.5⎦", HALF),
    "own_heads": ("      I    am\n I ⎡0.5    -1⎤\nam ⎣  2   1.5⎦", HALF),
    "own_numbers": ("1 ⎡1  2⎤\n2 ⎣3  4⎦", FOUR),
    "own_one_row": ("I [1  2]", None),
    "sympy": ("⎡1  2⎤\n⎢    ⎥\n⎣3  4⎦", FOUR),
    # numbers
    "minus_signs": ("0.5 −1\n2 1.5", HALF),
    "percents": ("50% 25 %\n≈0.14 ≈ 0.5", [[0.5, 0.25], [0.14, 0.5]]),
    "blank_lines": ("\n1 2\n\n\n3 4\n\n", FOUR),
    "trailing_commas": ("1, 2,\n3, 4,", FOUR),
    "trailing_commas_close": ("1,2,\n3,4,", FOUR),
    "decimal_commas": ("0,5 -1,0\n2,0 1,5", HALF),
    "fractions": ("1/2 -1\n2 3/2", HALF),
    "windows_lines": ("1 2\r\n3 4\r\n", FOUR),
    "no_break_blanks": ("1\u00a02\n3\u00a04", FOUR),
}  # fmt: skip
"""Each form and the matrix that its author meant; None where it is refused."""


@pytest.mark.parametrize("form", MEANT)
def test_what_is_pasted_is_what_was_meant(form: str) -> None:
    text, meant = MEANT[form]
    if meant is None:
        with pytest.raises(InputError):
            to_array(text, ("X",))
        return
    is_mask = form == "numpy_truths"  # of which nothing else is made
    array = to_array(text, ("X",), infinite=True, truths=is_mask)
    np.testing.assert_allclose(array, meant, rtol=1e-15)
    if not is_mask:
        answers, _ = labelled_texts(text, ("weights",), ragged=False)
        np.testing.assert_allclose(np.vectorize(value_of)(answers), meant, rtol=1e-15)


def test_there_are_at_least_sixty_forms() -> None:
    assert len(MEANT) >= 60


@cases("pasted", "what_may_be_read_in_two_ways_is_refused")
def test_what_may_be_read_in_two_ways_is_refused(text: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        to_array(text, ("X",))
    assert said in str(caught.value)
    assert len(caught.value.faults) == 1


@pytest.mark.parametrize(
    ("form", "labels"),
    [
        *((form, (None, None)) for form in ("numpy", "markdown", "bmatrix", "tabs", "own")),
        *((form, (["I", "am"], ["d1", "d2"])) for form in ("markdown_labels", "tabs_labels")),
        *((form, (["I", "am"], None)) for form in ("colons", "words", "tex_labels", "own_labels")),
        *((form, (["I", "am"], ["I", "am"])) for form in ("pandas", "own_heads")),
        ("markdown_counted", (["1", "2"], ["a", "b"])),
        ("word_and_bar", (["love", "I"], None)),
        ("tabs_two_words", (["New York", "Rome"], None)),
    ],
)
def test_words_beside_the_numbers(form: str, labels: tuple[list[str] | None, ...]) -> None:
    assert grid_in(MEANT[form][0], ("X",)).labels == labels


@settings(deadline=None, max_examples=200, derandomize=True, database=None)
@given(st.text(alphabet="01.,;:-|[](){}\\&$% \t\n\rIe⎡⎤…", max_size=30))
def test_any_text_is_read_or_refused_and_numbers_stay_where_they_stood(text: str) -> None:
    try:
        rows = grid_of(text).rows
    except NumberError:
        return
    assert all(0 <= at <= len(text) for row in rows for at, _ in row)
    starts = [at for row in rows for at, _ in row]
    assert starts == sorted(starts)


def test_faults_point_at_what_was_pasted(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(
        "X: |\n  | token | d1 | d2 |\n  |---|---|---|\n  | I | 1 | 0 |\n  | am | 0 | zero |\n"
        "W_q: |\n  \\begin{bmatrix}\n    1 & 0 \\\\\n    0 & \\foo\n  \\end{bmatrix}\n"
        "W_k: |\n  array([[1, 2],\n         [3, x]])\n"
    )
    with pytest.raises(InputError) as caught:
        attncli.load(path)
    places = [(f.place.line, f.place.column) for f in caught.value.faults if f.place]
    assert places == [(5, 14), (9, 9), (13, 14)]


@pytest.mark.parametrize("sign", ["|", "|2"])
def test_a_block_whose_first_line_is_indented_more(sign: str, tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(f"score: dot\nX: {sign}\n     I am\n  I  1 3\n  am 1 1\n")
    assert attncli.load(path).tokens == ("I", "am")


# --- rows without blanks before them ---------------------------------------------------------

UNINDENTED = table("pasted", "UNINDENTED")


SIGNS = ["", " |", " |-", " | # rows", "   # rows"]
"""What may stand behind a key whose rows are in the lines after it."""


@pytest.mark.parametrize("rows", UNINDENTED)
def test_rows_are_read_up_to_the_next_key(rows: str, tmp_path: Path) -> None:
    turn = UNINDENTED.index(rows)
    for i, end in enumerate(("\n", "\r\n", "\n")):
        check_rows(rows, SIGNS[(turn + 2 * i) % len(SIGNS)], end, tmp_path)


def check_rows(rows: str, sign: str, end: str, folder: Path) -> None:
    """Assert that rows behind a key with a sign are read as those that they are."""
    path = folder / "p.yaml"
    text = f"title: rows\nX:{sign}\n{rows}\nscore: {{name: dot}}\nW_q:{sign}\n{rows}\n"
    path.write_bytes(text.replace("\n", end).encode())
    problem = attncli.load(path)
    assert problem.given[:4] == ("title", "X", "score", "W_q")
    for matrix in (problem.X, problem.W_q):
        assert matrix is not None
        assert matrix.tolist() == [[1, 0], [-1, 2]]
    if problem.tokens:  # the words beside rows of V would have to be those
        return
    answers = folder / "a.yaml"
    answers.write_text(f"V:{sign}\n{rows}\n---\nV:{sign}\n{rows}\n", newline=end)
    reports = [attncli.check(problem, sheet) for sheet in attncli.load_answers(answers)]
    assert [report.verdict for report in reports] == ["correct"] * 2


def test_rows_of_a_key_inside_another_may_stand_at_the_left(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text("X: 1 2\n3 4\nscore:\n  name: general\n  W:\n1 0\n0 3\nnotes: |\n  see:\n  1\n")
    problem = attncli.load(path)
    assert problem.X is not None
    assert problem.X.tolist() == [[1, 2], [3, 4]]
    assert problem.score["W"].tolist() == [[1, 0], [0, 3]]
    assert problem.notes == "see:\n1\n"


@cases("pasted", "faults_in_rows_without_blanks_before_them")
def test_faults_in_rows_without_blanks_before_them(
    text: str, place: str, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        attncli.load(path)
    line = text.split("\n")[int(place.partition(":")[0]) - 1]
    found = [str(fault) for fault in caught.value.faults if said in fault.message]
    assert len(found) == 1
    assert found[0].startswith(f"{path}:{place}: ")
    assert f"\n    {line}\n" in found[0]


@cases("pasted", "rows_that_are_texts")
def test_rows_that_are_texts(raw: Any) -> None:
    problem = attncli.Problem(X=raw, score="dot")
    assert problem.X is not None
    assert problem.X.tolist() == [[1, 0], [-1, 2]]
    assert attncli.check(problem, {"K": raw}).verdict == "correct"


def test_rows_that_are_texts_keep_their_digits() -> None:
    problem = attncli.Problem(X=["1 1/3", "2 0"], score={"name": "general", "W": ["1 0", "0 1"]})
    trace = attncli.compute(problem)
    assert Exact(trace).texts(trace["scores"]) == [["10/9", "2"], ["2", "4"]]


def test_thousands_are_not_taken_for_rows(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("1 202;\n3 404;\n")
    with pytest.raises(InputError, match="there is no sign between 1 and 202"):
        attncli.load(path)
    with pytest.raises(InputError, match="there is no sign between 1 and 202"):
        attncli.Problem(X=["1 202", "3 404"])
    assert attncli.Problem(X=["1 202", "3 4"]).given == ("X",)


@pytest.mark.parametrize(
    ("raw", "right"),
    [(["1 + 2", "4 / 2"], [[3, 2]]), ("(1 + 2) (3)", [[3, 3]]), (["1", "2"], [[1, 2]])],
)
def test_expressions_are_no_rows(raw: Any, right: list[list[int]]) -> None:
    problem = attncli.Problem(X=raw)
    assert problem.X is not None
    assert problem.X.tolist() == right


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("X: |\n  I: 1 0\n  am: 0 1\n", ("I", "am")),
        ("X: |\n  1: 1 0\n  2: 0 1\n", ()),
        ("tokens: [a, b]\nX: |\n  I: 1 0\n  am: 0 1\n", ("a", "b")),
        ("tokens_as: columns\nX: |\n  I am\n  1 0\n  0 1\n", ("I", "am")),
        ("tokens_as: columns\nX: |\n  d1: 1 0\n  d2: 0 1\n", ()),
    ],
)
def test_words_beside_x_are_its_tokens(text: str, tokens: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(text)
    assert attncli.load(path).tokens == tokens


def test_tokens_in_another_order_than_the_words_beside_x(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text("tokens: [I, am]\nX: |\n  am: 1 0\n  I: 0 1\n")
    with pytest.raises(
        InputError, match=r"p.yaml:2:1: the rows of X are am, I, but tokens are I, am"
    ):
        attncli.load(path)


def test_answers_are_told_apart_by_the_words_beside_them() -> None:
    problem = attncli.load(SAMPLES / "i_am_good.yaml")
    turned = "am: 0.27 0.73 0.00\nI: 0.98 0.02 0.01\ngood: 91% 0.05 0.05"
    assert attncli.check(problem, {"weights": turned}).verdict == "correct"
    table = (
        "|  | I | am | good |\n|--|--|--|--|\n| I | 0,98 | 0,02 | |\n| good | 0,91 | 0,05 | 0,05 |"
    )
    report = attncli.check(problem, {"weights": table})
    assert report.verdict == "correct"
    with pytest.raises(InputError, match="weights has no query you"):
        attncli.check(problem, {"weights": "you: 1 0 0\nam: 0 1 0"})


def test_a_mask_may_be_printed() -> None:
    text = "tensor([[ True, False],\n        [ True,  True]])"
    problem = attncli.Problem(X=UNIT, mask=text)
    np.testing.assert_array_equal(problem.mask["keep"], [[1, 0], [1, 1]])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("½ ½\n1 0\n0 1", "½ is not a number"),
        ("1O 1l\n1 2\n3 4", "1O is not a number"),
        (r"2\frac{1}{2} & 1 \\ 3 & 4", "may be a mixed number or a product"),
        (r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix} \cdot 2", "is written after the matrix"),
        (r"-\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}", "is written before the matrix"),
        ("\\begin{pmatrix}\n1 & 2 \\\\\n3 & 4%\n\\end{pmatrix}", "% begins a comment"),
        ("1.500,5 2.000,5\n1.000,5 2.000,5", "write 1500.5"),
        ("\\\\[" * 4_000, "not a number"),
    ],
)
def test_what_would_be_read_as_other_numbers_is_refused(text: str, said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        attncli.Problem(X=text)


@pytest.mark.parametrize("heads", ["x1 x2", "1st 2nd", "h_1 h_2", "I am"])
def test_words_with_digits_are_heads(heads: str) -> None:
    assert to_array(f"{heads}\n1 2\n3 4", ("X",)).shape == (2, 2)


# --- whole files -----------------------------------------------------------------------------


@cases("pasted", "whole_files")
@pytest.mark.parametrize("suffix", ["", ".yaml"])
def test_a_whole_file_of_pasted_lines(text: str, suffix: str, tmp_path: Path) -> None:
    if suffix and text.startswith("1\t"):
        return  # a table of a spreadsheet is no YAML
    path = tmp_path / f"p{suffix}"
    path.write_text(text)
    problem = attncli.load(path)
    assert problem.X is not None
    assert problem.X.tolist() == [[1, 0], [-1, 2]]


@cases("pasted", "whole_files_refused")
def test_what_is_wrong_in_pasted_lines_has_its_place(
    text: str, said: str, attn: Attn, tmp_path: Path
) -> None:
    result = attn("compute", "-", stdin=text.encode())
    assert result.status == 2
    assert said in result.err
    assert result.err.startswith("<stdin>:")


def test_lines_set_every_kind_of_value(tmp_path: Path) -> None:
    path = tmp_path / "p"
    path.write_text(
        'X = [1 0; 0 1]\ntokens <- c("I", "am")\nW^Q = [2 0; 0 2]\n\\mathbf{W}_k = [3 0; 0 3]\n'
        "score = 'dot'\nheads = 1;\ntitle: both\n"
    )
    problem = attncli.load(path)
    assert (problem.title, problem.tokens, problem.heads) == ("both", ("I", "am"), 1)
    assert problem.score["name"] == "dot"
    assert problem.W_q is not None
    assert problem.W_q.tolist() == [[2, 0], [0, 2]]
    assert problem.W_k is not None
    assert problem.W_k.tolist() == [[3, 0], [0, 3]]


@cases("pasted", "names_above_answers")
@pytest.mark.parametrize(
    "name", ["Derek O'Neil", "O'Neil, Derek", "Ana María de la Cruz", "# Zoë Smith-Jones"]
)
def test_a_name_above_the_answers_is_the_students(text: str, name: str, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(f"{name}\n{text}\n")
    (answers,) = attncli.load_answers(path)
    assert (answers.name, answers.is_named) == (name.removeprefix("# "), True)
    report = attncli.check(attncli.Problem(X=[[1, 0], [0, 1]], score="dot"), answers)
    assert report.verdict == "correct"


@pytest.mark.parametrize("suffix", ["yaml", "txt"])
@pytest.mark.parametrize("title", ["Homework 3, Ann", "Ann", "My Answers", "Ann (group 4)\r"])
def test_a_title_above_answers_in_yaml_is_left_out(title: str, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{suffix}"
    path.write_text(f"{title}\nweights: [[0.73, 0.27], [0.27, 0.73]]\n", newline="")
    (answers,) = attncli.load_answers(path)
    report = attncli.check(attncli.Problem(X=[[1, 0], [0, 1]], score="dot"), answers)
    assert report.verdict == "correct"
    path.write_text("weights\nQ: [[0.73, 0.27], [0.27, 0.73]]\n")  # it may be a step
    with pytest.raises(attncli.InputError, match="a mapping of keys to values, not: weights"):
        attncli.load_answers(path)


@pytest.mark.parametrize(
    "title",
    ["Homework Solutions", "My Answers", "Self Attention", "for Monday", "Attention Is All"],
)
def test_a_title_above_the_answers_is_no_name(title: str, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(f"{title}\nweights\n0.73 0.27\n0.27 0.73\n")
    (answers,) = attncli.load_answers(path)
    assert not answers.is_named
    assert title not in answers.name
