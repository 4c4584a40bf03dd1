"""Unpack from a zip file what fills the memory, or takes forever."""

import struct
from functools import partial

from attncli.core.arithmetic.machine import of_bytes
from attncli.reading import files
from tests.attacks import Attn, Patch, Path, save
from tests.reading.test_zip_files import zipped

BOUND = (
    f"{of_bytes(files.MAX_FILE)} per file, and per zip file inside another; "
    f"{of_bytes(files.MAX_READ)} in all; {files.MAX_FILES:,} files, and "
    f"{of_bytes(files.MAX_LIST)} for their list; {files.MAX_ZIPS} zip files, and "
    f"{files.MAX_FOLDERS} folders, inside each other"
)

ANSWERS = "output: [[1]]\n"


def of_size(claimed: int) -> bytes:
    """Return a zip file whose list claims a size for the file in it."""
    data = bytearray(zipped({"hw.yaml": ANSWERS + "# \n" * 9000}))
    struct.pack_into("<I", data, data.index(b"PK\x01\x02") + 24, claimed)
    return bytes(data)


def nested(depth: int) -> bytes:
    data = zipped({"hw.yaml": ANSWERS})
    for _ in range(depth):
        data = zipped({"a.zip": data})
    return data


UPLOADS = {
    "this file unpacks to 2.15 GB": of_size(2**31),
    "the zip file is damaged": of_size(30),
    f"more than {files.MAX_ZIPS} zip files are inside each other": nested(files.MAX_ZIPS),
    f"more than {files.MAX_FOLDERS} folders in the zip file are inside each other": zipped(
        {"a/" * 30_000 + "hw.yaml": ANSWERS}
    ),
    "the list of the files in the zip file takes 4.2": zipped(
        {f"{number:01000}.yaml": "" for number in range(4000)}
    ),
    f"more than {files.MAX_FILES:,} files are in the zip file": zipped(
        {f"{number}.yaml": "" for number in range(files.MAX_FILES + 1)}
    ),
}


def attack(attn: Attn, folder: Path, patch: Patch) -> None:
    attn = partial(attn, cwd=folder)
    save(folder / "hw.yaml", "X: [[1]]\n")
    for said, data in UPLOADS.items():
        save(folder / "class.zip", zipped({"Ada.yaml": ANSWERS, "Bo.zip": data}))
        result = attn("check", "hw.yaml", "class.zip")
        assert result.status == 2
        assert result.err.startswith("class.zip/Bo.zip")
        assert said in result.err
        assert "✓ Ada" in result.out
    patch.setattr(files, "MAX_FILE", 100_000)
    bomb = zipped({f"{number}.txt": " " * 40_000 for number in range(4)})
    save(folder / "class.zip", zipped({"Bo.zip": bomb}))
    said = "more than 100 kB of the zip file would be read"
    assert said in attn("check", "hw.yaml", "class.zip").err
    patch.setattr(files, "MAX_READ", 100_000)
    save(folder / "class.zip", bomb)
    assert said in attn("check", "hw.yaml", "class.zip").err
    assert sorted(path.name for path in folder.iterdir()) == ["class.zip", "hw.yaml"]
