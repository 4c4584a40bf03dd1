"""The keys of a problem as arguments of Python, for type checkers and editors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias, TypedDict

from numpy.typing import ArrayLike

from attncli.core.problem.marking import Marking

Number: TypeAlias = str | float | Fraction | Decimal | None
Matrix: TypeAlias = ArrayLike | Sequence[object] | Number
Words: TypeAlias = str | Sequence[str] | None
Named: TypeAlias = str | Mapping[str, object] | None
"""A name, or a mapping of the name and parameters."""


class ProblemKeys(TypedDict, total=False):
    """The keys of a problem; the table `KEYS` gives their meanings.

    A matrix may be nested lists of numbers or of written numbers, a text block, or anything that
    NumPy can read as an array: tensors, tables of pandas, the steps of a trace. None leaves a key
    out.
    """

    title: str | None
    notes: str | None
    student: str | None
    variant: Number
    problem: Number
    kind: str | None
    tokens: Words
    memory_tokens: Words
    X: Matrix
    memory: Matrix
    W_q: Matrix
    W_k: Matrix
    W_v: Matrix
    W_o: Matrix
    b_q: Matrix
    b_k: Matrix
    b_v: Matrix
    b_o: Matrix
    Q: Matrix
    K: Matrix
    V: Matrix
    scores: Matrix
    heads: Number
    kv_heads: Number
    score: Named
    past: Mapping[str, Matrix] | None
    qk_norm: Named
    scale: Number
    softcap: Number
    bias: Matrix
    positions: Named | Sequence[str | Mapping[str, object]]
    mask: Matrix | Mapping[str, object]
    normalize: Named
    tokens_as: str | None
    weights_as: str | None
    round: Number | Mapping[str, object]
    W_c: Matrix
    W: Matrix
    A: Matrix
    b: Matrix
    u: Matrix
    h_0: Matrix
    c_0: Matrix
    update: str | None
    activation: str | None
    output_activation: str | None
    enhance: bool | str | None
    layers: Sequence[Mapping[str, object]] | Mapping[str, Mapping[str, object]] | None
    norm: str | None
    place: str | None
    eps: Number
    gain_1: Matrix
    shift_1: Matrix
    gain_2: Matrix
    shift_2: Matrix
    W_1: Matrix
    b_1: Matrix
    W_3: Matrix
    b_3: Matrix
    W_2: Matrix
    b_2: Matrix
    embedding: Mapping[str, object] | None
    final_norm: Mapping[str, object] | None
    unembedding: str | None
    W_u: Matrix
    target: Words
    gradient: Matrix | Mapping[str, object]
    learning_rate: Number
    names: Mapping[str, str] | str | None
    answers: Mapping[str, object] | None
    marking: Marking | Mapping[str, object] | None
