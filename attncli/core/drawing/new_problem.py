"""A new problem: the matrices of a kind in small whole numbers.

Numbers are drawn with `random.Random.random`, which Python promises to keep as it is, so that a
seed gives the same numbers on every machine. While the calculation has flaws, one matrix after the
other is drawn again, at most `REDRAWS` times: a single token always has a flaw.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping, Sequence, Set
from contextlib import suppress
from math import inf, prod
from random import Random
from typing import Any

import numpy as np

from attncli.core.arithmetic.elements import Array
from attncli.core.attention.masks import MASKS
from attncli.core.attention.scores import SCORES
from attncli.core.calculation.compute import compute
from attncli.core.declare import Mechanism, Shapes, letters
from attncli.core.drawing.numbers import GRAVE, Flaws, draw, in_lists, with_new_row
from attncli.core.errors import Fault, InputError, collected, fail, refuse
from attncli.core.numbers.forms import choice
from attncli.core.numbers.written import to_count
from attncli.core.problem.keys import KEYS, KINDS, OPTIONS
from attncli.core.problem.problem import Problem
from attncli.core.problem.shapes import Sizes, is_transposed, shapes_of

TOKENS = ("I", "love", "AI")
MEMORY_TOKENS = ("m1", "m2")

WIDE, NARROW = 4, 2
"""Widths of X and of all others, which differ from the number of tokens, so that sizes show."""

BY_WORD = [key for key, row in KEYS.items() if row.drawn]
"""Keys of matrices that are drawn for a word."""

HIDING = [one.name for one in OPTIONS if one.hides_weights]
"""Keys with which a calculation shows no weights, whose flaws could be seen."""

REDRAWS = 200
DRAWS_PER_FLAW = 20
"""Number of draws after which one more small flaw is accepted."""

MAX_NEW_NUMBERS = 10_000
"""Maximum number of numbers in a new problem, its scores included."""


def start(options: Mapping[str, Any], widths: Mapping[str, object]) -> Problem:
    """Return a new problem, which computes and has something to show.

    Args:
        options: keys that are no matrices, as in a file; parameters of the score function or the
            mask that are left out get values; the gate is one per `heads` or per `features`.
        widths: the wanted ones of `d_model`, the columns of X, `d_k` and `d_v`.

    Raises:
        InputError: for an option that cannot be read or has no use in this kind, for widths that
            do not fit together, for a problem of more than `MAX_NEW_NUMBERS` numbers.

    >>> start({"tokens": "I love AI"}, {"d_k": 3}).W_k.shape
    (4, 3)
    """
    options = {**_suggested(options), **options}
    values, asked = _read(options, widths)
    kind = KINDS[values["kind"]]
    shapes = _shapes_to_draw(kind, options, values)
    sizes = _sizes(kind, values, shapes, asked)
    drawn = {key: tuple(sizes.size(letter) or 1 for letter in shapes[key]) for key in shapes}
    written_as = values["tokens_as"], values["weights_as"]
    drawn = {k: s[::-1] if is_transposed(k, *written_as) else s for k, s in drawn.items()}
    count = sum(map(prod, drawn.values())) + values["heads"] * sizes["n"] * sizes["m"]
    if count > MAX_NEW_NUMBERS:
        message = f"this problem has {count:,} numbers, its scores among them"
        hint = "ask for fewer tokens or heads, or for narrower matrices"
        raise fail(f"{message}; a new one has at most {MAX_NEW_NUMBERS:,}", hint=hint)
    return _without_flaws(_written(kind, options, values, sizes), drawn)


def _suggested(options: Mapping[str, Any]) -> dict[str, Any]:
    with suppress(InputError):  # which is raised again when all options are read
        kind = KINDS[KEYS["kind"].form.read(options.get("kind", KEYS["kind"].default), ("kind",))]
        return {key: KEYS[key].suggests[0] for key in kind.needs if KEYS[key].suggests}
    return {}


def _read(
    options: Mapping[str, Any], widths: Mapping[str, object]
) -> tuple[dict[str, Any], dict[str, int]]:
    """Return the values of all keys that are no matrices, and the wanted widths."""
    values: dict[str, Any] = {key: row.default for key, row in KEYS.items()}
    values |= {"tokens": TOKENS, "memory_tokens": MEMORY_TOKENS}
    faults = list[Fault]()
    for key in [key for key in options if key not in ("score", "mask", *BY_WORD)]:
        with collected(faults):
            values[key] = KEYS[key].form.read(options[key], (key,))
            if isinstance(values[key], np.ndarray):
                raise fail(f"{key} is drawn", key, hint="write your numbers into the file")
    asked = dict.fromkeys(widths, 0)
    for name, width in widths.items():
        with collected(faults):
            asked[name] = to_count(width, (name,))
    for key in ("tokens", "memory_tokens"):
        if not values[key]:
            faults.append(Fault(f"{key} names no word", (key,), "such as 'I love AI'"))
    refuse(faults)
    kind = KINDS[values["kind"]]
    values |= kind.variant_of(values)
    values["kv_heads"] = values["kv_heads"] or values["heads"]
    values["score"] = _with_defaults(options.get("score", kind.score), kind)
    return values, asked


def _shapes_to_draw(
    kind: Mechanism, options: Mapping[str, Any], values: Mapping[str, Any]
) -> Shapes:
    """Return the shapes of the matrices of a new problem, in letters."""
    shapes, score = shapes_of(kind, values), values["score"]
    wanted = [*kind.needs, *kind.start, *(["W_o"] if values["heads"] > 1 else [])]
    required = (p.name for p in SCORES[score["name"]].parameters if p.required)
    wanted += [f"score.{name}" for name in required if name not in score]
    drawn = {k: s for k, s in shapes.items() if k in wanted or _is_matrix_in(wanted, k, shapes)}
    return drawn | _shapes_by_word(kind, options)


def _written(
    kind: Mechanism, options: Mapping[str, Any], values: Mapping[str, Any], sizes: Sizes
) -> dict[str, Any]:
    """Return the keys of a new problem that are no drawn matrices, as in a file."""
    keyed = {"title": " ".join(values["tokens"]), "notes": kind.meaning, **options}
    keyed |= {"kind": values["kind"], "tokens": list(values["tokens"])}
    keyed |= {"score": values["score"]} if "score" in kind.keys else {}
    if "memory" in (*kind.needs, *kind.start):
        keyed["memory_tokens"] = list(values["memory_tokens"])
    keyed |= {key: {} for key in BY_WORD if key in options}  # in place of the word for it
    mask = keyed.get("mask")
    row = MASKS.get(mask) if isinstance(mask, str) else None
    if row is not None and row.start is not None:
        keyed["mask"] = {mask: row.start(sizes["n"], sizes["m"])}
    if mask == "causal" and sizes["n"] != sizes["m"]:
        keyed["mask"] = {"causal": True, "align": "top-left"}
    return keyed


def _is_matrix_in(wanted: Container[str], key: str, shapes: Shapes) -> bool:
    """Return whether a part such as `encoder.W` is a matrix of a key that is wanted."""
    head, _, part = key.partition(".")
    return bool(part) and head in wanted and len(shapes[key]) > 1


def _shapes_by_word(kind: Mechanism, options: Mapping[str, Any]) -> Shapes:
    """Return the shapes of the matrices that are drawn for a word, such as `gate: heads`."""
    shapes = Shapes()
    for key in filter(options.__contains__, BY_WORD):
        if key not in kind.keys:
            raise fail(f"{key} has no use in kind {kind.name}", key, hint="leave it out")
        drawn = KEYS[key].drawn
        parts = drawn[choice(drawn).read(options[key], (key,))]
        shapes |= {f"{key}.{part}": letters(shape) for part, shape in parts.items()}
    return shapes


def _with_defaults(score: object, kind: Mechanism) -> dict[str, Any]:
    if "score" not in kind.keys:
        return {"name": kind.score}
    raw = {"name": kind.score} | score if isinstance(score, dict) else {"name": score}
    name = choice(SCORES).read(raw["name"], ("score",))
    defaults = {p.name: p.default for p in SCORES[name].parameters if p.default is not None}
    return {"name": name} | defaults | raw | {"name": name}


def _sizes(
    kind: Mechanism, values: Mapping[str, Any], shapes: Shapes, widths: Mapping[str, int]
) -> Sizes:
    """Return the letters of a new problem's matrices and of its scores, bound to sizes.

    Raises:
        InputError: if letters that must be equal are asked for in two sizes.
    """
    of_x, score = kind.shapes["X"][-1], values["score"]["name"]
    leader = _leaders(kind, score, shapes)
    asked = [("tokens", kind.tokens, len(values["tokens"]))]
    if "memory" in shapes:
        asked.append(("memory_tokens", "m", len(values["memory_tokens"])))
    for name, size in widths.items():
        asked.append((name, of_x if name == "d_model" else name, size))
    bound: dict[str, tuple[str, int]] = {}
    for name, letter, size in asked:
        first, known = bound.setdefault(leader(letter), (name, size))
        if known != size:
            message = f"{first} = {known} and {name} = {size} cannot both be"
            where = f"in kind {values['kind']} with the score {score} they are one size"
            raise fail(f"{message}: {where}", name, hint=f"leave out {first} or {name}")
    if kind.single is not None:
        bound[kind.single[0]] = ("", 1)
    bound |= {rule.origin: ("", 1) for rule in kind.implied if rule.or_one}
    _, wide = bound.setdefault(leader(of_x), ("", WIDE))
    for letter in ("d_memory", "d_out"):
        bound.setdefault(leader(letter), ("", wide))
    _, *parts = leader("d_k").split(" + ")  # in kind latent it is a sum
    is_square = "d_model" in widths and not parts and wide % values["heads"] == 0
    narrow = wide // values["heads"] if is_square else NARROW * (1 + len(parts))
    name, narrow = bound.setdefault(leader("d_k"), ("", narrow))
    narrow -= NARROW * len(parts)
    bound |= dict.fromkeys(parts, ("", NARROW))
    if narrow < 1:
        raise fail(f"d_k is {leader('d_k')}, of which each is 1 or more", name, hint="make it 4")

    sizes = Sizes(values)
    sizes.bind("heads", values["heads"], "", "")
    letters = re.findall(r"[A-Za-z]\w*", " ".join(map(" ".join, shapes.values())))
    _refuse_unused(asked, {*map(leader, ["n", "m", *letters])}, leader, values["kind"])
    for letter in dict.fromkeys(["n", "m", *letters]):
        if letter not in ("heads", "kv_heads", "halves"):
            _, size = bound.get(leader(letter), ("", narrow))
            sizes.bind(letter, size, "", "")
    return sizes


def _refuse_unused(
    asked: Sequence[tuple[str, str, int]], used: Set[str], leader: Callable[[str], str], kind: str
) -> None:
    for name, letter, _ in asked:
        if used.isdisjoint(leader(letter).split(" + ")):
            raise fail(f"{name} has no use in kind {kind}", name, hint="leave it out")


def _leaders(kind: Mechanism, score: str, keys: Container[str]) -> Callable[[str], str]:
    """Return a function that maps letters which must be equal to one of them."""
    leaders: dict[str, str] = {}

    def leader(letter: str) -> str:
        while letter in leaders:
            letter = leaders[letter]
        return letter

    rules = [rule for rule in kind.implied if not rule.or_one]
    equal = [(i.letter, i.origin) for i in rules if not any(k in keys for k in i.unless)]
    for pair in [*equal, *([("d_q", "d_k")] if SCORES[score].same_size else [])]:
        one, other = map(leader, pair)
        if one != other and "*" not in one + other:  # a new problem has the projections of heads
            leaders[one] = other
    return leader


def _without_flaws(options: Mapping[str, Any], drawn: Mapping[str, tuple[int, ...]]) -> Problem:
    """Return the problem of these keys and of drawn matrices of the shapes `drawn`.

    Raises:
        InputError: for keys that do not fit, or if no drawn numbers can be calculated with.
    """
    random = Random(0)
    matrices = {key: _matrix(random, key, shape) for key, shape in drawn.items()}
    problem, fewest = _tried(options, matrices)
    keys = list(drawn)
    for number in range(REDRAWS):
        if fewest <= number // DRAWS_PER_FLAW:
            break
        key = keys[number // 2 % len(keys)]
        new = _matrix(random, key, drawn[key], sparse=fewest < inf)
        if number % 2:
            width = drawn[key][-1] if len(drawn[key]) > 1 else 1
            new = with_new_row(random, matrices[key], new, width)
        candidate, flaws = _tried(options, matrices | {key: new})
        if flaws <= fewest:
            problem, fewest, matrices[key] = candidate, flaws, new
    if fewest == inf:
        compute(problem)  # raises the error
    return problem


def _matrix(random: Random, key: str, shape: tuple[int, ...], sparse: bool = True) -> Array:
    """Return small whole numbers; a sparse matrix is mostly zeros."""
    row = KEYS[key.partition(".")[0]]
    if row.zeros is None:
        return draw(random, shape, row.numbers, zeros=0)
    zeros = 0.4 * random.random() + (row.zeros if sparse else 0)
    return draw(random, shape, row.numbers, zeros)


def _tried(options: Mapping[str, Any], matrices: Mapping[str, Array]) -> tuple[Problem, float]:
    lists = {key: in_lists(array) for key, array in matrices.items()}
    values = dict(options)
    for key, raw in lists.items():
        head, _, part = key.partition(".")
        values[head] = {**values.get(head, {}), part: raw} if part else raw
    problem = Problem(**values)
    try:
        trace = compute(Problem(**values | dict.fromkeys(HIDING)))
    except InputError:  # such as for the cosine of a row of zeros
        return problem, inf
    flaws = Flaws(trace)
    return problem, GRAVE * flaws.saturated + flaws.small
