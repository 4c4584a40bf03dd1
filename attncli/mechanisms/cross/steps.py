"""The tokens of X attend to those of memory by the lines of self-attention."""

from attncli.mechanisms.attention.steps import steps

__all__ = ["steps"]
