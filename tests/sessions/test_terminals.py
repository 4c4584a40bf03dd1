"""What a terminal shows: whole numbers in its width, colours, labels as written, and a pager."""

from __future__ import annotations

import json
import re

import pytest
from rich.cells import cell_len

from attncli.core.text.strings import SIGNS
from tests.conftest import SAMPLES, TYPICAL_SAMPLES, Attn, in_terminal

GOOD = SAMPLES / "i_am_good.yaml"
HEADS = SAMPLES / "heads_cut.yaml"
CODES = re.compile(r"\x1b\[[0-9;]*m")
ISOLATES = re.compile("[\u2068\u2069]")
ROW = re.compile(r"[⎡⎢⎣]([^⎤⎥⎦]*)[⎤⎥⎦]")
NUMBER = re.compile(r"-?(?:∞|\d+(?:\.\d+)?(?:e[+-]\d+)?)")


def test_no_input_in_a_terminal_shows_help() -> None:
    assert in_terminal("compute").out.startswith("Usage: attn compute")


@pytest.mark.parametrize(("env", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colour_in_a_terminal(env: dict[str, str], coloured: bool) -> None:
    assert ("\x1b[" in in_terminal("compute", GOOD, env=env).out) is coloured


# --- widths ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "columns"), [("i_am_good", 40), ("heads_cut", 40)])
def test_a_narrow_terminal_shows_every_number_whole(name: str, columns: int, attn: Attn) -> None:
    path = SAMPLES / f"{name}.yaml"
    shown = CODES.sub("", in_terminal("compute", path, "-q", columns=columns).out)
    numbers = set(NUMBER.findall(attn("compute", path, "-q").out))
    assert len(numbers) > 5
    assert numbers <= set(NUMBER.findall(shown))
    matrices = [line for line in shown.splitlines() if line.strip()[-1:] in "⎤⎥⎦]"]
    assert max(map(cell_len, matrices)) <= columns


NARROW_SAMPLES = [path for path in TYPICAL_SAMPLES if path.name != "transformer_training.yaml"]
"""All but the one with a sum whose products fit in 160 columns, and not in those of a pipe."""


def numbers_of(text: str) -> set[str]:
    """Return the numbers between the brackets of matrices."""
    return {n for row in ROW.findall(text) for n in NUMBER.findall(row)}


@pytest.fixture(scope="module")
def piped(attn: Attn) -> set[str]:
    return numbers_of(attn("compute", *NARROW_SAMPLES).out)


@pytest.mark.parametrize("columns", [60, 80, 160])
def test_samples_in_a_terminal(columns: int, piped: set[str], attn: Attn) -> None:
    """Every number is whole, and no line is wider than the terminal."""
    result = in_terminal("compute", *NARROW_SAMPLES, columns=columns)
    assert result.status == 0
    shown = CODES.sub("", result.out)
    assert len(piped) > 100
    # A narrow terminal leaves out operands put together on the way, such as [h_1; x_2; c_1], and
    # in 80 columns the products of a sum such as d_Q W_qᵀ + d_K W_kᵀ + d_V W_vᵀ.
    assert numbers_of(shown) <= piped
    if columns == 80:
        forward = (file for file in NARROW_SAMPLES if "gradient" not in str(file))
        assert numbers_of(shown) >= numbers_of(attn("compute", *forward).out)
    if columns == 160:
        assert numbers_of(shown) == piped
    lines = [ISOLATES.sub("", line) for line in shown.splitlines()]
    assert len(lines) > 300
    assert [line for line in lines if cell_len(line) > columns] == []


def test_columns_of_a_matrix_that_is_parted_are_named() -> None:
    shown = in_terminal("compute", HEADS, "--only", "weights", "-d", "17", columns=50).out
    shown = CODES.sub("", shown)
    assert re.search(r"^ *(weights, )?columns? 1", shown, re.MULTILINE)
    assert not re.search(r"^ *,", shown, re.MULTILINE)


def test_signs_of_tables_take_one_column() -> None:
    """The widths that are known without rich are those that rich gives."""
    assert {chr(sign): cell_len(chr(sign)) for sign in SIGNS} == dict.fromkeys(map(chr, SIGNS), 1)


# --- labels ----------------------------------------------------------------------------------


LABELS = {
    "[mask]": "[mask]",
    ":smile:": ":smile:",
    "\x1b[31mred": r"\x1b[31mred",
    "中文": "中文",
    "العربية": "العربية",
    "[/]": "[/]",
    "e\u0301": "e\u0301",
    "a\nb": r"a\nb",
    "x" * 20: "x" * 20,
}
"""What is written as labels, and what is shown of it."""


def test_labels_are_shown_as_written_and_aligned(attn: Attn) -> None:
    """Labels stand over the ends of their columns, and brackets below each other."""
    size = len(LABELS)
    X = [[round(i / 7, 3), round(size - i / 3, 3)] for i in range(size)]
    problem = json.dumps({"title": "\x1b[2J[bold]", "tokens": [*LABELS], "X": X})
    result = attn("compute", "--only", "weights", stdin=problem.encode())
    assert "\x1b" not in result.out
    lines = [ISOLATES.sub("", line) for line in result.out.splitlines()]
    first = next(i for i, line in enumerate(lines) if "⎡" in line)
    rows = lines[first : first + size]
    assert [re.split("[⎡⎢⎣]", row)[0].strip() for row in rows] == [*LABELS.values()]
    ends = []
    for row in rows:
        opening = re.search("[⎡⎢⎣]", row)
        assert opening is not None
        cells = [m.end() for m in re.finditer(r"[\d.]+(?=[\s⎤⎥⎦])", row)][-size:]
        ends.append([cell_len(row[:p]) for p in (opening.start(), *cells)])
        assert cell_len(row) == cell_len(rows[0])
    assert all(e == ends[0] for e in ends)
    at = 0
    for word, end in zip(LABELS.values(), ends[0][1:], strict=True):
        at = lines[first - 1].index(word, at) + len(word)
        assert cell_len(lines[first - 1][:at]) == end


# --- the pager -------------------------------------------------------------------------------


LONG = ("compute", HEADS, "--color", "never")
PAGER = "head -n 2; echo paged"
"""It reads only the beginning, as a person who has seen enough does."""


def test_what_is_longer_than_the_screen_is_paged() -> None:
    written = in_terminal(*LONG, env={"PAGER": PAGER}).out
    assert written == "Two heads cut from one projection\n\npaged\n"


@pytest.mark.parametrize(
    ("more", "lines", "pager"),
    [
        ([], 500, PAGER),  # the screen holds it
        ([], 0, PAGER),  # nobody knows how much it holds
        (["--no-pager"], 24, PAGER),
        ([], 24, ""),
        ([], 24, "cat"),
        ([], 24, "no-such-program 2>&1"),
    ],
)
def test_what_is_not_paged(more: list[str], lines: int, pager: str) -> None:
    written = in_terminal(*LONG, *more, lines=lines, env={"PAGER": pager}).out
    assert "output = " in written
    assert "paged" not in written


def test_a_pipe_is_never_paged(attn: Attn) -> None:
    result = attn(*LONG, env={"PAGER": PAGER})
    assert "output = " in result.out
