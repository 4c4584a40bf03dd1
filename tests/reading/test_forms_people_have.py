"""Forms in which people have a problem or an answer, in `forms_people_have.yaml`."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import attncli
from attncli.checking.check import AnswerKey
from attncli.core.errors import InputError
from tests.conftest import table
from tests.reading.forms import plain, saved

BASES = table("forms_people_have", "bases")
FORMS = [
    row
    for group in ("one_by_one", "printed", "course_notes", "as_text")
    for row in table("forms_people_have", group)
]


def by_name(rows: list[dict[str, Any]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("row", rows, ids=[row["name"] for row in rows])


def notes(lines: str | None) -> AbstractContextManager[object]:
    said = f"{lines} (is|are) not read"
    return pytest.warns(UnicodeWarning, match=said) if lines else nullcontext()


@by_name([row for row in FORMS if "means" in row])
def test_a_form_is_the_problem_that_was_meant(row: dict[str, Any], tmp_path: Path) -> None:
    means = row["means"]
    means = {key: BASES[means][key] for key in "QKV"} if isinstance(means, str) else means
    file = saved(tmp_path, row["text"], row.get("suffix", ""))
    with notes(row.get("unread")):
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
        with notes(row.get("unread_answers")):
            (answers,) = attncli.load_answers(saved(tmp_path, row["text"], suffix))
        report = attncli.check(problem, answers)
        written = [name for name, step in report.steps.items() if step.status != "missing"]
        assert (report.verdict, written) == ("correct", row["answers"])


@by_name(table("forms_people_have", "refused"))
def test_what_may_be_read_wrong_is_refused(row: dict[str, Any], tmp_path: Path) -> None:
    file = saved(tmp_path, row["text"], ".txt")
    readers: dict[str, Callable[[Path], object]] = {
        "problem": attncli.load_all,
        "answers": lambda name: KEYS["four"].check(attncli.load_answers(name)[0]),
    }
    for where in row.get("in", ["problem", "answers"]):
        with pytest.raises(InputError) as caught:
            readers[where](file)
        assert row["said"] in str(caught.value)


# Texts that a generator makes.

Rows = list[list[str]]


MADE = table("forms_people_have", "made")
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
        where = MADE[draw(st.sampled_from(["inline", "below"]))]
        around, sign, end, first, last = draw(st.sampled_from([*where["forms"].values()]))
        matrix = end.join(f"{first}{sign.join(row)}{last}" for row in rows)
        text += draw(st.sampled_from(where["before"])).format(name, WORDS[name])
        text += around.replace("§", matrix) + draw(st.sampled_from(MADE["between"]))
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
    steps = attncli.check(attncli.Problem(Q=meant["Q"], K=meant["K"], V=meant["V"]), answers).steps
    assert {name: steps[name].status for name in meant} == dict.fromkeys(meant, "correct")


# Damaged forms: nothing is read wrong in silence, and no number that is right is called wrong.

DAMAGE = {
    "a bracket is lost": (r"[\[\](){}|]|\\begin|\\end|\\\\", ""),
    "a row is lost": (r"(?m)^[^\n]*\d[^\n]*\n", ""),
    "a word is too many": (r"(?<![\w.])(?=\d)", "foo "),
}
MATRICES = {"X", "memory", "Q", "K", "V", "W_q", "W_k"}
KEYS = {name: AnswerKey(attncli.Problem(**base)) for name, base in BASES.items()}


def damaged(text: str, kind: str) -> list[str]:
    pattern, instead = DAMAGE[kind]
    places = re.finditer(pattern, text)
    return [text[: place.start()] + instead + text[place.end() :] for place in places]


def rows_of(value: object) -> list[list[float]]:
    array = np.array(value, float)
    rows: list[list[float]] = array.reshape(-1, array.shape[-1]).tolist()
    return rows


def are_in_order(some: list[list[float]], of: list[list[float]]) -> bool:
    """Return whether rows are some of others, in their order."""
    others = iter(of)
    return all(any(row == other for other in others) for row in some)


def assert_nothing_is_wrong_in_silence(row: dict[str, Any], text: str, folder: Path) -> None:
    if "means" in row:
        means = BASES[row["means"]] if isinstance(row["means"], str) else row["means"]
        meant = [rows_of(means[key]) for key in MATRICES & means.keys()]
        with suppress(InputError):
            for problem in attncli.load_all(saved(folder, text, row.get("suffix", ""))):
                for key in MATRICES & {*problem.given}:  # without s, each h is a row of X
                    rows = rows_of(getattr(problem, key))
                    assert any(are_in_order(rows, some) for some in meant), key
    if "answers" in row:
        with suppress(InputError):
            for answers in attncli.load_answers(saved(folder, text, row.get("suffix", ".txt"))):
                for judged in KEYS[row.get("of", "plain")].check(answers).steps.values():
                    if not isinstance(judged, attncli.Misshapen):
                        assert not judged.wrong_numbers.any(), judged.step.name


@pytest.mark.filterwarnings("ignore::UnicodeWarning")
@pytest.mark.parametrize("kind", DAMAGE)
@by_name(FORMS)
def test_a_damaged_form_is_not_read_wrong(row: dict[str, Any], kind: str, tmp_path: Path) -> None:
    texts = damaged(row["text"], kind)
    for text in texts[len(texts) // 2 :][:1]:
        assert_nothing_is_wrong_in_silence(row, text, tmp_path)


@pytest.mark.whole
@pytest.mark.filterwarnings("ignore::UnicodeWarning")
@by_name(FORMS)
def test_no_damage_of_a_form_is_read_wrong(row: dict[str, Any], tmp_path: Path) -> None:
    for kind in DAMAGE:
        for text in damaged(row["text"], kind):
            assert_nothing_is_wrong_in_silence(row, text, tmp_path)
