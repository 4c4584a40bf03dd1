"""Write `mistakes.md`, the list of all that `attn check` names: `python docs/mistakes.py`."""

from __future__ import annotations

from pathlib import Path

from attncli.checking.mistakes.catalogue import CONVENTIONS, MISTAKES
from attncli.core.calculation.mutations import MUTATIONS

PAGE = Path(__file__).with_suffix(".md")

START = """# The mistakes that `attn check` names

In the order in which they are preferred: the simpler first. Words in braces are filled in. No
mistake is named whose calculation does not give the student's numbers, and two at most. Where none
fits, slips are looked for: one number, one row or column, a blocked cell, a sign, swapped digits,
lines that have changed places, a common factor. Where different rows show different mistakes, each
row has its own. What may be a coincidence is said with "perhaps".
Of a step that holds one number everywhere nothing but that is said (`all_the_same`).
This page is written by `docs/mistakes.py`.

| id | what was done | what to do |
|---|---|---|
"""


OF_FORMULAS = """
## One thing wrong in a formula

Where none of these explains a step, and no slip does, the step is calculated with one thing in its
formula wrong, at one time or at all. What gives all its numbers is named, if chance hardly would;
of two, both are named, and of more, none.

| id | what was done | what to do |
|---|---|---|
"""


OF_ARRAYS = """
## Conventions

In arrays that a program calculated, a way of calculating the whole problem is looked for first: it
is named if it gives every array, and of several the nearest. No slip of a hand is named there.

| id | what was done | what to do |
|---|---|---|
"""


def text() -> str:
    """Return the page: a row for each mistake, mutation and convention."""
    rows, mutations = (
        "".join(f"| `{m.id}` | {m.sentence} | {m.advice} |\n" for m in table.values())
        for table in (MISTAKES, MUTATIONS)
    )
    others = (f"| `{id_}` | {c.message} | {c.advice} |\n" for id_, c in CONVENTIONS.items())
    return START + rows + OF_FORMULAS + mutations + OF_ARRAYS + "".join(others)


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
