"""Write `glossary.md`, the names of steps and sizes: `python docs/glossary.py`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import attncli
from attncli.core.problem.keys import KEYS, KINDS, OPTIONS
from attncli.core.tape.find_cells import find_steps
from attncli.core.tape.step_words import LETTERS, words_of
from attncli.core.text.languages import LANGUAGES, words_for
from docs.mistakes import DIFFERENTIAL

PAGE = Path(__file__).with_suffix(".md")
SAMPLES = PAGE.parents[1] / "sample_inputs"

START = """# Names of steps, letters and sizes

The names of the steps are arguments of `--only` and `attn explain`, keys of answers, and names in
every format. A step that changes nothing is left out of a calculation. Each step stands here under
the mechanism that has it first, or for another reason, with its formula in a sample, or in a small
problem. The sentence is that of `--why`. This page is written by `docs/glossary.py`, and a test
gives every name on it to the program.

A name may have more around it:

| name | means |
|---|---|
| `scores_2` | the step at time 2, of tile 2, or of the second half of a head |
| `weights_x`, `weights_memory` | the same step for each of two texts |
| `mean_1`, `mean_2` | the same step in the first and in the second half of a layer |
| `layers.2.scores`, `encoder.h_1` | the step of a layer, or of a network |
| `exp_logits` | the same step of what the softmax of the words is taken of |
| `d_scores`, `d_W_q` | the derivative of the loss with regard to a step or an input |
| `new_W_q` | an input after a step of gradient descent |
| `scores[am, I]`, `weights[head 2][am, I]`, `q_am` | a cell, or a row |

Case, blanks and underscores do not matter in the other names. A course that calls the steps
otherwise says so in the key `names`.

Signs in formulas: ᵀ is the transpose, ⊙ the product number by number, [a; b] puts a and b side by
side (states of all times one below the other), ‖x‖ is the length of x, and σ(x) is 1 / (1 + e^−x).
"""

OTHERS: tuple[attncli.ProblemKeys, ...] = (
    DIFFERENTIAL,
    {
        "kind": "transformer",
        "X": "eye(2)",
        "norm": "rms",
        "gate": {"W": "eye(2)"},
        "W_1": "eye(2)",
        "W_2": "eye(2)",
        "W_3": "eye(2)",
        "activation": "swiglu",
    },
)
"""Problems with the steps that no sample has."""


TITLES = list(dict.fromkeys(["self", *(one.name for one in OPTIONS), *KINDS]))
"""The mechanisms in the order of the page."""


def rows() -> dict[str, dict[str, tuple[attncli.Step, attncli.Trace]]]:
    """Return the steps of each mechanism by their stems, each with the calculation that it is of.

    Those of self-attention come first, then those of its options, then those of the other kinds.
    What is there for the same reason as in a mechanism before is left out.
    """
    traces = [attncli.compute(attncli.load(path)) for path in sorted(SAMPLES.glob("*.yaml"))]
    traces += [attncli.compute(attncli.Problem(**keys)) for keys in OTHERS]
    found = {title: dict[str, tuple[attncli.Step, attncli.Trace]]() for title in TITLES}

    def order(trace: attncli.Trace) -> tuple[int, bool, int]:
        return TITLES.index(trace.problem.kind), "W_q" not in trace.inputs, len(trace)

    for trace in sorted(traces, key=order):
        for step in trace:
            title = mechanism(step, trace)
            seen = [steps[step.stem][0].why for steps in found.values() if step.stem in steps]
            is_new = step.why not in seen and (step.why != "" or not seen)
            is_new = is_new and step.stem not in found[title]
            if is_new and not re.match("d_|new_", step.plain):
                found[title][step.stem] = step, trace
    return {title: steps for title, steps in found.items() if steps}


def mechanism(step: attncli.Step, trace: attncli.Trace) -> str:
    """Return the option of attention to which a step belongs, or else the kind of its problem."""
    if step.backward:
        return "gradient"
    given = trace.problem.options()
    for one in OPTIONS:
        if step.stem in one.step_names.split() or (one.name == "online" and one.name in given):
            return one.name
    return trace.problem.kind


def words(step: attncli.Step, trace: attncli.Trace) -> list[str]:
    """Return the other names of a step: its letter in papers, then what people call it.

    A letter that means another step of the calculation is left out.
    """
    is_its_own = step.symbol not in (step.name, step.plain)
    is_its_own = is_its_own and find_steps(step.symbol, trace.steps, {}, ()) == [step]
    foreign = tuple(words_for(step.stem))
    english = [word for word in words_of(step.name) if not word.startswith(foreign)]
    return [*([step.symbol] if is_its_own else []), *english]


def steps() -> Iterator[str]:
    """Yield a table of the steps of each mechanism."""
    for title, found in rows().items():
        meaning = (KINDS[title] if title in KINDS else KEYS[title]).meaning
        yield f"## {title}\n\n{meaning[0].upper()}{meaning[1:]}."
        yield table(
            ("step", "formula", "axes", "what it is for", "other names"),
            [
                (
                    f"`{step.name}`",
                    step.formula,
                    ", ".join(step.axes),
                    step.why,
                    quoted(words(step, trace)),
                )
                for step, trace in found.values()
            ],
        )


def languages() -> Iterator[str]:
    """Yield the words of each language for steps, and for keys of problems."""
    yield "## Other languages"
    yield (
        "Steps and keys are also called by these words, which may have capital letters, and\n"
        "blanks between their parts. Numbered headings and words around a name are read as well;\n"
        "nothing is printed in these languages, and `attn schema` has the English names alone."
    )
    names = dict.fromkeys(
        name for rows in LANGUAGES.values() for name in rows if not name.isupper() or len(name) == 1
    )
    lines = [
        (f"`{name}`", *(quoted(one.get(name, "").split()) for one in LANGUAGES.values()))
        for name in names
    ]
    yield table(("step or key", *LANGUAGES), lines)


def letters() -> Iterator[str]:
    """Yield what letters may mean in answers."""
    yield "## Letters in answers"
    yield (
        "Courses differ in what a letter means. `attn check` decides over the whole submission,\n"
        "and tries these steps in their order; `names: {a: scores}` decides it in the problem."
    )
    alike = dict[tuple[str, ...], list[str]]()
    for letter, meant in LETTERS.items():
        alike.setdefault(tuple(meant), []).append(letter)
    lines = [(quoted(same), quoted(meant)) for meant, same in alike.items()]
    yield table(("letters", "steps they may mean"), lines)


def sizes() -> Iterator[str]:
    """Yield where each size of a problem is found."""
    places = dict[str, dict[str, None]]()
    for kind in KINDS.values():
        for key, shape in kind.shapes.items():
            written = ", ".join(shape).replace("halves*", "").replace("*", "·")
            for size in re.findall(r"[a-z]+(?:_\w+)?", written):
                places.setdefault(size, {})[f"`{key}` ({written})"] = None
    yield "## Sizes"
    yield (
        "Sizes follow from the matrices, and are never written. Expressions such as\n"
        "`scale: 1/sqrt(d_k)` know them, and `attn explain hw.yaml d_k` says what one is."
    )
    found = [(f"`{size}`", ", ".join([*where][:3])) for size, where in sorted(places.items())]
    yield table(("size", "shapes with it"), found)


def quoted(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def table(heading: tuple[str, ...], lines: Sequence[tuple[str, ...]]) -> str:
    """Return a table of Markdown."""
    every = [heading, ("---",) * len(heading), *lines]
    return "\n".join(f"| {' | '.join(c.replace('|', chr(92) + '|') for c in x)} |" for x in every)


def text() -> str:
    """Return the whole page."""
    return START + "".join(f"\n{part}\n" for part in (*steps(), *languages(), *letters(), *sizes()))


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
