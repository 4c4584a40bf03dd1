"""Pages that recalculate: any operation is repeated by the page's script, or refused by name.

What they do in a browser is in `tests/whole`.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import numpy as np
import pytest
from py_mini_racer import MiniRacer

import attncli
from attncli.core.attention.masks import Masked
from attncli.core.attention.normalizers import Hardmax, Sparsemax
from attncli.core.attention.norms_and_activations import Length, Phi, TanhGate
from attncli.core.explaining.patterns import Patterns
from attncli.core.formulas import tree
from attncli.core.numbers.written import NumberAsWritten
from attncli.core.records import replace
from attncli.core.tape.evaluation import walk
from attncli.core.tape.operations import Divide
from attncli.core.tape.step import Operation, Step
from attncli.pages import live_tape
from attncli.pages.cell_formulas import key_of
from attncli.pages.live import Worlds, live_trace
from attncli.pages.live_tape import LiveCells, Programs
from attncli.pages.markup import file_text
from tests.conftest import ROOT, SAMPLES, Attn

MAX_GROWTH = 90_000
"""Maximum size in bytes of what lets a page recalculate; a size more has its own markup."""

RESULT = """
function result(program, operands) {
  attnNumpy.noise.level = 0; // a tape with gradients leaves another
  operands.forEach((one) => { one.data = one.data.map((x) => x ?? -Infinity); });
  const {shape, data} = attnNumpy.run(program, operands);
  return JSON.stringify({shape, data: Array.from(data, (x) => `${x}`)});
}
"""


@cache
def interpreter() -> MiniRacer:
    """Return an interpreter that has read the script by which a page calculates."""
    script = MiniRacer()
    script.eval(file_text("numpy.js") + RESULT)
    return script


def on_page(operation: Operation, *others: np.ndarray[Any, Any], **keys: float) -> Any:
    """Return what a page gives for an operation, with other arrays in the operands of its steps.

    `keys` are other numbers for those of the operation that a key of the problem gives.
    """
    programs = Programs()
    steps = [part for part in walk(operation) if isinstance(part, Step)]
    known = {key_of(step): at for at, step in enumerate(steps)}
    which, *operands = programs.add(programs.recorded(operation), known)
    arrays = [{"shape": one.shape, "data": live_tape.plain(one.ravel())} for one in others]
    scalars = {key: {"shape": [], "data": [number]} for key, number in keys.items()}
    values = [scalars[one] if isinstance(one, str) else arrays[one] for one in operands]
    called = json.dumps([programs.all[which], values])
    record = json.loads(str(interpreter().eval(f"result(...{called})")))
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


@pytest.mark.parametrize("name", ["i_am_good", "online", "positions_yarn", "transformer_training"])
def test_what_does_not_choose_is_worked_alike_whatever_the_numbers(name: str) -> None:
    trace = live_trace(attncli.load(SAMPLES / f"{name}.yaml"))
    cells = LiveCells(trace, 0, Programs())
    patterns = Patterns(4, False, trace.problem.columns, to_refill=True)
    worlds = Worlds(trace, patterns, cells)
    alike = [step for step in trace if not cells.chooses(step)]
    assert alike
    assert len(alike) < len([*trace])
    for step in alike:
        place = (0,) * step.value.ndim
        made = [one.derive(step, place) for one in (worlds.real, *worlds.others)]
        assert len({tuple(form.structure for form in one.forms) for one in made}) == 1


def test_cells_of_every_layer_can_be_blocked_also_beside_a_masked_one() -> None:
    layer: dict[str, object] = {key: [[1, 0], [0, 1]] for key in ("W_q", "W_k", "W_v")}
    layers = [{**layer, "mask": "causal"}, layer]
    x = [[1, 0.5], [0, 1]]
    trace = live_trace(attncli.Problem(X=x, layers=layers, kind="transformer", norm="none"))
    masks = {key: one.array.ravel().tolist() for key, one in trace.inputs.items() if "mask" in key}
    assert masks == {"layers.1.mask": [1, 0, 1, 1], "mask": [1, 1, 1, 1]}


def live(name: str) -> str:
    trace = attncli.compute(attncli.load(SAMPLES / f"{name}.yaml"))
    return attncli.render(trace, "html", live=True)


def test_functions_that_the_page_lacks_are_refused_by_name(
    attn: Attn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_tape, "functions", lambda: {"matmul", "move"})
    out = tmp_path / "page.html"
    result = attn("compute", SAMPLES / "i_am_good.yaml", "-o", out, "--live")
    assert result.status == 2
    assert result.err.startswith("a live page cannot calculate where\n")
    assert not out.exists()


def test_labels_and_titles_are_escaped() -> None:
    problem = attncli.Problem(
        title="</script><b>", tokens=["<i>", "&", "{x}"], X=[[1, 0], [0, 1], [1, 1]]
    )
    page = attncli.render(attncli.compute(problem), "html", live=True)
    assert "<b>" not in page
    assert "<i>&lt;" not in page.replace("<th", "")
    assert page.count("</script>") == 2


@pytest.mark.parametrize("name", ["positions_rope", "gradient_heads"])
def test_the_page_grows_by_little(name: str) -> None:
    trace = attncli.compute(attncli.load(SAMPLES / f"{name}.yaml"))
    plain = attncli.render(trace, "html")
    assert len(live(name).encode()) - len(plain.encode()) <= MAX_GROWTH


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
    (message,) = attn("demo", "i_am_good").err.splitlines()
    (page,) = tmp_path.glob("*/i_am_good.html")
    assert message == f"no browser could be opened; the page is {page}"


def test_the_demo_of_the_documents_is_fresh() -> None:
    page = (ROOT / "docs" / "demo.html").read_text(encoding="utf-8")
    texts = [unpacked(text) for text in (live("sentence"), page)]
    assert texts[0] == texts[1], "run python docs/pictures.py demo"


def unpacked(page: str) -> str:
    """Return a live page with what it holds compressed as text: how that is done may differ."""

    def text(match: re.Match[str]) -> str:
        return zlib.decompress(base64.b64decode(match[0])).decode()

    return re.sub('(?<="packed":")[^"]*', text, page)
