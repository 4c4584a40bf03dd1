"""Random modules of PyTorch and transformers in float64, and what these are called with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch


@contextmanager
def wide() -> Iterator[None]:
    """Let the names of float32 mean float64: transformers asks for float32 in norms and angles."""
    names = {"float": torch.float, "float32": torch.float32}
    as_float = torch.Tensor.float
    try:
        torch.float = torch.float32 = torch.float64
        torch.Tensor.float = torch.Tensor.double
        yield
    finally:
        vars(torch).update(names)
        torch.Tensor.float = as_float


def drawn(module: Any) -> Any:
    """Return a module in float64 with random parameters."""
    for parameter in module.double().eval().parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    return module


def tokens(*shape: int) -> torch.Tensor:
    return torch.randn(1, *shape, dtype=torch.float64)


def causal(n: int) -> torch.Tensor:
    return torch.full((n, n), -torch.inf, dtype=torch.float64).triu(1)[None, None]


def angles(n: int, size: int, base: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the cosines and sines of a rotation of halves."""
    speeds = base ** (-torch.arange(0, size, 2, dtype=torch.float64) / size)
    turns = torch.outer(torch.arange(n, dtype=torch.float64), speeds).repeat(1, 2)[None]
    return turns.cos(), turns.sin()


def of_heads(weight: Any, heads: int, first: int) -> tuple[Any, Any]:
    """Return the first rows of each head, and the others, of a weight (out, in) or a bias."""
    parts = weight.reshape(heads, -1, *weight.shape[1:])
    return parts[:, :first].flatten(0, 1), parts[:, first:].flatten(0, 1)
