"""Problems and answers of any number: read as they come, written as they come, none kept."""

from __future__ import annotations

import gc
import io
import json
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import attncli
from attncli.core.errors import MAX_SHOWN_FAULTS
from attncli.core.tape.tape import Tape
from attncli.core.text import strings
from attncli.reading.load import load_each
from attncli.reading.yaml_documents import cut
from tests.conftest import SAMPLES, Attn, in_process

SMALL = '{"X": [[1, 0], [0, 1]], "score": "dot"}\n'
PRETTY = json.dumps(json.loads(SMALL), indent=2) + "\n"
BARE = json.dumps(json.loads(SMALL), indent=0) + "\n"
YAML = "X: [[1, 0],\n    [0, 1]]\nscore: dot\n"
FLOW = "{X: [[1, 0], [0, 1]], title: '}'\n, score: dot}\n"
BLOCK = "notes: |\n  {a\n  --- b\nX: [[1]]\n"
PROBLEMS = [SMALL, PRETTY, BARE, YAML, FLOW, BLOCK, f"# a comment\n{YAML}"]


@settings(max_examples=200)
@given(st.lists(st.sampled_from(PROBLEMS), min_size=1, max_size=6), st.integers(1, 300))
def test_every_problem_of_a_stream_is_a_part(several: list[str], size: int) -> None:
    """In any order, in pieces of any size, with lines of dashes where YAML needs them."""
    text = several[0]
    for before, after in pairwise(several):
        is_json = all(one[0] == "{" and "'" not in one for one in (before, after))
        text += after if is_json else f"---\n{after}"
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    assert "".join(cut(iter(pieces))) == text
    problems = attncli.load_all("-", stdin=io.BytesIO(text.encode()))
    assert len(problems) == len(several)
    assert all(problem.X is not None for problem in problems)


LINE = json.dumps({"X": [[1, 0], [0, 1]], "score": {"name": "dot"}}) + "\n"
BROKEN = [
    *(LINE[:end] + "\n" for end in range(1, len(LINE) - 1)),
    *(LINE[start:] for start in range(1, len(LINE) - 1)),
    *("no problem at all\n", "log: starting\n", "% done\n"),
]


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_a_garbage_line_of_json_lines_costs_only_itself(ends: str) -> None:
    for bad in BROKEN:
        text = (LINE + bad + LINE * 2).replace("\n", ends)
        found = list(load_each("-", stdin=io.BytesIO(text.encode())))
        assert sum(not isinstance(one, attncli.InputError) for one in found) >= 3, bad
        by_lines = cut(iter(text.splitlines(keepends=True)))
        assert "".join(by_lines) == "".join(cut(iter([text]))) == text


@pytest.mark.whole
def test_json_has_a_number_where_a_pipe_may_bring_other_problems(
    attn: Attn, attn_process: Attn
) -> None:
    """What the number stands in is read back."""
    written = attn_process("compute", "-", "-f", "json", stdin=LINE.encode())
    assert json.loads(written.out)["problem"] == 1
    again = attn("compute", "-", "-f", "json", stdin=written.out.encode())
    assert "problem" not in json.loads(again.out)


def test_several_problems_for_one_npz_are_refused_before_any_is_calculated(
    attn: Attn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = tmp_path / "two.jsonl"
    two.write_text(LINE * 2)
    each = attn("compute", two, "-o", tmp_path / "{number}.npz")
    assert (each.status, (tmp_path / "2.npz").exists()) == (0, True)
    monkeypatch.setattr(Tape, "record", pytest.fail)
    for sources in (["-"], [two], [SAMPLES / "integers.yaml", SAMPLES / "i_am_good.yaml"]):
        out = tmp_path / "out.npz"
        result = attn("compute", *sources, "-o", out, stdin=2 * LINE.encode())
        assert (result.status, out.exists()) == (2, False)
        assert result.err.startswith("an npz file holds one problem\n  use json")


def test_many_unknown_keys_are_compared_with_the_known_ones_only_where_they_are_shown(
    attn: Attn, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[str] = []

    def near(word: str, known: Iterable[str]) -> list[str]:
        compared.append(word)
        return []

    monkeypatch.setattr(strings, "near_words", near)
    text = json.dumps({"X": [[1]], **{f"key{number}": 1 for number in range(9_000)}})
    result = attn("compute", "-", stdin=text.encode())
    assert result.err.count("unknown key key") == len(compared) == MAX_SHOWN_FAULTS == 50
    assert result.err.endswith("  and 8,950 more like these\n")


def test_places_in_a_stream_are_those_of_the_file(attn: Attn) -> None:
    long = json.dumps({"X": [[1]], "title": "a" * 500}) + "\n"
    text = long * 300 + '{"X": [[1, 0], [0, a]]}\n'  # more than one block
    result = attn("compute", "-", "--only", "output", "-f", "csv", stdin=text.encode())
    assert result.err.startswith("<stdin>:301:20: row 2, column 2 of X")


def test_who_runs_the_program_within_their_own_process_keeps_their_garbage_collector() -> None:
    one = (SAMPLES / "i_am_good.yaml").read_bytes()
    frozen = gc.get_freeze_count()
    result = in_process("compute", "-", "-f", "json", stdin=one + b"---\n" + one)
    assert result.out.count("\n") == 2
    assert gc.isenabled()
    assert gc.get_freeze_count() == frozen
