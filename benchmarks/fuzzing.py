"""Run changed files through the commands for as long as wanted, and count what comes of them.

    python -m benchmarks.fuzzing [--minutes N] [--examples N] [--seed N] [--out FOLDER]

Whole samples and right answers with a few changes are tried, with every command. A file that leads
to a traceback, an exit status other than 0, 1 and 2, more than two seconds of calculating or more
than 500 MB is kept in FOLDER; small, it belongs into `tests/data/corpus/`.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from benchmarks.mutated_files import Call, answer_call, problem_call
from tests.conftest import ROOT, in_process

SECONDS = 2.0
MEGABYTES = 500
BATCH = 250
RECORDED = 50


class Run:
    """Counts of what came of the files so far."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.folder = Path(tempfile.mkdtemp())
        self.counts: Counter[str] = Counter()
        self.slowest = 0.0

    def work(self, files: dict[str, bytes], arguments: tuple[str, ...]) -> None:
        """Run one command on some files, of which the last is kept if it breaks something."""
        for name, data in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        start, what = time.process_time(), ""
        try:
            result = in_process(*arguments, cwd=self.folder)
            status, may_be_1 = result.status, arguments[0] in ("check", "vary")
            if status not in (0, 1, 2) or (status == 1 and not may_be_1):
                what = f"status {status} of {arguments[0]}"
            elif status == 2 and not result.err:
                what = "status 2 without a message"
            self.counts[f"status {status}"] += 1
        except (Exception, SystemExit):
            what = traceback.format_exc()
        seconds = time.process_time() - start
        self.slowest = max(self.slowest, seconds)
        if not what and seconds > SECONDS:
            what = f"{seconds:.1f} seconds"
        if not what and peak() > MEGABYTES and not self.counts["too much memory"]:
            what = "too much memory"
        if what:
            self.keep(what, arguments, Path(name).suffix, data)

    def keep(self, what: str, arguments: tuple[str, ...], suffix: str, data: bytes) -> None:
        """Keep what broke, with how, once for each kind of break."""
        name = what.strip().splitlines()[-1][:80]
        self.counts[name] += 1
        if self.counts[name] == 1:
            self.out.mkdir(parents=True, exist_ok=True)
            number = len(list(self.out.iterdir()))
            (self.out / f"{number}{suffix}").write_bytes(data)
            (self.out / f"{number}.told").write_text(f"{' '.join(arguments)}\n{what}\n")


def peak() -> float:
    """Return the most megabytes that this process has had in memory."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def record() -> None:
    """Write some calls for the tests, in a text whose characters are the bytes."""
    lines = [
        json.dumps([{name: data.decode("latin-1") for name, data in files.items()}, arguments])
        for files, arguments in map(call, range(RECORDED))
    ]
    path = ROOT / "tests" / "data" / "recorded" / "mutated_files.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def call(number: int) -> Call:
    """Draw the call of a number: a problem, or answers to one."""
    return (problem_call, answer_call)[number % 2](random.Random(number))


def main() -> None:
    """Fuzz, then print the counts."""
    parser = argparse.ArgumentParser(description="Fuzz the commands with made-up files.")
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--examples", type=int, default=10**9)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("fuzzing"))
    parser.add_argument("--record", action="store_true", help="write the files of the tests")
    asked = parser.parse_args()
    if asked.record:
        return record()
    run = Run(asked.out)
    end = time.monotonic() + 60 * asked.minutes
    done = 0
    while done < asked.examples and time.monotonic() < end:
        run.work(*call(asked.seed + done))
        done += 1
        if done % BATCH == 0:
            print(f"\r{done:,}", end="", file=sys.stderr, flush=True)
    for name, number in sorted(run.counts.items()):
        print(f"{number:8,}  {name}")
    print(f"slowest {run.slowest:.2f} s, at most {peak():.0f} MB")
    sys.exit(any(not name.startswith("status") for name in run.counts))


if __name__ == "__main__":
    main()
