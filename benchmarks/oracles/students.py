"""Students who work attention with plain NumPy, step by step, and do one thing wrong on purpose.

Nothing here comes from the program: neither its operations nor its catalogue. A `Paper` is a
problem as a student has it, with one function per step that reads the numbers of earlier steps.
Every place where something can go wrong asks whether this is the student who does it.

Those who do something else for a whole step are in `more_students.py`. Arrays have the axes
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

SCORES = ("scores", "scaled", "capped", "biased", "masked")
"""The steps before the weights, of which each goes on from the one before it."""


class ImpossibleError(Exception):
    """Nobody can make this mistake here."""


def need(is_possible: bool) -> None:
    """Raise ImpossibleError where a mistake cannot be made."""
    if not is_possible:
        raise ImpossibleError


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
        self.keys = with_arrays(keys)
        self.columns = columns
        self.kind = keys.get("kind", "self")
        self.heads = int(keys.get("heads", 1))
        self.kv_heads = int(keys.get("kv_heads", self.heads))
        score = keys.get("score", "dot" if self.kind == "pooling" else "scaled_dot")
        self.score = with_arrays(score if isinstance(score, dict) else {"name": score})
        normalize = keys.get("normalize", {})
        self.temperature = float(normalize.get("temperature", 1))
        self.base = float(normalize.get("base", np.e))
        self.normalizer = str(normalize.get("name", "softmax"))
        self.sink = np.array(normalize["sink"], float) if "sink" in normalize else None
        source = self.keys["X" if self.kind in ("self", "pooling") else "memory"]
        self.n = 1 if self.kind == "pooling" else len(self.keys["X"])
        self.m = len(source)
        self.keep = self.kept(self.keys["mask"]) if "mask" in self.keys else None
        self.steps = list(self._names())

    # -- the problem

    def problem(self) -> dict[str, Any]:
        """Return what the program takes."""
        keys = {key: self._given(key, value) for key, value in self.keys.items()}
        return keys | ({"tokens_as": "columns"} if self.columns else {})

    def _given(self, key: str, value: Any) -> Any:
        if key == "score" and isinstance(value, dict):
            return {k: np.array(v).tolist() if is_array(v) else v for k, v in value.items()}
        if not isinstance(value, np.ndarray):
            return value
        turned = self.columns and value.ndim > 1 and key != "W"
        return (np.swapaxes(value, -1, -2) if turned else value).tolist()

    def grid(self, may: Callable[[int, int], Any]) -> Numbers:
        """Return 1 where a query may attend to a key, by loops."""
        return np.array([[float(may(i, j)) for j in range(self.m)] for i in range(self.n)])

    def kept(self, mask: Any, later: int = 0, left: int = 0, right: int = 0) -> Numbers:
        """Return the 0/1 matrix of a mask whose bounds are moved by so many keys."""

        def may(i: int, j: int) -> Any:
            if isinstance(mask, str):
                return j <= i + later
            if isinstance(mask, np.ndarray):
                return mask[i, j]
            if "window" in mask:
                before, after = mask["window"]
                is_near = i - before - left <= j <= i + after + right
                return is_near and (j <= i + later or "causal" not in mask)
            if "when" in mask:
                return j <= i and (i // 2 == j // 2 if "//" in mask["when"] else j < 2)
            return j < mask["lengths"] + later

        return self.grid(may)

    def _names(self) -> Iterator[str]:
        """Yield the steps in the order of computation."""
        if self.kind in ("self", "cross"):
            yield from "QKV"
        if self.kind == "pooling" or self.score["name"] in ("additive", "concat"):
            yield "hidden"
        yield from self._names_of_scores()
        if self.kind == "co_attention":
            for side in ("x", "memory"):
                yield from (f"exp_{side}", f"sum_{side}", f"weights_{side}", f"aligned_{side}")
            return
        yield from ("exp", "sum", "weights") if self.normalizer == "softmax" else ("weights",)
        if self.heads > 1 or {"W_o", "output_activation"} & self.keys.keys():
            yield "context"
        if self.heads > 1 and "W_o" in self.keys:
            yield "concat"
        yield "output"

    def _names_of_scores(self) -> Iterator[str]:
        is_scaled = "scale" in self.keys or (self.score["name"] == "scaled_dot" and self.d_k != 1)
        is_masked = self.keep is not None and not self.keep.all()
        is_there = True, is_scaled, "softcap" in self.keys, "bias" in self.keys, is_masked
        yield from (name for name, there in zip(SCORES, is_there, strict=True) if there)

    @property
    def d_k(self) -> int:
        """How many numbers one head's key has."""
        if self.kind == "pooling":
            return len(self.keys["W"]) if "W" in self.keys else self.keys["X"].shape[-1]
        if self.kind == "co_attention":
            return int(self.keys["memory"].shape[-1])
        source = "memory" if self.kind == "cross" else "X"
        return int(self.keys.get("W_k", self.keys[source]).shape[-1]) // self.kv_heads

    # -- the work

    def work(
        self,
        wrong: Wrong = RIGHT,
        habit: Habit | None = None,
        given: Known | None = None,
        until: str = "",
        any_size: bool = False,
        second: Wrong = RIGHT,
    ) -> dict[str, Numbers]:
        """Work all steps and return their numbers.

        Args:
            wrong: what is done wrong.
            habit: how numbers are rounded, if each step goes on from the rounded ones.
            given: numbers of some steps that are known already.
            until: the last step to work.
            any_size: whether numbers may be larger than anybody writes.
            second: what else is done wrong, in another step.

        Raises:
            ImpossibleError: where that cannot be done wrong here, or no hand writes the numbers.
        """
        known: dict[str, Numbers] = {}
        for name in self.steps:
            if given is not None and name in given and name != until:
                known[name] = given[name]
                continue
            numbers = self.step(name, known, second if second.at == name else wrong)
            size = np.abs(numbers[np.isfinite(numbers)]).max(initial=0.0)
            need((size <= UNWRITABLE or any_size) and not np.isnan(numbers).any())
            if habit is not None and habit.early:
                exact, numbers = numbers, habit.rounded(numbers)
                if name.startswith("exp"):  # nobody goes on from exponentials that are all 0
                    need(not (~numbers.any(axis=-1) & exact.any(axis=-1)).any())
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
                    one_head, found = found, self.made(name, known).copy()
                    need(len(found) > 1 and found.shape == one_head.shape)
                    found[active.head] = one_head[active.head]
            except ValueError as error:  # shapes that do not go together
                raise ImpossibleError from error
        return turned(found) if active.id == "step_transposed" and active.at == name else found

    def made(self, name: str, known: Known, wrong: Wrong = RIGHT) -> Numbers:
        """Return the numbers of a step, of which somebody may do something else than is right."""
        from benchmarks.oracles.more_students import instead

        found = instead(self, name, known, wrong)
        work: Callable[..., Numbers] = getattr(self, f"_{name.partition('_')[0].lower()}")
        return work(name, known, wrong) if found is None else found

    def _q(self, name: str, known: Known, wrong: Wrong) -> Numbers:
        """Q, K or V: what is projected for a letter, or taken for it."""
        del known
        pair = {"swapped_q_k": "QK", "swapped_k_v": "KV", "swapped_q_v": "QV"}.get(wrong.id, "")
        if name in pair:
            name = pair.replace(name, "")
        letter, heads = name.lower(), self.heads if name == "Q" else self.kv_heads
        source = "memory" if self.kind == "cross" and name != "Q" else "X"
        if wrong.id == "wrong_source":
            source = "X" if source == "memory" else "memory"
            need(source in self.keys)
        used = f"W_{letter}"
        if wrong.id == "wrong_weight_matrix":
            used = [f"W_{x}" for x in "qkv" if x != letter][wrong.way % 2]
            need(used in self.keys)
        made = self.keys[source]
        if used in self.keys:
            made = product(made, self.keys[used], wrong)
        made = with_bias(made, self.keys.get(f"b_{letter}"), wrong)
        return cut(made, heads, wrong.id)

    _k = _v = _q

    def _hidden(self, name: str, known: Known, wrong: Wrong) -> Numbers:
        del name
        parameters = self.score
        if self.kind == "pooling":
            parameters, plain = self.keys, self.keys["X"][None]
            if "W" in self.keys:
                plain = product(self.keys["X"], self.keys["W"].T, wrong)[None]
        else:
            q, k = self.queries(known), self.keys_of(known, wrong)
            if wrong.id == "swapped_q_k":
                q, k = k, q
            if self.score["name"] == "additive":
                w = product(q, self.score["W"].T, wrong if wrong.way == 0 else RIGHT)
                u = product(k, self.score["U"].T, wrong if wrong.way == 1 else RIGHT)
                plain = w[:, :, None, :] + u[:, None, :, :]
            else:
                pair = np.broadcast_arrays(q[:, :, None, :], k[:, None, :, :])
                joined = pair[::-1] if wrong.id == "joined_in_wrong_order" else pair
                plain = product(np.concatenate(joined, axis=-1), self.score["W"].T, wrong)
        plain = with_bias(plain, parameters.get("b"), wrong)
        return plain if wrong.id == "tanh_missing" else np.tanh(plain)

    def queries(self, known: Known) -> Numbers:
        """Return the queries of every head."""
        if self.kind == "pooling":
            return np.array(self.keys["u"]).reshape(1, 1, -1)
        return self.keys["X"][None] if self.kind == "co_attention" else known["Q"]

    def keys_of(self, known: Known, wrong: Wrong = RIGHT) -> Numbers:
        """Return the keys of every head."""
        if self.kind == "pooling":
            return known["hidden"]
        is_shared = self.kind != "co_attention"
        return self.shared(known["K"], wrong) if is_shared else self.keys["memory"][None]

    def shared(self, numbers: Numbers, wrong: Wrong = RIGHT) -> Numbers:
        """Return the numbers of the key/value head that each query head reads."""
        need(len(numbers) == self.kv_heads)  # who takes queries for keys has one for each head
        if wrong.id == "shared_heads_alternate":
            return np.array([numbers[h % self.kv_heads] for h in range(self.heads)])
        return np.repeat(numbers, self.heads // self.kv_heads, axis=0)

    def _scores(self, name: str, known: Known, wrong: Wrong) -> Numbers:
        del name
        q, k, score = self.queries(known), self.keys_of(known, wrong), self.score["name"]
        if wrong.id == "swapped_q_k":
            q, k = k, q
        if wrong.id == "swapped_k_v":
            k = self.shared(of_attention(known, "V"))
        if wrong.id == "swapped_q_v":
            q = self.shared(of_attention(known, "V"))
        if "v" in self.score:
            made = known["hidden"] @ self.score["v"]
        elif score == "general":
            made = dot(product(q, self.score["W"], wrong), k)
        else:
            compare = {"cosine": self._cosine, "distance": self._distance}.get(score, dot)
            made = compare(q, k, wrong)
        if wrong.id == "scaled_needlessly":
            made = made / np.sqrt(self.d_k)
        return turned(made) if wrong.id == "scores_transposed" else made

    def _cosine(self, q: Numbers, k: Numbers, wrong: Wrong) -> Numbers:
        one, other = (np.sqrt((x * x).sum(axis=-1)) for x in (q, k))
        of_q, of_k = one[:, :, None], other[:, None, :]
        over = {
            "lengths_forgotten": np.ones_like(of_q),
            "root_forgotten": (of_q * of_k) ** 2,
            "one_length_forgotten": of_q if wrong.way == 0 else of_k,
        }
        return np.asarray(dot(q, k) / over.get(wrong.id, of_q * of_k))

    def _distance(self, q: Numbers, k: Numbers, wrong: Wrong) -> Numbers:
        width = float(self.score["width"])
        scores = -((q[:, :, None, :] - k[:, None, :, :]) ** 2).sum(axis=-1)
        over = 2 * width**2
        if wrong.id == "half_forgotten":
            over = width**2 if wrong.way == 0 else 1
        others = {"distance_not_squared": -np.sqrt(-scores), "sign_of_distance": -scores}
        return np.asarray(others.get(wrong.id, scores) / over)

    def chain(self, name: str, wrong: Wrong, known: Known) -> Numbers:
        """Return the step from which a step goes on; the wrong one if this student does that."""
        chain = [step for step in SCORES if step in self.steps]
        before = chain[: chain.index(name)] if name in chain else chain
        if wrong.id == "earlier_step_used":
            need(len(before) >= 2 + wrong.way)
            return known[before[-2 - wrong.way]]
        return known[before[-1]]

    def _scaled(self, name: str, known: Known, wrong: Wrong) -> Numbers:
        root = 1 / float(self.keys.get("scale", self.d_k**-0.5))
        # What may be called d_model: the width of the input, and of all heads together.
        sizes = [self.d_k * self.heads]
        if self.kind != "pooling" and self.keys["X"].shape[-1] != sizes[0]:
            sizes.insert(0, self.keys["X"].shape[-1])
        by = {
            "not_scaled": 1.0,
            "scaled_by_d_k": self.d_k,
            "scaled_by_sqrt_d_model": np.sqrt(sizes[wrong.way % len(sizes)]),
            "scaled_by_sqrt_n": np.sqrt((self.m, self.n)[wrong.way % 2]),
            "scaled_twice": root * root,
            "scale_inverted": 1 / root,
            "scaled_after_softmax": 1.0,
        }
        return np.asarray(self.chain(name, wrong, known) / by.get(wrong.id, root))

    def _capped(self, name: str, known: Known, wrong: Wrong) -> Numbers:
        s, cap = self.chain(name, wrong, known), float(self.keys["softcap"])
        if wrong.id == "tanh_missing":
            return s
        return np.tanh(s / cap) * (1 if wrong.id == "cap_not_restored" else cap)

    def _biased(self, name: str, known: Known, wrong: Wrong) -> Numbers:
        return with_bias(self.chain(name, wrong, known), self.keys["bias"], wrong)

    def _masked(self, name: str, known: Known, wrong: Wrong) -> Numbers:
        s, keep = self.chain(name, wrong, known), self.keep
        assert keep is not None
        if wrong.id in ("mask_missing", "mask_after_softmax"):
            return s
        if wrong.id == "mask_as_zero":
            return s * keep
        if wrong.id == "mask_transposed":
            is_causal = isinstance(self.keys["mask"], str)
            keep = self.grid(lambda i, j: j >= i) if is_causal else keep.T
        if wrong.id == "mask_off_by_one":
            keep = self._off_by_one(wrong.way)
        return np.where(keep == (wrong.id != "mask_inverted"), s, -np.inf)

    def counted_from_0(self) -> Numbers:
        """Return a mask whose condition, on positions from 1, is asked of positions from 0."""
        mask = self.keys["mask"]
        need(isinstance(mask, dict) and "when" in mask)
        if "//" in mask["when"]:
            return self.grid(lambda i, j: j <= i and (i - 1) // 2 == (j - 1) // 2)
        return self.grid(lambda i, j: j <= i and j <= 2)

    def _off_by_one(self, way: int) -> Numbers:
        mask, by = self.keys["mask"], (1, -1)[way % 2]
        if isinstance(mask, np.ndarray):
            need(np.array_equal(mask, np.tril(np.ones(mask.shape))))
            mask = "causal"
        if isinstance(mask, dict) and "when" in mask:  # a number of the condition, off by one
            return self.counted_from_0()
        if isinstance(mask, dict) and "window" in mask:
            return self.kept(mask, **{("left", "right", "later")[way // 2]: by})
        return self.kept(mask, later=by)

    def _exp(self, name: str, known: Known, wrong: Wrong) -> Numbers:
        s = self.chain(name, wrong, known)
        s = turned(s) if name.endswith("_memory") else s
        others = {"temperature_missing": 1, "temperature_inverted": 1 / self.temperature}
        temperature, base = others.get(wrong.id, self.temperature), self.base
        if wrong.id == "wrong_base":
            base = [b for b in (2.0, 10.0, np.e) if b != base][wrong.way % 2]
        if wrong.id == "not_exponentiated":
            return np.where(s == -np.inf, 0, s) / temperature
        if wrong.id == "exponent_sign":
            return np.where(s == -np.inf, 0, base ** (-s / temperature))
        return base ** (s / temperature)

    def _sum(self, name: str, known: Known, wrong: Wrong) -> Numbers:
        exp = known[name.replace("sum", "exp")]
        if wrong.id == "blocked_counted":
            need("masked" in self.steps)
            exp = self.base ** (self.chain("masked", RIGHT, known) / self.temperature)
        if wrong.id == "softmax_over_queries":
            return turned(exp.sum(axis=-2, keepdims=True))
        if wrong.id == "softmax_over_all":
            total = exp.sum(axis=(-1, -2), keepdims=True)
            return np.repeat(total, exp.shape[-2], axis=-2)
        total = exp.sum(axis=-1, keepdims=True)
        if self.sink is not None and wrong.id != "sink_missing":
            total = total + np.exp(self.sink.reshape(-1, 1, 1))
        return np.asarray(total)

    def _weights(self, name: str, known: Known, wrong: Wrong) -> Numbers:
        if self.normalizer != "softmax":
            made = normalized(self, self.normalizer, self.chain(name, wrong, known))
            return made / np.sqrt(self.d_k) if wrong.id == "scaled_after_softmax" else made
        exponentials = name.replace("weights", "exp")
        exp, total = known[exponentials], known[name.replace("weights", "sum")]
        if wrong.id == "not_normalized":
            return exp
        if wrong.id == "softmax_over_queries":
            total = exp.sum(axis=-2, keepdims=True)
        if wrong.id == "softmax_over_all":
            total = exp.sum(axis=(-1, -2), keepdims=True)
        if wrong.id == "not_exponentiated":
            exp = self._exp(exponentials, known, wrong)
            total = exp.sum(axis=-1, keepdims=True)
        made = divided(exp, total)
        if wrong.id == "softmax_twice":
            again = np.exp(made) if wrong.way == 0 else self.base ** (made / self.temperature)
            made = again / again.sum(axis=-1, keepdims=True)
        if wrong.id == "scaled_after_softmax":
            need("scaled" in self.steps)
            made = made / np.sqrt(self.d_k)
        if wrong.id == "mask_after_softmax":
            need(self.keep is not None)
            made = made * self.keep
        return turned(made) if wrong.id == "attention_transposed" else made

    def _aligned(self, name: str, known: Known, wrong: Wrong) -> Numbers:
        other = "memory" if name == "aligned_x" else "X"
        return self._mixed(name.removeprefix("aligned"), known, wrong, self.keys[other][None])

    def _mixed(self, side: str, known: Known, wrong: Wrong, values: Numbers) -> Numbers:
        """Return the values mixed by the weights of a side."""
        weights = known[f"weights{side}"]
        if wrong.id == "attention_transposed":
            weights = turned(weights)
        if wrong.id == "not_normalized":
            weights = known[f"exp{side}"]
        if wrong.id == "scores_as_weights":
            weights = self._exp(f"exp{side}", known, Wrong("not_exponentiated"))
        if wrong.id == "equal_weights":
            weights = np.full(weights.shape, 1 / weights.shape[-1])
        if wrong.id == "input_instead_of_values":
            sources = [key for key in ("X", "memory") if key in self.keys]
            values = cut(self.keys[sources[wrong.way % len(sources)]], self.heads)
        if wrong.id == "keys_instead_of_values":
            need(self.kind != "co_attention")
            values = self.keys_of(known)
        if wrong.id == "queries_instead_of_values":
            values = of_attention(known, "Q")
        if wrong.id == "shared_heads_alternate":
            values = self.shared(known["V"], wrong)
        return product(weights, values, wrong)

    def _context(self, name: str, known: Known, wrong: Wrong) -> Numbers:
        del name
        values = self.keys["X"][None] if self.kind == "pooling" else self.shared(known["V"])
        return self._mixed("", known, wrong, values)

    def _concat(self, name: str, known: Known, wrong: Wrong) -> Numbers:
        del name
        context = known["context"]
        heads, _, width = context.shape
        if wrong.id == "heads_reshaped":
            return context.reshape(1, self.n, heads * width)
        if wrong.id == "heads_interleaved":
            return np.moveaxis(context, 0, -1).reshape(1, -1, heads * width)
        if wrong.id in ("heads_summed", "heads_averaged"):
            total = context.sum(axis=0, keepdims=True)
            return np.asarray(total / heads if wrong.id == "heads_averaged" else total)
        if wrong.id == "heads_in_wrong_order":
            context = context[::-1]
        if wrong.id == "head_missing":
            context = np.array([x * (h != wrong.way % heads) for h, x in enumerate(context)])
        return np.concatenate(context, axis=-1)[None]

    def _output(self, name: str, known: Known, wrong: Wrong) -> Numbers:
        if self.kind == "pooling" and "context" in self.steps:
            return known["context"] if wrong.id == "tanh_missing" else np.tanh(known["context"])
        if "context" not in self.steps:
            made = self._context(name, known, wrong)
        elif "W_o" not in self.keys:
            made = self._concat(name, known, wrong)
        else:
            made = known["concat" if self.heads > 1 else "context"]
            if wrong.id == "head_missing" and self.heads > 1:
                made = made.copy()
                np.split(made, self.heads, axis=-1)[wrong.way % self.heads].fill(0)
            if wrong.id != "w_o_missing":
                made = product(made, self.keys["W_o"], wrong)
                made = with_bias(made, self.keys.get("b_o"), wrong)
        if wrong.id == "input_added":
            need(made.shape[1:] == self.keys["X"].shape)
            made = made + self.keys["X"]
        return made

    # -- what is handed in

    def sheet(self, known: Known, habit: Habit, steps: list[str] | None = None) -> dict[str, Any]:
        """Return the numbers of some steps as they are handed in, written."""
        return {name: self.cells(known[name], habit) for name in steps or known}

    def cells(self, numbers: Numbers, habit: Habit) -> Any:
        """Return a step as nested lists of written numbers, as it stands on paper."""
        texts = np.array(habit.texts(numbers), object).reshape(numbers.shape)
        return self.on_paper(texts).tolist()

    def on_paper(self, numbers: Numbers) -> Numbers:
        """Return what belongs to a step's numbers as it stands on paper."""
        layout = turned(numbers) if self.columns and numbers.ndim > 2 else numbers
        return layout[0] if len(layout) == 1 else layout


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


def is_array(value: Any) -> bool:
    return isinstance(value, list | np.ndarray)


def with_arrays(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return keys with their matrices as arrays."""
    return {key: np.array(x, float) if is_array(x) else x for key, x in keys.items()}


def turned(numbers: Numbers) -> Numbers:
    """Return every head's matrix transposed."""
    return np.swapaxes(numbers, 1, 2)


def divided(numbers: Numbers, by: Numbers) -> Numbers:
    """Return a quotient, 0 where the divisor is."""
    by = np.broadcast_to(by, numbers.shape)
    return np.divide(numbers, by, out=np.zeros(numbers.shape), where=by != 0)


def of_attention(known: Known, name: str) -> Numbers:
    """Return the numbers of a step that not every kind of problem has."""
    need(name in known)
    return known[name]


def dot(q: Numbers, k: Numbers, wrong: Wrong = RIGHT) -> Numbers:
    """Q Kᵀ, or what becomes of it."""
    if wrong.id == "key_not_transposed":
        return q @ k
    if wrong.id == "factors_exchanged":
        return turned(k) @ q
    if wrong.id == "elementwise_product":
        return q * (k if wrong.way == 0 else turned(k))
    return q @ turned(k)


def product(a: Numbers, b: Numbers, wrong: Wrong) -> Numbers:
    """A B, or what becomes of it."""
    if wrong.id == "weights_matrix_transposed":
        return a @ np.swapaxes(b, -1, -2)
    if wrong.id == "factors_exchanged":
        return b @ a
    if wrong.id == "elementwise_product":
        return a * b
    return a if wrong.id == "projection_missing" else a @ b


def with_bias(numbers: Numbers, bias: Numbers | None, wrong: Wrong) -> Numbers:
    if bias is None or wrong.id == "bias_missing":
        return numbers
    if wrong.id == "bias_multiplied":
        return numbers * bias
    if wrong.id == "bias_transposed" and bias.ndim == 2:
        need(bias.shape[0] == bias.shape[1])
        return numbers + bias.T
    return numbers + (-bias if wrong.id == "bias_subtracted" else bias)


def cut(numbers: Numbers, heads: int, wrong: str = "") -> Numbers:
    """Return the columns of each head; what a student makes of them who cuts otherwise."""
    width = numbers.shape[-1] // heads
    if wrong == "heads_reshaped":
        return numbers.reshape(heads, len(numbers), width)
    if wrong == "heads_interleaved":
        return np.stack([numbers[:, h::heads] for h in range(heads)])
    return np.stack([numbers[:, h * width : (h + 1) * width] for h in range(heads)])


# ---- normalisers


def normalized(paper: Paper, normalizer: str, s: Numbers) -> Numbers:
    """Return weights of a normaliser, line by line."""
    lines = [line_of(normalizer, line, paper) for line in s.reshape(-1, s.shape[-1])]
    return np.array(lines).reshape(s.shape)


def line_of(normalizer: str, line: Numbers, paper: Paper) -> Numbers:
    """Return the weights of one query."""
    free = line > -np.inf
    found = np.zeros(len(line))
    s = line[free]
    if not free.any():
        return found
    if normalizer == "hardmax":
        found[int(np.argmax(line))] = 1
    elif normalizer == "softmax":
        powers = paper.base ** (s / paper.temperature)
        found[free] = powers / powers.sum()
    elif normalizer == "sigmoid":
        found[free] = 1 / (1 + np.exp(-s / paper.temperature))
    elif normalizer == "sparsemax":
        found[free] = sparsemax(s / paper.temperature)
    else:
        found[free] = s / s.sum() if normalizer == "sum" else s
    return found


def sparsemax(s: Numbers) -> Numbers:
    """Return max(s − τ, 0), with τ found by halving."""
    low, high = s.min() - 1, s.max()
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(s - middle, 0).sum() > 1 else (low, middle)
    return np.asarray(np.maximum(s - low, 0))
