"""`attn count` of shapes: a model's config.json, shapes in place of matrices, headers of files."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.core.calculation.counts import count
from attncli.mechanisms.transformer.model_config import problem_of
from attncli.reading.load import Overrides, load_all
from tests.conftest import Attn, table
from tests.mechanisms.table import Keys
from tests.reading.forms import safetensors


def model(path: Path, config: Keys, length: int = 1) -> attncli.Problem:
    path.write_text(json.dumps(config))
    (problem,) = load_all(path, Overrides(length=length))
    return problem


@pytest.mark.parametrize("case", table("model_configs", "models"), ids=lambda case: case["name"])
def test_models_have_the_published_parameters_and_caches(case: Keys, tmp_path: Path) -> None:
    work = count(model(tmp_path / "config.json", case["config"]))
    assert work.total()["parameters"] == int(case["parameters"])
    assert work.bytes_per_token == work.total()["cache_bytes"] == int(case["bytes"])


def filled(value: Any) -> Any:
    """Return keys with random numbers in place of shapes."""
    if isinstance(value, dict):
        return {key: filled(part) for key, part in value.items()}
    if isinstance(value, list):
        return [*map(filled, value)]
    sizes = re.fullmatch(r"shape\((.*)\)", str(value))
    if sizes is None:
        return value
    return np.random.default_rng(1).normal(size=[*map(int, sizes[1].split(","))])


@pytest.mark.parametrize("config", table("model_configs", "small"), ids=lambda c: c["model_type"])
def test_shapes_are_counted_as_arrays_are(config: Keys, tmp_path: Path) -> None:
    """Of small models, whose arrays are calculated, too; the counts are those of `attn count`."""
    shapes = count(model(tmp_path / "config.json", config, length=3))
    arrays = attncli.Problem(**filled(problem_of(config, 3)))
    assert count(arrays, number_bytes=2).counts == shapes.counts
    assert [step.name for step in attncli.compute(arrays)] == [*shapes.counts]


@pytest.mark.parametrize("case", table("model_configs", "refused"), ids=lambda case: case["says"])
def test_other_configs_are_refused_in_a_sentence(case: Keys, tmp_path: Path) -> None:
    with pytest.raises(attncli.InputError) as error:
        model(tmp_path / "config.json", {**case["of"], **case["with"]})
    assert case["says"] in str(error.value)
    assert all(fault.place for fault in error.value.faults)


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"X": "shape(3, 0)"}, "the sizes of X must be whole numbers of at least 1"),
        ({"X": "shape(n, d)"}, "the sizes of X must be whole numbers"),
        ({"X": "shape(9999999999, 9999999999)"}, "X has more than"),
        ({"X": f"shape({'1, ' * 99})"}, "X has 99 axes; 4 is the most"),
        ({"X": "shape(3, 2)", "bias": "shape(3, 3)"}, "bias cannot be a shape"),
        ({"X": "shape(3, 2)", "W_q": [[1], [2], [3]]}, "W_q has 3 rows, but X has 2 columns"),
        ({"X": "shape(10000000, 10000000)", "heads": 10000000}, "a step has more than"),
    ],
)
def test_shapes_that_cannot_be_counted_are_refused(keys: Keys, says: str) -> None:
    with pytest.raises(attncli.InputError, match=re.escape(says)):
        count(attncli.Problem(**keys))


def test_only_count_takes_shapes(attn: Attn, tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    path.write_text("X: shape(8192, 4096)\nW_q: shape(4096, 128)\nW_k: shape(4096, 128)\n")
    assert "274,877,906,944" in attn("count", path).out  # the product with V
    for command in (["compute"], ["explain"], ["vary", "-n", "2"], ["worksheet", "-f", "yaml"]):
        path.write_text("X: shape(3, 4)\n")
        refused = attn(*command, path, *["output"] * (command == ["explain"]))
        assert (refused.status, refused.out) == (2, "")
        assert refused.err.startswith(f"{path}:1:1: X is a shape without numbers")


def test_a_length_is_of_a_model(attn: Attn, tmp_path: Path) -> None:
    path = tmp_path / "problem.yaml"
    path.write_text("X: shape(3, 4)\n")
    refused = attn("count", path, "--length", "3")
    assert refused.status == 2
    assert "--length is for the config.json of a model" in refused.err


def test_the_formula_of_many_tokens_is_short(attn: Attn, tmp_path: Path) -> None:
    sizes = ("hidden_size", "intermediate_size", "num_hidden_layers")
    more = {"model_type": "llama", "vocab_size": 9, "num_attention_heads": 1}
    path = tmp_path / "config.json"
    path.write_text(json.dumps(more | dict.fromkeys(sizes, 2)))
    out = attn("count", path, "--length", "300", "-f", "json").out
    formula = json.loads(out)["steps"]["X"]["formula"]
    assert formula == f"X = rows {'1, ' * 10}…, 1 of embedding"


def test_the_numbers_of_large_arrays_are_not_read(attn: Attn, tmp_path: Path) -> None:
    """They are nan, which would be refused; those of a mask are read, as they block cells."""
    nan: Any = np.full((200, 100), np.nan, np.float32)
    np.savez(tmp_path / "all.npz", X=nan, W_q=nan.T, W_k=nan.T, mask=np.tri(200), heads=2)
    for name, array in {"X": nan, "W_q": nan.T, "W_k": nan.T, "mask": np.tri(200)}.items():
        np.save(tmp_path / f"{name}.npy", array)
    each = tmp_path / "each.yaml"
    each.write_text("X: X.npy\nW_q: W_q.npy\nW_k: W_k.npy\nmask: mask.npy\nheads: 2\n")
    tensors = tmp_path / "all.safetensors"
    tensors.write_bytes(
        safetensors(X=nan, W_q=nan.T, W_k=nan.T, mask=np.tri(200), heads=np.array(2))
    )
    one, *others = (
        json.loads(attn("count", path, "-f", "json").out)
        for path in (tmp_path / "all.npz", tensors, each)
    )
    assert others == [one, one]
    assert one["total"]["parameters"] == 2 * 100 * 200
    assert one["cache"]["bytes_per_number"] == 4
    assert "masked" in one["steps"]
    assert "nan" in attn("compute", each).err
