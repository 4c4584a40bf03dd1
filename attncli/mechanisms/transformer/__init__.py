"""Layers of attention and a feed-forward network, and the next token."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

from attncli.core.attention.parameters import AXES
from attncli.core.declare import Implied, Key, KeyTests, Mechanism, key
from attncli.core.numbers.forms import LABELS, choice, mapping, matrix, number, vector, weight
from attncli.core.problem.values import feed_forward_activations, layer_norms
from attncli.core.text.strings import visible
from attncli.mechanisms.attention import (
    LAID_OUT,
    OUTPUT,
    PLACED,
    PROJECTIONS,
    SCORING,
    without_projections,
)

GAIN_NAMES, SHIFT_NAMES = "gamma_# γ_# gamma# g_#", "beta_# β_# beta#"
"""Other names of the vectors of a norm; # is its number."""


def _vector_of_norm(name: str, number: int, others: str) -> Key:
    half = ("attention", "the feed-forward network")[number - 1]
    needs = ("W_1",) if number == 2 else ()
    aliases = tuple(others.replace("#", str(number)).split())
    meaning = f"the norm's {name}, of {half}"
    return key(vector(), meaning, shape="d_model", needs=needs, aliases=aliases)


class Transformer(Mechanism):
    """The Transformer (Vaswani et al. 2017)."""

    meaning = "layers of attention and a feed-forward network, and the next token"

    gain_1 = _vector_of_norm("gain", 1, GAIN_NAMES)
    shift_1 = _vector_of_norm("shift", 1, SHIFT_NAMES)
    gain_2 = _vector_of_norm("gain", 2, GAIN_NAMES)
    shift_2 = _vector_of_norm("shift", 2, SHIFT_NAMES)
    W_1 = key(
        weight(),
        "the feed-forward network's first matrix",
        shape="d_model, d_ff",
        start=True,
        needs=("W_2",),
    )
    b_1 = key(vector(), "added to x W_1", shape="d_ff", needs=("W_1",))
    W_3 = key(
        weight(),
        "x W_3 multiplies the activated numbers, as a gate",
        shape="d_model, d_ff",
        needs=("W_1",),
    )
    b_3 = key(vector(), "added to x W_3", shape="d_ff", needs=("W_1", "W_3"))
    W_2 = key(
        weight(),
        "the feed-forward network's last matrix",
        shape="d_ff, d_model",
        start=True,
        needs=("W_1",),
    )
    b_2 = key(vector(), "added after W_2", shape="d_model", needs=("W_1",))
    norm = key(
        choice(lambda: (*layer_norms(), "none")),
        "the norm of each half of a layer",
        "layer",
        suggests=("rms",),
    )
    place = key(
        choice(("pre", "post")), "whether norms come before or after", "pre", suggests=("post",)
    )
    eps = key(
        number(or_equal=True),
        "what norms add to the variance; 1e-5, or 1e-6 for rms",
        instead={"eps: 1e-5": "epsilon layer_norm_eps layer_norm_epsilon"},
    )
    activation = key(
        choice(feed_forward_activations),
        "the activation of the hidden layer",
        needs=("W_1",),
        example="relu, gelu, …",
        suggests=("gelu",),
    )
    embedding = key(
        mapping(
            {"vocabulary": LABELS, "table": matrix()},
            "embedding: {vocabulary: [I, am], table: [[1, 0], [0, 1]]}",
        ),
        "{vocabulary: [I, …], table: [[…], …]}, a row for each word",
        {},
        parts={"table": "v, d_model"},
        labels={"vocabulary": "v"},
        is_of_tokens=True,
        at_top=True,
        as_written=True,
        instead={"embedding: {vocabulary: […], table: [[…]]}": "vocab vocabulary wte"},
    )
    final_norm = key(
        mapping(
            {
                "norm": choice(layer_norms),
                "eps": number(or_equal=True),
                **dict.fromkeys(("gain", "shift"), vector()),
            },
            "final_norm: {gain: [1, 1], shift: [0, 0]}",
        ),
        "the norm after the last layer: {gain: …, shift: …}",
        {},
        parts=dict.fromkeys(("gain", "shift"), "d_model"),
        at_top=True,
    )
    unembedding = key(
        choice(("tied",)), "tied, if logits are products with the embedding", at_top=True
    )
    W_u = key(
        weight(),
        "the unembedding, which makes logits",
        shape="d_model, v",
        at_top=True,
        instead={"W_u: [[…]], a column for each word": "lm_head unembed"},
    )
    target = key(
        LABELS,
        "the words that should follow, by label or number from 1",
        (),
        labels={"": "n"},
        at_top=True,
    )

    takes = ("X", *(name for name in PROJECTIONS if name[1:2] == "_"), "bias", *OUTPUT)
    also_takes = (*SCORING, "qk_norm", *PLACED, "document", *LAID_OUT, "heads", "kv_heads", "mask")
    shapes_here = {"W_o": "heads*d_v, d_model", "b_o": "d_model"}
    starts_with = ("X", "W_q", "W_k", "W_v", "W_o")
    source = "X"
    axes = AXES
    makes = ("X",)
    has_layers = True
    config_key = "model_type"
    result = "n, d_model"
    results = ("output", "probabilities")
    last = "attended"
    loss_of = "target"
    implied = (
        Implied("m", "n"),
        *without_projections("d_model")[:-1],
        Implied("d_model", "heads*d_v", unless=("W_o",)),  # it is added to the input as it is
    )
    step_names = (
        "attended residual score_hidden gated_context gated activated value feed_forward loss"
        " final logits probabilities next exp_logits sum_logits table"
    )

    def has_loss(self, given: Collection[str]) -> bool:
        """Return whether logits are made, with which the words that follow are compared."""
        return not {"unembedding", "W_u"}.isdisjoint(given)

    def tests(self, kind: Mechanism, given: Collection[str], values: Mapping[str, Any]) -> KeyTests:
        yield from self._tests_around_layers(given, values)
        if not values["layers"]:
            yield from self._tests_of_layer(given, values)

    def _tests_around_layers(self, given: Collection[str], values: Mapping[str, Any]) -> KeyTests:
        embedding = values["embedding"]
        is_lost = "X" not in given and not ("table" in embedding and values["tokens"])
        missing = "tokens" if "table" in embedding else "embedding"
        hint = "write embedding: {vocabulary: […], table: [[…]]} and tokens, or X: [[1, 0], [0, 1]]"
        yield is_lost, "X", f"there is neither X nor {missing}", hint
        tied, unembeds = bool(values["unembedding"]), self.has_loss(given)
        message, no_table = "unembedding: tied needs a table", tied and "table" not in embedding
        yield no_table, "unembedding", message, "write embedding: {table: …}"
        message = "W_u has no use beside unembedding: tied"
        yield tied and "W_u" in given, "W_u", message, "leave one out"
        unused = "X" in given and "embedding" in given and not unembeds
        message = "X is given, so embedding has no use"
        yield unused, "embedding", message, "leave one of them out"
        words = embedding.get("vocabulary", ())
        twice = next((word for word, count in Counter(words).items() if count > 1), "")
        message = f"the vocabulary has {visible(twice)} twice"
        yield bool(twice), "embedding", message, "leave one of them out"
        no_logits = bool(values["target"]) and not unembeds
        yield no_logits, "target", "target needs logits", "write unembedding: tied, or W_u"

    def _tests_of_layer(self, given: Collection[str], values: Mapping[str, Any]) -> KeyTests:
        from attncli.core.attention.norms_and_activations import WITH_GATE

        activation = values["activation"] or "relu"
        no_gate = activation in WITH_GATE and "W_3" not in given
        hint = f"write W_3, or activation: {WITH_GATE.get(activation)}"
        yield no_gate, "activation", f"{activation} needs W_3", hint
        for name in ("eps", "gain_1", "shift_1", "gain_2", "shift_2"):
            is_lost = name in given and values["norm"] == "none"
            yield is_lost, name, f"{name} has no use without a norm", "write norm: layer, or rms"
