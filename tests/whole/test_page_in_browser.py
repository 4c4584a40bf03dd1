"""Pages in a real browser: keyboard, pointer, narrow windows, and no request to anywhere."""

from __future__ import annotations

import json
import re
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from docs.pictures import BROWSER, FLAGS
from tests.conftest import SAMPLES, table
from tests.support import live_page

pytestmark = pytest.mark.needs("chromium")

FRAME = """
<iframe src="{file}" style="border:0;width:{width}px;height:800px" onload="look(this)"></iframe>"""

PAGE = Path(__file__).with_name("in_frames.html").read_text(encoding="utf-8")
"""A page with frames, which keeps what a script sees of each."""

SCRIPTS = Path(__file__).with_name("in_browser.js").read_text(encoding="utf-8")

ROWS = {row["name"]: row for row in table("in_browser", "pages")}


def seen_in_frames(pages: list[tuple[str, int]], script: str, folder: Path) -> list[Any]:
    """Return what a script sees of each page in a frame of some width; one browser shows all."""
    frames = []
    for number, (page, width) in enumerate(pages):
        (folder / f"page{number}.html").write_text(page)
        frames.append(FRAME.format(file=f"page{number}.html", width=width))
    start = folder / "frames.html"
    start.write_text(PAGE.replace("SCRIPT", script).replace("FRAMES", "".join(frames)))
    assert BROWSER is not None  # or the test is skipped
    profile = f"--user-data-dir={folder / 'profile'}"
    look = [*FLAGS, "--virtual-time-budget=2000", profile, "--dump-dom", start.as_uri()]
    done = subprocess.run([BROWSER, *look], capture_output=True, check=True, timeout=300)
    (text,) = re.findall(r'<pre id="found">(.*?)</pre>', done.stdout.decode(), re.DOTALL)
    record = json.loads(unescape(text))
    assert isinstance(record, list)
    assert len(record) == len(pages)
    return record


def seen(page: str, script: str, folder: Path, width: int = 1000) -> Any:
    """Return what a script sees of a page in a frame of some width."""
    (shown,) = seen_in_frames([(page, width)], script, folder)
    return shown


def page_of(row: dict[str, Any]) -> str:
    if "sample" in row:
        problem = attncli.load(SAMPLES / f"{row['sample']}.yaml").with_keys(row.get("changes", {}))
    else:
        problem = attncli.Problem(**row["keys"])
    options = {name: row.get(name, False) for name in ("full", "reveal", "live")}
    return attncli.render([attncli.compute(problem)] * row.get("times", 1), "html", **options)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return what each script finds on its page."""
    pages = [(page_of(row), row.get("width", 1000)) for row in ROWS.values()]
    names = json.dumps([row.get("script", name) for name, row in ROWS.items()])
    script = f"{SCRIPTS}\nreturn scripts[{names}[frames.indexOf(frame)]]();"
    return dict(
        zip(ROWS, seen_in_frames(pages, script, tmp_path_factory.mktemp("pages")), strict=True)
    )


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if "found" in row])
def test_a_page_does_what_is_told_in_the_table(name: str, found: dict[str, Any]) -> None:
    assert found[name] == ROWS[name]["found"]


def problem_in(yaml: str, folder: Path) -> attncli.Problem:
    """Return the problem that a page gives as a file."""
    (folder / "changed.yaml").write_text(yaml, encoding="utf-8")
    return attncli.load(folder / "changed.yaml")


def test_a_state_stands_in_a_file(found: dict[str, Any], tmp_path: Path) -> None:
    changed = found["a_state_stands_in_a_file"]
    assert "-1/3" in changed["yaml"]
    output = attncli.compute(problem_in(changed["yaml"], tmp_path)).output
    shown = [float(text.replace("−", "-")) for text in changed["output"]]
    assert shown == pytest.approx(output.ravel(), abs=0.5e-4)


def test_a_token_more_and_another_number_of_heads_and_back(
    found: dict[str, Any], tmp_path: Path
) -> None:
    steps = found["a_token_more_and_another_number_of_heads_and_back"]
    assert [tokens for tokens, *_ in steps] == [5, 6, 5, 6, 5]
    assert [state for _, state, *_ in steps] == [{}, *[{"X.19": "5"}] * 4]
    sizes = ["size=tokens-6", "size=heads-1", "size=tokens-6", "X.19=5"]
    assert [changes[:1] for _, _, changes, *_ in steps] == [[], *([size] for size in sizes)]
    for *_, saved, output in steps:
        wanted = attncli.compute(problem_in(saved, tmp_path)).output
        np.testing.assert_allclose(output, wanted.ravel(), rtol=1e-12)


SOME_SAMPLES = (
    "co_attention", "gradient_heads", "integers_columns", "mask_padding", "normalize_sparsemax",
    "online", "recurrent", "score_additive", "transformer_training",
)  # fmt: skip
"""Samples that have most operations."""


def test_changed_pages_show_what_the_program_does(tmp_path: Path) -> None:
    cases = [*live_page.sample_cases(SOME_SAMPLES, 2)]
    assert live_page.survey(cases, tmp_path) == []
