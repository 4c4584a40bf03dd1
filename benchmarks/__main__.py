"""Measure how fast the program is: start-up, the engine, files, many small problems, checking.

Run `python -m benchmarks` in an environment where attncli is installed; `--quick` takes a few
minutes instead of half an hour. Each part is a script of its own that prints its tables; within a
part everything is run in turn, so ratios hold though the machine's speed drifts.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

PARTS = {
    "startup.py": (["5"], ["31"]),
    "engine.py": (["--quick"], []),
    "files.py": (["--quick"], []),
    "classes.py": (["30"], ["300"]),
    "pages.py": ([], []),
    "streams.py": (["3", "500", "300"], ["5", "2000", "3000"]),
}
"""What is run, with its arguments: quick, and whole."""


def main() -> None:
    """Run each part."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, few rounds")
    parser.add_argument("--peers", help="an interpreter with PyTorch and ONNX Runtime")
    asked = parser.parse_args()
    for name, (quick, whole) in PARTS.items():
        arguments = quick if asked.quick else whole
        if asked.peers and name == "engine.py":
            arguments = [*arguments, "--peers", asked.peers]
        print(f"\n== {name} {' '.join(arguments)}", flush=True)
        subprocess.run([sys.executable, Path(__file__).parent / name, *arguments], check=True)


if __name__ == "__main__":
    main()
