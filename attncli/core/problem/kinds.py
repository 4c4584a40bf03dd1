"""The kinds of problems: their keys, the shapes of their matrices, and what follows from them.

A shape is written in letters, in row convention; a letter is one size, and 1 is itself. `heads*d_v`
is the size of one head times the heads; in a stack of one matrix per head it is d_v. Queries and
keys of differential attention have two halves of d_k features, others one.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import Any

from attncli.core.attention.parameters import AXES
from attncli.core.problem.networks import NETWORKS
from attncli.core.records import Record

Shapes = dict[str, tuple[str, ...]]


TEXT_KEYS = ("title", "notes", "student", "variant", "problem")
"""Keys of text about a problem and its student, with which nothing is calculated."""

COMMON_OPTIONS = (*TEXT_KEYS, "kind", "tokens", "round", "names", "answers", "marking")
"""Keys of every kind."""


REPLACES = {
    "Q": ("W_q", "b_q"),
    "K": ("W_k", "b_k"),
    "V": ("W_v", "b_v"),
    **{rate: (f"W_{rate}", f"b_{rate}") for rate in ("alpha", "beta")},
    "W_dq": ("W_q",),
    "scores": ("Q", "K", "W_q", "b_q", "W_k", "b_k", "score", "qk_norm", "past", "differential"),
    "differential": ("past", "online"),  # of which each half would need its own
}
"""Keys of results that a problem may set directly, each with the keys that it makes useless."""


class Implied(Record):
    """A letter that equals another one, unless the problem has a key that sets it."""

    letter: str
    origin: str
    unless: tuple[str, ...] = ()
    or_one: bool = False  # whether the other one may be 1 instead


class Kind(Record):
    """The keys of one kind of problem, the shapes of its matrices, and its defaults."""

    meaning: str  # one line
    method: str  # the module of `core/mechanisms/`, and the function in it that records the steps
    shapes: Shapes  # its matrices, also such as `embedding.table`, in keys that are options
    options: tuple[str, ...]  # its other keys, beside those of every kind
    needs: tuple[str, ...] = ()  # its required keys
    start: tuple[str, ...] = ()  # the matrices of a new problem, beside those it needs
    implied: tuple[Implied, ...] = ()  # letters that follow from others, in this order
    tokens: str = "n"  # the letter that counts the tokens
    score: str = "scaled_dot"  # the default score function
    source: str = ""  # the input from which keys and values are projected, if they are
    single: tuple[str, str] | None = None  # a letter that is 1, and the key that is its only row
    variants: tuple[str, Mapping[str, Shapes]] | None = None  # an option, and shapes by its value
    pairs: tuple[tuple[str, str], ...] = ()  # keys, each with one without which it has no use
    axes: tuple[str, ...] = ("keys",)  # along which the weights may be normalised
    by_position: bool = True  # whether each query has a position among the keys, for some masks
    masks: tuple[str, ...] = ()  # the forms of masks that it takes, if not all

    @property
    def has_layers(self) -> bool:
        return "layers" in self.options

    @property
    def all_shapes(self) -> Shapes:
        """The shapes of its matrices, with those of every variant."""
        of_variants = self.variants[1].values() if self.variants else ()
        return self.shapes | reduce(or_, of_variants, Shapes()) | self.shapes

    @property
    def keys(self) -> tuple[str, ...]:
        of_shapes = (key.partition(".")[0] for key in self.all_shapes)
        return tuple(dict.fromkeys((*COMMON_OPTIONS, *of_shapes, *self.options)))

    def takes_mask(self, form: str, by_position: bool) -> bool:
        """Return True if a form of masks, perhaps one that asks for positions, has a use."""
        return form in self.masks if self.masks else self.by_position or not by_position

    def variant_of(self, values: Mapping[str, Any]) -> dict[str, str]:
        """Return the option that chooses shapes; by default the first that uses all given keys."""
        option, variants = self.variants or ("", {})
        given = {
            key for shapes in variants.values() for key in shapes if values.get(key) is not None
        }
        fitting = [name for name, shapes in variants.items() if given <= shapes.keys()]
        return {option: values[option] or [*fitting, *variants][0]} if option else {}

    @property
    def source_groups(self) -> tuple[tuple[str, ...], ...]:
        """Groups of keys of which a problem needs one: a matrix, its source, or its product."""
        if "Q" not in self.shapes:
            return ()
        return ("Q", "X", "scores"), ("K", self.source, "scores"), ("V", self.source)


BACKWARD = ("gradient", "learning_rate")
SCORING = ("score", "scale", "softcap", "normalize")
NETWORK_OPTIONS = ("cell", "attends", "reset")
MASKING: Shapes = {"bias": ("n", "m"), "mask": ("n", "m")}
"""The bias, and every matrix of a mask."""

DIFFERENTIAL: Shapes = {
    **dict.fromkeys(("differential.lambda", "differential.lambda_init"), ("heads",)),
    **dict.fromkeys([f"differential.lambda_{x}" for x in ("q1", "k1", "q2", "k2")], ("d_k",)),
    "differential.gain": ("d_v",),
}
"""The numbers and vectors of the difference of two attentions."""

SELF: Shapes = {
    "X": ("n", "d_model"),
    "W_q": ("d_model", "heads*halves*d_q"),
    "b_q": ("heads*halves*d_q",),
    "Q": ("n", "heads*halves*d_q"),
    "W_k": ("d_model", "kv_heads*halves*d_k"),
    "b_k": ("kv_heads*halves*d_k",),
    "K": ("m", "kv_heads*halves*d_k"),
    "W_v": ("d_model", "kv_heads*d_v"),
    "b_v": ("kv_heads*d_v",),
    "V": ("m", "kv_heads*d_v"),
    "scores": ("n", "m"),
    **MASKING,
    "W_o": ("heads*d_v", "d_out"),
    "b_o": ("d_out",),
    "W_c": ("d_c", "d_out + d_model"),
    "gradient": ("n", "d_out"),
}
CROSS: Shapes = {
    "X": SELF["X"],
    "memory": ("m", "d_memory"),
    **SELF,
    **DIFFERENTIAL,
    "W_k": ("d_memory", "kv_heads*halves*d_k"),
    "W_v": ("d_memory", "kv_heads*d_v"),
}
LATENT: Shapes = {
    "X": SELF["X"],
    "W_dq": ("d_model", "d_cq"),
    "gain_q": ("d_cq",),
    "W_q": ("d_model", "heads*d_h"),
    "W_uq": ("d_cq", "heads*d_h"),
    "W_qr": ("d_cq", "heads*d_r"),
    "W_dkv": ("d_model", "d_c"),
    "gain_kv": ("d_c",),
    "W_uk": ("d_c", "heads*d_h"),
    "W_uv": ("d_c", "heads*d_v"),
    "W_kr": ("d_model", "d_r"),
    **MASKING,
    **{key: SELF[key] for key in ("W_o", "b_o", "gradient")},
}
ATTENTION = (
    *(*SCORING, "gate", "differential", "qk_norm", "positions", "ids", "document", *BACKWARD),
    *("tokens_as", "weights_as", "memory_tokens", "heads", "kv_heads", "mask", "online"),
)


EACH_TOKEN: Shapes = {"K": ("n", "kv_heads*d_k"), "V": ("n", "kv_heads*d_v")}
"""The shapes of keys and values where each token has one of its own."""

NOT_OF_DECODE = ("memory_tokens", "mask", "document", "online", "differential")
"""Keys of attention that have no use where each token is a single row of scores."""

NOT_OF_LATENT = ("qk_norm", "memory_tokens", "kv_heads", "differential")
"""Keys of attention that have no use where keys and values are made from c_kv."""


def _without_projections(source: str) -> tuple[Implied, ...]:
    return (
        Implied("heads*halves*d_q", "d_model", unless=("Q", "W_q", "scores")),
        Implied("kv_heads*halves*d_k", source, unless=("K", "W_k", "scores")),
        Implied("kv_heads*d_v", source, unless=("V", "W_v")),
        Implied("d_out", "heads*d_v", unless=("W_o",)),
    )


LAYER: Shapes = {
    **{key: SELF[key] for key in ("W_q", "b_q", "W_k", "b_k", "W_v", "b_v")},
    **MASKING,
    "W_o": ("heads*d_v", "d_model"),
    "b_o": ("d_model",),
    **dict.fromkeys(("gain_1", "shift_1", "gain_2", "shift_2"), ("d_model",)),
    **{"W_1": ("d_model", "d_ff"), "b_1": ("d_ff",), "W_3": ("d_model", "d_ff"), "b_3": ("d_ff",)},
    **{"W_2": ("d_ff", "d_model"), "b_2": ("d_model",)},
}
"""The matrices of a layer of a transformer."""

LAYER_OPTIONS = (
    *(*SCORING, "gate", "differential", "qk_norm", "positions", "ids", "document", "heads"),
    *("kv_heads", "mask", "weights_as", "online", "norm", "place", "eps", "activation"),
)
"""The other keys of a layer; one at the top is that of every layer which has none."""

ATTENDED = Implied("d_model", "heads*d_v", unless=("W_o",))
"""Without W_o, what was attended to is added to the input as it is."""

LANGUAGE = ("embedding", "final_norm", "unembedding", "target")
"""Keys for the steps before and after the layers."""

UPDATES: dict[str, Shapes] = {
    "input_context": {"A": ("d_h", "d_x + d_h")},
    "state_input_context": {"A": ("d_h", "d_h + d_x + d_h")},
    "plain": {"A": ("d_h", "d_h + d_x")},
}
"""The shape of A for each way of kind `recurrent` to make its next state."""

ALPHA: Shapes = {
    "alpha": ("n", "kv_heads*d_alpha"),
    "W_alpha": ("d_model", "kv_heads*d_alpha"),
    "b_alpha": ("kv_heads*d_alpha",),
}
BETA: Shapes = {
    "beta": ("n", "kv_heads*1"),
    "W_beta": ("d_model", "kv_heads*1"),
    "b_beta": ("kv_heads*1",),
}
RULES: dict[str, Shapes] = {
    "delta": BETA,
    "gated_delta": ALPHA | BETA,
    "linear": {},
    "gated": ALPHA,
}
"""The rates that each way of kind `delta` to make its next state has."""

KINDS: dict[str, Kind] = {
    "self": Kind(
        "every token attends to all tokens of X",
        "attention.attention",
        {**SELF, **DIFFERENTIAL},
        (*ATTENTION, "past"),
        start=("X", "W_q", "W_k", "W_v"),
        pairs=(("gate", "X"),),
        source="X",
        axes=AXES,
        implied=(
            Implied("m", "n", unless=("K", "scores")),
            Implied("m", "n", unless=("V",)),
            *_without_projections("d_model"),
        ),
    ),
    "cross": Kind(
        "the tokens of X attend to those of memory",
        "attention.attention",
        CROSS,
        ATTENTION,
        start=("X", "memory", "W_q", "W_k", "W_v"),
        implied=_without_projections("d_memory"),
        pairs=(("gate", "X"),),
        source="memory",
        axes=AXES,
    ),
    "decode": Kind(
        "each token attends to itself and, in a cache, to those before it",
        "attention.decode",
        {key: SELF[key] for key in SELF if key not in (*MASKING, "scores")} | EACH_TOKEN,
        (*(key for key in ATTENTION if key not in NOT_OF_DECODE), "past"),
        start=("X", "W_q", "W_k", "W_v"),
        pairs=(("gate", "X"),),
        source="X",
        implied=(Implied("m", "n"), *_without_projections("d_model")),
    ),
    "delta": Kind(
        "a state learns which value belongs to which key: linear attention, the delta rule",
        "delta.delta",
        {
            **{key: SELF[key] for key in SELF if key not in (*MASKING, "scores", "W_c")},
            **EACH_TOKEN,
            "S_0": ("d_k", "kv_heads*d_v"),
        },
        ("heads", "kv_heads", "scale", "qk_norm", "update", *BACKWARD, "tokens_as", "weights_as"),
        start=("Q", "K", "V", "alpha", "beta"),
        pairs=(
            *(("W_alpha", "X"), ("W_beta", "X")),
            *(("b_alpha", "W_alpha"), ("b_beta", "W_beta")),
        ),
        score="dot",
        source="X",
        implied=(*_without_projections("d_model"), Implied("d_k", "d_alpha", or_one=True)),
        variants=("update", RULES),
    ),
    "latent": Kind(
        "keys and values of all heads are made from one short vector per token",
        "latent.latent",
        LATENT,
        (*(key for key in ATTENTION if key not in NOT_OF_LATENT), "form", "latent_norm", "eps"),
        needs=("X", "W_dkv", "W_uk", "W_uv"),
        pairs=(
            *(("W_dq", "W_uq"), ("W_uq", "W_dq"), ("W_qr", "W_kr"), ("W_kr", "W_qr")),
            *((key, "latent_norm") for key in ("gain_q", "gain_kv", "eps")),
            ("gain_q", "W_dq"),
        ),
        start=("W_dq", "W_uq", "W_qr", "W_kr"),
        axes=AXES,
        implied=(
            Implied("m", "n"),
            Implied("d_cq", "d_model", unless=("W_dq",)),
            Implied("d_k", "d_h + d_r"),
            Implied("d_k", "d_h", unless=("W_kr",)),
            Implied("d_q", "d_k"),
            Implied("d_out", "heads*d_v", unless=("W_o",)),
        ),
    ),
    "transformer": Kind(
        "layers of attention and a feed-forward network, and the next token",
        "transformer.transformer",
        {
            "X": ("n", "d_model"),
            **LAYER,
            **DIFFERENTIAL,
            "W_u": ("d_model", "v"),
            "gradient": ("n", "d_model"),
            "embedding.table": ("v", "d_model"),
            **dict.fromkeys(("final_norm.gain", "final_norm.shift"), ("d_model",)),
        },
        (*LAYER_OPTIONS, *BACKWARD, "tokens_as", *LANGUAGE, "layers"),
        start=("X", "W_q", "W_k", "W_v", "W_o", "W_1", "W_2"),
        pairs=(
            *((key, "W_1") for key in ("b_1", "W_2", "b_2", "W_3", "b_3", "activation")),
            *(("gain_2", "W_1"), ("shift_2", "W_1"), ("W_1", "W_2"), ("b_3", "W_3")),
        ),
        source="X",
        axes=AXES,
        implied=(Implied("m", "n"), *_without_projections("d_model")[:-1], ATTENDED),
    ),
    "pooling": Kind(
        "one context vector u attends to the states in X",
        "recurrent.pooling",
        {
            "X": ("m", "d_model"),
            "W": ("d_k", "d_model"),
            "b": ("d_k",),
            "u": ("d_q",),
            **MASKING,
            "gradient": ("n", "d_v"),
        },
        (*SCORING, *BACKWARD, "tokens_as", "mask", "online", "activation", "output_activation"),
        needs=("X", "u"),
        start=("W",),
        implied=(Implied("d_k", "d_model", unless=("W",)), Implied("d_v", "d_model")),
        tokens="m",
        score="dot",
        single=("n", "u"),
        by_position=False,
    ),
    "co_attention": Kind(
        "the tokens of X and those of memory attend to each other",
        "recurrent.co_attention",
        {"X": ("n", "d_model"), "memory": ("m", "d_memory"), **MASKING},
        (*SCORING, "tokens_as", "memory_tokens", "mask", "enhance"),
        needs=("X", "memory"),
        implied=(Implied("d_q", "d_model"), Implied("d_k", "d_memory"), Implied("d_v", "d_memory")),
        by_position=False,
    ),
    "recurrent": Kind(
        "a recurrent network's state attends to the states before it",
        "recurrent.recurrent",
        {
            "X": ("n", "d_x"),
            "A": ("d_h", "d_x + d_h"),
            "b": ("d_h",),
            "h_0": ("d_h",),
            "c_0": ("d_h",),
            "W_q": ("d_q", "d_h"),
            "W_k": ("d_k", "d_h"),
            "gradient": ("n", "d_h"),
        },
        (*SCORING, *BACKWARD, "update"),
        needs=("X", "A"),
        start=("h_0",),
        implied=(
            Implied("d_q", "d_h", unless=("W_q",)),
            Implied("d_k", "d_h", unless=("W_k",)),
            Implied("d_v", "d_h"),
        ),
        variants=("update", UPDATES),
    ),
    "encoder_decoder": Kind(
        "a decoder attends to the states of a recurrent encoder of memory",
        "encoder_decoder.encoder_decoder",
        {
            "X": ("n", "d_y"),
            "memory": ("m", "d_x"),
            "W_q": ("d_q", "d_s"),
            "W_k": ("d_k", "d_h"),
            "W_c": ("d_c", "d_h + d_s"),
        },
        (*SCORING, *BACKWARD, "memory_tokens", "mask", *NETWORK_OPTIONS),
        needs=("X", "memory", "encoder", "decoder"),
        start=tuple(
            k for one in NETWORKS.values() for k, size in one.items() if "." in k and size[1:]
        ),
        implied=(
            Implied("d_s", "d_h", unless=("decoder.h_0",)),
            Implied("d_q", "d_s", unless=("W_q",)),
            Implied("d_k", "d_h", unless=("W_k",)),
            Implied("d_v", "d_h"),
        ),
        score="dot",
        by_position=False,
        masks=("lengths",),
        variants=("cell", NETWORKS),
    ),
}
