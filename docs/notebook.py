"""Write docs/notebook.ipynb, with what its cells show: `python docs/notebook.py`."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent / "notebook.ipynb"

CELLS = """
# %% [markdown]
# Attention in a notebook

A trace or a report in the last line of a cell shows itself as a page. Touch a number there, and the
page says how it comes about.
# %%
import attncli

problem = attncli.Problem(
    title="I am good", tokens=["I", "am", "good"], X=[[1, 3, 2], [1, 1, 3], [1, 2, 1]], score="dot"
)
trace = attncli.compute(problem)
trace
# %% [markdown]
Each step is an array with a name, and has all digits.
# %%
trace["weights"].value.round(4)
# %%
attncli.explain(trace, "scores[am, I]").line
# %% [markdown]
Numbers that were worked by hand are checked, and what went wrong is named.
# %%
report = attncli.check(problem, {"scores": [[14, 10, 9], [10, 11, 6], [9, 6, 7]]})
report
# %% [markdown]
Other keys give another problem, such as one with a mask.
# %%
masked = attncli.compute(problem.with_keys({"mask": "causal"}))
masked["weights"].value.round(2)
# %% [markdown]
Work is counted without numbers, so that matrices may be shapes.
# %%
work = attncli.count(attncli.Problem(X="shape(8192, 4096)", heads=32, mask="causal"))
work.total()["multiply_adds"], work.bytes_per_token
"""
"""The cells, parted as Jupytext and editors do."""


def cells() -> Iterator[tuple[str, str]]:
    """Yield the kind of each cell, and what is written in it."""
    for text in re.split(r"^# %%", CELLS, flags=re.MULTILINE)[1:]:
        mark, _, source = text.partition("\n")
        yield "markdown" if mark else "code", source.strip()


def outputs(sources: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield what the last line of each cell gives; they run one by one in one namespace."""
    names: dict[str, Any] = {}
    for source in sources:
        *first, last = ast.parse(source).body
        assert isinstance(last, ast.Expr)
        exec(compile(ast.Module(first, []), PAGE.name, "exec"), names)
        value = eval(compile(ast.Expression(last.value), PAGE.name, "eval"), names)
        data = {"text/plain": lines(repr(value))}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = lines(value._repr_html_())
        yield {"output_type": "display_data", "metadata": {}, "data": data}


def lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def text() -> str:
    """Return the notebook, in version 4.5 of its format."""
    every = [*cells()]
    shown = outputs([source for kind, source in every if kind == "code"])
    written: list[dict[str, Any]] = []
    for at, (kind, source) in enumerate(every):
        cell = {"cell_type": kind, "id": f"cell-{at}", "metadata": {}, "source": lines(source)}
        if kind == "code":
            cell |= {"execution_count": None, "outputs": [next(shown)]}
        written.append(cell)
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    whole = {"cells": written, "metadata": {"kernelspec": kernel}, "nbformat": 4}
    return json.dumps(whole | {"nbformat_minor": 5}, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
