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

TAKEN, REFUSED = "taken by both", "refused by both"
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


def outcome(values: Mapping[str, Any], faults: tuple[Fault, ...], seen: Any) -> str:
    """Return what both say of a problem: they must agree.

    `values` have every scalar as text, and `seen` is the same as an editor sees it.
    """
    shown = json.dumps(values)[:500]
    if not faults:
        for view in (values, seen):
            for error in validator().iter_errors(view):
                pytest.fail(f"the schema alone refuses {error.json_path}: {error.message}\n{shown}")
        return TAKEN
    if not validator().is_valid(seen):
        return REFUSED
    alone = [fault.message for fault in faults if can_be_said(fault, values)]
    assert not alone, f"the loader alone refuses {shown}"
    return "refused by the loader for what no schema tells"


def outcomes(path: Path, text: str = "") -> Counter[str]:
    """Count what comes out for the problems of a file, which is written first if there is a text.

    There are none in a file that cannot be read, and no schema sees large matrices.
    """
    if text:
        path.write_text(text)
    found = Counter[str]()
    try:
        problems = [*zip(read(path, None, csv_options()), load_each(path), strict=True)]
    except InputError:
        return found
    for document, one in problems:
        values = document.values
        if document.error or any(isinstance(raw, np.ndarray) for raw in values.values()):
            continue
        as_yaml = typed(values["X"] if document.bare else values)
        faults = one.faults if isinstance(one, InputError) else ()
        found[outcome(values, faults, _as_json(path) or as_yaml)] += 1
    return found


# --- files that are made up ------------------------------------------------------------------


def test_made_up_files_are_taken_by_both_or_refused_by_both(tmp_path: Path) -> None:
    """Nearly right problems in every format, and samples of which a few keys were changed."""
    files = [*made_files("problem", "sample")]
    found = Counter[str]()
    for suffix, data in files:
        path = tmp_path / f"made{suffix}"
        path.write_bytes(data)
        found += outcomes(path)
    assert found[TAKEN] > len(files) / 20
    assert found[REFUSED] > len(files) / 4


def test_it_is_a_schema_of_every_key(attn: Attn) -> None:
    schema = attncli.schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert set(schema["properties"]) == set(KEYS)
    text = attn("schema").out
    assert json.loads(text) == schema
    assert sum(len(line) > 100 for line in text.splitlines()) < 80  # each of one pattern


# --- rule by rule ----------------------------------------------------------------------------

RULES = [
    pytest.param(line, outcome, id=line)
    for name, outcome in (("TAKEN", TAKEN), ("REFUSED", REFUSED))
    for line in table("schema", name).splitlines()
]


@pytest.mark.parametrize(("line", "outcome"), RULES)
def test_the_schema_and_the_loader_keep_the_same_rules(
    line: str, outcome: str, tmp_path: Path
) -> None:
    keys = line.split("; ")
    own = [] if any(key.startswith("X:") for key in keys) else ["X: [[1, 0], [0, 1]]"]
    made = yaml.load("\n".join([*own, *keys]), yaml.BaseLoader)
    assert outcomes(tmp_path / "a.json", json.dumps(with_nothing(made)))[outcome] == 1


def with_nothing(made: Any) -> Any:
    """Return values as an editor sees them, with null for a key that has nothing behind it."""
    if not isinstance(made, dict):
        return typed(made)
    return {key: None if raw == "" else with_nothing(raw) for key, raw in made.items()}


def test_a_list_alone_is_x(tmp_path: Path) -> None:
    assert outcomes(tmp_path / "a.json", "[[1, 0]]") == {TAKEN: 1}
    assert outcomes(tmp_path / "a.json", '[[1, "x"]]') == {REFUSED: 1}


# --- samples ---------------------------------------------------------------------------------


@pytest.mark.parametrize("path", SAMPLE_FILES, ids=lambda path: path.name)
def test_every_sample_is_taken(path: Path) -> None:
    assert {*outcomes(path)} == {TAKEN}


def test_error_samples_are_refused_where_a_schema_can_tell() -> None:
    paths = sorted((DATA / "errors").iterdir())
    refused = [path.name for path in paths if REFUSED in outcomes(path)]
    assert refused == table("schema", "OF_SAMPLES")
