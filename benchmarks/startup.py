"""Measure how long short commands take, and which imports take the time.

Run `python benchmarks/startup.py [ROUNDS] [CHECKOUT...]`, by default 31 rounds of this checkout.
Whole processes run in turn; the ratios are to `python -c "import numpy, yaml"`, beside the largest
that they should be. Below follow, for each command, the modules that it imports and that process
does not, the longest first (`python -X importtime`, the least of some runs), so that a slower
start points at its module. `tests/house/test_what_commands_import.py` holds what each command
imports.
"""

from __future__ import annotations

import compileall
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # it runs as a script

from benchmarks.in_turn import ATTN, ROOT, Command, in_turn, print_ratios

ROUNDS = 31
TRACED = 7
"""Number of runs of each command whose imports are timed."""

SHOWN = 12
"""Number of modules that are printed for each command."""

SAMPLE = str(ROOT / "sample_inputs" / "i_am_good.yaml")
WRONG = '{"scores": [[14, 10, 9], [10, 11, 6], [9, 7, 6]]}'
BASE = (sys.executable, "-c", "import numpy, yaml")

COMMANDS: Mapping[str, tuple[Sequence[str], float | None]] = {
    'python -c "import numpy, yaml"': (BASE, None),
    'python -c "import numpy"': ((sys.executable, "-c", "import numpy"), None),
    "attn --help": ((*ATTN, "--help"), 0.45),  # half of `import numpy`
    "attn compute -f json": ((*ATTN, "compute", SAMPLE, "-f", "json"), 1.1),
    "attn compute": ((*ATTN, "compute", SAMPLE), 1.3),
    "attn compute --color always": ((*ATTN, "compute", SAMPLE, "--color", "always"), 1.3),
    "attn check, one wrong file": ((*ATTN, "check", SAMPLE, "wrong.json"), 1.5),
}
"""The commands, each with the largest ratio of time that it should have."""


def imports_of(command: Command, folder: str) -> dict[str, int]:
    """Return the microseconds that each imported module takes by itself, the least of some runs."""
    environment = {**os.environ, "PYTHONPATH": str(command.checkout)}
    times: dict[str, list[int]] = defaultdict(list)
    python, *rest = command.words
    for _ in range(TRACED):
        words = [python, "-X", "importtime", *rest]
        done = subprocess.run(
            words, check=False, capture_output=True, text=True, cwd=folder, env=environment
        )
        for own, name in re.findall(r"import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)", done.stderr):
            times[name].append(int(own))
    return {name: min(several) for name, several in times.items()}


def main(*arguments: str) -> None:
    """Print the ratios of all checkouts, and the imports of the first."""
    rounds = int(arguments[0]) if arguments and arguments[0].isdecimal() else ROUNDS
    places = [Path(one).resolve() for one in arguments if not one.isdecimal()] or [ROOT]
    commands: dict[str, Command] = {}
    bounds: dict[str, float] = {}
    for place in places:
        compileall.compile_dir(place / "attncli", quiet=1)  # as installing does
        for name, (words, most) in COMMANDS.items():
            if place is places[0] or most:
                label = name if place is places[0] else f"  {place.name}: {name}"
                commands[label] = Command(words, place, allowed=(0, 1))
                bounds |= {label: most} if most else {}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "wrong.json").write_text(WRONG)
        print(f"medians of {rounds} runs in turn")
        print_ratios(in_turn(commands, rounds, folder), bounds)
        base = imports_of(Command(BASE, places[0]), folder)
        for name, (words, most) in COMMANDS.items():
            if most:
                times = imports_of(Command(words, places[0]), folder)
                more = sorted(((t, m) for m, t in times.items() if m not in base), reverse=True)
                total = sum(times[module] for _, module in more) / 1000
                print(f"\n{name}: {len(more)} modules more, {total:.1f} ms")
                print("".join(f"  {t / 1000:5.2f} {module}" for t, module in more[:SHOWN]))


if __name__ == "__main__":
    main(*sys.argv[1:])
