"""Compare what two checkouts print: every sample, problem with an error, format and help text.

    python benchmarks/same_outputs.py ../before .

Prints one line per command whose output, messages or exit status differ, and a diff of the first
few. The exit status is 1 if any does.
"""

from __future__ import annotations

import difflib
import json
import os
import subprocess
import sys
from collections import Counter
from itertools import product
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

SHOWN = 8
"""Number of differences that are printed in full."""

ANSWERED = ("gradient", "i_am_good", "integers_scaled")
"""Samples that answers of students are checked against."""

RUNNER = """
import contextlib, io, json, sys
from attncli.cli.main import run
for line in sys.stdin:
    arguments = json.loads(line)
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = run(arguments)
        except SystemExit as stop:
            status = stop.code
    out.flush(), err.flush()
    texts = [stream.buffer.getvalue().decode("latin-1") for stream in (out, err)]
    print(json.dumps([status, *texts]), file=sys.__stdout__)
"""


def files(pattern: str) -> list[str]:
    return sorted(str(path.relative_to(ROOT)) for path in ROOT.glob(pattern) if path.is_file())


WORDS = {
    "SAMPLE": files("sample_inputs/*"),
    "WRONG": files("tests/data/errors/*"),
    "ANSWERED": [path for name in ANSWERED for path in files(f"sample_inputs/{name}.*")],
    "ANSWERS": files("sample_inputs/answers/*"),
    "FORM": ["table", "json", "yaml", "csv", "tidy", "markdown", "latex", "html", "npz"],
    "WIDE": ["table", "html"],
    "SHEET": ["markdown", "latex", "html", "yaml", "moodle"],
    "REPORT": ["table", "json", "html", "markdown", "csv"],
    "COMMAND": ["compute", "check", "explain", "new", "vary", "worksheet"],
    "TOPIC": ["--help", "scores", "schema", "samples", "manual"],
}
COMMANDS = (
    *("compute SAMPLE -f FORM", "compute SAMPLE -f WIDE --full -d 12", "compute SAMPLE --why"),
    *("compute WRONG", "worksheet SAMPLE -f SHEET", "explain SAMPLE output"),
    *("check SAMPLE --problem-only", "check ANSWERED ANSWERS -f REPORT"),
    *("check ANSWERED ANSWERS --solution", "vary sample_inputs/integers.yaml -n 2"),
    *("COMMAND --help", "TOPIC"),
)
"""What is compared: each with every one of its words in capitals."""


def commands() -> list[list[str]]:
    """Return the commands to compare, with paths relative to the repository."""
    choices = ([WORDS.get(word, [word]) for word in line.split()] for line in COMMANDS)
    return [[*words] for several in choices for words in product(*several)]


def outputs(checkout: str, asked: list[list[str]]) -> list[list[str | int]]:
    """Return exit status, output and messages of each command, as one checkout gives them."""
    done = subprocess.run(
        [sys.executable, "-c", RUNNER],
        input="".join(json.dumps(arguments) + "\n" for arguments in asked),
        capture_output=True, text=True, cwd=checkout, check=True,
        env={**os.environ, "PYTHONPATH": str(Path(checkout).resolve()), "COLUMNS": "100"},
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()]


def main() -> int:
    """Compare two checkouts; return 1 if a command differs."""
    asked = commands()
    before, after = (outputs(checkout, asked) for checkout in sys.argv[1:3])
    differ = [(a, b, c) for a, b, c in zip(asked, before, after, strict=True) if b != c]
    for number, (arguments, old, new) in enumerate(differ):
        print("attn", *arguments)
        a, b = ("\n".join(map(str, given)).splitlines() for given in (old, new))
        difference = difflib.unified_diff(a, b, "before", "after", n=0, lineterm="")
        if number < SHOWN:
            print("\n".join(line[:200] for line in list(difference)[:20]))
    statuses = Counter(status for status, *_ in after)
    print("exit statuses:", ", ".join(f"{n} of {status}" for status, n in sorted(statuses.items())))
    print(f"{len(differ)} of {len(asked)} outputs differ")
    return int(bool(differ))


if __name__ == "__main__":
    sys.exit(main())
