"""The forms of the keys that are mappings: `score`, `mask`, `normalize`, `round`, `answers`.

What their keys are is read from the tables of `attention/`, so that a new row needs no line here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import starmap
from typing import Any, TypeAlias

from attncli.attention.masks import MASKS
from attncli.attention.normalizers import Normalizer
from attncli.attention.parameters import Parameter
from attncli.attention.scores import ScoreFunction
from attncli.errors import Fault, KeyPath, collected, fail
from attncli.forms.form import (
    BITS,
    STACKS,
    STRING,
    Form,
    Schema,
    any_of,
    as_text,
    choice,
    count,
    known_parts,
    matrix,
    read_parts,
    schema_of,
    whole_number,
)
from attncli.forms.matrices import MATRIX_SUFFIXES, dotted
from attncli.notation.pattern import in_any_case
from attncli.records import EMPTY
from attncli.text.escapes import visible

Table: TypeAlias = Mapping[str, ScoreFunction] | Mapping[str, Normalizer]


class Named(Form):
    """The form of a row of a table, by its name alone or with its parameters."""

    table: Table = EMPTY
    default: str = ""  # the row where only parameters are given
    settings: Mapping[str, Form] = EMPTY  # the keys that every row takes beside its own

    def schema(self) -> Schema:
        """Return its part of a JSON Schema: the names that need no more, then the mappings."""
        rows = self.table.items()
        alone = [name for name, row in rows if not any(p.required for p in row.parameters)]
        same: dict[tuple[Parameter, ...], list[str]] = {}
        for name, row in rows:
            same.setdefault(row.parameters, []).append(name)
        return any_of([choice(alone).schema(), *starmap(self._mapping, same.items())])

    def words(self) -> list[str]:
        """Return the names of all rows, also of those that need more than a name."""
        return [*self.table]

    def _mapping(self, own: tuple[Parameter, ...], names: list[str]) -> Schema:
        """Return what the rows of these names take, which have the same parameters."""
        parts = {"name": choice(names), **self.settings, **{p.name: p.form for p in own}}
        required = [p.name for p in own if p.required]
        return schema_of(parts, required if self.default in names else ["name", *required])


def named(table: Table, noun: str, default: str, settings: Mapping[str, Form]) -> Form:
    """A row of a table by its name, or {name: …} with its parameters, and settings of all rows.

    Messages call a row by the noun; it is the default where only parameters are given.
    """

    def parts() -> dict[str, Form]:
        own = {p.name: p.form for row in table.values() for p in row.parameters}
        return {"name": choice(table), **settings, **own}

    def read(raw: object, path: KeyPath) -> dict[str, object]:
        mapping = raw if isinstance(raw, Mapping) else {"name": as_text(raw, path)}
        given = known_parts(mapping, path, parts())
        name, faults = "", list[Fault]()
        with collected(faults):
            name = choice(table).read(given.pop("name", default), path)
        own = () if faults else table[name].parameters
        forms = {**settings, **{p.name: p.form for p in own}}
        if not faults:
            faults += _misfits(f"the {noun} {name}", own, forms, given, path)
        wanted = {p.name: p.default for p in own if p.default is not None} | given
        ordered = {key: wanted[key] for key in forms if key in wanted}
        return {"name": name} | read_parts(ordered, path, forms, faults)

    return Named(read, parts=parts, table=table, default=default, settings=settings)


def _misfits(
    row: str,
    own: tuple[Parameter, ...],
    forms: Mapping[str, Form],
    given: Mapping[str, object],
    path: KeyPath,
) -> Iterator[Fault]:
    """Yield a fault for what a row has not, and for what it cannot do without."""
    for key in given:
        if key not in forms:
            takes = ", ".join(forms) or "no parameters"
            yield Fault(f"{row} has no {key}", (*path, key), f"it takes {takes}")
    missing = [p for p in own if p.required and p.name not in given]
    if missing:
        parts = ", ".join(f"{p.name}: …" for p in missing)
        shapes = "; ".join(f"{p.name} is {' × '.join(p.shape)}" for p in missing)
        hint = f"write {path[0]}: {{name: {row.rsplit(maxsplit=1)[-1]}, {parts}}}; {shapes}"
        yield Fault(f"{row} needs {' and '.join(p.name for p in missing)}", path, hint)


def _mask_parts() -> dict[str, Form]:
    forms = ({name: row.form, **row.settings} for name, row in MASKS.items())
    return {key: form for parts in forms for key, form in parts.items()}


def _mask(raw: object, path: KeyPath) -> dict[str, object]:
    """Return what a mask is made of: a mapping of the mask forms; a matrix is `keep`."""
    if isinstance(raw, str) and raw in ("causal", "none"):
        return {"causal": True} if raw == "causal" else {}
    if isinstance(raw, str) and not re.search(MATRIX_TEXT, raw):
        if raw in MASKS:
            raise fail(f"mask {raw} needs a value", *path, hint=f"write mask: {{{raw}: …}}")
        hint = "did you mean causal?" if raw.startswith("c") else "use causal or a 0/1 matrix"
        raise fail(f"unknown mask {visible(raw)}", *path, hint=hint)
    if not isinstance(raw, Mapping):
        return {"keep": MASKS["keep"].form.read(raw, path)}
    parts = _mask_parts()
    return read_parts(known_parts(raw, path, parts), path, parts)


def mask_warnings(
    mask: Mapping[str, object], written: Any, n: int | None, m: int | None
) -> Iterator[str]:
    """Yield a warning for each part of a mask for n queries and m keys that has two readings."""
    if mask.get("causal") and n != m and not mask.keys() & {"align", "offset"}:
        said = f"mask: causal lets query 1 of {n} see only key 1 of {m}"
        way = "{causal: true, align: top-left}, or bottom-right if the queries are the last tokens"
        yield f"{said}; write mask: {way}"
    while isinstance(written, list | tuple) or getattr(written, "shape", None):
        written = written[0]
    if not isinstance(written, Mapping) and re.search(rf"\b{TRUTH_WORD}\b", str(written)):
        said = "a query may attend where the mask is true, but some programs mean the reverse"
        yield f"{said}; write mask: {{keep: …}} or mask: {{block: …}} to say which"


def _round_parts() -> dict[str, Form]:
    return {"decimals": count(0), "significant": count(), "half": choice(("up", "even"))}


def _round(raw: object, path: KeyPath) -> dict[str, object]:
    """Return how to round; 2 and 3sf are what people write for two decimals and three figures."""
    if not isinstance(raw, Mapping):
        figures = re.search(FIGURES, str(raw))
        raw = {"significant": figures[1]} if figures else {"decimals": raw}
    mapping = known_parts(raw, path, _round_parts())
    if sum(key in mapping for key in EITHER) != 1:
        hint = "write round: {decimals: 2} or round: {significant: 3}"
        raise fail(f"{path[0]} needs either decimals or significant", *path, hint=hint)
    return read_parts(mapping, path, _round_parts())


def _gradient_parts() -> dict[str, Form]:
    return {"loss": choice(LOSSES), "target": matrix("batch"), "upstream": matrix("batch")}


def _gradient(raw: object, path: KeyPath) -> dict[str, object]:
    """Return what the derivatives are of: a loss by its name, or a matrix, which is upstream."""
    if isinstance(raw, str) and not re.search(f"{MATRIX_TEXT}|{MATRIX_FILE}", raw):
        raw = {"loss": raw}
    if not isinstance(raw, Mapping):
        return {"upstream": _gradient_parts()["upstream"].read(raw, path)}
    parts = _gradient_parts()
    given = known_parts(raw, path, parts)
    if ("loss" in given) == ("upstream" in given):
        hint = f"write {path[0]}: sum, or {path[0]}: {{loss: squared_error, target: …}}"
        raise fail(f"{path[0]} needs either loss or upstream", *path, hint=hint)
    found = read_parts(given, path, parts)
    has_target, is_error = "target" in given, found.get("loss", SUM) != SUM
    if is_error and not has_target:
        message = f"the loss {found['loss']} needs target, of the shape of the output"
        hint = f"write {path[0]}: {{loss: {found['loss']}, target: [[1, 0], [0, 1]]}}"
        raise fail(message, *path, hint=hint, needs="values")
    if has_target and not is_error:
        message = f"target has no use in {path[0]} without a loss that compares with it"
        raise fail(message, *path, "target", hint="use squared_error", needs="values")
    return found


def _answers(raw: object, path: KeyPath) -> Mapping[object, object]:
    """Return answers as they are; they are read when they are checked."""
    if not isinstance(raw, Mapping):
        message = f"{dotted(path)} must be a mapping of step names to matrices"
        raise fail(message, *path, hint="write such as weights: [[0.5, 0.5]]")
    return raw


SUM = "sum"
LOSSES = (SUM, "squared_error", "half_squared_error", "mean_squared_error")
"""What may be made of the output: Σ z, and Σ (z − target)² over 1, over 2, over their number."""

EITHER = ("decimals", "significant")
"""Of these a rounding has one."""
FIGURES = r"^\s*0*([1-9]\d*)\s*sf\s*$"
"""3sf, for three significant figures."""
TRUTH_WORD = "(?:{}|{})".format(*map(in_any_case, ("true", "false")))
MATRIX_TEXT = rf"[0-9]|{TRUTH_WORD}.*\s+\S|\S\s.*{TRUTH_WORD}"
"""What tells a matrix in a text from a word: a digit, or true and false among other words."""
MATRIX_FILE = r"\.(?:{})\s*$".format("|".join(in_any_case(s[1:]) for s in MATRIX_SUFFIXES))

MASK = Form(
    _mask,
    ({"enum": ["causal", "none"]}, STRING | {"pattern": f"{MATRIX_TEXT}|{MATRIX_FILE}"}, *BITS),
    _mask_parts,
    names_file=True,
)
GRADIENT = Form(
    _gradient,
    ({"enum": [SUM]}, STRING | {"pattern": f"{MATRIX_TEXT}|{MATRIX_FILE}"}, *STACKS["batch"]),
    _gradient_parts,
    names_file=True,
    either=("loss", "upstream"),
)
ROUND = Form(_round, (whole_number(0), STRING | {"pattern": FIGURES}), _round_parts, either=EITHER)
ANSWERS = Form(_answers, ({"type": "object"},))
