"""Ask for a calculation that fills the memory."""

import numpy as np

from attncli.core.calculation import compute
from tests.attacks import Attn, Patch, Path, refuse

BOUND = "the free memory"


def attack(attn: Attn, folder: Path, patch: Patch) -> None:
    np.savez(folder / "x.npz", X=np.ones((20_000, 2)), W_v=np.ones((2, 1)))
    np.savez(folder / "g.npz", X=np.ones((4096, 64)))
    np.savez(folder / "s.npz", X=np.ones((2500, 2)))
    gradient = ("--heads", "8", "--gradient", "sum", "--only", "d_X")
    # Scores, scaled, exp and weights of 8 bytes per number, and whether each number is finite;
    # with a gradient, seven arrays of 8 × 4,096 × 4,096 numbers, and smaller ones.
    for free, said, hint, arguments in (
        ("5 GB", "13.2 GB", "--only output keeps no step of n × m numbers", ("x.npz",)),
        ("2 GB", "7.66 GB", "take fewer tokens", ("g.npz", *gradient)),
        ("0.03 GB", "", "--only output", ("s.npz",)),
    ):
        available = int(float(free.split()[0]) * 10**9)
        patch.setattr(compute, "free_memory", lambda available=available: available)
        needed = f"the calculation takes about {said}"
        refuse(attn, needed, "compute", *arguments, cwd=folder)
        assert hint in attn("compute", *arguments, cwd=folder).err
    assert attn("compute", folder / "s.npz", "--only", "output", "-f", "csv").status == 0
