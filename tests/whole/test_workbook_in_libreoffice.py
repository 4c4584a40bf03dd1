"""LibreOffice calculates from the formulas of a workbook the numbers that the program wrote."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import openpyxl
import pytest

import attncli
from tests.conftest import DATA, SAMPLE_FILES
from tests.support.workbooks import changed, differences, opened, with_inputs_of, workbook

RANDOM = ("differential_problems", "position_problems", "gradient_problems", "typed_on_the_page")
"""Recorded problems that were drawn at random, but for those of extreme size."""


def random_problems() -> Iterator[attncli.Problem]:
    for name in RANDOM:
        for line in (DATA / "recorded" / f"{name}.jsonl").read_text().splitlines():
            about = json.loads(line)
            yield attncli.Problem(**about.get("keys", about.get("problem", about)))


@pytest.mark.needs("soffice")
def test_libreoffice_calculates_the_same_before_and_after_a_change(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    problems = [*random_problems(), *map(attncli.load, SAMPLE_FILES)]
    others = [changed(problem) for problem in problems]
    before = workbook(map(attncli.compute, problems))
    after = workbook(attncli.compute(q or p) for p, q in zip(problems, others, strict=True))
    wanted = {"before.xlsx": before, "after.xlsx": after}
    for name, data in wanted.items():
        (tmp_path / name).write_bytes(with_inputs_of(before, data))
    out = tmp_path / "out"
    profile = f"-env:UserInstallation={(tmp_path / 'profile').as_uri()}"
    files = [str(tmp_path / name) for name in wanted]
    convert = ["--convert-to", "xlsx", "--outdir", str(out), *files]
    subprocess.run(["soffice", profile, "--headless", *convert], check=True, capture_output=True)
    for name, data in wanted.items():
        got = openpyxl.load_workbook(out / name, data_only=True)

        def value_of(sheet: Any, cell: Any, got: Any = got) -> Any:
            return got[sheet.title][cell.coordinate].value

        own = opened((tmp_path / name).read_bytes())
        assert not differences(own, opened(data, values=True), value_of)
    assert len(problems) >= 100 + len(SAMPLE_FILES)
    record_property("problems recalculated by LibreOffice", len(problems))
    record_property("of these also after a change", sum(other is not None for other in others))
