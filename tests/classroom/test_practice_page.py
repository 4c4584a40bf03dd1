"""The practice page: its script judges as `check` does; in a real browser, its hints and keys.

`python -m benchmarks.practice 2000` compares thousands of typed numbers and mistakes.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import attncli
from tests.conftest import SAMPLES, Attn
from tests.support.practice_page import MAY_SAY, TYPED, Page, is_named, page_script, said_by_check
from tests.whole.test_page_in_browser import seen_in_frames

TYPE = """
  function type(field, text) {
    field.focus();
    field.value = text;
    field.dispatchEvent(new w.Event("input", {bubbles: true}));
    field.dispatchEvent(new w.Event("change", {bubbles: true}));
  }
  function fields(step) {
    var every = Array.from(d.querySelectorAll("input.n"));
    return Array.from(every.find((field) => field.attnGroup.name === step).attnGroup.fields);
  }
  function status(field) { return field ? field.parentNode.dataset.status || "" : "missing"; }
"""


def test_a_mistake_in_a_step_that_is_not_asked_is_named() -> None:
    problem = attncli.load(SAMPLES / "integers_scaled.yaml")
    unscaled = attncli.Problem(**{**problem.written, "scale": 1})
    texts = [f"{x:.3f}" for x in attncli.compute(unscaled)["weights"].value.ravel()]
    for ask, said in (["weights"], "In scaled: the scores were not scaled"), ([], ""):
        page = Page(page_script(), attncli.compute(problem.marked({"ask": ask})))
        assert page.says("weights", texts)[1].startswith(said)


def test_the_page_judges_what_is_typed_as_recorded_and_no_otherwise_than_check() -> None:
    """Numbers in many forms, and steps with a mistake of which some cells have been typed."""
    script, known = page_script(), dict[str, tuple[Page, attncli.AnswerKey]]()
    for line in TYPED.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        written, name, texts = str(case["problem"]), case["step"], case["texts"]
        if written not in known:
            problem = attncli.Problem(**case["problem"])
            known[written] = (Page(script, attncli.compute(problem)), attncli.AnswerKey(problem))
        page, key = known[written]
        assert page.says(name, texts) == (case["page"], case["mistake"]), line
        assert said_by_check(key, name, texts) == case["check"], line
        for by_page, by_check in zip(case["page"], case["check"], strict=True):
            assert by_page in MAY_SAY.get(by_check, (by_check,)), line
        assert not case["mistake"] or is_named(key, name, texts, case["mistake"]), line


USE = """
  var found = {};
  var all = Array.from(d.querySelectorAll("input.n"));
  function box() { return d.querySelector("#why"); }
  function said() { return d.querySelector("#why .about span").textContent; }
  function hints() {
    return Array.from(d.querySelectorAll(".hints p"))
      .filter((p) => !p.hidden).map((p) => p.textContent);
  }
  function name() { return d.activeElement.getAttribute("aria-label"); }
  function press(key, more) {
    var init = Object.assign({key, bubbles: true, cancelable: true}, more);
    return d.activeElement.dispatchEvent(new w.KeyboardEvent("keydown", init));
  }
  found.hidden = box().hidden;
  var scores = fields("scores");
  scores[0].focus();
  found.hints = [[hints(), d.querySelector("#why button").textContent]];
  for (var i = 0; i < 3; i += 1) {
    press("h", {altKey: true, code: "KeyH"});
    found.hints.push([hints(), d.querySelector("#why button").textContent]);
  }
  found.noMore = d.querySelector("#why button").hidden;
  found.trail = [name()];
  ["ArrowDown", "ArrowRight", "ArrowUp", "Enter", "ArrowLeft"].forEach(function (key) {
    press(key);
    found.trail.push(name());
  });
  type(scores[1], "1,5");
  type(scores[2], "9");
  scores[2].focus();
  found.said = [said(), scores[2].getAttribute("aria-invalid")];
  type(scores[2], "nine");
  found.said.push(said());
  type(scores[2], "2");
  found.signs = scores.slice(0, 4).map((f) => f.parentNode.querySelector(".mark").textContent);
  found.tally = d.querySelector("#scores .tally").textContent;
  d.querySelector(".student").value = 'Ada "L." <b>';
  found.sheet = d.querySelector(".save").attnSheet();
  w.URL.createObjectURL = function (blob) { found.size = blob.size; return "blob:"; };
  w.HTMLAnchorElement.prototype.click = function () { found.file = this.download; };
  d.querySelector(".save").click();
  found.requests = w.performance.getEntriesByType("resource").length;
  found.wide = d.documentElement.scrollWidth <= d.documentElement.clientWidth;
  var rule = w.getComputedStyle(scores[0]);
  found.large = [parseFloat(rule.fontSize) >= 16, scores[0].getBoundingClientRect().height >= 28];
  w.localStorage.clear();
  return found;
"""

in_a_browser = pytest.mark.needs("chromium")


@in_a_browser
def test_hints_keys_and_the_saved_sheet(tmp_path: Path) -> None:
    problem = attncli.load(SAMPLES / "integers_scaled.yaml")
    page = attncli.worksheet(problem)
    found, phone = seen_in_frames([(page, 1200), (page, 360)], TYPE + USE, tmp_path)
    assert found["hidden"] is True
    formula, numbers, last = "scores[a1, a1] =qa1·ka1", "=1·0 +0·1 +2·1", "=2"
    assert found["hints"] == [
        [[], "Hint"],
        [[formula], "Show the step"],
        [[formula, numbers], "Show the number"],
        [[formula, numbers, last], "Show the number"],
    ]
    assert found["noMore"] is True
    assert found["trail"] == [
        *("scores[a1, a1]", "scores[a2, a1]", "scores[a2, a2]", "scores[a1, a2]"),
        *("scores[a1, a3]", "scores[a1, a2]"),
    ]
    assert found["said"][0].startswith("Not the right number in the digits that you typed.")
    assert found["said"][1] == "true"
    assert found["said"][2] == "This cannot be read: nine is not a number."
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
    page = attncli.worksheet(attncli.load(SAMPLES / "integers_scaled.yaml"))
    script = """
      var scaled = fields("scaled"), more = d.querySelector("#why button");
      function hints() {
        var shown = Array.from(d.querySelectorAll(".hints p")).filter((p) => !p.hidden);
        return [more.textContent].concat(shown.map((p) => p.textContent));
      }
      var found = {page: d.body.textContent, hints: []};
      type(scaled[1], "4");
      more.click();
      found.alone = hints();
      type(scaled[3], "4");
      found.hints.push(hints());
      for (var i = 0; i < 2; i += 1) { more.click(); found.hints.push(hints()); }
      found.focus = d.activeElement === scaled[3];
      type(scaled[4], "5");
      scaled[3].focus();
      found.other = hints();
      w.localStorage.clear();
      return found;
    """
    (shown,) = seen_in_frames([(page, 1000)], TYPE + script, tmp_path)
    mistake = "The scores were not scaled. Calculate scaled = scores / √d_k."
    formula = "scaled[a2, a1] =scoresa2,a13"
    assert mistake not in shown["alone"]
    assert shown["hints"] == [["Hint"], ["Hint", mistake], ["Show the step", mistake, formula]]
    assert shown["focus"] is True
    assert mistake not in shown["other"]  # as another number contradicts it
    assert "attn" not in shown["page"].partition('{"')[0]
    assert "not scaled" not in page  # the page's source does not show it


@in_a_browser
def test_what_was_typed_is_kept_until_all_is_started_again(tmp_path: Path) -> None:
    """Three frames open one page after the other: to type, to go on, and to start again."""
    page = attncli.worksheet(attncli.load(SAMPLES / "integers_scaled.yaml"))
    path = tmp_path / "page0.html"
    script = """
      var again = d.createElement("iframe"), scores = fields("scores");
      function state() {
        return [d.querySelector(".student").value, scores[0].value, scores[1].value,
                status(scores[0]), d.querySelector(".total").textContent];
      }
      var key = "step of the test", step = w.localStorage.getItem(key);
      if (!step) {
        w.localStorage.setItem(key, "1");
        var before = state();
        d.querySelector(".student").value = "Ada";
        type(scores[0], "2");
        type(scores[1], "9");
        w.localStorage.setItem(key, JSON.stringify([before]));
        w.location.reload();
        return null;
      }
      step = JSON.parse(step).concat([state()]);
      if (step.length === 2) {
        w.confirm = () => true;
        d.querySelector(".again").click();
        step.push(state());
        w.localStorage.setItem(key, JSON.stringify(step));
        w.location.reload();
        return null;
      }
      w.localStorage.clear();
      return step;
    """
    (shown,) = seen_in_frames([(page, 1000)], TYPE + script, tmp_path)
    assert path.exists()
    empty = ["", "", "", "missing", "0 of 75 right"]
    assert shown == [empty, ["Ada", "2", "9", "correct", "1 of 75 right, 1 wrong"], empty, empty]


@in_a_browser
def test_a_page_works_where_the_browser_keeps_nothing(tmp_path: Path) -> None:
    page = attncli.worksheet(attncli.load(SAMPLES / "integers_scaled.yaml"))
    refuse = "<script>Object.defineProperty(window, 'localStorage', {get() { throw 1; }})</script>"
    script = """
      var scores = fields("scores");
      type(scores[0], "2");
      return [status(scores[0]), d.querySelector(".kept").textContent];
    """
    page = page.replace("<head>", f"<head>{refuse}", 1)
    assert refuse in page
    (shown,) = seen_in_frames([(page, 1000)], TYPE + script, tmp_path)
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
    problems = tmp_path / "hw.yaml"
    problems.write_text(SEVERAL)
    page = attn("worksheet", problems, "-f", "html").out
    script = """
      var all = Array.from(d.querySelectorAll("input.n"));
      var scores = all.filter((field) => field.attnGroup.name === "scores");
      ["1", "0", "0", "1", "5", "4", "4", "4"].forEach((text, i) => type(scores[i], text));
      w.localStorage.clear();
      return [d.querySelectorAll(".student").length, d.querySelectorAll(".save").length,
              d.querySelector(".student").value, d.querySelector(".save").attnSheet()];
    """
    ((names, buttons, name, sheet),) = seen_in_frames([(page, 1000)], TYPE + script, tmp_path)
    assert (names, buttons, name) == (1, 1, "Ada Lovelace")
    assert sheet.count("---\n") == 1
    assert 'student: "Ada Lovelace"\nvariant: "7"\nproblem: "1"\n' in sheet
    answers = tmp_path / "answers.yaml"
    answers.write_text(sheet)
    result = attn("check", problems, answers, "-f", "csv")
    assert result.status == 1
    assert [line.split(",")[:2] for line in result.out.splitlines()[1:]] == [
        ["Ada Lovelace", "First"],
        ["Ada Lovelace", "Second"],
    ]


COVERED = """
  function isFree(part) {
    var box = part.getBoundingClientRect();
    var at = d.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
    return at === part || part.contains(at);
  }
  var found = {covered: [], moved: [], buttons: 0, brackets: [], fit: []};
  var all = Array.from(d.querySelectorAll("input.n")), last = all[all.length - 1];
  all[0].focus(); // what is said of it grows as another field is pressed
  all[0].value = "77";
  last.scrollIntoView({block: "center"});
  var pressed = last.getBoundingClientRect().top;
  last.dispatchEvent(new w.MouseEvent("mousedown", {bubbles: true}));
  all[0].dispatchEvent(new w.Event("change", {bubbles: true}));
  last.focus({preventScroll: true});
  found.jump = Math.round(last.getBoundingClientRect().top - pressed);
  all.forEach(function (field) {
    field.scrollIntoView({block: "center"});
    var top = field.getBoundingClientRect().top;
    field.focus({preventScroll: true});
    if (Math.abs(field.getBoundingClientRect().top - top) > 1) found.moved.push(field.ariaLabel);
    if (!isFree(field)) found.covered.push(field.ariaLabel);
    var button = d.querySelector("#why button"), before = button.getBoundingClientRect().top;
    button.click();
    if (Math.abs(button.getBoundingClientRect().top - before) > 1) found.moved.push("button");
    button.scrollIntoView({block: "nearest"});
    found.buttons += isFree(button);
    field.value = "-inf";
    if (field.scrollWidth > field.clientWidth) found.fit.push(field.ariaLabel);
    field.value = "";
  });
  d.querySelectorAll(".scroll").forEach(function (box) {
    var isCut = box.querySelector("input") && box.scrollWidth > box.clientWidth;
    if (isCut) found.brackets.push(box.textContent);
  });
  found.wide = d.documentElement.scrollWidth - d.documentElement.clientWidth;
  w.localStorage.clear();
  return found;
"""


@in_a_browser
def test_nothing_is_under_the_finger_on_a_phone(tmp_path: Path) -> None:
    """Half of the height of a phone is left where its keyboard is open."""
    problem = attncli.load(SAMPLES / "mask_causal.yaml")
    page = attncli.worksheet(problem)
    sizes = [(360, 320), (400, 400), (360, 640)]
    heights = f"frame.style.height = {[h for _, h in sizes]}[frames.indexOf(frame)] + 'px';"
    pages = [(page, width) for width, _ in sizes]
    for size, found in zip(
        sizes, seen_in_frames(pages, TYPE + heights + COVERED, tmp_path), strict=True
    ):
        assert found["covered"] == [], size
        assert found["moved"] == [], size
        assert found["jump"] == 0, size
        assert found["buttons"] == page.count('class="n"')
        assert found["fit"] == []
        assert found["brackets"] == []
        assert found["wide"] == 0
