"""The numbers of PyTorch, transformers, Keras and ONNX, which the tests compare with `attn`.

    python -m benchmarks.libraries.dumps

It runs the Python blocks of `docs/from-pytorch.md`, which needs these libraries: `pip install
'attncli[peers]'`. What they save is written to `tests/data/dumps`, and the table of conventions
into the page. An entry of the table is what a problem says, or how `attn` works it, with which it
gives the numbers of the library.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest import mock

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

Keys = Mapping[str, Any]
Words = dict[str, str]

GROUPED, ALIGNED, MASKED = "key head of query head i", "causal, n < m", "True in a mask"
COLUMNS = ("scale", "weights", "head 1 of 2", MASKED, GROUPED, ALIGNED, "RoPE pairs", "sink")
FUNCTIONS = ("F.scaled_dot_product_attention", "ONNX Attention 23")
MODULES = {
    "nn.MultiheadAttention": ("multihead", "W_q", "in_proj_weight"),
    "GPT-2": ("gpt2", "W_q", "c_attn.weight"),
    "BERT": ("bert", "W_o", "output.dense.weight"),
    "T5": ("t5", "W_q", "q.weight"),
    "Llama": ("llama", "W_q", "q_proj.weight"),
    "Mistral": ("mistral", "W_q", "q_proj.weight"),
    "Qwen3": ("qwen3", "W_q", "q_proj.weight"),
    "Gemma-2": ("gemma2", "W_q", "q_proj.weight"),
    "gpt-oss": ("gpt_oss", "W_q", "q_proj.weight"),
    "keras MultiHeadAttention": ("keras", "W_q", "query_dense.kernel"),
}
"""Modules in the order of the page: their recipe, a matrix of it, and the weight that has it."""


def agrees(output: Any, keys: Keys) -> bool:
    """Return whether `attn` gives an output of a library."""
    trace = attncli.compute(attncli.Problem(**keys))
    made = trace["context" if np.ndim(output) == 4 else "output"].value
    return bool(np.abs(made - np.asarray(output)).max() < 1e-5)


def agreeing(output: Any, readings: Mapping[str, Keys]) -> str:
    """Return the word of the only reading whose problem gives an output."""
    (word,) = (word for word, keys in readings.items() if agrees(output, keys))
    return word


def of_mask(output: Any, keys: Keys, mask: Any) -> str:
    """Return what True in a boolean mask of a library means, which gave an output with it."""
    words = {"may attend": "keep", "is blocked": "block"}
    numbers = mask.astype(float)
    return agreeing(output, {w: {**keys, "mask": {key: numbers}} for w, key in words.items()})


def of_causal(output: Any, keys: Keys) -> str:
    """Return which keys the first query sees in a causal mask of fewer queries than keys."""
    sides = ("top-left", "bottom-right")
    return agreeing(output, {s: {**keys, "mask": {"causal": True, "align": s}} for s in sides})


def of_problem(module: Any, name: str, key: str, weight: str) -> Words:
    """Return the conventions of a saved problem, with which `attn` gives what the module gave."""
    problem = attncli.load(DUMPS / f"{name}.npz")
    if weight == "query_dense.kernel":  # the heads of Keras have an axis of their own
        kernel = module.get_weights()[0]
        own = kernel.reshape(len(kernel), -1)
    else:
        own = module.get_parameter(weight).detach().numpy()
    matrix = getattr(problem, key)
    matrix = matrix if problem.weights_as == "out_in" else matrix.T
    sides = {"(out, in)": matrix[0], "(in, out)": matrix[:, 0]}
    (stored,) = (side for side, x in sides.items() if np.array_equal(own[0, : len(x)], x))
    scales = {"1/sqrt(d_k)": "1/√d_k", "1": "1", str(1 / 3): "1/√query_pre_attn_scalar"}
    found = {"scale": scales[str(problem.scale)], "weights": stored}
    if problem.heads == 2:
        found["head 1 of 2"] = "the first half"
    if problem.kv_heads not in (None, problem.heads):
        found[GROUPED] = "i // g"
    if problem.positions:
        found["RoPE pairs"] = problem.positions["rope"]["pairs"]
    if "block" in problem.mask:
        found[MASKED] = "is blocked"
    if "sink" in problem.normalize:
        found["sink"] = "e^sink joins the sum"
    return found


def of_calls(names: Keys) -> dict[str, Words]:
    """Return the conventions of functions, and what they and Keras make of a mask and `causal`."""
    torch, layer = names["torch"], names["layer"]
    random, mask = np.random.default_rng(3), np.array([[True, False, True], [True, True, False]])
    q = random.normal(size=(1, 4, 2, 4)).astype(np.float32)
    k, v = random.normal(size=(2, 1, 2, 3, 4)).astype(np.float32)
    given = {"Q": q, "K": k, "V": v}

    def of_torch(**options: Any) -> Any:
        tensors = [torch.from_numpy(array) for array in given.values()]
        function = torch.nn.functional.scaled_dot_product_attention
        return function(*tensors, enable_gqa=True, **options).numpy()

    onnx = names["onnx_attention"]
    assert agrees(of_torch(), given)
    assert agrees(onnx(given), given)
    problem = attncli.load(DUMPS / "keras.npz")
    keys = {key: getattr(problem, key) for key in problem.given if key != "mask"}
    x, first = keys["X"], keys["X"][:, :2]
    keys |= {"kind": "cross", "X": first, "memory": x}
    masked = layer(first, x, attention_mask=mask[None]).detach()
    causal = layer(first, x, use_causal_mask=True).detach()
    outputs = (
        (given, of_torch(attn_mask=torch.from_numpy(mask)), of_torch(is_causal=True)),
        (given, onnx(given | {"mask": mask}), onnx(given, is_causal=1)),
        (keys, masked, causal),
    )
    words = [
        {MASKED: of_mask(masked, keys, mask), ALIGNED: of_causal(causal, keys)}
        for keys, masked, causal in outputs
    ]
    grouped = {"scale": "1/√d_k", GROUPED: "i // g"}
    found = {name: grouped | word for name, word in zip(FUNCTIONS, words, strict=False)}
    return found | {"keras MultiHeadAttention": words[-1]}


def of_padding(names: Keys) -> str:
    """Return what 1 means in the mask that a model of transformers is given."""
    torch, library = names["torch"], names["transformers"]
    sizes = {"vocab_size": 8, "hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1}
    about = {"num_attention_heads": 2, "attn_implementation": "eager", "output_attentions": True}
    model = library.BertModel(library.BertConfig(**sizes, **about)).eval()
    with torch.no_grad():
        given = torch.tensor([[1, 2, 3]]), torch.tensor([[1, 1, 0]])
        weights = model(*given).attentions[0]
    return "may attend" if float(weights[..., 2].max()) == 0 else "is blocked"


def conventions(names: Keys, modules: list[Any]) -> str:
    """Return the table of conventions as Markdown, of the modules in the order of `MODULES`."""
    import onnx

    of_torch, of_onnx = names["torch"].__version__.partition("+")[0], names["onnxruntime"]
    versions = f"torch {of_torch}, transformers {names['transformers'].__version__}"
    versions += f", Keras {names['keras'].__version__}, onnx {onnx.__version__}"
    lines = [f"Of {versions}, onnxruntime {of_onnx.__version__}:", ""]
    lines += [f"| | {' | '.join(COLUMNS)} |", f"|---{'|---' * len(COLUMNS)}|"]
    rows, padding = of_calls(names), {MASKED: of_padding(names)}
    for (title, (name, *weight)), module in zip(MODULES.items(), modules, strict=True):
        rows[title] = padding | of_problem(module, name, *weight) | rows.get(title, {})
    first, last = FUNCTIONS
    for title in sorted(rows, key=["nn.MultiheadAttention", first, *MODULES, last].index):
        lines.append(f"| {title} | {' | '.join(rows[title].get(c, '') for c in COLUMNS)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    text = PAGE.read_text()
    names: dict[str, Any] = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.object(attncli, "from_torch", wraps=attncli.from_torch) as reads,
    ):
        os.chdir(folder)
        for block in re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            exec(block, names)
        for path in Path(folder).glob("*.npz"):
            (DUMPS / path.name).write_bytes(path.read_bytes())
    for path in problems():
        worst = differences(path)
        shown = ", ".join(f"{step} {one:.1e}" for step, one in worst.items())
        print(f"{path.stem}: {shown}")
        assert max(worst.values()) <= bound(path), path.stem
    table = conventions(names, [*(call.args[0] for call in reads.mock_calls), names["layer"]])
    TABLE.write_text(table)
    before, _, rest = text.partition(START)
    PAGE.write_text(before + START + table + END + rest.partition(END)[2])


if __name__ == "__main__":
    main()
