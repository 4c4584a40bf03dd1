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
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

SHOWN = 8
"""Number of differences that are printed in full."""

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


def commands() -> list[list[str]]:
    """Return the commands to compare, with paths relative to the repository."""
    samples = sorted(p for p in (ROOT / "sample_inputs").iterdir() if p.is_file())
    problems = [str(p.relative_to(ROOT)) for p in samples]
    wrong = [str(p.relative_to(ROOT)) for p in sorted((ROOT / "tests/data/errors").iterdir())]
    answers = [str(p.relative_to(ROOT)) for p in sorted((ROOT / "sample_inputs/answers").iterdir())]
    pages = ("table", "json", "yaml", "csv", "tidy", "markdown", "latex", "html", "npz")
    found = [["compute", problem, "-f", form] for problem in problems for form in pages]
    found += [
        ["compute", p, "-f", form, "--full", "-d", "12"]
        for p in problems
        for form in ("table", "html")
    ]
    found += [["compute", problem, "--why"] for problem in problems]
    found += [["compute", path] for path in wrong]
    found += [
        ["worksheet", p, "-f", form]
        for p in problems
        for form in ("markdown", "latex", "html", "yaml", "moodle")
    ]
    found += [["explain", p, "output"] for p in problems]
    found += [["check", p, "--problem-only"] for p in problems[:3]]
    found += [
        ["check", p, a, *f]
        for a in answers
        for p in problems
        if Path(p).stem in ("integers_scaled", "i_am_good", "gradient")
        for f in (
            [],
            ["-f", "json"],
            ["-f", "html"],
            ["-f", "markdown"],
            ["-f", "csv"],
            ["--solution"],
        )
    ]
    found += [
        [command, "--help"]
        for command in ("compute", "check", "explain", "new", "vary", "worksheet")
    ]
    return [
        *found,
        ["--help"],
        ["scores"],
        ["schema"],
        ["samples"],
        ["manual"],
        ["vary", "sample_inputs/integers.yaml", "-n", "2"],
    ]


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
    for arguments, old, new in differ[:SHOWN]:
        print("attn", *arguments)
        a, b = ("\n".join(str(part) for part in given).splitlines() for given in (old, new))
        difference = difflib.unified_diff(a, b, "before", "after", n=0, lineterm="")
        print("\n".join(line[:200] for line in list(difference)[:20]))
    for arguments, *_ in differ[SHOWN:]:
        print("attn", *arguments)
    statuses = Counter(status for status, *_ in after)
    print("exit statuses:", ", ".join(f"{n} of {status}" for status, n in sorted(statuses.items())))
    print(f"{len(differ)} of {len(asked)} outputs differ")
    return int(bool(differ))


if __name__ == "__main__":
    sys.exit(main())
