"""Other words for the steps: `A` for weights, `QK^T` for scores."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache
from itertools import chain

from attncli.core.text.sentences import OF_LAYER

WORDS = """
Q: query queries hookq querystates
K: key keys hookk keystates
V: value values hookv valuestates
Q_normed: normedq normedqueries qnorm querystates
K_normed: normedk normedkeys knorm keystates
positions: pe positionalencoding positionalencodings positionencoding positionalembedding
embedded: x+pe x+positions embeddings inputwithpositions
angles: θ theta thetas angle
cos: cosine cosines cosθ cosangles
sin: sine sines sinθ sinangles
Q_rotated: rotatedq rotatedqueries qrope qrot ropeq hookrotq querystates
K_rotated: rotatedk rotatedkeys krope krot ropek hookrotk keystates
K_all: allkeys kcache keycache
V_all: allvalues vcache valuecache
scores: s e score qkt ktq qk rawscores attentionscores energy energies similarity similarities \
    dotproducts logits
scaled: scaledscores scoresscaled qkt/√dk ktq/√dk s/√dk scores/√dk
capped: cappedscores
biased: biasedscores
masked: maskedscores scoresmasked logits hookattnscores
exp: exps exponential exponentials expscores numerator numerators
sum: sums rowsum rowsums total totals denominator denominators
weights: a p α alpha alphas weight attention attn attentionweights attnweights attentionmatrix \
    softmax probabilities softmaxqkt/√dk softmaxqkt softmaxscores softmaxscaled \
    attentions attnoutputweights hookpattern
context: c z contexts contextvector contextvectors headoutputs av hookz
concat: z concatenated concatenation concatheads headsconcatenated
output: z y o out outputs result attentionoutput av va attnoutput hookattnout
"""
ALIASES = {name: words.split() for name, words in re.findall("(.+): (.+)", WORDS)}
"""Other names of a step, in lower case and without blanks, underscores and signs of products.

Those of programs are PyTorch's, TransformerLens's (hook_…) and Hugging Face's (…_states).
"""

LETTER_WORDS = r"""
a α alpha \alpha: weights scores scaled masked
A: weights scores scaled masked output
W w: weights scores scaled masked
P p: weights
b: weights output
S s: scores scaled masked weights sum
e E: scores scaled masked exp
c C: context output concat
Z z: output context concat sum
o O y Y: output context concat
"""
LETTERS = {
    letter: steps.split()
    for letters, steps in re.findall("(.+): (.+)", LETTER_WORDS)
    for letter in letters.split()
}
"""The steps that a letter may mean in a submission, the most usual first; courses differ."""

MODULE = re.compile(r"(?<![\w.])(?:\w++\.)+(?=hook_)")
"""The module before the name of a hook of TransformerLens: blocks.0.attn.hook_pattern."""

HEADS_AFTER_TOKENS = re.compile(rf"(?:{MODULE.pattern})?hook_(?:rot_)?[qkvz]")
"""The hooks of TransformerLens whose axes are (batch, token, head, feature)."""

OTHERS = (
    *("hidden", "attentional", "aligned", "enhanced", "h", "c", "loss", "delta"),
    *("sink", "phi", "g", "angles", "cos", "sin", "table"),
    *("mean", "variance", "meansquare", "normed", "attended", "residual", "scorehidden"),
    *("activated", "value", "gated", "feedforward", "final", "logits", "probabilities", "next"),
    *("explogits", "sumlogits"),
)
"""The beginnings of the names of all other steps, after `d_` or `new_`."""

PARTS = re.compile(r"(?P<before>d_)?(?P<name>.+?)(?P<time>_\d+)?")
"""The name of a step, perhaps of a gradient, or of a time: d_scores, scores_2."""

IGNORED = re.compile(r"[\s_\-^·*×()\[\]{}.]")


def meant(word: str, steps: Collection[str], added: Collection[str] = ()) -> list[str]:
    """Return the steps that a word may mean: those of that name, else those that people call so.

    Steps that are `added` change nothing, and are meant only if no other is.
    """
    if word in steps:
        return [word]
    plain = _plain(word)
    same = [name for name in steps if plain in (_plain(name), _plain(OF_LAYER.sub("", name)))]
    found = same or [name for name in steps if plain in words_of(name)]
    return [name for name in found if name not in added] or found


def may_mean_step(word: str, inputs: Collection[str]) -> bool:
    """Return whether a word may mean a step of some problem with such inputs.

    A pattern, and one or two letters, may mean anything.
    """
    if word in ALIASES or "*" in word or len(word) < 3:
        return True
    return _any_step(frozenset(inputs)).fullmatch(_plain(OF_LAYER.sub("", word))) is not None


@lru_cache(8)  # the names of 300 files ask 1,800 times
def _any_step(inputs: frozenset[str]) -> re.Pattern[str]:
    names = chain(ALIASES, *ALIASES.values(), OTHERS, inputs)
    known = "|".join(re.escape(_plain(name)) for name in names)
    parts = "net|score|normalize|qknorm|past|positions|embedding|finalnorm"
    return re.compile(rf"(d|new)?({parts})?({known})(x|memory|q|k|final|\d)*")


def has_time(name: str) -> bool:
    """Return whether a step is one of several that are called by their times, as scores_2 is."""
    match = PARTS.fullmatch(name)
    return match is not None and match["time"] is not None


def words_of(name: str) -> tuple[str, ...]:
    """Return the other words for a step, written as in `ALIASES`.

    >>> words_of("d_exp")[:2], words_of("exp_2")[:2]
    (('dexps', 'dexponential'), ('exps2', 'exponential2'))
    """
    match = PARTS.fullmatch(OF_LAYER.sub("", name))
    if match is None:
        return ()
    before, time = _plain(match["before"] or ""), _plain(match["time"] or "")
    return tuple(f"{before}{word}{time}" for word in ALIASES.get(match["name"], ()))


def _plain(word: str) -> str:
    word = re.sub(r"(?i)sqrt", "√", MODULE.sub("", word)).replace("ᵀ", "t")
    return IGNORED.sub("", word).casefold()
