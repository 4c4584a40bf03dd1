"""Words of papers and other programs, with what is written here instead; and of packages."""

from __future__ import annotations

import re
from collections.abc import Collection

from attncli.core.errors import fail
from attncli.core.text.strings import did_you_mean

OTHER_WORDS = {
    "bahdanau": "additive",
    "dot_product": "dot",
    "scaled_dot_product": "scaled_dot",
    "mse": "mean_squared_error",
    "luong": "Luong et al. have three: write dot, general or concat",
    "dynamic": "write a greater base, as dynamic scaling has for a text of this length",
    "longrope": "longrope has a factor for each pair: write linear, llama3 or yarn",
}
"""Other words for those that may be chosen; with a blank in it, it is a hint.

The mechanisms add theirs, see `Declared.other_names`."""

NOT_CALCULATED = {
    "a mixture of experts is not calculated; write W_1, W_3 and W_2 of the expert that is chosen": (
        "moe mixture_of_experts expert experts num_experts num_local_experts n_routed_experts "
        "n_shared_experts num_experts_per_tok num_shared_experts moe_intermediate_size router "
        "router_logits router_weights moe_top_k gating_network switch_transformer"
    ),
    "pages of a cache change no number; write the tokens in it, in order, in past: {K, V}": (
        "paged paged_attention paged_cache paged_kv_cache page_size page_table block_tables "
        "block_table slot_mapping"
    ),
    "numbers are not quantised; write them scaled back; attn count --bytes 1 counts the memory": (
        "quantised quantized quantization quantisation quantization_config quantized_cache "
        "quantised_cache kv_cache_dtype kv_cache_quant cache_implementation load_in_8bit "
        "load_in_4bit k_scale v_scale kv_bits w_bit fp8 int8 int4 nf4 gptq awq"
    ),
    "keys are not chosen by their scores; write which are kept: mask: [[1, 0], …], or {when: …}": (
        "topk top_k top_k_attention topk_attention index_topk sparse_attention block_sparse "
        "block_sparse_attention native_sparse native_sparse_attention nsa reformer bigbird"
    ),
    "no tokens are drawn; probabilities has those of the next one": (
        "top_p min_p do_sample num_beams beam_search sampling max_new_tokens repetition_penalty"
    ),
    "no tokens are drafted; write past: {K, V}, and a row of X for each token to be verified": (
        "speculative speculative_decoding speculative_config draft_model draft_tokens "
        "num_speculative_tokens assistant_model medusa eagle lookahead num_nextn_predict_layers"
    ),
    "work that machines share has the same numbers; leave it out": (
        "ring ring_attention sequence_parallel context_parallel tensor_parallel "
        "tensor_parallel_size pretraining_tp tp_size cp_size sp_size ulysses world_size device_map"
    ),
    "the one feature map is that of score: linear; for others write φ(Q) and φ(K) as Q and K": (
        "feature_map feature_maps performer favor favor+ random_features linformer nystrom "
        "nystromformer cosformer linear_attention"
    ),
    "adapters are not calculated; write the matrix with them, W + (alpha / r)·A B, as the weight": (
        "lora qlora dora lora_a lora_b lora_alpha lora_r lora_rank lora_dropout lora_a.default "
        "lora_b.default adapter adapters peft peft_config target_modules"
    ),
    "state space models are not calculated; score: linear is linear attention": (
        "mamba mamba2 ssm state_space d_state d_conv conv_kernel rwkv retnet hyena"
    ),
}
"""Methods that are not calculated here, with what to write instead, and their names elsewhere."""

HINTS = {word: hint for hint, words in NOT_CALCULATED.items() for word in words.split()}


def plain(word: str) -> str:
    """Return a word as these tables have it: in small letters, with a _ between its parts."""
    return re.sub(r"[\s_-]+", "_", word.strip().lower())


def way_out(word: str, known: Collection[str]) -> str:
    """Return a hint for an unknown word: what to write instead, or the known one that is like it.

    >>> way_out("block-tables", ["mask", "past"]).partition(";")[0]
    'pages of a cache change no number'
    """
    return HINTS.get(plain(word)) or did_you_mean(word, known)


def import_named(name: str | None = None) -> bool:
    """Import what installed packages offer under a name, or all that they offer.

    They name mechanisms, score functions, masks and normalisers in the group `attn` of their entry
    points; to import one adds its rows to the tables. It is done for names that no table knows, so
    that a start takes no longer, and a file can name nothing but what somebody has installed.

    Returns:
        Whether there is any.

    Raises:
        InputError: for a package that cannot be imported.
    """
    from importlib.metadata import entry_points  # few commands meet an unknown name

    offered = entry_points(group="attn", name=name) if name else entry_points(group="attn")
    for one in offered:
        try:
            one.load()
        except Exception as error:  # whatever somebody else's code may raise
            message = f"{one.name}, of an installed package, cannot be loaded"
            raise fail(f"{message}: {type(error).__name__}: {error}", hint="mend it") from error
    return bool(offered)
