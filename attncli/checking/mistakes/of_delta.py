"""Mistakes in the state of linear attention, at one time or at all times."""

from __future__ import annotations

from attncli.checking.mistakes.mistake import Changes, Nodes, made_by, mistake
from attncli.checking.mistakes.mutations import becomes, row, without
from attncli.core.mechanisms.delta import Faded
from attncli.core.mechanisms.trace import Trace
from attncli.core.tape.backward_operations import Subtract
from attncli.core.tape.evaluation import array_of
from attncli.core.tape.operations import Add, Divide, MatMul, Transposed
from attncli.core.tape.step import Expression, Step

held_value_not_subtracted = row(
    "What the state holds was not subtracted: that is linear attention.", without("read")
)
held_value_added = row(
    "What the state holds was added, not subtracted.", becomes(Subtract, Add), steps=("error",)
)
beta_left_out = row("β was left out.", without("beta"), steps=("S",))
alpha_left_out = row("α was left out, so that nothing fades.", without("alpha"), steps=("decayed",))


def _before(state: Step) -> Expression:
    """Return the state at the time before, not faded."""
    old = added.left if (added := made_by(Add, state)) else state
    return fading.right if (fading := made_by(Faded, old)) else old


read_before_fading = row(
    "The state was read before it had faded.",
    becomes("decayed", _before),
    "First it fades: {formula}.",
    steps=("read",),
)


@mistake("α was multiplied in last, so that what is new faded, too.", steps=("S",))
def faded_after_writing(step: Step, trace: Trace) -> Changes:
    added = made_by(Add, step)
    fading = made_by(Faded, added.left) if added else None
    if added and fading and isinstance(added.left, Step):
        yield {added.left.name: fading.right, step.name: Faded(fading.left, added)}, {}


old_state_read = row(
    "The state of before was read, not the new one.",
    becomes("S", _before),
    "First the state learns: {formula}.",
    steps=("o",),
)


@mistake("The state of before was left out.", steps=("S",))
def old_state_dropped(node: Add) -> Nodes:
    yield node.right


@mistake("Key and value are exchanged in their product: the state is transposed.", steps=("S",))
def key_and_value_exchanged(node: MatMul) -> Nodes:
    if len({*array_of(node).shape[-2:]}) == 1:
        yield Transposed(node)


keys_not_normed = row("The keys were not normed.", without(Divide), steps=("k_normed",))
