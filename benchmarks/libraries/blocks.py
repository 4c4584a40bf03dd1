"""Whole layers of PyTorch, GPT-2 and Llama in float64, with the derivatives of their outputs' sums.

Random layers of `torch.nn.TransformerEncoderLayer` (norm first and last, relu and gelu), GPT-2
blocks and Llama layers of transformers, each with random gains and biases. Their weights are
written as keys of a problem: `nn.Linear` holds (d_out, d_in), which is transposed here; GPT-2's
`Conv1D` holds (d_in, d_out), which is used as it is, and has queries, keys and values side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import torch
from transformers import GPT2Config, LlamaConfig
from transformers.models.gpt2.modeling_gpt2 import GPT2Block
from transformers.models.llama.modeling_llama import LlamaDecoderLayer

from benchmarks.libraries.modules import angles, causal, wide

N, D, HEADS, INNER = 5, 8, 2, 12
"""Number of tokens, features, heads, and features of the hidden layer."""

BASE, EPS = 10000.0, 1e-6
"""The base of the angles of Llama's rotations, and what its norms add."""

Weights = dict[str, Any]


# ---- the weights of modules as keys of a problem; those of an nn.Linear are (d_out, d_in)


def of_linear(**modules: Any) -> Weights:
    """Return the weights and biases of modules by the ends of their keys."""
    found = {}
    for end, module in modules.items():
        is_stored_out_in = isinstance(module, torch.nn.Linear)
        found[f"W_{end}"] = module.weight.T if is_stored_out_in else module.weight
        if getattr(module, "bias", None) is not None:
            found[f"b_{end}"] = module.bias
    return found


def of_norms(*norms: Any) -> Weights:
    found = {f"gain_{place}": norm.weight for place, norm in enumerate(norms, 1)}
    shifts = {f"shift_{place}": getattr(norm, "bias", None) for place, norm in enumerate(norms, 1)}
    return found | {key: shift for key, shift in shifts.items() if shift is not None}


def side_by_side(weight: Any, bias: Any) -> Weights:
    """Return the parts of queries, keys and values of a weight (d_in, 3 · d_out)."""
    found = dict(zip(("W_q", "W_k", "W_v"), weight.chunk(3, -1), strict=True))
    if bias is not None:
        found |= zip(("b_q", "b_k", "b_v"), bias.chunk(3), strict=True)
    return found


def of_multihead(module: Any) -> Weights:
    found = side_by_side(module.in_proj_weight.T, module.in_proj_bias)
    return found | of_linear(o=module.out_proj)


def of_encoder_layer(layer: Any) -> Weights:
    found = of_multihead(layer.self_attn) | of_norms(layer.norm1, layer.norm2)
    return found | of_linear(**{"1": layer.linear1, "2": layer.linear2})


def of_gpt2_block(block: Any) -> Weights:
    found = side_by_side(block.attn.c_attn.weight, block.attn.c_attn.bias)
    found |= of_linear(o=block.attn.c_proj, **{"1": block.mlp.c_fc, "2": block.mlp.c_proj})
    return found | of_norms(block.ln_1, block.ln_2)


def of_llama_layer(layer: Any) -> Weights:
    attention, mlp = layer.self_attn, layer.mlp
    found = of_linear(**{letter: getattr(attention, f"{letter}_proj") for letter in "qkvo"})
    found |= of_linear(**{"1": mlp.gate_proj, "3": mlp.up_proj, "2": mlp.down_proj})
    return found | of_norms(layer.input_layernorm, layer.post_attention_layernorm)


# ---- the layers


def encoder_layer(norm_first: bool, activation: str) -> Any:
    return torch.nn.TransformerEncoderLayer(
        D, HEADS, INNER, 0.0, activation, norm_first=norm_first, batch_first=True
    )


def gpt2_block() -> Any:
    """GPT-2: layer norm before, a causal mask, the tanh form of GELU."""
    config = GPT2Config(n_embd=D, n_head=HEADS, n_inner=INNER, n_positions=N)
    config.resid_pdrop = config.attn_pdrop = config.embd_pdrop = 0.0
    config._attn_implementation = "eager"
    return GPT2Block(config, layer_idx=0)


def llama_layer() -> Any:
    """Llama: RMS norm before, rotations of halves, two queries to a key, SwiGLU, no biases."""
    about = {"hidden_size": D, "num_attention_heads": HEADS, "num_key_value_heads": 1}
    config = LlamaConfig(**about, intermediate_size=INNER, rms_norm_eps=EPS)
    config._attn_implementation = "sdpa"
    return LlamaDecoderLayer(config, layer_idx=0)


def case(
    seed: int,
    make: Callable[[], Any],
    read: Callable[[Any], Weights],
    words: dict[str, Any],
    inputs: dict[str, Any],
) -> dict[str, Any]:
    """Return the keys of a problem, its output, and the derivatives of the sum of that.

    Args:
        seed: of the parameters, which are about 1 if they are gains, and of the tokens.
        make: makes the module.
        read: reads its parameters as keys of a problem.
        words: the other keys of the problem.
        inputs: what the module is called with beside the tokens.
    """
    module = make().double().eval()
    torch.manual_seed(seed)
    for name, parameter in module.named_parameters():
        values = torch.randn_like(parameter) / 2
        is_gain = parameter.ndim == 1 and name.endswith("weight")
        parameter.data = values / 2 + 1 if is_gain else values
    x = torch.randn(1, N, D, dtype=torch.float64, requires_grad=True)
    with wide():
        output = module(x, **inputs)
    output = output[0] if isinstance(output, tuple) else output
    keys = {"kind": "transformer", "heads": HEADS, **words, "X": x[0].tolist()}
    keys |= {name: weight.tolist() for name, weight in read(module).items()}
    output.sum().backward()
    for parameter in module.parameters():
        parameter.data = parameter.grad
    assert x.grad is not None
    derivatives = {"d_X": x.grad[0], **{f"d_{name}": one for name, one in read(module).items()}}
    return {"problem": keys, "output": output[0], "derivatives": derivatives}


def cases() -> list[dict[str, Any]]:
    blocks: list[Any] = [
        (
            partial(encoder_layer, norm_first, activation),
            of_encoder_layer,
            {"norm": "layer", "place": "pre" if norm_first else "post", "activation": activation},
            {},
        )
        for norm_first, activation in product((False, True), ("relu", "gelu"))
    ]
    words: dict[str, Any] = {"norm": "layer", "place": "pre", "activation": "gelu_tanh"}
    masked = {"attention_mask": causal(N)}
    blocks.append((gpt2_block, of_gpt2_block, {**words, "mask": "causal"}, masked))
    words |= {"norm": "rms", "eps": EPS, "mask": "causal", "activation": "swiglu", "kv_heads": 1}
    words["positions"] = {"name": "rope", "pairs": "halves", "base": BASE}
    turns = {"position_embeddings": angles(N, D // HEADS, BASE)}
    blocks.append((llama_layer, of_llama_layer, words, masked | turns))
    return [case(seed, *block) for block in blocks for seed in range(2)]


RECORDED = {"recorded/torch_blocks.jsonl": cases}
