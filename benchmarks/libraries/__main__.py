"""Record what libraries calculate, or compare it with what is recorded."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

DATA = Path(__file__).parents[2] / "tests" / "data"
NAMES = (
    *("attentions", "blocks", "conventions", "counts", "encoders", "kernels"),
    *("linear_attention", "rope_scaling"),
)


def as_lists(found: Any) -> Any:
    """Return values as a file holds them, with lists in place of arrays and tensors."""
    return json.loads(json.dumps(found, default=lambda array: array.tolist()))


def write(path: Path, found: Any) -> None:
    """Write lines of JSON, one value as JSON, or arrays."""
    if path.suffix == ".npz":
        np.savez_compressed(path, **found)
    elif path.suffix == ".jsonl":
        path.write_text("".join(f"{json.dumps(case)}\n" for case in as_lists(found)), "utf-8")
    else:
        path.write_text(json.dumps(as_lists(found), indent=1) + "\n", "utf-8")


def read(path: Path) -> Any:
    """Return what `write` has written."""
    if path.suffix == ".npz":
        return as_lists(dict(np.load(path)))
    text = path.read_text("utf-8")
    return [*map(json.loads, text.splitlines())] if path.suffix == ".jsonl" else json.loads(text)


def differences(now: Any, recorded: Any) -> Iterator[float]:
    """Yield how far each number is from that of the file, relative to the larger one above 1.

    Raises:
        SystemExit: if something else than a number differs.
    """
    if isinstance(now, dict) and isinstance(recorded, dict) and now.keys() == recorded.keys():
        now, recorded = [*now.values()], [recorded[key] for key in now]
    if isinstance(now, list) and isinstance(recorded, list) and len(now) == len(recorded):
        for one, other in zip(now, recorded, strict=True):
            yield from differences(one, other)
    elif isinstance(now, int | float) and isinstance(recorded, int | float):
        far = abs(now - recorded) / max(1.0, abs(recorded))
        is_same = np.array_equal(now, recorded, equal_nan=True)
        yield 0.0 if is_same else np.inf if np.isnan(far) else far
    elif now != recorded:
        raise SystemExit(f"{now} differs from what is recorded: {recorded}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--check", action="store_true", help="write nothing")
    asked = parser.parse_args()
    for name in asked.names or NAMES:
        for file, function in import_module(f"benchmarks.libraries.{name}").RECORDED.items():
            found = function()
            if asked.check:
                far = max(differences(as_lists(found), read(DATA / file)))
                print(f"{file}: {len(found)} problems, at most {far:.1e} apart", flush=True)
            else:
                write(DATA / file, found)


if __name__ == "__main__":
    main()
