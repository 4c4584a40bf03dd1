"""The page in a real browser: keyboard, pointer, narrow windows, and no request to anywhere."""

from __future__ import annotations

import json
import re
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest

import attncli
from docs.pictures import BROWSER, FLAGS
from tests.conftest import SAMPLES, Attn

pytestmark = pytest.mark.needs("chromium")

FRAME = """
<iframe src="{file}" style="border:0;width:{width}px;height:800px" onload="look(this)"></iframe>"""

PAGE = """<!DOCTYPE html><meta charset="utf-8"><body style="margin:0">
<pre id="found"></pre>
<script>
var found = [];
function look(frame) {{
  var w = frame.contentWindow, d = w.document;
  if (/attnBoot/.test(d.body.innerHTML) && !d.querySelector(".controls")) {{
    setTimeout(look, 20, frame);  // a live page unpacks itself first
    return;
  }}
  function key(name) {{
    d.activeElement.dispatchEvent(new w.KeyboardEvent("keydown", {{key: name, bubbles: true}}));
  }}
  function said() {{ return Array.from(d.querySelectorAll("#why div p"), (p) => p.textContent); }}
  function leads() {{ return Array.from(d.querySelectorAll(".sources button")); }}
  function all(kind) {{ return Array.from(d.querySelectorAll(kind), (e) => e.textContent); }}
  var frames = Array.from(document.querySelectorAll("iframe"));
  found[frames.indexOf(frame)] = (function () {{ {script} }})();
  document.getElementById("found").textContent = JSON.stringify(found);
}}
</script>{frames}</body>"""


def seen_in_frames(pages: list[tuple[str, int]], script: str, folder: Path) -> list[Any]:
    """Return what a script sees of each page in a frame of some width; one browser shows all."""
    frames = []
    for number, (page, width) in enumerate(pages):
        (folder / f"page{number}.html").write_text(page)
        frames.append(FRAME.format(file=f"page{number}.html", width=width))
    start = folder / "frames.html"
    start.write_text(PAGE.format(script=script, frames="".join(frames)))
    assert BROWSER is not None  # or the test is skipped
    done = subprocess.run(
        [
            BROWSER,
            *FLAGS,
            "--virtual-time-budget=2000",
            f"--user-data-dir={folder / 'profile'}",
            "--dump-dom",
            start.as_uri(),
        ],
        capture_output=True,
        check=True,
        timeout=120,
    )
    (text,) = re.findall(r'<pre id="found">(.*?)</pre>', done.stdout.decode(), re.DOTALL)
    record = json.loads(unescape(text))
    assert isinstance(record, list)
    assert len(record) == len(pages)
    return record


def seen(page: str, script: str, folder: Path, width: int = 1000) -> Any:
    """Return what a script sees of a page in a frame of some width."""
    (shown,) = seen_in_frames([(page, width)], script, folder)
    return shown


def test_focus_tells_how_a_number_was_made_and_arrows_move_it(attn: Attn, tmp_path: Path) -> None:
    page = attn("compute", SAMPLES / "i_am_good.yaml", "-f", "html").out
    script = """
      var table = d.querySelector("#scores .part:last-child table");
      var stops = table.querySelectorAll("td[tabindex='0']").length;
      table.querySelector("td[data-c]").focus();
      var first = said(), lit = all("#scores td.from");
      key("ArrowDown");
      var below = said(), heads = all("th.here");
      key("ArrowRight"); key("ArrowRight"); key("ArrowRight");
      var last = d.activeElement.textContent;
      var again = table.querySelectorAll("td[tabindex='0']").length;
      key("Home");
      var home = d.activeElement.textContent;
      key("Escape");
      return {stops, first, lit, below, heads, last, again, home,
              hidden: d.getElementById("why").hidden, role: table.getAttribute("role")};
    """
    shown = seen(page, script, tmp_path)
    assert shown["stops"] == shown["again"] == 1
    assert shown["role"] == "grid"
    assert shown["first"] == ["scores[I, I] =qI·kI", "=1·1 +3·3 +2·2", "=14"]
    assert shown["lit"] == ["1", "3", "2", "1", "3", "2"]
    assert shown["below"] == ["scores[am, I] =qam·kI", "=1·1 +1·3 +3·2", "=10"]
    assert shown["heads"] == ["I", "am"]  # its column, its row
    assert shown["last"] == "6"
    assert shown["home"] == "10"
    assert shown["hidden"] is True


def test_pointing_tells_it_too_and_a_tap_beside_ends_it(attn: Attn, tmp_path: Path) -> None:
    page = attn("compute", SAMPLES / "i_am_good.yaml", "-f", "html").out
    script = """
      var cell = d.querySelector("#weights td[data-c]");
      var over = new w.PointerEvent("pointerover", {bubbles: true, pointerType: "mouse"});
      cell.dispatchEvent(over);
      var pointed = said();
      d.querySelector("h1").dispatchEvent(over);
      var left = d.getElementById("why").hidden;
      cell.focus();
      d.body.click();  // a finger that opened the box is lifted over it
      var opened = d.getElementById("why").hidden;
      d.querySelector("h1").dispatchEvent(new w.MouseEvent("mousedown", {bubbles: true}));
      return {pointed, left, opened, tapped: d.getElementById("why").hidden};
    """
    shown = seen(page, script, tmp_path)
    assert shown["pointed"][0] == "weights[I, I] =expI,IsumI"
    assert shown["pointed"][-1] == "=0.9756"
    assert shown["left"] is True
    assert shown["opened"] is False
    assert shown["tapped"] is True


def test_no_sideways_scrolling_on_a_phone(attn: Attn, tmp_path: Path) -> None:
    """Tables that are too wide scroll in a box of their own, 400 pixels wide and even 320."""
    names = ["i_am_good.yaml", "co_attention.yaml", "heads_cut.yaml", "recurrent.yaml"]
    cases = [(name, width) for name in names for width in (400, 320)]
    pages = [(attn("compute", SAMPLES / name, "-f", "html").out, width) for name, width in cases]
    script = """
      var e = d.documentElement;
      var boxes = Array.from(d.querySelectorAll(".scroll"));
      boxes.forEach((box) => { box.scrollLeft = 400; });
      var stays = boxes.filter((box) => box.scrollLeft).every((box) => {
        var label = box.querySelector("tbody th:has(+ td)"),
            side = (e) => e.getBoundingClientRect().left;
        return !label || (side(label) === side(box) &&
                          w.getComputedStyle(label).borderRightStyle === "solid");
      });
      return [e.scrollWidth <= e.clientWidth, e.clientWidth, boxes.length, stays];
    """
    found = seen_in_frames(pages, script, tmp_path)
    for (name, width), (fits, shown, tables, bracket_stays) in zip(cases, found, strict=True):
        assert shown == width, name
        assert tables > 5, name
        assert fits, (name, width)
        assert bracket_stays, (name, width)


def test_long_words_and_formulas_do_not_widen_a_narrow_window(attn: Attn, tmp_path: Path) -> None:
    long = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft" * 2
    problem = {
        "kind": "co_attention",
        "enhance": True,
        "title": long,
        "notes": long,
        "tokens": [long, "b"],
        "memory_tokens": ["c", long],
        "X": [[1, 2], [3, 4]],
        "memory": [[1, 2], [3, 400000.125]],
    }
    path = tmp_path / "problem.json"
    path.write_text(json.dumps(problem))
    page = attn("compute", path, "-f", "html").out
    script = """
      d.querySelector("#aligned_x .part:last-child td[data-c]").focus();
      var e = d.documentElement;
      return [e.scrollWidth, e.clientWidth, d.getElementById("why").scrollWidth, said().length];
    """
    page_width, window_width, box_width, lines = seen(page, script, tmp_path, 400)
    assert page_width == window_width == 400
    assert box_width <= 400
    assert lines >= 3


def test_text_of_labels_stays_text(attn: Attn, tmp_path: Path) -> None:
    problem = {
        "title": "<script>document.title = 'obeyed'</script>",
        "tokens": ["<img src=x onerror=alert(1)>", "</script><b>b</b>"],
        "X": [[1, 2], [3, 4]],
        "score": "dot",
    }
    path = tmp_path / "problem.json"
    path.write_text(json.dumps(problem))
    page = attn("compute", path, "-f", "html").out
    script = """
      d.querySelector("#scores .part:last-child td[data-c]").focus();
      return {title: d.title, images: d.querySelectorAll("img, b").length, said: said(),
              requests: w.performance.getEntriesByType("resource").length};
    """
    shown = seen(page, script, tmp_path)
    assert shown["title"] == problem["title"]
    assert shown["images"] == 0
    assert "<img src=x onerror=alert(1)>" in shown["said"][0]
    assert shown["requests"] == 0


def test_where_there_is_room_the_explanation_stands_beside_the_page(
    attn: Attn, tmp_path: Path
) -> None:
    page = attn("compute", SAMPLES / "heads_cut.yaml", "-f", "html").out
    script = """
      d.querySelector("#weights td[data-c]").focus();
      var box = d.getElementById("why").getBoundingClientRect();
      var main = d.querySelector("main").getBoundingClientRect();
      return [box.left >= main.right, box.right <= w.innerWidth, box.top >= 0,
              box.bottom <= w.innerHeight, Math.round(w.innerHeight - box.bottom)];
    """
    wide, narrow = seen_in_frames([(page, 1400), (page, 800)], script, tmp_path)
    assert wide[:4] == [True] * 4
    assert narrow[0] is False
    assert narrow[4] == 0  # at the lower edge of the window


def test_a_list_leads_to_every_step_and_labels_stay_in_view(attn: Attn, tmp_path: Path) -> None:
    wide = {"tokens": ["first", "second"], "X": [[n / 7 for n in range(40)]] * 2, "score": "dot"}
    path = tmp_path / "problem.json"
    path.write_text(json.dumps(wide))
    page = attn("compute", path, "-f", "html", "--full").out
    script = """
      var links = Array.from(d.querySelectorAll(".jump a"), (a) => a.getAttribute("href"));
      var box = d.querySelector(".scroll"), label = box.querySelector("tbody th");
      var before = label.getBoundingClientRect().left;
      box.scrollLeft = 300;
      return {links, missing: links.filter((l) => !d.querySelector(l)),
              moved: box.scrollLeft, stays: label.getBoundingClientRect().left - before};
    """
    shown = seen(page, script, tmp_path, 400)
    assert shown["links"] == ["#Q", "#scores", "#exp", "#weights", "#output"]
    assert shown["missing"] == []
    assert shown["moved"] == 300
    assert abs(shown["stays"]) < 10


def test_a_number_of_a_formula_leads_to_where_it_was_made_and_back(
    attn: Attn, tmp_path: Path
) -> None:
    """By pointer through the numbers of the formula, by keys through the list below it."""
    page = attn("compute", SAMPLES / "i_am_good.yaml", "-f", "html").out
    script = """
      var button = d.querySelector("#why button"), trail = [];
      function here() { return said()[0] + " in " + d.activeElement.closest("section").id; }
      d.querySelector("#weights tr:nth-child(2) td[data-c]").focus();
      trail.push(here(), button.hidden);
      var formula = d.querySelectorAll("#why math mn[data-to]");
      formula[formula.length - 2].dispatchEvent(new w.MouseEvent("click", {bubbles: true}));
      trail.push(here(), button.hidden);
      key("Enter");
      trail.push(d.activeElement.textContent);
      d.activeElement.click();
      trail.push(here());
      key("Backspace");
      trail.push(here());
      button.click();
      trail.push(here(), button.hidden);
      return {trail, leads: leads().map((b) => b.textContent),
              shown: d.activeElement.classList.contains("now")};
    """
    shown = seen(page, script, tmp_path)
    assert shown["trail"] == [
        "weights[am, I] =expam,Isumam in weights",
        True,
        "exp[am, I] =escoresam,I in exp",
        False,
        "scores[am, I] = 10",
        "scores[am, I] =qam·kI in scores",
        "exp[am, I] =escoresam,I in exp",
        "weights[am, I] =expam,Isumam in weights",
        True,
    ]
    assert shown["leads"][-2:] == ["exp[am, I] = 22026.4658", "sum[am] = 82304.0363"]
    assert shown["shown"] is True


def test_folded_steps_open_by_a_link_by_a_number_and_all_at_once(
    attn: Attn, tmp_path: Path
) -> None:
    page = attn("compute", SAMPLES / "i_am_good.yaml", "-f", "html", "--reveal").out
    script = """
      var folds = Array.from(d.querySelectorAll("details"));
      function open() { return folds.filter((f) => f.open).map((f) => f.parentNode.id); }
      var states = [open()], button = d.querySelector(".folds button"), names = [];
      d.querySelector("a[href='#weights']").click();
      states.push(open());
      d.querySelector("#weights td[data-c]").focus();
      leads()[0].click();
      states.push(open(), said()[0]);
      w.dispatchEvent(new w.Event("beforeprint"));
      states.push(open().length);
      w.dispatchEvent(new w.Event("afterprint"));
      states.push(open());
      names.push(button.textContent);
      button.click();
      states.push(open().length);
      button.click();
      states.push(open().length);
      return {states, names, count: folds.length};
    """
    shown = seen(page, script, tmp_path)
    count = shown["count"]
    assert count == 5
    both = ["scores", "weights"]
    first = "scores[I, I] =qI·kI"
    assert shown["states"] == [[], ["weights"], both, first, count, both, count, 0]
    assert shown["names"] == ["Show all steps"]


def test_long_sums_stay_in_the_box_of_a_narrow_window(attn: Attn, tmp_path: Path) -> None:
    """A sum breaks between its terms; a fraction with a long sum below it scrolls."""
    numbers = [[(7 * i + 3 * j) % 11 - 5.25 for j in range(12)] for i in range(12)]
    path = tmp_path / "long.json"
    path.write_text(json.dumps({"X": numbers, "score": "dot", "scale": 0.01}))
    page = attn("compute", path, "-f", "html", "--full").out
    script = """
      var found = [];
      ["#scores", "#sum", "#weights"].forEach(function (step) {
        var all = d.querySelectorAll(step + " .part:last-child td[data-c]");
        (all.length ? all : d.querySelectorAll("#exp .part:last-child td[data-c]"))[0].focus();
        var box = d.getElementById("why"), e = d.documentElement;
        found.push([e.scrollWidth, box.scrollWidth <= box.clientWidth, said().length > 1]);
      });
      return found;
    """
    for width, found in zip(
        (400, 320), seen_in_frames([(page, 400), (page, 320)], script, tmp_path), strict=True
    ):
        assert found == [[width, True, True]] * 3


@pytest.mark.parametrize("live", [False, True])
def test_squares_of_negative_numbers_keep_their_exponents(live: bool, tmp_path: Path) -> None:
    """A power with more than two children is not shown as one."""
    keys: dict[str, Any] = {"X": [[1, -2], [-3, 1], [-2, -1]], "qk_norm": "l2", "score": "cosine"}
    page = attncli.render(attncli.compute(attncli.Problem(**keys)), "html", live=live)
    script = """
      var shown = [], counts = [];
      d.querySelectorAll("td[data-c]").forEach(function (cell) {
        cell.focus();
        var all = d.querySelectorAll("#why msup, #why msub, #why mfrac");
        counts = counts.concat(Array.from(all, (one) => one.children.length));
        shown.push(said().join(" "));
      });
      return {squares: shown.filter((text) => text.includes("(−3)2")).length,
              counts: Array.from(new Set(counts))};
    """
    shown = seen(page, script, tmp_path)
    assert shown["squares"] > 0
    assert shown["counts"] == [2]
