"""A student who works a recurrent network that attends to its states, and does one thing wrong.

Plain NumPy with vectors; nothing comes from the program.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.oracles.handwriting import Habit, Numbers


def draw_network(rng: np.random.Generator, update: str, projected: bool, started: bool) -> Any:
    """Draw a problem of three times and states of two numbers."""
    x, d = rng.integers(-2, 3, (3, 2)).astype(float), 2
    wide = d + 2 + (d if update == "state_input_context" else 0)
    problem: dict[str, Any] = {
        "kind": "recurrent",
        "update": update,
        "score": "dot",
        "X": x.tolist(),
        "A": np.round(rng.uniform(-1, 1, (d, wide)), 1).tolist(),
    }
    if projected:
        for key in ("W_q", "W_k"):
            problem[key] = rng.integers(-2, 3, (d, d)).astype(float).tolist()
    if started:
        for key in ("h_0", "c_0"):
            problem[key] = np.round(rng.uniform(-1, 1, d), 1).tolist()
    return problem


def work(
    problem: Mapping[str, Any], wrong: str, times: tuple[int, ...], habit: Habit
) -> dict[str, Numbers]:
    """Return the numbers of every step, where one thing is done wrong at some times.

    Args:
        problem: what the program takes.
        wrong: the mistake's id; "" for none.
        times: when it is made.
        habit: how each number is rounded before the next step uses it.
    """
    x, a = np.array(problem["X"]), np.array(problem["A"])
    d = len(a)
    identity = np.eye(d)
    w_q, w_k = (np.array(problem.get(key, identity)) for key in ("W_q", "W_k"))
    states = [np.array(problem.get("h_0", np.zeros(d)))]
    context = np.array(problem.get("c_0", np.zeros(d)))
    steps: dict[str, Numbers] = {"h_0": states[0]}

    def written(name: str, numbers: Numbers) -> Numbers:
        steps[name] = habit.rounded(numbers) if habit.early else numbers
        return steps[name]

    for t in range(1, len(x) + 1):
        made = wrong if t in times else ""
        last = states[-1] if made == "state_instead_of_context" else context
        before = [states[-1]] if problem["update"] == "state_input_context" else []
        states.append(written(f"h_{t}", np.tanh(a @ np.concatenate([*before, x[t - 1], last]))))
        q = w_q @ (states[-2] if made == "previous_state_as_query" else states[-1])
        first = 1 if made == "start_state_left_out" else 0
        scores = written(f"scores_{t}", np.array([q @ (w_k @ h) for h in states[first:]]))
        powers = np.exp(scores)
        weights = written(f"weights_{t}", powers / powers.sum())
        context = written(
            f"c_{t}", sum(w * h for w, h in zip(weights, states[first:], strict=True))
        )
    return steps
