"""Zip files are folders: what is in them is found, and what is hostile is one plain error."""

from __future__ import annotations

import io
import time
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attncli.core.errors import InputError
from attncli.reading import files
from tests.classroom.test_classes import RIGHT, SMALL, WRONG, book, write
from tests.conftest import Attn

MATRIX = "1, 0\n0, 4\n"


def zipped(members: Mapping[str, bytes | str], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def changed(data: bytes, old: bytes, new: bytes) -> bytes:
    assert old in data
    assert len(old) == len(new)
    return data.replace(old, new)


CLASS = {
    "Ada/hw.yaml": RIGHT["Small"],
    "Bo/hw.yaml": WRONG["Small"],
    "Cy/hw.yaml": "scores: s.csv\n",
    "Di/hw.yaml": RIGHT["Small"],
    "Di/hw.tex": "a page without answers\n",
}


def test_a_zip_file_is_graded_as_its_folder(attn: Attn, tmp_path: Path) -> None:
    write(tmp_path, {"hw.yaml": SMALL, **{f"class/{name}": text for name, text in CLASS.items()}})
    hidden = {"__MACOSX/Ada/._hw.yaml": "\0", "Ada/.DS_Store": "\0"}
    (tmp_path / "class.zip").write_bytes(zipped({**CLASS, **hidden}))
    rows = book(attn, tmp_path, "hw.yaml", "class")
    assert [name for name, _, _ in rows] == ["Ada", "Bo", "Cy", "Di"]
    assert book(attn, tmp_path, "hw.yaml", "class.zip") == rows
    page = attn("check", "hw.yaml", "class", cwd=tmp_path)
    same = attn("check", "hw.yaml", "class.zip", cwd=tmp_path)
    assert (same.status, same.out) == (page.status, page.out)
    assert "class.zip/Cy/hw.yaml" in same.err


def test_problems_and_matrices_are_found_in_zip_files(attn: Attn, tmp_path: Path) -> None:
    inner = zipped({"a/hw.yaml": "X: x.csv\nscore: dot\n", "a/x.csv": "1, 0\n0, 2\n"})
    (tmp_path / "hw.zip").write_bytes(zipped({"in/Inner.ZIP": inner}))
    name = "hw.zip/in/Inner.ZIP/a/hw.yaml"
    result = attn("compute", name, "--only", "scores", "-f", "csv", cwd=tmp_path)
    assert (result.status, result.out) == (0, "1,0\n0,4\n")
    (tmp_path / "w.csv").write_text(MATRIX)
    for answers in ("w.csv", "hw.zip/in/Inner.ZIP/a/x.csv"):
        checked = attn("check", name, "-m", f"scores={answers}", cwd=tmp_path)
        assert checked.status == (0 if answers == "w.csv" else 1)
    missing = attn("compute", "hw.zip/in/Inner.ZIP/a/hv.yaml", cwd=tmp_path)
    assert missing.err.endswith(f"there is no such file\n  did you mean {name}?\n")
    folder = attn("compute", "hw.zip", cwd=tmp_path)
    assert folder.err == f"hw.zip: this is a folder\n  name a file in it, such as {name}\n"


def test_uploads_in_a_download_are_graded_and_a_bad_one_stops_no_other(
    attn: Attn, tmp_path: Path
) -> None:
    right, wrong = zipped({"hw.yaml": RIGHT["Small"]}), zipped({"x/hw.yaml": WRONG["Small"]})
    uploads = {"Ada/up.zip": right, "Bo/up.zip": wrong, "Cy/up.zip": right[:60], "Di.zip": right}
    write(tmp_path, {"hw.yaml": SMALL})
    (tmp_path / "class.zip").write_bytes(zipped(uploads))
    result = attn("check", "hw.yaml", "class.zip", cwd=tmp_path)
    assert result.status == 2
    assert result.err.startswith("class.zip/Cy/up.zip: the zip file is damaged\n")
    assert "4 answers: 2 correct, 1 wrong, 1 could not be read" in result.out
    for name, status in (("Ada/up.zip", 0), ("Bo/up.zip/x/hw.yaml", 1), ("Cy/up.zip", 2)):
        assert attn("check", "hw.yaml", f"class.zip/{name}", cwd=tmp_path).status == status


WAYS = {
    "a zip file each": {
        name: {"hw.yaml": RIGHT["Small"]} for name in ("a.zip", "b.zip", "b c.zip")
    },
    "the same name": {"up.zip": {"hw.yaml": RIGHT["Small"]}},
    "a folder in it": {"up.zip": {"hw/hw.yaml": RIGHT["Small"], "__MACOSX/hw/._hw.yaml": "-"}},
}


@pytest.mark.parametrize("way", WAYS)
def test_an_upload_alone_in_a_folder_is_that_folder(way: str, attn: Attn, tmp_path: Path) -> None:
    uploads = [(name, zipped(members)) for name, members in WAYS[way].items()]
    names = ["Ada", "Bo", "Cy"]
    pairs = zip(names, uploads * 3, strict=False)
    members: dict[str, bytes | str] = {f"{name}/{file}": data for name, (file, data) in pairs}
    write(tmp_path, {"hw.yaml": SMALL})
    (tmp_path / "class.zip").write_bytes(zipped({**members, "Di/scan.pdf": "%PDF", "Ed/": ""}))
    rows = book(attn, tmp_path, "hw.yaml", "class.zip")
    right = [(name, "Small", "correct") for name in names]
    assert rows == [*right, *[(name, "Small", "unreadable") for name in ("Di", "Ed")]]


def twice(name: str) -> bytes:
    data = zipped({name: RIGHT["Small"], "X" * len(name): RIGHT["Small"]})
    return changed(data, b"X" * len(name), name.encode())


def locked(name: str) -> bytes:
    """Return a zip file whose file has the flag of encryption, in both of its places."""
    data = bytearray(zipped({name: RIGHT["Small"]}))
    for sign, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(sign) + place] |= 1
    return bytes(data)


HOSTILE = {
    "locked": (locked("hw.yaml"), "this file is locked with a password"),
    "the same name twice": (twice("hw.yaml"), "several files in the zip file have this name"),
    "lzma": (
        zipped({"hw.yaml": "scores: 1"}, zipfile.ZIP_LZMA),
        "this file is packed by an uncommon method",
    ),
    "cut off": (zipped({"hw.yaml": RIGHT["Small"]})[:-30], "the zip file is damaged"),
    "a text": (b"scores: [[1, 0], [0, 4]]\n", "the zip file is damaged"),
    "damaged": (
        changed(zipped({"hw.yaml": "scores"}, zipfile.ZIP_STORED), b"scores", b"scorez"),
        "the zip file is damaged",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_upload_is_one_error_and_the_class_goes_on(
    name: str, attn: Attn, tmp_path: Path
) -> None:
    data, message = HOSTILE[name]
    write(tmp_path, {"hw.yaml": SMALL})
    (tmp_path / "class.zip").write_bytes(zipped({"Ada/hw.yaml": RIGHT["Small"], "Bo/up.zip": data}))
    started = time.perf_counter()
    result = attn("check", "hw.yaml", "class.zip", cwd=tmp_path)
    assert time.perf_counter() - started < 5
    assert result.status == 2
    assert result.out.startswith("✓ Ada  correct: 4 numbers\n? ")
    assert "2 answers: 1 correct, 0 wrong, 1 could not be read" in result.out
    assert result.err.startswith("class.zip/Bo/up.zip")
    place, _, said = result.err.partition("\n")[0].partition(": ")
    assert said == message
    again = attn("check", "hw.yaml", place, cwd=tmp_path)
    assert (again.status, again.err.splitlines()[0]) == (2, f"{place}: {message}")


def raw_name(name: bytes) -> bytes:
    """Return a zip file with a name in some encoding, and without the flag that it is UTF-8."""
    return changed(zipped({"X" * len(name): "Q: [[1]]"}), b"X" * len(name), name)


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("Jürgen Groß/hw.yaml".encode("cp437"), "Jürgen Groß/hw.yaml"),  # Windows
        ("Jürgen Groß/hw.yaml".encode(), "Jürgen Groß/hw.yaml"),  # macOS, without the flag
        (b"Ada\\hw.yaml", "Ada/hw.yaml"),
        (b"../../Ada/./hw.yaml", "Ada/hw.yaml"),
        (b"/etc/hw.yaml", "etc/hw.yaml"),
        (b"Ada//hw.yaml", "Ada/hw.yaml"),
    ],
)
def test_odd_names_are_found_inside_the_zip_file(name: bytes, path: str, tmp_path: Path) -> None:
    file = tmp_path / "class.zip"
    file.write_bytes(raw_name(name))
    folder, _, last = path.rpartition("/")
    assert [*files.walk(str(file))] == [(str(file), [folder], []), (f"{file}/{folder}", [], [last])]
    assert files.opened(f"{file}/{path}").read() == b"Q: [[1]]"
    assert files.is_file(f"{file}/{path}")
    assert not files.is_folder(f"{file}/{path}")


def test_a_zip_file_that_is_read_is_not_overwritten(attn: Attn, tmp_path: Path) -> None:
    write(tmp_path, {"hw.yaml": SMALL})
    data = zipped({"Ada/hw.yaml": RIGHT["Small"]})
    (tmp_path / "class.zip").write_bytes(data)
    for answers in ("class.zip", "class.zip/Ada/hw.yaml"):
        arguments = ("check", "hw.yaml", answers, "-f", "csv", "-o", "class.zip")
        assert attn(*arguments, cwd=tmp_path).status == 2
        assert (tmp_path / "class.zip").read_bytes() == data


def test_a_link_to_a_zip_file_is_not_followed_in_a_folder(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.zip"
    elsewhere.write_bytes(zipped({"hw.yaml": "Q: [[1]]"}))
    folder = tmp_path / "class"
    (folder / "Ada.zip").mkdir(parents=True)  # a folder may be called so
    (folder / "link.zip").symlink_to(elsewhere)
    (folder / "linked").symlink_to(tmp_path)
    (folder / "empty.zip").write_bytes(zipped({}))
    inside = (["Ada.zip", "empty.zip"], ["link.zip", "linked"])
    assert next(files.walk(str(folder)))[1:] == inside
    assert [at for at, _, _ in files.walk(str(folder))][1:] == [
        f"{folder}/Ada.zip",
        f"{folder}/empty.zip",
    ]


def test_a_zip_file_that_was_changed_is_read_anew(tmp_path: Path) -> None:
    file = tmp_path / "class.zip"
    for number in range(3):
        file.write_bytes(zipped({"hw.yaml": f"Q: [[{number}]]"}))
        assert files.opened(f"{file}/hw.yaml").read() == f"Q: [[{number}]]".encode()


@given(st.binary(max_size=40), st.integers(0, 200), st.integers(0, 40))
@settings(max_examples=200, deadline=None)
def test_broken_zip_files_raise_one_error(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, at: int, cut: int
) -> None:
    whole = zipped({"a/hw.yaml": "Q: [[1]]" * 9, "b.zip": zipped({"c": "d"})})
    tmp = tmp_path_factory.mktemp("zips")
    file = tmp / "x.zip"
    file.write_bytes(whole[:at] + data + whole[at + cut :])
    found = [*files.walk(str(file))] if files.is_folder(str(file)) else [(str(tmp), [], ["x.zip"])]
    for path in (f"{folder}/{name}" for folder, _, names in found for name in names):
        with suppress(InputError):
            files.opened(path).read()
