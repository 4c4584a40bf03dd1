"""The values of the keys of a problem: read, with their defaults, and as attributes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attncli.core.arithmetic.elements import Array
from attncli.core.attention.scores import SCORES
from attncli.core.errors import MAX_SHOWN_FAULTS, Fault, collected, refuse
from attncli.core.formulas.tree import Formula
from attncli.core.numbers.matrices import as_raw
from attncli.core.problem.faults import with_open_cells_together
from attncli.core.problem.key_names import hint_for
from attncli.core.problem.keys import KEYS
from attncli.core.problem.kinds import KINDS
from attncli.core.problem.marking import Marking
from attncli.core.problem.shapes import heads_of
from attncli.core.text.escapes import visible


class Values:
    """The keys of a problem as attributes; the table `KEYS` gives their meanings."""

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
    mask: Mapping[str, Any]
    normalize: Mapping[str, Any]
    tokens_as: str
    weights_as: str
    round: Mapping[str, Any] | None
    W_c: Array | None
    W: Array | None
    A: Array | None
    b: Array | None
    u: Array | None
    h_0: Array | None
    c_0: Array | None
    update: str
    activation: str | None
    output_activation: str | None
    enhance: bool | None
    layers: tuple[Any, ...]
    norm: str
    place: str
    eps: float | None
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
    embedding: Mapping[str, Any]
    final_norm: Mapping[str, Any]
    unembedding: str | None
    W_u: Array | None
    target: tuple[str, ...]
    gradient: Mapping[str, Any]
    learning_rate: float | None
    names: Mapping[str, str]
    answers: Mapping[str, Any] | None
    marking: Marking


DEFAULTS: Mapping[str, Any] = {key: row.default for key, row in KEYS.items()}
MAPPINGS = [key for key, default in DEFAULTS.items() if isinstance(default, dict)]
"""Keys whose defaults are copied, so that changing those of one problem changes no other."""

MAX_KEPT_AS_WRITTEN = 10_000
"""Maximum number of numbers, or characters of a text block, of a key that is kept as written.

People calculate with less; to keep more would only take memory."""


def read_keys(named: Mapping[str, Any], copy: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return every key as it was given, and its value; refuse what is wrong with single keys."""
    raw: dict[str, Any] = {}
    values: dict[str, Any] = {}
    faults: list[Fault] = []
    for key, given in named.items():
        if key not in KEYS:
            hint = hint_for(key) if len(faults) < MAX_SHOWN_FAULTS else ""
            faults.append(Fault(f"unknown key {visible(key)}", (key,), hint))
            continue
        with collected(faults):
            raw[key] = as_raw(given, (key,), copy)
            values[key] = KEYS[key].form.read(raw[key], (key,))
    if faults:
        refuse(with_open_cells_together(faults, raw))
    return raw, values


def with_defaults(read: dict[str, Any]) -> dict[str, Any]:
    """Return the values of all keys; the defaults of some depend on other keys."""
    values = {**DEFAULTS, **{key: dict(DEFAULTS[key]) for key in MAPPINGS}, **read}
    values["heads"], values["kv_heads"] = heads_of(values, read)
    values["score"] = values["score"] or {"name": KINDS[values["kind"]].score}
    usual = "1" if "scores" in read else SCORES[values["score"]["name"]].scale
    values["scale"] = values["scale"] or usual
    if "normalize" not in read and "scores" not in read:
        values["normalize"] = {"name": SCORES[values["score"]["name"]].normalize}
    return values


def is_small(raw: object) -> bool:
    rows = raw if isinstance(raw, list | tuple) else ()
    count = sum(len(row) if isinstance(row, list | tuple) else 1 for row in rows)
    size = len(raw) if isinstance(raw, str) else getattr(raw, "size", count)
    return size <= MAX_KEPT_AS_WRITTEN
