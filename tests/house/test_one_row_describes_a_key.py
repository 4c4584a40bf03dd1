"""A key is described by its row alone: flags, help, schema, completion and hints come from it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import attncli
from attncli.cli import completion, main
from attncli.core.declare import Key
from attncli.core.numbers.forms import ArrayForm, choice
from attncli.core.problem.key_values import hint_for, key_of
from attncli.core.problem.keys import KEYS, KINDS
from attncli.printing.worksheet import problem_file
from tests.conftest import Attn


@pytest.fixture(autouse=True)
def _commands_are_built_anew() -> Iterator[None]:
    """Later tests have no flag of a key that is there for a test alone."""
    before = {*sys.modules}
    yield
    for name in sys.modules.keys() - before:
        if name.startswith("attncli.cli."):
            del sys.modules[name]


def test_a_row_makes_flag_help_schema_names_hints_and_candidates(
    monkeypatch: pytest.MonkeyPatch, attn: Attn
) -> None:
    shade = Key(
        choice(("light", "dark")),
        "how dark the page is",
        "light",
        aliases=("tone",),
        instead={"shade: dark": "night"},
        example="light or dark",
    )
    monkeypatch.setitem(KEYS, "shade", shade)
    monkeypatch.delitem(sys.modules, "attncli.cli.show", raising=False)

    command = main.build("compute")
    params: list[Any] = command.params
    (flag,) = (param for param in params if param.name == "shade")
    assert flag.opts == ["--shade"]
    assert flag.help == "How dark the page is: light or dark."

    schema = attncli.schema()
    assert schema["properties"]["shade"] == {
        "description": "how dark the page is",
        "enum": ["light", "dark", None],
    }
    assert schema["patternProperties"]["^(?!shade$)(?:shade|tone)$"]

    assert key_of("tone") == "shade"
    assert hint_for("night") == "write shade: dark"
    assert hint_for("shede") == "did you mean shade?"

    assert "shade\\fR\nhow dark the page is." in attn("manual").out
    context = typer.Context(command, info_name="compute")
    assert completion.values_of("shade", "", context) == {"light": "", "dark": ""}


def test_every_key_that_is_no_array_has_a_flag_or_says_that_it_has_none() -> None:
    without = [key for key, row in KEYS.items() if not row.flags_of(key)]
    arrays = [key for key, row in KEYS.items() if isinstance(row.form, ArrayForm)]
    assert without == ["student", "variant", "problem", *arrays, "answers", "marking", "tour"]


def test_every_key_is_of_use_in_some_kind() -> None:
    assert {key for kind in KINDS.values() for key in kind.keys} == {*KEYS}


@pytest.mark.parametrize("form", ["json", "yaml", "csv", "npz"])
def test_texts_about_a_problem_come_back_from_every_form(
    form: str, attn: Attn, tmp_path: Path
) -> None:
    texts = {"title": "Two words", "student": "Ada: =1", "variant": "07"}
    file = tmp_path / f"results.{form}"
    problem = attncli.Problem(X=[[1, 0], [0, 2]], **texts)  # type: ignore[arg-type]
    written = tmp_path / "problem.yaml"
    written.write_text(problem_file(problem))
    attn("compute", written, "-o", file)
    assert attncli.load(file).texts == texts
