"""What PyTorch and transformers count in their modules, which the tests compare with `attn count`.

It needs torch and transformers, and nothing of the package. A case has the shapes of a problem's
matrices, how many parameters the module has, how many FLOPs `torch.utils.flop_counter` counts in
its products of matrices (of some also with the backward pass), and the bytes that transformers
keeps of keys and values in bfloat16.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

from benchmarks.libraries.blocks import (
    of_encoder_layer,
    of_gpt2_block,
    of_llama_layer,
    of_multihead,
)

TOKENS, WORDS = 5, 11

Keys = dict[str, Any]


def counted(module: Any, *inputs: Any) -> dict[str, int]:
    """Return the parameters of a module, and the FLOPs of one call, without those of angles."""
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        module(*inputs)
    parts = counter.get_flop_counts()
    of_angles = sum(sum(part.values()) for name, part in parts.items() if "rotary" in name)
    parameters = sum(part.numel() for part in module.parameters())
    return {"parameters": parameters, "flops": counter.get_total_flops() - of_angles}


def shapes_of(weights: Keys) -> Keys:
    return {key: [*weight.shape] for key, weight in weights.items()}


def multi_head(d: int, heads: int, bias: bool) -> Keys:
    module = torch.nn.MultiheadAttention(d, heads, bias=bias, batch_first=True)
    x = torch.zeros(1, TOKENS, d, requires_grad=True)
    shapes = {"X": [TOKENS, d], **shapes_of(of_multihead(module))}
    case = {"shapes": shapes, "options": {"heads": heads}, **counted(module, x, x, x)}
    with FlopCounterMode(display=False) as counter:
        module(x, x, x)[0].sum().backward()
    return case | {"with_backward": counter.get_total_flops()}


def encoder(d: int, heads: int, inner: int, bias: bool, first: bool) -> Keys:
    options = {"bias": bias, "norm_first": first, "dropout": 0.0, "batch_first": True}
    module = torch.nn.TransformerEncoderLayer(d, heads, inner, **options)
    shapes = {"X": [TOKENS, d], **shapes_of(of_encoder_layer(module))}
    about = {"kind": "transformer", "heads": heads, "place": "pre" if first else "post"}
    return {"shapes": shapes, "options": about, **counted(module, torch.zeros(1, TOKENS, d))}


def llama(d: int, heads: int, kv: int, size: int, inner: int, layers: int) -> Keys:
    config = LlamaConfig(
        vocab_size=WORDS,
        hidden_size=d,
        intermediate_size=inner,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=kv,
        head_dim=size,
        attn_implementation="eager",
    )
    module = LlamaForCausalLM(config)
    about = {"heads": heads, "kv_heads": kv, "norm": "rms", "activation": "swiglu"}
    top = {"final_norm.gain": [d], "W_u": [d, WORDS], "embedding.table": [WORDS, d]}
    of_layers = [of_llama_layer(layer) for layer in module.model.layers]
    return of_model(module, top, of_layers, about | {"positions": "rope"})


def gpt2(d: int, heads: int, layers: int) -> Keys:
    about = {"n_positions": TOKENS, "n_embd": d, "n_head": heads, "n_layer": layers}
    module = GPT2LMHeadModel(GPT2Config(vocab_size=WORDS, **about, attn_implementation="eager"))
    top = {"final_norm.gain": [d], "final_norm.shift": [d], "positions.P": [TOKENS, d]}
    of_layers = [of_gpt2_block(block) for block in module.transformer.h]
    keys = {"heads": heads, "activation": "gelu_tanh", "unembedding": "tied"}
    return of_model(module, top | {"embedding.table": [WORDS, d]}, of_layers, keys)


def of_model(module: Any, top: Keys, layers: list[Keys], about: Keys) -> Keys:
    """Return the case of a language model, with the bytes of its cache in bfloat16."""
    ids = torch.zeros(1, TOKENS, dtype=torch.long)
    shapes = {"shapes": top, "layers": [shapes_of(layer) for layer in layers]}
    with torch.no_grad():
        cache = module.bfloat16()(ids, use_cache=True).past_key_values
    kept = [part for one in cache.layers for part in (one.keys, one.values)]
    return {
        **shapes,
        "options": {"kind": "transformer", "mask": "causal", **about},
        **counted(module.float(), ids),
        "cache_bytes": sum(part.numel() * part.element_size() for part in kept),
    }


def cases() -> list[Keys]:
    return [
        *(multi_head(*sizes) for sizes in ((4, 1, False), (6, 3, True), (8, 2, True))),
        *(encoder(*sizes) for sizes in ((4, 2, 8, True, True), (6, 3, 5, True, False))),
        *(encoder(*sizes) for sizes in ((8, 2, 3, False, True), (8, 4, 16, False, False))),
        *(llama(*sizes) for sizes in ((8, 4, 2, 2, 6, 2), (6, 3, 1, 4, 10, 3), (8, 2, 2, 4, 7, 1))),
        *(gpt2(*sizes) for sizes in ((8, 2, 2), (6, 3, 1))),
    ]


RECORDED = {"recorded/counts.jsonl": cases}
