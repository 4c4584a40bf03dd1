"""Problems of five sorts, and a student who says with which numbers they go on after each step.

The student is the oracle of `tests.oracles`, which shares no line with the program. A step is an
array of the axes (head, row, column[, hidden]); `Working.paper` gives it as it is handed in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any, TypeAlias

import numpy as np

from benchmarks.oracles import mechanisms
from benchmarks.oracles.drawn import DATA, Drawing, Keys, Random, one_of
from tests.oracles import backward
from tests.oracles.arithmetic import FLOATS, Arithmetic, Hand, Heads, T
from tests.oracles.lists import each
from tests.oracles.pens import UNWRITABLE, GoesOn, Numbers, Pen, with_all_digits
from tests.oracles.reference import worked_by

LARGEST_WEIGHT = 50
"""Larger weights come from a sum near 0, which nobody divides by."""

TURNED = ("X", "memory", "Q", "K", "V", "scores", "bias", "W_q", "W_k", "W_v", "W_o")
"""The matrices that are transposed where a token is a column."""

Known: TypeAlias = dict[str, Numbers]

Finds: TypeAlias = Callable[[str, Numbers, Mapping[str, Numbers]], Numbers]
"""Takes a step, its right numbers and the numbers used before it, and returns those that a student
finds who makes a mistake."""


def finds_right(_step: str, numbers: Numbers, _used: Mapping[str, Numbers]) -> Numbers:
    """Make no mistake."""
    return numbers


class UnworkableError(Exception):
    """No student can work this, or can make this mistake here."""


def need(is_possible: bool) -> None:
    """Raise UnworkableError where a mistake cannot be made."""
    if not is_possible:
        raise UnworkableError


class FinishedError(Exception):
    """The last step that is asked for is written."""


class Student(Hand):
    """A hand that makes one mistake of a mechanism, and goes on from what it notes of each step.

    Attributes:
        noted: takes a step and its numbers, and returns those that are used of it.
        wrong: what is done wrong.
        way: which of several ways, None for all of them at once.
        at: the times, halves of layers or steps where it is done; None for everywhere.
    """

    def __init__(
        self,
        noted: GoesOn = with_all_digits,
        wrong: str = "",
        way: int | None = 0,
        at: Collection[Any] | None = None,
        own: Arithmetic = FLOATS,
    ) -> None:
        super().__init__(own)
        self.noted, self.wrong, self.way, self.at = noted, wrong, way, at

    def does(self, wrong: str, way: int | None = None) -> bool:
        is_here = self.at is None or self.here in self.at
        return wrong == self.wrong and is_here and (way is None or self.way in (None, way))

    def write(self, name: str, heads: T) -> T:
        super().write(name, heads)
        last = [*self.steps][-1]
        self.steps[last] = self.numbers(self.noted(last, np.array(each(float, heads))).tolist())
        used: T = self.steps[last]
        return used

    def work(self, problem: Keys) -> dict[str, Heads]:
        """Return the numbers of every step by name; also on the way back, if there is a loss."""
        worked_by(self, problem)
        if isinstance(problem.get("gradient"), dict):
            backward.worked_by(self, problem)
        return self.steps


def functions(
    root: float | None = None, e: float | None = None, dtype: Any = float, tanh: Any = None
) -> Arithmetic:
    """Return the arithmetic of a student who takes rounded constants, or of a computer.

    Args:
        root: what is taken for the root that scores are divided by.
        e: what is taken for e.
        dtype: the floats of the computer.
        tanh: the function that is taken for tanh.
    """
    module = math if dtype is float else np
    names = ("exp", "log", "sqrt", "tanh", "cos", "sin", "pi")
    own = SimpleNamespace(**{name: getattr(module, name) for name in names}, erf=math.erf)
    if root:
        own.sqrt = lambda _: root  # no other root is taken where scores are scaled
    if e:
        own.exp = lambda x: e**x
    own.tanh = tanh or own.tanh
    total = math.fsum if dtype is float else (lambda terms: np.sum(terms, dtype=dtype))
    return Arithmetic(own, dtype, total)


@dataclass(frozen=True)
class Working:
    """A problem that somebody works step by step.

    Attributes:
        sort: one of `SORTS`.
        keys: what the program takes, in row convention.
        columns: True if a token is a column on paper.
    """

    sort: str
    keys: Mapping[str, Any]
    columns: bool = False

    @cached_property
    def problem(self) -> Keys:
        """What the program takes."""
        made = dict(self.keys)
        if not self.columns:
            return made
        made |= {key: turned(made[key]) for key in TURNED if key in made}
        mask = made.get("mask")
        if isinstance(mask, list):
            made["mask"] = turned(mask)
        if isinstance(mask, dict):
            made["mask"] = mask | {k: turned(mask[k]) for k in ("keep", "block") if k in mask}
        return made | {"tokens_as": "columns"}

    @property
    def kind(self) -> str:
        return str(self.keys.get("kind", "self"))

    @property
    def normalizer(self) -> str:
        usual = "sum" if self.keys.get("score") == "linear" else "softmax"
        return str(self.keys.get("normalize", {}).get("name", usual))

    @property
    def along(self) -> int:
        """The axis along which weights sum to 1; 0 where they do not."""
        is_turned = self.keys.get("normalize", {}).get("axis") == "queries"
        return 0 if self.normalizer in ("sum", "none") else -2 if is_turned else -1

    @cached_property
    def exact(self) -> Known:
        """The right numbers of every step, with all digits."""
        return self._work(with_all_digits, finds_right, UNWRITABLE)

    @property
    def names(self) -> list[str]:
        """The steps that may be handed in; the rows of a table of embeddings are no work."""
        return [name for name in self.exact if self.sort != "block" or name != "X"]

    def before(self, step: str) -> list[str]:
        """Return the steps before one.

        Raises:
            UnworkableError: where there is no such step.
        """
        names = self.names
        need(step in names)
        return names[: names.index(step)]

    def work(
        self,
        goes_on: GoesOn = with_all_digits,
        finds: Finds = finds_right,
        most: float = UNWRITABLE,
        until: str = "",
        **constants: Any,
    ) -> Known:
        """Work every step, or all until one, and return its numbers before they are written.

        Raises:
            UnworkableError: for numbers larger than `most`, and where rounding changes which steps
                there are, which number a hardmax chooses, or whether a sum is 0.
        """
        known, exact = self._work(goes_on, finds, most, until, **constants), self.exact
        if until:
            return known
        if {n: x.shape for n, x in known.items()} != {n: x.shape for n, x in exact.items()}:
            raise UnworkableError("other steps")
        for name, right in exact.items():
            is_choice = base(name) == "weights" and self.normalizer == "hardmax"
            if is_choice and finds is finds_right and not np.array_equal(known[name], right):
                raise UnworkableError("another choice")
            is_sum = base(name) in ("sum", "sum_logits")
            if is_sum and ((goes_on(name, known[name]) == 0) & (right != 0)).any():
                raise UnworkableError("exponentials that round to 0")
        return known

    def step(
        self, name: str, given: Mapping[str, Numbers], finds: Finds = finds_right, **constants: Any
    ) -> Numbers:
        """Return the numbers of one step, worked from those given of the steps before it.

        Raises:
            UnworkableError: where there is no such step, or shapes do not go together.
        """
        known = self._work(given.get, finds, np.inf, until=name, **constants)
        need(name in known)
        return known[name]

    def _work(
        self, goes_on: GoesOn, finds: Finds, most: float, until: str = "", **constants: Any
    ) -> Known:
        known: Known = {}
        used: Known = {}

        def noted(name: str, numbers: Numbers) -> Numbers:
            known[name] = np.asarray(finds(name, numbers, used))
            if name == until:
                raise FinishedError
            used[name] = goes_on(name, known[name])
            return used[name]

        with np.errstate(all="ignore"):
            try:
                self._let_work(noted, **constants)
            except FinishedError:
                pass
            except (ArithmeticError, LookupError, ValueError, AssertionError) as error:
                raise UnworkableError(repr(error)) from error
        for numbers in known.values():
            if np.isnan(numbers).any() or (numbers == np.inf).any():
                raise UnworkableError("no number")
            if np.abs(numbers[np.isfinite(numbers)]).max(initial=0) > most:
                raise UnworkableError("large numbers")
        return known

    def _let_work(self, noted: GoesOn, temperature: float | None = None, **constants: Any) -> None:
        keys = dict(self.keys)
        if temperature:
            keys["normalize"] = keys["normalize"] | {"temperature": temperature}
        is_plain = not any(constants.values())
        Student(noted, own=FLOATS if is_plain else functions(**constants)).work(keys)

    def after(self, carried: Mapping[str, Numbers], most: float = UNWRITABLE) -> Known:
        """Return what is right for every step after the numbers that somebody went on with."""
        return self.work(carried.get, most=most)

    def paper(self, name: str, numbers: Numbers, columns: bool | None = None) -> Numbers:
        """Return a step as it stands on paper, with the axes that it has there."""
        if name == "loss":
            return numbers.reshape(1)
        if self.columns if columns is None else columns:
            numbers = numbers.swapaxes(1, 2)
        is_vector = self.kind in ("decode", "recurrent") and name[-1].isdigit()
        is_vector &= numbers.ndim == 3 and name[:2] not in ("K_", "V_")
        is_vector |= name in ("d_b", "new_b")
        numbers = numbers[0] if len(numbers) == 1 and numbers.ndim > 2 else numbers
        return numbers[..., 0, :] if is_vector else numbers

    def sheet(self, known: Known, pen: Pen, steps: Sequence[str]) -> dict[str, Any]:
        """Return some steps as nested lists of written numbers."""
        return {name: self.paper(name, pen.texts(known[name])).tolist() for name in steps}


def turned(matrix: Any) -> Any:
    """Return nested lists with rows and columns exchanged."""
    return np.swapaxes(np.array(matrix), -1, -2).tolist()


def base(step: str) -> str:
    """Return what a step is called without its layer, its time, its side or its number."""
    name = step.rpartition(".")[2]
    while name.rpartition("_")[2].isdigit() or name.endswith(("_x", "_memory")):
        name = name.rpartition("_")[0]
    return name


def of_two_heads(of: Callable[..., Keys], forms: str) -> Callable[[Random], Keys]:
    """Return what draws a problem of a mechanism with one head or two, of one of its forms."""
    return lambda rng: of(rng, int(rng.integers(1, 3)), **one_of(rng, DATA[forms]))


SORTS: dict[str, Callable[..., Keys]] = {
    "plain": lambda rng, **wish: Drawing(rng, **wish).draw(),
    "block": lambda rng: mechanisms.blocks(rng, 1, **one_of(rng, DATA["blocks"])),
    "position": of_two_heads(mechanisms.positions, "positions"),
    "cache": of_two_heads(mechanisms.cache, "caches"),
    "gradient": lambda rng: mechanisms.gradients(rng, one_of(rng, DATA["gradients"])),
}


def draw(rng: Random, sort: str, **wish: Any) -> Working:
    """Draw a problem that can be worked by hand; of plain attention, with all that is wished."""
    while True:
        keys = SORTS[sort](rng, **wish)
        is_of_rows = sort != "plain" or keys.get("kind") == "recurrent"
        columns = not is_of_rows and bool(wish.get("columns", rng.random() < 0.2))
        working = Working(sort, keys, columns)
        try:
            exact = working.exact
        except UnworkableError:
            continue
        weights = [np.abs(x).max() for name, x in exact.items() if base(name) == "weights"]
        divisors: list[Any] = [x for name, x in exact.items() if base(name) == "sum"]
        divisors = divisors if working.normalizer == "sum" else []
        divisors += [x.any(-1) for name, x in exact.items() if name.endswith("_normed")]
        if all(x.all() for x in divisors) and max(weights, default=0) <= LARGEST_WEIGHT:
            return working
