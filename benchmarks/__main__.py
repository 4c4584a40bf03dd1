"""Measure how fast the program is: whole commands, and the engine.

Run `python -m benchmarks` in an environment where attncli is installed; `--quick` takes a few
minutes instead of half an hour. Within a table everything is run in turn, so ratios hold though the
machine's speed drifts.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

PARTS = ("benchmarks.commands", "benchmarks.engine")


def main() -> None:
    """Run each part."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, few rounds")
    parser.add_argument("--peers", help="an interpreter with PyTorch and ONNX Runtime")
    asked = parser.parse_args()
    for name in PARTS:
        arguments = ["--quick"] if asked.quick else []
        arguments += ["--peers", asked.peers] if asked.peers else []
        print(f"\n== {name} {' '.join(arguments)}", flush=True)
        subprocess.run([sys.executable, "-m", name, *arguments], check=True)


if __name__ == "__main__":
    main()
