"""Dumps of two programs: arrays that belong together, the first that differs, and its cause."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from tests.conftest import Attn

Array = np.ndarray[Any, Any]
Arrays = dict[str, Array]

TOKENS, HEADS, WIDTH = 5, 2, 4
SHAPE = (1, TOKENS, HEADS, WIDTH)

NAMES = {
    "TransformerLens": (
        *("blocks.{}.attn.hook_q", "blocks.{}.attn.hook_k", "blocks.{}.attn.hook_v"),
        *("blocks.{}.attn.hook_pattern", "blocks.{}.attn.hook_z", "blocks.{}.hook_attn_out"),
    ),
    "weights and output": ("", "", "", "layers.{}.weights", "", "layers.{}.output"),
    "other words": ("", "", "", "model.h.{}.probs_dump", "", "model.h.{}.o_dump"),
}


def model(names: str, wrong_layer: int = -1, layers: int = 4, **wrong: Any) -> Arrays:
    """Return what some layers of attention give in float32; one may be calculated otherwise."""
    found: Arrays = {}
    x = np.random.default_rng(0).normal(size=(1, TOKENS, HEADS * WIDTH)).astype("f4")
    for layer in range(layers):
        random = np.random.default_rng(layer)
        matrices = [random.normal(size=(8, 8)).astype("f4") / 3 for _ in range(4)]
        keys: dict[str, Any] = dict(zip(("W_q", "W_k", "W_v", "W_o"), matrices, strict=True))
        keys |= {"X": x, "heads": HEADS, "mask": "causal"}
        steps = attncli.compute(attncli.Problem(**keys | (wrong if layer == wrong_layer else {})))
        arrays = [steps[name].value for name in ("Q", "K", "V", "weights", "context", "output")]
        for at in (0, 1, 2, 4):  # hooks have the heads after the tokens
            arrays[at] = arrays[at].swapaxes(1, 2)
        for name, array in zip(NAMES[names], arrays, strict=True):
            if name:
                found[name.format(layer)] = array.astype("f4")
        x = (x + arrays[-1]).astype("f4")
    return found


def check(attn: Attn, folder: Path, right: Arrays, mine: Arrays, *flags: str) -> Any:
    for name, arrays in (("reference", right), ("mine", mine)):
        np.savez(folder / f"{name}.npz", **arrays)  # type: ignore[arg-type]
    return attn("check", folder / "reference.npz", folder / "mine.npz", *flags)


@pytest.mark.parametrize("mine", NAMES)
@pytest.mark.parametrize("right", NAMES)
def test_right_dumps_are_right_whatever_their_names(
    attn: Attn, tmp_path: Path, right: str, mine: str
) -> None:
    shown = check(attn, tmp_path, model(right), model(mine))
    assert (shown.status, shown.err) == (0, "")
    assert ("Matched by their" in shown.out) == (right != mine)


CAUSES = [
    ("TransformerLens", {"scale": 1}, "blocks.2.attn.hook_pattern", "not_scaled"),
    ("TransformerLens", {"mask": None}, "blocks.2.attn.hook_pattern", "mask_missing"),
    ("weights and output", {"mask": None}, "blocks.2.attn.hook_pattern", "mask_missing"),
    ("other words", {"scale": "1/d_k"}, "blocks.2.attn.hook_pattern", "scaled_by_d_k"),
]


@pytest.mark.parametrize(("names", "wrong", "first", "cause"), CAUSES)
def test_the_first_step_that_differs_and_its_cause(
    attn: Attn, tmp_path: Path, names: str, wrong: dict[str, Any], first: str, cause: str
) -> None:
    shown = check(attn, tmp_path, model("TransformerLens"), model(names, 2, **wrong), "-f", "json")
    report = json.loads(shown.out)
    assert (shown.status, report["first_wrong_step"]) == (1, first)
    assert report["steps"][first]["mistake"]["id"] == cause
    assert report["steps"][first]["at"].startswith(first)
    assert len(report["steps"][first]["cells"]) == 5


@pytest.mark.parametrize("positions", [None, {"name": "rope", "pairs": "halves"}])
def test_inputs_are_tokens_and_weights_or_rotated_queries(
    attn: Attn, tmp_path: Path, positions: Any
) -> None:
    x, *weights = np.random.default_rng(0).normal(size=(4, 6, 6))
    keys = dict(zip(("W_q", "W_k", "W_v"), weights, strict=True))
    given: dict[str, Any] = {"X": x, **keys, "heads": 3 if positions is None else 1}
    right, wrong = (
        attncli.compute(attncli.Problem(**given, positions=positions, scale=scale))
        for scale in (None, "1/d_k")
    )
    inputs = {"X": x, **keys} if positions is None else {}
    names = ["Q_rotated", "K_rotated"] if positions else ["Q", "K"]
    dumps = [{n: trace[n].value for n in (*names, "weights")} for trace in (right, wrong)]
    np.savez(tmp_path / "right.npz", **inputs | dumps[0])
    np.savez(tmp_path / "wrong.npz", **dumps[1])  # type: ignore[arg-type]
    shown = attn("check", tmp_path / "wrong.npz", "--reference", tmp_path / "right.npz")
    assert "The scores were divided by d_k, not by √d_k." in shown.out


def joined(steps: Arrays) -> Arrays:
    return steps | {"concat": steps["context"].reshape(TOKENS, HEADS * WIDTH)}


OF_ONE_PROGRAM = [
    ({"mask": {"block": np.tri(TOKENS).tolist()}}, None, "mask_inverted"),
    ({"scale": 1}, None, "not_scaled"),
    ({}, joined, "heads_joined"),
]


@pytest.mark.parametrize("has_w_o", [True, False])
@pytest.mark.parametrize(("wrong", "change", "cause"), OF_ONE_PROGRAM)
def test_a_dump_of_every_step_has_inputs_and_results(
    attn: Attn, tmp_path: Path, wrong: dict[str, Any], change: Any, cause: str, has_w_o: bool
) -> None:
    x, *weights = np.random.default_rng(0).normal(size=(5, 8, 8))
    keys = dict(zip(("W_q", "W_k", "W_v", "W_o"), weights, strict=True))
    given: dict[str, Any] = {"X": x[:TOKENS], **keys, "heads": HEADS, "mask": "causal"}
    names = ("Q", "K", "V", "scores", "scaled", "weights", "context", "concat")
    right, mine = (attncli.compute(attncli.Problem(**given | more)) for more in ({}, wrong))
    dumps = [{n: trace[n].value for n in names if n in trace} for trace in (right, mine)]
    dumps[0] |= {"W_o": keys["W_o"]} if has_w_o else {}
    shown = check(attn, tmp_path, dumps[0], change(dumps[1]) if change else dumps[1], "-f", "json")
    report = json.loads(shown.out)
    assert report["steps"][report["first_wrong_step"]]["mistake"]["id"] == cause


OF_LLAMA = [
    ("Q,K,weights", {"scale": 1}, "not_scaled"),
    ("Q,K,weights", {"positions": "rope"}, "other_pairs"),
    ("Q,K,Q_rotated,K_rotated", {"positions": "rope"}, "other_pairs"),
    ("Q,K,Q_rotated,K_rotated,weights", {"mask": None}, "mask_missing"),
    ("X,W_q,W_k,W_v,Q,K,Q_rotated", {"positions": "rope"}, "other_pairs"),
    ("X,W_q,W_k,W_v,Q_rotated,K_rotated,weights", {"scale": 1}, "not_scaled"),
]


@pytest.mark.parametrize(("names", "wrong", "cause"), OF_LLAMA)
def test_keys_shared_by_heads_and_turned(
    attn: Attn, tmp_path: Path, names: str, wrong: dict[str, Any], cause: str
) -> None:
    x, *weights = np.random.default_rng(0).normal(size=(4, 8, 8)) / 2
    shapes = dict(zip(("W_q", "W_k", "W_v"), (8, 4, 4), strict=True))
    keys = {key: one[:, :n] for (key, n), one in zip(shapes.items(), weights, strict=True)}
    given: dict[str, Any] = {"X": x[None], **keys, "heads": 2, "kv_heads": 1, "mask": "causal"}
    given["positions"] = {"name": "rope", "pairs": "halves"}
    right, mine = (attncli.compute(attncli.Problem(**given | more)) for more in ({}, wrong))
    every = names.split(",")
    reference, other = (
        {f"layers.0.{n}": trace[n].value if n in trace else given[n] for n in every}
        for trace in (right, mine)
    )
    shown = check(attn, tmp_path, reference, other, "-f", "json")
    report = json.loads(shown.out)
    assert report["steps"][report["first_wrong_step"]]["mistake"]["id"] == cause


def test_without_inputs_no_cause_is_named(attn: Attn, tmp_path: Path) -> None:
    names = "weights and output"
    shown = check(attn, tmp_path, model(names), model(names, 1, scale=1))
    assert "its inputs are not in the reference, so no cause is sought." in shown.out
    assert shown.out.endswith(" numbers, first at layers.1.weights\n")


CHANGES = [
    ("layers.1.weights", lambda a: a.swapaxes(2, 3), "another_layout"),
    ("layers.1.weights", lambda a: 1.25 * a, "constant_factor"),
    ("layers.1.weights", lambda a: a + 1, None),
    ("blocks.1.attn.hook_pattern", lambda a: a.swapaxes(2, 3), "attention_transposed"),
    ("blocks.1.attn.hook_z", lambda z: 1.25 * z.swapaxes(1, 2), "wrong_shape"),
]


@pytest.mark.parametrize(("name", "change", "cause"), CHANGES)
def test_what_numbers_show_by_themselves(
    attn: Attn, tmp_path: Path, name: str, change: Any, cause: str | None
) -> None:
    names = "TransformerLens" if "hook" in name else "weights and output"
    right, mine = model(names), model(names)
    mine[name] = change(mine[name])
    shown = check(attn, tmp_path, right, mine, "-f", "json")
    found = json.loads(shown.out)["steps"][name]["mistake"]
    assert (shown.status, found and found["id"]) == (1, cause)
    if cause == "another_layout":
        line = found["advice"].removeprefix("Turn it by ").removesuffix(".")
        assert np.array_equal(eval(line, {"mine": mine}), right[name])


LAYOUTS = [
    lambda z: z.swapaxes(1, 2),
    lambda z: z.reshape(1, TOKENS, HEADS * WIDTH),
    lambda z: z.reshape(TOKENS, HEADS, WIDTH),
    lambda z: z.transpose(2, 0, 1, 3).reshape(HEADS, TOKENS * WIDTH),
]


@pytest.mark.parametrize("change", LAYOUTS)
def test_another_layout_is_right_and_the_line_that_turns_it_is_said(
    attn: Attn, tmp_path: Path, change: Any
) -> None:
    right, mine, name = model("TransformerLens"), model("TransformerLens"), "blocks.1.attn.hook_z"
    mine[name] = change(mine[name])
    shown = check(attn, tmp_path, right, mine)
    assert shown.status == 0
    for line in re.findall("Turned into the layout of the reference: (.+)[.]\n", shown.out):
        assert np.array_equal(eval(line, {"mine": mine}), right[name])
    is_turned = [size for size in mine[name].shape if size > 1] != [*SHAPE[1:]]
    assert ("Turned into" in shown.out) == is_turned


def test_another_step_is_found(attn: Attn, tmp_path: Path) -> None:
    mine = model("weights and output")
    mine["layers.2.output"] = mine["layers.1.output"]
    shown = check(attn, tmp_path, model("weights and output"), mine)
    assert "  It holds the numbers of layers.1.output in the reference." in shown.out


def test_an_npy_file_is_an_array_by_its_name(attn: Attn, tmp_path: Path) -> None:
    right = model("weights and output", layers=1)
    np.savez(tmp_path / "reference.npz", **right)  # type: ignore[arg-type]
    np.save(tmp_path / "output.npy", right["layers.0.output"])
    shown = attn("check", tmp_path / "reference.npz", tmp_path / "output.npy", "-q")
    assert (shown.out, shown.err) == ("correct: 40 numbers\n", "")


def test_inputs_with_steps_are_a_reference_and_what_attn_wrote_is_a_problem(
    attn: Attn, tmp_path: Path
) -> None:
    problem = attncli.Problem(X=np.eye(3) + 0.5, heads=1, mask="causal")
    trace = attncli.compute(problem)
    right: Arrays = {"X": problem.matrices()["X"], **{step.name: step.value for step in trace}}
    reference, mine = tmp_path / "reference.npz", tmp_path / "mine.npz"
    np.savez(reference, **right)  # type: ignore[arg-type]
    np.savez(mine, weights=right["weights"])
    shown = attn("check", reference, mine)
    assert (shown.status, "compared with" in shown.out) == (0, True)
    options = np.array(json.dumps({"options": {"mask": "causal"}, "inputs": ["X"]}))
    np.savez(reference, options=options, **right)  # type: ignore[arg-type]
    shown = attn("check", reference, mine)
    assert (shown.status, "compared with" in shown.out) == (0, False)
    assert "compared with" in attn("check", mine, "--reference", reference).out


# ---- the tree of calls that transformers writes


def printed(array: Array) -> dict[str, Any]:
    """Return a tensor as `model_addition_debugger_context` writes it, as PyTorch prints it."""
    options: Any = {"threshold": 1000, "floatmode": "fixed", "max_line_width": 120}
    text = np.array2string(array, separator=", ", formatter={"float": "{:.4e}".format}, **options)
    shape = f"torch.Size({list(array.shape)})"
    lines = f"tensor({text}, dtype=torch.float32)".splitlines()
    return {"shape": shape, "dtype": "torch.float32", "value": lines, "mean": "tensor(0.)"}


def tree(arrays: Arrays) -> dict[str, Any]:
    calls = [
        {
            "module_path": f"Model.{name}",
            "inputs": {"args": [printed(array)], "kwargs": {"use_cache": "False"}},
            "outputs": printed(2 * array),
        }
        for name, array in arrays.items()
    ]
    return {"module_path": "Model", "inputs": {"kwargs": {}}, "children": calls}


def test_trees_of_calls(attn: Attn, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    arrays = {f"layers.{i}.mlp": random.normal(size=(1, 30, 40)) for i in range(3)}
    files = []
    for name in ("reference", "right", "wrong", "summary"):
        if name == "wrong":
            arrays["layers.1.mlp"] = arrays["layers.1.mlp"].copy()
            arrays["layers.1.mlp"][0, 29, 38] += 0.01
        calls = tree(arrays)
        for call in calls["children"] if name == "summary" else ():
            del call["inputs"]["args"][0]["value"], call["outputs"]["value"]
        files.append(tmp_path / f"{name}.json")
        files[-1].write_text(json.dumps(calls))
    reference, right, wrong, summary = files
    assert attn("check", reference, right, "-q").out == "correct: 216 numbers\n"
    shown = attn("check", reference, wrong)
    assert shown.out.endswith("wrong: 2 of 216 numbers, first at layers.1.mlp.input\n")
    assert "at layers.1.mlp.input[1, 30, 39]" in shown.out
    assert "use_repr=False saves all numbers." in shown.out
    assert "_FULL_TENSORS.json" in attn("check", reference, summary).err


def test_trees_of_calls_with_files_beside_them(attn: Attn, tmp_path: Path) -> None:
    array = np.arange(6, dtype="f4").reshape(2, 3)
    header = json.dumps({"data": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}})
    data = len(header).to_bytes(8, "little") + header.encode() + array.tobytes()
    call = {"shape": "torch.Size([2, 3])", "dtype": "torch.float32", "value": "./x.safetensors"}
    (tmp_path / "x.safetensors").write_bytes(data)
    (tmp_path / "tree.json").write_text(json.dumps({"module_path": "Model.mlp", "outputs": call}))
    np.savez(tmp_path / "mine.npz", mlp=array)
    shown = attn("check", tmp_path / "tree.json", tmp_path / "mine.npz", "-q")
    assert (shown.out, shown.err) == ("correct: 6 numbers\n", "")


FAULTY = [
    ('{"module_path"', "this tree of calls is damaged"),
    ('{"module_path": "M", "children": ' + "[" * 100_000, "this tree of calls is damaged"),
    ("../x.safetensors", "this lies outside the folder"),
    ("none.safetensors", "there is no such file"),
    (["tensor([1.0, 2.0, 3.0, 4.0])"], "this tree of calls is damaged"),  # of three numbers
]


@pytest.mark.parametrize(("value", "said"), FAULTY)
def test_faulty_trees_are_refused(attn: Attn, tmp_path: Path, value: Any, said: str) -> None:
    call = {"shape": "torch.Size([3])", "dtype": "torch.float32", "value": value}
    is_text = str(value).startswith("{")
    text = value if is_text else json.dumps({"module_path": "Model.mlp", "outputs": call})
    (tmp_path / "tree.json").write_text(text)
    shown = attn("check", tmp_path / "tree.json", tmp_path / "tree.json")
    assert (shown.status, shown.out) == (2, "")
    assert said in shown.err


# ---- what is refused


REFUSED = [
    ({"foo": np.ones((7, 3))}, (), "no array has a name, or a shape, of one of the reference"),
    ({"output": np.array(["a"])}, (), "this holds no arrays under names"),
    ({}, ("--ask", "weights"), "--ask is of answers to a problem"),
    ({}, ("--strict",), "--strict is of answers to a problem"),
    ({}, ("-f", "html"), "-f html shows a problem, and two dumps have none"),
    ({}, ("--dtype", "float8"), "float8"),
    ({}, ("--rtol", "x"), "--rtol: x is not a number"),
]


@pytest.mark.parametrize(("changed", "flags", "said"), REFUSED)
def test_what_is_refused(
    attn: Attn, tmp_path: Path, changed: Arrays, flags: tuple[str, ...], said: str
) -> None:
    right = model("weights and output", layers=1)
    shown = check(attn, tmp_path, right, changed or right, *flags)
    assert shown.status == 2
    assert said in shown.err
    assert "Traceback" not in shown.err
