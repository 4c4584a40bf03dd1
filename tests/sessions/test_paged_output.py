"""Long output goes through the user's pager, on a terminal only."""

from __future__ import annotations

import pytest

from tests.conftest import SAMPLES, Attn, in_terminal

LONG = ("compute", SAMPLES / "heads_cut.yaml", "--color", "never")
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
