"""A start from nothing: the samples, a new problem file, blank cells, and help with examples."""

from __future__ import annotations

from pathlib import Path

import pytest

import attncli
from tests.conftest import SAMPLE_FILES, Attn


def test_samples_are_listed_with_their_titles(attn: Attn) -> None:
    lines = attn("samples").out.splitlines()
    titles = {p.name.removesuffix(".yaml"): attncli.load_all(p)[0].title for p in SAMPLE_FILES}
    assert dict((*line.split(maxsplit=1), "")[:2] for line in lines) == titles
    assert len({len(line) - len(line.split(maxsplit=1)[1]) for line in lines if " " in line}) == 1
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("path", SAMPLE_FILES, ids=lambda p: p.name)
def test_a_sample_is_printed_as_it_is(path: Path, attn: Attn) -> None:
    assert attn("samples", path.name).out.encode() == path.read_bytes()
    assert attn("samples", path.name.removesuffix(".yaml")).out.encode() == path.read_bytes()


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("mask_causel", "did you mean mask_causal?"),
        ("../README.md", "attn samples lists them"),
        ("", "attn samples lists them"),
    ],
)
def test_an_unknown_sample_has_a_way_out(name: str, hint: str, attn: Attn) -> None:
    result = attn("samples", name)
    assert (result.status, result.out) == (2, "")
    assert result.err == f"there is no sample {name}\n  {hint}\n"
