"""Names of a class as students write them, and whom a text may mean."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from attncli.classroom.name_index import Person, ProblemNames, Roster, read_roster
from tests.classroom.test_classes import RIGHT, SMALL, WRONG, book, write
from tests.conftest import Attn, cases

CLASS = (
    Person("Ada Lovelace", (), ("4711", "ada7@uni.edu")),
    Person("Zoë Blum", (), ("4712", "zb12@uni.edu", "bl")),
    Person("Bo Kim"),
    Person("Min-jun Kim"),
    Person("Jürgen Müller"),
    Person("Siân O'Brien-Groß"),
    Person("Luca de la Cruz"),
    Person("van der Berg, Jan"),
    Person("Lee Hart"),
    Person("Lee Ann Hart"),
    Person("小明 王"),
    Person("İpek Yıldız"),
    Person("Øyvind Sæther"),
    Person("Thị Minh Anh Nguyễn"),
    Person("María José García López"),
)

NAMES = {
    "Ada Lovelace": [
        *("ada lovelace", "LOVELACE, Ada", "lovelace_ada_hw2", "AdaLovelace", "hw2-lovelaceada-v3"),
        *("4711", "ada7@uni.edu", "ada7", "p1 4711 (2)", "Ada  Lovelace, 4711"),
    ],
    "Zoë Blum": ["zoe blum", "Zoé Blum", "blumzoe", "BLUM Zoe\u0308", "zb12_answers"],
    "Jürgen Müller": ["mueller juergen", "Muller, Jurgen", "muellerjuergen", "JÜRGEN MÜLLER"],
    "Siân O'Brien-Groß": [
        *("sian obrien gross", "o'brien-groß, siân", "sian o’brien-gross", "obriengrosssian"),
        *("Sian O'Brien", "gross sian"),
    ],
    "Luca de la Cruz": ["Cruz, Luca de la", "de la cruz luca", "delacruzluca", "luca cruz"],
    "van der Berg, Jan": ["Jan van der Berg", "vanderbergjan", "jan berg", "van_der_berg_jan"],
    "Min-jun Kim": ["minjun kim", "Kim Min Jun", "kimminjun"],
    "Lee Hart": ["hart lee", "leehart"],
    "Lee Ann Hart": ["Hart, Lee Ann", "leeann hart", "lee_ann_hart_hw2"],
    "小明 王": ["王小明", "小明王", "王 小明 hw2"],
    "İpek Yıldız": ["ipek yildiz", "İPEK YILDIZ", "yildizipek"],
    "Øyvind Sæther": ["oyvind saether", "saether, øyvind", "Oeyvind Saether"],
    "Thị Minh Anh Nguyễn": ["Nguyen Thi Minh Anh", "nguyenthiminhanh", "Thi Nguyen"],
    "María José García López": ["maria garcia", "Garcia Lopez, Maria Jose"],
    "": [
        *("", "hw2", "Ada", "kim", "bl", "Lovelace", "Ada Lovlace", "Ada Blum", "47110", "adam"),
        *("Ada Lovelace and Bo Kim", "Bo Kim 4711", "lee", "xadalovelacex"),
    ],
}


@pytest.mark.parametrize("name", NAMES)
def test_a_student_is_found_by_what_students_write(name: str) -> None:
    roster = Roster(CLASS)
    for text in NAMES[name]:
        for form in ("NFC", "NFD"):
            person = roster.find(unicodedata.normalize(form, text))
            assert (person.name if person else "") == name, text
    if name:
        assert roster.find(name) is not None


@cases("roster", "whom_a_text_may_mean")
def test_whom_a_text_may_mean(text: str, names: list[str]) -> None:
    assert Roster(CLASS).nearest(text) == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("perhaps Bo Kim or Ada Lovelace", ["Ada Lovelace", "Bo Kim"]),
        ("perhaps van der Berg, Jan (no answers)", ["van der Berg, Jan"]),
        ("perhaps Jan Kleinschmidt", ["Jan Kleinschmidt"]),
        ("perhaps Jan Klein or Jan Kleinschmidt", ["Jan Klein", "Jan Kleinschmidt"]),
        ("perhaps ada lovelace", ["Ada Lovelace"]),
    ],
)
def test_whose_names_are_in_a_sentence(text: str, names: list[str]) -> None:
    """The one name is not found in the longer one."""
    roster = Roster((*CLASS, Person("Jan Klein"), Person("Jan Kleinschmidt")))
    assert roster.named_in(text) == names


ROSTERS = {
    "First,Last,E-mail\nAda,Lovelace,ada@x\nBo,Kim,\n": ["Ada Lovelace", "Bo Kim"],
    "Name,SID\nAda,4711\n,4712\n,\n": ["Ada", "4712"],
    "Name,SID\nAda,4711\nBo,4713\nAda,4712\n": ["Ada (4711)", "Bo", "Ada (4712)"],
    "Email address\nada@x.org\nbo@x.org\n": ["ada@x.org", "bo@x.org"],
}


@pytest.mark.parametrize("text", ROSTERS)
def test_no_student_of_a_roster_is_lost(text: str, tmp_path: Path) -> None:
    (tmp_path / "roster.csv").write_text(text)
    assert [one.name for one in read_roster(tmp_path / "roster.csv").people] == ROSTERS[text]


def test_students_of_one_name_are_told_apart_by_their_numbers(attn: Attn, tmp_path: Path) -> None:
    roster = "Name,SID\nAnn Lee,4711\nAnn Lee,4712\nBo Kim,4713\n"
    files = {"in/4712.yaml": RIGHT["Small"], "in/lee_4711.yaml": WRONG["Small"]}
    write(tmp_path, {"hw.yaml": SMALL, "roster.csv": roster, **files})
    rows = book(attn, tmp_path, "hw.yaml", "in", "--for", "roster.csv")
    assert rows == [
        ("Ann Lee (4712)", "Small", "correct"),
        ("Ann Lee (4711)", "Small", "wrong"),
        ("Bo Kim", "Small", "empty"),
    ]
    (tmp_path / "in" / "4712.yaml").rename(tmp_path / "in" / "Ann Lee.yaml")
    rows = book(attn, tmp_path, "hw.yaml", "in", "--for", "roster.csv")
    assert ("in/Ann Lee.yaml", "Small", "unreadable") in rows
    assert ("Ann Lee (4712)", "Small", "unreadable") in rows


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Causal masks - Bo", (1, "Bo")),  # the title inside the longer one does not count
        ("masks_bo", (0, "bo")),
        ("CausalMasks bo", (1, "bo")),
        ("masks or softmax", (None, "masks or softmax")),
        ("softmax 1 masks", (None, "softmax 1 masks")),
        ("hw2 p3", (2, "")),
    ],
)
def test_which_problem_a_name_tells(text: str, told: tuple[int | None, str]) -> None:
    """Titles are known by the rule for names of students."""
    names = ProblemNames([("Masks", "1"), ("Causal masks", ""), ("Softmax", "")])
    assert names.in_name(text) == told
