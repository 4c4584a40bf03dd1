"""Every operation of the forward pass, on small operands, for laws that hold for each."""

from __future__ import annotations

from typing import Any

import numpy as np

from attncli.core.attention import norms_and_activations, scores
from attncli.core.attention.masks import Masked
from attncli.core.attention.normalizers import Hardmax, Sigmoid, Sparsemax, Unblocked
from attncli.core.attention.softmax import Exp, Sum, shifted
from attncli.core.tape import backward_operations, operations
from attncli.core.tape.operations import Add, Divide, MatMul, Scale, Transposed
from attncli.core.tape.step import Operation, Step
from attncli.core.tape.tape import Tape
from attncli.mechanisms.gradient import steps as training
from attncli.mechanisms.recurrent import steps as recurrent
from attncli.mechanisms.transformer import steps as transformer

AXES = ("query", "key", "hidden")


def operand(name: str, *shape: int) -> Step:
    """Return a step of numbers between ½ and 1½, and of 0 and 1 for a mask."""
    array: Any = np.random.default_rng(len(shape)).uniform(0.5, 1.5, shape)
    array = (array > 0.8) * 1.0 if name == "m" else array
    return Tape().put(name, array, AXES[: len(shape) - 2], key=name)


A, B, C = operand("a", 1, 2, 3, 4), operand("b", 1, 2, 4, 3), operand("c", 1, 2, 3, 4)
E, T = operand("e", 1, 2, 3, 4), operand("t", 1, 2, 3, 1)
W, V, H = operand("w", 1, 1, 4, 3), operand("v", 1, 1, 1, 4), operand("h", 1, 2, 3, 5, 4)
F, M = operand("f", 1, 1, 3, 4), operand("m", 1, 1, 3, 4)
OPERANDS = (A, B, C, E, T, W, V, H, F, M)
MASKED, POWERS = Masked(A, M), Exp(A)

OPERATIONS: dict[str, Operation] = {
    "matmul": MatMul(A, B),
    "matmul with a broadcast": MatMul(A, W),
    "dot": MatMul(A, Transposed(C)),
    "square": MatMul(A, Transposed(A)),
    "transposed": Transposed(A),
    "add": Add(A, C),
    "add a vector": Add(A, V),
    "subtract": backward_operations.Subtract(A, V),
    "product": backward_operations.Hadamard(A, V),
    "scale": Scale(A, times=3.0, over=1.7),
    "scale by a negative number": Scale(A, times=-2.0),
    "tanh": operations.Tanh(A),
    "softcap": operations.SoftCap(A, 3.0),
    "joined": operations.Concatenate(A, C),
    "exp": POWERS,
    "power of 2": Exp(A, 2.0, 0.5),
    "power less than 1": Exp(A, 0.5),
    "shifted": shifted(POWERS, -1, None)[0],
    "sum over keys": Sum(A, -1),
    "sum over queries": Sum(A, -2),
    "divide": Divide(E, T),
    "divide by what may be 0": Divide(A, C),
    "softmax": Divide(POWERS, Sum(POWERS, -1)),
    "hardmax": Hardmax(A, -1),
    "hardmax over queries": Hardmax(A, -2),
    "sparsemax": Sparsemax(A, -1, 2.0),
    "sparsemax over queries": Sparsemax(A, -2, 0.7),
    "sigmoid": Sigmoid(A),
    "elu": scores.EluPlusOne(A),
    "cosine": scores.Cosine(A, C),
    "distance": scores.GaussianExponent(A, C, 0.8),
    "each pair": scores.EachPair(A, C),
    "joined pairs": scores.ConcatenatePairs(A, C),
    "pair dot": scores.PairDot(H, V),
    "cut": scores.SplitHeads(F, 2),
    "shared": scores.RepeatHeads(A, 3),
    "concat": scores.MergeHeads(A),
    "masked": MASKED,
    "unblocked": Unblocked(A),
    "masked, unblocked": Unblocked(MASKED),
    "masked softmax": Divide(Exp(MASKED), Sum(Exp(MASKED), -1)),
    "masked hardmax": Hardmax(MASKED, -1),
    "masked sparsemax": Sparsemax(MASKED, -1),
    "length": norms_and_activations.Length(A),
    "root mean square": norms_and_activations.Length(A, 0.5),
    "relu": norms_and_activations.Relu(A),
    "gelu": norms_and_activations.Phi(A),
    "gelu by tanh": norms_and_activations.TanhGate(A),
    "mean": norms_and_activations.Mean(A),
    "mean square": norms_and_activations.MeanSquare(A),
    "variance": norms_and_activations.Variance(A, T),
    "deviation": norms_and_activations.Deviation(E, 0.5),
    "rows": transformer.Rows(A, (1, 0, 1), ("x", "y", "x")),
    "row": operations.Row(A, 1),
    "rows of a part": operations.Row(A, 1, 2),
    "columns": backward_operations.Columns(A, 1, 3),
    "vector as a row": operations.AsRow(V),
    "matrix times vector": operations.MatVec(F, V),
    "vectors side by side": operations.Stacked((V, V)),
    "vectors below each other": operations.Below((V, V)),
    "triangle": recurrent.Triangle((operand("v", 1, 1, 1, 2), operand("v", 1, 1, 1, 3))),
    "total": training.Total(A),
    "squared error": training.SquaredError(A, M, 3.0),
}
