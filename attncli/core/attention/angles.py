"""The angles of pairs of features, also scaled for longer texts than those of the training.

To add a scaling: write a function that returns which shares of the frequencies stay, and its row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import ceil, floor, isclose, log, pi
from typing import Any

import numpy as np

from attncli.core.arithmetic.elements import Array, are_elements, filled
from attncli.core.errors import KeyPath, fail
from attncli.core.formulas import tree
from attncli.core.numbers.forms import TRUTH, Form, choice, known_parts, number, read_parts
from attncli.core.numbers.written import NumberAsWritten, dotted
from attncli.core.records import Record
from attncli.core.tape.operations import constant, joined


class Scaling(Record):
    """A frequency f becomes f·(γ + (1 − γ)/factor), where γ is the share of a pair that stays.

    The names are those of `rope_scaling` in a config.json of transformers.
    """

    kind: str
    factor: float
    original_max_position_embeddings: float = 0.0  # number of tokens of the texts of the training
    low_freq_factor: float = 1.0  # turns in so many tokens up to which a frequency is divided
    high_freq_factor: float = 4.0  # turns from which it stays
    beta_slow: float = 1.0  # the same of yarn
    beta_fast: float = 32.0
    truncate: bool = True  # whether the pairs where γ begins and ends are rounded to whole ones
    attention_factor: float | None = None
    mscale: float = 0.0
    mscale_all_dim: float = 0.0

    def shares(self, size: int, base: float) -> Array:
        """Return γ of each pair of `size` features."""
        return SCALINGS[self.kind].shares(self, size, base)

    @property
    def amplitude(self) -> NumberAsWritten:
        """The factor of cosines and sines, 0.1·ln factor + 1 (Peng et al. 2023)."""
        if self.kind != "yarn" or self.attention_factor is not None:
            factor = self.attention_factor or 1.0
            return NumberAsWritten(factor, tree.Number(f"{factor:.17g}"))
        if self.mscale and self.mscale_all_dim:
            over, under = map(self._of_logarithm, (self.mscale, self.mscale_all_dim))
            return NumberAsWritten(over / under, tree.Fraction(over.formula, under.formula))
        return self._of_logarithm(1.0)

    def _of_logarithm(self, mscale: float) -> NumberAsWritten:
        if self.factor <= 1:
            return NumberAsWritten(1.0, tree.Number("1"))
        logarithm = tree.Call("ln", (tree.Number(f"{self.factor:.17g}"),))
        product = tree.Times((tree.Number(f"{0.1 * mscale:.12g}"), logarithm))
        value = 0.1 * mscale * log(self.factor) + 1
        return NumberAsWritten(value, tree.plus(product, tree.Number("1")))


def linear(p: Scaling, size: int, base: float) -> Array:
    """No frequency stays: each is divided by the factor (Chen et al. 2023, eq. 4)."""
    return np.zeros(-(-size // 2))


def llama3(p: Scaling, size: int, base: float) -> Array:
    """The share grows with the number of turns in the texts of the training.

    Grattafiori et al. 2024, section 3.4.2, and its code in transformers.
    """
    turns = p.original_max_position_embeddings / base ** (np.arange(0, size, 2) / size) / (2 * pi)
    ramp = (turns - p.low_freq_factor) / (p.high_freq_factor - p.low_freq_factor)
    return np.clip(ramp, 0, 1)


def yarn(p: Scaling, size: int, base: float) -> Array:
    """The share falls from the pair of beta_fast turns to that of beta_slow (Peng et al. 2023)."""

    def pair_of(turns: float) -> float:
        length = log(p.original_max_position_embeddings) - log(turns) - log(2 * pi)
        return size * length / (2 * log(base))

    first, last = pair_of(p.beta_fast), pair_of(p.beta_slow)
    if p.truncate:
        first, last = floor(first), ceil(last)
    first, last = max(first, 0), min(last, size - 1)
    width = last - first or 0.001  # as transformers avoids a division by 0
    return 1 - np.clip((np.arange(-(-size // 2)) - first) / width, 0, 1)


class Row(Record):
    """One row of the table."""

    shares: Callable[..., Array]  # takes a `Scaling`, the number of features and the base
    required: tuple[str, ...] = ()  # fields of `Scaling`, beside kind and factor
    others: tuple[str, ...] = ()


LENGTH = "original_max_position_embeddings"
OF_YARN = ("beta_fast", "beta_slow", "truncate", "attention_factor", "mscale", "mscale_all_dim")
SCALINGS = {
    "linear": Row(linear),
    "llama3": Row(llama3, (LENGTH,), ("low_freq_factor", "high_freq_factor")),
    "yarn": Row(yarn, (LENGTH,), OF_YARN),
}

BASE = 10000.0
"""The default base of the angles (Vaswani et al. 2017, section 3.5; Su et al. 2021, eq. 15)."""

MAX_SHOWN = 8
"""Maximum number of positions, or of shares, that a note lists."""

MAX_PAIRS = 4
"""Maximum number of pairs of features that a note lists."""

PAIRS = ("neighbours", "halves")
"""Which features are a pair: 1 and 2, 3 and 4, …; or the first ones of both halves, the second …"""


def plain(number: float) -> tree.Formula:
    """Return the formula of a number with all its digits."""
    return tree.Number(f"{number:.17g}")


def _simple(number: float) -> tree.Formula:
    near = Fraction(number).limit_denominator(99)
    if float(near) != number or near.denominator == 1:
        return plain(number)
    over, under = (tree.Number(str(part)) for part in near.as_integer_ratio())
    return tree.Fraction(over, under, tight=True)


def shortened(parts: Sequence[tree.Formula]) -> tuple[tree.Formula, ...]:
    """Return the first and the last of many parts."""
    if len(parts) <= MAX_SHOWN:
        return tuple(parts)
    return (*parts[: MAX_SHOWN - 2], tree.Words("…"), parts[-1])


class Waves(Record):
    """The angles t / base^(2j/size) of the tokens t = start, start + 1, … and the pairs j."""

    size: int  # number of features that are in pairs
    base: float = BASE
    start: int = 0
    pairs: str = PAIRS[0]
    ids: tuple[tuple[float, ...], ...] = ()  # t of each token in place of those from start: a row …
    sections: tuple[int, ...] = ()  # … or several, each for so many pairs
    scaling: Scaling | None = None

    def places(self, tokens: int, like: Any = None) -> Any:
        """Return t, (tokens, 1), or (tokens, pairs) where there are several rows of ids."""
        if not self.ids:
            return np.arange(self.start, self.start + tokens, dtype=float, like=like)[:, None]
        which = np.repeat(np.arange(len(self.ids)), self.sections or 1)
        return np.array(self.ids, dtype=float).T[:, which]

    def angles(self, tokens: int, like: Any = None) -> Any:
        """Return the angles (1, 1, tokens, pairs), in the kind of array of `like`."""
        angles = self.places(tokens, like) / self.powers(like)
        angles = angles if self.scaling is None else angles * self.factors
        return angles.reshape(1, 1, tokens, -1)

    def powers(self, like: Any = None) -> Any:
        """Return base^(2j/size) of each pair."""
        return self.base ** (np.arange(0, self.size, 2, like=like) / self.size)

    @property
    def shares(self) -> Array:
        """γ of each pair: which share of its frequency is not divided by the factor."""
        return self.scaling.shares(self.size, self.base) if self.scaling else np.ones(self.size)

    @property
    def factors(self) -> Array:
        """The factor of the frequency of each pair."""
        return self.shares + (1 - self.shares) / (self.scaling.factor if self.scaling else 1.0)

    @property
    def amplitude(self) -> NumberAsWritten | float:
        """The factor of cosines and sines."""
        return self.scaling.amplitude if self.scaling else 1.0

    def written(self, token: int, pair: int) -> tree.Formula:
        """Return the formula of an angle: `1/100`, or `1/10000^(2/6)` if the power is not whole."""
        t = self.places(token + 1)[token]
        return self.times_frequency(float(t[pair % len(t)]), pair)

    def times_frequency(self, t: float, pair: int) -> tree.Formula:
        """Return the formula of the frequency of a pair, times t."""
        over, under = plain(t), list[tree.Formula]()
        share, power = float(self.shares[pair]), self.base ** (2 * pair / self.size)
        if not t:
            return over
        if self.scaling and not share:
            under.append(plain(self.scaling.factor))
        elif self.scaling and share != 1:
            scaled = self.scaled(_simple(share))
            over = scaled if t == 1 else tree.Times((over, scaled))
        if np.isclose(power, np.rint(power), rtol=1e-12, atol=0):
            under += [tree.Number(f"{np.rint(power):.0f}")] * (power != 1)
        else:
            size = tree.Number(str(self.size))
            root = tree.Fraction(tree.Number(f"{2 * pair}"), size, tight=True)
            under.append(tree.Power(plain(self.base), root))
        product = tree.Times(tuple(under)) if len(under) > 1 else [*under, over][0]
        return tree.Fraction(over, product, tight=True) if under else over

    def scaled(self, share: tree.Formula) -> tree.Formula:
        """Return the formula of what the frequency of a pair is multiplied by."""
        assert self.scaling is not None  # who scales nothing multiplies by nothing
        factor, one = plain(self.scaling.factor), tree.Number("1")
        if self.scaling.kind == "linear":
            return tree.Fraction(one, factor, tight=True)
        return tree.plus(share, tree.Fraction(tree.minus(one, share), factor, tight=True))

    def columns(self) -> tuple[slice, slice]:
        """Return the columns of the first and of the second feature of each pair."""
        if self.pairs == "neighbours":
            return slice(0, self.size, 2), slice(1, self.size, 2)
        half = -(-self.size // 2)
        return slice(0, half), slice(half, self.size)

    def of(self, function: str, angles: Array) -> Array:
        """Return the sines or cosines of angles; among terms each is a constant such as cos 1."""
        if not are_elements(angles):
            numbers: Array = getattr(np, function)(angles)
            return numbers if self.amplitude == 1 else numbers * float(self.amplitude)
        known = self.angles(angles.shape[-2])[0, 0]

        def element(at: tuple[int, ...]) -> NumberAsWritten:
            angle = float(getattr(angles[at], "value", angles[at]))
            is_known = isclose(angle, known[at[-2:]], rel_tol=1e-12)
            formula = self.written(*at[-2:]) if is_known else plain(angle)
            number = getattr(np, function)(angle)
            written = self.times_amplitude(tree.Call(function, (formula,)))
            return NumberAsWritten(number * self.amplitude, written)

        return filled(angles.shape, element)

    def paired(self, first: Any, second: Any) -> Any:
        """Return the features, from the first and the second one of each pair."""
        if self.pairs == "halves":
            features = joined([first, second], -1)
        else:
            features = np.stack([first, second], axis=-1).reshape(*first.shape[:-1], -1)
        return features[..., : self.size]  # an odd size has no last second feature

    def times_amplitude(self, formula: tree.Formula) -> tree.Formula:
        if self.amplitude == 1:
            return formula
        return tree.Times((constant(self.amplitude), formula))

    @property
    def notation(self) -> tree.Formula:
        """`t / 10000^(2j/4)`."""
        return self.over_power(tree.Name("t"))

    def over_power(self, formula: tree.Formula) -> tree.Formula:
        part = tree.Fraction(tree.Name("2j"), tree.Number(str(self.size)), tight=True)
        return tree.Fraction(formula, tree.Power(plain(self.base), part))


NAMES_OF_KIND = ("kind", "rope_type", "type")
PARTS: dict[str, Form] = {
    **dict.fromkeys(NAMES_OF_KIND, choice(SCALINGS)),
    **{name: number(or_equal="mscale" in name) for name in Scaling.fields[1:]},
    "truncate": TRUTH,
}


def _scaling(raw: object, path: KeyPath) -> dict[str, object]:
    such_as = f"write {dotted(path)}: {{kind: linear, factor: 4}}; kinds: {', '.join(SCALINGS)}"
    if not isinstance(raw, Mapping):
        raise fail(f"{dotted(path)} must be a mapping", *path, hint=such_as)
    values: dict[str, Any] = read_parts(known_parts(raw, path, PARTS), path, PARTS)
    kinds = {values.pop(name) for name in NAMES_OF_KIND if name in values}
    if len(kinds) != 1 or "factor" not in values:
        raise fail(f"{dotted(path)} needs a kind and a factor", *path, hint=such_as)
    (kind,) = kinds
    row = SCALINGS[kind]
    takes = ("factor", *row.required, *row.others)
    for key in (key for key in values if key not in takes):
        hint = f"it takes {', '.join(takes)}"
        raise fail(f"the scaling {kind} has no {key}", *path, key, hint=hint)
    for key in (key for key in row.required if key not in values):
        hint = f"write {key}: 8192, the number of tokens of the texts that a model was trained with"
        raise fail(f"the scaling {kind} needs {key}", *path, hint=hint)
    p = Scaling(kind=kind, **values)
    if p.low_freq_factor >= p.high_freq_factor:
        raise fail("high_freq_factor must be greater than low_freq_factor", *path)
    return {"kind": kind, **values}


SCALING = Form(_scaling, parts=lambda: PARTS, either=NAMES_OF_KIND)
