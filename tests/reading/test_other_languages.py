"""Names of steps and inputs in German, French, Spanish and Chinese: each row of the tables."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest

import attncli
from attncli.core.problem.key_values import key_of
from attncli.core.problem.keys import KEYS
from attncli.core.tape.step_words import meant
from attncli.core.text.languages import LANGUAGES
from attncli.reading.text_names import is_step, name_in
from tests.conftest import Attn, table

PROBLEM = attncli.Problem(
    X=[[1, 0, 1, 2], [0, 2, 1, 1]],
    heads=2,
    W_o=[[1, 0], [0, 1], [1, 1], [2, 1]],
    mask="causal",
    positions="sinusoidal",
)
"""A problem with all steps of the tables."""

MATRICES = {
    "S": "0.71 4.24 2.83\n0.00 2.83 1.41\n0.71 5.66 3.54\n",
    "W": "0.02 0.79 0.19\n0.05 0.77 0.19\n0.01 0.89 0.11\n",
    "Z": "2.19 1.76\n2.19 1.72\n2.11 1.88\n",
    "X": "1 0\n0 2\n1 1\n",
}
SMALL = """
X: [[1, 0], [0, 2], [1, 1]]
W_q: [[1, 2], [0, 1]]
W_k: [[1, 0], [1, 1]]
W_v: [[2, 0], [1, 1]]
"""
"""The problem of the scaled scores S, the weights W and the output Z."""


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_word_means_the_step_or_the_key_of_its_row(language: str) -> None:
    trace = attncli.compute(PROBLEM)
    rows = {name: words.split() for name, words in LANGUAGES[language].items()}
    steps = {name: words for name, words in rows.items() if name in trace.steps}
    number = rows["STEP"][0]
    for words in zip_longest(*steps.values()):
        pairs = [(step, word) for step, word in zip(steps, words, strict=True) if word]
        given: dict[str, Any] = {word: trace[step].value for step, word in pairs}
        report = attncli.check(PROBLEM, given)
        read = [step for step, judged in report.steps.items() if judged.status == "correct"]
        assert (report.verdict, {*read}) == ("correct", {step for step, _ in pairs})
        for step, word in pairs:
            heading = f"## {number.capitalize()} 3: {word.capitalize()}"
            assert meant(name_in(heading, is_step), trace.steps)[0] == step
    for key in rows.keys() & KEYS.keys():
        assert {key_of(word.capitalize()) for word in rows[key]} == {key}


def written(texts: Sequence[str], folder: Path) -> list[str]:
    """Write a file for each text, with the matrices that it names; return the files' names."""
    names = [f"{number:02}.txt" for number in range(len(texts))]
    for name, text in zip(names, texts, strict=True):
        whole = re.sub(r"(?m)^[SWZX]$", lambda letter: MATRICES[letter[0]], text)
        (folder / name).write_text(whole, encoding="utf-8")
    return names


def test_headings_are_read_and_notes_are_not(attn: Attn, tmp_path: Path) -> None:
    rows = table("languages", "answers")
    (tmp_path / "hw.yaml").write_text(SMALL)
    files = written([row["text"] for row in rows], tmp_path)
    out = attn("check", "hw.yaml", *files, "-f", "json", cwd=tmp_path).out
    for row, line in zip(rows, out.splitlines(), strict=True):
        report = json.loads(line)
        given = {name for name, step in report["steps"].items() if step["status"] != "missing"}
        assert (given, report["verdict"]) == ({*row["steps"]}, "correct"), row["text"]


def test_inputs_and_options_are_read(attn: Attn, tmp_path: Path) -> None:
    texts = table("languages", "problems")
    out = attn("compute", *written(texts, tmp_path), "-f", "json", cwd=tmp_path).out
    for text, line in zip(texts, out.splitlines(), strict=True):
        problem = json.loads(line)
        assert problem["steps"]["scores"]["value"] == [[1, 0, 1], [0, 4, 2], [1, 2, 2]], text
        assert problem["options"]["scale"] == (
            "1/sqrt(2)" if "1/sqrt(2)" in text else "1/sqrt(d_k)"
        )


def test_a_line_that_may_mean_options_says_how_they_are_written(attn: Attn, tmp_path: Path) -> None:
    text = "Eingabe =\nX\n2 Köpfe, kausale Maske, Skalierung durch √d_k\n"
    written([text], tmp_path)
    said = attn("compute", "00.txt", cwd=tmp_path).err
    assert "written as heads: 2 or mask: causal or scale: 1/sqrt(d_k)" in said
