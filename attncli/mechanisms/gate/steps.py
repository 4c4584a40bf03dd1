"""The gate of what attention found (Qiu et al. 2025, Gated Attention for LLMs)."""

from __future__ import annotations

from attncli.core.attention.norms_and_activations import Gate
from attncli.core.problem.problem import Problem
from attncli.core.tape.backward_operations import Hadamard
from attncli.core.tape.step import Step
from attncli.core.tape.tape import Tape
from attncli.mechanisms.attention.lines import linear, tokens_of

GATED = "The gate says how much of what the head found passes on."


def gated(tape: Tape, problem: Problem, found: Step) -> Step:
    """Record σ(X W + b), and what each head found times that."""
    x = tokens_of(tape, problem, "X")
    net = linear(tape, problem, x, "gate", problem.heads, of="gate")
    gate = tape.record("gate", Gate(net), ("query", "feature"))
    return tape.record("gated", Hadamard(found, gate), why=GATED)
