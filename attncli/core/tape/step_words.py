"""What people call the steps: `A` for weights, `QK^T` for scores.

Also rows and cells in words: weights for token 2, q_1 · k_2.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import lru_cache
from itertools import chain

from attncli.core.declare import DECLARED, WHEN_ADDED, Declared, declared
from attncli.core.formulas.text import text
from attncli.core.tape.evaluation import walk
from attncli.core.tape.step import Operation, Step, notation_of
from attncli.core.text.languages import words_for
from attncli.core.text.strings import OF_PART, regex

WORDS = """
Q: query queries hookq querystates
K: key keys hookk keystates
V: value values hookv valuestates vc
Q_normed: normedq normedqueries qnorm querystates
K_normed: normedk normedkeys knorm keystates
positions: pe positionalencoding positionalencodings positionencoding positionalembedding
embedded: x+pe x+positions embeddings inputwithpositions
frequencies: frequency invfreq thetafreq scaledfrequencies
angles: θ theta thetas angle
cos: cosine cosines cosθ cosangles
sin: sine sines sinθ sinangles
Q_rotated: rotatedq rotatedqueries qrope qrot ropeq hookrotq querystates qr qpe
K_rotated: rotatedk rotatedkeys krope krot ropek hookrotk keystates kr kpe
K_all: allkeys kcache keycache
V_all: allvalues vcache valuecache
scores: s e score qkt ktq qk rawscores attentionscores energy energies similarity similarities \
    dotproducts logits attnscores attentionscores attentionlogits q@kt q@k' qk'
scaled: scaledscores scoresscaled scaling qkt/√dk ktq/√dk s/√dk scores/√dk scaleby√dk \
    divideby√dk dividedby√dk /√dk ÷√dk
capped: cappedscores
biased: biasedscores
masked: maskedscores scoresmasked hookattnscores scaledandmaskedscores maskedandscaledscores \
    masking logits aftermasking afterthemask scaledandmasked scaledmaskedscores maskedscaledscores \
    applymask applythemask maskedattentionscores qkt/√dk+m qkt/√dk+mask
exp: exps exponential exponentials expscores numerator numerators
sum: sums rowsum rowsums total totals denominator denominators
weights: a p α alpha alphas weight attention attn attentionweights attnweights attentionmatrix \
    softmax probabilities softmaxqkt/√dk softmaxqkt softmaxscores softmaxscaled softmaxs/√dk \
    softmaxscores/√dk attentions attnoutputweights hookpattern probs attentionprobs attnprobs \
    applysoftmax attentionscores
context: c z contexts contextvector contextvectors contextvec contextvecs \
    allcontextvecs headoutputs av @v hookz multiplybyv weightedsum weightedsumofvalues
concat: z concatenated concatenation concatheads headsconcatenated
output: z y o out outputs result attentionoutput av va attnoutput hookattnout \
    attentionq,k,v softmaxqkt/√dkv softmaxqktv multiplybyv weightedsum weightedsumofvalues \
    attention attentionvector attentionvectors @v
"""
ALIASES = {
    name: [*words.split(), *words_for(name)]
    for name, words in re.findall("(?m)^(.+?): (.+)", WORDS)
}
"""Other names of a step, in lower case and without blanks, underscores and signs of products.

Those in other languages than English are in `languages`, those of programs are PyTorch's,
TransformerLens's (hook_…) and Hugging Face's (…_states).
"""

IN_OTHER_LANGUAGES = frozenset(word for name in ALIASES for word in words_for(name))
"""The words for steps in other languages, without which the pattern of names compiles faster."""

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
    for letters, steps in re.findall("(?m)^(.+?): (.+)", LETTER_WORDS)
    for letter in letters.split()
}
"""The steps that a letter may mean in a submission, the most usual first; courses differ."""

MODULE = regex(r"(?<![\w.])(?:\w++\.)+(?=hook_)")
"""The module before the name of a hook of TransformerLens: blocks.0.attn.hook_pattern."""

HEADS_AFTER_TOKENS = regex(rf"(?:{MODULE.pattern})?hook_(?:rot_)?[qkvz]")
"""The hooks of TransformerLens whose axes are (batch, token, head, feature)."""

OTHERS = [
    "hidden", "attentional", "delta", "sink", "phi", "g", "frequencies", "angles", "cos", "sin",
    "table", "mean", "variance", "meansquare", "normed",
]  # fmt: skip
"""The beginnings of the names of all steps that have no aliases, after `d_` or `new_`."""


def _add(one: Declared) -> None:
    OTHERS.extend(one.step_names.split())
    ALIASES.update({name: words.split() for name, words in one.step_words.items()})


for one in declared().values():
    _add(one)
WHEN_ADDED.append(_add)

PARTS = regex(r"(?P<before>d_)?(?P<name>.+?)(?P<time>_\d+)?")
"""The name of a step, perhaps of a gradient, or of a time: d_scores, scores_2."""

FACTOR = regex(r"\A(?:[·⋅∙](?=\w)|[×@]\s*)")
"""The sign before a factor that is written by itself, ·V; with a blank, · is a bullet."""

IGNORED = regex(r"[\s_\-^·*×()\[\]{}.]")

ROW_WORDS = rf"(?:row|token|query|word|position|{'|'.join(words_for('ROW'))})"
ROW_IN_WORDS = regex(
    rf"(?P<step>.*?\w)\s+(?:(?:of|for|in|at)\s+(?:the\s+)?(?:{ROW_WORDS}\s+)?|{ROW_WORDS}\s+|(?=\d))"
    r"[\"'“‘]?(?P<row>[^\W_][\w'’.-]*?)[\"'”’]?",
    re.IGNORECASE,
)
"""A row of a step in words: weights for token 2, scores of "cat"."""
PRODUCT = regex(
    r"q_?\{?(?P<query>\w+?)\}?(?:\^\{?(?:T|⊤)\}?|ᵀ)?\s*(?:[·.*⋅∙•×]\s*|\s)k_?\{?(?P<key>\w+?)\}?"
)
"""A score as the product of a query and a key: q_1 · k_2."""


def meant(word: str, steps: Collection[str], added: Collection[str] = ()) -> list[str]:
    """Return the steps that a word may mean: those of that name, else those with it as an alias.

    Steps in `added` change nothing, and are returned only if the word means no other step.
    """
    if word in steps:
        return [word]
    plain = _plain(word)
    same = [step for step in steps if plain in (_plain(step), _plain(OF_PART.sub("", step)))]
    names = same or [step for step in steps if plain in words_of(step)]
    return [step for step in names if step not in added] or names


def step_under(heading: str, steps: Iterable[Step]) -> Step | None:
    """Return the step that pages show under a formula, or beside an operand with that formula.

    >>> from attncli import Problem, compute
    >>> trace = compute(Problem(X=[[1, 0]], score="dot"))
    >>> step_under("scores = Q Kᵀ", trace).name, step_under("Kᵀ", trace).name
    ('scores', 'scores')
    """
    words = " ".join(heading.split())
    for step in steps:
        operation = step.operation
        parts = [] if operation is None else [*walk(operation)]
        if isinstance(operation, Operation):
            parts += [one for one in operation.layout(step.columns) if not isinstance(one, str)]
        if words in (step.formula, *(text(notation_of(part, step.columns)) for part in parts)):
            return step
    return None


FIRST_IDEOGRAPH = "\u2e80"
"""The first of the signs of which one or two are a word, as in 输出."""


def may_mean_step(word: str, inputs: Collection[str]) -> bool:
    """Return whether a word may mean a step of some problem with such inputs.

    A pattern, and one or two letters, may mean anything; a Chinese word may not.
    """
    if word in ALIASES or "*" in word or (len(word) < 3 and word < FIRST_IDEOGRAPH):
        return True
    plain = _plain(OF_PART.sub("", word))
    untimed = plain.rstrip("0123456789")
    if any(untimed.removeprefix(start) in IN_OTHER_LANGUAGES for start in ("", "d", "new")):
        return True
    known = _any_step(frozenset(inputs), len(DECLARED))
    return known.fullmatch(plain) is not None


@lru_cache(8)  # called 1,800 times for the names of 300 files
def _any_step(inputs: frozenset[str], count: int) -> re.Pattern[str]:
    """Return a pattern of all English names, of so many mechanisms: there may be new ones."""
    names = {*chain(ALIASES, *ALIASES.values(), OTHERS, inputs)} - IN_OTHER_LANGUAGES
    known = "|".join(re.escape(_plain(name)) for name in names)
    rows = chain(*(one.own.items() for one in declared().values()))
    parts = "|".join(_plain(key) for key, row in rows if isinstance(row.default, dict))
    return re.compile(rf"(d|new)?(net|{parts}|[wub])?({known})(x|memory|q|kv|k|final|context|\d)*")


def words_of(name: str) -> tuple[str, ...]:
    """Return the other words for a step, written as in `ALIASES`.

    >>> words_of("d_exp")[:2], words_of("exp_2")[:2]
    (('dexps', 'dexponential'), ('exps2', 'exponential2'))
    """
    match = PARTS.fullmatch(OF_PART.sub("", name))
    if match is None:
        return ()
    before, time = _plain(match["before"] or ""), _plain(match["time"] or "")
    return tuple(f"{before}{word}{time}" for word in ALIASES.get(match["name"], ()))


def _plain(word: str) -> str:
    word = re.sub(r"(?i)sqrt", "√", MODULE.sub("", word)).replace("ᵀ", "t").replace("ℓ", "l")
    word = FACTOR.sub("@", word.replace("’", "'"))
    return IGNORED.sub("", word).casefold()
