"""Honest ways of working and writing that are not the textbook's: each of them is right.

Every way takes a random generator and gives a sheet that is right but for that way, or None where
the problem that was drawn does not show it. Nothing here comes from the program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from benchmarks.oracles import right_work
from benchmarks.oracles.handwriting import Numbers
from benchmarks.oracles.right_work import (
    Hand,
    Manner,
    Pen,
    Task,
    UnworkableError,
    a_choice_flipped,
    a_manner,
    some_steps,
    with_blanks,
)

Random: TypeAlias = np.random.Generator

LARGEST = 50
"""Weights that are larger come from a sum near 0, which nobody divides by."""

MOST_OFF_1 = 0.02
"""By so much weights may miss the sum 1 in a row, as a sum that is not shown was rounded."""


def draw_task(rng: Random, **wish: Any) -> Task:
    """Draw a problem that people work by hand."""
    while True:
        task = right_work.draw_task(rng, **wish)
        weights = (x for name, x in task.work().items() if name.startswith("weights"))
        if all(np.abs(x).max() <= LARGEST for x in weights):
            return task


@dataclass(frozen=True)
class Handed:
    """What is handed in.

    Attributes:
        way: how it was worked.
        problem: what the program takes.
        sheet: the cells by step, written; or numbers.
        dtype: of arrays, of which type the numbers are.
        via: how arrays are given: "arrays", "npz", "tolist", "json"; "" for written cells.
    """

    way: str
    problem: Mapping[str, Any]
    sheet: Mapping[str, Any]
    dtype: str = ""
    via: str = ""


Way: TypeAlias = Callable[[Random], Handed | None]


def written(
    way: str, task: Task, manner: Manner, known: Mapping[str, Numbers], steps: Sequence[str]
) -> Handed | None:
    """Write some steps; nobody hands in a weight of more than 1."""
    weights = [x for name, x in known.items() if name.startswith("weights")]
    if any((x > 1 + 1e-9).any() for x in weights) and is_softmax(task):
        return None
    return Handed(way, task.problem(), {s: manner.cells(task, s, known[s]) for s in steps})


def is_softmax(task: Task) -> bool:
    """Whether weights are parts of 1."""
    normalize = task.problem().get("normalize", "softmax")
    name = normalize.get("name", "softmax") if isinstance(normalize, dict) else normalize
    return name not in ("sum", "none")


def in_decimals(rng: Random, *carries: str) -> Manner:
    """Draw a manner that counts decimals."""
    pen = Pen(int(rng.choice([2, 3, 4])), plain=bool(rng.random() < 0.4))
    return Manner(pen, str(rng.choice(carries or ("written", "all"))))


def at_and_after(rng: Random, task: Task, names: Sequence[str], start: str) -> list[str]:
    """Choose steps, at least one of which is a certain one or comes after it."""
    del task
    while True:
        steps = some_steps(rng, names)
        if any(names.index(step) >= names.index(start) for step in steps):
            return steps


# ---- constants


def a_root(rng: Random) -> Handed | None:
    """√d_k, or 1/√d_k, rounded or cut to few digits."""
    d = int(rng.choice([2, 3, 5, 6, 7, 8]))
    kind = str(rng.choice(["self", "self", "cross"]))
    task = draw_task(rng, kind=kind, score="scaled_dot", scale=False, d=d, bare=False)
    pen = Pen(int(rng.choice([1, 2, 2, 3])), cut=bool(rng.random() < 0.3))
    name = "root" if rng.random() < 0.65 else "inverse"
    if name == "inverse":
        pen = Pen(max(pen.count, 2), cut=pen.cut)
    value = float(pen.rounded(np.array([d**0.5 if name == "root" else d**-0.5]))[0])
    manner = in_decimals(rng)
    goes_on = manner.hand().goes_on
    hand = Hand(goes_on, root=value) if name == "root" else Hand(goes_on, inverse=value)
    known = task.work(hand)
    if "scaled" not in known:
        return None
    steps = at_and_after(rng, task, list(known), "scaled")
    return written(
        "root as 1.73" if name == "root" else "1/root as 0.58", task, manner, known, steps
    )


def a_short_e(rng: Random) -> Handed | None:
    """The base 2.718, 2.72 or 2.7 in the place of e."""
    task = draw_task(rng, normalize="softmax")
    manner = in_decimals(rng)
    hand = Hand(manner.hand().goes_on, e=float(rng.choice([2.718, 2.72, 2.7])))
    known = task.work(hand)
    exps = [name for name in known if name.startswith("exp")]
    if not exps:
        return None
    steps = at_and_after(rng, task, list(known), exps[0])
    return written(f"e as {hand.e}", task, manner, known, steps)


# ---- digits


def hidden_steps_rounded(rng: Random) -> Handed | None:
    """The sheet shows four decimals, steps that it does not show were rounded to two or three."""
    task = draw_task(rng)
    names = list(task.work())
    steps = some_steps(rng, names)
    last = max(names.index(step) for step in steps)
    hidden = [name for name in names[:last] if name not in steps]
    if not hidden:
        return None
    chosen = set(hidden) if rng.random() < 0.5 else {str(rng.choice(hidden))}
    pen = Pen(int(rng.choice([2, 3])), cut=bool(rng.random() < 0.3))
    hand = Hand(lambda name, numbers: pen.rounded(numbers) if name in chosen else numbers)
    known = task.work(hand)
    if a_choice_flipped(task.work(), known, task) or miss_1(task, known):
        return None
    way = f"hidden {'cut' if pen.cut else 'rounded'} to {pen.count}, shown to 4"
    return written(way, task, Manner(Pen(4), "all"), known, steps)


def miss_1(task: Task, known: Mapping[str, Numbers]) -> bool:
    """Return whether weights, which sum to 1, do not: whoever hands them in would see that."""
    along = -1 if task.normalize["axis"] == "keys" else -2
    names = (name.replace("exp", "weights") for name in known if name.startswith("exp"))
    sums = (known[name].sum(axis=along) for name in names if name in known)
    return any((np.abs(total - 1)[total > 0] > MOST_OFF_1).any() for total in sums)


def cut_off(rng: Random) -> Handed | None:
    """Digits are cut off, on the sheet, on scratch paper, or on both."""
    task = draw_task(rng)
    names = list(task.work())
    steps = some_steps(rng, names)
    count, which = int(rng.choice([2, 3, 4])), int(rng.integers(3))
    cut, rounded = Pen(count, cut=True), Pen(count)
    shown, hidden = (cut, rounded)[which == 1], (cut, rounded)[which == 0]
    early = bool(rng.random() < 0.5)

    def goes_on(name: str, numbers: Numbers) -> Numbers:
        if name not in steps:
            return hidden.rounded(numbers) if which else numbers
        return shown.rounded(numbers) if early else numbers

    known = task.work(Hand(goes_on))
    if a_choice_flipped(task.work(), known, task):
        return None
    way = ("cut off where shown", "cut off where hidden", "cut off everywhere")[which]
    return written(way, task, Manner(shown, "all"), known, steps)


def on_scratch_paper(rng: Random) -> Handed | None:
    """More digits stand on scratch paper than on the sheet."""
    task, manner = draw_task(rng), a_manner(rng, int(rng.integers(8)))
    by = int(rng.integers(1, 4))
    scratch = manner.pen.finer(by)
    known = task.work(Hand(lambda _, numbers: scratch.rounded(numbers)))
    if a_choice_flipped(task.work(), known, task):
        return None
    steps = some_steps(rng, list(known))
    sheet = {s: task.cells(s, scratch.rounded(known[s]), manner.pen) for s in steps}
    return Handed(f"{by} digits more on scratch paper", task.problem(), sheet)


def blanks_in_a_coarse_step(rng: Random) -> Handed | None:
    """One step is written more coarsely than others, and has blanks."""
    task = draw_task(rng)
    names = list(task.work())
    steps = [name for name in names if rng.random() < 0.7] or names
    coarse = str(rng.choice(steps))
    fine, rough = Pen(int(rng.choice([3, 4]))), Pen(int(rng.choice([1, 2])))
    early = bool(rng.random() < 0.6)
    hand = Hand(lambda name, x: rough.rounded(x) if early and name == coarse else x)
    known = task.work(hand)
    if a_choice_flipped(task.work(), known, task):
        return None
    sheet = {s: task.cells(s, known[s], rough if s == coarse else fine) for s in steps}
    sheet[coarse] = with_blanks(rng, sheet[coarse], 0.4)
    if "." not in str(sheet[coarse]):
        return None  # no digit tells how coarse it is
    way = "blanks in a coarse step, " + ("its numbers used" if early else "all digits used")
    return Handed(way, task.problem(), sheet)


def now_this_now_that(rng: Random) -> Handed | None:
    """In one step all digits are used, in the next the rounded numbers."""
    task, manner = draw_task(rng), a_manner(rng, int(rng.choice([0, 3, 6])))
    early = {name for name in task.work() if rng.random() < 0.5}
    pen = manner.pen
    hand = Hand(lambda name, numbers: pen.rounded(numbers) if name in early else numbers)
    known = task.work(hand)
    if a_choice_flipped(task.work(), known, task):
        return None
    steps = some_steps(rng, list(known))
    return written("now rounded, now all digits", task, manner, known, steps)


# ---- other right ways


def shifted(rng: Random) -> Handed | None:
    """The largest score of each row is subtracted before the exponentials."""
    task = draw_task(rng, normalize=str(rng.choice(["softmax", "warm"])))
    manner = in_decimals(rng, "written", "all", "more")
    known = task.work(Hand(manner.hand().goes_on, shifted=True))
    which = str(rng.choice(["both", "exp", "sum"]))
    if not any(name.startswith("exp") for name in known):
        return None
    leave = {"both": "", "exp": "sum", "sum": "exp"}[which]
    steps = [name for name in known if rng.random() < 0.6 or name[:3] in ("exp", "sum")]
    if leave:
        steps = [name for name in steps if not name.startswith(leave)]
    return written(f"shifted, {which} shown", task, manner, known, steps)


BLOCKED = ("-1e9", "-9999", "-1e4", "-inf", "score − 1e9")


def blocked_as(rng: Random) -> Handed | None:
    """Blocked cells hold a large negative number."""
    mask = str(rng.choice(["causal", "keep", "block", "lengths"]))
    kind = "self" if mask == "causal" else str(rng.choice(["self", "cross", "pooling"]))
    task = draw_task(rng, kind=kind, mask=mask)
    manner, how = in_decimals(rng), str(rng.choice(BLOCKED))
    known = task.work(manner.hand())
    if "masked" not in known or a_choice_flipped(task.work(), known, task):
        return None
    before = [name for name in known if name in ("scores", "scaled", "capped", "biased")][-1]
    steps = [name for name in known if name == "masked" or rng.random() < 0.5]
    sheet = {s: manner.cells(task, s, known[s]) for s in steps}
    low = task.cells("masked", known[before] - 1e9, manner.pen)

    def put(cells: Any, lower: Any) -> Any:
        if isinstance(cells, list):
            return [put(*pair) for pair in zip(cells, lower, strict=True)]
        return cells if cells != "-inf" else lower if how == BLOCKED[-1] else how

    sheet["masked"] = put(sheet["masked"], low)
    return Handed(f"blocked cells hold {how}", task.problem(), sheet)


def scaled_in_one_go(rng: Random) -> Handed | None:
    """`scores` holds the scaled scores, and there is no `scaled`."""
    task = draw_task(rng, score="scaled_dot")
    manner = in_decimals(rng, "written", "all", "more")
    hand = manner.hand()
    together = Hand(lambda name, x: x if name.startswith("scores") else hand.goes_on(name, x))
    known = task.work(together)
    pairs = {name: name.replace("scores", "scaled") for name in known if name[:6] == "scores"}
    if not pairs or not all(scaled in known for scaled in pairs.values()):
        return None
    if a_choice_flipped(task.work(), known, task):
        return None
    sheet = {}
    for name in known:
        if name in pairs:
            sheet[name] = manner.cells(task, name, known[pairs[name]])
        elif name not in pairs.values() and rng.random() < 0.6:
            sheet[name] = manner.cells(task, name, known[name])
    return Handed("scores are the scaled scores", task.problem(), sheet)


def masked_at_once(rng: Random) -> Handed | None:
    """The mask comes before the scores are scaled: in `masked` or in the scores themselves."""
    mask = str(rng.choice(["causal", "keep", "block", "lengths"]))
    task = draw_task(
        rng, kind="self" if mask == "causal" else "cross", mask=mask, score="scaled_dot"
    )
    manner = in_decimals(rng, "written", "all", "more")
    known = task.work(manner.hand())
    line = [name for name in known if name in ("scores", "scaled", "capped", "biased")]
    if "masked" not in known or "capped" in line or a_choice_flipped(task.work(), known, task):
        return None
    blocked = np.isneginf(known["masked"])
    place = int(rng.integers(len(line)))
    is_step = place + 1 < len(line) and rng.random() < 0.5  # a step of its own, after that one
    handed = dict(known)
    for name in line[place + is_step :]:
        handed[name] = np.where(blocked, -np.inf, known[name])
    if is_step:
        handed["masked"] = np.where(blocked, -np.inf, known[line[place]])
    steps = [name for name in handed if name in (*line, "masked") or rng.random() < 0.5]
    sheet = {name: manner.cells(task, name, handed[name]) for name in steps}
    way = "after" if is_step else "in"
    return Handed(f"the mask {way} {line[place]}", task.problem(), sheet)


def turned_round(rng: Random) -> Handed | None:
    """Tokens are columns throughout though the problem has them in rows, or the other way."""
    kind = str(rng.choice(["self", "self", "cross", "co_attention"]))
    task = draw_task(rng, kind=kind, columns=bool(rng.random() < 0.3))
    manner = in_decimals(rng, "written", "all", "more")
    known = task.work(manner.hand())
    if a_choice_flipped(task.work(), known, task):
        return None
    steps = some_steps(rng, list(known))
    if len(steps) < 2:
        return None
    sheet = {s: manner.cells(task, s, known[s], columns=not task.columns) for s in steps}
    return Handed("turned round throughout", task.problem(), sheet)


def heads_in_other_forms(rng: Random) -> Handed | None:
    """Heads stand side by side, or in a list; as many heads as tokens, of one number each."""
    way = str(rng.choice(["side by side", "in a list", "n heads of one number"]))
    size = {"n": int(rng.integers(2, 4)), "d": 1} if way.startswith("n ") else {}
    form = "cut" if size else str(rng.choice(["cut", "list", "grouped"]))
    kind = str(rng.choice(["self", "cross"]))
    task = draw_task(rng, kind=kind, heads=form, batch=False, **size)
    if size and task.heads != size["n"]:
        return None
    manner = in_decimals(rng, "written", "all", "more")
    known = task.work(manner.hand())
    if a_choice_flipped(task.work(), known, task):
        return None
    sheet = {}
    for name in some_steps(rng, list(known)):
        numbers = known[name]
        is_flat = numbers.ndim == 4 and numbers.shape[1] > 1
        if is_flat and (way == "side by side" or (size and rng.random() < 0.5)):
            numbers = np.concatenate([numbers[:, [h]] for h in range(numbers.shape[1])], axis=-1)
        sheet[name] = manner.cells(task, name, numbers)
    return Handed(f"heads {way}", task.problem(), sheet)


# ---- computers


TYPES: dict[str, type[np.floating[Any]]] = {
    "float16": np.float16,
    "float32": np.float32,
    "float64": np.float64,
}


def from_a_computer(rng: Random) -> Handed | None:
    """NumPy worked it in floats of some length."""
    dtype = str(rng.choice(list(TYPES)))
    via = str(rng.choice(["arrays", "npz", "tolist", "json"]))
    task = draw_task(rng)
    exact = task.work()
    known = task.work(Hand(dtype=TYPES[dtype]))
    if a_choice_flipped(exact, known, task):
        return None
    steps = some_steps(rng, list(known))
    if any(known[step].dtype != TYPES[dtype] for step in steps):
        raise AssertionError(f"not {dtype}: {task.keys}")
    papers = {s: task.paper(s, known[s]) for s in steps}
    sheet: dict[str, Any] = {s: x.tolist() for s, x in papers.items()}
    if via == "json":
        sheet = {
            s: np.array([f"{x:.8g}" for x in p.ravel()], object).reshape(p.shape).tolist()
            for s, p in papers.items()
        }
    return Handed(f"{dtype}, {via}", task.problem(), sheet, dtype, via)


WAYS: dict[str, Way] = {
    "root": a_root,
    "e": a_short_e,
    "hidden": hidden_steps_rounded,
    "cut": cut_off,
    "scratch": on_scratch_paper,
    "blanks": blanks_in_a_coarse_step,
    "mixed": now_this_now_that,
    "shifted": shifted,
    "blocked": blocked_as,
    "combined": scaled_in_one_go,
    "masked early": masked_at_once,
    "turned": turned_round,
    "heads": heads_in_other_forms,
    "computer": from_a_computer,
}
"""Every honest way."""


def draw_honest(rng: Random, way: str) -> Handed:
    """Draw problems until one shows a way."""
    while True:
        try:
            handed = WAYS[way](rng)
        except UnworkableError:
            continue
        if handed is not None and handed.sheet:
            return handed
