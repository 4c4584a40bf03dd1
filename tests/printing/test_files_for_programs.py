"""Files for programs, a file for each problem or student, and steps too large for one list."""

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
from attncli.core.attention import tile_loop, weights
from attncli.core.mechanisms.compute import compute, numbers_of_steps
from attncli.core.text.numbers import every_digit, floats, number_text, rounded, style_of, texts
from attncli.core.text.strings import alike, safe
from attncli.printing import csv as csv_format
from attncli.printing import formats, record
from attncli.printing.formats import FORMATS, FormatKind, Selection, format_named, formats_of
from tests.conftest import SAMPLES, TYPICAL_SAMPLES, Attn, cases

GOOD = SAMPLES / "i_am_good.yaml"
ANSWERS = [SAMPLES / "answers" / name for name in ("ada.json", "bo.yaml", "cleo.csv")]
ANSWERED = (SAMPLES / "integers_scaled.yaml", ANSWERS[0])


def rows_of(text: str, delimiter: str = ",") -> list[dict[str, str]]:
    return [*csv.DictReader(io.StringIO(text), delimiter=delimiter)]


@pytest.mark.parametrize("path", TYPICAL_SAMPLES, ids=lambda path: path.name)
def test_tidy_has_every_number_once_at_its_place(path: Path, attn: Attn) -> None:
    rows = rows_of(attn("compute", path, "-f", "tidy").out)
    problems = attncli.load_all(path)
    known = [(str(n), s) for n, one in enumerate(problems, 1) for s in attncli.compute(one)]
    assert len(rows) == sum(step.value.size for _, step in known)
    for number, step in known:
        own = [row for row in rows if (row["problem"], row["step"]) == (number, step.name)]
        numbers = np.array([float(row["value"]) for row in own])
        np.testing.assert_array_equal(numbers.reshape(step.value.shape), step.value)
        assert {bool(row["head"]) for row in own} == {"head" in step.axes}
        assert {bool(row["batch"]) for row in own} == {"batch" in step.axes}
        names = ("batch", "head", "row", "column", "hidden")
        places = [tuple(int(row[name]) - 1 for name in names if row[name]) for row in own]
        assert places == [*np.ndindex(step.value.shape)]
        if "query" in step.labels and step.axes[-2:] == ("query", "key"):
            words = step.labels["query"]
            assert [row["row_label"] for row in own] == [words[place[-2]] for place in places]


def test_tidy_has_one_header_for_a_stream_and_numbers_its_problems(attn: Attn) -> None:
    text = b'title: "a, b"\nX: [[1, 2]]\n---\nX: [[3, 4]]\nmask: {keep: [[0]]}\n'
    lines = attn("compute", "-", "--only", "weights,output", "-f", "tidy", stdin=text).out
    assert lines == (
        "problem,title,step,batch,head,row,column,hidden,row_label,column_label,value\n"
        '1,"a, b",weights,,,1,1,,,,1\n1,"a, b",output,,,1,1,,,,1\n1,"a, b",output,,,1,2,,,,2\n'
        "2,,weights,,,1,1,,,,0\n2,,output,,,1,1,,,,0\n2,,output,,,1,2,,,,0\n"
    )
    masked = attn(
        "compute", "-", "--only", "masked", "-f", "tidy", stdin=text.partition(b"---\n")[2]
    )
    assert masked.out.splitlines()[1:] == ["1,,masked,,,1,1,,,,-Infinity"]


@pytest.mark.parametrize("path", TYPICAL_SAMPLES, ids=lambda path: path.name)
def test_tidy_can_be_checked(path: Path, attn: Attn) -> None:
    """Each number of the hidden layer of a score has a place of its own, too."""
    out = attn("compute", path, "-f", "tidy").out
    result = attn("check", path, "-", "--quiet", stdin=out.encode())
    assert (result.status, result.out[:9], result.err) == (0, "correct: ", "")


@pytest.mark.parametrize("path", TYPICAL_SAMPLES, ids=lambda path: path.name)
def test_tsv_is_read_as_csv_is(path: Path, attn: Attn, tmp_path: Path) -> None:
    for form in ("csv", "tsv"):
        assert attn("compute", path, "-o", tmp_path / f"x.{form}").status == 0
    one, two = (attn("compute", tmp_path / f"x.{form}", "-f", "json") for form in ("csv", "tsv"))
    assert (two.status, two.out, two.err) == (one.status, one.out, one.err.replace(".csv", ".tsv"))


@pytest.mark.parametrize("path", TYPICAL_SAMPLES, ids=lambda path: path.name)
def test_tsv_is_read_back_from_a_pipe(path: Path, attn: Attn) -> None:
    """Nothing names its form there, and titles and notes may have colons as YAML has."""
    out = attn("compute", path, "-f", "tsv").out
    again = attn("compute", "-", "-f", "tsv", stdin=out.encode())
    assert (again.status, again.out) == (0, out)
    assert attn("check", path, "-", "--quiet", stdin=out.encode()).status == 0


@pytest.mark.parametrize(
    "text",
    ["X:\t[[1, 2], [3, 4]]\n", "# a\tb\nX\t: [[1, 2], [3, 4]]\n", "{\t'X': [[1, 2], [3, 4]]}\n"],
)
def test_a_tab_in_yaml_makes_no_tsv(text: str, attn: Attn) -> None:
    out = attn("compute", "-", "-f", "csv", "--only", "Q", stdin=text.encode()).out
    assert out == "1,2\n3,4\n"


@pytest.mark.parametrize("words", ["weights", "A", "weight*", "weights,A", "Z,output,outp*"])
@pytest.mark.parametrize("form", ["csv", "tsv"])
def test_one_step_is_bare_numbers_however_it_is_selected(words: str, form: str, attn: Attn) -> None:
    step = "output" if "output" in words else "weights"
    bare = attn("compute", GOOD, "--only", step, "-f", form).out
    assert len(np.loadtxt(io.StringIO(bare), delimiter={"csv": ",", "tsv": "\t"}[form])) == 3
    assert attn("compute", GOOD, "--only", words, "-f", form).out == bare


def test_each_problem_of_a_stream_has_bare_numbers_where_it_has_one_step(attn: Attn) -> None:
    text = b"X: [[1]]\n---\nX: [[2, 0, 0, 0]]\n---\nX: [[3]]\n---\nX: [[4]]\n"
    out = attn("compute", "-", "--only", "sc*", "-f", "csv", stdin=text).out
    assert out == "1\n---\nscores\n4\nscaled\n2\n\n9\n\n16\n"


HOSTILE = ["=1+1", "+x", "-x", "@x", "＝1", "'=x", "''-", "-1+1|cmd", "-1.5", "'tis", "a"]
GUARDED = ["'=1+1", "'+x", "'-x", "'@x", "'＝1", "''=x", "'''-", "'-1+1|cmd", "'-1.5", "'tis", "a"]


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """Return a problem whose title and labels are formulas to a spreadsheet, or nearly."""
    x = [[-1.5, number] for number in range(len(HOSTILE))]
    path = tmp_path / "p.json"
    path.write_text(json.dumps({"title": "=cmd()", "tokens": HOSTILE, "X": x}))
    return path


def test_no_label_or_title_is_a_formula_to_a_spreadsheet(hostile: Path, attn: Attn) -> None:
    size = len(HOSTILE)
    for form, sign in (("csv", ","), ("tsv", "\t")):
        out = attn("compute", hostile, "-f", form).out
        lines = [*csv.reader(io.StringIO(out), delimiter=sign)]
        assert lines[0] == ["title", "'=cmd()"]
        assert ["tokens", *GUARDED[:8], "-1.5", "'tis", "a"] in lines
        at = lines.index(["scores"]) + 1
        assert lines[at] == ["", *GUARDED]
        assert [line[0] for line in lines[at + 1 : at + 1 + size]] == GUARDED
        assert ["-1.5", "0"] in lines
    tidy = rows_of(attn("compute", hostile, "-f", "tidy", "--only", "weights").out)
    assert {row["title"] for row in tidy} == {"'=cmd()"}
    assert [row["column_label"] for row in tidy[:size]] == GUARDED
    assert [row["row_label"] for row in tidy[::size]] == GUARDED


@pytest.mark.parametrize("form", ["csv", "tsv"])
def test_guarded_labels_are_read_back_as_they_were(form: str, hostile: Path, attn: Attn) -> None:
    written = hostile.with_suffix(f".{form}")
    assert attn("compute", hostile, "-o", written).status == 0
    again = attncli.load(written)
    assert (again.title, list(again.tokens)) == ("=cmd()", HOSTILE)
    assert attn("check", hostile, written, "-q").out.startswith("correct")


def test_cells_of_tsv_hold_no_tab_and_no_line(attn: Attn) -> None:
    problem = {"title": "a\tb\nc", "tokens": ["x\ty", "z"], "X": [[1, 0], [0, 1]]}
    out = attn("compute", "-", "-f", "tsv", stdin=json.dumps(problem).encode()).out
    assert out.splitlines()[0] == r"title	a\tb\nc"
    assert "x\\ty\t1\t0\n" in out
    book = attn("check", GOOD.parent / "integers_scaled.yaml", *ANSWERS, "-f", "tsv").out
    comma = attn("check", GOOD.parent / "integers_scaled.yaml", *ANSWERS, "-f", "csv").out
    assert rows_of(book, "\t") == rows_of(comma)
    assert len(rows_of(book, "\t")) == 3


def suffixes() -> list[tuple[FormatKind, str, str]]:
    kinds: tuple[FormatKind, ...] = ("traces", "reports", "explanations")
    rows = [(kind, *pair) for kind in kinds for pair in formats_of(kind).items()]
    return [(kind, name, suffix) for kind, name, row in rows for suffix in row.suffixes]


def test_every_suffix_is_a_name() -> None:
    for kind, name, suffix in suffixes():
        assert format_named(suffix.removeprefix("."), kind) == name, (kind, suffix)


def test_suffixes_as_formats(attn: Attn, tmp_path: Path) -> None:
    for short, name in (("md", "markdown"), ("tex", "latex"), ("yml", "yaml"), ("jsonl", "json")):
        assert attn("compute", GOOD, "-f", short).out == attn("compute", GOOD, "-f", name).out
    trace = attncli.compute(attncli.load(GOOD))
    assert attncli.render(trace, "md") == attncli.render(trace, "markdown")
    attn("compute", GOOD, "-o", tmp_path / "x.tidy.csv")
    assert (tmp_path / "x.tidy.csv").read_text().startswith("problem,title,step,")
    wrong = attn("explain", GOOD, "scores", "-f", "htm")
    assert (wrong.status, wrong.err) == (
        2,
        "unknown format htm\n  known: table, json, markdown, latex\n",
    )


def files_of(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@cases("files_out", "a_file_for_each_problem")
def test_a_file_for_each_problem(
    out: str, arguments: list[str], names: list[str], attn: Attn, tmp_path: Path
) -> None:
    (tmp_path / "old").mkdir()
    text = b"title: A\nX: [[1]]\n---\ntitle: b\nX: [[2]]\n"
    result = attn("compute", "-", *arguments, "-o", out, stdin=text, cwd=tmp_path)
    assert (result.status, result.out) == (0, "")
    assert re.fullmatch(r"wrote 2 files to [^;]*/(; .* them .*)?\n", result.err)
    assert files_of(tmp_path) == names


def test_each_file_is_what_the_problem_alone_gives(attn: Attn, tmp_path: Path) -> None:
    attn("compute", GOOD, SAMPLES / "mask_causal.yaml", "-o", tmp_path / "{number}.html")
    for number, path in enumerate((GOOD, SAMPLES / "mask_causal.yaml"), 1):
        alone = attn("compute", path, "-f", "html").out
        assert (tmp_path / f"{number}.html").read_text() == alone


def test_what_is_passed_over_leaves_a_gap_in_the_numbers(attn: Attn, tmp_path: Path) -> None:
    """Of a bad problem in a stream, and of a file that cannot be read; the same in every place."""
    (tmp_path / "a.yaml").write_text("X: [[1]]\n---\nX: [[x]]\n---\nX: [[2]]\n")
    (tmp_path / "b.yaml").write_text("X: [[3]]\n")
    arguments = ["compute", "a.yaml", "none.yaml", "b.yaml", "--keep-going", "--only", "output"]
    result = attn(*arguments, "-f", "tidy", cwd=tmp_path)
    assert result.status == 2
    assert [(row["problem"], row["value"]) for row in rows_of(result.out)] == [
        *(("1", "1"), ("3", "2"), ("5", "3"))
    ]
    attn(*arguments, "-o", "out/{number}.tidy.csv", cwd=tmp_path)
    written = sorted((tmp_path / "out").iterdir())
    assert [path.name for path in written] == ["1.tidy.csv", "3.tidy.csv", "5.tidy.csv"]
    assert [rows_of(path.read_text())[0]["problem"] for path in written] == ["1", "3", "5"]


@pytest.mark.parametrize("second", ["Ada", "ADA", "Ada ", "Ada."])
def test_two_problems_of_one_name_are_told(second: str, attn: Attn, tmp_path: Path) -> None:
    text = f"title: Ada\nX: [[1]]\n---\ntitle: '{second}'\nX: [[2]]\n---\nX: [[3]]\n"
    arguments = ["-f", "csv", "--only", "output", "-o", f"{tmp_path}/"]
    result = attn("compute", "-", *arguments, stdin=text.encode())
    assert result.status == 2
    name = second.strip(" .")
    assert result.err == (
        f"{tmp_path}/{name}.csv is the file of number 1, Ada, and would be that of number 2, "
        f"{second}\n  tell them apart by {{number}}, as in '{{number}}-{{title}}.csv'\n"
    )
    assert files_of(tmp_path) == ["Ada.csv"]
    assert (tmp_path / "Ada.csv").read_text() == "1\n"


def test_problems_without_a_title_are_told_apart(attn: Attn, tmp_path: Path) -> None:
    result = attn(
        "compute", "-", "-o", tmp_path / "{title}.csv", stdin=b"X: [[1]]\n---\nX: [[2]]\n"
    )
    assert result.status == 0
    assert files_of(tmp_path) == ["problem 1.csv", "problem 2.csv"]


def test_a_file_for_each_student(attn: Attn, tmp_path: Path) -> None:
    problem = SAMPLES / "integers_scaled.yaml"
    result = attn("check", problem, *ANSWERS, "-o", tmp_path / "pages/{student}.html")
    assert (result.status, result.out) == (1, "")
    assert files_of(tmp_path) == ["pages/Ada.html", "pages/Bo.html", "pages/Cleo.html"]
    assert (tmp_path / "pages/Bo.html").read_text() == attn(
        "check", problem, ANSWERS[1], "-f", "html"
    ).out
    (tmp_path / "two").mkdir()
    table = tmp_path / "table.csv"
    table.write_text('name,"scores[1,1]"\nAda,1\nada,1\n')
    again = attn("check", problem, table, "-f", "json", "-o", tmp_path / "two")
    assert again.status == 2
    assert "is the file of number 1, Ada, and would be that of number 2, ada" in again.err
    assert files_of(tmp_path / "two") == ["Ada.json"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("compute", GOOD, "-o", "missing/inner/file.html"),
        ("worksheet", GOOD, "-o", "missing/inner/file.md"),
        ("check", SAMPLES / "integers_scaled.yaml", ANSWERS[0], "-o", "missing/inner/file.csv"),
        ("check", SAMPLES / "integers_scaled.yaml", ANSWERS[0], "--feedback", "missing/inner"),
        ("vary", GOOD, "-o", "missing/inner/file.yaml"),
        ("vary", GOOD, "--key", "-o", "missing/inner/file.yaml"),
        ("new", "missing/inner/file.yaml"),
    ],
    ids=lambda arguments: " ".join(map(str, (arguments[0], *arguments[-3:-1]))),
)
@pytest.mark.usefixtures("small_pool")
def test_the_missing_folders_of_a_file_are_made(
    arguments: tuple[str | Path, ...], attn: Attn, tmp_path: Path
) -> None:
    result = attn(*arguments, cwd=tmp_path)
    assert "cannot be" not in result.err
    assert any((tmp_path / "missing/inner").iterdir())


@cases("files_out", "a_suffix_that_disagrees_with_the_format_is_refused")
def test_a_suffix_that_disagrees_with_the_format_is_refused(
    command: str, form: str, out: str, other: str, attn: Attn, tmp_path: Path
) -> None:
    result = attn(command, GOOD, "-f", form, "-o", out, cwd=tmp_path)
    assert (result.status, files_of(tmp_path)) == (2, [])
    assert result.err.startswith(f"{out} is the name of a ")
    assert result.err.endswith(f"\n  name the file {other}, or leave out -f\n")


@cases("files_out", "a_suffix_that_fits_the_format_or_means_none_is_taken")
def test_a_suffix_that_fits_the_format_or_means_none_is_taken(
    command: str, form: str, out: str, attn: Attn, tmp_path: Path
) -> None:
    given = (SAMPLES / "integers_scaled.yaml", ANSWERS[0]) if command == "check" else (GOOD,)
    assert attn(command, *given, "-f", form, "-o", out, cwd=tmp_path).err.startswith("wrote ")
    assert files_of(tmp_path) == [out]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("compute", GOOD, "-o", "a b.html"), "wrote 'a b.html'; open it in a browser\n"),
        (("compute", GOOD, "-o", "x.json"), "wrote x.json\n"),
        (("compute", GOOD, "-o", "x.tex"), "wrote x.tex; \\input it in a document\n"),
        (
            ("compute", GOOD, "-o", "x.tex", "--standalone"),
            "wrote x.tex; compile it with pdflatex or xelatex\n",
        ),
        (("compute", GOOD, "-o", "x.html", "-q"), ""),
        (("compute", GOOD, "-o", "/dev/null", "-f", "json"), ""),
        (("worksheet", GOOD, "-o", "x.yaml"), "wrote x.yaml; fill it in for attn check\n"),
        (
            ("vary", ANSWERED[0], "-o", "v/"),
            "wrote v/01.yaml; next: attn worksheet v/ -f html -o pages/\n",
        ),
        (("check", *ANSWERED, "-o", "x.csv"), "wrote x.csv; open it in a spreadsheet\n"),
        (("check", *ANSWERED, "--feedback", "f"), "wrote f/index.html; open it in a browser\n"),
        (("check", *ANSWERED, "--feedback", "f", "-q"), ""),
    ],
)
def test_standard_error_says_which_files_were_written_and_what_is_next(
    arguments: tuple[object, ...], said: str, attn: Attn, tmp_path: Path
) -> None:
    assert attn(*arguments, cwd=tmp_path).err == said


@cases("files_out", "what_is_no_pattern")
def test_what_is_no_pattern(out: str, told: str, attn: Attn, tmp_path: Path) -> None:
    result = attn("compute", GOOD, "-o", out, cwd=tmp_path)
    assert result.status == 2
    assert told in result.err
    assert files_of(tmp_path) == []


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("../../etc/passwd", "_.._etc_passwd"),
        ("a/b\\c:d*e?f", "a_b_c_d_e_f"),
        ("a\n\x1b[31m\u202eb", "a__[31m_b"),
        (".hidden", "hidden"),
        ("...", "_"),
        ("nul.txt", "nul.txt_"),
        ("é" * 300, "é" * 60),
        ("می\u200cروم", "می\u200cروم"),
    ],
)
def test_names_of_files_are_safe(title: str, name: str, attn: Attn, tmp_path: Path) -> None:
    assert safe(title) == name
    problem = json.dumps({"title": title, "X": [[1]]})
    result = attn("compute", "-", "-o", tmp_path / "{title}.csv", stdin=problem.encode())
    assert (result.status, files_of(tmp_path)) == (0, [f"{name}.csv"])


def test_halves_of_characters_are_no_names() -> None:
    assert safe("\ud800x") == "_x"


def test_names_that_are_one_to_some_system_are_alike() -> None:
    assert alike("STRASSE é") == alike("straße e\u0301")


NUMBERS = [0.0, -0.0, 1.0, 1e16, 1e22, 1e-7, 0.1, 1 / 3, 2.5, -np.inf, np.inf, 5e-324, 1.7e308]


def test_many_numbers_are_written_as_each_is() -> None:
    values = floats(np.array([*NUMBERS, *np.random.default_rng(0).normal(size=500)]))
    assert texts(values, None) == [every_digit(value) for value in values]
    finite = [value for value in values if np.isfinite(value)]
    assert texts(finite, 3) == [f"{value:.3f}" for value in finite]
    assert texts([], None) == texts([], 2) == []


HALVES = b"X: [[1.25, 2.5, -0.125, -0.3, -0.04]]\nscore: dot\n"


@cases("files_out", "every_format_rounds_ties_away_from_zero_and_prints_no_minus_zero")
def test_every_format_rounds_ties_away_from_zero_and_prints_no_minus_zero(
    digits: str, expected: list[str], attn: Attn, tmp_path: Path
) -> None:
    def written(form: str, *more: str) -> str:
        flags = ("--only", "Q", "-d", digits, "-f", form, *more)
        return attn("compute", "-", *flags, stdin=HALVES, cwd=tmp_path).out

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
    written("npz", "-o", "q.npz")
    with np.load(tmp_path / "q.npz") as arrays:
        assert str(arrays["Q"].tolist()) == str(numbers)


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 17), st.booleans())
@settings(max_examples=300, deadline=None, derandomize=True, database=None)
def test_numbers_are_rounded_by_their_exact_value(
    number: float, decimals: int, is_tie: bool
) -> None:
    """Half of those that are tried are ties; only these differ from what Python's formats give."""
    if is_tie:
        number = (2 * int(number % 10**6) + 1) / 2 ** (decimals + 1)
    with localcontext(prec=800):
        exact = Decimal(number).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)
    assert rounded(np.array([number]), decimals)[0] == float(exact)


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (2000500000.0, "2.001e+09"),
        (-2000500000.0, "-2.001e+09"),
        (2000499999.0, "2.000e+09"),
        (2.0**-30, "9.313e-10"),
    ],
)
def test_a_power_of_ten_has_ties_of_its_own(number: float, expected: str) -> None:
    assert style_of(np.array([number]), 3)(number) == number_text(number, 3) == expected


@given(
    hypothesis_numpy.arrays(np.float32, (2, 3), elements=st.floats(-(2.0**60), 2.0**60, width=32))
)
@settings(max_examples=50, deadline=None, derandomize=True, database=None)
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
    rows = csv.DictReader(io.StringIO(attncli.render(trace, "tidy", only=["scores"])))
    expected = [every_digit(float(str(x))) for x in trace["scores"].value.ravel()]
    assert [row["value"] for row in rows] == expected


@pytest.mark.parametrize("path", TYPICAL_SAMPLES, ids=lambda path: path.name)
def test_pieces_are_the_whole(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    traces = [attncli.compute(problem) for problem in attncli.load_all(path)]

    def written(selection: Selection) -> list[bytes]:
        forms = ("json", "yaml", "csv", "tsv", "tidy", "npz")
        return [b"".join(FORMATS[form].traces(traces, selection)) for form in forms]

    selections = [Selection(), Selection(decimals=2), Selection(only=("weights",))]
    whole = [written(selection) for selection in selections]
    monkeypatch.setattr(formats, "WRITE_SIZE", 4)
    assert [written(selection) for selection in selections] == whole


@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_rows_of_yaml_are_those_of_its_own_writer(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = np.array([*NUMBERS[:-4], 3e30, -2e-6, 1.5e-10, 12345678.0]).astype(kind)
    rows = np.stack([numbers, -numbers])
    problem = attncli.Problem(
        scores=np.where(np.eye(2) > 0, 1, -np.inf)[None, None].repeat(2, 0).repeat(3, 1),
        V=np.stack([[rows] * 3] * 2),
        heads=3,
        title="a: !large '0'\nX: !large '0'\n",
        notes="X: !large '0'\n",
    )
    trace = compute(problem)
    for selection in (Selection(), Selection(decimals=3)):
        whole = b"".join(FORMATS["yaml"].traces([trace], selection))
        with monkeypatch.context() as patch:
            patch.setattr(formats, "WRITE_SIZE", 4)
            assert b"".join(FORMATS["yaml"].traces([trace], selection)) == whole
        assert yaml.safe_load(whole)["inputs"]["V"][1][2] == record.numbers(rows, None)


@pytest.mark.parametrize("path", TYPICAL_SAMPLES, ids=lambda path: path.name)
def test_weights_that_stand_alone_are_the_same(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In tiles of whole rows, as where they are many."""
    only = Selection(only=("weights",))
    for problem in attncli.load_all(path):
        every = compute(problem)
        if "weights" not in every:
            continue
        expected = b"".join(FORMATS["json"].traces([every], only))
        with monkeypatch.context() as patch:
            patch.setattr(weights, "MANY_SCORES", 1)
            patch.setattr(tile_loop, "TILE_ROWS", 2)
            patch.setattr(tile_loop, "TILE_KEYS", 3)
            alone = compute(problem, only.only, alone=True)
            found = b"".join(FORMATS["json"].traces([alone], only))
        one, two = (numbers_of(json.loads(data)) for data in (found, expected))
        assert one[0] == two[0]
        # Scores up to 60 of up to 8 products each: (8 + 4)·ε·60 in an exponent.
        np.testing.assert_allclose(one[1], two[1], rtol=2e-13, atol=1e-300)


def numbers_of(found: dict[str, Any]) -> tuple[dict[str, Any], np.ndarray[Any, Any]]:
    """Return what was written but the numbers, and the numbers."""
    (step,) = found["steps"].values()
    value = np.array([float(x) for x in np.ravel(np.array(step.pop("value"), object))])
    return found, value


def large(n: int) -> bytes:
    return json.dumps({"X": np.random.default_rng(1).normal(size=(n, 2)).tolist()}).encode()


@cases("files_out", "large_text_is_told_of_before")
def test_large_text_is_told_of_before(
    arguments: list[str], is_told: bool, attn: Attn, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(show, "LARGE_TEXT", 2**18)
    result = attn("compute", "-", *arguments, stdin=large(100), cwd=tmp_path)
    assert result.status == 0
    assert ("--only STEP writes some of them; -o FILE.npz holds all in" in result.err) is is_told
    assert result.err.startswith("warning: all steps are about ") is is_told
    monkeypatch.setattr(show, "MAX_KEPT", 2**10)
    refused = attn("compute", "-", *arguments, stdin=large(100), cwd=tmp_path)
    assert (refused.status, refused.out == "") == ((2, True) if is_told else (0, result.out == ""))


@pytest.mark.parametrize("options", [{}, {"mask": "causal", "softcap": 3}, {"heads": 2}])
def test_the_size_that_is_told_is_about_right(options: dict[str, Any]) -> None:
    problem = attncli.Problem(X=np.ones((100, 4)), **options)
    written = sum(step.array.size for step in attncli.compute(problem))
    assert 0.99 * written <= numbers_of_steps(problem) <= 1.2 * written


def test_only_needs_a_name(attn: Attn) -> None:
    """An empty variable of a shell asks for nothing, and not for everything."""
    for nothing in ("", ","):
        refused = attn("compute", SAMPLES / "i_am_good.yaml", "--only", nothing, "-f", "csv")
        assert (refused.status, refused.out) == (2, "")
        assert "--only names no step" in refused.err


@pytest.mark.parametrize("path", TYPICAL_SAMPLES, ids=lambda path: path.name)
@pytest.mark.parametrize("format_", ["csv", "tsv"])
def test_weights_that_are_written_as_they_are_calculated_are_the_same(
    path: Path, format_: str, attn: Attn, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("compute", path, "--only", "weights", "-f", format_, "-d", "9")
    plain = attn(*arguments)
    monkeypatch.setattr(weights, "MANY_SCORES", 1)
    monkeypatch.setattr(tile_loop, "TILE_ROWS", 2)
    monkeypatch.setattr(tile_loop, "TILE_KEYS", 3)
    assert attn(*arguments) == plain


def test_weights_of_many_tokens_are_not_kept(attn: Attn, tmp_path: Path) -> None:
    """Of 2 × 2 × 600 × 600 numbers, 11.5 MB."""
    rng = np.random.default_rng(1)
    np.savez(tmp_path / "many.npz", X=rng.normal(size=(2, 600, 4)), heads=2)
    arguments = ("compute", tmp_path / "many.npz", "--only", "weights", "-d", "6")
    problem, taken = attncli.load(tmp_path / "many.npz"), list[int]()
    tracemalloc.start()
    try:
        trace = compute(problem, "weights", take_rows=lambda *part: taken.append(part[-1].size))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert "weights" not in trace
    assert sum(taken) == 2 * 2 * 600 * 600
    assert most < sum(taken) * 8
    written = attn(*arguments, "-f", "csv").out
    attn(*arguments, "-o", tmp_path / "whole.csv")
    assert written == (tmp_path / "whole.csv").read_text()
    assert written.count("\n\n") == 3


def test_long_rows_of_weights_come_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the first numbers of many are there at once."""
    weights_, only = np.arange(24.0).reshape(3, 8) / 8, Selection(only=("weights",), decimals=2)
    whole: list[bytes] = []
    csv_format.row_writer(whole.append, only, ",")(0, 1, slice(0, 3), weights_)
    monkeypatch.setattr(csv_format, "WRITE_SIZE", 3)
    monkeypatch.setattr(formats, "WRITE_SIZE", 3)
    parts: list[bytes] = []
    csv_format.row_writer(parts.append, only, ",")(0, 1, slice(0, 3), weights_)
    assert len(whole) == 1
    assert len(parts) == 9
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


@pytest.mark.parametrize("command", ["compute", "worksheet"])
@pytest.mark.parametrize("suffix", ["json", "csv", "yaml", "html", "md", "tex"])
def test_several_problems_go_to_one_file_all_or_not_at_all(
    command: str, suffix: str, attn: Attn, tmp_path: Path
) -> None:
    if (command, suffix) == ("worksheet", "json"):
        return
    problem = tmp_path / "two.yaml"
    problem.write_text("X: [[1, 0]]\n---\nX: [[1, 0]]\nmask: foo\n")
    out = tmp_path / f"out.{suffix}"
    for before in (None, "old"):
        if before:
            out.write_text(before)
        result = attn(command, problem, "-o", out)
        assert (result.status, result.out) == (2, "")
        assert result.err.count("unknown mask foo") == 1
        assert result.err.endswith("  in problem 2\n")
        assert (out.read_text() if out.exists() else None) == before
    assert {path.name for path in tmp_path.iterdir()} == {"two.yaml", out.name}
    assert attn(command, problem, "-o", out, "--keep-going").status == 2
    assert out.read_text() != "old"
