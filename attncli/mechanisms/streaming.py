"""Attention over many tokens when nobody asks for the n × m steps.

Softmax over the keys goes through the streamed room (`streamed/attention.py`). With another
normaliser, or where n × m steps stand alone in a file, the same lines are calculated for some
queries at a time, on a tape of their own of which only what is wanted is kept. Either way memory
grows with n, not with n · m.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.attention.normalizers import tell_of_shift
from attncli.attention.scores import SCORES
from attncli.attention.weights import (
    Rules,
    adjust,
    blocked_lines,
    score,
    score_operation,
    tell_of_blocked,
    weights_of,
)
from attncli.notation.tree import Formula, Listed, Phrase, Words
from attncli.records import replace
from attncli.tape.operations import MIXED, MatMul, Transposed
from attncli.tape.step import Operation, Step, notation_of
from attncli.tape.tape import Tape
from attncli.tape.walk import array_of

LARGE = 2**18
"""From how many scores on the n × m steps are not kept: 2 MiB a step in double precision."""

BLOCK = 2**18
"""How many scores are calculated at a time on a tape of their own."""

ROWS = {"scores", "scaled", "capped", "biased", "masked", "exp", "sum", "weights"}
"""The steps of which some queries at a time can be kept."""

LEFT_OUT = {"hidden", *ROWS}

NAMES = {*LEFT_OUT, "Q", "K", "V", "context", "concat", "output", "attentional"}
"""Which step another word means, such as A, is told when all are there."""


def is_large(tape: Tape, q: Step, k: Step, rules: Rules) -> bool:
    """Whether the n × m steps are large and unwanted, and can be done some queries at a time."""
    if tape.wanted is None or not tape.wanted <= NAMES or tape.settle is not None:
        return False
    if tape.wanted & (LEFT_OUT - ROWS if tape.alone else LEFT_OUT):
        return False
    lead = np.broadcast_shapes(q.array.shape[:1], k.array.shape[:1])[0] * q.array.shape[1]
    count = lead * q.array.shape[-2] * k.array.shape[-2]
    # Along the queries every weight depends on all queries.
    return count >= LARGE and rules.normalize.axis == "keys"


class Streamed(Operation):
    """weights · V, some queries at a time; a head of k and v may serve several of q.

    `tape` has the labels for warnings, and takes them; of the steps before, it takes those that are
    wanted, where they may stand alone.
    """

    q: Step
    k: Step
    v: Step
    rules: Rules
    tape: Tape
    why = MIXED

    @property
    def trailing(self) -> tuple[str, ...]:
        return (self.q.trailing[-2], self.v.trailing[-1])

    def apply(self, *arrays: Array) -> Array:
        """(…, n, d_q), (…, m, d_k) and (…, m, d_v) give (…, n, d_v)."""
        q, k, v = arrays
        # Where a number is beyond a float, the lines themselves tell which one it is.
        with suppress(FloatingPointError):
            products = self._products()  # of all rows, so that what is refused is told by its place
            if self._is_by_tiles(q, k, v):
                return self._by_tiles(q, k, v, products)
        return self._by_lines(q, k, v)

    def notation(self, columns: bool) -> Formula:
        # In words, as no step of it is kept.
        q, k, v = (notation_of(part, columns) for part in (self.q, self.k, self.v))
        return Listed((Phrase((Words("attention of"), q)), k, v, Words("some queries at a time")))

    def _is_by_tiles(self, q: Array, k: Array, v: Array) -> bool:
        """Whether only the output is wanted, of softmax, in one type of numbers."""
        if self.rules.normalize.name != "softmax" or (self.tape.wanted or ROWS) & ROWS:
            return False
        kinds = {array.dtype for array in (q, k, v, self.rules.bias) if array is not None}
        # Tiles sum e^s · v before they divide by the sum of e^s, each of which is 1 at most.
        most = max(float(v.max()), -float(v.min())) * v.shape[-2]
        return len(kinds) == 1 and q.dtype.kind == "f" and most < float(np.finfo(q.dtype).max)

    def _by_tiles(
        self, q: Array, k: Array, v: Array, products: tuple[Array, Array] | None
    ) -> Array:
        """Return the output; the tape takes the warnings that the lines give."""
        from attncli.streamed.attention import attention, planned  # few problems are so large

        rules, tile, depth = self.rules, None, 1
        if products is not None:
            q, k = products
        else:
            tile = self._tile
            sizes = (size for value in rules.parameters.values() for size in np.shape(value))
            depth = max([q.shape[-1] + k.shape[-1], *sizes])
        plan = planned(q, k, depth)
        found = attention(q, k, v, rules, plan, tile)
        self._tell_of_blocked(found.blocked)
        if found.is_beyond:
            tell_of_shift(self.tape, self._softmax_of(found.is_masked), rules.normalize)
        self._tell_path(plan.rows, plan.threads)
        return found.output

    def _products(self) -> tuple[Array, Array] | None:
        """Return the arrays whose rows have the scores as dot products, where there are such."""
        if any("hidden" in parameter.shape for parameter in SCORES[self.rules.score].parameters):
            return None
        made = score_operation(Tape(self.tape.labels), self.q, self.k, self.rules)
        if isinstance(made, MatMul) and isinstance(made.right, Transposed):
            return array_of(made.left), array_of(made.right.operand)
        return None

    def _tile(self, q: Array, k: Array) -> Array:
        """Return the scores of some queries with some keys, by any score function."""
        tape = Tape()
        queries = tape.given("Q", q, ("query", "feature"))
        return score(tape, queries, tape.given("K", k, ("key", "feature")), self.rules).array

    def _softmax_of(self, is_masked: bool) -> str:
        """Return what the step is called that softmax takes."""
        rules = self.rules
        steps = {
            "masked": is_masked,
            "biased": rules.bias is not None and bool(rules.bias.any()),
            "capped": rules.softcap is not None,
            "scaled": rules.scale is not None,
            "scores": True,
        }
        return next(name for name, is_there in steps.items() if is_there)

    def _tell_of_blocked(self, blocked: set[int]) -> None:
        if blocked:
            tell_of_blocked(self.tape, blocked, self.q.trailing[-2], self.rules.normalize)

    def _tell_path(self, size: int, threads: int = 1) -> None:
        rows = f"{size} query row{'s'[: size != 1]} at a time"
        on = f" on {threads} threads" if threads > 1 else ""
        self.tape.path = f"streamed, {rows}{on}; the n × m steps are not kept"

    def _by_lines(self, q: Array, k: Array, v: Array) -> Array:
        """Return the output, from the lines that all mechanisms share."""
        times = q.shape[1] // k.shape[1]
        k, v = (np.repeat(side, times, axis=1) if times > 1 else side for side in (k, v))
        n, m = q.shape[-2], k.shape[-2]
        lead = np.broadcast_shapes(q.shape[:2], k.shape[:2], v.shape[:2])
        size = min(max(1, BLOCK // (m * lead[0] * lead[1])), n)
        self._tell_path(size)
        bias = () if self.rules.bias is None else (self.rules.bias,)
        result = np.empty((*lead, n, v.shape[-1]), np.result_type(q, k, v, *bias))
        found: dict[str, Step] = {}
        blocked: set[int] = set()
        wanted = ROWS & (self.tape.wanted or ROWS)
        for start in range(0, n, size):
            rows = slice(start, min(start + size, n))
            steps = self._block(q[..., rows, :], k, v, rows, n, blocked)
            result[..., rows, :] = steps["output"].array
            for name in [name for name in steps if name in wanted]:
                part = steps[name].array
                if not start:
                    whole = np.empty((*part.shape[:2], n, part.shape[3]), part.dtype)
                    axes = steps[name].trailing
                    labels = {x: w for x, w in self.tape.labels.items() if x in axes}
                    found[name] = replace(steps[name], array=whole, labels=labels)
                found[name].array[..., rows, :] = part
        self.tape.steps.update(found)
        self._tell_of_blocked(blocked)
        return result

    def _block(
        self, q: Array, k: Array, v: Array, rows: slice, n: int, blocked: set[int]
    ) -> dict[str, Step]:
        """Return the steps of some queries; those that are wholly blocked join the others."""
        labels = dict(self.tape.labels)
        if "query" in labels:
            labels["query"] = labels["query"][rows]
        tape = Tape(labels, self.tape.columns)
        tape.first = rows.start
        queries, keys, values = (
            tape.given(step.name, array, step.trailing, step.leading)
            for step, array in ((self.q, q), (self.k, k), (self.v, v))
        )
        rules = self.rules.of_rows(rows, n)
        adjusted = adjust(tape, score(tape, queries, keys, rules), rules)
        blocked |= {rows.start + row for row in blocked_lines(adjusted, rules.normalize)}
        tape.record("output", MatMul(weights_of(tape, adjusted, rules), values))
        for warning in tape.warnings:
            self.tape.warn(warning)
        return tape.steps
