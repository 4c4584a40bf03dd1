"""Layers of attention and a feed-forward network, and the next token (Vaswani et al. 2017).

`place: pre` normalises what goes into each half of a layer (Xiong et al. 2020), `post` what comes
out of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from attncli.core.arithmetic.elements import Array
from attncli.core.arithmetic.floats import Outline
from attncli.core.attention.normalizers import Hardmax, softmax
from attncli.core.attention.norms_and_activations import ACTIVATIONS, WITH_GATE, eps_of, normalized
from attncli.core.attention.parameters import Normalize
from attncli.core.errors import fail
from attncli.core.formulas import tree
from attncli.core.problem.problem import Problem
from attncli.core.tape.backward_operations import Hadamard, Loss, Subtract
from attncli.core.tape.evaluation import array_of
from attncli.core.tape.operations import Add, MatMul, Scale, Transposed, joined
from attncli.core.tape.step import Derivatives, Expression, Operation, ShapeError, Step
from attncli.core.tape.tape import Tape
from attncli.core.text.strings import count_in, did_you_mean, label_text, visible
from attncli.mechanisms.attention.lines import is_given, label, put
from attncli.mechanisms.attention.steps import steps as attention

RENAMED = {"output": "attended", "hidden": "score_hidden", "gated": "gated_context"}
"""Other names, in a layer, of steps of attention: the feed-forward network has the usual ones."""

RESIDUAL = "What was found is added to what was there, so that nothing is lost."
LOGITS = "One number for each word that may follow."
FEED_FORWARD = "Each token is worked on by itself, by the same two matrices."


def steps(tape: Tape, problem: Problem) -> None:
    """Record every step of each layer, and the logits, the next token and the loss after them."""
    vocabulary = problem.embedding.get("vocabulary", ())
    label(tape, query=problem.tokens, key=problem.tokens, vocabulary=vocabulary)
    x = _input(tape, problem)
    if problem.rules.positions:
        from attncli.core.attention.positions import embedded

        x = embedded(tape, x, problem.rules.positions)
    for number, layer in enumerate(problem.layers or (problem,), 1):
        is_one = not problem.layers
        of_layer = "" if is_one else f"layer {number}: "
        with tape.within(**{} if is_one else {"layer": number, "layer_keys": layer.layer_keys}):
            x = _layer(tape, layer, x, of_layer)
    _end(tape, problem, x)


def _input(tape: Tape, problem: Problem) -> Step:
    """Return X, or record it as rows of the embedding."""
    if "X" in problem.given:
        return put(tape, problem, "X", ("query", "model"))
    if not problem.embedding:
        message = "the X of a layer is what the layer before it makes"
        raise fail(message, "X", hint="compute the whole problem, or write X")
    words = tuple(map(label_text, problem.tokens))
    rows = Rows(_table(tape, problem), places_of(problem, "tokens"), words)
    return tape.record("X", rows, why="Each token is looked up: it has a row of the table.")


def _table(tape: Tape, problem: Problem) -> Step:
    return put(tape, problem, "embedding.table", ("vocabulary", "model"), "embedding")


def _layer(tape: Tape, problem: Problem, x: Step, of_layer: str) -> Step:
    """Record the two halves of a layer: attention, and the feed-forward network if there is one."""
    is_pre = problem.place == "pre"

    def halved(x: Step, number: int) -> Step:
        """Record one half."""
        half = ("attention", "feed-forward")[number - 1]
        tape.group = f"{of_layer}{half}"
        read = _normed(tape, problem, x, number) if is_pre else x
        change = (_attended, _fed_forward)[number - 1](tape, problem, read)
        sum_ = tape.record(f"residual_{number}", Add(x, change), why=RESIDUAL)
        return sum_ if is_pre else _normed(tape, problem, sum_, number)

    x = halved(x, 1)
    return halved(x, 2) if "W_1" in problem.given else x


def _normed(tape: Tape, problem: Problem, x: Step, number: int) -> Step:
    gain, shift = (_vector(tape, problem, f"{key}_{number}") for key in ("gain", "shift"))
    eps = eps_of(problem.norm, problem.eps)
    with tape.within(suffix=f"_{number}"):
        return normalized(tape, x, problem.norm, eps, gain, shift, "normed")


def _vector(tape: Tape, problem: Problem, key: str, name: str = "") -> Step | None:
    return put(tape, problem, key, ("model",), name) if is_given(problem, key) else None


def _attended(tape: Tape, problem: Problem, x: Step) -> Step:
    with tape.within(names=RENAMED, sources={"X": x}):
        return attention(tape, problem)


def _fed_forward(tape: Tape, problem: Problem, x: Step) -> Step:
    """Record act(x W_1 + b_1) W_2 + b_2; with W_3, act(…) is multiplied by x W_3 + b_3."""

    def linear(x: Step, number: int, axes: tuple[str, str]) -> Operation:
        result = MatMul(x, put(tape, problem, f"W_{number}", axes))
        bias = f"b_{number}"
        if bias not in problem.given:
            return result
        return Add(result, put(tape, problem, bias, axes[1:]))

    inner = ("model", "inner")
    name = problem.activation or "relu"
    row = ACTIVATIONS[WITH_GATE.get(name, name)]
    hidden = tape.record("hidden", linear(x, 1, inner))
    result = tape.record("activated", row.build(hidden), why=row.why)
    if "W_3" in problem.given:
        value = tape.record("value", linear(x, 3, inner))
        result = tape.record("gated", Hadamard(result, value), why="The gate says how much passes.")
    return tape.record("feed_forward", linear(result, 2, ("inner", "model")), why=FEED_FORWARD)


def _end(tape: Tape, problem: Problem, x: Step) -> None:
    """Record the last norm, the logits, their probabilities, the next token and the loss."""
    last, unembeds = final_norm(problem), problem.unembedding or "W_u" in problem.given
    tape.group = "next token" if unembeds else "output"
    if last:
        gain, shift = (
            _vector(tape, problem, f"final_norm.{key}", f"{key}_final") for key in ("gain", "shift")
        )
        name = "final" if unembeds else "output"
        x = normalized(tape, x, last["norm"], last["eps"], gain, shift, name)
    if not unembeds:
        if not last:
            tape.record("output", x)
        return
    matrix = (
        Transposed(_table(tape, problem))
        if problem.unembedding
        else put(tape, problem, "W_u", ("model", "vocabulary"))
    )
    logits = tape.record("logits", MatMul(x, matrix), why=LOGITS)
    with tape.within(suffix="_logits"):
        shares = softmax(tape, logits, Normalize())
    probabilities = tape.record("probabilities", shares)
    tape.record("next", Next(logits, -1, _word(tape, problem, logits)))
    if problem.target:
        targets = places_of(problem, "target")
        loss = CrossEntropy(probabilities, logits, targets)
        tape.record("loss", loss, symbol="L")


def final_norm(problem: Problem) -> dict[str, Any]:
    """Return the norm after the last layer: by default that of the layer, with its usual eps."""
    parts = problem.final_norm
    if "final_norm" not in problem.given:
        return {}
    last = (problem.layers or (problem,))[-1]
    norm = parts.get("norm", last.norm if last.norm != "none" else "layer")
    return {**parts, "norm": norm, "eps": eps_of(norm, parts.get("eps"))}


def places_of(problem: Problem, key: str) -> tuple[int, ...]:
    """Return the places in the vocabulary, from 0, of the words of `tokens` or `target`.

    A word is a label of the vocabulary, or else a number from 1.

    Raises:
        InputError: for a word that is neither.
    """
    labels = problem.embedding.get("vocabulary", ())
    place_of, size = {label: place for place, label in enumerate(labels)}, problem.sizes["v"]
    places = []
    for place, word in enumerate(getattr(problem, key)):
        if word in place_of:
            places.append(place_of[word])
        elif 1 <= count_in(word) <= size:
            places.append(int(word) - 1)
        else:
            number = f"write a number from 1 to {size}"
            hint = did_you_mean(word, labels) if labels else number
            message = f"{visible(word)} is not in the vocabulary"
            raise fail(message, key, place, hint=hint, needs="values")
    return tuple(places)


def _word(tape: Tape, problem: Problem, logits: Step) -> str:
    """Return the word of the largest logit of the last token; "" for a batch, or an outline."""
    rows = logits.array[:, 0, -1]
    if ((rows == rows.max(axis=-1, keepdims=True)).sum(axis=-1) > 1).any():
        tape.warn("several logits of the last token are largest: next is the first of them")
    if len(rows) > 1 or isinstance(rows, Outline):
        return ""
    place = int(rows[0].argmax())
    labels = problem.embedding.get("vocabulary", ())
    return label_text(labels[place]) if labels else str(place + 1)


def _refuse_outside(places: Sequence[int], size: int) -> None:
    if max(places) >= size:
        raise ShapeError(places)


MAX_FORMULA_WORDS = 12
"""Maximum number of tokens that the formula of their rows lists. Chosen."""


class Rows(Operation):
    """Some rows of a matrix; `words` are their labels."""

    operand: Expression
    places: tuple[int, ...]
    words: tuple[str, ...]
    shape = "v d -> query d"

    def apply(self, matrix: Array) -> Array:
        _refuse_outside(self.places, matrix.shape[-2])
        return matrix[..., list(self.places), :]

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        yield self.operand, Returned(upstream, self.places, array_of(self.operand).shape[-2])

    def notation(self, columns: bool) -> tree.Formula:
        """The rows of the tokens, by their labels where they have some."""
        words, kept = self.words, MAX_FORMULA_WORDS - 2
        if len(words) > MAX_FORMULA_WORDS:
            words = (*words[:kept], "…", words[-1])
        lines = f"{'columns' if columns else 'rows'} {', '.join(words)} of"
        return tree.Phrase((tree.Words(lines), *self.notations(columns)))


class Returned(Operation):
    """Rows put back in their places; the sum of them where a row was looked up several times."""

    operand: Expression
    places: tuple[int, ...]
    count: int
    shape = "n d -> vocabulary d"

    def apply(self, rows: Array) -> Array:
        uses = ([i for i, p in enumerate(self.places) if p == place] for place in range(self.count))
        nothing = np.zeros((*rows.shape[:-2], 1, rows.shape[-1]))
        sums = [rows[..., at, :].sum(axis=-2, keepdims=True) if at else nothing for at in uses]
        return joined(sums, -2)

    def notation(self, columns: bool) -> tree.Formula:
        return tree.Phrase((*self.notations(columns), tree.Words("in the rows of their tokens")))


class Next(Hardmax):
    """1 for the word with the largest logit of the last token, else 0."""

    word: str = ""
    shape = "n v' -> v"
    marks_label = True
    why = "The word with the largest logit is the likeliest."

    def apply(self, logits: Array) -> Array:
        return super().apply(logits[..., -1:, :])

    def bounds(self, logits: Any) -> Any:
        return super().bounds(logits[..., -1:, :])

    def notation(self, columns: bool) -> tree.Formula:
        line = tree.Words(f"the largest of the last {'column' if columns else 'row'} of")
        largest = tree.Phrase((line, *self.notations(columns)))
        return tree.Listed((tree.Words(self.word), largest)) if self.word else largest


class CrossEntropy(Loss):
    """−ln of the probability of each target, on average (Bishop 2006, eq. 4.108)."""

    probabilities: Expression
    logits: Step | None
    places: tuple[int, ...]
    why = "It is 0 if every target is certain, and the larger the less probable they are."

    @property
    def operands(self) -> tuple[Expression, ...]:
        return (self.probabilities,)

    def total(self, probabilities: Array) -> Array:
        _refuse_outside(self.places, probabilities.shape[-1])
        rows = [*range(len(self.places))]
        _refuse_outside(rows, probabilities.shape[-2])
        logarithms = np.log(probabilities[..., rows, list(self.places)]).reshape(1, 1, 1, -1)
        return -logarithms.sum(axis=-1, keepdims=True) / logarithms.shape[-1]

    def slopes(self) -> Derivatives:
        """Dlogits = (p − 1 at the target) / n, for p = softmax of the logits."""
        assert self.logits is not None  # from which the probabilities are calculated
        count = float(array_of(self.probabilities)[..., 0].size)
        difference = Subtract(self.probabilities, Targets(self.probabilities, self.places))
        yield self.logits, Scale(difference, over=count)

    def notation(self, columns: bool) -> tree.Formula:
        (probabilities,) = self.notations(columns)
        return tree.Minus(
            tree.Phrase((tree.Words("mean of ln"), probabilities, tree.Words("at the targets")))
        )


class Targets(Operation):
    """1 at the target of each token, else 0."""

    operand: Expression
    places: tuple[int, ...]

    def apply(self, probabilities: Array) -> Array:
        is_target = np.array(self.places)[:, None] == np.arange(probabilities.shape[-1])
        return np.broadcast_to(is_target, probabilities.shape).astype(float)

    def notation(self, columns: bool) -> tree.Formula:
        return tree.Words("1 at the targets")
