"""What people call the steps, `A` for weights, `QK^T` for scores, and the cells of one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, TypeAlias

import numpy as np

from attncli.errors import InputError, fail
from attncli.mechanisms.named import with_named_steps
from attncli.mechanisms.trace import Trace
from attncli.problem.aliases import key_of
from attncli.problem.keys import KEYS
from attncli.records import replace
from attncli.tape.cells import find_cells
from attncli.tape.step import Step
from attncli.text.escapes import visible
from attncli.text.suggestions import did_you_mean, near_words

WORDS = """
Q: query queries
K: key keys
V: value values
scores: s e score qkt ktq qk rawscores attentionscores energy energies similarity similarities \
    dotproducts logits
scaled: scaledscores scoresscaled qkt/√dk ktq/√dk s/√dk scores/√dk
capped: cappedscores
biased: biasedscores
masked: maskedscores scoresmasked logits
exp: exps exponential exponentials expscores numerator numerators
sum: sums rowsum rowsums total totals denominator denominators
weights: a p α alpha alphas weight attention attn attentionweights attnweights attentionmatrix \
    softmax probabilities softmaxqkt/√dk softmaxqkt softmaxscores softmaxscaled
context: c z contexts contextvector contextvectors headoutputs av
concat: z concatenated concatenation concatheads headsconcatenated
output: z y o out outputs result attentionoutput av va
"""
ALIASES = {name: words.split() for name, words in re.findall("(.+): (.+)", WORDS)}
"""Other names of a step, in lower case and without blanks, underscores and signs of products."""

IGNORED = re.compile(r"[\s_\-^·*×()\[\]{}.]")
HEAD = re.compile(r"(?P<name>.*?)[\s_]*(?:\[?\s*head)?[\s_]*\[?(?P<head>\d{1,4})\]?", re.IGNORECASE)


LONGEST = 500
"""No key that means something is longer, and no message quotes one that is."""

At: TypeAlias = tuple[Any, ...]
"""An index of NumPy: all cells of a step's value, where it is (), or one head, row or cell."""


def find_answer(word: str, trace: Trace) -> tuple[Step, At]:
    """Return the step that the key of an answer means, and which of its cells.

    A key is the name of a step or what people call it, alone or with a head behind it (`Q_2`,
    `weights[head 2]`), or the name of a row or cell as the program prints it: `weights[am, I]`.

    Raises:
        InputError: for a word that means no step, or one of several.
    """
    if len(word) > LONGEST:
        raise fail(f"a key of {len(word)} characters is no name of a step or of a cell", word)
    match = HEAD.fullmatch(word)
    if word not in trace and not match and set("[_") & set(word):
        # What the program prints comes before what people say: sum[s] is a cell, sums a step.
        with suppress(InputError):
            step, places = find_cells(word, trace.steps)
            return step, tuple(np.transpose(places or [()]))
    candidates = meant(word, trace)
    if candidates:
        return _only(candidates, word, trace), ()
    if match and len(named := meant(match["name"], trace)) == 1:
        step = trace[named[0]]
        count = step.value.shape[step.leading.index("head")] if "head" in step.leading else 0
        if 1 <= int(match["head"]) <= count:
            return step, (*[slice(None)] * step.leading.index("head"), int(match["head"]) - 1)
        if count:
            raise fail(f"{visible(word)}: {step.name} has the heads 1 to {count}", word)
    name, bracket, cells = word.partition("[")
    if bracket and (candidates := meant(name.strip(), trace)):
        name = _only(candidates, name, trace).name
    try:
        step, places = find_cells(f"{name}{bracket}{cells}", trace.steps)
    except InputError as error:
        if bracket and candidates:
            raise InputError(*(replace(fault, path=(word,)) for fault in error.faults)) from None
        raise _unknown(name.strip(), word, trace) from None
    return step, tuple(np.transpose(places or [()]))


def _only(candidates: list[str], word: str, trace: Trace) -> Step:
    if len(candidates) == 1:
        return trace[candidates[0]]
    message = f"{visible(word)} may mean {', '.join(candidates[:-1])} or {candidates[-1]} here"
    raise fail(message, word, hint="write the name of the step")


def meant(word: str, trace: Trace) -> list[str]:
    """Return the steps of a trace that a word may mean."""
    if word in trace:
        return [word]
    if word in trace.inputs:
        return []
    plain = _plain(word)
    same = [name for name in trace.steps if _plain(name) == plain]
    found = same or [name for name in trace.steps if plain in ALIASES.get(name, ())]
    # A step that changes nothing stands there only because its own name was written.
    return [name for name in found if name not in trace.added] or found


def named_steps(words: Iterable[str], trace: Trace) -> tuple[str, ...]:
    """Return the names of steps that keys of answers mean, and that are left out of a trace.

    Each changes nothing here, and equals another step; `with_named_steps` puts it in.
    """
    wide: Trace | None = None
    found: dict[str, None] = {}
    for word in words:
        try:
            find_answer(word, trace)
        except InputError:
            wide = wide or with_named_steps(trace)
            with suppress(InputError):
                found[find_answer(word, wide)[0].name] = None
    return tuple(name for name in found if wide and name in wide.added)


def _plain(word: str) -> str:
    word = re.sub(r"(?i)sqrt", "√", word).replace("ᵀ", "t")
    return IGNORED.sub("", word).casefold()


def _unknown(name: str, word: str, trace: Trace) -> InputError:
    """Return the error for a name that means no step; the key that it stands in is a word."""
    name = key_of(name)
    if name in trace.inputs or name in KEYS:
        way_out = "leave it out; the steps are"
        if name == "X":
            way_out = "write the step's name over its numbers, one of"
        message = f"{visible(name)} is an input of the problem, not a step"
        return fail(message, word, hint=f"{way_out} {', '.join(trace.steps)}")
    known = [*trace.steps, *(alias for step in trace.steps for alias in ALIASES.get(step, ()))]
    steps = [step for near in near_words(name, known) for step in meant(near, trace)]
    hint = f"did you mean {steps[0]}?" if steps else did_you_mean("", trace.steps)
    return fail(f"there is no step {visible(name)} in this calculation", word, hint=hint)
