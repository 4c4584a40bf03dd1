"""A reader of Moodle XML with Cloze questions, from the documented grammar and the importer.

It shares nothing with the writer. What it follows, in Moodle 4 and 5:

- https://docs.moodle.org/en/Embedded_Answers_(Cloze)_question_type: `{WEIGHT:TYPE:ANSWERS}`, with
  answers separated by `~`, a right one after `=`, a share after `%50%`, feedback after `#`, and a
  tolerance after the colon of a NUMERICAL answer.
- question/type/multianswer/questiontype.php, `qtype_multianswer_extract_question`: a backslash
  before `}`, `~` or `#` keeps it; so does `&` in an answer, before the `#` of an entity; feedback
  and answers of words are HTML whose entities are decoded once more. `{#1}` is the place of field 1
  in the text that is stored. The worth of a question is the sum of its weights.
- question/type/numerical: the first answer within its tolerance counts
  (`qtype_numerical_question::get_matching_answer`), with 10^-14 more for the errors of floats; a
  response is read by `qtype_numerical_answer_processor::apply_units`: blanks are dropped, a comma
  is a point, and what follows the number is a unit.
- question/type/shortanswer: `*` is any text, capitals do not matter.
- question/format.php, `split_category_path`: `/` separates categories, `//` is a slash in a name;
  names lose what looks like a tag (`clean_param` with PARAM_TEXT).
"""

from __future__ import annotations

import html
import re
from typing import NamedTuple
from xml.etree import ElementTree

START = re.compile(r"\{(\d*):([A-Z_]+):")
NUMERICAL, WORDS = ("NUMERICAL", "NM"), ("SHORTANSWER", "SA", "MW")
NUMBER = r"-?(?:\d+[.,]?\d*|[.,]\d+)(?:[eE][-+]?\d+)?"
RESPONSE = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?")
TAG = re.compile(r"<[a-zA-Z/!?][^>]*>?")


class Answer(NamedTuple):
    """One alternative of a field; the tolerance of words is None."""

    share: float
    answer: str
    tolerance: float | None
    feedback: str

    def fits(self, response: str) -> bool:
        if self.tolerance is None:
            words = ".*".join(map(re.escape, self.answer.split("*")))
            return re.fullmatch(words, response.strip(), re.IGNORECASE) is not None
        value = number_of(response)
        if value is None:
            return False
        middle = float(self.answer.replace(",", "."))
        more = abs(self.tolerance) + 1e-14 * max(1.0, abs(middle))
        return middle - more <= value <= middle + more


class Field(NamedTuple):
    """One field of a question."""

    weight: int
    answers: list[Answer]

    def judge(self, response: str) -> tuple[float, str]:
        """Return the share of its weight that a response earns, and the feedback, as HTML."""
        fitting = (one for one in self.answers if one.fits(response))
        first = next(fitting, None)
        return (first.share, first.feedback) if first else (0.0, "")

    @property
    def is_of_words(self) -> bool:
        return self.answers[0].tolerance is None


class Question(NamedTuple):
    """One question: the text is HTML with `{#1}` in the place of the first field."""

    category: tuple[str, ...]
    name: str
    text: str
    fields: list[Field]
    grade: str

    @property
    def worth(self) -> int:
        return sum(field.weight for field in self.fields)

    @property
    def tables(self) -> list[Table]:
        """The tables with fields, in the order of the page."""
        page = re.sub(r"\{#(\d+)\}", r'<input n="\1"/>', self.text)
        found = []
        for table in ElementTree.fromstring(f"<p>{page}</p>").iter("table"):
            rows = [
                [cell.find("input") for cell in row.iter("td")]
                for row in table.iterfind("tbody/tr")
            ]
            numbers = [[0 if x is None else int(x.get("n", "")) for x in row] for row in rows]
            if any(map(any, numbers)):
                heads = ["".join(head.itertext()) for head in table.iter("th")]
                found.append(Table(table.get("aria-label", ""), heads, numbers))
        return found

    @property
    def words(self) -> str:
        """What a browser shows of the text."""
        return "".join(ElementTree.fromstring(f"<p>{self.text}</p>").itertext())


class Table(NamedTuple):
    """One matrix with fields: its name, its labels, and the numbers of the fields; 0 for none."""

    name: str
    heads: list[str]
    numbers: list[list[int]]


def number_of(response: str) -> float | None:
    """Return the number that Moodle reads in a response."""
    text = re.sub(r"(?:e|E|[x*×]10(?:\^|\*\*))([+-]?\d+)", r"e\1", response.replace(" ", ""))
    text = text.replace(",", "" if "." in text or text.count(",") > 1 else ".")
    found = RESPONSE.match(text)
    return float(found[0]) if found else None


def read_quiz(data: bytes) -> list[Question]:
    """Return the questions of a file, as Moodle imports them."""
    category: tuple[str, ...] = ()
    questions = []
    for element in ElementTree.fromstring(data).findall("question"):
        if element.get("type") == "category":
            path = re.split(r"(?<!/)/(?!/)", element.findtext("category/text", "").strip("\n"))
            category = tuple(_plain(part.strip().replace("//", "/")) for part in path)
            continue
        assert element.get("type") == "cloze"
        content = element.find("questiontext")
        assert content is not None
        assert content.get("format") == "html"
        text, fields = read_cloze(content.findtext("text", "").strip())
        name = _plain(element.findtext("name/text", "").strip())
        assert 0 < len(name) <= 255
        grade = element.findtext("defaultgrade", "")
        questions.append(Question(category, name, text, fields, grade))
    return questions


def _plain(name: str) -> str:
    return TAG.sub("", name)


def read_cloze(text: str) -> tuple[str, list[Field]]:
    """Return a text with the places of its fields, and the fields."""
    assert not re.search(r"\{#\d+\}", text), "a place that no field has made"
    fields: list[Field] = []
    found = START.search(text)
    while found:
        is_number = found[2] in NUMERICAL
        assert is_number or found[2] in WORDS, found[0]
        answers, end = _answers(text, found.end(), is_number)
        assert answers, "a field that Moodle does not read"
        assert max(answer.share for answer in answers) == 1, "no answer earns everything"
        fields.append(Field(int(found[1] or 1), answers))
        text = f"{text[: found.start()]}{{#{len(fields)}}}{text[end:]}"
        found = START.search(text)
    return text, fields


def _answers(text: str, at: int, is_number: bool) -> tuple[list[Answer], int]:
    answers = []
    while True:
        share, feedback = 0.0, ""
        if text[at] == "=":
            share, at = 1.0, at + 1
        elif percent := re.compile(r"%(-?\d+(?:[.,]\d*)?)%").match(text, at):
            share, at = float(percent[1].replace(",", ".")) / 100, percent.end()
        end = _end(text, at, "~#}", ("\\", "&", "&amp;"))
        answer, at = text[at:end], end
        if text[at] == "#":
            end = _end(text, at, "~}", ("\\",))
            feedback, at = _decoded(text[at + 1 : end]), end
        parts = re.fullmatch(f"({NUMBER})(?::({NUMBER}))?", answer) if is_number else None
        assert parts or not is_number, f"{answer} is no number"
        tolerance = float(parts[2] or 0) if parts else None
        answers.append(Answer(share, parts[1] if parts else _decoded(answer), tolerance, feedback))
        at += 1
        if text[at - 1] == "}":
            return answers, at


def _end(text: str, at: int, signs: str, keeping: tuple[str, ...]) -> int:
    """Return the place of the next of some signs that nothing before it keeps."""
    at += 1
    while text[at] not in signs or text[:at].endswith(keeping):
        at += 1
    return at


def _decoded(text: str) -> str:
    return html.unescape(text).replace("\\}", "}").replace("\\#", "#")
