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

TOKENS = 5

Keys = dict[str, Any]


def counted(module: Any, *inputs: Any, **options: Any) -> dict[str, int]:
    """Return the parameters of a module, and the FLOPs of one call, without those of angles."""
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        module(*inputs, **options)
    parts = counter.get_flop_counts()
    of_angles = sum(sum(part.values()) for name, part in parts.items() if "rotary" in name)
    parameters = sum(part.numel() for part in module.parameters())
    return {"parameters": parameters, "flops": counter.get_total_flops() - of_angles}


def projections(d: int, kv: int, size: int, heads: int) -> Keys:
    wide, keys = heads * size, kv * size
    return {"W_q": [d, wide], "W_k": [d, keys], "W_v": [d, keys], "W_o": [wide, d]}


def multi_head(d: int, heads: int, bias: bool) -> Keys:
    module = torch.nn.MultiheadAttention(d, heads, bias=bias, batch_first=True)
    x = torch.zeros(1, TOKENS, d, requires_grad=True)
    shapes = {"X": [TOKENS, d], **projections(d, heads, d // heads, heads)}
    shapes |= {f"b_{letter}": [d] for letter in "qkvo"} if bias else {}
    case = {"shapes": shapes, "options": {"heads": heads}, **counted(module, x, x, x)}
    with FlopCounterMode(display=False) as counter:
        module(x, x, x)[0].sum().backward()
    return case | {"with_backward": counter.get_total_flops()}


def encoder(d: int, heads: int, inner: int, bias: bool, first: bool) -> Keys:
    options = {"bias": bias, "norm_first": first, "dropout": 0.0, "batch_first": True}
    module = torch.nn.TransformerEncoderLayer(d, heads, inner, **options)
    shapes = {"X": [TOKENS, d], **layer(projections(d, heads, d // heads, heads), d, inner, bias)}
    about = {"kind": "transformer", "heads": heads, "place": "pre" if first else "post"}
    return {"shapes": shapes, "options": about, **counted(module, torch.zeros(1, TOKENS, d))}


def layer(shapes: Keys, d: int, inner: int, bias: bool) -> Keys:
    """Return the shapes of a layer with its feed-forward network, its gains and its biases."""
    shapes = {**shapes, "W_1": [d, inner], "W_2": [inner, d], "gain_1": [d], "gain_2": [d]}
    of_bias = {f"b_{letter}": shapes[f"W_{letter}"][1:] for letter in "qkvo12"}
    of_bias |= {"shift_1": [d], "shift_2": [d]}
    return shapes | (of_bias if bias else {})


def llama(d: int, heads: int, kv: int, size: int, inner: int, layers: int) -> Keys:
    config = LlamaConfig(
        vocab_size=11,
        hidden_size=d,
        intermediate_size=inner,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=kv,
        head_dim=size,
        attn_implementation="eager",
    )
    module = LlamaForCausalLM(config)
    shapes = {**projections(d, kv, size, heads), "W_1": [d, inner], "W_3": [d, inner]}
    shapes |= {"W_2": [inner, d], "gain_1": [d], "gain_2": [d]}
    about = {"heads": heads, "kv_heads": kv, "norm": "rms", "activation": "swiglu"}
    top = {"final_norm.gain": [d], "W_u": [d, 11], "embedding.table": [11, d]}
    return of_model(module, config, top, [shapes] * layers, about | {"positions": "rope"})


def gpt2(d: int, heads: int, layers: int) -> Keys:
    about = {"n_positions": TOKENS, "n_embd": d, "n_head": heads, "n_layer": layers}
    config = GPT2Config(vocab_size=11, **about, attn_implementation="eager")
    shapes = layer(projections(d, heads, d // heads, heads), d, 4 * d, bias=True)
    top = {"final_norm.gain": [d], "final_norm.shift": [d], "positions.P": [TOKENS, d]}
    top |= {"embedding.table": [11, d]}
    keys = {"heads": heads, "activation": "gelu_tanh", "unembedding": "tied"}
    return of_model(GPT2LMHeadModel(config), config, top, [shapes] * layers, keys)


def of_model(module: Any, config: Any, top: Keys, layers: list[Keys], about: Keys) -> Keys:
    """Return the case of a language model, with the bytes of its cache in bfloat16."""
    ids = torch.zeros(1, TOKENS, dtype=torch.long)
    with torch.no_grad():
        cache = module.bfloat16()(ids, use_cache=True).past_key_values
    kept = [part for one in cache.layers for part in (one.keys, one.values)]
    return {
        "shapes": top,
        "layers": layers,
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


RECORDED = {"counts": cases}
