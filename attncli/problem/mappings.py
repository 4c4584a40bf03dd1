"""The forms of the keys that are mappings, `score`, `mask`, `normalize`, `round`, and of `scale`.

What their keys are is read from the tables of `attention/`, so that a new row needs no line here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar, Protocol

import numpy as np

from attncli.attention.masks import MASKS
from attncli.attention.parameters import Parameter
from attncli.errors import Fault, InputError, KeyPath, collected, refuse
from attncli.forms.form import (
    Choice,
    Count,
    Form,
    Matrix,
    Schema,
    Text,
    known_parts,
    read_parts,
    schema_of_parts,
)
from attncli.notation import written as expressions
from attncli.text.escapes import visible

SCALE_NAMES = ("d_k", "d_v", "d_model", "n", "m")
"""The sizes that a scale expression may use."""


class Row(Protocol):
    """A row of a table of functions that take parameters."""

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Its own."""


class Named(Form):
    """A row of a table by its name, or {name: …} with parameters.

    Attributes:
        table: the rows by name.
        noun: what a row is, in messages.
        default: the name where none is given.
        settings: the keys that all rows take, beside their own parameters.
    """

    table: Mapping[str, Row]
    noun: str
    default: str
    settings: Mapping[str, Form]

    def read(self, raw: object, path: KeyPath) -> dict[str, object]:
        """The name first, then what is given and what has a default, in the table's order."""
        if isinstance(raw, Mapping):
            given = known_parts(raw, path, ("name", *sorted(self._parameters()), *self.settings))
        else:
            given = {"name": Text().read(raw, path)}
        faults: list[Fault] = []
        name = ""
        with collected(faults):
            name = Choice(tuple(self.table)).read(given.pop("name", self.default), path)
        own = {p.name: p for p in self.table[name].parameters} if name else {}
        if name:
            faults += self._misfits(name, own, given, path)
        forms = {**self.settings, **{key: parameter.form for key, parameter in own.items()}}
        defaults = {key: p.default for key, p in own.items() if p.default is not None}
        wanted = {key: (defaults | given)[key] for key in forms if key in defaults | given}
        result = {"name": name} | read_parts(wanted, path, forms, faults)
        refuse(faults)
        return result

    def _misfits(
        self, name: str, own: Mapping[str, Parameter], given: Mapping[str, object], path: KeyPath
    ) -> Iterator[Fault]:
        """Yield a fault for what the row has not, and for what it cannot do without."""
        takes = ", ".join((*self.settings, *own)) or "no parameters"
        for key in given:
            if key not in own and key not in self.settings:
                message = f"the {self.noun} {name} has no {key}"
                yield Fault(message, (*path, key), f"it takes {takes}")
        missing = [p for key, p in own.items() if p.required and key not in given]
        if missing:
            message = f"the {self.noun} {name} needs {' and '.join(p.name for p in missing)}"
            parts = ", ".join(f"{p.name}: …" for p in missing)
            shapes = "; ".join(f"{p.name} is {' × '.join(p.shape)}" for p in missing)
            hint = f"write {path[0]}: {{name: {name}, {parts}}}; {shapes}"
            yield Fault(message, path, hint)

    def _parameters(self) -> dict[str, Form]:
        """Return the forms of the parameters of every row."""
        return {p.name: p.form for row in self.table.values() for p in row.parameters}

    def parts(self) -> Mapping[str, Form]:
        """The name, the settings and every row's parameters."""
        return {"name": Choice(tuple(self.table)), **self.settings, **self._parameters()}

    def schema(self) -> Schema:
        """A name or a mapping."""
        return {"anyOf": [self.parts()["name"].schema(), schema_of_parts(self.parts())]}


class Mask(Form):
    """A word, a matrix of 0 and 1, or a mapping of the mask forms."""

    names_file: ClassVar[bool] = True

    def read(self, raw: object, path: KeyPath) -> dict[str, object]:
        """A mapping of the mask forms; a matrix is `keep`."""
        if isinstance(raw, str) and raw in ("causal", "none"):
            return {"causal": True} if raw == "causal" else {}
        if isinstance(raw, str) and not any(c.isdigit() for c in raw):
            hint = "did you mean causal?" if raw.startswith("c") else "use causal or a 0/1 matrix"
            raise InputError(Fault(f"unknown mask {visible(raw)}", path, hint))
        if not isinstance(raw, Mapping):
            return {"keep": MASKS["keep"].form.read(raw, path)}
        faults: list[Fault] = []
        parts = self.parts()
        result = read_parts(known_parts(raw, path, parts), path, parts, faults)
        refuse(faults)
        return result

    def parts(self) -> Mapping[str, Form]:
        """The mask forms, each with its settings."""
        rows = MASKS.items()
        return {k: f for name, row in rows for k, f in {name: row.form, **row.settings}.items()}

    def schema(self) -> Schema:
        """A word, a matrix or a mapping."""
        words: Schema = {"enum": ["causal", "none"]}
        return {"anyOf": [words, Matrix().schema(), schema_of_parts(self.parts())]}


class Round(Form):
    """How a hand rounds: decimals or significant figures."""

    def read(self, raw: object, path: KeyPath) -> dict[str, object]:
        """A mapping; 2 and 3sf are what people write for two decimals and three figures."""
        if not isinstance(raw, Mapping):
            text = str(raw).strip()
            key = "significant" if text.endswith("sf") else "decimals"
            raw = {key: text.removesuffix("sf")}
        mapping = known_parts(raw, path, self.parts())
        if ("decimals" in mapping) == ("significant" in mapping):
            message = f"{path[-1]} needs either decimals or significant"
            hint = "write round: {decimals: 2} or round: {significant: 3}"
            raise InputError(Fault(message, path, hint))
        faults: list[Fault] = []
        result = read_parts(mapping, path, self.parts(), faults)
        refuse(faults)
        return result

    def parts(self) -> Mapping[str, Form]:
        """The two counts, and where a half goes."""
        half = Choice(("up", "even"))
        return {"decimals": Count(least=0), "significant": Count(), "half": half}

    def schema(self) -> Schema:
        """A number of decimals, a text such as 3sf, or a mapping."""
        text: Schema = {"type": "string", "pattern": "^[0-9]+(sf)?$"}
        return {"anyOf": [Count(least=0).schema(), text, schema_of_parts(self.parts())]}


class Scale(Form):
    """A number, or an expression of sizes."""

    def read(self, raw: object, path: KeyPath) -> str:
        """The expression as text; it is calculated when the sizes are known."""
        if isinstance(raw, int | float | np.number) and not isinstance(raw, bool):
            return repr(float(raw)).removesuffix(".0")
        text = Text().read(raw, path)
        try:
            expressions.parse(text, SCALE_NAMES)
        except expressions.NumberError as error:
            raise InputError(Fault(f"scale: {error}", path, "write such as 1/sqrt(d_k)")) from None
        return text

    def schema(self) -> Schema:
        """A number or text."""
        return {"type": ["number", "string"]}


class Answers(Form):
    """Matrices by step name, which `attn check` reads."""

    def read(self, raw: object, path: KeyPath) -> object:
        """As given."""
        del path
        return raw

    def schema(self) -> Schema:
        """A mapping."""
        return {"type": "object"}
