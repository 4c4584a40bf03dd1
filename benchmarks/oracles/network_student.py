"""A student of encoders and decoders, who shares no line with the program.

`draw` draws problems whose words have as many numbers as the states, so that every mistake can be
made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Numbers = Any

GATES = {"lstm": ("_f", "_i", "_g", "_o"), "gru": ("_r", "_z", "_n"), "rnn": ("",)}


def draw(rng: np.random.Generator, cell: str, attends: str, reset: str = "before") -> Any:
    """Draw a problem of two words that are read, and two that are written."""
    size = 2

    def matrix(*shape: int) -> Any:
        return (rng.integers(-8, 9, shape) / 8).tolist()

    keys: dict[str, Any] = {"kind": "encoder_decoder", "cell": cell, "attends": attends}
    keys |= {"reset": reset} if cell == "gru" else {}
    keys |= {"memory": matrix(2, size), "X": matrix(2, size), "W_c": matrix(size, 2 * size)}
    for name in ("encoder", "decoder"):
        letters = "WUC" if (name, attends) == ("decoder", "before") else "WU"
        parts = {f"{x}{gate}": matrix(size, size) for gate in GATES[cell] for x in letters}
        keys[name] = parts | {f"b{gate}": matrix(size) for gate in GATES[cell]}
    return keys


class Student:
    """Works a problem, and does one thing wrong; `goes_on` rounds what is used in later steps."""

    def __init__(
        self,
        keys: dict[str, Any],
        wrong: str = "",
        goes_on: Callable[[Numbers], Numbers] = lambda numbers: numbers,
    ) -> None:
        self.keys, self.wrong, self.goes_on = keys, wrong, goes_on
        self.steps: dict[str, Numbers] = {}

    def note(self, name: str, numbers: Numbers) -> Numbers:
        """Write a step, and return what is used of it."""
        self.steps[name] = np.asarray(numbers, float)
        return self.goes_on(self.steps[name])

    def work(self) -> dict[str, Numbers]:
        """Return every step in order."""
        words, states = np.array(self.keys["memory"]), []
        h, c = np.zeros(2), np.zeros(2)
        for t, word in enumerate(words, 1):
            h, c = self.cell("encoder", t, word, h, c, None)
            states.append(h)
        found = np.array(states)
        self.note("H", found)
        if self.wrong == "decoder_from_zeros":
            h, c = np.zeros(2), np.zeros(2)
        s, rows, results = h, [], []
        for t, word in enumerate(np.array(self.keys["X"]), 1):
            last = s
            if self.keys["attends"] == "after":
                s, c = self.cell("decoder", t, word, s, c, None)
            query = last if self.wrong == "query_of_time_before" else s
            context, weights = self.attend(t, query, found, words)
            if self.keys["attends"] == "before":
                s, c = self.cell("decoder", t, word, s, c, context)
            pair = [s, context] if self.wrong == "joined_in_wrong_order" else [context, s]
            net = np.array(self.keys["W_c"]) @ np.concatenate(pair)
            results.append(self.note(f"attentional_{t}", np.tanh(net)))
            rows.append(weights)
        self.note("weights", np.array(rows))
        self.note("output", np.array(results))
        return self.steps

    def attend(self, t: int, s: Numbers, states: Numbers, words: Numbers) -> tuple[Numbers, ...]:
        if self.wrong == "words_attended_to":
            states = words
        powers = self.note(f"exp_{t}", np.exp(self.note(f"scores_{t}", states @ s)))
        weights = self.note(f"weights_{t}", powers / self.note(f"sum_{t}", powers.sum()))
        return self.note(f"context_{t}", weights @ states), weights

    def net(self, name: str, gate: str, x: Numbers, h: Numbers, context: Numbers) -> Numbers:
        parts = {key: np.array(part) for key, part in self.keys[name].items()}
        if self.wrong == "weights_of_gate_exchanged":
            x, h = h, x
        net = parts[f"W{gate}"] @ x + parts[f"U{gate}"] @ h + parts[f"b{gate}"]
        if context is not None and self.wrong != "context_left_out":
            net = net + parts[f"C{gate}"] @ context
        return net

    def cell(
        self, name: str, t: int, x: Numbers, h: Numbers, c: Numbers, context: Numbers
    ) -> tuple[Numbers, Numbers]:
        """Return the new state, and the new cell of an LSTM."""
        letter = "h" if name == "encoder" else "s"
        kind, wrong = self.keys["cell"], self.wrong
        if kind == "rnn":
            return self.note(f"{letter}_{t}", np.tanh(self.net(name, "", x, h, context))), c
        gate = {}
        for key in {"lstm": "figo", "gru": "rz"}[kind]:
            net = self.net(name, f"_{key}", x, h, context)
            is_tanh = key == "g" and wrong != "sigmoid_for_tanh"
            if wrong == "gate_by_tanh" and (name, t, key) == ("encoder", 1, "f"):
                is_tanh = True
            gate[key] = self.note(
                f"{name}.{key}_{t}", np.tanh(net) if is_tanh else 1 / (1 + np.exp(-net))
            )
        if kind == "gru":
            return self.note(f"{letter}_{t}", self.mixed(name, t, x, h, context, gate)), c
        f, i = gate["f"], gate["i"]
        if wrong == "gates_of_cell_exchanged":
            f, i = i, f
        f = 1 if wrong == "forget_gate_left_out" else f
        i = 1 if wrong == "input_gate_left_out" else i
        c = self.note(f"{name}.c_{t}", f * c + i * gate["g"])
        shown = c if wrong == "tanh_missing" else np.tanh(c)
        return self.note(f"{letter}_{t}", gate["o"] * shown), c

    def mixed(
        self, name: str, t: int, x: Numbers, h: Numbers, context: Numbers, gate: dict[str, Numbers]
    ) -> Numbers:
        """Return the new state of a GRU."""
        r, z, wrong = gate["r"], gate["z"], self.wrong
        is_before = (self.keys["reset"] == "before") != (wrong == "reset_on_other_side")
        r = np.ones(2) if wrong == "reset_gate_left_out" else r
        if is_before:
            net = self.net(name, "_n", x, r * h, context)
        else:
            net = self.net(name, "_n", x, np.zeros(2), context)
            matrix = "W_n" if wrong == "weights_of_gate_exchanged" else "U_n"
            net = net + r * (np.array(self.keys[name][matrix]) @ h)
        is_tanh = wrong != "sigmoid_for_tanh"
        n = self.note(f"{name}.n_{t}", np.tanh(net) if is_tanh else 1 / (1 + np.exp(-net)))
        z = 1 - z if wrong == "update_gate_reversed" else z
        return (1 - z) * n + z * h


def half_up(numbers: Numbers, decimals: int) -> Numbers:
    """Round as people do: a half goes away from 0."""
    return np.trunc(numbers * 10**decimals + np.copysign(0.5, numbers)) / 10**decimals


def written(steps: dict[str, Numbers], decimals: int = 4) -> dict[str, Any]:
    """Return steps as a student hands them in."""

    def texts(numbers: Numbers) -> Any:
        if np.ndim(numbers):
            return [texts(x) for x in numbers]
        return f"{half_up(numbers, decimals):.{decimals}f}"

    return {name: texts(np.atleast_1d(numbers)) for name, numbers in steps.items()}
