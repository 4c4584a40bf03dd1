"""Files at the edge of what readers take, found by looking for them and kept mended."""

from __future__ import annotations

import io

import pytest

import attncli


def load(text: str) -> attncli.Problem:
    (problem,) = attncli.load_all("-", stdin=io.BytesIO(text.encode()))
    return problem


def test_a_token_that_starts_with_a_hash_is_no_comment() -> None:
    assert load("##ing,1,2\nwalk,3,4\n").tokens == ("##ing", "walk")


@pytest.mark.parametrize("first", ["score,general", "score.W\n1,0\n0,1"])
def test_a_block_does_not_take_the_place_of_an_option(first: str) -> None:
    with pytest.raises(attncli.InputError, match="score is written twice, first in line 1"):
        load(f"{first}\nscore\n1,2\nX\n1,2\n")


def test_a_header_of_many_indices_is_an_unknown_key() -> None:
    with pytest.raises(attncli.InputError, match="unknown key"):
        load(f"W_q{'[1]' * 3000}\n1,2\nX\n1,2\n")


def test_an_infinite_first_column_is_numbers() -> None:
    with pytest.raises(attncli.InputError, match="x is not a number"):
        load("-inf,1\nx,2\n")


def test_aliases_of_empty_lists_are_counted() -> None:
    rows = ["a: &a [[], [], [], [], [], [], [], [], [], []]"]
    for before, name in zip("abcdefg", "bcdefgh", strict=True):
        rows.append(f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]")
    with pytest.raises(attncli.InputError, match="aliases expand to more than"):
        load("\n".join(rows))


def test_half_a_character_is_refused_with_its_place() -> None:
    with pytest.raises(attncli.InputError, match="<stdin>:1"):
        load('{"title": "word\\udc00", "X": [[1]]}')


def test_json_lines_and_yaml_may_follow_each_other() -> None:
    text = b'{"X": [[1]]}\n{X: [[2]]}\n'
    problems = attncli.load_all("-", stdin=io.BytesIO(text))
    assert [problem.array("X").item() for problem in problems] == [1, 2]
