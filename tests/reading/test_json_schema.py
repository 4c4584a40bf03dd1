"""The schema and the loader agree: on samples, on what is wrong, and on made-up files."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
import yaml

import attncli
from attncli.core.errors import Fault, InputError, KeyPath
from attncli.core.problem.key_values import key_of
from attncli.core.problem.keys import KEYS
from attncli.reading.load import csv_options, load_each
from attncli.reading.read import read
from tests.conftest import DATA, SAMPLE_FILES, Attn, made_files, table

WHOLE = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
DECIMAL = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")


def typed(raw: Any, in_list: bool = False) -> Any:
    """Return values as an editor sees them: what YAML 1.2 makes of text without quotes.

    What JSON Schema knows no number for, such as .inf and 1e400, stays text.
    """
    if isinstance(raw, dict):
        return {key: typed(part) for key, part in raw.items()}
    if isinstance(raw, list):
        return [typed(part, in_list=True) for part in raw]
    if in_list and raw in ("", "~", "null", "Null", "NULL"):
        return None
    if raw in ("true", "True", "TRUE", "false", "False", "FALSE"):
        return raw.lower() == "true"
    is_whole = WHOLE.fullmatch(raw) is not None
    if (is_whole or DECIMAL.fullmatch(raw)) and np.isfinite(_float(raw)):
        return int(raw, 0 if raw[:2] in ("0x", "0o") else 10) if is_whole else _float(raw)
    return raw


def _as_json(path: Path) -> Any:
    """Return the value of a file of JSON; None for any other file."""
    try:
        return json.loads(path.read_bytes()) if path.suffix == ".json" else None
    except ValueError:
        return None


def _float(text: str) -> float:
    return float(int(text, 0)) if text[:2] in ("0x", "0o") else float(text)


def at(raw: Any, path: KeyPath) -> Any:
    """Return what stands at a path, or the last thing on the way to it."""
    for part in path:
        if isinstance(raw, dict):
            raw = next((v for word, v in raw.items() if part in (word, key_of(word))), raw)
        elif isinstance(raw, list) and isinstance(part, int) and part < len(raw):
            raw = raw[part]
    return raw


def can_be_said(fault: Fault, raw: Any) -> bool:
    """Whether a schema can tell a fault; of numbers it knows those that are no expression."""
    is_number = isinstance(typed_number := typed(at(raw, fault.path)), int | float)
    is_number = is_number and not isinstance(typed_number, bool)
    return not fault.needs or (fault.needs == "values" and is_number)


@cache
def validator() -> Any:
    return jsonschema.Draft202012Validator(attncli.schema())


class Comparison:
    """The schema beside the loader.

    Attributes:
        figures: how often what came out.
        wrong: where they disagree: what it is, with the values.
    """

    def __init__(self) -> None:
        self.schema = validator()
        self.figures: Counter[str] = Counter()
        self.wrong: list[str] = []

    def of_file(self, path: Path) -> None:
        """Compare them on every problem of a file that holds text."""
        self.figures["files"] += 1
        try:
            documents = list(read(path, None, csv_options()))
            found = list(load_each(path))
        except InputError:
            self.figures["files without a problem that can be read"] += 1
            return
        for document, one in zip(documents, found, strict=True):
            values = document.values
            faults = one.faults if isinstance(one, InputError) else ()
            if document.error or any(isinstance(raw, np.ndarray) for raw in values.values()):
                self.figures["problems that no schema sees"] += 1
                continue
            self.figures["problems"] += 1
            as_yaml = typed(values["X"] if document.bare else values)
            outcome, why = self._outcome(values, faults, _as_json(path) or as_yaml)
            self.figures[outcome] += 1
            if why:
                self.wrong.append(f"{outcome}: {why}\n  {json.dumps(values)[:500]}")

    def _outcome(
        self, values: Mapping[str, Any], faults: tuple[Fault, ...], seen: Any
    ) -> tuple[str, str]:
        """Return what comes out, and why they disagree, if they do.

        `values` have every scalar as text, and `seen` is the same as an editor sees it.
        """
        if not faults:
            for view in (values, seen):
                for error in self.schema.iter_errors(view):
                    place = "/".join(map(str, error.absolute_path))
                    return "the schema alone refuses", f"{place}: {error.message[:200]}"
            return "taken by both", ""
        if not self.schema.is_valid(seen):
            return "refused by both", ""
        for fault in faults:
            if can_be_said(fault, values):
                return "the loader alone refuses", fault.message
        needs = sorted({fault.needs for fault in faults})
        return f"refused by the loader for {', '.join(needs)}", ""


def compared(path: Path, text: str = "") -> Comparison:
    """Compare them on a file, which is written first if there is a text; they must agree."""
    if text:
        path.write_text(text)
    found = Comparison()
    found.of_file(path)
    assert not found.wrong, found.wrong
    return found


# --- files that are made up ------------------------------------------------------------------


def test_made_up_files_are_taken_by_both_or_refused_by_both(tmp_path: Path) -> None:
    """Nearly right problems in every format, and samples of which a few keys were changed."""
    found = Comparison()
    for suffix, data in made_files("problem", "sample"):
        path = tmp_path / f"made{suffix}"
        path.write_bytes(data)
        found.of_file(path)
    assert not found.wrong, "\n".join(found.wrong)
    assert found.figures["taken by both"] > found.figures["files"] / 20
    assert found.figures["refused by both"] > found.figures["files"] / 4


def test_it_is_a_schema_of_every_key(attn: Attn) -> None:
    schema = attncli.schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert set(schema["properties"]) == set(KEYS)
    text = attn("schema").out
    assert json.loads(text) == schema
    assert sum(len(line) > 100 for line in text.splitlines()) < 40  # each of one pattern


# --- rule by rule ----------------------------------------------------------------------------

RULES = [
    pytest.param(line, outcome, id=line)
    for name, outcome in (("TAKEN", "taken by both"), ("REFUSED", "refused by both"))
    for line in table("schema", name).splitlines()
]


@pytest.mark.parametrize(("line", "outcome"), RULES)
def test_the_schema_and_the_loader_keep_the_same_rules(
    line: str, outcome: str, tmp_path: Path
) -> None:
    keys = line.split("; ")
    own = [] if any(key.startswith("X:") for key in keys) else ["X: [[1, 0], [0, 1]]"]
    made = yaml.load("\n".join([*own, *keys]), yaml.BaseLoader)
    found = compared(tmp_path / "a.json", json.dumps(with_nothing(made)))
    assert found.figures[outcome] == 1


def with_nothing(made: Any) -> Any:
    """Return values as an editor sees them, with null for a key that has nothing behind it."""
    if not isinstance(made, dict):
        return typed(made)
    return {key: None if raw == "" else with_nothing(raw) for key, raw in made.items()}


def test_a_list_alone_is_x(tmp_path: Path) -> None:
    for text, outcome in (("[[1, 0]]", "taken by both"), ('[[1, "x"]]', "refused by both")):
        assert compared(tmp_path / "a.json", text).figures[outcome] == 1


# --- samples ---------------------------------------------------------------------------------


@pytest.mark.parametrize("path", SAMPLE_FILES, ids=lambda path: path.name)
def test_every_sample_is_taken(path: Path) -> None:
    found = compared(path)
    assert found.figures["taken by both"] == found.figures["problems"] > 0


def test_error_samples_are_refused_where_a_schema_can_tell() -> None:
    refused = []
    for path in sorted((DATA / "errors").iterdir()):
        refused += [path.name] * compared(path).figures["refused by both"]
    assert refused == table("schema", "OF_SAMPLES")
