"""`attn count`: operations beside loops that count, parameters of PyTorch, caches of papers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.core.calculation.counts import COUNTED, CountedArray, count
from attncli.printing.counts import page
from attncli.printing.layout import plain_text
from attncli.printing.prose import pages
from attncli.printing.selection import Selection
from tests.conftest import SAMPLE_FILES, SAMPLES
from tests.mechanisms.table import Keys, as_lists, problem_of, recorded, rows
from tests.oracles.counted import worked

OPERATIONS = tuple(dict.fromkeys(COUNTED.values()))


@rows("mechanisms", "counted")
def test_operations_are_those_of_plain_loops(row: Keys) -> None:
    """Of each step, counted by loops that give the same output."""
    keys: Keys = {"kind": "self", "heads": 1, "kv_heads": 1} | as_lists(problem_of(row))
    result, expected = worked(keys)
    given = {key: part for key, part in keys.items() if key != "parameters"}
    given |= {"score": {"name": keys["score"], **keys.get("parameters", {})}}
    problem = attncli.Problem(**given)
    assert attncli.compute(problem).last.value == pytest.approx(np.array(result), abs=1e-9)
    rows = {
        name: {word: row[word] for word in OPERATIONS if word in row}
        for name, row in count(problem).counts.items()
    }
    assert {name: row for name, row in rows.items() if row} == expected


@pytest.mark.parametrize("path", SAMPLE_FILES, ids=lambda path: path.name)
def test_every_function_of_a_sample_is_counted_or_free(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that no operation of tomorrow is left out in silence."""
    seen: set[Any] = set()
    called = CountedArray.called

    def noted(self: CountedArray, function: Any, args: Any, options: Any) -> Any:
        seen.add(function)
        return called(self, function, args, options)

    monkeypatch.setattr(CountedArray, "called", noted)
    for problem in attncli.load_all(path):
        work = count(problem)
        trace = attncli.compute(problem)
        assert [*work.counts] == [step.name for step in trace]
        formulas = [step.formula for step in trace if step.plain != "next"]  # which has a word
        assert [s.formula for s in work.trace if s.plain != "next"] == formulas
    assert {function.__name__ for function in seen - COUNTED.keys()} <= FREE


FREE = {
    *("any", "arange", "bitwise_and", "broadcast_to", "concatenate", "equal", "getitem", "greater"),
    *("max", "maximum", "moveaxis", "negative", "not_equal", "repeat", "reshape", "sort", "stack"),
    *("swapaxes", "take_along_axis", "where"),
}
"""Functions that choose, compare, change signs or move numbers."""


def ones(**shapes: Any) -> Keys:
    """Return the keys of a problem with matrices of ones, of these shapes."""
    return {key: np.ones(shape, np.float16) for key, shape in shapes.items()}


NO_PRODUCTS = ("variance", "mean_square")
"""Steps of norms: sums of squares, which PyTorch does not count as FLOPs."""


@pytest.mark.parametrize("number", range(len(recorded("counts"))))
def test_modules_have_the_counts_of_pytorch(number: int) -> None:
    """Of modules of PyTorch and transformers, recorded by `benchmarks/libraries/counts.py`."""
    case = recorded("counts")[number]
    keys = problem_of({"keys": case["options"], "shapes": case["shapes"]})
    if "layers" in case:
        keys["layers"] = [ones(**layer) for layer in case["layers"]]
        keys["embedding"] |= {"vocabulary": [*map(str, range(11))]}
        keys["tokens"] = ["0"] * 5
    if "positions.P" in case["shapes"]:
        keys["positions"] |= {"name": "learned"}
    work = count(attncli.Problem(**keys), number_bytes=2)
    total = work.total([s for s in work.trace if not s.stem.startswith(NO_PRODUCTS)])
    assert work.total()["parameters"] == case["parameters"]
    assert 2 * total["multiply_adds"] == case["flops"]
    if "with_backward" in case:
        both = count(attncli.Problem(**keys, gradient="sum"))
        total = both.total([step for step in both.trace if step.name != "delta"])
        assert 2 * total["multiply_adds"] == case["with_backward"]
    assert work.total()["cache_bytes"] == case.get("cache_bytes", work.total()["cache_bytes"])


def attention_of(heads: int, kv_heads: int, size: int) -> Keys:
    """Return the keys of attention with one feature per token, so that it is small."""
    kv, q = (1, kv_heads * size), (1, heads * size)
    return ones(W_q=q, W_k=kv, W_v=kv, W_o=q[::-1]) | {"heads": heads, "kv_heads": kv_heads}


@pytest.mark.parametrize(
    ("heads", "kv_heads", "size", "layers", "per_token"),
    [
        # Llama 3 8B: 32 layers of 8 heads of keys with 128 features, in bfloat16.
        (32, 8, 128, 32, 131_072),
        # Llama 2 7B has as many heads of keys as of queries.
        (32, 32, 128, 32, 524_288),
        # DeepSeek-V2, table 1: MHA 2·n_h·d_h·l, GQA 2·n_g·d_h·l and MQA 2·d_h·l numbers.
        (8, 8, 16, 3, 2 * (2 * 8 * 16 * 3)),
        (8, 2, 16, 3, 2 * (2 * 2 * 16 * 3)),
        (8, 1, 16, 3, 2 * (2 * 16 * 3)),
    ],
)
def test_caches_are_those_of_papers(
    heads: int, kv_heads: int, size: int, layers: int, per_token: int
) -> None:
    layer = attention_of(heads, kv_heads, size)
    keys: Keys = {"kind": "transformer", "X": np.ones((3, 1)), "layers": [layer] * layers}
    work = count(attncli.Problem(**keys), number_bytes=2)
    assert work.bytes_per_token == per_token
    assert work.total()["cache_bytes"] == 3 * per_token


@pytest.mark.parametrize("form", ["naive", "absorbed"])
def test_the_cache_of_latent_attention_is_that_of_the_paper(form: str) -> None:
    """DeepSeek-V2, table 1: d_c + d_r = 9/2 d_h per layer, as d_c = 4 d_h and d_r = d_h / 2."""
    size, heads = 128, 2
    shapes = {"X": (3, 1), "W_dkv": (1, 4 * size), "W_q": (1, heads * size)}
    shapes |= {"W_uk": (4 * size, heads * size), "W_uv": (4 * size, heads * size)}
    shapes |= {"W_qr": (1, heads * size // 2), "W_kr": (1, size // 2)}
    keys = ones(**shapes) | {"kind": "latent", "heads": heads, "form": form, "positions": "rope"}
    assert count(attncli.Problem(**keys)).per_token.total() == 9 * size // 2 == 512 + 64


@pytest.mark.parametrize("kind", ["self", "decode"])
def test_a_cache_has_earlier_tokens_and_new_ones(kind: str) -> None:
    past = {"K": [[1, 2], [3, 4]], "V": [[1, 2, 0], [3, 4, 0]]}
    problem = attncli.Problem(kind=kind, X=[[1, 2]] * 3, W_v=[[1, 2, 3], [0, 1, 0]], past=past)
    work = count(problem)
    assert work.bytes_per_token == (2 + 3) * 8
    assert work.total()["cache_bytes"] == 5 * (2 + 3) * 8


@pytest.mark.parametrize("sample", ["pooling_words", "co_attention", "recurrent"])
def test_other_kinds_have_no_cache(sample: str) -> None:
    work = count(attncli.load(SAMPLES / f"{sample}.yaml"))
    assert (work.total()["cache_bytes"], work.per_token) == (0, {})


def test_a_table_that_is_used_twice_is_counted_once() -> None:
    work = count(attncli.load(SAMPLES / "next_word.yaml"))
    assert work.counts["X"]["parameters"] == 16  # and none in `logits`, which has the same table
    assert "parameters" not in work.counts["logits"]


def test_large_problems_are_counted_without_numbers() -> None:
    """Of 100,000 tokens, the scores alone would take 80 GB, and a mask ten as truths."""
    work = count(attncli.Problem(X=np.ones((100_000, 2)), mask="causal"))
    assert work.trace["masked"].value.shape == (100_000, 100_000)
    assert work.counts["scores"]["multiply_adds"] == 2 * 10**10
    assert work.counts["exp"]["exponentials"] == 10**10


def printed(problem: attncli.Problem, width: int, full: bool = False) -> str:
    groups = pages(page, [count(problem)], Selection(full=full), width)
    return "\n".join(plain_text(line) for group in groups for line in group)


def test_a_narrow_terminal_has_names_in_place_of_formulas() -> None:
    problem = attncli.load(SAMPLES / "sentence.yaml")
    wide, medium, narrow = (printed(problem, width, full=True) for width in (160, 75, 65))
    assert "scores = Q Kᵀ" in wide
    assert "(2, 5, 5)" in medium
    assert "scores = Q Kᵀ" not in medium
    assert "(2, 5, 5)" not in narrow
    assert max(map(len, narrow.splitlines())) <= 65


def test_a_table_that_is_not_whole_has_three_columns_and_layers_together() -> None:
    """The third layer of four is another; equal ones that do not follow each other stay apart."""
    one, other = attention_of(2, 1, 4), attention_of(2, 2, 4)
    keys: Keys = {"kind": "transformer", "X": np.ones((3, 1)), "layers": [one, one, other, one]}
    text = printed(attncli.Problem(**keys), 200)
    assert max(map(len, text.splitlines()[:-2])) <= 80
    assert [line for line in text.splitlines() if "layers " in line] == ["layers 1 to 2"]
    assert re.findall(r"(\S*Q) .* ([\d,]+) +[\d,]+$", text, re.MULTILINE) == [
        ("Q", "48"),
        ("layers.3.Q", "24"),
        ("layers.4.Q", "24"),
    ]
    assert "+ −" not in text
    alike = printed(attncli.Problem(**keys | {"layers": [one, one]}), 200)
    assert alike.splitlines()[1] == "layers 1 to 2"
    assert "exp" in printed(attncli.Problem(**keys), 200, full=True)
