"""Wrong input: one clear message each, exit status 2, never a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

import attncli
from tests.conftest import ROOT, Attn
from tests.reading.forms import refusal_of
from tests.reading.test_zip_files import zipped
from tests.support.snapshots import FOLDER, assert_same

FILES = sorted((ROOT / "tests" / "data" / "errors").iterdir())
GOOD = str(ROOT / "sample_inputs" / "i_am_good.yaml")


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_the_message_of_an_error_sample_is_as_read(path: Path, attn: Attn) -> None:
    result = attn("compute", path.name, cwd=path.parent)
    assert (result.status, result.out) == (2, "")
    assert_same(result.err, f"errors/{path.name}.txt")


def test_no_message_of_an_error_sample_is_left_over() -> None:
    kept = {p.name for p in (FOLDER / "errors").iterdir()}
    assert kept == {f"{p.name}.txt" for p in FILES}


def test_a_message_quotes_no_more_than_can_be_read(tmp_path: Path) -> None:
    message = str(refusal_of(tmp_path, f"kind: {'a' * 100_000}\nX: [[1]]\n"))
    assert "unknown kind aaa" in message
    assert len(message) < 2_000


@pytest.mark.whole
def test_ten_megabytes_in_one_word_are_refused_in_a_line(attn: Attn) -> None:
    result = attn("compute", "-", stdin=b"X: [[1, 2], [3, " + b"z" * 10_000_000 + b"]]")
    assert result.status == 2
    assert "row 2, column 2 of X" in result.err
    assert len(result.err) < 400


@pytest.mark.whole
def test_ten_megabytes_of_numbers_compute(attn: Attn) -> None:
    row = ", ".join(["0.5"] * 2_000_000)
    result = attn("compute", "-", "--only", "sum", "-f", "csv", stdin=f"X: [[{row}]]".encode())
    assert result.status == 0, result.err


def test_windows_1252_is_read_with_a_note_that_quiet_commands_leave_out(attn: Attn) -> None:
    text = "title: “Übung” 3\nX: [[1]]\n".encode("cp1252")
    result = attn("compute", "-", stdin=text)
    assert (result.status, result.out.split("\n")[0]) == (0, "“Übung” 3")
    note = "note: <stdin> is not in UTF-8; it is read as Windows-1252; save it as UTF-8 if “Übung” "
    assert result.err == f"{note}is wrong\n"
    for command in (["compute", "-"], ["worksheet", "-", "-f", "yaml"]):
        assert attn(*command, "-q", stdin=text).err == ""


DIGITS = "1" * 5000


def test_more_digits_than_python_reads_are_no_number(attn: Attn, tmp_path: Path) -> None:
    """Superscripts, too: `isdigit` lets them through, and `int` raises a ValueError."""
    table = {"vocabulary": ["a", "b"], "table": [[1, 0], [0, 1]]}
    keys = {"embedding": table, "tokens": ["a", "b"], "target": [DIGITS, "²"]}
    problem = attncli.Problem(kind="transformer", unembedding="tied", **keys)  # type: ignore[arg-type]
    with pytest.raises(attncli.InputError, match="is not in the vocabulary"):
        attncli.compute(problem)
    for folder in ("①", "②", DIGITS[:250]):
        (tmp_path / "class" / folder).mkdir(parents=True)
        (tmp_path / "class" / folder / "²1.yaml").write_text("output: 1\n")
    (tmp_path / "class" / "a.zip").write_bytes(zipped({f"{DIGITS}.yaml": "output: 1\n"}))
    result = attn("check", GOOD, str(tmp_path / "class"))
    assert (result.status, result.out.count("first at output")) == (1, 4)
    assert attn("explain", GOOD, f"weights[{DIGITS}, 1]").status == 2
    assert attn("check", GOOD, "-", stdin=f"weights: {{{DIGITS}: [1, 0, 0]}}".encode()).status == 2


def test_a_report_and_a_trace_are_short_and_print_as_tables() -> None:
    problem = attncli.Problem(X=[[1, 0], [0, 1]])
    trace = attncli.compute(problem)
    report = attncli.check(problem, {"weights": [[1, 0], [0, 1]]})
    assert repr(trace) == "<Trace Q, K, V, scores, scaled, exp, sum, weights, output>"
    assert repr(report) == "<Report wrong, first at weights: 4 wrong, 30 missing>"
    assert str(trace) == attncli.render(trace, "table").rstrip("\n")
    assert str(report).endswith("wrong: 4 of 4 numbers, first at weights")
    skipped = attncli.check(problem, {"V": [[1, 0], [0, 1]], "ouput": [[1, 0], [0, 1]]})
    assert str(skipped).count("skipped: ouput") == 1


@pytest.mark.whole
def test_a_name_that_the_locale_cannot_write_is_refused(attn_process: Attn, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("title: é日\nX: [[1]]\n", encoding="utf-8")
    env = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    result = attn_process("compute", "p.yaml", "-o", "d/{title}.csv", cwd=tmp_path, env=env)
    assert (result.status, [*tmp_path.iterdir()]) == (2, [tmp_path / "p.yaml"])
    assert result.err.startswith("no file can be called d/é日.csv in this locale")
