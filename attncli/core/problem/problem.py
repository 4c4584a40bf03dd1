"""A problem: everything that a calculation needs, checked when it is made.

Faults name a key; `load` adds the place of that key in the file.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from itertools import count
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from attncli.core.arithmetic.elements import Array
from attncli.core.attention.biases import ByPlace
from attncli.core.attention.masks import MASKS
from attncli.core.attention.parameters import settings_of
from attncli.core.attention.positions import by_place, checked
from attncli.core.attention.weights import Rules
from attncli.core.errors import KeyPath, Place, fail, needing, refuse
from attncli.core.formulas.tree import Formula
from attncli.core.numbers.form import ArrayForm
from attncli.core.numbers.matrices import as_block
from attncli.core.problem.key_names import with_keys
from attncli.core.problem.key_values import DEFAULTS, is_small, misused, read_keys, with_defaults
from attncli.core.problem.keys import Fields
from attncli.core.problem.kinds import COMMON_OPTIONS, KINDS, LAYER_OPTIONS, TEXT_KEYS, WITH_PARTS
from attncli.core.problem.marking import Marking, read_marking
from attncli.core.problem.shapes import (
    Sizes,
    array_form,
    form_of,
    is_transposed,
    leading_axes,
    sizes_of,
)
from attncli.core.problem.values import SCALE_NAMES, factor, mask_warnings
from attncli.core.records import replace
from attncli.core.tape.step import LEADING
from attncli.core.text.sentences import OF_LAYER

if TYPE_CHECKING:
    from attncli.core.problem.schema import ProblemKeys


class Problem(Fields):
    """One attention problem; its keys are those of a problem file.

    A matrix may be nested lists, text, or an array of any library, also inside `score` and `mask`;
    every other key is as in a file. A key that is left out, or None, has its default, or is None.
    It is calculated in float32 if all tokens are given as arrays of short floats.
    An error names everything that is wrong. A problem is pickled without `source`.

    Attributes:
        given: the keys that the caller or the file has set.
        sizes: the letters of all shapes, such as n and d_k, and their sizes.
        rules: how scores come about and become weights.
        written: the values of small keys with the digits as they were written.
        warnings: how keys were read that other programs read in another way.
        source: returns the place of a key in the file that the problem is from.
        number: its number, from 1, among the problems of one command; None if it is the only one.
        own: of a layer of a transformer, which is a problem of its own: the keys it does not share.
        x_floats: the type of the numbers of an X that is not known, as that of a layer.

    Raises:
        InputError: for an unknown key, a value that cannot be read, shapes that do not fit.

    >>> problem = Problem(X=[[1, 0], [0, 1]], score="dot")
    >>> problem.X
    array([[1., 0.],
           [0., 1.]])
    >>> Problem(X=[[1, 0], [0, 1]], W_k=[[1, 0]])
    Traceback (most recent call last):
        ...
    attncli.InputError: W_k has 1 row, but X has 2 columns (X W_k needs them equal)
      W_k is (1, 2); its transpose would fit: is it stored (out, in)? write weights_as: out_in
    """

    own: frozenset[str]
    x_floats: type[np.floating[Any]] = np.float64
    given: tuple[str, ...]
    sizes: Sizes
    rules: Rules
    written: Mapping[str, Any]
    warnings: tuple[str, ...]
    source: Callable[[KeyPath], Place]
    number: int | None

    def __init__(self, /, **given: Unpack[ProblemKeys]) -> None:
        self._hold(with_keys({k: x for k, x in given.items() if x is not None}), copy=True)

    @classmethod
    def from_file(cls, values: Mapping[str, object], source: Callable[[KeyPath], Place]) -> Problem:
        problem = cls.__new__(cls)
        problem._hold(values, copy=False)
        problem.__dict__["source"] = source
        return problem

    def _hold(self, named: Mapping[str, Any], copy: bool) -> None:
        """Read every key, and check that all fit together; with `copy`, no array is shared."""
        if "layers" in named:
            from attncli.core.problem.layers import with_only_layer  # most problems have none

            named, _ = with_only_layer(named)
        held = self.__dict__
        raw, read = read_keys(named, copy)
        held.update(with_defaults(read))
        refuse([*misused(raw, held)])
        written = {key: part for key, part in raw.items() if is_small(part)}
        held.update(given=tuple(raw), written=written, source=nowhere, number=None, own=frozenset())
        sizes = held["sizes"] = self._sizes(raw)
        refuse(sizes.faults)
        with needing("sizes"):
            if self.layers:
                from attncli.core.problem.layers import layers_of

                held["layers"] = layers_of(self, raw, lambda own: _of_layer(own, copy))
                sizes.bound |= self.layers[0].sizes.bound
            held["rules"] = self._rules()
        n, m = sizes.size("n"), sizes.size("m")
        held["warnings"] = tuple(mask_warnings(self.rules.mask, raw.get("mask"), n, m))

    def _sizes(self, raw: Mapping[str, Any]) -> Sizes:
        """Return the sizes of all matrices; a flat list is a column where only a column fits."""
        arrays = self._own_matrices()
        shapes = {key: self._in_rows(key, array).shape for key, array in arrays.items()}
        sizes = sizes_of(self.__dict__, shapes)
        for key, array in arrays.items():
            if sizes.faults and 1 in shapes[key] and _is_flat(raw.get(key)):
                turned = {**shapes, key: shapes[key][::-1]}
                other = sizes_of(self.__dict__, turned)
                if len(other.faults) < len(sizes.faults):
                    sizes, shapes, self.__dict__[key] = other, turned, array.T
        return sizes

    def marked(self, marking: Marking | Mapping[str, object]) -> Problem:
        """Return the same problem with another marking; a mapping changes only its own keys.

        Raises:
            InputError: for an unknown key or a value that cannot be read.
        """
        read = read_marking(marking, ("marking",))
        given = [*Marking.fields]
        if not isinstance(marking, Marking):
            given = [key for key, value in marking.items() if value is not None]
            read = replace(self.marking, **{key: getattr(read, key) for key in given})

        def source(path: KeyPath) -> Place:
            is_given = path[:1] == ("marking",) and (*path, "")[1] in given
            return Place("") if is_given else self.source(path)

        return self._with(marking=read, source=source)

    def numbered(self, number: int) -> Problem:
        """Return the same problem with a number."""
        return self._with(number=number)

    def with_texts(self, **texts: str) -> Problem:
        """Return the same problem with other texts, such as `student`, each that is not empty."""
        named = {key: text for key, text in texts.items() if text}
        given = tuple(dict.fromkeys((*self.given, *named)))
        return self._with(**named, given=given, written={**self.written, **named})

    def with_arrays(self, arrays: Mapping[str, Array]) -> Problem:
        """Return the same problem with other arrays of the same shapes, by key; see `matrices`.

        Nothing is checked, and `written` stays: this is for a search that calculates thousands,
        and takes 7 µs where a new problem takes 60.
        """
        attributes: dict[str, Any] = {}
        for key, array in arrays.items():
            head, _, part = key.partition(".")
            if part and head != "layers":
                attributes.setdefault(head, dict(self.__dict__[head]))[part] = array
            elif not part:
                attributes[head] = array
        changed = self._with(**attributes)
        if self.layers:
            from attncli.core.problem.layers import with_arrays

            changed.__dict__["layers"] = with_arrays(changed, arrays)
        changed.__dict__["rules"] = changed._rules()
        return changed

    def with_rules(self, change: Callable[[Rules, Callable[[str], str]], Rules]) -> Problem:
        """Return the same problem with other rules, of each layer its own.

        `change` takes rules, and what returns the whole name of a key that gives them.
        """

        def of_layer(number: int, layer: Problem) -> Problem:
            def named(key: str) -> str:
                return f"layers.{number}.{key}" if key.partition(".")[0] in layer.own else key

            return layer._with(rules=change(layer.rules, named))

        layers = tuple(map(of_layer, count(1), self.layers))
        return self._with(rules=change(self.rules, str), layers=layers)

    def _with(self, **attributes: object) -> Problem:
        changed = Problem.__new__(Problem)
        changed.__dict__.update(self.__dict__, **attributes)
        return changed

    @property
    def called(self) -> dict[str, str]:
        """What the course calls the steps, by their names; a key of the problem keeps its own."""
        return {step: word for word, step in self.names.items() if word not in self.given}

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a problem does not change; make a new one")

    def __getstate__(self) -> dict[str, object]:
        # A copy in another process does not have the file.
        return self.__dict__ | {"source": nowhere}

    def __repr__(self) -> str:
        return f"<Problem {self.kind}: {', '.join(self.given)}>"

    @property
    def columns(self) -> bool:
        """True if a token is a column."""
        return self.tokens_as == "columns"

    @property
    def is_half(self) -> bool:
        """True if all numbers but those of the mask were given in float16."""
        given = {a.dtype for key, a in self.matrices().items() if not key.startswith("mask.")}
        return given == {np.dtype(np.float16)}

    @property
    def keys_are_tokens(self) -> bool:
        """True if the words of `tokens` also name the keys."""
        same = "n" in self.sizes and "m" in self.sizes and self.sizes["n"] == self.sizes["m"]
        return KINDS[self.kind].source == "X" and same

    @property
    def keys(self) -> int:
        """The number of keys, with those of earlier tokens."""
        return (self.sizes.size("m") or 1) + (self.sizes.size("p") or 0)

    @property
    def floats(self) -> type[np.floating[Any]]:
        """The type of all numbers of the calculation: float32 if all those of tokens are short."""
        tokens = [self.__dict__[key] for key in ("X", "memory", "Q", "K", "V", "scores")]
        sizes = [a.itemsize for a in (*tokens, self.embedding.get("table")) if a is not None]
        if not sizes:
            return self.x_floats
        return np.float32 if max(sizes) < 8 else np.float64

    def array(self, key: str) -> Array:
        """Return a matrix as operations take it: (batch, head, row, column), tokens in rows."""
        array = self.laid_out(key, self._as_held(key))
        with np.errstate(over="ignore"):
            found = array.astype(self.floats, copy=False)
        if found is not array and (np.isinf(found) > np.isinf(array)).any():
            message = f"{key} holds a number beyond float32, the type of the tokens' numbers"
            raise fail(message, *key.split("."), hint="make it smaller, or give them as float64")
        return found

    def laid_out(self, key: str, array: Array) -> Array:
        """Return an array with the axes of a key's own array as operations take it; see `array`."""
        holder, key = self.holder(key)
        names = leading_axes(key, array.ndim, holder.heads)
        array = self._in_rows(key, array)
        if array_form(key).axes == 1:
            array = array[..., None, :]
        return array[tuple(slice(None) if name in names else None for name in LEADING)]

    def leading(self, key: str) -> tuple[str, ...]:
        """Return the axes "batch" and "head" that a matrix has."""
        heads = self.holder(key)[0].heads
        names = leading_axes(key, self._as_held(key).ndim, heads)
        return tuple(name for name in names if name != "head" or heads > 1)

    def holder(self, key: str) -> tuple[Problem, str]:
        """Return the problem, itself or one of its layers, that has a key, and the key there."""
        if not (match := OF_LAYER.match(key)):
            return self, key
        return self.layers[int(match[1]) - 1], key[match.end() :]

    def _as_held(self, key: str) -> Array:
        holder, key = self.holder(key)
        head, _, part = key.partition(".")
        found = holder.__dict__[head]
        array: Array = found[part] if part else found
        return array

    def matrices(self) -> dict[str, Array]:
        """Return every matrix as it was given, by key; parameters as `score.W`, `mask.keep`."""
        found = self._own_matrices()
        for number, layer in enumerate(self.layers, 1):
            every = layer.matrices().items()
            own = ((key, array) for key, array in every if key.partition(".")[0] in layer.own)
            found |= {f"layers.{number}.{key}": array for key, array in own}
        return found

    def _own_matrices(self) -> dict[str, Array]:
        """Return those that are not of several layers."""
        pairs = self.__dict__.items()  # in the order of KEYS
        found = {key: value for key, value in pairs if isinstance(value, np.ndarray)}
        for key in WITH_PARTS:
            parts = self.__dict__[key].items()
            found |= {f"{key}.{name}": part for name, part in parts if _is_array(part)}
        return found

    def as_given(self, key: str) -> object:
        """Return a small key, or a part such as `score.W`, as it was given; else None."""
        holder, key = self.holder(key)
        head, _, part = key.partition(".")
        raw = holder.written.get(head)
        raw = raw.get(part) if part and isinstance(raw, Mapping) else raw
        return as_block(raw) or raw

    @property
    def texts(self) -> dict[str, str]:
        """The texts about the problem that are not empty, by key."""
        return {key: text for key in TEXT_KEYS if (text := self.__dict__[key])}

    def options(self) -> dict[str, object]:
        """Return everything that is no matrix, with defaults filled in, ready for JSON."""
        return self.options_of(KINDS[self.kind].keys)

    def options_of(self, keys: Collection[str]) -> dict[str, object]:
        """Return `options`, of some keys alone."""
        found = {}
        hidden = (*TEXT_KEYS, "answers", "marking", *["score"] * ("scores" in self.given))
        hidden += ("weights_as",) * (self.weights_as == DEFAULTS["weights_as"])
        for key in (*COMMON_OPTIONS, *KINDS[self.kind].options):
            value = self.__dict__[key] if key in keys else None
            if isinstance(value, dict):
                value = {name: part for name, part in value.items() if not _is_array(part)}
            if key == "layers":
                each = enumerate(self.layers if value else (), 1)
                value = {str(number): layer.options_of(layer.own) for number, layer in each}
            elif self.layers and key in LAYER_OPTIONS and key not in self.given:
                continue  # each layer has it
            if key not in hidden and value not in (None, (), {}):
                found[key] = list(value) if isinstance(value, tuple) else value
        if isinstance(self.bias, Formula):
            found |= {"bias": self.written["bias"]} if "bias" in keys else {}
        return found

    def _rules(self) -> Rules:
        if self.layers:  # each has rules of its own
            positions = checked(self._parts("positions"), self)
            first: Rules = self.layers[0].rules
            return replace(first, positions=positions)
        parameters, mask = self._parts("score"), self._parts("mask")
        for name, row in MASKS.items():
            if name in mask and row.check is not None:
                row.check(mask[name], self.sizes.size("batch") or 1, self.keys)
        placed = mask
        if self.past and mask.get("align") != "bottom-right":
            placed = {"offset": self.sizes["p"], **mask}
        sizes = {n: self.sizes[n] for n in SCALE_NAMES if n in self.sizes}
        scale = factor(self.scale, **(sizes | ({"m": self.keys} if "m" in sizes else {})))
        bias = self.array("bias") if _is_array(self.bias) else None
        name, normalize = parameters.pop("name"), settings_of(self._parts("normalize"))
        positions = checked(self._parts("positions"), self)
        n, m = self.sizes.size("n") or 1, self.keys
        rules = by_place(positions, self.heads, placed, n, m)
        if isinstance(self.bias, Formula):
            rules.append(ByPlace(self.bias, {"n": n, "m": m, "heads": self.heads}))
        own = (mask and placed, normalize, self._parts("qk_norm"), positions, tuple(rules))
        return Rules(name, parameters, scale, self.softcap, bias, *own)

    def _parts(self, key: str) -> dict[str, Any]:
        """Return the parts of a key such as `score`, with matrices as operations take them."""
        parts = dict(self.__dict__[key])
        for name, part in parts.items():
            path = f"{key}.{name}"
            if _is_array(part) and isinstance(form_of(path), ArrayForm):
                parts[name] = self.array(path)
        return parts

    def _in_rows(self, key: str, array: Array) -> Array:
        flips = is_transposed(key, self.tokens_as, self.weights_as)
        return np.swapaxes(array, -1, -2) if flips else array


def _of_layer(named: Mapping[str, Any], copy: bool) -> Problem:
    layer = Problem.__new__(Problem)
    layer._hold(named, copy)
    return layer


def nowhere(path: KeyPath) -> Place:
    return Place("")


def _is_flat(raw: object) -> bool:
    """Return True for a list, or a line, of numbers, and not of rows."""
    return "[" not in raw if isinstance(raw, str) else np.ndim(raw) == 1  # type: ignore[arg-type]


def _is_array(value: object) -> bool:
    return isinstance(value, np.ndarray)
