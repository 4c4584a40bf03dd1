"""Encoders and decoders of PyTorch in float64, which the tests compare with `attn`.

It needs torch, and nothing of the package. Both networks are nn.LSTM, nn.GRU or nn.RNN. What
attends is nn.MultiheadAttention with one head and identities for its projections, so that its
scores are scaled products. A decoder that attends before its state reads the word and what it
found side by side, as in PyTorch's tutorial of Bahdanau's attention: [W C] is one matrix there.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import torch

GATES = {"lstm": ("_i", "_f", "_g", "_o"), "gru": ("_r", "_z", "_n"), "rnn": ("",)}
"""The gates of each module in the order of its weights."""

MODULES = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU, "rnn": torch.nn.RNN}


def parts_of(module: Any, cell: str, width: int) -> dict[str, Any]:
    """Return the weights of a module by the names of the papers; columns from `width` on are C."""
    count = len(GATES[cell])
    named = {name.removesuffix("_l0"): p.detach() for name, p in module.named_parameters()}
    w, u, b, b_h = (
        named[name].chunk(count) for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )
    parts: dict[str, Any] = {}
    for place, gate in enumerate(GATES[cell]):
        parts |= {f"W{gate}": w[place][:, :width].tolist(), f"U{gate}": u[place].tolist()}
        if w[place].shape[1] > width:
            parts[f"C{gate}"] = w[place][:, width:].tolist()
        is_inside = gate == "_n"  # r is multiplied with U h + b_hn
        parts[f"b{gate}"] = (b[place] if is_inside else b[place] + b_h[place]).tolist()
        if is_inside:
            parts["b_hn"] = b_h[place].tolist()
    return parts


def attention(size: int) -> Any:
    module = torch.nn.MultiheadAttention(size, 1, bias=False, batch_first=True).double()
    with torch.no_grad():
        module.in_proj_weight.copy_(torch.eye(size).repeat(3, 1))
        module.out_proj.weight.copy_(torch.eye(size))
    return module


def case(seed: int, cell: str, attends: str, sizes: tuple[int, ...]) -> dict[str, Any]:
    """Return the keys of a problem, and what the modules give."""
    torch.manual_seed(seed)
    n, m, d_x, d_y, size = sizes
    wide = d_y + (size if attends == "before" else 0)
    encoder, decoder = (
        MODULES[cell](width, size, batch_first=True).double() for width in (d_x, wide)
    )
    for parameter in (*encoder.parameters(), *decoder.parameters()):
        torch.nn.init.normal_(parameter, std=0.7)
    source, x = (torch.randn(1, *shape, dtype=torch.float64) for shape in ((m, d_x), (n, d_y)))
    attend = attention(size)
    with torch.no_grad():
        h, state = encoder(source)
        if attends == "after":
            s, _ = decoder(x, state)
            contexts, weights = attend(s, h, h)
        else:
            found, rows, outputs = [], [], []
            for t in range(n):
                s = (state[0] if cell == "lstm" else state).transpose(0, 1)
                context, row = attend(s, h, h)
                output, state = decoder(torch.cat([x[:, t : t + 1], context], -1), state)
                found.append(context)
                rows.append(row)
                outputs.append(output)
            contexts, weights, s = (torch.cat(parts, 1) for parts in (found, rows, outputs))
    keys: dict[str, Any] = {
        "kind": "encoder_decoder",
        "cell": cell,
        "attends": attends,
        "score": "scaled_dot",
    }
    keys |= {"reset": "after"} if cell == "gru" else {}
    keys |= {"X": x[0].tolist(), "memory": source[0].tolist()}
    keys |= {"encoder": parts_of(encoder, cell, d_x), "decoder": parts_of(decoder, cell, d_y)}
    steps = {
        "H": h[0],
        "weights": weights[0],
        "output": (s if attends == "before" else contexts)[0],
    }
    last = {"s": s[0], "context": contexts[0]}
    of_times = {
        f"{name}_{t + 1}": rows[t].tolist() for name, rows in last.items() for t in range(n)
    }
    return {"problem": keys, "steps": {k: v.tolist() for k, v in steps.items()} | of_times}


def cases() -> Iterator[Any]:
    shapes = [(2, 3, 2, 3, 2), (3, 4, 3, 2, 4), (1, 1, 2, 2, 3)]
    ways = product(GATES, ("after", "before"), shapes)
    return (case(seed, *way) for seed, way in enumerate(ways))


RECORDED = {"torch_networks": cases}
