"""Weights as pictures: as dark as they are large, heads beside each other, blocked ones apart."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import SAMPLES, Attn, in_terminal


def test_weights_without_colours(attn: Attn) -> None:
    result = attn("compute", SAMPLES / "mask_causal.yaml", "--heat", "-q")
    assert result.out.splitlines() == [
        "weights = exp / sum   (3, 3)",
        "      I a g",
        "   I ⎡██····⎤",  # 1 and what is blocked
        "  am ⎢░░▓▓··⎥",  # 0.36, 0.64
        "good ⎣▓▓░░░░⎦",  # 0.74, 0.13, 0.13
        "",
        "0   ░░░░░░▒▒▒▒▓▓▓▓▓▓██ 1",
    ]


def test_weights_in_colours() -> None:
    shown = in_terminal(
        "compute",
        SAMPLES / "mask_causal.yaml",
        *("--heat", "-q", "--theme", "dark"),
        env={"COLORTERM": "truecolor"},
    ).out
    rows = [line for line in shown.splitlines() if "⎡" in line or "⎢" in line or "⎣" in line]
    grounds = [[int(red) for red in re.findall(r"48;2;(\d+);", row)] for row in rows]
    first, second, third = grounds
    assert len(first) == 1
    assert second[0] < second[1] < first[0]
    assert third[0] > third[1] or len(third) == 2  # alike ones are one stroke
    assert "··" in rows[0]


def test_heads_beside_each_other(attn: Attn) -> None:
    lines = attn("compute", SAMPLES / "heads_cut.yaml", "--heat").out.splitlines()
    assert any(line.split() == ["head", "1", "head", "2"] for line in lines)
    assert len(lines) == 10


def test_a_picture_that_is_too_wide_is_drawn_in_parts(tmp_path: Path) -> None:
    rows = ", ".join(f"[{number}]" for number in range(30))
    path = tmp_path / "many.yaml"
    path.write_text(f"X: [{rows}]\ntokens: [{', '.join(f'a long word {n}' for n in range(30))}]\n")
    lines = in_terminal("compute", path, "--heat", "--color", "never", columns=60).out.splitlines()
    assert max(map(len, lines)) <= 60
    assert [line.strip() for line in lines if "column" in line] == [
        "columns 1 to 21",
        "columns 22 to 30",
    ]


def test_where_there_are_no_weights(attn: Attn) -> None:
    result = attn("compute", SAMPLES / "i_am_good.yaml", "--heat", "--only", "scores")
    assert result.out == "No weights are among the steps.\n"


def test_a_file_takes_no_picture(attn: Attn) -> None:
    for more in (("-f", "json"), ("-o", "x.html")):
        result = attn("compute", SAMPLES / "i_am_good.yaml", "--heat", *more)
        assert result.status == 2
        assert "--heat" in result.err


@pytest.mark.parametrize(
    ("tokens", "heads"),
    [
        ("that cat", "t c"),
        ("that tits tows", "thtito"),
        ("that this these", "1 2 3"),
        ("你好 你们", "1 2"),
        ("你 好", "你好"),
    ],
)
def test_heads_tell_columns_apart(tokens: str, heads: str, attn: Attn) -> None:
    words = tokens.split()
    rows = ", ".join(f"[{number}]" for number in range(len(words)))
    shown = attn("compute", "--heat", stdin=f"tokens: {words}\nX: [{rows}]\n".encode()).out
    assert shown.splitlines()[1].strip() == heads
