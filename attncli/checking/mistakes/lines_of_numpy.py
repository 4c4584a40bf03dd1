"""Lines of NumPy that turn arrays, where a cause is how they are laid out.

With what a line makes of the arrays of the problem, or of the dump, both agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from attncli.checking.mistakes.convention import Arrays
from attncli.core.attention.position_operations import Rotated
from attncli.core.calculation.mistake import Wrong, is_weight, made_by
from attncli.core.calculation.trace import Trace
from attncli.core.problem.problem import Problem
from attncli.core.records import Record
from attncli.core.tape.evaluation import Change, sources


class Features(Record):
    """The weights, or biases, of some letters, whose features are the axis `at` of each array."""

    names: tuple[str, ...]
    at: int
    before: str  # the sizes of the axes before it, and after it, as `reshape` takes them
    after: str

    @property
    def every(self) -> str:
        return ", ".join(self.names)

    def shape(self, features: str) -> str:
        """Return the sizes of all axes, with those that the features are cut into."""
        return f"{self.before}{features}{self.after}"


def transposed(trace: Trace, change: Change, arrays: Arrays) -> str:
    """Return the line that transposes the matrices of weights that some steps use."""
    used = (source for name in change for source in sources(trace[name]))
    names = [*dict.fromkeys(source.key for source in used if is_weight(source))]
    return _of_each(names, "{w}.T") if _are_plain(trace.problem, names) else ""


def heads_first(trace: Trace, change: Change, arrays: Arrays) -> str:
    """Return the line that exchanges the axes of heads and tokens of some steps of the dump."""
    names = [name for name in arrays if isinstance(change.get(name), Wrong)]
    return _of_each(names, "{w}.swapaxes(-2, -3)")


def pairs_as_in_the_problem(trace: Trace, change: Change, arrays: Arrays) -> str:
    """Return the line that puts the features of each pair where the problem has them."""
    problem, size = trace.problem, trace.problem.sizes.size("d_k") or 0
    rotated = [one for name in change if (one := made_by(Rotated, trace[name]))]
    if problem.past or problem.qk_norm or {one.waves.size for one in rotated} != {size}:
        return ""
    is_halves = rotated[0].waves.pairs == "halves"
    pairs = f"-1, {size // 2}, 2" if is_halves else f"-1, 2, {size // 2}"

    def line(f: Features) -> str:
        exchanged = f"reshape({f.shape(pairs)}).swapaxes({f.at + 1}, {f.at + 2})"
        return _of_each(f.names, f"{{w}}.{exchanged}.reshape({f.shape('-1')})")

    return _of_features(problem, "qk", line)


def cut_per_head(trace: Trace, change: Change, arrays: Arrays) -> str:
    """Return the line that cuts fused weights into heads first, each of which has q, k and v."""
    ends, groups = _ends(trace.problem, 1), trace.problem.kv_heads

    def line(f: Features) -> str:
        fused = f"np.concatenate([{f.every}], {f.at}).reshape({f.shape(f'{groups}, -1')})"
        parts = f"np.split({fused}, {ends}, {f.at + 1})"
        return f"{f.every} = (w.reshape({f.shape('-1')}) for w in {parts})"

    return _of_features(trace.problem, "qkv", line)


def cut_in_three(trace: Trace, change: Change, arrays: Arrays) -> str:
    """Return the line that cuts fused weights in three, which hold q, k and v of each head."""
    groups = trace.problem.kv_heads
    ends = _ends(trace.problem, groups)

    def line(f: Features) -> str:
        of_heads = f"[w.reshape({f.shape(f'{groups}, -1')}) for w in ({f.every})]"
        fused = f"np.concatenate({of_heads}, {f.at + 1}).reshape({f.shape('-1')})"
        return f"{f.every} = np.split({fused}, {ends}, {f.at})"

    return _of_features(trace.problem, "qkv", line)


def _ends(problem: Problem, groups: int) -> list[int]:
    """Return where the features of queries, and then those of keys, end in some groups of heads."""
    d, times = problem.sizes.size("d_k") or 0, problem.heads // problem.kv_heads
    return [groups * times * d, groups * (times + 1) * d]


def _of_features(problem: Problem, letters: str, line: Callable[[Features], str]) -> str:
    """Return the lines for the weights of some letters, and for their biases if there are any."""
    every, arrays = [*_features(problem, letters)], problem.matrices()
    for features in every:
        if not _are_plain(problem, features.names):
            return ""
        others = {np.delete(arrays[name].shape, features.at).tobytes() for name in features.names}
        if len(others) > 1:  # queries and keys are made of tokens of different sizes
            return ""
    return "; ".join(map(line, every))


def _features(problem: Problem, letters: str) -> Iterator[Features]:
    width = problem.sizes.size("d_model")
    before, after = ("", f", {width}") if problem.weights_as == "out_in" else (f"{width}, ", "")
    yield Features(tuple(f"W_{letter}" for letter in letters), int(bool(before)), before, after)
    biases = tuple(f"b_{letter}" for letter in letters)
    if {*biases} & {*problem.given}:
        yield Features(biases, 0, "", "")


def _are_plain(problem: Problem, names: Sequence[str]) -> bool:
    """Return True for matrices, and vectors, of the problem that a line can name and turn."""
    arrays = problem.matrices()
    are_there = all(name.isidentifier() and name in arrays for name in names)
    return are_there and not problem.columns and all(arrays[name].ndim <= 2 for name in names)


def _of_each(names: Sequence[str], expression: str) -> str:
    """Return the line that makes each of some arrays anew, from what it is as {w}."""
    every = ", ".join(names)
    if len(names) == 1:
        return f"{every} = {expression.format(w=every)}"
    return f"{every} = ({expression.format(w='w')} for w in ({every}))"
