"""Encoders and decoders of PyTorch in float64, which the tests compare with `attn`.

It needs torch, and nothing of the package. Both networks are nn.LSTM, nn.GRU or nn.RNN. What
attends is nn.MultiheadAttention with one head and identities for its projections, so that its
scores are scaled products. A decoder that attends before its state reads the word and what it
found side by side, as in PyTorch's tutorial of Bahdanau's attention: [W C] is one matrix there.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import torch

GATES = {"lstm": ("_i", "_f", "_g", "_o"), "gru": ("_r", "_z", "_n"), "rnn": ("",)}
"""The gates of each module in the order of its weights."""

MODULES = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU, "rnn": torch.nn.RNN}


def parts_of(module: Any, cell: str, width: int) -> dict[str, Any]:
    """Return the weights of a module by the names of the papers; columns from `width` on are C."""
    names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    of_gates = (getattr(module, name).detach().chunk(len(GATES[cell])) for name in names)
    parts: dict[str, Any] = {}
    for gate, w, u, b, b_h in zip(GATES[cell], *of_gates, strict=True):
        parts |= {f"W{gate}": w[:, :width], f"U{gate}": u, f"b{gate}": b + b_h}
        if w.shape[1] > width:
            parts[f"C{gate}"] = w[:, width:]
        if gate == "_n":  # r is multiplied with U h + b_hn
            parts |= {"b_n": b, "b_hn": b_h}
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
    h, state = encoder(source)
    if attends == "after":
        s, _ = decoder(x, state)
        contexts, weights = attend(s, h, h)
    else:
        times = []
        for t in range(n):
            s = (state[0] if cell == "lstm" else state).transpose(0, 1)
            context, row = attend(s, h, h)
            output, state = decoder(torch.cat([x[:, t : t + 1], context], -1), state)
            times.append((context, row, output))
        contexts, weights, s = (torch.cat(parts, 1) for parts in zip(*times, strict=True))
    keys: dict[str, Any] = {"kind": "encoder_decoder", "cell": cell, "attends": attends}
    keys |= {"score": "scaled_dot"} | ({"reset": "after"} if cell == "gru" else {})
    keys |= {"X": x[0], "memory": source[0]}
    keys |= {"encoder": parts_of(encoder, cell, d_x), "decoder": parts_of(decoder, cell, d_y)}
    output = s if attends == "before" else contexts
    steps = {"H": h[0], "weights": weights[0], "output": output[0]}
    steps |= {f"s_{t + 1}": s[0, t] for t in range(n)}
    steps |= {f"context_{t + 1}": contexts[0, t] for t in range(n)}
    return {"problem": keys, "steps": steps}


def cases() -> list[Any]:
    shapes = [(2, 3, 2, 3, 2), (3, 4, 3, 2, 4), (1, 1, 2, 2, 3)]
    ways = product(GATES, ("after", "before"), shapes)
    with torch.no_grad():
        return [case(seed, *way) for seed, way in enumerate(ways)]


RECORDED = {"recorded/torch_networks.jsonl": cases}
