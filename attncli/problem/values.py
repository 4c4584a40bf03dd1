"""How each form of key is read: raw values, as files and Python give them, become the problem's.

The forms are those of the key table; a new form is one function and one row of `READERS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.attention.normalizers import NORMALIZERS
from attncli.attention.scores import SCORES
from attncli.errors import Fault, InputError, KeyPath, collected, refuse
from attncli.notation import written as expressions
from attncli.problem.keys import (
    ALIGNMENTS,
    AXES,
    HALVES,
    KEYS,
    MASK_KEYS,
    NORMALIZE_KEYS,
    ROUND_KEYS,
    SCALE_NAMES,
)
from attncli.problem.matrices import to_array, to_count, to_number, to_vector
from attncli.text.escapes import visible
from attncli.text.suggestions import did_you_mean


def read_value(key: str, raw: object) -> object:
    """Return what a key of a problem holds, by its form in the key table.

    Raises:
        InputError: for an unknown key, or a value that is not of its form.
    """
    if key not in KEYS:
        raise InputError(Fault(f"unknown key {visible(key)}", (key,), did_you_mean(key, KEYS)))
    row = KEYS[key]
    path = (key,)
    if row.form == "matrix":
        return to_array(raw, path, row.infinite)
    if row.form == "vector":
        return to_array(raw, path) if _is_stack(raw) else to_vector(raw, path)
    if row.form == "count":
        return to_count(raw, path)
    if row.form == "choice":
        return _choice(raw, path, row.choices)
    return READERS[row.form](raw, path)


def _is_stack(raw: object) -> bool:
    if isinstance(raw, np.ndarray):
        return raw.ndim == 2 and 1 not in raw.shape
    rows = raw if isinstance(raw, list | tuple) else []
    return len(rows) > 1 and all(isinstance(row, list | tuple) and len(row) > 1 for row in rows)


def _text(raw: object, path: KeyPath) -> str:
    if isinstance(raw, list | dict | np.ndarray):
        raise InputError(Fault(f"{_dotted(path)} must be text", path))
    return str(raw)


def _labels(raw: object, path: KeyPath) -> tuple[str, ...]:
    if isinstance(raw, str):
        raw = raw.replace(",", " ").split()
    if not isinstance(raw, list | tuple):
        raise InputError(Fault(f"{_dotted(path)} must be a list of words", path))
    return tuple(_text(item, (*path, index)) for index, item in enumerate(raw))


def _choice(raw: object, path: KeyPath, choices: tuple[str, ...]) -> str:
    word = _text(raw, path)
    if word not in choices:
        message = f"unknown {_dotted(path)} {visible(word)}"
        raise InputError(Fault(message, path, did_you_mean(word, choices)))
    return word


def _number(raw: object, path: KeyPath) -> float:
    value = to_number(raw, path)
    if value <= 0:
        raise InputError(Fault(f"{_dotted(path)} must be greater than 0", path))
    return value


def _truth(raw: object, path: KeyPath) -> bool:
    word = str(raw).lower()
    if word not in ("true", "false", "yes", "no", "on", "off", "1", "0"):
        message = f"{_dotted(path)} must be true or false, not {visible(word)}"
        raise InputError(Fault(message, path))
    return word in ("true", "yes", "on", "1")


def _mapping(raw: object, path: KeyPath, known: tuple[str, ...]) -> dict[str, object]:
    """Return a mapping; a word stands for its name. Refuses unknown keys."""
    if isinstance(raw, Mapping):
        for key in raw:
            if key not in known:
                message = f"unknown key {visible(str(key))} in {_dotted(path)}"
                raise InputError(Fault(message, (*path, str(key)), did_you_mean(str(key), known)))
        return {key: part for key, part in raw.items() if part is not None}
    return {"name": _text(raw, path)}


def _score(raw: object, path: KeyPath) -> dict[str, object]:
    every = {p.name for function in SCORES.values() for p in function.parameters}
    mapping = _mapping(raw, path, ("name", *sorted(every)))
    name = _choice(mapping.get("name", "scaled_dot"), path, tuple(SCORES))
    faults: list[Fault] = []
    known = {p.name: p for p in SCORES[name].parameters}
    result: dict[str, object] = {"name": name}
    for key in mapping:
        if key != "name" and key not in known:
            takes = f"it takes {', '.join(known)}" if known else "it takes no parameters"
            faults.append(Fault(f"the score function {name} has no {key}", (*path, key), takes))
    missing = [key for key, p in known.items() if p.required and key not in mapping]
    if missing:
        shapes = "; ".join(f"{key} is {' × '.join(known[key].shape)}" for key in missing)
        message = f"the score function {name} needs {' and '.join(missing)}"
        parts = ", ".join(f"{key}: …" for key in missing)
        faults.append(Fault(message, path, f"write score: {{name: {name}, {parts}}}; {shapes}"))
    for key, parameter in known.items():
        inside = (*path, key)
        with collected(faults):
            if key not in mapping:
                if parameter.default is not None:
                    result[key] = parameter.default
            elif not parameter.shape:
                result[key] = _number(mapping[key], inside)
            elif len(parameter.shape) == 1:
                result[key] = to_vector(mapping[key], inside)
            else:
                result[key] = to_array(mapping[key], inside)
    refuse(faults)
    return result


def _mask(raw: object, path: KeyPath) -> dict[str, object]:
    if isinstance(raw, str) and raw in ("causal", "none"):
        return {"causal": True} if raw == "causal" else {}
    if isinstance(raw, str) and not any(c.isdigit() for c in raw):
        hint = "did you mean causal?" if raw.startswith("c") else "use causal or a 0/1 matrix"
        raise InputError(Fault(f"unknown mask {visible(raw)}", path, hint))
    mapping = _mapping(raw, path, MASK_KEYS) if isinstance(raw, Mapping) else {"keep": raw}
    result: dict[str, object] = {}
    faults: list[Fault] = []
    for key, part in mapping.items():
        inside = (*path, key) if isinstance(raw, Mapping) else path
        with collected(faults):
            result[key] = MASK_READERS[key](part, inside)
    refuse(faults)
    return result


def _zeros_and_ones(raw: object, path: KeyPath) -> Array:
    array = to_array(raw, path)
    wrong = np.argwhere((array != 0) & (array != 1))
    if len(wrong):
        place = tuple(int(i) for i in wrong[0])
        message = f"{_dotted(path)} holds {array[place]:g}, but a mask is made of 0 and 1"
        hint = "1 = may attend; numbers to be added to the scores go into bias"
        raise InputError(Fault(message, (*path, *place), hint))
    return array


def _lengths(raw: object, path: KeyPath) -> Array:
    is_list = isinstance(raw, list | tuple | np.ndarray)
    return to_vector(raw, path) if is_list else np.array([to_number(raw, path)])


def _window(raw: object, path: KeyPath) -> tuple[int, int]:
    sides = raw.replace(",", " ").split() if isinstance(raw, str) else raw
    if not isinstance(sides, list | tuple) or len(sides) != 2:
        message = f"{_dotted(path)} must be two numbers, left and right"
        raise InputError(Fault(message, path, "write window: [2, 0]; -1 is no bound"))
    left, right = (to_count(side, path, -1) for side in sides)
    return left, right


def _normalize(raw: object, path: KeyPath) -> dict[str, object]:
    mapping = _mapping(raw, path, NORMALIZE_KEYS)
    result: dict[str, object] = {}
    faults: list[Fault] = []
    with collected(faults):
        result["name"] = _choice(mapping.get("name", "softmax"), path, tuple(NORMALIZERS))
    for key, read in NORMALIZE_READERS.items():
        if key in mapping:
            with collected(faults):
                result[key] = read(mapping[key], (*path, key))
    refuse(faults)
    return result


def _power_base(raw: object, path: KeyPath) -> float | str:
    if isinstance(raw, str) and raw.strip() == "e":
        return "e"
    value = to_number(raw, path)
    if value <= 1:
        raise InputError(Fault(f"{_dotted(path)} must be greater than 1", path))
    return value


def _scale(raw: object, path: KeyPath) -> str:
    if isinstance(raw, int | float | np.number) and not isinstance(raw, bool):
        return repr(float(raw)).removesuffix(".0")
    text = _text(raw, path)
    factor_names = dict.fromkeys(SCALE_NAMES, 1.0)
    try:
        expressions.parse(text, factor_names)
    except expressions.NumberError as error:
        raise InputError(Fault(f"scale: {error}", path, "write such as 1/sqrt(d_k)")) from None
    return text


def _round(raw: object, path: KeyPath) -> dict[str, object]:
    hint = "write round: {decimals: 2} or round: {significant: 3}"
    if not isinstance(raw, Mapping):
        text = str(raw).strip()
        # 2 and 3sf are what people write for two decimals and three significant figures.
        key = "significant" if text.endswith("sf") else "decimals"
        raw = {key: text.removesuffix("sf")}
    mapping = _mapping(raw, path, ROUND_KEYS)
    if ("decimals" in mapping) == ("significant" in mapping):
        message = f"{_dotted(path)} needs either decimals or significant"
        raise InputError(Fault(message, path, hint))
    result: dict[str, object] = {}
    for key, part in mapping.items():
        inside = (*path, key)
        if key == "half":
            result[key] = _choice(part, inside, HALVES)
        else:
            result[key] = to_count(part, inside, 0 if key == "decimals" else 1)
    return result


def _dotted(path: KeyPath) -> str:
    return ".".join(str(part) for part in path if isinstance(part, str))


MASK_READERS: dict[str, Callable[[object, KeyPath], object]] = {
    "causal": _truth,
    "align": lambda raw, path: _choice(raw, path, ALIGNMENTS),
    "offset": lambda raw, path: to_count(raw, path, None),
    "keep": _zeros_and_ones,
    "block": _zeros_and_ones,
    "lengths": _lengths,
    "window": _window,
}

NORMALIZE_READERS: dict[str, Callable[[object, KeyPath], object]] = {
    "temperature": _number,
    "base": _power_base,
    "axis": lambda raw, path: _choice(raw, path, AXES),
}

READERS: dict[str, Callable[[object, KeyPath], object]] = {
    "text": _text,
    "truth": _truth,
    "labels": _labels,
    "number": _number,
    "score": _score,
    "mask": _mask,
    "normalize": _normalize,
    "scale": _scale,
    "round": _round,
    "answers": lambda raw, path: raw,
}
