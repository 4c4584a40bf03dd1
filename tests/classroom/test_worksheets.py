"""Worksheets: what is open, what is shown, and that `check` reads what was filled in."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from math import isfinite
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import attncli
from attncli.classroom import variant_search
from attncli.cli.main import run
from attncli.reading.load import load_all
from tests.conftest import SAMPLES, Attn, cases

FORMATS = {"yaml": ".yaml", "csv": ".csv", "markdown": ".md", "latex": ".tex"}
NAMES = (
    "i_am_good",
    "heads_list",
    "mask_padding",
    "integers_columns",
    "score_additive",
    "recurrent",
)

MARKS = {
    "yaml": r"^'?(?P<name>\w+)[^\n:]*'?: \|$",
    "csv": r"^(?P<name>[a-zA-Z_]\w*)(?:\[[^\n,]*)?$",
    "markdown": r"^<!-- answer: (?P<name>\w+)",
    "latex": r"\\attnanswer\{(?P<name>\w+)",
}
ROOM = {
    "yaml": r"\?",
    "csv": r"\?",
    "markdown": r"(?<=\|) {10}(?=\|)|\\quad\\quad",
    "latex": r"\\attnroom",
}


def filled(text: str, form: str, trace: attncli.Trace) -> str:
    """Return a sheet with the right numbers, in the order in which they stand.

    Of each step they are those of `value`, row after row, with three decimals.
    """
    numbers = {step.name: _numbers(step) for step in trace}
    name = ""
    start = text.find("student") if form in ("yaml", "csv") else text.find("Write the numbers")

    def written(match: re.Match[str]) -> str:
        nonlocal name
        if match["name"] is not None:
            name = match["name"]
            return match[0]
        return f" {next(numbers[name])} "

    both = re.compile(f"{MARKS[form]}|{ROOM[form]}", re.MULTILINE)
    return text[:start] + both.sub(written, text[start:])


def _numbers(step: attncli.Step) -> Iterator[str]:
    blank = getattr(step.operation, "is_blank", lambda row, column: False)
    for at, number in zip(_places(step), step.value.ravel().tolist(), strict=True):
        if not blank(*at):
            yield f"{number:.3f}" if isfinite(number) else "-inf"


def _places(step: attncli.Step) -> Iterator[tuple[int, int]]:
    *_, rows, columns = (1, *step.value.shape)
    for place in range(step.value.size):
        yield place // columns % rows, place % columns


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", NAMES)
def test_a_filled_in_sheet_of_each_format_is_checked(name: str, form: str, tmp_path: Path) -> None:
    problem = attncli.load(SAMPLES / f"{name}.yaml")
    trace = attncli.compute(problem)
    path = tmp_path / f"ada{FORMATS[form]}"
    empty = attncli.worksheet(problem, form)
    path.write_text(empty)
    (sheet,) = attncli.load_answers(path)
    assert attncli.check(problem, sheet).verdict == "empty"
    path.write_text(filled(empty, form, trace))
    (sheet,) = attncli.load_answers(path)
    report = attncli.check(problem, sheet)
    worked = {n: one.counts for n, one in report.steps.items() if one.status != "missing"}
    assert report.verdict == "correct"
    assert {*worked} == {*attncli_worked(trace)}
    blank = report.counts["missing"] - sum(trace[n].value.size for n in {*report.steps} - {*worked})
    assert blank == (3 if name == "recurrent" else 0)  # states that are yet to come


def attncli_worked(trace: attncli.Trace) -> list[str]:
    """Return the steps whose numbers are not those of an input."""
    return [s.name for s in trace if not isinstance(s.operation, attncli.Step)]


@pytest.mark.parametrize("form", FORMATS)
def test_a_wrong_number_is_told_with_its_place_and_name(
    form: str, attn: Attn, tmp_path: Path
) -> None:
    problem = SAMPLES / "integers_scaled.yaml"
    sheet = attn("worksheet", problem, "-f", form, "--blank", "scores").out
    trace = attncli.compute(attncli.load(problem))
    text = filled(sheet, form, trace).replace(" 16.000 ", " 17 ")
    name = {"markdown": ("Name:", "Name: Ada L."), "latex": (r"\attnname{}", r"\attnname{Ada L.}")}
    old, new = name.get(form, ("student:", "student: Ada L."))
    old, new = ("student,", "student,Ada L.") if form == "csv" else (old, new)
    path = tmp_path / f"sheet{FORMATS[form]}"
    path.write_text(text.replace(old, new))
    result = attn("check", problem, path)
    assert result.status == 1
    assert "Ada L." in result.out
    assert "scores[a2, a2] is wrong" in result.out
    path.write_text(text.replace(" 17 ", " x7 "))
    result = attn("check", problem, path)
    assert result.status == 1
    assert "x7 ✗" in result.out


def test_numbers_may_be_written_as_latex_and_markdown_have_them(tmp_path: Path) -> None:
    problem = attncli.Problem(X=[[1, 0], [0, 1]], score="dot", tokens=["a", "b"])
    cells = {"latex": (r"\frac{1}{2}", r"14\%", r"0{,}5", r"\sqrt{2}")}
    cells["markdown"] = ("1/2", "14%", "$0,5$", "**√2**")
    for form, texts in cells.items():
        sheet = attncli.worksheet(problem, form, blank=["scores"])
        start = sheet.index("Write the numbers")
        for text in texts:
            room = re.search(ROOM[form], sheet[start:])
            assert room is not None
            sheet = f"{sheet[: start + room.start()]} {text} {sheet[start + room.end() :]}"
        path = tmp_path / f"sheet{FORMATS[form]}"
        path.write_text(sheet)
        (found,) = attncli.load_answers(path)
        written = attncli.check(problem, found).steps["scores"]
        assert written.written.texts.ravel().tolist()[1:3] == ["0.14", "0.5"]  # type: ignore[attr-defined]
        values = written.written.values.ravel().tolist()  # type: ignore[attr-defined]
        assert values == pytest.approx([0.5, 0.14, 0.5, 2**0.5])


def test_every_row_of_a_table_keeps_its_place_however_it_is_filled_in(tmp_path: Path) -> None:
    problem = attncli.Problem(X=[[1, 0], [0, 1], [1, 1]], score="dot", tokens=["a", "b", "c"])
    head, rule = "|  | a | b | c |", "| :-- | --: | --: | --: |"
    rows = ["| a | 1 | 0 | 1 |", "| | - | - | - |", "| c | 1 | 1 | 2"]  # the last bar is missing
    path = tmp_path / "sheet.md"
    path.write_text("\n".join(["<!-- answer: scores -->", "", head, rule, *rows, ""]))
    (found,) = attncli.load_answers(path)
    assert found.matrices["scores"] == [["1", "0", "1"], ["-", "-", "-"], ["1", "1", "2"]]
    assert attncli.check(problem, found).steps["scores"].counts["correct"] == 6


def test_which_steps_are_open(attn: Attn) -> None:
    problem = SAMPLES / "integers_scaled.yaml"

    def keys(*flags: str) -> list[str]:
        out = attn("worksheet", problem, "-f", "csv", *flags).out
        return [line for line in out.splitlines() if line[:1].isalpha() and "," not in line]

    everything = ["Q", "K", "V", "scores", "scaled", "exp", "sum", "weights", "output"]
    assert keys() == everything
    assert keys("--blank", "output,scores") == ["scores", "output"]
    assert keys("--give", "Q,K,V") == everything[3:]
    assert keys("--blank", "attention weights, A") == ["weights"]


def test_what_is_given_is_shown_and_what_is_open_is_not(attn: Attn) -> None:
    page = attn("worksheet", SAMPLES / "i_am_good.yaml", "-f", "markdown", "--give", "scores").out
    assert "| I | 14 | 10 | 9 |" in page
    assert "exp" in page
    shown = attn("compute", SAMPLES / "i_am_good.yaml", "-f", "markdown", "--only", "weights").out
    number = re.findall(r"0\.\d{4}", shown)[0]
    assert number not in page
    assert "z_I" not in page  # a sum of values with its weights put in


@cases("worksheets", "what_cannot_be_is_told_in_a_sentence")
def test_what_cannot_be_is_told_in_a_sentence(
    flags: tuple[str, ...], message: str, attn: Attn
) -> None:
    result = attn("worksheet", SAMPLES / "i_am_good.yaml", "-f", "yaml", *flags)
    assert result.status == 2
    assert message in result.err
    assert result.out == ""


def test_no_worksheet_has_more_numbers_than_anybody_writes(attn: Attn, tmp_path: Path) -> None:
    path = tmp_path / "large.csv"
    path.write_text("\n".join(["1,0"] * 120) + "\n")
    result = attn("worksheet", path, "-o", tmp_path / "large.html")
    assert result.status == 2
    assert "numbers would be to write on this worksheet; 10000 is the most" in result.err
    assert not (tmp_path / "large.html").exists()


def test_several_problems_go_to_files_by_a_pattern_and_one_document(
    attn: Attn, tmp_path: Path
) -> None:
    given = [SAMPLES / "i_am_good.yaml", SAMPLES / "mask_causal.yaml"]
    done = attn("worksheet", *given, "-f", "latex", "-o", tmp_path / "{number}-{title}.tex")
    assert done.status == 0
    assert len([*tmp_path.glob("*.tex")]) == 2
    both = tmp_path / "both.md"
    assert attn("worksheet", *given, "-o", both).status == 0
    both.write_text(both.read_text().replace("Name:", "Name: Ada", 1))
    first, second = attncli.load_answers(both)
    assert first.name == "Ada"
    assert second.name.endswith("both.md, 2")
    assert "masked" not in first.matrices
    assert "masked" in second.matrices
    bad = tmp_path / "bad.yaml"
    bad.write_text("X: [[1, 0]]\n---\nX: [[one]]\n---\nX: [[1, 2]]\n")
    result = attn("worksheet", bad, "-f", "yaml", "--keep-going")
    assert result.status == 2
    assert result.out.count("student:") == 2


def test_no_sheet_or_no_matrix_below_a_mark_is_told(attn: Attn, tmp_path: Path) -> None:
    problem = SAMPLES / "i_am_good.yaml"
    path = tmp_path / "notes.md"
    path.write_text("# Some notes\n")
    assert "this is not a worksheet: no answers are marked" in attn("check", problem, path).err
    path.write_text("Name: Ada\n\n<!-- answer: scores -->\n\ngone\n")
    result = attn("check", problem, path)
    assert result.status == 2
    assert f"{path}:3:1: there is no matrix below the mark of scores" in result.err
    path = tmp_path / "page.html"
    path.write_text(attncli.worksheet(attncli.load(problem)))
    result = attn("check", problem, path)
    assert "this is a web page" in result.err
    assert "a practice page saves what was typed: give that file" in result.err


HOSTILE = ["-->", "a|b", r"\end{array}", "{", "50%", "<b>", "你好"]


def test_names_that_mean_something_to_a_format_come_back(tmp_path: Path) -> None:
    """`hidden` has a matrix for each query, which is named by its label."""
    problem = attncli.Problem(
        tokens=HOSTILE,
        X=[[i, 1] for i in range(len(HOSTILE))],
        score={"name": "additive", "W": [[1, 0]], "U": [[0, 1]], "v": [1]},
    )
    trace = attncli.compute(problem)
    for form, suffix in FORMATS.items():
        path = tmp_path / f"sheet{suffix}"
        path.write_text(filled(attncli.worksheet(problem, form), form, trace))
        (sheet,) = attncli.load_answers(path)
        report = attncli.check(problem, sheet)
        assert report.verdict == "correct", form
        assert report.steps["hidden"].counts["correct"] == len(HOSTILE) ** 2, form


@pytest.mark.needs("pdflatex")
def test_a_worksheet_compiles_with_pdflatex(attn: Attn, tmp_path: Path) -> None:
    names = ("heads_cut", "score_additive", "integers_columns", "mask_causal")
    given = [SAMPLES / f"{name}.yaml" for name in names]
    path = tmp_path / "sheet.tex"
    assert attn("worksheet", *given, "--standalone", "-o", path).status == 0
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", path.name]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout


def test_the_page_is_whole_and_its_numbers_are_not_read_in_passing(attn: Attn) -> None:
    page = attn("worksheet", SAMPLES / "integers_scaled.yaml", "-f", "html").out
    tree = ElementTree.fromstring(page.partition("\n")[2])
    inputs = [one for one in tree.iter("input") if one.get("class") == "n"]
    assert len(inputs) == 8 * 9 + 3
    assert inputs[0].get("aria-label") == "Q[a1, 1]"
    assert len({one.get("aria-label") for one in inputs}) == len(inputs)
    shown = attn("compute", SAMPLES / "integers_scaled.yaml", "-f", "markdown").out
    numbers = {*re.findall(r"\d+\.\d{4}", shown)} - {"1.7321"}  # √3 stands in a formula
    assert len(numbers) > 10
    assert not [number for number in numbers if number in page]
    assert not re.search("https?:", re.sub(r"http://www\.w3\.org/\S+", "", page))
    buttons = [one for one in tree.iter("button") if one.get("class") == "save"]
    assert buttons[0].get("hidden") == "hidden"  # until there is a script


def test_what_is_asked_is_said(attn: Attn, tmp_path: Path) -> None:
    problem: dict[str, Any] = {"X": [[1, 0], [0, 1]], "score": "dot"}
    marking = {"ask": ["weights", "output"], "decimals": 2, "points": {"weights": 3, "output": 1.5}}
    given = attncli.Problem(**problem, marking=marking)
    asked = "Write the numbers that are missing, with 2 decimals where they have more; what counts "
    asked += "is weights and output; work the other steps on paper of your own. Points: weights 3, "
    asked += "output 1.5."
    for form in ("markdown", "html", "latex", "yaml"):
        assert asked in attncli.worksheet(given, form)


def test_only_what_is_asked_has_room(attn: Attn) -> None:
    """Steps that are not asked have formulas, and numbers only by --give; others stay unknown."""
    given = attncli.load(SAMPLES / "integers_scaled.yaml")
    sheet = attncli.worksheet(given, "csv", ask="weights[a1],output")
    flags = ("-f", "csv", "--ask", "weights[a1],output")
    assert attn("worksheet", SAMPLES / "integers_scaled.yaml", *flags).out == sheet
    assert sheet == "student,\nweights\n?,?,?\n~,~,~\n~,~,~\noutput\n" + 3 * "?,?,?\n"
    assert sheet == attncli.worksheet(given.marked({"ask": ["weights[a1]", "output"]}), "csv")
    page = attncli.worksheet(given, "markdown", ask="output", give="Q")
    assert re.findall("^## (.*)", page, re.MULTILINE)[-3:] == ["exp, sum", "weights", "output"]
    assert re.findall("answer: (.*) -->", page) == ["output"]
    assert "| a1 | 1 | 0 | 2 |" in page  # Q is given
    assert (page.count("| a1 |"), page.count("W_{k} = ")) == (2, 1)
    assert attncli.worksheet(given, "html", ask="output").count('class="n"') == 9
    quiz = attncli.worksheet(given, "moodle", ask="output[1, 1]")
    assert quiz.count("NUMERICAL") == 1
    assert "In scaled: the scores were not scaled" in quiz  # a mistake in a step that is not asked


def test_a_wrong_ask_of_a_worksheet(attn: Attn) -> None:
    source = SAMPLES / "integers_scaled.yaml"
    result = attn("worksheet", source, "-f", "csv", "--ask", "wieghts")
    assert (result.status, result.out) == (2, "")
    assert "--ask: there is no step wieghts" in result.err
    assert "did you mean weights?" in result.err
    result = attn("worksheet", source, "-f", "csv", "--ask", "output", "--blank", "weights")
    assert (result.status, result.err.splitlines()[1:]) == (2, ["  leave out one of them"])
    result = attn("worksheet", source, "-f", "csv", "--ask", "weights", "--give", "weights")
    assert (result.status, "what is asked is weights" in result.err) == (2, True)


@pytest.mark.usefixtures("small_pool")
def test_variants_ask_on_their_worksheets_and_are_checked_for_it(
    attn: Attn, tmp_path: Path
) -> None:
    source, variant = SAMPLES / "integers_scaled.yaml", tmp_path / "v.yaml"
    attn("vary", source, "--ask", "weights,output", "-o", variant)
    sheet = attn("worksheet", variant, "-f", "yaml", "--give", "V").out
    assert re.findall(r"^(\w+): \|", sheet, re.MULTILINE) == ["weights", "output"]
    weights = attn("compute", variant, "--only", "weights", "-f", "json", "-d", "2").out
    rows = json.loads(weights)["steps"]["weights"]["value"]
    filled = sheet.replace("? ? ?", "{}", 3).format(*(" ".join(map(str, row)) for row in rows))
    result = attn("check", variant, "-", stdin=filled.encode())
    assert result.status == 1
    assert result.out.rstrip().splitlines()[-1].endswith("not given: output")


# Matrices under names, without the marks of a worksheet.

WEIGHTS = [["0.98", "0.02", "0.01"], ["0.27", "0.73", "0.00"], ["0.91", "0.05", "0.05"]]
SCORES = [["14", "10", "9"], ["10", "11", "6"], ["9", "6", "6"]]


def printed(rows: list[list[str]]) -> str:
    return "[[" + "]\n [".join(map(" ".join, rows)) + "]]"


def listed(rows: list[list[str]], sign: str = " ") -> str:
    return "\n".join(map(sign.join, rows))


def table(rows: list[list[str]]) -> str:
    lines = [["", "I", "am", "good"], ["---"] * 4]
    lines += [[word, *row] for word, row in zip(("I", "am", "good"), rows, strict=True)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def tex(rows: list[list[str]], kind: str = "pmatrix", columns: str = "") -> str:
    return rf"\begin{{{kind}}}{columns}" + r" \\ ".join(map(" & ".join, rows)) + rf"\end{{{kind}}}"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.txt", f"weights = {printed(WEIGHTS)}\n\nscores = {printed(SCORES)}\n"),
        ("a.txt", f"weights:\n{printed(WEIGHTS)}\nscores:\n{printed(SCORES)}\n"),
        ("a.txt", f"weights\n{printed(WEIGHTS)}\n\nscores\n{printed(SCORES)}\n"),
        ("a.txt", f"My homework\nWeights:\n{listed(WEIGHTS)}\n\nraw scores =\n{listed(SCORES)}\n"),
        ("a.txt", f"weights = array({printed(WEIGHTS)})\nscores = tensor({printed(SCORES)})\n"),
        ("a.md", f"# Homework\n\n## weights\n\n{table(WEIGHTS)}\n\n**scores**\n\n{table(SCORES)}"),
        ("a.md", f"## weights\n```\n{printed(WEIGHTS)}\n```\nstep 2: scores\n\n{listed(SCORES)}\n"),
        ("a.md", f"Scores\n======\nAs in class:\n\n{table(SCORES)}\n\n$$A = {tex(WEIGHTS)}$$\n"),
        (
            "a.tex",
            f"\\section*{{scores}}\n\\begin{{equation}}\n{tex(SCORES)}\n\\end{{equation}}\n"
            rf"$A = softmax(S) = {tex(WEIGHTS)}$",
        ),
        (
            "a.tex",
            f"\\textbf{{Weights:}}\n{tex(WEIGHTS, 'tabular', '{|c|c|c|}')}\n"
            f"\\[ S = {tex([['1']])} \\cdot {tex([['2']])}\n = {tex(SCORES)} \\]",
        ),
        ("a.csv", f"# Homework 2\n# weights\n{listed(WEIGHTS)}\nscores (Q K)\n{listed(SCORES)}\n"),
        (
            "a.csv",
            f"Homework 2, Alice\nWeights:\n# after the softmax\n{listed(WEIGHTS, ',')}\n"
            f"Step 3: scores\n{listed(SCORES, ',')}\n",
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_matrices_under_names(name: str, text: str, ends: str, attn: Attn, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(text.replace("\n", ends).encode())
    result = attn("check", SAMPLES / "i_am_good.yaml", tmp_path / name)
    assert (result.err, result.status) == ("", 0)
    assert result.out.endswith("correct: 18 numbers\n")


def test_what_is_wrong_in_matrices_under_names(attn: Attn, tmp_path: Path) -> None:
    problem = SAMPLES / "i_am_good.yaml"
    path = tmp_path / "a.md"
    path.write_text(f"Name: Ada\n\n## scores\n{table(SCORES).replace('11', 'n/a')}\n")
    result = attn("check", problem, path)
    assert (result.status, result.out[:4]) == (1, "Ada ")
    assert "scores[am, am]: n/a is not a number" in result.out
    for text, said in (
        (f"A\n{table(WEIGHTS)}\n\nA\n{table(WEIGHTS)}\n", "9:1: A is there twice"),
        (f"A\n{table(SCORES).replace('am', 'an')}", "5:8: A: weights has no query an"),
        ("A\n| 1,202 | 1 |\n", "2:1: 1,202 may mean several numbers"),
        (f"# Frobnicate\n{listed(SCORES)}\n", "2:1: there is no step Frobnicate"),
        ("# Homework\nI gave up.\n", " this is not a worksheet"),
    ):
        path.write_text(text)
        result = attn("check", problem, path)
        assert result.status == 2
        assert f"{path}:{said}" in result.err


@pytest.mark.parametrize(
    "code",
    [
        *("np.exp({})", "np.round({})", "softmax({})", "np.array({}).T", "{} * 2", "{} / 2"),
        *("{}.round(2)", "{}ᵀ", "{} @ [[1]]", "{} - np.eye(3)", "{}^2"),
    ],
)
def test_code_beside_a_matrix_is_not_passed_over(code: str, attn: Attn, tmp_path: Path) -> None:
    """Right numbers, with which the code would calculate others."""
    path = tmp_path / "a.txt"
    path.write_text(
        f"Weights:\nweights = {printed(WEIGHTS)}\nscores = {code.format(printed(SCORES))}\n"
    )
    result = attn("check", SAMPLES / "i_am_good.yaml", path)
    assert result.status == 2
    assert "is written beside the matrix; write the matrix itself, worked out" in result.err
    # Where the result follows, the code is how it came about.
    path.write_text(f"weights = {code.format(printed(SCORES))} = {printed(WEIGHTS)}\n")
    assert attn("check", SAMPLES / "i_am_good.yaml", path).out.endswith("correct: 9 numbers\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("weights[1,1] = 0.98, weights[1,2] = 0.02\n", ":1:22: weights[1,2] is on the line of"),
        (f"scores = {SCORES}, weights = {WEIGHTS}\n".replace("'", ""), ""),
    ],
)
def test_two_names_on_a_line(text: str, said: str, attn: Attn, tmp_path: Path) -> None:
    """Numbers under both are refused, so that none is lost; two matrices are read."""
    path = tmp_path / "a.txt"
    path.write_text(text)
    result = attn("check", SAMPLES / "i_am_good.yaml", path)
    assert f"{path}{said}" in result.err if said else result.out.endswith("correct: 18 numbers\n")


def test_documents_without_marks_in_the_folder_of_a_class(attn: Attn, tmp_path: Path) -> None:
    (tmp_path / "class").mkdir()
    for name, text in (
        ("ada.md", f"## scores\n{table(SCORES)}\n"),
        ("bo.tex", f"$S = {tex(SCORES)}$\n"),
        ("notice.md", "# Homework\n\nHand it in by Monday, with a table of the weights.\n"),
    ):
        (tmp_path / "class" / name).write_text(text)
    result = attn("check", SAMPLES / "i_am_good.yaml", tmp_path / "class")
    assert result.status == 0
    assert "2 answers: 2 correct" in result.out
    assert "passed over notice.md" in result.err


@pytest.mark.parametrize("form", ["markdown", "latex", "html"])
def test_a_given_matrix_that_is_to_be_copied_is_shown(
    form: str, attn: Attn, tmp_path: Path
) -> None:
    (tmp_path / "p.yaml").write_text("{Q: [[987]], K: [[1]], V: [[1]], score: dot}")
    out = attn("worksheet", tmp_path / "p.yaml", "--blank", "Q", "-f", form).out
    assert out.partition("<script")[0].count("987") == 2  # itself, and where scores use it


# ---- a class with variants of several problems


SEVERAL = """\
title: Scores
tokens: [we, walk]
X: [[1, 0, 2], [0, 1, 1]]
W_q: [[1, 0], [0, 1], [1, 1]]
W_k: [[1, 1], [0, 1], [1, 0]]
marking: {decimals: 2, ask: [scores, scaled]}
---
title: Weights
X: [[1, 2], [2, 0], [0, 1]]
score: dot
marking: {decimals: 2, ask: [weights, output]}
---
scores: [[1, 2, 0], [0, 1, 3]]
V: [[1, 0], [2, 1], [0, 2]]
marking: {decimals: 2}
"""
STUDENTS = ("Ada Lovelace", "O'Brien, Pat", "Zoë Groß", "李 小龙", "אדה כהן")
PARTED = {"yaml": "---\n", "csv": "---\n", "markdown": "\n---\n\n", "latex": "\n\\newpage\n"}


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with variants of three problems for five students, and the solutions."""
    folder = tmp_path_factory.mktemp("course")
    (folder / "hw.yaml").write_text(SEVERAL)
    (folder / "roster.csv").write_text("\n".join(["Name", *(f'"{s}"' for s in STUDENTS)]))
    flags = ("--for", str(folder / "roster.csv"), "--seed", "7", "--key")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(variant_search, "POOL_SIZE", 2)  # no test is of what the variants show
        assert run(["vary", str(folder / "hw.yaml"), *flags, "-o", f"{folder}/variants/"]) == 0
    return folder


def graded(answers: Path, course: Path, attn: Attn) -> list[tuple[str, str, str]]:
    """Return the student, the problem and the verdict of each report, in the order of names."""
    lines = attn("check", course / "variants", answers, "-f", "json").out.splitlines()
    reports = map(json.loads, lines)
    return sorted((one["name"], one["problem"], one["verdict"]) for one in reports)


ALL_RIGHT = sorted(
    (student, problem, "correct")
    for student in STUDENTS
    for problem in ("Scores", "Weights", "problem 3")
)


def test_solutions_are_the_answers_of_their_students(course: Path, attn: Attn) -> None:
    assert graded(course / "variants" / "keys", course, attn) == ALL_RIGHT


@pytest.mark.parametrize("form", FORMATS)
def test_sheets_with_names_that_are_filled_in_are_right(
    form: str, course: Path, attn: Attn, tmp_path: Path
) -> None:
    sheets = tmp_path / "sheets"
    flags = ["--standalone"] if form == "latex" else []
    out = sheets / f"{{student}}{FORMATS[form]}"
    assert attn("worksheet", course / "variants", *flags, "-o", out).status == 0
    assert len([*sheets.iterdir()]) == len(STUDENTS)
    for number, student in enumerate(STUDENTS):
        path = sheets / f"{student}{FORMATS[form]}"
        problems = load_all(course / "variants" / f"{student}.yaml")
        parts = path.read_text().split(PARTED[form])
        pairs = zip(parts, map(attncli.compute, problems), strict=True)
        text = PARTED[form].join(filled(part, form, trace) for part, trace in pairs)
        path.rename(path.with_name(f"answers {number}{FORMATS[form]}")).write_text(text)
    assert graded(sheets, course, attn) == ALL_RIGHT


def test_a_sheet_tells_student_variant_and_problem(course: Path, attn: Attn) -> None:
    ada = course / "variants" / "Ada Lovelace.yaml"
    name, variant = "Ada Lovelace", "Scores, variant 1"
    sheets = {form: attn("worksheet", ada, "-f", form).out for form in (*FORMATS, "html")}
    assert "student: Ada Lovelace\nvariant: 1\nproblem: 2\n" in sheets["yaml"]
    assert "student,Ada Lovelace\nvariant,1\nproblem,2\n" in sheets["csv"]
    assert f"# {variant}\n\nName: {name}\n" in sheets["markdown"]
    assert f"\\section*{{{variant}}}\n\\attnname{{{name}}}\n" in sheets["latex"]
    tree = ElementTree.fromstring(sheets["html"].partition("\n")[2])
    names = [one.get("value") for one in tree.iter("input") if one.get("class") == "student"]
    assert {*names} == {name}
    titles = [one.text for one in tree.iter("h1")]
    assert titles == [variant, "Weights, variant 1", "Problem 3, variant 1"]


def test_sheets_of_several_problems_are_numbered(attn: Attn) -> None:
    result = attn("worksheet", "-", "-f", "yaml", "--blank", "weights", stdin=SEVERAL.encode())
    assert re.findall("^(?:student|problem).*", result.out, re.MULTILINE) == [
        line for number in (1, 2, 3) for line in ("student:", f"problem: {number}")
    ]


@pytest.mark.usefixtures("small_pool")
def test_problems_of_one_student_in_several_folders_share_a_file(
    course: Path, attn: Attn, tmp_path: Path
) -> None:
    for number, part in enumerate((course / "hw.yaml").read_text().split("---\n")[1:], 2):
        (tmp_path / "one.yaml").write_text(f"problem: {number}\n{part}")
        out = f"{tmp_path}/{number}/"
        attn("vary", tmp_path / "one.yaml", "--for", course / "roster.csv", "-o", out)
    result = attn("worksheet", tmp_path / "2", tmp_path / "3", "-f", "csv", "-o", f"{tmp_path}/to/")
    assert result.status == 0
    assert sorted(path.stem for path in (tmp_path / "to").iterdir()) == sorted(STUDENTS)
    text = (tmp_path / "to" / "Zoë Groß.csv").read_text()
    assert re.findall(r"^(?:variant|problem),.*", text, re.MULTILINE) == [
        *("variant,3", "problem,2", "variant,3", "problem,3")
    ]


@pytest.mark.usefixtures("small_pool")
def test_variants_without_students_are_named_by_their_numbers(
    course: Path, attn: Attn, tmp_path: Path
) -> None:
    attn("vary", course / "hw.yaml", "-n", "2", "-o", tmp_path / "all.yaml")
    out = tmp_path / "{variant:03}.md"
    assert attn("worksheet", tmp_path / "all.yaml", "-o", out).status == 0
    assert sorted(path.name for path in tmp_path.glob("*.md")) == ["001.md", "002.md"]
    assert (tmp_path / "002.md").read_text().count("Name:\n") == 3
    result = attn("worksheet", tmp_path / "all.yaml", "-o", tmp_path / "{title}.tex")
    assert result.status == 2
    assert "Scores.tex is the file of variant 1, and would be that of variant 2" in result.err


def test_a_folder_without_problems_is_told(attn: Attn, tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "ada.yaml").write_text("X: [[1]]\n")
    result = attn("worksheet", tmp_path, "-f", "yaml")
    assert (result.status, result.out) == (2, "")
    assert result.err.startswith(f"{tmp_path}: there are no problems in this folder\n")


def test_rows_and_numbers_beside_matrices_of_a_text_are_read(attn: Attn, tmp_path: Path) -> None:
    text = "o_1 = [9, 2]\nS_2 = [[2, 3], [0, 0]]\no_3: [7 9]\nnote = [1, 2]\nread_3[1] = 0\n"
    (tmp_path / "ann.txt").write_text(text)
    shown = attn("check", SAMPLES / "delta.yaml", tmp_path / "ann.txt", "-f", "json").out
    steps = json.loads(shown)["steps"].items()
    given = {name: step["status"] for name, step in steps if step["status"] != "missing"}
    assert given == {"o_1": "wrong", "S_2": "correct", "o_3": "correct", "read_3": "correct"}


def test_the_mask_is_shown_where_masked_scores_are_asked(attn: Attn) -> None:
    mask = "| q3 | 0 | 0 | 1 | 1 |"
    assert mask in attn("worksheet", SAMPLES / "online.yaml", "-f", "markdown").out
    assert mask not in attn("compute", SAMPLES / "online.yaml", "-f", "markdown").out
