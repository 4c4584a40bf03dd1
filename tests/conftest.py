"""What several tests need: the real program, run as a user runs it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
SAMPLES = ROOT / "sample_inputs"
SAMPLE_FILES = sorted(p for p in SAMPLES.iterdir() if p.is_file())

# These change colours, widths or help texts.
NOT_INHERITED = (
    "PYTHONDONTWRITEBYTECODE",
    "COLUMNS",
    "LINES",
    "NO_COLOR",
    "FORCE_COLOR",
    "GITHUB_ACTIONS",
    "PY_COLORS",
)


@dataclass(frozen=True)
class Result:
    """What the program printed, and its exit status."""

    status: int
    out: str
    err: str


Attn = Callable[..., Result]


def environment(**more: str) -> dict[str, str]:
    """Return the environment without what would change the output, and with `more`."""
    kept = {key: value for key, value in os.environ.items() if key not in NOT_INHERITED}
    # Compiled once and kept, as an installed program is; each run would compile it anew.
    cache = {"PYTHONPYCACHEPREFIX": str(Path(tempfile.gettempdir()) / "attn-tests-pycache")}
    return kept | {"PYTHONIOENCODING": "utf-8"} | cache | more


@pytest.fixture
def attn() -> Attn:
    """Return a function that runs `attn` with arguments; `stdin`, `cwd` and `env` as keywords."""

    def run(
        *arguments: str | Path,
        stdin: bytes = b"",
        cwd: Path = ROOT,
        env: dict[str, str] | None = None,
    ) -> Result:
        done = subprocess.run(
            [sys.executable, "-m", "attncli", *map(str, arguments)],
            input=stdin,
            capture_output=True,
            cwd=cwd,
            env=environment(**(env or {})),
            check=False,
        )
        # Whatever happens, a user never sees a traceback.
        assert b"Traceback" not in done.stderr, done.stderr.decode()
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print what tests measured, from whichever process they ran in."""
    measured = [
        f"{name}: {value}"
        for report in terminalreporter.stats.get("passed", [])
        for name, value in report.user_properties
    ]
    if measured:
        terminalreporter.section("measured")
        terminalreporter.write_line("\n".join(measured))
