"""The small map beside a live page, and the stage of a lecture, in a browser."""

from __future__ import annotations

from typing import Any

import pytest

import attncli
from tests.conftest import SAMPLES
from tests.printing.test_live_pages import HELPERS
from tests.whole.test_page_in_browser import seen_in_frames

pytestmark = pytest.mark.needs("chromium")

ALSO = """
  var texted = (all) => Array.from(all, (element) => element.textContent);
  var inMap = (number) => texted(every(".map .scroll")[number].querySelectorAll("td"));
  var lit = (kind) => every(".step.on td." + kind).map((td) => td.textContent);
  var page = d.documentElement;
"""

SCRIPTS: dict[str, tuple[str, int, str]] = {
    "the_map_follows_every_change": (
        "sentence",
        1400,
        """
      var before = [inMap(0).slice(-6).join(" "), every(".map .caption").map((e) => e.textContent)];
      type(cell("X.16"), "1");
      var shades = every(".map .scroll")[2].querySelectorAll("td.below").length;
      return {before, after: inMap(0).slice(-6).join(" "), shades,
              largest: every(".map .scroll")[2].querySelectorAll("td[style='--w: 1.00;']").length};
    """,
    ),
    "a_map_of_the_result_of_a_transformer": (
        "next_word",
        1400,
        """return every(".map .caption").map((e) => e.textContent);""",
    ),
    "a_map_in_columns": (
        "integers_columns",
        1400,
        """
      return [inMap(0).join(" "), texted(every("#weights .part:last-child td[data-c]")).join(" ")];
    """,
    ),
    "the_stage_goes_through_the_steps": (
        "sentence",
        1400,
        """
      press(d.body, "f");
      var on = () => every(".step.on").map((e) => e.id).join();
      var isOpen = () => page.className.includes("stage");
      var opened = [isOpen(), w.location.hash, on()];
      var first = [lit("from").join(" "), lit("now").join(" "), every(".step.on td.later").length];
      press(d.body, ".");
      var second = lit("now").join(" ");
      for (var i = 0; i < 3; i += 1) press(d.body, " ");
      var scores = [on(), d.querySelector(".stop").textContent];
      var framed = every(".step.on .frame:not([hidden])").length;
      press(d.body, "ArrowLeft");
      var back = on();
      press(d.body, "PageDown"); press(d.body, "PageDown");
      var inputs = every(".inputs .caption").map((e) => e.textContent);
      var x = d.querySelector(".inputs td.given");
      x.dispatchEvent(new w.PointerEvent("pointerdown", {bubbles: true}));
      var halted = every(".step.on td.later").length;
      type(x, "5");
      press(x.querySelector("input"), "f");
      var changed = [one.state(), cell("X.0").firstChild.data, isOpen()];
      press(x.querySelector("input"), "Enter");
      var why = d.getElementById("why"), whole = [];
      for (var i = 0; i < 5; i += 1) {
        press(d.body, " ");
        whole.push(why.scrollHeight <= why.clientHeight);
      }
      press(d.body, "Escape");
      return {whole, opened, first, second, scores, framed, back, inputs, halted, changed,
              closed: [isOpen(), w.location.hash.slice(0, 1), every("td.later").length]};
    """,
    ),
    "a_finger_is_lifted_where_the_page_moved": (
        "sentence",
        400,
        """
      var x = cell("X.0"), mask = cell("mask.1");
      [x, mask].forEach((td) => {
        td.dispatchEvent(new w.PointerEvent("pointerdown", {bubbles: true}));
        d.body.dispatchEvent(new w.PointerEvent("click", {bubbles: true, pointerType: "touch"}));
      });
      return [x.querySelector("input") !== null, one.state()];
    """,
    ),
    "an_address_opens_the_stage": (
        "sentence",
        700,
        """
      go("#stage~" + key + "~X.0=3");
      var [main, why] = ["main", "#why"].map((name) => d.querySelector(name));
      var isBelow = why.offsetTop >= main.offsetTop + main.offsetHeight;
      var hash = w.location.hash.slice(0, 7);
      return [page.className.includes("stage"), one.state(), isBelow, hash];
    """,
    ),
}
"""What is done on the live page of a sample in a window of some width; one browser for all."""


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return what each of `SCRIPTS` finds."""
    pages, steps = [], []
    for number, (sample, width, script) in enumerate(SCRIPTS.values()):
        trace = attncli.compute(attncli.load(SAMPLES / f"{sample}.yaml"))
        pages.append((attncli.render(trace, "html", live=True), width))
        steps.append(f"if (frames.indexOf(frame) === {number}) {{ {HELPERS} {ALSO} {script} }}")
    found = seen_in_frames(pages, "\n".join(steps), tmp_path_factory.mktemp("stage"))
    return dict(zip(SCRIPTS, found, strict=True))


def test_the_map_follows_every_change(shown: dict[str, Any]) -> None:
    found = shown["the_map_follows_every_change"]
    assert found["before"] == ["0 0.01 0.11 0.02 0.75 0.11", ["head 1", "head 2", "output"]]
    assert found["after"] != found["before"][0]
    assert found["shades"] == 1  # output[cat, 2] is negative
    assert found["largest"] == 1  # an output is shaded by the largest


def test_the_map_shows_the_weights_and_the_result(shown: dict[str, Any]) -> None:
    names = ["layers.1.weights", "layers.2.weights", "probabilities"]
    assert shown["a_map_of_the_result_of_a_transformer"] == names


def test_the_map_is_laid_out_as_the_page(shown: dict[str, Any]) -> None:
    small, page = shown["a_map_in_columns"]
    assert [float(x) for x in small.split()] == pytest.approx(
        [float(x) for x in page.split()], abs=0.005
    )


def test_the_stage_goes_through_the_steps(shown: dict[str, Any]) -> None:
    found = shown["the_stage_goes_through_the_steps"]
    assert found["opened"] == [True, "#stage", "Q"]
    assert found["first"] == ["1 0 0 1 2 -1 1 0".replace("-", "−"), "2", 19]
    assert found["second"] == "−2"
    assert found["scores"] == ["scores", "4 of 11: scores = Q Kᵀ"]
    assert found["framed"] == 3
    assert found["back"] == "V"
    assert found["inputs"] == ["X", "W_q", "W_k", "W_v", "mask", "W_o"]
    assert found["halted"] == 0
    assert found["changed"] == [{"X.0": "5"}, "5", True]
    assert all(found["whole"])  # the explanation of each step
    assert found["closed"] == [False, "", 0]


def test_an_address_opens_the_stage(shown: dict[str, Any]) -> None:
    assert shown["an_address_opens_the_stage"] == [True, {"X.0": "3"}, True, "#stage~"]


def test_a_finger_is_lifted_where_the_page_moved(shown: dict[str, Any]) -> None:
    assert shown["a_finger_is_lifted_where_the_page_moved"] == [True, {"mask.1": "1"}]
