"""The `config.json` of a model, as transformers writes it, read as a problem of shapes.

It says sizes; what else the layers of a family have, such as biases, is in `FAMILIES`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attncli.core.errors import fail
from attncli.core.numbers.forms import TRUTH
from attncli.core.numbers.written import to_count
from attncli.core.records import EMPTY, Record
from attncli.core.text.strings import all_of, count_of, visible
from attncli.mechanisms.transformer import Transformer

MAX_MODEL_LAYERS = 1000
MAX_SIZE = 10_000_000

GPT_NAMES = {
    "hidden_size": "n_embd",
    "num_attention_heads": "n_head",
    "num_hidden_layers": "n_layer",
    "intermediate_size": "n_inner",
    "max_position_embeddings": "n_positions",
    "hidden_act": "activation_function",
}
"""Keys that GPT-2 calls otherwise."""

ACTIVATION_NAMES = {"gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh"}
"""Activations that transformers calls otherwise."""

LANGUAGE_MODELS = ("ForCausalLM", "LMHeadModel")
"""How the architecture of a model ends whose last matrix makes logits."""

QKV, QKVO, FEED_FORWARD_LETTERS = ("q", "k", "v"), ("q", "k", "v", "o"), ("1", "2", "3")
"""The letters of matrices with a bias."""


class Family(Record):
    """What the layers of a family have that its config does not say; biases by their matrices."""

    biases: tuple[str, ...] = ()
    biases_if: Mapping[str, tuple[str, ...]] = EMPTY  # by the key of the config that asks for them
    norms_queries: bool = False  # whether each head has a norm of its queries and keys
    is_gpt: bool = False  # whether it has learned positions, norms with shifts, and no gate


FAMILIES: Mapping[str, Family] = {
    "gpt2": Family(biases=(*QKVO, *FEED_FORWARD_LETTERS), is_gpt=True),
    "llama": Family(biases_if={"attention_bias": QKVO, "mlp_bias": FEED_FORWARD_LETTERS}),
    "mistral": Family(),
    "qwen2": Family(biases=QKV),
    "qwen3": Family(biases_if={"attention_bias": QKVO}, norms_queries=True),
}
"""By `model_type`."""


class Config(Record):
    """The keys of a config as they are written, and what its family calls them."""

    written: Mapping[str, Any]
    names: Mapping[str, str]

    def name(self, key: str) -> str:
        return self.names.get(key, key)

    def size(self, key: str, default: int = 0, most: int = MAX_SIZE) -> int:
        name = self.name(key)
        is_there = name in self.written
        return to_count(self.written[name], (name,), most=most) if is_there else default

    def is_on(self, key: str, default: bool = False) -> bool:
        return bool(TRUTH.read(self.written.get(key, default), (key,)))

    def quotient(self, key: str, by: str) -> int:
        size, divisor = self.size(key), self.size(by)
        if size % divisor:
            message = f"{self.name(by)} = {divisor} does not divide {self.name(key)} = {size}"
            raise fail(message, self.name(by), hint="take a divisor of it")
        return size // divisor


def problem_of(written: Mapping[str, Any], tokens: int) -> dict[str, Any]:
    """Return the keys of a problem of shapes, which a config gives for some number of tokens.

    Raises:
        InputError: for an unknown family, a missing key, or sizes that do not go together.
    """
    word = str(written["model_type"])
    family = FAMILIES.get(word, Family())
    config = Config(written, GPT_NAMES if family.is_gpt else {})
    keys = ["hidden_size", "num_attention_heads", "num_hidden_layers", "vocab_size"]
    keys += [] if family.is_gpt else ["intermediate_size"]
    missing = [name for name in map(config.name, keys) if name not in written]
    lacks = f"its config has no {all_of(missing)}" if missing else ""
    if word not in FAMILIES:
        message = f"the layers of a {visible(word)} model are not known"
        hint = f"known are {all_of([*FAMILIES])}; write others as shapes, as W_q: shape(64, 64)"
        raise fail(", and ".join(filter(None, (message, lacks))), "model_type", hint=hint)
    if missing:
        hint = "take the config.json that transformers writes beside the weights"
        raise fail(f"this is a {word} model, but {lacks}", "model_type", hint=hint)
    _refuse_others(config)
    d, vocabulary = config.size("hidden_size"), config.size("vocab_size")
    layer = _layer(config, family)
    keys_of_all: dict[str, Any] = {
        "kind": "transformer",
        "title": f"{word} of {count_of(tokens, 'token')}",
        "tokens": ["1"] * tokens,
        "embedding": {"table": shape(vocabulary, d)},
        "mask": "causal",
        "positions": {"name": "rope", "pairs": "halves"},
        "layers": [layer] * config.size("num_hidden_layers", most=MAX_MODEL_LAYERS),
        "final_norm": _norm(d, family),
    }
    if family.is_gpt:
        places = config.size("max_position_embeddings", 1024)
        keys_of_all["positions"] = {"name": "learned", "P": shape(places, d)}
    if config.is_on("tie_word_embeddings", family.is_gpt):
        return keys_of_all | {"unembedding": "tied"}
    return keys_of_all | {"W_u": shape(d, vocabulary)}


def _refuse_others(config: Config) -> None:
    """Raise an InputError for a model that is no language model, or has more than its layers."""
    word = config.written.get("architectures", [LANGUAGE_MODELS[0]])
    word = str(word[0] if isinstance(word, list) and word else word)
    if not word.endswith(LANGUAGE_MODELS):
        hint = "leave architectures out to count the language model of these layers"
        raise fail(f"{visible(word)} is no language model", "architectures", hint=hint)
    if config.is_on("add_cross_attention"):
        hint = "take the config.json of a model that attends to its own tokens alone"
        raise fail("cross-attention in layers is not counted", "add_cross_attention", hint=hint)


def _layer(config: Config, family: Family) -> dict[str, Any]:
    d, heads = config.size("hidden_size"), config.size("num_attention_heads")
    kv_heads, inner = config.size("num_key_value_heads", heads), config.size("intermediate_size")
    inner = inner or 4 * d
    if kv_heads != heads:
        config.quotient("num_attention_heads", "num_key_value_heads")
    head = config.size("head_dim") or config.quotient("hidden_size", "num_attention_heads")
    weights = {
        "q": (d, heads * head),
        "k": (d, kv_heads * head),
        "v": (d, kv_heads * head),
        "o": (heads * head, d),
        "1": (d, inner),
        "2": (inner, d),
    }
    weights |= {} if family.is_gpt else {"3": (d, inner)}
    asked = (letters for key, letters in family.biases_if.items() if config.is_on(key))
    biases = {*family.biases}.union(*asked)
    name, usual = config.name("hidden_act"), "gelu_new" if family.is_gpt else "silu"
    word = str(config.written.get(name, usual))
    layer: dict[str, Any] = {
        "heads": heads,
        "kv_heads": kv_heads,
        "norm": "layer" if family.is_gpt else "rms",
        "activation": Transformer.activation.form.read(ACTIVATION_NAMES.get(word, word), (name,)),
    }
    layer |= {f"W_{letter}": shape(*sizes) for letter, sizes in weights.items()}
    layer |= {f"b_{x}": shape(sizes[1]) for x, sizes in weights.items() if x in biases}
    layer |= {f"{part}_{n}": size for n in (1, 2) for part, size in _norm(d, family).items()}
    if family.norms_queries:
        layer["qk_norm"] = {"name": "rms", "g_q": shape(head), "g_k": shape(head)}
    return layer


def _norm(size: int, family: Family) -> dict[str, str]:
    return dict.fromkeys(("gain", "shift") if family.is_gpt else ("gain",), shape(size))


def shape(*sizes: int) -> str:
    return f"shape({', '.join(map(str, sizes))})"
