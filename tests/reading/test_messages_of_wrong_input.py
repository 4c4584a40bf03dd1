"""Wrong input: one clear message each, exit status 2, never a traceback."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pytest

import attncli
from tests.conftest import ROOT, Attn, cases
from tests.support.snapshots import FOLDER, assert_same

FILES = sorted((ROOT / "tests" / "data" / "errors").iterdir())
GOOD = str(ROOT / "sample_inputs" / "i_am_good.yaml")


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_message_is_as_read(path: Path, attn: Attn) -> None:
    result = attn("compute", path.name, cwd=path.parent)
    assert result.status == 2
    assert result.out == ""
    assert_same(result.err, f"errors/{path.name}.txt")


def test_no_snapshot_is_left_over() -> None:
    kept = {p.name for p in (FOLDER / "errors").iterdir()}
    assert kept == {f"{p.name}.txt" for p in FILES}


def test_missing_file_names_the_near_one(attn: Attn) -> None:
    result = attn("compute", "sample_inputs/i_am_god.yaml")
    assert result.status == 2
    assert "did you mean sample_inputs/i_am_good.yaml?" in result.err


def test_folder_is_told_from_a_file(attn: Attn) -> None:
    result = attn("compute", "sample_inputs")
    assert result.status == 2
    message = "this is a folder\n  name a file in it, such as sample_inputs/"
    assert result.err.startswith(f"sample_inputs: {message}")


@pytest.mark.parametrize(
    "arguments",
    [
        ["compute", ""],
        ["explain", "", "output"],
        ["check", GOOD, ""],
        ["check", "", GOOD],
        ["check", GOOD, "-", "--feedback", ""],
        ["compute", GOOD, "-o", ""],
        ["vary", GOOD, "-o", ""],
        ["worksheet", GOOD, "-o", ""],
    ],
)
def test_an_empty_name_is_told_as_one(arguments: list[str], attn: Attn, tmp_path: Path) -> None:
    result = attn(*arguments, cwd=tmp_path)
    assert (result.status, result.out) == (2, "")
    assert result.err == "the name of a file is empty\n  write its name, or leave it out\n"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("text", ["[" * 100_000, '{"X": ' + "[" * 100_000])
def test_deep_brackets_end_at_once(text: str, attn: Attn) -> None:
    result = attn("compute", "-", stdin=text.encode())
    assert result.status == 2
    assert "more than 64 brackets or levels inside each other" in result.err


def test_alias_bomb_is_refused(attn: Attn) -> None:
    lines = ["a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    for before, name in zip("abcdefgh", "bcdefghi", strict=True):
        lines.append(f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]")
    result = attn("compute", "-", stdin="\n".join(lines).encode())
    assert result.status == 2
    assert "<stdin>:7:" in result.err
    assert "aliases expand to more than 5,000,000 values" in result.err


def test_ten_megabytes_in_one_word(attn: Attn) -> None:
    """The message shows a piece of the line, not all of it."""
    result = attn("compute", "-", stdin=b"X: [[1, 2], [3, " + b"z" * 10_000_000 + b"]]")
    assert result.status == 2
    assert "row 2, column 2 of X" in result.err
    assert len(result.err) < 400


def test_ten_megabytes_of_numbers_compute(attn: Attn) -> None:
    row = ", ".join(["0.5"] * 2_000_000)
    result = attn("compute", "-", "--only", "sum", "-f", "csv", stdin=f"X: [[{row}]]".encode())
    assert result.status == 0, result.err


def test_of_many_faults_the_first_are_told_and_the_others_counted(attn: Attn) -> None:
    keys = "".join(f"k{number}: 1\n" for number in range(60))
    result = attn("compute", "-", stdin=f"X: [[1]]\n{keys}".encode())
    assert (result.status, result.out) == (2, "")
    assert result.err.count(": unknown key k") == 50
    assert "<stdin>:51:1: unknown key k49" in result.err
    assert result.err.endswith("\n  and 10 more like these\n")


def test_every_bad_file_is_told_and_the_others_go_on(attn: Attn) -> None:
    result = attn(
        "compute",
        *(
            "sample_inputs/i_am_good.yaml",
            "tests/data/errors/nan.yaml",
            "sample_inputs/no_such.yaml",
        ),
        *("--only", "scores", "-f", "csv", "--keep-going"),
    )
    assert result.status == 2
    assert result.out == "14,10,9\n10,11,6\n9,6,6\n"
    assert "tests/data/errors/nan.yaml:1:9:" in result.err
    assert "no_such.yaml: there is no such file" in result.err


@pytest.mark.parametrize(
    ("written", "value"),
    [("1e3", 1000), ("1/4", 0.25), ("sqrt(16)", 4), ("012", 12), ("-.5", -0.5), ("0x10", 16)],
)
def test_numbers_mean_what_people_mean(written: str, value: float, attn: Attn) -> None:
    result = attn("compute", "-", "--only", "Q", "-f", "csv", stdin=f"X: [[{written}]]".encode())
    assert float(result.out) == value


@pytest.mark.parametrize("before", [b"\xef\xbb\xbf", "# é\n".encode(), b"# \x81\n"])
def test_bytes_that_are_neither_utf8_nor_windows_1252(before: bytes, attn: Attn) -> None:
    result = attn("compute", "-", stdin=before + b"title: caf\xe9\nX: [[1]]\n")
    assert result.status == 2
    assert re.search(r"<stdin>: line [12] is not in UTF-8 \(byte 0x", result.err)
    assert result.err.endswith("\n  save the file as UTF-8\n")


def test_windows_1252_is_read_with_a_note(attn: Attn) -> None:
    result = attn("compute", "-", stdin="title: “Übung” 3\nX: [[1]]\n".encode("cp1252"))
    assert (result.status, result.out.split("\n")[0]) == (0, "“Übung” 3")
    note = "note: <stdin> is not in UTF-8; it is read as Windows-1252; save it as UTF-8 if “Übung” "
    assert result.err == f"{note}is wrong\n"


@cases("errors", "wrong_flags")
def test_wrong_flags(arguments: list[str], message: str, attn: Attn, tmp_path: Path) -> None:
    sample = ROOT / "sample_inputs" / "i_am_good.yaml"
    result = attn("compute", sample, *arguments, cwd=tmp_path)
    assert result.status == 2
    assert message in result.err
    assert list(tmp_path.iterdir()) == []


def test_a_message_quotes_no_more_than_can_be_read(attn: Attn, tmp_path: Path) -> None:
    (tmp_path / "long.yaml").write_text(f"kind: {'a' * 100_000}\nX: [[1]]\n")
    result = attn("compute", "long.yaml", cwd=tmp_path)
    assert result.status == 2
    assert "unknown kind aaa" in result.err
    assert len(result.err) < 2_000


DIGITS = "1" * 5000


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("title: x", ["1:1: there is neither X nor Q"]),
        ("{notes: 1}", ["1:1: there is neither X nor Q"]),
        ("# 1\n\n- 1", ["3:1: a problem is a mapping of keys to values, not a list"]),
        ("title: x\nX: [[1e200]]", ["2:1: scores holds a number that is beyond"]),
        ("score: {name: scaled_dto, scal: 2}", ["1:9: unknown score", "1:27: unknown key scal"]),
        ("score: {name: scaled_dto, scal: 2}", ["  known: name\n"]),
        ("normalize: {name: hardmax, sink: 1}", ["1:28: the normaliser hardmax has no sink"]),
        ("foo: 1", ["  known: form, … (99 in all: see attn schema)\n"]),
        ("gradient: {loss: foo}", ["known: sum, squared_error, half_squared_error, mean_squ"]),
        ("gradient: loss", ["1:1: gradient: loss is the cross-entropy of target"]),
        ("X: [[1]]\n...\nX: [[2]]", ["3:1: the line ... ends a problem", "write --- between two"]),
        ("X: zeros(1000, 4)", ["1:1: X: zeros is read with sizes of at most 999"]),
        ("X: np.eye(3, 1000)", ["X: np.eye is read with sizes of at most 999"]),
    ],
)
def test_every_message_has_its_place_and_a_way_out(
    text: str, lines: list[str], attn: Attn, tmp_path: Path
) -> None:
    (tmp_path / "p.yaml").write_text(text)
    result = attn("compute", "p.yaml", "--only", "output", cwd=tmp_path)
    assert result.status == 2
    for line in lines:
        assert (f"p.yaml:{line}" if line[:1].isdigit() else line) in result.err


def test_more_digits_than_python_reads_are_no_number(attn: Attn, tmp_path: Path) -> None:
    """Superscripts, too: `isdigit` lets them through, and `int` raises a ValueError."""
    words = "embedding: {vocabulary: [a, b], table: [[1, 0], [0, 1]]}, tokens: [a, b]"
    rest = f"unembedding: tied, target: ['{DIGITS}', '²']"
    (tmp_path / "p.yaml").write_text(f"{{kind: transformer, {words}, {rest}}}")
    result = attn("compute", "p.yaml", cwd=tmp_path)
    assert (result.status, "is not in the vocabulary" in result.err) == (2, True)
    names = ("①", "②", DIGITS[:250])
    for folder in names:
        (tmp_path / "class" / folder).mkdir(parents=True)
        (tmp_path / "class" / folder / "²1.yaml").write_text("output: 1\n")
    with zipfile.ZipFile(tmp_path / "class" / "a.zip", "w") as archive:
        archive.writestr(f"{DIGITS}.yaml", "output: 1\n")
    result = attn("check", GOOD, str(tmp_path / "class"))
    assert (result.status, result.out.count("first at output")) == (1, 4)
    assert attn("explain", GOOD, f"weights[{DIGITS}, 1]").status == 2
    report = attn("check", GOOD, "-", stdin=f"weights: {{{DIGITS}: [1, 0, 0]}}".encode())
    assert report.status == 2


def test_a_report_and_a_trace_are_short_and_print_as_tables() -> None:
    problem = attncli.Problem(X=[[1, 0], [0, 1]])
    trace = attncli.compute(problem)
    report = attncli.check(problem, {"weights": [[1, 0], [0, 1]]})
    assert repr(trace) == "<Trace Q, K, V, scores, scaled, exp, sum, weights, output>"
    assert repr(report) == "<Report wrong, first at weights: 4 wrong, 30 missing>"
    assert str(trace) == attncli.render(trace, "table").rstrip("\n")
    assert str(report).endswith("wrong, first at weights")
    skipped = attncli.check(problem, {"V": [[1, 0], [0, 1]], "ouput": [[1, 0], [0, 1]]})
    assert str(skipped).count("skipped: ouput") == 1


def test_a_name_that_the_locale_cannot_write_is_refused(attn_process: Attn, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("title: é日\nX: [[1]]\n", encoding="utf-8")
    env = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    result = attn_process("compute", "p.yaml", "-o", "d/{title}.csv", cwd=tmp_path, env=env)
    assert (result.status, [*tmp_path.iterdir()]) == (2, [tmp_path / "p.yaml"])
    assert result.err.startswith("no file can be called d/é日.csv in this locale")
