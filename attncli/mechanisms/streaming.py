"""Attention over many tokens when nobody asks for the n × m steps.

The same lines are calculated for some queries at a time, on a tape of their own of which only
the last value is kept: memory grows with n, not with n · m.
"""

from __future__ import annotations

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.attention.weights import Rules, adjust, normalize, score
from attncli.notation.tree import Formula, Listed, Phrase, Words
from attncli.records import replace
from attncli.tape.operations import MIXED, MatMul
from attncli.tape.step import Expression, Operation, Step, notation_of
from attncli.tape.tape import Tape

LARGE = 2**22
"""From how many scores on the n × m steps are not kept: 32 MiB a step in double precision."""

BLOCK = 2**18
"""How many scores are calculated at a time: 2 MiB, about what a processor's cache holds."""

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
    """weights · V, some queries at a time.

    `tape` has the labels for warnings, and takes them; of the steps before, it takes those that are
    wanted, where they may stand alone.
    """

    q: Expression
    k: Expression
    v: Expression
    rules: Rules
    tape: Tape
    why = MIXED

    @property
    def trailing(self) -> tuple[str, ...]:
        return (self.q.trailing[-2], self.v.trailing[-1])

    def apply(self, *arrays: Array) -> Array:
        """(…, n, d_q), (…, m, d_k) and (…, m, d_v) give (…, n, d_v)."""
        q, k, v = arrays
        n, m = q.shape[-2], k.shape[-2]
        lead = np.broadcast_shapes(q.shape[:2], k.shape[:2], v.shape[:2])
        size = max(1, BLOCK // (m * lead[0] * lead[1]))
        result = np.empty((*lead, n, v.shape[-1]), np.result_type(q, v))
        found: dict[str, Step] = {}
        wanted = ROWS & (self.tape.wanted or ROWS)
        for start in range(0, n, size):
            rows = slice(start, min(start + size, n))
            steps = self._block(q[..., rows, :], k, v, rows, n)
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
        return result

    def _block(self, q: Array, k: Array, v: Array, rows: slice, n: int) -> dict[str, Step]:
        """Return the steps of some queries."""
        labels = dict(self.tape.labels)
        numbers = tuple(str(row + 1) for row in range(n))
        labels["query"] = labels.get("query", numbers)[rows]
        tape = Tape(labels, self.tape.columns)
        queries = tape.given("Q", q, ("query", "feature"), self.q.leading)
        keys = tape.given("K", k, ("key", "feature"), self.k.leading)
        values = tape.given("V", v, ("key", "feature"), self.v.leading)
        rules = self.rules.of_rows(rows, n)
        weights = normalize(tape, adjust(tape, score(tape, queries, keys, rules), rules), rules)
        tape.record("output", MatMul(weights, values))
        for warning in tape.warnings:
            self.tape.warn(warning)
        return tape.steps

    def notation(self, columns: bool) -> Formula:
        # In words, as no step of it is kept.
        q, k, v = (notation_of(part, columns) for part in (self.q, self.k, self.v))
        return Listed((Phrase((Words("attention of"), q)), k, v, Words("some queries at a time")))
