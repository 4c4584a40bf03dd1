"""Run code, or unpickle objects."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from tests.attacks import Attn, Patch, refuse, save

BOUND = "none is run"


def attack(attn: Attn, folder: Path, patch: Patch) -> None:
    touched = folder / "touched"

    class Touch:
        def __reduce__(self) -> Any:
            return (Path.touch, (touched,))

    np.savez(folder / "x.npz", X=np.array([Touch()], dtype=object))
    np.save(folder / "x.npy", np.array([Touch()], dtype=object))
    for name in ("x.npz", "x.npy"):
        refuse(attn, "Python objects, not numbers", "compute", folder / name)
    code = f"__import__('pathlib').Path({str(touched)!r}).touch()"
    for problem in ({"X": code}, {"X": [[code]]}, {"X": [[1]], "scale": code}):
        refuse(attn, "p.json:1:", "compute", save(folder / "p.json", json.dumps(problem)))
    tagged = f"X: !!python/object/apply:pathlib.Path.touch [!!python/name:x '{touched}']\n"
    for text in (tagged, f"X = np.array({code})\n", f'X: [[1]]\nmask: {{when: "{code}"}}\n'):
        refuse(attn, "p.yaml:", "compute", save(folder / "p.yaml", text))
    assert not touched.exists()
