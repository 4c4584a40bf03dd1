"""The layers of a transformer, and what comes before and after them.

Each of several layers is a problem of its own, whose X is what the layer before makes. The only
layer of a problem has its keys at the top; of several, what stands at the top is shared by all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np

from attncli.core.arithmetic.elements import Array
from attncli.core.attention.activations import ACTIVATIONS, WITH_GATE
from attncli.core.attention.norms import LAYER_NORMS
from attncli.core.attention.positions import POSITIONS
from attncli.core.errors import Fault, KeyPath, changed, fail
from attncli.core.numbers.form import known_parts
from attncli.core.problem.key_names import with_keys
from attncli.core.problem.keys import KEYS, layer_forms
from attncli.core.problem.values import OF_TARGET
from attncli.core.records import Record, replace
from attncli.core.text.escapes import visible
from attncli.core.text.sentences import did_you_mean

Problem: TypeAlias = Any
"""A `Problem`, whose module imports this one."""

OF_FEED_FORWARD = ("b_1", "W_2", "b_2", "W_3", "b_3", "activation", "gain_2", "shift_2")
"""The keys that need W_1."""


class KeysOfLayer(Record):
    """The keys of a layer, and their place in the file."""

    start: KeyPath = ()
    own: frozenset[str] = frozenset()

    def path(self, path: KeyPath) -> KeyPath:
        return (*self.start, *path) if path and path[0] in self.own else path

    def of_layer(self, fault: Fault) -> Fault:
        """Return a fault of the layer as one of the whole problem."""
        message = f"layer {int(self.start[-1]) + 1}: {fault.message}"
        path, related = self.path(fault.path), self.path(fault.related)
        return replace(fault, message=message, path=path, related=related)


def with_only_layer(named: Mapping[str, Any]) -> tuple[dict[str, Any], KeysOfLayer]:
    """Return the keys of a problem with those of its only layer, if it has one, at the top."""
    every = named.get("layers")
    places = [*every] if isinstance(every, Mapping) else range(len(every or ()))
    if not isinstance(every, list | tuple | Mapping) or len(every) != 1:
        return dict(named), KeysOfLayer()
    (place,) = places
    if not isinstance(every[place], Mapping):
        return dict(named), KeysOfLayer()
    own = with_keys({key: raw for key, raw in every[place].items() if raw is not None})
    others = {key: raw for key, raw in named.items() if key != "layers"}
    if "positions" in own and "positions" in others:
        own["positions"] = [*_added(others["positions"]), *_listed(own["positions"])]
    return {**others, **own}, KeysOfLayer(("layers", place), frozenset(own))


def _listed(raw: Any) -> list[Any]:
    return [*raw] if isinstance(raw, list | tuple) else [raw]


def _added(raw: Any) -> Iterator[Any]:
    """Yield those positions that are added before the first layer."""
    for one in _listed(raw):
        row = POSITIONS.get(one.get("name", "") if isinstance(one, Mapping) else one)
        if row is not None and row.place == "input":
            yield one


def layers_of(
    problem: Problem, raw: Mapping[str, Any], make: Callable[[Mapping[str, Any]], Problem]
) -> tuple[Problem, ...]:
    """Return each layer as a problem that `make` makes of its keys and of those at the top.

    Its X is not known, but its shape is, which the other keys have to fit.
    """
    sizes = problem.sizes
    shape = [sizes.size(letter) or 1 for letter in ("batch", "n", "d_model")]
    x = np.zeros(shape if "batch" in sizes else shape[1:], problem.floats)
    x = np.swapaxes(x, -1, -2) if problem.columns else x
    shared = {key: part for key, part in raw.items() if key in layer_forms()}
    found = []
    for place, given in enumerate(problem.layers):
        path = ("layers", place)
        own = known_parts(with_keys(given), path, layer_forms())
        keys = KeysOfLayer(("layers", place), frozenset(own))
        every = {"kind": problem.kind, "tokens_as": problem.tokens_as, "X": x, **shared, **own}
        with changed(keys.of_layer):
            _refuse_added_positions(own)
            layer = make(every)
        of_keys = tuple(key for key in layer.given if key != "X")
        layer.__dict__.update(own=keys.own, X=None, given=of_keys, x_floats=problem.floats)
        found.append(layer)
    return tuple(found)


def _refuse_added_positions(own: Mapping[str, Any]) -> None:
    if "positions" not in own:
        return
    for name in KEYS["positions"].form.read(own["positions"], ("positions",)):
        if name in POSITIONS and POSITIONS[name].place == "input":
            hint = "write it at the top, beside layers"
            raise fail(f"{name} is added once, before the first layer", "positions", hint=hint)


def with_arrays(problem: Problem, arrays: Mapping[str, Array]) -> tuple[Problem, ...]:
    """Return the layers of a problem with other arrays, of their own or shared by all."""

    def of_layer(number: int, layer: Problem) -> dict[str, Array]:
        start = f"layers.{number}."
        found = {k.removeprefix(start): a for k, a in arrays.items() if k.startswith(start)}
        shared = {*layer.given} - layer.own
        return found | {k: a for k, a in arrays.items() if k.partition(".")[0] in shared}

    every = enumerate(problem.layers, 1)
    found = tuple(layer.with_arrays(of_layer(number, layer)) for number, layer in every)
    for layer in found:
        layer.__dict__["x_floats"] = problem.floats
    return found


def eps_of(norm: str, eps: float | None) -> float:
    """Return what a norm adds to the variance: the given number, or its own default."""
    return LAYER_NORMS[norm].eps if eps is None and norm in LAYER_NORMS else eps or 0.0


def final_norm(problem: Problem) -> dict[str, Any]:
    """Return the norm after the last layer: by default that of the layer, with its usual eps."""
    own = problem.final_norm
    if "final_norm" not in problem.given:
        return {}
    last = (problem.layers or (problem,))[-1]
    norm = own.get("norm", last.norm if last.norm != "none" else "layer")
    return {**own, "norm": norm, "eps": eps_of(norm, own.get("eps"))}


def places_of(problem: Problem, key: str) -> tuple[int, ...]:
    """Return the places in the vocabulary, from 0, of the words of `tokens` or `target`.

    A word is a label of the vocabulary, or else a number from 1.

    Raises:
        InputError: for a word that is neither.
    """
    labels = problem.embedding.get("vocabulary", ())
    size = problem.sizes["v"]
    found = []
    for place, word in enumerate(getattr(problem, key)):
        if word in labels:
            found.append(labels.index(word))
        elif word.isdecimal() and 1 <= int(word) <= size:
            found.append(int(word) - 1)
        else:
            number = f"write a number from 1 to {size}"
            hint = did_you_mean(word, labels) if labels else number
            message = f"{visible(word)} is not in the vocabulary"
            raise fail(message, key, place, hint=hint, needs="values")
    return tuple(found)


def misfits(given: Collection[str], values: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield a fault for each key of a transformer that is missing, or has no use beside others."""
    embedding = values["embedding"]
    if "X" not in given and not ("table" in embedding and values["tokens"]):
        hint = "write embedding: {vocabulary: […], table: [[…]]} and tokens, or X: [[1, 0], [0, 1]]"
        missing = "tokens" if "table" in embedding else "embedding"
        yield Fault(f"there is neither X nor {missing}", (), hint, needs="values")
    rules = (*_of_the_end(given, values), *(() if values["layers"] else _of_layer(given, values)))
    for is_wrong, key, message, hint in rules:
        if is_wrong:
            yield Fault(message, (key,), hint, needs="values")


Rules: TypeAlias = Iterator[tuple[bool, str, str, str]]
"""Whether a key is wrong, the key, the message and the hint."""


def _of_the_end(given: Collection[str], values: Mapping[str, Any]) -> Rules:
    tied, loss = bool(values["unembedding"]), values["gradient"].get("loss")
    unembeds = tied or "W_u" in given
    no_table = tied and "table" not in values["embedding"]
    no_target = loss == OF_TARGET and not values["target"]
    other_loss = bool(values["gradient"]) and unembeds and loss != OF_TARGET
    yield no_table, "unembedding", "unembedding: tied needs a table", "write embedding: {table: …}"
    yield tied and "W_u" in given, "W_u", "W_u has no use beside unembedding: tied", "leave one out"
    unused = "X" in given and "embedding" in given and not unembeds
    yield unused, "embedding", "X is given, so embedding has no use", "leave one of them out"
    words = values["embedding"].get("vocabulary", ())
    twice = next((word for word in words if words.count(word) > 1), "")
    message = f"the vocabulary has {visible(twice)} twice"
    yield bool(twice), "embedding", message, "leave one of them out"
    no_logits = bool(values["target"]) and not unembeds
    yield no_logits, "target", "target needs logits", "write unembedding: tied, or W_u"
    yield no_target, "gradient", "gradient: loss needs target", "write the words that should follow"
    message = "with an unembedding, derivatives are of the loss of target"
    yield other_loss, "gradient", message, "write target, and gradient: loss"


def _of_layer(given: Collection[str], values: Mapping[str, Any]) -> Rules:
    known, activation = (*ACTIVATIONS, *WITH_GATE), values["activation"] or "relu"
    half = "W_1" in given and "W_2" not in given
    yield half, "W_1", "W_1 needs W_2", "write W_2, which leads back to the features"
    yield "b_3" in given and "W_3" not in given, "b_3", "b_3 has no use without W_3", "write W_3"
    for key in OF_FEED_FORWARD:
        yield key in given and "W_1" not in given, key, f"{key} has no use without W_1", "write W_1"
    message = f"activation {activation} has no use in kind transformer"
    yield activation not in known, "activation", message, f"use {', '.join(known)}"
    no_gate = activation in WITH_GATE and "W_3" not in given
    hint = f"write W_3, or activation: {WITH_GATE.get(activation)}"
    yield no_gate, "activation", f"{activation} needs W_3", hint
    for key in ("eps", "gain_1", "shift_1", "gain_2", "shift_2"):
        is_lost = key in given and values["norm"] == "none"
        yield is_lost, key, f"{key} has no use without a norm", "write norm: layer, or rms"
