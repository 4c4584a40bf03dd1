"""Claim an array larger than the file."""

import io
import zipfile

import numpy as np

from tests.attacks import Attn, Patch, Path, refuse, save
from tests.reading.test_zip_files import zipped

BOUND = "–"


def header(shape: tuple[int, ...]) -> bytes:
    file = io.BytesIO()
    about = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, about)
    return file.getvalue()


def attack(attn: Attn, folder: Path, patch: Patch) -> None:
    for name, data, said in (
        ("x.npy", header((10**6, 10**6)), "X claims 1,000,000,000,000 numbers"),
        ("x.npy", header((-1, 3)), "the file is damaged"),
        ("x.npz", zipped({"W_q.npy": header((9, 10**9))}), "W_q claims 9,000,000,000 numbers"),
        ("x.npz", zipped({"\x1b[2J.npy": header((9, 9))}), r"\x1b[2J claims 81 numbers"),
        ("x.npz", zipped({"X.npy": header((1,)) + bytes(8)}, zipfile.ZIP_LZMA), "damaged"),
    ):
        refuse(attn, said, "compute", save(folder / name, data))
