"""Lead out of a zip file by `..`, an absolute name or a link."""

import io
import zipfile
from functools import partial

from attncli.reading.files import entries_in, open_file
from tests.attacks import Attn, Patch, Path, refuse, save
from tests.reading.test_zip_files import zipped

BOUND = "–"


def link(name: str, target: str) -> bytes:
    """Return a zip file with a link, as `zip --symlinks` writes it."""
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, 0o120777 << 16
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(info, target)
    return file.getvalue()


def attack(attn: Attn, folder: Path, patch: Patch) -> None:
    attn = partial(attn, cwd=folder)
    save(folder / "x.csv", "1,2\n")
    for name in ("../../x.csv", "/x.csv", str(folder / "x.csv"), "a/../../x.csv", "..\\x.csv"):
        file = str(save(folder / "up.zip", zipped({name: "5,6\n"})))
        found = [one.path for one in entries_in(file) if not one.is_folder]
        assert [open_file(Path(one)).read() for one in found] == [b"5,6\n"]
    assert [path.name for path in folder.rglob("*")] == ["x.csv", "up.zip"]
    for name in ("../x.csv", str(folder / "x.csv"), "a/../../x.csv"):
        save(folder / "up.zip", zipped({"p.yaml": f"X: {name}\n"}))
        refuse(attn, "this lies outside the folder", "compute", "up.zip/p.yaml")
    save(folder / "up.zip", link("p.yaml", str(folder / "x.csv")))
    refuse(attn, "this is a link, which is not followed", "compute", "up.zip/p.yaml")
