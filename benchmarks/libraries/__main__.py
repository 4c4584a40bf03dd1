"""Record what libraries calculate, or compare it with what is recorded."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "tests" / "data" / "recorded"
NAMES = (
    "blocks",
    "counts",
    "deepseek_v3",
    "diffllama",
    "encoders",
    "flash_attention",
    "flex_attention",
    "linear_attention",
    "qwen3_next",
)


def numbers(value: Any) -> Iterator[float]:
    """Yield every number in nested lists and mappings, in their order."""
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from numbers(part)
    elif isinstance(value, int | float):
        yield value


def farthest(now: Any, recorded: Any) -> float:
    """Return the largest difference of two numbers, relative to the larger one above 1."""
    pairs = zip(numbers(now), numbers(recorded), strict=True)
    return max(abs(a - b) / max(1.0, abs(b)) for a, b in pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--check", action="store_true", help="write nothing")
    asked = parser.parse_args()
    for name in asked.names or NAMES:
        module = import_module(f"benchmarks.libraries.{name}")
        if not asked.check and hasattr(module, "save"):  # what is no JSON
            module.save()
        for file, cases in module.RECORDED.items():
            path, found = FOLDER / f"{file}.jsonl", [*cases()]
            if asked.check:
                lines = path.read_text(encoding="utf-8").splitlines()
                far = farthest(json.loads(json.dumps(found)), [*map(json.loads, lines)])
                print(f"{file}: {len(found)} problems, at most {far:.1e} apart")
            else:
                text = "".join(f"{json.dumps(one)}\n" for one in found)
                path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
