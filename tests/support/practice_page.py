"""What is typed on the practice page, judged by its scripts and by `check` from the same cells."""

from __future__ import annotations

import json

import numpy as np
from py_mini_racer import MiniRacer

import attncli
import attncli.checking.judging.judged_steps
import attncli.printing.selection
import attncli.printing.worksheet
from attncli.core.records import replace
from attncli.pages import practice
from attncli.pages.live_tape import Programs
from attncli.pages.markup import FOLDER, PRACTICE_SCRIPT
from tests.conftest import DATA

Typed = dict[str, list[str]]  # the texts of the fields of some steps

TYPED = DATA / "recorded" / "typed_on_the_page.jsonl"
"""Lines of JSON: what is typed in the fields of a step, and what the page and `check` say of it."""

WORKSHEET = attncli.printing.selection.WorksheetSelection()


def report_on(key: attncli.AnswerKey, typed: Typed) -> attncli.Report:
    sheets = {name: [text.strip() or "~" for text in texts] for name, texts in typed.items()}
    shaped = [np.reshape(x, key.trace[name].value.shape).tolist() for name, x in sheets.items()]
    return key.check(dict(zip(sheets, shaped, strict=True)))


def said_by_check(key: attncli.AnswerKey, typed: Typed) -> dict[str, list[str]]:
    """Return the status of each cell of a sheet, what cannot be read apart."""
    report = report_on(key, typed)
    names = attncli.checking.judging.judged_steps.STATUSES
    said = {}
    for name in typed:
        judged = report.steps[name]
        for kind in ("scaled", "masked"):  # the scores that are the scaled scores
            if judged.status == "missing" and (other := name.replace("scores", kind)) in key.trace:
                judged = report.steps[other]
        found = [names[code] for code in judged.on_paper.ravel().tolist()]
        unreadable = getattr(getattr(judged, "written", None), "unreadable", None)
        for word, array in (("short", getattr(judged, "short", None)), ("unreadable", unreadable)):
            if array is not None:
                pairs = zip(found, judged.step.on_paper(array).ravel().tolist(), strict=True)
                found = [word if is_marked else one for one, is_marked in pairs]
        said[name] = found
    return said


def page_script() -> MiniRacer:
    """Return an interpreter that has read the scripts by which the page judges."""
    scripts = [FOLDER / name for name in PRACTICE_SCRIPT.files[1:-1]]  # between boot and the fields
    interpreter = MiniRacer()
    for path in (*scripts, DATA / "scripts" / "judge_sheet.js"):
        interpreter.eval(path.read_text(encoding="utf-8"))
    return interpreter


class Page:
    """The practice page of a problem with every step open, judged by its scripts."""

    def __init__(self, script: MiniRacer, trace: attncli.Trace) -> None:
        self.script, self.trace = script, trace
        room, programs = attncli.printing.worksheet.room_of(trace, WORKSHEET), Programs()
        self.asked = [*room.asked]
        table = practice.Tapes(trace, programs).table(room)
        data = {"problem": table, "programs": programs.all}
        page = json.dumps({**data, "rules": practice.RULES})
        self.place = int(str(script.eval(f"pages.push({page}) - 1")))

    def judges(self, typed: Typed) -> dict[str, tuple[list[str], str]]:
        """Return the status of each cell of steps, and the mistake that the page names, or ""."""
        said = self.script.eval(f"judgeSheet({self.place}, {json.dumps(typed)})")
        return {name: (codes, one) for name, (codes, one) in json.loads(str(said)).items()}

    def says(self, name: str, texts: list[str]) -> tuple[list[str], str]:
        return self.judges({name: texts})[name]


def is_named(key: attncli.AnswerKey, typed: Typed, name: str, says: str) -> bool:
    """Return True if `check` names a mistake for the same cells, first or as another one.

    It says "perhaps" where the numbers are few; the page says it of no mistake.
    """
    finding = report_on(key, typed).findings.get(name)
    if finding is None or " was calculated from " in says:  # a step left out has two names
        return " was calculated from " in says
    every = [replace(one, certain=True) for one in (finding, *finding.also)]
    return says in [f"{one.sentence(solution=False)} {one.advice}" for one in every]
