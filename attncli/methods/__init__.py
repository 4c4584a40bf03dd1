"""The mechanisms. Each is one short file that reads like its textbook; `METHODS` lists them."""

from __future__ import annotations

from collections.abc import Callable

from attncli.methods.attention import attention
from attncli.methods.co_attention import co_attention
from attncli.methods.pooling import pooling
from attncli.methods.recurrent import recurrent
from attncli.problem import Problem
from attncli.trace import Tape

METHODS: dict[str, Callable[[Tape, Problem], None]] = {
    "self": attention,
    "cross": attention,
    "pooling": pooling,
    "co_attention": co_attention,
    "recurrent": recurrent,
}
