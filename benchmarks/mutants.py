"""Break the program in many places, one at a time, and see whether a test notices.

    python benchmarks/mutants.py --count 40 --seed 55
    python benchmarks/mutants.py attncli/checking/judging --count 60 --seed 1
    python benchmarks/mutants.py --judges

Draws places in the syntax trees of the package (as many of each room as its lines are a share of
all), changes a comparison, an operator, a number or a condition there, and runs the tests, those of
the same subject first, until one fails. A mutant that lives is printed with its line: either
nothing depends on it, or a test is missing. `--judges` has `attn check` call every number correct,
then every number wrong, and counts the tests that fail. Works in a copy of the repository.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]

FIRST = {
    "core": ("mechanisms", "laws", "printing"),
    "checking": ("checking", "classroom"),
    "reading": ("reading", "checking"),
    "printing": ("printing", "sessions"),
    "pages": ("printing", "classroom"),
    "classroom": ("classroom", "sessions"),
    "cli": ("sessions", "docs"),
}
"""Where the tests of a wing are; those of the other folders run after them."""

OTHERWISE: dict[type[ast.AST], Any] = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt},
    **{ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is},
    **{ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And},
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult},
    **{ast.MatMult: ast.Mult, ast.Pow: ast.Mult, ast.FloorDiv: ast.Div, ast.Mod: ast.Mult},
}
"""What stands in place of an operator."""

JUDGE = ROOT / "attncli" / "checking" / "judging" / "judge.py"
DECIDES = "codes[~near] = judged_steps.WRONG"
EXCUSES = "codes[explained.cells] = code"
JUDGES = {
    "correct": {DECIDES: "pass"},
    "wrong": {DECIDES: "codes[~written.missing] = judged_steps.WRONG", EXCUSES: "pass"},
}
"""What stands in place of lines of the judge, by what it says then of every number."""


class Mutant(NamedTuple):
    """One change: what stands in which lines of a file, and what stands there instead."""

    path: Path
    line: int
    before: str
    after: str
    text: str

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}: {self.before}  →  {self.after}"


def changed(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what may stand in place of a node."""
    match node:
        case ast.Compare(left, [operator], [right]):
            yield ast.Compare(left, [OTHERWISE[type(operator)]()], [right])
        case ast.BinOp(left, operator, right) if type(operator) in OTHERWISE:
            yield ast.BinOp(left, OTHERWISE[type(operator)](), right)
        case ast.BoolOp(operator, values):
            yield ast.BoolOp(OTHERWISE[type(operator)](), values)
        case ast.UnaryOp(ast.Not(), operand) | ast.UnaryOp(ast.USub(), operand):
            yield operand
        case ast.Constant(bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(int() | float() as value):
            yield ast.Constant(value + 1)
        case ast.IfExp(test, body, orelse):
            yield ast.IfExp(test, orelse, body)


def mutants_of(path: Path) -> list[Mutant]:
    """Return every mutant of a module; decorators, as `frozen=True`, change nothing to notice."""
    data, found = path.read_bytes(), []
    starts = [0]
    for line in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    tree = ast.parse(data)
    for top in tree.body:
        if isinstance(top, ast.ClassDef | ast.FunctionDef):
            top.decorator_list.clear()
    for node in ast.walk(tree):
        for other in changed(node):
            assert isinstance(node, ast.expr)
            assert node.end_lineno is not None
            assert node.end_col_offset is not None
            begin = starts[node.lineno - 1] + node.col_offset
            end = starts[node.end_lineno - 1] + node.end_col_offset
            before, after = data[begin:end].decode(), f"({ast.unparse(other)})"
            new = (data[:begin] + after.encode() + data[end:]).decode()
            found.append(Mutant(path, node.lineno, before, after, new))
    return found


def drawn(folders: list[str], count: int, seed: int) -> list[Mutant]:
    """Draw mutants, from each room by the share of its lines."""
    rng = random.Random(seed)
    files = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    sizes = [len(path.read_text(encoding="utf-8").splitlines()) for path in files]
    chosen: list[Mutant] = []
    while len(chosen) < count:
        some = mutants_of(rng.choices(files, sizes)[0])
        if some and (one := rng.choice(some)) not in chosen:
            chosen.append(one)
    return chosen


def failures(path: Path, text: str, copy: Path, *arguments: str) -> list[str]:
    """Return which tests fail in a copy of the repository in which a file has another text."""
    place = copy / path.relative_to(ROOT)
    place.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rfE", *arguments],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy)},
        capture_output=True,
        text=True,
        check=False,
    )
    shutil.copy2(path, place)
    lines = [line.split(" - ")[0] for line in done.stdout.splitlines()]
    failed = [line for line in lines if line.startswith(("FAILED ", "ERROR "))]
    collected = done.returncode in (0, 1, 5)
    return [line.split(maxsplit=1)[1] for line in failed] or ["no test is found"] * (not collected)


def killed_by(mutant: Mutant, copy: Path, workers: str) -> str:
    """Return the first test that fails with a mutant in place; empty where none does."""
    first = FIRST.get(mutant.path.relative_to(ROOT).parts[1], ())
    rest = {path.name for path in (copy / "tests").iterdir() if path.is_dir()} - {*first}
    for folders in filter(None, (first, sorted(rest))):
        tests = [f"tests/{name}" for name in folders]
        failed = failures(mutant.path, mutant.text, copy, "-x", "-n", workers, *tests)
        if failed:
            return failed[-1]
    return ""


def try_judges(copy: Path, workers: str) -> None:
    """Print how many tests of how many files fail with each of the judges."""
    for says, changes in JUDGES.items():
        text = JUDGE.read_text(encoding="utf-8")
        for before, after in changes.items():
            assert text.count(before) == 1, before
            text = text.replace(before, after)
        failed = failures(JUDGE, text, copy, "--tb=no", "-n", workers)
        files = {test.partition("::")[0] for test in failed}
        print(f"{says} to everything: {len(failed)} tests of {len(files)} files fail", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folders", nargs="*", default=["attncli"])
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", default="2")
    parser.add_argument("--judges", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        shutil.copytree(
            ROOT, copy, ignore=shutil.ignore_patterns(".*", "*.egg-info", "__pycache__")
        )
        if asked.judges:
            try_judges(copy, asked.workers)
            return
        lived = 0
        for number, mutant in enumerate(drawn(asked.folders, asked.count, asked.seed), 1):
            began = time.monotonic()
            test = killed_by(mutant, copy, asked.workers)
            lived += not test
            seconds = f"{time.monotonic() - began:.0f} s"
            print(f"{number}. {mutant}\n   {test or 'LIVES'} ({seconds})", flush=True)
        print(f"{asked.count - lived} of {asked.count} are noticed")


if __name__ == "__main__":
    main()
