"""Measure how long short commands take, as ratios to `python -c "import numpy, yaml"`.

Run `python benchmarks/startup.py [CHECKOUT...]`, by default for this checkout. With a second one,
the last column is its time divided by that of the first. The commands are run in turn, round after
round, so that a machine whose speed drifts slows all of them alike; the ratios are those of the
medians. `tests/test_startup.py` holds what each command imports.
"""

from __future__ import annotations

import compileall
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 31
ROOT = Path(__file__).parent.parent
SAMPLE = str(ROOT / "sample_inputs" / "i_am_good.yaml")
ATTN = [sys.executable, "-m", "attncli"]

WRONG = '{"scores": [[14, 10, 9], [10, 11, 6], [9, 7, 6]]}'

COMMANDS: dict[str, tuple[list[str], float | None]] = {
    'python -c "import numpy, yaml"': ([sys.executable, "-c", "import numpy, yaml"], None),
    "attn --help": ([*ATTN, "--help"], 0.55),
    "attn compute -f json": ([*ATTN, "compute", SAMPLE, "-f", "json"], 1.1),
    "attn compute": ([*ATTN, "compute", SAMPLE], 1.3),
    "attn compute --color always": ([*ATTN, "compute", SAMPLE, "--color", "always"], 1.3),
    "attn check, one wrong file": ([*ATTN, "check", SAMPLE, "wrong.json"], 1.5),
}
"""The commands, each with the largest ratio that it should have."""


def once(command: list[str], folder: str, checkout: str) -> float:
    """Return the seconds of one run of a whole process."""
    environment = {**os.environ, "PYTHONPATH": str(Path(checkout).resolve())}
    start = time.perf_counter()
    done = subprocess.run(command, check=False, capture_output=True, cwd=folder, env=environment)
    seconds = time.perf_counter() - start
    if done.returncode != ("check" in command):
        raise SystemExit(done.stderr.decode())
    return seconds


def main(*checkouts: str) -> None:
    """Print medians and ratios beside the largest that they should be."""
    places = checkouts or (str(ROOT),)
    times: dict[tuple[str, str], list[float]] = {(name, p): [] for name in COMMANDS for p in places}
    for place in places:
        compileall.compile_dir(Path(place) / "attncli", quiet=1)  # as installing does
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "wrong.json").write_text(WRONG)
        for number in range(ROUNDS + 1):
            for (name, place), seconds in times.items():
                elapsed = once(COMMANDS[name][0], folder, place)
                if number:  # the first round warms the file cache
                    seconds.append(elapsed)
    medians = {key: statistics.median(values) for key, values in times.items()}
    base = next(iter(medians.values()))
    print(f"medians of {ROUNDS} interleaved runs")
    for name, (_, most) in COMMANDS.items():
        median = medians[name, places[0]]
        bound = f"  at most {most}" if most else ""
        others = "".join(f"  ×{medians[name, place] / median:.3f}" for place in places[1:])
        print(f"{name:32} {median * 1000:6.1f} ms  {median / base:5.2f}{bound:13}{others}")


if __name__ == "__main__":
    main(*sys.argv[1:])
