"""Write `mistakes.md`, the list of all that `attn check` names: `python docs/mistakes.py`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import attncli
from attncli.checking.mistakes.catalogue import MISTAKES
from attncli.checking.mistakes.conventions import CONVENTIONS
from attncli.checking.naming.catalogued import MistakeInStep, mistakes_in
from attncli.core.calculation.mistake import Mistake
from attncli.core.calculation.mutations import MUTATIONS

PAGE = Path(__file__).with_suffix(".md")
SAMPLES = PAGE.parents[1] / "sample_inputs"

START = """# The mistakes that `attn check` names

In the order in which they are preferred: the simpler first. Where a sentence names steps or numbers
of the problem, it stands here as an example, as it is said of a sample. No
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
Where the cause is how arrays are laid out, the advice ends with a line of NumPy, such as
`W_q, W_k, W_v = (w.T for w in (W_q, W_k, W_v))`: with the arrays that it makes both agree.

| id | what was done | what to do |
|---|---|---|
"""

BLANKS = {
    "heads": 2,
    "d_k": 4,
    "d_v": 3,
    "d_model": 8,
    "p": 0.1,
    "done": "Blocked scores were set to −10",
    "pairs": "halves",
    "right_pairs": "neighbours",
    "base": 500000,
    "right_base": 10000,
}
"""What stands in the blanks of conventions."""

DIFFERENTIAL: attncli.ProblemKeys = {
    "X": "eye(4)",
    "heads": 2,
    "differential": {
        "lambda_q1": [1],
        "lambda_k1": [1],
        "lambda_q2": [0],
        "lambda_k2": [1],
        "lambda_init": 0.5,
        "norm": "rms",
    },
}

OTHERS: tuple[attncli.ProblemKeys, ...] = (
    {
        "X": "eye(2)",
        "W_q": "eye(2)",
        "positions": "sinusoidal",
        "gate": {"W": "eye(2)"},
        "gradient": "sum",
    },
    {"X": "eye(2)", "online": {"tile": 1}, "gradient": "sum"},
    {**DIFFERENTIAL, "gradient": "sum"},
)
"""Problems with the mistakes that no sample has."""


def examples(table: Mapping[str, Mistake]) -> dict[str, MistakeInStep]:
    """Return for each mistake whose words depend on the problem the first that may be made."""
    found = dict[str, MistakeInStep]()
    open_ = {id_: one for id_, one in table.items() if "{" in one.sentence + one.advice}
    for trace in traces():
        for step in trace:
            missing = {id_: one for id_, one in open_.items() if id_ not in found}
            made = mistakes_in(trace, step, missing)
            found |= {one.mistake.id: one for one in made[::-1]}
    return found


def traces() -> Iterator[attncli.Trace]:
    """Yield the calculations of the samples, self-attention and short ones first, and of others."""
    samples = [attncli.compute(attncli.load(path)) for path in sorted(SAMPLES.glob("*.yaml"))]

    def order(trace: attncli.Trace) -> tuple[bool, bool, int]:
        return trace.problem.kind != "self", "W_q" not in trace.inputs, len(trace)

    yield from sorted(samples, key=order)
    for keys in OTHERS:
        yield attncli.compute(attncli.Problem(**keys))


def rows(table: Mapping[str, Mistake]) -> Iterator[str]:
    """Yield the line of each mistake."""
    shown = examples(table)
    for id_, one in table.items():
        sentence, advice = one.sentence, one.advice
        if id_ in shown:
            finding = shown[id_].finding(shown[id_].place)
            sentence, advice = finding.message, finding.advice
        cells = (cell.replace("|", "\\|") for cell in (f"`{id_}`", sentence, advice))
        yield f"| {' | '.join(cells)} |\n"


def text() -> str:
    """Return the page: a row for each mistake, mutation and convention."""
    others = (
        f"| `{id_}` | {c.message.format(**BLANKS)} | {c.advice.format(**BLANKS)} |\n"
        for id_, c in CONVENTIONS.items()
    )
    parts = (START, *rows(MISTAKES), OF_FORMULAS, *rows(MUTATIONS), OF_ARRAYS, *others)
    return "".join(parts)


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
