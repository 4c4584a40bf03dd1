"""Files for programs: labels that no spreadsheet obeys, digits, and steps too large for one list.

What each file is named and what is said of it is in `tests/data/sessions/files_out.txt`.
"""

from __future__ import annotations

import csv
import io
import json
import re
import tracemalloc
from decimal import ROUND_HALF_UP, Decimal, localcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hypothesis_numpy

import attncli
from attncli.cli import show
from attncli.core.attention import weights
from attncli.core.calculation.compute import compute, numbers_of_steps
from attncli.core.text.numbers import every_digit, floats, number_text, rounded, style_of, texts
from attncli.core.text.strings import alike, safe
from attncli.formats import FORMATS, FormatKind, format_named, formats_of
from attncli.printing import csv as csv_format
from attncli.printing import record, selection
from attncli.printing.selection import Selection
from tests.conftest import SAMPLES, Attn, cases

GOOD = SAMPLES / "i_am_good.yaml"
ANSWERS = [SAMPLES / "answers" / name for name in ("ada.json", "bo.yaml", "cleo.csv")]
ANSWERED = SAMPLES / "integers_scaled.yaml"


def rows_of(text: str, delimiter: str = ",") -> list[dict[str, str]]:
    return [*csv.DictReader(io.StringIO(text), delimiter=delimiter)]


@pytest.mark.parametrize(
    "text",
    ["X:\t[[1, 2], [3, 4]]\n", "# a\tb\nX\t: [[1, 2], [3, 4]]\n", "{\t'X': [[1, 2], [3, 4]]}\n"],
)
def test_a_tab_in_yaml_makes_no_tsv(text: str, attn: Attn) -> None:
    out = attn("compute", "-", "-f", "csv", "--only", "Q", stdin=text.encode()).out
    assert out == "1,2\n3,4\n"


HOSTILE = ["=1+1", "+x", "-x", "@x", "＠x", "＝1", "'=x", "''-", "-1+1|cmd", "-1.5", "'tis", "a"]
GUARDED = [text if text in ("'tis", "a") else f"'{text}" for text in HOSTILE]
KEYS: dict[str, Any] = {
    "title": "=cmd()",
    "tokens": HOSTILE,
    "X": [[-1.5, i] for i in range(len(HOSTILE))],
}
"""A problem whose title and labels are formulas to a spreadsheet, or nearly."""


@pytest.mark.parametrize(("form", "delimiter"), [("csv", ","), ("tsv", "\t")])
def test_no_label_or_title_is_a_formula_to_a_spreadsheet_and_all_are_read_back(
    form: str, delimiter: str, attn: Attn, tmp_path: Path
) -> None:
    problem, written = tmp_path / "p.json", tmp_path / f"p.{form}"
    problem.write_text(json.dumps(KEYS))
    assert attn("compute", problem, "-o", written).status == 0
    lines = [*csv.reader(io.StringIO(written.read_text()), delimiter=delimiter)]
    assert lines[0] == ["title", "'=cmd()"]
    assert ["tokens", *GUARDED[:9], "-1.5", "'tis", "a"] in lines
    at = lines.index(["scores"]) + 1
    assert lines[at] == ["", *GUARDED]
    assert [line[0] for line in lines[at + 1 : at + 1 + len(HOSTILE)]] == GUARDED
    assert ["-1.5", "0"] in lines
    again = attncli.load(written)
    assert (again.title, list(again.tokens)) == ("=cmd()", HOSTILE)
    assert attn("check", problem, written, "-q").out.startswith("correct")


def test_no_label_or_title_of_tidy_data_is_a_formula() -> None:
    trace = attncli.compute(attncli.Problem(**KEYS))
    rows = rows_of(attncli.render(trace, "tidy", only="weights"))
    assert {row["title"] for row in rows} == {"'=cmd()"}
    assert [row["column_label"] for row in rows[: len(HOSTILE)]] == GUARDED
    assert [row["row_label"] for row in rows[:: len(HOSTILE)]] == GUARDED


def test_cells_of_tsv_hold_no_tab_and_no_line(attn: Attn) -> None:
    problem = attncli.Problem(title="a\tb\nc", tokens=["x\ty", "z"], X=[[1, 0], [0, 1]])
    out = attncli.render(attncli.compute(problem), "tsv")
    assert out.splitlines()[0] == r"title	a\tb\nc"
    assert "x\\ty\t1\t0\n" in out
    book, comma = (attn("check", ANSWERED, *ANSWERS, "-f", form).out for form in ("tsv", "csv"))
    assert rows_of(book, "\t") == rows_of(comma)
    assert len(rows_of(book, "\t")) == 3


def test_every_suffix_is_a_name() -> None:
    kinds: tuple[FormatKind, ...] = ("traces", "reports", "explanations")
    for kind in kinds:
        for name, row in formats_of(kind).items():
            for suffix in row.suffixes:
                assert format_named(suffix.removeprefix("."), kind) == name, (kind, suffix)


def test_each_file_is_what_the_problem_or_the_student_alone_gives(
    attn: Attn, tmp_path: Path
) -> None:
    paths = GOOD, SAMPLES / "mask_causal.yaml"
    attn("compute", *paths, "-o", tmp_path / "{number}.html")
    for number, path in enumerate(paths, 1):
        alone = attn("compute", path, "-f", "html").out
        assert (tmp_path / f"{number}.html").read_text() == alone
    attn("check", ANSWERED, *ANSWERS, "-o", tmp_path / "{student}.html")
    alone = attn("check", ANSWERED, ANSWERS[1], "-f", "html").out
    assert (tmp_path / "Bo.html").read_text() == alone


@cases("files_out", "names_of_files_are_safe", ids=ascii)
def test_names_of_files_are_safe(title: str, name: str, attn: Attn, tmp_path: Path) -> None:
    problem = json.dumps({"title": title, "X": [[1]]})
    result = attn("compute", "-", "-o", tmp_path / "{title}.csv", stdin=problem.encode())
    assert result.status == 0
    assert [path.name for path in tmp_path.iterdir()] == [f"{name}.csv"]


def test_halves_of_characters_are_no_names_and_names_of_one_file_are_alike() -> None:
    assert safe("\ud800x") == "_x"
    assert alike("STRASSE é") == alike("straße e\u0301")


# Digits.


def test_many_numbers_are_written_as_each_is() -> None:
    some = [0.0, -0.0, 1.0, 1e16, 1e22, 1e-7, 0.1, 1 / 3, 2.5, -np.inf, np.inf, 5e-324, 1.7e308]
    values = floats(np.array([*some, *np.random.default_rng(0).normal(size=500)]))
    assert texts(values, None) == [every_digit(value) for value in values]
    finite = [value for value in values if np.isfinite(value)]
    assert texts(finite, 3) == [f"{value:.3f}" for value in finite]
    assert texts([], None) == texts([], 2) == []


@cases("files_out", "halves_are_rounded_away_from_zero")
def test_every_format_rounds_ties_away_from_zero_and_prints_no_minus_zero(
    digits: int, expected: list[str]
) -> None:
    problem = attncli.Problem(X=[[1.25, 2.5, -0.125, -0.3, -0.04]], score="dot")
    trace = attncli.compute(problem)

    def written(form: str) -> str:
        return attncli.render(trace, form, only="Q", decimals=digits)

    assert written("table").splitlines()[1].strip("[]").split() == expected
    for form in ("markdown", "latex"):
        assert " & ".join(expected) in written(form)
    assert re.findall(r"<td[^>]*>([^<]+)</td>", written("html").replace("−", "-"))[:5] == expected
    assert written("csv") == ",".join(expected) + "\n"
    assert written("tsv") == "\t".join(expected) + "\n"
    assert [row["value"] for row in rows_of(written("tidy"))] == expected
    numbers = [[float(text) for text in expected]]
    shown = json.loads(written("json"))["steps"]["Q"]["value"]
    assert str(shown) == str(yaml.safe_load(written("yaml"))["steps"]["Q"]["value"]) == str(numbers)
    arrays = b"".join(FORMATS["npz"].traces([trace], Selection(decimals=digits)))
    with np.load(io.BytesIO(arrays)) as found:
        assert str(found["Q"].tolist()) == str(numbers)


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 17), st.booleans())
@settings(max_examples=200, deadline=None, derandomize=True, database=None)
def test_numbers_are_rounded_by_their_exact_value(
    number: float, decimals: int, is_tie: bool
) -> None:
    """Half of those that are tried are ties; only these differ from what Python's formats give."""
    if is_tie:
        number = (2 * int(number % 10**6) + 1) / 2 ** (decimals + 1)
    with localcontext(prec=800):
        exact = Decimal(number).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)
    assert rounded(np.array([number]), decimals)[0] == float(exact)


@cases("files_out", "powers_of_ten_have_ties_of_their_own")
def test_a_power_of_ten_has_ties_of_its_own(number: float, expected: str) -> None:
    assert style_of(np.array([number]), 3)(number) == number_text(number, 3) == expected


@given(
    hypothesis_numpy.arrays(np.float32, (2, 3), elements=st.floats(-(2.0**60), 2.0**60, width=32))
)
@settings(max_examples=20, deadline=None, derandomize=True, database=None)
def test_float32_is_written_with_its_own_digits_in_every_format(q: Any) -> None:
    """They are the shortest that are read back as the same float32."""
    trace = compute(attncli.Problem(Q=q, K=np.eye(1, 3, dtype="f4"), V=np.zeros((1, 1), "f4")))
    found = json.loads(attncli.render(trace, "json"), parse_float=str, parse_int=str)
    digits = [[text.removesuffix(".0") for text in row] for row in found["inputs"]["Q"]]
    assert digits == [[every_digit(float(str(x))) for x in row] for row in q]
    for form, sign in (("csv", ","), ("tsv", "\t")):
        lines = attncli.render(trace, form).split("\n")
        at = lines.index("Q") + 1
        assert [line.split(sign) for line in lines[at : at + 2]] == digits
    values = yaml.safe_load(attncli.render(trace, "yaml"))["inputs"]["Q"]
    assert values == [[float(text) for text in row] for row in digits]
    rows = rows_of(attncli.render(trace, "tidy", only=["scores"]))
    expected = [every_digit(float(str(x))) for x in trace["scores"].value.ravel()]
    assert [row["value"] for row in rows] == expected


# Steps too large for one list.


@pytest.mark.parametrize("name", ["co_attention_padded", "gradient_heads", "transformer_training"])
def test_pieces_of_a_file_are_the_whole(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = attncli.compute(attncli.load(SAMPLES / f"{name}.yaml"))
    forms = ("json", "yaml", "csv", "tsv", "tidy", "npz")
    selections = (Selection(), Selection(decimals=2), Selection(only=("weights",)))

    def written() -> list[bytes]:
        return [
            b"".join(FORMATS[form].traces([trace], selection))
            for form in forms
            for selection in selections
        ]

    whole = written()
    monkeypatch.setattr(selection, "WRITE_SIZE", 4)
    assert written() == whole


@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_rows_of_yaml_are_those_of_its_own_writer(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = np.array(
        [0.0, -0.0, 1, 1e16, 1e22, 1e-7, 0.1, 1 / 3, 2.5, 3e30, -2e-6, 1.5e-10], kind
    )
    rows = np.stack([numbers, -numbers])
    problem = attncli.Problem(
        scores=np.where(np.eye(2) > 0, 1, -np.inf)[None, None].repeat(2, 0).repeat(3, 1),
        V=np.stack([[rows] * 3] * 2),
        heads=3,
        title="a: !large '0'\nX: !large '0'\n",
        notes="X: !large '0'\n",
    )
    trace = compute(problem)
    for decimals in (None, 3):
        whole = attncli.render(trace, "yaml", decimals=decimals)
        with monkeypatch.context() as patch:
            patch.setattr(selection, "WRITE_SIZE", 4)
            assert attncli.render(trace, "yaml", decimals=decimals) == whole
        assert yaml.safe_load(whole)["inputs"]["V"][1][2] == record.numbers(rows, None)


@cases("files_out", "large_text_is_told_of_before", ids=str)
def test_large_text_is_told_of_before(
    arguments: list[str], is_told: bool, attn: Attn, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    large = json.dumps({"X": np.random.default_rng(1).normal(size=(60, 2)).tolist()}).encode()
    monkeypatch.setattr(show, "LARGE_TEXT", 2**17)
    result = attn("compute", "-", *arguments, stdin=large, cwd=tmp_path)
    assert result.status == 0
    assert ("--only STEP writes some of them; -o FILE.npz holds all in" in result.err) is is_told
    assert result.err.startswith("warning: all steps are about ") is is_told
    monkeypatch.setattr(show, "MAX_KEPT", 2**10)
    refused = attn("compute", "-", *arguments, stdin=large, cwd=tmp_path)
    assert (refused.status, refused.out == "") == ((2, True) if is_told else (0, result.out == ""))


@pytest.mark.parametrize("options", [{}, {"mask": "causal", "softcap": 3}, {"heads": 2}], ids=str)
def test_the_size_that_is_told_is_about_right(options: dict[str, Any]) -> None:
    problem = attncli.Problem(X=np.ones((100, 4)), **options)
    written = sum(step.array.size for step in attncli.compute(problem))
    assert 0.99 * written <= numbers_of_steps(problem) <= 1.2 * written


def test_weights_of_many_tokens_are_not_kept() -> None:
    """Of 2 × 2 × 600 × 600 numbers, 11.5 MB."""
    x = np.random.default_rng(1).normal(size=(2, 600, 4))
    taken: list[int] = []
    tracemalloc.start()
    try:
        trace = compute(
            attncli.Problem(X=x, heads=2),
            "weights",
            take_rows=lambda *part: taken.append(part[-1].size),
        )
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert "weights" not in trace
    assert sum(taken) == 2 * 2 * 600 * 600
    assert most < sum(taken) * 8


def test_many_weights_are_the_same_on_standard_output_and_in_a_file(
    attn: Attn, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(weights, "MANY_SCORES", 2**10)
    np.savez(tmp_path / "many.npz", X=np.random.default_rng(1).normal(size=(2, 60, 4)), heads=2)
    arguments = ("compute", tmp_path / "many.npz", "--only", "weights", "-d", "6")
    written = attn(*arguments, "-f", "csv").out
    attn(*arguments, "-o", tmp_path / "whole.csv")
    assert written == (tmp_path / "whole.csv").read_text()
    assert written.count("\n\n") == 3


def test_long_rows_of_weights_come_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the first numbers of many are there at once."""
    numbers, only = np.arange(24.0).reshape(3, 8) / 8, Selection(only=("weights",), decimals=2)
    whole: list[bytes] = []
    csv_format.row_writer(whole.append, only, ",")(0, 1, slice(0, 3), numbers)
    monkeypatch.setattr(csv_format, "WRITE_SIZE", 3)
    monkeypatch.setattr(selection, "WRITE_SIZE", 3)
    parts: list[bytes] = []
    csv_format.row_writer(parts.append, only, ",")(0, 1, slice(0, 3), numbers)
    assert (len(whole), len(parts)) == (1, 9)
    assert b"".join(parts) == whole[0]
    assert whole[0].startswith(b"\n0.00,0.13,0.25,")


def test_a_number_beyond_floats_ends_the_rows_that_were_begun(attn: Attn, tmp_path: Path) -> None:
    x = np.ones((600, 2))
    x[400] = 1e200
    np.savez(tmp_path / "late.npz", X=x)
    result = attn("compute", tmp_path / "late.npz", "--only", "weights", "-f", "csv")
    assert result.status == 2
    assert "scores holds a number that is beyond what a float can hold" in result.err
    assert result.out.count("\n") <= 400
