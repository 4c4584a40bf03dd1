"""The samples, which are installed with the package."""

from __future__ import annotations

import re
from pathlib import Path

from attncli.core.errors import fail
from attncli.core.text.escapes import visible
from attncli.core.text.sentences import did_you_mean

PACKAGE = Path(__file__).parent.parent


def sample_files() -> dict[str, Path]:
    """Return the path of each sample by its name, the file's name without `.yaml`."""
    installed, in_checkout = PACKAGE / "sample_inputs", PACKAGE.parent / "sample_inputs"
    folder = installed if installed.is_dir() else in_checkout
    files = (path for path in folder.glob("*") if path.suffix in (".yaml", ".csv"))
    return dict(sorted((path.name.removesuffix(".yaml"), path) for path in files))


def sample(name: str) -> bytes:
    return sample_path(name).read_bytes()


def sample_path(name: str) -> Path:
    files = sample_files()
    path = files.get(name.removesuffix(".yaml"))
    if path is None:
        hint = did_you_mean(name, files)
        hint = hint if hint.startswith("did") else "attn samples lists them"
        raise fail(f"there is no sample {visible(name)}", hint=hint)
    return path


def title(path: Path) -> str:
    """Return the title of a sample, from its first line, or nothing.

    >>> title(sample_files()["mask_window"])
    'Sliding window'
    """
    found = re.match(r"title(?:: |,)(.*)", path.read_text(encoding="utf-8"))
    return found[1] if found else ""
