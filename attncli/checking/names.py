"""What people call the steps: `A` or `attention` for weights, `QK^T` for scores."""

from __future__ import annotations

import re

from attncli.errors import Fault, InputError
from attncli.mechanisms.trace import Trace
from attncli.problem.keys import KEYS
from attncli.text.escapes import visible
from attncli.text.suggestions import did_you_mean, near_words

ALIASES: dict[str, tuple[str, ...]] = {
    "Q": ("query", "queries"),
    "K": ("key", "keys"),
    "V": ("value", "values"),
    "scores": (
        *("s", "e", "score", "qkt", "ktq", "qk", "rawscores", "attentionscores"),
        *("energy", "energies", "similarity", "similarities", "dotproducts", "logits"),
    ),
    "scaled": ("scaledscores", "scoresscaled", "qkt/√dk", "ktq/√dk", "s/√dk", "scores/√dk"),
    "capped": ("cappedscores",),
    "biased": ("biasedscores",),
    "masked": ("maskedscores", "scoresmasked", "logits"),
    "exp": ("exps", "exponential", "exponentials", "expscores", "numerator", "numerators"),
    "sum": ("sums", "rowsum", "rowsums", "total", "totals", "denominator", "denominators"),
    "weights": (
        *("a", "p", "α", "alpha", "alphas", "weight", "attention", "attn", "attentionweights"),
        *("attnweights", "attentionmatrix", "softmax", "probabilities", "softmaxqkt/√dk"),
        *("softmaxqkt", "softmaxscores", "softmaxscaled"),
    ),
    "context": ("c", "z", "contexts", "contextvector", "contextvectors", "headoutputs", "av"),
    "concat": ("z", "concatenated", "concatenation", "concatheads", "headsconcatenated"),
    "output": ("z", "y", "o", "out", "outputs", "result", "attentionoutput", "av", "va"),
}
"""Other names of a step, in lower case and without blanks, underscores and signs of products."""

IGNORED = re.compile(r"[\s_\-^·*×()\[\]{}.]")
HEAD = re.compile(r"(?P<name>.*?)[\s_]*(?:\[?\s*head)?[\s_]*\[?(?P<head>\d{1,4})\]?", re.IGNORECASE)


def step_named(word: str, trace: Trace) -> tuple[str, int | None]:
    """Return the name of the step that a word means, and which of its heads, from 0.

    Raises:
        InputError: for a word that means no step, or one of several.
    """
    if word in trace:
        return word, None
    match = HEAD.fullmatch(word)
    candidates = meant(word, trace)
    if not candidates and match and (named := meant(match["name"], trace)):
        heads = _heads(trace, named[0])
        if len(named) == 1 and 1 <= int(match["head"]) <= heads:
            return named[0], int(match["head"]) - 1
        if len(named) == 1 and heads:
            message = f"{visible(word)}: {named[0]} has the heads 1 to {heads}"
            raise InputError(Fault(message, (word,)))
    if len(candidates) == 1:
        return candidates[0], None
    if candidates:
        either = f"{', '.join(candidates[:-1])} or {candidates[-1]}"
        message = f"{visible(word)} may mean {either} here"
        raise InputError(Fault(message, (word,), "write the name of the step"))
    raise InputError(_unknown(word, trace))


def meant(word: str, trace: Trace) -> list[str]:
    """Return the steps of a trace that a word may mean."""
    if word in trace:
        return [word]
    if word in trace.inputs:
        return []
    plain = _plain(word)
    same = [name for name in trace.steps if _plain(name) == plain]
    if same:
        return same
    return [name for name in trace.steps if plain in ALIASES.get(name, ())]


def _plain(word: str) -> str:
    word = re.sub(r"(?i)sqrt", "√", word).replace("ᵀ", "t")
    return IGNORED.sub("", word).casefold()


def _heads(trace: Trace, name: str) -> int:
    step = trace[name]
    return step.value.shape[step.leading.index("head")] if "head" in step.leading else 0


def _unknown(word: str, trace: Trace) -> Fault:
    shown = visible(word)
    if word in trace.inputs or word in KEYS:
        hint = f"leave it out; the steps are {', '.join(trace.steps)}"
        if word == "X":
            hint = f"write the step's name over its numbers, one of {', '.join(trace.steps)}"
        return Fault(f"{shown} is an input of the problem, not a step", (word,), hint)
    known = [*trace.steps, *(alias for name in trace.steps for alias in ALIASES.get(name, ()))]
    near = near_words(word, known)
    step = meant(near[0], trace) if near else []
    hint = f"did you mean {step[0]}?" if step else did_you_mean("", trace.steps)
    return Fault(f"there is no step {shown} in this calculation", (word,), hint)
