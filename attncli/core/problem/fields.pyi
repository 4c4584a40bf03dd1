"""Written by `python docs/types_of_keys.py`, from the declarations of the keys."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias, TypedDict

from numpy.typing import ArrayLike

from attncli.core.arithmetic.elements import Array
from attncli.core.formulas.tree import Formula
from attncli.core.problem.marking import Marking
from attncli.core.problem.tour import Stop

NumberLike: TypeAlias = str | float | Fraction | Decimal | None
MatrixLike: TypeAlias = ArrayLike | Sequence[object] | NumberLike
Words: TypeAlias = str | Sequence[str] | None
NameLike: TypeAlias = str | Mapping[str, object] | None

class ProblemFields:
    title: str
    notes: str
    student: str
    variant: str
    problem: str
    kind: str
    tokens: tuple[str, ...]
    memory_tokens: tuple[str, ...]
    X: Array | None
    memory: Array | None
    W_q: Array | None
    W_k: Array | None
    W_v: Array | None
    W_o: Array | None
    b_q: Array | None
    b_k: Array | None
    b_v: Array | None
    b_o: Array | None
    Q: Array | None
    K: Array | None
    V: Array | None
    scores: Array | None
    heads: int
    kv_heads: int
    score: Mapping[str, Any]
    past: Mapping[str, Any]
    qk_norm: Mapping[str, Any]
    scale: str
    softcap: float | None
    bias: Array | Formula | None
    positions: Mapping[str, Any]
    ids: Any
    document: tuple[str, ...]
    mask: Mapping[str, Any]
    normalize: Mapping[str, Any]
    tokens_as: str
    weights_as: str
    W_c: Array | None
    enhance: bool | None
    update: str
    alpha: Array | None
    W_alpha: Array | None
    b_alpha: Array | None
    beta: Array | None
    W_beta: Array | None
    b_beta: Array | None
    S_0: Array | None
    differential: Mapping[str, Any]
    cell: str
    encoder: Mapping[str, Any]
    decoder: Mapping[str, Any]
    attends: str
    reset: str | None
    gate: Mapping[str, Any]
    gradient: Mapping[str, Any]
    learning_rate: float | None
    W_dq: Array | None
    gain_q: Array | None
    W_uq: Array | None
    W_qr: Array | None
    W_dkv: Array | None
    gain_kv: Array | None
    W_uk: Array | None
    W_uv: Array | None
    W_kr: Array | None
    form: str
    latent_norm: str | None
    eps: float | None
    online: Mapping[str, Any]
    W: Array | None
    b: Array | None
    u: Array | None
    activation: str | None
    output_activation: str | None
    A: Array | None
    h_0: Array | None
    c_0: Array | None
    gain_1: Array | None
    shift_1: Array | None
    gain_2: Array | None
    shift_2: Array | None
    W_1: Array | None
    b_1: Array | None
    W_3: Array | None
    b_3: Array | None
    W_2: Array | None
    b_2: Array | None
    norm: str
    place: str
    embedding: Mapping[str, Any]
    final_norm: Mapping[str, Any]
    unembedding: str | None
    W_u: Array | None
    target: tuple[str, ...]
    layers: tuple[Any, ...]
    round: Mapping[str, Any] | None
    names: Mapping[str, str]
    answers: Mapping[str, Any] | None
    marking: Marking
    tour: tuple[Stop, ...]

class ProblemKeys(TypedDict, total=False):
    title: NumberLike
    notes: NumberLike
    student: NumberLike
    variant: NumberLike
    problem: NumberLike
    kind: str | None
    tokens: Words
    memory_tokens: Words
    X: MatrixLike
    memory: MatrixLike
    W_q: MatrixLike
    W_k: MatrixLike
    W_v: MatrixLike
    W_o: MatrixLike
    b_q: MatrixLike
    b_k: MatrixLike
    b_v: MatrixLike
    b_o: MatrixLike
    Q: MatrixLike
    K: MatrixLike
    V: MatrixLike
    scores: MatrixLike
    heads: NumberLike
    kv_heads: NumberLike
    score: NameLike
    past: Mapping[str, object] | None
    qk_norm: NameLike
    scale: NumberLike
    softcap: NumberLike
    bias: MatrixLike
    positions: NameLike | Sequence[str | Mapping[str, object]]
    ids: MatrixLike | Mapping[str, object]
    document: Words
    mask: MatrixLike | Mapping[str, object]
    normalize: NameLike
    tokens_as: str | None
    weights_as: str | None
    W_c: MatrixLike
    enhance: bool | str | None
    update: str | None
    alpha: MatrixLike
    W_alpha: MatrixLike
    b_alpha: MatrixLike
    beta: MatrixLike
    W_beta: MatrixLike
    b_beta: MatrixLike
    S_0: MatrixLike
    differential: Mapping[str, object] | None
    cell: str | None
    encoder: Mapping[str, object] | None
    decoder: Mapping[str, object] | None
    attends: str | None
    reset: str | None
    gate: Mapping[str, object] | None
    gradient: MatrixLike | Mapping[str, object]
    learning_rate: NumberLike
    W_dq: MatrixLike
    gain_q: MatrixLike
    W_uq: MatrixLike
    W_qr: MatrixLike
    W_dkv: MatrixLike
    gain_kv: MatrixLike
    W_uk: MatrixLike
    W_uv: MatrixLike
    W_kr: MatrixLike
    form: str | None
    latent_norm: str | None
    eps: NumberLike
    online: Mapping[str, object] | None
    W: MatrixLike
    b: MatrixLike
    u: MatrixLike
    activation: str | None
    output_activation: str | None
    A: MatrixLike
    h_0: MatrixLike
    c_0: MatrixLike
    gain_1: MatrixLike
    shift_1: MatrixLike
    gain_2: MatrixLike
    shift_2: MatrixLike
    W_1: MatrixLike
    b_1: MatrixLike
    W_3: MatrixLike
    b_3: MatrixLike
    W_2: MatrixLike
    b_2: MatrixLike
    norm: str | None
    place: str | None
    embedding: Mapping[str, object] | None
    final_norm: Mapping[str, object] | None
    unembedding: str | None
    W_u: MatrixLike
    target: Words
    layers: Sequence[Mapping[str, object]] | Mapping[str, Mapping[str, object]] | None
    round: NumberLike | Mapping[str, object]
    names: Mapping[str, str] | str | None
    answers: Mapping[str, object] | None
    marking: Marking | Mapping[str, object] | None
    tour: Sequence[Mapping[str, object]] | None
