"""A written number agrees with what should stand there: each part of the tolerance by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attncli.checking.judging.agreement import (
    CUT,
    CUT_OFF,
    EVEN,
    RoundingRule,
    agrees,
    is_exact,
    is_same,
    reach,
    roundings_of,
    with_sum,
)
from attncli.core.arithmetic.intervals import Interval
from attncli.core.numbers.last_place import significant
from attncli.core.numbers.written import decimal_of

INF = np.inf


def one(written: float, unit: float, low: float, high: float | None = None, **more: Any) -> bool:
    ends = Interval(np.array([low]), np.array([low if high is None else high]))
    return bool(agrees(np.array([written]), np.array([unit]), ends, **more)[0])


def test_half_a_unit_of_the_last_digit() -> None:
    assert one(0.98, 0.01, 0.9755588)
    assert one(0.5, 0.1, 0.45)  # a half may be rounded either way
    assert one(0.4, 0.1, 0.45)
    assert not one(0.97, 0.01, 0.9755588)
    assert not one(0.5, 0.1, 0.4499)


def test_a_whole_unit_where_digits_were_cut_off() -> None:
    assert one(0.97, 0.01, 0.9799999, units=CUT_OFF)
    assert not one(0.96, 0.01, 0.9755588, units=CUT_OFF)


def test_the_share_that_floats_lose() -> None:
    assert one(1 / 3, 0, 1 / 3 + 1e-12)
    assert one(1e9 / 3, 0, 1e9 / 3 + 0.1)  # 0.1 of 3e8 is less than a billionth
    assert not one(1 / 3, 0, 0.33333)


def test_the_little_for_a_zero_that_a_sum_misses() -> None:
    """0.1 + 0.2 − 0.3 is 5.6e-17; beside numbers of 1 that is nothing, beside e^60 0.01 is not."""
    expected = np.array([0.1 + 0.2 - 0.3, 1.0])
    assert agrees(np.array([0.0, 1.0]), np.zeros(2), expected).all()
    huge = np.array([0.01, np.exp(60)])
    assert agrees(np.array([0.0, np.exp(60)]), np.zeros(2), huge).tolist() == [False, True]
    small = np.array([2.10e-8, 4e4])
    assert not agrees(np.array([2.06e-8, 4e4]), np.array([1e-10, 100]), small)[0]


def test_the_whole_of_an_interval_agrees() -> None:
    assert one(5, 1, 5.4, 9)
    assert one(9, 1, 5.4, 8.6)
    assert not one(4, 1, 5.4, 9)
    assert one(-INF, 1, -INF)
    assert not one(-INF, 1, -5)
    assert not one(-5, 1, -INF)
    assert one(12, 1, -INF, INF)
    assert not one(np.nan, 1, -INF, INF)


def test_the_tolerance_is_the_sum_of_its_parts() -> None:
    found = reach(np.array([0.01, 0.0]), np.array([0.5, -INF]), units=0.5)
    more = 0.005 + 1e-9 * (0.5 + 5e-4)
    assert found.high.tolist() == [pytest.approx(0.5 + more, rel=1e-12), -INF]


def test_exact_numbers_have_no_more_digits_than_were_written() -> None:
    assert is_exact(np.array([14.0, 10.5]), np.array([1.0, 0.1]))
    assert not is_exact(np.array([14.0, 10.55]), np.array([1.0, 0.1]))
    assert not is_exact(np.array([1.0]), np.array([0.0]))  # nothing was written in digits
    assert is_exact(np.array([-INF, 3.0]), np.array([1.0, 1.0]))


def test_known_is_what_has_no_width_and_no_more_digits() -> None:
    unit = np.array([0.1])
    assert is_exact(Interval(np.array([0.5]), np.array([0.5])), unit)
    assert not is_exact(Interval(np.array([0.5]), np.array([0.6])), unit)
    assert not is_exact(Interval(np.array([0.55]), np.array([0.55])), unit)


def test_the_same_float_is_told_from_its_rounding() -> None:
    right = np.array([0.9755588, -INF, 1.27e-14])
    written = np.array([0.9755588 + 1e-12, -INF, 1.271e-14])
    assert is_same(written, right).tolist() == [True, True, False]


def test_digits_of_written_numbers() -> None:
    assert decimal_of("−0.50") == (-0.5, 0.01)
    assert not any(
        decimal_of(text) for text in ("1e400", "1e-400", "9e308", ".", "-", "2/3", "?", "")
    )
    assert significant(["0.050", "1200", "1.5e-7"]) == 2


def test_how_a_student_rounds_is_told_by_numbers_with_a_point() -> None:
    assert roundings_of(["1", "2"]) == ()
    assert roundings_of(["0.98", "12.50", "3"]) == (RoundingRule(2),)
    assert roundings_of(["0.123", "4.57", "12.1"]) == (RoundingRule(3, is_significant=True),)
    assert roundings_of(["0.123", "4.5"]) == (
        *(RoundingRule(3), RoundingRule(1)),
        RoundingRule(3, is_significant=True),
    )


@pytest.mark.parametrize(
    ("rounding", "rounded"),
    [
        (RoundingRule(2), [2.31, -0.13, 0.0, 1234.57, -INF]),
        (RoundingRule(2, mode=CUT), [2.30, -0.12, 0.0, 1234.56, -INF]),
        (RoundingRule(2, mode=EVEN), [2.31, -0.12, 0.0, 1234.57, -INF]),
        (RoundingRule(2, is_significant=True), [2.3, -0.13, 0.0, 1200.0, -INF]),
    ],
    ids=str,
)
def test_numbers_are_rounded(rounding: RoundingRule, rounded: list[float]) -> None:
    numbers = np.array([4 / 3**0.5, -0.125, 0.0, 1234.567, -INF])
    assert rounding(numbers).tolist() == pytest.approx(rounded, rel=1e-12)


def test_an_interval_holds_what_its_numbers_are_rounded_to() -> None:
    """Rounded, cut off, with more digits."""
    numbers = np.linspace(-2, 2, 4001)
    one = Interval(numbers - 0.003, numbers + 0.003)
    for rounding in (RoundingRule(1), RoundingRule(2), RoundingRule(2, is_significant=True)):
        ends = {"same": rounding.interval(one), "finer": rounding.any_finer(one)}
        for middle in (numbers, one.low, one.high):
            for other in (rounding, rounding.of_mode(CUT)):
                for found in (ends["same"], ends["finer"]):
                    made = other(middle)
                    assert (made >= found.low - 1e-12).all()
                    assert (made <= found.high + 1e-12).all()
            made = rounding.finer(middle)
            assert (made >= ends["finer"].low - 1e-12).all()
            assert (made <= ends["finer"].high + 1e-12).all()


def test_the_largest_weight_takes_what_the_sum_is_short_of() -> None:
    weights = np.array([[0.33, 0.33, 0.33], [0.333, 0.334, 0.333], [0.13, 0.25, 0.63]])
    found = with_sum(weights, -1, 1.0, RoundingRule(2))
    assert found.tolist() == [[0.34, 0.33, 0.33], [0.33, 0.34, 0.33], [0.13, 0.25, 0.62]]
