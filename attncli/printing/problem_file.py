"""A problem as a file to write in: a comment above each key, and options that may follow."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from math import isfinite
from typing import Any

from attncli.core.attention.masks import MASKS
from attncli.core.attention.scores import SCORES
from attncli.core.errors import InputError
from attncli.core.numbers.form import ArrayForm
from attncli.core.problem.keys import KEYS
from attncli.core.problem.kinds import KINDS, TEXT_KEYS
from attncli.core.problem.problem import Problem
from attncli.core.text.numbers import every_digit

UNQUOTED = re.compile(r"(?!(null|Null|NULL)$)-?\w(?:[\w ./^*+()-]*[\w)])?")
"""Text that YAML needs no quotes for."""

OPTIONS: tuple[tuple[str, Any], ...] = (
    ("heads", 2),
    ("scale", "1/d_k"),
    ("mask", "causal"),
    ("mask", {"lengths": 1}),
    ("normalize", {"temperature": 2}),
    ("norm", "rms"),
    ("place", "post"),
    ("activation", "gelu"),
    ("round", {"decimals": 2}),
)
"""Options to suggest below a problem, with a value: of each key the first that fits it."""


def problem_file(problem: Problem, blank: bool = False, above: str = "") -> str:
    """Return a problem, made of lists and text, as commented YAML.

    With `blank`, each number of a matrix, except a mask's, is a `?`. `above` is a comment for the
    first line; without it options are suggested.
    """
    keys = [key for key in KEYS if key in problem.given]
    first = [entry(key, problem.written[key]) for key in keys if key in TEXT_KEYS]
    first[:0] = [f"# {above}"] if above else []
    blocks = [first, *(_block(problem, key, blank) for key in keys if key not in TEXT_KEYS)]
    if not above and (options := [*_options(problem)]):
        title = "# Without the # before it, each of these is an option that may be used:"
        blocks.append([title, *options])
    texts = ("".join(f"{line}\n" for line in block) for block in blocks)
    return "\n".join(filter(None, texts))


def _block(problem: Problem, key: str, blank: bool) -> Iterable[str]:
    raw, form = problem.written[key], KEYS[key].form
    array = problem.matrices().get(key)
    size = "" if array is None else f"{key} ({', '.join(map(str, array.shape))}): "
    yield f"# {size}{_meaning(problem, key)}"
    if key == "layers":
        yield f"{key}:"
        for layer in problem.layers:
            own = [part for part in KEYS if part in layer.layer_keys]
            parts = [_entry(layer, part, blank, "    ") for part in own]
            yield from (f"  - {parts[0][4:]}", *parts[1:])
    elif key == "score" and len(raw) == 1:
        yield entry(key, raw["name"])
    elif not isinstance(raw, dict) or not any(map(_is_matrix, raw.values())):
        yield _entry(problem, key, blank)
    else:
        yield f"{key}:"
        for name, part in raw.items():
            is_open = blank and key != "mask" and isinstance(form.parts()[name], ArrayForm)
            yield entry(name, part, is_open, "  ")


def _entry(problem: Problem, key: str, blank: bool, indent: str = "") -> str:
    is_open = blank and isinstance(KEYS[key].form, ArrayForm)
    return entry(key, problem.written[key], is_open, indent)


def _meaning(problem: Problem, key: str) -> str:
    if key == "kind":
        return f"the mechanism: {', '.join(KINDS)}"
    if key == "score":
        return f"how alike a query and a key are: {SCORES[problem.score['name']].formula}"
    if key == "mask":
        forms = "; ".join(MASKS[name].formula for name in problem.mask if name in MASKS)
        return f"which keys j a query i may attend to: {forms}"
    return KEYS[key].meaning.removeprefix(f"{problem.kind}: ")


def entry(key: str, raw: Any, blank: bool = False, indent: str = "") -> str:
    """Return a key with its value; a row of a matrix has a line of its own."""
    rows = raw if _is_matrix(raw) else None
    if blank:
        lines = [" ".join("?" * len(row)) for row in rows or [raw]]
        return f"{indent}{key}: |" + "".join(f"\n{indent}  {line}" for line in lines)
    if rows is None:
        return f"{indent}{key}: {_flow(raw)}"
    between = ",\n" + " " * (len(f"{indent}{key}: ["))
    return f"{indent}{key}: [{between.join(map(_flow, rows))}]"


def _is_matrix(raw: object) -> bool:
    return isinstance(raw, list) and isinstance(raw[0], list)


def _flow(raw: Any) -> str:
    if isinstance(raw, dict):
        return f"{{{', '.join(f'{_flow(key)}: {_flow(part)}' for key, part in raw.items())}}}"
    if isinstance(raw, list | tuple):
        return f"[{', '.join(map(_flow, raw))}]"
    if isinstance(raw, bool):
        return str(raw).lower()
    if isinstance(raw, float):
        return every_digit(raw) if isfinite(raw) else str(raw)
    if not isinstance(raw, str) or UNQUOTED.fullmatch(raw):
        return str(raw)
    return json.dumps(raw, ensure_ascii=not raw.isprintable())


def _options(problem: Problem) -> Iterator[str]:
    """Yield suggested options, each as a comment with its meaning."""
    lines: dict[str, tuple[str, str]] = {}
    for key, raw in OPTIONS:
        if key not in problem.given and key not in lines:
            with suppress(InputError):
                changed = Problem(**{**problem.written, key: raw})
                if changed.warnings == problem.warnings:
                    is_form = isinstance(raw, dict)
                    meaning = _meaning(changed, key) if is_form else KEYS[key].meaning
                    lines[key] = f"# {key}: {_flow(raw)}", meaning
    width = max((len(line) for line, _ in lines.values()), default=0)
    for line, meaning in lines.values():
        yield f"{line:{width}}  # {meaning}"
