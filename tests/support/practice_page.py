"""What is typed on the practice page, judged by its scripts and by `check` from the same cells."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from py_mini_racer import MiniRacer

import attncli
import attncli.checking.judging.judged_steps
import attncli.pages.practice
import attncli.printing.selection
import attncli.printing.worksheet
from attncli.core.numbers.last_place import number_of
from attncli.core.numbers.parser import NumberError
from attncli.core.numbers.written import BLANK_CELLS
from attncli.core.records import replace
from tests.conftest import DATA

TYPED = DATA / "recorded" / "typed_on_the_page.jsonl"
"""Lines of JSON: what is typed in the fields of a step, and what the page and `check` say of it."""

MAY_SAY = {
    "follows": ("unsure",),
    "rounded_early": ("unsure", "last_digit", "short"),
    "wrong": ("wrong", "unsure"),
    "last_digit": ("last_digit", "unsure"),
    "correct": ("correct", "unsure"),
}
"""What `check` says of a number, and what the page may say; of others it must say the same."""

WORKSHEET = attncli.printing.selection.WorksheetSelection()


def report_on(
    key: attncli.AnswerKey, name: str, texts: list[str]
) -> tuple[attncli.Report, list[bool]]:
    """Return the report on a step alone, and which texts cannot be read; these are left out."""
    step = key.trace[name]
    kept, unread = [], []
    for text in texts:
        try:
            if text.strip() not in BLANK_CELLS:
                number_of(text.strip())
        except NumberError:
            unread.append(True)
        else:
            unread.append(False)
        kept.append("~" if unread[-1] else text)
    cells = np.array(kept, object).reshape(step.value.shape).tolist()
    return key.check({name: cells}), unread


def said_by_check(key: attncli.AnswerKey, name: str, texts: list[str]) -> list[str]:
    """Return the status of each cell of a sheet that holds one step, what cannot be read apart."""
    report, unread = report_on(key, name, texts)
    judged = report.steps[name]
    if judged.status == "missing":  # the scores that are the scaled scores
        judged = next((one for one in report.steps.values() if one.status != "missing"), judged)
    names = attncli.checking.judging.judged_steps.STATUSES
    found = [names[code] for code in judged.step.on_paper(judged.codes).ravel().tolist()]
    short = getattr(judged, "short", None)
    if short is not None:
        marks = judged.step.on_paper(short).ravel().tolist()
        found = ["short" if mark else found[i] for i, mark in enumerate(marks)]
    return ["unreadable" if bad else one for one, bad in zip(found, unread, strict=True)]


def page_script() -> MiniRacer:
    """Return an interpreter that has read the scripts by which the page judges."""
    web = Path(attncli.pages.practice.__file__).parent / "web"
    interpreter = MiniRacer()
    for path in (web / "numbers.js", web / "judging.js", DATA / "scripts" / "judge_sheet.js"):
        interpreter.eval(path.read_text(encoding="utf-8"))
    return interpreter


class Page:
    """The practice page of a problem with every step open, judged by its scripts."""

    def __init__(self, script: MiniRacer, trace: attncli.Trace) -> None:
        self.script, self.trace = script, trace
        room = attncli.printing.worksheet.room_of(trace, WORKSHEET)
        self.data = attncli.pages.practice.table_of(trace, room)

    def says(self, name: str, texts: list[str]) -> tuple[list[str], str]:
        """Return the status of each cell of a step, and the mistake that the page names, or ""."""
        sheet = {
            "step": self.data["steps"][name],
            "texts": texts,
            "rules": attncli.pages.practice.EMPTY_CELLS,
            "decimals": self.data["decimals"],
        }
        codes, mistake = json.loads(str(self.script.eval(f"judgeSheet({json.dumps(sheet)})")))
        return codes, mistake


def is_named(key: attncli.AnswerKey, name: str, texts: list[str], says: str) -> bool:
    """Return True if `check` names a mistake for the same cells, first or as another one.

    It says "perhaps" where the numbers are few; the page says it of no mistake.
    """
    finding = report_on(key, name, texts)[0].findings.get(name)
    if finding is None:
        return False
    every = [replace(one, certain=True) for one in (finding, *finding.also)]
    return says in [f"{one.sentence(solution=False)} {one.advice}" for one in every]
