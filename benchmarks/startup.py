"""Measure how long short commands take, as ratios to `python -c "import numpy"`.

Run `python benchmarks/startup.py` in an environment where attncli is installed. The commands are
run in turn, round after round, so that a machine whose speed drifts slows all of them alike; the
ratio is that of the medians.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

ROUNDS = 31
ROOT = Path(__file__).parent.parent
SAMPLE = str(ROOT / "sample_inputs" / "i_am_good.yaml")
ATTN = str(Path(sys.executable).parent / "attn")

COMMANDS: dict[str, tuple[list[str], float | None]] = {
    'python -c "import numpy"': ([sys.executable, "-c", "import numpy"], None),
    "attn --help": ([ATTN, "--help"], 0.8),
    "attn compute -f json": ([ATTN, "compute", SAMPLE, "-f", "json"], 1.3),
    "attn compute": ([ATTN, "compute", SAMPLE], 1.6),
    "attn compute --color always": ([ATTN, "compute", SAMPLE, "--color", "always"], 1.6),
}


def once(command: list[str]) -> float:
    """Return the seconds of one run of a whole process."""
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - start


def main() -> None:
    """Print medians and ratios beside the most that they should be."""
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for number in range(ROUNDS + 1):
        for name, (command, _) in COMMANDS.items():
            seconds = once(command)
            if number:  # the first round warms the file cache
                times[name].append(seconds)
    medians = {name: statistics.median(values) for name, values in times.items()}
    base = next(iter(medians.values()))
    print(f"medians of {ROUNDS} interleaved runs")
    for name, median in medians.items():
        most = COMMANDS[name][1]
        bound = f"  at most {most}" if most else ""
        print(f"{name:32} {median * 1000:6.1f} ms  {median / base:5.2f}{bound}")


if __name__ == "__main__":
    main()
