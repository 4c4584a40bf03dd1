"""The layers of a transformer, and what comes before and after them.

Each of several layers is a problem too, whose X is what the layer before makes. The only
layer of a problem has its keys at the top; of several, what stands at the top is shared by all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np

from attncli.core.arithmetic.elements import Array
from attncli.core.attention.norms_and_activations import LAYER_NORMS
from attncli.core.attention.positions import POSITIONS
from attncli.core.errors import Fault, KeyPath, changed, fail
from attncli.core.numbers.forms import known_parts
from attncli.core.problem.key_values import with_keys
from attncli.core.problem.keys import KEYS, layer_forms
from attncli.core.records import Record, replace

Problem: TypeAlias = Any
"""A `Problem`, whose module imports this one."""


class KeysOfLayer(Record):
    """The keys of a layer, and their place in the file."""

    start: KeyPath = ()
    names: frozenset[str] = frozenset()

    def path(self, path: KeyPath) -> KeyPath:
        return (*self.start, *path) if path and path[0] in self.names else path

    def of_layer(self, fault: Fault) -> Fault:
        """Return a fault of the layer as one of the whole problem."""
        message = f"layer {int(self.start[-1]) + 1}: {fault.message}"
        path, related = self.path(fault.path), self.path(fault.related)
        return replace(fault, message=message, path=path, related=related)


def with_only_layer(named: Mapping[str, Any]) -> tuple[dict[str, Any], KeysOfLayer]:
    """Return the keys of a problem with those of its only layer, if it has one, at the top."""
    layers = named.get("layers")
    if not isinstance(layers, list | tuple | Mapping) or len(layers) != 1:
        return dict(named), KeysOfLayer()
    (place,) = layers if isinstance(layers, Mapping) else (0,)
    is_layer = isinstance(layers[place], Mapping)
    of_layer: dict[str, Any] = with_keys(layers[place]) if is_layer else {"": layers[place]}
    if not layer_forms().keys() >= of_layer.keys():  # `layers_of` says which key is unknown
        return dict(named), KeysOfLayer()
    others = {key: raw for key, raw in named.items() if key != "layers"}
    if "positions" in of_layer and "positions" in others:
        of_layer["positions"] = [*_added(others["positions"]), *_listed(of_layer["positions"])]
    return {**others, **of_layer}, KeysOfLayer(("layers", place), frozenset(of_layer))


def _listed(raw: Any) -> list[Any]:
    return [*raw] if isinstance(raw, list | tuple) else [raw]


def _added(raw: Any) -> Iterator[Any]:
    for scheme in _listed(raw):
        row = POSITIONS.get(scheme.get("name", "") if isinstance(scheme, Mapping) else scheme)
        if row is not None and row.place == "input":
            yield scheme


def layers_of(problem: Problem, raw: Mapping[str, Any], copy: bool) -> tuple[Problem, ...]:
    """Return each layer as a problem of its keys and of those at the top.

    Its X is not known, but its shape is, which the other keys have to fit.
    """
    sizes = problem.sizes
    shape = [sizes.size(letter) or 1 for letter in ("batch", "n", "d_model")]
    x = np.zeros(shape if "batch" in sizes else shape[1:], problem.floats)
    x = np.swapaxes(x, -1, -2) if problem.columns else x
    shared = {"kind": problem.kind, "tokens_as": problem.tokens_as, "X": x}
    shared |= {key: value for key, value in raw.items() if key in layer_forms()}
    layers = []
    for place, written in enumerate(problem.layers):
        path = ("layers", place)
        of_layer = known_parts(with_keys(written), path, layer_forms())
        keys = KeysOfLayer(path, frozenset(of_layer))
        with changed(keys.of_layer):
            positions = of_layer.get("positions")
            for name in KEYS["positions"].form.read(positions, ("positions",)) if positions else ():
                if name in POSITIONS and POSITIONS[name].place == "input":
                    message = f"{name} is added once, before the first layer"
                    raise fail(message, "positions", hint="write it at the top, beside layers")
            layer = problem.of_values(shared | of_layer, copy=copy)
        given = tuple(key for key in layer.given if key != "X")
        attributes = {"layer_keys": keys.names, "X": None, "x_floats": problem.floats}
        layer.__dict__.update(attributes, given=given)
        layers.append(layer)
    return tuple(layers)


def with_arrays(problem: Problem, arrays: Mapping[str, Array]) -> tuple[Problem, ...]:
    """Return the layers of a problem with other arrays, of one layer or shared by all."""

    def of_layer(number: int, layer: Problem) -> dict[str, Array]:
        start = f"layers.{number}."
        inside = {k.removeprefix(start): a for k, a in arrays.items() if k.startswith(start)}
        shared = {*layer.given} - layer.layer_keys
        return inside | {k: a for k, a in arrays.items() if k.partition(".")[0] in shared}

    numbered = enumerate(problem.layers, 1)
    layers = tuple(layer.with_arrays(of_layer(number, layer)) for number, layer in numbered)
    for layer in layers:
        layer.__dict__["x_floats"] = problem.floats
    return layers


def eps_of(norm: str, eps: float | None) -> float:
    """Return what a norm adds to the variance: a number, or by default that of the norm."""
    return LAYER_NORMS[norm].eps if eps is None and norm in LAYER_NORMS else eps or 0.0
