"""What the documentation of Gradescope allows in a results.json, written down from its page.

https://gradescope-autograders.readthedocs.io/en/latest/specs/, "Output format" and below.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

VISIBILITY = ("hidden", "after_due_date", "after_published", "visible")
FORMATS = ("text", "html", "simple_format", "md", "ansi")
STATUS = ("passed", "failed")
NUMBER = (int, float)

WHOLE: dict[str, Any] = {
    "score": NUMBER,
    "execution_time": NUMBER,
    "output": str,
    "output_format": FORMATS,
    "test_output_format": FORMATS,
    "test_name_format": FORMATS,
    "visibility": VISIBILITY,
    "stdout_visibility": VISIBILITY,
    "extra_data": dict,
    "tests": list,
    "leaderboard": list,
}
TEST: dict[str, Any] = {
    "score": NUMBER,
    "max_score": NUMBER,
    "status": STATUS,
    "name": str,
    "name_format": FORMATS,
    "number": str,
    "output": str,
    "output_format": FORMATS,
    "tags": list,
    "visibility": VISIBILITY,
    "extra_data": dict,
}


def faults(results: Any) -> Iterator[str]:
    """Yield what is wrong with the fields of a results.json."""
    yield from _of(results, WHOLE, "")
    tests = results.get("tests", [])
    if "score" not in results and not all("score" in test for test in tests):
        yield "score is required, of the whole or of each test"
    if "score" not in results and not tests:
        yield "tests are required where there is no score"
    for place, test in enumerate(tests):
        yield from _of(test, TEST, f"tests[{place}].")
        yield from (f"tag {tag!r}" for tag in test.get("tags", []) if not isinstance(tag, str))


def _of(found: Any, fields: dict[str, Any], at: str) -> Iterator[str]:
    if not isinstance(found, dict):
        yield f"{at or 'results'} is no mapping"
        return
    for name, value in found.items():
        known = fields.get(name)
        if known is None:
            yield f"{at}{name} is no field"
        elif isinstance(known, tuple) and isinstance(known[0], str):
            if value not in known:
                yield f"{at}{name} is {value!r}, not one of {known}"
        elif not isinstance(value, known) or isinstance(value, bool):
            yield f"{at}{name} is a {type(value).__name__}"
