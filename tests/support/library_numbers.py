"""The numbers of libraries in `tests/data/dumps`, and how far those of `attn` are from them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import attncli
from tests.conftest import ROOT

PAGE = ROOT / "docs" / "from-pytorch.md"
DUMPS = ROOT / "tests" / "data" / "dumps"
TABLE = DUMPS / "conventions.md"

BOUNDS = {"float64": 1e-10, "float32": 1e-6}
"""Maximum absolute difference of a number, by the dtype of the library's arrays."""

START, END = "<!-- conventions -->\n", "<!-- end of conventions -->\n"


def differences(problem: Path) -> dict[str, float]:
    """Return the largest difference of each array of a dump, from the step that it is."""
    trace = attncli.compute(attncli.load(problem))
    dump = np.load(problem.with_name(f"{problem.stem}_dump.npz"))
    found = {}
    for word in dump.files:
        step = trace[word.removeprefix("attention_")]
        array = dump[word]
        if step.value.ndim == array.ndim + 1:  # features of all heads side by side
            heads = step.value.shape[1]
            array = array.reshape(*array.shape[:2], heads, -1).swapaxes(1, 2)
        assert step.value.shape == array.shape, (problem.name, word)
        found[word] = float(np.abs(step.value - array).max())
    return found


def bound(problem: Path) -> float:
    dump = np.load(problem.with_name(f"{problem.stem}_dump.npz"))
    return max(BOUNDS[str(dump[word].dtype)] for word in dump.files)


def problems() -> list[Path]:
    return sorted(path for path in DUMPS.glob("*.npz") if not path.stem.endswith("_dump"))
