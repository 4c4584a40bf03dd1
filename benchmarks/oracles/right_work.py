"""Right work over every kind of problem, in plain NumPy, by a hand that rounds as it likes.

A `Task` is a problem as it stands in a book, drawn at random; `Task.work` works it with a `Hand`,
which says what the student goes on with after each step, and which constants are used. Nothing
here comes from the program. Arrays have the axes (batch, head, row, column[, hidden]), a token is
a row; `Task.paper` gives them as they are handed in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from benchmarks.oracles.handwriting import Numbers

UNWRITABLE = 1e7
"""Nobody writes larger numbers out by hand."""

INPUTS = ("X", "memory", "Q", "K", "V", "scores", "bias", "W_q", "W_k", "W_v", "W_o")
"""The matrices that stand the other way round where a token is a column."""


class UnworkableError(Exception):
    """No hand can work this: its word says why."""


# ---- how numbers are written


@dataclass(frozen=True)
class Pen:
    """How a student writes numbers.

    Attributes:
        count: how many digits.
        significant: whether they are counted from the first that is not 0.
        cut: whether further digits are cut off, not rounded.
        plain: whether what is exact without is written without zeros at the end: 2, not 2.00.
    """

    count: int
    significant: bool = False
    cut: bool = False
    plain: bool = False

    def places(self, numbers: Numbers) -> Numbers:
        """Return after how many decimals each number ends."""
        if not self.significant:
            return np.full(numbers.shape, self.count)
        size = np.abs(np.where(np.isfinite(numbers) & (numbers != 0), numbers, 1.0))
        found: Numbers = self.count - 1 - np.floor(np.log10(size) + 1e-12).astype(int)
        return found

    def rounded(self, numbers: Numbers) -> Numbers:
        """Return the numbers as they read when written; a half is rounded up, as people do."""
        numbers = np.asarray(numbers, float)
        power = 10.0 ** self.places(numbers)
        finite = np.where(np.isfinite(numbers), numbers, 0.0)
        more = 2e-8 if self.cut else 0.5 + 1e-9
        made = np.sign(finite) * np.floor(np.abs(finite) * power + more) / power
        return np.where(np.isfinite(numbers), made + 0.0, numbers)

    def texts(self, numbers: Numbers) -> list[str]:
        """Write every number."""
        made = self.rounded(numbers)
        places = self.places(made if self.significant else numbers)
        rows = zip(numbers.ravel().tolist(), made.ravel().tolist(), places.ravel(), strict=True)
        return [self._text(*row) for row in rows]

    def _text(self, number: float, made: float, places: int) -> str:
        if made in (np.inf, -np.inf):
            return "-inf" if made < 0 else "inf"
        if self.significant and made == 0:
            return "0"
        text = f"{made:.{max(places, 0)}f}"
        if self.plain and "." in text and abs(number - made) <= 1e-12 * abs(number):
            text = text.rstrip("0").rstrip(".")
        return text.removeprefix("-") if float(text) == 0 else text

    def finer(self, by: int) -> Pen:
        """Return a pen for scratch paper, with more digits."""
        return replace(self, count=self.count + by)

    def __str__(self) -> str:
        kind = "significant digits" if self.significant else "decimals"
        return f"{'cut' if self.cut else 'rounded'} to {self.count} {kind}"


GoesOn = Callable[[str, Numbers], Numbers]
"""Takes a step's name and its numbers, and returns what the student goes on with."""


def with_all_digits(_: str, numbers: Numbers) -> Numbers:
    """Go on with what the calculator holds."""
    return numbers


@dataclass(frozen=True)
class Hand:
    """How a student works.

    Attributes:
        goes_on: with which numbers, after each step.
        root: what is taken for √d_k.
        inverse: what is taken for 1/√d_k, which then multiplies.
        e: what is taken for e.
        shifted: whether the largest score of a row is subtracted before the exponentials.
        dtype: of which type every number is.
    """

    goes_on: GoesOn = with_all_digits
    root: float | None = None
    inverse: float | None = None
    e: float | None = None
    shifted: bool = False
    dtype: type[np.floating[Any]] = np.float64


EXACT = Hand()


# ---- the problem


@dataclass
class Task:
    """A problem with tokens in rows, and its work.

    Attributes:
        keys: what the program takes, matrices in row convention.
        columns: whether a token is a column on paper.
    """

    keys: dict[str, Any]
    columns: bool = False
    hand: Hand = EXACT
    steps: dict[str, Numbers] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """Which mechanism."""
        return str(self.keys.get("kind", "self"))

    @property
    def heads(self) -> int:
        """How many heads the queries have."""
        return int(self.keys.get("heads", 1))

    @property
    def kv_heads(self) -> int:
        """How many heads the keys have."""
        return int(self.keys.get("kv_heads", self.heads))

    @property
    def score(self) -> dict[str, Any]:
        """The score function and its parameters."""
        given = self.keys.get("score", "dot" if self.kind == "pooling" else "scaled_dot")
        return dict(given) if isinstance(given, dict) else {"name": given}

    @property
    def normalize(self) -> dict[str, Any]:
        """The normaliser and its settings."""
        given = self.keys.get("normalize", "softmax")
        made = dict(given) if isinstance(given, dict) else {"name": given}
        return {"name": "softmax", "temperature": 1, "base": np.e, "axis": "keys"} | made

    def problem(self) -> dict[str, Any]:
        """Return what the program takes."""
        made = dict(self.keys)
        if self.columns:
            made |= {key: turned(made[key]) for key in INPUTS if key in made}
            mask = made.get("mask")
            if isinstance(mask, list):
                made["mask"] = turned(mask)
            if isinstance(mask, dict):
                parts = {k: turned(mask[k]) for k in ("keep", "block") if k in mask}
                made["mask"] = mask | parts
            made["tokens_as"] = "columns"
        return made

    # -- the work

    def work(self, hand: Hand = EXACT) -> dict[str, Numbers]:
        """Return the numbers of every step, before they are written.

        Raises:
            UnworkableError: where no hand can.
        """
        self.hand, self.steps = hand, {}
        with np.errstate(all="ignore"):
            getattr(self, f"_{self.kind}")()
        return self.steps

    def note(self, name: str, numbers: Numbers) -> Numbers:
        """Note a step, and return what the student goes on with.

        Raises:
            UnworkableError: for numbers that nobody writes.
        """
        if np.isnan(numbers).any() or (numbers == np.inf).any():
            raise UnworkableError("no number")
        if np.abs(numbers[np.isfinite(numbers)]).max(initial=0) > UNWRITABLE:
            raise UnworkableError("large numbers")
        self.steps[name] = numbers
        return self.hand.goes_on(name, numbers)

    def given(self, key: str) -> Numbers:
        """Return a matrix or vector of the problem."""
        return np.array(self.keys[key], self.hand.dtype)

    def tokens(self, key: str) -> Numbers:
        """Return X or memory as (batch, 1, tokens, features)."""
        made = self.given(key)
        return made[:, None] if made.ndim == 3 else made[None, None]

    def _self(self) -> None:
        k = {}
        for name in "QKV":
            if name != "V" and "scores" in self.keys:
                continue
            k[name] = self.note(name, self._projected(name))
        group = self.heads // self.kv_heads
        values = np.repeat(k["V"], group, axis=1)
        if "scores" in self.keys:
            scores = self.note("scores", self.tokens("scores"))
            d_k = 1
        else:
            d_k = k["K"].shape[-1]
            scores = self._scores(k["Q"], np.repeat(k["K"], group, axis=1), "")
        weights = self._weights(self._adjusted(scores, d_k, ""), "")
        goes_on = "W_o" in self.keys or "b_o" in self.keys
        made = self.note("context" if goes_on or self.heads > 1 else "output", weights @ values)
        if self.heads > 1:
            made = np.concatenate([made[:, [h]] for h in range(self.heads)], axis=-1)
            made = self.note("concat" if goes_on else "output", made)
        if goes_on:
            made = made @ self.given("W_o") if "W_o" in self.keys else made
            made = made + self.given("b_o") if "b_o" in self.keys else made
            made = self.note("output", made)
        if "W_c" in self.keys:
            x = np.broadcast_to(self.tokens("X"), (*made.shape[:-1], self.tokens("X").shape[-1]))
            joined = np.concatenate([made, x], axis=-1)
            self.note("attentional", np.tanh(joined @ self.given("W_c").T))

    _cross = _self

    def _projected(self, name: str) -> Numbers:
        heads = self.heads if name == "Q" else self.kv_heads
        letter = name.lower()
        if name in self.keys:
            made = self.tokens(name)
        else:
            made = self.tokens("memory" if self.kind == "cross" and name != "Q" else "X")
            if f"W_{letter}" in self.keys:
                made = made @ self.given(f"W_{letter}")  # of (heads, d, d), too
        if heads > 1 and made.shape[1] == 1:
            made = np.concatenate(np.split(made, heads, axis=-1), axis=1)
        elif self.heads > 1 and made.shape[1] == 1:
            made = made[:, :1]
        if f"b_{letter}" in self.keys:
            made = made + self.given(f"b_{letter}").reshape(1, heads, 1, -1)
        return made

    def _pooling(self) -> None:
        x = hidden = self.tokens("X")
        if "W" in self.keys:
            hidden = hidden @ self.given("W").T
        if "b" in self.keys:
            hidden = hidden + self.given("b")
        has_layer = "W" in self.keys or "b" in self.keys
        if self.keys.get("activation", "tanh" if has_layer else "none") == "tanh":
            hidden, has_layer = np.tanh(hidden), True
        if has_layer:
            hidden = self.note("hidden", hidden)
        q = np.broadcast_to(self.given("u")[None, None, None], (len(x), 1, 1, len(self.keys["u"])))
        scores = self._scores(q, hidden, "")
        weights = self._weights(self._adjusted(scores, hidden.shape[-1], ""), "")
        if self.keys.get("output_activation") == "tanh":
            self.note("output", np.tanh(self.note("context", weights @ x)))
        else:
            self.note("output", weights @ x)

    def _co_attention(self) -> None:
        a, b = self.tokens("X"), self.tokens("memory")
        scores = self._adjusted(self._scores(a, b, ""), b.shape[-1], "")
        sides = {"x": (scores, a, b), "memory": (_t(scores), b, a)}
        aligned = {
            side: self.note(f"aligned_{side}", self._weights(s, f"_{side}") @ other)
            for side, (s, _, other) in sides.items()
        }
        if self.keys.get("enhance"):
            for side, (_, own, _) in sides.items():
                mine = aligned[side]
                mine, whole = np.broadcast_arrays(mine, own)
                parts = [whole, mine, whole - mine, whole * mine]
                self.note(f"enhanced_{side}", np.concatenate(parts, axis=-1))

    def _recurrent(self) -> None:
        x, a = self.tokens("X"), self.given("A")
        zeros = np.zeros((len(x), 1, 1, len(a)), self.hand.dtype)
        h = self.given("h_0") + zeros if "h_0" in self.keys else zeros
        c = self.given("c_0") + zeros if "c_0" in self.keys else zeros
        update = self.keys.get("update", "input_context")
        order = {"input_context": "xc", "state_input_context": "hxc", "plain": "hx"}[update]
        states, shares = [self.note("h_0", h)], []
        times = x.shape[2]
        for t in range(1, times + 1):
            parts = {"h": states[-1], "x": x[:, :, t - 1 : t], "c": c}
            made = np.concatenate([parts[part] for part in order], axis=-1) @ a.T
            if "b" in self.keys:
                made = made + self.given("b")
            states.append(self.note(f"h_{t}", np.tanh(made)))
            if update == "plain":
                continue
            q, k = states[-1], np.concatenate(states, axis=2)
            before = k
            q = q @ self.given("W_q").T if "W_q" in self.keys else q
            k = k @ self.given("W_k").T if "W_k" in self.keys else k
            s = self._adjusted(self._scores(q, k, f"_{t}"), k.shape[-1], f"_{t}")
            shares.append(self._weights(s, f"_{t}"))
            c = self.note(f"c_{t}", shares[-1] @ before)
        if shares:
            width = times + 1
            rows = [
                np.pad(row, [(0, 0), (0, 0), (0, 0), (0, width - row.shape[-1])]) for row in shares
            ]
            self.note("weights", np.concatenate(rows, axis=2))
        self.note("output", np.concatenate(states[1:], axis=2))

    # -- its parts

    def _scores(self, q: Numbers, k: Numbers, suffix: str) -> Numbers:
        score = self.score
        name = score["name"]
        p = {key: np.array(v, self.hand.dtype) for key, v in score.items() if key != "name"}
        if name in ("additive", "concat"):
            if name == "additive":
                made = (q @ p["W"].T)[..., :, None, :] + (k @ p["U"].T)[..., None, :, :]
            else:
                split = q.shape[-1]
                of_q, of_k = p["W"][:, :split], p["W"][:, split:]
                made = (q @ of_q.T)[..., :, None, :] + (k @ of_k.T)[..., None, :, :]
            made = np.tanh(made + p["b"] if "b" in p else made)
            word = "hidden_2" if "hidden" in self.steps and not suffix else f"hidden{suffix}"
            made = (self.note(word, made) * p["v"]).sum(axis=-1)
        elif name == "general":
            made = q @ p["W"] @ _t(k)
        elif name == "cosine":
            lengths = [np.sqrt((side * side).sum(axis=-1)) for side in (q, k)]
            if not all(side.all() for side in lengths):
                raise UnworkableError("a length of 0")
            made = q @ _t(k) / lengths[0][..., :, None] / lengths[1][..., None, :]
        elif name == "distance":
            width = score.get("width", 1)
            squares = ((q[..., :, None, :] - k[..., None, :, :]) ** 2).sum(axis=-1)
            made = -squares / (2 * width**2)
        else:
            made = q @ _t(k)
        return self.note(f"scores{suffix}", made)

    def divisor(self, d_k: int) -> float:
        """Return what scores are divided by."""
        scale = self.keys.get("scale")
        if scale is None:
            is_scaled = self.score["name"] == "scaled_dot" and "scores" not in self.keys
            return float(np.sqrt(d_k)) if is_scaled else 1.0
        return float(d_k) if scale == "1/d_k" else 1 / float(scale)

    def _adjusted(self, scores: Numbers, d_k: int, suffix: str) -> Numbers:
        s, over = scores, self.divisor(d_k)
        if over != 1:
            if "scale" in self.keys or (self.hand.root is None and self.hand.inverse is None):
                made = s / over
            else:
                made = s * self.hand.inverse if self.hand.inverse else s / (self.hand.root or over)
            s = self.note(f"scaled{suffix}", made.astype(s.dtype))
        if "softcap" in self.keys:
            cap = float(self.keys["softcap"])
            s = self.note(f"capped{suffix}", cap * np.tanh(s / cap))
        if "bias" in self.keys and np.any(self.keys["bias"]):
            s = self.note(f"biased{suffix}", s + self.given("bias"))
        keep = self.keep(len(s), *s.shape[-2:])
        if keep is not None and not keep.all():
            s = self.note(f"masked{suffix}", np.where(keep, s, -np.inf).astype(s.dtype))
        return s

    def keep(self, batch: int, n: int, m: int) -> Numbers | None:
        """Return where a query may attend, by loops: (batch, 1, n, m)."""
        given = self.keys.get("mask")
        if given is None:
            return None
        mask: dict[str, Any] = {given: True} if isinstance(given, str) else {"keep": given}
        if isinstance(given, dict):
            mask = given
        start = int(mask.get("offset", 0)) + (m - n if mask.get("align") == "bottom-right" else 0)
        made = np.ones((batch, 1, n, m), bool)
        for place in np.ndindex(made.shape):
            b, _, i, j = place
            p = i + start
            made[place] = not (
                (mask.get("causal") and j > p)
                or ("keep" in mask and mask["keep"][i][j] == 0)
                or ("block" in mask and mask["block"][i][j] == 1)
                or ("lengths" in mask and j >= _of_batch(mask["lengths"], b))
                or ("window" in mask and not _in_window(p, j, *mask["window"]))
            )
        return made

    def _weights(self, s: Numbers, suffix: str) -> Numbers:
        settings = self.normalize
        name, along = settings["name"], -1 if settings["axis"] == "keys" else -2
        temperature = float(settings["temperature"])
        blocked = s == -np.inf
        open_ = ~blocked.all(axis=along, keepdims=True)
        if name == "softmax":
            return self._softmax(s, suffix, along, temperature, open_)
        if name == "sum":
            plain = np.where(blocked, 0, s).astype(s.dtype)
            total = self.note(f"sum{suffix}", plain.sum(axis=along, keepdims=True))
            if ((total == 0) & open_).any():
                raise UnworkableError("a sum of 0")
            made = np.where(open_, plain / np.where(open_, total, 1), 0).astype(s.dtype)
            return self.note(f"weights{suffix}", made)
        if name == "none":
            if temperature == 1 and not blocked.any() and suffix != "_memory":
                return s
            plain = np.where(blocked, 0, s).astype(s.dtype)
            made = plain / temperature if temperature != 1 else plain
            return self.note(f"weights{suffix}", made)
        rows = np.moveaxis(s, along, -1)
        choose = _hardmax if name == "hardmax" else _sparsemax
        made = np.apply_along_axis(choose, -1, rows, temperature)
        return self.note(f"weights{suffix}", np.moveaxis(made, -1, along).astype(s.dtype))

    def _softmax(
        self, s: Numbers, suffix: str, along: int, temperature: float, open_: Numbers
    ) -> Numbers:
        base = self.normalize["base"]
        base = np.e if base == "e" else float(base)
        if self.hand.shifted:
            largest = s.max(axis=along, keepdims=True)
            s = s - np.where(open_, largest, 0).astype(s.dtype)
        if base == np.e:
            exponent = s / temperature if temperature != 1 else s
            e = self.hand.e
            made = np.exp(exponent) if e is None else np.power(e, exponent)
        else:
            made = np.power(base, s / temperature)
        exp = self.note(f"exp{suffix}", made.astype(s.dtype))
        total = self.note(f"sum{suffix}", exp.sum(axis=along, keepdims=True))
        if ((total == 0) & open_).any():
            raise UnworkableError("exponentials that round to 0")
        made = np.where(open_, exp / np.where(open_, total, 1), 0).astype(s.dtype)
        return self.note(f"weights{suffix}", made)

    # -- what is handed in

    def paper(self, name: str, numbers: Numbers, columns: bool | None = None) -> Numbers:
        """Return a step as it stands on paper, with the axes that it has there."""
        columns = self.columns if columns is None else columns
        if self.kind == "recurrent" and name not in ("weights", "output"):
            if numbers.ndim == 4:
                made = numbers[:, 0, 0]
                return made[0] if len(made) == 1 else made
            columns = False
        turned_round = np.swapaxes(numbers, 2, 3) if columns else numbers
        lead = tuple(axis for axis in (0, 1) if numbers.shape[axis] == 1)
        return turned_round.squeeze(axis=lead)

    def cells(self, name: str, numbers: Numbers, pen: Pen, columns: bool | None = None) -> Any:
        """Return a step as nested lists of written numbers."""
        made = self.paper(name, numbers, columns)
        return np.array(pen.texts(made), object).reshape(made.shape).tolist()


def turned(matrix: Any) -> Any:
    """Return nested lists with rows and columns exchanged."""
    return np.swapaxes(np.array(matrix), -1, -2).tolist()


def _t(numbers: Numbers) -> Numbers:
    return np.swapaxes(numbers, -1, -2)


def _of_batch(lengths: Any, b: int) -> int:
    return int(lengths[b] if isinstance(lengths, list) else lengths)


def _in_window(p: int, j: int, left: int, right: int) -> bool:
    return (left == -1 or p - left <= j) and (right == -1 or j <= p + right)


def _hardmax(row: Numbers, temperature: float) -> Numbers:
    del temperature
    made = np.zeros(len(row))
    if row.max() > -np.inf:
        made[list(row).index(row.max())] = 1
    return made


def _sparsemax(row: Numbers, temperature: float) -> Numbers:
    z = row / temperature
    ordered = sorted((x for x in z if x > -np.inf), reverse=True)
    for count in range(1, len(ordered) + 1):
        tau = (sum(ordered[:count]) - 1) / count
        if ordered[count - 1] > tau and all(x <= tau + 1e-12 for x in ordered[count:]):
            made: Numbers = np.maximum(np.where(z == -np.inf, tau, z) - tau, 0)
            return made
    return np.zeros(len(row))


# ---- problems at random


SCORES = ("dot", "scaled_dot", "cosine", "general", "additive", "concat", "distance")
KINDS = ("self", "cross", "pooling", "co_attention", "recurrent")


class Drawing:
    """Draws tasks, with small numbers of one sort each."""

    def __init__(self, rng: np.random.Generator, **wish: Any) -> None:
        self.rng, self.wish = rng, wish
        self.sort = str(rng.choice(["integers", "decimals", "halves"]))

    def chance(self, share: float, name: str = "") -> bool:
        """Decide, unless it is wished."""
        if name in self.wish:
            return bool(self.wish[name])
        return bool(self.rng.random() < share)

    def size(self, least: int, most: int) -> int:
        """Draw a size."""
        return int(self.rng.integers(least, most + 1))

    def one_of(self, name: str, words: Sequence[Any], shares: Sequence[float] = ()) -> Any:
        """Choose a word, unless one is wished."""
        if name in self.wish:
            return self.wish[name]
        total = np.array(shares or [1.0] * len(words))
        return words[int(self.rng.choice(len(words), p=total / total.sum()))]

    def matrix(self, *shape: int, most: int = 2) -> Any:
        """Draw small numbers."""
        if self.sort == "decimals":
            return np.round(self.rng.uniform(-1.5, 1.5, shape), 1).tolist()
        made = self.rng.integers(-most, most + 1, shape)
        return (made if self.sort == "integers" else made / 2).tolist()

    def task(self) -> Task:
        """Draw a task of any kind."""
        kind = self.one_of("kind", KINDS, (0.42, 0.2, 0.13, 0.13, 0.12))
        keys: dict[str, Any] = {} if kind == "self" else {"kind": kind}
        columns = self.chance(0.2, "columns") and kind != "recurrent"
        getattr(self, f"_{kind}")(keys)
        if "softcap" not in keys and self.chance(0.1, "softcap"):
            keys["softcap"] = float(self.rng.choice([2, 3, 5]))
        if "scale" not in keys and self.chance(0.08, "scale"):
            keys["scale"] = 0.5 if "scores" in keys else self.one_of("", (0.5, 0.3, "1/d_k", 2))
        return Task(keys, columns)

    def _tokens(self, count: int, width: int, batch: int) -> Any:
        return self.matrix(*([batch] if batch > 1 else []), count, width)

    def _self(self, keys: dict[str, Any]) -> None:
        form = self.one_of("heads", ("one", "cut", "list", "grouped"), (0.62, 0.18, 0.1, 0.1))
        heads = {"one": 1, "grouped": 4}.get(form, self.size(2, 3))
        kv_heads = self.size(1, 2) if form == "grouped" else heads
        d, d_v = self.size(1 if form == "cut" else 2, 3), self.size(2, 3)
        d = int(self.wish.get("d", d))
        n, m, width = self.size(2, 4), self.size(2, 4), self.size(2, 4)
        n = int(self.wish.get("n", n))
        batch = 2 if self.chance(0.08, "batch") else 1
        keys["X"] = self._tokens(n, width, batch)
        if keys.get("kind") == "cross":
            keys["memory"] = self._tokens(m, width, batch)
        else:
            m = n
        if heads > 1:
            keys["heads"] = heads
        if kv_heads != heads:
            keys["kv_heads"] = kv_heads
        bare = heads == 1 and self.chance(0.15, "bare")
        if bare:
            d = d_v = width
        else:
            sizes = {"q": (heads, d), "k": (kv_heads, d), "v": (kv_heads, d_v)}
            self._projections(keys, sizes, width, form == "list")
        self._after(keys, heads * d_v, width)
        self._scoring(keys, d, d, n, m, batch, by_position=True)
        if not bare and heads == 1 and batch == 1 and self.chance(0.12, "given"):
            self._direct(keys, n, m, d, d_v)

    def _projections(
        self, keys: dict[str, Any], sizes: Mapping[str, tuple[int, int]], width: int, listed: bool
    ) -> None:
        biased = self.chance(0.2, "biases")
        for letter, (many, size) in sizes.items():
            shape: tuple[int, ...] = (many, width, size) if listed else (width, many * size)
            keys[f"W_{letter}"] = self.matrix(*shape, most=1)
            if biased:
                shape = (many, size) if listed else (many * size,)
                keys[f"b_{letter}"] = self.matrix(*shape)

    def _after(self, keys: dict[str, Any], wide: int, width: int) -> None:
        """Draw what comes after the heads."""
        out = wide
        if self.chance(0.3, "w_o"):
            out = self.size(2, 3)
            keys["W_o"] = self.matrix(wide, out)
            if self.chance(0.3):
                keys["b_o"] = self.matrix(out)
        if self.chance(0.06, "w_c"):
            keys["W_c"] = self.matrix(2, out + width)

    _cross = _self

    def _direct(self, keys: dict[str, Any], n: int, m: int, d: int, d_v: int) -> None:
        """Give Q, K, V or the scores in place of projections."""
        for key in ("X", "memory", "W_q", "W_k", "W_v", "b_q", "b_k", "b_v", "W_c", "kind"):
            keys.pop(key, None)
        keys["V"] = self.matrix(m, d_v)
        if self.chance(0.3):
            keys["scores"] = self.matrix(n, m)
            for key in ("score", "scale"):
                keys.pop(key, None)
        else:
            keys["Q"], keys["K"] = self.matrix(n, d), self.matrix(m, d)

    def _pooling(self, keys: dict[str, Any]) -> None:
        m, width, batch = self.size(2, 5), self.size(2, 4), 2 if self.chance(0.05, "batch") else 1
        keys["X"] = self._tokens(m, width, batch)
        d_k = width
        if self.chance(0.6):
            d_k = self.size(2, 3)
            keys["W"] = self.matrix(d_k, width)
            if self.chance(0.5):
                keys["b"] = self.matrix(d_k)
        if self.chance(0.5):
            keys["activation"] = self.one_of("", ("tanh", "none"), (0.8, 0.2))
        if self.chance(0.3):
            keys["output_activation"] = "tanh"
        keys["u"] = self.matrix(d_k)
        self._scoring(keys, d_k, d_k, 1, m, batch, by_position=False)

    def _co_attention(self, keys: dict[str, Any]) -> None:
        n, m, width = self.size(2, 4), self.size(2, 4), self.size(2, 3)
        batch = 2 if self.chance(0.05, "batch") else 1
        keys["X"], keys["memory"] = self._tokens(n, width, batch), self._tokens(m, width, batch)
        if self.chance(0.3):
            keys["enhance"] = True
        self._scoring(keys, width, width, n, m, batch, by_position=False)

    def _recurrent(self, keys: dict[str, Any]) -> None:
        times, width, d = self.size(2, 3), self.size(1, 3), self.size(2, 3)
        keys["X"] = self.matrix(times, width)
        update = self.one_of("", ("input_context", "state_input_context", "plain"), (6, 3, 1))
        joined = {"input_context": d + width, "plain": d + width}.get(update, 2 * d + width)
        if update != "input_context":
            keys["update"] = update
        keys["A"] = self.matrix(d, joined, most=1)
        for key in ("b", "h_0", "c_0"):
            if self.chance(0.3) and (key, update) != ("c_0", "plain"):
                keys[key] = self.matrix(d, most=1)
        d_k = d
        if update == "plain":
            keys["softcap"] = None  # nothing is scored
            keys["scale"] = None
            return
        if self.chance(0.3):
            d_k = self.size(2, 3)
            keys["W_q"], keys["W_k"] = self.matrix(d_k, d), self.matrix(d_k, d)
        self._scoring(keys, d_k, d_k, 0, 0, 1, by_position=False)

    def _scoring(
        self,
        keys: dict[str, Any],
        d_q: int,
        d_k: int,
        n: int,
        m: int,
        batch: int,
        by_position: bool,
    ) -> None:
        """Draw how scores come about and become weights; without sizes nothing of their shape."""
        shares = (0.1, 0.46, 0.08, 0.09, 0.09, 0.09, 0.09)
        name = self.one_of("score", SCORES, shares)
        default = "dot" if keys.get("kind") == "pooling" else "scaled_dot"
        hidden = self.size(1, 2)
        bias = {"b": self.matrix(hidden)} if self.chance(0.3) else {}
        parameters: dict[str, dict[str, Any]] = {
            "general": {"W": self.matrix(d_q, d_k, most=1)},
            "additive": {
                "W": self.matrix(hidden, d_q, most=1),
                "U": self.matrix(hidden, d_k, most=1),
                "v": self.matrix(hidden),
                **bias,
            },
            "concat": {"W": self.matrix(hidden, d_q + d_k), "v": self.matrix(hidden), **bias},
            "distance": {"width": float(self.rng.choice([1, 2, 0.5]))},
        }
        if name in parameters:
            keys["score"] = {"name": name, **parameters[name]}
        elif name != default:
            keys["score"] = name
        if normalize := self._normalizer(by_position):
            keys["normalize"] = normalize
        if not m:
            return
        if self.chance(0.1, "bias"):
            keys["bias"] = self.matrix(n, m)
        form = self.one_of("mask", (*MASKS,), tuple(MASKS.values()))
        if form != "nothing" and (by_position or form in ("keep", "block", "lengths")):
            keys["mask"] = self._mask(form, n, m, batch)

    def _normalizer(self, by_position: bool) -> Any:
        words = ("softmax", "warm", "hardmax", "sparsemax", "sum", "none")
        name = self.one_of("normalize", words, (0.64, 0.12, 0.05, 0.08, 0.05, 0.06))
        made: dict[str, Any] = {} if name in ("softmax", "warm") else {"name": name}
        if name == "warm" or (name in ("sparsemax", "none") and self.chance(0.4)):
            made["temperature"] = float(self.rng.choice([2, 0.5, 3]))
        if name == "warm" and self.chance(0.6):
            made["base"] = float(self.rng.choice([2, 3, 10]))
            if self.chance(0.5):
                del made["temperature"]
        if by_position and self.chance(0.08, "axis"):
            made["axis"] = "queries"
        return made

    def _mask(self, form: str, n: int, m: int, batch: int) -> Any:
        free = (self.rng.random((n, m)) < 0.65).astype(int)
        free[np.arange(n), self.rng.integers(0, m, n)] = 1
        lengths: Any = self.size(1, m)
        if batch > 1 and self.chance(0.5):
            lengths = [self.size(1, m) for _ in range(batch)]
        forms: dict[str, Any] = {
            "causal": "causal",
            "keep": free.tolist(),
            "block": {"block": (1 - free).tolist()},
            "window": {"window": [int(self.rng.integers(0, 3)), int(self.rng.integers(-1, 2))]},
            "lengths": {"lengths": lengths},
            "bottom-right": {"causal": True, "align": "bottom-right"},
        }
        return forms[form]


MASKS = {
    **{"nothing": 0.5, "causal": 0.16, "keep": 0.08, "block": 0.07, "window": 0.07},
    **{"lengths": 0.07, "bottom-right": 0.05},
}
"""How often each form of a mask is drawn."""


def draw_task(rng: np.random.Generator, **wish: Any) -> Task:
    """Draw a task, with all that is wished."""
    task = Drawing(rng, **wish).task()
    for key in ("softcap", "scale"):
        if key in task.keys and task.keys[key] is None:
            del task.keys[key]
    return task


# ---- sheets


@dataclass(frozen=True)
class Manner:
    """A pen, and with what the student goes on: "written", "all" digits, "more" than written."""

    pen: Pen
    carries: str

    def hand(self) -> Hand:
        """Return the hand that works so."""
        if self.carries == "all":
            return EXACT
        pen = self.pen if self.carries == "written" else self.pen.finer(2)
        return Hand(lambda _, numbers: pen.rounded(numbers))

    def cells(self, task: Task, name: str, numbers: Numbers, columns: bool | None = None) -> Any:
        """Write a step; from scratch paper, where more digits stand there."""
        if self.carries == "more":
            scratch = self.pen.finer(2).rounded(numbers)
            return task.cells(name, scratch, self.pen, columns)
        return task.cells(name, numbers, self.pen, columns)

    def __str__(self) -> str:
        ways = {"written": "the written numbers", "all": "all digits", "more": "two digits more"}
        kind = "significant" if self.pen.significant else "decimals"
        return (
            f"{'cut' if self.pen.cut else 'rounded'} to {kind}, goes on from {ways[self.carries]}"
        )


MANNERS = (
    *((False, False, carries) for carries in ("written", "all", "more")),
    *((True, False, carries) for carries in ("written", "all", "more")),
    *((False, True, carries) for carries in ("written", "all")),
)
"""The eight habits: significant, cut, and what is carried."""


def a_manner(rng: np.random.Generator, number: int) -> Manner:
    """Return one of the eight habits, with a number of digits."""
    significant, cut, carries = MANNERS[number % len(MANNERS)]
    count = int(rng.choice([3, 4] if significant else [2, 3, 4]))
    return Manner(Pen(count, significant, cut, bool(rng.random() < 0.4)), carries)


ENDS = ("Q", "K", "V", "output")


def some_steps(rng: np.random.Generator, names: Sequence[str]) -> list[str]:
    """Choose which steps are handed in: all, any, the ends, the output or the weights alone."""
    way = int(rng.integers(6))
    last = [names[-1]]
    if way <= 1:
        return list(names)
    if way == 2:
        return [name for name in names if name in ENDS] or last
    if way == 3:
        return [name for name in names if name == "output"] or last
    if way == 4:
        return [name for name in names if name.startswith("weights")] or last
    return [name for name in names if rng.random() < 0.5] or last


def with_blanks(rng: np.random.Generator, cells: Any, share: float) -> Any:
    """Return cells of which some are blank, and −∞ in one of the ways in which it is written."""
    if isinstance(cells, list):
        return [with_blanks(rng, cell, share) for cell in cells]
    if cells == "-inf":
        return str(rng.choice(["-inf", "-∞", "-1e9", "−∞"]))
    return str(rng.choice(["~", "_", "?"])) if share and rng.random() < share else cells


def texts_of(cells: Any) -> Iterator[str]:
    """Yield every written cell."""
    if isinstance(cells, list):
        for cell in cells:
            yield from texts_of(cell)
    else:
        yield cells


def a_choice_flipped(exact: Mapping[str, Numbers], mine: Mapping[str, Numbers], task: Task) -> bool:
    """Whether rounding changed which score is the largest, where all depends on that."""
    return task.normalize["name"] == "hardmax" and any(
        name.startswith("weights") and not np.array_equal(exact[name], numbers)
        for name, numbers in mine.items()
    )
