"""Every operation of the core meets every kind of array: its class is enough to be tried here.

The classes are those of docs/operations.md, and their instances are in the steps of the samples and
of problems of `tests/data/cases`, with other numbers.
"""

from __future__ import annotations

import runpy
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.core.arithmetic.intervals import Interval, interval
from attncli.core.calculation.counts import CountedArray
from attncli.core.formulas.tree import Own
from attncli.core.records import replace
from attncli.core.tape.backward_operations import summed_to_shape
from attncli.core.tape.by_hand import by_hand
from attncli.core.tape.evaluation import array_of, evaluate, transform, walk, with_operands
from attncli.core.tape.step import LEADING, Expression, Operation, Step
from attncli.core.tape.tape import Tape
from tests.conftest import ROOT, SAMPLE_FILES, table
from tests.mechanisms.table import problem_of
from tests.printing.test_live_pages import on_page
from tests.support.explained import assert_explained_truly

Numbers = np.ndarray[Any, Any]

MOST = 3
"""How many operations of a class are tried."""

LEFT_OUT = table("operations", "left_out")


CLASSES = {
    one.__name__: one
    for one in runpy.run_path(str(ROOT / "docs" / "operations.py"))["operations"]()
}


def traces() -> Iterator[attncli.Trace]:
    for path in SAMPLE_FILES:
        yield attncli.compute(attncli.load(path))
    gradient = {"gradient": "sum", "learning_rate": 0.1}
    rows = [problem_of(row) | gradient for row in table("mechanisms", "derivatives")]
    others = map(problem_of, (*table("mechanisms", "kinds"), *table("mechanisms", "steps")))
    for keys in (*rows, *others, *table("operations", "problems")):
        yield attncli.compute(attncli.Problem(**keys))


@cache
def instances() -> dict[type[Operation], dict[Any, tuple[Operation, attncli.Trace]]]:
    """Return some operations of each class, that differ in shapes or in numbers of their own."""
    found: dict[Any, dict[Any, Any]] = {}
    for trace in traces():
        for step in trace:
            nodes = walk(step.operation) if isinstance(step.operation, Operation) else ()
            operations = (one for one in nodes if isinstance(one, Operation))
            parts = (part for one in operations for part in (one, *one.layout(False)))
            for node in (part for part in parts if isinstance(part, Operation)):
                shapes = [array_of(operand).shape for operand in node.operands]
                own = [getattr(node, name) for name in node.float_fields]
                alike = found.setdefault(type(node), {})
                if len(alike) < MOST:
                    alike.setdefault(str((shapes, own)), (node, trace))
    return found


def drawn(node: Operation, draw: Callable[[Step], Any]) -> dict[Step, Any]:
    """Return numbers for the steps in a formula; those that others of them make are worked."""
    leaves = {part for part in walk(node) if isinstance(part, Step)}
    found: dict[Step, Any] = {}

    def value(step: Step) -> Any:
        if step not in found:
            before = {*walk(step, into_steps=True)} - {step}
            own = step.operation if not leaves.isdisjoint(before) else None
            found[step] = draw(step) if own is None else evaluate(own, value)
        return found[step]

    for leaf in leaves:
        value(leaf)
    return found


def is_truth(array: Numbers) -> bool:
    return bool(np.isin(array, (0, 1, -np.inf)).all())


def with_other_numbers(node: Operation) -> Operation:
    random = np.random.default_rng(0)

    def moved(step: Step) -> Numbers:
        array = step.array
        other = np.where(array == 0, 0.05, array) * random.uniform(0.9, 1.1, array.shape)
        return array if is_truth(array) else other

    others = {step: replace(step, array=array) for step, array in drawn(node, moved).items()}
    changed = transform(node, lambda step: others.get(step, step))
    assert isinstance(changed, Operation)
    return changed


def leaves(node: Operation) -> list[Step]:
    return [part for part in walk(node) if isinstance(part, Step)]


# What each kind of array must give.


def floats(node: Operation, trace: attncli.Trace) -> None:
    """Short floats stay short, and give nearly the same."""
    node = with_other_numbers(node)
    long = array_of(node)
    assert long.dtype == np.float64
    with np.errstate(all="ignore"):
        short = evaluate(node, lambda step: step.array.astype(np.float32))
    assert short.dtype == np.float32
    np.testing.assert_allclose(short, long, rtol=1e-3, atol=1e-4 * np.abs(sized(long)).max())


def sized(array: Numbers) -> Numbers:
    return np.where(np.isfinite(array), array, 0.0)


def elements(node: Operation, trace: attncli.Trace) -> None:
    """Each number is explained by numbers that give it."""
    name = "weights" if type(node).is_blank is not Operation.is_blank else "result"
    step = Tape().record(name, with_other_numbers(node), ("time", "state"))
    sizes = step.array.shape
    leading = tuple(axis for axis, size in zip(LEADING, sizes, strict=False) if size > 1)
    trailing = ("time", "state", "hidden")[: len(sizes) - 2]
    step = replace(step, leading=leading, trailing=trailing)
    assert_explained_truly(replace(trace, steps={name: step}), 4)


def digits(node: Operation, trace: attncli.Trace) -> None:
    node = with_other_numbers(node)
    np.testing.assert_allclose(by_hand(node), array_of(node), rtol=1e-9, atol=1e-12)


def intervals(node: Operation, trace: attncli.Trace) -> None:
    """Ranges hold what points inside them give, and truths both results."""
    random = np.random.default_rng(1)
    for width in (0.0, 1e-4, 0.05, 0.5, 3.0):
        ranges = drawn(node, lambda step: around(random, step.array, width))  # noqa: B023
        found = interval(evaluate(node, ranges.__getitem__))
        for _ in range(8):
            points = drawn(node, lambda step: point(random, ranges[step]))  # noqa: B023
            assert_holds(found, evaluate(node, points.__getitem__))
        if width == 0:
            np.testing.assert_allclose(found.low, found.high, rtol=1e-9, atol=1e-12)


def around(random: np.random.Generator, array: Numbers, width: float) -> Interval:
    """Return ranges about numbers, some of no width: truths, and numbers above 0, stay such."""
    radius = random.uniform(0, width, array.shape) * (random.random(array.shape) < 0.8)
    if is_truth(array):
        is_open = (radius > 0.1) & np.isfinite(array)
        return Interval(np.where(is_open, 0.0, array), np.where(is_open, 1.0, array))
    if (array > 0).all():
        return Interval(array * np.exp(-radius), array * np.exp(radius))
    return Interval(array - radius, array + radius)


def point(random: np.random.Generator, found: Interval) -> Numbers:
    """Return a point in each range, mostly at an end; of truths always."""
    share = random.choice([0.0, 1.0], found.shape)
    if not is_truth(found.low) or not is_truth(found.high):
        share = np.where(random.random(found.shape) < 0.5, random.random(found.shape), share)
    inside: Numbers = sized(found.low) + share * (sized(found.high) - sized(found.low))
    return np.clip(inside, found.low, found.high)


def assert_holds(wide: Interval, numbers: Numbers) -> None:
    """The numbers lie in their ranges, but for the last digits of a float."""
    assert wide.shape == numbers.shape
    assert (wide.low <= wide.high).all()
    near = 1e-9 * (1 + np.abs(sized(numbers)).max(initial=0.0))
    assert (numbers >= wide.low - near).all(), (numbers, wide.low)
    assert (numbers <= wide.high + near).all(), (numbers, wide.high)


def calls(node: Operation, trace: attncli.Trace) -> None:
    """The calls that some numbers record give with others what they do here, in the page, too."""
    other = with_other_numbers(node)
    found = on_page(node, *(step.array for step in leaves(other)), **settings(node))
    np.testing.assert_allclose(found, array_of(other), rtol=1e-9, atol=1e-12)
    counted = evaluate(node, lambda step: CountedArray(step.array, Counter()))
    assert counted.shape == np.shape(found)


def settings(node: Operation) -> dict[str, float]:
    """Return the numbers of a formula that keys of the problem give, by the key."""
    parts = [part for part in walk(node) if isinstance(part, Operation)]
    numbers = [getattr(part, name) for part in parts for name in part.float_fields]
    own = [number for number in numbers if isinstance(getattr(number, "formula", None), Own)]
    return {number.formula.key: float(number) for number in own}


def derivative(node: Operation, trace: attncli.Trace) -> None:
    """Along a random direction of each operand, it is the difference of Σ g · f(a), for some g."""
    node, random = with_other_numbers(node), np.random.default_rng(7)
    result = array_of(node)
    weights = np.where(np.isinf(result), 0, random.uniform(-1, 1, result.shape))
    upstream = Tape().put("g", weights, node.trailing, node.leading)
    found: dict[Expression, Any] = {}
    try:
        for operand, slope in node.derivative(node, upstream):
            array = array_of(summed_to_shape(slope, operand, {}))
            found[operand] = found.get(operand, 0) + array
    except attncli.InputError:
        return  # it is of the backward pass itself
    for operand, array in found.items():
        if operand not in node.operands:
            continue  # that of the step before, which the shares of powers take for granted
        own = array_of(operand)
        assert array.shape == own.shape
        along = random.uniform(-1e-6, 1e-6, own.shape) * (1 + np.abs(sized(own)))
        ends = []
        for moved in (own + along, own - along):
            held = Tape().put("held", moved, operand.trailing, operand.leading)
            ends.append(sized(array_of(with_held(node, operand, held))))
        changes = array * along, weights * (ends[0] - ends[1]) / 2
        sizes = [np.abs(part).sum() for part in (*changes, 1e-9 * ends[0])]
        near = 1e-6 * max(1e-6, *sizes)
        assert abs(changes[0].sum() - changes[1].sum()) <= near


def with_held(node: Operation, operand: Expression, held: Step) -> Operation:
    return with_operands(node, lambda part: held if part is operand else part)


KINDS = (floats, elements, digits, intervals, calls, derivative)
READERS = {one.__name__: one for one in KINDS}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", CLASSES)
def test_an_operation_meets_every_kind_of_array(name: str, reader: str) -> None:
    left_out = LEFT_OUT.get(name, {})
    found = instances().get(CLASSES[name], {})
    if "every" in left_out or reader in left_out:
        return
    assert found, f"add a problem whose steps have {name} to tests/data/cases/operations.yaml"
    for node, trace in found.values():
        READERS[reader](node, trace)
