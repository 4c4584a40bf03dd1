"""Multi-head latent attention: a cache keeps one short vector per token."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from attncli.core.attention.parameters import AXES
from attncli.core.declare import Implied, KeyTests, Mechanism, key
from attncli.core.numbers.forms import choice, number, vector, weight
from attncli.core.problem import values as forms
from attncli.mechanisms.attention import LAID_OUT, OUTPUT, PLACED, SCORING

FIRST_ROWS = "first rows and the others, and weights_as: out_in"


class Latent(Mechanism):
    """Multi-head latent attention (DeepSeek-AI 2024, DeepSeek-V2, section 2.1)."""

    meaning = "keys and values of all heads are made from one short vector per token"

    W_dq = key(
        weight(),
        "makes c_q, from which queries are made, from X",
        shape="d_model, d_cq",
        start=True,
        needs=("W_uq",),
        replaces=("W_q",),
    )
    gain_q = key(
        vector(),
        "the gain of the norm of c_q",
        shape="d_cq",
        needs=("latent_norm", "W_dq"),
        aliases=("g_q",),
    )
    W_uq = key(
        weight("head"),
        "c_q to the content part of the queries",
        shape="d_cq, heads*d_h",
        start=True,
        needs=("W_dq",),
    )
    W_qr = key(
        weight("head"),
        "c_q, or X, to the rotary part of the queries",
        shape="d_cq, heads*d_r",
        start=True,
        needs=("W_kr",),
    )
    W_dkv = key(
        weight(),
        "makes c_kv, from which keys and values are made",
        shape="d_model, d_c",
        required=True,
    )
    gain_kv = key(
        vector(),
        "the gain of the norm of c_kv",
        shape="d_c",
        needs=("latent_norm",),
        aliases=("g_kv",),
    )
    W_uk = key(
        weight("head"),
        "c_kv to the content part of the keys",
        shape="d_c, heads*d_h",
        required=True,
    )
    W_uv = key(weight("head"), "c_kv to the values", shape="d_c, heads*d_v", required=True)
    W_kr = key(
        weight(),
        "X to the rotary part of the keys, one for all heads",
        shape="d_model, d_r",
        start=True,
        needs=("W_qr",),
    )
    form = key(
        choice(("naive", "absorbed")),
        "naive makes keys and values, absorbed multiplies queries by W_uk, results by W_uv",
        "naive",
        instead={"form: absorbed": "absorb attn_impl"},
    )
    latent_norm = key(choice(("rms",)), "the norm of c_q and c_kv")
    eps = key(
        number(or_equal=True),
        "what norms add to the variance; 1e-5, or 1e-6 for rms",
        needs=("latent_norm",),
        instead={"eps: 1e-5": "epsilon layer_norm_eps layer_norm_epsilon"},
    )

    takes = ("X", "W_q")
    also_takes = ("bias", *OUTPUT, *SCORING, *PLACED, "document", *LAID_OUT, "heads", "mask")
    shapes_here = {"W_q": "d_model, heads*d_h"}
    requires = ("X",)
    axes = AXES
    result = "n, d_out"
    last = "output"
    implied = (
        Implied("m", "n"),
        Implied("d_cq", "d_model", unless=("W_dq",)),
        Implied("d_k", "d_h + d_r"),
        Implied("d_k", "d_h", unless=("W_kr",)),
        Implied("d_q", "d_k"),
        Implied("d_out", "heads*d_v", unless=("W_o",)),
    )
    other_names = {"mla": "latent"}
    step_words = {
        "c_q": "cq compressedq compressedqueries querylatent latentqueries",
        "c_kv": "ckv compressedkv latent latents kvlatent latentkv",
        "Q_C": "qc qnope qpass contentqueries",
        "K_C": "kc knope kpass contentkeys",
        "Q_absorbed": "absorbedq absorbedqueries",
        "Q_rotary": "rotaryq",
        "K_rotary": "rotaryk",
        "context_c": "contextlatent latentcontext",
    }
    hints = {
        f"write W_dkv and W_kr, its {FIRST_ROWS}": "kv_a_proj_with_mqa wkv_a",
        f"write W_uk and W_uv, of each head its {FIRST_ROWS}": "kv_b_proj wkv_b",
        f"write W_uq and W_qr, of each head its {FIRST_ROWS}": "q_b_proj wq_b",
        "write it under W_dq": "q_a_proj wq_a",
        "write latent_norm: rms, and the gains under gain_q and gain_kv": (
            "q_a_layernorm kv_a_layernorm kv_norm"
        ),
    }

    def defaults(self, given: Collection[str], values: dict[str, Any]) -> None:
        """Turn the rotary part by positions."""
        if "W_kr" in given and not values["positions"]:
            values["positions"] = forms.POSITION_FORM.read("rope", ("positions",))

    def tests(self, kind: Mechanism, given: Collection[str], values: Mapping[str, Any]) -> KeyTests:
        no_queries = not {"W_q", "W_dq", "W_uq"} & {*given}
        yield no_queries, "kind", "kind latent needs W_q, or W_dq and W_uq", "they make the queries"
        is_turned, score = "rope" in values["positions"], values["score"]["name"]
        message = "rope turns what W_qr and W_kr make, so each needs the other"
        hint = "write positions: rope, W_qr and W_kr, or none of them"
        yield is_turned != ("W_kr" in given), "positions", message, hint
        is_other = values["form"] == "absorbed" and score not in ("dot", "scaled_dot")
        message = f"form: absorbed needs dot products as scores, not {score}"
        yield is_other, "form", message, "write form: naive, or leave out score"
