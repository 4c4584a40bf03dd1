"""`attn count`: operations beside loops that count, parameters of PyTorch, caches of papers."""

from __future__ import annotations

import csv
import json
import random
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.core.mechanisms.counts import COLUMNS, COUNTED, CountedArray, count
from attncli.printing.counts import lines
from attncli.printing.formats import Selection
from attncli.printing.layout import plain_text
from tests.conftest import DATA, SAMPLE_FILES, SAMPLES, Attn
from tests.oracles.counted import worked

Keys = dict[str, Any]

OPERATIONS = tuple(dict.fromkeys(COUNTED.values()))


def drawn(seed: int) -> Keys:
    """Return the keys of a random problem, in the words of `tests/oracles/counted.py`."""
    draw = random.Random(seed)

    def numbers(*shape: int) -> Any:
        if len(shape) > 1:
            return [numbers(*shape[1:]) for _ in range(shape[0])]
        return [draw.choice([-1, 1]) * round(draw.uniform(0.1, 1), 2) for _ in range(shape[0])]

    def maybe(value: Any) -> dict[str, Any]:
        return value if draw.random() < 0.5 else {}

    kind = draw.choice(["self", "self", "cross", "transformer"])
    heads, kv_heads = draw.choice([(1, 1), (2, 2), (4, 2), (3, 1)])
    n, d, d_k, d_v = (draw.randint(least, 4) for least in (1, 2, 1, 1))
    m, d_m = (draw.randint(1, 4), draw.randint(1, 4)) if kind == "cross" else (n, d)
    keys: Keys = {"kind": kind, "X": numbers(n, d), "heads": heads, "kv_heads": kv_heads}
    keys |= {"memory": numbers(m, d_m)} if kind == "cross" else {}
    keys |= {"W_q": numbers(d, heads * d_k), "W_k": numbers(d_m, kv_heads * d_k)}
    keys |= {"W_v": numbers(d_m, kv_heads * d_v)}
    keys |= {**maybe({"b_q": numbers(heads * d_k)}), **maybe({"b_v": numbers(kv_heads * d_v)})}
    keys |= {"score": draw.choice(["dot", "scaled_dot", "additive"])}
    if keys["score"] == "additive":
        hidden = draw.randint(1, 3)
        parts = {"W": numbers(hidden, d_k), "U": numbers(hidden, d_k), "v": numbers(hidden)}
        keys["parameters"] = parts
    keys |= {**maybe({"softcap": 5}), **maybe({"bias": numbers(n, m)})}
    keys |= maybe({"mask": "causal"}) if n == m else {}
    keys |= maybe({"normalize": draw.choice(["sigmoid", {"temperature": 2}])})
    keys |= {**maybe({"qk_norm": "l2"}), **maybe({"gate": {"W": numbers(d, heads * d_v)}})}
    if kind == "transformer":
        inner = draw.randint(1, 4)
        keys |= {"W_o": numbers(heads * d_v, d), "norm": draw.choice(["layer", "rms"]), "eps": 0.1}
        keys |= {"gain_1": numbers(d), "gain_2": numbers(d), "place": "pre"}
        keys |= {
            "W_1": numbers(d, inner),
            "W_2": numbers(inner, d),
            **maybe({"b_1": numbers(inner)}),
        }
        return keys | {"activation": draw.choice(["relu", "silu"])}
    return keys | maybe({"W_o": numbers(heads * d_v, d), "b_o": numbers(d)})


def problem_of(keys: Keys) -> attncli.Problem:
    parameters = keys.get("parameters")
    score = {"name": "additive", **parameters} if parameters else keys["score"]
    return attncli.Problem(
        **{k: v for k, v in keys.items() if k != "parameters"} | {"score": score}
    )


@pytest.mark.parametrize("seed", range(20))
def test_random_problems_take_the_operations_of_plain_loops(seed: int) -> None:
    """200 of them, and more, agree: `python -m benchmarks.surveys.counts`."""
    check_against_loops(drawn(seed))


def check_against_loops(keys: Keys) -> None:
    """Compare the counts of each step with those of loops that give the same output."""
    output, expected = worked(keys)
    problem = problem_of(keys)
    assert attncli.compute(problem).last.value == pytest.approx(np.array(output), abs=1e-9)
    rows = {name: of_operations(row) for name, row in count(problem).counts.items()}
    assert {name: row for name, row in rows.items() if row} == expected


def of_operations(row: Any) -> dict[str, int]:
    return {name: row[name] for name in OPERATIONS if name in row}


@pytest.mark.parametrize("path", SAMPLE_FILES, ids=lambda path: path.name)
def test_every_function_of_a_sample_is_counted_or_free(
    path: Any, monkeypatch: pytest.MonkeyPatch
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


RECORDED = DATA / "recorded" / "counts.jsonl"
"""Shapes of modules of PyTorch and transformers, with their counts: `benchmarks/counts.py`."""

NO_PRODUCTS = ("variance", "mean_square")
"""Steps of norms: sums of squares, which PyTorch does not count as FLOPs."""


@pytest.mark.parametrize("case", [*map(json.loads, RECORDED.read_text().splitlines())])
def test_modules_have_the_counts_of_pytorch(case: Any) -> None:
    keys: Keys = {**case["options"]}
    for key, shape in case["shapes"].items():
        head, _, part = key.partition(".")
        if part:
            keys[head] = {**keys.get(head, {}), part: np.ones(shape)}
        else:
            keys[head] = np.ones(shape)
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


def test_a_narrow_terminal_has_names_in_place_of_formulas() -> None:
    work = count(attncli.load(SAMPLES / "sentence.yaml"))
    wide, medium, narrow = (
        "\n".join(map(plain_text, lines(work, Selection(), width))) for width in (160, 75, 65)
    )
    assert "scores = Q Kᵀ" in wide
    assert "(2, 5, 5)" in medium
    assert "scores = Q Kᵀ" not in medium
    assert "(2, 5, 5)" not in narrow
    assert max(map(len, narrow.splitlines())) <= 65


def test_json(attn: Attn) -> None:
    result = attn("count", SAMPLES / "heads_grouped.yaml", "--bytes", "2", "-f", "json")
    record = json.loads(result.out)
    assert record["title"] == "Grouped-query attention"
    assert record["steps"]["K"] == {
        "formula": "K = X W_k",
        "shape": [2, 2, 1],
        **dict.fromkeys(COLUMNS, 0),
        **{"multiply_adds": 16, "parameters": 8, "cache_bytes": 8},
    }
    assert record["total"]["multiply_adds"] == 64
    assert record["cache"] == {
        "numbers_per_token": {"K": 2, "V": 2},
        "bytes_per_number": 2,
        "bytes_per_token": 8,
    }


def test_several_problems_in_each_format(attn: Attn, tmp_path: Any) -> None:
    files = SAMPLES / "heads_grouped.yaml", SAMPLES / "heads_list.yaml"
    two = [json.loads(line) for line in attn("count", *files, "-f", "json").out.splitlines()]
    assert [one["problem"] for one in two] == [1, 2]
    rows = [*csv.DictReader(attn("count", *files, "-f", "csv").out.splitlines())]
    for one in two:
        of_one = [row for row in rows if row["problem"] == str(one["problem"])]
        assert [row["step"] for row in of_one] == [*one["steps"]]
        for name in COLUMNS:
            assert sum(int(row[name]) for row in of_one) == one["total"][name]
    assert attn("count", *files, "-o", f"{tmp_path}/{{number}}.md").err.startswith("wrote 2 files")
    page = (tmp_path / "1.md").read_text()
    assert "| total |  | 64 | 8 | 16 | 16 | 16 | 64 |" in page
    table = attn("count", *files).out
    assert table.count("total") == 2
    assert "Grouped-query attention\n" in table


def test_only_some_steps(attn: Attn) -> None:
    sample = SAMPLES / "sentence.yaml"
    rows = attn("count", sample, "--only", "weights,scores,capped", "-f", "csv", "-q").out
    assert [row.split(",")[2] for row in rows.splitlines()[1:]] == ["scores", "capped", "weights"]
    assert "cache" not in attn("count", sample, "--only", "scores").out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--only", "wieghts"), "there is no step wieghts"),
        (("-f", "html"), "unknown format html"),
        (("--bytes", "0"), "0 is not in the range x>=1"),
        (("--set", "heads=4"), "heads = 4 does not divide the 3 columns of X"),
    ],
)
def test_what_cannot_be_counted(arguments: Any, message: str, attn: Attn) -> None:
    result = attn("count", SAMPLES / "i_am_good.yaml", *arguments)
    assert result.status == 2
    assert result.out == ""
    assert message in result.err
