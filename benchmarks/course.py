"""Ask of each answer file of a messy course whether `attn check` knows whose it is.

Run `python benchmarks/course.py` in an environment where attncli is installed. It makes 30 students
and three problems, and for each student answers, a third of them with a mistake; writes them in the
layouts of `course_layouts.py`; and compares the points of every student with those that the answers
earn when they are judged without any file.

A student is WRONG if the points differ, or a file is said to be another's, and the manifest does
not list the file as open; and lost if the student is not in the grade book, or the file not in the
manifest. What not even a person could tell (`unclear`) has to be open. Then the manifest is
corrected as by a teacher, who knows whose the open files are, and which were handed in before
others, and all points have to be equal.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.surveys.course import survey
from tests.surveys.course_layouts import LAYOUTS


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


def main() -> None:
    """Print a row for each layout, and why anybody is WRONG or lost."""
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--students", type=int, default=30)
    options.add_argument("--layouts", default=",".join(LAYOUTS), help="by default all")
    options.add_argument("--keep", type=Path, help="an empty folder to write to, which stays")
    given = options.parse_args()
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
