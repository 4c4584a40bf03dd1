"""The numbers of PyTorch, transformers, Keras and ONNX, which the tests compare with `attn`.

    python -m benchmarks.libraries.dumps

It runs the Python blocks of `docs/from-pytorch.md`, which needs these libraries: `pip install
'attncli[peers]'`.
What they save is written to `tests/data/dumps`, and the table of conventions into the page. An
entry of the table is the only one of several readings with which `attn` gives the numbers of the
library.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import attncli
from tests.support.library_numbers import (
    DUMPS,
    END,
    PAGE,
    START,
    TABLE,
    bound,
    differences,
    problems,
)

Words = dict[str, str]


def agreeing(output: Any, readings: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the word of the only reading whose problem gives an output; a reading is its keys."""
    found = []
    for word, keys in readings.items():
        trace = attncli.compute(attncli.Problem(**keys))
        made = trace["context" if np.ndim(output) == 4 else "output"].value
        if np.abs(made - np.asarray(output)).max() < 1e-5:
            found.append(word)
    (word,) = found
    return word


def saved(name: str) -> tuple[dict[str, Any], Any]:
    """Return the keys of a saved problem, and the library's output."""
    problem, dump = attncli.load(DUMPS / f"{name}.npz"), np.load(DUMPS / f"{name}_dump.npz")
    keys = {key: getattr(problem, key) for key in problem.given}
    names = [word for word in ("output", "attention_output", "context") if word in dump.files]
    return keys, dump[names[0]]


def interleaved(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return a problem whose head h has every `heads`-th feature."""
    found, heads = dict(keys), keys["heads"]
    is_stored = keys.get("weights_as") == "out_in"
    for key in ("W_q", "W_k", "W_v", "W_o", "b_q", "b_k", "b_v"):
        if found.get(key) is None:
            continue
        axis = 0 if (key == "W_o") != is_stored else -1
        count = heads if key in ("W_q", "b_q", "W_o") else keys.get("kv_heads", heads)
        size = found[key].shape[axis]
        order = np.arange(size).reshape(-1, count).T.ravel()
        found[key] = np.take(found[key], order, axis)
    return found


def tiled(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return a problem whose query head i has key head i modulo their number."""
    times = keys["heads"] // keys["kv_heads"]
    shared = [key for key in ("W_k", "W_v", "b_k", "b_v") if key in keys]
    more = {key: np.concatenate([keys[key]] * times) for key in shared}
    return {**keys, **more, "kv_heads": keys["heads"]}


def of_saved(name: str, stored: tuple[int, ...], more: Mapping[str, Any]) -> Words:
    """Return the conventions that the saved problem of a module shows.

    `stored` is the shape of a weight of the library, and `more` has other scales.
    """
    keys, output = saved(name)
    scales = {"1/√d_k": "1/sqrt(d_k)", "1": "1", "1/√d_model": "1/sqrt(d_model)", **more}
    heads = {"the first half": keys, "every second one": interleaved(keys)}
    found = {
        "scale": agreeing(output, {word: {**keys, "scale": s} for word, s in scales.items()}),
        "weights": "(out, in)" if stored[-1] == keys["X"].shape[-1] else "(in, out)",
    }
    if stored[0] == stored[1]:
        readings = {"(out, in)": keys, "(in, out)": {**keys, "weights_as": "in_out"}}
        found["weights"] = agreeing(output, readings)
    if "sink" in keys["normalize"]:
        without = {key: value for key, value in keys.items() if key != "normalize"}
        found["sink"] = agreeing(output, {"e^sink joins the sum": keys, "none": without})
    if keys["heads"] == 2:
        found["head 1 of 2"] = agreeing(output, heads)
    if keys.get("kv_heads", keys["heads"]) != keys["heads"]:
        grouped = {"i // g": keys, "i modulo their number": tiled(keys)}
        found["key head of query head i"] = agreeing(output, grouped)
    if keys.get("positions"):
        turned = {
            pairs: {**keys, "positions": {**keys["positions"]["rope"], "pairs": pairs}}
            for pairs in ("halves", "neighbours")
        }
        found["RoPE pairs"] = agreeing(output, turned)
    return found


def of_functions(names: Mapping[str, Any]) -> dict[str, Words]:
    """Return the conventions of functions of queries, keys and values, and of boolean masks."""
    torch, layer, module = names["torch"], names["layer"], names["attention"]
    random = np.random.default_rng(3)
    q = random.normal(size=(1, 4, 2, 4)).astype(np.float32)
    k, v = random.normal(size=(2, 1, 2, 3, 4)).astype(np.float32)
    mask = np.array([[True, False, True], [True, True, False]])
    tensors = [torch.from_numpy(array) for array in (q, k, v)]

    def of_torch(**options: Any) -> Any:
        function = torch.nn.functional.scaled_dot_product_attention
        return function(*tensors, enable_gqa=True, **options).numpy()

    def of_onnx(mask: Any = None, **options: Any) -> Any:
        inputs = {"Q": q, "K": k, "V": v} | ({} if mask is None else {"mask": mask})
        return names["onnx_attention"](inputs, **options)

    given = {"Q": q, "K": k, "V": v}
    every = {"Q": q, "heads": 4, "kv_heads": 4}
    grouped = {
        "i // g": given,
        "i modulo their number": every
        | {"K": np.tile(k, (1, 2, 1, 1)), "V": np.tile(v, (1, 2, 1, 1))},
    }
    found: dict[str, Words] = {}
    scaled = {"1/√d_k": given, "1": {**given, "scale": 1}}
    blocked = of_torch(attn_mask=torch.from_numpy(mask))
    for name, plain, masked, causal in (
        ("F.scaled_dot_product_attention", of_torch(), blocked, of_torch(is_causal=True)),
        ("ONNX Attention 23", of_onnx(), of_onnx(mask), of_onnx(is_causal=1)),
    ):
        found[name] = {
            "scale": agreeing(plain, scaled),
            "True in a mask": agreeing(masked, kept_or_blocked(given, mask)),
            "key head of query head i": agreeing(plain, grouped),
            "causal, n < m": agreeing(causal, aligned(given)),
        }
    keys, _ = saved("multihead")
    square = np.array([[True, False, True], [True, True, False], [False, True, True]])
    keys = {key: value for key, value in keys.items() if key not in ("mask", "answers")}
    x = torch.tensor(keys["X"])
    output, _ = module(x, x, x, attn_mask=torch.from_numpy(square))
    words = agreeing(output.detach(), kept_or_blocked(keys, square))
    found["nn.MultiheadAttention"] = {"True in a mask": words}
    keys, _ = saved("keras")
    x, queries = keys["X"], keys["X"][:, :2]
    del keys["mask"]
    crossed = {**keys, "kind": "cross", "X": queries, "memory": x}
    masked = layer(x, x, attention_mask=square[None]).detach()
    causal = layer(queries, x, use_causal_mask=True).detach()
    found["keras MultiHeadAttention"] = {
        "True in a mask": agreeing(masked, kept_or_blocked(keys, square)),
        "causal, n < m": agreeing(causal, aligned(crossed)),
    }
    return found


def kept_or_blocked(keys: Mapping[str, Any], mask: Any) -> dict[str, dict[str, Any]]:
    numbers = mask.astype(float)
    return {
        "may attend": {**keys, "mask": {"keep": numbers}},
        "is blocked": {**keys, "mask": {"block": numbers}},
    }


def aligned(keys: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    sides = ("top-left", "bottom-right")
    return {side: {**keys, "mask": {"causal": True, "align": side}} for side in sides}


def of_padding(names: Mapping[str, Any]) -> str:
    """Return what 1 means in the mask that a model of transformers is given."""
    torch, small = names["torch"], names["transformers"].BertConfig
    config = small(
        vocab_size=8,
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=8,
        attn_implementation="eager",
    )
    model = names["transformers"].BertModel(config).eval()
    given = torch.tensor([[1, 1, 0]])
    with torch.no_grad():
        weights = model(
            torch.tensor([[1, 2, 3]]), attention_mask=given, output_attentions=True
        ).attentions[0]
    return "may attend" if float(weights[..., 2].max()) == 0 else "is blocked"


LIBRARIES = (
    ("nn.MultiheadAttention", "multihead", "in_proj_weight"),
    ("F.scaled_dot_product_attention", "", ""),
    ("GPT-2", "gpt2", "c_attn.weight"),
    ("BERT", "bert", "output.dense.weight"),
    ("T5", "t5", "q.weight"),
    ("Llama", "llama", "q_proj.weight"),
    ("Mistral", "mistral", "q_proj.weight"),
    ("Qwen3", "qwen3", "q_proj.weight"),
    ("Gemma-2", "gemma2", "q_proj.weight"),
    ("gpt-oss", "gpt_oss", "q_proj.weight"),
    ("keras MultiHeadAttention", "keras", "query_dense.kernel"),
    ("ONNX Attention 23", "", ""),
)
"""The rows of the table, each with its recipe and a weight of its module."""


def shape_of(module: Any, weight: str) -> tuple[int, ...]:
    """Return the shape of a weight; the heads of Keras have an axis of their own."""
    if weight == "query_dense.kernel":
        kernel = module.get_weights()[0]
        return (kernel.shape[0], kernel[0].size)
    return tuple(module.get_parameter(weight).shape)


def conventions(names: Mapping[str, Any]) -> str:
    """Return the table of conventions as Markdown."""
    import onnx

    versions = {
        "torch": names["torch"].__version__.partition("+")[0],
        "transformers": names["transformers"].__version__,
        "Keras": names["keras"].__version__,
        "onnx": f"{onnx.__version__}, onnxruntime {names['onnxruntime'].__version__}",
    }
    functions, models = of_functions(names), names["models"]
    models |= {"multihead": names["attention"], "keras": names["layer"]}
    padding = {"True in a mask": of_padding(names)}
    rows: dict[str, Words] = {}
    for title, name, weight in LIBRARIES:
        if not name:
            rows[title] = functions[title]
            continue
        scales = {"1/√query_pre_attn_scalar": "1/3"} if name == "gemma2" else {}
        found = of_saved(name, shape_of(models[name], weight), scales)
        rows[title] = found | functions.get(title, padding)
    heads = list(dict.fromkeys(head for words in rows.values() for head in words))
    lines = [f"Of {', '.join(f'{one} {version}' for one, version in versions.items())}:", ""]
    lines += [f"| | {' | '.join(heads)} |", f"|---{'|---' * len(heads)}|"]
    for row, words in rows.items():
        lines.append(f"| {row} | {' | '.join(words.get(head, '') for head in heads)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    text = PAGE.read_text()
    names: dict[str, Any] = {"models": {}}
    DUMPS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for block in re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            exec(block, names)
            if "def recipe" in block:
                keep_modules(names)
        for path in Path(folder).glob("*.npz"):
            (DUMPS / path.name).write_bytes(path.read_bytes())
    for path in problems():
        worst = differences(path)
        shown = ", ".join(f"{step} {one:.1e}" for step, one in worst.items())
        print(f"{path.stem}: {shown}")
        assert max(worst.values()) <= bound(path), path.stem
    table = conventions(names)
    TABLE.write_text(table)
    before, _, rest = text.partition(START)
    PAGE.write_text(before + START + table + END + rest.partition(END)[2])


def keep_modules(names: dict[str, Any]) -> None:
    """Have `recipe` keep each module by the name of its recipe."""
    plain = names["recipe"]

    def recipe(name: str, model: Any, module: Any) -> None:
        names["models"][name] = module
        plain(name, model, module)

    names["recipe"] = recipe


if __name__ == "__main__":
    main()
