"""The positions: how a calculation knows which token comes first.

To add one: write a function that records its steps, and give it a row in `POSITIONS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isclose
from typing import TYPE_CHECKING, Any

import numpy as np

from attncli.arithmetic.elements import Array, filled
from attncli.attention.biases import ALIBI, ByPlace, slopes_of
from attncli.attention.masks import POSITION, Mask, first_place
from attncli.attention.parameters import Parameter
from attncli.errors import KeyPath, fail
from attncli.forms.form import Form, choice, count, listed, vector, whole_number
from attncli.forms.scalars import dotted, to_count
from attncli.notation import tree
from attncli.notation.written import NumberAsWritten
from attncli.records import Record, replace
from attncli.tape.operations import Add, joined
from attncli.tape.step import Derivatives, Expression, Operation, Step
from attncli.tape.tape import Tape

if TYPE_CHECKING:
    from attncli.arithmetic.intervals import Interval

BASE = 10000.0
"""The default base of the angles (Vaswani et al. 2017, section 3.5; Su et al. 2021, eq. 15)."""

MAX_PAIRS = 4
"""Maximum number of pairs of features that a note lists."""

PAIRS = ("neighbours", "halves")
"""Which features are a pair: 1 and 2, 3 and 4, …; or the first of each half, the second, …"""


def _plain(number: float) -> tree.Formula:
    """Return the formula of a number with all its digits."""
    return tree.Number(f"{number:.17g}")


class Waves(Record):
    """The angles t / base^(2j/size) of the tokens t = start, start + 1, … and the pairs j."""

    size: int  # number of features that are in pairs
    base: float = BASE
    start: int = 0
    pairs: str = PAIRS[0]

    def angles(self, tokens: int, like: Any = None) -> Any:
        """Return the angles (1, 1, tokens, pairs), in the kind of array of `like`."""
        t = np.arange(self.start, self.start + tokens, dtype=float, like=like)
        angles = t[:, None] / self.base ** (np.arange(0, self.size, 2, like=like) / self.size)
        return angles.reshape(1, 1, tokens, -1)

    def written(self, token: int, pair: int) -> tree.Formula:
        """Return the formula of an angle: `1/100`, or `1/10000^(2/6)` where that has no end."""
        t = self.start + token
        under = self.base ** (2 * pair / self.size)
        if not t or under == 1:
            return tree.Number(str(t))
        whole = np.isclose(under, np.rint(under), rtol=1e-12, atol=0)
        root = tree.Fraction(tree.Number(f"{2 * pair}"), tree.Number(f"{self.size}"), tight=True)
        power = (
            tree.Number(f"{np.rint(under):.0f}") if whole else tree.Power(_plain(self.base), root)
        )
        return tree.Fraction(tree.Number(str(t)), power, tight=True)

    def columns(self) -> tuple[slice, slice]:
        """Return the columns of the first and of the second feature of each pair."""
        if self.pairs == "neighbours":
            return slice(0, self.size, 2), slice(1, self.size, 2)
        half = -(-self.size // 2)
        return slice(0, half), slice(half, self.size)

    def of(self, function: str, angles: Array) -> Array:
        """Return the sines or cosines of angles; to terms each is a constant such as cos 1."""
        if angles.dtype.kind != "O":
            found: Array = getattr(np, function)(angles)
            return found
        own = self.angles(angles.shape[-2])[0, 0]

        def element(at: tuple[int, ...]) -> NumberAsWritten:
            angle = float(getattr(angles[at], "value", angles[at]))
            is_own = isclose(angle, own[at[-2:]], rel_tol=1e-12)
            formula = self.written(*at[-2:]) if is_own else _plain(angle)
            return NumberAsWritten(getattr(np, function)(angle), tree.Call(function, (formula,)))

        return filled(angles.shape, element)

    def paired(self, first: Any, second: Any) -> Any:
        """Return features of which these are the first and the second of each pair."""
        if self.pairs == "halves":
            made = joined([first, second], -1)
        else:
            made = np.stack([first, second], axis=-1).reshape(*first.shape[:-1], -1)
        return made[..., : self.size]  # an odd size has no last second feature

    @property
    def notation(self) -> tree.Formula:
        """`t / 10000^(2j/4)`."""
        part = tree.Fraction(tree.Name("2j"), tree.Number(str(self.size)), tight=True)
        return tree.Fraction(tree.Name("t"), tree.Power(_plain(self.base), part))


class FromPlaces(Operation):
    """Numbers that follow from the places of tokens alone; the operand tells how many there are."""

    operand: Expression
    waves: Waves
    leading = ()

    @property
    def note(self) -> tree.Formula:
        """`t = i − 1`, for token i; or the number t of a token by itself."""
        start, i = self.waves.start, tree.Name("i")
        if len(self.trailing) == 1:
            return tree.Relation((tree.Name("t"), tree.Number(str(start))))
        shift = tree.minus if start < 1 else tree.plus
        t = i if start == 1 else shift(i, tree.Number(str(abs(start - 1))))
        return tree.Relation((tree.Name("t"), t))

    def bounds(self, *operands: Any) -> Any:
        array = self.apply(*(operand.low for operand in operands))
        return type(operands[0])(array, array)

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        """Nothing: no number of the problem changes them."""
        yield from ()


class Angles(FromPlaces):
    """The angle by which each pair of features of each token is turned (Su et al. 2021, eq. 15)."""

    why = "Every pair of features turns at a speed of its own, the first one fastest."

    @property
    def trailing(self) -> tuple[str, ...]:
        return (*self.operand.trailing[:-1], "pair")

    def apply(self, rows: Array) -> Array:
        """(…, n, d) gives (1, 1, n, pairs)."""
        angles = self.waves.angles(rows.shape[-2], rows)
        if rows.dtype.kind != "O":
            return angles.astype(rows.dtype) if rows.dtype.kind == "f" else angles
        written = self.waves.written
        return filled(angles.shape, lambda at: NumberAsWritten(angles[at], written(*at[-2:])))

    def notation(self, columns: bool) -> tree.Formula:
        return self.waves.notation


class Sinusoids(FromPlaces):
    """The sine and the cosine of each angle side by side (Vaswani et al. 2017, section 3.5)."""

    functions: tuple[str, str] = ("sin", "cos")
    why = "Every position gets a row of its own, and rows of neighbours are alike."

    def apply(self, rows: Array) -> Array:
        """(…, n, d) gives (1, 1, n, d); an odd d has no last cosine."""
        angles = self.waves.angles(rows.shape[-2], rows)
        if rows.dtype.kind == "O":
            angles = angles.astype(object)
        made = self.waves.paired(*(self.waves.of(name, angles) for name in self.functions))
        return made.astype(rows.dtype) if rows.dtype.kind == "f" else made

    def notation(self, columns: bool) -> tree.Formula:
        is_side = self.waves.pairs == "neighbours"
        which = tree.Words("sine and cosine of" if is_side else "sines, then cosines, of")
        return tree.Phrase((which, self.waves.notation))


class Embedded(Add):
    """The tokens with the rows of their positions, which do not change, added."""

    why = "Attention has no order of its own: what is added says where a token stands."

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        yield self.left, upstream


class OfAngles(Operation):
    """The cosine or the sine of each angle."""

    angles: Expression
    function: str  # cos or sin
    waves: Waves
    pointwise = True
    unfolds = True

    def apply(self, angles: Array) -> Array:
        return self.waves.of(self.function, angles)

    def bounds(self, angles: Interval) -> Interval:
        """As `apply`; a sine or cosine changes by no more than its angle."""
        off = (angles.high - angles.low) / 2
        middle = self.apply(angles.low + off)
        return type(angles)(np.maximum(middle - off, -1), np.minimum(middle + off, 1))

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        """Nothing: no number of the problem changes the angles."""
        yield from ()

    def notation(self, columns: bool) -> tree.Formula:
        return tree.Call(self.function, self.notations(columns))


class Rotated(Operation):
    """Each pair (x, y) of features turned: (x cos θ − y sin θ, x sin θ + y cos θ).

    Su et al. 2021, section 3.4.2. Features that are in no pair stay as they are.
    """

    operand: Expression
    cos: Expression
    sin: Expression
    waves: Waves
    back: bool = False  # whether the pairs are turned by −θ
    why = "Turned by its position, a query meets a key by how far apart the two are."

    @property
    def note(self) -> tree.Formula:
        """`pairs (1, 2), (3, 4)`, the features that are turned together."""
        first, second = (range(self.waves.size)[part] for part in self.waves.columns())
        pairs = [f"({x + 1}, {y + 1})" for x, y in zip(first, second, strict=False)]
        shown = pairs if len(pairs) <= MAX_PAIRS else [*pairs[: MAX_PAIRS - 1], "…", pairs[-1]]
        return tree.Words(f"pairs {', '.join(shown)}")

    def apply(self, rows: Array, cos: Array, sin: Array) -> Array:
        """(…, n, d) and twice (1, 1, n, pairs) give (…, n, d)."""
        return self.turned(rows, cos, sin)

    def turned(self, rows: Any, cos: Any, sin: Any) -> Any:
        first, second = self.waves.columns()
        if rows.shape[-1] < self.waves.size:
            raise ValueError  # as NumPy does, for shapes that do not go together
        x, y = rows[..., first], rows[..., second]
        if self.back:
            pairs = self.waves.paired(x * cos + y * sin, y * cos - x * sin)
        else:
            pairs = self.waves.paired(x * cos - y * sin, x * sin + y * cos)
        others = rows[..., self.waves.size :]
        return joined([pairs, others], -1) if others.shape[-1] else pairs

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        """Dx is dy turned back: the inverse of a rotation is its transpose."""
        yield self.operand, replace(self, operand=upstream, back=not self.back)

    def notation(self, columns: bool) -> tree.Formula:
        operand, cos, sin = self.notations(columns)
        turned = tree.Words(f"turned {'back ' * self.back}by")
        return tree.Phrase((operand, turned, cos, tree.Words("and"), sin))


Settings = Mapping[str, Any]
"""The parameters of a row, by name."""

ByPlaceFields = dict[str, Any]
"""The fields of a `ByPlace` that a row determines."""


def sinusoidal(tape: Tape, x: Step, positions: Settings, suffix: str) -> Step:
    """X + positions, a sine and a cosine for each pair (Vaswani et al. 2017, section 3.5)."""
    p = positions["sinusoidal"]
    start = 0 if suffix else p["start"]  # a memory has positions of its own
    waves = Waves(x.array.shape[-1], p["base"], start, p["pairs"])
    rows = tape.record(f"positions{suffix}", Sinusoids(x, waves))
    return tape.record(f"embedded{suffix}", Embedded(x, rows))


def learned(tape: Tape, x: Step, positions: Settings, suffix: str) -> Step:
    """X + P (Gehring et al. 2017, section 3.1); a memory has its positions already."""
    if suffix:
        return x
    p = tape.given("P", positions["P"], ("query", "model"), key="positions.P")
    return tape.record("embedded", Add(x, p), why=Embedded.why)


def rope(tape: Tape, q: Step, k: Step, p: Settings, suffix: str, before: int) -> tuple[Step, Step]:
    """Queries and keys turned by their positions; both by the same angles where these are equal."""
    starts = p["start"] if isinstance(p["start"], tuple) else (p["start"],) * 2
    sizes = [step.array.shape[-1] if p["features"] == "all" else p["features"] for step in (q, k)]
    rows = [(len(step.array[0, 0]), *map(step.labels.get, step.trailing[:-1])) for step in (q, k)]
    is_one = p["start"] == starts[0] and sizes[0] == sizes[1] and rows[0] == rows[1]

    def turned(step: Step, size: int, start: int) -> Step:
        letter = step.name[0]
        waves = Waves(size, p["base"], start + before, p["pairs"])
        end = suffix if is_one else f"_{letter.lower()}{suffix}"
        angles = tape.steps.get(f"angles{end}") or tape.record(f"angles{end}", Angles(step, waves))
        cos, sin = (
            tape.steps.get(f"{name}{end}")
            or tape.record(f"{name}{end}", OfAngles(angles, name, waves))
            for name in ("cos", "sin")
        )
        return tape.record(f"{letter}_rotated{suffix}", Rotated(step, cos, sin, waves))

    return turned(q, sizes[0], starts[0]), turned(k, sizes[1], starts[1])


def _check_rope(p: Settings, problem: Any) -> None:
    """Raise an InputError where queries or keys cannot be cut into pairs."""
    for size in (problem.sizes[letter] for letter in ("d_q", "d_k") if letter in problem.sizes):
        features = size if p["features"] == "all" else p["features"]
        if features > size or features % 2:
            message = f"rope turns pairs of features, but cannot turn {features} of {size}"
            hint = f"write positions: {{name: rope, features: {size - size % 2}}}"
            raise fail(message, "positions", hint=hint, needs="sizes")
    if "scores" in problem.given:
        hint = "leave rope out; alibi and relative are added to given scores"
        raise fail("scores is given, so rope has no use", "positions", hint=hint, needs="values")


def _check_input(p: Settings, problem: Any) -> None:
    """Raise an InputError where nothing is made of the input that the positions are added to."""
    made = {"V"} if "scores" in problem.given else {"Q", "K", "V"}
    if made <= {*problem.given}:
        message = "positions are added to X, but no queries, keys or values are made of it"
        use = "alibi and relative are added to given scores"
        hint = use if "scores" in problem.given else f"rope turns given queries and keys; {use}"
        raise fail(message, "positions", hint=hint, needs="values")
    if {"sinusoidal", "learned"} <= problem.positions.keys():
        raise fail("two kinds of positions are added to X", "positions", needs="values")


def alibi(positions: Settings, heads: int, reach: int) -> ByPlaceFields:
    """−slope · |i − j| beside each score, a slope for each head (Press et al. 2022, section 3)."""
    slopes = np.ravel(positions.get("slopes", slopes_of(heads)))
    if len(slopes) != heads:
        numbers = f"{len(slopes)} number{'s'[: len(slopes) != 1]}"
        message = f"positions.slopes has {numbers}, but heads is {heads}"
        raise fail(message, "positions", "slopes", hint="write one for each head", needs="sizes")
    line = -slopes[:, None] * np.abs(np.arange(-reach, reach + 1))
    return {"formula": ALIBI, "names": {"slope": slopes}, "line": line}


def relative(positions: Settings, heads: int, reach: int) -> ByPlaceFields:
    """A number beside each score, by the distance j − i (Raffel et al. 2020, section 2.1)."""
    table = positions["table"][0, :, 0]
    if table.shape[1] % 2 == 0:
        message = f"positions.table has {table.shape[1]} numbers for the distances from −k to k"
        hint = "write 2k + 1 numbers, the first for −k"
        raise fail(message, "positions", "table", hint=hint, needs="sizes")
    k = table.shape[1] // 2
    places = np.clip(np.arange(-reach, reach + 1), -k, k) + k
    line = np.broadcast_to(table[:, places], (heads, len(places)))
    return {"formula": tree.Name("table"), "line": line, "key": "positions.table"}


def _start(raw: object, path: KeyPath) -> int | tuple[int, ...]:
    """Return the first position, or those of queries and of keys."""
    if not isinstance(raw, list | tuple):
        return to_count(raw, path, None)
    if len(raw) != 2:
        hint = "write start: 0, or start: [5, 0] for queries and keys"
        raise fail(f"{dotted(path)} must be one number, or two", *path, hint=hint)
    return tuple(to_count(one, path, None) for one in raw)


ONE_START = count(least=None)
STARTS = Form(
    _start, (whole_number(None), listed(whole_number(None)) | {"minItems": 2, "maxItems": 2})
)
ALL_OR_COUNT = Form(
    lambda raw, path: raw if raw == "all" else to_count(raw, path),
    ({"enum": ["all"]}, whole_number(1)),
)
FEATURES = Parameter("features", default="all", number=ALL_OR_COUNT)


def _of_waves(*own: Parameter, start: Form = ONE_START) -> tuple[Parameter, ...]:
    base = Parameter("base", meaning="of the angles", default=BASE)
    pairs = Parameter("pairs", default=PAIRS[0], number=choice(PAIRS))
    first = Parameter("start", meaning="0, or the number of rows of `past`", number=start)
    return base, first, pairs, *own


class Position(Record):
    """One row of the table."""

    build: Callable[..., Any]  # records the steps, or returns the rule for tiles
    place: str  # what it changes: "input", "queries and keys" or "scores"
    formula: str  # of a token x at place t, or of a score s of a query i and a key j
    source: str  # where the formula is from
    parameters: tuple[Parameter, ...]
    # Takes the parameters and the problem, and raises an InputError where they do not fit.
    check: Callable[[Settings, Any], None] = lambda p, problem: None


POSITIONS: dict[str, Position] = {
    "sinusoidal": Position(
        sinusoidal,
        "input",
        "x + sin, cos of t / base^(2j/d)",
        "Vaswani et al. 2017, section 3.5",
        _of_waves(),
        _check_input,
    ),
    "learned": Position(
        learned,
        "input",
        "x + row t of P",
        "Gehring et al. 2017, section 3.1",
        (Parameter("P", ("n", "d_model"), required=True),),
        _check_input,
    ),
    "rope": Position(
        rope,
        "queries and keys",
        "turned by t / base^(2j/features)",
        "Su et al. 2021, eq. 15",
        _of_waves(FEATURES, start=STARTS),
        _check_rope,
    ),
    "alibi": Position(
        alibi,
        "scores",
        "s − slope·|i − j|",
        "Press et al. 2022, section 3",
        (Parameter("slopes", ("number",)),),
    ),
    "relative": Position(
        relative,
        "scores",
        "s + table at j − i",
        "Raffel et al. 2020, section 2.1",
        (Parameter("table", ("distances",), required=True, vector=vector("head")),),
    ),
}


def checked(positions: Settings, problem: Any) -> dict[str, Any]:
    """Return positions whose default start is the number of rows of a cache.

    Raises:
        InputError: where they do not fit the problem.
    """
    start = problem.sizes.size("p") or 0
    found = {key: {"start": start, **x} if key in POSITIONS else x for key, x in positions.items()}
    for name in (name for name in POSITIONS if name in found):
        POSITIONS[name].check(found[name], problem)
    return found


def by_place(positions: Settings, heads: int, mask: Mask, n: int, m: int) -> list[ByPlace]:
    """Return the rules for what is added to the scores."""
    shift = first_place(mask, n, m)
    is_own_seen = mask.keys() <= {"causal", *POSITION} and 0 <= shift <= m - n
    found = []
    for name in (name for name, row in POSITIONS.items() if row.place == "scores"):
        if name in positions:
            made = POSITIONS[name].build(positions, heads, n + m + abs(shift))
            # Far keys may vanish if the nearest, from which nothing is subtracted, is seen.
            is_negligible = name == "alibi" and is_own_seen and made["line"].max() <= 0
            found.append(ByPlace(**made, shift=shift, is_negligible=is_negligible))
    return found


def embedded(tape: Tape, x: Step, positions: Settings, suffix: str = "") -> Step:
    """Record the input with its positions, where there are any for it, once."""
    for name in (name for name in POSITIONS if name in positions):
        if POSITIONS[name].place == "input":
            known = tape.steps.get(f"embedded{suffix}")
            return known or POSITIONS[name].build(tape, x, positions, suffix)
    return x


def rotated(
    tape: Tape, q: Step, k: Step, positions: Settings, suffix: str = "", before: int = 0
) -> tuple[Step, Step]:
    """Record queries and keys turned by their positions, where there are any for them.

    `before` is how many tokens came before the first one, beside those of a cache.
    """
    found = positions.get("rope")
    return (q, k) if found is None else rope(tape, q, k, found, suffix, before)
