"""Measure how long short commands take, as ratios to `python -c "import numpy, yaml"`.

Run `python benchmarks/startup.py [ROUNDS]` in an environment where attncli is installed. The
commands are run in turn, round after round, so that a machine whose speed drifts slows all of them
alike; the ratio is that of the medians. `tests/test_startup.py` holds what each command imports.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 31
ROOT = Path(__file__).parent.parent
SAMPLE = str(ROOT / "sample_inputs" / "i_am_good.yaml")
ATTN = str(Path(sys.executable).parent / "attn")

WRONG = '{"scores": [[14, 10, 9], [10, 11, 6], [9, 7, 6]]}'

COMMANDS: dict[str, tuple[list[str], float | None]] = {
    'python -c "import numpy, yaml"': ([sys.executable, "-c", "import numpy, yaml"], None),
    "attn --help": ([ATTN, "--help"], 0.55),
    "attn compute -f json": ([ATTN, "compute", SAMPLE, "-f", "json"], 1.1),
    "attn compute": ([ATTN, "compute", SAMPLE], 1.3),
    "attn compute --color always": ([ATTN, "compute", SAMPLE, "--color", "always"], 1.3),
    "attn check, one wrong sheet": ([ATTN, "check", SAMPLE, "wrong.json"], 1.5),
}


def once(command: list[str], folder: str) -> float:
    """Return the seconds of one run of a whole process."""
    start = time.perf_counter()
    done = subprocess.run(command, check=False, capture_output=True, cwd=folder)
    seconds = time.perf_counter() - start
    if done.returncode != ("check" in command):
        raise SystemExit(done.stderr.decode())
    return seconds


def main(rounds: int = ROUNDS) -> None:
    """Print medians and ratios beside the most that they should be."""
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "wrong.json").write_text(WRONG)
        for number in range(rounds + 1):
            for name, (command, _) in COMMANDS.items():
                seconds = once(command, folder)
                if number:  # the first round warms the file cache
                    times[name].append(seconds)
    medians = {name: statistics.median(values) for name, values in times.items()}
    base = next(iter(medians.values()))
    print(f"medians of {rounds} interleaved runs")
    for name, median in medians.items():
        most = COMMANDS[name][1]
        bound = f"  at most {most}" if most else ""
        print(f"{name:32} {median * 1000:6.1f} ms  {median / base:5.2f}{bound}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
