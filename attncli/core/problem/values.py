"""The forms of keys that have a special reader: `score`, `mask`, `scale`, `round`, ….

The tables of `attention/`, which need NumPy, are imported when a value is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from importlib import import_module
from typing import Any, TypeAlias

from attncli.core.attention.parameters import SCALE_NAMES, SETTINGS, Parameter
from attncli.core.errors import Fault, KeyPath, changed, collected, fail
from attncli.core.numbers import forms
from attncli.core.numbers.forms import LABELS, Form, Schema
from attncli.core.numbers.other_words import HINTS, import_named, plain
from attncli.core.numbers.parser import NumberError, parse
from attncli.core.numbers.written import (
    MAX_DIGITS_OF_FLOATS,
    dotted,
    in_any_case,
    is_number,
    of_expression,
    to_number,
)
from attncli.core.records import EMPTY, replace
from attncli.core.text.strings import near_words, visible

Table: TypeAlias = Mapping[str, Any]


def _table(name: str, module: str = "") -> Table:
    table: Table = vars(import_module(f"attncli.core.attention.{module or name}"))[name.upper()]
    return table


class NamedRow(Form):
    """The form of a key that chooses a row of a table: a name, or {name: …} with parameters."""

    noun: str = ""  # what messages call a row
    table: Callable[[], Table] = dict
    default: str = ""  # the row that is meant if only parameters are written
    settings: Mapping[str, Form] = EMPTY  # keys that every row takes, beside its parameters
    is_list: bool = False  # whether several rows may be listed
    types: tuple[str, str] = ("Mapping[str, Any]", "NameLike")

    def words(self) -> list[str]:
        return [*self.table()]

    def accepted(self, *names: str) -> dict[str, Form]:
        """Return the forms of the keys that the rows of these names take."""
        table = self.table()
        parameters = (p for name in names for p in table[name].parameters)
        return {**self.settings, **{p.name: p.form for p in parameters}}

    def required(self, name: str) -> list[Parameter]:
        return [p for p in self.table()[name].parameters if p.required]

    def schema(self) -> Schema:
        same: dict[tuple[Parameter, ...], list[str]] = {}
        for name, row in self.table().items():
            same.setdefault(row.parameters, []).append(name)
        alone = forms.choice([name for name in self.table() if not self.required(name)])
        written = forms.any_of([alone.schema(), *map(self._mapping, same.values())])
        return forms.any_of([written, forms.listed(written)]) if self.is_list else written

    def _mapping(self, names: list[str]) -> Schema:
        parts = {"name": forms.choice(names), **self.accepted(names[0])}
        required = [p.name for p in self.required(names[0])]
        return forms.schema_of(parts, required if self.default in names else ["name", *required])

    def row_of(self, raw: object, path: KeyPath) -> dict[str, object]:
        """Return the name of a row and the values of its parameters, in the order of the table."""
        mapping = raw if isinstance(raw, Mapping) else {"name": forms.as_text(raw, path)}
        table = self.table()
        names = (p.name for row in table.values() for p in row.parameters)
        known = dict.fromkeys(["name", *self.settings, *names])
        if mapping.get("name") is None and not self.default:
            hint = f"write {path[0]}: {{name: {', or '.join(table)}}}"
            raise fail(f"{dotted(path)} needs a name", *path, hint=hint, needs="values")
        name, faults = "", list[Fault]()
        with collected(faults), changed(lambda fault: replace(fault, path=at_name)):
            at_name = (*path, "name") if mapping is raw else path
            written = mapping.get("name")
            name = forms.choice(table).read(self.default if written is None else written, path)
        unknown = {key: part for key, part in mapping.items() if key not in known}
        likely = [name] if name else near_words(str(written), table)
        with collected(faults):
            forms.known_parts(unknown, path, ["name", *self.accepted(*likely)])
        values = {k: part for k, part in mapping.items() if k in known and part is not None}
        values.pop("name", None)
        if faults:  # raise them together with those of the settings
            settings = {key: values[key] for key in self.settings if key in values}
            forms.read_parts(settings, path, self.settings, faults)
        accepted, parameters = self.accepted(name), table[name].parameters
        wanted = {p.name: p.default for p in parameters if p.default is not None} | values
        ordered = {key: wanted[key] for key in accepted if key in wanted}
        faults += self._unfitting(name, accepted, values, path)
        return {"name": name} | forms.read_parts(ordered, path, accepted, faults)

    def _unfitting(
        self, name: str, accepted: Collection[str], values: Mapping[str, object], path: KeyPath
    ) -> Iterator[Fault]:
        """Yield a fault for each key that a row does not take, and one for all that it lacks."""
        row = f"the {self.noun} {name}"
        for key in (key for key in values if key not in accepted):
            takes = ", ".join(accepted) or "no parameters"
            yield Fault(f"{row} has no {key}", (*path, key), f"it takes {takes}")
        if missing := [p for p in self.required(name) if p.name not in values]:
            example = ", ".join(f"{p.name}: …" for p in missing)
            shapes = "; ".join(f"{p.name} is {' × '.join(p.shape)}" for p in missing)
            hint = f"write {path[0]}: {{name: {name}, {example}}}; {shapes}"
            yield Fault(f"{row} needs {' and '.join(p.name for p in missing)}", path, hint)


def _named_row(
    noun: str, table: Callable[[], Table], default: str = "", settings: Mapping[str, Form] = EMPTY
) -> NamedRow:
    row = NamedRow(
        lambda raw, path: row.row_of(raw, path),  # noqa: PLW0108 - the row is defined here
        parts=lambda: {"name": forms.choice(table()), **row.accepted(*table())},
        noun=noun,
        table=table,
        default=default,
        settings=settings,
    )
    return row


SCORE = _named_row("score function", partial(_table, "scores"), "scaled_dot")
NORMALIZE = _named_row("normaliser", partial(_table, "normalizers"), "softmax", SETTINGS)
ONE_POSITION = _named_row("kind of positions", partial(_table, "positions"))


def _all_positions(raw: object, path: KeyPath) -> dict[str, object]:
    """Return the parameters of each kind of positions by its name, and arrays by their keys."""
    numbers: dict[str, object] = {}
    rows = raw if isinstance(raw, list | tuple) else _rows_of_results(raw)
    for place, written in enumerate(rows):
        row = ONE_POSITION.read(written, (*path, place) if rows is raw else path)
        name = row["name"]
        if name in numbers:
            raise fail(f"{path[0]} has {name} twice", *path, place, hint="leave one of them out")
        arrays = {key: row.pop(key) for key in [*row] if hasattr(row[key], "shape")}
        numbers |= {name: row, **arrays}
    return numbers


def _rows_of_results(raw: object) -> list[object]:
    """Return the rows in a mapping from `_all_positions`, as results hold it; else [raw]."""
    parts = dict(raw) if isinstance(raw, Mapping) else {}
    rows: list[object] = []
    for name, row in _table("positions").items():
        if isinstance(parts.get(name), Mapping) or parts.get(name) == name:  # CSV has the name
            inner = parts.pop(name)
            inner = {"name": name} if inner == name else inner
            moved = [p.name for p in row.parameters if p.name in parts]
            rows.append(inner | {key: parts.pop(key) for key in moved})
    return [*rows, *([parts] if rows and parts else [])] or [raw]


def _ids() -> Form:
    return ONE_POSITION.accepted("rope")["ids"]


IDS = Form(
    lambda raw, path: _ids().read(raw, path),
    forms.ROWS_OF_NUMBERS,
    lambda: _ids().parts(),
    types=("Any", f"MatrixLike | {forms.SOME_KEYS}"),
)

POSITION_FORM = replace(
    ONE_POSITION,
    read=_all_positions,
    is_list=True,
    types=("Mapping[str, Any]", "NameLike | Sequence[str | Mapping[str, object]]"),
)

QK_NORM = _named_row("norm", partial(_table, "norms", "norms_and_activations"), "rms")


def layer_norms() -> list[str]:
    return [*_table("layer_norms", "norms_and_activations")]


def feed_forward_activations() -> list[str]:
    tables = (_table(name, "norms_and_activations") for name in ("activations", "with_gate"))
    return [name for table in tables for name in table]


MAX_LAYERS = 1_000
"""Maximum number of layers, each of which takes a millisecond and more. Chosen."""


def read_layers(raw: object, path: KeyPath) -> tuple[Mapping[str, object], ...]:
    """Return the layers as they were written, a list, or a mapping of their numbers."""
    layers: Any = raw
    if isinstance(raw, Mapping):
        named = {str(number): layer for number, layer in raw.items()}
        layers = [named.get(str(number)) for number in range(1, len(named) + 1)]
    is_list = isinstance(layers, list | tuple) and layers
    if not is_list or not all(isinstance(layer, Mapping) for layer in layers):
        hint = "write layers: [{W_q: …}, {W_q: …}], the keys of each"
        raise fail(f"{dotted(path)} must be a list of layers", *path, hint=hint)
    if len(layers) > MAX_LAYERS:
        message = f"{dotted(path)} has {len(layers):,} layers; {MAX_LAYERS:,} is the most"
        raise fail(message, *path, hint="write several problems")
    return tuple(layers)


TRUTH_WORD = "(?:{}|{})".format(*map(in_any_case, ("true", "false")))
MATRIX_TEXT = rf"[0-9]|^(?=[\s\S]*{TRUTH_WORD})\s*\S+\s+\S"
"""Pattern of a matrix in a text: a digit, or true or false beside another word."""

MATRIX_FILE = r"\.(?:{})\s*$".format("|".join(in_any_case(s[1:]) for s in forms.MATRIX_SUFFIXES))
MATRIX_OR_FILE: Schema = forms.STRING | {"pattern": f"{MATRIX_TEXT}|{MATRIX_FILE}"}


def _mask_parts() -> dict[str, Form]:
    rows = ({name: row.form, **row.settings} for name, row in _table("masks").items())
    return {key: form for parts in rows for key, form in parts.items()}


def _mask(raw: object, path: KeyPath) -> dict[str, object]:
    """Return a mask as a mapping of the mask forms; a matrix alone is `keep`."""
    if isinstance(raw, str) and raw in ("causal", "none"):
        return {"causal": True} if raw == "causal" else {}
    if isinstance(raw, str) and not re.search(MATRIX_TEXT, raw):
        if raw in _table("masks"):
            raise fail(f"mask {raw} needs a value", *path, hint=f"write mask: {{{raw}: …}}")
        hint = HINTS.get(plain(raw), "use causal or a 0/1 matrix")
        hint = "did you mean causal?" if raw.startswith("c") else hint
        hint = f'write mask: {{when: "{visible(raw)}"}}' if re.search("[<>=≤≥]", raw) else hint
        raise fail(f"unknown mask {visible(raw)}", *path, hint=hint)
    if not isinstance(raw, Mapping):
        return {"keep": _table("masks")["keep"].form.read(raw, path)}
    for key in [str(key) for key in raw if key not in _mask_parts()]:
        import_named(key)
    parts = _mask_parts()
    if raw.get("when") is None:
        return forms.read_parts(forms.known_parts(raw, path, parts), path, parts)
    from attncli.core.attention import expressions  # few problems have one

    names = [key for key in raw if key not in parts]
    written = forms.as_text(raw["when"], (*path, "when"))
    known = (*names, expressions.OF_TOKENS)
    formula = expressions.expression(written, (*path, "when"), expressions.CONDITION_NAMES, known)
    used = {entry.name for entry in expressions.entries_of(formula)}
    parts |= dict.fromkeys(used, LABELS)
    values = forms.read_parts(forms.known_parts(raw, path, parts), path, parts)
    lists: dict[str, Any] = {name: values[name] for name in used if name in values}
    return values | {"when": expressions.Condition.of(formula, lists, written)}


class _MaskForm(Form):
    """The form of a mask, in which lists may be beside a condition."""

    def schema(self) -> Schema:
        with_lists = forms.schema_of(self.parts(), ["when"])
        with_lists["additionalProperties"] = forms.or_nothing(LABELS.schema())
        return forms.any_of([super().schema(), with_lists])


MASK = _MaskForm(
    _mask,
    ({"enum": ["causal", "none"]}, MATRIX_OR_FILE, *forms.BITS),
    _mask_parts,
    names_file=True,
    types=("Mapping[str, Any]", f"MatrixLike | {forms.SOME_KEYS}"),
)


ROUND_PARTS = {
    "decimals": forms.count(0, MAX_DIGITS_OF_FLOATS),
    "significant": forms.count(1, MAX_DIGITS_OF_FLOATS),
    "half": forms.choice(("up", "even")),
}
ROUNDING_KEYS = ("decimals", "significant")
"""A rounding has exactly one of these."""

SIGNIFICANT = r"^\s*0*([1-9]\d*)\s*sf\s*$"
"""Pattern of 3sf, for three significant digits."""


PARTS_OF_ROUND = forms.mapping(
    ROUND_PARTS, "round: {decimals: 2} or round: {significant: 3}", either=ROUNDING_KEYS
)


def _round(raw: object, path: KeyPath) -> Any:
    """Return how to round; 2 alone means two decimals, 3sf three significant digits."""
    if not isinstance(raw, Mapping):
        significant = re.search(SIGNIFICANT, str(raw))
        raw = {"significant": significant[1]} if significant else {"decimals": raw}
    return PARTS_OF_ROUND.read(raw, path)


ROUND = replace(
    PARTS_OF_ROUND,
    read=_round,
    kinds=(forms.whole_number(0, MAX_DIGITS_OF_FLOATS), forms.STRING | {"pattern": SIGNIFICANT}),
    types=("Mapping[str, Any]", f"NumberLike | {forms.SOME_KEYS}"),
)


def _answers(raw: object, path: KeyPath) -> Mapping[object, object]:
    if not isinstance(raw, Mapping):
        message = f"{dotted(path)} must be a mapping of step names to matrices"
        raise fail(message, *path, hint="write such as weights: [[0.5, 0.5]]")
    return raw  # which `check` reads


ANSWERS = Form(
    _answers, ({"type": "object"},), types=("Mapping[str, Any]", f"{forms.SOME_KEYS} | None")
)


def _scale(raw: object, path: KeyPath) -> str:
    """Return the scale as text; it is calculated when the sizes are known."""
    if is_number(raw):
        return repr(to_number(raw, path)).removesuffix(".0")
    text = forms.as_text(raw, path)
    if text.strip().lower() in ("none", "no", "false", "off"):
        raise fail(f"scale: {visible(text)} is not a number", *path, hint="write scale: 1")
    try:
        parse(text, SCALE_NAMES)
    except NumberError as error:
        hint = "write such as 1/sqrt(d_k)"
        raise fail(f"scale: {error}", *path, hint=hint, needs=error.needs) from None
    return text


SCALE = Form(
    _scale,
    ({"type": "number"}, forms.STRING | {"pattern": of_expression(SCALE_NAMES)}),
    types=("str", "NumberLike"),
)

BIAS_NAMES = ("i", "j", "h", "n", "m", "heads")
"""The query, the key and the head, counted from 1, and the number of each."""

BIAS_MATRIX = forms.matrix("either", broadcasts=True, infinite=True)


def _bias(raw: object, path: KeyPath) -> Any:
    """Return a matrix, or the formula of an expression in the places of queries and keys."""
    is_expression = isinstance(raw, str) and re.search(rf"\b({'|'.join(BIAS_NAMES)})\b", raw)
    if not isinstance(raw, str) or not is_expression or re.search(MATRIX_FILE, raw):
        return BIAS_MATRIX.read(raw, path)
    from attncli.core.attention.expressions import OF_TOKENS, expression  # few problems have one

    return expression(raw, path, BIAS_NAMES, (OF_TOKENS,))


BIAS_TEXT = forms.STRING | {"pattern": r"^[\w\s.,()[\]<>=!≤≥≠%∞π√·×−+*/^-]*$"}
BIAS_FORM = replace(
    BIAS_MATRIX,
    read=_bias,
    kinds=(*BIAS_MATRIX.kinds, BIAS_TEXT),
    types=("Array | Formula", "MatrixLike"),
)
