"""Students who work attention with plain NumPy, step by step, and do one thing wrong on purpose.

Nothing here comes from the program: neither its operations nor its catalogue. A `Paper` is a
problem as a student has it, with one function a step that reads the numbers of earlier steps.
Every place where something can go wrong asks whether this is the student who does it.

Those who do something else for a whole step stand in `more_students.py`. Arrays have the axes
(head, row, column), with one head where there are no heads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from benchmarks.oracles.handwriting import Habit, Numbers

Known: TypeAlias = Mapping[str, Numbers]


UNWRITABLE = 1e7
"""Nobody writes larger numbers out by hand."""


def _of_attention(known: Known, name: str) -> Numbers:
    """Return the numbers of a step that not every kind of problem has."""
    if name not in known:
        raise ImpossibleError
    return known[name]


class ImpossibleError(Exception):
    """Nobody can make this mistake here."""


# ---- what is done wrong


@dataclass(frozen=True)
class Wrong:
    """One thing that is done wrong.

    Attributes:
        id: which.
        at: in which step; "" for wherever it can be.
        way: which of several ways.
        head: in this head alone.
    """

    id: str = ""
    at: str = ""
    way: int = 0
    head: int | None = None


RIGHT = Wrong()


class Paper:
    """A problem as a student has it, with tokens in rows.

    Args:
        keys: what the program takes, matrices in row convention.
        columns: whether a token is a column on paper.
    """

    def __init__(self, keys: Mapping[str, Any], columns: bool = False) -> None:
        self.keys = {k: np.array(v, float) if _is_array(v) else v for k, v in keys.items()}
        self.columns = columns
        self.kind = keys.get("kind", "self")
        self.heads = int(keys.get("heads", 1))
        self.kv_heads = int(keys.get("kv_heads", self.heads))
        score = keys.get("score", "dot" if self.kind == "pooling" else "scaled_dot")
        self.score: dict[str, Any] = dict(score) if isinstance(score, dict) else {"name": score}
        normalize = keys.get("normalize", {})
        self.temperature = float(normalize.get("temperature", 1))
        self.base = float(normalize.get("base", np.e))
        self.normalizer = str(normalize.get("name", "softmax"))
        self.sink = np.array(normalize["sink"], float) if "sink" in normalize else None
        source = self.keys["X"] if self.kind in ("self", "pooling") else self.keys["memory"]
        self.n = 1 if self.kind == "pooling" else len(self.keys["X"])
        self.m = len(source)
        self.keep = self._keep()
        self.steps = list(self._names())

    # -- the problem

    def problem(self) -> dict[str, Any]:
        """Return what the program takes."""
        keys = {k: self._given(k, v) for k, v in self.keys.items()}
        return keys | ({"tokens_as": "columns"} if self.columns else {})

    def _given(self, key: str, value: Any) -> Any:
        if key == "score" and isinstance(value, dict):
            return {
                k: v if isinstance(v, str | float | int) else v.tolist() for k, v in value.items()
            }
        if not isinstance(value, np.ndarray):
            return value
        turned = self.columns and value.ndim > 1 and key != "W"
        return (np.swapaxes(value, -1, -2) if turned else value).tolist()

    def _keep(self) -> Numbers | None:
        """Return 1 where a query may attend, by loops."""
        mask = self.keys.get("mask")
        if mask is None:
            return None
        return self._kept(mask)

    def _kept(self, mask: Any, later: int = 0, left: int = 0, right: int = 0) -> Numbers:
        """Return the 0/1 matrix of a mask whose bounds are moved by so many keys."""
        keep = np.ones((self.n, self.m))
        for i in range(self.n):
            for j in range(self.m):
                if isinstance(mask, str):
                    keep[i, j] = j <= i + later
                elif isinstance(mask, np.ndarray):
                    keep[i, j] = mask[i, j]
                elif "window" in mask:
                    before, after = mask["window"]
                    keep[i, j] = i - before - left <= j <= i + after + right
                    keep[i, j] *= j <= i + later or "causal" not in mask
                elif "when" in mask:
                    chunks = "//" in mask["when"]
                    keep[i, j] = j <= i and (i // 2 == j // 2 if chunks else j < 2)
                else:
                    keep[i, j] = j < mask["lengths"] + later
        return keep

    def _names(self) -> Iterator[str]:
        """Yield the steps in the order of computation."""
        if self.kind in ("self", "cross"):
            yield from ("Q", "K", "V")
        elif self.kind == "pooling":
            yield "hidden"
        yield from self._names_of_scores()
        if self.kind == "co_attention":
            for side in ("x", "memory"):
                yield from (f"exp_{side}", f"sum_{side}", f"weights_{side}", f"aligned_{side}")
            return
        yield from ("exp", "sum", "weights") if self.normalizer == "softmax" else ("weights",)
        goes_on = "W_o" in self.keys
        if goes_on or self.heads > 1 or "output_activation" in self.keys:
            yield "context"
        if goes_on and self.heads > 1:
            yield "concat"
        yield "output"

    def _names_of_scores(self) -> Iterator[str]:
        if self.score["name"] in ("additive", "concat"):
            yield "hidden"
        yield "scores"
        if "scale" in self.keys or (self.score["name"] == "scaled_dot" and self.d_k != 1):
            yield "scaled"
        if "softcap" in self.keys:
            yield "capped"
        if "bias" in self.keys:
            yield "biased"
        if self.keep is not None and not self.keep.all():
            yield "masked"

    @property
    def d_k(self) -> int:
        """How many numbers one head's key has."""
        if self.kind == "pooling":
            return len(self.keys["W"]) if "W" in self.keys else self.keys["X"].shape[-1]
        if self.kind == "co_attention":
            return int(self.keys["memory"].shape[-1])
        if "W_k" in self.keys:
            width = int(self.keys["W_k"].shape[-1])
            return width if self.keys["W_k"].ndim == 3 else width // self.kv_heads
        return int(self.keys["memory" if self.kind == "cross" else "X"].shape[-1]) // self.kv_heads

    # -- the work

    def work(
        self,
        wrong: Wrong = RIGHT,
        habit: Habit | None = None,
        given: Known | None = None,
        until: str = "",
        any_size: bool = False,
    ) -> dict[str, Numbers]:
        """Work all steps and return their numbers.

        Args:
            wrong: what is done wrong.
            habit: how numbers are rounded, if each step goes on from the rounded ones.
            given: numbers of some steps that are known already.
            until: the last step to work.
            any_size: whether numbers may be larger than anybody writes.

        Raises:
            ImpossibleError: where that cannot be done wrong here, or no hand writes the numbers.
        """
        known: dict[str, Numbers] = {}
        for name in self.steps:
            if given is not None and name in given and name != until:
                known[name] = given[name]
                continue
            numbers = self.step(name, known, wrong)
            size = np.abs(numbers[np.isfinite(numbers)]).max(initial=0.0)
            largest = UNWRITABLE
            if wrong.id == "divided_by_others" and name.startswith("weights"):
                largest = 100  # nobody goes on with a number that is so large beside the others
            if (size > largest and not any_size) or np.isnan(numbers).any():
                raise ImpossibleError
            if habit is not None and habit.early:
                exact, numbers = numbers, habit.rounded(numbers)
                nothing = ~numbers.any(axis=-1) & exact.any(axis=-1)
                if name.startswith("exp") and nothing.any():
                    raise ImpossibleError  # nobody goes on from exponentials that are all 0
            known[name] = numbers
            if name == until:
                break
        return known

    def step(self, name: str, known: Known, wrong: Wrong = RIGHT) -> Numbers:
        """Work one step from the numbers of earlier ones.

        Raises:
            ImpossibleError: where shapes do not go together.
        """
        active = wrong if wrong.at in ("", name) or name in together(wrong) else RIGHT
        with np.errstate(all="ignore"):
            try:
                found = self.made(name, known, active)
                if active.head is not None:
                    right = self.made(name, known, RIGHT)
                    if len(right) < 2 or found.shape != right.shape:
                        raise ImpossibleError
                    found = np.array(
                        [
                            f if h == active.head else r
                            for h, (f, r) in enumerate(zip(found, right, strict=True))
                        ]
                    )
            except ValueError as error:  # shapes that do not go together
                raise ImpossibleError from error
        if active.id == "step_transposed" and active.at == name:
            found = _t(found)
        return found

    def made(self, name: str, known: Known, wrong: Wrong = RIGHT) -> Numbers:
        """Return the numbers of a step, of which somebody may do something else than is right."""
        from benchmarks.oracles.more_students import MORE, normalized

        found = MORE[wrong.id](self, name, known, wrong) if wrong.id in MORE else None
        base, _, side = name.partition("_")
        if found is None and base == "weights" and self.normalizer != "softmax":
            weights = normalized(self, self.normalizer, self.chain(name, wrong, known))
            if wrong.id == "scaled_after_softmax":
                weights = weights / np.sqrt(self.d_k)
            return weights
        work: Callable[..., Numbers] = getattr(self, f"_{base.lower()}")
        return work(name, known, wrong, side) if found is None else found

    def _projected(self, name: str, wrong: Wrong) -> Numbers:
        letter, heads = name.lower(), self.heads if name == "Q" else self.kv_heads
        source = "memory" if self.kind == "cross" and name != "Q" else "X"
        if wrong.id == "wrong_source":
            source = _other(source, ("X", "memory"), self.keys)
        a = self.keys[source]
        used = f"W_{letter}"
        if wrong.id == "wrong_weight_matrix":
            used = [f"W_{x}" for x in "qkv" if x != letter][wrong.way % 2]
            if used not in self.keys:
                raise ImpossibleError
        matrix = self.keys.get(used)
        made = a if matrix is None else _product(a, matrix, wrong)
        if wrong.id == "projection_missing":
            made = a
        if (bias := self.keys.get(f"b_{letter}")) is not None:
            made = _with_bias(made, bias, wrong)
        if made.ndim == 3:
            return made
        return _cut(made, heads, wrong.id)

    def _q(self, name: str, known: Known, wrong: Wrong, side: str) -> Numbers:
        del known, side
        other = {
            frozenset("QK"): "swapped_q_k",
            frozenset("KV"): "swapped_k_v",
            frozenset("QV"): "swapped_q_v",
        }
        for pair, id_ in other.items():
            if wrong.id == id_ and name in pair:
                (name,) = pair - {name}
                break
        return self._projected(name, wrong)

    _k = _v = _q

    def _hidden(self, name: str, known: Known, wrong: Wrong, side: str) -> Numbers:
        del side
        if self.kind == "pooling" and name == "hidden":
            a = self.keys["X"]
            made = _product(a, self.keys["W"].T, wrong) if "W" in self.keys else a
            if "b" in self.keys:
                made = _with_bias(made, self.keys["b"], wrong)
            plain = made[None]
        else:
            q, k = self._queries(known, wrong), self._keys(known, wrong)
            if wrong.id == "swapped_q_k":
                q, k = k, q
            if self.score["name"] == "additive":
                w = _product(q, np.array(self.score["W"]).T, wrong if wrong.way == 0 else RIGHT)
                u = _product(k, np.array(self.score["U"]).T, wrong if wrong.way == 1 else RIGHT)
                plain = w[:, :, None, :] + u[:, None, :, :]
            else:
                pairs = [
                    [
                        [
                            np.concatenate(
                                [b, a] if wrong.id == "joined_in_wrong_order" else [a, b]
                            )
                            for b in keys
                        ]
                        for a in queries
                    ]
                    for queries, keys in zip(q, k, strict=True)
                ]
                plain = _product(np.array(pairs), np.array(self.score["W"]).T, wrong)
            if "b" in self.score:
                plain = _with_bias(plain, np.array(self.score["b"]), wrong)
        return plain if wrong.id == "tanh_missing" else np.tanh(plain)

    def _queries(self, known: Known, wrong: Wrong) -> Numbers:
        del wrong
        if self.kind == "pooling":
            return np.array(self.keys["u"]).reshape(1, 1, -1)
        return self.keys["X"][None] if self.kind == "co_attention" else known["Q"]

    def _keys(self, known: Known, wrong: Wrong) -> Numbers:
        if self.kind == "pooling":
            return known["hidden"]
        if self.kind == "co_attention":
            return self.keys["memory"][None]
        return self.shared(known["K"], wrong)

    def sides(self, known: Known) -> tuple[Numbers, Numbers]:
        """Return the queries and keys of every head."""
        return self._queries(known, RIGHT), self._keys(known, RIGHT)

    def shared(self, numbers: Numbers, wrong: Wrong) -> Numbers:
        """Return the numbers of the key/value head that each query head reads."""
        times = self.heads // self.kv_heads
        if len(numbers) != self.kv_heads:
            raise ImpossibleError  # who takes queries for keys has one for each head
        if wrong.id == "shared_heads_alternate":
            return np.array([numbers[h % self.kv_heads] for h in range(self.heads)])
        return np.array([numbers[h // times] for h in range(self.heads)])

    def _scores(self, name: str, known: Known, wrong: Wrong, side: str) -> Numbers:
        del name, side
        q, k = self._queries(known, wrong), self._keys(known, wrong)
        v = self.shared(known["V"], wrong) if "V" in known else None
        if wrong.id == "swapped_q_k":
            q, k = k, q
        if wrong.id == "swapped_k_v" and v is not None:
            k = v
        if wrong.id == "swapped_q_v" and v is not None:
            q = v
        made = self._alike(q, k, known, wrong)
        if wrong.id == "scaled_needlessly":
            made = made / np.sqrt(self.d_k)
        return _t(made) if wrong.id == "scores_transposed" else made

    def _alike(self, q: Numbers, k: Numbers, known: Known, wrong: Wrong) -> Numbers:
        name = self.score["name"]
        if name in ("dot", "scaled_dot"):
            return _dot(q, k, wrong)
        if name in ("additive", "concat"):
            found: Numbers = known["hidden"] @ np.array(self.score["v"])
            return found
        score: Callable[..., Numbers] = getattr(self, f"_{name}")
        return score(q, k, wrong)

    def _general(self, q: Numbers, k: Numbers, wrong: Wrong) -> Numbers:
        return _dot(_product(q, np.array(self.score["W"]), wrong), k)

    def _cosine(self, q: Numbers, k: Numbers, wrong: Wrong) -> Numbers:
        lengths = [np.sqrt((x * x).sum(axis=-1)) for x in (q, k)]
        over = lengths[0][:, :, None] * lengths[1][:, None, :]
        if wrong.id == "lengths_forgotten":
            over = np.ones_like(over)
        if wrong.id == "root_forgotten":
            over = over**2
        if wrong.id == "one_length_forgotten":
            one = lengths[0][:, :, None] if wrong.way == 0 else lengths[1][:, None, :]
            over = np.broadcast_to(one, over.shape)
        found: Numbers = _dot(q, k) / over
        return found

    def _distance(self, q: Numbers, k: Numbers, wrong: Wrong) -> Numbers:
        width = float(self.score["width"])
        squares = ((q[:, :, None, :] - k[:, None, :, :]) ** 2).sum(axis=-1)
        if wrong.id == "distance_not_squared":
            squares = np.sqrt(squares)
        over = 2 * width**2
        if wrong.id == "half_forgotten":
            over = width**2 if wrong.way == 0 else 1
        sign = 1 if wrong.id == "sign_of_distance" else -1
        found: Numbers = sign * squares / over
        return found

    def chain(self, name: str, wrong: Wrong, known: Known) -> Numbers:
        """Return the step from which a step goes on; the wrong one if this student does that."""
        chain = [s for s in ("scores", "scaled", "capped", "biased", "masked") if s in self.steps]
        before = chain[: chain.index(name)] if name in chain else chain
        if wrong.id == "earlier_step_used":
            if len(before) < 2 + wrong.way:
                raise ImpossibleError
            return known[before[-2 - wrong.way]]
        return known[before[-1]]

    def _scaled(self, name: str, known: Known, wrong: Wrong, side: str) -> Numbers:
        del side
        s, root = self.chain(name, wrong, known), 1 / float(self.keys.get("scale", self.d_k**-0.5))
        sizes = self.sizes
        by = {
            "not_scaled": 1.0,
            "scaled_by_d_k": self.d_k,
            "scaled_by_sqrt_d_model": np.sqrt(sizes[wrong.way % len(sizes)]),
            "scaled_by_sqrt_n": np.sqrt((self.m, self.n)[wrong.way % 2]),
            "scaled_twice": root * root,
            "scale_inverted": 1 / root,
            "scaled_after_softmax": 1.0,
        }
        found: Numbers = s / by.get(wrong.id, root)
        return found

    @property
    def sizes(self) -> list[int]:
        """What may be called d_model: the width of the input, and of all heads together."""
        widths = [self.d_k * self.heads]
        if self.kind != "pooling":
            widths.insert(0, int(self.keys["X"].shape[-1]))
        return list(dict.fromkeys(widths))

    def _capped(self, name: str, known: Known, wrong: Wrong, side: str) -> Numbers:
        del side
        s, cap = self.chain(name, wrong, known), float(self.keys["softcap"])
        if wrong.id == "tanh_missing":
            return s
        if wrong.id == "cap_not_restored":
            return np.tanh(s / cap)
        return cap * np.tanh(s / cap)

    def _biased(self, name: str, known: Known, wrong: Wrong, side: str) -> Numbers:
        del side
        return _with_bias(self.chain(name, wrong, known), self.keys["bias"], wrong)

    def _masked(self, name: str, known: Known, wrong: Wrong, side: str) -> Numbers:
        del side
        s, keep = self.chain(name, wrong, known), self.keep
        assert keep is not None
        if wrong.id in ("mask_missing", "mask_after_softmax"):
            return s
        if wrong.id == "mask_inverted":
            return np.where(keep == 0, s, -np.inf)
        if wrong.id == "mask_as_zero":
            return s * keep
        if wrong.id == "mask_transposed":
            keep = self._future() if isinstance(self.keys["mask"], str) else keep.T
        if wrong.id == "mask_off_by_one":
            keep = self._off_by_one(wrong.way)
        return np.where(keep != 0, s, -np.inf)

    def counted_from_0(self) -> Numbers:
        """Return a mask whose condition, on positions from 1, is asked of positions from 0."""
        mask = self.keys["mask"]
        if not isinstance(mask, dict) or "when" not in mask:
            raise ImpossibleError
        chunks = "//" in mask["when"]
        places = [(i, j) for i in range(self.n) for j in range(self.m)]
        kept = [j <= i and ((i - 1) // 2 == (j - 1) // 2 if chunks else j <= 2) for i, j in places]
        return np.array(kept).reshape(self.n, self.m)

    def _future(self) -> Numbers:
        return np.array([[float(j >= i) for j in range(self.m)] for i in range(self.n)])

    def _off_by_one(self, way: int) -> Numbers:
        mask, by = self.keys["mask"], (1, -1)[way % 2]
        if isinstance(mask, np.ndarray):
            if (mask != np.tril(np.ones(mask.shape))).any():
                raise ImpossibleError
            mask = "causal"
        if isinstance(mask, dict) and "when" in mask:  # a number of the condition, off by one
            return self.counted_from_0()
        if isinstance(mask, dict) and "window" in mask:
            bound = ("left", "right", "later")[way // 2]
            return self._kept(mask, **{bound: by})
        return self._kept(mask, later=by)

    def _exp(self, name: str, known: Known, wrong: Wrong, side: str) -> Numbers:
        s = self.chain(name, wrong, known)
        s = _t(s) if side == "memory" else s
        temperature, base = self.temperature, self.base
        if wrong.id == "temperature_missing":
            temperature = 1
        if wrong.id == "temperature_inverted":
            temperature = 1 / temperature
        if wrong.id == "wrong_base":
            base = [b for b in (2.0, 10.0, np.e) if b != base][wrong.way % 2]
        if wrong.id == "not_exponentiated":
            return np.where(s == -np.inf, 0, s) / temperature
        if wrong.id == "exponent_sign":
            return np.where(s == -np.inf, 0, base ** (-s / temperature))
        return base ** (s / temperature)

    def _sum(self, name: str, known: Known, wrong: Wrong, side: str) -> Numbers:
        del name
        suffix = f"_{side}" if side else ""
        exp = known[f"exp{suffix}"]
        if wrong.id == "blocked_counted":
            if self.keep is None or "masked" not in self.steps:
                raise ImpossibleError
            before = self.chain("masked", RIGHT, known)
            exp = self.base ** (before / self.temperature)
        if wrong.id == "softmax_over_queries":
            return _t(exp.sum(axis=-2, keepdims=True))
        if wrong.id == "softmax_over_all":
            total = exp.sum(axis=(-1, -2), keepdims=True)
            return np.broadcast_to(total, (*exp.shape[:-1], 1)).copy()
        found: Numbers = exp.sum(axis=-1, keepdims=True) + self.share_of_sink(wrong)
        return found

    def share_of_sink(self, wrong: Wrong) -> Any:
        """Return what the sink of each head adds to a sum, 0 if there is none."""
        if self.sink is None or wrong.id == "sink_missing":
            return 0
        sink = self.sink.reshape(-1, 1, 1)
        return np.exp(sink)

    def _weights(self, name: str, known: Known, wrong: Wrong, side: str) -> Numbers:
        del name
        suffix = f"_{side}" if side else ""
        exp, total = known[f"exp{suffix}"], known[f"sum{suffix}"]
        if wrong.id == "not_normalized":
            return exp
        if wrong.id == "softmax_over_queries":
            total = exp.sum(axis=-2, keepdims=True)
        if wrong.id == "softmax_over_all":
            total = exp.sum(axis=(-1, -2), keepdims=True)
        if wrong.id == "not_exponentiated":
            exp = self._exp(f"exp{suffix}", known, wrong, side)
            total = exp.sum(axis=-1, keepdims=True)
        made = np.divide(exp, total, out=np.zeros_like(exp), where=total != 0)
        if wrong.id == "softmax_twice":
            again = np.exp(made) if wrong.way == 0 else self.base ** (made / self.temperature)
            made = again / again.sum(axis=-1, keepdims=True)
        if wrong.id == "scaled_after_softmax":
            if "scaled" not in self.steps:
                raise ImpossibleError
            made = made / np.sqrt(self.d_k)
        if wrong.id == "mask_after_softmax":
            if self.keep is None:
                raise ImpossibleError
            made = made * self.keep
        return _t(made) if wrong.id == "attention_transposed" else made

    def _aligned(self, name: str, known: Known, wrong: Wrong, side: str) -> Numbers:
        other = self.keys["memory" if side == "x" else "X"][None]
        return self._mixed(name, known, wrong, side, other)

    def _mixed(self, name: str, known: Known, wrong: Wrong, side: str, values: Numbers) -> Numbers:
        """Return the values mixed by weights."""
        del name
        suffix = f"_{side}" if side else ""
        weights = known[f"weights{suffix}"]
        if wrong.id == "attention_transposed":
            weights = _t(weights)
        if wrong.id == "not_normalized":
            weights = known[f"exp{suffix}"]
        if wrong.id == "scores_as_weights":
            weights = self._exp(f"exp{suffix}", known, Wrong("not_exponentiated"), side)
        if wrong.id == "equal_weights":
            weights = np.full(weights.shape, 1 / weights.shape[-1])
        if wrong.id == "input_instead_of_values":
            sources = [s for s in ("X", "memory") if s in self.keys]
            values = self.keys[sources[wrong.way % len(sources)]]
            values = _cut(values, self.heads) if self.heads > 1 else values[None]
        if wrong.id == "keys_instead_of_values":
            if self.kind == "co_attention":
                raise ImpossibleError
            values = known["hidden"] if self.kind == "pooling" else self.shared(known["K"], RIGHT)
        if wrong.id == "queries_instead_of_values":
            values = _of_attention(known, "Q")
        if wrong.id == "shared_heads_alternate":
            values = self.shared(known["V"], wrong)
        return _product(weights, values, wrong)

    def _context(self, name: str, known: Known, wrong: Wrong, side: str) -> Numbers:
        values = self.keys["X"][None] if self.kind == "pooling" else self.shared(known["V"], RIGHT)
        return self._mixed(name, known, wrong, side, values)

    def _concat(self, name: str, known: Known, wrong: Wrong, side: str) -> Numbers:
        del name, side
        context = known["context"]
        heads, _, width = context.shape
        if wrong.id == "heads_reshaped":
            return context.reshape(1, self.n, heads * width)
        if wrong.id == "heads_interleaved":
            parts = [context[h, :, i] for i in range(width) for h in range(heads)]
            return np.stack(parts, axis=-1)[None]
        if wrong.id == "heads_in_wrong_order":
            return np.concatenate(list(context[::-1]), axis=-1)[None]
        if wrong.id == "head_missing":
            context = context.copy()
            context[wrong.way % heads] = 0
        if wrong.id in ("heads_summed", "heads_averaged"):
            total = context.sum(axis=0, keepdims=True)
            found: Numbers = total / heads if wrong.id == "heads_averaged" else total
            return found
        return np.concatenate(list(context), axis=-1)[None]

    def _output(self, name: str, known: Known, wrong: Wrong, side: str) -> Numbers:
        if self.kind == "pooling" and "context" in self.steps:
            return known["context"] if wrong.id == "tanh_missing" else np.tanh(known["context"])
        if "context" not in self.steps:
            made = self._context(name, known, wrong, side)
        elif "W_o" not in self.keys:
            made = self._concat(name, known, wrong, side)
        else:
            before = known["concat"] if self.heads > 1 else known["context"]
            if wrong.id == "head_missing" and self.heads > 1:
                before = before.copy()
                width = before.shape[-1] // self.heads
                head = wrong.way % self.heads
                before[..., head * width : (head + 1) * width] = 0
            made = (
                before if wrong.id == "w_o_missing" else _product(before, self.keys["W_o"], wrong)
            )
            if "b_o" in self.keys and wrong.id != "w_o_missing":
                made = _with_bias(made, self.keys["b_o"], wrong)
        if wrong.id == "input_added":
            if "X" not in self.keys or made.shape[1:] != self.keys["X"].shape:
                raise ImpossibleError
            made = made + self.keys["X"]
        return made

    # -- what is handed in

    def sheet(self, known: Known, habit: Habit, steps: list[str] | None = None) -> dict[str, Any]:
        """Return the numbers of some steps as they are handed in, written."""
        return {name: self.cells(known[name], habit) for name in steps or known}

    def cells(self, numbers: Numbers, habit: Habit) -> Any:
        """Return a step as nested lists of written numbers, as it stands on paper."""
        if self.columns and numbers.ndim > 2:
            numbers = np.swapaxes(numbers, 1, 2)
        texts = np.array(habit.texts(numbers), object).reshape(numbers.shape)
        return (texts[0] if len(texts) == 1 else texts).tolist()


TOGETHER: dict[str, tuple[str, ...]] = {
    "temperature_on_weights": ("exp", "weights"),
    "all_weight_matrices_transposed": ("Q", "K", "V", "output"),
    "mask_after_softmax": ("masked", "weights", "weights_x", "weights_memory"),
    "scaled_after_softmax": ("scaled", "weights", "weights_x", "weights_memory"),
    "swapped_q_k": ("Q", "K"),
    "swapped_k_v": ("K", "V"),
    "swapped_q_v": ("Q", "V"),
}
"""What is done in several steps at once."""

HEADS = ("Q", "K", "V"), ("Q", "K", "V", "concat", "output")


def together(wrong: Wrong) -> tuple[str, ...]:
    """Return the steps in which something is done that is done in several at once."""
    if wrong.at == "scores":
        return ()
    if wrong.id in ("heads_interleaved", "heads_reshaped") and wrong.way in (1, 2):
        return HEADS[wrong.way - 1]
    return TOGETHER.get(wrong.id, ())


def _is_array(value: Any) -> bool:
    return isinstance(value, list | np.ndarray)


def _t(numbers: Numbers) -> Numbers:
    return np.swapaxes(numbers, 1, 2)


def _other(one: str, names: tuple[str, str], known: Mapping[str, Any]) -> str:
    (other,) = (name for name in names if name != one)
    if other not in known:
        raise ImpossibleError
    return other


def _dot(q: Numbers, k: Numbers, wrong: Wrong = RIGHT) -> Numbers:
    """Q Kᵀ, or what becomes of it."""
    if wrong.id == "key_not_transposed":
        return q @ k
    if wrong.id == "factors_exchanged":
        return _t(k) @ q
    if wrong.id == "elementwise_product":
        return q * (k if wrong.way == 0 else _t(k))
    return q @ _t(k)


def _product(a: Numbers, b: Numbers, wrong: Wrong = RIGHT) -> Numbers:
    """A B, or what becomes of it."""
    if wrong.id == "weights_matrix_transposed":
        return a @ np.swapaxes(b, -1, -2)
    if wrong.id == "factors_exchanged":
        return b @ a
    if wrong.id == "elementwise_product":
        return a * b
    if wrong.id == "projection_missing":
        return a
    return a @ b


def _with_bias(numbers: Numbers, bias: Numbers, wrong: Wrong) -> Numbers:
    if wrong.id == "bias_missing":
        return numbers
    if wrong.id == "bias_subtracted":
        return numbers - bias
    if wrong.id == "bias_multiplied":
        return numbers * bias
    if wrong.id == "bias_transposed" and bias.ndim == 2:
        if bias.shape[0] != bias.shape[1]:
            raise ImpossibleError
        return numbers + bias.T
    return numbers + bias


def _cut(numbers: Numbers, heads: int, wrong: str = "") -> Numbers:
    width = numbers.shape[-1] // heads
    if wrong == "heads_reshaped":
        return numbers.reshape(heads, len(numbers), width)
    if wrong == "heads_interleaved":
        return np.stack([numbers[:, h::heads] for h in range(heads)])
    return np.stack([numbers[:, h * width : (h + 1) * width] for h in range(heads)])
