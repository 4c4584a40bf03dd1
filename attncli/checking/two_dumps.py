"""What two programs saved, compared step by step: the first that differs, and its cause.

Where the inputs of that step are in the reference, too, and attn gets the reference's numbers from
them, the other program is checked as a submission. Else only what numbers show by themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from typing import BinaryIO

import numpy as np

from attncli.checking.answers.program_arrays import ROUNDOFF, sizes_of, type_of_floats
from attncli.checking.answers.written_cells import LIKE_BLOCKED
from attncli.checking.check import AnswerKey, Graded, Report
from attncli.checking.errors_of_floats import MAX_ERRORS, distance
from attncli.checking.judging import judged_steps
from attncli.checking.judging.judged_steps import Difference, Finding
from attncli.checking.matched_arrays import (
    MAX_UNLIKE,
    Dump,
    NamePair,
    in_same_places,
    layouts,
    pairs_of,
    parts_of,
    unlikeness,
)
from attncli.checking.mistakes.conventions import CONVENTIONS
from attncli.checking.saved_layers import heads_first, inputs_of, problems_of
from attncli.core.arithmetic.elements import Array
from attncli.core.calculation.trace import Trace
from attncli.core.errors import InputError, Place, fail, located
from attncli.core.numbers.written import shape_words
from attncli.core.problem.keys import KEYS
from attncli.core.problem.marking import Marking
from attncli.core.problem.problem import Problem
from attncli.core.records import Record, replace
from attncli.core.tape.step import Step
from attncli.core.text.strings import all_of, count_of, shortened, visible
from attncli.reading.document import Unread
from attncli.reading.dumps import DumpedArray, read_dump

ROUNDINGS = {"float64": 64.0, "float32": 64.0, "float16": 4.0, "bfloat16": 4.0}
"""Estimate of the error that an array of an unknown calculation carries, in roundings of its
largest number; √l times as much in layer l. Sums of 16-bit floats are made in 32 bits. Chosen:
in 60 random models of 2 to 12 layers, of 16 or more features, no step was off 1.1 times as much."""

NO_INPUTS = "its inputs are not in the reference, so no cause is sought"
UNLIKE_REFERENCE = (
    "its inputs do not give the reference's numbers: tried were no mask and a causal one, "
    "the scales 1/√d_k and 1, no positions and RoPE of base 10,000"
)
"""Why no cause is known."""

MAX_NAMED = 6
"""Maximum number of names that a sentence lists. Chosen."""


class ArrayPair(Record, eq=False):
    """A pair of arrays, and how far they may differ.

    Attributes:
        right: the numbers of the reference.
        numbers: those of the other program, in the same shape, unless that does not go.
        places: which places they have along each axis; () for all.
        error: the error that they carry.
        limit: the maximum difference of right ones.
        layout: the line that gives them that shape; "" if they have it.
    """

    pair: NamePair
    right: Array
    numbers: Array
    places: tuple[Sequence[int], ...]
    error: float
    limit: float
    layout: str

    @property
    def fits(self) -> bool:
        return self.right.shape == self.numbers.shape

    def off(self, numbers: Array) -> Array:
        """Return how far numbers of the same shape are from the reference; ∞ for nan."""
        off: Array = np.where(np.isnan(self.right), 0, distance(numbers, self.right))
        return off

    def agrees(self, numbers: Array) -> bool:
        return numbers.shape == self.right.shape and bool((self.off(numbers) <= self.limit).all())

    @cached_property
    def judged(self) -> Difference:
        axes = tuple(f"axis {number + 1}" for number in range(self.right.ndim))
        name, word = self.pair.name, visible(shortened(self.pair.name))
        pairs = zip(axes, self.places, strict=False)
        labels = {axis: tuple(f"{place + 1}" for place in places) for axis, places in pairs}
        step = Step(name, name, (), axes, labels, None, self.right, called=word)
        if not self.fits:
            codes = np.full(self.right.shape, judged_steps.WRONG, np.int8)
            sizes, others = shape_words(self.numbers.shape), shape_words(self.right.shape)
            fault = f"The shape is {sizes}, and that of the reference {others}."
            return Difference(step, codes, np.full(codes.shape, np.nan), np.inf, np.inf, fault)
        off = self.off(self.numbers)
        codes = np.where(off > self.limit, judged_steps.WRONG, judged_steps.CORRECT).astype(np.int8)
        codes[np.isnan(self.right)] = judged_steps.MISSING
        most = float(np.max(off, initial=0.0, where=~np.isnan(self.numbers)))
        errors = most / self.error if self.error else np.inf * (most > 0)
        return Difference(step, codes, self.numbers, most, errors)


def _compared(
    pair: NamePair, right: DumpedArray, other: DumpedArray, marking: Marking
) -> ArrayPair:
    numbers, others = (
        np.where(one <= LIKE_BLOCKED, -np.inf, one.astype(float))
        for one in in_same_places(right, other)
    )
    places, layout, dtype = right.places or other.places, "", marking.dtype
    if sizes_of(numbers.shape) == sizes_of(others.shape):
        others = others.reshape(numbers.shape)
    elif not places:
        every = layouts(pair, numbers, others)
        like = (one for one in every if unlikeness([numbers], [one[0]]).min() <= MAX_UNLIKE)
        others, layout = next(like, (others, ""))
    size = float(np.max(np.abs(numbers), initial=0.0, where=np.isfinite(numbers)))
    depth = float(max(parts_of(pair.name).layer, 0) + 1) ** 0.5
    error = ROUNDINGS[dtype] * ROUNDOFF[dtype] * depth * size
    limit = MAX_ERRORS[dtype] * error if marking.rtol is None else marking.rtol * size
    limit += marking.tolerance + (right.error + other.error) * size
    return ArrayPair(pair, numbers, others, places, error, limit, layout)


def _by_numbers(first: ArrayPair, every: Dump) -> Finding | None:
    """Return what the numbers show by themselves: another layout, another step, a factor."""
    for turned, line in layouts(first.pair, first.right, first.numbers):
        if first.agrees(turned):
            what = "The numbers are those of the reference in another layout."
            return Finding("another_layout", what, f"Turn it by {line}.")
    numbers = first.numbers
    for name, one in every.items():
        another = replace(first, right=one.numbers.astype(float))
        if name != first.pair.name and another.agrees(numbers):
            what = f"It holds the numbers of {visible(name)} in the reference."
            advice = "Save the same place in both programs, or look for what comes between both."
            return Finding("numbers_of_another_step", what, advice)
    if not first.fits:
        return None
    known = np.isfinite(first.right) & np.isfinite(numbers)
    right, given = (np.where(known, one, 0) for one in (first.right, numbers))
    square = float((right * right).sum())
    factor = float((right * given).sum()) / square if square else 0.0
    if factor and first.agrees(numbers / factor):
        what = f"Every number is {factor:.6g} times that of the reference."
        return Finding("constant_factor", what, "Look for a scale that one of both leaves out.")
    return None


class TwoDumps(Record, eq=False):
    """A reference, and how other dumps are compared with it.

    Attributes:
        name: the file of the reference.
        reference: its arrays.
        marking: how far others may be off.
        stdin: what to read for "-".
        allow_outside: whether a file may name others outside its folder.
    """

    name: str
    reference: Dump
    marking: Marking
    stdin: BinaryIO | None = None
    allow_outside: bool = False

    def students(self, sources: Sequence[str]) -> Iterator[tuple[Graded]]:
        return ((self._graded(source),) for source in sources)

    def _graded(self, source: str) -> Graded:
        """Return the report on a dump, or why it could not be read."""
        try:
            mine = read_dump(source, self.stdin, self.allow_outside)
            with located(lambda _: Place(source)):
                return self.report(source, mine)
        except InputError as error:
            return Unread(source, error)

    def report(self, name: str, mine: Dump) -> Report:
        """Return the report on the arrays of another dump.

        Raises:
            InputError: if no array belongs to one of the reference.
        """
        pairs = pairs_of(self.reference, mine)
        if not pairs:
            names = all_of([*map(visible, [*self.reference][:MAX_NAMED])])
            message = "no array has a name, or a shape, of one of the reference"
            raise fail(message, hint=f"that has such as {names}")
        dtype = self.marking.dtype or _dtype_of((*self.reference.values(), *mine.values()))
        marking = replace(self.marking, dtype=dtype)
        every = [
            _compared(pair, self.reference[pair.name], mine[pair.other], marking) for pair in pairs
        ]
        steps = {one.pair.name: one.judged for one in every}
        first = next((one for one in every if one.judged.has(judged_steps.WRONG)), None)
        finding, why = self._cause(first, every, marking) if first else (None, "")
        return Report(
            name,
            Trace(Problem(X=[[1]], score="dot"), {}, {n: one.step for n, one in steps.items()}, {}),
            steps,
            {first.pair.name: finding} if first and finding else {},
            said=tuple(_said(every, self.reference, mine)),
            marking=marking,
            title=f"compared with {visible(self.name)}",
            dtype=dtype,
            convention=finding if finding and finding.id in CONVENTIONS else None,
            no_cause=why,
        )

    def _cause(
        self, first: ArrayPair, every: Sequence[ArrayPair], marking: Marking
    ) -> tuple[Finding | None, str]:
        """Return the cause of the first array that differs, or why none is known."""
        if first.judged.fault:
            shape = Finding("wrong_shape", first.judged.fault, "Save arrays of the same shape.")
            return _by_numbers(first, self.reference) or shape, ""
        finding, why = self._from_inputs(first, every, marking)
        return finding or _by_numbers(first, self.reference), why

    def _from_inputs(
        self, first: ArrayPair, every: Sequence[ArrayPair], marking: Marking
    ) -> tuple[Finding | None, str]:
        """Return what is wrong in the arrays as answers to the layer, if the reference has it."""
        layer = parts_of(first.pair.name).layer
        names = [name for name in self.reference if parts_of(name).layer in (layer, -1)]
        known = {parts_of(name).meaning: name for name in names}
        inputs = {key: self.reference[name] for key, name in known.items() if key in KEYS}
        keys = {key: heads_first(known[key], one.numbers) for key, one in inputs.items()}
        meaning = parts_of(first.pair.name).meaning
        if meaning == "concat" and "W_o" not in keys:  # which has this step alone, and changes none
            keys["W_o"] = np.eye(first.right.shape[-1])
        lacks_w_o = meaning == "output" and "concat" in known and "W_o" not in keys
        if lacks_w_o or first.places or any(one.places for one in inputs.values()):
            return None, NO_INPUTS
        before = every[: every.index(first) + 1]
        here = [one for one in before if parts_of(one.pair.name).layer == layer]
        steps = {parts_of(one.pair.name).meaning: one for one in here}
        parts = {part: getattr(marking, part) for part in ("dtype", "tolerance", "rtol")}
        asked = {part: value for part, value in parts.items() if value}
        why = NO_INPUTS
        for given, left_out, positions in inputs_of(keys, known, self.reference):
            answers = {
                step: one for step, one in steps.items() if step not in ("", *given, *left_out)
            }
            if meaning not in answers:
                continue
            right, other = (
                {
                    step: heads_first(one.pair.name, getattr(one, which))
                    for step, one in answers.items()
                }
                for which in ("right", "numbers")
            )
            sizes = {step: array.shape[-3] for step, array in right.items() if array.ndim > 2}
            for problem in problems_of(given, sizes, positions):
                with suppress(InputError):
                    key = AnswerKey(problem.marked(asked))
                    report = key.check(right)
                    if report.verdict == "correct" and meaning not in dict(report.skipped):
                        report = key.check(other)
                        return report.findings.get(report.first_wrong_step or ""), ""
            why = UNLIKE_REFERENCE
        return None, why


def _dtype_of(every: Sequence[DumpedArray]) -> str:
    told = {one.dtype for one in every} - {""}
    bare = [one.numbers for one in every if not one.dtype]
    kinds = told | ({type_of_floats(bare)} if bare else set())
    return max(kinds, key=ROUNDOFF.__getitem__)


def _said(every: Sequence[ArrayPair], reference: Dump, mine: Dump) -> Iterator[str]:
    """Yield sentences on names and layouts that differ, and on arrays compared with none."""
    pairs = [one.pair for one in every]
    for how in dict.fromkeys(pair.how for pair in pairs if pair.how):
        said = [f"{pair.other} with {pair.name}" for pair in pairs if pair.how == how]
        yield f"Matched by their {how}: {_some(said)}."
    if lines := [one.layout for one in every if one.layout]:
        yield f"Turned into the layout of the reference: {_some(lines)}."
    if any(one.error for one in (*reference.values(), *mine.values())):
        printed = "PyTorch prints five digits, and of large tensors the corners"
        yield f"{printed}: use_repr=False saves all numbers."
    for one in every:
        if nan_count := int(np.isnan(one.right).sum()):
            count = count_of(nan_count, "cell")
            yield f"{count} of {visible(one.pair.name)} are nan in the reference, and not compared."
    left = [name for name in reference if name not in {pair.name for pair in pairs}]
    right = [name for name in mine if name not in {pair.other for pair in pairs}]
    for names, where in ((left, "the reference"), (right, "the other file")):
        if names:
            yield f"Only in {where}: {_some(names)}."


def _some(names: Sequence[str]) -> str:
    shown = [visible(name) for name in names[:MAX_NAMED]]
    more = [f"{len(names) - MAX_NAMED} more"] if len(names) > MAX_NAMED else []
    return all_of([*shown, *more])
