"""What people call keys, and the form that works here for what other tools call otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

import attncli
from attncli.core.errors import InputError
from attncli.core.numbers.other_words import HINTS, NOT_CALCULATED
from attncli.core.problem.key_values import WITHOUT_KEY, hint_for, key_of, with_keys
from attncli.core.problem.keys import KEYS
from attncli.core.problem.misfits import RECIPROCALS
from attncli.core.text.strings import near_words
from attncli.reading.load import Overrides, load_all
from tests.conftest import Attn, cases, table

X = "X: [[1, 2], [3, 4]]\n"


def refused(text: str, folder: Path, suffix: str = ".yaml") -> str:
    path = folder / f"p{suffix}"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        attncli.load(path)
    return str(caught.value).replace(f"{folder}/", "")


MEANT = [
    *((word, "W_q") for word in ("Wq", "WQ", "W^Q", "wq", "W_Q", "W_{q}", "W^{Q}", "w_q", "W_q")),
    *((f"W{side}", f"W_{side}") for side in "qkvo"),
    *((f"B{side.upper()}", f"b_{side}") for side in "qkvo"),
    *(("x", "X"), ("q", "Q"), ("k", "K"), ("v", "V"), ("n_heads", "heads")),
    *(("num_heads", "heads"), ("num_kv_heads", "kv_heads"), ("words", "tokens")),
    *((key, key) for key in KEYS),
    *((word, "d_V") for word in ("dL/dV", "∂L/∂V", "dJ/dV", "dLoss/d_V", "grad V", "∇V", "d_V")),
    *(("dL/dWv", "d_W_v"), ("grad_b_q", "d_b_q"), ("dL/dscores", "d_scores")),
    *((word, word) for word in ("w", "W_x", "weights", "a", "Wqk", "", "gradient", "dV", "∇")),
]
"""Words, and the keys that they mean."""


def test_key_of() -> None:
    for word, key in MEANT:
        assert key_of(word) == key, word


def test_every_alias_means_a_key_and_is_none() -> None:
    aliases = [alias for row in KEYS.values() for alias in row.aliases]
    assert len(set(aliases)) == len(aliases)
    assert not set(aliases) & set(KEYS)


TEXTS = table("other_names", "TEXTS")


@pytest.mark.parametrize("suffix", TEXTS)
def test_aliases_in_files(suffix: str, tmp_path: Path) -> None:
    keys: dict[str, Any] = {
        "X": [[1, 2], [3, 4]],
        "tokens": ["Hello,", "you"],
        "W_q": [[1, 0], [0, 2]],
        "W_k": [[1], [0]],
        "W_v": [[1], [0]],
        "b_v": [1],
        "heads": 2,
        "kv_heads": 1,
    }
    path = tmp_path / f"p{suffix}"
    path.write_text(TEXTS[suffix])
    found, right = attncli.load(path), attncli.Problem(**keys)
    assert found.tokens == right.tokens
    assert found.options() == right.options()
    np.testing.assert_array_equal(attncli.compute(found).output, attncli.compute(right).output)


def test_aliases_in_python() -> None:
    keys: dict[str, Any] = {"x": [[1, 2], [3, 4]], "WQ": [[1], [0]], "wk": [[1], [0]], "X": None}
    assert attncli.Problem(**keys).given == ("X", "W_q", "W_k")
    with pytest.raises(InputError, match="wq and W_q are the same key"):
        attncli.Problem(**{"wq": [[1]], "W_q": [[1]]})  # type: ignore[arg-type]


def test_aliases_on_the_command_line(tmp_path: Path, attn: Attn) -> None:
    (tmp_path / "p.yaml").write_text("X: [[1, 2], [3, 4]]\nWq: [[1, 0], [0, 1]]\n")
    (tmp_path / "w.csv").write_text("2,0\n0,2\n")
    shown = ["compute", "p.yaml", "-m", "W^Q=w.csv", "--only", "q", "-f", "csv"]
    assert attn(*shown, cwd=tmp_path).out == "2,4\n6,8\n"
    twice = attn("compute", "p.yaml", "-m", "Wq=w.csv", "-m", "W_q=w.csv", cwd=tmp_path)
    assert (twice.status, twice.err) == (2, "W_q is set twice\n  leave one of them out\n")
    unknown = attn("compute", "p.yaml", "--only", "wk", cwd=tmp_path)
    assert "there is no step W_k in this calculation" in unknown.err
    for name in ("Wq[1, 2]", "W^Q[1,2]", "W_q[1, 2]"):
        assert "W_q[1, 2] = 0 (given)" in attn("explain", "p.yaml", name, cwd=tmp_path).out
    assert "Q[2, 1]" in attn("explain", "p.yaml", "q[2, 1]", cwd=tmp_path).out
    trace = attncli.compute(attncli.load(tmp_path / "p.yaml"), only=["q"])
    assert attncli.explain(trace, "Wq[1, 1]").value == 1
    assert attncli.render(trace, "csv", only=["q"]) == "1,2\n3,4\n"


def test_aliases_in_answers(tmp_path: Path) -> None:
    problem = attncli.Problem(X=[[1, 2], [3, 4]], W_q=[[1, 0], [0, 1]], score="dot")
    assert attncli.check(problem, {"q": [["1", "2"], ["3", "4"]]}).verdict == "correct"
    with pytest.raises(InputError, match="W_q is an input of the problem, not a step"):
        attncli.check(problem, {"wq": [["1"]]})


GRADIENT = "X: [[1, 3], [1, 1]]\nW_v: [[1, 0], [2, 1]]\nscore: dot\ngradient: sum\n"


def test_derivatives_as_textbooks_write_them(tmp_path: Path, attn: Attn) -> None:
    (tmp_path / "p.yaml").write_text(GRADIENT)
    for written, name in (("dL/dV", "d_V"), ("∂L/∂W_v", "d_W_v"), ("dL/dWv", "d_W_v")):
        shown, right = (
            attn("compute", "p.yaml", "--only", word, "-f", "csv", cwd=tmp_path).out
            for word in (written, name)
        )
        assert shown == right
        explained = attn("explain", "p.yaml", f"{written}[1, 2]", cwd=tmp_path).out
        assert explained.startswith(f"{name} = ")
        (tmp_path / "a.yaml").write_text(
            f"{written}: [{', '.join(f'[{row}]' for row in right.split())}]\n"
        )
        asked = ["--ask", written]
        assert "correct: 4 numbers" in attn("check", "p.yaml", "a.yaml", *asked, cwd=tmp_path).out


@pytest.mark.parametrize("key", ["K^T", "K_T", "KT", "Kᵀ", "K.T", "K^{T}"])
def test_keys_that_are_given_transposed(key: str) -> None:
    for columns in (2, 3):  # where a matrix is square, its shape does not tell
        problem = attncli.Problem(X=[[1, 3, 2][:columns], [1, 1, 4][:columns]], score="dot")
        turned = [[1, 1], [3, 1], [2, 4]][:columns]
        right = [[*map(str, row)] for row in turned]
        assert attncli.check(problem, {key: right}).verdict == "correct"
        assert attncli.check(problem, {key: right[:1] * columns}).verdict == "wrong"
        as_keys = [[*map(str, row)] for row in zip(*turned, strict=True)]
        assert attncli.check(problem, {key: as_keys}).verdict == "wrong"
        assert attncli.check(problem, {f"{key}[2, 1]": "3", "QK^T": None}).verdict == "correct"


def test_only_a_capital_letter_is_transposed_by_a_t() -> None:
    problem = attncli.Problem(X=[[1, 3], [1, 1]], score="dot", tokens=["S", "T"])
    assert attncli.check(problem, {"z_T": ["1", "2.76"]}).verdict == "correct"
    with pytest.raises(InputError, match="there is no query T"):
        attncli.check(attncli.Problem(X=[[1, 3], [1, 1]]), {"z_T": [["1", "1"], ["1", "1"]]})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{X}x: [[1, 2]]\n", "p.yaml:2:1: X and x are the same key"),
        (f"{X}Wq: [[1]]\nscore: dot\nW_Q: [[1]]\n", "p.yaml:4:1: Wq and W_Q are the same key"),
        (f"{X}tokens: [a, b]\nwords: [a, b]\n", "p.yaml:3:1: tokens and words are the same key"),
    ],
)
def test_a_key_under_two_names(text: str, said: str, tmp_path: Path) -> None:
    message = refused(text, tmp_path)
    assert message.startswith(said)
    assert "is at p.yaml:" in message
    assert "leave one of them out" in message


def test_a_fault_points_at_the_name_that_was_written(tmp_path: Path) -> None:
    assert refused(f"{X}Wq: [[1, z], [0, 1]]\n", tmp_path).startswith(
        "p.yaml:2:10: row 1, column 2 of W_q: z is not a number"
    )
    assert refused("x\n1,0\n0,1\nWq\n1,z\n", tmp_path, ".csv").startswith("p.csv:5:3: row 1, col")


def test_results_are_read_back_under_their_keys() -> None:
    assert with_keys({"sentence": "I  am", "score": "dot"}) == {
        "tokens": ["I", "am"],
        "score": "dot",
    }
    assert with_keys({"words": "I, am"}) == {"tokens": "I, am"}


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        *((f"{key}: true", "write mask: causal") for key in ("causal", "is_causal", "IS_CAUSAL")),
        ("temperature: 2", "write normalize: {name: softmax, temperature: 2}"),
        *((f"{key}: [[1]]", "write mask: a 0/1 matrix") for key in ("attention_mask", "attn_mask")),
        *((f"{key}: 2", "leave it out, sizes follow") for key in ("dk", "d_k", "d_model", "n")),
        ("embeddings: [[1]]", "write X: the input, one token per row"),
        ("softmax: true", "write normalize: softmax, which is the default"),
        ("query: [[1]]", "write Q: the queries, or W_q"),
        ("dropout: 0.1", "leave it out; nothing is dropped here"),
        *((f"{key}: [[1]]", "write kind: cross, X: the decoder's states") for key in "sh"),
        *(
            (f"{key}: [[1]]", "write score: {name: additive, W: …, U: …, v: …}")
            for key in ("W_a", "U_a", "v_a")
        ),
        ("score: {name: bahdanau, W_a: [[1]]}", "did you mean W?"),
        ("score: bahdanau", "write score: {name: additive, W: …, U: …, v: …}; W is hidden × d_q"),
        ("score: Luong", "Luong et al. have three: write dot, general or concat"),
        ("kind: seq2seq", "write kind: cross, X: the decoder's states (queries), memory: the enc"),
        ("kind: Seq2Seq attention", "write kind: cross, X: the decoder's states"),
        ("gradient: mse", "the loss mean_squared_error needs target"),
        ("mask: [[0, -inf], [0, 0]]", "write it under bias, or with 1 for 0 (may attend) and 0"),
        ("mask: [[0, -1e9], [0, 0]]", "write it under bias"),
        ("mask: {keep: [[0, -inf], [0, 0]]}", "mask.keep is added to the scores"),
        ("mask: true", "use causal or a 0/1 matrix"),
        ("scale: sqrt(d_k)", "write scale: 1/sqrt(d_k); to multiply all the same, write 1*"),
        ("scale: √d_k", "write scale: 1/sqrt(d_k)"),
        ("scale: none", "scale: none is not a number"),
        ("scale: None", "write scale: 1"),
        ("scale: dk", "did you mean d_k?"),
    ],
)  # fmt: skip
def test_the_form_that_works_here(line: str, hint: str, tmp_path: Path) -> None:
    message = refused(f"{X}{line}\n", tmp_path)
    assert message.startswith("p.yaml:2:")
    assert hint in message


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        *((word, "dot") for word in ("dot product", "dot-product", "Dot Product Attention")),
        *((word, "scaled_dot") for word in ("scaled dot product", "Scaled Dot-Product Attention")),
    ],
)
def test_a_score_function_by_another_name(written: str, meant: str) -> None:
    x = [[1, 2], [3, 4]]
    for score in (written, {"name": written}):
        assert attncli.Problem(X=x, score=score).score == {"name": meant}
        assert jsonschema.Draft202012Validator(attncli.schema()).is_valid({"X": x, "score": score})


def test_bahdanau_and_mse_are_understood() -> None:
    own = {"W": [[1, 0]], "U": [[0, 1]], "v": [1]}
    named = [{"name": name} | own for name in ("Bahdanau", "additive")]
    losses = [{"loss": loss, "target": [[1, 1]]} for loss in ("MSE", "mean_squared_error")]
    outputs = [
        attncli.compute(attncli.Problem(X=[[1, 2]], score=score, gradient=loss))[
            "d_X"
        ].value.tolist()
        for score, loss in zip(named, losses, strict=True)
    ]
    assert outputs[0] == outputs[1]


def test_a_new_problem_of_another_word(attn: Attn) -> None:
    for word, name in (("Bahdanau", "additive"), ("dot product", "dot")):
        assert attn("new", "--score", word).out == attn("new", "--score", name).out
    said = attn("new", "--score", "mse").err
    assert said.startswith("--score: unknown score mse\n  known: dot, scaled_dot")


def test_the_nearest_keys_are_shown(tmp_path: Path) -> None:
    message = refused(f"{X}aaa: 1\nscroe: dot\nbbb: 2\nzzz: 3\nhaeds: 2\n", tmp_path)
    assert [line.split(": ")[1] for line in message.split("\n") if line.startswith("p.")] == [
        *("unknown key aaa", "unknown key scroe", "unknown key bbb", "unknown key zzz"),
        "unknown key haeds",
    ]
    lists = [line for line in message.split("\n") if line.startswith("  known: ")]
    assert max(line.count(", ") for line in lists) <= 4
    assert len(lists) == 3
    assert all("attn schema" in line for line in lists)
    assert "did you mean score?" in message
    assert "did you mean heads?" in message
    parts = refused(f"{X}score: {{name: concat, Wq: [[1]], vq: [1], zzz: 1}}\n", tmp_path)
    assert [parts.count(f"unknown key {key} in score") for key in ("Wq", "vq", "zzz")] == [1, 1, 1]
    assert parts.count("known: name, W") == 1


WITHOUT_W_K = "W_k is left out, so K is made from X without a projection"


@pytest.mark.parametrize(
    ("given", "warned"),
    [
        ({"W_q": [[1, 2], [0, 1]]}, [WITHOUT_W_K]),
        ({"W_q": [[1, 2], [0, 1]], "W_v": [[1], [1]], "b_k": [1, 1]}, [WITHOUT_W_K]),
        ({"W_q": [[1, 2], [0, 1]], "W_k": [[1, 0], [0, 1]]}, []),
        ({"W_q": [[1, 2], [0, 1]], "K": [[1, 0], [0, 1]]}, []),
        ({"W_k": [[1, 2], [0, 1]]}, []),
        ({"W_v": [[1], [1]]}, []),
    ],
)
def test_queries_that_are_projected_alone(given: dict[str, Any], warned: list[str]) -> None:
    trace = attncli.compute(attncli.Problem(X=[[1, 2], [3, 4]], **given))
    assert list(trace.warnings) == warned


@cases("other_names", "sizes_that_a_left_out_projection_does_not_fit")
def test_sizes_that_a_left_out_projection_does_not_fit(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as caught:
        attncli.Problem(X=[[1, 2], [3, 4]], **given)
    assert said in str(caught.value)


def test_a_scale_that_grows_is_no_mistake_where_scores_do_not_grow(tmp_path: Path) -> None:
    for score in ("cosine", "distance"):
        attncli.Problem(X=[[1, 2]], score=score, scale="sqrt(d_k)")
    for scale in RECIPROCALS:
        attncli.Problem(X=[[1, 2]], score="dot", scale=f"1*{scale}")


def test_no_form_is_shown_for_a_key_or_an_alias() -> None:
    hints = [*(row.instead for row in KEYS.values()), WITHOUT_KEY, NOT_CALCULATED]
    words = [word for row in hints for line in row.values() for word in line.split()]
    assert len(set(words)) == len(words)
    assert not {key_of(word) for word in words} & set(KEYS)


@cases("other_names", "not_calculated")
def test_what_is_not_calculated_is_told_by_its_name(text: str, said: str, tmp_path: Path) -> None:
    assert said in refused(f"{X}{text}\n", tmp_path)


@pytest.mark.parametrize("word", HINTS)
def test_every_name_of_what_is_not_calculated(word: str) -> None:
    assert hint_for(word) == hint_for(word.upper()) == HINTS[word]
    with pytest.raises(InputError) as caught:
        attncli.Problem(X=[[1]], kind=word.replace("_", " "))
    assert f"unknown kind {word.replace('_', ' ')}\n  {HINTS[word]}" in str(caught.value)


@pytest.mark.parametrize(
    ("word", "near"), [("dk", ""), ("maks", "mask"), ("W_g", "W_q"), ("zz", "")]
)
def test_suggestions_are_not_far_fetched(word: str, near: str) -> None:
    assert near_words(word, ["K", "mask", "W_q", "softcap"]) == ([near] if near else [])


def test_a_misspelt_key_is_still_told() -> None:
    assert hint_for("haeds") == "did you mean heads?"


OUT_IN = "is it stored (out, in)? write weights_as: out_in"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"W_q": [[1, 2, 3], [4, 5, 6]]}, f"W_q is (2, 3); its transpose would fit: {OUT_IN}"),
        ({"W_v": [[1, 2, 3]]}, f"W_v is (1, 3); its transpose would fit: {OUT_IN}"),
        (
            {"W_v": [[1, 2], [0, 1], [0, 1]], "W_o": [[1, 2], [3, 4], [5, 6]]},
            f"W_o is (3, 2); its transpose would fit: {OUT_IN}",
        ),
        ({"W_q": [[[1, 2, 3]], [[1, 2, 3]]], "heads": 2}, OUT_IN),
        ({"W_q": [[1, 2], [3, 4]]}, "W_q is (2, 2); (3, 2) would fit"),
        (
            {"W_q": [[1], [2], [3]], "tokens_as": "columns", "X": [[1, 2], [3, 4], [5, 6]]},
            "W_q is (3, 1); its transpose would fit: is it stored (in, out)?",
        ),
    ],
)
def test_a_weight_that_would_fit_transposed(more: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as caught:
        attncli.Problem(**({"X": [[1, 2, 3], [4, 5, 6]]} | more))
    assert said in str(caught.value)


def test_a_file_under_another_name(tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_text("1,0\n0,z\n")
    assert refused(f"{X}Wq: w.csv\n", tmp_path).startswith("w.csv:2:3: row 2, column 2 of W_q: z")
    said = refused(f"{X}Wq: v.csv\n", tmp_path)
    assert said.startswith("p.yaml:2:1: W_q: v.csv: there is no such file")


def test_a_flag_replaces_a_matrix_whatever_its_name(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(f"{X}WQ: [[9, 9], [9, 9]]\n")
    (tmp_path / "w.csv").write_text("1,0\n0,1\n")
    matrices = {"Wq": str(tmp_path / "w.csv")}
    (problem,) = load_all(tmp_path / "p.yaml", Overrides(matrices=matrices))
    assert problem.W_q is not None
    np.testing.assert_array_equal(problem.W_q, np.eye(2))
