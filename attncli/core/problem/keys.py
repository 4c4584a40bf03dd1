"""Every key that a problem may have: how it is written, what it means, its default and its names.

Flags, the JSON Schema, completion, the manual and the hints for keys of other tools come from
these rows. Importing them imports no NumPy, as flags need none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ParamSpec

from attncli.core.numbers.forms import (
    LABELS,
    TEXT,
    TRUTH,
    ArrayForm,
    Form,
    choice,
    count,
    mapping,
    matrix,
    number,
    vector,
    weight,
)
from attncli.core.problem import values
from attncli.core.problem.kinds import KINDS, LAYER, LAYER_OPTIONS, RULES, UPDATES
from attncli.core.problem.marking import COURSE_NAMES, MARKING, Marking
from attncli.core.problem.networks import ATTENDS, CELLS, NETWORK, SUCH_AS
from attncli.core.records import EMPTY, Record

if TYPE_CHECKING:
    from attncli.core.arithmetic.elements import Array
    from attncli.core.formulas.tree import Formula


class Key(Record, eq=False):
    """One row of the table."""

    form: Form  # how it is written: reads a value, and has its part of the schema
    meaning: str  # one line
    default: object = None  # its value where it is left out
    as_written: bool = False  # whether a matrix is never transposed by `tokens_as: columns`
    aliases: tuple[str, ...] = ()  # other names of this key; weights and biases have more
    instead: Mapping[str, str] = EMPTY  # what to write instead of which keys of other tools
    flags: tuple[str, ...] | None = None  # its flags, by default --key, and none for arrays
    example: str = ""  # values, for the help of its flag

    def flags_of(self, key: str) -> tuple[str, ...]:
        if self.flags is not None:
            return self.flags
        return () if isinstance(self.form, ArrayForm) else (f"--{key.replace('_', '-')}",)

    @property
    def help(self) -> str:
        """The help of its flags."""
        text = f"{self.meaning}: {self.example}" if self.example else self.meaning
        return f"{text[0].upper()}{text[1:]}{'' if text.endswith('…') else '.'}"


ACTIVATION = choice(("tanh", "none"))

GAIN_NAMES, SHIFT_NAMES = "gamma_# γ_# gamma# g_#", "beta_# β_# beta#"
"""Other names of the vectors of a norm; # is its number."""

Arguments = ParamSpec("Arguments")


def _as_field(make: Callable[Arguments, Key]) -> Callable[Arguments, Any]:
    """Return `Key` for the rows below: to type checkers an attribute has the type of its value."""
    return make


key = _as_field(Key)


def _norm_vector(name: str, number: int, others: str) -> Any:
    half = ("attention", "the feed-forward network")[number - 1]
    aliases = tuple(others.replace("#", str(number)).split())
    return key(vector(), f"transformer: the norm's {name}, of {half}", aliases=aliases)


class ProblemFields:
    """The keys of a problem, in the order of files and pages, and their values as attributes.

    A key is declared here once. Its row of the table says everything about how it is written; the
    type is that of its value, which a problem has as an attribute of the same name.
    """

    title: str = key(TEXT, "shown at the top", "")
    notes: str = key(TEXT, "shown under the title", "")
    student: str = key(TEXT, "whose problem it is, or whose answers", "", flags=())
    variant: str = key(TEXT, "which of the variants that `attn vary` writes it is", "", flags=())
    problem: str = key(TEXT, "its number among the problems of a student", "", flags=())
    kind: str = key(
        choice(KINDS),
        "which mechanism",
        "self",
        example="self, cross, pooling, …",
        instead={"kind: cross": "context source"},
    )
    tokens: tuple[str, ...] = key(
        LABELS,
        "the words of the rows of X",
        (),
        example="I,am,good",
        aliases=("words", "sentence"),
        instead={"tokens: [I, am, good]": "labels token text"},
    )
    memory_tokens: tuple[str, ...] = key(LABELS, "the words of the rows of memory", ())
    X: Array | None = key(
        matrix("batch"),
        "the input, one token per row",
        aliases=("x", "inputs"),
        instead={"X: the input, one token per row": "embeddings input input_ids x_input"},
    )
    memory: Array | None = key(matrix("batch"), "what is attended to, one token per row")
    W_q: Array | None = key(
        weight("head"),
        "projection to queries, used as X W_q; identity when left out",
        instead={"W_q, W_k and W_v, each by itself": "w_qkv wqkv qkv"},
    )
    W_k: Array | None = key(weight("head"), "projection to keys")
    W_v: Array | None = key(weight("head"), "projection to values")
    W_dq: Array | None = key(weight(), "latent: makes c_q, from which queries are made, from X")
    W_uq: Array | None = key(weight("head"), "latent: c_q to the content part of the queries")
    W_qr: Array | None = key(weight("head"), "latent: c_q, or X, to the rotary part of the queries")
    W_dkv: Array | None = key(weight(), "latent: makes c_kv, from which keys and values are made")
    W_uk: Array | None = key(weight("head"), "latent: c_kv to the content part of the keys")
    W_uv: Array | None = key(weight("head"), "latent: c_kv to the values")
    W_kr: Array | None = key(
        weight(), "latent: X to the rotary part of the keys, one for all heads"
    )
    W_o: Array | None = key(weight(), "projection of the heads' outputs side by side")
    b_q: Array | None = key(
        vector("head"),
        "added to the queries",
        instead={"b_q, b_k and b_v, each by itself": "b_qkv bqkv"},
    )
    b_k: Array | None = key(vector("head"), "added to the keys")
    b_v: Array | None = key(vector("head"), "added to the values")
    b_o: Array | None = key(vector(), "added to the output")
    Q: Array | None = key(
        matrix("either"), "the queries, in place of a projection", aliases=("q", "query", "queries")
    )
    K: Array | None = key(matrix("either"), "the keys", aliases=("k", "key", "keys"))
    V: Array | None = key(matrix("either"), "the values", aliases=("v", "value", "values"))
    scores: Array | None = key(
        matrix("either", infinite=True), "known scores, in place of a score function"
    )
    heads: int = key(count(), "how many heads", 1, aliases=("num_heads", "n_heads"))
    kv_heads: int = key(
        count(),
        "how many heads keys and values have; divides heads",
        aliases=("num_kv_heads", "n_kv_heads"),
    )
    score: Mapping[str, Any] = key(
        values.SCORE,
        "the score function, by name or as {name: …} with its parameters",
        {},
        example="see attn scores",
        as_written=True,
        instead={"score: {name: additive, W: …, U: …, v: …}, of W_a, U_a and v_a": "w_a u_a v_a"},
    )
    gate: Mapping[str, Any] = key(
        values.GATE,
        "what multiplies each head's context, σ(X W + b), per head or feature: {W: …, b: …}",
        {},
        instead={
            "gate: {W: [[…]], b: […]}, σ(X W + b) times the context": (
                "w_g b_g w_gate b_gate g_proj gate_score attn_gate attn_output_gate"
                " headwise_attn_output_gate elementwise_attn_output_gate output_gate"
            )
        },
    )
    differential: Mapping[str, Any] = key(
        values.DIFFERENTIAL,
        "differential attention, weights_1 − λ·weights_2 of the halves of each head: {lambda: …}",
        {},
        instead={
            "differential: {lambda: 0.5}, or {lambda_init: 0.8, lambda_q1: …, lambda_k1: …, …}": (
                "lambda λ lambda_ lambda_full lambda_init lambda_std_dev lambda_q1 lambda_k1"
                " lambda_q2 lambda_k2 diff_attn"
            ),
            "differential: {…, lambda_init: 0.8, norm: rms}": "subln groupnorm",
        },
    )
    past: Mapping[str, Any] = key(
        values.PAST,
        "keys and values of earlier tokens, a cache: {K: …, V: …}",
        {},
        instead={
            "past: {K: [[…]], V: [[…]]}, keys and values of earlier tokens": (
                "past_key_values past_key_value past_kv kv_cache cache past_k past_v"
            )
        },
    )
    qk_norm: Mapping[str, Any] = key(
        values.QK_NORM,
        "the norm of each query and key: l2, rms, or {name: rms, eps: …, g_q: …, g_k: …}",
        {},
        example="l2 or rms",
        as_written=True,
        instead={
            "qk_norm: rms, or {name: rms, eps: 1e-6, g_q: …, g_k: …}": (
                "q_norm k_norm use_qk_norm qk_layernorm norm_eps rms_norm_eps"
            )
        },
    )
    scale: str = key(
        values.SCALE,
        "what scores are multiplied by: a number, or such as 1/sqrt(d_k)",
        instead={"scale: 1/sqrt(d_k), which is the default": "scaling scale_factor scaled"},
    )
    softcap: float | None = key(number(), "the c of c·tanh(s/c), which scores become")
    bias: Array | Formula | None = key(
        values.BIAS_FORM,
        "added to the scores; −inf blocks a cell; or an expression such as -0.5*abs(i - j)",
        instead={"bias: -0.5*abs(i - j), of the query i and the key j, from 1": "score_mod"},
    )
    positions: Mapping[str, Any] = key(
        values.POSITION_FORM,
        "how tokens know their places: a name, {name: …}, or a list of them",
        {},
        example="rope, sinusoidal, …",
        instead={
            "positions: sinusoidal, or {name: rope, base: 10000, pairs: halves}": (
                "rope rotary rotary_emb rope_theta rotary_base rotary_dim theta"
                " pe positional_encoding pos_encoding position_embedding_type sinusoidal"
            ),
            "positions: {name: rope, ids: [0, 1, 5]}": "mrope_section",
            "positions: {name: rope, scaling: {kind: yarn, factor: 4, …}}": (
                "rope_scaling rope_parameters rope_type yarn"
            ),
        },
    )
    ids: Any = key(
        values.IDS,
        "the positions of the tokens, for rope and sinusoidal, in place of 0, 1, 2, …",
        example="0,1,5",
        instead={"ids: [0, 1, 5], the positions of the tokens": "position_ids"},
    )
    document: tuple[str, ...] = key(
        LABELS,
        "the document of each token, which is document[i] in mask: {when: …} and bias",
        (),
        example="1,1,2",
        instead={"document: [1, 1, 2], the document of each token": "document_ids doc_ids seq_ids"},
    )
    mask: Mapping[str, Any] = key(
        values.MASK,
        "which keys queries may see: causal, a 0/1 matrix, or {window: [2, 0]}",
        {},
        instead={
            "mask: causal where the future is blocked, else leave it out": (
                "causal is_causal causal_mask use_causal_mask"
            ),
            "mask: a 0/1 matrix (1 = may attend), for the padding of a batch one with the axes"
            " (B, 1, m), as [[[1, 1, 0]], …]; or bias: what is added to the scores": (
                "attention_mask attn_mask attn_bias masks"
            ),
            "mask: {lengths: …}, how many keys are real, or mask: a 0/1 matrix": (
                "lengths valid_lens valid_length key_padding_mask padding_mask"
            ),
            "mask: {window: [left, right]}": "window window_size sliding_window local",
            "mask: {when: j <= i}, a condition on the query i and the key j, from 1": (
                "mask_mod block_mask when document_mask"
            ),
            "mask: {keep: …}": "keep",
            "mask: {block: …}": "block",
        },
    )
    normalize: Mapping[str, Any] = key(
        values.NORMALIZE,
        "how scores become weights",
        {"name": "softmax"},
        example="softmax, hardmax, sparsemax, …",
        instead={
            "normalize: {name: softmax, temperature: 2}": "temperature temp tau",
            "normalize: {name: softmax, base: 2}": "base",
            "normalize: {name: softmax, axis: queries}": "axis dim",
            "normalize: {name: softmax, sink: 0}, or the sinks of all heads": (
                "sink sinks attention_sink attention_sinks s_aux add_zero_attn softmax1"
            ),
            "normalize: softmax, which is the default": "softmax normalise normalization",
        },
    )
    online: Mapping[str, Any] = key(
        mapping({"tile": count()}, "online: {tile: 2}, so many keys at a time", needs=("tile",)),
        "softmax by tiles of keys, as FlashAttention calculates it: {tile: 2}",
        {},
        instead={
            "online: {tile: 2}, so many keys at a time": (
                "tile tile_size block_size block_n kv_block_size flash flash_attention"
                " use_flash_attention use_flash_attn use_flash_attention_2 attn_implementation"
                " _attn_implementation flash_attention_2 online_softmax"
            )
        },
    )
    tokens_as: str = key(choice(("rows", "columns")), "whether tokens are rows or columns", "rows")
    weights_as: str = key(
        choice(("in_out", "out_in")),
        "whether weight matrices are (in, out), or (out, in) as nn.Linear stores them",
        "in_out",
    )
    round: Mapping[str, Any] | None = key(
        values.ROUND,
        "round every step, as people do by hand",
        example="2 for two decimals, 3sf for three significant digits",
        flags=("--round-steps", "--round"),
        instead={"round: 2": "decimals precision"},
    )
    W_c: Array | None = key(
        matrix(), "tanh(W_c [output; x]); of a decoder, [context; state]", as_written=True
    )
    W: Array | None = key(matrix(), "pooling: the hidden layer tanh(W h + b)", as_written=True)
    A: Array | None = key(matrix(), "recurrent: h_t = tanh(A [x_t; c] + b)", as_written=True)
    b: Array | None = key(vector(), "pooling and recurrent: the bias beside W or A")
    u: Array | None = key(vector(), "pooling: the context vector, the query")
    h_0: Array | None = key(vector(), "recurrent: the first state, zeros by default")
    c_0: Array | None = key(vector(), "recurrent: the first context, zeros by default")
    cell: str = key(
        choice(CELLS),
        "the cell of both networks, in kind encoder_decoder",
        "lstm",
        example="lstm, gru, rnn",
        instead={"cell: lstm, gru or rnn": "rnn_type cell_type"},
    )
    encoder: Mapping[str, Any] = key(
        NETWORK,
        "its weights: W, U and b of each gate, W x + U h + b; h_0, if not zeros",
        {},
        as_written=True,
        instead={SUCH_AS: "weight_ih weight_hh weight_ih_l0 weight_hh_l0"},
    )
    decoder: Mapping[str, Any] = key(
        NETWORK, "the same; it starts with the encoder's last state", {}, as_written=True
    )
    attends: str = key(
        choice(ATTENDS), "whether a decoder attends after its new state, or before it", "after"
    )
    reset: str | None = key(
        choice(("before", "after")), "when a GRU resets h: before its product with U, or after it"
    )
    update: str = key(
        choice([*UPDATES, *RULES]),
        "what makes the next state, in kinds recurrent and delta",
        instead={"update: gated_delta, delta, gated or linear": "update_rule rule"},
    )
    alpha: Array | None = key(
        matrix("either"),
        "delta: how much of the state each token keeps, a column per head, or per feature of keys",
        instead={
            "alpha: how much is kept, e^g for a logarithm g": "decay g gk gamma forget forget_gate"
        },
    )
    W_alpha: Array | None = key(weight(), "delta: alpha is σ(X W_alpha + b_alpha)")
    b_alpha: Array | None = key(vector(), "delta: added to X W_alpha")
    beta: Array | None = key(
        matrix("either"),
        "delta: how much of its error each token writes, a column per head; 1 by default",
        instead={"beta: [1, 0.5], a number for each token": "write_strength betas"},
    )
    W_beta: Array | None = key(weight(), "delta: beta is σ(X W_beta + b_beta)")
    b_beta: Array | None = key(vector(), "delta: added to X W_beta")
    S_0: Array | None = key(
        matrix("either"),
        "delta: the first state, a row per feature of keys, zeros by default",
        instead={"S_0: the first state, (d_k, d_v)": "past_state initial_state recurrent_state"},
    )
    activation: str | None = key(
        choice(lambda: (*ACTIVATION.words(), *values.feed_forward_activations())),
        "the activation of the hidden layer, in kinds pooling and transformer",
        example="tanh, none, relu, gelu, …",
    )
    output_activation: str | None = key(
        ACTIVATION, "the activation of the output, in kind pooling", example="tanh or none"
    )
    enhance: bool | None = key(TRUTH, "whether co_attention also gives [a; ã; a − ã; a ⊙ ã]")
    form: str = key(
        choice(("naive", "absorbed")),
        "latent: naive makes keys and values, absorbed multiplies queries by W_uk, results by W_uv",
        "naive",
        instead={"form: absorbed": "absorb attn_impl"},
    )
    latent_norm: str | None = key(choice(("rms",)), "latent: the norm of c_q and c_kv")
    gain_q: Array | None = key(vector(), "latent: the gain of the norm of c_q", aliases=("g_q",))
    gain_kv: Array | None = key(vector(), "latent: the gain of the norm of c_kv", aliases=("g_kv",))
    layers: tuple[Any, ...] = key(
        Form(values.read_layers, parts=lambda: layer_forms()),  # noqa: PLW0108 – it is defined below
        "transformer: the keys of each layer; those of an only one may stand at the top",
        (),
        as_written=True,
        instead={"layers: [{W_q: …}, {W_q: …}], one for each": "n_layers num_layers depth"},
    )
    norm: str = key(
        choice(lambda: (*values.layer_norms(), "none")),
        "transformer: the norm of each half of a layer",
        "layer",
    )
    place: str = key(
        choice(("pre", "post")), "transformer: whether norms come before or after", "pre"
    )
    eps: float | None = key(
        number(or_equal=True),
        "what norms add to the variance; 1e-5, or 1e-6 for rms",
        instead={"eps: 1e-5": "epsilon layer_norm_eps layer_norm_epsilon"},
    )
    gain_1: Array | None = _norm_vector("gain", 1, GAIN_NAMES)
    shift_1: Array | None = _norm_vector("shift", 1, SHIFT_NAMES)
    gain_2: Array | None = _norm_vector("gain", 2, GAIN_NAMES)
    shift_2: Array | None = _norm_vector("shift", 2, SHIFT_NAMES)
    W_1: Array | None = key(weight(), "transformer: the feed-forward network's first matrix")
    b_1: Array | None = key(vector(), "transformer: added to x W_1")
    W_3: Array | None = key(
        weight(), "transformer: x W_3 multiplies the activated numbers, as a gate"
    )
    b_3: Array | None = key(vector(), "transformer: added to x W_3")
    W_2: Array | None = key(weight(), "transformer: the feed-forward network's last matrix")
    b_2: Array | None = key(vector(), "transformer: added after W_2")
    embedding: Mapping[str, Any] = key(
        values.EMBEDDING,
        "transformer: {vocabulary: [I, …], table: [[…], …]}, a row for each word",
        {},
        as_written=True,
        instead={"embedding: {vocabulary: […], table: [[…]]}": "vocab vocabulary wte"},
    )
    final_norm: Mapping[str, Any] = key(
        values.FINAL_NORM, "transformer: the norm after the last layer: {gain: …, shift: …}", {}
    )
    unembedding: str | None = key(
        choice(("tied",)), "transformer: tied, if logits are products with the embedding"
    )
    W_u: Array | None = key(
        weight(),
        "transformer: the unembedding, which makes logits",
        instead={"W_u: [[…]], a column for each word": "lm_head unembed"},
    )
    target: tuple[str, ...] = key(
        LABELS, "transformer: the words that should follow, by label or number from 1", ()
    )
    gradient: Mapping[str, Any] = key(
        values.GRADIENT,
        "the backward pass, with all gradients: sum, {loss: …, target: …} or ∂L/∂output",
        {},
        instead={"gradient: {loss: mean_squared_error, target: [[…]]}": "loss"},
    )
    learning_rate: float | None = key(
        number(), "the rate of one step of gradient descent, for every weight"
    )
    names: Mapping[str, str] = key(
        COURSE_NAMES, "what a course calls the steps", {}, example="a: scores, b: weights"
    )
    answers: Mapping[str, Any] | None = key(
        values.ANSWERS, "hand-worked matrices by step name, for `attn check`", flags=()
    )
    marking: Marking = key(
        MARKING, "what `attn check` asks: digits, steps, points", Marking(), flags=()
    )


KEYS = {name: row for name, row in vars(ProblemFields).items() if isinstance(row, Key)}
"""Every row by its key."""

WITH_PARTS = [key for key, row in KEYS.items() if isinstance(row.default, dict)]
"""Keys that are mappings, in which there may be matrices.

Their defaults are copied, so that changing those of one problem changes no other."""


def layer_forms() -> dict[str, Form]:
    """Return the forms of the keys of a layer."""
    return {key: KEYS[key].form for key in (*LAYER, *LAYER_OPTIONS)}
