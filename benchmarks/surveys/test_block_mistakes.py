"""Mistakes in transformer blocks, each made by a student of `block_student.py`, are named.

`python -m benchmarks.surveys.test_block_mistakes 20` makes each mistake in so many random
blocks of every kind, and prints those that are not named.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest

import attncli
from attncli.checking.mistakes import of_blocks
from attncli.checking.mistakes.mistake import Mistake
from benchmarks.oracles.block_student import Keys, Numbers, Student, draw, written


class Case(NamedTuple):
    """Where a mistake is found.

    Attributes:
        at: the step in which it is made.
        later: the step in which it is found if only `SOME` steps are handed in.
        norms: with which norms it can be made.
        is_gated: whether it needs a gate.
    """

    at: str
    later: str = ""
    norms: tuple[str, ...] = ("layer", "rms")
    is_gated: bool = False


LAYER = ("layer",)

CASES = {
    "variance_of_a_sample": Case("variance", "normed", LAYER),
    "squares_not_centred": Case("variance", "normed", LAYER),
    "deviation_for_variance": Case("variance", "normed"),
    "root_of_variance_forgotten": Case("normed"),
    "eps_outside_the_root": Case("normed"),
    "eps_forgotten": Case("normed"),
    "mean_not_subtracted": Case("normed", norms=LAYER),
    "norm_over_tokens": Case("normed"),
    "norm_skipped": Case("Q", "attended"),
    "gain_forgotten": Case("normed"),
    "gain_and_shift_forgotten": Case("normed"),
    "residual_forgotten": Case("residual"),
    "residual_of_normed": Case("residual"),
    "residual_of_another_step": Case("residual"),
    "activation_forgotten": Case("activated", "feed_forward"),
    "other_activation": Case("activated", "feed_forward"),
    "activation_after_the_product": Case("activated", "feed_forward"),
    "gate_and_value_exchanged": Case("gated", "feed_forward", is_gated=True),
    "logarithm_to_base_10": Case("loss"),
    "loss_not_averaged": Case("loss"),
    "target_not_shifted": Case("loss"),
}

OTHER_CASES = {
    "bias_missing": Case("normed"),
    "softmax_over_queries": Case("probabilities"),
    "wrong_weight_matrix": Case("Q"),
    "input_instead_of_values": Case("context"),
}
"""Mistakes of attention that mean something else in a block: the shift is a bias, and what a norm
gives is the input."""

EVERY_CASE = CASES | OTHER_CASES

SOME = (
    *("normed_1", "attended", "residual_1", "normed_2", "feed_forward", "residual_2"),
    *("logits", "probabilities", "loss"),
)
"""The steps of one who shows little."""

SEEDS = range(2)
"""Seeds of the blocks in which nothing is wrong."""

HALVES = ("normed", "variance", "mean_square", "residual")
"""Steps that each half of a layer has, with its number."""


def test_every_mistake_has_a_student() -> None:
    rows = [row.id for row in vars(of_blocks).values() if isinstance(row, Mistake)]
    assert sorted(rows) == sorted(CASES)


def shown(steps: dict[str, Numbers], is_all: bool) -> dict[str, Numbers]:
    return {n: numbers for n, numbers in steps.items() if is_all or n.split(".")[-1] in SOME}


def can_make(id_: str, more: Keys) -> bool:
    case = EVERY_CASE[id_]
    needs_pre = id_ in ("residual_of_normed", "norm_skipped")
    is_possible = not needs_pre or more["place"] == "pre"
    return is_possible and more["norm"] in case.norms and more["is_gated"] >= case.is_gated


@cache
def drawn(seed: int, count: int, **more: Any) -> Keys:
    """Return blocks in which no two mistakes give the same numbers."""
    rng = np.random.default_rng(seed)
    while True:
        keys = draw(rng, count, **more)
        for is_all in (True, False):
            sheets = [
                str(written(shown(Student(keys, id_).work(), is_all)))
                for id_ in ("", *EVERY_CASE)
                if not id_ or can_make(id_, more)
            ]
            if len({*sheets}) < len(sheets):
                break
        else:
            return keys


def places(id_: str, count: int) -> Iterator[tuple[int, int] | None]:
    """Yield where a mistake is made: in every layer and half, and in one half of the last layer."""
    if id_ == "residual_of_another_step":  # what goes into the first layer is X
        yield from [(1, 2)] if count == 1 else [(1, 2), (2, 1), (2, 2)]
        return
    yield None
    at = EVERY_CASE[id_].at
    if at in HALVES:
        yield from ((count, 1), (count, 2))
    elif count > 1 and at in ("activated", "gated"):
        yield count, 2
    elif count > 1 and at in ("Q", "context"):
        yield count, 1


def name_of(step: str, at: tuple[int, int] | None, count: int, norm: str) -> str:
    """Return the name of the first step that is wrong."""
    layer, half = at or (1, 1)
    if step in ("loss", "probabilities"):
        return step
    if step in HALVES:
        step = f"{'mean_square' if (step, norm) == ('variance', 'rms') else step}_{half}"
    return f"layers.{layer}.{step}" if count > 1 else step


def misses(id_: str, seed: int, count: int, **more: Any) -> Iterator[str]:
    """Yield what is said instead of the name of a mistake."""
    keys, case = drawn(seed, count, **more), EVERY_CASE[id_]
    problem = attncli.Problem(**keys)
    for at in places(id_, count):
        steps = Student(keys, id_, at).work()
        for is_all, step in ((True, case.at), (False, case.later or case.at)):
            if step in ("Q", "context") and not is_all:
                continue  # keys with keys, or no W_v, give the same
            name = name_of(step, at, count, more["norm"])
            report = attncli.check(problem, written(shown(steps, is_all)))
            finding = report.findings.get(report.first_wrong_step or "")
            said = report.first_wrong_step, None if finding is None else finding.id
            if said != (name, id_):
                yield f"{id_} in {name} of {count}, {more}, {seed}: {said}"


# Each norm, place and activation, in one layer and in two.
BLOCKS: tuple[dict[str, Any], ...] = (
    {"place": "pre", "norm": "layer", "activation": "relu", "is_gated": False},
    {"place": "post", "norm": "layer", "activation": "gelu", "is_gated": False},
    {"place": "pre", "norm": "rms", "activation": "swiglu", "is_gated": True},
    {"place": "post", "norm": "rms", "activation": "geglu", "is_gated": True},
)


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("id_", EVERY_CASE)
def test_a_mistake_is_named(id_: str, count: int) -> None:
    """All steps are handed in, or some; what comes after the mistake follows from it."""
    blocks = [more for more in BLOCKS if can_make(id_, more)]
    assert blocks
    found = [
        miss
        for more in (blocks if count == 1 else blocks[:1])
        for miss in misses(id_, 0, count, **more)
    ]
    assert not found


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("more", BLOCKS, ids=lambda more: "-".join(map(str, more.values())))
def test_who_does_nothing_wrong_is_right(more: dict[str, Any], count: int) -> None:
    """With all digits, or with each step rounded before the next."""
    for seed in SEEDS:
        keys = draw(np.random.default_rng(seed), count, **more)
        problem = attncli.Problem(**keys)
        for decimals, is_early, is_all in product((2, 3, 4), (True, False), (True, False)):
            steps = Student(keys, decimals=decimals if is_early else None).work()
            report = attncli.check(problem, written(shown(steps, is_all), decimals))
            assert report.verdict == "correct", (seed, decimals, is_early, is_all)


@pytest.mark.parametrize(
    ("way", "wrong"), [(0, ["gated"]), (1, ["activated", "gated"]), (2, ["hidden", "value"])]
)
def test_a_gate_is_exchanged_in_several_ways(way: int, wrong: list[str]) -> None:
    """In the product, by what is activated, or by the matrices."""
    keys = drawn(0, 1, **BLOCKS[2])
    problem, id_ = attncli.Problem(**keys), "gate_and_value_exchanged"
    steps = Student(keys, id_, way=way).work()
    report = attncli.check(problem, written(steps))
    assert {name: finding.id for name, finding in report.findings.items()} == dict.fromkeys(
        wrong, id_
    )
    report = attncli.check(problem, written(shown(steps, is_all=False)))
    assert report.findings["feed_forward"].id == id_


def test_messages_are_in_the_words_of_a_block() -> None:
    keys = drawn(0, 1, **BLOCKS[0])
    problem = attncli.Problem(**keys)
    for id_, name, message in (
        ("bias_missing", "normed_1", "The shift was not added."),
        (
            "softmax_over_queries",
            "probabilities",
            "The softmax was taken over the wrong axis: the probabilities of each word sum to 1.",
        ),
    ):
        report = attncli.check(problem, written(Student(keys, id_).work()))
        assert report.findings[name].message == message


def test_what_follows_a_mistake_is_not_wrong() -> None:
    """A mistake in one half of the first layer makes one step wrong, and no other."""
    keys = drawn(3, 2, **BLOCKS[0])
    problem = attncli.Problem(**keys)
    for id_ in ("variance_of_a_sample", "residual_forgotten", "gain_forgotten"):
        report = attncli.check(problem, written(Student(keys, id_, (1, 1)).work()))
        assert [n for n, step in report.steps.items() if step.status == "wrong"] == [
            report.first_wrong_step
        ]


if __name__ == "__main__":
    kinds = product(("pre", "post"), ("layer", "rms"), ("relu", "gelu", "gelu_tanh", "silu"))
    every = [
        {"place": place, "norm": norm, "activation": name, "is_gated": is_gated}
        for place, norm, name in kinds
        for is_gated in (False, name != "relu")
    ]
    for seed_, more_, count_ in product(range(int(sys.argv[1])), every, (1, 2)):
        for id_ in EVERY_CASE:
            if can_make(id_, more_):
                for miss_ in misses(id_, seed_, count_, **more_):
                    print(miss_)
