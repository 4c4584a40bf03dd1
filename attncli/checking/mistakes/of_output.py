"""Mistakes in what the weights mix, in the heads and in the output."""

from __future__ import annotations

from collections.abc import Iterator

from attncli.attention.heads import MergeHeads, RepeatHeads, SplitHeads
from attncli.checking.mistakes.changes import (
    NO_WORDS,
    Change,
    Changes,
    Words,
    is_named,
    is_w_o,
    made_of,
    rewritten,
)
from attncli.checking.mistakes.wrong_operations import (
    Equal,
    HeadsSummed,
    InterleavedMerge,
    InterleavedSplit,
    LastHeadFirst,
    TakingTurns,
    WithoutHead,
)
from attncli.mechanisms.trace import Trace
from attncli.records import replace
from attncli.tape.operations import Add, MatMul, Scale, Transposed
from attncli.tape.step import Expression, Operation, Step


def other_values(*names: str) -> Changes:
    """Return the changes that the weights mix something else than the values."""

    def changes(step: Step, trace: Trace) -> Iterator[tuple[Change, Words]]:
        del trace
        node = made_of(step)
        if isinstance(node, MatMul) and is_named(node.left, "weights"):
            for name in names:
                for other in _operands_named(node.left, name):
                    made = replace(node, right=_as_shared(node.right, other))
                    yield {step.name: made}, {"used": name}

    return changes


def _as_shared(values: Expression, other: Step) -> Expression:
    return RepeatHeads(other, values.times) if isinstance(values, RepeatHeads) else other


def _operands_named(expression: Expression, name: str) -> Iterator[Step]:
    """Yield the step or input of that name among all from which an expression is made."""
    stack: list[Expression] = [expression]
    seen: set[int] = set()
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, Operation):
            stack.extend(node.operands)
            continue
        if node.name == name:
            yield node
        if node.operation is not None:
            stack.append(node.operation)


def input_instead_of_values(step: Step, trace: Trace) -> Iterator[tuple[Change, Words]]:
    """Weights · X for weights · V; the input cut into heads where there are several."""
    node = made_of(step)
    if not (isinstance(node, MatMul) and is_named(node.left, "weights")):
        return
    for name in ("X", "memory"):
        # In pooling, and between two sentences, an input itself is what is mixed.
        if name in trace.inputs and trace.inputs[name] is not node.right:
            other: Expression = trace.inputs[name]
            if "head" in step.leading:
                cut = SplitHeads(other, trace.problem.heads)
                yield {step.name: replace(node, right=cut)}, {"used": name}
            yield {step.name: replace(node, right=other)}, {"used": name}


def heads_interleaved(node: Expression) -> Iterator[Expression]:
    """Every h-th feature for a piece of neighbours."""
    if isinstance(node, SplitHeads):
        yield InterleavedSplit(node.operand, node.heads)
    elif isinstance(node, MergeHeads):
        yield InterleavedMerge(node.operand)


def heads_in_wrong_order(node: Expression) -> Iterator[Expression]:
    """The last head first."""
    if isinstance(node, MergeHeads):
        yield MergeHeads(LastHeadFirst(node.operand))


def head_missing(step: Step, trace: Trace) -> Iterator[tuple[Change, Words]]:
    """Nothing where the features of one head belong."""
    for head in range(trace.problem.heads if trace.problem.heads > 1 else 0):

        def rule(node: Expression, head: int = head) -> Iterator[Expression]:
            if isinstance(node, MergeHeads):
                yield WithoutHead(node, head, trace.problem.heads)
            elif isinstance(node, MatMul) and is_w_o(node.right):
                yield replace(node, left=WithoutHead(node.left, head, trace.problem.heads))

        for made in rewritten(made_of(step), rule):
            yield {step.name: made}, {"head": str(head + 1)}


def heads_summed(node: Expression) -> Iterator[Expression]:
    """The heads added up where they are to stand side by side."""
    if isinstance(node, MergeHeads):
        yield HeadsSummed(node.operand)


def heads_averaged(step: Step, trace: Trace) -> Iterator[tuple[Change, Words]]:
    """The mean of the heads."""
    made = made_of(step)
    if isinstance(made, MergeHeads):
        mean = Scale(HeadsSummed(made.operand), over=float(trace.problem.heads))
        yield {step.name: mean}, NO_WORDS


def equal_weights(node: Expression) -> Iterator[Expression]:
    """The mean of the values."""
    if isinstance(node, MatMul) and is_named(node.left, "weights"):
        yield replace(node, left=Equal(node.left))


def input_added(step: Step, trace: Trace) -> Iterator[tuple[Change, Words]]:
    """The residual connection of a transformer's block."""
    if step.name == "output" and "X" in trace.inputs:
        yield {step.name: Add(made_of(step), trace.inputs["X"])}, NO_WORDS


def shared_heads_alternate(node: Expression) -> Iterator[Expression]:
    """Query heads that take the key/value heads in turns."""
    if isinstance(node, RepeatHeads):
        yield TakingTurns(node.operand, node.times)


def w_o_missing(node: Expression) -> Iterator[Expression]:
    """The heads side by side as the output."""
    if isinstance(node, Add) and isinstance(node.left, MatMul) and is_w_o(node.left.right):
        yield node.left.left
    if isinstance(node, MatMul) and is_w_o(node.right):
        yield node.left


def attention_transposed(step: Step, trace: Trace) -> Iterator[tuple[Change, Words]]:
    """Aᵀ for A, as it is given or as it is used."""
    del trace
    if step.name.startswith("weights") and len(step.trailing) == 2:
        yield {step.name: Transposed(made_of(step))}, NO_WORDS

    def rule(node: Expression) -> Iterator[Expression]:
        if isinstance(node, MatMul) and is_named(node.left, "weights"):
            yield replace(node, left=Transposed(node.left))

    for other in rewritten(made_of(step), rule):
        yield {step.name: other}, NO_WORDS


def step_transposed(step: Step, trace: Trace) -> Iterator[tuple[Change, Words]]:
    """Rows and columns of the result changed about."""
    del trace
    is_matrix = len(step.trailing) == 2 and max(step.array.shape[-2:]) > 1
    if is_matrix and not step.name.startswith(("scores", "weights")):
        yield {step.name: Transposed(made_of(step))}, {"step": step.name}
