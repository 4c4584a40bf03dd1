"""Pages that recalculate: all numbers are the program's, by whatever way they are changed."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import numpy as np
import pytest
import yaml
from py_mini_racer import MiniRacer

import attncli
from attncli.core.attention.masks import Masked
from attncli.core.attention.normalizers import Hardmax, Sparsemax
from attncli.core.attention.norms_and_activations import Length, Phi, TanhGate
from attncli.core.formulas import tree
from attncli.core.numbers.written import NumberAsWritten
from attncli.core.records import replace
from attncli.core.tape.operations import Divide
from attncli.core.tape.step import Operation, Step
from attncli.pages import live_tape
from attncli.pages.cell_formulas import key_of
from attncli.pages.live_tape import Programs
from attncli.pages.markup import file_text
from tests.conftest import ROOT, SAMPLES, Attn
from tests.support import live_page
from tests.whole.test_page_in_browser import seen, seen_in_frames

MOST_GROWTH = 90_000  # bytes; a size more has its own markup and explanations

in_browser = pytest.mark.needs("chromium")


def page_of(attn: Attn, sample: str, *flags: str) -> str:
    return attn("compute", SAMPLES / f"{sample}.yaml", "-f", "html", "--live", *flags).out


def on_page(operation: Operation, *others: np.ndarray[Any, Any], **keys: float) -> Any:
    """Return what a page gives for an operation, with other arrays in the operands of its steps.

    `keys` are other numbers for those of the operation that a key of the problem gives.
    """
    programs = Programs()
    steps = [part for part in operation.operands if isinstance(part, Step)]
    known = {key_of(step): at for at, step in enumerate(steps)}
    which, *operands = programs.add(programs.recorded(operation), known)
    arrays = [{"shape": one.shape, "data": live_tape.plain(one.ravel())} for one in others]
    scalars = {key: {"shape": [], "data": [number]} for key, number in keys.items()}
    values = [scalars[one] if isinstance(one, str) else arrays[one] for one in operands]
    script = MiniRacer()
    script.eval(file_text("numpy.js"))
    script.eval(
        "function result(program, operands) {"
        "  operands.forEach((one) => { one.data = one.data.map((x) => x ?? -Infinity); });"
        "  const {shape, data} = attnNumpy.run(program, operands);"
        "  return JSON.stringify({shape, data: Array.from(data, (x) => `${x}`)});"
        "}"
    )
    called = json.dumps([json.loads([*programs.all][which]), values])
    record = json.loads(str(script.eval(f"result(...{called})")))
    return np.reshape([float(x) for x in record["data"]], record["shape"])


def step_of(array: Any, name: str = "s") -> Step:
    array = np.array(array, float).reshape(1, 1, *np.shape(array))
    return Step(name, name, (), ("query", "key"), {}, None, array)


class Centred(Operation):
    """An operation that no page knows: numbers less the median of their line, where one is kept."""

    operand: Step
    keep: Step
    width: float

    def apply(self, x: Any, keep: Any) -> Any:
        ordered = np.sort(x, axis=-1)
        middle = ordered[..., x.shape[-1] // 2, None]
        sums = np.cumsum(np.where(keep > 0, x - middle, 0.0), axis=-1)
        turned = np.concatenate([np.flip(sums, -1), np.repeat(middle, 2, axis=-1)], axis=-1)
        lowest = np.minimum(
            turned.mean(axis=(-2, -1), keepdims=True), turned.min(axis=-1)[..., None]
        )
        return np.maximum(np.log1p(np.exp(turned / self.width)), lowest)


def test_a_new_operation_needs_no_script() -> None:
    draw = np.random.default_rng(0)
    first, keep = draw.normal(size=(2, 3, 5))
    width = NumberAsWritten(2.0, tree.Own("score.width", tree.Number("2")))
    operation = Centred(step_of(first), step_of(keep, "keep"), width)
    others = draw.normal(size=(2, 1, 1, 3, 5))
    shown = on_page(operation, *others, **{"score.width": 0.5})
    wanted = replace(operation, width=0.5).apply(*others)
    np.testing.assert_allclose(shown, wanted, rtol=1e-14)


class Refused(Operation):
    """An operation that a page cannot repeat."""

    operand: Step
    how: Callable[[Any], Any]

    def apply(self, x: Any) -> Any:
        return self.how(x)


@pytest.mark.parametrize(
    "how",
    [
        lambda x: x / 2 if x.max() > 100 else x,  # looks at the numbers
        lambda x: x[x > 0],
        lambda x: x[..., x.argmax()],
        lambda x: np.take(x, x),
        lambda x: np.add.reduce(x, axis=-1),
        np.cumsum,  # of a flat array
        lambda x: np.linalg.norm(x, axis=-1),
    ],
)
def test_an_operation_that_makes_other_calls_is_refused_by_name(how: Callable[[Any], Any]) -> None:
    with pytest.raises(attncli.InputError, match="a live page cannot calculate Refused"):
        Programs().recorded(Refused(step_of([[1, 2]]), how))


CHOICES: dict[str, tuple[Operation, list[Any]]] = {
    "division by 0": (Divide(step_of([[1, 2]]), step_of([[3]], "t")), [[[1, 2]], [[0]]]),
    "no division by 0": (Divide(step_of([[1, 2]]), step_of([[0]], "t")), [[[1, 2]], [[4]]]),
    "a blocked row": (Sparsemax(step_of([[1, 2], [2, 3]]), -1), [[[-np.inf] * 2, [5, 1]]]),
    "blocked cells": (Masked(step_of([[1, 2]]), step_of([[1, 1]], "mask")), [[[1, 2]], [[0, 1]]]),
    "the first largest": (Hardmax(step_of([[1, 2, 3]]), -1), [[[7, 7, -np.inf]]]),
    "far below 0": (TanhGate(step_of([[1, 2]])), [[[-7, -11]]]),
    "far above 0": (Phi(step_of([[1, 2]])), [[[-9.5, 9.5]]]),
    "large rows": (Length(step_of([[1, 2]])), [[[3e200, 4e200]]]),
    "small rows": (Length(step_of([[1, 2]])), [[[3e-200, 4e-200]]]),
}
"""Operations on numbers, and others with which they choose otherwise."""


@pytest.mark.parametrize("name", CHOICES)
def test_a_page_chooses_by_its_own_numbers(name: str) -> None:
    operation, others = CHOICES[name]
    arrays = [np.array(one, float).reshape(1, 1, *np.shape(one)) for one in others]
    with np.errstate(all="ignore"):
        wanted = operation.apply(*arrays)
    np.testing.assert_allclose(on_page(operation, *arrays), wanted, rtol=1e-14)


def test_functions_that_the_page_lacks_are_refused_by_name(
    attn: Attn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_tape, "functions", lambda: {"matmul", "move"})
    out = tmp_path / "page.html"
    result = attn("compute", SAMPLES / "i_am_good.yaml", "-o", out, "--live")
    assert result.status == 2
    assert result.err.startswith("a live page cannot calculate where\n")
    assert not out.exists()


def test_live_is_for_html_alone(attn: Attn) -> None:
    result = attn("compute", SAMPLES / "i_am_good.yaml", "--live")
    assert result.status == 2
    assert result.err.splitlines()[0] == "--live is for the format html, not table"


def html_pages(attn: Attn, folder: Path) -> dict[str, str]:
    """Return a page of every kind that is written, by its name."""
    sample, sheets = SAMPLES / "mask_causal.yaml", folder / "sheets"
    sheets.mkdir()
    (sheets / "ada.yaml").write_text("weights: [[1, 0, 0]]\n")
    (sheets / "unread.yaml").write_text("weights: [[1\n")
    attn("check", sample, sheets, "--feedback", folder / "class")
    pages = {path.name: path.read_text() for path in (folder / "class").iterdir()}
    for name, command in {
        "still": ("compute", sample, "--reveal"),
        "live": ("compute", sample, "--live"),
        "practice": ("worksheet", sample),
        "report": ("check", sample, sheets / "ada.yaml"),
        "report that shows nothing": ("check", sample, sheets / "unread.yaml"),
    }.items():
        pages[name] = attn(*command, "-f", "html").out
    return pages


def test_labels_and_titles_are_escaped(attn: Attn, tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(
        "title: </script><b>\ntokens: ['<i>', '&', \"{x}\"]\nX: [[1, 0], [0, 1], [1, 1]]\n"
    )
    page = attn("compute", file, "-f", "html", "--live").out
    assert "<b>" not in page
    assert "<i>&lt;" not in page.replace("<th", "")
    assert page.count("</script>") == 2


@pytest.mark.parametrize("sample", ["mask_causal", "heads_cut", "positions_rope", "gradient_heads"])
def test_the_page_grows_by_little(sample: str, attn: Attn) -> None:
    plain = attn("compute", SAMPLES / f"{sample}.yaml", "-f", "html").out
    assert len(page_of(attn, sample).encode()) - len(plain.encode()) <= MOST_GROWTH


def test_demo_writes_the_page_of_a_sample(attn: Attn) -> None:
    result = attn("demo", "mask_window", "--no-open")
    path = Path(result.out.strip())
    page = path.read_text(encoding="utf-8")
    path.unlink()
    path.parent.rmdir()
    assert '<h1 dir="auto">Sliding window</h1>' in page
    assert "Content-Security-Policy" in page


def test_demo_hands_the_page_to_the_browser_and_leaves_nothing(
    attn: Attn, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    read: list[str] = []

    def opened(address: str) -> bool:
        with pytest.raises(HTTPError):
            urlopen(f"{address}.map")
        read.append(urlopen(address).read().decode())
        return True

    monkeypatch.setattr("webbrowser.open", opened)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert attn("demo").out == ""
    assert '<h1 dir="auto">Two heads read a sentence</h1>' in read[0]
    assert list(tmp_path.iterdir()) == []


def test_demo_without_a_browser_says_where_the_page_is(
    attn: Attn, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("webbrowser.open", lambda address: False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (message,) = attn("demo").err.splitlines()
    (page,) = tmp_path.glob("*/sentence.html")
    assert message == f"no browser could be opened; the page is {page}"


def test_the_demo_of_the_documents_is_fresh(attn: Attn) -> None:
    page = (ROOT / "docs" / "demo.html").read_text(encoding="utf-8")
    texts = [unpacked(text) for text in (page_of(attn, "sentence"), page)]
    assert texts[0] == texts[1], "run python docs/pictures.py demo"


def unpacked(page: str) -> str:
    """Return a live page with what it holds compressed as text: how that is done may differ."""

    def text(match: re.Match[str]) -> str:
        return zlib.decompress(base64.b64decode(match[0])).decode()

    return re.sub('(?<="packed":")[^"]*', text, page)


def test_demo_knows_the_samples(attn: Attn) -> None:
    result = attn("demo", "mask_windw", "--no-open")
    assert result.status == 2
    assert result.err == "there is no sample mask_windw\n  did you mean mask_window?\n"


SOME_SAMPLES = (
    "co_attention", "gradient_heads", "integers_columns", "mask_padding", "normalize_sparsemax",
    "online", "recurrent", "score_additive", "transformer_training",
)  # fmt: skip
"""Samples that have most operations; `python -m benchmarks.surveys.live` tries all and 300 more."""


@in_browser
def test_changed_pages_show_what_the_program_does(tmp_path: Path) -> None:
    cases = [*live_page.sample_cases(SOME_SAMPLES, 2)]
    assert live_page.survey(cases, tmp_path) == []


HELPERS = """
  var one = w.attnLive.all[0];
  var inPage = one.cells.filter((c) => one.article.contains(c.td));
  var named = (start) => inPage.filter((c) => one.nameOf(c.id).startsWith(start));
  var cell = (name) => named(name).find((c) => one.nameOf(c.id) === name).td;
  var texts = (start) => named(start).map((c) => c.td.textContent);
  function type(td, text) {
    td.click();
    var field = td.querySelector("input");
    field.value = text;
    field.dispatchEvent(new w.Event("input"));
    return field;
  }
  function press(on, name, about) {
    var all = Object.assign({key: name, bubbles: true, cancelable: true}, about);
    on.dispatchEvent(new w.KeyboardEvent("keydown", all));
  }
  var every = (kind) => Array.from(d.querySelectorAll(kind));
  var said = (kind, name) => every(kind).find((e) => e.textContent === name);
  var button = (name) => said(".controls button", name);
  var box = (name) => said(".switch", name).firstChild;
  var follows = () => d.querySelector(".follows").textContent;
  function go(address) {
    w.history.replaceState(null, "", address);
    w.dispatchEvent(new w.Event("hashchange"));
    return [one.state(), follows()];
  }
  var key = w.attnLive.pageKey;
"""

ROWS = [[1, -2], [-3, 1], [2, 0]]
SCRIPTS: dict[str, tuple[str | dict[str, Any], str]] = {
    "typing_arrows_undo_and_reset": (
        "i_am_good",
        """
      var x = cell("X.1"), score = cell("scores.0");
      var before = [x.textContent, score.textContent, button("Undo").disabled];
      var field = type(x, "1/2");
      var typed = [score.firstChild.data, one.state()["X.1"], field.getAttribute("aria-label")];
      field.value = "1.5"; press(field, "ArrowUp"); press(field, "ArrowDown", {shiftKey: true});
      var stepped = [field.value, score.firstChild.data];
      field.value = "abc"; field.dispatchEvent(new w.Event("input"));
      var wrong = [field.getAttribute("aria-invalid"), follows(), score.firstChild.data];
      field.value = "2"; field.dispatchEvent(new w.Event("input"));
      press(field, "Enter");
      var kept = [x.textContent, x.className.indexOf("changed") > 0, follows()];
      press(type(x, "7"), "Escape");
      var escaped = x.textContent;
      button("Undo").click();
      var undone = [x.textContent, button("Undo").disabled];
      type(x, "9"); press(x.querySelector("input"), "Enter"); button("Put all back").click();
      var reset = [x.textContent, score.textContent];
      return {before, typed, stepped, wrong, kept, escaped, undone, reset};
    """,
    ),
    "keys_alone_change_a_number": (
        "i_am_good",
        """
      var x = cell("X.0"), mask = cell("mask.1");
      x.focus(); press(x, "5");
      var field = x.querySelector("input"), begun = [field.value, cell("Q.0").textContent];
      press(field, "Enter");
      var back = d.activeElement === x;
      mask.focus(); press(mask, "Enter");
      return {begun, back, mask: mask.textContent, weight: cell("weights.1").textContent,
              told: (w.attnLive.data.cells[cell("masked.1").dataset.c] || []).join(" ")};
    """,
    ),
    "dragging_changes_by_tenths_of_a_unit": (
        "i_am_good",
        """
      var x = cell("X.1");
      function point(kind, at, shiftKey) {
        var about = {clientX: at, bubbles: true, button: 0, shiftKey};
        x.dispatchEvent(new w.PointerEvent(kind, about));
      }
      point("pointerdown", 100); point("pointermove", 103);
      var still = x.textContent;
      point("pointermove", 120);
      var moved = x.textContent;
      point("pointermove", 120, true);
      var coarse = x.textContent;
      point("pointerup", 124); x.click();
      var isOpen = x.querySelector("input") !== null;
      button("Undo").click();
      return {still, moved, coarse, isOpen, undone: x.textContent};
    """,
    ),
    "a_block_is_pasted": (
        "mask_causal",
        """
      function paste(td, text) {
        var clipboardData = new w.DataTransfer();
        clipboardData.setData("text/plain", text);
        td.focus();
        var about = {clipboardData, bubbles: true, cancelable: true};
        td.dispatchEvent(new w.ClipboardEvent("paste", about));
        return [texts("X.").join(" "), follows().slice(0, 60)];
      }
      var blocks = ["9\\t0,5\\n8\\t1/2\\n", "1 2 3 4", "1\\tx", "7"];
      var all = blocks.map((text) => paste(cell("X.1"), text));
      paste(cell("mask.0"), "1 1 0\\n1 1 1\\n1 1 1");
      var mask = texts("mask.").join("");
      paste(cell("mask.0"), "1 2");
      var refused = follows();
      button("Undo").click(); button("Undo").click();
      return {all, mask, refused, undone: texts("X.").join(" ")};
    """,
    ),
    "a_token_is_renamed": (
        "mask_causal",
        """
      var th = every("#X th, .step th").find((e) => e.textContent === "am");
      function rename(word) {
        th.click();
        var field = th.querySelector("input");
        field.value = word;
        press(field, "Enter");
        return [th.textContent, follows()];
      }
      var right = rename("are"), same = rename("good"), number = rename("3");
      cell("weights.1").focus();
      var named = [d.querySelector("#why .name"), ...every(".mixture sub")];
      var told = named.map((e) => e.textContent);
      var yaml = one.yaml();
      button("Undo").click();
      return {right, same, number, told, yaml, undone: th.textContent,
              address: go("#~" + key + "~tokens.0=we"), wrong: go("#~" + key + "~tokens.0=good")};
    """,
    ),
    "words_that_are_no_names_alone_stay": (
        {
            "kind": "cross",
            "tokens": ["I", "am", "I", "3"],
            "memory": ROWS,
            "memory_tokens": ["am", "b", "c"],
            "X": [*ROWS, [1, 1]],
        },
        """return every("th.word").length;""",
    ),
    "another_size": (
        "sentence",
        """
      var steps = window.steps = window.steps || [];  // each size is a page that is loaded anew
      var output = () => [...one.arrayOf("output").data];
      var tokens = one.arrays(0).shape[2], changes = w.location.hash.split("~").slice(2);
      steps.push([tokens, one.state(), changes, one.yaml(), output()]);
      if (steps.length === 1) type(cell("X.19"), "5");
      var then = ["6 tokens", "1 head", "Undo", "Undo"][steps.length - 1];
      if (then) button(then).click();
      return steps;
    """,
    ),
    "what_controls_say": (
        "sentence",
        """
      var slider = d.querySelector(".slider input");
      slider.value = 10;
      slider.dispatchEvent(new w.Event("input"));
      var mask = cell("mask.1"), before = mask.getAttribute("aria-label");
      mask.click();
      var field = type(cell("X.0"), "x");
      return {slider: slider.getAttribute("aria-valuetext"),
              mask: [before, mask.getAttribute("aria-label")],
              field: d.getElementById(field.getAttribute("aria-describedby")).textContent,
              legend: d.querySelector(".legend").textContent};
    """,
    ),
    "switches_and_sliders": (
        "integers_scaled",
        """
      var s = cell("scaled.0"), first = s.textContent;
      function heading() { return d.querySelector("#scaled .formula").textContent; }
      var written = heading();
      box("divide by √d_k").click();
      var unscaled = [s.textContent, heading()];
      button("Undo").click();
      var slider = d.querySelector("input[type=range]");
      slider.value = 10; slider.dispatchEvent(new w.Event("input"));
      var slid = [Number(s.textContent).toFixed(3), heading()];
      box("causal mask").click();
      var causal = texts("mask.").join("");
      box("causal mask").click();
      var open = texts("mask.").join("");
      return {first, written, unscaled, slid, causal, open};
    """,
    ),
    "numbers_beyond_floats_are_put_back": (
        "i_am_good",
        """
      type(cell("X.0"), "1e200");
      return {says: follows(), x: cell("X.0").firstChild.data, state: one.state()};
    """,
    ),
    "what_is_typed_is_taken_whole_or_not_at_all": (
        "mask_causal",
        """
      var x = cell("X.0");
      function typed(text) {
        var field = type(x, text.slice(0, 1));
        for (var i = 2; i <= text.length; i += 1) {
          field.value = text.slice(0, i);
          field.dispatchEvent(new w.Event("input"));
        }
        press(field, "Enter");
        var found = [x.firstChild.data, one.state()["X.0"] || "", follows().slice(0, 40)];
        press(field, "Escape");
        return found;
      }
      var all = ["12abc", "1e200", "0,5", "14%", "0x10"].map(typed);
      x.focus(); press(x, "s");
      return {all, opened: x.querySelector("input").value};
    """,
    ),
    "an_address_is_taken_whole_or_not_at_all": (
        "mask_causal",
        """
      var wrong = [
        "constructor=1", "__proto__.0=1", "X.length=1", "X.01=1", "X.99=5", "Q.0=1", "foo=1",
        "X.0=%", "X.0=0x10", "X.0=1,5", "X.0= 1", "X.0=", "X.0", "mask.0=7", "scale=0", "X.2=-inf",
        "X.0=1~X.0=2", "2:X.0=5", "X.0=1e200", "size=tokens-9", "X.0=5~", "heads~X.0=5",
      ];
      var found = wrong.map((part) => go("#~" + key + "~X.1=1/2~" + part).concat(part));
      return {found, right: go("#%E0%A4%A~" + key + "~X.1=1%2F2~mask.1=1"),
              others: ["#%E0%A4%A~X.1=5", "#~0badf00d~X.1=5", "#~"].map(go)};
    """,
    ),
    "the_causal_switch_beside_a_mask_of_one_row": (
        {"X": ROWS, "mask": {"lengths": 2}},
        """
      var all = [texts("mask.").join("")], saved = [];
      for (var i = 0; i < 2; i += 1) {
        box("causal mask").click();
        all.push(texts("mask.").join(""));
        saved.push(one.yaml());
      }
      return {all, saved, state: one.state()};
    """,
    ),
    "the_causal_switch_of_a_batch_with_lengths": (
        {"X": [ROWS, ROWS], "mask": {"lengths": [2, 3], "causal": True}},
        """
      var all = [texts("mask.").join(""), box("causal mask").checked];
      box("causal mask").click();
      return {all: all.concat(texts("mask.").join("")), saved: [one.yaml()]};
    """,
    ),
    "a_number_of_an_operation_is_shown_as_it_was_typed": (
        {"X": [[97]], "scores": [[97]], "normalize": {"name": "none", "temperature": 2}},
        """
      var field = d.querySelector("input.setting"), cell = named("weights.")[0].td;
      return ["1/3", "0.33333333", "2.50", "2*sqrt(2)"].map((text) => {
        field.value = text;
        field.dispatchEvent(new w.Event("change"));
        cell.focus();
        return Array.from(d.querySelectorAll("#why [data-own]"), (slot) => slot.textContent).join();
      });
    """,
    ),
    "large_scores_are_shifted": (
        {"scores": [[1, 2, 3]], "V": [[1], [2], [4]]},
        """
      function numbers(state) {
        one.calculate(state);
        one.tell();
        return [...["exp", "weights"].map((name) => Array.from(one.arrayOf(name).data)), follows()];
      }
      return [{}, {"scores.0": "3000"}, {"scores.0": "3000", "scores.1": "2999"}].map(numbers);
    """,
    ),
}
"""What is done on the page of a sample, or of keys, by the name of a test; one browser for all."""


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return what each of `SCRIPTS` finds."""
    pages, steps = [], []
    for number, (problem, script) in enumerate(SCRIPTS.values()):
        if isinstance(problem, str):
            trace = attncli.compute(attncli.load(SAMPLES / f"{problem}.yaml"))
        else:
            trace = attncli.compute(attncli.Problem(**problem))
        pages.append((attncli.render(trace, "html", live=True), 1000))
        steps.append(f"if (frames.indexOf(frame) === {number}) {{ {HELPERS} {script} }}")
    found = seen_in_frames(pages, "\n".join(steps), tmp_path_factory.mktemp("live"))
    return dict(zip(SCRIPTS, found, strict=True))


def found_on(page: str, script: str, folder: Path) -> Any:
    return seen(page, HELPERS + script, folder)


@in_browser
def test_typing_arrows_undo_and_reset(shown: dict[str, Any]) -> None:
    found = shown["typing_arrows_undo_and_reset"]
    assert found["before"] == ["3", "14", True]
    assert found["typed"] == ["5.25", "1/2", "X[I, 2]"]
    assert found["stepped"] == ["0.6", "5.3600"]
    assert found["wrong"] == ["true", "abc is not a number.", "14"]  # as before
    assert found["kept"][:2] == ["2", True]
    assert found["kept"][2].startswith(
        "Changed: X[I, 2] is 2, was 3. What follows: Q, K, V, scores, masked, …, output."
    )
    assert found["escaped"] == "2"
    assert found["undone"][0] == "3"
    assert found["reset"] == ["3", "14"]


@in_browser
def test_keys_alone_change_a_number(shown: dict[str, Any]) -> None:
    found = shown["keys_alone_change_a_number"]
    assert found["begun"][0] == "5"
    assert found["back"] is True
    assert found["mask"] == "0"
    assert found["weight"] == "0"
    assert "masked[I, am]" in found["told"]


@in_browser
def test_dragging_changes_by_tenths_and_with_shift_by_units(shown: dict[str, Any]) -> None:
    found = shown["dragging_changes_by_tenths_of_a_unit"]
    assert found == {"still": "3", "moved": "3.4", "coarse": "7", "isOpen": False, "undone": "3"}


@in_browser
def test_a_block_is_pasted_whole_or_not_at_all(shown: dict[str, Any]) -> None:
    found = shown["a_block_is_pasted"]
    pasted = "1.0 9.0 0.5 1.0 8.0 0.5 1.0 2.0 1.0"
    assert [texts for texts, _ in found["all"]] == [pasted] * 4
    assert found["all"][0][1].startswith("Changed: X[I, 2] is 9.0, was 3")
    assert found["all"][1][1] == "The block of 1 × 4 numbers does not fit from here on."
    assert found["all"][2][1] == "x is not a number."
    assert found["mask"] == "110111111"
    assert found["refused"] == "A mask is made of 0 and 1."
    assert found["undone"] == "1 3 2 1 1 3 1 2 1"


@in_browser
def test_a_token_is_renamed_everywhere(shown: dict[str, Any]) -> None:
    found = shown["a_token_is_renamed"]
    assert found["right"] == ["are", "Changed: are, was am. "]
    assert found["same"] == ["are", "good cannot be told from another token."]
    assert found["number"][0] == "are"
    assert found["told"][0] == "weights[I, are]"
    assert "am" not in found["told"][1:]
    assert yaml.safe_load(found["yaml"])["tokens"] == ["I", "are", "good"]
    assert found["undone"] == "am"
    assert found["address"][0] == {"tokens.0": "we"}
    assert found["wrong"][0] == {}


@in_browser
def test_words_that_are_no_names_alone_stay(shown: dict[str, Any]) -> None:
    assert shown["words_that_are_no_names_alone_stay"] == 0


@in_browser
def test_a_token_more_and_another_number_of_heads_and_back(shown: dict[str, Any]) -> None:
    found = shown["another_size"]
    changed = {"X.19": "5"}
    assert [step[0] for step in found] == [5, 6, 5, 6, 5]
    assert [step[1] for step in found] == [{}, *[changed] * 4]
    assert [step[2][:1] for step in found] == [
        [], ["size=tokens-6"], ["size=heads-1"], ["size=tokens-6"], ["X.19=5"]
    ]  # fmt: skip
    for *_, saved, output in found:
        keys = yaml.safe_load(saved)
        wanted = attncli.compute(attncli.Problem(**keys))["output"].value
        np.testing.assert_allclose(output, wanted.ravel(), rtol=1e-12)


@in_browser
def test_controls_say_their_values_and_states(shown: dict[str, Any]) -> None:
    found = shown["what_controls_say"]
    assert found["slider"] == "2.83"
    assert found["mask"] == ["0, blocked", "1, not blocked"]
    assert found["field"] == "x is not a number."
    assert found["legend"].startswith("Changed (blue): mask[the, cat] is 1, was 0; scores ÷ 2.83")


@in_browser
def test_switches_and_sliders(shown: dict[str, Any]) -> None:
    found = shown["switches_and_sliders"]
    assert found["first"] == "1.1547"  # 2 / √3
    assert found["unscaled"][0] == "2"
    assert found["written"] != found["unscaled"][1]
    assert found["unscaled"][1].startswith("scaled=scores1")
    assert found["slid"][0] == "0.578"  # 2 / 3.46, twice the root of 3 in three digits
    assert found["causal"] == "100110111"
    assert found["open"] == "111111111"


@in_browser
def test_a_state_stands_in_the_address_and_in_a_file(attn: Attn, tmp_path: Path) -> None:
    page = page_of(attn, "mask_causal")
    script = """
      type(cell("X.2"), "-1/3"); cell("mask.1").click();
      return {yaml: one.yaml(), output: texts("output.")};
    """
    changed = found_on(page, script, tmp_path)
    file = tmp_path / "changed.yaml"
    file.write_text(changed["yaml"], encoding="utf-8")
    again = attn("compute", file, "-f", "csv", "--only", "output", "-d", "4").out
    assert "-1/3" in changed["yaml"]
    assert [f"{float(x):.4f}" for x in re.split("[,\n]", again.strip())] == [
        f"{float(x.replace('−', '-')):.4f}" for x in changed["output"]
    ]
    script = """
      w.history.replaceState(null, "", "#weights~" + key + "~X.2=-1%2F3~mask.1=1");
      w.dispatchEvent(new w.Event("hashchange"));
      return {state: one.state(), x: cell("X.2").textContent};
    """
    shown = found_on(page, script, tmp_path)
    assert shown == {"state": {"X.2": "-1/3", "mask.1": "1"}, "x": "−0.3333"}


@in_browser
def test_numbers_beyond_floats_are_put_back(shown: dict[str, Any]) -> None:
    found = shown["numbers_beyond_floats_are_put_back"]
    assert found["says"] == "With this, scores would hold a number beyond what a float can hold."
    assert found["state"] == {}


@in_browser
def test_what_is_typed_is_taken_whole_or_not_at_all(shown: dict[str, Any]) -> None:
    found = shown["what_is_typed_is_taken_whole_or_not_at_all"]
    assert found["all"][0] == ["1", "", "12abc is not a number."]
    assert found["all"][1][:2] == ["1", ""]
    assert found["all"][2][:2] == ["0.5", "0.5"]
    assert found["all"][3][1] == "0.14"
    assert found["all"][4][:2] == ["16", "16"]  # as in a file; the address has 16
    assert found["opened"] == "s"


@in_browser
def test_an_address_is_taken_whole_or_not_at_all(shown: dict[str, Any]) -> None:
    found = shown["an_address_is_taken_whole_or_not_at_all"]
    for state, says, part in found["found"]:
        assert state == {}, part
        assert " Nothing of the address is taken, because of " in says, part
    assert found["right"][0] == {"X.1": "1/2", "mask.1": "1"}
    for state, says in found["others"]:
        assert state == {}
        assert says.endswith(" The address belongs to another problem.")


@in_browser
def test_the_causal_switch_beside_a_mask_of_one_row(shown: dict[str, Any]) -> None:
    found = shown["the_causal_switch_beside_a_mask_of_one_row"]
    assert found["all"] == ["110110110", "100110110", "110110110"]
    assert found["state"] == {}
    assert weights_of(found["saved"][0]) == weights_of({"X": ROWS, "mask": BOTH})
    assert weights_of(found["saved"][1]) == weights_of({"X": ROWS, "mask": {"lengths": 2}})


@in_browser
def test_the_causal_switch_of_a_batch_with_lengths(shown: dict[str, Any]) -> None:
    found = shown["the_causal_switch_of_a_batch_with_lengths"]
    assert found["all"] == ["100110110100110111", True, "110110110111111111"]
    lengths = {"X": [ROWS, ROWS], "mask": {"lengths": [2, 3]}}
    assert weights_of(found["saved"][0]) == weights_of(lengths)


BOTH = {"lengths": 2, "causal": True}


def weights_of(problem: str | dict[str, Any]) -> Any:
    keys: dict[str, Any] = yaml.safe_load(problem) if isinstance(problem, str) else problem
    return attncli.compute(attncli.Problem(**keys))["weights"].value.tolist()


@in_browser
def test_a_number_of_an_operation_is_shown_as_it_was_typed(shown: dict[str, Any]) -> None:
    found = shown["a_number_of_an_operation_is_shown_as_it_was_typed"]
    assert found == ["(1/3),(1/3)", "0.33333333,0.33333333", "2.50,2.50", "(2·√(2)),(2·√(2))"]


@in_browser
def test_large_scores_are_shifted(shown: dict[str, Any]) -> None:
    plain, large, several = shown["large_scores_are_shifted"]
    assert plain[0] == pytest.approx(np.exp([1, 2, 3]))
    assert large[0] == large[1] == [1, 0, 0]
    assert several[1] == pytest.approx([1 / (1 + np.exp(-1)), 1 / (1 + np.e), 0])
    assert "The largest score of each line is subtracted from the others now." in large[2]
    assert "largest" not in plain[2]
