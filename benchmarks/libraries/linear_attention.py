"""ONNX's LinearAttention and Qwen3-Next's gated delta rule, which the tests compare with `attn`.

It needs onnx ≥ 1.23, torch and transformers, and nothing of the package. Both references work in
float32; here the same lines run in float64. Keys are those of a problem: what ONNX and Qwen call
decay is the logarithm of alpha. The node tests of ONNX are stored as they are, in float32.
"""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from onnx.backend.test.case.node import linear_attention
from onnx.reference.ops import op_linear_attention
from transformers.models.qwen3_next.modeling_qwen3_next import torch_recurrent_gated_delta_rule

from benchmarks.libraries.modules import wide

HEADS = ((1, 1), (2, 2), (4, 2), (4, 1))
"""The heads of queries, and those of keys and values."""

RULES = ("linear", "gated", "delta", "gated_delta")


def cut(packed: Any, heads: int) -> Any:
    """(batch, n, heads · d) becomes (batch, heads, n, d)."""
    batch, n, width = packed.shape
    return packed.reshape(batch, n, heads, width // heads).transpose(0, 2, 1, 3)


def problem(inputs: dict[str, Any], rule: str, heads: int, kv_heads: int) -> dict[str, Any]:
    """Return the keys of a problem for the inputs of the operator."""
    keys: dict[str, Any] = {"kind": "delta", "update": rule, "heads": heads, "kv_heads": kv_heads}
    keys["Q"] = cut(inputs["query"], heads)
    keys |= {"K": cut(inputs["key"], kv_heads), "V": cut(inputs["value"], kv_heads)}
    if "decay" in inputs:
        keys["alpha"] = cut(np.exp(inputs["decay"].astype(np.float64)), kv_heads)
    if "beta" in inputs:
        beta = inputs["beta"]
        keys["beta"] = cut(np.repeat(beta, kv_heads // beta.shape[2] or 1, axis=2), kv_heads)
    return keys | ({"S_0": inputs["past_state"]} if "past_state" in inputs else {})


def onnx_case(seed: int, heads: tuple[int, int], rule: str) -> dict[str, Any]:
    """Return a problem, and the output and last state of ONNX's reference in float64."""
    rng = np.random.default_rng(seed)
    batch, n, d_k, d_v = 2, 3, 3, 2
    queries, kv_heads = heads
    widths = {"query": queries * d_k, "key": kv_heads * d_k, "value": kv_heads * d_v}
    inputs = {name: rng.normal(size=(batch, n, width)) for name, width in widths.items()}
    if "gated" in rule:
        width = kv_heads * (d_k if seed % 2 else 1)
        inputs["decay"] = -np.abs(rng.normal(size=(batch, n, width)))
    if "delta" in rule:
        inputs["beta"] = rng.random((batch, n, 1 if seed % 3 == 0 else kv_heads))
    if seed % 4 < 2:
        inputs["past_state"] = rng.normal(size=(batch, kv_heads, d_k, d_v))
    op_linear_attention.np = SimpleNamespace(**{**vars(np), "float32": np.float64})
    operator = op_linear_attention.LinearAttention.__new__(op_linear_attention.LinearAttention)
    counts = {"q_num_heads": queries, "kv_num_heads": kv_heads}
    output, state = operator._run(**inputs, **counts, update_rule=rule)
    keys = problem(inputs, rule, *heads) | {"scale": "1/sqrt(d_k)"}
    return {"problem": keys, "output": output, "state": state}


def qwen_case(seed: int, heads: int) -> dict[str, Any]:
    """Return a problem with as many heads, and the output and last state of transformers."""
    torch.manual_seed(seed)
    size = (2, 4, heads)
    q, k, v = (torch.randn(*size, d, dtype=torch.float64) for d in (3, 3, 2))
    k = k / k.norm(dim=-1, keepdim=True)
    decay, beta = -torch.rand(*size, dtype=torch.float64), torch.rand(*size, dtype=torch.float64)
    start = torch.randn(2, heads, 3, 2, dtype=torch.float64) if seed % 2 else None
    with wide():
        output, state = torch_recurrent_gated_delta_rule(q, k, v, decay, beta, start, True)
    matrices = {"Q": q, "K": k, "V": v, "alpha": decay.exp()[..., None], "beta": beta[..., None]}
    keys = {name: matrix.transpose(1, 2) for name, matrix in matrices.items()}
    keys |= {"kind": "delta", "heads": heads, "scale": "1/sqrt(d_k)"}
    keys |= {} if start is None else {"S_0": start}
    return {"problem": keys, "output": output.flatten(2), "state": state}


def node_tests() -> dict[str, Any]:
    """Return the inputs and the outputs of ONNX's node tests, by `test.array`."""
    arrays: dict[str, Any] = {}

    def expect(node: Any, inputs: Any, outputs: Any, name: str, **_: Any) -> None:
        attributes = {one.name: one for one in node.attribute}
        rule = attributes["update_rule"].s.decode() if "update_rule" in attributes else RULES[-1]
        counts = [attributes[side].i for side in ("q_num_heads", "kv_num_heads")]
        named = zip([one for one in node.input if one], inputs, strict=True)
        keys = problem(dict(named), rule, *counts)
        given = attributes["scale"].f if "scale" in attributes else 0
        keys |= {"scale": str(given) if given else "1/sqrt(d_k)"}
        keys |= {"output": outputs[0], "state": outputs[1]}
        test = name.removeprefix("test_linear_attention_")
        arrays.update({f"{test}.{key}": np.asarray(x) for key, x in keys.items()})

    linear_attention.expect = expect
    np.random.seed(0)
    for name, export in vars(linear_attention.LinearAttention).items():
        if name.startswith("export_"):
            export.__func__()
    return arrays


def of_onnx() -> list[Any]:
    return [onnx_case(seed, *way) for seed, way in enumerate(product(HEADS, RULES))]


def of_qwen() -> list[Any]:
    return [qwen_case(seed, heads) for seed, heads in enumerate((1, 2, 3, 1))]


RECORDED = {
    "recorded/delta_onnx.jsonl": of_onnx,
    "recorded/delta_qwen3_next.jsonl": of_qwen,
    "recorded/delta_onnx_node_tests.npz": node_tests,
}
