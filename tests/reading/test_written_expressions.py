"""Expressions of numbers: their values, how they are shown, and names in them."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction

import mpmath
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from attncli.core.formulas.text import text as shown_text
from attncli.core.formulas.tree import (
    Call,
    Formula,
    Minus,
    Name,
    Number,
    Plus,
    Power,
    Root,
    Times,
    named,
)
from attncli.core.formulas.tree import Fraction as Quotient
from attncli.core.numbers.parser import NumberError, parse
from attncli.core.numbers.written import NumberAsWritten, evaluate, value_of
from tests.conftest import cases
from tests.reading.forms import is_harmless

QUICK = settings(max_examples=80)
SIZES = ("d_k", "d_v", "d_model", "n", "m")


def test_names_are_known_only_where_they_are_given() -> None:
    tree = parse("1/sqrt(d_k) + n*m", SIZES)
    assert evaluate(tree, {"d_k": 4, "n": 2, "m": 3}) == 6.5
    assert shown_text(tree) == "1/√d_k + n·m"
    with pytest.raises(NumberError, match=r"^d_k is not a number$"):
        parse("d_k")
    with pytest.raises(NumberError, match=r"^n has no value here$"):
        evaluate(tree, {"d_k": 4})


@cases("expressions", "unknown_name")
def test_an_unknown_name_is_refused_with_one_that_is_near(written: str, sentence: str) -> None:
    with pytest.raises(NumberError) as caught:
        parse(written, SIZES)
    assert str(caught.value) == sentence


@cases("expressions", "shown")
def test_an_expression_is_shown_with_few_parentheses(written: str, shown: str) -> None:
    assert shown_text(parse(written)) == shown


DIGITS = st.text("0123456789", min_size=1, max_size=20)
DECIMALS = st.one_of(
    DIGITS,
    st.builds("{}.{}".format, DIGITS, DIGITS),
    st.builds(".{}".format, DIGITS),
    st.builds("{}.{}e{}".format, DIGITS, DIGITS, st.integers(-200, 200)),
)


@st.composite
def exact_numbers(draw: st.DrawFn) -> tuple[str, float]:
    """Return a decimal, a fraction or a root as it is written, and the float nearest to it."""
    whole = draw(st.integers(-(2**53), 2**53))
    match draw(st.sampled_from(["decimal", "fraction", "root"])):
        case "decimal":
            text = draw(st.sampled_from(["", "-", "+"])) + draw(DECIMALS)
            return text, float(Fraction(text))
        case "fraction":
            under = draw(st.integers(1, 2**53))
            return f"{whole}/{under}", float(Fraction(whole, under))
    with mpmath.workdps(60):
        return f"sqrt({abs(whole)})", float(mpmath.sqrt(abs(whole)))


@settings(QUICK, max_examples=150)
@given(exact_numbers())
def test_what_is_written_is_the_nearest_float(number: tuple[str, float]) -> None:
    written, right = number
    assert value_of(written) == right


@QUICK
@given(st.integers(-7000, 7000))
def test_exp_is_within_one_unit(tenths: int) -> None:
    with mpmath.workdps(60):
        right = float(mpmath.exp(mpmath.mpf(float(f"{tenths / 10}"))))
    assert abs(value_of(f"exp({tenths / 10})") - right) <= math.ulp(right)


def _branches(trees: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
    several = st.lists(trees, min_size=2, max_size=3).map(tuple)
    return st.one_of(
        st.builds(Minus, trees),
        st.builds(Plus, several),
        st.builds(Times, several),
        st.builds(Quotient, trees, trees, st.just(True)),
        st.builds(Power, trees, trees),
        st.builds(Root, trees),
        st.builds(Call, st.just("exp"), st.tuples(trees)),
    )


LEAVES: st.SearchStrategy[Formula] = st.one_of(
    st.builds(Number, st.sampled_from(["0", "1", "2", "0.50", "3.", ".7", "1e3", "012", "0x1F"])),
    st.sampled_from([Name("e"), Name("π"), Number("∞"), named("d_k"), named("n")]),
)
TREES = st.recursive(LEAVES, _branches, max_leaves=12)
NAMES = {"d_k": 3.0, "n": 5.0}


def _outcome(tree: Formula) -> float | str:
    try:
        return evaluate(tree, NAMES)
    except NumberError as error:
        return str(error)


@QUICK
@given(TREES)
def test_text_of_a_tree_means_the_same(tree: Formula) -> None:
    text = shown_text(tree)
    again = parse(text, NAMES)
    assert shown_text(again) == text
    assert _outcome(again) == _outcome(tree)


POSITIVE = st.recursive(
    st.integers(1, 99).map(lambda n: Number(str(n))) | st.just(Name("π")),
    lambda trees: st.one_of(
        st.builds(Plus, st.tuples(trees, trees)),
        st.builds(Times, st.tuples(trees, trees)),
        st.builds(Quotient, trees, trees),
        st.builds(Power, trees, st.sampled_from("123").map(Number)),
        st.builds(Root, trees),
    ),
    max_leaves=8,
)


def _precise(tree: Formula) -> mpmath.mpf:
    if isinstance(tree, Number):
        return mpmath.mpf(tree.text)
    if isinstance(tree, Name):
        return +mpmath.pi
    if isinstance(tree, Root):
        return mpmath.sqrt(_precise(tree.operand))
    if isinstance(tree, Plus):
        return mpmath.fsum(map(_precise, tree.terms))
    if isinstance(tree, Times):
        return mpmath.fprod(map(_precise, tree.factors))
    if isinstance(tree, Quotient):
        return _precise(tree.over) / _precise(tree.under)
    assert isinstance(tree, Power)
    return _precise(tree.base) ** _precise(tree.exponent)


@QUICK
@given(POSITIVE)
def test_value_agrees_with_sixty_digits(tree: Formula) -> None:
    """Without differences nothing cancels, so that the relative error stays small."""
    with mpmath.workdps(60):
        right = _precise(tree)
        assume(abs(mpmath.log10(right)) < 300)
        assert abs(evaluate(parse(shown_text(tree))) / right - 1) < 1e-12


@QUICK
@given(st.text("0123456789.eE+-*/^()√· sqrtxpinf_,\x1b", max_size=25) | st.text(max_size=25))
def test_any_text_is_a_number_or_a_number_error(text: str) -> None:
    said = ""
    try:
        assert not math.isnan(value_of(text))
    except NumberError as error:
        said = str(error)
    assert is_harmless(said)
    assert "\n" not in said


@pytest.mark.parametrize("written", ["1/3", "sqrt(3)", "-1/2", "2^0.5"])
def test_an_expression_keeps_how_it_was_written(written: str) -> None:
    """Two numbers of one value may be written in two ways, so the value cannot tell the way."""
    value = value_of(written)
    assert isinstance(value, NumberAsWritten)
    assert evaluate(value.formula) == value
    again = pickle.loads(pickle.dumps(value))
    assert again == value
    assert shown_text(again.formula) == shown_text(value.formula)
    assert type(value_of("0.5")) is float
