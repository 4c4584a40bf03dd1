"""The notebook of docs/: its cells are run, and give what it shows."""

from __future__ import annotations

import json
import re
import runpy
from html import unescape
from typing import Any

from tests.conftest import ROOT


def words(output: dict[str, Any]) -> list[str]:
    """Return what is read in an output; the style and the script of its page may change."""
    shown = (unescape("".join(lines)) for lines in output["data"].values())
    pages = (re.sub(r"(?s)<(style|script)\b.*?</\1>", "", one) for one in shown)
    return [re.sub(r"<[a-z/][^<>]*>", " ", page) for page in pages]


def test_a_notebook_shows_what_its_cells_give() -> None:
    script = runpy.run_path(str(ROOT / "docs" / "notebook.py"))
    notebook = json.loads(script["PAGE"].read_text(encoding="utf-8"))
    cells = [(one["cell_type"], "".join(one["source"])) for one in notebook["cells"]]
    assert cells == [*script["cells"]()]
    given = script["outputs"]([source for kind, source in cells if kind == "code"])
    kept = [one["outputs"][0] for one in notebook["cells"] if one["cell_type"] == "code"]
    assert [words(one) for one in given] == [words(one) for one in kept], "run docs/notebook.py"
    pages = [words(one)[1] for one in kept if "text/html" in one["data"]]
    assert "2.0113" in pages[0]
    assert "counted twice" in pages[1]
