"""Mistakes in the state of linear attention, at one time or at all times."""

from __future__ import annotations

from collections.abc import Callable

from attncli.core.calculation.mistake import Changes, Mistake, made_by, made_of, mistake
from attncli.core.calculation.trace import Trace
from attncli.core.tape.evaluation import Change, mapped, transform
from attncli.core.tape.operations import Add, Divide, MatMul, Transposed
from attncli.core.tape.step import Expression, Operation, Step
from attncli.mechanisms.delta.steps import Faded

Rule = Callable[[Step], Change]
"""Returns what is calculated instead in the step of a time, and in others of that time."""

FORMULA = "Calculate {formula}."


def mistake_at_a_time(sentence: str, advice: str, stem: str) -> Callable[[Rule], Mistake]:
    """Return a decorator for a mistake in the step of a stem at one time."""

    def decorated(rule: Rule) -> Mistake:
        def changes(step: Step, trace: Trace) -> Changes:
            if trace.problem.kind == "delta" and step.stem == stem and not step.backward:
                change = rule(step)
                if any(new is not made_of(trace[name]) for name, new in change.items()):
                    yield change, {}

        changes.__name__ = rule.__name__
        return mistake(sentence, advice)(changes)

    return decorated


def _operands(step: Step) -> tuple[Expression, ...]:
    operation = made_of(step)
    return operation.operands if isinstance(operation, Operation) else (operation,)


def _at_once(node: Operation) -> Expression:
    return node.right if isinstance(node, Faded) else node


def _before(state: Step) -> Expression:
    fading = made_by(Faded, state) or made_by(Faded, _operands(state)[0])
    return fading.right if fading else _operands(state)[0]


@mistake_at_a_time(
    "What the state holds was not subtracted: that is linear attention.", FORMULA, "error"
)
def held_value_not_subtracted(step: Step) -> Change:
    return {step.name: _operands(step)[0]}


@mistake_at_a_time("What the state holds was added, not subtracted.", FORMULA, "error")
def held_value_added(step: Step) -> Change:
    return {step.name: Add(*_operands(step))}


@mistake_at_a_time("β was left out.", FORMULA, "S")
def beta_left_out(step: Step) -> Change:
    return {step.name: mapped(made_of(step), _at_once)}


@mistake_at_a_time("α was left out, so that nothing fades.", FORMULA, "decayed")
def alpha_left_out(step: Step) -> Change:
    return {step.name: mapped(made_of(step), _at_once)}


@mistake_at_a_time("The state was read before it had faded.", "First it fades: {formula}.", "read")
def read_before_fading(step: Step) -> Change:
    def before(part: Step) -> Expression:
        return _before(part) if part.stem == "decayed" else part

    return {step.name: transform(made_of(step), before)}


@mistake_at_a_time(
    "α was multiplied in last, so that what is new faded, too.", "Calculate {formula}.", "S"
)
def faded_after_writing(step: Step) -> Change:
    state = _operands(step)[0]
    fading = made_by(Faded, state)
    if fading is None or not isinstance(state, Step):
        return {}
    return {state.name: fading.right, step.name: Faded(fading.left, made_of(step))}


@mistake_at_a_time(
    "The state of before was read, not the new one.", "First the state learns: {formula}.", "o"
)
def old_state_read(step: Step) -> Change:
    def before(part: Step) -> Expression:
        return _before(part) if part.stem == "S" else part

    return {step.name: transform(made_of(step), before)}


@mistake_at_a_time("The state of before was left out.", FORMULA, "S")
def old_state_dropped(step: Step) -> Change:
    return {step.name: _operands(step)[1]}


@mistake_at_a_time(
    "Key and value are exchanged in their product: the state is transposed.", FORMULA, "S"
)
def key_and_value_exchanged(step: Step) -> Change:
    def exchanged(node: Operation) -> Expression:
        return Transposed(node) if isinstance(node, MatMul) else node

    is_square = step.array.shape[-1] == step.array.shape[-2]
    return {step.name: mapped(made_of(step), exchanged)} if is_square else {}


@mistake_at_a_time("The keys were not normed.", FORMULA, "k_normed")
def keys_not_normed(step: Step) -> Change:
    def without(node: Operation) -> Expression:
        return node.dividend if isinstance(node, Divide) else node

    return {step.name: mapped(made_of(step), without)}
