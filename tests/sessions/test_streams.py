"""Problems and answers of any number: read as they come, written as they come, none kept."""

from __future__ import annotations

import gc
import io
import json
import subprocess
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
from attncli.reading.yaml_documents import chunks, cut
from tests.conftest import PROGRAM, ROOT, SAMPLES, Attn, Result, environment, in_process

SMALL = '{"X": [[1, 0], [0, 1]], "score": "dot"}\n'
PRETTY = json.dumps(json.loads(SMALL), indent=2) + "\n"
BARE = json.dumps(json.loads(SMALL), indent=0) + "\n"
YAML = "X: [[1, 0],\n    [0, 1]]\nscore: dot\n"
FLOW = "{X: [[1, 0], [0, 1]], title: '}'\n, score: dot}\n"
BLOCK = "notes: |\n  {a\n  --- b\nX: [[1]]\n"
PROBLEMS = [SMALL, PRETTY, BARE, YAML, FLOW, BLOCK, f"# a comment\n{YAML}"]


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(st.lists(st.sampled_from(PROBLEMS), min_size=1, max_size=6), st.integers(1, 300))
def test_every_problem_of_a_stream_is_a_part(several: list[str], size: int) -> None:
    """In any order, in pieces of any size, with lines of dashes where YAML needs them."""
    text = several[0]
    for before, after in pairwise(several):
        is_json = all(one[0] == "{" and "'" not in one for one in (before, after))
        text += after if is_json else f"---\n{after}"
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    found = list(chunks(cut(iter(pieces)), "f"))
    assert "".join(chunk.text for chunk in found) == text
    at = 0
    for chunk in found:
        assert chunk.before == text.count("\n", 0, at)
        at += len(chunk.text)
    problems = attncli.load_all("-", stdin=io.BytesIO(text.encode()))
    assert len(problems) == len(several)
    assert all(problem.X is not None for problem in problems)


CUT = ['{"X": [[1, 0], [0,', '{"X": [[1, 0], [0', '{"X": [[1, 0]]]}', "{"]


@pytest.mark.parametrize("bad", CUT)
def test_a_line_of_json_that_was_cut_off_costs_only_itself(attn: Attn, bad: str) -> None:
    text = SMALL + bad + "\n" + SMALL * 2
    result = attn("compute", "-", "--keep-going", "-f", "json", stdin=text.encode())
    assert result.status == 2
    assert len(result.out.splitlines()) == 3
    assert result.err.startswith("<stdin>:")
    assert "in problem 2\n" in result.err


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
        pieces = [*filter(None, cut(iter(text.splitlines(keepends=True))))]
        assert pieces == [*filter(None, cut(iter([text])))]


@pytest.mark.parametrize("bad", ["no problem at all\n", "log: starting\n", LINE[9:], "{\n"])
def test_a_first_line_that_is_garbage_costs_only_itself(attn: Attn, bad: str) -> None:
    text = (bad + LINE * 2).encode()
    result = attn("compute", "-", "--keep-going", "--only", "Q", "-f", "csv", stdin=text)
    assert (result.status, result.out) == (2, "1,0\n0,1\n\n1,0\n0,1\n")


ARRAY = """[
  {"title": "a", "X": [[2]]},
  {"title": "b", "X": [[1, 2], [3]]},
  7,
  {"X": [[4]]}
]
"""


def test_a_list_of_mappings_is_several_problems(attn: Attn) -> None:
    result = attn("compute", "-", "--keep-going", "--only", "Q", "-f", "csv", stdin=ARRAY.encode())
    assert (result.status, result.out) == (2, "2\n\n4\n")
    assert result.err.startswith("<stdin>:3:32: row 2 of X has 1 number")
    assert "<stdin>:4:3: item 3 of the list must be a mapping" in result.err
    in_yaml = attn("compute", "-", "--only", "Q", "-f", "csv", stdin=b"- X: [[2]]\n- X: [[4]]\n")
    assert in_yaml.out == result.out


def numbers(result: Result) -> list[int | None]:
    """Return the number of the problem in each line of JSON."""
    return [json.loads(line).get("problem") for line in result.out.splitlines()]


def test_json_has_the_number_of_a_problem_that_is_one_of_several(
    attn: Attn, attn_process: Attn, tmp_path: Path
) -> None:
    """So it has from a pipe, which may bring others; what the number stands in is read back."""
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    one.write_text(LINE)
    two.write_text(LINE * 2)
    assert numbers(attn("compute", one, "-f", "json")) == [None]
    assert numbers(attn("compute", two, "-f", "json")) == [1, 2]
    assert numbers(attn("compute", one, two, "-f", "json")) == [1, 2, 3]
    written = attn_process("compute", "-", "-f", "json", stdin=LINE.encode())
    assert numbers(written) == [1]
    assert numbers(attn("compute", "-", "-f", "json", stdin=written.out.encode())) == [None]
    three = (LINE + "{\n" + LINE).encode()
    assert numbers(attn("compute", "-", "-f", "json", "--keep-going", stdin=three)) == [1, 3]
    traces = [attncli.compute(problem) for problem in attncli.load_all(two)]
    assert attncli.render(traces, "json").count('"problem": 2') == 1


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
    assert result.err.endswith("  and 8,950 more like these\n")
    assert len(compared) == MAX_SHOWN_FAULTS


def test_the_first_bad_problem_ends_a_run(attn: Attn) -> None:
    text = b"X: [[1]]\n---\nX: [[1, 2], [3]]\n---\nX: [[2]]\n"
    stopped = attn("compute", "-", "--only", "output", "-f", "csv", stdin=text)
    assert (stopped.status, stopped.out) == (2, "1\n")
    assert stopped.err.startswith("<stdin>:3:13: row 2 of X has 1 number")
    assert stopped.err.endswith("  in problem 2\n")
    whole = attn("compute", "-", "--only", "output", "-f", "csv", "--keep-going", stdin=text)
    assert (whole.status, whole.out) == (2, "1\n\n2\n")
    assert whole.err == stopped.err


def test_places_in_a_stream_are_those_of_the_file(attn: Attn) -> None:
    long = json.dumps({"X": [[1]], "title": "a" * 500}) + "\n"
    text = long * 300 + '{"X": [[1, 0], [0, a]]}\n'  # more than one block
    result = attn("compute", "-", "--only", "output", "-f", "csv", stdin=text.encode())
    assert result.err.startswith("<stdin>:301:20: row 2, column 2 of X")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("X: [[1]]\n---\nX: [[1]]\nX: [[2]]\n", "X is written twice, first in line 3"),
        ("X: [[1]]\n---\nX: [[1\n", "it opens in line 3, column 5"),
        ("X: [[1]]\n---\nX: |\n    1 2\n  a 4\n", "<stdin>:5:3: "),
    ],
)
def test_lines_that_a_message_names_are_those_of_the_file(attn: Attn, text: str, told: str) -> None:
    result = attn("compute", "-", stdin=text.encode())
    assert result.status == 2
    assert told in result.err


def test_warnings_name_the_problem_where_there_are_several(attn: Attn) -> None:
    blocked = "X: [[1]]\nmask: {keep: [[0]]}\n"
    one = attn("compute", "-", "-f", "json", stdin=blocked.encode())
    assert one.err.startswith("warning: every cell")
    text = f"{blocked}---\ntitle: Ada\n{blocked}---\n{blocked}"
    text += "---\ntitle: Bo\nX: [[1]]\nW_q: [[2]]\n"
    result = attn("compute", "-", "-f", "json", stdin=text.encode())
    names = [line.split(": ")[1] for line in result.err.splitlines()]
    assert names == ["3 problems", "Bo"]


def test_each_problem_is_written_as_soon_as_it_is_there() -> None:
    command = [*PROGRAM, "compute", "-", "--only", "output", "-f", "csv"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(), cwd=ROOT
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for text, lines in (
            ('{"X": [[2]]}\n', [b"2\n"]),
            ("X: [[3]]\n---\n", [b"\n", b"3\n"]),
            ("X: [[4]]\n---\n", [b"\n", b"4\n"]),
            ('{"X": [[5]]}\n{"X": [[6]]}\n{"X": [[', [b"\n", b"5\n", b"\n", b"6\n"]),
            ("7]]}\n", [b"\n", b"7\n"]),
        ):
            process.stdin.write(text.encode())
            process.stdin.flush()
            assert [process.stdout.readline() for _ in lines] == lines
        process.stdin.close()
        assert process.wait(30) == 0


def test_an_empty_list_is_not_taken_for_the_empty_mapping_before_it() -> None:
    """What problems of one form share is told by their options, whose kinds count, too."""
    stream = b'{"X": [[1, 0], [0, 1]], "mask": {}}\n{"X": [[1, 0], [0, 1]], "mask": []}\n'
    result = in_process("compute", "-", "-f", "csv", "--only", "weights", stdin=stream)
    assert result.status == 2
    assert "mask is empty" in result.err
    assert "in problem 2" in result.err


@pytest.mark.parametrize("form", ["table", "json", "csv", "yaml", "markdown", "latex"])
def test_an_endless_stream_ends_with_its_reader(form: str) -> None:
    program = " ".join(PROGRAM)
    line = SMALL.strip()
    script = f"yes '{line}' | {program} compute - -f {form} | head -n 2; echo ${{PIPESTATUS[1]}}"
    run = ["bash", "-c", script]
    result = subprocess.run(
        run, check=False, capture_output=True, text=True, env=environment(), cwd=ROOT, timeout=60
    )
    *shown, status = result.stdout.splitlines()
    assert len(shown) == 2
    assert (status, result.stderr) == ("141", "")


def test_who_runs_the_program_within_their_own_process_keeps_their_garbage_collector() -> None:
    one = (SAMPLES / "i_am_good.yaml").read_bytes()
    two = one + b"---\n" + one
    frozen = gc.get_freeze_count()
    assert in_process("compute", "-", "-f", "json", stdin=two).out.count("\n") == 2
    assert gc.isenabled()
    assert gc.get_freeze_count() == frozen
