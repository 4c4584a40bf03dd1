"""The names of cells, and other words for the steps.

Cells are written as `scores[am, I]`, `weights[head 2][am, I]` or q_am; people say `A` for weights
and `QK^T` for scores.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from itertools import chain, product

from attncli.core.declare import DECLARED, WHEN_ADDED, Declared, declared
from attncli.core.errors import InputError, NotThere, fail
from attncli.core.formulas.text import text
from attncli.core.formulas.tree import Cell, Vector
from attncli.core.records import Record
from attncli.core.tape.evaluation import walk
from attncli.core.tape.step import LEADING, Operation, Step, notation_of, row_letter
from attncli.core.text.languages import words_for
from attncli.core.text.strings import OF_PART, count_in, regex, visible

Index = tuple[int, ...]

PLAIN_WORD = regex(r"[\w.-]+")
"""A label that has no special meaning in any format."""


class Cells(Record):
    """Some cells of a step: along each axis of its value one place, or several in a row."""

    step: Step
    along: tuple[int | range, ...]
    is_transposed: bool = False  # whether the name is that of the whole step transposed

    @property
    def places(self) -> list[Index]:
        """Every cell, as an index into the `value` of the step."""
        return list(product(*([x] if isinstance(x, int) else x for x in self.along)))

    @property
    def at(self) -> tuple[int | slice, ...]:
        """All cells, as an index of NumPy into the `value` of the step; () for all that it has."""
        if self.is_whole:
            return ()
        return tuple(x if isinstance(x, int) else slice(x.start, x.stop) for x in self.along)

    @property
    def is_whole(self) -> bool:
        """Whether they are every cell of the step."""
        return self.along == tuple(map(range, self.step.value.shape))


def place_of(step: Step, at: Index) -> Index:
    """Return the index into `Step.value` of a place in the step's array."""
    lead = [i for name, i in zip(LEADING, at, strict=False) if name in step.leading]
    return (*lead, *step.swapped(at[len(at) - len(step.trailing) :]))


def at_of(step: Step, place: Index) -> Index:
    """Return the place in a step's array of an index into `Step.value`."""
    leading = dict(zip(step.leading, place, strict=False))
    lead = [leading.get(name, 0) for name in LEADING]
    last = step.swapped(place[len(leading) :])
    return (*lead, *[0] * (step.array.ndim - 2 - len(last)), *last)


def cell(step: Step, place: Index) -> Cell:
    """Return the name of a cell on paper as a formula; every name of a cell comes from here."""
    if step.name.isdigit():  # a start of zeros, which has no name
        return Cell(step.name, (), ())
    count = len(step.leading)
    lead = [(axis, i + 1) for axis, i in zip(step.leading, place, strict=False)]
    pairs = zip(step.axes[count:], place[count:], strict=True)
    # The axis of sums has one place, which says nothing.
    words = [place_word(step.labels, axis, i) for axis, i in pairs if axis != "sum"]
    return Cell(step.word, tuple(lead), tuple(words))


def matrix_name(step: Step, place: Index) -> str:
    """Return the name of one matrix of a step on paper, such as `weights[head 2]`.

    `place` is its place along the axes before its rows, or along some of them for several matrices
    side by side. The name is used in files of several formats, so labels that are not plain words
    give way to numbers.
    """
    lead = tuple((axis, i + 1) for axis, i in zip(step.leading, place, strict=False))
    words = []
    for axis, i in zip(step.axes[len(step.leading) :], place[len(lead) :], strict=False):
        labels = step.labels.get(axis, ())
        is_plain = all(map(PLAIN_WORD.fullmatch, labels)) or any(map(str.isdecimal, labels))
        words.append(place_word(step.labels, axis, i) if is_plain else str(i + 1))
    return text(Cell(step.name, lead, tuple(words)))


def cell_name(step: Step, place: Index) -> str:
    """Return the name of a cell on paper, such as `weights[head 2][am, I]`."""
    return text(cell(step, place))


def row(step: Step, at: Index) -> Vector:
    """Return the name of the row of a step's array that a cell is in, such as q_am."""
    axes = step.trailing[:-1]
    if len(axes) == 1 and step.array.shape[-2] == 1 and axes[0] not in step.labels:
        return Vector(row_letter(step), ())
    places = at[len(at) - len(step.trailing) : -1]
    alone = len(axes) == 1
    words = (place_word(step.labels, axis, i, alone) for axis, i in zip(axes, places, strict=True))
    return Vector(row_letter(step), tuple(words))


def place_word(
    labels: Mapping[str, tuple[str, ...]], axis: str, place: int, alone: bool = False
) -> str:
    """Return the label of a place along an axis; its number if there is no unambiguous label.

    Labels are ambiguous if they occur twice, or hold a bracket or a comma; where no other place is
    named, as in z_am, a comma does no harm.
    """
    words = labels.get(axis, ())
    if place < len(words):
        label = words[place]
        tells = alone and _is_plain(label, '["') and words.count(label) == 1
        if are_clear(words)[place] or (tells and not label.isdecimal()):
            return label
    return str(place + 1)


def _is_plain(label: str, signs: str) -> bool:
    return label == label.strip() not in ("", ":") and not set(label) & set(signs)


def told_apart(labels: tuple[str, ...]) -> tuple[str, ...]:
    """Return labels, each that occurs several times with the number of its place behind it.

    >>> told_apart(("the", "cat", "the"))
    ('the(1)', 'cat', 'the(3)')
    """
    counts = Counter(labels)
    pairs = enumerate(labels, 1)
    return tuple(f"{x}({number})" if counts[x] > 1 else x for number, x in pairs)


@lru_cache  # called for every cell of a matrix
def are_clear(labels: tuple[str, ...]) -> list[bool]:
    """Return whether each label is unambiguous.

    If any label is ambiguous, so is every label that is a number: it may be that of a place.
    """
    counts = Counter(labels)
    clear = [_is_plain(x, ',[]"') and counts[x] == 1 for x in labels]
    return [c and (all(clear) or not x.isdecimal()) for c, x in zip(clear, labels, strict=True)]


MOST_LISTED = 12
"""Maximum number of labels that an error message lists, and of steps if it lists all."""


def find_places(written: str, axis: str, steps: Mapping[str, Step], name: str) -> list[int]:
    """Return the places along an axis that are written, in their order: `love`, `1-3,AI`.

    It is called `name` in messages.

    Raises:
        InputError: for a place that does not exist, or an axis that no step has.
    """
    step = next((one for one in steps.values() if axis in one.axes), None)
    if step is None:
        raise fail(f"{visible(name)}: no step of this calculation has an axis {axis}")
    places: list[int] = []
    for part in filter(None, map(str.strip, written.split(","))):
        is_place = "-" not in part or places_of(step, axis, part)
        span = span_of(step, axis, part if is_place else part.replace("-", ":", 1), name)
        places += [span] if isinstance(span, int) else span
    return list(dict.fromkeys(places))


def size_along(step: Step, axis: str) -> int:
    return step.value.shape[step.axes.index(axis)]


def span_of(step: Step, axis: str, word: str, name: str) -> int | range:
    """Return the place along an axis that a word names, or the places from one to another."""
    size = size_along(step, axis)
    if word == ":":
        return range(size)
    for colon in (match.start() for match in re.finditer(":", word)):
        ends = word[:colon].strip(), word[colon + 1 :].strip()
        known_ends = [places_of(step, axis, end) if end else [None] for end in ends]
        if places_of(step, axis, word) or [len(places) for places in known_ends] != [1, 1]:
            continue
        (first,), (last,) = known_ends
        first, last = first or 0, size - 1 if last is None else last
        if first > last:
            message = f"{visible(name)}: {visible(ends[0])} comes after {visible(ends[1])}"
            raise fail(message, hint=f"write {visible(ends[1])}:{visible(ends[0])}")
        return range(first, last + 1)
    places = places_of(step, axis, word)
    if len(places) == 1:
        return places[0]
    if places:
        at = f"the places {' and '.join(str(i + 1) for i in places)} of the {axis} axis"
        raise fail(f"{visible(name)}: {visible(word)} is at {at}", hint="give the number")
    labels = step.labels.get(axis, ())
    known = f"the numbers 1 to {size}"
    if labels and len(labels) <= MOST_LISTED:
        known = f"{', '.join(map(visible, labels))}, or {known}"
    message = f"{visible(name)}: there is no {axis} {visible(word)}"
    raise InputError(NotThere(message, hint=f"there are {known}"))


def places_of(step: Step, axis: str, word: str) -> list[int]:
    """Return the places along an axis that a word means: a label, in quotes or not, or a number."""
    labels = step.labels.get(axis, ())
    places = step.labelled(axis, word[1:-1] if re.fullmatch('".*"', word, re.DOTALL) else word)
    if word.isdecimal() and not all(are_clear(labels)[i] for i in places):
        places = []  # the number of a place
    if not places:  # the label and number that tables show, as the(1), if the label occurs twice
        pairs = zip(labels, told_apart(labels), strict=True)
        places = [i for i, (label, told) in enumerate(pairs) if told == word != label]
    if not places and 1 <= count_in(word) <= size_along(step, axis):
        places = [int(word) - 1]
    return places


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
    divideby√dk dividedby√dk
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
    allcontextvecs headoutputs av hookz multiplybyv weightedsum weightedsumofvalues
concat: z concatenated concatenation concatheads headsconcatenated
output: z y o out outputs result attentionoutput av va attnoutput hookattnout \
    attentionq,k,v softmaxqkt/√dkv softmaxqktv multiplybyv weightedsum weightedsumofvalues
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
    word = word.replace("’", "'")
    return IGNORED.sub("", word).casefold()
