"""Whose each file of a course is, in nine layouts of platforms and students; its points. SPEC 5.

`python -m benchmarks.surveys course --record` has made the course, and knows whose each file is,
what not even a person could tell, and what the answers are worth; nothing of that was said by the
program. A course of any size is judged there by the functions here.
"""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DATA, Attn, Result

COURSE = DATA / "recorded" / "course.json"
"""The files, names and points of a course, and for each layout its files and whose they are."""

FORMS = ("folder", "zip", "zip of macOS", "zips in a zip")

Row = dict[str, str]


@cache
def course() -> Any:
    return json.loads(COURSE.read_text(encoding="utf-8"))


class MacInfo(zipfile.ZipInfo):
    """An entry as macOS writes it: its name is UTF-8 in NFD, and the flag that says so missing."""

    def _encodeFilenameFlags(self) -> tuple[bytes, int]:  # noqa: N802 - as zipfile calls it
        return unicodedata.normalize("NFD", self.filename).encode(), self.flag_bits


def write(files: dict[str, str], folder: Path, form: str = "folder") -> Path:
    """Write files into a folder, or into a zip; return which."""
    if form == "folder":
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        return folder
    inner: dict[str, io.BytesIO] = {}
    with zipfile.ZipFile(folder.with_suffix(".zip"), "w") as whole:
        for name, text in sorted(files.items()):
            own, _, rest = name.partition("/")
            if form == "zips in a zip" and rest:
                with zipfile.ZipFile(inner.setdefault(own, io.BytesIO()), "a") as zipped:
                    zipped.writestr(rest, text.encode())
            elif form == "zip of macOS":
                whole.writestr(MacInfo(name), text.encode())
                path, _, last = name.rpartition("/")
                whole.writestr(MacInfo(f"__MACOSX/{path}/._{last}"), "\0\5\26\7")
            else:
                whole.writestr(name, text.encode())
        for own, data in inner.items():
            whole.writestr(f"{own}/hw2.zip", data.getvalue())
    return folder.with_suffix(".zip")


class Audit:
    """A layout, written in some form, and what is not so in what the program says of it."""

    def __init__(self, made: Any, name: str, form: str, folder: Path, attn: Attn) -> None:
        self.made, self.layout, self.attn = made, made["layouts"][name], attn
        self.people = {word: name for name, words in made["names"].items() for word in words}
        write(made["files"], folder)
        self.target = write(self.layout["files"], folder / name, form)
        self.pieces = [dict(piece) for piece in self.layout["pieces"]]
        for piece in self.pieces if form == "zips in a zip" else ():
            piece["path"] = piece["path"].replace("/", "/hw2.zip/", 1)
        self.faults: list[str] = []

    def run(self) -> list[str]:
        """Compare the manifest and the points; and again when a teacher has told all."""
        manifest = self.target.with_name("manifest.csv")
        self.check("--manifest", manifest.name)
        with manifest.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
        is_open: dict[str, set[int]] = {}
        corrected = [one for row in rows for one in self.told(row, is_open)]
        listed = [piece for row in rows for piece in self.meant(row)]
        for piece in self.pieces:
            if piece["counts"] and piece not in listed:
                self.faults.append(f"{piece['path']} is not in the manifest")
        self.compare(self.check(), is_open)
        if corrected != rows:
            with manifest.open("w", encoding="utf-8", newline="") as file:
                writer = csv.DictWriter(file, list(rows[0]))
                writer.writeheader()
                writer.writerows(corrected)
            self.compare(self.check("--manifest", manifest.name), {})
        return self.faults

    def check(self, *more: str) -> Result:
        command = ["check", "course.yaml", self.target.name, "--for", self.layout["roster"]]
        return self.attn(*command, "-f", "csv", *more, cwd=self.target.parent)

    def meant(self, row: Row) -> list[Any]:
        """Return the pieces that a row of a manifest means: a file, a folder, the line of a row."""
        file = unicodedata.normalize("NFC", row["file"]).split(f"{self.target.name}/")[-1]
        paths = [unicodedata.normalize("NFC", piece["path"]) for piece in self.pieces]
        pairs = zip(self.pieces, paths, strict=True)
        return [piece for piece, path in pairs if path == file or path.startswith(f"{file}/")]

    def told(self, row: Row, is_open: dict[str, set[int]]) -> Iterator[Row]:
        """Judge whose a row says its file is, note what it leaves open, and correct it."""
        who, pieces = self.people.get(row["student"], ""), self.meant(row)
        counting = [piece for piece in pieces if piece["counts"]]
        if not row["rule"].startswith("open"):
            for piece in pieces:
                is_true = who in piece["owners"] and not piece["open"]
                if not is_true and (piece["counts"] or (who and who not in piece["owners"])):
                    self.faults.append(f"{piece['path']} is said to be of {row}")
            if counting or not pieces:
                yield row
            return
        perhaps = re.search(r"perhaps (.+?)(?: \(|\Z)", row["rule"])
        for name in perhaps[1].split(" or ") if perhaps else ():
            is_open.setdefault(self.people.get(name, ""), set()).update((1, 2, 3))
        for owner in counting[0]["owners"] if counting else ():
            problems = {number for piece in counting for number in piece["problems"]}
            is_open.setdefault(owner, set()).update(problems)
            yield row | {"student": owner, "problem": " ".join(map(str, sorted(problems)))}

    def compare(self, graded: Result, is_open: dict[str, set[int]]) -> None:
        """Note who has other points in a problem that is not open."""
        found: dict[str, list[float]] = {}
        for row in csv.DictReader(io.StringIO(graded.out)):
            if row["name"] in self.people:
                points = found.setdefault(self.people[row["name"]], [0, 0, 0])
                points[self.made["titles"].index(row["problem"])] = float(row["points"] or 0)
            elif row["points"]:  # without points are the files that tell no student
                self.faults.append(f"the grade book has a student who is not in the roster: {row}")
        for name, points in self.made["points"].items():
            pairs = enumerate(zip(points, found.get(name, [-1, -1, -1]), strict=True), 1)
            other = {n for n, (right, got) in pairs if abs(right - got) > 0.006}
            if other - is_open.get(name, set()):
                self.faults.append(f"{name} has {found.get(name)}, not {points}")


def faults(made: Any, name: str, form: str, folder: Path, attn: Attn) -> list[str]:
    """Return what is not so in what the program makes of a layout, written in some form."""
    return Audit(made, name, form, folder, attn).run()


@pytest.mark.parametrize("name", course()["layouts"])
def test_whose_each_file_is_is_told_or_listed_as_open(
    name: str, tmp_path: Path, attn: Attn
) -> None:
    assert faults(course(), name, "folder", tmp_path, attn) == []


@pytest.mark.parametrize(
    ("name", "form"), [("folders", "zip of macOS"), ("moodle", "zips in a zip"), ("files", "zip")]
)
def test_a_zip_is_read_as_its_folder(name: str, form: str, tmp_path: Path, attn: Attn) -> None:
    assert faults(course(), name, form, tmp_path, attn) == []


def test_files_of_others_and_other_points_are_noticed(tmp_path: Path, attn: Attn) -> None:
    made = json.loads(json.dumps(course()))
    one, other = [p for p in made["layouts"]["clean"]["pieces"] if p["problems"] == [1]][:2]
    one["owners"], other["owners"] = other["owners"], one["owners"]
    person = one["owners"][0]
    made["points"][person][2] += 1
    found = faults(made, "clean", "folder", tmp_path, attn)
    assert sum("is said to be of" in fault for fault in found) == 2
    assert sum(fault.startswith(f"{person} has") for fault in found) >= 1
