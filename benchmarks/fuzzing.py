"""Run made-up files through the commands for as long as wanted, and count what comes of them.

Run `python benchmarks/fuzzing.py [--minutes N] [--examples N] [--seed N] [--out FOLDER]` in an
environment for development; with `--mutated`, whole samples and right answers with a few changes
are tried, with every command. A file that leads to a traceback, an exit status other than 0, 1 and
2, more than two seconds of calculating or more than 500 MB is kept in FOLDER; small, it belongs
into `tests/data/corpus/`.
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

from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))  # the strategies are those of the tests

from benchmarks.mutated_files import answer_call, problem_call  # noqa: E402
from benchmarks.schema import changed_samples  # noqa: E402 - after the path
from benchmarks.surveys.made_files import Made, answers, files, problems  # noqa: E402
from tests.conftest import SAMPLES, in_process  # noqa: E402

SECONDS = 2.0
MEGABYTES = 500
BATCH = 250
RECORDED = 100

FORMS = ("table", "json", "csv", "yaml", "markdown", "latex", "html")
GOOD = SAMPLES / "i_am_good.yaml"

CALLS = st.one_of(
    st.tuples(files(problems()), st.sampled_from([("compute", "FILE", "-f", f) for f in FORMS])),
    st.tuples(files(answers()), st.just(("check", str(GOOD), "FILE"))),
    st.tuples(files(answers()), st.just(("check", str(GOOD), "FILE", "-f", "json"))),
    st.tuples(files(problems()), st.just(("explain", "FILE", "output[1, 1]", "--deep"))),
    st.tuples(files(problems()), st.just(("check", "FILE", "FILE"))),
)


class Run:
    """Counts of what came of the files so far."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.folder = Path(tempfile.mkdtemp())
        self.counts: Counter[str] = Counter()
        self.slowest = 0.0

    def one(self, call: tuple[Made, tuple[str, ...]]) -> None:
        """Run one command on one file."""
        (suffix, data), arguments = call
        name = f"made{suffix}"
        self.work({name: data}, tuple(name if word == "FILE" else word for word in arguments))

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
    """Write some files of each kind for the tests, in a text whose characters are the bytes."""
    lines: list[str] = []

    @settings(
        max_examples=RECORDED,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(files(problems()), changed_samples(), files(answers()))
    def keep(problem: Made, sample: Made, sheet: Made) -> None:
        for kind, made in {"problem": problem, "sample": sample, "answers": sheet}.items():
            lines.append(json.dumps([kind, made[0], made[1].decode("latin-1")]))

    keep()
    calls = [(problem_call, answer_call)[n % 2](random.Random(n)) for n in range(RECORDED // 2)]
    mutated = [
        json.dumps([{name: data.decode("latin-1") for name, data in files.items()}, arguments])
        for files, arguments in calls
    ]
    path = ROOT / "tests" / "data" / "recorded" / "mutated_files.jsonl"
    path.write_text("\n".join(mutated) + "\n", encoding="utf-8")
    text = "\n".join(dict.fromkeys(lines)) + "\n"
    (ROOT / "tests" / "data" / "recorded" / "made_files.jsonl").write_text(text, encoding="utf-8")


def main() -> None:
    """Fuzz, then print the counts."""
    parser = argparse.ArgumentParser(description="Fuzz the commands with made-up files.")
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--examples", type=int, default=10**9)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("fuzzing"))
    parser.add_argument("--mutated", action="store_true", help="change samples and right answers")
    parser.add_argument("--record", action="store_true", help="write the files of the tests")
    asked = parser.parse_args()
    if asked.record:
        return record()
    run = Run(asked.out)
    end = time.monotonic() + 60 * asked.minutes
    done = 0
    while done < asked.examples and time.monotonic() < end:
        count = min(BATCH, asked.examples - done)
        if asked.mutated:
            for number in range(asked.seed + done, asked.seed + done + count):
                call = (problem_call, answer_call)[number % 2]
                run.work(*call(random.Random(number)))
            done += count
            continue

        @seed(asked.seed + done)
        @settings(
            max_examples=count,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(call=CALLS)
        def batch(call: tuple[Made, tuple[str, ...]]) -> None:
            run.one(call)

        batch()
        done += count
        print(f"\r{done:,}", end="", file=sys.stderr, flush=True)
    for name, number in sorted(run.counts.items()):
        print(f"{number:8,}  {name}")
    print(f"slowest {run.slowest:.2f} s, at most {peak():.0f} MB")
    sys.exit(any(not name.startswith("status") for name in run.counts))


if __name__ == "__main__":
    main()
