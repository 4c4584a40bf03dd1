"""What people call keys, and the form that works here for what other tools call otherwise."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

import attncli
from attncli.core.declare import declared
from attncli.core.errors import InputError
from attncli.core.numbers.other_words import HINTS, NOT_CALCULATED
from attncli.core.problem.key_values import WITHOUT_KEY, hint_for, key_of, with_keys
from attncli.core.problem.keys import KEYS
from attncli.core.problem.misfits import RECIPROCALS
from tests.conftest import Attn, cases, table

X: Any = [[1, 2], [3, 4]]


def test_words_mean_keys() -> None:
    for word, key in {**table("other_names", "keys"), **{key: key for key in KEYS}, "": ""}.items():
        assert key_of(word) == key, word


def test_every_alias_means_a_key_and_is_none() -> None:
    aliases = [alias for row in KEYS.values() for alias in row.aliases]
    assert len(set(aliases)) == len(aliases)
    assert not set(aliases) & set(KEYS)


def test_other_names_in_python() -> None:
    keys: dict[str, Any] = {"x": X, "WQ": [[1, 0], [0, 1]], "score": "dot", "K": None}
    problem = attncli.Problem(**keys)
    assert problem.given == ("X", "W_q", "score")
    with pytest.raises(InputError, match="wq and W_q are the same key"):
        attncli.Problem(**{"wq": [[1]], "W_q": [[1]]})  # type: ignore[arg-type]
    assert attncli.check(problem, {"q": [["1", "2"], ["3", "4"]]}).verdict == "correct"
    with pytest.raises(InputError, match="W_q is an input of the problem, not a step"):
        attncli.check(problem, {"wq": [["1"]]})
    trace = attncli.compute(problem, only=["q"])
    assert attncli.explain(trace, "Wq[1, 1]").value == 1
    assert attncli.render(trace, "csv", only=["q"]) == "1,2\n3,4\n"


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


def test_results_are_read_back_under_their_keys() -> None:
    assert with_keys({"sentence": "I  am", "score": "dot"}) == {
        "tokens": ["I", "am"],
        "score": "dot",
    }
    assert with_keys({"words": "I, am"}) == {"tokens": "I, am"}


@cases("other_names", "score_functions")
def test_a_score_function_by_another_name(written: str, meant: str) -> None:
    x = [[1, 2], [3, 4]]
    for score in (written, {"name": written}):
        assert attncli.Problem(X=x, score=score).score == {"name": meant}
        assert jsonschema.Draft202012Validator(attncli.schema()).is_valid({"X": x, "score": score})


def test_bahdanau_and_mse_are_understood() -> None:
    own = {"W": [[1, 0]], "U": [[0, 1]], "v": [1]}
    found = []
    for name, loss in (("Bahdanau", "MSE"), ("additive", "mean_squared_error")):
        score, gradient = {"name": name} | own, {"loss": loss, "target": [[1, 1]]}
        problem = attncli.Problem(X=[[1, 2]], score=score, gradient=gradient)
        found.append(attncli.compute(problem)["d_X"].value.tolist())
    assert found[0] == found[1]


def test_a_new_problem_of_another_word(attn: Attn) -> None:
    assert attn("new", "--score", "Bahdanau").out == attn("new", "--score", "additive").out


@cases("other_names", "queries_alone")
def test_queries_that_are_projected_alone_are_warned_of(
    given: dict[str, Any], warned: bool
) -> None:
    trace = attncli.compute(attncli.Problem(X=X, **given))
    warning = "W_k is left out, so K is made from X without a projection"
    assert [*trace.warnings] == [warning] * warned


@cases("other_names", "misfits")
def test_sizes_that_do_not_fit_are_refused_with_what_would(
    given: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError) as caught:
        attncli.Problem(**given)
    assert said in str(caught.value)


def test_a_scale_that_grows_is_no_mistake_where_scores_do_not_grow() -> None:
    for score in ("cosine", "distance"):
        attncli.Problem(X=[[1, 2]], score=score, scale="sqrt(d_k)")
    for scale in RECIPROCALS:
        attncli.Problem(X=[[1, 2]], score="dot", scale=f"1*{scale}")


def test_no_form_is_shown_for_a_key_or_an_alias() -> None:
    hints = [*(row.instead for row in KEYS.values()), WITHOUT_KEY, NOT_CALCULATED]
    hints += [one.hints for one in declared().values()]
    words = [word for row in hints for line in row.values() for word in line.split()]
    assert len(set(words)) == len(words)
    assert not {key_of(word) for word in words} & set(KEYS)


@pytest.mark.parametrize("word", HINTS)
def test_every_name_of_what_is_not_calculated(word: str) -> None:
    assert hint_for(word) == hint_for(word.upper()) == HINTS[word]
    with pytest.raises(InputError) as caught:
        attncli.Problem(X=[[1]], kind=word.replace("_", " "))
    assert f"unknown kind {word.replace('_', ' ')}\n  {HINTS[word]}" in str(caught.value)
