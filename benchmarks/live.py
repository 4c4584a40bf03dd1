"""Measure how long a change takes on a page that recalculates, until the page is laid out again.

Run `python -m benchmarks.live` where Chromium is installed. A number of X is changed as by typing:
calculated, put into every text, and what is seen is laid out. The time of a change is that of a
browser with many of them, less that of one with few, as a browser without a screen has no clock.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import attncli
from tests.whole.test_page_in_browser import seen

CASES = (
    ("6 tokens × 8 features, 2 heads", 6, 8, 2, 16),
    ("24 tokens × 64 features", 24, 64, 1, 60),
)
"""What is changed: tokens, features, heads, and the milliseconds that a change may take."""

FEW, MANY = 20, 320

SCRIPT = """
var td = d.querySelector("td.given");
td.click();
var field = td.querySelector("input");
for (var i = 0; i < COUNT; i += 1) {
  field.value = String(1 + (i % 50) / 10);
  field.dispatchEvent(new w.Event("input"));
  d.body.getBoundingClientRect();
}
return d.querySelectorAll("td[data-c]").length;
"""


def page(tokens: int, features: int, heads: int, full: bool) -> str:
    numbers = np.random.default_rng(0)
    rows = {"W_q": features, "W_k": features, "W_v": features, "X": tokens}
    keys: dict[str, Any] = {
        key: numbers.normal(size=(count, features)).round(2) for key, count in rows.items()
    }
    trace = attncli.compute(attncli.Problem(**keys, heads=heads))
    return attncli.render(trace, "html", live=True, full=full)


def seconds(text: str, count: int) -> tuple[float, int]:
    """Return how long a browser takes with so many changes, and the numbers on the page."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        cells = seen(text, SCRIPT.replace("COUNT", str(count)), Path(folder), 1400)
        return time.perf_counter() - start, cells


def main() -> None:
    print("milliseconds of a change, and at most; numbers on the page")
    for (name, tokens, features, heads, most), full in product(CASES, (False, True)):
        text = page(tokens, features, heads, full)
        rounds = [(seconds(text, FEW), seconds(text, MANY)) for _ in range(3)]
        each = statistics.median((many - few) / (MANY - FEW) for (few, _), (many, _) in rounds)
        print(f"{name:32}{'whole' * full:6}{1000 * each:6.1f} {most:6} {rounds[0][0][1]:8,}")


if __name__ == "__main__":
    main()
