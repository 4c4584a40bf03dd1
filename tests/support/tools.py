"""Programs that some tests run beside this one, and that a machine may lack.

A test marked `needs("chromium")` is a part of the whole check, and left out where that is missing;
the last lines of a run say how many tests were. `ATTN_REQUIRE=chromium,soffice` lets a run fail at
once if one of these is missing, so that a machine that has them cannot lose them unseen.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from functools import cache

from docs.pictures import BROWSER

TOOLS = (
    "awk", "bash", "chromium", "fish", "jq", "make", "mandoc", "mlr", "pandas", "parallel",
    "pdflatex", "pdftotext", "soffice", "xargs", "xelatex", "zsh",
)  # fmt: skip
"""Every program, or package beyond those of the project, that a test may need."""

VERSIONS = {"jq": "jq-", "make": "GNU Make", "mlr": "mlr 6", "parallel": "GNU parallel"}
"""How those say their version for which another program has the same name."""


@cache
def is_here(tool: str) -> bool:
    """Return whether this machine has a tool of `TOOLS`."""
    if tool == "chromium":
        return BROWSER is not None
    if tool == "pandas":
        return importlib.util.find_spec(tool) is not None
    if shutil.which(tool) is None:
        return False
    if tool not in VERSIONS:
        return True
    command = [tool, "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return VERSIONS[tool] in done.stdout


def required_and_missing() -> list[str]:
    """Return the tools of `ATTN_REQUIRE` that are not here, or that no test needs."""
    required = filter(None, os.environ.get("ATTN_REQUIRE", "").split(","))
    return [tool for tool in required if tool not in TOOLS or not is_here(tool)]
