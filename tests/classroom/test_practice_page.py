"""The practice page: its script judges as `check` does; in a real browser, its hints and keys.

What a browser runs is in `tests/data/scripts`.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from py_mini_racer import MiniRacer

import attncli
from tests.conftest import DATA, SAMPLES, Attn
from tests.support.practice_page import TYPED, Page, is_named, page_script, said_by_check
from tests.whole.test_page_in_browser import seen_in_frames

SCALED = SAMPLES / "integers_scaled.yaml"


@pytest.fixture(scope="module")
def script() -> MiniRacer:
    return page_script()


def test_a_mistake_in_a_step_that_is_not_asked_is_named(script: MiniRacer) -> None:
    problem = attncli.load(SCALED)
    unscaled = attncli.Problem(**{**problem.written, "scale": 1})
    texts = [f"{x:.3f}" for x in attncli.compute(unscaled)["weights"].value.ravel()]
    for ask, said in (["weights"], "In scaled: the scores were not scaled"), ([], ""):
        page = Page(script, attncli.compute(problem.marked({"ask": ask})))
        assert page.says("weights", texts)[1].startswith(said)


def test_a_whole_number_that_is_off_by_one_is_wrong(script: MiniRacer) -> None:
    """Where what it is made of is right and whole, nothing was rounded."""
    trace = attncli.compute(attncli.load(SCALED))
    values = {name: trace[name].value.ravel() for name in ("Q", "K", "scores")}
    values["scores"] = values["scores"] + [0, 0, 0, 0, -1, 0, 0, 0, 0]
    typed = {name: [f"{x:g}" for x in numbers] for name, numbers in values.items()}
    said, _ = Page(script, trace).judges(typed)["scores"]
    assert said == [*["correct"] * 4, "wrong", *["correct"] * 4]


def test_what_follows_from_large_scores_is_seen(script: MiniRacer) -> None:
    """Where e^325 is a float, but an interval of it may be none, the typed scores still count."""
    one = [[1, 0], [0, 1]]
    problem = attncli.Problem(X=[[18, 1], [18, 2]], W_q=one, W_k=one, W_v=one, scale=1)
    trace = attncli.compute(problem)
    typed = {"scores": ["325", "325", "326", "328"], "weights": ["0.50", "0.50", "0.12", "0.88"]}
    said, _ = Page(script, trace).judges(typed)["weights"]
    assert said == ["follows", "follows", "correct", "correct"]


CASES: dict[str, list[dict[str, Any]]] = defaultdict(list)
for line in TYPED.read_text(encoding="utf-8").splitlines():
    CASES[json.dumps(json.loads(line)["problem"])].append(json.loads(line))


@pytest.mark.parametrize("problem", CASES, ids=lambda problem: f"{len(CASES[problem])} cases")
def test_the_page_judges_what_is_typed_as_recorded_and_no_otherwise_than_check(
    problem: str, script: MiniRacer
) -> None:
    """Numbers in many forms, and steps with a mistake of which some cells have been typed."""
    given = attncli.Problem(**json.loads(problem))
    page, key = Page(script, attncli.compute(given)), attncli.AnswerKey(given)
    for case in CASES[problem]:
        name, texts = case["step"], case["texts"]
        assert page.says(name, texts) == (case["page"], case["mistake"]), case
        assert said_by_check(key, {name: texts})[name] == case["check"], case
        for by_page, by_check in zip(case["page"], case["check"], strict=True):
            assert by_page in ("unsure", by_check), case
        assert not case["mistake"] or is_named(key, {name: texts}, name, case["mistake"]), case


# In a browser

in_a_browser = pytest.mark.needs("chromium")


def seen(script: str, page: str, folder: Path, *widths: int) -> list[Any]:
    """Return what a script of `tests/data/scripts` sees of a page in frames of some widths."""
    names = ("type_into_fields", script)
    texts = [(DATA / "scripts" / f"{name}.js").read_text(encoding="utf-8") for name in names]
    return seen_in_frames([(page, width) for width in widths or (1000,)], "".join(texts), folder)


@in_a_browser
def test_hints_keys_and_the_saved_sheet(tmp_path: Path) -> None:
    problem = attncli.load(SCALED)
    page = attncli.worksheet(problem)
    found, phone = seen("use_hints_and_keys", page, tmp_path, 1200, 360)
    assert found["hidden"] is True
    formula, numbers, last = "scores[a1, a1] =qa1·ka1", "=1·0 +0·1 +2·1", "=2"
    assert found["hints"] == [
        [[], "Hint"],
        [[formula], "Show the step"],
        [[formula, numbers], "Show the number"],
        [[formula, numbers, last], "Show the number"],
    ]
    assert found["noMore"] is True
    trail = ("a1, a1", "a2, a1", "a2, a2", "a1, a2", "a1, a3", "a1, a2")
    assert found["trail"] == [f"scores[{cell}]" for cell in trail]
    assert found["said"][0] == "Wrong, and not what follows from your earlier numbers."
    assert found["said"][1] == "true"
    assert found["said"][2] == "Cannot be read: nine is not a number."
    assert found["signs"] == ["", "✗", "✗", ""]
    assert found["tally"] == "scores: 0 of 9 right, 2 wrong"
    assert found["file"] == "Ada _L._ _b_.yaml"
    assert found["size"] == len(found["sheet"].encode())
    assert found["requests"] == 0
    assert found["wide"] is phone["wide"] is True
    assert phone["large"] == [True, True]  # a phone zooms in on what is smaller
    path = tmp_path / "answers.yaml"
    path.write_text(found["sheet"])
    (sheet,) = attncli.load_answers(path)
    report = attncli.check(problem, sheet)
    assert report.name == 'Ada "L." <b>'
    assert report.steps["scores"].counts["missing"] == 7
    assert report.steps["scores"].counts["wrong"] == 2
    assert report.steps["Q"].status == "missing"


@in_a_browser
def test_a_mistake_is_named_when_a_hint_is_asked_for(tmp_path: Path) -> None:
    """It is named as in the report, from two wrong numbers on; and the page sends to no command."""
    page = attncli.worksheet(attncli.load(SCALED))
    (shown,) = seen("make_a_mistake", page, tmp_path)
    mistake, advice = "The scores were not scaled.", "Calculate scaled = scores / √d_k."
    formula = "scaled[a2, a1] =scoresa2,a13"
    assert mistake not in shown["alone"]
    hints = [["Hint"], ["Hint", mistake], ["Hint", advice], ["Show the step", formula]]
    assert shown["hints"] == hints
    assert shown["focus"] is True
    assert mistake not in shown["other"]  # as another number contradicts it
    assert "attn" not in shown["page"].partition('{"')[0]
    assert "not scaled" not in page  # the page's source does not show it


@in_a_browser
def test_what_was_typed_is_kept_until_all_is_started_again(tmp_path: Path) -> None:
    (shown,) = seen("open_three_times", attncli.worksheet(attncli.load(SCALED)), tmp_path)
    empty = ["", "", "", "missing", "0 of 75 right"]
    assert shown == [empty, ["Ada", "2", "9", "correct", "1 of 75 right, 1 wrong"], empty, empty]


@in_a_browser
def test_a_page_works_where_the_browser_keeps_nothing(tmp_path: Path) -> None:
    refuse = "<script>Object.defineProperty(window, 'localStorage', {get() { throw 1; }})</script>"
    page = attncli.worksheet(attncli.load(SCALED)).replace("<head>", f"<head>{refuse}", 1)
    assert refuse in page
    (shown,) = seen("type_where_nothing_is_kept", page, tmp_path)
    told = "This browser does not keep what you type: save it before you close the page."
    assert shown == ["correct", told]


SEVERAL = """student: Ada Lovelace
variant: 7
title: First
X: [[1, 0], [0, 1]]
score: dot
---
title: Second
X: [[1, 2], [2, 1]]
score: dot
"""


@in_a_browser
def test_several_problems_have_one_name_and_one_file_that_check_reads(
    attn: Attn, tmp_path: Path
) -> None:
    problems, answers = tmp_path / "hw.yaml", tmp_path / "answers.yaml"
    problems.write_text(SEVERAL)
    page = attn("worksheet", problems, "-f", "html").out
    ((names, buttons, name, sheet),) = seen("fill_in_several_problems", page, tmp_path)
    assert (names, buttons, name) == (1, 1, "Ada Lovelace")
    assert sheet.count("---\n") == 1
    assert 'student: "Ada Lovelace"\nvariant: "7"\nproblem: "1"\n' in sheet
    answers.write_text(sheet)
    result = attn("check", problems, answers, "-f", "csv")
    assert result.status == 1
    rows = [line.split(",")[:2] for line in result.out.splitlines()[1:]]
    assert rows == [["Ada Lovelace", "First"], ["Ada Lovelace", "Second"]]


@in_a_browser
def test_nothing_is_under_the_finger_on_a_phone(tmp_path: Path) -> None:
    """Half of the height of a phone is left where its keyboard is open."""
    page = attncli.worksheet(attncli.load(SAMPLES / "mask_causal.yaml"))
    for found in seen("press_fields_on_a_phone", page, tmp_path, 360, 400, 360):
        assert found["covered"] == found["moved"] == found["fit"] == found["brackets"] == []
        assert found["jump"] == found["wide"] == 0
        assert found["buttons"] == page.count('class="n"')
