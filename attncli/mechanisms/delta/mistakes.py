"""Mistakes in the state of linear attention, at one time or at all times."""

from __future__ import annotations

from attncli.core.calculation.mistake import Changes, Nodes, made_by, mistake
from attncli.core.calculation.mutations import instead, left_out, passed_over, with_part
from attncli.core.calculation.trace import Trace
from attncli.core.tape.backward_operations import Subtract
from attncli.core.tape.evaluation import array_of
from attncli.core.tape.operations import Add, Divide, MatMul, Transposed
from attncli.core.tape.step import Expression, Step
from attncli.mechanisms.delta.steps import Faded

held_value_not_subtracted = left_out(
    "read", "What the state holds was not subtracted: that is linear attention.", of=Subtract
)
held_value_added = instead(with_part("read"), Add, of=Subtract)
beta_left_out = left_out("beta", "β was left out.", of=Faded)
alpha_left_out = left_out("alpha", "α was left out, so that nothing fades.", of=Faded)


def _before(state: Step) -> Expression:
    """Return the state at the time before, not faded."""
    old = added.left if (added := made_by(Add, state)) else state
    return fading.right if (fading := made_by(Faded, old)) else old


read_before_fading = instead(
    "decayed",
    _before,
    "The state was read before it had faded.",
    advice="First it fades: {formula}.",
    steps=("read",),
)


@mistake("α was multiplied in last, so that what is new faded, too.", steps=("S",))
def faded_after_writing(step: Step, trace: Trace) -> Changes:
    added = made_by(Add, step)
    fading = made_by(Faded, added.left) if added else None
    if added and fading and isinstance(added.left, Step):
        yield {added.left.name: fading.right, step.name: Faded(fading.left, added)}


old_state_read = instead(
    "S",
    _before,
    "The state of before was read, not the new one.",
    advice="First the state learns: {formula}.",
    steps=("o",),
)


old_state_dropped = instead(
    Add, lambda node: node.right, "The state of before was left out.", steps=("S",)
)


@mistake("Key and value are exchanged in their product: the state is transposed.", steps=("S",))
def key_and_value_exchanged(node: MatMul) -> Nodes:
    if len({*array_of(node).shape[-2:]}) == 1:
        yield Transposed(node)


keys_not_normed = passed_over(Divide, "The keys were not normed.", steps=("k_normed",))
