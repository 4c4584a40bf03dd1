"""The forms of the keys that are mappings: `score`, `mask`, `normalize`, `round`, `answers`.

What their keys are is read from the tables of `attention/`, so that a new row needs no line here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from attncli.attention.masks import MASKS
from attncli.attention.normalizers import Normalizer
from attncli.attention.parameters import Parameter
from attncli.attention.scores import ScoreFunction
from attncli.errors import Fault, KeyPath, collected, fail
from attncli.forms.form import MATRIX, Form, as_text, choice, count, known_parts, read_parts
from attncli.text.escapes import visible

Table: TypeAlias = Mapping[str, ScoreFunction] | Mapping[str, Normalizer]


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

    return Form(read, parts=parts)


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
    if isinstance(raw, str) and not any(c.isdigit() for c in raw) and not _holds_truths(raw):
        if raw in MASKS:
            raise fail(f"mask {raw} needs a value", *path, hint=f"write mask: {{{raw}: …}}")
        hint = "did you mean causal?" if raw.startswith("c") else "use causal or a 0/1 matrix"
        raise fail(f"unknown mask {visible(raw)}", *path, hint=hint)
    if not isinstance(raw, Mapping):
        return {"keep": MASKS["keep"].form.read(raw, path)}
    parts = _mask_parts()
    return read_parts(known_parts(raw, path, parts), path, parts)


def _holds_truths(text: str) -> bool:
    """Whether a text is a matrix of true and false; alone each is a word."""
    return len(text.split()) > 1 and any(word in text.lower() for word in ("true", "false"))


def _round_parts() -> dict[str, Form]:
    return {"decimals": count(0), "significant": count(), "half": choice(("up", "even"))}


def _round(raw: object, path: KeyPath) -> dict[str, object]:
    """Return how to round; 2 and 3sf are what people write for two decimals and three figures."""
    if not isinstance(raw, Mapping):
        text = str(raw).strip()
        key = "significant" if text.endswith("sf") else "decimals"
        raw = {key: text.removesuffix("sf")}
    mapping = known_parts(raw, path, _round_parts())
    if ("decimals" in mapping) == ("significant" in mapping):
        hint = "write round: {decimals: 2} or round: {significant: 3}"
        raise fail(f"{path[0]} needs either decimals or significant", *path, hint=hint)
    return read_parts(mapping, path, _round_parts())


DECIMALS_OR_FIGURES = {"type": "string", "pattern": "^[0-9]+(sf)?$"}

MASK = Form(_mask, ({"enum": ["causal", "none"]}, *MATRIX), _mask_parts, names_file=True)
ROUND = Form(_round, (count(0).schema(), DECIMALS_OR_FIGURES), _round_parts)
ANSWERS = Form(lambda raw, path: raw, ({"type": "object"},))
