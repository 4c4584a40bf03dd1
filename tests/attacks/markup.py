"""Run as markup in HTML, LaTeX or Markdown, or as a formula in a spreadsheet."""

import csv
import json
import re
from functools import partial

from tests.attacks import Attn, Patch, Path, save
from tests.conftest import table

BOUND = "–"

MARKUP = (
    r"<script>alert(1)</script><img src=x onerror=alert(1)>\input{/etc/passwd}$x$[a](javascript:b)"
)
OBEYED = {
    **dict.fromkeys(("html", "html --live"), r"<script>alert|<img"),
    "markdown": r"(?<!\\)<(script|img)|(?<!\\)\]\(javascript|(?<!>)\$x",
    "latex": r"\\input\{|(?<!\\)\$x",
}
"""Markup that would be obeyed, by the format."""

FORMULAS: list[str] = table("attacks", "formulas")
FORMULA = re.compile(r"\s*[=+\-@＝＋－＠](?!\d*\.?\d*$)")


def attack(attn: Attn, folder: Path, patch: Patch) -> None:
    attn = partial(attn, cwd=folder)
    x = [[n, 1] for n, _ in enumerate(FORMULAS)]
    of_markup = {"title": MARKUP, "notes": MARKUP, "tokens": [MARKUP, "b"], "X": [[1, 0], [0, 2]]}
    tour = [{"step": "scores", "cell": [2, 1], "text": MARKUP}]
    save(folder / "m.json", json.dumps({**of_markup, "tour": tour}))
    for form, obeyed in OBEYED.items():
        out = attn("compute", "m.json", "-f", *form.split()).out
        assert "alert(1)" in out
        assert not re.search(obeyed, out), form

    for number, title in enumerate(FORMULAS):
        of_formulas = {"title": title, "notes": title, "tokens": FORMULAS, "X": x, "student": title}
        save(folder / f"hw/{number}.json", json.dumps(of_formulas))
        answers = {"student": title, "comment": title, "scores": [[0]]}
        save(folder / f"in/{number}.json", json.dumps(answers))
    rows = [["Name", *FORMULAS], *([name, *FORMULAS] for name in FORMULAS)]
    with (folder / "roster.csv").open("w", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows(rows)
    problem, roster, points = "hw/6.json", ("--for", "roster.csv"), ("--points", "scores: 5")
    attn("check", problem, "in", "--manifest", "m.csv")
    attn("check", problem, "in", *roster, "--manifest", "n.csv")
    texts = [(folder / name).read_text(encoding="utf-8") for name in ("m.csv", "n.csv")]
    for form in ("csv", "tsv"):
        texts += [
            attn("compute", problem, "-f", form).out,
            attn("worksheet", problem, "-f", "csv").out,
            attn("check", problem, "in", "-f", form).out,
            attn("check", problem, "in", *roster, "-f", form, *points).out,
            attn("check", problem, "in", *roster, "--totals", "-f", form, *points).out,
        ]
    texts += [attn("compute", problem, "-f", "tidy").out, attn("count", problem, "-f", "csv").out]
    for text in texts:
        assert ";'=1+1" in text
        split_everywhere = [cell for line in text.splitlines() for cell in line.split(";")]
        split_outside_of_quotes = re.findall(r'"(?:[^"]|"")*"|[^",;\t\n]+', text)
        cells = (cell.strip('"') for cell in (*split_everywhere, *split_outside_of_quotes))
        assert not list(filter(FORMULA.match, cells))
