"""The shape rules: every letter of the key table stands for one size.

Each matrix binds the letters of its shape; the second matrix that binds a letter must agree with
the first, and a message can name both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from attncli.errors import Fault
from attncli.problem.keys import BROADCASTS, KEYS, turns
from attncli.records import Record, replace


class Bound(Record):
    """A size, and what fixed it: the key, and in words, such as `X has 4 columns`."""

    size: int
    key: str
    noun: str
    words: str


@dataclass(eq=False, repr=False)
class Sizes:
    """The letters bound so far.

    Args:
        heads: how many query heads.
        kv_heads: how many key/value heads.
        columns: whether a token is a column, so that messages count what the user counts.
    """

    heads: int = 1
    kv_heads: int = 1
    columns: bool = False
    bound: dict[str, Bound] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)

    def __getitem__(self, letter: str) -> int:
        return self.bound[letter].size

    def __contains__(self, letter: str) -> bool:
        return letter in self.bound

    def bind_matrix(self, key: str, shape: tuple[int, ...], letters: tuple[str, ...]) -> None:
        """Bind the letters of a matrix (…, row, column) in row convention, or of a vector.

        A fault's hint is the shape that would fit, as far as other matrices fix it.
        """
        before = len(self.faults)
        stacked = self._bind_stack(key, shape, len(letters))
        own = shape[len(shape) - len(letters) :]
        for place, (letter, size) in enumerate(zip(letters, own, strict=True)):
            if key not in BROADCASTS or size != 1:
                self.bind(letter, size, key, self._noun(key, place, len(letters)), stacked)
        fitting = tuple(
            known if (known := self.size(letter, stacked)) is not None else size
            for letter, size in zip(letters, own, strict=True)
        )
        if fitting != own:
            flips = self.columns and turns(key)
            own, fitting = (own[::-1], fitting[::-1]) if flips else (own, fitting)
            hint = f"{key} is {_times(own)}; {_times(fitting)} would fit"
            wrong = [replace(f, hint=f.hint or hint) for f in self.faults[before:]]
            self.faults[before:] = wrong

    def size(self, letter: str, stacked: bool = False) -> int | None:
        """Return the size of a letter, product or sum; None where it is not known."""
        if "+" in letter:
            parts = [self.size(part) for part in letter.split(" + ")]
            return None if None in parts else sum(part for part in parts if part is not None)
        counter, _, name = letter.rpartition("*")
        if name not in self.bound:
            return None
        count = 1 if stacked or not counter else getattr(self, counter)
        return int(self.bound[name].size * count)

    def imply(self, letter: str, origin: str) -> None:
        """Bind a letter to the size of another, if that is known."""
        size = self.size(origin)
        if size is not None:
            known = self.bound[origin.rpartition("*")[2]]
            self.bind(letter, size, known.key, known.noun, words=known.words)

    def bind(
        self,
        letter: str,
        size: int,
        key: str,
        noun: str = "columns",
        stacked: bool = False,
        words: str = "",
    ) -> None:
        """Bind a letter, a product `heads*d_k` or a sum `d_q + d_k`; note a fault if it differs.

        Args:
            letter: what the size stands for.
            size: the size.
            key: whose size it is.
            noun: what is counted.
            stacked: whether the matrix is of one head already.
            words: the fact in words, where it is another's.
        """
        counted = noun if size != 1 else noun.removesuffix("s")
        words = words or f"{key} has {size} {counted}"
        if "+" in letter:
            needed = self.size(letter)
            if needed not in (None, size):
                parts = letter.split(" + ")
                which = " + ".join(f"{part} = {self[part]}" for part in parts)
                message = f"{words}, but needs {needed} ({which})"
                self._fault(key, message, self.bound[parts[-1]].key)
            return
        if "*" in letter:
            counter, letter = letter.split("*")
            count = 1 if stacked else getattr(self, counter)
            if size % count:
                named = "heads" if count == self.heads else counter
                message = f"{named} = {count} does not divide the {size} {counted} of {key}"
                self._fault(named, message, key)
                return
            size //= count
            if count > 1:
                words += f" ({count} heads of {size})"
        known = self.bound.setdefault(letter, Bound(size, key, noun, words))
        if known.size != size:
            message = f"{words}, but {known.words}{self._why(letter, key, known.key)}"
            self._fault(key, message, known.key)

    def _bind_stack(self, key: str, shape: tuple[int, ...], trailing: int) -> bool:
        """Check the axes before the matrix, and tell whether it is a stack of one a head."""
        extra = shape[: len(shape) - trailing]
        stack = KEYS[key.partition(".")[0]].stack if not key.startswith("mask") else "either"
        limit = {"": 0, "batch": 1, "head": 1, "either": 2}[stack]
        if len(extra) > limit:
            self._fault(key, f"{key} has {len(shape)} axes, but at most {limit + trailing} fit", "")
            return False
        if not extra:
            return False
        several = self.heads > 1
        by_head = stack == "head" or (stack == "either" and (several or len(extra) == 2))
        batch = extra[0] if not by_head or len(extra) == 2 else None
        if batch is not None and not (key in BROADCASTS and batch == 1):
            self.bind("batch", batch, key, "batch elements")
        if by_head:
            of_keys = key in ("K", "V", "W_k", "W_v", "b_k", "b_v")
            name = "kv_heads" if of_keys else "heads"
            count = getattr(self, name)
            if extra[-1] != count and not (key in BROADCASTS and extra[-1] == 1):
                what = f"{key} is a list of {extra[-1]} matrices, one a head, but {name} is {count}"
                self._fault(key, what, "", f"set {name}: {extra[-1]}, or write one matrix")
        return by_head

    def _noun(self, key: str, place: int, axes: int) -> str:
        if axes == 1:
            return "numbers"
        flipped = self.columns and turns(key)
        return "columns" if (place == 1) != flipped else "rows"

    def _why(self, letter: str, key: str, other: str) -> str:
        if letter in ("d_model", "d_memory") and key.startswith("W_") and "_" not in other:
            product = f"{key} {other}" if self.columns else f"{other} {key}"
            return f" ({product} needs them equal)"
        return ""

    def _fault(self, key: str, message: str, other: str, hint: str = "") -> None:
        related = tuple(other.split(".")) if other else ()
        fault = Fault(message, tuple(key.split(".")), hint, related)
        self.faults.append(fault)


def _times(shape: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, shape))})"


def bind_all(
    sizes: Sizes, shapes: Mapping[str, tuple[str, ...]], given: Mapping[str, tuple[int, ...]]
) -> None:
    """Bind the letters of every given matrix, in the order of the table."""
    for key, letters in shapes.items():
        if key in given:
            sizes.bind_matrix(key, given[key], letters)
