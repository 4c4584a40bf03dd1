"""A problem: everything that a calculation needs, checked when it is made.

A `Problem` knows keys and shapes, not files: what is wrong is told by key, and `load` adds
where in the file that key stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.attention.masks import MASKS, Mask
from attncli.attention.normalizers import Normalize
from attncli.attention.scores import SCORES
from attncli.attention.weights import Factor, Rules
from attncli.errors import Fault, InputError, KeyPath, Place, collected, refuse
from attncli.problem.keys import KEYS, SCALE_NAMES, turns
from attncli.problem.kinds import COMMON_OPTIONS, KINDS, UPDATE_SHAPES, Shapes
from attncli.problem.scale import factor
from attncli.problem.shapes import Sizes, bind_all
from attncli.problem.values import read_value


class Problem:
    """One attention problem; its keys are those of a problem file.

    Matrices may be given as nested lists, arrays, or text; every other key as in a file. A key
    that was left out is None or its default. What is wrong is told all at once.

    Attributes:
        given: the keys that were given.
        sizes: the letters of all shapes, such as n and d_k, and their sizes.
        rules: how scores come about and become weights.
        written: small keys as they were given, with the digits that were written.
        source: gives the place of a key in the file that the problem is from.

    Raises:
        InputError: for an unknown key, a value that cannot be read, shapes that do not fit.

    >>> problem = Problem(X=[[1, 0], [0, 1]], score="dot")
    >>> problem.X
    array([[1., 0.],
           [0., 1.]])
    >>> Problem(X=[[1, 0], [0, 1]], W_k=[[1, 0]])
    Traceback (most recent call last):
        ...
    attncli.errors.InputError: W_k has 1 row, but X has 2 columns (X W_k needs them equal)
      W_k is (1, 2); (2, 2) would fit
    """

    title: str
    notes: str
    kind: str
    tokens: tuple[str, ...]
    memory_tokens: tuple[str, ...]
    X: Array | None
    heads: int
    kv_heads: int
    tokens_as: str
    rules: Rules
    sizes: Sizes
    source: Callable[[KeyPath], Place]
    given: tuple[str, ...]
    written: Mapping[str, Any]

    def __init__(self, /, **given: Any) -> None:
        faults: list[Fault] = []
        given = {key: raw for key, raw in given.items() if raw is not None}
        values: dict[str, Any] = dict(DEFAULTS)
        for key, raw in given.items():
            with collected(faults):
                values[key] = read_value(key, raw)
        refuse(faults)
        values.setdefault("kv_heads", values["heads"])
        values.setdefault("score", {"name": KINDS[values["kind"]].score})
        self.__dict__.update(values)
        self.__dict__["given"] = tuple(given)
        self.__dict__["written"] = {key: raw for key, raw in given.items() if _is_small(raw)}
        self.__dict__["source"] = _nowhere
        with collected(faults):
            self._check_keys()
        refuse(faults)
        sizes = self._bind_shapes()
        self.__dict__["sizes"] = sizes
        refuse(sizes.faults)
        with collected(faults):
            self.__dict__["rules"] = self._rules()
        refuse(faults)

    def __getattr__(self, name: str) -> Any:
        """A key that was not given is None."""
        if name in KEYS:
            return None
        raise AttributeError(f"a problem has no key {name}")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a problem does not change; make a new one")

    def __repr__(self) -> str:
        """Which keys were given."""
        return f"<Problem {self.kind}: {', '.join(self.given)}>"

    def from_file(self, source: Callable[[KeyPath], Place]) -> Problem:
        """Return the problem, knowing where its keys stand."""
        problem = object.__new__(Problem)
        problem.__dict__.update(self.__dict__, source=source)
        return problem

    @property
    def columns(self) -> bool:
        """Whether a token is a column."""
        return self.tokens_as == "columns"

    @property
    def keys_are_tokens(self) -> bool:
        """Whether the words of `tokens` name the keys too."""
        same = "n" in self.sizes and "m" in self.sizes and self.sizes["n"] == self.sizes["m"]
        return self.kind == "self" and same

    def array(self, key: str) -> Array:
        """Return a matrix as operations take it: (batch, head, row, column), tokens in rows."""
        array = self.__dict__[key]
        if self.columns and array.ndim > 1 and turns(key):
            array = np.swapaxes(array, -1, -2)
        return self._lifted(array, key, 1 if KEYS[key].form == "vector" else 2)

    def leading(self, key: str) -> tuple[str, ...]:
        """Return which of the axes "batch" and "head" a matrix has."""
        extra = self.__dict__[key].ndim - (1 if KEYS[key].form == "vector" else 2)
        found: tuple[str, ...] = ("batch", "head") if extra == 2 else ()
        if extra == 1:
            found = ("head",) if self._is_by_head(key) else ("batch",)
        return tuple(name for name in found if name != "head" or self.heads > 1)

    def matrices(self) -> dict[str, Array]:
        """Return every matrix as it was given, by key; parameters as `score.W`, `mask.keep`."""
        found = {key: self.__dict__[key] for key in KEYS if _is_array(self.__dict__.get(key))}
        for key in ("score", "mask"):
            mapping = self.__dict__.get(key) or {}
            found |= {f"{key}.{name}": part for name, part in mapping.items() if _is_array(part)}
        return found

    def options(self) -> dict[str, object]:
        """Return everything that is no matrix, with defaults filled in, ready for JSON."""
        kind = KINDS[self.kind]
        found: dict[str, object] = {}
        for key in (*COMMON_OPTIONS, *kind.options):
            value = self.__dict__.get(key)
            if key in ("title", "notes", "answers") or value is None or value == ():
                continue
            if key == "score" and "scores" in self.given:
                continue
            if isinstance(value, Mapping):
                value = {name: part for name, part in value.items() if not _is_array(part)}
            if value == {}:
                continue
            found[key] = list(value) if isinstance(value, tuple) else value
        return found

    def _check_keys(self) -> None:
        """Raise for keys that this kind has no use for, or that exclude each other."""
        kind = KINDS[self.kind]
        faults = []
        for key in self.given:
            if key not in kind.shapes and key not in (*COMMON_OPTIONS, *kind.options):
                fitting = [name for name, k in KINDS.items() if key in (*k.shapes, *k.options)]
                hint = f"it is for kind: {' or '.join(fitting)}" if fitting else ""
                faults.append(Fault(f"{key} has no use in kind {self.kind}", (key,), hint))
        for direct, replaced in REPLACES.items():
            if direct in self.given:
                for key in replaced:
                    if key in self.given:
                        message = f"{direct} is given, so {key} has no use"
                        hint = f"leave out {key} or {direct}"
                        faults.append(Fault(message, (key,), hint, related=(direct,)))
        for form in self.mask or ():
            if form in MASKS and form not in kind.masks:
                message = f"the mask {form} has no use in kind {self.kind}"
                hint = f"{', '.join(kind.masks)} have"
                faults.append(Fault(message, ("mask", form), hint))
        if self.kind not in ("self", "cross") and self.normalize.get("axis") == "queries":
            message = f"normalize.axis has no use in kind {self.kind}"
            faults.append(Fault(message, ("normalize", "axis"), "leave it out"))
        refuse([*faults, *self._missing()])

    def _missing(self) -> Iterator[Fault]:
        """Yield a fault for what the kind cannot do without."""
        needs = KINDS[self.kind].needs
        for key in needs:
            if key not in self.given:
                yield Fault(f"kind {self.kind} needs {key}", ("kind",), KEYS[key].meaning)
        if needs:
            return
        source = "memory" if self.kind == "cross" else "X"
        known = "scores" in self.given
        for key, origin in (("Q", "X"), ("K", source), ("V", source)):
            if key in self.given or origin in self.given or (known and key != "V"):
                continue
            hint = f"{key} is made from {origin}; write {origin}: [[1, 0], [0, 1]]"
            yield Fault(f"there is neither {origin} nor {key}", (), hint)
            return

    def _bind_shapes(self) -> Sizes:
        """Bind every letter, those of left-out keys too."""
        kind = KINDS[self.kind]
        sizes = Sizes(self.heads, self.kv_heads, self.columns)
        if self.heads % self.kv_heads:
            message = f"kv_heads = {self.kv_heads} does not divide heads = {self.heads}"
            sizes.faults.append(Fault(message, ("kv_heads",), related=("heads",)))
            return sizes
        shapes = self._shapes()
        given = {key: self._row_shape(key, array) for key, array in self.matrices().items()}
        late = [key for key in shapes if key in AFTER_PROJECTION or key.startswith("score.")]
        bind_all(sizes, {k: v for k, v in shapes.items() if k not in late}, given)
        if not sizes.faults:
            for implied in kind.implied:
                if not any(key in self.given for key in implied.unless):
                    sizes.imply(implied.letter, implied.origin)
            self._compare_sizes(sizes)
        if self.kind == "pooling":
            sizes.bind("n", 1, "u", "rows")
        bind_all(sizes, {k: shapes[k] for k in late}, given)
        for key, letter in (("tokens", kind.tokens), ("memory_tokens", "m")):
            labels = self.__dict__[key]
            if labels and letter in sizes:
                sizes.bind(letter, len(labels), key, "labels")
        return sizes

    def _shapes(self) -> Shapes:
        """Return the letters of every matrix that this problem may have."""
        shapes = dict(KINDS[self.kind].shapes)
        if self.kind == "recurrent":
            shapes["A"] = UPDATE_SHAPES[self.update]
        for parameter in SCORES[self.score["name"]].parameters:
            if parameter.shape:
                shapes[f"score.{parameter.name}"] = parameter.shape
        return shapes

    def _row_shape(self, key: str, array: Array) -> tuple[int, ...]:
        """Return the shape of a matrix with its tokens in rows."""
        *lead, row, column = (1, *array.shape)
        if self.columns and array.ndim > 1 and turns(key):
            row, column = column, row
        return (*lead, row, column)[1:]

    def _compare_sizes(self, sizes: Sizes) -> None:
        """Note a fault where the score function needs queries and keys of one size."""
        name = self.score["name"]
        if not SCORES[name].same_size or "d_q" not in sizes or "d_k" not in sizes:
            return
        q, k = sizes.bound["d_q"], sizes.bound["d_k"]
        if q.size != k.size:
            message = f"{name} needs queries and keys of one size, but "
            message += f"a query is of size {q.size} ({q.words}) and a key of {k.size} ({k.words})"
            hint = "the score functions general, additive and concat take different sizes"
            sizes.faults.append(Fault(message, (k.key,), hint, related=(q.key,)))

    def _rules(self) -> Rules:
        name = self.score["name"]
        parameters = {key: part for key, part in self.score.items() if key != "name"}
        return Rules(
            name,
            parameters,
            self._factor(),
            self.softcap,
            self.array("bias") if "bias" in self.given else None,
            self._mask(),
            Normalize(**{key: _base(part) for key, part in self.normalize.items()}),
        )

    def _factor(self) -> Factor | None:
        """Return the scale with sizes put in; None where it is 1."""
        known_scores = "scores" in self.given
        text = self.scale or ("1" if known_scores else SCORES[self.score["name"]].scale)
        self.__dict__["scale"] = text
        return factor(text, self._sizes_by_name())

    def _sizes_by_name(self) -> dict[str, float]:
        return {n: float(self.sizes[n]) for n in SCALE_NAMES if n in self.sizes}

    def _mask(self) -> Mask:
        given = dict(self.mask or {})
        for key in ("keep", "block"):
            if key in given:
                array = np.swapaxes(given[key], -1, -2) if self.columns else given[key]
                given[key] = self._lifted(array, "bias", 2)
        if "lengths" in given:
            self._check_lengths(given["lengths"])
        return Mask(**given)

    def _check_lengths(self, lengths: Array) -> None:
        path = ("mask", "lengths")
        batch = self.sizes.bound["batch"].size if "batch" in self.sizes.bound else 1
        m = self.sizes["m"]
        if len(lengths) not in (1, batch):
            message = (
                f"mask.lengths has {len(lengths)} numbers, but there are {batch} batch elements"
            )
            raise InputError(Fault(message, path))
        for length in lengths:
            if not 0 <= length <= m or length != int(length):
                message = f"mask.lengths holds {length:g}, but there are {m} keys"
                raise InputError(Fault(message, path, f"use whole numbers from 0 to {m}"))

    def _lifted(self, array: Array, key: str, trailing: int) -> Array:
        """Return the array with axes of size 1 for batch and head where it has none."""
        array = array.reshape(*array.shape[:-1], 1, array.shape[-1]) if trailing == 1 else array
        extra = array.ndim - 2
        if extra == 0:
            return array[None, None]
        if extra == 2:
            return array
        return array[None] if self._is_by_head(key) else array[:, None]

    def _is_by_head(self, key: str) -> bool:
        """Whether a third axis of a matrix is its heads, and not a batch."""
        stack = KEYS[key].stack
        return stack == "head" or (stack == "either" and self.heads > 1)


DEFAULTS: dict[str, object] = {
    "title": "",
    "notes": "",
    "kind": "self",
    "tokens": (),
    "memory_tokens": (),
    "heads": 1,
    "normalize": {"name": "softmax"},
    "tokens_as": "rows",
    "update": "input_context",
}

REPLACES = {
    "Q": ("W_q", "b_q"),
    "K": ("W_k", "b_k"),
    "V": ("W_v", "b_v"),
    "scores": ("Q", "K", "W_q", "b_q", "W_k", "b_k", "score"),
}
"""What is given directly, and what has no use then."""

SMALL = 10_000
"""How many numbers, or characters of a text block, a key may have to be kept as written."""

AFTER_PROJECTION = ("bias", "mask.keep", "mask.block", "W_o", "b_o", "W_c")
"""The matrices that meet sizes which queries, keys and values have fixed."""


def _nowhere(path: KeyPath) -> Place:
    del path
    return Place("")


def _is_array(value: object) -> bool:
    return isinstance(value, np.ndarray)


def _is_small(raw: object) -> bool:
    """Whether a value is of a size that a hand calculates with, and so worth being kept twice."""
    rows = raw if isinstance(raw, list | tuple) else ()
    count = sum(len(row) if isinstance(row, list | tuple) else 1 for row in rows)
    return (len(raw) if isinstance(raw, str) else getattr(raw, "size", count)) <= SMALL


def _base(part: object) -> Any:
    return float(np.e) if part == "e" else part
