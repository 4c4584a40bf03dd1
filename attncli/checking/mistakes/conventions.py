"""The conventions in which programs differ: each is made in the whole of a calculation.

A convention is a row of `CONVENTIONS`: what is said of it, and what is calculated instead, other
operations in the steps or another problem.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from attncli.checking.answers.answers import read_submission
from attncli.checking.judging.judged_steps import Finding
from attncli.checking.judging.operands import Reference
from attncli.checking.judging.readings import Way
from attncli.checking.mistakes import lines_of_numpy, of_masks, of_scores, of_weights
from attncli.checking.mistakes.convention import Arrays, Convention, Keys, Search
from attncli.checking.mistakes.conventions_of_layouts import OF_LAYOUTS
from attncli.checking.mistakes.conventions_of_places import OF_PLACES, causal
from attncli.checking.mistakes.conventions_of_programs import OF_PROGRAMS
from attncli.core.calculation.compute import compute
from attncli.core.calculation.mistake import (
    Blanks,
    Changes,
    Mistake,
    Nodes,
    Ways,
    is_named,
    is_weight,
    made_of,
    mistake,
    wrong,
)
from attncli.core.calculation.trace import Trace
from attncli.core.errors import InputError
from attncli.core.problem.problem import Problem
from attncli.core.records import EMPTY, replace
from attncli.core.tape.evaluation import Change, transform
from attncli.core.tape.operations import MatMul, Transposed
from attncli.core.tape.step import Expression, Step


def by_conventions(
    trace: Trace, arrays: Arrays, ids: Iterable[str] | None = None
) -> Iterator[tuple[Finding, Change | Problem]]:
    """Yield the other ways of calculating a problem, each with what is said of it.

    `arrays` has the numbers that the program gives, where they have the shape of their step.
    """
    for id_ in CONVENTIONS if ids is None else ids:
        convention = CONVENTIONS[id_]
        in_each = (_in_every_step(search, trace) for search in convention.searches)
        together = convention.whole(trace, arrays) if convention.whole else ()
        for change, words in chain(in_each, together):
            if change:
                line = convention.line(trace, change, arrays) if convention.line else ""
                yield _finding(id_, trace.problem, words, line), change
        yield from _other_problems(id_, trace.problem)


def _other_problems(id_: str, problem: Problem) -> Iterator[tuple[Finding, Problem]]:
    convention = CONVENTIONS[id_]
    for keys in convention.keys(problem) if convention.keys else ():
        with suppress(InputError):  # the keys do not go together
            yield _finding(id_, problem), problem.with_keys(keys)


def of_another_problem(way: Way) -> Finding | None:
    """Return the convention by which a submission is another problem that is worked right."""
    make = partial(_references, way.reference.trace.problem)
    with suppress(InputError):  # of a way that is read otherwise
        unread = len(read_submission(way.submission, way.reference.trace)[1])
        for finding, reference in way.reference.kept(("other problems",), make):
            with suppress(InputError):
                matrices, skipped = read_submission(way.submission, reference.trace)
                if len(skipped) <= unread and not Way(reference, matrices, way.submission).wrong:
                    return finding
    return None


def _references(problem: Problem) -> list[tuple[Finding, Reference]]:
    every = (pair for id_ in CONVENTIONS for pair in _other_problems(id_, problem))
    return [(finding, Reference(compute(other))) for finding, other in every]


def _in_every_step(search: Search, trace: Trace) -> tuple[Change, Blanks]:
    change, words = dict[str, Expression](), dict[str, Any]()
    for step in (step for step in trace if step.operation is not None):
        first, said = next(iter(search(step, trace)), (EMPTY, EMPTY))
        change |= first
        words |= said
    return change, words


def _finding(id_: str, problem: Problem, words: Blanks = EMPTY, line: str = "") -> Finding:
    """Return a convention as it is said of a problem, whose weights may be (out, in)."""
    convention = CONVENTIONS[id_]
    message, advice = convention.message, convention.advice
    if convention.out_in and problem.weights_as == "out_in":
        message, advice = convention.out_in
    sizes = {name: problem.sizes.size(name) for name in ("d_k", "d_v", "d_model")}
    blanks = {**sizes, "heads": problem.heads, **words}
    advice = advice.format(**blanks) + f" In NumPy: {line}" * bool(line)
    return Finding(id_, message.format(**blanks), advice)


def _only_in(row: Mistake, *names: str) -> Search:
    return lambda step, trace: (
        row.changes(step, trace) if step.plain.startswith(names) else iter(())
    )


def _if_cut(row: Mistake) -> Search:
    """Return the search of a mistake where heads are cut, and not just joined."""
    return lambda step, trace: iter(()) if "Q" in trace.inputs else row.changes(step, trace)


@mistake("", "")
def _interleaved(step: Step, trace: Trace) -> Changes:
    turns = of_weights.split_in_turns, of_weights.merged_in_turns
    return of_weights.other_heads(step, trace, *turns)


def _weights_transposed(*names: str) -> Search:
    def transposed(node: MatMul) -> Nodes:
        if is_weight(node.right) and (not names or is_named(node.right, names)):
            yield replace(node, right=Transposed(node.right))

    return mistake("", "")(transposed).changes


def _batch_second(step: Step, trace: Trace) -> Ways:
    """Take the first axis of X for the tokens and the second for the batch, also in the output."""

    def swapped(array: Any) -> Any:
        return np.swapaxes(array, 0, 2)

    x = trace.inputs.get("X")
    if x is not None and "batch" in x.leading and not step.backward:
        other = transform(made_of(step), lambda part: wrong(swapped, x) if part is x else part)
        other = wrong(swapped, other) if step is trace.last else other
        if other is not step.operation:
            yield {step.name: other}, {}


def _one_head(problem: Problem) -> Iterator[Keys]:
    if problem.heads > 1:
        one: Keys = {"heads": 1, "kv_heads": None}
        yield one
        if "scale" not in problem.given:
            yield {**one, "scale": f"1/sqrt({problem.sizes['d_k']})"}


def _scaled_by_value(problem: Problem) -> Iterator[Keys]:
    """Divide by √d_v, another problem, so that it is named in handwork, too."""
    d_k, d_v = problem.sizes.size("d_k"), problem.sizes.size("d_v")
    if "scale" not in problem.given and d_v and d_k != d_v:
        yield {"scale": f"1/sqrt({d_v})"}


SPLIT, MERGED = ("Q", "K", "V", "scores", "context"), ("concat", "output")
"""First parts of the names of steps in which features are cut into heads, or heads are joined."""

CONVENTIONS: dict[str, Convention] = {
    "weights_out_in": Convention(
        "The weight matrices were stored as (out, in), as programs do: their transposes were used.",
        "Write weights_as: out_in, or transpose them.",
        (_weights_transposed(), _weights_transposed("W_q", "W_k", "W_v")),
        line=lines_of_numpy.transposed,
        out_in=(
            "The weight matrices were used as they are stored, (out, in), without a transpose.",
            "Transpose them, as nn.Linear does, or leave out weights_as.",
        ),
    ),
    "w_o_transposed": Convention(
        "The transpose of W_o was used.",
        "Transpose W_o, or use it as concat W_o.",
        (_weights_transposed("W_o"),),
        line=lines_of_numpy.transposed,
        out_in=("W_o was used as it is stored, (out, in), without a transpose.", "Transpose W_o."),
    ),
    "heads_interleaved": Convention(
        "Neighbouring features went to different heads.",
        "Cut the features into contiguous pieces: reshape to (n, heads, d), not (n, d, heads).",
        (_interleaved.changes, _only_in(_interleaved, *SPLIT), _only_in(_interleaved, *MERGED)),
    ),
    "heads_reshaped": Convention(
        "The features were cut into heads without a transpose.",
        "Reshape to (n, heads, d), then exchange the first two axes.",
        (_only_in(of_weights.heads_reshaped, *SPLIT), _if_cut(of_weights.heads_reshaped)),
    ),
    "heads_joined": Convention(
        "The heads were joined without a transpose.",
        "Exchange the axes of heads and tokens before the reshape to (n, heads · d).",
        (_only_in(of_weights.heads_reshaped, *MERGED),),
    ),
    "kv_repeated": Convention(
        "The heads of keys and values were repeated as a whole, so query heads take them in turns.",
        "Repeat each head for its neighbours: repeat_interleave, not repeat.",
        (of_weights.shared_heads_alternate.changes,),
    ),
    "heads_ignored": Convention(
        "One head was worked with: this problem has {heads} heads of {d_k} features.",
        "Cut Q, K and V into {heads} heads, and divide the scores of each by √{d_k}.",
        keys=_one_head,
    ),
    "mask_inverted": Convention(
        "The mask was read the other way: where it lets a key through, the key was blocked.",
        "Write mask: {{block: …}}, or exchange 0 and 1.",
        (of_masks.mask_inverted.changes,),
    ),
    "causal_strict": Convention(
        "The causal mask blocks a token's own key, too.",
        "Keep the diagonal: a token sees itself.",
        (causal(lambda _, placed: {**placed, "offset": placed.get("offset", 0) - 1}),),
    ),
    "causal_bottom_right": Convention(
        "The causal mask is aligned at the bottom right: the last query sees every key.",
        "Write mask: {{causal: true, align: bottom-right}}.",
        (causal(lambda written, _: {**written, "align": "bottom-right"}),),
    ),
    "softmax_over_queries": Convention(
        "The softmax was taken over the queries.",
        "Take it over the keys, the last axis: each row sums to 1.",
        (of_weights.softmax_over_queries.changes,),
    ),
    "not_scaled": Convention(
        "The scores were not scaled.",
        "Divide them by √d_k, or write scale: 1.",
        (_only_in(of_scores.not_scaled, "scaled"),),
    ),
    "scaled_by_d_k": Convention(
        "The scores were divided by d_k, not by √d_k.",
        "Divide them by √d_k, or write scale: 1/d_k.",
        (_only_in(of_scores.scaled_by_d_k, "scaled"),),
    ),
    "scaled_by_sqrt_d_model": Convention(
        "The scores were divided by √d_model, not by √d_k.",
        "Take the size of one head, or write scale: 1/sqrt(d_model).",
        (_only_in(of_scores.scaled_by_sqrt_d_model, "scaled"),),
    ),
    "scaled_by_sqrt_d_v": Convention(
        "The scores were divided by √d_v, not by √d_k.",
        "Divide by the root of the size of a key, {d_k}, not of a value, {d_v}.",
        keys=_scaled_by_value,
    ),
    "swapped_q_k": Convention(
        "Q and K have changed places.",
        "Queries come from W_q, keys from W_k.",
        (_only_in(of_scores.swapped_q_k, "scores"), _only_in(of_scores.swapped_q_k, "Q", "K")),
    ),
    "batch_second": Convention(
        "The first axis of X was taken for the tokens, the second for the batch.",
        "Exchange the first two axes of X, or set batch_first.",
        (_batch_second,),
    ),
    **OF_PROGRAMS,
    **OF_LAYOUTS,
    **OF_PLACES,
}
