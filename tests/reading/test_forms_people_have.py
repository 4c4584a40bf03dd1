"""Forms in which people have a problem or an answer, in `forms_people_have.yaml`."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import attncli
from tests.conftest import table
from tests.reading.forms import plain, saved

BASES = table("forms_people_have", "bases")
FORMS = [
    row
    for group in ("printed", "course_notes", "as_text")
    for row in table("forms_people_have", group)
]


def by_name(rows: list[dict[str, Any]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("row", rows, ids=[row["name"] for row in rows])


@by_name([row for row in FORMS if "means" in row])
def test_a_form_is_the_problem_that_was_meant(row: dict[str, Any], tmp_path: Path) -> None:
    means = row["means"]
    means = {key: BASES[means][key] for key in "QKV"} if isinstance(means, str) else means
    file = saved(tmp_path, row["text"], row.get("suffix", ""))
    unread = row.get("unread", "")
    with pytest.warns(UnicodeWarning, match=f"{unread} are not read") if unread else nullcontext():
        (problem,) = attncli.load_all(file)
    assert set(problem.given) == set(means)
    for key, meant in means.items():
        value = getattr(problem, key)
        parts = value if isinstance(meant, dict) else {key: value}
        for part, right in (meant if isinstance(meant, dict) else {key: meant}).items():
            assert (plain(parts[part]) if isinstance(right, list) else parts[part]) == right


@by_name([row for row in FORMS if "answers" in row])
def test_a_form_is_the_answers_that_were_meant(row: dict[str, Any], tmp_path: Path) -> None:
    base = BASES[row.get("of", "plain")]
    problem = attncli.Problem(**base)
    for suffix in {row.get("suffix", ""), ".txt"}:
        (answers,) = attncli.load_answers(saved(tmp_path, row["text"], suffix))
        report = attncli.check(problem, answers)
        written = [name for name, step in report.steps.items() if step.status != "missing"]
        assert (report.verdict, written) == ("correct", row["answers"])


# Texts that a generator makes.

Rows = list[list[str]]


INLINE = {
    "list": ("[§]", ", ", ", ", "[", "]"),
    "array": ("np.array([§])", ", ", ", ", "[", "]"),
    "array over lines": ("np.array([§], dtype=float)", ", ", ",\n      ", "[", "]"),
    "tensor": ("torch.tensor([§])", ", ", ",\n        ", "[", "]"),
    "constant": ("tf.constant([§], dtype=tf.float32)", ", ", ", ", "[", "]"),
    "parameter": ("nn.Parameter(torch.tensor([§]))", ", ", ", ", "[", "]"),
    "printed": ("[§]", " ", "\n ", "[", "]"),
    "matlab": ("[§];", " ", "; ", "", ""),
    "julia": ("9×9 Matrix{Float64}:\n§", "  ", "\n", " ", ""),
    "r": ("rbind(§)", ", ", ", ", "c(", ")"),
    "typst": ("mat(§)", ", ", "; ", "", ""),
    "latex": ("\\begin{bmatrix} § \\end{bmatrix}", " & ", " \\\\ ", "", ""),
    "array of latex": (
        "\\left( \\begin{array}{ccc}\n§\n\\end{array} \\right)",
        *(" & ", " \\\\\n", "", ""),
    ),
}
BELOW = {
    "rows": ("§", " ", "\n", "", ""),
    "commas": ("§", ", ", "\n", "", ""),
    "tabs": ("§", "\t", "\n", "", ""),
    "brackets": ("§", " ", "\n", "[", "]"),
    "markdown": ("§", " | ", "\n", "| ", " |"),
    "brackets around": ("[§]", " ", "\n ", "[", "]"),
}
"""What is around a matrix, between its numbers and its rows, before and after each row."""
BEFORE_INLINE = ["{0} = ", "{0}: ", "$ \\mathbf{{{0}}} = ", "{0} <- ", ">>> {0} = ", "{1} {0} = "]
BEFORE_BELOW = [
    "{0}\n",
    "{0}:\n",
    "## {0}\n\n",
    "**{0}**\n\n",
    "{1} ({0}) matrix:\n",
    "Matrix {0} =\n",
]
BETWEEN = [
    "\n\n",
    "\n\nHere is the next one.\n\n",
    "\n# and then\n",
    "\n\nNow the other, with care:\n\n",
]
NUMBERS = st.sampled_from(["0", "1", "-2", "0.5", "-0.25", "3.", "12.75", "1e3", "2.5e-02"])
WORDS = {"Q": "Query", "K": "Key", "V": "Value"}


@st.composite
def made_texts(draw: st.DrawFn) -> tuple[str, dict[str, Rows]]:
    """Return a text with three matrices, and their numbers by name."""
    height, width = draw(st.integers(2, 4)), draw(st.integers(2, 4))
    row = st.lists(NUMBERS, min_size=width, max_size=width)
    meant = {name: draw(st.lists(row, min_size=height, max_size=height)) for name in WORDS}
    text = ""
    for name, rows in meant.items():
        forms, heads = draw(st.sampled_from([(INLINE, BEFORE_INLINE), (BELOW, BEFORE_BELOW)]))
        around, sign, end, first, last = forms[draw(st.sampled_from([*forms]))]
        matrix = end.join(f"{first}{sign.join(row)}{last}" for row in rows)
        text += draw(st.sampled_from(heads)).format(name, WORDS[name])
        text += around.replace("§", matrix)
        text += draw(st.sampled_from(BETWEEN))
    return text, meant


@pytest.mark.filterwarnings("ignore::UnicodeWarning")
@settings(max_examples=200)
@given(made_texts())
def test_a_text_of_many_forms_is_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, made: tuple[str, dict[str, Rows]]
) -> None:
    """As a problem, and as the answers to it."""
    text, rows = made
    meant = {name: [[*map(float, row)] for row in written] for name, written in rows.items()}
    file = saved(tmp_path_factory.getbasetemp(), text, ".txt")
    (problem,) = attncli.load_all(file)
    assert {name: plain(getattr(problem, name)) for name in meant} == meant
    (answers,) = attncli.load_answers(file)
    steps = attncli.check(attncli.Problem(**meant, score="dot"), answers).steps
    assert {name: steps[name].status for name in meant} == dict.fromkeys(meant, "correct")
