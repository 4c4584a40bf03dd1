"""The mechanisms. Each is one short file that reads like its textbook; `METHODS` lists them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from attncli.problem.problem import Problem
from attncli.tape.tape import Tape

METHODS = {
    "self": "attention",
    "cross": "attention",
    "pooling": "pooling",
    "co_attention": "co_attention",
    "recurrent": "recurrent",
}
"""The file of each kind, and the function of the same name in it; only that one is imported."""


def method_of(kind: str) -> Callable[[Tape, Problem], None]:
    """Return the function that records a kind's calculation on a tape."""
    name = METHODS[kind]
    method: Callable[[Tape, Problem], None] = getattr(
        import_module(f"attncli.mechanisms.{name}"), name
    )
    return method
