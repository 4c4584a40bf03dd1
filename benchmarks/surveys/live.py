"""Pages that recalculate show after changes what the program does, in all samples and at random.

`python -m benchmarks.surveys.live 300` tries so many random problems of all kinds with five changes
each, after all samples.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import attncli
from attncli.core.errors import InputError
from benchmarks.surveys import blocks
from benchmarks.surveys.random_problems import problem_of as plain_problem
from tests.support.live_page import CHANGES, Tried, sample_cases, survey, tried


def random_problem(seed: int) -> attncli.Problem:
    """Return one of the random problems of the other surveys: forward, backward, a block."""
    from benchmarks.surveys.gradients import Draw

    draw = Draw(seed)
    which = draw.randrange(3)
    if which == 0:
        keys = dict(plain_problem(seed, extreme=False)[0])
        times, over = keys.pop("factor", (1, 1))
        keys["scale"] = f"{times!r}" if over == 1 else f"{times!r}/{over!r}"
        if "scores" in keys:
            del keys["score"]
        plain = {k: x.astype(float) if hasattr(x, "astype") else x for k, x in keys.items()}
        return attncli.Problem(**plain)
    if which == 1:
        kind = draw.choice(["self", "cross", "given", "pooling", "recurrent"])
        keys = getattr(draw, f"of_{kind}")()
        if draw.random() < 0.5:
            del keys["gradient"]
        if draw.random() < 0.3:
            keys["round"] = {"decimals": draw.choice([2, 3])}
        return attncli.Problem(**keys)
    return attncli.Problem(**blocks.problem_of(seed))


def random_cases(count: int, start: int = 0, changes: int = CHANGES) -> Iterator[Tried]:
    """Yield so many problems that can be calculated, from a seed on."""
    seed = start
    while count:
        try:
            case = tried(f"random {seed}", random_problem(seed), random.Random(seed), changes)
        except InputError as error:
            if "a live page cannot" in str(error):
                raise
            case = None
        if case is not None:
            count -= 1
            yield case
        seed += 1


def main(count: int, start: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        cases = [*sample_cases(), *random_cases(count, start)]
        found = survey(cases, Path(name))
    print(f"{len(cases)} pages, {sum(len(case.states) for case in cases)} states")
    for line in found:
        print(line[:600])
    print(f"{len(found)} differences")


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 300, int(sys.argv[2]) if sys.argv[2:] else 0)
