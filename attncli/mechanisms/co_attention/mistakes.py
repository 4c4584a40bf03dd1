"""Mistakes where two sentences attend to each other."""

from __future__ import annotations

from attncli.core.calculation.mistake import Changes, is_mixture, made_of, mistake
from attncli.core.calculation.trace import Trace
from attncli.core.records import replace
from attncli.core.tape.evaluation import transform
from attncli.core.tape.operations import Transposed
from attncli.core.tape.step import Expression, Step


@mistake("The values were mixed by {used}, not by {right}.", "Calculate {formula}.")
def weights_of_other_side(step: Step, trace: Trace) -> Changes:
    """The weights of the other sentence, transposed or not, in co-attention."""
    node = made_of(step)
    if trace.problem.kind != "co_attention" or not is_mixture(node):
        return
    right = node.left.name if isinstance(node.left, Step) else ""
    used = {"weights_x": "weights_memory", "weights_memory": "weights_x"}.get(right, "")
    if used not in trace:  # scores that are the weights need no step of their own
        return
    # Weights that come later are not yet judged: they are made anew from what comes before.
    other = _worked_out(trace[used]) if used == "weights_memory" else trace[used]
    n, m = trace[used].array.shape[-2:]
    for weights in (Transposed(other), *([other] if n == m else ())):
        yield replace(node, left=weights), {"used": used, "right": right}


def _worked_out(step: Step) -> Expression:
    return transform(
        made_of(step), lambda part: _worked_out(part) if part.name.endswith("_memory") else part
    )
