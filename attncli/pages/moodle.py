"""Quizzes in Moodle XML: a problem is a Cloze question, with a field for each number.

A field is `{WEIGHT:TYPE:ANSWER~ANSWER…}`; the first answer that fits a response counts. The grammar
is the regular expressions of question/type/multianswer/questiontype.php in Moodle.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from html import escape
from math import gcd, inf, isfinite, lcm
from typing import Any
from xml.etree import ElementTree

import numpy as np

from attncli.checking.answers.step_names import mask_of, with_step_names
from attncli.checking.judging.agreement import ROUNDED, RoundingRule, float_error
from attncli.checking.shown_mistakes import ASKED_DECIMALS
from attncli.core.arithmetic.elements import Array
from attncli.core.calculation.trace import Trace, equal_steps
from attncli.core.errors import fail, located
from attncli.core.formulas.printers import tex
from attncli.core.formulas.text import text as as_text
from attncli.core.formulas.tree import Formula
from attncli.core.records import replace
from attncli.core.tape.step import Step
from attncli.core.text.strings import regex, visible
from attncli.pages.answer_table import right_numbers, wrong_numbers
from attncli.pages.markup import matrix_table, text
from attncli.printing.blocks import Panel
from attncli.printing.page import page_of
from attncli.printing.selection import Room, Selection
from attncli.printing.worksheet import room_of

FINER = 4
"""Number of decimals, beyond those asked for, of the middle of an interval. Chosen: Moodle makes a
field as wide as its longest answer, and the ends are off by at most 1/10,000 of a unit."""

MINUS_INFINITY = ("-inf*", "−inf*", "-∞", "−∞", "-oo")
"""How people write −∞; for Moodle, an asterisk is any further characters."""

FIELD_START = "\0"
"""The brace before a field, while other braces are escaped."""

LIKE_FIELD = regex(r"\{(?=[0-9]*:|#)")
"""A brace in a text that Moodle might take for the start of a field, or of a place for one."""

ENTITIES = {ord(sign): f"&#{ord(sign)};" for sign in "{}~\\"}
"""Entities for the signs that end feedback, and for the backslash, which escapes them."""

MAX_NAME = 200
"""Maximum length of a name, in characters. Chosen; Moodle's database holds 255."""

QUIZ_HINT = "Write decimal numbers, such as 0.33 for 1/3; in a blocked cell, write -inf."

TABLE_TAG = '<table class="table table-sm table-bordered w-auto" '
"""Start of a matrix, with classes of Bootstrap, which Moodle has."""

MATRIX_ROW = '<div style="display:flex;flex-wrap:wrap;gap:1em">{}</div>'
"""A row of matrices."""


def worksheets(traces: Iterable[Trace], selection: Selection) -> Iterator[bytes]:
    """Yield a quiz with a category for each problem, and a question for each of its variants."""
    categories: dict[str, list[Trace]] = {}
    for trace in traces:
        problem = trace.problem
        number = problem.problem or ("" if problem.title or problem.variant else problem.number)
        category = _name(f"Problem {number}" if number else "", problem.title) or "Attention"
        categories.setdefault(category, []).append(trace)
    quiz = ElementTree.Element("quiz")
    for category, variants in categories.items():
        path = f"$course$/top/ {category.replace('/', '//')} "  # a slash may be its first or last
        _add(_add(quiz, "question", type="category"), "category", path)
        for number, trace in enumerate(variants, 1):
            problem, question = trace.problem, _add(quiz, "question", type="cloze")
            which = problem.variant or str(number) * (len(variants) > 1)
            which = f"Variant {which.zfill(len(str(len(variants))))}" if which else ""
            _add(question, "name", _name(which, problem.student, category))
            _add(question, "questiontext", _body(trace, selection), format="html")
            _add(question, "defaultgrade").text = f"{problem.marking.possible or 1:g}"
    ElementTree.indent(quiz, "")
    yield ElementTree.tostring(quiz, "utf-8")


def _name(*words: str) -> str:
    """Return a name without what looks like markup, which Moodle would leave out."""
    name = visible(": ".join(filter(None, words))).replace("<", "‹").replace(">", "›")
    return name[:MAX_NAME].strip()


def _add(parent: Any, tag: str, content: str = "", **attributes: str) -> Any:
    element = ElementTree.SubElement(parent, tag, attributes)
    if content:
        ElementTree.SubElement(element, "text").text = content
    return element


def _body(trace: Trace, selection: Selection) -> str:
    decimals = trace.problem.marking.decimals
    marking = {"decimals": ASKED_DECIMALS if decimals is None else decimals}
    trace = replace(trace, problem=trace.problem.marked(marking))
    page = page_of(trace, replace(selection, full=True))
    fields = _Fields(trace, room_of(trace, selection))
    asked = {"", *fields.weights}  # and what is shown

    def shown(part: Panel | str) -> str:
        if isinstance(part, str):
            return text(part)
        cells: Array = np.zeros((0, 0), object)
        if part.answer and isinstance(part.part, Step):
            cells = part.on_page(part.part.from_paper(fields.of_step(part.part)))
        caption = ", ".join(filter(None, (_formula(part.name), text(part.words))))
        numbers: Array = np.arange(cells.size).reshape(cells.shape)
        name = as_text(part.name)
        table = matrix_table(part.matrix, caption, name, numbers.tolist(), cells.item)
        return table.replace("<table ", TABLE_TAG).replace('"scroll', '"overflow-auto')

    lines = [text(line) for line in (page.title, *page.notes.splitlines(), page.asked, QUIZ_HINT)]
    for entry in page.entries:
        formulas = [one for step in entry.steps for one in (step.notation, step.note) if one]
        lines += ["<hr/>", text(entry.group), *map(_formula, formulas), *map(shown, entry.inputs)]
        for figure in entry.figures:
            results = [one for one in figure.results if one.answer.partition("[")[0] in asked]
            signs = ["="] if results and figure.operands else []
            row = "".join(map(shown, (*figure.operands, *signs, *results)))
            lines += [text(figure.name), row and MATRIX_ROW.format(row)]
    body = "\n".join(f'<div dir="auto">{line}</div>' for line in lines if line)
    return LIKE_FIELD.sub("&#123;", body).replace(FIELD_START, "{")


def _formula(formula: Formula) -> str:
    return rf"\({escape(tex(formula))}\)"


class _Fields:
    """The fields of a question. Numbers with the wanted decimals are judged as by `attn check`."""

    def __init__(self, trace: Trace, room: Room) -> None:
        marking = trace.problem.marking
        with located(trace.problem.source):
            self.weights = _weights(trace, room)
        self.digits, self.few_digits = marking.decimals or 0, marking.few_digits
        self.short = f"Write {self.digits} decimals; keep more of them until the last step."
        self.half = ROUNDED * 10.0**-self.digits
        self.tolerance = max(marking.tolerance, self.half)
        self.trace = trace
        self.seen = [name for name in trace.steps if name not in room.blank or name in self.weights]
        self.wrong = wrong_numbers(trace, self.seen, self.digits)

    def of_step(self, step: Step) -> Array:
        """Return the fields of a step as on paper; "" for a cell without one."""
        rounded = RoundingRule(self.digits)
        accepted = [*self._accepted(step)]
        wrong = [(RoundingRule(count)(step.value), self.short) for count in range(self.digits)]
        for one in self.wrong:
            if one.step == step.name:
                wrong.append((rounded(one.numbers), f"{one.sentence} {one.advice}"))
        weights = self.weights[step.name]
        fields = np.full(weights.shape, "", object)
        for at in map(tuple, np.argwhere(weights).tolist()):
            tolerances: dict[float, float] = {}
            for numbers, more in accepted:
                x = round(float(numbers[at]), self.digits + FINER) + 0.0  # −0 is 0
                tolerances[x] = max(float(more[at]), tolerances.get(x, 0.0))
            said: dict[float, list[str]] = {}
            for numbers, sentence in wrong:
                x = float(numbers[at]) + 0.0
                if isfinite(x) and all(abs(x - y) > near for y, near in tolerances.items()):
                    said.setdefault(x, []).append(sentence)
            fields[at] = f"{FIELD_START}{weights[at]}:{escape(self._answers(tolerances, said))}}}"
        return fields

    def _accepted(self, step: Step) -> Iterator[tuple[Array, Array]]:
        """Yield right numbers as on paper, with how far from them others may be.

        For each calculation, the rounded numbers are first, then those that are off by one unit.
        """
        exactly = np.zeros(step.value.shape)
        for right in right_numbers(self.trace, step):
            for exact in right.exact if right.unless not in self.seen else ():
                rounded = RoundingRule(self.digits)(exact)
                yield step.on_paper(rounded), exactly
                for numbers, is_accepted in right.beside(exact, self.digits):
                    yield step.on_paper(np.where(is_accepted, numbers, rounded)), exactly
                yield step.on_paper(exact), self.tolerance + float_error(step.on_paper(exact))

    def _answers(self, right: Mapping[float, float], wrong: Mapping[float, list[str]]) -> str:
        """Return the type of a field and its answers, from numbers with tolerances or sentences."""
        kind, forms, exactly = "NUMERICAL", [f"{{:.15g}}:{self.half:.9g}"], ["{:.15g}:0"]
        answers = [f"={x:.15g}:{more:.9g}" for x, more in right.items() if isfinite(x)]
        if next(iter(right)) == -inf:
            kind, forms = "SHORTANSWER", ["{:.15g}", f"{{:.{self.digits}f}}"]
            exactly = forms
            answers = [f"={sign}" for sign in MINUS_INFINITY]
        few = round(100 * self.few_digits, 4)
        for x, sentences in wrong.items():
            others = [one for one in sentences if one != self.short]
            if self.short in sentences:  # for this number alone
                answers += _wrong_answers(x, exactly, few, sentences)
            if others:
                answers += _wrong_answers(x, forms, 0, others)
        return f"{kind}:{'~'.join(answers)}"


def _wrong_answers(
    number: float, forms: Sequence[str], percent: float, sentences: Sequence[str]
) -> Iterator[str]:
    feedback = text(" Or: ".join(dict.fromkeys(sentences))).translate(ENTITIES)
    for written in dict.fromkeys(form.format(number) for form in forms):
        yield f"%{percent:g}%{written}#{feedback}"


def _weights(trace: Trace, room: Room) -> dict[str, Array]:
    """Return the weights of numbers, which are whole; 0 for a number that does not count."""
    marking, meant = with_step_names(trace)
    same = equal_steps(trace)
    worth = {name: np.full(cells.shape, Fraction(0)) for name, cells in room.asked.items()}
    for word in marking.points or marking.ask or room.asked:
        step, at = meant[word] if word in meant else (trace[word], ())
        if (name := same.get(step.name, step.name)) in worth:
            cells = mask_of(step, [at]) & room.asked[name]
            points = Fraction(str(marking.points.get(word, cells.sum()))) / int(cells.sum())
            worth[name][cells] = worth[name][cells] + points if marking.points else points
    parts = [part for one in worth.values() for part in one.ravel() if part]
    if not parts:
        hint = "leave out --blank and --give, or change the marking"
        raise fail("no number that counts is open on this worksheet", "marking", hint=hint)
    whole = Fraction(lcm(*(x.denominator for x in parts)), gcd(*(x.numerator for x in parts)))
    return {name: (one * whole).astype(int) for name, one in worth.items() if one.any()}
