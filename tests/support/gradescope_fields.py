"""What the documentation of Gradescope allows in a results.json."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema

from tests.conftest import table


def faults(results: Any) -> Iterator[str]:
    """Yield what is wrong with the fields of a results.json."""
    fields = jsonschema.Draft202012Validator(table("gradescope", "fields"))
    yield from (error.message for error in fields.iter_errors(results))
    tests = results.get("tests")
    if "score" not in results and not (tests and all("score" in test for test in tests)):
        yield "score is required, of the whole or of each test"
