"""What people call the steps: `A` for weights, `QK^T` for scores."""

from __future__ import annotations

import re
from collections.abc import Collection

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


def meant(word: str, steps: Collection[str], added: Collection[str] = ()) -> list[str]:
    """Return the steps that a word may mean: those of that name, else those that people call so.

    Args:
        word: a word that somebody wrote for a step.
        steps: the names of the steps of a calculation.
        added: which of them change nothing, and are meant only where no other is.
    """
    if word in steps:
        return [word]
    plain = _plain(word)
    same = [name for name in steps if _plain(name) == plain]
    found = same or [name for name in steps if plain in ALIASES.get(name, ())]
    return [name for name in found if name not in added] or found


def _plain(word: str) -> str:
    word = re.sub(r"(?i)sqrt", "√", word).replace("ᵀ", "t")
    return IGNORED.sub("", word).casefold()
