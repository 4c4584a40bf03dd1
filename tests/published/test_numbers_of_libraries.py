"""Libraries and `attn` agree: their numbers are files of `benchmarks/libraries`.

torch is not needed here: modules are imitated by objects with their attributes.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.core.errors import InputError
from attncli.reading.torch_modules import READABLE
from tests.conftest import Attn
from tests.support.library_numbers import (
    BOUNDS,
    DUMPS,
    END,
    PAGE,
    START,
    TABLE,
    bound,
    differences,
    problems,
)
from tests.support.page_blocks import blocks, printed, session

TEXT = PAGE.read_text()
NAMES = [path.stem for path in problems()]


def test_every_recipe_has_a_problem_and_numbers_of_its_library() -> None:
    python = "".join(body for language, body in blocks(TEXT) if language == "python")
    assert sorted(re.findall(r'^(?:save|recipe)\("(\w+)"', python, re.MULTILINE)) == NAMES
    assert sum(path.stat().st_size for path in DUMPS.iterdir()) < 300_000


@pytest.mark.parametrize("name", NAMES)
def test_recipe_gives_the_numbers_of_its_library(name: str) -> None:
    problem = DUMPS / f"{name}.npz"
    worst = differences(problem)
    assert {"output", "attention_output", "context"} & worst.keys()
    assert max(worst.values()) <= bound(problem)
    assert bound(problem) in BOUNDS.values()


@pytest.mark.parametrize("name", NAMES)
def test_command_finds_the_numbers_of_the_library_right(name: str, attn: Attn) -> None:
    result = attn("check", DUMPS / f"{name}.npz", DUMPS / f"{name}_dump.npz", "-q")
    assert result.status == 0, result.out + result.err


SESSIONS = [body for language, body in blocks(TEXT) if language == "console"]


@pytest.mark.parametrize("block", SESSIONS, ids=lambda block: block.splitlines()[0][2:50])
def test_commands_print_what_is_shown(block: str, tmp_path: Path) -> None:
    for file in DUMPS.glob("*.npz"):
        shutil.copy(file, tmp_path)
    for command, output in session(block):
        assert printed(command, tmp_path) == output, command


def test_the_table_of_conventions_is_the_one_that_was_found_by_running() -> None:
    shown = TEXT.partition(START)[2].partition(END)[0]
    assert shown == TABLE.read_text()
    cells = [row.split(" | ") for row in shown.splitlines() if row.startswith("| ")]
    assert len(cells) == 13
    for column in cells[0][1:]:
        assert f"- **{column.strip(' |')}**:" in TEXT


class Tensor(np.ndarray[Any, Any]):
    """An array with what `from_torch` uses of a tensor."""

    def detach(self) -> Tensor:
        return self

    def cpu(self) -> Tensor:
        return self

    def chunk(self, count: int, axis: int = 0) -> list[Any]:
        return np.split(self, count, axis)


RANDOM = np.random.default_rng(9)


def tensor(*shape: int) -> Tensor:
    return RANDOM.normal(size=shape).view(Tensor)


class MultiheadAttention:
    """PyTorch's module of two heads by its attributes, with a calculation of its own."""

    def __init__(self, is_batch_first: bool = True, **others: Any) -> None:
        self.num_heads, self.batch_first, self.training = 2, is_batch_first, False
        self.in_proj_weight, self.in_proj_bias = tensor(12, 4), tensor(12)
        self.out_proj = SimpleNamespace(weight=tensor(4, 4), bias=tensor(4))
        self.q_proj_weight = self.k_proj_weight = self.v_proj_weight = None
        self.bias_k, self.add_zero_attn = None, False
        vars(self).update(others)

    def __call__(self, *inputs: Any, **arguments: Any) -> Any:
        return self.forward(*inputs, **arguments)

    def forward(
        self,
        query: Any,
        key: Any,
        value: Any,
        key_padding_mask: Any = None,
        need_weights: bool = False,
        attn_mask: Any = None,
        average_attn_weights: bool = True,
    ) -> Any:
        assert need_weights
        assert not average_attn_weights
        if not self.batch_first:
            query, key, value = (one.swapaxes(0, 1) for one in (query, key, value))
        sides = zip((query, key, value), *(np.split(one, 3) for one in self.stored), strict=True)
        made = [(x @ w.T + b).reshape(*x.shape[:2], 2, 2).swapaxes(1, 2) for x, w, b in sides]
        scores = made[0] @ made[1].swapaxes(-1, -2) / np.sqrt(2)
        for mask in (
            attn_mask,
            None if key_padding_mask is None else key_padding_mask[:, None, None],
        ):
            if mask is not None:
                of_heads = mask.reshape(-1, 2, *mask.shape[1:]) if mask.ndim == 3 else mask
                added = np.where(of_heads, -np.inf, 0) if mask.dtype == bool else of_heads
                scores = scores + added
        weights = np.exp(scores)
        weights /= weights.sum(axis=-1, keepdims=True)
        context = (weights @ made[2]).swapaxes(1, 2).reshape(query.shape)
        output = context @ self.out_proj.weight.T + self.out_proj.bias
        output = output if self.batch_first else output.swapaxes(0, 1)
        return output.view(Tensor), weights.view(Tensor)

    @property
    def stored(self) -> tuple[Any, Any]:
        return self.in_proj_weight, self.in_proj_bias


X = tensor(2, 3, 4)
MEMORY = tensor(2, 5, 4)
UPPER = np.triu(np.ones((3, 3), bool), 1).view(Tensor)
PADDING = np.array([[False] * 3, [False, False, True]]).view(Tensor)
CALLS: dict[str, tuple[tuple[Any, ...], dict[str, Any], Any]] = {
    "tokens": ((X,), {}, {}),
    "memory": ((X, MEMORY, MEMORY), {}, {}),
    "a causal mask": ((X,), {"attn_mask": UPPER}, {"causal": True}),
    "padding": ((X,), {"key_padding_mask": PADDING}, {"block": PADDING[:, None, None, :]}),
    "added to the scores": ((X,), {"attn_mask": tensor(3, 3)}, {}),
    "added in each head": ((X,), {"attn_mask": tensor(4, 3, 3)}, {}),
    "both masks": (
        (X,),
        {"attn_mask": UPPER, "key_padding_mask": PADDING},
        {"block": UPPER | PADDING[:, None, None, :]},
    ),
}


@pytest.mark.parametrize("is_batch_first", [True, False])
@pytest.mark.parametrize("name", CALLS)
def test_multihead_attention(name: str, is_batch_first: bool) -> None:
    inputs, masks, mask = CALLS[name]
    if not is_batch_first:
        inputs = tuple(one.swapaxes(0, 1) for one in inputs)
    module = MultiheadAttention(is_batch_first)
    problem = attncli.from_torch(module, *inputs, answers=True, **masks)
    assert problem.answers is not None
    assert problem.answers["output"].shape == (2, 3, 4)
    assert attncli.check(problem, problem.answers).verdict == "correct"
    assert problem.mask.keys() == mask.keys()
    for key, value in mask.items():
        np.testing.assert_array_equal(problem.mask[key], value)


def said(module: Any, *inputs: Any, **arguments: Any) -> str:
    with pytest.raises(InputError) as caught:
        attncli.from_torch(module, *inputs, **arguments)
    return str(caught.value)


def test_what_no_problem_has_is_refused() -> None:
    added = "add_bias_kv and add_zero_attn add a key that is no token, which no problem has"
    assert said(MultiheadAttention(add_zero_attn=True), X) == added
    assert said(MultiheadAttention(bias_k=tensor(1, 1, 4)), X) == added
    text = said(MultiheadAttention(), X, MEMORY, tensor(2, 5, 4))
    assert text.startswith("key and value are different tensors")


def test_a_module_in_training_is_not_called() -> None:
    module = MultiheadAttention(training=True)
    assert attncli.from_torch(module, X).answers is None
    assert "call module.eval() before" in said(module, X, answers=True)


def test_an_unknown_module_is_refused_with_those_that_are_known() -> None:
    text = said(SimpleNamespace(), X)
    assert text.startswith("from_torch cannot read the class SimpleNamespace")
    assert all(name in text for name in READABLE)


class LlamaAttention:
    """The module of transformers by its attributes: two query heads of size 2, one key head."""

    training, is_causal, scaling = False, True, 2**-0.5

    def __init__(self) -> None:
        self.config = SimpleNamespace(
            num_attention_heads=2,
            rope_parameters={"rope_theta": 100.0},
            _attn_implementation="eager",
        )
        shapes = {"q_proj": (4, 4), "k_proj": (2, 4), "v_proj": (2, 4), "o_proj": (4, 4)}
        self.parts = {
            name: SimpleNamespace(weight=tensor(*shape), bias=None)
            for name, shape in shapes.items()
        }

    def get_submodule(self, path: str) -> Any:
        return self.parts[path]

    def forward(
        self,
        hidden_states: Any,
        position_embeddings: Any,
        attention_mask: Any = None,
        **kwargs: Any,
    ) -> None:
        """Is only asked for the names of its arguments."""


def angles(start: int) -> tuple[Tensor, Tensor]:
    """Return the cosines and sines (1, 3, 2) of one pair of features."""
    t = np.arange(start, start + 3.0)[None, :, None]
    return np.cos(t).repeat(2, -1).view(Tensor), np.sin(t).repeat(2, -1).view(Tensor)


def test_a_causal_module_needs_what_its_model_gives_it() -> None:
    text = said(LlamaAttention(), X)
    assert text.startswith(
        "LlamaAttention is called with attention_mask and position_embeddings, too"
    )
    assert "a forward hook with_kwargs=True gets all that the model gives it" in text
    problem = attncli.from_torch(LlamaAttention(), X, angles(0), attention_mask=None)
    assert (problem.heads, problem.kv_heads, problem.mask) == (2, 1, {})
    assert problem.positions["rope"]["pairs"] == "halves"
    assert problem.scale == "1/sqrt(d_k)"


def test_a_module_that_leaves_the_mask_to_its_kernel_is_causal() -> None:
    module = LlamaAttention()
    module.config._attn_implementation = "sdpa"
    problem = attncli.from_torch(module, X, angles(0), None)
    assert problem.mask == {"causal": True}


def test_the_lowest_floats_of_a_mask_block_and_its_window_is_known() -> None:
    module = LlamaAttention()
    module.config.sliding_window = 2
    lowest = np.finfo(np.float32).min
    away = np.tril(np.ones((3, 3), bool), -2) | UPPER
    mask = np.where(away, lowest, 0).astype(np.float32)[None, None].view(Tensor)
    problem = attncli.from_torch(module, X, angles(0), mask)
    assert problem.mask == {"causal": True, "window": (1, 0)}
    everywhere = np.full((1, 1, 3, 3), lowest, np.float32).view(Tensor)
    problem = attncli.from_torch(module, X, angles(0), everywhere)
    assert problem.mask == {}  # one number added to all of a row changes no weight
    assert problem.bias is not None


def test_positions_that_rope_does_not_have_are_refused() -> None:
    ids = np.arange(5, 8)[None].view(Tensor)
    keys: dict[str, Any] = {"attention_mask": None, "position_ids": ids}
    problem = attncli.from_torch(LlamaAttention(), X, angles(5), **keys)
    assert problem.positions["rope"]["start"] == 5
    text = said(LlamaAttention(), X, angles(4), **keys)
    assert text.startswith("position_embeddings are not those of RoPE with base 100 from 5")


def test_scaled_angles_and_gaps_between_positions_are_read() -> None:
    module, places = LlamaAttention(), np.array([[0, 1, 7]])
    module.config.rope_parameters = {"rope_theta": 100.0, "rope_type": "linear", "factor": 4.0}
    cosines = np.cos(places[..., None] / 4).repeat(2, -1).view(Tensor)
    keys: dict[str, Any] = {"attention_mask": None, "position_ids": places.view(Tensor)}
    problem = attncli.from_torch(module, X, (cosines, cosines), **keys)
    rope = problem.positions["rope"]
    assert (rope["ids"], rope["scaling"]) == ([0, 1, 7], {"kind": "linear", "factor": 4})


def test_a_cache_with_tokens_is_refused() -> None:
    cache = SimpleNamespace(get_seq_length=lambda: 2)
    text = said(LlamaAttention(), X, angles(0), attention_mask=None, past_key_values=cache)
    assert "call the model on all tokens, with use_cache=False" in text
