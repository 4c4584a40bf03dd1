"""The catalogue of mistakes: each is the same operation with one thing done wrong.

A mistake looks at how a step is made and yields what somebody would calculate instead; whether
that is what a student did is for the numbers to say. To add one: write a function that takes a
step and the calculation and yields changes (steps by name, each with another expression), give it
a row in `MISTAKES`, and a student who makes it in `tests/students.py`.

The order of the rows is the order in which explanations are preferred: the simpler first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import sqrt
from typing import TypeAlias

import numpy as np

from attncli.checking.wrong_operations import (
    Instead,
    InterleavedConcat,
    InterleavedCut,
    Negative,
    Opposite,
    Product,
    Reversed,
    TakingTurns,
)
from attncli.heads import Concat, Cut, Shared
from attncli.masks import Mask, Masked
from attncli.normalizers import Power, Total, Unblocked
from attncli.operations import Add, Divide, Joined, MatMul, Scale, SoftCap, Tanh, Transposed
from attncli.records import Record, replace
from attncli.scores import Cosine, GaussianExponent, JoinedPairs
from attncli.trace import Expression, Operation, Step, Trace

Change: TypeAlias = Mapping[str, Expression]
"""What is calculated instead, by the name of the step."""

Rule: TypeAlias = Callable[[Expression], Iterator[Expression]]
"""What may wrongly stand in the place of one expression."""


class Mistake(Record):
    """One row of the catalogue.

    Attributes:
        changes: yields what would be calculated instead in a step, with the words that the
            sentence leaves open.
        sentence: what was done.
        advice: what to do.
    """

    changes: Callable[[Step, Trace], Iterator[tuple[Change, Mapping[str, str]]]]
    sentence: str
    advice: str


def rewritten(expression: Expression, rule: Rule) -> Iterator[Expression]:
    """Yield an expression with one place of it changed by a rule."""
    yield from rule(expression)
    if isinstance(expression, Step):
        return
    for name in expression.fields:
        part = getattr(expression, name)
        if isinstance(part, Step | Operation):
            for other in rewritten(part, rule):
                yield replace(expression, **{name: other})


NO_WORDS: Mapping[str, str] = {}


def by_rule(rule: Rule) -> Callable[[Step, Trace], Iterator[tuple[Change, Mapping[str, str]]]]:
    """Return the changes that a rule makes in how a step is made."""

    def changes(step: Step, trace: Trace) -> Iterator[tuple[Change, Mapping[str, str]]]:
        del trace
        for other in rewritten(_made(step), rule):
            yield {step.name: other}, NO_WORDS

    return changes


def _made(step: Step) -> Expression:
    assert step.operation is not None  # by a step of the calculation
    return step.operation


def _is_input(expression: Expression) -> bool:
    return isinstance(expression, Step) and expression.operation is None


def _is_projection(expression: Expression) -> bool:
    """Whether it is a matrix or vector of the problem that is applied to tokens."""
    return _is_input(expression) and expression.trailing[0] not in ("query", "key", "time")


# ---- the scale


def not_scaled(node: Expression) -> Iterator[Expression]:
    """The scores as they are."""
    if isinstance(node, Scale):
        yield node.operand


def scaled_by(*letters: str) -> Callable[[Step, Trace], Iterator[tuple[Change, Mapping[str, str]]]]:
    """Return the changes that divide by something else than √d_k: `d_k`, `sqrt d_model`, ….

    Each letter is a size of the problem; "√" before it takes the root. d_model is the width of
    the input, and of all heads together.
    """

    def changes(step: Step, trace: Trace) -> Iterator[tuple[Change, Mapping[str, str]]]:
        scale = _made(step)
        if not isinstance(scale, Scale) or "√d_k" not in scale.formula:
            return
        for letter in letters:
            for size in _sizes(letter.removeprefix("√"), trace):
                by = sqrt(size) if letter.startswith("√") else float(size)
                other = replace(scale, times=1.0, over=by)
                shown = (
                    f"{letter} = √{size} = {by:.4g}" if letter[0] == "√" else f"{letter} = {by:g}"
                )
                words = {"by": shown, "right": scale.value or scale.formula.removeprefix("/ ")}
                yield {step.name: other}, words

    return changes


def _sizes(letter: str, trace: Trace) -> list[int]:
    sizes = trace.problem.sizes
    found = [sizes[letter]] if letter in sizes else []
    if letter == "d_model" and "d_k" in sizes:
        found.append(sizes["d_k"] * trace.problem.heads)
    return list(dict.fromkeys(found))


def scaled_twice(node: Expression) -> Iterator[Expression]:
    """The factor applied twice."""
    if isinstance(node, Scale):
        yield replace(node, operand=node)


def scale_inverted(node: Expression) -> Iterator[Expression]:
    """Multiplied where it is to be divided, or the other way round."""
    if isinstance(node, Scale):
        yield replace(node, times=node.over, over=node.times)


def scaled_needlessly(step: Step, trace: Trace) -> Iterator[tuple[Change, Mapping[str, str]]]:
    """Divided by √d_k where the problem does not ask for it, or one step too early."""
    if step.name.startswith("scores") and "d_k" in trace.problem.sizes:
        root = sqrt(trace.problem.sizes["d_k"])
        words = {
            "when": "which comes one step later" if "scaled" in trace else "not asked for here"
        }
        yield {step.name: Scale(_made(step), 1.0, root, "/ √d_k")}, words


# ---- the scores


def step_transposed(step: Step, trace: Trace) -> Iterator[tuple[Change, Mapping[str, str]]]:
    """Rows and columns of the result changed about."""
    del trace
    if len(step.trailing) == 2 and not step.name.startswith(("scores", "weights")):
        yield {step.name: Transposed(_made(step))}, {"step": step.name}


def scores_transposed(step: Step, trace: Trace) -> Iterator[tuple[Change, Mapping[str, str]]]:
    """K Qᵀ."""
    del trace
    if step.name.startswith("scores") and len(step.trailing) == 2:
        yield {step.name: Transposed(_made(step))}, NO_WORDS


def attention_transposed(step: Step, trace: Trace) -> Iterator[tuple[Change, Mapping[str, str]]]:
    """Aᵀ for A, as it is given or as it is used."""
    del trace
    if step.name.startswith("weights") and len(step.trailing) == 2:
        yield {step.name: Transposed(_made(step))}, NO_WORDS

    def rule(node: Expression) -> Iterator[Expression]:
        if isinstance(node, MatMul) and _is_named(node.left, "weights"):
            yield replace(node, left=Transposed(node.left))

    for other in rewritten(_made(step), rule):
        yield {step.name: other}, NO_WORDS


def _is_named(expression: Expression, name: str) -> bool:
    return isinstance(expression, Step) and expression.name.startswith(name)


def key_not_transposed(node: Expression) -> Iterator[Expression]:
    """Q K."""
    if isinstance(node, MatMul) and isinstance(node.right, Transposed):
        inner = node.right.operand
        if not _is_projection(inner):
            yield replace(node, right=inner)


def weights_matrix_transposed(node: Expression) -> Iterator[Expression]:
    """X Wᵀ for X W, and the other way round."""
    if isinstance(node, Transposed) and _is_projection(node.operand):
        yield node.operand
    elif isinstance(node, MatMul) and _is_projection(node.right):
        yield replace(node, right=Transposed(node.right))


def factors_exchanged(node: Expression) -> Iterator[Expression]:
    """W X for X W."""
    if isinstance(node, MatMul):
        yield replace(node, left=node.right, right=node.left)


def elementwise_product(node: Expression) -> Iterator[Expression]:
    """Each number times the one at its own place."""
    if isinstance(node, MatMul):
        right = node.right.operand if isinstance(node.right, Transposed) else node.right
        yield Product(node.left, right)
        if right is not node.right:
            yield Product(node.left, node.right)


def projection_missing(node: Expression) -> Iterator[Expression]:
    """X for X W."""
    if isinstance(node, MatMul) and _is_projection(node.right) and not _is_w_o(node.right):
        yield node.left


def swapped(
    one: str, other: str
) -> Callable[[Step, Trace], Iterator[tuple[Change, Mapping[str, str]]]]:
    """Return the changes of two of Q, K and V taken for each other."""

    def changes(step: Step, trace: Trace) -> Iterator[tuple[Change, Mapping[str, str]]]:
        if one not in trace or other not in trace:
            return
        if step.name == one:
            yield {one: _made(trace[other]), other: _made(trace[one])}, NO_WORDS
        elif step.name == other:
            yield {other: _made(trace[one]), one: _made(trace[other])}, NO_WORDS
        elif step.name.startswith("scores"):
            exchange = {one: trace[other], other: trace[one]}
            made = _with_steps(_made(step), exchange)
            if made is not step.operation:
                yield {step.name: made}, NO_WORDS

    return changes


def _with_steps(expression: Expression, others: Mapping[str, Step]) -> Expression:
    """Return an expression with some steps in the place of others."""
    if isinstance(expression, Step):
        return others.get(expression.name, expression)
    changed = {}
    for name in expression.fields:
        part = getattr(expression, name)
        if isinstance(part, Step | Operation):
            found = _with_steps(part, others)
            if found is not part:
                changed[name] = found
    return replace(expression, **changed) if changed else expression


def lengths_forgotten(node: Expression) -> Iterator[Expression]:
    """q·k for the cosine."""
    if isinstance(node, Cosine):
        yield MatMul(node.q, Transposed(node.k))


def sign_of_distance(node: Expression) -> Iterator[Expression]:
    """The squared distance without its minus."""
    if isinstance(node, GaussianExponent):
        yield Scale(node, -1.0, 1.0, "· -1")


def half_forgotten(node: Expression) -> Iterator[Expression]:
    """The squared distance divided by width², or by nothing."""
    if isinstance(node, GaussianExponent):
        yield Scale(node, 2.0, 1.0, "· 2")
        if node.width != 1:
            yield Scale(node, 2.0 * node.width**2, 1.0, "· 2 width²")


def tanh_missing(node: Expression) -> Iterator[Expression]:
    """The argument of the tanh for the tanh."""
    if isinstance(node, Tanh | SoftCap):
        yield node.operand


def joined_in_wrong_order(node: Expression) -> Iterator[Expression]:
    """[k; q] for [q; k]."""
    if isinstance(node, Joined):
        yield replace(node, left=node.right, right=node.left)
    elif isinstance(node, JoinedPairs):
        yield Reversed(node)
    elif isinstance(node, Operation) and "parts" in node.fields and "joined" in node.trailing:
        yield replace(node, parts=tuple(reversed(node.operands)))


def bias_missing(node: Expression) -> Iterator[Expression]:
    """The sum without the bias."""
    if isinstance(node, Add) and _is_input(_uncut(node.right)):
        yield node.left


def _uncut(expression: Expression) -> Expression:
    return expression.operand if isinstance(expression, Cut) else expression


# ---- the mask


def mask_missing(node: Expression) -> Iterator[Expression]:
    """The scores without a mask."""
    if isinstance(node, Masked):
        yield node.operand


def mask_inverted(node: Expression) -> Iterator[Expression]:
    """Blocked where it may attend."""
    if isinstance(node, Masked):
        yield replace(node, mask=Opposite(node.mask))


def mask_as_zero(node: Expression) -> Iterator[Expression]:
    """0 for −∞ in a blocked cell."""
    if isinstance(node, Masked):
        yield Product(node.operand, node.mask)


def mask_transposed(node: Expression) -> Iterator[Expression]:
    """The other triangle."""
    if isinstance(node, Masked):
        yield replace(node, mask=Transposed(node.mask))


def mask_off_by_one(step: Step, trace: Trace) -> Iterator[tuple[Change, Mapping[str, str]]]:
    """One key more or less on one side of a causal mask or a window, or of the real keys."""
    made = _made(step)
    if isinstance(made, Masked) and isinstance(made.mask, Step):
        n, m = step.array.shape[-2:]
        kept = made.mask.array
        if trace.problem.rules.mask.window is not None:  # each query without its own place
            yield {step.name: replace(made, mask=Instead(made.mask, kept * (1 - np.eye(n, m))))}, {}
        given = [trace.problem.rules.mask]
        if kept.shape[:2] == (1, 1) and np.array_equal(kept, np.tril(np.ones_like(kept))):
            given.append(Mask(causal=True))  # however it was written
        for mask in (other for one in given for other in _moved(one)):
            other = mask(n, m)
            other = np.ones((1, 1, n, m)) if other is None else other
            yield {step.name: replace(made, mask=Instead(made.mask, other))}, NO_WORDS


def _moved(mask: Mask) -> Iterator[Mask]:
    """Yield masks with one bound moved by one key."""
    for by in (1, -1):
        if mask.causal:
            yield replace(mask, offset=mask.offset + by)
        if mask.lengths is not None:
            yield replace(mask, lengths=mask.lengths + by)
        for side in range(2 if mask.window is not None else 0):
            assert mask.window is not None
            bounds = list(mask.window)
            if bounds[side] > 0 or (bounds[side] == 0 and by > 0):
                bounds[side] += by
                yield replace(mask, window=(bounds[0], bounds[1]))


def mask_after_softmax(step: Step, trace: Trace) -> Iterator[tuple[Change, Mapping[str, str]]]:
    """Weights of all cells, the blocked ones then set to 0."""
    if not step.name.startswith("weights"):
        return
    masked = next((s for s in trace if isinstance(s.operation, Masked)), None)
    if masked is None or not isinstance(masked.operation, Masked):
        return
    kept = Product(_made(step), masked.operation.mask)
    yield {masked.name: masked.operation.operand, step.name: kept}, NO_WORDS


# ---- the normaliser


def _other_way(along: int) -> int:
    return -3 - along  # the axes are −1 and −2


def softmax_over_queries(node: Expression) -> Iterator[Expression]:
    """Columns that sum to 1 for rows."""
    if isinstance(node, Total):
        yield Transposed(replace(node, along=_other_way(node.along)))
    elif (total := _total_of(node)) is not None and isinstance(node, Divide):
        yield replace(node, divisor=replace(total, along=_other_way(total.along)))


def softmax_over_all(node: Expression) -> Iterator[Expression]:
    """One sum for the whole matrix."""
    if isinstance(node, Total):
        yield Total(node, _other_way(node.along))
    elif (total := _total_of(node)) is not None and isinstance(node, Divide):
        yield replace(node, divisor=Total(total, _other_way(total.along)))


def _total_of(node: Expression) -> Total | None:
    """Return the sum that a quotient divides by."""
    if isinstance(node, Divide) and isinstance(node.divisor, Step):
        made = node.divisor.operation
        return made if isinstance(made, Total) else None
    return None


def not_normalized(node: Expression) -> Iterator[Expression]:
    """What is to be divided by its sum, undivided."""
    if isinstance(node, Divide) and _total_of(node) is not None:
        yield node.dividend
    elif isinstance(node, MatMul) and isinstance(node.left, Step):
        made = node.left.operation
        if isinstance(made, Divide) and _total_of(made) is not None:
            yield replace(node, left=made.dividend)


def not_exponentiated(node: Expression) -> Iterator[Expression]:
    """The scores themselves divided by their sum."""
    if isinstance(node, Power):
        yield _tempered(node)
    elif isinstance(node, Divide) and (power := _power_of(node)) is not None:
        total = _total_of(node)
        if total is not None:
            yield Divide(_tempered(power), Total(_tempered(power), total.along))


def _tempered(power: Power) -> Expression:
    scores = Unblocked(power.operand)
    return Scale(scores, 1.0, power.temperature, "") if power.temperature != 1 else scores


def _power_of(node: Divide) -> Power | None:
    made = node.dividend.operation if isinstance(node.dividend, Step) else None
    return made if isinstance(made, Power) else None


def scores_as_weights(node: Expression) -> Iterator[Expression]:
    """The values mixed by scores that no softmax has seen."""
    if isinstance(node, MatMul) and isinstance(node.left, Step):
        made = node.left.operation
        if isinstance(made, Divide) and (power := _power_of(made)) is not None:
            yield replace(node, left=_tempered(power))


def temperature_missing(node: Expression) -> Iterator[Expression]:
    """Temperature 1."""
    if isinstance(node, Power) and node.temperature != 1:
        yield replace(node, temperature=1.0)


def temperature_inverted(node: Expression) -> Iterator[Expression]:
    """Multiplied by the temperature."""
    if isinstance(node, Power) and node.temperature != 1:
        yield replace(node, temperature=1 / node.temperature)


def wrong_base(node: Expression) -> Iterator[Expression]:
    """2, 10 or e in the place of the base."""
    if isinstance(node, Power):
        for base in (2.0, 10.0, np.e):
            if base != node.base:
                yield replace(node, base=base)


def exponent_sign(node: Expression) -> Iterator[Expression]:
    """e^−s for e^s."""
    if isinstance(node, Power):
        yield replace(node, operand=Negative(node.operand))


# ---- the values, the heads, the output


def other_values(*names: str) -> Rule:
    """Return the rule that weights mix something else than the values."""

    def rule(node: Expression) -> Iterator[Expression]:
        if isinstance(node, MatMul) and _is_named(node.left, "weights"):
            for name in names:
                for other in _operands_named(node.left, name):
                    yield replace(node, right=_as_shared(node.right, other))

    return rule


def _as_shared(values: Expression, other: Step) -> Expression:
    return Shared(other, values.times) if isinstance(values, Shared) else other


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


def input_instead_of_values(step: Step, trace: Trace) -> Iterator[tuple[Change, Mapping[str, str]]]:
    """Weights · X for weights · V; the input cut into heads where there are several."""
    node = _made(step)
    if not (isinstance(node, MatMul) and _is_named(node.left, "weights")):
        return
    for name in ("X", "memory"):
        if name in trace.inputs:
            other: Expression = trace.inputs[name]
            if "head" in step.leading:
                yield {step.name: replace(node, right=Cut(other, trace.problem.heads))}, NO_WORDS
            yield {step.name: replace(node, right=other)}, NO_WORDS


def heads_interleaved(node: Expression) -> Iterator[Expression]:
    """Every h-th feature for a piece of neighbours."""
    if isinstance(node, Cut):
        yield InterleavedCut(node.operand, node.heads)
    elif isinstance(node, Concat):
        yield InterleavedConcat(node.operand)


def shared_heads_alternate(node: Expression) -> Iterator[Expression]:
    """Query heads that take the key/value heads in turns."""
    if isinstance(node, Shared):
        yield TakingTurns(node.operand, node.times)


def _is_w_o(expression: Expression) -> bool:
    return _is_named(expression, "W_o")


def w_o_missing(node: Expression) -> Iterator[Expression]:
    """The heads side by side as the output."""
    if isinstance(node, Add) and isinstance(node.left, MatMul) and _is_w_o(node.left.right):
        yield node.left.left
    if isinstance(node, MatMul) and _is_w_o(node.right):
        yield node.left


MISTAKES: dict[str, Mistake] = {
    "not_scaled": Mistake(
        by_rule(not_scaled), "The scores were not scaled.", "Divide every score by √d_k."
    ),
    "scaled_by_d_k": Mistake(
        scaled_by("d_k"),
        "The scores were divided by {by}, not by {right}.",
        "Take the root of d_k.",
    ),
    "scaled_by_sqrt_d_model": Mistake(
        scaled_by("√d_model"),
        "The scores were divided by {by}, not by {right}.",
        "Scale by the size of one head's key, not by the width of the input.",
    ),
    "scaled_by_sqrt_n": Mistake(
        scaled_by("√m", "√n"),
        "The scores were divided by {by}, not by {right}.",
        "Scale by the size of a key, not by the number of tokens.",
    ),
    "scaled_twice": Mistake(by_rule(scaled_twice), "The scores were scaled twice.", "Scale once."),
    "scale_inverted": Mistake(
        by_rule(scale_inverted),
        "The scores were multiplied where they are to be divided.",
        "Divide every score by √d_k.",
    ),
    "scaled_needlessly": Mistake(
        scaled_needlessly,
        "The scores were divided by √d_k, {when}.",
        "Leave the scores as they are in this step.",
    ),
    "scores_transposed": Mistake(
        scores_transposed,
        "The scores stand transposed: rows are keys and columns are queries.",
        "Calculate Q Kᵀ: row i holds what query i says of each key.",
    ),
    "key_not_transposed": Mistake(
        by_rule(key_not_transposed),
        "K was not transposed: this is Q K.",
        "Take the dot product of a row of Q and a row of K.",
    ),
    "weights_matrix_transposed": Mistake(
        by_rule(weights_matrix_transposed),
        "The weight matrix was transposed.",
        "Multiply by the matrix as it is written.",
    ),
    "factors_exchanged": Mistake(
        by_rule(factors_exchanged),
        "The factors of the product have changed places.",
        "Keep the order of the formula: A B is not B A.",
    ),
    "elementwise_product": Mistake(
        by_rule(elementwise_product),
        "The matrices were multiplied number by number.",
        "Multiply rows by columns and add up.",
    ),
    "projection_missing": Mistake(
        by_rule(projection_missing),
        "The input was not multiplied by its weight matrix.",
        "Multiply by the matrix first.",
    ),
    "swapped_q_k": Mistake(
        swapped("Q", "K"), "Q and K have changed places.", "Queries come from W_q, keys from W_k."
    ),
    "swapped_k_v": Mistake(
        swapped("K", "V"), "K and V have changed places.", "Keys come from W_k, values from W_v."
    ),
    "swapped_q_v": Mistake(
        swapped("Q", "V"), "Q and V have changed places.", "Queries come from W_q, values from W_v."
    ),
    "bias_missing": Mistake(by_rule(bias_missing), "The bias was not added.", "Add the bias."),
    "tanh_missing": Mistake(
        by_rule(tanh_missing), "The tanh was left out.", "Take the tanh of every number."
    ),
    "joined_in_wrong_order": Mistake(
        by_rule(joined_in_wrong_order),
        "The two parts were put together in the wrong order.",
        "Keep the order of the formula: [q; k] is not [k; q].",
    ),
    "lengths_forgotten": Mistake(
        by_rule(lengths_forgotten),
        "The dot products were not divided by the lengths of the vectors.",
        "Divide q·k by ‖q‖ ‖k‖.",
    ),
    "sign_of_distance": Mistake(
        by_rule(sign_of_distance),
        "The minus before the squared distance is missing.",
        "The farther a key, the lower its score: −‖q − k‖².",
    ),
    "half_forgotten": Mistake(
        by_rule(half_forgotten),
        "The squared distance was not divided by 2·width².",
        "Divide by 2·width².",
    ),
    "mask_missing": Mistake(
        by_rule(mask_missing),
        "The mask was not applied.",
        "Put −∞ where the mask is 0, before the softmax.",
    ),
    "mask_inverted": Mistake(
        by_rule(mask_inverted),
        "The mask was applied the other way round: 1 means that a query may attend.",
        "Block the cells where the mask is 0.",
    ),
    "mask_as_zero": Mistake(
        by_rule(mask_as_zero),
        "Blocked scores were set to 0, and e^0 = 1 is not nothing.",
        "Put −∞ in blocked cells: e^−∞ = 0.",
    ),
    "mask_transposed": Mistake(
        by_rule(mask_transposed),
        "The mask stands transposed: the wrong triangle is blocked.",
        "A row of the mask is a query: query i sees the keys j ≤ i.",
    ),
    "mask_off_by_one": Mistake(
        mask_off_by_one,
        "The mask is off by one key.",
        "A causal mask keeps the diagonal: a token sees itself and what is before it.",
    ),
    "mask_after_softmax": Mistake(
        mask_after_softmax,
        "The mask was applied after the softmax, so the weights no longer sum to 1.",
        "Put −∞ into the scores before the softmax.",
    ),
    "softmax_over_queries": Mistake(
        by_rule(softmax_over_queries),
        "The softmax runs over the wrong axis: the other lines sum to 1.",
        "Every query's weights sum to 1 over its keys.",
    ),
    "softmax_over_all": Mistake(
        by_rule(softmax_over_all),
        "The softmax runs over the whole matrix at once.",
        "Divide each row by its own sum.",
    ),
    "not_normalized": Mistake(
        by_rule(not_normalized),
        "The numbers were not divided by the sum of their row.",
        "Divide each number by the sum of its row.",
    ),
    "not_exponentiated": Mistake(
        by_rule(not_exponentiated),
        "The scores were taken as they are: no e^ was calculated.",
        "Take e^ of every score, then divide by the row's sum.",
    ),
    "scores_as_weights": Mistake(
        by_rule(scores_as_weights),
        "The values were mixed by the scores: there was no softmax.",
        "Multiply the weights by V.",
    ),
    "temperature_missing": Mistake(
        by_rule(temperature_missing),
        "The temperature was left out.",
        "Divide the scores by the temperature.",
    ),
    "temperature_inverted": Mistake(
        by_rule(temperature_inverted),
        "The scores were multiplied by the temperature.",
        "Divide the scores by the temperature.",
    ),
    "wrong_base": Mistake(
        by_rule(wrong_base),
        "The base of the powers is another one.",
        "Use the base that is asked for.",
    ),
    "exponent_sign": Mistake(
        by_rule(exponent_sign),
        "The exponents have the wrong sign.",
        "The largest score gets the largest weight: e^s, not e^−s.",
    ),
    "attention_transposed": Mistake(
        attention_transposed,
        "The weights stand transposed.",
        "Row i of the weights belongs to query i: output = weights V.",
    ),
    "input_instead_of_values": Mistake(
        input_instead_of_values,
        "The weights were multiplied by the input, not by V.",
        "Multiply the weights by V.",
    ),
    "keys_instead_of_values": Mistake(
        by_rule(other_values("K", "hidden")),
        "The weights were multiplied by the keys, not by the values.",
        "Multiply the weights by V.",
    ),
    "queries_instead_of_values": Mistake(
        by_rule(other_values("Q")),
        "The weights were multiplied by Q, not by V.",
        "Multiply the weights by V.",
    ),
    "heads_interleaved": Mistake(
        by_rule(heads_interleaved),
        "Neighbouring features went to different heads.",
        "A head is a contiguous piece: the first d_k features are head 1.",
    ),
    "shared_heads_alternate": Mistake(
        by_rule(shared_heads_alternate),
        "The query heads take the key/value heads in turns.",
        "Neighbouring query heads share a key/value head.",
    ),
    "w_o_missing": Mistake(
        by_rule(w_o_missing),
        "The heads were not multiplied by W_o.",
        "Multiply the heads side by side by W_o.",
    ),
    "step_transposed": Mistake(
        step_transposed, "{step} stands transposed.", "A token keeps its row through every step."
    ),
}
"""Every mistake by its id, the simpler ones first."""
