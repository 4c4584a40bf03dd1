"""`--head` and `--rows`: only some heads, and some rows of queries."""

from __future__ import annotations

import re

import pytest

from tests.conftest import SAMPLES, Attn

HEADS = SAMPLES / "heads_grouped.yaml"
WORDS = SAMPLES / "i_am_good.yaml"


def test_only_some_rows_and_the_values_whole(attn: Attn) -> None:
    shown = attn("compute", WORDS, "--rows", "3,am", "--only", "output", "-d", "2").out
    assert [line.split() for line in shown.splitlines()[1:]] == [
        line.split()
        for line in (
            "weights  V  output",
            "I am good",
            "good ⎡0.91  0.05  0.05⎤    I ⎡1  3  2⎤   good ⎡1.00  2.86  2.00⎤",
            "am ⎣0.27  0.73  0.00⎦ × am ⎢1  1  3⎥ = am ⎣1.00  1.54  2.72⎦",
            "good ⎣1  2  1⎦",
            "",
            "z_good = 0.91·v_I + 0.05·v_am + 0.05·v_good",
            "z_am = 0.27·v_I + 0.73·v_am + 0.00·v_good",
        )
    ]


@pytest.mark.parametrize("rows", ["2-3", "2:3", "am-good", "am:3", "am, good", "2,3,2"])
def test_rows_are_labels_numbers_and_ranges(rows: str, attn: Attn) -> None:
    both = attn("compute", WORDS, "--rows", "am,good").out
    assert attn("compute", WORDS, "--rows", rows).out == both


def test_a_label_with_a_dash_is_no_range(attn: Attn) -> None:
    problem = b"tokens: [so, so-so, 1-2]\nX: [[1], [2], [3]]\n"
    for label in ("so-so", "1-2"):
        shown = attn("compute", "--only", "Q,scores", "--rows", label, stdin=problem).out
        assert [line for line in shown.splitlines() if line.strip().startswith(f"{label} [")]


def test_only_some_heads(attn: Attn) -> None:
    shown = attn("compute", HEADS, "--head", "3-4,1", "--only", "scores,K").out
    assert re.findall(r"head \d(?:, key/value head \d)?", shown) == [
        *("head 3, key/value head 2", "head 4, key/value head 2", "head 1, key/value head 1")
    ]


def test_tokens_as_columns_are_cut_as_columns(attn: Attn) -> None:
    sample = SAMPLES / "integers_columns.yaml"
    shown = attn("compute", sample, "--rows", "1", "--only", "weights", "-d", "2").out
    lines = [line.strip() for line in shown.splitlines()[1:]]
    assert lines == ["a1", "a1 ⎡0.06⎤", "a2 ⎢0.47⎥", "a3 ⎣0.47⎦"]


@pytest.mark.parametrize("form", ["markdown", "latex", "html"])
def test_documents_are_cut_too(form: str, attn: Attn) -> None:
    whole, part = (
        attn("compute", WORDS, "--only", "weights", "-f", form, *more).out
        for more in ((), ("--rows", "am"))
    )
    assert "0.9094" in whole
    assert "0.9094" not in part
    assert "0.7275" in part


REFUSED = {
    ("--rows", "love"): "--rows: there is no query love\n  there are I, am, good, or the numbers",
    ("--rows", "3-1"): "--rows: 3 comes after 1\n  write 1:3\n",
    ("--head", "1"): "--head: no step of this calculation has an axis head\n",
    ("--rows", "am", "-f", "json"): "--head and --rows are not for json files, which are whole\n",
    ("--rows", "am", "-o", "x.npz"): "--head and --rows are not for npz files, which are whole\n",
    ("--rows", "am", "--exact"): "--head and --rows are not for --exact\n",
}


@pytest.mark.parametrize("flags", REFUSED, ids=" ".join)
def test_what_is_refused(flags: tuple[str, ...], attn: Attn) -> None:
    result = attn("compute", WORDS, *flags)
    assert (result.status, result.out) == (2, "")
    assert result.err.startswith(REFUSED[flags])
