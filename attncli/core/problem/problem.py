"""A problem: everything that a calculation needs, checked when it is read.

Faults name a key; `load` adds the place of that key in the file.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack

import numpy as np

from attncli.core.arithmetic.elements import Array
from attncli.core.attention.parameters import Rules
from attncli.core.errors import (
    Fault,
    InputError,
    KeyPath,
    Locate,
    Place,
    fail,
    needing,
    nowhere,
    placed,
    refuse,
)
from attncli.core.formulas.tree import Formula
from attncli.core.numbers.matrices import as_block
from attncli.core.problem import key_values, rules_and_layers, shapes
from attncli.core.problem.keys import COMMON_OPTIONS, KINDS, OF_TOKENS, TEXT_KEYS, WITH_PARTS
from attncli.core.problem.marking import Marking, read_marking
from attncli.core.problem.misfits import misfits
from attncli.core.problem.rows import with_rows
from attncli.core.records import replace
from attncli.core.tape.step import LEADING
from attncli.core.text.strings import OF_LAYER

if TYPE_CHECKING:
    from attncli.core.problem.fields import ProblemFields, ProblemKeys
else:
    ProblemFields = object  # its attributes are the keys, by their names


Forms: TypeAlias = "dict[Hashable, Problem]"
"""The first problem of each form among those of a run: see `form_of`."""


class Problem(ProblemFields):
    """One attention problem; its keys are those of a problem file.

    A matrix may be nested lists, text, or an array of any library, also inside `score` and `mask`;
    every other key is as in a file. A key that is left out, or None, has its default, or is None.
    It is calculated in float32 if all tokens are arrays of short floats.
    An error names everything that is wrong. A problem is pickled without `source`.

    Attributes:
        given: the keys that the caller or the file has set.
        sizes: the letters of all shapes, such as n and d_k, and their sizes.
        rules: how scores come about and become weights.
        written: the values of small keys with the digits as they were written.
        warnings: how keys were read that other programs read in another way.
        source: returns the place of a key in the file that the problem is from.
        number: its number, from 1, among the problems of one command; None if it is the only one.
        like: the problem from which it differs in numbers and texts alone, if the reader knows one.
        stacked: the keys whose arrays are of several problems, along one more axis, the first.
        layer_keys: the keys that a layer does not share with others; a layer is a problem, too.
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

    layer_keys: frozenset[str] = frozenset()
    x_floats: type[np.floating[Any]] = np.float64
    given: tuple[str, ...]
    sizes: shapes.Sizes
    rules: Rules
    written: Mapping[str, Any]
    warnings: tuple[str, ...]
    source: Locate
    number: int | None = None
    like: Problem | None = None
    stacked: frozenset[str] = frozenset()

    def __init__(self, /, **keys: Unpack[ProblemKeys]) -> None:
        self._read(with_rows(key_values.with_keys(keys))[0], copy=True)

    @classmethod
    def of_values(
        cls,
        raw: Mapping[str, object],
        source: Locate = nowhere,
        copy: bool = False,
        forms: Forms | None = None,
    ) -> Problem:
        """Return the problem of raw values by key; with `copy`, it shares no array with them.

        All but its numbers is from the first of its form in `forms`, to which others are added.
        """
        problem = cls.__new__(cls)
        problem._read(raw, copy, forms)
        problem.__dict__["source"] = source
        return problem

    def error(self, message: str, *path: str | int, hint: str = "") -> InputError:
        """Return an error of one fault, at the place of a key, to be raised by the caller."""
        return InputError(placed(Fault(message, path, hint), self.source))

    def _read(self, raw: Mapping[str, Any], copy: bool, forms: Forms | None = None) -> None:
        """Read every key, and check that all fit together."""
        if "layers" in raw:
            raw, _ = rules_and_layers.with_only_layer(raw)
        values = self.__dict__
        raw, by_key = key_values.read_keys(raw, copy)
        written = {key: value for key, value in raw.items() if key_values.is_small(value)}
        form = None if forms is None else rules_and_layers.form_of(raw, by_key)
        if forms and (like := forms.get(form)):
            values.update(
                like.__dict__ | rules_and_layers.numbers_of(by_key), written=written, like=like
            )
            return
        values.update(key_values.with_defaults(by_key))
        refuse([*misfits(raw, values)])
        values.update(given=tuple(raw), written=written, source=nowhere)
        sizes = values["sizes"] = self._sizes(raw)
        refuse(sizes.faults)
        with needing("sizes"):
            if self.layers:
                values["layers"] = rules_and_layers.layers_of(self, raw, copy)
                sizes.bound |= self.layers[0].sizes.bound
            values["rules"] = rules_and_layers.rules_of(self)
        values["warnings"] = tuple(rules_and_layers.mask_warnings(self, raw.get("mask")))
        if forms is not None and form is not None:
            if len(forms) >= rules_and_layers.MAX_FORMS:
                forms.clear()
            forms[form] = self

    def _sizes(self, raw: Mapping[str, Any]) -> shapes.Sizes:
        """Return the sizes of all matrices; a flat list is a column where only a column fits."""
        arrays = self._matrices_at_the_top()
        by_key = {key: self._in_rows(key, array).shape for key, array in arrays.items()}
        sizes = shapes.sizes_of(self.__dict__, by_key)
        for key, array in arrays.items():
            if sizes.faults and 1 in by_key[key] and key_values.is_flat(raw.get(key)):
                turned = {**by_key, key: by_key[key][::-1]}
                other = shapes.sizes_of(self.__dict__, turned)
                if len(other.faults) < len(sizes.faults):
                    sizes, by_key, self.__dict__[key] = other, turned, array.T
        return sizes

    def marked(self, marking: Marking | Mapping[str, object]) -> Problem:
        """Return the same problem with another marking; a mapping changes only its keys.

        Raises:
            InputError: for an unknown key or a value that cannot be read.
        """
        read = read_marking(marking, ("marking",))
        parts = Marking.fields
        if not isinstance(marking, Marking):
            parts = tuple(part for part, value in marking.items() if value is not None)
        changed = replace(self.marking, **{part: getattr(read, part) for part in parts})

        def source(path: KeyPath) -> Place:
            is_changed = path[:1] == ("marking",) and (*path, "")[1] in parts
            return Place("") if is_changed else self.source(path)

        return self._with(marking=changed, source=source)

    def numbered(self, number: int) -> Problem:
        """Return the same problem with a number."""
        return self._with(number=number, like=self.like)

    def with_texts(self, **texts: str) -> Problem:
        """Return the same problem with other texts, such as `student`, each that is not empty."""
        named = {key: text for key, text in texts.items() if text}
        keys = tuple(dict.fromkeys((*self.given, *named)))
        return self._with(**named, given=keys, written={**self.written, **named})

    def with_keys(self, changes: Mapping[str, object]) -> Problem:
        """Return the problem with some keys of other values, and without those of None.

        It has no `tour`, whose sentences are about the numbers of this problem.

        Raises:
            InputError: if the keys do not go together.
        """
        raw = {key: self.written.get(key, self.__dict__[key]) for key in self.given}
        raw |= {"tour": None, **changes}
        return Problem.of_values({key: value for key, value in raw.items() if value is not None})

    def with_arrays(self, arrays: Mapping[str, Array], stacked: bool = False) -> Problem:
        """Return the same problem with other arrays of the same shapes, by key; see `matrices`.

        With `stacked`, they are of several problems, along one more axis, the first. Nothing is
        checked, and `written` stays: it takes 7 µs where a new problem takes 60, for searches.
        """
        changed = self._with(stacked=frozenset(arrays if stacked else ()))
        values = changed.__dict__
        for key, array in arrays.items():
            head, _, part = key.partition(".")
            if head != "layers":
                values[head] = {**values[head], part: array} if part else array
        if self.layers:
            values["layers"] = rules_and_layers.with_arrays(changed, arrays)
        heads = {key.partition(".")[0] for key in arrays}
        if self.layers or not heads.isdisjoint(rules_and_layers.OF_RULES):
            values["rules"] = rules_and_layers.rules_of(changed)
        return changed

    def with_rules(self, change: Callable[[Rules, Callable[[str], str]], Rules]) -> Problem:
        """Return the same problem with other rules, also in each layer.

        `change` takes rules, and what returns the whole name of a key that gives them.
        """

        def of_layer(number: int, layer: Problem) -> Problem:
            def named(key: str) -> str:
                is_own = key.partition(".")[0] in layer.layer_keys
                return f"layers.{number}.{key}" if is_own else key

            return layer._with(rules=change(layer.rules, named))

        layers = tuple(of_layer(*pair) for pair in enumerate(self.layers, 1))
        return self._with(rules=change(self.rules, str), layers=layers)

    def _with(self, **attributes: object) -> Problem:
        changed = Problem.__new__(Problem)
        changed.__dict__.update(self.__dict__, **{"like": None, **attributes})
        return changed

    @property
    def called(self) -> dict[str, str]:
        """What the course calls the steps, by their names; a key of the problem keeps its name."""
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
        """True if all numbers but those of the mask are float16 in the input."""
        types = {a.dtype for key, a in self.matrices().items() if not key.startswith("mask.")}
        return types == {np.dtype(np.float16)}

    @property
    def keys(self) -> int:
        """The number of keys, with those of earlier tokens."""
        return (self.sizes.size("m") or 1) + (self.sizes.size("p") or 0)

    @property
    def floats(self) -> type[np.floating[Any]]:
        """The type of all numbers of the calculation: float32 if all those of tokens are short."""
        tokens = (self.__dict__[key] for key in OF_TOKENS)
        arrays = (a for one in tokens for a in (one.values() if isinstance(one, dict) else [one]))
        sizes = [one.itemsize for one in arrays if isinstance(one, np.ndarray)]
        if not sizes:
            return self.x_floats
        return np.float32 if max(sizes) < 8 else np.float64

    def array(self, key: str) -> Array:
        """Return a matrix as operations take it: (batch, head, row, column), tokens in rows."""
        array = self.laid_out(key, self._as_held(key))
        with np.errstate(over="ignore"):
            numbers = array.astype(self.floats, copy=False)
        if numbers is not array and (np.isinf(numbers) > np.isinf(array)).any():
            message = f"{key} holds a number beyond float32, the type of the tokens' numbers"
            raise fail(message, *key.split("."), hint="make it smaller, or give them as float64")
        return numbers

    def laid_out(self, key: str, array: Array) -> Array:
        """Return an array with the axes of that of a key as operations take it; see `array`."""
        holder, key = self.holder(key)
        names = shapes.leading_axes(key, array.ndim, holder.heads, key in holder.stacked)
        array = self._in_rows(key, array)
        if shapes.array_form(key).axes == 1:
            array = array[..., None, :]
        return array[tuple(slice(None) if name in names else None for name in LEADING)]

    def leading(self, key: str) -> tuple[str, ...]:
        """Return the axes "batch" and "head" that a matrix has in each problem that is stacked."""
        holder, key = self.holder(key)
        axes = holder._as_held(key).ndim - (key in holder.stacked)
        names = shapes.leading_axes(key, axes, holder.heads)
        return tuple(name for name in names if name != "head" or holder.heads > 1)

    def holder(self, key: str) -> tuple[Problem, str]:
        """Return the problem, itself or one of its layers, that has a key, and the key there."""
        if not (match := OF_LAYER.match(key)):
            return self, key
        return self.layers[int(match[1]) - 1], key[match.end() :]

    def _as_held(self, key: str) -> Array:
        holder, key = self.holder(key)
        head, _, part = key.partition(".")
        array: Array = holder.__dict__[head][part] if part else holder.__dict__[head]
        return array

    def matrices(self) -> dict[str, Array]:
        """Return every matrix as it is in the input, by key; parameters as `score.W`."""
        matrices = self._matrices_at_the_top()
        for number, layer in enumerate(self.layers, 1):
            for key, array in layer.matrices().items():
                if key.partition(".")[0] in layer.layer_keys:
                    matrices[f"layers.{number}.{key}"] = array
        return matrices

    def _matrices_at_the_top(self) -> dict[str, Array]:
        """Return those that are not of several layers, in the order of `KEYS`, then their parts."""
        values = dict(self.__dict__)
        for key in WITH_PARTS:
            values |= {f"{key}.{name}": part for name, part in values[key].items()}
        return {key: value for key, value in values.items() if isinstance(value, np.ndarray)}

    def as_given(self, key: str) -> object:
        """Return a small key, or a part such as `score.W`, as it was written; else None."""
        holder, key = self.holder(key)
        head, _, part = key.partition(".")
        raw = holder.written.get(head)
        raw = raw.get(part) if part and isinstance(raw, Mapping) else raw
        return as_block(raw) or raw

    @property
    def texts(self) -> dict[str, str]:
        """The texts about the problem that are not empty, by key."""
        return {key: text for key in TEXT_KEYS if (text := self.__dict__[key])}

    def options(self, keys: Collection[str] | None = None) -> dict[str, object]:
        """Return what is no matrix, of all keys or some, with defaults filled in, for JSON."""
        keys = KINDS[self.kind].keys if keys is None else keys
        options: dict[str, object] = {}
        hidden = (*TEXT_KEYS, "answers", "marking", "tour", *["score"] * ("scores" in self.given))
        hidden += ("weights_as",) * (self.weights_as == key_values.DEFAULTS["weights_as"])
        of_layers = KINDS[self.kind].layer_keys if self.layers else ()
        for key in (*COMMON_OPTIONS, *KINDS[self.kind].options):
            value = self.__dict__[key] if key in keys else None
            if isinstance(value, dict):
                value = {
                    name: str(part) if isinstance(part, str) else part  # without a formula
                    for name, part in value.items()
                    if not isinstance(part, np.ndarray)
                }
            if key == "layers":
                each = enumerate(self.layers if value else (), 1)
                value = {str(number): layer.options(layer.layer_keys) for number, layer in each}
            elif key in of_layers and key not in self.given:
                continue  # each layer has it
            if key not in hidden and value not in (None, (), {}):
                options[key] = list(value) if isinstance(value, tuple) else value
        if isinstance(self.bias, Formula) and "bias" in keys:
            options["bias"] = self.written["bias"]
        return options

    def _in_rows(self, key: str, array: Array) -> Array:
        flips = shapes.is_transposed(key, self.tokens_as, self.weights_as)
        return np.swapaxes(array, -1, -2) if flips else array
