"""Regular expressions that read what strangers write take linear time for their own operation."""

from __future__ import annotations

import re
import time
from importlib import import_module
from itertools import product

import pytest

PATTERNS = """
core.numbers.grid DECIMAL_COMMA fullmatch
core.numbers.grid GROUPED fullmatch
core.numbers.grid THIN_SPACE search
core.numbers.grid HEADING fullmatch
core.numbers.pasted FILLED fullmatch
core.tape.find_cells HEAD fullmatch
checking.answers.step_names PLACE search
classroom.drawing RANGE fullmatch
classroom.manifest LINE sub
classroom.name_index COPY sub
printing.csv PLAIN_NUMBER fullmatch
printing.markdown AT_START sub
reading.class_csv PARTNER fullmatch
reading.csv_blocks IN_BRACKETS finditer
reading.csv_blocks NEARLY findall
reading.csv_blocks TITLE_LINE fullmatch
reading.keys_without_value KEY_AND_VALUE fullmatch
reading.workbooks LITERAL sub
reading.workbooks DIGITS fullmatch
reading.workbooks UNCALCULATED search
reading.worksheets ASSIGNED fullmatch
reading.worksheets BEFORE fullmatch
reading.worksheets JOINED fullmatch
reading.worksheets MATRIX finditer
"""
"""Patterns that were quadratic, with what is done with them."""
ALPHABET = " 0a,;[](){}.:|=-\"'\t\n\\_/&$#>x√−%*^<…"
PUMPS = [*ALPHABET, r"\begin{matrix}", "[;", "a ", " a", "a=", " \n", "1,", "1 ", "<c", "# aa"]


def seconds(pattern: re.Pattern[str], operation: str, text: str) -> float:
    method = getattr(pattern, operation)
    start = time.thread_time()
    if operation == "sub":
        method("", text)
    else:
        list(method(text) or ()) if operation == "finditer" else method(text)
    return time.thread_time() - start


def is_slow(pattern: re.Pattern[str], operation: str, before: str, pump: str, after: str) -> bool:
    """Return True if four times the length takes clearly more than four times as long."""
    text, longer = (before + pump * (n // len(pump)) + after for n in (2_500, 10_000))
    first = seconds(pattern, operation, text)
    if first < 0.003:  # what is quadratic takes ten times as long
        return False
    first = min(first, seconds(pattern, operation, text))
    return all(seconds(pattern, operation, longer) > 2.6**2 * first for _ in range(2))


@pytest.mark.parametrize("use", PATTERNS.split("\n")[1:-1])
def test_a_pattern_takes_linear_time(use: str) -> None:
    module, name, operation = use.split()
    pattern = getattr(import_module(f"attncli.{module}"), name)
    texts = product(("", "[", "eye(", "step"), PUMPS, ("\x00", "\n", ""))
    assert [one for one in texts if is_slow(pattern, operation, *one)] == []


def test_what_is_slow_is_seen() -> None:
    assert is_slow(re.compile(r"\s*\Z"), "sub", "", " ", "x")
    assert not is_slow(re.compile(r"\s*+\Z"), "fullmatch", "", " ", "x")
