"""What follows from the keys of a problem: its rules, its layers, and which problems share both.

Each of several layers is a problem too, whose X is what the layer before makes. The only layer of a
problem has its keys at the top; of several, what stands at the top is shared by all.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterator, Mapping
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from attncli.core.arithmetic.elements import Array
from attncli.core.attention.masks import MASKS
from attncli.core.attention.parameters import SCALE_NAMES, Rules, factor, settings_of
from attncli.core.errors import Fault, KeyPath, changed, fail
from attncli.core.formulas.tree import Formula
from attncli.core.numbers.forms import ArrayForm, known_parts
from attncli.core.problem import shapes
from attncli.core.problem.key_values import is_flat, with_keys
from attncli.core.problem.keys import KEYS, TEXT_KEYS, layer_forms
from attncli.core.problem.values import TRUTH_WORD
from attncli.core.records import replace

Problem: TypeAlias = Any
"""A `Problem`, whose module imports this one."""

MAX_FORMS = 128
"""Maximum number of forms of problems that are remembered; then all are forgotten. Chosen."""


def numbers_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values in which problems of one form may differ: arrays, and texts about them."""
    others = (*TEXT_KEYS, "gradient")
    return {k: x for k, x in values.items() if isinstance(x, np.ndarray) or k in others}


def may_differ(key: str) -> bool:
    """Return whether problems of one form may differ in a matrix; no rule depends on those."""
    return key != "bias" and ("." not in key or key.startswith("gradient."))


def form_of(raw: Mapping[str, Any], values: Mapping[str, Any]) -> Hashable:
    """Return what all problems of a form have in common, by keys as written and by their values.

    None is returned where that cannot be told: a flat list may become a column, and of an array
    that a rule depends on, not every number is compared. Nor is it of layers, which hold arrays.
    """
    if values.get("layers"):
        return None
    form: list[Hashable] = []
    for key, value in values.items():
        if isinstance(value, np.ndarray) and may_differ(key):
            form.append((key, value.shape, value.dtype, type(value)))
            is_unclear = value.ndim > 1 and value.shape[0] == 1 and is_flat(raw[key])
        elif key == "gradient":
            about = [(x.shape, x.dtype) if isinstance(x, np.ndarray) else x for x in value.values()]
            form.append((key, *value, *about))
            is_unclear = False
        else:
            form.append((key, text := "" if key in TEXT_KEYS and value else repr(raw[key])))
            is_unclear = "array(" in text
        if is_unclear:
            return None
    return tuple(form)


OF_RULES = ("score", "bias", "mask", "normalize", "qk_norm", "positions")
"""The keys whose matrices are in the rules."""


def rules_of(problem: Problem) -> Rules:
    """Return how scores come about in a problem, and become weights."""
    positions = _parts(problem, "positions")
    if positions or problem.ids:
        from attncli.core.attention.positions import by_place, checked

        positions = checked(positions, problem)
    if problem.layers:  # each layer has rules
        first: Rules = problem.layers[0].rules
        return replace(first, positions=positions)
    score, mask = _parts(problem, "score"), _parts(problem, "mask")
    lists = {"document": problem.document} if problem.document else {}
    if "when" in mask:
        mask["when"] = mask["when"].beside(lists)
    for name, row in MASKS.items():
        if name in mask and row.check is not None:
            batch, n = (problem.sizes.size(letter) or 1 for letter in ("batch", "n"))
            row.check(mask[name], batch, n, problem.keys)
    # Of queries after a cache, masks, windows and biases by distance count the position from the
    # first key, unless the mask says where they are.
    is_placed = not problem.past or mask.keys() & {"align", "offset"}
    placed = mask if is_placed else {"offset": problem.sizes["p"], **mask}
    sizes = {name: problem.sizes[name] for name in SCALE_NAMES if name in problem.sizes}
    scale = factor(problem.scale, **(sizes | ({"m": problem.keys} if "m" in sizes else {})))
    bias = problem.array("bias") if isinstance(problem.bias, np.ndarray) else None
    n, m = problem.sizes.size("n") or 1, problem.keys
    by_position = by_place(positions, problem.heads, placed, n, m) if positions else []
    if isinstance(problem.bias, Formula):
        from attncli.core.attention.expressions import check_lists
        from attncli.core.attention.position_operations import PositionBias

        check_lists(problem.bias, lists, n, m)
        names = {"n": n, "m": m, "heads": problem.heads}
        by_position.append(PositionBias(problem.bias, names, lists))
    return Rules(
        score=score.pop("name"),
        parameters=score,
        scale=scale,
        softcap=problem.softcap,
        bias=bias,
        mask=mask and placed,
        normalize=settings_of(_parts(problem, "normalize")),
        qk_norm=_parts(problem, "qk_norm"),
        positions=positions,
        by_place=tuple(by_position),
        tile=problem.online.get("tile", 0),
    )


def _parts(problem: Problem, key: str) -> dict[str, Any]:
    """Return the parts of a key such as `score`, with matrices as operations take them."""
    parts = dict(problem.__dict__[key])
    for name, part in parts.items():
        path = f"{key}.{name}"
        if isinstance(part, np.ndarray) and isinstance(shapes.form_of(path), ArrayForm):
            parts[name] = problem.array(path)
    return parts


def mask_warnings(problem: Problem, written: Any) -> Iterator[str]:
    """Yield a warning for each ambiguous part of the mask, or of what was `written` for it."""
    mask: Mapping[str, object] = problem.rules.mask
    n, m, batch = (problem.sizes.size(letter) for letter in ("n", "m", "batch"))
    for key in ("keep", "block") if batch == n and n != 1 else ():
        if getattr(mask.get(key), "shape", ())[:3] == (1, 1, n):
            said = f"the mask of {n} × {m} is read as queries × keys"
            yield f"{said}; that of the padding of a batch has the axes ({batch}, 1, {m})"
    if mask.get("causal") and n != m and not mask.keys() & {"align", "offset"}:
        said = f"mask: causal lets query 1 of {n} see only key 1 of {m}"
        way = "{causal: true, align: top-left}, or bottom-right if the queries are the last tokens"
        yield f"{said}; write mask: {way}"
    while isinstance(written, list | tuple) or getattr(written, "shape", None):
        written = written[0]
    if not isinstance(written, Mapping | None) and re.search(rf"\b{TRUTH_WORD}\b", str(written)):
        said = "a query may attend where the mask is true, but some programs mean the reverse"
        yield f"{said}; write mask: {{keep: …}} or mask: {{block: …}} to say which"


def with_only_layer(named: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, KeyPath]]:
    """Return the keys of a problem with those of its only layer, if it has one, at the top.

    The second result has the paths of these keys of the layer.
    """
    layers = named.get("layers")
    if not isinstance(layers, list | tuple | Mapping) or len(layers) != 1:
        return dict(named), {}
    (place,) = layers if isinstance(layers, Mapping) else (0,)
    is_layer = isinstance(layers[place], Mapping)
    of_layer: dict[str, Any] = with_keys(layers[place]) if is_layer else {"": layers[place]}
    if not layer_forms().keys() >= of_layer.keys():  # `layers_of` says which key is unknown
        return dict(named), {}
    others = {key: raw for key, raw in named.items() if key != "layers"}
    if "positions" in of_layer and "positions" in others:
        of_layer["positions"] = [*_added(others["positions"]), *_listed(of_layer["positions"])]
    return {**others, **of_layer}, {key: ("layers", place, key) for key in of_layer}


def _listed(raw: Any) -> list[Any]:
    return [*raw] if isinstance(raw, list | tuple) else [raw]


def _is_input(name: str) -> bool:
    """Return True for positions that are added to X, before the first layer."""
    from attncli.core.attention.positions import POSITIONS  # which most problems do not need

    return name in POSITIONS and POSITIONS[name].place == "input"


def _added(raw: Any) -> Iterator[Any]:
    for scheme in _listed(raw):
        if _is_input(scheme.get("name", "") if isinstance(scheme, Mapping) else scheme):
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
        of_layer = known_parts(with_keys(written), ("layers", place), layer_forms())
        with changed(partial(_of_whole, place, of_layer.keys())):
            positions = of_layer.get("positions")
            for name in KEYS["positions"].form.read(positions, ("positions",)) if positions else ():
                if _is_input(name):
                    message = f"{name} is added once, before the first layer"
                    raise fail(message, "positions", hint="write it at the top, beside layers")
            layer = problem.of_values(shared | of_layer, copy=copy)
        given = tuple(key for key in layer.given if key != "X")
        layer.__dict__.update(layer_keys=frozenset(of_layer), given=given)
        layer.__dict__.update(X=None, x_floats=problem.floats)
        layers.append(layer)
    return tuple(layers)


def _of_whole(place: int, keys: Collection[str], fault: Fault) -> Fault:
    """Return a fault of a layer with some keys as one of the whole problem."""
    paths = fault.path, fault.related
    path, related = (("layers", place, *x) if x and x[0] in keys else x for x in paths)
    message = f"layer {place + 1}: {fault.message}"
    return replace(fault, message=message, path=path, related=related)


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
