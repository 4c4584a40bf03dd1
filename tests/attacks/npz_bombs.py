"""Unpack to a huge archive."""

import numpy as np

from attncli.reading.arrays import MAX_ARRAYS, MAX_UNPACKED
from tests.attacks import Attn, Patch, Path, refuse, save
from tests.attacks.claimed_arrays import header
from tests.reading.test_zip_files import zipped

BOUND = f"{MAX_ARRAYS:,} arrays, {MAX_UNPACKED} times the size of the file"


def attack(attn: Attn, folder: Path, patch: Patch) -> None:
    many = {f"X{number}.npy": b"" for number in range(MAX_ARRAYS + 1)}
    zeros = {"X.npy": header((3000, 3000)) + bytes(72_000_000)}
    for members, said in (
        (many, f"the file holds {MAX_ARRAYS + 1:,} arrays"),
        (zeros, "kB unpacks to 72 MB"),
    ):
        refuse(attn, said, "compute", save(folder / "x.npz", zipped(members)))
    np.savez_compressed(folder / "mask.npz", X=np.zeros((1000, 1000)))  # which shrinks as much
    assert attn("compute", folder / "mask.npz", "--only", "K", "-f", "csv").status == 0
