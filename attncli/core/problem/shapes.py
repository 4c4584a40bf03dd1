"""The shapes of a problem's matrices: every letter of a kind's shapes is one size.

Each matrix binds the letters of its shape. The second matrix that binds a letter must agree with
the first, and a message can name both.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from math import prod
from typing import Any

from attncli.core.attention.scores import SCORES
from attncli.core.declare import Mechanism, Shapes
from attncli.core.errors import Fault, refuse
from attncli.core.numbers.forms import ArrayForm, Form
from attncli.core.numbers.written import shape_words
from attncli.core.problem.keys import KEYS, KINDS, cutting, shapes_with
from attncli.core.problem.values import NamedRow, Table
from attncli.core.records import Record, replace
from attncli.core.text.strings import OF_LAYER

MAX_LEADING_AXES = {"": 0, "batch": 1, "head": 1, "either": 2}
"""Maximum number of axes before those of the matrix, by the `stack` of its form."""


def form_of(key: str) -> Form:
    """Return the form of a key, or of a part such as `score.W`."""
    head, _, part = OF_LAYER.sub("", key, 1).partition(".")
    form = KEYS[head].form
    return form.parts()[part] if part else form


def array_form(key: str) -> ArrayForm:
    """Return the form of a matrix or vector, or of a part such as `score.W`."""
    form = form_of(key)
    assert isinstance(form, ArrayForm)  # the caller has an array
    return form


def is_transposed(key: str, tokens_as: str, weights_as: str) -> bool:
    """Return True if an array is written transposed, by the values of two keys of its problem.

    Where a token is a column, all matrices are but the parameters of score functions and what is
    applied from the left.
    """
    form, row = form_of(key), KEYS[OF_LAYER.sub("", key, 1).partition(".")[0]]
    if not isinstance(form, ArrayForm):
        return False
    is_turned = form.axes == 2 and not row.as_written
    return is_turned if tokens_as == "columns" else weights_as == "out_in" and form.is_weight


def is_learned(key: str) -> bool:
    """Return whether the matrix of a key, or of a part such as `score.W`, is learned."""
    head, _, part = OF_LAYER.sub("", key, 1).partition(".")
    row = KEYS.get(head)
    return bool(key) and (row is None or not {head, part}.intersection(row.fixed))


def may_be_outline(key: str) -> bool:
    """Return whether the work of a problem depends on the shape of a matrix alone.

    The numbers of the others say which cells are blocked.
    """
    return OF_LAYER.sub("", key, 1).partition(".")[0] not in ("bias", "mask", "scores")


def leading_axes(key: str, axes: int, heads: int, stacked: bool = False) -> tuple[str, ...]:
    """Return the names of the axes before those of the matrix: "batch", "head", or both.

    Arrays of several problems that were `stacked` have another batch axis before all others.
    """
    if stacked:
        return ("batch", *leading_axes(key, axes - 1, heads))
    form = array_form(key)
    if axes - form.axes != 1:
        return ("batch", "head")[: axes - form.axes]
    by_head = form.stack == "head" or (form.stack == "either" and heads > 1)
    return ("head",) if by_head else ("batch",)


class Bound(Record):
    """A size, the key that fixed it, and words for that, such as `X has 4 columns`."""

    size: int
    key: str
    noun: str
    words: str


class Sizes:
    """The letters bound so far, and what did not fit; messages count what the user counts."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.heads, self.kv_heads = values["heads"], values["kv_heads"]
        cut_by = cutting(values)
        self.halves = cut_by.halves if cut_by else 1  # number of parts of each head's queries
        self.cut_by = cut_by.name if cut_by else ""
        self.columns = values["tokens_as"] == "columns"
        self.written_as = (values["tokens_as"], values["weights_as"])
        self.bound = {"1": Bound(1, "", "", "there is one number")}
        self.faults: list[Fault] = []

    def __getitem__(self, letter: str) -> int:
        return self.bound[letter].size

    def __contains__(self, letter: str) -> bool:
        return letter in self.bound

    def size(self, letter: str) -> int | None:
        """Return the size of a letter, a product `heads*d_k` or a sum `d_q + d_k`, if known."""
        if "+" in letter:
            terms = [self.size(term) for term in letter.split(" + ")]
            return None if None in terms else sum(filter(None, terms))
        counter, _, name = letter.rpartition("*")
        return self[name] * self._count(counter) if name in self else None

    def _count(self, counter: str) -> int:
        return prod(getattr(self, name) for name in counter.split("*") if name)

    def bind_matrix(self, key: str, shape: tuple[int, ...], letters: tuple[str, ...]) -> None:
        """Bind the letters of a matrix (…, row, column) in row convention, or of a vector."""
        before = len(self.faults)
        if self._bind_leading(key, shape, letters):  # each matrix is of one head
            letters = tuple(x.removeprefix("kv_").removeprefix("heads*") for x in letters)
        inner = shape[len(shape) - len(letters) :]
        expected = [self.size(letter) for letter in letters]
        flips = is_transposed(key, *self.written_as)
        nouns: tuple[str, ...] = ("columns", "rows") if flips else ("rows", "columns")
        nouns = nouns if len(letters) > 1 else ("numbers",)
        for letter, size, noun, known in zip(letters, inner, nouns, expected, strict=True):
            fits = size == known or (size == 1 and array_form(key).broadcasts)
            if not fits:
                self.bind(letter, size, key, noun)
        if len(self.faults) == before:
            return
        bound = [self.size(letter) for letter in letters]
        fitting = tuple(size if k is None else k for k, size in zip(bound, inner, strict=True))
        if fitting == inner:
            return
        pairs = zip(expected, inner[::-1], strict=True)
        if array_form(key).is_weight and all(size in (None, other) for size, other in pairs):
            stored = "(in, out)?" if flips else "(out, in)? write weights_as: out_in"
            stored += " leave out weights_as" if flips and not self.columns else ""
            hint = f"its transpose would fit: is it stored {stored}"
        else:
            hint = f"{shape_words(fitting[::-1] if flips else fitting)} would fit"
        hint = f"{key} is {shape_words(inner[::-1] if flips else inner)}; {hint}"
        self.faults[before:] = [replace(f, hint=f.hint or hint) for f in self.faults[before:]]

    def _bind_leading(self, key: str, shape: tuple[int, ...], letters: tuple[str, ...]) -> bool:
        """Check the axes before those of the matrix; return True if there is a matrix per head."""
        if (inner := len(letters)) == len(shape):
            return False
        form = array_form(key)
        limit = inner + MAX_LEADING_AXES[form.stack]
        if len(shape) > limit:
            message = f"{key} has {len(shape)} axes, but at most {limit} fit"
            self.note(key, message, needs="")
            return False
        leading = dict(zip(leading_axes(key, len(shape), self.heads), shape, strict=False))
        batch, matrices = leading.get("batch"), leading.get("head")
        if batch is not None and not (batch == 1 and form.broadcasts):
            self.bind("batch", batch, key, "batch elements")
        counter = counter_of(letters)
        count = self._count(counter)
        if matrices not in (None, count) and not (matrices == 1 and form.broadcasts):
            message = f"{key} is a list of {matrices} matrices, one per head"
            hint = f"set {counter}: {matrices}, or write one matrix"
            if form.stack == "either":  # with three axes it has one matrix per head
                hint = f"for a batch of {matrices}, write four axes: ({matrices}, {count}, …)"
            self.note(key, f"{message}, but {counter} is {count}", hint=hint)
        return matrices is not None

    def bind(self, letter: str, size: int, key: str, noun: str, words: str = "") -> None:
        """Bind a letter, product or sum to a size; note a fault if it has another one.

        `words` replaces the fact in the message, by default that the key has `size` of the noun.
        """
        counted = noun if size != 1 else noun.removesuffix("s")
        words = words or f"{key} has {size} {counted}"
        if "+" in letter:
            if (needed := self.size(letter)) not in (None, size):
                terms = letter.split(" + ")
                which = " + ".join(f"{term} = {self[term]}" for term in terms)
                message = f"{words}, but needs {needed} ({which})"
                self.note(key, message, self.bound[terms[-1]].key)
            return
        counter, _, letter = letter.rpartition("*")
        count, has_halves = self._count(counter), self.halves > 1 and counter.endswith("halves")
        if size % count:
            option = "heads" if count == self.heads else counter
            message = f"{option} = {count} does not divide the {size} {counted} of {key}"
            if has_halves:
                option = self.cut_by
                message = f"{count} halves need a multiple of {count} {noun}, but {words}"
            self.note(option, message, key)
            return
        if count > 1:
            size //= count
            words += f" ({count} {'halves' if has_halves else 'heads'} of {size})"
        known = self.bound.setdefault(letter, Bound(size, key, noun, words))
        if known.size != size:
            message = f"{words}, but {known.words}{' per head' * (bool(counter) and letter == '1')}"
            is_projection = key in ("W_q", "W_k", "W_v") and "_" not in known.key
            if letter in ("d_model", "d_memory") and is_projection:
                stored = f"{key}{'ᵀ' * (self.written_as[1] == 'out_in')}"
                product = f"{key} {known.key}" if self.columns else f"{known.key} {stored}"
                message += f" ({product} needs them equal)"
            self.note(key, message, known.key)

    def note(
        self, key: str, message: str, other: str = "", hint: str = "", needs: str = "sizes"
    ) -> None:
        """Note a fault of a key, and of another that the message names."""
        related = tuple(filter(None, other.split(".")))
        self.faults.append(Fault(message, tuple(key.split(".")), hint, related, needs=needs))


def counter_of(letters: tuple[str, ...]) -> str:
    """Return what counts the heads of a matrix with these letters: "heads", or "kv_heads"."""
    return "kv_heads" if letters[-1].startswith("kv_heads*") else "heads"


def heads_of(values: Mapping[str, Any], keys_read: Collection[str]) -> tuple[int, int]:
    """Return the number of heads of queries, and of keys and values.

    Where no option gives it, an array of four axes does: (batch, heads, n, d).
    """
    shapes = {key: a.shape for key, a in values.items() if getattr(a, "ndim", 0) == 4}
    counts = {key: shape[1] for key, shape in shapes.items()}
    known: dict[str, tuple[int, str]] = {}  # the number, and the key that gives it
    for option, keys in (("heads", ("Q", "scores")), ("kv_heads", ("K", "V"))):
        if option in keys_read:
            known[option] = values[option], option
        for key in (key for key in keys if key in counts):
            count, origin = known.setdefault(option, (counts[key], key))
            if count != counts[key]:
                _refuse_heads(key, shapes[key], origin, count, option)
    kv_heads, other = known.get("kv_heads", (0, ""))
    of_values = (kv_heads, other) if other in counts else (values["heads"], "heads")
    heads, origin = known.get("heads", of_values)
    if other in counts and heads % kv_heads:
        _refuse_heads(other, shapes[other], origin, heads, "heads")
    return heads, kv_heads or heads


def _refuse_heads(key: str, shape: tuple[int, ...], origin: str, other: int, option: str) -> None:
    _, count, third, _ = shape
    verb = "is" if origin == option else "has"
    message = f"{key} has {count} heads, its second axis of four, but {origin} {verb} {other}"
    hint = f"leave out {option}, or write {option}: {count}" if origin == option else ""
    if third == other or not hint:
        hint = "the axes are (batch, heads, n, d)"
    if third == other:
        hint += f"; exchange the second and the third, as {key}.swapaxes(1, 2) does"
    refuse([Fault(message, (key,), hint, related=(origin,), needs="sizes")])


def sizes_of(values: Mapping[str, Any], shape_of: Mapping[str, tuple[int, ...]]) -> Sizes:
    """Return the letters of a problem, bound to sizes, and what does not fit as faults.

    `shape_of` has the shape of every matrix that there is, also of `score.W`, with tokens in rows.
    """
    kind = KINDS[values["kind"]]
    sizes = Sizes(values)
    heads, kv_heads = sizes.heads, sizes.kv_heads
    sizes.bound["heads"] = Bound(size=heads, key="", noun="", words=f"heads is {heads}")
    if heads % kv_heads:
        message = f"kv_heads = {kv_heads} does not divide heads = {heads}"
        sizes.note("kv_heads", message, "heads")
        return sizes
    shapes = _of_arrays(shapes_of(kind, values), shape_of)
    late = [key for key in shapes if KEYS[key.partition(".")[0]].is_late]
    for key in shapes:
        if key not in late:
            sizes.bind_matrix(key, shape_of[key], shapes[key])
    if values["tokens"] and kind.tokens not in sizes and kind.makes:
        sizes.bind(kind.tokens, len(values["tokens"]), "tokens", "labels")
    if not sizes.faults and not values["layers"]:
        _imply(sizes, kind, shape_of)
        _compare(sizes, values["score"]["name"] if "score" in kind.options else "a state")
    if kind.single is not None:
        letter, key = kind.single
        sizes.bind(letter, 1, key, "rows")
    for key in late:
        sizes.bind_matrix(key, shape_of[key], shapes[key])
    for key, letter, labels in (("tokens", kind.tokens, values["tokens"]), *_labels(values)):
        if labels and letter in sizes:
            sizes.bind(letter, len(labels), key, "labels")
    _refuse_two_readings(sizes, shapes, values, shape_of)
    return sizes


def _labels(values: Mapping[str, Any]) -> Iterator[tuple[str, str, Sequence[str]]]:
    """Yield each key of words, or its part, with the letter that counts them, and the words."""
    for key, row in KEYS.items():
        for part, letter in row.labels.items():
            words = values[key].get(part, ()) if part else values[key]
            yield f"{key}.{part}" if part else key, letter, words


def shapes_of(kind: Mechanism, values: Mapping[str, Any]) -> Shapes:
    """Return the letters of every matrix of a problem; the parts of a key share its letters."""
    shapes = shapes_with(kind, values)
    for key in ("score", "normalize", "qk_norm"):
        parameters = _table_of(key)[values[key]["name"]].parameters if values[key] else ()
        shapes |= {f"{key}.{p.name}": p.shape for p in parameters if p.shape}
    positions = _table_of("positions").values() if values["positions"] else ()
    of_positions = (p for row in positions for p in row.parameters if p.shape)
    return shapes | {f"positions.{p.name}": p.shape for p in of_positions}


def _table_of(key: str) -> Table:
    """Return the table of which a key names rows; it is imported only if a problem has the key."""
    form = KEYS[key].form
    assert isinstance(form, NamedRow)
    return form.table()


def _of_arrays(shapes: Shapes, keys: Collection[str]) -> Shapes:
    ranks = {key: rank for rank, key in enumerate(shapes)}
    rows = {key: key if key in shapes else key.partition(".")[0] for key in keys}
    arrays = [key for key in keys if isinstance(form_of(key), ArrayForm)]
    return {key: shapes[rows[key]] for key in sorted(arrays, key=lambda key: ranks[rows[key]])}


def _imply(sizes: Sizes, kind: Mechanism, keys: Collection[str]) -> None:
    """Bind the letters that follow from others where matrices are left out."""
    left_out = [rule for rule in kind.implied if not any(key in keys for key in rule.unless)]
    for implied in left_out:
        size = sizes.size(implied.origin)
        if size is not None and not (implied.or_one and size == 1):
            known = sizes.bound[re.split(r"[* ]", implied.origin)[-1]]
            weights = [key for key in implied.unless if key.startswith("W") or "." in key]
            words = f"{implied.origin} is {size}" if "+" in implied.origin else known.words
            words += f", and {weights[0]} is left out" if weights else ""
            sizes.bind(implied.letter, size, known.key, known.noun, words)


def _compare(sizes: Sizes, name: str) -> None:
    """Note a fault where the score function needs queries and keys of one size."""
    has_score = name in SCORES
    if "d_q" not in sizes or "d_k" not in sizes or (has_score and not SCORES[name].same_size):
        return
    q, k = sizes.bound["d_q"], sizes.bound["d_k"]
    if q.size != k.size:
        message = f"{name} needs queries and keys of one size, but "
        message += f"a query is of size {q.size} ({q.words}) and a key of {k.size} ({k.words})"
        hint = "the score functions general, additive and concat take different sizes"
        hint = hint if has_score else ""
        if (q.key, k.key) in (("W_q", "X"), ("W_q", "memory")):
            hint = f"write W_k; {hint}"
        sizes.note(k.key, message, q.key, hint)


def _refuse_two_readings(
    sizes: Sizes, shapes: Shapes, values: Mapping[str, Any], shape_of: Mapping[str, tuple[int, ...]]
) -> None:
    """Note a fault for each matrix of three axes whose first may be the batch or the heads.

    Queries, keys and values that fit as one matrix per head are at fault only if they also fit as
    one per batch element, uncut.
    """
    batch = sizes.size("batch")
    stacks = [key for key, shape in shape_of.items() if len(shape) == 3 and shape[0] == batch]
    unclear = [key for key in stacks if sizes.heads > 1 and array_form(key).stack == "either"]
    unclear = [key for key in unclear if batch != 1 or not array_form(key).broadcasts]
    uncut = {key: shape_of[key][1:] for key in unclear if "*" in shapes[key][1]}
    if uncut and not sizes.faults and sizes_of(values, {**shape_of, **uncut}).faults:
        unclear = [key for key in unclear if key not in uncut]
    sizes.faults = [] if unclear else sizes.faults  # what else does not fit may follow from it
    for key in unclear:
        letters = [letter.rpartition("*")[2] for letter in shapes[key]]
        inner = ", ".join(letters[::-1] if sizes.columns else letters)
        heads = getattr(sizes, counter_of(shapes[key]))
        leads = [(batch, 1), (1, heads)] if array_form(key).broadcasts else [(batch, heads)]
        forms = " or ".join(f"({first}, {second}, {inner})" for first, second in leads)
        message = f"the first of the three axes of {key} may be the batch or the heads"
        hint = f"write four axes, the batch and the heads first: {forms}"
        sizes.note(key, message, sizes.bound["batch"].key, hint)
