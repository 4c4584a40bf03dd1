"""Differential attention: what two attentions of a head both find is noise, and is subtracted."""

from __future__ import annotations

from collections.abc import Collection

from attncli.core.declare import Mechanism, Option, key
from attncli.core.numbers.forms import choice, mapping, number, vector
from attncli.core.problem.values import layer_norms

OF_LAMBDA = ("lambda_q1", "lambda_k1", "lambda_q2", "lambda_k2")


class Differential(Option):
    """Differential attention (Ye et al. 2024, Differential Transformer, section 2)."""

    differential = key(
        mapping(
            {
                **dict.fromkeys(("lambda", "lambda_init"), vector(broadcasts=True)),
                **dict.fromkeys((*OF_LAMBDA, "gain"), vector()),
                "norm": choice(layer_norms),
                "eps": number(or_equal=True),
            },
            "differential: {lambda: 0.5}, or {lambda_init: 0.8, lambda_q1: […], …_k1, …_q2 and"
            " …_k2}",
            either=("lambda", "lambda_q1"),
            beside={
                **dict.fromkeys(OF_LAMBDA, (*OF_LAMBDA, "lambda_init")),
                "lambda_init": ("lambda_q1 or norm",),
                "norm": ("lambda_init",),
                **dict.fromkeys(("gain", "eps"), ("norm",)),
            },
        ),
        "differential attention, weights_1 − λ·weights_2 of the halves of each head: {lambda: …}",
        {},
        parts={
            **dict.fromkeys(("lambda", "lambda_init"), "heads"),
            **dict.fromkeys(OF_LAMBDA, "d_k"),
            "gain": "d_v",
        },
        is_late=True,
        not_beside=("scores",),
        fixed=("lambda_init",),
        instead={
            "differential: {lambda: 0.5}, or {lambda_init: 0.8, lambda_q1: …, lambda_k1: …, …}": (
                "lambda λ lambda_ lambda_full lambda_init lambda_std_dev lambda_q1 lambda_k1"
                " lambda_q2 lambda_k2 diff_attn"
            ),
            "differential: {…, lambda_init: 0.8, norm: rms}": "subln groupnorm",
        },
    )
    halves = 2
    other_names = {"differential": "write kind: self, and differential: {lambda: 0.5}"}
    step_names = "lambda lambda_init gain rescaled"

    def fits(self, kind: Mechanism, keys: Collection[str]) -> bool:
        """It cuts the queries and keys of every head, whose scores are whole rows."""
        return "kv_heads" in keys and "mask" in keys
