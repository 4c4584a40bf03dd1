"""Five sorts of problems with one student each, who says with which numbers she goes on.

A `Working` is a problem that somebody works step by step: attention of any kind, a transformer
block, attention with positions, with a cache, or backward through a loss. Nothing here comes from
the program; the students are those of the modules beside this one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from benchmarks.oracles import (
    block_student,
    cache_student,
    gradient_student,
    honest,
    position_student,
    students,
)
from benchmarks.oracles.handwriting import Habit, Numbers
from benchmarks.oracles.right_work import (
    GoesOn,
    Hand,
    Pen,
    UnworkableError,
    a_choice_flipped,
    with_all_digits,
)

Random: TypeAlias = np.random.Generator
Known: TypeAlias = dict[str, Numbers]
Work: TypeAlias = Callable[[GoesOn], Known]
"""Takes with which numbers the student goes on, and returns those of every step, unrounded."""

LARGEST = 1e6
"""Nobody goes on with larger numbers."""

SORTS = ("plain", "block", "position", "cache", "gradient")


def as_it_is(_: str, numbers: Numbers) -> Numbers:
    """Return a step as it stands on paper: as the student has it."""
    return numbers


@dataclass(frozen=True)
class Working:
    """A problem and its student.

    Attributes:
        sort: one of `SORTS`.
        problem: what the program takes.
        right: works it right.
        paper: takes a step's name and its numbers, and returns them as they are handed in.
        along: along which axis of the student's arrays weights sum to 1; 0 where they do not.
        is_possible: whether somebody goes on with such numbers.
        mistaken: works it with a mistake; the same as `right` where none is made.
        mistake: which.
        exact: the right numbers of every step, with all digits.
    """

    sort: str
    problem: Mapping[str, Any]
    right: Work
    paper: Callable[[str, Numbers], Numbers] = as_it_is
    along: int = -1
    is_possible: Callable[[Mapping[str, Numbers]], bool] = lambda _: True
    mistaken: Work | None = None
    mistake: str = ""
    exact: Mapping[str, Numbers] = field(default_factory=dict)

    def work(self, goes_on: GoesOn, wrong: bool = False) -> Known:
        """Work every step, and return its numbers before they are written.

        Raises:
            UnworkableError: for numbers that nobody writes.
        """
        work = self.mistaken if wrong and self.mistaken else self.right
        try:
            with np.errstate(all="ignore"):
                known = work(goes_on)
        except (ArithmeticError, ValueError, students.ImpossibleError) as error:
            raise UnworkableError(repr(error)) from error
        for numbers in known.values():
            finite = numbers[np.isfinite(numbers)]
            if np.isnan(numbers).any() or (numbers == np.inf).any():
                raise UnworkableError("no number")
            if np.abs(finite).max(initial=0) > LARGEST:
                raise UnworkableError("large numbers")
        if not self.is_possible(known):
            raise UnworkableError("a choice flipped")
        return known

    @property
    def names(self) -> list[str]:
        """The steps that may be handed in; the rows of a table of embeddings are no work."""
        return [name for name in self.exact if self.sort != "block" or name != "X"]

    def after(self, carried: Mapping[str, Numbers]) -> Known:
        """Return what is right for every step after the numbers that somebody went on with."""
        return self.work(carried.get)

    def cells(self, name: str, numbers: Numbers, pen: Pen) -> Numbers:
        """Return a step as an array of written numbers."""
        made = self.paper(name, numbers)
        return np.array(pen.texts(made), object).reshape(made.shape)


def made(working: Working) -> Working:
    """Return a working with its right numbers."""
    return Working(**{**vars(working), "exact": working.work(with_all_digits)})


def base(step: str) -> str:
    """Return what a step is called without its layer, its time, its side or its number."""
    name = step.rpartition(".")[2]
    while name.rpartition("_")[2].isdigit() or name.endswith(("_x", "_memory")):
        name = name.rpartition("_")[0]
    return name


# ---- each sort


def a_plain_one(rng: Random) -> Working:
    """Draw attention of any kind."""
    task = honest.draw_task(rng)

    def work(goes_on: GoesOn) -> Known:
        return dict(task.work(Hand(goes_on)))

    exact = work(with_all_digits)
    settings = task.normalize
    has_shares = settings["name"] in ("softmax", "sparsemax")
    along = 0 if not has_shares else -1 if settings["axis"] == "keys" else -2

    def is_possible(known: Mapping[str, Numbers]) -> bool:
        return list(known) == list(exact) and not a_choice_flipped(exact, known, task)

    return made(Working("plain", task.problem(), work, task.paper, along, is_possible))


def of_paper(paper: students.Paper, wrong: students.Wrong = students.RIGHT) -> Working:
    """Return attention as a student of the catalogue works it."""

    def worker(wrong: students.Wrong) -> Work:
        def work(goes_on: GoesOn) -> Known:
            found: Known = {}
            carried: Known = {}
            for name in paper.steps:
                found[name] = paper.step(name, carried, wrong)
                carried[name] = goes_on(name, found[name])
            return found

        return work

    def on_paper(_: str, numbers: Numbers) -> Numbers:
        turned = np.swapaxes(numbers, 1, 2) if paper.columns and numbers.ndim > 2 else numbers
        return turned[0] if len(turned) == 1 else turned

    along = -1 if paper.normalizer in ("softmax", "sparsemax") else 0
    plain = Working("plain", paper.problem(), worker(students.RIGHT), on_paper, along)
    return made(
        Working(**{**vars(plain), "mistaken": worker(wrong), "mistake": f"{wrong.id} {wrong.at}"})
    )


class Blocks(block_student.Student):
    """The student of blocks, who says with which numbers she goes on."""

    goes_on: GoesOn = staticmethod(with_all_digits)

    def write(self, name: str, value: Numbers) -> Numbers:
        """Write a step, and return what is used of it; the rows of a table are exact."""
        value = np.asarray(value, float)
        self.steps[self.prefix + name] = value
        return value if name == "X" else self.goes_on(self.prefix + name, value)


BLOCKS: tuple[dict[str, Any], ...] = (
    {},
    {"norm": "rms"},
    {"place": "post"},
    {"activation": "gelu"},
    {"activation": "silu", "norm": "rms"},
    {"activation": "swiglu", "is_gated": True},
)

OF_BLOCKS = (
    *("variance_of_a_sample", "squares_not_centred", "root_of_variance_forgotten"),
    *("eps_outside_the_root", "mean_not_subtracted", "norm_skipped", "gain_forgotten"),
    *("gain_and_shift_forgotten", "residual_forgotten", "residual_of_normed"),
    *("activation_forgotten", "other_activation", "activation_after_the_product"),
    *("logarithm_to_base_10", "loss_not_averaged", "target_not_shifted", "bias_missing"),
    *("wrong_weight_matrix", "input_instead_of_values"),
)
"""Mistakes of blocks that leave every step its shape."""


def a_block(rng: Random, wrong: str = "") -> Working:
    """Draw a transformer block."""
    keys = block_student.draw(rng, **BLOCKS[int(rng.integers(len(BLOCKS)))])
    half = int(rng.integers(1, 3))

    def worker(wrong: str, at: tuple[int, int] | None) -> Work:
        def work(goes_on: GoesOn) -> Known:
            student = Blocks(keys, wrong, at)
            student.goes_on = goes_on
            return student.work()

        return work

    of_loss = wrong in ("logarithm_to_base_10", "loss_not_averaged", "target_not_shifted")
    mistaken = worker(wrong, None if of_loss else (1, half))
    plain = Working("block", keys, worker("", None), mistaken=mistaken, mistake=wrong)
    return made(plain)


PLACES: tuple[Any, ...] = (
    "rope",
    {"name": "rope", "pairs": "halves"},
    {"name": "rope", "features": 2, "base": 100},
    "sinusoidal",
    {"name": "sinusoidal", "start": 1},
    "alibi",
    {"name": "relative", "table": [1, 0.5, 0.25, -1, -2]},
)


def one_with_positions(
    rng: Random, wrong: str = "", positions: Any = None, way: int = 0
) -> Working:
    """Draw attention with positions."""
    positions = positions or PLACES[int(rng.integers(len(PLACES)))]
    heads = int(rng.integers(1, 3))
    keys = position_student.draw(rng, positions, heads)

    def worker(wrong: str) -> Work:
        def work(goes_on: GoesOn) -> Known:
            seen: Known = {}

            def goes(name: str, numbers: Any) -> Any:
                seen[name] = np.array(numbers, float)
                return goes_on(name, seen[name]).tolist()

            position_student.Student(keys, wrong, way, goes).work()
            return seen

        return work

    def on_paper(_: str, numbers: Numbers) -> Numbers:
        return numbers[0] if numbers.ndim == 3 and len(numbers) == 1 else numbers

    mistake = f"{wrong} {way}"
    return made(
        Working("position", keys, worker(""), on_paper, mistaken=worker(wrong), mistake=mistake)
    )


CACHES: tuple[dict[str, Any], ...] = (
    {"past": True},
    {"kind": "decode"},
    {"qk_norm": {"name": "rms", "g_q": [1, 2], "g_k": [3, 1]}},
    {"qk_norm": "l2"},
    {"score": "linear"},
    {"past": True, "qk_norm": "l2"},
)

SKEWED: dict[str, Callable[[str, Numbers], Numbers]] = {
    "not_scaled": lambda step, x: x * np.sqrt(2) if base(step) == "scaled" else x,
    "scaled_by_d_k": lambda step, x: x / np.sqrt(2) if base(step) == "scaled" else x,
    "wrong_base": lambda step, x: np.power(2, np.log(x)) if base(step) == "exp" else x,
    "exponent_sign": lambda step, x: 1 / x if base(step) == "exp" else x,
}
"""What becomes of a step with d_k = 2 in which something is done wrong."""


def one_with_a_cache(rng: Random, wrong: str = "") -> Working:
    """Draw attention with a cache, norms or positive features."""
    mores = CACHES if not wrong else tuple(more for more in CACHES if "score" not in more)
    if wrong == "cache_without_new_token":
        mores = CACHES[:2]
    more, heads = mores[int(rng.integers(len(mores)))], int(rng.integers(1, 3))
    keys = cache_student.draw(rng, more, heads)
    problem = plain_values(keys)

    def right(goes_on: GoesOn) -> Known:
        return cache_student.Student(keys, "", goes_on).work()

    def mistaken(goes_on: GoesOn) -> Known:
        if wrong not in SKEWED:
            return cache_student.Student(keys, wrong, goes_on).work()
        skew = SKEWED[wrong]
        known = cache_student.Student(keys, "", lambda s, x: goes_on(s, skew(s, x))).work()
        return {name: skew(name, numbers) for name, numbers in known.items()}

    def on_paper(name: str, numbers: Numbers) -> Numbers:
        rows = numbers if len(numbers) > 1 else numbers[0]
        is_vector = "_" in name and name[-1].isdigit() and name[:2] not in ("K_", "V_")
        return np.asarray(rows[..., 0, :] if is_vector else rows)

    return made(Working("cache", problem, right, on_paper, mistaken=mistaken, mistake=wrong))


def plain_values(keys: Any) -> Any:
    """Return keys whose arrays are lists."""
    if isinstance(keys, dict):
        return {key: plain_values(value) for key, value in keys.items()}
    return keys.tolist() if isinstance(keys, np.ndarray) else keys


class Backward(gradient_student.Student):
    """The student of gradients, who says with which numbers she goes on."""

    goes_on: GoesOn = staticmethod(with_all_digits)

    def write(self, name: str, numbers: Numbers) -> Numbers:
        """Write a step, and return what is used of it."""
        self.steps[name] = np.asarray(numbers, float)
        return self.goes_on(name, self.steps[name])

    def aside(self, name: str, numbers: Numbers) -> Numbers:
        """Write a step that others do not write, too."""
        return self.write(name, numbers)


def a_gradient(rng: Random, kind: str = "", wrong: str = "", at: str = "", way: int = 0) -> Working:
    """Draw attention or pooling with a loss and its derivatives."""
    kind = kind or str(rng.choice(["plain", "masked", "pooling", "half", "mean"]))
    problem = gradient_student.draw_gradient(rng, kind)

    def worker(wrong: str) -> Work:
        def work(goes_on: GoesOn) -> Known:
            student = Backward(problem, Habit(12), wrong, at, way)
            student.goes_on = goes_on
            return student.work()

        return work

    mistake = f"{wrong} {at}"
    return made(Working("gradient", problem, worker(""), mistaken=worker(wrong), mistake=mistake))


DRAWS: dict[str, Callable[[Random], Working]] = {
    "plain": a_plain_one,
    "block": a_block,
    "position": one_with_positions,
    "cache": one_with_a_cache,
    "gradient": a_gradient,
}


def draw(rng: Random, sort: str) -> Working:
    """Draw a problem of a sort that can be worked by hand."""
    while True:
        try:
            working = DRAWS[sort](rng)
        except UnworkableError:
            continue
        return working
