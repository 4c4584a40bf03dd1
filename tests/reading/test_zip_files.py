"""Zip files are folders: what is in them is found, and what is hostile is one plain error.

`tests/data/sessions/zip_files.txt` has more of them.
"""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attncli.core.errors import InputError
from attncli.reading import files
from tests.conftest import Attn

PROBLEM = "title: Small\nX: [[1, 0], [0, 2]]\nscore: dot\n"
RIGHT = "scores: [[1, 0], [0, 4]]\n"


def zipped(members: Mapping[str, bytes | str], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def changed(data: bytes, old: bytes, new: bytes) -> bytes:
    """Return a file with bytes instead of some others, as many as these."""
    assert old in data
    assert len(old) == len(new)
    return data.replace(old, new)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a problem in it."""
    (tmp_path / "hw.yaml").write_text(PROBLEM)
    return tmp_path


def verdicts(attn: Attn, folder: Path, answers: str) -> dict[str, str]:
    """Return the verdict of each student of a class."""
    out = attn("check", "hw.yaml", answers, "-f", "csv", cwd=folder).out
    return {row["name"]: row["verdict"] for row in csv.DictReader(io.StringIO(out))}


@pytest.mark.parametrize(
    "uploads",
    [
        {"Ada/a.zip": "hw.yaml", "Bo/b.zip": "hw.yaml", "Cy/b c.zip": "hw.yaml"},
        {f"{name}/up.zip": "hw.yaml" for name in ("Ada", "Bo", "Cy")},  # of one name
        {f"{name}/up.zip": "hw/hw.yaml" for name in ("Ada", "Bo", "Cy")},  # with a folder in it
    ],
)
def test_an_upload_alone_in_a_folder_is_that_folder(
    uploads: dict[str, str], attn: Attn, folder: Path
) -> None:
    members: dict[str, bytes | str] = {
        name: zipped({inside: RIGHT, "__MACOSX/._hw.yaml": "-"}) for name, inside in uploads.items()
    }
    (folder / "class.zip").write_bytes(zipped({**members, "Di/scan.pdf": "%PDF", "Ed/": ""}))
    assert verdicts(attn, folder, "class.zip") == {
        **dict.fromkeys(("Ada", "Bo", "Cy"), "correct"),
        **dict.fromkeys(("Di", "Ed"), "unreadable"),
    }


def with_heads_changed(data: bytes, place: int, sign: int) -> bytes:
    """Return a zip file of one member with a sign in its head, and in the list two places on."""
    heads = bytearray(data)
    heads[data.index(b"PK\x03\x04") + place] = sign
    heads[data.rindex(b"PK\x01\x02") + place + 2] = sign
    return bytes(heads)


def locked(data: bytes) -> bytes:
    """Return a zip file of one member with the flag of encryption."""
    return with_heads_changed(data, 6, 1)


HOSTILE = {
    "locked": (locked(zipped({"hw.yaml": RIGHT})), "this file is locked with a password"),
    "the same name twice": (
        changed(zipped({"hw.yaml": RIGHT, "XX.yaml": RIGHT}), b"XX.yaml", b"hw.yaml"),
        "several files in the zip file have this name",
    ),
    "lzma": (
        zipped({"hw.yaml": "scores: 1"}, zipfile.ZIP_LZMA),
        "this file is packed by an uncommon method",
    ),
    "cut off": (zipped({"hw.yaml": RIGHT})[:-30], "the zip file is damaged"),
    "a text": (b"scores: [[1, 0], [0, 4]]\n", "the zip file is damaged"),
    "damaged": (
        changed(zipped({"hw.yaml": "scores"}, zipfile.ZIP_STORED), b"scores", b"scorez"),
        "the zip file is damaged",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_upload_is_one_error_and_the_class_goes_on(
    name: str, attn: Attn, folder: Path
) -> None:
    data, message = HOSTILE[name]
    (folder / "class.zip").write_bytes(zipped({"Ada/hw.yaml": RIGHT, "Bo/up.zip": data}))
    result = attn("check", "hw.yaml", "class.zip", cwd=folder)
    assert result.status == 2
    assert result.out.startswith("✓ Ada  correct: 4 numbers\n? ")
    assert "1 answer: 1 correct, 0 wrong; 1 could not be read" in result.out
    assert result.err.startswith("class.zip/Bo/up.zip")
    place, _, said = result.err.partition("\n")[0].partition(": ")
    assert said == message
    again = attn("check", "hw.yaml", place, cwd=folder)
    assert (again.status, again.err.splitlines()[0]) == (2, f"{place}: {message}")


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
    letters = "X" * len(name)
    # without the flag that the name is UTF-8
    file.write_bytes(changed(zipped({letters: "Q: [[1]]"}), letters.encode(), name))
    folder = path.partition("/")[0]
    assert [*files.entries_in(str(file))] == [
        (f"{file}/{folder}", (folder,), True),
        (f"{file}/{path}", (folder, "hw"), False),
    ]
    assert files.open_file(file / path).read() == b"Q: [[1]]"
    assert files.is_file(f"{file}/{path}")
    assert not files.is_folder(f"{file}/{path}")


def test_a_link_to_a_zip_file_is_not_followed_in_a_folder(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.zip"
    elsewhere.write_bytes(zipped({"hw.yaml": "Q: [[1]]"}))
    folder = tmp_path / "class"
    (folder / "Ada.zip").mkdir(parents=True)  # a folder may be called so
    (folder / "link.zip").symlink_to(elsewhere)
    (folder / "linked").symlink_to(tmp_path)
    (folder / "empty.zip").write_bytes(zipped({}))
    assert [*files.entries_in(str(folder))] == [
        (f"{folder}/link.zip", ("link",), False),
        (f"{folder}/linked", ("linked",), False),
        (f"{folder}/Ada.zip", ("Ada",), True),
        (f"{folder}/empty.zip", ("empty",), True),
    ]


def test_a_zip_file_that_was_changed_is_read_anew(tmp_path: Path) -> None:
    file = tmp_path / "class.zip"
    for number in range(3):
        file.write_bytes(zipped({"hw.yaml": f"Q: [[{number}]]"}))
        assert files.open_file(file / "hw.yaml").read() == f"Q: [[{number}]]".encode()


@given(st.binary(max_size=40), st.integers(0, 200), st.integers(0, 40))
@settings(max_examples=60)
def test_broken_zip_files_raise_one_error(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, at: int, cut: int
) -> None:
    whole = zipped({"a/hw.yaml": "Q: [[1]]" * 9, "b.zip": zipped({"c": "d"})})
    tmp = tmp_path_factory.mktemp("zips")
    file = tmp / "x.zip"
    file.write_bytes(whole[:at] + data + whole[at + cut :])
    inside = files.entries_in(str(file)) if files.is_folder(str(file)) else ()
    for path in [str(file), *(one.path for one in inside if not one.is_folder)]:
        with suppress(InputError):
            files.open_file(Path(path)).read()
