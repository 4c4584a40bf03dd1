"""The command line of surveys of problems of one mechanism, some of which the tests have."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import attncli
from tests.oracles import reference

Keys = dict[str, Any]

RECORDED = 20
"""Number of problems that the tests have."""


def check_steps(trace: attncli.Trace, keys: Keys) -> None:
    """Compare every step of a problem with 50 digits."""
    reference.check(trace, reference.solve(**keys))


def main(
    draw: Callable[[np.random.Generator], Keys],
    path: Path,
    check: Callable[[attncli.Trace, Keys], None] = check_steps,
) -> None:
    """Compare as many problems with 50 digits as the command line says; `--record` writes some.

    Args:
        draw: returns the keys of a random problem.
        path: the file of the recorded ones.
        check: raises an AssertionError if a step of a problem is not right.
    """
    if "--record" in sys.argv:
        problems = [draw(np.random.default_rng(seed)) for seed in range(RECORDED)]
        path.write_text("".join(f"{json.dumps(keys)}\n" for keys in problems))
        return
    count = int(sys.argv[1])
    for seed in range(count):
        keys = draw(np.random.default_rng([1, seed]))
        check(attncli.compute(attncli.Problem(**keys)), keys)
    print(f"{count} problems: every step is that of 50 digits to 1e-12")
