"""Tables fill the terminal that they have: heads beside each other, and large matrices whole."""

from __future__ import annotations

import re

import numpy as np
import pytest

import attncli
from attncli.core.text.strings import cell_width
from attncli.printing.layout import plain_text
from attncli.printing.selection import Selection
from attncli.printing.table import lines
from tests.conftest import SAMPLES


def small(rows: int, columns: int) -> list[list[int]]:
    """Return a matrix of −1, 0 and 1, always the same."""
    made: list[list[int]] = np.random.default_rng(5).integers(-1, 2, (rows, columns)).tolist()
    return made


def shown(problem: attncli.Problem, width: int | None, *only: str) -> list[str]:
    page = lines(attncli.compute(problem), Selection(only=only), width)
    return [plain_text(line) for line in page]


TWELVE = attncli.Problem(X=small(3, 36), tokens=["I", "am", "good"], heads=12)


def test_no_line_is_wider_than_the_terminal_and_a_wider_one_has_fewer() -> None:
    pages = {width: shown(TWELVE, width) for width in (80, 100, 120, 160, 240)}
    for width, page in pages.items():
        assert max(map(cell_width, page)) <= width
    counts = [len(page) for page in pages.values()]
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] < counts[2] < counts[0]
    assert counts[2] <= 160


def test_every_head_is_named_once_for_each_step() -> None:
    text = "\n".join(shown(TWELVE, 120))
    steps = text.split("\n\nscores = ")[1].split("\n\noutput = ")[0]
    for head in range(1, 13):
        # Beside scores, scaled, exp, weights and context.
        assert len(re.findall(rf"head {head}\b", steps)) == 5


def test_few_heads_keep_their_operands_and_their_sums() -> None:
    two = attncli.Problem(X=small(3, 4), tokens=["I", "am", "good"], heads=2)
    text = "\n".join(shown(two, 120))
    assert text.count("Kᵀ") == 3  # the formula, and one for each head
    assert text.count("z_am = ") == 2


def test_what_fills_a_wide_terminal_is_shown_whole() -> None:
    wide = attncli.Problem(X=small(24, 2))
    whole = "\n".join(shown(wide, 200))
    weights = whole.split("weights = exp / sum")[1].split("\n\n")[0].splitlines()[1:]
    assert [len(line.split()) for line in weights] == [24] * 24
    assert "⋮" in "\n".join(shown(wide, 80))
    assert "⋮" in "\n".join(shown(wide, None))  # in a pipe, as --full has not been asked


def test_an_input_that_has_no_room_beside_its_step_is_shown_before_it() -> None:
    """In 50 columns the names X, W_q and Q push the product over the edge."""
    problem = attncli.load(SAMPLES / "heads_cut.yaml")
    for width in range(10, 100, 5):
        page = shown(problem, width)
        assert re.search(r"\bW_q\b", "\n".join(page).partition("\n\n")[2])
        assert all(len(line) <= max(width, 24) for line in page), width


def test_rows_of_the_same_word_are_told_apart_by_names_that_are_taken() -> None:
    tokens = ["the", "cat", "the"]
    problem = attncli.Problem(tokens=tokens, X=[[1, 0], [0, 1], [1, 1]], score="dot")
    page = shown(problem, 80, "weights")
    assert page[1].split() == ["the(1)", "cat", "the(3)"]
    assert [line.split()[0] for line in page[2:]] == ["the(1)", "cat", "the(3)"]
    trace = attncli.compute(problem)
    assert attncli.explain(trace, "scores[the(3), the(1)]").name == "scores[3, 1]"
    assert attncli.explain_all(trace, "scores[the(3), cat]").keys() == {(2, 1)}


WIDE = attncli.Problem(X=small(3, 40), W_q=np.full((40, 40), 0.01), score="dot")
MANY_HEADS = attncli.Problem(X=small(2, 40), heads=20)
MANY_KEYS = attncli.Problem(kind="cross", X=small(2, 2), memory=small(30, 2))


@pytest.mark.parametrize(
    ("problem", "step", "width", "words"),
    [
        pytest.param(WIDE, "scores", 60, "", id="nothing"),
        pytest.param(MANY_HEADS, "weights", 60, "Matrices in the middle", id="heads"),
        pytest.param(MANY_KEYS, "output", 200, "Rows and columns marked …", id="keys"),
        pytest.param(MANY_KEYS, "output", 60, "Terms marked …", id="terms"),
    ],
)
def test_what_is_left_out_is_told_where_it_is_marked(
    problem: attncli.Problem, step: str, width: int, words: str
) -> None:
    page = shown(problem, width, step)
    told = [line for line in page if "--full" in line]
    assert told == [f"{words} are left out; --full shows all."][: bool(words)]
    marked = [line for line in page if re.search("[…⋮]", line) and line not in told]
    assert bool(marked) is ("…" in words)


@pytest.mark.parametrize(
    ("width", "labels", "begins"),
    [
        pytest.param(80, 9, "", id="whole"),
        pytest.param(76, 3, "", id="labels once"),
        pytest.param(64, 9, "=", id="two lines"),
        pytest.param(40, 9, "×=", id="three lines"),
    ],
)
def test_a_product_keeps_its_operands(width: int, labels: int, begins: str) -> None:
    """Labels that stand at the left already go first; then a line breaks before signs."""
    page = shown(attncli.load(SAMPLES / "i_am_good.yaml"), width, "output")
    table = page[: page.index("")]
    words = " ".join(table[1:]).split()
    names = ["weights", "V", "output"]
    assert [word for word in words if word in names] == names
    assert sum(word in ("I", "am", "good") for word in words) == labels + 3  # over the columns
    assert "".join(line.split()[0] for line in table if line.startswith((" × ", " = "))) == begins


def test_a_mixture_has_no_term_that_is_written_as_0_and_is_said_once_for_all_heads() -> None:
    page = shown(attncli.load(SAMPLES / "integers.yaml"), 80, "output")
    assert "z_a2 = 0.9820·v_a2 + 0.0180·v_a3" in page
    for name, sums in (("heads_multi_query", 2), ("sentence", 10)):
        page = shown(attncli.load(SAMPLES / f"{name}.yaml"), 80, "context")
        assert sum(line.startswith("z_") for line in page) == sums


def test_the_only_matrix_below_a_heading_has_no_name() -> None:
    wide = attncli.Problem(X=small(3, 40), W_q=np.full((40, 40), 0.01), score="dot")
    assert shown(wide, 60, "scores")[1].startswith("⎡")
