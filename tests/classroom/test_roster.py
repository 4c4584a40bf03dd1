"""Names of a class as students write them, whom a text may mean, and rosters as they come."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from attncli.classroom.name_index import ProblemNames, Roster, read_roster
from attncli.reading.people import Person
from tests.conftest import cases, table

CLASS = [Person(*one) if isinstance(one, list) else Person(one) for one in table("roster", "CLASS")]
NAMES: dict[str, list[str]] = table("roster", "NAMES")


@pytest.mark.parametrize("name", NAMES)
def test_a_student_is_found_by_what_students_write(name: str) -> None:
    roster = Roster(CLASS)
    for text in NAMES[name]:
        for form in ("NFC", "NFD"):
            found = roster.find(unicodedata.normalize(form, text))
            assert (found or "nobody") == name, text


@pytest.mark.parametrize("person", CLASS, ids=lambda person: person.name)
def test_a_student_is_found_by_the_name_in_the_roster(person: Person) -> None:
    assert Roster(CLASS).find(person.name) == person.name


@cases("roster", "whom_a_text_may_mean")
def test_whom_a_text_may_mean(text: str, names: list[str]) -> None:
    assert Roster(CLASS).nearest(text) == names


@cases("roster", "whose_names_are_in_a_sentence")
def test_whose_names_are_in_a_sentence(text: str, names: list[str]) -> None:
    """The one name is not found in the longer one."""
    roster = Roster((*CLASS, Person("Jan Klein"), Person("Jan Kleinschmidt")))
    assert roster.named_in(text) == names


@cases("roster", "rosters")
def test_no_student_of_a_roster_is_lost(text: str, names: list[str], tmp_path: Path) -> None:
    (tmp_path / "roster.csv").write_text(text)
    assert [one.name for one in read_roster(tmp_path / "roster.csv").people] == names


def test_a_roster_of_thousands_is_read(tmp_path: Path) -> None:
    names = [f"N{number}" for number in range(2000)]
    (tmp_path / "roster.csv").write_text("\n".join(["Name", *names]))
    assert [one.name for one in read_roster(tmp_path / "roster.csv").people] == names


@pytest.mark.parametrize(
    ("text", "index", "rest"),
    [
        ("Causal masks - Bo", 1, "Bo"),  # the title inside the longer one does not count
        ("masks_bo", 0, "bo"),
        ("CausalMasks bo", 1, "bo"),
        ("masks or softmax", None, "masks or softmax"),
        ("softmax 1 masks", None, "softmax 1 masks"),
        ("hw2 p3", 2, ""),
    ],
)
def test_which_problem_a_name_tells(text: str, index: int | None, rest: str) -> None:
    """Titles are known by the rule for names of students."""
    names = ProblemNames([("Masks", "1"), ("Causal masks", ""), ("Softmax", "")])
    assert names.in_name(text) == (index, rest)


def test_a_number_behind_a_name_is_part_of_it_where_there_is_one_problem() -> None:
    only, both = (ProblemNames([("Masks", "")][:1] * count) for count in (1, 2))
    assert [only.in_name(name) for name in ("student 1", "ada_2")] == [
        (None, "student 1"),
        (None, "ada 2"),
    ]
    assert [both.in_name(name) for name in ("student 1", "ada_2")] == [(0, "student"), (1, "ada")]
    assert only.in_name("hw2-1")[1] == only.in_name("p1 ada")[1].replace("ada", "") == ""
