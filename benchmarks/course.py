"""Ask of each answer file of a messy course whether `attn check` knows whose it is.

Run `python benchmarks/course.py` in an environment where attncli is installed. It makes 30 students
and three problems, and for each student answers, a third of them with a mistake; writes them in the
layouts of `course_layouts.py`; and compares the points of every student with those that the answers
earn when they are judged without any file.

A student is WRONG if the points differ, or a file is said to be another's, and the manifest does
not list the file as open; and lost if the student is not in the grade book, or the file not in the
manifest. What not even a person could tell (`unclear`) has to be open. Then the manifest is
corrected as by a teacher, who knows whose the open files are, and which were handed in before
others, and all points have to be equal. With `--record` a course of eight students is written for
tests/classroom/test_owners_in_a_course.py, with what is said of it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.surveys.course import survey
from benchmarks.surveys.course_layouts import LAYOUTS, WRITERS, write_layout
from benchmarks.surveys.course_students import make_course, write_course
from tests.classroom.test_owners_in_a_course import COURSE


def process(*arguments: str, cwd: Path) -> Any:
    """Run `attn` as a process."""
    done = subprocess.run(
        [sys.executable, "-m", "attncli", *arguments],
        capture_output=True,
        cwd=cwd,
        check=False,
        encoding="utf-8",
    )
    return argparse.Namespace(status=done.returncode, out=done.stdout, err=done.stderr)


def record(folder: Path, seed: int = 1, students: int = 8) -> None:
    """Write a small course in all layouts that are no zips, with its manifests and grade books."""
    course = make_course(seed, students)
    write_course(course, folder)
    files = {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}
    layouts: dict[str, Any] = {}
    for name in WRITERS:
        layout = write_layout(name, course, folder, seed)
        paths = sorted(path for path in layout.target.rglob("*") if path.is_file())
        texts = {p.relative_to(layout.target).as_posix(): p.read_text("utf-8") for p in paths}
        command = ["check", "course.yaml", name, "--for", layout.roster, "-f", "csv"]
        process(*command, "--manifest", "manifest.csv", cwd=folder)
        manifest = (folder / "manifest.csv").read_text(encoding="utf-8")
        (folder / "manifest.csv").unlink()
        about: dict[str, Any] = {"roster": layout.roster, "files": texts}
        layouts[name] = about | {"manifest": manifest, "grades": process(*command, cwd=folder).out}
    text = json.dumps({"files": files, "layouts": layouts}, ensure_ascii=False, indent=0)
    COURSE.write_text(text + "\n", encoding="utf-8")


def main() -> None:
    """Print a row for each layout, and why anybody is WRONG or lost."""
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--students", type=int, default=30)
    options.add_argument("--layouts", default=",".join(LAYOUTS), help="by default all")
    options.add_argument("--keep", type=Path, help="an empty folder to write to, which stays")
    options.add_argument("--record", action="store_true", help="write the course of the tests")
    given = options.parse_args()
    if given.record:
        with tempfile.TemporaryDirectory() as temporary:
            return record(Path(temporary).resolve())
    print(
        f"{'layout':20}{'students':>9}{'equal':>7}{'open':>6}{'unclear':>9}{'WRONG':>7}{'lost':>6}"
    )
    is_bad = False
    with tempfile.TemporaryDirectory() as temporary:
        folder = (given.keep or Path(temporary)).resolve()
        names = given.layouts.split(",")
        for name, audit in survey(folder, given.seed, given.students, names, process):
            print("{:20}{:9}{:7}{:6}{:9}{:7}{:6}".format(name, *audit.counts()), flush=True)
            for note in audit.notes:
                print(f"    {note}")
            is_bad |= bool(audit.notes)
    sys.exit(is_bad)


if __name__ == "__main__":
    main()
