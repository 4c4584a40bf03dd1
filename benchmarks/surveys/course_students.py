"""Three problems, and students with difficult names: their rosters and their answers.

The rosters are as Moodle's grade export has them, and Canvas's grade book, in which the second row
is `Points Possible`.
"""

from __future__ import annotations

import csv
import io
import json
import random
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import attncli

# First names | last names | login | what the person also writes. "!": the last name is never first.
PEOPLE = """
Jürgen | Groß | jgross | Juergen Gross; GROSS jürgen; Jürgen G.
Sofia | Rossi | srossi | Rossi Sofia
Sofía | Ramírez | sramirez | ramirez sofia
Jan | Klein | jklein | KLEIN_JAN
Jan | Kleinschmidt | jkleins | Kleinschmidt J
Siobhán | O'Brien | sobrien | OBrien Siobhan; siobhan o brien; O’Brien
小明 | 王 | xiaoming.wang | Wang Xiaoming; 王小明
İpek | Yıldırım | iyildirim | ipek yildirim; IPEK YILDIRIM
Ada | Lovelace | ada.lovelace | Ada; lovelace ada; Ada L
Zoë | Blum | zblum | zoe; blumzoe
Anna Maria | Keller | amkeller | Keller Anna-Maria; AnnaMaria Keller
Tobias | Keller | tkeller | tobi keller
Vincent | van der Berg | vvdberg | Berg, Vincent van der; vanderberg; Vincent v.d. Berg
María José | García Márquez | mjgarcia | Maria Jose Garcia; garcia marquez mj
Luca | García | lgarcia | luca garcia; Luca
Owen | Smith-Jones | osmithjones | Owen Smith Jones; smithjones owen
Suharto | . | suharto | SUHARTO
ليلى | حداد | layla.haddad | Layla Haddad; haddad
Łukasz | Wójcik | lwojcik | Lukasz Wojcik; wojcik
Øyvind | Sæther | osaether | Oyvind Saether; Oeyvind Saether
Thị Minh Anh | Nguyễn | mnguyen | Nguyen Thi Minh Anh; Minh Anh Nguyen
François | Lefèvre-Dubois | flefevre | Francois Lefevre; lefevre dubois francois
Renée | de la Cruz | rdelacruz | delacruz; Cruz Renee de la
Chloé | D’Angelo | cdangelo | Chloe D'Angelo; dangelo chloe
Jean-Luc | Moreau | jlmoreau | Jean Luc Moreau; jeanluc_moreau; JL Moreau
Priya | Raghunathan | praghunathan | priya; Priya R.
Mohammed | al-Farsi | malfarsi | Mohammed Al Farsi; alfarsi mohammed
Min-jun | Kim | mjkim | Kim Min-jun; minjun kim
Ann | Lee | alee | !Ann Lee
Lee Ann | Hart | lahart | !Lee Ann Hart; !LeeAnn Hart
"""

PLAIN = str.maketrans({"ß": "ss", "ø": "o", "Ø": "O", "æ": "ae", "ł": "l", "Ł": "L", "ı": "i"})

Answer: TypeAlias = dict[str, list[list[str]]]


@dataclass(frozen=True)
class Person:
    """A student as the roster has them, and what else they write as their name."""

    first: str
    last: str
    login: str
    also: tuple[str, ...]
    number: int

    @property
    def name(self) -> str:
        return f"{self.first} {self.last}"

    @property
    def sid(self) -> str:
        return str(4711003 + 17 * self.number)

    @property
    def email(self) -> str:
        return f"{self.login}@uni.example"

    @property
    def sortable(self) -> str:
        return self.first if self.last == "." else f"{self.last}, {self.first}"

    @property
    def canvas_id(self) -> str:
        return str(4700 + self.number)

    def spelled(self, rng: random.Random) -> str:
        """Return the name as the person writes it today."""
        first, last = self.first, self.last.strip(".")
        ways = [f"{first}_{last}", f"{first}.{last}".lower(), first + last]
        if last and self.also[0][0] != "!":
            ways += [f"{last} {first}", f"{last}, {first}", f"{last}_{first}".lower(), last + first]
        ways = ways if last else [first]
        way = rng.choice([self.name, *ways, *self.also, self.login, self.sid]).lstrip("!")
        plain = unicodedata.normalize("NFKD", way.translate(PLAIN))
        plain = "".join(c for c in plain if not unicodedata.combining(c))
        return plain if rng.random() < 0.3 and plain.isascii() else way


@dataclass
class Course:
    """The problems, and for each person in the roster the answers by number of the problem."""

    problems: list[dict[str, Any]]
    answers: dict[Person, dict[int, Answer]]
    pair: tuple[Person, Person]

    def present(self) -> list[Person]:
        return [person for person, answers in self.answers.items() if answers]


def table(rows: Iterable[Sequence[str]], delimiter: str = ",") -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return text.getvalue()


def worked(problem: dict[str, Any], rng: random.Random, mistake: str) -> Answer:
    """Return the steps that have points, to two decimals, with a mistake if it is not ""."""
    changed = problem | ({"scale": "1/d_k"} if mistake == "scaled by d_k" else {})
    trace = attncli.compute(attncli.Problem(**changed))
    steps = {name: trace[name].value.tolist() for name in problem["marking"]["points"]}
    if mistake == "slip":
        row = rng.choice(steps[rng.choice(list(steps))])
        row[rng.randrange(len(row))] += rng.choice([-1, -0.5, 0.3, 1])
    if mistake == "rows exchanged":
        steps["output"].reverse()
    return {s: [[f"{x + 1e-9:.2f}" for x in row] for row in rows] for s, rows in steps.items()}


def make_course(seed: int, students: int) -> Course:
    rng = random.Random(seed)

    def drawn(rows: int, columns: int) -> list[list[float]]:
        return [[rng.randint(-2, 4) / 2 for _ in range(columns)] for _ in range(rows)]

    lines = [[part.strip() for part in line.split("|")] for line in PEOPLE.split("\n") if line]
    people = [
        Person(first, last, login, tuple(also.split("; ")), number)
        for number, (first, last, login, also) in enumerate(lines[:students])
    ]
    problems: list[dict[str, Any]] = [
        {"title": "Self-attention", "X": drawn(3, 2), "W_v": drawn(2, 2)},
        {"title": "Cross-attention", "kind": "cross", "X": drawn(2, 3), "memory": drawn(4, 3)},
        {"title": "Causal attention", "X": drawn(4, 2), "mask": "causal"},
    ]
    for problem, first in zip(problems, ("scores", "scores", "scaled"), strict=True):
        problem["marking"] = {"decimals": 2, "points": {first: 2, "weights": 4, "output": 4}}
    mistakes = ("", "", "", "", "", "", "scaled by d_k", "slip", "rows exchanged")
    answers: dict[Person, dict[int, Answer]] = {}
    for person in people:
        given = [n for n in (1, 2, 3) if rng.random() > 0.1] or [2]
        answers[person] = {n: worked(problems[n - 1], rng, rng.choice(mistakes)) for n in given}
    one, other, *absent = rng.sample(people, 4)
    answers[other] = answers[one]  # a pair that hands in together
    answers |= {person: {} for person in absent}
    return Course(problems, answers, (one, other))


def write_course(course: Course, folder: Path) -> None:
    documents = map(json.dumps, course.problems)
    (folder / "course.yaml").write_text("\n---\n".join(documents) + "\n", encoding="utf-8")
    people = list(course.answers)
    rows = [["First name", "Last name", "ID number", "Email address"]]
    rows += [[p.first, p.last, p.sid, p.email] for p in people]
    (folder / "moodle.csv").write_text("\ufeff" + table(rows), encoding="utf-8")
    rows = [["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "HW 2 (20144)"]]
    rows += [["    Points Possible", "", "", "", "", "30.00"]]
    rows += [[p.sortable, p.canvas_id, p.sid, p.login, "NLP-01", ""] for p in people]
    (folder / "canvas.csv").write_text(table(rows), encoding="utf-8")
