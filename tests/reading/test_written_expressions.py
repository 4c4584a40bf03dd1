"""Written numbers: their values, what is refused, and in which words."""

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
from attncli.core.numbers.parser import MAX_DEPTH, MAX_LENGTH, NumberError, parse
from attncli.core.numbers.written import NumberAsWritten, evaluate, value_of
from tests.conftest import cases

QUICK = settings(deadline=None, max_examples=80, derandomize=True, database=None)
HARMLESS = "\u200c\u200d\u3000\xa0\u202f"  # joiners and blanks, which `visible` leaves
SIZES = ("d_k", "d_v", "d_model", "n", "m")


@pytest.mark.parametrize(
    ("written", "value"),
    [
        *(("0", 0), ("7", 7), ("-3", -3), ("+3", 3), ("0.50", 0.5), (".5", 0.5), ("5.", 5)),
        *(("1e3", 1000), ("1E-3", 0.001), ("-.5", -0.5), ("012", 12), ("08", 8), ("-007", -7)),
        *(("0x1F", 31), ("0XfF", 255), ("0o17", 15), ("  4\t", 4), ("1 / 4", 0.25)),
        *(("1/4", 0.25), ("-1/4", -0.25), ("2/3/4", 1 / 6), ("2-3-4", -5), ("2*3+4", 10)),
        *(("2+3*4", 14), ("(2+3)*4", 20), ("2^3^2", 512), ("2**10", 1024), ("-2^2", -4)),
        *(("(-2)^2", 4), ("2^-1", 0.5), ("--2", 2), ("+-2", -2), ("2*-3", -6), ("4--1", 5)),
        *(("2√16", 8), ("-4√9/3", -4), ("1+2√4", 5), ("2√√16", 4)),
        *(("sqrt(16)", 4), ("sqrt (16)", 4), ("√16", 4), ("√√16", 2), ("√(9)*2", 6), ("√4^2", 4)),
        *(("2·3", 6), ("2×3", 6), ("5−3", 2), ("−2", -2), ("exp(0)", 1), ("0^0", 1)),
        *(("e", math.e), ("pi", math.pi), ("PI", math.pi), ("π", math.pi), ("e^0", 1)),
        *(("1/inf", 0), ("exp(-inf)", 0), ("0e-400", 0)),
    ],
)
def test_value(written: str, value: float) -> None:
    assert value_of(written) == pytest.approx(value, rel=1e-15, abs=0)


@pytest.mark.parametrize(
    "written",
    ["inf", "Inf", "INF", "infinity", "Infinity", "∞", ".inf", ".Inf", "+.inf", "1e5*inf"],
)
def test_infinity(written: str) -> None:
    assert value_of(written) == math.inf
    assert value_of(f"-{written.lstrip('+')}") == -math.inf


TOO_SMALL = "is smaller than a float holds; write 0, which it becomes"


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        ("", "there is no number"),
        (" \t", "there is no number"),
        ("two", "two is not a number; write 2"),
        ("yes", "yes is not a number"),
        ("1:30", "1:30 is not a number"),
        ("2x", "2x is not a number"),
        ("1e", "1e is not a number"),
        ("50%%", "50%% is not a number"),
        ("()", "() is not a number"),
        ("*2", "*2 is not a number"),
        ("E", "E is not a number"),
        ("__import__('os')", "__import__('os') is not a number"),
        ("\x1b[2J", "\\x1b[2J is not a number"),
        ("w" * 60, f"{'w' * 40}… is not a number"),
        ("1_000", "1_000 is not a number; write 1000"),
        ("-1_000_000.5", "-1_000_000.5 is not a number; write -1000000.5"),
        ("1.000,5", "1.000,5 is not a number; write 1000.5"),
        ("1,202,604.28", "1,202,604.28 is not a number; write 1202604.28"),
        ("lO.5", "lO.5 is not a number; write 10.5 if its letters are digits"),
        ("3,5", "3,5 is not a number; write 3.5"),
        ("nan", "nan is not a number that a calculation can go on with"),
        (".NaN", "nan is not a number that a calculation can go on with"),
        ("1+nan", "nan is not a number that a calculation can go on with"),
        ("2 3", "2 3: there is no sign between 2 and 3"),
        ("2 x", "2 x: there is no sign between 2 and x"),
        ("2(3)", "2(3): there is no sign between 2 and ("),
        ("1..2", "1..2 is not a number; it has more than one point"),
        ("2*", "2* ends too early"),
        ("1/", "1/ ends too early"),
        ("-", "- ends too early"),
        ("√", "√ ends too early"),
        ("(2", "(2 has a ( without a )"),
        ("sqrt(2", "sqrt(2 has a ( without a )"),
        ("2)", "2) has a ) without a ("),
        ("sqrt", "sqrt needs a number in parentheses: sqrt(2)"),
        ("1+exp 2", "exp needs a number in parentheses: exp(2)"),
        ("1/0", "1/0 divides by 0"),
        ("1/(2-2)", "1/(2 - 2) divides by 0"),
        ("0^-1", "0^(-1) divides by 0"),
        ("1e400", "1e400 is too large"),
        ("1e-400", f"1e-400 {TOO_SMALL}"),
        ("2/-3e-324000", f"3e-324000 {TOO_SMALL}"),
        (f"0.{'0' * 400}1", f"0.{'0' * 38} {TOO_SMALL}"),
        ("10^400", "10^400 is too large"),
        ("exp(1000)", "exp(1000) is too large"),
        ("1e308*10", "1e308·10 is too large"),
        ("1e308+1e308", "1e308 + 1e308 is too large"),
        ("9^9^9^9", "9^9^9^9 is too large"),
        ("sqrt(-1)", "√(-1) has no real value"),
        ("(-8)^(1/3)", "(-8)^(1/3) has no real value"),
        ("inf-inf", "∞ - ∞ has no value"),
        ("0*inf", "0·∞ has no value"),
        ("1" * (MAX_LENGTH + 1), "a number of 501 characters is too long"),
        ("(" * 51 + "1" + ")" * 51, "more than 50 levels of parentheses, powers or signs"),
        ("-" * 51 + "1", "more than 50 levels of parentheses, powers or signs"),
        ("2^" * 51 + "1", "more than 50 levels of parentheses, powers or signs"),
        ("√" * 51 + "1", "more than 50 levels of parentheses, powers or signs"),
    ],
)
def test_sentence(written: str, sentence: str) -> None:
    with pytest.raises(NumberError) as caught:
        value_of(written)
    assert str(caught.value) == sentence


def test_hexadecimal_that_no_float_holds() -> None:
    with pytest.raises(NumberError, match=r"is too large$"):
        value_of("0x" + "f" * 400)


@pytest.mark.parametrize(
    "text",
    [
        "(" * MAX_DEPTH + "1" + ")" * MAX_DEPTH,
        "1" + "+1" * 249,
        "1" + "*1" * 249,
        "1" + "^1" * MAX_DEPTH,
        "0" * 499 + "1",
    ],
)
def test_as_long_and_deep_as_allowed(text: str) -> None:
    value = value_of(text)
    assert value in (1, 250)
    shown = shown_text(parse(text)).replace(" ", "").replace("·", "*")
    assert shown == text.strip("()")


def test_names_are_known_only_where_they_are_given() -> None:
    tree = parse("1/sqrt(d_k) + n*m", SIZES)
    assert evaluate(tree, {"d_k": 4, "n": 2, "m": 3}) == 6.5
    assert shown_text(tree) == "1/√d_k + n·m"
    with pytest.raises(NumberError, match=r"^d_k is not a number$"):
        parse("d_k")
    with pytest.raises(NumberError, match=r"^n has no value here$"):
        evaluate(tree, {"d_k": 4})


@cases("expressions", "unknown_name")
def test_unknown_name(written: str, sentence: str) -> None:
    with pytest.raises(NumberError) as caught:
        parse(written, SIZES)
    assert str(caught.value) == sentence


@pytest.mark.parametrize("text", ["0.50", "1.", ".5", "012", "1e3", "0x1F"])
def test_written_digits_are_kept(text: str) -> None:
    assert shown_text(parse(text)) == text


@cases("expressions", "shown")
def test_shown(written: str, shown: str) -> None:
    assert shown_text(parse(written)) == shown


DIGITS = st.text("0123456789", min_size=1, max_size=20)
DECIMALS = st.one_of(
    DIGITS,
    st.builds("{}.{}".format, DIGITS, DIGITS),
    st.builds(".{}".format, DIGITS),
    st.builds("{}.{}e{}".format, DIGITS, DIGITS, st.integers(-200, 200)),
)


@QUICK
@given(DECIMALS, st.sampled_from(["", "-", "+"]))
def test_decimal_is_the_nearest_float(digits: str, sign: str) -> None:
    assert value_of(sign + digits) == float(Fraction(sign + digits))


@QUICK
@given(st.integers(-(2**53), 2**53), st.integers(1, 2**53))
def test_fraction_is_the_nearest_float(a: int, b: int) -> None:
    assert value_of(f"{a}/{b}") == float(Fraction(a, b))


@QUICK
@given(st.integers(0, 2**53))
def test_root_is_the_nearest_float(a: int) -> None:
    with mpmath.workdps(60):
        assert value_of(f"sqrt({a})") == float(mpmath.sqrt(a))


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


@settings(QUICK, max_examples=200)
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
    assert all(c.isprintable() or c in HARMLESS for c in said)


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
