"""Forms in which people have a problem or an answer, in `forms_people_have.yaml`."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

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
