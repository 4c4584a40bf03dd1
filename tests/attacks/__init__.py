"""What a hostile file might try: a module for each row of the table in SECURITY.md.

A module's docstring is the first cell of its row as a sentence, and `BOUND` is the last one,
made of the constants of the program. `attack` tries it, and asserts what the page promises.
"""

from pathlib import Path as Path
from typing import Any

import pytest

from tests.conftest import Attn as Attn

Patch = pytest.MonkeyPatch


def refuse(attn: Attn, said: str, *arguments: str | Path, **more: Any) -> None:
    """Assert that a command ends with one sentence, and writes nothing."""
    result = attn(*arguments, **more)
    assert (result.status, result.out) == (2, ""), (arguments, result)
    assert said in result.err, (said, result.err)
    assert "Traceback" not in result.err


def save(path: Path, data: str | bytes) -> Path:
    """Write a file, and the folders around it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path
