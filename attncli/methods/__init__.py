"""The mechanisms. Each is one short file that reads like its textbook; `METHODS` lists them."""

from __future__ import annotations

from collections.abc import Callable

from attncli.methods.attention import attention
from attncli.problem import Problem
from attncli.trace import Tape

METHODS: dict[str, Callable[[Tape, Problem], None]] = {
    "self": attention,
    "cross": attention,
}
