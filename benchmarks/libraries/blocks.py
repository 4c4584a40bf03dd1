"""Whole layers of PyTorch, GPT-2 and Llama in float64, with the derivatives of their outputs' sums.

Random layers of `torch.nn.TransformerEncoderLayer` (norm first and last, relu and gelu), GPT-2
blocks and Llama layers of transformers, each with random gains and biases. Their weights are
written as keys of a problem: `nn.Linear` holds (d_out, d_in), which is transposed here; GPT-2's
`Conv1D` holds (d_in, d_out), which is used as it is, and has queries, keys and values side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import torch
from transformers import GPT2Config, LlamaConfig
from transformers.models.gpt2.modeling_gpt2 import GPT2Block
from transformers.models.llama.modeling_llama import LlamaDecoderLayer

SEEDS = range(2)
N, D, HEADS, INNER = 5, 8, 2, 12
"""Number of tokens, features, heads, and features of the hidden layer."""

BASE = 10000.0
"""The base of the angles of rotations."""

Keys = dict[str, Any]
Matrices = dict[str, Any]


class Block(NamedTuple):
    """A block of a library that has calculated its output.

    Attributes:
        words: the keys of the problem that are no matrices.
        module: the block, whose parameters may be replaced by their derivatives.
        matrices: reads the parameters of the block as keys of the problem.
        x: the tokens, (1, n, d).
        output: what the block makes of them.
    """

    words: Keys
    module: Any
    matrices: Callable[[Any], Matrices]
    x: torch.Tensor
    output: torch.Tensor


def drawn(module: Any, seed: int) -> Any:
    """Return a module in float64 with random parameters, gains about 1."""
    torch.manual_seed(seed)
    module = module.double().eval()
    for name, parameter in module.named_parameters():
        values = torch.randn_like(parameter) / 2
        is_gain = parameter.ndim == 1 and name.endswith("weight")
        parameter.data = values / 2 + 1 if is_gain else values
    return module


def tokens() -> torch.Tensor:
    return torch.randn(1, N, D, dtype=torch.float64, requires_grad=True)


def encoder_layer(seed: int, norm_first: bool, activation: str) -> Block:
    made = torch.nn.TransformerEncoderLayer(
        D, HEADS, INNER, 0.0, activation, norm_first=norm_first, batch_first=True
    )
    layer, x = drawn(made, seed), tokens()
    words = {"norm": "layer", "place": "pre" if norm_first else "post", "activation": activation}
    return Block(words, layer, of_encoder_layer, x, layer(x))


def of_encoder_layer(layer: Any) -> Matrices:
    """One matrix (3d, d) is that of queries, keys and values."""
    attention = layer.self_attn
    weights, biases = attention.in_proj_weight.chunk(3), attention.in_proj_bias.chunk(3)
    found = {f"W_{letter}": weight.T for letter, weight in zip("qkv", weights, strict=True)}
    found |= {f"b_{letter}": bias for letter, bias in zip("qkv", biases, strict=True)}
    found |= of_linear("o", attention.out_proj)
    found |= of_linear("1", layer.linear1) | of_linear("2", layer.linear2)
    return found | of_norm("1", layer.norm1) | of_norm("2", layer.norm2)


def gpt2_block(seed: int) -> Block:
    """GPT-2: layer norm before, a causal mask, the tanh form of GELU."""
    config = GPT2Config(n_embd=D, n_head=HEADS, n_inner=INNER, n_positions=N)
    config.resid_pdrop = config.attn_pdrop = config.embd_pdrop = 0.0
    config._attn_implementation = "eager"
    block, x = drawn(GPT2Block(config, layer_idx=0), seed), tokens()
    words = {"norm": "layer", "place": "pre", "activation": "gelu_tanh", "mask": "causal"}
    return Block(words, block, of_gpt2_block, x, first(block(x, attention_mask=causal())))


def of_gpt2_block(block: Any) -> Matrices:
    found = {}
    side_by_side = block.attn.c_attn
    for place, letter in enumerate("qkv"):
        columns = slice(place * D, (place + 1) * D)
        found[f"W_{letter}"] = side_by_side.weight[:, columns]
        found[f"b_{letter}"] = side_by_side.bias[columns]
    for number, conv in (("o", block.attn.c_proj), ("1", block.mlp.c_fc), ("2", block.mlp.c_proj)):
        found |= {f"W_{number}": conv.weight, f"b_{number}": conv.bias}
    return found | of_norm("1", block.ln_1) | of_norm("2", block.ln_2)


def llama_layer(seed: int) -> Block:
    """Llama: RMS norm before, rotations of halves, two queries to a key, SwiGLU, no biases."""
    config = LlamaConfig(
        hidden_size=D, num_attention_heads=HEADS, num_key_value_heads=1, intermediate_size=INNER
    )
    # The library's own norm, its angles, and its softmax other than that of PyTorch are calculated
    # in float32, whatever the type of the tokens.
    config._attn_implementation = "sdpa"
    made = LlamaDecoderLayer(config, layer_idx=0)
    made.input_layernorm = torch.nn.RMSNorm(D, eps=config.rms_norm_eps)
    made.post_attention_layernorm = torch.nn.RMSNorm(D, eps=config.rms_norm_eps)
    layer, x = drawn(made, seed), tokens()
    size = D // HEADS
    speeds = BASE ** (-torch.arange(0, size, 2, dtype=torch.float64) / size)
    angles = torch.outer(torch.arange(N, dtype=torch.float64), speeds).repeat(1, 2)[None]
    waves = angles.cos(), angles.sin()
    output = first(layer(x, attention_mask=causal(), position_embeddings=waves))
    words: Keys = {"norm": "rms", "eps": config.rms_norm_eps, "place": "pre", "mask": "causal"}
    words |= {"activation": "swiglu", "kv_heads": 1}
    words["positions"] = {"name": "rope", "pairs": "halves", "base": BASE}
    return Block(words, layer, of_llama_layer, x, output)


def of_llama_layer(layer: Any) -> Matrices:
    attention, mlp = layer.self_attn, layer.mlp
    linear = {"q": attention.q_proj, "k": attention.k_proj, "v": attention.v_proj}
    linear |= {"o": attention.o_proj, "1": mlp.gate_proj, "3": mlp.up_proj, "2": mlp.down_proj}
    found = {f"W_{name}": module.weight.T for name, module in linear.items()}
    found |= {"gain_1": layer.input_layernorm.weight}
    return found | {"gain_2": layer.post_attention_layernorm.weight}


def causal() -> torch.Tensor:
    return torch.full((N, N), -torch.inf, dtype=torch.float64).triu(1)[None, None]


def first(found: Any) -> Any:
    """Return the tokens of what a block returns, which may be alone or in a tuple."""
    return found[0] if isinstance(found, tuple) else found


def of_linear(number: str, module: Any) -> dict[str, Any]:
    return {f"W_{number}": module.weight.T, f"b_{number}": module.bias}


def of_norm(number: str, module: Any) -> dict[str, Any]:
    return {f"gain_{number}": module.weight, f"shift_{number}": module.bias}


def case(block: Block) -> dict[str, Any]:
    """Return the keys of a problem, its output, and the derivatives of the sum of that."""
    keys: Keys = {"kind": "transformer", "heads": HEADS, **block.words, "X": block.x[0].tolist()}
    keys |= {name: matrix.tolist() for name, matrix in block.matrices(block.module).items()}
    block.output.sum().backward()
    for parameter in block.module.parameters():
        parameter.data = parameter.grad
    assert block.x.grad is not None
    derivatives = {"X": block.x.grad[0], **block.matrices(block.module)}
    return {
        "problem": keys,
        "output": block.output[0].tolist(),
        "derivatives": {f"d_{name}": one.tolist() for name, one in derivatives.items()},
    }


BLOCKS: list[Callable[[int], Block]] = [
    *(
        partial(encoder_layer, norm_first=norm_first, activation=activation)
        for norm_first in (False, True)
        for activation in ("relu", "gelu")
    ),
    gpt2_block,
    llama_layer,
]


def cases() -> Iterator[dict[str, Any]]:
    return (case(block(seed)) for block in BLOCKS for seed in SEEDS)


RECORDED = {"torch_blocks": cases}
