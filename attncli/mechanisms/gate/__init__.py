"""A gate: how much of what each head found passes on."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from attncli.core.declare import Mechanism, Option, Shapes, key, letters
from attncli.core.numbers.forms import mapping, vector, weight


def _columns(width: str) -> dict[str, str]:
    return {"W": f"d_model, {width}", "b": width}


class Gate(Option):
    """Gated attention (Qiu et al. 2025, Gated Attention for Large Language Models)."""

    gate = key(
        mapping(
            {"W": weight(), "b": vector()},
            "gate: {W: [[…]], b: […]}, W with a column per head, or per feature",
            needs=("W",),
        ),
        "what multiplies each head's context, σ(X W + b), per head or feature: {W: …, b: …}",
        {},
        is_late=True,
        needs=("X",),
        drawn={"heads": _columns("heads"), "features": _columns("heads*d_v")},
        instead={
            "gate: {W: [[…]], b: […]}, σ(X W + b) times the context": (
                "w_g b_g w_gate b_gate g_proj gate_score attn_gate attn_output_gate"
                " headwise_attn_output_gate elementwise_attn_output_gate output_gate"
            )
        },
    )
    step_names = "gate gated W_gate b_gate"

    def fits(self, kind: Mechanism, keys: Collection[str]) -> bool:
        """It is for what heads find by scores."""
        return "heads" in keys and "score" in keys

    def shapes_with(self, kind: Mechanism, values: Mapping[str, Any], shapes: Shapes) -> Shapes:
        """There is a number for each head, or for each feature."""
        if not values["gate"]:
            return {}
        is_turned = values["weights_as"] == "out_in" or values["tokens_as"] == "columns"
        is_by_head = values["gate"]["W"].shape[-2 if is_turned else -1] == values["heads"]
        columns = self.own["gate"].drawn["heads" if is_by_head else "features"]
        return {f"gate.{part}": letters(shape) for part, shape in columns.items()}
