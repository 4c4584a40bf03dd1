"""Worksheets: what is open, what is shown, and that `check` reads what was filled in.

What the command says of them is in the session `worksheets`.
"""

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
from attncli.reading.load import load_all
from tests.classroom.course import write
from tests.conftest import SAMPLES, Attn, cases

GOOD, SCALED = SAMPLES / "i_am_good.yaml", SAMPLES / "integers_scaled.yaml"
FORMATS = {"yaml": ".yaml", "csv": ".csv", "markdown": ".md", "latex": ".tex"}
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
    """Return a worksheet with the right numbers, in the order in which they stand.

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
    is_blank = getattr(step.operation, "is_blank", lambda row, column: False)
    *_, rows, columns = (1, *step.value.shape)
    for place, number in enumerate(step.value.ravel().tolist()):
        if not is_blank(place // columns % rows, place % columns):
            yield f"{number:.3f}" if isfinite(number) else "-inf"


def submission(text: str, form: str, folder: Path) -> Any:
    """Return what is read of a worksheet."""
    path = folder / f"sheet{FORMATS[form]}"
    path.write_text(text)
    (found,) = attncli.load_answers(path)
    return found


@pytest.mark.parametrize(
    "name",
    [
        *("heads_list", "i_am_good", "integers_columns", "mask_padding", "recurrent"),
        *("score_additive",),
    ],
)
def test_a_filled_in_sheet_of_each_format_is_checked(name: str, tmp_path: Path) -> None:
    problem = attncli.load(SAMPLES / f"{name}.yaml")
    trace = attncli.compute(problem)
    key = attncli.AnswerKey(problem)
    # The numbers of the other steps are those of an input.
    worked = {step.name for step in trace if not isinstance(step.operation, attncli.Step)}
    for form in FORMATS:
        empty = attncli.worksheet(problem, form)
        assert key.check(submission(empty, form, tmp_path)).verdict == "empty"
        report = key.check(submission(filled(empty, form, trace), form, tmp_path))
        assert report.verdict == "correct", form
        found = {name for name, one in report.steps.items() if one.status != "missing"}
        assert found == worked
        left_out = sum(trace[name].value.size for name in report.steps.keys() - worked)
        to_come = 3 if name == "recurrent" else 0  # states that are yet to come
        assert report.counts["missing"] - left_out == to_come


@pytest.mark.parametrize(
    ("form", "empty", "named"),
    [
        ("yaml", "student:", "student: Ada L."),
        ("csv", "student,", "student,Ada L."),
        ("markdown", "Name:", "Name: Ada L."),
        ("latex", r"\attnname{}", r"\attnname{Ada L.}"),
    ],
)
def test_a_wrong_number_is_told_with_its_place_and_name(
    form: str, empty: str, named: str, attn: Attn, tmp_path: Path
) -> None:
    sheet = attn("worksheet", SCALED, "-f", form, "--blank", "scores").out
    text = filled(sheet, form, attncli.compute(attncli.load(SCALED))).replace(empty, named)
    path = tmp_path / f"sheet{FORMATS[form]}"
    path.write_text(text.replace(" 16.000 ", " 17 "))
    result = attn("check", SCALED, path)
    assert (result.status, result.out[:6]) == (1, "Ada L.")
    assert "scores[a2, a2] is wrong" in result.out
    path.write_text(text.replace(" 16.000 ", " x7 "))
    result = attn("check", SCALED, path)
    assert (result.status, "x7 ✗" in result.out) == (1, True)


@pytest.mark.parametrize(
    ("form", "texts"),
    [
        ("latex", (r"\frac{1}{2}", r"14\%", r"0{,}5", r"\sqrt{2}")),
        ("markdown", ("1/2", "14%", "$0,5$", "**√2**")),
    ],
)
def test_numbers_may_be_written_as_latex_and_markdown_have_them(
    form: str, texts: tuple[str, ...], tmp_path: Path
) -> None:
    problem = attncli.Problem(X=[[1, 0], [0, 1]], score="dot", tokens=["a", "b"])
    sheet = attncli.worksheet(problem, form, blank=["scores"])
    start = sheet.index("Write the numbers")
    for text in texts:
        room = re.search(ROOM[form], sheet[start:])
        assert room is not None
        sheet = f"{sheet[: start + room.start()]} {text} {sheet[start + room.end() :]}"
    report: Any = attncli.check(problem, submission(sheet, form, tmp_path))
    written = report.steps["scores"].written
    assert written.texts.ravel().tolist()[1:3] == ["0.14", "0.5"]
    assert written.values.ravel().tolist() == pytest.approx([0.5, 0.14, 0.5, 2**0.5])


def test_every_row_of_a_table_keeps_its_place_however_it_is_filled_in(tmp_path: Path) -> None:
    problem = attncli.Problem(X=[[1, 0], [0, 1], [1, 1]], score="dot", tokens=["a", "b", "c"])
    head, rule = "|  | a | b | c |", "| :-- | --: | --: | --: |"
    rows = ["| a | 1 | 0 | 1 |", "| | - | - | - |", "| c | 1 | 1 | 2"]  # the last bar is missing
    text = "\n".join(["<!-- answer: scores -->", "", head, rule, *rows, ""])
    found = submission(text, "markdown", tmp_path)
    assert found.matrices["scores"] == [["1", "0", "1"], ["-", "-", "-"], ["1", "1", "2"]]
    assert attncli.check(problem, found).steps["scores"].counts["correct"] == 6


HOSTILE = ["-->", "a|b", r"\end{array}", "{", "50%", "<b>", "你好"]


@pytest.mark.parametrize("form", FORMATS)
def test_names_that_mean_something_to_a_format_come_back(form: str, tmp_path: Path) -> None:
    """`hidden` has a matrix for each query, which is named by its label."""
    problem = attncli.Problem(
        tokens=HOSTILE,
        X=[[i, 1] for i in range(len(HOSTILE))],
        score={"name": "additive", "W": [[1, 0]], "U": [[0, 1]], "v": [1]},
    )
    sheet = filled(attncli.worksheet(problem, form), form, attncli.compute(problem))
    report = attncli.check(problem, submission(sheet, form, tmp_path))
    assert report.verdict == "correct"
    assert report.steps["hidden"].counts["correct"] == len(HOSTILE) ** 2


# What is shown


def test_no_worksheet_has_more_numbers_than_anybody_writes(attn: Attn, tmp_path: Path) -> None:
    path = tmp_path / "large.csv"
    path.write_text("\n".join(["1,0"] * 120) + "\n")
    result = attn("worksheet", path, "-o", tmp_path / "large.html")
    assert result.status == 2
    assert "numbers would be to write on this worksheet; 10000 is the most" in result.err
    assert not (tmp_path / "large.html").exists()


def test_a_document_of_several_problems_is_a_submission_to_each(attn: Attn, tmp_path: Path) -> None:
    both = tmp_path / "both.md"
    assert attn("worksheet", GOOD, SAMPLES / "mask_causal.yaml", "-o", both).status == 0
    both.write_text(both.read_text().replace("Name:", "Name: Ada", 1))
    first, second = attncli.load_answers(both)
    assert first.name == "Ada"
    assert second.name.endswith("both.md, 2")
    assert "masked" not in first.matrices
    assert "masked" in second.matrices


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


def test_the_page_is_whole_and_its_numbers_are_not_read_in_passing() -> None:
    problem = attncli.load(SCALED)
    page = attncli.worksheet(problem)
    tree = ElementTree.fromstring(page.partition("\n")[2])
    inputs = [one.get("aria-label") for one in tree.iter("input") if one.get("class") == "n"]
    assert len(inputs) == len(set(inputs)) == 8 * 9 + 3
    assert inputs[0] == "Q[a1, 1]"
    shown = attncli.render(attncli.compute(problem), "markdown")
    numbers = {*re.findall(r"\d+\.\d{4}", shown)} - {"1.7321"}  # √3 is in a formula
    assert len(numbers) > 10
    assert not [number for number in numbers if number in page]
    assert not re.search("https?:", re.sub(r"http://www\.w3\.org/\S+", "", page))
    (save,) = (one for one in tree.iter("button") if one.get("class") == "save")
    assert save.get("hidden") == "hidden"  # until there is a script


def test_what_is_asked_is_said() -> None:
    marking = {"ask": ["weights", "output"], "decimals": 2, "points": {"weights": 3, "output": 1.5}}
    given = attncli.Problem(X=[[1, 0], [0, 1]], score="dot", marking=marking)
    asked = "Write the numbers that are missing, with 2 decimals where they have more; what counts "
    asked += "is weights and output; work the other steps on paper of your own. Points: weights 3, "
    asked += "output 1.5."
    for form in ("markdown", "html", "latex", "yaml"):
        assert asked in attncli.worksheet(given, form)


def test_only_what_is_asked_has_room() -> None:
    """Steps that are not asked have formulas, and numbers only by `give`; others stay unknown."""
    given = attncli.load(SCALED)
    sheet = attncli.worksheet(given, "csv", ask="weights[a1],output")
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


@pytest.mark.parametrize("form", ["markdown", "latex", "html"])
def test_a_given_matrix_that_is_to_be_copied_is_shown(form: str) -> None:
    problem = attncli.Problem(Q=[[987]], K=[[1]], V=[[1]], score="dot")
    page = attncli.worksheet(problem, form, blank=["Q"])
    assert page.partition("<script")[0].count("987") == 2  # itself, and where scores use it


def test_the_mask_is_shown_where_masked_scores_are_asked() -> None:
    problem, mask = attncli.load(SAMPLES / "online.yaml"), "| q3 | 0 | 0 | 1 | 1 |"
    assert mask in attncli.worksheet(problem, "markdown")
    assert mask not in attncli.render(attncli.compute(problem), "markdown")


# Matrices under names, without the marks of a worksheet


@cases("worksheets", "documents")
def test_matrices_under_names(name: str, text: str, attn: Attn, tmp_path: Path) -> None:
    """They hold the weights and the scores of `i_am_good`."""
    for ends in ("\n", "\r\n"):
        (tmp_path / name).write_bytes(text.replace("\n", ends).encode())
        result = attn("check", GOOD, tmp_path / name)
        assert (result.err, result.status) == ("", 0)
        assert result.out.endswith("correct: 18 numbers\n")


@cases("worksheets", "documents_that_are_refused")
def test_what_is_wrong_in_matrices_under_names(
    name: str, text: str, error: str, attn: Attn, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)
    result = attn("check", GOOD, name, cwd=tmp_path)
    assert result.status == 2
    assert result.err.startswith(f"{name}:{error}")


WEIGHTS = "[[0.98 0.02 0.01]\n [0.27 0.73 0.00]\n [0.91 0.05 0.05]]"
SCORES = "[[14 10 9]\n [10 11 6]\n [9 6 6]]"


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
    path.write_text(f"Weights:\nweights = {WEIGHTS}\nscores = {code.format(SCORES)}\n")
    result = attn("check", GOOD, path)
    assert result.status == 2
    ways = ("is written beside the matrix; write the matrix itself", ".T makes columns", "ᵀ makes")
    assert any(way in result.err for way in ways)
    # Where the result follows, the code is how it came about.
    path.write_text(f"weights = {code.format(SCORES)} = {WEIGHTS}\n")
    assert attn("check", GOOD, path).out.endswith("correct: 9 numbers\n")


# A class with variants of several problems


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
def variants(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with variants of three problems for five students; the numbers are equal."""
    files = {
        f"{student}.yaml": "---\n".join(
            f'student: "{student}"\nvariant: {variant}\nproblem: {number}\n{problem}'
            for number, problem in enumerate(SEVERAL.split("---\n"), 1)
        )
        for variant, student in enumerate(STUDENTS, 1)
    }
    return write(tmp_path_factory.mktemp("variants"), files)


@pytest.mark.parametrize("form", FORMATS)
def test_sheets_with_names_that_are_filled_in_are_right(
    form: str, variants: Path, attn: Attn, tmp_path: Path
) -> None:
    flags = ["--standalone"] if form == "latex" else []
    out = tmp_path / f"{{student}}{FORMATS[form]}"
    assert attn("worksheet", variants, *flags, "-o", out).status == 0
    assert len([*tmp_path.iterdir()]) == len(STUDENTS)
    for number, student in enumerate(STUDENTS):
        path = tmp_path / f"{student}{FORMATS[form]}"
        problems = load_all(variants / f"{student}.yaml")
        parts = path.read_text().split(PARTED[form])
        pairs = zip(parts, map(attncli.compute, problems), strict=True)
        text = PARTED[form].join(filled(part, form, trace) for part, trace in pairs)
        path.rename(path.with_name(f"answers {number}{FORMATS[form]}")).write_text(text)
    lines = attn("check", variants, tmp_path, "-f", "json").out.splitlines()
    reports = map(json.loads, lines)
    assert {(one["name"], one["problem"]): one["verdict"] for one in reports} == {
        (student, problem): "correct"
        for student in STUDENTS
        for problem in ("Scores", "Weights", "problem 3")
    }


def test_a_practice_page_tells_student_variant_and_problem(variants: Path, attn: Attn) -> None:
    page = attn("worksheet", variants / "Ada Lovelace.yaml", "-f", "html").out
    tree = ElementTree.fromstring(page.partition("\n")[2])
    names = {one.get("value") for one in tree.iter("input") if one.get("class") == "student"}
    assert names == {"Ada Lovelace"}
    titles = [one.text for one in tree.iter("h1")]
    assert titles == ["Scores, variant 1", "Weights, variant 1", "Problem 3, variant 1"]
